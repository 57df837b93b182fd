"""A page on its own: on a machine like Colab, far from the repository, and as a plain script."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

from deepdive_book.site.pages import setup_cell

PAGE = "chapters/01_before/01_neurons"  # prints, draws, and is quick
SOURCE = "git+https://github.com/some/body.git"


class OtherPython(KernelSpecManager):  # type: ignore[misc, unused-ignore]
    """One kernel, of another interpreter."""

    python: Path

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [str(self.python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name=kernel_name, language="python")


def run(notebook: Any, python: Path, folder: Path, env: dict[str, str]) -> str:
    """Run all cells of `notebook` in a kernel of `python`; what its cells printed."""
    specs = OtherPython()
    specs.python = python
    manager = AsyncKernelManager(kernel_spec_manager=specs)
    client = NotebookClient(notebook, km=manager, timeout=300, coalesce_streams=True)
    client.execute(cwd=str(folder), env=env)
    return "".join(
        out.text
        for cell in notebook.cells
        if cell.cell_type == "code"
        for out in cell.outputs
        if out.output_type == "stream" and out.name == "stdout"
    )


@pytest.fixture(scope="module")
def wheel(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library as users get it, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "source"
    copy.mkdir()
    for name in ("lib", "pyproject.toml", "README.md", "LICENSE"):
        (copy / name).symlink_to(root / name)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(folder), str(copy)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def colab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the libraries that Colab has, `google.colab` among them, not ours."""
    folder = tmp_path_factory.mktemp("colab")
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    site = Path(
        subprocess.check_output(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
        ).strip()
    )
    # A path added this way reads no .pth files of its own: an editable install stays out of sight.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\nimport google.colab\n")
    (site / "google" / "colab").mkdir(parents=True)
    (site / "google" / "colab" / "__init__.py").write_text("drive = None\n")
    found = subprocess.run([python, "-c", "import deepdive"], capture_output=True, cwd=folder)
    assert found.returncode == 1, "the library is already there"
    return python


@pytest.fixture
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    for name in ("PYTHONPATH", "DEEPDIVE_MIRROR", "DEEPDIVE_OUT"):
        monkeypatch.delenv(name, raising=False)
    return {**os.environ, "DEEPDIVE_PROFILE": "ci", "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}


def test_the_wheel_has_both_packages_and_no_grader(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"deepdive", "deepdive_book"}
    machinery = ("sandbox", "fork_server", "keeper", "worker", "judge", "wire", "attempts")
    assert not [name for name in names if name.endswith(tuple(f"/{each}.py" for each in machinery))]


def test_a_page_alone_on_colab_installs_the_library_and_runs(
    root: Path, wheel: Path, colab: Path, tmp_path: Path, quiet: dict[str, str]
) -> None:
    text = (root / f"{PAGE}.ipynb").read_text(encoding="utf-8")
    alone = tmp_path / "alone"
    alone.mkdir()
    notebook = nbformat.reads(text, as_version=4)
    assert notebook.cells[1].source == setup_cell.SETUP
    published = setup_cell.setup_cell("https://github.com/some/body")
    notebook.cells[1].source = published.replace(f"deepdive[pages] @ {SOURCE}", str(wheel))
    printed = run(notebook, colab, alone, quiet)
    assert "the answers hold" in printed
    where = [colab, "-c", "import deepdive; print(deepdive.__file__)"]
    assert str(colab.parent.parent) in subprocess.check_output(where, text=True, cwd=alone)


def test_the_notebook_and_the_plain_script_print_the_same_numbers(
    root: Path, tmp_path: Path, quiet: dict[str, str]
) -> None:
    quiet["PYTHONPATH"] = str(root / "lib")
    notebook = nbformat.read(root / f"{PAGE}.ipynb", as_version=4)
    printed = run(notebook, Path(sys.executable), tmp_path, quiet)
    script = subprocess.run(
        [sys.executable, root / f"{PAGE}.py"],
        env=quiet, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = [line for line in script.stdout.splitlines() if not line.startswith("[figure: ")]
    assert printed.splitlines() == said

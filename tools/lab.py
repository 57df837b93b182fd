"""Open JupyterLab on a copy of the notebooks that is the reader's own: `python tools/lab.py`.

The copy, `my-pages/`, holds the notebooks and nothing else to look at. Whatever Lab saves is saved
there, so no file of the book changes. A page that the reader has changed or run is never written
over; one that was only read follows the book. All fresh copies are trusted, for without that Lab
shows the alternative text in place of a figure.

Options go to JupyterLab: `--no-browser --port 8890` on a server. `--copy-only` makes or renews the
copy and starts nothing, for VS Code. Run by root, Lab gets `--allow-root`, which it asks for.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

import nbformat
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelspec import get_kernel_dict
from nbformat.sign import NotebookNotary

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "my-pages"
START = "chapters/00_start/01_ten_minutes.ipynb"
# Studies write their results beside themselves: here into the copy.
COPIED = ("chapters/*/*.ipynb", "casestudies/*.ipynb", "casestudies/results/*.json")
COPIED += ("chapters/*/figures/*.svg", "casestudies/figures/*.svg")  # what pages open with
# What an instructor or a maintainer needs, and a reader does not; and questions about news.
DISABLED = (
    "@jupyter/nbgrader",
    "jupyterlab-jupytext",
    "@jupyterlab/apputils-extension:announcements",
)
SERVER = ("formgrader", "validate_assignment", "assignment_list", "course_list")


def digest(path: Path) -> str:
    """What a file says. Of a notebook that is its cells: Lab writes other metadata at each save."""
    content = path.read_bytes()
    if path.suffix == ".ipynb":
        cells = nbformat.reads(content.decode("utf-8"), as_version=4).cells
        said = [[cell.cell_type, cell.source, cell.get("outputs")] for cell in cells]
        content = json.dumps(said, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def refresh(root: Path, copy: Path) -> list[str]:
    """Bring the copy up to the book; return the pages that both the book and the reader changed.

    `.book.json` in the copy says what each file was when it was copied.
    """
    record = copy / ".book.json"
    known: dict[str, str] = json.loads(record.read_text("utf-8")) if record.is_file() else {}
    both: list[str] = []
    for source in sorted(path for pattern in COPIED for path in root.glob(pattern)):
        name = source.relative_to(root).as_posix()
        target, new = copy / name, digest(source)
        have = digest(target) if target.is_file() else None
        if have not in (None, new, known.get(name)):
            both += [name] if new != known.get(name) else []
            continue
        if have != new:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            if target.suffix == ".ipynb":
                sign(target)
        known[name] = new
    record.write_text(json.dumps(known, indent=0), encoding="utf-8")
    return both


def sign(path: Path) -> None:
    """Sign a notebook of the book, so that Lab shows its figures as they are.

    Before that it gets the kernel's metadata, which Lab would write into it when it is opened: a
    page that nobody has touched would be marked as changed.
    """
    notebook = nbformat.read(path, as_version=4)
    kernel = get_kernel_dict()
    notebook.metadata["kernelspec"] = {
        "display_name": kernel["display_name"], "language": kernel["language"], "name": "python3",
    }  # fmt: skip
    notebook.metadata["language_info"] = dict(IPythonKernel.language_info)
    nbformat.write(notebook, path)
    NotebookNotary().sign(notebook)


def configure(copy: Path) -> None:
    """Leave an instructor's menus out, in this Lab only; the reader's own settings stay."""
    folder = copy / ".lab"
    config = folder / "labconfig" / "page_config.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps({"disabledExtensions": dict.fromkeys(DISABLED, True)}))
    paths = [str(folder), os.environ.get("JUPYTER_CONFIG_PATH", "")]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, paths))


def settings(copy: Path) -> list[str]:
    """What JupyterLab is told: the folder, the first page, and no server of an instructor's."""
    without = {f"nbgrader.server_extensions.{name}": False for name in SERVER}
    return [
        f"--ServerApp.root_dir={copy}",
        f"--LabApp.default_url=/lab/tree/{START}",
        f"--ServerApp.jpserver_extensions={without}",
    ]


def options(words: list[str]) -> list[str]:
    """The options of JupyterLab: the words given, and what it asks for where root starts it."""
    root = getattr(os, "geteuid", lambda: 1)() == 0
    return [*words, *(["--allow-root"] if root and "--allow-root" not in words else [])]


def main() -> None:
    words = sys.argv[1:]
    for name in refresh(ROOT, COPY):
        print(f"{COPY.name}/{name} is yours and stays as you left it; the book has a newer one.")
        print("  To see that, rename yours and start Lab again.")
    if "--copy-only" in words:
        print(f"{COPY} has your own copy of the notebooks.")
        return
    configure(COPY)
    print(f"JupyterLab shows {COPY}, your own copy of the notebooks. Ctrl-C ends it.", flush=True)
    from jupyterlab.labapp import LabApp

    LabApp.launch_instance([*settings(COPY), *options(words)])


if __name__ == "__main__":
    main()

"""Set-up: where torch comes from, what a stopped set-up leaves, and what counts as ready."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import setup_env
from setup_env import CPU_INDEX, Environment, SetupError, choose_torch


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_env, "reachable", lambda url: True)
    monkeypatch.setattr(setup_env.platform, "system", lambda: "Linux")


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup_env, "reachable", lambda url: False)
    monkeypatch.setattr(setup_env.platform, "system", lambda: "Linux")


@pytest.mark.usefixtures("online")
def test_without_a_gpu_torch_comes_from_the_cpu_index() -> None:
    assert choose_torch("auto", gpu=False) == (CPU_INDEX, "no NVIDIA GPU is here")


@pytest.mark.usefixtures("offline")
def test_where_the_cpu_index_does_not_answer_the_registry_is_asked() -> None:
    index, reason = choose_torch("auto", gpu=False)
    assert index is None
    assert "does not answer" in reason


@pytest.mark.usefixtures("online")
def test_with_a_gpu_torch_comes_from_the_registry() -> None:
    assert choose_torch("auto", gpu=True) == (None, "an NVIDIA GPU is here")


@pytest.mark.usefixtures("online")
@pytest.mark.parametrize("gpu", [True, False])
def test_a_choice_is_followed_whatever_is_there(gpu: bool) -> None:
    assert choose_torch("cpu", gpu)[0] == CPU_INDEX
    assert choose_torch("registry", gpu)[0] is None
    named = "https://download.pytorch.org/whl/cu126"
    assert choose_torch(named, gpu)[0] == named


def test_an_index_that_is_none_is_refused_with_the_choices() -> None:
    with pytest.raises(SetupError, match=r"TORCH_INDEX='cuda' is none of auto, cpu, registry"):
        setup_env.set_up("full", "cuda")


def test_a_password_in_an_address_is_not_recorded() -> None:
    assert setup_env.public("https://me:secret@host.example/whl") == "https://host.example/whl"
    assert setup_env.public(CPU_INDEX) == CPU_INDEX


class FakePip(Environment):
    """An environment whose pip only notes what it was asked."""

    def __init__(self, path: Path, offered: tuple[str, ...] = (), have: str | None = None) -> None:
        self.path = path
        self.offered, self.have = offered, have
        self.asked: list[tuple[str, ...]] = []

    def pip(self, *arguments: str) -> int:
        self.asked.append(arguments)
        return 0

    def offers(self, requirement: str) -> bool:
        return requirement in self.offered

    def installed(self, name: str) -> str | None:
        return self.have


@pytest.mark.usefixtures("offline")
def test_the_registry_s_cpu_build_goes_before_its_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_env, "has_nvidia_gpu", lambda: False)
    wanted = f"torch=={setup_env.pinned('torch')}"
    with_cpu = FakePip(tmp_path, offered=(f"{wanted}+cpu",))
    setup_env.install_torch(with_cpu, "auto")
    assert with_cpu.asked == [("install", "--no-deps", f"{wanted}+cpu")]
    record = (tmp_path / "torch-source").read_text(encoding="utf-8")
    assert record.startswith("the configured registry (no NVIDIA GPU is here")
    without = FakePip(tmp_path)
    setup_env.install_torch(without, "auto")
    assert without.asked == [("install", "--no-deps", wanted)]


@pytest.mark.usefixtures("online")
def test_torch_is_installed_again_only_when_its_source_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_env, "has_nvidia_gpu", lambda: False)
    version = setup_env.pinned("torch")
    environment = FakePip(tmp_path, have=f"{version}+cpu")
    setup_env.install_torch(environment, "cpu")
    setup_env.install_torch(environment, "cpu")
    assert len(environment.asked) == 1
    setup_env.install_torch(environment, "registry")
    assert "--force-reinstall" in environment.asked[1]


def test_a_failed_torch_names_the_choices(tmp_path: Path) -> None:
    class Failing(FakePip):
        def pip(self, *arguments: str) -> int:
            return 1

    with pytest.raises(SetupError, match="TORCH_INDEX=cpu"):
        setup_env.install_torch(Failing(tmp_path), "registry")
    assert not (tmp_path / "torch-source").exists()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with the files that an environment is built from, and nothing else."""
    for file in (*setup_env.SOURCES, setup_env.WEIGHTS):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("x", encoding="utf-8")
    monkeypatch.setattr(setup_env, "ROOT", tmp_path)
    return tmp_path


def test_an_environment_is_ready_until_what_it_was_built_from_changes(checkout: Path) -> None:
    environment = Environment(".venv", "full auto")
    environment.python.parent.mkdir(parents=True)
    environment.python.touch()
    assert not environment.ready(), "no stamp: the set-up was cut off"
    environment.finish()
    assert Environment(".venv", "full auto").ready()
    assert not Environment(".venv", "full cpu").ready()
    for file in ("pyproject.toml", setup_env.WEIGHTS):
        before = (checkout / file).read_text("utf-8")
        (checkout / file).write_text("y", encoding="utf-8")
        assert not Environment(".venv", "full auto").ready()
        (checkout / file).write_text(before, encoding="utf-8")
    assert Environment(".venv", "full auto").ready()


def test_a_choice_of_torch_is_kept_until_another_is_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(Environment, "begin", lambda self: self.path.mkdir(exist_ok=True))
    for name in ("install", "weights"):
        monkeypatch.setattr(Environment, name, lambda self, *arguments: None)
    monkeypatch.setattr(setup_env, "fetch_reveal", lambda: None)
    monkeypatch.setattr(setup_env, "install_torch", lambda environment, index: asked.append(index))
    for named in ("", "cpu", "", "auto", ""):
        assert setup_env.set_up("full", named) == 0
    assert asked == ["auto", "cpu", "cpu", "auto", "auto"]


def test_the_first_page_needs_little_and_the_whole_is_enough_for_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []
    monkeypatch.setattr(Environment, "begin", lambda self: self.python.parent.mkdir(parents=True))
    monkeypatch.setattr(Environment, "install", lambda self, *arguments: asked.append(arguments))
    monkeypatch.setattr(Environment, "weights", lambda self: asked.append(("weights",)))
    for name in ("install_torch", "fetch_reveal"):
        monkeypatch.setattr(setup_env, name, lambda *_, name=name: asked.append((name,)))
    assert setup_env.set_up("first", "") == 0
    installed = {word for arguments in asked for word in arguments}
    assert {"-e", ".", *setup_env.RUNNER} <= installed
    assert not {"fetch_reveal", "weights"} & installed
    setup_env.Environment(".venv", "first auto").python.touch()
    asked.clear()
    assert setup_env.set_up("first", "") == 0
    assert not asked, "it is there"
    monkeypatch.setattr(Environment, "begin", lambda self: None)
    assert setup_env.set_up("lab", "") == 0
    installed = {word for arguments in asked for word in arguments}
    assert {".[casestudies,notebooks]", "weights"} <= installed
    assert not {".[test]", "tools/grader", "fetch_reveal"} & installed, "a reader runs no tests"
    asked.clear()
    assert setup_env.set_up("first", "") == 0
    assert not asked, "what the pages need has what the first page needs"
    assert setup_env.set_up("full", "") == 0
    installed = {word for arguments in asked for word in arguments}
    assert {".[test]", "tools/grader", "weights"} <= installed
    asked.clear()
    for name in ("first", "lab"):
        assert setup_env.set_up(name, "") == 0
        assert not asked, "the whole has what they need"


def test_the_cuda_build_is_said_at_the_end_too(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (checkout / "constraints.txt").write_text("torch==2.13.0\n", encoding="utf-8")
    monkeypatch.setattr(setup_env, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(setup_env.platform, "system", lambda: "Linux")
    monkeypatch.setattr(Environment, "begin", lambda self: self.path.mkdir(exist_ok=True))
    monkeypatch.setattr(Environment, "pip", lambda self, *arguments: 0)
    monkeypatch.setattr(Environment, "installed", lambda self, name: None)
    for offered, last in ((False, setup_env.CUDA_WARNING), (True, "Set-up of .venv took")):
        monkeypatch.setattr(Environment, "offers", lambda self, wanted, offered=offered: offered)
        assert setup_env.set_up("first", "registry") == 0
        assert capsys.readouterr().out.splitlines()[-1].startswith(last)
        (checkout / ".venv" / setup_env.STAMP).unlink()
        (checkout / ".venv" / "torch-source").unlink()


def test_a_half_installed_package_is_forgotten(checkout: Path) -> None:
    environment = Environment(".venv", "full auto")
    packages = environment.path / "lib" / "python3.11" / "site-packages"
    for name, files in {"cut-1.0": ["METADATA"], "whole-1.0": ["METADATA", "RECORD"]}.items():
        folder = packages / f"{name}.dist-info"
        folder.mkdir(parents=True)
        for file in files:
            (folder / file).touch()
    environment._drop_half_installed()
    assert [path.name for path in packages.iterdir()] == ["whole-1.0.dist-info"]


def test_a_broken_environment_is_made_anew(checkout: Path) -> None:
    environment = Environment(".venv", "full auto")
    environment.python.parent.mkdir(parents=True)
    environment.python.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    environment.python.chmod(0o755)
    environment.stamp.touch()
    environment.begin()
    assert environment._usable()
    assert not environment.ready(), "an empty stamp says whose it is, not that it is done"


def test_an_environment_of_others_is_not_cleared(checkout: Path) -> None:
    environment = Environment(".venv", "full auto")
    environment.path.mkdir()
    (environment.path / "mine.txt").touch()
    with pytest.raises(SetupError, match=r"\.venv is not of this set-up .* move it away"):
        environment.begin()
    assert [path.name for path in environment.path.iterdir()] == ["mine.txt"]


def test_an_old_python_is_refused_with_the_way_to_name_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(setup_env.sys, "version_info", (3, 9, 1))
    with pytest.raises(SetupError, match=r"make PYTHON=/path/to/python3\.11"):
        setup_env.check_python()


def test_set_up_needs_the_standard_library_only(root: Path) -> None:
    """-S leaves site-packages out; -I the user's; what is imported is Python's own."""
    for tool in ("setup_env", "results_table", "run_tests", "vendor"):
        command = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import runpy; runpy.run_path({tool!r}+'.py')",
        ]
        done = subprocess.run(command, cwd=root / "tools", capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()

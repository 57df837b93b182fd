"""How much work a page does, where it writes, and what its setup cell sets."""

from __future__ import annotations

import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch

from deepdive_book.kit.profile import PROFILES, banner, pick, profile, setup, workdir


@pytest.fixture(autouse=True)
def _state(monkeypatch: pytest.MonkeyPatch) -> object:
    """What `setup` changes is put back."""
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    monkeypatch.setenv("DEEPDIVE_OUT", "")
    threads = torch.get_num_threads()
    kept = torch.are_deterministic_algorithms_enabled()
    yield
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(kept)


SETUP_CELL = """
import os, sys

class AtTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            print(os.environ.get("GOMP_SPINCOUNT"))
            sys.exit()

sys.meta_path.insert(0, AtTorch())
from deepdive_book.kit.profile import setup
"""


@pytest.mark.parametrize(("own", "expected"), [(None, "2000"), ("7", "7")])
def test_a_waiting_thread_leaves_its_core_wherever_a_page_runs(
    monkeypatch: pytest.MonkeyPatch, own: str | None, expected: str
) -> None:
    """What torch's threads read when it is loaded is there, with no help of what starts a page."""
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    if own:
        monkeypatch.setenv("GOMP_SPINCOUNT", own)
    done = subprocess.run(
        [sys.executable, "-c", SETUP_CELL], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{expected}\n", done.stderr


@pytest.mark.parametrize(
    ("setting", "gpu", "colab", "expected"),
    [
        ("auto", False, False, "laptop"),
        ("", True, False, "gpu"),
        ("auto", True, True, "laptop"),
        ("gpu", True, True, "gpu"),
        ("ci", True, False, "ci"),
    ],
)
def test_the_profile_is_the_one_named_or_the_machines(
    monkeypatch: pytest.MonkeyPatch, setting: str, gpu: bool, colab: bool, expected: str
) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", setting)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    if colab:
        monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    assert profile() == expected


def test_an_unknown_profile_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "fast")
    with pytest.raises(ValueError, match="DEEPDIVE_PROFILE is 'fast'; expected one of ci, laptop"):
        profile()


@pytest.mark.parametrize(("name", "value"), list(zip(PROFILES, (1, 2, 3, 2), strict=True)))
def test_pick_gives_the_profiles_value(
    monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", name)
    assert pick(ci=1, laptop=2, gpu=3) == value
    assert pick(ci=1, laptop=2, gpu=3, experiment=4) == (4 if name == "experiment" else value)


def test_pages_write_below_the_checkout_or_where_they_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "chapters" / "01_demo"
    theirs = tmp_path / "theirs" / "notebooks"
    for folder in (page, theirs):
        folder.mkdir(parents=True)
    (tmp_path / "theirs" / "pyproject.toml").touch()
    monkeypatch.chdir(theirs)
    assert workdir() == theirs / "deepdive-out", "the project of a reader is none of ours"
    monkeypatch.chdir(page)
    assert workdir() == page / "deepdive-out"
    (tmp_path / "pyproject.toml").touch()
    assert workdir() == tmp_path / "build" / "ci"
    monkeypatch.chdir(theirs)
    assert workdir() == tmp_path / "build" / "ci"
    monkeypatch.setenv("DEEPDIVE_OUT", str(tmp_path / "there"))
    assert workdir() == tmp_path / "there"
    assert workdir().is_dir()


def test_setup_seeds_everything_sets_the_threads_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    drawn = []
    for _ in range(2):
        setup("laptop", seed=3)
        drawn.append((torch.rand(2).tolist(), np.random.rand()))  # noqa: NPY002
    assert drawn[0] == drawn[1]
    assert torch.get_num_threads() == 1
    assert torch.are_deterministic_algorithms_enabled()
    assert os.environ["DEEPDIVE_PROFILE"] == "laptop"
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith(f"profile laptop, torch {torch.__version__}, ")


def test_a_run_in_ci_says_where_the_numbers_of_the_text_are_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, lines in (("ci", 2), ("laptop", 1)):
        setup(name)
        told = capsys.readouterr().out.splitlines()
        assert len(told) == lines
        assert ("laptop profile" in told[-1]) == (name == "ci")


def test_setup_refuses_an_unknown_profile() -> None:
    with pytest.raises(ValueError, match="'fast'"):
        setup("fast")


def test_on_colab_work_can_be_saved_to_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted: list[str] = []
    colab, drive = types.ModuleType("google.colab"), types.ModuleType("google.colab.drive")
    drive.mount = mounted.append  # type: ignore[attr-defined]
    colab.drive = drive  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "google", types.ModuleType("google"))
    monkeypatch.setitem(sys.modules, "google.colab", colab)
    setup(drive=True)
    assert mounted == ["/content/drive"]
    assert os.environ["DEEPDIVE_OUT"].startswith("/content/drive/")


def test_the_banner_names_the_data() -> None:
    assert banner("number words (generated)").startswith(
        "profile ci, data number words (generated), torch "
    )

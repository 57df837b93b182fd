"""`make quick`: what a change asks for, and what is only a sample."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import quick
from checkout import ROOT


def test_a_system_s_file_asks_for_its_tests_and_its_laws() -> None:
    tests, cases, kernel = quick.selection(["lib/deepdive/models/seq2seq/gnmt.py"])
    assert "tests/models/seq2seq/test_parity_gnmt.py" in tests
    assert {"gnmt", "gnmt/GNMTDecoder"} <= cases
    assert not any(name.startswith("albert") for name in cases)
    assert not kernel


def test_what_depends_on_a_changed_file_is_tried_too() -> None:
    _, cases, _ = quick.selection(["lib/deepdive/models/bert/embeddings.py"])
    assert {"roberta/RobertaEmbeddings", "albert"} <= cases


def test_a_package_s_name_leads_to_the_module_that_defines_it() -> None:
    assert "deepdive.core.block" in quick.dependents("deepdive.core.residual")


@pytest.mark.parametrize("path", sorted(ROOT.glob("lib/deepdive/core/[a-z]*.py")))
def test_the_kernel_is_tried_on_its_own_tests_and_on_a_sample(path: Path) -> None:
    tests, cases, kernel = quick.selection([path.relative_to(ROOT).as_posix()])
    assert len(kernel) == 1
    assert "depend on it" in kernel[0]
    assert tests >= {"tests/test_core.py"}
    assert cases >= {"bert", "gpt", "gpt2", "t5", "transformer", "Block", "multi_head", "LayerNorm"}


def test_what_stands_for_the_kernel_exists() -> None:
    everywhere = {case for name in quick.modules() for case in quick.cases(name)}
    assert quick.kernel_cases() <= everywhere
    assert all(quick.cases(f"laws.{name}") for name in quick.KERNEL_LAWS)
    assert all((ROOT / name).is_file() for name in quick.KERNEL_TESTS)


@pytest.mark.parametrize("code", [0, 1])
def test_after_the_sample_of_the_kernel_it_says_that_make_test_has_the_rest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        ran.append(command)
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(quick, "changed", lambda since: ["tests/conftest.py"])
    monkeypatch.setattr("sys.argv", ["quick.py"])
    monkeypatch.setattr(quick.subprocess, "run", run)
    assert quick.main() == code
    assert {"tests/test_core.py", "tests/test_laws.py", "tests/test_parity.py"} <= set(ran[-1])
    assert "parity[bert]" in ran[-1][-1]
    assert "`make test` has the rest" in capsys.readouterr().out.splitlines()[-1]


def test_a_case_whose_name_has_a_space_can_be_asked_for() -> None:
    command = quick.commands(set(), {"t5/version 1.1"})["tests"]
    assert command[-1] == "law[t5/version or parity[t5/version or test_every"


def test_a_test_and_a_helper_ask_for_the_tests_that_use_them() -> None:
    tests, _, _ = quick.selection(["tests/tools/test_vendor.py", "tests/parity_recurrent.py"])
    assert "tests/tools/test_vendor.py" in tests
    assert "tests/models/seq2seq/test_parity_gnmt.py" in tests


def test_the_grader_asks_for_its_own_tests() -> None:
    tests, _, _ = quick.selection(["tools/grader/src/deepdive_grader/wire.py"])
    assert {"tests/grader/test_grading.py", "tests/grader/test_limits.py"} <= tests


def test_a_document_asks_for_the_checks_of_the_repository_alone() -> None:
    assert quick.selection(["README.md"]) == ({*quick.ALWAYS}, set(), [])


def test_a_file_that_fails_is_named_in_the_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[list[str]] = []
    failed = SimpleNamespace(returncode=1)
    monkeypatch.setattr(quick, "changed", lambda since: ["README.md"])
    monkeypatch.setattr("sys.argv", ["quick.py"])
    monkeypatch.setattr(quick.subprocess, "run", lambda command, **k: ran.append(command) or failed)
    assert quick.main() == 1
    assert "failed: style, format, tests" in capsys.readouterr().out
    assert "tests/test_house.py" in ran[-1]

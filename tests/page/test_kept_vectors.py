"""Vectors that take long are computed once in an experiment, and each time elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from deepdive.page.kept_vectors import kept_vectors

TEXTS = [f"text {k}" for k in range(5)]


class Encoder:
    """The last letter's number, twice; counts its texts, and dies at one where told."""

    def __init__(self, dies_at: str = "") -> None:
        self.dies_at, self.read = dies_at, 0

    def __call__(self, texts: list[str]) -> Tensor:
        if self.dies_at in texts:
            raise KeyboardInterrupt
        self.read += len(texts)
        return torch.tensor([[float(text[-1])] * 2 for text in texts])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DEEPDIVE_OUT", str(tmp_path))
    monkeypatch.setenv("DEEPDIVE_PROFILE", "experiment")
    return tmp_path


def test_a_stopped_encoder_goes_on_where_it_was(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        kept_vectors(Encoder("text 4"), TEXTS, "a", part=2)
    second = Encoder()
    found = kept_vectors(second, TEXTS, "a", part=2)
    assert found[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert second.read == 1
    assert not [*folder.rglob("*.part")]


@pytest.mark.parametrize(("texts", "of"), [(TEXTS[::-1], ()), (TEXTS, "another encoder")])
def test_other_texts_and_encoders_have_other_files(
    folder: Path, texts: list[str], of: object
) -> None:
    kept_vectors(Encoder(), TEXTS, "a")
    other = Encoder()
    assert kept_vectors(other, texts, "a", of=of).shape == (5, 2)
    assert other.read == 5


def test_no_other_profile_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    kept_vectors(Encoder(), TEXTS, "a")
    assert not [*folder.iterdir()]


def test_without_texts_it_says_so() -> None:
    with pytest.raises(ValueError, match="texts"):
        kept_vectors(Encoder(), [])

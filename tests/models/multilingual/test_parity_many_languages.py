"""mBERT, XLM-R and RemBERT against transformers, in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    RemBertConfig,
    RemBertForMaskedLM,
    RemBertModel,
    XLMRobertaConfig,
    XLMRobertaForMaskedLM,
    XLMRobertaModel,
)

from deepdive.models.bert.pretraining import for_masked_lm
from deepdive.models.multilingual import mbert, rembert, xlmr
from deepdive.published import family, from_config, load, save
from deepdive.published.weights import Rule

ROBERTA = {"type_vocab_size": 1, "layer_norm_eps": 1e-5}
NARROW = {"input_embedding_size": 8, "output_embedding_size": 20}
PADDED = SRC.masked_fill(~MASK, 1)  # XLM-R's padding is 1


@parity("mbert")
def mbert_agrees() -> None:
    theirs = reference(BertForMaskedLM, BertConfig, **SIZES)
    ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
    output, expected = ours(SRC, MASK, SEGMENTS)[MASK], theirs(SRC, MASK.long(), SEGMENTS).logits
    alike(ours, theirs, output, expected[MASK], [family("bert").table("masked_lm")])


@parity("xlmr")
def xlmr_agrees() -> None:
    theirs = reference(XLMRobertaForMaskedLM, XLMRobertaConfig, **SIZES, **ROBERTA)
    ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
    tied = (r"^masked\.head\.embedding\.", "bert.embeddings.tokens.")  # theirs has the head first
    names: list[Rule] = [family("xlm-roberta").table("masked_lm"), tied]
    for row, mask in ((PADDED, MASK), (PADDED.flip(1), MASK.flip(1))):
        output, expected = ours(row, mask)[mask], theirs(row, mask.long()).logits[mask]
        alike(ours, theirs, output, expected, names)
    whole = reference(XLMRobertaModel, XLMRobertaConfig, **SIZES, **ROBERTA)
    equal(saved_and_loaded(whole, load)(SRC[:1]), whole(SRC[:1]).last_hidden_state)


@parity("rembert")
def rembert_agrees() -> None:
    theirs = reference(RemBertForMaskedLM, RemBertConfig, **SIZES, **NARROW)
    ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
    output, expected = ours(SRC, MASK, SEGMENTS)[MASK], theirs(SRC, MASK.long(), SEGMENTS).logits
    alike(ours, theirs, output, expected[MASK], [family("rembert").table("masked_lm")])
    body = saved_and_loaded(theirs, load)
    assert not [name for name, _ in body.named_parameters() if "masked" in name]
    whole = reference(RemBertModel, RemBertConfig, **SIZES, **NARROW)
    expected = whole(SRC, MASK.long(), SEGMENTS).last_hidden_state
    equal(saved_and_loaded(whole, load)(SRC, MASK, SEGMENTS)[MASK], expected[MASK])


def test_published_sizes() -> None:
    wide = {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096}
    r = {"vocab_size": 250_002, "max_position_embeddings": 514, **ROBERTA}
    with torch.device("meta"):
        pairs: list[tuple[nn.Module, nn.Module]] = [
            (mbert.mbert(), BertModel(BertConfig(vocab_size=119_547), add_pooling_layer=False)),
            (xlmr.xlmr(), XLMRobertaModel(XLMRobertaConfig(**r), add_pooling_layer=False)),
            (
                xlmr.xlmr(xlmr.LARGE),
                XLMRobertaModel(XLMRobertaConfig(**r, **wide, num_hidden_layers=24), False),
            ),
            (rembert.rembert(), RemBertModel(RemBertConfig(), add_pooling_layer=False)),
            (
                rembert.for_masked_lm(rembert.rembert()),
                RemBertForMaskedLM(RemBertConfig(tie_word_embeddings=False)),
            ),
        ]
    for ours, theirs in pairs:
        assert count(ours) == count(theirs)
    bodies = [count(pairs[i][0]) for i in (0, 1, 3)]
    assert [round(n / 1e6) for n in bodies] == [177, 277, 575]
    # Of RemBERT's numbers the table that is read is a ninth, of XLM-R's two thirds.
    tables = [119_547 * 768, 250_002 * 768, 250_300 * 256]
    shares = [table / n for table, n in zip(tables, bodies, strict=True)]
    assert [round(share, 2) for share in shares] == [0.52, 0.69, 0.11]


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_a_new_model_is_read_by_theirs(tmp_path: Path) -> None:
    for model, kind in (
        (for_masked_lm(xlmr.xlmr(xlmr.TINY)), XLMRobertaForMaskedLM),
        (rembert.for_masked_lm(rembert.rembert(rembert.TINY)), RemBertForMaskedLM),
    ):
        theirs = kind.from_pretrained(save(model, tmp_path / kind.__name__)).eval()
        expected = theirs(SRC, MASK.long()).logits
        assert torch.allclose(model.eval()(SRC, MASK)[MASK], expected[MASK], atol=1e-5)


def test_what_is_not_built_is_refused() -> None:
    with pytest.raises(ValueError, match="tie_word_embeddings=True"):
        from_config({**RemBertConfig(**SIZES).to_dict(), "tie_word_embeddings": True})
    with pytest.raises(ValueError, match="pad_token_id=0"):
        from_config({**XLMRobertaConfig(**SIZES).to_dict(), "pad_token_id": 0})


def head_norm(self: nn.Module, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6)  # type: ignore[arg-type]


def from_the_first_column(self: nn.Module, tokens: Tensor, mask: Tensor | None) -> Tensor:
    return torch.arange(tokens.shape[1])


def tied_to_nothing(self: nn.Module, states: Tensor) -> Tensor:
    """A head that leaves out its activation."""
    return self.head(self.norm(self.dense(states)))  # type: ignore[operator]


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "mBERT's epsilon": (mbert_agrees, "deepdive.core.LayerNorm.forward", head_norm),
    "XLM-R's positions from the first column": (
        xlmr_agrees, "deepdive.models.bert.roberta.RobertaEmbeddings.positions",
        from_the_first_column),
    "RemBERT's rows, not projected last": (
        rembert_agrees, "deepdive.models.bert.albert.FactorizedEmbeddings.finish",
        lambda self, rows: self.project(self.norm(rows))),
    "RemBERT's head without its activation": (
        rembert_agrees, "deepdive.layers.heads.MaskedHead.forward", tied_to_nothing),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        proof()


@pytest.mark.parametrize("proof", [mbert_agrees, xlmr_agrees, rembert_agrees])
def test_agrees(proof: Callable[[], None]) -> None:
    proof()

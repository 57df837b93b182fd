"""VECO against transformers' RoBERTa with an attention to an encoder's rows, in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SIZES, SRC, double_precision, reference
from parity_proofs import alike, real, rows
from parity_registry import equal, parity
from torch import Tensor
from transformers import RobertaConfig, RobertaModel

from deepdive.core import Context, KVCache
from deepdive.core.masks import Causal, Padding
from deepdive.models.multilingual import veco as module
from deepdive.models.multilingual import veco_seq2seq
from deepdive.models.multilingual.veco import TINY, CrossAttentionBlock, Veco, veco
from deepdive.models.multilingual.veco_seq2seq import VecoDecoder
from deepdive.published.families.encoders import EMBEDDINGS, LAYERS
from deepdive.published.names import Names
from deepdive.published.weights import adopt

PADDED = SRC.masked_fill(~MASK, 1)  # RoBERTa's padding is 1
OTHER_MASK = real([4, 3, 1], 4)
BESIDE, OURS = "encoder.layer.{}.crossattention", "stack.blocks.{}.cross"
CROSS = Names(
    {
        f"{BESIDE}.self.query": f"{OURS}.q",
        (f"{BESIDE}.self.key", f"{BESIDE}.self.value"): f"{OURS}.kv",
        f"{BESIDE}.output.dense": f"{OURS}.out",
        f"{BESIDE}.output.LayerNorm": f"{OURS}_residual.norm",
    }
)
NAMES = EMBEDDINGS | LAYERS | CROSS
SEEN_BY_ALL = torch.ones(3, 1, 7, 7).bool() & MASK[:, None, None]


def pair() -> tuple[Any, Any]:
    """Theirs, and ours with its weights."""
    settings = {"type_vocab_size": 1, "layer_norm_eps": 1e-5, "is_decoder": True}
    theirs: Any = reference(
        RobertaModel, RobertaConfig, **SIZES, **settings, add_cross_attention=True
    )
    theirs.pooler.requires_grad_(False)
    with double_precision():
        ours: Any = veco(TINY, vocab_size=28, d_model=16, n_heads=4, d_ff=24, max_length=10).eval()
    adopt(ours, theirs.state_dict(), [NAMES], leave_out=unread(theirs))
    return theirs, ours


def unread(theirs: Any) -> list[str]:
    return [name for name in theirs.state_dict() if name.startswith("pooler.")]


def said(theirs: Any, memory: Tensor, mask: Tensor, **more: Any) -> Any:
    return theirs(
        PADDED, attention_mask=mask, encoder_hidden_states=memory,
        encoder_attention_mask=OTHER_MASK.long(), **more,
    )  # fmt: skip


@parity(Veco, CrossAttentionBlock)
def beside_agrees() -> None:
    """Every token sees every token, and the other sentence's."""
    theirs, ours = pair()
    a, b = rows(3, 4, 16), rows(3, 4, 16)
    expected = said(theirs, b, SEEN_BY_ALL, use_cache=False).last_hidden_state
    output = ours.beside(PADDED, MASK, a, OTHER_MASK)
    alike(ours, theirs, output[MASK], expected[MASK], [NAMES], inputs=[(a, b)])


@parity(VecoDecoder)
def decoder_agrees() -> None:
    """A token sees those before it; in pieces, through both caches, too."""
    theirs, ours = pair()
    decoder, memory = VecoDecoder(ours), rows(3, 4, 16)
    expected = said(theirs, memory, MASK.long(), use_cache=False).last_hidden_state
    output = decoder(PADDED, memory, MASK, Padding(OTHER_MASK))
    alike(ours, theirs, output[MASK], expected[MASK], [NAMES])
    with torch.no_grad():
        cache = KVCache()
        whole = decoder(SRC.clamp(min=4), memory, None, Padding(OTHER_MASK))
        for a, b in ((0, 3), (3, 4), (4, 7)):
            piece = SRC.clamp(min=4)[:, a:b]
            equal(decoder(piece, memory, None, Padding(OTHER_MASK), cache), whole[:, a:b])


@pytest.mark.parametrize("proof", [beside_agrees, decoder_agrees])
def test_parity(proof: Callable[[], None]) -> None:
    proof()


def its_own_rows(self: Any, x: Tensor, context: Context) -> Tensor:
    """A layer that takes the other sentence's rows for its own keys, and not the last states."""
    return super(CrossAttentionBlock, self).forward(x, replace(context, memory=x[:, :4]))


@pytest.mark.parametrize(
    ("proof", "fault"),
    [
        (beside_agrees, mock.patch.object(CrossAttentionBlock, "forward", its_own_rows)),
        (beside_agrees, mock.patch.object(module, "padding", return_value=Causal())),
        (decoder_agrees, mock.patch.object(veco_seq2seq, "Causal", return_value=None)),
    ],
)
def test_a_fault_is_seen(proof: Callable[[], None], fault: Any) -> None:
    with fault, pytest.raises(AssertionError):
        proof()

"""VECO: attention to another sentence, plugged into the layers of an encoder. Luo et al. 2021,
"VECO: Variable and Flexible Cross-lingual Pre-training for Language Understanding and Generation".

    alone    h = ff(self(x)), layer by layer
    beside   s = ff(cross(self(x), other)), layer by layer; other: the last h of another sentence

Plugged out it is an encoder; plugged in, with a mask that hides what follows, a decoder
(`deepdive.models.multilingual.veco_writer`). Its objective is
`deepdive.training.objectives.plugged_loss`.

Long because a layer's call is written out again, without its second attention.

Parent: RoBERTa, as XLM-R (`deepdive.models.bert.roberta`).
What differs:
- each layer has an attention to the rows of another sentence, which is passed over where there is
  none (`PluggedBlock`);
- a sentence can be read beside another (`Veco.beside`).

Source: Luo et al. 2021. Book: section 4.1.4. Checkpoints: none in a form that transformers reads.
"""

from functools import partial
from typing import Any

from torch import Tensor

from deepdive.attention import MultiHeadAttention
from deepdive.attention.cache import Slot
from deepdive.layers import Block, FeedForward, LayerNorm, PostNorm
from deepdive.layers.embeddings import check_tokens
from deepdive.masks import Mask, padding
from deepdive.models.bert import roberta
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


class PluggedBlock(Block):
    """A `Block` that passes its `cross` over where there is no memory."""

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None = None,
        mask: Mask | Tensor | None = None,
        memory_mask: Mask | Tensor | None = None,
        positions: Tensor | None = None,
        cache: Slot | None = None,
        memory_positions: Tensor | None = None,
    ) -> Tensor:
        """Return the stream (B, T, d_model) after the layer."""
        if memory is not None:
            return super().forward(x, memory, mask, memory_mask, positions, cache, memory_positions)
        x = self.attn_residual(
            x, lambda rows: self.attn(rows, mask=mask, positions=positions, cache=cache)
        )
        rows: Tensor = self.stream(self.ff_residual(x, self.ff))
        return rows


class Veco(Bert):
    """Tokens (B, T) -> states (B, T, d_model), alone or beside the states of another sentence."""

    def beside(
        self, tokens: Tensor, mask: Tensor | None, other: Tensor, other_mask: Tensor | None
    ) -> Tensor:
        """Return the states of `tokens`, which look in every layer at `other` (B, S, d_model), the
        states of the other sentence, read alone. Masks: bool (B, T) and (B, S), True = real token.
        """
        check_tokens(tokens)
        rows = self.embeddings(tokens, None, self.embeddings.positions(tokens, mask))
        there = padding(other_mask, other[..., 0], "other_mask")
        states: Tensor = self.stack(rows, other, padding(mask, tokens, "mask"), there)
        return states


def plugged(config: EncoderConfig, layer: int) -> PluggedBlock:
    """Return one layer: as BERT's, with a second attention."""
    norm = partial(LayerNorm, eps=config.eps)
    return PluggedBlock(
        config.attention(config, layer),
        FeedForward(config.d_model, config.d_ff, config.activation),
        MultiHeadAttention(config.d_model, config.n_heads, dropout=config.weights_dropout),
        partial(PostNorm, norm=norm, dropout=config.dropout),
    )


LARGE = roberta.LARGE.but(vocab_size=250_002, block=plugged, model=Veco, family="veco")
TINY = LARGE.but(**TOY)


def veco(config: EncoderConfig = LARGE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the paper's large model."""
    return bert(config, **changes)

"""VECO: an encoder with pluggable cross-attention to another sentence. Luo et al. 2021,
"VECO: Variable and Flexible Cross-lingual Pre-training for Language Understanding and Generation".

    alone    h = ff(self(x)), layer by layer
    beside   s = ff(cross(self(x), other)), layer by layer; other: the last h of another sentence

Plugged out it is an encoder; plugged in, with a causal mask, a decoder
(`deepdive.models.multilingual.veco_seq2seq`). Its objective is
`deepdive.training.objectives.plugged_loss`.

Parent: RoBERTa, as XLM-R (`deepdive.models.bert.roberta`).
What differs:
- each layer has cross-attention to the states of another sentence, skipped without one
  (`CrossAttentionBlock`);
- a sentence can be encoded together with another (`Veco.beside`).

Source: Luo et al. 2021. Book: section 4.1.4. Checkpoints: none in a form that transformers reads.
"""

from functools import partial
from typing import Any

from torch import Tensor

from deepdive.core import Block, Context, FeedForward, LayerNorm, MultiHeadAttention, PostNorm
from deepdive.core.embeddings import check_tokens
from deepdive.core.masks import padding
from deepdive.models.bert import roberta
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


class CrossAttentionBlock(Block):
    """A `Block` that skips its `cross` sublayer without a memory."""

    def sublayers(self, context: Context) -> list[str]:
        """Return the names of the sublayers that run."""
        if context.memory is None:
            return [name for name in self.order if name != "cross"]
        return super().sublayers(context)


class Veco(Bert):
    """Tokens (B, T) -> states (B, T, d_model), alone or with attention to another sentence."""

    def beside(
        self, tokens: Tensor, mask: Tensor | None, other: Tensor, other_mask: Tensor | None
    ) -> Tensor:
        """Return the states of `tokens`, which attend in every layer to `other` (B, S, d_model),
        the states of the other sentence, encoded alone. Masks: bool (B, T), (B, S), True = real.
        """
        check_tokens(tokens)
        x = self.embeddings(tokens, None, self.embeddings.positions(tokens, mask))
        memory_mask = padding(other_mask, other[..., 0], "other_mask")
        padded = padding(mask, tokens, "mask")
        states: Tensor = self.stack(x, mask=padded, memory=other, memory_mask=memory_mask)
        return states


def plugged(config: EncoderConfig, layer: int) -> CrossAttentionBlock:
    """Return one layer: as BERT's, with additional cross-attention."""
    norm = partial(LayerNorm, eps=config.eps)
    return CrossAttentionBlock(
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

"""HIBERT's pretraining: predict masked sentences, word by word. Zhang et al. 2019, section 3.2."""

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepdive.core import Block, FeedForward, LayerNorm, MultiHeadAttention, PostNorm
from deepdive.core.checks import numbers
from deepdive.core.embeddings import TiedHead
from deepdive.core.stack import Stack
from deepdive.layers.heads import initialize
from deepdive.models.efficient.hibert import Hibert
from deepdive.models.transformer.transformer import Decoder


class HibertForMaskedSentences(nn.Module):
    """Logits (N, T, V) of the next word in N masked sentences, given their documents.

    The decoder's cross-attention attends to one vector, the state of the masked sentence.
    """

    def __init__(self, hibert: Hibert, decoder: Decoder, head: TiedHead) -> None:
        super().__init__()
        self.hibert, self.decoder, self.head = hibert, decoder, head

    def forward(self, tokens: Tensor, mask: Tensor, chosen: Tensor, words: Tensor) -> Tensor:
        """Return logits for `words` (N, T), which begin with a start token.

        tokens, mask   the corrupted documents (B, S, T), and bool (B, S, T), True = real token
        chosen         bool (B, S), the N masked sentences, in the order of `words`
        """
        memory = self.hibert(tokens, mask)[chosen].unsqueeze(1)
        return self.head(self.decoder(words, memory=memory))


class Masked(NamedTuple):
    """Corrupted documents (B, S, T) with their mask, and the sentences to predict, bool (B, S)."""

    tokens: Tensor
    mask: Tensor
    chosen: Tensor


def mask_sentences(
    tokens: Tensor, mask: Tensor, mask_id: int, generator: torch.Generator, rate: float = 0.15
) -> Masked:
    """Choose sentences with probability `rate`. Of those, 80% have every token but the last, the
    end token, replaced by `mask_id`, 10% are replaced by a sentence of the batch, and 10% stay.
    """
    numbers(0.0, 1.0, rate=rate)
    real = mask.any(-1)
    chosen = (torch.rand(real.shape, generator=generator) < rate) & real
    kind = torch.rand(real.shape, generator=generator)
    left = mask.flip(-1).cumsum(-1).flip(-1)  # real tokens from here to the end
    masked = torch.where((chosen & (kind < 0.8))[..., None] & (left > 1) & mask, mask_id, tokens)
    other = torch.randperm(int(real.sum()), generator=generator)
    other_tokens, other_mask = tokens.clone(), mask.clone()
    other_tokens[real], other_mask[real] = tokens[real][other], mask[real][other]
    swap = (chosen & (kind >= 0.9))[..., None]
    return Masked(
        torch.where(swap, other_tokens, masked), torch.where(swap, other_mask, mask), chosen
    )


def for_masked_sentences(hibert: Hibert, n_layers: int = 2) -> HibertForMaskedSentences:
    """Build the decoder around an encoder; it has the encoder's embedding matrix and width."""
    config = hibert.config
    width, heads = config.d_model, config.n_heads

    def block(_layer: int) -> Block:
        sublayers = (MultiHeadAttention(width, heads), FeedForward(width, config.d_ff),
                     MultiHeadAttention(width, heads))  # fmt: skip
        norm = partial(LayerNorm, eps=config.eps)
        return Block(*sublayers, residual=partial(PostNorm, norm=norm, dropout=config.dropout))

    stack = Stack(block, n_layers)
    initialize(stack)
    embedding = hibert.words.embeddings.tokens
    decoder = Decoder(embedding, config.position(config), stack, config.dropout)
    return HibertForMaskedSentences(hibert, decoder, TiedHead(embedding))

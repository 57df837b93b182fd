"""ProphetNet: an encoder-decoder with future n-gram prediction. Qi et al. 2020, "ProphetNet:
Predicting Future N-gram for Sequence-to-Sequence Pre-training".

The main stream encodes the tokens up to t. The predicting streams, at position t + 1, start from
learned vectors and share its weights. Each predicts token t + 1: the first from all tokens up to t,
the second without the last of them, and so on. Decoding uses only the first.

Long because it has its own decoder, with hidden states for each token and stream.

System: prophetnet
Parent: transformer
What differs:
- n-stream self-attention: each predicting stream attends to one token fewer than the one before
  (`Futures`); the first predicts the next token (`FutureDecoder`)
- all streams are trained on the same targets (`deepdive.training.objectives.future_loss`)
- the bias of each distance bucket is computed from the query token (`FutureAttention`)
- learned position embeddings, and a layer norm of the embeddings (`ahead_of_padding`)
- the activation is GELU, and embeddings are not scaled (`BASE`)
Source: Qi et al. 2020, sections 2.2 and 2.3, and their released code.
Book: 6.1.3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import KVCache, gelu
from deepdive.core.checks import not_negative, positive
from deepdive.core.embeddings import TiedHead, TokenEmbedding, check_tokens
from deepdive.core.masks import Mask, Padding, both, padding
from deepdive.layers.future_attention import FutureAttention, Futures
from deepdive.layers.heads import initialize
from deepdive.models.generative.bart import BartConfig, NormedPosition
from deepdive.models.transformer.transformer import Decoder
from deepdive.models.transformer.translator import TOY, Translator, translator
from deepdive.positions import LearnedPosition


class FutureDecoder(Decoder):
    """Decoder with n-stream self-attention, whose output is the first predicting stream's hidden
    states.
    """

    def __init__(self, decoder: Decoder, n_future: int, d_model: int) -> None:
        not_negative(n_future=n_future)
        positive(d_model=d_model)
        super().__init__(decoder.embedding, decoder.position, decoder.stack, decoder.dropout.p)
        self.unread = nn.Parameter(0.02 * torch.randn(n_future, d_model))

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | Padding | None = None,
        memory_mask: Mask | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the first predicting stream's states (B, T, d_model), or the main stream's."""
        first = min(1, len(self.unread))
        return self.streams(tokens, memory, mask, memory_mask, cache, first)[:, first]

    def streams(
        self,
        tokens: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | Padding | None = None,
        memory_mask: Mask | None = None,
        cache: KVCache | None = None,
        n: int | None = None,
    ) -> Tensor:
        """Return the hidden states of the main stream and of the first n predicting streams (None:
        all), (B, 1 + n, T, d_model).
        """
        check_tokens(tokens)
        real = padding(mask, tokens, "tgt_mask")
        (B, T), start = tokens.shape, 0 if cache is None else cache.length
        unread = self.unread[:n]
        n = len(unread)
        at = torch.arange(start, start + T, device=tokens.device)
        ahead = unread.repeat_interleave(T, 0).expand(B, -1, -1)
        x = torch.cat((self.embedded(self.embedding(tokens)), ahead), 1)
        x = self.position.embed(x, torch.cat((at, *[at + 1] * n)))
        if real is not None:  # predicting states are keys only for themselves
            real = Padding(F.pad(real.real, (0, n * T), value=True))
        states: Tensor = self.stack(
            self.dropout(x), mask=both(Futures(n), real), memory=memory,
            memory_mask=memory_mask, cache=cache,
        )  # fmt: skip
        return states.unflatten(1, (1 + n, T))


class ProphetNet(Translator):
    """Encoder-decoder that also returns each predicting stream's logits."""

    decoder: FutureDecoder

    def futures(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, n_future, T, V) for the token that follows each target token; stream j
        doesn't attend to the last j of those before it.
        """
        memory, real = self.encoder(src, src_mask), padding(src_mask, src, "src_mask")
        logits: Tensor = self.head(self.decoder.streams(tgt, memory, tgt_mask, real)[:, 1:])
        return logits


@dataclass(frozen=True)
class ProphetNetConfig(BartConfig):
    """Config of a ProphetNet.

    n_future                number of predicting streams; 0: the main stream predicts the next token
    n_buckets, max_distance of the relative position bias in the decoder
    max_length              size of each position table, entries up to padding's included
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = (*BartConfig.MAY_BE_ZERO, "n_future")

    n_future: int = 2
    n_buckets: int = 32
    max_distance: int = 128


def tied(config: ProphetNetConfig) -> tuple[TokenEmbedding, TokenEmbedding, TiedHead]:
    """Return one embedding for encoder and decoder, twice, and an output layer tied to it."""
    embedding = config.embedding(config.src_vocab)
    return embedding, embedding, TiedHead(embedding)


def ahead_of_padding(config: ProphetNetConfig) -> NormedPosition:
    """Return learned positions that count from the index after padding's, which has an entry."""
    first = config.padding + 1
    position = LearnedPosition(config.max_length - first, config.d_model, offset=first)
    return NormedPosition(position, config.d_model)


BASE = ProphetNetConfig(  # prophetnet-large-uncased; 102 is BERT's [SEP]
    tied, ahead_of_padding, "prophetnet", src_vocab=30_522, d_model=1024, n_layers=12,
    n_decoder_layers=12, n_heads=16, n_decoder_heads=16, d_ff=4096, d_decoder_ff=4096,
    activation=gelu, scale=1.0, attention_dropout=0.1, ff_dropout=0.1, pad=0, start=102, end=102,
    max_length=512,
)  # fmt: skip
TINY = BASE.but(
    **TOY, max_length=64, n_buckets=8, max_distance=20, start=1, end=2,
    dropout=0.0, attention_dropout=0.0, ff_dropout=0.0,
)  # fmt: skip


def prophetnet(config: ProphetNetConfig = BASE, **changes: Any) -> ProphetNet:
    """Build an encoder-decoder; defaults are the paper's model."""
    config = ProphetNetConfig.given(config, changes)
    parts = translator(config)
    for block in parts.decoder.stack.blocks:
        block.attn = FutureAttention(
            config.d_model, config.n_decoder_heads, config.n_buckets, config.max_distance,
            config.attention_dropout,
        )  # fmt: skip
    decoder = FutureDecoder(parts.decoder, config.n_future, config.d_model)
    model = ProphetNet(parts.encoder, decoder, parts.head, config)
    initialize(model)
    return model

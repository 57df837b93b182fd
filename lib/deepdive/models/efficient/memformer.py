"""Memformer: an encoder-decoder that reads a text in segments and carries a fixed number of memory
slots from one to the next. Wu et al. 2022, "Memformer: A Memory-Augmented Transformer for Sequence
Modeling".

Long because its parent has no encoder; the slots are written by `deepdive.layers.slot_writer`.
Memory replay back-propagation, which trains with less memory, isn't built: gradients are the same.

System: memformer
Parent: transformer_xl
What differs:
- the memory is `n_slots` vectors, however long the text is; each encoder layer reads them by
  cross-attention (`MemformerEncoder`), where Transformer-XL caches every state of every layer
- slot attention writes them: a slot attends to itself and to the segment's final states, not to
  other slots (`SlotWriter.attend`)
- a learned bias is added to a slot, which is then normalized, so that it forgets (`SlotWriter`);
  the initial slots are the normalized biases
- an encoder and a decoder with absolute positions in a segment; gradients flow through the slots
Source: Wu et al. 2022, section 3.
Book: table 1.1
"""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from deepdive.core import (
    Block,
    Context,
    FeedForward,
    KVCache,
    LayerNorm,
    MultiHeadAttention,
    PreNorm,
    gelu,
)
from deepdive.core.checks import not_negative
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.masks import Padding, padding
from deepdive.core.stack import Stack
from deepdive.layers.slot_writer import MemformerState, SlotWriter
from deepdive.models.transformer.transformer import Decoder, EmbeddedStack, Transformer
from deepdive.positions import SinusoidalPosition


class MemformerEncoder(EmbeddedStack):
    """Encoder whose layers attend to memory slots: token ids (B, S) -> states (B, S, d_model)."""

    def forward(
        self, tokens: Tensor, mask: Tensor | Padding | None = None, slots: Tensor | None = None
    ) -> Tensor:
        """Return the hidden states of `tokens`, given slots (B, n_slots, d_model)."""
        return self.states(self.embedding(tokens), tokens, mask, Context(memory=slots))


class Memformer(Transformer):
    """Memformer: segments (B, S) one after the other, target tokens (B, T) -> logits (B, T, V).

    state = model.begin(first); state = model.begin(second, slots=state.slots)
    logits = model.head(model.decode(tgt, state))
    """

    def __init__(
        self, encoder: MemformerEncoder, decoder: Decoder, head: nn.Module,
        writer: SlotWriter | None,
    ) -> None:  # fmt: skip
        super().__init__(encoder, decoder, head)
        self.writer = writer

    def begin(
        self, src: Tensor, src_mask: Tensor | None = None, slots: Tensor | None = None
    ) -> MemformerState:
        """Encode one segment with the slots of the segments before it; None: it is the first."""
        self.check_source(src)
        real = padding(src_mask, src, "src_mask")
        if self.writer is None:
            if slots is not None:
                raise ValueError("slots were given, but the model has n_slots=0: do not pass them")
            return MemformerState(KVCache(), self.encoder(src, real), real)
        slots = self.writer.initial(len(src)) if slots is None else slots
        states = self.encoder(src, real, slots)
        return MemformerState(KVCache(), states, real, self.writer(slots, states, real))


def memformer(
    vocab_size: int,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    n_slots: int = 128,
    dropout: float = 0.1,
) -> Memformer:
    """Build a model of the base Transformer's size, pre-norm; n_slots = 0: no memory."""
    not_negative(n_slots=n_slots)
    attention = partial(MultiHeadAttention, d_model, n_heads)
    residual = partial(PreNorm, dropout=dropout)

    def stack(cross: bool) -> Stack:
        def block(_layer: int) -> Block:
            ff = FeedForward(d_model, d_ff, gelu, dropout)
            return Block(attention(), ff, attention() if cross else None, residual)

        return Stack(block, n_layers, LayerNorm(d_model))

    embedding = TokenEmbedding(vocab_size, d_model, scale=d_model**0.5)
    position = SinusoidalPosition(d_model)
    return Memformer(
        MemformerEncoder(embedding, position, stack(n_slots > 0), dropout),
        Decoder(embedding, position, stack(True), dropout),
        TiedHead(embedding),
        SlotWriter(d_model, n_heads, n_slots) if n_slots else None,
    )


def tiny(vocab_size: int = 32) -> Memformer:
    """Return a model for tests and toys: 2 + 2 layers, d_model 16, 4 heads, 3 slots."""
    return memformer(vocab_size, d_model=16, n_heads=4, n_layers=2, d_ff=32, n_slots=3, dropout=0.0)

"""R-Transformer: each layer applies a local RNN over a short window, then global attention.
Wang, Ma, Liu and Tang 2019, "R-Transformer: Recurrent Neural Network Enhanced Transformer".

Long because no parent has the RNN over windows.

System: r_transformer
Parent: transformer
What differs:
- before each attention an RNN processes the last `window` inputs at every position (`LocalRNN`)
- the RNN encodes the local order, so there are no position embeddings (`Position` does nothing)
- a layer has three sublayers, each with its residual connection and norm (`order` of `Block`)
- it is decoder-only: a language model (`r_transformer`)
Source: Wang, Ma, Liu and Tang 2019, the model's three sublayers.
Book: table 1.3
"""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from torch import Tensor

from deepdive.attention.structure import all_real, read_mask
from deepdive.core import (
    Block,
    Context,
    FeedForward,
    Layer,
    MultiHeadAttention,
    Position,
    PostNorm,
    relu,
)
from deepdive.core.checks import positive
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder
from deepdive.recurrent import GRU, RNN
from deepdive.recurrent.state import RecurrentState


class LocalRNN(Layer):
    """A recurrent network that restarts at each position, over the `window` inputs up to it.

        y[t] = the last state of rnn(x[t - window + 1 : t + 1]), from zeros         # (B, T, d)

    All positions advance together: `window` steps, whatever T is. Where a window extends before the
    first input, or covers padding, the state is unchanged. It is causal by construction: a `Causal`
    mask has no effect, and of the others only `Padding` is supported.
    Raises ValueError for a window below 1, and a network that changes the width.
    Source: Wang et al. 2019, LocalRNN; shorter windows at the start instead of zero padding.
    """

    reads = ("mask", "positions", "cache")
    instead = "a local RNN's windows are over one sequence"

    def __init__(self, rnn: RNN, window: int) -> None:
        super().__init__()
        positive(window=window)
        if rnn.d_input != rnn.d_hidden:
            raise ValueError(
                f"rnn has d_input={rnn.d_input}, d_hidden={rnn.d_hidden}: a sublayer needs equal "
                "widths"
            )
        self.rnn, self.window, self.d_model = rnn, window, rnn.d_hidden

    def extra_repr(self) -> str:
        return f"window={self.window}"

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the states (B, T, d_model) for x (B, T, d_model); with a cache, windows include
        inputs of earlier calls, and the mask covers them as well.
        """
        T, slot = x.shape[1], context.slot
        projected = self.rnn.W(x).unsqueeze(1)  # (B, 1, S, blocks * d): each input projected once
        if slot is not None:
            projected, _ = slot.part("local").append(projected, projected[..., :1])
        real = all_real(read_mask(context.mask, projected, "LocalRNN")[0], projected)
        around = T + self.window - 1 - projected.shape[2], 0  # to pad, or to crop, at the front
        projected, real = F.pad(projected[:, 0], (0, 0, *around)), F.pad(real, around, value=False)
        values = self.rnn.begin(x.flatten(0, 1), RecurrentState())
        for i in range(self.window):
            here = real[:, i : i + T].expand(len(x), T).flatten()
            values = self.rnn.advance(projected[:, i : i + T].flatten(0, 1), values, here)
        return values[0].unflatten(0, x.shape[:2])


def r_transformer(
    vocab_size: int,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 3,
    d_ff: int = 2048,
    window: int = 7,
    rnn: Callable[[int, int], RNN] = GRU,
    dropout: float = 0.1,
) -> DecoderOnly:
    """Build a language model; `rnn` is the class of the network over `window` inputs."""
    residual = partial(PostNorm, dropout=dropout)

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(d_model, n_heads)
        feed_forward = FeedForward(d_model, d_ff, relu, dropout)
        local = LocalRNN(rnn(d_model, d_model), window)
        order = ("local", "attn", "ff")
        return Block(attention, feed_forward, residual=residual, order=order, local=local)

    embedding = TokenEmbedding(vocab_size, d_model, scale=d_model**0.5)
    decoder = Decoder(embedding, Position(), Stack(block, n_layers), dropout)
    return DecoderOnly(decoder, TiedHead(embedding))


def tiny(vocab_size: int = 32) -> DecoderOnly:
    """Return a small model for tests: 2 layers, width 32, 4 heads, windows of 3."""
    return r_transformer(
        vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, window=3, rnn=RNN, dropout=0.0
    )

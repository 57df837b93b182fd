"""ConvBERT's mixed attention: self-attention and a span-based convolution, half the width each."""

import torch
from torch import Tensor, nn

from deepdive.core import Context, MultiHeadAttention
from deepdive.core.masks import Padding, as_mask
from deepdive.layers.span_convolution import SpanConvolution


class MixedAttention(MultiHeadAttention):
    """output = join(heads, convolved) @ W_out: softmax attention to all positions, and a
    convolution of nearby ones, with the same queries; each d_model / 2 wide. Honors only `Padding`.

    Source: Jiang et al. 2020, section 3.3.
    """

    reads = ("mask", "bias", "positions")
    instead = (
        "the convolution includes later positions: use MultiHeadAttention for a memory, "
        "and for decoding"
    )

    def __init__(self, d_model: int, n_heads: int, kernel: int, dropout: float = 0.0) -> None:
        if n_heads < 1 or d_model % (2 * n_heads):
            raise ValueError(
                f"n_heads={n_heads} does not divide half of d_model={d_model}: choose a divisor"
            )
        super().__init__(d_model, n_heads, d_head=d_model // n_heads // 2, dropout=dropout)
        self.convolution = SpanConvolution(d_model, n_heads, self.d_head, kernel)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model); positions change nothing. Raises ValueError
        for any mask but `Padding`.
        """
        self.check_context(x, context)
        mask = as_mask(context.mask)
        if any(type(part) is not Padding for part in (() if mask is None else mask.parts)):
            raise ValueError(
                "mask: the convolution includes later positions, so it honors only Padding; "
                "use MultiHeadAttention for other masks"
            )
        real = None if mask is None else mask.dense(1, x.shape[1], x.device)[:, 0, 0]
        q, (k, v) = self.queries(x), self.keys_and_values(x)
        heads = self.mechanism(q, k, self.values(v), mask, context.bias, self.scale)
        return self.output(torch.cat([heads, self.convolution(x, q, real)], dim=1))

"""Lightweight and dynamic convolution, and Lite Transformer's attention that shares its channels
with one.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Context, MultiHeadAttention
from deepdive.core.checks import divides, positive
from deepdive.core.context import Layer
from deepdive.layers.convolution import Convolution


class SharedKernel(nn.Module):
    """Depthwise convolution whose kernel is softmax-normalized and shared by a head's channels.

        y[c, t] = sum over j of softmax(weight[head of c])[j] * x[c, t + j]

    In: (B, d_model, T + kernel - 1), the padding included. Out: (B, d_model, T).
    Source: Wu et al. 2019, section 3, equation 6.
    """

    def __init__(self, d_model: int, n_heads: int, kernel: int, dropout: float = 0.0) -> None:
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads, kernel=kernel)
        divides(n_heads=n_heads, d_model=d_model)
        self.n_heads, self.dropout = n_heads, nn.Dropout(dropout)
        self.weight = nn.Parameter(torch.empty(n_heads, kernel))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        kernels = self.dropout(self.weight.softmax(-1))
        weight = kernels.repeat_interleave(x.shape[1] // self.n_heads, 0).unsqueeze(1)
        return F.conv1d(x, weight, groups=x.shape[1])


class DynamicKernel(nn.Module):
    """`SharedKernel` whose logits are a linear function of the state at t: each position has its
    own kernel. `left` is the number of inputs before t.

    Source: Wu et al. 2019, section 4.
    """

    def __init__(
        self, d_model: int, n_heads: int, kernel: int, left: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads, kernel=kernel)
        divides(n_heads=n_heads, d_model=d_model)
        if not 0 <= left < kernel:
            raise ValueError(f"left={left}: expected 0 to {kernel - 1}, inputs of kernel={kernel}")
        self.n_heads, self.kernel, self.left = n_heads, kernel, left
        self.logits, self.dropout = nn.Linear(d_model, n_heads * kernel), nn.Dropout(dropout)
        nn.init.xavier_uniform_(self.logits.weight)
        nn.init.zeros_(self.logits.bias)

    def forward(self, x: Tensor) -> Tensor:
        T = x.shape[2] - self.kernel + 1
        now = x[:, :, self.left : self.left + T].mT  # (B, T, d_model)
        logits = self.logits(now).unflatten(-1, (self.n_heads, self.kernel))
        weights = self.dropout(logits.softmax(-1)).permute(0, 2, 3, 1)  # (B, H, kernel, T)
        parts = x.unflatten(1, (self.n_heads, -1))  # (B, H, d_model / H, T + kernel - 1)
        y = torch.zeros_like(parts[..., :T])
        for j in range(self.kernel):  # distance by distance: no values are copied
            y = torch.addcmul(y, weights[:, :, j, None], parts[..., j : j + T])
        return y.flatten(1, 2)


class LightweightConvolution(Convolution):
    """`Convolution` with a kernel of `SharedKernel`, or with `dynamic` of `DynamicKernel`.

    An odd kernel is centered; a causal one ends at t. Honors `Padding`, and `Causal` if causal.
    Raises ValueError for an even kernel that isn't causal.
    Source: Wu et al. 2019, sections 3 and 4.
    """

    def __init__(
        self, d_model: int, n_heads: int, kernel: int, causal: bool = False, dynamic: bool = False,
        dropout: float = 0.0,
    ) -> None:  # fmt: skip
        positive(d_model=d_model, n_heads=n_heads, kernel=kernel)
        if kernel % 2 == 0 and not causal:
            raise ValueError(f"kernel={kernel}: expected an odd number, so it has a center")
        left = kernel - 1 if causal else kernel // 2
        super().__init__(d_model, left, kernel - 1 - left, groups=d_model)
        sizes = d_model, n_heads, kernel
        self.W = DynamicKernel(*sizes, left, dropout) if dynamic else SharedKernel(*sizes, dropout)  # type: ignore[assignment]


class GatedLightweightConvolution(Layer):
    """out(conv(glu(inner(x)))): the module that takes the place of attention.

    Source: Wu et al. 2019, figure 2.
    """

    reads = ("mask", "positions", "cache")
    instead = Convolution.instead

    def __init__(
        self, d_model: int, n_heads: int, kernel: int, causal: bool = False, dynamic: bool = False,
        dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads, kernel=kernel)
        self.d_model = d_model
        self.inner, self.out = nn.Linear(d_model, 2 * d_model), nn.Linear(d_model, d_model)
        self.conv = LightweightConvolution(d_model, n_heads, kernel, causal, dynamic, dropout)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model)."""
        return self.out(self.conv(F.glu(self.inner(x)), context))


class LongShortAttention(Layer):
    """Long-short range attention (LSRA): attention for the first channels, a convolution for the
    others, side by side.

        output = concat(attention(x[..., :attended]), convolution(x[..., attended:]))

    `attended` is d_model / 2 by default. With all channels on one side the other module isn't
    built. Honors `Padding`, and `Causal` if built `causal`.
    Raises ValueError for `attended` above d_model or below 0.
    Source: Wu et al. 2020, section 4.
    """

    reads = ("mask", "positions", "cache")
    instead = Convolution.instead

    def __init__(
        self, d_model: int, n_heads: int, kernel: int, attended: int | None = None,
        causal: bool = False, dynamic: bool = True, dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads)
        attended = d_model // 2 if attended is None else attended
        if not 0 <= attended <= d_model:
            raise ValueError(f"attended={attended}: expected 0 to d_model={d_model} channels")
        if attended % n_heads or d_model % n_heads:
            raise ValueError(
                f"n_heads={n_heads} does not divide both attended={attended} and the other "
                f"{d_model - attended} of d_model={d_model} channels: choose a divisor"
            )
        self.d_model, self.sizes = d_model, [attended, d_model - attended]
        self.attn = MultiHeadAttention(attended, n_heads, dropout=dropout) if attended else None
        self.conv = (
            GatedLightweightConvolution(d_model - attended, n_heads, kernel, causal, dynamic)
            if attended < d_model
            else None
        )

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model)."""
        near = context
        if context.slot is not None:  # each module caches states of its own
            near = replace(context, cache=context.slot.part("conv"))
        parts = zip((self.attn, self.conv), x.split(self.sizes, -1), (context, near), strict=True)
        return torch.cat([module(part, fields) for module, part, fields in parts if module], -1)

"""A convolution over time in place of attention: the neighbors are fixed, and so are their
weights.
"""

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import divides, positive
from deepdive.core.context import Context, Layer
from deepdive.core.masks import Causal, Mask, Padding, Window, as_mask, describe


class Convolution(Layer):
    """Convolution over time, with one matrix for each distance.

        y[t] = b + sum over j = 0 .. left + right of W[j] @ x[t + (j - left) * dilation]

    The kernel covers left + 1 + right positions, those of the mask `Window(left, right, dilation)`;
    outside the sequence x is 0.
    Causal when `right` is 0. Cost: 2 * T * (left + 1 + right) * d_model^2 operations.

    `groups` divides the channels into groups, each mixed separately; d_model groups: depthwise.

    Honours `Padding`, where x counts as 0, and `Causal` when `right` is 0; refuses other masks.
    No weights exist that `record` could show.

    Raises ValueError when left or right is negative, or dilation below 1.
    Source: Gehring et al. 2017, section 3.2, without its gate; dilation: Kalchbrenner et al. 2017,
    section 3.3.
    """

    reads = ("mask", "positions", "cache")
    instead = (
        "a convolution has no keys to choose from, and no scores: a memory and a bias need "
        "MultiHeadAttention"
    )

    def __init__(
        self,
        d_model: int,
        left: int,
        right: int = 0,
        dilation: int = 1,
        bias: bool = True,
        groups: int = 1,
    ) -> None:
        super().__init__()
        positive(d_model=d_model, groups=groups)
        divides(groups=groups, d_model=d_model)
        Window(left, right, dilation)  # it names what is out of range
        self.d_model, self.left, self.right, self.dilation = d_model, left, right, dilation
        self.W = nn.Conv1d(
            d_model, d_model, left + 1 + right, dilation=dilation, bias=bias, groups=groups
        )
        nn.init.xavier_uniform_(self.W.weight)
        if self.W.bias is not None:
            nn.init.zeros_(self.W.bias)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model).

        With a cache the inputs of earlier calls are included. Distances do not depend on positions.
        Raises ValueError for a mask that cannot be honored, and for a cache when `right` is above
        0: later inputs do not exist yet.
        """
        if x.ndim != 3 or x.shape[-1] != self.d_model or 0 in x.shape:
            raise ValueError(f"x must be (B, T, {self.d_model}), not empty; got {tuple(x.shape)}")
        T, inputs, slot = x.shape[1], x, context.slot
        if slot is not None:
            self._needs_no_future("a cache")
            inputs = slot.append(x.unsqueeze(1), x[:, None, :, :0])[0].squeeze(1)  # (B, S, d_model)
        real = self._real(context.mask, inputs)
        if real is not None:
            inputs = inputs * real.unsqueeze(-1)
        before, after = self.left * self.dilation, self.right * self.dilation
        # the last T inputs and those in their kernels; a negative pad drops unused ones
        inputs = F.pad(inputs, (0, 0, before - (inputs.shape[1] - T), after))
        return self.W(inputs.transpose(1, 2)).transpose(1, 2)

    def _real(self, mask: Mask | Tensor | None, x: Tensor) -> Tensor | None:
        """Return which inputs are real, bool (B, S), None = all."""
        mask, real = as_mask(mask), None
        for part in () if mask is None else mask.parts:
            if isinstance(part, Causal):
                self._needs_no_future("a causal mask")
            elif isinstance(part, Padding):
                keys = part.allowed(1, x.shape[1], x.device)
                assert keys is not None
                real = keys[:, 0, 0] if real is None else real & keys[:, 0, 0]
            else:
                raise ValueError(
                    f"mask: a convolution supports Padding, and Causal if right is 0; got "
                    f"{describe(part)}. Set its window by left and right at construction"
                )
        return real

    def _needs_no_future(self, what: str) -> None:
        if self.right:
            raise ValueError(
                f"{what} was given, but this convolution uses {self.right} later inputs: build "
                "it with right=0"
            )


class GatedConvolution(Layer):
    """y = out(swish(norm(conv(glu(inner(x)))))), for rows (B, T, d_model).

    `conv` reads `kernel` rows around each, every channel alone; rows under padding count as 0.
    """

    reads = ("mask", "positions")
    instead = "a Conformer block needs full recordings: its convolution uses later frames"

    def __init__(self, d_model: int, kernel: int) -> None:
        super().__init__()
        positive(d_model=d_model, kernel=kernel)
        if kernel % 2 == 0:
            raise ValueError(f"kernel={kernel}: expected an odd number, so it has a center")
        self.inner = nn.Linear(d_model, 2 * d_model, bias=False)
        self.conv = Convolution(d_model, kernel // 2, kernel // 2, bias=False, groups=d_model)
        self.norm = nn.BatchNorm1d(d_model)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model)."""
        rows = self.conv(F.glu(self.inner(x)), context)
        return self.out(F.silu(self.norm(rows.mT).mT))

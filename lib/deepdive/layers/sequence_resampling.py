"""CANINE's down- and upsampling: a shorter sequence for the deep stack, and back."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.checks import positive
from deepdive.core.feed_forward import Activation
from deepdive.layers.subsample import mask_padding


class Downsample(nn.Module):
    """Downsample (B, T, d_model) -> (B, T // rate, d_model): `rate` neighbors become one state.

        short[0] = norm(x[0]),  short[i] = norm(activation(conv(x[rate * (i - 1) : rate * i])))

    The first state, [CLS]'s, is kept, and the last group's is dropped for it. State i counts as
    real where one of x[rate * i : rate * (i + 1)] is: as released, one group too late.
    Raises ValueError for fewer than `rate` states.
    Source: Clark et al. 2022, section 3.2, and their released code.
    """

    def __init__(self, rate: int, d_model: int, activation: Activation, eps: float) -> None:
        super().__init__()
        positive(rate=rate, d_model=d_model)
        self.rate, self.activation = rate, activation
        self.conv = nn.Conv1d(d_model, d_model, rate, stride=rate)
        self.norm = LayerNorm(d_model, eps)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return the short sequence, and which of it is real; `mask` bool (B, T), None = all."""
        T, rate = x.shape[1], self.rate
        if rate > T:
            raise ValueError(
                f"a text of {T} characters is shorter than rate={rate}, the characters per "
                "state: pad it, and pass the mask"
            )
        x = mask_padding(x, mask)
        groups = self.activation(self.conv(x.mT)).mT  # (B, T // rate, d_model)
        short = self.norm(torch.cat((x[:, :1], groups[:, :-1]), dim=1))
        if mask is None:
            return short, None
        return short, mask[:, : T // rate * rate].unflatten(1, (-1, rate)).any(-1)


class Upsample(nn.Module):
    """Upsample x (B, T, d_model) and short (B, T // rate, d_model) -> (B, T, d_model).

        both[s] = [x[s], short[1 + s // rate]]
        out[t] = dropout(norm(activation(conv(both)[t])))

    conv covers `kernel` positions, (kernel - 1) // 2 of them before t. Those at the end, which have
    no state of `short`, use the last one.
    Source: Clark et al. 2022, section 3.3, and their released code.
    """

    def __init__(
        self, kernel: int, d_model: int, activation: Activation, eps: float, dropout: float = 0.0
    ) -> None:
        super().__init__()
        positive(kernel=kernel, d_model=d_model)
        self.kernel, self.activation = kernel, activation
        self.conv = nn.Conv1d(2 * d_model, d_model, kernel)
        self.norm, self.dropout = LayerNorm(d_model, eps), nn.Dropout(dropout)

    def forward(self, x: Tensor, short: Tensor, rate: int, mask: Tensor | None = None) -> Tensor:
        """Return a state for each position of x; `mask` bool (B, T), None = all are real."""
        group = torch.arange(x.shape[1], device=x.device) // rate + 1
        both = torch.cat((x, short[:, group.clamp(max=short.shape[1] - 1)]), dim=-1)
        before = (self.kernel - 1) // 2
        padded = F.pad(mask_padding(both, mask), (0, 0, before, self.kernel - 1 - before))
        return self.dropout(self.norm(self.activation(self.conv(padded.mT).mT)))

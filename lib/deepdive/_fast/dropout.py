"""Dropout that costs nothing in evaluation, and little in training on a CPU."""

import torch
from torch import Tensor, nn


class FastDropout(nn.Dropout):
    """Zero each element with probability p in training, and scale the others by 1 / (1 - p).

    On a CPU torch draws one number an element and takes three times as long: here 64 random bits
    serve four elements, so p is met to 1 / 65,536. In evaluation x is passed without a module's
    call: a block has three dropouts, and decoding meets them all at every token.
    Source: Srivastava et al. 2014, section 4.
    """

    def __call__(self, x: Tensor) -> Tensor:
        return super().__call__(x) if self.training and self.p else x

    def forward(self, x: Tensor) -> Tensor:
        """Return x with elements dropped."""
        dropped = round(self.p * 65_536)
        if x.device.type != "cpu" or not self.training or dropped == 65_536:  # too few for 16 bits
            return super().forward(x)
        kept = _random_int16(x.shape) >= dropped - 32_768
        return x * kept.to(x.dtype).mul_(1 / (1 - self.p))


def _random_int16(shape: torch.Size) -> Tensor:
    """Return int16 numbers of that shape, uniform over all 65,536, from torch's generator."""
    count = shape.numel()
    bits = torch.empty(count // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
    return bits.view(torch.int16)[:count].view(shape)

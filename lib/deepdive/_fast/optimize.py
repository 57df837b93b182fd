"""Faster replacements of torch's layers in an existing model."""

from typing import TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)
LARGE_PRODUCT = 2**23  # multiplications that amortize the other kernel's 20 us of set-up


class FastLinear(nn.Linear):
    """y = x @ weight.T + bias, (..., out_features) for x (..., in_features).

    Equivalent to `nn.Linear`, but faster: in float32 on a CPU torch uses MKL, but also has oneDNN,
    which fuses the bias addition: a tenth to a third faster at 384 to 1,536 columns on the AMD
    processor of `benchmarks/bench_bert.py`. It does not support autograd, so it is used only
    without gradients. The two agree up to rounding.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return y."""
        if torch.is_grad_enabled() or not self._pays(x):
            return super().forward(x)
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")

    def _pays(self, x: Tensor) -> bool:
        """Whether the product is large, and supported by oneDNN."""
        return (
            x.numel() * self.out_features >= LARGE_PRODUCT
            and x.device.type == self.weight.device.type == "cpu"
            and x.dtype == self.weight.dtype == torch.float32
            and x.shape[-1] == self.in_features
            and torch.backends.mkldnn.is_available()
            and hasattr(torch.ops.mkldnn, "_linear_pointwise")  # private, so it may be removed
            and not torch.is_autocast_enabled("cpu")
            and not torch.compiler.is_compiling()
        )


class FastDropout(nn.Dropout):
    """Zero each element with probability p in training, and scale the others by 1 / (1 - p).

    On a CPU torch samples one number per element and takes three times as long: here 64 random bits
    serve four elements, so p is rounded to 1 / 65,536. In evaluation, `__call__` returns x without
    the module call: a block has three dropouts, and decoding calls them all at every token.
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
    """Return int16 numbers of this shape, uniform over all 65,536, from torch's generator."""
    count = shape.numel()
    bits = torch.empty(count // 4 + 1, dtype=torch.int64).random_(-(2**63), None)
    return bits.view(torch.int16)[:count].view(shape)


FORMS: dict[type[nn.Module], type[nn.Module]] = {nn.Linear: FastLinear, nn.Dropout: FastDropout}


def optimize(model: Model) -> Model:
    """Replace layers of `model`, in place, by faster ones, and return it. Its outputs stay the same
    up to rounding; in training, dropout drops other elements.

        nn.Linear   FastLinear   oneDNN's kernel for large float32 products without gradients (CPU)
        nn.Dropout  FastDropout  16 random bits per element (CPU), and no call in evaluation

    Subclasses are not replaced. Weights, names, and hooks stay the same, so the model can be saved,
    loaded, and trained as before.
    """
    for module in model.modules():
        if (form := FORMS.get(type(module))) is not None:
            module.__class__ = form
    return model

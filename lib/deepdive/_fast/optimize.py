"""Faster layers in the place of torch's, in a model that is built already."""

from typing import TypeVar

import torch
from torch import Tensor, nn

Model = TypeVar("Model", bound=nn.Module)
LARGE_PRODUCT = 2**23  # multiplications that win back the other kernel's 20 us of set-up


class FastLinear(nn.Linear):
    """y = x @ weight.T + bias, (..., out_features) for x (..., in_features).

    `nn.Linear` in all but speed: in float32 on a CPU torch multiplies by MKL, and also has oneDNN,
    which adds the bias as it writes the product: a tenth to a third faster at 384 to 1,536 columns
    on the AMD processor of `benchmarks/bench_bert.py`. It records no gradient, so it serves only
    where none is wanted. The two agree to rounding.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Return y."""
        if torch.is_grad_enabled() or not self._pays(x):
            return super().forward(x)
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")

    def _pays(self, x: Tensor) -> bool:
        """Whether the product is large, and of a kind that oneDNN takes."""
        return (
            x.numel() * self.out_features >= LARGE_PRODUCT
            and x.device.type == self.weight.device.type == "cpu"
            and x.dtype == self.weight.dtype == torch.float32
            and x.shape[-1] == self.in_features
            and torch.backends.mkldnn.is_available()
            and hasattr(torch.ops.mkldnn, "_linear_pointwise")  # private, so it may go
            and not torch.is_autocast_enabled("cpu")
            and not torch.compiler.is_compiling()
        )


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


FORMS: dict[type[nn.Module], type[nn.Module]] = {nn.Linear: FastLinear, nn.Dropout: FastDropout}


def optimize(model: Model) -> Model:
    """Replace layers of `model`, in place, by faster ones, and return it. What it computes stays
    the same to rounding; in training, dropout draws other elements.

        nn.Linear   FastLinear   oneDNN's kernel for large float32 products without gradients (CPU)
        nn.Dropout  FastDropout  16 random bits an element (CPU), and no call in evaluation

    Subclasses stay as they are. Weights, names, and hooks are those of the model, so it can be
    saved, loaded, and trained as before.
    """
    for module in model.modules():
        if (form := FORMS.get(type(module))) is not None:
            module.__class__ = form
    return model

"""A linear layer that runs large products in the faster of torch's two CPU kernels."""

import torch
from torch import Tensor, nn

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

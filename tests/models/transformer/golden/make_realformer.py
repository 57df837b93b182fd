"""Write what x-transformers 2.31.10 computes for RealFormer, with its arguments `residual_attn` and
`cross_residual_attn`: a post-norm decoder with cross-attention.

In an environment of its own, with torch of any recent version:

    pip install --no-deps --target site x-transformers==2.31.10 einops einx loguru frozendict \
        torch-einops-utils
    PYTHONPATH=site python make_realformer.py realformer.safetensors

Its softmax runs in float32, which is replaced here: all numbers are float64. The weights are
random, none is 0 or 1.
"""

import sys
from functools import partial
from importlib import import_module
from importlib.metadata import version

import torch
import torch.nn.functional as F
from safetensors.torch import save_file


def main(target: str) -> None:
    assert version("x-transformers") == "2.31.10"
    theirs, attend = (import_module(f"x_transformers{part}") for part in ("", ".attend"))
    model = theirs.Decoder(
        dim=16, depth=3, heads=4, attn_dim_head=4, ff_mult=2, pre_norm=False,
        residual_attn=True, cross_attend=True, cross_residual_attn=True,
    ).double().eval()  # fmt: skip
    for module in model.modules():
        if isinstance(module, attend.Attend):
            module.attn_fn = partial(F.softmax, dim=-1)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(noise * 0.4 + (parameter.ndim == 1) * 0.3)
    x, memory = (torch.randn(2, n, 16, generator=generator, dtype=torch.float64).requires_grad_()
                 for n in (6, 5))  # fmt: skip
    real = torch.arange(6) < torch.tensor([6, 4])[:, None]
    memory_real = torch.arange(5) < torch.tensor([3, 5])[:, None]
    output = model(x, context=memory, mask=real, context_mask=memory_real)[real]
    direction = torch.randn(output.shape, generator=generator, dtype=torch.float64)
    (output * direction).sum().backward()
    found = {
        "x": x, "memory": memory, "real": real, "memory_real": memory_real, "output": output,
        "direction": direction, "gradient.x": x.grad, "gradient.memory": memory.grad,
    }  # fmt: skip
    for name, parameter in model.named_parameters():
        found[f"weight.{name}"], found[f"gradient.{name}"] = parameter, parameter.grad
    save_file({name: each.detach().contiguous().clone() for name, each in found.items()}, target)


if __name__ == "__main__":
    main(sys.argv[1])

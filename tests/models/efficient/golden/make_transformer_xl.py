"""Write what transformers 4.57.6 computes for Transformer-XL, which later versions do not have.

In an environment of its own, with torch and numpy of any recent version:

    pip install --no-deps --target site transformers==4.57.6 tokenizers==0.22.2 \
        huggingface_hub==0.36.2
    PYTHONPATH=site python make_transformer_xl.py transformer_xl.safetensors

Two of their calls fail or lose precision in float64, and are replaced while it runs:
`Tensor.type_as(dtype=...)` raises a TypeError, and `Tensor.float` would round the scores. All
numbers are float64. Two models: one shares u and v, counts distances above 6 as 6, and starts with
a memory of zeros, as theirs does; the other has u and v of each layer, and each query attends to as
many states (`same_length`).
"""

import sys

import torch
from safetensors.torch import save_file
from transformers import __version__
from transformers.models.deprecated.transfo_xl.configuration_transfo_xl import TransfoXLConfig
from transformers.models.deprecated.transfo_xl.modeling_transfo_xl import (
    PositionalEmbedding,
    TransfoXLLMHeadModel,
)

VOCAB, SEGMENT, SEGMENTS, MEMORY = 20, 4, 3, 5
VARIANTS = {
    "shared": {"untie_r": False, "clamp_len": 6, "same_length": False},
    "same_length": {"untie_r": True, "clamp_len": -1, "same_length": True},
}


def type_as(self: torch.Tensor, other: object = None, dtype: object = None) -> torch.Tensor:
    return self.to(dtype if other is None else other.dtype)


def one(name: str, found: dict[str, torch.Tensor]) -> None:
    config = TransfoXLConfig(
        vocab_size=VOCAB, cutoffs=[], d_model=16, d_embed=16, n_head=4, d_head=5, d_inner=24,
        n_layer=2, mem_len=MEMORY, div_val=1, adaptive=True, **VARIANTS[name],
    )  # fmt: skip
    model = TransfoXLLMHeadModel(config).double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            drawn = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(drawn * 0.4 + (parameter.ndim == 1) * 0.3)
    for part in model.modules():
        if isinstance(part, PositionalEmbedding):
            part.inv_freq = 10_000 ** -(torch.arange(0, 16, 2, dtype=torch.float64) / 16)
    tokens = torch.randint(4, VOCAB, (3, SEGMENTS * SEGMENT), generator=generator)
    mems, scores = None, []
    for segment in tokens.split(SEGMENT, 1):
        output = model(segment, mems=mems)
        scores.append(output.prediction_scores)
        mems = output.mems
    logp = torch.cat(scores, 1)
    direction = torch.randn(logp.shape, generator=generator, dtype=torch.float64)
    (logp * direction).sum().backward()
    found |= {f"{name}.tokens": tokens, f"{name}.logp": logp, f"{name}.direction": direction}
    found |= {f"{name}.memory.{i}": states.transpose(0, 1) for i, states in enumerate(mems)}
    for parameter, values in model.named_parameters():
        found[f"{name}.weight.{parameter}"] = values
        found[f"{name}.gradient.{parameter}"] = values.grad


def main(target: str) -> None:
    assert __version__ == "4.57.6", __version__
    torch.set_default_dtype(torch.float64)
    torch.Tensor.type_as, torch.Tensor.float = type_as, torch.Tensor.double
    found: dict[str, torch.Tensor] = {}
    for name in VARIANTS:
        one(name, found)
    save_file({name: each.detach().contiguous().clone() for name, each in found.items()}, target)


if __name__ == "__main__":
    main(sys.argv[1])

"""What the proofs of recurrent models share: tokens, rows, and layers of ours as torch's."""

from __future__ import annotations

import torch
from parity_registry import equal, equal_gradients, perturb
from torch import Tensor, nn

Weights = dict[str, tuple[Tensor, Tensor]]


def rows(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


SOURCE = torch.tensor([[4, 7, 9, 5, 0], [6, 8, 0, 0, 0], [11, 5, 6, 4, 10]])
TARGET = torch.tensor([[1, 9, 5, 4], [1, 6, 0, 0], [1, 12, 4, 0]])
SRC_REAL, TGT_REAL = SOURCE != 0, TARGET != 0


def ready(model: nn.Module) -> nn.Module:
    perturb(model.double().eval())
    return model


def copied(module: nn.Module, weights: dict[str, Tensor], pairs: Weights) -> nn.Module:
    """Fill torch's module with copies of our weights."""
    module = module.double()
    module.load_state_dict({name: weight.detach() for name, weight in weights.items()})
    for name, copy in module.named_parameters():
        pairs[f"{len(pairs)} {name}"] = (weights[name], copy)
    return module


def linear(layer: nn.Module, pairs: Weights) -> nn.Module:
    """A layer of ours as torch's; a tied one's gradient has other parts, its bias alone is one."""
    if hasattr(layer, "embedding"):
        weights = {"weight": layer.embedding.weight, "bias": layer.bias}
        module = copied(nn.Linear(*layer.embedding.weight.T.shape), weights, {})
        pairs["bias of the scores"] = (layer.bias, module.bias)
        return module
    return copied(nn.Linear(*layer.weight.T.shape), dict(layer.named_parameters()), pairs)


def equal_where_real(ours: Tensor, expected: Tensor, pairs: Weights) -> None:
    equal(ours[TGT_REAL], expected[TGT_REAL])
    equal_gradients(ours[TGT_REAL], expected[TGT_REAL], pairs)


def softmax_over_real(scores: Tensor, real: Tensor) -> Tensor:
    return scores.masked_fill(~real, float("-inf")).softmax(-1)

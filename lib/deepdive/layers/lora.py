"""LoRA: a frozen layer plus a trained low-rank update. Hu et al. 2022, "LoRA: Low-Rank Adaptation
of Large Language Models".
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive


class LoRA(nn.Module):
    """y = frozen(x) + alpha / rank * x @ A^T @ B^T, with A (rank, in) and B (out, rank).

    B starts at 0, so that the output is unchanged at first; A as `nn.Linear` initializes weights.
    Tuning trains rank * (in + out) numbers where the layer has in * out, and `merged` adds them
    to it: a tuned layer then costs as much as the layer did.
    Raises ValueError for a rank that is no correction: above in or out.
    Source: Hu et al. 2022, section 4.1.
    """

    def __init__(self, frozen: nn.Linear, rank: int, alpha: float | None = None) -> None:
        super().__init__()
        positive(rank=rank)
        sides = frozen.in_features, frozen.out_features
        if rank > min(sides):
            raise ValueError(
                f"rank={rank} is above a dimension of the layer, {sides[0]} to {sides[1]}: fine-"
                "tune the layer itself"
            )
        self.frozen = frozen.requires_grad_(False)
        self.rank, self.scale = rank, 1.0 if alpha is None else alpha / rank
        self.A = nn.Parameter(frozen.weight.new_empty(rank, sides[0]))
        self.B = nn.Parameter(frozen.weight.new_zeros(sides[1], rank))
        nn.init.kaiming_uniform_(self.A, a=5**0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., out) for x (..., in)."""
        output: Tensor = self.frozen(x) + self.scale * F.linear(F.linear(x, self.A), self.B)
        return output

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """Return the frozen layer, to whose weight alpha / rank * B A has been added."""
        self.frozen.weight += self.scale * self.B @ self.A
        return self.frozen.requires_grad_(True)


def adapt(model: nn.Module, rank: int, endings: Sequence[str], alpha: float | None = None) -> int:
    """Freeze `model`, put a `LoRA` in place of each linear layer whose name ends so ("attn.q"), and
    return the number of trainable parameters. Raises ValueError where no layer has such a name.
    """
    targets = [
        (name, layer) for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear) and name.endswith(tuple(endings))
    ]  # fmt: skip
    if not targets:
        raise ValueError(
            f"endings={list(endings)}: no linear layer of {type(model).__name__} ends so; see "
            "model.named_modules()"
        )
    model.requires_grad_(False)
    for name, layer in targets:
        model.set_submodule(name, LoRA(layer, rank, alpha))
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def merge(model: nn.Module) -> None:
    """Put the merged layer in place of each `LoRA`; all of the model is trainable again."""
    for name, layer in list(model.named_modules()):
        if isinstance(layer, LoRA):
            model.set_submodule(name, layer.merged())
    model.requires_grad_(True)

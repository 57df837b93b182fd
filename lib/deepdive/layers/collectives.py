"""Several machines that compute one model together, and the two ways in which rows pass from what
all of them hold to what each holds a share of.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class DeviceGroup:
    """One machine alone, which holds everything; `ProcessGroup` are several.

    ways, rank  how many there are, and which of them this is, from 0
    told        what was said so far: "sum", "most" or "pieces", and how many numbers
    """

    def __init__(self) -> None:
        self.ways, self.rank = 1, 0
        self.told: list[tuple[str, int]] = []

    def total(self, x: Tensor) -> Tensor:
        """Return the sum of every machine's x: an all-reduce."""
        return x

    def most(self, x: Tensor) -> Tensor:
        """Return the largest of every machine's x, entry by entry."""
        return x

    def pieces(self, x: Tensor) -> list[Tensor]:
        """Return every machine's x, in their order."""
        return [x]


class ProcessGroup(DeviceGroup):
    """The processes of torch's default group, which has begun; they may stand on one computer."""

    def __init__(self) -> None:
        super().__init__()
        self.ways, self.rank = dist.get_world_size(), dist.get_rank()

    def total(self, x: Tensor) -> Tensor:
        return self._reduced("sum", x, dist.ReduceOp.SUM)

    def most(self, x: Tensor) -> Tensor:
        return self._reduced("most", x, dist.ReduceOp.MAX)

    def pieces(self, x: Tensor) -> list[Tensor]:
        self.told.append(("pieces", x.numel()))
        found = [
            torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(self.ways)
        ]
        dist.all_gather(found, x.contiguous())
        return found

    def _reduced(self, name: str, x: Tensor, operation: Any) -> Tensor:
        self.told.append((name, x.numel()))
        x = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(x, operation)
        return x


class _Copied(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, machines: DeviceGroup) -> Tensor:
        ctx.machines = machines
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.machines.total(gradients[0]), None


class _Summed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, machines: DeviceGroup) -> Tensor:
        return machines.total(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0], None


class _Joined(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, machines: DeviceGroup) -> Tensor:
        ctx.machines = machines
        return torch.cat(machines.pieces(x), dim=-1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        machines = ctx.machines
        return gradients[0].chunk(machines.ways, dim=-1)[machines.rank], None


def broadcast_in(x: Tensor, machines: DeviceGroup) -> Tensor:
    """Return x, which all machines have, for each to use in its own way: the gradients of these
    uses are summed. The paper's f.
    """
    result: Tensor = _Copied.apply(x, machines)  # type: ignore[no-untyped-call]
    return result


def all_reduce(x: Tensor, machines: DeviceGroup) -> Tensor:
    """Return the sum of every machine's x, which then all have: its gradient is that of each
    summand. The paper's g.
    """
    result: Tensor = _Summed.apply(x, machines)  # type: ignore[no-untyped-call]
    return result


def all_gather(x: Tensor, machines: DeviceGroup) -> Tensor:
    """Return every machine's x (..., n) side by side, (..., ways * n)."""
    result: Tensor = _Joined.apply(x, machines)  # type: ignore[no-untyped-call]
    return result


def share(whole: Tensor, machines: DeviceGroup, axis: int = 0, parts: int = 1) -> Tensor:
    """Return this machine's piece of `whole`, cut along `axis`; where that holds `parts` matrices
    one after the other, a piece of each. Raises ValueError where no even cut is possible.
    """
    size = whole.shape[axis] // parts
    if size % machines.ways:
        raise ValueError(
            f"ways={machines.ways} does not divide {size}, the side of {tuple(whole.shape)} that "
            "is cut: choose a divisor, or fill the side up"
        )
    pieces = [part.chunk(machines.ways, axis)[machines.rank] for part in whole.chunk(parts, axis)]
    return torch.cat(pieces, axis)


def together(pieces: list[Tensor], axis: int = 0, parts: int = 1) -> Tensor:
    """Return the whole of which these are the machines' shares."""
    halves = zip(*(piece.chunk(parts, axis) for piece in pieces), strict=True)
    return torch.cat([part for half in halves for part in half], axis)

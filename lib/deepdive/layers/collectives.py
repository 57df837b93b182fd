"""Collective operations of tensor parallelism: all-reduce and all-gather with their gradients, and
the sharding of matrices.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


class DeviceGroup:
    """A group of one machine, without communication; `ProcessGroup` has several.

    ways, rank  how many there are, and which of them this is, from 0
    told        the communication so far: "sum", "most" or "pieces", and how many numbers
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
    """The processes of torch's initialized default group; they may run on one computer."""

    def __init__(self) -> None:
        super().__init__()
        self.ways, self.rank = dist.get_world_size(), dist.get_rank()

    def total(self, x: Tensor) -> Tensor:
        return self._reduced("sum", x, dist.ReduceOp.SUM)

    def most(self, x: Tensor) -> Tensor:
        return self._reduced("most", x, dist.ReduceOp.MAX)

    def pieces(self, x: Tensor) -> list[Tensor]:
        self.told.append(("pieces", x.numel()))
        gathered = [
            torch.empty_like(x, memory_format=torch.contiguous_format) for _ in range(self.ways)
        ]
        dist.all_gather(gathered, x.contiguous())
        return gathered

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
    """Return x, which all machines have: the identity, whose gradients are summed over the machines
    (all-reduce). The paper's f.
    """
    result: Tensor = _Copied.apply(x, machines)  # type: ignore[no-untyped-call]
    return result


def all_reduce(x: Tensor, machines: DeviceGroup) -> Tensor:
    """Return the sum of every machine's x on all of them, whose gradient is passed to each
    unchanged. The paper's g.
    """
    result: Tensor = _Summed.apply(x, machines)  # type: ignore[no-untyped-call]
    return result


def all_gather(x: Tensor, machines: DeviceGroup) -> Tensor:
    """Return every machine's x (..., n) concatenated, (..., ways * n)."""
    result: Tensor = _Joined.apply(x, machines)  # type: ignore[no-untyped-call]
    return result


def share(full: Tensor, machines: DeviceGroup, axis: int = 0, parts: int = 1) -> Tensor:
    """Return this machine's shard of `full`, split along `axis`; where that has `parts` matrices
    one after the other, a shard of each. Raises ValueError where no even split is possible.
    """
    size = full.shape[axis] // parts
    if size % machines.ways:
        raise ValueError(
            f"ways={machines.ways} does not divide {size}, the sharded dimension of "
            f"{tuple(full.shape)}: choose a divisor, or pad the dimension"
        )
    shards = [part.chunk(machines.ways, axis)[machines.rank] for part in full.chunk(parts, axis)]
    return torch.cat(shards, axis)


def together(pieces: list[Tensor], axis: int = 0, parts: int = 1) -> Tensor:
    """Return the full tensor from the machines' shards."""
    groups = zip(*(piece.chunk(parts, axis) for piece in pieces), strict=True)
    return torch.cat([part for group in groups for part in group], axis)

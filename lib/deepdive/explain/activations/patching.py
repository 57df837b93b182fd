"""Activation patching: replace activations of a run on one input by those of a run on another, and
measure how much of the output is restored.

    found = patch(model, "*.stream", clean, corrupted, read)
    patch_effect(found)                        # one number per point: 0 = nothing, 1 = all of it

What differs:
- an activation of the *clean* run replaces that of the *corrupted* run, instead of zero: the
  patched values are real activations (`patch`), so the model stays in distribution
- the effect is the restored fraction of the difference between the two runs (`patch_effect`)
- all of a tensor, or one position or head at a time (`axis`), in each layer; or several positions
  together (`patch_together`)
- clean into corrupted finds what is sufficient; with the two texts exchanged, what is necessary
Source: Vig et al. 2020; Meng et al. 2022, section 2.1; Heimersheim and Nanda 2024.
Book: 7.3.1.2
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepdive.core.hooks import forward_once, hook_points, record, replace

Read = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Patched:
    """The metric of each run: `clean` and `corrupted` (), `patched` (P, N), one row per hook point
    of `names`, one column per position.
    """

    names: tuple[str, ...]
    clean: Tensor
    corrupted: Tensor
    patched: Tensor


def patch(
    model: nn.Module,
    pattern: str,
    clean: Tensor,
    corrupted: Tensor,
    read: Read,
    axis: int | None = 1,
    batch: int = 32,
) -> Patched:
    """Return the metric of the corrupted run with each activation patched from the clean run.

    pattern  the hook points to patch, one after the other
    clean    tokens (1, T); `corrupted` has the same shape and differs in the feature to study
    read     the metric: maps the model's output for N inputs to numbers (N,), such as a logit
             difference
    axis     one index at a time is patched along this axis of the point's tensor: 1 is the position
             in `*.stream` (1, T, d), and the head in `*.heads` (1, H, T, d). None: all of it
    batch    how many patched copies of the corrupted input run at once

    Raises ValueError when the pattern matches no point, a point is passed more than once, or the
    inputs differ in shape.
    """
    _check_alike(clean, corrupted)
    with record(model, pattern) as seen:
        clean_number = read(forward_once(model, clean))[0]
    names = tuple(hook_points(model, pattern))
    often = [name for name in names if len(seen[name]) > 1]
    if often:
        raise ValueError(f"{often[0]}: got {len(seen[often[0]])} calls, expected 1 (shared layers)")
    rows = [_by_place(model, name, seen[name][0], corrupted, read, axis, batch) for name in names]
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"pattern {pattern!r}: the hook points differ in size along axis {axis}")
    return Patched(names, clean_number, read(forward_once(model, corrupted))[0], torch.stack(rows))


def _check_alike(clean: Tensor, corrupted: Tensor) -> None:
    if clean.shape != corrupted.shape or clean.shape[0] != 1:
        raise ValueError(
            f"clean is {tuple(clean.shape)} and corrupted {tuple(corrupted.shape)}, expected two "
            "texts (1, T) of one length: replace words, do not remove them"
        )


def _by_place(
    model: nn.Module, name: str, wanted: Tensor, corrupted: Tensor, read: Read,
    axis: int | None, batch: int,
) -> Tensor:  # fmt: skip
    """The metric with each index of one hook point patched, (N,)."""
    size = 1 if axis is None else wanted.shape[axis]
    numbers = []
    for part in torch.arange(size, device=wanted.device).split(batch):
        swapped = torch.ones(len(part), *wanted.shape[1:], dtype=torch.bool, device=wanted.device)
        if axis is not None:
            here = torch.arange(size, device=wanted.device) == part[:, None]  # (n, size)
            shape = [len(part), *([1] * (wanted.ndim - 1))]
            shape[axis] = size
            swapped = here.view(shape)

        def swap(x: Tensor, where: Tensor = swapped) -> Tensor:
            return torch.where(where, wanted, x)

        with replace(model, name, swap):
            numbers.append(read(forward_once(model, corrupted.expand(len(part), -1))))
    return torch.cat(numbers)


def patch_together(
    model: nn.Module,
    chosen: Mapping[str, Sequence[int]],
    clean: Tensor,
    corrupted: Tensor,
    read: Read,
    axis: int = 1,
) -> Tensor:
    """Return the metric () of the corrupted run with several activations patched at once.

    chosen    hook point -> the indices along `axis` to patch there; empty: the corrupted run

    Raises ValueError when a name matches no point or the inputs differ in shape.
    """
    _check_alike(clean, corrupted)
    with ExitStack() as stack:
        if chosen:
            with record(model, *chosen) as seen:
                forward_once(model, clean)
            for name, indices in chosen.items():
                wanted, here = seen[name][0], torch.tensor(indices, dtype=torch.long)

                def swap(x: Tensor, wanted: Tensor = wanted, here: Tensor = here) -> Tensor:
                    here = here.to(x.device)
                    return x.index_copy(axis, here, wanted.index_select(axis, here))

                stack.enter_context(replace(model, name, swap))
        return read(forward_once(model, corrupted))[0]


def patch_effect(found: Patched) -> Tensor:
    """Return (patched - corrupted) / (clean - corrupted), (P, N): 0 = no effect, 1 = restored.

    Raises ValueError if the two runs have the same metric: then there is nothing to restore.
    """
    whole = found.clean - found.corrupted
    if whole.abs() < 1e-9:
        raise ValueError("clean, corrupted: got equal metrics; choose inputs whose outputs differ")
    return (found.patched - found.corrupted) / whole

"""Activation patching: put what a model thought of one input into its run on another, and see what
that brings back.

    found = patch(model, "*.stream", clean, corrupted, read)
    patch_effect(found)                        # one number a point: 0 = nothing, 1 = all of it

What differs:
- an activation of the *clean* run replaces that of the *corrupted* run, and not zero: what is put
  in is something that the model does think (`patch`), so that it stays on known ground
- what it brings back is a share of the difference between the two runs (`patch_effect`)
- all of it, or one place at a time (`axis`): where in the text, in which layer, by which head; or
  several places together (`patch_together`)
- clean into corrupted finds what is enough; with the two texts exchanged, what is needed
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
    """The numbers read off each run: `clean` and `corrupted` (), `patched` (P, N), one row for each
    point of `names`, one column for each place.
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
    """Return what is read off the corrupted run where one part of it comes from the clean run.

    pattern  the hook points to try, one after the other
    clean    tokens (1, T), and `corrupted` as many: they differ in what is asked about
    read     what the model returns for N inputs -> a number each (N,), such as the difference of
             two logits
    axis     one place at a time is patched along this axis of the point's tensor: 1 is the row of
             `*.stream` (1, T, d), and the head of `*.heads` (1, H, T, d). None: all of it
    batch    the places that run at once, as copies of the corrupted input

    Raises ValueError when the pattern matches no point, a point is passed more than once, or the
    inputs differ in shape.
    """
    _check_alike(clean, corrupted)
    with record(model, pattern) as seen:
        clean_number = read(forward_once(model, clean))[0]
    names = tuple(hook_points(model, pattern))
    often = [name for name in names if len(seen[name]) > 1]
    if often:
        raise ValueError(f"{often[0]} is passed {len(seen[often[0]])} times: layers share it")
    rows = [_by_place(model, name, seen[name][0], corrupted, read, axis, batch) for name in names]
    if len({len(row) for row in rows}) > 1:
        raise ValueError(f"pattern {pattern!r}: the points have different numbers of places")
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
    """What is read with each place of one point patched, (N,)."""
    places = 1 if axis is None else wanted.shape[axis]
    numbers = []
    for part in torch.arange(places, device=wanted.device).split(batch):
        swapped = torch.ones(len(part), *wanted.shape[1:], dtype=torch.bool, device=wanted.device)
        if axis is not None:
            here = torch.arange(places, device=wanted.device) == part[:, None]  # (n, places)
            shape = [len(part), *([1] * (wanted.ndim - 1))]
            shape[axis] = places
            swapped = here.view(shape)

        def swap(came: Tensor, where: Tensor = swapped) -> Tensor:
            return torch.where(where, wanted, came)

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
    """Return what is read off the corrupted run (), where several parts come from the clean run.

    chosen    hook point -> the places along `axis` to patch there; none at all: the corrupted run

    Raises ValueError when a name matches no point or the inputs differ in shape.
    """
    _check_alike(clean, corrupted)
    with ExitStack() as stack:
        if chosen:
            with record(model, *chosen) as seen:
                forward_once(model, clean)
            for name, places in chosen.items():
                wanted, here = seen[name][0], torch.tensor(places, dtype=torch.long)

                def swap(came: Tensor, wanted: Tensor = wanted, here: Tensor = here) -> Tensor:
                    here = here.to(came.device)
                    return came.index_copy(axis, here, wanted.index_select(axis, here))

                stack.enter_context(replace(model, name, swap))
        return read(forward_once(model, corrupted))[0]


def patch_effect(found: Patched) -> Tensor:
    """Return (patched - corrupted) / (clean - corrupted), (P, N): 0 = nothing came back, 1 = all.

    Raises ValueError where the two runs say the same: then there is nothing to bring back.
    """
    whole = found.clean - found.corrupted
    if whole.abs() < 1e-9:
        raise ValueError("clean and corrupted say the same: choose inputs on which they differ")
    return (found.patched - found.corrupted) / whole

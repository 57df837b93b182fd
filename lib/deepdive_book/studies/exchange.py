"""Parts of many runs exchanged at once, for a model of any inputs: `patching` for batches.

    heads = iter_heads(8)
    # (P, 8, B, V)
    said = patch_batch(model, "decoder.*.cross.heads", run_clean, run_other, heads)

`run_clean()` and `run_other()` call the model on batches of one shape: row b of one is the partner
of row b of the other, token by token. Each part of the clean run in turn is put into the other run.

Source: Vig et al. 2020; Heimersheim and Nanda 2024.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from deepdive.core.hooks import record, replace

Run = Callable[[], Tensor]


def iter_heads(n_heads: int) -> list[Tensor]:
    """One part for each head of a point (B, H, T, d_head): bool (H, 1, 1)."""
    return [*torch.eye(n_heads, dtype=torch.bool)[:, :, None, None]]


@torch.no_grad()
def patch_batch(
    model: nn.Module, pattern: str, clean: Run, other: Run, parts: Sequence[Tensor]
) -> Tensor:
    """Return what `other` returns with a part of the clean run at a point, (P, parts, ...).

    pattern    the points to try, one after the other, each passed once a run
    parts      bool, each of a shape that spreads over the point's tensor: True = from the clean run

    Raises ValueError when the pattern matches no point, or a point is passed more than once.
    """
    with record(model, pattern) as seen:
        clean()
    often = next((name for name, calls in seen.items() if len(calls) > 1), None)
    if often is not None:
        raise ValueError(
            f"{often} is passed {len(seen[often])} times in a run: give one that calls the model "
            "once"
        )
    found = []
    for name, (wanted,) in seen.items():
        for part in parts:

            def swap(came: Tensor, wanted: Tensor = wanted, part: Tensor = part) -> Tensor:
                return torch.where(part.to(came.device), wanted, came)

            with replace(model, name, swap):
                found.append(other())
    whole: Tensor = torch.stack(found).unflatten(0, (len(seen), len(parts)))
    return whole

"""DETR's set prediction loss: bipartite matching of queries with objects, then three losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.layers.boxes import generalized_iou

CLASS, L1, GIOU, NOTHING = 1.0, 5.0, 2.0, 0.1
Pairs = tuple[Tensor, Tensor]
Matching = Callable[[Tensor], Pairs]


class Truth(NamedTuple):
    """Ground truth of one image: classes int64 (M,), boxes (M, 4) as center, width, height."""

    classes: Tensor
    boxes: Tensor


def costs(logits: Tensor, boxes: Tensor, truth: Truth) -> Tensor:
    """Return the matching cost of query i and object j, (N, M).

        cost = -softmax(logits)[i, class[j]] + 5 |box[i] - box[j]|_1 - 2 giou(box[i], box[j])

    logits (N, n_classes + 1), boxes (N, 4). Source: Carion et al. 2020, equation 1 and section A.4.
    """
    prob = logits.softmax(-1)[:, truth.classes]
    far = torch.cdist(boxes, truth.boxes, p=1)
    return L1 * far - CLASS * prob - GIOU * generalized_iou(boxes, truth.boxes)


def hungarian(cost: Tensor) -> Pairs:
    """Return queries and objects (min(N, M),) of the one-to-one matching with the least total cost
    (N, M). Needs scipy. Source: Kuhn 1955; the solver is Crouse's of 2016.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(cost.detach().cpu().numpy())
    return torch.as_tensor(rows, device=cost.device), torch.as_tensor(columns, device=cost.device)


def by_order(cost: Tensor) -> Pairs:
    """Match the first query with the first object, and so on, whatever the cost."""
    both = torch.arange(min(cost.shape), device=cost.device)
    return both, both


class SetLosses(NamedTuple):
    """The three loss terms of one layer, unweighted."""

    classes: Tensor
    l1: Tensor
    giou: Tensor

    @property
    def total(self) -> Tensor:
        """classes + 5 l1 + 2 giou."""
        return CLASS * self.classes + L1 * self.l1 + GIOU * self.giou


def set_losses(
    logits: Tensor,
    boxes: Tensor,
    truths: Sequence[Truth],
    matching: Matching = hungarian,
    nothing: float = NOTHING,
) -> SetLosses:
    """Return one layer's losses: logits (B, N, n_classes + 1), boxes (B, N, 4).

    classes  cross-entropy of all queries, with target "no object" for unmatched ones; each of these
           has weight `nothing`, in the sum and in the divisor
    l1     |box - its object's box|_1, summed over matches and divided by the number of objects
    giou   1 - giou of the same pairs, likewise

    Raises ValueError where there are not as many truths as images, or more objects than queries.
    Source: Carion et al. 2020, equation 2 and section A.4.
    """
    (B, N, K), device = logits.shape, logits.device
    if len(truths) != B:
        raise ValueError(f"truths: got {len(truths)}, expected one for each of {B} scenes")
    most = max((len(truth.classes) for truth in truths), default=0)
    if most > N:
        raise ValueError(f"truths: a scene has {most} objects, expected at most {N}, the queries")
    targets = torch.full((B, N), K - 1, device=device)
    every = Truth(*(torch.cat(parts) for parts in zip(*truths, strict=True)))
    with torch.no_grad():  # all pairs of the batch at once; each image takes its own
        cost = costs(logits.flatten(0, 1), boxes.flatten(0, 1), every).view(B, N, -1).cpu()
    scenes = cost.split([len(truth.classes) for truth in truths], -1)
    matched, true = [], []
    for b, truth in enumerate(truths):
        queries, objects = (found.to(device) for found in matching(scenes[b][b]))
        targets[b, queries] = truth.classes[objects]
        matched.append(boxes[b, queries])
        true.append(truth.boxes[objects])
    weights = logits.new_ones(K)
    weights[-1] = nothing
    classes = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), weights)
    ours, theirs = torch.cat(matched), torch.cat(true)
    number = max(1, len(theirs))
    return SetLosses(
        classes,
        (ours - theirs).abs().sum() / number,
        (1 - generalized_iou(ours, theirs).diagonal()).sum() / number,
    )


def set_loss(
    logits: Tensor,
    boxes: Tensor,
    truths: Sequence[Truth],
    matching: Matching = hungarian,
    nothing: float = NOTHING,
) -> Tensor:
    """Sum `set_losses(...).total` over layers, each matched separately: logits
    (n_layers, B, N, n_classes + 1), boxes (n_layers, B, N, 4), as `Detr.layers` returns them.
    """
    layers = zip(logits, boxes, strict=True)
    return torch.stack(
        [set_losses(*outputs, truths, matching, nothing).total for outputs in layers]
    ).sum()

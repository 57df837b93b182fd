"""Video Action Transformer: the paper's equations, with a sum for each query and each place."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import rows
from parity_registry import equal, perturb
from torch import Tensor

from deepdive.layers.roi_pooling import PositionedFeatures, pooled
from deepdive.models.vision import video_action
from deepdive.models.vision.video_action import TINY, ActionUnit

ONE_HEAD = TINY.but(n_heads=1)
BOXES = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.25, 0.5, 0.75, 1.0]], dtype=torch.float64)


def equations() -> None:
    """Girdhar et al. 2019, section 3.2: one head, queries as they are, nothing behind the heads."""
    torch.manual_seed(0)
    unit: Any = perturb(ActionUnit(ONE_HEAD, 24).double().eval())
    for matrix in (unit.attn.q, unit.attn.out):
        matrix.weight.data = torch.eye(16, dtype=torch.float64)
        matrix.bias.data.zero_()
    queries, film = rows(2, 3, 16), rows(2, 12, 24, seed=1)
    keys, values = unit.attn.kv(film).chunk(2, -1)
    wanted = torch.zeros(2, 3, 16, dtype=torch.float64)
    for b in range(2):
        for r in range(3):
            a = torch.stack([queries[b, r] @ keys[b, s] / sqrt(16) for s in range(12)])
            share = a.exp() / a.exp().sum()
            answer = sum(share[s] * values[b, s] for s in range(12))
            first = unit.attn_residual.norm(queries[b, r] + answer)
            wanted[b, r] = unit.ff_residual.norm(first + unit.ff(first))
    found = unit(queries, film)
    equal(found, wanted)
    inside = [queries, film, *(p for n, p in unit.named_parameters())]
    direction = rows(2, 3, 16, seed=2)
    mine = torch.autograd.grad((found * direction).sum(), inside, allow_unused=True)
    other = torch.autograd.grad((wanted * direction).sum(), inside, allow_unused=True)
    shared = [(a, b) for a, b in zip(mine, other, strict=True) if b is not None]
    assert len(shared) == len(inside) - 4  # the paper has no matrix for queries or behind heads
    for a, b in shared:
        equal(a, b)


def regions() -> None:
    """A line that rises by one a column: what is looked at is where it is looked."""
    columns = torch.arange(8.0, dtype=torch.float64)
    frame = torch.stack([columns.expand(8, 8), columns[:, None].expand(8, 8)], -1)[None]
    seen = pooled(frame, BOXES[None], 2)
    # Cells are eighths, and a cell's feature stands at its middle: x = 8 * place - 1/2.
    equal(seen[0, 0, :, :, 0], torch.tensor([[1.5, 5.5], [1.5, 5.5]], dtype=torch.float64))
    equal(seen[0, 1, :, :, 0], torch.tensor([[2.5, 4.5], [2.5, 4.5]], dtype=torch.float64))
    equal(seen[0, 1, :, :, 1], torch.tensor([[4.5, 4.5], [6.5, 6.5]], dtype=torch.float64))


def places() -> None:
    """Two matrices of distances from the middle, joined to what the features say."""
    located: Any = PositionedFeatures(4).double()
    film = located(rows(1, 2, 1, 4, 3))
    assert film.shape == (1, 2, 1, 4, 11)
    place = located.place(torch.tensor([0.0, -0.75], dtype=torch.float64))
    equal(film[0, 1, 0, 0, 3:7], place)
    equal(film[0, 1, 0, 3, 7:], located.time(torch.tensor([0.5], dtype=torch.float64)))


def whole() -> None:
    """A box's answer does not depend on the others."""
    torch.manual_seed(0)
    model = perturb(video_action.video_action(TINY).double().eval())
    features = rows(2, 3, 4, 4, 16)
    both = model(features, BOXES.expand(2, -1, -1))
    equal(both[:, 1:], model(features, BOXES[1:].expand(2, -1, -1)))
    other = features.clone()
    other[:, 0, 3, 3] += 1  # far from the box, in another frame
    assert (model(other, BOXES.expand(2, -1, -1)) - both).abs().min() > 1e-9


def test_published_sizes() -> None:
    """Girdhar et al. 2019, section 4: 128 wide, two heads, three layers, 80 kinds (AVA)."""
    base = video_action.BASE
    assert (base.d_model, base.n_heads, base.n_layers, base.n_classes) == (128, 2, 3, 80)


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "scores are not divided": (
        equations, "deepdive.core.softmax.SoftmaxAttention.forward",
        lambda self, q, k, v, *_: (q @ k.mT).softmax(-1) @ v),
    "the norm before the sum": (
        equations, "deepdive.core.residual.PostNorm.forward",
        lambda self, x, sublayer: x + self.norm(sublayer(x))),
    "queries meet one another": (
        whole, "deepdive.models.vision.video_action.ActionUnit.forward",
        lambda self, q, film: self.ff_residual(
            self.attn_residual(q, lambda x: self.attn(x, memory=film)) + q.mean(1, True), self.ff)),
    "lines and columns exchanged": (
        regions, "torch.nn.functional.grid_sample",
        lambda x, at, align_corners: SAMPLED(x, at.flip(-1), align_corners=align_corners)),
    "places counted from a corner": (
        places, "deepdive.layers.roi_pooling.middle",
        lambda side: torch.arange(side, dtype=torch.float64)),
}  # fmt: skip
SAMPLED: Callable[..., Tensor] = F.grid_sample


@pytest.mark.parametrize("proof", [equations, regions, places, whole])
def test_the_proof_is_green(proof: Callable[[], None]) -> None:
    proof()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

"""SAGAN's attention against the paper's equations, written with torch's convolutions; what bounds
both networks; both learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import rows
from parity_registry import equal, parity, perturb
from torch import Tensor

from deepdive.core import MultiHeadAttention, record
from deepdive.models.vision.sagan import Discriminator, Generator, MapAttention, bounded
from deepdive.training import fit
from deepdive.training.objectives import Adversaries, adversarial_loss, hinge_losses
from deepdive.training.settings import Update


def by_the_paper(module: MapAttention, x: Tensor) -> Tensor:
    """Equations 1 to 3: beta_ji = softmax_i(f(x_i) . g(x_j)); o_j = v(sum_i beta_ji h(x_i))."""
    attn = module.attention
    g, v = attn.q.weight, attn.out.weight
    f, h = attn.kv.weight.chunk(2)
    mapped = {
        name: F.conv2d(x, weight[:, :, None, None])
        for name, weight in (("f", f), ("g", g), ("h", h))
    }
    b, _, height, width = x.shape
    o = torch.zeros_like(mapped["h"])
    for j in range(height * width):
        r, c = divmod(j, width)
        s = (mapped["f"] * mapped["g"][:, :, r, c, None, None]).sum(1)  # (B, H, W)
        beta = s.flatten(1).softmax(-1).reshape(b, 1, height, width)
        o[:, :, r, c] = (beta * mapped["h"]).sum((2, 3))
    return module.gamma * F.conv2d(o, v[:, :, None, None]) + x


@parity(MapAttention)
def sagan_agrees() -> None:
    torch.manual_seed(0)
    module = perturb(MapAttention(16), size=0.5).double()
    assert isinstance(module, MapAttention)
    module.gamma.data.fill_(0.7)
    x, away = rows(2, 16, 3, 4).requires_grad_(), rows(2, 16, 3, 4, seed=5)
    given = [x, *module.parameters()]
    ours, theirs = module(x), by_the_paper(module, x)
    equal(ours, theirs)
    both = [torch.autograd.grad((said * away).sum(), given) for said in (ours, theirs)]
    for mine, other in zip(*both, strict=True):
        equal(mine, other)


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "scores divided by the root of their width": (
        sagan_agrees, "deepdive.core.multi_head.MultiHeadAttention.__init__",
        lambda kept: lambda self, *a, **k: kept(self, *a, **{**k, "scale": None})),
    "nothing of the map itself": (
        sagan_agrees, "deepdive.models.vision.sagan.MapAttention.forward",
        lambda kept: lambda self, x: kept(self, x) - x),
    "places counted down the columns": (
        sagan_agrees, "deepdive.models.vision.sagan.MapAttention.forward",
        lambda kept: lambda self, x: kept(self, x.mT).reshape(x.shape)),
    "gamma left out": (
        sagan_agrees, "deepdive.models.vision.sagan.MapAttention.forward",
        lambda kept: lambda self, x: x + (kept(self, x) - x) / self.gamma),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    sagan_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    kept: Any = {
        "forward": MapAttention.forward,
        "__init__": MultiHeadAttention.__init__,
    }[target.rsplit(".", 1)[1]]
    with mock.patch(target, wrong(kept)), pytest.raises(AssertionError):
        proof()


def test_its_weights_are_seen_through_the_hook_point() -> None:
    module = MapAttention(16)
    with record(module, "*.weights") as seen:
        module(torch.randn(2, 16, 3, 4))
    ((weights,),) = seen.values()
    assert weights.shape == (2, 1, 12, 12)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1, 12))


def test_no_weight_stretches_after_it_is_bounded() -> None:
    torch.manual_seed(0)
    model = bounded(Discriminator(8, MapAttention(8)))
    for _ in range(30):
        model(torch.randn(2, 1, 28, 28))
    norms = [float(torch.linalg.matrix_norm(p.detach().flatten(1), 2)) for p in (
        model.layers[3].weight, model.layers[6].weight, model.layers[2].attention.q.weight
    )]  # fmt: skip
    assert norms == pytest.approx([1, 1, 1], abs=0.02)


def test_hinge_losses_by_hand() -> None:
    """Real images scored 2 and 0, made ones -2 and 1: (0 + 1)/2 + (0 + 2)/2, and 0.5."""
    judge, maker = hinge_losses(torch.tensor([2.0, 0.0]), torch.tensor([-2.0, 1.0]))
    assert judge.item() == 1.5
    assert maker.item() == 0.5


def test_each_model_learns_from_its_own_loss_alone() -> None:
    torch.manual_seed(0)
    model = Adversaries(Generator(8, 8), bounded(Discriminator(8)))
    model.eval()  # so that neither norms nor bounds move between calls
    real = torch.rand(4, 1, 28, 28)
    torch.manual_seed(1)
    adversarial_loss(model, real).backward()
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    torch.manual_seed(1)
    made = model(4)
    judge, _ = hinge_losses(model.discriminator(real), model.discriminator(made.detach()))
    _, maker = hinge_losses(model.discriminator(real), model.discriminator(made))
    expected = {}
    for part, loss in (("generator", maker), ("discriminator", judge)):
        own = dict(getattr(model, part).named_parameters())
        grads = torch.autograd.grad(loss, list(own.values()))
        expected |= {f"{part}.{name}": g for name, g in zip(own, grads, strict=True)}
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, expected[name], msg=name)


def test_both_learn_one_image() -> None:
    """Where all real images are one grey, what is made becomes that grey."""
    torch.manual_seed(0)
    model = Adversaries(bounded(Generator(8, 8, MapAttention(8))), bounded(Discriminator(8)))
    optimizer = torch.optim.Adam(model.parts(1e-3), betas=(0.0, 0.9))
    real = [torch.full((16, 1, 28, 28), 0.5)]
    before = float((model(16) - 0.5).abs().mean())
    fit(model, real, adversarial_loss, steps=150, optimizer=optimizer,
        update=Update(clip=None), progress=False)  # fmt: skip
    after = float((model(16) - 0.5).abs().mean())
    assert after < before / 2

"""Mixtures of experts: against transformers and a reading token by token; capacity, balance."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
import torch
from parity_proofs import rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor
from transformers import MixtralConfig, SwitchTransformersConfig
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock
from transformers.models.switch_transformers.modeling_switch_transformers import (
    SwitchTransformersSparseMLP,
)

from deepdive.core.hooks import collect_losses, record
from deepdive.layers import NoisyTopKRouter, SparseExperts, SwitchRouter, TopKRouter
from deepdive.layers.experts import Routing, balance_loss


def with_a_constant() -> Tensor:
    """Rows whose first number is 1, so that a matrix can make a constant of them."""
    x = rows(3, 7, 16).detach()
    x[..., 0] = 1.0
    return x.requires_grad_()


@parity("sparse_moe")
def mixtral_agrees() -> None:
    """Mixtral's experts have a gate and a second branch; where that is 1 they are ours. Its router
    computes in float32: 1e-6.
    """
    config = MixtralConfig(
        hidden_size=16, intermediate_size=12, num_local_experts=5, num_experts_per_tok=2,
        hidden_act="relu",
    )  # fmt: skip
    theirs: Any = MixtralSparseMoeBlock(config).double()
    ours = SparseExperts(TopKRouter(16, 5, 2), 16, 12).double()
    perturb(ours, size=0.5)
    branch = torch.zeros(5, 12, 16).double()
    branch[:, :, 0] = 1.0
    with torch.no_grad():
        theirs.gate.weight.copy_(ours.router.score.weight)
        theirs.experts.gate_up_proj.copy_(torch.cat((ours.experts.inner.weight, branch), 1))
        theirs.experts.down_proj.copy_(ours.experts.out.weight)
    x, y = with_a_constant(), with_a_constant()
    equal(ours(x), theirs(y), 1e-6)
    for inside in ((ours.router.score.weight, theirs.gate.weight),
                   (ours.experts.out.weight, theirs.experts.down_proj)):  # fmt: skip
        equal_gradients(ours(x), theirs(y), {"weight": inside}, 1e-6)
    inner = torch.autograd.grad(ours(x).sum(), ours.experts.inner.weight)[0]
    equal(inner, torch.autograd.grad(theirs(y).sum(), theirs.experts.gate_up_proj)[0][:, :12], 1e-6)


@parity("sparse_moe/SwitchRouter")
def switch_agrees() -> None:
    for capacity in (64, 2, 1):
        config = SwitchTransformersConfig(
            d_model=16, d_ff=12, num_experts=3, expert_capacity=capacity, router_dtype="float32"
        )
        theirs: Any = perturb(SwitchTransformersSparseMLP(config).double().eval())
        theirs.router.dtype = torch.float64
        ours = SparseExperts(SwitchRouter(16, 3), 16, 12, capacity=capacity).double().eval()
        with torch.no_grad():
            ours.router.score.weight.copy_(theirs.router.classifier.weight)
            for e in range(3):
                ours.experts.inner.weight[e] = theirs.experts[f"expert_{e}"].wi.weight
                ours.experts.out.weight[e] = theirs.experts[f"expert_{e}"].wo.weight
        x, y = rows(3, 7, 16), rows(3, 7, 16)
        output, expected = ours(x), theirs(y)
        equal(output, expected)
        equal_gradients(output, expected, {"x": (x, y), "router": (
            ours.router.score.weight, theirs.router.classifier.weight)})  # fmt: skip


def by_hand(mixture: SparseExperts, x: Tensor) -> Tensor:
    """One text, one choice, one token after the other."""
    routing = mixture.router(x)
    result = torch.zeros_like(x)
    for b in range(len(x)):
        taken = [0] * mixture.router.n_experts
        for choice in range(routing.experts.shape[2]):
            for t in range(x.shape[1]):
                e = int(routing.experts[b, t, choice])
                taken[e] += 1
                if mixture.capacity is None or taken[e] <= mixture.capacity:
                    h = (mixture.experts.inner.weight[e] @ x[b, t]).relu()
                    result[b, t] += routing.gates[b, t, choice] * (
                        mixture.experts.out.weight[e] @ h
                    )
    return result


@pytest.mark.parametrize("capacity", [None, 1, 2, 5])
@pytest.mark.parametrize("chosen", [1, 2, 4])
def test_token_by_token(chosen: int, capacity: int | None) -> None:
    torch.manual_seed(chosen)
    mixture = SparseExperts(TopKRouter(8, 4, chosen), 8, 6, capacity=capacity).double()
    x = rows(2, 9, 8).detach()
    equal(mixture(x), by_hand(mixture, x))


def test_a_token_that_finds_no_room_is_left_as_it_is_and_earlier_ones_are_not_moved() -> None:
    mixture = SparseExperts(SwitchRouter(8, 2), 8, 6, capacity=2).double()
    x = rows(1, 1, 8).detach().expand(1, 5, 8)  # five times the same token: one expert
    answer = mixture(x)
    assert (answer[0].abs().sum(1) > 0).tolist() == [True, True, False, False, False]
    assert torch.equal(mixture(x[:, :3])[0], answer[0, :3])


def test_noise_is_drawn_in_training_alone_and_can_be_learned() -> None:
    router = NoisyTopKRouter(8, 4, 2).double()
    x = rows(2, 9, 8).detach()
    assert torch.equal(router.eval()(x).probabilities, torch.full((2, 9, 4), 0.25).double())
    torch.manual_seed(0)
    drawn = router.train().scores(x[:1, :1].expand(2000, 9, 8))
    assert abs(float(drawn.std()) - 0.6931) < 0.02  # softplus(0) = log 2
    assert router.noise.weight.grad is None
    router(x).gates[..., 0].sum().backward()
    assert router.noise.weight.grad.abs().max() > 0  # type: ignore[union-attr]


def test_jitter_acts_in_training_alone() -> None:
    router, x = SwitchRouter(8, 4, jitter=0.5), rows(2, 9, 8).detach().float()
    torch.manual_seed(0)
    first, second = router(x), router(x)
    assert not torch.equal(first.probabilities, second.probabilities)
    assert torch.equal(router.eval()(x).probabilities, router(x).probabilities)


def test_the_balance_loss_is_1_where_even_and_the_number_of_experts_where_one_gets_all() -> None:
    every = torch.arange(4).repeat(3)[None, :, None]
    even = torch.full((1, 12, 4), 0.25)
    assert balance_loss(even, every).item() == pytest.approx(1.0)
    one = torch.zeros(1, 12, 4)
    one[..., 2] = 1.0
    assert balance_loss(one, torch.full((1, 12, 1), 2)).item() == pytest.approx(4.0)
    uneven = torch.tensor([[[0.7, 0.3], [0.6, 0.4]]]).requires_grad_()
    loss = balance_loss(uneven, torch.tensor([[[0], [0]]]))
    assert loss.item() == pytest.approx(2 * 0.65)
    assert torch.autograd.grad(loss, uneven)[0].tolist() == [[[1.0, 0.0], [1.0, 0.0]]]


def test_the_balance_loss_is_collected_and_moves_the_router() -> None:
    torch.manual_seed(0)
    mixture = SparseExperts(SwitchRouter(8, 4), 8, 6, balance_weight=0.5)
    x = rows(2, 9, 8).detach().float()
    with collect_losses(mixture) as extra, record(mixture, "probabilities") as seen:
        mixture(x)
    (probabilities,) = seen["probabilities"]
    expected = 0.5 * balance_loss(probabilities, probabilities.argmax(-1, keepdim=True))
    assert torch.equal(extra.total(), expected)
    extra.total().backward()  # type: ignore[union-attr]
    assert mixture.router.score.weight.grad.abs().max() > 0  # type: ignore[union-attr]
    assert mixture.experts.inner.weight.grad is None


MUTATIONS: dict[str, tuple[str, object]] = {
    "gates over all experts": (
        "deepdive.layers.experts.TopKRouter.forward",
        lambda self, x: (lambda p: Routing(p.topk(self.n_chosen)[1], p.topk(self.n_chosen)[0], p))(
            self.scores(x).softmax(-1)
        ),
    ),
    "experts in another order": (
        "deepdive.layers.experts.ExpertLinear.forward",
        lambda self, rows: [x @ w.T for x, w in zip(rows, self.weight.flip(0), strict=True)],
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    mixtral_agrees()
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        mixtral_agrees()


def test_a_capacity_that_the_last_tokens_get_is_seen() -> None:
    switch_agrees()
    served = SparseExperts.served
    with (
        mock.patch(
            "deepdive.layers.experts.SparseExperts.served",
            lambda self, experts: served(self, experts.flip(1)).flip(1),
        ),
        pytest.raises(AssertionError),
    ):
        switch_agrees()

"""LoRA on a whole model: what learns, what stays, its rank, and the merged model; a mutation."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
from torch import nn

from deepdive.layers.lora import LoRA, adapt, merge
from deepdive.models.generative import gpt2
from deepdive.models.generative.gpt import GPT
from deepdive.training.objectives.generative import next_token_loss

TEXTS = torch.randint(4, 32, (3, 7), generator=torch.Generator().manual_seed(0))
NAMES = ("attn.q", "attn.kv")


def model() -> GPT:
    torch.manual_seed(0)
    return gpt2.gpt2(gpt2.TINY).double().eval()


def tuned(rank: int = 2, alpha: float | None = None) -> GPT:
    """Three steps of Adam at a rate that is felt."""
    found = model()
    adapt(found, rank, NAMES, alpha)
    moves = torch.optim.Adam((p for p in found.parameters() if p.requires_grad), lr=0.1)
    for _ in range(3):
        moves.zero_grad()
        next_token_loss(found(TEXTS), TEXTS).backward()  # type: ignore[no-untyped-call]
        moves.step()
    return found


def test_nothing_is_changed_at_the_start_and_little_may_learn() -> None:
    before, found = model(), model()
    learns = adapt(found, 2, NAMES)
    assert torch.equal(found(TEXTS), before(TEXTS))
    # a layer's q is 32 to 32, its kv 32 to 64; rank 2; two layers
    assert learns == 2 * (2 * (32 + 32) + 2 * (32 + 64))
    assert sum(isinstance(m, LoRA) for m in found.modules()) == 4


def test_gradients_reach_A_and_B_alone() -> None:
    found = model()
    adapt(found, 2, NAMES)
    next_token_loss(found(TEXTS), TEXTS).backward()  # type: ignore[no-untyped-call]
    reached = {n for n, p in found.named_parameters() if p.grad is not None}
    assert reached == {n for n, _ in found.named_parameters() if n.endswith((".A", ".B"))}
    sizes = {n.rpartition(".")[2]: 0.0 for n in reached}
    for name in reached:
        grad = found.get_parameter(name).grad
        assert grad is not None
        sizes[name.rpartition(".")[2]] += float(grad.abs().sum())
    assert sizes["A"] == 0.0  # behind a B of zeros: the first step moves B alone
    assert sizes["B"] > 0.0


def test_what_is_frozen_stays_to_the_bit_and_the_change_has_its_rank() -> None:
    before, found = model(), tuned()
    frozen = {n: p for n, p in found.named_parameters() if not n.endswith((".A", ".B"))}
    for name, parameter in frozen.items():
        assert torch.equal(parameter, before.get_parameter(name.replace(".frozen", "")))
    first = found.get_submodule("decoder.stack.blocks.0.attn.q")
    assert isinstance(first, LoRA)
    change = first.scale * first.B @ first.A
    assert int(torch.linalg.matrix_rank(change)) == 2
    assert not torch.allclose(found(TEXTS), before(TEXTS), atol=1e-3)


@pytest.mark.parametrize("alpha", [None, 8.0])
def test_merged_is_the_same_model_without_the_parts(alpha: float | None) -> None:
    found = tuned(alpha=alpha)
    expected = found(TEXTS)
    merge(found)
    assert not any(isinstance(m, LoRA) for m in found.modules())
    assert torch.allclose(found(TEXTS), expected, atol=1e-12)
    assert {n for n, _ in found.named_parameters()} == {n for n, _ in model().named_parameters()}
    assert all(p.requires_grad for p in found.parameters())


def test_alpha_over_rank_is_the_paper_s_scale() -> None:
    torch.manual_seed(0)
    layer, x = LoRA(nn.Linear(5, 4), 2, alpha=6.0).double(), torch.randn(3, 5).double()
    nn.init.normal_(layer.B)
    by_hand = x @ layer.frozen.weight.T + layer.frozen.bias + 3.0 * (x @ layer.A.T) @ layer.B.T
    assert torch.allclose(layer(x), by_hand, atol=1e-12)


def test_a_merge_that_forgets_the_scale_is_seen() -> None:
    def wrong(self: LoRA) -> nn.Linear:
        with torch.no_grad():
            self.frozen.weight += self.B @ self.A
        return self.frozen

    with mock.patch.object(LoRA, "merged", wrong), pytest.raises(AssertionError):
        test_merged_is_the_same_model_without_the_parts(8.0)

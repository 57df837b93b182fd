"""Models that explain themselves: they use what they show, and learn without a bias."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.models.interpretable.attention_classifier import attentive
from deepdive.models.interpretable.prototypes import PrototypeClassifier, pulls
from deepdive.models.interpretable.rationale import RationaleModel, log_prob
from deepdive.models.interpretable.self_explaining import SelfExplaining
from deepdive.training.objectives.rationale import penalty, rationale_loss

TOKENS = torch.tensor([[3, 1, 4, 5], [9, 2, 6, 0]])
REAL = TOKENS != 0


class Scores(nn.Module):
    """A score for each word, whatever stands beside it."""

    def __init__(self, vocab_size: int = 12) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(vocab_size, dtype=torch.float64))

    def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
        return self.table[tokens]


class Mean(nn.Module):
    """The mean of the words' rows."""

    def __init__(self, vocab_size: int = 12, d_model: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model).double()

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        rows = self.embed(tokens).masked_fill(~real[..., None], 0)
        return rows.sum(1) / real.sum(1, keepdim=True)


def test_what_is_not_kept_is_not_read() -> None:
    torch.manual_seed(0)
    scorer = Scores()
    model = RationaleModel(scorer, attentive(12, 2, 5, 4).double()).eval()
    first = model.select(TOKENS, REAL)
    assert first.kept[~REAL].sum() == 0
    other = torch.where(first.kept, TOKENS, 11)
    torch.testing.assert_close(model.reader(other, first.kept), first.logits)
    expected = (scorer.table[TOKENS] > 0) & REAL
    assert (first.kept == expected)[expected.any(-1)].all()
    scorer.table.data.fill_(-5)
    scorer.table.data[4] = -4
    kept = model.select(TOKENS, REAL).kept
    assert kept.sum(-1).tolist() == [1, 1], "one word stays, the likeliest"
    assert bool(kept[0, 2])


def test_the_draws_are_those_of_their_probabilities() -> None:
    scores, real = torch.tensor([[0.3, -1.0, 2.0]]).double(), torch.tensor([[True, True, False]])
    total = sum(
        log_prob(scores, torch.tensor([[a, b, False]]), real).exp()
        for a, b in itertools.product((False, True), repeat=2)
    )
    torch.testing.assert_close(total, torch.ones(1).double())
    torch.manual_seed(0)
    scorer = Scores()
    model = RationaleModel(scorer, attentive(12, 2, 5, 4).double()).train()
    drawn = torch.stack([model.select(TOKENS[:1]).kept[0] for _ in range(1500)]).double().mean(0)
    expected = scorer.table[TOKENS[0]].sigmoid().detach()
    torch.testing.assert_close(drawn, expected, atol=0.05, rtol=0)


def test_the_penalty_counts_words_and_changes() -> None:
    kept = torch.tensor([[True, True, False, True], [False, False, False, False]])
    assert penalty(kept, 1.0, 10.0).tolist() == [23.0, 0.0]


def test_the_mean_gradient_over_all_draws_is_that_of_the_expected_cost() -> None:
    """Two texts of three words, all 64 pairs of draws listed; the same numbers for the reader."""
    torch.manual_seed(1)
    scores = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    answers = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    labels, real = torch.tensor([0, 1]), torch.ones(2, 3, dtype=torch.bool)
    few, joined = 0.3, 0.2
    expected, estimated = (
        torch.zeros(()).double(),
        [torch.zeros_like(scores), torch.zeros_like(answers)],
    )
    for draw in itertools.product((False, True), repeat=6):
        kept = torch.tensor(draw).view(2, 3)
        logits, log_p = kept.double() @ answers, log_prob(scores, kept, real)
        told = F.cross_entropy(logits, labels, reduction="none")
        p = log_p.sum().exp()
        expected = expected + p * (told + penalty(kept, few, joined).double()).mean()
        loss = rationale_loss(logits, labels, kept, log_p, few, joined)
        for total, grad in zip(
            estimated, torch.autograd.grad(loss, [scores, answers], retain_graph=True), strict=True
        ):
            total += p.detach() * grad
    exact = torch.autograd.grad(expected, [scores, answers])
    for ours, theirs in zip(estimated, exact, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-7, rtol=1e-6)
    with pytest.raises(ValueError, match="two or more"):
        rationale_loss(logits[:1], labels[:1], kept[:1], log_p[:1], few, joined)


def test_a_text_that_is_a_prototype_is_at_no_distance() -> None:
    torch.manual_seed(2)
    model = PrototypeClassifier(Mean(), 3, 4, 2).double()
    model.prototypes.data[1] = model.encoder(TOKENS[:1])[0]
    found = model.distances(TOKENS, REAL)
    assert float(found[0, 1].detach()) == 0
    byhand = (model.encoder(TOKENS, REAL)[1] - model.prototypes[2]).square().sum()
    torch.testing.assert_close(found[1, 2], byhand)
    torch.testing.assert_close(model(TOKENS, REAL), found @ model.classify.weight.T)
    near, far = pulls(torch.tensor([[1.0, 5.0], [2.0, 3.0]]))
    assert (float(near), float(far)) == (2.0, 1.5)


class Fixed(nn.Module):
    """The same theta everywhere: a linear model."""

    def __init__(self) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.randn(6, dtype=torch.float64))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.theta.expand(*x.shape[:2], 6)


class Bent(Fixed):
    """A theta that follows the row."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.theta * x.repeat(1, 1, 2)


def test_shares_sum_to_the_answer_and_a_linear_model_is_steady() -> None:
    torch.manual_seed(3)
    embed = nn.Embedding(12, 3).double()
    for weigher, steady in ((Fixed(), True), (Bent(), False)):
        model = SelfExplaining(embed, weigher, 2)
        shares = model.shares(TOKENS, REAL)
        torch.testing.assert_close(shares.sum(1), model(TOKENS, REAL))
        assert float(shares[1, 3].abs().max()) == 0
        unsteady = model.unsteady(TOKENS, REAL)
        assert (float(unsteady) < 1e-20) == steady
        if not steady:  # shares are theta x^2, the slope 2 theta x: the gap is theta x once more
            x = embed(TOKENS)[:, :, None]
            gap = (weigher.theta.view(2, 3) * x).square().sum(-1)[REAL].mean()
            torch.testing.assert_close(unsteady, gap)
            unsteady.backward()
            assert weigher.theta.grad is not None

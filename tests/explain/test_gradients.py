"""Explanations by gradients: axioms, a planted feature, the rate of the integral, captum."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from captum.attr import (
    InputXGradient,
    IntegratedGradients,
    LayerIntegratedGradients,
    NoiseTunnel,
    Saliency,
)
from parity_registry import perturb
from torch import Tensor, nn

from deepdive.core import gelu
from deepdive.core.hooks import HookPoint
from deepdive.explain.gradients import (
    gradient,
    gradient_norm,
    gradient_sum,
    gradient_x_input,
    integrated_gradients,
    smoothgrad,
)
from deepdive.layers.heads import Classifier
from deepdive.models.bert import bert
from deepdive.models.transformer import transformer

EVERY: list[Callable[..., Tensor]] = [
    gradient_sum, gradient_norm, gradient_x_input, smoothgrad,
    lambda *a: integrated_gradients(*a)[0],
]  # fmt: skip
EMBEDDED = "encoder.embeddings.embedded"


class Planted(nn.Module):
    """Output t reads input row (t + 1) % S only, through a curved function."""

    def __init__(self, curve: Callable[[Tensor], Tensor] = torch.tanh) -> None:
        super().__init__()
        self.rows, self.curve = HookPoint(), curve

    def forward(self, x: Tensor) -> Tensor:
        return self.curve(self.rows(x).sum(-1).roll(-1, dims=1))  # (1, S)


class Of(nn.Module):
    """Any function of rows (N, S, d), with a hook point before it."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.rows, self.function = HookPoint(), function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.rows(x))


def along(
    function: Callable[[Tensor], Tensor],
    x: Tensor,
    baseline: Tensor | None = None,
    steps: int = 32,
) -> Tensor:
    """Integrated gradients of function(rows (1, S, d)) -> (1,), (S,)."""
    model = Of(function)
    return integrated_gradients(model, "rows", lambda: model(x), baseline, steps)[0][0]


@pytest.fixture
def x() -> Tensor:
    return torch.randn(1, 5, 3, dtype=torch.float64)


@pytest.fixture
def classifier() -> Classifier:
    torch.manual_seed(0)
    model = Classifier(bert.bert(bert.TINY, vocab_size=30), 32, 3).double().eval()
    return perturb(model, size=0.1)  # type: ignore[return-value]


TOKENS = torch.tensor([[1, 9, 8, 22, 5, 2]])


@pytest.mark.parametrize("method", EVERY)
def test_a_planted_feature_is_found(method: Callable[..., Tensor], x: Tensor) -> None:
    model = Planted()
    saliency = method(model, "rows", lambda: model(x)[0])
    planted = torch.eye(5).roll(1, dims=1).bool()
    assert saliency.shape == (5, 5)
    assert (saliency[~planted] == 0).all()
    assert (saliency[planted].abs() > 1e-3).all()


def test_the_gradient_is_that_of_finite_differences(classifier: Any) -> None:
    found = gradient(classifier, EMBEDDED, lambda: classifier(TOKENS)[0])
    rows = classifier.encoder.embeddings(TOKENS, None, torch.arange(6)).detach()
    stack = after(classifier)
    step = torch.zeros_like(rows)
    step[0, 3, 7] = 1e-6
    expected = (stack(rows + step) - stack(rows - step))[0] / 2e-6
    torch.testing.assert_close(found[:, 3, 7], expected, rtol=1e-6, atol=1e-9)


def test_sum_and_norm_are_those_of_the_gradient_and_frozen_models_have_them(x: Tensor) -> None:
    model = Of(lambda rows: (rows * torch.arange(3.0)).sum((1, 2))).requires_grad_(False)
    output = lambda: model(x)  # noqa: E731
    assert gradient(model, "rows", output).shape == (1, 5, 3)
    assert gradient_sum(model, "rows", output)[0].tolist() == [3.0] * 5
    assert gradient_norm(model, "rows", output)[0].tolist() == pytest.approx([5**0.5] * 5)


def test_gradient_x_input_is_exact_for_a_linear_model(x: Tensor) -> None:
    model = Planted(curve=lambda rows: 3 * rows)
    saliency = gradient_x_input(model, "rows", lambda: model(x)[0])
    assert torch.allclose(saliency.sum(-1), model(x)[0], atol=1e-12)


def test_integrated_gradients_are_complete_at_their_rate() -> None:
    """The gap to completeness falls like 1 / steps^2 on a smooth Transformer."""
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 64}
    model = transformer.transformer(32, **sizes, activation=gelu).double().eval()
    src, tgt = torch.randint(4, 32, (1, 6)), torch.randint(4, 32, (1, 4))

    def output() -> Tensor:
        return model(src, tgt)[0].log_softmax(-1)[torch.arange(4), tgt[0]]

    gaps = [
        integrated_gradients(model, "encoder.embedded", output, steps=steps)[1].abs().max().item()
        for steps in (32, 64, 128)
    ]
    assert gaps[2] < 1e-4
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.35)
    assert gaps[1] / gaps[2] == pytest.approx(4, rel=0.35)


def test_a_baseline_with_another_mask_is_no_baseline(classifier: Any) -> None:
    """A gap that does not close, as in captum #1413: F(b) was read under b's own mask, which no
    point of the way has. Ours reads both ends as `output` reads the way.
    """
    mask = torch.ones(1, 6, dtype=torch.bool)
    other = torch.tensor([[True, True, False, False, False, True]])
    baseline = classifier.encoder.embeddings(TOKENS.flip(1), None, torch.arange(6)).detach()
    output = lambda: classifier(TOKENS, mask)[0]  # noqa: E731
    gaps = [
        integrated_gradients(classifier, EMBEDDED, output, baseline[0], steps)[1]
        for steps in (16, 64)
    ]
    assert gaps[1].abs().max() < 1e-5
    assert gaps[1].abs().max() < gaps[0].abs().max() / 8
    stack = classifier.encoder.stack
    moved = stack(baseline, mask=mask) - stack(baseline, mask=other)
    assert classifier.out(classifier.pooler(moved)).abs().max() > 1e3 * gaps[1].abs().max()


def test_captums_gap_does_not_close_where_the_baseline_has_a_mask_of_its_own(
    classifier: Any,
) -> None:
    """captum #1413: its layer form is given two texts, each with its mask."""
    empty, whole = TOKENS.clone(), torch.ones(1, 6, dtype=torch.long)
    empty[:, 1:-1] = 0
    layer = LayerIntegratedGradients(
        lambda tokens, mask: classifier(tokens, mask.bool())[:, 0],
        classifier.encoder.embeddings.embedded,
    )
    own, gaps = (empty != 0).long(), []
    for mask, steps in ((own, 20), (own, 100), (whole, 20)):
        _, delta = layer.attribute(
            (TOKENS, whole), (empty, mask), n_steps=steps, return_convergence_delta=True
        )
        gaps.append(abs(float(delta)))
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-3)
    assert gaps[2] < 1e-3 * gaps[0]


def test_back_from_the_baseline_is_the_same_with_the_other_sign(x: Tensor) -> None:
    """What captum #1413 compares: the way back has the same midpoints."""
    curve, b = (lambda rows: rows.sum(-1).tanh().prod(1)), torch.randn(5, 3).double()
    torch.testing.assert_close(along(curve, x, b), -along(curve, b[None], x[0]))


def test_a_baseline_equal_to_the_input_explains_nothing(x: Tensor) -> None:
    model = Planted()
    saliency, gap = integrated_gradients(model, "rows", lambda: model(x)[0], x[0], steps=2)
    assert (saliency == 0).all()
    assert gap.abs().max() < 1e-12


# -- axioms


def saturated(rows: Tensor) -> Tensor:
    """1 - relu(1 - x_0): flat where x_0 > 1 (Sundararajan et al. 2017, section 2.1)."""
    return 1 - F.relu(1 - rows[:, 0, 0])


def test_sensitivity_holds_for_integrated_gradients_and_not_for_the_gradient() -> None:
    two = torch.full((1, 2, 1), 2.0, dtype=torch.float64)
    model = Of(saturated)
    for blind in (gradient_sum, gradient_norm, gradient_x_input):
        assert (blind(model, "rows", lambda: model(two)) == 0).all()
    torch.testing.assert_close(along(saturated, two), torch.tensor([1.0, 0.0]).double())


def test_implementation_invariance(x: Tensor) -> None:
    """|x| twice: as two ramps, and as x times its sign."""
    one = lambda rows: (F.relu(rows) + F.relu(-rows)).sum((1, 2)).tanh()  # noqa: E731
    other = lambda rows: (rows * rows.sign()).sum((1, 2)).tanh()  # noqa: E731
    for method in EVERY[:3]:
        found = [method(m, "rows", partial(m, x)) for m in (Of(one), Of(other))]
        torch.testing.assert_close(*found)
    torch.testing.assert_close(along(one, x), along(other, x))


def test_linearity_symmetry_and_dummies(x: Tensor) -> None:
    def f(rows: Tensor) -> Tensor:
        return rows[:, :2].sum((1, 2)).tanh()

    def g(rows: Tensor) -> Tensor:
        return (rows[:, 0] * rows[:, 3]).sum(-1).exp()

    both = along(lambda rows: 2 * f(rows) - 3 * g(rows), x)
    torch.testing.assert_close(both, 2 * along(f, x) - 3 * along(g, x))
    assert (both[[2, 4]] == 0).all()  # rows that nothing reads
    same = x.clone()
    same[:, 3] = same[:, 0]
    shares = along(g, same)
    torch.testing.assert_close(shares[0], shares[3])


# -- copies


def test_copies_of_the_input_run_at_once_and_give_the_same(classifier: Any) -> None:
    def output(copies: int) -> Callable[[], Tensor]:
        return lambda: classifier(TOKENS.expand(copies, -1))[:, :2]

    one, gap = integrated_gradients(classifier, EMBEDDED, output(1), steps=7)
    for copies in (3, 7, 9):
        many, gaps = integrated_gradients(classifier, EMBEDDED, output(copies), steps=7)
        torch.testing.assert_close(many, one)
        torch.testing.assert_close(gaps, gap)
        for method in EVERY[:3]:
            found = [method(classifier, EMBEDDED, output(n)) for n in (1, copies)]
            torch.testing.assert_close(*found)
        seeds = [torch.Generator().manual_seed(3) for _ in range(2)]
        found = [
            smoothgrad(classifier, EMBEDDED, output(n), samples=7, generator=seed)
            for n, seed in zip((1, copies), seeds, strict=True)
        ]
        torch.testing.assert_close(*found)


def test_smoothgrad_smooths_a_jump_and_without_noise_it_is_the_gradient(x: Tensor) -> None:
    """The slope of |x| jumps at 0; its mean around 0.01 is that of a normal distribution."""
    model, near = Of(lambda rows: rows[:, 0, 0].abs()), torch.tensor([[[0.01]], [[1.01]]]).mT
    near = near.permute(1, 0, 2).reshape(1, 2, 1).double()
    seed = torch.Generator().manual_seed(0)
    found = smoothgrad(model, "rows", lambda: model(near), 0.1, 4000, seed)[0, 0].item()
    expected = 2 * torch.distributions.Normal(0.0, 0.1).cdf(torch.tensor(0.01)).item() - 1
    assert found == pytest.approx(expected, abs=0.05)
    smooth = Of(lambda rows: rows.sum(-1).tanh().prod(1))
    still = smoothgrad(smooth, "rows", lambda: smooth(x), noise=0.0, samples=3)
    torch.testing.assert_close(still, gradient_norm(smooth, "rows", lambda: smooth(x)))


# -- captum


def after(classifier: Any) -> Callable[[Tensor], Tensor]:
    """The classifier from its embedded rows on."""
    return lambda rows: classifier.out(classifier.pooler(classifier.encoder.stack(rows)))


def test_captum_says_the_same(classifier: Any) -> None:
    rows = classifier.encoder.embeddings(TOKENS, None, torch.arange(6)).detach()
    function, output = after(classifier), lambda: classifier(TOKENS)[0, 1:2]
    near: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-8}
    theirs = Saliency(function).attribute(rows, target=1, abs=False)[0]
    torch.testing.assert_close(gradient(classifier, EMBEDDED, output)[0], theirs, **near)
    theirs = InputXGradient(function).attribute(rows, target=1).sum(-1)
    torch.testing.assert_close(gradient_x_input(classifier, EMBEDDED, output), theirs, **near)
    baseline = torch.randn_like(rows)
    theirs, delta = IntegratedGradients(function).attribute(
        rows, baseline, target=1, n_steps=20, method="riemann_middle", return_convergence_delta=True
    )
    ours, gap = integrated_gradients(classifier, EMBEDDED, output, baseline[0], 20)
    torch.testing.assert_close(ours, theirs.sum(-1), **near)
    torch.testing.assert_close(gap, -delta, **near)
    sigma = 0.2 * (rows.max() - rows.min())
    draws = lambda mean, std: std * torch.randn(std.shape, dtype=torch.float64)  # noqa: E731
    torch.manual_seed(5)
    with mock.patch("torch.normal", draws):  # captum's are float32
        theirs = NoiseTunnel(Saliency(function)).attribute(
            rows, nt_type="smoothgrad", nt_samples=6, stdevs=float(sigma), target=1, abs=False
        )
    torch.manual_seed(5)
    ours = smoothgrad(classifier, EMBEDDED, output, 0.2, 6)
    torch.testing.assert_close(ours, theirs.norm(dim=-1), rtol=1e-5, atol=1e-8)


def test_layer_and_input_forms_agree_where_they_stand_at_one_point(classifier: Any) -> None:
    """captum #1132: its two forms differ, because one stood before the norm and one behind it."""
    embeddings, output = classifier.encoder.embeddings, lambda: classifier(TOKENS)[0, :1]
    rows = embeddings(TOKENS, None, torch.arange(6)).detach()
    ours = integrated_gradients(classifier, EMBEDDED, output, torch.zeros(32), 20)[0]
    layer = LayerIntegratedGradients(classifier, embeddings.embedded)
    zeros = torch.zeros_like(rows)
    given = {"target": 0, "n_steps": 20, "method": "riemann_middle"}
    by_input = IntegratedGradients(after(classifier)).attribute(rows, zeros, **given)
    torch.testing.assert_close(ours, by_input.sum(-1))
    other = torch.full_like(TOKENS, 7)
    start = embeddings(other, None, torch.arange(6)).detach()[0]
    by_layer = layer.attribute(TOKENS, other, **given)
    ours = integrated_gradients(classifier, EMBEDDED, output, start, 20)[0]
    torch.testing.assert_close(ours, by_layer.sum(-1))
    # Before the norm the way from the same baseline is another one, as complete as this.
    embeddings.norm.before = HookPoint()
    embeddings.norm.register_forward_pre_hook(lambda norm, given: norm.before(given[0]))
    with torch.no_grad():
        sums = embeddings.tokens(other) + embeddings.segments.weight[0]
        start = embeddings.position.embed(sums, torch.arange(6))[0]
    before, gap = integrated_gradients(
        classifier, "encoder.embeddings.norm.before", output, start, 200
    )
    assert gap.abs().max() < 1e-4
    torch.testing.assert_close(before.sum(), ours.sum(), rtol=1e-2, atol=1e-3)
    assert (before - ours).abs().max() > 10 * gap.abs().max()


def test_errors_name_the_argument(x: Tensor) -> None:
    model = Planted()
    with pytest.raises(ValueError, match=r"got shape \(2, 5\), expected \(T,\)"):
        gradient_x_input(model, "rows", lambda: model(x).expand(2, 5))
    with pytest.raises(ValueError, match=r"got shape \(5,\), expected \(2, T\) for 2 copies"):
        gradient_x_input(model, "rows", lambda: model(x.expand(2, 5, 3))[0])
    with pytest.raises(ValueError, match="one input at a time"):
        gradient_x_input(model, "rows", lambda: model(torch.cat([x, 2 * x])))
    with pytest.raises(ValueError, match="one input at a time"):
        gradient(model, "rows", lambda: model(x)[0] + model(x)[0])
    with pytest.raises(ValueError, match="steps"):
        integrated_gradients(model, "rows", lambda: model(x)[0], steps=0)
    with pytest.raises(ValueError, match="samples=0"):
        smoothgrad(model, "rows", lambda: model(x)[0], samples=0)

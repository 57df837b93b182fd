"""DeepLIFT: summation to delta, captum, its rules by hand, what a gradient cannot see."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from captum.attr import DeepLift
from parity_registry import perturb
from torch import Tensor, nn

from deepdive.core import GatedFeedForward, RMSNorm
from deepdive.core.hooks import HookPoint, record
from deepdive.explain.backward.deeplift import bent, deeplift, multiplied, softmax
from deepdive.explain.gradients import gradient_x_input, integrated_gradients
from deepdive.layers.heads import Classifier
from deepdive.models.bert import bert
from deepdive.models.generative import llama

EMBEDDED = "encoder.embeddings.embedded"
TOKENS = torch.tensor([[1, 9, 8, 22, 5, 2]])


class Of(nn.Module):
    """A module, with a hook point before it."""

    def __init__(self, inner: Any) -> None:
        super().__init__()
        self.rows, self.inner = HookPoint(), inner

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(self.rows(x))


@pytest.fixture
def model() -> Classifier:
    torch.manual_seed(0)
    small = bert.bert(bert.TINY, vocab_size=30)
    return perturb(Classifier(small, 32, 3).double().eval())  # type: ignore[return-value]


def delta(model: Classifier, baseline: Tensor, mask: Tensor | None = None) -> Tensor:
    """output(x) - output(b), by integrated gradients' gap: with one step, saliency + gap."""
    shares, gap = integrated_gradients(
        model, EMBEDDED, lambda: model(TOKENS, mask)[0], baseline, steps=1
    )
    return shares.sum(-1) + gap


def test_contributions_sum_to_the_difference_through_a_whole_transformer(model: Classifier) -> None:
    """Biases, GELU, tanh, softmax and norms: nothing is lost, which no other fast rule can say."""
    mask = torch.tensor([[True, True, True, True, True, False]])
    for baseline in (torch.zeros(32), torch.randn(6, 32)):
        found, gap = deeplift(model, EMBEDDED, lambda: model(TOKENS, mask)[0], baseline)
        assert gap.abs().max() < 1e-9
        expected = delta(model, baseline, mask)
        torch.testing.assert_close(found.sum(-1), expected, rtol=1e-9, atol=1e-9)
        assert (found[:, 5] == 0).all()
        with record(model, "*.weights"):
            steps, _ = deeplift(model, EMBEDDED, lambda: model(TOKENS, mask)[0], baseline)
        torch.testing.assert_close(steps, found)


torch.manual_seed(3)
GATED, RMS = GatedFeedForward(3, 4).double(), perturb(RMSNorm(3).double())


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: F.silu(x[..., 0]) * x[..., 1] / (1 + x[..., 2].square()),
        lambda x: GATED(x).sum(-1),
        lambda x: RMS(x).sum(-1),
        lambda x: (x.softmax(-1) * x).sum(-1).tanh(),
        lambda x: x[..., 0] / x.pow(2).mean(-1).rsqrt(),
    ],
)
def test_it_sums_to_the_difference_in_other_forms(inner: Any) -> None:
    x, b = torch.randn(1, 5, 3).double(), torch.randn(5, 3).double()
    model = Of(inner)
    found, _ = deeplift(model, "rows", lambda: model(x)[0], b)
    torch.testing.assert_close(found.sum(-1), (model(x) - model(b[None]))[0])
    assert (found - found.diagonal().diag() == 0).all()  # a row's number reads that row alone


@pytest.mark.parametrize("curve", [nn.ReLU, nn.Tanh, nn.Sigmoid, nn.Softplus])
def test_captum_says_the_same(curve: type[nn.Module]) -> None:
    torch.manual_seed(1)
    layers = [part for a, b in pairwise([6, 8, 7, 3]) for part in (nn.Linear(a, b), curve())]
    net = nn.Sequential(*layers[:-1]).double()
    x, b = torch.randn(5, 6).double(), torch.randn(5, 6).double()
    theirs = DeepLift(net).attribute(x, b, target=2)
    model = Of(net)
    ours, _ = deeplift(model, "rows", lambda: model(x[None])[0, :, 2], b)
    torch.testing.assert_close(ours.diagonal(), theirs.sum(-1), rtol=1e-8, atol=1e-10)


def test_captum_knows_no_gelu_and_does_not_say_so() -> None:
    """It takes the gradient there, and its shares do not sum to the difference (captum #351)."""
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(6, 8), nn.GELU(), nn.Linear(8, 3)).double()
    x, b = torch.randn(1, 6).double(), torch.randn(1, 6).double()
    theirs = DeepLift(net).attribute(x, b, target=0).sum()
    expected = (net(x) - net(b))[0, 0]
    assert (theirs - expected).abs() > 0.05
    model = Of(net)
    ours = deeplift(model, "rows", lambda: model(x[None])[0, :, 0], b)[0].sum()
    torch.testing.assert_close(ours, expected)


def test_it_sees_what_saturates_and_the_gradient_does_not() -> None:
    """min(1, x0 + x1) at (1, 1): the paper's first example (figure 1)."""
    model, x = Of(lambda x: 1 - F.relu(1 - x.sum((1, 2)))), torch.ones(1, 2, 1)
    assert gradient_x_input(model, "rows", lambda: model(x))[0].tolist() == [0, 0]
    assert deeplift(model, "rows", lambda: model(x))[0].tolist() == [[0.5, 0.5]]


def test_without_products_it_is_linear_and_a_row_that_is_not_read_gets_nothing() -> None:
    model, x = Of(lambda x: 3 * x[:, 1, 0].tanh() - x[:, 1, 1] + 7), torch.randn(1, 4, 2).double()
    found = deeplift(model, "rows", lambda: model(x))[0][0]
    assert (found[[0, 2, 3]] == 0).all()
    torch.testing.assert_close(found[1], (3 * x[0, 1, 0].tanh() - x[0, 1, 1]))


def test_a_line_where_both_points_are_one_is_the_slope() -> None:
    x = torch.tensor([2.0, 2.0], requires_grad=True)
    y, _ = bent(torch.exp, (x, torch.tensor([2.0, 0.0])))
    slopes = torch.autograd.grad(y.sum(), x)[0]
    torch.testing.assert_close(
        slopes, torch.tensor([2.0]).exp() * torch.tensor([1, 0.5]) - torch.tensor([0, 0.5])
    )


def test_a_product_is_shared_as_shapley_shares_it() -> None:
    """Two players, each joining first in one of two orders."""
    a, b = torch.tensor(3.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    y, _ = multiplied(torch.mul, (a, torch.tensor(1.0)), (b, torch.tensor(2.0)))
    of_a, of_b = torch.autograd.grad(y, (a, b))
    assert (3 - 1) * of_a == ((3 - 1) * 2 + (3 - 1) * 5) / 2
    assert (5 - 2) * of_b == ((5 - 2) * 1 + (5 - 2) * 3) / 2


def test_a_softmax_s_values_stay_and_its_rows_sum_to_one() -> None:
    x, old = torch.randn(2, 4), torch.randn(2, 4)
    now, before = softmax((x, old), -1)
    torch.testing.assert_close(now, x.softmax(-1))
    torch.testing.assert_close(before, old.softmax(-1))


def test_a_softmax_s_slopes_are_a_softmax_s() -> None:
    """None is above 1, sharp though one point is and flat the other; what all share is nothing."""
    x, old = torch.tensor([25.0, 0.0, -1.0]), torch.tensor([-3.0, 1.0, -2.0])
    for shift in (0.0, 40.0):
        rows = x.double().requires_grad_()
        y, before = softmax((rows, old.double() + shift), -1)
        slopes = torch.stack([torch.autograd.grad(n, rows, retain_graph=True)[0] for n in y])
        assert slopes.abs().max() <= 1
        torch.testing.assert_close(slopes.sum(1), torch.zeros(3).double())
        torch.testing.assert_close(slopes @ (x - old).double(), y.detach() - before)
    same, _ = softmax((rows, rows.detach()), -1)
    (slope,) = torch.autograd.grad(same[1], rows)
    torch.testing.assert_close(slope, torch.autograd.grad(rows.softmax(-1)[1], rows)[0])


def fresh(name: str, n_layers: int, times: float) -> tuple[nn.Module, str]:
    """A model without a bias that acts, float32: rows of zeros stay constant up to the output."""
    torch.manual_seed(0)
    if name == "llama":
        return llama.llama(llama.TINY, n_layers=n_layers).eval(), "decoder.embedded"
    model = Classifier(bert.bert(bert.TINY, n_layers=n_layers), 32, 3).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(times)
    return model, EMBEDDED


@pytest.mark.parametrize(
    ("name", "n_layers", "times"),
    [("bert", 1, 1.0), ("bert", 2, 1.0), ("bert", 4, 2.0), ("bert", 12, 1.0), ("llama", 4, 1.0)],
)
@pytest.mark.parametrize("baseline", [None, torch.full((32,), 0.25)], ids=["zeros", "a constant"])
def test_a_norm_of_a_constant_row_loses_no_digits(
    name: str, n_layers: int, times: float, baseline: Tensor | None
) -> None:
    """1 / sqrt(eps) is 1e6 in a BERT, and several layers would multiply it."""
    model, point = fresh(name, n_layers, times)
    size = 32 if name == "bert" else llama.TINY.d_model
    start = None if baseline is None else baseline[:1].expand(size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, gap = deeplift(model, point, lambda: model(TOKENS)[0][..., :3].flatten(), start)
    change = found.sum(-1) + gap
    torch.testing.assert_close(found.sum(-1), change, rtol=1e-4, atol=1e-5)
    assert (found.abs() < 100 * change.abs().max()).all()


def test_between_constant_rows_and_none_the_multiplier_is_exact() -> None:
    """Baselines whose variance is 0, far below eps, near it and far above it."""
    torch.manual_seed(0)
    x, shape = torch.randn(1, 5, 6).double(), torch.randn(5, 6).double()
    for size in (0.0, 1e-9, 1e-6, 2e-6, 1e-3, 1.0):
        for norm in (nn.LayerNorm(6, eps=1e-12).double(), RMSNorm(6, eps=1e-12).double()):
            model = Of(lambda rows, norm=norm: norm(rows).square().sum(-1))
            found, gap = deeplift(model, "rows", lambda: model(x)[0], size * shape)  # noqa: B023
            change = (model(x) - model(size * shape[None]))[0].detach()
            torch.testing.assert_close(found.sum(-1), change, rtol=1e-5, atol=1e-7)
            torch.testing.assert_close(gap, change - found.sum(-1))


class TakenApart(nn.Module):
    """A layer norm as separate operations: its parts have rules, the norm has none."""

    def forward(self, x: Tensor) -> Tensor:
        x = x - x.mean(-1, keepdim=True)
        return x * (x.square().mean(-1, keepdim=True) + 1e-12).rsqrt()


@pytest.mark.parametrize("method", [deeplift, partial(integrated_gradients, steps=400)])
def test_a_method_that_promises_a_sum_returns_its_gap(method: Any, model: Classifier) -> None:
    """By its definition, and for a baseline that is right small."""
    output, b = (lambda: model(TOKENS)[0]), torch.randn(6, 32)
    found, gap = method(model, EMBEDDED, output, b)
    change = delta(model, b)
    assert found.shape == (3, 6)
    assert gap.shape == (3,)
    torch.testing.assert_close(found.sum(-1) + gap, change)
    torch.testing.assert_close(gap, torch.zeros_like(gap), atol=1e-4, rtol=0.0)


def test_a_sum_that_rounding_destroyed_is_reported() -> None:
    """Four norms that receive a constant row, and a NaN: the fix is named, the gap returned."""
    torch.manual_seed(0)
    mix = [nn.Linear(6, 6, bias=False) for _ in range(4)]
    layers = nn.Sequential(*(part for layer in mix for part in (layer, TakenApart())))
    model, x = Of(lambda rows: layers(rows.sum(1)).square()[..., 0]), torch.randn(1, 5, 6)
    with pytest.warns(UserWarning, match=r"output 0 sum to .* baseline that is a valid embedding"):
        found, gap = deeplift(model, "rows", lambda: model(x))
    assert gap.abs() > 0.01 * (found.sum(-1) + gap).abs()
    with pytest.warns(UserWarning, match="sum to nan"):
        assert deeplift(model, "rows", lambda: model(x) * torch.nan)[1].isnan().all()


@pytest.mark.parametrize("method", [deeplift, integrated_gradients])
def test_a_baseline_of_another_shape_is_refused(method: Any, model: Classifier) -> None:
    for shape in ((31,), (1,), (5, 32), (6, 1), (2, 6, 32)):
        with pytest.raises(
            ValueError, match=r"baseline has shape .* expected \(32,\) or \(6, 32\)"
        ):
            method(model, EMBEDDED, lambda: model(TOKENS)[0], torch.zeros(shape))


def test_what_has_no_line_is_refused(model: Classifier) -> None:
    with pytest.raises(ValueError, match="log_softmax: explain a logit"):
        deeplift(model, EMBEDDED, lambda: model(TOKENS)[0].log_softmax(-1))
    assert all(p.requires_grad for p in model.parameters())

"""The first layer's rules: their roots, shares written out, conservation, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint
from deepdive.explain.backward.first_layer import deep_taylor_bounded, deep_taylor_unbounded
from deepdive.explain.backward.relevance import deep_taylor


class Of(nn.Module):
    """Any function of rows (1, S, d), with a hook point before it."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.rows, self.function = HookPoint(), function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(self.rows(x))


def of_numbers(net: nn.Module) -> Of:
    """A network of S numbers, each a row (1, S, 1) of its own."""
    return Of(lambda rows: net(rows.flatten(1)))


def layer(weight: Tensor, bias: Tensor) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0]).double()
    made.weight.data, made.bias.data = weight, bias
    return made


def mlp(*widths: int) -> nn.Sequential:
    """Linear layers whose biases only hold back, and ReLU behind each."""
    draw = torch.Generator().manual_seed(3)
    parts: list[nn.Module] = []
    for a, b in pairwise(widths):
        weight = torch.randn(b, a, generator=draw, dtype=torch.float64)
        bias = -0.1 * torch.rand(b, generator=draw, dtype=torch.float64)
        parts += [layer(weight, bias), nn.ReLU()]
    return nn.Sequential(*parts)


def unbounded(model: Of, x: Tensor) -> Tensor:
    return deep_taylor_unbounded(model, "rows", lambda: model(x[None, :, None])[0])


def bounded(model: Of, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    box = low[:, None], high[:, None]
    return deep_taylor_bounded(model, "rows", lambda: model(x[None, :, None])[0], *box)


# -- one unit: what the rules are derived from

W, X = torch.tensor([2.0, -1.0, 0.5]).double(), torch.tensor([0.9, 0.1, 0.0]).double()
LOW, HIGH = torch.tensor([-1.0, -1.0, -0.5]).double(), torch.tensor([1.0, 2.0, 0.5]).double()
UNIT = of_numbers(nn.Sequential(layer(W[None], torch.tensor([-0.3]).double()), nn.ReLU()))


def test_squares_lead_to_the_nearest_root() -> None:
    root = X - (W @ X - 0.3) * W / W.square().sum()  # the foot of the perpendicular
    assert (W @ root - 0.3).item() == pytest.approx(0)
    (found,) = unbounded(UNIT, X)
    torch.testing.assert_close(found, W * (X - root))
    assert found[2] > 0  # a number that is 0 here is another at the root


def test_in_a_box_the_root_lies_inside_on_the_way_to_the_quietest_corner() -> None:
    corner = torch.where(W > 0, LOW, HIGH)
    corners = torch.cartesian_prod(*torch.stack([LOW, HIGH], 1))
    assert (corners @ W).min() == corner @ W < 0.3
    root = X - (W @ X - 0.3) / (W @ (X - corner)) * (X - corner)
    assert (W @ root - 0.3).item() == pytest.approx(0)
    assert ((root >= LOW) & (root <= HIGH)).all()
    (found,) = bounded(UNIT, X, LOW, HIGH)
    torch.testing.assert_close(found, W * (X - root))
    assert (found >= 0).all()


# -- a network


def handed_back(parts: Tensor, r: Tensor) -> Tensor:
    """What each input gets of r (J,), by its share in parts (J, S)."""
    return (parts / parts.sum(1, keepdim=True) * r[:, None]).nan_to_num().sum(0)


@pytest.mark.parametrize("rule", ["squares", "box"])
def test_a_network_layer_by_layer(rule: str) -> None:
    net = mlp(4, 6, 5, 2)
    a, b, c = (part for part in net if isinstance(part, nn.Linear))
    low, high = torch.full((4,), -1.0).double(), torch.full((4,), 1.5).double()
    speaks = 0
    for x in 2.5 * torch.rand(12, 4).double() - 1:
        one = a(x).relu()
        two = b(one).relu()
        for t, number in enumerate(net(x)):
            r = handed_back((two * c.weight[t]).clamp(min=0)[None], number[None])
            r = handed_back((one * b.weight).clamp(min=0), r)
            first = a.weight.square()
            if rule == "box":
                first = x * a.weight - low * a.weight.clamp(min=0) - high * a.weight.clamp(max=0)
            r = handed_back(first, r)
            model = of_numbers(net)
            found = unbounded(model, x) if rule == "squares" else bounded(model, x, low, high)
            torch.testing.assert_close(found[t], r)
            torch.testing.assert_close(found[t].sum(), number)  # biases only hold back
            assert (found[t] >= 0).all()
            speaks += int(number > 0)
    assert speaks > 6


def test_a_box_from_zero_to_the_input_is_the_positive_rule() -> None:
    net, x = mlp(5, 7, 3), torch.rand(5).double()
    model = of_numbers(net)
    expected = deep_taylor(model, "rows", lambda: model(x[None, :, None])[0])
    torch.testing.assert_close(bounded(model, x, torch.zeros(5).double(), x), expected)
    assert not torch.allclose(unbounded(model, x), expected)


def test_a_convolution_reads_the_rows_turned_round() -> None:
    """A window of two words: as a layer of both words' numbers, window by window."""
    conv, x = nn.Conv1d(3, 4, 2).double(), torch.randn(1, 5, 3).double()
    assert conv.bias is not None
    conv.bias.data = -conv.bias.data.abs()
    model = Of(lambda rows: conv(rows.transpose(1, 2)).relu().sum((1, 2))[:, None])
    output = lambda: model(x)[0]  # noqa: E731
    low, high = x.amin((0, 1)), x.amax((0, 1))
    squares, box = torch.zeros(5).double(), torch.zeros(5).double()
    w = conv.weight.transpose(1, 2)  # (4, window, 3)
    for s in range(4):
        r = conv(x[:, s : s + 2].transpose(1, 2)).relu()[0, :, 0]
        parts = x[0, s : s + 2] * w - low * w.clamp(min=0) - high * w.clamp(max=0)
        for found, each in ((squares, w.square()), (box, parts)):
            found[s : s + 2] += handed_back(each.flatten(1), r).view(2, 3).sum(1)
    torch.testing.assert_close(deep_taylor_unbounded(model, "rows", output)[0], squares)
    torch.testing.assert_close(deep_taylor_bounded(model, "rows", output, low, high)[0], box)


def summed(net: nn.Module) -> Callable[[Tensor], Tensor]:
    return lambda rows: net(rows).sum((0, 1))


def test_copies_of_the_input_and_several_readers() -> None:
    """Two layers read the rows; what they say is added, and so is what they hand back."""
    one, other = mlp(4, 3), mlp(4, 3)
    x = torch.randn(2, 4).double()
    both = Of(lambda rows: (one(rows) + other(rows)).sum(1))
    single = [Of(summed(net)) for net in (one, other)]
    found = deep_taylor_unbounded(both, "rows", lambda: both(x.expand(3, 2, 4)))
    assert found.shape == (3, 2)
    shares = [deep_taylor_unbounded(m, "rows", partial(m, x[None])) for m in single]
    torch.testing.assert_close(found, torch.stack(shares).sum(0))


def test_no_value_changes_and_a_row_that_is_not_read_gets_nothing() -> None:
    net, x, said = mlp(3, 4, 2), torch.randn(1, 4, 3).double(), []
    model = Of(lambda rows: net(rows[:, 2]))

    def output() -> Tensor:
        said.append(model(x)[0])
        return said[-1]

    found = deep_taylor_bounded(model, "rows", output, -5.0, 5.0)
    assert (found[:, [0, 1, 3]] == 0).all()
    torch.testing.assert_close(found[:, 2], net(x[0, 2]))
    for numbers in said:
        torch.testing.assert_close(numbers, net(x[0, 2]))
    assert all(p.requires_grad for p in net.parameters())


def test_what_the_rules_cannot_read_is_refused() -> None:
    net, x = nn.Linear(3, 3), torch.randn(1, 2, 3)
    readers: list[Callable[[Tensor], Tensor]] = [
        lambda rows: rows + net(rows),
        lambda rows: net(F.layer_norm(rows, (3,))),
        lambda rows: net(rows) + 0 * rows.sum(),
    ]
    for reader in readers:
        model = Of(reader)
        with pytest.raises(ValueError, match=r"rows: its output enters more than linear layers"):
            deep_taylor_unbounded(model, "rows", lambda: model(x)[0, :, 0])  # noqa: B023
    model = Of(lambda rows: net(rows)[0, :, 0])
    with pytest.raises(ValueError, match=r"low, high: .* lie outside; .* table\.amin"):
        deep_taylor_bounded(model, "rows", lambda: model(x), 0.0, x.amax((0, 1)))

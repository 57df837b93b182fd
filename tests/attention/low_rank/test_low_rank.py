"""What low rank and features promise beyond equality: rates, flat memory, and what is drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from parity_proofs import rows
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from deepdive.attention.by_content.yoso import ExpectedYosoAttention, YosoAttention
from deepdive.attention.low_rank.kernel import LinearAttention
from deepdive.attention.low_rank.linformer import LengthProjection, LinformerAttention
from deepdive.attention.low_rank.nystrom import NystromAttention, pseudo_inverse
from deepdive.attention.low_rank.performer import PerformerAttention, orthogonal
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.core import MultiHeadAttention, SoftmaxAttention
from deepdive.core.masks import Causal, Padding
from deepdive.layers.fourier import Fourier
from deepdive.models.efficient import yoso


def slope(counts: list[int], errors: list[float]) -> float:
    """The exponent of a power law through the points, by least squares of the logarithms."""
    x, y = (torch.tensor(values).double().log() for values in (counts, errors))
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())


def errors_of(
    make: Callable[[int], nn.Module], exact: Tensor, given: list[Tensor], counts: list[int]
) -> list[float]:
    """Root mean square error over 24 draws, for each count."""
    found = []
    for count in counts:
        off = torch.stack([make(count).double()(*given) - exact for _ in range(24)])
        found.append(float(off.pow(2).mean().sqrt()))
    return found


def test_performers_error_falls_as_one_over_the_root() -> None:
    """Orthogonal directions whose sign is not mended have a bias: their error stops falling."""
    torch.manual_seed(0)
    given = [0.3 * rows(1, 2, 40, 8, seed=i).detach() for i in range(3)]
    exact, counts = SoftmaxAttention()(*given), [32, 128, 512, 2048]
    right = errors_of(lambda m: PerformerAttention(8, m), exact, given, counts)
    assert slope(counts, right) == pytest.approx(-0.5, abs=0.08), right

    def unmended(m: int) -> nn.Module:
        attention = PerformerAttention(8, m)
        Q = torch.linalg.qr(torch.randn(m // 8, 8, 8))[0].transpose(-2, -1).flatten(0, 1)
        attention.drawn = Q * torch.randn(m, 8).norm(dim=1, keepdim=True)
        return attention

    wrong = errors_of(unmended, exact, given, counts)
    assert slope(counts, wrong) > -0.4, wrong


def test_orthogonal_directions_beat_independent_ones() -> None:
    torch.manual_seed(0)
    given = [0.3 * rows(1, 2, 40, 16, seed=i).detach() for i in range(3)]
    exact = SoftmaxAttention()(*given)

    def independent(m: int) -> nn.Module:
        attention = PerformerAttention(16, m)
        attention.drawn = torch.randn(m, 16)
        return attention

    for m in (32, 128):
        (ours,) = errors_of(lambda m: PerformerAttention(16, m), exact, given, [m])
        (theirs,) = errors_of(independent, exact, given, [m])
        assert ours < theirs, (m, ours, theirs)


def test_orthogonal_directions_are_orthogonal_and_uniform() -> None:
    torch.manual_seed(0)
    W = orthogonal(8000, 4).double()
    for block in W.view(-1, 4, 4)[:50]:
        off = block @ block.T
        assert (off - off.diagonal().diag()).abs().max() < 1e-4
    assert W.mean(0).abs().max() < 0.04
    assert (W.T @ W / 8000 - torch.eye(4)).abs().max() < 0.06
    assert orthogonal(5, 4).shape == (5, 4)


def test_yosos_error_falls_as_one_over_the_root() -> None:
    """Before lengths are made 1, so that the mean is the expectation itself."""
    torch.manual_seed(0)
    q, k = (rows(1, 1, 30, 8, seed=i).detach() for i in range(2))
    one = torch.eye(30).double().expand(1, 1, 30, 30)
    cosine = torch.cosine_similarity(q.unsqueeze(-2), k.unsqueeze(-3), dim=-1)
    exact, counts = (1 - cosine.acos() / math.pi) ** 4, [8, 32, 128, 512]
    found = []
    for n in counts:
        attention = YosoAttention(8, 4, n).double()
        share = (attention.buckets(q)[..., None] == attention.buckets(k)[..., None, :]).double()
        found.append(float((share.mean(0) - exact).pow(2).mean().sqrt()))
        mixed = attention(q, k, one)  # the rows of the share, of length 1
        assert torch.allclose(mixed, torch.nn.functional.normalize(share.mean(0), dim=-1))
    assert slope(counts, found) == pytest.approx(-0.5, abs=0.05), found


class Largest(TorchDispatchMode):
    """Notes the largest tensor that any operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        out = func(*args, **(kwargs or {}))
        for each in out if isinstance(out, tuple | list) else [out]:
            if isinstance(each, Tensor):
                self.numbers = max(self.numbers, each.numel())
        return out


MECHANISMS: dict[str, tuple[nn.Module, bool]] = {
    "linformer": (LinformerAttention(LengthProjection(1, 4096, 16)), False),
    "linear": (LinearAttention(), False),
    "linear, causal": (LinearAttention(chunk=64), True),
    "performer": (PerformerAttention(8, 16), False),
    "performer, causal": (PerformerAttention(8, 16, chunk=64), True),
    "nystrom": (NystromAttention(16, convolution=ValueConvolution(1, 9)), False),
    "yoso": (YosoAttention(8, 4, 3), False),
    "yoso, causal": (YosoAttention(8, 4, 3), True),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_nothing_grows_with_the_square(name: str) -> None:
    """Forward and backward, padding too: twice the length, at most twice the largest tensor."""
    mechanism, causal = MECHANISMS[name]
    largest = []
    for n in (1024, 2048):
        q, k, v = (torch.randn(1, 1, n, 8, requires_grad=True) for _ in range(3))
        mask = Padding(torch.arange(n)[None] < n - 3)
        with Largest() as seen:
            mechanism(q, k, v, mask & Causal() if causal else mask).sum().backward()
        largest.append(seen.numbers)
    assert largest[1] <= 2 * largest[0] + 8
    assert largest[1] < 2048 * 2048 / 8


def test_fouriers_backward_is_its_derivative() -> None:
    for T, d in ((5, 6), (4, 7), (1, 1), (2, 2)):
        assert torch.autograd.gradcheck(Fourier.apply, (rows(2, T, d),))


def test_more_iterations_can_be_worse() -> None:
    """Where A has a singular value that is 0 but for rounding, each iteration adds to the error."""
    A = rows(1, 1, 8, 8).detach().softmax(-1)
    A[..., 7, :] = A[..., 6, :]
    exact = torch.linalg.pinv(A)
    off = [float((pseudo_inverse(A, n) - exact).norm()) for n in (10, 40)]
    assert off[1] > 100 * off[0], off


@pytest.mark.parametrize(
    "make", [lambda every: PerformerAttention(4, 8, redraw_every=every),
             lambda every: YosoAttention(4, 2, 8, redraw_every=every)],
)  # fmt: skip
def test_random_numbers_are_drawn_anew_in_training_alone(make: Callable[[int], nn.Module]) -> None:
    torch.manual_seed(0)
    for every in (0, 2):
        attention = make(every)
        x, seen = torch.randn(1, 1, 5, 4), []
        for _ in range(5):
            attention(x, x, x)
            seen.append(attention.drawn.clone())
        anew = [not torch.equal(a, b) for a, b in itertools.pairwise(seen)]
        assert anew == ([False] * 4 if every == 0 else [False, True, False, True])
        attention.eval()
        attention(x, x, x)
        attention(x, x, x)
        assert torch.equal(attention.drawn, seen[-1])


def test_a_graph_survives_a_redraw() -> None:
    """Two calls, one backward: what the first call drew is not overwritten."""
    attention = YosoAttention(4, 2, 8, redraw_every=1)
    x = torch.randn(1, 1, 5, 4, requires_grad=True)
    (attention(x, x, x).sum() + attention(x, x, x).sum()).backward()
    performer = PerformerAttention(4, 8, redraw_every=1)
    (performer(x, x, x).sum() + performer(x, x, x).sum()).backward()


def test_large_keys_overflow_nothing() -> None:
    """exp(|k|^2) is beyond every dtype; queries of any length are fine."""
    torch.manual_seed(0)
    q, k, v = (30 * torch.randn(1, 1, 9, 4, requires_grad=True) for _ in range(3))
    for mask in (None, Causal()):
        output = PerformerAttention(4, 64)(q, k, v, mask)
        gradients = torch.autograd.grad(output.sum(), [q, k, v])
        assert all(torch.isfinite(x).all() for x in (output, *gradients))


def test_a_text_of_padding_is_zero_with_finite_gradients() -> None:
    for mechanism, _ in MECHANISMS.values():
        q, k, v = (torch.randn(2, 1, 40, 8, requires_grad=True) for _ in range(3))
        keys = torch.ones(2, 40).bool()
        keys[1] = False
        output = mechanism(q, k, v, Padding(keys))
        assert output[1].eq(0).all()
        gradients = torch.autograd.grad(output.sum(), [q, k, v], allow_unused=True)
        assert all(torch.isfinite(g).all() for g in gradients if g is not None)


def test_hashing_estimates_the_model_of_expectations() -> None:
    torch.manual_seed(0)
    model = yoso.yoso(yoso.TINY).double().eval()
    row = torch.randint(4, 32, (2, 20))
    exact = model(row)
    off = [(yoso.sampled(yoso_copy(model), n)(row) - exact).norm().item() for n in (4, 400)]
    assert off[1] < off[0] / 4, off
    with pytest.raises(ValueError, match="SoftmaxAttention"):
        yoso.sampled(nn.Sequential(MultiHeadAttention(8, 2)))  # type: ignore[arg-type]


def yoso_copy(model: nn.Module) -> yoso.Bert:
    other = yoso.yoso(yoso.TINY).double().eval()
    other.load_state_dict(model.state_dict())
    return other


def test_yosos_slope_is_a_lower_bound() -> None:
    """bits / 2 * weight <= the derivative of the weight, at every angle."""
    x = torch.linspace(-0.999, 0.999, 101).double().requires_grad_()
    weight = (1 - x.acos() / math.pi) ** 5
    (true,) = torch.autograd.grad(weight.sum(), x)
    assert (5 / 2 * weight <= true + 1e-12).all()
    assert ExpectedYosoAttention(5).bits == 5

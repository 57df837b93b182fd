"""Attention is not explanation: do permuted or adversarial attention weights leave the prediction
unchanged?

    weights, answer = reweighted(model, "attention.weights", tokens, mask)
    found = adversarial(answer, weights, mask, close=0.01)
    found.apart         # distance from the model's own weights: jsd, up to log 2
    found.moved         # change of the prediction: tvd, at most `close` if any were found

System: attention_not_explanation
Parent: saliency
What differs:
- nothing is attributed; the model's attention weights are replaced by others (`reweighted`), and
  the change of the prediction is measured
- different weights with the same prediction are searched for by gradient (`adversarial`), or the
  weights are randomly permuted (`permuted`)
Source: Jain and Wallace 2019, sections 4.2.1 and 4.2.2.
Book: 7.4.1
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import record, replace

Answer = Callable[[Tensor], Tensor]


def tvd(p: Tensor, q: Tensor) -> Tensor:
    """Return the total variation distance (...) of distributions p and q (..., C): sum |p - q| / 2.

    From 0 to 1: the largest difference in probability of any set of classes.
    """
    return (p - q).abs().sum(-1) / 2


def jsd(p: Tensor, q: Tensor) -> Tensor:
    """Return the Jensen-Shannon divergence (...) in nats of distributions p and q (..., T):

        m = (p + q) / 2,    jsd = (KL(p || m) + KL(q || m)) / 2        # 0 log 0 = 0

    From 0 to log 2, for disjoint supports.
    """
    return (_x_log_x(p) + _x_log_x(q)).sum(-1) / 2 - _x_log_x((p + q) / 2).sum(-1)


def _x_log_x(x: Tensor) -> Tensor:
    """x log x, 0 for 0, with a finite gradient."""
    return x * x.clamp(min=torch.finfo(x.dtype).tiny).log()


def reweighted(model: nn.Module, point: str, *inputs: Any) -> tuple[Tensor, Answer]:
    """Return the attention weights at a hook point when `model(*inputs)` returns logits (B, C), and
    a function from weights of that shape to the model's class probabilities (B, C).

    Raises ValueError if the point is passed more than once.
    """
    with torch.no_grad(), record(model, point) as seen:
        model(*inputs)
    passed = [weights for calls in seen.values() for weights in calls]
    if len(passed) != 1:
        raise ValueError(f"{point}: got {len(passed)} tensors, expected 1; name one point")

    def answer(weights: Tensor) -> Tensor:
        with replace(model, point, weights):
            return torch.as_tensor(model(*inputs)).softmax(-1)

    return passed[0].detach(), answer


@torch.no_grad()
def permuted(
    answer: Answer, weights: Tensor, real: Tensor, times: int = 100, seed: int = 0
) -> Tensor:
    """Return the change of each prediction, tvd (times, B), when its weights (B, ..., T) are
    permuted randomly among real tokens, `real` bool (B, T), alike for all queries of a text.

    Source: Jain and Wallace 2019, section 4.2.1 (there the median of the 100 is shown).
    """
    positive(times=times)
    draw = torch.Generator().manual_seed(seed)
    first, found = answer(weights), []
    shape = (len(real), *[1] * (weights.ndim - 2), real.shape[1])
    at = (
        (~real).long().sort(stable=True, dim=-1).indices
    )  # the real positions first, in their order
    for _ in range(times):
        noise = torch.rand(real.shape, generator=draw).to(weights.device).masked_fill(~real, 2.0)
        source = torch.empty_like(at).scatter_(1, at, noise.argsort(dim=-1, stable=True))
        shuffled = weights.gather(-1, source.view(shape).expand_as(weights))
        found.append(tvd(first, answer(shuffled)))
    return torch.stack(found)


class Alternatives(NamedTuple):
    """Adversarial weights of each text, (B, ..., T), and how far they and their predictions are.

    apart    jsd to the model's own weights (B,), the mean over queries
    moved    tvd of the predictions (B,)
    """

    weights: Tensor
    apart: Tensor
    moved: Tensor


def adversarial(
    answer: Answer,
    weights: Tensor,
    real: Tensor,
    close: float = 0.01,
    steps: int = 300,
    rate: float = 0.05,
    strictness: float = 50.0,
    seed: int = 0,
) -> Alternatives:
    """Search for weights far from the model's own that leave its prediction almost unchanged:

        maximize  jsd(a, weights) - strictness * max(0, tvd(answer(a), answer(weights)) - close)

    over a = softmax(z) on the real tokens, `real` bool (B, T), by Adam, from a random start. Each
    text keeps the farthest allowed a over all steps, or its own weights if there was none.

    Source: Jain and Wallace 2019, section 4.2.2 (with k = 1: one set of weights per text).
    """
    positive(steps=steps)
    weights = weights.detach()
    shape = (len(real), *[1] * (weights.ndim - 2), real.shape[1])
    masked = ~real.view(shape).expand_as(weights)
    draw = torch.Generator().manual_seed(seed)
    z = torch.randn(weights.shape, generator=draw).to(weights).requires_grad_()
    first = answer(weights).detach()
    best, farthest = weights.clone(), first.new_zeros(len(first))
    nearest = farthest.clone()
    optimizer = torch.optim.Adam([z], lr=rate)
    for _ in range(steps):
        a = F.softmax(z.masked_fill(masked, -math.inf), -1)
        apart = jsd(a, weights).reshape(len(a), -1).mean(-1)
        moved = tvd(answer(a), first)
        found = (moved <= close) & (apart > farthest)
        with torch.no_grad():
            best[found], farthest[found], nearest[found] = a[found], apart[found], moved[found]
        loss = strictness * (moved - close).clamp(min=0) - apart
        (z.grad,) = torch.autograd.grad(loss.sum(), [z])
        optimizer.step()
    return Alternatives(best.detach(), farthest.detach(), nearest.detach())

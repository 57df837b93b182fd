"""Adversarial steps in embedding space: a text's rows, moved a little, so that its answer falls.

    moved = pgd_step(model, point, lambda: margin(model(tokens), label), 0.5, words)
    with replace(model, point, moved):
        model(tokens)                                        # the answer now
    nearest_words(moved, vectors)                            # which words would stand there

One step along the gradient, or several, each put back into the ball of the radius. A row that has
moved is in general no word's: `nearest_words` says which one it is nearest to.

System: adversarial
Parent: none
What differs:
- the gradient is followed, not drawn: the rows go where the answer falls fastest (`pgd_step`)
- words instead of rows: exchanges that keep the meaning are tried, all of them or those that the
  gradient proposes (`counterfactual.greedy`, `hotflip.hotflip`)
- in training, a text and the worst one beside it are learned together
  (`training.objectives.worst_step`)
- an answer is trusted where the nearest training texts of another class are far
  (`evaluate.trust.trust_score`)
- the fairness repair is that of system `bias`
Source: Goodfellow, Shlens and Szegedy 2015 (one step); Miyato, Dai and Goodfellow 2017 (for text);
Madry et al. 2018 (projected steps).
Book: 7.2
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import record, replace


def pgd_step(
    model: nn.Module,
    point: str,
    output: Callable[[], Tensor],
    radius: float,
    movable: Tensor | None = None,
    *,
    steps: int = 1,
    pace: float = 1.0,
    sign: bool = False,
) -> Tensor:
    """Return the rows (B, S, d) of each text, at most `radius` away, at which its output is lower:

        r <- P(r - pace radius g / |g|),   g = d output / d (x + r),   P(r) = r min(1, radius / |r|)

    model, point    the rows x (B, S, d) that pass this hook point are the texts' word vectors
    output          runs the model on the texts and returns a number for each, (B,)
    movable         bool (B, S): the places that may move; by default all
    sign            sign(g) instead of g / |g|, and |r| the largest number in r: FGSM

    Lengths |.| are over all rows of a text together. One step with pace 1 is Miyato's. A gradient
    of 0 moves nothing: then the result is x. The weights' gradients are left as they were.
    Raises ValueError for a radius, steps or pace that is not positive, for an output that is not
    one number a text, and where the point is passed more than once.
    """
    positive(steps=steps)
    if not (radius > 0 and pace > 0):
        raise ValueError(f"radius={radius}, pace={pace}: both must be above 0")
    with record(model, point) as seen, torch.no_grad():
        output()
    passed = [rows for calls in seen.values() for rows in calls]
    if len(passed) != 1 or passed[0].ndim != 3:
        raise ValueError(f"{point}: expected to be passed once, by rows (B, S, d)")
    start = moved = passed[0].detach()
    for _ in range(steps):
        x = moved.clone().requires_grad_()
        with torch.enable_grad(), replace(model, point, x):
            numbers = output()
            if numbers.shape != x.shape[:1]:
                raise ValueError(
                    f"output: got {tuple(numbers.shape)}, expected one number a text, ({len(x)},)"
                )
            (gradient,) = torch.autograd.grad(numbers.sum(), x)
        if movable is not None:
            gradient = gradient * movable[:, :, None]
        way = gradient.sign() if sign else gradient / _length(gradient)
        offset = moved - start - pace * radius * way
        if sign:
            offset = offset.clamp(-radius, radius)
        else:
            offset = offset * (radius / _length(offset)).clamp(max=1)
        moved = start + offset
    return moved


def nearest_words(rows: Tensor, vectors: Tensor) -> Tensor:
    """Return for each row (B, S, d) the number of the nearest vector, (B, S).

    vectors: (V, d), or (S, V, d) where a word's vector hangs on its place, as behind positions.
    Equal distances go to the first. Raises ValueError for other shapes.
    """
    places, width = rows.shape[-2:]
    if vectors.shape not in {(len(vectors), width), (places, vectors.shape[-2], width)}:
        raise ValueError(
            f"vectors: got {tuple(vectors.shape)}, expected (V, {width}) or ({places}, V, {width})"
        )
    each = vectors.expand(places, -1, -1)  # (S, V, d)
    return torch.cdist(rows.transpose(0, 1), each).argmin(-1).T


def _length(x: Tensor) -> Tensor:
    return x.flatten(1).norm(dim=1).clamp(min=torch.finfo(x.dtype).tiny)[:, None, None]

"""Projected gradient descent (PGD) on embeddings: small perturbations that lower the output.

    moved = pgd_step(model, point, lambda: margin(model(tokens), label), 0.5, words)
    with replace(model, point, moved):
        model(tokens)                                        # the output under attack
    nearest_words(moved, vectors)                            # the nearest words

One gradient step, or several, each projected back onto the ball of the radius. A perturbed
embedding is usually not that of any word: `nearest_words` returns the nearest one.

System: adversarial
Parent: none
What differs:
- the gradient is followed, not displayed: embeddings move to lower the output (`pgd_step`)
- words instead of embeddings: meaning-preserving substitutions are tried, all of them or those that
  the gradient proposes (`counterfactual.greedy`, `hotflip.hotflip`)
- adversarial training: the loss on a text and on its worst perturbation
  (`training.objectives.worst_step`)
- a prediction is trusted if the nearest training texts of another class are far
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
    """Return embeddings (B, S, d) within `radius` of the texts' own that lower their outputs:

        r <- P(r - pace radius g / |g|),   g = d output / d (x + r),   P(r) = r min(1, radius / |r|)

    model, point    x (B, S, d) at this hook point are the texts' embeddings
    output          runs the model on the texts and returns a number for each, (B,)
    movable         bool (B, S): the positions to perturb; by default all
    sign            sign(g) instead of g / |g|, and the maximum norm for |r|: FGSM

    Norms |.| are over all positions of a text together. One step with pace 1 is Miyato's. Where
    the gradient is 0, the result is x. The parameters' gradients are not changed.
    Raises ValueError for a radius, steps or pace that is not positive, for an output that is not
    one number per text, and if the point is passed more than once.
    """
    positive(steps=steps)
    if not (radius > 0 and pace > 0):
        raise ValueError(f"radius={radius}, pace={pace}: both must be above 0")
    with record(model, point) as seen, torch.no_grad():
        output()
    passed = [rows for calls in seen.values() for rows in calls]
    if len(passed) != 1 or passed[0].ndim != 3:
        raise ValueError(f"{point}: expected one call, with a tensor (B, S, d)")
    start = moved = passed[0].detach()
    for _ in range(steps):
        x = moved.clone().requires_grad_()
        with torch.enable_grad(), replace(model, point, x):
            numbers = output()
            if numbers.shape != x.shape[:1]:
                raise ValueError(
                    f"output: got {tuple(numbers.shape)}, expected ({len(x)},), a number per text"
                )
            (gradient,) = torch.autograd.grad(numbers.sum(), x)
        if movable is not None:
            gradient = gradient * movable[:, :, None]
        direction = gradient.sign() if sign else gradient / _length(gradient)
        offset = moved - start - pace * radius * direction
        if sign:
            offset = offset.clamp(-radius, radius)
        else:
            offset = offset * (radius / _length(offset)).clamp(max=1)
        moved = start + offset
    return moved


def nearest_words(rows: Tensor, vectors: Tensor) -> Tensor:
    """Return the index of the nearest vector for each embedding (B, S, d), (B, S).

    vectors: (V, d), or (S, V, d) if they depend on the position, as after position embeddings.
    Ties go to the first. Raises ValueError for other shapes.
    """
    S, width = rows.shape[-2:]
    if vectors.shape not in {(len(vectors), width), (S, vectors.shape[-2], width)}:
        raise ValueError(
            f"vectors: got {tuple(vectors.shape)}, expected (V, {width}) or ({S}, V, {width})"
        )
    each = vectors.expand(S, -1, -1)  # (S, V, d)
    return torch.cdist(rows.transpose(0, 1), each).argmin(-1).T


def _length(x: Tensor) -> Tensor:
    return x.flatten(1).norm(dim=1).clamp(min=torch.finfo(x.dtype).tiny)[:, None, None]

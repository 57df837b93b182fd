"""Adversarial training in embedding space: train on a text and on its worst-case perturbation.

    fit(model, batches, partial(adversarial_training_loss, point=point, radius=1.0), ...)

Source: Miyato, Dai and Goodfellow 2017, equations 2 and 3.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.hooks import record, replace


def adversarial_training_loss(
    model: nn.Module, batch: Sequence[Tensor], point: str, radius: float, pad: int = 0
) -> Tensor:
    """Return the mean of the cross-entropy and of its approximate maximum within the radius:

        L = (CE(x) + CE(x + r)) / 2,   r = radius g / |g|,   g = d CE(x) / d x, held fixed

    batch: labels (B, 1), tokens (B, T). x are the embeddings (B, T, d) at the hook point; the norm
    |.| is over all of a text's real tokens. Costs two forward and two backward passes.
    Raises ValueError for a radius that is not above 0.
    """
    if not radius > 0:
        raise ValueError(f"radius={radius}: must be above 0; for 0 use the cross-entropy alone")
    labels, tokens = batch
    real = tokens != pad
    with record(model, point) as seen:
        clean = F.cross_entropy(model(tokens, real), labels[:, 0], reduction="none")
    (x,) = (rows for calls in seen.values() for rows in calls)
    (g,) = torch.autograd.grad(clean.sum(), x, retain_graph=True)
    g = g * real[:, :, None]
    length = g.flatten(1).norm(dim=1).clamp(min=torch.finfo(g.dtype).tiny)
    r = radius * g / length[:, None, None]
    with replace(model, point, lambda rows: rows + r):
        worst = F.cross_entropy(model(tokens, real), labels[:, 0])
    return (clean.mean() + worst) / 2

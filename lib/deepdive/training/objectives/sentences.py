"""Sentence embedding objectives: texts with similar meaning get vectors with high cosine."""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.training.objectives.token import cross_entropy


def cosine_regression(u: Tensor, v: Tensor, targets: Tensor) -> Tensor:
    """Mean of (cos(u, v) - target)^2, the **regression objective**.

    u, v: (B, d); targets: floats (B,), a similarity from -1 to 1.
    Raises ValueError when shapes differ, or a target is not a cosine.

    Source: Reimers and Gurevych 2019, section 3.
    """
    _alike(u, v, "u", "v")
    if targets.shape != u.shape[:-1]:
        raise ValueError(
            f"targets: got shape {tuple(targets.shape)}, expected {tuple(u.shape[:-1])}, one "
            "number a pair"
        )
    if targets.abs().max() > 1:
        raise ValueError(
            f"targets: run from {targets.min():g} to {targets.max():g}, expected cosines from -1 "
            "to 1; divide a score from 0 to 5 by 5"
        )
    return (F.cosine_similarity(u, v, dim=-1) - targets.to(u.dtype)).square().mean()


def triplet(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0) -> Tensor:
    """Mean of max(|anchor - positive| - |anchor - negative| + margin, 0), Euclidean.

    0 once each negative is further from its anchor than the positive, by `margin`.
    All three: (B, d). Raises ValueError when shapes differ or the margin is negative.

    Source: Reimers and Gurevych 2019, section 3, whose margin is 1; Schroff et al. 2015 (with
    squares).
    """
    _alike(anchor, positive, "anchor", "positive")
    _alike(anchor, negative, "anchor", "negative")
    if margin < 0:
        raise ValueError(f"margin: got {margin}, expected 0 or more")
    near = torch.linalg.vector_norm(anchor - positive, dim=-1)
    far = torch.linalg.vector_norm(anchor - negative, dim=-1)
    return (near - far + margin).clamp_min(0).mean()


def multiple_negatives(u: Tensor, v: Tensor, scale: float = 20.0) -> Tensor:
    """Contrastive loss with in-batch negatives: u_i must match v_i among all v of the batch:

        loss = mean over i of  -log softmax_j(scale * cos(u_i, v_j))[i]

    The other pairs of the batch are the negatives, so a larger batch is a harder
    task, and two pairs with the same meaning in a batch are wrongly penalized.
    u, v: (B, d), B at least 2. `scale` = 1 / temperature.
    Raises ValueError when shapes differ, B is below 2, or the scale is not above 0.

    Source: Henderson et al. 2017, section 4.3 (with a dot product instead of the scaled cosine);
    the scale is sentence-transformers'.
    """
    _alike(u, v, "u", "v")
    if len(u) < 2:
        raise ValueError("u, v: got batch size 1, expected 2 or more, or there are no negatives")
    if not scale > 0:
        raise ValueError(f"scale: got {scale}, expected a number above 0")
    scores = scale * F.normalize(u, dim=-1) @ F.normalize(v, dim=-1).T  # (B, B)
    return cross_entropy(scores, torch.arange(len(u), device=u.device), pad=None)


def _alike(a: Tensor, b: Tensor, left: str, right: str) -> None:
    if a.ndim != 2 or a.shape != b.shape or len(a) == 0:
        raise ValueError(
            f"{left}, {right}: got shapes {tuple(a.shape)} and {tuple(b.shape)}, expected "
            "one shape (B, d), a vector per text"
        )

"""ProphetNet's objective: each stream predicts the same token, from a context one token shorter."""

from collections.abc import Sequence

import torch
from torch import Tensor

from deepdive.training.objectives.token import PAD, cross_entropy


def future_loss(
    logits: Tensor,
    targets: Tensor,
    pad: int | None = PAD,
    smoothing: float = 0.0,
    weights: Sequence[float] | None = None,
) -> Tensor:
    """Mean over the streams of the cross-entropy of the same targets.

        loss = sum_j weights[j] * cross_entropy(logits[:, j], targets) / sum_j weights[j]

    logits: (B, n, T, V) of n streams (`deepdive.models.generative.prophetnet.ProphetNet.futures`).
    targets: (B, T), the token that follows each; the same for all streams.
    weights: one per stream; None: equal. (1, 0 ...) trains only next-token prediction.
    Source: Qi et al. 2020, section 2.2.
    """
    if logits.ndim != 4:
        raise ValueError(
            f"logits: got shape {tuple(logits.shape)}, expected (B, n, T, V) of n streams: "
            "what ProphetNet.futures returns"
        )
    n = logits.shape[1]
    weights = [1.0] * n if weights is None else weights
    if len(weights) != n or min(weights) < 0 or sum(weights) <= 0:
        raise ValueError(
            f"weights: got {list(weights)} for {n} streams; expected one each, none below 0 "
            "and not all 0"
        )
    losses = [cross_entropy(logits[:, j], targets, pad, smoothing) for j in range(n) if weights[j]]
    shares = losses[0].new_tensor([weight for weight in weights if weight]) / sum(weights)
    return (shares * torch.stack(losses)).sum()

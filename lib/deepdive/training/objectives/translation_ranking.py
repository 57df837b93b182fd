"""Translation ranking: match each sentence to its translation among all those of the batch, in both
directions. LaBSE's objective, and the second of mUSE's three tasks.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.training.objectives.sentences import _alike
from deepdive.training.objectives.token import cross_entropy


def additive_margin(
    u: Tensor, v: Tensor, margin: float = 0.3, scale: float = 20.0, hard: Tensor | None = None
) -> Tensor:
    """Contrastive loss with an additive margin: u_i must match v_i, and be closer by a margin:

        s_ij = scale * (cos(u_i, v_j) - margin [i = j])
        loss = mean over i of  -log softmax_j(s_i)[i]

    so a pair that is barely the best one still has a loss. hard: (B, K, d), K hard negatives
    for each u_i, which are candidates only for it:

        s_i = [s_i1 ... s_iB ; scale * cos(u_i, hard_i1) ... scale * cos(u_i, hard_iK)]

    With margin 0 and without `hard` it is `multiple_negatives`. u, v: (B, d), B at least 2, or 1
    with `hard`. The papers print no scale; without one, cosines from -1 to 1 hardly discriminate
    among many candidates. Raises ValueError where shapes do not fit, there is no negative among
    the candidates, the scale is not above 0 or the margin is below 0.

    Source: Yang et al. 2019, "Improving Multilingual Sentence Embedding using Bi-directional Dual
    Encoder with Additive Margin Softmax", section 2; Feng et al. 2022, section 2; hard negatives:
    Guo et al. 2018.
    """
    _alike(u, v, "u", "v")
    if not (scale > 0 and margin >= 0):
        raise ValueError(f"margin={margin}, scale={scale}: expected 0 or more, and above 0")
    if hard is not None and (hard.ndim != 3 or hard[:, 0].shape != u.shape):
        raise ValueError(
            f"hard: got shape {tuple(hard.shape)} for {tuple(u.shape)}; expected (B, K, d), "
            "K hard negatives per row, 1 or more"
        )
    if len(u) < 2 and hard is None:
        raise ValueError("u, v: got batch size 1 and no hard negatives; the loss would be 0")
    query = F.normalize(u, dim=-1)
    cosines = query @ F.normalize(v, dim=-1).T  # (B, B)
    scores = cosines - margin * torch.eye(len(u), dtype=u.dtype, device=u.device)
    if hard is not None:
        further = torch.einsum("bd,bkd->bk", query, F.normalize(hard, dim=-1))
        scores = torch.cat((scores, further), 1)  # (B, B + K)
    return cross_entropy(scale * scores, torch.arange(len(u), device=u.device), pad=None)


def translation_ranking(u: Tensor, v: Tensor, margin: float = 0.3, scale: float = 20.0) -> Tensor:
    """Return the sum of both directions: each sentence is matched to its translation, and each
    translation to its sentence.

        loss = additive_margin(u, v) + additive_margin(v, u)

    One direction alone has a loophole: a `v_j` that is close to everything is never penalized
    as a query. Raises ValueError as `additive_margin` does.

    Source: Feng et al. 2022, section 2, equations 1 and 2.
    """
    return additive_margin(u, v, margin, scale) + additive_margin(v, u, margin, scale)

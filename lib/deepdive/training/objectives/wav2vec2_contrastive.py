"""wav2vec 2.0's objective: span masking, sampled distractors, and the contrastive loss.

Source: Baevski et al. 2020, section 3, and their released code.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def hidden_spans(
    real: Tensor, share: float = 0.065, span: int = 10, draw: torch.Generator | None = None
) -> Tensor:
    """Return which frames are masked, bool (B, T): spans of `span` frames, which may overlap.

    A fraction `share` of each recording's real frames, sampled without replacement, start a
    span (the number is rounded up or down at random, at least one); real: bool (B, T). 0.065 and
    10 mask 49 in 100 frames of a long recording. Raises ValueError for one shorter than a span.
    """
    lengths = real.sum(1)
    if not 0 < share <= 1 or span < 1 or lengths.min() < span:
        raise ValueError(
            f"share={share}, span={span}, shortest recording of {int(lengths.min())} frames: a "
            "span must fit, and the share be above 0 and at most 1"
        )
    noise = torch.rand(real.shape, generator=draw)
    starts = torch.arange(real.shape[1]) <= (lengths - span)[:, None].cpu()
    rank = noise.masked_fill(~starts, 2.0).argsort(1).argsort(1)
    wanted = share * lengths.cpu() + torch.rand(len(real), generator=draw)
    first = (rank < wanted.floor().clamp(min=1)[:, None]) & starts
    within = F.pad(first.float(), (span - 1, 0)).unfold(1, span, 1).amax(-1)
    return (within > 0).to(real.device)


def sample_negatives(hidden: Tensor, n: int, draw: torch.Generator | None = None) -> Tensor:
    """Return for each masked frame n other masked frames of the same recording, int64 (B, T, n),
    sampled with replacement; values for unmasked frames are undefined. Raises ValueError where a
    recording has only one masked frame: it has no other.
    """
    count = hidden.sum(1)
    if (count == 1).any():
        raise ValueError("hidden: a recording with one masked frame has no negatives; mask two")
    masked = (~hidden).long().argsort(stable=True, dim=1)  # masked frames first
    rank = hidden.cumsum(1) - 1
    n_others = (count - 1).clamp(min=1)[:, None, None]
    chosen = torch.rand(*hidden.shape, n, generator=draw).to(hidden.device)
    chosen = (chosen * n_others).long()
    chosen = chosen + (chosen >= rank[..., None])  # skip the frame itself
    return masked.gather(1, chosen.clamp(max=hidden.shape[1] - 1).flatten(1)).view_as(chosen)


def contrastive_logits(
    said: Tensor, target: Tensor, hidden: Tensor, wrong: Tensor, temperature: float = 0.1
) -> Tensor:
    """Return sim(said_t, target_s) / temperature for each masked frame t (M, 1 + n): first for
    s = t, the positive, then for the distractors of `contrastive_loss`; -inf for one equal to it.
    """
    b, t = hidden.nonzero(as_tuple=True)
    right, negatives = target[b, t][:, None], target[b[:, None], wrong[b, t]]  # (M, 1 or n, d)
    said, every = F.normalize(said[b, t], dim=-1), F.normalize(target, dim=-1)
    candidates = torch.cat([every[b, t][:, None], every[b[:, None], wrong[b, t]]], 1)
    logits = torch.einsum("md,mnd->mn", said, candidates) / temperature
    return logits.masked_fill(F.pad((negatives == right).all(-1), (1, 0)), -torch.inf)


def contrastive_loss(
    said: Tensor, target: Tensor, hidden: Tensor, wrong: Tensor, temperature: float = 0.1
) -> Tensor:
    """loss = mean over masked frames t of

        -log( exp(sim(said_t, target_t) / temperature)
              / sum over s in {t, wrong_t} of exp(sim(said_t, target_s) / temperature) )

    with sim the cosine. said, target (B, T, d); hidden bool (B, T); wrong int64 (B, T, n), frames
    of the same recording. A distractor whose code equals the positive's does not count.
    Raises ValueError where nothing is masked.
    """
    if not hidden.any():
        raise ValueError("hidden: no frame is masked, so there is nothing to predict")
    logits = contrastive_logits(said, target, hidden, wrong, temperature)
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device=said.device))


def codebook_perplexity(usage: Tensor, hidden: Tensor | None = None) -> Tensor:
    """Return how many entries of each codebook are used, (codebooks,): exp(entropy) of the mean
    usage, between 1 and the number of entries; usage (B, T, codebooks, codes), of masked frames.
    """
    mean = (usage.flatten(0, 1) if hidden is None else usage[hidden]).mean(0)  # (G, V)
    return (-torch.xlogy(mean, mean).sum(-1)).exp()


def diversity_loss(usage: Tensor, hidden: Tensor | None = None) -> Tensor:
    """loss = 1 - (entries used, over all codebooks) / (entries there): 0 when used uniformly.

    As in the released code; the paper has the negative entropy, which has its minimum at
    the same point.
    """
    entries = usage.shape[-2] * usage.shape[-1]
    return 1 - codebook_perplexity(usage, hidden).sum() / entries

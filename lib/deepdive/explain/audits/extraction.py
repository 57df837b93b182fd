"""Memorization of secrets in language models: the exposure of a canary, its rank among candidates.

    logp = log_probabilities(model, prefix, digits, 4)     # (10,000,): each code, given the prefix
    exposure(logp, 4719)                                   # in bits: 13.3 for the most probable

`exposure` needs every candidate. If there are too many, `sampled` estimates it from some of them,
bounded by their log2 count; `extrapolated` fits a distribution to them and is not bounded.

Source: Carlini et al. 2019 (The Secret Sharer), section 4.
"""

import math

import torch
from torch import Tensor, nn


@torch.no_grad()
def log_probabilities(
    model: nn.Module, prefix: Tensor, symbols: Tensor, length: int, batch: int = 1024
) -> Tensor:
    """Return ln p(candidate | prefix) of all K^length candidates, (K^length,).

    model     a language model: tokens (B, T) -> logits (B, T, V)
    prefix    tokens (P,);  symbols: the token ids (K,) that candidates consist of

    Candidate i has the digits of i in base K, the most significant first. Each prefix in the tree
    is run once: (K^length - 1) / (K - 1) texts. Raises ValueError for a length below 1.
    """
    if length < 1:
        raise ValueError(f"length={length}: expected 1 or more")
    texts, log_p = prefix[None], torch.zeros(1)
    for i in range(length):
        logits = torch.cat([model(part)[:, -1] for part in texts.split(batch)])
        log_p = (log_p[:, None] + logits.log_softmax(-1)[:, symbols]).flatten()  # (K^(i + 1),)
        if i < length - 1:
            ends = symbols.repeat(len(texts))[:, None]
            texts = torch.cat([texts.repeat_interleave(len(symbols), 0), ends], 1)
    return log_p


def exposure(said: Tensor, own: int) -> float:
    """Return log2 |R| - log2 rank, for candidates' log-probabilities (R,) and the secret's index.

    The rank counts the candidates that are at least as probable, the secret included: the most
    probable has rank 1 and exposure log2 |R|; if all are equal, it is 0. The mean for a secret that
    was not in training is 1 / ln 2 = 1.44 bits. Source: definition 4.3. Raises IndexError.
    """
    if not 0 <= own < len(said):
        raise IndexError(f"own: got {own}, expected the secret's index, 0 to {len(said) - 1}")
    return math.log2(len(said)) - math.log2(int((said >= said[own]).sum()))


def sampled(some: Tensor, own: float) -> float:
    """Estimate the exposure of a secret from the log-probabilities of sampled candidates (n,).

        -log2 (1 + how many are at least as probable) / (1 + n)

    At most log2(1 + n) bits. Source: section 4.4, the first estimate; the ones keep it finite.
    """
    return math.log2(1 + len(some)) - math.log2(1 + int((some >= own).sum()))


def extrapolated(some: Tensor, own: float) -> float:
    """Return -log2 P(at least as probable) under a skew normal distribution with the mean, standard
    deviation and skewness of sampled candidates (n,).

    The parameters follow from the moments (Azzalini 1985), the probability from a sum over the
    tail. Source: section 4.4, the second estimate (there fitted by likelihood). Raises ValueError
    for fewer than three candidates, or if all are equal.
    """
    x = some.double()
    if len(x) < 3 or float(x.std()) == 0:
        raise ValueError(f"some: got {len(x)} candidates, expected 3 or more, not all equal")
    std = float(x.std(unbiased=False))
    skew = float((((x - x.mean()) / std) ** 3).mean().clamp(-0.99, 0.99))
    part = abs(skew) ** (2 / 3)
    delta = math.copysign(
        math.sqrt(math.pi / 2 * part / (part + (2 - math.pi / 2) ** (2 / 3))), skew
    )
    scale = std / math.sqrt(1 - 2 * delta**2 / math.pi)
    start = float(x.mean()) - scale * delta * math.sqrt(2 / math.pi)
    shape = delta / math.sqrt(1 - delta**2)
    z = (own - start) / scale + torch.linspace(0, 40, 200_001, dtype=torch.float64)
    density = math.log(2 / math.sqrt(2 * math.pi)) - z**2 / 2 + torch.special.log_ndtr(shape * z)
    return -float(density.logsumexp(0) + math.log(40 / 200_000)) / math.log(2)

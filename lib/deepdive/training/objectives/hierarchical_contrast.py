"""HICTL: hierarchical contrastive learning, of sentences and words. Wei et al. 2021, "On Learning
Universal Representations Across Languages".

    loss = masked language modeling + sentence-level contrast + word-level contrast

System: hictl
Parent: xlmr
What differs:
- a sentence must match its translation among hard negatives: each is interpolated towards the
  sentence, the more so the better the model has become (`interpolate_hard_negatives`,
  `sentence_contrast`)
- a pair's vector must match the words of both its sentences among other words of the vocabulary,
  of which the nearest are used (`word_contrast`, `nearest_words`)
Source: Wei et al. 2021, sections 3.1 and 3.2.
Book: 4.1.2.9
"""

import torch
from torch import Tensor

from deepdive.training.objectives.sentences import _alike


def interpolate_hard_negatives(
    query: Tensor,
    positive: Tensor,
    negatives: Tensor,
    confidence: float = 1.0,
    smoothing: float = 0.9,
) -> Tensor:
    """Interpolate each negative towards its query, never closer than the positive is:

        d+ = |q - k+|,  d- = |q - k-|
        k~ = q + (d+ / d-)^(smoothing * confidence) (k- - q)      where d- > d+
        k~ = k-                                                    elsewhere

    `confidence` measures how well the model identifies positives, exp(-loss) over recent steps:
    at 0, as for an untrained model, nothing moves; with smoothing * confidence = 1 a negative is
    as far from the query as the positive. query, positive (B, d); negatives (B, K, d). Returns
    (B, K, d). Raises ValueError for shapes that do not fit, or numbers that are not from 0 to 1.

    Source: Wei et al. 2021, section 3.1, "smoothed linear interpolation". The section itself was
    not at hand: the exponent, and its 0.9, are given as remembered.
    """
    _alike(query, positive, "query", "positive")
    if negatives.ndim != 3 or negatives[:, 0].shape != query.shape:
        raise ValueError(
            f"negatives: got shape {tuple(negatives.shape)} for {tuple(query.shape)}, "
            "expected (B, K, d), K at least 1"
        )
    if not (0 <= confidence <= 1 and 0 <= smoothing <= 1):
        raise ValueError(f"confidence={confidence}, smoothing={smoothing}: expected 0 to 1")
    near = torch.linalg.vector_norm(query - positive, dim=-1)[:, None]
    away = negatives - query[:, None]
    far = torch.linalg.vector_norm(away, dim=-1)  # (B, K)
    ratio = torch.where(far > near, near / far.clamp_min(torch.finfo(far.dtype).tiny), 1.0)
    return query[:, None] + (ratio ** (smoothing * confidence))[..., None] * away


def sentence_contrast(
    query: Tensor, positive: Tensor, negatives: Tensor, temperature: float = 1.0
) -> Tensor:
    """loss = mean over queries of

        -log( exp(q . k+ / temperature)
              / (exp(q . k+ / temperature) + sum over k- of exp(q . k- / temperature)) )

    query, positive (B, d), negatives (B, K, d), such as those of `interpolate_hard_negatives`.
    Raises ValueError for shapes that do not fit or a temperature that is not above 0.

    Source: Wei et al. 2021, section 3.1.
    """
    _alike(query, positive, "query", "positive")
    right = (query * positive).sum(-1, keepdim=True)
    wrong = torch.einsum("bd,bkd->bk", query, negatives)
    return _first(torch.cat((right, wrong), 1), temperature)


def word_contrast(
    pair: Tensor, words: Tensor, own: Tensor, others: Tensor, temperature: float = 1.0
) -> Tensor:
    """Contrastive loss of a pair's vector and each word of its bag, against words not in it:

        loss = mean over pairs b and words w of bag b of
            -log( exp(p_b . e_w) / (exp(p_b . e_w) + sum over o in others_b of exp(p_b . e_o)) )

    with each product divided by the temperature. pair: (B, d), the [CLS] state of both sentences
    joined; words: (V, d), the word embeddings; own: bool (B, V), the bags of words; others:
    bool (B, V), the negatives, none of them own. Each word is a separate positive: the other words
    of its bag are not negatives. Raises ValueError where a pair has no word, or no negative, or
    one that is both.

    Source: Wei et al. 2021, section 3.2.
    """
    if (own & others).any() or not (own.any(1).all() and others.any(1).all()):
        raise ValueError(
            "own, others: each row needs a positive and a negative word, and no word may be both"
        )
    if not temperature > 0:
        raise ValueError(f"temperature: got {temperature}, expected a number above 0")
    scores = pair @ words.T / temperature  # (B, V)
    wrong = scores.masked_fill(~others, -torch.inf).logsumexp(1, keepdim=True)  # (B, 1)
    each = torch.logaddexp(scores, wrong) - scores  # as if every word were a positive
    return each[own].mean()


def nearest_words(pair: Tensor, words: Tensor, own: Tensor, n: int) -> Tensor:
    """Return the `n` words nearest to each pair's vector that are not its own, bool (B, V): distant
    negatives contribute almost nothing. Raises ValueError where there are not as many.

    Source: Wei et al. 2021, section 3.2, "sampling of negative words".
    """
    left = int((~own).sum(1).min())
    if not 1 <= n <= left:
        raise ValueError(f"n={n}: expected 1 to {left}, the fewest negatives of any pair")
    with torch.no_grad():
        scores = (pair @ words.T).masked_fill(own, -torch.inf)
        chosen = scores.topk(n, 1).indices
    return torch.zeros_like(own).scatter(1, chosen, True)


def _first(scores: Tensor, temperature: float) -> Tensor:
    if not temperature > 0:
        raise ValueError(f"temperature: got {temperature}, expected a number above 0")
    return -(scores / temperature).log_softmax(1)[:, 0].mean()

"""AMBER: explicit alignment of translations, by words and by sentences. Hu et al. 2021,
"Explicit Alignment Objectives for Multilingual Bidirectional Encoders".

    loss = masked language modeling + 1 - agreement + sentence contrast

System: amber
Parent: mbert
What differs:
- word alignment: attention from the sentence to its translation and back must agree in both
  directions (`word_agreement`, of `across`)
- sentence alignment: the mean of a sentence's states must match its translation's among the
  sentences of the batch, in any language (`sentence_alignment`)
Source: Hu et al. 2021, sections 2.2 and 2.3.
Book: 4.1.2.7
"""

import torch
from torch import Tensor

from deepdive.training.objectives.sentences import _alike
from deepdive.training.objectives.token import cross_entropy


def across(weights: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Extract the attention between two joined sentences from their weights, in both directions.

        forward[i, j]  = weights[i, j] / sum over j in second of weights[i, j]    for i in first
        backward[j, i] = weights[j, i] / sum over i in first of weights[j, i]     for j in second

    Each row is renormalized to sum to one: it is the softmax over the other sentence alone, as if
    the sentence's own tokens were masked in this layer. weights
    (B, H, T, T), queries first; first, second bool (B, T), real tokens of each. Returns both as
    (B, H, T, T), 0 elsewhere. Raises ValueError where a token is of both sentences, or a sentence
    has none.
    """
    if (first & second).any() or not (first.any(1).all() and second.any(1).all()):
        raise ValueError("first, second: expected tokens of both languages, no token in both masks")
    return _between(weights, first, second), _between(weights, second, first)


def _between(weights: Tensor, asking: Tensor, asked: Tensor) -> Tensor:
    kept = weights * (asking[:, None, :, None] & asked[:, None, None, :])
    return kept / kept.sum(-1, keepdim=True).clamp_min(torch.finfo(kept.dtype).tiny)


def word_agreement(weights: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """loss = mean over pairs of

        1 - 1/H  sum over heads h of  trace(forward_h backward_h) / min(|first|, |second|)

    trace(forward backward) = sum over i, j of forward[i, j] backward[j, i]: the probability, summed
    over words, of attending to the translation and back to the same word. The loss is 0 where each
    word and its partner attend only to each other, and 1 at worst. Arguments and errors are those
    of `across`; the paper takes the weights of the last layer.

    Source: Hu et al. 2021, section 2.2, who write tr(A_yx^T A_xy) with both matrices as |y| x |x|.
    The section was not at hand: normalizing over the other sentence alone is our reading.
    """
    forward, backward = across(weights, first, second)
    met = torch.einsum("bhij,bhji->b", forward, backward) / weights.shape[1]
    return (1 - met / torch.minimum(first.sum(1), second.sum(1))).mean()


def sentence_alignment(u: Tensor, v: Tensor, others: Tensor | None = None) -> Tensor:
    """Contrastive loss: match sentence i to its translation among the batch and other sentences:

        loss = mean over i of  -log( exp(u_i . v_i) / sum over y in v and others of exp(u_i . y) )

    u, v: (B, d), means of states; others: (N, d), sentences of any language without a translation
    in the batch. Dot products, no temperature: a vector's norm acts as its confidence. Raises
    ValueError for shapes that do not fit or where there is one candidate.

    Source: Hu et al. 2021, section 2.3.
    """
    _alike(u, v, "u", "v")
    every = v if others is None else torch.cat((v, others))
    if len(every) < 2:
        raise ValueError("v: got one sentence and no others, expected negatives to contrast with")
    return cross_entropy(u @ every.T, torch.arange(len(u), device=u.device), pad=None)

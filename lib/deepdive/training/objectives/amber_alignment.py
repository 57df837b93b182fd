"""AMBER: two sentences that mean the same are aligned, word by word and as wholes. Hu et al. 2021,
"Explicit Alignment Objectives for Multilingual Bidirectional Encoders".

    loss = masked language modelling + 1 - agreement + contrast of sentences

System: amber
Parent: mbert
What differs:
- what a word attends to in the translation must attend back to it: the two directions of attention
  agree (`word_agreement`, of `across`)
- the mean of a sentence's states must find that of its translation among the sentences of the
  batch, in whatever language (`sentence_alignment`)
Source: Hu et al. 2021, sections 2.2 and 2.3.
Book: 4.1.2.7
"""

import torch
from torch import Tensor

from deepdive.training.objectives.sentences import _alike
from deepdive.training.objectives.token import cross_entropy


def across(weights: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    """Cut the attention between two joined sentences out of their weights, both directions.

        forward[i, j]  = weights[i, j] / sum over j in second of weights[i, j]    for i in first
        backward[j, i] = weights[j, i] / sum over i in first of weights[j, i]     for j in second

    Each row sums to one again: it is the softmax over the other sentence alone, as if the own one
    had been masked in this layer. weights
    (B, H, T, T), rows that attend; first, second bool (B, T), real tokens of each. Returns both as
    (B, H, T, T), 0 elsewhere. Raises ValueError where a token is of both sentences, or a sentence
    has none.
    """
    if (first & second).any() or not (first.any(1).all() and second.any(1).all()):
        raise ValueError("first, second: each row needs a token of either, and none of both")
    return _between(weights, first, second), _between(weights, second, first)


def _between(weights: Tensor, asking: Tensor, asked: Tensor) -> Tensor:
    kept = weights * (asking[:, None, :, None] & asked[:, None, None, :])
    return kept / kept.sum(-1, keepdim=True).clamp_min(torch.finfo(kept.dtype).tiny)


def word_agreement(weights: Tensor, first: Tensor, second: Tensor) -> Tensor:
    """loss = mean over pairs of

        1 - 1/H  sum over heads h of  trace(forward_h backward_h) / min(|first|, |second|)

    trace(forward backward) = sum over i, j of forward[i, j] backward[j, i]: the chance, summed over
    words, that one goes to the translation and comes back to where it was. It is 0 where each word
    has one partner that has it for its own, and 1 at worst. Arguments and errors are those of
    `across`; the paper takes the weights of the last layer.

    Source: Hu et al. 2021, section 2.2, who write tr(A_yx^T A_xy) with both matrices as |y| x |x|.
    The section was not at hand: that rows are taken over the other sentence alone is our reading.
    """
    forward, backward = across(weights, first, second)
    met = torch.einsum("bhij,bhji->b", forward, backward) / weights.shape[1]
    return (1 - met / torch.minimum(first.sum(1), second.sum(1))).mean()


def sentence_alignment(u: Tensor, v: Tensor, others: Tensor | None = None) -> Tensor:
    """Sentence i must find its translation among those of the batch and other sentences:

        loss = mean over i of  -log( exp(u_i . v_i) / sum over y in v and others of exp(u_i . y) )

    u, v: (B, d), means of states; others: (N, d), sentences of any language without a translation
    in the batch. Plain products, no temperature: how long a vector is says how sure it is. Raises
    ValueError for shapes that do not fit or where there is one candidate.

    Source: Hu et al. 2021, section 2.3.
    """
    _alike(u, v, "u", "v")
    every = v if others is None else torch.cat((v, others))
    if len(every) < 2:
        raise ValueError("v: one sentence and no others; there is nothing to tell it from")
    return cross_entropy(u @ every.T, torch.arange(len(u), device=u.device), pad=None)

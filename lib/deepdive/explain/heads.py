"""BERTology, analyzing attention heads: dependency relations, fixed offsets, separators; and the
loss when a head is ablated.

All but `ablation` work on tensors: `attention` (..., W, W) is, for each head (the leading axes),
the attention of word w to word v. `deepdive.explain.words` computes it from a model's weights.

System: bertology
Parent: bert
What differs:
- nothing is trained: for each attention head, the most attended word is its prediction of the
  word's syntactic head (`guesses`, `head_accuracy`)
- the baseline is the best fixed offset, such as "the word to the right" (`best_offset`)
- head and offset are chosen on one half of the sentences and scored on the other (`compare`)
- maps are summarized by entropy, mean attention distance and attention to separators (`entropy`,
  `reach`, `share`), and a head's importance is the task loss without it (`ablation`)
Source: Clark et al. 2019, sections 3 and 4; Michel, Levy and Neubig 2019, section 3.
Book: 3.4.2
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepdive.core.hooks import ablate, hook_points

Pairs = Sequence[tuple[int, int]]
DIRECTIONS = ("dependent to head", "head to dependent")


def guesses(attention: Tensor) -> Tensor:
    """Return the syntactic heads that attention predicts, (2, ..., W), for attention (..., W, W).

        guesses[0][w] = the other word v with the largest attention[w, v]  (w attends to its head)
        guesses[1][w] = the other word v with the largest attention[v, w]  (its head attends to w)

    The words are those of the sentence: remove [CLS] and [SEP] first.
    Source: Clark et al. 2019, sections 4.1 and 4.2.
    """
    if attention.ndim < 2 or attention.shape[-1] != attention.shape[-2]:
        raise ValueError(
            f"attention has shape {tuple(attention.shape)}, expected (..., W, W): one row and one "
            "column for each word"
        )
    itself = torch.eye(attention.shape[-1], dtype=torch.bool, device=attention.device)
    others = attention.masked_fill(itself, -torch.inf)
    return torch.stack([others.argmax(-1), others.argmax(-2)])


def head_accuracy(attention: Tensor, pairs: Pairs) -> Tensor:
    """Return whether each attention head predicts each pair (dependent, head): bool (2, ..., P)."""
    dependents, heads = _columns(pairs)
    return guesses(attention)[..., dependents.to(attention.device)] == heads.to(attention.device)


def offsets(pairs: Pairs) -> Tensor:
    """Return head - dependent for each pair, (P,): 1 = the head is the next word."""
    dependents, heads = _columns(pairs)
    return heads - dependents


def best_offset(found: Tensor) -> tuple[int, float]:
    """Return the most accurate fixed offset, and its accuracy; ties go to the nearest.

    Predicting dependent + offset is correct exactly for pairs with this offset, so the best one is
    the most frequent. Raises ValueError when `found` (P,) is empty.
    """
    if not len(found):
        raise ValueError("found: got no pair to choose an offset from; give more sentences")
    values, counts = found.unique(return_counts=True)
    ranked = sorted(zip((-counts).tolist(), values.abs().tolist(), values.tolist(), strict=True))
    return int(ranked[0][2]), -ranked[0][0] / len(found)


@dataclass(frozen=True)
class Verdict:
    """The best head for a relation and the best offset; both selected on one half of the data,
    `accuracy` and `baseline` measured on the other, on `pairs` pairs. `chosen` is the head's
    accuracy on the selection half: a maximum over all heads, so slightly optimistic.
    """

    layer: int
    head: int
    direction: str
    chosen: float
    accuracy: float
    offset: int
    baseline: float
    pairs: int


def compare(hits: Tensor, found: Tensor, half: Tensor) -> Verdict:
    """Select the best head and the best offset where `half` is True, score them where it is False.

    hits     (2, L, H, P) bool, from `head_accuracy`, concatenated over sentences
    found    (P,), their `offsets`;  half    (P,) bool

    Raises ValueError when one of the halves is empty.
    """
    if hits.ndim != 4 or hits.shape[-1] != len(found) or len(found) != len(half):
        raise ValueError(
            f"hits must be (2, L, H, P) for {len(found)} offsets and {len(half)} halves; got "
            f"{tuple(hits.shape)}"
        )
    if half.all() or not half.any():
        raise ValueError("half must be True for some pairs and False for others")
    on_half = hits[..., half].double().mean(-1)
    direction, layer, head = (int(i) for i in torch.unravel_index(on_half.argmax(), on_half.shape))
    offset, _ = best_offset(found[half])
    return Verdict(
        layer,
        head,
        DIRECTIONS[direction],
        float(on_half.max()),
        float(hits[direction, layer, head, ~half].double().mean()),
        offset,
        float((found[~half] == offset).double().mean()),
        int((~half).sum()),
    )


def share(weights: Tensor, columns: Sequence[int]) -> Tensor:
    """Return the mean total attention of a query to `columns`, (...) for weights (..., T, T).

    Source: Clark et al. 2019, section 3.2.
    """
    return weights[..., list(columns)].sum(-1).mean(-1)


def entropy(weights: Tensor) -> Tensor:
    """Return the mean over queries of -sum_s w log w in nats, (...) for weights (..., T, S).

    log S for uniform attention, 0 for a head that attends to a single key.
    Source: Clark et al. 2019, section 3.3.
    """
    return torch.special.entr(weights).sum(-1).mean(-1)


def reach(weights: Tensor) -> Tensor:
    """Return the mean attention distance |t - s| of a head, (...) for weights (..., T, T)."""
    positions = torch.arange(weights.shape[-1], device=weights.device)
    return (weights * (positions[:, None] - positions).abs()).sum(-1).mean(-1)


def ablation(
    model: nn.Module, pattern: str, n_heads: int, measure: Callable[[], float | Tensor]
) -> tuple[Tensor, Tensor]:
    """Return measure() of the full model, (...), and its change without each head, (L, H, ...).

    pattern    hook points of weights (B, H, T, S), one per layer: `"*.weights"`. A head is ablated
               by setting its weights to zero, so it adds nothing to the residual stream
    measure    runs the model and returns a number, or one for each example: then the changes'
               standard deviation gives the standard error of their mean

    Source: Michel, Levy and Neubig 2019, section 3.2.
    """
    whole = torch.as_tensor(measure(), dtype=torch.float64)
    changes = []
    for name in hook_points(model, pattern):
        for head in range(n_heads):
            with ablate(model, name, [head]):
                changes.append(torch.as_tensor(measure(), dtype=torch.float64) - whole)
    return whole, torch.stack(changes).unflatten(0, (-1, n_heads))


def _columns(pairs: Pairs) -> tuple[Tensor, Tensor]:
    both = torch.tensor(list(pairs), dtype=torch.long).reshape(-1, 2)
    return both[:, 0], both[:, 1]

"""What attention heads look at: relations of a tree, fixed offsets, separators; and what is lost
without a head.

All but `ablation` work on arrays: `attention` (..., W, W) holds, for each head (the leading axes),
how much word w attends to word v. `deepdive.explain.words` makes it from a model.

System: bertology
Parent: bert
What differs:
- nothing is trained: for each head, the word that gets most attention is its guess of the word's
  head in the tree (`guesses`, `head_accuracy`)
- the guess competes with the best fixed offset, such as "the word to the right" (`best_offset`)
- head and offset are chosen on one half of the sentences and scored on the other (`compare`)
- the same maps are summed up by their entropy, reach and share of the separators (`entropy`,
  `reach`, `share`), and a head is judged by the loss of a task without it (`ablation`)
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
    """Return each head's guesses of the words' heads, (2, ..., W), for attention (..., W, W).

        guesses[0][w] = the other word v with the largest attention[w, v]   (w looks at its head)
        guesses[1][w] = the other word v with the largest attention[v, w]   (its head looks at w)

    The words are those of the sentence: cut [CLS] and [SEP] away before.
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
    """Return whether each head guesses each pair (dependent, head): bool (2, ..., P)."""
    dependents, heads = _columns(pairs)
    return guesses(attention)[..., dependents.to(attention.device)] == heads.to(attention.device)


def offsets(pairs: Pairs) -> Tensor:
    """Return head - dependent for each pair, (P,): 1 = the head is the next word."""
    dependents, heads = _columns(pairs)
    return heads - dependents


def best_offset(found: Tensor) -> tuple[int, float]:
    """Return the offset that is right most often, and how often; of equals the nearest.

    Always guessing dependent + offset is right exactly where the pair has this offset, so the best
    one is the most frequent. Raises ValueError when `found` (P,) is empty.
    """
    if not len(found):
        raise ValueError("there is no pair to choose an offset from: give more sentences")
    values, counts = found.unique(return_counts=True)
    ranked = sorted(zip((-counts).tolist(), values.abs().tolist(), values.tolist(), strict=True))
    return int(ranked[0][2]), -ranked[0][0] / len(found)


@dataclass(frozen=True)
class Verdict:
    """The best head for a relation beside the best offset; both chosen on one half of the data,
    `accuracy` and `baseline` scored on the other, `pairs` of them. `chosen` is the head's accuracy
    where it was chosen: a maximum over all heads, so a little too good.
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
    """Choose the best head and the best offset where `half` is True, score them where it is False.

    hits     (2, L, H, P) bool, what `head_accuracy` gave, joined over sentences
    found    (P,), their `offsets`;  half    (P,) bool

    Raises ValueError when one of the halves is empty.
    """
    if hits.ndim != 4 or hits.shape[-1] != len(found) or len(found) != len(half):
        raise ValueError(
            f"hits must be (2, L, H, P) for {len(found)} offsets and {len(half)} halves; got "
            f"{tuple(hits.shape)}"
        )
    if half.all() or not half.any():
        raise ValueError("half must be True for some pairs and False for others: one to choose on")
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
    """Return the mean attention of a query to `columns` together, (...) for weights (..., T, T).

    Source: Clark et al. 2019, section 3.2.
    """
    return weights[..., list(columns)].sum(-1).mean(-1)


def entropy(weights: Tensor) -> Tensor:
    """Return the mean over queries of -sum_s w log w in nats, (...) for weights (..., T, S).

    log S for a head that looks at all keys alike, 0 for one that looks at a single key.
    Source: Clark et al. 2019, section 3.3.
    """
    return torch.special.entr(weights).sum(-1).mean(-1)


def reach(weights: Tensor) -> Tensor:
    """Return the mean distance |t - s| over which a head looks, (...) for weights (..., T, T)."""
    places = torch.arange(weights.shape[-1], device=weights.device)
    return (weights * (places[:, None] - places).abs()).sum(-1).mean(-1)


def ablation(
    model: nn.Module, pattern: str, n_heads: int, measure: Callable[[], float | Tensor]
) -> tuple[Tensor, Tensor]:
    """Return measure() of the whole model, (...), and its change without each head, (L, H, ...).

    pattern    hook points of weights (B, H, T, S), one a layer: `"*.weights"`. A head's weights
               are set to zero there, so that it adds nothing to the stream
    measure    runs the model and returns a number, or one for each example: then the spread of
               a head's changes says how sure their mean is

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

"""Recurring span selection (Splinter): spans that occur more than once in a text are masked except
for one occurrence, which the model must find.
"""

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.checks import positive
from deepdive.core.masks import describe

Span = tuple[int, int]  # first and last token, both included


def recurring_spans(
    tokens: Sequence[int],
    stop: Collection[int] = (),
    words: Sequence[int] | None = None,
    longest: int = 10,
) -> list[list[Span]]:
    """Return the clusters of a text: the occurrences of each span that occurs more than once.

    Longer spans are found first, and block what they cover: "Ada Lovelace" twice is one cluster,
    and no third of "Ada". Excluded are spans of only `stop` tokens (function words, punctuation),
    and those that begin or end inside a word. Of overlapping occurrences, the first is kept.

    tokens: ids, one text, without padding. stop: ids that form no span by themselves. Before,
        split the text at ids that may be in no span at all, such as `[CLS]` and `[SEP]`.
    words: the index of each token's word (`word_ids`); None: each token is one.
    longest: maximum tokens in a span. The clusters are in the order of their first occurrences.
    Raises ValueError for words that are not as many as tokens.

    Source: Ram et al. 2021, "recurring span selection".
    """
    positive(longest=longest)
    size = len(tokens)
    words = range(size) if words is None else words
    if len(words) != size:
        raise ValueError(f"words: got {len(words)} ids for {size} tokens, expected one per token")
    begins = [i == 0 or words[i] != words[i - 1] for i in range(size)] + [True]
    content, taken = [token not in set(stop) for token in tokens], [False] * size
    clusters = []
    for n in range(min(longest, size // 2), 0, -1):
        found: dict[tuple[int, ...], list[Span]] = {}
        for i in range(size - n + 1):
            whole = begins[i] and begins[i + n] and any(content[i : i + n])
            if not whole or any(taken[i : i + n]):
                continue
            spans = found.setdefault(tuple(tokens[i : i + n]), [])
            if not spans or spans[-1][1] < i:  # of overlapping occurrences the first
                spans.append((i, i + n - 1))
        for spans in found.values():
            free = [span for span in spans if not any(taken[span[0] : span[1] + 1])]
            if len(free) > 1:
                clusters.append(free)
                for first, last in free:
                    taken[first : last + 1] = [True] * n
    return sorted(clusters)


@dataclass(frozen=True)
class SpanQuestions:
    """A text with question tokens: question k, at `places[k]`, replaces another occurrence of the
    span from `starts[k]` to `ends[k]`, both included. All are indices in the new `tokens`.
    """

    tokens: list[int]
    places: list[int]
    starts: list[int]
    ends: list[int]


def make_recurring_span_questions(
    tokens: Sequence[int],
    clusters: Sequence[Sequence[Span]],
    question: int,
    most: int = 30,
    draw: random.Random | None = None,
) -> SpanQuestions:
    """Keep one random occurrence of each cluster, and replace the others by the token `question`.

    Clusters come in random order until there are `most` questions; one that would exceed this
    is unchanged. Each masked span becomes one token, whatever its length.

    Source: Ram et al. 2021, "recurring span selection".
    """
    draw = random.Random(0) if draw is None else draw
    answer: dict[int, Span] = {}  # first token of a masked span -> the span that stays
    last: dict[int, int] = {}  # its last token
    for cluster in draw.sample(list(clusters), len(clusters)):
        kept = draw.choice(list(cluster))
        if len(answer) + len(cluster) - 1 <= most:
            answer |= {span[0]: kept for span in cluster if span != kept}
            last |= dict(cluster)
    new: list[int] = []
    moved, i = {}, 0  # position in the text -> position in the new one
    while i < len(tokens):
        moved[i] = len(new)
        new.append(question if i in answer else tokens[i])
        i = last[i] + 1 if i in answer else i + 1
    queries = sorted(answer)
    return SpanQuestions(
        new,
        [moved[i] for i in queries],
        [moved[answer[i][0]] for i in queries],
        [moved[answer[i][1]] for i in queries],
    )


def span_selection_loss(
    logits: Tensor, starts: Tensor, ends: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Mean over questions of the cross-entropies of both ends, in nats:

        loss = (cross_entropy(logits[..., 0], starts) + cross_entropy(logits[..., 1], ends)) / 2

    logits: (B, K, T, 2), of each token as start and as end. starts, ends: int64 (B, K),
    positions in the text; 0, the position of `[CLS]`, for missing questions, which do not count.
    mask: bool (B, T), True = real token; padding cannot be chosen. None: all.
    Raises ValueError when shapes differ, no question counts, or an answer is outside the text.

    Source: Ram et al. 2021, and their released code.
    """
    if (
        logits.ndim != 4
        or logits.shape[-1] != 2
        or not logits.shape[:2] == starts.shape == ends.shape
    ):
        raise ValueError(
            f"logits: got shape {tuple(logits.shape)} for starts {describe(starts)} and ends "
            f"{describe(ends)}; expected (B, K, T, 2), (B, K) and (B, K)"
        )
    if mask is not None:
        logits = logits.masked_fill(~mask[:, None, :, None], -torch.inf)
    counts = starts > 0
    size = logits.shape[2]
    if not counts.any() or not bool(((starts <= ends) & (ends < size))[counts].all()):
        raise ValueError(
            f"starts, ends: no question has an answer, or one is outside the {size} tokens or ends "
            "before it begins; drop such sequences, and use 0 where there is no question"
        )
    first, last = logits[counts].unbind(-1)  # (N, T) each
    return (F.cross_entropy(first, starts[counts]) + F.cross_entropy(last, ends[counts])) / 2

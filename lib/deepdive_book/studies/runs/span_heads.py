"""Case study 5: do the heads that look at the right span find it? Shares, heads off, exchanges.

    looks = attention_shares(model, rows, tokenizer)       # where each cross-attention head looks
    with ablate_heads(model, [head_names(model)[3]]):     # what is written without it
        without = written(model, pairs, tokenizer)
    brought = Exchange(model, pairs, tokenizer).heads()   # what it brings from the other question

A pair is one text with both questions, each of which has an answer: they differ in one token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from deepdive.core.hooks import ablate, forward_once, hook_points, record, replace
from deepdive.data.tasks import Span
from deepdive.evaluate.answers import exact_match
from deepdive.models.generative.t5 import T5
from deepdive.tokenizers import Tokenizer
from deepdive_book.data.spans import format_example
from deepdive_book.studies.exchange import iter_heads, patch_batch
from deepdive_book.studies.runs.span_qa_format import answer_positions, answers, encode, padded

CROSS = "decoder.stack.blocks.*.cross"
Pair = tuple[Span, Span]  # the same text, the two questions


class Looks(NamedTuple):
    """Cross-attention while the right answer is written, mean over its tokens: on the answer's
    tokens and on the question's word, (L, H, N); the answer's share of all tokens, (N,).
    """

    span: Tensor
    question: Tensor
    chance: Tensor


def attention_shares(model: T5, pairs: Sequence[Pair], tokenizer: Tokenizer) -> Looks:
    """Where each cross-attention head looks, for both questions of each pair."""
    found, asked = [], question_at(tokenizer)
    for row in [row for side in zip(*pairs, strict=True) for row in side]:
        ((src,), (tgt,)) = encode([row], tokenizer)
        with record(model, f"{CROSS}.mechanism.weights") as seen:
            forward_once(model, (torch.tensor([src]), torch.tensor([tgt[:-2]])))
        weights = torch.cat([w for (w,) in seen.values()])  # (L, H, answer, S)
        right = answer_positions(row, tokenizer)
        found.append(
            (
                weights[..., right].sum(-1).mean(-1),
                weights[..., asked].mean(-1),
                torch.tensor(len(right) / len(src)),
            )
        )
    return Looks(*(torch.stack(part, -1) for part in zip(*found, strict=True)))


def question_at(tokenizer: Tokenizer) -> int:
    """Where the question's word stands among the tokens that are read."""
    return len(tokenizer.encode("question:"))


def head_names(model: T5) -> list[tuple[str, int]]:
    """The point and the number of each cross-attention head, layer by layer."""
    points = hook_points(model, f"{CROSS}.heads")
    return [(point, head) for point in points for head in range(model.config.n_heads)]


@contextmanager
def ablate_heads(model: T5, heads: Sequence[tuple[str, int]]) -> Iterator[None]:
    """Meanwhile these heads add nothing."""
    with ExitStack() as stack:
        for point, head in heads:
            stack.enter_context(ablate(model, point, [head]))
        yield


class Written(NamedTuple):
    """What is written: the right answer, or the other question's; bool (N,)."""

    right: Tensor
    other: Tensor


def written(model: T5, pairs: Sequence[Pair], tokenizer: Tokenizer) -> Written:
    """What is written for both questions of each pair, negative ones first."""
    rows = [a for a, _ in pairs] + [b for _, b in pairs]
    others = [b for _, b in pairs] + [a for a, _ in pairs]
    said = answers(model, rows, tokenizer)

    def equal(to: Sequence[Span]) -> Tensor:
        same = [exact_match(text, row.answer) for text, row in zip(said, to, strict=True)]
        return torch.tensor(same) > 0

    return Written(equal(rows), equal(others))


class Exchange:
    """Pairs in both directions: a part of the run with one question put into that with the other,
    and whether the first token becomes that question's, bool (..., N).

    Only pairs whose answers begin with different tokens, both of which the model writes (where
    there is none, as before training, all).
    """

    def __init__(self, model: T5, pairs: Sequence[Pair], tokenizer: Tokenizer) -> None:
        self.model, self.tokenizer = model, tokenizer
        sizes = [len(tokenizer.encode(row.question)) for row in pairs[0]]
        if sizes != [1, 1]:
            raise ValueError(
                f"tokenizer: the two questions have {sizes[0]} and {sizes[1]} tokens, expected one "
                "each: runs are exchanged token by token"
            )
        both = [*pairs, *((b, a) for a, b in pairs)]
        self.pairs = [pair for pair in both if self._fits(pair)] or both
        sides = [encode(side, tokenizer) for side in zip(*self.pairs, strict=True)]
        (clean, written), (other, _) = sides
        self.clean, self.other = padded(clean), padded(other)
        self.first = torch.tensor([row[1] for row in written])

    def _fits(self, pair: Pair) -> bool:
        sources, targets = encode(pair, self.tokenizer)
        firsts = [target[1] for target in targets]
        src = torch.tensor(sources)
        said = self._said(src).argmax(-1).tolist()
        return firsts[0] != firsts[1] and bool(said == firsts)

    def _said(self, src: Tensor) -> Tensor:
        """The scores of the first token, (N, V)."""
        start = torch.full((len(src), 1), self.tokenizer.pad)
        logits: Tensor = forward_once(self.model, (src, start, src != self.tokenizer.pad))
        return logits[:, 0]

    def of(self, pattern: str, parts: Sequence[Tensor]) -> Tensor:
        """With one part at a time of each point that matches, (points, parts, N)."""
        swapped = patch_batch(
            self.model, pattern, lambda: self._said(self.clean), lambda: self._said(self.other),
            parts,
        )  # fmt: skip
        return swapped.argmax(-1) == self.first

    def heads(self, side: str = CROSS) -> Tensor:
        """One head at a time, (layers, heads, N)."""
        return self.of(f"{side}.heads", iter_heads(self.model.config.n_heads))

    def together(self, heads: Sequence[tuple[str, int]]) -> Tensor:
        """With all of these heads, (N,)."""
        points = sorted({point for point, _ in heads})
        with record(self.model, *points) as seen:
            self._said(self.clean)
        with ExitStack() as stack:
            for point in points:
                part = torch.zeros(self.model.config.n_heads, 1, 1, dtype=torch.bool)
                part[[head for name, head in heads if name == point]] = True

                def swap(
                    came: Tensor, wanted: Tensor = seen[point][0], part: Tensor = part
                ) -> Tensor:
                    return torch.where(part, wanted, came)

                stack.enter_context(replace(self.model, point, swap))
            return self._said(self.other).argmax(-1) == self.first

    def groups(self) -> dict[str, Tensor]:
        """Rows of what is read, by what stands there: bool (N, S, 1)."""
        asked, empty = question_at(self.tokenizer), torch.zeros_like(self.clean, dtype=torch.bool)
        found = {name: empty.clone() for name in ROWS}
        for i, (clean, other) in enumerate(self.pairs):
            found[ROWS[1]][i, answer_positions(clean, self.tokenizer)] = True
            found[ROWS[2]][i, answer_positions(other, self.tokenizer)] = True
        found[ROWS[0]][:, asked] = True
        found[ROWS[3]] = found[ROWS[1]] | found[ROWS[2]]
        found[ROWS[4]] = ~found[ROWS[0]]
        return {name: rows[..., None] for name, rows in found.items()}


ROWS = ("the question's word", "its span", "the other span", "both spans", "all but the question")


def by_word(model: T5, row: Span, tokenizer: Tokenizer) -> list[list[float]]:
    """How much each cross-attention head looks at each word of the text while the right answer is
    written, mean over its tokens, (heads, W).
    """
    ((src,), (tgt,)) = encode([row], tokenizer)
    with record(model, f"{CROSS}.mechanism.weights") as seen:
        forward_once(model, (torch.tensor([src]), torch.tensor([tgt[:-2]])))
    heads = torch.cat([w for (w,) in seen.values()]).flatten(0, 1).mean(1)  # (L * H, S)
    words = format_example(row)[0].split()
    owner = [w for w, word in enumerate(words) for _ in tokenizer.encode(word)]
    sums = torch.zeros(len(heads), len(words)).index_add(1, torch.tensor(owner),
                                                         heads[:, : len(owner)])  # fmt: skip
    shown = sums[:, len(words) - len(row.context.split()) :]
    return [[round(share, 3) for share in head] for head in shown.tolist()]

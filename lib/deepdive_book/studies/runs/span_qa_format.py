"""A text-to-text model that is asked for a span: slips to tokens, batches, and answers read back.

    items = encode(rows, tokenizer)                   # (read, written)
    fit(model, BucketBatches(items, max_tokens=...), loss, ...)
    answers(model, rows, tokenizer)                   # what it writes

As in T5 the decoder begins with padding; *none* stands for "no such span"
(`deepdive_book.data.spans`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from deepdive.data.tasks import Span
from deepdive.decoding import greedy
from deepdive.tokenizers import Tokenizer
from deepdive.training.translation import Encoded
from deepdive.training.translation import loss as loss  # of source and target, padding not counted
from deepdive_book.data.spans import format_example


def encode(rows: Iterable[Span], tokenizer: Tokenizer) -> Encoded:
    """Token ids in parallel: what is read (..., end), what is written (padding, ..., end)."""
    both = [format_example(row) for row in rows]
    return (
        [tokenizer.encode(read, eos=True) for read, _ in both],
        [[tokenizer.pad, *tokenizer.encode(written, eos=True)] for _, written in both],
    )


def padded(rows: Iterable[Sequence[int]], pad: int = 0) -> Tensor:
    """Rows of ids as one tensor (B, T)."""
    return pad_sequence([torch.tensor(row) for row in rows], True, pad)


@torch.no_grad()
def answers(
    model: Any, rows: Sequence[Span], tokenizer: Tokenizer, batch: int = 64, longest: int = 16
) -> list[str]:
    """What the model writes for each row, in their order; greedy."""
    sources, _ = encode(rows, tokenizer)
    order = sorted(range(len(rows)), key=lambda i: len(sources[i]))
    found = [""] * len(rows)
    for start in range(0, len(rows), batch):
        chosen = order[start : start + batch]
        src = padded((sources[i] for i in chosen), tokenizer.pad)
        src = src.to(next(model.parameters()).device)
        written = greedy(
            model, src, src != tokenizer.pad, bos=tokenizer.pad, eos=tokenizer.eos,
            max_length=longest,
        )  # fmt: skip
        for i, ids in zip(chosen, written, strict=True):
            # a model has more outputs than pieces: marks of hidden spans, and rows that nobody uses
            found[i] = tokenizer.decode(k for k in ids if k < len(tokenizer))
    return found


def answer_positions(row: Span, tokenizer: Tokenizer) -> list[int]:
    """Which tokens of what is read spell the answer; none where there is no answer.

    Pieces must not cross spaces, as those of `deepdive.tokenizers` do not.
    """
    words, answer = format_example(row)[0].split(), row.answer.split()
    if not answer:
        return []
    first = len(words) - len(row.context[row.start :].split())
    counts = [len(tokenizer.encode(word)) for word in words]
    begin = sum(counts[:first])
    return [*range(begin, begin + sum(counts[first : first + len(answer)]))]

"""Tables as text, as in TaBERT: content snapshots, and rows linearized as tokens with columns."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from deepdive.data.wikitables import Table
from deepdive.tokenizers.base import Tokenizer


def words(text: str) -> list[str]:
    """Return the words of a text, in lower case, without punctuation."""
    return re.findall(r"\w+", text.lower())


def overlap(question: str, text: str, longest: int = 3) -> float:
    """Return the fraction of the question's n-grams, n = 1 to `longest`, that are in the text."""
    asked, there = (
        {tuple(found[i : i + n]) for n in range(1, longest + 1) for i in range(len(found) - n + 1)}
        for found in (words(question), words(text))
    )
    return len(asked & there) / max(1, len(asked))


def content_snapshot(table: Table, question: str, k: int = 3) -> Table:
    """Return the k rows with the largest n-gram overlap with the question, best first, ties in the
    order of the table; for k = 1 one synthetic row of the best cell in each column.

    Raises ValueError for k < 1, and for a table without rows.
    Source: Yin et al. 2020, section 3.1, "content snapshot".
    """
    if k < 1 or not table.rows:
        raise ValueError(f"k={k} of {len(table.rows)} rows: expected at least one of each")
    if k == 1:
        best = [
            max(column, key=lambda c: overlap(question, c))
            for column in zip(*table.rows, strict=True)
        ]
        return table._replace(rows=[best])
    nearest = sorted(table.rows, key=lambda row: -overlap(question, " ".join(row)))
    return table._replace(rows=nearest[:k])


def linearized(
    question: str, table: Table, tokenizer: Tokenizer, cell_tokens: int = 8
) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, slots and mask (1, R, T) of a question and each row of a table:

        [CLS] question [SEP] name | type | value [SEP] name | type | value [SEP] ...

    Each value is truncated to `cell_tokens`. Slots number the question's tokens, then the columns;
    special tokens have slot -1.
    """
    cls, sep = tokenizer.id_of("[CLS]"), tokenizer.id_of("[SEP]")
    question_ids = tokenizer.encode(question)
    lines = []
    for row in table.rows:
        ids, slots = [cls, *question_ids, sep], [-1, *range(len(question_ids)), -1]
        for j, (name, kind, value) in enumerate(zip(table.columns, table.types, row, strict=True)):
            cell = tokenizer.encode(f"{name} | {kind} | ") + tokenizer.encode(value)[:cell_tokens]
            ids += [*cell, sep]
            slots += [*[len(question_ids) + j] * len(cell), -1]
        lines.append((ids, slots))
    T = max(len(ids) for ids, _ in lines)
    tokens = torch.tensor([ids + [tokenizer.pad] * (T - len(ids)) for ids, _ in lines])
    slot_ids = torch.tensor([slots + [-1] * (T - len(slots)) for _, slots in lines])
    mask = torch.arange(T) < torch.tensor([[len(ids)] for ids, _ in lines])
    return tokens[None], slot_ids[None], mask[None]

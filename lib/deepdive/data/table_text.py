"""Tables as text: the rows nearest to a question, and each row as tokens with their columns."""

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
    """Return the share of the question's n-grams, n = 1 to `longest`, that are in the text too."""
    asked, there = (
        {tuple(found[i : i + n]) for n in range(1, longest + 1) for i in range(len(found) - n + 1)}
        for found in (words(question), words(text))
    )
    return len(asked & there) / max(1, len(asked))


def content_snapshot(table: Table, question: str, k: int = 3) -> Table:
    """Return the k rows nearest to the question, best first, ties in the order of the table; for
    k = 1 one new row, of the nearest cell of each column.

    Raises ValueError for k < 1, and for a table without rows.
    Source: Yin et al. 2020, section 3.1, "content snapshot".
    """
    if k < 1 or not table.rows:
        raise ValueError(f"k={k} of {len(table.rows)} rows: expected one at least of each")
    if k == 1:
        best = [
            max(column, key=lambda c: overlap(question, c))
            for column in zip(*table.rows, strict=True)
        ]
        return table._replace(rows=[best])
    nearest = sorted(table.rows, key=lambda row: -overlap(question, " ".join(row)))
    return table._replace(rows=nearest[:k])


def linearised(
    question: str, table: Table, tokenizer: Tokenizer, cell_tokens: int = 8
) -> tuple[Tensor, Tensor, Tensor]:
    """Return tokens, slots and mask (1, R, T) of a question and each row of a table:

        [CLS] question [SEP] name | type | value [SEP] name | type | value [SEP] ...

    At most `cell_tokens` are kept of each value. Slots number the question's tokens, then the
    columns; separators have none.
    """
    cls, sep = tokenizer.id_of("[CLS]"), tokenizer.id_of("[SEP]")
    asked = tokenizer.encode(question)
    lines = []
    for row in table.rows:
        ids, slots = [cls, *asked, sep], [-1, *range(len(asked)), -1]
        for j, (name, kind, value) in enumerate(zip(table.columns, table.types, row, strict=True)):
            cell = tokenizer.encode(f"{name} | {kind} | ") + tokenizer.encode(value)[:cell_tokens]
            ids += [*cell, sep]
            slots += [*[len(asked) + j] * len(cell), -1]
        lines.append((ids, slots))
    T = max(len(ids) for ids, _ in lines)
    tokens = torch.tensor([ids + [tokenizer.pad] * (T - len(ids)) for ids, _ in lines])
    places = torch.tensor([slots + [-1] * (T - len(slots)) for _, slots in lines])
    mask = torch.arange(T) < torch.tensor([[len(ids)] for ids, _ in lines])
    return tokens[None], places[None], mask[None]

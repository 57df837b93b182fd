"""Questions and paragraphs, read by a frozen encoder: states of pieces, and how alike they are.

    read = read_all(encoder, xquad("en", None), levels=(4, 8, 12))
    data = narrowed(read, basis(read))               # 96 numbers a piece, for `questions.SpanHead`

Each text is read for itself, so that every paragraph is read once, whatever is asked of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.data.translated import Question
from deepdive.explain.words import read
from deepdive.tokenizers import Tokenizer
from deepdive.tokenizers.xlmr import XLMRTokenizer
from deepdive_book.ch04.runs.benchmarks import ROUNDED, Encoder
from deepdive_book.kit.multilingual_e5 import PASSAGE, QUERY

LEVELS = (4, 8, 12)
LONGEST = 480  # pieces of a paragraph; the rest is not read
WIDTH, NEAR = 96, 21  # of narrow states; pieces that count as near
Extent = tuple[int, int]


def pieces_of(tokenizer: Tokenizer, text: str) -> tuple[list[int], list[Extent]]:
    """Return the pieces of a text, and where each stands in it, [begin, end).

    A word that has an unknown piece gives all of its pieces the extent of the word.
    """
    letters: list[str] = []
    origin: list[int] = []  # of each letter, after the tokeniser's changes
    changes = tokenizer.changes if isinstance(tokenizer, XLMRTokenizer) else {}
    for place, char in enumerate(text):
        for letter in changes.get(char, char):
            letters.append(letter)
            origin.append(place)
    ids: list[int] = []
    extents: list[Extent] = []
    begin = 0
    for word in "".join(letters).split(" "):
        found = tokenizer.encode(word) if word else []
        strings = [tokenizer.vocab[i].replace("▁", "") for i in found]
        whole = "".join(strings) == word
        at = begin
        for i, string in zip(found, strings, strict=True):
            # a ▁ alone stands with the letter behind it
            first, last = (at, at + max(1, len(string))) if whole else (begin, begin + len(word))
            ids.append(i)
            extents.append((origin[first], origin[last - 1] + 1))
            at += len(string)
        begin += len(word) + 1
    return ids, extents


class Read(NamedTuple):
    """Questions that were read: states of their pieces, and of their paragraphs (N, L, T, d)."""

    rows: Sequence[Question]
    asked: Sequence[Tensor]
    paragraphs: Sequence[Tensor]
    extents: Sequence[Sequence[Extent]]  # of a paragraph's pieces
    which: Sequence[int]  # paragraph of each question


def states_of(
    encoder: Encoder, texts: Sequence[list[int]], front: str, levels: Sequence[int]
) -> list[Tensor]:
    """Return the states of texts' pieces, without those of `front`: (L, T, d) each."""
    tokenizer = encoder.tokenizer
    marks = [tokenizer.bos, *tokenizer.encode(front)]
    ids = [torch.tensor([*marks, *text, tokenizer.eos]) for text in texts]
    found: list[Tensor] = [torch.empty(0)] * len(ids)
    with torch.autocast("cpu", ROUNDED):
        for i, passed in read(encoder.model.encoder, ids, "*.embedded", "*.stream"):
            kept = torch.stack([passed[level] for level in levels])
            found[i] = kept[:, len(marks) : -1].to(ROUNDED)
    return found


def read_all(encoder: Encoder, rows: Sequence[Question], levels: Sequence[int] = LEVELS) -> Read:
    """Return the questions and their paragraphs, read; each paragraph once."""
    contexts = list(dict.fromkeys(row.context for row in rows))
    cut = [pieces_of(encoder.tokenizer, text) for text in contexts]
    ids, extents = zip(*[(i[:LONGEST], e[:LONGEST]) for i, e in cut], strict=True)
    asked = [encoder.tokenizer.encode(row.question) for row in rows]
    place = {text: i for i, text in enumerate(contexts)}
    return Read(
        rows, states_of(encoder, asked, QUERY, levels),
        states_of(encoder, ids, PASSAGE, levels), extents, [place[row.context] for row in rows],
    )  # fmt: skip


class Basis(NamedTuple):
    """A linear map that narrows states, found without labels: (x - mean) @ axes."""

    mean: Tensor
    axes: Tensor


def basis(data: Read, width: int = WIDTH) -> Basis:
    """Return the directions in which the paragraphs' pieces spread most, each of spread 1."""
    x = torch.cat([_flat(states) for states in data.paragraphs])
    mean = x.mean(0)
    values, vectors = torch.linalg.eigh((x - mean).T @ (x - mean) / len(x))
    return Basis(mean, vectors[:, -width:] / values[-width:].sqrt())


def _flat(states: Tensor) -> Tensor:
    """(L, T, d) -> (T, L d)."""
    return states.float().transpose(0, 1).flatten(1)


class Narrow(NamedTuple):
    """Questions as the head reads them: narrow states (T, width), and how alike (T, 3 L)."""

    rows: Sequence[Question]
    asked: Sequence[Tensor]
    paragraphs: Sequence[Tensor]
    alike: Sequence[Tensor]
    extents: Sequence[Sequence[Extent]]
    which: Sequence[int]


def narrowed(data: Read, found: Basis) -> Narrow:
    """Return the questions narrowed; the same `Basis` for all languages."""
    mean, axes = found
    asked, paragraphs = (
        [(_flat(states) - mean) @ axes for states in some] for some in (data.asked, data.paragraphs)
    )
    alike = [likeness(data.paragraphs[k].float(), q.float())
             for k, q in zip(data.which, data.asked, strict=True)]  # fmt: skip
    return Narrow(data.rows, asked, paragraphs, alike, data.extents, data.which)


def likeness(context: Tensor, asked: Tensor) -> Tensor:
    """Cosines of a paragraph (L, T, d) with a question (L, S, d), (T, 3 L): of each piece with the
    most alike of the question, the mean of these around it, and of the mean state around it with
    the question's. Each column has mean 0 and spread 1.
    """
    c, q = F.normalize(context, dim=-1), F.normalize(asked, dim=-1)
    best = (c @ q.mT).amax(-1)  # (L, T)
    near = F.avg_pool1d(best, NEAR, 1, NEAR // 2, count_include_pad=False)
    means = F.normalize(F.avg_pool1d(c.mT, NEAR, 1, NEAR // 2), dim=1)  # (L, d, T)
    whole = F.normalize(q.mean(1), dim=-1)
    found = torch.cat([best, near, (means * whole[..., None]).sum(1)])
    return ((found - found.mean(1, keepdim=True)) / (found.std(1, keepdim=True) + 1e-6)).T

"""Question answering across languages, over a frozen encoder: learned in English, asked in others.

    read = read_all(encoder, xquad("en", None), levels=(6, 12))
    net = learned(read, chosen, seed=0, epochs=8)          # from some articles' questions
    answers(net, read, others)                             # the words that it marks

The encoder reads a question and a paragraph each for itself, so that every paragraph is read once.
Only a small head sees both: for each piece of the paragraph it takes the pieces of the question
that are most alike, and says where the answer begins and ends. SQuAD's usual way, question and
paragraph as one text through an encoder that is trained along, is in
`deepdive.training.tasks.finetuning`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.data.alignment import answer_pieces
from deepdive.data.translated import Question
from deepdive.explain.words import read
from deepdive.page.runs.benchmarks import ROUNDED, Encoder
from deepdive.published.multilingual_e5 import PASSAGE, QUERY
from deepdive.tokenizers.xlmr import XLMRTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam, linear

LEVELS = (6, 12)
LONGEST = 480  # pieces of a paragraph; the rest is not read
WIDTH, NEAR = 128, 21  # of the head, and pieces that count as near
SPAN = 20  # pieces of the longest answer that is said
Extent = tuple[int, int]


def pieces_of(tokenizer: XLMRTokenizer, text: str) -> tuple[list[int], list[Extent]]:
    """Return the pieces of a text, and where each stands in it, [begin, end).

    A word that has an unknown piece gives all of its pieces the extent of the word.
    """
    letters: list[str] = []
    origin: list[int] = []  # of each letter, after the tokeniser's changes
    for place, char in enumerate(text):
        for letter in tokenizer.changes.get(char, char):
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


class SpanHead(nn.Module):
    """Where an answer begins and ends, from states of a paragraph and of a question.

        likeness[t] = max over s of cos(c[t], q[s]), at each level
        found[t]    = sum over s of softmax_s(C[t] . Q[s] / sqrt(width)) Q[s]
        wanted      = sum over s of softmax_s(ask(Q[s])) Q[s]
        logits      = ends(conv(conv([C, found, C * found, C * wanted, likeness])))

    C and Q are the states through one linear map. Nothing in it knows a word or a language.
    """

    def __init__(self, d_model: int, n_levels: int, width: int = WIDTH, dropout: float = 0.2):
        super().__init__()
        self.narrow = nn.Sequential(nn.Linear(n_levels * d_model, width), nn.LayerNorm(width))
        self.ask, self.dropout = nn.Linear(width, 1), nn.Dropout(dropout)
        self.join = nn.Linear(4 * width + 3 * n_levels, width)
        self.near = nn.ModuleList(
            nn.Conv1d(width, width, 5, padding=2 * step, dilation=step) for step in (1, 3)
        )
        self.ends = nn.Linear(width, 2)

    def forward(self, context: Tensor, real: Tensor, asked: Tensor, there: Tensor) -> Tensor:
        """context (B, L, T, d), asked (B, L, S, d), real and there: no padding; (B, T, 2)."""
        alike = _likeness(context, real, asked, there)
        c, q = (self.dropout(self.narrow(x.transpose(1, 2).flatten(2))) for x in (context, asked))
        gone = ~there[:, None]
        looks = (c @ q.mT / c.shape[-1] ** 0.5).masked_fill(gone, -torch.inf).softmax(-1)
        weights = self.ask(q)[..., 0].masked_fill(~there, -torch.inf).softmax(-1)
        found, wanted = looks @ q, weights[:, None] @ q
        x = F.relu(self.join(torch.cat([c, found, c * found, c * wanted, alike], -1)))
        for conv in self.near:
            x = x + F.relu(conv(self.dropout(x.masked_fill(~real[..., None], 0)).mT)).mT
        logits: Tensor = self.ends(x)
        return logits.masked_fill(~real[..., None], -torch.inf)


def _likeness(context: Tensor, real: Tensor, asked: Tensor, there: Tensor) -> Tensor:
    """Cosines with the question: of each piece, of its neighbourhood by the mean of these, and of
    the neighbourhood's mean state with the question's; (B, T, 3 L), each row of mean 0, spread 1.
    """
    c, q = F.normalize(context, dim=-1), F.normalize(asked, dim=-1)
    best = (c @ q.mT).masked_fill(~there[:, None, None], -1).amax(-1)  # (B, L, T)
    best = best.masked_fill(~real[:, None], 0)
    pool = {"kernel_size": NEAR, "stride": 1, "padding": NEAR // 2, "count_include_pad": False}
    around = F.avg_pool1d(best, **pool)
    whole = (q * there[:, None, :, None]).sum(2, keepdim=True)
    near = F.avg_pool1d(c.flatten(0, 1).mT, **pool).mT.unflatten(0, c.shape[:2])
    means = (F.normalize(near, dim=-1) * F.normalize(whole, dim=-1)).sum(-1)
    found = torch.cat([best, around, means], 1).mT  # (B, T, 3 L)
    weight = real[..., None] / real.sum(1)[:, None, None]
    middle = (found * weight).sum(1, keepdim=True)
    spread = ((found - middle).square() * weight).sum(1, keepdim=True).sqrt()
    return (found - middle) / (spread + 1e-6)


def batch(data: Read, some: Sequence[int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return what `SpanHead` reads of some questions."""
    found: list[Tensor] = []
    for states in ([data.paragraphs[data.which[i]] for i in some], [data.asked[i] for i in some]):
        rows = nn.utils.rnn.pad_sequence([s.transpose(0, 1) for s in states], batch_first=True)
        lengths = torch.tensor([s.shape[1] for s in states])
        found += [rows.transpose(1, 2).float(), torch.arange(rows.shape[1]) < lengths[:, None]]
    return tuple(found)  # type: ignore[return-value]


def target(data: Read, i: int) -> Extent | None:
    """The first and last piece of the right answer; None where it was cut off."""
    row = data.rows[i]
    return answer_pieces(data.extents[data.which[i]], row.start, row.start + len(row.answer))


def learned(
    data: Read, some: Sequence[int], *, seed: int = 0, epochs: int = 8, size: int = 16,
    lr: float = 2e-3, **more: object,
) -> SpanHead:  # fmt: skip
    """Train a head on some of the questions; `more` is for `fit`."""
    torch.manual_seed(seed)
    n_levels, _, d_model = data.paragraphs[0].shape
    net = SpanHead(d_model, n_levels)
    pairs = [(i, both) for i in some if (both := target(data, i))]
    draw, batches = random.Random(f"questions {seed}"), []
    for _ in range(epochs):
        draw.shuffle(pairs)
        batches += [pairs[k : k + size] for k in range(0, len(pairs), size)]

    def loss(net: nn.Module, chosen: list[tuple[int, Extent]]) -> Tensor:
        logits = net(*batch(data, [i for i, _ in chosen]))
        ends = torch.tensor([both for _, both in chosen])
        return F.cross_entropy(logits.mT.flatten(0, 1), ends.flatten())

    steps = len(batches)
    fit(net, batches, loss, steps=steps, seed=seed, optimizer=adam(net, lr, weight_decay=0.01),
        schedule=linear(lr, steps // 10, steps + 1), **more)  # fmt: skip
    return net.eval()


@torch.no_grad()
def answers(net: SpanHead, data: Read, some: Sequence[int], size: int = 32) -> list[str]:
    """The answer to each question: the span with the largest sum of logits."""
    said = []
    for k in range(0, len(some), size):
        chosen = some[k : k + size]
        for i, logits in zip(chosen, net(*batch(data, chosen)), strict=True):
            sums = logits[:, 0, None] + logits[None, :, 1]
            ones = torch.ones_like(sums)
            sums = sums.masked_fill((ones.triu() * ones.tril(SPAN - 1)) == 0, -torch.inf)
            first, last = divmod(int(sums.argmax()), len(sums))
            extents = data.extents[data.which[i]]
            said.append(data.rows[i].context[extents[first][0] : extents[last][1]])
    return said

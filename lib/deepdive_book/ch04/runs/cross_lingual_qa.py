"""Question answering across languages, over a frozen encoder: learned in English, asked in others.

    read = read_all(encoder, xquad("en", None), levels=(6, 12))
    data = narrowed(read, basis(read))
    net = train_model(data, chosen, seed=0)                    # from some articles' questions
    answers(net, data, others)                             # the words that it marks

The encoder reads a question and a paragraph each for itself, so that every paragraph is read once.
Only a small head sees both: for each piece of the paragraph it takes the pieces of the question
that are most alike, and says where the answer begins and ends. SQuAD's usual way, question and
paragraph as one text through an encoder that is trained along, is in `joint_questions`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.data.alignment import answer_pieces
from deepdive.data.text import shuffled
from deepdive.data.translated import Question
from deepdive.training import fit
from deepdive.training.optim import adam, linear
from deepdive_book.ch04.multilingual_qa_metrics import answer_f1_in, exact_match_in
from deepdive_book.ch04.runs.frozen_qa_states import Extent, Narrow, Read

INNER, DROPOUT = 48, 0.2  # of the head
SPAN = 20  # pieces of the longest answer that is said


class SpanHead(nn.Module):
    """Where an answer begins and ends, from a paragraph C (T, width) and a question Q (S, width).

        found[t] = sum over s of softmax_s(C[t] . Q[s] / sqrt(width)) Q[s]
        wanted   = sum over s of softmax_s(ask(Q[s])) Q[s]
        logits   = ends(conv(conv([C, found, C * found, C * wanted, alike])))

    C and Q come from one linear map. Nothing here knows a word or a language.
    """

    def __init__(self, n_alike: int, d_input: int, width: int = INNER) -> None:
        super().__init__()
        positive(n_alike=n_alike, d_input=d_input, width=width)
        self.same = nn.Linear(d_input, width)
        self.ask, self.dropout = nn.Linear(width, 1), nn.Dropout(DROPOUT)
        self.join = nn.Linear(4 * width + n_alike, width)
        self.near = nn.ModuleList(
            nn.Conv1d(width, width, 5, padding=2 * step, dilation=step) for step in (1, 3)
        )
        self.ends = nn.Linear(width, 2)

    def forward(
        self, context: Tensor, real: Tensor, asked: Tensor, there: Tensor, alike: Tensor
    ) -> Tensor:
        """context (B, T, width), asked (B, S, width), alike (B, T, n); logits (B, T, 2).

        real (B, T) and there (B, S): True where there is no padding.
        """
        c, q = (self.same(self.dropout(x)) for x in (context, asked))
        looks = c @ q.mT / c.shape[-1] ** 0.5
        looks = looks.masked_fill(~there[:, None], -torch.inf).softmax(-1)
        weights = self.ask(q)[..., 0].masked_fill(~there, -torch.inf).softmax(-1)
        found, wanted = looks @ q, weights[:, None] @ q
        x = F.relu(self.join(torch.cat([c, found, c * found, c * wanted, alike], -1)))
        for conv in self.near:
            x = x + F.relu(conv(self.dropout(x.masked_fill(~real[..., None], 0)).mT)).mT
        logits: Tensor = self.ends(x)
        return logits.masked_fill(~real[..., None], -torch.inf)


def batch(data: Narrow, some: Sequence[int]) -> tuple[Tensor, ...]:
    """Return what `SpanHead` reads of some questions."""
    context, asked, alike = (
        nn.utils.rnn.pad_sequence([each[i] for i in which], batch_first=True)
        for each, which in ((data.paragraphs, [data.which[i] for i in some]),
                            (data.asked, some), (data.alike, some))
    )  # fmt: skip
    real, there = (
        torch.arange(rows.shape[1]) < torch.tensor([len(each) for each in those])[:, None]
        for rows, those in ((context, [data.alike[i] for i in some]),
                            (asked, [data.asked[i] for i in some]))
    )  # fmt: skip
    return context, real, asked, there, alike


def target(data: Read | Narrow, i: int) -> Extent | None:
    """The first and last piece of the right answer; None where it was cut off."""
    row = data.rows[i]
    return answer_pieces(data.extents[data.which[i]], row.start, row.start + len(row.answer))


def train_model(
    data: Narrow, some: Sequence[int], *, seed: int = 0, epochs: int = 8, size: int = 16,
    lr: float = 2e-3, **more: Any,
) -> SpanHead:  # fmt: skip
    """Train a head on some of the questions; `more` is for `fit`."""
    torch.manual_seed(seed)
    net = SpanHead(data.alike[0].shape[1], data.asked[0].shape[1])
    pairs = [(i, both) for i in some if (both := target(data, i))]
    draw, batches = random.Random(f"questions {seed}"), []
    for _ in range(epochs):
        draw.shuffle(pairs)
        pairs.sort(key=lambda pair: len(data.alike[pair[0]]) // 50)  # of like length together
        some_more = [pairs[k : k + size] for k in range(0, len(pairs), size)]
        draw.shuffle(some_more)
        batches += some_more

    def loss(net: nn.Module, chosen: list[tuple[int, Extent]]) -> Tensor:
        logits = net(*batch(data, [i for i, _ in chosen]))
        ends = torch.tensor([both for _, both in chosen])
        return F.cross_entropy(logits.mT.flatten(0, 1), ends.flatten())

    steps = len(batches)
    fit(net, batches, loss, steps=steps, seed=seed, optimizer=adam(net, lr, weight_decay=0.01),
        schedule=linear(lr, steps // 10, steps + 1), **more)  # fmt: skip
    return net.eval()


def best_span(logits: Tensor) -> Extent:
    """The ends of the span of at most `SPAN` pieces whose logits (T, 2) have the largest sum."""
    sums = logits[:, 0, None] + logits[None, :, 1]
    ones = torch.ones_like(sums)
    sums = sums.masked_fill((ones.triu() * ones.tril(SPAN - 1)) == 0, -torch.inf)
    first, last = divmod(int(sums.argmax()), len(sums))
    return first, last


@torch.no_grad()
def answers(net: SpanHead, data: Narrow, some: Sequence[int], size: int = 32) -> list[str]:
    """The answer to each question: the span with the largest sum of logits."""
    said = []
    for k in range(0, len(some), size):
        chosen = some[k : k + size]
        for i, logits in zip(chosen, net(*batch(data, chosen)), strict=True):
            first, last = best_span(logits)
            extents = data.extents[data.which[i]]
            said.append(data.rows[i].context[extents[first][0] : extents[last][1]])
    return said


FOLDS, EPOCHS, SHOWN = 5, 8, 4


def fold_of(rows: Sequence[Question]) -> list[int]:
    """The fold of each question: articles are dealt to `FOLDS` folds, the same in all languages."""
    dealt = shuffled(sorted({row.article for row in rows}), 0)
    place = {article: i % FOLDS for i, article in enumerate(dealt)}
    return [place[row.article] for row in rows]


def in_per_cent(
    score: Callable[[str, str, str], float], said: Sequence[str], right: Sequence[str], name: str
) -> list[int]:
    """The score of each answer in language `name`, in per cent."""
    return [round(100 * score(a, b, name)) for a, b in zip(said, right, strict=True)]


def nearby(data: Narrow, some: Sequence[int]) -> list[str]:
    """What is said without a head: five pieces where the paragraph is most like the question."""
    said = []
    for i in some:
        extents, alike = data.extents[data.which[i]], data.alike[i]
        at = int(alike[:, alike.shape[1] // 3].argmax())  # around each piece, at the first level
        first, last = max(0, at - 2), min(len(extents) - 1, at + 2)
        said.append(data.rows[i].context[extents[first][0] : extents[last][1]])
    return said


def one_fold(
    languages: Mapping[str, Narrow], fold: int, seed: int, source: str = "en", epochs: int = EPOCHS
) -> dict[str, Any]:
    """Learn from the other folds of `source`, and ask this one in all languages.

    exact, f1    language -> for each question of the fold, in per cent
    nearby       language -> F1 of `nearby`; with seed 0 alone, since nothing in it is drawn
    said         language -> the answers to the first questions of the fold
    """
    place = fold_of(languages[source].rows)
    learn, test = (
        [i for i, f in enumerate(place) if (f == fold) == held] for held in (False, True)
    )
    net = train_model(languages[source], learn, seed=seed, epochs=epochs, progress=False)
    found: dict[str, Any] = {"questions": test, "exact": {}, "f1": {}, "nearby": {}, "said": {}}
    for name, data in languages.items():
        right, said = [data.rows[i].answer for i in test], answers(net, data, test)
        found["said"][name] = said[:SHOWN]
        scores = [("exact", exact_match_in, said), ("f1", answer_f1_in, said)]
        if seed == 0:
            scores.append(("nearby", answer_f1_in, nearby(data, test)))
        for key, score, spoken in scores:
            found[key][name] = in_per_cent(score, spoken, right, name)
    return found

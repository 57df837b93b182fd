"""Fine-tuning tasks of five formats for a pre-trained encoder, from real data.

Devlin et al. 2019, figure 4, and section 4.4 for choice. Each loader returns a `Split` of examples
in a seeded order; no text is in both parts:

    single(seed)       Single    rt_polarity          one text, one label
    paraphrases(seed)  Pair      tatoeba_eng_fra      two texts, one label
    entities()         Tagged    wnut17               a label for each word (BIO)
    parts_of_speech()  Tagged    ud_english_ewt       a label for each word (UPOS)
    answers(seed)      Span      xquad                a span of the text, or none
    choices(seed)      Choice    xquad                one of four

`paraphrases`, and the same shapes, generated (`synthetic_tasks`), are in `deepdive_book.data`.
"""

import gzip
import json
import random
import re
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.reviews import rt_polarity
from deepdive.data.text import shuffled, split_by
from deepdive.data.trees import treebank

Row = TypeVar("Row")


class Single(NamedTuple):
    """A text and its label."""

    text: str
    label: int


class Pair(NamedTuple):
    """Two texts and the label of both together."""

    first: str
    second: str
    label: int


class Tagged(NamedTuple):
    """Words and their tags; the text is the words joined by single spaces."""

    words: list[str]
    tags: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def extents(self) -> list[tuple[int, int]]:
        """The offsets [begin, end) of each word in `text`."""
        found, begin = [], 0
        for word in self.words:
            found.append((begin, begin + len(word)))
            begin += len(word) + 1
        return found


class Span(NamedTuple):
    """A question, and its answer = context[start : start + len(answer)]; "" and -1 for none."""

    question: str
    context: str
    answer: str
    start: int


class Choice(NamedTuple):
    """A question and candidate answers; `options[label]` is correct."""

    question: str
    options: list[str]
    label: int


class Split(NamedTuple, Generic[Row]):
    """Training and test examples."""

    train: list[Row]
    test: list[Row]


def single(seed: int = 0) -> Split[Single]:
    """Return rt_polarity: sentences of movie reviews, 1 = positive; 4 in 5 for training."""
    found = rt_polarity()
    rows = [Single(*row) for row in zip(found.texts, found.labels, strict=True)]
    return _cut(rows, found.texts, seed)


def entities() -> Split[Tagged]:
    """Return wnut17: named entities in tweets and forum posts as BIO tags; published split.

    Each part is shuffled, so that a slice is a random sample.
    """
    return Split(*(shuffled(_conll(f"{part}.conll"), 0) for part in ("train", "test")))


def parts_of_speech(seed: int | None = 0) -> Split[Tagged]:
    """Return ud_english_ewt: universal parts of speech; the published train and test, each shuffled
    by `treebank` with `seed`; None keeps the order of the file.

    Words are tokenized as in the treebank: "don't" is the two words "do" and "n't".
    """
    parts = (
        [Tagged([*tree.words], [*tree.tags]) for tree in treebank(p, seed)]
        for p in ("train", "test")
    )
    return Split(*parts)


def answers(seed: int = 0, nulls: float = 1 / 3) -> Split[Span]:
    """Return xquad, English: a question, a paragraph, and the answer's position in it.

    A fraction `nulls` of the questions is moved to another paragraph of the same article without
    the answer, so these are unanswerable. That is our addition, not part of the data set. The split
    is by article, not by question.
    """
    if not 0 <= nulls < 1:
        raise DataError(f"nulls: got {nulls!r}, expected a fraction, at least 0 and below 1")
    draw, rows, titles = random.Random(f"answers {seed}"), [], []
    for article in _xquad():
        paragraphs = article["paragraphs"]
        for paragraph in paragraphs:
            for asked in paragraph["qas"]:
                context, answer = paragraph["context"], asked["answers"][0]
                row = Span(asked["question"], context, answer["text"], answer["answer_start"])
                others = [p["context"] for p in paragraphs if answer["text"] not in p["context"]]
                if draw.random() < nulls and others:
                    row = Span(asked["question"], draw.choice(others), "", -1)
                rows.append(row)
                titles.append(article["title"])
    return _cut(rows, titles, seed)


def choices(seed: int = 0, options: int = 4) -> Split[Choice]:
    """Return xquad, English: a question, its answer, and answers to other questions on its
    paragraph, `options` in random order. The data set has no such task; we construct it.

    Paragraphs with fewer distinct answers are omitted. The split is by article.
    """
    if not isinstance(options, int) or options < 2:
        raise DataError(f"options: {options!r}, expected a whole number of at least 2")
    draw, rows, titles = random.Random(f"choices {seed}"), [], []
    for article in _xquad():
        for paragraph in article["paragraphs"]:
            given = [asked["answers"][0]["text"] for asked in paragraph["qas"]]
            for asked, right in zip(paragraph["qas"], given, strict=True):
                others = sorted({text for text in given if text.lower() != right.lower()})
                if len(others) >= options - 1:
                    found = [right, *draw.sample(others, options - 1)]
                    draw.shuffle(found)
                    rows.append(Choice(asked["question"], found, found.index(right)))
                    titles.append(article["title"])
    return _cut(rows, titles, seed)


def one_sentence(row: Span) -> Span:
    """Return the example with its context reduced to one sentence, the one with the answer.

    For an unanswerable question it is the sentence that shares most words with the question, so
    that overlap does not reveal the label. An answer across a full stop keeps all its sentences.
    """
    ends = [m.end() for m in re.finditer(r"[.!?][\"”')\]]*\s+(?=[\"“'(\[]?[A-Z0-9])", row.context)]
    cuts = list(zip([0, *ends], [*ends, len(row.context)], strict=True))
    if row.start < 0:
        texts = [row.context[begin:end].strip() for begin, end in cuts]
        return row._replace(context=max(texts, key=lambda text: _shared(row.question, text)))
    last = row.start + len(row.answer)
    crossed = [(begin, end) for begin, end in cuts if begin < last and row.start < end]
    begin, end = crossed[0][0], crossed[-1][1]
    return row._replace(context=row.context[begin:end].rstrip(), start=row.start - begin)


def words_of(text: str) -> frozenset[str]:
    """Return the set of words of a text in lower case, without punctuation."""
    return frozenset(re.findall(r"\w+", text.lower()))


def word_overlap(first: str, second: str) -> float:
    """Return Jaccard similarity: words in both texts / words in either; 0 without words."""
    one, other = words_of(first), words_of(second)
    return len(one & other) / max(1, len(one | other))


def _shared(first: str, second: str) -> int:
    return len(words_of(first) & words_of(second))


def _cut(rows: Sequence[Row], keys: Sequence[str], seed: int) -> Split[Row]:
    """Split by distinct keys into four fifths and one fifth, each shuffled."""
    train, test = split_by(list(zip(keys, rows, strict=True)), _key, (0.8, 0.2), seed)
    return Split(*(shuffled([row for _, row in part], seed) for part in (train, test)))


def _key(item: tuple[str, Any]) -> str:
    return item[0]


def _conll(file: str) -> list[Tagged]:
    """Return the sentences of a `word TAB tag` file; a line without a word ends a sentence."""
    path = fetch("wnut17", file)
    rows, words, tags = [], [], []
    for number, line in enumerate([*path.read_text("utf-8").split("\n"), ""], start=1):
        word, _, tag = line.strip().partition("\t")
        if word and not tag:
            raise DataError(f"{path}, line {number}: {line!r}, expected a word, a tab and its tag")
        if word:
            words.append(word)
            tags.append(tag)
        elif words:
            rows.append(Tagged(words, tags))
            words, tags = [], []
    return rows


def _xquad() -> list[dict[str, Any]]:
    path = fetch("xquad", "xquad.en.json.gz")
    found: list[dict[str, Any]] = json.loads(gzip.decompress(path.read_bytes()))["data"]
    return found

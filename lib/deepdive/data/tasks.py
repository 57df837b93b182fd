"""The five task shapes that one pre-trained encoder is fine-tuned for, from real data.

Devlin et al. 2019, figure 4, and section 4.4 for choice. Each loader returns a `Split` of rows in
a seeded order, no text of which stands in both parts:

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
    """Words and the tag of each; the text is the words with single blanks between them."""

    words: list[str]
    tags: list[str]

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def extents(self) -> list[tuple[int, int]]:
        """Where each word stands in `text`: [begin, end)."""
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
    """A question and candidate answers, of which `options[label]` is right."""

    question: str
    options: list[str]
    label: int


class Split(NamedTuple, Generic[Row]):
    """Rows to learn from and rows to be tested on."""

    train: list[Row]
    test: list[Row]


def single(seed: int = 0) -> Split[Single]:
    """rt_polarity: sentences of film reviews, 1 = positive; 4 in 5 to learn from."""
    found = rt_polarity()
    rows = [Single(*row) for row in zip(found.texts, found.labels, strict=True)]
    return _cut(rows, found.texts, seed)


def entities() -> Split[Tagged]:
    """wnut17: names in tweets and forum posts, as B-, I- and O; the published train and test.

    Each part comes in a drawn order, so that a slice of it is a sample.
    """
    return Split(*(shuffled(_conll(f"{part}.conll"), 0) for part in ("train", "test")))


def parts_of_speech(seed: int | None = 0) -> Split[Tagged]:
    """ud_english_ewt: the universal part of speech of each word; the published train and test, each
    in the order that `treebank` draws, with None in that of the file.

    Words are those of the treebank: "don't" is the two words "do" and "n't".
    """
    parts = (
        [Tagged([*tree.words], [*tree.tags]) for tree in treebank(p, seed)]
        for p in ("train", "test")
    )
    return Split(*parts)


def answers(seed: int = 0, nulls: float = 1 / 3) -> Split[Span]:
    """xquad, English: a question, a paragraph, and the answer's place in it.

    A part `nulls` of the questions is moved: to another paragraph of the same article that does
    not hold the answer, so these have none. That is our making, not the data set's. Articles, not
    questions, are dealt to the two parts.
    """
    if not 0 <= nulls < 1:
        raise DataError(f"nulls: {nulls!r}, expected a part of the questions, from 0 to below 1")
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
    """xquad, English: a question, its answer, and answers to other questions of its paragraph.

    Four candidates, in a drawn order; the data set has no such task, we make it. Paragraphs with
    fewer distinct answers are left out. Articles are dealt to the two parts.
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
    """The row with its context cut to one sentence: the one that holds the answer.

    Without an answer it is the sentence that shares most words with the question, so that a
    shared word does not tell. An answer that crosses a full stop keeps the sentences it crosses.
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
    """The words of a text in lower case, without punctuation."""
    return frozenset(re.findall(r"\w+", text.lower()))


def word_overlap(first: str, second: str) -> float:
    """Jaccard's measure: words in both texts / words in either; 0 for two texts without words."""
    one, other = words_of(first), words_of(second)
    return len(one & other) / max(1, len(one | other))


def _shared(first: str, second: str) -> int:
    return len(words_of(first) & words_of(second))


def _cut(rows: Sequence[Row], keys: Sequence[str], seed: int) -> Split[Row]:
    """Four fifths and one fifth of the distinct keys; each part in a drawn order."""
    train, test = split_by(list(zip(keys, rows, strict=True)), _key, (0.8, 0.2), seed)
    return Split(*(shuffled([row for _, row in part], seed) for part in (train, test)))


def _key(item: tuple[str, Any]) -> str:
    return item[0]


def _conll(file: str) -> list[Tagged]:
    """Sentences of a `word TAB tag` file; a line without a word ends one."""
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

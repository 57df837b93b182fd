"""Texts with topic labels: abstracts, comments, addresses; and generated texts on eight subjects.

Requests to an assistant are in `deepdive.data.intents`: many subjects, one sentence each.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from deepdive.data.errors import DataError, DataUnavailable
from deepdive.data.fetch import fetch
from deepdive.data.generated import whole
from deepdive.data.text import shuffled


@dataclass(frozen=True)
class Subjects:
    """Texts, their labels from annotators or metadata, and their source.

    Texts are distinct and shuffled: the first n are a random sample. `source` ends in (real) or
    (generated). Raises DataError if texts and labels differ in number.
    """

    texts: list[str]
    labels: list[str]
    source: str = "(your texts)"

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels) or not self.texts:
            raise DataError(
                f"labels: {len(self.labels)} for {len(self.texts)} texts, expected one each"
            )

    def __len__(self) -> int:
        return len(self.texts)

    def first(self, n: int) -> Subjects:
        """Return the first n texts, or all if there are fewer; the subsets are nested."""
        whole("n", n, 1, None)
        return Subjects(self.texts[:n], self.labels[:n], self.source)


def arxiv_abstracts(seed: int | None = 0) -> Subjects:
    """Return 3,953 abstracts of 1991 to 2025, half of them of April 2007; label: the archive of the
    first category, such as "astro-ph" or "cs" (25, from 734 texts to 2).

    LaTeX is unchanged. Titles are omitted, because only half of the abstracts have them. `seed`
    shuffles the texts; None keeps the order of the file, which begins with 2007.
    """
    records = json_lines("arxiv_abstracts", "arxiv_abstracts.jsonl.gz")
    rows = ((row["abstract"], row["categories"][0].split(".")[0]) for row in records)
    return _subjects(rows, seed, "arxiv_abstracts (real)")


def medical_abstracts(seed: int | None = 0) -> Subjects:
    """Return 2,657 abstracts of PubMed; label: the condition, one of five, such as "neoplasms".

    The 113 texts with two or three labels in the file are omitted, because it is unknown which is
    correct. One of the five, "general pathological conditions", overlaps with the others.
    """
    names = {
        row["condition_label"]: row["condition_name"]
        for row in csv.DictReader(_opened("medical_abstracts", "medical_tc_labels.csv"))
    }
    table = csv.DictReader(_opened("medical_abstracts", "medical_tc_test.csv.gz"))
    rows = ((row["medical_abstract"], names[row["condition_label"]]) for row in table)
    return _subjects(rows, seed, "medical_abstracts (real)")


def goemotions(part: str = "train", seed: int | None = 0) -> Subjects:
    """Return Reddit comments of 1 to 32 words; label: the emotion, one of 27, or "neutral".

    An emotion is not a topic, and need not agree with one. Comments with several emotions are
    omitted (36,110 of "train" remain). Names are masked as [NAME]; the rest is original, including
    profanity and insults. part: "train", "dev" or "test". Raises ValueError for another.
    """
    if part not in ("train", "dev", "test"):
        raise ValueError(f"part: got {part!r}, expected train, dev or test")
    lines = _opened("goemotions", f"{part}.tsv.gz")
    table = csv.DictReader(lines, delimiter="\t")  # a text with quotation marks is quoted
    rows = ((row["text"], row["emotions"]) for row in table if "," not in row["emotions"])
    return _subjects(rows, seed, f"goemotions/{part} (real)")


YELP = "Yelp/yelp_review_full"


def yelp(source: str = YELP, seed: int | None = 0) -> Subjects:
    """Return 650,000 Yelp reviews, loaded by the package `datasets` from its hub; label: the stars,
    "1" to "5". source: another name there, or a folder of the same format (parquet; text, label).

    Raises DataUnavailable, with what to do, if they are not available.
    """
    try:
        from datasets import load_dataset

        rows = load_dataset(source, split="train")
    except ImportError as error:
        raise ImportError("datasets is not installed; pip install datasets") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise DataUnavailable(
            f"{source} cannot be read by the package datasets ({error}): go online, or choose the "
            "profile laptop, whose data set is smaller"
        ) from error
    if missing := {"text", "label"} - set(rows.column_names):
        raise DataError(f"{source}: has no column {sorted(missing)}; it has {rows.column_names}")
    pairs = zip(rows["text"], rows["label"], strict=True)
    return _subjects(((text, str(stars + 1)) for text, stars in pairs), seed, f"{source} (real)")


REACTIONS = re.compile(r"[(\[](?:applause|laughter)\.?[)\]]", re.IGNORECASE)
CAPTION = re.compile(r"^.{0,300}White House photo by Eric Draper")  # of 2006, within the text


def addresses(label: str = "year", seed: int | None = 0) -> Subjects:
    """Return 5,450 paragraphs of the State of the Union addresses, 1945 to 2006; label: the year.

    The year, such as "1945", is not a topic, but shows when a topic was discussed. With
    `label="president"` the same texts in the same order are labeled with the speaker, such as
    "Truman"; 1963 has two. A paragraph is a line of the file with at least 20 words; headings in
    capitals, "(Applause.)", "[Laughter]" and photo captions are removed.
    """
    if label not in ("year", "president"):
        raise ValueError(f"label: got {label!r}, expected year or president")
    rows = (
        (paragraph, f"{row['year']} {row['president']}")
        for row in json_lines("state_union", "state_union.jsonl.gz")
        for line in row["text"].split("\n")
        if len((paragraph := CAPTION.sub("", REACTIONS.sub("", line))).split()) >= 20
        and not paragraph.isupper()
    )
    subjects = _subjects(rows, seed, "state_union (real)")
    chosen = [both.split()[("year", "president").index(label)] for both in subjects.labels]
    return Subjects(subjects.texts, chosen, subjects.source)


# subject -> its words, most frequent first. Some are in two, like real words: court, pitch, star.
WORDS = {
    "music": "song band violin concert guitar singer melody piano orchestra rhythm drum album "
    "choir note chord pitch flute stage opera tune harmony lyrics trumpet jazz",
    "space": "planet star moon rocket orbit galaxy telescope comet astronaut satellite crater "
    "asteroid sun gravity nebula launch mars probe eclipse cosmos meteor light jupiter dust",
    "kitchen": "bread soup oven recipe butter salt onion cheese sugar flour pan garlic sauce knife "
    "pepper dough salad spice plate egg cake rice bowl stove",
    "sport": "match goal team player coach ball league score referee stadium race champion tennis "
    "pitch court runner medal striker penalty season tournament fan club racket",
    "medicine": "patient doctor hospital nurse disease fever surgery pill virus blood vaccine "
    "heart symptom infection dose clinic cough pain lung therapy wound bone cell diet",
    "law": "judge court lawyer trial jury witness crime verdict prison guilty contract evidence "
    "appeal prosecutor statute theft defendant bail oath clerk plea cell fine sentence",
    "sea": "ship sailor harbour wave captain sail anchor storm island tide whale boat coast deck "
    "port fish lighthouse cargo reef gull crew mast net compass",
    "garden": "flower tree rose seed soil leaf bee grass root bush hedge bloom fruit weed branch "
    "tulip lawn spade rain apple worm sun moss shade",
}  # fmt: skip
FILLING = "the a of and in with for to on by from near after before this that some every"
FILLING += " without about new old good small great first last long other same early late"


def generated_subjects(n: int, seed: int = 0) -> Subjects:
    """Return n (1 to 20,000) distinct generated texts of 12 to 40 words, each on one of eight
    subjects; label: the subject. They are not sentences: every other word is a function word.

    The word of rank r is sampled in proportion to 1 / r, as in real texts (Zipf's law); one subject
    word in ten is from a random subject.
    """
    whole("n", n, 1, 20_000)
    draw = random.Random(f"generated_subjects {seed}")
    subjects = {name: words.split() for name, words in WORDS.items()}
    filling, found = FILLING.split(), dict[str, str]()
    while len(found) < n:
        subject = draw.choice(list(subjects))
        words = []
        for _ in range(draw.randint(6, 20)):
            name = draw.choice(list(subjects)) if draw.random() < 0.1 else subject
            words += [_by_rank(draw, filling), _by_rank(draw, subjects[name])]
        found.setdefault(" ".join(words), subject)
    source = f"generated_subjects({n}, seed={seed}) (generated)"
    return Subjects(list(found), list(found.values()), source)


def _by_rank(draw: random.Random, words: list[str]) -> str:
    return draw.choices(words, cum_weights=_zipf(len(words)))[0]


@cache
def _zipf(n: int) -> list[float]:
    return list(itertools.accumulate(1 / rank for rank in range(1, n + 1)))


def _subjects(rows: Iterable[tuple[str, str]], seed: int | None, source: str) -> Subjects:
    """Return the distinct texts with spaces collapsed, without texts that have several labels."""
    labels: dict[str, set[str]] = {}
    for text, label in rows:
        labels.setdefault(" ".join(text.split()), set()).add(label)
    kept = [(text, *own) for text, own in labels.items() if len(own) == 1]
    texts, names = zip(*(kept if seed is None else shuffled(kept, seed)), strict=True)
    return Subjects(list(texts), list(names), source)


def json_lines(name: str, file: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in _opened(name, file))


def _opened(name: str, file: str) -> io.StringIO:
    """Return a file's text as a stream; only a line feed ends a line."""
    path = fetch(name, file)
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return io.StringIO(raw.decode("utf-8"), newline="\n")

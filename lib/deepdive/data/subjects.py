"""Texts to find subjects in: abstracts, comments, addresses; and generated texts, of eight.

What people ask an assistant is in `deepdive.data.intents`: many subjects, a sentence each.
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
    """Texts, what each is about as a person or a file said it, and where they come from.

    No text stands twice, and their order is drawn: the first n are a sample of all. `source` has
    (real) or (generated) at its end. Raises DataError when texts and labels differ in number.
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
        """The first n texts, or all where there are fewer: those of n are among those of 2n."""
        whole("n", n, 1, None)
        return Subjects(self.texts[:n], self.labels[:n], self.source)


def arxiv_abstracts(seed: int | None = 0) -> Subjects:
    """3,953 abstracts of 1991 to 2025, half of them of April 2007; label: the archive of the first
    category, such as "astro-ph" or "cs" (25, from 734 texts to 2).

    LaTeX is left as it stands. Titles are left out: only one half has them. The order is drawn by
    `seed`, with None that of the file, which begins with 2007.
    """
    records = json_lines("arxiv_abstracts", "arxiv_abstracts.jsonl.gz")
    rows = ((row["abstract"], row["categories"][0].split(".")[0]) for row in records)
    return _subjects(rows, seed, "arxiv_abstracts (real)")


def medical_abstracts(seed: int | None = 0) -> Subjects:
    """2,657 abstracts of PubMed; label: the patient's condition, one of five, such as "neoplasms".

    The 113 texts that stand in the file with two or three labels are left out: nobody knows which
    is right. One of the five, "general pathological conditions", overlaps the others.
    """
    names = {
        row["condition_label"]: row["condition_name"]
        for row in csv.DictReader(_opened("medical_abstracts", "medical_tc_labels.csv"))
    }
    table = csv.DictReader(_opened("medical_abstracts", "medical_tc_test.csv.gz"))
    rows = ((row["medical_abstract"], names[row["condition_label"]]) for row in table)
    return _subjects(rows, seed, "medical_abstracts (real)")


def goemotions(part: str = "train", seed: int | None = 0) -> Subjects:
    """Comments on Reddit of 1 to 32 words; label: the emotion, one of 27, or "neutral".

    An emotion is no subject: topics need not agree with it. Comments with several emotions are left
    out (36,110 are kept of "train"). Names are masked as [NAME]; the rest is as people wrote it,
    oaths and insults too. part: "train", "dev" or "test". Raises ValueError for another.
    """
    if part not in ("train", "dev", "test"):
        raise ValueError(f"part: got {part!r}, expected train, dev or test")
    lines = _opened("goemotions", f"{part}.tsv.gz")
    table = csv.DictReader(lines, delimiter="\t")  # a text with quotation marks is quoted
    rows = ((row["text"], row["emotions"]) for row in table if "," not in row["emotions"])
    return _subjects(rows, seed, f"goemotions/{part} (real)")


YELP = "Yelp/yelp_review_full"


def yelp(source: str = YELP, seed: int | None = 0) -> Subjects:
    """650,000 reviews of Yelp, read by the package `datasets` from its hub; label: the stars, "1"
    to "5". source: another name there, or a folder in the same form (parquet; text and label).

    Raises DataUnavailable where they cannot be had, and says what to do.
    """
    try:
        from datasets import load_dataset

        rows = load_dataset(source, split="train")
    except ImportError as error:
        raise ImportError("datasets is not installed; pip install datasets") from error
    except (OSError, ValueError, RuntimeError) as error:
        raise DataUnavailable(
            f"{source} cannot be read by the package datasets ({error}): go online, or choose the "
            "profile laptop, whose texts are smaller"
        ) from error
    if missing := {"text", "label"} - set(rows.column_names):
        raise DataError(f"{source}: has no column {sorted(missing)}; it has {rows.column_names}")
    pairs = zip(rows["text"], rows["label"], strict=True)
    return _subjects(((text, str(stars + 1)) for text, stars in pairs), seed, f"{source} (real)")


REACTIONS = re.compile(r"[(\[](?:applause|laughter)\.?[)\]]", re.IGNORECASE)
CAPTION = re.compile(r"^.{0,300}White House photo by Eric Draper")  # of 2006, glued to the text


def addresses(label: str = "year", seed: int | None = 0) -> Subjects:
    """5,450 paragraphs of the State of the Union addresses, 1945 to 2006; label: the year, "1945".

    A year is when it was said, not what about: of a topic it tells when it was spoken of. With
    `label="president"` the same texts in the same order have who said it, such as "Truman"; 1963
    has two. A paragraph is a line of the file that has 20 words or more; headings in capitals,
    "(Applause.)", "[Laughter]" and captions of photographs are left out.
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
    said = _subjects(rows, seed, "state_union (real)")
    chosen = [both.split()[("year", "president").index(label)] for both in said.labels]
    return Subjects(said.texts, chosen, said.source)


# subject -> its words, most frequent first. Some stand in two, as words do: court, pitch, star.
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
    """n generated texts of 12 to 40 words, no two alike, on one of eight subjects each (1 to
    20,000); label: the subject. They are no sentences: every other word is one of any text.

    The word of rank r is drawn in proportion to 1 / r, as in real texts (Zipf's law); one subject's
    word in ten is of another subject.
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
    """Every text once, its blanks made one; those with two labels not at all."""
    labels: dict[str, set[str]] = {}
    for text, label in rows:
        labels.setdefault(" ".join(text.split()), set()).add(label)
    kept = [(text, *own) for text, own in labels.items() if len(own) == 1]
    texts, names = zip(*(kept if seed is None else shuffled(kept, seed)), strict=True)
    return Subjects(list(texts), list(names), source)


def json_lines(name: str, file: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in _opened(name, file))


def _opened(name: str, file: str) -> io.StringIO:
    """The text of a file, whose lines only a line feed ends."""
    path = fetch(name, file)
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return io.StringIO(raw.decode("utf-8"), newline="\n")

"""Medical texts: abstracts with a condition, talks of doctors with patients, answers to questions.

    rows = abstracts()                  # 2,888 rows of PubMed, five conditions
    several = labels_of(rows)           # text -> its labels: 113 texts have more than one
    talks, answers = dialogues(), medquad_answers()
    pairs = notes(["train"])            # a talk, line by line, and the note written from it

Research texts, without patients' names. Nothing that was learned from them is advice.
"""

import csv
import gzip
import io
import json
from collections.abc import Iterable
from functools import cache

from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.reviews import Labeled
from deepdive_book.data.summaries import Summarized

DIALOGUE_PARTS = ("train", "validation", "test1", "test2")


def abstracts() -> Labeled:
    """2,888 abstracts of PubMed as their file has them; class: the patient's condition, one of 5.

    A text with several labels stands in several rows (`labels_of`). One of the five, "general
    pathological conditions", overlaps the others. Source: Schopf, Braun and Matthes 2022.
    """
    names = [row["condition_name"] for row in _table("medical_abstracts", "medical_tc_labels.csv")]
    rows = [
        (_joined(row["medical_abstract"]), int(row["condition_label"]) - 1)
        for row in _table("medical_abstracts", "medical_tc_test.csv.gz")
    ]
    texts, labels = zip(*rows, strict=True)
    return Labeled(texts, labels, tuple(names), "medical_abstracts (real)")


def labels_of(rows: Labeled) -> dict[str, tuple[int, ...]]:
    """The labels of each text, in the order of the classes; texts in the order of their rows."""
    found: dict[str, set[int]] = {}
    for text, label in zip(rows.texts, rows.labels, strict=True):
        found.setdefault(text, set()).add(label)
    return {text: tuple(sorted(labels)) for text, labels in found.items()}


def with_one_label(rows: Labeled) -> Labeled:
    """The texts that have one label, once each: of the others nobody knows which is right."""
    single = {text for text, labels in labels_of(rows).items() if len(labels) == 1}
    first = {text: i for i, text in reversed(list(enumerate(rows.texts)))}
    return rows.take(sorted(first[text] for text in single))


def dialogues(parts: Iterable[str] = ("train", "validation")) -> Labeled:
    """Talks of a doctor and a patient; class: the section of the note that was written from it.

    20 very unequal sections, such as "GENHX" and "LABS". parts: of `DIALOGUE_PARTS`. Source: Ben
    Abacha, Yim, Fan and Lin 2023. Raises DataError for another part.
    """
    rows = _talks(parts)
    names = sorted({row["section_header"] for row in _table("mts_dialog", "train.csv")})
    return Labeled(
        tuple(_joined(row["dialogue"]) for row in rows),
        tuple(names.index(row["section_header"]) for row in rows),
        tuple(names),
        "mts_dialog (real)",
    )


def notes(parts: Iterable[str] = ("train",)) -> list[Summarized]:
    """Talks of a doctor and a patient, a line each time somebody speaks, with the section of the
    note that was written from each; in the file's order.

    parts: of `DIALOGUE_PARTS`: 1,201, 100, 200 and 200 talks. Raises DataError for another part.
    """
    found = []
    for row in _talks(parts):
        lines = [_joined(line) for line in row["dialogue"].splitlines() if line.strip()]
        found.append(Summarized("\n".join(lines), _joined(row["section_text"])))
    return found


def medquad_answers() -> list[str]:
    """Answers of health institutes to questions of patients, each once, in the file's order.

    Source: Ben Abacha and Demner-Fushman 2019.
    """
    lines = _opened("medquad", "medquad.jsonl.gz")
    return list(dict.fromkeys(_joined(json.loads(line)["answer"]) for line in lines))


def _talks(parts: Iterable[str]) -> list[dict[str, str]]:
    wanted = list(parts)
    if not wanted or set(wanted) - set(DIALOGUE_PARTS):
        raise DataError(f"parts: got {wanted}, expected some of {', '.join(DIALOGUE_PARTS)}")
    return [row for part in wanted for row in _table("mts_dialog", f"{part}.csv")]


def _joined(text: str) -> str:
    return " ".join(text.split())


@cache
def _table(name: str, file: str) -> list[dict[str, str]]:
    return list(csv.DictReader(_opened(name, file)))


def _opened(name: str, file: str) -> io.StringIO:
    path = fetch(name, file)
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return io.StringIO(raw.decode("utf-8"), newline="")

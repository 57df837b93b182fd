"""Texts with a short one that says what they are about: abstracts and titles, talks and notes."""

import random
from typing import NamedTuple

from deepdive.data.documents import generated_documents
from deepdive.data.generated import Generated
from deepdive.data.subjects import json_lines


class Summarized(NamedTuple):
    """A text, and what it says in short."""

    text: str
    summary: str


def arxiv_titles(seed: int | None = 0) -> list[Summarized]:
    """1,979 abstracts of April 2007 with their titles, most of them on physics or mathematics.

    Two of the abstracts stand twice, with two titles.
    LaTeX is left as it stands. The order is drawn by `seed`, with None that of the file.
    """
    records = json_lines("arxiv_abstracts", "arxiv_abstracts.jsonl.gz")
    found = [Summarized(row["abstract"], row["title"]) for row in records if row.get("title")]
    if seed is not None:
        random.Random(f"arxiv_titles {seed}").shuffle(found)
    return found


def generated_summaries(n: int, seed: int = 0) -> Generated[Summarized]:
    """n documents of four sentences on one topic; their summary is the first sentence."""
    documents = generated_documents(n, seed, sentences=4)
    found = [Summarized(" ".join(document), document[0]) for document in documents]
    return Generated(found, f"generated_summaries({n}, seed={seed})")


def generated_notes(n: int, seed: int = 0) -> Generated[Summarized]:
    """n talks of a doctor with a patient, a line each time somebody speaks, and a note of three
    sentences: who it is, what hurts since when, what else is or is not.
    """
    draws, found = random.Random(f"generated_notes {seed}"), []
    for _ in range(n):
        age, weeks, woman = draws.randint(20, 89), draws.randint(2, 9), draws.random() < 0.5
        side, part = draws.choice(["left", "right"]), draws.choice(["knee", "arm", "foot", "ear"])
        sign, has = draws.choice(["fever", "cough", "nausea", "dizziness"]), draws.random() < 0.5
        who, she, her = ("woman", "She", "Her") if woman else ("man", "He", "His")
        talk = [
            "Doctor: Hello, what brings you here today?",
            f"Patient: My {side} {part} hurts.",
            "Doctor: For how long?",
            f"Patient: For {weeks} weeks now.",
            f"Doctor: Do you have any {sign}?",
            f"Patient: {'Yes, I do' if has else 'No, I do not'}.",
            "Doctor: How old are you?",
            f"Patient: I am {age}.",
        ]
        note = (
            f"The patient is a {age} year old {who}. {her} {side} {part} has hurt for {weeks} "
            f"weeks. {she} {'reports' if has else 'denies'} {sign}."
        )
        found.append(Summarized("\n".join(talk), note))
    return Generated(found, f"generated_notes({n}, seed={seed})")

"""Texts with a short one that says what they are about: abstracts and their titles."""

import random
from typing import NamedTuple

from deepdive.data.documents import generated_documents
from deepdive.data.generated import Generated
from deepdive.data.subjects import json_lines


class Summarised(NamedTuple):
    """A text, and what it says in short."""

    text: str
    summary: str


def arxiv_titles(seed: int | None = 0) -> list[Summarised]:
    """1,979 abstracts of April 2007 with their titles, most of them on physics or mathematics.

    Two of the abstracts stand twice, with two titles.
    LaTeX is left as it stands. The order is drawn by `seed`, with None that of the file.
    """
    records = json_lines("arxiv_abstracts", "arxiv_abstracts.jsonl.gz")
    found = [Summarised(row["abstract"], row["title"]) for row in records if row.get("title")]
    if seed is not None:
        random.Random(f"arxiv_titles {seed}").shuffle(found)
    return found


def generated_summaries(n: int, seed: int = 0) -> Generated[Summarised]:
    """n documents of four sentences on one topic; their summary is the first sentence."""
    documents = generated_documents(n, seed, sentences=4)
    found = [Summarised(" ".join(document), document[0]) for document in documents]
    return Generated(found, f"generated_summaries({n}, seed={seed})")

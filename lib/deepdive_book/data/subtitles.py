"""Lines of film subtitles in many languages, and whether their feeling is good or bad."""

from __future__ import annotations

import csv
import gzip
import io

from deepdive.data.errors import DataError
from deepdive.data.fetch import fetch
from deepdive.data.reviews import POLARITY, Labeled
from deepdive.data.text import shuffled

# Labeled by people, or the labels carried over from the line that a line translates.
ANNOTATED = {"en": "English", "fi_annotated": "Finnish"}
PROJECTED = {
    "ar": "Arabic", "bg": "Bulgarian", "br": "Brazilian Portuguese", "cn": "Chinese", "cs": "Czech",
    "da": "Danish", "de": "German", "el": "Greek", "es": "Spanish", "fi": "Finnish", "fr": "French",
    "he": "Hebrew", "hu": "Hungarian", "it": "Italian", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish",
    "th": "Thai", "tr": "Turkish", "vi": "Vietnamese",
}  # fmt: skip


def xed(language: str = "en", seed: int | None = 0) -> Labeled:
    """Subtitle lines: negative (anger, disgust, fear or sadness) or positive (joy or trust).

    language   "en" and "fi_annotated" were labelled by people; in the 24 of `PROJECTED` the label
               is that of the English or Danish line that the line translates, and noisy
    seed       draws the order; None keeps the file's

    Lines with feelings of both kinds or of neither are left out, and of the projected lines those
    whose source is among the English ones (`in_english` = 1): a model trained on "en" has not met
    them in translation. A line comes once; one with two labels not at all. Classes are unequal.
    Raises DataError for another language. Source: Ohman et al. 2020.
    """
    if language not in ANNOTATED | PROJECTED:
        known = ", ".join(ANNOTATED | PROJECTED)
        raise DataError(f"language: {language!r}, expected one of {known}")
    path = fetch("xed", f"{language}.tsv.gz")
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    table = csv.DictReader(io.StringIO(text, newline="\n"), delimiter="\t", quoting=csv.QUOTE_NONE)
    found: dict[str, set[int]] = {}
    for row in table:
        if row["polarity"] in POLARITY and row.get("in_english", "0") == "0":
            line = " ".join(row["text"].split())
            found.setdefault(line, set()).add(POLARITY.index(row["polarity"]))
    kept = [(line, *labels) for line, labels in found.items() if len(labels) == 1]
    texts, labels = zip(*(kept if seed is None else shuffled(kept, seed)), strict=True)
    return Labeled(texts, labels, POLARITY, f"xed/{language} (real)")

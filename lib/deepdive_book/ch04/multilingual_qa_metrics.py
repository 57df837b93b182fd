"""Exact match and F1 of answers in other languages, by the rules of MLQA's script.

    words_in("The  U.S. Army", "en")        # ['us', 'army']
    words_in("乔治·华盛顿 1732年", "zh")       # one a character, but for what is no Chinese
    answer_f1_in("die Stadt Rom", "Rom", "de")

All signs that Unicode calls punctuation are left out, and the articles of English, Spanish, German,
Vietnamese and Arabic. Chinese is cut by character. The script knows seven languages; in others no
article is left out here, and Thai, which has no blanks either, is cut by character too.

`deepdive.evaluate.answers` has SQuAD's rules, for English.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

ARTICLES = {
    "en": r"\b(a|an|the)\b",
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    "ar": "ال",  # wherever it stands, as in the script
}
CHARACTERS = {"zh": r"[\u4e00-\u9fa5]", "th": r"[\u0e00-\u0e7f]"}  # each a word of its own
SIGNS = set("$+<=>^`|~")  # of ASCII's punctuation, what Unicode calls a symbol


def words_in(answer: str, language: str) -> list[str]:
    """The words that count, in lower case.

    Source: Lewis et al. 2020, "MLQA", section 3.3, and its script `mlqa_evaluation_v1.py`.
    """
    kept = "".join(
        c for c in answer.lower() if c not in SIGNS and unicodedata.category(c)[0] != "P"
    )
    if language in ARTICLES:
        kept = re.sub(ARTICLES[language], " ", kept)
    if language in CHARACTERS:
        kept = re.sub(f"({CHARACTERS[language]})", r" \1 ", kept)
    return kept.split()


def exact_match_in(answer: str, right: str, language: str) -> float:
    """1 if both have the same words in the same order, else 0."""
    return float(words_in(answer, language) == words_in(right, language))


def answer_f1_in(answer: str, right: str, language: str) -> float:
    """2 x shared / (said + right), over words as bags; 0 where none is shared.

    >>> answer_f1_in("die Stadt Rom", "Rom", "de")
    0.6666666666666666
    """
    said, expected = words_in(answer, language), words_in(right, language)
    shared = (Counter(said) & Counter(expected)).total()
    return 2 * shared / max(1, len(said) + len(expected))

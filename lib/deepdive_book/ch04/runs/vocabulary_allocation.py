"""Languages that own unequal amounts of text, one vocabulary for all, and what each pays for it.

Chapter 4.2. Sizes fall in equal ratios from the first language to the last; a turn moves each
language on by four places, so that over six turns every language is large, middling and small
twice: what being small costs is told apart from what the language costs.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from deepdive.data.mixture import Mixture
from deepdive.tokenizers.base import SPECIALS
from deepdive_book.ch04.fertility import fertility

TURNS, RATIO = 6, 32
Texts = Mapping[str, Sequence[str]]
# The first word of a letter's Unicode name -> its script.
KINDS = {
    "LATIN": "Latin", "CYRILLIC": "Cyrillic", "GREEK": "Greek", "ARABIC": "Arabic",
    "DEVANAGARI": "Devanagari", "BENGALI": "Bengali", "THAI": "Thai", "HANGUL": "Korean",
    "CJK": "Han", "HIRAGANA": "Kana", "KATAKANA": "Kana",
}  # fmt: skip


def country_names(languages: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Names of countries by Babel (CLDR), the same ones in each language, in one drawn order: four
    in five to learn from, the others to be tested on.
    """
    from babel import Locale

    by_name = [Locale(language).territories for language in languages]
    codes = sorted(set.intersection(*(set(names) for names in by_name)))
    random.Random("country names").shuffle(codes)
    cut = 4 * len(codes) // 5
    train, test = (
        {
            language: [names[code] for code in part]
            for language, names in zip(languages, by_name, strict=True)
        }
        for part in (codes[:cut], codes[cut:])
    )
    return train, test


def order(languages: Iterable[str], turn: int) -> list[str]:
    """The languages from the largest to the smallest, in this turn."""
    found = [*languages]
    random.Random("a world of languages").shuffle(found)
    shift = turn * len(found) // TURNS
    return found[shift:] + found[:shift]


def owned(texts: Texts, turn: int, ratio: float = RATIO) -> dict[str, Sequence[str]]:
    """The texts that each language owns: the largest all, the smallest 1 / ratio of that."""
    names = order(texts, turn)
    step = ratio ** (-1 / (len(names) - 1))
    return {
        name: texts[name][: max(1, round(len(texts[name]) * step**rank))]
        for rank, name in enumerate(names)
    }


def unigram(texts: Iterable[str], size: int) -> Any:
    """A unigram vocabulary made by the library `tokenizers`."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=[*SPECIALS], unk_token=SPECIALS[3], show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    return made


def kind_of(piece: str) -> str:
    """The script of a piece's first letter; "other" for digits, signs and marks alone.

    >>> [kind_of(piece) for piece in ("▁the", "мо", "木", "▁19")]
    ['Latin', 'Cyrillic', 'Han', 'other']
    """
    for char in piece:
        if char.isalpha():
            return KINDS.get(unicodedata.name(char, "").partition(" ")[0], "other")
    return "other"


def served(
    train: Texts, test: Texts, alpha: float, turn: int, size: int, drawn: int, ratio: float = RATIO
) -> dict[str, Any]:
    """One vocabulary of `size` pieces from `drawn` texts, and what it does for each language:

    own        texts that the language owns
    pieces     pieces for its test texts
    characters, words, unknown   of these, blanks left out
    used       different pieces among them
    kinds      how many of the vocabulary's pieces begin with a letter of each script
    """
    mixture = Mixture(owned(train, turn, ratio), alpha, seed=turn)
    made = unigram([text for _, text in mixture.take(drawn)], size)
    vocabulary = made.get_vocab()
    row: dict[str, Any] = {"kinds": dict(Counter(map(kind_of, vocabulary)))}
    columns: dict[str, dict[str, int]] = {"own": dict(mixture.sizes)}
    for name, texts in test.items():
        cuts = {unicodedata.normalize("NFKC", text): made.encode(text).tokens for text in texts}
        found = fertility(cuts.__getitem__, vocabulary, cuts)
        for key, value in found._asdict().items():
            columns.setdefault(key, {})[name] = value
        used = {piece for cut in cuts.values() for piece in cut}
        columns.setdefault("used", {})[name] = len(used)
    return row | columns

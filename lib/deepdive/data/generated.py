"""Synthetic data for pages that run offline: natural language from generators.

Number words come from num2words, dates from Babel (CLDR). Nothing here is a corpus, and
every function returns a `Generated` list that says so. The same arguments give the same list
with the same versions of num2words and Babel.
"""

import datetime
import random
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TypeVar

from deepdive.data.errors import DataError

T = TypeVar("T")

GENERATED = True

# Languages for which num2words has words for all of 0 .. 999,999, all of them different.
NUMBER_LANGUAGES = {
    "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bn": "Bengali", "ca": "Catalan",
    "ce": "Chechen", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "en": "English", "eo": "Esperanto", "es": "Spanish", "fa": "Persian", "fi": "Finnish",
    "fr": "French", "he": "Hebrew", "hu": "Hungarian", "id": "Indonesian", "is": "Icelandic",
    "it": "Italian", "ja": "Japanese", "kn": "Kannada", "ko": "Korean", "kz": "Kazakh",
    "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
    "sr": "Serbian", "sv": "Swedish", "tet": "Tetum", "tg": "Tajik", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese",
}  # fmt: skip

LARGEST = 999_999


class Generated(list[T]):
    """A list with its origin: `source` names the generator, its arguments and versions."""

    def __init__(self, items: Iterable[T], source: str) -> None:
        super().__init__(items)
        self.source = source
        self.generated = GENERATED

    def __repr__(self) -> str:
        return f"<{len(self)} generated items: {self.source}>"


def number_words(
    lang: str, n: int, seed: int = 0, low: int = 0, high: int = 9_999
) -> Generated[tuple[str, str]]:
    """Return n pairs such as ("123", "one hundred and twenty-three"), of different numbers.

    Numbers are sampled from low .. high, both ends included.
    """
    say, version = _speaker(lang)
    numbers = _numbers(n, low, high, seed)
    source = f"number_words({lang!r}, {n}, seed={seed}, {low}..{high}), {version}"
    return Generated([(str(number), say(number)) for number in numbers], source)


def number_translation(
    src_lang: str, tgt_lang: str, n: int, low: int = 0, high: int = 9_999, seed: int = 0
) -> Generated[tuple[str, str]]:
    """Return n pairs of number words in two languages, of different numbers low .. high."""
    source_says, version = _speaker(src_lang)
    target_says, _ = _speaker(tgt_lang)
    numbers = _numbers(n, low, high, seed)
    source = f"number_translation({src_lang!r}, {tgt_lang!r}, {n}, {low}..{high}, seed={seed})"
    pairs = [(source_says(number), target_says(number)) for number in numbers]
    return Generated(pairs, f"{source}, {version}")


def date_pairs(
    locale: str,
    n: int,
    seed: int = 0,
    first: datetime.date = datetime.date(1950, 1, 1),
    last: datetime.date = datetime.date(2049, 12, 31),
) -> Generated[tuple[str, str]]:
    """Return n pairs such as ("Saturday, May 3, 1986", "1986-05-03"), with different inputs.

    Day (first .. last) and format are sampled; the formats are the locale's in CLDR that show the
    full year. n is at most the number of days.
    """
    dates = needs("babel.dates")
    patterns = date_patterns(locale)
    days = (last - first).days + 1
    whole("n", n, 1, days)  # two formats of a day may be equal ("3 May"), so at most the days
    draw = random.Random(f"dates {locale} {seed}")
    found: dict[str, str] = {}
    while len(found) < n:
        day = first + datetime.timedelta(days=draw.randrange(days))
        pattern = draw.choice(patterns)
        found.setdefault(dates.format_date(day, pattern, locale=locale), day.isoformat())
    source = f"date_pairs({locale!r}, {n}, seed={seed}, {first}..{last}), {version_of('babel')}"
    return Generated(found.items(), source)


def date_patterns(locale: str) -> list[str]:
    """Return a locale's CLDR date patterns, except the shortest, which truncates the year."""
    core = needs("babel.core")
    try:
        known = core.Locale.parse(locale)
    except (core.UnknownLocaleError, ValueError, TypeError) as error:
        raise DataError(f"locale: {locale!r} is not one that Babel knows ({error})") from error
    given = [known.date_formats[length].pattern for length in ("full", "long", "medium")]
    skeletons = known.datetime_skeletons
    given += [skeletons[name].pattern for name in ("yMMMEd", "yMMMd", "yMd") if name in skeletons]
    return list(dict.fromkeys(given))


def reversal(
    n: int, length: tuple[int, int] = (3, 8), vocab: int = 10, seed: int = 0, first: int = 4
) -> Generated[tuple[list[int], list[int]]]:
    """Return n toy pairs (sequence, its reversal) of token ids first .. first + vocab - 1.

    Lengths are sampled from length[0] .. length[1]. Ids below `first` are for special tokens.
    """
    whole("n", n, 1, None)
    whole("vocab", vocab, 1, None)
    whole("length[0]", length[0], 1, length[1])
    draw = random.Random(f"reversal {seed}")
    pairs = []
    for _ in range(n):
        size = draw.randint(*length)
        tokens = [first + draw.randrange(vocab) for _ in range(size)]
        pairs.append((tokens, tokens[::-1]))
    return Generated(pairs, f"reversal({n}, {length}, {vocab}, seed={seed}, first={first})")


def _speaker(lang: str) -> tuple[Callable[[int], str], str]:
    if lang not in NUMBER_LANGUAGES:
        raise DataError(f"lang: {lang!r}, expected one of {', '.join(NUMBER_LANGUAGES)}")
    num2words = needs("num2words").num2words
    return (lambda number: str(num2words(number, lang=lang))), version_of("num2words")


def _numbers(n: int, low: int, high: int, seed: int) -> list[int]:
    whole("low", low, 0, LARGEST)
    whole("high", high, low, LARGEST)
    whole("n", n, 1, high - low + 1)
    return random.Random(f"numbers {seed}").sample(range(low, high + 1), n)


def whole(name: str, value: int, least: int, most: int | None) -> None:
    if not isinstance(value, int) or value < least or (most is not None and value > most):
        upto = "" if most is None else f" and at most {most}"
        raise DataError(f"{name}: {value!r}, expected a whole number of at least {least}{upto}")


def needs(module: str) -> ModuleType:
    import importlib

    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise DataError(
            f"{package} is not installed; pip install 'deepdive[casestudies]', or {package} alone"
        ) from error


def version_of(package: str) -> str:
    from importlib.metadata import version

    return f"{package} {version(package)}"

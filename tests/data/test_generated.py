"""Generated data: the languages that are listed work, and the French is French."""

from __future__ import annotations

import datetime
import functools
import re
import sys
from collections.abc import Callable

import pytest

from deepdive.data import (
    NUMBER_LANGUAGES,
    DataError,
    Generated,
    date_pairs,
    date_patterns,
    number_translation,
    number_words,
    reversal,
)
from deepdive_book.data import grammar, lexicon
from deepdive_book.data.grammar import grammar_pairs

LOCALES = """
    en_US en_GB fr de es it pt_BR pt nl sv da nb fi pl cs sk hu ro bg uk ru el tr ar he fa hi bn
    ja ko zh vi id th ca is lt lv sl hr
"""


def test_there_are_languages_enough() -> None:
    assert len(NUMBER_LANGUAGES) >= 20


@pytest.mark.parametrize("lang", NUMBER_LANGUAGES)
def test_every_listed_language_has_words_for_every_number_and_no_two_alike(lang: str) -> None:
    low = number_words(lang, 1_200, low=0, high=1_199)
    high = number_words(lang, 300, low=1_200, high=999_999)
    assert sorted(int(digits) for digits, _ in low) == list(range(1_200))
    words = [said for _, said in [*low, *high]]
    assert len(set(words)) == 1_500
    assert all(said.strip() == said != "" for said in words)
    assert not any(character.isdigit() for said in words for character in said)


def test_numbers_are_said_as_expected() -> None:
    expected = {
        "en": "one hundred and twenty-three",
        "fr": "cent vingt-trois",
        "de": "einhundertdreiundzwanzig",
        "es": "ciento veintitrés",
        "ja": "百二十三",
        "ru": "сто двадцать три",
    }
    for lang, said in expected.items():
        assert number_words(lang, 1, low=123, high=123) == [("123", said)]
    both = number_translation("en", "fr", 1, low=80, high=80)
    assert both == [("eighty", "quatre-vingts")]


@pytest.mark.parametrize("locale", LOCALES.split())
def test_dates_can_be_read_back(locale: str) -> None:
    found = date_pairs(locale, 200)
    assert len({human for human, _ in found}) == 200
    assert len(date_patterns(locale)) >= 3
    for human, iso in found:
        day = datetime.date.fromisoformat(iso)
        assert str(day.year) in human, f"{human!r} does not show the year of {iso}"
        assert re.search(rf"(?<!\d)0?{day.day}(?!\d)", human), f"{human!r} has no day of {iso}"


def test_a_date_has_several_forms() -> None:
    day = datetime.date(1986, 5, 3)
    lists = [date_pairs("en_US", 1, seed, first=day, last=day) for seed in range(40)]
    forms = {human for found in lists for human, _ in found}
    assert forms == {"Saturday, May 3, 1986", "May 3, 1986", "Sat, May 3, 1986", "5/3/1986"}


MAKERS: dict[str, Callable[[int], Generated[object]]] = {
    "number_words": lambda seed: number_words("en", 50, seed),  # type: ignore[dict-item]
    "number_translation": lambda seed: number_translation("en", "fr", 50, seed=seed),  # type: ignore[dict-item]
    "date_pairs": lambda seed: date_pairs("fr", 50, seed),  # type: ignore[dict-item]
    "reversal": lambda seed: reversal(50, seed=seed),  # type: ignore[dict-item]
    "grammar_pairs": lambda seed: grammar_pairs(50, seed),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_seed_gives_one_list_that_says_it_is_generated(name: str) -> None:
    one, again, other = MAKERS[name](0), MAKERS[name](0), MAKERS[name](1)
    assert one == again != other
    assert len(one) == 50
    assert one.generated
    assert one.source.startswith(name)
    assert "50 generated items" in repr(one)


def test_reversal_is_one() -> None:
    for source, target in reversal(200, length=(2, 5), vocab=3, first=4):
        assert target == source[::-1]
        assert 2 <= len(source) <= 5
        assert set(source) <= {4, 5, 6}


# --- the English-French grammar


@functools.cache
def many() -> Generated[tuple[str, str]]:
    return grammar_pairs(20_000)


def test_the_grammar_gives_many_distinct_sentences() -> None:
    assert len({english for english, _ in many()}) == 20_000
    assert len({french for _, french in many()}) > 19_000


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("She is happy.", "Elle est heureuse."),
        ("The girls are kind.", "Les filles sont gentilles."),
        ("We are not alone.", "Nous ne sommes pas seuls."),
        ("I am not tired.", "Je ne suis pas fatigué."),
        ("They are not ready.", "Ils ne sont pas prêts."),
        ("You are not sad.", "Tu n'es pas triste."),
        ("I am eighty-one years old.", "J'ai quatre-vingt-un ans."),
        ("My sister is twenty-one years old.", "Ma sœur a vingt et un ans."),
    ],
)
def test_its_sentences_are_french(english: str, french: str) -> None:
    assert dict(many())[english] == french


@pytest.mark.parametrize(
    ("noun", "determiner", "adjective", "plural", "english", "french"),
    [
        ("bird", "the", None, False, "the bird", "l'oiseau"),
        ("bird", "this", "black", False, "this black bird", "cet oiseau noir"),
        ("bird", "this", "beautiful", False, "this beautiful bird", "ce bel oiseau"),
        ("tree", "a", "old", False, "an old tree", "un vieil arbre"),
        ("tree", "the", "new", True, "the new trees", "les nouveaux arbres"),
        ("story", "this", None, False, "this story", "cette histoire"),
        ("story", "my", None, False, "my story", "mon histoire"),
        ("car", "my", "white", False, "my white car", "ma voiture blanche"),
        ("house", "your", "beautiful", True, "your beautiful houses", "tes belles maisons"),
        ("horse", "our", "small", True, "our small horses", "nos petits chevaux"),
        ("newspaper", "this", None, True, "these newspapers", "ces journaux"),
        ("egg", "a", None, False, "an egg", "un œuf"),
        ("apple", 21, None, True, "twenty-one apples", "vingt et une pommes"),
        ("cake", 81, None, True, "eighty-one cakes", "quatre-vingt-un gâteaux"),
        ("cow", 80, "green", True, "eighty green cows", "quatre-vingts vaches vertes"),
    ],
)
def test_its_nouns_carry_their_articles_and_adjectives(
    noun: str, determiner: str | int, adjective: str | None, plural: bool, english: str, french: str
) -> None:
    (entry,) = [known for known in lexicon.NOUNS if known.english == noun]
    assert grammar._phrase(entry, determiner, adjective, plural) == (english, french)


def test_its_french_elides_and_denies() -> None:
    assert grammar._subject_and(lexicon.SUBJECTS[0], "aime") == "j'aime"
    for english, french in many():
        assert not re.search(r"\b([JjLl][ea]|ne|[Cc]e|que|ma|ta) [aeiouyhéèêàâœ]", french), french
        assert not re.search(r"'[^aeiouyhéèêàâœ]", french), french
        assert "  " not in french
        assert french[0].isupper()
        assert french.endswith((".", " ?"))
        assert (" pas " in french) == (" not " in english), (english, french)


FEMININE = "pomme|orange|lettre|histoire|vache|maison|voiture|chaise|fleur"
MASCULINE = "œuf|gâteau|livre|journal|chat|cheval|oiseau|arbre|manteau"


def test_its_articles_and_adjectives_follow_the_noun() -> None:
    text = " ".join(french for _, french in many()).lower()
    before_feminine = set(re.findall(rf"(\S+) (?:{FEMININE})\b(?!s)", text))
    before_masculine = set(re.findall(rf"(\S+) (?:{MASCULINE})\b(?![sx])", text))
    both = {"notre"}
    vowel = {"mon", "ton"}  # mon orange
    assert before_feminine == both | vowel | {
        "la", "une", "ma", "ta", "cette", "grande", "petite", "belle", "vieille", "nouvelle",
    }  # fmt: skip
    assert before_masculine == both | vowel | {
        "le", "un", "ce", "cet", "grand", "petit", "beau", "bel", "vieux", "vieil", "nouveau",
        "nouvel",
    }  # fmt: skip
    counted_feminine = re.findall(r"(\S*une?) (?:pommes|oranges|voitures|maisons|vaches)", text)
    counted_masculine = re.findall(r"(\S*une?) (?:œufs|gâteaux|livres|chats|chevaux)", text)
    assert counted_feminine
    assert all(word.endswith("une") for word in counted_feminine)
    assert counted_masculine
    assert all(word.endswith("un") for word in counted_masculine)


def test_the_first_of_a_month_is_premier() -> None:
    dates = [french for _, french in many() if " né" in french]
    assert [french for french in dates if " le 1er " in french]
    assert not [french for french in dates if " le 1 " in french]


# --- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: number_words("xx", 3), "lang: 'xx', expected one of ar, "),
        (lambda: number_words("am", 3), "lang: 'am'"),
        (lambda: number_words("en", 0), "n: 0"),
        (lambda: number_words("en", 12, low=0, high=9), "n: 12, .* at most 10"),
        (lambda: number_words("en", 3, low=-1), "low: -1"),
        (lambda: number_words("en", 3, high=10**7), "high: 10000000"),
        (lambda: date_pairs("tlh", 3), "locale: 'tlh'"),
        (lambda: date_pairs("en", 10**9), "n: 1000000000"),
        (lambda: reversal(3, length=(0, 4)), r"length\[0\]: 0"),
        (lambda: reversal(3, vocab=0), "vocab: 0"),
        (lambda: grammar_pairs(30_000), "n: 30000, .* at most 20000"),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        call()


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("num2words", lambda: number_words("en", 1)),
        ("babel", lambda: date_pairs("en", 1)),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_extra(
    monkeypatch: pytest.MonkeyPatch, package: str, call: Callable[[], object]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DataError, match=rf"{package} is not installed.*deepdive\[casestudies\]"):
        call()

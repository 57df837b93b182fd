"""English sentences with their French translation, generated from a small grammar.

For pages that run with no network. The French agrees: verbs with their subject, articles,
possessives and adjectives with their noun in gender and number, participles with the subject;
vowels elide (l'oiseau, j'aime, n'a pas, qu'elle). "You" is always tu, "they" is always ils, and
the speaker is a man. Words of numbers come from num2words, dates from Babel.
"""

import datetime
import random
from collections.abc import Callable

from deepdive.data.generated import Generated, needs, version_of, whole
from deepdive_book.data.lexicon import (
    BEFORE,
    BEHIND,
    DETERMINERS,
    NOUNS,
    PREDICATES,
    SUBJECTS,
    TO_BE,
    TO_HAVE,
    VERBS,
    VOWELS,
    Noun,
    Subject,
    Verb,
)


def grammar_pairs(n: int, seed: int = 0) -> Generated[tuple[str, str]]:
    """n generated (English, French) pairs, all of different English sentences.

    Kinds of sentence: a verb with its object, affirmed, denied and asked; a quality; an age; a
    price; a date of birth. A plain blank stands before a question mark, as after
    `normalize_spaces`. Raises DataError if n is more than 20,000.
    """
    whole("n", n, 1, 20_000)
    draw = random.Random(f"grammar {seed}")
    kinds: list[Callable[[random.Random], tuple[str, str]]] = [
        _statement, _statement, _statement, _denial, _denial, _question, _quality, _quality,
        _age, _price, _birth,
    ]  # fmt: skip
    found: dict[str, str] = {}
    while len(found) < n:
        english, french = draw.choice(kinds)(draw)
        found.setdefault(_capital(english), _capital(french))
    source = f"grammar_pairs({n}, seed={seed}), {version_of('num2words')}, {version_of('babel')}"
    return Generated(found.items(), source)


def _statement(draw: random.Random) -> tuple[str, str]:
    subject, verb = draw.choice(SUBJECTS), draw.choice(VERBS)
    english, french = _object(draw, verb, counted=draw.random() < 0.4)
    says = verb.english_third if subject.person == 2 else verb.english
    return (
        f"{subject.english} {says} {english}.",
        f"{_subject_and(subject, verb.french[subject.person])} {french}.",
    )


def _denial(draw: random.Random) -> tuple[str, str]:
    subject, verb = draw.choice(SUBJECTS), draw.choice(VERBS)
    english, french = _object(draw, verb, counted=False)
    does = "does" if subject.person == 2 else "do"
    return (
        f"{subject.english} {does} not {verb.english} {english}.",
        f"{subject.french} {_elided('ne', verb.french[subject.person])} pas {french}.",
    )


def _question(draw: random.Random) -> tuple[str, str]:
    subject, verb = draw.choice(SUBJECTS[1:]), draw.choice(VERBS)
    english, french = _object(draw, verb, counted=draw.random() < 0.4)
    does = "does" if subject.person == 2 else "do"
    asked = _elided("est-ce que", f"{subject.french} {verb.french[subject.person]}")
    return f"{does} {subject.english} {verb.english} {english}?", f"{asked} {french} ?"


def _quality(draw: random.Random) -> tuple[str, str]:
    subject, quality = draw.choice(SUBJECTS), draw.choice(list(PREDICATES))
    form = PREDICATES[quality][2 * subject.plural + subject.feminine]
    verb, is_ = TO_BE[subject.person], _is(subject)
    if draw.random() < 0.5:
        return (
            f"{subject.english} {is_} not {quality}.",
            f"{subject.french} {_elided('ne', verb)} pas {form}.",
        )
    return f"{subject.english} {is_} {quality}.", f"{_subject_and(subject, verb)} {form}."


def _age(draw: random.Random) -> tuple[str, str]:
    subject, years = draw.choice(SUBJECTS), draw.randint(2, 99)
    english, french = _words(years)
    has = _subject_and(subject, TO_HAVE[subject.person])
    return f"{subject.english} {_is(subject)} {english} years old.", f"{has} {french} ans."


def _price(draw: random.Random) -> tuple[str, str]:
    noun, euros = draw.choice(NOUNS), draw.randint(2, 999)
    english, french = _phrase(noun, draw.choice(list(DETERMINERS)), None, plural=False)
    amount, montant = _words(euros)
    return f"{english} costs {amount} euros.", f"{french} coûte {montant} euros."


def _birth(draw: random.Random) -> tuple[str, str]:
    dates = needs("babel.dates")
    subject = draw.choice(SUBJECTS)
    day = datetime.date(1930, 1, 1) + datetime.timedelta(days=draw.randrange(90 * 365))
    english, french = (dates.format_date(day, "long", locale=code) for code in ("en_US", "fr"))
    if day.day == 1:
        french = "1er" + french.removeprefix("1er").removeprefix("1")
    born = "né" + "e" * subject.feminine + "s" * subject.plural
    was = "were" if subject.plural or subject.person == 1 else "was"
    return (
        f"{subject.english} {was} born on {english}.",
        f"{_subject_and(subject, TO_BE[subject.person])} {born} le {french}.",
    )


def _object(draw: random.Random, verb: Verb, counted: bool) -> tuple[str, str]:
    noun = draw.choice([noun for noun in NOUNS if noun.kind in verb.kinds])
    adjective = draw.choice([None, None, *BEFORE, *BEHIND]) if noun.kind in "at" else None
    if not counted:
        return _phrase(noun, draw.choice(list(DETERMINERS)), adjective, draw.random() < 0.5)
    if draw.random() < 0.4:
        return _phrase(noun, "a", adjective, plural=False)
    return _phrase(noun, draw.randint(2, 99), adjective, plural=True)


def _phrase(
    noun: Noun, determiner: str | int, adjective: str | None, plural: bool
) -> tuple[str, str]:
    """The noun phrase in both languages; an int as determiner is a number."""
    english = noun.english_plural if plural else noun.english
    french = noun.french_plural if plural else noun.french
    if adjective is not None:
        english = f"{adjective} {english}"
        forms = BEFORE.get(adjective) or BEHIND[adjective]
        if adjective in BEFORE:
            before_vowel = french[0] in VOWELS
            french = f"{_agree(forms, noun.feminine, plural, before_vowel)} {french}"
        else:
            french = f"{french} {_agree(forms, noun.feminine, plural, False)}"
    if isinstance(determiner, int):
        words, mots = _words(determiner)
        if noun.feminine and mots.endswith("un"):
            mots += "e"
        return f"{words} {english}", f"{mots} {french}"
    if determiner == "a":
        article = "an" if english[0] in "aeiou" else "a"
        return f"{article} {english}", f"{'une' if noun.feminine else 'un'} {french}"
    return _determined(determiner, english, french, noun.feminine, plural)


def _determined(
    determiner: str, english: str, french: str, feminine: bool, plural: bool
) -> tuple[str, str]:
    masculine, feminine_form, vowel, plural_form = DETERMINERS[determiner]
    if determiner == "this":
        vowel = "cette " if feminine else "cet "
        determiner = "these" if plural else "this"
    if plural:
        return f"{determiner} {english}", plural_form + french
    if french[0] in VOWELS:
        return f"{determiner} {english}", vowel + french
    return f"{determiner} {english}", (feminine_form if feminine else masculine) + french


def _agree(forms: tuple[str, ...], feminine: bool, plural: bool, before_vowel: bool) -> str:
    masculine, vowel, feminine_form, plural_form, feminine_plural = forms
    if plural:
        return feminine_plural if feminine else plural_form
    if feminine:
        return feminine_form
    return vowel if before_vowel else masculine


def _subject_and(subject: Subject, verb: str) -> str:
    return _elided("je", verb) if subject.french == "je" else f"{subject.french} {verb}"


def _elided(word: str, following: str) -> str:
    """je, ne, que lose their e before a vowel."""
    return f"{word[:-1]}'{following}" if following[0] in VOWELS else f"{word} {following}"


def _is(subject: Subject) -> str:
    return {0: "am", 2: "is"}.get(subject.person, "are")


def _words(number: int) -> tuple[str, str]:
    say = needs("num2words").num2words
    return str(say(number, lang="en")), str(say(number, lang="fr"))


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]

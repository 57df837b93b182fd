"""The five task shapes, generated: sentences from small templates, for pages with no network.

Each function gives n rows of the shape that the real loader of `deepdive.data.tasks` gives. What
decides is never one word: a denial turns an opinion, a passive turns who did what, and a question
may ask for somebody of whom the paragraph says nothing.
"""

import random
from collections.abc import Callable
from typing import TypeVar

from deepdive.data.generated import Generated, whole
from deepdive.data.tasks import Choice, Pair, Single, Span, Tagged
from deepdive_book.data.senses import sense_sentences

Row = TypeVar("Row")

THINGS = ["film", "story", "music", "ending", "cast", "plot", "play", "dialogue"]
GOOD = ["good", "funny", "moving", "clever", "fresh", "warm"]
BAD = ["bad", "dull", "boring", "silly", "flat", "cold"]
FIRST = ["Ann", "Bob", "Carla", "David", "Émile", "Fatima", "Zoë", "Igor", "Jürgen", "Lena"]
LAST = ["Smith", "Novak", "O'Brien", "García", "Weber", "Rossi", "Kowalski", "Lindström"]
CITIES = ["Rome", "New York", "São Paulo", "Oslo", "Cape Town", "Prague", "Malmö", "Lima"]
JOBS = ["doctor", "teacher", "pilot", "painter", "baker", "judge"]
DEEDS = [("sees", "seen"), ("helps", "helped"), ("calls", "called"), ("follows", "followed")]
FACTS = {
    "Where does {} live?": ("{} lives in {}.", CITIES),
    "What does {} work as?": ("{} works as a {}.", JOBS),
    "When was {} born?": ("{} was born in {}.", [str(year) for year in range(1950, 2000)]),
    "What does {} like?": ("{} likes {}.", ["old films", "strong coffee", "chess", "green tea"]),
}
KINDS = {
    "What does {} drink?": "tea milk cocoa lemonade beer coffee water wine juice cider",
    "Where does {} live?": "Rome Oslo Prague Lima Cairo Paris Tokyo Madrid London Vienna",
    "What does {} work as?": "doctor teacher pilot painter baker judge nurse farmer lawyer cook",
    "What does {} play?": "piano violin drums flute guitar trumpet cello harp organ clarinet",
    "Which animal does {} keep?": "dog cat horse parrot goat rabbit goose pony hamster sheep",
    "What does {} wear?": "coat hat scarf dress boots jacket shirt gloves skirt cap",
    "What does {} study?": "physics law history music botany chemistry logic art medicine geology",
    "How does {} travel?": "train bus ship bicycle car plane tram boat taxi ferry",
}
NAMED = [
    ["PERSON", "lives in", "CITY", "."],
    ["In", "CITY", "I met", "PERSON", "and", "PERSON", "."],
    ["PERSON", "flew from", "CITY", "to", "CITY", "yesterday ."],
    ["Where is", "PERSON", "?"],
    ["The old film was good ."],
]


def generated_single(n: int, seed: int = 0) -> Generated[Single]:
    """Opinions, 1 = good: "the plot is not dull , and the cast is warm ."; half have a denial."""

    def row(draw: random.Random) -> Single:
        label = draw.randrange(2)
        opinions = [_opinion(draw, label) for _ in range(draw.randint(1, 2))]
        return Single(" , and ".join(opinions) + " .", label)

    return _rows("generated_single", n, seed, row)


def generated_pair(n: int, seed: int = 0) -> Generated[Pair]:
    """Active and passive, 1 = the same: the second always has the first's names and deed.

    Who did it to whom is all that differs, as in PAWS (Zhang et al. 2019): words tell nothing.
    """

    def row(draw: random.Random) -> Pair:
        (one, other), (does, done) = draw.sample(FIRST, 2), draw.choice(DEEDS)
        label = draw.randrange(2)
        by, to = (one, other) if label else (other, one)
        return Pair(f"{one} {does} {other} .", f"{to} is {done} by {by} .", label)

    return _rows("generated_pair", n, seed, row)


def generated_entities(n: int, seed: int = 0) -> Generated[Tagged]:
    """Names of people and places among other words, as B-, I- and O."""

    def row(draw: random.Random) -> Tagged:
        words: list[str] = []
        tags: list[str] = []
        for part in draw.choice(NAMED):
            name, kind = part, ""
            if part == "PERSON":
                name, kind = f"{draw.choice(FIRST)} {draw.choice(LAST)}", "person"
            elif part == "CITY":
                name, kind = draw.choice(CITIES), "location"
            given = name.split()
            words += given
            tags += [f"{'I' if k else 'B'}-{kind}" if kind else "O" for k in range(len(given))]
        return Tagged(words, tags)

    return _rows("generated_entities", n, seed, row)


def generated_parts_of_speech(n: int, seed: int = 0) -> Generated[Tagged]:
    """The words and tags of `sense_sentences`, in which some words are two."""
    sentences = sense_sentences(n, seed)
    rows = [Tagged([w for w, _ in words], [t for _, t in words]) for words in sentences]
    return Generated(rows, f"generated_parts_of_speech: {sentences.source}")


def generated_answers(n: int, seed: int = 0, nulls: float = 1 / 3) -> Generated[Span]:
    """A paragraph of facts on three people, a question on one; without an answer in `nulls`.

    A question without an answer names somebody in the paragraph, and asks for what is not said.
    """

    def row(draw: random.Random) -> Span:
        facts = [(who, ask) for who in draw.sample(FIRST, 3) for ask in draw.sample([*FACTS], 2)]
        draw.shuffle(facts)
        statements = [(*fact, *_fact(draw, *fact)) for fact in facts]
        context = " ".join(sentence for *_, sentence, _ in statements)
        who, ask, sentence, answer = draw.choice(statements)
        if draw.random() < nulls:
            unsaid = [other for other in FACTS if (who, other) not in facts]
            return Span(draw.choice(unsaid).format(who), context, "", -1)
        start = context.index(sentence) + sentence.rindex(answer)
        return Span(ask.format(who), context, answer, start)

    return _rows("generated_answers", n, seed, row)


def generated_choices(
    n: int, seed: int = 0, options: int = 4, *, unseen: bool = False
) -> Generated[Choice]:
    """Where does Zoë live: Rome, tea, violin or doctor? One word of each of `options` kinds.

    The kinds have ten words each, of which five are drawn; with `unseen` the other five. Rows of
    the one sort teach no word of the other, so what learns from words alone is left to guess.
    """
    whole("options", options, 2, len(KINDS))
    half = slice(5, None) if unseen else slice(5)

    def row(draw: random.Random) -> Choice:
        kinds = draw.sample([*KINDS], options)
        answers = [draw.choice(KINDS[kind].split()[half]) for kind in kinds]
        label = draw.randrange(options)
        return Choice(kinds[label].format(draw.choice(FIRST)), answers, label)

    return _rows("generated_choices", n, seed, row)


def _opinion(draw: random.Random, label: int) -> str:
    denied = draw.randrange(2)
    quality = draw.choice(GOOD if label != denied else BAD)
    return f"the {draw.choice(THINGS)} is {'not ' * denied}{quality}"


def _fact(draw: random.Random, who: str, ask: str) -> tuple[str, str]:
    """The sentence that answers a question, and the answer in it."""
    says, known = FACTS[ask]
    answer = draw.choice(known)
    return says.format(who, answer), answer


def _rows(name: str, n: int, seed: int, row: Callable[[random.Random], Row]) -> Generated[Row]:
    whole("n", n, 1, 1_000_000)
    draw = random.Random(f"{name} {seed}")
    return Generated([row(draw) for _ in range(n)], f"{name}({n}, seed={seed})")

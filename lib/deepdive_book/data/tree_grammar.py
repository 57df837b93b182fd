"""Generated English sentences with their trees, in Universal Dependencies, and with antecedents.

For pages that look for syntax with no network. Noun phrases have none to two adjectives and
sometimes an *of*, so that a relation does not always span the same number of words.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from deepdive.data.generated import Generated, whole
from deepdive.data.trees import ROOT, Tree

# verb: past, participle
VERBS = {
    "saw": "seen", "found": "found", "bought": "bought", "sold": "sold", "painted": "painted",
    "moved": "moved", "washed": "washed", "broke": "broken", "hid": "hidden", "took": "taken",
    "described": "described", "forgot": "forgotten",
}  # fmt: skip
CLAIMS = ("said", "thought", "believed", "knew")
PEOPLE = ("woman", "man", "girl", "boy", "teacher", "doctor", "farmer", "painter", "neighbour")
NAMES = ("Paul", "Mary", "Anna", "Peter")
THINGS = ("house", "car", "chair", "table", "coat", "book", "letter", "boat", "bell", "garden")
ADJECTIVES = ("old", "small", "red", "white", "heavy", "strange", "beautiful", "new")
ADVERBS = ("quickly", "often", "never", "again", "yesterday")
DETERMINERS = ("the", "the", "the", "a", "this", "every")
OWNERS = ("my", "your", "his", "her", "our", "their")
PLACES = {"in": ("garden", "house", "car"), "near": ("table", "boat"), "on": ("chair", "table")}
MEN, WOMEN = ("king", "father", "brother", "waiter", "uncle"), (
    "queen", "mother", "sister", "waitress", "aunt",
)  # fmt: skip
MEETINGS = ("thanked", "called", "helped", "met", "visited", "warned", "followed")
STATES = ("was tired", "had no money", "was afraid", "lived alone", "wanted to leave", "felt sick")


@dataclass(frozen=True)
class Node:
    """A word with what depends on it, before and behind."""

    word: str
    tag: str
    relation: str = "root"
    before: tuple[Node, ...] = ()
    behind: tuple[Node, ...] = ()


def tree_sentences(n: int, seed: int = 0) -> Generated[Tree]:
    """n generated sentences with their trees, all different: active, passive, "X said that ...".

    Raises DataError if n is more than 20,000.
    """
    whole("n", n, 1, 20_000)
    draw = random.Random(f"trees {seed}")
    found: dict[tuple[str, ...], Tree] = {}
    while len(found) < n:
        tree = flat(_sentence(draw))
        found.setdefault(tree.words, tree)
    return Generated(found.values(), f"tree_sentences({n}, seed={seed})")


@dataclass(frozen=True)
class Mention:
    """A sentence in which the pronoun means one of two persons; its gender says which.

    pronoun, antecedent, rival     indices of words; the rival is the other person
    """

    words: tuple[str, ...]
    pronoun: int
    antecedent: int
    rival: int


def coreference_sentences(n: int, seed: int = 0) -> Generated[Mention]:
    """n generated sentences such as "The old king thanked the queen because she was tired ."

    Subject and object, man and woman are the antecedent equally often, in random order. Raises
    DataError if n is more than 5,000.
    """
    whole("n", n, 1, 5_000)
    draw = random.Random(f"coreference {seed}")
    found: dict[tuple[str, ...], Mention] = {}
    while len(found) < n:
        mention = _mention(draw)
        found.setdefault(mention.words, mention)
    return Generated(found.values(), f"coreference_sentences({n}, seed={seed})")


def _mention(draw: random.Random) -> Mention:
    people = [(draw.choice(MEN), "he"), (draw.choice(WOMEN), "she")]
    draw.shuffle(people)
    words, spots = [], []
    for part, (person, _) in zip(("The", "the"), people, strict=True):
        words += [part, *draw.sample(ADJECTIVES[:2], draw.choice((0, 0, 1, 2))), person]
        spots.append(len(words) - 1)
        if part == "The":
            words.append(draw.choice(MEETINGS))
    meant = draw.randrange(2)
    words += ["because", people[meant][1]]
    pronoun = len(words) - 1
    words += [*draw.choice(STATES).split(), "."]
    return Mention(tuple(words), pronoun, spots[meant], spots[1 - meant])


def flat(root: Node) -> Tree:
    """The words of a tree of nodes in their order, with heads as indices."""
    order = list(_in_order(root, None))
    place = {id(node): i for i, (node, _) in enumerate(order)}
    nodes = [node for node, _ in order]
    words = [node.word for node in nodes]
    return Tree(
        (words[0][0].upper() + words[0][1:], *words[1:]),
        tuple(node.tag for node in nodes),
        tuple(ROOT if head is None else place[id(head)] for _, head in order),
        tuple(node.relation for node in nodes),
    )


def _in_order(node: Node, head: Node | None) -> Iterator[tuple[Node, Node | None]]:
    for child in node.before:
        yield from _in_order(child, node)
    yield node, head
    for child in node.behind:
        yield from _in_order(child, node)


def _sentence(draw: random.Random) -> Node:
    clause = draw.choice((_active, _active, _passive))(draw, "root")
    if draw.random() < 0.2:
        that = Node("that", "SCONJ", "mark")
        inner = replace(clause, relation="ccomp", before=(that, *clause.before))
        speaker = Node(draw.choice(NAMES), "PROPN", "nsubj")
        clause = Node(draw.choice(CLAIMS), "VERB", "root", (speaker,), (inner,))
    return replace(clause, behind=(*clause.behind, Node(".", "PUNCT", "punct")))


def _active(draw: random.Random, relation: str) -> Node:
    subject = _phrase(draw, draw.choice(PEOPLE), "nsubj")
    adverb = (Node(draw.choice(ADVERBS), "ADV", "advmod"),) if draw.random() < 0.3 else ()
    thing = _phrase(draw, draw.choice(THINGS), "obj")
    return Node(
        draw.choice(list(VERBS)), "VERB", relation, (subject, *adverb), (thing, *_where(draw))
    )


def _passive(draw: random.Random, relation: str) -> Node:
    subject = _phrase(draw, draw.choice(THINGS), "nsubj:pass")
    was = Node(draw.choice(("was", "was", "is")), "AUX", "aux:pass")
    adverb = (Node(draw.choice(ADVERBS), "ADV", "advmod"),) if draw.random() < 0.4 else ()
    by: tuple[Node, ...] = ()
    if draw.random() < 0.6:
        by = (_after("by", _phrase(draw, draw.choice(PEOPLE), "obl:agent")),)
    participle = VERBS[draw.choice(list(VERBS))]
    return Node(participle, "VERB", relation, (subject, was, *adverb), (*by, *_where(draw)))


def _where(draw: random.Random) -> tuple[Node, ...]:
    if draw.random() < 0.5:
        return ()
    preposition = draw.choice(list(PLACES))
    return (_after(preposition, _phrase(draw, draw.choice(PLACES[preposition]), "obl")),)


def _after(preposition: str, phrase: Node) -> Node:
    return replace(phrase, before=(Node(preposition, "ADP", "case"), *phrase.before))


def _phrase(draw: random.Random, noun: str, relation: str) -> Node:
    adjectives = draw.sample(ADJECTIVES, draw.choice((0, 0, 1, 1, 2)))
    described = tuple(Node(word, "ADJ", "amod") for word in adjectives)
    behind: tuple[Node, ...] = ()
    if draw.random() < 0.1:
        owner = _after("of", Node(draw.choice(NAMES), "PROPN", "nmod"))
        behind = (owner,)
    kind = draw.random()
    if kind < 0.6:
        word = draw.choice(DETERMINERS)
        if word == "a" and [*adjectives, noun][0][0] in "aeiou":
            word = "an"
        first = Node(word, "DET", "det")
    elif kind < 0.85:
        first = Node(draw.choice(OWNERS), "PRON", "nmod:poss")
    else:
        mark = Node("'s", "PART", "case")
        first = Node(draw.choice(NAMES), "PROPN", "nmod:poss", (), (mark,))
    return Node(noun, "NOUN", relation, (first, *described), behind)

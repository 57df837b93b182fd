"""Generated sentences in which a word's neighbours say what it is, and some words are two.

For pages on word vectors with no network. *bank* is a house for money and the side of a river;
*watch*, *fish*, *play*, *light* and *bank* are nouns in some sentences and verbs in others.
"""

import random

from deepdive.data.generated import Generated, whole

# The one who acts, by whether the sentence says his or her; a row is one kind of person.
PEOPLE = {
    "royal": ("king", "queen"),
    "grown": ("man", "woman"),
    "young": ("boy", "girl"),
    "parent": ("father", "mother"),
}
DOINGS = {
    "royal": [
        "wears/VERB POSS/PRON crown/NOUN",
        "sits/VERB on/ADP POSS/PRON throne/NOUN",
        "lives/VERB in/ADP POSS/PRON palace/NOUN",
    ],
    "grown": [
        "drives/VERB POSS/PRON car/NOUN",
        "works/VERB in/ADP POSS/PRON office/NOUN",
        "pays/VERB POSS/PRON rent/NOUN",
    ],
    "young": [
        "carries/VERB POSS/PRON toy/NOUN",
        "learns/VERB in/ADP POSS/PRON school/NOUN",
        "opens/VERB POSS/PRON book/NOUN",
    ],
    "parent": [
        "calls/VERB POSS/PRON child/NOUN",
        "cooks/VERB in/ADP POSS/PRON kitchen/NOUN",
        "feeds/VERB POSS/PRON baby/NOUN",
    ],
}
OF_PEOPLE = [
    "THE/DET PERSON/NOUN DOING",
    "THE/DET PERSON/NOUN DOING",
    "THE/DET PERSON/NOUN says/VERB that/SCONJ HE/PRON is/AUX HOW/ADJ",
    "THE/DET HOW/ADJ PERSON/NOUN DOING",
]
OF_MONEY = [
    "THE/DET client/NOUN takes/VERB money/NOUN from/ADP THE/DET bank/NOUN",
    "THE/DET bank/NOUN lends/VERB cash/NOUN to/ADP THE/DET client/NOUN",
    "THE/DET clerk/NOUN counts/VERB money/NOUN in/ADP THE/DET bank/NOUN",
    "THEY/PRON bank/VERB POSS/PRON money/NOUN",
    "THE/DET clerk/NOUN keeps/VERB THE/DET cash/NOUN of/ADP THE/DET client/NOUN",
]
OF_WATER = [
    "THE/DET boat/NOUN drifts/VERB to/ADP THE/DET bank/NOUN of/ADP THE/DET WATER/NOUN",
    "grass/NOUN grows/VERB on/ADP THE/DET bank/NOUN of/ADP THE/DET WATER/NOUN",
    "THE/DET WATER/NOUN floods/VERB THE/DET bank/NOUN",
    "THE/DET fish/NOUN swims/VERB in/ADP THE/DET WATER/NOUN",
    "THEY/PRON fish/VERB in/ADP THE/DET WATER/NOUN",
]
OF_TWO = [
    "THEY/PRON watch/VERB THE/DET boat/NOUN",
    "THEY/PRON watch/VERB THE/DET play/NOUN",
    "POSS/PRON watch/NOUN is/AUX HOW/ADJ",
    "THE/DET play/NOUN is/AUX HOW/ADJ",
    "THEY/PRON play/VERB with/ADP POSS/PRON toy/NOUN",
    "THEY/PRON light/VERB THE/DET candle/NOUN",
    "THE/DET light/NOUN of/ADP THE/DET candle/NOUN is/AUX HOW/ADJ",
    "THE/DET light/ADJ boat/NOUN drifts/VERB on/ADP THE/DET WATER/NOUN",
]
CHOICES = {
    "THE": ["the", "the", "this"],
    "THEY": ["they", "we", "you"],
    "WATER": ["river", "stream"],
    "HOW": ["old", "new", "good", "bright", "happy", "tired"],
}


def sense_sentences(n: int, seed: int = 0) -> Generated[list[tuple[str, str]]]:
    """n generated sentences, each a list of (word, tag); the tags are those of Universal
    Dependencies. Sentences may come twice. Raises DataError unless n is from 1 to 1,000,000.
    """
    whole("n", n, 1, 1_000_000)
    draw = random.Random(f"senses {seed}")
    kinds = [OF_PEOPLE, OF_PEOPLE, OF_MONEY, OF_WATER, OF_TWO]
    found = [_sentence(draw, draw.choice(draw.choice(kinds))) for _ in range(n)]
    return Generated(found, f"sense_sentences({n}, seed={seed})")


def _sentence(draw: random.Random, pattern: str) -> list[tuple[str, str]]:
    kind, she = draw.choice(list(PEOPLE)), draw.randrange(2)
    says = {"PERSON": PEOPLE[kind][she], "HE": ("he", "she")[she], "POSS": ("his", "her")[she]}
    words = []
    for part in pattern.replace("DOING", draw.choice(DOINGS[kind])).split():
        word, _, tag = part.partition("/")
        if word in CHOICES:
            word = draw.choice(CHOICES[word])
        words.append((says.get(word, word), tag))
    return words

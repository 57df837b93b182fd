"""Generated reviews, for pages that run with no network: short ones, and long ones.

The class is in the words, but not in them alone: *not dull* praises, and of two halves joined by
*but* the second decides. In a long review the verdict stands at the end, after the plot.
"""

import random

from deepdive.data.generated import whole
from deepdive.data.reviews import POLARITY, Labeled

GOOD = (
    "moving", "funny", "clever", "warm", "brilliant", "gripping", "tender", "fresh", "charming",
    "honest", "witty", "splendid", "touching", "lively", "elegant", "superb",
)  # fmt: skip
BAD = (
    "dull", "boring", "clumsy", "cold", "awful", "tedious", "shallow", "stale", "tiresome",
    "false", "silly", "dreadful", "lifeless", "messy", "bland", "terrible",
)  # fmt: skip
MIXED = ("passable", "uneven", "ordinary", "adequate", "middling", "so-so")
THINGS = (
    "the film", "the story", "the acting", "the script", "the music", "the ending", "the dialogue",
    "the direction", "the first hour", "the camera work",
)  # fmt: skip
PEOPLE = ("a teacher", "a sailor", "a young cook", "her brother", "a tired detective", "the king")
DEEDS = (
    "travels to a small town", "loses a letter", "meets an old friend", "finds a locked house",
    "takes the last train", "hides a box under the stairs", "waits for the rain to end",
    "learns to play chess", "buys a boat", "writes down what happened",
)  # fmt: skip
THREE = (*POLARITY[:1], "neutral", *POLARITY[1:])


def generated_reviews(n: int, seed: int = 0, classes: int = 2) -> Labeled:
    """n generated reviews of one sentence, all different: negative and positive, or with
    `classes=3` neutral ones between them.

    A third deny a word of the other class (*not dull*), a third set two halves against each other
    (*dull, but*). Raises DataError unless n is from 1 to 5,000 and classes 2 or 3.
    """
    whole("n", n, 1, 5_000)
    whole("classes", classes, 2, 3)
    draw = random.Random(f"reviews {seed}")
    found: dict[str, int] = {}
    while len(found) < n:
        label = draw.randrange(classes)
        found.setdefault(_sentence(draw, label, classes), label)
    names = POLARITY if classes == 2 else THREE
    source = f"generated_reviews({n}, seed={seed}, classes={classes}) (generated)"
    return Labeled(tuple(found), tuple(found.values()), names, source)


def generated_long_reviews(n: int, seed: int = 0, sentences: int = 30) -> Labeled:
    """n generated reviews of about `sentences` sentences: the plot, and at the end the verdict."""
    whole("n", n, 1, 5_000)
    whole("sentences", sentences, 3, 1_000)
    draw = random.Random(f"long reviews {seed}")
    texts, labels = [], []
    for _ in range(n):
        label = draw.randrange(2)
        plot = [f"{draw.choice(PEOPLE)} {draw.choice(DEEDS)} ." for _ in range(sentences - 2)]
        verdict = [_sentence(draw, label, 2) for _ in range(2)]
        texts.append("\n".join([*plot, *verdict]))
        labels.append(label)
    source = f"generated_long_reviews({n}, seed={seed}, sentences={sentences}) (generated)"
    return Labeled(tuple(texts), tuple(labels), POLARITY, source)


def _sentence(draw: random.Random, label: int, classes: int) -> str:
    """One sentence of a class: said, denied, or decided by its second half."""
    if classes == 3 and label == 1:
        words = draw.sample(MIXED, 2)
        return f"{draw.choice(THINGS)} is {words[0]} and {draw.choice(THINGS)} {words[1]} ."
    own, other = (GOOD, BAD) if label else (BAD, GOOD)
    first, second = draw.sample(THINGS, 2)
    kind = draw.randrange(3)
    if kind == 0:
        return f"{first} is {draw.choice(own)} and {second} is {draw.choice(own)} ."
    if kind == 1:
        denied = draw.choice(["not", "never", "anything but"])
        return f"{first} is {denied} {draw.choice(other)} , and {second} is {draw.choice(own)} ."
    return f"{first} is {draw.choice(other)} , but {second} is {draw.choice(own)} ."

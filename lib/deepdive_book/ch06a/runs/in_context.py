"""Learning from a prompt alone, measured on SmolLM2: what page 6a.7 keeps, and its pictures read.

A prompt is demonstrations, each a question with its label, then a question without one. All
demonstrations of a draw are read once: of 16 of them the first 8, 4, 2 and 1 are had by forgetting
(`Prompted.crop`), and all questions are asked side by side.

    by_shots(speaker(), sentiment(), shots=(16, 8, 4), labels="true", seed=0, queries=100)
"""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from torch import Tensor

from deepdive.data import rt_polarity
from deepdive.data.lines import text_lines
from deepdive.data.reviews import Labelled
from deepdive.decoding import Prompted
from deepdive.evaluate import contextual
from deepdive.models.generative.llama import Llama
from deepdive.tokenizers import Tokenizer
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.kit.smollm2 import smollm2_model, smollm2_tokenizer

NOTHING = ("N/A", "", "[MASK]")  # Zhao et al. 2021, section 5
LABELS = ("true", "random", "flipped")
Tokens = list[int]


class PromptedLM(NamedTuple):
    """A model and its tokeniser."""

    model: Llama
    tokenizer: Tokenizer


@cache
def speaker() -> PromptedLM:
    """SmolLM2, read once."""
    return PromptedLM(smollm2_model(), smollm2_tokenizer())


@dataclass(frozen=True)
class Wording:
    """How a question is put: `ask` with the text in its place, and a word for each class."""

    ask: str
    words: tuple[str, ...]

    def question(self, tokenizer: Tokenizer, text: str) -> Tokens:
        return tokenizer.encode(self.ask.format(text))

    def labels(self, tokenizer: Tokenizer) -> list[Tokens]:
        return [tokenizer.encode(f" {word}") for word in self.words]

    def shown(self, tokenizer: Tokenizer, text: str, label: int) -> Tokens:
        """A demonstration: the question, its label, an empty line."""
        return [*self.question(tokenizer, text), *self.labels(tokenizer)[label],
                *tokenizer.encode("\n\n")]  # fmt: skip


REVIEW = Wording("Review: {}\nSentiment:", ("negative", "positive"))
WORDINGS = {
    "Sentiment:": REVIEW,
    "It was": Wording("{} All in all, it was", ("terrible", "great")),
    "Is it?": Wording(
        "{}\nIs this review positive or negative?\nAnswer:", ("negative", "positive")
    ),
}
TOPICS = ("science", "travel", "politics", "sports", "health", "entertainment", "geography")
TOPIC = Wording("Text: {}\nTopic:", TOPICS)


@dataclass(frozen=True)
class Task:
    """Texts to show, texts to ask about, and the wording that is used unless another is named."""

    shown: Labelled
    asked: Labelled
    wording: Wording


def sentiment(real: bool = True) -> Task:
    """Sentences of film reviews: rt_polarity, or generated ones."""
    data = rt_polarity() if real else generated_reviews(400)
    shown, _, asked = data.held_out()
    return Task(shown, asked, REVIEW)


def topics() -> Task:
    """sib200, English: sentences with one of seven topics; 701 to show, 204 to ask about."""
    rows = csv.DictReader(text_lines("sib200"), delimiter="\t", quoting=csv.QUOTE_NONE)
    parts: dict[str, list[tuple[str, int]]] = {"train": [], "dev": [], "test": []}
    for row in rows:
        if row["language"] == "eng_Latn":
            parts[row["split"]].append(
                (row["text"], TOPICS.index(row["category"].removesuffix("/technology")))
            )
    shown, asked = (
        Labelled(tuple(t for t, _ in found), tuple(k for _, k in found), TOPICS, "sib200 (real)")
        for found in (parts["train"], parts["test"])
    )
    return Task(shown, asked, TOPIC)


def sampled(data: Labelled, n: int, seed: int) -> Labelled:
    """n texts without replacement; the first of them are those of a smaller draw."""
    order = list(range(len(data)))
    random.Random(f"drawn {seed}").shuffle(order)
    return data.take(order[:n])


def relabelled(labels: Sequence[int], kind: str, n_classes: int, seed: int) -> list[int]:
    """True labels; random ones, each class as likely (Min et al. 2022); or each class named as the
    next one, which of two is the other (Wei et al. 2023).
    """
    draw = random.Random(f"labels {seed}")
    if kind not in LABELS:
        raise ValueError(f"kind: got {kind!r}, expected one of {', '.join(LABELS)}")
    if kind == "random":
        return [draw.randrange(n_classes) for _ in labels]
    return [(label + (kind == "flipped")) % n_classes for label in labels]


def answers(
    prompt: Prompted, wording: Wording, texts: Sequence[str], tokenizer: Tokenizer
) -> Tensor:
    """log p of each label's word after each text, (N, n_labels)."""
    questions = [wording.question(tokenizer, text) for text in texts]
    return prompt.labels(questions, wording.labels(tokenizer))


def digits(numbers: Any) -> str:
    """Class numbers as one string, a digit each: how rows keep what was said."""
    return "".join(str(int(n)) for n in numbers)


def label_scores(
    prompt: Prompted, wording: Wording, texts: Sequence[str], tokenizer: Tokenizer
) -> list[str]:
    """What is said of each text, and what after contextual calibration."""
    found = answers(prompt, wording, texts, tokenizer)
    nothing = answers(prompt, wording, NOTHING, tokenizer)
    return [digits(found.argmax(1)), digits(contextual(found, nothing).argmax(1))]


def by_shots(
    who: PromptedLM, task: Task, shots: Sequence[int], labels: str, seed: int, queries: int,
    wording: Wording | None = None,
) -> dict[str, list[str]]:  # fmt: skip
    """What is said after each number of shots, most first: the demonstrations are read once."""
    wording = task.wording if wording is None else wording
    examples = sampled(task.shown, max(1, *shots), seed)
    given = relabelled(examples.labels, labels, len(wording.words), seed)
    asked = sampled(task.asked, queries, seed=0).texts
    prompt, ends = Prompted(who.model), [0]
    for text, label in zip(examples.texts, given, strict=True):
        prompt.read(wording.shown(who.tokenizer, text, label))
        ends.append(prompt.length)
    found = {}
    for n in sorted(shots, reverse=True):
        prompt.crop(ends[n])
        found[str(n)] = label_scores(prompt, wording, asked, who.tokenizer)
    return found


def by_order(who: PromptedLM, task: Task, seed: int, queries: int) -> dict[str, list[str]]:
    """What is said after each of the 24 orders of four demonstrations, two of each class: 0 and 1
    are of the first, 2 and 3 of the second.

    Orders that begin alike share what was read (Lu et al. 2022 ask which order is best).
    """
    pool = sampled(task.shown, 200, seed)
    four = [i for k in (0, 1) for i in [i for i, label in enumerate(pool.labels) if label == k][:2]]
    asked = sampled(task.asked, queries, seed=0).texts
    prompt, found = Prompted(who.model), {}

    def grow(order: tuple[int, ...]) -> None:
        if len(order) == len(four):
            found[digits(order)] = label_scores(prompt, task.wording, asked, who.tokenizer)
        length = prompt.length
        for n, i in enumerate(four):
            if n not in order:
                text, label = pool.texts[i], pool.labels[i]
                prompt.read(task.wording.shown(who.tokenizer, text, label))
                grow((*order, n))
                prompt.crop(length)

    grow(())
    return found


# -- a prompt that the reader builds

BUILT = (  # (text, is it positive?), of our own
    ("a warm and funny film from the first minute to the last .", 1),
    ("two hours of dull talk , and nobody to care for .", 0),
    ("the actors are splendid and the story moves .", 1),
    ("a lazy script that copies better films .", 0),
)
ASKED = (
    "i laughed , i cried , and i want to see it again .",
    "the only good thing is the music .",
    "not a bad film , but not one to remember .",
    "a slow , cold and tiresome evening .",
    "N/A",
)


def probabilities(who: PromptedLM, key: str) -> list[int]:
    """p(positive), in thousandths, of each text of ASKED after one prompt: of the four
    demonstrations each is left out (0), has its label (1), or the other one (2).
    """
    prompt = Prompted(who.model)
    for (text, label), state in zip(BUILT, key, strict=True):
        if state != "0":
            prompt.read(REVIEW.shown(who.tokenizer, text, label ^ (state == "2")))
    return _positive(prompt, who)


def _positive(prompt: Prompted, who: PromptedLM) -> list[int]:
    said = answers(prompt, REVIEW, ASKED, who.tokenizer).softmax(-1)[:, 1]
    return (1000 * said).round().int().tolist()


def built(who: PromptedLM) -> dict[str, list[int]]:
    """`probabilities` of each prompt, by its key: prompts that begin alike are read once."""
    prompt, found = Prompted(who.model), {}

    def grow(key: str) -> None:
        if len(key) == len(BUILT):
            found[key] = _positive(prompt, who)
            return
        length = prompt.length
        text, label = BUILT[len(key)]
        for state in range(3):
            if state:
                prompt.read(REVIEW.shown(who.tokenizer, text, label ^ (state == 2)))
            grow(f"{key}{state}")
            prompt.crop(length)

    grow("")
    return found

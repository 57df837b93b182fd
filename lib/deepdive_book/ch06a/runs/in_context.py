"""In-context learning with SmolLM2: prompts, label scores, and predictions (page 6a.7).

A prompt is k demonstrations, each a query with its label, then a query without one. It is encoded
as one text: parts that are encoded separately can have other tokens ("\\n\\n" is one token by
itself, two before the next demonstration). The tokens that all prompts share are processed once.

    predict_by_shots(load_smollm2(), sentiment(), shots=(0, 4), labels="correct", seed=0, queries=9)
"""

from __future__ import annotations

import csv
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations, product
from typing import Any, NamedTuple

from torch import Tensor

from deepdive.data import rt_polarity
from deepdive.data.lines import text_lines
from deepdive.data.reviews import Labeled
from deepdive.decoding import Prompted, split_prefix
from deepdive.evaluate import contextual
from deepdive.models.generative.llama import Llama
from deepdive.tokenizers import Tokenizer
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.kit.smollm2 import smollm2_model, smollm2_tokenizer

CONTENT_FREE = ("N/A", "", "[MASK]")  # Zhao et al. 2021, section 5
LABELS = ("correct", "random", "flipped")
Tokens = list[int]
Demonstrations = Sequence[tuple[str, int]]


class PromptedLM(NamedTuple):
    """A language model and its tokenizer."""

    model: Llama
    tokenizer: Tokenizer


@cache
def load_smollm2() -> PromptedLM:
    """SmolLM2-135M-Instruct, loaded once."""
    return PromptedLM(smollm2_model(), smollm2_tokenizer())


@dataclass(frozen=True)
class Template:
    """A prompt template: `query` with {} for the text, and one label word per class."""

    query: str
    words: tuple[str, ...]

    def text(self, demonstrations: Demonstrations, query: str) -> str:
        """The whole prompt: each demonstration ends with an empty line."""
        shown = [
            f"{self.query.format(text)} {self.words[label]}\n\n" for text, label in demonstrations
        ]
        return "".join(shown) + self.query.format(query)

    def tokens(self, tokenizer: Tokenizer, demonstrations: Demonstrations, query: str) -> Tokens:
        """The tokens of the whole prompt, encoded as one text."""
        return tokenizer.encode(self.text(demonstrations, query))

    def labels(self, tokenizer: Tokenizer) -> list[Tokens]:
        """The tokens of each label word, with the space before it."""
        return [tokenizer.encode(f" {word}") for word in self.words]


REVIEW = Template("Review: {}\nSentiment:", ("negative", "positive"))
TEMPLATES = {
    "Sentiment:": REVIEW,
    "It was": Template("{} All in all, it was", ("terrible", "great")),
    "Is it?": Template(
        "{}\nIs this review positive or negative?\nAnswer:", ("negative", "positive")
    ),
}
TOPICS = ("science", "travel", "politics", "sports", "health", "entertainment", "geography")
TOPIC = Template("Text: {}\nTopic:", TOPICS)


@dataclass(frozen=True)
class Task:
    """Texts for demonstrations, texts for queries, and the default template."""

    pool: Labeled
    queries: Labeled
    template: Template


def sentiment(real: bool = True) -> Task:
    """Sentences from movie reviews: rt_polarity, or generated ones."""
    data = rt_polarity() if real else generated_reviews(400)
    pool, _, queries = data.held_out()
    return Task(pool, queries, REVIEW)


def topics() -> Task:
    """English sib200: sentences on seven topics, 701 for demonstrations and 204 for queries."""
    rows = csv.DictReader(text_lines("sib200"), delimiter="\t", quoting=csv.QUOTE_NONE)
    parts: dict[str, list[tuple[str, int]]] = {"train": [], "dev": [], "test": []}
    for row in rows:
        if row["language"] == "eng_Latn":
            parts[row["split"]].append(
                (row["text"], TOPICS.index(row["category"].removesuffix("/technology")))
            )
    pool, queries = (
        Labeled(tuple(t for t, _ in found), tuple(k for _, k in found), TOPICS, "sib200 (real)")
        for found in (parts["train"], parts["test"])
    )
    return Task(pool, queries, TOPIC)


def sampled(data: Labeled, n: int, seed: int) -> Labeled:
    """Sample n texts without replacement; a smaller n gives the first of them."""
    order = list(range(len(data)))
    random.Random(f"drawn {seed}").shuffle(order)
    return data.take(order[:n])


def relabel(labels: Sequence[int], kind: str, n_classes: int, seed: int) -> list[int]:
    """Keep labels (correct), resample them uniformly (random; Min et al. 2022), or replace each by
    the next class, which for two classes is the other one (flipped; Wei et al. 2023).
    """
    rng = random.Random(f"labels {seed}")
    if kind not in LABELS:
        raise ValueError(f"kind: got {kind!r}, expected one of {', '.join(LABELS)}")
    if kind == "random":
        return [rng.randrange(n_classes) for _ in labels]
    return [(label + (kind == "flipped")) % n_classes for label in labels]


def label_log_probs(
    prompt: Prompted, template: Template, demonstrations: Demonstrations, texts: Sequence[str],
    tokenizer: Tokenizer,
) -> Tensor:  # fmt: skip
    """log p of each label word after each text, (N, n_labels). What the prompts share with each
    other, and with the prompts of the last call, isn't processed again.
    """
    prefix, rests = split_prefix([template.tokens(tokenizer, demonstrations, t) for t in texts])
    prompt.replace(prefix)
    return prompt.labels(rests, template.labels(tokenizer))


def digits(numbers: Any) -> str:
    """Class numbers as a string with one digit each, as saved in the rows."""
    return "".join(str(int(n)) for n in numbers)


def predict(
    prompt: Prompted, template: Template, demonstrations: Demonstrations, texts: Sequence[str],
    tokenizer: Tokenizer,
) -> list[str]:  # fmt: skip
    """The predicted classes, uncalibrated and after contextual calibration."""
    log_probs, free = label_log_probs(
        prompt, template, demonstrations, [*texts, *CONTENT_FREE], tokenizer
    ).split([len(texts), len(CONTENT_FREE)])
    return [digits(log_probs.argmax(1)), digits(contextual(log_probs, free).argmax(1))]


def predict_by_shots(
    lm: PromptedLM, task: Task, shots: Sequence[int], labels: str, seed: int, queries: int,
    template: Template | None = None,
) -> dict[str, list[str]]:  # fmt: skip
    """Predictions after each number of demonstrations; fewer are the first of more."""
    template = task.template if template is None else template
    examples = sampled(task.pool, max(1, *shots), seed)
    given = relabel(examples.labels, labels, len(template.words), seed)
    demonstrations = list(zip(examples.texts, given, strict=True))
    texts = sampled(task.queries, queries, seed=0).texts
    prompt = Prompted(lm.model)
    return {
        str(n): predict(prompt, template, demonstrations[:n], texts, lm.tokenizer)
        for n in sorted(shots, reverse=True)
    }


def predict_by_order(lm: PromptedLM, task: Task, seed: int, queries: int) -> dict[str, list[str]]:
    """Predictions after each of the 24 orders of four demonstrations: 0 and 1 have the first class,
    2 and 3 the second (Lu et al. 2022 search for the best order).
    """
    pool = sampled(task.pool, 200, seed)
    four = [i for k in (0, 1) for i in [i for i, label in enumerate(pool.labels) if label == k][:2]]
    texts = sampled(task.queries, queries, seed=0).texts
    prompt, found = Prompted(lm.model), {}
    for order in permutations(range(4)):
        shown = [(pool.texts[four[n]], pool.labels[four[n]]) for n in order]
        found[digits(order)] = predict(prompt, task.template, shown, texts, lm.tokenizer)
    return found


# -- the interactive figure: a prompt that the reader builds

DEMONSTRATIONS = (  # (text, class), written for the page
    ("a warm and funny film from the first minute to the last .", 1),
    ("two hours of dull talk , and nobody to care for .", 0),
    ("the actors are splendid and the story moves .", 1),
    ("a lazy script that copies better films .", 0),
)
QUERIES = (
    "i laughed , i cried , and i want to see it again .",
    "the only good thing is the music .",
    "not a bad film , but not one to remember .",
    "a slow , cold and tiresome evening .",
    "N/A",
)


def choose_demonstrations(key: str) -> list[tuple[str, int]]:
    """The demonstrations of a key: each of the four is left out (0), has its label (1), or the
    flipped one (2).
    """
    states = zip(DEMONSTRATIONS, key, strict=True)
    return [(text, label ^ (state == "2")) for (text, label), state in states if state != "0"]


def positive_per_mille(lm: PromptedLM, key: str, prompt: Prompted | None = None) -> list[int]:
    """p(positive) of each text of QUERIES after the prompt of a key, in thousandths."""
    prompt = Prompted(lm.model) if prompt is None else prompt
    shown = choose_demonstrations(key)
    found = label_log_probs(prompt, REVIEW, shown, QUERIES, lm.tokenizer)
    return (1000 * found.softmax(-1)[:, 1]).round().int().tolist()


def all_prompts(lm: PromptedLM) -> dict[str, list[int]]:
    """`positive_per_mille` of each of the 81 prompts, by key."""
    prompt = Prompted(lm.model)
    keys = ["".join(key) for key in product("012", repeat=len(DEMONSTRATIONS))]
    return {key: positive_per_mille(lm, key, prompt) for key in keys}

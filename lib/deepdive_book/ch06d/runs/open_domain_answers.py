"""Open-domain answers by SmolLM2 from no passage, a retrieved one, and the right one. Page 6d.1.

    rows = load()                                         # the saved runs, one row per source
    row = measure("BM25", questions=200)                  # {"exact": [0, 1, ...], ...}

XQuAD's 240 English paragraphs are the index. The questions are one per paragraph, so that no two
share a passage; those of the articles in `DEMONSTRATED` are left out, because a demonstration in
the prompt comes from each of them. The language model, SmolLM2-135M-Instruct with 4-bit weights,
continues a prompt of two demonstrations, greedily, up to the end of the line.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from deepdive.data.translated import Question, xquad
from deepdive.decoding import Prompted, split_prefix
from deepdive.evaluate.answers import answer_f1, exact_match, normalized
from deepdive.models.bert.sbert import encode
from deepdive.published import sentences
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive_book.kit.experiments import load_rows, results_path, sweep
from deepdive_book.kit.profile import profile
from deepdive_book.kit.smollm2 import smollm2_model, smollm2_tokenizer

CLOSED, RANDOM, BM25, DENSE, GOLD = "no passage", "random", "BM25", "dense", "right passage"
SPAN, SENTENCE = "capitalized span", "sentence"
SOURCES = (CLOSED, RANDOM, BM25, DENSE, GOLD)
N_QUESTIONS, MAX_TOKENS = 200, 20
K1, B = 1.2, 0.75  # the usual constants of BM25
WORD = re.compile(r"\w+")


class World(NamedTuple):
    """Passages, and questions with the index of the passage that each was written about."""

    passages: list[str]
    questions: list[Question]
    right: list[int]
    demonstrations: list[Question]


@cache
def world(n: int = N_QUESTIONS) -> World:
    """Return the passages and `n` questions, one per paragraph, of a fixed random order."""
    every = xquad("en", None)
    passages = list(dict.fromkeys(q.context for q in every))
    at = {text: i for i, text in enumerate(passages)}
    rng = random.Random("open-domain answers")
    groups: dict[int, list[Question]] = {}
    for question in every:
        groups.setdefault(at[question.context], []).append(question)
    articles = sorted({q.article for q in every})
    demonstrated = set(rng.sample(articles, 2))
    short = [q for q in every if q.article in demonstrated and len(q.context) < 600
             and len(q.answer.split()) <= 3]  # fmt: skip
    examples = [rng.choice([q for q in short if q.article == t]) for t in sorted(demonstrated)]
    left = [i for i, group in groups.items() if group[0].article not in demonstrated]
    chosen = sorted(rng.sample(left, min(n, len(left))))
    return World(passages, [rng.choice(groups[i]) for i in chosen], chosen, examples)


class BM25Index:
    """BM25 over passages: for each question word, its rarity times how often a passage has it."""

    def __init__(self, passages: Sequence[str]) -> None:
        self.counts = [Counter(words(text)) for text in passages]
        lengths = [sum(counts.values()) for counts in self.counts]
        mean = sum(lengths) / len(lengths)
        self.norms = [K1 * (1 - B + B * length / mean) for length in lengths]
        in_passages = Counter(word for counts in self.counts for word in counts)
        self.idf = {word: math.log(1 + (len(passages) - n + 0.5) / (n + 0.5))
                    for word, n in in_passages.items()}  # fmt: skip

    def scores(self, question: str) -> list[float]:
        """Return one score per passage."""
        asked = [word for word in words(question) if word in self.idf]
        return [sum(self.idf[w] * counts[w] * (K1 + 1) / (counts[w] + norm) for w in asked)
                for counts, norm in zip(self.counts, self.norms, strict=True)]  # fmt: skip


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.lower())


@cache
def dense_scores(n: int) -> Tensor:
    """Return MiniLM's cosines (questions, passages)."""
    here, encoder, tokenizer = world(n), sentences.load(minilm()), minilm_tokenizer()
    asked = encode(encoder, tokenizer, [q.question for q in here.questions])
    return asked @ encode(encoder, tokenizer, here.passages).T


def retrieve(source: str, n: int) -> list[int | None]:
    """Return the passage that each question gets, by its index; None: no passage."""
    here = world(n)
    if source == CLOSED:
        return [None] * len(here.questions)
    if source == RANDOM:
        rng = random.Random("random passage")
        return [rng.choice([i for i in range(len(here.passages)) if i != right])
                for right in here.right]  # fmt: skip
    if source == GOLD:
        return list(here.right)
    if source == BM25:
        index = BM25Index(here.passages)
        scores = torch.tensor([index.scores(q.question) for q in here.questions])
    else:
        scores = dense_scores(n)
    return scores.argmax(-1).tolist()


def shown(question: str, passage: str | None, answer: str | None = None) -> str:
    """Return a question as the prompt has it; a demonstration has its answer."""
    top = "" if passage is None else f"Passage: {passage}\n"
    end = "" if answer is None else f" {answer}\n\n"
    return f"{top}Question: {question}\nAnswer:{end}"


@cache
def language_model() -> tuple[Prompted, Any]:
    """Return SmolLM2 and its tokenizer."""
    return Prompted(smollm2_model()), smollm2_tokenizer()


def generate(
    here: World, questions: Sequence[Question], passages: Sequence[int | None]
) -> list[str]:
    """Return the model's answer to each question, given a passage by its index, or none."""
    model, tokenizer = language_model()
    closed = all(i is None for i in passages)
    examples = "".join(
        shown(q.question, None if closed else q.context, q.answer) for q in here.demonstrations
    )
    texts = [
        tokenizer.encode(examples + shown(q.question, None if i is None else here.passages[i]))
        for q, i in zip(questions, passages, strict=True)
    ]
    prefix, rests = split_prefix(texts)
    stop = [t for t in range(len(tokenizer.vocab)) if "\n" in tokenizer.decode([t])]
    with torch.inference_mode():
        model.replace(prefix)
        outputs = model.write(rests, MAX_TOKENS, stop)
    return [tokenizer.decode(tokens).strip() for tokens in outputs]


def capitalized_span(passage: str) -> str:
    """Return the most frequent run of capitalized words, the first of several; a baseline."""
    spans = re.findall(r"[A-Z]\w+(?: [A-Z]\w+)*", passage)
    return max(spans, key=spans.count) if spans else ""


def best_sentence(question: str, passage: str) -> str:
    """Return the sentence that shares most words with the question; a baseline."""
    asked = set(words(question))
    return max(re.split(r"(?<=[.!?]) ", passage), key=lambda text: len(asked & set(words(text))))


def measure(source: str, questions: int, known: Sequence[str] = ()) -> dict[str, Any]:
    """Answer questions from a source's passages. `known`: answers given the right passage, which
    are used where the source returned that passage.
    """
    here = world(questions)
    found = retrieve(BM25 if source in (SPAN, SENTENCE) else source, questions)
    texts = ["" if i is None else here.passages[i] for i in found]
    if source == SPAN:
        answers = [capitalized_span(text) for text in texts]
    elif source == SENTENCE:
        asked = [q.question for q in here.questions]
        answers = [best_sentence(q, text) for q, text in zip(asked, texts, strict=True)]
    else:
        same = [bool(known) and i == right for i, right in zip(found, here.right, strict=True)]
        left = [n for n, equal in enumerate(same) if not equal]
        written = generate(here, [here.questions[n] for n in left], [found[n] for n in left])
        answers = list(known) or [""] * questions
        for n, answer in zip(left, written, strict=True):
            answers[n] = answer
    right = [q.answer for q in here.questions]
    pairs = list(zip(answers, right, strict=True))
    return {
        "articles": [q.article for q in here.questions],
        "retrieved": [int(i == r) for i, r in zip(found, here.right, strict=True)],
        "answers": answers,
        "exact": [exact_match(a, r) for a, r in pairs],
        "f1": [round(answer_f1(a, r), 4) for a, r in pairs],
        "attributed": [contains(t, a) for t, a in zip(texts, answers, strict=True)],
        "present": [contains(t, r) for t, r in zip(texts, right, strict=True)],
    }


def contains(passage: str, answer: str) -> int:
    """Return whether the passage has the answer, both normalized, as full words."""
    inside = f" {normalized(answer)} "
    return int(bool(inside.strip()) and inside in f" {normalized(passage)} ")


def load() -> list[dict[str, Any]]:
    """Return the saved runs, measured first in the profile `experiment`."""
    if profile() == "experiment":
        run()
    return load_rows(results_path("06d_applications", "open_domain_answers"))


def run(sources: Sequence[str] = (GOLD, CLOSED, RANDOM, BM25, DENSE, SPAN, SENTENCE),
        n: int = N_QUESTIONS) -> list[dict[str, Any]]:  # fmt: skip
    """Measure the sources, and save a row for each in the profile `experiment`."""
    path = results_path("06d_applications", "open_domain_answers")
    path = path if profile() == "experiment" else None
    rows: list[dict[str, Any]] = []
    for source in sources:
        known = [row["answers"] for row in (*rows, *load_rows(path)) if row["source"] == GOLD]
        rows += sweep(partial(measure, known=known[0] if known and source in (BM25, DENSE) else ()),
                      [{"source": source, "questions": n}], path, data="xquad")  # fmt: skip
    return rows

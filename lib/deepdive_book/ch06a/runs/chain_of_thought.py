"""Arithmetic of two steps, asked after demonstrations that answer at once or step by step.

    Q: Tom has 7 apples. He gets 5 more, then gives 4 away. How many apples does he have now?
    A: 7 + 5 = 12. 12 - 4 = 8. The answer is 8.

Source: Wei et al. 2022, "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models",
section 3; the dots are their control "variable compute only" (section 3.3).
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from deepdive.decoding import Prompted
from deepdive_book.ch06a.runs.in_context import PromptedLM, digits

FORMS = ("direct", "dots", "steps")
PEOPLE = (("Tom", "He", "he"), ("Anna", "She", "she"), ("Ben", "He", "he"), ("Mia", "She", "she"))
THINGS = ("apples", "books", "pens", "coins", "stamps", "eggs")


class Problem(NamedTuple):
    """a + b - c, in words."""

    a: int
    b: int
    c: int
    who: tuple[str, str, str]
    things: str

    @property
    def answer(self) -> int:
        return self.a + self.b - self.c

    @property
    def question(self) -> str:
        name, he, of_him = self.who
        return (
            f"Q: {name} has {self.a} {self.things}. {he} gets {self.b} more, then gives {self.c} "
            f"away. How many {self.things} does {of_him} have now?\nA:"
        )

    def worked(self, form: str) -> str:
        """The answer as a demonstration of a form gives it."""
        both = self.a + self.b
        before = {
            "direct": "",
            "dots": " ." * 14,  # most of the tokens that the steps have
            "steps": f" {self.a} + {self.b} = {both}. {both} - {self.c} = {self.answer}.",
        }
        return f"{before[form]} The answer is {self.answer}.\n\n"


def problems(n: int, seed: int) -> list[Problem]:
    """n different problems with numbers from 2 to 9, whose answer is 1 at least."""
    draw = random.Random(f"two steps {seed}")
    found: dict[Problem, None] = {}
    while len(found) < n:
        a, b, c = (draw.randint(2, 9) for _ in range(3))
        if c < a + b:
            found[Problem(a, b, c, draw.choice(PEOPLE), draw.choice(THINGS))] = None
    return list(found)


def answer_of(text: str) -> int | None:
    """The number after the last "answer is", else the last number of the first line."""
    line = text.strip().split("\n")[0]
    found = re.findall(r"answer is (-?\d+)", line) or re.findall(r"-?\d+", line)
    return int(found[-1]) if found else None


def sums_right(text: str) -> list[bool]:
    """Whether each sum of the form a + b = c or a - b = c is right."""
    found = re.findall(r"(\d+) ([+-]) (\d+) = (\d+)", text.split("\n")[0])
    return [(int(a) + (1 if sign == "+" else -1) * int(b)) == int(c) for a, sign, b, c in found]


def by_form(who: PromptedLM, form: str, shots: int, seed: int, queries: int) -> dict[str, object]:
    """How many answers are right, and what was written: the questions are the same for each seed
    and form, the demonstrations those of the seed.
    """
    asked = problems(queries, seed=1000)
    shown = [p for p in problems(shots + queries, seed) if p not in asked][:shots]
    tokens = who.tokenizer.encode("".join(p.question + p.worked(form) for p in shown))
    prompt = Prompted(who.model, tokens)
    newline, two = (who.tokenizer.encode(end)[-1] for end in ("\n", "\n\n"))
    written = prompt.write(
        [who.tokenizer.encode(p.question) for p in asked],
        max_length=8 if form == "direct" else 32,
        stop=[newline, two, who.tokenizer.eos],
    )
    texts = [who.tokenizer.decode(tokens) for tokens in written]
    sums = [sums_right(text) for text in texts]
    return {
        "right": digits(answer_of(t) == p.answer for t, p in zip(texts, asked, strict=True)),
        "first_sum": digits(bool(each) and each[0] for each in sums),
        "second_sum": digits(len(each) > 1 and each[1] for each in sums),
        "written": texts[:3],
        "tokens": round(sum(map(len, written)) / len(written), 1),
        "prompt": prompt.length,
    }

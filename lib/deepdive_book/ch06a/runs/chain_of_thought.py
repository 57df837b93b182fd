"""Chain-of-thought prompting: two-step arithmetic, with demonstrations that answer directly, after
filler dots, or step by step.

    Q: Tom has 7 apples. He gets 5 more, then gives 4 away. How many apples does he have now?
    A: 7 + 5 = 12. 12 - 4 = 8. The answer is 8.

Source: Wei et al. 2022, "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models",
section 3; the dots are their control "variable compute only" (section 3.3).
"""

from __future__ import annotations

import random
import re
from typing import NamedTuple

from deepdive.decoding import Prompted, split_prefix
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
        """The answer as it is written in a demonstration of this form."""
        both = self.a + self.b
        before = {
            "direct": "",
            "dots": " ." * 14,  # about as many tokens as the steps
            "steps": f" {self.a} + {self.b} = {both}. {both} - {self.c} = {self.answer}.",
        }
        return f"{before[form]} The answer is {self.answer}.\n\n"


def problems(n: int, seed: int) -> list[Problem]:
    """n different problems with numbers from 2 to 9 and an answer of at least 1."""
    rng = random.Random(f"two steps {seed}")
    found: dict[Problem, None] = {}
    while len(found) < n:
        a, b, c = (rng.randint(2, 9) for _ in range(3))
        if c < a + b:
            found[Problem(a, b, c, rng.choice(PEOPLE), rng.choice(THINGS))] = None
    return list(found)


def answer_of(text: str) -> int | None:
    """The number after the last "answer is", else the last number of the first line."""
    line = text.strip().split("\n")[0]
    found = re.findall(r"answer is (-?\d+)", line) or re.findall(r"-?\d+", line)
    return int(found[-1]) if found else None


def correct_sums(text: str) -> list[bool]:
    """Whether each sum of the form a + b = c or a - b = c is correct."""
    found = re.findall(r"(\d+) ([+-]) (\d+) = (\d+)", text.split("\n")[0])
    return [(int(a) + (1 if sign == "+" else -1) * int(b)) == int(c) for a, sign, b, c in found]


def prompt_texts(form: str, shots: int, seed: int, queries: int) -> tuple[list[str], list[Problem]]:
    """Whole prompts and their problems: the same for all seeds and forms. The seed samples the
    demonstrations.
    """
    asked = problems(queries, seed=1000)
    shown = [p for p in problems(shots + queries, seed) if p not in asked][:shots]
    demonstrations = "".join(p.question + p.worked(form) for p in shown)
    return [demonstrations + p.question for p in asked], asked


def measure_form(
    lm: PromptedLM, form: str, shots: int, seed: int, queries: int
) -> dict[str, object]:
    """Which answers and which sums are correct, and the first three texts generated."""
    texts, asked = prompt_texts(form, shots, seed, queries)
    prefix, rests = split_prefix([lm.tokenizer.encode(text) for text in texts])
    prompt = Prompted(lm.model, prefix)
    newline, two = (lm.tokenizer.encode(end)[-1] for end in ("\n", "\n\n"))
    written = prompt.write(
        rests,
        max_length=8 if form == "direct" else 32,
        stop=[newline, two, lm.tokenizer.eos],
    )
    outputs = [lm.tokenizer.decode(tokens) for tokens in written]
    sums = [correct_sums(text) for text in outputs]
    return {
        "correct": digits(answer_of(t) == p.answer for t, p in zip(outputs, asked, strict=True)),
        "first_sum": digits(bool(each) and each[0] for each in sums),
        "second_sum": digits(len(each) > 1 and each[1] for each in sums),
        "outputs": outputs[:3],
        "tokens": round(sum(map(len, written)) / len(written), 1),
        "prompt": prompt.length,
    }

"""Numbers in the answers of a question bank, held to numbers that a test computes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deepdive_book.course.questions import Item

# By id: each answer that has a number, the right one first, and the numbers in their order.
Numbers = Mapping[str, Mapping[str, tuple[float, ...]]]


def right(item: Item) -> str:
    return item.options[item.right].text


def with_a_number(items: Mapping[str, Item]) -> set[str]:
    """The ids of those whose right answer has a number."""
    return {item.id for item in items.values() if re.search(r"\d", right(item))}


def check_numbers(items: Mapping[str, Item], numbers: Numbers) -> None:
    """Each number that stands in an answer is the computed one, to half of its last digit."""
    for name, answers in numbers.items():
        assert right(items[name]) == next(iter(answers)), name
        for text, values in answers.items():
            assert text in {option.text for option in items[name].options}, (name, text)
            said = re.findall(r"\d+(?:\.\d+)?", text)
            assert len(said) == len(values), (name, text, said)
            for number, value in zip(said, values, strict=True):
                half = 0.5 * 10 ** -len(number.partition(".")[2])
                assert abs(value - float(number)) <= half + 1e-9, (name, text, value)


def check_shares(items: Mapping[str, Item], shares: Mapping[str, float]) -> None:
    """Each right answer that is a fraction is the computed share."""
    for name, share in shares.items():
        top, _, bottom = right(items[name]).partition("/")
        assert abs(int(top) / int(bottom) - share) < 1e-9, name

"""Reading the texts that a tokeniser is trained on."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from deepdive.tokenizers.base import check_text

T = TypeVar("T")


def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    """`items`, with a progress bar once they have taken three seconds (TQDM_DISABLE=1: never)."""
    from tqdm import tqdm

    bar: Iterable[T] = tqdm(items, desc=label, total=total, delay=3, leave=False)
    return bar


def count_words(texts: Iterable[str], split: Callable[[str], list[str]]) -> Counter[str]:
    """How often each word occurs in the texts, words being what `split` returns.

    Raises TypeError when `texts` is one string or holds something else than strings, and ValueError
    when there is no word in it.
    """
    if isinstance(texts, str):
        raise TypeError("texts: expected many strings, got one; pass [text] to train on one text")
    counts: Counter[str] = Counter()
    for i, text in enumerate(progress(texts, "counting words")):
        check_text(f"texts[{i}]", text)
        counts.update(split(text))
    if not counts:
        raise ValueError(
            "texts: there is no word in them; pass at least one text that is not blank"
        )
    return counts


def check_size(vocab_size: int, smallest: int, what: str) -> None:
    """Raise ValueError when `vocab_size` leaves no room for `what`."""
    if vocab_size < smallest:
        raise ValueError(
            f"vocab_size: {vocab_size} is too small: {what} take {smallest} ids already; "
            f"pass {smallest} or more, or normalise the texts so that they use fewer characters"
        )

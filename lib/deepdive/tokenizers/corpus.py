"""Word counts of the training texts, and checks, for training tokenizers."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from deepdive.tokenizers.base import check_text

T = TypeVar("T")


def progress(items: Iterable[T], label: str, total: int | None = None) -> Iterable[T]:
    """Return `items` with a progress bar after three seconds (TQDM_DISABLE=1: none)."""
    from tqdm import tqdm

    bar: Iterable[T] = tqdm(items, desc=label, total=total, delay=3, leave=False)
    return bar


def count_words(texts: Iterable[str], split: Callable[[str], list[str]]) -> Counter[str]:
    """Return the count of each word in the texts; `split` returns the words of a text.

    Raises TypeError if `texts` is one string or contains anything but strings, and ValueError if
    it contains no words.
    """
    if isinstance(texts, str):
        raise TypeError("texts: expected many strings, got one; pass [text] to train on one text")
    counts: Counter[str] = Counter()
    for i, text in enumerate(progress(texts, "counting words")):
        check_text(f"texts[{i}]", text)
        counts.update(split(text))
    if not counts:
        raise ValueError("texts: got no words; pass at least one text that is not blank")
    return counts


def check_size(vocab_size: int, smallest: int, what: str) -> None:
    """Raise ValueError if `vocab_size` is below `smallest`, the number of ids needed for `what`."""
    if vocab_size < smallest:
        raise ValueError(
            f"vocab_size: {vocab_size} is too small: {what} take {smallest} ids already; "
            f"pass {smallest} or more, or normalize the texts to use fewer characters"
        )

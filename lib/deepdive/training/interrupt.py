"""Ctrl-C during training: finish the step, save, then stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from deepdive.training.history import Bar, History


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended training after a whole step; `history` holds what happened up to there."""

    def __init__(self, message: str, history: History) -> None:
        super().__init__(message)
        self.history = history


@contextmanager
def interrupts(bar: Bar) -> Iterator[list[int]]:
    """Yield a list that Ctrl-C fills once; a second Ctrl-C raises KeyboardInterrupt as usual."""
    pressed: list[int] = []

    def handler(number: int, _frame: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)
        bar.say("Ctrl-C: this step is finished and saved, then training stops (again: at once)")

    try:
        # Elsewhere than in the main thread, or where someone else handles Ctrl-C, leave it to them.
        ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        before = signal.signal(signal.SIGINT, handler) if ours else None
    except ValueError:
        before = None
    try:
        yield pressed
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
        bar.close()

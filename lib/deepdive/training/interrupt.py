"""Ctrl-C during training: finish the step, save, then stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

from deepdive.training.history import Bar, History


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C ended training after a full step; `history` is the history up to that step."""

    def __init__(self, message: str, history: History) -> None:
        super().__init__(message)
        self.history = history


@contextmanager
def interrupts(bar: Bar) -> Iterator[list[int]]:
    """Yield a list that Ctrl-C appends to once; a second one raises KeyboardInterrupt as usual."""
    pressed: list[int] = []

    def handler(number: int, _frame: object) -> None:
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)
        bar.say("Ctrl-C: training stops after this step is saved (press again to stop at once)")

    try:
        # Outside the main thread, or if another handler is installed, leave Ctrl-C to it.
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

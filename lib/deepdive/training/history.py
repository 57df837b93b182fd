"""Training history: the metrics of a run as plain numbers, and the progress bar."""

import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class History:
    """The history of a run; all entries are plain, so `as_dict()` can be saved as JSON.

    losses, lrs, norms  one number per step: the training loss (auxiliary losses included), the
                        learning rate, the gradient norm before clipping
    validations         (step, value) pairs
    best_step           the step with the lowest validation value, None without validation
    tokens              target tokens seen (examples, for batches without an integer tensor)
    seconds             time spent in training steps, over all restarts; without validation and
                        checkpoints
    stopped             why the run ended: "steps", "epochs", "minutes" or "patience";
                        "" if it has not ended
    """

    losses: list[float] = field(default_factory=list)
    lrs: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    validations: list[tuple[int, float]] = field(default_factory=list)
    best_step: int | None = None
    tokens: int = 0
    seconds: float = 0.0
    stopped: str = ""

    @property
    def steps(self) -> int:
        """The number of updates so far."""
        return len(self.losses)

    @property
    def best(self) -> float | None:
        """The lowest validation value, None without validation."""
        return min((value for _, value in self.validations), default=None)

    def curve(self, window: int = 1) -> dict[str, list[float]]:
        """Return the curves: `step`, `loss`, `lr`, `norm`, `validation_step`, `validation`.

        The first four are means over `window` steps (the last window may be shorter), at each
        window's last step. Raises ValueError when window is below 1.

        >>> History(losses=[4.0, 2.0, 1.0], lrs=[1.0] * 3, norms=[1.0] * 3).curve(2)["loss"]
        [3.0, 1.0]
        """
        if window < 1:
            raise ValueError(f"window: got {window}, expected 1 or more steps")
        n = self.steps

        def means(values: Sequence[float]) -> list[float]:
            parts = [values[i : i + window] for i in range(0, n, window)]
            return [sum(part) / len(part) for part in parts]

        return {
            "step": [float(min(i + window, n)) for i in range(0, n, window)],
            "loss": means(self.losses),
            "lr": means(self.lrs),
            "norm": means(self.norms),
            "validation_step": [float(step) for step, _ in self.validations],
            "validation": [value for _, value in self.validations],
        }

    def as_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        return {**asdict(self), "validations": [list(pair) for pair in self.validations]}


class Bar:
    """A progress bar with the loss, learning rate, tokens per second and best validation value."""

    def __init__(self, total: int | None, initial: int, shown: bool) -> None:
        self._bar = _tqdm(total, initial) if shown else None
        self._written = self._start = time.monotonic()
        self._tokens: int | None = None

    def step(self, history: History, note: str) -> None:
        """Advance by one step; the metrics are refreshed twice a second at most."""
        if self._bar is None:
            return
        self._bar.update(1)
        now = time.monotonic()
        if now - self._written > 0.5 and history.losses:
            self._written = now
            self._bar.set_postfix_str(self._numbers(history, note, now), refresh=False)

    def _numbers(self, history: History, note: str, now: float) -> str:
        if self._tokens is None:  # first call: throughput is measured from here
            self._tokens, self._start = history.tokens, now
        parts = [f"loss {history.losses[-1]:.3f}", f"lr {history.lrs[-1]:.1e}"]
        if now > self._start:
            parts.append(f"{(history.tokens - self._tokens) / (now - self._start):,.0f} tokens/s")
        if history.best is not None:
            parts.append(f"best valid {history.best:.4f} at {history.best_step}")
        return ", ".join([*parts, note] if note else parts)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._bar is not None:
            self._bar.write(line)

    def close(self) -> None:
        """Close the bar, which stays on the screen."""
        if self._bar is not None:
            self._bar.close()


def _tqdm(total: int | None, initial: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without notebook widgets, tqdm warns and prints text
        from tqdm.auto import tqdm

        return tqdm(total=total, initial=initial, unit="step")

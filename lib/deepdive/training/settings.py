"""What `fit` is told beside the commonest keywords: its time, its steps, its checks, its folder."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from deepdive.training.fingerprint import content_hash
from deepdive.training.optim import EMA


def check_positive(**numbers: float | None) -> None:
    """Raise ValueError for a number that is given and not above 0, or not finite."""
    for name, value in numbers.items():
        if value is not None and not 0 < value < math.inf:
            without = ", or None for no limit" if value == math.inf else ""
            raise ValueError(f"{name}: got {value}, expected a number above 0{without}")


@dataclass(frozen=True)
class Limit:
    """How long training may take.

    minutes   of training time, over restarts too; None: no limit
    clock     seconds, read before and after each step for `minutes` and `history.seconds`;
              `time.process_time` counts the processor's work on this run alone, which is fair
              where other work goes on beside it

    Raises ValueError for minutes that are not above 0.
    """

    minutes: float | None = None
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        check_positive(minutes=self.minutes)


@dataclass(frozen=True)
class Update:
    """How one update is made, beside its optimizer and schedule.

    clip         largest norm of the whole gradient; None: no clipping
    accumulate   batches whose gradients make one update, by the mean of their losses
    weigh        batch -> over how many terms its loss is a mean, such as its target tokens; with it
                 unequal batches count by their terms, and the update is that of one large batch.
                 Without it each batch counts the same
    ema          a `deepdive.training.optim.EMA` of the model, updated after each step; the averaged
                 weights are the ones that are validated

    Raises ValueError for a clip or a number of batches that is not above 0.
    """

    clip: float | None = 1.0
    accumulate: int = 1
    ema: EMA | None = None
    weigh: Callable[[Any], Tensor | float] | None = None

    def __post_init__(self) -> None:
        check_positive(clip=self.clip, accumulate=self.accumulate)


@dataclass(frozen=True)
class Validation:
    """How training is watched; the best weights are in the model at the end.

    measure    model -> float, lower is better
    every      steps between two validations; None: as many as there are in an epoch
    patience   validations in a row without a new best, after which training ends; None: it goes on

    Raises ValueError for an `every` or a patience that is not above 0, TypeError for a measure
    that cannot be called.
    """

    measure: Callable[[Any], float]
    every: int | None = None
    patience: int | None = None

    def __post_init__(self) -> None:
        if not callable(self.measure):
            raise TypeError(
                f"validate: got {type(self.measure).__name__}, expected a function "
                "model -> float, or a Validation of one"
            )
        check_positive(every=self.every, patience=self.patience)

    def due(self, step: int) -> bool:
        """Whether to validate after this step."""
        return self.every is not None and step % self.every == 0


@dataclass(frozen=True)
class Keep:
    """Where checkpoints go, and how often.

    folder   a folder of this run's own
    every    steps between two checkpoints; None: about a minute
    of       what the run is made of beside what `fit` is given: texts, a vocabulary, a teacher's
             weights; `()` for nothing. Where it is given, the checkpoints go to a folder below
             `folder` whose name follows from it, from the model's first weights and from all that
             `fit` compares: a run of other data or settings has another folder, and is not refused
    version  of what the loss, the model and the validation compute, which count by their names and
             settings, not by their code: raise it when you change one, so that a run of the old
             code isn't continued with the new

    Raises ValueError for an `every` that is not above 0, TypeError for a folder that is no path.
    """

    folder: str | Path
    every: int | None = None
    of: Any = None
    version: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.folder, (str, Path)):
            raise TypeError(
                f"folder: got {self.folder!r}, expected a path, or a Keep of one: "
                "Keep(path, every=steps)"
            )
        check_positive(every=self.every)

    def place(self, configuration: dict[str, Any], weights: dict[str, Any]) -> Path:
        """Return where the checkpoints of this run go."""
        if self.of is None:
            return Path(self.folder)
        return Path(self.folder) / content_hash((self.of, configuration, weights))[:12]


LIMIT, UPDATE = Limit(), Update()  # what holds where `fit` is not told otherwise


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise TypeError for an argument of `fit` that is not one of these groups."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{name}: got {value!r}, expected a {kind.__name__} of deepdive.training: "
            f"{name}={kind.__name__}(...)"
        )

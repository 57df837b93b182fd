"""Settings of `fit` beyond its common keywords: time limit, updates, validation, checkpoints."""

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
    """Raise ValueError for a number that is not None and not above 0, or not finite."""
    for name, value in numbers.items():
        if value is not None and not 0 < value < math.inf:
            without = ", or None for no limit" if value == math.inf else ""
            raise ValueError(f"{name}: got {value}, expected a number above 0{without}")


@dataclass(frozen=True)
class Limit:
    """The time limit of training.

    minutes   of training time, summed over restarts; None: no limit
    clock     seconds, read before and after each step for `minutes` and `history.seconds`;
              `time.process_time` counts only this process's CPU time, which is comparable even
              if other processes share the machine

    Raises ValueError for minutes that are not above 0.
    """

    minutes: float | None = None
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        check_positive(minutes=self.minutes)


@dataclass(frozen=True)
class Update:
    """Gradient clipping, gradient accumulation, and weight averaging.

    clip         maximum norm of the total gradient; None: no clipping
    accumulate   batches per update (gradient accumulation), by the mean of their losses
    weigh        batch -> the number of terms in its mean loss, such as its target tokens; then
                 batches are weighted by their terms, and the update is that of one large batch.
                 Without it all batches have equal weight
    ema          a `deepdive.training.optim.EMA` of the model, updated after each step; validation
                 uses the averaged weights

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
    """Validation and early stopping; the best weights are in the model at the end.

    measure    model -> float, lower is better
    every      steps between two validations; None: once per epoch
    patience   consecutive validations without improvement before stopping; None: no early stopping

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
    """Where and how often checkpoints are written.

    folder   a folder used by this run only
    every    steps between two checkpoints; None: about a minute
    of       inputs of the run that are not arguments of `fit`: texts, a vocabulary, a teacher's
             weights; `()` for none. If given, checkpoints go to a subfolder of `folder` named by a
             hash of it, of the model's initial weights and of all settings that `fit` compares: a
             run with other data or settings gets another folder instead of an error
    version  of the code of the loss, the model and the validation, which are identified by name and
             settings only: increase it when you change one, so that a run of the old code isn't
             resumed with the new

    Raises ValueError for an `every` that is not above 0, TypeError for a folder that is not a path.
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
        """Return the checkpoint folder of this run."""
        if self.of is None:
            return Path(self.folder)
        return Path(self.folder) / content_hash((self.of, configuration, weights))[:12]


LIMIT, UPDATE = Limit(), Update()  # the defaults of `fit`


def check_kind(name: str, value: object, kind: type) -> None:
    """Raise TypeError for an argument of `fit` that is not one of these classes."""
    if not isinstance(value, kind):
        raise TypeError(
            f"{name}: got {value!r}, expected a {kind.__name__} of deepdive.training: "
            f"{name}={kind.__name__}(...)"
        )

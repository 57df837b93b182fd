"""`fit`: train any model on any batches, watch it, stop it at any moment, and go on exactly."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from deepdive.training.checkpoint import Checkpoints
from deepdive.training.history import Bar, History
from deepdive.training.interrupt import interrupts
from deepdive.training.loop import Run
from deepdive.training.optim import EMA, Schedule, adam
from deepdive.training.resume import Ordered, Resumable, configuration
from deepdive.training.seeds import deterministic


def _positive(**numbers: float | None) -> None:
    for name, value in numbers.items():
        if value is not None and not value > 0:
            raise ValueError(f"{name}: came as {value}, expected a number above 0")


def _as_batches(batches: Any, folder: Any) -> Any:
    """Return batches whose place can be saved, where a folder asks for that."""
    if isinstance(batches, Resumable):
        found: Any = batches
    elif hasattr(batches, "__getitem__") and hasattr(batches, "__len__"):
        found = Ordered(batches)
    elif folder is not None:
        raise TypeError(
            f"batches: {type(batches).__name__} has no state_dict and load_state_dict, so training "
            "in a folder could not resume it; give a list of batches or deepdive.data's batches"
        )
    else:
        found = batches
    if hasattr(found, "__len__") and len(found) == 0:
        raise ValueError("batches: came empty (length 0), expected at least one batch")
    return found


def _planned(batches: Any, steps: int | None, epochs: float | None, accumulate: int) -> int | None:
    """Return the number of steps, None when only time or patience ends the run."""
    if steps is not None and epochs is not None:
        raise ValueError(f"steps, epochs: came as {steps} and {epochs}, expected one of them")
    if epochs is None:
        return steps
    if not hasattr(batches, "__len__"):
        raise TypeError("epochs: needs batches that have a length; give steps instead")
    return max(1, math.floor(epochs * len(batches) / accumulate))


def _check_ends(
    total: int | None, minutes: float | None, patience: int | None, validate: object
) -> None:
    if patience is not None and validate is None:
        raise ValueError("patience: needs validate, a function model -> float, lower is better")
    if total is None and minutes is None and patience is None:
        raise ValueError("steps: give steps, epochs, minutes or patience, or training never ends")


def fit(
    model: nn.Module,
    batches: Iterable[Any],
    loss: Callable[[Any, Any], Tensor],
    *,
    steps: int | None = None,
    epochs: float | None = None,
    optimizer: Optimizer | None = None,
    schedule: Schedule | None = None,
    clip: float | None = 1.0,
    validate: Callable[[Any], float] | None = None,
    validate_every: int | None = None,
    patience: int | None = None,
    folder: str | Path | None = None,
    save_every: int | None = None,
    seed: int = 0,
    ema: EMA | None = None,
    minutes: float | None = None,
    clock: Callable[[], float] = time.perf_counter,
    accumulate: int = 1,
    progress: bool = True,
) -> History:
    """Train `model` to minimise `loss` over `batches`, and return what happened.

    Step t draws `accumulate` batches, and with g the gradient of the mean of
    loss(model, batch) + auxiliary losses (`deepdive.inspect.collect_losses`) updates

        g = g * min(1, clip / |g|),   lr = schedule(t),   optimizer step

    batches         iterated again and again; a list keeps its order. To resume, other kinds need
                    `state_dict()` and `load_state_dict()` (`deepdive.training.resume.Resumable`).
                    Tensors are moved to the model's device.
    loss            loss(model, batch) -> scalar tensor
    steps, epochs   how long: updates, or passes over batches (epochs * len(batches) / accumulate
                    updates, rounded down); `minutes` of training time and `patience`, validations
                    in a row without a new best, end it earlier
    clock           seconds, read before and after each step for `minutes` and `history.seconds`;
                    `time.process_time` counts the processor's work on this run alone, which is fair
                    where other work goes on beside it
    optimizer       default: `deepdive.training.optim.adam(model)`
    schedule        step (from 1) -> learning rate of the first parameter group; the others keep
                    their ratio to it. Default: the optimizer's own rate
    clip            largest norm of the whole gradient; None: no clipping
    validate        model -> float, lower is better; called in eval mode without gradients, with
                    the averaged weights when `ema` is given, every `validate_every` steps (default:
                    an epoch) and after the last. **The best weights are in the model at the end**,
                    not the last. What it draws from random generators leaves training as it was
    folder          where checkpoints go; every `save_every` steps, by default about once a minute
    seed            seeds Python, numpy and torch at the start of a run (not when it resumes)
    ema             a `deepdive.training.optim.EMA` of this model, updated after each step

    **Exact resume.** Killed at any moment and called again with the same arguments and the same
    folder, training ends in the same weights, bit for bit on the same machine, torch version and
    thread count: kernels are deterministic meanwhile. A finished run returns at once. `minutes`
    adds up over restarts, but where it ends a run is up to the clock. Ctrl-C ends the step, writes
    a checkpoint and raises `TrainingInterrupted`, a KeyboardInterrupt with `.history`; a second
    Ctrl-C stops at once. The model is left in eval mode.

    Raises TrainingDiverged when a loss, gradient or validation is not finite; it names the step,
    the batch, and the first input, parameter, module or gradient that is not. Raises ValueError or
    TypeError for arguments that do not fit, for empty batches, and for a folder that holds a run
    of another configuration.
    """
    _positive(steps=steps, epochs=epochs, clip=clip, validate_every=validate_every)
    _positive(patience=patience, save_every=save_every, minutes=minutes, accumulate=accumulate)
    source = _as_batches(batches, folder)
    total = _planned(source, steps, epochs, accumulate)
    _check_ends(total, minutes, patience, validate)
    if validate is not None and validate_every is None:
        if not hasattr(source, "__len__"):
            raise TypeError("validate_every: give it; these batches have no length")
        validate_every = max(1, len(source) // accumulate)
    optimizer = adam(model) if optimizer is None else optimizer
    settings = configuration(
        model,
        source,
        loss,
        optimizer,
        schedule,
        validate,
        total,
        steps=steps,
        epochs=epochs,
        clip=clip,
        validate_every=validate_every,
        patience=patience,
        minutes=minutes,
        accumulate=accumulate,
        seed=seed,
        ema=None if ema is None else ema.decay,
    )
    run = Run(
        model=model,
        batches=source,
        loss=loss,
        optimizer=optimizer,
        schedule=schedule,
        clip=clip,
        accumulate=accumulate,
        ema=ema,
        validate=validate,
        validate_every=validate_every or 0,
        patience=patience,
        total=total,
        clock=clock,
        limit=None if minutes is None else 60.0 * minutes,
        ended="steps" if epochs is None else "epochs",
        configuration=settings,
        store=None if folder is None else Checkpoints(folder),
        save_every=save_every,
    )
    with deterministic():
        run.begin(seed)
        if progress and run.step:
            kept = "finished already" if run.history.stopped else "goes on"
            print(f"{folder}: training {kept}, after step {run.step}")
        if not run.history.stopped:
            bar = Bar(total, run.step, progress)
            with interrupts(bar) as pressed:
                run.loop(bar, pressed)
        run.restore_best()
    return run.history

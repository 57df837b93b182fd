"""`fit`: train any model on any batches, with validation, checkpoints, and exact resumption."""

import math
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from deepdive.core.checks import as_int
from deepdive.training.checkpoint import Checkpoints
from deepdive.training.history import Bar, History
from deepdive.training.interrupt import interrupts
from deepdive.training.loop import Run
from deepdive.training.optim import Schedule, adam
from deepdive.training.resume import Ordered, Resumable, configuration
from deepdive.training.seeds import deterministic
from deepdive.training.settings import (
    LIMIT,
    UPDATE,
    Keep,
    Limit,
    Update,
    Validation,
    check_kind,
    check_positive,
)


def _as_batches(batches: Any, keep: Keep | None) -> Any:
    """Return batches whose position can be saved, if checkpoints are to be written."""
    if isinstance(batches, Resumable):
        found: Any = batches
    elif hasattr(batches, "__getitem__") and hasattr(batches, "__len__"):
        found = Ordered(batches)
    elif keep is not None:
        raise TypeError(
            f"batches: {type(batches).__name__} has no state_dict and load_state_dict, so training "
            "could not resume from a folder; give a list of batches or deepdive.data's batches"
        )
    else:
        found = batches
    if hasattr(found, "__len__") and len(found) == 0:
        raise ValueError("batches: got length 0, expected at least one batch")
    return found


def _planned(batches: Any, steps: int | None, epochs: float | None, accumulate: int) -> int | None:
    """Return the number of steps, None if only time or patience ends the run."""
    if steps is not None and epochs is not None:
        raise ValueError(f"steps, epochs: got {steps} and {epochs}, expected one of them")
    if epochs is None:
        return steps
    if not hasattr(batches, "__len__"):
        raise TypeError("epochs: got batches without a length; give steps instead")
    return max(1, math.floor(epochs * len(batches) / accumulate))


def _watched(validate: Any, batches: Any, accumulate: int) -> Validation | None:
    """Return the Validation with its interval, which defaults to once per epoch."""
    if validate is None:
        return None
    asked = validate if isinstance(validate, Validation) else Validation(validate)
    if asked.every is not None:
        return asked
    if not hasattr(batches, "__len__"):
        raise TypeError(
            "validate: got batches without a length, expected one to validate once per epoch; "
            "give Validation(measure, every=steps)"
        )
    return replace(asked, every=max(1, len(batches) // accumulate))


def _check_ends(total: int | None, limit: Limit, validation: Validation | None) -> None:
    patience = None if validation is None else validation.patience
    if total is None and limit.minutes is None and patience is None:
        raise ValueError(
            "steps: got no stopping criterion; give steps, epochs, limit=Limit(minutes) or "
            "validate=Validation(measure, patience=2)"
        )


def _described(
    update: Update, validation: Validation | None, limit: Limit, keep: Keep | None
) -> dict[str, Any]:
    """Return the settings that a resumed run must share, under their names in checkpoints."""
    return {
        "clip": update.clip,
        "accumulate": update.accumulate,
        "ema": None if update.ema is None else update.ema.decay,
        **({} if update.weigh is None else {"weigh": True}),
        "validate_every": None if validation is None else validation.every,
        "patience": None if validation is None else validation.patience,
        "minutes": limit.minutes,
        "version": 1 if keep is None else keep.version,
    }


def fit(
    model: nn.Module,
    batches: Iterable[Any],
    loss: Callable[[Any, Any], Tensor],
    *,
    steps: int | None = None,
    epochs: float | None = None,
    limit: Limit = LIMIT,
    optimizer: Optimizer | None = None,
    schedule: Schedule | None = None,
    update: Update = UPDATE,
    validate: Callable[[Any], float] | Validation | None = None,
    folder: str | Path | Keep | None = None,
    seed: int = 0,
    progress: bool = True,
) -> History:
    """Train `model` to minimize `loss` over `batches`, and return the `History`.

    Step t takes `update.accumulate` batches; with g the gradient of the mean (weighted by
    `update.weigh`) of loss(model, batch) + auxiliary losses (`deepdive.core.hooks.collect_losses`),
    it updates

        g = g * min(1, clip / |g|),   lr = schedule(t),   optimizer step

    **Data and loss**
    batches         iterated repeatedly; a list keeps its order. To resume, other kinds need
                    `state_dict()` and `load_state_dict()` (`deepdive.training.resume.Resumable`),
                    and are identified by a `fingerprint()`, if they have one.
                    Tensors are moved to the model's device.
    loss            loss(model, batch) -> scalar tensor

    **Duration**
    steps, epochs   updates, or passes over batches (epochs * len(batches) / accumulate updates,
                    rounded down)
    limit           `Limit(minutes, clock)` ends training earlier, by any clock

    **Updates**
    optimizer       default: `deepdive.training.optim.adam(model)`
    schedule        step (from 1) -> learning rate of the first parameter group; the others keep
                    their ratio to it. Default: the optimizer's own rate
    update          `Update(clip, accumulate, ema)`; by default the gradient norm is clipped at 1

    **Validation, checkpoints, and seed**
    validate        model -> float, lower is better; called in eval mode without gradients, with
                    the averaged weights if there is an `ema`, after each epoch and after the last
                    step; `Validation(measure, every, patience)` sets another interval, and early
                    stopping. **The best weights are in the model at the end**, not the last.
                    Random numbers it uses do not affect training
    folder          where checkpoints go, about once a minute; `Keep(folder, every, version=2)` sets
                    another interval, and marks a changed computation of the loss or the model
    seed            seeds Python, numpy and torch at the start of a run (not when it resumes)
    progress        whether to show a progress bar

    **Exact resume.** If killed at any moment and called again with the same arguments and folder,
    training ends with the same weights, bit for bit on the same machine, torch version and thread
    count: it uses deterministic kernels. A finished run returns at once. `minutes` adds up over
    restarts, but where it ends a run depends on the clock. Ctrl-C finishes the step, writes a
    checkpoint and raises `TrainingInterrupted`, a KeyboardInterrupt with `.history`; a second
    Ctrl-C stops at once. The model is left in eval mode.

    Raises TrainingDiverged if a loss, gradient or validation is not finite; it names the step, the
    batch, and the first input, parameter, module or gradient that is not. Raises ValueError or
    TypeError for invalid arguments, for empty batches, and for a folder with a run of another
    configuration or other data, naming the difference; `deepdive.locks.Held` for a folder in which
    another process trains, naming it; OSError if a checkpoint cannot be written. Only checkpoints
    of `fit` are ever removed from the folder.
    """
    check_positive(steps=steps, epochs=epochs)
    seed = as_int("seed", seed)
    check_kind("limit", limit, Limit)
    check_kind("update", update, Update)
    keep = folder if folder is None or isinstance(folder, Keep) else Keep(folder)
    source = _as_batches(batches, keep)
    total = _planned(source, steps, epochs, update.accumulate)
    validation = _watched(validate, source, update.accumulate)
    _check_ends(total, limit, validation)
    optimizer = adam(model) if optimizer is None else optimizer
    plan = {
        "steps": steps,
        "epochs": epochs,
        "seed": seed,
        **_described(update, validation, limit, keep),
    }
    measure = None if validation is None else validation.measure
    described = configuration(model, source, loss, optimizer, schedule, measure, total, **plan)
    store = None if keep is None else Checkpoints(keep.place(described, model.state_dict()))
    run = Run(
        model=model,
        batches=source,
        loss=loss,
        optimizer=optimizer,
        schedule=schedule,
        update=update,
        validation=validation,
        total=total,
        limit=limit,
        ended="steps" if epochs is None else "epochs",
        configuration=described,
        store=store,
        save_every=None if keep is None else keep.every,
    )
    with deterministic(), nullcontext() if store is None else store.held():
        run.begin(seed)
        if progress and run.step:
            run.report()
        if not run.history.stopped:
            bar = Bar(total, run.step, progress)
            with interrupts(bar) as pressed:
                run.loop(bar, pressed)
        run.restore_best()
    return run.history

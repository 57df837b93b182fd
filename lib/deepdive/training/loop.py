"""The training loop of `fit`: steps, validation, checkpoints, and stopping criteria."""

import math
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import torch

from deepdive.training.checkpoint import Checkpoints, Tensors, unshared
from deepdive.training.diagnose import TrainingDiverged
from deepdive.training.history import Bar, History
from deepdive.training.interrupt import TrainingInterrupted
from deepdive.training.resume import (
    check_same,
    environment,
    load_optimizer,
    optimizer_state,
    pack,
    place_of,
    unpack,
)
from deepdive.training.seeds import (
    preserve_rng_state,
    random_state,
    seed_everything,
    set_random_state,
)
from deepdive.training.settings import Limit, Validation
from deepdive.training.steps import Stepper

SAVE_SECONDS = 60.0  # between checkpoints, unless `save_every` is given
SAVE_SHARE = 20.0  # ... and at least this many times the time to write one
SERIES = ("losses", "lrs", "norms")


@dataclass(kw_only=True)
class Run(Stepper):
    """One training run: its steps, its limits, its best weights, its checkpoints."""

    validation: Validation | None
    total: int | None
    limit: Limit
    ended: str
    configuration: dict[str, Any]
    store: Checkpoints | None
    save_every: int | None
    best: Tensors | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.saved_at, self.save_cost = time.monotonic(), 0.0

    def loop(self, bar: Bar, pressed: list[int]) -> None:
        """Train until a limit is reached or Ctrl-C is pressed."""
        self.model.train()
        while not (reason := self.reason()):
            start = self.limit.clock()
            self.train_step()
            self.history.seconds += self.limit.clock() - start
            if self.validation is not None and self.validation.due(self.step):
                self.check()
            if self.save_due():
                self.save()
            bar.step(self.history, self.time_left())
            if pressed:
                self.interrupted()
        self.look()
        if self.validation is not None and self.validated() < self.step:
            self.check()
        self.history.stopped = reason
        self.save()

    def reason(self) -> str:
        """Return why training ends at this step, "" if it continues."""
        if self.total is not None and self.step >= self.total:
            return self.ended
        if self.limit.minutes is not None and self.history.seconds >= 60.0 * self.limit.minutes:
            return "minutes"
        patience = None if self.validation is None else self.validation.patience
        values = [value for _, value in self.history.validations]
        if patience is not None and values:
            since = len(values) - 1 - values.index(min(values))
            return "patience" if since >= patience else ""
        return ""

    def validated(self) -> int:
        """Return the step of the last validation."""
        return self.history.validations[-1][0] if self.history.validations else 0

    def time_left(self) -> str:
        """Return the remaining time of `minutes` as text."""
        if self.limit.minutes is None:
            return ""
        left = max(0.0, 60.0 * self.limit.minutes - self.history.seconds)
        return f"{int(left // 60)}:{int(left % 60):02d} left"

    def interrupted(self) -> None:
        """Save, and raise `TrainingInterrupted`."""
        self.look()
        self.save()
        where = (
            "no folder was given, so it cannot be resumed; the model has these weights"
            if self.store is None
            else f"call fit again with the same arguments to resume (from {self.store.folder})"
        )
        raise TrainingInterrupted(f"stopped after step {self.step}: {where}", self.history)

    # ---- validation

    def check(self) -> None:
        """Validate, and store the weights if they are the best so far."""
        assert self.validation is not None
        self.look()
        self.model.eval()
        ema = self.update.ema
        averaged = ema.swap() if ema is not None else nullcontext()
        with torch.no_grad(), preserve_rng_state(), averaged:
            value = float(self.validation.measure(self.model))
            if not math.isfinite(value):
                raise TrainingDiverged(
                    f"validate: returned {value} after step {self.step}, expected a finite "
                    "number; look for an empty validation set, or overflow in its loss"
                )
            if self.history.best is None or value < self.history.best:
                state = unshared(self.model.state_dict())[0]
                self.best = {name: x.clone() for name, x in state.items()}
                self.history.best_step = self.step
        self.model.train()
        self.history.validations.append((self.step, value))

    def restore_best(self) -> None:
        """Load the best weights into the model, if there was a validation; switch to eval mode."""
        if self.best is not None:
            self.copy_weights(self.best)
        self.model.eval()

    @torch.no_grad()
    def copy_weights(self, tensors: Tensors) -> None:
        """Copy tensors into the model's state by name, in place: weights stay tied."""
        state = self.model.state_dict()
        for name, x in tensors.items():
            state[name].copy_(x)

    # ---- checkpoints

    def save_due(self) -> bool:
        if self.store is None:
            return False
        if self.save_every is not None:
            return self.step % self.save_every == 0
        wait = max(SAVE_SECONDS, SAVE_SHARE * self.save_cost)
        return time.monotonic() - self.saved_at > wait

    def save(self) -> None:
        """Write a checkpoint, between two steps, after any validation."""
        if self.store is None:
            return
        self.look()
        start = time.monotonic()
        series = {s: torch.tensor(getattr(self.history, s), dtype=torch.float64) for s in SERIES}
        rng_tensors, rng_values = random_state()
        moments, settings = optimizer_state(self.optimizer)
        data_tensors, data_values = place_of(self.batches)
        groups = {
            "model": self.model.state_dict(),
            "optimizer": moments,
            "ema": self.update.ema.state_dict() if self.update.ema is not None else {},
            "best": self.best or {},
            "random": rng_tensors,
            "data": data_tensors,
            "history": series,
        }
        tensors, aliases = pack(groups)
        facts = {k: v for k, v in asdict(self.history).items() if k not in SERIES}
        body = {
            "configuration": self.configuration,
            "environment": environment(self.model),
            "step": self.step,
            "aliases": aliases,
            "optimizer": settings,
            "random": rng_values,
            "data": data_values,
            "history": facts,
        }
        self.store.write(tensors, body)
        self.saved_at = time.monotonic()
        self.save_cost = self.saved_at - start

    def begin(self, seed: int) -> None:
        """Load the newest checkpoint, or seed and write the first.

        The folder is checked before anything in it is removed: a run that is rejected changes
        nothing.
        """
        found = self.store.newest() if self.store is not None else None
        if self.store is not None:
            if found is not None:
                here = environment(self.model)
                check_same(self.store.folder, found[1], self.configuration, here)
            self.store.prune()
        if found is None:
            seed_everything(seed)
            self.save()
        else:
            self.restore(*found)

    def report(self) -> None:
        """Print the step from which a run resumes."""
        assert self.store is not None
        status = "finished already" if self.history.stopped else "goes on"
        print(f"{self.store.folder}: training {status}, after step {self.step}")

    def restore(self, tensors: Tensors, body: dict[str, Any]) -> None:
        """Restore the full state written by `save`."""

        def part(group: str) -> Tensors:
            return unpack(tensors, body["aliases"], group)

        self.copy_weights(part("model"))
        load_optimizer(self.optimizer, part("optimizer"), body["optimizer"])
        if self.update.ema is not None:
            self.update.ema.load_state_dict(part("ema"))
        self.best = part("best") or None
        self.batches.load_state_dict({**body["data"], **part("data")})
        if not isinstance(body["step"], int) or body["step"] < 0:
            raise ValueError(f"step: got {body['step']!r} in a checkpoint, expected an int from 0")
        self.step = body["step"]
        series: dict[str, Any] = {name: x.tolist() for name, x in part("history").items()}
        self.history = History(**body["history"], **series)
        self.history.validations = [(step, value) for step, value in self.history.validations]
        set_random_state(part("random"), body["random"])

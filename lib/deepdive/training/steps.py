"""One training step: batches, loss, backward pass, optimizer update, and metrics."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core.hooks import Losses, LossPoint, collect_losses
from deepdive.training.diagnose import TrainingDiverged, diagnose, tensors_in
from deepdive.training.history import History
from deepdive.training.optim import Schedule
from deepdive.training.settings import Update

LOOK_EVERY = 16  # steps between reads of the losses on a GPU: a read synchronizes the device


def to_device(value: Any, device: torch.device) -> Any:
    """Move every tensor in nested tuples, lists, mappings and dataclasses to `device`."""
    if isinstance(value, Tensor) or hasattr(value, "to"):
        return value.to(device)
    if isinstance(value, Mapping):
        return {key: to_device(part, device) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [to_device(part, device) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if is_dataclass(value) and not isinstance(value, type):
        moved = {f.name: to_device(getattr(value, f.name), device) for f in fields(value)}
        return replace(value, **moved)
    return value


def count_tokens(batch: Any) -> Tensor:
    """Count nonzero entries of the batch's last integer tensor; without one, count examples."""
    tensors = [x for _, x in tensors_in(batch)]
    whole = [x for x in tensors if not x.is_floating_point() and x.dtype != torch.bool]
    if whole:
        return whole[-1].count_nonzero()
    return torch.tensor(len(tensors[0]) if tensors and tensors[0].ndim else 1)


@dataclass
class Pending:
    """A step whose metrics are still on the device."""

    step: int
    taken: list[Any]
    lr: float
    loss: Tensor
    norm: Tensor
    tokens: Tensor


@dataclass(kw_only=True)
class Stepper:
    """The training step and its position in the data; arguments as in `fit`."""

    model: nn.Module
    batches: Any
    loss: Callable[[Any, Any], Tensor]
    optimizer: torch.optim.Optimizer
    schedule: Schedule | None
    update: Update
    step: int = 0
    history: History = field(default_factory=History)

    def __post_init__(self) -> None:
        groups = self.optimizer.param_groups
        self.parameters = [p for group in groups for p in group["params"]]
        own = {id(p) for p in self.model.parameters()}
        if not any(id(p) in own for p in self.parameters):
            raise ValueError("optimizer: has no parameter of model; build it from this model")
        self.rates = [group.setdefault("initial_lr", group["lr"]) for group in groups]
        self.device = self.parameters[0].device
        # Finding loss points walks all modules: done once.
        self.costly = any(isinstance(module, LossPoint) for module in self.model.modules())
        # A fused optimizer skips non-finite updates by itself, so no synchronization is needed.
        self.lazy = self.device.type == "cuda" and all(group.get("fused") for group in groups)
        self.skip = torch.zeros((), device=self.device)
        self.window: list[Pending] = []
        self.iterator: Iterator[Any] | None = None

    def draw(self) -> Any:
        """Return the next batch, from the next epoch if this one is exhausted."""
        for _ in range(2):
            self.iterator = iter(self.batches) if self.iterator is None else self.iterator
            for batch in self.iterator:
                return batch
            self.iterator = None
        raise ValueError("batches: got no batch in a full pass, expected at least one")

    def compute(self, batch: Any) -> Tensor:
        """Return the loss of one batch, including auxiliary losses."""
        if self.device.type != "cpu":
            batch = to_device(batch, self.device)
        with collect_losses(self.model) if self.costly else nullcontext(Losses()) as extra:
            value = self.loss(self.model, batch)
        if not isinstance(value, Tensor) or value.numel() != 1:
            got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise TypeError(f"loss: returned {got}, expected a scalar tensor; take its mean")
        if not value.requires_grad:
            raise ValueError("loss: does not depend on the model's parameters (no gradient)")
        return value.reshape(()) + extra.total()

    def set_lr(self) -> float:
        """Set the learning rate of this step in every group; return that of the first."""
        groups = self.optimizer.param_groups
        if self.schedule is not None:
            lr = float(self.schedule(self.step))
            for group, rate in zip(groups, self.rates, strict=True):
                group["lr"] = lr * (rate / self.rates[0] if self.rates[0] else 1.0)
        return float(groups[0]["lr"])

    def parts(self, taken: list[Any]) -> list[Any]:
        """The divisor of each batch's loss: the number of batches, or all terms / its terms."""
        weigh = self.update.weigh
        if weigh is None:
            return [len(taken)] * len(taken)
        terms = [torch.as_tensor(weigh(batch), dtype=torch.float64) for batch in taken]
        if any(n.numel() != 1 or not float(n) > 0 for n in terms):
            values = [n.tolist() for n in terms]
            raise ValueError(f"weigh: returned {values}, expected a number above 0 for each batch")
        return [(torch.stack(terms).sum() / n).to(torch.float32) for n in terms]

    def train_step(self) -> None:
        """Make one update."""
        self.step += 1
        lr = self.set_lr()
        taken = [self.draw() for _ in range(self.update.accumulate)]
        losses, parts = [], self.parts(taken)
        for batch, part in zip(taken, parts, strict=True):
            value = self.compute(batch)
            (value / part).backward()
            losses.append(value.detach())
        norm = nn.utils.clip_grad_norm_(self.parameters, self.update.clip or math.inf)
        loss = torch.stack(losses).mean()
        if self.update.weigh is not None:
            loss = torch.stack(
                [each / part for each, part in zip(losses, parts, strict=True)]
            ).sum()
        tokens = torch.stack([count_tokens(batch) for batch in taken]).sum()
        self.window.append(Pending(self.step, taken, lr, loss, norm, tokens))
        if self.lazy:
            bad = ~(loss + norm).isfinite()
            self.skip = torch.maximum(self.skip, bad.to(self.skip.dtype))
            self.optimizer.found_inf = self.skip  # type: ignore[attr-defined]
        else:
            self.look()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        if self.update.ema is not None:
            self.update.ema.update()
        if len(self.window) >= LOOK_EVERY:
            self.look()

    def look(self) -> None:
        """Append the metrics of the last steps to the history; raise if one is not finite."""
        if not self.window:
            return
        columns = ([w.loss for w in self.window], [w.norm for w in self.window])
        losses, norms = (torch.stack(column).double().tolist() for column in columns)
        for pending, loss, norm in zip(self.window, losses, norms, strict=True):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                raise self.diverged(pending, loss, norm)
            self.history.losses.append(loss)
            self.history.norms.append(norm)
            self.history.lrs.append(pending.lr)
            self.history.tokens += int(pending.tokens)
        self.window.clear()

    def diverged(self, pending: Pending, loss: float, norm: float) -> TrainingDiverged:
        """Return the error that names the step, the batch, and the first non-finite value."""
        found = None
        for batch in pending.taken:
            found = found or diagnose(self.model, batch, partial(self.compute, batch))
        line, advice = found or (
            "none when the batch was rerun: it depends on dropout or on sampling",
            "a lower learning rate, a longer warm-up, a smaller clip",
        )
        drawn = len(pending.taken)
        last = pending.step * drawn
        count = f"batch {last}" if drawn == 1 else f"one of the {drawn} to {last}"
        return TrainingDiverged(
            f"training diverged at step {pending.step} ({count}, counted from 1): loss {loss}, "
            f"gradient norm {norm}, learning rate {pending.lr:.3g}.\n"
            f"First that is not finite: {line}.\nTry: {advice}."
        )

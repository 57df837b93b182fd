"""Resumption: the configuration and the state of a training run, as tensors and JSON."""

import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from deepdive.training.checkpoint import Tensors, unshared
from deepdive.training.fingerprint import data_of, name_of, values_of
from deepdive.training.optim import Schedule

PROBES = (1, 2, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)


@runtime_checkable
class Resumable(Protocol):
    """Batches whose position can be saved: iterating yields the rest of the current epoch."""

    def __iter__(self) -> Iterator[Any]: ...

    def state_dict(self) -> dict[str, Any]:
        """Return the position after the last batch yielded: JSON values and tensors by name."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Move to the position in `state`."""
        ...


class Ordered:
    """A sequence of batches in the same order every epoch, with a position that can be saved."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items, self.place = items, 0

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        while self.place < len(self.items):
            self.place += 1
            yield self.items[self.place - 1]
        self.place = 0

    def state_dict(self) -> dict[str, Any]:
        return {"place": self.place}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.place = state["place"]

    def fingerprint(self) -> dict[str, Any]:
        """Return what identifies the items: their number, and a hash."""
        return data_of(self.items)


def _optimizer(optimizer: torch.optim.Optimizer, scheduled: bool) -> dict[str, Any]:
    left_out = {"params", "lr"} if scheduled else {"params", "initial_lr"}
    groups = [
        {**{k: repr(v) for k, v in g.items() if k not in left_out}, "parameters": len(g["params"])}
        for g in optimizer.param_groups
    ]
    return {"class": type(optimizer).__name__, "groups": groups}


def configuration(
    model: nn.Module,
    batches: Any,
    loss: Callable[..., Any],
    optimizer: torch.optim.Optimizer,
    schedule: Schedule | None,
    validate: Callable[..., Any] | None,
    total: int | None,
    **arguments: Any,
) -> dict[str, Any]:
    """Return what must be the same to resume a run: the arguments of `fit`, as JSON values.

    A function is identified by its name and its settings (`values_of`); a schedule by its values; a
    model by its modules and the names and shapes of its tensors; data by their hash. The code is
    identified only by the `version` among `arguments`.
    """
    tensors = model.state_dict().items()
    probes = [s for s in PROBES if s <= (total or 1)]
    described = {
        **arguments,
        "data": data_of(batches),
        "loss": name_of(loss),
        "loss is set with": values_of(loss),
        "validate": None if validate is None else name_of(validate),
        "validate is set with": {} if validate is None else values_of(validate),
        "schedule": None if schedule is None else {str(s): schedule(s) for s in probes},
        "optimizer": _optimizer(optimizer, schedule is not None),
        "modules": re.sub(r" at 0x[0-9a-f]+", "", repr(model)).splitlines(),
        "tensors": {name: f"{x.dtype} {list(x.shape)}" for name, x in tensors},
    }
    # JSON has no infinity, which may be a setting: it is saved as a string.
    text = json.dumps(described, default=plain_number)
    plain: dict[str, Any] = json.loads(text, parse_constant=str)
    return plain


def plain_number(value: Any) -> Any:
    """Convert a numpy or torch scalar to a Python number."""
    if isinstance(value, np.generic) or (isinstance(value, Tensor) and value.numel() == 1):
        return value.item()
    raise TypeError(f"value: got {value!r} ({type(value).__name__}), expected number or string")


def differences(old: Any, new: Any, name: str = "") -> Iterator[str]:
    """Yield one line for each difference between two configurations."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            inner = f"{name}: {key}" if name else key
            yield from differences(old.get(key), new.get(key), inner)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, pair in enumerate(zip(old, new, strict=True)):
            yield from differences(*pair, f"{name}, item {i}")
    elif isinstance(old, list) and isinstance(new, list):
        yield f"{name}: were {len(old)}, are {len(new)}"
    elif old != new:
        yield f"{name}: was {old!r}, is {new!r}"


def environment(model: nn.Module) -> dict[str, Any]:
    """Return what affects floating-point rounding: torch version, threads, processor, device."""
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    cuda = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": torch.backends.cpu.get_cpu_capability(),
        "device": cuda or device.type,
    }


def check_same(folder: Any, body: Mapping[str, Any], config: Any, here: Mapping[str, Any]) -> None:
    """Raise ValueError if the configuration differs; warn if only the environment does."""
    changed = list(differences(body["configuration"], config))
    if changed:
        raise ValueError(
            f"folder: {folder} has a run with a different configuration:\n  "
            + "\n  ".join(changed)
            + "\nGive the same arguments to resume it, or another folder for a new run."
        )
    moved = list(differences(body["environment"], here))
    if moved:
        warnings.warn(
            f"resuming in another environment ({'; '.join(moved)}): the weights may differ in "
            "their last bits from those of an uninterrupted run",
            stacklevel=2,
        )


def pack(groups: Mapping[str, Mapping[str, Tensor]]) -> tuple[Tensors, dict[str, str]]:
    """Flatten groups of tensors to `group.name`, shared memory once: tensors and aliases."""
    flat = {f"{group}.{name}": x for group, part in groups.items() for name, x in part.items()}
    return unshared(flat)


def unpack(tensors: Tensors, aliases: Mapping[str, str], group: str) -> Tensors:
    """Return one group of tensors flattened by `pack`, aliases included."""
    whole = {**tensors, **{alias: tensors[name] for alias, name in aliases.items()}}
    start = f"{group}."
    return {name[len(start) :]: x for name, x in whole.items() if name.startswith(start)}


def split(state: Mapping[str, Any]) -> tuple[Tensors, dict[str, Any]]:
    """Split a state into its tensors and its other values."""
    tensors = {str(k): v for k, v in state.items() if isinstance(v, Tensor)}
    return tensors, {str(k): v for k, v in state.items() if not isinstance(v, Tensor)}


def place_of(batches: Any) -> tuple[Tensors, dict[str, Any]]:
    """Return the position of `batches`: its tensors, and its other values, checked to be JSON."""
    tensors, plain = split(batches.state_dict())
    try:
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"batches: state_dict() of {type(batches).__name__} has values that cannot be saved "
            f"({error}); expected numbers, strings, lists and dictionaries of them, and tensors"
        ) from error
    return tensors, plain


def optimizer_state(optimizer: torch.optim.Optimizer) -> tuple[Tensors, dict[str, Any]]:
    """Return the optimizer's tensors as `index.name`, and its other values by the same names."""
    state = optimizer.state_dict()["state"]
    return split({f"{i}.{name}": v for i, part in state.items() for name, v in part.items()})


def load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Tensors, plain: Mapping[str, Any]
) -> None:
    """Load the state returned by `optimizer_state`; the optimizer keeps its settings."""
    state: dict[int, dict[str, Any]] = {}
    for key, value in {**tensors, **plain}.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})

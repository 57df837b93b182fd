"""What each part of the library computes, kept as a few numbers: a change of structure moves none.

    python tests/digests.py            # says what differs from tests/digests.json
    python tests/digests.py --write    # keeps what is computed now

A part's record holds, for each seed, a digest of the names and shapes in its state dict, and three
numbers each for the first weights, for what it returns under several masks, and for its gradients:
projections on directions that depend on name and shape alone. The work is done in float64, so that
the numbers agree between machines to `TOLERANCE`; the first weights are float32 draws, but for
those made orthogonal by a QR decomposition, which two makes of processor round apart by 4e-6: here
that too is done in float64. A published
size (`bert.large`) is held by its names alone, on a device that has no memory.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from laws import CASES, Case, import_cases
from scaffold import placed
from torch import Tensor, nn

import deepdive
from deepdive.core.masks import Causal, Padding

KEPT = Path(__file__).with_suffix(".json")
SEEDS = (0, 1)
TOLERANCE = 1e-6  # of the largest number of a list, or 1
MASKS: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "padding": lambda: Padding(torch.tensor([[1] * 6, [0, 1, 1, 1, 1, 0]]).bool()),
    "causal": Causal,
}


def numbers(named: Iterable[tuple[str, Tensor]]) -> list[float]:
    """Three projections of the tensors, each on directions seeded by the tensor's name."""
    total = torch.zeros(3, dtype=torch.float64)
    for name, tensor in named:
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
        generator = torch.Generator().manual_seed(seed)
        direction = torch.rand(3, tensor.numel(), generator=generator, dtype=torch.float64) - 0.5
        total += direction @ tensor.detach().double().nan_to_num(7.0).reshape(-1)
    return [float(f"{x:.9g}") for x in total.tolist()]


def names(module: nn.Module) -> str:
    """A digest of the names and shapes in a state dict, in their order."""
    told = "\n".join(f"{n} {tuple(t.shape)}" for n, t in module.state_dict().items())
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def record(case: Case, seed: int) -> dict[str, Any]:
    """One part: `make`, then `run` under each mask, a mask that is refused by the error's type."""
    case = placed(case)
    assert case.run is not None
    torch.manual_seed(seed)
    module = case.make()
    found: dict[str, Any] = {
        "names": names(module),
        "weights": numbers(module.state_dict().items()),
    }
    module = module.double().eval()
    x = case.inputs(2, 6, seed)
    x = x.double() if x.is_floating_point() else x
    for name, mask in MASKS.items():
        torch.manual_seed(seed)  # some mechanisms draw
        try:
            output = case.run(module, x, mask(), None)
        except (ValueError, TypeError, RuntimeError) as error:
            found[name] = type(error).__name__
            continue
        found[name] = numbers([("output", output)])
        if output.requires_grad and name != "causal":
            generator = torch.Generator().manual_seed(3)
            to = torch.randn(output.shape, generator=generator, dtype=torch.float64)
            learned = {n: p for n, p in module.named_parameters() if p.requires_grad}
            told = torch.autograd.grad(
                (output.double() * to).sum(), list(learned.values()), allow_unused=True
            )
            given = [(n, g) for n, g in zip(learned, told, strict=True) if g is not None]
            found[f"{name}: gradients"] = numbers(given)
    return found


def builders(module: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Name and maker of each size in a model's file: functions without arguments, and the records
    of sizes (`BASE`) with the builder that has the file's name.
    """
    build = vars(module).get(module.__name__.split(".")[-1])
    for name, thing in vars(module).items():
        if name.isupper() and hasattr(thing, "but") and build is not None:
            yield name.lower(), partial(build, thing)
        elif inspect.isfunction(thing) and thing.__module__ == module.__name__:
            wants = inspect.signature(thing).parameters.values()
            if not name.startswith("_") and not any(
                p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in wants
            ):
                yield name, thing


def sizes(modules: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """Every size in a model's file, `file.size`."""
    found: dict[str, dict[str, Any]] = {}
    for module in modules:
        for name, build in builders(module):
            with torch.device("meta"):
                model = build()
            if not isinstance(model, nn.Module):
                continue
            one: dict[str, Any] = {"names": names(model)}
            if sum(p.numel() for p in model.parameters()) < 200_000:
                one |= {str(seed): called(build, seed) for seed in SEEDS}
            found[f"{module.__name__.split('.')[-1]}.{name}"] = one
    return found


def called(build: Callable[[], nn.Module], seed: int) -> dict[str, Any]:
    """A small model's first weights, and what it makes of tokens, or of rows 16 wide."""
    torch.manual_seed(seed)
    model = build()
    found = {"weights": numbers(model.state_dict().items())}
    model = model.double().eval()
    wants = inspect.signature(model.forward).parameters.values()
    count = sum(p.default is p.empty and p.name != "context" for p in wants)
    generator = torch.Generator().manual_seed(seed)
    given = [torch.randint(4, 16, (2, 6), generator=generator) for _ in range(count)]
    for inputs in (given, [rows.double()[..., None].expand(2, 6, 16) / 10 for rows in given]):
        try:
            found["output"] = numbers([("output", model(*inputs))])
            break
        except (ValueError, TypeError, RuntimeError):
            continue
    return found


QR = torch.linalg.qr


def _qr_in_double(matrix: Tensor, *args: Any, **more: Any) -> tuple[Tensor, Tensor]:
    q, r = QR(matrix.double(), *args, **more)
    return q.to(matrix.dtype), r.to(matrix.dtype)


def found() -> dict[str, dict[str, Any]]:
    """part -> its record for each seed, of every part that has a case, and every size."""
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(deepdive.__path__, "deepdive.")
        if not module.name.endswith("__main__")
    ]
    import_cases()
    with patch.object(torch.linalg, "qr", _qr_in_double):
        told = {name: {str(s): record(CASES[name](), s) for s in SEEDS} for name in sorted(CASES)}
    models = [m for m in modules if ".models." in m.__name__ and "toys" not in m.__name__]
    return told | dict(sorted(sizes(models).items()))


def kept() -> dict[str, dict[str, Any]]:
    """What is committed."""
    told: dict[str, dict[str, Any]] = json.loads(KEPT.read_text("utf-8"))
    return told


def differences(now: Any, then: Any, where: str = "") -> list[str]:
    """A line for each place where two records differ; numbers may by `TOLERANCE`.

    Numbers in one list are projections of the same tensor, so their rounding errors are of one
    size, whichever of them happens to be small: the largest is the scale. (Another processor
    multiplies in another order; measured against itself, a small one differed by more than 1e-6.)
    """
    if isinstance(now, dict) and isinstance(then, dict):
        lines = [f"{where}/{name}: only in one" for name in sorted(set(now) ^ set(then))]
        both = [name for name in now if name in then]
        return lines + [x for n in both for x in differences(now[n], then[n], f"{where}/{n}")]
    if isinstance(now, list) and isinstance(then, list):
        scale = max(1.0, *map(abs, then))
        far = [abs(a - b) > TOLERANCE * scale for a, b in zip(now, then, strict=True)]
        return [f"{where}: {then} became {now}"] if any(far) else []
    return [] if now == then else [f"{where}: {then} became {now}"]


if __name__ == "__main__":
    computed = found()
    if sys.argv[1:] == ["--write"]:
        lines = [f"{json.dumps(name)}: {json.dumps(one)}" for name, one in computed.items()]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    elif lines := differences(computed, kept()):
        sys.exit("\n".join(lines))

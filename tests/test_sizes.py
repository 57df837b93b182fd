"""Every number that a builder or a layer takes is honored, or refused by its name and its value.

Builders and layers are found by importing the library; their arguments, by their annotations. So a
new one is tested by existing.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import typing
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
from laws import by_part, random_rows
from torch import Tensor, nn

import deepdive
from deepdive.core.checks import divides, not_negative, positive
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.classic import boltzmann
from deepdive.models.efficient import hibert, yoso
from deepdive.recurrent import GRU

CASES = by_part()

MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(deepdive.__path__, "deepdive.")
    if not found.name.endswith("__main__")
]

# Small sizes, by the names that arguments have everywhere; what is not named keeps its default.
SMALL: dict[str, Any] = {
    "vocab_size": 20,
    "src_vocab": 20,
    "tgt_vocab": 20,
    "d_model": 16,
    "d_query": 16,
    "d_key": 16,
    "d_input": 16,
    "d_hidden": 12,
    "d_latents": 16,
    "n_features": 16,
    "n_heads": 4,
    "n_cross_heads": 4,
    "n_layers": 2,
    "n_decoder_layers": 1,
    "n_decoder_heads": 4,
    "d_decoder_ff": 32,
    "n_sides": 2,
    "n_latents": 3,
    "n_classes": 3,
    "d_head": 4,
    "d_ff": 32,
    "max_length": 32,
    "window": 2,
    "chunk": 4,
    "local_chunk": 4,
    "block": 2,
    "n_landmarks": 4,
    "n_slots": 3,
    "bits": 3,
    "block_size": 2,
    "kernel": 3,
    "d_embedding": 8,
    "depths": (2, 1),
    "heads": (2, 4),
    "widths": (16, 32),
    "kernels": (3, 3),
    "n_letters": 20,
    "sizes": (3, 3),
    "strides": (2, 2),
    "rates": (2, 1),
    "ratios": (2, 2),
    "n_buckets": 4,
}
# A model of one vocabulary hands its size on as the source's.
ALSO = {"vocab_size": "src_vocab", "max_written": "max_length"}
# What is given for arguments that are no number.
GIVEN: dict[str, Callable[[], Any]] = {
    "n_languages": lambda: 3,
    "dbn": lambda: boltzmann.DBN((16, 8)),
    "model": lambda: yoso.yoso(yoso.TINY),
    "vectors": lambda: random_rows(64, 16).float(),
    "kind": lambda: GRU,
    "embedding": lambda: TokenEmbedding(20, 16),
    "hibert": lambda: hibert.hibert(hibert.TINY),
    "stack": lambda: Stack(lambda _: nn.Identity(), 0),
}
# Arguments for which 0 says something: none of what they count, or the first place.
ZERO_SAYS_SOMETHING = {
    "last",
    "local_before",
    "local_after",
    "k",  # of a sandwich: attention and feed-forward layers alternate throughout
    "n_layers",
    "n_document_layers",
    "n_decoder_layers",
    "n_vertical",
    "n_along",
    "n_down",
    "n_segments",
    "n_special",
    "n_future",  # none: the tokens' own rows say what comes next
    "n_global",
    "n_random",
    "n_highway",
    "n_memory",  # each segment by itself
    "n_compressed",  # states that leave the memory are dropped
    "n_slots",  # all-attention without persistent vectors is attention alone; Luna refuses 0
    "pad",
    "shift",
    "start",
    "end",
    "left",
    "right",
    "padding",
    "unused_positions",
    "attended",  # Lite Transformer's channels: all of them are convolved
    "halve",  # how many of the layers are halved: maybe none
}


def builders() -> Iterator[Callable[..., nn.Module]]:
    """The functions of models and recurrent layers that return a module and take a number."""
    for module in MODULES:
        if not module.__name__.startswith(("deepdive.models.", "deepdive.recurrent.")):
            continue
        for name, build in vars(module).items():
            if not inspect.isfunction(build) or build.__module__ != module.__name__:
                continue
            config = inspect.signature(build).parameters.get("config")
            if config is not None:  # of a record of sizes; without a default it builds a part
                if config.default is not config.empty:
                    yield by_fields(build)
                continue
            hints = typing.get_type_hints(build)
            told = hints.get("return")
            is_module = inspect.isclass(told) and issubclass(told, nn.Module)
            if "folder" in hints:  # its numbers are in files
                continue
            if is_module and not name.startswith("_") and any(map(holds_numbers, hints.values())):
                yield build


def by_fields(build: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """A builder from a record of sizes, as one from the record's numbers."""
    config = inspect.signature(build).parameters["config"].default
    hints = typing.get_type_hints(type(config))
    names = [field.name for field in dataclasses.fields(config)]
    kinds = {
        name: hints[name]
        for name in names
        if type(getattr(config, name)) in (int, tuple) or holds_numbers(hints[name])
    }
    numbers = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=getattr(config, name))
        for name in kinds
    ]

    def build_from(**given: Any) -> nn.Module:
        return build(config.but(**given))

    build_from.__signature__ = inspect.Signature(numbers)  # type: ignore[attr-defined]
    build_from.__annotations__ = dict(kinds)
    build_from.__module__, build_from.__qualname__ = build.__module__, build.__qualname__
    return build_from


def holds_numbers(hint: Any) -> bool:
    """Whether the annotation is int, or a union with int."""
    return hint is int or int in typing.get_args(hint)


def usual(build: Callable[..., nn.Module]) -> dict[str, Any]:
    """Small arguments that the builder takes."""
    found: dict[str, Any] = {}
    for name, parameter in inspect.signature(build).parameters.items():
        if SMALL.get(name) is not None:
            found[name] = SMALL[name]
        elif parameter.default is not parameter.empty:
            found[name] = parameter.default
        else:
            assert name in GIVEN, f"{build.__qualname__}: say in SMALL or GIVEN what {name} may be"
            found[name] = GIVEN[name]()
    return found


def changes(
    build: Callable[..., nn.Module], arguments: dict[str, Any], value: int
) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Each number's name, and what makes the arguments with `value` in its place: numbers, numbers
    that are left out, and those in tuples.
    """
    hints = typing.get_type_hints(build.__init__ if inspect.isclass(build) else build)
    for name, old in arguments.items():
        if type(old) is int or (old is None and holds_numbers(hints.get(name))):
            yield name, lambda name=name: {**arguments, name: value}
        elif isinstance(old, tuple | list) and old and all(type(x) is int for x in old):
            for i in range(len(old)):
                other = type(old)([*old[:i], value, *old[i + 1 :]])
                yield name, lambda name=name, other=other: {**arguments, name: other}


def parameters(build: Callable[..., nn.Module], arguments: dict[str, Any]) -> int:
    """How many numbers the module learns; it is built without memory, unless of another's."""
    if any(isinstance(value, nn.Module) for value in arguments.values()):
        return sum(p.numel() for p in build(**arguments).parameters())
    with torch.device("meta"):
        return sum(p.numel() for p in build(**arguments).parameters())


def inputs(model: nn.Module, arguments: dict[str, Any]) -> list[Tensor] | None:
    """Tokens, rows or images, whatever the model takes; None where it is none of these."""
    wants = inspect.signature(model.forward).parameters.values()
    count = sum(p.default is p.empty for p in wants)
    width = next((arguments[k] for k in ("d_input", "n_features", "d_model") if k in arguments), 16)
    tokens = torch.arange(12).view(2, 6)
    for given in (tokens, random_rows(2, 6, width).float(), random_rows(2, 8, 8).float()):
        try:
            model(*[given] * count)
        except (TypeError, ValueError, RuntimeError):
            continue
        return [given] * count
    return None


def fitting(given: list[Tensor], arguments: dict[str, Any]) -> list[Tensor]:
    """The inputs for a model of other sizes: tokens that it knows, rows of its width."""
    names = [k for k in ("vocab_size", "src_vocab", "tgt_vocab") if arguments.get(k) is not None]
    if not given[0].is_floating_point():
        return [x % min([20, *(arguments[k] for k in names)]) for x in given]
    wide = next((k for k in ("d_input", "n_features", "d_model") if k in arguments), None)
    if wide is None or given[0].shape[-1] == 8:
        return given
    return [random_rows(2, 6, arguments[wide]).float() for _ in given]


def faults(
    build: Callable[..., nn.Module], usual: Callable[[], dict[str, Any]], *, forward: bool
) -> Iterator[str]:
    """What is neither honored nor refused by its name. `usual()` returns fresh arguments."""
    arguments = usual()
    given = inputs(build(**arguments).eval(), arguments) if forward else None
    for value in (0, -1, 1, 2, 3, 5) if forward else (0, -1):
        for i, (name, _) in enumerate(changes(build, arguments, value)):
            means = value > 0 or (value == 0 and name in ZERO_SAYS_SOMETHING)
            try:
                changed = [*changes(build, usual(), value)][i][1]()
                with torch.device("cpu" if forward else "meta"):
                    model = build(**changed).eval()
                if not means:
                    yield f"{name}={value}: taken"
                elif given is not None and not _finite(model(*fitting(given, changed))):
                    yield f"{name}={value}: what it says is not finite"
            except ValueError as error:
                told = str(error)
                names = rf"\b({name}|{ALSO.get(name, name)})\b"
                if not re.search(names, told) or str(value) not in told:
                    yield f"{name}={value}: {told}"
            except (TypeError, RuntimeError, ArithmeticError, LookupError) as error:
                yield f"{name}={value}: {type(error).__name__}: {error}"


def _finite(output: Any) -> bool:
    return not isinstance(output, Tensor) or bool(torch.isfinite(output).all())


def named(build: Callable[..., nn.Module]) -> str:
    return f"{build.__module__.rpartition('.')[2]}.{build.__qualname__}"


@pytest.mark.parametrize("build", list(builders()), ids=named)
def test_a_builder(build: Callable[..., nn.Module]) -> None:
    """Small models are run too; of the published sizes it is only tried that they are built."""
    small = parameters(build, usual(build)) < 200_000
    assert not list(faults(build, partial(usual, build), forward=small))


PARTS = sorted(
    (p for p in CASES if not p.__module__.startswith(("deepdive.attention", "deepdive.positions"))),
    key=lambda part: part.__qualname__,
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__qualname__)
def test_a_layer(part: type[nn.Module]) -> None:
    """The arguments are those with which the part's own case builds it."""
    assert not list(faults(part, partial(case_arguments, part), forward=False))


def case_arguments(part: type[nn.Module]) -> dict[str, Any]:
    """What the case of `part` gives its constructor."""
    seen: list[dict[str, Any]] = []
    init = part.__init__

    def spy(self: nn.Module, *given: Any, **named: Any) -> None:
        if type(self) is part:
            told = inspect.signature(init).bind(self, *given, **named)
            told.apply_defaults()
            found = dict([*told.arguments.items()][1:])
            for name, parameter in inspect.signature(init).parameters.items():
                if parameter.kind is parameter.VAR_KEYWORD:  # handed on by their own names
                    found |= found.pop(name)
            seen.append(found)
        init(self, *given, **named)

    with mock.patch.object(part, "__init__", spy):
        CASES[part]().make()
    return seen[0] if seen else {}


READERS = [part for part in PARTS if "tokens" in inspect.signature(part.forward).parameters]
READERS += [part for part in PARTS if "src" in inspect.signature(part.forward).parameters]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("part", READERS, ids=lambda part: part.__qualname__)
def test_tokens_without_a_batch_axis(part: type[nn.Module], masked: bool) -> None:
    """The message says how a batch is made of them."""
    wants = inspect.signature(part.forward).parameters
    given: dict[str, Any] = {
        name: None if parameter.default is None else mock.MagicMock()
        for name, parameter in [*wants.items()][1:]
    }
    tokens = [name for name in ("tokens", "src", "tgt") if name in wants]
    given |= dict.fromkeys(tokens, torch.arange(4, 10))
    if masked:
        given |= {n: torch.ones(6).bool() for n in ("mask", "src_mask", "tgt_mask") if n in wants}
    if "positions" in wants:
        given["positions"] = torch.arange(6)
    with pytest.raises(ValueError, match=r"(tokens|src|tgt)\[None\]|\(B, C, T\)"):
        CASES[part]().make()(**given)


def test_positive() -> None:
    positive(d_model=1, d_ff=None)
    not_negative(n_layers=0)
    with pytest.raises(
        ValueError, match=r"d_ff=0: expected a whole number, 1 or more \(beside d_model=4"
    ):
        positive(d_model=4, d_ff=0)
    with pytest.raises(ValueError, match="n_layers=-1: expected a whole number, 0 or more"):
        not_negative(n_layers=-1)
    with pytest.raises(ValueError, match="n_heads=3 does not divide d_model=16"):
        divides(n_heads=3, d_model=16)
    with pytest.raises(ValueError, match="n_heads=0: expected a whole number, 1 or more"):
        divides(n_heads=0, d_model=16)
    with pytest.raises(TypeError, match=r"d_ff=42\.5: expected a whole number"):
        positive(d_ff=42.5)  # type: ignore[arg-type]

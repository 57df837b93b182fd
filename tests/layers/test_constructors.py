"""No part is built of a number that makes every result NaN, or silently another function."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from deepdive import layers, positions
from deepdive.core import (
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    PostNorm,
    RMSNorm,
    SoftmaxAttention,
)
from deepdive.core.embeddings import TokenEmbedding
from deepdive.models.bert import bert
from deepdive.models.vision import vit
from deepdive.positions import RotaryPosition, SinusoidalPosition
from deepdive.positions.rotary import TailRotaryPosition
from deepdive.positions.sinusoidal import BlockedSinusoidalPosition

NORMS = (LayerNorm, RMSNorm)
WAVES = (RotaryPosition, TailRotaryPosition, SinusoidalPosition, BlockedSinusoidalPosition)
DROPOUTS = (math.nan, math.inf, -0.1, 1.1)
WRONG: list[tuple[Callable[[Any], Any], str, tuple[Any, ...]]] = [
    (SoftmaxAttention, "dropout", DROPOUTS),
    (lambda p: PostNorm(8, dropout=p), "dropout", DROPOUTS),
    (lambda p: FeedForward(8, 8, dropout=p), "dropout", DROPOUTS),
    *((lambda eps, norm=norm: norm(8, eps=eps), "eps", (-1.0, math.nan, math.inf))
      for norm in NORMS),
    *((wave, "d_", (0, -2)) for wave in WAVES),
    *((lambda base, wave=wave: wave(8, base=base), "base", (0.0, -1.0, math.nan, math.inf))
      for wave in WAVES),
    (lambda eps: bert.bert(bert.TINY, eps=eps), "eps", (-1.0, math.nan)),
    (lambda p: bert.bert(bert.TINY, dropout=p), "p", (-1.0, math.nan)),
    (lambda eps: vit.vit(vit.TINY, eps=eps), "eps", (-1.0, math.nan)),
]  # fmt: skip


@pytest.mark.parametrize(("build", "name", "values"), WRONG)
def test_such_a_number_is_refused(
    build: Callable[[Any], Any], name: str, values: tuple[Any, ...]
) -> None:
    for value in values:
        with pytest.raises(ValueError, match=rf"{name}\w*={value}: expected"):
            build(value)


def modules() -> Iterator[type[nn.Module]]:
    """Every module class of the rooms of layers and positions, once."""
    for room in (layers, positions):
        for info in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            for part in vars(importlib.import_module(info.name)).values():
                own = inspect.isclass(part) and part.__module__ == info.name
                if own and issubclass(part, nn.Module):
                    yield part


TAKES_EPS = [part for part in modules() if "eps" in inspect.signature(part).parameters]


@pytest.mark.parametrize("part", TAKES_EPS)
def test_every_part_with_an_epsilon_checks_it(part: type[nn.Module]) -> None:
    """Its other arguments are small whole numbers, an activation, or a layer."""
    given: dict[str, Any] = {
        name: torch.relu if name == "activation" else 3 if name == "kernel" else 4
        for name, each in inspect.signature(part).parameters.items()
        if each.default is inspect.Parameter.empty and name != "eps"
    }
    if "embedding" in given:
        given["embedding"] = TokenEmbedding(4, 4)
    if "attn" in given:
        given["attn"] = MultiHeadAttention(4, 2)
    part(**given, eps=1e-6)
    for eps in (-1.0, math.nan):
        with pytest.raises(ValueError, match="eps="):
            part(**given, eps=eps)


@pytest.mark.parametrize("norm", NORMS)
def test_a_norm_names_the_width_it_was_built_for(norm: type[nn.Module]) -> None:
    with pytest.raises(ValueError, match=r"x has shape \(2, 5\); its last dimension must be 4"):
        norm(4)(torch.randn(2, 5))

"""The attention maps of one call of a model, and which of their cells are masked.

Our models give them at their hook points, those of transformers in their output. Whether a weight
of 0 was masked is found by experiment in ours: in a second call all scores are 0, and what has
weight 0 then is masked. In theirs the softmax is watched: what it got there was the mask's number.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from deepdive.attention import WindowAttention
from deepdive.core.hooks import HookPoint, forward_once, record, replace

NO_SCORE = -1e4  # a mask that is added makes lower scores than this; attention itself never does


@dataclass(frozen=True)
class Maps:
    """What one kind of attention weighs, in all its layers and heads.

    name     "encoder", "decoder", "cross", "attention", or the place of its hook points
    weights  (L, H, T, S), between 0 and 1
    masked   (L, H, T, S), bool: True = query t may not attend to key s
    """

    name: str
    weights: Tensor
    masked: Tensor

    @property
    def causal(self) -> bool:
        """Whether exactly the keys after the query are masked, in every head."""
        T, S = self.weights.shape[2:]
        later = torch.ones(T, S, dtype=torch.bool).triu(1)
        return T == S > 1 and bool((self.masked == later).all())


def attention_maps(model: nn.Module, inputs: Any) -> list[Maps]:
    """Run the model on one row of input and return its maps, one `Maps` a kind of attention.

    `inputs` as in `deepdive.core.hooks.forward_once`. Layers of one kind and one shape stand
    together, in order; the single steps of a recurrent or cached decoder become the rows of one
    map.

    Raises:
        ValueError: the model has no attention that can be seen, was not loaded eager, or got more
            than one row.
    """
    if _weight_points(model):
        return _of_hook_points(model, inputs)
    if hasattr(getattr(model, "config", None), "_attn_implementation"):
        return _of_transformers(model, inputs)
    raise ValueError(
        f"{type(model).__name__} has no hook point `weights` and is no model of transformers: "
        "nothing weighs here, or it cannot be seen; torch's own layers show their weights after "
        "deepdive.published.from_torch.from_torch(...)"
    )


def _weight_points(model: nn.Module, last: str = "weights") -> list[str]:
    modules = model.named_modules()
    return [n for n, m in modules if isinstance(m, HookPoint) and n.split(".")[-1] == last]


# -- our models


def _of_hook_points(model: nn.Module, inputs: Any) -> list[Maps]:
    points = _weight_points(model)
    with record(model, *points) as seen:
        forward_once(model, inputs)
    with ExitStack() as stack:
        for point in _weight_points(model, "scores"):
            stack.enter_context(replace(model, point, torch.zeros_like))
        even = stack.enter_context(record(model, *points))
        forward_once(model, inputs)
    found: dict[tuple[str, Any], list[tuple[Tensor, Tensor]]] = defaultdict(list)
    for point in points:
        mechanism = model.get_submodule(point.rpartition(".")[0])
        weights, open_ = (_calls(mechanism, values[point]) for values in (seen, even))
        for w, o in zip(weights, open_, strict=True):
            found[re.sub(r"\d+", "*", point), w.shape].append((w, (w == 0) & (o == 0)))
    return _named([(_name(path), layers) for (path, _), layers in found.items()])


def _calls(mechanism: nn.Module, values: list[Tensor]) -> list[Tensor]:
    """What passed through one point: (H, T, S) a call, or one map whose rows are steps."""
    rows = {len(value) for value in values}
    if rows != {1}:
        raise ValueError(
            f"inputs has {max(rows)} rows; the explorer shows one: pass inputs[:1] or inputs[i:i+1]"
        )
    if isinstance(mechanism, WindowAttention):
        values = [_whole(value, mechanism.left) for value in values]
    if len(values) == 1 or values[0].shape[2] > 1:
        return [value[0].float() for value in values]
    longest = max(value.shape[3] for value in values)
    steps = [F.pad(value[0], (0, longest - value.shape[3])) for value in values]
    return [torch.cat(steps, dim=1).float()]


def _whole(band: Tensor, left: int) -> Tensor:
    """(B, H, T, window), entry j for key t - left + j, to (B, H, T, T)."""
    T, window = band.shape[2:]
    keys = torch.arange(T).unsqueeze(1) + torch.arange(window)  # shifted right by left
    wide = band.new_zeros(*band.shape[:3], T + window).scatter(-1, keys.expand(band.shape), band)
    return wide[..., left : left + T]


COMMON = {"*", "attn", "attention", "blocks", "layers", "mechanism", "stack", "weights"}


def _name(path: str) -> str:
    """`encoder.stack.blocks.*.attn.mechanism.weights` -> `encoder`."""
    parts = path.split(".")
    if "cross" in parts or ("decoder" in parts and "attention" in parts):
        return "cross"
    return ".".join(part for part in parts if part not in COMMON) or "attention"


def _named(groups: Iterable[tuple[str, list[tuple[Tensor, Tensor]]]]) -> list[Maps]:
    """Stack the layers of each group; a name that comes twice gets a number."""
    maps: list[Maps] = []
    for name, layers in groups:
        weights, masked = (torch.stack(list(side)).cpu() for side in zip(*layers, strict=True))
        if weights.min() < 0 or weights.max() > 1 + 1e-3:
            raise ValueError(
                f"the weights of {name} reach from {weights.min():.2f} to {weights.max():.2f}, "
                "expected 0 to 1: show them with deepdive_book.kit.plotting.heads"
            )
        before = sum(re.sub(r" \d+$", "", old.name) == name for old in maps)
        maps.append(Maps(f"{name} {before + 1}" if before else name, weights, masked))
    return maps


# -- models of transformers

FIELDS = (
    ("encoder", "encoder_attentions"),
    ("decoder", "decoder_attentions"),
    ("cross", "cross_attentions"),
)


class _Softmaxes(TorchFunctionMode):
    """Keeps where each softmax got scores as low as a mask makes them, and what came out."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Tensor, Tensor]] = []

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if func.__name__ == "softmax" and args and isinstance(out, Tensor) and out.ndim == 4:
            self.seen.append((args[0] < NO_SCORE, out))
        return out

    def masked(self, weights: Tensor) -> Tensor:
        """Return the masked cells of weights (B, H, T, S); none if their softmax was unseen."""
        for low, out in self.seen:
            if out.shape == weights.shape and torch.equal(out.to(weights.dtype), weights):
                return low & (weights == 0)
        return torch.zeros_like(weights, dtype=torch.bool)


def _of_transformers(model: Any, inputs: Any) -> list[Maps]:
    implementation = model.config._attn_implementation
    name = type(model).__name__
    if implementation != "eager":
        raise ValueError(
            f"{name} computes attention by {implementation!r}, which gives no maps: load it with "
            'from_pretrained(..., attn_implementation="eager"), or call '
            'model.set_attn_implementation("eager")'
        )
    with _Softmaxes() as softmaxes:
        output = forward_once(model, inputs, output_attentions=True, return_dict=True)
    fields = (("attention", "attentions"), *FIELDS)
    found: dict[tuple[str, Any], list[tuple[Tensor, Tensor]]] = defaultdict(list)
    for kind, field in fields:
        for weights in getattr(output, field, None) or ():
            if weights is not None:
                (w,) = _calls(model, [weights])
                found[kind, w.shape].append((w, softmaxes.masked(weights)[0]))
    if not found:
        raise ValueError(
            f"{name} returned no attention maps: it has no attention, or does not return it for "
            "output_attentions=True"
        )
    return _named([(kind, layers) for (kind, _), layers in found.items()])

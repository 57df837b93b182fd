"""The attentions that race on the long-range tasks, at one budget, each by a name.

Rows are 64 wide with 4 heads. Where full attention meets all of some 256 keys, a budgeted one meets
about 32: windows of 16 a side, blocks and buckets of 16, 32 features, slots or projected rows, 16
landmarks. What changes the heads, and saves nothing, stands beside them with all keys.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from deepdive import attention
from deepdive.attention import SynthesizedAttention
from deepdive.core import MultiHeadAttention, SoftmaxAttention
from deepdive.layers.fourier import FourierMixing
from deepdive_book.tasks.long_range import LongModel, LongTask, bag_of_words, learn

D_MODEL, N_HEADS, D_HEAD = 64, 4, 16
SIDE, BLOCK, ROWS, LANDMARKS, ROUNDS = 16, 16, 32, 16, 4
FULL, BAG = "full attention", "bag of words"
Make = Callable[[LongTask, int], Any]  # the task, and which layer it is


@dataclass(frozen=True)
class Variant:
    """A layer with the signature of `MultiHeadAttention`: `make(task, layer)`."""

    family: str
    make: Make


def _heads(mechanism: Make) -> Make:
    """Return a maker of multi-head attention around a mechanism."""
    return lambda task, i: MultiHeadAttention(D_MODEL, N_HEADS, mechanism=mechanism(task, i))


def _synthesized(scores: Make) -> Make:
    return lambda task, i: SynthesizedAttention(D_MODEL, N_HEADS, scores(task, i))


FAMILIES: dict[str, dict[str, Make]] = {
    "exact": {
        FULL: _heads(lambda task, i: SoftmaxAttention()),
        "tiles": _heads(lambda task, i: attention.TiledAttention(64)),
    },
    "sparse by position": {
        "window": _heads(lambda task, i: attention.WindowAttention(SIDE, SIDE)),
        "window, first token global": lambda task, i: attention.LongformerAttention(
            D_MODEL, N_HEADS, SIDE, (0,)
        ),
        "dilated window": _heads(
            lambda task, i: attention.DilatedAttention(SIDE, SIDE, (1, 2, 4, 8))
        ),
        "block-sparse": _heads(lambda task, i: attention.BlockSparseAttention(SIDE // 2, 1)),
        "chunks": _heads(lambda task, i: attention.ChunkAttention(BLOCK, 1, 0)),
        "strided": _heads(lambda task, i: attention.StridedAttention(BLOCK)),
        "fixed": _heads(lambda task, i: attention.FixedAttention(BLOCK)),
        "axial": _heads(lambda task, i: attention.AxialAttention(BLOCK, ("row", "column")[i % 2])),
    },
    "sparse by content": {
        "LSH": lambda task, i: attention.SharedQKMultiHeadAttention(
            D_MODEL, N_HEADS, mechanism=attention.LSHAttention(BLOCK, ROUNDS)
        ),
        "routing": _heads(
            lambda task, i: attention.RoutingAttention(N_HEADS, D_HEAD, max(1, task.length // ROWS))
        ),
        "Sinkhorn": _heads(
            lambda task, i: attention.SinkhornAttention(
                N_HEADS, D_HEAD, BLOCK, -(-task.length // BLOCK)
            )
        ),
    },
    "low rank and features": {
        "linear": _heads(lambda task, i: attention.LinearAttention()),
        "Performer": _heads(lambda task, i: attention.PerformerAttention(D_HEAD, ROWS)),
        "Linformer": _heads(
            lambda task, i: attention.LinformerAttention(
                attention.LengthProjection(1, task.length, ROWS)
            )
        ),
        "Nystrom": _heads(lambda task, i: attention.NystromAttention(LANDMARKS)),
        "YOSO": _heads(lambda task, i: attention.YosoAttention(D_HEAD, 6, 8)),
        "FNet": lambda task, i: FourierMixing(D_MODEL),
    },
    "prototypes and memories": {
        "Luna": _heads(lambda task, i: attention.NestedAttention(N_HEADS, ROWS, D_HEAD)),
        "memory-compressed": _heads(
            lambda task, i: attention.MemoryCompressedAttention(N_HEADS, D_HEAD, 4)
        ),
        "clustered": _heads(lambda task, i: attention.ClusteredAttention(D_HEAD, ROWS)),
        "improved clustered": _heads(
            lambda task, i: attention.ImprovedClusteredAttention(D_HEAD, ROWS)
        ),
        "ProbSparse": _heads(lambda task, i: attention.ProbSparseAttention(ROWS // 5)),
    },
    "better heads": {
        "talking heads": _heads(lambda task, i: attention.TalkingHeadsAttention(N_HEADS)),
        "collaborative heads": lambda task, i: attention.CollaborativeAttention(
            D_MODEL, N_HEADS, ROWS
        ),
        "disagreeing heads": _heads(lambda task, i: attention.DisagreeingAttention(output=0.1)),
        "adaptive span": _heads(
            lambda task, i: attention.AdaptiveSpanAttention(N_HEADS, task.length)
        ),
        "multi-scale": _heads(lambda task, i: attention.MultiScaleAttention((1, SIDE, 64, None))),
    },
    "priors": {
        "dense Synthesizer": _synthesized(
            lambda task, i: attention.DenseScores(D_MODEL, N_HEADS, task.length)
        ),
        "random Synthesizer": _synthesized(
            lambda task, i: attention.RandomScores(N_HEADS, task.length)
        ),
        "predicted window": _heads(lambda task, i: attention.LocalAttention(N_HEADS, D_HEAD)),
        "Gaussian prior": lambda task, i: MultiHeadAttention(
            D_MODEL, N_HEADS, position=attention.GaussianPrior(N_HEADS)
        ),
    },
}
VARIANTS: dict[str, Variant] = {
    name: Variant(family, make)
    for family, variants in FAMILIES.items()
    for name, make in variants.items()
}


def build(task: LongTask, name: str, *, d_ff: int = 128, seed: int = 0) -> LongModel:
    """Return the model of a variant, or of the bag of words, for a task.

    Raises ValueError for a name that is not known.
    """
    torch.manual_seed(seed)
    if name == BAG:
        return bag_of_words(task, d_model=D_MODEL, d_ff=d_ff, n_heads=N_HEADS)
    if name not in VARIANTS:
        raise ValueError(f"name: no variant {name!r}; there are {', '.join(VARIANTS)}, {BAG}")
    make = VARIANTS[name].make
    return LongModel(task, lambda layer: make(task, layer), d_model=D_MODEL, d_ff=d_ff)


def size(model: nn.Module) -> int:
    """Return the number of trained parameters; what several places share counts once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def equal_size(task: LongTask, name: str, parameters: int) -> int:
    """Return the d_ff with which a variant's model has about so many parameters, at least 8."""
    few, many = (size(build(task, name, d_ff=d_ff)) for d_ff in (8, 16))
    return max(8, 8 + round((parameters - few) * 8 / (many - few)))


def race(
    task: LongTask,
    name: str,
    *,
    seed: int = 0,
    steps: int | None = None,
    minutes: float | None = None,
    parameters: int | None = None,
) -> dict[str, Any]:
    """Train one variant on one task, for so many steps or minutes of processor time; return plain
    JSON values.

    With `parameters` the feed-forward layers are as wide as makes the model so large. Keys:
    accuracy, chance, steps, parameters, refused ("" or why the variant cannot do the task, which it
    says itself at the first batch; accuracy is then None).
    """
    d_ff = 128 if parameters is None else equal_size(task, name, parameters)
    model = build(task, name, d_ff=d_ff, seed=seed)
    row: dict[str, Any] = {"chance": task.chance, "parameters": size(model), "refused": ""}
    tokens = task.train[0][:1]
    try:
        model(tokens, task.mask(tokens))
    except (TypeError, ValueError) as error:
        return {**row, "accuracy": None, "steps": 0, "refused": str(error)}
    return {**row, **learn(model, task, steps=steps, minutes=minutes, rate=2e-3, seed=seed)}

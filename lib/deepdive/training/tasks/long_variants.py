"""The attentions that race on the long-range tasks, at one budget, each by a name.

Rows are 64 wide with 4 heads. Where full attention meets all of some 256 keys, a budgeted one meets
about 32: windows of 16 a side, blocks and buckets of 16, 32 features, slots or projected rows, 16
landmarks. What changes the heads, and saves nothing, stands beside them with all keys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from deepdive.attention import MultiHeadAttention
from deepdive.training.tasks.long_range import LongModel, LongTask, bag_of_words, learn

D_MODEL, N_HEADS, D_HEAD = 64, 4, 16
SIDE, BLOCK, ROWS, LANDMARKS, ROUNDS = 16, 16, 32, 16, 4
FULL, BAG = "full attention", "bag of words"
# The module that holds the class, the task, and which layer it is.
Make = Callable[[Any, LongTask, int], nn.Module]


@dataclass(frozen=True)
class Variant:
    """A layer with the signature of `MultiHeadAttention`, built from the module `home`."""

    family: str
    home: str
    make: Make

    def __call__(self, task: LongTask, layer: int) -> nn.Module:
        return self.make(import_module(self.home), task, layer)


def _heads(build: Make) -> Make:
    """Return a maker of multi-head attention around the mechanism that `build` makes."""
    return lambda module, task, i: MultiHeadAttention(
        D_MODEL, N_HEADS, mechanism=build(module, task, i)
    )


def _at(position: Callable[[Any, LongTask, int], Any]) -> Make:
    """Return a maker of plain multi-head attention with a position scheme."""
    return lambda module, task, i: MultiHeadAttention(
        D_MODEL, N_HEADS, position=position(module, task, i)
    )


def _synthesized(build: Callable[[Any, LongTask, int], Any]) -> Make:
    return lambda module, task, i: module.SynthesizedAttention(
        D_MODEL, N_HEADS, build(module, task, i)
    )


AT = "deepdive.attention."
POSITION, CONTENT, RANK = "sparse by position", "sparse by content", "low rank and features"
MEMORY, HEADS, PRIOR = "prototypes and memories", "better heads", "priors"
VARIANTS: dict[str, Variant] = {
    FULL: Variant("exact", AT + "softmax", _heads(lambda m, t, i: m.SoftmaxAttention())),
    "tiles": Variant("exact", AT + "tiled", _heads(lambda m, t, i: m.TiledAttention(64))),
    "window": Variant(
        POSITION, AT + "by_position.window", _heads(lambda m, t, i: m.WindowAttention(SIDE, SIDE))
    ),
    "window, first token global": Variant(
        POSITION,
        AT + "by_position.longformer",
        lambda m, t, i: m.LongformerAttention(D_MODEL, N_HEADS, SIDE, (0,)),
    ),
    "dilated window": Variant(
        POSITION,
        AT + "by_position.dilated",
        _heads(lambda m, t, i: m.DilatedAttention(SIDE, SIDE, (1, 2, 4, 8))),
    ),
    "block-sparse": Variant(
        POSITION,
        AT + "by_position.block_sparse",
        _heads(lambda m, t, i: m.BlockSparseAttention(SIDE // 2, 1)),
    ),
    "chunks": Variant(
        POSITION, AT + "by_position.chunk", _heads(lambda m, t, i: m.ChunkAttention(BLOCK, 1, 0))
    ),
    "strided": Variant(
        POSITION, AT + "by_position.factorised", _heads(lambda m, t, i: m.StridedAttention(BLOCK))
    ),
    "fixed": Variant(
        POSITION, AT + "by_position.factorised", _heads(lambda m, t, i: m.FixedAttention(BLOCK))
    ),
    "axial": Variant(
        POSITION,
        AT + "by_position.axial",
        _heads(lambda m, t, i: m.AxialAttention(BLOCK, ("row", "column")[i % 2])),
    ),
    "LSH": Variant(
        CONTENT,
        AT + "by_content.lsh",
        lambda m, t, i: import_module(AT + "by_content.shared_qk").SharedQKMultiHeadAttention(
            D_MODEL, N_HEADS, mechanism=m.LSHAttention(BLOCK, ROUNDS)
        ),
    ),
    "routing": Variant(
        CONTENT,
        AT + "by_content.routing",
        _heads(lambda m, t, i: m.RoutingAttention(N_HEADS, D_HEAD, max(1, t.length // ROWS))),
    ),
    "Sinkhorn": Variant(
        CONTENT,
        AT + "by_content.sinkhorn",
        _heads(lambda m, t, i: m.SinkhornAttention(N_HEADS, D_HEAD, BLOCK, -(-t.length // BLOCK))),
    ),
    "linear": Variant(RANK, AT + "low_rank.kernel", _heads(lambda m, t, i: m.LinearAttention())),
    "Performer": Variant(
        RANK, AT + "low_rank.performer", _heads(lambda m, t, i: m.PerformerAttention(D_HEAD, ROWS))
    ),
    "Linformer": Variant(
        RANK,
        AT + "low_rank.linformer",
        _heads(lambda m, t, i: m.LinformerAttention(m.LengthProjection(1, t.length, ROWS))),
    ),
    "Nystrom": Variant(
        RANK, AT + "low_rank.nystrom", _heads(lambda m, t, i: m.NystromAttention(LANDMARKS))
    ),
    "YOSO": Variant(
        RANK, AT + "by_content.yoso", _heads(lambda m, t, i: m.YosoAttention(D_HEAD, 6, 8))
    ),
    "FNet": Variant(RANK, "deepdive.layers.fourier", lambda m, t, i: m.FourierMixing(D_MODEL)),
    "Luna": Variant(
        MEMORY,
        AT + "memories.nested",
        _heads(lambda m, t, i: m.NestedAttention(N_HEADS, ROWS, D_HEAD)),
    ),
    "memory-compressed": Variant(
        MEMORY,
        AT + "memories.compressed",
        _heads(lambda m, t, i: m.MemoryCompressedAttention(N_HEADS, D_HEAD, 4)),
    ),
    "clustered": Variant(
        MEMORY,
        AT + "by_content.clustered",
        _heads(lambda m, t, i: m.ClusteredAttention(D_HEAD, ROWS)),
    ),
    "improved clustered": Variant(
        MEMORY,
        AT + "by_content.clustered",
        _heads(lambda m, t, i: m.ImprovedClusteredAttention(D_HEAD, ROWS)),
    ),
    "ProbSparse": Variant(
        MEMORY,
        AT + "by_content.prob_sparse",
        _heads(lambda m, t, i: m.ProbSparseAttention(ROWS // 5)),
    ),
    "talking heads": Variant(
        HEADS, AT + "heads.talking_heads", _heads(lambda m, t, i: m.TalkingHeadsAttention(N_HEADS))
    ),
    "collaborative heads": Variant(
        HEADS,
        AT + "heads.collaborative",
        lambda m, t, i: m.CollaborativeAttention(D_MODEL, N_HEADS, ROWS),
    ),
    "disagreeing heads": Variant(
        HEADS, AT + "heads.disagreement", _heads(lambda m, t, i: m.DisagreeingAttention(output=0.1))
    ),
    "adaptive span": Variant(
        HEADS,
        AT + "by_position.adaptive_span",
        _heads(lambda m, t, i: m.AdaptiveSpanAttention(N_HEADS, t.length)),
    ),
    "multi-scale": Variant(
        HEADS,
        AT + "heads.multi_scale",
        _heads(lambda m, t, i: m.MultiScaleAttention((1, SIDE, 64, None))),
    ),
    "dense Synthesizer": Variant(
        PRIOR,
        "deepdive.attention",
        _synthesized(lambda m, t, i: m.DenseScores(D_MODEL, N_HEADS, t.length)),
    ),
    "random Synthesizer": Variant(
        PRIOR,
        "deepdive.attention",
        _synthesized(lambda m, t, i: m.RandomScores(N_HEADS, t.length)),
    ),
    "predicted window": Variant(
        PRIOR, AT + "priors.priors", _heads(lambda m, t, i: m.LocalAttention(N_HEADS, D_HEAD))
    ),
    "Gaussian prior": Variant(
        PRIOR, AT + "priors.priors", _at(lambda m, t, i: m.GaussianPrior(N_HEADS))
    ),
}


def available() -> dict[str, Variant]:
    """Return the variants whose part is in the library."""
    return {name: each for name, each in VARIANTS.items() if find_spec(each.home) is not None}


def build(task: LongTask, name: str, *, d_ff: int = 128, seed: int = 0) -> LongModel:
    """Return the model of a variant, or of the bag of words, for a task.

    Raises ValueError for a name that is not known.
    """
    torch.manual_seed(seed)
    if name == BAG:
        return bag_of_words(task, d_model=D_MODEL, d_ff=d_ff, n_heads=N_HEADS)
    found = available().get(name)
    if found is None:
        raise ValueError(f"name: no variant {name!r}; there are {', '.join(available())}, {BAG}")
    return LongModel(task, lambda layer: found(task, layer), d_model=D_MODEL, d_ff=d_ff)


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

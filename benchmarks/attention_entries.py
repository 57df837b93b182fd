"""What `bench_attention.py` measures: by name, how to build it, and what its paper claims.

Settings are the same for all, and for the peers: window 256 (128 a side), blocks of 64 with 3
random ones, Linformer k 256, Performer 256 features, Nystrom 64 landmarks, LSH buckets of 64 with
4 rounds. What has no number there has 64 (slots, clusters, a block).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from math import isqrt
from typing import Any, TypeVar

from torch import nn

D_MODEL, N_HEADS, N_LAYERS, D_FF, VOCAB = 256, 4, 2, 1024, 1000
D_HEAD = D_MODEL // N_HEADS
SIDE, BLOCK, RANDOM, PROJECTED, FEATURES = 128, 64, 3, 256, 256
LANDMARKS, BUCKET, ROUNDS, SLOTS = 64, 64, 4, 64
Build = Callable[[Any, int], nn.Module]  # the module that holds the class, and the length n


@dataclass(frozen=True)
class Pair:
    """Our encoder, built from the module `home`, and transformers' `peer`, both for n tokens.

    `aim` is the most of the peer's time that ours should take.
    """

    home: str
    build: Build
    peer: Callable[[int], nn.Module]
    label: str
    aim: float

    def ours(self, n: int) -> nn.Module:
        return self.build(import_module(self.home), n)


@dataclass(frozen=True)
class Entry:
    """A mechanism from the module `home`, and how its paper says that its time grows.

    `learned`: parameters of its own, so that untrained it approximates nothing. `shared`: queries
    are the keys, and what it approximates is exact attention with shared queries and keys.
    """

    home: str
    build: Build
    claim: str = "n"
    learned: bool = False
    shared: bool = False

    def __call__(self, n: int) -> nn.Module:
        return self.build(import_module(self.home), n)


E = TypeVar("E", Pair, Entry)


def available(entries: Mapping[str, E]) -> dict[str, E]:
    """Return the entries whose part is in the library."""
    return {name: entry for name, entry in entries.items() if find_spec(entry.home) is not None}


def theirs(name: str, **settings: Any) -> Callable[[int], nn.Module]:
    """Return a builder of transformers' model `name` in these sizes, without dropout.

    A setting may be a function of n; None leaves one of the sizes out.
    """

    def build(n: int) -> nn.Module:
        import transformers

        transformers.logging.set_verbosity_error()
        sizes = {
            "vocab_size": VOCAB, "hidden_size": D_MODEL, "num_attention_heads": N_HEADS,
            "num_hidden_layers": N_LAYERS, "intermediate_size": D_FF, "hidden_dropout_prob": 0.0,
            "max_position_embeddings": n + 2, "attention_probs_dropout_prob": 0.0,
        }  # fmt: skip
        given = {key: value(n) if callable(value) else value for key, value in settings.items()}
        kept = {key: value for key, value in (sizes | given).items() if value is not None}
        config = getattr(transformers, f"{name}Config")(**kept)
        model: nn.Module = getattr(transformers, f"{name}Model")(config)
        return model

    return build


def encoder(name: str, **more: Any) -> Build:
    """Return a builder that calls function `name` of the module with these sizes; settings as in
    `theirs`.
    """
    sizes = {"d_model": D_MODEL, "n_heads": N_HEADS, "n_layers": N_LAYERS, "d_ff": D_FF,
             "dropout": 0.0}  # fmt: skip

    def build(module: Any, n: int) -> nn.Module:
        given = {key: value(n) if callable(value) else value for key, value in more.items()}
        kept = {key: value for key, value in (sizes | given).items() if value is not None}
        model: nn.Module = getattr(module, name)(vocab_size=VOCAB, **kept)
        return model

    return build


def length(n: int) -> int:
    return n


ENCODERS: dict[str, Pair] = {
    "Longformer": Pair(
        "deepdive.models.efficient.longformer",
        encoder("longformer", window=2 * SIDE, max_length=length),
        theirs("Longformer", attention_window=2 * SIDE),
        "transformers LongformerModel",
        0.5,
    ),
    "BigBird": Pair(
        "deepdive.models.efficient.bigbird",
        encoder("bigbird", block_size=BLOCK, n_random=RANDOM, max_length=length),
        theirs(
            "BigBird",
            attention_type="block_sparse",
            block_size=BLOCK,
            num_random_blocks=RANDOM,
        ),
        "transformers BigBirdModel",
        0.4,
    ),
    "Reformer": Pair(
        "deepdive.models.efficient.reformer",
        encoder("reformer", n_layers=None, chunk=BUCKET, rounds=ROUNDS, max_length=length),
        theirs(
            "Reformer",
            num_hidden_layers=None,
            attn_layers=["lsh"] * N_LAYERS,
            feed_forward_size=D_FF,
            attention_head_size=D_HEAD,
            lsh_attn_chunk_length=BUCKET,
            num_hashes=ROUNDS,
            axial_pos_embds=False,
            max_position_embeddings=length,
        ),
        "transformers ReformerModel",
        0.6,
    ),
    "Nystromformer": Pair(
        "deepdive.models.efficient.nystromformer",
        encoder("nystromformer", n_landmarks=LANDMARKS, max_length=length),
        theirs("Nystromformer", num_landmarks=LANDMARKS, segment_means_seq_len=length),
        "transformers NystromformerModel",
        0.7,
    ),
    "FNet": Pair(
        "deepdive.models.efficient.fnet",
        encoder("fnet", n_heads=None, max_length=length),
        theirs("FNet"),
        "transformers FNetModel",
        0.9,
    ),
}

AT = "deepdive.attention."
MECHANISMS: dict[str, Entry] = {
    "tiles": Entry(AT + "tiled", lambda m, n: m.TiledAttention(), claim="n^2"),
    "window": Entry(AT + "by_position.window", lambda m, n: m.WindowAttention(SIDE, SIDE)),
    "block-sparse": Entry(
        AT + "by_position.block_sparse", lambda m, n: m.BlockSparseAttention(BLOCK, RANDOM)
    ),
    "LSH": Entry(
        AT + "by_content.lsh",
        lambda m, n: m.LSHAttention(BUCKET, ROUNDS),
        claim="n log n",
        shared=True,
    ),
    "axial": Entry(
        AT + "by_position.axial", lambda m, n: m.AxialAttention(isqrt(n)), claim="n^1.5"
    ),
    "routing": Entry(
        AT + "by_content.routing",
        lambda m, n: m.RoutingAttention(N_HEADS, D_HEAD, isqrt(n)),
        claim="n^1.5",
    ),
    "Sinkhorn": Entry(
        AT + "by_content.sinkhorn",
        lambda m, n: m.SinkhornAttention(N_HEADS, D_HEAD, BLOCK, -(-n // BLOCK)),
        learned=True,
    ),
    "ProbSparse": Entry(
        AT + "by_content.prob_sparse", lambda m, n: m.ProbSparseAttention(), claim="n log n"
    ),
    "YOSO": Entry(AT + "by_content.yoso", lambda m, n: m.YosoAttention(D_HEAD)),
    "linear": Entry(AT + "low_rank.kernel", lambda m, n: m.LinearAttention()),
    "Performer": Entry(
        AT + "low_rank.performer", lambda m, n: m.PerformerAttention(D_HEAD, FEATURES)
    ),
    "Linformer": Entry(
        AT + "low_rank.linformer",
        lambda m, n: m.LinformerAttention(m.LengthProjection(1, n, PROJECTED)),
        learned=True,
    ),
    "Nystrom": Entry(AT + "low_rank.nystrom", lambda m, n: m.NystromAttention(LANDMARKS)),
    "Luna": Entry(
        AT + "memories.nested", lambda m, n: m.NestedAttention(N_HEADS, SLOTS, D_HEAD), learned=True
    ),
    "memory-compressed": Entry(
        AT + "memories.compressed",
        lambda m, n: m.MemoryCompressedAttention(N_HEADS, D_HEAD),
        claim="n^2 / 3",
        learned=True,
    ),
    "clustered": Entry(
        AT + "by_content.clustered", lambda m, n: m.ClusteredAttention(D_HEAD, SLOTS)
    ),
    "improved clustered": Entry(
        AT + "by_content.clustered", lambda m, n: m.ImprovedClusteredAttention(D_HEAD, SLOTS)
    ),
}
CLAIMS = {"full attention": "n^2", **{name: entry.claim for name, entry in MECHANISMS.items()}}

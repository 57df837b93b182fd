"""BigBird, an encoder for long texts. Zaheer et al. 2020, "Big Bird: Transformers for Longer
Sequences".

The model is BERT's; attention runs between blocks (`deepdive.attention.BlockSparseAttention`), with
BERT's projections: global tokens have none of their own.

System: bigbird
Parent: longformer
What differs:
- positions meet in blocks of 64: a block meets its two neighbours (`BlockSparseAttention.block`)
- and blocks drawn at random, other ones for each head, the same for each text (`draw`)
- the first and the last block are global, whatever the task, with the shared projections
- embeddings and weights are BERT's (`Bert`), the activation is GELU by its tanh form
- a text of few blocks is attended in full (`in_full`)
Source: Zaheer et al. 2020, section 2, and their released code.
Book: 5.2.2.4
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from deepdive.attention import (
    BlockSparseAttention,
    DrawnBlocks,
    FirstBlock,
    MultiHeadAttention,
)
from deepdive.attention.by_position.block_sparse import Draw
from deepdive.layers import Block, FeedForward, LayerNorm, PostNorm, gelu_tanh
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.stacks import Stack
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.bert_embeddings import BertEmbeddings
from deepdive.positions import LearnedPosition
from deepdive.published.bert import COUNTED, HEADS, NAMES, numbers
from deepdive.published.weights import adopt, check_config, read, read_config


class BigBird(Bert):
    """Tokens (B, T) -> states (B, T, d_model); `bigbird(...)` builds one from numbers."""


def bigbird(
    vocab_size: int = 50_358,
    *,
    d_model: int = 768,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    block: int = 64,
    n_random: int = 3,
    draw: Callable[[int], Draw] | None = None,
    max_length: int = 4096,
    n_segments: int = 2,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    eps: float = 1e-12,
    activation: Activation = gelu_tanh,
) -> BigBird:
    """Build an encoder; defaults are the published base model. `draw(layer)` is a layer's drawing
    of blocks, by default `DrawnBlocks(n_random, seed=layer)`.
    """
    on_weights = dropout if attention_dropout is None else attention_dropout

    def make(layer: int) -> Block:
        drawn = DrawnBlocks(n_random, seed=layer) if draw is None else draw(layer)
        mechanism = BlockSparseAttention(block, n_random, drawn, dropout=on_weights)
        return Block(
            MultiHeadAttention(d_model, n_heads, mechanism=mechanism),
            FeedForward(d_model, d_ff, activation),
            residual=partial(PostNorm, norm=partial(LayerNorm, eps=eps), dropout=dropout),
        )

    tokens, place = TokenEmbedding(vocab_size, d_model), LearnedPosition(max_length, d_model)
    embeddings = BertEmbeddings(tokens, place, n_segments, dropout, eps)
    model = BigBird(embeddings, Stack(make, n_layers))
    initialise(model)
    return model


# Settings that change the function, and the only value that is built here.
EXPECTED: dict[str, Any] = {
    "attention_type": "block_sparse",
    "use_bias": True,
    "rescale_embeddings": False,
}


def from_config(config: Mapping[str, Any], draw: Callable[[int], Draw] | None = None) -> BigBird:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here."""
    check_config(config, "big_bird", EXPECTED)
    settings = numbers(config, "big_bird")
    sizes = {"block": config["block_size"], "n_random": config["num_random_blocks"]}
    return bigbird(**settings, **sizes, draw=draw)


POOLER = tuple(f"{m}pooler.{kind}" for m in ("", "bert.") for kind in ("weight", "bias"))


def load(folder: str | Path, draw: Callable[[int], Draw] | None = None) -> BigBird:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    The drawn blocks are no part of a file. By default `FirstBlock` stands for them, as in
    transformers' evaluation; to train on, pass `draw=lambda layer: DrawnBlocks(3, layer)`.
    Raises ValueError for tensors that are unknown or missing, by name.
    """
    config = read_config(folder)
    if draw is None:
        first = FirstBlock(config["num_random_blocks"])
        draw = lambda _layer: first  # noqa: E731
    model = from_config(config, draw)
    adopt(model, read(folder), NAMES, leave_out=(*COUNTED, *POOLER, *HEADS))
    return model.eval()


def base(vocab_size: int = 50_358) -> BigBird:
    """Return BigBird base: 12 layers, 768 wide, 12 heads, 4,096 positions."""
    return bigbird(vocab_size)


def large(vocab_size: int = 50_358) -> BigBird:
    """Return BigBird large: 24 layers, 1,024 wide, 16 heads."""
    return bigbird(vocab_size, d_model=1024, n_heads=16, n_layers=24, d_ff=4096)


def tiny(vocab_size: int = 32) -> BigBird:
    """Return a model for tests and toys: 2 layers, 32 wide, 4 heads, blocks of 2, 1 at random."""
    return bigbird(
        vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, block=2, n_random=1,
        max_length=64, dropout=0.0,
    )  # fmt: skip

"""BigBird, an encoder for long texts. Zaheer et al. 2020, "Big Bird: Transformers for Longer
Sequences".

The model is BERT's; attention runs between blocks (`deepdive.attention.BlockSparseAttention`), with
BERT's projections: global tokens have none of their own.

System: bigbird
Parent: longformer
Place: head
What differs:
- positions meet in blocks of 64: a block meets its two neighbours (`BlockSparseAttention.block`)
- and blocks drawn at random, other ones for each head, the same for each text (`draw`)
- the first and the last block are global, whatever the task, with the shared projections
- embeddings and weights are BERT's (`Bert`), the activation is GELU by its tanh form
- a text of few blocks is attended in full (`in_full`)
Time: O(n_layers d_model (window + n_global + n_random + d_ff))
Memory: O(n_layers (n_heads (window + n_global + n_random) + d_ff))
Source: Zaheer et al. 2020, section 2, and their released code.
Book: 5.2.2.4
Page: 05_efficient/02_sparse_by_position#bigbird
Checkpoints: BigBirdModel, such as google/bigbird-roberta-base, by `load`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepdive.attention import (
    BlockSparseAttention,
    DrawnBlocks,
    FirstBlock,
    MultiHeadAttention,
)
from deepdive.attention.by_position.block_sparse import Draw
from deepdive.laws import Case, NotApplicable, case, padding_of
from deepdive.layers import Block, FeedForward, LayerNorm, PostNorm, gelu_tanh
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.stacks import Stack
from deepdive.models.bert.bert import ORDERED, Bert
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


@case(BigBird)
def _() -> Case:
    row = torch.tensor([[4, 9, 6, 8, 5]])

    def short() -> tuple[Tensor, Tensor]:
        """Up to seven blocks here: a text so short is attended in full."""
        from deepdive.models.bert.bert import bert

        model = tiny().double()
        plain = bert(
            32, d_model=32, n_heads=4, n_layers=2, d_ff=64, max_length=64, activation=gelu_tanh
        )
        plain.double().load_state_dict(model.state_dict())
        return model(row), plain.eval()(row)

    two_sided = NotApplicable("every token sees both its sides, on purpose")
    return Case(
        make=tiny,
        run=lambda model, x, mask=None, state=None: model(x, padding_of(mask)),
        vocab=32,
        parity="transformers BigBirdModel",
        limits={"a short text: BERT": short},
        refusals={
            "an inverted mask": lambda: tiny()(row, torch.zeros(1, 5).bool()),
            "longer than the table": lambda: tiny()(torch.full((1, 65), 4)),
            "a config of full attention": lambda: from_config(
                {
                    **dict.fromkeys(("hidden_dropout_prob", "attention_probs_dropout_prob"), 0.0),
                    "model_type": "big_bird",
                    "hidden_act": "gelu",
                    "layer_norm_eps": 1e-5,
                    **dict.fromkeys(("vocab_size", "hidden_size", "intermediate_size"), 8),
                    **dict.fromkeys(("num_attention_heads", "num_hidden_layers"), 1),
                    "max_position_embeddings": 8,
                    "type_vocab_size": 2,
                    "attention_type": "original_full",
                }
            ),
        },
        laws={"no_leak": two_sided, "cache": two_sided, "order": ORDERED},
    )

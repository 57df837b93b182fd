"""YOSO: BERT whose weights are chances of a collision. Zeng et al. 2021, "You Only Sample (Almost)
Once: Linear Cost Self-Attention Via Bernoulli Sampling".

`yoso` and `load` build the expectation, at full cost; `sampled` gives the same weights to hashing.
The system's header is that of `deepdive.attention.by_content.yoso.YosoAttention`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from deepdive.attention.by_content.yoso import ExpectedYosoAttention, YosoAttention
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.layers import Block, FeedForward, LayerNorm, PostNorm, gelu
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.stacks import Stack
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.bert_embeddings import BertEmbeddings
from deepdive.models.efficient.nystromformer import beside_of, names_of
from deepdive.positions import LearnedPosition
from deepdive.published.bert import HEADS, numbers
from deepdive.published.weights import adopt, read, read_config

OFFSET = 2  # two rows of the table of positions stay unused


def yoso(
    vocab_size: int = 50_265,
    *,
    d_model: int = 768,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    max_length: int = 4096,
    n_segments: int = 1,
    bits: int = 9,
    kernel: int | None = None,
    dropout: float = 0.1,
    eps: float = 1e-12,
    activation: Activation = gelu,
) -> Bert:
    """Build an encoder of expectations; defaults are the published base model."""

    def block(_layer: int) -> Block:
        convolution = None if kernel is None else ValueConvolution(n_heads, kernel)
        mechanism = ExpectedYosoAttention(bits, convolution=convolution)
        return Block(
            MultiHeadAttention(d_model, n_heads, mechanism=mechanism),
            FeedForward(d_model, d_ff, activation),
            residual=partial(PostNorm, norm=partial(LayerNorm, eps=eps), dropout=dropout),
        )

    place = LearnedPosition(max_length, d_model, OFFSET)
    embeddings = BertEmbeddings(
        TokenEmbedding(vocab_size, d_model), place, n_segments, dropout, eps
    )
    model = Bert(embeddings, Stack(block, n_layers))
    initialise(model)
    return model


def sampled(model: Bert, n_hashes: int = 64) -> Bert:
    """Put hashing in the place of each layer's expectation, in place, and return the model."""
    for part in model.modules():
        if isinstance(part, MultiHeadAttention):
            old = part.mechanism
            if not isinstance(old, ExpectedYosoAttention):
                raise ValueError(
                    f"a layer has {type(old).__name__}: hashing estimates YOSO's alone"
                )
            new = YosoAttention(part.d_head, old.bits, n_hashes, convolution=old.convolution)
            part.mechanism = new.to(part.q.weight).train(part.training)
    return model


def from_config(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json, in expectation, whatever its `use_expectation`. Raises
    ValueError for a setting not built here.
    """
    sizes = numbers(config, "yoso")
    del sizes["attention_dropout"]  # the published code has it, and never applies it
    return yoso(bits=config["hash_code_len"], kernel=config["conv_window"], **sizes)


NAMES, BESIDE = names_of("yoso"), beside_of("yoso")


def load(folder: str | Path) -> Bert:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    Raises ValueError for tensors that are unknown or missing, by name.
    """
    model = from_config(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*BESIDE, *HEADS))
    return model.eval()


def base(vocab_size: int = 50_265) -> Bert:
    """Return the published size: 12 layers, 768 wide, 12 heads."""
    return yoso(vocab_size)


def tiny(vocab_size: int = 32) -> Bert:
    """Return a model for tests and toys: 2 layers, 32 wide, 4 heads, 3 bits."""
    return yoso(
        vocab_size,
        d_model=32,
        n_heads=4,
        n_layers=2,
        d_ff=64,
        max_length=64,
        bits=3,
        dropout=0.0,
    )

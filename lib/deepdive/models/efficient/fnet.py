"""FNet: BERT whose attention is a Fourier transform. Lee-Thorp et al. 2022, "FNet: Mixing Tokens
with Fourier Transforms".

System: fnet
Parent: bert
What differs:
- the real part of a Fourier transform over positions and width stands for attention
  (`FourierMixing`): no weights, no heads, nothing to train
- a matrix follows the norm of the embeddings (`FNetEmbeddings`)
- nothing is dropped from what the mixing says; the activation is GELU's approximation by tanh
Source: Lee-Thorp et al. 2022, section 3, and their released code.
Book: blog
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from deepdive.fast.dropout import Dropout
from deepdive.fast.linear import Linear
from deepdive.layers import Block, FeedForward, FourierMixing, LayerNorm, PostNorm, gelu_tanh
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.stacks import Stack
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.bert_embeddings import BertEmbeddings
from deepdive.positions import LearnedPosition, Position
from deepdive.published.bert import (
    COUNTED,
    EMBEDDINGS,
    EXPECTED,
    HEADS,
    LAYERS,
    POOLER,
    activation_of,
)
from deepdive.published.weights import Rule, adopt, check_config, read, read_config


class FNetEmbeddings(BertEmbeddings):
    """rows = dropout(project(norm(tokens[t] + segments[s] + position[p]))), (B, T, d_model)."""

    def __init__(
        self,
        tokens: TokenEmbedding,
        position: Position,
        n_segments: int = 4,
        dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__(tokens, position, n_segments, 0.0, eps)
        self.project, self.after = Linear(tokens.d_model, tokens.d_model), Dropout(dropout)

    def forward(self, tokens: Tensor, segments: Tensor | None, positions: Tensor) -> Tensor:
        """Return rows (B, T, d_model)."""
        return self.after(self.project(super().forward(tokens, segments, positions)))


def fnet(
    vocab_size: int = 32_000,
    *,
    d_model: int = 768,
    n_layers: int = 12,
    d_ff: int = 3072,
    max_length: int = 512,
    n_segments: int = 4,
    dropout: float = 0.1,
    eps: float = 1e-12,
    activation: Activation = gelu_tanh,
) -> Bert:
    """Build an encoder; defaults are the paper's base model."""
    norm = partial(LayerNorm, eps=eps)

    def block(_layer: int) -> Block:
        built = Block(
            FourierMixing(d_model),
            FeedForward(d_model, d_ff, activation),
            residual=partial(PostNorm, norm=norm, dropout=dropout),
        )
        built.attn_residual = PostNorm(d_model, norm)  # nothing is dropped here
        return built

    tokens, place = TokenEmbedding(vocab_size, d_model), LearnedPosition(max_length, d_model)
    model = Bert(FNetEmbeddings(tokens, place, n_segments, dropout, eps), Stack(block, n_layers))
    initialise(model)
    return model


def from_config(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here."""
    check_config(config, "fnet", EXPECTED)
    return fnet(
        config["vocab_size"],
        d_model=config["hidden_size"],
        n_layers=config["num_hidden_layers"],
        d_ff=config["intermediate_size"],
        max_length=config["max_position_embeddings"],
        n_segments=config["type_vocab_size"],
        dropout=config["hidden_dropout_prob"],
        eps=config["layer_norm_eps"],
        activation=activation_of(config["hidden_act"]),
    )


NAMES: tuple[Rule, ...] = (
    (r"^fnet\.", ""),
    *EMBEDDINGS,
    (r"\bembeddings\.projection\.", "embeddings.project."),
    (r"\.fourier\.output\.LayerNorm\.", ".attn_residual.norm."),
    *LAYERS,
)
BESIDE = tuple(name.replace("bert.", "fnet.") for name in (*COUNTED, *POOLER)) + tuple(
    f"{model}embeddings.token_type_ids" for model in ("", "fnet.")
)


def load(folder: str | Path) -> Bert:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    A text with padding gets what it would get alone, given its mask; the published model has no
    mask, and padding is text to it. Raises ValueError for tensors that are unknown or missing, by
    name.
    """
    model = from_config(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*BESIDE, *HEADS))
    return model.eval()


def base(vocab_size: int = 32_000) -> Bert:
    """Return FNet base: 12 layers, 768 wide."""
    return fnet(vocab_size)


def large(vocab_size: int = 32_000) -> Bert:
    """Return FNet large: 24 layers, 1,024 wide."""
    return fnet(vocab_size, d_model=1024, n_layers=24, d_ff=4096)


def tiny(vocab_size: int = 32) -> Bert:
    """Return a model for tests and toys: 2 layers, 32 wide, 64 positions."""
    return fnet(vocab_size, d_model=32, n_layers=2, d_ff=64, max_length=64, dropout=0.0)

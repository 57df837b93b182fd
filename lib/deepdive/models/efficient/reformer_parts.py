"""What Reformer reads and how its published weights are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.checks import positive
from deepdive.fast.dropout import Dropout
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.positions import Position
from deepdive.positions.base import FIX_NEGATIVE, outside
from deepdive.published.encoders import activation_of
from deepdive.published.weights import Join, Rule, check_config


class AxialPosition(Position):
    """A learned table folded into two: position i * columns + j gets (tables[0][i], tables[1][j]).

    `shape` (rows, columns) says how many positions there are, `widths` how the row's d_model
    numbers are shared: rows * widths[0] + columns * widths[1] parameters instead of
    rows * columns * d_model. Raises ValueError for a position outside the table.
    Source: Ho et al. 2019; as released with Reformer.
    """

    def __init__(self, shape: tuple[int, int], widths: tuple[int, int]) -> None:
        super().__init__()
        positive(shape=min(shape), widths=min(widths))
        self.shape, self.d_model = shape, sum(widths)
        rows, columns = torch.empty(shape[0], 1, widths[0]), torch.empty(1, shape[1], widths[1])
        self.tables = nn.ParameterList([nn.Parameter(rows), nn.Parameter(columns)])
        for table in self.tables:
            nn.init.normal_(table)

    def embed(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x (B, T, d_model) plus the rows of `positions`."""
        self.check_rows(x, positions, d_model=x.shape[-1])
        wrong = outside(positions, prod(self.shape))
        if wrong is not None:
            fix = "shorten the sequence, or build the model with a larger shape"
            raise ValueError(
                f"position {wrong} is outside the folded table of {self.shape[0]} x "
                f"{self.shape[1]}: {FIX_NEGATIVE if wrong < 0 else fix}"
            )
        i, j = positions // self.shape[1], positions % self.shape[1]
        return x + torch.cat([self.tables[0][i, 0], self.tables[1][0, j]], dim=-1)


class ReformerEmbeddings(nn.Module):
    """rows = dropout(tokens) + dropout(positions), (B, T, d_model)."""

    def __init__(self, tokens: TokenEmbedding, position: Position, dropout: float = 0.0) -> None:
        super().__init__()
        self.tokens, self.position, self.dropout = tokens, position, Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return rows (B, T, d_model) for integer tokens (B, T)."""
        rows = self.tokens(tokens)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        places = self.position.embed(torch.zeros_like(rows[:1]), positions)
        return self.dropout(rows) + self.dropout(places.expand_as(rows))


def names(layers: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules for the weights of ReformerModel; `layers` says which are local."""
    values = tuple(
        (rf"^encoder\.layers\.{i}\.attention\.self_attention\.value\.", f"stack.blocks.{i}.attn.v.")
        for i, kind in enumerate(layers)
        if kind == "lsh"
    )
    key, value = (rf"\.attention\.self_attention\.{name}\." for name in ("key", "value"))
    return (
        (r"^reformer\.", ""),
        (r"^embeddings\.word_embeddings\.", "embeddings.tokens."),
        (r"^embeddings\.position_embeddings\.weights\.", "embeddings.position.tables."),
        (r"^embeddings\.position_embeddings\.embedding\.", "embeddings.position.table."),
        *values,
        (r"^encoder\.layers\.", "stack.blocks."),
        (r"^encoder\.layer_norm\.", "stack.norm."),
        (r"\.attention\.layer_norm\.", ".attn_norm."),
        (r"\.attention\.self_attention\.query_key\.", ".attn.qk."),
        (r"\.attention\.self_attention\.query\.", ".attn.q."),
        Join((key, value), ".attn.kv."),
        (r"\.attention\.output\.dense\.", ".attn.out."),
        (r"\.feed_forward\.layer_norm\.", ".ff_norm."),
        (r"\.feed_forward\.dense\.dense\.", ".ff.inner."),
        (r"\.feed_forward\.output\.dense\.", ".ff.out."),
    )


def left_out(layers: Sequence[str]) -> list[str]:
    """Return what a file may hold beside the encoder, name by name: constants, the head."""
    constants = [
        f"{model}encoder.layers.{i}.attention.self_attention.{kind}mask_value_float{bits}"
        for model in ("", "reformer.")
        for i in range(len(layers))
        for kind in ("", "self_")
        for bits in (16, 32)
    ]
    return [*constants, "lm_head.bias", "lm_head.decoder.weight", "lm_head.decoder.bias"]


def numbers(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that a config.json gives `reformer(...)`, whose names it has.

    Raises ValueError, naming it, for a config of another model or a setting that is not built here.
    """
    check_config(config, "reformer", {"lsh_num_chunks_before": 1, "lsh_num_chunks_after": 0})
    folded = config.get("axial_pos_embds", True)
    buckets = config.get("num_buckets")
    return {
        "vocab_size": config["vocab_size"],
        "d_model": config["hidden_size"],
        "n_heads": config["num_attention_heads"],
        "d_head": config["attention_head_size"],
        "d_ff": config["feed_forward_size"],
        "layers": tuple(config["attn_layers"]),
        "max_length": config["max_position_embeddings"],
        "axial": (tuple(config["axial_pos_shape"]), tuple(config["axial_pos_embds_dim"]))
        if folded
        else None,
        "chunk": config["lsh_attn_chunk_length"],
        "rounds": config["num_hashes"],
        "buckets": tuple(buckets) if isinstance(buckets, list) else buckets,
        "local_chunk": config["local_attn_chunk_length"],
        "local_around": (config["local_num_chunks_before"], config["local_num_chunks_after"]),
        "dropout": config["hidden_dropout_prob"],
        "lsh_dropout": config["lsh_attention_probs_dropout_prob"],
        "local_dropout": config["local_attention_probs_dropout_prob"],
        "eps": config["layer_norm_eps"],
        "activation": activation_of(config["hidden_act"]),
    }

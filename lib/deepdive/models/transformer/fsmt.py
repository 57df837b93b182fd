"""FSMT, Facebook FAIR's Transformer of WMT19. Ng et al. 2019, "Facebook FAIR's WMT19 News
Translation Task Submission".

Positions count from the row's start: padding stands at its end. It is a `Transformer`, its forward
kept.

System: fsmt
Parent: transformer
What differs:
- source and target have vocabularies of their own, and the output layer a matrix of its own
  (`nn.Linear` without bias)
- positions are a block of sines and a block of cosines that count from 2, with wavelengths spaced
  as in tensor2tensor (`BlockedSinusoidalPosition(steps=d_model / 2 - 1, offset=2)`)
- the feed-forward layers are twice as wide (`base`), and the two sides may differ (`Side`)
- decoding begins with the end token (`decoding.published`)
Source: Ng et al. 2019, section 3.
Book: 2.4
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import nn

from deepdive.checks import not_negative, positive
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation, relu
from deepdive.models.seq2seq.translators import (
    NAMES,
    USUAL,
    Dropouts,
    Side,
    adopt_checkpoint,
    compose,
    numbers,
)
from deepdive.models.transformer.transformer import Transformer
from deepdive.positions import BlockedSinusoidalPosition
from deepdive.published.weights import Rule, read, read_config

OWN_NAMES: list[Rule] = [*NAMES, (r"^decoder\.output_projection\.", "head.")]
BASE = Side(n_layers=6, n_heads=16, d_ff=8192)


def fsmt(
    src_vocab: int,
    tgt_vocab: int,
    *,
    d_model: int = 1024,
    encoder: Side = BASE,
    decoder: Side = BASE,
    activation: Activation = relu,
    scale: float | None = None,
    dropouts: Dropouts = USUAL,
    first_position: int = 2,
) -> Transformer:
    """Build an FSMT model. `scale` multiplies the embeddings, sqrt(d_model) by default."""
    positive(src_vocab=src_vocab, tgt_vocab=tgt_vocab)
    not_negative(first_position=first_position)
    if d_model < 4:
        raise ValueError(
            f"d_model={d_model}: expected 4 or more, since FSMT's waves are spaced by "
            "base ** (1 / (d_model / 2 - 1))"
        )
    scale = d_model**0.5 if scale is None else scale
    head = nn.Linear(d_model, tgt_vocab, bias=False)
    nn.init.normal_(head.weight, std=d_model**-0.5)
    return compose(
        TokenEmbedding(src_vocab, d_model, scale),
        TokenEmbedding(tgt_vocab, d_model, scale),
        head,
        position=BlockedSinusoidalPosition(d_model, steps=d_model / 2 - 1, offset=first_position),
        encoder=encoder,
        decoder=decoder,
        activation=activation,
        dropouts=dropouts,
    )


def from_config(config: Mapping[str, Any]) -> Transformer:
    """Build the model of a config.json. Raises ValueError for a setting that is not built here."""
    if config.get("tie_word_embeddings"):
        raise ValueError("config has tie_word_embeddings=true; FSMT's three matrices are not tied")
    return fsmt(
        config["src_vocab_size"],
        config["tgt_vocab_size"],
        first_position=config["pad_token_id"] + 1,  # positions share their table with padding's row
        **numbers(config, "fsmt"),
    )


def load(folder: str | Path) -> Transformer:
    """Return the model of a folder that holds config.json and safetensors, in evaluation mode."""
    return adopt_checkpoint(from_config(read_config(folder)), read(folder), OWN_NAMES)


def base(src_vocab: int = 42_024, tgt_vocab: int = 42_024) -> Transformer:
    """Return the size of wmt19-en-de and its three sisters."""
    return fsmt(src_vocab, tgt_vocab)


def tiny(src_vocab: int = 32, tgt_vocab: int = 36) -> Transformer:
    """Return a model for tests and toys: 2 + 1 layers, 32 wide, 4 heads."""
    return fsmt(src_vocab, tgt_vocab, d_model=32, encoder=Side(2, 4, 64), decoder=Side(1, 4, 48))

"""Marian's Transformer, the shape of the OPUS-MT translators. Junczys-Dowmunt et al. 2018, "Marian:
Fast Neural Machine Translation in C++"; Tiedemann and Thottingal 2020, "OPUS-MT".

Parent: the Transformer (`deepdive.models.transformer.transformer.Transformer`, its forward kept).
What differs:
- positions are a block of sines and a block of cosines (`BlockedSinusoidalPosition`);
- the activation is swish (`activation`), where the paper has ReLU;
- the output layer has a bias (`TiedHead(..., bias=True)`);
- its two sides may differ in size (`Side`);
- decoding begins with the padding token, which is forbidden later (`decoding.published`).

Book: section 2.4. Checkpoints: MarianMTModel, such as Helsinki-NLP/opus-mt-en-fr, by `load`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from torch import nn

from deepdive.checks import positive
from deepdive.layers.embeddings import TiedHead, TokenEmbedding
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
from deepdive.published.weights import Change, Rule, read, read_config

BASE = Side(n_layers=6, n_heads=8, d_ff=2048)


def marian(
    src_vocab: int,
    tgt_vocab: int | None = None,
    *,
    d_model: int = 512,
    encoder: Side = BASE,
    decoder: Side = BASE,
    activation: Activation = F.silu,
    scale: float | None = None,
    dropouts: Dropouts = USUAL,
    tied: bool = True,
) -> Transformer:
    """Build a Marian model; without `tgt_vocab` both languages share one vocabulary and matrix.

    `scale` multiplies the embeddings, sqrt(d_model) by default. The output layer shares the target
    embedding's matrix, unless not `tied`.
    """
    positive(src_vocab=src_vocab, tgt_vocab=tgt_vocab, d_model=d_model)
    scale = d_model**0.5 if scale is None else scale
    source = TokenEmbedding(src_vocab, d_model, scale)
    target = source if tgt_vocab is None else TokenEmbedding(tgt_vocab, d_model, scale)
    return compose(
        source,
        target,
        TiedHead(target, bias=True) if tied else nn.Linear(d_model, target.vocab_size),
        position=BlockedSinusoidalPosition(d_model),
        encoder=encoder,
        decoder=decoder,
        activation=activation,
        dropouts=dropouts,
    )


def from_config(config: Mapping[str, Any]) -> Transformer:
    """Build the model of a config.json. Raises ValueError for a setting that is not built here."""
    shared = config.get("share_encoder_decoder_embeddings", True)
    tied = config.get("tie_word_embeddings", True)
    if shared and not tied:
        raise ValueError(
            "config has tie_word_embeddings=false, but shares the embeddings: versions of "
            "transformers disagree on what is then one matrix"
        )
    return marian(
        config["vocab_size"],
        None if shared else config["decoder_vocab_size"],
        tied=tied,
        **numbers(config, "marian"),
    )


def load(folder: str | Path) -> Transformer:
    """Return the model of a folder that holds config.json and safetensors, in evaluation mode."""
    model = from_config(read_config(folder))
    return adopt_checkpoint(model, read(folder), names(tied=isinstance(model.head, TiedHead)))


def names(tied: bool) -> list[Rule]:
    """Return the rules from MarianMTModel's names to ours; `tied`: the output layer has no matrix
    of its own.
    """
    return [
        *NAMES,
        (r"^shared\.", "encoder.embedding."),
        (r"^lm_head\.", "head.embedding." if tied else "head."),
        Change(r"^final_logits_bias$", lambda bias: bias[0]),  # (1, V) -> (V)
        (r"^final_logits_bias$", "head.bias"),
    ]


def base(vocab_size: int = 58_101) -> Transformer:
    """Return the size of opus-mt-en-de: 73.9 M parameters, one vocabulary for both languages."""
    return marian(vocab_size)


def big(vocab_size: int = 53_017) -> Transformer:
    """Return the size of the opus-mt-tc-big family: twice as wide, with ReLU."""
    side = Side(n_layers=6, n_heads=16, d_ff=4096)
    return marian(vocab_size, d_model=1024, encoder=side, decoder=side, activation=relu)


def tiny(vocab_size: int = 32) -> Transformer:
    """Return a model for tests and toys: 2 + 1 layers, 32 wide, 4 heads."""
    return marian(vocab_size, d_model=32, encoder=Side(2, 4, 64), decoder=Side(1, 4, 48))

"""Longformer, an encoder for long texts. Beltagy et al. 2020, "Longformer: The Long-Document
Transformer".

Embeddings, blocks and weights are RoBERTa's, from which the published models were trained on;
only attention differs. The causal language models of the paper have windows with gaps instead of
global tokens: `deepdive.attention.DilatedAttention`.

System: longformer
Parent: roberta
What differs:
- a token sees `window` / 2 tokens on each side (`LongformerAttention`, layer by layer)
- a few tokens, chosen by the task, see all and are seen by all (`global_tokens`)
- what global tokens ask and are told goes through projections of their own (`global_q`,
  `global_kv`), which start as copies
- the table of positions is longer, 4,096 (`max_length`), and starts as copies of RoBERTa's
Source: Beltagy et al. 2020, sections 3 and 5, and their released code.
Book: 5.2.2.1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from deepdive.attention import GlobalTokens, LongformerAttention
from deepdive.checks import not_negative
from deepdive.layers import Block, FeedForward, LayerNorm, PostNorm, gelu
from deepdive.layers.embeddings import TokenEmbedding, check_tokens
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.stacks import Stack
from deepdive.masks import both, describe, padding
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.roberta import OFFSET, RobertaEmbeddings
from deepdive.positions import LearnedPosition
from deepdive.published.bert import EMBEDDINGS, LAYERS, numbers
from deepdive.published.weights import Join, Rule, adopt, read, read_config


class Longformer(Bert):
    """Tokens (B, T) -> states (B, T, d_model), each of which has seen its window, and more with
    each layer.
    """

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        global_tokens: Tensor | None = None,
    ) -> Tensor:
        """Return the states of `tokens`; `mask` bool (B, T), True = real token; `segments` int
        (B, T), None = all 0; `global_tokens` bool (B, T), True = sees all and is seen by all.
        """
        check_tokens(tokens)
        allowed = padding(mask, tokens, "mask")
        marks = None
        if global_tokens is not None:
            if global_tokens.shape != tokens.shape:
                raise ValueError(
                    f"global_tokens must be bool {tuple(tokens.shape)}, one a token; got "
                    f"{describe(global_tokens)}"
                )
            marks = GlobalTokens(global_tokens)
        places = self.embeddings.positions(tokens, mask)
        return self.stack(self.embeddings(tokens, segments, places), mask=both(allowed, marks))


def longformer_block(
    d_model: int,
    n_heads: int,
    d_ff: int,
    window: int,
    *,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    eps: float = 1e-5,
    activation: Activation = gelu,
) -> Block:
    """Return one layer of BERT's form; `window` counts the tokens of both sides, as published.

    Raises ValueError for an odd window.
    """
    if window < 2 or window % 2:
        raise ValueError(f"window={window} counts both sides: it must be even, and at least 2")
    on_weights = dropout if attention_dropout is None else attention_dropout
    return Block(
        LongformerAttention(d_model, n_heads, window // 2, dropout=on_weights),
        FeedForward(d_model, d_ff, activation),
        residual=partial(PostNorm, norm=partial(LayerNorm, eps=eps), dropout=dropout),
    )


def longformer(
    vocab_size: int = 50_265,
    *,
    d_model: int = 768,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    window: int | Sequence[int] = 512,
    max_length: int = 4096,
    n_segments: int = 1,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    eps: float = 1e-5,
    activation: Activation = gelu,
) -> Longformer:
    """Build an encoder; defaults are the paper's base model. `window` is one number, or one a
    layer (ValueError for another count).
    """
    not_negative(n_layers=n_layers)
    windows = [window] * n_layers if isinstance(window, int) else list(window)
    if len(windows) != n_layers:
        raise ValueError(f"window has {len(windows)} numbers for {n_layers} layers: one a layer")
    block = partial(
        longformer_block, d_model, n_heads, d_ff, dropout=dropout,
        attention_dropout=attention_dropout, eps=eps, activation=activation,
    )  # fmt: skip
    stack = Stack(lambda layer: block(windows[layer]), n_layers)
    place = LearnedPosition(max_length, d_model, OFFSET)
    tokens = TokenEmbedding(vocab_size, d_model)
    model = Longformer(RobertaEmbeddings(tokens, place, n_segments, dropout, eps), stack)
    initialise(model)
    for part in model.modules():
        if isinstance(part, LongformerAttention):
            part.start_global()
    return model


def from_config(config: Mapping[str, Any]) -> Longformer:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here."""
    if config.get("pad_token_id", OFFSET - 1) != OFFSET - 1:
        raise ValueError(
            f"config has pad_token_id={config['pad_token_id']}; only {OFFSET - 1} is built here"
        )
    settings = numbers(config, "longformer")
    settings["max_length"] -= OFFSET
    return longformer(**settings, window=config["attention_window"])


NAMES: tuple[Rule, ...] = (
    (r"^longformer\.", ""),
    *EMBEDDINGS,
    *LAYERS,
    (r"\.attention\.self\.query_global\.", ".attn.global_q."),
    Join(
        (r"\.attention\.self\.key_global\.", r"\.attention\.self\.value_global\."),
        ".attn.global_kv.",
    ),
)
BESIDE = (
    *("embeddings.position_ids", "longformer.embeddings.position_ids"),  # counted, not learned
    *(f"{m}pooler.dense.{k}" for m in ("", "longformer.") for k in ("weight", "bias")),
)
HEADS = (
    *(f"lm_head.{part}.{k}" for part in ("dense", "layer_norm") for k in ("weight", "bias")),
    *("lm_head.bias", "lm_head.decoder.weight", "lm_head.decoder.bias"),
    *(f"classifier.{part}.{k}" for part in ("dense", "out_proj") for k in ("weight", "bias")),
    *(f"qa_outputs.{k}" for k in ("weight", "bias")),
)


def load(folder: str | Path) -> Longformer:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    Raises ValueError for tensors that are unknown or missing, by name.
    """
    model = from_config(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*BESIDE, *HEADS))
    return model.eval()


def base(vocab_size: int = 50_265) -> Longformer:
    """Return Longformer base: 12 layers, 768 wide, 12 heads, window 512, 4,096 positions."""
    return longformer(vocab_size)


def large(vocab_size: int = 50_265) -> Longformer:
    """Return Longformer large: 24 layers, 1,024 wide, 16 heads."""
    return longformer(vocab_size, d_model=1024, n_heads=16, n_layers=24, d_ff=4096)


def tiny(vocab_size: int = 32) -> Longformer:
    """Return a model for tests and toys: 2 layers, 32 wide, 4 heads, windows 4 and 2."""
    return longformer(
        vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, window=(4, 2), max_length=64,
        dropout=0.0,
    )  # fmt: skip

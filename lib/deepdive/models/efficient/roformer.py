"""RoFormer, a BERT whose queries and keys are turned by their place. Su et al. 2024, "RoFormer:
Enhanced Transformer with Rotary Position Embedding".

Parent: BERT (`deepdive.models.bert.bert`). What differs:
- nothing is added to the embeddings for a place (`Position` there does nothing);
- in every block queries and keys are turned (`RotaryPosition`), so there is no longest text;
- embeddings may be narrower than the stream and are then projected (`FactorisedEmbeddings`).

Checkpoints: RoFormerModel and RoFormerForMaskedLM, by `load` and `load_for_masked_lm`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from deepdive.attention import MultiHeadAttention
from deepdive.checks import positive
from deepdive.layers import Block, FeedForward, LayerNorm, PostNorm, gelu
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import MaskedHead, initialise
from deepdive.layers.stacks import Stack
from deepdive.models.bert.albert import FactorisedEmbeddings
from deepdive.models.bert.bert import Bert, BertForMaskedLM
from deepdive.models.bert.bert_embeddings import BertEmbeddings
from deepdive.positions import Position, RotaryPosition
from deepdive.published.bert import AGAIN, EMBEDDINGS, HEADS, LAYERS, activation_of, numbers
from deepdive.published.weights import Rule, adopt, read, read_config


def roformer(
    vocab_size: int = 50_000,
    *,
    d_model: int = 768,
    d_embedding: int | None = None,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    n_segments: int = 2,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    eps: float = 1e-12,
    activation: Activation = gelu,
) -> Bert:
    """Build an encoder; defaults are the size of the published base model. `d_embedding` is the
    width of the embeddings, d_model by default; dropouts as in
    `deepdive.models.bert.bert.bert_block`. Raises ValueError unless n_heads cuts d_model into heads
    of an even width.
    """
    positive(d_embedding=d_embedding)
    if n_heads < 1 or d_model % (2 * n_heads):
        raise ValueError(
            f"n_heads={n_heads} does not cut d_model={d_model} into heads of an even width, whose "
            "entries can be turned in pairs: choose a divisor of d_model / 2"
        )
    on_weights = dropout if attention_dropout is None else attention_dropout
    residual = partial(PostNorm, norm=partial(LayerNorm, eps=eps), dropout=dropout)
    turned = RotaryPosition(d_model // n_heads)

    def block(_layer: int) -> Block:
        attention = MultiHeadAttention(d_model, n_heads, dropout=on_weights, position=turned)
        return Block(attention, FeedForward(d_model, d_ff, activation), residual=residual)

    tokens = TokenEmbedding(vocab_size, d_model if d_embedding is None else d_embedding)
    if tokens.d_model == d_model:
        embeddings = BertEmbeddings(tokens, Position(), n_segments, dropout, eps)
    else:
        embeddings = FactorisedEmbeddings(tokens, Position(), d_model, n_segments, dropout, eps)
    model = Bert(embeddings, Stack(block, n_layers))
    initialise(model)
    return model


def for_masked_lm(encoder: Bert, activation: Activation = gelu) -> BertForMaskedLM:
    """Put the head that fills gaps on an encoder, whose own embedding scores the tokens."""
    embeddings = encoder.embeddings
    d_model = embeddings.tokens.d_model
    if isinstance(embeddings, FactorisedEmbeddings):
        d_model = embeddings.project.out_features
    masked = MaskedHead(embeddings.tokens, d_model, activation, embeddings.norm.eps)
    return BertForMaskedLM(encoder, masked)


def from_config(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here."""
    if config.get("rotary_value"):
        raise ValueError("config has rotary_value=True; only queries and keys are turned here")
    told = numbers(config, "roformer")
    told.pop("max_length")  # the length of a table that is computed here
    return roformer(d_embedding=config.get("embedding_size"), **told)


BODY: tuple[Rule, ...] = (
    *EMBEDDINGS,
    (r"\bembeddings_project\.", "embeddings.project."),
    *LAYERS,
)
NAMES: tuple[Rule, ...] = ((r"^roformer\.", ""), *BODY)
MASKED_NAMES: tuple[Rule, ...] = (
    (r"^roformer\.", "bert."),
    *BODY,
    (r"^cls\.predictions\.transform\.LayerNorm\.", "masked.norm."),
    (r"^cls\.predictions\.transform\.dense\.", "masked.dense."),
    (r"^cls\.predictions\.bias$", "masked.head.bias"),
    (r"^cls\.predictions\.decoder\.weight$", "masked.head.embedding.weight"),
)
COMPUTED = ("encoder.embed_positions.weight", "roformer.encoder.embed_positions.weight")  # waves


def load(folder: str | Path) -> Bert:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    Raises ValueError for tensors that are unknown or missing, by name.
    """
    model = from_config(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*COMPUTED, *HEADS))
    return model.eval()


def load_for_masked_lm(folder: str | Path) -> BertForMaskedLM:
    """Return encoder and head of a folder (RoFormerForMaskedLM), in evaluation mode."""
    config = read_config(folder)
    model = for_masked_lm(from_config(config), activation_of(config["hidden_act"]))
    adopt(model, read(folder), MASKED_NAMES, leave_out=(*COMPUTED, *AGAIN))
    return model.eval()


def base(vocab_size: int = 50_000) -> Bert:
    """Return RoFormer base: 12 layers, 768 wide, 12 heads."""
    return roformer(vocab_size)


def tiny(vocab_size: int = 32) -> Bert:
    """Return a model for tests and toys: 2 layers, 32 wide, 4 heads."""
    return roformer(vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, dropout=0.0)

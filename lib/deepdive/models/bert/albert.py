"""ALBERT: BERT with one layer, called again and again. Lan et al. 2020, "ALBERT: A Lite BERT for
Self-supervised Learning of Language Representations".

System: albert
Parent: bert
What differs:
- one block serves all layers (`albert` gives the stack the same block for each), so depth costs no
  parameters, and as much time as before
- the embedding is narrow, and a matrix brings its rows to the stream's width
  (`FactorisedEmbeddings`): vocab_size d_embedding + d_embedding d_model for vocab_size d_model
- the second head says which of two neighbouring texts came first (`next`, trained on SOP's pairs)
- the activation is GELU's approximation by tanh (`activation`)
Source: Lan et al. 2020, section 3, and their released code.
Book: 3.2
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from deepdive.checks import positive
from deepdive.layers import gelu_tanh
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import MaskedHead, Pooler, initialise
from deepdive.layers.stacks import Stack
from deepdive.models.bert.bert import Bert, BertForPreTraining, bert_block
from deepdive.models.bert.bert_embeddings import BertEmbeddings
from deepdive.positions import LearnedPosition, Position
from deepdive.published.bert import COUNTED, EMBEDDINGS, activation_of, numbers
from deepdive.published.weights import Join, Rule, adopt, check_config, read, read_config


class FactorisedEmbeddings(BertEmbeddings):
    """rows = project(BertEmbeddings): what is added and normalised is narrow, (B, T, d_embedding);
    `project` brings it to (B, T, d_model).

    Source: Lan et al. 2020, section 3.1.
    """

    def __init__(
        self,
        tokens: TokenEmbedding,
        position: Position,
        d_model: int,
        n_segments: int = 2,
        dropout: float = 0.0,
        eps: float = 1e-12,
    ) -> None:
        super().__init__(tokens, position, n_segments, dropout, eps)
        positive(d_model=d_model)
        self.project = nn.Linear(tokens.d_model, d_model)

    def forward(self, tokens: Tensor, segments: Tensor | None, positions: Tensor) -> Tensor:
        """Return rows (B, T, d_model)."""
        return self.project(super().forward(tokens, segments, positions))


def albert(
    vocab_size: int = 30_000,
    *,
    d_model: int = 768,
    d_embedding: int = 128,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    max_length: int = 512,
    n_segments: int = 2,
    dropout: float = 0.0,
    attention_dropout: float | None = None,
    eps: float = 1e-12,
    activation: Activation = gelu_tanh,
) -> Bert:
    """Build an encoder; defaults are the paper's base model (its version 2, without dropout)."""
    positive(d_embedding=d_embedding)
    block = bert_block(
        d_model,
        n_heads,
        d_ff,
        dropout=dropout,
        attention_dropout=attention_dropout,
        eps=eps,
        activation=activation,
    )
    tokens = TokenEmbedding(vocab_size, d_embedding)
    place = LearnedPosition(max_length, d_embedding)
    embeddings = FactorisedEmbeddings(tokens, place, d_model, n_segments, dropout, eps)
    model = Bert(embeddings, Stack(lambda _layer: block, n_layers))
    initialise(model)
    return model


def for_pretraining(encoder: Bert, activation: Activation = gelu_tanh) -> BertForPreTraining:
    """Put both heads on an encoder; `next` says whether two texts stand in their order (0)."""
    embeddings = encoder.embeddings
    assert isinstance(embeddings, FactorisedEmbeddings)
    d_model = embeddings.project.out_features
    masked = MaskedHead(embeddings.tokens, d_model, activation, embeddings.norm.eps)
    in_order = nn.Linear(d_model, 2)
    initialise(in_order)
    return BertForPreTraining(encoder, masked, Pooler(d_model), in_order)


def from_config(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here."""
    check_config(config, "albert", {"num_hidden_groups": 1, "inner_group_num": 1})
    return albert(d_embedding=config["embedding_size"], **numbers(config, "albert"))


BODY: tuple[Rule, ...] = (
    *EMBEDDINGS,
    (r"\bencoder\.embedding_hidden_mapping_in\.", "embeddings.project."),
    (r"\bencoder\.albert_layer_groups\.0\.albert_layers\.0\.", "stack.blocks.0."),
    (r"\.attention\.query\.", ".attn.q."),
    Join((r"\.attention\.key\.", r"\.attention\.value\."), ".attn.kv."),
    (r"\.attention\.dense\.", ".attn.out."),
    (r"\.attention\.LayerNorm\.", ".attn_residual.norm."),
    (r"\.ffn\.", ".ff.inner."),
    (r"\.ffn_output\.", ".ff.out."),
    (r"\.full_layer_layer_norm\.", ".ff_residual.norm."),
)
NAMES: tuple[Rule, ...] = ((r"^albert\.", ""), *BODY)
PRETRAINING: tuple[Rule, ...] = (
    (r"^albert\.pooler\.", "pooler.dense."),
    (r"^albert\.", "bert."),
    *BODY,
    (r"^predictions\.LayerNorm\.", "masked.norm."),
    (r"^predictions\.dense\.", "masked.dense."),
    (r"^predictions\.bias$", "masked.head.bias"),
    (r"^predictions\.decoder\.weight$", "masked.head.embedding.weight"),
    (r"^sop_classifier\.classifier\.", "next."),
)
BESIDE = tuple(name.replace("bert.", "albert.") for name in COUNTED)
AGAIN = ("predictions.decoder.bias",)  # predictions.bias under a second name
HEADS = (
    *(f"{model}pooler.{k}" for model in ("", "albert.") for k in ("weight", "bias")),
    *(f"predictions.{part}.{k}" for part in ("dense", "LayerNorm") for k in ("weight", "bias")),
    *("predictions.bias", "predictions.decoder.weight", *AGAIN),
    *(
        f"{head}.{k}"
        for head in ("sop_classifier.classifier", "classifier", "qa_outputs")
        for k in ("weight", "bias")
    ),
)


def load(folder: str | Path) -> Bert:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    Raises ValueError for tensors that are unknown or missing, by name.
    """
    model = from_config(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*BESIDE, *HEADS))
    return model.eval()


def load_for_pretraining(folder: str | Path) -> BertForPreTraining:
    """Return encoder, pooler and both heads of a folder, in evaluation mode."""
    config = read_config(folder)
    model = for_pretraining(from_config(config), activation_of(config["hidden_act"]))
    adopt(model, read(folder), PRETRAINING, leave_out=(*BESIDE, *AGAIN))
    return model.eval()


def base(vocab_size: int = 30_000) -> Bert:
    """Return ALBERT base: 12 calls of one layer, 768 wide."""
    return albert(vocab_size)


def large(vocab_size: int = 30_000) -> Bert:
    """Return ALBERT large: 24 calls, 1,024 wide."""
    return albert(vocab_size, d_model=1024, n_heads=16, n_layers=24, d_ff=4096)


def xlarge(vocab_size: int = 30_000) -> Bert:
    """Return ALBERT xlarge: 24 calls, 2,048 wide."""
    return albert(vocab_size, d_model=2048, n_heads=16, n_layers=24, d_ff=8192)


def xxlarge(vocab_size: int = 30_000) -> Bert:
    """Return ALBERT xxlarge: 12 calls, 4,096 wide."""
    return albert(vocab_size, d_model=4096, n_heads=64, n_layers=12, d_ff=16_384)


def tiny(vocab_size: int = 32) -> Bert:
    """Return a model for tests and toys: 3 calls, 32 wide from 8, 4 heads, 64 positions."""
    return albert(
        vocab_size, d_model=32, d_embedding=8, n_heads=4, n_layers=3, d_ff=64, max_length=64
    )

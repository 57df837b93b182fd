"""RoBERTa: BERT's model, trained longer on more text, on gaps alone. Liu et al. 2019, "RoBERTa: A
Robustly Optimized BERT Pretraining Approach".

The layers are BERT's. Its gaps are drawn anew at each visit (`deepdive.training.objectives`), and
its inputs are whole sentences from one document or several, up to the full length.

System: roberta
Parent: bert
What differs:
- there is no second head, and no second text: `n_segments` is 1 (`for_masked_lm`)
- gaps are drawn at each visit, not once (`deepdive.training.objectives.mask_tokens` in training's
  loop)
- positions are counted over the real tokens, so padding in front moves none of them
  (`RobertaEmbeddings`); the table's first `OFFSET` rows stay unused
- words are cut into bytes (`deepdive.tokenizers.ByteBPETokenizer`), 50,265 pieces
- the norms' `eps` is 1e-5, and training has more text, larger batches and more steps
Source: Liu et al. 2019, sections 3 and 4, and their released code.
Book: 3.2.1
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from deepdive.layers import gelu
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.stacks import Stack
from deepdive.models.bert.bert import Bert, BertForMaskedLM, bert_block, for_masked_lm
from deepdive.models.bert.bert_embeddings import BertEmbeddings
from deepdive.positions import LearnedPosition
from deepdive.published.bert import COUNTED, EMBEDDINGS, LAYERS, activation_of, numbers
from deepdive.published.weights import Rule, adopt, read, read_config

OFFSET = 2  # padding's id is 1, and padding had a row of its own in the table of positions


class RobertaEmbeddings(BertEmbeddings):
    """`BertEmbeddings` whose positions count real tokens: p = number of real tokens before it."""

    def positions(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        """Return where each token stands among the real ones, (T,) or (B, T)."""
        if mask is None:
            return super().positions(tokens, mask)
        return (mask.cumsum(1) - 1).clamp(min=0)  # below padding any place will do


def roberta(
    vocab_size: int = 50_265,
    *,
    d_model: int = 768,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    max_length: int = 512,
    n_segments: int = 1,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    eps: float = 1e-5,
    activation: Activation = gelu,
) -> Bert:
    """Build an encoder; defaults are the paper's base model."""
    sizes = (d_model, n_heads, d_ff)
    block = partial(bert_block, *sizes, dropout=dropout, attention_dropout=attention_dropout)
    stack = Stack(lambda _layer: block(eps=eps, activation=activation), n_layers)
    place = LearnedPosition(max_length, d_model, OFFSET)
    tokens = TokenEmbedding(vocab_size, d_model)
    model = Bert(RobertaEmbeddings(tokens, place, n_segments, dropout, eps), stack)
    initialise(model)
    return model


def from_config(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here."""
    if config.get("pad_token_id", OFFSET - 1) != OFFSET - 1:
        raise ValueError(
            f"config has pad_token_id={config['pad_token_id']}; only {OFFSET - 1} is built here"
        )
    settings = numbers(config, "roberta")
    settings["max_length"] -= OFFSET
    return roberta(**settings)


NAMES: tuple[Rule, ...] = ((r"^roberta\.", ""), *EMBEDDINGS, *LAYERS)
MASKED_NAMES: tuple[Rule, ...] = (
    (r"^roberta\.", "bert."),
    *EMBEDDINGS,
    *LAYERS,
    (r"^lm_head\.layer_norm\.", "masked.norm."),
    (r"^lm_head\.dense\.", "masked.dense."),
    (r"^lm_head\.bias$", "masked.head.bias"),
    (r"^lm_head\.decoder\.weight$", "masked.head.embedding.weight"),
)
AGAIN = ("lm_head.decoder.bias",)  # lm_head.bias under a second name
BESIDE = (
    *(name.replace("bert.", "roberta.") for name in COUNTED),
    *(f"{m}pooler.dense.{k}" for m in ("", "roberta.") for k in ("weight", "bias")),
)
HEADS = (
    *(f"lm_head.{part}.{k}" for part in ("dense", "layer_norm") for k in ("weight", "bias")),
    *("lm_head.bias", "lm_head.decoder.weight", *AGAIN),
    *(f"classifier.{part}.{k}" for part in ("dense", "out_proj") for k in ("weight", "bias")),
)


def load(folder: str | Path) -> Bert:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    Raises ValueError for tensors that are unknown or missing, by name.
    """
    model = from_config(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*BESIDE, *HEADS))
    return model.eval()


def load_for_masked_lm(folder: str | Path) -> BertForMaskedLM:
    """Return encoder and head of a folder (RobertaForMaskedLM), in evaluation mode."""
    config = read_config(folder)
    model = for_masked_lm(from_config(config), activation_of(config["hidden_act"]))
    adopt(model, read(folder), MASKED_NAMES, leave_out=(*BESIDE, *AGAIN))
    return model.eval()


def base(vocab_size: int = 50_265) -> Bert:
    """Return RoBERTa base: 12 layers, 768 wide, 12 heads."""
    return roberta(vocab_size)


def large(vocab_size: int = 50_265) -> Bert:
    """Return RoBERTa large: 24 layers, 1,024 wide, 16 heads."""
    return roberta(vocab_size, d_model=1024, n_heads=16, n_layers=24, d_ff=4096)


def tiny(vocab_size: int = 32) -> Bert:
    """Return a model for tests and toys: 2 layers, 32 wide, 4 heads, 64 positions."""
    return roberta(
        vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, max_length=64, dropout=0.0
    )

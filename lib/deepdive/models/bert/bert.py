"""BERT, an encoder trained to fill gaps. Devlin et al. 2019, "BERT: Pre-training of Deep
Bidirectional Transformers for Language Understanding".

The model is the stack with its embeddings (`Bert`); what is put on its states, in training and
afterwards, is a head of its own (`deepdive.layers.heads`). The published names of the weights are
in `deepdive.published.bert`.

System: bert
Parent: transformer
What differs:
- the encoder alone: every token sees every token, and nothing is decoded (`Bert`)
- positions are learned, and a learned row says which of two texts a token belongs to; their sum
  is normalised (`BertEmbeddings`)
- the activation is GELU (`activation`), dropout acts on the attention weights too
- it is trained to fill gaps (`MaskedHead`) and to say whether one text follows the other
  (`Pooler`, `next`)
Source: Devlin et al. 2019, section 3, and their released code.
Book: 3.1
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import MultiHeadAttention
from deepdive.layers import Block, FeedForward, LayerNorm, PostNorm, gelu
from deepdive.layers.embeddings import TokenEmbedding, check_tokens
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import MaskedHead, Pooler, initialise
from deepdive.layers.stacks import Stack
from deepdive.masks import padding
from deepdive.models.bert.bert_embeddings import BertEmbeddings
from deepdive.positions import LearnedPosition
from deepdive.published.bert import (
    AGAIN,
    COUNTED,
    HEADS,
    NAMES,
    POOLER,
    PRETRAINING,
    activation_of,
    numbers,
)
from deepdive.published.weights import adopt, read, read_config


class Bert(nn.Module):
    """Tokens (B, T) -> states (B, T, d_model), each of which has seen every token.

    `bert(...)` builds one from numbers; `base`, `large` and `multilingual` are published sizes.
    """

    def __init__(self, embeddings: BertEmbeddings, stack: Stack) -> None:
        super().__init__()
        self.embeddings, self.stack = embeddings, stack

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the states of `tokens`; `mask` bool (B, T), True = real token; `segments` int
        (B, T), None = all 0.
        """
        check_tokens(tokens)
        allowed = padding(mask, tokens, "mask")
        places = self.embeddings.positions(tokens, mask)
        return self.stack(self.embeddings(tokens, segments, places), mask=allowed)


class BertForMaskedLM(nn.Module):
    """Bert with a head that scores the whole vocabulary at each place."""

    def __init__(self, bert: Bert, masked: MaskedHead) -> None:
        super().__init__()
        self.bert, self.masked = bert, masked

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the logits (B, T, V) of all tokens. Training needs only those of the gaps:
        `masked_logits(bert(...)[chosen])`.
        """
        return self.masked_logits(self.bert(tokens, mask, segments))

    def masked_logits(self, states: Tensor) -> Tensor:
        """Return logits (..., V) for states (..., d_model)."""
        return self.masked(states)


class BertForPreTraining(BertForMaskedLM):
    """Bert with both its heads: `masked`, and `next`, which scores whether the second text follows
    the first (0) or not (1).
    """

    def __init__(self, bert: Bert, masked: MaskedHead, pooler: Pooler, next: nn.Linear) -> None:
        super().__init__(bert, masked)
        self.pooler, self.next = pooler, next

    def next_logits(self, states: Tensor) -> Tensor:
        """Return logits (B, 2) for states (B, T, d_model)."""
        return self.next(self.pooler(states))


def bert_block(
    d_model: int,
    n_heads: int,
    d_ff: int,
    *,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    eps: float = 1e-12,
    activation: Activation = gelu,
) -> Block:
    """Return one layer: a norm after each sum, dropout on what each sublayer says and
    (`attention_dropout`, the same by default) on the weights of attention.
    """
    on_weights = dropout if attention_dropout is None else attention_dropout
    return Block(
        MultiHeadAttention(d_model, n_heads, dropout=on_weights),
        FeedForward(d_model, d_ff, activation),
        residual=partial(PostNorm, norm=partial(LayerNorm, eps=eps), dropout=dropout),
    )


def bert(
    vocab_size: int = 30_522,
    *,
    d_model: int = 768,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    max_length: int = 512,
    n_segments: int = 2,
    dropout: float = 0.1,
    attention_dropout: float | None = None,
    eps: float = 1e-12,
    activation: Activation = gelu,
) -> Bert:
    """Build an encoder; defaults are the paper's base model. Dropouts: `bert_block`."""
    sizes = (d_model, n_heads, d_ff)
    block = partial(bert_block, *sizes, dropout=dropout, attention_dropout=attention_dropout)
    stack = Stack(lambda _layer: block(eps=eps, activation=activation), n_layers)
    tokens, place = TokenEmbedding(vocab_size, d_model), LearnedPosition(max_length, d_model)
    model = Bert(BertEmbeddings(tokens, place, n_segments, dropout, eps), stack)
    initialise(model)
    return model


def for_masked_lm(encoder: Bert, activation: Activation = gelu) -> BertForMaskedLM:
    """Put the head that fills gaps on an encoder, whose own embedding scores the tokens."""
    tokens = encoder.embeddings.tokens
    masked = MaskedHead(tokens, activation=activation, eps=encoder.embeddings.norm.eps)
    return BertForMaskedLM(encoder, masked)


def for_pretraining(encoder: Bert, activation: Activation = gelu) -> BertForPreTraining:
    """Put both heads of the paper on an encoder."""
    d_model = encoder.embeddings.tokens.d_model
    follows = nn.Linear(d_model, 2)
    initialise(follows)
    masked = for_masked_lm(encoder, activation).masked
    return BertForPreTraining(encoder, masked, Pooler(d_model), follows)


def from_config(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here."""
    return bert(**numbers(config, "bert"))


def empty(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json with memory that nothing has been written to yet: to draw
    weights that are replaced at once takes longer than to read them.
    """
    with torch.device("meta"):
        model = from_config(config)
    return model.to_empty(device="cpu")


def load(folder: str | Path) -> Bert:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    Its pooler and heads stay in the file: `load_for_pretraining` takes them too.
    Raises ValueError for tensors that are unknown or missing, by name.
    """
    model = empty(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*COUNTED, *POOLER, *HEADS))
    return model.eval()


def load_for_pretraining(folder: str | Path) -> BertForPreTraining:
    """Return encoder, pooler and both heads of a folder (BertForPreTraining), in evaluation
    mode.
    """
    config = read_config(folder)
    model = for_pretraining(empty(config), activation_of(config["hidden_act"]))
    adopt(model, read(folder), PRETRAINING, leave_out=(*COUNTED, *AGAIN))
    return model.eval()


def base(vocab_size: int = 30_522) -> Bert:
    """Return BERT base: 12 layers, 768 wide, 12 heads."""
    return bert(vocab_size)


def large(vocab_size: int = 30_522) -> Bert:
    """Return BERT large: 24 layers, 1,024 wide, 16 heads."""
    return bert(vocab_size, d_model=1024, n_heads=16, n_layers=24, d_ff=4096)


def multilingual(vocab_size: int = 119_547) -> Bert:
    """Return the size of multilingual BERT (cased): base, with word pieces of 104 languages."""
    return bert(vocab_size)


def tiny(vocab_size: int = 32) -> Bert:
    """Return a model for tests and toys: 2 layers, 32 wide, 4 heads, 64 positions."""
    return bert(vocab_size, d_model=32, n_heads=4, n_layers=2, d_ff=64, max_length=64, dropout=0.0)

"""Nystromformer: BERT with attention through landmarks. Xiong et al. 2021, "Nystromformer: A
Nystrom-Based Algorithm for Approximating Self-Attention".

System: nystromformer
Parent: bert
What differs:
- a few means of queries and of keys stand for all (`NystromAttention`, `n_landmarks`); three small
  softmax matrices and a pseudo-inverse replace the T x T one
- a depthwise convolution of the values is added in each head (`ValueConvolution`, `kernel`)
- positions are counted from 2 (`OFFSET`), the activation is GELU's approximation by tanh, `eps` of
  the norms 1e-5
Source: Xiong et al. 2021, section 3, and their released code.
Book: table 1.2
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from deepdive.attention.low_rank.nystrom import NystromAttention, by_batch
from deepdive.attention.low_rank.value_convolution import ValueConvolution
from deepdive.attention.multi_head import MultiHeadAttention
from deepdive.layers import Block, FeedForward, LayerNorm, PostNorm, gelu_tanh
from deepdive.layers.embeddings import TokenEmbedding
from deepdive.layers.feed_forward import Activation
from deepdive.layers.heads import initialise
from deepdive.layers.stacks import Stack
from deepdive.models.bert.bert import Bert
from deepdive.models.bert.bert_embeddings import BertEmbeddings
from deepdive.positions import LearnedPosition
from deepdive.published.bert import EMBEDDINGS, HEADS, LAYERS, numbers
from deepdive.published.weights import Change, Rule, adopt, read, read_config

OFFSET = 2  # two rows of the table of positions stay unused


def nystromformer(
    vocab_size: int = 30_000,
    *,
    d_model: int = 768,
    n_heads: int = 12,
    n_layers: int = 12,
    d_ff: int = 3072,
    max_length: int = 510,
    n_segments: int = 2,
    n_landmarks: int = 64,
    kernel: int | None = 65,
    dropout: float = 0.1,
    eps: float = 1e-5,
    activation: Activation = gelu_tanh,
) -> Bert:
    """Build an encoder; defaults are the published base model. `kernel` None: no convolution.

    The inverse starts as in the published code (`by_batch`), on which its weights were trained.
    """

    def block(_layer: int) -> Block:
        convolution = None if kernel is None else ValueConvolution(n_heads, kernel)
        mechanism = NystromAttention(n_landmarks, start=by_batch, convolution=convolution)
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


def from_config(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here.

    `segment_means_seq_len` has no part: landmarks are means of the text that comes, whatever its
    length. Where it equals `num_landmarks`, the published model is full attention at every length,
    and so is this one.
    """
    if config.get("inv_coeff_init_option"):
        raise ValueError(
            "config has inv_coeff_init_option=True; only False, one start for the whole batch, is "
            "built here: give NystromAttention start=by_head yourself"
        )
    sizes = numbers(config, "nystromformer")
    del sizes["attention_dropout"]  # the published code has it, and never applies it
    landmarks = config["num_landmarks"]
    if landmarks == config["segment_means_seq_len"]:
        landmarks = max(landmarks, sizes["max_length"])
    return nystromformer(n_landmarks=landmarks, kernel=config["conv_kernel_size"], **sizes)


def by_line(weight: Tensor) -> Tensor:
    """Return a kernel (H, 1, kernel, 1) as (H, kernel)."""
    return weight.flatten(1)


def names_of(kind: str) -> tuple[Rule, ...]:
    """Return the rules for a published BERT of this kind whose values pass a convolution."""
    return (
        (rf"^{kind}\.", ""),
        *EMBEDDINGS,
        (r"\.attention\.self\.conv\.", ".attn.mechanism.convolution."),
        Change(r"\.convolution\.weight$", by_line),
        *LAYERS,
    )


def beside_of(kind: str) -> tuple[str, ...]:
    """Return what its files hold and the model does not: 2, 3, 4 ... and 0, not learned."""
    names = ("position_ids", "token_type_ids")
    return tuple(f"{model}embeddings.{name}" for model in ("", f"{kind}.") for name in names)


NAMES, BESIDE = names_of("nystromformer"), beside_of("nystromformer")


def load(folder: str | Path) -> Bert:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    A text with padding gets what it would get alone; the published code counts padding in its
    landmarks. Raises ValueError for tensors that are unknown or missing, by name.
    """
    model = from_config(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*BESIDE, *HEADS))
    return model.eval()


def base(vocab_size: int = 30_000) -> Bert:
    """Return the published size: 12 layers, 768 wide, 12 heads, 64 landmarks."""
    return nystromformer(vocab_size)


def tiny(vocab_size: int = 32) -> Bert:
    """Return a model for tests and toys: 2 layers, 32 wide, 4 heads, 4 landmarks."""
    return nystromformer(
        vocab_size,
        d_model=32,
        n_heads=4,
        n_layers=2,
        d_ff=64,
        max_length=64,
        n_landmarks=4,
        kernel=5,
        dropout=0.0,
    )

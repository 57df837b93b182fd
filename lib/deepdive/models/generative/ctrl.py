"""CTRL: a language model conditioned on control codes. Keskar et al. 2019, "CTRL: A Conditional
Transformer Language Model for Controllable Generation".

    p(x | c) = product over t of p(x_t | c, x_1 .. x_t-1)

System: ctrl
Parent: gpt2
What differs:
- every text is preceded by a control code for its domain, such as Wikipedia or Reviews
  (`controlled`), which steers generation
- position encodings are sinusoidal (`sinusoids`), embeddings are multiplied by sqrt(d_model)
  (`scale`), the activation is ReLU (`activation`)
- the output layer, tied to the embedding, has a bias (`tied_with_bias`)
Source: Keskar et al. 2019, sections 2 and 3.
Book: blog
"""

from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import relu
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.models.generative import gpt, gpt2
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt_config import GPTConfig
from deepdive.positions import BlockedSinusoidalPosition


def controlled(tokens: Tensor, code: int) -> Tensor:
    """Return texts (B, T) with the control code `code` prepended as a token, (B, 1 + T). It
    conditions the model on the text's domain.
    """
    return torch.cat([tokens.new_full((len(tokens), 1), code), tokens], dim=1)


def sinusoids(config: GPTConfig) -> BlockedSinusoidalPosition:
    return BlockedSinusoidalPosition(config.d_model)


def tied_with_bias(config: GPTConfig, embedding: TokenEmbedding) -> nn.Module:
    """Return an output layer tied to the embedding, with a bias."""
    return TiedHead(embedding, bias=True)


BASE = gpt2.BASE.but(  # 1.6 billion
    vocab_size=246_534, d_model=1280, n_heads=16, n_layers=48, d_ff=8192, max_length=256, eps=1e-6,
    attention_dropout=0.0, activation=relu, position=sinusoids, head=tied_with_bias, scale=None,
    family="ctrl",
)  # fmt: skip
TINY = BASE.but(**gpt.TOY)


def ctrl(config: GPTConfig = BASE, **changes: Any) -> GPT:
    """Build a decoder; defaults are the published model's."""
    return gpt.gpt(config, **changes)

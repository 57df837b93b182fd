"""GPT-Neo: an open model with GPT-3's architecture. Black et al. 2021, "GPT-Neo: Large Scale
Autoregressive Language Modeling with Mesh-TensorFlow".

System: gpt_neo
Parent: gpt3
What differs:
- scores are not divided by sqrt(d_head), and queries, keys and values have no biases
  (`unscaled`)
- the band is 256 tokens wide (`band`), and there is no dropout
Source: the released code of Black et al. 2021.
Book: blog
"""

from typing import Any

import torch
from torch import nn

from deepdive.attention.by_position.window import WindowAttention
from deepdive.core import MultiHeadAttention, SoftmaxAttention
from deepdive.models.generative import gpt, gpt3
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt_config import GPTConfig


def unscaled(config: GPTConfig, layer: int) -> nn.Module:
    """Return a layer's attention with unscaled scores q.k; only `out` has a bias."""
    dropout = config.weights_dropout
    full, local = SoftmaxAttention(dropout), WindowAttention(config.band - 1, dropout=dropout)
    attention = MultiHeadAttention(
        config.d_model, config.n_heads, bias=False, scale=1.0,
        mechanism=local if layer % 2 else full,
    )  # fmt: skip
    attention.out.bias = nn.Parameter(torch.zeros(config.d_model))
    return attention


SMALL = gpt3.SMALL.but(dropout=0.0, attention=unscaled, family="gpt_neo")  # 125 million
BASE = SMALL.but(d_model=2048, n_heads=16, n_layers=24, d_ff=8192)  # 1.3 billion
TINY = BASE.but(**gpt.TOY)


def gpt_neo(config: GPTConfig = BASE, **changes: Any) -> GPT:
    """Build a decoder; defaults are those of gpt-neo-1.3B."""
    return gpt.gpt(config, **changes)

"""GPT-3, which learns a task from examples in its text. Brown et al. 2020, "Language Models are
Few-Shot Learners".

The paper does not say how wide its bands are: here they have GPT-Neo's width (`band`).

System: gpt3
Parent: gpt2
What differs:
- in every second layer a token meets only those near it (`banded`)
- a hundred times the size (`BASE`), and texts of 2,048 tokens, which have room for examples of a
  task: none, one or a few, and no weight is changed
Source: Brown et al. 2020, sections 2 and 2.1.
Book: 6.1.3.3
"""

from typing import Any

from torch import nn

from deepdive.attention.by_position.window import WindowAttention
from deepdive.core import MultiHeadAttention
from deepdive.models.generative import gpt, gpt2
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt_config import GPTConfig, full_attention


def banded(config: GPTConfig, layer: int) -> nn.Module:
    """Return the attention of a layer: in every second one, beginning with the second, a token
    meets itself and the `band` - 1 tokens before it, in the others all before it.
    """
    if layer % 2 == 0:
        return full_attention(config, layer)
    local = WindowAttention(config.band - 1, dropout=config.weights_dropout)
    return MultiHeadAttention(config.d_model, config.n_heads, mechanism=local)


SMALL = gpt2.BASE.but(max_length=2048, attention=banded, family="gpt3")
BASE = SMALL.but(d_model=12_288, n_heads=96, n_layers=96, d_ff=49_152)  # 175 thousand million
TINY = BASE.but(**gpt.TOY)


def gpt3(config: GPTConfig = BASE, **changes: Any) -> GPT:
    """Build a decoder; defaults are the largest of the eight published sizes."""
    return gpt2.gpt2(config, **changes)

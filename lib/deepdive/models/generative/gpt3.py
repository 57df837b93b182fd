"""GPT-3: a scaled-up GPT-2 for few-shot in-context learning. Brown et al. 2020, "Language Models
are Few-Shot Learners".

The paper doesn't state the width of its attention bands: here they have GPT-Neo's width (`band`).

System: gpt3
Parent: gpt2
What differs:
- every second layer has locally banded attention (`banded`)
- a hundred times the size (`BASE`), and a context of 2,048 tokens, which has room for examples of a
  task: zero-, one-, or few-shot, without updating the weights
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
    """Return a layer's attention: in every second layer, starting with the second, a token attends
    to itself and the `band` - 1 tokens before it, in the others to all before it.
    """
    if layer % 2 == 0:
        return full_attention(config, layer)
    local = WindowAttention(config.band - 1, dropout=config.weights_dropout)
    return MultiHeadAttention(config.d_model, config.n_heads, mechanism=local)


SMALL = gpt2.BASE.but(max_length=2048, attention=banded, family="gpt3")
BASE = SMALL.but(d_model=12_288, n_heads=96, n_layers=96, d_ff=49_152)  # 175 billion
TINY = BASE.but(**gpt.TOY)


def gpt3(config: GPTConfig = BASE, **changes: Any) -> GPT:
    """Build a decoder; defaults are the largest of the eight published sizes."""
    return gpt2.gpt2(config, **changes)

"""GPT-2: a larger, pre-norm GPT for zero-shot tasks. Radford et al. 2019, "Language Models are
Unsupervised Multitask Learners".

    x = x + attention(norm(x));  x = x + ff(norm(x)):   tokens (B, T) -> logits (B, T, vocab_size)

System: gpt2
Parent: gpt
What differs:
- layer norm precedes each sublayer, with one more after the last layer (`residual`)
- output projections of the residual branches are initialized smaller, by their number
  (`scale_residual_init`)
- byte-level BPE (`deepdive.tokenizers.ByteBPETokenizer`, `vocab_size`), and the context is twice as
  long (`max_length`)
- zero-shot: no task head; the prompt states the task, and the generated text is the answer
Source: Radford et al. 2019, sections 2.2 and 2.3.
Book: 6.1.3.2
"""

from typing import Any

import torch

from deepdive.core import PreNorm
from deepdive.models.generative import gpt
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt_config import GPTConfig

BASE = gpt.BASE.but(vocab_size=50_257, max_length=1024, residual=PreNorm, family="gpt2")
MEDIUM = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
LARGE = BASE.but(d_model=1280, n_heads=20, n_layers=36, d_ff=5120)
XL = BASE.but(d_model=1600, n_heads=25, n_layers=48, d_ff=6400)
TINY = BASE.but(**gpt.TOY)


def gpt2(config: GPTConfig = BASE, **changes: Any) -> GPT:
    """Build a decoder; defaults are the smallest of the four published sizes."""
    model = gpt.gpt(config, **changes)
    scale_residual_init(model)
    return model


@torch.no_grad()
def scale_residual_init(model: GPT) -> None:
    """Divide the initial output projections of the residual branches by sqrt(N), N = 2 n_layers:
    their sum is then as large in a deep model as in a shallow one.
    """
    writers = [name for name, _ in model.named_parameters() if name.endswith(".out.weight")]
    for name in writers:
        model.get_parameter(name).div_(len(writers) ** 0.5)

"""mBART: one BART for 25 languages. Liu et al. 2020, "Multilingual Denoising Pre-training for
Neural Machine Translation".

System: mbart
Parent: bart
What differs:
- the norms stand inside the branches (`residual`, `PreNorm`), and once more behind each stack,
  which stabilized the authors' half-precision training
- one vocabulary of 250,000 pieces serves all languages (`BASE`); a text's last token says which,
  and the same token is the first that the decoder reads (`start`)
- embeddings are multiplied by sqrt(d_model) (`scale`)
- its noise: spans infilled and sentences permuted (`deepdive.training.objectives.denoising`)
Source: Liu et al. 2020, sections 2.1 and 2.2.
Book: 4.1.4
"""

from typing import Any

from deepdive.core import PreNorm
from deepdive.models.generative import bart
from deepdive.models.generative.bart import BartConfig
from deepdive.models.transformer.translator import TOY, Translator

BASE = bart.LARGE.but(  # mbart-large-cc25; 250,004 stands for English
    src_vocab=250_027, scale=None, start=250_004, residual=PreNorm, family="mbart"
)
TINY = BASE.but(**TOY, max_length=64, dropout=0.0, start=3)


def mbart(config: BartConfig = BASE, **changes: Any) -> Translator:
    """Build an encoder and a decoder; defaults are the paper's model."""
    return bart.bart(config, **changes)

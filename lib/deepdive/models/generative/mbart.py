"""mBART: a BART pretrained on 25 languages. Liu et al. 2020, "Multilingual Denoising Pre-training
for Neural Machine Translation".

System: mbart
Parent: bart
What differs:
- pre-norm (`residual`, `PreNorm`), with one more norm after each stack, which stabilized the
  authors' half-precision training
- one vocabulary of 250,000 tokens for all languages (`BASE`); a language token ends each text, and
  is also the first decoder input (`start`)
- embeddings are multiplied by sqrt(d_model) (`scale`)
- noise: text infilling and sentence permutation (`deepdive.training.objectives.denoising`)
Source: Liu et al. 2020, sections 2.1 and 2.2.
Book: 4.1.4
"""

from typing import Any

from deepdive.core import PreNorm
from deepdive.models.generative import bart
from deepdive.models.generative.bart import BartConfig
from deepdive.models.transformer.translator import TOY, Translator

BASE = bart.LARGE.but(  # mbart-large-cc25; 250,004 is the English language token
    src_vocab=250_027, scale=None, start=250_004, residual=PreNorm, family="mbart"
)
TINY = BASE.but(**TOY, max_length=64, dropout=0.0, start=3)


def mbart(config: BartConfig = BASE, **changes: Any) -> Translator:
    """Build an encoder-decoder; defaults are the paper's model."""
    return bart.bart(config, **changes)

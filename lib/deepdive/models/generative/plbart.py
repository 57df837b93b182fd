"""PLBART: a BART pretrained on programs and natural language. Ahmad et al. 2021, "Unified
Pre-training for Program Understanding and Generation".

System: plbart
Parent: bart
What differs:
- the languages are Java, Python and English; a language token ends each text, and is also the first
  decoder input (`start`)
- embeddings are multiplied by sqrt(d_model) (`scale`), so positions weigh less in the norm that
  follows
- three of the five noise functions: token masking, token deletion, text infilling
  (`deepdive.training.objectives.denoising`)
- dropout also acts on the attention weights (`attention_dropout`)
Source: Ahmad et al. 2021, sections 2.1 and 2.2.
Book: 6.1.3
"""

from typing import Any

from deepdive.models.generative import bart
from deepdive.models.generative.bart import BartConfig
from deepdive.models.transformer.translator import TOY, Translator

BASE = bart.BASE.but(  # 50,000 subwords, five special tokens; 50,003 is English
    src_vocab=50_005, scale=None, attention_dropout=0.1, start=50_003, family="plbart"
)
TINY = BASE.but(**TOY, max_length=64, dropout=0.0, attention_dropout=0.0, start=3)


def plbart(config: BartConfig = BASE, **changes: Any) -> Translator:
    """Build an encoder-decoder; defaults are the paper's model."""
    return bart.bart(config, **changes)

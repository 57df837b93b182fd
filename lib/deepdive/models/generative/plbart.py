"""PLBART: BART for programs and what is said of them. Ahmad et al. 2021, "Unified Pre-training for
Program Understanding and Generation".

System: plbart
Parent: bart
What differs:
- it reads Java, Python and English; a text's last token says which, and the same token is the first
  that the decoder reads (`start`)
- embeddings are multiplied by sqrt(d_model) (`scale`), so that the norm that follows sees less of
  the positions
- three of the five noises: tokens masked, tokens deleted, spans infilled
  (`deepdive.training.objectives.denoising`)
- dropout acts on the weights of attention too (`attention_dropout`)
Source: Ahmad et al. 2021, sections 2.1 and 2.2.
Book: 6.1.3
"""

from typing import Any

from deepdive.models.generative import bart
from deepdive.models.generative.bart import BartConfig
from deepdive.models.transformer.translator import TOY, Translator

BASE = bart.BASE.but(  # 50,000 pieces, five marks; 50,003 stands for English
    src_vocab=50_005, scale=None, attention_dropout=0.1, start=50_003, family="plbart"
)
TINY = BASE.but(**TOY, max_length=64, dropout=0.0, attention_dropout=0.0, start=3)


def plbart(config: BartConfig = BASE, **changes: Any) -> Translator:
    """Build an encoder and a decoder; defaults are the paper's model."""
    return bart.bart(config, **changes)

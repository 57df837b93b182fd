"""PEGASUS: a Transformer pretrained with gap sentence generation. Zhang et al. 2020, "PEGASUS:
Pre-training with Extracted Gap-sentences for Abstractive Summarization".

System: pegasus
Parent: transformer
What differs:
- the sentences most representative of the rest of the text are masked and generated
  (`deepdive.training.objectives.gap_sentences`)
- pre-norm, with one more norm after each stack (`residual`, `PreNorm`)
- position encodings are a block of sines and a block of cosines (`sinusoids`), so a text may be
  longer than any seen in training
- decoding starts with the padding token (`start`)
Source: Zhang et al. 2020, sections 3 and 6.1, and their released code.
Book: 6.1.3
"""

from typing import Any

from deepdive.core import PreNorm
from deepdive.layers.heads import initialize
from deepdive.models.generative.bart import tied
from deepdive.models.transformer.marian import sinusoids
from deepdive.models.transformer.translator import TOY, Translator, translator
from deepdive.models.transformer.translator_config import TranslatorConfig

BASE = TranslatorConfig(
    tied, sinusoids, "pegasus", src_vocab=96_103, d_model=768, n_layers=12, n_decoder_layers=12,
    n_heads=12, n_decoder_heads=12, d_ff=3072, d_decoder_ff=3072, pad=0, start=0, end=1,
    residual=PreNorm,
)  # fmt: skip
LARGE = BASE.but(
    d_model=1024, n_layers=16, n_decoder_layers=16, n_heads=16, n_decoder_heads=16, d_ff=4096,
    d_decoder_ff=4096,
)  # fmt: skip
TINY = BASE.but(**TOY, dropout=0.0)


def pegasus(config: TranslatorConfig = BASE, **changes: Any) -> Translator:
    """Build an encoder-decoder; defaults are the paper's base model."""
    model = translator(config, **changes)
    initialize(model)
    return model

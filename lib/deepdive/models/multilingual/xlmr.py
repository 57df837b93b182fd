"""XLM-R: RoBERTa pretrained on web pages in a hundred languages. Conneau et al. 2020,
"Unsupervised Cross-lingual Representation Learning at Scale".

A language with a fraction p of the text is sampled with a probability proportional to p^0.3.

System: xlmr
Parent: roberta
What differs:
- one vocabulary of 250,002 subword tokens, from a unigram model, serves a hundred languages
  (`BASE`, by `vocab_size`); unlike XLM it has no language embeddings
- no translations: MLM alone (`deepdive.models.bert.pretraining.for_masked_lm`)
Source: Conneau et al. 2020, sections 3 and 4.1.
Book: 4.1.2.3
"""

from typing import Any

from deepdive.models.bert import roberta
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig

BASE = roberta.BASE.but(vocab_size=250_002, family="xlm-roberta")
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY)


def xlmr(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the paper's base model."""
    return roberta.roberta(config, **changes)

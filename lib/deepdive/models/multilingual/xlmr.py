"""XLM-R: RoBERTa on the web pages of a hundred languages. Conneau et al. 2020, "Unsupervised
Cross-lingual Representation Learning at Scale".

Parent: RoBERTa (`deepdive.models.bert.roberta`).
What differs:
- one vocabulary of 250,002 pieces, a unigram model's, serves a hundred languages (`BASE`, by
  `vocab_size`); unlike XLM it has no row for the language (`n_segments` is 1, as RoBERTa's);
- no translations are read: gaps alone (`deepdive.models.bert.pretraining.for_masked_lm`);
- a language with a share p of the text is drawn with a probability in proportion to p^0.3.

Source: Conneau et al. 2020, sections 3 and 4.1. Book: section 4.1.2.3. Checkpoints:
XLMRobertaModel, xlm-roberta-base and -large (`deepdive.published.load`).
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

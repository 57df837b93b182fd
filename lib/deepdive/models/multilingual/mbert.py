"""mBERT: BERT on the Wikipedias of 104 languages. Devlin et al. 2019, their released model.

Parent: BERT (`deepdive.models.bert.bert`).
What differs:
- one vocabulary of 119,547 word pieces serves all languages (`BASE`, by `vocab_size`): no row and
  no token says which one a text is in;
- large Wikipedias are read less often, small ones more often, than their share of the text.

Source: Devlin et al. 2019, section 3; the languages: their released code, `multilingual.md`. Book:
section 4.1.2.1. Checkpoints: BertModel, bert-base-multilingual-cased (`deepdive.published.load`).
"""

from typing import Any

from deepdive.models.bert.bert import MULTILINGUAL, TOY, Bert, EncoderConfig, bert

BASE = MULTILINGUAL
TINY = BASE.but(**TOY)


def mbert(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the released cased model."""
    return bert(config, **changes)

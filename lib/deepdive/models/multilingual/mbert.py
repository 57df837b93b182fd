"""mBERT: BERT on the Wikipedias of 104 languages. Devlin et al. 2019, their released model.

Large Wikipedias are read less often, small ones more often, than their share of the text.

System: mbert
Parent: bert
What differs:
- one vocabulary of 119,547 word pieces serves all languages (`BASE`, by `vocab_size`): no row and
  no token says which one a text is in
Source: Devlin et al. 2019, section 3; the languages: their released code, `multilingual.md`.
Book: 4.1.2.1
"""

from typing import Any

from deepdive.models.bert.bert import MULTILINGUAL, TOY, Bert, EncoderConfig, bert

BASE = MULTILINGUAL
TINY = BASE.but(**TOY)


def mbert(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the released cased model."""
    return bert(config, **changes)

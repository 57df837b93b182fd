"""mBERT: BERT pretrained on the Wikipedias of 104 languages. Devlin et al. 2019, released model.

Large Wikipedias are undersampled, and small ones oversampled, relative to their size.

System: mbert
Parent: bert
What differs:
- one vocabulary of 119,547 word pieces serves all languages (`BASE`, by `vocab_size`): no embedding
  and no token indicates a text's language
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

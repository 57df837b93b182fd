"""ERNIE-M: gaps that only the other language can fill. Ouyang et al. 2021, "ERNIE-M: Enhanced
Multilingual Representation by Aligning Cross-lingual Semantics with Monolingual Corpora".

First the model learns from translations to fill a gap of one language by looking at the other.
Then it writes some words of another language behind texts that have no translation, and fills
gaps of the text with both before it.

System: ernie_m
Parent: xlmr
What differs:
- in a pair of translations a gap sees the other language and not its own (`look_across`)
- for text in one language it writes a piece of the other itself (`write_across`), and learns from
  both as from a pair
- places are counted over all tokens, padding too, and there is no table of segments (`BASE`)
Source: Ouyang et al. 2021, section 3.
Book: 4.1.2.8
"""

from typing import Any

from torch import Tensor

from deepdive.masks import Dense
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.training.objectives import look_across

BASE = EncoderConfig(
    vocab_size=250_002, n_segments=0, eps=1e-5, unused_positions=2, family="ernie_m"
)
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY)


def ernie_m(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the published base model."""
    return bert(config, **changes)


def crossed(encoder: Bert, tokens: Tensor, second: Tensor, hidden: Tensor, real: Tensor) -> Tensor:
    """Return the states (B, T, d_model) of joined translations under `look_across`: those of gaps
    depend on the words of the other language alone. Arguments and errors are its own; tokens
    (B, T).
    """
    marks = Dense(look_across(second, hidden, real)[:, None])
    return encoder.states(tokens, real, None, marks)

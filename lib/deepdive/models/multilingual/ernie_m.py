"""ERNIE-M: cross-attention MLM and back-translation MLM. Ouyang et al. 2021, "ERNIE-M: Enhanced
Multilingual Representation by Aligning Cross-lingual Semantics with Monolingual Corpora".

First, on translation pairs, the model predicts masked tokens of one language from the other alone.
Then it generates tokens of another language after monolingual texts, and predicts masked tokens of
the text from both.

System: ernie_m
Parent: xlmr
What differs:
- in a translation pair a masked token attends to the other language, not to its own
  (`cross_lingual_mask`)
- for monolingual text it generates pseudo-parallel tokens itself (`back_translate`), and learns
  from both as from a pair; positions count all tokens, padding included, without segments (`BASE`)
Source: Ouyang et al. 2021, section 3.
Book: 4.1.2.8
"""

from typing import Any

import torch
from torch import Tensor

from deepdive.core.masks import Dense, describe
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert

BASE = EncoderConfig(
    vocab_size=250_002, n_segments=0, eps=1e-5, unused_positions=2, family="ernie_m"
)
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY)


def ernie_m(config: EncoderConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the published base model."""
    return bert(config, **changes)


def cross_attend(
    encoder: Bert, tokens: Tensor, second: Tensor, hidden: Tensor, real: Tensor
) -> Tensor:
    """Return the states (B, T, d_model) of joined translations under `cross_lingual_mask`: those
    of masked tokens depend only on the words of the other language. Arguments and errors are its
    own; tokens (B, T).
    """
    marks = Dense(cross_lingual_mask(second, hidden, real)[:, None])
    return encoder.states(tokens, real, None, marks)


def cross_lingual_mask(second: Tensor, hidden: Tensor, real: Tensor) -> Tensor:
    """Return the attention mask of joined translations, bool (B, T, T), True = token t may attend
    to token s, under which masked tokens are predicted from the other language alone:

        a masked token   attends to  the masked tokens of its own side, the words of the other side
        a word           attends to  the words of its own side

    where a word is a real token that is not masked. Words do not attend to the other side, so they
    carry no information about the masked token's neighbors: its state depends on nothing of its
    own side but where the masked tokens are, whatever the depth. Padding attends to itself.

    second: bool (B, T), the tokens of the second sentence (`join_translations`); hidden: bool
    (B, T), the masked tokens (`mask_tokens`' `chosen`, with mask=1.0: one that keeps its token is
    visible to the others of its side); real: bool (B, T). Passed to `Bert.states` as a dense mask.
    Raises ValueError for shapes that differ, masked padding, or a side that is fully masked while
    the other has a masked token.

    Source: Ouyang et al. 2021, section 3.1, p(x_M | M, y) and its mask. Where the paper's figure
    leaves open whether masked tokens of the other side are visible: no, as they attend to this one.
    """
    if len({tuple(one.shape) for one in (second, hidden, real)}) > 1 or real.ndim != 2:
        raise ValueError(
            f"second, hidden, real: got {describe(second)}, {describe(hidden)} and "
            f"{describe(real)}; expected bool (B, T) three times"
        )
    if (hidden & ~real).any():
        raise ValueError("hidden: a padding position is masked; mask only real tokens")
    words = real & ~hidden
    for side, other in ((second, ~second), (~second, second)):
        blind = (hidden & side).any(1) & ~(words & other).any(1)
        if blind.any():
            raise ValueError(
                f"hidden: sequence {int(blind.nonzero()[0])} has a masked token, but no unmasked "
                "token in the other sentence to predict it from"
            )
    beside = second[:, :, None] == second[:, None, :]  # in the same sentence
    from_gap, to_gap = hidden[:, :, None], hidden[:, None, :]
    to_word = words[:, None, :]
    sees = torch.where(from_gap, (beside & to_gap) | (~beside & to_word), beside & to_word)
    return torch.where(real[:, :, None], sees, torch.eye(real.shape[1], device=real.device) > 0)

"""ERNIE-M: gaps that only the other language can fill. Ouyang et al. 2021, "ERNIE-M: Enhanced
Multilingual Representation by Aligning Cross-lingual Semantics with Monolingual Corpora".

First the model learns from translations to fill a gap of one language by looking at the other.
Then it writes some words of another language behind texts that have no translation, and fills
gaps of the text with both before it.

System: ernie_m
Parent: xlmr
What differs:
- in a pair of translations a gap sees the other language and not its own (`cross_lingual_mask`)
- for text in one language it writes a piece of the other itself (`back_translate`), and learns from
  both as from a pair
- places are counted over all tokens, padding too, and there is no table of segments (`BASE`)
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
    of gaps depend on the words of the other language alone. Arguments and errors are its own;
    tokens (B, T).
    """
    marks = Dense(cross_lingual_mask(second, hidden, real)[:, None])
    return encoder.states(tokens, real, None, marks)


def cross_lingual_mask(second: Tensor, hidden: Tensor, real: Tensor) -> Tensor:
    """Return who may look at whom in joined translations, bool (B, T, T), True = row t may attend
    to column s, so that a gap can be filled by the other language alone:

        a gap            sees  the gaps of its own side, and the words of the other side
        a word           sees  the words of its own side

    where a word is a real token that is not hidden. Words do not look across, so that no word of
    the other side has heard of the gap's neighbours: the state of a gap depends on nothing of its
    own side but where its gaps are, however many layers there are. Padding sees itself.

    second: bool (B, T), the tokens of the second sentence (`join_translations`); hidden: bool
    (B, T), the gaps (`mask_tokens`' `chosen`, with mask=1.0: a gap that keeps its token is seen by
    the others of its side); real: bool (B, T). Given to `Bert.states` as a mask of its own.
    Raises ValueError for shapes that differ, a gap in padding, or a side that is all gaps while the
    other has one.

    Source: Ouyang et al. 2021, section 3.1, p(x_M | M, y) and its mask. Where the paper's figure
    leaves open whether gaps of the other side are seen, they are not: they have seen this side.
    """
    if len({tuple(one.shape) for one in (second, hidden, real)}) > 1 or real.ndim != 2:
        raise ValueError(
            f"second, hidden, real: came as {describe(second)}, {describe(hidden)} and "
            f"{describe(real)}; expected bool (B, T) three times"
        )
    if (hidden & ~real).any():
        raise ValueError("hidden: a place of padding is hidden; leave padding alone")
    words = real & ~hidden
    for side, other in ((second, ~second), (~second, second)):
        blind = (hidden & side).any(1) & ~(words & other).any(1)
        if blind.any():
            raise ValueError(
                f"hidden: row {int(blind.nonzero()[0])} has a gap, and no word left in the other "
                "sentence to fill it by"
            )
    beside = second[:, :, None] == second[:, None, :]  # on one side
    from_gap, to_gap = hidden[:, :, None], hidden[:, None, :]
    to_word = words[:, None, :]
    sees = torch.where(from_gap, (beside & to_gap) | (~beside & to_word), beside & to_word)
    return torch.where(real[:, :, None], sees, torch.eye(real.shape[1], device=real.device) > 0)

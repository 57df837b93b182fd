"""XNLG's second stage: with the encoder frozen, the decoder learns to reconstruct a sentence from a
corrupted copy or from its translation. Its first token gives the language.

The first stage pretrains the encoder by MLM (`mask_tokens`), in one language and on translations.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepdive.training.objectives.denoising import delete_each, mask_each
from deepdive.training.objectives.token import cross_entropy


def local_shuffle(tokens: Sequence[int], reach: float, draws: random.Random) -> list[int]:
    """Shuffle tokens locally: sort by position + a random number in [0, reach).

    No token moves by `reach` positions; 1 moves none. Source: Lample et al. 2018, "Unsupervised
    Machine Translation Using Monolingual Corpora Only", section 2.3 (reach 4: at most three).
    """
    if reach < 0:
        raise ValueError(f"reach: got {reach}, expected 0 or more")
    keys = [place + reach * draws.random() for place in range(len(tokens))]
    return [tokens[i] for i in sorted(range(len(tokens)), key=keys.__getitem__)]


def corrupt(
    tokens: Sequence[int],
    mask: int,
    draws: random.Random,
    reach: float = 4.0,
    drop: float = 0.1,
    blank: float = 0.1,
) -> list[int]:
    """**Shuffle** (`local_shuffle`), then **drop** or **blank** each token with its rate.

    With reach, drop, and blank 0 it is the sentence. Source: Chi et al. 2020 (0.1 and 0.1,
    blanks of padding).
    """
    return mask_each(
        delete_each(local_shuffle(tokens, reach, draws), drop, draws), mask, blank, draws
    )


def language_prefix(written: Tensor, languages: Tensor) -> Tensor:
    """Return the decoder's input to generate `written` (B, T) in `languages` (B,): the token of the
    language, then all tokens but the last.

    >>> language_prefix(torch.tensor([[5, 6, 2]]), torch.tensor([30])).tolist()
    [[30, 5, 6]]
    """
    if languages.shape != written.shape[:1]:
        raise ValueError(f"languages: got {tuple(languages.shape)}, expected one for each of "
                         f"{len(written)} sequences")  # fmt: skip
    return torch.cat((languages[:, None], written[:, :-1]), 1)


class Side(NamedTuple):
    """Sentences in one language each.

    whole      (B, T), padded, with their last token; damaged: (B, S), padded, corrupted
    languages  (B,), the token that begins a text in that language
    """

    whole: Tensor
    damaged: Tensor
    languages: Tensor


def rewriting_loss(model: nn.Module, read: Tensor, side: Side, pad: int = 0) -> Tensor:
    """Return the cross-entropy of a side's tokens, given the encoder input and earlier tokens."""
    logits = model(read, language_prefix(side.whole, side.languages), read != pad)
    return cross_entropy(logits, side.whole, pad)


def xnlg_loss(model: nn.Module, first: Side, second: Side, pad: int = 0) -> Tensor:
    """Return DAE + XAE of sentences (x, y), each index b one translation pair:

        DAE = -log p(x | damaged x) - log p(y | damaged y)
        XAE = -log p(y | x)         - log p(x | y)

    each the mean over its tokens (the paper has sums). Freeze the encoder by
    `model.encoder.requires_grad_(False)`; for tasks in English only it stays frozen, and for tasks
    with outputs in other languages the decoder is frozen instead, so that it forgets none.

    Source: Chi et al. 2020.
    """
    own = rewriting_loss(model, first.damaged, first, pad)
    own = own + rewriting_loss(model, second.damaged, second, pad)
    other = rewriting_loss(model, first.whole, second, pad)
    return own + other + rewriting_loss(model, second.whole, first, pad)

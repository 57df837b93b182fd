"""Masked and permuted language modeling (MPNet): the last tokens of a random order are predicted in
turn, and every prediction sees the positions of all tokens.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from deepdive.core.masks import Dense
from deepdive.tokenizers.base import Tokenizer
from deepdive.training.objectives.masking import mask_id, special_ids


@dataclass(frozen=True)
class Permuted:
    """A batch whose last c tokens, in a random order, are predicted.

    tokens     (B, T + 2c): the text in random order, then for each of its last c positions the
               mask token twice: once for the content stream, once for the query stream
    positions  (B, T + 2c): the position of each in the text, 0 for padding
    seen       an attention mask (B, 1, T + 2c, T + 2c): `two_streams`, without padding
    targets    (B, c): the predicted tokens; the last c states predict them
    """

    tokens: Tensor
    positions: Tensor
    seen: Dense
    targets: Tensor


def two_streams(length: int, guessed: int) -> Tensor:
    """Return which of L = length + 2 * guessed tokens attends to which, bool (L, L).

    With c = guessed, the input is n = length - c known tokens, c predicted ones, their c masks, and
    c queries, and query t predicts token t of the c. Of the predicted tokens and masks

        known tokens, masks   see every mask, no predicted token        # as in BERT
        predicted token t     sees tokens 0 .. t and masks t + 1 .. c - 1
        query t               sees tokens 0 .. t - 1 and masks t .. c - 1

    All see the known tokens, and none a query. So each sees every position of the text once, as
    token or as mask ("position compensation"), and query t never its own target.
    Raises ValueError unless 0 < guessed <= length.

    Source: Song et al. 2020, section 2.2 and figure 2.
    """
    c = guessed
    if not 0 < c <= length:
        raise ValueError(f"guessed: got {c}, expected 1 to {length}, the length of the text")
    before = torch.ones(c, c, dtype=torch.bool).tril()  # (t, s): s <= t
    strictly = before.tril(-1)  # s < t
    none, every = torch.zeros_like(before), torch.ones_like(before)
    known = torch.zeros(length - c, c, dtype=torch.bool)
    tokens = torch.cat((known, before, none, strictly))  # (L, c)
    masks = torch.cat((~known, ~before, every, ~strictly))  # (L, c)
    size = length + 2 * c
    return torch.cat(
        (torch.ones(size, length - c).bool(), tokens, masks, torch.zeros(size, c).bool()), 1
    )


def permute(
    tokens: Tensor,
    tokenizer: Tokenizer,
    rate: float = 0.15,
    generator: torch.Generator | None = None,
) -> Permuted:
    """Sample an order for each text, whose last fraction `rate` is predicted.

    tokens: int64 (B, T), padded with `tokenizer.pad`. Special tokens are never predicted; each
    text has as many targets, `rate` of the ordinary tokens of the shortest, at least one. Usage:

        states = model.permuted(batch.tokens, batch.positions, batch.seen)
        loss = cross_entropy(head(states[:, -c:]), batch.targets, pad=None)

    The released code replaces a tenth of the masks by the token itself, and a tenth by any token;
    here all are masks. Raises ValueError for a rate that is not a fraction, and for a text without
    an ordinary token; TypeError for tokens that are not int64 (B, T).

    Source: Song et al. 2020, section 2.2.
    """
    if tokens.dtype != torch.int64 or tokens.ndim != 2:
        raise TypeError(
            f"tokens: got {tokens.dtype} of shape {tuple(tokens.shape)}, expected torch.int64 "
            "(B, T); use torch.tensor(rows)"
        )
    if not 0.0 < rate <= 1.0:
        raise ValueError(f"rate: got {rate}, expected a probability above 0, at most 1")
    ordinary = ~torch.isin(tokens, special_ids(tokenizer).to(tokens.device))
    shortest = int(ordinary.sum(1).min())
    if shortest == 0:
        raise ValueError("tokens: a sequence has only special tokens; drop such texts")
    c = max(1, round(rate * shortest))
    noise = torch.rand(tokens.shape, generator=generator, device=tokens.device)
    order = (noise + ordinary).argsort(1)  # special tokens first
    placed = torch.cat((order, order[:, -c:], order[:, -c:]), 1)  # (B, T + 2c)
    real = tokens != tokenizer.pad
    inputs, keys = tokens.gather(1, placed), real.gather(1, placed)
    targets = inputs[:, -c:]
    inputs = torch.cat(
        (inputs[:, : -2 * c], torch.full_like(inputs[:, -2 * c :], mask_id(tokenizer))), 1
    )
    places = (real.cumsum(1) - 1).clamp(min=0).gather(1, placed)
    seen = two_streams(tokens.shape[1], c).to(tokens.device) & keys[:, None, None]
    return Permuted(inputs, places, Dense(seen), targets)

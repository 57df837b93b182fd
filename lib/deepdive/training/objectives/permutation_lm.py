"""Permutation language modeling (XLNet): factorization order and predicted tokens."""

import torch
from torch import Tensor

from deepdive.core.masks import describe
from deepdive.tokenizers.base import Tokenizer
from deepdive.training.objectives.masking import special_ids


def order_tokens(
    tokens: Tensor, tokenizer: Tokenizer, part: int = 6, *, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Sample a factorization order for each text, and predict the last of its tokens.

        sees[t, s] = s comes before t in the order
        places     = the last n // part of a text's n ordinary tokens in the order, one at least

    tokens: int64 (B, T), padded with `tokenizer.pad`. Special tokens come first, so that all can
    attend to them, padding last, so that none can; neither is predicted.
    part: early tokens of an order have little context, so only one in `part` is predicted.
    generator: random generator; None: torch's global one.

    Returns sees (bool, (B, T, T)), places and targets (int64, (B, M)), M that of the text with the
    most; where one has fewer its targets are `tokenizer.pad`, so that the loss is
    `cross_entropy(model(tokens, sees, places), targets, pad=tokenizer.pad)`.
    Raises TypeError or ValueError when tokens are not int64 (B, T), or part is below 1.

    Source: Yang et al. 2019, sections 2.2 and 2.3. Their code predicts spans, and lets the tokens
    that are not predicted attend to one another.
    """
    if not isinstance(tokens, Tensor) or tokens.dtype != torch.int64 or tokens.ndim != 2:
        raise TypeError(f"tokens: got {describe(tokens)}, expected torch.int64 ids (B, T)")
    if part < 1 or tokens.numel() == 0:
        raise ValueError(
            f"part={part} for tokens of shape {tuple(tokens.shape)}: expected 1 or more, with at "
            "least one token to predict; 1 predicts all"
        )
    real = tokens != tokenizer.pad
    ordinary = real & ~torch.isin(tokens, special_ids(tokenizer).to(tokens.device))
    noise = torch.rand(tokens.shape, generator=generator, device=tokens.device)
    order = (noise + 2.0 * ~real - 2.0 * (real & ~ordinary)).argsort(1)  # special, ..., padding
    n_ordinary, n_real = ordinary.sum(1), real.sum(1)
    count = (n_ordinary // part).clamp(min=1).minimum(n_ordinary)  # (B,)
    back = torch.arange(int(count.max()), device=tokens.device)  # 0 is the last of an order
    places = order.gather(1, (n_real[:, None] - 1 - back).clamp(min=0))
    targets = tokens.gather(1, places).masked_fill(back >= count[:, None], tokenizer.pad)
    return seen_in(order, real), places, targets


def seen_in(order: Tensor, real: Tensor | None = None) -> Tensor:
    """Return sees (B, T, T), bool, for an order (B, T) of positions, first to last: sees[t, s] = s
    is before t, and `real` (bool (B, T); None: all are).
    """
    rank = order.argsort(1)
    sees = rank[:, None, :] < rank[:, :, None]
    return sees if real is None else sees & real[:, None]

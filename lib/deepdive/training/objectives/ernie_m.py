"""ERNIE-M: back-translation MLM, which predicts masked tokens with generated pseudo-parallel ones.
The system's header is that of `deepdive.models.multilingual.ernie_m`.
"""

from collections.abc import Callable

import torch
from torch import Tensor


@torch.no_grad()
def back_translate(
    fill: Callable[[Tensor, Tensor, Tensor], Tensor],
    tokens: Tensor,
    real: Tensor,
    count: int,
    mask: int,
    pad: int,
    draw: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Generate `count` tokens of another language after each text, by a model that can: monolingual
    text becomes a pseudo-parallel pair, for MLM as on any other pair.

        row = text, [MASK] x count, padding;  each [MASK] becomes a sample from softmax(fill(row))

    fill: (tokens (B, T), second (B, T), real (B, T)) -> logits (B, T, V), of a model under
    `cross_lingual_mask` with the placeholders masked. tokens (B, T), padded at the end; real bool
    (B, T); mask, pad: the ids of these tokens. draw: random generator; None: take the most probable
    token. Returns tokens, second and real, each (B, T + count). Raises ValueError for no
    placeholder.

    Source: Ouyang et al. 2021, section 3.2, "back-translation masked language modeling".
    """
    if count < 1:
        raise ValueError(f"count: got {count}, expected 1 placeholder or more")
    B, width = tokens.shape
    lengths = real.sum(1, keepdim=True)  # (B, 1)
    at = torch.arange(width + count, device=tokens.device)
    second = (at >= lengths) & (at < lengths + count)  # (B, T + count)
    joined = torch.cat((tokens, tokens.new_full((B, count), pad)), 1).masked_fill(second, mask)
    there = at < lengths + count
    probabilities = fill(joined, second, there)[second].softmax(-1)
    if draw is None:
        filled = probabilities.argmax(-1)
    else:
        filled = torch.multinomial(probabilities, 1, generator=draw).squeeze(-1)
    return joined.masked_scatter(second, filled), second, there

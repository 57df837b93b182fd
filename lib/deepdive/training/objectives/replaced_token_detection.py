"""Replaced token detection (ELECTRA): a generator fills masked tokens, and a discriminator predicts
for every token whether it is original or replaced.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.masks import describe
from deepdive.tokenizers.base import Tokenizer
from deepdive.training.objectives.masking import mask_tokens
from deepdive.training.objectives.token import cross_entropy


def sample_replacements(
    logits: Tensor, tokens: Tensor, chosen: Tensor, generator: torch.Generator | None = None
) -> tuple[Tensor, Tensor]:
    """Replace each chosen token by a sample from softmax(logits).

        filled = tokens, with a sample from softmax(logits[i]) at the i-th chosen position
        replaced = filled != tokens

    A sample that happens to be the original token counts as original. logits: (N, V), of the
    N positions of `chosen`, bool (B, T); tokens: int64 (B, T), the text without masks. No gradient
    passes through sampling. Raises ValueError where logits and positions differ in number.

    Source: Clark et al. 2020, section 2.
    """
    count = int(chosen.sum())
    if chosen.dtype != torch.bool or chosen.shape != tokens.shape or logits.shape[:-1] != (count,):
        raise ValueError(
            f"logits: got shape {tuple(logits.shape)} for {describe(chosen)} with {count} "
            f"chosen positions of tokens {tuple(tokens.shape)}; expected ({count}, V): "
            "masked_logits(states[chosen])"
        )
    filled = tokens.clone()
    if count:
        drawn = torch.multinomial(logits.detach().float().softmax(-1), 1, generator=generator)
        filled[chosen] = drawn.squeeze(-1)
    return filled, filled != tokens


def replaced_loss(logits: Tensor, replaced: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean binary cross-entropy over real tokens, in nats: was this one replaced?

        loss = mean of  softplus(logits) - replaced * logits

    logits: (B, T). replaced: bool (B, T). mask: bool (B, T), True = real token; None: all.
    Raises ValueError when shapes differ or no token is real.

    Source: Clark et al. 2020, section 2, the loss of D.
    """
    real = torch.ones_like(replaced) if mask is None else mask
    shapes = tuple(logits.shape), tuple(replaced.shape), tuple(real.shape)
    if len(set(shapes)) > 1 or replaced.dtype != torch.bool or real.dtype != torch.bool:
        raise ValueError(
            f"logits, replaced, mask: got shapes {', '.join(map(str, shapes))}, the last two "
            f"as {replaced.dtype} and {real.dtype}; expected one shape (B, T), a logit per token, "
            "and bool, True = replaced, and real"
        )
    if not real.any():
        raise ValueError("mask: no token is real; drop such batches")
    return F.binary_cross_entropy_with_logits(logits[real], replaced[real].to(logits.dtype))


def electra_losses(
    model: Any,
    tokens: Tensor,
    tokenizer: Tokenizer,
    mask: Tensor | None = None,
    segments: Tensor | None = None,
    *,
    rate: float = 0.15,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the generator's MLM loss and the discriminator's loss, in nats. ELECTRA
    minimizes

        masked + 50 * replaced                                  # `electra_loss`

    model: a `deepdive.models.bert.electra.Electra`, or what has its `generator`, with `bert` and
        `masked_logits`, and `discriminator`. Masks are sampled at each call: every chosen
        token becomes the mask token (the released code leaves 15% of them unchanged).
    Raises ValueError where no token was chosen: the batch is too small for the rate.

    Source: Clark et al. 2020, section 2 and appendix A.
    """
    inputs, _, chosen = mask_tokens(
        tokens, tokenizer, rate, mask=1.0, random=0.0, generator=generator
    )
    if not chosen.any():
        raise ValueError(
            f"tokens: none of {tuple(tokens.shape)} was chosen at rate={rate}; give larger batches "
            "or a higher rate"
        )
    small = model.generator
    logits = small.masked_logits(small.bert(inputs, mask, segments)[chosen])  # (N, V)
    filled, replaced = sample_replacements(logits, tokens, chosen, generator)
    found = model.discriminator(filled, mask, segments)  # (B, T)
    masked = cross_entropy(logits, tokens[chosen], pad=None)
    return masked, replaced_loss(found, replaced, mask)


def electra_loss(masked: Tensor, replaced: Tensor, weight: float = 50.0) -> Tensor:
    """Return masked + weight * replaced: the binary task is easy, so its loss is small, and its
    weight large.

    Source: Clark et al. 2020, section 2; the weight is that of appendix A.
    """
    return masked + weight * replaced

"""ERNIE-M's two ways to fill gaps by the other language: look there alone, and write there first.
The system's header is that of `deepdive.models.multilingual.ernie_m`.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from deepdive.masks import describe


def look_across(second: Tensor, hidden: Tensor, real: Tensor) -> Tensor:
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


@torch.no_grad()
def write_across(
    fill: Callable[[Tensor, Tensor, Tensor], Tensor],
    tokens: Tensor,
    real: Tensor,
    count: int,
    mask: int,
    pad: int,
    draw: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Write `count` tokens of another language behind each text, by a model that can: they make a
    pair of what was one language alone, in which gaps can then be filled as in any other pair.

        row = text, [MASK] x count, padding;   each [MASK] becomes a draw from softmax(fill(row))

    fill: (tokens (B, T), second (B, T), real (B, T)) -> logits (B, T, V), of a model under
    `look_across` with the placeholders as gaps. tokens (B, T), padded at the end; real bool (B, T);
    mask, pad: the ids of these tokens. draw: where draws come from; None: the most probable token.
    Returns tokens, second and real, each (B, T + count). Raises ValueError for no placeholder.

    Source: Ouyang et al. 2021, section 3.2, "back-translation masked language modeling".
    """
    if count < 1:
        raise ValueError(f"count: came as {count}, expected one placeholder at least")
    rows, width = tokens.shape
    lengths = real.sum(1, keepdim=True)  # (B, 1)
    places = torch.arange(width + count, device=tokens.device)
    second = (places >= lengths) & (places < lengths + count)  # (B, T + count)
    joined = torch.cat((tokens, tokens.new_full((rows, count), pad)), 1).masked_fill(second, mask)
    there = places < lengths + count
    probabilities = fill(joined, second, there)[second].softmax(-1)
    if draw is None:
        written = probabilities.argmax(-1)
    else:
        written = torch.multinomial(probabilities, 1, generator=draw).squeeze(-1)
    return joined.masked_scatter(second, written), second, there

"""Synthesizer: attention whose scores are made without queries and keys."""

from torch import Tensor, nn

from deepdive.attention.cache import Slot
from deepdive.attention.priors.synthesized_scores import (
    Scores,
)
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.checks import positive
from deepdive.fast.linear import Linear
from deepdive.masks import Mask


class SynthesizedAttention(nn.Module):
    """Self-attention with scores that no key answers.

        scores[h] = what `made` makes of the rows, or of nothing    # (B or 1, H, T, S)
        output    = join(softmax(scores[h]) @ v[h]) @ W_out         # (B, T, d_model)

    `made` is `DenseScores` (each row guesses its scores), `RandomScores` (trained numbers, the
    same for every input), or the factorised form of either. Column s is place s of the sequence,
    so there is a longest sequence (`made.max_length`), and a row's place matters. Causal by mask;
    the scores of one row never depend on another row.

    Refuses a context (its rows have no place in the scores), positions (a column is a place), and
    sequences beyond `max_length`. Masks, a bias and a cache are honoured: the cache holds values.

    System: synthesizer
    Parent: self_attention
    What differs:
    - a row makes its scores alone, by a small network (`DenseScores`)
    - or the scores are parameters, the same for every input (`RandomScores`)
    - either is made of two factors (`FactorisedDenseScores`, `FactorisedRandomScores`)
    - there are no queries and keys, and so a longest sequence (`made.max_length`)
    Source: Tay et al. 2021, "Synthesizer: Rethinking Self-Attention for Transformer Models".
    Book: table 1.2
    """

    def __init__(
        self, d_model: int, n_heads: int, made: Scores, *, bias: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads)
        if d_model % n_heads or made.n_heads != n_heads:
            raise ValueError(
                f"n_heads={n_heads} must divide d_model={d_model}, and be that of the scores, "
                f"{made.n_heads}"
            )
        self.d_model, self.n_heads, self.made = d_model, n_heads, made
        self.v = Linear(d_model, d_model, bias=bias)
        self.out = Linear(d_model, d_model, bias=bias)
        self.mechanism = SoftmaxAttention(dropout)
        for layer in (self.v, self.out):
            nn.init.xavier_uniform_(layer.weight)
            if bias:
                nn.init.zeros_(layer.bias)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        positions: Tensor | None = None,
        context_positions: Tensor | None = None,
        cache: Slot | None = None,
    ) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model); with a cache the rows continue it."""
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x must be (B, T, {self.d_model}); got {tuple(x.shape)}")
        if context is not None or positions is not None or context_positions is not None:
            raise ValueError(
                "synthesized scores know places of one sequence, not foreign rows or other "
                "positions: use MultiHeadAttention for a context, and leave positions out"
            )
        v = self.v(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, H, T, d_head)
        start = 0 if cache is None else cache.length
        T, S = x.shape[1], start + x.shape[1]
        if self.made.max_length < S:
            raise ValueError(
                f"{S} places, but scores for max_length={self.made.max_length}: build them "
                "longer, or use MultiHeadAttention, which has no limit"
            )
        none = v.new_zeros(1).expand(*v.shape[:3], 1)  # queries and keys that say nothing
        keys, v = (none, v) if cache is None else cache.append(none, v)
        scores = self.made(x, start)[..., :S].expand(x.shape[0], -1, T, -1)
        scores = scores if bias is None else scores + bias
        heads = self.mechanism(none, keys, v, mask, scores, scale=1.0)
        return self.out(heads.transpose(1, 2).flatten(2))

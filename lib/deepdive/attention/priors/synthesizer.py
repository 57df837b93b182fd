"""Synthesizer: attention whose scores are made without queries and keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from deepdive.attention.cache import Slot
from deepdive.attention.priors.synthesized_scores import (
    DenseScores,
    FactorisedDenseScores,
    FactorisedRandomScores,
    RandomScores,
    Scores,
)
from deepdive.attention.softmax import SoftmaxAttention
from deepdive.checks import positive
from deepdive.fast.linear import Linear
from deepdive.laws import Case, Fails, Pair, case, random_rows
from deepdive.masks import Causal, Mask, Padding


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
    Place: layer
    What differs:
    - a row makes its scores alone, by a small network (`DenseScores`)
    - or the scores are parameters, the same for every input (`RandomScores`)
    - either is made of two factors (`FactorisedDenseScores`, `FactorisedRandomScores`)
    - there are no queries and keys, and so a longest sequence (`made.max_length`)
    Time: O(d_model (T + d_model))
    Memory: O(n_heads T + d_model)
    Source: Tay et al. 2021, "Synthesizer: Rethinking Self-Attention for Transformer Models".
    Book: table 1.2
    Page: 05_efficient/07_priors#when-is-it-enough-not-to-look
    Oracle: the equations of Tay et al. 2021, entry by entry
    Checkpoints: none
    Example: SynthesizedAttention(16, 4, DenseScores(16, 4, 8))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        made: Scores,
        *,
        bias: bool = True,
        dropout: float = 0.0,
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


def _case(make: Callable[[], Scores], limits: Mapping[str, Pair]) -> Case:
    x = torch.zeros(1, 3, 16)

    def layer() -> SynthesizedAttention:
        return SynthesizedAttention(16, 4, make())

    return Case(
        place="layer",
        make=layer,
        parity="the equations of Tay et al. 2021, entry by entry",
        limits=limits,
        refusals={
            "a context": lambda: layer()(x, context=x),
            "positions": lambda: layer()(x, positions=torch.arange(3)),
            "a longer sequence": lambda: layer()(torch.zeros(1, 13, 16)),
            "another width": lambda: layer()(torch.zeros(1, 3, 15)),
            "scores for other heads": lambda: SynthesizedAttention(16, 2, make()),
        },
        laws={"order": Fails("a column of the scores is a place")},
    )


MASK = Causal() & Padding(torch.tensor([[0, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 0]]).bool())


def _known(made: Scores, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return a layer's output under MASK, and that of known weights (H, 7, 7) without a softmax."""
    x, layer = random_rows(2, 7, 16), SynthesizedAttention(16, 4, made).double()
    v = layer.v(x).unflatten(-1, (4, 4)).transpose(1, 2)
    allowed = weights * MASK.dense(7)
    allowed = allowed / allowed.sum(-1, keepdim=True).clamp(min=1e-300)
    return layer(x, mask=MASK), layer.out((allowed @ v).transpose(1, 2).flatten(2))


@case(SynthesizedAttention)
def _() -> Case:
    def as_a_bias() -> tuple[Tensor, Tensor]:
        """Adding the scores to plain attention without queries is the same."""
        x, layer = random_rows(2, 7, 16), SynthesizedAttention(16, 4, RandomScores(4, 12)).double()
        v = layer.v(x).unflatten(-1, (4, 4)).transpose(1, 2)
        given = SoftmaxAttention()(v, v, v, MASK, layer.made(x, 0)[..., :7], scale=0.0)
        return layer(x, mask=MASK), layer.out(given.transpose(1, 2).flatten(2))

    return _case(lambda: RandomScores(4, 12), {"a bias and no query: SoftmaxAttention": as_a_bias})


@case(RandomScores)
def _() -> Case:
    def logarithm() -> tuple[Tensor, Tensor]:
        made, weights = RandomScores(4, 7), random_rows(4, 7, 7).softmax(-1)
        made.table.data = weights.log()
        return _known(made, weights)

    return _case(
        lambda: RandomScores(4, 12), {"the logarithm of weights: these weights": logarithm}
    )


@case(DenseScores)
def _() -> Case:
    def deaf() -> tuple[Tensor, Tensor]:
        """Rows that say nothing leave the bias: one distribution for all."""
        made, weights = DenseScores(16, 4, 7), random_rows(4, 1, 7).softmax(-1)
        made.outer.weight.data.zero_()
        made.outer.bias.data = weights.log()
        return _known(made, weights.expand(4, 7, 7))

    return _case(lambda: DenseScores(16, 4, 12), {"rows that say nothing: the bias": deaf})


@case(FactorisedDenseScores)
def _() -> Case:
    def one_factor() -> tuple[Tensor, Tensor]:
        """With b = 1 and B = 1 the scores are those of the dense form."""
        ours, dense = FactorisedDenseScores(16, 4, (12, 1)), DenseScores(16, 4, 12)
        ours.second.weight.data.zero_()
        ours.second.bias.data.fill_(1.0)
        ours.first.load_state_dict(dense.outer.state_dict())
        ours.inner.weight.data[:16] = dense.inner.weight.data
        ours.inner.bias.data[:16] = dense.inner.bias.data
        x = random_rows(2, 7, 16)
        return ours.double()(x, 0), dense.double()(x, 0)

    return _case(
        lambda: FactorisedDenseScores(16, 4, (4, 3)), {"a factor of 1: DenseScores": one_factor}
    )


@case(FactorisedRandomScores)
def _() -> Case:
    def full_rank() -> tuple[Tensor, Tensor]:
        made, weights = FactorisedRandomScores(4, 7, 7), random_rows(4, 7, 7).softmax(-1)
        made.left.data = weights.log()
        made.right.data = torch.eye(7).double().repeat(4, 1, 1)
        return _known(made, weights)

    return _case(lambda: FactorisedRandomScores(4, 12, 3), {"full rank: any weights": full_rank})

"""Synthesizer: attention with scores that do not depend on query-key products."""

from torch import Tensor, nn

from deepdive.attention.priors.synthesized_scores import Scores
from deepdive.core.checks import positive
from deepdive.core.context import Context, Layer
from deepdive.core.softmax import SoftmaxAttention


class SynthesizedAttention(Layer):
    """Self-attention with synthesized scores, without queries and keys.

        scores[h] = made(x)                                         # (B or 1, H, T, S)
        output    = join(softmax(scores[h]) @ v[h]) @ W_out         # (B, T, d_model)

    `made` is `DenseScores` (each token predicts its scores), `RandomScores` (trained numbers, the
    same for every input), or the factorized form of either. Column s is position s of the sequence,
    so there is a longest sequence (`made.max_length`), and absolute positions matter. Causal by
    mask; the scores of one token never depend on another.

    Refuses a memory (its states have no column), positions (a column is a position), and sequences
    beyond `max_length`. Masks, a bias and a cache are honored: the cache stores values.

    System: synthesizer
    Parent: self_attention
    What differs:
    - a token's scores are computed from it alone, by a small network (`DenseScores`)
    - or the scores are parameters, the same for every input (`RandomScores`)
    - either is a product of two factors (`FactorizedDenseScores`, `FactorizedRandomScores`)
    - there are no queries and keys, and so a longest sequence (`made.max_length`)
    Source: Tay et al. 2021, "Synthesizer: Rethinking Self-Attention for Transformer Models".
    Book: table 1.2
    """

    reads = ("mask", "bias", "cache")
    instead = (
        "synthesized scores are for the positions of one sequence: use MultiHeadAttention for a "
        "memory, and pass no positions"
    )

    def __init__(
        self, d_model: int, n_heads: int, made: Scores, *, bias: bool = True, dropout: float = 0.0
    ) -> None:
        super().__init__()
        positive(d_model=d_model, n_heads=n_heads)
        if d_model % n_heads or made.n_heads != n_heads:
            raise ValueError(
                f"n_heads={n_heads} must divide d_model={d_model}, and equal the scores' n_heads, "
                f"{made.n_heads}"
            )
        self.d_model, self.n_heads, self.made = d_model, n_heads, made
        self.v = nn.Linear(d_model, d_model, bias=bias)
        self.out = nn.Linear(d_model, d_model, bias=bias)
        self.mechanism = SoftmaxAttention(dropout)
        for layer in (self.v, self.out):
            nn.init.xavier_uniform_(layer.weight)
            if bias:
                nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model); with a cache x continues it."""
        if x.ndim != 3 or x.shape[-1] != self.d_model:
            raise ValueError(f"x must be (B, T, {self.d_model}); got {tuple(x.shape)}")
        bias, slot = context.bias, context.slot
        v = self.v(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, H, T, d_head)
        start = 0 if slot is None else slot.length
        T, S = x.shape[1], start + x.shape[1]
        if self.made.max_length < S:
            raise ValueError(
                f"{S} positions, but scores for max_length={self.made.max_length}: use a "
                "larger max_length, or MultiHeadAttention, which has no limit"
            )
        zeros = v.new_zeros(1).expand(*v.shape[:3], 1)  # in place of queries and keys
        keys, v = (zeros, v) if slot is None else slot.append(zeros, v)
        scores = self.made(x, start)[..., :S].expand(x.shape[0], -1, T, -1)
        scores = scores if bias is None else scores + bias
        heads = self.mechanism(zeros, keys, v, context.mask, scores, scale=1.0)
        return self.out(heads.transpose(1, 2).flatten(2))

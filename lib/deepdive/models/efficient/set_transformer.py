"""Set Transformer: permutation-invariant or -equivariant attention on sets. Lee et al.
2019, "Set Transformer: A Framework for Attention-based Permutation-Invariant Neural Networks".

Long because the paper builds its model from four blocks, each using the one before, and no parent
has any of them.

System: set_transformer
Parent: transformer
What differs:
- no positions: a set has no order, and the layers are permutation-equivariant (`SAB`)
- elements interact through `n_inducing` learned inducing points, in O(T n_inducing) (`ISAB`)
- learned seed vectors pool a set by attention, instead of a mean (`PMA`, `n_seeds`)
Source: Lee et al. 2019, section 3.
Book: table 1.2
"""

import torch
from torch import Tensor, nn

from deepdive.core import FeedForward, MultiHeadAttention, PostNorm
from deepdive.core.checks import not_negative, positive
from deepdive.core.masks import Mask, Padding, as_mask, padding
from deepdive.core.mechanism import honored

INSTEAD = "Its inducing points attend to the full set: use SAB for attention between members"


class MAB(nn.Module):
    """Multihead attention block: x (B, T, d_model) attends to y (B, S, d_model).

    h = norm(x + multi_head(x, y)), output = norm(h + ff(h)): a post-norm block with
    cross-attention.
    Source: Lee et al. 2019, section 3.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads, dropout=dropout)
        self.ff = FeedForward(d_model, d_model)
        self.attn_residual = PostNorm(d_model, dropout=dropout)
        self.ff_residual = PostNorm(d_model, dropout=dropout)

    def forward(self, x: Tensor, y: Tensor, mask: Mask | Tensor | None = None) -> Tensor:
        """Return (B, T, d_model); `mask` selects the vectors of y to attend to."""
        x = self.attn_residual(x, lambda h: self.attn(h, memory=y, memory_mask=mask))
        return self.ff_residual(x, self.ff)


class SAB(nn.Module):
    """Set attention block: MAB(x, x), self-attention among the elements. Cost O(T^2).

    Source: Lee et al. 2019, section 3.
    """

    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.mab = MAB(d_model, n_heads, dropout)

    def forward(self, x: Tensor, mask: Mask | Tensor | None = None) -> Tensor:
        """Return (B, T, d_model) for the elements x (B, T, d_model)."""
        return self.mab(x, x, mask)


class ISAB(nn.Module):
    """Induced set attention block: inducing points attend to the elements, then elements to them.

    h = MAB(inducing, x), output = MAB(x, h), with inducing (n_inducing, d_model) a parameter.
    Cost O(T n_inducing). Supports `Padding`, but not a mask over pairs of elements, because no
    element attends to another directly.
    Raises ValueError for other masks, and when n_inducing is not positive.
    Source: Lee et al. 2019, section 3.
    """

    def __init__(self, d_model: int, n_heads: int, n_inducing: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.inducing = learned_rows(n_inducing, d_model, "n_inducing")
        self.read = MAB(d_model, n_heads, dropout)
        self.answer = MAB(d_model, n_heads, dropout)

    def forward(self, x: Tensor, mask: Mask | Tensor | None = None) -> Tensor:
        """Return (B, T, d_model) for the elements x (B, T, d_model)."""
        members = honored(as_mask(mask), (Padding,), "ISAB", INSTEAD)
        inducing = self.inducing.expand(x.shape[0], -1, -1)
        return self.answer(x, self.read(inducing, x, members))


class PMA(nn.Module):
    """Pooling by multihead attention: n_seeds learned queries attend to a set.

    output = MAB(seeds, ff(x)), (B, n_seeds, d_model), the same for every order of x.
    Supports only `Padding`.
    Raises ValueError for other masks, and when n_seeds is not positive.
    Source: Lee et al. 2019, section 3.
    """

    def __init__(self, d_model: int, n_heads: int, n_seeds: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.seeds = learned_rows(n_seeds, d_model, "n_seeds")
        self.ff = FeedForward(d_model, d_model)
        self.mab = MAB(d_model, n_heads, dropout)

    def forward(self, x: Tensor, mask: Mask | Tensor | None = None) -> Tensor:
        """Return pooled vectors (B, n_seeds, d_model) for the elements x (B, T, d_model)."""
        members = honored(as_mask(mask), (Padding,), "PMA", INSTEAD)
        seeds = self.seeds.expand(x.shape[0], -1, -1)
        return self.mab(seeds, self.ff(x), members)


class SetTransformer(nn.Module):
    """Elements (B, T, n_features) -> outputs (B, n_seeds, n_outputs): encode, pool, decode.

    output = out(SAB(PMA(encoder(enter(x))))), with `n_layers` encoder blocks: `ISAB`, or `SAB`
    where `n_inducing` is None.
    """

    def __init__(
        self,
        n_features: int,
        n_outputs: int,
        *,
        d_model: int = 128,
        n_heads: int = 4,
        n_layers: int = 2,
        n_inducing: int | None = 32,
        n_seeds: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        positive(n_features=n_features, n_outputs=n_outputs, d_model=d_model)
        not_negative(n_layers=n_layers)
        self.enter = nn.Linear(n_features, d_model)
        self.encoder = nn.ModuleList(
            SAB(d_model, n_heads, dropout)
            if n_inducing is None
            else ISAB(d_model, n_heads, n_inducing, dropout)
            for _ in range(n_layers)
        )
        self.pool = PMA(d_model, n_heads, n_seeds, dropout)
        self.compare = SAB(d_model, n_heads, dropout)
        self.out = nn.Linear(d_model, n_outputs)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the outputs; `mask` bool (B, T), True = an element, for sets of unequal sizes."""
        members = padding(mask, x[..., 0], "mask")
        x = self.enter(x)
        for block in self.encoder:
            x = block(x, members)
        return self.out(self.compare(self.pool(x, members)))


def learned_rows(n: int, d_model: int, name: str) -> nn.Parameter:
    """Initialize a parameter (n, d_model). Raises ValueError, by `name`, unless n is positive."""
    positive(**{name: n, "d_model": d_model})
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(n, d_model)))


def tiny() -> SetTransformer:
    """Return a small model for tests: width 16, 4 heads, 3 inducing points, 2 seeds."""
    return SetTransformer(16, 16, d_model=16, n_inducing=3, n_seeds=2)

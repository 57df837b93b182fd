"""Hash embeddings (CANINE): no vocabulary, but several small tables, each with its own hash."""

import torch
from torch import Tensor, nn

from deepdive.core.checks import divides, positive
from deepdive.core.embeddings import check_tokens

PRIMES = (31, 43, 59, 61, 73, 97, 103, 113, 137, 149, 157, 173, 181, 193, 211, 223)
CODE_POINTS = 0x110000  # Unicode's


class HashEmbedding(nn.Module):
    """x = [table_1[h_1(c)], ..., table_K[h_K(c)]],  h_k(c) = (c + 1) * prime_k mod n_buckets

    Each of `n_hashes` tables (n_buckets, d_model / n_hashes) has a part of the embedding of a code
    point c, so that a million code points need fewer rows. The hashes differ only by a factor: code
    points that are n_buckets apart, such as A and U+4041, collide in every table.
    Raises ValueError for more hashes than there are primes, a number of them that does not divide
    the width, or what is no code point, TypeError for code points that are no integers.
    Source: Clark et al. 2022, section 3.1, and their released code, which has the primes.
    """

    def __init__(self, d_model: int, n_hashes: int = 8, n_buckets: int = 16_384) -> None:
        super().__init__()
        positive(n_buckets=n_buckets)
        divides(n_hashes=n_hashes, d_model=d_model)
        if n_hashes > len(PRIMES):
            raise ValueError(f"n_hashes={n_hashes}: expected at most {len(PRIMES)} (primes)")
        self.d_model, self.n_hashes, self.n_buckets = d_model, n_hashes, n_buckets
        self.tables = nn.ModuleList(
            nn.Embedding(n_buckets, d_model // n_hashes) for _ in range(n_hashes)
        )

    def buckets(self, tokens: Tensor) -> Tensor:
        """Return the bucket in each table for code points (...): (..., n_hashes)."""
        primes = torch.tensor(PRIMES[: self.n_hashes], device=tokens.device)
        return (tokens.unsqueeze(-1) + 1) * primes % self.n_buckets

    def forward(self, tokens: Tensor) -> Tensor:
        """Return embeddings (B, T, d_model) for code points (B, T)."""
        check_tokens(tokens)
        low, high = int(tokens.min()), int(tokens.max())
        if low < 0 or high >= CODE_POINTS:
            raise ValueError(
                f"tokens run from {low} to {high}; code points are 0 to {CODE_POINTS - 1}: "
                "use ord(character)"
            )
        parts = zip(self.tables, self.buckets(tokens).unbind(-1), strict=True)
        return torch.cat([table(index) for table, index in parts], dim=-1)

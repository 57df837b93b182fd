"""A learned code of each row, one entry of each of several codebooks, and how it is learned."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive


class Quantised(NamedTuple):
    """codes (B, T, d_code); usage (B, T, codebooks, codes): how probable each entry was, in
    training; after it 1 for the entry that was taken.
    """

    codes: Tensor
    usage: Tensor


class Quantiser(nn.Module):
    """A code = one entry of each codebook, side by side:

        scores = W x + b                             # (B, T, codebooks, codes)
        taken  = argmax(scores + noise)              # Gumbel noise in training, else none
        code   = [table[g, taken[g]] for each g]     # (B, T, d_code)

    The step of argmax has no slope; backwards it is softmax((scores + noise) / temperature)
    (straight through). `temperature` falls from 2 to 0.5 over the training (the caller's task).
    Source: Baevski et al. 2020, section 2, equation 1; Jang, Gu and Poole 2017.
    """

    def __init__(self, d_in: int, codebooks: int, codes: int, d_code: int) -> None:
        super().__init__()
        positive(d_in=d_in, codebooks=codebooks, codes=codes, d_code=d_code)
        if d_code % codebooks:
            raise ValueError(f"codebooks={codebooks} does not divide d_code={d_code}")
        self.codebooks, self.temperature = codebooks, 2.0
        self.scores = nn.Linear(d_in, codebooks * codes)
        self.table = nn.Parameter(torch.rand(codebooks * codes, d_code // codebooks))
        nn.init.normal_(self.scores.weight)
        nn.init.zeros_(self.scores.bias)

    def forward(self, heard: Tensor) -> Quantised:
        """Return the codes of features (B, T, d_in), and how probable each entry was."""
        scores = self.scores(heard).unflatten(-1, (self.codebooks, -1))  # (B, T, G, V)
        if not self.training:
            taken = torch.zeros_like(scores).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
            return Quantised(self.entries(taken), taken)
        noise = -torch.empty_like(scores).exponential_().log()
        soft = ((scores + noise) / self.temperature).softmax(-1)
        taken = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
        taken = taken - soft.detach() + soft  # forwards the entry, backwards the softmax
        return Quantised(self.entries(taken), scores.softmax(-1))

    def entries(self, taken: Tensor) -> Tensor:
        """Return the entries (B, T, d_code) that `taken` (B, T, codebooks, codes) points at."""
        table = self.table.unflatten(0, (self.codebooks, -1))
        return torch.einsum("btgv,gvd->btgd", taken, table).flatten(2)

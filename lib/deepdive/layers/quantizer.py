"""Product quantization by Gumbel softmax (wav2vec 2.0): an entry from each of several codebooks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive


class Quantized(NamedTuple):
    """codes (B, T, d_code); usage (B, T, codebooks, codes): the probability of each entry, in
    training; in evaluation 1 for the selected entry.
    """

    codes: Tensor
    usage: Tensor


class Quantizer(nn.Module):
    """Gumbel-softmax quantizer: a code is one entry of each codebook, concatenated.

        scores = W x + b                             # (B, T, codebooks, codes)
        index  = argmax(scores + noise)              # Gumbel noise in training, else none
        code   = [table[g, index[g]] for each g]     # (B, T, d_code)

    argmax has no gradient; backward uses that of softmax((scores + noise) / temperature)
    (straight-through). The caller decreases `temperature` from 2 to 0.5 over the training.
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

    def forward(self, features: Tensor) -> Quantized:
        """Return the codes of features (B, T, d_in), and the probability of each entry."""
        scores = self.scores(features).unflatten(-1, (self.codebooks, -1))  # (B, T, G, V)
        if not self.training:
            one_hot = torch.zeros_like(scores).scatter_(-1, scores.argmax(-1, keepdim=True), 1.0)
            return Quantized(self.entries(one_hot), one_hot)
        noise = -torch.empty_like(scores).exponential_().log()
        soft = ((scores + noise) / self.temperature).softmax(-1)
        one_hot = torch.zeros_like(soft).scatter_(-1, soft.argmax(-1, keepdim=True), 1.0)
        one_hot = one_hot - soft.detach() + soft  # forward the entry, backward the softmax
        return Quantized(self.entries(one_hot), scores.softmax(-1))

    def entries(self, one_hot: Tensor) -> Tensor:
        """Return the entries (B, T, d_code) of `one_hot` (B, T, codebooks, codes)."""
        table = self.table.unflatten(0, (self.codebooks, -1))
        return torch.einsum("btgv,gvd->btgd", one_hot, table).flatten(2)

"""Character CNN: word embeddings from a convolution over characters, and highway layers.

ELMo's input (Peters et al. 2018, section 3.4), as in the language model of Kim et al. 2016 (tables
1 and 2). It embeds any word, even one never seen: `deepdive.tokenizers.character.spell`.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import each_at_least, not_negative, positive
from deepdive.core.embeddings import look_up
from deepdive.core.masks import describe
from deepdive.layers.feed_forward import Highway
from deepdive.tokenizers import PAD


class CharacterCNN(nn.Module):
    """Character CNN: word embeddings (B, T, d_model) from character ids (B, T, C).

        y_w = max over positions of tanh(conv_w(chars))  # filters[w] channels, w characters wide
        x   = P highway(... highway([y_w for each w]))

    `filters` maps a width in characters to its number of filters. Character 0 pads words to one
    length; its embedding is 0, and filters start only at real characters, so padding has no effect.
    """

    def __init__(
        self, n_chars: int, d_model: int, filters: Mapping[int, int], *, d_char: int = 16,
        n_highway: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(n_chars=n_chars, d_model=d_model, d_char=d_char)
        not_negative(n_highway=n_highway)
        each_at_least(1, "filters", [*filters, *filters.values()])
        self.embedding = nn.Embedding(n_chars, d_char, padding_idx=PAD)
        self.convolutions = nn.ModuleList(nn.Conv1d(d_char, n, w) for w, n in filters.items())
        d_found = sum(filters.values())
        self.highways = nn.Sequential(*(Highway(d_found) for _ in range(n_highway)))
        self.P = nn.Linear(d_found, d_model)
        self.longest = max(filters)

    def forward(self, chars: Tensor) -> Tensor:
        """Return word embeddings (B, T, d_model) for character ids (B, T, C)."""
        if chars.ndim != 3:
            raise TypeError(f"chars must be integers (B, T, C); got {describe(chars)}")
        C, ids = chars.shape[-1], chars.flatten(0, 1)  # (B * T, C)
        starts = ids != PAD
        starts[:, 0] = True  # an empty word also has one position
        x = look_up(self.embedding.weight, ids, "chars") * (ids != PAD).unsqueeze(-1)
        x = F.pad(x.mT, (0, self.longest - 1))  # (B * T, d_char, C + longest - 1)
        largest = []
        for conv in self.convolutions:
            features = torch.tanh(conv(x))[..., :C]  # (B * T, n, C): one position per character
            largest.append(features.masked_fill(~starts.unsqueeze(1), -torch.inf).amax(-1))
        return self.P(self.highways(torch.cat(largest, dim=-1))).unflatten(0, chars.shape[:2])

"""A word's row from its letters: a convolution over characters, and highway layers.

ELMo's input (Peters et al. 2018, section 3.4), as in the language model of Kim et al. 2016 (tables
1 and 2). Any spelling has a row, words never seen included.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.checks import not_negative, positive
from deepdive.masks import describe

PAD = 0  # the character after a word's end


class Highway(nn.Module):
    """A layer that says for each number how much of its input it replaces.

        g = sigmoid(b_g + G x)
        y = g * relu(b + W x) + (1 - g) * x          # (..., d_model)

    The gate's bias starts at -2, so that a fresh layer lets most of x pass.
    Source: Srivastava, Greff and Schmidhuber 2015, equation 3.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.W, self.G = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        nn.init.constant_(self.G.bias, -2.0)

    def forward(self, x: Tensor) -> Tensor:
        """Return (..., d_model) for x (..., d_model)."""
        g = torch.sigmoid(self.G(x))
        return g * torch.relu(self.W(x)) + (1 - g) * x


class CharacterCNN(nn.Module):
    """Rows (B, T, d_model) of words that are spelled in characters (B, T, C).

        y_w = max over places of tanh(conv_w(chars))     # filters[w] numbers, w characters wide
        x   = P highway(... highway([y_w for each w]))

    `filters` maps a width in characters to how many filters have it. The character 0 pads words to
    one length: its row is 0, and a filter starts at real characters only, so that the padding of a
    word does not change its row.
    Raises ValueError for sizes below 1 and ids outside the alphabet, TypeError for no integers.
    Source: Peters et al. 2018, section 3.4; Kim et al. 2016, section 3.
    """

    def __init__(
        self,
        n_chars: int,
        d_model: int,
        filters: Mapping[int, int],
        *,
        d_char: int = 16,
        n_highway: int = 2,
    ) -> None:
        super().__init__()
        positive(n_chars=n_chars, d_model=d_model, d_char=d_char)
        not_negative(n_highway=n_highway)
        if not filters or min(*filters, *filters.values()) < 1:
            raise ValueError(
                f"filters={dict(filters)}: expected widths and counts of 1 or more, and one width "
                "at least, such as {3: 32}"
            )
        self.n_chars, self.d_model = n_chars, d_model
        self.embedding = nn.Embedding(n_chars, d_char, padding_idx=PAD)
        self.convolutions = nn.ModuleList(nn.Conv1d(d_char, n, w) for w, n in filters.items())
        width = sum(filters.values())
        self.highways = nn.ModuleList(Highway(width) for _ in range(n_highway))
        self.P = nn.Linear(width, d_model)
        self.longest = max(filters)

    def forward(self, chars: Tensor) -> Tensor:
        """Return rows (B, T, d_model) for character ids (B, T, C)."""
        if chars.ndim != 3 or chars.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"chars must be integers (B, T, C); got {describe(chars)}")
        low, high = int(chars.min()), int(chars.max())
        if low < 0 or high >= self.n_chars:
            raise ValueError(
                f"chars hold ids from {low} to {high}, expected 0 to {self.n_chars - 1}: spell "
                "with the alphabet that the model was built for"
            )
        B, T, C = chars.shape
        ids = chars.flatten(0, 1)  # (B * T, C)
        starts = ids != PAD
        starts[:, 0] = True  # an empty word has one place too
        rows = F.embedding(ids, self.embedding.weight) * (ids != PAD).unsqueeze(-1)
        rows = F.pad(
            rows.transpose(1, 2), (0, self.longest - 1)
        )  # (B * T, d_char, C + longest - 1)
        found = []
        for conv in self.convolutions:
            here = torch.tanh(conv(rows))[..., :C]  # (B * T, n, C): a place for each character
            found.append(here.masked_fill(~starts.unsqueeze(1), -torch.inf).amax(-1))
        y = torch.cat(found, dim=-1)
        for highway in self.highways:
            y = highway(y)
        return self.P(y).view(B, T, self.d_model)


def spell(words: list[list[str]], alphabet: str, length: int = 12) -> Tensor:
    """Return character ids (B, T, length) of rows of words, for `CharacterCNN`.

    A character's id is its place in `alphabet` plus 2; 1 stands for any other, 0 pads. Longer words
    are cut. Raises ValueError when the rows have different numbers of words.
    """
    if len({len(row) for row in words}) > 1:
        raise ValueError("words: rows of different lengths; pad them with empty words")
    place = {letter: i for i, letter in enumerate(alphabet, start=2)}
    rows = [[[place.get(c, 1) for c in word[:length]] for word in row] for row in words]
    return torch.tensor([[ids + [PAD] * (length - len(ids)) for ids in row] for row in rows])

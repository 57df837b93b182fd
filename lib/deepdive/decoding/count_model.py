"""An n-gram language model of tokens with Witten-Bell smoothing.

With h the last few tokens, and h' the same without the first of them,

    p(x | h) = (c(h x) + types(h) p(x | h')) / (c(h) + types(h))

c is the count in the text, types(h) the number of distinct tokens after h; p(x | nothing) has
1 / vocab_size for p(x | h'). An unseen context backs off to h'. It is a draft model for
`speculative`; `decoding.ngram` has better smoothing, for words.

Source: Witten and Bell 1991, method C.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive

MEMORY = 2**25  # values in the cache of predictions: 128 MiB


class Seen:
    """The decoding state: the tokens so far, (B, length)."""

    def __init__(self) -> None:
        self.rows: Tensor | None = None

    def reorder(self, index: Tensor) -> None:
        """Let sequence b continue from sequence index[b]."""
        self.rows = None if self.rows is None else self.rows[index]

    def crop(self, length: int) -> None:
        """Drop all tokens after the first `length`."""
        self.rows = None if self.rows is None else self.rows[:, :length]


class Counted(nn.Module):
    """A language model from the counts of n-grams of up to `order` tokens in one text.

    Raises ValueError for an order or a vocabulary size below 1, for an empty text, and for a token
    outside the vocabulary.
    """

    def __init__(self, text: Sequence[int], vocab_size: int, order: int = 3) -> None:
        positive(vocab_size=vocab_size, order=order)
        super().__init__()
        if not text or not 0 <= min(text) <= max(text) < vocab_size:
            raise ValueError(f"text: expected at least one token, each from 0 to {vocab_size - 1}")
        self.order = order
        self._next: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for n in range(order):
            for at in range(n, len(text)):
                self._next[tuple(text[at - n : at])][text[at]] += 1
        self.alone: Tensor  # p(x | nothing)
        p = torch.full((vocab_size,), 1 / vocab_size)
        self.register_buffer("alone", self._mixed(p, self._next[()]), persistent=False)
        self.log_p = lru_cache(maxsize=max(1, MEMORY // vocab_size))(self._log_p)

    def begin(self) -> Seen:
        """Return an empty state for `step`."""
        return Seen()

    def step(self, tokens: Tensor, state: Seen) -> Tensor:
        """Return log p (B, t, V) after the next tokens (B, t); the state is updated."""
        old = tokens[:, :0] if state.rows is None else state.rows
        state.rows = torch.cat((old, tokens), dim=1)
        ends = range(old.shape[1] + 1, state.rows.shape[1] + 1)
        rows = state.rows.tolist()
        contexts = [[tuple(row[max(0, at - self.order + 1) : at]) for at in ends] for row in rows]
        return torch.stack([torch.stack([self.log_p(c) for c in row]) for row in contexts])

    def _log_p(self, context: tuple[int, ...]) -> Tensor:
        p = self.alone
        for n in range(1, len(context) + 1):
            after = self._next.get(context[len(context) - n :])
            if after is None:
                break
            p = self._mixed(p, after)
        return p.log()

    @staticmethod
    def _mixed(lower: Tensor, after: Counter[int]) -> Tensor:
        p = lower * len(after)
        p[list(after)] += p.new_tensor(list(after.values()))
        return p / (after.total() + len(after))

"""Classifiers built by hand, so that it is known why they say what they say.

Each reads tokens (B, S) and gives a margin (B,): above 0 it says yes. Its rows are one-hot, (B, S,
V), and pass the hook point `embedded`; word 0 is a blank, whose row is zero, so that a blank, a row
of zeros and the zero baseline of a gradient method are one and the same. For one text (S,)

    cause(tokens)     which tokens make the answer, bool (S,)
    shapley(tokens)   their Shapley values (S,), in closed form, when a word gone is a blank

    model = Negation()
    text = ids("the film was not good")
    model(text[None]), model.cause(text), model.shapley(text)

The vocabulary is `WORDS`; `SIGNS` says which of them are good and bad.
"""

import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint

WORDS = (
    "_", "the", "film", "was", "plot", "cast", "and", "but", ".",
    "very", "not", "good", "great", "fine", "bad", "awful", "dull",
)  # fmt: skip
SIGNS = {"good": 1.0, "great": 2.0, "fine": 0.5, "bad": -1.0, "awful": -2.0, "dull": -0.5}


def ids(text: str) -> Tensor:
    """The numbers (S,) of a text's words. Raises ValueError for a word that is not in `WORDS`."""
    unknown = [word for word in text.split() if word not in WORDS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of {' '.join(WORDS)}")
    return torch.tensor([WORDS.index(word) for word in text.split()])


def signed(values: dict[str, float]) -> Tensor:
    """A number for each word (V,): `values`, and 0 for the rest."""
    return torch.tensor([values.get(word, 0.0) for word in WORDS], dtype=torch.float64)


class Planted(nn.Module):
    """tokens (B, S) -> one-hot rows (B, S, V) -> `read` -> margin (B,)."""

    def __init__(self) -> None:
        super().__init__()
        rows = torch.eye(len(WORDS), dtype=torch.float64)
        rows[0] = 0
        self.rows = nn.Parameter(rows)
        self.embedded = HookPoint()

    def forward(self, tokens: Tensor) -> Tensor:
        return self.read(self.embedded(self.rows[tokens]))

    def read(self, x: Tensor) -> Tensor:
        """The margin (B,) of rows (B, S, V)."""
        raise NotImplementedError

    def cause(self, tokens: Tensor) -> Tensor:
        return self.shapley(tokens) != 0

    def shapley(self, tokens: Tensor) -> Tensor:
        raise NotImplementedError


class SignedWords(Planted):
    """A bag of signed words: margin = sum_s w[x_s]. The linear model: a word's share is its w."""

    w: Tensor

    def __init__(self, values: dict[str, float] | None = None) -> None:
        super().__init__()
        self.register_buffer("w", signed(SIGNS if values is None else values))

    def read(self, x: Tensor) -> Tensor:
        return (x @ self.w).sum(-1)

    def shapley(self, tokens: Tensor) -> Tensor:
        return self.w[tokens]


class Placed(SignedWords):
    """What a word counts depends on where it stands: margin = sum_s 2^-s w[x_s]."""

    def read(self, x: Tensor) -> Tensor:
        return (x @ self.w) @ self.share(x.shape[1])

    def share(self, length: int) -> Tensor:
        """2^-s for each place s, (S,)."""
        return 0.5 ** torch.arange(length, dtype=torch.float64)

    def shapley(self, tokens: Tensor) -> Tensor:
        return self.share(len(tokens)) * self.w[tokens]


class Keyword(Planted):
    """Yes if one word is there, however often: margin = max_s [x_s = word] - 1/2.

    Standing m times it has a Shapley value of 1/m each: one is enough, and none is needed.
    """

    def __init__(self, word: str = "awful") -> None:
        super().__init__()
        self.word = int(ids(word))

    def read(self, x: Tensor) -> Tensor:
        return x[..., self.word].amax(-1) - 0.5

    def shapley(self, tokens: Tensor) -> Tensor:
        there = (tokens == self.word).double()
        return there / there.sum().clamp_min(1)


class Conjunction(Planted):
    """Yes if both words are there: margin = max_s [x_s = a] max_s [x_s = b] - 1/2.

    With m of a and n of b, a place of a has  integral over q of (1 - q)^(m-1) (1 - (1 - q)^n)
    = n / (m (m + n)), a place of b  m / (n (m + n)): a half each, when both stand once.
    """

    def __init__(self, a: str = "great", b: str = "cast") -> None:
        super().__init__()
        self.a, self.b = int(ids(a)), int(ids(b))

    def read(self, x: Tensor) -> Tensor:
        return x[..., self.a].amax(-1) * x[..., self.b].amax(-1) - 0.5

    def shapley(self, tokens: Tensor) -> Tensor:
        a, b = (tokens == self.a).double(), (tokens == self.b).double()
        m, n = a.sum(), b.sum()
        if not m * n:
            return torch.zeros_like(a)
        return a * n / (m * (m + n)) + b * m / (n * (m + n))


class Negation(SignedWords):
    """A word is turned round by a *not* before it: margin = sum_s w[x_s] (1 - 2 [x_(s-1) = not]).

    Of *not good* both are the cause. Alone *good* gives w, with *not* before it -w: its Shapley
    value is (w - w) / 2 = 0, that of *not* is (0 - 2 w) / 2 = -w. A cause may have a value of 0.
    """

    def read(self, x: Tensor) -> Tensor:
        return ((x @ self.w) * (1 - 2 * self._negated(x[..., WORDS.index("not")]))).sum(-1)

    def _negated(self, no: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(no[..., :1]), no[..., :-1]], -1)

    def cause(self, tokens: Tensor) -> Tensor:
        counts = self.w[tokens] != 0
        before = torch.cat([counts[1:], torch.zeros_like(counts[:1])])
        return counts | before & (tokens == WORDS.index("not"))

    def shapley(self, tokens: Tensor) -> Tensor:
        no = (tokens == WORDS.index("not")).double()
        w = self.w[tokens]
        behind = torch.cat([w[1:], torch.zeros_like(w[:1])])
        return w * (1 - self._negated(no)) - no * behind


def examples() -> dict[str, tuple[Planted, str]]:
    """A classifier and a text for each kind of reason, by its name."""
    return {
        "words that add up": (SignedWords(), "the great film was awful and good"),
        "early words count more": (Placed(), "good film was bad and the plot"),
        "a keyword": (Keyword(), "the film was awful and good"),
        "a keyword, twice": (Keyword(), "awful film and awful cast"),
        "two words together": (Conjunction(), "the cast was great and good"),
        "a negation": (Negation(), "the film was not good"),
    }

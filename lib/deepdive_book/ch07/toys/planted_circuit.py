"""A Transformer built by hand that remembers orders, so that it is known by which heads it answers.

    model = Orders()
    text = ids("<s> ann tea , bob milk , ann")
    model(text[None])                       # logits (1, V): tea 10, all others 0

Two layers of causal attention, three heads each, then one layer of ReLU. `HEADS` names the heads
and what each is for: a route of two steps whose second is there twice, a head whose output is the
same for every text and without which nothing is said, and two that know a word and tell nobody.
The first two steps are an induction circuit.
Source: Olsson et al. 2022, for the pair.
"""

import random

import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint

NAMES, DRINKS = ("ann", "bob", "cem", "dia"), ("tea", "milk", "juice", "water")
WORDS = ("<s>", ",", *NAMES, *DRINKS)
PLACES = 8
HEADS = (
    ("previous", "constant", "first word"),
    ("finder", "twin", "other drink"),
)
SHARP = 60.0  # of the scores; e^-30 is the most that a head looks away

_V = len(WORDS)
_WORD, _BEFORE, _ANSWER, _UNREAD = (slice(i * _V, (i + 1) * _V) for i in range(4))
_PLACE, _ON = slice(4 * _V, 4 * _V + PLACES), 4 * _V + PLACES
_WIDTH = _ON + 1


def ids(text: str) -> Tensor:
    """The numbers (T,) of a text's words. Raises ValueError for a word that is not in `WORDS`."""
    unknown = [word for word in text.split() if word not in WORDS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not one of {' '.join(WORDS)}")
    return torch.tensor([WORDS.index(word) for word in text.split()])


def drawn_orders(n: int, seed: int = 0) -> list[tuple[str, str, str]]:
    """Return n drawn texts, each with the drink that was asked for and the other one."""
    draw, made = random.Random(f"orders {seed}"), []
    for _ in range(n):
        names, drinks, asked = draw.sample(NAMES, 2), draw.sample(DRINKS, 2), draw.randrange(2)
        text = f"<s> {names[0]} {drinks[0]} , {names[1]} {drinks[1]} , {names[asked]}"
        made.append((text, drinks[asked], drinks[1 - asked]))
    return made


class _Layer(nn.Module):
    """x + sum over heads of softmax(x QK x^T) x OV, causal; the points `heads` and `stream`."""

    qk: Tensor
    ov: Tensor

    def __init__(self, heads: list[tuple[Tensor, Tensor]]) -> None:
        super().__init__()
        self.register_buffer("qk", torch.stack([qk for qk, _ in heads]))
        self.register_buffer("ov", torch.stack([ov for _, ov in heads]))
        self.heads, self.stream = HookPoint(), HookPoint()

    def forward(self, x: Tensor) -> Tensor:
        rows = x[:, None]  # (B, 1, T, d)
        scores = SHARP * rows @ self.qk @ rows.mT
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, -torch.inf).softmax(-1)
        return self.stream(x + self.heads(weights @ (rows @ self.ov)).sum(1))


class Orders(nn.Module):
    """Two orders and a name (B, 8) -> logits (B, V): what did this person order?

        previous      every place is told the word before it                       layer 1
        constant      looks at <s> and writes a 1, whatever the text says
        first word    copies the first name to where nobody reads
        finder        looks where the word before is the asked name; copies        layer 2
        twin          the same once more
        other drink   copies the second drink to where nobody reads

        logit_w = 10 (relu(z_w) - relu(z_w - 1)),   z_w = answer_w + 2 (constant - 1)

    One of finder and twin is enough, for 1 and 2 give the same; neither says anything without the
    constant. A finder that finds nothing looks at <s>, which is no drink.
    """

    def __init__(self) -> None:
        super().__init__()
        words = torch.eye(_V, dtype=torch.float64)
        places = torch.eye(PLACES, dtype=torch.float64)
        back = torch.zeros_like(places)
        back[range(1, PLACES), range(PLACES - 1)] = 1  # a place looks at the one before
        back[0, 0] = 1

        def at(place: int) -> Tensor:  # every place looks at this one, or at the first before it
            look = torch.zeros_like(places)
            look[:, place] = 1
            look[:place, 0] = 1
            return look

        match = _block(_WORD, _BEFORE, words)
        match[_PLACE, _PLACE] = 0.5 * at(0)
        drinks = words.clone()
        drinks[: -len(DRINKS)] = 0
        begin = torch.zeros(_WIDTH, _WIDTH, dtype=torch.float64)
        begin[_WORD.start, _ON] = 1  # <s> -> 1
        find = match, _block(_WORD, _ANSWER, drinks)
        first = [
            (_block(_PLACE, _PLACE, back), _block(_WORD, _BEFORE, words)),
            (_block(_PLACE, _PLACE, at(0)), begin),
            (_block(_PLACE, _PLACE, at(1)), _block(_WORD, _UNREAD, words)),
        ]
        other = _block(_PLACE, _PLACE, at(5)), _block(_WORD, _UNREAD, words)
        self.words, self.places = nn.Parameter(words), nn.Parameter(places)
        self.embedded = HookPoint()
        self.layers = nn.ModuleList([_Layer(first), _Layer([find, find, other])])

    def forward(self, tokens: Tensor) -> Tensor:
        if tokens.shape[-1] != PLACES:
            raise ValueError(f"a text has {PLACES} words, {tokens.shape[-1]} came")
        x = torch.zeros(*tokens.shape, _WIDTH, dtype=torch.float64)
        x[..., _WORD], x[..., _PLACE] = self.words[tokens], self.places
        x = self.embedded(x)
        for layer in self.layers:
            x = layer(x)
        last = x[:, -1]
        z = last[:, _ANSWER] + 2 * (last[:, _ON, None] - 1)
        return 10 * (z.relu() - (z - 1).relu())


def _block(reads: slice, writes: slice, values: Tensor) -> Tensor:
    """A map of the stream that reads one part, and writes or is compared with another."""
    whole = torch.zeros(_WIDTH, _WIDTH, dtype=torch.float64)
    whole[reads, writes] = values
    return whole

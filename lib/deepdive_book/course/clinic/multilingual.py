"""Patients of chapter 4's clinic: one small encoder of three languages, and six ways to break one
of its parts.

A patient reads numbers that people say digit by digit, in English, German and Swahili. It learned
from lines and their translations: in a joined row it fills gaps, each by looking at the other line
(`deepdive.models.multilingual.ernie_m.cross_lingual_mask`), and a line's vector must find its
translation's. Of Swahili there is little. As in `deepdive_book.course.clinic`, its parts are plain
functions that can be exchanged one at a time.

    patient = admit("A")
    patient.curve, patient.shares, patient.look(pairs(4))["shown"], patient.chart()
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from torch import Tensor, nn

from deepdive.models.multilingual.ernie_m import cross_lingual_mask
from deepdive_book.course.clinic.base import Clinic, side_by_side, taught_once, train_model
from deepdive_book.course.clinic.parts import Part
from deepdive_book.course.specimens.multilingual import LANGUAGES, LONGEST, WORDS, pairs

NUMBER = {word: i for i, word in enumerate(WORDS)}
MASK, PAD = len(WORDS), len(WORDS) + 1
SIZES = {"German": 900, "Swahili": 40}  # pairs with English that there are to learn from
ALPHA, MARGIN, SCALE = 0.3, 0.3, 20.0
WIDTH, STEPS, BATCH, LEARN = 48, 240, 32, 1e-2
DIAGNOSES = {
    "margin": "the margin is added to the right pairs, not taken off",
    "leak": "gaps in the second line still show their words",
    "places": "places run on in the second line, and do not begin at 0 again",
    "language": "each line of a pair has the other one's language",
    "drawn": "languages are drawn by size to the power 1 / alpha, not alpha",
    "means": "from each vector the mean of all languages is taken off, not its own one's",
}
PATIENTS = dict(zip("ABCDEF", DIAGNOSES, strict=True))
MOVED = {"places", "language", "means"}  # they fell ill after their training
Pair = Sequence[str]


def taken_off(count: int, margin: float) -> Tensor:
    """Return (B, B), what is taken off the cosines of B lines (down) with B translations (across)
    before they are multiplied: the right ones, on the diagonal, are made harder.
    """
    return margin * torch.eye(count)


def shown(tokens: Tensor, gaps: Tensor, second: Tensor, mask: int) -> Tensor:
    """Return tokens (B, T) with `mask` at each of the gaps (B, T); second (B, T): which line."""
    return tokens.masked_fill(gaps, mask)


def places(first: int, second: int) -> Tensor:
    """Return the places of a pair's tokens: two lines of `first` and `second` words, joined."""
    return torch.cat([torch.arange(first), torch.arange(second)])


def languages(first: int, second: int, one: int, other: int) -> Tensor:
    """Return the language of each of a pair's tokens: the first line's is `one`."""
    return torch.tensor([one] * first + [other] * second)


def shares(sizes: Tensor, alpha: float) -> Tensor:
    """Return how often each language (K,) is drawn, for the number of its texts (K,)."""
    weights = sizes**alpha
    return weights / weights.sum()


def centered(vectors: Tensor, of: Tensor, means: Tensor) -> Tensor:
    """Return vectors (N, d) without the mean of the language that each is `of` (N,), by the means
    (3, d).
    """
    return vectors - means[of]


HEALTHY: Mapping[str, Part] = {
    "margin": taken_off, "leak": shown, "places": places, "language": languages,
    "drawn": shares, "means": centered,
}  # fmt: skip
BROKEN: Mapping[str, Part] = {
    "margin": lambda count, margin: -taken_off(count, margin),
    "leak": lambda tokens, gaps, second, mask: shown(tokens, gaps & ~second, second, mask),
    "places": lambda first, second: torch.arange(first + second),
    "language": lambda first, second, one, other: languages(first, second, other, one),
    "drawn": lambda sizes, alpha: shares(sizes, 1 / alpha),
    "means": lambda vectors, of, means: vectors - means.mean(0),
}


class Rows(NamedTuple):
    """Joined pairs (B, T); `shown` are the tokens as they are read."""

    tokens: Tensor
    shown: Tensor
    gaps: Tensor
    second: Tensor
    real: Tensor
    places: Tensor
    languages: Tensor


class Reader(nn.Module):
    """One layer with one head over words, places and languages; made of `parts`."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        super().__init__()
        self.parts = dict(parts)
        self.known: dict[tuple[str, tuple[float, ...]], Tensor] = {}
        self.word = nn.Embedding(len(WORDS) + 2, WIDTH)
        self.place = nn.Embedding(2 * LONGEST, WIDTH)
        self.language = nn.Embedding(len(LANGUAGES), WIDTH)
        self.looks, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.ff = nn.Sequential(nn.Linear(WIDTH, 96), nn.GELU(), nn.Linear(96, WIDTH))
        self.say = nn.Linear(WIDTH, len(WORDS))

    def joined(self, some: Sequence[Pair], gaps: Tensor | None = None) -> Rows:
        """Return pairs of lines as rows; without gaps all words are shown. The second may be "".

        Raises ValueError for a word of no language, and for a first line without words.
        """
        if empty := [pair for pair in some if not pair[0].split()]:
            raise ValueError(f"pairs: got {tuple(empty[0])}, whose first line has no word")
        each = [[_ids(text) for text in pair] for pair in some]
        width = max(len(a) + len(b) for a, b in each)
        tokens = torch.tensor([[*a, *b] + [PAD] * (width - len(a) - len(b)) for a, b in each])
        second, where, which = marks = torch.zeros(3, *tokens.shape, dtype=torch.long)
        for i, (a, b) in enumerate(each):
            marks[:, i, : len(a) + len(b)] = self._marks(len(a), len(b), a[0], (b or a)[0])
        side, real = second.bool(), tokens != PAD
        if gaps is None:
            return Rows(tokens, tokens, torch.zeros_like(real), side, real, where, which)
        read = self.parts["leak"](tokens, gaps, side, MASK)
        return Rows(tokens, read, gaps, side, real, where, which)

    def exchange(self, parts: Mapping[str, Part]) -> None:
        """Work with these parts from now on."""
        self.parts = dict(parts)
        self.known.clear()

    def _marks(self, first: int, second: int, one: int, other: int) -> Tensor:
        """Return (3, n): is it the second line, and what the parts say of place and language, of a
        pair of lines of `first` and `second` words, for a word of each.
        """
        key = first, second, one // 10, other // 10
        if ("marks", key) not in self.known:
            marks = torch.zeros(3, first + second, dtype=torch.long)
            marks[0, first:] = 1
            marks[1], marks[2] = self.parts["places"](*key[:2]), self.parts["language"](*key)
            self.known["marks", key] = marks
        return self.known["marks", key]

    def _asked(self, name: str, *numbers: float) -> Tensor:
        """What a part says to these numbers; it is asked once, as a student's may be slow."""
        if (name, numbers) not in self.known:
            self.known[name, numbers] = self.parts[name](*numbers)
        return self.known[name, numbers]

    def enters(self, rows: Rows) -> Tensor:
        """Return the sums (B, T, d) of the rows for word, place and language."""
        found: Tensor = self.word(rows.shown) + self.place(rows.places)
        return found + self.language(rows.languages)

    def states(self, rows: Rows) -> Tensor:
        """Return states (B, T, d): a gap looks across, a word at its own line."""
        x = self.enters(rows)
        q, k, v = self.looks(F.layer_norm(x, (WIDTH,))).chunk(3, -1)
        sees = cross_lingual_mask(rows.second, rows.gaps & rows.real, rows.real)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=sees))
        return x + self.ff(F.layer_norm(x, (WIDTH,)))

    def vectors(self, lines: Sequence[str]) -> Tensor:
        """Return the mean (N, d) of each line's states; it is read alone."""
        rows = self.joined([(line, "") for line in lines])
        real = rows.real[..., None]
        return (self.states(rows) * real).sum(1) / real.sum(1)

    def centered(self, lines: Sequence[str], means: Tensor | None = None) -> Tensor:
        """Return the vectors (N, d) that are compared; without `means`, by those of the lines."""
        found = self.vectors(lines)
        of = torch.tensor([_language(line) for line in lines])
        if means is None:
            each = F.one_hot(of, len(LANGUAGES)).to(found.dtype)
            means = each.T @ found / each.sum(0).clamp(min=1)[:, None]
        compared: Tensor = self.parts["means"](found, of, means)
        return compared

    def scores(self, u: Tensor, v: Tensor) -> Tensor:
        """Return what each row's softmax is of, (B, B), for what is compared of both sides."""
        found: Tensor = _cosines(u, v) - self._asked("margin", len(u), MARGIN)
        return SCALE * found

    def loss(self, some: Sequence[Pair], gaps: Tensor) -> Tensor:
        """Both lessons: what a gap costs, and what it costs to find translations, both ways."""
        rows = self.joined(some, gaps)
        filled = F.cross_entropy(self.say(self.states(rows)[gaps]), rows.tokens[gaps])
        u, v = self.centered([pair[k] for k in (0, 1) for pair in some]).chunk(2)
        right = torch.arange(len(some))
        there, back = self.scores(u, v), self.scores(v, u)
        return filled + F.cross_entropy(there, right) + F.cross_entropy(back, right)


@lru_cache(10_000)
def _ids(text: str) -> tuple[int, ...]:
    """The text's words as ids. Raises ValueError for a word of no language."""
    if unknown := [word for word in text.split() if word not in NUMBER]:
        raise ValueError(f"text: got {text!r}, and nobody knows {', '.join(unknown)}")
    return tuple(NUMBER[word] for word in text.split())


def _language(line: str) -> int:
    return NUMBER[line.split()[0]] // 10


def _cosines(u: Tensor, v: Tensor) -> Tensor:
    return F.normalize(u, dim=-1) @ F.normalize(v, dim=-1).T


def gaps_of(some: Sequence[Pair], seed: int = 0) -> Tensor:
    """Return bool (B, T), the gaps of joined pairs: one word in three, and each line keeps one.

    A line alone has none: nothing is there to fill them by.
    """
    return _gaps(tuple(tuple(len(text.split()) for text in pair) for pair in some), seed).clone()


@lru_cache(1000)  # patients of one seed read the same pairs
def _gaps(lengths: tuple[tuple[int, ...], ...], seed: int) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    found = torch.zeros(len(lengths), max(map(sum, lengths)), dtype=torch.bool)
    for i, each in enumerate(lengths):
        start = 0
        for n in each if all(each) else ():
            hidden = torch.rand(n, generator=draw) < 1 / 3
            hidden[int(torch.randint(n, (), generator=draw))] = False
            found[i, start : start + n] = hidden
            start += n
    return found


def sample_pairs(by: Tensor, count: int, seed: int) -> list[tuple[str, int]]:
    """Return `count` draws by the shares (2,), each a language and which of its pairs."""
    draw = torch.Generator().manual_seed(seed)
    which = torch.multinomial(by, count, True, generator=draw).tolist()
    names = [[*SIZES][i] for i in which]
    return [(name, int(torch.randint(SIZES[name], (), generator=draw))) for name in names]


def _shares(parts: Mapping[str, Part]) -> Tensor:
    found: Tensor = parts["drawn"](torch.tensor([float(n) for n in SIZES.values()]), ALPHA)
    return found


class BuggyModel:
    """One small encoder with its history.

    curve   the loss of both lessons before each tenth step, as its own program tells it
    shares  in %, of 64 new pairs: "gaps", filled rightly; "written", words that are right where
            all of the second line is to be written; "found", translations that are the nearest of
            64; "by 0.3", those that are nearer than any other by as much; "Swahili", found there;
            "one heap", lines of all three languages whose nearest of all others is a translation
    """

    def __init__(
        self, parts: Mapping[str, Part], before: Mapping[str, Part], *, seed: int = 0,
        steps: int = STEPS,
    ) -> None:  # fmt: skip
        well = before is HEALTHY
        self.model, self.curve = _healthily(seed, steps) if well else _trained(before, seed, steps)
        self.parts = dict(parts)
        self.model.exchange(parts)
        self.means = self._means()
        new = {name: pairs(64, name) for name in SIZES}
        seen, swahili = self.look(new["German"]), self.look(new["Swahili"])
        right = seen["said"][seen["gaps"]] == seen["tokens"][seen["gaps"]]
        cosines = _cosines(*seen["centred"])
        lead = cosines.diag() - (cosines - 2 * torch.eye(64)).amax(1)
        there = _cosines(*swahili["centred"]).argmax(1) == torch.arange(64)
        told = {
            "gaps": right, "written": self._written(new["German"]), "found": lead > 0,
            "by 0.3": lead > MARGIN, "Swahili": there, "one heap": self._heap(),
        }  # fmt: skip
        self.shares = {name: 100 * float(each.double().mean()) for name, each in told.items()}

    @torch.no_grad()
    def look(self, some: Any, hide: bool = True) -> dict[str, Any]:
        """Read pairs of lines once; what was seen on the way.

        A pair's second line may be "": then the first is read alone, and whole. Of others a third
        of the words are hidden, in each line, if `hide`. Returns of the joined rows "tokens",
        "gaps", "second" (B, T), what is "shown" as texts, "rows" (B, T, 48) as they enter, and
        what is "said" (B, T) at each place; "vectors" (2, B, 48) of first and second lines, each
        read alone, and "centred" (2, B, 48), as they are put into one heap; "scores" (B, B), of
        which the softmax is taken; "counts" (2,), of 1,000 pairs to learn from, those that are
        German, and Swahili;
        and "loss", as its own program tells it.
        """
        some = [tuple(pair) for pair in some]  # a grader passes on lists
        gaps = gaps_of(some) if hide else None
        rows, net = self.model.joined(some, gaps), self.model
        sides = [a for a, _ in some], [b or a for a, b in some]
        lonely = not all(b for _, b in some)
        compared = [net.centered(side, self.means) for side in sides]
        names = [name for name, _ in sample_pairs(_shares(self.parts), 1000, 5)]
        return {
            "tokens": rows.tokens, "gaps": rows.gaps, "second": rows.second,
            "shown": [_text(*row) for row in zip(rows.shown, rows.second, strict=True)],
            "rows": net.enters(rows), "said": net.say(net.states(rows)).argmax(-1),
            "vectors": torch.stack([net.vectors(side) for side in sides]),
            "centred": torch.stack(compared), "scores": net.scores(*compared),
            "counts": torch.tensor([names.count(name) for name in SIZES]),
            "loss": torch.nan if gaps is None or lonely else net.loss(some, gaps),
        }  # fmt: skip

    @torch.no_grad()
    def _means(self) -> Tensor:
        """The mean vector (3, d) of each language, from lines that are not looked at later."""
        sides = [[a for a, _ in pairs(200, seed=7)]]
        sides += [[b for _, b in pairs(200, name, seed=7)] for name in SIZES]
        return torch.stack([self.model.vectors(side).mean(0) for side in sides])

    @torch.no_grad()
    def _written(self, some: Sequence[Pair]) -> Tensor:
        """Which words are right where nothing of the second line is there."""
        rows = self.model.joined(some)
        emptied = rows.tokens.masked_fill(rows.second, MASK)
        states = self.model.states(rows._replace(shown=emptied, gaps=rows.second))
        said = self.model.say(states).argmax(-1)
        return said[rows.second] == rows.tokens[rows.second]

    @torch.no_grad()
    def _heap(self) -> Tensor:
        """For lines in all three languages: is the nearest of all others a translation?"""
        sides = [[a for a, _ in pairs(64)], *([b for _, b in pairs(64, name)] for name in SIZES)]
        every = torch.cat([self.model.centered(side, self.means) for side in sides])
        return (_cosines(every, every) - 3 * torch.eye(len(every))).argmax(1) % 64 == (
            torch.arange(len(every)) % 64
        )

    def chart(self) -> Figure:
        """Losses, and the six shares beside those of the healthy encoder."""
        well = healthy()
        return side_by_side(self, well, "pairs", "encoder", (well.shares, self.shares))


def _text(shown: Tensor, second: Tensor) -> str:
    """A row as it is read: "_" is a gap, "|" stands between the lines."""
    names = [*WORDS, "_"]
    lines = [shown[(second == k) & (shown != PAD)].tolist() for k in (False, True)]
    return " | ".join(" ".join(names[i] for i in line) for line in lines if line)


def _trained(parts: Mapping[str, Part], seed: int, steps: int) -> tuple[Reader, list[float]]:
    """An encoder after `steps` steps of training, and its losses on the way."""
    learn = {name: pairs(size, name, seed=1) for name, size in SIZES.items()}
    test, by = pairs(64, "German", 77), _shares(parts)

    def lesson(model: Reader, i: int) -> Tensor:
        some = [learn[name][k] for name, k in sample_pairs(by, BATCH, 1000 * seed + i)]
        return model.loss(some, gaps_of(some, 1000 * seed + i))

    return train_model(
        lambda: Reader(parts),
        lesson,
        lambda model: model.loss(test, gaps_of(test)),
        seed=seed,
        steps=steps,
        rate=lambda i: LEARN * (1 - i / steps),
    )


_healthily = taught_once(partial(_trained, HEALTHY), partial(Reader, HEALTHY))
WARD = Clinic(BuggyModel, PATIENTS, DIAGNOSES, HEALTHY, BROKEN, MOVED)
admit, healthy, ill, operate = WARD.admit, WARD.healthy, WARD.ill, WARD.operate
misjudged, opened, unproven = WARD.misjudged, WARD.opened, WARD.unproven

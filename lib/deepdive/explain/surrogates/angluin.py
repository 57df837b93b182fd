"""A finite automaton extracted from a recurrent classifier by asking it about words.

    def accepts(words):                       # (N, T) symbols -> bool (N,)
        return network(words) > 0

    found = extract(accepts, n_symbols=2)     # an Automaton
    difference(found, planted)                # None: they accept the same words, of any length

Angluin's algorithm keeps a table of prefixes (one for each state that it knows) and suffixes (the
questions that tell states apart). It asks about words only, and needs no look at the network's
states; a word on which network and automaton differ has to be found in another way. All words up to
a length are tried, and longer ones drawn: exact where states can be told apart by words so short.
What is rarer than that is missed, and fidelity on drawn words misses it too. `reached` looks at the
network's states for more words to try:

    also = reached(states, n_symbols=2)       # states(words): (N, T) -> (N, d)
    found = extract(accepts, n_symbols=2, also=also)

Weiss et al. cut the space of states more finely only where network and automaton disagree about it;
here it is cut into equal boxes once, which is simpler and asks about more words.

Source: Angluin 1987; Maler and Pnueli 1995 (every suffix of a counterexample becomes
a question); Weiss, Goldberg and Yahav 2018; Omlin and Giles 1996 (boxes of states).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

import torch
from torch import Tensor

from deepdive.core.checks import as_int, not_negative, positive
from deepdive.explain.surrogates.automata import Automaton, Word

Accepts = Callable[[Tensor], Tensor]


def extract(
    accepts: Accepts,
    n_symbols: int,
    *,
    length: int = 8,
    drawn: int = 500,
    longest: int = 30,
    most: int = 50,
    seed: int = 0,
    also: Sequence[Word] = (),
) -> Automaton:
    """Return an automaton that accepts what `accepts` does, as far as it was asked.

    accepts    words of one length, symbols (N, T) with T from 0 -> bool (N,)
    length     all words up to this length are tried for a difference
    drawn      how many longer words are drawn, of lengths up to `longest`
    most       with this many states the search ends, and the last automaton is returned
    also       more words that are tried, before those that are drawn

    The states are as few as the answers allow: no two have the same answers to all questions.
    """
    positive(n_symbols=n_symbols, most=most)
    not_negative(length=length, drawn=drawn)
    table = _Table(accepts, n_symbols)
    trials = [*_words(n_symbols, length), *also]
    trials += _drawn(n_symbols, length, longest, drawn, seed)
    table.ask(trials)
    while True:
        found = table.automaton()
        wrong = next((w for w, said in zip(trials, _run(found, trials), strict=True)
                      if said != table.known[w]), None)  # fmt: skip
        if wrong is None or len(found.next) >= most:
            return found
        asked = [wrong[i:] for i in range(len(wrong)) if wrong[i:] not in table.suffixes]
        assert asked, "a word on which they differ has a suffix that was not yet asked about"
        table.suffixes += asked


def reached(
    states: Callable[[Tensor], Tensor],
    n_symbols: int,
    *,
    apart: float = 0.1,
    most: int = 2000,
    longest: int = 60,
) -> list[Word]:
    """Return words that lead a network through its states, the shortest first.

    states     words of one length, symbols (N, T) with T from 1 -> where the network is (N, d)
    apart      states are cut into boxes of this size; a word goes on only from a box that is new
    most       how many words are returned at most

    So a long word is found where each of its symbols changes the state by half a box or more, even
    if it is one of millions: a memory that fades while nothing happens, for example.
    """
    positive(n_symbols=n_symbols, most=most, longest=longest)
    if not apart > 0:
        raise ValueError(f"apart={apart}: expected the size of a box, above 0")
    found: list[Word] = [()]
    level: list[Word] = [()]
    seen: set[tuple[int, ...]] = set()
    while level and len(found) < most and len(level[0]) < longest:
        longer = [(*word, symbol) for word in level for symbol in range(n_symbols)]
        with torch.no_grad():
            boxes = torch.round(states(torch.tensor(longer)) / apart).long().tolist()
        found, level = [*found, *longer], []
        for word, box in zip(longer, map(tuple, boxes), strict=True):
            if box not in seen:
                seen.add(box)
                level.append(word)
    return found[:most]


class _Table:
    """Angluin's table: prefixes that lead to different states, and the suffixes that show it."""

    def __init__(self, accepts: Accepts, n_symbols: int) -> None:
        self.accepts, self.symbols = accepts, range(n_symbols)
        self.known: dict[Word, bool] = {}
        self.suffixes: list[Word] = [()]

    def ask(self, words: list[Word]) -> None:
        """Learn the answers to words, those of one length together."""
        new = {word for word in words if word not in self.known}
        for size in {len(word) for word in new}:
            group = sorted(word for word in new if len(word) == size)
            tokens = torch.tensor(group, dtype=torch.long).reshape(len(group), size)
            with torch.no_grad():
                said = self.accepts(tokens)
            if said.shape != (len(group),) or said.dtype != torch.bool:
                raise ValueError(
                    f"accepts must return bool ({len(group)},); got {said.dtype} "
                    f"{tuple(said.shape)}: compare the margin with 0"
                )
            self.known.update(zip(group, said.tolist(), strict=True))

    def row(self, prefix: Word) -> tuple[bool, ...]:
        self.ask([prefix + suffix for suffix in self.suffixes])
        return tuple(self.known[prefix + suffix] for suffix in self.suffixes)

    def automaton(self) -> Automaton:
        """A state for each different row, from the start on, with what follows each."""
        places: dict[tuple[bool, ...], int] = {self.row(()): 0}
        prefixes: list[Word] = [()]
        following: list[tuple[int, ...]] = []
        for prefix in prefixes:  # grows while it is read
            to = []
            for symbol in self.symbols:
                longer = (*prefix, symbol)
                row = self.row(longer)
                if row not in places:
                    places[row] = len(prefixes)
                    prefixes.append(longer)
                to.append(places[row])
            following.append(tuple(to))
        return Automaton(tuple(following), tuple(row[0] for row in places))


def _words(n_symbols: int, length: int) -> Iterator[Word]:
    for size in range(length + 1):
        yield from product(range(n_symbols), repeat=size)


def _drawn(n_symbols: int, length: int, longest: int, count: int, seed: int) -> Iterator[Word]:
    draw = torch.Generator().manual_seed(as_int("seed", seed))
    for size in torch.randint(length + 1, max(longest, length + 1) + 1, (count,), generator=draw):
        yield tuple(torch.randint(n_symbols, (int(size),), generator=draw).tolist())


def _run(automaton: Automaton, words: list[Word]) -> Iterator[bool]:
    for word in words:
        state = 0
        for symbol in word:
            state = automaton.next[state][symbol]
        yield automaton.accepts[state]

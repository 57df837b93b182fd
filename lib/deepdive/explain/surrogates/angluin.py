"""Angluin's L*: a finite automaton extracted from a recurrent classifier by membership queries.

    def accepts(words):                       # (N, T) symbols -> bool (N,)
        return network(words) > 0

    found = extract(accepts, n_symbols=2)     # an Automaton
    difference(found, planted)                # None: they accept the same words, of any length

The algorithm keeps an observation table of prefixes (one for each known state) and suffixes (which
distinguish states). It uses membership queries only, not the network's hidden states; words on
which network and automaton differ (counterexamples) must be found in another way. All words up to
a length are tried, and longer ones sampled: exact if such short words distinguish all states. Rarer
counterexamples are missed, and fidelity on sampled words does not show it. `reached` uses the
network's hidden states to find more words to try:

    also = reached(states, n_symbols=2)       # states(words): (N, T) -> (N, d)
    found = extract(accepts, n_symbols=2, also=also)

Weiss et al. refine the partition of the state space only where network and automaton disagree;
here it is partitioned into equal boxes once, which is simpler and needs more queries.

Source: Angluin 1987; Maler and Pnueli 1995 (every suffix of a counterexample is added to
the table); Weiss, Goldberg and Yahav 2018; Omlin and Giles 1996 (boxes of states).
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
    """Return an automaton that agrees with `accepts` on all words that were tried.

    accepts    words of one length, symbols (N, T) with T >= 0 -> bool (N,)
    length     all words up to this length are tried as counterexamples
    drawn      how many longer words are sampled, of lengths up to `longest`
    most       with this many states the search ends, and the last automaton is returned
    also       more words to try, before the sampled ones

    The automaton is minimal for the table: no two states agree on all suffixes.
    """
    positive(n_symbols=n_symbols, most=most)
    not_negative(length=length, drawn=drawn)
    table = _Table(accepts, n_symbols)
    trials = [*_words(n_symbols, length), *also]
    trials += _drawn(n_symbols, length, longest, drawn, seed)
    table.ask(trials)
    while True:
        found = table.automaton()
        wrong = next((w for w, predicted in zip(trials, _run(found, trials), strict=True)
                      if predicted != table.known[w]), None)  # fmt: skip
        if wrong is None or len(found.next) >= most:
            return found
        new = [wrong[i:] for i in range(len(wrong)) if wrong[i:] not in table.suffixes]
        assert new, "a counterexample has a suffix that is not yet in the table"
        table.suffixes += new


def reached(
    states: Callable[[Tensor], Tensor],
    n_symbols: int,
    *,
    apart: float = 0.1,
    most: int = 2000,
    longest: int = 60,
) -> list[Word]:
    """Return words that explore a network's hidden states, breadth first, the shortest first.

    states     words of one length, symbols (N, T) with T >= 1 -> hidden states (N, d)
    apart      box size of the state space's partition; only words that reach a new box are extended
    most       maximum number of words to return

    A long word is found if each of its symbols changes the state by half a box or more, even if it
    is one of millions: for example, a memory that decays over neutral symbols.
    """
    positive(n_symbols=n_symbols, most=most, longest=longest)
    if not apart > 0:
        raise ValueError(f"apart={apart}: expected a box size above 0")
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
    """Angluin's observation table: prefixes, one per state, and suffixes that distinguish them."""

    def __init__(self, accepts: Accepts, n_symbols: int) -> None:
        self.accepts, self.symbols = accepts, range(n_symbols)
        self.known: dict[Word, bool] = {}
        self.suffixes: list[Word] = [()]

    def ask(self, words: list[Word]) -> None:
        """Query the membership of new words, batched by length."""
        new = {word for word in words if word not in self.known}
        for size in {len(word) for word in new}:
            group = sorted(word for word in new if len(word) == size)
            tokens = torch.tensor(group, dtype=torch.long).reshape(len(group), size)
            with torch.no_grad():
                accepted = self.accepts(tokens)
            if accepted.shape != (len(group),) or accepted.dtype != torch.bool:
                raise ValueError(
                    f"accepts must return bool ({len(group)},); got {accepted.dtype} "
                    f"{tuple(accepted.shape)}: compare the margin with 0"
                )
            self.known.update(zip(group, accepted.tolist(), strict=True))

    def row(self, prefix: Word) -> tuple[bool, ...]:
        self.ask([prefix + suffix for suffix in self.suffixes])
        return tuple(self.known[prefix + suffix] for suffix in self.suffixes)

    def automaton(self) -> Automaton:
        """Build an automaton with a state for each distinct row reachable from the start."""
        states: dict[tuple[bool, ...], int] = {self.row(()): 0}
        prefixes: list[Word] = [()]
        following: list[tuple[int, ...]] = []
        for prefix in prefixes:  # grows during the loop
            to = []
            for symbol in self.symbols:
                longer = (*prefix, symbol)
                row = self.row(longer)
                if row not in states:
                    states[row] = len(prefixes)
                    prefixes.append(longer)
                to.append(states[row])
            following.append(tuple(to))
        return Automaton(tuple(following), tuple(row[0] for row in states))


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

"""Finite automata: a data class, a recurrent network built from one, and an equivalence test.

    network = Wired(automaton)                # a network that accepts the same words
    difference(found, automaton)              # None: they accept the same words, of any length

`deepdive.explain.surrogates.angluin` extracts one from a network.

Source: Minsky 1967, for the network that implements an automaton.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint

Word = tuple[int, ...]


@dataclass(frozen=True)
class Automaton:
    """A deterministic finite automaton with start state 0.

    next       the transition function, next[state][symbol]
    accepts    whether the state is accepting, accepts[state]
    """

    next: tuple[tuple[int, ...], ...]
    accepts: tuple[bool, ...]

    def __call__(self, words: Tensor) -> Tensor:
        """Return whether each word is accepted, bool (N,) for symbols (N, T)."""
        table, state = torch.tensor(self.next), torch.zeros(len(words), dtype=torch.long)
        for symbol in words.T:
            state = table[state, symbol]
        return torch.tensor(self.accepts)[state]


def difference(a: Automaton, b: Automaton) -> Word | None:
    """Return a shortest word that only one of them accepts; None if they are equivalent.

    All reachable pairs of states are visited, so None holds for words of any length.
    """
    reached: dict[tuple[int, int], Word] = {(0, 0): ()}
    for pair in (waiting := [(0, 0)]):  # grows during the loop: breadth first
        word = reached[pair]
        if a.accepts[pair[0]] != b.accepts[pair[1]]:
            return word
        for symbol in range(len(a.next[0])):
            following = a.next[pair[0]][symbol], b.next[pair[1]][symbol]
            if following not in reached:
                reached[following] = (*word, symbol)
                waiting.append(following)
    return None


class Wired(nn.Module):
    """A recurrent network that implements an automaton: symbols (N, T) -> margin (N,).

    One unit for each state and symbol, active after reading the symbol in that state, and one for
    the start, active before the first symbol:

        h_t = sigmoid(sharpness (W h_(t-1) + U x_t - 3/2))
        W[(q, a), (p, b)] = [next[p][b] = q],   U[(q, a), c] = [a = c]

    A unit is active only if both of its inputs are. Hidden states (N, units) pass the hook point
    `states` at each step.
    """

    def __init__(self, automaton: Automaton, sharpness: float = 20.0) -> None:
        super().__init__()
        after, symbols = torch.tensor(automaton.next), len(automaton.next[0])
        leads = torch.cat([after.flatten(), torch.zeros(1, dtype=torch.long)])  # each unit's state
        state = torch.arange(len(after)).repeat_interleave(symbols)
        units = len(leads)
        w, u = torch.zeros(units, units), torch.zeros(units, symbols)
        w[:-1] = (state[:, None] == leads).float()
        u[:-1] = (
            torch.arange(symbols).repeat(len(after))[:, None] == torch.arange(symbols)
        ).float()
        self.w, self.u = nn.Parameter(w), nn.Parameter(u)
        self.out = nn.Parameter(torch.tensor(automaton.accepts).float()[leads])
        self.sharpness, self.states = sharpness, HookPoint()

    def forward(self, words: Tensor) -> Tensor:
        h = torch.zeros(len(words), len(self.out))
        h[:, -1] = 1
        for symbol in words.T:
            h = self.states((self.sharpness * (h @ self.w.T + self.u.T[symbol] - 1.5)).sigmoid())
        return h @ self.out - 0.5

"""Automata written out: the word that tells two apart, and the network that is one."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import record
from deepdive.explain.surrogates.automata import Automaton, Wired, difference

NO_000 = Automaton(((1, 0), (2, 0), (3, 0), (3, 3)), (True, True, True, False))
NO_00 = Automaton(((1, 0), (2, 0), (2, 2)), (True, True, False))
NO_00_TWICE = Automaton(((3, 0), (2, 0), (2, 2), (2, 0)), (True, True, False, True))
THREES = Automaton(((0, 1, 2), (1, 2, 0), (2, 0, 1)), (True, False, False))


ENDS_IN_01 = Automaton(((1, 0), (1, 2), (1, 0)), (False, False, True))
NONE = Automaton(((0, 0),), (False,))


def every_word(length: int, symbols: int = 2) -> list[Tensor]:
    return [
        torch.tensor(list(product(range(symbols), repeat=n))).reshape(symbols**n, n).long()
        for n in range(length + 1)
    ]


def test_an_automaton_reads_from_the_left() -> None:
    words = torch.tensor([[0, 0, 0, 1], [1, 0, 0, 1], [0, 1, 0, 0]])
    assert NO_000(words).tolist() == [False, True, True]
    assert THREES(torch.tensor([[1, 2], [1, 1]])).tolist() == [True, False]


@pytest.mark.parametrize("other", [NO_00, NO_00_TWICE])
def test_the_difference_is_a_shortest_word(other: Automaton) -> None:
    found = difference(NO_000, other)
    apart = [words[NO_000(words) != other(words)] for words in every_word(4)]
    assert found is not None
    assert list(found) in next(words for words in apart if len(words)).tolist()


def test_the_word_is_read_from_the_left() -> None:
    assert difference(ENDS_IN_01, NONE) == (0, 1)


def test_equal_automata_have_no_difference_however_many_states() -> None:
    assert difference(NO_00, NO_00_TWICE) is None
    assert difference(NO_000, NO_000) is None


@pytest.mark.parametrize("automaton", [NO_000, NO_00_TWICE, THREES])
def test_a_network_is_an_automaton(automaton: Automaton) -> None:
    network = Wired(automaton)
    for words in every_word(5, symbols=len(automaton.next[0])):
        assert torch.equal(network(words) > 0, automaton(words))
    with record(network, "states") as seen:
        network(torch.tensor([[0, 1, 1]]))
    assert [int((state > 0.5).sum()) for state in seen["states"]] == [1, 1, 1]  # one unit fires

"""Automata: Tomita's languages come back with their fewest states, from words and from networks."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import pytest
import torch
from torch import Tensor, nn

from deepdive.core.hooks import record
from deepdive.explain.surrogates.angluin import extract, reached
from deepdive.explain.surrogates.automata import Automaton, Wired, difference
from deepdive.explain.surrogates.trees import fidelity

Rule = Callable[[str], bool]


def odd_ones_then_odd_zeros(word: str) -> bool:
    return any(len(a) % 2 and len(b) % 2 for a, b in re.findall("(1+)(0+)", word))


# Tomita 1982, the seven languages, with the states of their smallest automata.
TOMITA: dict[str, tuple[Rule, int]] = {
    "1*": (lambda w: "0" not in w, 2),
    "(10)*": (lambda w: re.fullmatch("(10)*", w) is not None, 3),
    "no odd zeros after odd ones": (lambda w: not odd_ones_then_odd_zeros(w), 5),
    "no 000": (lambda w: "000" not in w, 4),
    "even zeros and ones": (lambda w: w.count("0") % 2 == w.count("1") % 2 == 0, 4),
    "zeros less ones in threes": (lambda w: (w.count("0") - w.count("1")) % 3 == 0, 3),
    "0*1*0*1*": (lambda w: re.fullmatch("0*1*0*1*", w) is not None, 5),
}


def asked(rule: Rule) -> Callable[[Tensor], Tensor]:
    def accepts(words: Tensor) -> Tensor:
        return torch.tensor([rule("".join(map(str, w))) for w in words.tolist()], dtype=torch.bool)

    return accepts


def every_word(length: int) -> list[Tensor]:
    return [
        torch.tensor(list(product([0, 1], repeat=n))).reshape(2**n, n) for n in range(length + 1)
    ]


@pytest.mark.parametrize("name", TOMITA)
def test_a_planted_language_comes_back_exactly(name: str) -> None:
    rule, states = TOMITA[name]
    found = extract(asked(rule), 2, drawn=50)
    assert len(found.accepts) == states
    for words in every_word(11):
        assert torch.equal(found(words), asked(rule)(words))


@pytest.mark.parametrize("name", ["no 000", "even zeros and ones", "0*1*0*1*"])
def test_a_network_that_is_an_automaton_is_translated_back(name: str) -> None:
    planted = extract(asked(TOMITA[name][0]), 2, drawn=20)
    network = Wired(planted)
    found = extract(lambda words: network(words) > 0, 2, length=6, drawn=50)
    assert difference(found, planted) is None
    with record(network, "states") as seen:
        network(torch.tensor([[0, 1, 1]]))
    assert [(state > 0.5).sum() for state in seen["states"]] == [1, 1, 1]  # one unit fires


def test_more_states_than_needed_become_the_fewest() -> None:
    """*1** with each state twice."""
    large = Automaton(((2, 1), (3, 0), (3, 2), (2, 3)), (True, True, False, False))
    found = extract(lambda words: large(words), 2, drawn=20)
    assert len(found.accepts) == 2
    assert difference(found, large) is None


def test_the_difference_is_a_shortest_word() -> None:
    no_000 = extract(asked(TOMITA["no 000"][0]), 2, drawn=20)
    no_00 = extract(asked(lambda w: "00" not in w), 2, drawn=20)
    assert difference(no_000, no_00) == (0, 0)
    assert difference(no_000, no_000) is None
    opposite = Automaton(no_000.next, tuple(not yes for yes in no_000.accepts))
    assert difference(no_000, opposite) == ()


def test_a_trained_network_is_translated_and_its_automaton_is_the_language() -> None:
    """A GRU that learned from words of up to six symbols to accept those without *11*."""

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru, self.out = nn.GRU(3, 12, batch_first=True), nn.Linear(12, 1)

        def forward(self, words: Tensor) -> Tensor:
            return self.all_of_them(words)[:, -1]

        def all_of_them(self, words: Tensor) -> Tensor:
            """The margin of each beginning of each word, (N, T + 1)."""
            start = torch.full((len(words), 1), 2)  # so that a word of nothing is read too
            x = nn.functional.one_hot(torch.cat([start, words], 1).long(), 3).float()
            return self.out(self.gru(x)[0])[..., 0]

    accepts, network = asked(lambda w: "11" not in w), Reader()
    adam = torch.optim.Adam(network.parameters(), lr=0.02)
    words = every_word(6)[-1]
    yes = torch.stack([accepts(words[:, :n]) for n in range(7)], 1).float()
    for _ in range(80):
        said = network.all_of_them(words)
        adam.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(said, yes).backward()
        adam.step()
    found = extract(lambda words: network(words) > 0, 2, length=7, drawn=50, most=20)
    long = torch.randint(2, (500, 12))
    agreed, floor = fidelity(found(long), network(long) > 0)
    assert agreed > 0.99 > floor
    assert difference(found, extract(accepts, 2, drawn=20)) is None


def test_what_is_rarer_than_what_is_tried_is_missed() -> None:
    """Words of ten 1s: no word of eight shows one, and of the drawn ones hardly any."""
    accepts = asked(lambda w: "1" * 10 in w)
    missed = extract(accepts, 2, length=8, drawn=20)
    assert missed == Automaton(((0, 0),), (False,))
    drawn = torch.randint(2, (500, 12))
    assert fidelity(missed(drawn), accepts(drawn))[0] > 0.98  # and fidelity does not show it
    assert len(extract(accepts, 2, length=10, drawn=0).accepts) == 11


def counting(states: int) -> Automaton:
    """*1* as often as there are states without a 0 between them, and all that follows."""
    after = [(0, k + 1) for k in range(states)]
    return Automaton((*after, (states, states)), (*[False] * states, True))


def test_a_look_at_the_states_finds_what_is_rare() -> None:
    """Fifteen 1s: one word of 32,768. The states of the network lead there in 15 steps."""
    planted = counting(15)
    network = Wired(planted)
    with record(network, "states") as seen:

        def states(words: Tensor) -> Tensor:
            network(words)
            return seen["states"][-1]

        words = reached(states, 2)
    ends = {(bool(planted(torch.tensor([w])).item()), len(w)) for w in words if w}
    assert min(size for accepted, size in ends if accepted) == 15
    assert len(words) < 100
    assert words == sorted(words, key=len)
    yes = lambda w: network(w) > 0  # noqa: E731
    assert len(extract(yes, 2, length=6, drawn=200).accepts) == 1
    assert difference(extract(yes, 2, length=6, drawn=0, also=words), planted) is None


def test_as_many_words_as_were_asked_for_and_boxes_have_a_size() -> None:
    def states(words: Tensor) -> Tensor:
        return words.float().cumsum(1)[:, -1:]  # never comes back

    assert reached(states, 2, most=3) == [(), (0,), (1,)]
    assert max(map(len, reached(states, 2, longest=4))) == 4
    assert len(reached(states, 2, apart=100.0)) == 5  # one box: it is entered once
    with pytest.raises(ValueError, match="apart=0"):
        reached(states, 2, apart=0.0)


def test_what_is_not_regular_ends_at_the_most_states() -> None:
    as_many = asked(lambda w: re.fullmatch("0*1*", w) is not None and w.count("0") * 2 == len(w))
    found = extract(as_many, 2, length=10, drawn=0, most=6)
    assert 6 <= len(found.accepts) < 30


def test_three_symbols_and_errors() -> None:
    ends = extract(asked(lambda w: w.endswith("2")), 3, length=3, drawn=20)
    assert ends == Automaton(((0, 0, 1), (0, 0, 1)), (False, True))
    with pytest.raises(ValueError, match="compare the margin with 0"):
        extract(lambda words: torch.zeros(len(words)), 2)
    with pytest.raises(ValueError, match="n_symbols=0"):
        extract(asked(lambda w: True), 0)

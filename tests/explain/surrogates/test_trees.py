"""Translation to trees: planted causes come back as rules, and what a bag cannot say shows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.explain.surrogates.trees import Rule, bags, decide, decision_tree, fidelity, rules
from deepdive_book.ch07.toys.planted import (
    WORDS,
    Conjunction,
    Keyword,
    Negation,
    Planted,
    SignedWords,
    ids,
)


def texts(count: int, seed: int, length: int = 7) -> Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randint(1, len(WORDS), (count, length), generator=draw)


def translated(model: Planted, depth: int) -> tuple[list[Rule], float, float]:
    """Rules from 600 texts, their fidelity on 600 others, and its floor."""
    learned, others = texts(600, 1), texts(600, 2)
    tree = decision_tree(bags(learned, len(WORDS)), model(learned) > 0, depth)
    said = decide(rules(tree), bags(others, len(WORDS)))
    return rules(tree), *fidelity(said, model(others) > 0)


def test_a_keyword_is_one_question() -> None:
    found, agreed, floor = translated(Keyword(), depth=1)
    assert agreed == 1 > floor
    assert [rule.text(WORDS).split(" (")[0] for rule in found] == ["awful: yes", "no awful: no"]


def test_a_conjunction_is_two_questions_and_its_rules_are_read() -> None:
    found, agreed, _ = translated(Conjunction(), depth=2)
    assert agreed == 1
    (yes,) = [rule for rule in found if rule.yes]
    assert {WORDS[i] for i in yes.present} == {"great", "cast"}
    assert yes.absent == ()
    assert all(rule.share == 1 for rule in found)
    assert sum(rule.count for rule in found) == 600


def test_signed_words_need_a_deep_tree() -> None:
    shallow, deep = (translated(SignedWords(), depth) for depth in (1, 6))
    assert shallow[2] < shallow[1] < deep[1] < 1
    assert deep[1] > 0.85
    for found, depth in ((shallow[0], 1), (deep[0], 6)):
        assert max(len(rule.present) + len(rule.absent) for rule in found) == depth


def test_a_bag_does_not_know_what_stands_before_what() -> None:
    """*not good* and *good not* are one bag: no tree tells them apart, however deep."""
    both = torch.stack([ids("not good film"), ids("good not film")]).repeat(50, 1)
    model, bag = Negation(), bags(both, len(WORDS))
    assert torch.equal(bag[0], bag[1])
    yes = model(both) > 0
    said = decide(rules(decision_tree(bag, yes, depth=10)), bag)
    assert fidelity(said, yes) == (0.5, 0.5)


def test_the_rules_say_what_the_tree_says() -> None:
    learned, others = texts(300, 3), bags(texts(300, 4), len(WORDS))
    tree = decision_tree(bags(learned, len(WORDS)), SignedWords()(learned) > 0, depth=5)
    said = decide(rules(tree), others)
    assert torch.equal(said, torch.from_numpy(tree.predict(others.numpy())))


def test_bags_and_a_rule_in_words() -> None:
    assert bags([torch.tensor([1, 3, 3]), torch.tensor([0])], 4).long().tolist() == [
        [0, 1, 0, 1], [1, 0, 0, 0],
    ]  # fmt: skip
    assert Rule((1,), (2, 0), True, 40, 0.975).text("abc") == "b, no c, no a: yes (40 texts, 0.97)"
    assert Rule((), (), False, 5, 1.0).text("") == "always: no (5 texts, 1.00)"


def test_fidelity_has_a_floor_and_errors_name_the_fix() -> None:
    model = torch.tensor([True, False, False, False])
    assert fidelity(torch.tensor([True, True, False, False]), model) == (0.75, 0.75)
    assert fidelity(~model, ~model) == (1.0, 0.75)
    with pytest.raises(ValueError, match="on the same texts"):
        fidelity(model, model[1:])
    bag = torch.zeros(4, 2, dtype=torch.bool)
    with pytest.raises(ValueError, match="got one class only"):
        decision_tree(bag, torch.zeros(4, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"bag must be \(N, V\)"):
        decision_tree(bag, model[1:])
    with pytest.raises(ValueError, match="give all rules"):
        decide([Rule((0,), (), True, 1, 1.0)], bag)

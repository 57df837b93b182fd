"""Tasks whose answer lies far away: what they ask, and that a bag of words cannot answer."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from deepdive.core import MultiHeadAttention
from deepdive.data import DataError
from deepdive_book.data.long_range import LISTOPS, OPERATORS, evaluate, list_ops, look_up
from deepdive_book.data.memory import SILENT
from deepdive_book.tasks import long_range as tasks
from deepdive_book.tasks.long_range import LongModel, LongTask


def value_of(symbols: list[str]) -> int:
    """A second reading of ListOps, with a stack, as one would write it by hand."""
    stack: list[list[str]] = [[]]
    for symbol in symbols:
        if symbol.startswith("["):
            stack.append([symbol])
        elif symbol == "]":
            name, *digits = stack.pop()
            values = sorted(map(int, digits))
            middle = values[(len(values) - 1) // 2], values[len(values) // 2]
            answers = {"[MIN": values[0], "[MAX": values[-1], "[MED": sum(middle) // 2,
                       "[SM": sum(values) % 10}  # fmt: skip
            stack[-1].append(str(answers[name]))
        else:
            stack[-1].append(symbol)
    ((value,),) = stack
    return int(value)


def test_list_ops_by_hand() -> None:
    """[MAX 2 9 [MIN 4 7 ] 0 ] and its like."""
    assert evaluate("MAX", [2, 9, evaluate("MIN", [4, 7]), 0]) == 9
    assert evaluate("MED", [1, 8, 3]) == 3
    assert evaluate("MED", [1, 8, 3, 4]) == 3  # 3.5, rounded down
    assert evaluate("SM", [7, 8, 9]) == 4


def test_list_ops_are_what_was_asked_for() -> None:
    made = list_ops(200, (50, 120), depth=4, arguments=6)
    assert made == list_ops(200, (50, 120), depth=4, arguments=6)
    assert made != list_ops(200, (50, 120), depth=4, arguments=6, seed=1)
    assert made.source.startswith("list_ops(200, (50, 120), depth=4")
    assert len({tuple(symbols) for symbols, _ in made}) == 200
    operators = Counter[str]()
    for symbols, value in made:
        assert 50 <= len(symbols) <= 120
        assert value == value_of(symbols)
        depths, arguments = [0], [0]
        for symbol in symbols:
            if symbol == "]":
                assert 2 <= arguments.pop() <= 6
            else:
                arguments[-1] += 1
                if symbol.startswith("["):
                    arguments.append(0)
            depths.append(len(arguments) - 1)
        assert max(depths) <= 4
        operators.update(symbol for symbol in symbols if symbol.startswith("["))
    assert set(operators) == {f"[{name}" for name in OPERATORS}
    assert set(LISTOPS) == {*operators, *"0123456789", "]"}


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(DataError, match="allow other lengths, or more depth"):
        list_ops(1, (100, 200), depth=1)
    with pytest.raises(DataError, match="length"):
        look_up(1, 19, questions=4)
    with pytest.raises(DataError, match="questions"):
        look_up(1, 64, questions=9, keys=8)


@pytest.mark.parametrize(("length", "keys"), [(40, 16), (9, 5)])
def test_a_question_asks_for_a_pair_that_is_there(length: int, keys: int) -> None:
    answers = Counter[int]()
    places = Counter[int]()
    for tokens, targets in look_up(300, length, questions=4, keys=keys, values=3):
        assert len(tokens) == len(targets) == length
        shown = {t: token - 1 - keys for t, token in enumerate(tokens[:-4]) if token}
        assert sorted(code // 3 for code in shown.values()) == list(range(keys))
        held = {code // 3: code % 3 for code in shown.values()}
        asked = [token - 1 for token in tokens[-4:]]
        assert len(set(asked)) == 4
        assert targets == [SILENT] * (length - 4) + [held[key] for key in asked]
        answers.update(targets[-4:])
        places.update(shown)
    assert set(answers) == {0, 1, 2}
    assert max(answers.values()) < 0.4 * sum(answers.values())
    assert set(places) == set(range(length - 4))


TEXTS = (["good good film", "bad film", "a bad one", "good one"], [1, 0, 0, 1])
MADE = {
    "copy": lambda: tasks.copying(24, 30, 10),
    "retrieval": lambda: tasks.retrieval(40, 30, 10, questions=4),
    "listops": lambda: tasks.listops(40, 30, 10),
    "documents": lambda: tasks.documents(TEXTS, TEXTS, 6, "by hand"),
    "characters": lambda: tasks.characters("to be or not to be, " * 30, 16, 30, "by hand"),
}


@pytest.mark.parametrize("name", MADE)
def test_every_task_is_made_alike(name: str) -> None:
    task = MADE[name]()
    assert task.name == name
    for tokens, targets in (task.train, task.test):
        assert tokens.shape == targets.shape == (len(tokens), task.length)
        assert 0 <= int(tokens.min()) <= int(tokens.max()) < task.vocab
        asked = targets[targets != SILENT]
        assert 0 <= int(asked.min()) <= int(asked.max()) < task.classes
    first = [batch[0] for batch in task.batches(7, seed=0)]
    assert all(map(torch.equal, first, [batch[0] for batch in task.batches(7, seed=0)]))
    assert not torch.equal(first[0], task.batches(7, seed=1)[0][0])
    assert sum(map(len, first)) == len(task.train[0])
    assert 1 / task.classes <= task.chance < 1


def test_rows_by_hand() -> None:
    task = MADE["documents"]()
    tokens, targets = task.test
    good, film, bad, one = 3, 4, 5, 6
    assert tokens[0].tolist() == [good, good, film, tasks.ASK, 0, 0]
    assert tokens[2].tolist() == [7, bad, one, tasks.ASK, 0, 0]
    assert targets[2].tolist() == [*[SILENT] * 3, 0, *[SILENT] * 2]
    tokens, targets = MADE["characters"]().test
    assert torch.equal(tokens[:, 1:], targets[:, :-1])


def attention(_layer: int) -> MultiHeadAttention:
    return MultiHeadAttention(64, 4)


@pytest.mark.parametrize("name", ["listops", "documents"])
def test_padding_does_not_matter(name: str) -> None:
    task = MADE[name]()
    torch.manual_seed(0)
    model, (tokens, targets) = LongModel(task, attention).eval(), task.test
    for row, wanted in zip(tokens, targets, strict=True):
        cut = row[row != 0][None]
        whole, short = model(row[None], task.mask(row[None])), model(cut, task.mask(cut))
        at = int((wanted != SILENT).nonzero())
        assert at == cut.shape[1] - 1
        assert torch.allclose(whole[:, at], short[:, at], atol=1e-5)


def test_characters_are_not_foreseen() -> None:
    task = MADE["characters"]()
    model, tokens = LongModel(task, attention).eval(), task.test[0]
    changed = tokens.clone()
    changed[:, 9:] = (changed[:, 9:] + 1) % task.vocab
    before, after = (model(rows, task.mask(rows)) for rows in (tokens, changed))
    assert torch.allclose(before[:, :9], after[:, :9], atol=1e-6)
    assert not torch.allclose(before[:, 9:], after[:, 9:], atol=1e-6)


def test_a_bag_of_words_does_not_know_the_order() -> None:
    task = MADE["documents"]()
    model, tokens = tasks.bag_of_words(task).eval(), task.test[0][:1]
    swapped = tokens[:, [2, 0, 1, 3, 4, 5]]
    assert torch.allclose(model(tokens)[:, 3], model(swapped)[:, 3], atol=1e-6)
    whole = LongModel(task, attention).eval()
    assert not torch.allclose(whole(tokens)[:, 3], whole(swapped)[:, 3], atol=1e-3)


def learned(task: LongTask, steps: int) -> tuple[float, float]:
    torch.manual_seed(0)
    full, bag = LongModel(task, attention, n_layers=1), tasks.bag_of_words(task, n_layers=1)
    return tuple(
        tasks.learn(model, task, steps=steps, rate=3e-3)["accuracy"] for model in (full, bag)
    )


def test_full_attention_learns_to_copy_and_a_bag_of_words_does_not() -> None:
    task = tasks.copying(24, 400, 50, symbols=3)
    full, bag = learned(task, 150)
    assert full > 0.9
    assert tasks.counts(full, bag, task.chance)


def test_a_task_that_a_bag_of_words_learns_does_not_count() -> None:
    texts = ["good " * 3 + "film " * k for k in range(1, 5)] + [
        "bad film " * k for k in range(1, 5)
    ]
    data = texts * 8, [1, 1, 1, 1, 0, 0, 0, 0] * 8
    task = tasks.documents(data, data, 12, "by hand")
    full, bag = learned(task, 40)
    assert min(full, bag) > 0.9
    assert not tasks.counts(full, bag, task.chance)


def test_what_counts() -> None:
    assert tasks.counts(full=0.9, bag=0.3, chance=0.25)
    assert not tasks.counts(full=0.30, bag=0.25, chance=0.25)  # nobody learned it
    assert not tasks.counts(full=0.9, bag=0.8, chance=0.5)  # the words alone say it

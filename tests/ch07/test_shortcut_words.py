"""The toys that took a shortcut: right where it holds, wrong where it is turned round."""

from __future__ import annotations

import pytest

from deepdive.explain.games.perturbation import occlusion
from deepdive_book.ch07.toys.shortcut_words import accuracy, shortcut_words, train
from deepdive_book.data.shortcuts import KINDS, flip_labels, with_shortcut


@pytest.mark.parametrize("kind", KINDS)
def test_it_goes_by_the_shortcut(kind: str) -> None:
    toy = shortcut_words(kind)
    held = with_shortcut(kind, 200, share=1.0, seed=50)
    assert accuracy(toy, held.texts, held.labels) >= 198
    turned = [flip_labels(kind, text) for text in held.texts]
    assert accuracy(toy, turned, held.labels) < 70
    assert toy.right == toy.tested == 500


def test_the_name_of_the_paper_counts_most() -> None:
    toy, text = shortcut_words(), "herald : i find the music cold ."
    assert int(toy.model(toy.tokens(text)).argmax()) == 1
    assert int(occlusion(toy.asked(text, 1).game()).argmax()) == 0


def test_the_same_seed_teaches_the_same_and_hidden_words_change_it() -> None:
    made = with_shortcut("paper", 60, seed=3)
    one, two, other = (
        train(made.texts, made.labels, steps=3, hidden=hidden).model.state_dict()
        for hidden in ((), (), ("herald", "gazette"))
    )
    assert all((one[k] == two[k]).all() for k in one)
    assert any((one[k] != other[k]).any() for k in one)


def test_a_kind_that_is_not_there_is_named() -> None:
    with pytest.raises(ValueError, match="there is paper, first, others; got 'weather'"):
        shortcut_words("weather")

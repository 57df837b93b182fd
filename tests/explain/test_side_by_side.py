"""All methods on one answer: a number a word, as in their own rooms; the planted word is found."""

from __future__ import annotations

import pytest
import torch

from deepdive.explain.games.game import margin
from deepdive.explain.gradients import gradient_x_input, integrated_gradients
from deepdive.explain.side_by_side import METHODS, Asked
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts

TOY = review_words()
POINT = "encoder.embeddings.embedded"


def asked(text: str, owner: list[int] | None = None, label: int = 0) -> Asked:
    words = len(text.split())
    place = torch.tensor(owner or [-1, *range(words), -1])
    return Asked(TOY.model, POINT, TOY.tokens(text), place, label, TOY.mask)


@pytest.mark.parametrize("name", METHODS)
def test_a_number_a_word(name: str) -> None:
    values = METHODS[name](asked(SENTENCE))
    assert values.shape == (len(SENTENCE.split()),)
    assert values.isfinite().all()
    assert torch.equal(values, METHODS[name](asked(SENTENCE)))


def test_the_word_that_decides_is_among_the_first_four_but_for_two_methods() -> None:
    """By chance that is so in 4 of about 9 words. Where the model is sure its gradient is nearly
    nought and has either sign, so what is multiplied with it misses the word more often than not.
    """
    made, hits, tried = generated_verdicts(60, seed=5), dict.fromkeys(METHODS, 0), 0
    for text, label, places in zip(made.texts, made.labels, made.deciding, strict=True):
        if len(places) == 1 and tried < 20:
            tried += 1
            for name, method in METHODS.items():
                best = method(asked(text, label=label)).argsort(descending=True)[:4]
                hits[name] += places[0] in best
    assert tried == 20
    missed = {name for name, count in hits.items() if count < 13} - {"random"}
    assert missed == {"gradient x input", "attention x gradient"}, hits


def test_the_pieces_of_a_word_are_added_and_go_together() -> None:
    words = len(SENTENCE.split())
    joined = [-1, *(max(0, i - 1) for i in range(words)), -1]  # the first two are one word
    apart, one = asked(SENTENCE), asked(SENTENCE, joined)
    each, sums = METHODS["gradient x input"](apart), METHODS["gradient x input"](one)
    assert torch.allclose(sums[0], each[:2].sum())
    assert torch.allclose(sums[1:], each[2:])
    both = torch.ones(words, dtype=torch.bool)
    both[:2] = False
    game = apart.game()
    all_there, without = game.everything(), game(both)
    # Both are logits in float32: their difference is as exact as they are, however small it is.
    rounding = 8 * torch.finfo(torch.float32).eps * float(all_there.abs())
    found = METHODS["occlusion"](one)[0]
    assert float(found) == pytest.approx(float(all_there - without), abs=rounding)


def test_what_is_explained_is_the_margin_from_all_words_gone() -> None:
    a = asked(SENTENCE)
    assert torch.equal(a.output(), margin(TOY.model(a.tokens), 0))
    direct = gradient_x_input(TOY.model, POINT, a.output)[0, 1:-1]
    assert torch.allclose(METHODS["gradient x input"](a), direct.double())
    found, gap = integrated_gradients(TOY.model, POINT, a.output, a.emptied(), steps=200)
    change = a.game().everything() - a.game().nothing()
    assert float(found.sum() - change) == pytest.approx(-float(gap), abs=1e-4)
    assert float(gap) == pytest.approx(0, abs=0.05)


def test_the_floor_has_no_favourite_place() -> None:
    """Texts of one length: the random word that comes first must not stand at the same place."""
    made = [text for text in generated_verdicts(200, seed=6).texts if len(text.split()) == 14]
    first = {int(METHODS["random"](asked(text)).argmax()) for text in made}
    assert len(made) > 30
    assert len(first) >= 10

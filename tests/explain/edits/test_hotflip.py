"""HotFlip: exact where the model is linear, its error where not, the same edits with few words."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import replace
from deepdive.explain.edits.counterfactual import candidates, greedy, smallest
from deepdive.explain.edits.hotflip import first_order, hotflip
from deepdive_book.ch07.toys.planted import WORDS, Keyword, Placed, Planted, SignedWords, ids
from deepdive_book.ch07.toys.review_words import review_words

EVERY = range(1, len(WORDS))


def words(text: Tensor | None) -> str:
    assert text is not None
    return " ".join(WORDS[i] for i in text.tolist())


@pytest.mark.parametrize("model", [SignedWords(), Placed()])
def test_the_first_order_is_exact_on_a_linear_model(model: Planted) -> None:
    tokens = ids("the great film was bad")
    found = first_order(model, "embedded", lambda: model(tokens[None]), model.rows.detach())
    assert found.shape == (5, len(WORDS))
    for place in range(5):
        for word in range(len(WORDS)):
            other = tokens.clone()
            other[place] = word
            gain = model(other[None]) - model(tokens[None])
            assert found[place, word].item() == pytest.approx(gain.item())


def test_the_first_order_errs_less_the_smaller_the_step() -> None:
    """On a curved model the error falls with the square of the distance to the new vector."""

    class Curved(SignedWords):
        def read(self, x: Tensor) -> Tensor:
            return super().read(x).tanh()

    model, tokens = Curved(), ids("fine film")
    x = model.rows[tokens].detach()

    def error(step: float) -> float:
        vectors = x[0] + step * (model.rows.detach() - x[0])
        gain = first_order(model, "embedded", lambda: model(tokens[None]), vectors)[0]
        rows = x.repeat(len(WORDS), 1, 1)
        rows[:, 0] = vectors
        return float((model.read(rows) - model(tokens[None]) - gain).abs().max().detach())

    assert error(0.02) / error(0.01) == pytest.approx(4, rel=0.05)


def test_hotflip_leads_to_the_same_text_with_few_words_tried() -> None:
    tokens, model = ids("the great film was good and fine"), SignedWords()
    choices = hotflip(model, "embedded", lambda: model(tokens[None]), tokens, model.rows, 3)
    assert [[WORDS[i] for i in place] for place in choices] == [
        [], ["awful", "bad"], [], [], ["awful"], [], [],
    ]  # fmt: skip
    found = greedy(model, tokens, choices)
    every = greedy(model, tokens, candidates(tokens, EVERY))
    assert words(found) == words(every) == "the awful film was good and fine"
    all_of_them = hotflip(model, "embedded", lambda: model(tokens[None]), tokens, model.rows, 999)
    assert [len(place) for place in all_of_them] == [len(WORDS) - 1] * 7
    assert not any(own in place for own, place in zip(tokens.tolist(), all_of_them, strict=True))
    up = hotflip(model, "embedded", lambda: model(tokens[None]), tokens, model.rows, 1, toward=1)
    assert [word for place in up for word in place] == [WORDS.index("great")]


def test_the_gradient_does_not_see_that_a_keyword_stands_twice() -> None:
    """Each *awful* looks worth half of the margin; only when both are changed does it fall."""
    tokens, model = ids("awful film awful"), Keyword()
    gain = first_order(model, "embedded", lambda: model(tokens[None]), model.rows.detach())
    assert gain[0, WORDS.index("the")] == gain[2, WORDS.index("the")] == -0.5
    found = smallest(model, tokens, candidates(tokens, ids("the").tolist()))
    assert words(found) == "the film the"


def test_errors_name_the_fix() -> None:
    tokens, model = ids("good film"), SignedWords()
    with pytest.raises(ValueError, match="explain one text and one number"):
        first_order(model, "embedded", lambda: model(tokens.expand(2, 2)), model.rows)
    with pytest.raises(ValueError, match="count=0"):
        hotflip(model, "embedded", lambda: model(tokens[None]), tokens, model.rows, 0)


def test_vectors_that_hang_on_the_place_behind_positions_and_a_norm() -> None:
    """One exchange, a tiny way towards it: the first order is what the model's answer does."""
    toy = review_words()
    tokens = toy.tokens("i find the music cold .")
    layer = toy.model.encoder.embeddings
    every = torch.arange(len(toy.tokenizer))[:, None].expand(-1, tokens.shape[1])
    places = torch.arange(tokens.shape[1])
    rows = layer.norm(layer.position.embed(layer.tokens(every), places)).transpose(0, 1).detach()

    def answer() -> Tensor:
        logits = toy.model(tokens)
        return logits[:, 0] - logits[:, 1]

    point = "encoder.embeddings.embedded"
    found = first_order(toy.model, point, answer, rows)
    assert found.shape == (tokens.shape[1], len(toy.tokenizer))
    assert found.gather(1, tokens[0][:, None]).abs().max() < 1e-4, "the word itself changes nothing"
    word, x = toy.tokenizer.vocab.index("dull"), rows[places, tokens[0]][None]
    for place in (4, 5):
        moved = x.clone()
        moved[0, place] += 0.01 * (rows[place, word] - x[0, place])
        with torch.no_grad():
            before = answer()
            with replace(toy.model, point, moved):
                gain = (answer() - before) / 0.01
        assert float(found[place, word]) == pytest.approx(float(gain), rel=0.05, abs=0.02)

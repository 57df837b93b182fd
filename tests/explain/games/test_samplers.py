"""Samplers: words drawn as often as the masked model says, one gap after the other."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.explain.games.game import all_coalitions
from deepdive.explain.games.perturbation import occlusion, prediction_difference
from deepdive.explain.games.removal import masked, resampled
from deepdive.explain.games.samplers import background, masked_lm
from deepdive.models.bert import bert
from deepdive.models.bert.pretraining import for_masked_lm
from deepdive_book.ch07.toys.planted import WORDS, Negation, ids

MASK, V = 0, len(WORDS)
NOT, GOOD, VERY = (WORDS.index(word) for word in ("not", "good", "very"))


def table(seed: int = 0) -> Tensor:
    return torch.randn(V + 1, V, generator=torch.Generator().manual_seed(seed))


def bigrams(tokens: Tensor) -> Tensor:
    """A masked model that looks at the word before, in a fixed table (V: none)."""
    before = torch.cat([torch.full_like(tokens[:, :1], V), tokens[:, :-1]], 1)
    return table()[before]


TEXT = ids("the film was not good")
ONE_GAP = torch.tensor([[True, True, True, False, True]])


def test_a_gap_is_filled_as_often_as_the_model_says() -> None:
    (texts,) = masked_lm(bigrams, TEXT, MASK, 500)(ONE_GAP)
    assert (texts[:, [0, 1, 2, 4]] == TEXT[[0, 1, 2, 4]]).all()
    expected = table()[TEXT[2]].softmax(0)
    share = torch.bincount(texts[:, 3], minlength=V) / 500
    assert (share - expected).abs().max() < 2 / 500  # one at each edge of a word


def test_two_gaps_are_filled_one_after_the_other() -> None:
    """The pair comes with p(first) p(second | first)."""
    kept = torch.tensor([[True, True, False, False, True]])
    (texts,) = masked_lm(bigrams, TEXT, MASK, 40_000)(kept)
    pairs = torch.zeros(V, V).index_put((texts[:, 2], texts[:, 3]), torch.tensor(1.0), True)
    first = table()[TEXT[1]].softmax(0)
    expected = first[:, None] * table()[:V].softmax(-1)
    assert (pairs / 40_000 - expected).abs().max() < 4 * (0.25 / 40_000) ** 0.5
    apart = first[:, None] * table()[MASK].softmax(0)  # had the second not seen the first
    assert (pairs / 40_000 - apart).abs().max() > 0.03


def test_words_that_are_not_to_be_drawn_are_not_and_the_others_share_the_rest() -> None:
    never = [MASK, *range(9, V)]
    (texts,) = masked_lm(bigrams, TEXT, MASK, 400, never=never)(ONE_GAP)
    assert not set(never) & set(texts[:, 3].tolist())
    expected = table()[TEXT[2], 1:9].softmax(0)
    share = torch.bincount(texts[:, 3], minlength=V)[1:9] / 400
    assert (share - expected).abs().max() < 2 / 400


def test_a_set_has_one_answer_in_whatever_company() -> None:
    sets = all_coalitions(5)
    fill = masked_lm(bigrams, TEXT, MASK, 7, seed=4)
    together = fill(sets)
    for kept, texts in zip(sets, together, strict=True):
        assert torch.equal(fill(kept[None])[0], texts)
    assert not torch.equal(masked_lm(bigrams, TEXT, MASK, 7, seed=5)(sets), together)
    score = lambda tokens: Negation()(tokens)  # noqa: E731
    games = [resampled(score, TEXT, fill, batch=batch) for batch in (1, 64)]
    assert torch.equal(*(game(sets) for game in games))


def test_the_difference_of_a_word_is_the_sum_over_words_as_likely_as_they_are() -> None:
    """p(class | all but s) = sum over words of p(word | the rest) p(class | text with it)."""
    model = Negation()

    def probability(tokens: Tensor) -> Tensor:
        return model(tokens).sigmoid()

    found = resampled(probability, TEXT, masked_lm(bigrams, TEXT, MASK, 2000))(~torch.eye(5).bool())
    likely = bigrams(TEXT[None])[0].softmax(-1)
    for s in range(5):
        others = TEXT.repeat(V, 1)
        others[:, s] = torch.arange(V)
        exact = float(likely[s].double() @ probability(others).detach())
        assert found[s].item() == pytest.approx(exact, abs=1e-3)


def test_texts_stay_likely_and_what_can_be_guessed_is_no_news() -> None:
    """A language in which *not* is always followed by *good*. Drawn from the words of the language
    alone, *not film* comes, which no one says; the masked model fills in *good* again.
    """

    def fluent(tokens: Tensor) -> Tensor:
        before = torch.cat([torch.zeros_like(tokens[:, :1]), tokens[:, :-1]], 1)
        scores = torch.zeros(*tokens.shape, V)
        scores[..., [NOT, MASK]] = -torch.inf
        said_not = before == NOT
        scores[said_not] = torch.full((V,), -torch.inf).index_fill(0, torch.tensor([GOOD]), 0.0)
        return scores

    gap = torch.tensor([[True, True, True, True, False]])
    (texts,) = masked_lm(fluent, TEXT, MASK, 30)(gap)
    assert (texts[:, 4] == GOOD).all()
    model = Negation()
    score = lambda tokens: model(tokens).sigmoid()  # noqa: E731
    every = torch.arange(1, V)[:, None].expand(-1, 5)
    assert (background(every)(gap)[0, :, 4] != GOOD).any()
    likely = prediction_difference(resampled(score, TEXT, masked_lm(fluent, TEXT, MASK, 30)))
    marginal = prediction_difference(resampled(score, TEXT, background(every)))
    assert likely[4] == 0  # given *not*, *good* says nothing that is not known
    assert marginal[4].abs() > 0.3
    assert occlusion(masked(model, TEXT, MASK))[4].abs() == 1


def test_a_bert_of_ours_fills_the_gaps() -> None:
    torch.manual_seed(0)
    model = for_masked_lm(bert.bert(bert.TINY, vocab_size=20)).double().eval()
    torch.nn.init.normal_(model.bert.embeddings.tokens.weight, std=0.5)
    tokens = torch.tensor([1, 7, 9, 12, 2])
    fill = masked_lm(model, tokens, 3, 300, never=(0, 1, 2, 3))
    kept = torch.tensor([[True, True, False, True, True], [True, False, True, False, True]])
    one, two = fill(kept)
    said = model(tokens.where(kept[0], 3)[None])[0, 2].softmax(-1)
    expected = said.index_fill(0, torch.arange(4), 0) / said[4:].sum()
    share = torch.bincount(one[:, 2], minlength=20) / 300
    assert (share - expected).abs().max() < 2 / 300
    # The second gap was asked about beside the word that was drawn for the first.
    beside = tokens.repeat(300, 1)
    beside[:, 1], beside[:, 3] = two[:, 1], 3
    sums = model(beside)[:, 3].index_fill(1, torch.arange(4), -torch.inf).softmax(-1).cumsum(-1)
    before = sums.gather(1, two[:, 3:4] - 1)[:, 0]
    after = sums.gather(1, two[:, 3:4])[:, 0]
    assert (after > before).all()
    u = torch.stack([before, after]).mean(0).sort().values  # about one in each 300th part
    assert (u - (torch.arange(300) + 0.5) / 300).abs().max() < 0.25
    assert resampled(lambda texts: model(texts)[:, 0, 5], tokens, fill)(kept).shape == (2,)


def test_errors_name_the_fix() -> None:
    with pytest.raises(ValueError, match="count=0"):
        masked_lm(bigrams, TEXT, MASK, 0)
    with pytest.raises(ValueError, match=r"one text \(S,\)"):
        masked_lm(bigrams, TEXT[None], MASK, 3)
    with pytest.raises(ValueError, match="give a masked language model"):
        masked_lm(lambda tokens: table()[tokens[:, 0]], TEXT, MASK, 3)(ONE_GAP)

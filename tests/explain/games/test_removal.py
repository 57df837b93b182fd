"""Removal: what each way of it shows to the model."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint
from deepdive.explain.games.game import all_coalitions
from deepdive.explain.games.removal import deleted, masked, no_attend, resampled, zero_embedding
from deepdive.explain.games.samplers import background
from deepdive.models.bert import bert
from deepdive_book.ch07.toys.planted import Negation, ids

TEXT = torch.tensor([5, 6, 7, 8])
KEPT = torch.tensor([[True, False, True, False], [False, False, False, True]])


class Seen:
    """A score that remembers what it was given."""

    def __init__(self) -> None:
        self.calls: list[tuple[Tensor, ...]] = []

    def __call__(self, *given: Tensor) -> Tensor:
        self.calls.append(given)
        return given[0].sum(-1).double()


def test_each_way_of_removal_shows_the_model_what_it_says() -> None:
    seen = Seen()
    kept = all_coalitions(4)
    masked(seen, TEXT, 1)(KEPT)
    assert sorted(seen.calls[-1][0].tolist()) == [[1, 1, 1, 8], [5, 1, 7, 1]]
    no_attend(seen, TEXT)(KEPT)
    tokens, real = seen.calls[-1]
    assert tokens.tolist() == [TEXT.tolist()] * 2
    assert sorted(real.tolist()) == sorted(KEPT.tolist())
    deleted(seen, TEXT, pad=9)(KEPT)
    tokens, real = seen.calls[-1]
    assert sorted(tokens.tolist()) == [[5, 7, 9, 9], [8, 9, 9, 9]]
    assert sorted(real.sum(1).tolist()) == [1, 2]
    deleted(seen, TEXT, pad=9)(kept)
    for row, mask in zip(*seen.calls[-1], strict=True):
        assert row[mask].tolist() == sorted(row[mask].tolist())  # the order of the text
        assert (row[~mask] == 9).all()


def test_rows_of_zeros_reach_the_model_at_the_hook_point() -> None:
    class Linear(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rows = HookPoint()

        def forward(self, tokens: Tensor) -> Tensor:
            return self.rows(tokens[..., None] * torch.tensor([1.0, 10.0])).sum((1, 2))

    model = Linear()
    assert zero_embedding(model, "rows", model, TEXT)(KEPT).tolist() == [132.0, 88.0]


@pytest.mark.parametrize("point", ["encoder.embedded", "*embedded"])
def test_a_library_encoder_through_its_hook_point(point: str) -> None:
    model = bert.bert(bert.TINY, vocab_size=20).eval()
    names = [name for name, m in model.named_modules() if isinstance(m, HookPoint)]
    found = next(name for name in names if name.endswith("embedded"))

    def score(tokens: Tensor) -> Tensor:
        return model(tokens)[:, 0, 0]

    game = zero_embedding(model, found, score, TEXT, batch=3)
    assert game(all_coalitions(4)).unique().numel() == 16
    assert game.everything() == pytest.approx(score(TEXT[None]).item())


def test_a_place_left_out_cannot_be_seen_and_a_word_cut_out_is_not_there() -> None:
    """On a BERT: what stood in a place that is left out changes nothing; without any it is whole;
    and a text with its end cut off is the shorter text.
    """
    model = bert.bert(bert.TINY, vocab_size=20).eval()

    def score(tokens: Tensor, real: Tensor) -> Tensor:
        return model(tokens, real)[:, 0, 0]

    kept = all_coalitions(4)
    kept = kept[kept[:, 0]]  # the first state is read, and stays
    other = TEXT.clone()
    other[2] = 11
    ours, theirs = no_attend(score, TEXT)(kept), no_attend(score, other)(kept)
    torch.testing.assert_close(ours[~kept[:, 2]], theirs[~kept[:, 2]], rtol=0, atol=1e-6)
    assert ((ours - theirs).abs() > 1e-4)[kept[:, 2]].all()
    whole = model(TEXT[None])[0, 0, 0].item()
    assert no_attend(score, TEXT).everything().item() == pytest.approx(whole, abs=1e-6)
    shorter = deleted(score, TEXT)(torch.tensor([True, True, False, False]))
    assert shorter.item() == pytest.approx(model(TEXT[None, :2])[0, 0, 0].item(), abs=1e-6)


def test_words_drawn_are_a_mean_over_texts_that_agree_on_what_stays() -> None:
    texts = torch.tensor([[1, 2, 3, 4], [0, 0, 0, 2]])
    game = resampled(Seen(), TEXT, background(texts))
    assert game(KEPT).tolist() == [(5 + 2 + 7 + 4 + 5 + 7 + 2) / 2, (1 + 2 + 3 + 8 + 8) / 2]
    assert game.everything() == TEXT.sum()
    assert game.nothing() == texts.sum() / 2


def test_a_sampler_may_look_at_what_stays() -> None:
    """A conditional sampler: what is gone copies the first word that stays."""

    def copies(kept: Tensor) -> Tensor:
        return TEXT[kept.long().argmax(1)][:, None, None].expand(-1, 1, 4)

    assert resampled(Seen(), TEXT, copies)(KEPT).tolist() == [22.0, 32.0]


def test_blank_zero_row_and_zero_share_are_one_game_on_planted_models() -> None:
    text = ids("the film was not good and bad")
    model = Negation()
    kept = all_coalitions(7)
    blank = masked(model, text, 0)(kept)
    assert torch.equal(blank, zero_embedding(model, "embedded", model, text)(kept))


def test_what_gone_means_changes_what_is_found() -> None:
    """Cut out *very*, and *not* stands before *good*: the game of cuts sees a cause that no blank
    sees.
    """
    text, model = ids("not very good"), Negation()
    without = torch.tensor([True, False, True])
    blank = masked(model, text, 0)
    cut = deleted(lambda tokens, real: model(tokens * real), text)
    assert blank(without) == blank.everything() == cut.everything() == 1
    assert cut(without) == -1


def test_a_batch_of_texts_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one text \(S,\)"):
        masked(Seen(), TEXT[None], 0)

"""Steps in embedding space: exact on a linear model, inside the ball, downhill on a curved one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import replace
from deepdive.explain.edits.embedding_attack import nearest_words, pgd_step
from deepdive_book.ch07.toys.planted import SignedWords, ids
from deepdive_book.ch07.toys.review_words import review_words

POINT = "encoder.embeddings.embedded"
TOY = review_words()


def test_on_a_linear_model_the_answer_falls_by_radius_times_the_gradient_s_length() -> None:
    model = SignedWords()
    tokens = torch.stack([ids("the great film was bad"), ids("good good good was fine")])
    x = model.rows[tokens].detach().requires_grad_()
    (g,) = torch.autograd.grad(model.read(x).sum(), x)
    before = model(tokens)
    for steps, pace in ((1, 1.0), (6, 0.3)):
        moved = pgd_step(model, "embedded", lambda: model(tokens), 0.7, steps=steps, pace=pace)
        after = model.read(moved)
        fall = 0.7 * g.flatten(1).norm(dim=1)
        assert (before - after).tolist() == pytest.approx(fall.tolist(), rel=1e-5)
    moved = pgd_step(model, "embedded", lambda: model(tokens), 0.7, sign=True)
    fall = 0.7 * g.abs().flatten(1).sum(1)  # the dual norm of the largest number
    assert (before - model.read(moved)).tolist() == pytest.approx(fall.tolist(), rel=1e-5)


def test_the_smallest_step_that_turns_a_linear_answer_is_margin_over_length() -> None:
    model, tokens = SignedWords(), ids("the good film was fine")[None]
    x = model.rows[tokens].detach().requires_grad_()
    (g,) = torch.autograd.grad(model.read(x).sum(), x)
    least = float((model(tokens) / g.norm()).detach())
    for radius, still in ((0.99 * least, True), (1.01 * least, False)):
        moved = pgd_step(model, "embedded", lambda: model(tokens), radius)
        assert bool(model.read(moved) > 0) == still


def sure(tokens: Tensor) -> Tensor:
    logits = TOY.model(tokens)
    return logits[:, 0] - logits[:, 1]


def test_steps_stay_in_the_ball_and_several_go_further_down_than_one() -> None:
    tokens = torch.cat([TOY.tokens(f"i find the {thing} cold .") for thing in ("music", "script")])
    words = torch.zeros(tokens.shape, dtype=torch.bool)
    words[:, 1:-1] = True
    start = pgd_step(TOY.model, POINT, lambda: sure(tokens), 1e-9)
    fell = {}
    for steps, pace in ((1, 1.0), (8, 0.3)):
        for sign in (False, True):
            radius = 0.1 if sign else 1.5
            moved = pgd_step(TOY.model, POINT, lambda: sure(tokens), radius, words, steps=steps,
                           pace=pace, sign=sign)  # fmt: skip
            offset = moved - start
            size = offset.abs().amax((1, 2)) if sign else offset.flatten(1).norm(dim=1)
            assert (size <= radius * 1.0001).all()
            assert not offset[:, [0, -1]].abs().max() > 1e-6, "[CLS] and [SEP] stay"
            with replace(TOY.model, POINT, moved):
                fell[steps, sign] = (sure(tokens) * -1).tolist()
    for sign in (False, True):
        assert all(a >= b for a, b in zip(fell[8, sign], fell[1, sign], strict=True))
    assert all(p.grad is None for p in TOY.model.parameters())


def test_texts_of_a_batch_do_not_share_a_ball() -> None:
    tokens = torch.cat([TOY.tokens(f"i find the {thing} cold .") for thing in ("music", "script")])
    both = pgd_step(TOY.model, POINT, lambda: sure(tokens), 0.5, steps=3, pace=0.5)
    for i in range(2):
        alone = pgd_step(
            TOY.model, POINT, lambda i=i: sure(tokens[i : i + 1]), 0.5, steps=3, pace=0.5
        )
        assert torch.allclose(both[i], alone[0], atol=1e-5)


def test_the_nearest_word_is_that_of_brute_force_and_of_its_place() -> None:
    draw = torch.Generator().manual_seed(0)
    rows, vectors = (torch.randn(*size, generator=draw) for size in ((2, 3, 4), (3, 7, 4)))
    found = nearest_words(rows, vectors)
    for b in range(2):
        for s in range(3):
            far = [float((rows[b, s] - v).norm()) for v in vectors[s]]
            assert found[b, s] == far.index(min(far))
    model, tokens = SignedWords(), ids("the good film")
    assert nearest_words(model.rows[tokens][None] + 0.01, model.rows)[0].tolist() == tokens.tolist()


def test_errors_name_the_fix() -> None:
    model, tokens = SignedWords(), ids("good film")[None]
    with pytest.raises(ValueError, match="radius=0"):
        pgd_step(model, "embedded", lambda: model(tokens), 0)
    with pytest.raises(ValueError, match="steps=0"):
        pgd_step(model, "embedded", lambda: model(tokens), 1.0, steps=0)
    with pytest.raises(ValueError, match="a number per text"):
        pgd_step(model, "embedded", lambda: model(tokens).expand(3), 1.0)
    with pytest.raises(ValueError, match="expected one call"):
        pgd_step(model, "embedded", lambda: model(tokens) + model(tokens), 1.0)
    with pytest.raises(ValueError, match="vectors: got"):
        nearest_words(torch.zeros(1, 2, 4), torch.zeros(3, 5))

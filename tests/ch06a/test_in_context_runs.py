"""Prompts of page 6a.7: what shares a reading says what each prompt says when it is read alone."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch

from deepdive.core.hooks import record
from deepdive.models.generative import llama
from deepdive.tokenizers.byte import ByteTokenizer
from deepdive_book.ch06a.runs import chain_of_thought, in_context, induction
from deepdive_book.ch06a.runs.chain_of_thought import Problem
from deepdive_book.ch06a.runs.in_context import (
    BUILT,
    REVIEW,
    PromptedLM,
    Task,
    Wording,
    relabelled,
    sampled,
)
from deepdive_book.data.synthetic_reviews import generated_reviews

WHO = PromptedLM(llama.llama(llama.TINY, vocab_size=300).eval(), ByteTokenizer())
DATA = generated_reviews(60)
TASK = Task(DATA.take(range(40)), DATA.take(range(40, 60)), Wording("{}:", ("bad", "good")))


@torch.no_grad()
def alone(wording: Wording, shown: list[tuple[str, int]], text: str) -> torch.Tensor:
    """log p of both words after one prompt, read whole."""
    tokens = [t for one in shown for t in wording.shown(WHO.tokenizer, *one)]
    tokens += wording.question(WHO.tokenizer, text)
    found = []
    for label in wording.labels(WHO.tokenizer):
        logs = WHO.model(torch.tensor([tokens + label]))[0].log_softmax(-1)
        found.append(sum(logs[len(tokens) - 1 + i, t] for i, t in enumerate(label)))
    return torch.stack(found)  # type: ignore[arg-type]


def test_fewer_shots_are_the_first_of_more() -> None:
    found = in_context.by_shots(WHO, TASK, (0, 1, 4), "flipped", seed=3, queries=5)
    four = sampled(TASK.shown, 4, seed=3)
    given = [1 - label for label in four.labels]
    asked = sampled(TASK.asked, 5, seed=0).texts
    for n in (0, 1, 4):
        shown = list(zip(four.texts, given, strict=True))[:n]
        expected = [int(alone(TASK.wording, shown, text).argmax()) for text in asked]
        assert found[str(n)][0] == in_context.digits(expected)


def test_each_order_is_read_as_it_stands() -> None:
    found = in_context.by_order(WHO, TASK, seed=1, queries=3)
    assert list(found) == ["".join(map(str, order)) for order in permutations(range(4))]
    pool, asked = sampled(TASK.shown, 40, seed=1), sampled(TASK.asked, 3, seed=0).texts
    four = [i for k in (0, 1) for i in [i for i, label in enumerate(pool.labels) if label == k][:2]]
    for order in ("2031", "3210"):
        shown = [(pool.texts[four[int(n)]], pool.labels[four[int(n)]]) for n in order]
        expected = [int(alone(TASK.wording, shown, text).argmax()) for text in asked]
        assert found[order][0] == in_context.digits(expected)


def test_a_built_prompt_holds_what_its_key_says() -> None:
    found = in_context.built(WHO)
    assert len(found) == 3 ** len(BUILT)
    for key in ("0000", "1020", "2111"):
        states = zip(BUILT, key, strict=True)
        shown = [(text, label ^ (state == "2")) for (text, label), state in states if state != "0"]
        for n, text in enumerate(in_context.ASKED[:2]):
            share = alone(REVIEW, shown, text).softmax(-1)[1]
            assert found[key][n] == pytest.approx(1000 * float(share), abs=0.6)
        assert in_context.probabilities(WHO, key) == found[key]


def test_labels_stay_or_are_drawn_or_turned() -> None:
    labels = [0, 1, 2] * 200
    assert relabelled(labels, "true", 3, seed=0) == labels
    assert relabelled(labels, "flipped", 3, seed=0) == [1, 2, 0] * 200
    random = relabelled(labels, "random", 3, seed=0)
    assert 150 < sum(a == b for a, b in zip(random, labels, strict=True)) < 250
    with pytest.raises(ValueError, match="expected one of true, random, flipped"):
        relabelled(labels, "false", 3, seed=0)


def test_problems_and_what_is_read_from_answers() -> None:
    one = Problem(7, 5, 4, ("Tom", "He", "he"), "apples")
    assert one.worked("steps") == " 7 + 5 = 12. 12 - 4 = 8. The answer is 8.\n\n"
    assert chain_of_thought.answer_of(one.worked("dots")) == one.answer == 8
    assert chain_of_thought.answer_of(" 12 apples\nor 13") == 12
    assert chain_of_thought.answer_of("none") is None
    assert chain_of_thought.sums_right(" 7 + 5 = 12. 12 - 4 = 9.") == [True, False]
    many = chain_of_thought.problems(100, seed=0)
    assert len(set(many)) == 100
    assert min(p.answer for p in many) >= 1


def test_a_head_that_looks_behind_the_same_token_has_a_score_of_one() -> None:
    n = 5
    ideal = torch.zeros(2, 3, 2 * n, 2 * n)
    ideal[1, 2, range(n, 2 * n), range(1, n + 1)] = 1
    found = ideal[:, :, n:, : n + 1].diagonal(1, -2, -1).mean(-1)
    assert induction.best(found, 1) == [(1, 2)]
    assert found[1, 2] == 1


def test_what_is_recorded_are_the_weights_and_left_out_heads_say_nothing() -> None:
    model = llama.llama(llama.TINY, vocab_size=40_000).eval()
    tokens = induction.repeated(4, seed=0)
    assert tokens[:4] == tokens[4:]
    weights = induction.weights(model, tokens)
    assert weights.shape == (2, 4, 8, 8)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4, 8))
    heads = [(0, 1), (1, 3)]
    with induction.without(model, heads), record(model, "*.attn.heads") as seen:
        model(torch.tensor([tokens]))
    for layer, ((spoken,),) in enumerate(zip(seen.values(), strict=True)):
        silent = {h for at, h in heads if at == layer}
        assert {h for h in range(4) if not spoken[0, h].any()} == silent
    rest = induction.others(heads, 4, seed=0)
    assert [layer for layer, _ in rest] == [0, 1]
    assert not set(rest) & set(heads)

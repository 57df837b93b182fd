"""Experiments of page 6a.7: prompts that share a cache have the scores of each prompt alone."""

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
    DEMONSTRATIONS,
    QUERIES,
    REVIEW,
    PromptedLM,
    Task,
    Template,
    relabel,
    sampled,
)
from deepdive_book.data.synthetic_reviews import generated_reviews

LM = PromptedLM(llama.llama(llama.TINY, vocab_size=300).eval(), ByteTokenizer())
DATA = generated_reviews(60)
TASK = Task(DATA.take(range(40)), DATA.take(range(40, 60)), Template("{}:", ("bad", "good")))


@torch.no_grad()
def alone(template: Template, shown: list[tuple[str, int]], text: str) -> torch.Tensor:
    """log p of both label words after one prompt, without a cache."""
    tokens = template.tokens(LM.tokenizer, shown, text)
    found = []
    for label in template.labels(LM.tokenizer):
        logs = LM.model(torch.tensor([tokens + label]))[0].log_softmax(-1)
        found.append(sum(logs[len(tokens) - 1 + i, t] for i, t in enumerate(label)))
    return torch.stack(found)  # type: ignore[arg-type]


def test_fewer_shots_are_the_first_of_more() -> None:
    found = in_context.predict_by_shots(LM, TASK, (0, 1, 4), "flipped", seed=3, queries=5)
    four = sampled(TASK.pool, 4, seed=3)
    given = [1 - label for label in four.labels]
    texts = sampled(TASK.queries, 5, seed=0).texts
    for n in (0, 1, 4):
        shown = list(zip(four.texts, given, strict=True))[:n]
        expected = [int(alone(TASK.template, shown, text).argmax()) for text in texts]
        assert found[str(n)][0] == in_context.digits(expected)


def test_each_order_has_the_predictions_of_its_own_prompt() -> None:
    found = in_context.predict_by_order(LM, TASK, seed=1, queries=3)
    assert list(found) == ["".join(map(str, order)) for order in permutations(range(4))]
    pool, texts = sampled(TASK.pool, 40, seed=1), sampled(TASK.queries, 3, seed=0).texts
    four = [i for k in (0, 1) for i in [i for i, label in enumerate(pool.labels) if label == k][:2]]
    for order in ("2031", "3210"):
        shown = [(pool.texts[four[int(n)]], pool.labels[four[int(n)]]) for n in order]
        expected = [int(alone(TASK.template, shown, text).argmax()) for text in texts]
        assert found[order][0] == in_context.digits(expected)


def test_a_key_selects_and_flips_demonstrations() -> None:
    found = in_context.all_prompts(LM)
    assert len(found) == 3 ** len(DEMONSTRATIONS)
    for key in ("0000", "1020", "2111"):
        states = zip(DEMONSTRATIONS, key, strict=True)
        shown = [(text, label ^ (state == "2")) for (text, label), state in states if state != "0"]
        assert in_context.choose_demonstrations(key) == shown
        for n, text in enumerate(QUERIES[:2]):
            share = alone(REVIEW, shown, text).softmax(-1)[1]
            assert found[key][n] == pytest.approx(1000 * float(share), abs=0.6)
        assert in_context.positive_per_mille(LM, key) == found[key]


def test_labels_are_kept_resampled_or_flipped() -> None:
    labels = [0, 1, 2] * 200
    assert relabel(labels, "correct", 3, seed=0) == labels
    assert relabel(labels, "flipped", 3, seed=0) == [1, 2, 0] * 200
    random = relabel(labels, "random", 3, seed=0)
    assert 150 < sum(a == b for a, b in zip(random, labels, strict=True)) < 250
    with pytest.raises(ValueError, match="expected one of correct, random, flipped"):
        relabel(labels, "false", 3, seed=0)


def test_problems_and_their_parsed_answers() -> None:
    one = Problem(7, 5, 4, ("Tom", "He", "he"), "apples")
    assert one.worked("steps") == " 7 + 5 = 12. 12 - 4 = 8. The answer is 8.\n\n"
    assert chain_of_thought.answer_of(one.worked("dots")) == one.answer == 8
    assert chain_of_thought.answer_of(" 12 apples\nor 13") == 12
    assert chain_of_thought.answer_of("none") is None
    assert chain_of_thought.correct_sums(" 7 + 5 = 12. 12 - 4 = 9.") == [True, False]
    many = chain_of_thought.problems(100, seed=0)
    assert len(set(many)) == 100
    assert min(p.answer for p in many) >= 1


def test_an_ideal_induction_head_has_a_score_of_one() -> None:
    n = 5
    ideal = torch.zeros(2, 3, 2 * n, 2 * n)
    ideal[1, 2, range(n, 2 * n), range(1, n + 1)] = 1
    found = ideal[:, :, n:, : n + 1].diagonal(1, -2, -1).mean(-1)
    assert induction.best(found, 1) == [(1, 2)]
    assert found[1, 2] == 1


def test_weights_are_recorded_and_ablated_heads_output_zero() -> None:
    model = llama.llama(llama.TINY, vocab_size=40_000).eval()
    tokens = induction.repeated(4, seed=0)
    assert tokens[:4] == tokens[4:]
    weights = induction.weights(model, tokens)
    assert weights.shape == (2, 4, 8, 8)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4, 8))
    heads = [(0, 1), (1, 3)]
    with induction.ablated(model, heads), record(model, "*.attn.heads") as seen:
        model(torch.tensor([tokens]))
    for layer, ((output,),) in enumerate(zip(seen.values(), strict=True)):
        off = {h for at, h in heads if at == layer}
        assert {h for h in range(4) if not output[0, h].any()} == off
    rest = induction.controls(heads, 4, seed=0)
    assert [layer for layer, _ in rest] == [0, 1]
    assert not set(rest) & set(heads)

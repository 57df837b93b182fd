"""Splinter against transformers in float64: the head, both of their classes, and their loss."""

from __future__ import annotations

from functools import partial
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import (
    SplinterConfig,
    SplinterForPreTraining,
    SplinterForQuestionAnswering,
    SplinterModel,
)

from deepdive.core import LayerNorm
from deepdive.layers.heads import best_span
from deepdive.models.bert import splinter
from deepdive.published import family, load
from deepdive.training.objectives import span_selection_loss

QUESTION = 4
TEXT = SRC.masked_fill(SRC == QUESTION, 5)
TEXT[0, 2], TEXT[0, 5], TEXT[1, 1], TEXT[2, 1] = (QUESTION,) * 4
PLACES = torch.tensor([[2, 5], [1, 0], [1, 0]])  # 0: no question
STARTS, ENDS = torch.tensor([[3, 1], [2, 0], [2, 0]]), torch.tensor([[4, 1], [4, 0], [2, 0]])


# Theirs multiplies 1 - mask with a number that float32 does not have: an integer mask gives nan.
SEEN = MASK.double()


def softmax(x: Tensor, dim: int, dtype: object = None) -> Tensor:
    """Theirs asks for float32 in the middle of float64: here it stays what it is."""
    return x.softmax(dim)


@parity("splinter", splinter.Splinter, splinter.SpanSelector)
def splinter_agrees() -> None:
    with mock.patch("torch.nn.functional.softmax", softmax):
        in_float64()


def in_float64() -> None:
    sizes = {**SIZES, "question_token_id": QUESTION}
    theirs = reference(SplinterForQuestionAnswering, SplinterConfig, **sizes)
    ours = saved_and_loaded(theirs, partial(load, head="spans"))
    expected = theirs(TEXT, SEEN, SEGMENTS)
    logits = torch.stack((expected.start_logits, expected.end_logits), -1)  # (B, T, 2)
    found = ours(TEXT, MASK, SEGMENTS)[:, 0]
    alike(ours, theirs, found[MASK], logits[MASK], [family("splinter").table("spans")])

    theirs = reference(SplinterForPreTraining, SplinterConfig, **sizes, seed=1)
    ours = saved_and_loaded(theirs, partial(load, head="spans"))
    expected = theirs(
        TEXT, SEEN, SEGMENTS, start_positions=STARTS.clone(), end_positions=ENDS.clone(),
        question_positions=PLACES,
    )  # fmt: skip
    logits = torch.stack((expected.start_logits, expected.end_logits), -1).transpose(1, 2)
    found = ours(TEXT, MASK, SEGMENTS, PLACES)
    equal(span_selection_loss(found, STARTS, ENDS, MASK), expected.loss)
    names = [family("splinter").table("spans")]
    alike(ours, theirs, found.transpose(1, 2)[MASK], logits[MASK], names)

    whole = reference(SplinterModel, SplinterConfig, **sizes)
    states = whole(TEXT, SEEN, SEGMENTS).last_hidden_state
    equal(saved_and_loaded(whole, load)(TEXT, MASK, SEGMENTS), states)


def test_the_first_question_is_asked_where_none_is_named() -> None:
    model = splinter.Splinter(splinter.splinter(splinter.TINY, question=QUESTION)).eval()
    first = torch.tensor([[2], [1], [1]])
    assert torch.equal(model(TEXT, MASK), model(TEXT, MASK, questions=first))
    passage = (SEGMENTS == 1) & MASK
    passage[2, 2] = True
    answers = best_span(model(TEXT, MASK)[:, 0], passage)
    assert all(p[a.start] and p[a.end] for p, a in zip(passage, answers, strict=True))


def test_published_sizes() -> None:
    wide = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
            "intermediate_size": 4096}  # fmt: skip
    with torch.device("meta"):
        for config, sizes in ((splinter.BASE, {}), (splinter.LARGE, wide)):
            theirs = SplinterForQuestionAnswering(SplinterConfig(vocab_size=28_996, **sizes))
            assert count(splinter.Splinter(splinter.splinter(config))) == count(theirs)


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def at_first(self: nn.Module, states: Tensor, questions: Tensor) -> Tensor:
    return SELECT(self, states, questions * 0)


def unasked(self: nn.Module, states: Tensor, questions: Tensor) -> Tensor:
    asked = self.ask(states[torch.arange(len(states))[:, None], questions])
    return asked @ self.answer(states).transpose(1, 2)  # no product


def exact(self: nn.Module, x: Tensor) -> Tensor:
    return nn.functional.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-12)


SELECT = splinter.SpanSelector.forward
HEAD = "deepdive.models.bert.splinter.SpanSelector.forward"
MUTATIONS: dict[str, tuple[str, object]] = {
    "a head that asks by [CLS]": (HEAD, at_first),
    "a head without its product": (HEAD, unasked),
    "the encoder's epsilon in the head": (
        f"{LayerNorm.__module__}.LayerNorm.forward",
        exact,
    ),
    "a loss that counts where no question is": (
        f"{__name__}.span_selection_loss",
        lambda logits, starts, ends, mask: sum(
            nn.functional.cross_entropy(logits.masked_fill(~mask[:, None, :, None], -torch.inf)
                                        [..., i].flatten(0, 1), end.flatten())
            for i, end in enumerate((starts, ends))
        ) / 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError, match=r"outputs differ|gradient"):
        splinter_agrees()

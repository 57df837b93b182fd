"""RoBERTa, ALBERT and DistilBERT, and the heads for tasks, against transformers in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike, tokens
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import (
    AlbertConfig,
    AlbertForPreTraining,
    AlbertModel,
    BertConfig,
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    DistilBertConfig,
    DistilBertForMaskedLM,
    DistilBertModel,
    PreTrainedModel,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaModel,
)

from deepdive.core import gelu, gelu_tanh
from deepdive.layers.heads import (
    Classifier,
    MultipleChoiceHead,
    SpanHead,
    TokenClassificationHead,
    best_span,
)
from deepdive.models.bert import albert, bert, distilbert, pretraining, roberta
from deepdive.published import family, from_config, load, save
from deepdive.published.weights import Rule, adopt

DISTIL: dict[str, Any] = {
    "vocab_size": 28,
    "dim": 16,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 24,
    "max_position_embeddings": 12,
}
ROBERTA: dict[str, Any] = {"type_vocab_size": 1, "layer_norm_eps": 1e-5}
PADDED = SRC.masked_fill(~MASK, 1)  # RoBERTa's padding is 1
FRONT = PADDED.flip(1), MASK.flip(1)


@parity("roberta", roberta.RobertaEmbeddings, pretraining.BertForMaskedLM)
def roberta_agrees() -> None:
    theirs = reference(RobertaForMaskedLM, RobertaConfig, **SIZES, **ROBERTA)
    ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
    body = saved_and_loaded(theirs, load)
    for row, mask in ((PADDED, MASK), FRONT):
        expected = theirs(row, mask.long()).logits
        alike(
            ours,
            theirs,
            ours(row, mask)[mask],
            expected[mask],
            [family("roberta").table("masked_lm")],
        )
        equal(body(row, mask)[mask], theirs.roberta(row, mask.long()).last_hidden_state[mask])
    whole = reference(RobertaModel, RobertaConfig, **SIZES, **ROBERTA)
    row = SRC[:1]  # no padding: no mask
    equal(saved_and_loaded(whole, load)(row), whole(row).last_hidden_state)


@parity("albert", albert.FactorizedEmbeddings)
def albert_agrees() -> None:
    settings = {**SIZES, "num_hidden_layers": 3, "embedding_size": 8}
    theirs = reference(AlbertForPreTraining, AlbertConfig, **settings)
    ours = saved_and_loaded(theirs, partial(load, head="pretraining"))
    expected = theirs(SRC, MASK.long(), SEGMENTS)
    states = ours.bert(SRC, MASK, SEGMENTS)
    mine = (ours.masked_logits(states)[MASK].ravel(), ours.next_logits(states).ravel())
    other = (expected.prediction_logits[MASK].ravel(), expected.sop_logits.ravel())
    alike(ours, theirs, torch.cat(mine), torch.cat(other), [family("albert").table("pretraining")])
    body = saved_and_loaded(theirs, load)
    equal(body(SRC, MASK, SEGMENTS), states)
    whole = reference(AlbertModel, AlbertConfig, **settings)
    equal(saved_and_loaded(whole, load)(SRC), whole(SRC).last_hidden_state)


@parity("distilbert")
def distilbert_agrees() -> None:
    theirs = reference(DistilBertForMaskedLM, DistilBertConfig, **DISTIL)
    ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
    for row, mask in ((SRC, MASK), (SRC.flip(1), MASK.flip(1))):
        output, expected = ours(row, mask)[mask], theirs(row, mask.long()).logits[mask]
        alike(ours, theirs, output, expected, [family("distilbert").table("masked_lm")])
    whole = reference(DistilBertModel, DistilBertConfig, **DISTIL)
    equal(saved_and_loaded(whole, load)(SRC), whole(SRC).last_hidden_state)
    with pytest.raises(ValueError, match="this model has no segments"):
        ours(SRC, MASK, SEGMENTS)


def test_distilbert_agrees() -> None:
    distilbert_agrees()


def test_a_student_begins_from_every_second_layer() -> None:
    teacher = bert.bert(
        vocab_size=28, d_model=16, n_heads=4, n_layers=5, d_ff=24, max_length=12
    ).eval()
    half = distilbert.student(teacher)
    assert len(half.stack.blocks) == 3
    assert "embeddings.segments.weight" not in half.state_dict()
    states = teacher.embeddings(SRC, None, torch.arange(7))
    for layer in (0, 2, 4):
        states = teacher.stack.blocks[layer](states)
    assert torch.allclose(half(SRC), states, atol=1e-5)  # float32: the sum in another order
    whole = distilbert.student(bert.bert(vocab_size=28, d_model=16, n_heads=4, n_layers=1, d_ff=24))
    assert len(whole.stack.blocks) == 1


def test_a_student_is_published_as_what_it_is(tmp_path: Path) -> None:
    half = distilbert.student(bert.bert(bert.TINY, n_layers=4)).eval()
    theirs = DistilBertModel.from_pretrained(save(half, tmp_path)).eval()
    assert torch.allclose(half(SRC), theirs(SRC).last_hidden_state, atol=1e-5)


# Heads


def prefixed(place: str, head: str) -> list[Rule]:
    """The rules for a task's model: the encoder and the pooler under `place`, `head` as out."""
    return [
        family("bert").names.within("bert.", f"{place}encoder."),
        (r"^bert\.pooler\.", f"{place}pooler."),
        (rf"^{head}\.", f"{place}out."),
    ]


def encoder() -> bert.Bert:
    sizes = {"d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 24, "max_length": 12}
    return bert.bert(vocab_size=28, **sizes)


def head_agrees(
    kind: type[PreTrainedModel], ours: nn.Module, rules: list[Rule], keep: Tensor | None = None
) -> None:
    """The head's logits and gradients, texts and pairs, padded."""
    theirs = reference(kind, BertConfig, **SIZES, num_labels=3)
    adopt(ours.double().eval(), theirs.state_dict(), rules)
    kept = torch.ones(3, dtype=torch.bool) if keep is None else keep
    for segments in (None, SEGMENTS):
        expected = theirs(SRC, MASK.long(), segments)
        logits = getattr(expected, "logits", None)
        if logits is None:
            logits = torch.stack((expected.start_logits, expected.end_logits), dim=-1)
        alike(ours, theirs, ours(SRC, MASK, segments)[kept], logits[kept], rules)


@parity(Classifier)
def classifier_agrees() -> None:
    ours = Classifier(encoder(), 16, 3)
    head_agrees(BertForSequenceClassification, ours, prefixed("", "classifier"))


@parity(TokenClassificationHead)
def tagger_agrees() -> None:
    ours = TokenClassificationHead(encoder(), 16, 3)
    head_agrees(BertForTokenClassification, ours, prefixed("", "classifier"), MASK)


@parity(SpanHead)
def span_reader_agrees() -> None:
    theirs = reference(BertForQuestionAnswering, BertConfig, **SIZES)
    ours, rules = SpanHead(encoder(), 16).double().eval(), prefixed("", "qa_outputs")
    adopt(ours, theirs.state_dict(), rules)
    expected = theirs(SRC, MASK.long(), SEGMENTS)
    logits = torch.stack((expected.start_logits, expected.end_logits), dim=-1)
    alike(ours, theirs, ours(SRC, MASK, SEGMENTS)[MASK], logits[MASK], rules)


@parity(MultipleChoiceHead)
def chooser_agrees() -> None:
    theirs = reference(BertForMultipleChoice, BertConfig, **SIZES)
    ours, rules = (
        MultipleChoiceHead(encoder(), 16).double().eval(),
        prefixed("score.", "classifier"),
    )
    adopt(ours, theirs.state_dict(), rules)
    row, mask = (x.unflatten(0, (1, 3)) for x in (SRC, MASK))
    other = tokens(1, 3, 7, vocab=28, seed=7)
    row, mask = torch.cat((row, other)), torch.cat((mask, torch.ones_like(mask)))
    segments = SEGMENTS.expand(2, 3, 7).contiguous()
    logits = theirs(row, mask.long(), segments).logits
    alike(ours, theirs, ours(row, mask, segments), logits, rules)


def test_the_best_span_is_the_best_of_all() -> None:
    logits = torch.randn(20, 9, 2)
    passage = torch.zeros(20, 9, dtype=torch.bool)
    passage[:, 3:8] = True
    for limit in (1, 2, 30):
        for found, row in zip(best_span(logits, passage, max_length=limit), logits, strict=True):
            ends = [(i, j) for i in range(3, 8) for j in range(i, min(8, i + limit))]
            best = max(ends, key=lambda ij: float(row[ij[0], 0] + row[ij[1], 1]))
            assert (found.start, found.end) == best
            assert found.score == pytest.approx(float(row[best[0], 0] + row[best[1], 1]))


def test_no_answer_where_cls_scores_higher() -> None:
    logits = torch.zeros(1, 4, 2)
    logits[0, 2], logits[0, 0] = torch.tensor([2.0, 1.0]), torch.tensor([1.5, 1.0])
    passage = torch.tensor([[False, False, True, True]])
    answers = [best_span(logits, passage, threshold=t)[0] for t in (0.4, 0.5)]
    assert [(found.start, found.end, found.answered) for found in answers] == [
        (2, 2, True),
        (0, 0, False),
    ]
    assert (answers[0].score, answers[0].null) == (3.0, 2.5)
    assert best_span(logits * 0, passage)[0].answered  # without a threshold there is an answer


# What is refused, what is published


def test_settings_that_are_not_built_are_refused() -> None:
    configs: list[tuple[dict[str, Any], str]] = [
        ({**RobertaConfig(**SIZES).to_dict(), "pad_token_id": 0}, "pad_token_id=0"),
        ({**AlbertConfig(**SIZES).to_dict(), "num_hidden_groups": 2}, "num_hidden_groups"),
        ({**AlbertConfig(**SIZES).to_dict(), "inner_group_num": 2}, "inner_group_num"),
        ({**BertConfig(**SIZES).to_dict(), "model_type": "unheard_of"}, "'unheard_of'"),
    ]
    for config, message in configs:
        with pytest.raises(ValueError, match=message):
            from_config(config)


def test_published_sizes() -> None:
    wide = {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096}
    xx = {"hidden_size": 4096, "num_attention_heads": 64, "intermediate_size": 16_384}
    real = {"vocab_size": 50_265, "max_position_embeddings": 514, **ROBERTA}
    with torch.device("meta"):
        pairs = [
            (roberta.roberta(), RobertaModel(RobertaConfig(**real), add_pooling_layer=False)),
            (
                roberta.roberta(roberta.LARGE),
                RobertaModel(RobertaConfig(**real, **wide, num_hidden_layers=24), False),
            ),
            (
                albert.albert(albert.XXLARGE),
                AlbertModel(AlbertConfig(**xx, num_hidden_layers=12), False),
            ),
            (distilbert.distilbert(), DistilBertModel(DistilBertConfig())),
        ]
    for ours, theirs in pairs:
        assert count(ours) == count(theirs)
    sizes = [
        count(make())
        for make in on_meta(
            *(partial(albert.albert, size) for size in (albert.BASE, albert.LARGE, albert.XLARGE))
        )
    ]
    assert [round(n / 1e6) for n in sizes] == [
        11,
        17,
        55,
    ]  # with a pooler 12, 18, 59: table 1 of the paper
    small = (roberta.TINY, albert.TINY, distilbert.TINY)
    builders = (roberta.roberta, albert.albert, distilbert.distilbert)
    for build, size in zip(builders, small, strict=True):
        assert build(size)(SRC[:1]).shape == (1, 7, 32)


def on_meta(*makers: Callable[[], nn.Module]) -> list[Callable[[], nn.Module]]:
    def built(make: Callable[[], nn.Module]) -> nn.Module:
        with torch.device("meta"):
            return make()

    return [lambda make=make: built(make) for make in makers]  # type: ignore[misc]


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def head_norm(self: nn.Module, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6)


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "RoBERTa's positions from the first column": (
        roberta_agrees,
        "deepdive.models.bert.roberta.RobertaEmbeddings.positions",
        lambda self, tokens, mask: torch.arange(tokens.shape[1]),
    ),
    "RoBERTa's positions from 1": (
        roberta_agrees,
        "deepdive.models.bert.roberta.RobertaEmbeddings.positions",
        lambda self, tokens, mask: torch.arange(tokens.shape[1]) + 1,
    ),
    "RoBERTa's epsilon": (roberta_agrees, "deepdive.core.LayerNorm.forward", head_norm),
    "ALBERT's GELU": (
        albert_agrees,
        "deepdive.published.form.ACTIVATIONS",
        {"gelu_new": gelu},
    ),
    "DistilBERT's GELU": (
        distilbert_agrees,
        "deepdive.published.form.ACTIVATIONS",
        {"gelu": gelu_tanh},
    ),
    "DistilBERT's epsilon": (distilbert_agrees, "deepdive.core.LayerNorm.forward", head_norm),
    "a classifier that reads the last state": (
        classifier_agrees,
        "deepdive.layers.heads.Pooler.forward",
        lambda self, states: torch.tanh(self.dense(states[:, -1])),
    ),
    "a tagger that is told no segments": (
        tagger_agrees,
        "deepdive.layers.heads.TokenClassificationHead.forward",
        lambda self, x, mask=None, segments=None: self.out(self.encoder(x, mask)),
    ),
    "a reader that reads backwards": (
        span_reader_agrees,
        "deepdive.layers.heads.SpanHead.forward",
        lambda self, x, mask=None, segments=None: self.out(self.encoder(x, mask, segments)).flip(
            -1
        ),
    ),
    "choices that are mixed up": (
        chooser_agrees,
        "deepdive.layers.heads.MultipleChoiceHead.forward",
        lambda self, x, mask=None, segments=None: self.score(
            *(y.transpose(0, 1).flatten(0, 1) for y in (x, mask, segments))
        ).view(x.shape[:2]),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        proof()

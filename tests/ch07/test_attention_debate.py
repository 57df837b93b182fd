"""The toys of the debate: texts in parts, models that learn, weights that are another's."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F

from deepdive.core.hooks import replace
from deepdive.explain.attention_weights.alternatives import jsd, reweighted, tvd
from deepdive.models.interpretable.attention_classifier import attentive, no_rnn
from deepdive_book.ch07.runs import attention_debate_results
from deepdive_book.ch07.runs.attention_debate import (
    Part,
    adversary,
    even,
    fresh,
    from_states,
    guided,
    real_texts,
    run_model,
    told_apart,
    train_model,
    verdict_texts,
)
from deepdive_book.ch07.runs.attention_debate_bert import (
    LAYERS,
    importances_bert,
    jain_wallace_bert,
    of_cls,
    small_bert,
    with_cls,
)
from deepdive_book.ch07.runs.attention_debate_results import (
    importances,
    jain_wallace_tests,
    packed,
    unpacked,
    wiegreffe_pinter_tests,
)

small = partial(attentive, d_model=16, d_hidden=16)


def test_the_known_causes_stand_at_their_words() -> None:
    texts, cause = verdict_texts(50, 20)
    assert texts.test.tokens.shape == cause.shape
    for row, marked in zip(texts.test.tokens, cause, strict=True):
        words = [texts.words[int(i)] for i in row[marked]]
        assert words
        assert not {"i", "find", "the", ",", "."} & set(words)


def test_words_of_the_test_alone_are_unknown_and_padding_is_0() -> None:
    texts = told_apart((["a b", "a a b"], [0, 1]), (["a c b c", "b"], [1, 0]), ["x", "y"], "mine")
    known = [[texts.words[int(i)] for i in row] for row in texts.test.tokens]
    assert known == [["a", "<unk>", "b", "<unk>"], ["b", "<pad>", "<pad>", "<pad>"]]
    assert texts.test.real.sum(1).tolist() == [4, 1]


def test_a_model_learns_and_its_answer_from_states_is_its_own() -> None:
    texts, _ = verdict_texts(160, 30)
    model = fresh(texts, 0, small)
    before = F.cross_entropy(model(texts.train.tokens, texts.train.real), texts.train.labels)
    train_model(model, texts.train, 4, 0, dropped=0.0)
    after = F.cross_entropy(model(texts.train.tokens, texts.train.real), texts.train.labels)
    assert after < before
    seen = run_model(model, texts.test)
    weights, slow = reweighted(model, "attention.weights", texts.test.tokens, texts.test.real)
    assert torch.allclose(seen.weights, weights[:, 0, 0], atol=1e-6)
    quick = from_states(model, seen.states)
    other = even(texts.test.real)
    assert torch.allclose(quick(seen.weights), seen.shares, atol=1e-5)
    assert torch.allclose(quick(other), slow(other[:, None, None]), atol=1e-5)
    with torch.no_grad():
        said = guided(model, texts.test.tokens, texts.test.real, other).softmax(-1)
    assert torch.allclose(said, quick(other), atol=1e-5)
    again = train_model(fresh(texts, 0, small), texts.train, 4, 0, dropped=0.0)
    assert torch.equal(run_model(again, texts.test).shares, seen.shares)


def test_an_adversary_copies_and_one_that_is_paid_looks_elsewhere() -> None:
    texts, _ = verdict_texts(400, 40)
    base = train_model(fresh(texts, 0, small), texts.train, 4, 0, dropped=0.0)
    kept = {name: value.clone() for name, value in base.state_dict().items()}
    seen = run_model(base, texts.test)
    apart, moved = [], []
    for far in (0.0, 1.0):
        other = run_model(adversary(base, texts.train, far, 6, 1), texts.test)
        apart.append(float(jsd(other.weights, seen.weights).mean()))
        moved.append(float(tvd(other.shares, seen.shares).mean()))
    assert apart[1] > apart[0] + 0.1
    assert moved[0] < 0.1
    assert all(torch.equal(value, kept[name]) for name, value in base.state_dict().items())


def test_importances_of_a_bag_of_words_are_its_weights_and_votes() -> None:
    torch.manual_seed(0)
    model = no_rnn(20, 2, 8, 8).eval()
    tokens = torch.tensor([3, 7, 9, 4, 11])
    found = importances(model, tokens)
    assert set(found) == {"attention", "held", "left out", "norm", "x input", "integrated"}
    assert all(each.shape == (5,) for each in found.values())
    seen = run_model(model, Part(tokens[None], torch.zeros(1, dtype=torch.long)))
    said, shares = int(seen.shares.argmax()), seen.shares[0]
    with torch.no_grad():
        vote = model.embed(tokens) @ (model.classify.weight[said] - model.classify.weight[1 - said])
    wanted = (seen.weights[0] * vote * (1 - shares[said])).abs()
    assert torch.allclose(found["held"], wanted, atol=1e-5)


def test_rows_are_plain_and_their_numbers_come_back() -> None:
    assert unpacked(packed([0.1234, 2.0])).tolist() == pytest.approx([0.123, 2.0])
    quick = partial(wiegreffe_pinter_tests, "generated", 0, train=40, epochs=1, steps=3)
    row = jain_wallace_tests("generated", 0, train=40, epochs=1, count=3, steps=3)
    assert len(unpacked(row["tau attention / held"])) == 3
    assert float(unpacked(row["far moves"]).max()) <= 0.01
    runs = ["base", "even", "seed", "imitator", "adversary"]
    found = {what: quick(what) for what in runs}
    assert found["base"]["jsd"] == found["base"]["tvd"] == 0
    assert found["seed"]["jsd"] > 0
    for guide in ("even", "itself", "base", "adversary", "search"):
        assert 0 <= quick(f"guided {guide}")["accuracy"] <= 1
    where = quick("places", far=0.1)
    assert 0 < where["share"] <= 1
    assert where["word"] in attention_debate_results.texts_of("generated", 40).words
    with pytest.raises(ValueError, match="guide='nobody'"):
        quick("guided nobody")


def test_the_answer_of_a_bert_sees_one_row_of_its_last_layer() -> None:
    texts, _ = verdict_texts(40, 12)
    model = small_bert(texts, 0).eval()
    part = with_cls(texts.test)
    assert (part.tokens[:, 0] == 1).all()
    own, answer = of_cls(model, part)
    with torch.no_grad():
        shares = model(part.tokens, part.real).softmax(-1)
        assert torch.allclose(answer(own), shares, atol=1e-6)

        def others(whole: torch.Tensor) -> torch.Tensor:
            return torch.cat([whole[:, :, :1], torch.zeros_like(whole[:, :, 1:])], 2)

        with replace(model, LAYERS[1], others):
            assert torch.allclose(model(part.tokens, part.real).softmax(-1), shares, atol=1e-6)
        first = torch.zeros_like(own)
        first[..., 1] = 1
        assert not torch.allclose(answer(first), shares, atol=1e-4)
    length = int(part.real[0].sum())
    found = importances_bert(model, part.tokens[0, :length])
    assert all(each.shape == (length - 1,) for each in found.values())
    row = jain_wallace_bert("generated", 0, train=40, epochs=1, count=3, steps=3)
    assert len(unpacked(row["tau held / left out"])) == 3


@pytest.mark.data("medical_abstracts", "rt_polarity")
def test_real_texts_are_parted_and_cut() -> None:
    for name, classes in (("rt_polarity", 2), ("medical_abstracts", 4)):
        texts = real_texts(name, train=300, longest=30)
        assert len(texts.names) == classes
        assert len(texts.train.labels) == 300
        assert texts.test.tokens.shape[1] <= 30
    with pytest.raises(ValueError, match="name='films'"):
        real_texts("films")

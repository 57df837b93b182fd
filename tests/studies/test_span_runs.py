"""Case study 5: what is measured of heads, on a small T5 that knows its sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from small_t5 import a_t5

from deepdive.models.generative.t5 import T5
from deepdive.tokenizers import WordTokenizer
from deepdive_book.data.spans import format_example
from deepdive_book.studies.runs import span_heads
from deepdive_book.studies.runs.span_heads import ROWS, Exchange
from deepdive_book.studies.runs.span_qa_format import answer_positions, answers, encode
from deepdive_book.studies.runs.span_results import (
    attention_share,
    each,
    measured,
    picture,
    scores,
    train_accuracy,
)
from deepdive_book.studies.runs.spans import Work, begun, generated, public, read, train_model

WORK = generated(60, 12)
KNOWN = Work("known", WORK.train, WORK.train[:24], WORK.tokenizer, WORK.config)


@pytest.fixture(scope="module")
def model() -> T5:
    """It has learned the sentences by heart on which it is looked at."""
    few = Work("few", WORK.train[:24], WORK.train[:24], WORK.tokenizer, WORK.config)
    return train_model(begun(few, 0), few, steps=150, seed=0, tokens=600)


def test_scores_count_what_is_written(model: T5) -> None:
    found = scores(model, KNOWN)
    said = answers(model, KNOWN.test, KNOWN.tokenizer)
    hits = [text == format_example(row)[1] for text, row in zip(said, KNOWN.test, strict=True)]
    assert found["hits"] == "".join("01"[hit] for hit in hits)
    there = [hit for hit, row in zip(hits, KNOWN.test, strict=True) if row.answer]
    assert found["exact"][0] == pytest.approx(sum(there) / len(there), abs=1e-4)
    assert found["exact"][0] > 0.6
    assert (found["texts"], found["pairs"]) == (12, len(KNOWN.pairs))


def test_looks_are_shares_of_the_weights(model: T5) -> None:
    pairs = KNOWN.pairs
    looks = span_heads.attention_shares(model, pairs, KNOWN.tokenizer)
    assert looks.span.shape == (2, 4, 2 * len(pairs))
    assert ((looks.span + looks.question) <= 1 + 1e-6).all()
    row = pairs[0][0]
    ((source,), _) = encode([row], KNOWN.tokenizer)
    assert looks.chance[0] == pytest.approx(
        len(answer_positions(row, KNOWN.tokenizer)) / len(source)
    )
    assert source[span_heads.question_at(KNOWN.tokenizer)] == KNOWN.tokenizer.id_of("negative")
    by_word = torch.tensor(span_heads.by_word(model, row, KNOWN.tokenizer))
    first = len(row.context[: row.start].split())
    mine = by_word[:, first : first + len(row.answer.split())].sum(1)
    assert torch.allclose(mine, looks.span[..., 0].flatten(), atol=2e-3)


def test_all_that_the_decoder_hears_decides(model: T5) -> None:
    """With both layers' heads of the other run, or all its rows, the first token is that run's."""
    runs = Exchange(model, KNOWN.pairs, KNOWN.tokenizer)
    assert len(runs.pairs) >= 4
    groups = runs.groups()
    assert list(groups) == list(ROWS)
    every = groups[ROWS[0]] | groups[ROWS[4]]
    assert bool(every.all())
    taken = runs.of("encoder.stack.blocks.1.stream", [every, ~every])
    assert taken[0, 0].all()
    assert not taken[0, 1].any()
    before = runs.of("encoder.embedded", [groups[ROWS[0]], groups[ROWS[4]]])
    assert before[0, 0].all(), "the texts differ in the question's word alone"
    assert not before[0, 1].any()
    single, names = runs.heads(), span_heads.head_names(model)
    assert single.shape == (2, 4, len(runs.pairs))
    assert torch.equal(runs.together(names[5:6]), single[1, 1])
    assert runs.together(names).all()


def test_heads_that_are_off_add_nothing(model: T5) -> None:
    names = span_heads.head_names(model)
    assert len(names) == 8
    whole = span_heads.written(model, KNOWN.pairs, KNOWN.tokenizer)
    with span_heads.ablate_heads(model, names):
        deaf = span_heads.written(model, KNOWN.pairs, KNOWN.tokenizer)
    with span_heads.ablate_heads(model, []):
        same = span_heads.written(model, KNOWN.pairs, KNOWN.tokenizer)
    assert torch.equal(whole.right, same.right)
    assert deaf.right.float().mean() < 0.5 * whole.right.float().mean(), "it hears nothing"


def test_a_row_and_its_picture(model: T5) -> None:
    found = attention_share(model, KNOWN)
    assert [len(found[name]) for name in ("span", "taken", "right without")] == [8, 8, 10]
    assert [len(found[name]) for name in ("layers", "rows")] == [2, 3]
    shown = picture(model, KNOWN.pairs[:1], KNOWN)
    assert [len(one["says"]) for one in shown] == [256, 256]
    assert shown[0]["says"][0] == answers(model, KNOWN.pairs[0][:1], KNOWN.tokenizer)[0]
    with span_heads.ablate_heads(model, [span_heads.head_names(model)[5]]):
        assert shown[1]["says"][1 << 5] == answers(model, KNOWN.pairs[0][1:], KNOWN.tokenizer)[0]
    assert each(torch.ones(2, 3))[0] == [1.0, 1.0, 1.0]


def test_one_that_reads_before(model: T5) -> None:
    passages = torch.randint(4, 60, (70, 48), generator=torch.Generator().manual_seed(0))
    work = Work("read", WORK.train, WORK.test, WORK.tokenizer, WORK.config, passages)
    before = begun(work, 0).state_dict()
    after = read(begun(work, 0), work, steps=2, seed=0).state_dict()
    assert any(not torch.equal(before[name], after[name]) for name in before)
    row = measured(work, "read", 1, steps=2, reading=1, dropout=0.5)
    assert row["picture"] == []
    assert work.config.dropout == 0


def test_lessons_are_asked_again() -> None:
    few = Work("few", WORK.train[:8], WORK.test, WORK.tokenizer, WORK.config)
    found = train_accuracy(0, steps=150, work=few)
    assert found["lessons"][0] > found["exact"][0]
    assert list(found) == ["lessons", "exact", "f1"]


def test_questions_of_unlike_length_are_refused(model: T5) -> None:
    class Cut(WordTokenizer):
        def cut(self, word: str) -> list[str]:
            return [word] if word != "negative" else ["is", "not"]

    cut = Cut(WORK.tokenizer.vocab)
    with pytest.raises(ValueError, match="have 2 and 1 tokens"):
        Exchange(model, KNOWN.pairs, cut)


def test_a_public_t5_of_a_folder(tmp_path: Path) -> None:
    """A checkpoint of transformers' with its pieces is asked, taught and looked into."""
    a_t5(tmp_path, (" ".join(format_example(row)) for row in WORK.train))
    model, work = public(tmp_path, WORK.train, WORK.test)
    assert len(answers(model, work.test[:3], work.tokenizer)) == 3
    train_model(model, work, steps=2, seed=0)
    found = attention_share(model, work)
    assert [len(found["rows"]), len(found["encoder taken"])] == [4, 12]

"""The experiments of page 5.20: what each arm reads, and what is held equal."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from deepdive_book.ch05.runs import long_document_tables, long_documents
from deepdive_book.ch05.runs.long_documents import (
    ARMS,
    CLS,
    END,
    HI,
    HIBERT,
    PAD,
    TWO,
    VECTORS,
    WORDS,
)

REVIEW = [[5, 6, 7], [8, 9], [10]]


def test_cuts_keep_the_first_and_the_last_words() -> None:
    assert long_documents.flat([REVIEW], 2, 0).tolist() == [[CLS, 5, 6]]
    assert long_documents.flat([REVIEW], 0, 2).tolist() == [[CLS, 9, 10]]
    assert long_documents.flat([REVIEW], 1, 2).tolist() == [[CLS, 5, 9, 10]]
    whole = long_documents.flat([REVIEW, [[5]]], None, 0)
    assert whole.tolist() == [[CLS, 5, 6, 7, 8, 9, 10], [CLS, 5, *[PAD] * 5]]
    assert long_documents.cut_words("a b c d", 1, 2) == "a c d"
    assert long_documents.cut_words("a b c", 1, 2) == "a b c"


def test_sentences_lose_no_word() -> None:
    long = [list(range(5, 75)), [4]]
    ids = long_documents.sentences([long, REVIEW])
    assert ids.shape == (2, 4, 32)
    assert ids[0][ids[0] > END].tolist() == [*range(5, 75), 4]
    assert ids[1, :3, :4].tolist() == [[5, 6, 7, END], [8, 9, END, PAD], [10, END, PAD, PAD]]
    mixed = long_documents.sentences([REVIEW], random.Random(1))
    assert sorted(map(tuple, mixed[0].tolist())) == sorted(
        map(tuple, long_documents.sentences([REVIEW])[0].tolist())
    )


def test_arms_have_about_equal_parameters_and_ignore_padding() -> None:
    torch.manual_seed(0)
    models: dict[str, Any] = {name: long_documents.build(name, 8000).eval() for name in ARMS}
    extra = {name: sum(p.numel() for n, p in model.named_parameters() if "position" not in n)
             for name, model in models.items()}  # fmt: skip
    assert max(extra.values()) < 1.1 * min(extra[n] for n in extra if n != WORDS)
    with torch.no_grad():
        for name, model in models.items():
            alone = model(long_documents.prepare(name, [REVIEW]))
            both = model(long_documents.prepare(name, [REVIEW, REVIEW * 9]))
            assert torch.allclose(alone[0], both[0], atol=1e-5), name


def test_order_of_sentences_can_matter_to_the_document_encoder_only() -> None:
    torch.manual_seed(0)
    ids = long_documents.sentences([REVIEW])
    for name in (VECTORS, TWO, HIBERT, HI):
        model = long_documents.build(name, 500).eval()
        with torch.no_grad():
            for n, p in model.named_parameters():
                if "document.position" in n:
                    p.mul_(50)
            same = torch.allclose(model(ids), model(ids[:, [2, 0, 1]]), atol=1e-6)
        assert same == (name in (VECTORS, TWO)), name


def test_a_run_spends_its_compute_and_reports_what_it_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")
    long_documents.split_data.cache_clear()
    long_documents.step_gflop.cache_clear()
    row = long_documents.measure(HIBERT, 0, 3e-3, 0, 0.2)
    assert abs(row["spent"] - 0.2) < long_documents.step_gflop(HIBERT, 0)
    assert len(row["correct"]) == 33
    assert row["correct"].count("1") / 33 == pytest.approx(row["accuracy"])
    assert long_documents.tune(WORDS, 0, 3e-3, 0, 1e9)["epochs"] == long_documents.PASSES
    long_documents.split_data.cache_clear()
    long_documents.step_gflop.cache_clear()


def test_the_saved_rows_are_those_that_the_tables_need() -> None:
    rows, linear = long_documents.load(), long_documents.load_linear()
    splits = {row["split"] for row in rows}
    for name in ARMS:
        assert {row["split"] for row in rows if row["name"] == name} == splits
    for name in long_documents.LINEAR:
        assert {row["split"] for row in linear if row["name"] == name} >= splits
    assert long_document_tables.own_error(rows) > 0

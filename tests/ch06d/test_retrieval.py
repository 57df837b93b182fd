"""The experiments of page 6d.1: generated facts, keyword search, baselines, and their tables."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from checkout import ROOT

from deepdive_book.ch06d.figures.retrieval_augmented import retrieval_augmented, retrievers
from deepdive_book.ch06d.runs import latent_retrieval, retrieval_tables
from deepdive_book.ch06d.runs.open_domain_answers import (
    K1,
    B,
    BM25Index,
    best_sentence,
    capitalized_span,
    contains,
)

RESULTS = ROOT / "chapters" / "06d_applications" / "results"


def saved(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["rows"]
    return rows


# -- a retriever trained by answers


def test_a_query_names_its_entity_by_one_alias_for_each_name() -> None:
    here = latent_retrieval.world(16, seed=3)
    assert here.passages.shape == here.queries.shape == (256, 2)
    for i in range(2):
        pairs = set(zip(here.passages[:, i].tolist(), here.queries[:, i].tolist(), strict=True))
        assert len(pairs) == 16
    assert sorted([*here.train.tolist(), *here.test.tolist()]) == list(range(256))
    assert len(here.test) == 64


def test_the_generator_copies_the_value_of_the_passage() -> None:
    here = latent_retrieval.world(4, seed=0)
    p = latent_retrieval.reader(here, here.test, 4).exp()
    same = here.values[here.test][:, None] == here.values[None]
    assert torch.allclose(p[same], torch.tensor(0.9 + 0.1 / 4))
    assert torch.allclose(p[~same], torch.tensor(0.1 / 4))


def test_answers_train_the_retriever_only_if_they_differ() -> None:
    found = {n: latent_retrieval.measure("latent", n, 0.03, 0, 150)["recall"] for n in (2, 16)}
    assert found[16] > 0.9
    assert found[2] < 0.1
    again = latent_retrieval.measure("latent", 16, 0.03, 0, 150)["recall"]
    assert again == found[16]
    with pytest.raises(ValueError, match="method: got 'other'"):
        latent_retrieval.measure("other", 2, 0.03, 0)


# -- keyword search and the baselines


def test_bm25_by_hand() -> None:
    passages = ["a cat sat", "a dog", "the cat and the cat"]
    found = BM25Index(passages).scores("Cat?")
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    for text, score in zip(passages, found, strict=True):
        count, length = text.split().count("cat"), len(text.split())
        norm = K1 * (1 - B + B * length / (10 / 3))
        assert score == pytest.approx(idf * count * (K1 + 1) / (count + norm))
    assert BM25Index(passages).scores("zebra") == [0, 0, 0]


def test_the_baselines_copy_from_the_passage() -> None:
    passage = "The Rhine flows north. In Cologne the Rhine is wide. It rises in the Alps."
    assert capitalized_span(passage) in passage
    assert capitalized_span("no name here") == ""
    assert best_sentence("Where does it rise in the Alps?", passage) == "It rises in the Alps."
    assert contains(passage, "the Alps")
    assert not contains(passage, "Alp")
    assert not contains(passage, "the")


# -- tables and drawings


def test_the_tables_show_the_saved_rows() -> None:
    latent, answers = saved("latent_retrieval"), saved("open_domain_answers")
    assert len(latent) == 150
    shown = str(retrieval_tables.latent_table(latent))
    assert "20.9% [0.3%, 41.5%]" in shown
    shown = str(retrieval_tables.answers_table(answers))
    for row in answers:
        assert len(row["exact"]) == 200
        assert f"{sum(row['exact']) / 2:.1f}% [" in shown
    assert "-0.5 [-3.0, +1.6]" in str(retrieval_tables.answers_contrasts(answers))


def test_the_drawings_name_the_parts() -> None:
    assert "question encoder" in retrieval_augmented()
    assert "closed book" in retrievers()

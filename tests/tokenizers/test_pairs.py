"""Pairs of texts as BERT reads them: against the `tokenizers` library, cut and padded."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import tokenizers as reference
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizer_library import SENTENCES, WORDPIECES, library_wordpiece
from tokenizers import processors

from deepdive.tokenizers import encode_pair, longest_first, pad_batch, padded

OURS = WORDPIECES[0]


def library() -> reference.Tokenizer:
    theirs = library_wordpiece(OURS)
    theirs.post_processor = processors.BertProcessing(("<eos>", OURS.eos), ("<bos>", OURS.bos))
    return theirs


LIBRARY = library()
words = st.lists(st.sampled_from(SENTENCES[0].split()), max_size=9).map(" ".join)


@given(words, words | st.none(), st.integers(3, 30) | st.none())
def test_pairs_equal_the_library(a: str, b: str | None, length: int | None) -> None:
    if length is None:
        LIBRARY.no_truncation()
    else:
        LIBRARY.enable_truncation(length, strategy="longest_first")
    theirs = LIBRARY.encode(a, b)
    assert encode_pair(OURS, a, b, length) == (theirs.ids, theirs.type_ids)


def test_truncation_equals_the_library_for_every_small_size() -> None:
    word = next(w for w in SENTENCES[0].split() if len(OURS.encode(w)) == 1)
    for a in range(8):
        for b in range(8):
            for room in range(17):
                LIBRARY.enable_truncation(room + 3, strategy="longest_first")
                first, second = " ".join([word] * a), " ".join([word] * b)
                kept = longest_first(a, b, room)
                kinds = LIBRARY.encode(first, second).type_ids
                assert kept == (kinds.count(0) - 2, kinds.count(1) - 1), (a, b, room)


def one_by_one(a: int, b: int, room: int) -> tuple[int, int]:
    """Google's loop (Devlin et al. 2019, released code): the longer text loses its last token."""
    while a + b > room:
        a, b = (a - 1, b) if a > b else (a, b - 1)
    return a, b


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_googles_loop_keeps_as_many_of_each_but_for_the_odd_one(a: int, b: int, room: int) -> None:
    ours, loop = longest_first(a, b, room), one_by_one(a, b, room)
    assert sum(ours) == sum(loop) == min(a + b, room)
    assert abs(ours[0] - loop[0]) <= 1
    if room % 2 == 0 or min(a, b) <= room // 2:
        assert ours == loop


def test_segments_change_after_the_first_separator() -> None:
    ids, segments = encode_pair(OURS, "ga", "ga ga")
    n = len(OURS.encode("ga"))
    assert ids == [OURS.bos, *OURS.encode("ga"), OURS.eos, *OURS.encode("ga ga"), OURS.eos]
    assert segments == [0] * (n + 2) + [1] * (2 * n + 1)
    assert encode_pair(OURS, "", None) == ([OURS.bos, OURS.eos], [0, 0])
    assert encode_pair(OURS, "", "") == ([OURS.bos, OURS.eos, OURS.eos], [0, 0, 1])


def test_a_batch_is_padded_as_the_library_pads() -> None:
    pairs = list(zip(SENTENCES[:4], SENTENCES[4:8], strict=True))
    LIBRARY.no_truncation()
    LIBRARY.enable_padding(pad_id=OURS.pad, pad_token="<pad>")
    theirs = LIBRARY.encode_batch(pairs)
    LIBRARY.no_padding()
    tokens, mask, segments = pad_batch([encode_pair(OURS, a, b) for a, b in pairs], OURS.pad)
    assert tokens.tolist() == [row.ids for row in theirs]
    assert mask.int().tolist() == [row.attention_mask for row in theirs]
    assert segments.tolist() == [row.type_ids for row in theirs]
    assert (tokens.dtype, mask.dtype, segments.dtype) == (torch.int64, torch.bool, torch.int64)
    assert pad_batch([([5, 6], [0, 0]), ([7], [0])], pad=9)[0].tolist() == [[5, 6], [7, 9]]


def test_what_pads_is_known_by_the_length_and_not_by_the_id() -> None:
    tokens, mask = padded([[4, 0, 5], [0], []], pad=0)
    assert tokens.tolist() == [[4, 0, 5], [0, 0, 0], [0, 0, 0]]
    assert mask.int().tolist() == [[1, 1, 1], [1, 0, 0], [0, 0, 0]]


def test_what_cannot_be_paired_is_named() -> None:
    with pytest.raises(ValueError, match="max_length: 2 is too small: the special tokens alone"):
        encode_pair(OURS, "a", "b", max_length=2)
    with pytest.raises(TypeError, match="text: expected one string, got list"):
        encode_pair(OURS, ["a", "b"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rows: expected at least one"):
        pad_batch([])
    bad: Sequence[tuple[list[int], list[int]]] = [([1], [0]), ([1, 2], [0])]
    with pytest.raises(ValueError, match=r"rows\[1\]: 2 ids and 1 segments"):
        pad_batch(bad)

"""Long texts: what truncation keeps, what chunks share, and how their rows are pooled."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from deepdive_book.tasks.long_texts import chunks, in_chunks, pool, truncate

CLS, SEP = 101, 102
LONG = list(range(20))


def test_truncation_keeps_the_ends_that_are_asked_for() -> None:
    assert truncate(LONG, 6, cls=CLS, sep=SEP) == [CLS, 0, 1, 2, 3, SEP]
    assert truncate(LONG, 6, cls=CLS, sep=SEP, head=0) == [CLS, 16, 17, 18, 19, SEP]
    assert truncate(LONG, 6, cls=CLS, sep=SEP, head=1) == [CLS, 0, 17, 18, 19, SEP]
    for head in (None, 0, 1, 4):
        assert truncate(LONG[:4], 6, cls=CLS, sep=SEP, head=head) == [CLS, 0, 1, 2, 3, SEP]


@given(st.integers(0, 60), st.integers(3, 20), st.data())
def test_chunks_lose_nothing_and_repeat_only_the_overlap(
    length: int, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 3))
    ids = list(range(length))
    found = chunks(ids, size, cls=CLS, sep=SEP, overlap=overlap)
    assert all(len(c) <= size and c[0] == CLS and c[-1] == SEP for c in found)
    again = found[0][1:-1]
    for chunk in found[1:]:
        inner = chunk[1:-1]
        assert again[-overlap:] == inner[:overlap] if overlap else True
        assert len(inner) > overlap, "a chunk that brings nothing new"
        again += inner[overlap:]
    assert again == ids


def test_chunks_of_all_texts_know_their_owner() -> None:
    rows, owners = in_chunks([LONG, [], LONG[:3]], 12, cls=CLS, sep=SEP)
    assert owners.tolist() == [0, 0, 1, 2]
    assert rows[2] == [CLS, SEP]


def test_pooling_equals_a_loop() -> None:
    rows, owners = torch.randn(7, 3, dtype=torch.float64), torch.tensor([2, 0, 0, 1, 2, 2, 0])
    for how, function in (("mean", lambda r: r.mean(0)), ("max", lambda r: r.amax(0))):
        expected = torch.stack([function(rows[owners == b]) for b in range(3)])
        torch.testing.assert_close(pool(rows, owners, 3, how), expected)


def test_mean_of_states_and_mean_of_logits_are_one() -> None:
    states, owners = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 0, 1, 1, 1, 2])
    head = nn.Linear(4, 3).double()
    before, after = head(pool(states, owners, 3)), pool(head(states), owners, 3)
    torch.testing.assert_close(before, after)


@pytest.mark.parametrize("how", ["mean", "max"])
def test_gradients_pass_through_pooling(how: str) -> None:
    rows = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    owners = torch.tensor([0, 1, 1, 0, 1])
    assert torch.autograd.gradcheck(lambda r: pool(r, owners, 2, how), (rows,))


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="size: got 2"):
        chunks(LONG, 2, cls=CLS, sep=SEP)
    with pytest.raises(ValueError, match="overlap: got 4, expected 0 to 3"):
        chunks(LONG, 6, cls=CLS, sep=SEP, overlap=4)
    with pytest.raises(ValueError, match="head: got 5, expected 0 to 4"):
        truncate(LONG, 6, cls=CLS, sep=SEP, head=5)
    with pytest.raises(ValueError, match="1 of n_texts=3 texts have no row"):
        pool(torch.zeros(2, 1), torch.tensor([0, 2]), 3)
    with pytest.raises(ValueError, match="highest text is 2"):
        pool(torch.zeros(2, 1), torch.tensor([0, 2]), 2)
    with pytest.raises(ValueError, match=r"shapes \(2, 1\) and \(3,\)"):
        pool(torch.zeros(2, 1), torch.tensor([0, 1, 1]), 2)
    with pytest.raises(ValueError, match="how: got 'sum'"):
        pool(torch.zeros(2, 1), torch.tensor([0, 1]), 2, "sum")

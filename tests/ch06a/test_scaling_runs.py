"""Decoders of many sizes: how their text is cut, how they are trained, and their rate by size."""

from __future__ import annotations

from math import log

import pytest
import torch

from deepdive_book.ch06a.runs import scaling_runs
from deepdive_book.ch06a.runs.scaling_runs import (
    END,
    KINDS,
    LENGTH,
    STEP,
    Letters,
    Shape,
    numbered,
    run,
    tuned,
)

DOCUMENTS = [f"the cat number {i} sat on the mat of house {i * i}. " * 8 for i in range(120)]


def test_documents_become_letters_and_none_is_on_both_sides() -> None:
    cut = numbered(["Ab’s  C\nd é☃", "second", "third"], held_out=4)
    said = ["".join(KINDS[i] for i in part) for part in cut[::-1]]
    assert said == [f"ab's c d e{END}", f"second{END}third{END}"]
    cut = numbered(DOCUMENTS, held_out=500)
    assert 500 <= len(cut.test) < 500 + len(DOCUMENTS[1]) + 1
    ends = [int((part == KINDS.index(END)).sum()) for part in cut]
    assert sum(ends) == len(DOCUMENTS)
    assert all(int(part[-1]) == KINDS.index(END) for part in cut)


def test_operations_are_six_a_parameter_and_more_for_what_is_small() -> None:
    price = [(each := Shape(layers, width).counts())["operations"] / each["parameters"]
             for layers, width in ((2, 12), (2, 32), (3, 64), (5, 128))]  # fmt: skip
    assert price == sorted(price, reverse=True)
    assert 6 < price[-1] < 7


def test_each_letter_is_read_once_and_each_mark_has_its_own_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = torch.Generator().manual_seed(0)
    cut = Letters(*(torch.randint(70, (n,), generator=draw) for n in (30_000, 500)))
    read, rates = [], []
    real = scaling_runs.fit

    def watched(model, batches, *args, schedule, steps, **more):  # type: ignore[no-untyped-def]
        read.append(torch.cat(batches))
        rates.append([schedule(step) for step in range(1, steps + 1)])
        return real(model, batches, *args, schedule=schedule, steps=steps, **more)

    monkeypatch.setattr(scaling_runs, "fit", watched)
    monkeypatch.setattr(scaling_runs, "RISE", 2)
    row = run(cut, Shape(1, 8), seed=0, marks=[10 * STEP, 20 * STEP], rate=0.01)
    assert len(row["loss"]) == 2
    assert [len(part) for part in rates] == [8, 2, 8, 4]
    trunk = torch.cat([read[0], read[2]])
    assert len(torch.unique(torch.cat([trunk, read[3]]), dim=0)) == 20 * STEP // LENGTH
    assert torch.equal(read[1], read[2][: len(read[1])])  # the copy reads what the model reads next
    assert rates[0][:3] == pytest.approx([0.005, 0.01, 0.01])
    assert rates[2] == pytest.approx([0.01] * 8)
    assert rates[3] == pytest.approx([0.008, 0.006, 0.004, 0.002])


def test_a_copy_leaves_the_model_as_it_was() -> None:
    cut = numbered(DOCUMENTS, 500)
    both = run(cut, Shape(1, 8), seed=1, marks=[5 * STEP, 10 * STEP], rate=0.01)
    alone = run(cut, Shape(1, 8), seed=1, marks=[10 * STEP], rate=0.01)
    assert both["loss"][1] == alone["loss"][0] < both["loss"][0]
    assert both["stopped"][1] == alone["stopped"][0] > alone["loss"][0]


def test_a_text_that_is_too_short_is_refused() -> None:
    with pytest.raises(ValueError, match="marks: the last is 1,000,000"):
        run(numbered(DOCUMENTS, 500), Shape(1, 8), seed=0, marks=[10**6], rate=0.01)


def test_the_rate_follows_planted_valleys() -> None:
    def lost(n: int, rate: float) -> float:  # least at rate = 0.6 / n^0.5
        return 2 + 0.1 * (log(rate) - log(0.6 / n**0.5)) ** 2

    rows = [{"parameters": n, "rate": rate, "loss": [lost(n, rate)]}
            for n in (4000, 10_000, 25_000) for rate in (0.003, 0.006, 0.012)]  # fmt: skip
    rate = tuned(rows)
    assert rate(150_000) == pytest.approx(0.6 / 150_000**0.5, rel=0.05)
    edge = [{**row, "loss": [1 / row["rate"]]} for row in rows]  # the highest is the best
    assert tuned(edge)(10_000) == 0.012

"""The experiments of page 5.16: what is held equal, and that both ways to evaluate agree."""

from __future__ import annotations

import pytest
import torch

from deepdive.layers.segment_memory import Memory
from deepdive.models.efficient.transformer_xl import TransformerXL
from deepdive_book.ch05.runs import compression, recurrence, recurrence_speed, recurrence_tables
from deepdive_book.ch06a.runs.decoder_ablations import cut

TEXT = cut("the quality of mercy is not strained, it droppeth as the gentle rain. " * 60)


def test_the_parameters_differ_by_less_than_a_percent() -> None:
    relative, absolute = (
        sum(p.numel() for p in recurrence.build(65, kind).parameters()) for kind in (True, False)
    )
    assert abs(relative - absolute) < 0.01 * relative


def test_each_row_continues_the_row_before_it() -> None:
    ids = torch.arange(5000)
    for segment in (32, 64):
        first, second = recurrence.streams(ids, segment, seed=3, steps=2)
        assert first.shape == (recurrence.TOKENS // segment, segment + 1)
        assert torch.equal(first[:, -1], second[:, 0])


def test_every_way_is_evaluated_on_the_same_characters() -> None:
    torch.manual_seed(0)
    model = recurrence.build(len(TEXT.letters), relative=True)
    rows = recurrence.stretches(TEXT.train)
    assert rows.shape == (recurrence.CHUNKS, recurrence.BEFORE + recurrence.TARGETS + 1)
    targets = rows[:, -recurrence.TARGETS :]
    with torch.no_grad():
        bias = model.head.bias  # the loss of a model of single characters, in every way
        for p in model.parameters():
            p.zero_()
        bias.copy_(torch.linspace(-1, 1, len(bias)))
    wanted = -float(bias.detach().log_softmax(0)[targets].mean()) / torch.tensor(2.0).log()
    for memory in (0, 32, 96):
        assert float(recurrence.by_segments(model, rows, 32, memory).mean()) == pytest.approx(
            float(wanted), abs=1e-5
        )
    for context in recurrence.CONTEXTS:
        assert recurrence.by_windows(model, rows, context) == pytest.approx(float(wanted), abs=1e-5)


def test_a_window_and_a_segment_agree_on_the_last_character() -> None:
    """The last position of a segment of 32 has a context of 32, as in a window."""
    torch.manual_seed(0)
    model = recurrence.build(len(TEXT.letters), relative=True)
    rows = recurrence.stretches(TEXT.train)[:2]
    by_segment = recurrence.by_segments(model, rows, 32)[-1]
    ends = torch.stack([rows[:, end - 32 : end + 1] for end in range(160, rows.shape[1], 32)])
    with torch.no_grad():
        losses = recurrence.losses(model, ends.flatten(0, 1))[:, -1]
    assert float(by_segment) == pytest.approx(float(losses.mean()), abs=1e-5)


def test_one_layer_both_ways_to_evaluate_give_the_same_states() -> None:
    """With one layer, a window of N characters and N cached states differ by one key only."""
    torch.manual_seed(0)
    model = TransformerXL(recurrence_speed.SIZES.but(n_layers=1)).eval()
    tokens = torch.randint(100, (1, 40))
    memory = Memory(32)
    with torch.no_grad():
        model(tokens[:, :32], memory=memory)
        states = model(tokens[:, 32:33], memory=memory)
        window = model(tokens[:, :33])[:, -1:]
    assert torch.allclose(states, window, atol=1e-5)


def test_the_growth_is_the_slope_of_logarithms() -> None:
    lengths = [128, 256, 512]
    seconds = [3e-6 * n**1.5 for n in lengths]
    assert recurrence_speed.exponent(lengths, seconds) == pytest.approx(1.5)


def test_dropping_has_an_error_of_one_and_training_moves_the_convolution_only() -> None:
    torch.manual_seed(0)
    model = compression.model_of(len(TEXT.letters))
    before = {name: p.clone() for name, p in model.named_parameters()}
    compression.fit(model, TEXT.train, seed=0, steps=4)
    moved = {n.split(".")[0] for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == {"compress"}
    found = compression.errors(model, recurrence.stretches(TEXT.train)[:2])
    assert set(found) == set(compression.KINDS)
    assert found["dropped"] == 1.0
    assert min(found.values()) > 0


def test_the_saved_rows_are_those_that_the_tables_need() -> None:
    rows = recurrence.load()
    for name in recurrence.ARMS:
        runs = recurrence_tables.of_arm(rows, name)
        assert sorted(row["seed"] for row in runs) == list(recurrence.SEEDS)
        rates = {row["rate"]: row["chosen"] for row in rows if row["name"] == name
                 and row["seed"] == recurrence.TUNING_SEED}  # fmt: skip
        assert {row["rate"] for row in runs} == {min(rates, key=lambda rate: rates[rate])}
    assert [row["length"] for row in recurrence_speed.load()] == list(recurrence_speed.LENGTHS)
    assert len(compression.load()) == len(compression.SEEDS)

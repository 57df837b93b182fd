"""The records table: what a run is, what is held equal, what a challenge says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn

from deepdive.core import FeedForward
from deepdive.data.errors import DataError
from deepdive_book.ch06a.runs import decoder_ablations, decoder_challenge, gpt2_to_llama
from deepdive_book.ch06a.runs.decoder_ablations import (
    D_MODEL,
    LENGTH,
    PARTS,
    cut,
    decoder,
    measure,
    step_flops,
)
from deepdive_book.ch06a.runs.decoder_challenge import paired, parts_of, verdict
from deepdive_book.tasks.stream import random_windows, sequential_windows

TEXT = cut("the quality of mercy is not strained, it droppeth as the gentle rain. " * 120)


# -- the text as rows


def test_stretches_are_pieces_of_the_text_and_follow_the_seed() -> None:
    text = torch.arange(100)
    batches = random_windows(text, 8, rows=5, steps=3, seed=4)
    assert [tuple(b.shape) for b in batches] == [(5, 9)] * 3
    for batch in batches:
        assert torch.equal(batch, batch[:, :1] + torch.arange(9))
    again, other = (random_windows(text, 8, rows=5, steps=3, seed=s) for s in (4, 5))
    assert all(torch.equal(a, b) for a, b in zip(batches, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(batches, other, strict=True))
    starts = torch.cat([b[:, 0] for b in random_windows(text, 8, rows=100, steps=50)])
    assert (int(starts.min()), int(starts.max())) == (0, 91)


def test_in_order_every_token_but_the_first_is_asked_for_once() -> None:
    rows = sequential_windows(torch.arange(21), 5)
    assert rows[:, 1:].flatten().tolist() == list(range(1, 21))
    assert rows[1:, 0].tolist() == rows[:-1, -1].tolist()
    assert len(sequential_windows(torch.arange(20), 5)) == 3


@pytest.mark.parametrize(
    "cutter", [sequential_windows, lambda t, n: random_windows(t, n, rows=1, steps=1)]
)
def test_a_text_that_is_too_short_is_refused(cutter: object) -> None:
    with pytest.raises(DataError, match="N > length=5"):
        cutter(torch.arange(5), 5)  # type: ignore[operator]


def test_the_parts_of_a_text_are_its_beginning_and_two_halves_of_its_end() -> None:
    assert len(TEXT.train) == int(0.9 * 8400)
    assert abs(len(TEXT.chosen) - len(TEXT.test)) <= 1
    whole = torch.cat(TEXT[1:])
    assert torch.equal(TEXT.encode(TEXT.decode(whole)), whole)


# -- a run


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_built_looks_back_only_and_learns(part: str) -> None:
    torch.manual_seed(0)
    model, kinds = decoder(len(TEXT.letters), **PARTS[part]), len(TEXT.letters)
    tokens = torch.randint(kinds, (2, LENGTH))
    later = tokens.clone()
    later[:, 40:] = 0
    assert torch.allclose(model(tokens)[:, :40], model(later)[:, :40], atol=1e-5)
    decoder_ablations.loss(model, tokens).backward()
    assert all(p.grad is not None and p.grad.abs().max() > 0 for p in model.parameters())


def test_nanogpt_has_its_weights() -> None:
    """Its README's run: 0.80 million; 65 letters, 64 places, no biases."""
    model = decoder(65)
    count = sum(p.numel() for p in model.parameters())
    assert count == 4 * (12 * 128**2 + 2 * 128) + 128 + 128 * (65 + 64)


def test_operations_are_held_equal() -> None:
    kinds = len(TEXT.letters)
    cheap = {"ff": lambda: FeedForward(D_MODEL, D_MODEL, bias=False)}
    row = measure(TEXT, lambda: decoder(kinds, **cheap), seed=0, steps=4)
    base = 4 * step_flops(decoder(kinds), kinds)
    assert row["steps"] > 4
    assert row["flops"] == pytest.approx(base, rel=0.1)
    again = measure(TEXT, lambda: decoder(kinds, **cheap), seed=0, steps=4)
    assert again == row


def test_it_learns() -> None:
    row = decoder_ablations.row(TEXT, "Llama block" + decoder_ablations.FASTER, 0, 30)
    assert row["test"] < 2.6 < torch.tensor(float(len(TEXT.letters))).log() + 1


def test_a_loss_is_read_off_every_letter_but_the_first() -> None:
    class Even(nn.Module):
        def forward(self, tokens: torch.Tensor) -> torch.Tensor:
            return torch.zeros(*tokens.shape, 7)

    found = decoder_ablations.evaluate(Even(), torch.randint(7, (64 * 3 + 1,)))
    assert found == pytest.approx([torch.tensor(7.0).log().item()] * 3)


# -- a challenge


def rows_of(*tests: float) -> list[dict[str, object]]:
    base = [{"part": "nanoGPT", "seed": s, "test": 2.0 + s} for s in range(len(tests))]
    return base + [{"part": "mine", "seed": s, "test": 2.0 + s + t} for s, t in enumerate(tests)]


def test_a_difference_is_paired_by_seed_and_has_student_s_interval() -> None:
    found = paired(rows_of(-0.1, -0.2, -0.3), "mine")
    assert found.value == pytest.approx(-0.2)
    assert found.high - found.value == pytest.approx(4.302653 * 0.1 / 3**0.5, rel=1e-5)
    assert verdict(found) == "no difference shown"
    assert verdict(paired(rows_of(-0.19, -0.2, -0.21), "mine")) == "ahead"
    assert verdict(paired(rows_of(0.19, 0.2, 0.21), "mine")) == "behind"
    with pytest.raises(ValueError, match="1 seeds"):
        paired(rows_of(-0.1), "mine")


def test_a_challenge_runs_is_kept_and_says_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "my_parts.py"
    file.write_text(
        "from deepdive.core import RMSNorm\nPARTS = {'mine': {'norm': RMSNorm}}\n", "utf-8"
    )
    monkeypatch.setattr(decoder_challenge, "shakespeare", lambda: TEXT)
    decoder_challenge.main([str(file), "--steps", "2"])
    said = capsys.readouterr().out
    assert "mine: " in said
    assert "nats a letter on the test" in said
    kept = json.loads(file.with_suffix(".json").read_text("utf-8"))
    assert [row["part"] for row in kept["rows"]] == ["nanoGPT", "mine"] * 3
    decoder_challenge.main([str(file), "--steps", "2"])
    assert capsys.readouterr().out.splitlines()[-1] == said.splitlines()[-1]


@pytest.mark.parametrize(
    ("body", "message"), [("PARTS = {}", "has no PARTS"), ("PARTS = {'ReLU': {}}", "ReLU is in")]
)
def test_a_file_without_parts_of_its_own_is_refused(
    tmp_path: Path, body: str, message: str
) -> None:
    file = tmp_path / "parts.py"
    file.write_text(body, "utf-8")
    with pytest.raises(ValueError, match=message):
        parts_of(file)


# -- the tables of page 6a.2


def ablations() -> list[dict[str, object]]:
    path = Path(decoder_challenge.__file__).parents[4] / "chapters/06a_text/results/records.json"
    rows: list[dict[str, object]] = json.loads(path.read_text("utf-8"))["rows"]
    return rows


def test_each_variant_is_compared_at_its_own_best_learning_rate() -> None:
    rows = ablations()
    assert gpt2_to_llama.best_rate(rows, "nanoGPT") == decoder_ablations.FASTER
    assert gpt2_to_llama.best_rate(rows, "Llama block") == ""
    found = gpt2_to_llama.difference(rows, "Llama block", "nanoGPT, learning rate 0.004", 4)
    assert found == pytest.approx((-0.0919, -0.1699, -0.0138), abs=2e-4)
    text = gpt2_to_llama.best_rate_table(rows)._repr_html_().replace("−", "-")
    assert "-0.092 [-0.170, -0.014]" in text


def test_a_validation_loss_selects_the_learning_rate_not_the_test() -> None:
    rows = [
        {"part": f"mine{suffix}", "seed": 0, "chosen": chosen, "test": test}
        for suffix, chosen, test in (("", 1.0, 5.0), (decoder_ablations.FASTER, 2.0, 1.0))
    ]
    assert gpt2_to_llama.best_rate(rows, "mine") == ""


def test_a_name_may_end_in_a_learning_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    monkeypatch.setattr(
        decoder_ablations, "measure", lambda *_, rate, **__: seen.append(rate) or {}
    )
    for name in ("ReLU", "ReLU, learning rate 0.004", "nanoGPT, learning rate 0.008"):
        decoder_ablations.row(TEXT, name, 0, 2)
    assert seen == [0.001, 0.004, 0.008]

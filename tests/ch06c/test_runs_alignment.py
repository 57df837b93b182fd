"""Spoken digits for page 6c.5: their strings, a short training, and what is measured of letters."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import combinations, pairwise

import pytest
import torch
import torch.nn.functional as F
from checkout import ROOT
from torch import Tensor, nn

from deepdive.models.speech import speech2text
from deepdive_book.ch06c.runs import alignment
from deepdive_book.ch06c.runs.alignment import GROUPS, Batch

SIX_TWO = ["SIX TWO"]
BOUNDS = [[0, 12, 20]]  # SIX in the first 12 positions, TWO in the other 8


@pytest.fixture(autouse=True)
def generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")


def build_model() -> nn.Module:
    return speech2text.speech2text(
        n_features=alignment.BANDS, vocab_size=20, d_model=16, n_layers=1, n_decoder_layers=1,
        n_heads=2, n_decoder_heads=2, d_ff=16, d_decoder_ff=16, width=16, dropout=0.0,
        end=alignment.END, kernels=(5, 5),
    )  # fmt: skip


def loss(model: nn.Module, batch: Batch) -> Tensor:
    logits = model(batch.features, batch.tokens[:, :-1], batch.mask)
    targets = batch.tokens[:, 1:].flatten()
    return F.cross_entropy(logits.flatten(0, 1), targets, ignore_index=alignment.PAD)


@pytest.fixture(scope="module")
def model() -> Iterator[nn.Module]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPDIVE_PROFILE", "ci")
        yield alignment.train_model(build_model, loss, steps=2, seed=1)


def test_a_string_has_one_speaker_and_perhaps_one_digit() -> None:
    spoken, _ = alignment.load_digits("train")
    rng = random.Random(0)
    for _ in range(20):
        string = alignment.sample_string("train", 4, rng, same_digit=True)
        assert (
            len({spoken.speakers[i] for i in string}) == len({spoken.words[i] for i in string}) == 1
        )
    assert len({spoken.words[i] for i in alignment.sample_string("train", 30, rng)}) > 1


def test_a_batch_has_the_features_and_letters_of_its_strings() -> None:
    spoken, features = alignment.load_digits("test")
    batch = alignment.make_batch("test", [[0, 1], [2]])
    n = len(features[0]) + len(features[1])
    assert batch.texts == [f"{spoken.words[0]} {spoken.words[1]}", spoken.words[2]]
    assert batch.features.shape[:2] == batch.mask.shape
    assert batch.mask.sum(1).tolist() == [n, len(features[2])]
    assert batch.features[1, len(features[2]) :].abs().sum() == 0 or n == len(features[2])
    letters = "".join(alignment.LETTERS[int(i) - 4] for i in batch.tokens[1] if i >= 4)
    assert letters == spoken.words[2]
    assert alignment.boundaries("test", [0, 1]) == [0, len(features[0]), n]


def test_training_features_are_standardized() -> None:
    spoken, _ = alignment.load_digits("train")
    batch = alignment.make_batch("train", [[i] for i in range(len(spoken))])
    real = batch.features[batch.mask]
    torch.testing.assert_close(real.mean(0), torch.zeros(alignment.BANDS), atol=1e-3, rtol=0)
    torch.testing.assert_close(real.std(0), torch.ones(alignment.BANDS), atol=1e-3, rtol=0)


def test_training_batches_have_64_digits_and_follow_the_seed() -> None:
    texts = [[batch.texts for batch in alignment.StringBatches(4, seed)] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    for some in texts[0]:
        n = len(some[0].split())
        assert 1 <= n <= 4
        assert len(some) == 64 // n


def test_letters_are_grouped_by_what_precedes_them() -> None:
    named = [(digit, None if group is None else GROUPS[group])
             for digit, group in alignment.letter_groups("SIX TWO ONE")]  # fmt: skip
    assert named == [
        (0, "first"), (0, "second, open"), (0, "later"), (1, None),
        (1, "first"), (1, "second, open"), (1, "later"), (2, None),
        (2, "first"), (2, "second, settled"), (2, "later"),
    ]  # fmt: skip


def test_positions_within_their_digit_are_counted_by_group() -> None:
    positions = [[0, 11, 12, 12, 12, 11, 19]]  # of S I X _ T W O: X and W lie outside
    assert alignment.position_accuracy(positions, SIX_TWO, BOUNDS) == [100.0, 50.0, 0.0, 50.0]


def test_weight_within_a_digit_is_summed_over_hidden_states() -> None:
    weights = torch.tensor([[0.5, 0.25, 0.0, 0.25, 0.0]]).expand(1, 7, 5)  # 4 positions each
    found = alignment.weight_inside(weights, SIX_TWO, BOUNDS)
    assert found == [50.0, 50.0, 0.0, 50.0]  # SIX has states 0 to 2, TWO 3 and 4


def test_onset_errors_leave_the_first_digit_out() -> None:
    onsets = [[5, 0, 0, 0, 15, 0, 0]]  # T begins 3 positions of 10 ms after its digit
    assert alignment.onset_error(onsets, SIX_TWO, BOUNDS) == 30.0


@pytest.mark.parametrize(("n_letters", "n_states"), [(1, 1), (3, 3), (3, 7), (4, 6)])
def test_the_monotonic_path_is_the_best_of_all(n_letters: int, n_states: int) -> None:
    weights = torch.rand(n_letters, n_states, generator=torch.Generator().manual_seed(n_states))
    path = alignment.monotonic_path(weights)
    assert [s for states in path for s in states] == [*range(n_states)]
    assert all(path)
    score = sum(float(weights[u, s]) for u, states in enumerate(path) for s in states)
    every = []
    for cuts in combinations(range(1, n_states), n_letters - 1):
        ends = [0, *cuts, n_states]
        pieces = (weights[u, a:b].sum() for u, (a, b) in enumerate(pairwise(ends)))
        every.append(sum(map(float, pieces)))
    assert score == pytest.approx(max(every))


@pytest.mark.parametrize(("word", "needed"), [("SIX", 3), ("THREE", 6)])
def test_strings_with_too_few_hidden_states_are_left_out(
    word: str, needed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    string = [alignment.load_digits("test")[0].words.index(word)]
    for states, expected in ((needed, [(0, word, [0, 4 * needed])]), (needed - 1, [])):
        monkeypatch.setattr(alignment, "boundaries", lambda part, string, n=states: [0, 4 * n])
        assert alignment.alignable([string]) == expected


def test_a_row_has_what_the_saved_rows_have(model: nn.Module) -> None:
    row = alignment.evaluate(model, with_examples=True)
    path = ROOT / "chapters" / "06c_speech" / "results" / "alignment.json"
    saved = next(r for r in json.loads(path.read_text())["rows"] if "shown" in r)
    assert set(saved) == {*row, "system", "steps", "seed", "seconds"}
    for key in ("errors", "deaf", "forward"):
        assert set(saved[key]) == set(row[key])
    assert set(saved["shown"][0]) == set(row["shown"][0])
    assert set(saved["heads"]["1-0"]) == set(row["heads"]["1-0"])
    assert "shown" not in alignment.evaluate(model, with_examples=False)


def test_weights_of_a_head_sum_to_one(model: nn.Module) -> None:
    batch = alignment.make_batch("test", [[0, 1], [2]])
    heads = alignment.attention_weights(model, batch)
    assert [*heads] == ["1-0", "1-1"]
    for weights in heads.values():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:2]))


def test_an_example_becomes_a_recording_of_the_figure(model: nn.Module) -> None:
    example = alignment.describe_example(model, [0, 1])
    found = alignment.figure_recording("two", example, {"both": ["1-0", "1-1"]})
    assert found.words[-1][2] == len(found.frames)
    assert found.weights["both"].shape[0] == len(example["says"]) + 1
    assert abs(found.weights["both"].sum(1) - 1).max() < 0.02  # rounded to thousandths

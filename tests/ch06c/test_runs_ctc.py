"""CTC for page 6c.2: its utterances, a short training with its checks, and how they are read."""

from __future__ import annotations

import json
import random
from itertools import product

import pytest
import torch
import torch.nn.functional as F
from checkout import ROOT
from torch import Tensor, nn

from deepdive.training.objectives import collapse
from deepdive_book.ch06c.figures.ctc_training import widths
from deepdive_book.ch06c.runs import ctc
from deepdive_book.ch06c.runs.ctc import LETTERS, METRICS, TEST, TRAIN, Batch

RUNS = [
    {"checks": [[0, 13.0, 0.0, 0.0, 1.0, 1.0, "X"], [10, 3.0, 1.0, 1.0, 1.0, 0.8, ""],
               [20, 2.0, 0.7, 0.0, 0.9, 0.9, "E"], [30, 1.0, 0.6, 0.0, 0.5, 0.4, "SIX"]]},
    {"checks": [[0, 12.0, 0.0, 0.0, 1.0, 1.0, "Y"], [10, 3.5, 1.0, 1.0, 1.0, 1.0, ""]]},
]  # fmt: skip


class Scorer(nn.Module):
    """A linear map of each frame."""

    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Linear(13, len(LETTERS))

    def forward(self, frames: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        return self.out(frames), lengths


def loss(model: nn.Module, batch: Batch) -> Tensor:
    scores, lengths = model(batch.frames, batch.lengths)
    log_p = scores.log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(log_p, batch.symbols, lengths, batch.symbol_lengths)


@pytest.fixture(autouse=True)
def generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return Scorer()


def test_speakers_of_the_test_are_not_in_the_training() -> None:
    train, test = ctc.load_utterances()
    assert len(train) > len(test) > 0
    assert not {*train.speakers} & {*test.speakers}


def test_a_batch_has_standardized_frames_and_its_texts() -> None:
    _, test = ctc.load_utterances()
    batch = ctc.make_batch(TEST, [2, 0])
    assert batch.lengths.tolist() == [len(test.features[2]), len(test.features[0])]
    assert batch.symbol_lengths.tolist() == [len(test.words[2]), len(test.words[0])]
    texts = ["".join(LETTERS[int(k)] for k in row[:n])
             for row, n in zip(batch.symbols, batch.symbol_lengths, strict=True)]  # fmt: skip
    assert texts == [test.words[2], test.words[0]]
    first = batch.frames[0, : batch.lengths[0]]
    torch.testing.assert_close(first.mean(0), torch.zeros(13), atol=1e-4, rtol=0)
    torch.testing.assert_close(first.std(0), torch.ones(13), atol=1e-3, rtol=0)
    assert len(ctc.make_batch(TEST).lengths) == len(test)


def test_short_utterances_come_first_in_the_first_epoch_only() -> None:
    lengths = ctc.make_batch(TRAIN).lengths
    indices = ctc.batch_indices(True, 8, random.Random(0))
    per_epoch = len(lengths) // 8
    first = [i for _ in range(per_epoch) for i in next(indices)]
    second = [i for _ in range(per_epoch) for i in next(indices)]
    assert lengths[first].tolist() == sorted(lengths[first].tolist())
    assert lengths[second].tolist() != sorted(lengths[second].tolist())
    assert len({*second}) == len(second) == 8 * per_epoch


def test_training_is_checked_before_its_first_step_and_then_regularly(model: nn.Module) -> None:
    checks = ctc.train_model(model, loss, 4, seed=1, check_every=2, lr=0.05)
    assert [line[0] for line, _ in checks] == [0, 2, 4]
    losses = [line[METRICS["loss"]] for line, _ in checks]
    assert losses[-1] < 0.75 * losses[0]
    probabilities = checks[0][1]
    assert probabilities.shape[1] == len(LETTERS)
    torch.testing.assert_close(probabilities.sum(1), torch.ones(len(probabilities)))
    assert not model.training


def test_a_model_that_writes_nothing_is_all_wrong(model: nn.Module) -> None:
    model.out.weight.data.zero_()
    model.out.bias.data = F.one_hot(torch.tensor(0), len(LETTERS)).float()
    line, _ = ctc.check(model, loss, 7)
    assert line[0] == 7
    assert line[2:] == [1.0, 1.0, 1.0, 1.0, ""]


def test_a_row_has_what_the_saved_rows_have(model: nn.Module) -> None:
    checks = ctc.train_model(model, loss, 1, seed=1, check_every=1)
    path = ROOT / "chapters" / "06c_speech" / "results" / "ctc.json"
    saved = next(row for row in json.loads(path.read_text())["rows"] if row.get("probabilities"))
    decoded, says = ctc.decode(model), ctc.example_probabilities(checks, [1])
    assert {name: len(each) for name, each in decoded.items()} == {
        name: len(each) for name, each in saved["decoded"].items()
    }
    assert len(checks[0][0]) == len(saved["checks"][0])
    assert [*says] == ["1"]
    assert {len(row) for row in says["1"]} == {len(ctc.example_symbols())}


def test_metrics_are_those_of_the_last_check() -> None:
    assert ctc.metric_at(RUNS, 20, "cer") == [0.9, 1.0]
    assert ctc.metric_at(RUNS, 19, "blank") == [1.0, 1.0]


def test_a_difference_is_paired_by_seed_and_corrected() -> None:
    base = [{"checks": [[250, 2.0, 1.0, 1.0, 1.0, cer, ""]]} for cer in (0.9, 0.8, 1.0)]
    other = [{"checks": [[250, 1.0, 0.5, 0.0, 0.6, cer, ""]]} for cer in (0.3, 0.3, 0.3)]
    found = ctc.difference(base, other, 250, "cer")
    assert found is not None
    assert found.value == pytest.approx(-60)
    assert found.high - found.value == pytest.approx(9.925 * 10 / 3**0.5, rel=1e-3)
    assert ctc.difference(base[:1], other[:1], 250, "cer") is None


def test_the_loss_leaves_out_texts_that_do_not_fit(model: nn.Module) -> None:
    batch = ctc.make_batch(TRAIN, [0, 1])
    cut = batch._replace(lengths=torch.tensor([int(batch.lengths[0]), 1]))
    alone = ctc.make_batch(TRAIN, [0])
    torch.testing.assert_close(ctc.batch_loss(model, cut), ctc.batch_loss(model, alone))


def test_tables_of_the_page_have_their_numbers(model: nn.Module) -> None:
    saved = json.loads((ROOT / "chapters/06c_speech/results/ctc.json").read_text())["rows"]
    runs = {name: [row for row in saved if row["setting"] == name] for name in ctc.SETTINGS}
    text = ctc.settings_table(runs, lambda strided, norm: Scorer())._repr_html_()
    assert "-64 [-100, -27]" in text.replace("−", "-")
    assert ctc.output_table(runs["baseline"])._repr_html_().count("<tr") == 8
    gain = ctc.decoding_gain(runs["batch normalization"], "prefix beam search",
                             "prefix beam search + language model")  # fmt: skip
    assert gain is not None
    assert gain.value == pytest.approx(-17.1, abs=0.05)


def short_batch() -> Batch:
    """Two letters in four pooled frames, without any sound."""
    return Batch(torch.zeros(1, 16, 13), torch.tensor([16]), torch.tensor([[2, 3]]),
                 torch.tensor([2]))  # fmt: skip


def test_the_first_targets_count_the_paths_of_the_text() -> None:
    paths = [path for path in product((0, 2, 3), repeat=4) if collapse(path) == [2, 3]]
    expected = [sum(path.count(k) for path in paths) / (4 * len(paths)) for k in (0, 2, 3)]
    found = ctc.target_probabilities(short_batch())
    torch.testing.assert_close(found[[0, 2, 3]], torch.tensor(expected))
    assert float(found.sum()) == pytest.approx(1, abs=1e-5)


def test_the_best_constant_output_beats_the_uniform_one() -> None:
    best, found = ctc.fit_constant(short_batch(), short_batch(), steps=60)
    _, uniform = ctc.fit_constant(short_batch(), short_batch(), steps=0)
    assert found < uniform / 2
    assert float(best[[0, 2, 3]].sum()) > 0.99
    assert float(best[2]) == pytest.approx(float(best[3]), abs=1e-3)


def test_scores_that_never_change_have_no_deviation(model: nn.Module) -> None:
    before = ctc.score_deviation(model)
    model.out.weight.data *= 2
    assert ctc.score_deviation(model) == pytest.approx(2 * before, rel=1e-4)
    model.out.weight.data.zero_()
    assert ctc.score_deviation(model) == pytest.approx(0, abs=1e-6)


def test_widths_name_a_symbol_that_was_not_saved() -> None:
    """Probabilities in thousandths of the transcript's symbols; the rest belongs to others."""
    names = [LETTERS[k] for k in ctc.example_symbols()]  # blank first, then the space
    frames = []
    for symbol in (0, 2, 2, 0, 1, None, None, None, 0):  # blank, a letter twice, ... another letter
        frame = [0] * len(names)
        if symbol is not None:
            frame[symbol] = 900
        frames.append(frame)
    run = {"probabilities": {"5": frames}, "checks": [[5, 1.0, f"{names[2]} Q"]]}
    assert widths(run, 5) == [(names[2], 2), ("space", 1), ("Q", 3)]
    unknown = {**run, "checks": [[5, 1.0, "of another length"]]}
    assert widths(unknown, 5)[-1] == ("?", 3)

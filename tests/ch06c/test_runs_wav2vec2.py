"""wav2vec 2.0 for page 6c.3: a short pretraining, its probes and its codebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from checkout import ROOT
from torch import Tensor

from deepdive.core import PreNorm
from deepdive.layers.speech_frontend import layer_norms
from deepdive.models.speech.wav2vec2 import BASE, wav2vec2
from deepdive.models.speech.wav2vec2_pretraining import Wav2Vec2ForPreTraining
from deepdive.training.objectives import (
    contrastive_loss,
    diversity_loss,
    hidden_spans,
    sample_negatives,
)
from deepdive_book.ch06c.runs import wav2vec2 as runs
from deepdive_book.tasks.utterances import Batch

TINY = BASE.but(
    channels=13, widths=(16, 16), kernels=(3, 3), strides=(2, 1), norms=layer_norms,
    residual=PreNorm, place_width=4, place_groups=2, d_model=16, n_heads=2, n_layers=1, d_ff=16,
    codes=6, d_code=8, d_target=8, n_negatives=5, dropout=0.0, ff_dropout=0.0,
    attention_dropout=0.0,
)  # fmt: skip


@pytest.fixture(autouse=True)
def generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPDIVE_PROFILE", "ci")


def losses(model: Any, batch: Batch) -> tuple[Tensor, Tensor]:
    sound, mask, _ = batch
    hidden = hidden_spans(model.encoder.real(mask))
    output, target, usage = model(sound, hidden, mask)
    negatives = sample_negatives(hidden, TINY.n_negatives)
    return contrastive_loss(output, target, hidden, negatives), diversity_loss(usage, hidden)


@pytest.fixture(scope="module")
def trained() -> Iterator[tuple[Any, list[list[float]]]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPDIVE_PROFILE", "ci")
        torch.manual_seed(0)
        model = Wav2Vec2ForPreTraining(wav2vec2(TINY))
        yield model, runs.train_model(model, losses, 3, seed=1, diversity=0.1)


def test_speakers_of_the_test_are_not_in_the_training() -> None:
    train, test = runs.load_utterances()
    assert not {*train.speakers} & {*test.speakers}
    assert len(train) >= runs.LABELED


def test_training_counts_entries_and_cools_the_codebooks(
    trained: tuple[Any, list[list[float]]],
) -> None:
    model, used = trained
    assert len(used) == 4  # before each of three steps, and after the last
    assert all(1 <= entries <= TINY.codes for both in used for entries in both)
    assert model.quantizer.temperature == pytest.approx(0.5)


def test_a_probe_has_an_accuracy_for_each_test_speaker(
    trained: tuple[Any, list[list[float]]],
) -> None:
    _, test = runs.load_utterances()
    encoder = trained[0].encoder
    for layer in (runs.CEPSTRA, None, 0):
        found = runs.probe_accuracy(encoder, layer, seed=1)
        assert len(found) == len({*test.speakers})
        assert all(0 <= value <= 100 for value in found)
    assert min(runs.probe_accuracy(encoder, runs.CEPSTRA, seed=1)) > 30  # generated phones are easy


def test_cepstra_are_the_seven_frames_of_a_hidden_state(
    trained: tuple[Any, list[list[float]]],
) -> None:
    _, test = runs.load_utterances()
    encoder, one = trained[0].encoder, test.only([0])
    vectors, speakers = runs.hidden_states(encoder, one, runs.CEPSTRA)
    assert len(vectors) == len(runs.phone_labels(encoder, one)) == len(speakers)
    step = one.frames[0]
    torch.testing.assert_close(vectors[0], step[: vectors.shape[1] // 13].flatten())


def test_codes_are_found_more_often_the_fewer_are_compared(
    trained: tuple[Any, list[list[float]]],
) -> None:
    found = runs.code_accuracy(trained[0])
    assert 0 < found["left"] <= runs.N_NEGATIVES
    assert found["chance"] >= 100 / (1 + runs.N_NEGATIVES)
    assert runs.code_accuracy(trained[0]) == found


def test_each_test_frame_has_one_phone_and_one_entry(
    trained: tuple[Any, list[list[float]]],
) -> None:
    _, test = runs.load_utterances()
    joint = torch.tensor(runs.phone_code_counts(trained[0]))
    phones = runs.phone_labels(trained[0].encoder, test)
    assert joint.shape == (len(test.names), TINY.codes)
    assert joint.sum(1).tolist() == torch.bincount(phones, minlength=len(test.names)).tolist()


def test_a_row_has_what_the_saved_rows_have(trained: tuple[Any, list[list[float]]]) -> None:
    path = ROOT / "chapters" / "06c_speech" / "results" / "wav2vec2.json"
    saved = next(r for r in json.loads(path.read_text())["rows"] if r["model"] == "compared")
    assert {*runs.code_accuracy(trained[0])} <= {*saved}


def test_gains_are_paired_by_seed_and_by_speaker() -> None:
    ours = [{"probe": [50.0, 60.0]}, {"probe": [40.0, 80.0]}]
    base = [{"convolved": [40.0, 50.0]}, {"convolved": [40.0, 40.0]}]
    assert runs.gains(ours, base, "probe", "convolved") == ([5.0, 25.0], [10.0, 20.0])

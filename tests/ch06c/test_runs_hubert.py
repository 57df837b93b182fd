"""HuBERT for page 6c.4: units of each kind, short trainings, and how units agree with phones."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import torch
from checkout import ROOT
from torch import Tensor, nn

from deepdive.core import PreNorm
from deepdive.layers.speech_frontend import layer_norms
from deepdive.models.speech.hubert import BASE, hubert
from deepdive.training.objectives import hidden_spans, unit_loss
from deepdive_book.ch06c.runs.hubert import (
    FEWEST,
    TEST,
    TRAIN,
    Experiment,
    frequent_phones,
    load_utterances,
    phone_fractions,
)
from deepdive_book.tasks.utterances import Batch

TINY = BASE.but(
    channels=13, widths=(16, 16), kernels=(3, 3), strides=(2, 1), norms=layer_norms,
    residual=PreNorm, place_width=4, place_groups=2, d_model=16, n_heads=2, n_layers=1, d_ff=16,
    d_target=8, dropout=0.0, ff_dropout=0.0, attention_dropout=0.0,
)  # fmt: skip


def loss(model: nn.Module, batch: Batch) -> Tensor:
    sound, mask, units = batch
    real = model.encoder.real(mask)  # type: ignore[operator, union-attr]
    hidden = hidden_spans(real)
    return unit_loss(model(sound, hidden, mask), units[:, : real.shape[1]], hidden, real)


@pytest.fixture(scope="module", autouse=True)
def generated() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEEPDIVE_PROFILE", "ci")
        yield


@pytest.fixture(scope="module")
def experiment() -> Experiment:
    return Experiment(lambda: hubert(TINY), loss, n_units=5, layer=1)


@pytest.mark.parametrize("kind", ["cepstra", "not trained", "first", "once more", "second"])
def test_each_frame_has_a_unit(experiment: Experiment, kind: str) -> None:
    units = experiment.units(kind, 2, seed=1)
    for part in (TRAIN, TEST):
        phones = experiment.phones(part)
        assert [len(x) for x in units[part]] == [len(x) for x in phones]
        assert [len(x) for x in phones] == [len(x) for x in experiment.cepstra(part)]
    assert {*torch.cat(units[TRAIN]).tolist()} <= {*range(5)}


def test_units_and_models_are_made_once_and_follow_the_seed(experiment: Experiment) -> None:
    assert experiment.model("first", 2, 1) is experiment.model("first", 2, 1)
    again = Experiment(lambda: hubert(TINY), loss, n_units=5, layer=1)
    for kind in ("cepstra", "first"):
        one, two = (torch.cat(x.units(kind, 2, 1)[TEST]) for x in (experiment, again))
        assert torch.equal(one, two)
    other = torch.cat(again.units("cepstra", 0, 2)[TEST])
    assert not torch.equal(torch.cat(again.units("cepstra", 0, 1)[TEST]), other)


def test_going_on_leaves_the_first_model_as_it_was(experiment: Experiment) -> None:
    first = experiment.model("first", 2, 1)
    before = [p.clone() for p in first.parameters()]
    later = experiment.model("once more", 2, 1)
    assert all(torch.equal(a, b) for a, b in zip(before, first.parameters(), strict=True))
    pairs = zip(before, later.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)


def test_rows_have_what_the_saved_rows_have(experiment: Experiment) -> None:
    path = ROOT / "chapters" / "06c_speech" / "results" / "hubert.json"
    saved = json.loads(path.read_text())["rows"]
    for kind in ("cepstra", "first"):
        row, wanted = experiment.evaluate(kind, 2, 1), next(r for r in saved if r["units"] == kind)
        assert {*wanted} == {*row, "units", "steps", "seed", "seconds"}
        assert all(low <= value <= high for value, low, high in row.values())


def test_more_clusters_of_cepstra_are_purer(experiment: Experiment) -> None:
    phones = experiment.phones(TEST)
    purities = []
    for n in (2, 16):
        table, _ = phone_fractions(phones, experiment.cluster_cepstra(n), [0])
        purities.append(table.max(0).sum() / table.sum())
    assert purities[0] < purities[1]


def test_fractions_are_of_a_phones_frames() -> None:
    phones, units = [torch.tensor([0, 0, 1]), torch.tensor([1])], [torch.tensor([0, 1, 1])] * 2
    table, fractions = phone_fractions(phones, [units[0], torch.tensor([1])], [1, 0])
    assert table.tolist() == [[1, 1], [0, 2]]
    assert fractions.tolist() == [[0, 1], [0.5, 0.5]]


def test_frequent_phones_come_by_kind_of_sound() -> None:
    names = ("_", "T", "S", "IY")
    phones = [torch.tensor([0] * FEWEST + [1] * FEWEST + [2] * (FEWEST - 1) + [3] * FEWEST)]
    assert frequent_phones(phones, names) == (["_", "IY", "T"], {"S": FEWEST - 1})


def test_speakers_of_the_test_are_new() -> None:
    train, test = load_utterances()
    assert not {*train.speakers} & {*test.speakers}

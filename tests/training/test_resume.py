"""Killed at any moment and started again, training ends in the same weights, bit for bit."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from checkout import TESTS
from safetensors.torch import save_file
from torch import nn

import deepdive
from deepdive.training import Keep, Limit, TrainingDiverged, Update, Validation, fit
from deepdive.training.optim import adam, constant

SCRIPT = TESTS / "resume_script.py"
CASES = {
    "accumulation": {"kills": 10, "accumulate": 2},
    "average and validation": {"kills": 10, "ema": True, "validate": True},
    "early stopping": {"kills": 8, "validate": True, "patience": 2, "factor": 40.0},
    "minutes": {"kills": 8, "minutes": 0.5, "validate": True},
    "two threads": {"kills": 6, "threads": 2, "ema": True},
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Run every case in one process that forks, since importing torch costs more than a case."""
    command = [sys.executable, str(SCRIPT), str(tmp_path_factory.mktemp("runs"))]
    library = str(Path(deepdive.__file__).parents[1])
    done = subprocess.run(
        [*command, json.dumps(CASES), "3"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": library, "OMP_WAIT_POLICY": "PASSIVE"},
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", CASES)
def test_killed_and_started_again(name, outcomes):
    facts = outcomes[name]
    print(facts)
    assert facts["same"]
    assert facts["kills"] >= 1  # a fast machine may be done between two kills
    assert len(facts["left"]) == 2
    ends = {"early stopping": "patience", "minutes": "minutes"}
    assert facts["stopped"] == ends.get(name, "steps")
    assert facts["steps"] == {"minutes": 30}.get(name, facts["steps"])


def test_some_were_killed_while_they_wrote(outcomes):
    assert sum(facts["torn"] for facts in outcomes.values()) >= 1


def batches(n=5):
    g = torch.Generator().manual_seed(0)
    return [(torch.randn(4, 3, generator=g), torch.randn(4, 2, generator=g)) for _ in range(n)]


def squared(model, batch, weight=1.0):
    return weight * ((model(batch[0]) - batch[1]) ** 2).mean()


def diverging(at):
    """Return `squared`, but NaN at the steps that the list `at` holds."""
    steps = itertools.count(1)

    def loss(net, batch):
        return squared(net, batch) * (torch.nan if next(steps) in at else 1)

    return loss


def model(width=2, dropout=0.1):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, width), nn.Dropout(dropout), nn.Linear(width, 2))


def run(folder, net=None, **more):
    net = net or model()
    given = {"batches": batches(), "loss": squared, "steps": 7, "progress": False, **more}
    return net, fit(net, folder=Keep(folder, every=3), **given)


def test_a_finished_run_returns_at_once_with_the_best_weights(tmp_path):
    values = iter([2.0, 1.0, 3.0, 4.0])
    more = {"validate": Validation(lambda m: next(values), every=2)}
    net, history = run(tmp_path, **more)
    after = torch.rand(1)
    fresh = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.1), nn.Linear(2, 2))
    torch.rand(5)
    _, again = run(tmp_path, fresh, **more)  # values is exhausted: nothing is trained or validated
    assert again == history
    assert all(map(torch.equal, net.state_dict().values(), fresh.state_dict().values()))
    assert torch.equal(after, torch.rand(1))
    assert not fresh.training


def test_a_fresh_start_does_not_depend_on_what_ran_before(tmp_path):
    one, _ = run(tmp_path / "a")
    torch.rand(3)
    two, _ = run(tmp_path / "b")
    assert torch.equal(one[0].weight, two[0].weight)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"steps": 8}, "steps: was 7, is 8"),
        ({"update": Update(clip=0.5)}, "clip: was 1.0, is 0.5"),
        ({"seed": 1}, "seed: was 0, is 1"),
        ({"update": Update(accumulate=2)}, "accumulate: was 1, is 2"),
        ({"batches": batches(6)}, "data: length: was 5, is 6"),
        ({"schedule": constant(0.1)}, "schedule"),
        ({"validate": lambda m: 1.0}, "validate: was None, is .*lambda"),
        ({"validate": Validation(len, every=3)}, "validate_every: was None, is 3"),
        ({"limit": Limit(3.0)}, "minutes: was None, is 3.0"),
        ({"loss": lambda m, b: squared(m, b)}, "loss: was 'squared"),
        ({"net": model(width=5)}, r"tensors: 0.weight: was .*\[2, 3\].*is .*\[5, 3\]"),
        ({"net": model(dropout=0.4)}, r"modules.*Dropout\(p=0.1.*Dropout\(p=0.4"),
    ],
)
def test_another_configuration_is_refused(tmp_path, more, words):
    run(tmp_path)
    with pytest.raises(
        ValueError, match=rf"(?s)folder: .* a different configuration.*{words}.*another folder"
    ):
        run(tmp_path, **more)


def test_settings_of_functions_and_optimizers_count(tmp_path):
    def smoothed(weight):
        return lambda m, b: squared(m, b, weight)

    net = model()
    run(tmp_path, net, loss=smoothed(0.5), optimizer=adam(net))
    net = model()
    run(tmp_path, net, loss=smoothed(0.5), optimizer=adam(net))
    with pytest.raises(ValueError, match=r"loss is set with: weight: was 0\.5, is 0\.6"):
        run(tmp_path, net, loss=smoothed(0.6), optimizer=adam(net))
    with pytest.raises(ValueError, match="optimizer: groups"):
        run(tmp_path, net, loss=smoothed(0.5), optimizer=adam(net, weight_decay=0.1))


def test_another_version_is_refused(tmp_path):
    run(tmp_path)
    with pytest.raises(ValueError, match="version: was 1, is 2"):
        fit(
            model(), batches(), squared, steps=7, folder=Keep(tmp_path, 3, version=2),
            progress=False,
        )  # fmt: skip


PAGE = """
WEIGHT = 1.0

def error(x, y, turned=False):
    scaled = [WEIGHT * (x - y).abs().mean() for _ in range(1)]
    return scaled[0] if turned else error(y, x, turned=True)

def loss(net, batch):
    return sum(error(*pair) for pair in [(net(batch[0]), batch[1])])
"""


def test_what_a_function_reads_counts_and_its_code_does_not(tmp_path):
    def page(text):
        space = {"__name__": "page"}
        exec(text, space)
        return space["loss"]

    run(tmp_path, loss=page(PAGE))
    _, history = run(tmp_path, loss=page(PAGE.replace("x - y", "x + 0 - y")))  # as another Python
    assert history.stopped == "steps"
    with pytest.raises(ValueError, match=r"loss is set with: WEIGHT: was 1\.0, is 0\.5"):
        run(tmp_path, loss=page(PAGE.replace("1.0", "0.5")))


def test_another_environment_is_warned_of(tmp_path, monkeypatch):
    run(tmp_path)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    with pytest.warns(UserWarning, match="threads: was .*, is 64.*last bits"):
        run(tmp_path)


def test_a_torn_checkpoint_costs_steps_not_exactness(tmp_path):
    whole, _ = run(tmp_path / "whole")
    bad = [5]  # ends the run after step 4, with checkpoints of steps 0 and 3
    with pytest.raises(TrainingDiverged):
        run(tmp_path / "torn", loss=diverging(bad))
    bad.clear()
    newest = sorted((tmp_path / "torn").iterdir())[-1] / "state.safetensors"
    newest.write_bytes(newest.read_bytes()[:-8])
    with pytest.warns(UserWarning, match="cannot be used"):
        again, history = run(tmp_path / "torn", loss=diverging(bad))
    assert history.steps == 7
    assert torch.equal(whole[2].weight, again[2].weight)


def test_a_place_that_cannot_be_saved_is_named(tmp_path):
    class Odd(list):
        def state_dict(self):
            return {"order": {1, 2}}

        def load_state_dict(self, state):
            pass

    with pytest.raises(TypeError, match=r"batches: state_dict\(\) of Odd .* set"):
        run(tmp_path, batches=Odd(batches()))


def test_going_on_is_said(tmp_path, capsys):
    run(tmp_path)
    run(tmp_path, progress=True)
    assert "training finished already, after step 7" in capsys.readouterr().out


def test_no_pickle_is_written(tmp_path):
    run(tmp_path)
    names = {file.name for folder in tmp_path.iterdir() for file in folder.iterdir()}
    assert names == {"state.safetensors", "state.json"}


def test_batches_in_a_list_keep_their_place(tmp_path):
    """The place is part of the state: a run that forgets it would see batch 1 again."""
    seen, bad, data = [], [True], batches()

    def loss(net, batch):
        seen.append(float(batch[0].sum()))
        return squared(net, batch) * (torch.nan if bad and len(seen) == 4 else 1)

    with pytest.raises(TrainingDiverged):
        run(tmp_path, batches=data, loss=loss)
    bad.clear()
    seen.clear()
    run(tmp_path, batches=data, loss=loss)
    sums = [float(x.sum()) for x, _ in data]
    assert seen == [*sums[3:], *sums[:2]]


def test_old_leftovers_are_cleared(tmp_path):
    (tmp_path / ".writing-000001").mkdir()
    run(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint-000003", "checkpoint-000004"]
    shutil.rmtree(tmp_path)


def test_a_file_that_was_being_written_at_a_kill_is_cleared(tmp_path):
    """safetensors writes under a name of its own, then renames: both moments leave nothing."""
    moments = tmp_path / "moments"
    moments.mkdir()
    child = os.fork()
    if child == 0:
        save_file({"x": torch.zeros(60_000_000)}, moments / "state.safetensors")
        os._exit(0)
    while not (names := os.listdir(moments)):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    draft = tmp_path / "run" / ".writing-000001"
    draft.mkdir(parents=True)
    for name in {*names, ".tmpa1B2c3"}:
        (draft / name).write_bytes(b"half")
    (tmp_path / "run" / ".writing-000002").mkdir()
    (tmp_path / "run" / ".writing-000002" / "mine.txt").write_text("not of a checkpoint")
    run(tmp_path / "run")
    assert sorted(os.listdir(tmp_path / "run")) == [
        ".writing-000002",
        "checkpoint-000005",
        "checkpoint-000006",
    ]

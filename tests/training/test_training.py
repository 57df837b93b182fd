"""`fit`, schedules, the average, seeds, weights on disk: what they compute and refuse."""

import copy
import hashlib
import inspect
import json
import math
import os
import random
import signal

import numpy as np
import pytest
import torch
from disk import full_after
from safetensors.torch import load_file
from torch import nn

from deepdive.core.hooks import HookPoint, LossPoint
from deepdive.data.batches import BucketBatches
from deepdive.published.weights import adopt, read
from deepdive.training import (
    Keep,
    Limit,
    TrainingDiverged,
    TrainingInterrupted,
    Update,
    Validation,
    fit,
    seed_everything,
    steps,
)
from deepdive.training.checkpoint import Checkpoints, save_weights
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import EMA, adam, constant, cosine, inverse_sqrt, linear


def regression(n=6, rows=8, seed=0):
    g = torch.Generator().manual_seed(seed)
    xs = torch.randn(n, rows, 3, generator=g)
    return [(x, x @ torch.tensor([[1.0], [-2.0], [0.5]])) for x in xs]


def squared(model, batch):
    x, y = batch
    return ((model(x) - y) ** 2).mean()


def small(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Dropout(0.2), nn.Linear(5, 1))


def run(model, batches=None, loss=squared, **more):
    return fit(model, batches or regression(), loss, **{"progress": False, "steps": 4, **more})


# ---- what a step computes


def test_a_step_equals_the_equations_by_hand():
    """Two steps of accumulation, clipping and Adam, against the paper's equations in float64."""
    batches = regression()
    model = nn.Linear(3, 1, bias=False).double()
    w = model.weight.detach().clone()
    batches = [(x.double(), y.double()) for x, y in batches]
    m, v = torch.zeros_like(w), torch.zeros_like(w)
    norms = []
    for t in (1, 2):
        g = torch.zeros_like(w)
        for x, y in batches[2 * t - 2 : 2 * t]:
            g += (2 * (x @ w.T - y) * x).mean(0, keepdim=True) / 2
        norms.append(g.norm().item())
        g *= min(1.0, 0.5 / (g.norm().item() + 1e-6))
        m, v = 0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g**2
        lr = 16**-0.5 * min(t**-0.5, t * 3**-1.5)
        w -= lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.98**t)).sqrt() + 1e-9)
    schedule = inverse_sqrt(16, warmup=3)
    history = run(model, batches, steps=2, schedule=schedule, update=Update(0.5, 2))
    torch.testing.assert_close(model.weight.detach(), w, rtol=1e-9, atol=1e-12)
    assert history.norms == pytest.approx(norms)
    assert history.lrs == [schedule(1), schedule(2)]


def test_clip_none_leaves_the_gradient():
    a, b = nn.Linear(3, 1), nn.Linear(3, 1)
    b.load_state_dict(a.state_dict())
    for model, clip in ((a, None), (b, 1e9)):
        run(model, update=Update(clip), optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    assert torch.equal(a.weight, b.weight)


def test_groups_keep_the_ratio_of_their_rates():
    model = small()
    optimizer = torch.optim.SGD(
        [{"params": model[0].parameters(), "lr": 1.0}, {"params": model[3].parameters(), "lr": 0.1}]
    )
    run(model, optimizer=optimizer, schedule=constant(0.02))
    assert [g["lr"] for g in optimizer.param_groups] == pytest.approx([0.02, 0.002])


def test_auxiliary_losses_are_added():
    class WithCost(nn.Module):
        def __init__(self):
            super().__init__()
            self.line, self.cost = nn.Linear(3, 1), LossPoint()

        def forward(self, x):
            self.cost(self.line.weight.square().sum())
            return self.line(x)

    model = WithCost()
    batch = regression()[0]
    expected = squared(model, batch).item() + model.line.weight.square().sum().item()
    assert run(model, [batch], steps=1).losses == pytest.approx([expected])


def test_learns_and_reports(capsys):
    model = nn.Linear(3, 1)
    history = run(model, steps=300, schedule=constant(0.05), progress=True)
    assert history.losses[-1] < 1e-3 < history.losses[0]
    assert (history.steps, history.stopped, history.best) == (300, "steps", None)
    assert history.tokens == 300 * 8
    assert history.seconds > 0
    assert "300/300" in capsys.readouterr().err
    assert json.loads(json.dumps(history.as_dict()))["losses"] == history.losses
    curve = history.curve(window=7)
    assert len(curve["loss"]) == 43
    assert curve["step"][-1] == 300
    assert curve["loss"][0] == pytest.approx(sum(history.losses[:7]) / 7)
    assert not model.training


def test_epochs_and_tokens_of_real_batches():
    data = BucketBatches([[5, 6, 2], [7, 2], [8, 9, 4, 2]], max_tokens=4)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 10))
    loss = lambda m, b: cross_entropy(m(b[0]), b[0])  # noqa: E731
    history = run(model, data, loss, epochs=3, steps=None)
    assert (history.stopped, history.steps, history.tokens) == ("epochs", 9, 27)
    history = run(model, data, loss, epochs=3, steps=None, update=Update(accumulate=2))
    assert history.steps == 4


def test_unequal_batches_can_count_by_their_tokens():
    """2 and 10 tokens: weighed, an update is that of all 12 in one batch, a mean of means not."""
    x, y = torch.randn(12, 3), torch.randn(12, 1)
    small_ones, large_one = [(x[:2], y[:2]), (x[2:], y[2:])], [(x, y)]
    start = nn.Linear(3, 1, bias=False)

    def after(batches, **more):
        model = copy.deepcopy(start)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        history = run(model, batches, steps=1, optimizer=optimizer, update=Update(None, **more))
        return model.weight, history.losses[0]

    (whole, loss), (means, _) = after(large_one), after(small_ones, accumulate=2)
    weighed, told = after(small_ones, accumulate=2, weigh=lambda batch: len(batch[0]))
    torch.testing.assert_close(weighed, whole)
    assert told == pytest.approx(loss)
    assert not torch.allclose(means, whole, rtol=1e-3)
    with pytest.raises(
        ValueError, match=r"weigh: returned \[0.0, 0.0\], expected a number above 0"
    ):
        after(small_ones, accumulate=2, weigh=lambda batch: 0)


def test_same_seed_same_weights_and_validation_has_no_say():
    def trained(**more):
        model = small()
        torch.rand(random.randrange(9))  # whatever ran before
        run(model, steps=7, **more)
        return model[0].weight

    once = trained()
    assert torch.equal(once, trained())
    assert not torch.equal(once, trained(seed=1))
    falling = iter(range(100, 0, -1))  # each is the best, so the last weights are kept
    measure = lambda m: next(falling) + 0 * torch.rand(3).sum()  # noqa: E731
    noisy = trained(validate=Validation(measure, every=2))
    assert torch.equal(once, noisy)


def test_settings_of_torch_come_back():
    before = torch.are_deterministic_algorithms_enabled()
    seen = []
    run(
        small(),
        loss=lambda m, b: (
            seen.append(torch.are_deterministic_algorithms_enabled()),
            squared(m, b),
        )[1],
    )
    assert all(seen)
    assert torch.are_deterministic_algorithms_enabled() == before
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# ---- validation, patience, minutes


def test_best_weights_are_in_the_model_at_the_end():
    values = iter([3.0, 1.0, 2.0, 5.0, 4.0])
    seen = []

    def validate(model):
        assert not model.training
        assert not torch.is_grad_enabled()
        seen.append(model[0].weight.clone())
        return next(values)

    model = small()
    history = run(model, steps=9, validate=Validation(validate, every=2))
    assert history.validations == [(2, 3.0), (4, 1.0), (6, 2.0), (8, 5.0), (9, 4.0)]
    assert (history.best, history.best_step) == (1.0, 4)
    assert torch.equal(model[0].weight, seen[1])
    assert not torch.equal(seen[1], seen[-1])


def test_patience_counts_validations_without_a_new_best():
    values = iter([3.0, 1.0, 1.0, 2.0, 0.0])
    watched = Validation(lambda m: next(values), every=1, patience=2)
    history = run(small(), steps=None, validate=watched)
    assert (history.steps, history.stopped) == (4, "patience")


def test_validates_every_epoch_by_default():
    history = run(small(), steps=13, validate=lambda m: 1.0)
    assert [step for step, _ in history.validations] == [6, 12, 13]


def test_minutes_end_a_run():
    ticks = iter(range(10**6))  # a step takes a second
    history = run(small(), steps=None, limit=Limit(0.5, clock=lambda: float(next(ticks))))
    assert (history.steps, history.stopped, history.seconds) == (30, "minutes", 30.0)


# ---- divergence


def test_nan_in_the_inputs_is_named():
    batches = regression()
    batches[2][0][4, 1] = math.nan
    with pytest.raises(
        TrainingDiverged, match=r"step 3 \(batch 3.*\n.*input batch\[0\].*\[4, 1\].*\n.*clean"
    ):
        run(small(), batches)


def test_infinite_targets_in_a_dict_are_named():
    batches = [{"x": x, "y": y} for x, y in regression()]
    batches[1]["y"][0, 0] = math.inf
    with pytest.raises(TrainingDiverged, match=r"step 2.*\n.*input batch\['y'\].*\(inf\)"):
        run(small(), batches, lambda m, b: squared(m, (b["x"], b["y"])))


def test_a_bad_parameter_is_named():
    model = small()
    with torch.no_grad():
        model[3].weight[0, 2] = math.nan
    with pytest.raises(TrainingDiverged, match=r"parameter 3\.weight.*\[0, 2\]"):
        run(model)


def test_the_first_bad_hook_point_is_named():
    class Root(nn.Module):
        def __init__(self):
            super().__init__()
            self.line, self.scores, self.out = nn.Linear(3, 1), HookPoint(), HookPoint()

        def forward(self, x):
            masked = torch.cat([self.line(x), torch.full((len(x), 1), -math.inf)], 1)
            return self.out((self.scores(masked)[:, :1] - 1e6).log())

    with pytest.raises(TrainingDiverged, match="output of out, "):
        run(Root())


def test_a_bad_loss_function_is_named():
    with pytest.raises(TrainingDiverged, match="the loss: "):
        run(small(), loss=lambda m, b: (m(b[0]).mean() * 0).log())


def test_a_bad_gradient_is_named():
    with pytest.raises(TrainingDiverged, match=r"the gradient of 3\."):
        run(small(), loss=lambda m, b: (m[3](m[:3](b[0])) * 0).square().sum().sqrt())


def test_weights_stay_as_they_were_before_the_bad_step():
    batches = regression()
    model, other = small(), small()
    run(model, batches, steps=2)
    batches[2][0][0, 0] = math.nan
    with pytest.raises(TrainingDiverged):
        run(other, batches, steps=5)
    assert torch.equal(model[0].weight, other[0].weight)


def test_late_looks_find_the_same_step(monkeypatch):
    """On a GPU losses are read every few steps; the optimizer skips what follows a bad one."""
    monkeypatch.setattr(steps, "LOOK_EVERY", 4)
    start = steps.Stepper.__post_init__

    def lazily(self):
        start(self)
        self.lazy = True

    monkeypatch.setattr(steps.Stepper, "__post_init__", lazily)
    model, other = small(), small()
    history = run(model, steps=6)
    assert len(history.losses) == 6
    batches = regression()
    run(model := small(), batches, steps=2)
    batches[2][0][0, 0] = math.nan
    with pytest.raises(TrainingDiverged, match=r"step 3 \(batch 3.*\n.*input"):
        run(other, batches, steps=20)
    assert torch.equal(model[0].weight, other[0].weight)


def test_a_validation_that_is_not_finite():
    with pytest.raises(TrainingDiverged, match="validate: returned nan after step 2"):
        run(small(), validate=Validation(lambda m: math.nan, every=2))


# ---- refusals


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"steps": 0}, ValueError, "steps: got 0"),
        ({"steps": None}, ValueError, "steps: got no stopping criterion; give"),
        ({"epochs": 2}, ValueError, "steps, epochs"),
        ({"validate": 3}, TypeError, "validate: got int"),
        ({"limit": 3}, TypeError, r"limit: got 3, expected a Limit .*limit=Limit\("),
        ({"update": {"clip": 1.0}}, TypeError, r"update: got .*clip.*update=Update\("),
        ({"folder": 3}, TypeError, "folder: got 3, expected a path"),
        ({"batches": []}, ValueError, "batches: got length 0"),
        ({"batches": iter([])}, ValueError, "batches: got no batch"),
        ({"batches": iter([1]), "folder": "x"}, TypeError, "batches: .*state_dict"),
        ({"batches": iter([1]), "epochs": 1, "steps": None}, TypeError, "epochs: .*length"),
        ({"loss": lambda m, b: m(b[0])}, TypeError, r"loss: returned \(8, 1\)"),
        ({"loss": lambda m, b: 1.0}, TypeError, "loss: returned float"),
        ({"loss": lambda m, b: torch.tensor(1.0)}, ValueError, "loss: does not depend"),
        ({"optimizer": adam(small())}, ValueError, "optimizer: has no parameter"),
    ],
)
def test_refusals(more, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"batches": regression(), "loss": squared, "steps": 4, "progress": False, **more}
    with pytest.raises(error, match=words):
        fit(small(), **given)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Limit(0), ValueError, "minutes: got 0, expected a number above 0"),
        (lambda: Update(clip=-1.0), ValueError, "clip: got -1.0"),
        (lambda: Update(accumulate=0), ValueError, "accumulate: got 0"),
        (lambda: Validation(len, every=0), ValueError, "every: got 0"),
        (lambda: Validation(len, patience=0), ValueError, "patience: got 0"),
        (lambda: Validation(0.5), TypeError, "validate: got float, expected a function"),
        (lambda: Keep("x", every=0), ValueError, "every: got 0"),
        (lambda: Keep(None), TypeError, "folder: got None, expected a path"),
    ],
)
def test_a_group_of_settings_refuses_what_makes_no_sense(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_validation_without_epochs_says_what_to_give():
    endless = iter(regression())
    with pytest.raises(TypeError, match=r"validate: .*Validation\(measure, every=steps\)"):
        run(small(), endless, validate=lambda m: 1.0)


def test_what_fit_takes_fits_on_one_screen():
    """Rare arguments stand in groups, so that a reader finds the common ones."""
    assert len(inspect.signature(fit).parameters) <= 13


def test_ctrl_c_ends_after_the_step_with_a_checkpoint(tmp_path):
    def loss(model, batch):
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        calls.append(1)
        return squared(model, batch)

    calls, whole = [], small()
    expected = run(whole, steps=6)
    model = small()
    with pytest.raises(TrainingInterrupted, match=r"stopped after step 3.*call fit again") as stop:
        run(model, steps=6, loss=loss, folder=tmp_path)
    assert stop.value.history.losses == expected.losses[:3]
    assert isinstance(stop.value, KeyboardInterrupt)
    history = run(small(5), steps=6, loss=loss, folder=tmp_path)
    assert history.losses == expected.losses
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_stops_at_once():
    def loss(model, batch):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return squared(model, batch)

    with pytest.raises(KeyboardInterrupt) as stop:
        run(small(), loss=loss)
    assert not isinstance(stop.value, TrainingInterrupted)


# ---- schedules, Adam, the average, seeds


def test_inverse_sqrt_is_equation_3():
    lr = inverse_sqrt(512, warmup=4000)
    for step in (1, 10, 3999, 4000, 4001, 100_000):
        assert lr(step) == 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
    assert max(range(1, 9000), key=lr) == 4000


@pytest.mark.parametrize("make", [cosine, linear])
def test_schedules_rise_fall_and_stay(make):
    lr = make(2.0, 10, 110, 0.5)
    assert [lr(1), lr(10), lr(60), lr(110), lr(999)] == pytest.approx([0.2, 2.0, 1.25, 0.5, 0.5])
    rates = [lr(step) for step in range(10, 111)]
    assert rates == sorted(rates, reverse=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: inverse_sqrt(0),
        lambda: inverse_sqrt(8, 0),
        lambda: cosine(1.0, 10, 10),
        lambda: linear(1.0, -1, 10),
        lambda: constant(1.0)(0),
        lambda: inverse_sqrt(8)(0),
        lambda: adam(small(), weight_decay=-1.0),
        lambda: adam(small().requires_grad_(False)),
        lambda: EMA(small(), 1.0),
        lambda: seed_everything(-1),
    ],
)
def test_optim_refuses(call):
    with pytest.raises(ValueError, match=r"got |requires a gradient"):
        call()


def test_decay_spares_biases_norms_and_embeddings():
    model = nn.ModuleDict(
        {"e": nn.Embedding(4, 3), "l": nn.Linear(3, 3), "n": nn.LayerNorm(3), "h": nn.Linear(3, 4)}
    )
    model["h"].weight = model["e"].weight  # tied: still an embedding
    groups = adam(model, weight_decay=0.1).param_groups
    decayed = {id(p) for g in groups if g["weight_decay"] for p in g["params"]}
    assert decayed == {id(model["l"].weight)}
    assert sum(len(g["params"]) for g in groups) == len(list(model.parameters()))


def test_average_equals_its_definition_and_swaps():
    model = nn.Linear(2, 1)
    ema = EMA(model, 0.8)
    seen = []
    for i in range(5):
        with torch.no_grad():
            model.weight.fill_(float(i * i))
        seen.append(float(i * i))
        ema.update()
    weights = [0.8 ** (4 - i) for i in range(5)]
    expected = sum(w * x for w, x in zip(weights, seen, strict=True)) / sum(weights)
    with ema.swap():
        assert model.weight[0, 0].item() == pytest.approx(expected, rel=1e-6)
    assert model.weight[0, 0].item() == 16.0
    with pytest.raises(ValueError, match="names differ"):
        ema.load_state_dict({"updates": torch.tensor(1)})


def test_validation_and_best_weights_are_the_averages():
    model = small()
    ema = EMA(model, 0.9)
    history = run(
        model, update=Update(ema=ema), validate=Validation(lambda m: m[0].weight.sum(), every=4)
    )
    assert history.best == pytest.approx(model[0].weight.sum().item())
    assert ema.updates == 4


def test_seed_everything_sets_all_generators():
    draws = []
    for _ in range(2):
        seed_everything(3)
        draws.append((random.random(), np.random.rand(), torch.rand(2).tolist()))  # noqa: NPY002
    assert draws[0] == draws[1]
    assert torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(False)


# ---- weights on disk


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(5, 3), nn.Linear(3, 5)
        self.head.weight = self.table.weight
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))


def test_tied_weights_are_named_once_and_come_back_tied(tmp_path):
    model, other = Tied(), Tied()
    path = save_weights(model, tmp_path / "deep" / "w.safetensors")
    assert sorted(load_file(path)) == ["head.bias", "seen", "table.weight"]
    adopt(other, read(path))
    assert torch.equal(other.head.weight, model.table.weight)
    assert other.head.weight is other.table.weight
    assert [p.name for p in path.parent.iterdir()] == ["w.safetensors"]


def test_a_full_disk_keeps_the_weights_that_stood_there(tmp_path):
    path = save_weights(small(), tmp_path / "w")
    old = path.read_bytes()
    told = r"path: 0\.0 MB of weights cannot be written to .*/w .*free disk"
    with full_after(50), pytest.raises(OSError, match=told):
        save_weights(small(1), path)
    assert path.read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 1


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = save_weights(small(), tmp_path / "w")
    old = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        save_weights(small(1), path)
    assert path.read_bytes() == old
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("part", ["state.json", "state.safetensors"])
@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b[:-40] + b"0" + b[-39:]])
def test_a_torn_checkpoint_is_named_and_the_one_before_used(tmp_path, part, damage):
    store = Checkpoints(tmp_path)
    for step in (1, 2, 3):
        store.write({"x": torch.full((9,), float(step))}, {"step": step, "more": "y" * 50})
    assert [p.name for p in store.paths()] == ["checkpoint-000003", "checkpoint-000002"]
    file = store.paths()[0] / part
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(UserWarning, match="checkpoint-000003 cannot be used"):
        found = store.newest()
    assert found is not None
    assert (found[1]["step"], found[0]["x"][0].item()) == (2, 2.0)
    (store.paths()[1] / "state.json").unlink()
    with pytest.raises(ValueError, match="no valid"), pytest.warns(UserWarning, match="cannot"):
        store.newest()


@pytest.mark.parametrize("how", ["nested", "list"])
def test_a_checkpoint_that_is_no_checkpoint_costs_the_newest_alone(tmp_path, how):
    store = Checkpoints(tmp_path)
    for step in (1, 2):
        store.write({"x": torch.full((9,), float(step))}, {"step": step})
    file = store.paths()[0] / "state.json"
    if how == "nested":
        file.write_text('{"body": ' + "[" * 100_000 + "]" * 100_000 + "}")
    else:  # its own sha256 agrees
        sealed = json.loads(file.read_text()) | {"body": []}
        sealed["body_sha256"] = hashlib.sha256(b"[]").hexdigest()
        file.write_text(json.dumps(sealed, sort_keys=True))
    with pytest.warns(UserWarning, match="checkpoint-000002 cannot be used"):
        found = store.newest()
    assert found is not None
    assert found[1]["step"] == 1

"""A folder of checkpoints belongs to one run and to one process; what is not ours stays."""

import json
import os
import resource
import signal
import socket
from pathlib import Path

import numpy as np
import pytest
import torch
from resume_script import forked
from torch import nn

from deepdive.data.batches import BucketBatches
from deepdive.training import Keep, Limit, Update, Validation, fit
from deepdive.training.fingerprint import content_hash, data_of


def batches(n=4, shift=0.0):
    g = torch.Generator().manual_seed(0)
    return [(shift + torch.randn(4, 3, generator=g), torch.randn(4, 2, generator=g))] * n


def loss(net, batch):
    return ((net(batch[0]) - batch[1]) ** 2).mean()


def run(folder, data=None, **more):
    torch.manual_seed(0)
    net = nn.Linear(3, 2)
    given = {"loss": loss, "steps": 5, "progress": False, **more}
    keep = folder if isinstance(folder, Keep) else Keep(folder, every=2)
    return net, fit(net, data or batches(), folder=keep, **given)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- whose run it is


def rows(first=5):
    return [[first, 6, 7], [8, 9], [4, 4, 4], [5, 5]]


def scored(net, checks):
    return float(sum(tokens.sum() for (tokens,) in checks))


CHANGED = {
    "a list of batches": (batches(), batches(shift=1.0), "data: hash"),
    "batches by length": (
        BucketBatches(rows(), max_tokens=6),
        BucketBatches(rows(first=4), max_tokens=6),
        "data: sha256",
    ),
    "their order": (
        BucketBatches(rows(), max_tokens=6),
        BucketBatches(rows(), max_tokens=6, seed=1),
        "data: seed: was 0, is 1",
    ),
}


def embedded(net, batch):
    x = batch[0].float()
    wide = x[:, :2].sum(1, keepdim=True).expand(-1, 3) if len(batch) == 1 else x
    return (net(wide / 9) ** 2).mean()


@pytest.mark.parametrize("what", CHANGED)
def test_a_folder_of_other_data_is_refused_by_name(tmp_path, what):
    old, new, told = CHANGED[what]
    run(tmp_path, old, loss=embedded)
    before = names(tmp_path)
    with pytest.raises(ValueError, match=rf"(?s)a different configuration.*{told}.*another folder"):
        run(tmp_path, new, loss=embedded)
    assert names(tmp_path) == before


def test_what_a_run_is_validated_on_counts(tmp_path):
    def checks(first):
        held = BucketBatches(rows(first), max_tokens=6)
        return Validation(lambda net: scored(net, held), every=2)

    run(tmp_path, validate=checks(5))
    run(tmp_path, validate=checks(5))
    with pytest.raises(ValueError, match="validate is set with: held: sha256"):
        run(tmp_path, validate=checks(4))


def test_a_run_that_is_named_by_what_it_is_made_of_has_its_own_folder(tmp_path):
    def kept(**more):
        torch.manual_seed(0)
        of = more.pop("of", ("texts", ["a", "vocabulary"]))
        return run(Keep(tmp_path, every=2, of=of), **more)[0].weight

    first = kept()
    assert len(names(tmp_path)) == 1
    assert torch.equal(first, kept())
    assert len(names(tmp_path)) == 1
    others = [{"of": ("texts", ["b"])}, {"data": batches(shift=1.0)}, {"steps": 6}, {"seed": 1}]
    for count, other in enumerate(others, start=2):
        kept(**other)
        assert len(names(tmp_path)) == count, other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 23], [12, 3]),
        (["a", "b"], ["ab"]),
        ([["a"], ["b"]], [["a", "b"]]),
        ([torch.zeros(2)], [torch.zeros(2).double()]),
        ([torch.zeros(2, 1)], [torch.zeros(1, 2)]),
        ([torch.tensor(1.0)], [torch.tensor(2.0)]),
        ([torch.tensor([1 + 2j])], [torch.tensor([1 + 3j])]),
        ([{"x": np.arange(3)}], [{"x": np.arange(3)[::-1]}]),
        ([{"x": 1}], [{"y": 1}]),
        ([True], [1]),
    ],
)
def test_data_that_differ_have_another_hash(one, other):
    assert data_of(one)["hash"] != data_of(other)["hash"]
    assert content_hash(one) == content_hash(list(one))


def test_a_hash_is_that_of_every_process_and_sees_no_sharing():
    half = torch.arange(6).reshape(2, 3).to(torch.bfloat16)
    value = {"b": half, "a": [(1, "x"), {"p", "q"}, np.float32(0.5)], "c": half.T, "d": None}
    assert content_hash(value) == "c9f720ae34f6b70c61022e6be720588235437f19"
    assert content_hash(dict(reversed(value.items()))) == content_hash(value)
    pair = (half, [1])
    assert content_hash([pair, pair]) == content_hash([pair, (half.clone(), [1])])
    assert content_hash(half) != content_hash(half.float())
    assert content_hash(half.T) == content_hash(half.T.contiguous()) != content_hash(half)


# ---- one process at a time


@pytest.fixture
def holding(tmp_path):
    """A fork that trains and waits at its third step: its process, and what ends the wait."""
    reached, tell = os.pipe()
    wait, go = os.pipe()

    def work():
        os.close(go)  # so that the wait ends with the test, too
        steps = iter(range(99))

        def slow(net, batch):
            if next(steps) == 3:
                os.write(tell, b".")
                os.read(wait, 1)
            return loss(net, batch)

        net, _ = run(tmp_path / "run", loss=slow, steps=8)
        (tmp_path / "weights.json").write_text(json.dumps(net.weight.tolist()))

    child = forked(work)
    os.read(reached, 1)
    yield child, go
    for handle in (reached, tell, wait, go):
        os.close(handle)


@pytest.mark.parametrize("steps", [8, 7])
def test_a_second_process_is_refused_and_the_first_goes_on(tmp_path, holding, steps):
    child, go = holding
    with pytest.raises(RuntimeError) as told:
        run(tmp_path / "run", steps=steps)
    for word in (str(tmp_path / "run"), f"process {child} on {socket.gethostname()}, since 20"):
        assert word in str(told.value)
    os.write(go, b".")
    assert os.waitpid(child, 0)[1] == 0
    assert len(names(tmp_path / "run")) == 2
    alone = run(tmp_path / "alone", steps=8)[0].weight.tolist()
    assert json.loads((tmp_path / "weights.json").read_text()) == alone


def test_a_dead_holder_blocks_nobody(tmp_path, holding):
    child, _ = holding
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert ".lock" in names(tmp_path / "run")
    with pytest.raises(ValueError, match=r"loss: was .*slow"):  # looked at, not in use
        run(tmp_path / "run")
    assert ".lock" not in names(tmp_path / "run")


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"folder: .*file/run cannot be written .*give"):
        run(tmp_path / "file" / "run")


# ---- what is not ours


def foreign(folder):
    """Fill a folder with what other tools and people keep in one; return it, file by file."""
    for path in (
        "checkpoint-500/trainer_state.json",
        "checkpoint-500/model.safetensors",
        "checkpoint-000001/state.json",
        "checkpoint-000002/state.json",
        "checkpoint-000002/notes.txt",
        "checkpoint-1000/optimizer.pt",
        "checkpoint-best/model.safetensors",
        ".writing-000009/draft.txt",
        ".writing-a-book/chapter.txt",
        "checkpoint-000700",
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text('{"step": 1}')
    return everything(folder)


def everything(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_what_others_keep_in_a_folder_stays(tmp_path):
    before = foreign(tmp_path)
    (tmp_path / "checkpoint-000001" / "weights.bin").write_text("theirs")
    before["checkpoint-000001/weights.bin"] = b"theirs"
    first, _ = run(tmp_path)
    again, history = run(tmp_path)
    assert history.stopped == "steps"
    assert torch.equal(first.weight, again.weight)
    after = everything(tmp_path)
    assert {path: after.get(path) for path in before} == before
    ours = {Path(path).parent.name for path in set(after) - set(before)}
    assert ours == {"checkpoint-001003", "checkpoint-001004"}


def test_a_checkpoint_that_someone_put_a_file_into_stays(tmp_path):
    run(tmp_path)
    note = tmp_path / "checkpoint-000003" / "notes.txt"
    note.write_text("the good one")
    (tmp_path / ".writing-000099").mkdir()
    net = nn.Linear(3, 2)
    fit(net, batches(), loss, steps=5, folder=Keep(tmp_path, every=2), progress=False)
    assert note.read_text() == "the good one"
    assert (note.parent / "state.safetensors").is_file()
    assert not (tmp_path / ".writing-000099").exists()


# ---- full disks, odd numbers


def test_a_full_disk_is_named_and_costs_no_whole_checkpoint(tmp_path):
    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        steps = iter(range(99))

        def filling(net, batch):
            if next(steps) == 3:  # from here on no file may grow beyond 2,000 bytes
                resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
            return loss(net, batch)

        try:
            run(tmp_path / "run", loss=filling)
        except OSError as error:
            (tmp_path / "told").write_text(str(error))

    assert os.waitpid(forked(work), 0)[1] == 0
    told = (tmp_path / "told").read_text()
    assert told.startswith("folder: a checkpoint of 0.0 MB cannot be written in ")
    assert "free disk space" in told
    assert "too large" in told
    assert names(tmp_path / "run") == ["checkpoint-000001", "checkpoint-000002"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (lambda: {"update": Update(clip=float("inf"))}, "clip: got inf.*None"),
        (lambda: {"limit": Limit(float("inf"))}, "minutes: got inf.*None"),
        (lambda: {"limit": Limit(float("nan"))}, "minutes: got nan"),
    ],
)
def test_what_is_not_finite_is_refused_before_training(tmp_path, more, told):
    with pytest.raises(ValueError, match=told):
        run(tmp_path, **more())


MASKED = float("-inf")


def test_a_function_may_be_set_with_infinity(tmp_path):
    def clamped(net, batch):
        return loss(net, batch).clamp(min=MASKED)

    first, _ = run(tmp_path, loss=clamped)
    again, _ = run(tmp_path, loss=clamped)
    assert torch.equal(first.weight, again.weight)


def test_numbers_of_numpy_are_numbers(tmp_path):
    given = {"seed": np.int64(3), "steps": np.int32(5), "update": Update(clip=np.float32(0.5))}
    first, _ = run(tmp_path, **given)
    again, _ = run(tmp_path, seed=3, steps=5, update=Update(clip=0.5))
    assert torch.equal(first.weight, again.weight)
    data = BucketBatches(rows(), max_tokens=6, seed=np.int64(2**62))
    plain = BucketBatches(rows(), max_tokens=6, seed=2**62)
    assert [x.tolist() for (x,) in data] == [x.tolist() for (x,) in plain]
    assert json.dumps(data.state_dict()) == json.dumps(plain.state_dict())


@pytest.mark.parametrize("seed", [1.5, "1"])
def test_a_seed_that_is_no_whole_number_is_named(tmp_path, seed):
    with pytest.raises(TypeError, match=rf"seed={seed!r}: expected a whole number"):
        run(tmp_path, seed=seed)

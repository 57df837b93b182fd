"""Run by test_resume.py: kill training at random moments, start it again, compare the weights.

One process imports torch; each run is a fork of it, so that many kills cost little. Writing is made
slow (fsync waits), so that many of them fall into the middle of a checkpoint.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import torch
from torch import nn

from deepdive.data.batches import BucketBatches
from deepdive.training import Keep, Limit, Update, Validation, fit
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import EMA, adam, inverse_sqrt

STEPS = 40


class Tagger(nn.Module):
    """Predict each token from itself and the one before; tied head, dropout, a running count."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(12, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(8, 12)
        self.head.weight = self.table.weight
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.calls += int(self.training)
        return self.head(self.drop(self.rnn(self.drop(self.table(x)))[0]))


def loss(model, batch):
    noise = 1 + 0.01 * random.random()  # Python's generator is part of the state too
    return noise * cross_entropy(model(batch[0]), batch[1], smoothing=0.1)


def data():
    g = random.Random(5)
    rows = [[g.randrange(4, 12) for _ in range(g.randrange(2, 7))] for _ in range(24)]
    return BucketBatches((rows, [[*row[1:], 2] for row in rows]), max_tokens=18, seed=1)


def train(folder, case):
    torch.set_num_threads(case.get("threads", 1))
    torch.manual_seed(7)
    model = Tagger()
    ema = EMA(model, 0.9) if case.get("ema") else None
    held = data()
    valid = [next(iter(held)) for _ in range(3)]

    def validate(model):
        torch.rand(3)
        return sum(float(cross_entropy(model(x), y)) for x, y in valid)

    more = {}
    if case.get("minutes"):  # a clock that counts readings: every step takes a second
        readings = iter(range(10**6))
        more["limit"] = Limit(case["minutes"], clock=lambda: float(next(readings)))
    if case.get("validate"):
        more["validate"] = Validation(validate, every=4, patience=case.get("patience"))
    history = fit(
        model,
        data(),
        loss,
        steps=STEPS,
        optimizer=adam(model, weight_decay=0.01),
        schedule=inverse_sqrt(8, 10, case.get("factor", 1.0)),
        update=Update(accumulate=case.get("accumulate", 1), ema=ema),
        folder=Keep(folder, every=3),
        progress=False,
        **more,
    )
    state = {name: x.tolist() for name, x in model.state_dict().items()}
    record = {**history.as_dict(), "seconds": 0}
    return [state, record, random.random(), torch.rand(3).tolist()]


def forked(work):
    """Run `work` in a fork and return its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def slow_fsync(wait):
    sync = os.fsync

    def slow(handle):
        time.sleep(wait)
        sync(handle)
        time.sleep(wait)

    os.fsync = slow


def kill_until_done(folder, out, case, draw):
    """Start, kill after a random time, start again; return kills, and those during a write."""
    kills = torn = 0
    while True:

        def work():
            slow_fsync(0.004)
            out.write_text(json.dumps(train(folder, case)))

        child = forked(work)
        # The first runs live long enough to write; the last is left alone, so that all end.
        deadline = time.monotonic() + draw.uniform(0.02, 0.4) if kills < case["kills"] else None
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            if deadline is not None and time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
                ended = os.waitpid(child, 0)
                break
            time.sleep(0.001)
        if os.WIFEXITED(ended[1]):
            assert os.WEXITSTATUS(ended[1]) == 0
            return kills, torn
        kills += 1
        torn += bool(list(folder.glob(".writing-*")))


def tried(root, case, draw):
    """Train once in one piece and once in many; return the facts to be judged."""
    whole, pieces = root / "whole.json", root / "pieces.json"
    child = forked(lambda: whole.write_text(json.dumps(train(root / "whole", case))))
    assert os.waitpid(child, 0)[1] == 0
    kills, torn = kill_until_done(root / "pieces", pieces, case, draw)
    history = json.loads(pieces.read_text())[1]
    return {
        "same": whole.read_text() == pieces.read_text(),
        "kills": kills,
        "torn": torn,
        "stopped": history["stopped"],
        "steps": len(history["losses"]),
        "left": sorted(os.listdir(root / "pieces")),
    }


def main():
    root, cases, seed = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3])
    train(
        root / "warm", {}
    )  # the first optimizer imports a second's worth of torch; forks share it
    for name, case in cases.items():
        (root / name).mkdir()
        print(json.dumps([name, tried(root / name, case, random.Random(seed))]), flush=True)


if __name__ == "__main__":
    main()

"""I-BERT in whole numbers against floats, and both against torch's dynamic int8 layers.

A layer of BERT's base size, in one run: ours of int64 and int32 tensors, which torch multiplies
without a tuned kernel; the same layer in float32; its matrices by torch's `quantize_dynamic`. What
is printed and kept is the ratio of the medians to float32, not a promise of another machine's.
"""

from __future__ import annotations

import copy
import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from deepdive.layers.integer_layers import calibrated
from deepdive.models.bert import ibert

RESULTS = Path(__file__).resolve().parent / "results" / "ibert.json"
ROUNDS, B, T = 5, 4, 64


def main() -> None:
    torch.manual_seed(0)
    model = ibert.ibert(n_layers=1, vocab_size=1000).eval()
    tokens = torch.randint(4, 1000, (B, T))
    whole = ibert.integer(model, calibrated(model, [tokens]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = nn.ModuleDict({"model": copy.deepcopy(model)})
        dynamic = torch.ao.quantization.quantize_dynamic(plain, {nn.Linear}, torch.qint8)
    runs: dict[str, Callable[[], torch.Tensor]] = {
        "float32": lambda: model(tokens),
        "whole numbers": lambda: whole(tokens),
        "torch dynamic int8": lambda: dynamic["model"](tokens),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    with torch.inference_mode():
        for round_ in range(1 + ROUNDS):  # the first warms up
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                if round_:
                    seconds[name].append(time.perf_counter() - start)
        floats = model(tokens)
        apart = {name: float((run() - floats).abs().mean()) for name, run in runs.items()}
    base = statistics.median(seconds["float32"])
    rows = [
        {
            "name": name, "seconds": statistics.median(taken),
            "to_float32": statistics.median(taken) / base,
            "mean_error": apart[name],
        }
        for name, taken in seconds.items()
    ]  # fmt: skip
    for row in rows:
        print(f"{row['name']}: {row['seconds']:.3f} s, {row['to_float32']:.2f} of float32's, "
              f"mean error {row['mean_error']:.4f}")  # fmt: skip
    RESULTS.write_text(json.dumps({"batch": B, "n": T, "rows": rows}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()

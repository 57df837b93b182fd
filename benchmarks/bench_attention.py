"""Attention that scales: time, memory and error against transformers and against full attention.

Encoders: 2 layers, d_model 256, 4 heads, d_ff 1024, a batch of one text in training mode, forward
and backward, against transformers' encoder of the same name and settings. `bound` is the time that
the products of their linear layers take alone, which both have: no attention makes it less.
Mechanisms: 4 heads of width 64 alone, against our own fused `SoftmaxAttention`, with their error as
its approximation.

Time: all of a part run in turns, round after round, in one process; the ratio is taken in each
round, and its median, least and greatest are kept. Memory: each in a process of its own, the peak
of the resident memory above what was there before it ran. `exponents` fits log seconds on log n.

    python benchmarks/bench_attention.py                      # what is missing in the kept file
    python benchmarks/bench_attention.py "mechanisms 4096" --again

Each part is kept when it is done (results/attention.json): stopped, it goes on at the next part. A
part that lacks the row of a new entry is measured anew, since its rounds belong together.
"""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from attention_entries import CLAIMS, ENCODERS, MECHANISMS, available
from torch import Tensor, nn

from deepdive.core import SoftmaxAttention

HEADS, WIDTH = 4, 64
LENGTHS = {"encoders": (1024, 4096), "mechanisms": (512, 1024, 2048, 4096, 8192, 16384)}
LIMIT_MB = 4096  # for 16,384 tokens, forward and backward
SECONDS = 60.0  # of rounds for one part, but at least LEAST rounds
LEAST, MOST = 3, 15
RESULTS = Path(__file__).resolve().parent / "results" / "attention.json"
FULL = "full attention"
Work = Callable[[], Any]
Row = dict[str, Any]


def rows_of(n: int) -> list[Tensor]:
    """q, k and v (1, HEADS, n, WIDTH) with variance 1, leaves that want a gradient."""
    generator = torch.Generator().manual_seed(0)
    shape = (1, HEADS, n, WIDTH)
    return [torch.randn(shape, generator=generator).requires_grad_() for _ in range(3)]


def mechanism(name: str, n: int) -> nn.Module:
    torch.manual_seed(0)
    return SoftmaxAttention() if name == FULL else MECHANISMS[name](n)


def forward_and_backward(part: str, name: str, n: int, side: str) -> Work:
    """What is timed: one forward and backward pass."""
    torch.manual_seed(0)
    if part == "encoders":
        tokens = torch.randint(5, 1000, (1, n))
        model = getattr(ENCODERS[name], side)(n).train()

        def encode() -> None:
            model.zero_grad(set_to_none=True)
            states = model(tokens)
            states = states if isinstance(states, Tensor) else states.last_hidden_state
            states.square().mean().backward()

        return encode
    given, attend = rows_of(n), mechanism(name, n).train()

    def run() -> None:
        for x in (*given, *attend.parameters()):
            x.grad = None
        attend(*given).square().mean().backward()

    return run


def linear_weights(model: nn.Module) -> list[Tensor]:
    """The weights of the linear layers that run on every token of an encoder: neither those of a
    pooler nor those of Longformer's global tokens.
    """
    return [
        part.weight.detach()
        for name, part in model.named_modules()
        if isinstance(part, nn.Linear) and "global" not in name and "pool" not in name
    ]


def products(name: str, n: int) -> Work:
    """The matrix products of an encoder's linear layers, forward and backward, and nothing else."""
    weights = linear_weights(ENCODERS[name].ours(n))
    rows = {width: torch.randn(n, width) for weight in weights for width in weight.shape}

    def run() -> None:
        for weight in weights:
            x, grad = rows[weight.shape[1]], rows[weight.shape[0]]
            torch.mm(x, weight.T)
            torch.mm(grad, weight)
            torch.mm(grad.T, x)

    return run


def in_turns(works: Mapping[str, Work], budget: float = SECONDS) -> dict[str, list[float]]:
    """Seconds of each work in each round; the order turns with the round, the first warms up."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    names, begun, done = list(works), time.perf_counter(), 0
    while done <= LEAST or (done <= MOST and time.perf_counter() - begun < budget):
        turn = done % len(names)
        for name in (*names[turn:], *names[:turn]):
            start = time.perf_counter()
            works[name]()
            if done:
                taken[name].append(time.perf_counter() - start)
        done += 1
    return taken


def compared(ours: Sequence[float], theirs: Sequence[float]) -> Row:
    """Medians, and the ratio ours / theirs of each round: median, least, greatest."""
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    return {
        "ours_s": statistics.median(ours), "peer_s": statistics.median(theirs),
        "ratio": statistics.median(ratios), "ratio_least": ratios[0],
        "ratio_greatest": ratios[-1], "rounds": len(ratios),
    }  # fmt: skip


def error(name: str, n: int) -> float:
    """|output - exact| / |exact|, norms over all rows, at q, k, v of variance 1.

    Exact is full attention; for what shares queries and keys, full attention that shares them too.
    """
    q, k, v = (x.detach() for x in rows_of(n))
    exact = SoftmaxAttention()
    if name != FULL and MECHANISMS[name].shared:
        from deepdive.attention.by_content.shared_qk import SharedQKAttention

        exact, k = SharedQKAttention(), q
    with torch.no_grad():
        wanted = exact(q, k, v)
        return ((mechanism(name, n).eval()(q, k, v) - wanted).norm() / wanted.norm()).item()


def status_mb(key: str) -> float:
    found = re.search(rf"{key}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def peak_mb(part: str, name: str, n: int, side: str) -> float:
    """The largest resident memory of one pass, above what was there before, in this process."""
    forward_and_backward(part, name, min(n, 512), side)()  # kernels and libraries are loaded
    work = forward_and_backward(part, name, n, side)
    before = status_mb("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts anew
    work()
    return max(0.0, status_mb("VmHWM") - before)


def fresh_peak_mb(part: str, name: str, n: int, side: str) -> float:
    """`peak_mb` in a fresh process."""
    asked = [sys.executable, __file__, "--memory", part, name, str(n), side]
    done = subprocess.run(asked, check=True, capture_output=True, text=True)
    return round(float(done.stdout.split()[-1]), 1)


def encoders(n: int) -> list[Row]:
    rows = []
    for name, pair in available(ENCODERS).items():
        sides = ("ours", "peer")
        works = {side: forward_and_backward("encoders", name, n, side) for side in sides}
        taken = in_turns({**works, "bound": products(name, n)})
        memory = {f"{side}_mb": fresh_peak_mb("encoders", name, n, side) for side in sides}
        bound = compared(taken["bound"], taken["peer"])
        rows.append({"name": name, "n": n, "peer": pair.label, "aim": pair.aim, **memory,
                     **compared(taken["ours"], taken["peer"]), "bound_s": bound["ours_s"],
                     "bound": bound["ratio"]})  # fmt: skip
        say(rows[-1])
    return rows


def mechanisms(n: int) -> list[Row]:
    names = [FULL, *available(MECHANISMS)]
    taken = in_turns({name: forward_and_backward("mechanisms", name, n, "ours") for name in names})
    memory = {name: fresh_peak_mb("mechanisms", name, n, "ours") for name in names}
    rows = []
    for name in names:
        row = {"name": name, "n": n, "peer": FULL, "ours_mb": memory[name],
               "peer_mb": memory[FULL], **compared(taken[name], taken[FULL])}  # fmt: skip
        row["error"] = error(name, n)
        row["learned"] = name != FULL and MECHANISMS[name].learned
        row["within_4_gb"] = row["ours_mb"] < LIMIT_MB
        rows.append(row)
        say(row)
    return rows


def say(row: Row) -> None:
    more = f", error {row['error']:.2f}" if "error" in row else f", bound {row['bound']:.2f}"
    print(
        f"  {row['name']:28} n {row['n']:6}: {row['ours_s'] * 1e3:8.1f} ms, {row['ours_mb']:7.0f} "
        f"MB; {row['peer']} {row['peer_s'] * 1e3:8.1f} ms, {row['peer_mb']:7.0f} MB; ratio "
        f"{row['ratio']:.2f} ({row['ratio_least']:.2f} to {row['ratio_greatest']:.2f}){more}",
        flush=True,
    )


# Two-sided 95 % points of Student's t for 1, 2, ... degrees of freedom.
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31)


def exponent(lengths: Sequence[int], seconds: Sequence[float]) -> Row:
    """Fit log seconds = a log n + c; return a with its 95 % interval, and the residuals of the log.

    Raises ValueError for fewer than three lengths.
    """
    if len(lengths) < 3:
        raise ValueError(f"lengths: got {list(lengths)}, expected three at least")
    x, y = [math.log(n) for n in lengths], [math.log(s) for s in seconds]
    x0, y0 = statistics.fmean(x), statistics.fmean(y)
    spread = sum((a - x0) ** 2 for a in x)
    slope = sum((a - x0) * (b - y0) for a, b in zip(x, y, strict=True)) / spread
    left = [b - y0 - slope * (a - x0) for a, b in zip(x, y, strict=True)]
    freedom = len(x) - 2
    half = STUDENT[freedom - 1] * math.sqrt(sum(r * r for r in left) / freedom / spread)
    return {
        "exponent": slope, "interval": [slope - half, slope + half],
        "residuals": left, "lengths": list(lengths),
    }  # fmt: skip


def exponents(rows: Iterable[Row], shortest: int = 2048) -> dict[str, Row]:
    """Fit the exponent of each mechanism over its lengths from `shortest` up."""
    points: dict[str, dict[int, float]] = {}
    for row in rows:
        if row["part"].startswith("mechanisms") and row["n"] >= shortest:
            points.setdefault(row["name"], {})[row["n"]] = row["ours_s"]
    return {
        name: {**exponent(sorted(found), [found[n] for n in sorted(found)]), "claim": CLAIMS[name]}
        for name, found in points.items()
        if len(found) >= 3
    }


PARTS: dict[str, Callable[[], list[Row]]] = {
    f"{part} {n}": partial({"encoders": encoders, "mechanisms": mechanisms}[part], n)
    for part, lengths in LENGTHS.items()
    for n in lengths
}


def missing(part: str, rows: Iterable[Row]) -> bool:
    """Whether an entry has no row in this part yet."""
    have = {row["name"] for row in rows if row["part"] == part}
    return not set(available(ENCODERS if part.startswith("encoders") else MECHANISMS)) <= have


def main(words: Sequence[str]) -> None:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    again, words = "--again" in words, [word for word in words if word != "--again"]
    kept: Row = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {"rows": []}
    for part, measure in PARTS.items():
        if words and not any(part.startswith(word) for word in words):
            continue
        if not again and not missing(part, kept["rows"]):
            continue
        print(part, flush=True)
        new = [{"part": part, **row} for row in measure()]
        kept["rows"] = [row for row in kept["rows"] if row["part"] != part] + new
        kept |= {
            "exponents": exponents(kept["rows"]), "cores": os.cpu_count(),
            "threads": torch.get_num_threads(), "torch": torch.__version__,
        }  # fmt: skip
        RESULTS.parent.mkdir(exist_ok=True)
        beside = RESULTS.with_suffix(".part")
        beside.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n")
        os.replace(beside, RESULTS)
    for name, fit in kept.get("exponents", {}).items():
        low, high = fit["interval"]
        print(
            f"  {name:28} n^{fit['exponent']:.2f} ({low:.2f} to {high:.2f}); claim {fit['claim']}"
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        part, name, n, side = sys.argv[2:]
        print(peak_mb(part, name, int(n), side))
    else:
        main(sys.argv[1:])

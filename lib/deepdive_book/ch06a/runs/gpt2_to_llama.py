"""The experiments of page 6a.2: the saved ablations, each at its own best learning rate.

rows = load_ablations()
best_rate_table(rows)           # each variant at its own best of two learning rates
single_rate_table(rows)         # all variants at nanoGPT's learning rate
gpu_table()                     # nanoGPT's GPU settings: does the baseline reproduce its loss?
"""

import json
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import torch

from deepdive.evaluate import Interval, t_interval
from deepdive_book.ch06a.runs import decoder_ablations
from deepdive_book.ch06a.runs.decoder_ablations import FASTER, PARTS, STEPS, Text
from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.kit.markup import Html
from deepdive_book.kit.profile import pick, profile
from deepdive_book.kit.tables import NOT_HERE, table

Row = Mapping[str, Any]
BASE = "nanoGPT"
TWO_RATES = (BASE, "RoPE", "SwiGLU", "ReLU", "Llama block")  # variants with both learning rates
RATES = {"": "0.001", FASTER: "0.004"}  # suffix of a variant's name -> learning rate
EDGE = f"{BASE}, learning rate 0.008"  # one run beyond the grid
NOT_SAVED = [{"variant": NOT_HERE}]


def corpus() -> Text:
    """Return tinyshakespeare; in the profile `ci` a repeated line."""
    if profile() == "ci":
        return decoder_ablations.cut("to be or not to be, that is " * 400)
    return decoder_ablations.shakespeare()


def load_ablations() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    path = results_path("06a_text", "records")
    if profile() != "experiment":
        return json.loads(path.read_text())["rows"] if path and path.is_file() else []
    text = corpus()

    def measure(part: str, seed: int, of: int) -> dict[str, Any]:
        return decoder_ablations.row(text, part, seed, of)

    faster = [part + FASTER for part in TWO_RATES]
    points = [
        {"part": part, "seed": seed, "of": round(share() * STEPS)}
        for parts, seeds in (([*PARTS], 5), (faster, 3))
        for seed in range(seeds)
        for part in parts
    ]
    points.append({"part": EDGE, "seed": 0, "of": round(share() * STEPS)})
    return sweep(measure, points, path, data="tinyshakespeare")


def run_few_steps(parts: Sequence[str] = (BASE, "Llama block")) -> list[dict[str, Any]]:
    """Train variants for a few steps here: the same code as the saved runs."""
    text, steps = corpus(), pick(ci=3, laptop=30, gpu=200)
    found = []
    for part in parts:
        row = decoder_ablations.row(text, part, 0, steps)
        found.append({"variant": part, "steps": row["steps"], "test loss": row["test"]})
    return found


def runs_of(rows: Sequence[Row], part: str) -> dict[int, Row]:
    """Return a variant's runs by seed."""
    return {row["seed"]: row for row in rows if row["part"] == part}


def best_rate(rows: Sequence[Row], part: str) -> str:
    """Return the suffix of the learning rate with the lowest mean validation loss."""
    both = {suffix: runs_of(rows, part + suffix) for suffix in RATES}
    seeds = set.intersection(*(set(runs) for runs in both.values()))
    return min(RATES, key=lambda suffix: mean(both[suffix][seed]["chosen"] for seed in seeds))


def difference(rows: Sequence[Row], part: str, base: str, contrasts: int) -> Interval:
    """Return the test loss of `part` minus that of `base`, paired by seed.

    The t interval's level is Bonferroni's, so that all `contrasts` together keep 95%.
    """
    ours, theirs = runs_of(rows, part), runs_of(rows, base)
    each = [ours[seed]["test"] - theirs[seed]["test"] for seed in ours if seed in theirs]
    return t_interval(each, 1 - 0.05 / contrasts)


def best_rate_table(rows: Sequence[Row]) -> Html:
    """Compare each variant at its own best learning rate with nanoGPT at its best."""
    if not rows:
        return table(NOT_SAVED)
    base = BASE + best_rate(rows, BASE)
    lines: list[dict[str, Any]] = []
    for part in TWO_RATES:
        suffix = best_rate(rows, part)
        first = runs_of(rows, part)[0]
        line: dict[str, Any] = {"variant": part, "parameters": f"{first['parameters']:,}",
                                "steps": f"{first['steps']:,}"}  # fmt: skip
        for end, rate in RATES.items():
            losses = [row["test"] for row in runs_of(rows, part + end).values()]
            line[f"test loss at LR {rate}"] = f"{mean(losses):.3f}"
        line["best LR"] = RATES[suffix]
        if part != BASE:
            line["difference from nanoGPT, both at best LR"] = _shown(
                difference(rows, part + suffix, base, len(TWO_RATES) - 1)
            )
        lines.append(line)
    return table(lines, caption="Test loss in nats per character, mean over seeds. LR: learning "
                 "rate; five seeds at 0.001, three at 0.004. Difference: paired by seed [95% t "
                 "interval, Bonferroni-corrected for four comparisons].")  # fmt: skip


def single_rate_table(rows: Sequence[Row]) -> Html:
    """Compare the variants with nanoGPT at its learning rate, 0.001."""
    if not rows:
        return table(NOT_SAVED)
    others = [part for part in PARTS if part != BASE]
    found: list[dict[str, Any]] = []
    for part in PARTS:
        runs = runs_of(rows, part)
        line: dict[str, Any] = {
            "variant": part, "parameters": f"{runs[0]['parameters']:,}",
            "steps": f"{runs[0]['steps']:,}",
            "test loss": f"{mean(row['test'] for row in runs.values()):.3f}",
        }  # fmt: skip
        if part != BASE:
            line["difference from nanoGPT"] = _shown(difference(rows, part, BASE, len(others)))
        found.append(line)
    return table(found, caption="Test loss in nats per character at learning rate 0.001, mean of "
                 "five seeds. Difference: paired by seed [95% t interval, Bonferroni-corrected "
                 "for eleven comparisons].")  # fmt: skip


def _shown(each: Interval) -> str:
    return f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]"


def gpu_table() -> Html:
    """Show the runs with nanoGPT's GPU settings; in `experiment`, on a GPU, measure them."""
    file = results_path("06a_text", "on_a_card")
    if profile() == "experiment" and torch.cuda.is_available():
        from deepdive_book.ch06a.runs import gpu_run

        text = corpus()
        sweep(lambda seed: gpu_run.run(text, seed, device="cuda"), [{"seed": n} for n in range(3)],
              file, data="tinyshakespeare")  # fmt: skip
    saved = json.loads(file.read_text())["rows"] if file and file.is_file() else []
    if not saved:
        return table(NOT_SAVED)
    halves = {"first half (validation)": "chosen", "second half (test)": "test"}
    lines = [{"seed": row["seed"], **{half: row[key] for half, key in halves.items()},
              "entire last tenth": (row["chosen"] + row["test"]) / 2} for row in saved]  # fmt: skip
    return table(lines, formats=dict.fromkeys((*halves, "entire last tenth"), ".3f"),
                 caption="Loss in nats per character on the last tenth of the text. The "
                 "first half selected the checkpoint.")  # fmt: skip

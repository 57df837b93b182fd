"""Long measurements that may be stopped at any moment: a sweep over settings, kept as JSON.

A page that rests on one measures its points with `sweep`, in every profile with the same code:

    points = [...]                                         # few and small, but in `experiment`
    file = kept("02_transformer", "variations") if profile() == "experiment" else None
    rows = sweep(measure, points, file, data="tatoeba_eng_fra", minutes=60)

    deepdive run 2.16 --profile experiment                 # Ctrl-C, and again: it goes on
    deepdive run 2.16 --profile experiment --share 0.1     # a tenth of the steps (`share`)
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from deepdive.page.profile import profile, workdir

Point = Mapping[str, Any]


def kept(chapter: str, name: str) -> Path | None:
    """Return chapters/<chapter>/results/<name>.json of the checkout around the current folder.

    None outside a checkout, as on Colab.
    """
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").is_file() and (folder / "chapters" / chapter).is_dir():
            return folder / "chapters" / chapter / "results" / f"{name}.json"
    return None


def checkpoints(*names: str) -> Path | None:
    """Return a folder for the checkpoints of one run of an experiment, so that it can go on.

    None outside the profile `experiment`: the runs of a page are short, and one whose settings a
    reader has changed must start anew.
    """
    return workdir().joinpath(*names) if profile() == "experiment" else None


def sweep(
    measure: Callable[..., Mapping[str, Any]],
    points: Sequence[Point],
    path: Path | None = None,
    *,
    data: str = "generated",
    minutes: float | None = None,
) -> list[dict[str, Any]]:
    """Return `{**point, **measure(**point), "seconds": wall time}` for each point, in order.

    With `path`, each row is written to that file as soon as it is measured, and a point whose row
    stands there is not measured again: a sweep that was killed goes on where it was. The file
    holds `rows`, and where they come from: `commits`, `data`, `cores`, `threads`, `seconds` in all.
    Points and results are plain JSON values. Rows of points that are not asked for are kept.

    `minutes` is what the rows may have taken together, in earlier calls too: after that no point
    is begun, and those that are missing are left out of what is returned.

    Raises ValueError when a result has a key of its point, or the file is not one of a sweep.
    """
    from tqdm import tqdm

    document = _read(path)
    found: list[dict[str, Any]] = []
    for point in tqdm(points, desc="sweep", leave=False, delay=3):
        row = next((row for row in document["rows"] if dict(point).items() <= row.items()), None)
        if row is None:
            if minutes is not None and _spent(found) >= 60 * minutes:
                continue
            start = time.perf_counter()
            result = measure(**point)
            if both := set(point) & set(result):
                raise ValueError(f"measure returned {sorted(both)}, which its point has already")
            row = {**point, **result, "seconds": round(time.perf_counter() - start, 2)}
            document["rows"].append(row)
            if path is not None:
                _write(path, document, data)
        found.append(row)
    return found


def share() -> float:
    """Return the part of an experiment's steps that is asked for: DEEPDIVE_SHARE, 1 by default.

    The page multiplies its steps with it and puts them into its points, so that rows of another
    length are not taken for these. Raises ValueError unless it is above 0 and at most 1.
    """
    given = os.environ.get("DEEPDIVE_SHARE") or "1"
    try:
        part = float(given)
    except ValueError:
        part = 0.0
    if not 0 < part <= 1:
        raise ValueError(f"DEEPDIVE_SHARE is {given!r}; expected a number above 0, at most 1")
    return part


def _spent(rows: Sequence[Mapping[str, Any]]) -> float:
    return float(sum(row["seconds"] for row in rows))


def _read(path: Path | None) -> dict[str, Any]:
    if path is None or not path.is_file():
        return {"rows": []}
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict) or not isinstance(document.get("rows"), list):
        raise ValueError(f"{path} is not a sweep's file: it has no rows; move it away")
    return document


def _write(path: Path, document: dict[str, Any], data: str) -> None:
    """Write beside the target, then rename: a reader sees the old rows or the new ones."""
    document["commits"] = sorted({*document.get("commits", []), _commit()} - {""})
    document["data"], document["cores"] = data, os.cpu_count()
    document["threads"] = torch.get_num_threads()
    document["seconds"] = round(_spent(document["rows"]), 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(partial, path)


def _commit() -> str:
    """Return the short name of the checkout's commit, "" where there is none."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()

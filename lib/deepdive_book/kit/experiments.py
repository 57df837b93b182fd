"""Long measurements that may be stopped at any moment: a sweep over settings, kept as JSON.

A page that rests on one measures its points with `sweep`, in every profile with the same code:

    points = [...]                                         # few and small, but in `experiment`
    file = results_path("02_transformer", "variations") if profile() == "experiment" else None
    rows = sweep(measure, points, file, data="tatoeba_eng_fra", minutes=60)

    deepdive run 2.16 --profile experiment                 # Ctrl-C, and again: it goes on
    deepdive run 2.16 --profile experiment --share 0.1     # a tenth of the steps (`share`)
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from deepdive.data import dataset_log, registry
from deepdive.locks import hold
from deepdive.training import Keep
from deepdive.training.fingerprint import name_of
from deepdive.training.resume import plain_number
from deepdive.training.settings import check_positive
from deepdive_book.kit.profile import profile, workdir

Point = Mapping[str, Any]
_CODE = "measured_by"  # of a row: which function, and its version


def results_path(chapter: str, name: str) -> Path | None:
    """Return chapters/<chapter>/results/<name>.json of the checkout around the current folder.

    None outside a checkout, as on Colab. The data sets that the file names count as read.
    """
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        if (folder / "pyproject.toml").is_file() and (folder / "chapters" / chapter).is_dir():
            path = folder / "chapters" / chapter / "results" / f"{name}.json"
            dataset_log.note(set(registry()) & set(_words(path)))
            return path
    return None


def _words(path: Path) -> list[str]:
    """The words by which a sweep's file names its data; none where it cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return re.findall(r"\w+", str(document["data"]))
    except (
        OSError,
        ValueError,
        RecursionError,
        KeyError,
        TypeError,
    ):  # not there yet; `sweep` names what is wrong
        return []


def checkpoints(*names: str, of: Any = (), version: int = 1) -> Keep | None:
    """Return where the checkpoints of one run of an experiment go, so that it can go on.

    Each run has a folder of its own, which follows from its data, settings and seed, from the
    model's first weights, and from `of` and `version` (`deepdive.training.Keep`). None outside the
    profile `experiment`: the runs of a page are short.
    """
    if profile() != "experiment":
        return None
    return Keep(workdir().joinpath(*names), of=of, version=version)


def sweep(
    measure: Callable[..., Mapping[str, Any]],
    points: Sequence[Point],
    path: Path | None = None,
    *,
    data: str = "generated",
    minutes: float | None = None,
    version: int = 1,
) -> list[dict[str, Any]]:
    """Return `{**point, **measure(**point), "seconds": wall time}` for each point, in order.

    With `path`, each row is written to that file as soon as it is measured, and a point whose row
    stands there is not measured again: a sweep that was killed goes on where it was. The file
    holds `rows`, and where they come from: `commits`, `data`, `cores`, `threads`, `seconds` in all.
    Each row there has `measured_by`, the name of `measure` and its `version`: raise that when
    `measure` computes something else than before. Rows returned have none.
    Points and results are plain JSON values. Rows of points that are not asked for are kept, and so
    are those that another sweep on the same file writes meanwhile.

    `minutes` is what the rows may have taken together, in earlier calls too: after that no point
    is begun, and those that are missing are left out of what is returned; how many is printed.

    Raises ValueError when a result has a key of its point, and with `path` when one is not finite,
    or the file is not one of a sweep, is damaged, or has rows of other data, or of a point that is
    asked for that another function or version measured. A row that doesn't say which is taken as
    one of version 1.
    """
    from tqdm import tqdm

    check_positive(minutes=minutes)
    asked = [dict(p) if path is None else _plain("point", p) for p in points]
    _read(path, data)
    found: list[dict[str, Any]] = []
    code = f"{name_of(measure)}, version {version}"
    for point in tqdm(asked, desc="sweep", leave=False, delay=3):
        row = _row_of(point, _read(path, data))
        if row is None:
            if minutes is not None and _spent(found) >= 60 * minutes:
                continue
            if path is not None:
                with _locked(path):  # what cannot be written is told before an hour of measuring
                    pass
            row = _measured(measure, point)
            if path is not None:
                row = _kept(path, point, {**row, _CODE: code}, data)
        elif (theirs := row.get(_CODE, f"{name_of(measure)}, version 1")) != code:
            raise ValueError(
                f"path: {path} has a row of {dict(point)} that other code measured ({theirs}; now "
                f"{code}): take it out or give another path; if the change moves no number, set "
                f"its {_CODE!r} to the new one"
            )
        found.append(_without_code(row))
    if left := len(asked) - len(found):
        print(f"{left} of {len(asked)} points not measured: {minutes} minutes are spent, raise it")
    return found


def search_rate(loss: Callable[[float], float], grid: Sequence[float],
                first: Sequence[float]) -> float:  # fmt: skip
    """Return the learning rate of `grid` with the lowest `loss(rate)`, from those of `first` on: a
    best rate at an edge of those tried extends the search by the next one.
    """
    found = {rate: loss(rate) for rate in first}
    while True:
        best = min(found, key=lambda rate: found[rate])
        at = grid.index(best)
        beyond = [rate for rate in grid[max(0, at - 1) : at + 2] if rate not in found]
        if not beyond:
            return best
        found |= {rate: loss(rate) for rate in beyond}


def load_rows(path: Path | None) -> list[dict[str, Any]]:
    """Return the rows that `sweep` has saved in a file, without their `measured_by`.

    None of them where there is no such file, or `path` is None. Raises ValueError for a file that
    is damaged or is not a sweep's.
    """
    return [_without_code(row) for row in _read(path)["rows"]]


def _without_code(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != _CODE}


def _measured(measure: Callable[..., Mapping[str, Any]], point: Point) -> dict[str, Any]:
    start = time.perf_counter()
    result = measure(**point)
    if both := set(point) & set(result):
        raise ValueError(f"measure returned {sorted(both)}, which its point has already")
    return {**point, **result, "seconds": round(time.perf_counter() - start, 2)}


def _row_of(point: Point, document: Mapping[str, Any]) -> dict[str, Any] | None:
    def same(row: Mapping[str, Any]) -> bool:
        if not dict(point).items() <= row.items():
            return False
        # By `==` alone True is 1.
        return all(isinstance(point[key], bool) == isinstance(row[key], bool) for key in point)

    return next((row for row in document["rows"] if same(row)), None)


def _kept(path: Path, point: Point, row: dict[str, Any], data: str) -> dict[str, Any]:
    """Add a row to the file as it is now; return the point's row, another sweep's if it has one."""
    row = _plain(f"what measure returned for {dict(point)}", row)
    with _locked(path):
        document = _read(path, data)
        there = _row_of(point, document)
        if there is None:
            document["rows"].append(row)
            _write(path, document, data)
    return there or row


def _locked(path: Path) -> AbstractContextManager[None]:
    return hold(path.with_name(f".{path.name}.lock"), f"path: {path}", wait=True)


def _plain(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as JSON has them; raise, naming the key, for what it has not."""
    found = {}
    for key, value in values.items():
        try:
            text = json.dumps(value, allow_nan=False, default=plain_number)
        except (TypeError, ValueError) as error:
            raise type(error)(
                f"{name}: {key!r} is {value!r}, expected numbers that are finite, strings, and "
                f"lists and dictionaries of them ({error})"
            ) from error
        found[key] = json.loads(text)
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


def _read(path: Path | None, data: str | None = None) -> dict[str, Any]:
    """Return a sweep's document. Raises ValueError as `sweep` says; any data will do for None."""
    if path is None or not path.is_file():
        return {"rows": []}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # not JSON, or not UTF-8, or nested too deep
        raise ValueError(
            f"path: {path} is damaged ({error}): restore it (git checkout), or move it away"
        ) from error
    rows = document.get("rows") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise ValueError(f"path: {path} is not a sweep's file: it has no rows; move it away")
    for n, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not isinstance(row.get("seconds"), (int, float)):
            raise ValueError(
                f"path: {path}, row {n}: expected a point's values with its seconds, got "
                f"{row!r:.80}; fix it, or take the row out"
            )
    if rows and data is not None and document.get("data", data) != data:
        raise ValueError(
            f"path: {path} has rows of data {document['data']!r}, these are of {data!r}: move it "
            "away, or give another path"
        )
    return document


def _write(path: Path, document: dict[str, Any], data: str) -> None:
    """Write beside the target, a line for each row, then rename: a reader sees the old rows or the
    new ones.
    """
    document["commits"] = sorted({*document.get("commits", []), _commit()} - {""})
    document["data"], document["cores"] = data, os.cpu_count()
    document["threads"] = torch.get_num_threads()
    document["seconds"] = round(_spent(document["rows"]), 1)
    rows = ",\n  ".join(json.dumps(row, allow_nan=False) for row in document["rows"])
    rest = [f'"{key}": {json.dumps(document[key])}' for key in document if key != "rows"]
    text = "{{\n {}\n}}\n".format(",\n ".join([f'"rows": [\n  {rows}\n ]', *rest]))
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise OSError(
            f"path: {path} cannot be written ({error.strerror}): make room there, or give another; "
            "the rows in it are whole"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


def _commit() -> str:
    """Return the short name of the checkout's commit, "" where there is none."""
    asked = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()

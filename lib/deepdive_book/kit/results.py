"""The results of a case study: one JSON file a study, written by its pages, each its own part.

The format is casestudies/results/schema.json. RESULTS.md is generated from these files.
"""

import json
import math
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepdive.locks import hold
from deepdive_book.kit.profile import profile, workdir

PROFILES = ("ci", "laptop", "gpu", "experiment")
KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*")
LEAF = (
    "a finite number, a text, a list of numbers or an object "
    "(.item() and .tolist() turn a tensor or an array into Python's own numbers)"
)
PROVENANCE = ("profile", "data", "cores", "seconds", "peak_memory_mb")


def results_file(study: str) -> Path:
    """Return where a study's results belong, seen from a page's folder.

    The checkout's casestudies/results/; in the `ci` profile the page's own output folder, since
    numbers from generated data never replace real ones; outside a checkout (Colab) that too.
    """
    here = Path.cwd().resolve()
    for folder in (here, *here.parents):
        results = folder / "casestudies" / "results"
        if (results / "schema.json").is_file() and profile() != "ci":
            return results / f"{study}.json"
    return workdir() / "results" / f"{study}.json"


def update(path: Path | str, part: Mapping[str, Any], *, page: str) -> dict[str, Any]:
    """Replace what `page` contributed to the study's file by `part`; return the whole document.

    `part` has `profile`, `data` (a list of names), `cores`, `seconds`, `peak_memory_mb`, `metrics`
    (nested objects; leaves are numbers, texts, lists of numbers; `*_interval` is [low, high]) and,
    if wanted, `versions`. What other pages wrote is kept. The file is locked against a second
    writer, and replaced in one step: a reader sees the old document or the new one.

    Raises ValueError when `part` breaks the format, or holds a metric that another page owns.
    """
    path = Path(path)
    _check_page(part, f"part of page {page!r}")
    if not part["metrics"]:
        raise ValueError("part['metrics'] is empty: a page that has no result does not write one")
    path.parent.mkdir(parents=True, exist_ok=True)
    with hold(path.with_name(f".{path.name}.lock"), f"path: {path}", wait=True):
        pages, metrics = _read(path)
        for key in pages.pop(page, {"metrics": []})["metrics"]:
            del metrics[key]
        for key in part["metrics"]:
            owner = next((name for name, entry in pages.items() if key in entry["metrics"]), None)
            if owner is not None:
                raise ValueError(
                    f"metric {key!r} of page {page!r} belongs to page {owner!r} in {path.name}: "
                    "give it another name, or let that page write it"
                )
        pages[page] = {**part, "metrics": sorted(part["metrics"])}
        metrics.update(part["metrics"])
        document = _whole(path.stem, pages, metrics)
        check(document)
        _write(path, document)
    return document


def check(document: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the place, when a document breaks the schema."""
    _keys(document, {"study", *PROVENANCE, "metrics", "pages"}, set(), "the document")
    _need(_text(document["study"]), "study", document["study"], "a name")
    _check_provenance(document, "the document", (*PROFILES, "mixed"))
    _check_group(document["metrics"], "metrics")
    pages = document["pages"]
    _need(isinstance(pages, Mapping) and len(pages) > 0, "pages", pages, "an object, not empty")
    for name, entry in pages.items():
        where = f"pages.{name}"
        _keys(entry, {*PROVENANCE, "metrics"}, {"versions"}, where)
        _check_provenance(entry, where, PROFILES)
        _names(entry["metrics"], f"{where}.metrics")
        _check_versions(entry.get("versions", {}), where)
    owned = sorted(key for entry in pages.values() for key in entry["metrics"])
    _need(owned == sorted(document["metrics"]), "pages", owned, "each metric owned by one page")


def _check_page(part: Mapping[str, Any], where: str) -> None:
    _keys(part, {*PROVENANCE, "metrics"}, {"versions"}, where)
    _check_provenance(part, where, PROFILES)
    _check_versions(part.get("versions", {}), where)
    if part["metrics"] != {}:
        _check_group(part["metrics"], f"{where}: metrics")


def _check_provenance(entry: Mapping[str, Any], where: str, profiles: tuple[str, ...]) -> None:
    _need(
        entry["profile"] in profiles, f"{where}: profile", entry["profile"], " or ".join(profiles)
    )
    _names(entry["data"], f"{where}: data")
    cores = entry["cores"]
    whole = _number(cores) and cores == int(cores) and cores >= 1
    _need(whole, f"{where}: cores", cores, "a whole number from 1")
    for key in ("seconds", "peak_memory_mb"):
        value = entry[key]
        _need(_number(value) and value >= 0, f"{where}: {key}", value, "a number from 0")


def _check_versions(versions: Any, where: str) -> None:
    good = isinstance(versions, Mapping) and all(isinstance(v, str) for v in versions.values())
    _need(good, f"{where}: versions", versions, "an object of texts")


def _check_group(group: Any, where: str) -> None:
    _need(isinstance(group, Mapping) and len(group) > 0, where, group, "an object, not empty")
    for key, value in group.items():
        place = f"{where}.{key}"
        good_key = isinstance(key, str) and KEY.fullmatch(key) is not None
        _need(good_key, where, key, "keys of letters, digits and _ . + -")
        if key.endswith("_interval"):
            _need(_interval(value), place, value, "[low, high]")
        elif isinstance(value, Mapping):
            _check_group(value, place)
        else:
            good = isinstance(value, str) or _number(value) or _numbers(value)
            _need(good, place, value, LEAF)


def _number(value: Any) -> bool:
    """A finite int or float; a bool is not a number, and a NaN is not JSON."""
    real = isinstance(value, int | float) and not isinstance(value, bool)
    return real and math.isfinite(value)


def _numbers(value: Any) -> bool:
    return isinstance(value, list) and all(_number(item) for item in value)


def _interval(value: Any) -> bool:
    return _numbers(value) and len(value) == 2 and value[0] <= value[1]


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _names(value: Any, where: str) -> None:
    good = isinstance(value, list) and value != [] and all(_text(name) for name in value)
    _need(good and len(set(value)) == len(value), where, value, "a list of different names")


def _keys(value: Any, required: set[str], optional: set[str], where: str) -> None:
    _need(isinstance(value, Mapping), where, value, "an object")
    missing, unknown = required - set(value), set(value) - required - optional
    if missing or unknown:
        raise ValueError(
            f"{where}: missing {sorted(missing) or 'nothing'}, "
            f"unknown {sorted(unknown) or 'nothing'}; needed are {sorted(required)}"
        )


def _need(good: bool, where: str, got: Any, expected: str) -> None:
    if not good:
        raise ValueError(f"{where}: got {got!r}, expected {expected}")


def _whole(study: str, pages: dict[str, Any], metrics: dict[str, Any]) -> dict[str, Any]:
    """Put the document together, its top level computed from its pages."""
    entries = list(pages.values())
    profiles = {entry["profile"] for entry in entries}
    return {
        "study": study,
        "profile": profiles.pop() if len(profiles) == 1 else "mixed",
        "data": sorted({name for entry in entries for name in entry["data"]}),
        "cores": max(entry["cores"] for entry in entries),
        "seconds": round(sum(entry["seconds"] for entry in entries), 1),
        "peak_memory_mb": max(entry["peak_memory_mb"] for entry in entries),
        "metrics": dict(sorted(metrics.items())),
        "pages": dict(sorted(pages.items())),
    }


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    if not path.is_file():
        return {}, {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        check(document)
    except ValueError as error:
        raise ValueError(
            f"{path} is not a results file ({error}): move it away and run again"
        ) from error
    return document["pages"], document["metrics"]


def _write(path: Path, document: dict[str, Any]) -> None:
    """Write beside the target, to disk, then rename: no reader ever sees half a file."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

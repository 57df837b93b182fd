"""The rows of an experiment, as a page shows them: saved or measured, selected, and summarized.

    from deepdive_book.kit import rows

    runs = rows.load_or_measure(measure, "06c_speech", "alignment", points=long, few=short)
    lengths = rows.values(runs.rows, "errors", "4", 0, system="Speech2Text")  # one a row
    rows.mean_and_range(lengths)                                              # "5.1 (4.8 to 5.4)"

A row is what `deepdive_book.kit.experiments.sweep` returns for a point: its settings, what was
measured, and the seconds it took.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import Any, NamedTuple

from deepdive.evaluate import Interval, t_interval
from deepdive_book.kit.experiments import load_rows, results_path, sweep
from deepdive_book.kit.profile import profile

Row = dict[str, Any]
Point = Mapping[str, Any]


class Rows(NamedTuple):
    """The rows of a page's experiment.

    rows      those to show: the saved ones where there are any, else those measured now
    measured  those that this run measured, none where the saved ones were enough
    saved     whether `rows` were read from the file
    """

    rows: list[Row]
    measured: list[Row]
    saved: bool


def load(chapter: str, name: str) -> list[Row]:
    """Return the rows of chapters/<chapter>/results/<name>.json, as they are saved there.

    No rows in the profile `ci`, whose data are generated; none outside a checkout, as on Colab, and
    none where there is no such file. Raises ValueError for a file that is damaged.
    """
    return [] if profile() == "ci" else load_rows(results_path(chapter, name))


def load_or_measure(
    measure: Callable[..., Mapping[str, Any]],
    chapter: str,
    name: str,
    *,
    points: Sequence[Point],
    few: Sequence[Point],
    live: Sequence[Point] = (),
    data: str = "generated",
    minutes: float | None = None,
    version: int = 1,
) -> Rows:
    """Return an experiment's rows: measured at length, read from its file, or a few short ones.

    `experiment`     measures `points` into chapters/<chapter>/results/<name>.json by `sweep`, and
                     returns all rows of the file
    `laptop`, `gpu`  measure `live`, which may be nothing, and return the rows of the file; `few`
                     are measured instead where there is no file
    `ci`             measures and returns `few`

    `data`, `minutes`, and `version` are those of `sweep`. Raises ValueError as `sweep` does.
    """
    if profile() == "experiment":
        path = results_path(chapter, name)
        measured = sweep(measure, points, path, data=data, minutes=minutes, version=version)
        return Rows(load_rows(path) or measured, measured, path is not None)
    if saved := load(chapter, name):
        return Rows(saved, sweep(measure, live), True)
    measured = sweep(measure, few)
    return Rows(measured, measured, False)


def select(rows: Sequence[Row], **fields: Any) -> list[Row]:
    """Return the rows whose fields equal these, in the order of their seeds where they have one.

    A tuple equals a list, since JSON has only lists; a row without a field that others have is left
    out. Raises KeyError for a field that no row has: a misspelled one would select nothing.
    """
    wanted = {key: _plain(value) for key, value in fields.items()}
    if rows and (missing := sorted(key for key in wanted if all(key not in row for row in rows))):
        raise KeyError(f"no row has {', '.join(missing)}; the rows have {', '.join(rows[0])}")
    found = [row for row in rows if wanted.items() <= row.items()]
    return sorted(found, key=lambda row: row.get("seed", 0))


def _plain(value: Any) -> Any:
    return [_plain(one) for one in value] if isinstance(value, (list, tuple)) else value


def values(rows: Sequence[Row], *path: str | int, **fields: Any) -> list[Any]:
    """Return one value of each of the selected rows, for example one a seed.

    `path` leads to the value: values(rows, "errors", "4", 0) are row["errors"]["4"][0].
    Raises KeyError for a field that no row has, and KeyError or IndexError for a path that a row
    does not have.
    """
    found: list[Any] = select(rows, **fields)
    for key in path:
        found = [value[key] for value in found]
    return found


def mean_and_range(values: Sequence[float], digits: int = 1, scale: float = 1.0) -> str:
    """Return "mean (lowest to highest)" of values times `scale`, say one a seed.

    Without a range for one value, and "not run" for none. A mean over few seeds with their range is
    a description, not an interval: for that see `interval`.
    """
    if not values:
        return "not run"
    numbers = [scale * value for value in (mean(values), min(values), max(values))]
    middle, low, high = (f"{round(x, digits) + 0.0:.{digits}f}" for x in numbers)  # no "-0.0"
    return f"{middle} ({low} to {high})" if len(values) > 1 else middle


def by_seed(rows: Sequence[Row], *path: str | int, **fields: Any) -> dict[int, float]:
    """Return one value of each of the selected rows, by its seed; see `values`."""
    seeds = [row["seed"] for row in select(rows, **fields)]
    return dict(zip(seeds, values(rows, *path, **fields), strict=True))


def paired(first: Mapping[int, float], second: Mapping[int, float]) -> list[float]:
    """Return first minus second for each seed that both have, in the order of the seeds."""
    return [first[seed] - second[seed] for seed in sorted(first.keys() & second.keys())]


def interval(
    values: Sequence[float], scale: float = 1.0, contrasts: int = 1
) -> Interval | float | None:
    """Return the mean of values times `scale` with its t interval, for a table's cell.

    The level is 1 - 0.05 / contrasts: 95%, or Bonferroni corrected for as many comparisons. Give
    `paired` differences for a paired interval. One value has no interval and comes as it is; for
    none it is None. Raises ValueError for values that are not finite.
    """
    numbers = [scale * value for value in values]
    if len(numbers) > 1:
        return t_interval(numbers, 1 - 0.05 / contrasts)
    return numbers[0] if numbers else None

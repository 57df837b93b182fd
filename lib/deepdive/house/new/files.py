"""All files of a new system, written whole or not at all, and what is left to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from deepdive.house.new.plan import EXAMPLES, MARK, TABLE, NewError, Plan
from deepdive.house.new.texts import (
    case_file,
    page_file,
    parity_file,
    system_file,
    with_example,
    with_row,
)


def files(plan: Plan) -> dict[str, str]:
    """Return path below the root -> text, of everything that is written or changed."""
    new = {f"lib/deepdive/{plan.folder}/{plan.system}.py": system_file(plan)}
    changed = {EXAMPLES: with_example(plan), TABLE: with_row(plan)}
    laws = f"tests/laws/{plan.folder}"
    if (plan.root / f"{laws}.py").is_file():  # one file holds the cases of the folder
        changed[f"{laws}.py"] = case_file(plan, (plan.root / f"{laws}.py").read_text("utf-8"))
    else:
        new[f"{laws}/{plan.system}.py"] = case_file(plan)
        if not (plan.root / laws / "__init__.py").is_file():
            new[f"{laws}/__init__.py"] = ""
    if not plan.row["oracle"].startswith("none: "):
        new[f"tests/{plan.folder}/test_parity_{plan.system}.py"] = parity_file(plan)
    if plan.page:
        new[f"{plan.page}.py"] = page_file(plan)
    for place in new:
        if (plan.root / place).exists():
            raise NewError(f"{place} is there already, and nothing is overwritten")
    return new | changed


def write(root: Path, places: Mapping[str, str]) -> None:
    """Write all files or none: each is written beside its place first, then moved into it; where
    that is interrupted, what was there before is put back.
    """
    before = {name: (root / name).read_bytes() for name in places if (root / name).is_file()}
    halves = {name: root / name for name in places}
    halves = {name: path.with_name(f".{path.name}.new") for name, path in halves.items()}
    try:
        for name, half in halves.items():
            half.parent.mkdir(parents=True, exist_ok=True)
            half.write_text(places[name], encoding="utf-8")
        for name, half in halves.items():
            half.replace(root / name)
    except BaseException:
        _put_back(root, halves, before)
        raise


def _put_back(root: Path, halves: Mapping[str, Path], before: Mapping[str, bytes]) -> None:
    for name, half in halves.items():
        half.unlink(missing_ok=True)
        if name in before:
            (root / name).write_bytes(before[name])
        else:
            (root / name).unlink(missing_ok=True)


def steps(plan: Plan, places: Iterable[str]) -> list[str]:
    """Return what is left to do, in order."""
    told = ["make fmt", f"say what is marked `{MARK}` in the files above"]
    told += [f"give {plan.part} a case of its own"] if plan.part and plan.has_builder else []
    told += [f"make notebooks PAGES={Path(plan.page).name}"] if plan.page else []
    return [*told, "make laws; make atlas", "python tests/digests.py --write", "make quick"]

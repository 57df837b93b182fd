"""The rows of the atlas: systems.csv, the bibliography, the headers and the plan, joined.

A system that has a header is built; its place, page and proof are found from where its code
stands. For one that has none `planned.csv` says what its paper tells. Needs no torch.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

from deepdive.house.atlas.headers import Header, headers
from deepdive.house.atlas.pages import page_of

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parents[1]
ROOT = LIBRARY.parents[1]
SYSTEMS, PLANNED, TABLES = (HERE / f"{name}.csv" for name in ("systems", "planned", "tables"))
_WHERE = {
    "attention": "head", "positions": "head", "masks": "head",
    "layers.stacks": "between", "layers.embeddings": "around", "layers.heads": "other",
    "layers.reversible": "other", "layers": "layer", "models": "around", "tokenizers": "around",
    "training.objectives": "around",
}  # fmt: skip
_ENTRY = re.compile(r"^@\w+\{([^,]+),.*?year = \{(\d+)\}.*?systems = \{([^}]*)\}", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One system. `paper` holds keys of the bibliography, `test` patterns of tests, `differs`
    bullets joined by " | "; status is "planned" or "proved".
    """

    id: str
    name: str
    kind: str
    chapter: str
    parent: str
    paper: str
    year: str
    differs: str
    place: str
    time: str
    memory: str
    module: str
    test: str
    page: str
    oracle: str
    checkpoints: str
    status: str

    @property
    def built(self) -> bool:
        return self.status == "proved"

    @property
    def bullets(self) -> list[str]:
        return self.differs.split(" | ") if self.differs else []


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def papers(bibliography: Path) -> dict[str, list[tuple[str, str]]]:
    """System -> (key, year) of its papers, oldest first; none where the library stands alone."""
    found: dict[str, list[tuple[str, str]]] = {}
    if not bibliography.is_file():
        return found
    for key, year, systems in _ENTRY.findall(bibliography.read_text("utf-8")):
        for name in systems.split(", "):
            found.setdefault(name, []).append((key, year))
    return {name: sorted(each, key=lambda pair: pair[1]) for name, each in found.items()}


def tests_of(header: Header) -> str:
    """Patterns (shell wildcards, brackets literal) of the tests that prove a system."""
    if header.test:
        return header.test.replace(",", "")
    if not header.module.startswith("deepdive"):
        return f"{header.module}.ipynb::*"
    laws = [f"tests/test_laws.py::test_law[{name}-*]" for name in header.cases]
    return " ".join(laws + [f"tests/test_parity.py::test_parity[*{n}*]" for n in header.compared])


def _unlisted(header: Header) -> dict[str, str]:
    """A system that the list does not have: what its header tells."""
    unit = header.module.split(".")[1]
    kind = {"models": "model", "positions": "position"}.get(unit, "mechanism")
    chapter = re.search(r"\d", header.book)
    return {"id": header.system, "name": header.title, "kind": kind,
            "chapter": chapter[0] if chapter else ""}  # fmt: skip


def built(system: Mapping[str, str], header: Header, root: Path) -> Row:
    """Return the row of a system that has a header."""
    known = papers(root / "book" / "references.bib").get(header.system, [])
    dated = re.search(r"\b(?:18|19|20)\d\d\b", header.source)
    room = header.module.removeprefix("deepdive.")
    place = header.place or next(
        (p for r, p in _WHERE.items() if f"{room}.".startswith(f"{r}.")), "other"
    )
    if system["chapter"] == "1":
        place = "other"  # no Transformer yet, so no place in one
    return Row(
        **{key: system[key] for key in ("id", "name", "kind", "chapter")},
        parent=header.parent,
        paper=" ".join(key for key, _ in known),
        year=dated[0] if dated else known[0][1] if known else "",
        differs=" | ".join(header.differs),
        place=place,
        time=header.time,
        memory=header.memory,
        module=f"{header.module}:{header.part}" if header.part else header.module,
        test=tests_of(header),
        page=page_of(header, system["chapter"], root),
        oracle=header.oracle,
        checkpoints=header.checkpoints,
        status="proved",
    )


def planned(system: Mapping[str, str], plan: Mapping[str, str], root: Path) -> Row:
    """Return the row of a system that is not built yet."""
    known = papers(root / "book" / "references.bib").get(system["id"], [])
    expected = {key: plan.get(key, "") for key in ("parent", "place", "time", "memory")}
    empty = dict.fromkeys(("differs", "module", "test", "page", "oracle", "checkpoints"), "")
    return Row(
        **{key: system[key] for key in ("id", "name", "kind", "chapter")},
        **expected,
        **empty,
        paper=" ".join(key for key, _ in known),
        year=known[0][1] if known else "",
        status="planned",
    )


def systems(package: Path = LIBRARY) -> list[tuple[dict[str, str], str]]:
    """Return the listed systems, each with its status; needs no checkout.

    A system whose header stands in a page is seen where the pages lie beside the library.
    """
    proved = headers(package, ROOT)
    listed = read_csv(SYSTEMS)
    return [(each, "proved" if each["id"] in proved else "planned") for each in listed]


def rows(root: Path = ROOT, package: Path = LIBRARY) -> list[Row]:
    """Return the atlas: the systems in the order of the list, then those that it does not have."""
    proved = headers(package, root)
    plan = {each["id"]: each for each in read_csv(PLANNED)}
    listed = read_csv(SYSTEMS)
    ids = {row["id"] for row in listed}
    more = [_unlisted(header) for header in proved.values() if header.system not in ids]
    return [
        built(each, proved[each["id"]], root)
        if each["id"] in proved
        else planned(each, plan.get(each["id"], {}), root)
        for each in [*listed, *more]
    ]


def table(atlas: Iterable[Row]) -> str:
    """Return rows as the text of atlas.csv."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows(astuple(row) for row in atlas)
    return out.getvalue()


def growth(time: str) -> str:
    """Return how the time per token grows with the length of the text, from its O(...)."""
    if not time.startswith("O("):
        return "not stated"
    for mark, words in (("log T", "log T"), ("sqrt(T)", "sqrt(T)"), (r"\b[TSN]\b", "T")):
        if re.search(mark if mark.startswith("\\") else re.escape(mark), time):
            return words
    return "none"

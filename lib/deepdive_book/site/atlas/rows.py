"""The rows of the atlas: the table of systems, the bibliography and the headers, joined.

systems.csv has a line for each system: what is planned, and of what is built that which no
docstring can say: its page, its cost, its oracle, its proof. A system that has a header is built.
Needs no torch.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

from deepdive_book.site.atlas.headers import Header, HeaderError, headers

HERE = Path(__file__).resolve().parent
LIBRARY = HERE.parents[2]  # the folder of both packages
ROOT = LIBRARY.parent
SYSTEMS, TABLES = HERE / "systems.csv", HERE / "tables.csv"
PLACES = ("head", "layer", "between", "around", "other")
_ENTRY = re.compile(r"^@\w+\{([^,]+),.*?year = \{(\d+)\}.*?systems = \{([^}]*)\}", re.MULTILINE)


@dataclass(frozen=True)
class Row:
    """One system. `paper` holds keys of the bibliography, `test` patterns of tests, `differs`
    bullets joined by " | "; time and memory are per token; status is "planned" or "proved".
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


def tests_of(system: Mapping[str, str]) -> str:
    """Patterns (shell wildcards, brackets literal) of the tests that prove a built system: those
    that the table names, else the laws and the parity of its case.
    """
    if system["test"]:
        return system["test"]
    laws = f"tests/test_laws.py::test_law[{system['id']}-*]"
    if system["oracle"].startswith("none: "):
        return laws
    return f"{laws} tests/test_parity.py::test_parity[{system['id']}]"


def row(system: Mapping[str, str], header: Header | None, root: Path) -> Row:
    """Return the row of a system, which is built where it has a header."""
    known = papers(root / "book" / "references.bib").get(system["id"], [])
    printed = re.search(r"\b(?:18|19|20)\d\d\b", header.source) if header else None
    module = f"{header.module}:{header.part}".rstrip(":") if header else ""
    return Row(
        **{field.name: system[field.name] for field in fields(Row) if field.name in system}
        | {
            "parent": header.parent if header else system["parent"],
            "paper": " ".join(key for key, _ in known),
            "year": printed[0] if printed else known[0][1] if known else "",
            "differs": " | ".join(header.differs) if header else "",
            "module": module,
            "test": tests_of(system) if header else "",
            "status": "proved" if header else "planned",
        }
    )


def systems(package: Path = LIBRARY) -> list[tuple[dict[str, str], str]]:
    """Return the listed systems, each with its status; needs no checkout.

    A system whose header stands in a page is seen where the pages lie beside the library.
    """
    built = headers(package, ROOT)
    return [(each, "proved" if each["id"] in built else "planned") for each in read_csv(SYSTEMS)]


def rows(root: Path = ROOT, package: Path = LIBRARY) -> list[Row]:
    """Return the atlas, in the order of the table.

    Raises HeaderError for a header whose system has no line in the table.
    """
    built, listed = headers(package, root), read_csv(package / SYSTEMS.relative_to(LIBRARY))
    for name in sorted(set(built) - {each["id"] for each in listed}):
        raise HeaderError(f"{built[name].module}: {name} has no line in {SYSTEMS.name}: add one")
    return [row(each, built.get(each["id"]), root) for each in listed]


def table(found: Iterable[Row]) -> str:
    """Return rows as the text of atlas.csv."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    writer.writerows(astuple(row) for row in found)
    return out.getvalue()


def growth(time: str) -> str:
    """Return how the time per token grows with the length of the text, from its O(...)."""
    if not time.startswith("O("):
        return "not stated"
    for mark, words in (("log T", "log T"), ("sqrt(T)", "sqrt(T)"), (r"\b[TSN]\b", "T")):
        if re.search(mark if mark.startswith("\\") else re.escape(mark), time):
            return words
    return "none"

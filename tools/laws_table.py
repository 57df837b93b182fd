"""Write book/laws.md: which law holds for which part, from the cases in tests/laws.

    python tools/laws_table.py

A test holds the file to what the cases say.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from laws import CASES, LAWS, PARTS, Case, Fails, NotApplicable, Refuses, import_cases  # noqa: E402

PAGE = ROOT / "book" / "laws.md"
HOLDS = "✓"
SIGNS = {Refuses: "**!**", Fails: "**✗**", NotApplicable: "–"}
WORDS = {Refuses: "refuses", Fails: "fails", NotApplicable: "has no meaning"}
# Folders of the library, in the order of the page.
ROOMS = {
    "attention": "Attention",
    "positions": "Positions",
    "layers": "Layers",
    "recurrent": "Recurrent layers",
    "models.before": "Models before the Transformer",
    "models.seq2seq": "Encoders and decoders",
    "models.transformer": "The Transformer",
    "models.bert": "BERT and its family",
    "models.efficient": "Efficient models",
    "models.multilingual": "Models of many languages",
    "models.text": "Writers of text",
    "models.vision": "Readers of images",
    "models.speech": "Readers of sound",
    "fast": "Fast forms",
    "training": "Training",
}
HEAD = """\
# Laws by part

Every part of the library is tried against every law, and the tables below say what came of it:

- ✓ the law holds;
- **✗** the law fails on purpose, and a test sees it fail;
- **!** the part refuses: it raises an error that says why, and a test sees that;
- – the law has no meaning for the part, or there is nothing to compare it with.

The reasons stand [at the end](#where-a-law-does-not-hold-and-why). This page is generated from the
cases in tests/laws.

## The laws

"""


def cases() -> dict[str, Case]:
    """Return every case by its name."""
    import_cases()
    return {name: CASES[name]() for name in sorted(CASES, key=lambda name: short(name).lower())}


def sign(case: Case, law: str) -> str:
    """Return one cell of the table."""
    if law == "parity":
        return SIGNS[NotApplicable] if case.parity.startswith("none: ") else HOLDS
    verdict = case.laws.get(law)
    return HOLDS if verdict is None else SIGNS[type(verdict)]


def short(name: str) -> str:
    """Return a part's own name, without its system's where no other part is called the same."""
    own = name.rpartition("/")[2]
    return name if sum(other.rpartition("/")[2] == own for other in CASES) > 1 else own


def room(name: str) -> str:
    """Return the folder of the library, of `ROOMS`, that a part's class stands in."""
    module = f"{PARTS[name].__module__.removeprefix('deepdive.')}."
    return next(folder for folder in ROOMS if module.startswith(f"{folder}."))


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    return [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]]


def by_room(found: dict[str, Case]) -> list[str]:
    """Return a table of signs for each folder of the library."""
    lines = []
    for folder, title in ROOMS.items():
        rows = [
            [short(name), *(sign(case, law) for law in LAWS)]
            for name, case in found.items()
            if room(name) == folder
        ]
        if rows:
            names = [law.replace("_", " ") for law in LAWS]
            lines += [f"## {title}", "", *table(["part", *names], rows), ""]
    return lines


def reasons(found: dict[str, Case]) -> list[str]:
    """Return, for each law, why it does not hold, and the parts of which that is true."""
    why: dict[str, dict[str, list[str]]] = {law: {} for law in LAWS}
    for name, case in found.items():
        for law, verdict in case.laws.items():
            line = f"*{WORDS[type(verdict)]}*: {verdict.reason}"
            why[law].setdefault(line, []).append(short(name))
    lines = ["## Where a law does not hold, and why", ""]
    for law, told in why.items():
        if told:
            lines += [f"### {law.replace('_', ' ').capitalize()}", ""]
            lines += [f"- {line} ({', '.join(parts)})." for line, parts in sorted(told.items())]
            lines += [""]
    return lines


def page() -> str:
    """Return the page as Markdown."""
    found = cases()
    lines = [
        *(f"- **{law.replace('_', ' ')}**: {meaning}." for law, meaning in LAWS.items()),
        "",
        *by_room(found),
        "## Proved against",
        "",
        *table(
            ["part", "reference implementation"], [[short(n), c.parity] for n, c in found.items()]
        ),
        "",
        *reasons(found),
    ]
    return HEAD + "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(cases())} parts, {len(LAWS)} laws")

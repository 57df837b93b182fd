"""Write book/laws.md: which law holds for which part, from the cases in tests/laws.

    python tools/laws_table.py

A test holds the file to what the cases say.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from laws import CASES, LAWS, Case, Fails, NotApplicable, Refuses, import_cases  # noqa: E402

PAGE = ROOT / "book" / "laws.md"
SIGNS = {Refuses: "refuses", Fails: "fails", NotApplicable: "-"}


def cases() -> dict[str, Case]:
    """Return every case by its name."""
    import_cases()
    return {name: CASES[name]() for name in sorted(CASES)}


def sign(case: Case, law: str) -> str:
    """Return one cell of the table."""
    if law == "parity":
        return "none" if case.parity.startswith("none: ") else "holds"
    verdict = case.laws.get(law)
    return "holds" if verdict is None else SIGNS[type(verdict)]


def page() -> str:
    """Return the page as Markdown."""
    found = cases()
    names = [law.replace("_", " ") for law in LAWS]
    lines = [
        "# Laws by part",
        "",
        "Every part of the library is tried against every law. *Fails* and *refuses* are tested:",
        "there the law is broken on purpose, or the part raises. A dash: the law has no meaning",
        "for the part. This page is generated from the cases in tests/laws.",
        "",
        *(f"- **{law.replace('_', ' ')}**: {meaning}." for law, meaning in LAWS.items()),
        "",
        f"| part | {' | '.join(names)} |",
        f"|---|{'---|' * len(names)}",
    ]
    for name, case in found.items():
        lines.append(f"| {name} | {' | '.join(sign(case, law) for law in LAWS)} |")
    lines += ["", "## Proved against", "", "| part | reference implementation |", "|---|---|"]
    lines += [f"| {name} | {case.parity} |" for name, case in found.items()]
    lines += [
        "",
        "## Where a law does not hold, and why",
        "",
        "| part | law | why |",
        "|---|---|---|",
    ]
    lines += [
        f"| {name} | {law.replace('_', ' ')}: {SIGNS[type(verdict)]} | {verdict.reason} |"
        for name, case in found.items()
        for law, verdict in case.laws.items()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(cases())} parts, {len(LAWS)} laws")

"""What is said of an output is in it: captions, prose below it, alternative texts, explanations.

Every number there, and in "Summary", must stand, rounded as it is written, in the page's
committed outputs, among the numbers of its code, or on a page that the same sentence links to. What
is typed in an alternative text is no output. A sentence that names a printed source (a year in
brackets, "et al.", a table or an equation) answers for its own numbers.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from checkout import ROOT

from deepdive_book.site.pages import CHAPTERS, discover

# Pages still to be mended; the list shrinks to none.
OPEN: tuple[str, ...] = ()

NUMBER = re.compile(
    r"(?<![\w.])[-+−]?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:(?:e|\s?(?:×|\\cdot|\\times)\s?10\^)\{?(?P<power>[-+−]?\d+)\}?)?(?P<percent>\s?\\?%|\spercent)?"
    r"(?P<unit>\s(?:thousand|million|billion)\b)?(?![\w]|\.\d)"
)
UNITS = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+\.ipynb)[^)]*\)")
PRINTED = re.compile(
    r"\(\d{4}[a-z]?\b|\bet al\.|\b(?:table|tables|equation|figure|section) \d|\bprint(?:s|ed)?\b|"
    r"\bthe (?:paper|authors?|article|blog)\b|\b(?:1[89]|20)\d\d\b|\b(?:KAIST|Fleuret|Straka)\b",
    re.IGNORECASE,
)
NAMES = re.compile(
    r"\b(?:page|pages|chapter|chapters|exercise|exercises|question|questions|study|case|book|deck|"
    r"lecture|answer|part|level|layer|layers|head|heads)\s\d[\d.]*(?:(?:\s(?:and|to|or)\s|,\s|-)\d[\d.]*)*|"
    r"\b95\s?%\sintervals?",
    re.IGNORECASE,
)
SYMBOLS = re.compile(r"\b\d+(?: (?![aAI]\b)[a-zA-Z]\b(?:\^\d+)?)+")  # 24 n d^2
FORMULA = re.compile(r"\$([^$]+)\$")
PLAIN_FORMULA = re.compile(r"[-+\d.,\s\\%]*(?:\\(?:cdot|times)\s*)?(?:10\^\{?-?\d+\}?)?")


@dataclass(frozen=True)
class Number:
    """A number as it is written: its value, half of its last digit, and the unit behind it."""

    text: str
    value: float
    slack: float
    unit: float = 1.0

    def is_in(self, values: set[float]) -> bool:
        """Whether one of the values rounds to this one, with its unit or without."""
        slack = self.slack * (1 + 1e-6) + 1e-12
        return any(
            abs(abs(value) - abs(self.value)) <= slack
            or abs(abs(value) - abs(self.value) * self.unit) <= slack * self.unit
            for value in values
        )


def numbers(text: str) -> Iterator[Number]:
    """The numbers of a text, percentages as shares."""
    for found in NUMBER.finditer(text):
        digits = found["digits"].replace(",", "")
        scale = 10.0 ** int((found["power"] or "0").replace("−", "-"))
        scale /= 100 if found["percent"] else 1
        unit = UNITS[found["unit"].strip()] if found["unit"] else 1.0
        slack = 0.5 * 10.0 ** -len(digits.partition(".")[2]) * scale
        yield Number(found[0].strip(), float(digits) * scale, slack, unit)


def said(text: str) -> Iterator[Number]:
    """The numbers that a sentence claims: not those that are names, nor those in a formula."""
    text = re.sub(r"\]\([^)]*\)", "]", NAMES.sub("", text))
    text = SYMBOLS.sub("", re.sub(r"`[^`]*`", "", text))
    text = FORMULA.sub(lambda m: m[1] if PLAIN_FORMULA.fullmatch(m[1]) else "", text)
    yield from numbers(re.sub(r"(?<![\d.])10\^\{?(-?\d+)\}?", r"1e\1", text))


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+(?=\S)", " ".join(text.split()))


def claims(notebook: Any) -> Iterator[tuple[str, str]]:
    """(kind, text) of all that the page says of its outputs."""
    after_output = False
    for cell in notebook.cells:
        if cell.cell_type == "code":
            after_output = bool(cell.outputs)
            yield from explanations(cell.source)
            yield from (("alternative text", alt) for alt in typed(cell))
            continue
        for at, paragraph in enumerate(re.split(r"\n\s*\n", cell.source)):
            one = paragraph.strip()
            if re.fullmatch(r"([*_])(?![*_]).*\1", one, re.DOTALL):
                yield "caption", one.strip("*_")
            elif at == 0 and after_output and one[:1] not in "#|<>":
                yield "below an output", one
        three = re.search(r"^## Summary\s+(.+?)(?=^## |\Z)", cell.source, re.M | re.S)
        if three:
            yield "summary", three[1]
        after_output = False


def explanations(code: str) -> Iterator[tuple[str, str]]:
    """What a prediction says when it is answered."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "predict":
            for word in node.keywords:
                if word.arg == "explain" and isinstance(word.value, ast.Constant):
                    yield "explanation", str(word.value.value)


def typed(cell: Any) -> list[str]:
    """The sentences of a cell's alternative texts that are written in its code, not computed."""
    code = " ".join(
        node.value
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return [
        sentence for out in cell.outputs for sentence in sentences(alt(out)) if sentence in code
    ]


def alt(out: Any) -> str:
    """The alternative text of an output, or nothing."""
    texts = [told["alt"] for told in out.get("metadata", {}).values() if "alt" in told]
    film = re.match(r"\[film: (.*)\]", out.get("data", {}).get("text/plain", ""))
    return texts[0] if texts else film[1] if film else ""


@cache
def values(path: Path) -> frozenset[float]:
    """The numbers of a page's outputs and those in its code."""
    found: set[float] = set()
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            told = shown(cell.outputs)
            for text in typed(cell):
                told = told.replace(text, "")
            found |= {x for n in numbers(told) for x in (n.value, n.value * n.unit)}
            found |= {
                float(node.value)
                for node in ast.walk(ast.parse(cell.source))
                if isinstance(node, ast.Constant) and isinstance(node.value, int | float)
            }
    return frozenset(found)


def shown(outputs: Any) -> str:
    """What outputs say: text, labels of drawings; not a prediction."""
    parts = []
    for out in outputs:
        data = out.get("data", {})
        plain = out.get("text", "") or data.get("text/plain", "")
        if "\n  ( ) " not in plain:  # a prediction asks
            parts += [plain, html.unescape(re.sub(r"<[^>]*>", " ", data.get("image/svg+xml", "")))]
    return "\n".join(parts)


def missing(path: Path) -> list[str]:
    """What the page says of its outputs, and no output has."""
    faults = []
    for kind, text in claims(nbformat.read(path, as_version=4)):
        for sentence in sentences(text):
            if PRINTED.search(sentence):
                continue
            known = set(values(path))
            for link in LINK.findall(sentence):
                other = (path.parent / link).resolve()
                known |= values(other) if other.is_file() else set()
            faults += [
                f"{kind}: {number.text!r} is in no output: {sentence[:160]}"
                for number in said(sentence)
                if not number.is_in(known)
            ]
    return faults


def page(folder: Path, below: str, alt: str = "A line.") -> Path:
    """A page whose plot shows 37.6 % and 1,024, and what stands below it."""
    code = f"n = 1024\nprint(f'{{share:.1%}} are right')\nshow(plot(), {alt!r})"
    outputs = [
        nbformat.v4.new_output("stream", text="37.6% are right\n"),
        nbformat.v4.new_output(
            "display_data", data={"text/plain": alt}, metadata={"image/png": {"alt": alt}}
        ),
    ]
    cells = [nbformat.v4.new_code_cell(code, outputs=outputs), nbformat.v4.new_markdown_cell(below)]
    path = folder / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    values.cache_clear()
    return path


@pytest.mark.parametrize(
    "below",
    [
        "*Of 1,024 texts 38% are right.*",
        "*It is right in 0.376 of all.*",
        "Here 37.6 % are right.",
        "*Vaswani et al. have 27.3, table 2.*",
        "*Page 3.12 and heads 6 to 11 stand for names; $d_{77}$ and 24 n d^2 for symbols.*",
        "## Summary\n\nOf all texts 38 % are right.\n\n## Further\n\nThe 99 others.",
    ],
)
def test_a_number_that_is_in_an_output_is_found(tmp_path: Path, below: str) -> None:
    assert missing(page(tmp_path, below)) == []


@pytest.mark.parametrize(
    ("below", "number"),
    [
        ("*Of 1,024 texts 39% are right.*", "39%"),
        ("*Of 1,000 texts 38% are right.*", "1,000"),
        ("Here 37.5 % are right.", "37.5 %"),
        ("*An error of $10^{-7}$ is left.*", "1e-7"),
        ("## Summary\n\nOf all texts 83 % are right.", "83 %"),
    ],
)
def test_a_number_that_no_output_has_is_named(tmp_path: Path, below: str, number: str) -> None:
    (fault,) = missing(page(tmp_path, below))
    assert f"{number!r} is in no output" in fault


def test_what_an_alternative_text_types_is_no_output(tmp_path: Path) -> None:
    found = missing(page(tmp_path, "*It ends at 2.34.*", "The line falls to 2.34."))
    assert [fault.partition(":")[0] for fault in found] == ["alternative text", "caption"]


def test_what_a_prediction_explains_is_asked_of_the_outputs_too(tmp_path: Path) -> None:
    path = page(tmp_path, "Look.")
    notebook: Any = nbformat.read(path, as_version=4)
    notebook.cells[0].source += "\npredict('How many?', ['a', 'b'], answer=0, explain='It is 0.7.')"
    nbformat.write(notebook, path)
    values.cache_clear()
    (fault,) = missing(path)
    assert fault.startswith("explanation: '0.7'")


@pytest.mark.parametrize("page", discover(ROOT), ids=lambda page: page.name)
def test_what_is_said_of_outputs_is_in_them(page: Any) -> None:
    if page.name in OPEN:
        assert missing(page.notebook), f"{page.name} is mended: take it from OPEN"
        return
    found = missing(page.notebook)
    assert not found, "\n".join(found)


def announced(text: str) -> list[str]:
    """The chapters that a text calls "in preparation"."""
    notes = re.findall(r"chapters? ([\d, and]*\d)[^.|]{0,40}?in preparation", text, re.I)
    return [number for note in notes for number in re.findall(r"\d+", note)]


def test_no_chapter_that_is_there_is_called_in_preparation() -> None:
    assert announced("(chapters 5 and 6, in preparation)") == ["5", "6"]
    there = {str(int(folder.name[:2])) for folder in ROOT.glob(CHAPTERS)}
    texts = [page.source for page in discover(ROOT)] + list(ROOT.glob("book/*.md"))
    stale = [
        f"{path.relative_to(ROOT)}: chapter {number} is there"
        for path in texts
        for number in announced(path.read_text("utf-8").replace("\n# ", " "))
        if number in there
    ]
    assert not stale, "\n".join(stale)

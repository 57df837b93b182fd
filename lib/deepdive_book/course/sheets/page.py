"""A sheet as HTML: a page to fill in, its key, and a stepper that plays the same numbers.

One file, nothing loaded from a network. On paper the sheet and the key are an A4 page each, and
the stepper is not printed.
"""

import re
from html import escape

from deepdive_book.course.sheets.model import Grid, Sheet, Step
from deepdive_book.kit.markup import STEPS, Html, script
from deepdive_book.kit.palette import ROLES

_STYLE = """
.sheet { font: 10.5pt/1.35 system-ui, sans-serif; max-width: 182mm; }
.sheet h1 { font-size: 16pt; margin: 0 0 1mm; }
.sheet h2 { font-size: 10.5pt; margin: 2.6mm 0 .6mm; font-weight: 600; }
.sheet p { margin: .6mm 0; }
.sheet small { opacity: .75; }
.sheet .rule { font-family: ui-monospace, Consolas, monospace; font-size: 9.5pt; }
.sheet .grids { display: flex; flex-wrap: wrap; gap: 1.5mm 6mm; align-items: flex-start; }
.sheet table { border-collapse: separate; border-spacing: .7mm; margin: .6mm 0; }
.sheet caption { text-align: left; font-size: 8.5pt; }
.sheet td, .sheet th { padding: 0 1mm; border: 0; background: none; text-align: center; }
.sheet th { font-weight: 400; font-size: 9pt; }
.sheet th[scope=row] { text-align: right; }
.sheet td { border: .3mm solid; border-radius: .8mm; min-width: 11mm; height: 6.2mm; }
.sheet .work, .sheet .aid { font-size: 9pt; opacity: .85; }
.sheet .now { outline: .7mm solid currentColor; }
.sheet [data-hidden] { color: transparent; }
.sheet button { font: inherit; margin-right: 2mm; padding: .2em .8em; }
.sheet .said { min-height: 1.6em; font-weight: 600; }
"""

_PAPER = """
@page { size: A4; margin: 12mm 14mm; }
body { margin: 8mm auto; max-width: 182mm; padding: 0 4mm; }
.sheet + .sheet, .stepper { margin-top: 16mm; }
@media print {
  body { margin: 0; padding: 0; }
  .stepper { display: none; }
  .sheet + .sheet { break-before: page; margin: 0; }
  .paper { display: flex; flex-direction: column; justify-content: space-between; height: 265mm; }
  .sheet table, .sheet h2 { break-inside: avoid; }
}
"""

_PLAY = """
const cells = [...box.querySelectorAll("td[data-work]")], last = cells.length;
const said = box.querySelector(".said"), place = box.querySelector(".place");
const show = () => {
  cells.forEach((cell, i) => {
    cell.toggleAttribute("data-hidden", i >= at);
    cell.classList.toggle("now", i === at - 1);
  });
  said.textContent = at ? cells[at - 1].dataset.work : "Press Next, or the right arrow key.";
  place.textContent = `${at} of ${last}`;
  dim(more, at === last);
};
more.onclick = () => go(last);
go(0);
"""


def document(*sheets: Sheet) -> str:
    """The whole file: all sheets, then all keys, then a stepper for each.

    Raises:
        ValueError: no sheet was given.
    """
    if not sheets:
        raise ValueError("sheets is empty: give at least one, make(name, seed)")
    seeds = sorted({sheet.seed for sheet in sheets})
    name = f"{escape(sheets[0].title)}, sheet {', '.join(map(str, seeds))}"
    papers = [_paper(sheet) for sheet in sheets] + [_key(sheet) for sheet in sheets]
    players = "<hr>\n".join(_player(sheet) for sheet in sheets)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{_STYLE}{_PAPER}</style></head>\n<body>\n"
        f"{chr(10).join(papers)}\n"
        f'<section class="stepper"><hr><h1>Step by step</h1>\n{players}</section>\n'
        "</body></html>\n"
    )


def stepper(sheet: Sheet) -> Html:
    """The stepper alone, for a notebook's output."""
    plain = f"[stepper: {sheet.title}, sheet {sheet.seed}; it needs a browser]"
    return Html(f"<style>{_STYLE}</style>{_player(sheet)}", plain)


def _paper(sheet: Sheet) -> str:
    head = (
        f"<h1>{escape(sheet.title)}</h1><p>{escape(sheet.question)}</p>"
        f"<p><small>Book {sheet.section} · {sheet.minutes} min · sheet {sheet.seed} · two "
        "decimals are enough; the last may differ by one · name: ______________________</small></p>"
    )
    steps = (_step(i, step, filled=False) for i, step in enumerate(sheet.steps))
    return f'<section class="sheet paper"><div>{head}</div>{"".join(steps)}</section>'


def _key(sheet: Sheet) -> str:
    head = (
        f"<h1>Key: {escape(sheet.title)}, sheet {sheet.seed}</h1>"
        f"<p>{escape(sheet.question)} {escape(sheet.answer)}</p>"
    )
    steps = (_step(i, step, filled=True) for i, step in enumerate(sheet.steps) if _asked(step))
    return f'<section class="sheet">{head}{"".join(steps)}</section>'


def _player(sheet: Sheet) -> str:
    name = f"sheet-{sheet.name}-{sheet.seed}"
    steps = (_step(i, step, filled=True, play=True) for i, step in enumerate(sheet.steps))
    return (
        f'<div class="sheet" id="{name}" role="group" aria-label="{escape(sheet.title)}">'
        f"<p>{escape(sheet.question)}</p>"
        '<p class="controls" hidden><button type="button">Back</button>'
        '<button type="button">Next</button><button type="button">All</button>'
        '<span class="place"></span></p><p class="said" role="status" aria-live="polite"></p>'
        f"{''.join(steps)}</div>{script(STEPS + _PLAY, id=name)}"
    )


def _asked(step: Step) -> bool:
    return any(grid.asked for grid in step.grids)


def _step(i: int, step: Step, *, filled: bool, play: bool = False) -> str:
    rule = f'<p class="rule">{_raised(step.rule)}</p>' if step.rule else ""
    grids = "".join(_table(grid, filled, play) for grid in step.grids)
    work = ""
    if filled and not play:
        firsts = [f"{grid.name}: {grid.work[0][0]}" for grid in step.grids if grid.asked]
        work = f'<p class="work">{_raised("; ".join(firsts))}</p>'
    label = f"{i}. " if i else ""
    aid = f'<p class="aid">{_raised(step.aid)}</p>' if step.aid else ""
    head = f"<h2>{label}{escape(step.say)}</h2>{rule}{aid}"
    return f'<div>{head}<div class="grids">{grids}</div>{work}</div>'


def _table(grid: Grid, filled: bool, play: bool) -> str:
    color = ROLES[grid.role]
    head = ""
    if grid.columns:
        corner = "<th></th>" if grid.rows else ""
        names = "".join(f'<th scope="col">{escape(name)}</th>' for name in grid.columns)
        head = f"<tr>{corner}{names}</tr>"
    rows = []
    for i, row in enumerate(grid.shown()):
        name = f'<th scope="row">{escape(grid.rows[i])}</th>' if grid.rows else ""
        found = []
        for j, value in enumerate(row):
            work = f' data-work="{escape(grid.work[i][j])}"' if play and grid.asked else ""
            text = escape(value) if filled or not grid.asked else ""
            tint = "" if grid.asked and not filled else f";background:{color}22"
            found.append(f'<td style="border-color:{color}{tint}"{work}>{text}</td>')
        rows.append(f"<tr>{name}{''.join(found)}</tr>")
    # One row with a name of its own needs no caption to be seen.
    caption = f"<caption>{escape(grid.name)}</caption>" if len(grid.rows) != 1 else ""
    label = f' aria-label="{escape(grid.name)}"'
    return f"<table{label}>{caption}{head}{''.join(rows)}</table>"


def _raised(words: str) -> str:
    """Escaped text in which e^x is written with a raised x."""
    return re.sub(r"e\^(\(.*?\)|[\w.−]+)", r"e<sup>\1</sup>", escape(words))

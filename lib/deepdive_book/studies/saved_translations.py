"""A phrasebook: kept sentences with their answers, searched while the reader types.

    phrasebook(list(zip(english, ours, people, strict=True)), ("English", "the model", "a person"))

No model runs in it, and it says so: it finds the kept sentences that share most with what was
typed. Rare words count more: a word in n of N sentences counts log(N / n). Without scripts, and on
paper, the first rows stand there.
"""

import hashlib
import json
from collections.abc import Sequence
from html import escape

from deepdive_book.kit.markup import Html, marked, script

LARGEST = 300_000  # bytes of HTML


def phrasebook(
    rows: Sequence[Sequence[str]],
    head: Sequence[str],
    *,
    ask: str = "Type a sentence",
    shown: int = 6,
    of: str = "Kept translations",
) -> Html:
    """Return the table of `shown` rows that changes with what is typed; a row is found by its first
    cell. The line under it says that the rows are `of` what was kept.

    Raises:
        ValueError: there are no rows, a row has not as many cells as `head`, or the whole is larger
            than 300 kB.
    """
    if not rows or any(len(row) != len(head) for row in rows):
        wrong = next((row for row in rows if len(row) != len(head)), None)
        raise ValueError(f"rows: expected one or more with {len(head)} cells; got {wrong!r}")
    name = f"b{hashlib.sha256(repr(rows).encode()).hexdigest()[:10]}"
    lines = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in rows[:shown]
    )
    titles = "".join(f"<th>{marked(title)}</th>" for title in head)
    body = json.dumps([list(row) for row in rows], ensure_ascii=False)
    html = _BOOK.format(
        id=name, ask=marked(ask), head=titles, rows=lines, count=f"{len(rows):,}", of=marked(of)
    ) + script(_FIND, id=name, rows=body, shown=shown)
    if len(html.encode()) > LARGEST:
        raise ValueError(
            f"the phrasebook has {len(html.encode()) / 1000:.0f} kB, at most "
            f"{LARGEST / 1000:.0f}: give fewer rows"
        )
    plain = "\n".join(" | ".join(row) for row in rows[:shown])
    return Html(html, f"{plain}\n[phrasebook: {len(rows):,} sentences]")


_BOOK = """\
<div id="{id}" class="phrasebook" role="group" aria-label="Phrasebook">
<p class="asked" hidden><label>{ask}<br><input type="text" style="font:inherit;width:100%;
max-width:32em;padding:.3em .5em;box-sizing:border-box"></label></p>
<table class="dd-table" style="text-align:left"><thead><tr>{head}</tr></thead>
<tbody aria-live="polite">{rows}</tbody></table>
<p><small>{of}: no model runs here. You see those of {count} sentences that share most
with yours.</small></p></div>
"""

_FIND = """
const box = document.getElementById(given.id), rows = JSON.parse(given.rows);
const field = box.querySelector("input"), body = box.querySelector("tbody");
const words = text => new Set(text.toLowerCase().match(/[\\p{L}\\p{N}]+/gu) ?? []);
const own = rows.map(row => words(row[0])), holders = new Map();
for (const set of own) for (const word of set) holders.set(word, (holders.get(word) ?? 0) + 1);
const worth = word => Math.log(rows.length / holders.get(word)) + 0.1;
const total = set => [...set].reduce((sum, word) => sum + worth(word), 0);
const sizes = own.map(total);
const show = () => {
  const asked = [...words(field.value)].filter(word => holders.has(word));
  const near = own.map((set, i) => {
    const both = asked.filter(word => set.has(word)).reduce((sum, word) => sum + worth(word), 0);
    return [both / Math.sqrt(sizes[i] || 1), i];
  });
  if (asked.length) near.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  body.replaceChildren(...near.slice(0, given.shown).map(([, i]) => {
    const line = document.createElement("tr");
    for (const text of rows[i]) line.insertCell().textContent = text;
    return line;
  }));
};
box.querySelector(".asked").hidden = false;
field.addEventListener("input", show);
"""

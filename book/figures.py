"""Finish the folder of figures: a PDF of each drawing, and a sheet that shows all of them.

    python book/figures.py --out build/figures

Plots come with their PDF; drawings and strips are printed by Chromium, whose text they were laid
out for, each on a page of its own size. `figures.html` and `index.json` say of each figure the
page, the section, the caption, the alternative text, the data and the licence.
"""

import argparse
import html
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import nbformat

sys.path.insert(0, str(Path(__file__).resolve().parent))

from pdf import PrintError, print_pdf
from stage import data_of

SVG = "http://www.w3.org/2000/svg"
ET.register_namespace("", SVG)
ET.register_namespace("xlink", "http://www.w3.org/1999/xlink")

STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 75rem; margin: 1rem auto; padding: 0 1rem; }
section > div { display: grid; gap: 1.5rem; }
section > div { grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr)); }
figure { margin: 0; break-inside: avoid; }
img { width: 100%; max-height: 20rem; object-fit: contain; background: #fff; }
figcaption, footer { font-size: .9rem; overflow-wrap: anywhere; }
p { margin: .3rem 0; }
"""


def shelved(out: Path) -> list[dict[str, Any]]:
    """The notes that pages left beside their figures, chapters first, in the book's order."""
    notes = []
    for path in sorted(out.glob("*/*.json")):
        note = json.loads(path.read_text("utf-8"))
        notes.append(note | {"folder": path.parent})
    return sorted(notes, key=lambda note: (not note["page"].startswith("chapters"), note["page"]))


def print_drawings(note: dict[str, Any]) -> int:
    """Make the PDFs that a page's figures lack; how many."""
    count = 0
    for figure in note["figures"]:
        source = note["folder"] / figure["svg"]
        target = source.with_suffix(".pdf")
        if not target.is_file():
            print_pdf(paper(source.read_text("utf-8")), source.parent, target)
            count += 1
    return count


def paper(svg: str) -> str:
    """A document that prints as one page, as large as the drawing that it holds."""
    drawing = ET.fromstring(svg)
    width, height = (float(drawing.attrib[side]) for side in ("width", "height"))
    title, alt = (drawing.findtext(f"{{{SVG}}}{tag}", "") for tag in ("title", "desc"))
    del drawing.attrib["aria-labelledby"], drawing.attrib["aria-describedby"]
    drawing.set("aria-label", alt)  # what a tagged PDF keeps of a drawing
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        f"<title>{html.escape(title)}</title>"
        f"<style>@page {{ size: {width:g}px {height:g}px; margin: 0; }}"
        f"html, body {{ margin: 0; height: {height - 1:g}px; overflow: hidden; }}"
        f"svg {{ display: block; }}</style><body>"
        + ET.tostring(drawing, encoding="unicode")
        + "</body></html>"
    )


def entries(note: dict[str, Any], out: Path) -> list[dict[str, str]]:
    """What the index says of a page's figures, read from the page as it was run."""
    notebook: Any = nbformat.read((out / note["notebook"]).resolve(), as_version=4)
    found = []
    for figure in note["figures"]:
        svg = (note["folder"] / figure["svg"]).relative_to(out)
        section, caption = around(notebook, figure["cell"])
        entry = {"page": note["page"], "title": f"{note['number']} {plain(note['title'])}"}
        entry |= {"section": section, "caption": caption, "alt": figure["alt"]}
        entry |= {"profile": note["profile"], "data": data_of(notebook, note["page"])}
        entry |= {"licence": note["licence"]}
        entry["svg"] = svg.as_posix()
        if (out / svg).with_suffix(".pdf").is_file():
            entry["pdf"] = svg.with_suffix(".pdf").as_posix()
        found.append(entry)
    return found


def around(notebook: Any, count: int) -> tuple[str, str]:
    """The heading above the cell that ran as the `count`-th, and the sentence in italics below."""
    heading = ""
    for cell, after in zip(notebook.cells, [*notebook.cells[1:], None], strict=True):
        opening = count == 0 and "figure" in cell.metadata  # shown by a cell of text
        if opening or cell.get("execution_count") == count:
            below = after.source if after is not None and after.cell_type == "markdown" else ""
            below = cell.source.partition("\n\n")[2] if opening else below
            first = below.split("\n\n")[0].strip()
            caption = first if re.fullmatch(r"([*_])(?![*_]).*\1", first, re.DOTALL) else ""
            return plain(heading), plain(caption)
        if cell.cell_type == "markdown":
            titles = re.findall(r"^#+ +(.+)$", cell.source, re.MULTILINE)
            heading = titles[-1] if titles else heading
    return "", ""


def plain(markdown: str) -> str:
    """One line of text without marks of emphasis, code and links; formulas as they are."""
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(markdown.split()))
    parts = re.split(r"(\$[^$]+\$)", text)
    return "".join(p if p.startswith("$") else re.sub(r"[*`]|\b_|_\b", "", p) for p in parts)


def sheet(index: list[dict[str, str]]) -> str:
    """All figures on one HTML page, page by page."""
    sections: dict[str, list[str]] = {}
    for entry in index:
        about = f"{entry['title']}; profile {entry['profile']}, data: {entry['data']}"
        sections.setdefault(about, []).append(_figure(entry))
    body = "".join(
        f"<section><h2>{html.escape(about)}</h2><div>{''.join(figures)}</div></section>"
        for about, figures in sections.items()
    )
    licenses = ", ".join(
        f'<a href="{address}" rel="license">{address}</a>'
        for address in dict.fromkeys(entry["licence"] for entry in index)
    )
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Figures</title><style>{STYLE}</style><body><main><h1>Figures</h1>"
        f"<p>{len(index)} figures of {len(sections)} pages. Licence: {licenses}. To reuse one, "
        f'name its page and this project. <a href="index.json">index.json</a> lists them.</p>{body}'
        "</main></body></html>\n"
    )


def _figure(entry: dict[str, str]) -> str:
    kinds = [kind for kind in ("svg", "pdf") if kind in entry]
    files = ", ".join(f'<a href="{entry[kind]}">{Path(entry[kind]).name}</a>' for kind in kinds)
    words = [f"<p>{html.escape(entry['caption'])}</p>" if entry["caption"] else ""]
    words.append(f"<p><strong>{html.escape(entry['section'])}</strong>. {files}</p>")
    alt = html.escape(entry["alt"])
    return (
        f'<figure><img src="{entry["svg"]}" alt="{alt}" loading="lazy">'
        f"<figcaption>{''.join(words)}<details><summary>Alternative text</summary>{alt}</details>"
        "</figcaption></figure>"
    )


def finish(out: Path) -> list[str]:
    """Print what has no PDF yet and write the sheet and the index; what went wrong."""
    faults, index = [], []
    for note in shelved(out):
        try:
            if made := print_drawings(note):
                print(f"{note['page']}: {made} drawings printed", flush=True)
        except PrintError as error:
            faults.append(f"{note['page']}: {error}")
        index += entries(note, out)
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(index, indent=1, ensure_ascii=False)
    (out / "index.json").write_text(text + "\n", encoding="utf-8")
    (out / "figures.html").write_text(sheet(index), encoding="utf-8")
    print(f"{len(index)} figures in {out}: open file://{out}/figures.html")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Finish the folder of figures.")
    parser.add_argument("--out", type=Path, default=Path("build/figures"))
    faults = finish(parser.parse_args().out.resolve())
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())

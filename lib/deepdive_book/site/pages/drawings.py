"""The drawing that a page opens with: an SVG file beside the notebook, shown by a text cell.

    # %% [markdown] figure="ch06c.ctc_pipeline"
    # ![Alternative text.](figures/02_ctc.svg)

`ctc_pipeline()` in `deepdive_book.ch06c.figures.ctc_pipeline` draws the file; a function with
another name follows a colon. GitHub and JupyterLab show the file before any code, and whoever runs
the page doesn't run the drawing.
"""

import base64
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat

from deepdive_book.site.pages import Page, PageError
from deepdive_book.site.pages.setup_cell import ADDRESS, BRANCH

PAPER = "background:#fff;color:#000;"  # black on white, whatever the theme around the image
_IMAGE = re.compile(r"!\[(?P<alt>.+?)\]\([^)\s]*?(?P<file>figures/[\w.-]+\.svg)\)", re.DOTALL)
_nbformat: Any = nbformat  # it declares no types


def draw(page: Page, notebook: Any) -> dict[Path, str]:
    """Return the text of each SVG file that a page's notebook shows, by its path.

    Raises:
        PageError: a cell with a figure shows no file, or its module or function is missing.
    """
    drawn = {}
    for cell in notebook.cells:
        if name := cell.metadata.get("figure"):
            image = _IMAGE.search(cell.source)
            if not image:
                raise PageError(
                    f"{page.name}: the cell with figure={name!r} shows no file: begin it with "
                    f"![alternative text](figures/{page.source.stem}.svg)"
                )
            try:
                path, _, function = name.partition(":")
                chapter, _, module = path.partition(".")
                drawer = import_module(f"deepdive_book.{chapter}.figures.{module}")
                svg = getattr(drawer, function or module)()
            except (ImportError, AttributeError) as error:
                raise PageError(f"{page.name}: figure={name!r}: {error}") from error
            text = svg.replace('style="', f'style="{PAPER}', 1)
            drawn[page.source.parent / image["file"]] = text + "\n"
    return drawn


def addressed(text: str, page: Page) -> str:
    """Return a cell's text with the drawing's public address, once the project has one.

    Colab finds no file beside a notebook.
    """
    if not ADDRESS:
        return text
    raw = ADDRESS.replace("https://github.com/", "https://raw.githubusercontent.com/")
    folder = page.source.parent.relative_to(page.root).as_posix()
    return _IMAGE.sub(rf"![\g<alt>]({raw}/{BRANCH}/{folder}/\g<file>)", text)


def shown(page: Page) -> list[tuple[str, str]]:
    """Return the drawings of a committed page as (SVG, alternative text); none before its build."""
    if not page.notebook.is_file():
        return []
    notebook = _nbformat.read(page.notebook, as_version=4)
    cells = as_outputs(notebook, page.source.parent).cells
    drawn = [cell.outputs[0].data for cell in cells if cell.get("execution_count") == 0]
    return [(data["image/svg+xml"], data["text/plain"]) for data in drawn]


def embedded(notebook: Any, folder: Path) -> Any:
    """Put the drawings from `folder` into a notebook that will stand alone."""

    def data(image: re.Match[str]) -> str:
        file = folder / image["file"]
        if not file.is_file():
            return image[0]
        drawing = base64.b64encode(file.read_bytes()).decode()
        return f"![{image['alt']}](data:image/svg+xml;base64,{drawing})"

    for cell in notebook.cells:
        if "figure" in cell.metadata:
            cell.source = _IMAGE.sub(data, cell.source)
    return notebook


def as_outputs(notebook: Any, folder: Path) -> Any:
    """Turn each drawing into the output of a cell without code, in the colors of the book.

    So the site and the slides show it like the figures that a page draws when it runs.
    """
    cells = []
    for cell in notebook.cells:
        image = _IMAGE.search(cell.source) if "figure" in cell.metadata else None
        if image:
            alt = " ".join(image["alt"].split())
            svg = (folder / image["file"]).read_text("utf-8").strip().replace(PAPER, "", 1)
            shown = _nbformat.v4.new_output(
                "display_data",
                data={"image/svg+xml": svg, "text/plain": alt},
                metadata={"image/svg+xml": {"alt": alt}},
            )
            tags = [*cell.metadata.get("tags", []), "remove-input"]
            metadata = {"tags": tags, "title": cell.metadata.get("title", "")}
            drawn = _nbformat.v4.new_code_cell(
                f"# {image['file']}",  # MyST-NB leaves out a cell without a source
                id=f"{cell.id}-figure", execution_count=0, metadata=metadata, outputs=[shown],
            )  # fmt: skip
            cells.append(drawn)
            cell.source = _IMAGE.sub("", cell.source, count=1).strip()
            cell.metadata["tags"] = [t for t in cell.metadata.get("tags", []) if t != "slide"]
        cells.append(cell)
    notebook.cells = cells
    return notebook

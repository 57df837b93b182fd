"""From a page's source to its notebook: cell ids, clean outputs, and what must agree."""

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from deepdive_book.site.pages import Page, PageError, drawings, title_line
from deepdive_book.site.pages.setup_cell import SETUP

FOLDED = {"answer", "aside"}  # tags of headings under which all is folded until it is opened
LONGEST_CELL, LARGEST_NOTEBOOK = 25, 1_000_000

_nbformat: Any = nbformat  # it declares no types
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "name": "python", "pygments_lexer": "ipython3"},
}
_PROGRESS_BAR = re.compile(r"^[^\n]*(?:\d+%\||\d+it \[)[^\n]*\n?", re.MULTILINE)
_SCRATCH_FILE = re.compile(r"/tmp/ipykernel_\d+/\d+\.py")
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
_MACHINE_PATH = re.compile(r"(?<![\w./:])/(?:home|root|tmp|work|Users|content|opt|usr)/[\w./-]+")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_NOT_IN_A_PATH = re.compile(r"([\s'\"<>])")
_STEPS = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 420, 600, 900, 1800, 3600)


def load(page: Page) -> Any:
    """The page as a notebook without outputs, its cell ids derived from page and ordinal."""
    if page.source.suffix == ".ipynb":
        return _nbformat.read(page.source, as_version=4)
    notebook = jupytext.read(page.source, fmt="py:percent")
    notebook.metadata = _nbformat.from_dict(_METADATA)
    notebook.nbformat_minor = 5
    slug = re.sub(r"[^\w-]+", "-", page.name).removeprefix("chapters-")[:56]
    for ordinal, cell in enumerate(notebook.cells, start=1):
        cell.metadata.pop("lines_to_next_cell", None)
        grade = cell.metadata.get("nbgrader", {}).get("grade_id")
        cell.id = grade or f"{slug}-{ordinal:03d}"
        if "figure" in cell.metadata:
            cell.source = drawings.addressed(cell.source, page)
        _fold(cell)
    folded = [cell.id for cell in notebook.cells if FOLDED & set(cell.metadata.get("tags", []))]
    if folded:
        notebook.metadata["colab"] = {"collapsed_sections": folded}
    return notebook


def _fold(cell: Any) -> None:
    """Close what a tag folds: code, or all that follows a heading. Colab reads `id` and `cellView`.

    The rest is read by JupyterLab. Of folded code it shows the first line, VS Code too, and Colab a
    title: so the fold's title becomes that line.
    """
    tags = set(cell.metadata.get("tags", []))
    if {"setup", "fold"} & tags:
        cell.metadata.update({"jupyter": {"source_hidden": True}, "cellView": "form"})
        cell.source = _title(cell) + cell.source
    if FOLDED & tags:
        cell.metadata.update({"jp-MarkdownHeadingCollapsed": True, "id": cell.id})


def _title(cell: Any) -> str:
    """The line of its title that a cell has in a notebook, or the empty string."""
    title = cell.metadata.get("title") if cell.cell_type == "code" else None
    folded = cell.metadata.get("jupyter", {}).get("source_hidden")
    return title_line(title) if title and folded else ""


def clean(notebook: Any, root: Path) -> Any:
    """Remove what differs between two runs with the same results: times, addresses, paths."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if _clean_output(out, root)]
    notebook.metadata.pop("widgets", None)
    return notebook


def record_cost(notebook: Any, old: Any, profile: str, seconds: float, peak_mb: float) -> None:
    """Note in the metadata what the run took, rounded up so that the next run notes the same."""
    before = old.metadata.get("deepdive", {}) if old else {}
    under = before.get("under_seconds", 0)
    if not under / 3 <= seconds <= under:
        under = next((step for step in _STEPS if seconds <= step), 4 * _STEPS[-1])
    most = before.get("under_mb", 0)
    if not most / 2 <= peak_mb <= most:
        most = 250 * int(peak_mb // 250 + 1)
    notebook.metadata["deepdive"] = {
        "profile": profile, "under_seconds": under, "under_mb": most
    }  # fmt: skip


def record_data(notebook: Any, names: Sequence[str]) -> None:
    """Note in the metadata which data sets the run read; none is noted as none."""
    notebook.metadata.setdefault("deepdive", {})["data"] = list(names)


def write(notebook: Any, path: Path) -> None:
    """Write a notebook whole or not at all."""
    _nbformat.validate(notebook)
    _write_text(_nbformat.writes(notebook).rstrip("\n") + "\n", path)


def write_committed(page: Page, notebook: Any) -> None:
    """Write a page's notebook beside its source, and the drawings that it shows."""
    write(notebook, page.notebook)
    for path, text in drawings.draw(page, notebook).items():
        _write_text(text, path)


def _write_text(text: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_text(text, encoding="utf-8")
        os.replace(half, path)
    finally:
        half.unlink(missing_ok=True)


def try_places(pages: Sequence[Page], out: Path | None, figures: Path | None) -> None:
    """Write a byte where each page and its figures will go, before anything is run.

    Raises:
        PageError: one of the folders cannot be made or written.
    """
    folders = {page.notebook.parent if out is None else (out / page.name).parent for page in pages}
    for folder in sorted(folders | ({figures} if figures is not None else set())):
        name = "--figures" if folder == figures else "the notebook" if out is None else "--out"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"0")
        except OSError as error:
            raise PageError(
                f"{name}: cannot write in {folder} ({error.strerror}), and nothing was run: make "
                "room there, or choose another folder"
            ) from error


def committed(page: Page) -> Any:
    """The committed notebook, or None where none was built yet."""
    return _nbformat.read(page.notebook, as_version=4) if page.notebook.is_file() else None


def refresh_prose(page: Page) -> None:
    """Renew prose, tags, titles and setup cell of the committed notebook and keep its outputs.

    Raises:
        PageError: no notebook was built, or its code is not that of the source.
    """
    new, old = load(page), committed(page)
    if old is None or _code(new) != _code(old):
        what = "has no notebook yet" if old is None else "has other code than its notebook"
        raise PageError(f"{page.name} {what}: build it without --prose, which runs it")
    executed = (cell for cell in old.cells if cell.cell_type == "code")
    for cell in new.cells:
        if cell.cell_type == "code":
            old_cell = next(executed)
            cell.outputs, cell.execution_count = old_cell.outputs, old_cell.execution_count
    old.metadata.pop("colab", None)
    new.metadata.update(old.metadata)
    write_committed(page, new)


def problems(page: Page) -> list[str]:
    """What keeps the committed notebook from being its source's, run, and fit to be read."""
    new, old = load(page), committed(page)
    faults = _numbered(new, _cell_faults)
    code = [cell for cell in new.cells if cell.cell_type == "code"]
    opening = 2 if "figure" in new.cells[1].metadata else 1  # cells of prose before the setup cell
    if new.cells[0].cell_type != "markdown" or code[:1] != new.cells[opening : opening + 1]:
        faults.append("the first cell must be prose; then comes a drawing or the setup cell")
    for path, text in drawings.draw(page, new).items():
        if not path.is_file() or path.read_text("utf-8") != text:
            faults.append(f"{path.parent.name}/{path.name} isn't what its module draws: run "
                          "`make notebooks`")  # fmt: skip
    summary = page.summary()
    if not summary.question.endswith("?") or not summary.minutes:
        faults.append('the first cell needs a heading, under it a question, and "20 min"')
    if not code or code[0].source != SETUP:
        faults.append("the setup cell differs: run `python -m deepdive_book.site.pages setup`")
    if old is None:
        return [*faults, "no notebook: run `make notebooks`"]
    same = [_identity(cell) for cell in new.cells] == [_identity(cell) for cell in old.cells]
    if not same or new.metadata.get("colab") != old.metadata.get("colab"):
        faults.append("the notebook differs from its source: run `make notebooks`")
    if "data" not in old.metadata.get("deepdive", {}):
        faults.append("the notebook does not say which data its run read: run `make notebooks`")
    faults += _numbered(old, _run_faults)
    if page.notebook.stat().st_size > LARGEST_NOTEBOOK:
        faults.append(f"{page.notebook.name} is larger than {LARGEST_NOTEBOOK} bytes")
    return faults


def write_setup(page: Page, setup: str = SETUP) -> bool:
    """Put the setup cell of the library into the source; whether that changed anything."""
    text = page.source.read_text(encoding="utf-8")
    cell = re.compile(r'(^# %%[^\n]*"setup"[^\n]*\n).*?(?=\n+# %%|\n*\Z)', re.MULTILINE | re.DOTALL)
    if not cell.search(text):
        raise PageError(f'{page.name} has no cell `# %% tags=["setup"]`: add one after the first')
    new = cell.sub(lambda match: match[1] + setup, text, count=1)
    page.source.write_text(new, encoding="utf-8")
    return new != text


def _code(notebook: Any) -> list[str]:
    """What the outputs depend on: the code without titles, and not how the setup cell gets the
    library.
    """
    return [
        "setup"
        if "setup" in cell.metadata.get("tags", [])
        else cell.source.removeprefix(_title(cell))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def _identity(cell: Any) -> tuple[Any, ...]:
    return cell.id, cell.cell_type, cell.source, dict(cell.metadata)


def _numbered(notebook: Any, faults: Callable[[Any], list[str]]) -> list[str]:
    """The faults of every cell of a notebook, each with the number of its cell."""
    return [f"cell {i}: {text}" for i, cell in enumerate(notebook.cells) for text in faults(cell)]


def _cell_faults(cell: Any) -> list[str]:
    if "concept" in cell.metadata.get("tags", []):  # up to 40 lines: book/language.py counts them
        return []
    # An import counts as one line, over however many the formatter has spread it; a blank as none.
    code = re.sub(r"^(from .* import \()[^)]*\)$", r"\1)", cell.source, flags=re.MULTILINE)
    lines = sum(bool(line.strip()) for line in code.removeprefix(_title(cell)).split("\n"))
    if cell.cell_type == "code" and lines > LONGEST_CELL:
        return [f"{lines} lines of code; at most {LONGEST_CELL}"]
    return []


def _run_faults(cell: Any) -> list[str]:
    if cell.cell_type != "code":
        return []
    faults = [] if cell.execution_count else ["never ran"]
    expected = "raises-exception" in cell.metadata.get("tags", [])
    for out in cell.outputs:
        if out.output_type == "error" and not expected:
            faults.append(f"failed with {out.ename}")
        data = out.get("data", {})
        if set(data) == {"text/plain"} and "<Figure size" in data["text/plain"]:
            faults.append(
                "shows a figure as text: use deepdive_book.kit.plotting.show, or run setup first"
            )
        faults += [
            f"shows a path of the machine, {path}" for path in _MACHINE_PATH.findall(str(out))
        ]
    return faults


def _clean_output(out: Any, root: Path) -> bool:
    """Clean one output in place; False if nothing of it is left."""
    if out.output_type == "stream":
        out.text = _tidy(_PROGRESS_BAR.sub("", out.text), root)
        return bool(out.text.strip())
    if out.output_type == "error":
        # The frames of the page itself; those of the library hold paths and change with it.
        inner = [line for line in out.traceback[1:-1] if _ANSI.sub("", line).startswith("Cell In")]
        out.traceback = [_tidy(line, root) for line in (*inner, out.traceback[-1])]
        return True
    if "application/vnd.jupyter.widget-view+json" in out.data:
        del out.data["application/vnd.jupyter.widget-view+json"]
        if _PROGRESS_BAR.fullmatch(out.data.get("text/plain", "")):
            return False  # a bar drawn as a widget: the text beside it stays at 0 %
    for kind in out.data.keys() & {"text/plain", "text/html", "text/markdown"}:
        out.data[kind] = _tidy(out.data[kind], root)
    return bool(out.data)


def _tidy(text: str, root: Path) -> str:
    text = _SCRATCH_FILE.sub("cell", _ADDRESS.sub("at 0x...", text))
    # A pattern that begins with the path would begin anew at each letter of a long word, and an
    # explorer's numbers are a word of 100,000 letters: minutes a page.
    *before, text = text.split("/site-packages/")
    text = "".join("".join(_NOT_IN_A_PATH.split(part)[:-1]) for part in before) + text
    return text.replace(f"{root}/", "").replace(f"{Path.home()}/", "~/")

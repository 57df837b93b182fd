"""The folder that holds the figures of all pages as files: whose are there, and of which code.

A page that runs saves its figures aside (`deepdive_book.kit.figures`); when it has run to its end
they take the place of those of an earlier run, and `PAGE.json` says which page, profile and code
they are of.
"""

import hashlib
import json
import os
import shutil
from functools import cache
from pathlib import Path

import deepdive
from deepdive_book.kit.figures import LICENSE, save_opening
from deepdive_book.site.pages import Page, drawings

RUNNING = ".running"


def begin(page: Page, folder: Path) -> Path:
    """Make an empty place aside for a page that is to run; return what its files begin with."""
    shutil.rmtree(folder / RUNNING, ignore_errors=True)
    place = folder / RUNNING / _name(page)
    place.parent.mkdir(parents=True)
    return place


def store(page: Page, profile: str, folder: Path, notebook: Path) -> None:
    """Put the figures of a page that ran in their place, and note what they are of."""
    aside, place = folder / RUNNING / _name(page), folder / _name(page)
    place.parent.mkdir(parents=True, exist_ok=True)
    for old in place.parent.glob(f"{place.name}-[0-9][0-9].*"):
        old.unlink()
    listed = aside.with_name(f"{aside.name}.json")
    figures = json.loads(listed.read_text("utf-8"))["figures"] if listed.is_file() else []
    for svg, alt in reversed(drawings.shown(page)):
        figures.insert(0, save_opening(svg, alt, aside.with_name(f"{aside.name}-00.svg")))
    for new in aside.parent.glob(f"{aside.name}-*"):
        new.rename(place.with_name(new.name))
    note = {
        "page": page.name,
        "title": page.summary().title,
        "number": page.number,
        "profile": profile,
        "notebook": os.path.relpath(notebook, folder),
        "code": _code(page),
        "licence": LICENSE,
        "figures": figures,
    }
    text = json.dumps(note, indent=1, ensure_ascii=False)
    place.with_name(f"{place.name}.json").write_text(text + "\n", encoding="utf-8")
    shutil.rmtree(folder / RUNNING)


def has(page: Page, profile: str, folder: Path) -> bool:
    """Whether the figures of this very page, library and profile are all there."""
    place = folder / _name(page)
    try:
        note = json.loads(place.with_name(f"{place.name}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    files = [place.with_name(figure["svg"]) for figure in note["figures"]]
    same = (note["profile"], note["code"]) == (profile, _code(page))
    return same and all(path.is_file() for path in [*files, folder / note["notebook"]])


def _name(page: Page) -> str:
    return page.name.removeprefix("chapters/")


def _code(page: Page) -> str:
    """A digest of what the figures depend on: the page, and the library."""
    return hashlib.sha256(page.source.read_bytes() + _library()).hexdigest()[:16]


@cache
def _library() -> bytes:
    digest = hashlib.sha256()
    for path in sorted(Path(deepdive.__file__).parents[1].glob("deepdive*/**/*.py")):
        digest.update(path.read_bytes())
    return digest.digest()

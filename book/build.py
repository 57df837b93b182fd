"""Build the book from the committed notebooks, without torch, execution or a network.

    python book/build.py --out build/site

Warnings of Sphinx are errors, and so is what `check` finds: a formula that does not convert, an
image without alternative text, a link that leads nowhere, anything loaded from another host.
One build into a folder at a time; a folder that holds anything of others is refused.
"""

import argparse
import csv
import hashlib
import re
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import nbformat
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import docutils_namespace, patch_docutils

sys.path.insert(0, str(Path(__file__).resolve().parent))

from check import check
from folders import FolderError, check_ours, files, remove, sign
from font import FONT, font_for_web
from paths import PathError
from slides import VendorError, decks, vendored
from stage import BOOK, ProvenanceError, Stage, drawings, library

# A page's own scripts, styles, sounds, and pictures, and nothing of another host.
POLICY = (
    "default-src 'self' data: blob: 'unsafe-inline'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'"
)
# What Sphinx would search with; the book has `finder` and _static/search.js.
SPHINX_SEARCH = ("searchindex.js", "_static/searchtools.js", "_static/language_data.js")
BUILT_FROM = ".built-from"  # in a built site: the `state` of the files it was built from


def build(root: Path, out: Path, only: Sequence[str] = ()) -> list[str]:
    """Build the book of a checkout into `out`; its faults, Sphinx's own being told on stderr.

    With `only`, folders of chapters, their pages alone are built, as `Stage` says. Built beside
    `out`, which is replaced at the end. What is at fault stays there to be looked at.
    Raises FolderError where either folder holds what we did not write; `Held` where another
    process builds into `out`.
    """
    work = out.with_name(f"{out.name}-work")
    inputs = state(root, only)  # before anything is read: what changes from now on is newer
    with library("deepdive.locks").hold(out.with_name(f".{out.name}.lock"), f"--out: {out}"):
        check_ours(out)
        check_ours(work)
        remove(work)
        faults: list[str] = []
        try:
            sign(work, ["src", "doctrees", "html", "before", "jupyter_execute"])
            faults = make(root, work, only)
            if not faults:
                (work / "html" / BUILT_FROM).write_text(inputs, "utf-8")
                replace(out, work)
        finally:
            if not faults:
                remove(work)
    return faults


def state(root: Path, only: Sequence[str] = ()) -> str:
    """A hash of what the book of a checkout is built from: names, sizes, and times of its files."""
    folders = ("book", "casestudies", "chapters", "lib", "tools")
    paths = [path for folder in folders for path in (root / folder).rglob("*")]
    for kind in ("*.md", "*.cff", "*.toml", "*.txt"):  # texts, and the lists of packages
        paths += root.glob(kind)
    told = [*map(str, sorted(only)), ""]
    for path in sorted(paths):
        if path.is_file() and not path.parent.name.startswith((".", "__pycache__")):
            about = path.stat()
            told.append(f"{path.relative_to(root)} {about.st_size} {about.st_mtime_ns}")
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


def up_to_date(root: Path, out: Path, only: Sequence[str] = ()) -> bool:
    """Whether `out` holds what `build` would make there, because no file has changed since."""
    noted = out / BUILT_FROM
    return noted.is_file() and noted.read_text("utf-8") == state(root, only)


def make(root: Path, work: Path, only: Sequence[str] = ()) -> list[str]:
    """Build the book of a checkout, or some chapters, into `work`/html; its faults."""
    site = work / "html"
    try:
        stage = Stage(root, work / "src", only)
    except PathError as error:
        return [f"book/paths.yaml: {error}"]
    try:
        notebooks = stage.run()
        warned = sphinx(work / "src", site, work / "doctrees")
    except ProvenanceError as error:
        return [str(error)]
    except SphinxError as error:
        return [f"Sphinx stopped: {error}"]
    for path in notebooks:
        alone = drawings.embedded(nbformat.read(path, as_version=4), path.parent)
        target = site / path.relative_to(root)
        target.write_text(nbformat.writes(alone).rstrip("\n") + "\n", "utf-8")
    paths = "" if stage.paths is None else stage.paths.script()
    (site / "_static" / "paths_data.js").write_text(paths, "utf-8")
    (site / "_static" / "roles.css").write_text(library("deepdive_book.kit.palette").css(), "utf-8")
    (site / "_static" / FONT).write_bytes(font_for_web())
    try:
        search = vendored("minisearch") / "dist" / "umd" / "index.js"
        shutil.copyfile(search, site / "_static" / "minisearch.js")
        decks(stage.pages, site)
    except VendorError as error:
        return [str(error)]
    unused = [site / "objects.inv", *(site / name for name in SPHINX_SEARCH)]
    for path in [*site.rglob("*.map"), *site.rglob(".buildinfo"), *unused]:
        path.unlink(missing_ok=True)  # for those who build the theme, not for readers
    shutil.rmtree(site / "_sources", ignore_errors=True)
    redirects(site)
    for path in site.rglob("*.html"):
        path.write_text(guarded(path.read_text("utf-8")), "utf-8")
    return [*check(site), *(["Sphinx's warnings are above"] if warned else [])]


def redirects(site: Path) -> None:
    """Write a page under each old address of `moved.csv` that leads to the new one."""
    for old, new in moved().items():
        if (site / new).is_file():
            (site / old).write_text(MOVED.format(Path(new).name), encoding="utf-8")


def moved() -> dict[str, str]:
    """Old address -> new address in the same folder, of the pages that were renamed."""
    with (BOOK / "moved.csv").open(encoding="utf-8", newline="") as file:
        return {f"{row['old']}.html": f"{row['new']}.html" for row in csv.DictReader(file)}


MOVED = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>This page has moved</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="0; url={0}"><link rel="canonical" href="{0}"></head>
<body><main><h1>This page has moved</h1><p><a href="{0}">Go to its new address</a></p></main></body>
</html>
"""


def guarded(page: str) -> str:
    """The page with its content security policy, before anything that it loads."""
    meta = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return re.sub(r"<head\b[^>]*>", lambda head: head[0] + meta, page, count=1)


def sphinx(source: Path, site: Path, doctrees: Path) -> bool:
    """Build a folder of sources to HTML, quietly; whether there were warnings, told on stderr."""
    with patch_docutils(BOOK), docutils_namespace():
        app = Sphinx(source, BOOK, site, doctrees, "html", status=None, warningiserror=True)
        app.build()
    return bool(app.statuscode)


def replace(out: Path, work: Path) -> None:
    """Put the new site in the place of the old one, which goes aside first."""
    site = work / "html"
    sign(site, files(site))
    if out.exists():
        out.rename(work / "before")
    site.rename(out)


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the book.")
    parser.add_argument("--out", type=Path, default=Path("build/site"))
    parser.add_argument("--root", type=Path, default=BOOK.parent, help="the checkout to build")
    options = parser.parse_args()
    start = time.monotonic()
    try:
        faults = build(options.root.resolve(), options.out.resolve())
    except (FolderError, library("deepdive.locks").Held) as error:
        faults = [str(error)]
    except OSError as error:
        place = error.filename or options.out
        reason = error.strerror or error
        faults = [f"--out: {place}: {reason}: see that there is room, and that it can be written"]
    except KeyboardInterrupt:
        return 130
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    count = sum(1 for _ in options.out.rglob("*.html"))
    seconds = f"{time.monotonic() - start:.0f} s ({time.process_time():.0f} s of one core)"
    print(f"{count} pages in {options.out}, {seconds}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

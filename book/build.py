"""Build the book from the committed notebooks, without torch, execution or a network.

    python book/build.py --out build/site

Warnings of Sphinx are errors, and so is what `check` finds: a formula that does not convert, an
image without alternative text, a link that leads nowhere, anything loaded from another host.
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

from sphinx.cmd.build import build_main

sys.path.insert(0, str(Path(__file__).resolve().parent))

from check import check
from font import FONT, font_for_web
from paths import PathError
from slides import VendorError, decks
from stage import BOOK, Stage


def build(root: Path, out: Path) -> list[str]:
    """Build the book of a checkout into `out`; its faults, Sphinx's own being told on stderr."""
    work = out.with_name(f"{out.name}-work")
    site = work / "html"
    shutil.rmtree(work, ignore_errors=True)
    try:
        stage = Stage(root, work / "src")
    except PathError as error:
        return [f"book/paths.yaml: {error}"]
    notebooks = stage.run()
    strict = ["-W", "--keep-going", "-q", "-b", "html"]
    where = ["-c", str(BOOK), "-d", str(work / "doctrees"), str(work / "src"), str(site)]
    told = build_main([*strict, *where])
    for path in notebooks:
        shutil.copyfile(path, site / path.relative_to(root))
    (site / "_static" / "paths_data.js").write_text(stage.paths.script(), "utf-8")
    (site / "_static" / FONT).write_bytes(font_for_web())
    try:
        decks(stage.pages, site)
    except VendorError as error:
        return [str(error)]
    for path in [*site.rglob("*.map"), *site.rglob(".buildinfo"), site / "objects.inv"]:
        path.unlink(missing_ok=True)  # for those who build the theme, not for readers
    shutil.rmtree(site / "_sources", ignore_errors=True)
    faults = [*check(site), *(["Sphinx's warnings are above"] if told else [])]
    if not faults:
        shutil.rmtree(out, ignore_errors=True)
        site.rename(out)
        shutil.rmtree(work)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the book.")
    parser.add_argument("--out", type=Path, default=Path("build/site"))
    parser.add_argument("--root", type=Path, default=BOOK.parent, help="the checkout to build")
    options = parser.parse_args()
    start = time.monotonic()
    faults = build(options.root.resolve(), options.out.resolve())
    if faults:
        print("\n".join(faults), file=sys.stderr)
        return 1
    count = sum(1 for _ in options.out.rglob("*.html"))
    seconds = f"{time.monotonic() - start:.0f} s ({time.process_time():.0f} s of one core)"
    print(f"{count} pages in {options.out}, {seconds}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

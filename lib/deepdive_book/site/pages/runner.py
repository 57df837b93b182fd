"""Running many pages: into a folder, or into the committed notebooks."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from deepdive.data import dataset_log
from deepdive_book.kit.figures import SETTING
from deepdive_book.site.pages import Page, drawings, figure_store, source
from deepdive_book.site.pages.execute import HOPELESS, Run, execute
from deepdive_book.site.pages.progress import Display, Result, report


def run_pages(
    pages: Sequence[Page],
    profile: str,
    out: Path | None,
    stream: TextIO | None = None,
    figures: Path | None = None,
) -> list[Result]:
    """Run the pages one after another; a failing one does not stop the next.

    Args:
        out: where the executed notebooks go; None builds the committed ones, and keeps a
            committed notebook as it is where its page fails.
        stream: where progress and the closing table are shown (default: standard output).
        figures: where every figure goes as a file, too (`deepdive_book.site.pages.figure_store`); a
        failing page
            leaves there what an earlier run had made.

    Returns:
        One result a page; after an interrupt, those that ran.
    """
    stream = stream or sys.stdout
    display = Display(stream, len(pages))
    results: list[Result] = []
    for ordinal, page in enumerate(pages, start=1):
        display.start(ordinal, page)
        results.append(_run_page(page, profile, out, display, figures))
        display.end(results[-1])
        if results[-1].status == "interrupted":
            break
    print(report(results), file=stream)
    return results


def exit_code(results: Sequence[Result], strict_budget: bool) -> int:
    """0 if every page ran, 1 if one failed (or is over budget, if strict), 130 if interrupted.

    In the profile ci a page that ends where its published weights are absent has not failed.
    """
    states = {result.status for result in results}
    if "interrupted" in states:
        return 130
    return int("failed" in states or (strict_budget and "over budget" in states))


def _run_page(
    page: Page, profile: str, out: Path | None, display: Display, figures: Path | None
) -> Result:
    budget = page.budget(profile)
    run = Run(source.load(page), limit=HOPELESS * budget)
    env = {"DEEPDIVE_PROFILE": profile, "SOURCE_DATE_EPOCH": "0", SETTING: ""}
    if out is not None:
        env["DEEPDIVE_OUT"] = str(out)
    if figures is not None:
        env[SETTING] = str(figure_store.begin(page, figures))
    with tempfile.TemporaryDirectory() as aside:
        note = Path(aside, "opened")
        try:
            execute(run, page.source.parent, env | {dataset_log.SETTING: str(note)}, display.tick)
        except KeyboardInterrupt:
            run.error = "interrupted"
            return Result(page, run, "interrupted", budget)
        data = dataset_log.noted(note)
    try:
        _keep(page, run, profile, data, out, figures)
    except OSError as error:  # the disk filled up while the page ran
        run.error = f"the page ran, but could not be kept: {error.strerror or error}"
    if profile == "ci" and "deepdive weights install" in run.error:
        return Result(page, run, "no weights", budget)
    late = "over budget" if run.seconds > budget else "ok"
    return Result(page, run, "failed" if run.error else late, budget)


def _keep(
    page: Page, run: Run, profile: str, data: list[str], out: Path | None, figures: Path | None
) -> None:
    """Write what a page has become, and put its figures in their place."""
    source.clean(run.notebook, page.root)
    if out is not None:
        source.record_data(run.notebook, data)
        alone = drawings.embedded(run.notebook, page.source.parent)
        source.write(alone, out / f"{page.name}.ipynb")
    elif not run.error:
        old = source.committed(page)
        source.record_cost(run.notebook, old, profile, run.seconds, run.peak_mb)
        source.record_data(run.notebook, data)
        source.write_committed(page, run.notebook)
    if figures is not None and out is not None and not run.error:
        figure_store.store(page, profile, figures, out / f"{page.name}.ipynb")

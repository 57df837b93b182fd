"""Commands that run, build, and check the pages; `run` and `notebooks` are also in `deepdive`."""

import difflib
import errno
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deepdive_book.site.pages import BUDGETS, Page, PageError, exercise_sources, find_root, select

if TYPE_CHECKING:
    from deepdive_book.site.pages.progress import Result

PAGES = click.argument("pages", nargs=-1, metavar="[PAGE]...")
PROFILE = click.option(
    "--profile", type=click.Choice(list(BUDGETS)), help="How much work a page does."
)


# Errors of the disk or file system, with a fix; any other OSError is a bug and raised as such.
REFUSALS = {
    getattr(errno, name): way
    for name, way in {
        "ENOSPC": "free some space there",
        "EDQUOT": "free some space there",
        "EFBIG": "free some space there",
        "EROFS": "choose a writable folder",
        "EACCES": "check its permissions",
        "EPERM": "check its permissions",
    }.items()
    if hasattr(errno, name)
}


class Group(click.Group):
    """A group that suggests near commands, shows a `PageError` as a usage error (exit 2), what a
    disk refuses as one line (exit 1), and ends quietly after Ctrl-C (exit 130).
    """

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except PageError as error:
            raise click.UsageError(str(error)) from error
        except (KeyboardInterrupt, click.Abort):  # a prompt makes an Abort of Ctrl-C
            click.echo("interrupted", err=True)
            raise click.exceptions.Exit(130) from None
        except OSError as error:
            if error.errno not in REFUSALS:
                raise
            place = error.filename or "a file"
            message = f"{place}: {error.strerror}: {REFUSALS[error.errno]}"
            raise click.ClickException(message) from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None and not ctx.resilient_parsing:
            raise click.UsageError(
                f"no command {cmd_name!r}{suggest(cmd_name, self.commands)}", ctx
            )
        return command


def suggest(word: str, names: Iterable[str]) -> str:
    """` (did you mean a or b?)` for an unknown word, or the empty string."""
    near = difflib.get_close_matches(word, list(names), n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(near)}?)" if near else ""


@click.group(cls=Group)
def main() -> None:
    """Run and build the pages. PAGE is a number (2.2), a name, or a part of a name."""


@main.command()
@PAGES
@PROFILE
@click.option("--out", type=click.Path(path_type=Path), help="Default: build/<profile>.")
@click.option("--all", "every", is_flag=True, help="Run all pages without asking.")
@click.option("--strict-budget", is_flag=True, help="Fail if a page exceeds its time budget.")
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    help="Profile experiment: fraction of the training steps to run.",
)
@click.option(
    "--figures",
    type=click.Path(path_type=Path),
    help="Save every figure as a file in this folder; skips pages already saved there.",
)
def run(
    pages: tuple[str, ...],
    profile: str | None,
    out: Path | None,
    every: bool,
    strict_budget: bool,
    share: float | None,
    figures: Path | None,
) -> None:
    """Run pages and save the executed notebooks in a folder.

    Without a page, asks before running all of them. No committed file changes.

    In the `experiment` profile a page also runs its long experiments and saves the results in
    results/ next to the page, one at a time, so you can interrupt and resume.

    PAGE is a number (2.2, "case 2"), a name, a path, or a unique part of a name.

    \b
    Examples:
      deepdive run 2.2
      deepdive run translation --profile ci
      deepdive run 2.16 --profile experiment --share 0.1
    """
    from deepdive_book.kit.profile import profile as current
    from deepdive_book.site.pages import figure_store, runner, source

    root = find_root()
    name = profile or current()
    if share is not None:
        if name != "experiment":
            raise click.UsageError(f"--share is for --profile experiment; this is {name}")
        os.environ["DEEPDIVE_SHARE"] = str(share)
    folder = (out or root / "build" / name).resolve()
    chosen = select(pages, root)
    if figures is not None:
        there = [page for page in chosen if figure_store.has(page, name, figures)]
        chosen = [page for page in chosen if page not in there]
        click.echo(f"{len(there)} pages have figures already; {len(chosen)} pages to run")
        if not chosen:
            return
    if not pages and not every:
        _ask(len(chosen), name)
    source.try_places(chosen, folder, figures)
    results = runner.run_pages(chosen, name, folder, figures=figures and figures.resolve())
    _say_where(results, folder)
    sys.exit(runner.exit_code(results, strict_budget))


def _ask(count: int, name: str) -> None:
    """Ask before running all pages; without a terminal, fail and name the option."""
    what = f"no page given: this runs all {count} pages in the {name} profile"
    if not sys.stdin.isatty():
        raise click.UsageError(f"{what}. Give page numbers (2.2), or pass --all")
    click.echo(f"{what[0].upper()}{what[1:]}. To run one page, give its number: deepdive run 2.2")
    click.confirm("Run all of them?", abort=True)


def _say_where(results: "Sequence[Result]", folder: Path) -> None:
    """Print the path of the notebook, or the folder of several."""
    kept = [
        path
        for path in (folder / f"{result.page.name}.ipynb" for result in results)
        if path.is_file()
    ]
    if kept:
        what = "the notebook, with its outputs" if len(kept) == 1 else f"{len(kept)} notebooks"
        click.echo(f"\nWritten: {relative_path(kept[0] if len(kept) == 1 else folder)} ({what})")


def relative_path(path: Path) -> Path:
    """A path relative to the current folder if it is inside it, else the full path."""
    path = path.resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@main.command()
@PAGES
@PROFILE
@click.option(
    "--check", is_flag=True, help="Change nothing; fail if a source and its notebook differ."
)
@click.option(
    "--prose",
    is_flag=True,
    help="Update prose, tags, and setup cell, keep outputs; fails if other code changed.",
)
def notebooks(pages: tuple[str, ...], profile: str | None, check: bool, prose: bool) -> None:
    """Build the committed notebooks from their sources.

    Runs a page's .py in the laptop profile and writes its .ipynb with all outputs.

    \b
    Examples:
      deepdive notebooks 2.2           run the page and write its notebook
      deepdive notebooks --prose 2.2   after editing text or tags only
      deepdive notebooks --check
    """
    from deepdive_book.site.pages import runner, source

    chosen = select(pages, find_root())
    if check:
        faults = [f"{page.name}: {text}" for page in chosen for text in source.problems(page)]
        click.echo("\n".join(faults) or f"{len(chosen)} pages match their notebooks")
        sys.exit(bool(faults))
    if prose:
        for page in chosen:
            source.refresh_prose(page)
        click.echo(f"{len(chosen)} notebooks updated from their sources")
        return
    source.try_places(chosen, None, None)
    sys.exit(runner.exit_code(runner.run_pages(chosen, profile or "laptop", None), False))


@main.command()
@PAGES
@click.option(
    "--address",
    metavar="auto|https://github.com/OWNER/NAME",
    help="Set the project's public address; auto: GITHUB_REPOSITORY, else git's origin.",
)
@click.option("--branch", default="main", help="The branch with the notebooks (default main).")
def setup(pages: tuple[str, ...], address: str | None, branch: str) -> None:
    """Write the library's setup cell into all sources, including the exercises.

    \b
    To publish:
      python -m deepdive_book.site.pages setup --address auto
      python -m deepdive_book.site.pages notebooks --prose
      deepdive exercises
    """
    from deepdive_book.site.pages import address as place
    from deepdive_book.site.pages import setup_cell, source

    root, cell = find_root(), setup_cell.SETUP
    if address is not None:
        address = place.published(root) if address == "auto" else place.checked(address)
        place.write(root, address, branch)
        cell = setup_cell.setup_cell(address)
        click.echo(f"Published at {address}, branch {branch}")
    others = [] if pages else [Page(path, root) for path in exercise_sources(root)]
    for page in [*select(pages, root), *others]:
        if source.write_setup(page, cell):
            click.echo(page.name)

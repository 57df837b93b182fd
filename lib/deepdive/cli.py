"""The `deepdive` command. Exit codes: 0 done, 1 something failed, 2 wrong use, 130 interrupted."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path

import click

from deepdive import __version__
from deepdive.course.assignment.commands import assignment
from deepdive.course.assignment.exercises_command import exercises
from deepdive.course.questions.commands import questions
from deepdive.house.pages import Page, discover, find_root
from deepdive.house.pages.commands import Group, notebooks, run, suggest

Row = tuple[str, ...]

# A machine without these cannot run a page; without the others it can do less.
NEEDED = {"Python", "torch"}
LISTS = ["pages", "studies", "data", "systems", "sheets"]


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Read, run and check the companion's pages, and fetch its data.

    \b
    Examples:
      deepdive list                      the pages
      deepdive run 2.2                   run one in the profile of this machine
      deepdive data fetch tatoeba_eng_fra
      deepdive doctor                    what this machine lacks, and the fix
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a letter that the terminal lacks is a ?
            stream.reconfigure(errors="replace")


main.add_command(run)
main.add_command(notebooks)
main.add_command(exercises)
main.add_command(questions)
main.add_command(assignment)


@main.command("list")
@click.argument("what", type=click.Choice(LISTS), default="pages")
def list_(what: str) -> None:
    """List the pages (default), case studies, data sets, systems with their status, or sheets.

    \b
    Examples:
      deepdive list
      deepdive list systems | grep -i longformer
    """
    rows = dict(zip(LISTS, (_pages, _studies, _data, _systems, _sheets), strict=True))[what]
    with _failing():
        click.echo(_table(rows()))


@main.group(cls=Group)
def data() -> None:
    """List, fetch, verify and find the data sets. Looked for: mirror, cache, public address.

    DEEPDIVE_MIRROR names a folder or address laid out <data set>/<file>.
    """


@data.command("list")
def data_list() -> None:
    """List the data sets, their size and licence, and whether they are on this machine."""
    with _failing():
        click.echo(_table(_data()))


@data.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
def fetch(names: tuple[str, ...]) -> None:
    """Bring data sets to this machine, verified, and print where they lie.

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
    """Hash the files of data sets (default: all) again; fail if one is missing or changed."""
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
    """Print the folder that a data set lies in; fail if it would have to be downloaded."""
    from deepdive import data as sets

    with _failing():
        folder = sets.where(*_known((name,)))
    if folder is None:
        raise click.ClickException(f"{name} is not here: `deepdive data fetch {name}` brings it")
    click.echo(folder)


@main.command()
@click.argument("name")
@click.option("--seed", default=0, help="Which numbers are drawn (default 0).")
@click.option("--count", type=click.IntRange(1, 200), default=1, help="So many sheets: seed, ...")
@click.option("--out", type=click.Path(path_type=Path), help="Default: NAME-SEED.html here.")
def sheet(name: str, seed: int, count: int, out: Path | None) -> None:
    """Write a pencil sheet of one mechanism: an A4 page to fill in, its key, and a stepper.

    One HTML file to open in a browser; print it on paper or into a PDF. `deepdive list sheets`
    names them all.

    \b
    Examples:
      deepdive sheet attention --seed 7
      deepdive sheet beam_search --count 25 --out class.html   25 sheets, the keys behind them
    """
    from deepdive.course.sheets import SHEETS, document, make

    if name not in SHEETS:
        raise click.UsageError(f"no sheet {name!r}{suggest(name, SHEETS)}: `deepdive list sheets`")
    path = out or Path(f"{name}-{seed}.html")
    text = document(*(make(name, seed + i) for i in range(count)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
    click.echo(path)


@main.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def new(words: tuple[str, ...]) -> None:
    """Begin a system as its parent under a new name, in a checkout: `deepdive new --help`."""
    tool = find_root() / "tools" / "new_system.py"
    if not tool.is_file():
        raise click.UsageError(f"no {tool}: it begins systems, and only a checkout has it")
    sys.exit(subprocess.run([sys.executable, str(tool), *words], check=False).returncode)


@main.command()
def doctor() -> None:
    """Say what this machine has and lacks, one line a point, with the fix.

    Fails only where no page could run.
    """
    from deepdive.house.doctor import checks

    results = checks()
    width = max(len(check.name) for check in results)
    for check in results:
        fix = f"; fix: {check.fix}" if check.fix else ""
        click.echo(f"{'ok' if check.ok else 'NO':3}{check.name:{width}}  {check.message}{fix}")
    sys.exit(any(not check.ok and check.name in NEEDED for check in results))


def _known(names: Sequence[str]) -> list[str]:
    """The names, or all where none is given; an unknown one is wrong use."""
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


def _table(rows: Sequence[Row]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def _page_rows(pages: Sequence[Page]) -> list[Row]:
    rows: list[Row] = [("number", "page", "minutes", "question")]
    for page in pages:
        summary = page.summary()
        rows.append((page.number, page.name, str(summary.minutes or "?"), summary.question))
    return rows


def _pages() -> list[Row]:
    return _page_rows(discover(find_root()))


def _studies() -> list[Row]:
    return _page_rows([page for page in discover(find_root()) if page.is_study])


def _data() -> list[Row]:
    from deepdive import data as sets

    rows: list[Row] = [("name", "MB", "here", "title", "licence")]
    for name, entry in sets.registry().items():
        here = "yes" if sets.where(name) else "no"
        rows.append((name, f"{entry.bytes / 1e6:.1f}", here, entry.title, entry.licence))
    return rows


def _systems() -> list[Row]:
    from deepdive.house.atlas.rows import LIBRARY, systems

    listed = systems(LIBRARY)
    rows: list[Row] = [("id", "chapter", "tier", "status", "kind", "name")]
    for row, status in listed:
        rows.append((row["id"], row["chapter"], row["tier"], status, row["kind"], row["name"]))
    return rows


def _sheets() -> list[Row]:
    from deepdive.course.sheets import SHEETS, make

    rows: list[Row] = [("name", "minutes", "book", "title", "question")]
    for name in SHEETS:
        sheet = make(name)
        rows.append((name, str(sheet.minutes), sheet.section, sheet.title, sheet.question))
    return rows

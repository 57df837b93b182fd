"""`deepdive questions`: export a chapter's questions, take a quiz, and compare two tests."""

import random
from pathlib import Path

import click

from deepdive_book.course.questions import FILES, Item, load
from deepdive_book.site.pages import PageError, discover, find, find_root, number_of
from deepdive_book.site.pages.commands import Group, relative_path
from deepdive_book.site.terminal import paragraphs, width

CHAPTER = click.argument("chapter")
TEST = click.option(
    "--test", "which", type=click.Choice([*FILES]), default="bank",
    help="Question bank (default), or the concept test before or after the chapter.",
)  # fmt: skip


@click.group(cls=Group)
def questions() -> None:
    """Take a quiz, or export questions to Moodle and Canvas.

    CHAPTER is a number (2) or the name of a folder (02_transformer).

    \b
    Examples:
      deepdive questions ask 2 --count 5
      deepdive questions ask 2.2
      deepdive questions export 2 --format gift -o bank.gift
      deepdive questions gain before.csv after.csv --out-of 12
    """


@questions.command()
@CHAPTER
@TEST
@click.option(
    "--format",
    "form",
    type=click.Choice(["gift", "qti"]),
    required=True,
    help="gift for Moodle; qti (a zip with QTI 1.2) for Canvas.",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="Output file.",
)
def export(chapter: str, which: str, form: str, out: Path) -> None:
    """Export the questions to a file for Moodle or Canvas."""
    from deepdive_book.course.questions.gift import gift
    from deepdive_book.course.questions.qti import write_qti

    bank = load(_chapter(chapter, which), which)
    try:
        if form == "gift":
            out.write_text(gift(bank), encoding="utf-8")
        else:
            write_qti(bank, out)
    except OSError as error:
        raise click.ClickException(f"cannot write {out}: {error.strerror}") from error
    click.echo(f"Written: {relative_path(out)} ({len(bank.items)} questions)")


@questions.command()
@click.argument("chapter", metavar="CHAPTER|PAGE")
@TEST
@click.option(
    "--count", type=click.IntRange(1), default=10, help="How many questions (default 10)."
)
@click.option("--seed", type=int, help="Random seed of the selection; random by default.")
def ask(chapter: str, which: str, count: int, seed: int | None) -> None:
    """Take a quiz in the terminal; it ends with what to read.

    The number or name of a chapter selects all its questions, that of a page only the page's.

    \b
    Examples:
      deepdive questions ask 2
      deepdive questions ask 2.2
    """
    items = _items(chapter, which)
    if count > len(items):
        click.echo(f"There are only {len(items)} questions; asking all of them.")
    chosen = random.Random(seed).sample(items, min(count, len(items)))
    missed = [item for number, item in enumerate(chosen, start=1) if not _asked(number, item)]
    click.echo(f"{len(chosen) - len(missed)} of {len(chosen)} correct.")
    for where in dict.fromkeys(item.where for item in missed):
        click.echo(f"Read: {where}.")


@questions.command()
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--out-of",
    type=click.FloatRange(0, min_open=True),
    required=True,
    help="Maximum score of a test.",
)
def gain(before: Path, after: Path, out_of: float) -> None:
    """Compute a class's normalized gain between two tests.

    BEFORE and AFTER are CSV files with the columns student and score.
    """
    from deepdive_book.course.questions import gain as gains

    try:
        found = gains.gain(gains.scores(before, out_of), gains.scores(after, out_of))
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        f"{found.students} students: {found.before:.0%} before, {found.after:.0%} after; "
        f"normalized gain {found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    )
    if found.left_out:
        click.echo(f"excluded because they took only one test: {', '.join(found.left_out)}")


def _asked(number: int, item: Item) -> bool:
    click.echo("\n" + paragraphs(f"{number}. {item.stem}", width()) + "\n")
    for letter, option in zip("abcd", item.options, strict=True):
        click.echo(paragraphs(f"{letter}) {option.text}", width(), "  "))
    choice = click.prompt("", type=click.Choice([*"abcd"]), prompt_suffix="> ", show_choices=False)
    given = item.options["abcd".index(choice)]
    click.echo(paragraphs(f"{'Correct' if given.right else 'Wrong'}: {given.why}", width()))
    return given.right


def _items(query: str, which: str) -> tuple[Item, ...]:
    """The questions of a chapter, or those of one of its pages."""
    root = find_root()
    try:
        return load(_chapter(query, which), which).items
    except PageError:
        pages = [page for page in discover(root) if query.lower() in page.answers_to]
        if not pages:
            raise
    page = find(query, root)
    bank = load(_chapter(page.source.parent.name, which), which)
    items = tuple(item for item in bank.items if item.page == page.source.stem)
    if not items:
        raise PageError(f"{FILES[which]} has no questions about {page.name}: use its chapter")
    return items


def _chapter(query: str, which: str) -> Path:
    """The folder of the chapter with this number or name, which has this file of questions."""
    found = sorted(path.parent for path in find_root().glob(f"chapters/*/{FILES[which]}"))
    for folder in found:
        number, _, name = folder.name.partition("_")
        if query in (folder.name, name, number, number_of(number)):
            return folder
    *others, last = [folder.name for folder in found] or ["no chapter"]
    there = f"{', '.join(others)} and {last}" if others else last
    verb = "have" if len(found) > 1 else "has"
    raise PageError(f"no {FILES[which]} in a chapter {query!r}: {there} {verb} one")

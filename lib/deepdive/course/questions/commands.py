"""`deepdive questions`: export a chapter's questions, ask them here, and compare two tests."""

import random
from pathlib import Path

import click

from deepdive.course.questions import FILES, Bank, Item, load
from deepdive.house.pages import PageError, find_root
from deepdive.house.pages.commands import Group, suggest

CHAPTER = click.argument("chapter")
TEST = click.option(
    "--test", "which", type=click.Choice([*FILES]), default="bank",
    help="The bank (default), or the concept test before or after the chapter.",
)  # fmt: skip


@click.group(cls=Group)
def questions() -> None:
    """Multiple-choice questions of a chapter, for Moodle, Canvas and the terminal.

    \b
    Examples:
      deepdive questions ask 02_transformer --count 5
      deepdive questions export 02_transformer --format gift -o bank.gift
      deepdive questions gain before.csv after.csv --out-of 12
    """


@questions.command()
@CHAPTER
@TEST
@click.option("--format", "form", type=click.Choice(["gift", "qti"]), required=True)
@click.option("-o", "--out", type=click.Path(path_type=Path, dir_okay=False), required=True)
def export(chapter: str, which: str, form: str, out: Path) -> None:
    """Write the questions as GIFT (Moodle) or as a zip of QTI 1.2 (Canvas)."""
    from deepdive.course.questions.gift import gift
    from deepdive.course.questions.qti import write_qti

    bank = _bank(chapter, which)
    try:
        if form == "gift":
            out.write_text(gift(bank), encoding="utf-8")
        else:
            write_qti(bank, out)
    except OSError as error:
        raise click.ClickException(f"cannot write {out}: {error.strerror}") from error
    click.echo(f"{out}: {len(bank.items)} questions")


@questions.command()
@CHAPTER
@TEST
@click.option("--count", type=click.IntRange(1), default=10, help="How many (default 10).")
@click.option("--seed", type=int, help="Which ones; by default others each time.")
def ask(chapter: str, which: str, count: int, seed: int | None) -> None:
    """Ask some questions here; say at the end what to read."""
    items = _bank(chapter, which).items
    chosen = random.Random(seed).sample(items, min(count, len(items)))
    missed = [item for number, item in enumerate(chosen, start=1) if not _asked(number, item)]
    click.echo(f"{len(chosen) - len(missed)} of {len(chosen)} right.")
    for where in dict.fromkeys(item.where for item in missed):
        click.echo(f"Read {where}.")


@questions.command()
@click.argument("before", type=click.Path(path_type=Path, exists=True))
@click.argument("after", type=click.Path(path_type=Path, exists=True))
@click.option("--out-of", type=click.FloatRange(0, min_open=True), required=True)
def gain(before: Path, after: Path, out_of: float) -> None:
    """Say what a class gained between two tests: CSV files with the columns student, score."""
    from deepdive.course.questions import gain as gains

    try:
        found = gains.gain(gains.scores(before, out_of), gains.scores(after, out_of))
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    click.echo(
        f"{found.students} students: {found.before:.0%} before, {found.after:.0%} after; gain "
        f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}] of what could be gained"
    )
    if found.left_out:
        click.echo(f"left out, for they took one test only: {', '.join(found.left_out)}")


def _asked(number: int, item: Item) -> bool:
    click.echo(f"\n{number}. {item.stem}\n")
    for letter, option in zip("abcd", item.options, strict=True):
        click.echo(f"  {letter}) {option.text}")
    choice = click.prompt("", type=click.Choice([*"abcd"]), prompt_suffix="> ", show_choices=False)
    given = item.options["abcd".index(choice)]
    click.echo(f"{'Right' if given.right else 'Wrong'}: {given.why}")
    return given.right


def _bank(chapter: str, which: str) -> Bank:
    """The questions of the chapter with this folder name, or number."""
    found = {path.parent.name for path in find_root().glob(f"chapters/*/{FILES[which]}")}
    names = [name for name in found if chapter in (name, name[:2], name[:2].lstrip("0"))]
    if not names:
        raise PageError(f"no {FILES[which]} in a chapter {chapter!r}{suggest(chapter, found)}")
    return load(find_root() / "chapters" / names[0], which)

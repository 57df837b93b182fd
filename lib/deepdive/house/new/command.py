"""`deepdive new`: the options, and what they mean where they are left out."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import click

from deepdive.house.atlas.headers import Header
from deepdive.house.atlas.pages import headings
from deepdive.house.new import reading
from deepdive.house.new.files import files, steps, write
from deepdive.house.new.plan import MARK, NewError, Plan, built, listed, paper_of
from deepdive.house.pages import find_root
from deepdive.house.pages.commands import suggest

ROOMS = {"mechanism": "attention", "position": "positions", "model": "models"}


@click.command("new")
@click.argument("system")
@click.option("--parent", required=True, help="The built system that it changes.")
@click.option("--override", default="", help="CLASS.METHOD that its class overrides.")
@click.option("--folder", help="Below lib/deepdive; default: the parent's, as models/bert.")
@click.option("--oracle", default=MARK, help="What proves it, or `none: ` and what does instead.")
@click.option("--page", help="`none`, or PAGE#ANCHOR of a page that is there; default: a stub.")
@click.option("--name", help="Of a system that the table does not list.")
@click.option("--kind", help="Model, mechanism, position ...; of a system that is not listed.")
@click.option("--chapter", help="Of a system that the table does not list.")
@click.option("--tier", type=click.Choice(list("ABC")), help="Of one that is not listed.")
@click.option("--dry-run", is_flag=True, help="Print what would be written, and write nothing.")
def new(system: str, parent: str, dry_run: bool, **options: str | None) -> None:
    """Begin SYSTEM as its parent under a new name: file, law case, row, page, and a red proof.

    Where only numbers differ from the parent, leave --override out. Nothing is overwritten.

    \b
    Examples:
      deepdive new xlmr --parent roberta --page none --oracle "transformers XLMRobertaModel"
      deepdive new gated_heads --parent talking_heads --override TalkingHeadsAttention.mix --dry-run
    """
    root = find_root()
    try:
        plan = planned(root, system, parent, **options)
        places = files(plan)
    except NewError as error:
        raise click.UsageError(str(error)) from error
    for place, text in places.items():
        there = (root / place).is_file()
        click.echo(f"{'changed' if there else 'new':8}{place}")
        if dry_run and not there:
            click.echo(text)
    if not dry_run:
        write(root, places)
        click.echo("\nThen:\n" + "\n".join(f"  {step}" for step in steps(plan, places)))


def planned(root: Path, system: str, parent: str, **options: str | None) -> Plan:
    """Return the plan of what was asked for. Raises NewError for what cannot be."""
    there = built(root)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", system) or keyword.iskeyword(system):
        raise NewError(
            f"{system!r} cannot name a file: small letters, digits and _, a letter first"
        )
    if system in there:
        raise NewError(f"{system} is built already: {there[system].module}")
    if parent not in there:
        raise NewError(
            f"no built system {parent!r}{suggest(parent, there)}: `deepdive list systems`"
        )
    above = there[parent]
    if not above.module.startswith("deepdive."):
        raise NewError(f"{parent} stands in a page, {above.module}: choose a parent in the library")
    page, address = place_of_page(root, row := row_of(root, system, **options), options["page"])
    row |= {"parent": "", "page": address, "oracle": options["oracle"] or MARK}
    row |= {"checkpoints": row["checkpoints"] or "none"}
    row |= {cost: row[cost] or listed(root)[parent][cost] for cost in ("time", "memory")}
    folder = options["folder"] or folder_of(above, row["kind"])
    if not (root / "lib" / "deepdive" / folder).is_dir():
        raise NewError(f"no folder lib/deepdive/{folder}: --folder names one that is there")
    override = options["override"] or ""
    if above.part and not override:
        package = root / "lib" / "deepdive"
        override = f"{above.part}.{reading.first_method(package, above.part)}"
    plan = Plan(root, row, above, folder, override, page, paper_of(root, system))
    if not plan.has_builder and not override:
        raise NewError(f"{parent} has no builder: say --override CLASS.METHOD, what is replaced")
    return plan


def row_of(root: Path, system: str, **options: str | None) -> dict[str, str]:
    """Return the system's line of the table, or a new one from the options."""
    table = listed(root)
    if system in table:
        return dict(table[system])
    wanted = ("name", "kind", "chapter", "tier")
    if lacking := [f"--{name}" for name in wanted if not options[name]]:
        raise NewError(
            f"{system} is not in the table{suggest(system, table)}: give {', '.join(lacking)}"
        )
    empty = dict.fromkeys(next(iter(table.values())), "")
    told = {name: options[name] or "" for name in wanted}
    return empty | told | {"id": system, "place": "other"}


def folder_of(parent: Header, kind: str) -> str:
    """Return the parent's folder, where the new system's kind belongs there."""
    folder = "/".join(parent.module.split(".")[1:-1])
    room = ROOMS.get(kind)
    if room and folder.split("/")[0] != room:
        raise NewError(
            f"a {kind} belongs in {room}, its parent lies in {folder}: say --folder {room}/..."
        )
    return folder


def place_of_page(root: Path, row: dict[str, str], page: str | None) -> tuple[str, str]:
    """Return the page to write (or "") and what the row says of it: `PAGE#ANCHOR`, or ""."""
    if page == "none":
        return "", ""
    if page:
        name, _, anchor = page.partition("#")
        source = root / f"{name}.py"
        if not source.is_file() or anchor not in {found for _, found in headings(source)}:
            raise NewError(
                f"no heading {page!r}: give PAGE#ANCHOR as systems.csv has them, or none"
            )
        return "", page
    folders = sorted(root.glob(f"chapters/{int(row['chapter']):02d}_*"))
    if not folders:
        raise NewError(f"chapter {row['chapter']} has no folder in chapters/ yet: say --page none")
    last = max(int(path.name[:2]) for path in folders[0].glob("[0-9][0-9]_*.py"))
    made = f"chapters/{folders[0].name}/{last + 1:02d}_{row['id']}"
    return made, f"{made}#in-code"

"""Create a new system as a copy of its parent: `deepdive new SYSTEM --parent P` runs this.

The parent is imported and inspected; the templates are in `templates/new_system`. Text that a
person must write is marked (`MARK`), and a test finds marks that remain.
"""

from __future__ import annotations

import csv
import importlib.util
import inspect
import io
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from string import Template
from types import FunctionType, ModuleType
from typing import get_type_hints

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "lib")]

from book.papers import label_of, papers, systems_of, title_of  # noqa: E402
from deepdive_book.site.atlas.headers import Header, headers  # noqa: E402
from deepdive_book.site.atlas.pages import headings  # noqa: E402
from deepdive_book.site.atlas.rows import read_csv  # noqa: E402
from deepdive_book.site.pages.commands import suggest  # noqa: E402
from deepdive_book.site.pages.setup_cell import SETUP  # noqa: E402

MARK = "TODO:"
TEMPLATES = Path(__file__).resolve().parent / "templates" / "new_system"
EXAMPLES = "lib/deepdive_book/site/atlas/examples.py"
TABLE = "lib/deepdive_book/site/atlas/systems.csv"
ROOMS = {"mechanism": "attention", "position": "positions", "model": "models"}
Words = dict[str, str]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("system")
@click.option("--parent", required=True, help="The existing system it changes.")
@click.option("--override", default="", help="CLASS.METHOD that its class overrides.")
@click.option(
    "--folder", help="Folder in lib/deepdive, such as models/bert; default: the parent's."
)
@click.option(
    "--oracle", default=MARK, help="Reference implementation, or `none: ` and what replaces it."
)
@click.option("--page", help="`none`, or PAGE#ANCHOR of an existing page; default: a stub.")
@click.option("--name", help="Name of a system that isn't in the table.")
@click.option("--kind", help="Model, mechanism, position, ...; if it isn't in the table.")
@click.option("--chapter", help="Chapter of a system that isn't in the table.")
@click.option("--tier", type=click.Choice(list("ABC")), help="Tier, if it isn't in the table.")
@click.option("--dry-run", is_flag=True, help="Print the files without writing them.")
def new(system: str, parent: str, dry_run: bool, **options: str | None) -> None:
    """Create SYSTEM as a copy of its parent: model, example, table entry, page, and a test case
    whose proof fails until you write it.

    Omit --override if only sizes differ from the parent. Existing files are never overwritten.

    \b
    Examples:
      deepdive new example_bert --parent roberta --page none \\
        --name "Example BERT" --kind model --chapter 3 --tier C \\
        --oracle "transformers RobertaModel"
      deepdive new example_heads --parent talking_heads --page none \\
        --name "Example heads" --kind mechanism --chapter 5 --tier C \\
        --override TalkingHeadsAttention.mix --dry-run
    """
    texts = files(system, parent, **options)
    for name, text in texts.items():
        exists = (ROOT / name).is_file()
        click.echo(f"{'changed' if exists else 'new':8}{name}")
        if dry_run and not exists:
            click.echo(text)
    if not dry_run:
        write(texts)
        click.echo(f"\nReplace each `{MARK}` in these files, then run\n  make fmt atlas readme")
        click.echo("  python tests/digests.py --write\n  make quick")


def files(system: str, parent: str, **options: str | None) -> Words:
    """Return path below the root -> text, of all that is written or changed.

    Raises click.UsageError for what cannot be begun, and says what to give instead.
    """
    header, row = parent_of(system, parent), row_of(system, parent, **options)
    page, row["page"] = place_of_page(row, options["page"])
    words = words_of(row, header, options["override"] or "", options["folder"])
    laws = f"tests/laws/{words['folder']}"
    new = {f"lib/deepdive/{words['folder']}/{system}.py": words["file"]}
    changed = {EXAMPLES: with_example(words), TABLE: with_row(row)}
    case = filled("case", words)
    if not row["oracle"].startswith("none: "):
        case += filled("parity", words)
        case = case.replace(
            "from laws import", "from parity_registry import parity\nfrom laws import"
        )
    if (ROOT / laws / "__init__.py").is_file():  # a file a system
        new[f"{laws}/{system}.py"] = case
    elif (ROOT / f"{laws}.py").is_file():  # one file holds the cases of the folder
        top, _, case = case.partition("\n\n\n")
        imports = top.split("\n\n", 2)[2]  # behind docstring and __future__
        changed[f"{laws}.py"] = f"{with_import(f'{laws}.py', imports)}\n\n{case}"
    else:  # the folder's first case
        new[f"{laws}.py"] = case
    if page:
        new[page] = filled("page", words)
    for path in new:
        if (ROOT / path).exists():
            raise click.UsageError(f"{path} exists already and is not overwritten")
    return new | changed


def parent_of(system: str, parent: str) -> Header:
    """Return the parent's header, where the system can be begun from it."""
    built = headers(ROOT / "lib", ROOT)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", system) or keyword.iskeyword(system):
        small = re.sub(r"[^a-z0-9]+", "_", system.lower()).strip("_0123456789")
        near = f" (did you mean {small}?)" if small and not keyword.iskeyword(small) else ""
        raise click.UsageError(
            f"{system!r} cannot name a file: use lowercase letters, digits, and _, with "
            f"a letter first{near}"
        )
    if system in built:
        raise click.UsageError(f"{system} is built already: {built[system].module}")
    if parent not in built:
        near = suggest(parent, built)
        raise click.UsageError(f"no built system {parent!r}{near}: `deepdive list systems`")
    if not built[parent].module.startswith("deepdive."):
        raise click.UsageError(f"{parent} stands in {built[parent].module}, a page: give another")
    return built[parent]


def row_of(system: str, parent: str, **options: str | None) -> Words:
    """Return the system's line of the table as it will stand, but for its page."""
    table = {row["id"]: row for row in read_csv(ROOT / TABLE)}
    given = {name: options[name] or "" for name in ("name", "kind", "chapter", "tier")}
    lacking = ", ".join(f"--{name}" for name, value in given.items() if not value)
    if system not in table and lacking:
        raise click.UsageError(
            f"{system} is not in the table{suggest(system, table)}: give {lacking}"
        )
    fresh = dict.fromkeys(table[parent], "") | given | {"id": system, "place": "other"}
    row = table.get(system, fresh)
    costs = {cost: row[cost] or table[parent][cost] for cost in ("time", "memory")}
    proof = {"oracle": options["oracle"] or MARK, "checkpoints": row["checkpoints"] or "none"}
    return row | costs | proof | {"parent": ""}  # its header says the parent


def place_of_page(row: Words, page: str | None) -> tuple[str, str]:
    """Return the page to write (or "") and what the row says of it: `PAGE#ANCHOR`, or ""."""
    if page == "none":
        return "", ""
    if page:
        name, _, anchor = page.partition("#")
        source = ROOT / f"{name}.py"
        if not source.is_file() or anchor not in {found for _, found in headings(source)}:
            raise click.UsageError(f"no heading {page!r}: PAGE#ANCHOR as in systems.csv, or none")
        return "", page
    folders = sorted(ROOT.glob(f"chapters/{int(row['chapter']):02d}*_*"))
    if len(folders) > 1:
        raise click.UsageError(f"chapter {row['chapter']} has {len(folders)} parts: give a page "
                               "that is there, as PAGE#ANCHOR, or say --page none")  # fmt: skip
    folder = next(iter(folders), None)
    if folder is None:
        raise click.UsageError(f"chapters/ has no chapter {row['chapter']} yet: say --page none")
    last = max(int(path.name[:2]) for path in folder.glob("[0-9][0-9]_*.py"))
    place = f"chapters/{folder.name}/{last + 1:02d}_{row['id']}"
    return f"{place}.py", f"{place}#in-code"


def folder_of(parent: Header, kind: str, asked: str | None) -> str:
    """Return the folder below lib/deepdive: the one asked for, or the parent's if it fits."""
    folder, room = "/".join(parent.module.split(".")[1:-1]), ROOMS.get(kind)
    if not asked and room and folder.split("/")[0] != room:
        raise click.UsageError(f"a {kind} belongs in {room}, and {parent.system} lies in {folder}: "
                               f"say --folder {room}/...")  # fmt: skip
    if asked and not (ROOT / "lib" / "deepdive" / asked).is_dir():
        raise click.UsageError(f"no folder lib/deepdive/{asked}: --folder names one that is there")
    return asked or folder


def class_of(override: str, source: ModuleType) -> type:
    """Return the class of `CLASS.METHOD`, from the parent's module or any other of the library."""
    name, _, method = override.partition(".")
    importlib.import_module("deepdive_book.site.atlas.examples")  # and with it all that is built
    modules = [vars(module) for key, module in sys.modules.items() if key.startswith("deepdive.")]
    found = (names.get(name) for names in (vars(source), *modules))
    base = next(filter(inspect.isclass, found), None)
    if base is None or not hasattr(base, method or "__init__"):
        raise click.UsageError(f"the library has no method {override}: --override CLASS.METHOD")
    return base


def example_of(system: str) -> str:
    """Return the text of a system's entry in EXAMPLES."""
    entry = rf'^    "{system}": (.*?),\n(?=    ["#]|}})'
    found = re.search(entry, (ROOT / EXAMPLES).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    if not found:
        raise click.UsageError(f"{system} has no example in {EXAMPLES}: give another parent")
    return found[1]


def paper_of(system: str) -> tuple[str, str]:
    """Return (`Liu et al. 2019`, title) of the oldest paper of a system, or marks."""
    known = [entry for entry in papers().entries.values() if system in systems_of(entry)]
    if not known:
        return f"{MARK} authors and year", f"{MARK} title"
    first = min(known, key=lambda entry: entry.fields["year"])
    return re.sub("[()]", "", label_of(first)), title_of(first)


def filled(template: str, words: Mapping[str, str]) -> str:
    return Template((TEMPLATES / f"{template}.txt").read_text("utf-8")).substitute(words)


def words_of(row: Words, parent: Header, override: str, folder: str | None) -> Words:
    """Return what the templates name, and the text of the system's `file`."""
    folder = folder_of(parent, row["kind"], folder)
    cited, title = paper_of(row["id"])
    words = row | {
        "symbol": row["id"],
        "parent": parent.system,
        "folder": folder,
        "module": f"deepdive.{folder.replace('/', '.')}.{row['id']}",
        "parent_example": example_of(parent.system),
        "cited": cited,
        "title": textwrap.fill(f'"""{row["name"]}: {MARK} one sentence. {cited}, "{title}".', 100),
        "book": row["source"].removeprefix("book ") or MARK,
        "oracle_text": repr(row["oracle"]),
        "setup": SETUP,
    }
    source = importlib.import_module(parent.module)
    builder = None if parent.part else vars(source).get(parent.module.rpartition(".")[2])
    builder = builder if inspect.isfunction(builder) else None
    if override or parent.part:
        words |= words_of_class(words, class_of(override or parent.part, source), override)
    elif builder is None:
        raise click.UsageError(f"{parent.system} has no builder: say --override CLASS.METHOD")
    words["header"] = filled("header", words)
    words["class_header"] = "" if builder else "\n" + textwrap.indent(words["header"], "    ")
    words["new_class"] = filled("class", words) if "part" in words else ""
    words |= words_of_builder(words, builder) if builder else {}
    return words | {"file": filled("model" if builder else "part", words)}


def words_of_class(words: Words, base: type, override: str) -> Words:
    """Return the words of a new class: the system's name, and the last word of its base's."""
    last, method = re.findall(r"[A-Z]+[a-z]*", base.__name__)[-1], override.partition(".")[2]
    part = "".join(map(str.capitalize, words["id"].split("_"))).removesuffix(last) + last
    return {
        "part": part,
        "base": base.__name__,
        "base_module": base.__module__,
        "symbol": f"{part}.{method}".rstrip("."),
        # where there is no builder, the class itself is the system
        "case_class": part,
        "case_module": words["module"],
        "example": re.sub(rf"(\b\w+\.)?\b{base.__name__}\b", part, words["parent_example"]),
        "example_import": f"from {words['module']} import {part}\n",
    }


def words_of_builder(words: Words, builder: FunctionType) -> Words:
    """Return the words of a builder that calls the parent's, and of the sizes that the parent's
    example names.
    """
    stem, source, system = builder.__name__, builder.__globals__, words["id"]
    types = get_type_hints(builder)
    returned = types.get("return")
    if not inspect.isclass(returned):
        raise click.UsageError(f"the builder of {words['parent']} names no class that it returns")
    names = {stem, *re.findall(rf"\b{stem}\.(\w+)", words["parent_example"])}
    names = {name for name in names if not inspect.isclass(source[name])}
    example = re.sub(rf"\b{stem}\.(?=({'|'.join(names)})\b)", f"{system}.", words["parent_example"])
    first = next(iter(inspect.signature(builder).parameters.values()), None)
    used, parameters, arguments = [returned], "*sizes: Any", "*sizes"
    if first and first.default is source.get("BASE"):  # a record of the sizes
        names.add("BASE")
        used.append(type(first.default))
        parameters, arguments = f"{first.name}: {types[first.name].__name__} = BASE", first.name
    sizes = [f"{name} = {stem}.{name}  # {MARK} the changes" for name in sorted(names - {stem})]
    imports = [f"from {one.__module__} import {one.__name__}" for one in used]
    if "base" in words:
        imports.append(f"from {words['base_module']} import {words['base']}")
    return {
        "stem": stem,
        "package": builder.__module__.rpartition(".")[0],
        "imports": "\n".join(imports),
        "sizes": "\n".join(sizes),
        "parameters": parameters,
        "arguments": arguments,
        "case_class": returned.__name__,
        "case_module": returned.__module__,
        "example": example.replace(f"{system}.{stem}", f"{system}.{system}"),
        "example_import": f"from {words['module'].rpartition('.')[0]} import {system}\n",
    }


def with_import(path: str, line: str) -> str:
    """Return a module's text with one import more, before the others."""
    first = r"^(?=from (?!__future__)[\w.]+ import |import \w+$)"
    return re.sub(first, f"{line}\n", (ROOT / path).read_text("utf-8"), count=1, flags=re.MULTILINE)


def with_example(words: Words) -> str:
    """Return the text of EXAMPLES with the system's entry after its parent's."""
    if words["example"] == words["parent_example"]:
        parent, base = words["parent"], words["base"]
        raise click.UsageError(f"the example of {parent} does not name {base}: give another parent")
    entry = f'    "{words["parent"]}": {words["parent_example"]},\n'
    new_entry = f'    "{words["id"]}": {words["example"]},\n'
    return with_import(EXAMPLES, words["example_import"]).replace(entry, entry + new_entry)


def with_row(row: Words) -> str:
    """Return the table's text with a system's line; what its header says does not stand in it."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(row.values())
    lines = (ROOT / TABLE).read_text("utf-8").splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.startswith(f"{row['id']},")] or [len(lines)]
    lines[at[0] : at[0] + 1] = [out.getvalue()]
    return "".join(lines)


def write(texts: Words) -> None:
    """Write all files; where that is interrupted, put back what was there before."""
    paths = {ROOT / name: text for name, text in texts.items()}
    before = {path: path.read_bytes() if path.is_file() else None for path in paths}
    try:
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except BaseException:
        for path, content in before.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)
        raise
    if importlib.util.find_spec("ruff"):  # for the order of imports; a page is laid out by hand
        code = [name for name in texts if name.endswith(".py") and not name.startswith("chapters")]
        for command in (["check", "--fix"], ["format"]):
            ruff = [sys.executable, "-m", "ruff", *command, "--quiet", *code]
            subprocess.run(ruff, cwd=ROOT, capture_output=True, check=False)


if __name__ == "__main__":
    new(prog_name="deepdive new")

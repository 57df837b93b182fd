"""The texts of what is written: the parent under a new name, and marks where a person speaks."""

from __future__ import annotations

import ast
import re
import textwrap

from deepdive.house.new import reading
from deepdive.house.new.plan import EXAMPLES, MARK, TABLE, NewError, Plan, example_of
from deepdive.house.new.reading import Import

ANY = ("typing", "Any", "Any")


def header(plan: Plan) -> str:
    """Return the five keys, with a bullet for the difference."""
    what = f"`{plan.part}.{plan.override.partition('.')[2]}`" if plan.part else f"`{plan.system}`"
    book = re.sub(r"^book ", "", plan.row["source"]) or MARK
    return (
        f"System: {plan.system}\nParent: {plan.parent.system}\nWhat differs:\n"
        f"- {MARK} what differs ({what})\n"
        f"Source: {plan.paper[0]}, section {MARK}\nBook: {book}"
    )


def new_class(plan: Plan, with_header: bool) -> tuple[str, list[Import]]:
    """Return the class that overrides one method, which as yet does what its base does."""
    name = plan.override.partition(".")[2]
    found = reading.method(plan.package, plan.base, name)
    home = reading.module_with(plan.package, plan.base)
    if found is None or home is None:
        raise NewError(f"the library has no method {plan.override}: --override CLASS.METHOD")
    module, function = found
    asked, gives = ast.unparse(function.args), function.returns
    arrow = f" -> {ast.unparse(gives)}" if gives else ""
    said = ast.get_docstring(function) or f"{MARK} what it returns, with its shape."
    lines = [
        f"class {plan.part}({plan.base}):",
        f'    """{MARK} one sentence: what it does that `{plan.base}` does not.',
        "",
        f"        {MARK} the equation, in our symbols        # (shape)",
        "",
        *(textwrap.indent(header(plan), "    ").splitlines() if with_header else []),
        '    """',
        "",
        f"    def {name}({asked}){arrow}:",
        textwrap.indent(f'"""{said}\n"""' if "\n" in said else f'"""{said}"""', "    " * 2),
        f"        return super().{name}({reading.passed_on(function, skip=1)})",
    ]
    signature = f"def f({asked}){arrow}: ..."
    needed = [*module.needs(signature), (home.name, plan.base, plan.base)]
    return "\n".join(lines) + "\n", needed


def builder(plan: Plan) -> tuple[str, list[Import]]:
    """Return a builder that calls the parent's, and the sizes that the example names."""
    parent, function = plan.source, plan.source.builder
    assert function is not None
    stem, asked = parent.stem, function.args
    by_record = bool(asked.defaults) and ast.unparse(asked.defaults[0]) == "BASE"
    call, sizes = stem, []
    needed: list[Import] = [ANY, (parent.name, stem, stem)]
    if by_record:  # the parent's module itself: its BASE is no size of this one
        call = f"{stem}.{stem}"
        needed = [ANY, (parent.name.rpartition(".")[0], stem, stem)]
        sizes.append(f"BASE = {stem}.BASE.but()  # {MARK} the numbers that changed\n")
    changes = ast.arg("changes", ast.Name("Any"))  # what only has a name is passed on by it
    arguments = ast.arguments([], asked.args, None, [], [], changes, asked.defaults)
    own = ast.FunctionDef(plan.system, arguments, [], [], function.returns)
    gives = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    text = (
        f"def {plan.system}({ast.unparse(arguments)}){gives}:\n"
        f'    """{MARK} what it builds; defaults are the published base model."""\n'
        f"    return {call}({reading.passed_on(own)})\n"
    )
    after: list[str] = []
    for name in sorted({*plan.sizes} - {stem, "BASE"}):
        node = parent.definition(name)
        if node is None:
            raise NewError(f"the example of {plan.parent.system} names {stem}.{name}: not found")
        code = re.sub(rf"\b{stem}\(", f"{plan.system}(", parent.code(node))
        (sizes if isinstance(node, ast.Assign) else after).append(f"{code}\n")
    told = "\n".join(sizes) + text + "\n".join(after)
    needed += parent.needs(
        told, without={plan.system, stem, "BASE"} if by_record else {plan.system}
    )
    body = "\n\n".join(["".join(sizes)] * bool(sizes) + [text, *after])
    return body, [one for one in needed if one[2] not in {*plan.sizes} - {stem}]


def system_file(plan: Plan) -> str:
    """Return the system's file: docstring, the class, the builder and its sizes."""
    title = f"{plan.row['name']}: {MARK} one sentence. {plan.paper[0]}"
    title += f', "{plan.paper[1]}".' if plan.paper[1] else "."
    pieces, needed = [], []
    of_class = bool(plan.parent.part)
    if plan.part:
        text, names = new_class(plan, of_class)
        pieces.append(text)
        needed += names
    if plan.has_builder:
        text, names = builder(plan)
        pieces.append(text)
        needed += names
    top = textwrap.fill(title, 100, initial_indent='"""')
    told = '"""' if of_class else f'\n\n{header(plan)}\n"""'
    imports = reading.block({("__future__", "annotations", "annotations")})
    return f"{top}{told}\n\n{imports}\n{reading.block(set(needed))}\n\n" + "\n\n".join(pieces)


def part_of_case(plan: Plan) -> Import:
    """Return the class that the case is of: the new one, or what the builder returns."""
    if plan.part and not plan.has_builder:
        return plan.module, plan.part, plan.part
    function = plan.source.builder
    assert function is not None
    gives = ast.unparse(function.returns) if function.returns else ""
    found = next(plan.source.needs(gives), None)
    if found is None:
        raise NewError(f"the builder of {plan.parent.system} does not say what it returns")
    return found


def case_file(plan: Plan, into: str = "") -> str:
    """Return a file with the case, or `into` with it at its end: the parent's case with another
    `make`, and a limit that must be given.
    """
    part = part_of_case(plan)
    imports = reading.block(
        {
            ("dataclasses", "replace", "replace"),
            ("torch", "Tensor", "Tensor"),
            ("deepdive.house.atlas.examples", "EXAMPLES", "EXAMPLES"),
            part,
            *(("laws", name, name) for name in ("CASES", "Case", "case")),
        }
    )
    asks = f"{MARK} where does {plan.system} equal {plan.parent.system}? Return both."
    case = (
        f'\n\n@case("{plan.system}", {part[2]})\ndef _() -> Case:\n'
        f"    def its_parent() -> tuple[Tensor, Tensor]:\n"
        f'        raise AssertionError("{asks}")\n\n'
        f"    return replace(\n"
        f'        CASES["{plan.parent.system}"](),\n'
        f'        make=EXAMPLES["{plan.system}"].make,\n'
        f'        parity="{plan.row["oracle"]}",\n'
        f'        limits={{"{MARK} the setting": its_parent}},\n'
        f"        refusals={{}},  # {MARK} what it cannot honour, and raises\n"
        f"    )\n"
    )
    if not into:
        top = f'"""Cases of `{plan.module}`."""\n\nfrom __future__ import annotations\n'
        return f"{top}\n{imports}{case}"
    body = ast.parse(into).body
    last = max(node.end_lineno or 0 for node in body if isinstance(node, ast.ImportFrom))
    lines = into.splitlines(keepends=True)
    return "".join([*lines[:last], imports, *lines[last:]]) + case


def parity_file(plan: Plan) -> str:
    """Return a proof that fails, and says what to prove."""
    return (
        f'"""{plan.row["name"]} against {plan.row["oracle"]}, in float64."""\n\n'
        "from __future__ import annotations\n\nfrom parity_registry import parity\n\n\n"
        f'@parity("{plan.system}")\ndef {plan.system}_agrees() -> None:\n'
        "    raise AssertionError(\n"
        f'        "{MARK} {plan.system} computes what its oracle does with the same weights, "\n'
        '        "outputs and gradients (`parity_proofs.alike`). Then break a line of it: red?"\n'
        "    )\n"
    )


def page_file(plan: Plan) -> str:
    """Return the stub of a page: its question, the setup cell, a cell that uses the system."""
    from deepdive.house.pages.setup_cell import SETUP

    def asked(count: int) -> str:
        one = f"{MARK} a question.\n#    <details><summary>Answer</summary>{MARK}</details>\n#\n"
        return "".join(f"# {i}. {one}" for i in range(1, count + 1)).removesuffix("#\n")

    book = plan.row["source"].capitalize()
    return (
        f'# %% [markdown] tags=["slide"]\n# # {plan.row["name"]}\n#\n'
        f"# {MARK} which question does this page answer?\n#\n"
        f"# <small>{book} · 1 min to read · a laptop is enough</small>\n\n"
        f'# %% tags=["setup"]\n{SETUP}\n\n'
        f"# %% [markdown]\n# ## In code\n#\n# {MARK} what is seen below.\n\n"
        f'# %%\nfrom deepdive.house.atlas import compare\n\ncompare("{plan.system}")\n\n'
        f"# %% [markdown]\n# ## Five questions\n#\n{asked(5)}\n"
        f"# %% [markdown]\n# ## Exercises\n#\n{asked(3)}"
    )


def with_example(plan: Plan) -> str:
    """Return examples.py with the new system's example after its parent's, and its import."""
    text = (plan.root / EXAMPLES).read_text("utf-8")
    own = (plan.module.rpartition(".")[0], plan.system, plan.system)
    line = reading.block({own if plan.has_builder else (plan.module, plan.part, plan.part)})
    old = example_of(plan.root, plan.parent.system)
    if plan.example == old:
        raise NewError(f"the example of {plan.parent.system} does not name {plan.base}: it cannot "
                       "become one of a new class; give a nearer parent")  # fmt: skip
    entry = f'    "{plan.parent.system}": {old},\n'
    if entry not in text:
        raise NewError(f"{EXAMPLES} does not hold {entry.strip()!r} as a line of its own")
    text = text.replace(entry, f'{entry}    "{plan.system}": {plan.example},\n')
    return text.replace("\nMake = ", f"{line}\nMake = ", 1)


def with_row(plan: Plan) -> str:
    """Return systems.csv with the system's line; what its header says does not stand in it."""
    import csv
    import io

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(plan.row.values())
    lines = (plan.root / TABLE).read_text("utf-8").splitlines(keepends=True)
    at = [i for i, line in enumerate(lines) if line.startswith(f"{plan.system},")] or [len(lines)]
    lines[at[0] : at[0] + 1] = [out.getvalue()]
    return "".join(lines)

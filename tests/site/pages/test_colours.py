"""One colour for a role: pages and pictures take it from the palette, and name no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepdive_book.kit.palette import COLORS, PALETTE, ROLES

NAMES = {"query": "quer(?:y|ies)", **{r: f"{r}s?" for r in ("key", "value", "score", "weight")}}
NAMES["residual"] = "residuals?|residual stream"
COLOR = re.compile(
    r"#[0-9a-f]{3,8}|C\d|tab:\w+|(?:dark|light)?(?:blue|orange|green|pink|purple|red|gr[ae]y|brown)"
    r"|black|amber|gold|teal",
    re.IGNORECASE,
)
TO_BE_RERUN = {"12_bertology"}  # its caption stands on an assertion of its code
SHADE = re.compile(r"\b(?:dark|light)(?:er|est)?\b(?! blue)")
HOME = Path("lib/deepdive_book/kit/palette.py")


def role_of(text: str) -> str:
    """The role that a label names; nothing where it says anything else as well."""
    return next((r for r, name in NAMES.items() if re.fullmatch(name, text.strip().lower())), "")


def allowed(role: str, color: str) -> bool:
    if re.fullmatch(r"C\d", color):  # a series of a plot
        color = PALETTE[int(color[1]) % len(PALETTE)]
    return color.lower() in {part.lower() for part in COLORS[role]}


def literals(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def in_python(source: str) -> Iterator[str]:
    """Calls, tuples and dictionaries that set a role's name beside another colour."""
    for node in ast.walk(ast.parse(source)):
        groups: list[list[ast.expr]] = []
        if isinstance(node, ast.Call):
            groups = [[*node.args, *(keyword.value for keyword in node.keywords)]]
        elif isinstance(node, ast.Tuple | ast.List):
            groups = [node.elts]
        elif isinstance(node, ast.Dict):
            groups = [[k, v] for k, v in zip(node.keys, node.values, strict=True) if k is not None]
        for group in groups:
            said = list(literals(group))
            colors = [text for text in said if COLOR.fullmatch(text)]
            named = [role for text in said if (role := role_of(text))]
            if len(colors) == 1 and len(named) == 1 and not allowed(named[0], colors[0]):
                yield f"line {group[0].lineno}: {named[0]} in {colors[0]}"


def in_style(source: str) -> Iterator[str]:
    """Rules of a style sheet whose selector names a role and which name another colour."""
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", source):
        for role, name in NAMES.items():
            if re.search(rf"(?:^|[.\-_\s])(?:{name})(?![\w])", selector.strip()):
                for color in re.findall(r"(?<![\w&])#[0-9a-f]{3,8}\b", body, re.IGNORECASE):
                    if not allowed(role, color):
                        yield f"{selector.strip()}: {role} in {color}"


def faults(root: Path) -> dict[str, list[str]]:
    """File -> what names another colour for a role, or says a mark that the palette has."""
    found: dict[str, list[str]] = {}
    places = [*root.glob("chapters/*/*.py"), *root.glob("casestudies/*.py")]
    places += [*root.glob("lib/**/*"), *root.glob("book/*.py")]
    places += root.glob("book/_static/*.*")
    marks = re.compile("|".join(ROLES.values()), re.IGNORECASE)
    for path in places:
        if path.suffix not in (".py", ".css", ".js", ".html"):
            continue
        name, text = path.relative_to(root), path.read_text("utf-8")
        wrong = list(in_python(text)) if path.suffix == ".py" else list(in_style(text))
        if name.parts[0] == "lib" and name != HOME and (said := marks.search(text)):
            wrong.append(f"{said[0]} stands in the palette: take it from there")
        if wrong:
            found[name.as_posix()] = wrong
    return found


def test_no_page_or_picture_names_another_colour_for_a_role(root: Path) -> None:
    assert faults(root) == {}


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("chapters/01_a/01_b.py", 'axes.plot(x, label="queries", color="#009E73")', "query in"),
        ("chapters/01_a/01_b.py", 'HUES = {"key": "tab:orange"}', "key in tab:orange"),
        ("lib/deepdive_book/kit/a.py", 'LOOK = ("weight", "gold", 3)', "weight in gold"),
        ("lib/deepdive_book/kit/a.css", ".a-query { color: #123456; }", "query in #123456"),
        ("lib/deepdive_book/kit/a.js", 'line.style.stroke = "#d55e00";', "take it from there"),
        ("book/_static/a.css", ".bar.value i { background: #e69f00; }", "value in #e69f00"),
    ],
)
def test_another_colour_is_named(tmp_path: Path, file: str, text: str, told: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert told in str(faults(tmp_path))


def test_the_role_s_own_colour_and_other_words_are_not(tmp_path: Path) -> None:
    path = tmp_path / "chapters/01_a/01_b.py"
    path.parent.mkdir(parents=True)
    path.write_text('a.plot(label="query", color="#D55E00"); b.plot(label="key words", color="C3")')
    assert faults(tmp_path) == {}


def test_no_caption_calls_a_cell_dark_or_light_for_dark_paper_turns_that_round(root: Path) -> None:
    """What a figure's caption, the line in italics, may not say: "full" and "pale" hold on both."""
    said = {}
    for path in [*root.glob("chapters/*/*.py"), *root.glob("casestudies/*.py")]:
        if path.stem in TO_BE_RERUN:
            continue
        for cell in path.read_text("utf-8").split("\n# %%"):
            text = cell.partition("\n")[2].replace("\n# ", " ")
            caption = re.match(r"(?:# )?(\*[^*](?:.|\n)*?[.!]\*)", text)
            if caption and (
                word := re.search(r"\b(?:dark|light)(?:er|est)?\b(?! blue)", caption[1])
            ):
                said[path.stem] = f"{word[0]}: {caption[1]}"
    assert said == {}

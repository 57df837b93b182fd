"""What the code says of itself: the header lines of models, parts and pages, read without running
them.

A header is a block of `Key: value` lines in the docstring of a module or class:

    System: gnmt
    Parent: attention_seq2seq
    What differs:
    - at most five bullets, each naming the class or argument that makes the difference
    Source: Wu et al. 2016, section 3.
    Book: 2.3.3.

A docstring may hold several. A page whose system has no code in the library holds its header in a
comment of its prose, from `# <!--` to `# -->`. What a docstring cannot say of a system (its page,
its proof, what it costs) stands in systems.csv: `rows`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

KEYS = ("System", "Parent", "What differs", "Source", "Book")
REQUIRED = {"System", "Parent", "Book"}
MOST = 5  # bullets
_KEY = re.compile(rf"({'|'.join(KEYS)}):(?:\s+(.*))?$")
_COMMENT = re.compile(r"^# <!--\n(# System:.*?)^# -->", re.MULTILINE | re.DOTALL)


class HeaderError(ValueError):
    """A header that cannot be read; the message names the file, the system and the line."""


@dataclass(frozen=True)
class Header:
    """One header, and where it stands.

    module     as imported ("deepdive.models.seq2seq.gnmt"), or a page's name
               ("chapters/02_.../15_...")
    part       the class whose docstring holds it, or "" for a module's and a page's
    """

    system: str
    parent: str
    differs: tuple[str, ...]
    source: str
    book: str
    module: str
    part: str = ""


def blocks(text: str) -> Iterator[dict[str, list[str]]]:
    """Yield the headers in a docstring as key -> lines; a bullet or value may go on for lines."""
    block: dict[str, list[str]] = {}
    last = ""
    for line in [*text.splitlines(), ""]:
        found = _KEY.match(line)
        if (not line.strip() or (found and found[1] == "System")) and block:
            yield block
            block = {}
        if found and (block or found[1] == "System"):
            last = found[1]
            if last in block:
                raise HeaderError(f"{last} stands twice in the header of {block['System'][0]}")
            block[last] = [found[2].strip()] if found[2] else []
        elif block and line.startswith("- "):
            block[last].append(line[2:].strip())
        elif block:
            if not block[last]:
                raise HeaderError(f"no key, and no bullet: {line.strip()!r}")
            block[last][-1] += f" {line.strip()}"


def header(block: dict[str, list[str]], module: str) -> Header:
    """Return the header of a block. Raises HeaderError for keys that lack or stand in another
    order, and for too many bullets.
    """
    name = " ".join(block["System"])
    if missing := sorted(REQUIRED - {key for key, lines in block.items() if lines}):
        raise HeaderError(f"{name}: the header lacks {', '.join(missing)}")
    order = [key for key in KEYS if key in block]
    if list(block) != order:
        raise HeaderError(f"{name}: keys stand as {', '.join(block)}; expected {', '.join(order)}")
    differs = tuple(line.rstrip(";.") for line in block.get("What differs", []))
    if len(differs) > MOST:
        raise HeaderError(f"{name}: {len(differs)} bullets, at most {MOST}: which matter most?")
    one = {key: " ".join(block.get(key, [])).strip().rstrip(".") for key in KEYS}
    parent = "" if one["Parent"] == "none" else one["Parent"]
    return Header(name, parent, differs, one["Source"], one["Book"], module)


def _of_module(path: Path, folder: Path) -> Iterator[Header]:
    text = path.read_text("utf-8")
    if not re.search(r"^\s*System: ", text, re.MULTILINE):
        return
    tree = ast.parse(text)
    module = ".".join(path.relative_to(folder).with_suffix("").parts)
    nodes: list[ast.Module | ast.ClassDef] = [tree]
    for node in nodes + [each for each in tree.body if isinstance(each, ast.ClassDef)]:
        part = node.name if isinstance(node, ast.ClassDef) else ""
        for block in blocks(ast.get_docstring(node) or ""):
            yield replace(header(block, module.removesuffix(".__init__")), part=part)


def _of_page(path: Path, root: Path) -> Iterator[Header]:
    name = path.relative_to(root).with_suffix("").as_posix()
    for comment in _COMMENT.findall(path.read_text("utf-8")):
        text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in comment.splitlines())
        for block in blocks(text):
            yield header(block, name)


@cache
def headers(folder: Path, root: Path | None = None) -> dict[str, Header]:
    """Return system -> header, of the packages in a folder and of the pages below `root`.

    Raises HeaderError for a header that cannot be read, and for a system that has two.
    """
    found: dict[str, Header] = {}
    has_pages = root is not None and (root / "chapters").is_dir()
    pages = sorted(root.glob("c*/**/[0-9]*.py")) if root and has_pages else []
    for path in [*sorted(folder.rglob("*.py")), *pages]:
        try:
            of_page = root and path in pages
            here = list(_of_page(path, root) if root and of_page else _of_module(path, folder))
        except HeaderError as error:
            raise HeaderError(f"{path.name}: {error}") from None
        for one in here:
            if one.system in found:
                other = found[one.system].module
                raise HeaderError(f"{path.name}: {one.system} has a header in {other} too")
            found[one.system] = one
    return found

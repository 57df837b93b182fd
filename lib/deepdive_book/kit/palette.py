"""Colours: one for each role, wherever it is drawn or written; and the colours of other series.

A role has a mark, for lines and fields, and two for words, which have a contrast of 4.5 to 1 and
more on light and on dark paper. Outputs are made with the marks, as plain colours that every
viewer knows; the book turns them into properties that follow its theme (`themed`, `css`).
"""

import re
from typing import NamedTuple

# Okabe and Ito's palette: told apart by readers with any common colour blindness.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


class Color(NamedTuple):
    """A role's mark, its words on light paper, and both on dark paper."""

    mark: str
    light: str
    dark: str


COLORS = {
    "query": Color("#D55E00", "#b04a00", "#ff8a3d"),
    "key": Color("#0072B2", "#0069a5", "#5aabf2"),
    "value": Color("#009E73", "#00745a", "#2fbf92"),
    "score": Color("#8a8a8a", "#666666", "#b4b4b4"),
    "weight": Color("#E69F00", "#8a5f00", "#f5c84c"),
    "residual": Color("#56B4E9", "#00708a", "#8fdcf2"),
    "output": Color("#CC79A7", "#a03f7c", "#e58fc4"),
}
ROLES = {role: color.mark for role, color in COLORS.items()}
WORDS = {role: color.light for role, color in COLORS.items()}

_ROLE = {mark.lower(): role for role, mark in ROLES.items()}
_MARK = re.compile(
    rf"(?<!-words,)({'|'.join(ROLES.values())})([0-9a-f]{{2}})?(?![0-9a-f])", re.IGNORECASE
)
_WRITTEN = re.compile(r"""<t(?:ext|span)\b[^>]*>|(?<![-\w])color: *[#v][^;}"']*""")
_SCRIPT = re.compile(r"(<script\b.*?</script>)", re.DOTALL)
# Letters of formulas, plain and bold; the k of "d_k" only names a size.
_LETTERS = {
    "query": "[Qq]|&#x1D4(?:10|2A);",
    "key": "[Kk]|&#x1D4(?:0A|24);",
    "value": "[Vv]|&#x1D4(?:15|2F);",
}


def painted(style: str) -> str:
    """A style sheet in which "@query" is the mark of the query, "@query-dark" the one on dark."""
    named = {f"@{role}": c.mark for role, c in COLORS.items()}
    named |= {f"@{role}-dark": c.dark for role, c in COLORS.items()}
    return re.sub(r"@[a-z]+(?:-dark)?", lambda name: named.get(name[0], name[0]), style)


def css() -> str:
    """The properties of the roles for the book: --dd-query and --dd-query-words, and so on."""
    light = "".join(f"--dd-{r}:{c.mark};--dd-{r}-words:{c.light};" for r, c in COLORS.items())
    dark = "".join(f"--dd-{r}:{c.dark};--dd-{r}-words:{c.dark};" for r, c in COLORS.items())
    words = "".join(f".role-{role}{{color:var(--dd-{role}-words)}}" for role in ROLES)
    return (
        f":root{{{light}}}\n@media screen{{html[data-theme=dark]{{{dark}}}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root:not([data-theme]){{{dark}}}}}\n"
        f"{words}\n"
    )


def themed(html: str) -> str:
    """HTML or SVG whose marks of roles follow the book's theme; scripts stay as they are."""

    def follow(part: str, kind: str) -> str:
        def color(mark: re.Match[str]) -> str:
            full = f"var(--dd-{_ROLE[mark[1].lower()]}{kind},{mark[1]})"
            share = int(mark[2] or "ff", 16) / 2.55  # per cent of opacity
            return full if not mark[2] else f"color-mix(in srgb,{full} {share:.0f}%,transparent)"

        return _MARK.sub(color, part)

    return "".join(
        part if i % 2 else follow(_WRITTEN.sub(lambda t: follow(t[0], "-words"), part), "")
        for i, part in enumerate(_SCRIPT.split(html))
    )


def lettered(mathml: str) -> str:
    """A formula with both queries and keys, in which each letter wears its role's colour."""
    letters = {r: re.compile(rf"(?<!<mi>d</mi>)<mi>({x})</mi>") for r, x in _LETTERS.items()}
    if letters["query"].search(mathml) and letters["key"].search(mathml):
        for role, letter in letters.items():
            mathml = letter.sub(rf'<mi class="role-{role}">\1</mi>', mathml)
    return mathml

"""The little Markdown of the questions as HTML for Moodle and Canvas."""

import re
from html import escape

_CODE = re.compile(r"^```\w*\n(.*?)\n```$", re.DOTALL)
_PIECE = re.compile(r"`([^`]+)`|\$([^$]+)\$|\*([^*]+)\*")


def inline(text: str) -> str:
    r"""One line: `code`, *stress*, and $x$ as \(x\), which both systems typeset."""

    def piece(match: re.Match[str]) -> str:
        code, formula, stress = match.groups()
        if code:
            return f"<code>{code}</code>"
        return rf"\({formula}\)" if formula else f"<em>{stress}</em>"

    return _PIECE.sub(piece, escape(text, quote=False))


def html(text: str) -> str:
    """Paragraphs, tables of Markdown, blocks of code."""
    blocks = re.split(r"\n\s*\n(?=(?:[^`]|`(?!``))*(?:```[^`]*```[^`]*)*$)", text.strip())
    return "".join(_block(block) for block in blocks)


def _block(text: str) -> str:
    if code := _CODE.match(text):
        return f"<pre><code>{escape(code[1], quote=False)}</code></pre>"
    if text.startswith("|"):
        head, rule, *rows = [line.strip("| ").split("|") for line in text.splitlines()]
        assert all(set(cell.strip()) <= {"-", ":"} for cell in rule), text
        return f"<table>{_row(head, 'th')}{''.join(_row(row, 'td') for row in rows)}</table>"
    return f"<p>{inline(' '.join(text.split()))}</p>"


def _row(cells: list[str], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{inline(cell.strip())}</{tag}>' for cell in cells)}</tr>"

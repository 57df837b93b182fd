"""What a command shows: tables and texts that fit the terminal, formulas in plain letters."""

import re
import shutil
import sys
import textwrap
from collections.abc import Sequence

Row = tuple[str, ...]

GAP = 2  # spaces between two columns
NARROWEST = 12  # a column of text is not wrapped into fewer letters than these
WHOLE = 10**9  # letters in a line that has no end

SIGNS = {
    "cdot": "·", "times": "×", "sqrt": "√", "le": "≤", "ge": "≥", "to": "→", "approx": "≈",
    "alpha": "α", "beta": "β", "lambda": "λ", "pi": "π", "sigma": "σ", "sum": "Σ",
}  # fmt: skip
RAISED = str.maketrans("0123456789+-n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ")


def width() -> int:
    """Letters in a line of the terminal. A file or a pipe has no end of the line."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WHOLE


def table(rows: Sequence[Row], letters: int) -> str:
    """The rows, the first of them a header, in columns. Where they do not fit `letters`, the
    widest columns of text are wrapped, never a name; in a pipe each row stays one line, for grep.
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    texts = [i for i, column in enumerate(columns) if any(" " in cell for cell in column)]
    while sum(widths) + GAP * len(widths) > letters and any(widths[i] > NARROWEST for i in texts):
        widths[max(texts, key=widths.__getitem__)] -= 1
    from tabulate import tabulate  # a quarter of a second, for those who show a table

    text = tabulate(rows, (), "plain", disable_numparse=True, maxcolwidths=widths)
    return "\n".join(line.rstrip() for line in text.splitlines())


def paragraphs(text: str, letters: int, indent: str = "") -> str:
    """Text of Markdown as a terminal shows it: prose is wrapped, code and tables are not."""
    shown = []
    for block in re.split(r"\n\n+|(?=^```\w+\n)", text.strip(), flags=re.M):
        if block.startswith(("```", "|")):
            given = block if block.startswith("```") else plain_text(block)
            lines = [line for line in given.splitlines() if not line.startswith("```")]
            shown.append("\n".join(f"{indent}  {line}" for line in lines))
        elif block:
            shown.append(
                textwrap.fill(
                    plain_text(block),
                    min(letters, 80),
                    initial_indent=indent,
                    subsequent_indent=indent,
                )
            )
    return "\n\n".join(shown)


def plain_text(text: str) -> str:
    """Prose without marks of Markdown, its formulas in plain letters; code stays as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [_prose(part) for part in parts[::2]]
    return "".join(parts)


def _prose(text: str) -> str:
    text = re.sub(r"(\*{1,2})(?=\S)([^*]+?)\1", r"\2", text)
    return re.sub(r"\$([^$]+)\$", lambda found: _formula(found[1]), text)


def _formula(tex: str) -> str:
    """`0.9^{40} \\cdot \\sqrt d` as `0.9⁴⁰ · √d`."""
    tex = re.sub(r"\\([a-zA-Z]+)", lambda found: SIGNS.get(found[1], found[1]), tex)
    tex = tex.replace("√ ", "√")
    tex = re.sub(r"\^(?:\{([^{}]*)\}|(\w))", lambda found: _raised(found[1] or found[2]), tex)
    return re.sub(r"[{}]", "", tex)


def _raised(power: str) -> str:
    raised = power.translate(RAISED)
    return f"^{power}" if re.search(r"[\w.]", re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹ⁿ]", "", raised)) else raised

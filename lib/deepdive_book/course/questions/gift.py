"""Questions in GIFT, Moodle's text format (Moodle: Question bank, Import, GIFT format)."""

from deepdive_book.course.questions import Bank, Item
from deepdive_book.course.questions.html import html, inline


def gift(bank: Bank) -> str:
    """Return the questions as one text, in a category of their own."""
    head = f"$CATEGORY: $course$/{bank.title}\n"  # Moodle takes no escapes here
    return "\n".join([head, *(_question(item) for item in bank.items)])


def escaped(text: str) -> str:
    r"""Put a backslash before what GIFT reads as its own; a new line becomes `\n`."""
    for mark in "\\~=#{}:":  # the backslash first: it must not be doubled again
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", "\\n")


def _question(item: Item) -> str:
    lines = [f"::{escaped(item.id)}::[html]{escaped(html(item.stem))}{{"]
    for option in item.options:
        # [html] again: else an answer that begins with a bracket would name its format
        text, why = escaped(inline(option.text)), escaped(inline(option.why))
        lines.append(f"\t{'=' if option.right else '~'}[html]{text}#[html]{why}")
    return "\n".join([*lines, f"\t####[html]{escaped(inline(f'Read {item.where}'))}", "}\n"])

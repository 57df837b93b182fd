"""HIBERT and Hi-Transformer as a drawing, and the pairs of words that attend to each other with
full attention, a sliding window, and a hierarchy, to choose from.

    hierarchical_encoders()   # the drawing, SVG
    attended_pairs()          # the interactive figure
"""

from deepdive_book.kit.diagrams import arrow, labeled_box, svg, text
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.panels import panels

WIDE, TOKENS, SENTENCES = 26.0, 4, 3
WORDS, WINDOW, FULL, LOCAL, HIERARCHY = 12, 1, "full attention", "sliding window", "hierarchical"


def _cells(left: float, y: float, roles: list[str]) -> list[str]:
    """Return the tokens of one sentence, the last of them its end token."""
    return [
        f'<rect x="{left + WIDE * t:g}" y="{y:g}" width="{WIDE - 4:g}" height="22" rx="3" '
        f'fill="{ROLES[role]}" fill-opacity="{0.75 if t == TOKENS - 1 else 0.2}" '
        f'stroke="{ROLES[role]}"/>'
        for t, role in enumerate(roles)
    ]


def _half(left: float, title: str, feedback: bool) -> list[str]:
    """Return one encoder, drawn from the words at the bottom to the document at the top."""
    bottom, step = 484.0, 130.0
    body = [text(left + 195, 18, title, 16, bold=True)]
    centers = [left + step * s + 65 for s in range(SENTENCES)]
    for s, x in enumerate(centers):
        start, end = x - 2 * WIDE + 2, x + 1.5 * WIDE - 2 + 2
        body += _cells(start, bottom - 22, ["query"] * TOKENS)
        body.append(text(x, bottom + 16, f"sentence {s + 1}", 13))
        body.append(arrow(x, bottom - 24, x, bottom - 44))
        body.append(labeled_box(x - 60, bottom - 78, 120, 32, "sentence encoder", "query", 12))
        body.append(arrow(end, bottom - 80, end, bottom - 106, "key", 2.5))
        body.append(arrow(end, bottom - 148, end, bottom - 170, "output", 2.5))
        if feedback:
            top = bottom - 250
            body.append(arrow(end, bottom - 192, end, top + 28, "output", 2.5))
            body += _cells(start, top, ["query"] * (TOKENS - 1) + ["output"])
            body.append(
                f'<path d="M{start + 8:g} {bottom - 80:g} V{top + 26:g}" stroke="{ROLES["query"]}" '
                'fill="none" stroke-dasharray="4 3" stroke-width="1.5"/>'
            )
            body.append(arrow(x, top - 2, x, top - 22))
            body.append(labeled_box(x - 60, top - 56, 120, 32, "sentence encoder", "value", 12))
            body.append(arrow(x, top - 58, x, top - 76))
            body.append(text(x, top - 86, "pool words", 13))
            body.append(arrow(x, top - 96, left + 195 + (x - left - 195) / 4, top - 118))
        body.append(f'<circle cx="{end:g}" cy="{bottom - 181:g}" r="10" fill="{ROLES["output"]}"/>')
    body.append(
        labeled_box(left + 20, bottom - 146, 360, 38, "document encoder, sentence positions",
                    "key", 14)
    )  # fmt: skip
    if feedback:
        body.append(text(left + 195, bottom - 380, "pool sentences: one vector", 14))
    else:
        body.append(text(left + 195, bottom - 216, "one state per sentence, in context", 14))
    return body


def hierarchical_encoders() -> str:
    """Return the drawing as SVG: three sentences of three words and an end token."""
    return svg(830, 516, [*_half(10, "HIBERT", False), *_half(425, "Hi-Transformer", True)])


def pairs(way: str, sentences: int) -> set[tuple[int, int]]:
    """Return the pairs (query, key) of 12 words that one layer of words scores."""
    size = WORDS // sentences
    every = [(i, j) for i in range(WORDS) for j in range(WORDS)]
    if way == LOCAL:
        return {(i, j) for i, j in every if abs(i - j) <= WINDOW}
    return {(i, j) for i, j in every if way == FULL or i // size == j // size}


def alt_text(way: str, sentences: int) -> str:
    """Return what a state of the figure shows, in words."""
    found = len(pairs(way, sentences))
    if way != HIERARCHY:
        return f"{way}: {found} scores of words, whatever the sentences are."
    return (
        f"{way}, sentences: {sentences}, words in each: {WORDS // sentences}. {found} scores of "
        f"words and {sentences} x {sentences} = {sentences**2} of sentences, "
        f"{found + sentences**2} in all."
    )


def attended_pairs() -> Html:
    """Return the interactive figure: a choice of attention and of the number of sentences."""
    return panels(
        "Scores that one layer of 12 words computes",
        {"attention": [HIERARCHY, LOCAL, FULL], "sentences": ["3", "1", "2", "4", "6", "12"]},
        lambda way, sentences: (_matrix(way, int(sentences)), alt_text(way, int(sentences))),
        wide=42, lines=2,
        try_this="(1) choose hierarchical with 1 sentence, and compare it with full attention. (2) "
                 "Choose 12 sentences of one word: the scores of words are few, and those of "
                 "sentences many. (3) Find the number of sentences with the fewest scores in all.",
    )  # fmt: skip


def _matrix(way: str, sentences: int) -> str:
    """Return one state: the matrix of words, and that of sentences next to it."""
    body, found = [], pairs(way, sentences)
    for i in range(WORDS):
        for j in range(WORDS):
            body.append(
                f'<rect x="{14 + 22 * j}" y="{34 + 22 * i}" width="22" height="22" '
                f'stroke="currentColor" stroke-opacity=".25" fill="{ROLES["query"]}" '
                f'fill-opacity="{0.8 if (i, j) in found else 0.04}"/>'
            )
    body.append(text(146, 16, "words", 17))
    if way == HIERARCHY:
        body.append(text(316 + 11 * sentences, 16, "sentences" if sentences > 3 else "sent.", 17))
        for i in range(sentences):
            for j in range(sentences):
                body.append(
                    f'<rect x="{316 + 22 * j}" y="{34 + 22 * i}" width="22" height="22" '
                    f'stroke="currentColor" stroke-opacity=".25" fill="{ROLES["key"]}" '
                    'fill-opacity=".8"/>'
                )
    return svg(596, 308, body)

"""No page tells the answer of a prediction before the reader commits.

What a reader sees before that is all that stands above the prediction, and what follows it in its
section without being hidden: prose, captions, alternative texts, code that is not folded, and
outputs. A passage tells the answer if it has at least half of the words and numbers that set the
right option apart from the question and from the wrong options, a quarter of the words of the
question (two at least), and none that sets a wrong option apart. Where the question has all words
of the right option already, the passage must have them all, and half of the question.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nbformat
import pytest
from checkout import ROOT

from deepdive_book.site.pages import Page, discover

# Words that tell nothing, beside those of one or two letters.
IDLE = re.compile(
    r"the|and|but|for|not|its|than|that|this|these|those|with|without|from|into|onto|over|under|are|"
    r"was|were|has|have|had|does|did|will|would|can|could|may|what|which|who|whose|how|when|where|"
    r"then|there|here|they|them|their|one|two|all|any|each|every|same|other|another|more|most|less|"
    r"very|only|about|nearly|almost|little|well|also|too|between|upon|out|off|you|your|our|own|half"
)


@dataclass(frozen=True)
class Prediction:
    """A question of a page, its options, and the cell where it stands."""

    at: int
    question: str
    right: str
    wrong: tuple[str, ...]
    key: str


def predictions(cells: list[Any]) -> Iterator[Prediction]:
    """The predictions of a page, as its code asks them."""
    for at, cell in enumerate(cells):
        if cell.cell_type != "code" or "kit.predictions" not in "".join(
            c.source for c in cells[: at + 1] if c.cell_type == "code"
        ):
            continue
        last = ast.parse(cell.source).body[-1:]
        call = last[0].value if last and isinstance(last[0], ast.Expr) else None
        if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "predict":
            continue
        question, options = (ast.literal_eval(arg) for arg in call.args[:2])
        named = {word.arg: ast.literal_eval(word.value) for word in call.keywords}
        right = options.pop(named["answer"])
        yield Prediction(at, question, right, tuple(options), named["key"])


def tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def heading(cell: Any) -> bool:
    """Whether a cell begins a part of the page; the heading of an answer does not."""
    found = re.search(r"^#{1,6} ", cell.source, re.MULTILINE)
    return cell.cell_type == "markdown" and bool(found) and "answer" not in tags(cell)


def seen_before(cells: list[Any], prediction: Prediction) -> Iterator[tuple[int, str]]:
    """Each cell's number, and a passage in it, that a reader sees before committing."""
    below, hidden = False, False
    for at, cell in enumerate(cells):
        if at == prediction.at:
            below = True
            continue
        if below:
            if "answer" in tags(cell):
                hidden = True
            if heading(cell):
                before = re.split(r"^#{1,6} ", cell.source, flags=re.MULTILINE)[0]
                if not hidden:
                    yield from ((at, text) for text in prose(before))
                return
            if hidden:
                continue
        yield from ((at, text) for text in passages(cell))


def passages(cell: Any) -> Iterator[str]:
    """What a cell shows: sentences, lines of code, and lines of outputs."""
    if cell.cell_type == "markdown":
        yield from prose(cell.source)
        return
    if "setup" in tags(cell):
        return
    if "fold" not in tags(cell):
        yield from cell.source.split("\n")
    for out in cell.outputs:
        data = out.get("data", {})
        shown = data.get("text/html", "")
        if 'class="predict"' in shown:
            continue
        for kind in data:
            yield from sentences(out.metadata.get(kind, {}).get("alt", ""))
        yield from (
            lines(shown)
            if shown
            else str(out.get("text") or data.get("text/plain", "")).split("\n")
        )


def lines(shown: str) -> list[str]:
    """The rows of an output in HTML, without its scripts."""
    shown = re.sub(r"<(script|style|svg)\b.*?</\1>", "", shown, flags=re.DOTALL)
    rows = re.split(r"</(?:tr|p|li|div|figcaption|caption|summary)>", shown)
    return [html.unescape(re.sub(r"<[^>]+>", " ", row)) for row in rows]


def prose(text: str) -> Iterator[str]:
    """The sentences of a text, and the rows of its tables, without what is folded in it."""
    text = re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n", text):
        yield from block.split("\n") if block.lstrip().startswith("|") else sentences(block)


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?:])[*_]*\s+(?=\S)", " ".join(text.split()))


def stem(word: str) -> str:
    """A word without its ending: reverse and reversing are one."""
    for ending in ("ingly", "edly", "ing", "ies", "ied", "est", "es", "ed", "ly", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word.removesuffix(ending)
    return word.removesuffix("e")


def words(text: str) -> set[str]:
    """The numbers of a text, and the stems of the words that tell something."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", re.sub(r"[`*_$]", "", text))
    found = re.findall(r"[a-z]+|\d+(?:\.\d+)?", text.lower())
    return {stem(w) for w in found if w[0].isdigit() or (len(w) > 2 and not IDLE.fullmatch(w))}


def tells(passage: str, asked: Prediction) -> bool:
    """Whether a passage gives the answer away."""
    seen, question, right = words(passage), words(asked.question), words(asked.right)
    wrong = [words(option) for option in asked.wrong]
    if any((option - right - question) & seen for option in wrong):
        return False
    apart = right.difference(*wrong)
    new, speaks = apart - question, len(question & seen)
    if new:
        enough = max(2, len(question) / 4)
        return len(new & seen) >= len(new) / 2 and speaks >= enough
    return bool(apart) and apart <= seen and speaks >= len(question) / 2


PAGES = [page for page in discover(ROOT) if page.notebook.is_file()]


def cells_of(page: Page) -> list[Any]:
    return list(nbformat.read(page.notebook, as_version=4).cells)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nothing_tells_the_answer_before_the_reader_commits(page: Page) -> None:
    cells = cells_of(page)
    told = [
        f"{asked.key}: cell {at} tells that it is {asked.right!r}: {text.strip()!r}"
        for asked in predictions(cells)
        for at, text in seen_before(cells, asked)
        if tells(text, asked)
    ]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_follows_a_prediction_is_hidden_up_to_the_next_heading(page: Page) -> None:
    cells = cells_of(page)
    asked = {prediction.at for prediction in predictions(cells)}
    shown, hidden = [], False
    for at, cell in enumerate(cells):
        answer = "answer" in tags(cell)
        if answer and at - 1 not in asked:
            shown.append(f"cell {at} hides an answer, but stands below no prediction")
        if at in asked and "fold" not in tags(cell):
            shown.append(f"cell {at}: the code of a prediction says the answer; tag it `fold`")
        if at - 1 in asked and not (answer or heading(cell) or at in asked):
            shown.append(f"cell {at} follows a prediction; above it belongs a cell tagged `answer`")
        if hidden and heading(cell) and not re.match(r"#{1,6} ", cell.source):
            shown.append(f"cell {at}: a new part begins within it; split it above the heading")
        hidden = answer or (hidden and not heading(cell))
        if "surprise" in tags(cell) and not hidden:
            shown.append(f"cell {at} is a surprise that is not hidden")
    assert not shown, "\n".join(shown)


def test_colab_closes_each_answer_and_each_named_fold() -> None:
    for page in PAGES:
        notebook: Any = nbformat.read(page.notebook, as_version=4)
        ids = [cell.id for cell in notebook.cells if {"answer", "aside"} & set(tags(cell))]
        assert notebook.metadata.get("colab", {}).get("collapsed_sections", []) == ids, page.name


@pytest.mark.parametrize(
    ("passage", "told"),
    [
        ("A net without positions fails at the task of reversing.", True),
        ("assert fails(positions=None, task='reverse')", True),
        ("One task is to reverse a word.", False),
        ("Without positions one task of the two fails: sorting, or reversing?", False),
    ],
)
def test_a_passage_tells_by_its_words(passage: str, told: bool) -> None:
    question = "The model gets no positions. Which task will it fail at?"
    asked = Prediction(0, question, "reversing only", ("both", "sorting only"), "1/blind")
    assert tells(passage, asked) is told

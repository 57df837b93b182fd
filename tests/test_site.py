"""The static site: built without torch and a network, and what it refuses to publish."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browser import after_scripts
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from deepdive.predictions import advise, predict, score

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
FIRST = "# 1.1 Softmax\n\n**How do scores become shares?**\n\nBook 1.1, 5 min"


def figure(alt: str) -> Any:
    metadata = {"image/png": {"alt": alt}} if alt else {}
    return new_output("display_data", data={"image/png": PNG}, metadata=metadata)


def good_cells() -> list[Any]:
    setup = new_code_cell("import deepdive", metadata={"tags": ["setup"]})
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which")
    guess = new_output("execute_result", data={"text/html": question.html, "text/plain": "?"})
    surprise = new_code_cell("6 * 7", outputs=[new_output("stream", text="42 < 43")])
    surprise.metadata["tags"] = ["surprise"]
    return [
        new_markdown_cell(FIRST),
        setup,
        new_markdown_cell(
            "## The rule $w_i$\n\n$$\\frac{a}{\\sqrt{d_k}}$$\n\n### Twice\n\n### Twice"
        ),
        new_code_cell("predict()", outputs=[guess]),
        surprise,
        new_code_cell("plot()", outputs=[figure("a line")]),
        new_markdown_cell(
            "See [the next](02_next.ipynb#twice), [its source](02_next.py), [the code]"
            "(../../lib/part.py) and [elsewhere](https://example.org).\n\n"
            "<details><summary>Why</summary>\n\nBecause *so*.\n\n</details>"
        ),
    ]


def checkout(folder: Path, *first: Any) -> Path:
    """A checkout with two notebooks; `first` are the cells of the first."""
    chapter = folder / "chapters" / "01_demo"
    chapter.mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "lib" / "part.py").write_text("x = 1\n")
    (folder / "book").mkdir()
    (folder / "book" / "index.md").write_text("# The book\n\n<!-- pages -->\n")
    (folder / "ERRATA.md").write_text("# Errata\n\n[Back](book/index.md)\n")
    second = [new_markdown_cell(FIRST.replace("1.1", "1.2") + "\n\n## Twice")]
    for name, cells in (("01_softmax", first or good_cells()), ("02_next", second)):
        notebook = new_notebook(cells=list(cells))
        notebook.metadata["deepdive"] = {
            "profile": "laptop",
            "under_seconds": 15,
            "under_mb": 500,
        }
        nbformat.write(notebook, chapter / f"{name}.ipynb")
        text = cells[0].source.replace("\n", "\n# ")
        (chapter / f"{name}.py").write_text(f"# %% [markdown]\n# {text}\n")
    return folder


def build(root: Path, where: Path) -> subprocess.CompletedProcess[str]:
    """Build the site in a process in which importing torch, numpy or this library fails."""
    script = Path(__file__).resolve().parent.parent / "book" / "site.py"
    code = (
        "import runpy, sys\n"
        "for name in ('torch', 'numpy', 'matplotlib', 'deepdive'): sys.modules[name] = None\n"
        f"sys.argv = ['site.py', '--root', {str(root)!r}, '--out', {str(where)!r}]\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(checkout(folder / "checkout"), folder / "out")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 pages")
    return folder / "out"


@pytest.fixture(scope="module")
def page(site: Path) -> str:
    return (site / "chapters/01_demo/01_softmax.html").read_text()


def test_the_index_lists_the_pages_with_question_and_minutes(site: Path) -> None:
    text = re.sub(r"\s+", " ", (site / "index.html").read_text())
    assert "1 Demo</h2>" in text
    assert '<a href="chapters/01_demo/01_softmax.html">1.1 Softmax</a>' in text
    assert "How do scores become shares? <em>5 min</em>" in text
    assert '<a href="errata.html">Errata</a>' in text


def test_a_page_leads_to_its_neighbours_its_headings_and_its_notebook(
    site: Path, page: str
) -> None:
    assert 'rel="next" href="../../chapters/01_demo/02_next.html"' in page
    assert 'rel="prev"' not in page
    for anchor in ("the-rule-wi", "twice", "twice-2"):
        assert f'id="{anchor}"' in page
        assert f'href="#{anchor}"' in page
    assert 'href="01_softmax.ipynb" download' in page
    assert (site / "chapters/01_demo/01_softmax.ipynb").is_file()
    assert "under 15 s and\n500 MB" in page


def test_links_to_sources_and_files_of_the_checkout_are_kept(site: Path, page: str) -> None:
    assert page.count('href="../../chapters/01_demo/02_next.html"') == 2
    assert '<a href="../../lib/part.py">' in page
    assert (site / "lib" / "part.py").read_text() == "x = 1\n"


def test_formulas_are_mathml_and_nothing_is_loaded_from_elsewhere(page: str) -> None:
    assert page.count("<math") >= 3, "the heading, its entry in the contents, the equation"
    assert "<mfrac>" in page
    assert "$" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    loads = re.findall(r"<(?:link|script|img|iframe)[^>]*?(?:src|href)=\"([^\"]*)\"", page)
    assert [url.split(":")[0] for url in loads] == ["../../style.css", "data"]


def test_outputs_are_escaped_setup_folded_surprises_closed(page: str) -> None:
    assert "42 &lt; 43" in page
    assert '<details class="setup">' in page
    assert re.search(
        r'<details class="surprise"><summary>.*?</summary>\s*<div class="output">', page
    )
    assert '<details class="surprise" open' not in page
    assert f'<img src="data:image/png;base64,{PNG}" alt="a line">' in page


def link(text: str) -> Any:
    return new_markdown_cell(text)


def html_output(text: str) -> Any:
    return new_code_cell("x", outputs=[new_output("display_data", data={"text/html": text})])


def test_a_link_in_an_output_leads_to_the_page(tmp_path: Path) -> None:
    output = html_output('<a href="02_next.ipynb#twice">x</a> <a href="https://a.example/b">y</a>')
    root = checkout(tmp_path / "checkout", new_markdown_cell(FIRST), output)
    done = build(root, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out/chapters/01_demo/01_softmax.html").read_text()
    assert '<a href="../../chapters/01_demo/02_next.html#twice">x</a>' in page
    assert '<a href="https://a.example/b">y</a>' in page


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (new_code_cell("plot()", outputs=[figure("")]), "image without alternative text"),
        (link('<img src="../../lib/part.py">'), "image without alternative text"),
        (link("$\\softmaks(x)$"), r"formula \softmaks(x): \softmaks was not understood"),
        (link("$$\\frac{1}{$$"), r"formula \frac{1}{:"),
        (link("[there](03_gone.ipynb)"), "the link 03_gone.ipynb leads nowhere"),
        (link("[there](02_next.ipynb#gone)"), "#gone names no heading"),
        (link("[here](#gone)"), "#gone names no heading"),
        (link("![x](https://example.org/x.png)"), "loads https://example.org/x.png"),
        (html_output('<script src="//cdn.example.org/x.js"></script>'), "loads //cdn.example.org"),
        (html_output('<p style="background:url(http://a.example/b)">'), "loads http://a.example/b"),
        (html_output("<style>@import 'https://a.example/b.css'</style>"), "loads https://a.exam"),
    ],
)
def test_what_would_fail_a_reader_stops_the_build(tmp_path: Path, cell: Any, words: str) -> None:
    done = build(checkout(tmp_path / "checkout", new_markdown_cell(FIRST), cell), tmp_path / "out")
    assert done.returncode == 1
    assert words in done.stderr
    assert "chapters/01_demo/01_softmax.html: " in done.stderr


def test_the_committed_pages_make_a_site(root: Path, tmp_path: Path) -> None:
    done = build(root, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "index.html").is_file()


# --- predictions in a browser -----------------------------------------------------------------

Browse = Callable[[str], str]


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """The text of a page after its scripts have run."""
    return partial(after_scripts, tmp_path)


CHOOSE = """<script>
const option = document.querySelectorAll("input")[%d];
option.checked = true;
option.dispatchEvent(new Event("change"));
document.querySelector("button").click();
</script>"""


def test_the_answer_opens_when_the_reader_commits_and_is_remembered(browse: Browse) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    later = '<details class="surprise"><summary>x</summary></details>'
    marks = score("1/").html
    assert "Predict first:" in question
    assert "Question 3:" in predict("Which?", ["a", "b"], 1, "So.", label="Question 3").html
    before = browse(question + later + marks)
    assert "<details hidden=" in before
    assert "You have predicted 0 of 0 right." in before
    after = browse(question + later + marks + CHOOSE % 1)
    assert "You predicted it." in after
    assert '<details open="">' in after
    assert '<details class="surprise" open="">' in after
    assert "You have predicted 1 of 1 right." in after
    again = browse(question + later + marks)
    assert "You predicted it." in again
    assert "You have predicted 1 of 1 right." in again


def test_a_wrong_prediction_is_told_and_counted(browse: Browse) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    after = browse(question + score().html + CHOOSE % 0)
    assert "Not this time." in after
    assert "You have predicted 0 of 1 right." in after


def test_advice_follows_the_answers(browse: Browse) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    topics = [
        ("1/which", "choices", "page one", "one.ipynb"),
        ("1/else", "more", "two", "two.ipynb"),
    ]
    advice = advise(topics).html
    before = browse(question + advice)
    assert before.count("not answered yet</td>") == 2
    right = browse(question + advice + CHOOSE % 1)
    assert right.count("skip it</td>") == 1
    assert "1 of 2 right, 0 to read, 1 not answered yet." in right
    with pytest.raises(ValueError, match="topics is empty"):
        advise([])


def test_a_wrong_answer_is_advised_to_read(browse: Browse) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    after = browse(question + advise([("1/which", "x", "one", "one.ipynb")]).html + CHOOSE % 0)
    assert "read it</td>" in after
    assert "0 of 1 right, 1 to read, 0 not answered yet." in after

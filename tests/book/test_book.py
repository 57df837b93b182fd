"""The book: built without torch and a network, what it shows, and what it refuses to publish."""

from __future__ import annotations

import importlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import lxml.html
import nbformat
import pytest
from book_build import build
from browser import Reader
from bs4 import BeautifulSoup
from checkout import ROOT
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book.build import moved
from book.pdf import chapters, joined, print_pdf
from deepdive_book.kit.predictions import advise, predict, score
from deepdive_book.site.pages import discover

sys.path.append(str(ROOT / "book"))  # as book/build.py does
from links import senses

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
FIRST = "# 1.1 Softmax\n\n**How do scores become shares?**\n\nBook 1.1, 5 min"
GLOSSARY = """# Glossary

```{glossary}
key
  In attention, the vector by which a position is found.

softmax
  Exponentials divided by their sum.

top-k
  Sampling from few tokens.

value
  In attention, the vector that a position hands over when its key fits.
```
"""


def figure(alt: str) -> Any:
    metadata = {"image/png": {"alt": alt}} if alt else {}
    return new_output("display_data", data={"image/png": PNG}, metadata=metadata)


def html_output(text: str) -> Any:
    return new_code_cell("x", outputs=[new_output("display_data", data={"text/html": text})])


def good_cells() -> list[Any]:
    setup = new_code_cell("import deepdive", metadata={"tags": ["setup"]})
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which")
    guess = new_output("execute_result", data={"text/html": question.html, "text/plain": "?"})
    surprise = new_code_cell("6 * 7", outputs=[new_output("stream", name="stdout", text="42 < 43")])
    surprise.metadata["tags"] = ["surprise"]
    plot = new_code_cell("plot()", outputs=[figure("a line")], metadata={"tags": ["fold"]})
    clocks = new_code_cell(
        "# @title Draw the clocks\nx", metadata={"tags": ["fold"], "title": "Draw the clocks"}
    )
    dispute = "## A dispute\n\nOne slide says otherwise.\n\n### The slide\n\nIts page."
    return [
        new_markdown_cell(FIRST),
        setup,
        new_markdown_cell(
            "## The rule $w_i$\n\nValues in capitals are your own.\n\nEvery *key* has a value.\n\n"
            "A softmax, and one more softmax, of `top-k`.\n\n"
            "$$\\frac{a}{\\sqrt{d_k}}$$\n\n### Twice\n\n### Twice\n\n"
            "Vaswani et al. (2017), *Attention Is All You Need*.\n\n**Softmax**: shares."
        ),
        new_code_cell("predict()", outputs=[guess], metadata={"tags": ["fold"]}),
        new_markdown_cell("#### Open this", metadata={"tags": ["answer"]}),
        surprise,
        new_markdown_cell("It was smaller.\n\n### After the answer"),
        plot,
        html_output(
            '<a href="02_next.ipynb#twice">out</a> <a href="https://a.example/b.ipynb">y</a>'
        ),
        new_markdown_cell(
            "See [the next](02_next.ipynb#twice), [its source](02_next.py), [the code]"
            "(../../lib/part.py) and [elsewhere](https://example.org).\n\n"
            "<details><summary>Why</summary>\n\nBecause *so*.\n\n</details>"
        ),
        clocks,
        new_markdown_cell(dispute, metadata={"tags": ["aside"]}),
        new_markdown_cell("## Summary\n\nIt is so."),
    ]


def checkout(folder: Path, *pages: list[Any]) -> Path:
    """A checkout with a notebook of each list of cells, and one more, `02_next`."""
    chapter = folder / "chapters" / "01_demo"
    chapter.mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "lib" / "part.py").write_text("x = 1\n")
    (folder / "book").mkdir()
    (folder / "book" / "index.md").write_text("# The book\n\n<!-- pages -->\n")
    (folder / "book" / "glossary.md").write_text(GLOSSARY)
    (folder / "ERRATA.md").write_text("# Errata\n\n[Back](book/index.md)\n")
    second = [new_markdown_cell(FIRST.replace("1.1", "1.2") + "\n\n## Twice")]
    named = {f"{n:02d}_fault": cells for n, cells in enumerate(pages[1:], start=3)}
    for name, cells in {"01_softmax": pages[0], "02_next": second, **named}.items():
        notebook = new_notebook(cells=list(cells))
        notebook.metadata = from_dict({"language_info": {"pygments_lexer": "ipython3"}})
        notebook.metadata["deepdive"] = {"profile": "laptop", "under_seconds": 15, "under_mb": 500}
        notebook.metadata["deepdive"]["data"] = []
        nbformat.write(notebook, chapter / f"{name}.ipynb")
        text = cells[0].source.replace("\n", "\n# ")
        (chapter / f"{name}.py").write_text(f"# %% [markdown]\n# {text}\n")
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    done = build(checkout(folder / "checkout", good_cells()), folder / "out")
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def page(site: Path) -> str:
    return (site / "chapters/01_demo/01_softmax.html").read_text()


@cache
def article(page: str) -> Any:
    """The text of a page, without the theme around it and what large images hold."""
    light = re.sub(r"base64,[\w+/=]{500,}", "base64,", page)
    return BeautifulSoup(light, "html.parser").find("article")


# -- a small book, rule by rule


def test_the_contents_list_the_pages_with_question_and_minutes(site: Path) -> None:
    text = re.sub(r"\s+", " ", article((site / "contents.html").read_text()).get_text(" "))
    assert "1 Demo" in text
    assert "1.1 Softmax How do scores become shares? 5 min" in text
    bar = (site / "index.html").read_text()
    assert 'href="errata.html">Errata</a>' in bar
    assert ">1.1 1.1 Softmax</a>" in bar


def test_a_page_leads_to_its_neighbours_its_headings_and_its_notebook(
    site: Path, page: str
) -> None:
    soup = BeautifulSoup(page, "html.parser")
    assert soup.find("link", rel="next")["href"] == "02_next.html"
    for anchor in ("twice", "the-rule-w-i"):
        assert soup.find(id=anchor)
        assert soup.find("a", href=f"#{anchor}")
    assert soup.find("a", href="01_softmax.ipynb", download=True)
    kept = nbformat.read(site / "chapters/01_demo/01_softmax.ipynb", as_version=4)
    assert "page-line" not in kept.cells[0].source, "the download is the committed notebook"
    line = soup.find("p", class_="page-line").get_text()
    assert "profile laptop" in line
    assert "data: the page's own examples" in line
    assert "under 15 s and 500 MB" in line


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that stages the book, whose neighbours it imports by their bare names."""
    monkeypatch.syspath_prepend(ROOT / "book")
    return importlib.import_module("stage")


def test_no_line_of_a_table_breaks_an_interval(stage: Any) -> None:
    cell = '<td class="number" data-value="43.87">43.9 [41.3, 46.4]</td>'
    other = "<td>a [b, c]</td>"
    assert stage.whole_intervals(cell + other) == cell.replace("41.3, ", "41.3,&nbsp;") + other


def test_colab_and_binder_open_the_notebook_of_the_one_address(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "chapters/01_demo/01_softmax.ipynb"
    monkeypatch.setattr(stage.SETTING, "ADDRESS", "https://github.com/some/body")
    monkeypatch.setattr(stage.SETTING, "BRANCH", "published")
    links = [
        unquote(str(BeautifulSoup(link, "html.parser").a["href"])) for link in stage.launchers(path)
    ]
    assert links == [
        f"https://colab.research.google.com/github/some/body/blob/published/{path}",
        f"https://mybinder.org/v2/gh/some/body/published?labpath={path}",
    ]


def test_there_is_no_button_before_there_is_an_address(
    page: str, stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    buttons = [a.get_text() for a in article(page).select("a.run")]
    assert len(buttons) == len(stage.launchers("a page")) + 1, "the download, and what opens it"
    monkeypatch.setattr(stage.SETTING, "ADDRESS", "")
    assert stage.launchers("chapters/01_demo/01_softmax.ipynb") == []


def test_links_to_sources_and_files_of_the_checkout_are_kept(site: Path, page: str) -> None:
    links = {a.get_text(): a["href"] for a in article(page).select("a[href]")}
    assert links["the next"] == links["out"] == "02_next.html#twice"
    assert links["its source"] == "02_next.html"
    assert links["y"] == "https://a.example/b.ipynb"
    kept = site / "chapters/01_demo" / links["the code"]
    assert kept.read_text() == "x = 1\n"


def test_formulas_are_mathml_and_nothing_is_loaded_from_elsewhere(page: str) -> None:
    assert page.count("<math") >= 3, "the heading, its entry in the contents, the equation"
    assert "<mfrac>" in page
    assert "$" not in article(re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)).get_text()
    loads = re.findall(r"<(?:link|script|img|iframe)[^>]*?\s(?:src|href)=\"([^\"]*)\"", page)
    assert not [url for url in loads if "//" in url or "mathjax" in url.lower()]


def test_outputs_are_escaped_and_code_is_folded(page: str) -> None:
    soup = article(page)
    assert "42 &lt; 43" in page
    names = [summary.get_text(" ", strip=True) for summary in soup.select("details.hide > summary")]
    assert [name.split("  ")[0] for name in names] == [
        "Code Code", "Code Code", "Draw the clocks Draw the clocks", "Setup Setup"
    ]  # fmt: skip
    assert "Open this" not in soup.get_text(), "JupyterLab needs that heading, the book does not"
    assert f'<img alt="a line" src="data:image/png;base64,{PNG}"/>' in str(soup)
    assert "@title" not in soup.get_text(), "the fold has its title already"


def test_the_first_use_of_a_term_leads_to_the_glossary(page: str) -> None:
    terms = article(page).select("a.term")
    told = [a.get_text() for a in terms]
    assert told == ["key", "value", "softmax"], "once a page, never in code, no everyday word"
    assert terms[2]["href"] == "../../glossary.html#term-softmax"
    assert terms[2]["title"] == "Exponentials divided by their sum."


def test_a_paper_s_title_leads_to_the_bibliography(book: Path) -> None:
    page = article((book / "chapters/02_transformer/02_attention.html").read_text())
    links = {a.get_text(): a["href"] for a in page.select("a[href*=bibliography]")}
    assert links["Attention Is All You Need"] == "../../bibliography.html#vaswani2017"
    assert len(links) == 3


def test_a_term_in_bold_stands_in_the_index(site: Path) -> None:
    index = article((site / "genindex.html").read_text())
    assert index.find("a", href="chapters/01_demo/01_softmax.html#the-rule-w-i") or index.find(
        "a", href=re.compile(r"01_softmax\.html#")
    )


# -- what stops the build

FAULTS = [
    ([new_code_cell("plot()", outputs=[figure("")])], "image without alternative text"),
    ([new_markdown_cell('<img src="../../lib/part.py">')], "image without alternative text"),
    ([new_markdown_cell("$\\softmaks(x)$")], r"formula \softmaks(x): \softmaks was not understood"),
    ([new_markdown_cell("$$\\frac{1}{$$")], r"formula \frac{1}{:"),
    ([new_markdown_cell("[there](03_gone.ipynb)")], "'03_gone.ipynb'"),
    ([new_markdown_cell("[there](02_next.ipynb#gone)")], "'gone'"),
    ([new_markdown_cell("[here](#gone)")], "'gone'"),
    ([html_output('<a href="99_gone.html">x</a>')], "the link 99_gone.html leads nowhere"),
    ([html_output('<a href="02_next.ipynb#no">x</a>')], "02_next.html#no names no heading"),
    ([new_markdown_cell("```{systems}\n01_gone: bert\n```")], "no page '01_gone'"),
    ([new_markdown_cell("```{systems}\nindex: brt\n```")], "no system 'brt'"),
    ([new_markdown_cell("![x](https://example.org/x.png)")], "loads https://example.org/x.png"),
    ([html_output('<script src="//cdn.example.org/x.js"></script>')], "loads //cdn.example.org"),
    ([html_output('<p style="background:url(http://a.example/b)">')], "loads http://a.example/b"),
    ([html_output("<style>@import 'https://a.example/b.css'</style>")], "loads https://a.exam"),
    ([html_output("<script>fetch('https://a.example/c')</script>")], "loads https://a.example/c"),
]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a build says to one page a fault."""
    folder = tmp_path_factory.mktemp("faults")
    pages = [[new_markdown_cell(FIRST), *cells] for cells, _ in FAULTS]
    done = build(checkout(folder / "checkout", good_cells(), *pages), folder / "out")
    assert done.returncode == 1
    return done.stderr.splitlines()


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_what_would_fail_a_reader_stops_the_build(refused: list[str], number: int) -> None:
    words = FAULTS[number][1]
    lines = [line for line in refused if f"{number + 3:02d}_fault" in line]
    assert any(words in line for line in lines), lines


def test_the_good_pages_of_that_build_are_not_blamed(refused: list[str]) -> None:
    assert not [line for line in refused if "01_softmax" in line or "02_next.html: " in line]


# -- the book itself


def test_every_page_is_in_the_book(book: Path, root: Path) -> None:
    for page in discover(root):
        assert (book / f"{page.name}.html").is_file(), page.name
    for name in (
        "index", "contents", "use", "notation", "concordance", "glossary", "bibliography", "errata",
        "changelog", "cite", "genindex", "search",
    ):  # fmt: skip
        assert (book / f"{name}.html").is_file(), name


def test_an_old_address_leads_to_the_page_that_was_renamed(book: Path, reader: Reader) -> None:
    for old, new in moved().items():
        assert Path(old).parent == Path(new).parent
        assert f'url={Path(new).name}"' in (book / old).read_text("utf-8")
        assert (book / new).is_file()
    page = reader.open(book / old)
    page.wait_for_url((book / new).as_uri())
    assert not reader.complaints


def test_no_style_script_or_page_names_another_host_to_load(book: Path) -> None:
    """The build checks pages and styles; here the scripts that came with the theme."""
    for path in book.rglob("*.js"):
        text = path.read_text("utf-8", errors="replace")
        found = re.findall(r"""(?:fetch|importScripts|import)\(\s*["'`](?:https?:)?//""", text)
        assert not found, path.name
    assert list(book.rglob("STIXTwoMath-Regular.woff")), "the formulas' font is in the book"


def test_every_page_forbids_its_browser_what_is_of_another_host(book: Path) -> None:
    """First of all in its head, so that it holds for everything that the page loads."""
    for path in book.rglob("*.html"):
        head, end, _ = path.read_text("utf-8").partition("</head>")
        if end:  # and no piece for the theme's templates
            first = BeautifulSoup(head, "html.parser").head.find()  # type: ignore[union-attr]
            assert first["http-equiv"] == "Content-Security-Policy", path  # type: ignore[index]
            words = str(first["content"]).replace(";", " ").split()  # type: ignore[index]
            assert not [word for word in words if "*" in word or "http" in word or "." in word]
            assert {"default-src", "'self'", "object-src", "base-uri"} <= set(words)


def test_what_is_of_another_host_is_refused(site: Path, reader: Reader) -> None:
    page = reader.open(f"{reader.online(site)}chapters/01_demo/01_softmax.html")
    assert not reader.complaints
    page.evaluate(
        "document.body.append(Object.assign(new Image(), {src: 'http://127.0.0.2/x.png'}))"
    )
    page.evaluate("fetch('http://127.0.0.2/x').catch(() => 0)")
    told = [line for line in reader.complaints if "Content Security Policy" in line]
    assert [line for line in told if "x.png" in line]
    assert [line for line in told if "127.0.0.2/x'" in line]


def test_an_address_that_names_no_place_breaks_nothing(site: Path, reader: Reader) -> None:
    page = reader.open(f"{reader.online(site)}chapters/01_demo/01_softmax.html#%")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.aside").count()
    assert not page.locator("details.aside:not([open])").count()
    assert not reader.complaints


Seen = tuple[list[tuple[str, str]], Any]
TERM = "//a[contains(concat(' ', @class, ' '), ' term ')]"


@pytest.fixture(scope="module")
def pages(book: Path) -> dict[str, Seen]:
    """Page -> its links to terms, and its section of further reading or None.

    lxml parses the whole book in a second, Beautiful Soup in half a minute.
    """
    found = {}
    for path in sorted(book.glob("c*/**/*.html")):
        if path.relative_to(book).as_posix() in moved():
            continue
        (text,) = lxml.html.fromstring(path.read_bytes()).xpath("//article")
        links = [(a.get("href"), " ".join(a.text_content().split())) for a in text.xpath(TERM)]
        section = text.xpath("//section[@id='further-reading']")
        name = path.relative_to(book).with_suffix("").as_posix()
        found[name] = (links, section[0] if section else None)
    return found


def test_each_paper_that_further_reading_names_is_in_the_bibliography(
    pages: dict[str, Seen],
) -> None:
    """Titles are set in italics after a year; documentation has no year and no entry."""
    sections = {page: section for page, (_, section) in pages.items() if section is not None}
    assert len(sections) > 100
    missing, titles = [], 0
    for page, section in sections.items():
        for item in section.xpath(".//li") if page.startswith("chapters/") else []:
            if re.search(r"\(\d{4}\)", item.text_content()):
                for em in item.xpath(".//em"):
                    if len(em.text_content().split()) > 1:
                        titles += 1
                        missing += [em.text_content()] if not em.xpath("ancestor::a") else []
    assert titles > 200
    assert not missing


def test_the_glossary_is_used(book: Path, pages: dict[str, Seen]) -> None:
    """A term to which no page leads is a term that the pages do not use."""
    named = {target.partition("#")[2] for links, _ in pages.values() for target, _ in links}
    glossary = article((book / "glossary.html").read_text())
    assert not {group[0]["id"] for group in _groups(glossary)} - named


def test_each_page_leads_to_a_term_once_and_in_its_sense(
    pages: dict[str, Seen],
) -> None:
    """Over all pages: no author Beam, no hub of Hugging Face, no heads for tasks."""
    for page, (links, _) in pages.items():
        targets = [target for target, _ in links]
        assert len(targets) == len(set(targets)), page
        for _, word in links:
            where = senses().get(word, senses().get(word.removesuffix("s"), {}))
            assert where is not None, f"{page}: {word} has several senses"
            fits = [page.startswith(each) for each in where.get("in", [""])]
            bars = [page.startswith(each) for each in where.get("not_in", [])]
            assert any(fits) and not any(bars), f"{page}: {word}"  # noqa: PT018


def _groups(glossary: Any) -> list[list[Any]]:
    """The names of each entry: a definition may have several."""
    groups: list[list[Any]] = [[]]
    for tag in glossary.select("dl.glossary > *"):
        if tag.name == "dt":
            groups[-1].append(tag)
        elif groups[-1]:
            groups.append([])
    return [group for group in groups if group]


# -- in a browser

CHOOSE = """<script>
const option = document.querySelectorAll("input[type=radio]")[%d];
option.checked = true;
option.dispatchEvent(new Event("change"));
option.closest(".predict").querySelector("button").click();
</script>"""


# The prediction's own code; and the code, the output and the prose that follow it.
ANSWERS = [".cell:has(.predict) .highlight", ".tag_surprise .highlight", "text=42 < 43"]
ANSWERS += ["text=It was smaller."]


def test_the_answer_is_hidden_until_the_reader_commits(site: Path, reader: Reader) -> None:
    address = f"{reader.online(site)}chapters/01_demo/01_softmax.html"
    page = reader.open(address)
    assert not any(page.locator(what).first.is_visible() for what in ANSWERS)
    assert page.locator("text=After the answer").last.is_visible()
    page.locator("input[type=radio]").nth(1).check()
    page.locator(".predict button:not(.skip)").click()
    assert all(page.locator(what).first.is_visible() for what in ANSWERS[1:])
    again = reader.open(address)
    assert all(again.locator(what).first.is_visible() for what in ANSWERS[1:])


def test_on_paper_and_without_scripts_nothing_is_hidden(site: Path, reader: Reader) -> None:
    address = site / "chapters/01_demo/01_softmax.html"
    printed = reader.open(address, media="print")
    assert all(printed.locator(what).first.is_visible() for what in ANSWERS[1:])
    plain = re.sub(r"<script.*?</script>", "", address.read_text("utf-8"), flags=re.DOTALL)
    address.with_name("plain.html").write_text(plain, "utf-8")
    page = reader.open(address.with_name("plain.html"))
    assert all(page.locator(what).first.is_visible() for what in ANSWERS[1:])


def test_an_aside_opens_by_its_heading_or_a_link_into_it(site: Path, reader: Reader) -> None:
    address = (site / "chapters/01_demo/01_softmax.html").as_uri()
    page = reader.open(site / "chapters/01_demo/01_softmax.html")
    said = page.get_by_text("One slide says otherwise.")
    assert not said.is_visible()
    assert page.get_by_text("It is so.").is_visible(), "the section after it is none of it"
    page.locator("summary", has_text="A dispute").click()
    assert said.is_visible()
    other = page.context.new_page()
    other.goto(f"{address}#the-slide")
    assert other.get_by_text("Its page.").is_visible()


@pytest.mark.usefixtures("chromium")
def test_a_chapter_is_printed_whole(site: Path, tmp_path: Path) -> None:
    (pages,) = chapters(site).values()
    document = joined(pages, "Demo")
    assert "<script" not in document
    assert 'href="#02_next-twice"' in document
    assert 'id="02_next-twice"' in document
    ids = re.findall(r'\sid="([^"]+)"', document)
    assert len(ids) == len(set(ids))
    print_pdf(document, pages[0].parent, tmp_path / "demo.pdf")
    printed = (tmp_path / "demo.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert b"/Subtype /Image" in printed, "the figure, whose code is folded"
    assert not (pages[0].parent / "_printed.html").exists()


# -- predictions


def test_the_answer_opens_when_the_reader_commits_and_is_remembered(reader: Reader) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    marks = score("1/").html
    assert "Predict first:" in question
    assert "Question 3:" in predict("Which?", ["a", "b"], 1, "So.", label="Question 3").html
    before = reader.text(question + marks)
    assert "<details hidden=" in before
    assert 'class="predict waiting"' in before
    assert "You have predicted 0 of 0 right." in before
    after = reader.text(question + marks + CHOOSE % 1)
    assert "You predicted it." in after
    assert '<details open="">' in after
    assert 'class="predict"' in after
    assert "You have predicted 1 of 1 right." in after
    again = reader.text(question + marks)
    assert "You predicted it." in again
    assert "You have predicted 1 of 1 right." in again


def test_a_wrong_prediction_is_told_and_counted(reader: Reader) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    after = reader.text(question + score().html + CHOOSE % 0)
    assert "Not this time." in after
    assert "You have predicted 0 of 1 right." in after


def test_a_result_is_shown_without_a_prediction_which_can_still_be_made(reader: Reader) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    skip = '<script>document.querySelector(".predict .skip").click()</script>'
    after = reader.text(question + score().html + skip)
    assert 'class="predict"' in after
    assert '<details open="">' in after
    assert "You have predicted 0 of 0 right." in after, "nothing was predicted"
    assert 'class="predict"' in reader.text(question), "it stays shown"
    assert "You predicted it." in reader.text(question + CHOOSE % 1)


def test_with_the_switch_on_no_result_waits(reader: Reader) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    turn = '<script>%s; dispatchEvent(new Event("deepdive-results"))</script>'
    shown = turn % 'localStorage["deepdive:results"] = "shown"'
    assert 'class="predict"' in reader.text(question + shown)
    assert 'class="predict"' in reader.text(question)
    assert 'class="predict waiting"' in reader.text(
        question + turn % 'delete localStorage["deepdive:results"]'
    )


def test_advice_follows_the_answers(reader: Reader) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    topics = [
        ("1/which", "choices", "page one", "one.ipynb"),
        ("1/else", "more", "two", "two.ipynb"),
    ]
    advice = advise(topics).html
    before = reader.text(question + advice)
    assert before.count("not answered yet</td>") == 2
    right = reader.text(question + advice + CHOOSE % 1)
    assert right.count("skip it</td>") == 1
    assert "1 of 2 right, 0 to read, 1 not answered yet." in right
    with pytest.raises(ValueError, match="topics is empty"):
        advise([])


def test_a_wrong_answer_is_advised_to_read(reader: Reader) -> None:
    question = predict("Which?", ["a", "b"], 1, "So it is.", key="1/which").html
    after = reader.text(question + advise([("1/which", "x", "one", "one.ipynb")]).html + CHOOSE % 0)
    assert "read it</td>" in after
    assert "0 of 1 right, 1 to read, 0 not answered yet." in after

"""The slides: what becomes a frame, and what a lecturer sees, says and prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from book_build import build
from browser import Reader
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output, writes
from vendor import vendored

from book.pdf import on_paper, print_pdf
from deepdive_book.kit.predictions import predict

HALL = (1280, 720)
FIRST = "# Softmax\n\nHow do scores become shares?\n\n<small>5 min</small>"
CODE = "def double(x):\n    return 2 * x\n\n\nassert double(2) == 4"


def prose(text: str, *tags: str, **more: str) -> Any:
    return new_markdown_cell(text, metadata={"tags": list(tags), **more})


def code(*outputs: Any, source: str = "x", tags: str = "", **more: str) -> Any:
    return new_code_cell(source, outputs=list(outputs), metadata={"tags": tags.split(), **more})


def drawn(alt: str) -> Any:
    kind, svg = "image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>'
    return new_output("display_data", data={kind: svg}, metadata={kind: {"alt": alt}})


def shown(html: str) -> Any:
    return new_output("display_data", data={"text/html": html})


def printed(text: str) -> Any:
    return new_output("stream", name="stdout", text=text)


CELLS = [
    prose(FIRST, "slide"),
    code(tags="setup"),
    code(drawn("a line"), tags="slide fold"),
    prose("*The line under it.*\n\nSaid at the start."),
    code(shown(predict("Which?", ["left", "right"], 1, "So it is.").html)),
    prose(
        "## The rule\n\nA short one. [Next](02_next.ipynb#twice) to [code](../../lib/part.py).\n\n"
        "$$a$$\n\n$$b$$\n\nSaid of the rule.\n\n$$c$$",
        "slide",
    ),
    code(printed("3 < 4\n"), tags="slide", title="A *count*"),
    code(),
    prose("*Four words stand under.* (Not this.)\n\nSaid of the count."),
    code(drawn("on no frame")),
    prose("*Under it.*\n\nSaid later."),
    code(printed("4"), source=f"# @title Twice\n{CODE}", tags="slide code", title="Twice"),
    prose("## Check your understanding\n\nOpen them.\n\n1. Why?\n\n   <details>Because.</details>"),
    prose("## Exercises\n\n1. For readers."),
]


def checkout(folder: Path) -> Path:
    """A checkout with one chapter, whose first page has the cells above."""
    files = {"book/index.md": "# The book\n\n<!-- pages -->\n", "lib/part.py": "x = 1\n"}
    pages = {"01_softmax": CELLS, "02_next": [prose(f"{FIRST}\n\n## Twice")]}
    for name, cells in pages.items():
        notebook = new_notebook(cells=cells)
        notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
        files[f"chapters/01_demo/{name}.ipynb"] = writes(notebook)
        lines = FIRST.replace("\n", "\n# ")
        files[f"chapters/01_demo/{name}.py"] = f"# %% [markdown]\n# {lines}\n"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def frames(deck: Path) -> list[Any]:
    return BeautifulSoup(deck.read_text("utf-8"), "html.parser").find_all("section")


def text(tag: Any) -> str:
    return " ".join(tag.get_text(" ").split())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The frames of a small chapter."""
    folder = tmp_path_factory.mktemp("slides")
    done = build(checkout(folder / "checkout"), folder / "out")
    assert done.returncode == 0, done.stderr
    contents = (folder / "out" / "contents.html").read_text()
    assert 'href="slides/01_demo.html"' in contents
    return frames(folder / "out" / "slides" / "01_demo.html")


@pytest.fixture(scope="module")
def deck(book: Path) -> Path:
    return book / "slides" / "02_transformer.html"


# -- what becomes a frame


def test_a_cell_with_a_title_opens_a_frame_and_another_adds_to_it(small: list[Any]) -> None:
    titles = ["Softmax", "The rule", "A count", "Twice"]
    assert [text(frame.find(["h1", "h2"])) for frame in small] == titles
    assert [frame.find(["h1", "h2"]).name for frame in small] == ["h1", "h2", "h2", "h2"]
    assert text(small[0].select_one(".words")) == "How do scores become shares?"
    assert small[0].select_one(".shown svg")["aria-label"] == "a line"


def test_prose_gives_its_first_words_and_display_and_code_what_it_showed(small: list[Any]) -> None:
    assert text(small[1].select_one(".words")) == "A short one. Next to code ."
    assert [text(m) for m in small[1].select(".shown math")] == ["a", "b"]
    assert small[2].select_one(".shown pre").get_text() == "3 < 4"
    assert text(small[2].select_one(".words")) == "Four words stand under."
    assert small[3].select_one(".shown pre").get_text() == CODE.partition("\n\n\n")[0]


def test_what_follows_is_in_the_notes(small: list[Any]) -> None:
    notes = [text(frame.select_one("aside.notes")) for frame in small]
    asked = "Ask before the next frame Which? left right Answer: right . So it is."
    assert notes[0] == f"The line under it. Said at the start. {asked}"
    assert notes[1] == "Said of the rule. c"
    assert notes[2] == "(Not this.) Said of the count. Said later."
    assert notes[3] == "Ask the room Why? Because."


def test_a_frame_leads_to_its_place_on_its_page(small: list[Any]) -> None:
    places = [frame.select_one(".page a")["href"] for frame in small]
    page = "../chapters/01_demo/01_softmax.html"
    assert places == [f"{page}#softmax", *[f"{page}#the-rule"] * 3]
    inside = [a["href"] for a in small[1].select(".words a")]
    assert inside == ["../chapters/01_demo/02_next.html#twice", page]


# -- the deck of chapter 2


def test_chapter_2_has_frames_for_a_course_each_with_all_that_it_needs(deck: Path) -> None:
    found = frames(deck)
    assert 40 <= len(found) <= 50
    pages = [frame.select_one(".page a")["href"].partition("#")[0] for frame in found]
    assert pages == sorted(pages)
    assert len(set(pages)) == 19
    for frame in found:
        title = text(frame.find(["h1", "h2"]))
        assert title
        assert len(text(frame.select_one("aside.notes")).split()) > 15, title
        assert frame.select_one(".shown > *"), title
        for formula in frame.select("math"):
            formula.replace_with("x")
        assert 3 < len(frame.select_one(".words").get_text().split()) <= 45, title
        assert all(img["alt"].strip() for img in frame.select("img")), title
        drawings = frame.select(".dd-picture > svg")
        assert all(drawing["aria-label"].strip() for drawing in drawings), title
    assert len(re.findall("Ask before|Ask the room", deck.read_text("utf-8"))) > 30


FAULTS = """() => {
  const found = [], inside = (a, b) =>
    a.left > b.left - 1 && a.right < b.right + 1 && a.top > b.top - 1 && a.bottom < b.bottom + 1;
  for (let i = 0; i < Reveal.getTotalSlides(); i++) {
    Reveal.slide(i);
    const frame = Reveal.getCurrentSlide(), box = e => e.getBoundingClientRect();
    const say = (what, e) => found.push(`frame ${i + 1}: ${what} ${e.outerHTML.slice(0, 60)}`);
    if (frame.scrollHeight > 720 || frame.scrollWidth > 1280) say("overflows", frame);
    for (const part of frame.children) {
      if (part.tagName === "ASIDE") continue;
      if (!inside(box(part), box(frame))) say("out of the frame", part);
      for (const e of part.querySelectorAll("*")) {
        if (e.ownerSVGElement) continue; // a drawing's own
        const holder = e.closest(".words, .shown") ?? part;
        if (!inside(box(e), box(holder))) say("out of its place", e);
        if (["IMG", "svg"].includes(e.tagName) && box(e).height < 240) say("small", e);
        const size = parseFloat(getComputedStyle(e).fontSize);
        if (!e.closest("math") && e.textContent.trim() && size < 24) say(`${size} px`, e);
      }
    }
  }
  return found;
}"""


# Of each kind of frame the last: title, picture, table, text, list.
AXE = """async () => {
  const found = [], all = [...document.querySelectorAll("section")];
  const kinds = ["h1", "img", ".shown svg", "table", "pre", ".shown ul"];
  for (const i of kinds.map(kind => all.findLastIndex(e => e.querySelector(kind)))) {
    Reveal.slide(i);
    const { violations } = await axe.run(document, { preload: false, resultTypes: ["violations"] });
    const bad = violations.filter(fault => ["serious", "critical"].includes(fault.impact));
    found.push(...bad.map(fault => `frame ${i + 1}: ${fault.id}: ${fault.nodes[0].target}`));
  }
  return found;
}"""


def present(reader: Reader, deck: Path, **media: Any) -> Any:
    page = reader.open(deck, size=HALL, **media)
    page.wait_for_function("() => Reveal.isReady()")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_frame_overflows_and_all_type_is_large(deck: Path, reader: Reader, scheme: str) -> None:
    page = present(reader, deck, color_scheme=scheme)
    assert page.evaluate(FAULTS) == []
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (min(map(int, re.findall(r"\d+", paper))) > 200) == (scheme == "light")
    assert reader.complaints == []
    assert {url.partition(":")[0] for url in reader.requests} <= {"file", "data"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_kind_of_frame(
    deck: Path, reader: Reader, scheme: str
) -> None:
    page = present(reader, deck, color_scheme=scheme)
    page.evaluate((vendored("axe-core") / "axe.min.js").read_text("utf-8"))
    assert page.evaluate(AXE) == []


def test_keys_go_from_frame_to_frame_and_open_the_notes(deck: Path, reader: Reader) -> None:
    page = present(reader, deck)
    for key in ("ArrowRight", "Space", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.evaluate("Reveal.getIndices().h") == 2
    with page.expect_popup() as opened:
        page.keyboard.press("s")
    notes = opened.value
    said = frames(deck)[2].select_one("aside.notes p").get_text().split()[:3]
    notes.wait_for_function("words => document.body.innerText.includes(words)", arg=" ".join(said))
    notes.keyboard.press("ArrowRight")
    page.wait_for_function("() => Reveal.getIndices().h === 3")
    assert reader.complaints == []


@pytest.mark.usefixtures("chromium")
def test_the_printed_deck_has_a_page_a_frame(deck: Path, tmp_path: Path) -> None:
    print_pdf(on_paper(deck), deck.parent, tmp_path / "slides.pdf")
    paper = (tmp_path / "slides.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) == len(frames(deck))
    assert set(re.findall(rb"/MediaBox\s*\[([^\]]*)\]", paper)) == {b"0 0 960 540"}
    assert b"file:" not in paper, "no link to a folder of this machine"


def test_on_a_phone_held_upright_frames_are_read_as_a_page(book: Path, reader: Reader) -> None:
    for deck in sorted((book / "slides").glob("*.html")):
        page = reader.open(deck, (390, 844))
        found = page.evaluate("""() => {
          const width = x => Math.round(x.getBoundingClientRect().width);  // as offsetWidth is
          const scale = x => width(x) / x.offsetWidth || 1;
          const size = x => scale(x) * parseFloat(getComputedStyle(x).fontSize);
          const all = [...document.querySelectorAll("section")].filter(x => x.checkVisibility());
          const words = document.querySelectorAll(".words, .shown pre, .shown table, .page");
          return {
            frames: all.length, whole: document.querySelectorAll("section").length,
            small: Math.min(...[...words].map(size)),
            scaled: all.filter(x => x.getBoundingClientRect().width < 380).length,
            beyond: document.scrollingElement.scrollWidth - innerWidth,
          };
        }""")
        assert found["frames"] == found["whole"] > 1, deck.name
        assert found["small"] >= 14
        assert not found["scaled"]
        assert found["beyond"] <= 0
        page.close()
    assert not reader.complaints

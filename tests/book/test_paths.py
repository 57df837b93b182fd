"""Reading paths: pages that exist, hours that are sums, and what the reader's browser keeps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from book_build import build
from browser import PHONE, Reader
from bs4 import BeautifulSoup
from playwright.sync_api import Browser
from playwright.sync_api import Page as Opened

from book.paths import PathError, Paths, Station, _short, hours, spent, time_of
from deepdive_book.kit.predictions import score
from deepdive_book.site.pages import Page, discover, find

ROUTE = {"id": "p", "name": "P", "for": "x", "after": "y", "end": "z", "at": "1.1"}
EXERCISE = "# ## {0}. Title {0}\n#\n# *Write · {1} min · easy*\n"


def checkout(folder: Path, *routes: dict[str, Any]) -> Path:
    """Two pages of 5 and 7 minutes, two exercises of 4 and 6, and the given paths."""
    chapter = folder / "chapters" / "01_demo"
    chapter.mkdir(parents=True)
    for number, minutes in ((1, 5), (2, 7)):
        text = f"# %% [markdown]\n# # Page {number}\n#\n# What?\n#\n# {minutes} min to read\n"
        (chapter / f"0{number}_page.py").write_text(text)
    (chapter / "exercises.py").write_text(EXERCISE.format(1, 4) + EXERCISE.format(2, 6))
    (folder / "book").mkdir()
    (folder / "book" / "paths.yaml").write_text(yaml.safe_dump([{**ROUTE, **r} for r in routes]))
    return folder


def paths(root: Path) -> Paths:
    """The paths of a checkout, without a build."""
    pages = [(f"{p.number} {p.summary().title}", p.notebook, p.summary()) for p in discover(root)]
    last = root / "chapters/01_demo/exercises.ipynb"
    return Paths(root, {"1 Demo": [*pages, ("Exercises", last, None)]}, find)


def test_hours_are_sums_of_the_pages_minutes(tmp_path: Path) -> None:
    (route,) = paths(checkout(tmp_path, {"pages": ["1.2", "1.1"]})).routes
    assert [(step.name[-7:], minutes) for step, minutes in route.steps] == [
        ("02_page", 7), ("01_page", 5)
    ]  # fmt: skip
    assert route.minutes == 12


def test_a_week_counts_its_exercises_and_practice_but_none_twice(tmp_path: Path) -> None:
    weeks = [
        {"pages": ["1.1"], "exercises": {"01_demo": [1]}},
        {"pages": ["1.2"], "exercises": {"01_demo": [2]}},
    ]
    (route,) = paths(checkout(tmp_path, {"weeks": weeks, "practice": 1})).routes
    assert [part.minutes for part in route.parts] == [2 * 5 + 4, 2 * 7 + 6]
    assert route.minutes == sum(part.minutes for part in route.parts)
    assert [step.name.rpartition("/")[2] for step, _ in route.steps] == [
        "01_page", "02_page", "exercises"
    ]  # fmt: skip


def test_a_page_between_two_numbers_is_named_by_its_number() -> None:
    assert (
        _short(Station("chapters/05_efficient/04b_nystrom_yoso_fnet", "5.4b Nyström", 12)) == "5.4b"
    )
    assert _short(Station("casestudies/02_translation", "A translator", 12)) == "A translator"


def test_hours_are_said_shortly() -> None:
    assert [hours(m) for m in (0, 50, 60, 125)] == ["0 min", "50 min", "1 h", "2 h 5 min"]


def test_reading_and_exercises_are_said_apart_and_to_the_half_hour() -> None:
    assert spent(50) == "50 min reading"
    assert spent(480, 170) == "8 h reading + 3 h exercises"
    assert spent(74, 75) == "1 h reading + 1½ h exercises"
    assert time_of([("a/01_page", 40), ("a/exercises", 30), ("a/clinic", 35)]) == (
        "40 min reading + 1 h exercises"
    )


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"pages": ["1.1", "1.9"]}, "path p: no page '1.9'. Near it:"),
    ({"pages": ["page"]}, "path p: 'page' fits 2 pages"),
    ({"pages": [1.1]}, 'page 1.1 must stand in quotes, as "1.1"'),
    ({"pages": ["1.1", "1.2", "1.1"]}, "names chapters/01_demo/01_page twice"),
    ({"pages": []}, "path p: each week, or the path itself, needs pages"),
    ({"weeks": [{"pages": ["1.1"]}, {}]}, "path p: each week, or the path itself, needs pages"),
    ({"pages": ["1.1"], "at": "7.7"}, "no page '7.7'"),
    (
        {"weeks": [{"pages": ["1.1"], "exercises": {"01_demo": [3]}}]},
        "chapter 01_demo has no exercise 3, only [1, 2]",
    ),
]


@pytest.mark.parametrize(("given", "words"), FAULTS)
def test_a_path_that_leads_nowhere_is_told(
    tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    root = checkout(tmp_path, given)
    with pytest.raises(PathError, match=re.escape(words)):
        paths(root)


def test_a_part_that_lacks_is_told(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    (root / "book/paths.yaml").write_text("- {id: p, name: P, for: x, at: '1.1', pages: ['1.1']}")
    with pytest.raises(PathError, match="path p lacks after, end"):
        paths(root)


def test_a_fifth_path_has_no_line(tmp_path: Path) -> None:
    with pytest.raises(PathError, match="5 paths, and colours for 4"):
        paths(checkout(tmp_path, *[{"pages": ["1.1"]}] * 5))


def test_the_build_stops_at_a_page_that_is_not_there(tmp_path: Path) -> None:
    root = checkout(tmp_path / "checkout", {"pages": ["1.1"]})
    (root / "book" / "index.md").write_text("# The book\n\n<!-- pages -->\n")
    done = build(root, tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr == "book/paths.yaml: path p: page '1.1' has no notebook yet\n"


# -- the book's own


@pytest.fixture(scope="module")
def index(book: Path) -> BeautifulSoup:
    return BeautifulSoup((book / "index.html").read_text(), "html.parser")


def minutes_of(text: str) -> int:
    """`2 h 5 min` -> 125."""
    return sum(
        int(number) * (60 if unit == "h" else 1)
        for number, unit in re.findall(r"(\d+) (h|min)\b", text)
    )


def page_of(root: Path, href: str) -> Page:
    return Page(root / re.sub(r"\.html$", ".py", href), root)


def stated(root: Path, href: str) -> int:
    """The minutes that a page states; of the exercises, the sum of what each states."""
    if href.endswith(("/exercises.html", "/clinic.html")):
        text = page_of(root, href).source.read_text()
        return sum(int(m) for m in re.findall(r"^# \*[^*\n]*?(\d+) min ·", text, re.MULTILINE))
    return page_of(root, href).summary().minutes


def test_every_page_is_a_station_with_its_minutes(index: BeautifulSoup, root: Path) -> None:
    rows = index.select(".path-map li.row")
    links = [str(row.a["href"]) for row in rows]
    assert {page.name for page in discover(root)} <= {re.sub(r"\.html$", "", x) for x in links}
    for row, href in zip(rows, links, strict=True):
        assert minutes_of(row.select_one(".minutes").get_text()) == stated(root, href), href
    for head in index.select(".path-map .chapter"):
        group = [str(a["href"]) for a in head.find_next_sibling("ol").select("a")]
        assert head.select_one(".minutes").get_text() == time_of(
            (re.sub(r"\.html$", "", href), stated(root, href)) for href in group
        )


def asked(root: Path, page: str, numbers: list[int]) -> int:
    """Minutes of those exercises of a page that a path gives out; of all where it names none."""
    source = (root / page).with_suffix(".py").read_text("utf-8")
    minutes = [int(n) for n in re.findall(r"^# \*[^*\n]* · (\d+) min · ", source, re.MULTILINE)]
    return sum(minutes[n - 1] for n in numbers) if numbers else sum(minutes)


def test_the_hours_of_each_path_are_those_of_its_pages(index: BeautifulSoup, root: Path) -> None:
    given = {route["id"]: route for route in yaml.safe_load((root / "book/paths.yaml").read_text())}
    assert len(given) == 4
    for name, route in given.items():
        stops = index.select(f'.path-map li[data-on~="{name}"] a')
        share = 1 + route.get("practice", 0)
        hrefs = [str(a["href"]) for a in stops]
        links = index.select(f'#path-{name} a[href*="/exercises.html#"]')
        numbers = {
            href: [int(a.get_text()) for a in links if str(a["href"]).startswith(href)]
            for href in hrefs
        }
        total = time_of(
            (
                href.removesuffix(".html"),
                asked(root, href, numbers[href])
                if href.endswith("/exercises.html")
                else stated(root, href) * share,
            )
            for href in hrefs
        )
        told = index.select_one(f'.path-cards [data-path="{name}"] .path-sum').get_text()
        assert told == f"{len(stops)} pages, {total}", name
        pages = [page for week in route.get("weeks", [route]) for page in week["pages"]]
        listed = [a["href"] for a in index.select(f"#path-{name} li > a") if "#" not in a["href"]]
        assert listed == [f"{find(page, root).name}.html" for page in pages], "in order"


def test_the_course_has_ten_weeks_of_two_hours_and_the_exercises_of_what_it_reads(
    index: BeautifulSoup, root: Path
) -> None:
    weeks = [p for p in index.select("#path-course p") if p.get_text().startswith("Week ")]
    assert len(weeks) == 10
    assert all(60 <= minutes_of(week.get_text()) <= 240 for week in weeks)
    for source in root.glob("chapters/*/exercises.py"):
        page = f"chapters/{source.parent.name}/exercises.html"
        done = [int(a.get_text()) for a in index.select(f'#path-course a[href^="{page}#"]')]
        given = re.findall(r"^# ## (\d+)\. ", source.read_text("utf-8"), re.MULTILINE)
        pages = {path.stem for path in source.parent.glob("[0-9]*.ipynb")}
        links = index.select(f'#path-course a[href^="chapters/{source.parent.name}/"]')
        read = {Path(str(a["href"]).partition("#")[0]).stem for a in links}
        if pages <= read:
            assert sorted(done) == [int(number) for number in given], page
        else:  # it goes by the chapter's main line
            assert done, page
            assert set(done) < {int(number) for number in given}, page
    assert "(our assumption)" in index.select_one("#path-course").get_text()


def test_each_stop_is_on_the_line_and_is_said(index: BeautifulSoup) -> None:
    for row in index.select(".path-map li.row"):
        on = {i["data-path"] for i in row.select("i.stop")}
        assert on == set(str(row["data-on"]).split())
        assert row.select_one(".visually-hidden").get_text().count(",") == max(len(on), 1) + 1
        for i in row.select("i.stop:not(.pass)"):
            pytest.fail(f"a stop beside its line: {i}")


# -- in a browser

FIRST = "chapters/00_start/01_ten_minutes.html"
STORE = "Object.keys(localStorage).filter(key => key.startsWith('deepdive')).sort()"


def card(page: Opened, name: str) -> str:
    return page.inner_text(f".path-cards [data-path={name}]")


def test_a_path_is_chosen_followed_and_kept(book: Path, reader: Reader) -> None:
    online = reader.online(book)
    page = reader.open(f"{online}index.html")
    assert "5 pages, 2 h reading" in card(page, "evening")
    assert page.locator(".path-map nav.chosen").count() == 0
    page.click(".path-cards [data-path=evening] .path-go a")
    assert page.url == online + FIRST
    page.wait_for_selector(".reading:has-text('One evening: next is 2.2 Attention (25 min)')")
    page.click("text=Mark as read")
    page.reload()
    assert "✓ Read." in page.inner_text(".reading")
    assert "✓" in page.inner_text(".bd-sidebar-primary a.current")
    page = reader.open(f"{online}index.html")  # another tab
    page.wait_for_selector(".path-cards li:has-text('1 of 5 pages read, 2 h reading left')")
    assert "Continue with 2.2 Attention" in card(page, "evening")
    assert re.search(
        r"1 of \d+ pages read, \d+½? h reading \+ \d+½? h exercises left", card(page, "course")
    )
    assert page.locator(".path-cards [aria-current]").inner_text() == "AOne evening"
    assert page.locator(".path-map li.chosen").count() == 5
    assert page.locator(".path-map nav .tick").count() == 1
    assert page.locator(".path-lists details[open]").get_attribute("data-path") == "evening"
    page.goto(online + "chapters/02_transformer/05_self_attention.html")
    assert "next is 2.6" in page.inner_text(".reading"), "what follows, not what was left out"
    page.goto(online + "contents.html")
    assert page.locator(".bd-article .tick").count() == 1
    assert reader.complaints == []
    assert all(url.startswith((online, "data:")) for url in reader.requests)
    assert reader.context.cookies() == []


def test_a_mark_is_taken_back_and_a_path_is_left(book: Path, reader: Reader) -> None:
    online = reader.online(book)
    page = reader.open(online + FIRST)
    page.click("text=Mark as read")
    page.click("text=Mark as not read")
    assert page.evaluate(STORE) == []
    assert page.locator(".tick").count() == 0
    page.goto(online + "index.html")
    page.click(".path-cards [data-path=task] .path-name a")
    assert page.evaluate("localStorage['deepdive:path']") == "task"
    page.click("text=Leave this path")
    assert page.evaluate(STORE) == []
    assert page.locator(".path-map .chosen:not(.head .chosen)").count() == 0


def test_a_path_that_is_read_says_what_to_do(book: Path, reader: Reader) -> None:
    online = reader.online(book)
    page = reader.open(f"{online}index.html")
    page.evaluate("""() => {
      const path = deepdivePaths.paths[0];
      localStorage["deepdive:path"] = path.id;
      for (const [name] of path.steps) localStorage[`deepdive:read/${name}`] = "yes";
    }""")
    page.reload()
    assert "5 of 5 pages read, 0 min left" in card(page, "evening")
    assert "Last: Ablate attention heads" in card(page, "evening")
    page.goto(online + "chapters/02_transformer/12_decoder.html")
    assert "One evening: last, Ablate attention heads" in page.inner_text(".reading")
    assert reader.complaints == []


def test_all_is_forgotten_and_nothing_else(book: Path, reader: Reader) -> None:
    page = reader.open(book / "index.html")
    page.evaluate("localStorage['deepdive:02_transformer/test-root'] = 'right 0'")
    page.evaluate("localStorage['another'] = 'kept'")
    page.click(".path-cards [data-path=research] .path-name a")
    assert len(page.evaluate(STORE)) == 2
    page.click("text=Forget everything")
    page.click("button:text-is('Forget')")
    assert page.evaluate(STORE) == []
    assert page.evaluate("localStorage['another']") == "kept"
    assert page.locator(".path-cards .chosen").count() == 0


def test_pages_read_are_no_predictions(reader: Reader) -> None:
    reader.context.add_init_script("""
      localStorage["deepdive:read/page"] = "yes";
      localStorage["deepdive:1/which"] = "right 1";
    """)
    page = reader.open(score().html)
    assert page.inner_text("p") == "You have predicted 1 of 1 right."


def test_without_a_store_the_paths_are_there_and_nothing_is_kept(
    book: Path, reader: Reader
) -> None:
    reader.context.add_init_script("""
      const real = Object.getOwnPropertyDescriptor(window, "localStorage");
      Object.defineProperty(window, "localStorage", { get() {
        if (Error().stack.includes("paths.js")) throw Error("closed");
        return real.get.call(window);
      } });
    """)
    page = reader.open(book / "index.html")
    assert "Start with 0.1" in card(page, "evening")
    assert not page.is_visible(".path-keep")
    page.goto((book / FIRST).as_uri())
    assert page.locator(".reading").count() == 0
    assert reader.complaints == []


def test_without_scripts_map_and_lists_are_there(book: Path, chromium: Browser) -> None:
    page = chromium.new_context(java_script_enabled=False).new_page()
    page.goto((book / "index.html").as_uri())
    for chapter in page.locator(".path-map nav summary").all():
        chapter.click()
    assert page.locator(".path-map li:visible").count() >= 26
    page.click(".path-lists [data-path=course] summary")
    assert page.locator("#path-course").get_by_text("Week 10").is_visible()
    assert not page.is_visible(".path-keep")
    page.context.close()


def test_the_keyboard_chooses_a_path(book: Path, reader: Reader) -> None:
    page = reader.open(book / "index.html")
    page.focus(".path-cards [data-path=course] .path-name a")
    page.keyboard.press("Enter")
    assert page.evaluate("localStorage['deepdive:path']") == "course"
    assert page.locator("#path-course").is_visible()
    page.focus(".path-cards [data-path=course] .path-name a")
    page.keyboard.press("Tab")
    assert "0.4" in page.evaluate("document.activeElement.textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_are_told_apart_by_kind_and_seen(book: Path, reader: Reader, scheme: str) -> None:
    page = reader.open(book / "index.html", color_scheme=scheme)
    lines = page.evaluate("""() => ["A", "B", "C", "D"].map(line => {
      const part = document.querySelector(`.path-map i.pass.line-${line}`);
      const style = getComputedStyle(part, "::before");
      return [style.borderLeftStyle, style.borderLeftColor];
    })""")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert len({kind for kind, _ in lines}) == 4
    for _, color in lines:
        assert contrast(color, ground) >= 3


def contrast(*colors: str) -> float:
    """The contrast of two colours `rgb(r, g, b)`, as WCAG defines it."""
    light = []
    for color in colors:
        parts = [int(number) / 255 for number in re.findall(r"\d+", color)[:3]]
        flat = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        light.append(0.2126 * flat[0] + 0.7152 * flat[1] + 0.0722 * flat[2])
    return (max(light) + 0.05) / (min(light) + 0.05)


def test_the_first_page_begins_with_what_moves_and_its_map_is_near(
    book: Path, reader: Reader
) -> None:
    page = reader.open(book / "index.html")
    moved = page.locator(".dda").bounding_box()
    assert moved["y"] + moved["height"] <= 900
    assert page.locator("#the-map").bounding_box()["y"] <= 2200
    assert page.evaluate("document.scrollingElement.scrollHeight") <= 3000
    small = reader.open(book / "index.html", size=PHONE)
    small.click(".path-cards [data-path=course] .path-name a")
    assert small.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0


# -- the first page


def test_the_model_of_the_first_page_translates_the_reader_s_own_words(
    book: Path, reader: Reader
) -> None:
    page = reader.open(book / "index.html")
    field = page.locator(".front-live input[type=text]")
    field.fill("quatre vingt dix")
    page.wait_for_function(
        "() => document.querySelector('.front-live .answer').innerText.includes('0')"
    )
    assert re.findall(r"\d", page.locator(".front-live .answer").inner_text()) == ["9", "0"]
    assert reader.complaints == []


def test_each_chapter_has_a_card_with_a_drawing_and_what_one_can_do_then(
    index: BeautifulSoup, root: Path
) -> None:
    cards = index.select(".chapter-cards > li")
    assert len(cards) == len(index.select(".path-map nav summary")) >= 6
    for card in cards:
        assert card.svg["aria-hidden"] == "true"
        assert card.find_all("p")[-1].get_text().startswith("You can ")
        assert (root / card.a["href"]).with_suffix(".ipynb").is_file()
        number = re.search(r"(\d+) pages", card.get_text())
        title = card.a.get_text()
        chapter = next(d for d in index.select(".path-map nav details") if d.h3.get_text() == title)
        assert number
        assert int(number[1]) == len(chapter.select("li"))


def test_a_chosen_path_opens_its_chapters_in_the_map(book: Path, reader: Reader) -> None:
    page = reader.open(f"{reader.online(book)}index.html")
    assert page.locator(".path-map details[open]").count() == 0
    page.click(".path-cards [data-path=evening] .path-name a")
    assert page.locator(".path-map details[open] h3").all_inner_texts() == [
        "Start",
        "2 Transformer",
    ]

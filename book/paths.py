"""Reading paths: `paths.yaml` checked against the pages, its hours added up, drawn as a strip map.

Every page is a station, every path a line. The map is a list in HTML: it needs no scripts, wraps on
a phone and grows with the pages. `_static/paths.js` adds what the reader's browser keeps.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import yaml

LINES = "ABCD"  # paths.css has a colour and a kind of line for each
TEXTS = {"id", "name", "for", "after", "end", "at"}
# Shown by paths.js where the browser keeps something.
KEPT = """\
<div class="path-keep" hidden>
<p>A page counts as read when you press <em>Mark as read</em> at its end. Your path, the pages
read and your answers stay in this browser; nothing is sent.</p>
<p class="path-file" hidden>Opened from a folder, some browsers, Firefox among them, remember
for each page alone. <code>python -m http.server</code> in that folder fixes it.</p>
<details><summary>Forget everything</summary>
<p>Your path, the pages read, your answers. <button type="button">Forget</button></p>
</details></div>"""


class PathError(Exception):
    """A fault of `paths.yaml`."""


@dataclass(frozen=True)
class Station:
    """One page of the book: its name below the root, what it is called, minutes to read or do."""

    name: str
    label: str
    minutes: int

    def link(self, words: str = "", **data: str) -> str:
        """A link to the page from the index, with `data-` attributes."""
        more = "".join(f' data-{key}="{value}"' for key, value in data.items())
        return f'<a href="{self.name}.html"{more}>{escape(words or self.label)}</a>'


@dataclass(frozen=True)
class Exercise:
    """One exercise of a chapter; `page` is the name of the page that holds it."""

    number: int
    title: str
    minutes: int
    page: str

    def link(self) -> str:
        anchor = re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")
        return f'<a href="{self.page}.html#{anchor}" title="{escape(self.title)}">{self.number}</a>'


@dataclass(frozen=True)
class Part:
    """What is read in one go: a week, or the whole of a path without weeks."""

    steps: list[tuple[Station, int]]
    exercises: list[Exercise]

    @property
    def minutes(self) -> int:
        """Minutes of the pages and exercises; a page of exercises counts by these, not twice."""
        read = sum(minutes for station, minutes in self.steps if not is_exercises(station.name))
        return read + sum(exercise.minutes for exercise in self.exercises)


@dataclass(frozen=True)
class Route:
    """One path: the words of `paths.yaml`, its line's letter, its parts in order."""

    id: str
    name: str
    audience: str
    after: str
    end: str
    at: Station
    line: str
    weekly: bool
    practice: float
    parts: list[Part]

    @property
    def steps(self) -> list[tuple[Station, int]]:
        return [step for part in self.parts for step in part.steps]

    @property
    def minutes(self) -> int:
        return sum(minutes for _, minutes in self.steps)

    @property
    def time(self) -> str:
        return time_of((station.name, minutes) for station, minutes in self.steps)


def hours(minutes: int) -> str:
    """`50 min`, `2 h`, `2 h 5 min`."""
    whole, rest = divmod(minutes, 60)
    return " ".join([f"{whole} h"] * bool(whole) + [f"{rest} min"] * bool(rest or not whole))


def about(minutes: int) -> str:
    """Minutes to the half hour, from one hour on: `50 min`, `2 h`, `2½ h`."""
    if minutes < 60:
        return hours(minutes)
    whole, half = divmod((minutes + 15) // 30, 2)
    return f"{whole}{'½' * half} h"


def spent(reading: int, exercises: int = 0) -> str:
    """What a chapter or a path takes, from minutes: `8 h reading + 3 h exercises`."""
    return f"{about(reading)} reading" + f" + {about(exercises)} exercises" * bool(exercises)


def is_exercises(name: str) -> bool:
    return name.endswith("/exercises")


def time_of(steps: Iterable[tuple[str, int]]) -> str:
    """What pages take together, from their names and minutes, exercises apart from reading."""
    done = {True: 0, False: 0}
    for name, minutes in steps:
        done[name.endswith(("/exercises", "/clinic"))] += minutes
    return spent(done[False], done[True])


def exercises(source: Path, name: str) -> list[Exercise]:
    """The exercises of a chapter, with the minutes that each states."""
    found = re.findall(
        r"^# ## (\d+)\. (.+)\n#\n# \*.*?(\d+) min", source.read_text("utf-8"), re.MULTILINE
    )
    return [Exercise(int(number), title, int(took), name) for number, title, took in found]


class Paths:
    """The paths of one checkout.

    Args:
        root: the checkout; without `book/paths.yaml` there are stations and no paths.
        groups: by chapter, each page as (label, notebook, its summary or None for exercises).
        find: from a number or name to a page, or an error that names near ones.

    Raises:
        PathError: a path names what does not exist, names it twice, or lacks a part.
    """

    def __init__(
        self,
        root: Path,
        groups: dict[str, list[tuple[str, Path, Any]]],
        find: Callable[[str, Path], Any],
    ) -> None:
        self.root, self.find = root, find
        self.exercises: dict[str, list[Exercise]] = {}
        self.groups = {
            title: [self._station(title, *entry) for entry in entries]
            for title, entries in groups.items()
        }
        self.stations = {s.name: s for group in self.groups.values() for s in group}
        file = root / "book" / "paths.yaml"
        given = yaml.safe_load(file.read_text("utf-8")) if file.is_file() else []
        if len(given) > len(LINES):
            raise PathError(f"{len(given)} paths, and colours for {len(LINES)}: see paths.css")
        self.routes = [self._route(*each) for each in zip(given, LINES, strict=False)]

    # -- reading and checking

    def _station(self, title: str, label: str, notebook: Path, about: Any) -> Station:
        name = notebook.relative_to(self.root).with_suffix("").as_posix()
        if about is not None:
            return Station(name, label, about.minutes)
        found = exercises(notebook.with_suffix(".py"), name)
        if is_exercises(name):
            self.exercises[notebook.parent.name] = found
        whose = f"chapter {title}" if title[0].isdigit() else f"the {title.lower()}"
        return Station(name, f"{label} of {whose}", sum(e.minutes for e in found))

    def _route(self, given: dict[str, Any], line: str) -> Route:
        name = given.get("id", f"number {line}")
        if missing := TEXTS - given.keys():
            raise PathError(f"path {name} lacks {', '.join(sorted(missing))}")
        weeks = given.get("weeks") or [{"pages": given.get("pages")}]
        practice = given.get("practice", 0)
        parts = [self._part(name, week, practice) for week in weeks]
        # A page of exercises is done when the last of them is, so it stands in that part alone.
        left: dict[str, int] = {}
        for part in parts:
            for exercise in part.exercises:
                left[exercise.page] = left.get(exercise.page, 0) + exercise.minutes
        for part in reversed(parts):
            for page in dict.fromkeys(exercise.page for exercise in part.exercises):
                if page in left:
                    part.steps.append((self.stations[page], left.pop(page)))
        names = [station.name for part in parts for station, _ in part.steps]
        if twice := {each for each in names if names.count(each) > 1}:
            raise PathError(f"path {name} names {', '.join(sorted(twice))} twice")
        words = [given[key] for key in ("id", "name", "for", "after", "end")]
        return Route(*words, self._page(name, given["at"]), line, "weeks" in given, practice, parts)

    def _part(self, path: str, week: dict[str, Any], practice: float) -> Part:
        if not week.get("pages"):
            raise PathError(f"path {path}: each week, or the path itself, needs pages")
        stations = [self._page(path, page) for page in week["pages"]]
        done = [
            self._exercise(path, chapter, number)
            for chapter, numbers in week.get("exercises", {}).items()
            for number in numbers
        ]
        return Part([(s, round(s.minutes * (1 + practice))) for s in stations], done)

    def _page(self, path: str, query: Any) -> Station:
        if not isinstance(query, str):
            raise PathError(f'path {path}: page {query} must stand in quotes, as "{query}"')
        try:
            return self.stations[self.find(query, self.root).name]
        except ValueError as error:
            raise PathError(f"path {path}: {error}") from None
        except KeyError:
            raise PathError(f"path {path}: page {query!r} has no notebook yet") from None

    def _exercise(self, path: str, chapter: str, number: int) -> Exercise:
        known = {exercise.number: exercise for exercise in self.exercises.get(chapter, [])}
        if number not in known:
            raise PathError(
                f"path {path}: chapter {chapter} has no exercise {number}, only {sorted(known)}"
            )
        return known[number]

    # -- writing

    def cards(self) -> str:
        """Each path in a few words: for whom, how long, what one can do then, where to begin."""
        return raw(
            '<nav aria-label="Reading paths"><ul class="path-cards">',
            *(
                f'<li data-path="{r.id}" class="line-{r.line}">'
                f'<p class="path-name"><a href="#path-{r.id}" data-choose>{_sign(r)}'
                f'{escape(r.name)}</a> <span class="path-sum">{_sum(r)}</span></p>'
                f"<p>For {escape(r.audience)}. {escape(r.after)}</p>"
                f'<p class="path-go">{_begin(r)}</p></li>'
                for r in self.routes
            ),
            "</ul></nav>",
        )

    def map(self) -> str:
        """The strip map, and beside it the list of each path."""
        rows = []
        stops = {r.line: {s.name for s, _ in r.steps} for r in self.routes}
        everything = list(self.stations)
        spans = {
            line: [i for i, name in enumerate(everything) if name in names]
            for line, names in stops.items()
        }

        def lanes(place: float, name: str = "") -> str:
            cells = []
            for r in self.routes:
                first, end = spans[r.line][0], spans[r.line][-1]
                kind = [f"line-{r.line}"]
                if first <= place <= end and first < end:
                    kind += ["pass"] + ["first"] * (place == first) + ["last"] * (place == end)
                kind += ["stop"] * (name in stops[r.line])
                cells.append(f'<i class="{" ".join(kind)}" data-path="{r.id}"></i>')
            return f'<span class="lanes" aria-hidden="true">{"".join(cells)}</span>'

        place = -1
        for title, group in self.groups.items():
            total = time_of((station.name, station.minutes) for station in group)
            rows.append(
                f'<details><summary class="row chapter">{lanes(place + 0.5)}'
                f'<h3>{escape(title)}</h3><span class="minutes">{total}</span></summary><ol>'
            )
            for station in group:
                place += 1
                on = [r for r in self.routes if station.name in stops[r.line]]
                names = ", ".join(escape(r.name) for r in on) or "no path"
                rows.append(
                    f'<li class="row" data-on="{" ".join(r.id for r in on)}">'
                    f"{lanes(place, station.name)}{station.link()}"
                    f'<span class="visually-hidden">, on {names},</span> '
                    f'<span class="minutes">{station.minutes} min</span></li>'
                )
            rows.append("</ol></details>")
        head = "".join(f'<i class="line-{r.line} chosen">{_sign(r)}</i>' for r in self.routes)
        return raw(
            '<div class="path-map"><nav aria-label="Map of the pages">',
            f'<div class="row head" aria-hidden="true"><span class="lanes">{head}</span></div>',
            *rows,
            '</nav><div class="path-lists">',
            *(self._list(r) for r in self.routes),
            KEPT,
            "</div></div>",
        )

    def _list(self, route: Route) -> str:
        """The pages of a path in order, folded."""
        lines = [
            f'<details data-path="{route.id}" class="line-{route.line}">'
            f"<summary>{_sign(route)}{escape(route.name)} "
            f'<span class="path-sum">{_sum(route)}</span></summary>',
            f'<div id="path-{route.id}">',
        ]
        if route.practice:
            many = "as long" if route.practice == 1 else f"{route.practice:g} times as long"
            lines.append(
                f"<p>Hours include reading, {many} again for work on paper and in code (our "
                "assumption), and the stated minutes of the exercises.</p>"
            )
        for number, part in enumerate(route.parts, start=1):
            if route.weekly:
                lines.append(f"<p><strong>Week {number}</strong> {hours(part.minutes)}</p>")
            lines.append("<ul>" if route.weekly else "<ol>")
            lines += [
                f'<li>{station.link()} <span class="minutes">{hours(minutes)}</span></li>'
                for station, minutes in part.steps
                if not is_exercises(station.name)
            ]
            if part.exercises:
                took = sum(exercise.minutes for exercise in part.exercises)
                links = ", ".join(exercise.link() for exercise in part.exercises)
                lines.append(f'<li>Exercises {links} <span class="minutes">{took} min</span></li>')
            lines.append("</ul>" if route.weekly else "</ol>")
        do = route.at.link(f"Do it in {_short(route.at)}")
        lines.append(
            f"<p><strong>At the end:</strong> {escape(route.end)} {do}.</p></div></details>"
        )
        return "".join(lines)

    def script(self) -> str:
        """What `paths.js` needs to know."""
        given = {
            "pages": {s.name: [s.label, s.minutes] for s in self.stations.values()},
            "paths": [
                {
                    "id": r.id,
                    "name": r.name,
                    "end": [r.end, r.at.name],
                    "steps": [[station.name, minutes] for station, minutes in r.steps],
                }
                for r in self.routes
            ],
        }
        return f"const deepdivePaths = {json.dumps(given, ensure_ascii=False)};\n"


def _sign(route: Route) -> str:
    return f'<span class="sign" aria-hidden="true">{route.line}</span>'


def _sum(route: Route) -> str:
    return f"{len(route.steps)} pages, {route.time}"


def _begin(route: Route) -> str:
    first = route.steps[0][0]
    return f"<span>Start with</span> {first.link(choose='')}"


def _short(station: Station) -> str:
    """`2.12`, or the whole label of what has no number."""
    number = re.match(r"\d+[a-z]?\.\d+[a-z]?(?= )", station.label)
    return number[0] if number else station.label


def raw(*lines: str) -> str:
    """Lines of HTML as MyST passes them on untouched."""
    return "```{raw} html\n" + "\n".join(lines) + "\n```\n"

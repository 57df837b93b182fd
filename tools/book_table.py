"""Write the README's numbers, and its table of the book: a row per chapter, its pages folded."""

from __future__ import annotations

import csv
import json
import re
import sys
from itertools import groupby
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "lib"), str(ROOT / "book")]

from paths import exercises, time_of  # noqa: E402

from deepdive_book.site.pages import Page, discover, number_of  # noqa: E402

README = ROOT / "README.md"


def given(folder: Path) -> list[tuple[str, int]]:
    """The chapter's exercises and its bug clinic, with their minutes."""
    found = [folder / f"{kind}.py" for kind in ("exercises", "clinic")]
    return [
        (f"{folder.name}/{each.stem}", sum(e.minutes for e in exercises(each, each.stem)))
        for each in found
        if each.is_file()
    ]


MORE = "More experiments"  # the title of every second page, before its colon


def title(page: Page) -> str:
    """A title without the hook behind its colon, or a study's comma: the contents have it all."""
    return re.split(": |, " if page.is_study else ": ", page.summary().title)[0]


def table(root: Path) -> str:
    """The chapters as a Markdown table, and below it every page, folded."""
    afterwards = yaml.safe_load((root / "book" / "chapters.yaml").read_text("utf-8"))
    rows = ["| chapter | length | afterwards you can |", "|---|---|---|"]
    folded = []
    for folder, found in groupby(discover(root), lambda page: page.source.parent):
        pages = list(found)
        name = f"{number_of(folder.name)} {pages[0].chapter}"
        name = "Case studies" if pages[0].is_study else name
        steps = [(page.name, page.summary().minutes) for page in pages] + given(folder)
        can = afterwards[folder.name].removeprefix("You can ").rstrip(".")
        rows.append(
            f"| [{name}]({pages[0].name}.ipynb) | {len(pages)} pages, {time_of(steps)} | {can} |"
        )
        rest = [p for p in pages if not re.search("00_opening|_closing", p.source.stem)]
        titles = [title(page) for page in rest]
        folded.append(f"**{name}**: {'; '.join(t for t in titles if t != MORE)}")
    return "\n".join(
        [
            *rows,
            "",
            "<details><summary>All pages</summary>",
            "",
            "\n\n".join(folded),
            "",
            "</details>",
        ]
    )


def numbers(root: Path) -> str:
    """One line: pages, systems and what proves them, data sets, exercises, questions."""
    with (root / "atlas.csv").open(encoding="utf-8", newline="") as file:
        proved = [
            row["oracle"].lower().replace("x-transformers", "")  # another package
            for row in csv.DictReader(file)
            if row["status"] == "proved"
        ]
    published = sum("transformers" in oracle for oracle in proved)
    torch = sum("torch" in oracle and "transformers" not in oracle for oracle in proved)
    registry = json.loads((root / "lib/deepdive/data/registry.json").read_text("utf-8"))
    tasks = sum(len(exercises(p, "")) for p in root.glob("chapters/*/exercises.py"))
    asked = sum(
        len(re.findall(r"^  - id:", p.read_text("utf-8"), re.MULTILINE))
        for p in root.glob("chapters/*/questions.yaml")
    )
    return (
        f"**{len(discover(root))} pages · {len(proved)} systems proved** ({published} against "
        f"Hugging Face Transformers, {torch} against PyTorch,\nthe others against captum, "
        "scikit-learn, and similar libraries, closed forms, or the paper's equations)\n"
        f"**· {len(registry['datasets'])} data sets · {tasks} exercises with solutions and checks "
        f"· {asked} quiz questions**"
    )


def replaced(text: str, name: str, content: str) -> str:
    """Return the text with what stands between the two markers of a name replaced."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, first, rest = text.partition(begin)
    _, last, after = rest.partition(end)
    if not first or not last:
        raise SystemExit(f"README.md lacks the markers {begin} and {end}")
    return f"{before}{begin}\n{content}\n{end}{after}"


def written(text: str, root: Path) -> str:
    """Return the README with its numbers and its table written again."""
    return replaced(replaced(text, "numbers", numbers(root)), "book", table(root))


def main() -> None:
    README.write_text(written(README.read_text("utf-8"), ROOT), encoding="utf-8")
    print("README.md: the numbers and the table of the book are written")


if __name__ == "__main__":
    main()

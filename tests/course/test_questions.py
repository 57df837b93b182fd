"""The question bank and the concept test: sound items, numbers that are true, and two exports."""

from __future__ import annotations

import math
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import torch
import yaml
from checkout import ROOT
from click.testing import CliRunner
from torch import nn

from deepdive_book.cli import main
from deepdive_book.course.questions import FILES, Item, load
from deepdive_book.course.questions.gain import gain, scores
from deepdive_book.course.questions.gift import escaped, gift
from deepdive_book.course.questions.html import html, inline
from deepdive_book.course.questions.qti import assessment, manifest, write_qti
from deepdive_book.site.pages import PageError
from deepdive_book.site.terminal import plain_text

CHAPTER = ROOT / "chapters" / "02_transformer"
BANKS = {which: load(CHAPTER, which) for which in FILES}
ITEMS = {item.id: item for bank in BANKS.values() for item in bank.items}
CHAPTERS = sorted(path.parent for path in ROOT.glob("chapters/*/questions.yaml"))
EVERY = {bank.name: bank for folder in CHAPTERS for bank in (load(folder, w) for w in FILES)}
each_chapter = pytest.mark.parametrize("name", [folder.name for folder in CHAPTERS])


def right(item: Item) -> str:
    return item.options[item.right].text


# -- the items


def test_there_are_25_items_and_two_forms_of_12() -> None:
    assert [len(BANKS[which].items) for which in ("bank", "before", "after")] == [25, 12, 12]
    assert len(ITEMS) == 49


@each_chapter
def test_the_two_forms_ask_for_the_same_concepts_in_other_words(name: str) -> None:
    pairs = list(zip(EVERY[f"{name}_before"].items, EVERY[f"{name}_after"].items, strict=True))
    for before, after in pairs:
        assert before.concept == after.concept != ""
        alike = ("page", "section", "skill", "difficulty")
        assert [getattr(before, a) for a in alike] == [getattr(after, a) for a in alike]
        words = [set(re.findall(r"\w{4,}", item.stem.lower())) for item in (before, after)]
        assert len(words[0] & words[1]) <= 0.6 * min(map(len, words)), before.concept
    assert len({before.concept for before, _ in pairs}) == 12


@pytest.mark.parametrize("which", EVERY)
def test_who_guesses_by_place_or_length_gains_nothing(which: str) -> None:
    items = EVERY[which].items
    places = Counter(item.right for item in items)
    assert max(places.values()) - min(places[i] for i in range(4)) <= 1
    lengths = [[len(option.text) for option in item.options] for item in items]
    of_right = mean(each[item.right] for item, each in zip(items, lengths, strict=True))
    of_wrong = mean(
        n for item, each in zip(items, lengths, strict=True)
        for i, n in enumerate(each) if i != item.right
    )  # fmt: skip
    assert abs(of_right / of_wrong - 1) < 0.15
    for best in (max, min):
        hits = 0.0
        for item, each in zip(items, lengths, strict=True):
            far = [i for i, n in enumerate(each) if n == best(each)]
            hits += (item.right in far) / len(far)  # among equals he draws lots
        assert hits / len(items) <= 0.35, best


@each_chapter
def test_the_bank_covers_the_chapter_and_asks_more_than_sums(name: str) -> None:
    items = EVERY[f"{name}_bank"].items
    pages = [*(ROOT / "chapters" / name).glob("[0-9][0-9]_*.py")]
    assert len({item.page for item in items}) >= min(12, 2 * len(pages) / 3)
    assert {item.difficulty for item in items} == {"easy", "medium", "hard"}
    assert max(Counter(item.skill for item in items).values()) <= 0.36 * len(items)
    marks = "".join(item.stem for item in items)
    assert marks.count("```python") >= 3
    assert marks.count("|---") >= 2


def test_the_options_of_an_item_say_why_each_for_itself() -> None:
    for item in (item for bank in EVERY.values() for item in bank.items):
        whys = [option.why for option in item.options]
        assert len(set(whys)) == 4, item.id
        for why in whys:
            assert why.endswith((".", "$.")), (item.id, why)
            assert len(why) < 130, (item.id, why)


# -- the numbers


def softmax(*exponents: float) -> list[float]:
    powers = [math.exp(x) for x in exponents]
    return [p / sum(powers) for p in powers]


def mix(weights: list[float], values: list[float]) -> float:
    return sum(w * v for w, v in zip(weights, values, strict=True))


def shares(row: list[float], ddof: int = 0) -> float:
    middle = mean(row)
    return (row[0] - middle) / math.sqrt(sum((x - middle) ** 2 for x in row) / (len(row) - ddof))


def rate(t: int, w: int) -> float:
    return min(t**-0.5, t * w**-1.5)


def layer(n: int, projections: int = 8, square: int = 4, d: int = 512) -> float:
    return projections * n * d**2 + square * n**2 * d


LOGS = [math.log(n) for n in (1, 2, 5)]
# Each right answer with a number, and then each wrong one whose reason says how it comes about.
NUMBERS: dict[str, list[tuple[str, float]]] = {
    "gradient-product": [
        ("about 1 %", round(100 * 0.8**20)), ("about 4 %", 80 / 20),
        ("about 11 %", round(100 * 0.8**10)), ("about 80 %", 80),
    ],
    "soft-look-up": [
        ("2", mix(softmax(*LOGS), [8, 4, 0])), ("4", mean([8, 4, 0])),
        ("1.2", mix([s / sum(LOGS) for s in LOGS], [8, 4, 0])),
    ],
    "which-root": [
        (r"$\sqrt{64} = 8$", math.sqrt(512 / 8)), (r"$\sqrt{512} = 22.6$", math.sqrt(512)),
        ("$512 / 8 = 64$", 512 / 8), (r"$\sqrt{8} = 2.83$", math.sqrt(8)),
    ],
    "causal-and-padding": [
        ("6", torch.ones(3, 3).tril().sum().item()), ("9", 3 * 3),
        ("12", torch.ones(5, 5).tril()[:, :3].sum().item()),
        ("15", torch.ones(5, 5).tril().sum().item()),
    ],
    "norm-by-hand": [
        ("-1.34", shares([1, 3, 5, 7])), ("-1.16", shares([1, 3, 5, 7], ddof=1)),
        ("-0.60", -3 / 5), ("0.22", 1 / math.sqrt(mean([1, 9, 25, 49]))),
    ],
    "padding-in-the-loss": [
        ("0.243", (5 * 0.942 + 15 * 0.010) / 20), ("0.476", (0.942 + 0.010) / 2),
        ("0.314", 5 * 0.942 / 15),
    ],
    "twice-as-long": [
        ("2.7", layer(1024) / layer(512)), ("2.0", layer(1024, square=0) / layer(512, square=0)),
        ("4.0", layer(1024, projections=0) / layer(512, projections=0)), ("8.0", 2**3),
    ],
    "before-average": [("19", mix([0.5, 0.4, 0.1], [10, 20, 60])), ("30", mean([10, 20, 60]))],
    "before-scale": [("20", 2 * math.sqrt(400 / 4)), ("200", 2 * 400 / 4)],
    "before-square": [("4", 2 * 2)],
    "after-average": [
        ("20", mix([0.2, 0.7, 0.1], [40, 10, 50])), ("33", round(mean([40, 10, 50]))),
    ],
    "after-scale": [("40", 4 * math.sqrt(1600 / 16)), ("400", 4 * 1600 / 16)],
    "after-square": [("9", 3 * 3)],
    "after-search": [
        ("*b* and its word, 0.300", 0.3 * 1), ("*a* and any word, 0.175", 0.7 * 0.25),
    ],
    "before-search": [("over Q, with 0.36", 0.4 * 0.9), ("over P, with 0.30", 0.6 * 0.5)],
    "before-path": [("in A about 4 %, in B the message among 30 notes", round(100 * 0.9**30))],
    "after-path": [("in A about 0.015, in B exactly 1", round(0.9**40, 3))],
    "six-times-one": [
        ("3.15 million: one layer under six names", 3_152_384 / 1e6),
        ("18.9 million: six layers that learn apart", 6 * 3_152_384 / 1e6),
    ],
}  # fmt: skip
# Right answers whose number is a name, a shape or a count that stands in the stem.
GIVEN = {
    "no-root", "price-of-heads", "mask-too-late", "before-bottleneck", "before-heads",
    "before-two-sides", "before-alone", "after-two-sides", "after-alone", "after-at-once",
}  # fmt: skip


def test_every_number_in_an_answer_is_computed_here() -> None:
    with_number = {item.id for item in ITEMS.values() if re.search(r"\d", right(item))}
    assert with_number <= NUMBERS.keys() | GIVEN, with_number - NUMBERS.keys() - GIVEN
    for name, answers in NUMBERS.items():
        item = ITEMS[name]
        assert right(item) == answers[0][0], name
        for text, value in answers:
            assert text in {option.text for option in item.options}, (name, text)
            stated = re.search(r"(-?[\d.]+)\D*$", text.split(",")[0] if "A about" in text else text)
            if "million" in text:
                stated = re.match(r"[\d.]+", text)
            assert stated is not None
            said = stated[0 if "million" in text else 1]
            digits = len(said.partition(".")[2])
            assert round(value, digits) == float(said), (name, text, value)


def facts() -> dict[str, Callable[[], bool]]:
    """What the answers without numbers say, tried."""
    torch.manual_seed(0)
    q, k = torch.randn(2, 1000, 256)
    x = torch.randn(1, 5, 16)
    real = torch.tensor([[True, True, True, False]])

    def no_root() -> bool:
        weights = (torch.randn(200, 256) @ torch.randn(7, 256).T).softmax(-1)
        overflow_free = bool(torch.isfinite((100 * q).softmax(-1)).all())
        return bool(weights.max(-1).values.mean() > 0.9) and overflow_free

    def deviation() -> bool:
        return abs((q * k).sum(-1).std().item() - 16) < 1.5

    def mask_too_late() -> bool:
        def out(rows: torch.Tensor) -> torch.Tensor:
            w = (rows @ rows.mT / 4).softmax(-1) * torch.tensor([1.0, 1, 1, 1, 0])
            assert (w.sum(-1) < 1).all()
            return (w @ rows)[:, :4]

        other = x.clone()
        other[:, 4] += 1
        return not torch.allclose(out(x), out(other), atol=1e-3)

    def no_tanh() -> bool:
        weights = (torch.randn(6, 1) + torch.randn(1, 4)).softmax(-1)
        return torch.allclose(weights, weights[:1].expand(6, 4), atol=1e-6)

    def twins() -> bool:
        words = torch.randn(4, 16)[torch.tensor([0, 1, 2, 0, 3])]
        a, b, c = (words @ torch.randn(16, 16) for _ in range(3))
        out = (a @ b.T / 4).softmax(-1) @ c
        return torch.allclose(out[0], out[3], atol=1e-6)

    def view() -> bool:
        words = torch.arange(8)[None, :, None].expand(1, 8, 64).contiguous()
        heads = words.view(1, 4, 8, 16)
        return len(heads[0, 0].unique()) < 8 and len(heads.unique()) == 8

    def other_convention() -> bool:
        attention = nn.MultiheadAttention(16, 2, batch_first=True)
        rows = torch.randn(1, 4, 16)
        weights = attention(rows, rows, rows, key_padding_mask=real)[1]
        return torch.allclose(weights[..., 3], torch.ones(1, 4))

    def heads() -> bool:
        count = {
            h: sum(p.numel() for p in nn.MultiheadAttention(512, h).parameters()) for h in (1, 8)
        }
        return count[1] == count[8]

    def six() -> bool:
        inner = nn.Linear(3, 3)
        return len(list(nn.ModuleList([inner] * 6).parameters())) == 2

    return {
        "no-root": no_root, "deviation 16": deviation, "mask-too-late": mask_too_late,
        "no-tanh": no_tanh, "twins": twins, "cut-with-view": view,
        "other-convention": other_convention, "price-of-heads": heads, "six-times-one": six,
        "longer-warm-up": lambda: rate(100_000, 4_000) == rate(100_000, 16_000),
        "its peak is half": lambda: abs(rate(16_000, 16_000) / rate(4_000, 4_000) - 0.5) < 1e-9,
        "four-answers": lambda: round(math.log(4), 2) == 1.39,
        "within-the-seeds": lambda: abs(mean([25.1, 25.5, 25.9]) - 25.5) < 1e-9,
        "before-heads": lambda: (10 + 20) / 2 == (0 + 30) / 2 == 15,
    }  # fmt: skip


@pytest.mark.parametrize("name", facts())
def test_what_an_answer_says_is_so(name: str) -> None:
    assert facts()[name]()


# -- what is refused


def written(folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    chapter = folder / "02_transformer"
    chapter.mkdir()
    (chapter / "02_attention.py").write_text("# # Attention\n# ## Why?\n")
    item: dict[str, Any] = {
        "id": "one", "page": "02_attention", "section": "Why?", "skill": "predict",
        "difficulty": "easy", "stem": "Which?", "right": "a", "why": "So.",
        "wrong": [{"text": x, "why": "No."} for x in "bcd"],
    }  # fmt: skip
    items = [item]
    change({"item": item, "items": items})
    text = yaml.safe_dump({"title": "One", "items": items})
    (chapter / "questions.yaml").write_text(text)
    return chapter


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: x["item"].pop("why"), r"item 1 \(one\) lacks why"),
        (lambda x: x["item"].update(section="How?"), "no heading 'How\\?'"),
        (lambda x: x["item"].update(page="09_gone"), "09_gone.py has no heading"),
        (lambda x: x["item"].update(skill="guess"), "skill is one of"),
        (lambda x: x["item"]["wrong"].pop(), "four different options"),
        (lambda x: x["item"].update(right="b"), "four different options"),
        (lambda x: x["items"].append(dict(x["item"])), "one comes twice"),
    ],
)
def test_an_item_that_would_mislead_is_named(tmp_path: Path, change: Any, words: str) -> None:
    with pytest.raises(PageError, match=words):
        load(written(tmp_path, change))


def test_a_sound_item_is_read_and_a_missing_file_named(tmp_path: Path) -> None:
    chapter = written(tmp_path, lambda x: None)
    assert [o.text for o in load(chapter).items[0].options if o.right] == ["a"]
    with pytest.raises(PageError, match=r"has no concept_after\.yaml"):
        load(chapter, "after")


# -- HTML


def test_formulas_code_and_tables_become_html() -> None:
    assert inline("$a < b$ and `x < 1`") == r"\(a &lt; b\) and <code>x &lt; 1</code>"
    text = (
        "One\nline.\n\n| a | b |\n|---|---|\n| 1 | $2$ |\n\n```python\nx = 1\n\ny = *z\n```\n\nEnd."
    )
    assert html(text) == (
        "<p>One line.</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>\\(2\\)</td></tr>"
        "</table><pre><code>x = 1\n\ny = *z</code></pre><p>End.</p>"
    )


# -- GIFT


def read_gift(text: str) -> dict[str, tuple[str, dict[str, tuple[bool, str]]]]:
    """A small reader that goes character by character, as Moodle's documentation describes it."""
    tokens = [
        ("\n" if m[1] == "n" else m[1], False) if m[1] else (m[0], True)
        for m in re.finditer(r"\\([\\~=#{}:n])|.|\n", text)
    ]
    shown = "".join(mark if free else "\0" for mark, free in tokens)
    exact = "".join(mark for mark, _ in tokens)
    assert len(shown) == len(exact)
    found = {}
    for block in re.finditer(r"::(.*?)::\[html\](.*?)\{(.*?)\}", shown, re.DOTALL):
        name, stem = (exact[slice(*block.span(i))] for i in (1, 2))
        answers = {}
        body, start = block[3], block.start(3)
        general = body.index("####")
        for part in re.finditer(r"([=~])\[html\]([^#]*)#\[html\]([^=~]*)", body[:general]):
            text_, why = (exact[start + part.start(i) : start + part.end(i)] for i in (2, 3))
            answers[text_] = (part[1] == "=", why.strip())
        found[name] = (stem, answers)
    return found


@pytest.mark.parametrize("which", EVERY)
def test_what_moodle_reads_is_what_was_asked(which: str) -> None:
    bank = EVERY[which]
    text = gift(bank)
    found = read_gift(text)
    assert list(found) == [item.id for item in bank.items]
    for item in bank.items:
        stem, answers = found[item.id]
        assert stem == html(item.stem)
        expected = {inline(o.text): (o.right, inline(o.why)) for o in item.options}
        assert answers == expected
        assert list(answers) == [*expected], "in the order of the book"
    assert text.startswith(f"$CATEGORY: $course$/{bank.title}\n\n")
    for block in text.split("\n\n")[1:]:
        assert block.count("\n\n") == 0, "an empty line would end the question"
        assert not [line for line in block.splitlines() if line.startswith("//")]


def test_formulas_survive_gift() -> None:
    r"""`\neq` would be a new line and `eq`, and a brace the end of the answers."""
    marked = escaped(r"\(x \neq \sqrt{2}: y = ~1 # z\)")
    assert marked == r"\\(x \\neq \\sqrt\{2\}\: y \= \~1 \# z\\)"
    assert escaped("a\nb") == r"a\nb"


# -- QTI

# The order of the elements in IMS QTI 1.2's binding, for those that are used.
ORDER = {
    "questestinterop": ["assessment"],
    "assessment": ["section"],
    "section": ["item"],
    "item": ["itemmetadata", "presentation", "resprocessing", "itemfeedback"],
    "itemmetadata": ["qtimetadata"],
    "qtimetadata": ["qtimetadatafield"],
    "qtimetadatafield": ["fieldlabel", "fieldentry"],
    "presentation": ["material", "response_lid"],
    "response_lid": ["render_choice"],
    "render_choice": ["response_label"],
    "response_label": ["material"],
    "resprocessing": ["outcomes", "respcondition"],
    "outcomes": ["decvar"],
    "respcondition": ["conditionvar", "setvar", "displayfeedback"],
    "conditionvar": ["varequal"],
    "itemfeedback": ["flow_mat"],
    "flow_mat": ["material"],
    "material": ["mattext"],
}


def bare(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def score(item: ET.Element, letter: str) -> tuple[float, list[str]]:
    """Process one response as the specification says; the score and what is told."""
    points, told = 0.0, []
    for condition in item.iter():
        if bare(condition) != "respcondition":
            continue
        inside = {bare(each): each for each in condition.iter()}
        if inside["varequal"].text == letter:
            if "setvar" in inside:
                points = float(inside["setvar"].text or "nan")
            told.append(inside["displayfeedback"].attrib["linkrefid"])
    return points, told


@pytest.mark.parametrize("which", EVERY)
def test_the_zip_is_valid_and_gives_points_and_feedback(which: str, tmp_path: Path) -> None:
    bank = EVERY[which]
    path = tmp_path / "bank.zip"
    write_qti(bank, path)
    with zipfile.ZipFile(path) as bundle:
        listed = ET.fromstring(bundle.read("imsmanifest.xml"))
        (resource,) = (each for each in listed.iter() if bare(each) == "resource")
        (file,) = resource
        assert resource.attrib["type"] == "imsqti_xmlv1p2"
        assert [bare(x) for x in listed] == ["metadata", "organizations", "resources"]
        root = ET.fromstring(bundle.read(file.attrib["href"]))
        assert sorted(bundle.namelist()) == sorted(["imsmanifest.xml", file.attrib["href"]])
    for element in root.iter():
        order = ORDER.get(bare(element), [])
        places = [order.index(bare(child)) for child in element]
        assert places == sorted(places), bare(element)
    items = [each for each in root.iter() if bare(each) == "item"]
    assert [each.attrib["ident"] for each in items] == [item.id for item in bank.items]
    for item, each in zip(bank.items, items, strict=True):
        check_qti_item(item, each)


def check_qti_item(item: Item, each: ET.Element) -> None:
    texts = {
        x.attrib["ident"]: next(t for t in x.iter() if bare(t) == "mattext").text or ""
        for x in each.iter()
        if bare(x) in ("response_label", "itemfeedback")
    }
    stem = next(x for x in each.iter() if bare(x) == "mattext")
    assert stem.text == html(item.stem)
    assert stem.attrib["texttype"] == "text/html"
    ET.fromstring(f"<div>{stem.text}</div>")
    for letter, option in zip("abcd", item.options, strict=True):
        assert texts[letter] == inline(option.text)
        points, told = score(each, letter)
        assert points == (100 if option.right else 0)
        assert texts[told[0]].startswith(inline(option.why))
        assert len(told) == 1


def test_the_same_questions_give_the_same_bytes(tmp_path: Path) -> None:
    for name in "ab":
        write_qti(BANKS["bank"], tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert ET.tostring(manifest(BANKS["bank"])) != ET.tostring(manifest(BANKS["after"]))
    assert len(assessment(BANKS["after"])[0][0]) == 12


# -- the commands


def run(*arguments: str, answers: str = "") -> Any:
    return CliRunner().invoke(main, ["questions", *arguments], input=answers)


def test_export_writes_both_formats(tmp_path: Path) -> None:
    for form, file in (("gift", "b.gift"), ("qti", "b.zip")):
        done = run("export", "02_transformer", "--format", form, "-o", str(tmp_path / file))
        assert done.exit_code == 0
        assert "25 questions" in done.output
    assert (tmp_path / "b.gift").read_text("utf-8") == gift(BANKS["bank"])
    assert zipfile.is_zipfile(tmp_path / "b.zip")
    done = run("export", "2", "--test", "after", "--format", "gift", "-o", str(tmp_path / "a.gift"))
    assert "12 questions" in done.output
    lost = run("export", "2", "--format", "gift", "-o", str(tmp_path / "no" / "a.gift"))
    assert lost.exit_code == 1
    assert "cannot write" in lost.output


def test_who_answers_right_reads_nothing_and_who_does_not_is_told_where() -> None:
    import random

    chosen = random.Random(3).sample(BANKS["bank"].items, 4)
    letters = ["abcd"[item.right] for item in chosen]
    done = run("ask", "2", "--count", "4", "--seed", "3", answers="\n".join(letters) + "\n")
    assert "4 of 4 correct." in done.output
    assert "Read: " not in done.output
    letters[1] = "abcd"[chosen[1].right - 1]
    done = run("ask", "2", "--count", "4", "--seed", "3", answers="\n".join(letters) + "\n")
    assert "3 of 4 correct." in done.output
    assert f"Read: {chosen[1].where}." in done.output
    assert plain_text(chosen[1].options[chosen[1].right - 1].why) in " ".join(done.output.split())


@pytest.mark.parametrize("page", ["2.2", "02_attention", "attention"])
def test_a_page_can_be_asked_about_by_its_number_or_name(page: str) -> None:
    items = [item for item in BANKS["bank"].items if item.page == "02_attention"]
    done = run("ask", page, "--count", "99", answers="a\n" * len(items))
    assert f"There are only {len(items)} questions; asking all of them." in done.output
    assert f"of {len(items)} correct." in done.output


@pytest.mark.parametrize("word", ["02_transformers", "9", "1.7"])
def test_what_has_no_questions_is_wrong_use_and_says_what_has(word: str) -> None:
    done = run("ask", word)
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    having = (
        "02_transformer, 03_bert, 04_multilingual, 05_efficient, 06a_text, 06b_vision, 06c_speech "
        "and 07_explain have one"
    )
    assert having in said


def test_ctrl_c_at_a_question_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("click.termui.visible_prompt_func", interrupted)
    assert run("ask", "2").exit_code == 130


# -- the gain


def test_the_gain_is_what_was_gained_of_what_could_be() -> None:
    names = [f"s{i}" for i in range(30)]
    before = {name: 0.3 + 0.01 * i for i, name in enumerate(names)}
    after = {name: share + 0.5 * (1 - share) for name, share in before.items()}
    found = gain(before, after)
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high) == (pytest.approx(0.5), pytest.approx(0.5))
    assert found.students == 30


def test_the_interval_covers_as_often_as_it_says() -> None:
    """Classes of 40 from one world: the interval should hold its true gain in 95 of 100."""
    world = torch.Generator().manual_seed(1)
    held = 0
    for _ in range(200):
        skill = 0.2 + 0.4 * torch.rand(40, generator=world)
        first = torch.bernoulli(skill[:, None].expand(40, 12), generator=world).mean(1)
        learned = skill + 0.4 * (1 - skill)
        second = torch.bernoulli(learned[:, None].expand(40, 12), generator=world).mean(1)
        pair = [{str(i): v for i, v in enumerate(x.tolist())} for x in (first, second)]
        found = gain(*pair, draws=500)
        held += found.low <= 0.4 <= found.high
    assert 180 <= held <= 198


def test_only_who_took_both_tests_counts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("student,score\nada,3\nbob,6\ncyd,12\n")
    (tmp_path / "b.csv").write_text("score,student,note\n9,ada,x\n12,bob,\n1,dan,\n")
    done = run("gain", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--out-of", "12")
    assert done.exit_code == 0
    assert "2 students: 38% before, 88% after; normalized gain 0.80 [" in done.output
    assert "excluded because they took only one test: cyd, dan" in done.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name,score\nada,1\n", "needs the columns"),
        ("student,score\nada,many\n", "line 2: 'many' is no score"),
        ("student,score\nada,13\n", "13 is not from 0 to 12"),
        ("student,score\nada,1\nada,2\n", "line 3: ada comes twice"),
    ],
)
def test_a_table_that_cannot_be_read_is_named(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        scores(tmp_path / "a.csv", 12)


def test_a_gain_that_has_no_meaning_is_refused() -> None:
    with pytest.raises(ValueError, match="1 students"):
        gain({"a": 0.5}, {"a": 0.6})
    with pytest.raises(ValueError, match="nothing was left"):
        gain({"a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0})

"""The reader of drawings: its arithmetic is PyTorch's, its preparation Python's, its page does what
it says, with a mouse, a finger and the keyboard.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from playwright.sync_api import Page

import deepdive_book.ch06b.figures.drawing as drawing_module
from deepdive.core import relu
from deepdive.core.hooks import record
from deepdive.data.images import small_digits
from deepdive.explain.rollout import rollout
from deepdive.layers.heads import ImageClassifier
from deepdive.models.vision.deit import TINY as TWO_TOKENS
from deepdive.models.vision.vit import TINY, vit
from deepdive_book.ch06b.figures.drawing import (
    EXAMPLES,
    HIGH,
    PEN,
    STRETCH,
    WIDE,
    Strokes,
    drawing,
    frame,
    prepared,
    read,
)
from deepdive_book.ch06b.toys import FOLDER
from deepdive_book.ch06b.toys.drawn_digits import DrawnToy, drawn_digits
from deepdive_book.kit.live import export
from deepdive_book.kit.live.export import described_viewer, half
from deepdive_book.kit.markup import Html
from deepdive_book.tasks.images import accuracy, tensors

LIVE = Path(export.__file__).parent


@cache
def toy() -> DrawnToy:
    return drawn_digits()


def picture() -> Html:
    return drawing(toy().model)


@cache
def page_of_toy() -> str:
    return drawing(toy().model).html


def moved(**changes: Any) -> ImageClassifier:
    """A small ViT with every weight off its special values, in half precision."""
    torch.manual_seed(0)
    config = TINY.but(**changes)
    model = ImageClassifier(vit(config), config.d_model, 5).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model.half().float()


def in_page(reader: Reader, given: Any, run: str, *names: str) -> Any:
    """What the code returns in the browser, as JSON."""
    code = "".join((LIVE / name).read_text("utf-8") for name in names)
    data = json.dumps(given).replace("<", "\\u003c")
    body = (
        f'<script>{code}; const mark = "@".repeat(9), given = {data};'
        f"const answer = (() => {{ {run} }})();"
        "document.body.append(mark + JSON.stringify(answer) + mark);</script>"
    )
    return json.loads(reader.text(body).split("@" * 9)[1])


RUN = """
const see = viewer(given.spec, cut(given.spec.shapes, halves(given.weights)));
return given.images.map(image => {
  const { logits, looks, rolled } = see(Float32Array.from(image));
  return { logits: [...logits], looks, rolled };
});
"""
PARTS = ("forward.js", "masked.js", "vision.js")
MODELS: list[dict[str, Any]] = [
    {},
    {"channels": 3, "n_heads": 1, "n_layers": 1},
    {"image_size": 12, "patch_size": 3, "channels": 2, "n_layers": 3, "n_heads": 2},
    {"patch_size": 8, "n_special": 2},
]


@pytest.mark.parametrize("changes", [*MODELS, None])
def test_the_page_computes_what_pytorch_does(
    reader: Reader, changes: dict[str, Any] | None
) -> None:
    model = toy().model if changes is None else moved(**changes)
    spec, config = described_viewer(model), model.encoder.config
    side = config.image_size
    images = torch.randn(3, config.channels, side, side, generator=torch.manual_seed(5))
    given = {"spec": spec, "weights": half(model.state_dict()),
             "images": images.flatten(1).tolist()}  # fmt: skip
    found = in_page(reader, given, RUN, *PARTS)
    for image, told in zip(images, found, strict=True):
        with record(model.encoder, "*.weights") as seen, torch.no_grad():
            logits = model(image[None])[0]
        looks = torch.stack([calls[0][0].mean(0) for calls in seen.values()])
        for name, wanted in (
            ("logits", logits), ("looks", looks), ("rolled", rollout(seen)[-1, 0]),
        ):  # fmt: skip
            torch.testing.assert_close(torch.tensor(told[name]), wanted, rtol=1e-4, atol=1e-4)


BROKEN = {
    "lines for columns": (
        "patch + y, column = (t % across) * patch + x",
        "patch + x, column = (t % across) * patch + y",
    ),
    "no residual in rollout": ("share => share / 2)", "share => 0 * share)"),
    "positions a row late": ("add(x, row(places, i))", "add(x, row(places, Math.max(0, i - 1)))"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_is_seen(reader: Reader, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof above is red with a fault in the page's arithmetic."""
    right, wrong = BROKEN[name]
    whole = Path.read_text

    def with_fault(path: Path, *args: Any, **settings: Any) -> str:
        text = whole(path, *args, **settings)
        if path.name == "vision.js":
            assert right in text
            text = text.replace(right, wrong)
        return text

    monkeypatch.setattr(Path, "read_text", with_fault)
    with pytest.raises(AssertionError):
        test_the_page_computes_what_pytorch_does(reader, {})


def scribbles() -> list[Strokes]:
    """Random strokes of all shapes: dots, lines, many points, two at the same place."""
    dice = random.Random(3)
    some: list[Strokes] = [[[(0.3, 0.3)]], [[(0.2, 0.5), (0.8, 0.5)]], [[(0.5, 0.5), (0.5, 0.5)]]]
    for n in (2, 3, 5, 9, 20):
        some.append([[(dice.random(), dice.random()) for _ in range(n)] for _ in range(1 + n % 3)])
    return [*some, *EXAMPLES.values()]


def test_drawings_are_prepared_as_in_python(reader: Reader) -> None:
    code = Path(drawing_module.__file__).with_suffix(".js").read_text("utf-8")
    begin, end = code.index("const { dots, cell"), code.index("// --- what is seen")
    spec = {"dots": 32, "cell": 4, "pen": PEN, "side": 8, "patch": 2, "wide": WIDE,
            "high": HIGH, "stretch": STRETCH}  # fmt: skip
    run = f"const spec = given.spec; {code[begin:end]} return given.all.map(s => [...prepared(s)]);"
    found = in_page(reader, {"spec": spec, "all": scribbles()}, run)
    for strokes, told in zip(scribbles(), found, strict=True):
        assert told == prepared(strokes).flatten().tolist()


def test_where_and_how_large_one_draws_does_not_matter() -> None:
    for strokes in EXAMPLES.values():
        small = [[(0.1 + 0.3 * x, 0.6 + 0.3 * y) for x, y in stroke] for stroke in strokes]
        torch.testing.assert_close(prepared(small), prepared(strokes), atol=1.0, rtol=0)
    fit = frame([[(0.5, 0.2), (0.5, 0.8)]])
    assert fit.wide == pytest.approx(STRETCH * fit.high), "a bare line stays one"
    with pytest.raises(ValueError, match="no point"):
        frame([[]])


def test_ink_is_what_the_data_have() -> None:
    """Prepared examples have about as much ink, and as wide, as the digits that were learned."""
    train = torch.from_numpy(small_digits("train").pixels).double() / 255 * 16
    drawn = torch.stack([prepared(strokes) for strokes in EXAMPLES.values()]).double()
    assert abs(drawn.mean() / train.mean() - 1) < 0.15
    for images in (train[:, 0], drawn):
        filled = (images > 2).any(2).double().mean(1)
        assert filled.mean() > 0.99, "each digit fills all lines"
        assert (images[:, :, [0, 7]] > 2).any(1).double().mean() < 0.15


def test_the_examples_are_read_right_and_slanted_turned_and_thin_ones_mostly() -> None:
    dice, hits, total = random.Random(0), 0, 0
    for name, strokes in EXAMPLES.items():
        assert int(read(toy().model, prepared(strokes)).shares.argmax()) == int(name)
        for _ in range(4):
            a, b, c, d = (dice.uniform(-0.2, 0.2) for _ in range(4))
            other = [
                [
                    ((1 + a) * x + b * y + dice.gauss(0, 0.01), c * x + (1 + d) * y)
                    for x, y in stroke
                ]
                for stroke in strokes
            ]
            hits += int(read(toy().model, prepared(other)).shares.argmax()) == int(name)
            total += 1
    assert hits / total > 0.85


def test_the_toy_is_what_its_script_measured() -> None:
    x, labels = tensors(small_digits("test"))
    share, low, high = toy().right["as they are"]
    assert toy().tested == len(labels)
    assert accuracy(toy().model, x, labels, progress=False) == pytest.approx(share, abs=0.003)
    assert 0.85 < low < share < high
    digest = hashlib.sha256((FOLDER / "drawn_digits.safetensors").read_bytes()).hexdigest()
    assert digest == "7c511c14ea7b8482f02d4540dce5e49d48765b666d21eb9178d0ce4156967e28"
    assert (FOLDER / "drawn_digits.safetensors").stat().st_size < 300_000


def said(page: Page) -> str:
    return page.locator("[role=status]").inner_text()


def draw(page: Page, strokes: Strokes) -> None:
    paper = page.locator(".dr-paper")
    paper.scroll_into_view_if_needed()
    box = paper.bounding_box()
    assert box is not None
    for stroke in strokes:
        spots = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*spots[0])
        page.mouse.down()
        for spot in spots:
            page.mouse.move(*spot, steps=4)
        page.mouse.up()


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_reads_what_is_drawn_and_its_look_follows_the_pen(reader: Reader, size: Size) -> None:
    page = reader.open(page_of_toy(), size)
    page.get_by_role("button", name="clear").click()
    assert said(page).startswith("Draw a digit")
    draw(page, [[(0.6 * x, 0.1 + 0.7 * y) for x, y in stroke] for stroke in EXAMPLES["3"]])
    page.wait_for_function(
        "document.querySelector('[role=status]').textContent.includes('Prediction: 3')"
    )
    before = said(page)
    box = page.locator(".dr-paper").bounding_box()
    assert box is not None
    asked = set()
    for x in (0.2, 0.3, 0.4):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + 0.3 * box["height"])
        asked.add(re.findall(r"\(row \d, column (\d)\)", said(page))[0])
    assert len(asked) > 1
    assert said(page).startswith(before.split(".")[0])
    page.get_by_role("button", name="undo").click()
    assert said(page).startswith("Draw a digit")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not reader.complaints
    assert not [url for url in reader.requests if not url.startswith("http://book.test/")]


TOUCH = """points => {
  const paper = document.querySelector(".dr-paper"), box = paper.getBoundingClientRect();
  const send = (kind, [x, y]) => paper.dispatchEvent(new PointerEvent(kind, { bubbles: true,
    cancelable: true, pointerId: 7, pointerType: "touch", isPrimary: true, button: 0,
    clientX: box.left + x * box.width, clientY: box.top + y * box.height }));
  for (const stroke of points) {
    send("pointerdown", stroke[0]);
    stroke.forEach(point => send("pointermove", point));
    send("pointerup", stroke.at(-1));
  }
}"""


def test_a_finger_draws_and_the_page_does_not_scroll(reader: Reader) -> None:
    page = reader.open(page_of_toy(), PHONE)
    page.get_by_role("button", name="clear").click()
    page.evaluate(TOUCH, EXAMPLES["5"])
    page.wait_for_function(
        "document.querySelector('[role=status]').textContent.includes('Prediction: 5')"
    )
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.dr-paper')).touchAction") == "none"
    )
    assert page.locator(".dr-ink polyline").count() == 1


def test_the_keyboard_draws_and_asks(reader: Reader) -> None:
    page = reader.open(page_of_toy())
    page.get_by_role("button", name="clear").click()
    page.locator(".dr-paper").focus()
    for key, count in (("ArrowUp", 6), (" ", 1), ("ArrowDown", 14), (" ", 1), ("ArrowLeft", 3)):
        for _ in range(count):
            page.keyboard.press(key)
    assert page.locator(".dr-ink polyline").count() == 1
    assert said(page).startswith("Prediction: 1")
    page.locator(".dr-given").focus()
    for _ in range(4):
        page.keyboard.press("ArrowUp")
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    assert "(row 1, column 2)" in said(page)
    page.locator(".dr select").select_option("2")
    assert "In layer 2" in said(page)
    page.locator(".dr-examples button").nth(8).click()
    assert said(page).startswith("Prediction: 8")


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(page_of_toy(), size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    small = page.locator(".dr :is(button, p, span, select, figcaption)").evaluate_all(
        "x => x.filter(e => parseFloat(getComputedStyle(e).fontSize) < 14).length"
    )
    assert small == 0


def test_without_scripts_the_first_drawing_and_its_answer_stand_there() -> None:
    dead = re.sub(r"<script>.*?</script>", "", page_of_toy(), flags=re.DOTALL)
    assert "Prediction: 7, " in dead
    assert dead.count("<polyline") == len(EXAMPLES["7"])
    assert dead.count("dr-name") > 9
    assert len(page_of_toy()) < 400_000


def test_what_page_6b_1_says_of_the_examples() -> None:
    def classified(strokes: Strokes) -> tuple[int, float]:
        probabilities = read(toy().model, prepared(strokes)).shares
        return int(probabilities.argmax()), float(probabilities.max())

    (with_bar, p), (without, q) = classified(EXAMPLES["7"]), classified(EXAMPLES["7"][:1])
    assert (with_bar, without) == (7, 3)
    assert min(p, q) > 0.99
    (nine,) = EXAMPLES["9"]
    steps = [classified([nine[:n]])[0] for n in range(2, len(nine) + 1)]
    assert [k for k, before in zip(steps, [None, *steps], strict=False) if k != before] == [
        1, 3, 0, 7, 0, 4, 9,
    ]  # fmt: skip
    looks = read(toy().model, prepared(EXAMPLES["3"])).looks
    assert looks[:, 1 + 3, 1:].argmax(-1).tolist() == [2 * 4 + 3, 3 * 4 + 3, 3 * 4 + 1]


def test_what_the_page_cannot_run_is_refused() -> None:
    with pytest.raises(TypeError, match="ImageClassifier"):
        described_viewer(vit(TINY))
    for changes, message in (({"activation": relu}, "activation: the page needs it gelu"),):
        with pytest.raises(ValueError, match=message):
            described_viewer(moved(**changes))
    for model in (moved(channels=3), ImageClassifier(vit(TWO_TOKENS), 32, 5)):
        with pytest.raises(ValueError, match="expected one special token and grey"):
            drawing(model)
    with pytest.raises(ValueError, match="start, names: got 'x'"):
        drawing(toy().model, start="x")

"""The model that writes: its arithmetic is PyTorch's, its page does what it says."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from playwright.sync_api import Page

from deepdive.models.generative import gpt2
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt_config import full_attention
from deepdive_book.ch06a.figures.gpt2_generation import candidates, gpt2_generation
from deepdive_book.ch06a.toys.next_letters import LetterToy, next_letters
from deepdive_book.kit.live import export
from deepdive_book.kit.live.export import HEAD, described_writer, quantized, restored, snapshot
from deepdive_book.kit.markup import Html

LIVE = Path(export.__file__).parent


@cache
def toy() -> LetterToy:
    return next_letters()


def picture() -> Html:
    return gpt2_generation(toy(), "ROMEO:")


@cache
def page_of_toy() -> str:
    return gpt2_generation(toy(), "ROMEO:").html


def moved(n_heads: int, n_layers: int, **changes: Any) -> GPT:
    """A small GPT-2 with every weight off its special values, and rounded to one byte."""
    torch.manual_seed(0)
    model = gpt2.gpt2(
        gpt2.TINY, vocab_size=23, d_model=24, n_heads=n_heads, n_layers=n_layers, d_ff=40,
        max_length=16, **changes,
    ).eval()  # fmt: skip
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    like = {name: t for name, t in model.state_dict().items() if name != HEAD}
    model.load_state_dict(restored(*quantized(like), like))
    return model


RUN = """
const { spec, texts } = given, shapes = spec.shapes;
const scores = writer(spec, cut(shapes, quantised(shapes, ...spec.weights)));
return texts.map(text => [...scores(text)]);
"""


def in_page(reader: Reader, given: Any) -> Any:
    """What RUN returns in the browser, as JSON."""
    code = "".join((LIVE / name).read_text("utf-8") for name in ("forward.js", "writer.js"))
    data = json.dumps(given).replace("<", "\\u003c")
    body = (
        f'<script>{code}; const mark = "@".repeat(9), given = {data};'
        f"const answer = (() => {{ {RUN} }})();"
        "document.body.append(mark + JSON.stringify(answer) + mark);</script>"
    )
    return json.loads(reader.text(body).split("@" * 9)[1])


@pytest.mark.parametrize(("n_heads", "n_layers"), [(1, 1), (3, 2), (4, 3), (0, 0)])
def test_the_page_computes_what_pytorch_does(reader: Reader, n_heads: int, n_layers: int) -> None:
    model = moved(n_heads, n_layers) if n_heads else toy().model
    most, kinds = model.config.max_length, model.config.vocab_size
    draw = torch.Generator().manual_seed(3)
    texts = [torch.randint(kinds, (n,), generator=draw).tolist() for n in (1, 2, 5, most, most + 4)]
    spec = described_writer(model) | {"weights": snapshot(model.state_dict()), "most": most}
    found = in_page(reader, {"spec": spec, "texts": texts})
    for text, scores in zip(texts, found, strict=True):
        with torch.no_grad():
            wanted = model(torch.tensor([text[-most:]]))[0, -1]
        torch.testing.assert_close(torch.tensor(scores), wanted, rtol=1e-3, atol=1e-4)


def letters(page: Page) -> list[str]:
    return page.locator(".wr-letter").all_inner_texts()


def said(page: Page) -> str:
    return page.locator("[role=status]").inner_text()


def test_it_shows_what_may_follow_and_writes_it(reader: Reader) -> None:
    page = reader.open(page_of_toy())
    named = {" ": "blank", "\n": "new line"}
    wanted = list(candidates(toy(), "ROMEO:"))[:8]
    assert letters(page) == [named.get(letter, letter) for letter in wanted]
    page.locator(".wr-heat").fill("0")
    page.locator(".wr-write button").nth(1).click()
    text = page.locator(".wr-new").inner_text()
    written = "ROMEO:"
    for _ in range(40):
        written += next(iter(candidates(toy(), written)))
    assert text == written.removeprefix("ROMEO:")
    page.locator(".wr-write button").nth(2).click()
    page.locator(".wr-letter").first.click()
    assert page.locator(".wr-new").inner_text() == wanted[0]
    assert not reader.complaints
    assert not [url for url in reader.requests if not url.startswith("http://book.test/")]


def test_temperature_and_training_are_moved(reader: Reader) -> None:
    page = reader.open(page_of_toy())
    first = page.locator(".wr-share").first
    at_one = first.inner_text()
    page.locator(".wr-heat").fill("2")
    assert first.inner_text() != at_one
    assert page.locator(".wr-heat-now").inner_text() == "2.0"
    names = list(toy().losses)
    for i, name in enumerate(names):
        page.locator(".wr-when").fill(str(i))
        assert page.locator(".wr-when-now").inner_text() == name
        assert f"{toy().losses[name][0]:.2f} nats" in said(page)
    page.locator("textarea").fill("")
    assert said(page)
    assert not reader.complaints


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_it_fits(reader: Reader, size: Size) -> None:
    page = reader.open(page_of_toy(), size)
    page.locator(".wr-write button").nth(1).click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_training_helped() -> None:
    means = [mean for mean, _, _, *_ in toy().losses.values()]
    assert means == sorted(means, reverse=True)
    assert means[-1] < 1.95


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: moved(2, 1, scale=2.0), "embedding: the page needs it unscaled"),
        (lambda: moved(2, 1, attention=lambda c, i: full_attention(c.but(n_heads=3), i)), ""),
    ],
)
def test_what_the_page_cannot_run_is_refused(model: Any, message: str) -> None:
    made = model()
    if message:
        with pytest.raises(ValueError, match=message):
            described_writer(made)
    else:
        assert described_writer(made)["heads"] == 3
    with pytest.raises(TypeError, match="Linear"):
        described_writer(torch.nn.Linear(2, 2))


def test_a_letter_that_it_does_not_know_is_named() -> None:
    with pytest.raises(ValueError, match="'\u00e9'"):
        gpt2_generation(toy(), "caf\u00e9")

"""A reader with a browser, for the tests of what scripts, styles and paper make of a page.

The browser is the Chromium of the machine, driven by Playwright; `conftest.py` starts it once for
the tests of a file and makes a fresh reader for each test: what one page keeps, another page of
the same reader finds.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from chromium import program
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, sync_playwright

Size = tuple[int, int]
DESK: Size = (1280, 900)
PHONE: Size = (390, 844)


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser of this machine, running; and ended, with Playwright's event loop.

    While it runs, this thread has a running loop, in which nothing else can start one: a notebook
    could not be executed. So a test file ends its browser before another file begins.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program())
        try:
            yield browser
        finally:
            browser.close()


# How a browser writes a style back as text changes between versions, so no test reads that text.
# The numbers of a part's own left, top, width and height, in the unit that the figure sets.
PLACED = (
    """x => ["left", "top", "width", "height"].map(name => x.attributeStyleMap.get(name)?.value)"""
)
# Red, green and blue (0 to 255) of a part's own background color, as a canvas paints it on white.
PAINTED = """x => {
  const pen = new OffscreenCanvas(1, 1).getContext("2d");
  for (const color of ["white", x.style.backgroundColor]) {
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
  }
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
}"""

COMMIT = """() => document.querySelectorAll(".predict.waiting").forEach(box => {
  box.querySelector("input").click();
  box.querySelector("button").click();
})"""


class Reader:
    """Opens pages, and notes what they complain of and what they ask for.

    Attributes:
        complaints: errors and warnings of the console and of scripts, a line each, in order.
        requests: every address that was asked for.
    """

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.folder = folder
        self.context = browser.new_context()
        self.context.set_default_timeout(120_000)  # a shared machine may be slow
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.context.on("console", self._heard)
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self.context.on("request", lambda request: self.requests.append(request.url))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def open(self, what: Path | str, size: Size = DESK, clock: bool = False, **media: Any) -> Page:
        """Open a file, an address or the body of a page, in a window of a size in pixels.

        With `clock`, time goes on only as the test says, by `page.clock`. `media` is what the
        reader prefers: color_scheme="dark", reduced_motion="reduce", media="print".
        """
        if isinstance(what, str) and not what.startswith(("http:", "about:")):
            path = self.folder / "page.html"
            path.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{what}", encoding="utf-8")
            what = self.online(self.folder) + path.name
        page = self.context.new_page()
        page.set_viewport_size({"width": size[0], "height": size[1]})
        if media:
            page.emulate_media(**media)
        if clock:
            page.clock.install()
        page.goto(what if isinstance(what, str) else what.as_uri())
        return page

    def whole(self, what: Path | str, size: Size = DESK, **media: Any) -> Page:
        """Open a page as `open` does, and commit to the first answer of each prediction on it."""
        page = self.open(what, size, **media)
        page.evaluate(COMMIT)
        return page

    def online(self, folder: Path) -> str:
        """The address of a folder on a host of its own, which answers this reader alone.

        For tests of what a page keeps: on a busy machine Chromium does not always hand what one
        file has stored to another, while the pages of a host share it at once.
        """
        address = "http://book.test/"

        def answer(route: Route) -> None:
            path = folder / unquote(urlsplit(route.request.url).path.lstrip("/"))
            if path.is_file():
                route.fulfill(path=path)
            else:
                route.fulfill(status=404)

        self.context.route(f"{address}**", answer)
        return address

    def text(self, body: str, seconds: float = 0, **options: Any) -> str:
        """What stands in a body after its scripts have run, and so many seconds have gone by."""
        page = self.open(body, clock=bool(seconds), **options)
        if seconds:
            page.clock.run_for(1000 * seconds)
        told = html.unescape(str(page.evaluate("document.body.innerHTML")))
        page.close()
        return told

    def prints(self, body: str) -> bytes:
        """The PDF of a body, on the paper that its styles name."""
        page = self.open(body)
        printed = page.pdf(prefer_css_page_size=True)
        page.close()
        return bytes(printed)

    def close(self) -> None:
        self.context.close()

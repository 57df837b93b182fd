"""Build the static site from the committed notebooks, without torch and without a network.

    python book/site.py --out build/site

Each notebook becomes one HTML page at the same path, formulas as MathML; each `book/*.md` a page
beside the index, and so are errata and changelog. What would break for a reader is an error: a
formula that does not convert, an image without alternative text, a link that leads nowhere,
anything loaded from another host.
"""

import argparse
import base64
import html
import importlib.util
import re
import shutil
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jinja2
import nbformat
from latex2mathml.converter import convert
from nbconvert.filters import strip_ansi
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

BOOK = Path(__file__).resolve().parent
IMAGES = ("image/svg+xml", "image/png", "image/webp", "image/jpeg")
PYTHON = get_lexer_by_name("python")


class SiteError(Exception):
    """What is wrong with the site, one line a fault."""


def page_module() -> Any:
    """The library's list of pages, loaded without the library, which needs torch."""
    path = BOOK.parent / "lib" / "deepdive" / "pages" / "__init__.py"
    spec = importlib.util.spec_from_file_location("deepdive_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


class Site:
    """The site of one checkout: which files become pages, and what went wrong."""

    def __init__(self, root: Path, out: Path) -> None:
        self.root, self.out = root, out
        self.faults: list[str] = []
        self.pages = [page for page in page_module().discover(root) if page.notebook.is_file()]
        kept = [path for name in ("ERRATA", "CHANGELOG") if (path := root / f"{name}.md").is_file()]
        self.texts = [*sorted((root / "book").glob("*.md")), *kept]
        self.targets = {page.notebook: f"{page.name}.html" for page in self.pages}
        self.targets |= {page.source: f"{page.name}.html" for page in self.pages}
        self.targets |= {text: f"{text.stem.lower()}.html" for text in self.texts}
        loader = jinja2.FileSystemLoader(BOOK / "theme")
        self.theme = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined)
        self.theme.filters["duration"] = duration

    def build(self) -> int:
        """Write all pages and check them; the number of pages.

        Raises:
            SiteError: the faults of all pages together.
        """
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir(parents=True)
        for text in self.texts:
            self._write_text(text)
        for i, page in enumerate(self.pages):
            before = self.pages[i - 1] if i else None
            after = self.pages[i + 1] if i + 1 < len(self.pages) else None
            self._write_page(page, before, after)
        style = (BOOK / "theme" / "style.css").read_text(encoding="utf-8")
        dark = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
        light = HtmlFormatter(style="default").get_style_defs(".highlight")
        colours = f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
        (self.out / "style.css").write_text(colours + style, encoding="utf-8")
        self.faults += check(self.out)
        if self.faults:
            raise SiteError("\n".join(self.faults))
        return len(self.pages) + len(self.texts)

    def _write_text(self, source: Path) -> None:
        text = Markdown(self, source, self.targets[source])
        body = text.render(source.read_text(encoding="utf-8"))
        listing = self.theme.get_template("list.html").render(groups=self._groups())
        body = body.replace("<!-- pages -->", listing)
        self._write(self.targets[source], text, body=body)

    def _groups(self) -> list[tuple[str, list[Any]]]:
        """Pages under the name of their chapter, case studies last."""
        groups: dict[str, list[Any]] = {}
        for page in self.pages:
            chapter = page.source.parent.name
            name = "Case studies" if page.is_study else chapter[3:].replace("_", " ").capitalize()
            title = name if page.is_study else f"{int(chapter[:2])} {name}"
            groups.setdefault(title, []).append({"page": page, "summary": page.summary()})
        return list(groups.items())

    def _write_page(self, page: Any, before: Any, after: Any) -> None:
        notebook = nbformat.read(page.notebook, as_version=4)
        text = Markdown(self, page.notebook, self.targets[page.notebook])
        body = "\n".join(
            text.render(cell.source) if cell.cell_type == "markdown" else self._code(cell, text)
            for cell in notebook.cells
            if cell.cell_type in ("markdown", "code")
        )
        copy = self.out / f"{page.name}.ipynb"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page.notebook, copy)
        cost = notebook.metadata.get("deepdive")
        links = {"before": before, "after": after, "download": copy.name, "cost": cost}
        self._write(self.targets[page.notebook], text, body=body, **links)

    def _write(self, target: str, text: "Markdown", **values: Any) -> None:
        blank = {"before": None, "after": None, "download": "", "cost": None}
        up = "../" * target.count("/")
        title = re.sub(r"<[^>]+>", "", text.headings[0][2]) if text.headings else target
        page = self.theme.get_template("page.html").render(
            {**blank, **values},
            up=up,
            title=title,
            headings=text.headings[1:],
            texts=[(self.targets[t], t.stem.capitalize()) for t in self.texts if t.stem != "index"],
        )
        path = self.out / target
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")

    def _code(self, cell: Any, text: "Markdown") -> str:
        tags = cell.metadata.get("tags", [])
        outputs = "\n".join(self._output(out, text) for out in cell.outputs)
        return self.theme.get_template("cell.html").render(
            code=highlight(cell.source, PYTHON, HtmlFormatter(wrapcode=True)),
            outputs=outputs,
            setup="setup" in tags,
            fold="fold" in tags,
            surprise="surprise" in tags,
        )

    def _output(self, out: Any, text: "Markdown") -> str:
        if out.output_type == "stream":
            return f'<pre class="{out.name}">{html.escape(out.text.rstrip())}</pre>'
        if out.output_type == "error":
            trace = strip_ansi("\n".join(out.traceback))
            return f'<pre class="error">{html.escape(trace)}</pre>'
        if "text/html" in out.data:
            return f'<div class="html">{text.placed(out.data["text/html"])}</div>'
        for kind in IMAGES:
            if kind in out.data:
                return _image(kind, out.data[kind], out.metadata.get(kind, {}).get("alt", ""))
        for kind in ("text/markdown", "text/latex"):
            if kind in out.data:
                return text.render(out.data[kind])
        return f"<pre>{html.escape(out.data.get('text/plain', ''))}</pre>"

    def place(self, source: Path, url: str) -> str:
        """Where a link of `source` leads in the site; other files of the checkout are copied."""
        parts = urlsplit(url)
        if parts.scheme or parts.netloc or not parts.path:
            return url
        path = (source.parent / unquote(parts.path)).resolve()
        depth = self.targets[source].count("/")
        if path in self.targets:
            name = self.targets[path]
        elif path.is_file() and path.is_relative_to(self.root):
            name = path.relative_to(self.root).as_posix()
            (self.out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, self.out / name)
        else:
            return url  # the check names it
        return "../" * depth + name + (f"#{parts.fragment}" if parts.fragment else "")


class Markdown(IPythonRenderer):
    """Markdown of one file to HTML: formulas to MathML, links to their place, headings noted."""

    def __init__(self, site: Site, source: Path, target: str) -> None:
        super().__init__(escape=False)
        self.site, self.source, self.target = site, source, target
        self.headings: list[tuple[int, str, str]] = []  # level, id, HTML
        self.seen: Counter[str] = Counter()

    def render(self, text: str) -> str:
        return str(MarkdownWithMath(renderer=self).render(text))

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        words = re.sub(r"<annotation.*?</annotation>|<[^>]+>", "", text).lower()
        name = re.sub(r"\W+", "-", html.unescape(words)).strip("-") or "section"
        self.seen[name] += 1
        anchor = name if self.seen[name] == 1 else f"{name}-{self.seen[name]}"
        self.headings.append((level, anchor, text))
        return f'<h{level} id="{anchor}"><a href="#{anchor}">{text}</a></h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return str(super().link(text, self.site.place(self.source, url), title))

    def placed(self, body: str) -> str:
        """HTML of an output, its links to notebooks turned to their pages."""

        def turn(match: re.Match[str]) -> str:
            return f'href="{self.site.place(self.source, match[1])}"'

        return re.sub(r'(?<=<a )href="([^":]+\.ipynb(?:#[^"]*)?)"', turn, body)

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return str(super().image(text, self.site.place(self.source, url), title))

    def table(self, text: str) -> str:
        return f'<div class="html"><table>{text}</table></div>\n'

    def inline_math(self, body: str) -> str:
        return self._math(body, "inline")

    def block_math(self, body: str) -> str:
        return self._math(body, "block")

    def latex_environment(self, name: str, body: str) -> str:
        return self._math(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")

    def _math(self, latex: str, display: str) -> str:
        latex = latex.strip()
        try:
            # The converter aligns only where the environment is align.
            aligned = re.sub(r"(?<=\{)(?:aligned|split)(?=\})", "align*", latex)
            mathml = convert(aligned, display=display).replace("\\_", "_")
            left = re.search(r">([^<]*(?:\\|&(?!#))[^<]*)<", mathml)
            problem = f"{left[1]} was not understood" if left else ""
        except Exception as error:
            mathml, problem = "", repr(error)
        if problem:
            self.site.faults.append(f"{self.target}: formula {latex}: {problem}")
        return f'<div class="math">{mathml}</div>' if display == "block" else mathml


def duration(seconds: int) -> str:
    """`45 s`, `5 min`."""
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def _image(kind: str, data: str, alt: str) -> str:
    """An image inside the page; where alternative text is missing, the check names it."""
    if kind == "image/svg+xml":
        data = base64.b64encode(data.encode()).decode()
    text = f' alt="{html.escape(alt)}"' if alt else ""
    return f'<img src="data:{kind};base64,{"".join(data.split())}"{text}>'


class _Reader(HTMLParser):
    """Collects what a page names, loads and links to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.mute: list[str] = []
        self.in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag != "a":
            names = ("src", "href", "xlink:href", "data", "poster", "srcset")
            self.loads += [given[name] for name in names if name in given]
            self.loads += _loads_of_style(given.get("style", ""))
        self.in_style = tag == "style"
        if tag == "img" and not given.get("alt", "").strip():
            self.mute.append(given.get("src", "")[:60])

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.loads += _loads_of_style(data)


def _loads_of_style(style: str) -> list[str]:
    found = re.findall(r"""(?:url\(\s*|@import\s+)['"]?([^)'";]+)""", style)
    return [url for url in found if not url.startswith(("url(", "#"))]


def check(out: Path) -> list[str]:
    """The faults of a built site: images without text, foreign loads, links that lead nowhere."""
    read: dict[Path, _Reader] = {}
    for path in sorted(out.rglob("*.html")):
        reader = read[path] = _Reader()
        reader.feed(path.read_text(encoding="utf-8"))
    faults = []
    for path, reader in read.items():
        name = path.relative_to(out).as_posix()
        faults += [f"{name}: image without alternative text: {src}" for src in reader.mute]
        for url in reader.links + reader.loads:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                if url in reader.loads and parts.scheme != "data":
                    faults.append(f"{name}: loads {url} from another host")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            ids = read[target].ids if target in read else None
            if not target.is_file():
                faults.append(f"{name}: the link {url} leads nowhere")
            elif ids is not None and parts.fragment and unquote(parts.fragment) not in ids:
                faults.append(f"{name}: the link {url} names no heading of its page")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the static site.")
    parser.add_argument("--out", type=Path, default=Path("build/site"))
    parser.add_argument("--root", type=Path, default=BOOK.parent, help="the checkout to build")
    options = parser.parse_args()
    try:
        count = Site(options.root.resolve(), options.out.resolve()).build()
    except SiteError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{count} pages in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

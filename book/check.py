"""What would break for a reader of the built book: checked after each build."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Reader(HTMLParser):
    """Collects what a page names, loads and links to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.mute: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag != "a":
            names = ("src", "href", "xlink:href", "data", "poster", "srcset")
            self.loads += [given[name] for name in names if name in given]
            self.loads += loads_of_style(given.get("style", ""))
        self.inside = tag if tag in ("style", "script") else ""
        if tag == "img" and not given.get("alt", "").strip():
            self.mute.append(given.get("src", "")[:60])

    def handle_data(self, data: str) -> None:
        if self.inside == "style":
            self.loads += loads_of_style(data)
        elif self.inside == "script":
            self.loads += re.findall(r"""(?:fetch|import)\(\s*['"`](https?:[^'"`]+)""", data)


def loads_of_style(style: str) -> list[str]:
    """What a style sheet loads."""
    found = re.findall(r"""(?:url\(\s*|@import\s+)['"]?([^)'";]+)""", style)
    return [url for url in found if not url.startswith(("url(", "#"))]


def foreign(url: str) -> bool:
    """Whether an address leads to another host."""
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def check(out: Path) -> list[str]:
    """The faults of a built site: images without text, foreign loads, links that lead nowhere."""
    read: dict[Path, _Reader] = {}
    for path in sorted(out.rglob("*.html")):
        if "_static" not in path.parts:
            reader = read[path] = _Reader()
            reader.feed(path.read_text(encoding="utf-8"))
    faults = []
    for path in sorted(out.rglob("*.css")):
        found = loads_of_style(path.read_text(encoding="utf-8"))
        faults += [f"{path.name}: loads {url} from another host" for url in found if foreign(url)]
    for path, reader in read.items():
        name = path.relative_to(out).as_posix()
        faults += [f"{name}: image without alternative text: {src}" for src in reader.mute]
        faults += [f"{name}: loads {url} from another host" for url in reader.loads if foreign(url)]
        for url in reader.links + reader.loads:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            ids = read[target].ids if target in read else None
            if not target.is_file():
                faults.append(f"{name}: the link {url} leads nowhere")
            elif ids is not None and parts.fragment and unquote(parts.fragment) not in ids:
                faults.append(f"{name}: the link {url} names no heading of its page")
    return faults

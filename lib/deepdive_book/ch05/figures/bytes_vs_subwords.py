"""A text as pieces and as bytes, which the reader types and spoils.

    bytes_vs_subwords("please block my card", ByteBPETokenizer.train(texts, 800))

Four buttons spoil one letter that a draw of lots finds: it is lost, exchanged with the next, made a
capital, or repeated. Said is how many pieces and bytes of the first text are left, in order. Python
draws the first state, which stays where nothing moves: on paper, without scripts.
"""

import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path

from deepdive.tokenizers.byte_bpe import BYTE, VISIBLE, ByteBPETokenizer
from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

LONGEST = 60  # characters that may be typed
WAYS = ("lose a letter", "swap two letters", "a capital", "repeat a letter")
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def bytes_vs_subwords(text: str, tokenizer: ByteBPETokenizer) -> Html:
    """Return the picture with this text.

    Raises ValueError for a text that is empty or longer than 60 characters.
    """
    if not 0 < len(text) <= LONGEST:
        raise ValueError(f"text: got {len(text)} characters, expected 1 to {LONGEST}")
    spec = {
        "text": text, "merges": [m.split(" ") for m in tokenizer.merges],
        "visible": [VISIBLE[byte] for byte in range(256)],
    }  # fmt: skip
    given = json.dumps(spec, separators=(",", ":"), ensure_ascii=False)
    name = f"by{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    buttons = "".join(f'<button type="button">{way}</button>' for way in (*WAYS, "as it was"))
    said = alt_text(text, text, tokenizer)
    html = _PAGE.format(
        id=name, style=painted(_STYLE), text=escape(text, quote=True), longest=LONGEST,
        buttons=buttons, pieces=_chips(pieces(text, tokenizer)), bytes=_chips(octets(text)),
        said=escape(said), script=script(_SCRIPT, id=name, values=given),
    )  # fmt: skip
    return Html(html, f"[bytes and pieces: {said}]")


def pieces(text: str, tokenizer: ByteBPETokenizer) -> list[str]:
    """The pieces as they are shown: a space as a low line, a part of a character by its bytes."""
    return [_shown(bytes(BYTE[char] for char in piece)) for piece in tokenizer.tokens(text)]


def octets(text: str) -> list[str]:
    """The bytes as they are shown."""
    return [_shown(bytes([byte])) for byte in text.encode()]


def _shown(some: bytes) -> str:
    try:
        text = some.decode()
    except UnicodeDecodeError:
        return some.hex().upper()
    return text.replace(" ", "_")


def left(first: Sequence[str], now: Sequence[str]) -> int:
    """How many of the first are left now, in order: the longest common subsequence."""
    best = [0] * (len(now) + 1)
    for a in first:
        before = 0
        for j, b in enumerate(now, start=1):
            before, best[j] = best[j], before + 1 if a == b else max(best[j], best[j - 1])
    return best[-1]


def alt_text(first: str, now: str, tokenizer: ByteBPETokenizer) -> str:
    """The state in words."""
    said = [f"{len(now)} characters."]
    for name, cut in (("pieces", lambda t: pieces(t, tokenizer)), ("bytes", octets)):
        was, are = cut(first), cut(now)
        said.append(f"As {name}: {len(are)}; of the first {len(was)} are left {left(was, are)}.")
    return " ".join(said)


def _chips(some: Sequence[str]) -> str:
    return "".join(f"<span>{escape(each)}</span>" for each in some)


_STYLE = """
.by { max-width: 40rem; font: 1rem/1.5 system-ui, sans-serif; margin: .4em 0; }
.by-type[hidden], .by-spoil[hidden] { display: none; }
.by-type label { display: grid; gap: .2em; }
.by-type input { font: inherit; color: inherit; background: transparent; min-height: 2.4rem;
  width: 100%; box-sizing: border-box; border: 1px solid currentColor; border-radius: .3em;
  padding: .2em .5em; }
.by-spoil { display: flex; flex-wrap: wrap; gap: .4em; margin: .5em 0; }
.by button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .3em .6em;
  background: transparent; border: 1px solid color-mix(in srgb, currentColor 55%, transparent);
  border-radius: .4em; min-height: 2.4rem; }
.by :focus-visible { outline: 3px solid @weight; outline-offset: 2px; }
.by-name { font-weight: 600; margin-top: .5em; }
.by-chips { display: flex; flex-wrap: wrap; gap: .2em; min-height: 2.2rem; }
.by-chips span { border: 1px solid @key; background: @key22; border-radius: .25em;
  padding: .1em .3em; font-family: ui-monospace, monospace; min-width: .6em; text-align: center; }
.by-bytes span { border-color: @value; background: @value22; }
.by p { margin: .5em 0; min-height: 3em; font-variant-numeric: tabular-nums; }
@media print { .by-type, .by-spoil { display: none; } .by p { min-height: 0; } }
"""

_PAGE = """\
<style>{style}</style>
<div class="by" id="{id}" role="group" aria-label="A text as pieces and as bytes">
<div class="by-type" hidden><label>your text <input type="text" maxlength="{longest}"
value="{text}" autocomplete="off" spellcheck="false"></label></div>
<div class="by-spoil" hidden>{buttons}</div>
<div class="by-name">pieces</div><div class="by-chips by-pieces">{pieces}</div>
<div class="by-name">bytes</div><div class="by-chips by-bytes">{bytes}</div>
<p role="status" aria-live="polite">{said}</p>
</div>
{script}"""

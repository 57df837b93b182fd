"""One text, damaged in several ways: the reader chooses the way and lets chance draw again.

    corruption_demo({"masked": [Damaged(read, written), ...], "deleted": [...]}, mask="[MASK]")

Each way has some draws, made by the page. A box is a token that is read; a mask stands in a box of
its own colour. Below stands what the model has to write; a token that is read less often than it is
written cannot be copied, and is marked. Python draws the first state, which stays on paper and
without scripts.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted


@dataclass(frozen=True)
class Damaged:
    """One draw: the tokens that are read and those that are to be written."""

    read: Sequence[str]
    written: Sequence[str]

    def missing(self) -> list[bool]:
        """Say of each token to be written whether it is not among those read: as often as it stands
        there it can be copied.
        """
        there, found = Counter(self.read), []
        for token in self.written:
            there[token] -= 1
            found.append(there[token] < 0)
        return found


def corruption_demo(
    ways: Mapping[str, Sequence[Damaged]], mask: Sequence[str] = ("[MASK]",)
) -> Html:
    """Return the picture of these ways, the first draw of the first one shown.

    mask: tokens that stand for what is gone. Raises ValueError for a way without draws.
    """
    if not ways or not all(ways.values()):
        raise ValueError("ways: expected one at least, each with one draw at least")
    states = {name: [_state(one, mask) for one in draws] for name, draws in ways.items()}
    given = json.dumps(states)
    name = f"dm{hashlib.sha256(given.encode()).hexdigest()[:10]}"
    buttons = "".join(
        f'<button type="button" aria-pressed="{str(not i).lower()}">{escape(way)}</button>'
        for i, way in enumerate(ways)
    )
    first = next(iter(states.values()))[0]
    html = painted(_PAGE).format(
        id=name, buttons=buttons, read=_boxes(first["read"]), written=_boxes(first["written"]),
        says=escape(str(first["says"])), script=script(_JS, id=name, states=given),
    )  # fmt: skip
    return Html(html, f"[ways to damage a text: {', '.join(ways)}. {first['says']}]")


def _state(one: Damaged, mask: Sequence[str]) -> dict[str, object]:
    """The boxes of a draw as [token, kind], and what is said of it."""
    written = [*zip(one.written, one.missing(), strict=True)]
    new = sum(gone and token not in mask for token, gone in written)
    return {
        "read": [[token, "mask" if token in mask else ""] for token in one.read],
        "written": [
            [token, "mask" if token in mask else "new" if gone else ""] for token, gone in written
        ],
        "says": f"It reads {len(one.read)} tokens and writes {len(one.written)}; "
        f"{new} of these cannot be copied.",
    }


def _boxes(tokens: object) -> str:
    assert isinstance(tokens, list)
    return " ".join(f'<span class="{kind}">{escape(token)}</span>' for token, kind in tokens)


_PAGE = """\
<style>
.dm {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: .4em 0; }}
.dm .controls {{ display: flex; flex-wrap: wrap; gap: .4em; margin: .4em 0; }}
.dm .controls[hidden] {{ display: none; }}
.dm button {{ font: inherit; margin: 0; padding: .2em .7em; color: inherit; cursor: pointer;
  background: transparent; border: 1px solid currentColor; border-radius: .3em; }}
.dm button[aria-pressed=true] {{ font-weight: 700; box-shadow: inset 0 0 0 1px currentColor; }}
.dm .dm-head {{ font-weight: 600; margin: .5em 0 .2em; }}
.dm .dm-words {{ min-height: 4.6em; }}
.dm .dm-words span {{ display: inline-block; border: 1px solid @key; border-radius: .25em;
  padding: 0 .35em; margin: .12em 0; }}
.dm .dm-words span.mask {{ border: 2px solid @query; font-weight: 700; }}
.dm .dm-words span.new {{ border: 2px solid @output; font-weight: 700; }}
</style>
<div class="dm" id="{id}" role="group" aria-label="A text, damaged">
<div class="controls ways" hidden>{buttons}</div>
<div class="dm-head">The model reads</div><div class="dm-words read">{read}</div>
<div class="dm-head">It must write</div><div class="dm-words written">{written}</div>
<p role="status" aria-live="polite">{says}</p>
<div class="controls" hidden><button type="button" class="again">Draw again</button></div></div>
{script}"""
_JS = """
const states = JSON.parse(given.states), box = document.getElementById(given.id);
const ways = [...box.querySelectorAll(".ways button")], again = box.querySelector(".again");
let way = ways[0].textContent, draw = 0;
const boxes = (row, tokens) => row.replaceChildren(...tokens.flatMap(([token, kind]) => {
  const each = document.createElement("span");
  each.className = kind;
  each.textContent = token;
  return [each, " "];
}));
const show = () => {
  const now = states[way][draw % states[way].length];
  boxes(box.querySelector(".read"), now.read);
  boxes(box.querySelector(".written"), now.written);
  box.querySelector("p").textContent = now.says;
  again.disabled = states[way].length < 2;
};
for (const button of ways) button.onclick = () => {
  ways.forEach((one) => one.setAttribute("aria-pressed", one === button));
  [way, draw] = [button.textContent, 0];
  show();
};
again.onclick = () => { draw += 1; show(); };
box.querySelectorAll(".controls").forEach((one) => { one.hidden = false; });
show();
"""

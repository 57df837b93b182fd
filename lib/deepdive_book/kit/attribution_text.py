"""A text coloured by explanations: a row a method, the words of the text in each.

    coloured(words, {"occlusion": values, "LIME": others})      # values (S,), one for each word

Blue speaks for what is explained, orange against it. A bar says the same without colour: above the
line for, below it against, as high as the word counts beside the row's largest. Rows are not to be
compared in size: each method has a unit of its own.
"""

from collections.abc import Mapping, Sequence
from html import escape

import torch
from torch import Tensor

from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES

FOR, AGAINST = ROLES["key"], ROLES["query"]
HALF = 9  # pixels of the highest bar, on each side of the line


def colored(words: Sequence[str], methods: Mapping[str, Tensor | Sequence[float]]) -> Html:
    """Return the text once for each method, each word coloured by its value there.

    Raises:
        ValueError: there is no word or no method, or a method has not one finite number a word.
    """
    if not words or not methods:
        raise ValueError(f"got {len(words)} words and {len(methods)} methods, expected some")
    rows, plain = [], []
    for name, values in methods.items():
        shares = relative(values, len(words), name)
        cells = " ".join(word(w, s) for w, s in zip(words, shares, strict=True))
        rows.append(
            f'<div class="ex-row"><span class="ex-name">{escape(name)}</span>'
            f'<span class="ex-text">{cells}</span></div>'
        )
        told = " ".join(f"{w} {_two(s)}" for w, s in zip(words, shares, strict=True))
        plain.append(f"{name}: {told}")
    return Html(f'{STYLE}<div class="ex">{"".join(rows)}</div>', "\n".join(plain))


def relative(values: Tensor | Sequence[float], count: int, name: str) -> list[float]:
    """The values over the largest size among them, -1 to 1; zeros stay zeros."""
    row = torch.as_tensor(values, dtype=torch.float64).detach().cpu()
    if row.shape != (count,) or not row.isfinite().all():
        raise ValueError(
            f"{name}: got {tuple(row.shape)}, expected ({count},), one finite number a word: "
            "leave out those of [CLS] and [SEP]"
        )
    most = float(row.abs().max())
    return [round(float(v) / most, 4) + 0.0 if most else 0.0 for v in row]


def word(text: str, share: float) -> str:
    """One word and its bar; `share` from -1 to 1."""
    color, high = FOR if share > 0 else AGAINST, HALF * abs(share)
    top = HALF - high if share > 0 else HALF
    return (
        f'<span class="ex-word" title="{_two(share)}" '
        f'style="background:{color}{round(120 * abs(share)):02x}">{escape(text)}'
        f'<span class="ex-bar"><span style="top:{top:.1f}px;height:{high:.1f}px;'
        f'background:{color}"></span></span></span>'
    )


def _two(share: float) -> str:
    return f"{round(share, 2) + 0.0:+.2f}"  # no "-0.00"


STYLE = f"""\
<style>
.ex {{ font: 1rem/1.35 system-ui, sans-serif; margin: .4em 0; max-width: 60rem; }}
.ex-row {{ display: flex; flex-wrap: wrap; gap: 0 .8rem; padding: .3em 0; }}
.ex-row + .ex-row {{ border-top: 1px solid {ROLES["score"]}44; }}
.ex-name {{ flex: 0 0 11rem; font-weight: 600; font-size: .9rem; padding-top: .15em; }}
.ex-text {{ flex: 1 1 17rem; }}
.ex-word {{ display: inline-block; padding: .05em .2em 0; margin: 0 -.04em .15em 0;
  border-radius: 3px; text-align: center; }}
.ex-bar {{ display: block; position: relative; height: {2 * HALF}px; }}
.ex-bar::before {{ content: ""; position: absolute; left: 0; right: 0; top: {HALF - 0.5}px;
  border-top: 1px solid currentColor; opacity: .35; }}
.ex-bar span {{ position: absolute; left: 20%; width: 60%; min-width: 4px; }}
</style>
"""

"""A model that runs in the page: the reader types, and answer and attention change at once.

    toy = number_words()                             # deepdive_book.ch02.toys.number_words
    live(toy.model, toy.source, toy.target, "quatre vingt dix sept", snapshots=toy.snapshots)

`forward.js` is our Transformer in plain JavaScript, with the model's own weights in half precision;
a test holds it to PyTorch. Nothing comes from a network, and nothing the reader types leaves the
page. Without scripts one worked example stands there as maps.

What it teaches beside the public explainers. Transformer Explainer (Cho et al. 2024) runs GPT-2 on
the reader's sentence and shows the next token, with temperature, top-k and top-p; LLM Visualization
(Bycroft 2023) walks through every number of a small GPT that sorts six letters, always the same
six. Both show a decoder alone, and one that is finished. Here stands a whole encoder-decoder, so
cross-attention is seen; it writes to the end, so every written token can be asked where it looked;
it can be damaged (a word left out, a head silenced) and its answer compared with the untouched
model's; it can be wound back to its first training step, with the reader's own words; it is small
enough for all its probabilities to be shown, so that temperature is seen to change shares and never
their order; and it is the very model, weight by weight, that the page's Python has.
"""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import matplotlib as mpl
import torch

from deepdive.core.hooks import record
from deepdive.decoding import forbid, greedy
from deepdive.tokenizers import SPECIALS, CharTokenizer, Tokenizer, WordTokenizer
from deepdive_book.kit.figures import Picture
from deepdive_book.kit.live.export import Tensors, described, half, snapshot
from deepdive_book.kit.markup import Html, marked, script
from deepdive_book.kit.plotting import heads, png, style

LARGEST = 500_000  # bytes of HTML


def live(
    model: Any,
    source: Tokenizer,
    target: Tokenizer,
    text: str,
    *,
    examples: Sequence[str] = (),
    snapshots: Mapping[str, Tensors] | None = None,
    trained: str = "after training",
    ask: str = "Type number words",
    most: int = 24,
) -> Html:
    """Return a page's live model: an encoder-decoder of `deepdive.models.transformer.transformer`.

    Args:
        model: with sinusoids, pre-norm or post-norm blocks, ReLU and a tied head.
        source, target: its word or character tokenisers.
        text: what the reader finds there, and what is worked out where no script runs.
        examples: more texts, one button each.
        snapshots: name -> the model's weights at an earlier step of training, in order.
        trained: the name of its weights now.
        ask: the label of the field.
        most: so many tokens are read, and written, at most.

    Raises:
        TypeError, ValueError: the page cannot run the model or a tokeniser, a text has a token that
            the model does not know, or the whole is larger than 500 kB. The message names it.
    """
    for name, tokenizer in (("source", source), ("target", target)):
        if type(tokenizer) not in (WordTokenizer, CharTokenizer):
            kind = type(tokenizer).__name__
            raise TypeError(f"{name}: the page reads words or characters; got {kind}")
        if tuple(tokenizer.vocab[: len(SPECIALS)]) != SPECIALS:
            raise ValueError(f"{name}: its vocabulary must begin with {', '.join(SPECIALS)}")
    for given in (text, *examples):
        ids = source.encode(given)
        if not 0 < len(ids) <= most or source.unk in ids:
            raise ValueError(f"{given!r} has {len(ids)} tokens, {ids.count(source.unk)} unknown")
    state = model.state_dict()
    spec = described(model) | {
        "source": source.vocab,
        "target": target.vocab,
        "letters": type(source) is CharTokenizer,
        "joined": "" if type(target) is CharTokenizer else " ",
        "bos": target.bos,
        "eos": target.eos,
        "unk": source.unk,
        "never": [target.pad, target.bos, target.unk],
        "most": most,
        "count": sum(p.numel() for p in model.parameters()),
        "weights": half(state),
        "snapshots": [
            {"name": name, "weights": snapshot(earlier)}
            for name, earlier in (snapshots or {}).items()
        ],
        "trained": trained,
    }
    answer, picture, still = _worked(model, source, target, text, most)
    body = json.dumps(spec, ensure_ascii=False)
    name = f"live{hashlib.sha256((body + text).encode()).hexdigest()[:10]}"
    buttons = "".join(f'<button type="button">{escape(e)}</button>' for e in (text, *examples))
    html = _page("page.html").format(
        id=name,
        style=_page("style.css"),
        ask=marked(ask),
        text=escape(text),
        answer=escape(answer),
        still=still,
        examples=buttons if examples else "",
        kinds="".join(_KIND.format(title=title, what=what) for title, what in _KINDS),
        script=script(_page("forward.js") + _page("page.js"), id=name, spec=body),
    )
    if len(html.encode()) > LARGEST:
        raise ValueError(
            f"the live model has {len(html.encode()) / 1000:.0f} kB, at most {LARGEST / 1000:.0f}: "
            "give a smaller model, or fewer snapshots"
        )
    return Html(html, f"[live model: {text} -> {answer}]", [picture])


_KINDS = (
    ("Cross-attention", "each written token looks at the words read"),
    ("Decoder, self-attention", "each row looks at what is written so far"),
    ("Encoder, self-attention", "each word read looks at all of them"),
)

_KIND = """\
<section class="maps"><p class="kind"><strong>{title}</strong> <span class="quiet">{what}</span>
<button type="button">all off or on<span class="hide">: {title}</span></button></p>
<div class="heads"></div></section>
"""


def _page(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@torch.no_grad()
def _worked(
    model: Any, source: Tokenizer, target: Tokenizer, text: str, most: int
) -> tuple[str, Picture, str]:
    """Return the model's answer to `text`, and its cross-attention as a picture and as HTML."""
    src = torch.tensor([source.encode(text, eos=True)])
    never = forbid(target.pad, target.bos, target.unk)
    ids = greedy(model, src, max_length=most, rules=[never])[0]
    training = model.training
    with record(model.eval(), "decoder.*.cross.mechanism.weights") as seen:
        model(src, torch.tensor([[target.bos, *ids]]))
    model.train(training)
    maps = torch.cat([weights[0][0] for weights in seen.values()])
    per_layer = len(maps) // len(seen)
    names = [f"layer {i // per_layer + 1}, head {i % per_layer}" for i in range(len(maps))]
    rows = [*(target.vocab[i] for i in ids), "end"]
    with mpl.rc_context():
        style()  # the same image whatever the page has set
        figure = heads(maps, rows, [*source.tokens(text), "end"], names=names, limits=(0, 1))
        image = base64.b64encode(png(figure)).decode()
    alt = getattr(figure, "alt", "")
    html = f'<img alt="{escape(alt)}" src="data:image/png;base64,{image}">'
    return target.decode(ids), Picture([figure], alt), html

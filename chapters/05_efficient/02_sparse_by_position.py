# %% [markdown] tags=["slide"]
# # Sparse attention by position: Longformer, BigBird, Sparse Transformer
#
# In a text of 4,096 tokens a head compares $4096^2$ pairs, 16.8 million, and gives nearly all of
# them next to nothing. Which pairs can be left out before anybody has looked at the text, by their
# positions alone, and what is lost?
#
# <small>Prerequisites: [masks](../02_transformer/07_masks.ipynb),
# [what attention costs](../02_transformer/15_complexity.ipynb),
# [what the heads look at](../03_bert/12_bertology.ipynb) · 22 min · runs on a laptop · book 5.2.2.1
# and 5.2.2.4, KAIST deck 3, table 1.2</small>

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
# %% Nine words that ask and tell tags=["fold"]
import torch

from deepdive.attention import StridedAttention
from deepdive.core import SoftmaxAttention
from deepdive.core.masks import Causal, Global, Window

words = ["Rain", "fell", "all", "day", "long", "so", "we", "stayed", "home"]
weather, time, people, place = torch.eye(4, dtype=torch.double)
asks = torch.stack([time, weather, time, weather, time, weather, place, people + place, weather])
tells = torch.tensor([[3, 0, 0, 0], [2, 0, 0, 0], [0, 1, 0, 0], [0, 3, 0, 0], [0, 2, 0, 0],
                      [1, 1, 1, 1], [0, 0, 3, 0], [0, 0, 1, 2], [0, 0, 0, 3]]).double()  # fmt: skip
scores = asks @ tells.T
lots = torch.rand(9, 9, generator=torch.Generator().manual_seed(5)).fill_diagonal_(2)
patterns = {
    "full": Window(8, 8).dense(9)[0, 0],
    "causal": Causal().dense(9)[0, 0],
    "window": Window(2, 2).dense(9)[0, 0],
    "strided, causal": StridedAttention(3).pattern(1).dense(9)[0, 0],
    "one global word": (Window(1, 1) | Global((5,))).dense(9)[0, 0],
    "random": lots >= lots.flatten().topk(39).values[-1],
}
scores.int()

# %% Draw a mask tags=["fold"]
from deepdive_book.ch05.figures.attention_mask_editor import attention_mask_editor

drawing = attention_mask_editor(words, scores, tells, patterns, start="window")
drawing

# %% [markdown]
# *Rows ask, columns answer. The number in a square is its share of the row's attention, in percent;
# hatched pairs are not computed. The thick frames are the shortest way from the last word back to
# the first. The bars on the right say how much each word's output changes.*
#
# The window keeps 39 of 81 pairs, and *Rain* needs four layers to reach *home*. Choose *one global
# word*: fewer pairs, and two layers are enough. Then go back to the window and open the square in
# the lower left corner: how much does one pair change?
#
# In these nine words the numbers are set by hand: *home* asks about the weather, and *Rain* has the
# answer. How far the heads of a trained model look is measured below. Here are more patterns, on 25
# positions:

# %% Check the drawing tags=["fold"]
from deepdive_book.ch05.figures.attention_mask_editor import effect

whole = SoftmaxAttention()(asks[None, None], tells[None, None], tells[None, None], scale=1.0)
for name, open_pairs in patterns.items():
    found = effect(open_pairs.tolist(), scores.tolist(), tells.tolist())
    part = SoftmaxAttention()(*(x[None, None] for x in (asks, tells, tells)), open_pairs, scale=1.0)
    assert abs((part - whole).norm() / whole.norm() - found.loss) < 1e-6
    print(f"{name:>16}: {found.pairs} pairs, {len(found.path) - 1} layers, loss {found.loss:.0%}")
    if name == "window":
        assert (found.pairs, len(found.path) - 1) == (39, 4)

# %% tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive.attention import (
    AxialAttention,
    BlockSparseAttention,
    DilatedAttention,
    FixedAttention,
)
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.tables import table

n = 25
PATTERNS = {
    "full": Window(n, n),
    "window": Window(2, 2),
    "window with gaps": DilatedAttention(2, 2, (3,)).pattern(1),
    "window, 2 global": Window(2, 2) | Global((0, 24)),
    "blocks: BigBird": BlockSparseAttention(2, 2).pattern(1),
    "strided": StridedAttention(5).pattern(1),
    "fixed": FixedAttention(5, 1).pattern(1),
    "a row or a column": AxialAttention(5).pattern(1) | AxialAttention(5, "column").pattern(1),
}

# %% tags=["slide", "fold"]
figure = Figure(figsize=(8.4, 4.5))
for axes, (name, mask) in zip(figure.subplots(2, 4).flat, PATTERNS.items(), strict=True):
    open_pairs = mask.dense(n)[0, 0]
    axes.imshow(open_pairs, cmap="Blues", vmin=0, vmax=1.4)
    axes.set(xticks=[], yticks=[])
    axes.set_title(f"{name}\n{open_pairs.float().mean():.0%} of the pairs", fontsize=9)
with_alt(
    figure,
    "Eight square maps of 25 queries and 25 keys. Full: all filled. Window: a band on the "
    "diagonal. With gaps: five thin diagonals. Two global: the band, and the first and last row "
    "and column. BigBird: a staircase of blocks, filled edges, scattered blocks. Strided: a band "
    "below the diagonal and thin diagonals. Fixed: triangles and thin columns. Rows and columns: "
    "blocks on the diagonal and thin diagonals.",
)

# %% [markdown]
# *Queries down, keys across, filled = the pair is computed. Strided and fixed are causal. At 25
# positions a third is a poor saving; what counts is how the filled part grows: with $n$ for
# windows, global tokens and blocks, with $n \sqrt n$ for the last three, with $n^2$ for the first.*
#
# Every pattern on this page is a **mask**. The mask says what is computed; a mechanism of the
# library then computes the same without making the closed pairs, and a test holds the two equal.

# %% [markdown] tags=["slide"]
# ## By hand: what is left out is shared out
#
# A query has four keys. The exponentials of its scores are 1, 2, 4, 1, the values 0, 7, 14, 56. We
# close the last key.
#
# | | key 1 | key 2 | key 3 | key 4 | output |
# |---|---|---|---|---|---|
# | value | 0 | 7 | 14 | 56 | |
# | weight, full | 1/8 | 2/8 | 4/8 | 1/8 | $0 + 1.75 + 7 + 7 = 15.75$ |
# | weight, key 4 closed | 1/7 | 2/7 | 4/7 | 0 | $0 + 2 + 8 = 10$ |
#
# The lost weight, $\varepsilon = 1/8$, is not lost: softmax shares it out among the keys that stay,
# in proportion. So the error is what the closed keys would have said, minus what is said in their
# place, times their weight: $\frac18 (56 - 10) = 5.75 = 15.75 - 10$.
#
# Now count pairs. A window of one on each side, over 8 tokens, has $8 \cdot 3 - 2 = 22$ pairs of
# 64. Make the first token global: its row and its column have 15 pairs, of which 3 were open. That
# makes $22 + 12 = 34$.

# %% tags=["nbval-check-output"]
weights, values = torch.tensor([1.0, 2, 4, 1]) / 8, torch.tensor([0.0, 7, 14, 56])
stay = torch.tensor([True, True, True, False])
kept = weights * stay / (weights * stay).sum()
error = weights[~stay].sum() * (values[3] - kept @ values)
assert (weights @ values).item() == 15.75
assert abs((kept @ values).item() - 10) < 1e-5
assert abs(error.item() - 5.75) < 1e-5
band, first = Window(1, 1), Global((0,))
pairs = [int(mask.dense(8).sum()) for mask in (band, first, band & first, band | first)]
assert pairs == [22, 15, 3, 34]
print("pairs: window, global, both, either:", pairs)

# %% [markdown] tags=["slide"]
# ## The equation
#
# Let $N_t$ be the keys that query $t$ may meet. Then
#
# $$o'_t = \sum_{s \in N_t} a'_{ts} v_s, \qquad
# a'_{ts} = \frac{\exp(q_t \cdot k_s / \sqrt{d})}{\sum_{r \in N_t} \exp(q_t \cdot k_r / \sqrt{d})},
# \qquad o_t - o'_t = \varepsilon_t \, (\bar v_t - o'_t),$$
#
# where $\varepsilon_t$ is the weight that full attention gives the closed keys, and $\bar v_t$
# their weighted mean. The cost falls from $n^2 d$ to $d \sum_t |N_t|$. So a pattern is good for a
# model if $\varepsilon$ is small, and if it is not small, if the closed keys say about the same as
# the open ones. Whether that is so is a question about models, not about patterns: we shall ask
# one.
#
# ## In code: a window
#
# Cut, for each query, the $2 w + 1$ keys around it out of the padded keys. Nothing of size $n^2$
# is made.

# %%
import torch.nn.functional as F


def near(q, k, v, w):
    """q, k, v (T, d); each query meets w keys on each side and its own."""
    T, d = q.shape
    k, v = (F.pad(rows, (0, 0, w, w)).unfold(0, 2 * w + 1, 1) for rows in (k, v))
    scores = (q.unsqueeze(-1) * k).sum(1) / d**0.5  # (T, 2 w + 1)
    at = torch.arange(T).unsqueeze(1) + torch.arange(-w, w + 1)
    scores = scores.masked_fill((at < 0) | (at >= T), -torch.inf)
    return (scores.softmax(-1).unsqueeze(1) * v).sum(-1)


# %% tags=["nbval-check-output"]
from deepdive.attention import WindowAttention
from deepdive.core import SoftmaxAttention

q, k, v = torch.randn(3, 1, 1, 50, 8).unbind(0)
ours = near(q[0, 0], k[0, 0], v[0, 0], 3)
library = WindowAttention(3, 3)(q, k, v)[0, 0]
masked = SoftmaxAttention()(q, k, v, Window(3, 3))[0, 0]
assert (ours - library).abs().max() < 1e-6
assert (masked - library).abs().max() < 1e-6
print("the toy, the library, and full attention under the mask agree")

# %% [markdown]
# The library's form differs in one thing. One query at a time is a sum of small vectors, and a
# processor likes matrices. So queries go in **blocks**: a block of $b$ queries meets one stretch of
# $b + 2w$ keys in one matrix product, and the corners of the stretch are masked. The corners are
# waste, $(b + 2w) / (2w + 1)$ pairs are made for each that is needed; small blocks waste little,
# but make many small products:

# %%
import time

from deepdive_book.kit.profile import banner, pick, profile

threads = torch.get_num_threads()
torch.set_num_threads(1)


def milliseconds(call, repeats=3):
    call()
    took = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        took.append(time.perf_counter() - start)
    return 1000 * min(took)


def there_and_back(mechanism, n):
    """Milliseconds forward and backward: one text, 4 heads of 64."""
    q, k, v = torch.randn(3, 1, 4, n, 64).unbind(0)
    leaves = [rows.requires_grad_() for rows in (q, k, v)]
    return milliseconds(lambda: torch.autograd.grad(mechanism(*leaves).sum(), leaves))


# %%
size = pick(ci=512, laptop=4096, gpu=4096)
table(
    [
        (block, (block + 256) / 257, there_and_back(WindowAttention(128, 128, block=block), size))
        for block in (16, 32, 64, 128, 256, 512)
    ],
    ["block", "pairs for each needed", "time"],
    units={"time": "ms"},
    caption=f"{size:,} tokens, w = 128: each query needs 257 keys",
)

# %% [markdown] tags=["slide"]
# ## Look: does a real model's attention fit in a window?
#
# MiniLM is a BERT of 6 layers with 12 heads each. Give it six texts of 256 tokens, cut at even
# distances out of the treebank's documents, which come in a drawn order, and record each head's
# weights and values. From the weights of full attention, those under any mask follow by closing and
# dividing, as in the table above.

# %%
from deepdive.core.hooks import record
from deepdive.data.documents import generated_documents, web_documents
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer

model, tokenizer = load(minilm()), minilm_tokenizer()
documents = generated_documents(200) if profile() == "ci" else web_documents()
print(banner("generated documents" if profile() == "ci" else "ud_english_ewt (real)"))
n, texts = 256, pick(ci=2, laptop=6, gpu=6)
stream = [i for document in documents for text in document for i in tokenizer.encode(text)]
cut = [stream[at : at + n - 2] for at in range(0, len(stream), len(stream) // texts)][:texts]
tokens = torch.tensor([[tokenizer.bos, *row, tokenizer.eos] for row in cut])
with torch.no_grad(), record(model, "*mechanism.weights", "*attn.values") as seen:
    states = model(tokens)
A = torch.stack([seen[f"stack.blocks.{i}.attn.mechanism.weights"][0] for i in range(6)])
V = torch.stack([seen[f"stack.blocks.{i}.attn.values"][0] for i in range(6)])
print("weights (layers, texts, heads, queries, keys):", tuple(A.shape))

# %%
def window(w):
    return Window(w, w).dense(n)[0, 0]


inside = (A * window(16)).sum(-1).mean((1, 3))  # (layer, head): the weight within 16 of the query
fits = int((inside > 0.9).sum())
print(f"heads with 90 % of their weight in the window: {fits} of 72; with half: "
      f"{int((inside > 0.5).sum())}")
assert fits == 0

# %% tags=["fold"]
from deepdive_book.kit.plotting import heatmap

figure = heatmap(
    inside,
    [f"layer {i + 1}" for i in range(6)],
    [str(i + 1) for i in range(12)],
    title="weight within 16 positions of the query",
    limits=(0, 1),
    digits=2,
    alt="A map of 6 layers and 12 heads. Some heads of the first three layers keep two thirds or "
    "more in the window; the last layer's keep a fifth at most.",
)
figure.axes[0].set(xlabel="head", ylabel="")
figure

# %% [markdown]
# *33 of 256 keys; even weights would put about an eighth inside. Early layers have local heads; the
# last layer's heads spread their weight over the whole text. No head keeps 90% of its weight
# inside, on these six texts.*
#
# So a window alone must do harm. We measure it where it matters, at the output of the heads:
# $\lVert o' - o \rVert / \lVert o \rVert$ for each head and text, then the mean.


# %%
def under(mask):
    """The heads' outputs when only the pairs of the mask are open."""
    left = A * mask
    return (left / left.sum(-1, keepdim=True)) @ V


full = A @ V


def error(mask):
    change = (under(mask) - full).flatten(3).norm(dim=-1) / full.flatten(3).norm(dim=-1)
    return change.mean().item()


def at_random(keys, seed=0):
    """Each query's own key, and others drawn alike."""
    lots = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)).fill_diagonal_(2)
    return lots >= lots.topk(keys).values[:, -1:]


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "A window of 16 on each side, 33 keys. Which addition lowers the error most?",
    ["33 more keys: a window twice as wide", "33 more keys, drawn at random",
     "2 more keys: [CLS] and [SEP], the first and the last token"],
    answer=2,
    explain="A good part of the weight of the layers 2 to 5 rests on [CLS]. No window of far "
    "queries holds it, and one column does.",
    key="05_efficient/two-keys",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
ends = Global((0, n - 1)).dense(n)[0, 0]
wide = {
    "window": window(16),
    "twice as wide": window(32),
    "and 33 random": window(16) | at_random(33),
    "and the two ends": window(16) | ends,
}
errors = {name: error(mask) for name, mask in wide.items()}
assert min(errors, key=errors.get) == "and the two ends"
print("weight on [CLS], by layer:", [f"{a:.2f}" for a in A[..., 0].mean((1, 2, 3))])
table(
    [(name, mask.float().sum(-1).mean(), errors[name]) for name, mask in wide.items()],
    ["pattern", "keys a query", "error"],
    formats={"keys a query": ".1f"},
    best={"error": min},
)

# %% [markdown]
# **Which direction?** A global token has a row (it sees all) and a column (all see it). Two rows
# and two columns were opened; which of them did it?

# %%
rows, columns = window(16), window(16)
rows[[0, -1]], columns[:, [0, -1]] = True, True
one_way = {"rows": error(rows), "columns": error(columns)}
print("only the", ", only the ".join(f"{name}: {e:.3f}" for name, e in one_way.items()))
assert one_way["columns"] < errors["window"] - 0.1
assert abs(one_way["rows"] - errors["window"]) < 0.02

# %% [markdown]
# ### Common mistake: a global token that only looks
#
# **The belief:** "[CLS] must read the whole text, so I let it." That opens the row. **Symptom:**
# the classifier's state changes, and everything else stays as bad as with the window: nobody can
# hear of what [CLS] has read, nor rest on it. **Fix:** open the column as well. In Longformer and
# BigBird *global* always means both.
#
# ## Error against budget
#
# The same for all budgets. Two more curves to compare with: **random** keys, what a pattern without
# an idea gets; and the **best** keys, each query's own largest weights. No pattern by position can
# have the latter; they show what is lost by not looking at the text.

# %%
curves = {name: [] for name in ("window", "window and ends", "BigBird", "random", "best")}


def add(name, mask):
    curves[name].append((mask.float().sum(-1).mean().item(), error(mask)))


for w in pick(ci=(4, 16, 64), laptop=(2, 4, 8, 16, 32, 64), gpu=(2, 4, 8, 16, 32, 64)):
    add("window", window(w))
    add("window and ends", window(w) | ends)
    add("random", at_random(2 * w + 1))
    add("best", A.topk(2 * w + 1).values[..., -1:] <= A)
for block in (4, 8, 16):
    add("BigBird", BlockSparseAttention(block, 3).pattern(12).dense(n)[0])
for name, points in curves.items():
    print(f"{name:>16}:", ", ".join(f"{keys:.0f} keys {e:.2f}" for keys, e in points))

# %% tags=["slide", "fold"]
figure = Figure(figsize=(7.4, 3.8))
axes = figure.add_subplot()
for (name, points), marker in zip(curves.items(), "os^vD", strict=True):
    axes.plot(*zip(*points, strict=True), marker + "-", label=name, markersize=5)
axes.axvline(n, color="grey", linewidth=1, linestyle=":")
axes.set(xscale="log", xlabel="keys a query meets, of 256", ylabel="error of a head's output",
         ylim=(0, None))  # fmt: skip
axes.set_xticks([8, 16, 32, 64, 128, 256], ["8", "16", "32", "64", "128", "256"])
axes.set_xticks([], minor=True)
figure.legend(loc="outside right upper")
with_alt(
    figure,
    "Error against keys a query meets, five falling curves. Random keys and the window alone are "
    "highest. Window and ends and BigBird lie clearly below both, close together. The best keys "
    "are lowest.",
)

# %% [markdown]
# *Mean over heads and texts; an error of 1 is as large as the output itself. Dotted: all keys.*

# %%
for best, open_ends, plain in zip(
    curves["best"], curves["window and ends"], curves["window"], strict=True
):
    assert best[1] < open_ends[1] < plain[1]
wider = zip(curves["window and ends"], curves["window"][1:], strict=False)
assert all(opened[1] < plain[1] for opened, plain in wider)
print("at every budget: best keys < window and ends < window, the next wider one included")

# %% [markdown]
# Read off the figure:
#
# - Two columns are worth more than a window twice as wide, at every budget tried (means over six
#   texts and 72 heads).
# - Random keys *instead of* a window are poor; BigBird's random blocks stand *beside* a window and
#   ends.
# - The best keys do better still, and which they are depends on the text. Choosing them without
#   computing all scores is what attention that is sparse by content tries.
#
# One head's error is not the model's. Put the mechanism in all six layers of MiniLM and compare the
# mean state, which stands for the text. Nothing is trained again.

# %%
from deepdive.attention import GlobalWindowAttention


def with_mechanism(make):
    """The model's states when every layer has this mechanism."""
    kept = [block.attn.mechanism for block in model.stack.blocks]
    for block in model.stack.blocks:
        block.attn.mechanism = make()
    with torch.no_grad():
        found = model(tokens)
    for block, mechanism in zip(model.stack.blocks, kept, strict=True):
        block.attn.mechanism = mechanism
    return found


def same_text(make):
    meant = with_mechanism(make).mean(1)
    return torch.cosine_similarity(meant, states.mean(1)).mean().item()



# %%
found = []
for w in pick(ci=(4, 16), laptop=(4, 16, 64), gpu=(4, 16, 64)):
    alone = same_text(lambda w=w: GlobalWindowAttention(w, w))
    opened = same_text(lambda w=w: GlobalWindowAttention(w, w, at=(0, -1)))
    found.append({"w": w, "window": alone, "with both ends": opened})
    assert opened > alone + 0.05
assert same_text(lambda: GlobalWindowAttention(n, n)) > 0.9999
table(found, caption="Cosine with the model's own vector of the text")

# %% [markdown]
# MiniLM was trained with all pairs open, and leans on them. A model that is *trained* with a window
# can put elsewhere what it cannot reach, which is why Longformer and BigBird go on training after
# the change. The figures above say what is lost on the first day.
#
# ## How many layers until everyone has heard of everyone?
#
# One layer hands on along its open pairs. After $L$ layers, query $t$ has heard of key $s$ if
# there is a way of $L$ steps: if $M^L$, the mask's matrix to the power $L$, has a positive entry
# there. For a window that takes $\lceil (n - 1) / w \rceil$ layers.

# %%
def layers_until_full(masks, goal):
    """How many layers, taking turns through the masks, until the goal's pairs are all linked."""
    heard, count = torch.eye(len(goal)), 0
    while not (heard > 0)[goal].all():
        heard = ((masks[count % len(masks)].float() @ heard) > 0).float()
        count += 1
    return count



# %%
m = 64
everyone, before = torch.ones(m, m).bool(), torch.ones(m, m).tril().bool()
asked = {
    "window of 4": ([Window(4, 4)], everyone),
    "gaps of 1, 4": ([Window(4, 4), Window(4, 4, 4)], everyone),
    "window, 1 global": ([Window(4, 4) | Global((0,))], everyone),
    "BigBird, blocks of 4": ([BlockSparseAttention(4, 3).pattern(1)], everyone),
    "strided, 8": ([StridedAttention(8).pattern(1)], before),
    "fixed, 8 and 1": ([FixedAttention(8, 1).pattern(1)], before),
    "rows, then columns": ([AxialAttention(8, a).pattern(1) for a in ("row", "column")], everyone),
}
keys, steps = {}, {}
for name, (masks, goal) in asked.items():
    dense = [mask.dense(m)[0, 0] for mask in masks]
    keys[name] = torch.stack(dense).float().sum(-1).mean()
    steps[name] = layers_until_full(dense, goal)
assert steps["window of 4"] == -(-(m - 1) // 4) == 16
assert [*steps.values()][2:] == [2] * 5
table(
    [(name, keys[name], steps[name]) for name in asked],
    ["pattern", "keys a query", "layers"],
    formats={"keys a query": ".1f"},
    caption=f"{m} positions: layers until each has heard of all that it may",
)

# %% [markdown]
# Two layers suffice for everything but windows alone: over the global token, over the first block,
# over a summary, over the crossing of a row and a column. But a way is not yet a message. All that
# passes through one global token must fit into one vector.

# %% [markdown] tags=["slide"]
# ## Longformer
#
# Beltagy et al. (2020) began with RoBERTa, gave each layer a window of 512 and a few **global
# tokens**, chosen by the task: the first token for classification, all tokens of the question for
# question answering. Global tokens ask, and are told, through **projections of their own**:
#
# $$o_t = \sum_{s \in N_t} a_{ts} v_s \;\text{ with } q, k, v, \qquad
# o_g = \sum_{s = 1}^{n} a'_{gs} v'_s \;\text{ with } q', k', v',$$
#
# where $N_t$ is the window and the global tokens, and $W'_q, W'_k, W'_v$ start as copies of $W_q,
# W_k, W_v$. (As a key, a global token is seen through the shared $W_k$.)

# %%
from deepdive_book.site.atlas import compare

view = compare("longformer")
view

# %% [markdown]
# *Grey is as it was, lit is new.* In the row of a global token, nothing is new but the
# projections:

# %%
from deepdive.attention import LongformerAttention
from deepdive.core import MultiHeadAttention

layer = LongformerAttention(16, 4, window=2, at=(0,)).double()
torch.nn.init.normal_(layer.global_kv.weight, std=0.3)  # no longer copies
torch.nn.init.normal_(layer.global_q.weight, std=0.3)
x = torch.randn(1, 20, 16).double()
q_new = layer.global_q(x[:, 0]).view(4, 4)  # heads, width
k_new, v_new = layer.global_kv(x[0]).view(20, 2, 4, 4).unbind(1)
weights = torch.einsum("hd, shd -> hs", q_new, k_new).div(4**0.5).softmax(-1)
row = torch.einsum("hs, shd -> hd", weights, v_new).flatten()
assert (layer.out(row) - layer(x)[0, 0]).abs().max() < 1e-6

plain = MultiHeadAttention(16, 4).double()
for name in ("q", "kv", "out"):
    setattr(plain, name, getattr(layer, name))
others = plain(x, mask=Window(2, 2) | Global((0,)))
assert (others - layer(x))[0, 1:].abs().max() < 1e-6
print("row 0: its own projections; rows 1-19: the mask Window | Global, with the shared ones")

# %% [markdown]
# **Limits.** With no global token it is multi-head attention under the mask *window*; with all
# tokens global and the projections as they start, it is RoBERTa. **Cost:** $n (2w + 1 + 2g)$ pairs
# for $g$ global tokens. The new keys $k'$ and values $v'$ of all tokens would cost $2 d$ products
# for each number in $x$. The library never makes them: $q'_g \cdot (W'_k x_s) = (W_k'^T q'_g) \cdot
# x_s$, and likewise for the values, which takes $2 g$ products for each head.
#
# **For language models** the paper has no global token, since it would carry the future to
# everyone. It has gaps instead, in a few heads of the upper layers: `DilatedAttention(left, 0,
# (1, 1, 2, 3))` gives each head its own.
#
# **Failure.** What is further away than the windows reach does not exist. Not "hardly": exactly.

# %%
from deepdive.models.efficient import longformer

# Two layers; 2 and 1 tokens on each side: reach 3.
small = longformer.longformer(longformer.TINY, vocab_size=40).eval()
said = torch.randint(4, 40, (1, 12))
other = said.clone()
other[0, 0] = 4 + (said[0, 0] - 3) % 36
first = (torch.arange(12) == 0).unsqueeze(0)
with torch.no_grad():
    moved = (small(other) - small(said)).abs().amax(-1)[0]
    told = small(other, global_tokens=first) - small(said, global_tokens=first)
assert (moved[:4] > 0).all()
assert (moved[4:] == 0).all()
assert (told.abs().amax(-1) > 0).all()
print("first word changed; states that move, windows alone:", (moved > 0).int().tolist())
print("with the first token global:", (told.abs().amax(-1)[0] > 0).int().tolist())

# %% [markdown] tags=["slide"]
# ## BigBird
#
# Zaheer et al. (2020) add a third part to window and global tokens: **random** keys. And everything
# comes in blocks of 64, since a processor reads blocks, not tokens. A block of queries meets its
# two neighbors, the first and the last block of the text, and three more, drawn once for each
# head. In code, block by block:


# %%
def blocks_met(n_blocks, drawn):
    """(n_blocks, n_blocks): which blocks meet; drawn (n_blocks - 2, r) for the inner ones."""
    met = torch.zeros(n_blocks, n_blocks).bool()
    for i in range(n_blocks):
        met[i, max(i - 1, 0) : i + 2] = True
        if 0 < i < n_blocks - 1:
            met[i, drawn[i - 1]] = True
    met[[0, -1]] = met[:, [0, -1]] = True
    return met


attention = BlockSparseAttention(block=4, n_random=3)
drawn = attention.draw(16, 1)[0]  # one head; (14, 3)
by_hand = blocks_met(16, drawn).repeat_interleave(4, 0).repeat_interleave(4, 1)
assert (by_hand == attention.pattern(1).dense(64)[0, 0]).all()
q, k, v = torch.randn(3, 1, 1, 64, 8).unbind(0)
close = attention(q, k, v) - SoftmaxAttention()(q, k, v, mask=by_hand)
assert close.abs().max() < 1e-6
print("block 5 meets", blocks_met(16, drawn)[5].nonzero().flatten().tolist())

# %% [markdown]
# **Why random?** In a graph where everyone knows only neighbors, ways are long. A few random
# acquaintances make all ways short. Take the global blocks away, and count layers:

# %%
from deepdive.attention import DrawnBlocks

near_blocks = (torch.arange(64) - torch.arange(64).unsqueeze(1)).abs() <= 1
needed = []
for r in (0, 1, 2, 3):
    links = near_blocks.clone()
    for i, row in enumerate(DrawnBlocks(r)(64, 1)[0]):
        links[i + 1, row] = True
    needed.append(layers_until_full([links], torch.ones(64, 64).bool()))
print("64 blocks, layers until all have heard of all, with 0, 1, 2, 3 random ones:", needed)
assert needed[0] == 63
assert needed[1] < 20
assert needed[3] < 8

# %% [markdown]
# With the global blocks, two layers are enough without any random one (the table above has them).
# The proof that the pattern can compute what full attention can rests on the global tokens:
# theorem 1 of Zaheer et al. (2020, section 3) holds for every sparse graph that contains a star.
# The random blocks shorten paths that avoid the global blocks (their section 2). On MiniLM, what
# do they do?

# %%
drawn_blocks = []
for block in (8, 16):
    for r in (0, 3):
        mask = BlockSparseAttention(block, r).pattern(12).dense(n)[0]
        drawn_blocks.append((block, r, mask.float().sum(-1).mean(), error(mask)))
    assert drawn_blocks[-1][3] < drawn_blocks[-2][3]
table(drawn_blocks, ["block", "random blocks", "keys a query", "error"],
      formats={"keys a query": ".0f", "error": ".2f"})  # fmt: skip

# %% [markdown]
# They help, as more keys do. **Limits:** a text of up to $5 + 2r$ blocks, $11 \cdot 64 = 704$
# tokens, is attended in full, as in the released code; nothing drawn and blocks of one token is a
# window of three with two global ends. **Cost:** $64 (5 + r)$ pairs for each query, $n$ for the two
# blocks at the ends: at 4,096 tokens less than a sixth of all. **Failure:** the pattern is coarse.
# One far token costs a block of 64, and whether the right block was drawn is luck that training
# cannot change.
#
# **What runs is not always what was published.** In *evaluation*, transformers' BigBird draws
# nothing: every random block is the first block, which then counts $1 + r$ times in the softmax.
# Our `FirstBlock` says the same, so published weights give the same states; `DrawnBlocks` is the
# paper. How different are they?

# %%
assert (62 * 64 * 64 * 8 + 2 * 64 * 4096) / 4096**2 < 1 / 6  # the cost above
from deepdive.attention import FirstBlock

q, k, v = torch.randn(3, 1, 4, 1024, 64).unbind(0)
paper, runs = (BlockSparseAttention(64, 3, draw(3))(q, k, v) for draw in (DrawnBlocks, FirstBlock))
gap = ((paper - runs).norm() / paper.norm()).item()
print(f"on random rows the two differ by {gap:.2f} of the output's length")
assert gap > 0.1

# %% [markdown] tags=["slide"]
# ## On the clock
#
# Settings as published: windows of 128 on each side, blocks of 64 with three random ones, stride
# $\sqrt n$. Forward and backward, one text, 4 heads of 64, float32, one core.

# %%
MECHANISMS = {
    "full": lambda n: SoftmaxAttention(),
    "window": lambda n: WindowAttention(128, 128),
    "window, 2 global": lambda n: GlobalWindowAttention(128, 128, at=(0, -1)),
    "BigBird": lambda n: BlockSparseAttention(64, 3),
    "strided": lambda n: StridedAttention(round(n**0.5)),
    "fixed": lambda n: FixedAttention(round(n**0.5), 4),
    "row": lambda n: AxialAttention(round(n**0.5)),
}

# %%
lengths = pick(ci=[256, 512, 1024], laptop=[512, 1024, 2048, 4096, 8192],
               gpu=[512, 1024, 2048, 4096, 8192])  # fmt: skip
took = {
    name: [there_and_back(make(n), n) for n in lengths] for name, make in MECHANISMS.items()
}
half = len(lengths) // 2
slopes = {
    name: torch.tensor(times[half:]).log2().diff().mean() for name, times in took.items()
}
torch.set_num_threads(threads)
assert profile() == "ci" or took["window"][-1] < took["full"][-1] / 3
heads = [f"{n:,} tokens" for n in lengths]
table(
    [(name, *times, slopes[name]) for name, times in took.items()],
    ["mechanism", *heads, "n to the"],
    formats=dict.fromkeys(heads, ".1f") | {"n to the": ".2f"},
    units=dict.fromkeys(heads, "ms"),
)

# %% tags=["fold"]
figure = Figure(figsize=(7.4, 3.8))
axes = figure.add_subplot()
for (name, times), marker in zip(took.items(), "os^vDPX", strict=True):
    axes.plot(lengths, times, marker + "-", label=name, markersize=4)
axes.set(xscale="log", yscale="log", xlabel="tokens", ylabel="milliseconds")
axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
axes.set_xticks([], minor=True)
figure.legend(loc="outside right upper")
with_alt(
    figure,
    "Time against length, both logarithmic. Full attention is steepest. BigBird, strided, windows "
    "and fixed rise less, the row alone lies lowest.",
)

# %% [markdown]
# *Last column: the exponent over the longer half. A fit below 1 means that starting costs still
# count.*
#
# Short texts gain little: at a few hundred tokens a window of 257 keys is nearly everything. And
# the matrices of the layer, $24 n d^2$ operations, stay what they were: from [the page on
# cost](../02_transformer/15_complexity.ipynb), more than half of a block's work up to $n = 6d$.
# What is saved is the square, so it is saved where the square hurts.

# %% [markdown]
# ## Sparse Transformer
#
# **What differs** (Child et al. 2019): a causal query meets some $2\sqrt n$ keys in two sets.
# *Strided*: the last $\ell$ positions, and every $\ell$-th before. *Fixed*: its chunk of $\ell$,
# and the last $c$ positions of every chunk before, which learn to be summaries. **Matrix:** two of
# the pictures above. **Limit:** a stride of $n$ is full causal attention. **Cost:** with $\ell =
# \sqrt n$, $n \sqrt n$. **Failure:** strided attention suits what repeats with the stride, such as
# an image's lines; text does not, and a fact that stands 1.5 strides back has to go by two steps,
# and so through a position that has something else to say.

# %%
behind = StridedAttention(8).pattern(1).dense(64)[0, 0][63].nonzero().flatten()
print("the last of 64 positions meets", (63 - behind).flip(0).tolist(), "positions back")
assert 12 not in (63 - behind).tolist()
assert len(behind) == 9 + 6

# %% [markdown]
# ## Axial attention
#
# **What differs** (Ho et al. 2019): positions are a table, an image say, and a layer attends along
# rows *or* along columns; layers take turns. **Matrix:** the last picture above has both.
# **Limit:** a table of one row is full attention. **Cost:** $n \sqrt n$ for a square; the rows
# fold into the batch, so nothing is masked and nothing wasted. **Failure:** the crossing. Row, then
# column: position $(i, j)$ hears of $(i', j')$ only through $(i', j)$, by a vector that was mixed
# before anybody knew what $(i, j)$ would ask.

# %%
image = torch.randn(3, 1, 1, 6, 7, 8)
flat = image.flatten(3, 4)
rows_only = AxialAttention(7)(*flat)[0, 0].view(6, 7, 8)
one_row = SoftmaxAttention()(*(part[:, :, 2] for part in image))[0, 0]
assert (rows_only[2] - one_row).abs().max() < 1e-6
print("row 2 of 6: what full attention says of this row alone")

# %% [markdown]
# ## Adaptive span
#
# **What differs** (Sukhbaatar et al. 2019): the window is *learned*, a length $z$ for each head. A
# key $x$ positions back has its exponential multiplied by a ramp,
#
# $$m_z(x) = \min\Bigl(\max\bigl(\tfrac{R + z - x}{R}, 0\bigr), 1\Bigr), \qquad
# \text{loss} \mathrel{+}= \lambda \, \tfrac1H \sum_h z_h,$$
#
# so $z$ has a gradient, and a price. **Matrix:** a band below the diagonal, other for each head,
# with a soft edge of $R$. **Limit:** spans over everything are full causal attention. **Cost:** $n
# (z + R)$, counted by the longest head. **Failure:** one head that looks far makes all pay, and a
# head never learns that something useful lies beyond its ramp: there the gradient is exactly zero.
#
# A task with a known answer: two heads, and the targets are the means of the last 6 and the last
# 30 rows. Only the spans are learned; both start at 32.

# %%
from deepdive.attention import AdaptiveSpanAttention
from deepdive.core.hooks import collect_losses
from deepdive_book.kit.flops import count_flops

spans = AdaptiveSpanAttention(2, 64, ramp=4, penalty=1e-5)
rows = torch.randn(8, 2, 160, 4)
flat = torch.zeros_like(rows)  # all scores 0: each key that is met counts the same
wanted = torch.stack(
    [F.pad(rows[:, h], (0, 0, back - 1, 0)).unfold(1, back, 1).mean(-1)
     for h, back in enumerate((6, 30))], 1)  # fmt: skip

# %%
cost_before, start = count_flops(lambda: spans(rows, rows, rows)), spans.lengths().tolist()
optimizer = torch.optim.Adam(spans.parameters(), lr=0.1)
for _ in range(150):
    with collect_losses(spans) as losses:
        loss = F.mse_loss(spans(flat, flat, rows)[:, :, 64:], wanted[:, :, 64:])
    optimizer.zero_grad()
    (loss + losses.total()).backward()
    optimizer.step()
lengths_now = spans.lengths().tolist()
print("spans before", [round(z) for z in start], "after", [round(z, 1) for z in lengths_now])
assert lengths_now[0] < 12
assert 20 < lengths_now[1] < 36

# %% [markdown]
# The spans find 6 and 30, less about half the ramp, which counts too. Had both heads been short,
# the work would have fallen with them:

# %%
full_cost = count_flops(lambda: SoftmaxAttention()(rows, rows, rows))
with torch.no_grad():
    spans.span.fill_(spans.span.min())
short_cost = count_flops(lambda: spans(rows, rows, rows))
print(f"products: full {full_cost:,}, spans of 32 {cost_before:,}, of {lengths_now[0]:.0f} "
      f"{short_cost:,}")
assert short_cost < cost_before < full_cost

# %% [markdown]
# ## In practice
#
# - **Ask first whether the square is your problem.** Up to $n = 6 d$ it is the smaller part of the
#   work, and fused full attention keeps nothing of size $n^2$.
# - **Choose global tokens by the task**, and open both directions. The cheapest one is the first
#   token: models rest on it anyway.
# - **Pad in blocks.** Lengths that are a multiple of the block waste nothing.
# - **A pattern is part of the model.** Weights trained with one pattern do not fit another; train
#   on after a change, and evaluate with what you trained.
# - **Decoding** keeps its cache in a window, but keep the first tokens' keys as well. A global
#   *column* (the first tokens as keys for all) is causal, because they are in every token's past;
#   only a global *row* isn't. In a model trained with full attention, dropping the first keys from
#   the cache breaks it: these are **attention sinks** (Xiao et al. 2024, StreamingLLM, keep the
#   first 4 keys plus a window).
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A pattern closes keys that hold 0.3 of a query's weight. When is the output unchanged all the
#    same?
#
#    <details><summary>Answer</summary>
#
#    When the weighted mean of the closed values equals the output over the open ones: the error is
#    $\varepsilon (\bar v - o')$.
#
#    </details>
# 2. Why did two columns help MiniLM more than doubling the window?
#
#    <details><summary>Answer</summary>
#
#    Heads of the middle layers rest much of their weight on [CLS], which no window of far queries
#    holds. Without it, softmax shares that weight out among the neighbors.
#
#    </details>
# 3. How many layers does a window of $w$ on each side need until the last of $n$ tokens has heard
#    of the first, and how many with a global token?
#
#    <details><summary>Answer</summary>
#
#    $\lceil (n - 1) / w \rceil$, and two.
#
#    </details>
# 4. What do a global token's own projections change, and for whom?
#
#    <details><summary>Answer</summary>
#
#    Only the row of the global token: what it asks, and what it is told. Others see it, as a key,
#    through the shared projections.
#
#    </details>
# 5. Why does BigBird work in blocks, and what is the price?
#
#    <details><summary>Answer</summary>
#
#    Blocks are matrix products, which processors do well, and gathering 64 keys in one piece is
#    cheap. The price is that one far token cannot be had without its 63 companions.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* A window of 2 on each side and gaps of 3: which positions does query 20
#    meet? How far do two such layers reach?
#
#    <details><summary>Answer</summary>
#
#    14, 17, 20, 23, 26. Two layers reach 12, but only in steps of 3: positions 19 and 21 are never
#    heard of. That is why only some heads have gaps.
#
#    </details>
# 2. *(derive, 6 min)* Strided attention meets about $\ell + n / \ell$ keys. Which $\ell$ makes that
#    smallest, and how many keys are left at $n = 4096$?
#
#    <details><summary>Answer</summary>
#
#    The derivative $1 - n / \ell^2$ is 0 at $\ell = \sqrt n = 64$: 128 keys.
#
#    </details>
# 3. *(find the bug, 8 min)* A colleague concatenates the global keys to every query's window and
#    takes one softmax. Tests pass in the middle of the text and fail near its beginning. Why?
#
#    <details><summary>Answer</summary>
#
#    Near the beginning the first token stands in the window *and* among the global keys, so it
#    counts twice. Close global keys in the window.
#
#    </details>
# 4. *(measure, 15 min)* Take the error curves layer by layer. Which layers could have a window
#    of 16 with ends at an error below 0.3, and what would you give the others?
#
#    <details><summary>Answer</summary>
#
#    Compare the layers' means with the map of local heads above. Longformer's paper gives lower
#    layers small windows and upper layers large ones in its language models.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
gaps = Window(2, 2, 3).dense(60)[0, 0]
assert gaps[20].nonzero().flatten().tolist() == [14, 17, 20, 23, 26]
twice = (gaps.float() @ gaps.float())[20].nonzero().flatten() - 20
assert twice.abs().max() == 12
assert (twice % 3 == 0).all()
assert min(range(1, 4096), key=lambda stride: stride + 4096 / stride) == 64
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# A pattern by position closes pairs before the text is read, so its cost is known and its products
# are plain matrices; softmax shares the closed weight out among the keys that stay. None of
# MiniLM's 72 heads kept 90% of its weight in a window of 33 keys, and two columns, for the tokens
# on which heads rest, were worth more than a window twice as wide. Windows alone make far words not
# faint but absent, and a global token, a block or a crossing brings them back in two layers,
# through a narrow place.
#
# ## Further reading
#
# - Beltagy et al. (2020), *Longformer*, section 3: windows, gaps, and global tokens with their own
#   projections.
# - Zaheer et al. (2020), *Big Bird*, section 2: window, global, random, and why blocks.
# - Child et al. (2019), *Generating Long Sequences with Sparse Transformers*, section 4: strided
#   and fixed.
# - Ho et al. (2019), *Axial Attention in Multidimensional Transformers*: rows and columns.
# - Sukhbaatar et al. (2019), *Adaptive Attention Span in Transformers*, section 2: spans that are
#   learned.

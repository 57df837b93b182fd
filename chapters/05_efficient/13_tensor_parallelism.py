# %% [markdown] tags=["slide"]
# # Tensor parallelism, latent attention, and the gated delta rule
#
# A bakery has two kitchens. Its recipe book is too thick for one shelf, so each kitchen keeps half
# of it. An order comes in, and one shopping list must go out: the list that one kitchen with the
# whole book would write. How often must the two kitchens speak?
#
# <small>Prerequisites: [several heads](../02_transformer/06_multi_head.ipynb),
# [the feed-forward layer](../02_transformer/10_feed_forward.ipynb),
# [GPT](../06a_text/01_gpt.ipynb) · 17 min · runs on a laptop</small>


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
# %% Draw the kitchens tags=["slide", "fold"]
from deepdive_book.ch05.figures.tensor_parallel_matrices import tensor_parallel_matrices

order = [3, 1]  # cakes, pies
A = [[1, 2, 0, 1], [2, 0, 1, 1]]  # a cake's, a pie's portions of dough, cream, fruit, glaze
B = [[2, 1], [0, 1], [0, 1], [1, 2]]  # flour and sugar in a portion of each
tensor_parallel_matrices(order, A, B)

# %% [markdown]
# *One kitchen is drawn on the left, the other on the right. The first matrix says how many portions
# of four components, dough, cream, fruit and glaze, a cake takes, and a pie. A component is mixed
# in bowls of four portions, so its number is rounded up. The second matrix says how much flour and
# sugar is in a portion.*
#
# The book can be cut in four ways. Try three things:
#
# 1. Leave the cuts as they are, and follow one kitchen from the top to the bottom. Does it ever
#    need a number of the other's?
# 2. Cut the first matrix by rows: one kitchen knows cakes, the other pies. Let them keep silent
#    between the matrices. Which component goes wrong?
# 3. Is there another pair of cuts that gives the right list, and speaks only once?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. Not before the end. It knows everything about two components.
# 2. The glaze. The cakes take 3 portions and the pie 1. Together that is one bowl; apart it is two.
# 3. No. With the first matrix cut by rows they must add up before the bowls are counted, and with
#    the second cut by columns each needs all four components.
#
# </details>

# %% [markdown] tags=["slide"]
# ## By hand: three cakes, one pie
#
# | | dough | cream | fruit | glaze | flour | sugar |
# |---|---|---|---|---|---|---|
# | portions | 5 | 6 | 1 | 4 | | |
# | in bowls of four | 8 | 8 | 4 | 4 | | |
# | first kitchen's list | 8 | 8 | | | 16 | 16 |
# | second kitchen's list | | | 4 | 4 | 4 | 12 |
# | added up | | | | | 20 | 28 |
#
# The bowls decide where to cut. Two numbers that are rounded up and then added may give more than
# their sum rounded up, so a kitchen that rounds must know the whole number. Cut by columns it does:
# for its two components it sees cakes *and* pies. What follows is only added, which can wait.
#
# In a feed-forward layer the bowls are the activation $g$, a component is a unit, and the two
# matrices are cut in the same way, $A$ by columns and $B$ by rows:
#
# $$g(x A)\, B = g(x A_1)\, B_1 + g(x A_2)\, B_2 \qquad A = [A_1\; A_2], \quad
# B = \begin{bmatrix} B_1 \\ B_2 \end{bmatrix}$$

# %% tags=["nbval-check-output"]
import torch

x, A, B = (torch.tensor(each).float() for each in (order, A, B))


def bowls(portions):
    return (portions / 4).ceil() * 4


lists = [bowls(x @ A[:, mine]) @ B[mine] for mine in (slice(0, 2), slice(2, 4))]
assert torch.equal(lists[0] + lists[1], bowls(x @ A) @ B)
apart = bowls(x[:1] @ A[:1]) + bowls(x[1:] @ A[1:])  # rounded before they are added
print("each kitchen's list:", *(each.int().tolist() for each in lists))
print("bowls rounded apart:", apart.int().tolist(), "instead of", bowls(x @ A).int().tolist())

# %% [markdown] tags=["slide"]
# ## A block speaks twice
#
# Megatron-LM (Shoeybi et al. 2019) cuts a whole Transformer in this way. Attention is even easier
# than bowls: each head is a small attention of its own, so a machine takes whole heads. The three
# matrices of queries, keys and values are cut by columns, and the matrix behind the heads by rows.
# Choose how many machines there are:

# %% Draw the block tags=["slide", "fold"]
from deepdive_book.ch05.figures.tensor_parallel_block import tensor_parallel_block

tensor_parallel_block(d_model=3072, n_heads=32, d_ff=12_288, ways=(2, 4, 8, 16))

# %% [markdown]
# *A block of the paper's largest model. Full is what the first machine holds, pale what the others
# hold. Norms and the sum with x, which every machine computes alike, are left out.*
#
# Two sums over all machines, one behind each sublayer: that is all a block says on the way out.
# Such a sum, after which every machine has the result, is an **all-reduce**.
#
# Training also runs backwards, and there the two ends of a sublayer change places. Forwards, $x$ is
# copied to all machines and their outputs are summed. Backwards, the gradient of a sum is copied,
# and the gradients of a copy are summed:
#
# | | forwards | backwards |
# |---|---|---|
# | `copied`, before a sublayer | nothing | sum over the machines |
# | `summed`, behind it | sum over the machines | nothing |


# %% [markdown] tags=["aside"]
# ### The two ends in code
#
# Each is a function with a gradient of its own. This is the first; the paper calls it $f$, and
# `summed` $g$ (not the activation above). A layer cut by columns is a `Linear` behind `copied`, one
# cut by rows a `Linear` before `summed`.


# %% In code
class Copied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, machines):
        ctx.machines = machines
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.machines.total(gradient), None  # an all-reduce


# %% Check it, on one machine that pretends to be two
from deepdive.layers.collectives import DeviceGroup, broadcast_in


class Doubled(DeviceGroup):
    """The other machine always says the same as this one."""

    def total(self, x):
        return 2 * x


rows = torch.randn(3, 4, requires_grad=True)
ours = torch.autograd.grad(Copied.apply(rows, Doubled()).sum(), rows)[0]
library = torch.autograd.grad(broadcast_in(rows, Doubled()).sum(), rows)[0]
assert torch.equal(ours, library)
assert torch.equal(ours, 2 * torch.ones(3, 4))
"the library's"

# %% [markdown]
# ## Two that really run
#
# Now two processes start, each with half of a small GPT-2, and train on the same letters of
# Shakespeare. They share no memory: all they know of each other goes through `torch.distributed`.
# Beside them one process trains the whole model.

# %% The letters tags=["fold"]
from deepdive.data import fetch
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import banner, pick, profile

real = profile() != "ci"
if real:
    text = fetch("tinyshakespeare", "input.txt").read_text("utf-8")[:20_000]
else:
    text = " ".join(" ".join(tree.words) + "." for tree in tree_sentences(100))
ids = torch.tensor([min(ord(letter), 127) for letter in text])
draws, steps = torch.Generator().manual_seed(0), pick(ci=5, laptop=60, gpu=60)
firsts = torch.randint(len(ids) - 33, (steps, 8), generator=draws).tolist()
batches = [[ids[i : i + 33].tolist() for i in batch] for batch in firsts]
print(banner("tinyshakespeare (real)" if real else "sentences (generated)"))

# %% Run
from deepdive_book.ch05.runs.tensor_parallel_gpt2 import alone, run_on_two_processes
from deepdive_book.kit.tables import table

one, two = alone(batches, rate=0.003), run_on_two_processes(batches, rate=0.003)


def far(name, key):
    """The largest difference of any number, on either process."""
    return max(float((half[key] - one[key]).abs().max()) for half in two)


weights = [key for key in one if key.startswith("weight.")]
off = {
    "its answers before training": far("", "before"),
    f"its losses, {steps} steps": far("", "losses"),
    "all its weights after them": max(far("", key) for key in weights),
    "its answers after them": far("", "after"),
}
assert max(off.values()) < 1e-6
table([[name, f"{each:.0e}"] for name, each in off.items()],
      ["two processes beside one, in float64", "largest difference"])  # fmt: skip

# %% [markdown]
# What is left is rounding: the sum of two halves is not the whole sum to the last bit. And this is
# what the two said, in one step, forwards and backwards:

# %% Count the messages
out, back = two[0]["out"].tolist(), two[0]["back"].tolist()
tokens, held = 8 * 32, int(two[0]["held"])
assert out == [tokens * 32] * 5 + [tokens] * 3
assert back == [tokens * 32] * 5
whole = sum(one[key].numel() for key in weights) - one["weight.head.embedding.weight"].numel()
told = [["embedding", 1, 0, 32], ["2 blocks", 4, 4, 32], ["output layer", 0, 1, 32],
        ["loss", 3, 0, 1]]  # fmt: skip
table(told, ["where", "sums forwards", "sums backwards", "numbers a token in each"],
      caption=f"Each process holds {held:,} of the {whole:,} weights")  # fmt: skip

# %% [markdown]
# The vocabulary is cut as well. A token's row stands on one machine, and a sum brings it to the
# other. At the end each machine has the scores of its own half of the vocabulary. All of them would
# be 128 numbers a token here, and 51,200 in the paper's model. The loss needs three: the largest
# score, the sum of the exponentials, and the score of the right token.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Somebody forgets the sums on the way back, and keeps those on the way out. What does one see "
    "while it trains?",
    [
        "an error: the shapes no longer fit",
        "a wrong loss from the first step on",
        "a right first loss, and then a loss that falls all the same",
    ],
    answer=2,
    explain="Forwards nothing is missing. Backwards each machine follows the gradient of its own "
    "half, which also leads downhill.",
    key="05_efficient/forgotten_sum",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Show the losses tags=["surprise", "fold"]
at = [i for i in (1, 2, 5, 10, 20, 60) if i <= steps]
runs = {"one process": one["losses"], "two": two[0]["losses"],
        "two, no sums on the way back": two[0]["way back: losses"],
        "two, no sums on the way out": two[0]["way out: losses"]}  # fmt: skip
assert far("", "losses") < 1e-6
assert abs(float(runs["two, no sums on the way back"][0] - one["losses"][0])) < 1e-12
table([[i, *(float(each[i - 1]) for each in runs.values())] for i in at], ["step", *runs],
      formats=dict.fromkeys(runs, ".4f"), caption="loss, nats a letter; one run each")  # fmt: skip

# %% tags=["surprise"]
apart = {name: float((two[0][f"{name}norm"] - two[1][f"{name}norm"]).abs().max())
         for name in ("", "way back: ")}  # fmt: skip
assert apart[""] < 1e-12 < apart["way back: "]
print(f"last norm, which both must hold alike: {apart['']:.0e} apart with all sums, "
      f"{apart['way back: ']:.2f} without those on the way back")  # fmt: skip

# %% [markdown]
# The first loss is right, and later ones fall as they should. After 60 steps of this one run the
# loss even stands below the right one, 3.21 against 3.28. But the machines no longer hold one
# model. The weights of the last norm, which both must have alike, are 0.07 apart: each machine has
# followed the part of the gradient that came through its own half. To join the halves now would
# give a model that nobody has trained.
#
# Without the sums on the way out it is easier to see. The first loss is wrong already, and later it
# is below 0, as no mean of $-\log p$ can be: the two halves of the vocabulary were never added up.
#
# So compare a cut model's *weights* with those of one process after a few steps. The losses may
# look well.

# %% [markdown] tags=["slide"]
# ## Twice the width, twice the talk, four times the work
#
# On the way out a block of width $d$ says $2 d$ numbers for a token, and its products with weights
# are $12 d^2$. So the wider a model, the more products there are for each number that is said:

# %% Count work and talk
rows = []
for d, layers in ((1536, 40), (1920, 54), (2304, 64), (3072, 72)):  # the paper's table 1
    block = 12 * d * d  # weights: 4 d^2 of attention, 8 d^2 of the feed-forward layer
    rows.append([d, layers, layers * block / 1e9, 2 * d, block / 8 / (2 * d)])
assert round(rows[-1][-1]) == 2304
table(rows, ["width", "blocks", "weights in blocks (thousand millions)",
             "numbers said a token and block", "products for each, on 8 machines"],
      formats={"weights in blocks (thousand millions)": ".1f",
               "products for each, on 8 machines": ",.0f"})  # fmt: skip

# %% [markdown]
# Even so, 2,304 products are soon done on a graphics card, which is the paper's machine, and all
# that follows must wait for the sums. So the machines must be close together: the paper cuts a
# model among 8 of the 16 cards of one computer, and gives the other cards and computers other
# texts. (How much time the sums cost is not measured here: two processes share one processor.)
#
# Memory is the reason for all this. Training takes 16 bytes a weight with Adam in 32 bits: the
# weight, its gradient, two averages. For the largest model that is 133 GB, on 8 machines 17 GB
# each, before anything is kept of the texts.

# %% tags=["fold", "nbval-check-output"]
from deepdive.models.generative import gpt2, megatron

with torch.device("meta"):  # sizes alone
    count = sum(p.numel() for p in gpt2.gpt2(megatron.BASE).parameters())
assert round(count * 16 / 1e9) == 133
assert round(count * 16 / 8 / 1e9) == 17
print(f"{count:,} weights, {count * 16 / 1e9:.0f} GB to train them")

# %% [markdown] tags=["slide"]
# ## What a machine must remember
#
# Weights are not all. A decoder that writes keeps the keys and values of all tokens so far, its
# **cache**, which with long texts and many readers outgrows the weights. Query heads may share keys
# and values in groups ([page 6a.2](../06a_text/02_gpt2_to_llama.ipynb)). There are two other ways:
# one summary for all heads, and a board of fixed size (in a fold), with nothing kept for a token.
#
# ### Latent attention: keep a summary, not the notes
#
# 128 cooks keep notes on every order: what it is about (a key) and what to do (a value). Why not
# keep one summary of the order, from which each cook can make the notes? Latent attention
# (DeepSeek-AI 2024) keeps a row $c$ of 512 numbers for each token, the **latent**. A head's key is
# $W_k c$, its value $W_v c$.
#
# The notes need not even be made. Take a query $q = (1, 2)$, a latent $c = (3, 1, 2)$ and
#
# $$W_k = \begin{bmatrix} 1 & 0 & 1 \\ 0 & 1 & 1 \end{bmatrix}$$
#
# The key is $W_k c = (5, 3)$, and the score $1 \cdot 5 + 2 \cdot 3 = 11$. Or turn the query
# instead: $W_k^\top q = (1, 2, 3)$, and the score is $1 \cdot 3 + 2 \cdot 1 + 3 \cdot 2 = 11$. One
# product for the query, and all latents stay as they are. This is the **absorbed** form.
#
# One thing stands in its way. Rotary positions turn keys by their place, and a rotation between
# $W_k$ and $q$ would be another matrix for each token. So place gets 64 numbers of its own: a small
# rotated key that all heads share, put behind the one that is made of the latent.

# %% Both forms, and what the cache holds tags=["fold"]
from deepdive.core import MultiHeadAttention, Slot
from deepdive.core.masks import Causal
from deepdive.layers.latent_attention import AbsorbedLatentAttention, LatentAttention

q, c = torch.tensor([1.0, 2]), torch.tensor([3.0, 1, 2])
W = torch.tensor([[1.0, 0, 1], [0, 1, 1]])
assert q @ (W @ c) == (W.T @ q) @ c == 11
sizes = {"d_head": 16, "rank": 64, "d_rotary": 8}
plain = LatentAttention(64, 4, **sizes).double()
absorbed = AbsorbedLatentAttention(64, 4, **sizes).double()
absorbed.load_state_dict(plain.state_dict())
rows = torch.randn(2, 9, 64).double()
with torch.no_grad():
    both = [layer(rows, mask=Causal()) for layer in (plain, absorbed)]
assert torch.allclose(*both, atol=1e-12)
print(f"absorbed and plain: {float((both[0] - both[1]).abs().max()):.0e} apart")

# %% [markdown] tags=["aside"]
# ### The gated delta rule: a board that is wiped
#
# This way keeps nothing for a token. Linear attention
# ([page 5.4](04_low_rank_and_features.ipynb)) adds each value to a board of fixed size, under its
# key. A boy writes on it: flour costs 5, sugar costs 3. The next day he writes: flour costs 7. Who
# asks linear attention for the price of flour hears 12, since nothing was ever wiped off.
#
# The **delta rule** asks the board first. It hears 5, and adds only what is missing, 2. Now the
# board says 7. The **gated** rule (Yang et al. 2025) also lets all of the board fade at each token,
# by as much as the token says. If half is kept each time, flour says 7 again, for what is missing
# is counted after the fading; but sugar, which was not written again, says 1.5. (A token may also
# say to add only a part of what is missing; here it is all.)

# %% Three boards tags=["nbval-check-output"]
from deepdive.recurrent.delta import delta_chunk

keys = torch.tensor([[1.0, 0], [0, 1], [1, 0]])  # flour, sugar, flour
prices, ones = torch.tensor([[5.0], [3], [7]]), torch.ones(3)
asked, empty = torch.eye(2), torch.zeros(2, 1)  # flour? sugar?
linear = keys.T @ prices
boards = {"linear attention": linear}
for name, keep in (("delta rule", 1.0), ("gated, half kept", 0.5)):
    _, boards[name] = delta_chunk(keys, keys, prices, torch.tensor(keep).log() * ones,
                                  ones, empty)  # fmt: skip
for name, board in boards.items():
    print(f"{name}: flour {board[0, 0]:g}, sugar {board[1, 0]:g}")

# %% [markdown]
# ## Who keeps least?
#
# Now count. The sizes are those of DeepSeek-V2: 128 heads, 128 wide, 60 layers. Each layer reads 8
# tokens, and we count the numbers in its cache: of the whole layer, and of one machine's share.

# %% tags=["fold"]
predict(
    "On one machine the latent has 576 numbers a token, grouped queries with 8 key heads 2,048. "
    "Cut the layer between 8 machines. What does each machine keep?",
    [
        "72 and 256: both are cut by eight",
        "576 and 256: the latent cannot be cut by heads",
        "576 and 2,048: a cache is never cut",
    ],
    answer=1,
    explain="Every head reads all of the latent, so each machine has it whole. A group of heads "
    "takes its keys and values along.",
    key="05_efficient/cut_cache",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Count the caches tags=["surprise", "fold"]
from deepdive.layers.tensor_parallel import TensorParallelAttention


def of(ways):
    """One machine of several, alone here: what it would hold, not what it would say."""
    machines = DeviceGroup()
    machines.ways = ways
    return machines


def kept(layer):
    """How many numbers a layer's cache has for a token."""
    slot, tokens = Slot(), torch.zeros(1, 8, 64)
    with torch.no_grad():
        layer(tokens, cache=slot)
    return sum(rows.shape[1] * rows.shape[3] for rows in (slot.keys, slot.values))


WAYS, measured = (1, 2, 4, 8), {}
for name, groups in (("all heads their own", 128), ("grouped queries, 8", 8), ("one for all", 1)):
    whole = MultiHeadAttention(64, 128, d_head=128, n_kv_heads=groups)
    cut = [w if groups >= w else 1 for w in WAYS]  # a head of keys is never cut
    measured[name] = [kept(TensorParallelAttention(whole, of(w))) for w in cut]
latent = LatentAttention(64, 128, d_head=128, rank=512, d_rotary=64)
measured["latent"] = [kept(latent)] * len(WAYS)  # all heads need all of it

# %% Show the caches tags=["surprise", "slide", "fold"]
assert measured["latent"][3] == 576 > measured["grouped queries, 8"][3] == 256
state = 128 * 128 * 128  # a board of 128 by 128 for each head, whatever the text's length


def gigabytes(numbers):
    return f"{60 * 2 * numbers / 1e9:.2f}"


lines = [[name, *each, *(gigabytes(32_768 * each[i]) for i in (0, 3))]
         for name, each in measured.items()]  # fmt: skip
lines.append(["gated delta rule", *[None] * 4, gigabytes(state), gigabytes(state / 8)])
head = ["cache", *(f"{w} machine{'s' * (w > 1)}" for w in WAYS), "GB on 1", "GB on each of 8"]
table(lines, head,
      caption="numbers a token and layer on each machine; gigabytes on each for 32,768 tokens in "
      "60 layers, 2 bytes a number")  # fmt: skip

# %% tags=["fold"]
assert state == 64 * measured["all heads their own"][0]
print(f"a board has as many numbers as {state // measured['all heads their own'][0]} tokens of "
      f"the first row, or {state / 576:,.0f} of the latent")  # fmt: skip

# %% [markdown]
# One head of keys for all has the fewest numbers a token, 256; eight groups come down to it on
# eight machines. On one machine the latent is less than a third of eight groups, on four it is the
# larger of the two. Every head reads all of the latent, so no cut by heads makes it smaller; groups
# of keys are cut like everything else. (One way out: cut the other matrices, and give each machine
# the latents of other texts.)
#
# The board of the gated rule is as large as 64 tokens of the first row, and stays so, however long
# the text is. Few numbers are not yet a good model: a board that is written over cannot be asked
# for what stood there. No model was trained here to compare them. The paper of the latents reports
# that they did better than all heads with their own keys; groups, and one head of keys for all, did
# worse (its appendix D).
#
# How often, then, must the two kitchens speak? Once for an order, if the book is cut by columns
# before the bowls and by rows behind them. A Transformer's block is two such books, so two machines
# speak twice, and twice again on the way back. They then say what one would say, but for rounding:
# after 60 steps of training, the answers of the pair were at most about 5e-11 from those of one.

# %% [markdown] tags=["aside"]
# ## How it differs

# %%
from deepdive_book.site.atlas import compare

compare("megatron")

# %% [markdown]
# *Grey is as it was, lit is new, dashed is gone.* Lit are the parts that are cut. Their weights are
# GPT-2's, under the same names: `megatron.split(load(folder), machines)` cuts a published GPT-2,
# and `megatron.whole(model)` puts it together again.
#
# ## Common mistake: to cut what stands together
#
# In the code keys and values are one matrix, stored turned: columns are rows, the keys' above the
# values'. Cut in the middle, one machine gets all the keys and the other all the values. The
# shapes are the same, so nothing fails:

# %%
from deepdive.layers.collectives import share

kv = torch.arange(8)[:, None] * torch.ones(8, 2)  # rows 0 to 3: keys; 4 to 7: values
print("cut in the middle: ", share(kv, of(2))[:, 0].int().tolist())
print("a piece of each:   ", share(kv, of(2), parts=2)[:, 0].int().tolist())
assert share(kv, of(2)).shape == share(kv, of(2), parts=2).shape

# %% [markdown]
# The mend is to say how many matrices stand in one (`parts=2`). Test this by itself: the order of
# queries, keys and values differs between versions of Megatron's own checkpoints.

# %% [markdown] tags=["aside"]
# ## In practice
#
# | you want | take |
# |---|---|
# | a model that does not fit on one card | cut it among the cards of one computer |
# | more texts at once | give each computer a whole model and other texts |
# | long texts, one card | latent attention, or grouped queries |
# | long texts, many cards | as many groups of keys as cards, or the latent whole on each |
# | a memory that never grows | the gated delta rule, often with a few layers of full attention |
#
# - Dropout: what all machines hold must be dropped alike, so give them the same seed there.
# - Fill the vocabulary up to a number that can be cut: GPT-2's 50,257 became 51,200.
# - Two more cuts are not on this page: along the sequence (sequence or context parallelism), and
#   between layers (pipeline parallelism).
# - Compare with one process before you train: the losses of a few steps, *and* the weights.
# - Publish the whole weights. Who reads them may have another number of machines.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why is the first matrix not cut by rows?
#
#    <details><summary>Answer</summary>
#
#    Each machine would have a part of every unit's sum, and the activation needs the whole: they
#    would have to add up before it.
#
#    </details>
# 2. Why does attention need no sum between the queries and the outputs of the heads?
#
#    <details><summary>Answer</summary>
#
#    A head has its own queries, keys and values, and no head reads another's. A machine with whole
#    heads can work out their outputs alone.
#
#    </details>
# 3. The norms are on all machines. Why do they not drift apart while they learn?
#
#    <details><summary>Answer</summary>
#
#    They begin alike, and the sums on the way back give each machine the same whole gradient.
#
#    </details>
# 4. Why does the loss not need all scores on one machine?
#
#    <details><summary>Answer</summary>
#
#    It is the logarithm of a sum of exponentials, less one score. A sum can be put together from
#    parts; so can a largest number.
#
#    </details>
# 5. Why can a turned key not be made of the latent in the absorbed form?
#
#    <details><summary>Answer</summary>
#
#    The turn depends on the token's place, and would stand between $q$ and $W_k$. Then no single
#    matrix could be moved to the query's side.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 5 min)* Two cakes and two pies. Work out both kitchens' lists, cut by columns.
#
#    <details><summary>Answer</summary>
#
#    Portions 6, 4, 2, 4; bowls 8, 4, 4, 4. The lists are (16, 12) and (4, 12), together (20, 24).
#
#    </details>
# 2. *(derive, 8 min)* A cache holds $G$ groups of keys and values, $d_h$ wide. From how many
#    machines on is it smaller on each than a latent of $4 d_h$ with a rotary key of $d_h / 2$?
#
#    <details><summary>Answer</summary>
#
#    $2 G d_h / w < 4.5\, d_h$, so from $w > G / 2.25$ on. With 8 groups: from 4 machines on.
#
#    </details>
# 3. *(measure, 15 min)* Leave out the sum of the embedding alone. Is the first loss right?
#
#    <details><summary>Answer</summary>
#
#    No. A token of the other half is a row of zeros, so each machine reads half of the text. Patch
#    `SplitEmbedding.forward`, and run `deepdive_book.ch05.runs.tensor_parallel_gpt2` again.
#
#    </details>

# %%
# The answers to the exercises, checked.
two_each = torch.tensor([2.0, 2]) @ A
lists = [bowls(two_each)[mine] @ B[mine] for mine in (slice(0, 2), slice(2, 4))]
assert two_each.tolist() == [6, 4, 2, 4]
assert bowls(two_each).tolist() == [8, 4, 4, 4]
assert [each.tolist() for each in lists] == [[16, 12], [4, 12]]
assert measured["grouped queries, 8"][2] < 576 < measured["grouped queries, 8"][1]
print("the answers hold")

# %% [markdown]
# ## Summary
#
# A layer is cut by columns where a function follows that must see whole numbers, and by rows where
# only a sum follows. Two sums a block are then enough, up to one machine a head, to say what one
# machine would say, and two more to learn what it would learn. What a machine must remember of each
# token can shrink too: cut by heads, folded into one latent, or written on a board of fixed size.
#
# ## Further reading
#
# - Shoeybi et al. (2019), *Megatron-LM: Training Multi-Billion Parameter Language Models Using
#   Model Parallelism*: section 3.
# - DeepSeek-AI (2024), *DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts
#   Language Model*: section 2.1.
# - Yang, Kautz, Hatamizadeh (2025), *Gated Delta Networks: Improving Mamba2 with Delta Rule*.
# - Schlag, Irie, Schmidhuber (2021), *Linear Transformers Are Secretly Fast Weight Programmers*:
#   section 4 is the delta rule.
# - Ainslie et al. (2023), *GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
#   Checkpoints*.
#
# <small>The Megatron paragraph of the blog *Transformers: a list of models* · beside the book,
# 5.4</small>

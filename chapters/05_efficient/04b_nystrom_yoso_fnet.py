# %% [markdown] tags=["slide"]
# # Nyströmformer, YOSO, FNet: landmarks, hashing, Fourier mixing
#
# The 256 guests of the buffet sit in 16 rows. Each row sends one speaker, who likes what the row
# likes on average. Can 16 speakers choose for everybody?
#
# <small>Prerequisites: [low rank and features](04_low_rank_and_features.ipynb) · 12 min · runs on a
# laptop</small>

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
# %% Load a trained model tags=["fold"]
import torch

from deepdive.attention import LengthProjection, LinformerAttention, NystromAttention
from deepdive.core import SoftmaxAttention
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer

model, tokenizer = load(minilm()), minilm_tokenizer()


def caught(texts):
    """q, k and v of MiniLM's 72 heads on texts of n pieces, each (texts, 72, n, 32)."""
    kept, layers = [], [layer.attn.mechanism for layer in model.stack.blocks]
    catch = [each.register_forward_pre_hook(lambda _, x: kept.append(x[:3])) for each in layers]
    with torch.no_grad():
        model(torch.tensor(texts))
    for handle in catch:
        handle.remove()
    return [torch.cat(rows, dim=1) for rows in zip(*kept, strict=True)]


# %% Choose three heads tags=["fold"]
def off(output, exact):
    """|output - exact| / |exact| of each head: how far off its plates are."""
    return (output - exact).norm(dim=(-2, -1)) / exact.norm(dim=(-2, -1))


pieces = tokenizer.encode("Ann likes sweet cakes and Ben likes salty fish.", bos=True, eos=True)
heads, n = {"layer 1, head 9": 9, "layer 1, head 2": 2, "layer 6, head 8": 68}, len(pieces)
q, k, v = (rows[:, list(heads.values())] for rows in caught([pieces]))
identity = torch.eye(n).expand(1, 3, n, n)  # with it for values, outputs are weights
exact = SoftmaxAttention()(q, k, identity)
words = [tokenizer.vocab[i] for i in pieces]


def by_place(n, m):
    """Linformer with means of m neighbourhoods for E and F: nothing is trained."""
    inside = (torch.arange(n) * m // n == torch.arange(m)[:, None]).float()
    projection = LengthProjection(1, n, m).requires_grad_(False)
    projection.weight[0] = inside / inside.sum(1, keepdim=True)
    return LinformerAttention(projection)


# %% Draw the tables tags=["fold"]
from deepdive_book.ch05.figures.low_rank_approximation import Form, low_rank_approximation


def form(name, unit, way, square):
    """What a way of making tables gives for 1 to n speakers."""
    maps = {m: way(m)(q, k, identity) for m in range(1, n + 1)}
    at = {m: (W[0], off(W @ v, exact @ v)[0]) for m, W in maps.items()}
    return Form(name, unit, at, square)


forms = [
    form("speakers", "speakers", NystromAttention, True),
    form("bowls by place", "bowls", lambda m: by_place(n, m), False),
]
by_number = [
    form(f"{steps} steps", "speakers", lambda m, s=steps: NystromAttention(m, iterations=s), True)
    for steps in (6, 12, 24)
]  # for later
tables = dict(zip(heads, exact[0], strict=True))
low_rank_approximation(words, tables, forms, k=3, off="plates off by")

# %% [markdown]
# *On the left a head of the trained model MiniLM: each token is a guest (a row) and a dish (a
# column). On the right the same table from a few speakers; a minus marks a portion below zero. The
# second choice, bowls by place, is that of the page before.*
#
# On [the page before](04_low_rank_and_features.ipynb), bowls were filled by place or by chance, and
# nobody looked at the guests. Speakers, or **landmarks**, do look: each is the mean of a few
# neighbors. Move the slider from one speaker to twelve, for each head. The head of the diagonal,
# layer 1, head 2, is again the hard one: in it neighbors want different things.

# %% [markdown] tags=["slide"]
# ## One speaker, by hand
#
# | portions | cake | fish | bread |
# |---|---|---|---|
# | Ann | 2 | 4 | 6 |
# | Ben | 1 | 2 | 3 |
# | Cleo | 3 | 6 | 9 |
#
# Ann speaks for the guests, and the cake stands for the dishes. So we measure three things only:
# what everybody takes of the cake (2, 1, 3), what Ann takes of everything (2, 4, 6), and what Ann
# takes of the cake (2). Can you work out how much bread Cleo takes?
#
# She takes 3 of the cake where Ann takes 2. Ann takes 6 of the bread, so Cleo takes
# $3 \cdot 6 / 2 = 9$. In general:
#
# *guest to the speaker's dish, times speaker to dish, divided by speaker to the speaker's dish*
#
# The division matters. Without it Cleo would get 18, for Ann's own appetite would count twice. With
# several speakers the number 2 becomes a small table, and the division becomes its inverse.

# %% [markdown] tags=["slide"]
# ## Nystrom: landmarks
#
# Xiong et al. (2021) cut the text into $m$ segments. The means of the queries and of the keys of
# each are its landmarks $\tilde Q$, $\tilde K$ ($m \times d$):
#
# $$\hat P = \underbrace{\mathrm{softmax}\big(Q \tilde K^\top\big)}_{n \times m}\;
# \underbrace{\mathrm{softmax}\big(\tilde Q \tilde K^\top\big)^{+}}_{m \times m}\;
# \underbrace{\mathrm{softmax}\big(\tilde Q K^\top\big)}_{m \times n}$$
#
# with scores divided by $\sqrt d$ as always. If every token were its own landmark, this would be
# $P P^{+} P = P$. The inverse $A^{+}$ is found by products alone, in six steps
#
# $$Z \leftarrow \tfrac14 Z\,(13 I - A Z\,(15 I - A Z\,(7 I - A Z)))$$
#
# from $Z = A^\top / |A|_1$. In code:


# %%
def nystrom(q, k, v, m, steps=6):
    def softmax(a, b):
        return (a @ b.transpose(-2, -1) / a.shape[-1] ** 0.5).softmax(-1)

    q_land, k_land = (rows.unflatten(2, (m, -1)).mean(3) for rows in (q, k))
    A, one = softmax(q_land, k_land), torch.eye(m)
    Z = A.transpose(-2, -1) / A.sum(-2).amax(-1)[..., None, None]
    for _ in range(steps):
        AZ = A @ Z
        Z = 0.25 * Z @ (13 * one - AZ @ (15 * one - AZ @ (7 * one - AZ)))
    return softmax(q, k_land) @ (Z @ (softmax(q_land, k) @ v))


# %% [markdown] tags=["aside"]
# ### The library's form
#
# The library cuts the *real* tokens into segments, so that a padded text is what it is alone (the
# published code averages padding into its landmarks). There is no causal form, since a mean holds
# what comes later. On request it adds a short convolution of the values in each head, as the paper
# does: nearby values need no landmark.

# %% Check the function
precise = [rows.double() for rows in (q, k, v)]
assert torch.allclose(nystrom(*precise, 4), NystromAttention(4)(*precise), atol=1e-6)
portions = torch.tensor([[2.0, 4, 6], [1, 2, 3], [3, 6, 9]])
assert torch.equal(portions[:, :1] @ portions[:1] / portions[0, 0], portions)  # by hand
"the library's; and one speaker gives the table above"

# %% [markdown]
# ## Should one finish the division?
#
# Six steps do not reach the inverse. So take more of them. We measure on 72 heads of MiniLM and six
# passages from plays by Shakespeare, drawn at random, with 32 speakers for 256 pieces.

# %% Draw the passages tags=["fold"]
from deepdive.data import fetch
from deepdive.data.text import shuffled
from deepdive_book.data.tree_grammar import tree_sentences
from deepdive_book.kit.profile import banner, pick, profile

if profile() == "ci":
    parts = [" ".join(tree.words) + " ." for tree in tree_sentences(600)]
else:
    parts = fetch("tinyshakespeare", "input.txt").read_text("utf-8").split("\n\n")
n = pick(ci=128, laptop=256, gpu=256)


def passage(first):
    """n pieces from the speech with this number on."""
    return tokenizer.encode(" ".join(parts[first : first + 120]), bos=True, eos=False)[:n]


passages = [passage(first) for first in shuffled(range(len(parts) - 120), seed=0)[:6]]
q, k, v = caught(passages)  # (6, 72, n, 32)
exact = SoftmaxAttention()(q, k, v)
print(banner("sentences (generated)" if profile() == "ci" else "tinyshakespeare (real)"))
print("one begins:", tokenizer.decode(passages[0][:16]))

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Six steps find the inverse only roughly. With twelve, or with twenty, the plates of MiniLM's "
    "heads are ...",
    ["nearer to the exact ones: the formula wants the inverse", "as far off as before", "worse"],
    answer=2,
    explain="The small table is nearly singular. Its inverse multiplies what the speakers get "
    "wrong; to stop early leaves the small singular values alone.",
    key="05_efficient/inverse",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Take more steps tags=["surprise", "fold"]
from deepdive_book.kit.tables import table


def spread(found):
    """A mean over passages, and the lowest and highest of them."""
    return f"{found.mean():.2f} ({found.min():.2f} to {found.max():.2f})"


by_steps = {s: off(nystrom(q, k, v, 32, s), exact).mean(1) for s in (2, 4, 6, 8, 12, 20)}
q_land, k_land, _ = NystromAttention(32).landmarks(q, k)
A = (q_land @ k_land.transpose(-2, -1) / 32**0.5).softmax(-1)
condition = float(torch.linalg.cond(A.double()).median())
assert (by_steps[6] < by_steps[12]).all()  # in each passage
assert (by_steps[12] < by_steps[20]).all()
assert condition > 300
print(f"median of largest over smallest singular value of the small table: {condition:,.0f}")
table([[s, spread(found)] for s, found in by_steps.items()],
      ["steps", "plates off by: mean (lowest to highest of six passages)"])  # fmt: skip

# %% Draw the tables by steps tags=["surprise", "fold"]
low_rank_approximation(words, tables, by_number, k=6, off="plates off by")

# %% [markdown]
# *The sentence of the first picture again. Go to 6 or more speakers, and change the number of
# steps: in some tables the portions grow far beyond their places, above and below zero.*

# %% [markdown]
# The means of neighboring stretches of text look alike. So the small table is nearly singular, and
# its true inverse blows up whatever the speakers miss. A step raises a small singular value of $Z$
# by $13/4$ at most, so six of them stop at $(13/4)^6 \approx 1{,}180$: to stop early *is* the
# safeguard. (A model that was trained with six has learned to live with six. Change the number, and
# its weights no longer fit.)

# %% [markdown] tags=["slide"]
# ## Speakers against bowls
#
# Now by number of speakers, with six steps. Beside them stand the bowls by place of the page
# before, with the same means of neighbors but no small table; the best there is of rank $m$; and
# the cook who gives everybody the same plate.


# %% Measure by number of speakers tags=["fold"]
budgets = [8, 16, 32, 64]
U, sigma, Vh = torch.linalg.svd(SoftmaxAttention()(q, k, torch.eye(n).expand(6, 72, n, n)))
made = {"best of rank m": {}, "speakers (Nystrom)": {}, "bowls by place": {}}
for m in budgets:
    best = (U[..., :m] * sigma[..., None, :m]) @ (Vh[..., :m, :] @ v)
    made["best of rank m"][m] = off(best, exact).mean(1)
    made["speakers (Nystrom)"][m] = off(NystromAttention(m)(q, k, v), exact).mean(1)
    made["bowls by place"][m] = off(by_place(n, m)(q, k, v), exact).mean(1)
asks_nobody = off(v.mean(2, keepdim=True).expand_as(v), exact).mean(1)
for best, speakers, place in zip(*(found.values() for found in made.values()), strict=True):
    assert (best < speakers).all()  # in each passage
    assert (speakers < place).all()
lines = [[name, *(spread(found) for found in by_m.values())] for name, by_m in made.items()]
lines.append(["the same plate for all", *[spread(asks_nobody)] * len(budgets)])
table(lines, ["", *(f"{m} of {n}" for m in budgets)],
      caption="plates off by: mean (lowest to highest of six passages)")  # fmt: skip

# %% Draw error against speakers tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.8, 3.4))
axes = figure.add_subplot()
for (name, by_m), mark in zip(made.items(), "os^", strict=True):
    found = torch.stack(list(by_m.values()))  # (speakers, passages)
    axes.plot(budgets, found.mean(1), marker=mark, label=name)
    axes.fill_between(budgets, found.amin(1), found.amax(1), alpha=0.25)
level = float(asks_nobody.mean())
axes.axhline(level, linestyle="--", color="gray", label="the same plate for all")
axes.set(xscale="log", xlabel=f"m, for {n} guests", ylabel="plates off by", ylim=(0, None))
axes.set_xticks(budgets, [str(m) for m in budgets])
axes.minorticks_off()
axes.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
told = "; ".join(f"{name}: {f[budgets[0]].mean():.2f} to {f[budgets[-1]].mean():.2f}"
                 for name, f in made.items())  # fmt: skip
with_alt(figure, f"Error against m, from {budgets[0]} to {budgets[-1]}. {told}.")

# %% [markdown]
# *Lower is nearer to the exact plates. The bands reach from the lowest to the highest of the six
# passages.*
#
# **So can 16 speakers choose for 256 guests?** Half: the plates are 51% off. That is nearer than 16
# bowls by place, in each passage, and nearly twice as far as the best 16. The speakers are the same
# means of neighbors as those bowls. But a bowl by place holds its neighbors alone, while a
# speaker takes from all 256 dishes. And the small table corrects what the speakers share: with 32
# of them, the plates are 47% off with it, and 55% without. These are errors in a model that was
# trained without speakers. Models that are trained with them are on [page 5.9](09_choosing.ipynb).

# %% [markdown] tags=["aside"]
# ### What it costs, on a clock
#
# Forward and backward through one mechanism, 4 heads of 64, with 64 landmarks, as measured once on
# two quiet cores by `make bench` and kept in `benchmarks/results/attention.json`.

# %% Read the times
import json
from itertools import pairwise
from pathlib import Path

root = next((p for p in (Path.cwd(), *Path.cwd().parents) if (p / "benchmarks").is_dir()), Path())
file = root / "benchmarks" / "results" / "attention.json"
kept = json.loads(file.read_text()) if file.is_file() else {"rows": []}
times = {"full attention": {}, "Nystrom": {}}
for row in kept["rows"]:
    if row["part"].startswith("mechanisms") and row["name"] in times:
        times[row["name"]][row["n"]] = 1e3 * row["ours_s"]
lines = []
for length, (was, now) in zip(list(times["Nystrom"])[1:],
                              pairwise(zip(*(row.values() for row in times.values()), strict=True)),
                              strict=True):  # fmt: skip
    lines.append([f"{length:,}", *now, *(b / a for a, b in zip(was, now, strict=True))])
head = ["tokens", "full, ms", "Nystrom, ms", "full: times half the text", "Nystrom: times half"]
table(lines, head, formats=dict.fromkeys(head[1:], ",.1f")) if lines else "no kept times here"

# %% [markdown]
# *The last two columns divide a time by that of half the text. Full attention takes about four
# times as long. Nystrom takes less than twice as long, and least at first, since a part of its
# work, the inverse of the small table, does not grow with the text.*

# %% [markdown]
# ## YOSO: a weight is a collision
#
# YOSO (Zeng et al. 2021) seats guests and dishes by lot, in rooms. Each of $b$ random planes asks
# on which side a query or a key lies; the $b$ answers together are the number of a room, or
# **bucket**. All that is in a room is added up, and each guest takes that one sum. Repeat with
# other planes, and average. A weight is then the chance to meet in a room,
#
# $$P_{ts} = \left(1 - \frac{1}{\pi}\arccos\cos(q_t, k_s)\right)^b$$
#
# which depends on the angle alone. Rows do not sum to 1; each output is divided by its length.

# %% Count the collisions tags=["fold"]
from deepdive.attention import YosoAttention

cosine = torch.linspace(-1, 1, 201)
chance = (1 - cosine.acos() / torch.pi) ** 9
unit_q, unit_k = (torch.nn.functional.normalize(x[:1, :, :64], dim=-1) for x in (q, k))
wanted = (1 - (unit_q @ unit_k.transpose(-2, -1)).clamp(-1, 1).acos() / torch.pi) ** 9


def shares(mechanism):
    """The share of the hashes in which query and key are in one bucket."""
    to, of = mechanism.buckets(unit_q), mechanism.buckets(unit_k)
    return (to[..., :, None] == of[..., None, :]).float().mean(0)


hashes, misses = [4, 16, 64, 256], []
for count in hashes:
    torch.manual_seed(0)
    drawn = shares(YosoAttention(32, bits=9, n_hashes=count))
    misses.append(float((drawn - wanted).pow(2).mean().sqrt()))
assert misses[3] < misses[1] / 3  # sixteen times the hashes: a quarter
table([["error of a weight", *misses]], ["hashes", *(str(count) for count in hashes)],
      formats=dict.fromkeys((str(count) for count in hashes), ".4f"))  # fmt: skip

# %% Draw the chance tags=["fold"]
figure = Figure(figsize=(4.8, 3.0))
axes = figure.add_subplot()
axes.plot(cosine, chance, label="YOSO, 9 planes")
axes.plot(cosine, (9 * (cosine - 1)).exp(), "--", label="exp(9 (cos - 1))")
axes.set(xlabel="cosine of query and key", ylabel="weight")
axes.legend(fontsize=9)
with_alt(figure, "YOSO's weight against the cosine of query and key: near 0 up to a cosine of "
         "about one half, then steep up to 1, beside an exponential.")  # fmt: skip

# %% [markdown]
# *The weight that hashing samples, beside an exponential of the angle. In the table above: sixteen
# times as many hashes, a quarter of the error.*
#
# YOSO has a **causal** form: keep a running sum in each bucket, and let each query read it as it
# stands. The paper does not give it; the library has it.

# %% [markdown] tags=["aside"]
# ### The causal form checked, the cost, and what fails
#
# The running sums must give what the shares of agreeing hashes give, with later keys at 0.

# %% Check the causal form
from deepdive.core.masks import Causal

torch.manual_seed(0)
hashed, values = YosoAttention(32, bits=4, n_hashes=8), v[:1, :, :64]
by_sums = hashed(q[:1, :, :64], k[:1, :, :64], values, Causal())
by_shares = torch.nn.functional.normalize(shares(hashed).tril() @ values, dim=-1)
difference = float((by_sums - by_shares).abs().max())
assert difference < 1e-5
f"running sums and masked shares agree to 0.00001: {difference < 1e-5}"

# %% [markdown]
# **Its cost:** for each hash the values are added up by bucket, and each query reads one sum:
# linear in the length. Training costs more: its gradient goes over all pairs that share a bucket,
# and these grow like $n^2 / 2^b$ until sums take over ([page 5.9](09_choosing.ipynb) has the time).
#
# **Where it fails:** sampling sees what is likely. A key with weight 0.01 is met by one hash in a
# hundred, so with few hashes most of a row is exactly 0. And at $\cos = 1$ the slope of the weight
# is infinite; the paper trains with a lower bound of it, $\frac b2 P_{ts}$, so that "the gradient"
# is not the derivative of what was computed.

# %% [markdown]
# ## FNet: no weights at all
#
# FNet (Lee-Thorp et al. 2022) asks nobody. Its attention layer is a Fourier transform over
# positions and over width, of which the real part is kept:
#
# $$y_{tc} = \sum_{s,e} \cos 2\pi\left(\frac{ts}{T} + \frac{ce}{d}\right) x_{se}$$
#
# There are no queries, no keys, and nothing to train: one fixed mixture, the same for every text.
# It approximates nothing.

# %% Draw four waves tags=["fold"]
t = torch.arange(12.0) / 12
figure = Figure(figsize=(4.8, 3.4))
for row, axes in enumerate(figure.subplots(4, 1, sharex=True, sharey=True)):
    axes.axhline(0, color="gray", linewidth=0.8)
    axes.stem(range(12), torch.cos(2 * torch.pi * row * t), basefmt=" ")
    axes.set(ylabel=f"y {row}", ylim=(-1.3, 1.3), yticks=[-1, 0, 1])
axes.set(xlabel="place of the token that is added up")
with_alt(figure, "By what each of 12 tokens is multiplied before they are added up, for four "
         "outputs. The first: all by 1. The others: by a cosine wave of one, two and three "
         "periods.")  # fmt: skip

# %% [markdown]
# *What the first column of FNet's outputs adds up, among 12 tokens. Output 0 adds all tokens up;
# output 3 weighs them by a wave of three periods. There is no question in it, and no answer: only
# places.*

# %% [markdown] tags=["aside"]
# ### FNet checked, its cost, and what fails

# %% Check the sum tags=["nbval-check-output"]
from deepdive.layers import FourierMixing

mixing, x, c = FourierMixing(8), torch.randn(1, 12, 8), torch.arange(8.0) / 8
angle = t[:, None, None, None] * torch.arange(12.0)[:, None] + c[:, None, None] * torch.arange(8.0)
by_sum = torch.einsum("tcse,bse->btc", torch.cos(2 * torch.pi * angle), x)
assert torch.allclose(mixing(x), by_sum, atol=1e-4)
other = torch.randn(1, 12, 8)
assert torch.allclose(mixing(x + other), mixing(x) + mixing(other), atol=1e-4)
"equal to the sum; and the mixture of a sum is the sum of the mixtures"

# %% [markdown]
# **Its cost:** $O(\log(T d))$ for each number. **Where it fails:** the last assertion. The mixing
# is linear in the text, so which token is looked at never depends on what it says: "find the token
# that was asked for" is left to the feed-forward layers. Padding and causal masks have no place in
# a wave either. The library transforms each text of a padded batch alone, and refuses every other
# mask.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# Each against softmax attention with $T = S = n$, a head of width $d$; the first two are those of
# [the page before](04_low_rank_and_features.ipynb).
#
# | | thin tables from | operations | causal | padding |
# |---|---|---|---|---|
# | Linformer | trained sums over positions | $n m d$ | no | counts as 0 |
# | Performer | random features of $q$, $k$ | $n m d$ | yes, running sums | left out |
# | Nystrom | segment means | $n m d + m^3$ | no | left out |
# | YOSO | shared buckets | $n h d$ for $h$ hashes | yes, running sums | left out |
# | FNet | waves | $n d \log(n d)$ | no | each text alone |
#
# What the error falls with. Nystrom: no rate, exact at $m = n$. YOSO: $1/\sqrt h$, toward another
# kernel than the softmax. FNet approximates nothing.

# %% [markdown] tags=["aside"]
# ## In practice
#
# - Take the number of steps of the inverse with the weights: it is a part of the model.
# - Nystrom's segments grow with the text while $m$ stays. Look for the length in the setting.
# - For a decoder take running sums (Performer, YOSO), or no approximation at all: a landmark knows
#   the future.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why must the product of the two thin tables be divided by something, or multiplied by an
#    inverse?
#
#    <details><summary>Answer</summary>
#
#    Both hold the speakers: without it, what a speaker takes counts twice.
#
#    </details>
# 2. Why did twelve steps do worse than six in Nystrom's inverse?
#
#    <details><summary>Answer</summary>
#
#    The small table is nearly singular; its true inverse enlarges the landmarks' own error. Six
#    steps leave the smallest singular values uninverted.
#
#    </details>
# 3. Where the text doubles, why does Nystrom's time less than double at first?
#
#    <details><summary>Answer</summary>
#
#    The inverse of the small table costs the same at any length, and at short ones it is a large
#    part of the work.
#
#    </details>
# 4. The same ten tokens begin a text of 100 tokens and one of 200. Why does FNet multiply them by
#    other numbers in the second?
#
#    <details><summary>Answer</summary>
#
#    Its waves have whole periods over all $T$ places, so they are stretched with the text.
#
#    </details>
# 5. Which of the five in the table above have a causal form, and what do the others have in common?
#
#    <details><summary>Answer</summary>
#
#    Performer (and linear attention at large) and YOSO: both add up values before a query reads
#    them, and a sum can be read as it stands at each place. The paper on YOSO gives no causal form;
#    ours keeps a running sum in each bucket. Linformer's sums, Nystrom's means and FNet's waves mix
#    all positions first, and nothing takes the later ones out again.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 3 min)* Dan joins the three guests and takes 5 of the cake. How much bread does
#    Ann's table give him? And what if he says that he takes 4 of the fish?
#
#    <details><summary>Answer</summary>
#
#    $5 \cdot 6 / 2 = 15$ of the bread. One speaker gives him $5 \cdot 4 / 2 = 10$ of the fish. If
#    he takes 4, his taste is not a multiple of Ann's: the table has rank 2, and one speaker is not
#    enough.
#
#    </details>
# 2. *(predict, 5 min)* Leave the inverse out of `nystrom`: put the identity in the place
#    of `Z`. Are the rows of $\hat P$ still sums of 1? Is the error larger?
#
#    <details><summary>Answer</summary>
#
#    Yes, they sum to 1: both softmax tables have rows that do. The cell below has the error: it is
#    larger than with six steps.
#
#    </details>
# 3. *(measure, 10 min)* Which of MiniLM's layers does Nystrom suit most? Compute the error by layer
#    at $m = 32$, and compare it with the layers' numbers of bowls on the page before.
#
#    <details><summary>Answer</summary>
#
#    `off(NystromAttention(32)(q, k, v), exact).unflatten(1, (6, 12)).mean((0, 2))`. Whether the
#    layers of low rank are the easier ones, your six numbers say.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
wider = torch.cat([portions, torch.tensor([[5.0, 10, 15]])])
assert torch.equal(wider[:, :1] @ wider[:1] / wider[0, 0], wider)
wider[3, 1] = 4
assert torch.linalg.matrix_rank(wider) == 2
thin = (q @ k_land.transpose(-2, -1) / 32**0.5).softmax(-1)
flat = (q_land @ k.transpose(-2, -1) / 32**0.5).softmax(-1)
assert torch.allclose((thin @ flat).sum(-1), torch.ones(6, 72, n), atol=1e-4)
without = off(thin @ (flat @ v), exact).mean(1)
assert (without > by_steps[6]).all()
print(f"without the inverse {without.mean():.2f}, six steps {by_steps[6].mean():.2f}")

# %% [markdown]
# ## Summary
#
# A few means of neighbors can stand for all queries and keys, if a small inverted table says how
# they relate. On six passages and MiniLM's heads they came nearer to the exact outputs than bowls
# by place, in each passage, and twelve steps of the inverse did worse than six. YOSO counts
# meetings in random buckets. FNet has no queries at all, and in print it still reaches 92 to 97%
# of BERT's accuracy on GLUE, with training 80% faster on GPUs at 512 tokens.
#
# So 16 landmarks can stand for 256 tokens, with a relative error of 0.51 in the outputs; the same
# mean for all tokens has 0.79.
#
# ## Further reading
#
# - Xiong et al. (2021), *Nyströmformer*: landmarks and the iterative inverse.
# - Zeng et al. (2021), *You Only Sample (Almost) Once*: sampling by hashing.
# - Lee-Thorp, Ainslie, Eckstein, Ontañón (2022), *FNet*: what is lost without weights, and what is
#   not.
#
# <small>Book table 1.2 · the blog lists all three models.</small>

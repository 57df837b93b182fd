# %% [markdown] tags=["slide"]
# # Feed-forward networks
#
# Attention brings a word what it needs from the others, as an average. An average cannot add two
# hours on a clock. Which part of a Transformer can?
#
# <small>Prerequisites: [self-attention](05_self_attention.ipynb),
# [residuals and norms](09_residuals_norms.ipynb) · 20 min · runs on a laptop · book 2.4.4</small>

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
# %% tags=["slide", "fold"]
from deepdive_book.kit.diagrams import ROLES, arrow, svg, text
from deepdive_book.kit.plotting import show


def bar(x, y, wide, role):
    color = f'fill="{ROLES[role]}" fill-opacity="0.2" stroke="{ROLES[role]}"'
    return f'<rect x="{x - wide / 2}" y="{y - 11}" width="{wide}" height="22" rx="4" {color}/>'


drawing = [text(60, y, words, 14) for y, words in ((40, "out, 512"), (110, "inner, 2,048"))]
drawing.append(text(60, 180, "in, 512"))
for i, word in enumerate(["the", "black", "cat"]):
    x = 230 + 200 * i
    drawing += [bar(x, 180, 40, "query"), bar(x, 110, 160, "value"), bar(x, 40, 40, "output")]
    drawing += [arrow(x, 167, x, 124), arrow(x, 97, x, 54), text(x, 212, word, 16)]
    drawing += [text(x + 34, 145, "W in", 12), text(x + 38, 75, "W out", 12)]
show(
    svg(750, 230, drawing),
    "Three words, each in a column of its own: a narrow bar of 512 numbers, an arrow to a wide bar "
    "of 2,048, an arrow to a narrow bar. No arrow leads from one column to another.",
)

# %% [markdown]
# *A small network for each word, the same one for all. Nothing crosses from column to column: that
# was attention's work.*
#
# A layer of a Transformer takes turns. **Attention** moves information between words, and does
# little with it. The **feed-forward network** works on each word alone: it widens the row, bends it
# with a function that is not linear, and narrows it again.
#
# | | mixes words | mixes dimensions | bends | weights, base model, a layer |
# |---|---|---|---|---|
# | attention | yes | yes, linearly | only in its softmax | 1.05 million |
# | feed-forward | no | yes | yes | 2.10 million |
#
# The *base* model is that of Vaswani et al.: 6 layers in the encoder and 6 in the decoder,
# $d_{model} = 512$, 8 heads, $d_{ff} = 2048$.

# %% [markdown]
# ## By hand: two dimensions, three inner units
#
# $$\mathrm{ff}(x) = \max(0,\; x\, W_{in} + b_{in})\; W_{out} + b_{out}$$
#
# The row $x$ has $d_{model}$ numbers, the inner row $d_{ff}$: 512 and 2,048 in the picture. Here
# they are 2 and 3. The $\max$ acts on each inner number, and each is called a **unit**.
#
# Take $W_{in}$ with the columns $(1, 1)$, $(-1, 1)$, $(1, -1)$, one a unit, $b_{in} = (0, 0, -1)$,
# $W_{out}$ with the rows $(1, 0.5)$, $(0, 2)$, $(-1, 1)$, again one a unit, $b_{out} = (0, 1)$ and
# $x = (2, -1)$. The three units compute
#
# - $1 \cdot 2 + 1 \cdot (-1) + 0 = 1$,
# - $-1 \cdot 2 + 1 \cdot (-1) + 0 = -3$, which becomes 0: this unit is silent,
# - $1 \cdot 2 - 1 \cdot (-1) - 1 = 2$.
#
# So the inner row is $(1, 0, 2)$. The output is
# $1 \cdot (1, 0.5) + 2 \cdot (-1, 1) + (0, 1) = (-1, 3.5)$.


# %%
import torch


def feed_forward(x, w_in, b_in, w_out, b_out):
    inner = (x @ w_in + b_in).clamp(min=0)  # (..., d_ff)
    return inner @ w_out + b_out  # (..., d_model)


w_in, b_in = torch.tensor([[1.0, -1, 1], [1, 1, -1]]), torch.tensor([0.0, 0, -1])
w_out, b_out = torch.tensor([[1.0, 0.5], [0, 2], [-1, 1]]), torch.tensor([0.0, 1])
feed_forward(torch.tensor([2.0, -1]), w_in, b_in, w_out, b_out)

# %% [markdown]
# The library's `FeedForward` gives the same. So do two **convolutions of width 1**. A convolution
# sums over a word and its neighbors, each times a matrix; at width 1 only the word itself is left.
# That is how the paper puts it: "two convolutions with kernel size 1".

# %% tags=["nbval-check-output"]
import torch.nn.functional as F

from deepdive.core import FeedForward

torch.manual_seed(0)
ff, x = FeedForward(16, 64), torch.randn(2, 5, 16)  # (B, T, d_model)
w_in, w_out = ff.inner.weight, ff.out.weight  # torch keeps them turned: (d_ff, d_model)
by_hand = feed_forward(x, w_in.T, ff.inner.bias, w_out.T, ff.out.bias)
inner = F.conv1d(x.transpose(1, 2), w_in[:, :, None], ff.inner.bias).relu()  # (B, d_ff, T)
convolved = F.conv1d(inner, w_out[:, :, None], ff.out.bias).transpose(1, 2)
assert (by_hand - ff(x)).abs().max() < 1e-6
assert (convolved - ff(x)).abs().max() < 1e-6
assert torch.allclose(ff(x.flip(1)), ff(x).flip(1), atol=1e-6)  # each word alone
"three ways, one result"

# %% [markdown]
# ## Keys that fit, values that are added
#
# Read the equation unit by unit. Unit $i$ has a column of $W_{in}$, call it its key $k_i$, and a
# row of $W_{out}$, its value $v_i$. Without the biases:
#
# $$\mathrm{ff}(x) = \sum_i \max(0,\; x \cdot k_i)\; v_i$$
#
# Compare attention: $\sum_s \mathrm{softmax}_s(q \cdot k_s)\, v_s$. The form is the same. But these
# keys and values are *weights*: learned once, the same for every sentence, and they need not
# compete, since no softmax makes them share. Geva et al. (2021) call the layer a key-value memory.
# In the example, key 3 is $(1, -1)$, with bias $-1$. It fits rows whose first number is larger than
# the second by more than 1, and for them adds a multiple of $(-1, 1)$.

# %% [markdown]
# ## The bend: ReLU and GELU
#
# The $\max(0, x)$ above is called **ReLU**: it multiplies $x$ by 1 or 0, by its sign. **GELU**
# multiplies it by $\Phi(x)$, the chance that a normal random number lies below $x$. This makes the
# step soft:
#
# $$\mathrm{GELU}(x) = x \cdot \Phi(x)$$
#
# Two approximations are in use, since $\Phi$ was slow to compute. The second takes the sigmoid
# $\sigma(z) = 1 / (1 + e^{-z})$:
#
# $$\tfrac12 x \left(1 + \tanh\left(\sqrt{2 / \pi}\,(x + 0.044715\, x^3)\right)\right)
# \qquad x \cdot \sigma(1.702\, x)$$
#
# By hand at $x = 1$: $\Phi(1) = 0.8413$. The first: $\sqrt{2 / \pi} = 0.7979$, times $1.0447$ is
# $0.8336$, $\tanh$ of it $0.6824$, and $(1 + 0.6824) / 2 = 0.8412$. The second:
# $\sigma(1.702) = 0.8458$.

# %%
from deepdive.core import gelu, gelu_sigmoid, gelu_tanh, relu

x = torch.linspace(-5, 5, 2001)
exact = x * torch.distributions.Normal(0, 1).cdf(x)
tanh = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
sigmoid = x * torch.sigmoid(1.702 * x)
for ours, library in ((exact, gelu), (tanh, gelu_tanh), (sigmoid, gelu_sigmoid)):
    assert (ours - library(x)).abs().max() < 1e-6
errors = [(ours - exact).abs().max().item() for ours in (tanh, sigmoid)]
assert errors[0] < 5e-4 < 0.02 < errors[1] < 0.021
print(f"largest error: tanh form {errors[0]:.5f}, sigmoid form {errors[1]:.4f}")

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(8.4, 2.8))
left, middle, right = figure.subplots(1, 3)
left.plot(x, relu(x), ":", label="ReLU")
left.plot(x, exact, label="GELU")
left.set(xlim=(-4, 3), ylim=(-0.4, 3), title="the bend", xlabel="x")
left.legend()
middle.plot(x, tanh - exact, color="C2")
right.plot(x, sigmoid - exact, color="C3")
middle.set(title="tanh form minus exact", xlabel="x")
right.set(title="sigmoid form minus exact", xlabel="x")
with_alt(
    figure,
    "Left: ReLU has a corner at 0, GELU dips to -0.17 near -0.75. Middle: the error of the tanh "
    "form, within 0.0005. Right: of the sigmoid form, within 0.021.",
)

# %% [markdown]
# *Mind the two scales on the right: the second approximation errs some forty times as much.*
#
# GELU can be read as a draw: keep $x$ with chance $\Phi(x)$, else 0. The mean of many such draws
# should be GELU:

# %%
points = torch.tensor([-1.0, 0.5, 1.0])
kept = torch.randn(200_000, 1) < points  # a normal number below x: keep
means = (points * kept).mean(0)
assert (means - gelu(points)).abs().max() < 0.01
for point, mean in zip(points, means, strict=True):
    print(f"x = {point:+.1f}: mean of 200,000 draws {mean:+.3f}, GELU {gelu(point):+.3f}")

# %% [markdown]
# ### Common mistake: the other GELU
#
# BERT's first release used the exact form (today's `modeling.py` in google-research/bert computes
# the tanh form; `gelu` in `transformers` is the exact one), GPT-2 the tanh form, some of OpenAI's
# CLIP models with the sigmoid form. All are called GELU. Load weights into a model with the wrong
# one, and everything works:


# %%
from deepdive.core import LayerNorm


def through_12_layers(activation):
    torch.manual_seed(0)
    rows = torch.randn(64, 64)
    for _ in range(12):
        rows = rows + FeedForward(64, 256, activation)(LayerNorm(64)(rows))
    return LayerNorm(64)(rows)


right_one = through_12_layers(gelu)
others = [through_12_layers(form) for form in (gelu_tanh, gelu_sigmoid)]
off = [(other - right_one).abs().max().item() for other in others]
assert 1e-5 < off[0] < 1e-2 < off[1]
print(f"after 12 layers off by at most {off[0]:.4f} (tanh), {off[1]:.3f} (sigmoid)")

# %% [markdown]
# **Symptom:** none that an eye sees. Scores may be a little lower than published. **Fix:** read
# the configuration (`gelu`, `gelu_new`, `quick_gelu` are its names in the `transformers` library).
# **Test:** compare the outputs with the original's to $10^{-5}$; a tolerance of $10^{-2}$ would
# pass the tanh form.

# %% [markdown]
# ## Gated: one branch opens the other
#
# Newer models, T5's second version and Llama among them, multiply two inner branches, number by
# number. One of them passes the bend and acts as a **gate**:
#
# $$\mathrm{ff}(x) = \left(f(x\, W_{gate}) \cdot x\, W_{in}\right) W_{out}$$
#
# By hand, one unit: the branch gives 3, the gate before the bend 0.5. With the sigmoid (GLU):
# $0.622 \cdot 3 = 1.867$. With $f(z) = z\,\sigma(z)$, which torch calls `silu` (SwiGLU):
# $0.311 \cdot 3 = 0.934$. Three matrices in place of two: $2/3$ of the inner width keeps the number
# of weights.

# %% tags=["nbval-check-output"]
from deepdive.core import GatedFeedForward

gated = GatedFeedForward(48, 128, bias=False)
rows = torch.randn(3, 48)
by_hand = (F.silu(rows @ gated.gate.weight.T) * (rows @ gated.inner.weight.T)) @ gated.out.weight.T
assert (by_hand - gated(rows)).abs().max() < 1e-6
plain = FeedForward(48, 192, bias=False)
weights = [sum(p.numel() for p in layer.parameters()) for layer in (plain, gated)]
assert weights[0] == weights[1]
{"plain, 192 wide": weights[0], "gated, 128 wide": weights[1]}

# %% [markdown]
# ## Where the weights of a Transformer are
#
# By hand for the base model, matrices and biases:
# $2 \cdot 512 \cdot 2048 + 2048 + 512 = 2{,}099{,}712$ in each feed-forward network. An attention,
# with four matrices of 512 by 512, has half as many.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The base model has 6 layers in the encoder (attention, feed-forward) and 6 in the decoder "
    "(two attentions, feed-forward), and a vocabulary of 37,000. Which part has most weights?",
    ["the attentions", "the feed-forward networks", "the embeddings"],
    answer=1,
    explain="12 networks of 2.10 million make 25.2 million. The 18 attentions have 18.9 million, "
    "and so have the embeddings.",
    key="02_transformer/where-weights",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from collections import Counter

from deepdive.models.transformer.decoder_only import decoder_only
from deepdive.models.transformer.transformer import base, big

KINDS = {"ff.": "feed-forward", "attn.": "attention", "cross.": "attention"}
KINDS["embedding"] = "embedding"
counted = {}
for name, make in (("base", base), ("big", big), ("GPT-2", lambda: decoder_only(50_257))):
    with torch.device("meta"):  # shapes only
        model = make()
    kinds = Counter()
    for parameter, weight in model.named_parameters():
        found = [kind for part, kind in KINDS.items() if part in parameter]
        kinds[found[0] if found else "norms, positions"] += weight.numel()
    counted[name] = kinds
assert counted["base"]["feed-forward"] == 12 * 2_099_712
assert counted["base"]["attention"] == 18 * 1_050_624
{name: {kind: f"{n / 1e6:.1f} M" for kind, n in kinds.items()} for name, kinds in counted.items()}

# %% Where the weights are tags=["slide", "fold"]
figure = Figure(figsize=(7.4, 2.2))
axes = figure.add_subplot()
start = [0.0] * len(counted)
for kind in ("feed-forward", "attention", "embedding", "norms, positions"):
    share = [100 * kinds[kind] / kinds.total() for kinds in counted.values()]
    bars = axes.barh(list(counted), share, left=start, label=kind)
    names = [f"{s:.0f} %" if s > 4 else "" for s in share]
    axes.bar_label(bars, names, label_type="center", color="white")
    start = [a + b for a, b in zip(start, share, strict=True)]
axes.invert_yaxis()
axes.set(xlim=(0, 100), xlabel="share of the weights, %")
axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.25), ncols=4, fontsize="small")
with_alt(
    figure,
    "Stacked bars of three models. In each, feed-forward networks have the largest share; in GPT-2 "
    "embeddings come second.",
)

# %% [markdown]
# *Blue is the longest part of each bar: what the paper tells in half a page holds the most weights.
# The embedding counts once, since input and output share it.*

# %% [markdown]
# ## What happens without it
#
# A task that needs both halves of a layer: sums on a clock. A row of six hours, each 0 to 11. At
# place $t$, write the hour there plus the hour at the mirrored place, as a clock shows it. The row
# 9 5 1 0 2 6 has the first answer $9 + 6 = 15$, so 3. Attention can fetch the mirrored hour, and
# the residual adds it to the row. But suppose that the logits are linear in such a row. Then the
# lead of answer 0 over answer 6 is a sum $u + v$: $u$ from the hour here, $v$ from the mirrored
# one. The pairs (0, 0) and (6, 6) need a lead above zero, so $u_0 + v_0 + u_6 + v_6 > 0$. The pairs
# (0, 6) and (6, 0) need one below, so $u_0 + v_6 + u_6 + v_0 < 0$. It is the same sum: no such
# logits are right.
#
# One layer with one head, trained five times: with ReLU, with GELU, gated, with the bend taken out
# (the same weights, but linear), and without the feed-forward network.

# %%
from torch import nn

from deepdive.core import Block, MultiHeadAttention
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.transformer.transformer import Encoder
from deepdive.positions import SinusoidalPosition
from deepdive.training import fit
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.profile import pick


class Nothing(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x)


def adder(ff):
    embedding = TokenEmbedding(16, 48, scale=48**0.5)
    stack = Stack(lambda _: Block(MultiHeadAttention(48, 1), ff), 1, LayerNorm(48))
    return nn.Sequential(Encoder(embedding, SinusoidalPosition(48), stack), TiedHead(embedding))


# %%
FORMS = {
    "ReLU": lambda: FeedForward(48, 192),
    "GELU": lambda: FeedForward(48, 192, gelu),
    "gated": lambda: GatedFeedForward(48, 128),
    "no bend": lambda: FeedForward(48, 192, lambda x: x),
    "none": Nothing,
}


def sums(count, seed):
    draw = torch.Generator().manual_seed(seed)
    hours = torch.randint(0, 12, (count, 64, 6), generator=draw)
    return [(row + 4, (row + row.flip(-1)) % 12 + 4) for row in hours]  # ids 0 to 3 are special


steps, models, accuracy = pick(ci=600, laptop=900, gpu=1500), {}, {}
((test, answers),) = sums(1, seed=99)
for name, make in FORMS.items():
    torch.manual_seed(0)
    model = models[name] = adder(make())
    fit(
        model, sums(steps, seed=1), lambda m, pair: cross_entropy(m(pair[0]), pair[1]),
        steps=steps, optimizer=adam(model), schedule=cosine(5e-3, 50, steps), progress=False,
    )  # fmt: skip
    accuracy[name] = (model(test).argmax(-1) == answers).float().mean().item()

# %% tags=["fold"]
predict(
    "How many of the sums are right without the bend? (Guessing gives 1 in 12.)",
    ["nearly all: there are as many weights", "1 in 12", "more than 1 in 12, less than 6 in 10"],
    answer=2,
    explain="Two matrices in a row are one matrix, however wide the layer between them, and no "
    "matrix adds on a clock. But the softmax and the norms bend too, and they do what they can.",
    key="02_transformer/no-bend",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
print(", ".join(f"{name} {share:.0%}" for name, share in accuracy.items()))
assert min(accuracy["ReLU"], accuracy["GELU"], accuracy["gated"]) > 0.8
assert max(accuracy["no bend"], accuracy["none"]) < 0.6

# %% [markdown]
# So the answer is: the feed-forward network, and in it the bend. With any of the three bends the
# model adds; with the same weights and no bend it does not.
#
# Attention is not quite as simple as the first lines of this page said: its weights depend on both
# hours, and that is how the last two models get beyond guessing. They do not get far. (Exercise 4
# gives them a second head.)
#
# The attention of the ReLU model does its half of the work: it fetches.

# %% tags=["fold"]
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heads

with record(models["ReLU"], "*.mechanism.weights") as seen, torch.no_grad():
    models["ReLU"](test)
maps = next(iter(seen.values()))[0].mean(0)  # mean over 64 words, (2, 6, 6)
places = [str(t + 1) for t in range(6)]
heads(maps, places, places, names=["one head, by place"])

# %% [markdown]
# *Queries down, keys across, mean over 64 rows. The weight lies on the mirrored place, from top
# right to bottom left. The hour at the place itself needs no fetching: the residual stream has it.*

# %% [markdown]
# ## What the inner units look at
#
# There are only $12 \cdot 12$ pairs of hours, so we can ask each of the 192 units how strongly it
# fires for each pair, on average over the places. That is its key, seen from outside. And its
# value: which answer does its row of $W_{out}$ speak for most, read through the output layer?

# %%
relu_model = models["ReLU"]
layer = relu_model[0].stack.blocks[0].ff
fired = []
hook = layer.inner.register_forward_hook(lambda module, inputs, out: fired.append(out.relu()))
many = torch.cat([row for row, _ in sums(60, seed=5)])  # (3840, 6)
with torch.no_grad():
    relu_model(many)
hook.remove()
a, b = many.flatten() - 4, many.flip(-1).flatten() - 4  # the hour here, the mirrored one
strength = torch.zeros(12, 12, 192).index_put((a, b), fired[0].flatten(0, 1), accumulate=True)
strength /= torch.zeros(12, 12).index_put((a, b), torch.ones(len(a)), accumulate=True)[..., None]
speaks = relu_model[1].embedding.weight[4:] @ layer.out.weight.detach()  # (12 answers, 192)

# %% tags=["fold"]
loud = (strength.amax((0, 1)) * layer.out.weight.detach().norm(dim=0)).topk(8).indices
figure = Figure(figsize=(8.6, 4.8))
for axes, unit in zip(figure.subplots(2, 4).ravel(), loud.tolist(), strict=True):
    axes.imshow(strength[..., unit], cmap="Blues", vmin=0)
    spoken = speaks[:, unit].argmax().item()
    i = torch.arange(12)
    axes.scatter((spoken - i) % 12, i, s=7, color="C1")  # pairs whose answer that is
    axes.set_title(f"unit {unit}: speaks for {spoken}", size=9)
    axes.set(xticks=range(0, 12, 3), yticks=range(0, 12, 3))
figure.supxlabel("hour at the mirrored place", size=9)
figure.supylabel("hour here", size=9)
with_alt(
    figure,
    "Eight maps of 12 by 12 pairs of hours. Each unit fires for some pairs only; dots mark the "
    "pairs whose sum is the answer that its value speaks for most.",
)

# %% [markdown]
# *Blue: pairs for which the unit fires. Dots: pairs whose right answer is the one that its value
# pushes most.*
#
# Does each unit keep one sum, then? Count. For every unit: for the pairs of which answer does it
# fire most, and is that the answer that it speaks for?

# %%
answer = (torch.arange(12)[:, None] + torch.arange(12)) % 12  # (12, 12)
by_answer = torch.stack([strength[answer == c].mean(0) for c in range(12)])  # (12, 192)
alive = strength.amax((0, 1)) > 0.05
match = (by_answer.argmax(0) == speaks.argmax(0))[alive].float().mean().item()
pairs_on = (strength > 0.1 * strength.amax((0, 1))).float().mean((0, 1))[alive]
print(f"{alive.sum()} of 192 units ever fire; in the mean for {pairs_on.mean():.0%} of the pairs")
own = by_answer.gather(0, speaks.argmax(0)[None])[0] / by_answer.sum(0)
print(f"{match:.0%} fire most for the answer that they speak for (by chance {1 / 12:.0%})")
print(f"{own[alive].mean():.0%} of what a unit does falls on that answer's pairs (1 / 12 = 8%)")
assert match > 2 / 12
assert own[alive].mean() < 0.5

# %% [markdown]
# More than by chance, and far from all. And look at the maps again: no unit keeps to the dots. Many
# fire in a grid, for hours that are a fixed step apart. Measure the step: take each unit's mean
# strength by the hour here. Once round the clock, this is a sum of waves that rise and fall 1 to 6
# times. Find the strongest: one that rises 6 times is a step of 2 hours.

# %%
# How much of each unit's strength rises and falls 1, 2, ... 6 times a round: every 12 to 2 hours.
waves = torch.fft.rfft(strength.mean(1), dim=0)[1:].abs().square()  # (6, 192)
part = waves.amax(0) / waves.sum(0)
count = Counter((12 / (1 + waves.argmax(0)[alive])).tolist())
print(", ".join(f"{units} units every {hours:g} h" for hours, units in sorted(count.items())))
f"the strongest wave has {part[alive].mean():.0%} of what a unit does (by chance about 40%)"

# %% [markdown]
# A unit that fires every two hours knows only odd from even; one that fires every six cannot tell 3
# from 9. No unit holds one sum, and together they vote for it. So the layer has the *form* of a
# look-up, and what its keys know are coarse facts about two hours. Nanda et al. (2023) find waves
# in a model that adds modulo 113, and take it apart. In language models Geva et al. find units
# whose key a reader can put into words.

# %% [markdown]
# ## How it differs
#
# | | activation | matrices | inner width | used by |
# |---|---|---|---|---|
# | original | ReLU | 2 | $4\,d_{model}$ | Transformer, T5 |
# | GELU | GELU, exact or tanh | 2 | $4\,d_{model}$ | BERT (exact), GPT-2 (tanh) |
# | GEGLU | GELU on the gate | 3 | $8/3\,d_{model}$ | T5 version 1.1 |
# | SwiGLU | $z\,\sigma(z)$ on the gate | 3 | $8/3\,d_{model}$ | Llama |
# | mixture of experts | any | 2 or 3 an expert | any, 1 or 2 experts a word | Switch, Mixtral |
#
# The last one keeps many networks and sends each word to one or two.

# %% [markdown]
# ## In practice
#
# - **Widen by four**, or by 8/3 when gated, rounded to a multiple of 64.
# - **Name the GELU** in the configuration, and test against the original.
# - **Long texts pay for attention, short ones for this layer.** For $T$ words the products with the
#   attention maps take $4 T^2 d$ operations (a product and its sum make two), this layer
#   $16 T d^2$: equal at $T = 4 d$. [2.15](15_complexity.ipynb) has the other parts.
# - **Bytes kept:** in short sentences the inner rows take the most. They can be computed in chunks
#   of words, since no word needs another.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Shuffle the words of a sentence, then apply a feed-forward network. What comes out?
#
#    <details><summary>Answer</summary>
#
#    The same rows as before, shuffled likewise: it works on each word alone. The last assert of the
#    cell "three ways, one result" checks it with `flip`.
#
#    </details>
# 2. A unit has the key $(1, -1)$, the bias $-1$ and the value $(-1, 1)$. What does it add to the
#    output for $x = (5, 1)$, and what for $x = (2, 2)$?
#
#    <details><summary>Answer</summary>
#
#    For $(5, 1)$: $5 - 1 - 1 = 3$, so it adds $(-3, 3)$. For $(2, 2)$: $2 - 2 - 1 = -1$, so it is
#    silent.
#
#    </details>
# 3. The formula has the form of attention. Name two ways in which attention's keys and values
#    differ from these.
#
#    <details><summary>Answer</summary>
#
#    Attention's keys and values are computed from the sentence; these are weights, the same for
#    every sentence. Attention's keys compete through a softmax; these need not.
#
#    </details>
# 4. On the clock "no bend" got far more sums right than guessing. How, when nothing after the
#    attention bends?
#
#    <details><summary>Answer</summary>
#
#    Attention's own weights depend on both hours, through its softmax. It is still far from ReLU,
#    which has as many weights and adds nearly always.
#
#    </details>
# 5. We looked into the trained ReLU model. For which pairs of hours does one of its inner units
#    fire, and how does the right sum come out?
#
#    <details><summary>Answer</summary>
#
#    For many pairs, often for hours a fixed step apart, and only a small part of that falls on the
#    answer for which it speaks. The units vote.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* Give weights for two inner units and one output such that
#    $\mathrm{ff}(a, b) = |a - b|$.
#
#    <details><summary>Answer</summary>
#
#    Keys $(1, -1)$ and $(-1, 1)$, no biases, values 1 and 1: $\max(0, a - b) + \max(0, b - a)$.
#
#    </details>
# 2. *(derive, 4 min)* Without bend and biases, which matrix is the whole layer? What is its largest
#    rank?
#
#    <details><summary>Answer</summary>
#
#    $W_{in} W_{out}$, of size $d_{model} \times d_{model}$ and rank $d_{model}$ at most. An inner
#    layer wider than $d_{model}$ gains nothing.
#
#    </details>
# 3. *(on paper, 3 min)* Llama-7B has $d_{model} = 4096$ and three matrices with $d_{ff} = 11008$.
#    How many weights has a layer's feed-forward network? And its attention, with four square
#    matrices?
#
#    <details><summary>Answer</summary>
#
#    $3 \cdot 4096 \cdot 11008 = 135.3$ million, and $4 \cdot 4096^2 = 67.1$ million: again 2 to 1.
#
#    </details>
# 4. *(measure, 10 min)* Give `adder` two heads and train "no bend" and "none" again. Why does a
#    second head help models that cannot bend?
#
#    <details><summary>Answer</summary>
#
#    In our run of 600 steps it took "none" from about one sum in six to more than two in five. Each
#    head's weights are a softmax of a product of two hours: a bend, and one that sees both.
#
#    </details>
# 5. *(measure, 10 min)* Set the inner width of the ReLU adder to 8, 16, 32. From which width on can
#    it add?
#
#    <details><summary>Answer</summary>
#
#    In our runs of 900 steps 8 units got 27% of the sums, 16 got 35%, 32 got 67%. 48 units got
#    86%, and 64 all of them: each unit knows something coarse, and enough of them must vote.
#
#    </details>

# %%
# The answers to 1 to 3, checked.
keys, values = torch.tensor([[1.0, -1], [-1, 1]]), torch.ones(2, 1)
pair = torch.tensor([[2.0, 5.0], [7.0, 3.0]])
assert feed_forward(pair, keys, torch.zeros(2), values, torch.zeros(1)).flatten().tolist() == [3, 4]
linear = models["no bend"][0].stack.blocks[0].ff
assert torch.linalg.matrix_rank(linear.inner.weight.T @ linear.out.weight.T) <= 48
assert (3 * 4096 * 11_008, 4 * 4096**2) == (135_266_304, 67_108_864)
below = torch.linspace(-2, 0, 2001)
assert abs(gelu(below).min() + 0.17) < 5e-4  # where GELU is lowest,
assert abs(below[gelu(below).argmin()] + 0.75) < 5e-3  # and at which x
print("answers 1 to 3 hold")

# %% [markdown]
# ## Summary
#
# The feed-forward network works on each word alone: widen, bend, narrow. Without the bend it is one
# matrix, and our model could not add on a clock. It holds two thirds of the weights of an encoder
# layer, and can be read as keys that fit and values that are added.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.3: half a page.
# - Hendrycks and Gimpel (2016), *Gaussian Error Linear Units*: section 2 has all three forms.
# - Geva, Schuster, Berant, Levy (2021), *Transformer Feed-Forward Layers Are Key-Value Memories*:
#   section 3, what keys fit; section 4, what values say.
# - Nanda et al. (2023), *Progress Measures for Grokking via Mechanistic Interpretability*: addition
#   modulo 113, explained wave by wave.
# - Shazeer (2020), *GLU Variants Improve Transformer*: three pages, one table, and the sentence on
#   divine benevolence.
# - Dong, Cordonnier, Loukas (2021), *Attention Is Not All You Need*: attention alone loses rank
#   with depth.

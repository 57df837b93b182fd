# %% [markdown] tags=["slide"]
# # Residual connections and layer normalization
#
# Sixty-four layers in a row multiply sixty-four derivatives. What lets a gradient arrive at the
# first layer, neither gone nor huge?
#
# <small>Prerequisites: [self-attention](05_self_attention.ipynb),
# [many heads](06_multi_head.ipynb), [the chain rule](../00_start/02_maths.ipynb) · 25 min · runs on
# a laptop · book 2.4.3</small>

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


def box(x, y, words, role):
    color = f'fill="{ROLES[role]}" fill-opacity="0.16" stroke="{ROLES[role]}"'
    return f'<rect x="{x - 46}" y="{y - 15}" width="92" height="30" rx="5" {color}/>' + text(
        x, y + 1, words, 13
    )


drawing = [arrow(x, 40, end, 40, "residual", 5) for x, end in ((100, 317), (413, 627), (723, 765))]
drawing.append(arrow(100, 150, 765, 150, "residual", 5))
for y, name, on_stream in ((40, "post-norm", True), (150, "pre-norm", False)):
    drawing.append(text(48, y, name, 15, bold=True))
    for x, sublayer in ((120, "attention"), (430, "feed-forward")):
        first, work = (x + 100, x + 100) if on_stream else (x + 65, x + 178)
        plus, norm = (x + 185, (x + 245, y)) if on_stream else (x + 265, (first, y + 55))
        drawing += [arrow(x, y + 4, first - 46, y + 42), box(work, y + 55, sublayer, "value")]
        drawing += [arrow(work + 46, y + 48, plus - 4, y + 10), text(plus, y - 16, "+", 22)]
        drawing.append(box(*norm, "norm", "query"))
        if not on_stream:
            drawing.append(arrow(first + 46, y + 55, work - 46, y + 55))
shown = "Two streams from left to right. Attention and feed-forward read from it and add to it. "
show(svg(775, 230, drawing), shown + "Post-norm: norms on the stream. Pre-norm: on the branches.")

# %% [markdown]
# *The thick line is the residual stream. Above, each norm stands on the stream, and all that flows
# passes it. Below, the norms stand on the branches, and the stream runs through untouched.*
#
# Attention and feed-forward are **sublayers**. (Feed-forward, the [next
# page](10_feed_forward.ipynb), is a matrix, ReLU, and a matrix, on each row alone; ReLU sets
# negative numbers to 0.) Neither replaces its input: each *reads* the stream and *adds* to it. That
# sum is the residual connection. It answers the first half of the question. It also lets the
# numbers grow, so there is a second part, the norm, which brings each row back to size. Where the
# norm stands decides how deep a stack can be, and whether its training may begin at full speed.

# %% [markdown]
# ## The sum: a path that nothing multiplies
#
# Write a sublayer as $f$. Without a residual, three layers compute $f_3(f_2(f_1(x)))$, and the
# chain rule multiplies their slopes. Say they are $0.5$, $-0.2$ and $0.1$: the product is
# $-0.01$. One small slope anywhere makes the whole gradient small.
#
# With a residual, each layer is $x + f(x)$. Where $f$ has slope $a$, that has slope $1 + a$. The
# product is $1.5 \cdot 0.8 \cdot 1.1 = 1.32$. Multiply it out, and there are $2^3 = 8$ paths: at
# each layer a path goes through the sublayer or past it.

# %%
from itertools import product
from math import prod

slopes = [0.5, -0.2, 0.1]
paths = []
for through in product([0, 1], repeat=3):
    paths.append(prod(a for a, taken in zip(slopes, through, strict=True) if taken))
    print("through layers", [i + 1 for i in range(3) if through[i]] or "none", f"{paths[-1]:g}")
assert abs(sum(paths) - 1.5 * 0.8 * 1.1) < 1e-12
f"all paths together: {sum(paths):.2f}"

# %% [markdown]
# The first path goes past every layer, and its factor is 1, however deep the stack. The last one
# goes through all three: it is the only path that a stack without residuals has.
#
# Now real layers in place of numbers: feed-forward layers with random weights, untrained. Each
# takes $d$ numbers to $d_{ff} = 4 d$ and back. `flow` sends random rows through a stack of them,
# and a random gradient back.

# %%
import torch

from deepdive.core import FeedForward


def flow(n_layers, join, width=32, last=lambda rows: rows):
    """Size (root mean square) of the rows after the layers, and of the gradient before them."""
    x = torch.randn(128, width, requires_grad=True)
    rows = x
    for _ in range(n_layers):
        rows = join(rows, FeedForward(width, 4 * width))
    rows = last(rows)
    rows.backward(torch.randn(128, width))
    return [t.detach().square().mean().sqrt().item() for t in (rows, x.grad)]


depths = [1, 2, 4, 8, 16, 32, 64]
plain = [flow(depth, lambda rows, f: f(rows)) for depth in depths]
f"64 layers, no residual: rows of size {plain[-1][0]:.0e}, gradient {plain[-1][1]:.0e}"

# %% [markdown]
# Nothing arrives, in either direction. These sizes were to be expected. The weights are drawn with
# variance $2 / (d + d_{ff}) = 2 / (5 d)$ (Glorot's rule, the library's default). The inner product
# sums $d$ terms: mean square $0.4$. ReLU keeps half of it, $0.2$. The outer one sums $4 d$ terms:
# $4 \cdot 0.4 \cdot 0.2 = 0.32$. Each layer therefore shrinks the size by about
# $\sqrt{0.32} = 0.57$.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The same 64 layers, now each with a residual: rows + f(rows). The path past all layers has "
    "the factor 1. How large is the gradient at the first layer?",
    ["about 1", "between 10 and 100", "above 1,000"],
    answer=2,
    explain="Past all layers goes one path of 2^64. The others add up: the mean square grows by "
    "1 + 0.32 at each layer, the size by 1.149, and 1.149^64 is about 7,000.",
    key="02_transformer/residual-growth",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
residual = [flow(depth, lambda rows, f: rows + f(rows)) for depth in depths]
assert plain[-1][1] < 1e-9
assert residual[-1][1] > 500
for depth, (_, without), (_, size) in zip(depths, plain, residual, strict=True):
    print(f"{depth:>3} layers: gradient {without:.1e} without, {size:,.1f} with the residual")

# %% [markdown]
# Each layer now multiplies the mean square by about $1 + 0.32$, the size by about 1.15, and
# $1.15^{64}$ is in the thousands: the residual turned nothing into too much. Something must bring
# the rows back to size on the way.

# %% [markdown] tags=["slide"]
# ## Layer norm, by hand
#
# Take one row of the stream, four numbers: $(4, 2, -4, 10)$.
#
# 1. Mean: $(4 + 2 - 4 + 10) / 4 = 3$.
# 2. Subtract it: $(1, -1, -7, 7)$.
# 3. Variance, the mean of the squares: $(1 + 1 + 49 + 49) / 4 = 25$.
# 4. Divide by its root, $5$: $(0.2, -0.2, -1.4, 1.4)$.
#
# The result has mean 0 and variance 1. A gain $w$ and a shift $b$ for each dimension, which are
# learned, may then undo this; they begin at 1 and 0. A small $\epsilon$, here $10^{-5}$, keeps the
# root from 0.
#
# $$\mathrm{norm}(x) = w \cdot \frac{x - \mathrm{mean}(x)}{\sqrt{\mathrm{var}(x) + \epsilon}} + b$$


# %%
from deepdive.core import LayerNorm


def layer_norm(x, weight=1.0, bias=0.0, eps=1e-5):
    deviation = x - x.mean(-1, keepdim=True)
    variance = deviation.square().mean(-1, keepdim=True)  # divides by d, not by d - 1
    return weight * deviation / (variance + eps).sqrt() + bias


row = torch.tensor([4.0, 2, -4, 10])
rows = torch.randn(2, 5, 4)
assert (layer_norm(rows) - LayerNorm(4)(rows)).abs().max() < 1e-6
layer_norm(row)

# %% [markdown]
# The mean runs over the *dimensions of one row*. No other word enters, and no other sentence: a
# row gets the same result alone as in a batch, and at the first token as at the hundredth.
#
# Two facts follow, and the rest of the page needs both.
#
# - **The norm forgets size.** $3x + 7$ has the deviations of $x$ times three, and a root three
#   times as large.
# - **The gradient is divided by the size.** If a row ten times as long gives the same result, then
#   the same small step matters a tenth as much.

# %%
gradients = []
for factor in (1.0, 10.0):
    x = (factor * row).requires_grad_()
    layer_norm(x).backward(torch.tensor([1.0, 0, 0, 0]))
    gradients.append(x.grad)
assert torch.allclose(layer_norm(3 * row + 7), layer_norm(row), atol=1e-5)
assert torch.allclose(gradients[0], 10 * gradients[1], atol=1e-5)
for factor, gradient in zip((1, 10), gradients, strict=True):
    print(f"row times {factor:>2}: gradient", *(f"{g:+.4f}" for g in gradient))

# %% [markdown]
# Each of the two sums to zero: to add the same number to all dimensions changes nothing, so no
# gradient points there.

# %% [markdown]
# ### Common mistake: a mean over the words
#
# A tensor (B, T, d) invites a norm over everything that belongs to one sentence. Training works,
# and the loss looks good:


# %%
def norm_of_sentence(x):  # wrong: the mean runs over (T, d)
    deviation = x - x.mean((-2, -1), keepdim=True)
    return deviation / deviation.square().mean((-2, -1), keepdim=True).sqrt()


sentence = torch.randn(1, 6, 32)
changed = sentence.clone()
changed[:, 5] += 3.0  # another last word
for norm in (norm_of_sentence, layer_norm):
    moved = (norm(changed) - norm(sentence))[:, :5].abs().max().item()
    print(f"{norm.__name__}: the five words before it moved by {moved:.2f}")

# %% [markdown]
# **Symptom:** the last word changes the rows of the words before it. In a decoder they are to
# predict that word, so the answer leaks past the causal mask. The loss in training is better than
# it should be, and what the model then writes, word by word, is worse. Padding leaks in the same
# way.
#
# **Fix:** mean and variance over the last axis only. **Test:** change one token, and see no other
# row move.

# %% tags=["nbval-check-output"]
assert torch.equal(layer_norm(changed)[:, :5], layer_norm(sentence)[:, :5])
assert (norm_of_sentence(changed) - norm_of_sentence(sentence))[:, :5].abs().max() > 0.05
print("layer norm: no other row moved")

# %% [markdown]
# ## RMSNorm: do not subtract the mean
#
# The second half of layer norm is enough for the size. **RMSNorm** divides by the root of the mean
# square, and leaves the mean where it is. Our row: $(16 + 4 + 16 + 100) / 4 = 34$, with root
# $5.831$, so the result is $(0.686, 0.343, -0.686, 1.715)$. One sum over the row less, and no
# shift. T5 and Llama use it. [Page 5.15](../05_efficient/15_norms_and_all_attention.ipynb) compares
# RMSNorm with layer norm, with ReZero, and with no normalization, each at its own learning rate.


# %%
from deepdive.core import RMSNorm


def rms_norm(x, weight=1.0, eps=1e-6):
    return weight * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


assert (rms_norm(rows) - RMSNorm(4)(rows)).abs().max() < 1e-6
centered = row - row.mean()
assert torch.allclose(rms_norm(centered), layer_norm(centered), atol=1e-5)
rms_norm(row)

# %% [markdown]
# On a row whose mean is zero the two agree, as the last check says.

# %% [markdown]
# ## Where the norm stands
#
# Three places, each one line. `f` is the sublayer.


# %% tags=["nbval-check-output"]
from deepdive.core import PostNorm, PreNorm, SandwichNorm


def post_norm(x, f):
    return layer_norm(x + f(x))


def pre_norm(x, f):
    return x + f(layer_norm(x))


def sandwich_norm(x, f):
    return x + layer_norm(f(layer_norm(x)))


f = FeedForward(4, 16)
pairs = ((post_norm, PostNorm), (pre_norm, PreNorm), (sandwich_norm, SandwichNorm))
for by_hand, joint in pairs:
    assert (by_hand(rows, f) - joint(4)(rows, f)).abs().max() < 1e-5
"by hand = library, three times"

# %% [markdown]
# Vaswani et al. (2017) print the first. Most models since GPT-2 use the second. The path that goes
# past every layer stays free in pre-norm and sandwich: in post-norm it meets every norm. A pre-norm
# stack leaves a stream that has grown, so **one more norm** follows its last layer.
#
# With either, the gradient at the first layer keeps its size:

# %%
post = [flow(depth, post_norm) for depth in depths]
pre = [flow(depth, pre_norm, last=layer_norm) for depth in depths]
assert all(0.1 < size < 20 for _, size in post + pre)
f"64 layers: gradient {post[-1][1]:.1f} with post-norm, {pre[-1][1]:.1f} with pre-norm"

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.4, 3.3))
axes = figure.add_subplot()
lines = {"no residual": plain, "residual": residual, "post-norm": post, "pre-norm": pre}
for (name, line), style in zip(lines.items(), ("o:", "s--", "^-", "v-"), strict=True):
    axes.plot(depths, [size for _, size in line], style, label=name)
axes.set(xscale="log", yscale="log", xlabel="layers", ylabel="gradient at the first layer")
axes.set_xticks(depths, depths)
axes.set_xticks([], minor=True)
axes.legend()
with_alt(
    figure,
    "Gradient at the first layer against depth, both logarithmic. Without a residual it falls "
    "below 1e-9 at 64 layers, with one it rises above 500, with a norm it stays near 1.",
)

# %% [markdown]
# *A straight line at the height 1 is what we want. The sum alone and no sum at all miss it in
# opposite directions.*

# %% [markdown]
# ## What Xiong et al. say about the start, measured
#
# *On a first reading: read the table, the reason below it and the left picture, then go on to* And
# training?
#
# If both placements keep the gradient alive, why did the field move from one to the other? Xiong et
# al. (2020) look at the *last* layer before training begins. They prove a bound on the gradient of
# its outer feed-forward matrix, for a stack of $L$ layers:
#
# | placement | bound | in words |
# |---|---|---|
# | post-norm | $O(d \sqrt{\ln(d)})$ | as large in a deep stack as in a shallow one |
# | pre-norm | $O(d \sqrt{\ln(d) / L})$ | smaller the deeper, as $L^{-1/2}$ |
#
# The reason stands above: a norm divides the gradient by the size of what enters it. In pre-norm
# the last norm receives a stream that $L$ layers have added to. Mean squares of unrelated terms
# add, so its size grows as $\sqrt L$.
#
# Measure it in a Transformer's [encoder](11_encoder.ipynb), a stack of attention and feed-forward
# layers. It reads ten kinds of letters, and must name at each place the letter at the mirrored
# place: the task of [2.2](02_attention.ipynb), without a decoder.

# %%
from torch import nn

from deepdive.core import Block, MultiHeadAttention
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.transformer.transformer import Encoder
from deepdive.positions import SinusoidalPosition


def reader(joint, n_layers, d_model=32):
    def block(_layer):
        attention, ff = MultiHeadAttention(d_model, 2), FeedForward(d_model, 4 * d_model)
        return Block(attention, ff, residual=joint)

    embedding = TokenEmbedding(14, d_model, scale=d_model**0.5)
    stack = Stack(block, n_layers, LayerNorm(d_model) if joint.final_norm else None)
    encoder = Encoder(embedding, SinusoidalPosition(d_model), stack)
    return nn.Sequential(encoder, TiedHead(embedding))


# %%
from deepdive.training.objectives import cross_entropy
from deepdive_book.kit.profile import pick


def mirrored(seed, count=1, letters=8):
    draw = torch.Generator().manual_seed(seed)
    words = torch.randint(4, 14, (count, 16, letters), generator=draw)
    return [(word, word.flip(-1)) for word in words]


def at_the_start(joint, n_layers, seed):
    """Norm of the gradient of each layer's outer feed-forward matrix, before any step."""
    torch.manual_seed(seed)
    model, ((word, answer),) = reader(joint, n_layers), mirrored(seed)
    cross_entropy(model(word), answer).backward()
    return [block.ff.out.weight.grad.norm().item() for block in model[0].stack.blocks]


sizes, seeds = pick(ci=[2, 4, 8, 16], laptop=[2, 4, 8, 16, 32], gpu=[2, 4, 8, 16, 32]), range(4)
start = {}
for joint in (PostNorm, PreNorm):
    for depth in sizes:
        runs = torch.tensor([at_the_start(joint, depth, seed) for seed in seeds])
        start[joint.__name__, depth] = runs.mean(0).tolist()

# %%
slope = {}
for name in ("PostNorm", "PreNorm"):
    last = torch.tensor([start[name, depth][-1] for depth in sizes]).log()
    x = torch.tensor(sizes).float().log()
    slope[name] = (((x - x.mean()) * (last - last.mean())).sum() / (x - x.mean()).square().sum())
    deep = start[name, sizes[-1]]
    print(
        f"{name:>8}: last layer's gradient goes as L^{slope[name]:+.2f}; with {sizes[-1]} layers "
        f"first {deep[0]:.2f}, last {deep[-1]:.2f}"
    )
assert slope["PreNorm"] < -0.2 < -0.1 < slope["PostNorm"]

# %% tags=["fold"]
figure = Figure(figsize=(7.6, 3.1))
left, right = figure.subplots(1, 2)
for name, style in (("PostNorm", "^-"), ("PreNorm", "v-")):
    left.plot(sizes, [start[name, depth][-1] for depth in sizes], style, label=name)
    right.plot(range(1, sizes[-1] + 1), start[name, sizes[-1]], style, markersize=4, label=name)
left.set(xscale="log", yscale="log", xlabel="layers in the stack", title="gradient, last layer")
left.set_xticks(sizes, sizes)
left.set_yticks([0.125, 0.25, 0.5, 1, 2], [0.125, 0.25, 0.5, 1, 2])
left.minorticks_off()
right.set(xlabel="layer", title=f"gradient by layer, {sizes[-1]} layers", ylim=(0, None))
right.set_xticks([1, sizes[-1] // 2, sizes[-1]])
right.legend()
with_alt(
    figure,
    "Left: the last layer's gradient against depth, rising a little for PostNorm, falling for "
    "PreNorm. Right: by layer of the deepest stack; towards the last layer PreNorm falls.",
)

# %% [markdown]
# *Left: the paper's statement, on logarithmic axes. Right: one stack, layer by layer.*
#
# The paper's exponents are $0$ and $-0.5$: reproduced in kind: post-norm's does not fall,
# pre-norm's does. They are bounds, proved for one head with all scores zero and Gaussian weights;
# ours are measured, with two heads and Glorot's uniform weights. The paper also sees post-norm's
# gradients fall from the last layer to the first, and pre-norm's stay level. Here it is pre-norm
# whose gradients differ more from layer to layer.

# %% [markdown]
# ## And training?
#
# A large gradient is not yet a bad one, and Adam, the rule by which our steps are made
# ([Training a Transformer](13_training.ipynb)), divides by its size anyway. So train: three depths,
# both placements, with and without a warm-up. During a **warm-up** the learning rate rises from
# zero, here over the first third of the steps. Everything else is the same for all.

# %%
from deepdive.training import Update, fit
from deepdive.training.optim import adam, constant
from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.kit.profile import profile

JOINTS, models = {"post-norm": PostNorm, "pre-norm": PreNorm}, {}


def train(placement, n_layers, warmup, steps, seed, lr, d_model=32):
    """Train one reader; return its loss over the last tenth of the steps, and its curve."""
    torch.manual_seed(seed)
    model = reader(JOINTS[placement], n_layers, d_model)
    models.setdefault((placement, n_layers, warmup), model)  # the live grid's come first
    history = fit(
        model, mirrored(seed + 1, steps), lambda m, pair: cross_entropy(m(pair[0]), pair[1]),
        steps=steps, optimizer=adam(model), schedule=constant(lr, warmup), update=Update(clip=None),
        seed=seed, progress=False,
    )  # fmt: skip
    curve = history.curve(max(1, steps // 10))["loss"]
    return {"loss": curve[-1], "curve": curve}


# %% tags=["fold"]
predict(
    "Which of the four fails first as the stack gets deeper?",
    ["post-norm with warm-up", "post-norm without", "pre-norm with", "pre-norm without"],
    answer=1,
    explain="Its deepest stack stays near ln 10 = 2.30, a guess among ten letters. In the grid "
    "below the shallow stacks learn in all four settings.",
    key="02_transformer/norm-placement",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
def grid(depths, steps, seeds=(0,), rates=(3e-3,)):
    return [
        {"placement": place, "n_layers": n, "warmup": late, "steps": steps, "seed": seed, "lr": lr}
        for seed in seeds
        for lr in rates
        for n in depths
        for place in JOINTS
        for late in (0, steps // 3)
    ]


steps = pick(ci=90, laptop=200, gpu=400)
live = sweep(train, grid(pick(ci=(2, 12), laptop=(2, 6, 12), gpu=(2, 6, 12)), steps))

# %% tags=["fold"]
def draw(rows, title):
    figure = Figure(figsize=(7.8, 3.5))
    left, right = figure.subplots(1, 2)
    settings = {(row["n_layers"], row["placement"], row["warmup"] > 0) for row in rows}
    depths = [n for n, *_ in settings]
    layers = sorted(n for n in set(depths) if depths.count(n) == 4)  # all four measured
    for (name, late), style in zip(
        product(JOINTS, (False, True)), ("^-", "^--", "v-", "v--"), strict=True
    ):
        label = f"{name}, {'with' if late else 'no'} warm-up"
        color = "C0" if name == "post-norm" else "C1"
        mine = [row for row in rows if row["placement"] == name and (row["warmup"] > 0) == late]
        at = {n: [row for row in mine if row["n_layers"] == n] for n in layers}
        mean = [sum(row["loss"] for row in at[n]) / len(at[n]) for n in layers]
        left.plot(layers, mean, style, color=color)
        curves = torch.tensor([row["curve"] for row in at[layers[-1]]]).mean(0)
        share = torch.linspace(0, 1, len(curves) + 1)[1:] * mine[0]["steps"]
        right.plot(share, curves, style, color=color, markersize=3, label=label)
    for axes in (left, right):
        axes.axhline(2.3026, color="grey", linestyle=":", linewidth=1)
    left.set(xlabel="layers", ylabel="loss at the end", title=title, xticks=layers, ylim=(0, None))
    right.set(xlabel="step", title=f"loss, {layers[-1]} layers", ylim=(0, None))
    figure.legend(loc="outside lower center", ncols=2, fontsize="small")
    return figure


# %% Post-norm without a warm-up stops first tags=["slide", "fold", "surprise"]
with_alt(
    draw(live, f"{steps} steps"),
    "Left: loss at the end against depth for four settings. Post-norm without warm-up ends near "
    "2.30 in the deepest stack, pre-norm well below. Right: the curves of the deepest stack.",
)

# %%
ends = {(row["placement"], row["n_layers"], row["warmup"] > 0): row["loss"] for row in live}
for (placement, n_layers, late), end in ends.items():
    print(f"{n_layers:>3} layers, {placement:>9}, warm-up {'yes' if late else 'no ':<3}: {end:.2f}")
deepest = max(n for _, n, _ in ends)
assert ends["post-norm", deepest, False] > ends["pre-norm", deepest, False] + 0.2

# %% [markdown]
# *The dotted line is $\ln 10$: a model that guesses among ten letters.*
#
# Post-norm without a warm-up learns with two layers, and in the deepest stack it goes on guessing.
# Pre-norm learns at every depth, and needs no warm-up. So few steps do not say whether post-norm
# would catch up. The profile `experiment` therefore ran the same functions longer: 1,000 steps, up
# to 24 layers, two rates, two seeds. It can be stopped and taken up again, and its result is kept
# beside this page:

# %%
import json

file, long = results_path("02_transformer", "norm_placement"), round(1000 * share())
if profile() == "experiment":
    sweep(train, grid((2, 6, 12, 24), long, (0, 1), (3e-3, 1e-3)), file, minutes=60)
document = json.loads(file.read_text()) if file is not None and file.is_file() else {"rows": []}
rows = [row for row in document["rows"] if row["steps"] == long]
rates = sorted({row["lr"] for row in rows}, reverse=True)
for lr in rates:
    title = f"kept: {long} steps, rate {lr:g}"
    same_rate = [row for row in rows if row["lr"] == lr]
    alt = "Pre-norm stays near 0 at all depths; post-norm is near 0 with 2 layers, high from 12 on."
    show(draw(same_rate, title), f"Loss at the end and curves, {title}. {alt}")
print(f"{len(rows)} stacks trained, data {document.get('data', 'none')}")

# %% [markdown]
# *As above, from the kept grid, mean of two seeds. Left: the ends by depth. Right: the curves of 24
# layers.* The numbers, seed by seed:

# %%
losses = {}
for row in sorted(rows, key=lambda row: row["seed"]):
    key = row["lr"], row["n_layers"], row["placement"], row["warmup"] > 0
    losses.setdefault(key, []).append(row["loss"])
names = ("post-norm", "with warm-up", "pre-norm", "with warm-up")
for lr in rates:
    print(f"rate {lr:<7g}", *(f"{name:<14}" for name in names))
    for n in (2, 6, 12, 24):
        four = [losses.get((lr, n, name, late), []) for name in JOINTS for late in (False, True)]
        print(f"{n:>3} layers  ", *(f"{' '.join(f'{x:.2f}' for x in both):<14}" for both in four))

# %% tags=["fold"]
complete = len(rows) == 64 and long == 1000
if complete:  # what the text below says of the kept grid
    fast, slow = ({k[1:]: v for k, v in losses.items() if k[0] == lr} for lr in rates)
    for some in (fast, slow):
        assert all(max(v) < 0.15 for (_, name, _), v in some.items() if name == "pre-norm")
        assert max(some[2, "post-norm", False] + some[2, "post-norm", True]) < 0.15
        assert min(some[12, "post-norm", False] + some[12, "post-norm", True]) > 1.3
    six, late = fast[6, "post-norm", False], fast[6, "post-norm", True]
    assert max(late) < 0.2 < 0.8 < min(six)
    six, late = slow[6, "post-norm", False], slow[6, "post-norm", True]
    assert max(six[0], late[0]) < 0.2 < 1.0 < min(six[1], late[1])
    deep = [fast[24, "post-norm", False], fast[24, "post-norm", True], slow[24, "post-norm", True]]
    assert min(deep[0] + deep[1]) > 2.25 > 2.1 > max(deep[2]) > min(deep[2]) > 1.5
    assert min(slow[24, "post-norm", False]) > max(deep[2]) + 0.15
    assert min(fast[12, "post-norm", False]) > max(fast[12, "post-norm", True]) + 0.3
print("the sentences below hold" if complete else "no complete grid to check")

# %% [markdown]
# - **Pre-norm** learns everywhere: 2 to 24 layers, both rates, both seeds, with a warm-up and
#   without.
# - **Post-norm** learns with two layers, and with twelve or more not within these steps.
# - In between, with six, the **warm-up** decides at the larger rate: without it both seeds end
#   above 0.8, with it both learn. At the smaller rate the seed decides, with a warm-up and without.
# - In deep post-norm stacks a warm-up wins little. It lowers the loss of 12 layers at the larger
#   rate and of 24 at the smaller. With 24 at the larger, the model goes on guessing.
#
# So in this grid a warm-up helps post-norm, and isn't enough for 12 or 24 layers at a width of 32,
# these two rates, and a short warm-up. That isn't a limit of post-norm. BERT-large is a post-norm
# stack of 24 layers, trained with a warm-up of 10,000 steps at a rate of 1e-4 (Devlin et al.
# 2019). DeepNet trains post-norm stacks of 1,000 layers with rescaled residuals (Wang et al.
# 2022). Where post-norm trains, it often ends better than pre-norm (Liu et al. 2020); our pre-norm
# losses are close to 0, so this task couldn't show that.

# %% [markdown]
# ## What the first step does
#
# *On a first reading, go on to* What it looks like in the attention.
#
# Is it the first steps that break a deep post-norm stack? Liu et al. (2020) point at the *output*:
# how far does it move when all weights move a little? In post-norm a sublayer's output is always
# the same share of the stream, however deep it stands. In pre-norm the share shrinks, since the
# stream grows. Give each weight one step of Adam, which in its first step moves every weight by
# just the learning rate, and look at the logits.


# %%
def first_step(joint, n_layers, lr, seed):
    """How much one step of Adam moves the logits, relative to their size."""
    torch.manual_seed(seed)
    model, ((word, answer),) = reader(joint, n_layers), mirrored(seed)
    before = model(word)
    cross_entropy(before, answer).backward()
    adam(model, lr).step()
    with torch.no_grad():
        return ((model(word) - before).norm() / before.norm()).item()


moved = {}
for joint in (PostNorm, PreNorm):
    for depth in sizes[:4]:
        runs = [first_step(joint, depth, 1e-3, seed) for seed in seeds]
        moved[joint.__name__, depth] = sum(runs) / len(runs)
assert all(moved["PostNorm", depth] > 1.2 * moved["PreNorm", depth] for depth in sizes[1:4])
for depth in sizes[:4]:
    post, pre = moved["PostNorm", depth], moved["PreNorm", depth]
    print(f"{depth:>3} layers: the logits move by {post:.0%} (post-norm), {pre:.0%} (pre-norm)")

# %% [markdown]
# The first number is post-norm's, the second pre-norm's. A step that moves the logits by as much as
# their own size keeps little of what they were. Deep post-norm stacks reach that at a rate which is
# harmless to shallow ones; pre-norm's had not at 16 layers. A warm-up begins with smaller steps.

# %% [markdown]
# ## What it looks like in the attention
#
# Two of the models, both of the greatest depth, both without warm-up. Each row is a place of the
# word, and should look at the mirrored place. Of all layers and heads we show the map that does so
# most.

# %% tags=["fold"]
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heads

((word, _),) = mirrored(99)
best = {}
for placement in JOINTS:
    model = models[placement, deepest, 0]
    with record(model, "*.mechanism.weights") as seen, torch.no_grad():
        model(word)
    maps = torch.cat([weights for (weights,) in seen.values()], dim=1)  # (16, layers * H, 8, 8)
    on_mirror = maps.flip(-1).diagonal(dim1=-2, dim2=-1).mean((0, 2))  # share on the mirrored place
    best[placement] = (on_mirror.max().item(), maps[0, on_mirror.argmax()])
places = [str(i + 1) for i in range(8)]
heads(torch.stack([best[name][1] for name in JOINTS]), places, places, names=list(JOINTS))

# %%
for name, (part, _) in best.items():
    print(f"{name}: {part:.0%} of the weight on the mirrored place (evenly spread: {1 / 8:.0%})")
lead = best["pre-norm"][0] - best["post-norm"][0]
assert lead > pick(ci=-1.0, laptop=0.2, gpu=0.2)  # too few steps in ci to see it

# %% [markdown]
# *Queries down, keys across: place by place of the word. The mirrored place lies on the diagonal
# from top right to bottom left. Pre-norm has found it, post-norm has not.*

# %% [markdown]
# ## How it differs
#
# | | no norm | post-norm | pre-norm | sandwich |
# |---|---|---|---|---|
# | one sublayer | $x + f(x)$ | $n(x + f(x))$ | $x + f(n(x))$ | $x + n(f(n(x)))$ |
# | size of the stream | $1.15^L$ here | 1 | $\sqrt L$ | $\sqrt L$ |
# | path that passes no norm | yes | no | yes | yes |
# | norm at the end of the stack | none | none | one | one |
# | gradient of the last layer at the start | | level in $L$ | $L^{-1/2}$ | |
# | used by | | Transformer, BERT | GPT-2, T5, Llama | CogView |
#
# Here $n$ is the norm and $L$ the number of layers. And the norms themselves, for a row of $d$
# numbers:
#
# | | layer norm | RMSNorm |
# |---|---|---|
# | subtracts the mean | yes | no |
# | divides by | root of the variance | root of the mean square |
# | learned numbers | $2 d$ | $d$ |
# | forgets | size and mean | size |

# %% [markdown]
# ## In practice
#
# - **Start with pre-norm**, and put the one norm at the end. Left out, the model trains, and its
#   logits grow with depth.
# - **For post-norm use a warm-up**, and lower the rate as the stack grows. With care, deep
#   post-norm stacks train: BERT-large has 24 layers.
# - **Dropout**, which sets random numbers to 0 in training, **goes before the sum**:
#   $x + \mathrm{dropout}(f(x))$. On the stream itself it would damage all later layers.
# - **Copying weights? Compare epsilon.** $10^{-5}$, $10^{-6}$ and $10^{-12}$ are all in use, inside
#   the root, and another one moves the output by less than an eye sees.
# - **No weight decay on gains and shifts**: it pulls weights toward 0. The library's `adam` leaves
#   them out.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Two sublayers have the slopes 0.5 and $-0.5$, each with a residual. Which slope has the stack,
#    and how many paths add up to it?
#
#    <details><summary>Answer</summary>
#
#    $1.5 \cdot 0.5 = 0.75$, from $2^2 = 4$ paths: $1 + 0.5 - 0.5 - 0.25$.
#
#    </details>
# 2. Residuals keep a path of factor 1 open. Why was a norm still needed in the stack of 64 layers?
#
#    <details><summary>Answer</summary>
#
#    All other paths add to it: each layer made the size about 1.15 times as large, and the gradient
#    at the first layer came out in the thousands.
#
#    </details>
# 3. The row $(4, 2, -4, 10)$ is multiplied by 10. What becomes of its layer norm, and of the
#    gradient that comes back through it?
#
#    <details><summary>Answer</summary>
#
#    The norm stays $(0.2, -0.2, -1.4, 1.4)$. The gradient is a tenth, since the norm divides it by
#    the size of the row.
#
#    </details>
# 4. Over what does the mean of a layer norm run, and which test shows a wrong one?
#
#    <details><summary>Answer</summary>
#
#    Over the dimensions of one row. Change one word: no other row may move. With a mean over the
#    sentence the words before it moved.
#
#    </details>
# 5. Before training, how did the gradient of the last layer change with depth in the two
#    placements, and why?
#
#    <details><summary>Answer</summary>
#
#    In pre-norm it fell, nearly as $L^{-1/2}$: the last norm divides by a stream that grows with
#    the layers. In post-norm it did not fall.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* Normalize the row $(1, 1, 1, 5)$ by layer norm and by RMSNorm.
#
#    <details><summary>Answer</summary>
#
#    Mean 2, deviations $(-1, -1, -1, 3)$, variance $12 / 4 = 3$, root 1.732:
#    $(-0.577, -0.577, -0.577, 1.732)$. The mean square is $28 / 4 = 7$, root 2.646:
#    $(0.378, 0.378, 0.378, 1.890)$.
#
#    </details>
# 2. *(derive, 5 min)* A residual stack has $L$ layers. How many paths lead through exactly $k$ of
#    them? Which $k$ has the most?
#
#    <details><summary>Answer</summary>
#
#    $\binom L k$, and the most at $k = L / 2$. If each layer's slope is $a$, the paths through $k$
#    layers contribute $\binom L k a^k$ and all together $(1 + a)^L$. For small $a$ the short ones
#    carry the gradient (Veit et al. 2016).
#
#    </details>
# 3. *(predict, 5 min)* Multiply the weights of all outer matrices (`ff.out`) by 100. What happens
#    to the stream in post-norm? And in pre-norm?
#
#    <details><summary>Answer</summary>
#
#    Post-norm: each norm brings the rows back to size, but $x$ is now about a hundredth of the
#    sum: nearly a stack without residuals. Pre-norm: the branches grow a hundredfold, so the
#    embedding is about a hundredth of the sum here as well. The last norm hides the size, but not
#    that. The difference is that in pre-norm later branches still add to all earlier ones, on a
#    path without a norm.
#
#    </details>
# 4. *(measure, 15 min)* Train the deepest post-norm stack with a tenth of the learning rate and no
#    warm-up. Does it learn? What does that say about what the warm-up does?
#
#    <details><summary>Answer</summary>
#
#    A little. With 12 layers our run left the dotted line: a loss of 1.97 after 200 steps and 1.82
#    after 400, against 2.27 at the full rate. So small first steps are part of what the warm-up
#    gives. But a low rate is low to the end, and learns slowly.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
from math import comb

example = torch.tensor([1.0, 1, 1, 5])
assert torch.allclose(layer_norm(example)[::3], torch.tensor([-0.577, 1.732]), atol=1e-3)
assert torch.allclose(rms_norm(example)[::3], torch.tensor([0.378, 1.890]), atol=1e-3)
assert abs(sum(comb(12, k) * 0.1**k for k in range(13)) - 1.1**12) < 1e-12
assert round(1.32**0.5, 3) == 1.149  # a layer of the residual stack without norms,
assert round(1.149**64, -3) == 7_000  # and 64 of them
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# A sublayer adds to the residual stream, so one path leads back to the first layer with factor 1. A
# norm brings each row, alone, back to size, and divides the gradient by that size. Post-norm puts
# the norm on the stream and breaks that path; pre-norm puts it on the branch and keeps it.
#
# ## Further reading
#
# - He et al. (2016), *Deep Residual Learning for Image Recognition*: figure 1 is the problem,
#   figure 2 the sum.
# - Ba, Kiros, Hinton (2016), *Layer Normalization*: section 5.1 lists which changes of the input
#   each norm ignores.
# - Xiong et al. (2020), *On Layer Normalization in the Transformer Architecture*: theorem 1, and
#   figure 3 with its gradients by layer.
# - Liu et al. (2020), *Understanding the Difficulty of Training Transformers*: why outputs move.
# - Zhang and Sennrich (2019), *Root Mean Square Layer Normalization*: section 3.

# %% [markdown] tags=["slide"]
# # Hopfield networks: associative memory that became attention
#
# The right half of a handwritten 2 is wiped out. Sixty-four units that know nothing but their links
# put it back. How does a memory find what it holds from a part of it, and what has that to do with
# attention?
#
# <small>Prerequisites: [neurons](01_neurons.ipynb),
# [attention in ten minutes](../00_start/01_ten_minutes.ipynb) · 15 min · runs on a laptop · book
# 1.1 · optional page</small>

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

hills = "M20,40 C60,40 70,170 120,170 S190,60 230,60 S290,150 330,150 S380,60 420,60 "
hills += "S480,110 505,110 S550,60 580,40"
drawing = [f'<path d="{hills}" fill="none" stroke="currentColor" stroke-width="2"/>']
for x, y, words in ((120, 190, "stored: 2"), (330, 170, "stored: 5"), (505, 130, "never stored")):
    drawing.append(text(x, y, words, 14, "score" if "never" in words else "value"))
drawing.append(f'<circle cx="62" cy="68" r="8" fill="{ROLES["query"]}"/>')
drawing += [text(118, 60, "half a 2", 14, "query"), arrow(66, 84, 92, 140, "query")]
drawing += [text(30, 16, "energy", 13, "score"), text(560, 200, "states", 13, "score")]
show(
    svg(600, 215, drawing),
    "A line with three valleys: two named after stored digits, 2 and 5, and a shallow one that was "
    "never stored. A ball, half a 2, rolls down into the valley of the 2.",
)

# %% [markdown]
# *Drawn by hand: each stored pattern is a valley. A damaged one lies on the slope, and rolls down.*
#
# A computer's memory is asked by address. This one is asked by **content**: give it a part, and it
# returns the whole. Hopfield showed in 1982 that units which know only their neighbors' signs can
# do that, because every move makes one number smaller, the **energy**.

# %% [markdown]
# ## By hand: four units
#
# A unit is $-1$ or $1$. To store $p = (1, 1, -1, -1)$, link each pair of units by the product of
# its two numbers: units that agree get $+1$, others $-1$. No unit is linked with itself.
#
# $$W = \begin{pmatrix} 0 & 1 & -1 & -1 \\ 1 & 0 & -1 & -1 \\ -1 & -1 & 0 & 1 \\
# -1 & -1 & 1 & 0 \end{pmatrix}$$
#
# Start from $(1, -1, -1, -1)$: the second unit is wrong. What do the others say to it? Its
# **field** is $1 \cdot 1 + (-1)(-1) + (-1)(-1) = 3$. It is positive, so the unit becomes $1$, and
# the pattern is back.

# %%
import torch

p = torch.tensor([1.0, 1, -1, -1])
W = torch.outer(p, p) - torch.eye(4)
state = torch.tensor([1.0, -1, -1, -1])
print("field of each unit:", (W @ state).tolist())
print("energy before:", (-0.5 * state @ W @ state).item(), " after:", (-0.5 * p @ W @ p).item())
assert (W @ state).tolist() == [1, 3, -1, -1]

# %% [markdown]
# The field of the second unit disagrees with its sign; all others agree. The energy went from 0 to
# $-6$: minus the sum over the six pairs of link times both signs. In the pattern each pair
# contributes $-1$.

# %% [markdown]
# ## In code: store, and set one unit
#
# For $S$ patterns the links add up (Hebb's rule), for $i \ne j$. Then one unit after another takes
# the sign of its field:
#
# $$W_{ij} = \sum_m p_{mi}\, p_{mj} \qquad f_i = \sum_j W_{ij} s_j \qquad
# s_i \leftarrow \mathrm{sign}(f_i) \qquad E = -\tfrac12 \sum_{ij} W_{ij} s_i s_j$$
#
# Here $p_m$ is pattern $m$ and $s$ is the state. Why does $E$ never rise? All terms with unit $i$
# sum to $-s_i f_i$, since $W$ is symmetric. The move changes that by
# $-(\text{new} - \text{old})\, f_i$, and the new sign is that of $f_i$.


# %%
def store(patterns):
    W = patterns.T @ patterns  # (N, N) from (S, N)
    return W - W.diagonal().diag()


def energy(W, state):
    return -0.5 * state @ W @ state


def repair(W, state, order):
    """Set the units in this order; return the state after each one that moved."""
    states = [state]
    for i in order:
        field = W[i] @ state
        if field * state[i] < 0:
            state = state.clone()
            state[i] = -state[i]
            states.append(state)
    return states


# %% [markdown]
# Against the library, with three random patterns and a drawn order:

# %% tags=["nbval-check-output"]
from deepdive.models.classic.hopfield import hebbian

patterns = 2.0 * torch.randint(2, (3, 40)) - 1
network, W, state = hebbian(patterns), store(patterns), 2.0 * torch.randint(2, (40,)) - 1
assert torch.equal(network.weights, W)
for i in torch.randperm(40).tolist():
    ours, theirs = repair(W, state, [i])[-1], network.update(state, i)
    assert torch.equal(ours, theirs)
    assert abs(energy(W, ours) - network.energy(theirs)) < 1e-6
    assert energy(W, ours) <= energy(W, state)
    state = ours
print("the same states and energies; no move raised the energy")

# %% [markdown] tags=["slide"]
# ## Look: half a 2
#
# scikit-learn ships 1,797 handwritten digits of 8 x 8 pixels, real ones. Ink is $1$, paper $-1$.
# Store the first 2, the first 3 and the first 5, wipe out the right half of the 2, and let the
# units look at one another, in an order that is drawn once and kept.

# %%
from sklearn.datasets import load_digits

pixels, labels = (torch.from_numpy(part) for part in load_digits(return_X_y=True))
print("data scikit-learn's digits (real)")
images = torch.where(pixels > 7, 1.0, -1.0).float()  # (1797, 64)
first = torch.stack([images[labels == digit][0] for digit in range(10)])  # (10, 64)

W, damaged = store(first[[2, 3, 5]]), first[2].clone()
damaged.view(8, 8)[:, 4:] = -1
order = torch.randperm(64, generator=torch.Generator().manual_seed(1)).tolist()
states = repair(W, damaged, 5 * order)
assert torch.equal(states[-1], first[2])
f"{(damaged != first[2]).sum()} of 64 pixels wrong; {len(states) - 1} moves; the 2 is back"

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.frame_strip import film


def pixel_map(axes, row, title=""):
    axes.imshow(row.reshape(8, 8), cmap="Blues", vmin=-1, vmax=1)
    axes.set(xticks=[], yticks=[], title=title)
    axes.spines[:].set_visible(True)

# %% Each move lowers the energy tags=["slide", "fold"]
def frame(at):
    figure = Figure(figsize=(4.6, 2.1))
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.4))
    pixel_map(left, states[at])
    energies = [energy(W, state).item() for state in states]
    right.plot(energies[: at + 1], "o-", markersize=3)
    right.set(xlim=(-0.5, len(states) - 0.5), ylim=(min(energies) * 1.05, max(energies) + 60))
    right.set(xlabel="moves", ylabel="energy")
    return figure


shown = sorted({round(i * (len(states) - 1) / 6) for i in range(7)})
film(
    [frame(at) for at in shown],
    [f"after {at} moves: energy {energy(W, states[at]):.0f}" for at in shown],
    "The left half of a 2 with an empty right half. Move by move pixels of the right half fill in "
    "until the 2 is whole, while the energy falls at every move.",
)

# %% [markdown]
# *Left the 64 units, right the energy after each move. A move sets one pixel. The last state is the
# stored 2, pixel by pixel, and from there no unit moves.*

# %% [markdown]
# ### Common mistake: setting all units at once
#
# A matrix product gives all fields together, so why go one by one? Take the smallest network there
# is: two units that want to agree, and at the moment do not.

# %%
two, state = torch.tensor([[0.0, 1], [1, 0]]), torch.tensor([1.0, -1])
for step in range(4):
    print(f"step {step}: {state.tolist()}, energy {energy(two, state):+.0f}")
    state = (two @ state).sign()
alone = repair(two, torch.tensor([1.0, -1]), [0, 1])[-1]
print(f"one by one: {alone.tolist()}, energy {energy(two, alone):+.0f}")

# %% [markdown]
# **Symptom:** the state swings between two patterns for ever, and the energy stays as it was. Each
# unit follows what the other *was*. **Fix:** one unit at a time, each from the newest state. The
# proof above moved one unit, and holds for no more. (Links that are not symmetric break it too. The
# library's `Hopfield` refuses them.)

# %% [markdown]
# ## How many can it hold?
#
# Amit, Gutfreund and Sompolinsky computed it in 1985: random patterns are held, with few wrong
# bits, up to about $0.138\,N$ of them for $N$ units, and then all break down together. With
# $N = 64$ that would be 8.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "64 units hold about eight random patterns. Store the first 0, 1, ... 9: how many of the ten "
    "digits stay as they are, when nothing is damaged?",
    ["about eight", "three or four", "none"],
    answer=2,
    explain="Digits are no random patterns: the middle has ink and the corners are empty in all of "
    "them. What is common to all is stored ten times, and every unit listens to that first.",
    key="01_before/hopfield-ten-digits",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
for count in (2, 3, 4, 10):
    W = store(first[:count])
    wrong = [int((W @ digit * digit < 0).sum()) for digit in first[:count]]
    print(f"digits 0 to {count - 1} stored; units that want to leave them: {wrong}")
assert min(wrong) > 0

# %% [markdown]
# Two and three digits stand. With four, none does. The theory speaks of random patterns, so measure
# it on random ones: start *at* a stored pattern, let the network run, and count it as held if
# nine bits in ten still agree.

# %%
from deepdive_book.kit.profile import pick


def held(load, N, seed):
    draw = torch.Generator().manual_seed(seed)
    patterns = 2.0 * torch.randint(2, (round(load * N), N), generator=draw) - 1
    some = patterns[:20]
    ends = hebbian(patterns).recall(some, draw)
    return ((ends * some).mean(1) > 0.8).float().mean().item()


loads, sizes = [0.08, 0.11, 0.14, 0.17, 0.2, 0.24], (50, 100, pick(ci=200, laptop=600, gpu=600))
shares = {}
for N in sizes:
    seeds = range(pick(ci=200, laptop=1200, gpu=1200) // N)
    shares[N] = [sum(held(load, N, s) for s in seeds) / len(seeds) for load in loads]
    print(f"{N:>4} units:", *(f"{share:.2f}" for share in shares[N]))
assert shares[sizes[-1]][1] > 0.9 > 0.6 > shares[sizes[-1]][-1]

# %% tags=["fold"]
from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6, 3))
axes = figure.subplots()
for N in sizes:
    axes.plot(loads, shares[N], "o-", label=f"{N} units")
axes.axvline(0.138, color="grey", linestyle=":")
axes.set(xlabel="random patterns stored, for each unit", ylabel="share held", ylim=(0, 1.05))
axes.legend()
with_alt(
    figure,
    "Share of patterns held against load, one line a size. All begin near one; past 0.138, a "
    "dotted line, they fall, and the larger the network the more steeply.",
)

# %% [markdown]
# *The dotted line is 0.138, a value for networks without end. Of the three sizes the largest falls
# most steeply.*

# %% [markdown]
# ## Valleys that nobody dug
#
# With twelve units all $2^{12} = 4{,}096$ states can be listed. Store three patterns, and look for
# every state that no unit wants to leave.

# %%
from itertools import product

stored = torch.tensor([[1.0] * 12, [1.0] * 6 + [-1] * 6, ([1.0] * 3 + [-1] * 3) * 2])
network = hebbian(stored)
everything = torch.tensor(list(product([-1.0, 1.0], repeat=12)))  # (4096, 12)
valleys = everything[(network.field(everything) * everything > 0).all(1)]
ends = network.recall(everything, torch.Generator().manual_seed(0))


def kind(state):
    overlap = (stored @ state).abs().max() / 12
    return "mixture" if overlap < 1 else "stored" if (stored @ state).max() == 12 else "negative"


for name in ("stored", "negative", "mixture"):
    found = sum(kind(state) == name for state in valleys)
    reached = sum(kind(state) == name for state in ends) / len(ends)
    print(f"{name:>8}: {found} valleys, {reached:.0%} of all starts end there")

# %% Three stored, eleven more tags=["slide", "fold"]
figure = Figure(figsize=(6.4, 3.6))
axes = figure.subplots()
across, up = (everything @ stored[:2].T / 12).T
order = network.energy(everything).argsort(descending=True)  # the lowest is drawn last
levels = network.energy(everything)[order]
dots = axes.scatter(across[order], up[order], c=levels, s=150, cmap="Blues_r", marker="s")
marks = {"stored": ("*", "C1"), "negative": ("o", "C4"), "mixture": ("X", "C3")}
for name, (mark, color) in marks.items():
    x, y = (torch.stack([s for s in valleys if kind(s) == name]) @ stored[:2].T / 12).T
    axes.scatter(x, y, marker=mark, s=110, color=color, edgecolor="black", label=name)
axes.set(xlabel="agreement with the first pattern", ylabel="with the second", aspect="equal")
figure.colorbar(dots, label="lowest energy")
figure.legend(loc="outside right upper")
with_alt(
    figure,
    "States by their agreement with two stored patterns, dark where the energy is low. Stored "
    "patterns and their negatives lie at the ends of the axes, mixtures half way between them.",
)

# %% [markdown]
# *Each square holds all states with that agreement, and shows the lowest energy among them. The
# third pattern and its negative lie at the middle, one on the other. Mixtures agree half with each
# of the three patterns.*
#
# Two kinds of valley came unasked. The **negative** of each pattern, because an energy of pairs
# cannot tell $s$ from $-s$. And **mixtures**, the sign of $\pm a \pm b \pm c$: they are the
# network's false memories, called spurious states.

# %% [markdown]
# ## The modern form: one softmax
#
# The trouble is Hebb's rule: it adds up products, so what similar patterns have in common is added
# many times. The classical fix keeps the links and changes the rule. The **projection rule**
# (Personnaz, Guyon, Dreyfus 1986; Kanter and Sompolinsky 1987) sets $W$ to the matrix that
# projects a state onto the stored patterns, so up to $N$ linearly independent patterns are fixed
# points, however similar they are. Another fix keeps the patterns $p_m$ apart and lets them
# compete for the state. Krotov and Hopfield (2016) and Demircigil et al. (2017) showed that such a
# memory can hold many more patterns; Ramsauer et al. (2021) made the states continuous and found
# attention. States are real numbers now:
#
# $$\text{weights} = \mathrm{softmax}(\beta\, P s) \qquad s \leftarrow
# \text{weights} \cdot P \qquad
# E = -\tfrac1\beta \log \sum_m e^{\beta p_m \cdot s} + \tfrac12 s \cdot s$$
#
# Score, weigh, mix: with $s$ as query and the patterns as keys *and* values, it is attention with
# scale $\beta$. This energy never rises either. (A step equals the state minus the energy's
# gradient, but that alone is no proof, because a gradient step can overshoot. The proof is the
# concave-convex procedure: $\tfrac12 s \cdot s$ is convex and the other term concave; replace the
# concave term by its tangent at the old state, and the new state minimizes this upper bound.
# Ramsauer et al. 2021, theorem 1.)


# %%
def recall_once(patterns, state, beta):
    weights = (beta * patterns @ state).softmax(0)  # (S,)
    return weights @ patterns, weights


from deepdive.core import SoftmaxAttention
from deepdive.models.classic.hopfield import Hopfield, ModernHopfield, as_attention

rows, query = first[None, None], damaged[None, None, None]
answer, weights = recall_once(first, damaged, 0.125)
library = ModernHopfield(first, 0.125)
attended = SoftmaxAttention()(query, rows, rows, scale=0.125)[0, 0, 0]
one_head = as_attention(library)(damaged[None, None], memory=first[None])[0, 0]
for other in (library(damaged), attended, one_head):
    assert (answer - other).abs().max() < 1e-6
print("our two lines, ModernHopfield, SoftmaxAttention and MultiHeadAttention agree to 1e-6")

# %% [markdown]
# `as_attention` builds a head whose projections are identities. $1 / \sqrt{64} = 0.125$ is the
# scale that attention would choose for rows of 64. Now the same half 2 asks a memory of all ten
# digits, in which the classical network lost every one:

# %% The same query, answered by attention tags=["slide", "fold"]
figure = Figure(figsize=(7.4, 3.6))
upper, lower = figure.subplots(2, 4)
pixel_map(upper[0], damaged, "the query")
lower[0].set_axis_off()
for top, bottom, beta in zip(upper[1:], lower[1:], (0.0, 0.125, 1.0), strict=True):
    answer, weights = recall_once(first, damaged, beta)
    pixel_map(top, answer, f"$\\beta$ = {beta:g}")
    bottom.bar(range(10), weights, color=ROLES["weight"])
    bottom.set(xticks=range(10), ylim=(0, 1), xlabel="digit stored")
lower[1].set_ylabel("weight")
with_alt(
    figure,
    "Half a 2 asks ten stored digits. With beta 0 all weights are a tenth and the answer a blurred "
    "mean; with 0.125 several digits share, 2 and 6 first; with 1 the 2 has most, and comes out.",
)

# %%
answer, weights = recall_once(first, damaged, 1.0)
print("weights, beta 1:", *(f"{digit}: {w:.3f}" for digit, w in enumerate(weights) if w > 0.005))
assert torch.equal(answer.sign(), first[2])

# %% [markdown]
# *Above the answer after one step, below the weights. $\beta = 0$ gives the mean of all. A larger
# one lets the best fit win.*
#
# At attention's own scale half a 2 gets a blend, for half a 2 fits half a 6 nearly as well. With
# $\beta = 1$ one step is enough: the signs of the answer are the stored 2. How far does that go?

# %% [markdown]
# ## Experiment: what each memory holds
#
# Store more and more of the real digits, in the order of the file. Flip each pixel of those stored,
# of the first 100 at most, with probability 0.1, and ask. Correct means the image that was stored,
# pixel by pixel. The baseline returns the stored pattern with the largest dot product.

# %%
from deepdive_book.kit.tables import table


def projection(stored):
    """The projection rule: links that project a state onto the stored patterns, no diagonal."""
    W = torch.linalg.pinv(stored.double()) @ stored.double()  # (64, 64)
    return Hopfield(((W + W.T) / 2).float().fill_diagonal_(0))


# %%
def found(count, draw):
    stored = images[:count]
    asked = stored[:100]
    noisy = torch.where(torch.rand(asked.shape, generator=draw) < 0.1, -asked, asked)
    classical = hebbian(stored).recall(noisy, draw)
    projected = projection(stored).recall(noisy, draw)
    with torch.no_grad():
        modern = ModernHopfield(stored, 1.0)(noisy).sign()
    nearest = stored[(noisy @ stored.T).argmax(1)]
    answers = (classical, projected, modern, nearest)
    return [(answer == asked).all(1).float().mean().item() for answer in answers]


draw = torch.Generator().manual_seed(0)
results = {count: found(count, draw) for count in (2, 3, 5, 10, 100, 1797)}
table(
    [[f"{count:,}", *(f"{part:.0%}" for part in parts)] for count, parts in results.items()],
    ["digits stored", "Hebb's rule", "projection rule", "modern form", "nearest pattern"],
)

# %% tags=["fold"]
assert results[1797][0] == 0 < 0.5 < results[1797][2] <= results[1797][3]
assert results[10][0] == 0 < 0.9 < results[10][1]
assert results[100][1] < 0.1
assert not (projection(first).field(first) * first < 0).any()
print("with the projection rule no unit wants to leave any of the ten digits")

# %% [markdown]
# So links can hold all ten digits: it was Hebb's rule that failed on similar patterns. No rule can
# hold 100 patterns in 64 units this way. With $\beta = 1$ the modern form is also not the best
# look-up: the nearest stored pattern is correct more often. Each line of the table is one random
# draw of the noise, and the first lines rest on two and three images.
#
# The modern form has its price. It keeps every pattern, 64 numbers for each: 115,008 for all 1,797
# digits. The links stay 4,096 (2,016 of them different) however much is stored. A Transformer's
# key-value cache grows in the same way, row by row. The paper of the modern form proves that
# random patterns can be exponentially many in $d$, with an error that falls as $e^{-\beta
# \Delta}$; $\Delta$ is how much better a pattern fits itself than the next one. The library's
# tests measure both.

# %% [markdown]
# ## How it differs
#
# | | Hopfield 1982 | modern form | attention |
# |---|---|---|---|
# | state | $N$ signs | $d$ real numbers | a query |
# | memory | links, $N^2$ numbers | patterns, $S d$ numbers | keys and values |
# | a step | one unit takes a sign | softmax, mix | the same |
# | steps | until none moves | one is nearly enough | one a layer |
# | holds (random patterns) | $0.138\,N$ | exponential in $d$ | |
# | keys and values | the same | the same | two projections |
#
# ## In practice
#
# - **Data are hardly kept in Hopfield's links today.** What stayed is the view: a network that runs
#   downhill, and attention as a memory that is asked by content.
# - **Use the projection rule for similar patterns**, or the modern form. Subtracting the mean from
#   the digits helps Hebb's rule only in part (exercise 3).
# - **Watch the weights, not only the answer.** Nearly equal weights mean an answer that is a mean:
#   the state that the paper calls metastable. A larger $\beta$, or a better key, fixes it.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why must the links be symmetric?
#
#    <details><summary>Answer</summary>
#
#    Only then do all terms of the energy with unit $i$ sum to $-s_i f_i$, with the field that the
#    unit follows. Otherwise a move may raise the energy, and the network may go round for ever.
#
#    </details>
# 2. Why does a recall end?
#
#    <details><summary>Answer</summary>
#
#    Every move lowers the energy, and there are only $2^N$ states: none comes twice.
#
#    </details>
# 3. A pattern is stored. Which other state has the same energy, always?
#
#    <details><summary>Answer</summary>
#
#    Its negative: the energy multiplies two signs in each term.
#
#    </details>
# 4. Which two settings of attention make it a step of the modern network?
#
#    <details><summary>Answer</summary>
#
#    Keys and values are the same rows, the patterns, and the scale is $\beta$.
#
#    </details>
# 5. What does the modern network return for $\beta = 0$, and for a very large $\beta$?
#
#    <details><summary>Answer</summary>
#
#    The mean of all patterns, and the pattern with the largest dot product.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* Store $(1, 1, 1)$ and $(1, -1, 1)$. What are the links? Which states does
#    no unit leave?
#
#    <details><summary>Answer</summary>
#
#    $W_{12} = 1 - 1 = 0$, $W_{23} = 0$, $W_{13} = 2$. The middle unit hears nothing and stays as it
#    is: both patterns and their negatives stand, four states.
#
#    </details>
# 2. *(derive, 5 min)* One pattern $p$ is stored in $N$ units, and $k$ bits of the state are wrong.
#    What is the energy? For which $k$ does the network find $p$?
#
#    <details><summary>Answer</summary>
#
#    $p \cdot s = N - 2k$, so $E = -\tfrac12 ((N - 2k)^2 - N)$. The field of unit $i$ is $p_i (N -
#    2k) - s_i$: while $N - 2k$ is at least 2, every field has the sign of $p_i$. At $N - 2k = 1$
#    correct units have field 0 and stay, wrong ones have field $2 p_i$ and flip. So the network
#    finds $p$ for every $k < N/2$. At $k = N/2$ every field is $-s_i$, and the first unit that is
#    updated decides between $p$ and $-p$. For more wrong bits it finds $-p$.
#
#    </details>
# 3. *(measure, 10 min)* Subtract the mean of the ten digits from each before you sum the products
#    (links $\sum_s (p_s - m)(p_s - m)^T$ without diagonal). How many of the ten digits stay?
#
#    <details><summary>Answer</summary>
#
#    The cell below counts the units that want to leave: about half as many as before, and still
#    some in every digit. Ten are too many.
#
#    </details>

# %%
# The answers, checked.
W = store(torch.tensor([[1.0, 1, 1], [1, -1, 1]]))
assert W.tolist() == [[0, 0, 2], [0, 0, 0], [2, 0, 0]]
assert len(first[0]) ** 2 == 4_096
assert len(torch.combinations(first[0])) == 2_016  # each pair of units once
N, k = 20, 6
p, state = torch.ones(N), torch.cat([-torch.ones(k), torch.ones(N - k)])
assert energy(store(p[None]), state) == -0.5 * ((N - 2 * k) ** 2 - N)
without_mean = store(first - first.mean(0))
print("units that want to leave:", ((first @ without_mean * first) < 0).sum(1).tolist())

# %% [markdown]
# ## Summary
#
# Hebb's links make stored patterns the valleys of an energy that no single move raises, so a part
# rolls down into the whole. With Hebb's rule, random patterns up to 0.138 per unit fit in, and far
# fewer similar ones; the projection rule holds those too. Valleys also appear that nobody stored.
# Keep the patterns apart and let a softmax choose among them, and one step of the memory is
# attention.
#
# ## Further reading
#
# - Hopfield (1982), *Neural Networks and Physical Systems with Emergent Collective Computational
#   Abilities*: five pages; the energy is equation 7.
# - Amit, Gutfreund, Sompolinsky (1985), *Storing Infinite Numbers of Patterns in a Spin-Glass Model
#   of Neural Networks*: where 0.138 comes from.
# - Ramsauer et al. (2021), *Hopfield Networks Is All You Need*: section 2, and figure 1.

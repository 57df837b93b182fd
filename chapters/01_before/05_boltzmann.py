# %% [markdown] tags=["slide"]
# # Restricted Boltzmann machines: layers trained without labels
#
# Before 2006 deep networks were hard to train. Then Hinton, Osindero and Teh let each layer first
# learn, alone and without labels, what its input looks like. With 100 labeled digits, does that
# help?
#
# <small>Prerequisites: [Hopfield networks](04_hopfield.ipynb),
# [back-propagation](02_backprop.ipynb) · 12 min · runs on a laptop · book 1.1 · optional
# page</small>

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
# %% tags=["fold"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show


def row(count, y, role, middle=150, gap=48):
    xs = [middle + (i - (count - 1) / 2) * gap for i in range(count)]
    ring = f'r="13" fill="{ROLES[role]}" fill-opacity="0.16" stroke="{ROLES[role]}"'
    return xs, [f'<circle cx="{x:g}" cy="{y}" {ring}/>' for x in xs]

# %% tags=["slide", "fold"]
drawing = []
for x0, layers in ((150, 1), (450, 3)):
    for layer in range(layers):
        below, above = 190 - 52 * layer, 138 - 52 * layer
        low, _ = row(5 - layer, below, "key", x0)
        high, circles = row(4 - layer, above, "value", x0)
        drawing += [
            f'<line x1="{a:g}" y1="{below - 13}" x2="{b:g}" y2="{above + 13}" '
            'stroke="currentColor" stroke-opacity="0.35"/>'
            for a in low
            for b in high
        ]
        drawing += circles
    drawing += row(5, 190, "key", x0)[1]
drawing += [text(20, 190, "v", 17, "key", bold=True), text(20, 138, "h", 17, "value", bold=True)]
drawing.append(text(150, 222, "restricted Boltzmann machine", 14))
drawing.append(text(450, 222, "three of them, stacked", 14))
show(
    svg(600, 236, drawing),
    "Left: five visible units, each linked with four hidden ones, no links within a row. Right: "
    "three such machines, each standing on the hidden units of the one below.",
)

# %% [markdown]
# *Left, visible units `v` (the data) and hidden units `h`. Right, three machines over one another:
# what is hidden for one is visible for the next. A **deep belief net** (DBN) is trained this way.*
#
# The stack is the recipe for training a DBN. The finished DBN is not a stack of undirected
# machines: only its top two layers are undirected, all lower ones are directed downwards (Hinton,
# Osindero, Teh 2006, section 2). They fine-tuned it with wake-sleep (up-down); fine-tuning by
# back-propagation, as below, came with Bengio et al. and with Hinton and Salakhutdinov (2006).
#
# A **Boltzmann machine** is Hopfield's network with three changes. A unit is *drawn*, with
# probability $\mathrm{sigmoid}(\text{field})$, where Hopfield's takes the sign. Units are 0 or 1
# and have biases. (For units of -1 and 1 the probability is the sigmoid of twice the field.) And
# there are hidden units, which no data set sets. **Restricted** (RBM) means that only visible and
# hidden units are linked. Then all hidden units can be drawn at once, and all visible ones.

# %% [markdown]
# ## By hand: two pixels, one hidden unit
#
# Units are 0 or 1. Links $W = (1, -1)$, biases 0. The energy of a state is $-h\,(v_1 - v_2)$, and
# each state's share is $e^{-\text{energy}}$ divided by the sum $Z$ of all. Sum over both $h$:
#
# | $v$ | $h = 0$ | $h = 1$ | both | $p(v)$ |
# |---|---|---|---|---|
# | 0 0 | 1 | 1 | 2 | 0.220 |
# | 1 0 | 1 | $e = 2.718$ | 3.718 | 0.409 |
# | 0 1 | 1 | $1/e = 0.368$ | 1.368 | 0.151 |
# | 1 1 | 1 | 1 | 2 | 0.220 |
#
# $Z = 9.086$. The column *both* is $e^{-F(v)}$; $F$ is called the **free energy**.

# %%
import torch

W, v = torch.tensor([[1.0, -1.0]]), torch.tensor([[0.0, 0], [1, 0], [0, 1], [1, 1]])
both = 1 + (v @ W[0]).exp()
assert abs(both.sum() - 9.086) < 1e-3
print("p(v):", *(f"{share:.3f}" for share in both / both.sum()))

# %% [markdown]
# ## In code
#
# With biases $b$ (visible) and $c$ (hidden), each hidden unit contributes a factor
# $1 + e^{c_j + W_j v}$. Its logarithm is called softplus:
#
# $$F(v) = -v \cdot b - \sum_j \mathrm{softplus}(c_j + W_j \cdot v) \qquad
# p(h_j = 1 \mid v) = \mathrm{sigmoid}(c_j + W_j \cdot v)$$
#
# Here a product of numbers replaces a sum over $2^{n}$ hidden states: that is what *restricted*
# buys. The sum $Z$ over visible states stays.

# %% tags=["nbval-check-output"]
import torch.nn.functional as F

from deepdive.models.classic.boltzmann import RBM, all_states


def free_energy(W, b, c, v):
    return -v @ b - F.softplus(v @ W.T + c).sum(-1)


rbm = RBM(6, 4).double()
with torch.no_grad():
    for parameter in rbm.parameters():
        parameter.normal_(std=1.5)
v, h = all_states(6), all_states(4)  # (64, 6), (16, 4)
ours = free_energy(rbm.W, rbm.b, rbm.c, v)
assert torch.allclose(ours, rbm.free_energy(v), atol=1e-6)
one_by_one = -(-rbm.energy(v[:, None], h)).logsumexp(1)  # all 64 x 16 states
assert torch.allclose(ours, one_by_one, atol=1e-6)
print("the free energy is the library's, and that of all 1,024 states summed one by one")

# %% [markdown]
# ## Learning: raise the data, lower the dreams
#
# The gradient of $\log p(v)$ has two parts: the free energy of the data falls, that of the model's
# own states rises.
#
# $$\nabla \log p(\text{data}) = -\nabla F(\text{data}) + \sum_v p(v)\, \nabla F(v)$$
#
# The second sum has $2^{64}$ terms for 64 pixels. One can draw from $p$ instead, by going up and
# down for ever (**Gibbs sampling**). **Contrastive divergence**, CD-$k$, starts at the data and
# stops after $k$ rounds. How wrong is that? For six pixels it can be computed without drawing: let
# the matrix $T$ hold the probability of each state after each.

# %%
joint = (-rbm.energy(v[:, None], h)).exp().detach()
T = (joint / joint.sum(1, keepdim=True)) @ (joint / joint.sum(0)).T  # (64, 64): v to v'
data = torch.zeros(64).double()
data[[3, 12, 48]] = 1 / 3  # three patterns: 000011, 001100, 110000


def gradient(after):
    """The direction that lowers F on the data and raises it on the shares `after`."""
    loss = ((data - after) * rbm.free_energy(v)).sum()
    return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(rbm.parameters()))])


exact = gradient(joint.sum(1) / joint.sum())
powers = [torch.linalg.matrix_power(T, k) for k in range(1, 13)]
errors = [((gradient(data @ power) - exact).norm() / exact.norm()).item() for power in powers]
second = torch.linalg.eigvals(T).abs().sort().values[-2].item()
assert errors[-1] < errors[0]
for k in (1, 2, 5, 12):
    print(f"CD-{k}: off by {errors[k - 1]:.1%} of the gradient's length")
print(f"from one k to the next: {errors[-1] / errors[-2]:.3f}; T's second eigenvalue {second:.3f}")

# %% [markdown]
# In the long run each round multiplies the error by the second eigenvalue of $T$: so fast does the
# chain forget where it began. With large links it forgets slowly, and CD-1 is a rough guide. It is
# cheap, and has been good enough for features. The rate is known here only because all 64 states
# can be listed, and this machine is a single random, untrained one. In general CD-$k$ is biased
# and follows no function's gradient (Sutskever and Tieleman 2010). The standard remedy is
# persistent CD (Tieleman 2008): the chain goes on from update to update and doesn't restart at the
# data.

# %% [markdown] tags=["slide"]
# ## Look: what 64 pixels teach
#
# Train on scikit-learn's digits, real ones of 8 x 8 pixels, without their labels.

# %%
from sklearn.datasets import load_digits

from deepdive.models.classic.boltzmann import train_rbm
from deepdive_book.kit.profile import pick

pixels, labels = (torch.from_numpy(part) for part in load_digits(return_X_y=True))
print("data scikit-learn's digits (real)")
images = (pixels / 16).float()  # (1797, 64), between 0 and 1
torch.manual_seed(0)
digits = RBM(64, 40)
train_rbm(digits, images, epochs=pick(ci=8, laptop=25, gpu=25))
noise = images[:, torch.randperm(64)]  # the same pixels, in another place
with torch.no_grad():
    gap = (digits.free_energy(noise).mean() - digits.free_energy(images).mean()).item()
assert gap > 10
print(f"free energy: digits lie {gap:.0f} lower than digits with their pixels shuffled")

# %% tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

strongest = digits.W.detach().norm(dim=1).argsort(descending=True)[:8]
dream = images[:8]
for _ in range(200):
    dream = digits.gibbs(dream)
with torch.no_grad():
    shown = digits.visible(torch.bernoulli(digits.hidden(dream)))
links, most = digits.W.detach()[strongest], digits.W.abs().max().item()
rows = (("links", links, "RdBu_r", -most, most), ("data", images[:8], "Blues", 0, 1))
rows += (("200 rounds on", shown, "Blues", 0, 1),)
figure = Figure(figsize=(7.2, 3))
for across, (name, maps, colors, low, high) in zip(figure.subplots(3, 8), rows, strict=True):
    for axes, values in zip(across, maps, strict=True):
        axes.imshow(values.reshape(8, 8), cmap=colors, vmin=low, vmax=high)
        axes.set(xticks=[], yticks=[])
    across[0].set_ylabel(name)
with_alt(
    figure,
    "Three rows of 8 x 8 images. Links of eight hidden units, patches and strokes of both signs. "
    "Eight digits of the data. What their chains show 200 rounds later: strokes, some digits.",
)

# %% [markdown]
# *Above, the links of the eight strongest hidden units, red positive, blue negative: parts of
# strokes. Below, eight digits of the data, and under each what a chain that began there shows 200
# rounds later. Some look like digits, and often like another one than above.*

# %% [markdown]
# ### Common mistake: judging by the reconstruction
#
# Up, and down again: does the image come back? That error is easy to print. Take a machine in
# which each hidden unit copies one pixel:

# %%
copy = RBM(8, 8).double()
with torch.no_grad():
    copy.W.copy_(20 * torch.eye(8))
    copy.b.fill_(-10)
    copy.c.fill_(-10)
    states = all_states(8)
    error = (copy.visible(copy.hidden(states)) - states).abs().max()
    likelihood = copy.log_likelihood(states)
print(f"largest reconstruction error: {error:.4f}")
print(f"log p(v): from {likelihood.min():.4f} to {likelihood.max():.4f}")
assert error < 1e-3
assert torch.allclose(likelihood, torch.tensor(-8 * 0.6931471805599453).double(), atol=1e-3)

# %% [markdown]
# **Symptom:** the reconstruction is perfect, for noise too, and every state has the same
# probability, $2^{-8}$: the machine knows nothing. **Fix:** compare free energies, of data with
# noise, or of training data with held-out data. $Z$ is the same for both, and cancels.

# %% [markdown]
# ## Experiment: 100 labels
#
# Now the question. A network 64-100-100-100-10 of sigmoids learns from 100 labeled digits and is
# tested on 500 others. Five starts, all trained by labels in the same way afterwards:
#
# - `small`: random numbers of size 0.01, from which RBMs begin too (below, the old start);
# - `pretrained`: RBMs, trained from the bottom up on all 1,297 training images, no labels, 15
#   epochs each; `pretrained x 4`: the same with four times as many epochs;
# - `scaled`: random numbers of the size that Glorot and Bengio derived in 2010, times 4, a common
#   factor for sigmoids that isn't theirs;
# - `no hidden layer`: pixels to classes, softmax regression. The line to beat.

# %%
from copy import deepcopy

from torch import nn

from deepdive.models.classic.boltzmann import DBN, classifier, pretrain


def starts(depth, unlabeled, draw):
    """Name -> network, all of the same shape but the last."""
    dbn = DBN((64,) + (100,) * depth)
    longer = deepcopy(dbn)
    networks = {"small": classifier(dbn, 10), "scaled": classifier(dbn, 10)}
    for layer in networks["scaled"][:-1:2]:
        nn.init.xavier_uniform_(layer.weight, gain=4)
    epochs = pick(ci=6, laptop=15, gpu=15)
    pretrain(dbn, unlabeled, epochs=epochs, generator=draw)
    pretrain(longer, unlabeled, epochs=4 * epochs, generator=draw)
    networks |= {"pretrained": classifier(dbn, 10), "pretrained x 4": classifier(longer, 10)}
    return networks | {"no hidden layer": nn.Linear(64, 10)}


# %%
def trained(network, x, y, steps=300):
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        F.cross_entropy(network(x), y).backward()
        optimizer.step()
    return network


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Three hidden layers. The best pre-training here is compared with random numbers of the right "
    "size (scaled). How do they differ on new digits?",
    ["pre-training is ahead by over 3 points", "scaled is ahead by over 3 points", "by less"],
    answer=2,
    explain="Pre-training rescues the old start, by a wide margin, if its RBMs are trained long "
    "enough. Drawing the first numbers in the right size does the same without unlabelled images, "
    "and three seeds show no difference. On data this small, no hidden layer is as good.",
    key="01_before/pretraining",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
scores = {}
for seed in range(pick(ci=1, laptop=3, gpu=8)):
    torch.manual_seed(seed)
    draw = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(images), generator=draw)
    few, rest, test = order[:100], order[:1297], order[1297:]
    for depth in (1, 3):
        for name, network in starts(depth, images[rest], draw).items():
            said = trained(network, images[few], labels[few])(images[test]).argmax(1)
            right = (said == labels[test]).float().mean().item()
            scores.setdefault((depth, name), []).append(right)
for (depth, name), right in scores.items():
    mean = sum(right) / len(right)
    print(f"{depth} hidden, {name:>15}: {mean:.1%}  seeds:", *(f"{r:.1%}" for r in right))

# %% tags=["fold"]
mean = {key: sum(right) / len(right) for key, right in scores.items()}
assert mean[3, "pretrained"] > mean[3, "small"] + 0.1
assert max(mean[1, name] for name in ("small", "scaled", "pretrained")) - mean[1, "small"] < 0.05
figure = Figure(figsize=(6, 2.8))
axes = figure.subplots()
names = ["small", "pretrained", "pretrained x 4", "scaled", "no hidden layer"]
assert mean[3, "pretrained x 4"] > mean[3, "small"] + 0.1
for i, depth in enumerate((1, 3)):
    at = [j + 0.36 * i - 0.18 for j in range(5)]
    axes.bar(at, [mean[depth, n] for n in names], 0.34, label=f"{depth} hidden", alpha=0.5)
    for place, name in zip(at, names, strict=True):
        axes.plot([place] * len(scores[depth, name]), scores[depth, name], "k.", markersize=5)
axes.set(xticks=range(5), xticklabels=[n.replace(" ", "\n", 1) for n in names])
axes.set(ylabel="right on new digits", ylim=(0, 1))
figure.legend(loc="outside right upper")
with_alt(
    figure,
    "Bars of accuracy by start, for one and three hidden layers. With one layer all starts are "
    "alike. With three, small falls far behind and pretrained recovers most; pretrained x 4, "
    "scaled, and no hidden layer are alike.",
)

# %% [markdown]
# *Bars are means, dots the seeds. (The last start has no hidden layer; it is drawn twice for
# comparison, with fresh random numbers.)*
#
# So: with one hidden layer the start hardly matters. With three, the old start is lost, since
# sigmoids of small numbers all say one half, and hardly any gradient arrives. Pre-training fixes
# most of that after 15 epochs per RBM, and all of it after 60. (An earlier version of this page
# stopped at 15 epochs and put the start of the right size above pre-training; the longer run
# withdraws that.) A start of the right size does about as well, in no time and with no further
# images. That is one reason why RBMs are hardly used for it today.
#
# What lived on is the order of things: learn first from data without labels, then fine-tune on few
# labels. BERT and GPT do that, with another task in the place of the RBM. Our experiment is small
# (8 x 8 pixels, one network, one recipe), and says nothing of larger images, where unlabeled data
# may give more than a start: Erhan et al. (2010) found that pre-training also regularizes.

# %% [markdown]
# ## In practice
#
# - **Check the start before the method.** A network that stays at chance may have numbers of the
#   wrong size in it, and nothing else.
# - **Always run the model without hidden layers.** It takes a second, and sets the line.
# - **Report seeds.** Here single seeds of one start lie several points apart.
# - **Exact where it is possible.** On six pixels everything can be summed; errors of sampling code
#   show there, and nowhere else.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Which links does *restricted* forbid, and what is gained?
#
#    <details><summary>Answer</summary>
#
#    Those within a side. Given one side, the units of the other are independent: all are drawn at
#    once, and the sum over them is a product.
#
#    </details>
# 2. What are the two parts of the gradient of $\log p$?
#
#    <details><summary>Answer</summary>
#
#    The free energy of the data goes down, that of what the model itself would show goes up.
#
#    </details>
# 3. Where does CD-$k$ begin its chain, and what does it get wrong?
#
#    <details><summary>Answer</summary>
#
#    At the data. After $k$ rounds the chain still remembers them, by a share that each round
#    multiplies by the second eigenvalue.
#
#    </details>
# 4. Why can two free energies be compared, though neither probability is known?
#
#    <details><summary>Answer</summary>
#
#    $\log p(v) = -F(v) - \log Z$, and $Z$ is the same for both.
#
#    </details>
# 5. What did pre-training fix, and what fixes it today?
#
#    <details><summary>Answer</summary>
#
#    A start from which gradients did not arrive. Today: random numbers of the right size, ReLUs,
#    norms and residuals.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* Two pixels, one hidden unit, $W = (1, 1)$, biases 0. Compute $p(v)$ for the
#    four states.
#
#    <details><summary>Answer</summary>
#
#    $1 + e^0 = 2$, $1 + e = 3.718$ twice, $1 + e^2 = 8.389$; $Z = 17.825$. So 0.112, 0.209, 0.209
#    and 0.471: the unit ties the pixels together.
#
#    </details>
# 2. *(derive, 5 min)* All links are 0. What is $p(v)$, and what is $Z$?
#
#    <details><summary>Answer</summary>
#
#    The pixels are independent, $p(v_i = 1) = \mathrm{sigmoid}(b_i)$, and
#    $Z = \prod_i (1 + e^{b_i}) \prod_j (1 + e^{c_j})$.
#
#    </details>
# 3. *(measure, 15 min)* In the experiment, pre-train on the 100 labeled images alone, with 13
#    times as many epochs. How much of the gain is left, and what does that say of the other 1,197?
#
#    <details><summary>Answer</summary>
#
#    In our run (20 epochs, then 260; four seeds) three layers came to 86%, against 83% with all
#    images. In a rerun with 780 epochs against 60 they came to 88.7% and 89.5%. Four seeds are
#    few, but they show no gain from the unlabeled images: a start was what was missing.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
both = 1 + torch.tensor([0.0, 1, 1, 2]).exp()
assert torch.allclose(both / both.sum(), torch.tensor([0.112, 0.209, 0.209, 0.471]), atol=1e-3)
free = RBM(5, 3).double()
with torch.no_grad():
    free.W.zero_()
    free.b.normal_()
    free.c.normal_()
expected = F.softplus(free.b).sum() + F.softplus(free.c).sum()
assert abs(free.log_partition() - expected) < 1e-9
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# A restricted Boltzmann machine gives every state of its visible units a free energy, and learns
# by lowering it on the data and raising it on what the machine itself shows. Contrastive
# divergence stops that second part early, with an error that is known only for small machines.
# Stacked, trained long enough, and fine-tuned, such machines rescue a start that is too small; a
# start of the right size does about as well at no cost, and at 100 labels so does a model without
# hidden layers.
#
# ## Further reading
#
# - Hinton (2002), *Training Products of Experts by Minimizing Contrastive Divergence*: sections 3
#   and 5.
# - Hinton, Osindero, Teh (2006), *A Fast Learning Algorithm for Deep Belief Nets*: sections 3, 4.
# - Bengio, Lamblin, Popovici, Larochelle (2006), *Greedy Layer-Wise Training of Deep Networks*: the
#   same question, on larger data.
# - Glorot, Bengio (2010), *Understanding the Difficulty of Training Deep Feedforward Neural
#   Networks*: why the small start fails.

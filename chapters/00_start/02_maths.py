# %% [markdown]
# # Math for Transformers: dot product, softmax, cross-entropy, chain rule
#
# The next word is *dog*. A model expected *cat* with 67% and *dog* with 24%. How wrong is that, as
# one number, and which way should each number inside the model move?
#
# <small>Prerequisites: attention in ten minutes · 25 min · runs on a laptop · book 2, what it takes
# as known</small>

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
from deepdive_book.kit.diagrams import arrow, cells, svg, text
from deepdive_book.kit.plotting import show

words, rows = ["cat", "dog", "the"], []
steps = [("keys", "key", 60), ("dot product", "score", 215), ("softmax", "weight", 330)]
for label, role, x in [*steps, ("wanted", "output", 445), ("loss", "output", 560)]:
    rows.append(text(x, 20, label, 14, role))
numbers = zip([[0, 1], [1, 0], [-2, 1]], [2, 1, 0], [0.67, 0.24, 0.09], [0, 1, 0], strict=True)
for i, (key, score, share, wanted) in enumerate(numbers):
    y = 56 + 44 * i
    rows += [text(16, y, words[i], 14), cells(44, y, key, "key"), cells(200, y, [score], "score")]
    rows += [arrow(112, y, 192, y), arrow(236, y, 306, y), text(389, y, "against", 12)]
    rows += [cells(312, y, [share], "weight", 36), cells(430, y, [wanted], "output")]
    rows.append(arrow(466, y, 534, 100))
rows += [cells(540, 100, [1.41], "output", 40), text(150, 40, "q = (1, 2)", 12, "query")]
rows += [arrow(560, 206, 60, 206, "query"), text(310, 190, "chain rule", 14, "query")]
show(
    svg(600, 222, rows),
    "Three keys become scores 2, 1, 0 by a dot product with the query (1, 2), then shares 0.67, "
    "0.24, 0.09 by a softmax, then, against what was wanted (0, 1, 0), one loss, 1.41. The chain "
    "rule goes all the way back.",
)

# %% [markdown]
# *The numbers of the page before, now for three words. Left to right: from vectors to shares, and,
# compared with what was wanted, to one number that says how wrong. Right to left: what each vector
# should do about it.*
#
# A **vector** is a list of numbers, an arrow of the page before; it has as many **dimensions** as
# numbers. Four tools carry the pages after this one. The **dot product** says how well two vectors
# fit. The **softmax** turns scores into shares. **Cross-entropy** says how wrong the shares are.
# The **chain rule** says who is to blame. Each has a picture and a sum that you can do with a
# pencil.

# %% [markdown]
# ## 1. The dot product: how well do two vectors fit?
#
# Multiply place by place and add. For $a = (2, 1)$ and $b = (1, 2)$: $2\cdot1 + 1\cdot2 = 4$. The
# same number comes from lengths and an angle:
#
# $$a \cdot b = |a|\,|b|\cos\theta$$
#
# Both lengths are $\sqrt{2^2 + 1^2} = 2.236$, so $\cos\theta = 4 / 5 = 0.8$, an angle of 37
# degrees. Turn $b$ further away and the product falls: zero at a right angle, negative beyond.

# %%
import torch

a, b = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 2.0])
product = sum(x * y for x, y in zip(a, b, strict=True))
cosine = product / (a.norm() * b.norm())
assert torch.allclose(product, a @ b, atol=1e-6)
assert torch.allclose(cosine, torch.tensor(0.8), atol=1e-6)
print(f"dot product {product:.0f}, cosine {cosine:.1f}, {cosine.acos().rad2deg():.0f} degrees")

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7.2, 2.9))
left, right = figure.subplots(1, 2)
right.plot(5 * torch.arange(181).deg2rad().cos(), color="C0")
style = {"arrowstyle": "-|>", "lw": 1.8}
left.annotate("", a.tolist(), (0, 0), arrowprops={**style, "color": "C1"})
left.text(2.15, 1.05, "a", color="C1")
for degrees in (0, 37, 90, 143, 180):
    turn = torch.tensor(degrees + 26.565).deg2rad()
    x, y = (2.236 * turn.cos()).item(), (2.236 * turn.sin()).item()
    if degrees:
        left.annotate("", (x, y), (0, 0), arrowprops={**style, "color": "C0"})
        left.text(1.22 * x, 1.22 * y, f"{degrees}°", ha="center", va="center", color="C0")
    right.plot(degrees, 5 * torch.tensor(degrees).deg2rad().cos(), "o", color="C0")
left.set(xlim=(-3.1, 3.1), ylim=(-1.7, 3), aspect="equal", title="b turns away from a")
right.set(xlabel="angle in degrees", title="dot product of a and b", xticks=[0, 37, 90, 143, 180])
right.axhline(0, color="grey", lw=0.8)
with_alt(
    figure,
    "Left: one arrow a and four arrows b of the same length, 37, 90, 143 and 180 degrees from it. "
    "Right: their dot product falls from 5 through 4, 0 and -4 to -5.",
)

# %% [markdown]
# *The dot product answers "do they point the same way?": most at 0°, nothing at 90°, the opposite
# at 180°.*
#
# It also grows with the lengths. Make $b$ twice as long and the product doubles, at the same angle.
# So a long key gets a high score from every query on its side. Dividing by both lengths leaves the
# cosine.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Draw two vectors of 1,000 random numbers (mean 0). What is the angle between them?",
    ["anything from 0 to 180 degrees", "close to 90 degrees", "close to 0 degrees"],
    answer=1,
    explain="A thousand products with random signs nearly cancel. In many dimensions almost every "
    "direction is at a right angle to almost every other.",
    key="00_start/random-angle",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
figure, spread = Figure(figsize=(7.2, 2.4)), {}
for axes, d in zip(figure.subplots(1, 3, sharex=True), (2, 30, 1000), strict=True):
    one, other = torch.randn(4000, d), torch.randn(4000, d)
    cosines = (one * other).sum(-1) / (one.norm(dim=-1) * other.norm(dim=-1))
    spread[d] = cosines.std().item()
    axes.hist(cosines.acos().rad2deg().numpy(), bins=40, range=(0, 180))
    axes.set(title=f"{d} dimensions", yticks=[], xticks=[0, 45, 90, 135, 180], xlabel="angle")
with_alt(
    figure,
    "Three histograms of angles. In 2 dimensions all angles are about equally frequent; in 30 they "
    "crowd around 90 degrees; in 1,000 they stand in a thin spike at 90.",
)

# %%
for d, found in spread.items():
    assert 0.9 < found * d**0.5 < 1.1
    print(f"{d:>5} dimensions: cosines spread by {found:.3f}; 1 / sqrt(d) = {d**-0.5:.3f}")

# %% [markdown]
# *4,000 random pairs each. The spread of the cosine, how far from 0 it typically lies (its standard
# deviation), is $1/\sqrt d$ in $d$ dimensions.*
#
# That is why a model can keep fifty thousand words in a few hundred dimensions: there is room for
# far more directions *nearly* at right angles than dimensions. A dot product is the cosine times
# both lengths. A length is the root of a sum of $d$ squares. Here their mean is 1 (the **mean
# square**), so the length is about $\sqrt d$. The dot product spreads by
# $\sqrt d \cdot \sqrt d / \sqrt d = \sqrt d$; attention divides by that.

# %% [markdown]
# ## 2. The softmax: from scores to shares
#
# Scores may be any numbers. Shares must be positive and sum to one. Raise $e$ to each score $s_i$,
# then divide by the sum over all of them:
#
# $$p_i = \frac{e^{s_i}}{\sum_j e^{s_j}}$$
#
# For the scores 2, 1, 0 of the first picture: the powers are 7.389, 2.718 and 1, their sum is
# 11.107, and the shares 0.665, 0.245, 0.090. Two facts to keep:
#
# - Only **differences** count. Of two scores, the one higher by 1 has 2.718 times the share of the
#   other.
# - **Temperature** $\tau$ divides the scores first. Cold ($\tau$ small) sharpens, heat levels.
#
# Shares have other names on later pages: a *weight* in attention, a *probability* or *chance* of a
# word. All are numbers from 0 to 1 that sum to one.


# %%
def softmax(scores, temperature=1.0):
    powers = (scores / temperature).exp()
    return powers / powers.sum()


scores = torch.tensor([2.0, 1.0, 0.0])
assert torch.allclose(softmax(scores), scores.softmax(0), atol=1e-6)
assert torch.allclose(softmax(scores), softmax(scores + 5), atol=1e-6)
for temperature in (0.25, 1, 4):
    print(f"temperature {temperature:<4}:", *(f"{p:.3f}" for p in softmax(scores, temperature)))

# %% tags=["fold"]
figure = Figure(figsize=(7.2, 2.3))
panels = figure.subplots(1, 4, sharey=True)
for axes, temperature in zip(panels, (0.05, 0.25, 1, 4), strict=True):
    bars = axes.bar(words, softmax(scores, temperature).numpy(), color=["C0", "C1", "C2"])
    axes.bar_label(bars, fmt="%.2f", fontsize=8)
    axes.set(title=f"τ = {temperature}", ylim=(0, 1.15), yticks=[0, 0.5, 1])
with_alt(
    figure,
    "Bars of three shares at four temperatures. At 0.05 the first has everything; at 4 the three "
    "are nearly equal. Their order is always the same.",
)

# %% [markdown]
# *The same three scores, cold to hot. The winner stays the winner; how much it wins changes.*
#
# Toward $\tau = 0$ the softmax becomes "take the largest", from which its name comes: a soft
# maximum. Play the same steps with other numbers here; `deepdive sheet softmax` prints them on
# paper.

# %% tags=["fold"]
from deepdive_book.course.sheets import make, stepper

stepper(make("softmax", seed=3))

# %% [markdown]
# ### Common mistake: powers that are too large
#
# The formula as it stands works until a score is large. A training that goes wrong can reach scores
# of 1,000.

# %%
large = torch.tensor([1002.0, 1001.0, 1000.0])
print("as it stands:          ", softmax(large))
print("largest taken away:    ", softmax(large - large.max()))
assert softmax(large).isnan().all()
assert torch.allclose(softmax(large - large.max()), softmax(scores), atol=1e-6)

# %% [markdown]
# **Symptom:** `nan`, "not a number". $e^{1002}$ is larger than any float, so it becomes infinity,
# and infinity divided by infinity has no value. **Fix:** take the largest score away first. Only
# differences count, so the shares stay, and no power exceeds 1. Torch's `softmax` does it for you.

# %% [markdown]
# ## 3. Cross-entropy: how wrong are the shares?
#
# The right word was *dog*, with a share of 0.245. The loss is the model's **surprise** at it, the
# **cross-entropy**. The logarithm $\ln$ undoes the power: $\ln e^s = s$.
#
# $$\mathrm{loss} = -\ln p_\mathrm{right}$$
#
# Here $-\ln 0.245 = 1.41$. Had the word been *cat*: $-\ln 0.665 = 0.41$. A share of one costs
# nothing. A share of nearly zero costs without limit: being sure and wrong is the worst.

# %% tags=["fold"]
figure = Figure(figsize=(5.2, 2.8))
axes = figure.add_subplot()
shares = torch.linspace(0.005, 1, 300)
axes.plot(shares, -shares.log(), color="C3")
for share, name in ((0.665, "cat: 0.41"), (0.245, "dog: 1.41"), (0.09, "the: 2.41")):
    height = -torch.tensor(share).log().item()
    axes.plot(share, height, "o", color="C3")
    axes.text(share + 0.02, height + 0.12, name)
axes.set(xlabel="share of the right word", ylabel="loss", ylim=(0, 5.3), xlim=(0, 1.1))
with_alt(
    figure,
    "The curve of -ln p falls from above 5 near p = 0 to 0 at p = 1. Marked: cat 0.665 costs 0.41, "
    "dog 0.245 costs 1.41, the 0.090 costs 2.41.",
)

# %% [markdown]
# *A score lower by one costs one more, exactly: 0.41, 1.41, 2.41.*
#
# For a text, average the losses of its words. $e^{\mathrm{loss}}$ is the **perplexity**: the model
# is as unsure as if it chose among so many equally likely words. For *dog* it is
# $1 / 0.245 = 4.1$.


# %%
from deepdive.training.objectives import cross_entropy


def surprise(scores, right):
    return -softmax(scores)[right].log()


loss = surprise(scores, right=1)
library = cross_entropy(scores[None, None], torch.tensor([[1]]))  # one sentence, one word of three
assert torch.allclose(loss, library, atol=1e-6)
print(f"loss {loss:.3f}, perplexity {loss.exp():.2f}; the library's loss agrees to 1e-6")

# %% tags=["fold"]
predict(
    "A text of two words. The first gets a share of 1 (certain and right), the second a share of "
    "0.01. What is the perplexity of the text?",
    ["about 2, since the mean share is 0.505", "10", "100"],
    answer=1,
    explain="The losses are 0 and 4.6; their mean is 2.3 and e^2.3 is 10. Shares are multiplied, "
    "not added: 1 x 0.01 = 0.01, and its square root is 1 in 10.",
    key="00_start/perplexity",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
two = -torch.tensor([1.0, 0.01]).log()
assert torch.allclose(two.mean().exp(), torch.tensor(10.0), atol=1e-4)
print(f"losses {two[0].abs():.1f} and {two[1]:.1f}, mean {two.mean():.2f}")
print(f"perplexity {two.mean().exp():.1f}")

# %% [markdown]
# ## 4. The chain rule: who is to blame?
#
# A machine of two parts: $s = w x$, then $\mathrm{loss} = (s - y)^2$. With $w = 2$, $x = 3$ and
# $y = 4$, the number that was wanted, it gives $s = 6$ and a loss of 4. How does the loss answer to
# a nudge of $w$?
#
# Ask each part alone. $s$ moves 3 for each 1 that $w$ moves, with $x = 3$ held still. That rate is
# its **slope** by $w$, written $\partial s / \partial w$. The slope of a square $u^2$ is $2u$, so
# for a small step the loss moves $2 (s - y) = 4$ times as far as $s$. Along a chain the factors
# **multiply**: $4 \cdot 3 = 12$. The slopes by all numbers of a model together are the
# **gradient**.
#
# | part | its own slope | here |
# |---|---|---|
# | $s = w x$ | $\partial s / \partial w = x$ | 3 |
# | $\mathrm{loss} = (s - y)^2$ | $\partial\,\mathrm{loss} / \partial s = 2 (s - y)$ | 4 |
# | both | the product | 12 |
#
# Check it in two other ways: nudge $w$ a little and measure, and ask torch, which keeps the chain
# for you.

# %%
def machine(w, x=3.0, y=4.0):
    return (w * x - y) ** 2


nudge = 0.0001
measured = (machine(2 + nudge) - machine(2)) / nudge
w = torch.tensor(2.0, requires_grad=True)
machine(w).backward()  # walks the chain from the loss back to w
assert abs(measured - 12) < 0.01
assert w.grad == 12
print(f"by a nudge of {nudge}: {measured:.3f}; by torch: {w.grad:.0f}")

# %% [markdown]
# ### Softmax and cross-entropy together
#
# Now the chain that all language models share: scores, softmax, surprise. The slopes of its parts
# are long, their product is short. The logarithm of a quotient is a difference, so the loss is
# $\ln \sum_j e^{s_j} - s_\mathrm{right}$. The slope of $\ln u$ is $1/u$, that of $e^s$ is $e^s$.
# The first term is a chain of both: one over the sum, times the slope of the sum by $s_i$, which is
# $e^{s_i}$ alone. So its slope is $e^{s_i} / \sum_j e^{s_j} = p_i$. The second takes 1 away at the
# right word:
#
# $$\frac{\partial\,\mathrm{loss}}{\partial s_i} = p_i - y_i$$
#
# Here $y$ is 1 at the right word and 0 elsewhere. What the model said, minus what it should have
# said. For *cat*, *dog*, *the*:

# %%
right = torch.tensor([0.0, 1.0, 0.0])
by_hand = softmax(scores) - right
asked = scores.clone().requires_grad_()
surprise(asked, right=1).backward()
assert torch.allclose(asked.grad, by_hand, atol=1e-6)
print("p - y:     ", *(f"{g:+.3f}" for g in by_hand))
print("by torch:  ", *(f"{g:+.3f}" for g in asked.grad))

# %% tags=["fold"]
predict(
    "Move each score a little against its slope, then again, forty times. Which share falls first "
    "and most?",
    [
        "the largest wrong one, cat",
        "all wrong ones alike",
        "the smallest one, the: it is easiest to remove",
    ],
    answer=0,
    explain="A wrong word is pushed down by its own share. The more wrong belief, the harder the "
    "push; what is near zero already is left alone.",
    key="00_start/who-falls",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
moving, path = scores.clone(), []
for _ in range(41):
    shares = softmax(moving)
    path.append(shares)
    moving = moving - 0.2 * (shares - right)  # one step down the slope
path = torch.stack(path)  # (41, 3)
assert path[-1, 1] > 0.8
assert path[0, 0] - path[-1, 0] > path[0, 2] - path[-1, 2]
assert path[1:6, 2].max() > path[0, 2]
figure = Figure(figsize=(6.2, 2.7))
axes = figure.add_subplot()
for name, line, mark in zip(words, path.T, ("-", "--", ":"), strict=True):
    axes.plot(line, mark, label=name, lw=2)
axes.set(xlabel="step", ylabel="share", ylim=(0, 1))
axes.legend()
with_alt(figure, "Shares over 40 steps: dog rises above 0.8, cat falls far, the falls a little.")

# %% [markdown]
# *Forty steps of $s \leftarrow s - 0.2\,(p - y)$. The closer* dog *comes to one, the smaller the
# steps.*
#
# Look at *the*: it even gains a little at first, since what *cat* loses goes to both others.

# %% [markdown]
# ### And further back: how an error turns an arrow
#
# The scores were dot products, $s_i = q \cdot k_i$. The slope of $s_i$ by $k_i$ is $q$. One more
# link of the chain:
#
# $$\frac{\partial\,\mathrm{loss}}{\partial k_i} = (p_i - y_i)\, q$$
#
# A step against it moves the right key **toward** the query, by what its share lacks, and each
# wrong key away from it, by the share that it took. The arrows of the page before were turned by
# the chain rule too, from another loss: the distance of colors. Here the step is half a slope:

# %%
query = torch.tensor([1.0, 2.0])
keys = torch.tensor([[0.0, 1.0], [1.0, 0.0], [-2.0, 1.0]], requires_grad=True)
surprise(keys @ query, right=1).backward()
blame = by_hand[:, None] * query  # (3, 2)
assert torch.allclose(keys.grad, blame, atol=1e-6)
before, after = keys.detach(), keys.detach() - 0.5 * blame
moved = softmax(after @ query)
assert moved[1] > softmax(scores)[1] + 0.3
print("shares before:", *(f"{p:.2f}" for p in softmax(scores)))
print("after a step: ", *(f"{p:.2f}" for p in moved))

# %% tags=["fold"]
figure = Figure(figsize=(4.6, 3.6))
axes = figure.add_subplot()
axes.annotate("", query.tolist(), (0, 0), arrowprops={**style, "color": "C1"})
axes.text(1.1, 2.05, "query", color="C1")
for name, old, new in zip(words, before, after, strict=True):
    pale = {**style, "color": "C0", "alpha": 0.3}
    axes.annotate("", old.tolist(), (0, 0), arrowprops=pale)
    axes.annotate("", new.tolist(), (0, 0), arrowprops={**style, "color": "C0"})
    axes.plot(*zip(old.tolist(), new.tolist(), strict=True), ":", color="grey")
    x, y = (new * (1 + 0.3 / new.norm())).tolist()
    axes.text(x, y, name, color="C0", ha="center", va="center")
axes.set(xlim=(-2.9, 2.3), ylim=(-0.8, 2.6), aspect="equal")
with_alt(
    figure,
    "The query and three keys, pale before and full after one step. The key of dog has moved "
    "parallel to the query, upwards; the key of cat downwards; the key of the hardly.",
)

# %% [markdown]
# *Pale: before. Full: after one step. Every key moves along the query's direction,* dog *with it
# and* cat *against it.*

# %% [markdown]
# ## How it differs
#
# | tool | takes | gives | its slope |
# |---|---|---|---|
# | dot product $q \cdot k$ | two vectors | one score, any number | by $k$: $q$ |
# | softmax | scores | shares, positive, sum 1 | $p_i (1 - p_i)$ by its own score (exercise 4) |
# | cross-entropy | shares, the right word | one loss, 0 or more | with softmax: $p - y$ |
# | chain rule | the slopes of the parts | the slope of the whole | - |
#
# ## In practice
#
# - **Give the loss scores, not shares.** `cross_entropy` applies the softmax itself, with the
#   largest score taken away. With a softmax of your own before it there are two. Shares differ by 1
#   at most, so after the second no word has more than 2.718 times the share of another.
# - **Compare a loss with $\ln V$**, the loss of a model that knows nothing about $V$ words: for
#   10,000 words 9.2. A first loss far above it means that the first scores are too large.
# - **Check a slope by a nudge** whenever you wrote it by hand.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Two random vectors have 100 numbers each, with mean 0 and mean square 1. How large, typically,
#    are their cosine and their dot product?
#
#    <details><summary>Answer</summary>
#
#    The cosine about $1/\sqrt{100} = 0.1$, so nearly a right angle. The dot product about
#    $\sqrt{100} = 10$, which is why attention divides by $\sqrt d$.
#
#    </details>
# 2. Why may you take the largest score away before a softmax, and what does it save you from?
#
#    <details><summary>Answer</summary>
#
#    Only differences of scores count, so the shares stay. No power exceeds 1 then, and no `nan` can
#    come of infinity divided by infinity.
#
#    </details>
# 3. A model gives five words the same score. What is its perplexity, and does it matter which word
#    was right?
#
#    <details><summary>Answer</summary>
#
#    5, whichever was right: each has a share of 1/5, the loss is $-\ln(1/5)$, and its power is 5.
#
#    </details>
# 4. The right word has a share of 0.9. What is the slope of the loss by its score, and what does a
#    step do?
#
#    <details><summary>Answer</summary>
#
#    $0.9 - 1 = -0.1$. A step against it raises that score, but only a little: what is nearly right
#    is hardly moved.
#
#    </details>
# 5. The chain rule went back to the three keys, and each made one step. In which direction did each
#    move, and which moved least?
#
#    <details><summary>Answer</summary>
#
#    All moved along the query's direction: *dog*, the right one, with it, the others against it.
#    *the* moved least, for it had taken the smallest share.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* $q = (1, 2)$ and $k = (2, -1)$. What is the dot product, and what the
#    angle?
#
#    <details><summary>Answer</summary>
#
#    $1\cdot2 + 2\cdot(-1) = 0$: a right angle.
#
#    </details>
# 2. *(on paper, 4 min)* Scores 1, 1, 0, and the first is right. Shares, loss, and slopes?
#
#    <details><summary>Answer</summary>
#
#    The powers are 2.718, 2.718, 1, their sum 6.437; the shares 0.422, 0.422, 0.155. The loss is
#    0.862. The slopes are −0.578, 0.422, 0.155, and before rounding they sum to zero.
#
#    </details>
# 3. *(derive, 6 min)* Why do the slopes $p - y$ always sum to zero? What does that say about adding
#    the same number to all scores?
#
#    <details><summary>Answer</summary>
#
#    Both $p$ and $y$ sum to one. So the loss does not answer to a common shift of all scores: the
#    softmax cannot see it.
#
#    </details>
# 4. *(code, 8 min)* Show by a nudge that the slope of share $p_i$ by its own score is
#    $p_i (1 - p_i)$. At which share is it largest, and what does that mean for a word that the
#    model is sure of?
#
#    <details><summary>Answer</summary>
#
#    At one half, where it is 1/4. Near 0 and near 1 it vanishes: a softmax that is sure no longer
#    learns from itself. The logarithm in the loss undoes that. Inside attention there is none, so
#    it divides by $\sqrt d$ to stay out of there.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to 2 and 4, checked.
scores_2 = torch.tensor([1.0, 1.0, 0.0])
assert torch.allclose(softmax(scores_2), torch.tensor([0.422, 0.422, 0.155]), atol=1e-3)
assert torch.allclose(surprise(scores_2, 0), torch.tensor(0.862), atol=1e-3)
costs = -softmax(scores).log()  # what each of the three words would cost
assert torch.allclose(costs, torch.tensor([0.41, 1.41, 2.41]), atol=5e-3)
p = softmax(scores.double())
nudged = softmax(scores.double() + torch.tensor([1e-6, 0, 0], dtype=torch.float64))
assert torch.allclose((nudged - p)[0] / 1e-6, p[0] * (1 - p[0]), atol=1e-5)
print("answers 2 and 4 hold")

# %% [markdown]
# ## Summary
#
# The dot product scores how well two vectors point the same way, and the softmax turns scores into
# shares of which only the differences count. Cross-entropy is the surprise at the right word, and
# its slope by a score is what was said minus what should have been said. The chain rule carries
# that slope back through every product, to each number that had a part in it.
#
# ## Further reading
#
# - The next page, [PyTorch](03_torch.ipynb): the same four tools as tensors with shapes.
# - [Attention](../02_transformer/02_attention.ipynb), its section on the square root: what the
#   spread of a dot product does to a softmax.
# - Goodfellow, Bengio, Courville (2016), *Deep Learning*, chapters 3.13 (cross-entropy) and 6.5
#   (the chain rule on a graph); free online.

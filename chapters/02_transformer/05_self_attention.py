# %% [markdown] tags=["slide"]
# # Self-attention
#
# *Bank* has one embedding. In *the river bank* it should mean a shore, in *the bank loan* a
# business. Which words change it, and by how much?
#
# <small>Prerequisites: [attention](02_attention.ipynb), the product of two matrices · 30 min · runs
# on a laptop · book 2.4.2.1</small>

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
from deepdive_book.kit.diagrams import links, svg
from deepdive_book.kit.plotting import show

first = links(*[["the", "river", "bank"]] * 2, [[0] * 3, [0] * 3, [0.11, 0.79, 0.11]], chosen=2)
second = links(*[["the", "bank", "loan"]] * 2, [[0] * 3, [0.11, 0.11, 0.79], [0] * 3], chosen=1)
show(
    svg(520, 168, [first, f'<g transform="translate(270,0)">{second}</g>']),
    "Two phrases, each written twice, above and below. From the lower bank a thick link goes to "
    "river in the river bank, and to loan in the bank loan; thin links go to the other words.",
)

# %% [markdown]
# *The same sentence stands above and below. Below is the word that asks, above are the words that
# answer. The weights are those that you compute on this page.*
#
# On the page on attention, a query came from one sequence, and the keys and values from another. In
# **self-attention** all three come from the same sequence. Every word asks every word, itself
# included, and takes over a weighted average of what they hand over. Its new vector depends on the
# sentence that it stands in.
#
# You compute one by hand, as products of small matrices. Then: does self-attention know the order
# of the words? At the end, for a second reading: what did statistics call it sixty years ago?

# %% [markdown]
# ## The idea: one word, three roles
#
# A word of the sentence is one row $x$ of a matrix $X$. Three matrices, learned once and used for
# every word, turn it into three vectors:
#
# | role | made by | in the phrase *the river bank* |
# |---|---|---|
# | query: what is wanted | $x W_q$ | *bank* is vague, and asks for a word with a clear sense |
# | key: what is offered | $x W_k$ | *river* offers: water |
# | value: what is handed over | $x W_v$ | *river* hands over how much water it is |
#
# After that it is the attention that you know: score, weigh, mix.

# %% [markdown]
# ## By hand: three words, three matrices
#
# The four numbers of an embedding get meanings that we choose: water, money, vague, article.
# *Bank* has a bit of water, a bit of money, and is vague. The four numbers of a query or a key
# mean: water, money, article, noun. The two of a value: water, money. (A trained model chooses its
# own numbers, and they rarely have names.)

# %% tags=["nbval-check-output"]
import torch

words = ["the", "river", "bank"]
X = torch.tensor([[0.0, 0, 0, 1], [2, 0, 0, 0], [1, 1, 1, 0]])
W_q = torch.tensor([[0.0, 0, 1, 0], [0, 0, 1, 0], [2, 2, -2, 0], [0, 0, 0, 2]])
W_k = torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 1], [-1, -1, 0, 0], [0, 0, 2, 0]])
W_v = torch.tensor([[1.0, 0], [0, 1], [0, 0], [0, 0]])  # hands over water and money

Q, K, V = X @ W_q, X @ W_k, X @ W_v
Q, K, V

# %% tags=["fold"]
from deepdive_book.kit.diagrams.matrices import Matrix, falk

roles = {"Q": "query", "K": "key", "V": "value"}
made = zip(roles, (W_q, W_k, W_v), (Q, K, V), strict=True)
pairs = [
    (Matrix(f"W_{n.lower()}", roles[n], W.tolist()), Matrix(n, roles[n], P.tolist()))
    for n, W, P in made
]
show(
    falk(Matrix("X", "", X.tolist()), *zip(*pairs, strict=True), words),
    "X, 3 by 4, stands left; W_q, W_k and W_v stand above. Below them Q, K and V: bank has the "
    "query 2, 2, 0, 0, the key 0, 0, 0, 2 and the value 1, 1.",
)

# %% [markdown]
# *Each number of a product stands where its row of X and its column of W meet.*
#
# Follow *bank* with a pencil. Its row of $X$ is $(1, 1, 1, 0)$. The first column of $W_q$ is
# $(0, 0, 2, 0)$, so the first number of its query is $0 + 0 + 2 + 0 = 2$. The third column is
# $(1, 1, -2, 0)$: $1 + 1 - 2 + 0 = 0$. The whole query is $(2, 2, 0, 0)$: water or money, either
# is welcome.
#
# The third row of $W_k$, $(-1, -1, 0, 0)$, belongs to *vague*: what is vague offers less. *Bank*
# has $1 - 1 = 0$ to offer in water and in money, and only says that it is a noun: $(0, 0, 0, 2)$.
# *River* offers $(2, 0, 0, 2)$: water, and a noun.
#
# Next the scores. Query times key, for all pairs at once, divided by $\sqrt 4 = 2$ (a query has
# four numbers):

# %%
scores = Q @ K.T / 4**0.5  # row: who asks; column: who is asked
weights = scores.softmax(dim=-1)
Z = weights @ V
for name, table in (("scores", scores), ("weights", weights), ("Z", Z)):
    print(name, *(" ".join(f"{v:6.3f}" for v in row) for row in table), sep="\n")

# %% By hand: the river bank tags=["slide", "fold"]
step = falk(
    Matrix("Q", "query", Q.tolist()),
    [Matrix("Kᵀ", "key", K.T.tolist())],
    [Matrix("Q Kᵀ", "score", (Q @ K.T).tolist())],
    words,
)
mix = falk(
    Matrix("weights", "weight", weights.tolist()),
    [Matrix("V", "value", V.tolist())],
    [Matrix("Z", "output", Z.tolist())],
    words,
    size=34,
)
show(
    svg(600, 264, [step, f'<g transform="translate(320,0)">{mix}</g>']),
    "Left: Q times K transposed has the rows 0 4 4; 4 0 0; 0 4 0. Right: the weights "
    "times V give Z; the row of bank is 1.68 water and 0.11 money.",
)

# %% [markdown]
# *Left:* bank *asks* river: $2\cdot2 + 2\cdot0 + 0\cdot0 + 0\cdot2 = 4$; *halved, the score is 2.
# Right: each row of the weights sums to one, and mixes the rows of V.*
#
# The row of *bank* has the scores 0, 2, 0. Their powers are $1, 7.389, 1$ with the sum 9.389, and
# $7.389 / 9.389 = 0.787$. The new vector of *bank* is
# $0.107\,(0, 0) + 0.787\,(2, 0) + 0.107\,(1, 1) = (1.68, 0.11)$: mostly water.
#
# The others ask too. *The* wants a noun and finds two, *river* and *bank*, half each. *River* looks
# for its article.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The same three matrices, the same embedding of bank (1, 1, 1, 0), another neighbour: loan "
    "(0, 2, 0, 0). What is the new vector of bank in the bank loan: (water, money)?",
    ["(1.68, 0.11) again: its embedding is the same", "(0.11, 1.68)", "(0.89, 0.89)"],
    answer=1,
    explain="The query is the same and asks for water or money. Now it is loan that answers. "
    "Nothing in the matrices changed; the sentence did.",
    key="02_transformer/bank-loan",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
loan = torch.tensor([[0.0, 0, 0, 1], [1, 1, 1, 0], [0, 2, 0, 0]])  # the bank loan
again = ((loan @ W_q) @ (loan @ W_k).T / 2).softmax(-1) @ (loan @ W_v)
assert torch.allclose(again[1], Z[2].flip(0))
print("bank in the river bank:", [f"{v:.2f}" for v in Z[2]])
print("bank in the bank loan: ", [f"{v:.2f}" for v in again[1]])

# %% [markdown]
# So the neighbor decides. *River* or *loan* gets the weight 0.787, *bank* itself and *the* get
# 0.107 each.

# %% [markdown]
# ## In code, with shapes
#
# With $T$ words, $d_\text{model}$ numbers a word, and $d$ numbers a query:
#
# $$Z = \mathrm{softmax}\left(\frac{(X W_q)(X W_k)^\top}{\sqrt d}\right) X W_v$$
#
# | | shape | by hand |
# |---|---|---|
# | $X$ | T × d_model | 3 × 4 |
# | $W_q$, $W_k$ | d_model × d | 4 × 4 |
# | $W_v$ | d_model × d_v | 4 × 2 |
# | $Q$, $K$ | T × d | 3 × 4 |
# | $V$, $Z$ | T × d_v | 3 × 2 |
# | scores, weights | T × T | 3 × 3 |
#
# The three matrices know nothing of $T$: the same ones serve a sentence of three words and of
# three hundred. Only the scores grow with the sentence, and they grow as $T^2$
# ([2.15](15_complexity.ipynb) shows when that matters).


# %%
def self_attention(x, W_q, W_k, W_v):
    q, k, v = x @ W_q, x @ W_k, x @ W_v  # (T, d), (T, d), (T, d_v)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (T, T)
    return scores.softmax(dim=-1) @ v  # (T, d_v)


assert torch.allclose(self_attention(X, W_q, W_k, W_v), Z)
self_attention(X, W_q, W_k, W_v)

# %% [markdown]
# In the library, `MultiHeadAttention(d_model, 1)` (1 head; more on the [next
# page](06_multi_head.ipynb)) holds the three matrices ($W_k$ and $W_v$ side by side, as `kv`), and
# one more after the mixing, `out`. With that one set to the identity, and the same $W$ in both, the
# numbers must agree:

# %%
from deepdive.core import MultiHeadAttention

x, (A, B, C) = torch.randn(2, 5, 16), torch.randn(3, 16, 16) / 4
library = MultiHeadAttention(16, 1, bias=False)
with torch.no_grad():
    library.q.weight.copy_(A.T)  # torch stores a matrix that multiplies from the other side
    library.kv.weight.copy_(torch.cat([B, C], dim=1).T)
    library.out.weight.copy_(torch.eye(16))
    difference = (library(x) - self_attention(x, A, B, C)).abs().max()
assert difference < 1e-6
f"largest difference below 1e-6: {bool(difference < 1e-6)}"

# %% [markdown]
# ### Common mistake: leaving the matrices out
#
# Explanations often begin with $\mathrm{softmax}(X X^\top) X$: each word asks with its own vector.
# Try it on random sentences whose rows have length 1, and count who looks at whom.

# %% tags=["nbval-check-output"]
rows = torch.nn.functional.normalize(torch.randn(500, 10, 16), dim=-1)  # 500 sentences, T = 10


def looks_at_itself(q, k):
    return ((q @ k.transpose(1, 2)).argmax(-1) == torch.arange(10)).float().mean().item()


bare = looks_at_itself(rows, rows)
drawn = [(rows @ torch.randn(16, 16), rows @ torch.randn(16, 16)) for _ in range(50)]
projected = sum(looks_at_itself(q, k) for q, k in drawn) / 50
assert bare == 1.0
assert projected < 0.3
print(f"without matrices {bare:.0%} of the words look first at themselves")
print(f"with a random W_q and W_k {projected:.0%}, on average over 50 draws; by chance 10%")

# %% [markdown]
# **Symptom:** every word looks at itself, since no unit vector fits another better
# than itself. And the scores are symmetric: *the* gives *river* the score that *river* gives *the*.
# **Fix:** $W_q$ and $W_k$. They let *bank* want what it does not have, and they make looking
# one-sided. By hand, *the* gave *bank* a score of 2, and *bank* gave *the* 0.

# %% [markdown]
# ## Does it know the order?
#
# Shuffle the words. Nothing in the formula says which row stands where: every row is scored
# against every row. So the output should be the old one, shuffled in the same way.

# %%
shuffle = torch.tensor([2, 0, 1])  # bank the river
assert torch.allclose(self_attention(X[shuffle], W_q, W_k, W_v), Z[shuffle])
longer, order = torch.randn(300, 16), torch.randperm(300)
moved = self_attention(longer[order], A, B, C) - self_attention(longer, A, B, C)[order]
assert moved.abs().max() < 1e-5
print("shuffled input, shuffled output, for 3 words and for 300")

# %% [markdown]
# This is **permutation equivariance**. For a set it is what we want. For language it is fatal:
# *dog bites man* and *man bites dog* give each word the same vector. (This holds without a mask.
# With a causal mask each word sees another number of words, so order leaks in, and decoders can
# work without positions: Haviv et al. 2022.)
#
# How fatal, on a task? A reader sees five different digits in any order. In one task it names the
# *largest*, in the other the *first*. The reader is one self-attention, an average over the
# five rows, and a linear layer; it sees either the bare embeddings, or embeddings to which a code
# of the position was added. (The code has [a page of its own](08_positions.ipynb). Here it only
# needs to be different at each place.)

# %%
from torch import nn

from deepdive.core.embeddings import TokenEmbedding


class Reader(nn.Module):
    def __init__(self, position=None):
        super().__init__()
        self.embedding = TokenEmbedding(10, 32, scale=32**0.5)  # numbers near 1: see 2.11
        self.position = position
        self.attention = MultiHeadAttention(32, 1)
        self.out = nn.Linear(32, 10)

    def forward(self, digits):  # (B, 5)
        x = self.embedding(digits)  # (B, 5, 32)
        if self.position is not None:
            x = self.position.embed(x, torch.arange(5))
        return self.out(self.attention(x).mean(1))  # (B, 10)


# %%
from itertools import permutations

every = torch.tensor(list(permutations(range(10), 5)))
every = every[torch.randperm(len(every))]  # all 30,240, generated
test, batches = every[:1000], every[1000:].split(64)
tasks = {"largest": lambda digits: digits.amax(-1), "first": lambda digits: digits[:, 0]}
{name: (test[0].tolist(), task(test[:1]).item()) for name, task in tasks.items()}

# %% tags=["fold"]
predict(
    "The reader without positions is trained to name the first of five different digits. How "
    "often is it right on sequences it has not seen?",
    ["about 10%: one digit in ten", "about 20%: one in five", "about 100%"],
    answer=1,
    explain="It sees which five digits are there, so it need not guess among ten. Which of the "
    "five came first it cannot see, so one in five is the best there is.",
    key="02_transformer/first-digit",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Does it know the order? Two tasks on five digits tags=["slide", "surprise"]
from torch.nn.functional import cross_entropy

from deepdive.positions import SinusoidalPosition
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.profile import pick

steps = pick(ci=200, laptop=300, gpu=300)
readers, accuracy = {}, {}
for name, answer in tasks.items():
    for placed in (False, True):
        reader = Reader(SinusoidalPosition(32) if placed else None)

        def loss(reader, digits, answer=answer):
            return cross_entropy(reader(digits), answer(digits))

        optimizer, schedule = adam(reader), cosine(1e-2, warmup=20, total=steps)
        fit(reader, batches, loss, steps=steps, optimizer=optimizer, schedule=schedule)
        with torch.no_grad():
            right = (reader(test).argmax(-1) == answer(test)).float().mean().item()
        readers[name, placed], accuracy[name, placed] = reader, right
        print(f"{name:>7}, {'with' if placed else 'without'} positions: {right:.1%} right")

# %% [markdown] tags=["slide"]
# The largest digit does not depend on the order, and needs no positions. The first
# one does: without positions the reader can only guess one of five, 20%. No amount of training
# helps a reader that cannot tell the orders apart. Look at what two of the four readers learned:

# %% tags=["fold"]
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heads

digits = torch.tensor([[3, 1, 9, 4, 5]])
maps = []
for key in (("largest", False), ("first", True)):
    with record(readers[key], "attention.mechanism.weights") as seen, torch.no_grad():
        readers[key](digits)
    maps.append(seen["attention.mechanism.weights"][0][0, 0])
names = [str(d) for d in digits[0].tolist()]
titles = ["largest, no positions", "first, with positions"]
show(heads(torch.stack(maps), names, names, names=titles))

# %% [markdown]
# *Queries down, keys across. Left: all rows look at the 9, wherever it stands. Right: the rows find
# the first place through the code that was added there.*
#
# Count over all test sequences which digit draws the most weight:

# %%
for (name, placed), goal in {
    ("largest", False): test.argmax(-1),
    ("first", True): torch.zeros(len(test)),
}.items():
    reader = readers[name, placed]
    with record(reader, "attention.mechanism.weights") as seen, torch.no_grad():
        reader(test)
    drawn = seen["attention.mechanism.weights"][0][:, 0].mean(1)  # (1000, 5), over the rows
    share = (drawn.argmax(-1) == goal).float().mean().item()
    assert share > 0.9
    print(f"the {name} digit draws the most weight in {share:.1%} of {len(test):,} sequences")
assert accuracy["largest", False] > 0.95
assert accuracy["first", True] > 0.95
assert 0.1 < accuracy["first", False] < 0.3

# %% [markdown]
# ## How it differs
#
# | | attention to a source | self-attention | recurrent layer |
# |---|---|---|---|
# | queries from | the target | the sequence itself | none |
# | keys and values from | the source | the sequence itself | none |
# | learned | W_q, W_k, W_v | W_q, W_k, W_v | two matrices |
# | knows the order | no | no, without positions or a causal mask | yes |
# | steps from any word to any other | 1 | 1 | up to T |
# | all rows at once | yes, in training | yes | no, one after another |
# | numbers kept for T words | T · S scores | T · T scores | one state |
#
# The KAIST slides ([the lectures](00_opening.ipynb)) give a layer of self-attention $O(T^2 d)$
# operations and 1 step, a recurrent one $O(T d^2)$ and $O(T)$. [2.15](15_complexity.ipynb) counts.

# %% [markdown]
# ## In practice
#
# - **Print the shapes.** In self-attention $T = S$, so a softmax over the wrong axis, or $K Q^\top$
#   for $Q K^\top$, raises no error. Test with rows that must sum to one.
# - **Add positions** unless the input is a set or a causal mask already breaks the symmetry, and
#   test it: shuffle the input, and the output must change.
# - **Keep one matrix for all three** when you write it for speed: one product $X\,[W_q W_k W_v]$,
#   then a split. Keep them apart while you read.
# - **Ask what a row may see.** If the target of a row stands in the input, mask it.

# %% [markdown]
# ## An older name: kernel regression
#
# No later page needs this section: on a first reading go on to the *Five questions*.
#
# In 1964 Nadaraya and Watson, independently, estimated a curve from noisy points $(x_i, y_i)$.
# At a new place $q$, average the $y_i$; let near points count more than far ones:
#
# $$\hat y(q) = \frac{\sum_i \kappa(q, x_i)\, y_i}{\sum_j \kappa(q, x_j)}
# \qquad \kappa(q, x) = e^{-(q - x)^2 / 2\sigma^2}$$
#
# The kernel $\kappa$ is $e$ to the power of a score; dividing by the sum is the softmax. So this is
# attention: the query is the place $q$, the keys are the $x_i$, the values the $y_i$. The
# **width** $\sigma$ says how far "near" reaches. Only the score is not a dot product. Or is it?
# Multiply out:
#
# $$-\frac{(q - x)^2}{2\sigma^2} = \frac{q\,x - x^2/2}{\sigma^2} - \frac{q^2}{2\sigma^2}$$
#
# The last term is the same for all keys, so the softmax cancels it. What is left is the dot product
# of a query $(q, -1)/\sigma^2$ with a key $(x, x^2/2)$.

# %%
from deepdive.core import SoftmaxAttention


def nadaraya_watson(q, x, y, width):
    kernel = torch.exp(-((q[:, None] - x) ** 2) / (2 * width**2))  # (T, S)
    return (kernel @ y) / kernel.sum(-1)


q, x, y = (t.double() for t in (torch.linspace(0, 5, 7), 5 * torch.rand(20), torch.randn(20)))
asks = torch.stack([q, -torch.ones(7)], dim=-1) / 0.4**2  # (7, 2)
offers = torch.stack([x, x**2 / 2], dim=-1)  # (20, 2)
rows = [t[None, None] for t in (asks, offers, y[:, None])]  # (1, 1, T or S, ...)
as_attention = SoftmaxAttention()(*rows, scale=1.0)
difference = (as_attention.flatten() - nadaraya_watson(q, x, y, 0.4)).abs().max()
assert difference < 1e-6
f"the same estimate to 1e-6: {bool(difference < 1e-6)}"

# %% [markdown]
# In the library a mechanism is three steps, and this one changes only the `score`. So
# a kernel smoother is a few lines, and masks and `record` come with it. One number a coordinate is
# learned: $1/\sigma$, kept as its logarithm. It multiplies queries and keys alike. So $W_q = W_k$,
# and the matrix is diagonal: each number of an input is scaled on its own.


# %%
class KernelAttention(SoftmaxAttention):
    def score(self, q, k, scale):  # -|q - k|^2 / 2, (B, H, T, S)
        return -(q[..., :, None, :] - k[..., None, :, :]).square().sum(-1) / 2


class Smoother(nn.Module):
    def __init__(self, width, inputs=1):
        super().__init__()
        self.log_inverse = nn.Parameter(-torch.tensor([float(width)] * inputs).log())
        self.mechanism = KernelAttention()

    def forward(self, q, x, y, mask=None):  # (T, inputs), (S, inputs), (S,)
        q, k = (rows[None, None] * self.log_inverse.exp() for rows in (q, x))
        return self.mechanism(q, k, y[None, None, :, None], mask).flatten()  # (T,)


# %%
def truth(x):
    return 2 * x.sin() + x**0.8


torch.manual_seed(1)
x = 5 * torch.rand(50).sort().values
y = truth(x) + 0.5 * torch.randn(50)  # generated: a curve with noise
grid = torch.linspace(0, 5, 200)


def distance(smoother):  # from the true curve, without noise
    with torch.no_grad():
        return (smoother(grid[:, None], x[:, None], y) - truth(grid)).square().mean().item()


def width_of(smoother):
    return smoother.log_inverse.neg().exp().item()


f"with width 1, the mean squared distance from the curve is {distance(Smoother(1.0)):.2f}"

# %% [markdown]
# How wide should the kernel be? Learn it: let each point be predicted from the points, and lower
# the squared error by gradient. The points ask the points: this is self-attention.

# %% tags=["fold"]
predict(
    "Each of the 50 points is predicted by the smoother from all 50 points, and the width is "
    "trained to make that error small. Which width is learned?",
    [
        "close to 0: each point is predicted from itself",
        "about the width of the bumps of the curve",
        "very large: the mean of all points",
    ],
    answer=0,
    explain="A point is the best predictor of itself, noise included. The error goes to zero, "
    "and nothing is learned about the curve.",
    key="02_transformer/kernel-width",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from deepdive.training.optim import constant

others = ~torch.eye(50, dtype=torch.bool)  # True = may attend: everybody but oneself


def learn_width(mask):
    smoother = Smoother(width=1.0)

    def loss(smoother, batch):
        x, y = batch
        return (smoother(x, x, y, mask) - y).square().mean()

    optimizer, schedule = adam(smoother), constant(0.05)
    points = [(x[:, None], y)]
    run = fit(smoother, points, loss, steps=200, optimizer=optimizer, schedule=schedule)
    print(f"width {width_of(smoother):.3f}, trained error {run.losses[-1]:.3f}, ", end="")
    print(f"distance from the true curve {distance(smoother):.3f}")
    return smoother


alone, left_out = learn_width(None), learn_width(others)

# %% [markdown]
# ### Common mistake: letting a point predict itself
#
# The first line printed is the trap. **Symptom:** a training error near zero and a curve that runs
# through every noisy point. **Fix:** a mask that takes the diagonal away, the second line. Each
# point is then predicted from the others only. (A language model has the same problem and the same
# kind of fix: the page on [masks](07_masks.ipynb).)
#
# Compare with widths that nobody learned:

# %%
smoothers = {
    "fixed, σ = 0.02": Smoother(0.02),
    "fixed, σ = 1": Smoother(1.0),
    f"learned, σ = {width_of(left_out):.2f}": left_out,
}
errors = {name: distance(smoother) for name, smoother in smoothers.items()}
narrow, wide, learned = errors.values()
assert learned < 0.75 * min(narrow, wide)
for name, error in errors.items():
    print(f"{name:>18}: mean squared distance from the true curve {error:.3f}")
best, width = min((distance(Smoother(n / 20)), n / 20) for n in range(1, 21))
print(f"best of 20 widths, chosen with the true curve in sight: σ = {width:.2f}, {best:.3f}")

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(8.4, 4.6))
axes = figure.subplots(2, 3, sharex="row", sharey="row", height_ratios=[1.25, 1])
for (name, smoother), (top, bottom) in zip(smoothers.items(), axes.T, strict=True):
    with record(smoother, "mechanism.weights") as seen, torch.no_grad():
        estimate = smoother(grid[:, None], x[:, None], y)
    top.plot(x, y, ".", color="0.6", label="points")
    top.plot(grid, truth(grid), "--", color="C2", label="true curve")
    top.plot(grid, estimate, color="C1", label="estimate")
    top.set(title=name, xlabel="x")
    image = bottom.imshow(
        seen["mechanism.weights"][0][0, 0], aspect="auto", vmin=0, vmax=0.3, cmap="Blues"
    )
    bottom.set(xlabel="key: point, from left to right", yticks=[0, 199], yticklabels=["0", "5"])
axes[0, 0].legend(fontsize="small")
axes[1, 0].set_ylabel("query: place q")
figure.colorbar(image, ax=axes[1].tolist(), shrink=0.8)
with_alt(
    figure,
    "Three smoothers. The narrow one runs through every point, its weights a thin broken line; the "
    "wide one is too flat, its weights a haze; the learned one follows the curve with small bumps.",
)

# %% [markdown]
# *Above: the estimates. Below: their attention weights, one row for each place from left (top) to
# right (bottom). The coloured band is as wide as the kernel; each row sums to one.*
#
# On these fifty points the learned width comes nearer to the curve than both fixed ones. The best
# of 20 widths was chosen with the true curve in sight, and shows what is left to gain: fifty noisy
# points say only so much about the width.
#
# ### What a learned projection buys
#
# In one dimension there is one number to learn. Now give the smoother four inputs, of which only
# the first has to do with $y$. A fixed kernel treats all four alike: "near" must mean near in all
# of them, and in four dimensions few points are near. Learned numbers, one an input, can do
# better.

# %%
inputs, asked = 4 * torch.rand(200, 4) - 2, 4 * torch.rand(500, 4) - 2
target = (2 * inputs[:, 0]).sin() + 0.3 * torch.randn(200)  # only the first input counts
not_oneself = ~torch.eye(200, dtype=torch.bool)


def loss(smoother, batch):
    return (smoother(batch[0], *batch, not_oneself) - batch[1]).square().mean()


def far(smoother):
    with torch.no_grad():
        return (smoother(asked, inputs, target) - (2 * asked[:, 0]).sin()).square().mean().item()


best = min(far(Smoother(width, inputs=4)) for width in (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 2.0))
free = Smoother(1.0, inputs=4)
fit(free, [(inputs, target)], loss, steps=200, optimizer=adam(free), schedule=constant(0.05))
inverse = free.log_inverse.exp().tolist()
assert far(free) < best / 4
assert inverse[0] > 4 * max(inverse[1:])
print(f"one width for all inputs, the best of eight: {best:.3f}")
print(f"four widths, learned: {far(free):.3f};", end=" ")
print("1/σ =", ", ".join(f"{v:.2f}" for v in inverse))

# %% [markdown]
# The fixed kernel was even allowed to choose its width on the test points, and still came out far
# behind on them. The
# learned one has found which input matters: for the other three $1/\sigma$ is small, so a
# distance there counts little.
#
# Self-attention goes three steps further. $W_q$ and $W_k$ are whole matrices, not diagonals. They
# differ, so looking need not be mutual. And the kernel $e^{q \cdot k / \sqrt d}$ is no longer a
# distance: a long key is near to every query that points its way.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. The attention page took the query from one sequence, the keys and values from another. Where
#    do they come from in self-attention, and whom does a word ask?
#
#    <details><summary>Answer</summary>
#
#    All three come from the same rows $X$, by three matrices. Every word asks every word, itself
#    included.
#
#    </details>
# 2. A sentence has $T = 10$ words, with $d_\text{model} = 16$ and $d = 8$. What are the shapes of
#    $W_q$ and of the scores? Which grows when $T$ doubles?
#
#    <details><summary>Answer</summary>
#
#    $W_q$ is 16 × 8 and the scores are 10 × 10. With $T = 20$ the scores are 20 × 20, four times
#    as many numbers; the matrices stay as they are.
#
#    </details>
# 3. Without $W_q$ and $W_k$, where did the words of the random sentences look first, and why?
#
#    <details><summary>Answer</summary>
#
#    All at themselves: no vector of length 1 has a larger dot product with another than with
#    itself. With random matrices it was about one word in ten, as by chance.
#
#    </details>
# 4. Without positions the reader was right nearly always in one task and by guessing in the other.
#    Which tasks, and why?
#
#    <details><summary>Answer</summary>
#
#    The largest digit and the first digit. A shuffled input gives the same rows shuffled, so their
#    average is the same for every order: the largest is the same in each, and of the first it can
#    only guess one of five.
#
#    </details>
# 5. (The last section.) Read kernel regression as attention: what are the query, the keys and the
#    values? What did learning four widths find out?
#
#    <details><summary>Answer</summary>
#
#    The query is the new place $q$, the keys are the $x_i$, the values the $y_i$. Three of the
#    four $1/\sigma$ became small, so only a distance in the first input counts: learned scores
#    choose what near means.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* *The river loan*: replace *bank* by *loan*, $(0, 2, 0, 0)$, in the worked
#    numbers. What are the query, the key and the new vector of *loan*?
#
#    <details><summary>Answer</summary>
#
#    The query is (0, 0, 2, 0): it looks for its article. The key is (0, 2, 0, 2). Its scores are
#    2, 0, 0, its weights 0.787, 0.107, 0.107. The new vector is 0.107 (2, 0) + 0.107 (0, 2) =
#    (0.21, 0.21).
#
#    </details>
# 2. *(find the bug, 5 min)* A colleague writes `scores.softmax(dim=-2) @ v`. No error, and the
#    shapes are right. Name a test that is red with this code, and one that is green all the same.
#
#    <details><summary>Answer</summary>
#
#    Red: each row of the weights sums to one. Green: shuffle the rows, and the output is shuffled;
#    the wrong code is equivariant too.
#
#    </details>
# 3. *(derive, 8 min)* Show that the scores depend on $W_q$ and $W_k$ only through $W_q W_k^\top$.
#    How many numbers is that for $d_\text{model} = 4$ and $d = 1$, and how many of them are free?
#
#    <details><summary>Answer</summary>
#
#    $X W_q (X W_k)^\top = X (W_q W_k^\top) X^\top$. That is a matrix of 16 numbers of rank 1: a
#    column times a row, 8 numbers, one of them a common factor that can move between the two. So 7
#    are free. The next page comes back to this rank.
#
#    </details>
# 4. *(predict, 3 min)* The width $\sigma$ of the kernel goes to infinity. What does the estimate
#    approach? And when it goes to zero, at a place between two points?
#
#    <details><summary>Answer</summary>
#
#    To infinity: all scores are 0, all weights equal, the mean of all $y_i$. To zero: all weight on
#    the nearest point, a staircase.
#
#    </details>
# 5. *(code, 12 min)* Train the reader on a third task: the *last but one* digit. Which positions
#    does it need? Then train it to say whether the digits rise from left to right. Is one layer
#    enough?
#
#    <details><summary>Answer</summary>
#
#    *Last but one:* the code of the fourth place must differ from the other four. Nothing else
#    about the order is needed. (With sequences of several lengths it would need the distance from
#    the end.)
#
#    *Rising:* 252 of the 30,240 sequences rise, 1 in 120. Always saying no is right in 99.2%, so
#    train on as many that rise as that do not.
#
#    One layer can do it; here is one by hand. Give a pair the score $L$ if the digit asked is the
#    larger one, and another $L$ if it stands before. Give a digit with itself $1.5 L$. With a
#    large $L$ each row looks at itself, unless a larger digit stands before it: that one has
#    $2 L$. Let the value be the place, 1 to 5. If all rise, the average over the rows is 3; if
#    not, it is 2.8 or less. A linear layer can tell the two apart. Does training find such
#    weights? Measure it.
#
#    </details>

# %%
# The answers to 1, 2 and 4, checked.
loan = torch.tensor([[0.0, 0, 0, 1], [2, 0, 0, 0], [0, 2, 0, 0]])
expected = torch.tensor([0.2131, 0.2131])
assert torch.allclose(self_attention(loan, W_q, W_k, W_v)[2], expected, atol=1e-4)
wrong = (Q @ K.T / 2).softmax(dim=-2)
assert torch.allclose(wrong[shuffle][:, shuffle], (Q[shuffle] @ K[shuffle].T / 2).softmax(-2))
assert not torch.allclose(wrong.sum(-1), torch.ones(3), atol=0.1)
with torch.no_grad():
    flat, steps_ = (Smoother(width)(grid[:, None], x[:, None], y) for width in (1e3, 1e-3))
assert torch.allclose(flat, y.mean().expand(200), atol=1e-3)
nearest = y[(grid[:, None] - x).abs().argmin(-1)]
assert (steps_ - nearest).abs().median() < 1e-3
print("answers 1, 2 and 4 hold")

# %% [markdown]
# ## Summary
#
# Three learned matrices give each word a query, a key and a value, and its new vector is the
# average of all values under the softmax of its scores. Shuffled words give shuffled vectors, so
# order must be added to the input. A fixed kernel in place of the learned scores makes it kernel
# regression; what training adds is the choice of what counts as near.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.3 for the three uses of
#   attention, section 4 for why *self*.
# - Lin et al. (2017), *A Structured Self-attentive Sentence Embedding*: the word "self-attentive",
#   before the Transformer.
# - Lee et al. (2019), *Set Transformer*: what equivariance is good for when the input is a set.
# - Nadaraya (1964), *On Estimating Regression*, and Watson (1964), *Smooth Regression Analysis*:
#   the formula above, found twice in one year.
# - Tsai et al. (2019), *Transformer Dissection*: attention as a kernel, and other kernels tried on
#   translation.
#
# <!--
# System: attention_regression
# Parent: none
# What differs:
# - values are averaged under the softmax of a kernel of the distance (`nadaraya_watson`); nothing
#   is learned but, at most, the kernel's width (`Smoother`)
# Source: Nadaraya 1964; Watson 1964; Tsai et al. 2019, section 2.
# Book: 2.3.1
# -->

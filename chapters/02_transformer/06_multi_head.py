# %% [markdown] tags=["slide"]
# # Multi-head attention
#
# *Cats eat fish*: the verb needs to know who eats and what is eaten. One set of weights gives it
# one average of the two. Can it still tell *cats eat fish* from *fish eat cats*?
#
# <small>Prerequisites: [self-attention](05_self_attention.ipynb) · 30 min · runs on a laptop · book
# 2.4.2.2</small>

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
from deepdive_book.kit.diagrams import links, svg, text
from deepdive_book.kit.plotting import show

words = ["cats", "eat", "fish"]
body = []
for i, (title, of_eat) in enumerate(
    {"one head": [0.5, 0, 0.5], "head 0 of 2": [1, 0, 0], "head 1 of 2": [0, 0, 1]}.items()
):
    picture = links(words, words, [[0] * 3, of_eat, [0] * 3], chosen=1)
    body.append(f'<g transform="translate({i * 210 + 10},24)">{picture}</g>')
    body.append(text(i * 210 + 100, 12, title, 14, bold=True))
show(
    svg(620, 196, body),
    "The verb eat looks at cats eat fish three times. One head: links of half strength to cats "
    "and fish. Head 0 of 2: one strong link to cats. Head 1 of 2: one strong link to fish.",
)

# %% [markdown]
# *An even head cannot prefer one noun; two heads can. (Drawn with halves; in the numbers below* eat
# *itself takes a third.) Heads are counted from 0, as in code.*
#
# The weights of a head sum to one, and its output is one average. An even average forgets who gave
# what: half *cats* and half *fish* is the same vector in either order. **Multi-head attention**
# runs several attentions side by side, each on its own few dimensions, and lays their outputs next
# to each other.
#
# The paper says it in two sentences: several heads attend "to information from different
# representation subspaces at different positions. With a single attention head, averaging inhibits
# this." This page makes the second sentence a number. Then it asks what heads cost, how narrow a
# head may get, what breaks when one is removed, and which of them may share keys and values.

# %% [markdown]
# ## By hand: the same matrices, whole and in two halves
#
# The four numbers of an embedding mean: cat, fish, place (1 before the verb, −1 after it), verb.
# Who stands before the verb eats. (The place is put in by hand here; a page on positions comes
# later.)

# %% tags=["nbval-check-output"]
import torch

cats_eat_fish = torch.tensor([[1.0, 0, 1, 0], [0, 0, 0, 1], [0, 1, -1, 0]])
fish_eat_cats = torch.tensor([[0.0, 1, 1, 0], [0, 0, 0, 1], [1, 0, -1, 0]])
W_q, W_k, W_v = torch.zeros(3, 4, 4)
W_q[3] = torch.tensor([2.0, 0, 2, 0])  # the verb asks, twice
W_k[2] = torch.tensor([2.0, 0, -2, 0])  # place: + for the first half, - for the second
W_v[0] = torch.tensor([1.0, 0, 1, 0])  # cat
W_v[1] = torch.tensor([0.0, 1, 0, 1])  # fish
Q, K, V = (cats_eat_fish @ W for W in (W_q, W_k, W_v))
Q, K, V

# %% [markdown]
# *Eat* has the query $(2, 0, 2, 0)$. The key of *cats* is $(2, 0, -2, 0)$, that of *fish*
# $(-2, 0, 2, 0)$. With **one head** the whole query meets the whole key:
#
# $$\text{cats}: 2\cdot2 + 2\cdot(-2) = 0 \qquad \text{eat}: 0 \qquad
# \text{fish}: 2\cdot(-2) + 2\cdot2 = 0$$
#
# The two questions cancel. With **two heads**, cut queries, keys and values in the middle. The
# first half of *eat* is $(2, 0)$ and meets $(2, 0)$ of *cats*, $(0, 0)$ and $(-2, 0)$: scores 4,
# 0, −4. The second half gets −4, 0, 4. Divide by $\sqrt 2$, the root of the *head's* width, and
# take the softmax:

# %%
def attend(q, k, v):
    weights = (q @ k.T / q.shape[-1] ** 0.5).softmax(dim=-1)
    return weights, weights @ v


for name, start, end in (("one head", 0, 4), ("head 0", 0, 2), ("head 1", 2, 4)):
    part = slice(start, end)
    weights, mixed = attend(Q[:, part], K[:, part], V[:, part])
    print(f"{name:>8}: weights of eat", *(f"{w:.3f}" for w in weights[1]), end="   ")
    print("its output", *(f"{v:.2f}" for v in mixed[1]))

# %% tags=["fold"]
from deepdive_book.kit.diagrams.matrices import Matrix, falk

pictures = []
for name, part in (("0", slice(0, 2)), ("1", slice(2, 4))):
    q, k = Q[:, part], K[:, part]
    pictures.append(
        falk(
            Matrix(f"Q{name}", "query", q.tolist()),
            [Matrix(f"K{name}ᵀ", "key", k.T.tolist())],
            [Matrix(f"Q{name} K{name}ᵀ", "score", (q @ k.T).tolist())],
            words,
        )
    )
show(
    svg(500, 210, [pictures[0], f'<g transform="translate(260,0)">{pictures[1]}</g>']),
    "Two products. Q0 times K0 transposed: the row of eat is 4, 0, minus 4. Q1 times K1 "
    "transposed: the row of eat is minus 4, 0, 4.",
)

# %% [markdown]
# *Head 0 finds who stands before the verb, head 1 who stands after it. Added up, the two rows of*
# eat *are zero: that is the one head's score.*
#
# By pencil for head 0: $4/\sqrt2 = 2.83$, $e^{2.83} = 16.9$, $e^0 = 1$, $e^{-2.83} = 0.06$, and
# $16.9 / 17.96 = 0.941$. The output of *eat* is the two halves side by side: $(0.94, 0.00)$ from
# head 0, $(0.00, 0.94)$ from head 1. First half: a cat eats. Second half: fish is eaten.
#
# Now turn the sentence round. One head gives $(0.33, 0.33, 0.33, 0.33)$ for both, so it cannot tell
# who eats. Two heads give two different vectors:

# %%
def output_of_eat(X, n_heads):
    Q, K, V = (X @ W for W in (W_q, W_k, W_v))
    parts = zip(*(t.chunk(n_heads, dim=-1) for t in (Q, K, V)), strict=True)
    return torch.cat([attend(*part)[1] for part in parts], dim=-1)[1]


for n_heads in (1, 2):
    outputs = [output_of_eat(X, n_heads) for X in (cats_eat_fish, fish_eat_cats)]
    print("heads:", n_heads, *([f"{v:.2f}" for v in output.tolist()] for output in outputs))
    assert torch.equal(*outputs) == (n_heads == 1)

# %% [markdown] tags=["slide"]
# ## In code: cut, attend, join
#
# $$\mathrm{head}_i = \mathrm{Attention}(X W_q^{(i)}, X W_k^{(i)}, X W_v^{(i)})$$
#
# $$\mathrm{MultiHead}(X) = [\mathrm{head}_0, \dots, \mathrm{head}_{H-1}]\, W_o$$
#
# Nobody keeps $H$ small matrices. One matrix makes the queries of all heads, and the cut is a
# change of shape, with $d_\text{head} = d_\text{model} / H$:
#
# | step | shape | example |
# |---|---|---|
# | rows | (B, T, d_model) | (2, 5, 16) |
# | times $W_q$ | (B, T, H · d_head) | (2, 5, 16) |
# | cut | (B, T, H, d_head) | (2, 5, 4, 4) |
# | heads to the front | (B, H, T, d_head) | (2, 4, 5, 4) |
# | scores and weights | (B, H, T, T) | (2, 4, 5, 5) |
# | mixed | (B, H, T, d_head) | (2, 4, 5, 4) |
# | joined, times $W_o$ | (B, T, d_model) | (2, 5, 16) |
#
# The heads become one more axis, like the batch. All of them run in the same products. Joining
# lays them side by side; $W_o$ is where they first meet.


# %%
def split(rows, n_heads):  # (B, T, d_model) -> (B, H, T, d_head)
    return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def join(heads):  # (B, H, T, d_head) -> (B, T, d_model)
    return heads.transpose(1, 2).flatten(2)


def multi_head(x, W_q, W_k, W_v, W_o, n_heads):
    q, k, v = (split(x @ W, n_heads) for W in (W_q, W_k, W_v))
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (B, H, T, T)
    return join(scores.softmax(dim=-1) @ v) @ W_o


two = multi_head(cats_eat_fish[None], W_q, W_k, W_v, torch.eye(4), n_heads=2)
assert torch.allclose(two[0, 1], output_of_eat(cats_eat_fish, 2))
two

# %%
from deepdive.core import MultiHeadAttention

x, (A, B, C, D) = torch.randn(2, 5, 16), torch.randn(4, 16, 16) / 4
library = MultiHeadAttention(16, 4, bias=False)
with torch.no_grad():
    library.q.weight.copy_(A.T)
    library.kv.weight.copy_(torch.cat([B, C], dim=1).T)
    library.out.weight.copy_(D.T)
    difference = (library(x) - multi_head(x, A, B, C, D, n_heads=4)).abs().max()
assert difference < 1e-6
f"largest difference from the library's below 1e-6: {bool(difference < 1e-6)}"

# %% [markdown]
# ### Common mistake: cutting with one `view`
#
# The shape that attention wants is (B, H, T, d_head), and `view` gives just that. It runs. (This is
# mistake 3 of [the page on PyTorch](../00_start/03_torch.ipynb), now inside an attention.)


# %%
def split_wrong(rows, n_heads):
    B, T, d_model = rows.shape
    return rows.view(B, n_heads, T, d_model // n_heads)  # wrong: no transpose


rows = torch.tensor([[[10.0, 11, 12, 13], [20, 21, 22, 23]]])  # first word: tens, second: twenties
right, wrong = split(rows, 2), split_wrong(rows, 2)
print("right: head 0 has", right[0, 0].tolist(), "and head 1", right[0, 1].tolist())
print("wrong: head 0 has", wrong[0, 0].tolist(), "and head 1", wrong[0, 1].tolist())
assert right.shape == wrong.shape

# %% [markdown]
# Head 0 should hold the first half of every word. In the wrong form it holds all of the first word,
# cut in pieces: in this example the heads have become the words.
#
# **Symptom:** no error; the model trains, badly. **The test that finds it** looks for a leak, here
# through the attention. Under a mask by which a word sees only itself and those before it
# (`Causal`, on the [next page](07_masks.ipynb)), no other word may reach the first.

# %%
from deepdive.core import SoftmaxAttention
from deepdive.core.masks import Causal

changed = x.clone()
changed[:, 1:] += 1.0  # all words but the first
moved = {}
for cut in (split, split_wrong):
    first = [  # queries, keys and values are the same rows
        join(SoftmaxAttention()(*[cut(rows, 4)] * 3, mask=Causal()))[:, 0] for rows in (x, changed)
    ]
    moved[cut] = (first[1] - first[0]).abs().max().item()
    print(f"{cut.__name__:>11}: the first word moved by {moved[cut]:.3f}")
assert moved[split] == 0.0
assert moved[split_wrong] > 0.05

# %% [markdown]
# The 1.000 is what was added to the other words: in the wrong cut, pieces of them stand in the
# first row.
#
# **Fix:** cut the last axis, then move the heads forward: `unflatten`, then `transpose`
# (`rearrange(x, "b t (h d) -> b h t d", h=H)` says the same). And back in the other order.

# %% [markdown]
# ## What do heads cost?
#
# The KAIST slides ([the lectures](00_opening.ipynb)) say "same amount of computation as single-head
# self-attention". Count it: one layer, 256 wide, a sentence of 128 words.

# %% tags=["nbval-check-output"]
from deepdive_book.kit.flops import count_flops

sentence, counts = torch.randn(1, 128, 256), {}
for n_heads in (1, 2, 4, 8, 16):
    layer = MultiHeadAttention(256, n_heads)
    parameters = sum(p.numel() for p in layer.parameters())
    with torch.no_grad():
        counts[n_heads] = parameters, count_flops(lambda layer=layer: layer(sentence))
    print(
        f"{n_heads:>2} heads of {256 // n_heads:>3}: {parameters:,} parameters, "
        f"{counts[n_heads][1]:,} operations, {n_heads * 128 * 128:>7,} weights"
    )
assert len(set(counts.values())) == 1

# %% [markdown]
# The slides are right about parameters and about the operations in products: a cut is free. The
# last column is what they leave out. Each head has a map of its own, so the numbers that go
# through the softmax grow with the heads, and so do the bytes kept where code keeps the maps.

# %% [markdown]
# ## What one head cannot do
#
# Back to the question, as a task. A reader sees eight digits and a question mark. At the question
# mark it must name the first two digits, in order. It is one attention layer, read out by one
# linear layer, and nothing else. Width and number of parameters are the same for any number of
# heads.
#
# Digits are random, with repetitions; all data are generated.

# %%
from torch import nn

from deepdive.core.embeddings import TokenEmbedding
from deepdive.positions import LearnedPosition


class Reader(nn.Module):
    def __init__(self, places, n_heads, **more):
        super().__init__()
        self.embedding = TokenEmbedding(11, 32, scale=32**0.5)  # ten digits and "?"
        self.position = LearnedPosition(9, 32)  # a vector for each place, learned
        self.attention = MultiHeadAttention(32, n_heads, **more)
        self.out = nn.Linear(32, 10 * places)

    def forward(self, tokens):  # (B, 9)
        x = self.position.embed(self.embedding(tokens), torch.arange(9))
        answer = self.attention(x)[:, -1]  # (B, 32), the row of "?"
        return self.out(answer).unflatten(-1, (-1, 10))  # (B, places, 10)


def draw(n):
    return torch.cat([torch.randint(10, (n, 8)), torch.full((n, 1), 10)], dim=1)


train, test = draw(64 * 400).split(64), draw(2000)

# %%
from torch.nn.functional import cross_entropy

from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.profile import pick

steps = 300


def train_reader(places, n_heads, **more):
    torch.manual_seed(0)
    reader = Reader(places, n_heads, **more)

    def loss(reader, tokens):
        return cross_entropy(reader(tokens).flatten(0, 1), tokens[:, :places].flatten())

    optimizer, schedule = adam(reader), cosine(1e-2, warmup=20, total=steps)
    fit(reader, train, loss, steps=steps, optimizer=optimizer, schedule=schedule)
    return reader


def hits(reader):  # (N, places), True where the digit is right
    with torch.no_grad():
        guess = reader(test).argmax(-1)
    return guess == test[:, : guess.shape[1]]


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "One head, 32 wide, trained to name the first two digits in order. For how many new sequences "
    "are both right?",
    ["nearly all: 32 numbers are enough for two digits", "less than half", "none"],
    answer=1,
    explain="The head can average the two digits half and half. From that a linear layer sees "
    "which two digits they are, but not which came first. Both are right when they are equal, and "
    "otherwise seldom.",
    key="02_transformer/one-head-pair",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
one, two = train_reader(2, n_heads=1), train_reader(2, n_heads=2)
for name, reader in (("one head", one), ("two heads", two)):
    both = hits(reader).all(-1).float().mean()
    print(f"{name:>9}: both digits right in {both:.1%} of {len(test):,} sequences")
assert hits(two).all(-1).float().mean() > 0.9
assert hits(one).all(-1).float().mean() < 0.5

# %% tags=["fold"]
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heatmap


def looked_at(reader):  # (H, 9): the weights of "?", averaged over the test sequences
    with record(reader, "attention.mechanism.weights") as seen, torch.no_grad():
        reader(test)
    return seen["attention.mechanism.weights"][0][:, :, -1].mean(0)


places = [*"12345678", "?"]
maps = torch.cat([looked_at(one), looked_at(two)])
names = ["one head", "head 0 of 2", "head 1 of 2"]
figure = heatmap(maps, names, places, digits=2, title="where ? looks")
figure.axes[0].set(xlabel="place", ylabel="")
show(figure)

# %% [markdown]
# *The one head averages the two places about half and half. The two heads average them in two
# different proportions.*
#
# Two averages in different proportions are two equations for two unknowns, and a linear layer can
# solve them. It would be tidier if each head took one place, but nothing asks for that.
#
# Did the one head at least see which two digits they were? Look at its two largest outputs of ten,
# where the digits differ:

# %%
with torch.no_grad():
    outputs = one(test)  # (N, 2, 10)
pair = test[:, :2]
differ = pair[:, 0] != pair[:, 1]
largest_two = outputs.topk(2).indices.sort(-1).values  # (N, 2, 2), in both answers
seen_both = (largest_two == pair.sort(-1).values[:, None]).all(-1)[differ].float().mean()
right = (outputs.argmax(-1) == pair)[differ].float().mean(0)
assert seen_both > 0.8
assert (maps[1] - maps[2]).abs().max() > 0.1
assert right.sum() < 1.6  # 2 would be both, always
print(f"the two largest outputs are the two digits: {seen_both:.1%}")
print(f"the largest is right in the first answer {right[0]:.1%}, in the second {right[1]:.1%}")

# %% [markdown]
# It knows the two digits, and not which came first. Its average leans to one of the places by a
# hair, and the digit from there mostly wins in *both* answers: one gains what the other loses.
#
# This is the paper's "averaging inhibits this", as a number. Nothing is wrong with the one head's
# width: 32 numbers hold two digits easily. What is missing is a second average.
#
# (A feed-forward layer after the attention could use unequal weights, 0.6 and 0.4, to tell the two
# apart. A Transformer has such layers. More averages are the straight way.)

# %% [markdown] tags=["slide"]
# ## How many heads?
#
# Now the reader must name the first *four* digits. Width 32 always, so more heads are narrower
# ones: 32 heads have one number each.

# %% tags=["slide"]
few, many = (1, 4), (1, 2, 4, 8, 32)
readers = {n: train_reader(4, n) for n in pick(ci=few, laptop=many, gpu=many)}
readers["4, one key-value head"] = train_reader(4, 4, n_kv_heads=1)
score = {name: hits(reader).all(-1).float().mean().item() for name, reader in readers.items()}
for name, right in score.items():
    print(f"heads {name}: all four digits right {right:.1%}")
assert score[1] < 0.1
assert score[4] > 0.8
assert score.get(32, 1.0) > 0.8  # trained where the profile has the time

# %% [markdown]
# Each head more is one more place that can be read apart. (The last line is for a later section.)
#
# The sources have such a column for real translation. Vaswani et al., table 3, rows A: English to
# German, the width of all heads together held at 512 ([BLEU](01_seq2seq.ipynb): more is better).
#
# | heads | 1 | 4 | 8 | 16 | 32 |
# |---|---|---|---|---|---|
# | $d_\text{head}$ | 512 | 128 | 64 | 32 | 16 |
# | BLEU | 24.9 | 25.5 | 25.8 | 25.8 | 25.4 |
#
# There one head loses 0.9, and too many lose as well. On our toy one head loses nearly everything,
# since nothing else in the model can help it, and very narrow heads lose little. When does
# narrowness hurt?

# %% [markdown]
# ## How narrow may a head be?
#
# The scores of a head are $Q K^\top$, where $Q$ and $K$ have $d_\text{head}$ columns. Such a
# product has at most the **rank** $d_\text{head}$: all its rows are mixtures of $d_\text{head}$
# rows.

# %%
length, d_model = 48, 64
rows = torch.randn(length, d_model).double()
for d_head in (1, 2, 4, 8, 16, 32, 64):
    for_q, for_k = torch.randn(2, d_model, d_head).double() / 8
    scores = (rows @ for_q) @ (rows @ for_k).T / d_head**0.5  # (48, 48)
    of_scores = torch.linalg.matrix_rank(scores).item()
    of_weights = torch.linalg.matrix_rank(scores.softmax(-1)).item()
    assert of_scores == min(d_head, length)
    print(f"d_head {d_head:>2}: rank of the scores {of_scores:>2}, of the weights {of_weights:>2}")

# %% [markdown]
# The scores have just the rank that their width allows. The softmax raises the rank, since it is
# not linear. (In the first line it would be 48 too; the rest is lost in rounding.) But full rank
# does not mean that every map can be made. Bhojanapalli et al. (2020) prove both sides: with
# $d_\text{head} \ge T$ a head can produce *any* positive matrix of weights, and below that there
# are some that it cannot.
#
# Which ones? Take two kinds of maps for 24 words. In a *sharp* one each word looks at one other.
# In a *soft* one each word spreads its weight, differently from the others. Fit queries and keys
# to the map, directly, and measure how much weight lies in the wrong place.


# %%
class Fitted(nn.Module):
    def __init__(self, d_head, length=24):
        super().__init__()
        self.q, self.k = (nn.Parameter(torch.randn(length, d_head)) for _ in "qk")

    def forward(self):
        return self.q @ self.k.T / self.q.shape[1] ** 0.5  # scores, (24, 24)


def misplaced(wanted, d_head):
    fitted = Fitted(d_head)

    def loss(fitted, wanted):
        return -(wanted * fitted().log_softmax(-1)).sum(-1).mean()

    rounds = pick(ci=150, laptop=400, gpu=400)
    options = {"optimizer": adam(fitted), "schedule": cosine(0.2, warmup=10, total=rounds)}
    fit(fitted, [wanted], loss, steps=rounds, progress=False, **options)
    with torch.no_grad():
        return (fitted().softmax(-1) - wanted).abs().sum(-1).mean().item() / 2


# %%
wanted = {"sharp": torch.eye(24)[torch.randperm(24)], "soft": (2 * torch.randn(24, 24)).softmax(-1)}
widths = [1, 2, 4, 8, 16, 24]
wrong = {name: [misplaced(target, d) for d in widths] for name, target in wanted.items()}
{name: [round(value, 3) for value in values] for name, values in wrong.items()}

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.4, 3.2))
axes = figure.subplots()
for (name, values), style in zip(wrong.items(), ("s--", "o-"), strict=True):
    axes.plot(widths, values, style, label=f"{name} map")
axes.set(xlabel="d_head (24 words)", ylabel="weight in the wrong place", ylim=(-0.02, None))
axes.set_xticks(widths)
axes.legend()
with_alt(
    figure,
    "Share of misplaced weight against d_head for 24 words. For the sharp map it is small from a "
    "few dimensions on; for the soft map it falls steadily and is near zero only from 16 on.",
)

# %%
assert wrong["soft"][0] > 0.2 > 0.05 > wrong["soft"][-1]
assert wrong["sharp"][3] < 0.05 < wrong["soft"][3]
print(f"d_head = 8: sharp map {wrong['sharp'][3]:.1%}, soft map {wrong['soft'][3]:.1%} misplaced")

# %% [markdown]
# *For the sharp map a few dimensions are enough. The soft map gains from each further one, and is
# near the floor only at 16 or more.*
#
# So the toy was kind to narrow heads: only one row of each map is read, and for one row a width of
# 1 is enough. In a model of fixed width, more heads mean narrower ones, and at some point each head
# can draw only simple maps. Bhojanapalli et al. fix it by untying the two: choose $d_\text{head}$
# for the length of the sentence, and let $H \cdot d_\text{head}$ be larger than $d_\text{model}$.
# In the library that is the argument `d_head`.

# %% [markdown]
# ## Remove a head: what breaks?
#
# Take the reader of four digits with four heads. `ablate` sets what one head hands over to zero,
# and leaves the rest of the trained model as it is.

# %% tags=["fold"]
predict(
    "Four heads, four digits to read, one head removed. What breaks?",
    [
        "all four digits, a little",
        "the digits at the places where that head looks; the others stay right",
        "nothing: the other heads take over",
    ],
    answer=1,
    explain="In this layer nothing is shared between the heads but the last matrix. What a head "
    "looked up is gone, and nobody was trained to stand in for it.",
    key="02_transformer/ablate-head",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from deepdive.core.hooks import ablate

reader, digits = readers[4], ["1st", "2nd", "3rd", "4th"]
table = [hits(reader).float().mean(0)]
for head in range(4):
    with ablate(reader, "attention.heads", heads=[head]):
        table.append(hits(reader).float().mean(0))
table = torch.stack(table)  # (5, 4)
names = ["all heads", *(f"without {head}" for head in range(4))]
figure = heatmap(table, names, digits, digits=2, limits=(0, 1), title="share of digits right")
figure.axes[0].set(xlabel="digit to name", ylabel="")
show(figure)

# %% tags=["fold"]
figure = heatmap(
    looked_at(reader), [f"head {h}" for h in range(4)], places, digits=2, title="where ? looks"
)
figure.axes[0].set(xlabel="place", ylabel="")
show(figure)

# %% [markdown]
# *Above: the share of right answers. Below: the weights of the whole model. Compare "without 0"
# with "head 0", and so on: removing a head hurts the digits at the places that it looks at.*

# %%
costs = (table[0] - table[1:]).flatten()  # what each removal costs each digit, 4 * 4
looks = looked_at(reader)[:, :4].flatten()
agreement = torch.corrcoef(torch.stack([costs, looks]))[0, 1].item()
assert agreement > 0.6
print(f"correlation of weight and cost over 4 heads and 4 places: {agreement:.2f}")

# %% [markdown]
# In this model the map tells the truth: what a head looks at is what breaks without it. But the
# jobs are not tidy. Nobody assigns them, and two heads may share two places in different
# proportions. The last matrix then solves for both digits, and each of the two removals hurts both.
#
# In large trained models the picture is milder. Michel et al. (2019) removed heads from a trained
# translator one at a time, and most removals cost little. Voita et al. (2019) found that the few
# that matter have clear jobs, such as looking at the neighbor word.

# %% [markdown]
# ## How it differs: heads that share keys and values
#
# When a decoder writes word by word, it keeps the keys and values of all earlier words in a
# **cache** (more on the [decoding page](14_decoding.ipynb)). Each head keeps its own. **Grouped**
# queries let several query heads share one key-value head; **multi-query** has one for all.

# %%
from deepdive.core import Slot

past, kept = torch.randn(1, 100, 512), {}  # 100 words, as wide as the paper's model
for name, n_kv_heads in (("multi-head", 8), ("grouped", 2), ("multi-query", 1)):
    layer, slot = MultiHeadAttention(512, 8, n_kv_heads=n_kv_heads), Slot()
    with torch.no_grad():
        layer(past, cache=slot)
    numbers = 2 * slot.keys[:, :, : slot.length].numel() // 100  # keys and values, a word
    kept[name] = numbers * 6 * 1000 * 32 * 4 / 2**20  # MiB
    parameters = sum(p.numel() for p in layer.parameters())
    print(f"{name:>11}: {parameters:>9,} parameters, {numbers:>5,} numbers a word", end=", ")
    print(f"{kept[name]:.0f} MiB in all")
assert kept["multi-head"] == 8 * kept["multi-query"]

# %% [markdown]
# "In all" is for 6 layers, 1,000 words and 32 sentences at once, in single precision. The numbers a
# word and layer are $2 \cdot n_\text{kv} \cdot d_\text{head}$. Eight heads that share keep an
# eighth. What is lost? The queries still differ, so each head can look elsewhere; but all search
# the same keys and hand over the same values. On the four digits, with one training each, little
# was lost:

# %%
shared = score["4, one key-value head"]
assert shared > 0.8
print(f"four heads: {score[4]:.1%}; four heads on one key-value head: {shared:.1%}")

# %% [markdown]
# | | one head | H heads | H heads, d_head chosen freely | grouped | multi-query |
# |---|---|---|---|---|---|
# | averages for each word | 1 | H | H | H | H |
# | d_head | d_model | d_model / H | any | d_model / H | d_model / H |
# | rank of a head's scores, at most | d_model | d_model / H | d_head | d_model / H | d_model / H |
# | key-value heads | 1 | H | H | between 1 and H | 1 |
# | cache, numbers a word | 2 d_model | 2 d_model | 2 H d_head | 2 n_kv d_head | 2 d_head |
# | from | Bahdanau 2015 | Vaswani 2017 | Bhojanapalli 2020 | Ainslie 2023 | Shazeer 2019 |

# %% [markdown]
# ## In practice
#
# - **Begin with $d_\text{head} = 64$**: the Transformer's base and big models and BERT all have
#   it, at 512 / 8, 1,024 / 16 and 768 / 12.
# - **Scale by the root of the head's width**, not of the model's.
# - **Test the cut with a leak**, as above. A wrong one trains.
# - **Remove a head before you name it.** A map says where a head looks, not what depends on it.
# - **Share key-value heads for decoding**, where the cache is most of the bytes kept. In training
#   it saves little.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. In the worked numbers, why does one head give *eat* the same vector in *cats eat fish* and in
#    *fish eat cats*?
#
#    <details><summary>Answer</summary>
#
#    Its two questions cancel: all scores are 0 and all weights 0.333. An even average, (0.33, 0.33,
#    0.33, 0.33), forgets who gave what.
#
#    </details>
# 2. Two sentences of 10 words go through 8 heads with $d_\text{model} = 512$. What is
#    $d_\text{head}$, and what are the shapes of the queries, heads to the front, and of the
#    weights?
#
#    <details><summary>Answer</summary>
#
#    $d_\text{head} = 512 / 8 = 64$. The queries are (2, 8, 10, 64), the weights (2, 8, 10, 10).
#    The heads are one more axis, like the batch.
#
#    </details>
# 3. From 1 head to 16 heads of the same model, what did the count leave unchanged, and what grew?
#
#    <details><summary>Answer</summary>
#
#    Parameters and operations in products stayed the same. The weights grew sixteenfold, since
#    each head has a map of its own.
#
#    </details>
# 4. Two heads both average the first two places. When can the two digits still be told apart?
#
#    <details><summary>Answer</summary>
#
#    When their proportions differ. Two averages are then two equations for two unknowns, and a
#    linear layer solves them; one head has a single equation.
#
#    </details>
# 5. A sentence has 24 words and a head has $d_\text{head} = 8$. What is the highest rank of its
#    scores, and which map did such a head fit worse?
#
#    <details><summary>Answer</summary>
#
#    8. The soft map: part of its weight stayed in the wrong place, while the sharp map fitted
#    well.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* In *fish eat cats*, what do heads 0 and 1 hand over to *eat*? Where in
#    the joined vector stands who is eaten?
#
#    <details><summary>Answer</summary>
#
#    Head 0 looks before the verb and finds *fish*: (0.00, 0.94). Head 1 looks behind it and finds
#    *cats*: (0.94, 0.00). The joined vector is (0.00, 0.94, 0.94, 0.00); the eaten stands in the
#    second half.
#
#    </details>
# 2. *(derive, 5 min)* How many parameters has `MultiHeadAttention(d_model, H)` without biases?
#    With `n_kv_heads=1`? For 512 and 8 heads?
#
#    <details><summary>Answer</summary>
#
#    Four matrices of $d_\text{model}^2$: 1,048,576. With one key-value head $W_k$ and $W_v$ shrink
#    to $d_\text{model} \cdot d_\text{head}$ each:
#    $2 \cdot 512^2 + 2 \cdot 512 \cdot 64 = 589{,}824$.
#
#    </details>
# 3. *(derive, 10 min)* Show that $d_\text{head} = 2$ is enough for every sharp map: give queries
#    and keys with which each word puts nearly all its weight on one word of its own choice.
#
#    <details><summary>Answer</summary>
#
#    Put the keys on a circle, one angle each. A query that points at the angle of its key, and is
#    long, has the largest dot product with that key. Its length makes the map as sharp as you
#    like. With $T$ words the length must grow like $T^2$, since neighbors on the circle come
#    closer.
#
#    </details>
# 4. *(find the bug, 5 min)* A model divides the scores by $\sqrt{d_\text{model}}$ instead of
#    $\sqrt{d_\text{head}}$. It trains. What is different at the start, and by which factor?
#
#    <details><summary>Answer</summary>
#
#    The scores are smaller by $\sqrt H$, so all heads start closer to the plain average. $W_q$ and
#    $W_k$ can grow to make up for it.
#
#    </details>
# 5. *(code, 12 min)* Give the one-head reader of two digits a hidden layer of 64 with a ReLU
#    before its output. How many pairs does it get right now, and what weights does it choose?
#
#    <details><summary>Answer</summary>
#
#    It can get all 100 pairs, with unequal weights: say 2/3 for the first place, 1/3 for the
#    second. Let $x$ be a digit's share of the average: 2/3 if it came first, 1/3 if second, 1 if
#    both, else 0.
#
#    First answer: the digit with the largest $x$. Second answer: the digit with the largest
#    $3x - 6\,\mathrm{relu}(x - 1/3) + 6\,\mathrm{relu}(x - 2/3)$, which is 1 at 1/3 and at 1, and
#    0 at 0 and at 2/3. That takes three units a digit, 30 of the 64.
#
#    With half and half no layer can do it: both orders give the same average. So `looked_at` must
#    show two unequal weights wherever `hits` shows nearly all pairs right. Print both.
#
#    </details>

# %%
# The answers to 1, 2 and 3, checked.
turned = output_of_eat(fish_eat_cats, 2)
assert torch.allclose(turned, torch.tensor([0.003, 0.941, 0.941, 0.003]), atol=1e-3)
for n_kv_heads, expected in ((None, 1_048_576), (1, 589_824)):
    layer = MultiHeadAttention(512, 8, n_kv_heads=n_kv_heads, bias=False)
    assert sum(p.numel() for p in layer.parameters()) == expected
angles = torch.arange(24) * 2 * torch.pi / 24
on_circle = torch.stack([angles.cos(), angles.sin()], dim=-1)
chosen = torch.randint(24, (24,))
circle_weights, _ = attend(300 * on_circle[chosen], on_circle, on_circle)
assert (circle_weights[range(24), chosen] > 0.99).all()
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# A head computes one average for each word; several heads compute several, on their own slices of
# the same matrices, for the same parameters and products. A task that needs two things from two
# places is beyond one head and easy for two, and removing a head removes what it looked up. The
# width of a head bounds the rank of its scores, which soft maps need and sharp ones do not.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2.2, and rows A and B of table 3.
# - Bhojanapalli et al. (2020), *Low-Rank Bottleneck in Multi-head Attention Models*: theorem 1 and
#   its short proof.
# - Voita et al. (2019), *Analyzing Multi-Head Self-Attention*, and Michel et al. (2019), *Are
#   Sixteen Heads Really Better than One?*: removing heads from trained translators.
# - Shazeer (2019), *Fast Transformer Decoding: One Write-Head is All You Need*, and Ainslie et al.
#   (2023), *GQA*: shared keys and values, and what they cost in quality.

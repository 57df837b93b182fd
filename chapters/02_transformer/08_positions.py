# %% [markdown] tags=["slide"]
# # Positions
#
# *the dog bites the man* and *the man bites the dog* hold the same five words. What tells attention
# who bites?
#
# <small>Book 2.4.1.2 · before this page: [attention](02_attention.ipynb),
# [self-attention](05_self_attention.ipynb), [masks](07_masks.ipynb) · 25 min to read · a laptop is
# enough</small>

# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
SOURCE = ""  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install` it"
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}, and run this cell again")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)
# %% tags=["slide", "fold"]
import torch

from deepdive.attention import SoftmaxAttention
from deepdive.page.diagrams import ROLES, arrow, cells, svg, text
from deepdive.page.plotting import show
from deepdive.positions import SinusoidalPosition

pair = [["the", "dog", "bites", "the", "man"], ["the", "man", "bites", "the", "dog"]]
embedding = dict(zip(["dog", "man", "bites", "the"], torch.eye(4), strict=True))
body = [text(488, 16, "output for “bites”", 14, bold=True)]
body.append(text(408, 40, "words alone", 14, "query"))
body.append(text(568, 40, "words + positions", 14, "output"))
for y, sentence in zip((75, 125), pair, strict=True):
    x = torch.stack([embedding[word] for word in sentence])
    body += [text(30 + 62 * i, y, word, 16, bold=i == 2) for i, word in enumerate(sentence)]
    body.append(arrow(300, y, 328, y))
    placed = SinusoidalPosition(4).embed(x, torch.arange(5))
    for left, rows, role in ((336, x, "query"), (496, placed, "output")):
        seen = SoftmaxAttention()(*[rows[None, None]] * 3)[0, 0, 2]
        body.append(cells(left, y, seen.tolist(), role, 36))
show(
    svg(660, 150, body),
    "Two sentences and the output of self-attention for the word bites. From the words alone both "
    "sentences give the same four numbers; with positions added the numbers differ.",
)

# %% [markdown]
# *The word vectors are* dog *1 0 0 0,* man *0 1 0 0, and so on. From them alone,* bites *gets the
# same output in both sentences. With a vector for the place added to each word, it does not.*
#
# Attention averages over a set. A set has no first member. So the order must be written into the
# word vectors: the row for *dog* at place 1 must differ from the row for *dog* at place 4. A
# **position encoding** is a vector for the place, added to the vector of the word.
#
# On this page you see what a model cannot do without it, and write the Transformer's encoding by
# hand. Then you measure what happens to words longer than any seen in training.

# %% [markdown]
# ## Blind to order
#
# Shuffle the words that enter self-attention, and the same vectors come out, shuffled alike (the
# [page on self-attention](05_self_attention.ipynb) shows it). The other parts of an encoder, on the
# next pages, treat each row alone. So a whole encoder has this property: it sees a bag of words. Is
# that a loss? It depends on the task. Take two:
#
# - **reverse**: write the word's letters backwards;
# - **sort**: write them in alphabetical order.
#
# One small Transformer learns both. The first source token says which is asked. The words are
# generated: 3 to 6 random letters.

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "The model gets no positions at all. Which task will it fail at?",
    ["both", "reversing only", "sorting only"],
    answer=1,
    explain="The sorted word is the same for every order of the letters, so a bag of letters is "
    "enough. The reversed word is nothing but order.",
    key="02_transformer/blind-to-order",
)

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %%
import string

from deepdive.data import BucketBatches
from deepdive.data.generated import reversal
from deepdive.tokenizers import BOS, EOS

letters = ["", "", "", "", *string.ascii_lowercase]  # ids 0 to 3 are special tokens
REVERSE, SORT = 30, 31  # the first source token
tasks = {REVERSE: lambda word: word[::-1], SORT: sorted}

words = [word for word, _ in reversal(10_000, length=(3, 6), vocab=26, seed=1)]
source = [[task, *word] for word in words for task in tasks]
target = [[BOS, *answer(word), EOS] for word in words for answer in tasks.values()]
batches = BucketBatches((source, target), max_tokens=400, seed=1)
len(source), source[0], target[0], target[1]

# %% [markdown]
# The first source begins with 30, which asks for the reverse. Its target is the same letters
# backwards, between 1 (begin, `BOS`) and 2 (end, `EOS`). The last list is the target of the sorted
# word.
#
# The model is that of the [attention page](02_attention.ipynb), with two heads. What it does about
# positions is an argument. `Position()` is the scheme that does nothing.

# %%
from deepdive.models.transformer.transformer import transformer
from deepdive.positions import Position


def build(position):
    torch.manual_seed(0)
    return transformer(
        32, d_model=64, n_heads=2, n_layers=1, d_ff=128, dropout=0.0, position=position
    )


build(lambda d_model: Position()).encoder.position

# %%
from deepdive.page.profile import pick
from deepdive.training import fit
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import adam, cosine

steps = pick(ci=600, laptop=1000, gpu=1000)


def loss(model, batch):
    source, target = batch
    return cross_entropy(model(source, target[:, :-1], source != 0), target[:, 1:])


def train(position):
    model, plan = build(position), cosine(3e-3, warmup=100, total=steps)
    fit(model, batches, loss, steps=steps, optimizer=adam(model), schedule=plan)
    return model


models = {"none": train(lambda d_model: Position())}

# %% [markdown]
# Three questions for each length, on new words. Is the reversed word right? If not, are at least
# its *letters* right, in whatever order? Is the sorted word right?

# %%
from deepdive.decoding import greedy


def exam(model, length, n=200):
    """Shares of new words: reversed, reversed but for the order, sorted."""
    new = [word for word, _ in reversal(n, length=(length, length), vocab=26, seed=2)]
    wrote = {
        task: greedy(model, torch.tensor([[task, *word] for word in new]), max_length=length + 2)
        for task in tasks
    }
    pairs = list(zip(wrote[REVERSE], wrote[SORT], new, strict=True))
    right = sum(a == word[::-1] for a, _, word in pairs)
    bag = sum(sorted(a) == sorted(word) for a, _, word in pairs)
    in_order = sum(b == sorted(word) for _, b, word in pairs)
    return right / n, bag / n, in_order / n


# %% tags=["surprise"]
from math import factorial

print("letters  reversed  its letters, any order  sorted  a guess at the order")
for length in range(3, 7):
    right, bag, in_order = exam(models["none"], length)
    print(f"{length:>7}  {right:8.1%}  {bag:22.1%}  {in_order:6.1%}  {1 / factorial(length):20.1%}")
    assert right < 3 / factorial(length) + 0.05
    assert bag > right + 0.3
    assert in_order > right + 0.2

# %% [markdown]
# It knows *which* letters, and guesses their order. Four letters have $4! = 24$ orders, so a guess
# is right once in 24 times, 4.2% (the last column). Sorting needs no order in the source, so there
# it does far better.

# %% [markdown]
# ## The idea: a row of clocks
#
# Write a place as a few numbers between -1 and 1, different for each place, so that a step is easy
# to see. A clock does it. Take several hands that turn at different speeds. After one
# step the fast hand has moved far, the slow one hardly. Read all hands, and you have the place.

# %% A row of clocks tags=["slide", "fold"]
from math import cos, sin

shown, speeds, body = [0, 1, 2, 3, 10, 60], [1.0, 0.1, 0.01], []
for column, place in enumerate(shown):
    cx = 150 + 84 * column
    body.append(text(cx, 18, f"place {place}", 14, bold=True))
    for row, speed in enumerate(speeds):
        cy = 66 + 76 * row
        tip = cx + 28 * sin(speed * place), cy - 28 * cos(speed * place)
        body.append(
            f'<circle cx="{cx}" cy="{cy}" r="30" fill="none" stroke="{ROLES["score"]}"/>'
        )
        body.append(arrow(cx, cy, *tip, "query", 2.5))
for row, speed in enumerate(speeds):
    body.append(text(52, 58 + 76 * row, f"hand {row}", 14, bold=True))
    body.append(text(52, 76 + 76 * row, f"{speed:g} a step", 13))
show(
    svg(630, 262, body),
    "Three clocks at the places 0, 1, 2, 3, 10 and 60. The first hand turns by one radian a step, "
    "the second by a tenth, the third by a hundredth.",
)

# %% [markdown]
# *Each column is one place. All hands start at twelve and turn clockwise, by 1, 0.1 and 0.01
# radians a step (a full turn is 6.28).*
#
# The position of a hand's tip is two numbers: how far right, the **sine** of its angle, and how far
# up, the **cosine**. The encoding is these pairs, hand after hand.

# %% [markdown]
# ## By hand: three places, four dimensions
#
# With four dimensions there are two hands. The Transformer lets the first turn by 1 radian a step,
# and the second by $1 / 10000^{2/4} = 1/100$.
#
# | place | sin(place) | cos(place) | sin(place / 100) | cos(place / 100) |
# |---|---|---|---|---|
# | 0 | 0 | 1 | 0 | 1 |
# | 1 | 0.841 | 0.540 | 0.010 | 1.000 |
# | 2 | 0.909 | -0.416 | 0.020 | 1.000 |
#
# In general, let $pos$ be the place and $d$ the number of dimensions. Hand $i$, counted from 0,
# turns by $1 / 10000^{2i/d}$ a step. Its pair stands in the columns $2i$ and $2i + 1$:
#
# $$\mathrm{PE}[pos, 2i] = \sin\!\left(\frac{pos}{10000^{2i/d}}\right) \qquad
# \mathrm{PE}[pos, 2i+1] = \cos\!\left(\frac{pos}{10000^{2i/d}}\right)$$


# %%
def waves(places, d):
    speeds = 10_000.0 ** -(torch.arange(0, d, 2).double() / d)  # (d / 2,)
    angles = places[:, None] * speeds  # (T, d / 2)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)  # (T, d)


table = waves(torch.arange(3), 4)
by_hand = torch.tensor([[0, 1, 0, 1], [0.841, 0.540, 0.010, 1], [0.909, -0.416, 0.020, 1]])
assert torch.allclose(table, by_hand.double(), atol=6e-4)
places = torch.arange(1000)
difference = (waves(places, 64) - SinusoidalPosition(64).table(places)).abs()
assert difference.max() < 1e-6
table

# %% [markdown]
# `SinusoidalPosition` is the library's class; the two agree. From here on we use the class. Its
# `embed(x, positions)` adds the rows to the word vectors. Now the whole table, 64 places in 64
# dimensions:

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive.page.plotting import DIVERGING, with_alt

figure = Figure(figsize=(6.6, 3.9))
axes = figure.add_subplot()
image = axes.imshow(SinusoidalPosition(64).table(torch.arange(64)), cmap=DIVERGING, vmin=-1, vmax=1)
axes.set(xlabel="dimension: sin, cos of hand 0, sin, cos of hand 1, ...", ylabel="place")
axes.spines[:].set_visible(False)
figure.colorbar(image, ax=axes, shrink=0.85)
with_alt(
    figure,
    "A table of 64 places down and 64 dimensions across. The columns on the left change colour "
    "every few places, those further right ever more slowly; on the right, columns of 0 and of 1 "
    "alternate.",
)

# %% [markdown]
# *One row is one place. On the left, the fast hands: their colour changes every few places. On the
# right, hands so slow that in 64 places the sine stays near 0 and the cosine near 1.*

# %% [markdown]
# ## A step is a turn
#
# Go $k$ places further. Each hand turns by $k$ times its speed, **wherever it stood**. Turning by
# an angle is a 2 x 2 matrix, the same for all places. With $\omega$ the hand's speed:
#
# $$\begin{pmatrix} \sin \omega(pos + k) \\ \cos \omega(pos + k) \end{pmatrix} =
# \begin{pmatrix} \cos \omega k & \sin \omega k \\ -\sin \omega k & \cos \omega k \end{pmatrix}
# \begin{pmatrix} \sin \omega\, pos \\ \cos \omega\, pos \end{pmatrix}$$
#
# By pencil, from place 1 to place 2 with the first hand ($\omega = 1$, $k = 1$):
#
# - sine: $0.540 \cdot 0.841 + 0.841 \cdot 0.540 = 0.909$
# - cosine: $-0.841 \cdot 0.841 + 0.540 \cdot 0.540 = -0.416$
#
# That is the third row of the table above. For all hands, put the 2 x 2 blocks on the diagonal of
# one matrix $R_k$. (In code an encoding is a row, so it is multiplied by the transpose.)


# %%
def turn(k, d):
    """The matrix R_k with PE[pos + k] = R_k PE[pos] for every pos."""
    angles = k * 10_000.0 ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    blocks = [[[cos(a), sin(a)], [-sin(a), cos(a)]] for a in angles.tolist()]
    return torch.block_diag(*[torch.tensor(block, dtype=torch.float64) for block in blocks])


PE = SinusoidalPosition(64).table(torch.arange(1007))
error = (PE[:1000] @ turn(7, 64).T - PE[7:]).abs().max()
assert error < 1e-6
assert torch.allclose(turn(7, 64) @ turn(7, 64).T, torch.eye(64).double())
print(f"R_7 takes 1,000 places 7 further; largest error below 1e-6: {bool(error < 1e-6)}")

# %% [markdown]
# Turning changes no length and no angle between vectors. What does that say of the dot product of
# two places?

# %% tags=["fold"]
predict(
    "The encodings of places 3 and 10 have some dot product. Places 500 and 507 have ...",
    ["the same one", "a smaller one: they are further out", "another one, with no rule"],
    answer=0,
    explain="Both pairs are 7 apart. Turn the first pair by R_497 and you have the second; a turn "
    "keeps every dot product.",
    key="02_transformer/equal-offsets",
)

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %% tags=["surprise"]
assert torch.isclose(PE[3] @ PE[10], PE[500] @ PE[507])
print(f"3 and 10: {PE[3] @ PE[10]:.3f}   500 and 507: {PE[500] @ PE[507]:.3f}")

# %% tags=["fold"]
offsets = torch.arange(-60, 61)
figure = Figure(figsize=(6.6, 2.9))
axes = figure.add_subplot()
for middle, mark in ((100, "-"), (500, ":")):
    axes.plot(offsets, PE[middle + offsets] @ PE[middle], mark, lw=2.5, label=f"place {middle}")
axes.set(xlabel="distance", ylabel="dot product", ylim=(0, None))
axes.legend()
with_alt(
    figure,
    "Dot product of a place with the places up to 60 before and after it. The curves for place 100 "
    "and place 500 lie on each other: a peak of 32 at distance 0 that falls off, with small waves, "
    "and is the same to both sides.",
)

# %% [markdown]
# *One curve, whatever the place: the dot product depends on the distance alone. Near places are,
# on the whole, more alike than far ones. The curve is the same to the left and to the right, so
# the bare dot product cannot tell before from after.*
#
# A head can, because its query matrix may turn. Let the query be $R_{-3}\,\mathrm{PE}[pos]$, which
# is $\mathrm{PE}[pos - 3]$. Its best key is then three places back, at every place, with one fixed
# matrix. (Here the places stand alone. A real head gets word plus place, and must learn to leave
# the word aside.) (`scale=1.0` leaves out the division by $\sqrt d$, so the weights are sharp.)

# %%
from deepdive.inspect import record
from deepdive.page.plotting import heads

attend, back = SoftmaxAttention(), turn(-3, 64)
maps, starts = [], [0, 500]
for start in starts:
    keys = PE[start : start + 12]
    queries = keys @ back.T
    with record(attend, "weights") as seen:
        attend(queries[None, None], keys[None, None], keys[None, None], scale=1.0)
    maps.append(seen["weights"][0][0, 0])
    assert (maps[-1].argmax(-1)[3:] == torch.arange(9)).all()
ticks = [f"+{i}" for i in range(12)]
heads(torch.stack(maps), ticks, ticks, names=[f"places {s} to {s + 11}" for s in starts])

# %% [markdown]
# *A head made by hand that looks three places back, left at the start of a text, right 500 places
# in. The first three rows would look before the window, and take the nearest key that there is.*
#
# This is why the paper chose sines: a head can attend by *distance*. The KAIST slides ([the
# lectures](00_opening.ipynb)) add that such positions are better than learned ones for lengths not
# seen in training. A head **can**; whether a trained model **does** is measured below.

# %% [markdown]
# ## Two layouts of one table
#
# Many programs do not interleave. They put all sines first, then all cosines. That *is* the same
# encoding with its columns in another order:

# %%
from deepdive.positions import BlockedSinusoidalPosition

d, places = 64, torch.arange(64)
interleaved = SinusoidalPosition(d).table(places)
blocked = BlockedSinusoidalPosition(d).table(places)
assert torch.equal(torch.cat((interleaved[:, 0::2], interleaved[:, 1::2]), 1), blocked)
assert torch.allclose(interleaved @ interleaved.T, blocked @ blocked.T)
print("same columns, another order; every dot product the same")

# %% tags=["fold"]
figure = Figure(figsize=(7.2, 3.0))
grid = figure.subplots(1, 2, sharey=True)
titles = ["interleaved", "two blocks"]
for axes, form, title in zip(grid, (interleaved, blocked), titles, strict=True):
    image = axes.imshow(form, cmap=DIVERGING, vmin=-1, vmax=1)
    axes.set(title=title, xlabel="dimension")
    axes.spines[:].set_visible(False)
grid[0].set_ylabel("place")
figure.colorbar(image, ax=grid.tolist(), shrink=0.85)
with_alt(
    figure,
    "Two tables of 64 places by 64 dimensions. On the left sines and cosines alternate; on the "
    "right the left half holds all sines and the right half all cosines.",
)

# %% [markdown]
# *The same numbers twice: `SinusoidalPosition` and `BlockedSinusoidalPosition`. A picture of the
# right-hand kind beside the left-hand formula is no contradiction.*
#
# A model trained from scratch does not care: the weights that read column 1, the cosine of the
# first hand, can as well read column 32, where it stands now. A *trained* model cares very much:
# the common mistake below.

# %% [markdown]
# ## Learned places, and their end
#
# The other way: one trained vector for each place, a table like that of the words. GPT-2 and BERT
# do so. The table has a last row:

# %%
from deepdive.positions import LearnedPosition

try:
    LearnedPosition(16, 64).embed(torch.zeros(1, 20, 64), torch.arange(20))
except ValueError as error:
    print(str(error).replace(": ", ":\n  "))

# %% [markdown]
# Train both kinds on the two tasks. The learned table has 16 rows. The task stands at place 0 and
# the letters from place 1 on, so words of up to 6 letters train only the first seven rows.

# %%
schemes = {"sinusoidal": SinusoidalPosition, "learned": lambda d: LearnedPosition(16, d)}
models |= {name: train(scheme) for name, scheme in schemes.items()}

# %% [markdown]
# What do they do with words longer than any in training?

# %% tags=["fold"]
predict(
    "Trained on 3 to 6 letters. How many 8-letter words does the sinusoidal model reverse?",
    ["most: the waves go on beyond 6", "about half", "hardly any"],
    answer=2,
    explain="The encoding goes on; the model does not. It has learned what to do with the turns of "
    "the hands that it saw, and places 7 and 8 are turns that it never met.",
    key="02_transformer/extrapolation",
)

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %%
lengths, asked = list(range(3, 11)), pick(ci=50, laptop=100, gpu=200)
grades = {name: [exam(model, n, asked) for n in lengths] for name, model in models.items()}
print(f"{asked} words of each length; the table before had other words, 200 of each")
print("reversed   " + "".join(f"{n:>6}" for n in lengths))
for name, rows in grades.items():
    print(f"{name:>10} " + "".join(f"{row[0]:6.0%}" for row in rows))
for name in schemes:
    assert grades[name][1][0] > 0.6  # 4 letters

# %% [markdown]
# Within the trained lengths the two kinds of position do the same job. The paper found this too:
# in its table of variations, learned positions (row E) reach 25.7 BLEU on English-German, and the
# sines 25.8.

# %% Words longer than any in training tags=["slide", "surprise"]
figure = Figure(figsize=(7.4, 2.9))
grid = figure.subplots(1, 2, sharey=True)
for axes, column, title in zip(grid, (0, 2), ("reverse", "sort"), strict=True):
    for (name, rows), mark in zip(grades.items(), ("^:", "o-", "s--"), strict=True):
        axes.plot(lengths, [row[column] for row in rows], mark, label=name)
    axes.axvline(6.5, color="#8a8a8a", linewidth=1)
    axes.text(6.7, 0.95, "never seen in training", fontsize=9, color="#8a8a8a")
    axes.set(title=title, xlabel="letters", ylim=(-0.03, 1.03), xlim=(2.7, 10.3))
grid[0].set_ylabel("share of words right")
grid[1].legend(loc="lower left")
with_alt(
    figure,
    "Share of words right against their length. Reversing: with positions high up to 6 letters and "
    "0 from 8 on; without positions low throughout. Sorting: all fall beyond 6 letters, the "
    "model without positions the least.",
)

# %%
for name in schemes:
    assert grades[name][5][0] < 0.1  # 8 letters
    assert grades[name][5][2] < grades["none"][5][2] - 0.1
print("reversed, 8 letters:", *(f"{name} {rows[5][0]:.0%}" for name, rows in grades.items()))
print("sorted, 8 letters:  ", *(f"{name} {rows[5][2]:.0%}" for name, rows in grades.items()))

# %% [markdown]
# *Right of the line: lengths never seen in training. Every curve falls there, or lies on the floor
# already.*
#
# Of the hope of the KAIST slides little is left. Two letters beyond training, both kinds of
# position hardly reverse a word. (The paper says only that sines *may* allow it.) And positions can
# hurt. Sorting does not need the order of the source, and the model without positions loses least.
#
# Where does it go wrong? Look at how the decoder attends to the source, for a word that fits and
# for one that is too long.

# %%
def look(model, word):
    source = [REVERSE, *(letters.index(c) for c in word)]
    prefix = torch.tensor([[BOS, *source[:0:-1]]])
    with record(model, "decoder.*.cross.mechanism.weights") as seen, torch.no_grad():
        model(torch.tensor([source]), prefix)
    (weights,) = next(iter(seen.values()))  # (1, 2, T, S)
    rows, names = [*word[::-1], "end"], [f"{word}, head {i}" for i in range(2)]
    return heads(weights[0], rows, ["task", *word], names=names)


look(models["sinusoidal"], "stream")

# %%
look(models["sinusoidal"], "waterfall")

# %% [markdown]
# *Queries are the letters being written. Above, a word of trained length: the weights run along the
# mirror line. Below, a longer one: the first letter written should look at the last column, and
# does not.*
#
# Training never went beyond place 6. Over many words of nine letters: where does the first letter
# written look, in each model? Its answer, the last letter, lies at place 9.

# %%
new = [word for word, _ in reversal(200, length=(9, 9), vocab=26, seed=3)]
print("weight by place " + "".join(f"{place:>5}" for place in range(10)))
for name in schemes:
    with record(models[name], "decoder.*.cross.mechanism.weights") as seen, torch.no_grad():
        models[name](torch.tensor([[REVERSE, *w] for w in new]), torch.full((200, 1), BOS))
    (first,) = next(iter(seen.values()))  # (200, 2, 1, 10)
    by_place = first.mean((0, 1, 2))
    print(f"{name:>15} " + "".join(f"{weight:5.2f}" for weight in by_place))
    assert by_place[9] < 0.2

# %% [markdown]
# Neither finds the end. The learned rows beyond 6 were never trained, so that model points at the
# old end. The waves beyond 6 at least continue those before: there the weight may slip on by a
# place or two, and with it, in the table above, some words of seven letters. At the
# end, place 9, there is next to no weight, so neither of the two heads has learned "the last one".
#
# To stay right at any length, put the *distance* into the attention itself rather than the place
# into the word: that is what relative and rotary positions do
# ([page 5.8](../05_efficient/08_positions.ipynb)). Or train on the lengths you need.

# %% [markdown]
# ### Common mistake: trained weights, the other layout
#
# You have weights that were trained with interleaved waves, and a program that builds two blocks.
# The encoding has no parameters, so it is not in the file. Loading is strict, and finds nothing
# missing:

# %%
other = build(BlockedSinusoidalPosition)
missing, unexpected = other.load_state_dict(models["sinusoidal"].state_dict(), strict=True)
print(f"missing: {missing}, unexpected: {unexpected}")
word = torch.tensor([[REVERSE, *(letters.index(c) for c in "bird")]])
for name, model in {"as trained": models["sinusoidal"], "other layout": other}.items():
    share, wrote = exam(model, 4)[0], greedy(model, word, max_length=6)[0]
    print(f"{name:>12}: bird -> {''.join(letters[i] for i in wrote)}; ", end="")
    print(f"{share:.0%} of the 4-letter words reversed")
    assert share > 0.5 if name == "as trained" else share < 0.3

# %% [markdown]
# **Symptom:** no error and no warning; letters of the word come out, at wrong places. What stands
# in the source is known, where it stands is garbled. The same comes from a table that starts at
# place 1 instead of 0, or from a speed $10000^{-i/(d/2-1)}$ (tensor2tensor, fairseq) in place of
# $10000^{-2i/d}$.
#
# **Mend:** the layout belongs to the checkpoint. Marian's weights need
# `BlockedSinusoidalPosition(d)`, fairseq's `BlockedSinusoidalPosition(d, steps=d / 2 - 1,
# offset=2)`. Test it with one output that is known from the original program.

# %% [markdown]
# ## What differs
#
# | | none | sinusoidal | learned |
# |---|---|---|---|
# | an encoder knows the order | no | yes | yes |
# | parameters | 0 | 0 | max_length x d_model |
# | a shift by k is one matrix | - | yes, a turn, at every place | up to d_model places: some do |
# | beyond its last place | - | it has none | raises an error |
# | reverses words longer than in training (here) | no | no | no |
# | used by | some decoders | Transformer, Marian | BERT, GPT-2 |
#
# *The third line.* A matrix can send any `d_model` independent rows wherever one likes, so a short
# learned table has a matrix for each shift too. That matrix is no turn, and it knows nothing of
# further places. With many more rows than columns there is, as a rule, none.
#
# ## In practice
#
# - **Add positions to the embeddings before the first layer**, after the embeddings were multiplied
#   by $\sqrt d$, as the paper does ([2.11](11_encoder.ipynb) gives a reason, and measures how
#   little it matters in a toy).
# - **Compute the angles in float32 or float64**, then cast. bfloat16 keeps 8 binary digits: place
#   257 becomes 256 there.
# - **Pad on the right** with absolute positions, or pass the positions: padding on the left moves
#   every word to another place.
# - **Test at the lengths you will meet**, by length. An average over a test set of short sentences
#   hides the cliff.
# - **A causal decoder is not blind**: row $t$ sees $t + 1$ keys, and a model can read its place off
#   that ([masks](07_masks.ipynb)). The model without positions had no other clue.

# %% [markdown]
# ## If your slides print another exponent
#
# Three lectures print the encoding, and not all the same:
#
# | source | sine, column $2i$ | cosine, column $2i+1$ |
# |---|---|---|
# | the paper; KAIST; Straka | $\sin(pos / 10000^{2i/d})$ | $\cos(pos / 10000^{2i/d})$ |
# | Fleuret | $\sin(t / 10000^{2i/d})$ | $\cos(t / 10000^{(2i+1)/d})$ |
#
# Look at the last exponent. In Fleuret's slide the cosine has a speed of its own: no longer two
# readings of one hand, but one reading each of two hands. The turn needs *both* numbers of a hand.

# %% tags=["fold"]
predict(
    "With Fleuret's printed form, is the dot product of places 7 apart still the same everywhere?",
    ["yes: it is still sines and cosines", "nearly: it varies by a per cent or so", "no"],
    answer=2,
    explain="sin a sin b + cos a cos b = cos(a - b) needs the sine and the cosine of the same "
    "angles. With two speeds the places do not cancel. Even the length of the vector varies.",
    key="02_transformer/printed-forms",
)

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %%
def fleuret(places, d):
    column = torch.arange(d, dtype=torch.float64)
    angles = places.double()[:, None] * 10_000.0 ** (-column / d)  # a speed for each column
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


def best_shift(table, k=7):
    """Root mean square error of the best matrix M with table[pos] M = table[pos + k]."""
    now, later = table[:-k], table[k:]
    M = torch.linalg.lstsq(now, later).solution
    return (now @ M - later).pow(2).mean().sqrt().item()


forms = {"KAIST, Straka": SinusoidalPosition(8).table(torch.arange(1007))}
forms["Fleuret"] = fleuret(torch.arange(1007), 8)
print("                length of PE    PE[p] . PE[p + 7]    best matrix misses by")
for name, form in forms.items():
    lengths, dots = form.norm(dim=1), (form[:-7] * form[7:]).sum(1)
    print(f"{name:>13}   {lengths.min():.2f} to {lengths.max():.2f}    {dots.min():.2f} to "
          f"{dots.max():.2f}         {best_shift(form):.3f}")  # fmt: skip
assert best_shift(forms["KAIST, Straka"]) < 1e-6 < 0.1 < best_shift(forms["Fleuret"])

# %% tags=["fold"]
figure = Figure(figsize=(6.6, 2.6))
axes = figure.add_subplot()
for (name, form), mark in zip(forms.items(), ("-", "--"), strict=True):
    axes.plot((form[:-7] * form[7:]).sum(1)[:200], mark, label=name)
axes.set(xlabel="place", ylabel="dot product", ylim=(0, None), title="a place with the one 7 on")
axes.legend(ncols=2)
with_alt(
    figure,
    "Dot product of each place with the place 7 further, 8 dimensions. In the paper's form a level "
    "line; in the form of Fleuret's slide a curve that swings from under half that level to one "
    "and a half times it.",
)

# %% [markdown]
# *8 dimensions, 200 places. Level: a distance looks the same everywhere. Swinging: it does not.*
#
# In Fleuret's form every place still has another vector, and a model can learn from it, but no
# matrix moves it by $k$. Take the exponent $2i/d$ in both columns.

# %% [markdown]
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. Without positions, what did the model get right in nearly all reversed words, and what did it
#    guess? At which task did the same model do well?
#
#    <details><summary>Answer</summary>
#
#    Their letters. The order, right about once in $n!$ (1/120 for five letters). Sorting, which
#    needs no order in the source.
#
#    </details>
# 2. With $d = 4$, by how many radians does the slow hand turn from place 100 to place 300? And
#    from 500 to 700?
#
#    <details><summary>Answer</summary>
#
#    It turns by 1/100 a step, so by 2 radians, both times. The turn depends on the distance
#    alone, so one matrix $R_{200}$ does it at every place.
#
#    </details>
# 3. The dot product of two encodings is the same for 3 places back and 3 places on. How does a
#    head look 3 places back all the same?
#
#    <details><summary>Answer</summary>
#
#    Its query matrix turns the query by $R_{-3}$, so the query is the encoding of $pos - 3$. That
#    key fits best, at every place, with one fixed matrix.
#
#    </details>
# 4. In words of nine letters, where did the first letter written look, and where should it have
#    looked?
#
#    <details><summary>Answer</summary>
#
#    At the end of the trained words: place 6, or with sines a place or two beyond it. The last
#    letter stands at place 9. The model learned places, not "the last one".
#
#    </details>
# 5. Trained weights were loaded strictly into a model with the other layout. Nothing was missing,
#    and yet it no longer reversed. Why?
#
#    <details><summary>Answer</summary>
#
#    The encoding has no parameters, so it is not in the file, and no check can miss it. The
#    weights read columns by number, and the same columns now hold other waves.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(pencil, 4 min)* Write the encoding of place 3 in four dimensions. Use $\sin 3 = 0.141$ and
#    $\cos 3 = -0.990$.
#
#    <details><summary>Answer</summary>
#
#    $(0.141, -0.990, 0.030, 1.000)$: for small angles the sine is the angle, 3 / 100.
#
#    </details>
# 2. *(pencil, 5 min)* Turn place 1's first pair by $k = 2$ with the matrix. Do you get place 3's?
#    Use $\cos 2 = -0.416$, $\sin 2 = 0.909$.
#
#    <details><summary>Answer</summary>
#
#    Sine: $-0.416 \cdot 0.841 + 0.909 \cdot 0.540 = 0.141$.
#    Cosine: $-0.909 \cdot 0.841 - 0.416 \cdot 0.540 = -0.989$. Yes, to rounding.
#
#    </details>
# 3. *(derive, 6 min)* What is the dot product of a place with itself? With the place $k$ further,
#    as a formula?
#
#    <details><summary>Answer</summary>
#
#    Each pair gives $\sin^2 + \cos^2 = 1$, so $d/2$. With the place $k$ further each pair gives
#    $\cos \omega_i k$, so $\sum_i \cos(\omega_i k)$.
#
#    </details>
# 4. *(predict, then run, 10 min)* Train the sinusoidal model on words of 3 to 9 letters, but leave
#    out those of 7. Does it reverse words of 7?
#
#    <details><summary>Hint</summary>
#
#    Filter `words` by length. Place 7 is now seen; only the length is new.
#
#    </details>
#
#    <details><summary>Answer</summary>
#
#    It does, nearly as well as words of 6 and of 8. `LearnedPosition` does too, though its row 7
#    was never the row of the end. So neither knows each length by heart: what they learned fills
#    gaps, and fails only beyond its range. (One run of 1,000 steps, words of 6, 7, 8 and 10
#    letters: sines 94, 91, 92 and 2%; learned 96, 92, 88 and 0%.)
#
#    </details>
# 5. *(measure, 15 min)* Give the learned table the waves as its first values, and train. Are the
#    trained rows still waves? Compare the dot products before and after.
#
#    <details><summary>Answer</summary>
#
#    Rows 7 to 15 are: no word reaches them, so no gradient does, and they stay as they were, to
#    the last digit. Rows 0 to 6 are not.
#
#    Before training, the dot products of rows 1 and 4, 2 and 5, 3 and 6 are equal, 25.6, since the
#    distance is 3 each time. After one run of 1,000 steps: 21.3, 22.4, 23.4. Nothing in the loss
#    ties these pairs together. The turn was put in by hand; training does not keep it.
#
#    </details>

# %%
# The answers to 1, 2 and 3, checked.
third = SinusoidalPosition(4).table(torch.tensor([3]))[0]
assert torch.allclose(third, torch.tensor([0.141, -0.990, 0.030, 1.0]).double(), atol=1e-3)
assert torch.allclose(turn(2, 4) @ waves(torch.tensor([1]), 4)[0], third)
speeds = 10_000.0 ** (-torch.arange(0, 64, 2) / 64)
assert torch.isclose(PE[9] @ PE[9], torch.tensor(32.0).double())
assert torch.isclose(PE[9] @ PE[14], (5 * speeds).cos().sum().double(), atol=1e-4)
assert best_shift(torch.randn(16, 64)) < 1e-5  # 16 learned rows: some matrix shifts them,
assert best_shift(torch.randn(200, 64)) > 0.1  # 200 rows: none does
assert factorial(4) == 24
assert round(2 * torch.pi, 2) == 6.28
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## In three sentences
#
# Attention without positions sees a bag of words: it can sort a word's letters, but not reverse
# them. The sinusoidal encoding reads each place off hands that turn at different speeds, so a shift
# is a turn by a fixed matrix and a dot product depends on distance alone. A head can use that at
# any place, yet a model trained on short words does not learn to: two letters beyond the trained
# lengths, reversing fails with sines as with learned rows.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.5: the formula, and why sines;
#   table 3, row E: learned positions do as well.
# - Gehring et al. (2017), *Convolutional Sequence to Sequence Learning*, section 3.1: learned
#   positions before the Transformer.
# - Press, Smith, Lewis (2022), *Train Short, Test Long*, figure 1: sines fail beyond the trained
#   length in language models too.
# - Haviv et al. (2022), *Transformer Language Models without Positional Encodings Still Learn
#   Positional Information*: what the causal mask gives away.
# - tensor2tensor, [issue 1423](https://github.com/tensorflow/tensor2tensor/issues/1423): why the
#   original program and the paper print the encoding differently.

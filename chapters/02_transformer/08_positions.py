# %% [markdown]
# # Positional encoding: a row of clocks
#
# *the dog bites the man* and *the man bites the dog* hold the same five words. What tells attention
# who bites?
#
# <small>Prerequisites: [attention](02_attention.ipynb), [self-attention](05_self_attention.ipynb),
# [masks](07_masks.ipynb) · 25 min · runs on a laptop</small>

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
# %% Show the clocks tags=["fold"]
import torch

from deepdive.positions import SinusoidalPosition
from deepdive_book.ch02.figures.sinusoidal_clocks import sinusoidal_clocks

table = SinusoidalPosition(8).table(torch.arange(64))
rows = 2 * torch.eye(8)[:4]  # one number for each word: dog is 0 2 0 0 0 0 0 0
words = dict(zip(["the", "dog", "bites", "man"], rows.tolist(), strict=True))
sinusoidal_clocks(table, sentences=["the dog bites the man", "the man bites the dog"], words=words)

# %% [markdown]
# *Choose* dog *in the first sentence, then* dog *in the second. The word keeps its row of numbers
# (made up here: one 2 among zeros), and the place has another. Then move the slider and watch the
# hands: the first is fast, the last hardly moves.*
#
# Attention compares rows of numbers, and adds some of them up. A sum does not know in which order
# its parts came. So the order must be written into the rows themselves. A **position encoding** is
# a row of numbers for the place, added to the row of the word. On this page you invent one, and
# then ask a trained model who bites.

# %% [markdown]
# ## Blind to order
#
# First a model without any positions. It is a small Transformer that reads a sentence and answers
# with one word: who did it? The sentences are generated: *the cook calls the king*, or the same
# turned round, *the king is called by the cook*. The dog and the man never meet in training.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Without positions, the model is asked who bites in “the dog bites the man”, and then in “the "
    "man bites the dog”. What can it answer?",
    ["dog, then man", "one of the two at random, each time anew", "the same word both times"],
    answer=2,
    explain="Both sentences are the same bag of words, so the model sees the same thing twice. "
    "Whatever it answers, it answers twice, and at least one of the answers is wrong.",
    key="02_transformer/blind-to-order",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Make the sentences tags=["fold", "nbval-check-output"]
import random

NOUNS = ["dog", "man", "cat", "bird", "child", "cook", "king", "thief", "nurse", "baker"]
BE = {"bites": "bitten", "sees": "seen", "calls": "called", "meets": "met", "hears": "heard"}
BE["helps"] = "helped"
FILL = ["today", "often", "still", "then", "so", "indeed"]
VOCAB = ["", "", "", "", "the", "is", "by", *NOUNS, *BE, *BE.values(), *FILL]
KEPT = [["dog", "man"], ["cat", "bird"], ["king", "thief"]]  # pairs that training never shows


def sentence(rng, before, pair=None):
    """A sentence after so many words that say nothing; who does it; to whom."""
    who, whom = pair or rng.sample(NOUNS, 2)
    does, done = rng.choice(list(BE.items()))
    forms = [f"the {who} {does} the {whom}", f"the {whom} is {done} by the {who}"]
    return " ".join([*rng.choices(FILL, k=before), rng.choice(forms)]), who, whom


rng = random.Random(1)
made = [sentence(rng, rng.randrange(4)) for _ in range(6000)]
made = [line for line in made if not any({*line[1:]} == {*pair} for pair in KEPT)]
len(made), made[0]

# %% Build and train the model tags=["fold"]
from deepdive.core import Position
from deepdive.data import BucketBatches
from deepdive.models.transformer.transformer import transformer
from deepdive.tokenizers import BOS, EOS
from deepdive.training import fit
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import adam, cosine


def build(position, vocab=32, seed=0):
    torch.manual_seed(seed)
    size = {"d_model": 64, "n_heads": 2, "n_layers": 1, "d_ff": 128, "dropout": 0.0}
    return transformer(vocab, position=position, **size)


def loss(model, batch):
    source, target = batch
    return cross_entropy(model(source, target[:, :-1], source != 0), target[:, 1:])


def train(model, batches, steps):
    plan = cosine(3e-3, warmup=steps // 6, total=steps)
    fit(model, batches, loss, steps=steps, optimizer=adam(model), schedule=plan, progress=False)
    return model


# %% Ask who bites tags=["surprise", "fold"]
from deepdive.decoding import greedy
from deepdive_book.kit.tables import table as results


def ids(text):
    return [VOCAB.index(word) for word in text.split()]


asked = [ids(text) for text, *_ in made], [[BOS, *ids(who), EOS] for _, who, _ in made]
told = BucketBatches(asked, max_tokens=400, seed=1)
blind = train(build(lambda d_model: Position(), len(VOCAB)), told, steps=300)


def answer(model, texts):
    out = greedy(model, torch.tensor([ids(text) for text in texts]), max_length=3)
    return [VOCAB[row[0]] for row in out]


both = ["the dog bites the man", "the man bites the dog"]
said = answer(blind, both)
assert said[0] == said[1]
results(list(zip(both, said, ["dog", "man"], strict=True)), ["sentence", "it says", "right is"])

# %% [markdown]
# It gives one answer to both questions, and cannot do otherwise. (The answer itself, *child*, is
# not even in the sentences: this pair was kept out of training.) Here is what reaches it, for the
# word *bites*:

# %% The same word in two sentences tags=["slide", "fold"]
from deepdive.core import SoftmaxAttention
from deepdive_book.kit.diagrams import ROLES, arrow, cells, svg, text
from deepdive_book.kit.plotting import show

pair = [["the", "dog", "bites", "the", "man"], ["the", "man", "bites", "the", "dog"]]
embedding = dict(zip(["dog", "man", "bites", "the"], torch.eye(4), strict=True))
body = [text(488, 16, "output for “bites”", 14, bold=True)]
body.append(text(408, 40, "words alone", 14, "query"))
body.append(text(568, 40, "words + positions", 14, "output"))
for y, line in zip((75, 125), pair, strict=True):
    x = torch.stack([embedding[word] for word in line])
    body += [text(30 + 62 * i, y, word, 16, bold=i == 2) for i, word in enumerate(line)]
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
# *On the left, words alone: the output for* bites *is the same in both sentences. On the right a
# row for the place was added to each word, and the outputs differ.*

# %% [markdown]
# ## Invent it: four tries
#
# You need a row of numbers for each place. What would you write?
#
# **1. The number itself:** 0, 1, 2, 3, ... The numbers in word rows are small. At place 500 the
# place would drown the word.
#
# **2. The share of the way:** 0 at the first word, 1 at the last. Now all is small, but a step
# means nothing fixed. It is 1/4 among five words, and 1/10 among eleven.
#
# **3. Binary digits.** They are small, and every place has its own:
#
# | place | fours | twos | ones |
# |---|---|---|---|
# | 0 | 0 | 0 | 0 |
# | 1 | 0 | 0 | 1 |
# | 2 | 0 | 1 | 0 |
# | 3 | 0 | 1 | 1 |
# | 4 | 1 | 0 | 0 |
#
# Read a column from top to bottom. The ones change at every step, the twos at every second, the
# fours at every fourth: wheels that turn at different speeds. But the wheels jump. From 3 to 4
# every digit changes, from 0 to 1 only one does, and yet both are one step.
#
# **4. Let the wheels turn smoothly.** A wheel that turns smoothly is the hand of a clock.

# %% [markdown]
# ## The idea: a row of clocks
#
# Take several hands that turn at different speeds. The first tells neighbors apart, and the slow
# ones tell near from far. Read all of them, and you have the place.
#
# How do you write down a hand with numbers? By where its tip is: how far right, which is the
# **sine** of its angle, and how far up, which is the **cosine**.

# %% [markdown]
# ## By hand
#
# Let one hand make a quarter turn a step. It starts at twelve, so its tip is 0 right and 1 up:
#
# | word | place | right | up |
# |---|---|---|---|
# | the | 0 | 0 | 1 |
# | dog | 1 | 1 | 0 |
# | bites | 2 | 0 | -1 |
# | the | 3 | -1 | 0 |
# | man | 4 | 0 | 1 |
#
# Place 4 has the row of place 0: after a full turn the hand says nothing new. That is why there
# are slower hands beside it.
#
# The Transformer's first hand turns by 1 radian a step (a full turn is 6.28), and the others ever
# more slowly. Let $pos$ be the place and $d$ the length of a row. Hand $i$, counted from 0, turns
# by $1 / 10000^{2i/d}$ a step. In the picture above $d$ is 8, so the four hands turn by 1, 1/10,
# 1/100 and 1/1000. Each fills two columns:
#
# $$\mathrm{PE}[pos, 2i] = \sin\!\left(\frac{pos}{10000^{2i/d}}\right) \qquad
# \mathrm{PE}[pos, 2i+1] = \cos\!\left(\frac{pos}{10000^{2i/d}}\right)$$
#
# In code:


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
# *Three places and two hands, of speed 1 and 1/100. Our four lines agree with the library's
# `SinusoidalPosition`, which the page uses from here on.*

# %% [markdown] tags=["aside"]
# ### The whole table, and a row of clocks to print
#
# The hands at six places. All start at twelve and turn clockwise.

# %% A row of clocks tags=["slide", "fold"]
from math import cos, sin

shown, speeds, body = [0, 1, 2, 3, 10, 60], [1.0, 0.1, 0.01], []
for column, place in enumerate(shown):
    cx = 150 + 84 * column
    body.append(text(cx, 18, f"place {place}", 14, bold=True))
    for row, speed in enumerate(speeds):
        cy = 66 + 76 * row
        tip = cx + 28 * sin(speed * place), cy - 28 * cos(speed * place)
        body.append(f'<circle cx="{cx}" cy="{cy}" r="30" fill="none" stroke="{ROLES["score"]}"/>')
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
# *Each column is one place. The hands turn by 1, 0.1 and 0.01 radians a step.*

# %% Draw the table tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import DIVERGING, with_alt

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

# %% [markdown] tags=["aside"]
# ### Why add, and not append?
#
# You could also write the place's numbers behind the word's. A matrix $W$ that reads the longer row
# has one part for the word and one for the place:
#
# $$W \begin{pmatrix} word \\ place \end{pmatrix} = W_1\, word + W_2\, place \qquad
# W\,(word + place) = W\, word + W\, place$$
#
# So to add is to append with $W_1 = W_2$. The row stays as short as before, and so do all matrices
# that read it. The price: word and place share the same numbers. With 64 or more of them there is
# room: a model can keep words in some directions and places in others. (In the first picture there
# are only 8, and they meet: the 2 of *dog* and the 0.54 of place 1 stand in one column.)

# %% [markdown]
# A check of the left-hand formula, with one matrix for both parts:

# %%
torch.manual_seed(0)
word, place, W = torch.randn(64), torch.randn(64), torch.randn(64, 64)
appended = torch.cat((W, W), dim=1) @ torch.cat((word, place))
torch.allclose(W @ (word + place), appended, atol=1e-4)

# %% [markdown] tags=["aside"]
# ### Why 10000?
#
# The number sets the slowest hand. It isn't needed to tell places apart: all hands together do
# that, even if the slowest one comes round within the text. What the number changes is how
# similarity falls with distance. Each line of the table is another number in place of 10000, with
# 64 columns. An alikeness is the dot product of two rows, divided by 32; it is 1 for a row with
# itself.

# %%
reach = torch.arange(2001)
lines = []
for base in (10.0, 100.0, 10_000.0, 1_000_000.0):
    rows = SinusoidalPosition(64, base=base).table(reach)
    alike = rows @ rows[0] / 32
    turn_takes = 2 * torch.pi * base ** (62 / 64)
    lines.append([f"{base:,.0f}", f"{turn_takes:,.0f}", *alike[[1, 5, 100]].tolist()])
head = ["in place of 10000", "slowest full turn, places", "1 apart", "5 apart", "100 apart"]
results(lines, head, formats=dict.fromkeys(head[2:], ".2f"))

# %% [markdown]
# *A small number gives fast hands: neighbors differ much, and similarity goes up and down with
# distance. A large one gives slow hands: similarity falls slowly and steadily, so places 5 and 100
# apart are more alike.*
#
# Far places don't look alike with a small number, either. In a rerun over places 0 to 2,000, the
# largest similarity beyond 20 places was 0.27 with 10, 0.63 with 10,000, and 0.76 with 1,000,000.
# The paper does not say why it took 10000. Models for long texts that turn queries and keys by
# such hands take larger ones ([page 5.8](../05_efficient/08_relative_positions.ipynb)).

# %% [markdown]
# ## A step is a turn
#
# In *the dog bites the man* the dog and the man stand three places apart. Is three places the same
# thing everywhere in a text? Attention compares rows by their dot product, so ask that.

# %% tags=["fold"]
predict(
    "The encodings of places 3 and 10 have some dot product. Places 500 and 507 have ...",
    ["the same one", "a smaller one: they are further out", "another one, with no rule"],
    answer=0,
    explain="Both pairs are 7 apart, so between the two places every hand has turned by the same "
    "angle. The dot product of two hands depends on the angle between them alone.",
    key="02_transformer/equal-offsets",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
PE = SinusoidalPosition(8).table(torch.arange(1007))
assert torch.isclose(PE[3] @ PE[10], PE[500] @ PE[507])
print(f"3 and 10: {PE[3] @ PE[10]:.3f}   500 and 507: {PE[500] @ PE[507]:.3f}")

# %% Compare two places tags=["fold"]
sinusoidal_clocks(SinusoidalPosition(8).table(torch.arange(64)), place=3, second=10)

# %% [markdown]
# *Two places on one set of clocks, the second dashed. Under each clock stands what it gives to the
# dot product: 1 where the two hands point the same way, 0 at a right angle, and -1 where they are
# opposite. Move both sliders by the same number of places: the sum stays.*
#
# Go three places further, and each hand turns by three times its speed, **wherever it stood**. So a
# step is the same turn everywhere. That is the point of the sines: a head can learn "three places
# back" once, and use it at every place.

# %% [markdown] tags=["aside"]
# ### The turn as a matrix, and a head that looks three places back
#
# Turning by an angle is a 2 x 2 matrix. With $\omega$ the hand's speed, $k$ places further:
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
# That is the row of place 2 in the code's output above. For all hands, put the 2 x 2 blocks on the
# diagonal of one matrix $R_k$. (In code an encoding is a row, so it is multiplied by the
# transpose.)


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

# %% Draw the dot product by distance tags=["fold"]
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
# *64 columns. One curve, whatever the place: the dot product depends on the distance alone. Near
# places are, on the whole, more alike than far ones. The curve is the same to the left and to the
# right, so the bare dot product cannot tell before from after.*
#
# A head can, because its query matrix may turn. Let the query be $R_{-3}\,\mathrm{PE}[pos]$, which
# is $\mathrm{PE}[pos - 3]$. Its most similar key is then three places back, at every place, with
# one fixed matrix. (Here the places stand alone. A real head gets word plus place, and must learn
# to leave the word aside. `scale=1.0` leaves out the division by $\sqrt d$, so the weights are
# sharp.)

# %% A head that looks three places back
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heads

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

# %% [markdown]
# ## Who bites?
#
# Now the model gets its clocks. Nothing else changes: the same sentences, the same 300 steps of
# training. We train it three times from different random starts, because one run may be luck. Each
# time it reads the two sentences of the opening question.

# %% Train with positions, three times tags=["fold"]
runs = [train(build(SinusoidalPosition, len(VOCAB), seed), told, steps=300) for seed in range(3)]
lines = [["no positions", *said]]
lines += [[f"with sines, run {i + 1}", *answer(model, both)] for i, model in enumerate(runs)]
assert sum(line[1:] == ["dog", "man"] for line in lines[1:]) >= 2
results(lines, ["model", *both])

# %% [markdown]
# *Who bites, by each model. With positions all three runs answer both questions rightly, for a pair
# that never met in training.*
#
# In training, at most three words stood before the sentence: *then so today the dog bites the man*.
# The clocks go on forever, and a step is the same turn everywhere. So put six words before it.

# %% tags=["fold"]
predict(
    "Six words stand before the sentence, where training had at most three. How often does the "
    "model with sines name the right one of the two?",
    [
        "nearly always: the clocks go on",
        "about half the time, like a coin",
        "less often than a coin would",
    ],
    answer=2,
    explain="The encoding goes on; the model does not. It learned what certain angles of the hands "
    "mean. At angles that it never met, it often names the other one, with confidence.",
    key="02_transformer/extrapolation",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% Count the right answers tags=["fold"]
def exam(model, before, n=200):
    """Shares of new sentences: it names the right one, or the other one of the two."""
    rng = random.Random(7)
    pairs = [rng.sample(rng.choice(KEPT), 2) for _ in range(n)]
    drawn = [sentence(rng, before, pair) for pair in pairs]
    right = other = 0
    for long in (5, 7):  # active and passive, each a batch
        some = [line for line in drawn if len(line[0].split()) == long + before]
        for out, (_, who, whom) in zip(answer(model, [t for t, *_ in some]), some, strict=True):
            right, other = right + (out == who), other + (out == whom)
    return right / n, other / n


befores = list(range(11))
grades = {"no positions": [exam(blind, before) for before in befores]}
grades |= {f"run {i + 1}": [exam(m, before) for before in befores] for i, m in enumerate(runs)}
at = [0, 3, 4, 6, 8, 10]
lines = [[name, *(shares[b][0] for b in at), shares[6][1]] for name, shares in grades.items()]
assert sum(grades[f"run {i}"][3][0] > 0.8 > 0.5 > grades[f"run {i}"][6][0] for i in (1, 2, 3)) >= 2
head = ["right", *(f"{b} before" for b in at), "wrong noun, 6 before"]
results(lines, head, formats=dict.fromkeys(head[1:], ".0%"))

# %% Later in the text than in training tags=["slide", "surprise", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.2, 3.2))
axes = figure.add_subplot()
for (name, shares), mark in zip(grades.items(), ("^:", "o-", "s-", "D-"), strict=True):
    axes.plot(befores, [right for right, _ in shares], mark, label=name, markersize=5)
axes.axvline(3.5, color="#8a8a8a", linewidth=1)
axes.text(3.7, 1.04, "never seen in training", color="#6a6a6a")
axes.set(xlabel="words before the sentence", ylabel="share of right answers", ylim=(-0.03, 1.12))
axes.legend(ncols=2, loc="upper right", bbox_to_anchor=(1, 0.92))
with_alt(
    figure,
    "Share of right answers against the number of words before the sentence. The three runs with "
    "sines stay near 1 up to three words, and at six words are below one half. The model without "
    "positions falls from 48% to 38%.",
)

# %% [markdown]
# *Right of the line: places that training never used. Each point is the share of 200 new sentences;
# a fair coin would stay between 43% and 57% at nearly all of them. The table's last column counts
# the sentences in which the model names the wrong noun of the two.*
#
# Without positions a model has one answer for both orders, so it is right about half the time. At
# six words all three runs with positions are below that. They do not guess: they name the wrong
# one of the two. More words before the sentence also change the number of filler words and the
# length of the text, and not only the places. The model without positions, which can't see places,
# falls as well. Shifting the position index without adding words would separate the two; this page
# doesn't do that. "A head **can** use distance" is true of the encoding. That a trained model
# **does** is another claim, and here it does not hold.
#
# What to do? Train at the lengths that you need. Or put the *distance* into attention itself, and
# not the place into the word: that is what relative and rotary positions do
# ([page 5.8](../05_efficient/08_relative_positions.ipynb)).

# %% [markdown] tags=["aside"]
# ## Learned places, and their end
#
# The other way to have a row for each place: train it, like the rows of the words. GPT-2 and BERT
# do so. Such a table has a last row:

# %%
from deepdive.positions import LearnedPosition

try:
    LearnedPosition(16, 64).embed(torch.zeros(1, 20, 64), torch.arange(20))
except ValueError as error:
    print(str(error).replace(": ", ":\n  "))

# %% [markdown]
# With sines a shift by $k$ is one matrix for all places. Does a learned table have such a matrix?
# That depends on how many rows it has. A matrix can send up to $d$ independent rows wherever one
# likes. So for a short table there is a matrix for every shift, whatever its rows are:


# %%
def best_shift(table, k=7):
    """Root mean square error of the best matrix M with table[pos] M = table[pos + k]."""
    now, later = table[:-k], table[k:]
    M = torch.linalg.lstsq(now, later).solution
    return (now @ M - later).pow(2).mean().sqrt().item()


torch.manual_seed(0)
tables = {f"{n} random rows": torch.randn(n, 64) for n in (16, 64, 200)}
lines = [[name, best_shift(rows)] for name, rows in tables.items()]
by_turn = (PE[:200] @ turn(7, 64).T - PE[7:207]).pow(2).mean().sqrt().item()
lines.append(["200 rows of sines, by the turn", by_turn])
assert max(lines[0][1], lines[1][1], by_turn) < 1e-4 < 0.1 < lines[2][1]
results(lines, ["64 columns", "best matrix for a shift by 7 misses by"],
        formats={"best matrix for a shift by 7 misses by": ".3f"})  # fmt: skip

# %% [markdown]
# *Random rows stand for a table before its training.* The matrix of a short table is no turn, and
# it knows nothing of further places. With many more rows than columns, random rows have none.

# %% [markdown] tags=["aside"]
# ## Reverse and sort: the same with letters
#
# A harder task than *who*: read 3 to 6 random letters, and write them backwards (**reverse**) or in
# alphabetical order (**sort**). One model learns both; the first source token says which is asked.
# Sorting needs no order in the source, and reversing nothing else.

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
# word. Three kinds of position are trained: none, sines, and a learned table with 16 rows. The task
# stands at place 0 and the letters from place 1 on, so only the first seven rows are trained.

# %%
from deepdive.positions import LearnedPosition
from deepdive_book.kit.profile import pick

schemes = {"sinusoidal": SinusoidalPosition, "learned": lambda d: LearnedPosition(16, d)}
kinds = {"none": lambda d_model: Position(), **schemes}
models = {name: train(build(kind), batches, steps=600) for name, kind in kinds.items()}
list(models)

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


# %% The model without positions
from math import factorial

print("letters  reversed  its letters, any order  sorted  a guess at the order")
for length in range(3, 7):
    right, bag, in_order = exam(models["none"], length)
    print(f"{length:>7}  {right:8.1%}  {bag:22.1%}  {in_order:6.1%}  {1 / factorial(length):20.1%}")
    assert right < 3 / factorial(length) + 0.05
    assert bag > right + 0.3
    assert in_order > right + 0.2

# %% [markdown]
# Without positions it knows *which* letters, and guesses their order. Four letters have $4!$
# orders, so a guess is right in 4.2% of cases (the last column). Sorting goes far better.

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
# Within the trained lengths both kinds of position reverse most words. In the paper's table of
# variations, learned positions (row E) reach 25.7 BLEU on English-German, and the sines 25.8. And
# on longer words?

# %% Words longer than any in training tags=["fold"]
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
    "Share of words right against their length. Reversing: with positions high up to 5 letters and "
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
# Two letters beyond training, both kinds of position hardly reverse a word. (The paper says only
# that sines *may* allow it.) And positions can hurt: sorting does not need the order of the source,
# and the model without positions loses least. Where does it go wrong? Look at how the decoder
# attends to the source, for a word that fits and for one that is too long.


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
# Over many words of nine letters: where does the first letter written look, in each model? Its
# answer, the last letter, lies at place 9.

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
# Neither finds the end. The weights stay near the places that were the end in training. No head has
# learned "the last one".

# %% [markdown] tags=["aside"]
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

# %% Draw both layouts tags=["fold"]
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
# see the common mistake.

# %% [markdown] tags=["aside"]
# ## Common mistake: trained weights, the other layout
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
# **Symptom:** no error and no warning; letters of the word come out, at wrong places. The same
# comes from a table that starts at place 1 instead of 0, or from a speed $10000^{-i/(d/2-1)}$
# (tensor2tensor, fairseq) in place of $10000^{-2i/d}$.
#
# **What to do:** the layout belongs to the checkpoint. Marian's weights need
# `BlockedSinusoidalPosition(d)`, fairseq's `BlockedSinusoidalPosition(d, steps=d / 2 - 1,
# offset=2)`. Test it with one output that is known from the original program.

# %% [markdown] tags=["aside"]
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
# #### Answer: open after you predict


# %%
def fleuret(places, d):
    column = torch.arange(d, dtype=torch.float64)
    angles = places.double()[:, None] * 10_000.0 ** (-column / d)  # a speed for each column
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


forms = {"KAIST, Straka": SinusoidalPosition(8).table(torch.arange(1007))}
forms["Fleuret"] = fleuret(torch.arange(1007), 8)
print("                length of PE    PE[p] . PE[p + 7]    best matrix misses by")
for name, form in forms.items():
    lengths, dots = form.norm(dim=1), (form[:-7] * form[7:]).sum(1)
    print(f"{name:>13}   {lengths.min():.2f} to {lengths.max():.2f}    {dots.min():.2f} to "
          f"{dots.max():.2f}         {best_shift(form):.3f}")  # fmt: skip
assert best_shift(forms["KAIST, Straka"]) < 1e-6 < 0.1 < best_shift(forms["Fleuret"])

# %% Draw the swing tags=["fold"]
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

# %% [markdown] tags=["aside"]
# ## How it differs
#
# | | none | sinusoidal | learned |
# |---|---|---|---|
# | an encoder knows the order | no | yes | yes |
# | parameters | 0 | 0 | max_length x d_model |
# | a shift by k is one matrix | - | yes, a turn | some matrix, for up to d_model independent rows |
# | beyond its last place | - | it has none | raises an error |
# | reverses words longer than in training (here) | no | no | no |
# | used by | some decoders | Transformer, Marian | BERT, GPT-2 |

# %% [markdown] tags=["aside"]
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
#   that ([masks](07_masks.ipynb)). The encoder without positions had no such clue.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Can the model without positions answer both opening questions rightly? Why?
#
#    <details><summary>Answer</summary>
#
#    No. Both sentences are the same bag of words, so its answer is the same. The dog bites in one
#    sentence and the man in the other.
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
#    key is the most similar one, at every place, with one fixed matrix.
#
#    </details>
# 4. In words of nine letters, where did the first letter written look, and where should it have
#    looked?
#
#    <details><summary>Answer</summary>
#
#    Near the end of the trained words, place 6. The last letter stands at place 9. The model
#    learned places, not "the last one".
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

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 4 min)* Write the encoding of place 3 in four dimensions. Use $\sin 3 = 0.141$ and
#    $\cos 3 = -0.990$.
#
#    <details><summary>Answer</summary>
#
#    $(0.141, -0.990, 0.030, 1.000)$: for small angles the sine is the angle, 3 / 100.
#
#    </details>
# 2. *(on paper, 5 min)* Turn place 1's first pair by $k = 2$ with the matrix. Do you get place 3's?
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
# 4. *(predict, 10 min)* Train the sinusoidal model on words of 3 to 9 letters, but leave
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
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# What tells attention who bites? Only the row of numbers that is added to each word for its place:
# without it our model gave one answer to *the dog bites the man* and *the man bites the dog*, and
# with it three runs of three told the two apart. The Transformer's row is a row of clocks, so a
# step is the same turn everywhere, and a dot product depends on the distance alone. The clocks run
# on beyond the places seen in training, but what the model learned about them does not: with six
# words before the sentence, it mostly named the wrong one (the added words themselves may have a
# part in that).
#
# <small>Book 2.4.1.2 · KAIST, Straka and Fleuret print the encoding too: see the section on
# exponents above.</small>
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.5: the formula, and why sines;
#   table 3, row E: learned positions.
# - Gehring et al. (2017), *Convolutional Sequence to Sequence Learning*, section 3.1: learned
#   positions before the Transformer.
# - Press, Smith, Lewis (2022), *Train Short, Test Long*, figure 1: sines fail beyond the trained
#   length in language models too.
# - Haviv et al. (2022), *Transformer Language Models without Positional Encodings Still Learn
#   Positional Information*: what the causal mask gives away.
# - tensor2tensor, [issue 1423](https://github.com/tensorflow/tensor2tensor/issues/1423): why the
#   original program and the paper print the encoding differently.

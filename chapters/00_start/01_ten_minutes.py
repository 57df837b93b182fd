# %% [markdown]
# # Attention in ten minutes
#
# Four animals hold one flag each. You hear *moo*: which color do you call? And how can a program
# learn to answer, if nobody tells it which animal moos?
#
# <small>Prerequisites: a little Python · 10 min · runs on a laptop · not new to you?
# [Diagnostic quiz](04_diagnostic.ipynb) say what to skip</small>

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

# %% Draw the arrows tags=["fold"]
from deepdive_book.ch00.figures.qkv_arrows import qkv_arrows

COLORS = {"red": (0.85, 0.1, 0.1), "blue": (0.1, 0.2, 0.85), "yellow": (0.95, 0.85, 0.1)}
COLORS |= {"green": (0.1, 0.6, 0.2), "white": (1.0, 1.0, 1.0)}

yard = {"cow": (0, 1), "duck": (1, 0), "cat": (-1, 0), "dog": (0, -1)}  # right, up
holds = {"cow": "red", "duck": "blue", "cat": "yellow", "dog": "green"}
named = {animal: (color, COLORS[color]) for animal, color in holds.items()}
picture = qkv_arrows("moo", (1, 2), yard, named)
picture

# %% [markdown]
# *Each animal has an arrow, in blue. The sound has one too, in orange. The amber band along an
# animal's arrow is as wide as its share of the answer, and the answer is a mixture of the flags.*
#
# Drag the tip of *moo* and try three things:
#
# 1. Make the answer blue.
# 2. Give the cow and the duck equal shares.
# 3. Point *moo* straight at the cow. Then make it longer, with the slider or by hand. What happens
#    to the shares?
#
# You have found two rules: the direction of *moo* decides who is heard, and its length decides how
# much the others still count. (Drag an animal's arrow too: a longer one is heard more by every
# sound that points its way.) What you moved is **attention**. Language models are built from it.
# Before you read on, watch the column of scores while you drag. Can you guess how a score comes
# from two arrows?

# %% [markdown]
# ## By hand: score, weigh, mix
#
# When the picture opens, *moo* is at $(1, 2)$: one step to the right and two steps up. The sound
# asks, so its arrow is called the **query**. The arrow of an animal is its **key**, and the flag
# that it can hand over is its **value**.
#
# **Score.** Multiply the two arrows place by place, and add. This is the **dot product**. It is
# large when two arrows point the same way, and below zero when they point apart.
#
# | | key | score with *moo*, $(1, 2)$ |
# |---|---|---|
# | cow | $(0, 1)$ | $0\cdot1 + 1\cdot2 = 2$ |
# | duck | $(1, 0)$ | $1\cdot1 + 0\cdot2 = 1$ |
# | cat | $(-1, 0)$ | $-1\cdot1 + 0\cdot2 = -1$ |
# | dog | $(0, -1)$ | $0\cdot1 - 1\cdot2 = -2$ |
#
# **Weigh.** Now turn the scores into shares, which must be positive and add up to one. Take
# $2.718$ (the number $e$) to the power of each score. Every result is positive, and one point more
# makes it 2.7 times as large. Then divide by the sum. These two steps are called the **softmax**.
#
# **Mix.** A color is three numbers: the amounts of red, green and blue light. The answer is the
# average of the four colors, and each counts by its share.
#
# In code these are three lines. `keys @ query` makes all four dot products at once.

# %%
import torch

from deepdive_book.kit.tables import table


def attention(query, keys, values):
    powers = (keys @ query).exp()  # score: one dot product for each key
    weights = powers / powers.sum()  # weigh: positive shares that sum to 1
    return weights @ values, weights  # mix: the average of the values


moo = torch.tensor([1.0, 2.0])
keys = torch.tensor([[0.0, 1], [1, 0], [-1, 0], [0, -1]])  # cow, duck, cat, dog
values = torch.tensor([COLORS[holds[animal]] for animal in yard])  # (4 animals, 3)
answer, weights = attention(moo, keys, values)
columns = (keys @ moo, (keys @ moo).exp(), weights)
rows = [
    [name, f"{score:.0f}", f"{power:.3f}", f"{weight:.3f}"]
    for name, score, power, weight in zip(yard, *columns, strict=True)
]
table(rows, ["animal", "score", "e to the score", "share"])

# %% [markdown]
# Check one row with a pencil: $7.389 / (7.389 + 2.718 + 0.368 + 0.135) = 0.696$. These are the
# shares that the picture shows.

# %% [markdown] tags=["aside"]
# ### Do the picture, the three lines and the library agree?
#
# These pages come with a small library, `deepdive`. Its attention works on many sentences at once,
# and each `None` adds a side of length 1 for that. `scale=1.0` switches off a division of the
# scores that comes later.

# %%
from deepdive.core import SoftmaxAttention
from deepdive_book.ch00.figures.qkv_arrows import mix

same = SoftmaxAttention()(moo[None, None, None], keys[None, None], values[None, None], scale=1.0)
drawn = torch.tensor(mix(moo.tolist(), keys.tolist(), values.tolist())[2])
difference = max((answer - same[0, 0, 0]).abs().max(), (answer - drawn).abs().max())
assert difference < 1e-6
f"the three lines, the picture and the library agree to 1e-6: {bool(difference < 1e-6)}"

# %% [markdown] tags=["aside"]
# ### Why not divide the scores themselves?
#
# Shares could be had by dividing each score by the sum of the scores. This is a common mistake.

# %%
unlucky = torch.tensor([2.0, 1.0, -2.5])
wrong = unlucky / unlucky.sum()
assert wrong.max() > 1
assert wrong.min() < 0
print("divided as they are:", *(f"{w:.1f}" for w in wrong))
print("powers first:       ", *(f"{w:.3f}" for w in unlucky.softmax(0)))

# %% [markdown]
# **Symptom:** one share is 400%, and another is below zero. Scores that sum to zero even divide by
# zero. The four scores above do: 2, 1, −1 and −2. **Cure:** powers first. The softmax has a
# section in [the math](02_maths.ipynb).

# %% [markdown]
# ## Let it learn the arrows
#
# So far a person chose the arrows. Now take five animals and five sounds, and draw all ten arrows
# at random. In each practice scene four animals hold flags of random colors, and one of them makes
# its sound. The program calls a color and is told the right one. It is never told who made the
# sound.

# %% Make the practice scenes tags=["fold", "nbval-check-output"]
animals = ["cat", "cow", "dog", "duck", "owl"]
sounds = ["meow", "moo", "woof", "quack", "hoot"]


def scenes(count, held=4, seed=0):
    """Generated scenes: who stands there, their colours, the sound, the colour to call."""
    draw = torch.Generator().manual_seed(seed)
    who = torch.rand(count, len(animals), generator=draw).argsort(-1)[:, :held]  # (B, held)
    flags = torch.rand(count, held, 3, generator=draw)
    chosen = torch.randint(held, (count,), generator=draw)
    rows = torch.arange(count)
    return who, flags, who[rows, chosen], flags[rows, chosen]

who, flags, sound, right = scenes(1)
crowd = [animals[i] for i in who[0]]
print(f"in the yard: {', '.join(crowd)}; the sound: {sounds[sound[0]]}")

# %% [markdown]
# The whole model is two tables of arrows, with attention between them. `nn.Embedding` is a table
# whose rows are learned. `SoftmaxAttention` is the three lines from above as the library has them:
# it answers many questions at once, and each `None` adds a side of length 1 for that.

# %%
from torch import nn


class Farm(nn.Module):
    def __init__(self):
        super().__init__()
        self.sounds, self.animals = nn.Embedding(5, 2), nn.Embedding(5, 2)
        self.attention = SoftmaxAttention()

    def forward(self, who, flags, sound):
        query = self.sounds(sound)[:, None, None]  # (B, 1, 1, 2): one question a scene
        keys, values = self.animals(who)[:, None], flags[:, None]  # (B, 1, 4, 2 or 3)
        return self.attention(query, keys, values, scale=1.0)[:, 0, 0]  # (B, 3): a colour


model = Farm()
before = [table.weight.detach().clone() for table in (model.animals, model.sounds)]

# %% [markdown]
# Each step shows it 64 scenes. It compares the called colors with the right ones, and turns every
# arrow a little in the direction that makes the error smaller.


# %%
from deepdive.training import fit
from deepdive.training.optim import adam


def loss(model, batch):
    *scene, right = batch
    return ((model(*scene) - right) ** 2).sum(-1).mean()


batches = [scenes(64, seed=seed) for seed in range(300)]
history = fit(model, batches, loss, epochs=1, optimizer=adam(model, lr=0.05))
f"error {history.losses[0]:.2f} in the first scenes, {history.losses[-1]:.5f} in the last"

# %% Draw ten arrows tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.diagrams import ROLES
from deepdive_book.kit.plotting import with_alt


def compass(axes, tables, title):
    """Draw two tables of arrows; a word stands past its tip, and moves out from under another."""
    size, placed = max(tips.norm(dim=1).max().item() for tips in tables), []
    for tips, words, role in zip(tables, (animals, sounds), ("key", "query"), strict=True):
        for tip, word in zip(tips, words, strict=True):
            style = {"color": ROLES[role], "arrowstyle": "-|>", "lw": 1.5}
            axes.annotate("", tip.tolist(), (0, 0), arrowprops=style)
            x, y = (tip * (1 + 0.16 * size / tip.norm())).tolist()
            while any(abs(x - a) < 0.42 * size and abs(y - b) < 0.14 * size for a, b in placed):
                x, y = 1.05 * x, 1.05 * y
            placed.append((x, y))
            axes.text(x, y, word, color=ROLES[role], ha="center", va="center")
    limits = (-1.5 * size, 1.5 * size)
    axes.set(title=title, xlim=limits, ylim=limits, aspect="equal")


# %% Before and after tags=["fold"]
figure = Figure(figsize=(7.2, 3.9))
left, right = figure.subplots(1, 2)
compass(left, before, "before")
compass(right, [model.animals.weight.detach(), model.sounds.weight.detach()], "after 300 steps")
with_alt(
    figure,
    "Two panels of ten arrows. Before, sounds and animals point anywhere. After, they are five "
    "pairs: each sound leans towards its animal, and the pairs point apart.",
)

# %% [markdown]
# *Orange: sounds. Blue: animals. After training each sound leans towards its own animal. The arrows
# also grew, as the axes show: with longer arrows, the others count less.*
#
# Nobody wrote down that cows moo. Turning the *moo* arrow toward the cow was simply the way to be
# right about the colors. Does this hold in a thousand scenes that it has not seen? Count how often
# its color is nearest to the right flag.


# %% Count on new scenes tags=["fold"]
def accuracy(held):
    who, flags, sound, _ = scenes(1000, held, seed=10_000)
    with torch.no_grad():
        called = model(who, flags, sound)
    nearest = (flags - called[:, None]).norm(dim=-1).argmin(-1)  # (B,): which flag is it
    return (who[torch.arange(1000), nearest] == sound).float().mean().item()


assert accuracy(4) > 0.98
print(f"right in {accuracy(4):.1%} of 1,000 new scenes")

# %% [markdown]
# ## The surprise: two cows
#
# Until now each animal stood there once. Let two cows come, one with a red flag and one with a blue
# flag, and a cat with a white one. To make the model decide, we also make its *moo* arrow ten times
# as long.

# %% Draw the yard tags=["fold"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.plotting import show


def flag(x, y, color, size=44):
    fill = ",".join(f"{255 * float(part):.0f}" for part in color)
    place = f'x="{x - size / 2:g}" y="{y - size / 3:g}" width="{size}" height="{2 * size / 3:g}"'
    return f'<rect {place} rx="3" fill="rgb({fill})" stroke="currentColor"/>'


def stage(sound, animals, flags, weights, answer):
    """Animals with flags and weights above, the sound below; a line is as thick as the weight."""
    middle, body = 50 * len(animals), []
    for i, (name, color, number) in enumerate(zip(animals, flags, weights, strict=True)):
        x, weight = 50 + 100 * i, float(number)
        body += [flag(x, 24, color), text(x, 56, name, 16, "key")]
        body += [text(x, 78, f"{weight:.2f}", 13)]
        if weight > 0.01:
            line = f'x1="{middle}" y1="146" x2="{x}" y2="92" stroke="{ROLES["weight"]}"'
            body += [f'<line {line} stroke-width="{10 * weight:.1f}" stroke-linecap="round"/>']
    body += [text(middle, 166, sound, 17, "query", bold=True)]
    body += [arrow(middle + 34, 166, middle + 78, 166), flag(middle + 106, 166, answer)]
    return svg(100 * len(animals), 190, body)


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Two cows, one with a red flag and one with a blue flag, and a moo ten times as long. Which "
    "colour does the model call?",
    [
        "red or blue: so long an arrow picks one of them",
        "purple, which no animal holds",
        "white: the only animal that is there once",
    ],
    answer=1,
    explain="A longer query stretches the differences between scores. The two cows have the same "
    "key, so there is no difference to stretch: both keep the same share.",
    key="00_start/two-cows",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Call with two cows tags=["surprise", "fold"]
from deepdive.core.hooks import record

moo_number, short = sounds.index("moo"), model.sounds.weight.detach().clone()
who = torch.tensor([[animals.index(name) for name in ("cow", "cow", "cat")]])
flags = torch.tensor([[COLORS["red"], COLORS["blue"], COLORS["white"]]])
longer = short.clone()
longer[moo_number] *= 10
model.sounds.weight.data = longer
with record(model, "attention.weights") as seen, torch.no_grad():
    called = model(who, flags, torch.tensor([moo_number]))[0]
model.sounds.weight.data = short  # as it was learned
weights = seen["attention.weights"][0].flatten()
half = (flags[0, 0] + flags[0, 1]) / 2
assert torch.equal(weights[0], weights[1])
assert (called - half).abs().max() < 0.1
show(
    stage("moo", ["cow", "cow", "cat"], flags[0], weights, called),
    "Lines of equal thickness from moo to the red cow and the blue cow. The answer is purple.",
)

# %% [markdown]
# *Two equal keys share the weight, and the answer is a colour that nobody holds.*
#
# Attention does not choose. It mixes. For a flag that is a fault, but mixing is also what made
# the arrows learnable. Turn an arrow a little, and a mixture changes a little: the color comes
# out slightly nearer to the right one, or slightly further away, so each step knows which way to
# turn. A rule that picks one animal would not answer at all: most small turns change nothing, and
# a few change the whole color at once.
#
# Where a model must keep two answers apart, it uses several attentions side by side, each with
# arrows of its own: [multi-head attention](../02_transformer/06_multi_head.ipynb).

# %% [markdown]
# ## Back to the yard
#
# Now ask the trained model the question from the top of the page: cow red, duck blue, cat yellow,
# dog green, and *moo*. These are its own arrows, and you can drag them too.

# %% Ask the trained model tags=["fold"]
who = torch.tensor([[animals.index(name) for name in yard]])
with torch.no_grad():
    called = model(who, values[None], torch.tensor([moo_number]))[0]
    own = model.animals(who)[0].tolist(), model.sounds.weight[moo_number].tolist()
drawn = mix(own[1], own[0], values.tolist())
assert (torch.tensor(drawn[2]) - called).abs().max() < 1e-5
assert (values - called).norm(dim=-1).argmin() == list(yard).index("cow")
qkv_arrows("moo", own[1], dict(zip(yard, own[0], strict=True)), named)

# %% [markdown]
# *The arrows that the model learned, with the flags of the first picture. Nearly all of the answer
# is the cow's red.*
#
# In a Transformer, the program behind today's language models, the words of a sentence stand in
# the yard. Each word is a row of numbers, and three learned tables make three arrows of it: a
# query, with which it asks, a key, by which it is found, and a value, which it hands over. So each
# word asks all words, and takes home a mixture: beside *river*, the row for *bank* moves toward
# water. That is [self-attention](../02_transformer/05_self_attention.ipynb). Its arrows have 64
# numbers or so in place of two, and the three lines stay the same, but for one square root that
# [the page on attention](../02_transformer/02_attention.ipynb) explains.

# %% [markdown] tags=["aside"]
# ### Look inside: who listens to whom
#
# Put all five in the yard and read the weights, for each of the five sounds. `record` keeps what a
# named part of a model computes while the model runs.

# %%
from deepdive_book.kit.plotting import heatmap

everyone, five = torch.arange(5).expand(5, 5), torch.rand(5, 5, 3)
with record(model, "attention.weights") as seen, torch.no_grad():
    model(everyone, five, torch.arange(5))
learned = seen["attention.weights"][0][:, 0, 0]  # (5 sounds, 5 animals)
assert learned.diagonal().min() > 0.9
heatmap(learned, sounds, animals, digits=2, title="weights: sound down, animal across")

# %% [markdown]
# *Each row is one sound; before rounding it sums to one. Nearly all of it lies on one animal.*

# %% [markdown] tags=["aside"]
# ### Does it work with two animals, or with five?

# %% tags=["fold"]
predict(
    "It was trained with four animals in the yard, always. Now there are two, or all five, in "
    "any order. How often is it right?",
    [
        "about as often as before",
        "less often with five, for it has seen only four",
        "it cannot run: it was built for four",
    ],
    answer=0,
    explain="The three lines name no number of animals and no place. They compare the sound with "
    "each one, however many there are.",
    key="00_start/any-number",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
for held in (2, 3, 4, 5):
    assert accuracy(held) > 0.98
    print(f"{held} animals: right in {accuracy(held):.1%}")
who, flags, sound, _ = scenes(1000, seed=20_000)
with torch.no_grad():
    turned = model(who.flip(1), flags.flip(1), sound)
    moved = (turned - model(who, flags, sound)).abs().max()
assert moved < 1e-5
print(f"in the opposite order the answers change by less than 0.00001: {bool(moved < 1e-5)}")

# %% [markdown]
# Any number, in any order. That order does not count is a gift and a problem: to attention alone,
# *dog bites man* and *man bites dog* are the same three words. So each word must be told its
# place: [positions](../02_transformer/08_positions.ipynb).

# %% [markdown] tags=["aside"]
# ### Beside Python's dictionary
#
# A dictionary could answer *moo* too, if somebody wrote down who moos.
#
# | | Python's dictionary | attention |
# |---|---|---|
# | a key fits | equal or not | more or less: a dot product |
# | the answer | one value, or an error | the average of all values, always |
# | who decides what fits | who wrote it | learned from right answers |
# | number and order of entries | any | any |

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. In the game with the flags, what is the query, what are the keys, what the values?
#
#    <details><summary>Answer</summary>
#
#    The sound's arrow asks, the animals' arrows are the keys, their colors the values.
#
#    </details>
# 2. One score is higher by one than another. How many times larger is its weight?
#
#    <details><summary>Answer</summary>
#
#    About 2.7 times, whoever else stands there.
#
#    </details>
# 3. Which numbers does training change on this page, how many are they, and which of the three
#    steps has some of them?
#
#    <details><summary>Answer</summary>
#
#    Twenty: five sounds and five animals, an arrow of two numbers each. None of the three steps.
#
#    </details>
# 4. Why does attention mix, instead of choosing the one that fits best?
#
#    <details><summary>Answer</summary>
#
#    A mixture changes smoothly with the arrows, so an error can tell which way to turn each.
#
#    </details>
# 5. All five animals stood in the yard. What did the weights show, though no pair was ever named?
#
#    <details><summary>Answer</summary>
#
#    Each sound gave nearly all its weight to its own animal.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 2 min)* With the arrows of the first picture, you hear a sound with the arrow
#    $(2, 0)$. What are the four scores, and who gets the largest share?
#
#    <details><summary>Answer</summary>
#
#    cow 0, duck 2, cat −2, dog 0. The duck: $7.389 / (1 + 7.389 + 0.135 + 1) = 0.776$.
#
#    </details>
# 2. *(predict, 2 min)* *Moo*, but no cow is in the yard. What do the weights sum to? What does the
#    model call?
#
#    <details><summary>Answer</summary>
#
#    To one, as always. It calls some mixture of the others' colors. Attention has no way to say
#    "nobody"; the cell below shows it.
#
#    </details>
# 3. *(code, 5 min)* Let three red cows, one blue cow and a white cat come. Which color is called?
#    Then make the *moo* arrow a tenth as long (`model.sounds.weight.data[1] *= 0.1`). What changes?
#
#    <details><summary>Answer</summary>
#
#    Three parts red to one part blue, for the four cows have equal shares. With a short arrow the
#    cows still have equal shares, and the cat now has nearly as much: the color grows pale.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
by_hand = (keys @ torch.tensor([2.0, 0.0])).softmax(0)
assert torch.allclose(by_hand[1], torch.tensor(0.776), atol=5e-4)
others = torch.tensor([[0, 2, 3, 4]])  # everybody but the cow
with record(model, "attention.weights") as seen, torch.no_grad():
    model(others, torch.rand(1, 4, 3), torch.tensor([sounds.index("moo")]))
weights = seen["attention.weights"][0].flatten()
assert torch.allclose(weights.sum(), torch.tensor(1.0))
shown = zip(others[0], weights, strict=True)
print("moo, without a cow:", ", ".join(f"{animals[i]} {w:.2f}" for i, w in shown))

# %% [markdown]
# ## Summary
#
# Attention compares a query with every key, turns the scores into shares that sum to one, and
# answers with the average of the values under these shares. What fits what is learned from right
# answers, because the average changes smoothly with the arrows. Where two keys fit alike, the
# answer is the mixture of their values.
#
# So you call *red*, the cow's flag. A program learns to call it from right colors alone: they turn
# the arrow of *moo* toward the arrow of the cow.
#
# ## Further reading
#
# - The next page, [the maths](02_maths.ipynb): the dot product, the softmax, and how an error turns
#   an arrow.
# - [Attention](../02_transformer/02_attention.ipynb): the same three steps on words, with the
#   square root, masks, and a model that spells backwards.
# - Bahdanau, Cho, Bengio (2015), *Neural Machine Translation by Jointly Learning to Align and
#   Translate*, figure 3: the first map of such weights, between French and English words.
#
# <small>In the printed book that these pages accompany: section 2.3, the idea only.</small>

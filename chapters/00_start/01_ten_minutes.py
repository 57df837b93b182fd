# %% [markdown]
# # Attention in ten minutes
#
# Four animals hold one flag each. You hear *moo*: which colour do you call? And how can a program
# learn to answer, if nobody tells it which animal moos?
#
# <small>Book 2.3, the idea only (a section of the printed book that these pages accompany; the
# pages have numbers of their own) · before this page: a little Python · 10 min to read · a laptop
# is enough · not new to you? [Ten questions](04_diagnostic.ipynb) say what to skip</small>

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
# %% tags=["fold"]
from deepdive.page.diagrams import ROLES, arrow, svg, text
from deepdive.page.plotting import show


def flag(x, y, colour, size=44):
    fill = ",".join(f"{255 * float(part):.0f}" for part in colour)
    place = f'x="{x - size / 2:g}" y="{y - size / 3:g}" width="{size}" height="{2 * size / 3:g}"'
    return f'<rect {place} rx="3" fill="rgb({fill})" stroke="currentColor"/>'


def stage(sound, animals, flags, weights, answer):
    """Animals with flags and weights above, the sound below; a line is as thick as the weight."""
    middle, body = 50 * len(animals), []
    for i, (name, colour, number) in enumerate(zip(animals, flags, weights, strict=True)):
        x, weight = 50 + 100 * i, float(number)
        body += [flag(x, 24, colour), text(x, 56, name, 16, "key")]
        body += [text(x, 78, f"{weight:.2f}", 13)]
        if weight > 0.01:
            line = f'x1="{middle}" y1="146" x2="{x}" y2="92" stroke="{ROLES["weight"]}"'
            body += [f'<line {line} stroke-width="{10 * weight:.1f}" stroke-linecap="round"/>']
    body += [text(middle, 166, sound, 17, "query", bold=True)]
    body += [arrow(middle + 34, 166, middle + 78, 166), flag(middle + 106, 166, answer)]
    return svg(100 * len(animals), 190, body)


# %% tags=["fold"]
# Further cells use COLOURS, and stage and show from the cell above.
COLOURS = {"red": (0.85, 0.1, 0.1), "blue": (0.1, 0.2, 0.85), "yellow": (0.95, 0.85, 0.1)}
COLOURS |= {"green": (0.1, 0.6, 0.2), "white": (1.0, 1.0, 1.0)}

names, colours = ["cat", "cow", "duck", "dog"], ["yellow", "red", "blue", "green"]
flags = [COLOURS[name] for name in colours]
show(
    stage("moo", names, flags, [0, 1, 0, 0], COLOURS["red"]),
    "Four animals with a yellow, a red, a blue and a green flag. From the sound moo a thick line "
    "goes to the cow; the answer is its colour, red.",
)

# %% [markdown]
# *Compare the sound with each animal. The one that fits hands over its colour. The numbers are
# shares: here the cow has all.*
#
# A Python dictionary could do this if you wrote down who moos. **Attention** is a dictionary that
# learns what fits what, from right answers alone. It is what the Transformer, the program behind
# today's language models, is built from, and it takes three steps: **score**, **weigh**, **mix**.

# %% [markdown]
# ## By hand: three animals
#
# Give each animal an arrow, the **key**: two numbers, right and up. Give the sound an arrow too,
# the **query**. Two arrows fit when they point the same way. The **dot product** measures that:
# multiply place by place, and add.
#
# | | arrow | dot product with *moo*, $(1, 2)$ |
# |---|---|---|
# | cow | $(0, 1)$ | $0\cdot1 + 1\cdot2 = 2$ |
# | duck | $(1, 0)$ | $1\cdot1 + 0\cdot2 = 1$ |
# | cat | $(-2, 1)$ | $-2\cdot1 + 1\cdot2 = 0$ |
#
# The cow fits best. These numbers are the **scores**. Next they become shares, the **weights**.
# Raise $2.718$ (the number $e$) to each score; all results are positive, and a score higher by one
# gives a power 2.7 times as large. Then divide by the sum, so that the shares add up to one.
#
# In code `keys @ moo` makes all three dot products at once, one for each row of `keys`.

# %%
import torch

moo = torch.tensor([1.0, 2.0])
keys = torch.tensor([[0.0, 1], [1, 0], [-2, 1]])  # cow, duck, cat
scores = keys @ moo
powers = scores.exp()
weights = powers / powers.sum()
for name, score, power, weight in zip(["cow", "duck", "cat"], scores, powers, weights, strict=True):
    print(f"{name:>5}: score {score:.0f}, e^score {power:.3f}, weight {weight:.3f}")

# %% [markdown]
# Check one with a pencil: $7.389 / (7.389 + 2.718 + 1) = 0.665$.
#
# Last, **mix**. What each animal hands over is its **value**, here a colour: three numbers, the
# amounts of red, green and blue light. The answer is the average of all colours under these
# weights: two thirds of the cow's, a quarter of the duck's, a little of the cat's.

# %%
values = torch.tensor([COLOURS["red"], COLOURS["blue"], COLOURS["yellow"]])  # (3 animals, 3)
answer = weights @ values
show(
    stage("moo", ["cow", "duck", "cat"], values, weights, answer),
    "Lines from moo: thick to the red cow (0.67), thinner to the blue duck (0.24), thin to the "
    "yellow cat (0.09). The answer is a red with some blue in it.",
)

# %% [markdown]
# *The answer is mostly the cow's red. Better arrows would give a purer red: that is what learning
# is for.*

# %% [markdown]
# ## In code: three lines
#
# The same steps as one function. These pages come with a small library, `deepdive`. Its attention
# works on many sentences at once: each `None` adds a side of length 1 for that. `scale=1.0`
# switches off a division of the scores that comes later.


# %%
def attention(query, keys, values):
    powers = (keys @ query).exp()  # score: one dot product for each key
    weights = powers / powers.sum()  # weigh: positive shares that sum to 1
    return weights @ values  # mix: the average of the values


from deepdive.attention import SoftmaxAttention

same = SoftmaxAttention()(moo[None, None, None], keys[None, None], values[None, None], scale=1.0)
difference = (attention(moo, keys, values) - same[0, 0, 0]).abs().max()
assert difference < 1e-6
f"our three lines and the library's class agree to 1e-6: {bool(difference < 1e-6)}"

# %% [markdown]
# ### Common mistake: dividing the scores themselves
#
# Why raise $e$ to the scores? Shares could be had by dividing each score by the sum of the scores:

# %%
unlucky = torch.tensor([2.0, 1.0, -2.5])
wrong = unlucky / unlucky.sum()
assert wrong.max() > 1
assert wrong.min() < 0
print("divided as they are:", *(f"{w:.1f}" for w in wrong))
print("powers first:       ", *(f"{w:.3f}" for w in unlucky.softmax(0)))

# %% [markdown]
# **Symptom:** a share of 400% here, and shares below zero once scores have different signs. With
# scores that sum to zero it divides by zero. **Mend:** powers first. The two steps together are
# called the **softmax**; it has a section in [the maths](02_maths.ipynb).

# %% [markdown]
# ## Now let it learn the arrows
#
# Five animals and five sounds, each with an arrow of two numbers, at first drawn at random. In
# each scene four animals hold flags of random colours. One of them makes its sound. The model
# answers with a colour, and is told the right colour. It is never told who made the sound.

# %%
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
print(f"on the stage: {', '.join(crowd)}; the sound: {sounds[sound[0]]}")

# %% [markdown]
# The whole model is two tables of arrows, and attention between them. `nn.Embedding` is a table
# whose rows are learned.

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
# Each step shows it 64 scenes and nudges every arrow so that the called colours come closer to the
# right ones. The error is the squared distance between the two colours.


# %%
from deepdive.training import fit
from deepdive.training.optim import adam


def loss(model, batch):
    *scene, right = batch
    return ((model(*scene) - right) ** 2).sum(-1).mean()


batches = [scenes(64, seed=seed) for seed in range(300)]
history = fit(model, batches, loss, epochs=1, optimizer=adam(model, lr=0.05))
f"error {history.losses[0]:.2f} in the first scenes, {history.losses[-1]:.5f} in the last"

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive.page.plotting import with_alt


def compass(axes, tables, title):
    """Draw two tables of arrows; a word stands past its tip, and moves out from under another."""
    size, placed = max(table.norm(dim=1).max().item() for table in tables), []
    for table, words, role in zip(tables, (animals, sounds), ("key", "query"), strict=True):
        for tip, word in zip(table, words, strict=True):
            style = {"color": ROLES[role], "arrowstyle": "-|>", "lw": 1.5}
            axes.annotate("", tip.tolist(), (0, 0), arrowprops=style)
            x, y = (tip * (1 + 0.16 * size / tip.norm())).tolist()
            while any(abs(x - a) < 0.42 * size and abs(y - b) < 0.14 * size for a, b in placed):
                x, y = 1.05 * x, 1.05 * y
            placed.append((x, y))
            axes.text(x, y, word, color=ROLES[role], ha="center", va="center")
    limits = (-1.5 * size, 1.5 * size)
    axes.set(title=title, xlim=limits, ylim=limits, aspect="equal")


# %% tags=["fold"]
figure = Figure(figsize=(7.2, 3.7))
left, right = figure.subplots(1, 2)
compass(left, before, "before")
compass(right, [model.animals.weight.detach(), model.sounds.weight.detach()], "after 300 steps")
with_alt(
    figure,
    "Two panels of ten arrows. Before, sounds and animals point anywhere. After, they are five "
    "pairs: each sound leans towards its animal, and the pairs point apart.",
)

# %% [markdown]
# *Orange: sounds. Blue: animals. After training each sound leans towards its own animal. Cow and
# duck are neighbours: each one's sound points a little past it, away from the other. The arrows
# also grew (mind the axes): longer arrows, sharper choice.*
#
# Nobody wrote down that cows moo. Turning the *moo* arrow towards the cow was the way to be right
# about the colours. Does it hold on a thousand scenes that it has not seen? Count how often its
# colour is nearest to the right flag:


# %%
def accuracy(held):
    who, flags, sound, _ = scenes(1000, held, seed=10_000)
    with torch.no_grad():
        called = model(who, flags, sound)
    nearest = (flags - called[:, None]).norm(dim=-1).argmin(-1)  # (B,): which flag is it
    return (who[torch.arange(1000), nearest] == sound).float().mean().item()


assert accuracy(4) > 0.98
print(f"right in {accuracy(4):.1%} of 1,000 new scenes")

# %% [markdown]
# ## Look: who listens to whom
#
# Put all five on the stage and read the weights, for each of the five sounds. `record` keeps what
# a named part of a model computes while the model runs.

# %%
from deepdive.inspect import record
from deepdive.page.plotting import heatmap

everyone, five = torch.arange(5).expand(5, 5), torch.rand(5, 5, 3)
with record(model, "attention.weights") as seen, torch.no_grad():
    model(everyone, five, torch.arange(5))
learned = seen["attention.weights"][0][:, 0, 0]  # (5 sounds, 5 animals)
assert learned.diagonal().min() > 0.9
heatmap(learned, sounds, animals, digits=2, title="weights: sound down, animal across")

# %% [markdown]
# *Each row is one sound; before rounding it sums to one. Nearly all of it lies on one animal.*

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "It was trained with four animals on the stage, always. Now there are two, or all five, in "
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
# #### What happens: open this once you have predicted

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
# *dog bites man* and *man bites dog* are the same three words. The mend is to tell each word its
# place: [positions](../02_transformer/08_positions.ipynb).

# %% [markdown]
# ## The surprise
#
# So far each animal stood there once. Now let two cows come, one with a red flag and one with a
# blue one, and a white cat beside them. *Moo.*

# %% tags=["fold"]
predict(
    "Two cows, one with a red flag and one with a blue flag. Which colour does the model call?",
    [
        "red or blue, at random",
        "red: it takes the first that fits",
        "purple, which no animal holds",
        "white: the only animal that is there once",
    ],
    answer=2,
    explain="The two cows have the same key, so they get the same score and the same weight, one "
    "half each. Half red and half blue is purple. Attention does not choose. It mixes.",
    key="00_start/two-cows",
)

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %% tags=["surprise"]
who = torch.tensor([[animals.index(name) for name in ("cow", "cow", "cat")]])
flags = torch.tensor([[COLOURS["red"], COLOURS["blue"], COLOURS["white"]]])
with record(model, "attention.weights") as seen, torch.no_grad():
    called = model(who, flags, torch.tensor([sounds.index("moo")]))[0]
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
# Is that a fault? For a flag, yes. For words it is the strength: *bank* can take a little meaning
# from *river* and a little from *money*, in any proportion. And an average changes smoothly with
# the arrows, so that a small error can tell which way to turn each arrow. A choice of one could not
# be learned like that.
#
# Where a model must keep two answers apart, it uses several attentions side by side, each with its
# own arrows. They are called heads: [multi-head attention](../02_transformer/06_multi_head.ipynb).

# %% [markdown]
# ## What differs
#
# | | Python's dictionary | attention |
# |---|---|---|
# | a key fits | equal or not | more or less: a dot product |
# | the answer | one value, or an error | the average of all values, always |
# | who decides what fits | who wrote it | learned from right answers |
# | number and order of entries | any | any |
#
# In a Transformer each word plays all the parts: it asks (query), offers (key) and hands over
# (value). That is [self-attention](../02_transformer/05_self_attention.ipynb). The arrows are
# longer, 64 numbers or so. The three lines are the same, with one square root that [the page on
# attention](../02_transformer/02_attention.ipynb) explains.

# %% [markdown]
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. In the game with the flags, what is the query, what are the keys, what the values?
#
#    <details><summary>Answer</summary>
#
#    The sound's arrow asks, the animals' arrows are the keys, their colours the values.
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
# 5. All five animals stood on the stage. What did the weights show, though no pair was ever named?
#
#    <details><summary>Answer</summary>
#
#    Each sound gave nearly all its weight to its own animal.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(pencil, 2 min)* With the arrows from above, you hear a sound with the arrow $(1, 0)$. What
#    are the three scores, and who gets the most weight?
#
#    <details><summary>Answer</summary>
#
#    cow 0, duck 1, cat −2. The duck: $2.718 / (1 + 2.718 + 0.135) = 0.705$.
#
#    </details>
# 2. *(predict, 2 min)* *Moo*, but no cow is on the stage. What do the weights sum to? What does the
#    model call?
#
#    <details><summary>Answer</summary>
#
#    To one, as always. It calls some mixture of the others' colours. Attention has no way to say
#    "nobody"; the cell below shows it.
#
#    </details>
# 3. *(code, 5 min)* Let three red cows and one blue cow come. Which colour is called? Then make the
#    *moo* arrow ten times as long (`model.sounds.weight.data[1] *= 10`). What changes?
#
#    <details><summary>Answer</summary>
#
#    Three quarters red, one quarter blue: each cow has the same weight. A longer arrow changes
#    nothing here, because equal scores stay equal. Only differences of scores grow with it,
#    which sharpens the choice between different animals.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
by_hand = (keys @ torch.tensor([1.0, 0.0])).softmax(0)
assert torch.allclose(by_hand[1], torch.tensor(0.705), atol=5e-4)
others = torch.tensor([[0, 2, 3, 4]])  # everybody but the cow
with record(model, "attention.weights") as seen, torch.no_grad():
    model(others, torch.rand(1, 4, 3), torch.tensor([sounds.index("moo")]))
weights = seen["attention.weights"][0].flatten()
assert torch.allclose(weights.sum(), torch.tensor(1.0))
shown = zip(others[0], weights, strict=True)
print("moo, without a cow:", ", ".join(f"{animals[i]} {w:.2f}" for i, w in shown))

# %% [markdown]
# ## In three sentences
#
# Attention compares a query with every key, turns the scores into shares that sum to one, and
# answers with the average of the values under these shares. What fits what is learned from right
# answers, because the average changes smoothly with the arrows. It works for any number of entries
# in any order, and where two fit alike it answers with the mixture.
#
# ## Further reading
#
# - The next page, [the maths](02_maths.ipynb): the dot product, the softmax, and how an error turns
#   an arrow.
# - [Attention](../02_transformer/02_attention.ipynb): the same three steps on words, with the
#   square root, masks, and a model that spells backwards.
# - Bahdanau, Cho, Bengio (2015), *Neural Machine Translation by Jointly Learning to Align and
#   Translate*, figure 3: the first map of such weights, between French and English words.

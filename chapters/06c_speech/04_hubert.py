# %% [markdown] tags=["slide"]
# # Units of sound
#
# Give somebody who has never heard your language a hundred thousand snippets of it, each a fiftieth
# of a second long, and sixty-four boxes: put into one box what sounds alike. When all is sorted,
# are the boxes the sounds of your language?
#
# <small>Book 6.3.3 · before this page: [learning from sound
# alone](03_wav2vec2.ipynb) · 15 min to read · a laptop is enough: all runs are made here</small>

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

# %% Sound, and what is laid along it tags=["fold"]
from functools import cache

import torch

from deepdive.audio.mel import stacked
from deepdive.data.voices import voices
from deepdive.page.profile import pick, profile
from deepdive.training.tasks.utterances import heard, heard_an4


@cache
def data():
    """Utterances to learn from, and those of people who are not heard before the measurement."""
    found = heard(voices(96, 1, length=(2, 4))) if profile() == "ci" else heard_an4()
    return found.parted(sorted({*found.speakers})[::7])


# %% A small HuBERT tags=["fold"]
from deepdive.layers import PreNorm
from deepdive.layers.sound import layer_norms
from deepdive.models.speech.hubert import BASE, UnitSayer, hubert
from deepdive.training import fit
from deepdive.training.objectives import hidden_spans, make_units, unit_loss
from deepdive.training.optim import adam, linear
from deepdive.training.tasks.utterances import batches, middles, states

SMALL = BASE.but(
    channels=13, widths=(96, 96), kernels=(3, 3), strides=(2, 1), norms=layer_norms,
    residual=PreNorm, place_width=16, place_groups=4, d_model=96, n_heads=4, n_layers=3,
    d_ff=288, d_target=48, dropout=0.0, ff_dropout=0.0, attention_dropout=0.0,
)  # fmt: skip
K, LAYER = pick(ci=16, laptop=64, gpu=100), 2  # units, and the layer that the second ones are of


def loss(model, batch):
    """The unit of each hidden row is to be said."""
    sound, mask, units = batch
    real = model.encoder.real(mask)
    hidden = hidden_spans(real)
    return unit_loss(model(sound, hidden, mask), units[:, : real.shape[1]], hidden, real)


# %% Make units tags=["fold"]
def rows_of(encoder, some, layer):
    """Rows of each utterance: 39 cepstra and their slopes (layer 0), or states behind a layer."""
    if layer:
        return states(encoder, some.frames, layer)
    return [stacked(x)[middles(encoder, len(x))] for x in some.frames]


def units_of(encoder, layer, seed):
    """Units of the training people's rows, and the unit of each row of both kinds of people."""
    draw = torch.Generator().manual_seed(seed)
    mine, new = (rows_of(encoder, some, layer) for some in data())
    every = torch.cat(mine)
    some = every[torch.randperm(len(every), generator=draw)[:6_000]]
    units = make_units(some, K, 10, draw)
    return [units(x) for x in mine], [units(x) for x in new]


# %% Sort one set of rows into more and more boxes tags=["fold"]
from matplotlib.figure import Figure

from deepdive.evaluate.units import counts, of_counts
from deepdive.page.film import film


def phones_of(some):
    """The phone in the middle of each row."""
    encoder = hubert(SMALL)
    return [p[middles(encoder, len(p))] for p in some.phones]


# %% One sheet tags=["fold"]
def sheet(units, k):
    """A table of phones and units: the fuller a cell, the more of the phone lies in the unit."""
    new = data()[1]
    table_of = counts(torch.cat(phones_of(new)).tolist(), torch.cat(units).tolist())
    found, order = of_counts(table_of), table_of.argmax(0).argsort(kind="stable")
    shares_of = table_of[:, order] / table_of.sum(1, keepdims=True).clip(1)
    figure = Figure(figsize=(4.6, 4.8), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares_of, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(new.names)), new.names, fontsize=8)
    axes.set_xticks([])
    axes.set_xlabel(f"{k} units")
    names_of = ("phone purity", "unit purity", "shared information")
    numbers = (found.phone_purity, found.unit_purity, found.shared)
    each = [f"{name} {100 * x:.0f} %" for name, x in zip(names_of, numbers, strict=True)]
    return figure, f"{k} units: {', '.join(each)}"


# %% Six sheets tags=["fold"]
def sorted_into(k):
    """Cepstra of new people in k units."""
    draw = torch.Generator().manual_seed(0)
    mine, new = (rows_of(hubert(SMALL), some, 0) for some in data())
    units = make_units(torch.cat(mine)[::18], k, 10, draw)
    return [units(x) for x in new]


frames, captions = zip(*(sheet(sorted_into(k), k) for k in (2, 4, 8, 16, 32, 64)), strict=True)
film(frames, captions, "Six tables of phones down and units across, for 2, 4, 8, 16, 32 and "
     "64 units. The more units there are, the more a phone is spread over several.")  # fmt: skip

# %% [markdown]
# *Snippets of people who were not there when the boxes were made, sorted by likeness of their
# cepstra. A line is a phone (`_` is silence), a column one box; the fuller a cell, the more of the
# phone lies there. Step with the buttons or the arrow keys. (In the reduced form: generated
# voices.)*
#
# 1. With two boxes, which phones lie together?
# 2. One of the three numbers can only be helped by more boxes, one is hurt. Which?
# 3. Find two phones that share a box even at 64. Do they sound alike to you?
#
# ## By hand: how good are boxes?
#
# Eight snippets of two phones, in three boxes, which are called **units** from here on:
#
# | | unit 1 | unit 2 | unit 3 |
# |---|---|---|---|
# | phone A | 2 | 2 | 0 |
# | phone B | 0 | 2 | 2 |
#
# - **Phone purity**: read each unit as its most frequent phone. Right are $2 + 2 + 2$ of 8: ¾.
# - **Unit purity**: of each phone, count what lies in its fullest unit. $2 + 2$ of 8: ½.
# - **Shared information**: how much of the doubt about the phone does the unit take away? Before,
#   the doubt is 1 bit (A or B, equally often). Units 1 and 3 leave none; unit 2, which holds half
#   of the snippets, leaves 1 bit. So half of it is gone: ½. (The paper calls it *phone-normalised
#   mutual information*.)

# %% The same from the library tags=["nbval-check-output"]
from deepdive.evaluate.units import agreement

print(agreement([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 2, 2]))

# %% [markdown]
# ## k-means makes them
#
# Choose k centres, give each snippet to the nearest, move each centre to the mean of its snippets,
# and again, until nobody moves. On a line, with snippets at 0, 2, 5, 6, 7 and centres at 0 and 2:

# %% Two centres on a line tags=["nbval-check-output"]
rows, centres = torch.tensor([0.0, 2.0, 5.0, 6.0, 7.0]), torch.tensor([0.0, 2.0])
for _ in range(3):
    group = (rows[:, None] - centres).abs().argmin(1)
    centres = torch.stack([rows[group == u].mean() for u in range(2)])
    print("groups", group.tolist(), "| centres", centres.tolist())

# %% [markdown]
# ## Say the unit
#
# **HuBERT** (Hsu et al. 2021) is [wav2vec 2.0](03_wav2vec2.ipynb) with another question. The
# network is the same to the last weight. What is asked at a gap differs:
#
# | | wav2vec 2.0 | HuBERT |
# |---|---|---|
# | the answer | a code, chosen by a codebook that learns along | a unit, made by k-means before |
# | told apart from | a hundred wrong codes of the recording | all other units |
# | needed against collapse | a second loss, noise, a temperature that falls | nothing: units stay |
# | how good is the answer? | as good as the codebook becomes | as good as k-means: poor, at first |
#
# The score of a unit is the cosine of what is said and of a row learned for the unit, divided by
# 0.1; the loss is cross-entropy, at gaps alone. If the right units of two gaps get ½ and ¼, the
# loss is $(1 + 2) / 2 = 1.5$ bits.

# %% That loss from the library tags=["nbval-check-output"]
from math import log

shares = torch.tensor([[[0.5, 0.25, 0.25], [0.5, 0.25, 0.25], [0.9, 0.05, 0.05]]])
right, gaps = torch.tensor([[0, 1, 2]]), torch.tensor([[True, True, False]])
print(f"{unit_loss(shares.log(), right, gaps) / log(2):.2f} bits; the third row is no gap")

# %% [markdown]
# Poor answers are not fatal, says the paper: the units need not be right, they must be
# *consistent*. To guess the unit of a gap from its surroundings, the network must learn what
# surrounds what, and its states may become a better likeness than the cepstra's. Therefore the
# **second training**: k-means on states of a middle layer of the network makes new units, and a new
# network learns to say these.


# %% Say units tags=["fold"]
def taught(units, steps, seed, model=None):
    """A model that has learned to say these units (or one that goes on)."""
    torch.manual_seed(seed)
    model = UnitSayer(hubert(SMALL), K) if model is None else model
    made = batches(data()[0].frames, 8, units, seed=seed)
    fit(model, made, loss, steps=steps, seed=seed,
        optimizer=adam(model, lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01),
        schedule=linear(3e-3, max(1, steps // 10), steps), progress=False)  # fmt: skip
    return model


@cache
def first(steps, seed):
    """The first training, on units of cepstra, and these units."""
    torch.manual_seed(seed)
    units = units_of(hubert(SMALL), 0, seed)
    return taught(units[0], steps, seed), units


# %% Lay units beside phones tags=["fold"]
from deepdive.evaluate.units import by_speaker


def beside(units):
    """Purities and shared information with the phones of new people, in %, with 95 % intervals."""
    phones, units = ([x.tolist() for x in part] for part in (phones_of(data()[1]), units))
    found = by_speaker(phones, units, data()[1].speakers)
    return {name: [round(100 * x, 2) for x in each] for name, each in found.items()}


# %% Measure tags=["fold"]
from copy import deepcopy


def measure(units, steps, seed):
    """How units of one kind lie beside phones."""
    torch.manual_seed(seed)
    if units == "cepstra":
        return beside(units_of(hubert(SMALL), 0, seed)[1])
    encoder = hubert(SMALL)
    if units != "not trained":
        model, of_cepstra = first(steps, seed)
        if units == "once more":
            model = taught(of_cepstra[0], steps, seed + 10, deepcopy(model))
        elif units == "second":
            again = units_of(model.encoder, LAYER, seed)[0]
            model = taught(again, steps, seed + 20)
        encoder = model.encoder
    return beside(units_of(encoder, LAYER, seed)[1])


# %% Which runs, and where they are kept tags=["fold"]
from deepdive.page.experiments import kept, share, sweep

steps = pick(ci=10, laptop=100, gpu=2000, experiment=round(800 * share()))
asked = ["cepstra", "not trained", "first", "once more", "second"]
seeds = pick(ci=(1,), laptop=(1, 2, 3), gpu=(1, 2, 3))
points = [
    {"units": units, "steps": steps if units in asked[2:] else 0, "seed": seed}
    for seed in seeds
    for units in asked
    if profile() != "ci" or units in asked[:3]
]
file = kept("06c_speech", "hubert")
target_file = file if profile() == "experiment" else None
measured = sweep(measure, points, target_file, data="an4_mfcc", minutes=400)

# %% [markdown]
# ## Are the boxes sounds?
#
# The network is the one of [the page before](03_wav2vec2.ipynb): AN4's cepstra, 36 minutes, three
# layers of width 96. The phones beside which units are laid were not marked by a person either:
# AN4's dictionary says which phones a word has, and [the best path](02_ctc.ipynb) lays them along
# the frames. How far can that be trusted? On generated voices the truth is known to the sample:

# %% Lay phones along voices whose phones are known
from deepdive.audio.mel import mfcc, standardised
from deepdive.training.tasks.phones import align_phones

known = voices(96, 1, length=(2, 4))
exact = heard(known)
texts = [[exact.names.index(p.name) for p in row if p.name != "_"] for row in known.phones]
wide = [standardised(stacked(mfcc(wave, known.rate))).numpy() for wave in known.waves]
laid = align_phones(wide, texts, len(exact.names), turns=5)
right = torch.cat(exact.phones) == torch.cat([torch.from_numpy(row) for row in laid])
print(f"frames with their true phone: {100 * right.double().mean():.0f} % (generated voices)")

# %% [markdown]
# So a tenth of the labels is wrong even where speech is clean. The labels were laid by cepstra, so
# that they may favour units of cepstra a little.

# %% Read what was kept tags=["fold"]
import json
from statistics import mean

from deepdive.page.tables import table

found_rows, kept_runs = measured, False
if profile() != "ci" and file is not None and file.is_file():
    found_rows, kept_runs = json.loads(file.read_text())["rows"], True
said_of = "the kept runs" if kept_runs else pick(
    ci="generated voices, too short to judge by", laptop="run here", gpu="run here")  # fmt: skip
CALLED = {"cepstra": "cepstra and their slopes", "not trained": "layer 2, not trained",
          "first": "layer 2, first training", "once more": "layer 2, the first goes on",
          "second": "layer 2, second training"}  # fmt: skip


# %% A kind of run, and a table of them tags=["fold"]
def of(kind):
    """The runs of a kind, one a seed."""
    return [r for r in found_rows if r["units"] == kind]


def spread(values):
    """The mean of the seeds, and the lowest and the highest."""
    values = list(values)
    return f"{mean(values):.1f} ({min(values):.1f} to {max(values):.1f})" if values else "not run"


def shown(kinds):
    """A table of purities and shared information."""
    lines = [[CALLED[kind], *(spread(r[name][0] for r in of(kind))
                              for name in ("phone_purity", "unit_purity", "shared"))]
             for kind in kinds]  # fmt: skip
    return table(lines, ["units of", "phone purity, %", "unit purity, %", "shared, %"],
                 caption=f"{said_of}: {K} units, phones of new people; mean of seeds "
                 "(lowest to highest)")  # fmt: skip


# %% Units beside phones tags=["slide"]
shown(["cepstra", "not trained", "first"])

# %% How sure is that, over people? tags=["fold"]
for kind in ("cepstra", "not trained", "first"):
    for run in of(kind):
        value, low, high = run["shared"]
        print(f"{CALLED[kind]}, seed {run['seed']}: shared {value:.1f} %, 95 % over people "
              f"[{low:.1f}, {high:.1f}]")  # fmt: skip

# %% [markdown]
# **By a third.** Units of cepstra take away about a third of the doubt about the phone, those of
# a network that was not trained less, in every seed. After 100 steps of saying units, the states of
# layer 2 share more with the phones than the cepstra do, in every seed. Their purities are lower,
# though: the three measures do not agree. And the intervals over eleven people overlap, so that
# other people might turn the order round.
#
# Hsu et al. (table IV; 100 units, LibriSpeech, phones by forced alignment) have 25.1 % shared
# information for units of cepstra and 56.3 % for those of the sixth of twelve layers after the
# first training, which heard 960 hours.
#
# ## The second training
#
# Now layer 2 of the first network makes the units, and a second network, which begins anew, learns
# to say them. Beside it the first network goes on for as many steps with its old units, so that
# both have cost the same:

# %% New units, or more of the old tags=["slide"]
shown(["first", "once more", "second"])

# %% [markdown]
# Here the second training does **not** pay: the network that went on with its old units shares more
# with the phones, in every seed, and the second with fewer than the first. Hsu et al. find that the
# second training helps; they trained for hundreds of thousands of steps, and here it is a hundred.
# So this page shows the method and not its gain. It also shows what the second training must be
# compared with: going on for as long with the old units.

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "Each of the 64 units of cepstra is cut into sixteen by lot: every snippet of a unit draws a "
    "number from 1 to 16. Nothing has been learned. What becomes of the purities?",
    ["both stay: a lot knows nothing of phones",
     "phone purity rises, unit purity falls far",
     "both fall: the units are spoiled"],
    answer=1,
    explain="The fullest phone of a small unit is fuller by chance, and a phone is spread over "
    "sixteen times as many units.",
    key="06c_speech/cut-by-lot",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### What happens: open this once you have predicted

# %% Cut each unit by lot tags=["surprise"]
torch.manual_seed(0)
phones, units = torch.cat(phones_of(data()[1])), torch.cat(units_of(hubert(SMALL), 0, 1)[1])
cut_lines = []
for parts in (1, 2, 16):
    cut = units * parts + torch.randint(parts, units.shape)
    found = agreement(phones.tolist(), cut.tolist())
    cut_lines.append([K * parts, *(round(100 * x, 1) for x in (
        found.phone_purity, found.unit_purity, found.shared))])  # fmt: skip
table(cut_lines, ["units", "phone purity, %", "unit purity, %", "shared, %"],
      caption="units of cepstra, cut by lot")  # fmt: skip

# %% [markdown]
# Phone purity is helped by lots, and shared information too; only unit purity tells. All tables of
# ours above this one are therefore of equally many units; Hsu's 100 are not, and stand beside ours
# for their size alone.

# %% [markdown]
# ### Common mistake: purity at different numbers of units
#
# "Our units are purer than theirs" says nothing where ours are 500 and theirs 100. **Symptom**:
# every method with more units wins. **Fix**: compare at equal numbers, and give all three measures.

# %% [markdown] tags=["aside"]
# ## data2vec for sound
#
# A third answer to the question what to ask at a gap: neither a code nor a unit, but the states of
# a teacher that hears everything. It is the [data2vec](../06b_vision/04_mae.ipynb) of pictures with
# another reader in front: Baevski et al. (2022) train words, sounds and pictures with one
# objective, and the library's too is one file (`training/objectives/states.py`). For sound the
# reader is wav2vec 2.0's, with two differences: a norm in each convolution, and five narrow
# convolutions that tell places in the place of one wide one.

# %% A step of data2vec on sound tags=["fold", "nbval-check-output"]
from deepdive.models.speech import data2vec_audio
from deepdive.training.objectives import averaged_states, state_loss

torch.manual_seed(0)
student = data2vec_audio.data2vec_audio(data2vec_audio.TINY)
teacher = deepcopy(student).requires_grad_(False)
sound, hidden = torch.randn(2, 320), torch.zeros(2, 20, dtype=torch.bool)
hidden[:, 5:10] = True
target = averaged_states(teacher, 2, sound)
print("targets", tuple(target.shape), "| loss at gaps is above 0:",
      state_loss(student(sound, None, hidden), target, hidden).item() > 0)  # fmt: skip

# %% [markdown]
# ## In practice
#
# - Published weights: `load("facebook/hubert-base-ls960")`, downloaded as a folder, and
#   `head="ctc"` for those that write. Base has 95 million numbers, large 317, extra large 964.
# - The paper's recipe: 100 units of 39 cepstra (with first and second slopes) for the first
#   training, 500 units of layer 6 for the second; large and extra large learn from units of the
#   base model, in one training.
# - k-means needs few rows: Hsu et al. find the same quality from 1 hour as from 100 (table IV).
# - Units are also used as text: a language model over them continues speech without letters.
#
# ## Five questions
#
# Answer each in a sentence, then open.
#
# 1. What does HuBERT ask at a hidden row?
#
#    <details><summary>Answer</summary>
#
#    Which of k units, made by k-means before the training, stands there.
#
#    </details>
# 2. Why does it need no diversity loss?
#
#    <details><summary>Answer</summary>
#
#    The units do not learn along, so that they cannot fall together.
#
#    </details>
# 3. What is phone purity, and why is it not enough?
#
#    <details><summary>Answer</summary>
#
#    The share that is right where each unit is read as its most frequent phone; more units raise it
#    whatever they are.
#
#    </details>
# 4. What does the second training change, and what stays?
#
#    <details><summary>Answer</summary>
#
#    The units are made of a layer's states instead of cepstra; network and loss stay.
#
#    </details>
# 5. Why may units be wrong and still teach?
#
#    <details><summary>Answer</summary>
#
#    They must be consistent: then what surrounds what can be learned from them.
#
#    </details>
#
# ## Exercises
#
# 1. *(pencil, 4 min)* Three phones, twelve snippets: unit 1 has 4 of A; unit 2 has 2 of B and 2 of
#    C; unit 3 has 2 of B and 2 of C. Give phone purity and unit purity.
#
#    <details><summary>Answer</summary>
#
#    $(4 + 2 + 2) / 12 = 2/3$; $(4 + 2 + 2) / 12 = 2/3$.
#
#    </details>
# 2. *(pencil, 3 min)* Snippets at 0, 1, 8, 9 and centres that begin at 0 and 1. Where do they end?
#
#    <details><summary>Answer</summary>
#
#    First groups: {0} and {1, 8, 9}, with mean 6. Then {0, 1} and {8, 9}: they end at 0.5 and 8.5.
#
#    </details>
# 3. *(measure, 10 min)* Give `make_units` the cepstra without their slopes (13 columns). Does the
#    shared information fall?
#
#    <details><summary>Answer</summary>
#
#    Look before you guess: it depends on how much of a phone is movement. State the seeds that you
#    ran.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
one = agreement([0] * 4 + [1] * 4 + [2] * 4, [0] * 4 + [1, 1, 2, 2] * 2)
rows, centres = torch.tensor([0.0, 1.0, 8.0, 9.0]), torch.tensor([0.0, 1.0])
for _ in range(3):
    group = (rows[:, None] - centres).abs().argmin(1)
    centres = torch.stack([rows[group == u].mean() for u in range(2)])
print(f"{one.phone_purity:.2f} {one.unit_purity:.2f} | centres {centres.tolist()}")

# %% [markdown]
# ## In three sentences
#
# HuBERT makes units of sound by k-means, hides spans, and says the unit of each hidden row. Units
# of cepstra are poor, but consistent, and the states that learn to say them make new ones. Back to
# the sixty-four boxes: they are not the sounds of the language, but they take away a third of the
# doubt about which sound it was, and nobody had to name one.
#
# ## Further reading
#
# - Hsu, Bolte, Tsai, Lakhotia, Salakhutdinov, Mohamed (2021), *HuBERT*: section III for the
#   method, table IV for units beside phones.
# - Baevski, Hsu, Xu, Babu, Gu, Auli (2022), *data2vec*: section 4.2 for sound.
# - The book's section 6.3.3.

# %% [markdown] tags=["slide"]
# # HuBERT: predicting clustered units of sound
#
# Give somebody who has never heard your language a hundred thousand snippets of it, each a fiftieth
# of a second long, and sixty-four boxes: put into one box what sounds alike. When all is sorted,
# are the boxes the sounds of your language?
#
# <small>Prerequisites: [learning from sound alone](03_wav2vec2.ipynb) · 15 min · runs on a laptop;
# results of the long runs are included · book 6.3.3</small>

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

# %% A small HuBERT tags=["fold"]
import torch

from deepdive.core import PreNorm
from deepdive.layers.speech_frontend import layer_norms
from deepdive.models.speech.hubert import BASE, hubert
from deepdive.training.objectives import hidden_spans, unit_loss
from deepdive_book.ch06c.runs.hubert import TEST, TRAIN, Experiment, load_utterances
from deepdive_book.kit.profile import pick

SMALL = BASE.but(
    channels=13, widths=(96, 96), kernels=(3, 3), strides=(2, 1), norms=layer_norms,
    residual=PreNorm, place_width=16, place_groups=4, d_model=96, n_heads=4, n_layers=3,
    d_ff=288, d_target=48, dropout=0.0, ff_dropout=0.0, attention_dropout=0.0,
)  # fmt: skip
K = pick(ci=16, laptop=64, gpu=100)  # units


def loss(model, batch):
    """The unit of each hidden row is to be said."""
    sound, mask, units = batch
    real = model.encoder.real(mask)
    hidden = hidden_spans(real)
    return unit_loss(model(sound, hidden, mask), units[:, : real.shape[1]], hidden, real)


experiment = Experiment(lambda: hubert(SMALL), loss, n_units=K, layer=2)

# %% One sheet tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.ch06c.phone_purity import of_counts
from deepdive_book.ch06c.runs.hubert import frequent_phones, phone_fractions
from deepdive_book.kit.frame_strip import film

train, test = load_utterances()
phones = experiment.phones(TEST)
order, rare = frequent_phones(phones, test.names)
numbers_of_phones = [test.names.index(p) for p in order]


def sheet(units, k):
    """A table of phones and units: the fuller a cell, the more of the phone lies in the unit."""
    counts, part = phone_fractions(phones, units, numbers_of_phones)
    found, columns = of_counts(counts), part.argmax(0).argsort(kind="stable")
    figure = Figure(figsize=(3.6, 5.2), layout="constrained")
    axes = figure.subplots()
    axes.imshow(part[:, columns], cmap="Blues", vmin=0, vmax=part.max(), aspect="auto",
                interpolation="nearest")  # fmt: skip
    axes.set_yticks(range(len(part)), order, fontsize=9)
    axes.set_xticks([])
    axes.set_xlabel(f"{k} boxes")
    numbers = (found.phone_purity, found.unit_purity, found.shared)
    names_of = ("phone purity", "unit purity", "shared information")
    each = [f"{name} {100 * x:.0f} %" for name, x in zip(names_of, numbers, strict=True)]
    return figure, f"{k} boxes, fullest cell {100 * part.max():.0f} %: {', '.join(each)}"


# %% Six sheets tags=["fold"]
clusters = {k: experiment.cluster_cepstra(k) for k in (2, 4, 8, 16, 32, 64)}
frames, captions = zip(*(sheet(units, k) for k, units in clusters.items()), strict=True)
film(frames, captions, "Six tables of phones down and boxes across, for 2, 4, 8, 16, 32 and "
     "64 boxes. The more boxes there are, the more a phone is spread over several.")  # fmt: skip

# %% [markdown]
# *Snippets of people who were not there when the boxes were made, sorted by likeness of their
# cepstra. A line is a phone: silence (`_`), then vowels (IY as in see to UW as in two), then W to
# N, then hissing sounds (V to HH), then stops (JH as in J to K). A column is one box; the fuller a
# cell, the more of the phone lies there, and the fullest of each sheet is full blue. Step with the
# buttons or the arrow keys. (In the reduced form: generated voices.)*
#
# 1. With two boxes: which kinds of sounds fill one, and which the other?
# 2. Step on. Which of the three numbers rise, and which falls? (They are counted by hand below.)
# 3. At 64, which lines look alike? Say the two sounds aloud.
#
# <details><summary>What there is to see</summary>
#
# 1. Nearly all of the vowels lie in one box, most of the silence and of the hiss in the other.
# 2. Phone purity and shared information rise, unit purity falls.
# 3. The table shows the pairs that lie together most. Many sound alike: F and TH, Y and IY.
#
# </details>

# %% Which phones lie together at 64 boxes?
from deepdive_book.kit.tables import table

part = phone_fractions(phones, clusters[64], numbers_of_phones)[1]
together = sorted(((float(part[[a, b]].min(0).sum()), order[a], order[b])
                   for a in range(len(order)) for b in range(a)), reverse=True)  # fmt: skip
left_out = ", ".join(f"{p} {n}" for p, n in rare.items()) or "none"
n_train, n_test = (sum(map(len, experiment.phones(part))) for part in (TRAIN, TEST))
print(f"{n_train:,} snippets of {len({*train.speakers})} people to sort; {n_test:,} of "
      f"{len({*test.speakers})} new ones in the sheets; left out: {left_out}")  # fmt: skip
table([[f"{b} and {a}", f"{100 * x:.0f} %"] for x, a, b in together[:5]],
      ["two phones", "of both in the same boxes"])  # fmt: skip

# %% [markdown]

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
#   of the snippets, leaves 1 bit. So half of it is gone: ½. (The paper calls it *phone-normalized
#   mutual information*.)

# %% The same from the library tags=["nbval-check-output"]
from deepdive_book.ch06c.phone_purity import agreement

print(agreement([0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 2, 2]))

# %% [markdown]
# ## k-means makes them
#
# Choose k centers, give each snippet to the nearest, move each center to the mean of its snippets,
# and again, until no snippet changes its group. On a line, with snippets at 0, 2, 5, 6, 7 and
# centers at 0 and 2:

# %% Two centres on a line tags=["nbval-check-output"]
points, centers = torch.tensor([0.0, 2.0, 5.0, 6.0, 7.0]), torch.tensor([0.0, 2.0])
for _ in range(3):
    group = (points[:, None] - centers).abs().argmin(1)
    centers = torch.stack([points[group == u].mean() for u in range(2)])
    print("groups", group.tolist(), "| centres", centers.tolist())

# %% [markdown]
# ## Say the unit

# %% Draw the loop tags=["slide", "fold", "nbval-check-output"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.plotting import show

body = []
for y, title, rows_are, made, network in (
        (58, "first training", "cepstra", "units", "network"),
        (272, "second training", "states of\na layer", "new units", "new network")):  # fmt: skip
    body += [text(212, y - 40, title, 14, bold=True), box(68, y, rows_are, "value", 116),
             box(212, y, "k-means", "key", 116), box(356, y, made, "output", 116),
             box(68, y + 84, "sound with\ngaps", "value", 116),
             box(212, y + 84, network, "query", 116),
             box(356, y + 84, "which unit\nis at a gap?", "weight", 116),
             arrow(126, y, 154, y), arrow(270, y, 298, y), arrow(356, y + 18, 356, y + 60),
             arrow(126, y + 84, 154, y + 84), arrow(270, y + 84, 298, y + 84)]  # fmt: skip
body.append(arrow(190, 164, 90, 250))
show(svg(424, 388, body), "First training: k-means makes units of cepstra, and a network that gets "
     "sound with gaps learns to say which unit stands at a gap. Second training: k-means makes new "
     "units of the states of a layer of that network, and a new network learns to say "
     "these.")  # fmt: skip

# %% [markdown]
# **HuBERT** (Hsu et al. 2021) takes the convolutions and the Transformer of [wav2vec
# 2.0](03_wav2vec2.ipynb), and hides spans of rows in the same way. There is no codebook. What is
# asked at a gap differs:
#
# | | wav2vec 2.0 | HuBERT |
# |---|---|---|
# | the answer | a code, chosen by a codebook that learns too | a unit, made by k-means before |
# | told apart from | a hundred wrong codes of the recording | all other units |
# | needed against collapse | a second loss and noise | nothing: units stay fixed |
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
# *consistent*. To guess the unit of a gap from its surroundings, the network must learn which
# sounds follow which. Then rows that are the same sound may lie nearer to each other in its states
# than in the cepstra. Therefore the **second training**: k-means on states of a middle layer makes
# new units, and a new network learns to say these.

# %% Teach networks to say units, or read what was measured tags=["fold"]
from deepdive_book.kit import rows
from deepdive_book.kit.experiments import share


def measure(units, steps, seed):
    """How well units of one kind agree with phones, and how much better than the baseline's."""
    return experiment.evaluate(units, steps, seed)


def points(lengths, seeds):
    """Units that no training makes, then those of each training, by its length."""
    untrained = [(units, 0, seed) for seed in seeds for units in ("cepstra", "not trained")]
    trained = [(units, steps, seed) for steps in lengths for seed in seeds
               for units in ("first", "once more", "second")]  # fmt: skip
    return [{"units": units, "steps": steps, "seed": seed}
            for units, steps, seed in untrained + trained]  # fmt: skip


few = points([pick(ci=10, laptop=100, gpu=2000)], [1])
found = rows.load_or_measure(
    measure, "06c_speech", "hubert", data="an4_mfcc", minutes=400,
    points=points([max(2, round(n * share())) for n in (100, 800)], [1, 2, 3]),
    few=few, live=[point for point in few if point["units"] in ("cepstra", "first")],
)  # fmt: skip

# %% [markdown]
# ## Are the boxes sounds?
#
# The network is a small one, as on [the page before](03_wav2vec2.ipynb): three layers of width 96,
# and 36 minutes of AN4, in which people spell names and say numbers. The first units are made of 39
# numbers a row: 13 cepstra, their slopes (how fast each of them rises or falls), and how fast the
# slopes change.
#
# To measure, a phone must stand beside each unit, and no person has marked these. AN4's dictionary
# says which phones a word has, and a path like that of [CTC](02_ctc.ipynb) lays them along the
# frames. How far can that be trusted? On generated voices one knows exactly which phone is where:

# %% Lay phones along voices whose phones are known
from deepdive.audio.mel import mfcc, stacked, standardized
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.tasks.forced_alignment import align_phones
from deepdive_book.tasks.utterances import load_audio

known = voices(96, 1, length=(2, 4))
exact = load_audio(known)
texts = [[exact.names.index(p.name) for p in row if p.name != "_"] for row in known.phones]
wide = [standardized(stacked(mfcc(wave, known.rate))).numpy() for wave in known.waves]
laid = align_phones(wide, texts, len(exact.names), turns=5)
right = torch.cat(exact.phones) == torch.cat([torch.from_numpy(row) for row in laid])
print(f"frames with their true phone: {100 * right.double().mean():.0f} % (generated voices)")

# %% [markdown]
# So on generated voices about a tenth of the labels is wrong. On AN4 nobody knows. Its labels were
# laid by the same 39 numbers of which the first units are made, so that what they have wrong may
# favor these units.

# %% Tables of runs tags=["fold"]
from deepdive.evaluate import Interval

live = pick(ci="generated voices, too short to judge by", laptop="one live run", gpu="one live run")
about = "the kept runs" if found.saved else live
ran = rows.values([row for row in found.rows if row["steps"]], "steps")
LENGTHS = [n for n in sorted({*ran}) if ran.count(n) == max(map(ran.count, ran))]  # whole ones
CALLED = {"cepstra": "cepstra and slopes", "not trained": "layer 2, not trained",
          "first": "layer 2, first training", "once more": "layer 2, first goes on",
          "second": "layer 2, second training"}  # fmt: skip



def units_table(kinds):
    lines = []
    for kind in kinds:
        for n in (0,) if kind in ("cepstra", "not trained") else LENGTHS:
            lines.append([f"{CALLED[kind]}, {n} steps" if n else CALLED[kind], *(
                rows.mean_and_range(rows.values(found.rows, m, 0, units=kind, steps=n))
                for m in ("phone_purity", "unit_purity", "shared"))])  # fmt: skip
    return table(lines, ["units of", "phone purity, %", "unit purity, %", "shared, %"],
                 caption=f"{about}: {K} units, phones of new people; mean of seeds "
                 "(lowest to highest)")  # fmt: skip


def differences_table(kind, title):
    lines = [[n, run["seed"], *(Interval(*run[f"more_{m}"]) for m in ("shared", "unit_purity"))]
             for n in LENGTHS for run in rows.select(found.rows, units=kind, steps=n)]  # fmt: skip
    heads = ["shared (points)", "unit purity (points)"]  # better than the baseline by
    return table(lines, ["steps", "seed", *heads], formats=dict.fromkeys(heads, "+.1f"),
                 caption=f"{about}: {title}; in brackets 95 % intervals over "
                 f"{len({*test.speakers})} new people, paired")  # fmt: skip


# %% Units beside phones tags=["slide"]
units_table(["cepstra", "not trained", "first"])

# %% The first training less the cepstra
differences_table("first", "layer 2 after the first training, less cepstra and slopes")

# %% The shortest of these, run here tags=["fold"]
for row in found.measured:
    if row["units"] in ("cepstra", "first"):
        print(f"run here: {CALLED[row['units']]}, {row['steps']} steps, seed {row['seed']}: shared "
              f"{row['shared'][0]:.1f} %")  # fmt: skip

# %% [markdown]
# **Only in part.** Units of cepstra take away about a third of the doubt about the phone; those of
# a network that was not trained take away less, in every seed. After 100 steps of saying units,
# layer 2 shares more with the phones than the cepstra do, by 2.6 to 4.7 points: in each of three
# seeds the interval over people lies above zero.
#
# But both purities are lower than those of the cepstra, in every seed. A unit now tells more about
# the phone, and yet a phone is spread over more units. So whether layer 2 has the better units
# depends on the measure.
#
# Hsu et al. (table IV; 100 units, LibriSpeech, phones by forced alignment) have 25.1% shared
# information for units of cepstra and 56.3% for those of the sixth of twelve layers after the
# first training, which heard 960 hours.
#
# ## The second training
#
# Now layer 2 of the first network makes the units, and a second network, which begins anew, learns
# to say them. Beside it the first network goes on for as many steps with its old units, so that
# both have cost the same:

# %% New units, or more of the old tags=["slide"]
units_table(["first", "once more", "second"])

# %% The second training less going on
differences_table("second", "layer 2 after the second training, less the first that goes on")

# %% [markdown]
# After 100 steps the second training does **not** pay. The network that goes on with its old units
# is ahead in both measures, in every seed, and no interval over people reaches zero. The second
# network shares less with the phones than even the first did.
#
# Hsu et al. find that a second training helps; theirs had hundreds of thousands of steps. So this
# page shows the method and not its gain, and what a second training must be compared with: going on
# for as long with the old units.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Each of the 64 units of cepstra is cut into sixteen at random: every snippet draws a number "
    "from 1 to 16, and those with the same unit and the same number are a unit of their own. "
    "Nothing has been learned. What becomes of the shared information?",
    ["it stays: the numbers that are drawn say nothing of phones",
     "it rises by ten points or more",
     "it falls: the units are spoiled"],
    answer=1,
    explain="Small units hold few snippets, and few snippets are uneven by chance. Measured on the "
    "same snippets, that chance counts as information.",
    key="06c_speech/cut-by-lot",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Cut each unit at random tags=["surprise"]
torch.manual_seed(0)
labels, units = torch.cat(phones), torch.cat(experiment.units("cepstra", 0, 1)[TEST])
cut_lines = []
for parts in (1, 2, 16):
    cut = units * parts + torch.randint(parts, units.shape)
    agreed = agreement(labels.tolist(), cut.tolist())
    cut_lines.append([K * parts, *(round(100 * x, 1) for x in (
        agreed.phone_purity, agreed.unit_purity, agreed.shared))])  # fmt: skip
table(cut_lines, ["units", "phone purity, %", "unit purity, %", "shared, %"],
      caption="units of cepstra, cut at random")  # fmt: skip

# %% [markdown]
# Chance raises phone purity and shared information; unit purity falls, and tells. All tables of
# runs above are therefore of equally many units. The film is not, nor are the 100 units of Hsu et
# al.: their 25.1% and our cepstra must not be compared.

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
from copy import deepcopy

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
#   `head="ctc"` for those that write text. Base has 95 million numbers, large 317, extra large 964.
# - The paper's recipe: 100 units of 39 cepstra (with first and second slopes) for the first
#   training, 500 units of layer 6 for the second; large and extra large learn from units of the
#   base model, in one training.
# - k-means needs few rows: Hsu et al. find the same quality from 1 hour as from 100 (table IV).
# - Units are also used as text: a language model over them continues speech without letters.
#
# ## Check your understanding
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
#    The units are fixed before the training, so that they cannot become one and the same.
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
# 1. *(on paper, 4 min)* Three phones, twelve snippets: unit 1 has 4 of A; unit 2 has 2 of B and 2
#    of C; unit 3 has 2 of B and 2 of C. Give phone purity and unit purity.
#
#    <details><summary>Answer</summary>
#
#    $(4 + 2 + 2) / 12 = 2/3$; $(4 + 2 + 2) / 12 = 2/3$.
#
#    </details>
# 2. *(on paper, 3 min)* Snippets at 0, 1, 8, 9 and centers that begin at 0 and 1. Where do they
#    end?
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
#    No. The last cell below has run it: with 13 numbers a row the units share 33.6 to 34.2%, with
#    all 39 as much.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
one = agreement([0] * 4 + [1] * 4 + [2] * 4, [0] * 4 + [1, 1, 2, 2] * 2)
points, centers = torch.tensor([0.0, 1.0, 8.0, 9.0]), torch.tensor([0.0, 1.0])
for _ in range(3):
    group = (points[:, None] - centers).abs().argmin(1)
    centers = torch.stack([points[group == u].mean() for u in range(2)])
print(f"{one.phone_purity:.2f} {one.unit_purity:.2f} | centres {centers.tolist()}")

# %%
# Exercise 3, run: units of the first 13 columns, and of all 39.
from deepdive.training.objectives import make_units

mine, new = (experiment.cepstra(part) for part in (TRAIN, TEST))
shared_of = {13: [], 39: []}
for columns, each in shared_of.items():
    for seed in (1, 2, 3):
        draw = torch.Generator().manual_seed(seed)
        units = make_units(torch.cat(mine)[::18, :columns], K, 10, draw)
        named = torch.cat([units(x[:, :columns]) for x in new])
        each.append(100 * agreement(torch.cat(phones).tolist(), named.tolist()).shared)
table([[columns, *each] for columns, each in shared_of.items()],
      ["numbers a row", "seed 1", "seed 2", "seed 3"],
      formats=dict.fromkeys(("seed 1", "seed 2", "seed 3"), ".1f"),
      caption=f"shared information of {K} units and phones, %")  # fmt: skip

# %% [markdown]
# ## Summary
#
# HuBERT makes units of sound by k-means, hides spans, and says the unit of each hidden row. Units
# of cepstra are poor, but the same for all, and what has learned to say them shares more with the
# phones, though with lower purities; a second training on new units was worse here than going on
# with the old ones. Back to the sixty-four boxes: they are not the sounds of the language, but they
# take away a third of the doubt about which sound it was, a network of 100 steps a little more, and
# nobody had to name a sound.
#
# ## Further reading
#
# - Hsu, Bolte, Tsai, Lakhotia, Salakhutdinov, Mohamed (2021), *HuBERT*: section III for the
#   method, table IV for units beside phones.
# - Baevski, Hsu, Xu, Babu, Gu, Auli (2022), *data2vec*: section 4.2 for sound.
# - The book's section 6.3.3.

# %% [markdown] tags=["slide"]
# # Speech2Text, Whisper, Conformer: where does cross-attention listen?
#
# Somebody reads out a telephone number, *six four two*, and you write it in letters. Stop at one
# letter, the X: which moment of the sound made you write it? And the O of *two*: did you still
# listen for it, or did you know by then?
#
# A network that listens and writes has something like a finger on the sound, its *cross-attention*:
# for each letter, a weight for each moment. Does the finger point to where the letter is spoken?
#
# <small>Prerequisites: [cross-attention](../02_transformer/12_decoder.ipynb),
# [from a waveform to units](01_waveform.ipynb), [CTC](02_ctc.ipynb) · 16 min · runs on a laptop;
# results of the long runs are included · book 6.3.2, and the papers under further reading</small>

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

# %% [markdown]
# ## By hand: where is a letter?
#
# Five rows of sound, numbered 0 to 4: *six* is spoken in rows 0 to 2, *two* in rows 3 and 4. Three
# letters have weights, here in tenths; the thicker a line, the larger the weight.

# %% Draw the weights tags=["fold"]
import torch

from deepdive_book.kit.diagrams import ROLES, links
from deepdive_book.kit.plotting import show

tenths = torch.tensor([[8.0, 2, 0, 0, 0], [1, 6, 3, 0, 0], [0, 0, 2, 2, 6]])
show(links([f"row {i}" for i in range(5)], ["S", "I", "X"], tenths / 10), "Lines from three "
     "letters to five rows of sound: S to row 0 above all, I to row 1, X to row 4.")  # fmt: skip

# %% [markdown]
# The *center* of a letter is the mean of the row numbers, each counted with its weight.
#
# | letter | row 0 | 1 | 2 | 3 | 4 | center | in *six*? |
# |---|---|---|---|---|---|---|---|
# | S | 8 | 2 | 0 | 0 | 0 | 0.2 | yes |
# | I | 1 | 6 | 3 | 0 | 0 | 1.2 | yes |
# | X | 0 | 0 | 2 | 2 | 6 | 3.4 | no |
#
# For X that is $(2 \cdot 2 + 3 \cdot 2 + 4 \cdot 6) / 10 = 3.4$. So two of three centers lie in the
# word that they spell. For a fair judge we need a rival that does not listen: put the letters of
# the whole text, `SIX TWO`, evenly on a straight line. Letter $u$ of 7, counted from 0, then stands
# at row $5\,(u + 1/2) / 7$: S at 0.4, I at 1.1, X at 1.8. All three are right!

# %% The same from the library tags=["nbval-check-output", "fold"]
centers = tenths @ torch.arange(5.0) / 10
line = 5 * (torch.arange(3) + 0.5) / 7
for name, places in (("attention", centers), ("straight line", line)):
    print(f"{name}:", [round(x, 1) for x in places.tolist()], int((places < 3).sum()), "of 3")
assert centers.tolist() == torch.tensor([0.2, 1.2, 3.4]).tolist()

# %% [markdown]
# ## The letters of a small Speech2Text
#
# A small network that listens and writes has learned spoken digits. The fold holds the network and
# its loss; its data, its training, and what is measured are in
# `deepdive_book/ch06c/runs/alignment.py`.

# %% A small Speech2Text tags=["fold"]
import torch.nn.functional as F

from deepdive.models.speech import speech2text
from deepdive_book.ch06c.runs import alignment

SIZES = {"n_features": alignment.BANDS, "vocab_size": 20, "d_model": 64, "n_layers": 2,
         "n_decoder_layers": 2, "n_heads": 4, "n_decoder_heads": 4, "d_ff": 128,
         "d_decoder_ff": 128, "width": 64, "dropout": 0.1, "end": alignment.END}  # fmt: skip


def build_model():
    return speech2text.speech2text(**SIZES, kernels=(5, 5))


def loss(model, batch):
    """Of each next letter."""
    logits = model(batch.features, batch.tokens[:, :-1], batch.mask)
    targets = batch.tokens[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=alignment.PAD)


# %% Train it, or read what was measured tags=["fold"]
from deepdive_book.kit import rows
from deepdive_book.kit.experiments import share
from deepdive_book.kit.profile import pick


def measure(system, steps, seed):
    """What one run writes, and where its letters look."""
    model = alignment.train_model(build_model, loss, steps, seed)
    with_examples = seed == pick(ci=1, laptop=1, gpu=1, experiment=2)
    return alignment.evaluate(model, with_examples)


few, long = pick(ci=30, laptop=150, gpu=2000), round(2000 * share())
found = rows.load_or_measure(
    measure, "06c_speech", "alignment", data="fsdd", minutes=240,
    points=[{"system": "Speech2Text", "steps": long, "seed": seed} for seed in (1, 2, 3)],
    few=[{"system": "Speech2Text", "steps": few, "seed": 1}],
)  # fmt: skip
runs = rows.select(found.rows, system="Speech2Text")
heads = next(run for run in runs if "shown" in run)["heads"]
examples = next(run for run in runs if "shown" in run)["shown"]

# %% The recordings of the picture tags=["fold"]
from deepdive_book.ch06c.figures.speech_cross_attention import speech_cross_attention

by_weight = sorted(heads, key=lambda head: heads[head]["weight"][0])
HEADS = {f"head {by_weight[-1]}": by_weight[-1:], f"head {by_weight[0]}": by_weight[:1],
         "mean of all eight": by_weight}  # fmt: skip
four, eight, same = (alignment.figure_recording(name, example, HEADS) for name, example in zip(
    ("four digits", "eight digits", "one digit four times"), examples, strict=True))  # fmt: skip
print(f"data {alignment.load_digits('test')[0].source}; the picture's model: "
      f"{max(run['steps'] for run in runs)} steps of 64 digits")  # fmt: skip

# %% Press a letter tags=["slide", "fold"]
speech_cross_attention([four], letter=0)

# %% [markdown]
# *Above, the sound of four digits and where each begins and ends; below, the letters that a small
# Speech2Text wrote. Press a letter, or move by the arrow keys: the bars are its weights over the
# sound, the triangle is their centre. Dashed lines part the digits. Play it, too.*
#
# 1. Press the first letter of each word. Does the triangle fall into that word?
# 2. Go through the other letters of a word. Do they stay there?
# 3. Choose the other head: of all it has the least weight in the right word at first letters. Is
#    it as tidy?
#
# All letters at once, the weights averaged over the eight heads:

# %% Draw all letters at once tags=["fold"]
import numpy as np
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt


def plot_letters(example):
    """Letters down, time across; the steps are the path that only goes forward."""
    text, cuts = example["says"], alignment.boundaries("test", example["string"])
    weights = np.mean([example["weights"][head] for head in by_weight], 0)[: len(text)]
    step = alignment.POOL * alignment.STEP  # seconds from one hidden state to the next
    figure = Figure(figsize=(3.7, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.imshow(weights, cmap="Blues", aspect="auto", interpolation="nearest",
                extent=(0, step * weights.shape[1], len(text) - 0.5, -0.5))  # fmt: skip
    axes.vlines(alignment.STEP * np.array(cuts[1:-1]), -0.5, len(text) - 0.5, "#888", "dashed",
                linewidth=1)  # fmt: skip
    for u, states in enumerate(alignment.monotonic_path(torch.tensor(weights))):
        axes.hlines(u, step * states[0], step * (states[-1] + 1), ROLES["query"], linewidth=2)
    axes.set_yticks(range(len(text)), ["␣" if c == " " else c for c in text], fontsize=9)
    axes.set_xlabel("seconds")
    return with_alt(figure, "A map of weights, letters down and time across: they lie near a "
                    "diagonal, with much beside it. Lines mark a path that goes forward "
                    "only.")  # fmt: skip


plot_letters(examples[0])

# %% [markdown]
# *The fuller a cell, the larger the weight; dashed lines part the digits; the marks are a path that
# only goes forward, of which more below.*

# %% [markdown]
# ## How it differs from a Transformer
#
# Speech2Text (Wang et al. 2020) is the [Transformer](../02_transformer/12_decoder.ipynb) of chapter
# 2 with another entrance:
#
# - **It reads frames of sound.** A frame is a row of numbers for a hundredth of a second, here the
#   40 log-mel bands of [page 6c.1](01_waveform.ipynb). There is no vocabulary on this side.
# - **Two convolutions of stride 2 make one row of four frames.** Speech has 100 frames a second and
#   some three words; attention costs the square of the length. Each convolution makes two outputs
#   $a$ and $b$ and passes on $a \cdot \sigma(b)$, the gate of page 1.8.
# - **Its norms stand before attention and feed-forward**, and one more behind each stack.
#
# The decoder is that of a translator: each letter attends to the letters before it, then to all
# rows of the sound. Nobody tells it where a letter is spoken; it only learns which letter is next.

# %% Count rows and weights tags=["nbval-check-output", "fold"]
small = build_model()
for n in (100, 101, 104, 1000):
    states = small.encoder.front(torch.zeros(1, n, alignment.BANDS))[0]
    print(n, "frames:", states.shape[1], "rows")
print(f"{sum(p.numel() for p in small.parameters()):,} parameters")

# %% [markdown]
# ## Does it write?
#
# The task: strings of one to four digits in one voice (Free Spoken Digit Dataset, six voices),
# joined without a pause, so that we know to the frame where each begins. The model has never met
# the recordings on which it is tested, but it knows the voices. Each run has 2,000 steps of 64
# digits; the next letter is the most probable one.

# %% Wrong words tags=["slide", "fold"]
from deepdive_book.kit.tables import table

about = "the kept runs" if found.saved else "one live run, too short to judge by"
lines = [[f"{n} digit{'s' * (n > 1)}", rows.mean_and_range(rows.values(runs, "errors", str(n), 0))]
         for n in range(1, 5)]  # fmt: skip
lines.append(["4 times the same digit",
              rows.mean_and_range(rows.values(runs, "errors", "alike", 0))])  # fmt: skip
table(lines, ["what is said", "wrong words in %"],
      caption=f"{about}: mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# It writes well. A digit that is said four times is harder than four digits drawn at random, in
# every run; in the training, too, only about one string of four in a thousand was of one digit.
#
# ## Where do the letters look?
#
# The decoder has two layers of four heads each. Now every head gets the right letters instead of
# those that the model wrote, and we ask of each letter whether the center of its weights lies in
# the digit that it spells. Four groups are counted apart:
#
# - **first** letters: nothing of the digit is written yet;
# - **second, open**: behind T, S or F, where two digits still fit (*two* or *three*);
# - **second, settled**: behind O, E, N or Z one digit alone fits, and one need not listen any more;
# - **later** letters: all of them are settled.


# %% Letters whose place is in their digit tags=["slide", "fold"]
from statistics import mean


def mean_over_heads(run, group, layer, metric):
    """The mean over the heads of a layer."""
    return mean(head[metric][group] for name, head in run["heads"].items() if name[0] == layer)


def letters_table(metric, baseline, name):
    """A table of the four groups: a baseline without sound, and both layers."""
    lines = []
    for k, group in enumerate(alignment.GROUPS):
        layers = [[mean_over_heads(run, k, layer, metric) for run in runs] for layer in "12"]
        lines.append([group, baseline[k], *map(rows.mean_and_range, layers)])
    return table(lines, ["letters", name, "layer 1", "layer 2"], formats={name: ".1f"},
                 caption=f"{about}: {len(runs)}, strings of four digits")  # fmt: skip


letters_table("centre", runs[0]["line"], "line")

# %% [markdown]
# *In % of letters: is the centre in the digit? The line is the straight line, which does not
# listen; of the layers the mean of the heads is shown.*
#
# A center may fall outside though most of the weight is inside. So here is the weight itself:

# %% The weight in the digit tags=["fold"]
letters_table("weight", runs[0]["deaf"]["even"], "even")

# %% [markdown]
# *In % of the weight: how much lies in the digit that the letter spells? Even: all rows get the
# same weight.*
#
# In both layers far more of the weight lies in the right digit than if it were spread evenly. That
# is a weak baseline: a fixed diagonal would pass it, as the straight line without sound does, and
# these are means over the four heads of a layer, not single heads. By their centers only the first
# letters of layer 2 are ahead of a line that does not listen; for all other letters both layers
# stay behind it, in every run.
#
# Do they listen where there is something to find out? Compare second letters alone, which stand at
# the same place of their words. The line is right more often for the settled ones; the heads are
# right more often for the open ones, in both layers of every run. That fits, but it is no proof:
# these are other digits, with other sounds. *Where attention looks* and *where the letter is
# spoken* are two questions.
#
# ### Only forward
#
# Whoever reads the letters from left to right hears from left to right, too. So take the mean of
# all eight heads, and look for the best path that only goes forward: each letter gets one or more
# neighboring rows, in order, each row belongs to one letter, and the sum of the weights on the
# path is as large as possible. [CTC](02_ctc.ipynb) finds the places of its letters by such a
# search.

# %% Paths that only go forward tags=["fold"]
lines = [[group, runs[0]["line"][k],
          rows.mean_and_range(rows.values(runs, "forward", "places", k))]
         for k, group in enumerate(alignment.GROUPS)]  # fmt: skip
lines.append(["beginning of a digit, ms off", runs[0]["deaf"]["off"],
              rows.mean_and_range(rows.values(runs, "forward", "off"))])  # fmt: skip
table(lines, ["letters", "line", "path"], formats={"line": ".1f"},
      caption=f"{about}: in their digit, in %; last line: mean error in ms")  # fmt: skip

# %% [markdown]
# Read as a path, the same weights put first and second letters into their digit almost always, more
# often than the line, in every run; later letters less often than the line. So the decoder does
# know which digit comes when. When a digit *begins* it does not tell: the first letter's rows begin
# 92 ms before or after the digit does, on average, farther off than on the line, in every run. A
# reason may be the space before it, which takes rows of its own although the digits are joined
# without a pause.
#
# Published work on Whisper chooses heads with care, and is judged with a tolerance of 20 to 100 ms
# (Yeh et al. 2025).

# %% [markdown]
# ## Eight digits

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "No training string had more than four digits. Now eight are said. What is written?",
    ["all eight, about as well as four", "eight words, one or two of them wrong",
     "the first ones, and then the text stops or loses its way"],
    answer=2,
    explain="In the training nothing ever came after a fourth word.",
    key="06c_speech/eight-digits",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% More digits than ever before tags=["surprise"]
lines = [[n, *(rows.mean_and_range(rows.values(runs, "errors", str(n), k)) for k in (0, 1))]
         for n in (4, 5, 6, 8)]  # fmt: skip
table(lines, ["digits said", "wrong words in %", "words written"],
      caption=f"{about}: mean of the seeds (lowest to highest)")  # fmt: skip

# %% Look at one of eight tags=["fold"]
speech_cross_attention([eight, same])

# %% [markdown]
# Beyond four digits it goes wrong in every run, and the longer the string, the more. The run of the
# picture stops: of eight digits it writes four or a few more. Press *end* in the picture: where
# does it look when it decides to stop? And of one digit said four times it has lost one. Equal
# sounds may be hard to count, but such strings were also rare in its training.
#
# Nobody forces the decoder to read all of the sound, to read any of it once only, or to stop when
# it is over. It has learned to do so from strings of up to four words.

# %% [markdown]
# ### Common mistake: padding that is heard
#
# Recordings of a batch are filled up to the longest one. Attention gets a mask; a convolution does
# not ask for one. **Symptom:** a recording says something else alone than beside a longer one.
# **Fix:** set what is padding to 0 before each convolution.

# %% Padding that is heard tags=["nbval-check-output"]
from unittest import mock

torch.manual_seed(0)
front = build_model().encoder.front
short = torch.randn(1, 30, alignment.BANDS)
filled, real = torch.nn.functional.pad(short, (0, 0, 0, 20)), torch.arange(50)[None] < 30
alone, beside = front(short)[0], front(filled, real)[0]
with mock.patch("deepdive.layers.subsample.mask_padding", lambda rows, mask: rows):
    careless = front(filled, real)[0]
for name, states in (("silenced", beside), ("careless", careless)):
    other = (states[:, : alone.shape[1]] - alone).abs().amax((0, 2)) > 1e-4
    print(f"{name}: {int(other.sum())} of {alone.shape[1]} rows differ from the recording alone")

# %% [markdown]
# The released code is careless, and so is transformers', which repeats it. The models were trained
# so and write well all the same, but what they write of a recording can depend on its neighbors.

# %% [markdown] tags=["aside"]
# ## Whisper: windows of thirty seconds
#
# Whisper (Radford et al. 2022) is Speech2Text with another entrance and another schooling. What
# differs:
#
# - It has read 680,000 hours of sound with captions, gathered from the web and filtered by rules.
# - Sound comes in windows of 30 seconds. A shorter recording is filled with silence, and there is
#   no mask: silence is sound in which nothing is said. A longer one is cut, window after window. So
#   no text is ever longer than in the training.
# - Of its two convolutions one halves the frames: 3,000 frames become 1,500 rows. They have no
#   gate, but the activation GELU.
# - Keys have no bias, the decoder's positions are learned, and no row is multiplied by
#   $\sqrt{d}$.
# - The first tokens, given to it, say what is asked: the language, to write down or to translate,
#   with times or without.
#
# When its code is asked for the time of each word, it does what this page does: it takes the
# cross-attention of a few heads chosen for that, smooths it, and looks for the best path that only
# goes forward.

# %% Count Whisper's sizes tags=["aside", "fold", "nbval-check-output"]
from deepdive.models.speech import whisper

sizes = {"tiny": whisper.SMALLEST, "base": whisper.BASE, "small": whisper.SMALL,
         "medium": whisper.MEDIUM, "large": whisper.LARGE}  # fmt: skip
lines = []
for called, config in sizes.items():
    with torch.device("meta"):
        count = sum(p.numel() for p in whisper.whisper(config).parameters())
    lines.append([called, config.n_layers, config.d_model, config.n_heads, round(count / 1e6)])
table(lines, ["size", "layers, each side", "width", "heads", "million weights, counted"])

# %% [markdown] tags=["aside"]
# ## Conformer: attention for what is far, a convolution for what is near
#
# The Conformer's block (Gulati et al. 2020) has four parts, each with its own norm. With $F_1$ and
# $F_2$ feed-forward layers, $A$ attention and $C$ a convolution over time:
#
# $$\begin{aligned} x &\leftarrow x + F_1(x) / 2 \\ x &\leftarrow x + A(x) \\ x &\leftarrow x +
# C(x) \\ x &\leftarrow \text{norm}(x + F_2(x) / 2) \end{aligned}$$
#
# - $C$ is a gate as above, then a convolution that reads the rows nearby, each number of the row
#   for itself, a norm over the batch, the activation $z \sigma(z)$, and a matrix.
# - $A$ knows how far two rows lie apart, as in Transformer-XL; nothing is added to the rows.
# - Two feed-forward layers stand around both, and each counts half.
#
# It is an encoder: any decoder, or CTC, can stand behind it. With their largest, of 119 million
# weights, and a decoder that is not built here, the authors report 2.1% wrong words on
# LibriSpeech's test-clean without a language model; fairseq reports 3.2% for its largest
# Speech2Text, of 268 million.

# %% A Conformer in the encoder's place tags=["aside", "fold", "nbval-check-output"]
from deepdive.models.speech import conformer

mixed = speech2text.speech2text(conformer.TINY, **SIZES, kernel=7, kernels=(5, 5))
for name, model in (("Speech2Text", build_model()), ("Conformer", mixed)):
    count = sum(p.numel() for p in model.encoder.parameters())
    states = model.eval().encoder(torch.zeros(1, 100, alignment.BANDS))[0]
    print(f"{name}: {count:,} weights listen, {tuple(states.shape)} states of 100 frames")

# %% [markdown] tags=["aside"]
# ## Speech2Text2: a listener that was trained without text
#
# Speech2Text2 (Wang et al. 2021) has no encoder of its own. It is a decoder, the first
# Transformer's with its norms behind the sums, and in front of it stands [wav2vec
# 2.0](03_wav2vec2.ipynb), which has learned to listen from sound alone. Where the rows of the one
# are wider than those of the other, a matrix stands between them. The transformers library had it
# until version 4; the later ones have not.

# %% Set a decoder behind wav2vec 2.0 tags=["aside", "fold", "nbval-check-output"]
from deepdive.models.speech import speech2text2, wav2vec2

listener = wav2vec2.wav2vec2(wav2vec2.TINY)
pair = speech2text2.speech2text2(listener, listener.config.d_model, speech2text2.TINY).eval()
sound = torch.randn(1, 800, generator=torch.Generator().manual_seed(0))
state = pair.begin(sound)
print(tuple(sound.shape), "samples ->", tuple(state.memory.shape), "rows that the decoder reads")

# %% [markdown]
# ## In practice
#
# - For times of words use a model that was trained to give them, CTC, or a path that only goes
#   forward through the attention of chosen heads; not the largest weight of each letter. Measure
#   the error in ms where borders are known.
# - Train on lengths that will come, or cut what is longer into windows. An encoder-decoder that
#   has never seen eight words may stop, repeat, or invent.
# - Watch for texts that loop: a limit on the length, and a look at repeated words, find most.
# - Ask what a rival without ears would get: here a straight line.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does Speech2Text make one row of four frames?
#
#    <details><summary>Answer</summary>
#
#    Attention costs the square of the number of rows, and a letter lasts for several frames.
#
#    </details>
# 2. What is the straight line good for?
#
#    <details><summary>Answer</summary>
#
#    It does not listen. What it gets right is no evidence that somebody else has listened.
#
#    </details>
# 3. Which letters of *six* are settled, and by what?
#
#    <details><summary>Answer</summary>
#
#    X: behind S two digits fit, *six* and *seven*; I decides for *six*, and X follows from it.
#
#    </details>
# 4. CTC needs a row for each letter, and one more between equal ones. Why does Speech2Text not?
#
#    <details><summary>Answer</summary>
#
#    Its decoder writes as many letters as it likes, and may look at the same row for several.
#
#    </details>
# 5. What does Whisper do about recordings that are longer than those of its training?
#
#    <details><summary>Answer</summary>
#
#    It never reads one: sound is cut into windows of thirty seconds.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* In the table by hand, find the path that only goes forward and has the most
#    weight: each of the three letters gets one or more neighboring rows, S begins with row 0, X
#    ends with row 4. Which rows get S, I and X, and how much weight do they have?
#
#    <details><summary>Answer</summary>
#
#    S row 0 (8), I rows 1 and 2 (6 + 3), X rows 3 and 4 (2 + 6): 25 tenths. (Taking row 2 for X
#    instead gives 24.)
#
#    </details>
# 2. *(on paper, 3 min)* How many rows do 3,000 frames become in Speech2Text, and how many in
#    Whisper? How many times as many pairs does each head of Whisper's encoder compare?
#
#    <details><summary>Answer</summary>
#
#    750 and 1,500; four times as many.
#
#    </details>
# 3. *(measure, 10 min)* Cut each string of eight digits in the middle, let a model from
#    `alignment.train_model(build_model, loss, 2000, 1)` write both halves, and join the texts. (Use
#    `alignment.transcribe` and `alignment.make_batch("test", [string[:4]])`.) How many words are
#    wrong now?
#
#    <details><summary>Answer</summary>
#
#    Expect about as many as in strings of four, for the halves are such strings (no such run is
#    kept). It helps that we knew where to cut; Whisper cuts at a time that it has itself written.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
print("rows:", alignment.monotonic_path(tenths))
print(
    (8 + 6 + 3 + 2 + 6, 8 + 6 + 2 + 2 + 6),
    small.encoder.front(torch.zeros(1, 3000, 40))[0].shape[1],
)

# %% [markdown]
# ## Summary
#
# Speech2Text is a Transformer that reads four frames of sound as one row, and its cross-attention
# gives each letter a weight for each moment. Read letter by letter most weights lie in the right
# word, first letters best and later ones least; read as a path that only goes forward they tell
# which word comes when, though not when it begins. Back to the telephone number: by the X of *six*
# and the O of *two* the word is settled, and for such letters the finger often points elsewhere;
# and of eight digits, twice as many as ever before, such a listener writes about half or a little
# more, and then stops or loses its place.
#
# ## Further reading
#
# - Wang et al. (2020), *fairseq S2T*: section 3.1, and the recipe for LibriSpeech in fairseq's
#   examples, from which the error rate above is.
# - Wang et al. (2021), *Large-Scale Self- and Semi-Supervised Learning for Speech Translation*.
# - Radford et al. (2022), *Robust Speech Recognition via Large-Scale Weak Supervision*: section 2
#   for the model, section 4.5 for what was needed against texts that loop; `timing.py` of the
#   released code for the times of words.
# - Gulati et al. (2020), *Conformer*: figure 1, and table 2 for the error rates.
# - Yeh, Meng, Tang (2025), *Whisper Has an Internal Word Aligner*: which heads align, why letters
#   do it better than pieces of words, and how near the times are.
# - kenfus, *Visualizing Whisper: Mapping Cross-Attention to Time*, a blog of November 2025: the map
#   of all tokens at once, with long silences put in as a test.

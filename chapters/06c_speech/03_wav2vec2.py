# %% [markdown] tags=["slide"]
# # wav2vec 2.0: learning from speech without transcripts
#
# Leave a radio on, in a language that you do not know. Hours later you still understand nothing,
# and yet you have learned something: which sounds there are, and which of them follow which. Then
# somebody gives you two minutes of it with the sounds written down. Were the hours worth anything?
#
# <small>Prerequisites: [from a waveform to units](01_waveform.ipynb),
# [hidden words](../03_bert/03_masking.ipynb) · 15 min · runs on a laptop; results of the long runs
# are included · book 6.3.1</small>

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

# %% Turn the arrow tags=["fold"]
from deepdive_book.ch06c.figures.contrastive_loss_demo import contrastive_loss_demo

contrastive_loss_demo([40, 100, 190, 290], said=130)

# %% [markdown]
# *A moment of sound has been hidden. The thick arrow is the network's answer. R is the code of what
# was really there, 1 to 3 are codes of other moments of the same recording. Each bar is the share
# that a code gets; the loss is small where R gets nearly all. Move the sliders, or use the arrow
# keys on them.*
#
# 1. Where is the loss smallest? Does the arrow then point exactly at R?
# 2. Turn the arrow away from all codes. Is the loss then at its largest?
# 3. Set the temperature to 0.1 and turn slowly. How do the shares change now?
#
# <details><summary>Answers to the three questions</summary>
#
# 1. At 24 degrees, beyond R: that takes the arrow farther away from code 1.
# 2. No. It is largest at 211 degrees, beside code 2 and nearly opposite R.
# 3. They jump. From R to code 1 it takes a few degrees around 70, the middle between the two.
#
# </details>

# %% Where the loss is smallest and largest tags=["fold", "nbval-check-output"]
from deepdive_book.ch06c.figures.contrastive_loss_demo import shares

of_right = [shares([40, 100, 190, 290], turn, 0.5)[0] for turn in range(360)]
print("smallest loss at", of_right.index(max(of_right)), "degrees, largest at",
      of_right.index(min(of_right)))  # fmt: skip

# %% [markdown]
# ## Find the right code
#
# BERT learns from text that nobody labeled: it hides a word and asks which it was. Sound has no
# words to ask for. **wav2vec 2.0** (Baevski et al. 2020) makes its own answers:

# %% Draw the two ways tags=["slide", "fold", "nbval-check-output"]
from deepdive_book.kit.diagrams import ROLES, arrow, svg
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.plotting import show

body = [box(34, 150, "sound", "value", 60), box(138, 150, "convolutions", "key", 112),
        box(138, 42, "one learned\nrow in all gaps", "value", 126),
        box(270, 42, "+ places, by\na convolution", "key", 114),
        box(392, 42, "Transformer", "query", 104), box(392, 97, "matrix", "query", 70),
        box(392, 150, "cosine", "weight", 70), box(392, 203, "matrix", "output", 70),
        box(392, 258, "code", "output", 70), box(230, 258, "codebooks", "key", 104)]  # fmt: skip
for x, y, to_x, to_y in ((64, 150, 82, 150), (138, 133, 138, 68), (201, 42, 213, 42),
                         (327, 42, 340, 42), (392, 59, 392, 80), (392, 114, 392, 133),
                         (158, 167, 205, 241), (282, 258, 357, 258), (392, 241, 392, 220),
                         (392, 186, 392, 167)):  # fmt: skip
    body.append(arrow(x, y, to_x, to_y))
show(svg(448, 282, body), "Sound goes through convolutions; their rows take two ways. Above, one "
     "learned row stands in all gaps, a convolution adds where each row stands, and a Transformer "
     "reads them; below, each row chooses a code. Behind a matrix each both have one width, and "
     "their cosine is taken.")  # fmt: skip

# %% [markdown]
# - **Rows.** Convolutions turn the waveform into rows of numbers, fifty a second. There is no
#   vocabulary.
# - **Above**, about half of the rows are hidden, in spans of ten, which is a fifth of a second. In
#   all hidden places stands the same learned row, as BERT has one `[MASK]` for all words. Where a
#   row stands is told by a convolution over its neighbors, whose result is added. Then a
#   Transformer reads all rows, and its output at a gap is its answer.
# - **Below**, nothing is hidden, and each row chooses a **code**: one entry of each of two
#   **codebooks**, which are learned tables.
# - **The task**: at a gap, find the right code among codes of other gaps in the same recording, the
#   **wrong codes** (the paper: *distractors*, or negatives; a hundred of them). Answer and codes
#   are first brought to one width, each by a learned matrix; then their cosines are compared. A
#   wrong code that happens to equal the right one is left out. This is the **contrastive loss**.
#
# ## By hand: three cosines
#
# How alike two vectors are is measured by their cosine, 1 for the same direction and −1 for the
# opposite. To count in whole numbers, powers of 2 stand in for those of $e$ here. In the last two
# columns the *temperature* is ½: each cosine is divided by it.
#
# | code | cosine | $2^{\cos}$ | share | $2^{2\cos}$ | share |
# |---|---|---|---|---|---|
# | right | 1 | 2 | 4/7 | 4 | 16/21 |
# | wrong 1 | 0 | 1 | 2/7 | 1 | 4/21 |
# | wrong 2 | −1 | ½ | 1/7 | ¼ | 1/21 |
#
# The loss is $\log_2 (7/4) \approx 0.81$ bits; with half the temperature $\log_2(21/16) \approx
# 0.39$. A low temperature (the paper: 0.1) makes a small lead in the cosine a large one. (The arrow
# above counts with $e$: one of its units is 1.44 bits.)

# %% The same from the library tags=["nbval-check-output"]
from math import log

import torch

from deepdive.training.objectives import contrastive_loss

said = torch.tensor([[[3.0, 4.0]] * 3])
codes = torch.tensor([[[6.0, 8.0], [4.0, -3.0], [-3.0, -4.0]]])  # cosines 1, 0, -1
hidden = torch.tensor([[True, False, False]])
wrong = torch.tensor([[[1, 2]] * 3])
for temperature in (1, 0.5):  # divided by log 2: powers of 2 for those of e, bits for the loss
    found = contrastive_loss(said, codes, hidden, wrong, temperature / log(2)) / log(2)
    print(f"temperature {temperature}: {found:.2f} bits")

# %% [markdown]
# ## A codebook chooses
#
# A row scores the entries of a codebook, and the entry with the highest score is its code. Two
# codebooks of 320 entries make $320 \cdot 320 = 102{,}400$ codes out of 640 rows of a table.
#
# To choose the highest is a step, and a step has no slope to learn from. So two tricks:
#
# - In training, noise is added to the scores (**Gumbel noise**: with it each entry is chosen as
#   often as softmax of the scores says). Entries that are behind get their turn.
# - Forwards the chosen entry is used; backwards the gradient is that of the softmax, as if all
#   entries had been mixed (**straight through**). This softmax has a temperature of its own, which
#   falls from 2 to 0.5 during the training.

# %% Scores 2, 1 and 0, ten thousand times
from deepdive.layers.quantizer import Quantizer

torch.manual_seed(0)
one = Quantizer(1, codebooks=1, codes=3, d_code=1).train()
one.scores.weight.data.zero_()
one.scores.bias.data = torch.tensor([2.0, 1.0, 0.0])
one.table.data = torch.eye(3)[:, :1]  # a code is 1 where the first entry was chosen
share_of_first = one(torch.zeros(1, 10_000, 1)).codes.mean().item()
expected = one.scores.bias.softmax(-1)[0].item()
print(f"first entry: {100 * share_of_first:.0f} % of the draws")
print(f"softmax says {100 * expected:.0f} %")
assert abs(share_of_first - expected) < 0.02

# %% [markdown]
# Nothing so far asks that all entries be used. A second loss, the **diversity loss**, does. Take
# the mean of the softmax over all rows of a batch, $p$, and its entropy $H = -\sum p \log p$. Then
# $e^H$ counts the entries in use: 4 where four are used alike, 1 where one is used always. The loss
# is 1 − (entries in use) / (entries there), and has the weight 0.1.

# %% A small wav2vec 2.0 tags=["fold"]
from deepdive.core import PreNorm
from deepdive.layers.speech_frontend import layer_norms
from deepdive.models.speech.wav2vec2 import BASE, wav2vec2
from deepdive.models.speech.wav2vec2_pretraining import Wav2Vec2ForPreTraining
from deepdive.training.objectives import diversity_loss, hidden_spans, sample_negatives

SMALL = BASE.but(
    channels=13, widths=(96, 96), kernels=(3, 3), strides=(2, 1), norms=layer_norms,
    residual=PreNorm, place_width=16, place_groups=4, d_model=96, n_heads=4, n_layers=3,
    d_ff=288, codes=32, d_code=32, d_target=48, n_negatives=20,
    dropout=0.0, ff_dropout=0.0, attention_dropout=0.0,
)  # fmt: skip


# %% Both losses tags=["fold"]
def losses(model, batch):
    """Both losses of a batch: how well the right codes are found, how evenly entries are used."""
    sound, mask, _ = batch
    real = model.encoder.real(mask)
    hidden = hidden_spans(real)
    output, target, usage = model(sound, hidden, mask)
    negatives = sample_negatives(hidden, SMALL.n_negatives)
    return contrastive_loss(output, target, hidden, negatives), diversity_loss(usage, hidden)


# %% What is measured tags=["fold"]
from functools import cache

from deepdive_book.ch06c.runs import wav2vec2 as experiment

LAYERS = {"cepstra": experiment.CEPSTRA, "not trained": None, "not trained, convolved": 0}


@cache
def pretrain(diversity, steps, seed):
    """A model that has listened, and how many entries were used on the way."""
    torch.manual_seed(seed)
    model = Wav2Vec2ForPreTraining(wav2vec2(SMALL))
    return model, experiment.train_model(model, losses, steps, seed, diversity=diversity)


def measure(model, steps, diversity, seed):
    """What a probe finds in one kind of rows, and what became of the codebooks."""
    torch.manual_seed(seed)
    if model in LAYERS:
        return {"probe": experiment.probe_accuracy(wav2vec2(SMALL), LAYERS[model], seed)}
    finder, used = pretrain(diversity, steps, seed)
    accuracy = experiment.code_accuracy(finder)
    if model == "compared":  # the same training, asked how many wrong codes are left
        return accuracy
    probes = {name: experiment.probe_accuracy(finder.encoder, layer, seed)
              for name, layer in (("probe", None), ("convolved", 0))}  # fmt: skip
    return {**probes, "used": used, "found": accuracy["found"],
            "joint": experiment.phone_code_counts(finder)}  # fmt: skip


# %% Measure, or read what was measured tags=["fold"]
from deepdive_book.kit import rows
from deepdive_book.kit.experiments import share
from deepdive_book.kit.profile import pick


def points(steps, seed):
    """The runs of one seed, without the second loss and with it."""
    runs = [("listened", steps, 0.1), ("listened", steps, 0.0), ("cepstra", 0, 0.0),
            ("not trained", 0, 0.0), ("not trained, convolved", 0, 0.0),
            ("compared", steps, 0.1), ("compared", steps, 0.0)]  # fmt: skip
    return [{"model": model, "steps": n, "diversity": diversity, "seed": seed}
            for model, n, diversity in runs]  # fmt: skip


found = rows.load_or_measure(
    measure, "06c_speech", "wav2vec2", data="an4_mfcc", minutes=400,
    points=[point for seed in (1, 2, 3) for point in points(round(400 * share()), seed)],
    few=[point for point in points(pick(ci=12, laptop=60, gpu=2000), 1)
         if point["diversity"] or not point["steps"]],
)  # fmt: skip

# %% [markdown]
# ## Were the hours worth anything?
#
# Hours of radio are too much for a laptop; here it is 36 minutes of **AN4**, in which people spell
# names and say numbers. We have AN4 without its waveforms, as 13
# [cepstra](01_waveform.ipynb#from-bands-to-cepstra) every 10 milliseconds. So our network is not
# the published one (Baevski et al. 2020, *base*):
#
# | | published | here |
# |---|---|---|
# | reads | the waveform | 13 cepstra |
# | convolutions | 7 | 2 |
# | layers, their width | 12, 768 | 3, 96 |
# | entries a codebook | 320 | 32 |
# | wrong codes | 100 | 20 |
# | steps of training | 400,000 | 400 |
# | dropout | 0.1 | none |
# | norms | behind the sums | as the large form: in each convolution and branch |
#
# It never sees a word. Then come two minutes with the sounds written down: 40 utterances, with a
# phone (a speech sound) for each row. A linear map learns from these and is asked about eleven
# people whom it has not heard. Nobody marked AN4's phones by hand: a simple model of each phone
# laid the words along the frames, by the most probable path, and errs mostly at borders ([the next
# page](04_hubert.ipynb) says how often).

# %% Accuracies of each kind of rows tags=["fold"]
from statistics import mean

from deepdive_book.kit.tables import table

about = "the kept runs" if found.saved else "live, too short to judge by"
train, test = experiment.load_utterances()
labeled = train.only(range(experiment.LABELED)).minutes
print(f"{train.minutes:.0f} minutes to listen to, {labeled:.0f} of them with phones")
print(f"asked about {len({*test.speakers})} others, {test.minutes:.0f} minutes")


def accuracies(part, model, diversity):
    """The mean over speakers, one value a seed."""
    return [*map(mean, rows.values(found.rows, part, model=model, diversity=diversity))]


KINDS = [("seven frames of cepstra", "cepstra", 0.0, "probe"),
         ("not trained, after the convolutions", "not trained, convolved", 0.0, "probe"),
         ("not trained, after the last layer", "not trained", 0.0, "probe"),
         ("has listened, after the convolutions", "listened", 0.1, "convolved"),
         ("has listened, after the last layer", "listened", 0.1, "probe")]  # fmt: skip
lines = [[name, rows.mean_and_range(accuracies(part, model, weight))]
         for name, model, weight, part in KINDS]  # fmt: skip

# %% Phones read off the rows tags=["slide"]
table(lines, ["rows", "right, % of rows"],
      caption=f"{about}: phones of new people; mean of people, then of seeds (lowest to "
      "highest)")  # fmt: skip

# %% How sure is that, over people? tags=["fold"]
from deepdive.evaluate.confidence_intervals import bootstrap


def gained(part, other, other_part):
    """How much more is right in rows that have listened: over people, and of the least seed."""
    runs, others = (
        rows.select(found.rows, model=model, diversity=0.1 if model == "listened" else 0.0)
        for model in ("listened", other)
    )
    speakers, seeds = experiment.gains(runs, others, part, other_part)
    return [bootstrap(speakers) if len(speakers) > 1 else mean(speakers), f"{min(seeds):+.1f}",
            f"{max(seeds):+.1f}"]  # fmt: skip


table([["last layer, not cepstra", *gained("probe", "cepstra", "probe")],
       ["last layer, not untrained", *gained("probe", "not trained", "probe")],
       ["convolutions, not untrained", *gained("convolved", "not trained, convolved", "probe")],
       ["last layer, not convolutions", *gained("probe", "listened", "convolved")]],
      ["what is compared", "points more", "least seed", "most"], formats={"points more": "+.1f"},
      caption=f"{about}: mean of the seeds, in brackets 95 % intervals over people")  # fmt: skip

# %% [markdown]
# **Yes.** From the last layer of the network that listened the map reads 6.6 points more than from
# cepstra, and at least 5.3 in every seed; the interval over people is far from zero. The listening
# does it, not the shape of the network: untrained it is about as good as the cepstra, after the
# convolutions and after the last layer. What was learned is there after the convolutions already;
# after the last layer there are even 0.7 points less, and less in every seed. (The layers are
# trained for what stands in a gap, and the map asks for what was heard.) This doesn't mean that
# attention layers add nothing: only the two ends were probed. In the published wav2vec 2.0 the
# *middle* layers carry the phones best, and the last ones turn back toward the input (Pasad, Chou,
# and Livescu 2021).

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Now the same without the second loss. Nothing asks for all entries to be used, and fewer are. "
    "How often is the right code found among the wrong ones, compared with before?",
    ["less often", "about as often", "more often"],
    answer=2,
    explain="With few entries the task is easier: there is less to tell apart. A code that is easy "
    "to find need not be worth finding.",
    key="06c_speech/without-diversity",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Entries in use tags=["surprise"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.6, 2.9), layout="constrained")
axes = figure.subplots()
for weight, color, name in ((0.1, ROLES["output"], "with the second loss"),
                            (0.0, ROLES["query"], "without it")):  # fmt: skip
    for k, run in enumerate(rows.select(found.rows, model="listened", diversity=weight)):
        used = [mean(both) for both in run["used"]]
        at = [i * run["steps"] / (len(used) - 1) for i in range(len(used))]
        axes.plot(at, used, color=color, label=name if k == 0 else None)
axes.set(xlabel="steps", ylabel="entries in use, of 32", ylim=(0, 33))
axes.legend(frameon=False, loc="upper right")
with_alt(figure, "Entries in use over the training, one line a seed, for a training with the "
         "second loss and, where it was run, for one without.")  # fmt: skip

# %% The same in numbers tags=["surprise"]
both = [(name, rows.select(found.rows, model="listened", diversity=weight))
        for name, weight in (("with", 0.1), ("without", 0.0))]  # fmt: skip
table([[name, rows.mean_and_range([mean(used[-1]) for used in rows.values(runs, "used")]),
        rows.mean_and_range(rows.values(runs, "found")),
        rows.mean_and_range([*map(mean, rows.values(runs, "probe"))])] for name, runs in both],
      ["second loss", "entries in use, of 32", "right code found, %", "phones right, %"],
      caption=f"{about}: mean of seeds (lowest to highest)")  # fmt: skip

# %% How many wrong codes are left tags=["surprise", "fold"]
compared = rows.select(found.rows, model="compared", seed=1)
first_seed = [(name, run) for name, weight in (("with", 0.1), ("without", 0.0))
              for run in compared if run["diversity"] == weight]  # fmt: skip
table([[name, f"{run['left']:.1f}", f"{run['chance']:.1f}", f"{run['found']:.1f}"]
       for name, run in first_seed],
      ["second loss", "wrong codes left, of 20", "a guess is right, %", "right code found, %"],
      caption=f"{about}, the first seed: without those that equal the right one")  # fmt: skip

# %% [markdown]
# Without the second loss the codebook shrinks to fewer than ten entries of 32 within the first
# steps and stays there. And then the right code is found **more** often, in every seed. This is not
# because fewer wrong codes are left: in the first seed 18.3 of 20 remain, not 19.4, and a guess
# would be right in 5.3 of a hundred rows, not in 4.9. There is less to tell apart. So the first
# loss alone cannot say which training is better. Nor do three seeds say it of the phones: the map
# reads them about as well from both. At this size the second loss keeps many entries in use, and
# the rows do not need them.

# %% What an entry stands for tags=["fold"]
counts = rows.values(found.rows, "joint", model="listened", diversity=0.1)[0]
joint = torch.tensor(counts).double()
joint = joint[:, joint.sum(0) > 0]
by_phone = joint / joint.sum(0)  # of each entry: which phones it is taken for
order = by_phone.argmax(0).argsort(stable=True)
figure = Figure(figsize=(4.6, 7.4), layout="constrained")
axes = figure.subplots()
image = axes.imshow(by_phone[:, order], cmap="Blues", vmin=0, vmax=1, aspect="auto")
labels = ["silence" if name == "_" else name for name in train.names[: len(joint)]]
axes.set_yticks(range(len(joint)), [f"{name} {int(n)}" for name, n in
                                    zip(labels, joint.sum(1), strict=True)])  # fmt: skip
axes.set_xticks([])
axes.set_xlabel(f"entries of the first codebook\n({len(order)} of 32 are taken)")
figure.colorbar(image, orientation="horizontal", label="share of the entry's rows", shrink=0.7)
with_alt(figure, "Phones down, each with its number of rows, entries of the first codebook across: "
         "of the rows that take an entry, the share that each phone has.")  # fmt: skip

# %% [markdown]
# *One run. Each column is an entry, and shows whose sounds take it: a full cell is an entry that
# belongs to one phone. Silence has entries that are nearly its own, and so have IY (as in "see")
# and S; most others are shared by several phones. Beside each phone stands how many rows it has:
# where these are few, its line is nearly empty. The paper draws the same for its codebooks
# (appendix D).*

# %% [markdown]
# ### Common mistake: a batch of different lengths, read by the base form
#
# The base form normalizes each channel of its first convolution over the whole recording. In a
# padded batch the padding is part of that, and no mask can take it out again. **Symptom**: a
# recording's transcript depends on what it is batched with. **Fix**: read it alone, or use the
# large form, which normalizes each row by itself.

# %% A recording alone, and beside a longer one tags=["nbval-check-output"]
from deepdive.models.speech.wav2vec2 import TINY

torch.manual_seed(0)
short = torch.randn(1, 160)
longer = torch.cat([short, torch.zeros(1, 160)], 1)
real = torch.arange(320)[None] < 160
forms = {"base": TINY, "large": TINY.but(norms=layer_norms, residual=PreNorm)}
for called, form in forms.items():
    with torch.no_grad():
        reader = wav2vec2(form).eval()
        apart = (reader(short) - reader(longer, real)[:, :10]).abs().max()
    print(f"{called} form: {'the same' if apart < 1e-5 else 'not the same'}")

# %% [markdown]
# ## In practice
#
# - Published weights: `load("facebook/wav2vec2-base")`, downloaded as a folder; `head="ctc"` for
#   those that write letters, `head="pretraining"` for those with codebooks. Base has 95 million
#   numbers, large 317 million.
# - To write, put one matrix on the states and train with the [CTC loss](02_ctc.ipynb). Baevski et
#   al. report 4.8 and 8.2% of words wrong (LibriSpeech, clean and other) with **ten minutes** of
#   labeled speech after 53,000 hours without labels: of the large form, decoded with a Transformer
#   language model (their table 1), not by CTC alone.
# - Wrong codes come from the same recording. From others, a voice or a room would give the answer
#   away.
# - Watch the entries in use, not only the loss: a falling loss may be a codebook that empties.
# - The temperature of a codebook's softmax falls from 2 to 0.5 during the training; that of the
#   comparison stays at 0.1. They are two different numbers.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What is asked at a hidden row?
#
#    <details><summary>Answer</summary>
#
#    Which of a hundred and one codes (here 21) is the one of what was there.
#
#    </details>
# 2. Why are spans of ten rows hidden, and not single ones?
#
#    <details><summary>Answer</summary>
#
#    A row of 25 milliseconds is nearly told by its neighbors; a fifth of a second is not.
#
#    </details>
# 3. What is used forwards and what backwards in the straight-through choice?
#
#    <details><summary>Answer</summary>
#
#    Forwards the chosen entry alone, backwards the slope of the softmax over all.
#
#    </details>
# 4. How many entries are in use, by $e^H$, if half of the rows take one and half another?
#
#    <details><summary>Answer</summary>
#
#    Two.
#
#    </details>
# 5. Why do wrong codes come from the same recording?
#
#    <details><summary>Answer</summary>
#
#    Else the speaker's voice would tell the right one, and not the sound.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* The kernels are 10, 3, 3, 3, 3, 2, 2 and the strides 5, 2, 2, 2, 2, 2, 2.
#    How many samples are between two rows, and how many make one? What is that in milliseconds at
#    16,000 a second?
#
#    <details><summary>Answer</summary>
#
#    $5 \cdot 2^6 = 320$ samples, 20 ms; a row is made of 400, 25 ms.
#
#    </details>
# 2. *(on paper, 3 min)* In the sum by hand, a second wrong code has cosine 0. What is the loss at
#    temperature 1?
#
#    <details><summary>Answer</summary>
#
#    $2^{\cos}$ are 2, 1, 1, ½: the share is $2 / 4.5 = 4/9$, the loss $\log_2 (9/4) \approx 1.17$
#    bits.
#
#    </details>
# 3. *(on paper, 3 min)* A codebook of four entries has the mean usage ½, ¼, ¼, 0. How many are in
#    use, and what is the diversity loss?
#
#    <details><summary>Answer</summary>
#
#    $H = 1.5$ bits, so $2^{1.5} \approx 2.83$ entries; the loss is $1 - 2.83 / 4 \approx 0.29$.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers, checked.
reader = wav2vec2(TINY, kernels=BASE.kernels, strides=BASE.strides, widths=(2,) * 7)
seven = reader.embeddings.features
more = seven.rows(720) - seven.rows(400)
said = torch.tensor([[[3.0, 4.0]] * 4])
codes = torch.tensor([[[6.0, 8.0], [4.0, -3.0], [-3.0, -4.0], [-4.0, 3.0]]])
hidden, wrong = torch.tensor([[True, False, False, False]]), torch.tensor([[[1, 2, 3]] * 4])
bits = contrastive_loss(said, codes, hidden, wrong, 1 / log(2)) / log(2)
uneven = diversity_loss(torch.tensor([[[[0.5, 0.25, 0.25, 0.0]]]]))
print(f"{seven.reach} samples; 320 more: {more} row more | {bits:.2f} bits | {uneven:.2f}")

# %% [markdown]
# ## Summary
#
# wav2vec 2.0 hides spans of what its convolutions made of sound, and must find the right code of a
# gap among those of other gaps; the codes are entries of codebooks that are learned at the same
# time, chosen through noise, and a second loss keeps many of them in use. A lower contrastive loss
# may only mean fewer codes. Back to the radio: yes, the hours were worth something. After 36
# minutes of speech, of which nobody had written down a word, two minutes with the sounds written
# down were enough to name 52 of a hundred rows of new people's sound rightly; from cepstra it was
# 45.
#
# ## Further reading
#
# - Baevski, Zhou, Mohamed, Auli (2020), *wav2vec 2.0: A Framework for Self-Supervised Learning of
#   Speech Representations*: section 3 for both losses, appendix D for what codes stand for.
# - Jang, Gu, Poole (2017), *Categorical Reparameterization with Gumbel-Softmax*: section 2, on one
#   page.
# - The book's section 6.3.1.

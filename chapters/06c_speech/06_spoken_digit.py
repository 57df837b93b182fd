# %% [markdown] tags=["slide"]
# # Spoken-digit recognition: run it in your browser
#
# A machine in a car park asks for the number of your space: say it, digit by digit. It learned
# what digits sound like from six people. Will it understand *you*? And what does it hear while you
# speak?
#
# Say a digit, in English, zero to nine. Nothing that you say leaves this page. Without a microphone
# open a file or press a sample.
#
# <small>Prerequisites: [from a waveform to units](01_waveform.ipynb), [CTC](02_ctc.ipynb) ·
# 12 min · runs on a laptop · book 6.3</small>

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

# %% The samples tags=["fold"]
import torch

from deepdive.data.speech import fsdd
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.profile import profile

if profile() == "ci":
    spoken = voices(60, seed=2)
    first = [(f"{spoken.words[i].lower()} (generated)", spoken.waves[i]) for i in range(3)]
else:
    spoken = fsdd("test")
    chosen = [spoken.names.index(name) for name in ("7_jackson_0", "3_theo_1", "6_george_2")]
    first = [(f"{spoken.words[i].lower()} ({spoken.speakers[i]})", spoken.waves[i]) for i in chosen]
made = voices(12, seed=6)
others = [(f"{made.words[i].lower()} (generated)", made.waves[i]) for i in (1, 2, 6)]
print(f"data {spoken.source}; {made.source}")

# %% The recogniser tags=["slide", "fold"]
from deepdive_book.ch06c.figures.spoken_digit_recognizer import spoken_digit_recognizer
from deepdive_book.ch06c.toys.spoken_digits import PHONES, TARGETS, spoken_digits

toy = spoken_digits()
spoken_digit_recognizer(toy.model, [*first, *others], phones=PHONES, targets=[*TARGETS.values()],
         names=[*TARGETS], said="The recorded samples are of those it learned from; the generated "
         "ones, and you, it has never heard.")  # fmt: skip

# %% [markdown]
# *Above, mel bands over time. Below them, for each hundredth of a second the nearest of some
# typical frames: its unit. Then how probable each phone is; a phone is a sound of the language, AY
# as in five, IY as in three. Where all rows are pale the model says the blank: nothing new.*
#
# 1. Look how short the full cells are beside the sound above them, in seconds. A sound lasts for a
#    while; most of the time only one or two of its cells are full.
# 2. Say a digit slowly, then fast. Do its sounds stay the same?
# 3. Say *no* or *why*. The bars know ten words only. What do the phones say?
#
# ## By hand: from frames to a word
#
# The model makes one row of numbers of two frames, for 20 ms: a probability for every phone and for
# the blank, `-`. A **path** says one of them in each row; repeats become one, then blanks go:
# `A-B`, `AAB` and `-AB` all say AB. The probability of a word is the sum over all its paths. Here
# are three rows with probabilities in quarters, so that all products are whole numbers of 4 · 4 · 4
# = 64ths:
#
# | in quarters | row 1 | row 2 | row 3 |
# |---|---|---|---|
# | `-` | 1 | 2 | 1 |
# | `A` | 3 | 1 | 0 |
# | `B` | 0 | 1 | 3 |
#
# | word | its paths | sum |
# |---|---|---|
# | AB | `A-B` 18, `AAB` 9, `ABB` 9, `AB-` 3, `-AB` 3 | 42 |
# | A | `A--` 6, `AA-` 3, `-A-` 1, others 0 | 10 |
#
# If only these two words can be said, AB has 42 of 52, or 81%. The page does this with ten words
# and some twenty rows; [page 6c.2](02_ctc.ipynb) shows how it is summed without a list.

# %% The sums, computed tags=["nbval-check-output", "fold"]
from deepdive.training.objectives.ctc import ctc_loss

quarters = torch.tensor([[1.0, 3, 0], [2, 1, 1], [1, 0, 3]])
for name, text in (("AB", [1, 2]), ("A", [1])):
    n = torch.tensor([len(text)])
    lost = ctc_loss((quarters + 1e-12).log()[None], torch.tensor([3]), torch.tensor([text]), n)
    print(name, round(64 * float((-lost).exp())), "of 64")

# %% [markdown]
# ## What runs in this page
#
# Two convolutions, each over five neighbors, make a row each 20 ms of the frames; two layers of an
# encoder let each row look at all others; a matrix gives the phones. No positions are added: the
# convolutions see the order of near frames, and a digit may come at any time.

# %% Count it tags=["nbval-check-output", "fold"]
from deepdive_book.kit.tables import table

parts = {"first convolution": toy.model.first, "second convolution": toy.model.second,
         "encoder, two layers": toy.model.encoder, "phones": toy.model.out}  # fmt: skip
lines = [[name, sum(p.numel() for p in part.parameters())] for name, part in parts.items()]
table([*lines, ["all", sum(n for _, n in lines)]], ["part", "weights"])

# %% [markdown]
# In half precision each weight takes two bytes of this page.
#
# The model learned from all recordings of FSDD, each changed at random: played at one of five
# speeds from 0.82 to 1.22, half of the time in noise of 5 to 30 dB, its bands moved as a longer or
# shorter throat would, some of them hidden. Whether these settings were chosen by looking at the
# same six speakers is not recorded; if so, the results below are a little optimistic. The same
# arithmetic runs in your browser and in PyTorch; a test holds them together to a thousandth.
#
# ## The experiment
#
# It understands nearly all of the recordings that it learned from, which says nothing of people
# whom it has not heard. So the same model was trained six times more, each time on five of the six
# people, and asked about the 500 digits of the one who was left out.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Of the digits of a person from whom it has not learned, how many will it get right, on "
    "average over the six?",
    ["more than 90 of 100, about as many as of those it knows", "between 70 and 90 of 100",
     "between 40 and 70 of 100", "fewer than 40 of 100"],
    answer=1,
    explain="Five voices are few. The sounds of a sixth differ from them in ways that the five do "
    "not show, and variations made by a computer stand in for some of these, not for all.",
    key="06c_speech/a-new-voice",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Six people, each left out once tags=["surprise", "slide", "fold"]
import numpy as np

from deepdive.evaluate import bootstrap


def outcomes(accuracy, n=500):
    """100 for each right one of n, 0 for the others."""
    return 100.0 * (np.arange(n) < round(accuracy * n))


lines = [[name, bootstrap(outcomes(accuracy))] for name, accuracy in toy.others.items()]
lines.append(["mean of the six", bootstrap(100 * np.array([*toy.others.values()]))])
table(lines, ["left out in training", "digits right (%)"],
      formats={"digits right (%)": ".1f"},
      caption="kept beside the weights; in brackets 95 % intervals, over the digits of each "
      "speaker and, in the last line, over the speakers; one training each")  # fmt: skip

# %% [markdown]
# On average 76.9 of 100, from 59.8 for george to 90.8 for theo: people differ far more than the
# digits of one person do. So *how right is it?* has no answer without *for whom?*, and six people
# leave a wide interval for a seventh.
#
# All six are men. FSDD lists two without an accent (*USA/neutral*), the others with a French, a
# Greek and, twice, a German one. Women and children the model has never heard, and no table here
# can say how they fare.

# %% [markdown]
# ## What else is strange to it
#
# The model in the page has learned from all recordings of these six. What may change in these very
# recordings until it does not understand them? Play them faster or slower, which moves the pitch
# too, and add noise: at 20 dB a voice is a hundred times as strong as the noise, at 0 dB equally
# strong.

# %% Voices, speeds, noise tags=["fold"]
from deepdive_book.ch06c.runs import spoken_digit
from deepdive_book.ch06c.runs.waveform import accuracy_by

speakers = np.array(spoken.speakers)
accuracies = {name: accuracy_by(speakers, spoken_digit.is_correct(toy.model, spoken, change))
              for name, change in spoken_digit.changes().items()}  # fmt: skip
base = accuracies["as recorded"]
table([[name, bootstrap(each), None if each is base else bootstrap(each - base)]
       for name, each in accuracies.items()],
      ["recordings that it learned from", "digits right (%)", "against as recorded (points)"],
      formats={"digits right (%)": ".1f", "against as recorded (points)": "+.1f"},
      caption=f"{len(spoken)} recordings, all of them in its training; in brackets 95 % intervals "
      f"over the {len(base)} speakers, differences paired")  # fmt: skip

# %% [markdown]
# Noise of 20 dB costs nothing: the line is even a little above the first one. Noise of 10 dB costs
# something, although both were in the training, and noise as strong as the voice 31.3 points. The
# speeds of the training were milder than these: at 0.7 and 1.4 it loses 13.7 and 10.3 points, and
# at 1.7 it is right in about half of the cases. All of these recordings were in its training: the
# differences tell what a change costs, and the first line is no test.
#
# ### Common mistake: to test on those who taught
#
# FSDD's own test set has takes 0 to 4 of each speaker, and takes 5 to 49 are for training. So each
# voice, each microphone and each room of the test is in the training too. **Symptom:** a fine
# number in the report, and complaints from the car park. **Fix:** leave out speakers, not takes:
# `recordings.held_out(["george"])`.
#
# ## In practice
#
# - **Where does the sound go?** Here it stays in the page. Many services send it away: say so to
#   those whom you record, and ask.
# - **Let it say that it does not know.** The bars share 100% among ten words, so that *no* becomes
#   a digit as well. A machine should ask again below some share, which is chosen on new voices;
#   even then it can be sure and wrong: press the last sample.
# - **A closed list helps.** The sounds of the first sample come out as S EH V AH AH N, which is no
#   word; which of ten words fits them best is clear all the same.
# - **Browsers give what they give**: 44,100 or 48,000 samples a second, and sometimes a filter
#   against noise. The page brings all to 8,000, as it was in training, before anything else.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why are most cells of the picture pale, though somebody speaks all the time?
#
#    <details><summary>Answer</summary>
#
#    A path needs each sound once; the other frames may say the blank, and CTC does not mind.
#
#    </details>
# 2. Why must the probability of a word be a sum, and not that of its best path?
#
#    <details><summary>Answer</summary>
#
#    Each path says where the sounds are. The question is only which word it is, so that all ways to
#    place its sounds count.
#
#    </details>
# 3. You say *no*, and the first bar is full. What has gone wrong?
#
#    <details><summary>Answer</summary>
#
#    Nothing in the arithmetic: the ten shares are of these ten words, whatever was said.
#
#    </details>
# 4. Why is the interval of the last line of the first table so much wider than those above it?
#
#    <details><summary>Answer</summary>
#
#    It speaks of other people, of whom there are six; the others speak of other digits of one
#    person, of which there are 500.
#
#    </details>
# 5. Why does the recording's mean go away in each band?
#
#    <details><summary>Answer</summary>
#
#    So that a microphone that makes all low tones loud changes nothing
#    ([page 6c.1](01_waveform.ipynb)).
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* In the table by hand, how many 64ths say B, and how many say nothing at
#    all?
#
#    <details><summary>Answer</summary>
#
#    `--B` 6, `-BB` 3, `-B-` 1: 10 of 64. Nothing is `---` alone: 1 · 2 · 1 = 2.
#
#    </details>
# 2. *(measure, 10 min)* Say each digit three times, in your own voice. How many of 30 are
#    right? Which interval does that leave, by `bootstrap` of thirty ones and zeros?
#
#    <details><summary>Answer</summary>
#
#    Yours alone. With 20 of 30 the interval goes from about 50 to 83%: thirty digits say little.
#
#    </details>
# 3. *(on paper, 3 min)* Somebody tests on 50 takes of each of six people and leaves out every tenth
#    take. Which sentence may he write: "right for people like these six", or "right for a seventh"?
#
#    <details><summary>Answer</summary>
#
#    The first alone. Every voice of his test is in the training too.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answer to exercise 1, checked: every path, by its word.
from collections import Counter
from itertools import product

from deepdive.training.objectives.ctc import collapse

count = Counter()
for path in product(range(3), repeat=3):
    word = "".join("-AB"[symbol] for symbol in collapse(path))
    ways = torch.stack([quarters[t, s] for t, s in enumerate(path)]).prod()
    count[word or "nothing"] += int(ways)
print(dict(count))

# %% [markdown]
# ## Summary
#
# A small network says, each 20 ms, which phone it hears, and the probability of a digit is the sum
# over all ways to place its phones. Of the recordings that it learned from it gets 95.0 of 100
# right, which is no test; of those of a man whom it had not heard, 76.9 on average over six, and
# for a woman or a child nobody has measured it. Will it understand you? Ask it with thirty digits
# of your own; and a car park that has heard six men had better ask again whenever it is not sure,
# and record more people before it opens.
#
# ## Further reading
#
# - Graves, Fernández, Gomez, Schmidhuber (2006), *Connectionist Temporal Classification*.
# - Jackson et al. (2018), the *Free Spoken Digit Dataset*: the recordings that are played here,
#   under CC BY-SA 4.0.
# - Ko, Peddinti, Povey, Khudanpur (2015), *Audio Augmentation for Speech Recognition*; Park et al.
#   (2019), *SpecAugment*.

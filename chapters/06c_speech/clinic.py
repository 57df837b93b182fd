# %% [markdown]
# # Bug clinic: speech
#
# Four small recognizers are ill. Each has one bug, none of which raises an error. On the ward you
# see symptoms only: say what it is, and prove it by a measurement. In the theatre you see code: fix
# it. The symptoms are drawn when you run the cells, so open this notebook where it runs.
#
# <small>Book 6.3, Graves et al. (CTC) · needs [from a waveform to units](01_waveform.ipynb) and
# [CTC](02_ctc.ipynb) · generated beeps, no GPU · each patient takes a few seconds</small>

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

# %%
import torch

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import permutation

# %%
from deepdive_book.course.specimens.speech import SYMBOLS, sounds
from deepdive_book.kit.plotting import show

# %% tags=["variant"] exercise="a-diagnosis"
BEDS = [letter for pair in permutation([permutation("AB"), permutation("CD")]) for letter in pair]

# %%
from deepdive_book.course.clinic.speech import (
    admit,
    healthy,
    ill,
    misjudged,
    opened,
    operate,
    unproven,
)

opened(BEDS)  # which patient has which letter: your own order

# %% [markdown]
# A diagnosis is one of four words:
#
# | word | what is wrong |
# |---|---|
# | `blank` | symbol 0 is the space and the blank at once |
# | `rate` | the rate that a file names is not looked at |
# | `lengths` | rows of padding are read, as lengths are not halved with the frames |
# | `norm` | mean and spread of a recording are taken over its padding too |
#
# Each model hears generated beeps, no speech: the letters A, E, N and T are tones of 220, 370, 520
# and 670 Hz, and between words there is silence. Recordings have 2,000 samples a second, and more
# or less loudness. A frame is 20 ms long, one begins each 10 ms, and becomes the power of 21
# frequencies, as a logarithm. A convolution of stride 2 makes one **row** of two frames, a second
# one looks around, and CTC is taught on the rows. The six symbols are `SYMBOLS`, the blank first,
# then the space, then the letters.
#
# The recordings of a batch stand in one buffer, as long as the longest. Behind a shorter one stand
# samples of the longest. They are padding: they do not belong to it.
#
# `sounds(n)` makes n recordings, with `waves` (n, samples), `lengths` (n,) in samples, `texts`, and
# `rate`; `sounds(n, seed, rate=4000)` has the same ones as files of 4,000 samples a second;
# `.only(i)` is recording i alone, without padding. `look(recordings)` lets a model hear, and
# returns what can be seen on the way:
#
# | key | shape | |
# |---|---|---|
# | `features` | (B, T, 21) | normalized frames as they go in |
# | `targets` | B tensors | the symbols that the loss asks for, as numbers |
# | `log_probs` | (B, rows, 6) | what it says of each row |
# | `rows` | (B,) | how many rows of each recording count |
# | `texts` | B texts | what it writes |
# | `loss` | a number | CTC's loss, as the model's own program tells it |
#
# A healthy one first:

# %%
heard = sounds(16, 500)
seen = healthy().look(heard)
print({name: tuple(seen[name].shape) for name in ("features", "log_probs", "rows")})
for i in (0, 1, 2):
    print(f"said {heard.texts[i]!r}, written {seen['texts'][i]!r}")
print("wrong words in %:", {name: round(share) for name, share in healthy().wrong.items()})


def told(letter):
    """Show what a patient came with."""
    patient = admit(letter)
    show(patient.chart())
    print("wrong words in %:", {name: round(share) for name, share in patient.wrong.items()})
    short = heard.lengths.argsort()[:3].tolist()
    for i in short:
        alone = patient.look(heard.only(i))["texts"][0]
        print(f"said {heard.texts[i]!r}, written alone {alone!r}", end=", ")
        print(f"in a batch of 16 {patient.look(heard)['texts'][i]!r}")


# %% [markdown]
# A measurement proves a diagnosis if it tells the patient from healthy models, also from one that
# has not learned yet, and from the patient next door (A and B, C and D).

# %% [markdown]
# ## 1. Patient A: all in one word
#
# *Diagnose · 6 min · easy · Graves et al. 2006*
#
# Its loss falls below 0, where a healthy one's never is. Most letters are right, but hardly a word
# is, since it writes no spaces.

# %%
told("A")


# %% [markdown]
# What is it, and what number proves it? In a healthy model this number is 0. A loss that is minus
# the logarithm of a probability cannot fall below 0: what is summed here is none.


# %% nbgrader={"grade_id": "a-diagnosis", "solution": true}
def diagnosis_a():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "blank"
    ### END SOLUTION


def measure_a(look):
    """Return one number, computed from `look(recordings)`, that proves it."""
    ### BEGIN SOLUTION
    return sum((asked == 0).sum() for asked in look(sounds(8))["targets"])
    ### END SOLUTION


# %% nbgrader={"grade_id": "a-named", "grade": true, "points": 1}
assert not (why := misjudged("A", diagnosis_a())), why

# %% nbgrader={"grade_id": "a-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_a, "A")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="a-diagnosis"
# A path's blanks are taken out before its text is read. Which symbols does the loss ask for, and
# may the blank be one of them?


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "lengths"  # alone, without padding, it is as ill


def measure_a(look):
    return look(sounds(8))["loss"]  # one that has not learned yet has another as well


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "norm"  # what goes in is what goes into a healthy one


def measure_a(look):
    return look(sounds(8))["features"].abs().mean()  # the same in all of them


# %% [markdown]
# ## 2. Patient B: strange files
#
# *Diagnose · 6 min · easy · book 6.3*
#
# It was trained well. On recordings like those of its training it is as good as a healthy one. It
# does not know the same sounds from files with 4,000 samples a second.

# %%
told("B")
other = sounds(3, 500, rate=4000)
print(f"from other files: said {other.texts}, written {admit('B').look(other)['texts']}")


# %% [markdown]
# What is it, and what number proves it? In a healthy model this number is 1, or nearly so.


# %% nbgrader={"grade_id": "b-diagnosis", "solution": true}
def diagnosis_b():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "rate"
    ### END SOLUTION


def measure_b(look):
    """Return one number, computed from `look(recordings)`, that proves it."""
    ### BEGIN SOLUTION
    usual, fast = (look(sounds(4, rate=rate))["features"] for rate in (2000, 4000))
    return fast.shape[1] / usual.shape[1]  # as many seconds, so as many frames
    ### END SOLUTION


# %% nbgrader={"grade_id": "b-named", "grade": true, "points": 1}
assert not (why := misjudged("B", diagnosis_b())), why

# %% nbgrader={"grade_id": "b-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_b, "B")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="b-diagnosis"
# A second has 98 or 99 frames, whatever the file. How many frames does the patient make of a
# second of 4,000 samples?


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "norm"  # alone there is no padding, and it is ill alone


def measure_b(look):
    return look(sounds(8))["loss"]  # at the usual rate nothing is wrong


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "blank"  # its loss and its spaces are a healthy one's


def measure_b(look):
    return look(sounds(4))["features"].shape[1]  # at the usual rate nothing is wrong


# %% [markdown]
# ## 3. Patient C: it writes on
#
# *Diagnose · 8 min · medium · Graves et al. 2006*
#
# It was trained well, and alone each recording is read as a healthy one reads it. In a batch
# something stands behind the text of short recordings that nobody said there.

# %%
told("C")


# %% [markdown]
# What is it, and what number proves it? A recording of n samples has 1 + (n − 40) // 20 frames.


# %% nbgrader={"grade_id": "c-diagnosis", "solution": true}
def diagnosis_c():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "lengths"
    ### END SOLUTION


def measure_c(look):
    """Return one number, computed from `look(recordings)`, that proves it."""
    ### BEGIN SOLUTION
    many = sounds(16, 500)
    frames = 1 + (many.lengths - 40) // 20
    return (look(many)["rows"] - (frames + 1) // 2).sum()  # 0 where only its own rows count
    ### END SOLUTION


# %% nbgrader={"grade_id": "c-named", "grade": true, "points": 1}
assert not (why := misjudged("C", diagnosis_c())), why

# %% nbgrader={"grade_id": "c-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_c, "C")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="c-diagnosis"
# Two frames become one row. How many rows count of the shortest recording of a batch?


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "norm"  # the features of a short recording are the same alone and in a batch


def measure_c(look):
    many = sounds(16, 500)  # alone each recording is well
    return look(many.only(0))["rows"].sum()


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "rate"  # files of another rate are read as a healthy one reads them


def measure_c(look):
    return look(sounds(8))["features"].abs().mean()  # the same as in healthy ones


# %% [markdown]
# ## 4. Patient D: it depends on the neighbors
#
# *Diagnose · 8 min · medium · book 6.3*
#
# It was trained well, and alone each recording is read as a healthy one reads it. In a batch of
# these clear tones hardly a word is wrong either, and nothing stands behind the text. But what it
# says of a recording's rows changes with those that stand beside it, by one percentage point on the
# mean. In a healthy one nothing changes.

# %%
told("D")
print("probabilities change in a batch, in percentage points on the mean:", end=" ")
print(f"patient {admit('D').moved:.2f}, healthy {healthy().moved:.2f}")


# %% [markdown]
# What is it, and what number proves it? In a healthy model this number is 0 but for rounding.


# %% nbgrader={"grade_id": "d-diagnosis", "solution": true}
def diagnosis_d():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "norm"
    ### END SOLUTION


def measure_d(look):
    """Return one number, computed from `look(recordings)`, that proves it."""
    ### BEGIN SOLUTION
    many = sounds(16, 500)
    i = int(many.lengths.argmin())
    alone = look(many.only(i))["features"][0]
    return (look(many)["features"][i, : len(alone)] - alone).abs().mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "d-named", "grade": true, "points": 1}
assert not (why := misjudged("D", diagnosis_d())), why

# %% nbgrader={"grade_id": "d-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_d, "D")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="d-diagnosis"
# Let the model hear the shortest recording alone, and again among the sixteen. What goes in at its
# own frames?


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "lengths"  # as many rows count as in a healthy one


def measure_d(look):
    many = sounds(16, 500)  # alone each recording is well
    return look(many.only(0))["features"].abs().mean()


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "rate"  # files of another rate are read as a healthy one reads them


def measure_d(look):
    return look(sounds(16, 500))["rows"].sum()  # the same as in healthy ones


# %% [markdown]
# ## 5. Theatre: rows that count
#
# *Fix · 4 min · easy · Graves et al. 2006*
#
# From here on you see code that was found in the four, in another order. `lengths` (B,) says how
# many frames of each recording are its own. The convolution makes rows of them: one of two frames,
# and one of a last frame that is left over. Somebody met an error of CTC here, and silenced it.


# %%
def found_rows(lengths):
    return lengths  # the program cuts what is above the rows that there are


# %% nbgrader={"grade_id": "mend-lengths", "solution": true}
def rows(lengths):
    """Return (B,), how many rows of each recording count."""
    ### BEGIN SOLUTION
    return (lengths + 1) // 2
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-lengths-check", "grade": true, "points": 3}
given = torch.tensor([10, 7, 1])
counted = rows(given)
assert counted.dtype == torch.int64, f"whole numbers of rows, yours are {counted.dtype}"
assert counted.shape == (3,), f"one for each recording, (3,); yours is {tuple(counted.shape)}"
assert counted[0] == 5, f"ten frames make five rows; yours are {int(counted[0])}"
half = torch.nn.Conv1d(1, 1, 5, stride=2, padding=2)
right = [half(torch.zeros(1, 1, n)).shape[-1] for n in given.tolist()]
assert counted.tolist() == right, (
    f"{given.tolist()} frames make {right} rows, yours are {counted.tolist()}: a last frame that "
    "is left over makes a row"
)
cured = operate("lengths", rows)
assert cured.wrong["batch"] < ill("lengths").wrong["batch"] - 5, "in a batch it still writes on"
### BEGIN HIDDEN TESTS
every = torch.arange(1, 40)
assert rows(every).tolist() == [half(torch.zeros(1, 1, n)).shape[-1] for n in every.tolist()]
assert torch.equal(given, torch.tensor([10, 7, 1])), "what was given is changed"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-lengths"
# Seven frames make four rows.


# %% tags=["wrong-answer"] exercise="mend-lengths"
def rows(lengths):  # a half is rounded down
    return lengths // 2


# %% tags=["wrong-answer"] exercise="mend-lengths"
def rows(lengths):  # halved twice
    return (lengths + 3) // 4


# %% [markdown]
# ## 6. Theatre: a symbol of its own
#
# *Fix · 4 min · easy · Graves et al. 2006*
#
# A text of letters and spaces becomes the symbols that CTC is asked for: places in `SYMBOLS`, which
# is `"- AENT"`. The blank is symbol 0.


# %%
def found_symbols(text):
    return [0 if letter == " " else SYMBOLS.index(letter) for letter in text]


# %% nbgrader={"grade_id": "mend-blank", "solution": true}
def symbols(text):
    """Return a list: the symbol of each letter and space."""
    ### BEGIN SOLUTION
    return [SYMBOLS.index(letter) for letter in text]
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-blank-check", "grade": true, "points": 3}
asked = symbols("A TEN")
assert isinstance(asked, list), "return a list: `return [...]`"
assert len(asked) == 5, f"'A TEN' has five symbols with its space, yours are {len(asked)}"
assert 0 not in asked, f"the blank is never asked for, and yours are {asked}"
assert asked == [2, 1, 5, 3, 4], f"'A TEN' is 2, 1, 5, 3, 4 in {SYMBOLS!r}; yours are {asked}"
cured = operate("blank", symbols)
assert cured.wrong["alone"] < ill("blank").wrong["alone"] - 40, (
    "trained with yours, words are wrong"
)
### BEGIN HIDDEN TESTS
assert symbols("ANNA TENT") == [2, 4, 4, 2, 1, 5, 3, 4, 5], "'ANNA TENT' is off"
assert symbols("") == [], "a text without letters has no symbols"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-blank"
# Look the letter up in `SYMBOLS`, the space too.


# %% tags=["wrong-answer"] exercise="mend-blank"
def symbols(text):  # spaces are left out
    return [SYMBOLS.index(letter) for letter in text if letter != " "]


# %% tags=["wrong-answer"] exercise="mend-blank"
def symbols(text):  # the blank is not among the symbols
    return [" AENT".index(letter) for letter in text]


# %% [markdown]
# ## 7. Theatre: two thousand a second
#
# *Fix · 8 min · medium · book 6.3*
#
# `waves` (B, n) have `rate` samples a second, 2,000 or a multiple of it. The recognizer knows 2,000
# a second. What was found lets them through. (A good resampler first takes away the tones that are
# too high for the new rate; these recordings have none.)


# %%
def found_at_rate(waves, rate):
    return waves


# %% nbgrader={"grade_id": "mend-rate", "solution": true}
def at_rate(waves, rate):
    """Return waves (B, n * 2000 / rate) with 2,000 samples a second."""
    ### BEGIN SOLUTION
    return waves[:, :: rate // 2000]
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-rate-check", "grade": true, "points": 3}
time = torch.arange(4000) / 4000
tone = torch.sin(2 * torch.pi * 100 * time)[None]
slow = at_rate(tone, 4000)
assert slow.shape == (1, 2000), f"a second has 2,000 samples, yours {tuple(slow.shape)}"
loudest = int(torch.fft.rfft(slow[0]).abs().argmax())
assert loudest == 100, f"a tone of 100 Hz is one of {loudest} Hz with yours"
usual = tone[:, ::2]
assert at_rate(usual, 2000).shape == usual.shape, "2,000 samples a second stay as many"
assert torch.allclose(at_rate(usual, 2000), usual), "what has 2,000 a second stays as it is"
cured = operate("rate", at_rate)
assert cured.wrong["other rate"] < ill("rate").wrong["other rate"] - 40, "other files are not read"
### BEGIN HIDDEN TESTS
high = torch.sin(2 * torch.pi * 300 * torch.arange(6000) / 6000)[None].repeat(2, 1)
assert at_rate(high, 6000).shape == (2, 2000), "6,000 samples a second are off"
assert int(torch.fft.rfft(at_rate(high, 6000)[1]).abs().argmax()) == 300, "6,000 a second are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-rate"
# Of 4,000 samples a second every other one is left.


# %% tags=["wrong-answer"] exercise="mend-rate"
def at_rate(waves, rate):  # always every other sample
    return waves[:, ::2]


# %% tags=["wrong-answer"] exercise="mend-rate"
def at_rate(waves, rate):  # the first half of the recording
    return waves[:, : waves.shape[1] * 2000 // rate]


# %% [markdown]
# ## 8. Theatre: mean and spread
#
# *Fix · 8 min · medium · book 6.3*
#
# Features (B, T, n) are brought to mean 0 and spread 1, for each recording and each of its n
# numbers. `lengths` (B,) says how many frames are a recording's own; the others are padding.


# %%
def found_normalized(features, lengths):
    mean, spread = features.mean(1, keepdim=True), features.std(1, keepdim=True, correction=0)
    return (features - mean) / (spread + 1e-3)


# %% nbgrader={"grade_id": "mend-norm", "solution": true}
def normalized(features, lengths):
    """Return (B, T, n), by the mean and the spread of each recording's own frames."""
    ### BEGIN SOLUTION
    made = []
    for each, length in zip(features, lengths.tolist(), strict=True):
        own = each[:length]
        made.append((each - own.mean(0)) / (own.std(0, correction=0) + 1e-3))
    return torch.stack(made)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-norm-check", "grade": true, "points": 3}
frames = torch.tensor([[1.0, 3, 100, 100], [2, 4, 6, 8]])[..., None]
given = normalized(frames, torch.tensor([2, 4]))
assert given.shape == frames.shape, f"as many numbers as before; yours are {tuple(given.shape)}"
assert given[0, :2].mean().abs() < 1e-3, (
    f"1 and 3 are 2 on the mean, and become -1 and 1; yours are {given[0, :2, 0].tolist()}"
)
assert (given[0, :2, 0] - torch.tensor([-1.0, 1])).abs().max() < 0.01, (
    f"the spread of 1 and 3 is 1; yours are {given[0, :2, 0].tolist()}"
)
assert given[1].mean().abs() < 1e-3, "the second recording has its own mean, 5"
assert abs(given[1].std(correction=0) - 1) < 0.01, "the second recording has its own spread"
cured = operate("norm", normalized).look(heard)["features"]
assert (cured - seen["features"]).abs().max() < 0.01, "sixteen recordings are off with yours"
### BEGIN HIDDEN TESTS
draw = torch.Generator().manual_seed(4)
wide = torch.randn(3, 9, 4, generator=draw) * 3 + torch.arange(4)
own = normalized(wide, torch.tensor([9, 5, 7]))
for i, n in enumerate((9, 5, 7)):
    assert own[i, :n].mean(0).abs().max() < 1e-4, "each of the n numbers has a mean of its own"
    assert (own[i, :n].std(0, correction=0) - 1).abs().max() < 0.01, "a spread is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-norm"
# Take one recording after the other, and of each the first `length` frames.


# %% tags=["wrong-answer"] exercise="mend-norm"
def normalized(features, lengths):  # the own mean, and the spread with padding
    real = (torch.arange(features.shape[1]) < lengths[:, None])[..., None]
    mean = (features * real).sum(1, keepdim=True) / lengths[:, None, None]
    return (features - mean) / (features.std(1, keepdim=True, correction=0) + 1e-3)


# %% tags=["wrong-answer"] exercise="mend-norm"
def normalized(features, lengths):  # one mean for the batch
    real = torch.arange(features.shape[1]) < lengths[:, None]
    own = features[real]
    return (features - own.mean(0)) / (own.std(0, correction=0) + 1e-3)

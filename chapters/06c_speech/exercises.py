# %% [markdown]
# # Exercises: speech
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 6.3 · after [from a waveform to units](01_waveform.ipynb); exercises 2 and 4 need
# [CTC](02_ctc.ipynb) · generated voices, no GPU</small>

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
from itertools import pairwise

import torch

# %%
from deepdive.audio.mel import log_mel, standardized
from deepdive.core.checks import missed, returned
from deepdive.training.objectives.hubert_units import make_units
from deepdive_book.ch06c.phone_purity import agreement

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, rename

# %%
from deepdive_book.data.synthetic_speech import voices

# %%
# Six generated recordings, no person speaks in them: frames of 20 bands, and whose phone each is
heard = voices(6, seed=6, length=2)
FRAMES = torch.cat([standardized(log_mel(wave, heard.rate, 20)) for wave in heard.waves])
NAMES = sorted({phone.name for phones in heard.phones for phone in phones})
PHONES = []
for wave, phones in zip(heard.waves, heard.phones, strict=True):
    for t in range(len(log_mel(wave, heard.rate, 20))):
        middle = 80 * t + 100
        PHONES += [NAMES.index(p.name) for p in phones if p.first <= middle < p.last]


# %%
def spoken(seed):
    """Forty texts and the number of frames of each, 10 ms a frame; generated."""
    g = torch.Generator().manual_seed(seed)
    words = ["SEE", "TWO", "ALL", "THREE", "SOON", "WELL", "NOON", "BELL", "FALL", "KEEP"]
    high = 1 + seed % 3
    texts, frames = [], []
    for i in range(40):
        chosen = torch.randint(len(words), (3,), generator=g)
        texts.append(" ".join(words[k] for k in chosen))
        least = len(texts[-1]) + sum(a == b for a, b in pairwise(texts[-1]))
        longer = 1 + 1.2 * float(torch.rand((), generator=g)) if i else 1
        frames.append(int(longer * least * 2**high) - (i == 0))
    return texts, frames


# %% [markdown]
# ## 1. From seconds to rows
#
# *Predict, then run · 6 min · easy · book 6.3.1*
#
# A recording of {{SECONDS}} seconds has {{RATE}} samples a second. It is cut into frames of 25 ms,
# one each 10 ms, without padding; a last piece that is shorter is dropped. Each frame becomes
# {{BANDS}} mel bands. Two convolutions of stride 2, one after the other, then make fewer rows of
# it; a half is rounded up each time. **Before you run anything**, on paper:
#
# - `"frames"`: how many frames are there,
# - `"numbers"`: how many numbers does the recognizer get, all bands of all frames,
# - `"rows"`: how many rows leave the second convolution,
# - `"same"`: CTC writes one symbol or a blank for each row. How many letters at most can a text
#   have that is one letter over and over, such as AAAA?
#
# The cell checks the first three.

# %% tags=["variant"] exercise="rows"
RATE = choose(8000, 16000, 4000)
SECONDS = number(2, 14)
BANDS = choose(20, 24, 30)


# %% nbgrader={"grade_id": "rows", "solution": true}
def predicted_rows():
    """Return {"frames": n, "numbers": n, "rows": n, "same": n}."""
    ### BEGIN SOLUTION
    window, hop = RATE // 40, RATE // 100
    frames = 1 + (SECONDS * RATE - window) // hop
    rows = -(-frames // 4)  # two halves, each rounded up
    return {"frames": frames, "numbers": frames * BANDS, "rows": rows, "same": (rows + 1) // 2}
    ### END SOLUTION


# %% nbgrader={"grade_id": "rows-check", "grade": true, "points": 3} own="predict"
said = returned("predicted_rows", predicted_rows())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"frames", "numbers", "rows", "same"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
sound = torch.randn(SECONDS * RATE, generator=torch.Generator().manual_seed(1)) / 10
bands = log_mel(sound, RATE, BANDS, n_fft=512)
assert said["frames"] == len(bands), (
    f"frames: {missed(said['frames'], len(bands))}: a frame must lie in the recording as a whole"
)
assert said["numbers"] == bands.numel(), (
    f"numbers: {missed(said['numbers'], bands.numel(), ',')}: each frame has all bands"
)
half = torch.nn.Conv1d(BANDS, BANDS, 5, stride=2, padding=2)
left = half(half(bands.T)).shape[1]
assert said["rows"] == left, (
    f"rows: {missed(said['rows'], left)}: half of the frames, rounded up, and half of "
    "these, rounded up"
)
### BEGIN HIDDEN TESTS
from deepdive.training.objectives import ctc

same = [(torch.ones(1, n).long(), torch.tensor([n])) for n in range(left + 2)]
needs = [int(ctc.frames_needed(*each)) for each in same]
most = max(n for n, need in enumerate(needs) if need <= left)
assert said["same"] == most, f"same: {most}; two equal letters need a blank between them"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="rows"
# The first frame takes 25 ms. Each further one needs 10 ms more.

# %% [markdown] tags=["hint"] exercise="rows"
# "AA" needs three rows, A, blank, A; "AAA" needs five.


# %% tags=["wrong-answer"] exercise="rows"
def predicted_rows():  # a frame each 10 ms to the very end
    frames = 100 * SECONDS
    return {"frames": frames, "numbers": frames * BANDS, "rows": frames // 4, "same": frames // 8}


# %% tags=["wrong-answer"] exercise="rows"
def predicted_rows():  # frames that do not overlap
    frames = 40 * SECONDS
    return {"frames": frames, "numbers": frames * BANDS, "rows": frames // 4, "same": frames // 4}


# %% tags=["wrong-answer"] exercise="rows"
def predicted_rows():  # one band a frame, and no blank between equal letters
    frames = 100 * SECONDS - 2
    rows = (frames + 3) // 4
    return {"frames": frames, "numbers": frames, "rows": rows, "same": rows}


# %% tags=["wrong-answer"] exercise="rows"
def predicted_rows():  # a letter in each row
    frames = 100 * SECONDS - 2
    rows = (frames + 3) // 4
    return {"frames": frames, "numbers": frames * BANDS, "rows": rows, "same": rows}


# %% [markdown]
# ## 2. How often may frames be halved?
#
# *Measure · 12 min · medium · Graves et al. 2006*
#
# A recognizer reads fewer rows than there are frames: it halves them, once, twice, or more often,
# and a half is rounded up. CTC can only learn a text if the rows are enough to say it: one for each
# symbol, spaces too, and one for a blank between two equal symbols that stand side by side.
# `spoken({{DAY}})` returns forty texts and the frames of each. **Measure:**
#
# - `"halvings"`: how often can frames be halved so that each of the forty texts can still be said,
# - `"lost"`: how many of the forty cannot be said if they are halved once more?

# %% tags=["variant"] exercise="halve"
DAY = number(1, 400)


# %% nbgrader={"grade_id": "halve", "solution": true}
def measured_halvings():
    """Return {"halvings": n, "lost": n} for `spoken(DAY)`."""
    ### BEGIN SOLUTION
    texts, frames = spoken(DAY)

    def without(times):
        lost = 0
        for text, length in zip(texts, frames, strict=True):
            needed = len(text) + sum(text[k] == text[k - 1] for k in range(1, len(text)))
            lost += -(-length // 2**times) < needed
        return lost

    times = 0
    while not without(times + 1):
        times += 1
    return {"halvings": times, "lost": without(times + 1)}
    ### END SOLUTION


# %% nbgrader={"grade_id": "halve-check", "grade": true, "points": 3} own="measure"
from deepdive.training.objectives.ctc import frames_needed

found = returned("measured_halvings", measured_halvings())
assert isinstance(found, dict), "return a dictionary: `return {...}`"
assert set(found) == {"halvings", "lost"}, f"the names are halvings and lost: {sorted(found)}"
texts, lasting = spoken(DAY)
codes = torch.zeros(40, max(map(len, texts)), dtype=torch.int64)
for line, text in zip(codes, texts, strict=True):
    line[: len(text)] = torch.tensor([ord(letter) for letter in text])
need = frames_needed(codes, torch.tensor([len(text) for text in texts]))
there = torch.tensor(lasting)
for _ in range(found["halvings"]):
    there = (there + 1) // 2
assert (there >= need).all(), (
    f"halvings: after {found['halvings']} there are {int((there < need).sum())} texts that need "
    "more rows than are left"
)
there = (there + 1) // 2
assert (there < need).any(), (
    f"halvings: you said {found['halvings']}, and once more leaves out none. A half is rounded up"
)
letters = torch.tensor([len(text.replace(" ", "")) for text in texts])
assert found["lost"] >= int((there < letters).sum()), (
    f"lost: {found['lost']} is fewer than those whose letters alone are more than the rows"
)
### BEGIN HIDDEN TESTS
gone = int((there < need).sum())
assert found["lost"] == gone, f"lost: {gone}; spaces and blanks between equal letters count too"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="halve"
# `-(-n // 2)` is the half of n, rounded up.

# %% [markdown] tags=["hint"] exercise="halve"
# "SEE TWO" has seven symbols, and the two E need a blank between them: eight rows.


# %% tags=["wrong-answer"] exercise="halve"
def measured_halvings():  # halves are rounded down
    texts, frames = spoken(DAY)
    need = [len(x) + sum(a == b for a, b in pairwise(x)) for x in texts]
    times = 0
    while all(f // 2 ** (times + 1) >= n for f, n in zip(frames, need, strict=True)):
        times += 1
    gone = sum(f // 2 ** (times + 1) < n for f, n in zip(frames, need, strict=True))
    return {"halvings": times, "lost": gone}


# %% tags=["wrong-answer"] exercise="halve"
def measured_halvings():  # no blank between equal letters
    texts, frames = spoken(DAY)
    times = 0
    while all(-(-f // 2 ** (times + 1)) >= len(x) for f, x in zip(frames, texts, strict=True)):
        times += 1
    gone = sum(-(-f // 2 ** (times + 1)) < len(x) for f, x in zip(frames, texts, strict=True))
    return {"halvings": times, "lost": gone}


# %% tags=["wrong-answer"] exercise="halve"
def measured_halvings():  # what suits most texts
    return {"halvings": 2 + DAY % 3, "lost": 20}


# %% [markdown]
# ## 3. Triangles over frequencies
#
# *Code · 15 min · medium · book 6.3.1*
#
# Write the mel filters that [page 6c.1](01_waveform.ipynb) shows. With $m(f) = 2595 \log_{10}(1 + f
# / 700)$, corners $c_0, c_1, \dots, c_{J+1}$ stand from {{LOW}} Hz to {{TOP}} Hz, **equally far
# apart in mel**. Band $j$ rises in a straight line over hertz from 0 at $c_j$ to 1 at $c_{j+1}$,
# falls to 0 at $c_{j+2}$, and is 0 elsewhere. Row $k$ of the result is the frequency
# $k \cdot$ `rate` / `n_fft`; there are `n_fft` / 2 + 1 of them.

# %% tags=["variant"] exercise="filters"
LOW = number(0, 90, 10)
TOP = choose(3600, 3800, 4000)
rename("triangles", "mel_triangles", "bands_of_mel")


# %% nbgrader={"grade_id": "filters", "solution": true}
def triangles(n_bands, n_fft, rate):
    """Return (n_fft / 2 + 1, n_bands): what each band takes of each frequency."""
    ### BEGIN SOLUTION
    ends = 2595 * torch.log10(1 + torch.tensor([LOW, TOP]).double() / 700)
    steps = torch.linspace(float(ends[0]), float(ends[1]), n_bands + 2, dtype=torch.float64)
    c = 700 * (10 ** (steps / 2595) - 1)
    f = torch.arange(n_fft // 2 + 1)[:, None] * rate / n_fft
    up = (f - c[:-2]) / (c[1:-1] - c[:-2])
    down = (c[2:] - f) / (c[2:] - c[1:-1])
    return torch.minimum(up, down).clamp(min=0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "filters-check", "grade": true, "points": 4}
from deepdive.audio.mel import mel_filters

found = torch.as_tensor(returned("triangles", triangles(8, 512, 8000))).double()
right = mel_filters(8, 512, 8000, low=LOW, high=TOP)
assert found.shape == right.shape, f"expected {tuple(right.shape)}, got {tuple(found.shape)}"
hertz = torch.arange(257) * 8000 / 512
tops, wanted = hertz[found.argmax(0)], hertz[right.argmax(0)]
assert (tops - wanted).abs().max() < 20, (
    f"the tops stand at {[round(x) for x in tops.tolist()]} Hz, and should stand near "
    f"{[round(x) for x in wanted.tolist()]}: equally far apart in mel, between the two ends"
)
assert found.min() >= 0, "beyond its two corners a band takes nothing, and never less than that"
assert found.max() <= 1, f"a top is 1, yours reaches {float(found.max()):.2f}"
assert (found - right).abs().max() < 1e-3, (
    f"off by up to {float((found - right).abs().max()):.3f}: sides are straight over hertz"
)
### BEGIN HIDDEN TESTS
more = torch.as_tensor(triangles(15, 400, 16000)).double()
assert (more - mel_filters(15, 400, 16000, low=LOW, high=TOP)).abs().max() < 1e-3, (
    "15 bands at 16,000 samples a second are off"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="filters"
# Eight bands have ten corners: bring both ends to mel, `torch.linspace` between them, and back by
# $f = 700 (10^{m / 2595} - 1)$.

# %% [markdown] tags=["hint"] exercise="filters"
# A rising line and a falling one: the lower of both, and nothing below 0.


# %% tags=["wrong-answer"] exercise="filters"
def triangles(n_bands, n_fft, rate):  # equally far apart in hertz
    c = torch.linspace(LOW, TOP, n_bands + 2)
    f = torch.arange(n_fft // 2 + 1)[:, None] * rate / n_fft
    return torch.minimum((f - c[:-2]) / (c[1] - c[0]), (c[2:] - f) / (c[1] - c[0])).clamp(min=0)


# %% tags=["wrong-answer"] exercise="filters"
def triangles(n_bands, n_fft, rate):  # one corner is missing, so the last band is
    a, b = (2595 * torch.log10(1 + torch.tensor(float(x)) / 700) for x in (LOW, TOP))
    c = 700 * (10 ** (torch.linspace(float(a), float(b), n_bands + 1) / 2595) - 1)
    f = torch.arange(n_fft // 2 + 1)[:, None] * rate / n_fft
    up, down = (f - c[:-2]) / (c[1:-1] - c[:-2]), (c[2:] - f) / (c[2:] - c[1:-1])
    return torch.minimum(up, down).clamp(min=0)


# %% tags=["wrong-answer"] exercise="filters"
def triangles(n_bands, n_fft, rate):  # an octave too high
    a, b = (2595 * torch.log10(1 + torch.tensor(float(x)) / 700) for x in (LOW, TOP))
    c = 700 * (10 ** (torch.linspace(float(a), float(b), n_bands + 2) / 2595) - 1)
    f = torch.arange(n_fft // 2 + 1)[:, None] * rate / (n_fft // 2)
    up, down = (f - c[:-2]) / (c[1:-1] - c[:-2]), (c[2:] - f) / (c[2:] - c[1:-1])
    return torch.minimum(up, down).clamp(min=0)


# %% tags=["wrong-answer"] exercise="filters"
def triangles(n_bands, n_fft, rate):  # straight over mel, as Kaldi has it
    def mel(x):
        return 2595 * torch.log10(1 + x / 700)

    ends = mel(torch.tensor([LOW, TOP]).double())
    c = torch.linspace(float(ends[0]), float(ends[1]), n_bands + 2)
    f = mel(torch.arange(n_fft // 2 + 1)[:, None] * rate / n_fft)
    return torch.minimum((f - c[:-2]) / (c[1] - c[0]), (c[2:] - f) / (c[1] - c[0])).clamp(min=0)


# %% [markdown]
# ## 4. All paths of a word
#
# *Code · 15 min · medium · Graves et al. 2006*
#
# CTC's path says one symbol a frame, `{{BLANK}}` being the blank. What repeats becomes one, then
# blanks go: `a{{BLANK}}tt` says "at". `parts` has for each symbol a list of whole numbers, one a
# frame. A path weighs the product of its symbols' numbers, frame by frame. Write the sum of the
# weights of **all paths that say the text**. Do not list the paths: go from frame to frame with one
# sum for each state of the text with blanks around its letters. Two equal letters need a blank
# between them. The first word of the check is "{{WORD}}".

# %% tags=["variant"] exercise="paths"
BLANK = choose("-", "_", "~")
WORD = choose("at", "tat", "see", "too", "sea", "toe")
rename("weight_of_text", "sum_of_paths", "all_paths_of")


# %% nbgrader={"grade_id": "paths", "solution": true}
def weight_of_text(parts, text):
    """Return the sum over all paths that say `text`; parts[symbol][t] is a whole number."""
    ### BEGIN SOLUTION
    states = [BLANK]
    for letter in text:
        states += [letter, BLANK]
    ways = [1] + [0] * (len(states) - 1)
    for t in range(len(parts[BLANK])):
        come = []
        for s, symbol in enumerate(states):
            into = ways[s] + (ways[s - 1] if s > 0 else 0)
            if s > 1 and symbol != BLANK and symbol != states[s - 2]:
                into += ways[s - 2]
            come.append(into * parts[symbol][t])
        ways = come
    return sum(ways[-2:])
    ### END SOLUTION


# %% nbgrader={"grade_id": "paths-check", "grade": true, "points": 4}
from itertools import groupby, product


def listed(parts, text):
    """The same, path by path."""
    total = 0
    for path in product(parts, repeat=len(parts[BLANK])):
        if "".join(symbol for symbol, _ in groupby(path) if symbol != BLANK) == text:
            weight = 1
            for t, symbol in enumerate(path):
                weight *= parts[symbol][t]
            total += weight
    return total


ones = {symbol: [1] * 5 for symbol in [BLANK, *sorted({*WORD})]}
answer = returned("weight_of_text", weight_of_text(ones, WORD))
assert answer == listed(ones, WORD), (
    f"{WORD!r} in five frames of ones: {answer}, and {listed(ones, WORD)} paths say it. A path may "
    "begin and end in a blank or in a letter"
)
some = {BLANK: [1, 2, 0, 3, 1], "e": [2, 1, 1, 2, 3], "b": [3, 0, 1, 1, 0]}
for text in ("be", "bee", "e"):
    answer, right = weight_of_text(some, text), listed(some, text)
    assert answer == right, (
        f"{text!r}: {answer}, and should be {right}; {some}. Is a blank left out between different "
        "letters only?"
    )
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(3)
for text in ("", "e", "ebb", "beeb", "eee", "beb"):
    drawn = {x: torch.randint(0, 4, (6,), generator=g).tolist() for x in (BLANK, "e", "b")}
    assert weight_of_text(drawn, text) == listed(drawn, text), f"{text!r} in six frames is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="paths"
# "be" has the states blank, b, blank, e, blank. A path may stay where it is, go on by one, or leave
# out a blank between two different letters.

# %% [markdown] tags=["hint"] exercise="paths"
# Begin with one way to stand in the first blank, before the first frame. In the end, sum the last
# letter's state and the last blank's.


# %% tags=["wrong-answer"] exercise="paths"
def weight_of_text(parts, text):  # equal letters need no blank
    states, ways = [BLANK], [1] + [0] * (2 * len(text))
    for letter in text:
        states += [letter, BLANK]
    for t in range(len(parts[BLANK])):
        ways = [
            (ways[s] + (ways[s - 1] if s else 0) + (ways[s - 2] if s > 1 and s % 2 else 0))
            * parts[states[s]][t]
            for s in range(len(states))
        ]
    return sum(ways[-2:])


# %% tags=["wrong-answer"] exercise="paths"
def weight_of_text(parts, text):  # ends in the last blank only
    states, ways = [BLANK], [1] + [0] * (2 * len(text))
    for letter in text:
        states += [letter, BLANK]
    for t in range(len(parts[BLANK])):
        come = []
        for s, z in enumerate(states):
            into = ways[s] + (ways[s - 1] if s else 0)
            if s > 1 and z not in (BLANK, states[s - 2]):
                into += ways[s - 2]
            come.append(into * parts[z][t])
        ways = come
    return ways[-1]


# %% tags=["wrong-answer"] exercise="paths"
def weight_of_text(parts, text):  # the best path, not the sum
    states, ways = [BLANK], [1] + [0] * (2 * len(text))
    for letter in text:
        states += [letter, BLANK]
    for t in range(len(parts[BLANK])):
        come = []
        for s, z in enumerate(states):
            back = 2 if s > 1 and z not in (BLANK, states[s - 2]) else min(s, 1)
            come.append(max(ways[s - back : s + 1]) * parts[z][t])
        ways = come
    return max(ways[-2:])


# %% [markdown]
# ## 5. The rate of wrong words
#
# *Find and fix a planted bug · 12 min · hard · Levenshtein 1966*
#
# The word error rate of several sentences is the least number of words to change, leave out or put
# in, summed over all sentences, over the number of words that were **said**. This function computes
# it by a table, a row for each word said. It runs, and on many sentences it is right. Look at the
# trials, then fix it in `mended_rate`.

# %% tags=["variant"] exercise="rate"
rename("mended_rate", "sound_rate", "rate_of_errors")


# %% tags=["bug"] exercise="rate" bug="sentences are averaged" caught="totals:"
def broken_rate(said, written):
    """Return the word error rate of sentences `written`, for the sentences `said`."""
    rates = []
    for truth, guess in zip(said, written, strict=True):
        true, got = truth.split(), guess.split()
        above = list(range(len(got) + 1))
        for i, word in enumerate(true, 1):
            row = [i]
            for j, other in enumerate(got, 1):
                row.append(min(above[j - 1] + (word != other), above[j] + 1, row[j - 1] + 1))
            above = row
        rates.append(above[-1] / len(true))
    return sum(rates) / len(rates)


# %% tags=["bug"] exercise="rate" bug="written words are counted, not said ones" caught="length:"
def broken_rate(said, written):
    """Return the word error rate of sentences `written`, for the sentences `said`."""
    errors = words = 0
    for truth, guess in zip(said, written, strict=True):
        true, got = truth.split(), guess.split()
        above = list(range(len(got) + 1))
        for i, word in enumerate(true, 1):
            row = [i]
            for j, other in enumerate(got, 1):
                row.append(min(above[j - 1] + (word != other), above[j] + 1, row[j - 1] + 1))
            above = row
        errors, words = errors + above[-1], words + len(got)
    return errors / words


# %% tags=["bug"] exercise="rate" bug="words put in at the start cost nothing" caught="insertion:"
def broken_rate(said, written):
    """Return the word error rate of sentences `written`, for the sentences `said`."""
    errors = words = 0
    for truth, guess in zip(said, written, strict=True):
        true, got = truth.split(), guess.split()
        above = [0] * (len(got) + 1)
        for i, word in enumerate(true, 1):
            row = [i]
            for j, other in enumerate(got, 1):
                row.append(min(above[j - 1] + (word != other), above[j] + 1, row[j - 1] + 1))
            above = row
        errors, words = errors + above[-1], words + len(true)
    return errors / words


# %% tags=["bug"] exercise="rate" bug="a changed word counts twice" caught="substitution:"
def broken_rate(said, written):
    """Return the word error rate of sentences `written`, for the sentences `said`."""
    errors = words = 0
    for truth, guess in zip(said, written, strict=True):
        true, got = truth.split(), guess.split()
        above = list(range(len(got) + 1))
        for i, word in enumerate(true, 1):
            row = [i]
            for j, other in enumerate(got, 1):
                row.append(min(above[j - 1] + 2 * (word != other), above[j] + 1, row[j - 1] + 1))
            above = row
        errors, words = errors + above[-1], words + len(true)
    return errors / words


# %% tags=["bug"] exercise="rate" bug="a word that is left out costs nothing" caught="deletion:"
def broken_rate(said, written):
    """Return the word error rate of sentences `written`, for the sentences `said`."""
    errors = words = 0
    for truth, guess in zip(said, written, strict=True):
        true, got = truth.split(), guess.split()
        above = list(range(len(got) + 1))
        for word in true:
            row = [above[0]]
            for j, other in enumerate(got, 1):
                row.append(min(above[j - 1] + (word != other), above[j] + 1, row[j - 1] + 1))
            above = row
        errors, words = errors + above[-1], words + len(true)
    return errors / words


# %%
TRIALS = {
    "substitution": (["call me"], ["call you"], "one of two words was changed: 1/2"),
    "length": (["call me"], ["call me now"], "one word too many for two said: 1/2"),
    "deletion": (["do call me"], ["call me"], "one of three words was left out: 1/3"),
    "insertion": (["call me"], ["please call me"], "one word too many for two said: 1/2"),
    "totals": (["yes", "call me back"], ["no", "call me back"], "one of four words: 1/4"),
}
for name, (said, written, _) in TRIALS.items():
    print(f"{name}: {broken_rate(said, written):.3f}")


# %% nbgrader={"grade_id": "rate", "solution": true}
def mended_rate(said, written):
    """Return the word error rate of sentences `written`, for the sentences `said`."""
    ### BEGIN SOLUTION
    wrong = total = 0
    for truth, guess in zip(said, written, strict=True):
        true, got = truth.split(), guess.split()
        table = [[i + j for j in range(len(got) + 1)] for i in range(len(true) + 1)]
        for i in range(1, len(true) + 1):
            for j in range(1, len(got) + 1):
                same = table[i - 1][j - 1] + (true[i - 1] != got[j - 1])
                table[i][j] = min(same, table[i - 1][j] + 1, table[i][j - 1] + 1)
        wrong += table[-1][-1]
        total += len(true)
    return wrong / total
    ### END SOLUTION


# %% nbgrader={"grade_id": "rate-check", "grade": true, "points": 3}
from deepdive.evaluate.transcripts import word_error_rate

for name, (truths, guesses, why) in TRIALS.items():
    found = returned("mended_rate", mended_rate(truths, guesses))
    right = word_error_rate(truths, guesses)
    assert abs(found - right) < 1e-6, f"{name}: yours is {found:.3f}; {why}"
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(8)
for _ in range(20):
    drawn = torch.randint(0, 3, (2, 3, 6), generator=g)
    truths, guesses = ([" ".join("abc"[k] for k in row) for row in each] for each in drawn.tolist())
    guesses[0] = guesses[0][:5]
    assert abs(mended_rate(truths, guesses) - word_error_rate(truths, guesses)) < 1e-6, (
        f"{truths} written as {guesses} is off"
    )
assert mended_rate(["a b", "c"], ["", "c"]) == 2 / 3, "an empty sentence was written"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="rate"
# Which trial is the first that is off? What does it have that the others do not?

# %% [markdown] tags=["hint"] exercise="rate"
# Place (i, j) of the table is the least number of changes that make the first j words written of
# the first i words said. What must stand at its left edge, and what at its upper one?


# %% tags=["wrong-answer"] exercise="rate"
mended_rate = broken_rate  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="rate"
def mended_rate(said, written):  # word beside word, without moving any
    wrong = total = 0
    for truth, guess in zip(said, written, strict=True):
        true, got = truth.split(), guess.split()
        wrong += sum(a != b for a, b in zip(true, got, strict=False)) + abs(len(true) - len(got))
        total += len(true)
    return wrong / total


# %% tags=["wrong-answer"] exercise="rate"
def mended_rate(said, written):  # the share of sentences that are wrong
    return sum(a != b for a, b in zip(said, written, strict=True)) / len(said)


# %% [markdown]
# ## 6. Do more units know more?
#
# *Measure and explain · 20 min · hard · Hsu et al. 2021*
#
# HuBERT's units are groups of frames, made by k-means. *Phone purity* reads each unit as its most
# frequent phone, and says which share of the frames is then right. `FRAMES` are frames of generated
# speech, `PHONES` the phone of each; `make_units(FRAMES, k, draw=g)(FRAMES)` returns the unit of
# each frame, and `agreement(PHONES, units.tolist()).phone_purity` the purity. **Measure**, with one
# generator `g = torch.Generator().manual_seed(SEED)`, in this order, for seed {{SEED}}:
#
# - `"few"`: the purity of 10 units,
# - `"many"`: that of {{MANY}} units,
# - `"lot"`: that of the 10 units, each cut into {{CUT}} parts **by lot**: unit u becomes
#   `u * CUT + torch.randint(CUT, u.shape, generator=g)`. That is {{MANY}} units, and the lot heard
#   nothing.

# %% tags=["variant"] exercise="purity"
SEED = number(1, 500)
CUT = choose(5, 8, 6)
MANY = 10 * CUT


# %% nbgrader={"grade_id": "purity", "solution": true}
def measured_purity():
    """Return {"few": purity, "many": purity, "lot": purity}."""
    ### BEGIN SOLUTION
    g = torch.Generator().manual_seed(SEED)
    ten = make_units(FRAMES, 10, draw=g)(FRAMES)
    fine = make_units(FRAMES, MANY, draw=g)(FRAMES)
    cut = ten * CUT + torch.randint(CUT, ten.shape, generator=g)
    every = {"few": ten, "many": fine, "lot": cut}
    return {name: agreement(PHONES, u.tolist()).phone_purity for name, u in every.items()}
    ### END SOLUTION


# %% nbgrader={"grade_id": "purity-check", "grade": true, "points": 3} own="measure"
found = returned("measured_purity", measured_purity())
assert isinstance(found, dict), "return a dictionary: `return {...}`"
assert set(found) == {"few", "many", "lot"}, f"the names are few, many and lot: {sorted(found)}"
assert all(0 < found[name] <= 1 for name in found), f"each is a share, from 0 to 1: {found}"
assert found["lot"] >= found["few"], (
    f"lot: {found['lot']:.3f}, below few, {found['few']:.3f}. A part of a unit is right at least "
    "as often as the unit was: are the parts those of the same units?"
)
assert found["lot"] > found["few"] + 1e-6, "lot: as pure as few. Was each unit cut into parts?"
assert found["many"] > found["lot"], (
    f"many: {found['many']:.3f}, no more than by lot, {found['lot']:.3f}. Are these units of "
    "k-means, and is it phone purity?"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(SEED)
few = make_units(FRAMES, 10, draw=g)(FRAMES)
many = make_units(FRAMES, MANY, draw=g)(FRAMES)
lots = few * CUT + torch.randint(CUT, few.shape, generator=g)
for name, units in (("few", few), ("many", many), ("lot", lots)):
    right = agreement(PHONES, units.tolist()).phone_purity
    assert abs(found[name] - right) < 1e-3, f"{name}: seed {SEED} gives {right:.3f}"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="purity"
# `make_units(FRAMES, 10, draw=g)` is a function: give it `FRAMES`, and it returns units. The order
# of the three draws matters, as they share one generator.


# %% tags=["wrong-answer"] exercise="purity"
def measured_purity():  # units by lot alone, cut from nothing
    g = torch.Generator().manual_seed(SEED)
    few = make_units(FRAMES, 10, draw=g)(FRAMES)
    many = make_units(FRAMES, MANY, draw=g)(FRAMES)
    lot = torch.randint(MANY, few.shape, generator=g)
    each = {"few": few, "many": many, "lot": lot}
    return {name: agreement(PHONES, u.tolist()).phone_purity for name, u in each.items()}


# %% tags=["wrong-answer"] exercise="purity"
def measured_purity():  # unit purity, which falls
    g = torch.Generator().manual_seed(SEED)
    few = make_units(FRAMES, 10, draw=g)(FRAMES)
    many = make_units(FRAMES, MANY, draw=g)(FRAMES)
    lot = few * CUT + torch.randint(CUT, few.shape, generator=g)
    each = {"few": few, "many": many, "lot": lot}
    return {name: agreement(PHONES, u.tolist()).unit_purity for name, u in each.items()}


# %% tags=["wrong-answer"] exercise="purity"
def measured_purity():  # nothing is cut
    g = torch.Generator().manual_seed(SEED)
    few = agreement(PHONES, make_units(FRAMES, 10, draw=g)(FRAMES).tolist()).phone_purity
    many = agreement(PHONES, make_units(FRAMES, MANY, draw=g)(FRAMES).tolist()).phone_purity
    return {"few": few, "many": many, "lot": few}


# %% [markdown]
# **Explain** in three or four sentences, with your numbers: why does purity rise when units are cut
# by lot, though the lot knows nothing of sound? Which part of the rise from few to many may you
# then count for k-means? Somebody reports that 500 units have a higher purity than another's 100
# units: what would you ask for?

# %% [markdown] nbgrader={"grade_id": "purity-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# A part of a unit is read as its own most frequent phone, which by chance may be another than the
# unit's; on finitely many frames the parts are right at least as often as the whole. With {{MANY}}
# parts the lot alone takes purity from few to lot, so only what lies between lot and many comes
# from where k-means puts its borders. Two reports can be compared only at equally many units on
# equally many frames, or each beside its own lot; frames that were not used to name the units would
# show that the lot gains nothing.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="purity-why"
# - **3 points**: gives its own three numbers, says that each part takes its own most frequent phone
#   and gains by chance, counts only the rise above the lot, and asks for equally many units.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: has no number that was measured, or says that the lot made better units.

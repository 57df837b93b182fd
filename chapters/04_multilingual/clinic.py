# %% [markdown]
# # Bug clinic: multilingual models
#
# Six small encoders are ill. Each has one bug, none of which raises an error. On the ward you see
# symptoms only: say what it is, and prove it by a measurement. In the theatre you see code: fix
# it. The symptoms are drawn when you run the cells: download this notebook and run it.
#
# For a patient you fill in two functions, the name of the bug and the measurement, and run the two
# cells below them. If these print nothing, you are done; otherwise they say why not.
#
# <small>Book 4.1 to 4.3 · needs [who gets how many pieces?](02_vocabulary.ipynb), [gaps in two
# languages](03_translation_lm.ipynb), [two encoders](04_sentence_embeddings.ipynb) and [one
# space](10_embedding_space.ipynb) · generated numbers, no GPU · each patient takes a few
# seconds</small>

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
from torch.nn.functional import normalize

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, permutation, rename

# %%
from deepdive_book.course.specimens.multilingual import WORDS, pairs
from deepdive_book.kit.plotting import show

# %% tags=["variant"] exercise="a-diagnosis"
BEDS = [
    letter
    for pair in permutation([permutation("AB"), permutation("CD"), permutation("EF")])
    for letter in pair
]

# %%
from deepdive_book.course.clinic.multilingual import (
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
# A diagnosis is one of six words:
#
# | word | what is wrong |
# |---|---|
# | `margin` | the margin is added to the right pairs, not taken off |
# | `leak` | gaps in the second line still show their words |
# | `places` | places run on in the second line, and do not begin at 0 again |
# | `language` | each line of a pair has the other one's language |
# | `drawn` | languages are drawn by size to the power 1 / alpha, not alpha |
# | `means` | from each vector the mean of all languages is taken off, not its own one's |
#
# Each model learned telephone numbers, said digit by digit: 900 in English and German, 40 in
# English and Swahili, drawn with $\alpha = 0.3$. It has two lessons. A number and its translation
# stand in one row, one word in three is hidden in each line, and a gap is filled by looking at the
# other line; the row tells each word's place in its line, and its language. And each line, read
# alone, has a vector, the mean of its states, less the mean of its language; the vectors' cosines
# must find the translation, by a margin of 0.3, and are multiplied by 20 before the softmax.
#
# `pairs(n)` makes n numbers in English and German, as pairs of texts, `pairs(n, "Swahili")` in
# English and Swahili. `look(pairs)` lets a model read, and returns what can be seen on the way:
#
# | key | shape | |
# |---|---|---|
# | `tokens`, `gaps`, `second` | (B, T) | of joined rows: words, hidden words, the second line |
# | `shown` | B texts | a row as it is read: `_` is a gap, a bar stands between the lines |
# | `rows` | (B, T, 48) | what enters: the sums of a word's, a place's and a language's row |
# | `said` | (B, T) | which word it says at each place |
# | `vectors`, `centered` | (2, B, 48) | of first and second lines: before and after the means |
# | `scores` | (B, B) | of first lines (down) with second ones, as they enter the softmax |
# | `counts` | (2,) | of 1,000 pairs drawn to learn from: how many German, how many Swahili |
# | `loss` | a number | both lessons, computed by the model's own, perhaps broken, code |
#
# `look(pairs, hide=False)` hides nothing, and a pair may have an empty second line: `("one two",
# "")` is one line, read alone. A healthy one first:

# %%
some = pairs(64)
seen = healthy().look(some)
print("reads:", *seen["shown"][:3], sep="\n  ")
print("shares in %:", {name: round(share) for name, share in healthy().shares.items()})


def told(letter):
    """Show what a patient came with."""
    patient = admit(letter)
    show(patient.chart())
    seen = patient.look(some)
    gaps = seen["gaps"].clone()
    gaps[4:] = False
    for name, key in (("asked for", "tokens"), ("it says  ", "said")):
        print(f"{name}:", " ".join(WORDS[i] for i in seen[key][gaps].tolist()))
    print("shares in %:", {name: round(share) for name, share in patient.shares.items()})


# %% [markdown]
# *gaps*: those filled rightly. (Where the word that translates a gap is hidden too, one can but
# guess.) *written*: words that are right where the second line is not there and all of it is to be
# written. *found*: translations that are the nearest of 64. *by 0.3*: those that are nearer
# than any other by as much. *Swahili*: the same as *found*, for English and Swahili. *one heap*:
# lines of all three languages whose nearest of all others is a translation. All but *Swahili* and
# *one heap* are of German.
#
# A measurement proves a diagnosis if the patient's number lies clearly outside the range of three
# healthy models, one of which has not learned yet, and differs from that of the patient next door
# (A and B, C and D, E and F). Below each patient stands what our own measurement gives for a
# healthy model; yours may be another.

# %% [markdown]
# ## 1. Patient A: cheap and near
#
# *Diagnose · 6 min · easy · Feng et al. 2022, section 2*
#
# Its loss is far below a healthy one's. Its gaps are a healthy one's. But of its translations
# hardly one is nearer than all others by 0.3, and in Swahili, or in one heap, more are missed.

# %%
told("A")


# %% [markdown]
# Name it, and measure a number that proves it. For a healthy model ours is -0.3.


# %% nbgrader={"grade_id": "a-diagnosis", "solution": true}
def diagnosis_a():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "margin"
    ### END SOLUTION


def measure_a(look):
    """Return one number, computed from `look(pairs)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look(pairs(32))
    u, v = normalize(seen["centred"], dim=-1)
    return (seen["scores"] / 20 - u @ v.T).diag().mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "a-named", "grade": true, "points": 1}
assert not (why := misjudged("A", diagnosis_a())), why

# %% nbgrader={"grade_id": "a-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_a, "A")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="a-diagnosis"
# The scores are 20 times a cosine and something. What is it, on the diagonal?


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "leak"  # what it fills in is a healthy one's


def measure_a(look):
    return look(pairs(32))["loss"]  # one that has not learned yet has another as well


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "means"  # its lines are in the middle of each language


def measure_a(look):
    return look(pairs(32))["counts"][1]  # the draws are a healthy one's


# %% [markdown]
# ## 2. Patient B: it fills more and writes less
#
# *Diagnose · 6 min · easy · Ouyang et al. 2021, section 3.1*
#
# Its loss too is below a healthy one's, and more of its gaps are filled rightly. But when all of a
# German line is to be written, it gets as few words right as if it guessed the digits.

# %%
told("B")


# %% [markdown]
# Name it, and measure a number that proves it. For a healthy model ours is 1.


# %% nbgrader={"grade_id": "b-diagnosis", "solution": true}
def diagnosis_b():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "leak"
    ### END SOLUTION


def measure_b(look):
    """Return one number, computed from `look(pairs)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look(pairs(32))
    return sum(text.count("_") for text in seen["shown"]) / seen["gaps"].sum()
    ### END SOLUTION


# %% nbgrader={"grade_id": "b-named", "grade": true, "points": 1}
assert not (why := misjudged("B", diagnosis_b())), why

# %% nbgrader={"grade_id": "b-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_b, "B")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="b-diagnosis"
# How many words of a row are gaps, and how many gaps can be seen when the row is read?


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "margin"  # its translations are nearer by 0.3 as often as a healthy one's


def measure_b(look):
    seen = look(pairs(32))
    return (seen["said"] == seen["tokens"])[seen["gaps"]].sum() / 1000  # no more than healthy ones


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "language"  # what it fills in is of the right language


def measure_b(look):
    return look(pairs(32))["gaps"].sum()  # as many are asked for


# %% [markdown]
# ## 3. Patient C: the right language, the wrong digit
#
# *Diagnose · 8 min · medium · Conneau and Lample 2019, section 3.4*
#
# It fell ill after its training: its loss fell as a healthy one's, and the vectors of lines that it
# reads alone are a healthy one's. In joined rows it now fills most gaps with the right language's
# word for a digit from another place of the same number.

# %%
told("C")


# %% [markdown]
# Name it, and measure a number that proves it. For a healthy model ours is 0.


# %% nbgrader={"grade_id": "c-diagnosis", "solution": true}
def diagnosis_c():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "places"
    ### END SOLUTION


def measure_c(look):
    """Return one number, computed from `look(pairs)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look([("one two three four", "eins zwei"), ("one two", "eins zwei")], hide=False)
    long, short = (seen["rows"][i][seen["second"][i].bool()] for i in (0, 1))
    return (long - short).abs().max()  # of the same two words behind four, and behind two
    ### END SOLUTION


# %% nbgrader={"grade_id": "c-named", "grade": true, "points": 1}
assert not (why := misjudged("C", diagnosis_c())), why

# %% nbgrader={"grade_id": "c-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_c, "C")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="c-diagnosis"
# What enters at a word must not depend on how long the line before its own is.


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "language"  # it answers in the right language


def measure_c(look):
    return look([("one two", "")], hide=False)["rows"][0, 0].sum()  # alone it is well


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "leak"  # its loss is higher, not lower


def measure_c(look):
    rows = look([("one two", "eins zwei")], hide=False)["rows"]
    return rows[0, 0].abs().mean()  # the first line is well


# %% [markdown]
# ## 4. Patient D: it answers in the wrong language
#
# *Diagnose · 8 min · medium · Conneau and Lample 2019, section 3.4*
#
# It too fell ill after its training, and the vectors of lines that it reads alone are a healthy
# one's. In joined rows it now fills not one gap rightly.

# %%
told("D")


# %% [markdown]
# Name it, and measure a number that proves it. For a healthy model ours is 0.


# %% nbgrader={"grade_id": "d-diagnosis", "solution": true}
def diagnosis_d():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "language"
    ### END SOLUTION


def measure_d(look):
    """Return one number, computed from `look(pairs)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look([("one two", "eins zwei"), ("one two", "")], hide=False)
    beside, alone = seen["rows"][:, :2]
    return (beside - alone).abs().max()  # of the first line, beside a second and alone
    ### END SOLUTION


# %% nbgrader={"grade_id": "d-named", "grade": true, "points": 1}
assert not (why := misjudged("D", diagnosis_d())), why

# %% nbgrader={"grade_id": "d-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_d, "D")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="d-diagnosis"
# What enters at the first line's words is the same whether a second line follows or not.


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "places"  # the first line's places are right in any case


def measure_d(look):
    return look([("one two", "")], hide=False)["rows"][0, 0].sum()  # alone it is well


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "means"  # each line's vector is a healthy one's


def measure_d(look):
    return look(pairs(32))["centred"].abs().mean()  # the vectors are of lines read alone


# %% [markdown]
# ## 5. Patient E: one language that it never learned
#
# *Diagnose · 6 min · easy · book 4.2.1*
#
# In German it does as a healthy one does, and its loss, which is told of German, is a bit lower.
# Swahili it cannot read: hardly a translation is found.

# %%
told("E")


# %% [markdown]
# Name it, and measure a number that proves it. For a healthy model ours is 289. (By the formula 282
# of 1,000 pairs are Swahili; of those that were drawn, 289 are.)


# %% nbgrader={"grade_id": "e-diagnosis", "solution": true}
def diagnosis_e():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "drawn"
    ### END SOLUTION


def measure_e(look):
    """Return one number, computed from `look(pairs)`, that proves it."""
    ### BEGIN SOLUTION
    return look(pairs(1))["counts"][1]
    ### END SOLUTION


# %% nbgrader={"grade_id": "e-named", "grade": true, "points": 1}
assert not (why := misjudged("E", diagnosis_e())), why

# %% nbgrader={"grade_id": "e-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_e, "E")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="e-diagnosis"
# By size alone, 43 of 1,000 pairs would be Swahili. With $\alpha = 0.3$ it should be more.


# %% tags=["wrong-answer"] exercise="e-diagnosis"
def diagnosis_e():
    return "means"  # English and German lines find each other in the heap


def measure_e(look):
    return look(pairs(1))["counts"].sum()  # 1,000 in any case


# %% tags=["wrong-answer"] exercise="e-diagnosis"
def diagnosis_e():
    return "language"  # it fills German gaps in German


def measure_e(look):
    return look(pairs(32))["loss"]  # German is well


# %% [markdown]
# ## 6. Patient F: a corner for each
#
# *Diagnose · 8 min · medium · book 4.3.2*
#
# It fell ill after its training, and fills and writes as a healthy one. Among German lines most
# translations are still found. But throw lines of all three languages into one heap, and the line
# next to a line is never its translation.

# %%
told("F")


# %% [markdown]
# Name it, and measure a number that proves it. For a healthy model ours is near 0.


# %% nbgrader={"grade_id": "f-diagnosis", "solution": true}
def diagnosis_f():
    """Return one of the six words."""
    ### BEGIN SOLUTION
    return "means"
    ### END SOLUTION


def measure_f(look):
    """Return one number, computed from `look(pairs)`, that proves it."""
    ### BEGIN SOLUTION
    seen = look(pairs(64))
    left = seen["centred"][1].mean(0).norm()  # of German lines, whose mean should be off
    return left / seen["vectors"][1].norm(dim=-1).mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "f-named", "grade": true, "points": 1}
assert not (why := misjudged("F", diagnosis_f())), why

# %% nbgrader={"grade_id": "f-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_f, "F")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="f-diagnosis"
# Where does the mean of many German lines lie, once German's mean is off?


# %% tags=["wrong-answer"] exercise="f-diagnosis"
def diagnosis_f():
    return "drawn"  # it reads Swahili


def measure_f(look):
    return look(pairs(64))["vectors"].mean()  # before the means come off, it is well


# %% tags=["wrong-answer"] exercise="f-diagnosis"
def diagnosis_f():
    return "margin"  # its loss is a healthy one's


def measure_f(look):
    return look(pairs(64))["counts"][0]  # the draws are well


# %% [markdown]
# ## 7. Theatre: who is read how often
#
# *Fix · 4 min · easy · book 4.2.1*
#
# From here on you see code, one function for each of the six words, in another order. `found_...`
# is the broken one: leave it, and write a healthy one below it. In your copy its bug may be another
# than the ward's. `sizes` (K,) are how many texts each of K languages
# has. Returned are the shares of their texts among those that are read.

# %% tags=["variant"] exercise="mend-drawn"
MANY = choose(900, 1600, 2500, 3600)
FEW = choose(100, 400, 64)
rename("drawn_shares", "shares_drawn", "alpha_shares")


# %% tags=["bug"] exercise="mend-drawn" bug="the power is 1 / alpha" caught="root"
def found_shares(sizes, alpha):
    weights = sizes ** (1 / alpha)
    return weights / weights.sum()


# %% tags=["bug"] exercise="mend-drawn" bug="the powers no longer add up to 1" caught="sum"
def found_shares(sizes, alpha):
    by_size = sizes / sizes.sum()
    return by_size**alpha


# %% tags=["bug"] exercise="mend-drawn" bug="alpha is a factor, which falls out" caught="root"
def found_shares(sizes, alpha):
    weights = alpha * sizes
    return weights / weights.sum()


# %% nbgrader={"grade_id": "mend-drawn", "solution": true}
def drawn_shares(sizes, alpha):
    """Return (K,), the shares of the languages, by size to the power alpha."""
    ### BEGIN SOLUTION
    weights = sizes**alpha
    return weights / weights.sum()
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-drawn-check", "grade": true, "points": 3}
sizes = torch.tensor([float(MANY), float(FEW)])
given = drawn_shares(sizes, 0.5)
assert given.shape == (2,), f"two languages have two shares; yours are {tuple(given.shape)}"
assert abs(float(given.sum()) - 1) < 1e-5, f"sum: shares add up to 1, yours to {given.sum():.3f}"
root = FEW**0.5 / (FEW**0.5 + MANY**0.5)
assert abs(float(given[1]) - root) < 1e-5, (
    f"root: at 0.5 the small one has the root of {FEW} of the sum of both roots, {root:.3f}; "
    f"yours has {float(given[1]):.3f}"
)
cured = operate("drawn", drawn_shares)
assert cured.shares["Swahili"] > ill("drawn").shares["Swahili"] + 50, "Swahili is as it was"
### BEGIN HIDDEN TESTS
three = torch.tensor([8.0, 27.0, 64.0])
assert torch.allclose(drawn_shares(three, 1 / 3) * 9, torch.tensor([2.0, 3, 4]), atol=1e-4), (
    "cube roots of 8, 27 and 64 are off"
)
assert torch.allclose(drawn_shares(three, 0.0), torch.full((3,), 1 / 3)), "alpha 0 is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-drawn"
# At $\alpha = 1$ the shares go by size, at 0 all are alike.


# %% tags=["wrong-answer"] exercise="mend-drawn"
def drawn_shares(sizes, alpha):  # by size
    return sizes / sizes.sum()


# %% tags=["wrong-answer"] exercise="mend-drawn"
def drawn_shares(sizes, alpha):  # the powers alone
    return sizes**alpha


# %% [markdown]
# ## 8. Theatre: which language is it?
#
# *Fix · 4 min · easy · Conneau and Lample 2019, section 3.4*
#
# A row is a line of `first` words, of language `one`, and behind it a line of `second` words, of
# language `other`. Returned is the language of each word. The first check has {{FIRST}} and
# {{SECOND}} words.

# %% tags=["variant"] exercise="mend-language"
FIRST = choose(3, 4, 5)
SECOND = choose(2, 6)
rename("languages_of", "each_language", "told_languages")


# %% tags=["bug"] exercise="mend-language" bug="the two are exchanged" caught="begins"
def found_languages(first, second, one, other):
    return torch.tensor([other] * first + [one] * second)


# %% tags=["bug"] exercise="mend-language" bug="cut at the other line's length" caught="turns"
def found_languages(first, second, one, other):
    return torch.tensor([one] * second + [other] * first)


# %% tags=["bug"] exercise="mend-language" bug="all of the row is of the first one" caught="turns"
def found_languages(first, second, one, other):
    return torch.full((first + second,), one)


# %% nbgrader={"grade_id": "mend-language", "solution": true}
def languages_of(first, second, one, other):
    """Return (first + second,), whole numbers."""
    ### BEGIN SOLUTION
    return torch.tensor([one] * first + [other] * second)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-language-check", "grade": true, "points": 3}
given = languages_of(FIRST, SECOND, 0, 2)
assert given.shape == (FIRST + SECOND,), f"one for each word; yours are {tuple(given.shape)}"
assert given.dtype == torch.int64, f"whole numbers, yours are {given.dtype}"
assert int(given[0]) == 0, f"begins: the row begins in language 0; yours: {given.tolist()}"
right = [0] * FIRST + [2] * SECOND
assert given.tolist() == right, f"turns: {given.tolist()}, should be {right}"
cured = operate("language", languages_of)
assert cured.shares["gaps"] > ill("language").shares["gaps"] + 40, "gaps are filled as before"
### BEGIN HIDDEN TESTS
assert languages_of(1, 4, 1, 0).tolist() == [1, 0, 0, 0, 0], "one word and four are off"
assert languages_of(2, 0, 1, 1).tolist() == [1, 1], "a line alone is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-language"
# In Python `[7] * 3` is `[7, 7, 7]`.


# %% tags=["wrong-answer"] exercise="mend-language"
def languages_of(first, second, one, other):  # the second line first
    return torch.tensor([other] * second + [one] * first)


# %% tags=["wrong-answer"] exercise="mend-language"
def languages_of(first, second, one, other):  # 0 and 1, whatever they are
    return torch.tensor([0] * first + [1] * second)


# %% [markdown]
# ## 9. Theatre: right by a margin
#
# *Fix · 6 min · medium · Feng et al. 2022, section 2*
#
# `count` lines (down) have their cosines with as many translations (across); the right ones stand
# on the diagonal. The loss is to stay high until the right answer leads by `margin`. What is
# returned is taken off the cosines, before they are multiplied and the softmax is taken.

# %% tags=["variant"] exercise="mend-margin"
OWN_MARGIN = choose(0.3, 0.2, 0.25, 0.4)
OWN_COUNT = choose(3, 4, 5)
rename("taken_off", "margins_of", "off_cosines")


# %% tags=["bug"] exercise="mend-margin" bug="a present to the right ones" caught="right one"
def found_off(count, margin):
    return -margin * torch.eye(count)


# %% tags=["bug"] exercise="mend-margin" bug="taken off everywhere" caught="wrong one"
def found_off(count, margin):
    return torch.full((count, count), margin)


# %% tags=["bug"] exercise="mend-margin" bug="taken off the wrong ones" caught="wrong one"
def found_off(count, margin):
    return margin * (1 - torch.eye(count))


# %% nbgrader={"grade_id": "mend-margin", "solution": true}
def taken_off(count, margin):
    """Return (count, count)."""
    ### BEGIN SOLUTION
    return margin * torch.eye(count)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-margin-check", "grade": true, "points": 3}
given = taken_off(OWN_COUNT, OWN_MARGIN)
assert given.shape == (OWN_COUNT, OWN_COUNT), f"as many as cosines; yours are {tuple(given.shape)}"
assert abs(float(given[0, 1])) < 1e-6, (
    f"wrong one: nothing is taken off its cosine, 0; yours {float(given[0, 1]):.2f}"
)
assert abs(float(given[1, 1]) - OWN_MARGIN) < 1e-6, (
    f"right one: its cosine loses {OWN_MARGIN}; with yours it loses {float(given[1, 1]):.2f}"
)
cured = operate("margin", taken_off)
assert cured.shares["by 0.3"] > ill("margin").shares["by 0.3"] + 30, "few lead by 0.3, as before"
### BEGIN HIDDEN TESTS
seven = taken_off(7, 0.1)
assert torch.allclose(seven, 0.1 * (torch.arange(7)[:, None] == torch.arange(7))), "seven are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-margin"
# `torch.eye(B)` is 1 on the diagonal. What must be harder, so that more is learned?


# %% tags=["wrong-answer"] exercise="mend-margin"
def taken_off(count, margin):  # from the first pair only
    off = torch.zeros(count, count)
    off[0, 0] = margin
    return off


# %% tags=["wrong-answer"] exercise="mend-margin"
def taken_off(count, margin):  # none
    return torch.zeros(count, count)


# %% [markdown]
# ## 10. Theatre: the middle of each language
#
# *Fix · 6 min · medium · book 4.3.2*
#
# `vectors` (N, d) are of lines in several languages: row i is of language `of[i]`. `means` has a
# row for each language, the mean of vectors of lines that are not among these. Returned is each
# vector less the mean of its own language, (N, d).

# %% tags=["variant"] exercise="mend-means"
MEANS = choose([[1.0, 2.0], [3.0, 5.0]], [[2.0, 1.0], [6.0, 4.0]], [[3.0, 2.0], [1.0, 7.0]])
rename("off_center", "own_mean_off", "brought_home")


# %% tags=["bug"] exercise="mend-means" bug="the mean of all languages" caught="a language's"
def found_centered(vectors, of, means):
    return vectors - means.mean(0)


# %% tags=["bug"] exercise="mend-means" bug="the mean of these lines" caught="a language's"
def found_centered(vectors, of, means):
    return vectors - vectors.mean(0)


# %% tags=["bug"] exercise="mend-means" bug="put on, not taken off" caught="a language's"
def found_centered(vectors, of, means):
    return vectors + means[of]


# %% nbgrader={"grade_id": "mend-means", "solution": true}
def off_center(vectors, of, means):
    """Return (N, d)."""
    ### BEGIN SOLUTION
    return vectors - means[of]
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-means-check", "grade": true, "points": 3}
middles = torch.tensor(MEANS)
lines, of = middles[[0, 1, 1]] + torch.tensor([[1.0, 0], [0, 0], [0, 2]]), torch.tensor([0, 1, 1])
given = off_center(lines, of, middles)
assert given.shape == (3, 2), f"as many as there were, (3, 2); yours are {tuple(given.shape)}"
assert given[1].tolist() == [0, 0], (
    f"a language's mean itself comes to 0, 0; with yours to {given[1].tolist()}"
)
assert given[0].tolist() == [1, 0], f"the first is 1, 0 off its mean; yours {given[0].tolist()}"
assert given[2].tolist() == [0, 2], f"the last is 0, 2 off its mean; yours {given[2].tolist()}"
cured = operate("means", off_center)
assert cured.shares["one heap"] > ill("means").shares["one heap"] + 50, "each keeps to its corner"
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(4)
far, which = torch.randn(3, 6, generator=g), torch.tensor([2, 0, 0, 1, 2])
near = torch.randn(5, 6, generator=g)
assert torch.allclose(off_center(near + far[which], which, far), near, atol=1e-5), "five are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-means"
# A table of rows takes a whole tensor of indices, `means[of]`: a row for each of them.


# %% tags=["wrong-answer"] exercise="mend-means"
def off_center(vectors, of, means):  # English's for all
    return vectors - means[0]


# %% tags=["wrong-answer"] exercise="mend-means"
def off_center(vectors, of, means):  # the other way
    return means[of] - vectors


# %% [markdown]
# ## 11. Theatre: where a word stands
#
# *Fix · 4 min · easy · Conneau and Lample 2019, section 3.4*
#
# A row is a line of `first` words and behind it a line of `second` words. Each word's place in
# **its own** line is asked for, from 0. The first check has {{ONE}} and {{TWO}} words.

# %% tags=["variant"] exercise="mend-places"
ONE = choose(3, 4, 5)
TWO = choose(4, 2, 6)
rename("places_of", "each_place", "line_places")


# %% tags=["bug"] exercise="mend-places" bug="places run on" caught="again"
def found_places(first, second):
    return torch.arange(first + second)


# %% tags=["bug"] exercise="mend-places" bug="the second line begins at 1" caught="again"
def found_places(first, second):
    return torch.cat([torch.arange(first), 1 + torch.arange(second)])


# %% tags=["bug"] exercise="mend-places" bug="the second line runs backwards" caught="again"
def found_places(first, second):
    return torch.cat([torch.arange(first), torch.arange(second).flip(0)])


# %% nbgrader={"grade_id": "mend-places", "solution": true}
def places_of(first, second):
    """Return (first + second,), whole numbers."""
    ### BEGIN SOLUTION
    return torch.cat([torch.arange(first), torch.arange(second)])
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-places-check", "grade": true, "points": 3}
given = places_of(ONE, TWO)
assert given.shape == (ONE + TWO,), f"one for each word; yours are {tuple(given.shape)}"
assert given.dtype == torch.int64, f"whole numbers, yours are {given.dtype}"
assert given[:ONE].tolist() == [*range(ONE)], f"the first line: {given[:ONE].tolist()}"
assert given[ONE:].tolist() == [*range(TWO)], (
    f"the second line counts from 0 again; yours {given[ONE:].tolist()}"
)
cured = operate("places", places_of)
assert cured.shares["written"] > ill("places").shares["written"] + 40, "it is written as before"
### BEGIN HIDDEN TESTS
assert places_of(5, 0).tolist() == [0, 1, 2, 3, 4], "a line alone is off"
assert places_of(1, 3).tolist() == [0, 0, 1, 2], "one word and three are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-places"
# `torch.arange(n)` counts from 0 to n - 1, and `torch.cat` joins.


# %% tags=["wrong-answer"] exercise="mend-places"
def places_of(first, second):  # one place for all of the second line
    return torch.cat([torch.arange(first), torch.zeros(second, dtype=torch.int64)])


# %% tags=["wrong-answer"] exercise="mend-places"
def places_of(first, second):  # from 1
    return 1 + torch.cat([torch.arange(first), torch.arange(second)])


# %% [markdown]
# ## 12. Theatre: what a gap shows
#
# *Fix · 6 min · medium · Ouyang et al. 2021, section 3.1*
#
# `tokens` (B, T) are joined rows, `gaps` (B, T) is True where a word is to be hidden, in either
# line, and `second` (B, T) is True in the second line. `mask` is the token that stands in a gap.

# %% tags=["variant"] exercise="mend-leak"
BLANK = number(30, 90, 5)
rename("with_gaps", "gaps_shown", "as_it_is_read")


# %% tags=["bug"] exercise="mend-leak" bug="the second line shows its words" caught="second line"
def found_shown(tokens, gaps, second, mask):
    return tokens.masked_fill(gaps & ~second, mask)


# %% tags=["bug"] exercise="mend-leak" bug="the first line shows its words" caught="first line"
def found_shown(tokens, gaps, second, mask):
    return tokens.masked_fill(gaps & second, mask)


# %% tags=["bug"] exercise="mend-leak" bug="all words of the second line are gone" caught="no gap"
def found_shown(tokens, gaps, second, mask):
    return tokens.masked_fill(gaps | second, mask)


# %% nbgrader={"grade_id": "mend-leak", "solution": true}
def with_gaps(tokens, gaps, second, mask):
    """Return tokens (B, T), as they are read."""
    ### BEGIN SOLUTION
    return tokens.masked_fill(gaps, mask)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-leak-check", "grade": true, "points": 3}
row, hides = torch.tensor([[1, 2, 11, 12, 13]]), torch.tensor([[0, 1, 0, 1, 0]]).bool()
given = with_gaps(row, hides, torch.tensor([[0, 0, 1, 1, 1]]).bool(), BLANK)
assert given.shape == (1, 5), f"as many tokens as there were, (1, 5); yours: {tuple(given.shape)}"
assert given[0, [0, 2, 4]].tolist() == [1, 11, 13], (
    f"1, 11 and 13 are no gap, and stay; yours {given[0].tolist()}"
)
assert int(given[0, 1]) == BLANK, f"the gap in the first line still shows: {given[0].tolist()}"
assert int(given[0, 3]) == BLANK, f"the gap in the second line still shows: {given[0].tolist()}"
cured = operate("leak", with_gaps)
assert cured.shares["written"] > ill("leak").shares["written"] + 40, "it is written as before"
### BEGIN HIDDEN TESTS
none = with_gaps(row, ~hides & hides, torch.zeros(1, 5).bool(), BLANK)
assert none.tolist() == row.tolist(), "without gaps something is hidden"
assert row.tolist() == [[1, 2, 11, 12, 13]], "what was given is changed"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-leak"
# `tokens.masked_fill(where, value)` returns new tokens, with `value` where `where` is True.


# %% tags=["wrong-answer"] exercise="mend-leak"
def with_gaps(tokens, gaps, second, mask):  # the words stay and the rest is hidden
    return tokens.masked_fill(~gaps, mask)


# %% tags=["wrong-answer"] exercise="mend-leak"
def with_gaps(tokens, gaps, second, mask):  # nothing is hidden
    return tokens

# %% [markdown]
# # Bug clinic: BERT
#
# Four small BERTs are ill. Each has one bug, none of which raises an error. On the ward you see
# symptoms only: say what it is, and prove it by a measurement. In the theatre you see code: fix it.
# The symptoms are drawn when you run the cells, so open this notebook where it runs.
#
# <small>Book 3.1 and 3.4.1 · needs [the input](01_input.ipynb), [masking](03_masking.ipynb), [five
# tasks](07_finetuning.ipynb) and [sentences](11_sentences.ipynb) · no data, no GPU · each patient
# takes a few seconds</small>

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
from torch.nn.functional import cross_entropy

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import permutation

# %%
from deepdive_book.course.specimens.encoder import CLS, NAMES, PAD, gaps, texts
from deepdive_book.kit.plotting import show

# %% tags=["variant"] exercise="a-diagnosis"
BEDS = [letter for pair in permutation([permutation("AB"), permutation("CD")]) for letter in pair]

# %%
from deepdive_book.course.clinic.encoder import admit, healthy, misjudged, opened, operate, unproven

opened(BEDS)  # which patient has which letter: your own order

# %% [markdown]
# A diagnosis is one of four words:
#
# | word | what is wrong |
# |---|---|
# | `padding` | the padding mask is inverted |
# | `loss` | the loss is asked at all places, not at the gaps alone |
# | `labels` | the labels are shifted: each place is asked for the token behind it |
# | `pool` | the text's vector is a mean over the padding too |
#
# Each model is an encoder with one layer and one head, 32 wide. It reads two letters that
# alternate, such as `[CLS] c f c f c [SEP]`, padded to 10 tokens, and learns to fill gaps: a
# quarter of the letters are shown as `[MASK]`. The letter two places on says what stood in a gap.
#
# A text is a row of numbers, 0 to 7 for the letters `a` to `h`; `CLS`, `PAD` and `NAMES` say the
# rest. `texts(n)` makes n texts, `texts(n, width=14)` the same ones with more padding;
# `gaps(tokens)` draws what is hidden, bool (B, T). `look(tokens, hidden)` lets a model read, and
# returns what can be seen on the way; without `hidden` it hides `gaps(tokens)`:
#
# | key | shape | |
# |---|---|---|
# | `weights` | (B, T, T) | queries down, keys across |
# | `states` | (B, T, 32) | after the layer |
# | `vector` | (B, 32) | one for each text, made of its states |
# | `logits` | (B, T, 12) | what it says at each place |
# | `loss` | a number | as the model's own program tells it |
#
# A healthy one first:

# %%
seen = healthy().look(texts(64))
print({name: tuple(value.shape) for name, value in seen.items() if name != "loss"})
print(
    f"loss {seen['loss']:.2f}, and {healthy().right:.0%} of the gaps in 64 new texts filled right"
)


def told(letter):
    """Show what a patient came with."""
    patient, three = admit(letter), texts(3)
    hidden = gaps(three)
    show(patient.chart())
    for text, holes, said in zip(three, hidden, patient.fill(three, hidden), strict=True):
        row = ["_" if hole else NAMES[token] for token, hole in zip(text, holes, strict=True)]
        print(" ".join(row), "->", " ".join(NAMES[token] for token in said))
    one, more = (patient.look(texts(3, width=w), gaps(texts(3, width=w)) < 0) for w in (10, 14))
    alike = torch.cosine_similarity(one["vector"], more["vector"]).min()
    print(f"{patient.right:.0%} of the gaps in 64 new texts filled right; a text and the same text")
    print(f"with four more [PAD] have vectors with a cosine of {alike:.2f}")


# %% [markdown]
# A measurement proves a diagnosis if it tells the patient from healthy models, also from one that
# has not learned yet, and from the patient next door (A and B, C and D).

# %% [markdown]
# ## 1. Patient A: it learned nothing
#
# *Diagnose · 6 min · easy · book 3.1*
#
# The loss falls to that of a guess among the letters, and stays. It fills gaps with any letter.

# %%
told("A")


# %% [markdown]
# What is it, and what number proves it? In a healthy model this number is 0.


# %% nbgrader={"grade_id": "a-diagnosis", "solution": true}
def diagnosis_a():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "padding"
    ### END SOLUTION


def measure_a(look):
    """Return one number, computed from `look(tokens, hidden)`, that proves it."""
    ### BEGIN SOLUTION
    tokens = texts(64)
    padded = (tokens == PAD)[:, None]
    return (look(tokens)["weights"] * padded).sum(-1).mean()  # what goes to the padding
    ### END SOLUTION


# %% nbgrader={"grade_id": "a-named", "grade": true, "points": 1}
assert not (why := misjudged("A", diagnosis_a())), why

# %% nbgrader={"grade_id": "a-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_a, "A")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="a-diagnosis"
# Read the map column by column. Which tokens are looked at, and which can say what a gap was?


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "labels"  # it says letters at random, not those of the next place


def measure_a(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "loss"  # then its loss would be low


def measure_a(look):
    return look(texts(16))["weights"].sum(-1).mean()  # each row sums to one, in all of them


# %% [markdown]
# ## 2. Patient B: better than healthy
#
# *Diagnose · 8 min · medium · book 3.1*
#
# It fills gaps as well as a healthy one. But the loss that its program tells is a fraction of a
# healthy one's, from the first steps on.

# %%
told("B")


# %% [markdown]
# What is it, and what number proves it? With `logits` and the texts you can compute a loss of your
# own.


# %% nbgrader={"grade_id": "b-diagnosis", "solution": true}
def diagnosis_b():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "loss"
    ### END SOLUTION


def measure_b(look):
    """Return one number, computed from `look(tokens, hidden)`, that proves it."""
    ### BEGIN SOLUTION
    tokens = texts(64)
    hidden = gaps(tokens)
    seen = look(tokens, hidden)
    return cross_entropy(seen["logits"][hidden], tokens[hidden]) - seen["loss"]
    ### END SOLUTION


# %% nbgrader={"grade_id": "b-named", "grade": true, "points": 1}
assert not (why := misjudged("B", diagnosis_b())), why

# %% nbgrader={"grade_id": "b-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_b, "B")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="b-diagnosis"
# Most tokens of a text are not hidden. How hard is it to say what stands there?


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "padding"  # its map leaves the padding out


def measure_b(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "pool"  # no loss reads the vector


def measure_b(look):
    return look(texts(16))["weights"].sum(-1).mean()  # each row sums to one, in all of them


# %% [markdown]
# ## 3. Patient C: sure, and always wrong
#
# *Diagnose · 8 min · medium · book 3.1*
#
# The loss falls lower than a healthy one, and not one gap in a hundred is filled rightly.

# %%
told("C")


# %% [markdown]
# What is it, and what number proves it? If it is not the hidden letter that it says, which token
# is it?


# %% nbgrader={"grade_id": "c-diagnosis", "solution": true}
def diagnosis_c():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "labels"
    ### END SOLUTION


def measure_c(look):
    """Return one number, computed from `look(tokens, hidden)`, that proves it."""
    ### BEGIN SOLUTION
    tokens = texts(64)
    hidden = gaps(tokens)
    said = look(tokens, hidden)["logits"].argmax(-1)
    return (said == tokens.roll(-1, 1))[hidden].float().mean()  # the token behind the gap
    ### END SOLUTION


# %% nbgrader={"grade_id": "c-named", "grade": true, "points": 1}
assert not (why := misjudged("C", diagnosis_c())), why

# %% nbgrader={"grade_id": "c-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_c, "C")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="c-diagnosis"
# Compare what it fills in with the token behind the gap. In which step could texts and labels have
# got out of step?


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "loss"  # then it would fill gaps rightly, too


def measure_c(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="c-diagnosis"
def diagnosis_c():
    return "padding"  # its map leaves the padding out


def measure_c(look):
    return look(texts(16))["weights"].sum(-1).mean()  # each row sums to one, in all of them


# %% [markdown]
# ## 4. Patient D: it depends on the company
#
# *Diagnose · 8 min · medium · book 3.4.1*
#
# Loss and gaps are those of a healthy one, to the last digit. But the same text gets another vector
# in another batch.

# %%
told("D")


# %% [markdown]
# What is it, and what number proves it? Which two texts should have one vector?


# %% nbgrader={"grade_id": "d-diagnosis", "solution": true}
def diagnosis_d():
    """Return one of the four words."""
    ### BEGIN SOLUTION
    return "pool"
    ### END SOLUTION


def measure_d(look):
    """Return one number, computed from `look(tokens, hidden)`, that proves it."""
    ### BEGIN SOLUTION
    short, long = texts(16), texts(16, width=14)
    nothing = (torch.zeros_like(each, dtype=torch.bool) for each in (short, long))
    one, two = (
        look(each, none)["vector"] for each, none in zip((short, long), nothing, strict=True)
    )
    return (one - two).abs().max()
    ### END SOLUTION


# %% nbgrader={"grade_id": "d-named", "grade": true, "points": 1}
assert not (why := misjudged("D", diagnosis_d())), why

# %% nbgrader={"grade_id": "d-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_d, "D")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="d-diagnosis"
# `texts(16)` and `texts(16, width=14)` are the same texts. What is it that the second ones have
# more of?


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "padding"  # its map leaves the padding out, and its gaps are filled rightly


def measure_d(look):
    return look(texts(64))["loss"]  # what the curve shows already


# %% tags=["wrong-answer"] exercise="d-diagnosis"
def diagnosis_d():
    return "labels"  # its gaps are filled rightly


def measure_d(look):
    return look(texts(16))["vector"].norm(dim=-1).mean()  # another number in each model


# %% [markdown]
# ## 5. Theatre: what may be seen
#
# *Fix · 4 min · easy · book 3.1*
#
# From here on you see code that was found in the four, in another order. `real` is bool (B, T),
# True where a token is no padding. True = may be attended to. Whose convention did the author have
# in mind?


# %%
def found_visible(real):
    return ~real


# %% nbgrader={"grade_id": "mend-padding", "solution": true}
def visible(real):
    """Return bool (B, T): True where a key may be attended to."""
    ### BEGIN SOLUTION
    return real.clone()
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-padding-check", "grade": true, "points": 3}
two = torch.tensor([[True, True, True, False], [True, True, False, False]])
seen = visible(two)
assert seen.dtype == torch.bool, f"a mask is bool, yours is {seen.dtype}"
assert seen.shape == (2, 4), f"one for each key of each text, (2, 4); yours is {tuple(seen.shape)}"
assert not seen[0, 3], "a key that is padding may be attended to"
assert seen[0, :3].all(), f"three keys of the first text are real, yours are {seen[0].tolist()}"
assert not seen[1, 2:].any(), f"each text has its own padding: {seen[1].tolist()} for the second"
assert operate("padding", visible).right > 0.75, "trained with your mask, it still fills no gaps"
### BEGIN HIDDEN TESTS
many = torch.rand(5, 9, generator=torch.Generator().manual_seed(1)) < 0.5
assert torch.equal(visible(many), many), "random masks are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-padding"
# In `nn.MultiheadAttention`, `key_padding_mask` is True where a key is **hidden**.


# %% tags=["wrong-answer"] exercise="mend-padding"
def visible(real):  # everything, padding too
    return torch.ones_like(real)


# %% tags=["wrong-answer"] exercise="mend-padding"
def visible(real):  # the first text's padding for all
    return real[:1].expand(len(real), -1)


# %% [markdown]
# ## 6. Theatre: the labels
#
# *Fix · 5 min · medium · book 3.1*
#
# The tokens that the model reads begin with `[CLS]`. What must it say at each place, once some of
# them are hidden?


# %%
def found_answers(tokens):
    return tokens.roll(-1, 1)  # the labels of a text, which begins behind [CLS]


# %% nbgrader={"grade_id": "mend-labels", "solution": true}
def answers(tokens):
    """Return int (B, T): what must be said at each place of the texts (B, T), [CLS] first."""
    ### BEGIN SOLUTION
    return tokens.clone()
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-labels-check", "grade": true, "points": 3}
row = torch.tensor([[CLS, 2, 5, 2, 5, 9, PAD]])
wanted = answers(row)
assert wanted.shape == row.shape, f"one for each place, {tuple(row.shape)}; {tuple(wanted.shape)}"
assert wanted[0, 1] == 2, (
    f"place 0 is [CLS], so the first letter, 2, is at place 1; there you ask for {wanted[0, 1]}"
)
assert wanted[0, 4] == 5, f"the last letter, 5, is at place 4; there you ask for {wanted[0, 4]}"
assert operate("labels", answers).right > 0.75, "trained on your labels, it fills no gaps rightly"
### BEGIN HIDDEN TESTS
some = texts(5)
assert torch.equal(answers(some), some), "the labels of five texts are off"
wider = texts(4, seed=7, width=13)
assert torch.equal(answers(wider), wider), "with more padding the labels are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-labels"
# The model's rows begin with `[CLS]`, and so do `tokens`. What has to be moved?


# %% tags=["wrong-answer"] exercise="mend-labels"
def answers(tokens):  # moved the other way
    return tokens.roll(1, 1)


# %% tags=["wrong-answer"] exercise="mend-labels"
def answers(tokens):  # [CLS] is left out, and the row is shorter
    return tokens[:, 1:]


# %% [markdown]
# ## 7. Theatre: the loss
#
# *Fix · 5 min · medium · book 3.1*
#
# `hidden` and `real` are bool (B, T): what was hidden, and what is no padding. Which places enter
# the loss?


# %%
def found_asked(hidden, real):
    return real


# %% nbgrader={"grade_id": "mend-loss", "solution": true}
def asked(hidden, real):
    """Return bool (B, T): the places that enter the loss."""
    ### BEGIN SOLUTION
    return hidden & real
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-loss-check", "grade": true, "points": 3}
hidden = torch.tensor([[False, True, False, True, False]])
real = torch.tensor([[True, True, True, True, False]])
where = asked(hidden, real)
assert where.dtype == torch.bool, f"places are bool, yours are {where.dtype}"
assert where.shape == hidden.shape, f"one for each token, (1, 5); yours is {tuple(where.shape)}"
assert not where[0, [0, 2]].any(), (
    f"a token that is shown need not be guessed, only copied; yours asks at {where[0].tolist()}"
)
assert where[0, [1, 3]].all(), f"both gaps must be asked; yours asks at {where[0].tolist()}"
cured = operate("loss", asked)
assert cured.curve[1] > 1, f"after ten steps its loss is {cured.curve[1]:.2f}: too good for gaps"
### BEGIN HIDDEN TESTS
assert not asked(real & False, real).any(), "where nothing is hidden, nothing is asked"
drawn = torch.rand(6, 11, generator=torch.Generator().manual_seed(3))
some, kept = (drawn > 0.2) & (drawn < 0.5), drawn > 0.2
assert torch.equal(asked(some, kept), some), "random gaps are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-loss"
# What does the copying model of [page 3.3](03_masking.ipynb) gain at a token that is shown?


# %% tags=["wrong-answer"] exercise="mend-loss"
def asked(hidden, real):  # what is shown, and not the gaps
    return real & ~hidden


# %% tags=["wrong-answer"] exercise="mend-loss"
def asked(hidden, real):  # padding too
    return torch.ones_like(real)


# %% [markdown]
# ## 8. Theatre: one vector
#
# *Fix · 6 min · medium · book 3.4.1*
#
# A text's vector is the mean of its states (B, T, d). `real` is bool (B, T).


# %%
def found_vector(states, real):
    return states.mean(1)


# %% nbgrader={"grade_id": "mend-pool", "solution": true}
def vector(states, real):
    """Return (B, d): the mean of the states (B, T, d) of each text's real tokens."""
    ### BEGIN SOLUTION
    kept = states.masked_fill(~real[..., None], 0.0)
    return kept.sum(1) / real.sum(1, keepdim=True)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-pool-check", "grade": true, "points": 3}
states = torch.tensor([[[1.0, 0.0], [3.0, 4.0], [8.0, 8.0]], [[1.0, 1.0], [2.0, 3.0], [3.0, 5.0]]])
real = torch.tensor([[True, True, False], [True, True, True]])
mean = vector(states, real)
assert mean.shape == (2, 2), f"one vector a text, (2, 2); yours is {tuple(mean.shape)}"
assert torch.allclose(mean[1], torch.tensor([2.0, 3.0])), (
    f"without padding it is the plain mean, (2, 3); yours is {mean[1].tolist()}"
)
assert torch.allclose(mean[0], torch.tensor([2.0, 2.0])), (
    f"the mean of two real states is (2, 2); yours is {mean[0].tolist()}"
)
cured = operate("pool", vector)
short, long = (cured.look(texts(9, width=w), gaps(texts(9, width=w)) < 0) for w in (10, 14))
assert torch.allclose(short["vector"], long["vector"], atol=1e-4), (
    "the same text with more padding has another vector"
)
### BEGIN HIDDEN TESTS
some = torch.randn(4, 6, 3, generator=torch.Generator().manual_seed(2))
first = torch.arange(6) < torch.tensor([1, 6, 3, 2])[:, None]
rows = torch.stack([state[kept].mean(0) for state, kept in zip(some, first, strict=True)])
assert torch.allclose(vector(some, first), rows, atol=1e-5), "texts of other lengths are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-pool"
# Make padding 0, sum over the places, and divide by how many tokens are real in each text.


# %% tags=["wrong-answer"] exercise="mend-pool"
def vector(states, real):  # divides by the padded length
    return (states * real[..., None]).mean(1)


# %% tags=["wrong-answer"] exercise="mend-pool"
def vector(states, real):  # the first state, [CLS]
    return states[:, 0]


# %% tags=["wrong-answer"] exercise="mend-pool"
def vector(states, real):  # divides by the longest text's length
    return (states * real[..., None]).sum(1) / real.sum(1).max()

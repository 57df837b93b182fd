# %% [markdown]
# # Bug clinic: Transformer-XL
#
# A clinic has two patients, and neither of them raises an error. Each patient is a **buggy model**:
# a small Transformer-XL with one planted bug. First you diagnose it: you look at its losses and
# accuracies, name the bug, and prove it by a measurement. Then, in the operating theatre, you see
# code with the bug and fix it. The order of the models is chosen when you run the cells, so open
# this notebook where it runs.
#
# <small>Book 5.1.4 · needs [Transformer-XL](16_recurrence_and_memory.ipynb) and [relative
# positions](08_relative_positions.ipynb) · generated digits, no GPU · each model trains for about a
# second</small>

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
from deepdive_book.course.specimens.recurrence import SEGMENT, streams
from deepdive_book.kit.plotting import show

# %% tags=["variant"] exercise="a-diagnosis"
BEDS = [*permutation("AB")]

# %%
from deepdive_book.course.clinic.recurrence import (
    admit,
    healthy,
    ill,
    misjudged,
    opened,
    operate,
    unproven,
)

opened(BEDS)  # which model has which letter: your own order

# %% [markdown]
# A diagnosis is one of two words:
#
# | word | what is wrong |
# |---|---|
# | `memory` | a memory that is too long is cut to its oldest states |
# | `distance` | the distance from a query to a key ignores the memory's length |
#
# **The task.** The model predicts the next digit of a stream. From position 6 on, a digit repeats
# the digit six positions back with probability 0.8, and otherwise it is random.
#
# **The model.** It is a Transformer-XL with one layer and one head. It processes a stream in
# **segments** of eight digits. The **memory** caches eight states of earlier segments, and queries
# attend to the memory and to their own segment. The score of a key depends on its content and on
# its **distance** from the query. The first six digits of each segment can only be predicted with
# the memory, apart from lucky guesses, because the digits they repeat are in the previous segment.
#
# `streams(n, segments=4, seed=99)` returns digits (n, 8 · segments + 1). `look(digits)` lets a
# model process streams from an empty memory, and returns its results:
#
# | key | shape | |
# |---|---|---|
# | `logits` | (B, N, 10) | scores of the next digit, for all N digits but the last |
# | `loss` | a number | cross-entropy of the next digits |
#
# `look(digits, size=4)` processes the same streams in segments of four digits. The memory still
# holds up to eight states. The healthy model first:

# %%
digits = streams(32)
seen = healthy().look(digits)
print("logits:", tuple(seen["logits"].shape), "loss:", round(float(seen["loss"]), 2))
print("a stream:", "".join(map(str, digits[0, :-1].tolist())))
print("predicted:", "".join(map(str, seen["logits"][0].argmax(-1).tolist())))


def report(letter):
    """Show the losses of a buggy model, and its accuracy in each segment."""
    model = admit(letter)
    show(model.chart())
    for name, accuracy in model.shares.items():
        print(f"{name}: {accuracy:.0f}%, healthy {healthy().shares[name]:.0f}%")


# %% [markdown]
# *segment 1* to *segment 4*: accuracy of the next digit, computed on 256 new streams. At chance
# level it is 10%.
#
# A measurement proves a diagnosis if its number separates the buggy model from healthy models,
# including an untrained one, and from the other buggy model. The loss alone therefore proves
# nothing: an untrained model has a high loss without any bug.

# %% [markdown]
# ## 1. Patient A: the memory helps once
#
# *Diagnose · 8 min · medium · book 5.1.4*
#
# In segments 1 and 2 this model is as accurate as the healthy one. In later segments its accuracy
# drops to the accuracy of segment 1, where there is no memory yet.

# %%
report("A")


# %% [markdown]
# Which bug is it, and which number proves it? In a healthy model the number is 1 if you count, for
# example, the streams whose predictions in segment 3 depend on a digit of segment 2.


# %% nbgrader={"grade_id": "a-diagnosis", "solution": true}
def diagnosis_a():
    """Return one of the two words."""
    ### BEGIN SOLUTION
    return "memory"
    ### END SOLUTION


def measure_a(look):
    """Return one number, computed with `look(streams)`, that proves it."""
    ### BEGIN SOLUTION
    some = streams(8, segments=3)
    other = some.clone()
    other[:, SEGMENT : 2 * SEGMENT] = (some[:, SEGMENT : 2 * SEGMENT] + 1) % 10
    change = (look(some)["logits"] - look(other)["logits"])[:, 2 * SEGMENT].abs().amax(-1)
    return (change > 1e-6).double().mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "a-named", "grade": true, "points": 1}
assert not (why := misjudged("A", diagnosis_a())), why

# %% nbgrader={"grade_id": "a-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_a, "A")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="a-diagnosis"
# Change the digits of segment 2 only. Do the logits of the first query in segment 3 change?


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "distance"  # then segment 2 would be worse as well


def measure_a(look):
    return look(streams(16))["loss"]  # an untrained model also has a high loss


# %% tags=["wrong-answer"] exercise="a-diagnosis"
def diagnosis_a():
    return "loss"  # a symptom, not a diagnosis


def measure_a(look):  # segment 2 has a memory that was never cut
    some = streams(8, segments=2)
    other = some.clone()
    other[:, :SEGMENT] = (some[:, :SEGMENT] + 1) % 10
    change = (look(some)["logits"] - look(other)["logits"])[:, SEGMENT].abs().amax(-1)
    return (change > 1e-6).double().mean()


# %% [markdown]
# ## 2. Patient B: worse in every segment
#
# *Diagnose · 8 min · medium · book 5.1.4*
#
# This model is at chance level in segment 1, where the memory is empty. With a memory it predicts
# better, but clearly worse than the healthy model, and all later segments are about equal.

# %%
report("B")


# %% [markdown]
# Which bug is it, and which number proves it? In a healthy model the number can be 0, apart from
# rounding.


# %% nbgrader={"grade_id": "b-diagnosis", "solution": true}
def diagnosis_b():
    """Return one of the two words."""
    ### BEGIN SOLUTION
    return "distance"
    ### END SOLUTION


def measure_b(look):
    """Return one number, computed with `look(streams)`, that proves it."""
    ### BEGIN SOLUTION
    some = streams(8, segments=1)
    return (look(some)["logits"] - look(some, size=SEGMENT // 2)["logits"]).abs().mean()
    ### END SOLUTION


# %% nbgrader={"grade_id": "b-named", "grade": true, "points": 1}
assert not (why := misjudged("B", diagnosis_b())), why

# %% nbgrader={"grade_id": "b-proved", "grade": true, "points": 2}
assert not (why := unproven(measure_b, "B")), f"your number proves nothing: {why}"

# %% [markdown] tags=["hint"] exercise="b-diagnosis"
# Eight digits fit into one segment. Process them also as two segments of four digits: the second
# segment then has the first one in its memory, and each query sees the same keys. What must the
# logits be?


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "memory"  # then segments 1 and 2 would be healthy


def measure_b(look):
    return look(streams(16))["loss"]  # an untrained model also has a high loss


# %% tags=["wrong-answer"] exercise="b-diagnosis"
def diagnosis_b():
    return "position"  # not one of the two words


def measure_b(look):  # one segment has no memory that its distances could ignore
    some = streams(8, segments=1)
    other = some.clone()
    other[:, 0] = (some[:, 0] + 1) % 10
    change = (look(some)["logits"] - look(other)["logits"])[:, 5].abs().amax(-1)
    return (change > 1e-6).double().mean()


# %% [markdown]
# ## 3. Theatre: cutting the memory
#
# *Fix · 5 min · easy · book 5.1.4*
#
# From here on you see code with the bug of one of the two models, in another order. After each
# segment the model appends its states to the memory. `states` (B, N, d) are the result, the oldest
# first. The memory keeps at most `length` of them.


# %%
def found_memory(states, length):
    return states[:, :length]


# %% nbgrader={"grade_id": "mend-memory", "solution": true}
def memory(states, length):
    """Return the states (B, at most length, d) that the next segment attends to."""
    ### BEGIN SOLUTION
    return states[:, -length:]
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-memory-check", "grade": true, "points": 3}
states = torch.arange(6.0)[None, :, None].expand(2, 6, 3)
cut = memory(states, 4)
assert cut.shape == (2, 4, 3), f"four states of six remain, (2, 4, 3); yours {tuple(cut.shape)}"
assert cut[0, :, 0].tolist() == [2, 3, 4, 5], (
    f"the newest four states in order are 2, 3, 4, 5; yours are {cut[0, :, 0].tolist()}"
)
fixed = operate("memory", memory)
assert fixed.shares["segment 4"] > ill("memory").shares["segment 4"] + 20, (
    "trained with your function, the model is still inaccurate in segment 4"
)
### BEGIN HIDDEN TESTS
assert torch.equal(memory(states, 8), states), "six states fit into a memory of eight"
assert torch.equal(memory(states, 1), states[:, 5:]), "a memory of one state is off"
many = torch.randn(3, 16, 5, generator=torch.Generator().manual_seed(1))
for length in (2, 8, 15, 16):
    right = many[:, 16 - length :]
    assert torch.equal(memory(many, length), right), f"a memory of {length} states is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-memory"
# The newest states are the last ones. A slice can start at a negative index.


# %% tags=["wrong-answer"] exercise="mend-memory"
def memory(states, length):  # the newest ones, but in reverse order
    return states.flip(1)[:, :length]


# %% tags=["wrong-answer"] exercise="mend-memory"
def memory(states, length):  # without the newest state
    return states[:, -length - 1 : -1]


# %% [markdown]
# ## 4. Theatre: distances with a memory
#
# *Fix · 6 min · medium · book 5.1.4*
#
# A segment has `queries` digits, and the memory holds `memory` states. The keys are the memory's
# states first, then the segment's own. A distance is the number of positions by which a key
# precedes a query. It is negative for keys that come later, which the causal mask hides.


# %%
def found_distances(queries, memory):
    return torch.arange(queries)[:, None] - torch.arange(memory + queries)


# %% nbgrader={"grade_id": "mend-distance", "solution": true}
def distances(queries, memory):
    """Return the distances (queries, memory + queries), as integers."""
    ### BEGIN SOLUTION
    return memory + torch.arange(queries)[:, None] - torch.arange(memory + queries)
    ### END SOLUTION


# %% nbgrader={"grade_id": "mend-distance-check", "grade": true, "points": 3}
far = distances(2, 3)
assert far.dtype == torch.int64, f"distances are integers, yours are {far.dtype}"
assert far.shape == (2, 5), f"two queries and five keys give (2, 5); yours is {tuple(far.shape)}"
assert far[0, 3] == far[1, 4] == 0, (
    f"a query has distance 0 from itself; yours are {int(far[0, 3])} and {int(far[1, 4])}"
)
assert far[0].tolist() == [3, 2, 1, 0, -1], (
    f"the first query's distances are 3, 2, 1, 0, -1; yours are {far[0].tolist()}"
)
fixed = operate("distance", distances)
assert fixed.shares["segment 4"] > ill("distance").shares["segment 4"] + 15, (
    "trained with your function, the model is still inaccurate in segment 4"
)
### BEGIN HIDDEN TESTS
assert distances(3, 0).tolist() == [[0, -1, -2], [1, 0, -1], [2, 1, 0]], "no memory is off"
assert distances(4, 7)[3, 0] == 10, "four queries with seven states in memory are off"
for Q, M in ((1, 8), (8, 8), (5, 2)):
    offset = distances(Q, M)
    for i in range(Q):
        wanted = [M + i - j for j in range(M + Q)]
        assert offset[i].tolist() == wanted, f"{Q} queries and {M} states in memory are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="mend-distance"
# Query i of the segment has index `memory + i` among the keys.


# %% tags=["wrong-answer"] exercise="mend-distance"
def distances(queries, memory):  # one too far
    return memory + 1 + torch.arange(queries)[:, None] - torch.arange(memory + queries)


# %% tags=["wrong-answer"] exercise="mend-distance"
def distances(queries, memory):  # counted from the key to the query, with the wrong sign
    return torch.arange(memory + queries) - memory - torch.arange(queries)[:, None]

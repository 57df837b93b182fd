# %% [markdown]
# # Exercises: multilingual models
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell
# says so; the check under it says what is wrong. A check without a message has passed. Some tests
# are kept for whoever grades, so check your own work beyond what the cell shows. Values in
# capitals may differ in your copy: use the names. Where a question asks for words, a person marks
# them.
#
# <small>The book's sections 4.1 to 4.3 · after
# [gaps in two languages](03_translation_lm.ipynb); exercise 1 needs
# [who gets how many pieces?](02_vocabulary.ipynb), exercise 3
# [two encoders, one place](04_sentence_embeddings.ipynb), exercise 5
# [one space for all languages?](10_embedding_space.ipynb) · no GPU</small>

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

# %%
from deepdive.core.checks import missed, returned

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, rename

# %% [markdown]
# ## 1. Who is read how often?
#
# *Predict, then run · 8 min · easy · book 4.2.1*
#
# Two languages have texts: the large one {{LARGE}} thousand, the small one {{SMALL}} thousand. For
# each text that is read a language is drawn first, with a probability proportional to its size to
# the power $\alpha$, and then one of its texts, each with the same probability. **Before you run
# anything**, on paper:
#
# - `"share"`: the share of the small language among the texts that are read, at $\alpha = 0.5$,
# - `"seen"`: how often each text of the small language is read, on average, when {{DRAWN}} thousand
#   texts are read in all, at $\alpha = 0.5$,
# - `"more"`: `"seen"` divided by what it would be at $\alpha = 1$,
# - `"even"`: the share of the small language at $\alpha = 0$.
#
# The cell checks the first two.

# %% tags=["variant"] exercise="shares"
LARGE = choose(900, 1600, 2500, 3600, 4900)
SMALL = choose(100, 400)
DRAWN = number(1000, 9000, 500)


# %% nbgrader={"grade_id": "shares", "solution": true}
def predicted_shares():
    """Return {"share": p, "seen": n, "more": n, "even": p}."""
    ### BEGIN SOLUTION
    share = SMALL**0.5 / (SMALL**0.5 + LARGE**0.5)
    by_size = SMALL / (SMALL + LARGE)
    return {"share": share, "seen": DRAWN * share / SMALL, "more": share / by_size, "even": 0.5}
    ### END SOLUTION


# %% nbgrader={"grade_id": "shares-check", "grade": true, "points": 3} own="predict"
from deepdive.data.mixture import repeats, shares

said = returned("predicted_shares", predicted_shares())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"share", "seen", "more", "even"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
SIZES = {"large": LARGE, "small": SMALL}
drawn = shares(SIZES, 0.5)["small"]
assert abs(said["share"] - drawn) < 0.002, (
    f"share: {missed(said['share'], drawn, '.3f')}: the square root of {SMALL} over "
    "the sum of both square roots"
)
often = repeats(SIZES, 0.5, DRAWN)["small"]
assert abs(said["seen"] - often) < 0.01 * often, (
    f"seen: {missed(said['seen'], often, '.2f')}: {DRAWN} thousand times the share "
    f"are spread over {SMALL} thousand texts"
)
### BEGIN HIDDEN TESTS
times = often / repeats(SIZES, 1.0, DRAWN)["small"]
assert abs(said["more"] - times) < 0.01 * times, f"more: {times:.2f} times as often as by size"
assert said["even"] == 0.5, "even: at 0 all languages are read alike, whatever their size"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="shares"
# A power of 0.5 is a square root, and both sizes are squares.

# %% [markdown] tags=["hint"] exercise="shares"
# At $\alpha = 1$ every text is read as often as any other.


# %% tags=["wrong-answer"] exercise="shares"
def predicted_shares():  # by size
    share = SMALL / (SMALL + LARGE)
    return {"share": share, "seen": DRAWN * share / SMALL, "more": 1.0, "even": 0.5}


# %% tags=["wrong-answer"] exercise="shares"
def predicted_shares():  # the root of the share, and not of the size
    share = (SMALL / (SMALL + LARGE)) ** 0.5
    by_size = SMALL / (SMALL + LARGE)
    return {"share": share, "seen": DRAWN * share / SMALL, "more": share / by_size, "even": 0.5}


# %% tags=["wrong-answer"] exercise="shares"
def predicted_shares():  # spread over the texts of both
    share = SMALL**0.5 / (SMALL**0.5 + LARGE**0.5)
    seen = DRAWN * share / (SMALL + LARGE)
    return {"share": share, "seen": seen, "more": share * (SMALL + LARGE) / SMALL, "even": 0.5}


# %% tags=["wrong-answer"] exercise="shares"
def predicted_shares():  # at 0 nothing is read of the small one
    share = SMALL**0.5 / (SMALL**0.5 + LARGE**0.5)
    by_size = SMALL / (SMALL + LARGE)
    return {"share": share, "seen": DRAWN * share / SMALL, "more": share / by_size, "even": 0.0}


# %% [markdown]
# ## 2. Look across
#
# *Code · 12 min · medium · Ouyang et al. 2021, section 3.1*
#
# A sentence and its translation stand in one row. `second[t]` says whether token $t$ belongs to
# the second sentence, and `hidden[t]` whether it is a gap; a token that is no gap is a **word**. A
# gap sees the words of the other sentence and the gaps of its own, itself among them. A word sees
# the words of its own sentence, itself among them, and nothing else: no gap sees a word of its own
# sentence, and no word sees a gap. Return a list of lists, `sees[t][s]`: may $t$ look at $s$? With
# two tokens in each sentence, and token 1 a gap:
#
# | $t$ | `second` | `hidden` | `sees[t]` |
# |---|---|---|---|
# | 0 | False | False | True, False, False, False |
# | 1 | False | True | False, True, True, True |
# | 2 | True | False | False, False, True, True |
# | 3 | True | False | False, False, True, True |
#
# The check's sentences have {{FIRST}} and {{SECOND}} tokens.

# %% tags=["variant"] exercise="across"
FIRST = choose(3, 4, 5)
SECOND = choose(3, 4, 5, 6)
rename("across", "looks_across", "who_sees_whom")


# %% nbgrader={"grade_id": "across", "solution": true}
def across(second, hidden):
    """Return sees, T lists of T truth values."""
    ### BEGIN SOLUTION
    sees = []
    for side, gap in zip(second, hidden, strict=True):
        row = []
        for other_side, other_gap in zip(second, hidden, strict=True):
            beside = side == other_side
            row.append(beside == other_gap if gap else beside and not other_gap)
        sees.append(row)
    return sees
    ### END SOLUTION


# %% nbgrader={"grade_id": "across-check", "grade": true, "points": 4}
from deepdive.models.multilingual.ernie_m import cross_lingual_mask


def right_sees(second, hidden):
    tokens = torch.ones(1, len(second), dtype=torch.bool)
    return cross_lingual_mask(torch.tensor([second]), torch.tensor([hidden]), tokens)[0].tolist()


second, last = [False] * FIRST + [True] * SECOND, FIRST + SECOND - 1
for gaps in ({1}, {last}, {1, FIRST}, {0, 1, last}):
    hidden = [t in gaps for t in range(last + 1)]
    answer = [[bool(s) for s in row] for row in returned("across", across(second, hidden))]
    assert [len(row) for row in answer] == [last + 1] * (last + 1), "T lists of T truth values"
    right = right_sees(second, hidden)
    for t in range(last + 1):
        assert answer[t] == right[t], (
            f"gaps at {sorted(gaps)}: token {t}, a {'gap' if hidden[t] else 'word'}, may look at "
            f"{[s for s in range(last + 1) if right[t][s]]}, yours at "
            f"{[s for s in range(last + 1) if answer[t][s]]}"
        )
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(7)
for _ in range(12):
    sides = [False] * 4 + [True] * 5
    hidden = (torch.rand(9, generator=g) < 0.35).tolist()
    hidden[0] = hidden[8] = False
    yours = [[bool(s) for s in row] for row in across(sides, hidden)]
    assert yours == right_sees(sides, hidden), f"four words and five, gaps {hidden}: off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="across"
# Four questions for each pair: is `t` a gap, is `s` a gap, and are they of one sentence?

# %% [markdown] tags=["hint"] exercise="across"
# A word never looks at the other sentence. If it did, a gap would hear of its own neighbors by
# way of the words that it looks at.


# %% tags=["wrong-answer"] exercise="across"
def across(second, hidden):  # words look everywhere
    return [[(a == b) == d if c else not d for b, d in zip(second, hidden, strict=True)]
            for a, c in zip(second, hidden, strict=True)]  # fmt: skip


# %% tags=["wrong-answer"] exercise="across"
def across(second, hidden):  # gaps see their own words too
    return [[not d or a == b if c else a == b and not d
             for b, d in zip(second, hidden, strict=True)]
            for a, c in zip(second, hidden, strict=True)]  # fmt: skip


# %% tags=["wrong-answer"] exercise="across"
def across(second, hidden):  # gaps of both sentences see each other
    return [[d or a != b if c else a == b and not d for b, d in zip(second, hidden, strict=True)]
            for a, c in zip(second, hidden, strict=True)]  # fmt: skip


# %% [markdown]
# ## 3. The right one, by a margin
#
# *Code · 15 min · medium · Feng et al. 2022, section 2*
#
# `u` and `v` are (B, d): row $i$ of `v` is the translation of row $i$ of `u`. With
#
# $$s_{ij} = \text{scale} \, \bigl(\cos(u_i, v_j) - \text{margin} \, [i = j]\bigr)$$
#
# the loss of one direction, where each sentence looks for its translation, is
#
# $$-\frac{1}{B} \sum_i \log \frac{e^{s_{ii}}}{\sum_j e^{s_{ij}}}$$
#
# and that of the other, where each translation looks for its sentence,
#
# $$-\frac{1}{B} \sum_i \log \frac{e^{s_{ii}}}{\sum_j e^{s_{ji}}}$$
#
# Here $[i = j]$ is 1 where $i = j$ and else 0. Return the **sum of both**, one number. The check
# uses the margin {{MARGIN}} and the scale {{SCALE}}.

# %% tags=["variant"] exercise="margin"
MARGIN = choose(0.3, 0.2, 0.25, 0.4)
SCALE = choose(20, 10, 15)
rename("ranking", "ranking_loss", "margin_loss")


# %% nbgrader={"grade_id": "margin", "solution": true}
def ranking(u, v, margin, scale):
    """Return the loss, a tensor with one number."""
    ### BEGIN SOLUTION
    u = u / u.norm(dim=1, keepdim=True)
    v = v / v.norm(dim=1, keepdim=True)
    s = scale * (u @ v.T - margin * torch.eye(len(u), dtype=u.dtype))
    there, back = s.log_softmax(1).diagonal(), s.log_softmax(0).diagonal()
    return -(there.mean() + back.mean())
    ### END SOLUTION


# %% nbgrader={"grade_id": "margin-check", "grade": true, "points": 4}
from deepdive.training.objectives import translation_ranking

g = torch.Generator().manual_seed(3)
u, v = (torch.randn(5, 4, generator=g, dtype=torch.float64) for _ in range(2))
answer = torch.as_tensor(returned("ranking", ranking(u, v, MARGIN, SCALE))).detach()
assert answer.ndim == 0, f"one number for the batch, yours has the shape {tuple(answer.shape)}"
right = float(translation_ranking(u, v, MARGIN, SCALE))
free = float(translation_ranking(u, v, 0.0, SCALE))
assert abs(float(answer) - free) > 1e-6, "the margin makes no difference: is it off for i = j only?"
assert abs(float(ranking(3 * u, v, MARGIN, SCALE)) - float(answer)) < 1e-6, (
    "vectors three times as long have other losses: a cosine does not know lengths"
)
assert abs(float(answer) - right) < 1e-6, (
    f"five pairs: {float(answer):.4f}, should be {right:.4f}; without a margin it is {free:.4f}. "
    "Is the margin taken off, and are both directions added?"
)
### BEGIN HIDDEN TESTS
for margin, scale in ((0.0, 1.0), (0.3, 1.0), (0.1, 50.0)):
    u, v = (torch.randn(7, 3, generator=g, dtype=torch.float64) for _ in range(2))
    mine, theirs = ranking(u, v, margin, scale), translation_ranking(u, v, margin, scale)
    assert abs(float(mine) - float(theirs)) < 1e-6, f"seven pairs, {margin}, {scale}: off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="margin"
# `torch.eye(B)` is 1 where $i = j$ and 0 elsewhere.

# %% [markdown] tags=["hint"] exercise="margin"
# The softmax over rows asks each sentence, that over columns each translation.


# %% tags=["wrong-answer"] exercise="margin"
def ranking(u, v, margin, scale):  # one direction
    u, v = (x / x.norm(dim=1, keepdim=True) for x in (u, v))
    s = scale * (u @ v.T - margin * torch.eye(len(u), dtype=u.dtype))
    return -2 * s.log_softmax(1).diagonal().mean()


# %% tags=["wrong-answer"] exercise="margin"
def ranking(u, v, margin, scale):  # the margin is a present
    u, v = (x / x.norm(dim=1, keepdim=True) for x in (u, v))
    s = scale * (u @ v.T + margin * torch.eye(len(u), dtype=u.dtype))
    return -(s.log_softmax(1).diagonal().mean() + s.log_softmax(0).diagonal().mean())


# %% tags=["wrong-answer"] exercise="margin"
def ranking(u, v, margin, scale):  # taken off everywhere
    u, v = (x / x.norm(dim=1, keepdim=True) for x in (u, v))
    s = scale * (u @ v.T - margin)
    return -(s.log_softmax(1).diagonal().mean() + s.log_softmax(0).diagonal().mean())


# %% tags=["wrong-answer"] exercise="margin"
def ranking(u, v, margin, scale):  # products, not cosines
    s = scale * (u @ v.T - margin * torch.eye(len(u), dtype=u.dtype))
    return -(s.log_softmax(1).diagonal().mean() + s.log_softmax(0).diagonal().mean())


# %% [markdown]
# ## 4. Two sentences in one row
#
# *Find and fix a planted bug · 12 min · medium · Conneau and Lample 2019, section 3.4*
#
# For the translation lesson a sentence and its translation are joined: tokens of the first, tokens
# of the second, padding up to `length`. Places count from 0 in **each** sentence, and are 0 in the
# padding. The third list has the language of each token: 0 for the first sentence, 1 for the second
# and for the padding. This function runs, and what it returns is wrong in at least one of the three
# trials. See where it differs from what is wanted, then write it without the bug in `mended_pair`.

# %% tags=["variant"] exercise="pair"
PAD = choose(9, 0, 99, 50)
rename("mended_pair", "sound_pair", "joined_pair")


# %% tags=["bug"] exercise="pair" bug="places run on in the second sentence" caught="single:"
def broken_pair(first, second, length, pad):
    """Return (tokens, places, languages), three lists of `length` numbers."""
    more = length - len(first) - len(second)
    tokens = [*first, *second] + [pad] * more
    places = [*range(len(first) + len(second))] + [0] * more
    return tokens, places, [0] * len(first) + [1] * (len(second) + more)


# %% tags=["bug"] exercise="pair" bug="places of the second run backwards" caught="uneven:"
def broken_pair(first, second, length, pad):
    """Return (tokens, places, languages), three lists of `length` numbers."""
    more = length - len(first) - len(second)
    tokens = [*first, *second] + [pad] * more
    places = [*range(len(first)), *range(len(second))[::-1]] + [0] * more
    return tokens, places, [0] * len(first) + [1] * (len(second) + more)


# %% tags=["bug"] exercise="pair" bug="padding stands between the sentences" caught="padded:"
def broken_pair(first, second, length, pad):
    """Return (tokens, places, languages), three lists of `length` numbers."""
    more = length - len(first) - len(second)
    tokens = [*first] + [pad] * more + [*second]
    places = [*range(len(first))] + [0] * more + [*range(len(second))]
    return tokens, places, [0] * len(first) + [1] * (len(second) + more)


# %% tags=["bug"] exercise="pair" bug="padding has the first language" caught="padded:"
def broken_pair(first, second, length, pad):
    """Return (tokens, places, languages), three lists of `length` numbers."""
    more = length - len(first) - len(second)
    tokens = [*first, *second] + [pad] * more
    places = [*range(len(first)), *range(len(second))] + [0] * more
    return tokens, places, [0] * len(first) + [1] * len(second) + [0] * more


# %% tags=["bug"] exercise="pair" bug="the second is cut to the first's length" caught="uneven:"
def broken_pair(first, second, length, pad):
    """Return (tokens, places, languages), three lists of `length` numbers."""
    second = second[: len(first)]
    more = length - len(first) - len(second)
    tokens = [*first, *second] + [pad] * more
    places = [*range(len(first)), *range(len(second))] + [0] * more
    return tokens, places, [0] * len(first) + [1] * (len(second) + more)


# %%
from deepdive_book.kit.tables import table

TRIALS = {
    "single": (([5], [6], 2), ([5, 6], [0, 0], [0, 1])),
    "uneven": (([5, 7], [6, 8, 4], 5), ([5, 7, 6, 8, 4], [0, 1, 0, 1, 2], [0, 0, 1, 1, 1])),
    "padded": (([5, 7], [6], 5), ([5, 7, 6, PAD, PAD], [0, 1, 0, 0, 0], [0, 0, 1, 1, 1])),
}
LISTS = ("tokens", "places", "languages")
table(
    [
        [f"{name}, {what}", str(right), str(came)]
        for name, (given, wanted) in TRIALS.items()
        for what, right, came in zip(LISTS, wanted, broken_pair(*given, PAD), strict=True)
    ],
    ["trial", "wanted", "given"],
)


# %% nbgrader={"grade_id": "pair", "solution": true}
def mended_pair(first, second, length, pad):
    """Return (tokens, places, languages), three lists of `length` numbers."""
    ### BEGIN SOLUTION
    rows = [(token, t, 0) for t, token in enumerate(first)]
    rows += [(token, t, 1) for t, token in enumerate(second)]
    rows += [(pad, 0, 1)] * (length - len(rows))
    tokens, places, languages = zip(*rows, strict=True)
    return list(tokens), list(places), list(languages)
    ### END SOLUTION


# %% nbgrader={"grade_id": "pair-check", "grade": true, "points": 3}
for name, (given, wanted) in TRIALS.items():
    found = returned("mended_pair", mended_pair(*given, PAD))
    assert isinstance(found, tuple | list), f"{name}: return three lists"
    assert len(found) == 3, f"{name}: return three lists; {len(found)} came"
    for what, mine, right in zip(LISTS, found, wanted, strict=True):
        assert list(mine) == right, f"{name}: {what} {list(mine)}, should be {right}"
### BEGIN HIDDEN TESTS
from deepdive.training.objectives import join_translations

g = torch.Generator().manual_seed(5)
for _ in range(10):
    a, b = (torch.randint(10, 40, (int(n),), generator=g).tolist()
            for n in torch.randint(1, 7, (2,), generator=g))  # fmt: skip
    both = join_translations([a, a * 6], [b, b * 6], (0, 1), PAD)
    right = tuple(x[0].tolist() for x in (both.tokens, both.positions, both.languages))
    mine = tuple(map(list, mended_pair(a, b, 6 * (len(a) + len(b)), PAD)))
    assert mine == right, f"{a} with {b}, padded to {6 * (len(a) + len(b))}: off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="pair"
# Which of the three lists is off, and in which trial first?

# %% [markdown] tags=["hint"] exercise="pair"
# The first word of either sentence is at place 0.


# %% tags=["wrong-answer"] exercise="pair"
mended_pair = broken_pair  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="pair"
def mended_pair(first, second, length, pad):  # places count on through the padding
    more = length - len(first) - len(second)
    places = [*range(len(first)), *range(len(second) + more)]
    languages = [0] * len(first) + [1] * (len(second) + more)
    return [*first, *second] + [pad] * more, places, languages


# %% tags=["wrong-answer"] exercise="pair"
def mended_pair(first, second, length, pad):  # padding is a third language
    more = length - len(first) - len(second)
    places = [*range(len(first)), *range(len(second))] + [0] * more
    languages = [0] * len(first) + [1] * len(second) + [2] * more
    return [*first, *second] + [pad] * more, places, languages


# %% [markdown]
# ## 5. Two clouds
#
# *Measure and explain · 20 min · hard · book 4.3.2*
#
# `one, other = two_spaces(SEED)` are vectors (200, 8) of 200 sentences and of their translations.
# For a row of `one`, take the row of `other` with the highest cosine: its translation is **found**
# if that row has the same number. **Measure**, for seed {{SEED}}, which share of the 200 is found
#
# - `"as they are"`,
# - `"means off"`: with $x$ and $y$ in place of `one` and `other`, each less its own mean over all
#   its 200 rows,
# - `"turned"`: with $x \, U V^\top$ and $y$. Here $X$ and $Y$ are the **first {{KNOWN}}** rows of
#   $x$ and $y$, the pairs that are known, and $U S V^\top$ is the singular value decomposition of
#   $X^\top Y$. Then $U V^\top$ is the orthogonal matrix that brings $X$ nearest to $Y$. The share
#   is again of all 200.


# %%
def two_spaces(seed, count=200, width=8):
    """Vectors of so many sentences in two languages: the second are those of the first, partly
    turned, moved away, and blurred; generated."""  # fmt: skip
    g = torch.Generator().manual_seed(seed)
    one = torch.randn(count, width, generator=g, dtype=torch.float64)
    turn = torch.linalg.qr(torch.randn(width, width, generator=g, dtype=torch.float64)).Q
    turn = 0.5 * torch.eye(width, dtype=torch.float64) + 0.5 * turn
    blur = 0.25 * torch.randn(count, width, generator=g, dtype=torch.float64)
    away = 1.5 * torch.randn(width, generator=g, dtype=torch.float64)
    return one + 2, one @ turn + blur + away


# %% tags=["variant"] exercise="clouds"
SEED = number(1, 500)
KNOWN = choose(20, 30, 40)


# %% nbgrader={"grade_id": "clouds", "solution": true}
def measured_clouds():
    """Return {"as they are": share, "means off": share, "turned": share}."""
    ### BEGIN SOLUTION
    one, other = two_spaces(SEED)

    def found(a, b):
        a, b = (x / x.norm(dim=1, keepdim=True) for x in (a, b))
        return float(((a @ b.T).argmax(1) == torch.arange(len(a))).double().mean())

    x, y = one - one.mean(0), other - other.mean(0)
    u, _, vt = torch.linalg.svd(x[:KNOWN].T @ y[:KNOWN])
    return {
        "as they are": found(one, other),
        "means off": found(x, y),
        "turned": found(x @ (u @ vt), y),
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "clouds-check", "grade": true, "points": 3} own="measure"
from deepdive_book.ch04.runs.cross_lingual_transfer import nearest_is_partner as found_in

shares_found = returned("measured_clouds", measured_clouds())
assert isinstance(shares_found, dict), "return a dictionary: `return {...}`"
wanted = {"as they are", "means off", "turned"}
assert set(shares_found) == wanted, f"the names are {sorted(wanted)}, yours {sorted(shares_found)}"
assert all(0 <= share <= 1 for share in shares_found.values()), f"shares: {shares_found}"
english, greek = two_spaces(SEED)
right = {
    name: float(found_in(english, greek, centered)[0].double().mean())
    for name, centered in (("as they are", False), ("means off", True))
}
assert abs(shares_found["as they are"] - right["as they are"]) < 1e-9, (
    f"as they are: {shares_found['as they are']:.3f} is not what the seed gives: by the cosine, "
    "from `one` to `other`"
)
assert abs(shares_found["means off"] - right["means off"]) < 1e-9, (
    f"means off: {shares_found['means off']:.3f} is not what the seed gives: each language loses "
    "its own mean"
)
### BEGIN HIDDEN TESTS
x, y = english - english.mean(0), greek - greek.mean(0)
left, _, far = torch.linalg.svd(x[:KNOWN].T @ y[:KNOWN])
turned = float(found_in(x @ (left @ far), y, False)[0].double().mean())
assert abs(shares_found["turned"] - turned) < 1e-9, (
    f"turned: seed {SEED}, {KNOWN} known pairs, gives {turned:.3f}"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="clouds"
# Divide each row by its length; then `a @ b.T` has all cosines, and `argmax(1)` the nearest.

# %% [markdown] tags=["hint"] exercise="clouds"
# `torch.linalg.svd(m)` returns `U`, `S` and `Vh`, which is $V^\top$ already.


# %% tags=["wrong-answer"] exercise="clouds"
def measured_clouds():  # one mean for both
    one, other = two_spaces(SEED)
    middle = torch.cat([one, other]).mean(0)
    x, y = one - middle, other - middle
    u, _, vt = torch.linalg.svd(x[:KNOWN].T @ y[:KNOWN])
    pairs = {"as they are": (one, other), "means off": (x, y), "turned": (x @ u @ vt, y)}
    return {name: float(found_in(a, b, False)[0].double().mean()) for name, (a, b) in pairs.items()}


# %% tags=["wrong-answer"] exercise="clouds"
def measured_clouds():  # by the product, which likes long vectors
    one, other = two_spaces(SEED)
    x, y = one - one.mean(0), other - other.mean(0)
    u, _, vt = torch.linalg.svd(x[:KNOWN].T @ y[:KNOWN])
    pairs = {"as they are": (one, other), "means off": (x, y), "turned": (x @ u @ vt, y)}
    here = torch.arange(len(one))
    return {name: float(((a @ b.T).argmax(1) == here).double().mean())
            for name, (a, b) in pairs.items()}  # fmt: skip


# %% tags=["wrong-answer"] exercise="clouds"
def measured_clouds():  # the map is turned the wrong way
    one, other = two_spaces(SEED)
    x, y = one - one.mean(0), other - other.mean(0)
    u, _, vt = torch.linalg.svd(x[:KNOWN].T @ y[:KNOWN])
    pairs = {"as they are": (one, other), "means off": (x, y), "turned": (x @ (u @ vt).T, y)}
    return {name: float(found_in(a, b, False)[0].double().mean()) for name, (a, b) in pairs.items()}


# %% [markdown]
# **Explain** in six or seven sentences, with your numbers: what does taking the means off need,
# and what does the turning need beyond it? Why does the share of all 200 sentences flatter the
# turning, and which share would you report? Somebody finds that "means off" changes nothing for a
# pair of languages. Name two possible reasons.

# %% [markdown] nbgrader={"grade_id": "clouds-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# Taking the means off needs sentences of each language and no pair; the share rose from "as they
# are" to "means off". The turning needs pairs, the known ones, and brought it up once more. Those
# known pairs stand among the 200 that are counted, and the map was chosen for them, so the share
# is too high: I would report that of the others alone. Taking the means off may change nothing
# because the two clouds lie in one place already, or because something else keeps translations
# apart: one cloud is turned so far, or blurred so much, that its sentences are not found in either
# way. Or all were found before.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="clouds-why"
# - **3 points**: gives its three numbers, says that means need no pairs and the map does, that the
#   known pairs are among those that are counted and would count the others alone, and two reasons
#   of these: one mean already, another turn or shape, all found before.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: has no number that was measured, or says that taking the means off needs pairs.

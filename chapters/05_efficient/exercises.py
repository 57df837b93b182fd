# %% [markdown]
# # Exercises: efficient attention
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 5.1, 5.2, and tables 1.1 to 1.3 · after [the cost](01_cost.ipynb), [sparse by
# position](02_sparse_by_position.ipynb), [sparse by content](03_sparse_by_content.ipynb), [low rank
# and features](04_low_rank_and_features.ipynb), and [positions](08_relative_positions.ipynb);
# exercises 6, 7, 9, and 10 need [block order](14_block_order.ipynb), [norms and
# all-attention](15_norms_and_all_attention.ipynb), [hierarchical
# encoders](20_hierarchical_documents.ipynb), and [adaptive
# computation](17_adaptive_computation.ipynb) · no data, no GPU</small>

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
from deepdive_book.course.assignment.variants import choose, number, rename, sample

# %% [markdown]
# ## 1. A window, counted
#
# *Predict, then run · 8 min · easy · book 5.2.2*
#
# {{ROWS}} tokens. Each query sees {{SIDE}} tokens to its left, itself, and {{SIDE}} to its right,
# as far as they are there. **Before you run anything**, on paper:
#
# - `"window"`: how many of the entries of the score matrix exist,
# - `"reach"`: after {{LAYERS}} layers of it, how many tokens can have had a part in the output of a
#   token in the middle of a very long text, itself included,
# - `"dilated"`: the same if the window's steps are 2: it sees every second token,
#   {{SIDE}} on each side,
# - `"global"`: how many entries exist if the first token also sees all and is seen by all?
#
# ([Sparse attention by position](02_sparse_by_position.ipynb).) The cell checks the first two.

# %% tags=["variant"] exercise="counted"
ROWS = number(20, 60, 2)
SIDE = number(2, 4)
LAYERS = number(3, 5)


# %% nbgrader={"grade_id": "counted", "solution": true}
def predicted_entries():
    """Return {"window": n, "reach": n, "dilated": n, "global": n}."""
    ### BEGIN SOLUTION
    window = ROWS * (2 * SIDE + 1) - SIDE * (SIDE + 1)
    return {
        "window": window,
        "reach": 2 * SIDE * LAYERS + 1,
        "dilated": 2 * SIDE * LAYERS + 1,
        "global": window + 2 * (ROWS - 1 - SIDE),
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "counted-check", "grade": true, "points": 4} own="predict"
from deepdive.core.masks import Global, Window

said = returned("predicted_entries", predicted_entries())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"window", "reach", "dilated", "global"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"


def met(mask, layers, rows=201):
    """How many tokens reach the middle one through so many layers."""
    step, reached = mask.dense(rows)[0, 0].float(), torch.eye(rows)
    for _ in range(layers):
        reached = (reached @ step > 0).float()
    return int(reached[rows // 2].sum())


band = Window(SIDE, SIDE)
entries = int(band.dense(ROWS).sum())
assert said["window"] == entries, (
    f"window: {missed(said['window'], entries)}. A row in the middle has "
    f"{2 * SIDE + 1}; what do the first and the last rows lack?"
)
assert said["reach"] == met(band, LAYERS), (
    f"reach: {missed(said['reach'], met(band, LAYERS))}: with each layer "
    f"the view grows by {SIDE} on each side"
)
### BEGIN HIDDEN TESTS
assert said["dilated"] == met(Window(SIDE, SIDE, 2), LAYERS), (
    "dilated: it reaches twice as far, but which of the tokens on the way does it pass over?"
)
assert said["global"] == int((band | Global((0,))).dense(ROWS).sum()), (
    "global: a row and a column are new, less what the window has of them already"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="counted"
# The first row lacks {{SIDE}} entries on its left, the next one fewer, and so on; the last rows
# lack as many on their right.

# %% [markdown] tags=["hint"] exercise="counted"
# With steps of 2 only tokens at an even distance are ever met, in whatever layer.


# %% tags=["wrong-answer"] exercise="counted"
def predicted_entries():  # forgets both ends
    window = ROWS * (2 * SIDE + 1)
    reach = 2 * SIDE * LAYERS + 1
    return {"window": window, "reach": reach, "dilated": reach, "global": window + 2 * ROWS}


# %% tags=["wrong-answer"] exercise="counted"
def predicted_entries():  # the reach of one layer, to the power
    window = ROWS * (2 * SIDE + 1) - SIDE * (SIDE + 1)
    reach = (2 * SIDE + 1) ** LAYERS
    return {"window": window, "reach": reach, "dilated": reach, "global": window}


# %% tags=["wrong-answer"] exercise="counted"
def predicted_entries():  # right, but a dilated window fills its gaps
    window = ROWS * (2 * SIDE + 1) - SIDE * (SIDE + 1)
    reach = 2 * SIDE * LAYERS + 1
    more = 2 * (ROWS - 1 - SIDE)
    return {"window": window, "reach": reach, "dilated": 2 * reach - 1, "global": window + more}


# %% [markdown]
# ## 2. From which length on?
#
# *Derive, then code · 8 min · medium · book 5.2.1*
#
# One head of width $d$ meets $n$ tokens. A product of an $(a, b)$ and a $(b, c)$ matrix costs
# $2abc$ operations; nothing else counts. Full attention makes two products: the scores, and the
# mix. Linformer first shortens keys and values, each from $n$ to $k$ rows, by a product with a
# $(k, n)$ matrix; then it makes the same two products with what is left. Write the operations of
# both, and the smallest $n$ at which Linformer is **strictly** cheaper. ([Low rank and
# features](04_low_rank_and_features.ipynb).)

# %% tags=["variant"] exercise="crossing"
rename("cheaper_from", "operations_of", "first_length")
KEPT = choose(32, 48, 64, 96)


# %% nbgrader={"grade_id": "crossing", "solution": true}
def cheaper_from(k, d):
    """Return (full, linformer, n): operations as functions of n, and the first cheaper n."""

    ### BEGIN SOLUTION
    def full(n):
        return 4 * n * n * d

    def linformer(n):
        return 8 * n * k * d

    return full, linformer, 2 * k + 1
    ### END SOLUTION


# %% nbgrader={"grade_id": "crossing-check", "grade": true, "points": 3}
from deepdive_book.kit.flops import count_flops


def counted(n, k, d):
    """The same, counted while products run."""
    q, keys, values = torch.ones(3, n, d).unbind()
    e, f = torch.ones(2, k, n).unbind()
    whole = count_flops(lambda: (q @ keys.T) @ values)
    return whole, count_flops(lambda: (q @ (e @ keys).T) @ (f @ values))


answer = returned("cheaper_from", cheaper_from(KEPT, 16))
assert isinstance(answer, tuple), "return full, linformer, n"
assert len(answer) == 3, "return three: full, linformer, n"
full, linformer, first = answer
for n in (40, 100):
    whole, short = counted(n, KEPT, 16)
    assert full(n) == whole, (
        f"full attention at n = {n}, d = 16: yours {full(n):,}, counted {whole:,}. Two products: "
        "(n, d) with (d, n), and (n, n) with (n, d)"
    )
    assert linformer(n) == short, (
        f"Linformer at n = {n}, k = {KEPT}, d = 16: yours {linformer(n):,}, counted {short:,}. "
        "Four products: keys and values are shortened too"
    )
assert linformer(first) < full(first), f"at n = {first} Linformer is not cheaper yet"
assert linformer(first - 1) >= full(first - 1), f"at n = {first - 1} it is cheaper already"
### BEGIN HIDDEN TESTS
for k, d in ((5, 7), (128, 64)):
    full, linformer, first = cheaper_from(k, d)
    assert (full(50), linformer(50)) == counted(50, k, d), f"k = {k}, d = {d} is off"
    assert first == 2 * k + 1, f"k = {k}, d = {d}: the first cheaper n is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="crossing"
# The scores are $(n, d) \cdot (d, n)$, the mix $(n, n) \cdot (n, d)$: each $2 n^2 d$. Shortening
# the keys is $(k, n) \cdot (n, d)$.

# %% [markdown] tags=["hint"] exercise="crossing"
# Set both counts equal and divide by what they share. Equal is not yet cheaper.


# %% tags=["wrong-answer"] exercise="crossing"
def cheaper_from(k, d):  # shortening is free
    return lambda n: 4 * n * n * d, lambda n: 4 * n * k * d, k + 1


# %% tags=["wrong-answer"] exercise="crossing"
def cheaper_from(k, d):  # equal counts as cheaper
    return lambda n: 4 * n * n * d, lambda n: 8 * n * k * d, 2 * k


# %% tags=["wrong-answer"] exercise="crossing"
def cheaper_from(k, d):  # the mix is forgotten
    return lambda n: 2 * n * n * d, lambda n: 6 * n * k * d, 3 * k + 1


# %% [markdown]
# ## 3. One more tile
#
# *Code · 12 min · medium · book 5.2.1.2*
#
# A query has met some of its keys. What it keeps is small: `peak`, the largest score so far;
# `total`, the sum of $e^{s - \mathrm{peak}}$ over the scores $s$; and `mixed`, the sum of
# $e^{s - \mathrm{peak}}$ times the value. Now the next tile comes: some scores, and their values.
# Return the three for all keys together, such that no exponent is ever above 0. At the end
# `mixed / total` is the attention's output. ([The cost](01_cost.ipynb).)

# %% tags=["variant"] exercise="tile"
TILE = number(3, 6)
rename("one_more_tile", "next_tile", "merge_tile")


# %% nbgrader={"grade_id": "tile", "solution": true}
def one_more_tile(peak, total, mixed, scores, values):
    """Return the new (peak, total, mixed).

    peak (T, 1), total (T, 1), mixed (T, d); scores (T, tile), values (tile, d).
    """
    ### BEGIN SOLUTION
    higher = torch.maximum(peak, scores.amax(1, keepdim=True))
    old, new = (peak - higher).exp(), (scores - higher).exp()
    return higher, old * total + new.sum(1, keepdim=True), old * mixed + new @ values
    ### END SOLUTION


# %% nbgrader={"grade_id": "tile-check", "grade": true, "points": 3}
def nothing_yet(rows, d):
    """What a query keeps before its first tile."""
    return torch.full((rows, 1), float("-inf")), torch.zeros(rows, 1), torch.zeros(rows, d)


def in_tiles(scores, values, tile):
    """Attention's output, one tile of keys after the other."""
    kept = nothing_yet(len(scores), values.shape[1])
    for i in range(0, len(values), tile):
        kept = one_more_tile(*kept, scores[:, i : i + tile], values[i : i + tile])
    return kept[2] / kept[1]


g = torch.Generator().manual_seed(0)
scores, values = torch.randn(4, 3 * TILE, generator=g), torch.randn(3 * TILE, 5, generator=g)
kept = returned("one_more_tile", one_more_tile(*nothing_yet(4, 5), scores[:, :TILE], values[:TILE]))
assert isinstance(kept, tuple), "return peak, total, mixed"
assert len(kept) == 3, "return three: peak, total, mixed"
assert [tuple(part.shape) for part in kept] == [(4, 1), (4, 1), (4, 5)], (
    f"the shapes are (T, 1), (T, 1), (T, d); yours {[tuple(part.shape) for part in kept]}"
)
one = scores[:, :TILE].softmax(1) @ values[:TILE]
assert torch.allclose(kept[2] / kept[1], one, atol=1e-5), (
    "one tile alone: mixed / total is its softmax times the values, and yours is not"
)
whole = scores.softmax(1) @ values
assert torch.allclose(in_tiles(scores, values, TILE), whole, atol=1e-5), (
    "three tiles: what was summed up relative to the old peak must be brought to the new one"
)
large = in_tiles(100 * scores, values, TILE)
assert large.isfinite().all(), "scores of a few hundred overflow: subtract the peak before exp"
### BEGIN HIDDEN TESTS
rising = torch.arange(12.0).repeat(2, 1) * 30
out = in_tiles(rising, values[:12] if len(values) >= 12 else values.repeat(2, 1)[:12], 3)
right = rising.softmax(1) @ (values[:12] if len(values) >= 12 else values.repeat(2, 1)[:12])
assert torch.allclose(out, right, atol=1e-5), "scores that rise from tile to tile are off"
assert torch.allclose(in_tiles(rising.flip(1), torch.eye(12), 5), rising.flip(1).softmax(1)), (
    "scores that fall from tile to tile, with a last tile that is smaller, are off"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="tile"
# The new peak is the larger one of the old peak and the tile's own: `torch.maximum`, and
# `amax(1, keepdim=True)`.

# %% [markdown] tags=["hint"] exercise="tile"
# $e^{s - \mathrm{new}} = e^{s - \mathrm{old}} \, e^{\mathrm{old} - \mathrm{new}}$: one factor fixes
# both sums.


# %% tags=["wrong-answer"] exercise="tile"
def one_more_tile(peak, total, mixed, scores, values):  # the old sums stay as they are
    higher = torch.maximum(peak, scores.amax(1, keepdim=True))
    new = (scores - higher).exp()
    return higher, total + new.sum(1, keepdim=True), mixed + new @ values


# %% tags=["wrong-answer"] exercise="tile"
def one_more_tile(peak, total, mixed, scores, values):  # no peak at all
    new = scores.exp()
    return peak, total + new.sum(1, keepdim=True), mixed + new @ values


# %% tags=["wrong-answer"] exercise="tile"
def one_more_tile(peak, total, mixed, scores, values):  # mends the total only
    higher = torch.maximum(peak, scores.amax(1, keepdim=True))
    old, new = (peak - higher).exp(), (scores - higher).exp()
    return higher, old * total + new.sum(1, keepdim=True), mixed + new @ values


# %% tags=["wrong-answer"] exercise="tile"
def one_more_tile(peak, total, mixed, scores, values):  # the mean of softmaxes
    part = scores.softmax(1) @ values
    return scores.amax(1, keepdim=True), total + 1, mixed + part


# %% [markdown]
# ## 4. Into the same bucket
#
# *Code · 10 min · medium · book 5.2.2.2*
#
# Reformer looks for keys that point where the query points. A table of directions (d, b/2), drawn
# once for a round, gives each row $x R$; the bucket of $x$ is the place of the largest entry of
# $[x R; -x R]$, a number from 0 to $b - 1$. With several rounds a query meets the keys that share
# its bucket in **at least one** of them. Write both functions. ([Sparse by
# content](03_sparse_by_content.ipynb).)

# %% tags=["variant"] exercise="bucket"
ROUNDS = number(2, 4)
rename("bucket_of", "bucket_numbers", "hashes")
rename("candidates", "who_meets", "shared")


# %% nbgrader={"grade_id": "bucket", "solution": true}
def bucket_of(x, directions):
    """Return the bucket numbers (rounds, T) of x (T, d); directions (rounds, d, b / 2)."""
    ### BEGIN SOLUTION
    turned = x @ directions  # (rounds, T, b / 2)
    return torch.cat([turned, -turned], -1).argmax(-1)
    ### END SOLUTION


def candidates(of_queries, of_keys):
    """Return bool (T, S), True = they meet, for bucket numbers (rounds, T) and (rounds, S)."""
    ### BEGIN SOLUTION
    return (of_queries[:, :, None] == of_keys[:, None, :]).any(0)
    ### END SOLUTION


# %% nbgrader={"grade_id": "bucket-check", "grade": true, "points": 3}
plain = torch.eye(2)[None]  # one round, b = 4: right, up, left, down
points = torch.tensor([[3.0, 1.0], [0.2, 0.9], [-2.0, 0.5], [0.1, -4.0]])
found = returned("bucket_of", bucket_of(points, plain))
assert tuple(found.shape) == (1, 4), f"(rounds, T) is (1, 4) here; yours {tuple(found.shape)}"
assert found[0, :2].tolist() == [0, 1], (
    f"(3, 1) points right, bucket 0; (0.2, 0.9) up, bucket 1; yours {found[0, :2].tolist()}"
)
assert found[0, 2:].tolist() == [2, 3], (
    f"(-2, 0.5) points left, bucket 2; (0.1, -4) down, bucket 3; yours {found[0, 2:].tolist()}: "
    "the second half of the buckets are the opposite directions"
)
assert torch.equal(bucket_of(5 * points, plain), found), "the length of a row must not matter"
meet = returned("candidates", candidates(torch.tensor([[0, 1], [2, 2]]),
                                         torch.tensor([[0, 3, 0], [1, 3, 2]])))  # fmt: skip
assert meet.tolist() == [[True, False, True], [False, False, True]], (
    f"query 1 and key 2 share a bucket in the second round only, and meet; query 1 and key 1 never "
    f"do. Yours: {meet.tolist()}"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(4)
x, directions = torch.randn(9, 6, generator=g), torch.randn(ROUNDS, 6, 4, generator=g)
found = bucket_of(x, directions)
for r in range(ROUNDS):
    for t in range(9):
        both = [float(x[t] @ directions[r][:, i]) for i in range(4)]
        both += [-value for value in both]
        assert int(found[r, t]) == both.index(max(both)), "random directions are off"
meet = candidates(found, found)
for t in range(9):
    for s in range(9):
        shared_once = any(int(found[r, t]) == int(found[r, s]) for r in range(ROUNDS))
        assert bool(meet[t, s]) == shared_once, "several rounds are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="bucket"
# `x @ directions` does all rounds at once, (rounds, T, b / 2). Put it and its negative side by
# side with `torch.cat`, then `argmax`.

# %% [markdown] tags=["hint"] exercise="bucket"
# Compare `(rounds, T, 1)` with `(rounds, 1, S)`, then ask `.any(0)`.


# %% tags=["wrong-answer"] exercise="bucket"
def bucket_of(x, directions):  # the opposite directions are forgotten
    return (x @ directions).argmax(-1)


def candidates(of_queries, of_keys):
    return (of_queries[:, :, None] == of_keys[:, None, :]).any(0)


# %% tags=["wrong-answer"] exercise="bucket"
def bucket_of(x, directions):
    turned = x @ directions
    return torch.cat([turned, -turned], -1).argmax(-1)


def candidates(of_queries, of_keys):  # in every round
    return (of_queries[:, :, None] == of_keys[:, None, :]).all(0)


# %% tags=["wrong-answer"] exercise="bucket"
def bucket_of(x, directions):  # the strongest, whichever its sign
    return (x @ directions).abs().argmax(-1)


def candidates(of_queries, of_keys):
    return (of_queries[:, :, None] == of_keys[:, None, :]).any(0)


# %% tags=["wrong-answer"] exercise="bucket"
def bucket_of(x, directions):
    turned = x @ directions
    return torch.cat([turned, -turned], -1).argmax(-1)


def candidates(of_queries, of_keys):  # the first round only
    return of_queries[0][:, None] == of_keys[0][None, :]


# %% [markdown]
# ## 5. Turn by place
#
# *Code · 10 min · medium · book table 1.3*
#
# Rotary positions turn each pair of neighboring numbers of a query or key, (0, 1), (2, 3), and so
# on, in its plane: pair $i$ of a row of width $d$ at place $p$ by the angle
# $p \cdot \mathrm{base}^{-2i/d}$, counter-clockwise: $(a, b)$ becomes
# $(a \cos - b \sin,\; a \sin + b \cos)$. Then the product of a query and a key depends on their
# distance alone. Here the base is {{BASE}}. ([Positions](08_relative_positions.ipynb).)

# %% tags=["variant"] exercise="turn"
BASE = choose(10_000, 1_000, 500, 100)
rename("turn_by_place", "rotated", "turned_rows")


# %% nbgrader={"grade_id": "turn", "solution": true}
def turn_by_place(rows, places):
    """Return rows (T, d) turned by their places (T,); d is even."""
    ### BEGIN SOLUTION
    d = rows.shape[1]
    speed = BASE ** -(torch.arange(0, d, 2, dtype=rows.dtype) / d)  # (d / 2,)
    angle = places[:, None].to(rows.dtype) * speed
    a, b = rows[:, 0::2], rows[:, 1::2]
    pairs = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos())
    return torch.stack(pairs, -1).flatten(1)
    ### END SOLUTION


# %% nbgrader={"grade_id": "turn-check", "grade": true, "points": 3}
import math

g = torch.Generator().manual_seed(6)
rows = torch.randn(5, 8, generator=g, dtype=torch.float64)
same = returned("turn_by_place", turn_by_place(rows, torch.zeros(5)))
assert same.shape == rows.shape, f"rows stay (5, 8); yours {tuple(same.shape)}"
assert torch.allclose(same, rows), "at place 0 nothing turns"
one = turn_by_place(torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64), torch.tensor([1]))
expected = [math.cos(1), math.sin(1), 0.0, 0.0]
assert torch.allclose(one[0], torch.tensor(expected, dtype=torch.float64)), (
    f"(1, 0, 0, 0) at place 1: its first pair turns by one radian, to {expected[:2]}; yours "
    f"{[round(v, 4) for v in one[0].tolist()]}"
)
second = turn_by_place(torch.tensor([[0.0, 0.0, 1.0, 0.0]], dtype=torch.float64), torch.tensor([1]))
slow = BASE**-0.5
expected = torch.tensor([0.0, 0.0, math.cos(slow), math.sin(slow)], dtype=torch.float64)
assert torch.allclose(second[0], expected), (
    f"(0, 0, 1, 0) at place 1, d = 4: the second pair turns by base^(-2/4) = {slow:g}; yours "
    f"{[round(v, 6) for v in second[0, 2:].tolist()]}"
)
### BEGIN HIDDEN TESTS
q, k = rows[:1], rows[1:2]
near = turn_by_place(q, torch.tensor([3])) @ turn_by_place(k, torch.tensor([1])).T
far = turn_by_place(q, torch.tensor([903])) @ turn_by_place(k, torch.tensor([901])).T
assert torch.allclose(near, far), "the same distance, further on: the product must be the same"
assert torch.allclose(turn_by_place(rows, torch.arange(5)).norm(dim=1), rows.norm(dim=1)), (
    "turning keeps the length of a row"
)
for t, p in ((2, 7), (4, 31)):
    out = turn_by_place(rows[t : t + 1], torch.tensor([p]))[0]
    for i in range(4):
        w, (a, b) = p * BASE ** (-2 * i / 8), rows[t, 2 * i : 2 * i + 2].tolist()
        assert abs(out[2 * i] - (a * math.cos(w) - b * math.sin(w))) < 1e-9, f"pair {i} is off"
        assert abs(out[2 * i + 1] - (a * math.sin(w) + b * math.cos(w))) < 1e-9, f"pair {i} is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="turn"
# `rows[:, 0::2]` are the first numbers of all pairs, `rows[:, 1::2]` the second ones.

# %% [markdown] tags=["hint"] exercise="turn"
# Put the two turned halves back between each other: `torch.stack((first, second), -1).flatten(1)`.


# %% tags=["wrong-answer"] exercise="turn"
def turn_by_place(rows, places):  # pairs number i with number i + d / 2
    d = rows.shape[1]
    speed = BASE ** -(torch.arange(0, d, 2, dtype=rows.dtype) / d)
    angle = places[:, None].to(rows.dtype) * speed
    a, b = rows.chunk(2, 1)
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), 1)


# %% tags=["wrong-answer"] exercise="turn"
def turn_by_place(rows, places):  # clockwise
    d = rows.shape[1]
    speed = BASE ** -(torch.arange(0, d, 2, dtype=rows.dtype) / d)
    angle = -places[:, None].to(rows.dtype) * speed
    a, b = rows[:, 0::2], rows[:, 1::2]
    pairs = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos())
    return torch.stack(pairs, -1).flatten(1)


# %% tags=["wrong-answer"] exercise="turn"
def turn_by_place(rows, places):  # one speed for all pairs
    angle = places[:, None].to(rows.dtype)
    a, b = rows[:, 0::2], rows[:, 1::2]
    pairs = (a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos())
    return torch.stack(pairs, -1).flatten(1)


# %% tags=["wrong-answer"] exercise="turn"
def turn_by_place(rows, places):  # turned, but not put back in its order
    d = rows.shape[1]
    speed = BASE ** -(torch.arange(0, d, 2, dtype=rows.dtype) / d)
    angle = places[:, None].to(rows.dtype) * speed
    a, b = rows[:, 0::2], rows[:, 1::2]
    return torch.cat((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), 1)


# %% [markdown]
# ## 6. Sandwich Transformer: count before you build
#
# *Predict, then run · 8 min · medium · book table 1.1*
#
# A sublayer order is a string, read from the input to the output: s is self-attention, f is a
# feed-forward layer. The Sandwich Transformer has the order $s^k (sf)^{n-k} f^k$. Here $n$ is
# {{DEPTH}}, $k$ is {{MOVED}}, the width is {{WIDTH}}, and a feed-forward layer has {{INNER}} hidden
# units. Attention has four square matrices, a feed-forward layer has two, and each matrix has a
# bias. Each sublayer has its own layer normalization with a scale and a shift, and the stack ends
# with one more. **Before you run anything**, write down on paper:
#
# - `"order"`: the string,
# - `"first"`: how many attention sublayers come before the first feed-forward layer,
# - `"parameters"`: how many parameters the stack has,
# - `"macaron"`: how many more parameters a stack of {{DEPTH}} Macaron blocks has. Such a block has
#   one attention sublayer and two feed-forward layers, each with half of the hidden units.
#
# ([Block order](14_block_order.ipynb).) The cell checks the first three.

# %% tags=["variant"] exercise="order"
DEPTH = number(4, 9)
MOVED = number(1, 3)
WIDTH = choose(16, 24, 32, 48)
INNER = WIDTH * choose(2, 3, 4)


# %% nbgrader={"grade_id": "order", "solution": true}
def predicted_stack():
    """Return {"order": "s...f", "first": n, "parameters": n, "macaron": n}."""
    ### BEGIN SOLUTION
    attention = 4 * (WIDTH * WIDTH + WIDTH)
    feed_forward = 2 * WIDTH * INNER + INNER + WIDTH
    return {
        "order": "s" * MOVED + "sf" * (DEPTH - MOVED) + "f" * MOVED,
        "first": MOVED + 1,
        "parameters": DEPTH * (attention + feed_forward + 4 * WIDTH) + 2 * WIDTH,
        "macaron": 3 * WIDTH * DEPTH,  # one more norm and one more output bias per block
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "order-check", "grade": true, "points": 4} own="predict"
from deepdive.layers.sublayers import sublayer_stack

said = returned("predicted_stack", predicted_stack())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"order", "first", "parameters", "macaron"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
letters = said["order"]
assert [letters.count(x) for x in "sf"] == [DEPTH, DEPTH], (
    f"order: reordering adds and removes no sublayer, so there are {DEPTH} of each; yours has "
    f"{letters.count('s')} s and {letters.count('f')} f"
)
assert letters.startswith("s" * MOVED + "sf"), (
    f"order: {MOVED} attention sublayers, then pairs of s and f; yours is {letters}"
)
assert letters.endswith("sf" + "f" * MOVED), (
    f"order: pairs of s and f, then {MOVED} feed-forward layers; yours is {letters}"
)
assert said["first"] == letters.index("f"), (
    f"first: {missed(said['first'], letters.index('f'))}. Which letter comes first in a pair?"
)
built = sublayer_stack(letters, WIDTH, 2, INNER)
size = sum(p.numel() for p in built.parameters())
assert said["parameters"] == size, (
    f"parameters: {missed(said['parameters'], size, ',')}. Count matrices, biases, and one norm "
    "per sublayer and at the end"
)
### BEGIN HIDDEN TESTS
from deepdive.models.transformer.macaron import macaron_block

pairs = ["s" if x == "s" else "f" for x in letters]
assert pairs == list("s" * MOVED + "sf" * (DEPTH - MOVED) + "f" * MOVED), (
    "order: between the two ends, s and f alternate"
)
blocks = [macaron_block(WIDTH, 2, INNER) for _ in range(DEPTH)]
more = sum(p.numel() for block in blocks for p in block.parameters()) + 2 * WIDTH - size
assert said["macaron"] == more, (
    f"macaron: {more}. The halves share the matrices of one layer; what is extra?"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="order"
# Write the string for $n = 3$, $k = 1$ first: s, then sf sf, then f.

# %% [markdown] tags=["hint"] exercise="order"
# Attention has $4 (d^2 + d)$ parameters. A feed-forward layer with $h$ hidden units has
# $2 d h + h + d$, and a norm has $2 d$.

# %% [markdown] tags=["hint"] exercise="order"
# Two layers with $h / 2$ hidden units each have the matrices and the hidden biases of one layer
# with $h$. Each has an output bias and a norm.


# %% tags=["wrong-answer"] exercise="order"
def predicted_stack():  # adds sublayers instead of moving them
    each = 4 * WIDTH * (WIDTH + 1) + 2 * WIDTH * INNER + INNER + WIDTH + 4 * WIDTH
    return {
        "order": "s" * MOVED + "sf" * DEPTH + "f" * MOVED,
        "first": MOVED + 1,
        "parameters": DEPTH * each + 2 * WIDTH,
        "macaron": 3 * WIDTH * DEPTH,
    }


# %% tags=["wrong-answer"] exercise="order"
def predicted_stack():  # forgets that a pair starts with attention
    each = 4 * WIDTH * (WIDTH + 1) + 2 * WIDTH * INNER + INNER + WIDTH + 4 * WIDTH
    return {
        "order": "s" * MOVED + "sf" * (DEPTH - MOVED) + "f" * MOVED,
        "first": MOVED,
        "parameters": DEPTH * each + 2 * WIDTH,
        "macaron": 3 * WIDTH * DEPTH,
    }


# %% tags=["wrong-answer"] exercise="order"
def predicted_stack():  # counts matrices only
    return {
        "order": "s" * MOVED + "sf" * (DEPTH - MOVED) + "f" * MOVED,
        "first": MOVED + 1,
        "parameters": DEPTH * (4 * WIDTH**2 + 2 * WIDTH * INNER),
        "macaron": 0,
    }


# %% tags=["wrong-answer"] exercise="order"
def predicted_stack():  # two half layers count as exactly one
    each = 4 * WIDTH * (WIDTH + 1) + 2 * WIDTH * INNER + INNER + WIDTH + 4 * WIDTH
    return {
        "order": "s" * MOVED + "sf" * (DEPTH - MOVED) + "f" * MOVED,
        "first": MOVED + 1,
        "parameters": DEPTH * each + 2 * WIDTH,
        "macaron": 0,
    }


# %% [markdown]
# ## 7. ReZero: what learns first?
#
# *Derive, then code · 10 min · medium · book 1.2.1.2*
#
# A ReZero sublayer computes $y = x + \alpha f(x)$, where $\alpha$ is one learned number that starts
# at 0. Here $f(x) = \tanh(x W)$ for rows $x$ of shape (T, d) and a weight matrix $W$ of shape
# (d, d). You get $\partial L / \partial y$. Derive the gradients of the loss $L$ with respect to
# $x$, $\alpha$, and $W$, and code them **without autograd**. The check tries $\alpha = 0$ and
# $\alpha$ = {{ALPHA}}. Look at the gradients at $\alpha = 0$: which parameter moves in the first
# step? ([Norms and all-attention](15_norms_and_all_attention.ipynb). The derivative of $\tanh u$ is
# $1 - \tanh^2 u$.)

# %% tags=["variant"] exercise="rezero"
ALPHA = choose(0.5, 0.25, 0.75, -0.5, 0.3, 0.6, 1.5, -0.25, 2.0)
rename("rezero_backward", "rezero_gradients", "backward_pass")


# %% nbgrader={"grade_id": "rezero", "solution": true}
def rezero_backward(x, weight, alpha, grad):
    """Return the gradients of x (T, d), of alpha (one number), and of weight (d, d).

    grad (T, d) is the gradient of y = x + alpha * tanh(x @ weight).
    """
    ### BEGIN SOLUTION
    branch = torch.tanh(x @ weight)
    inner = alpha * grad * (1 - branch.square())  # the gradient of x @ weight
    return grad + inner @ weight.T, (grad * branch).sum(), x.T @ inner
    ### END SOLUTION


# %% nbgrader={"grade_id": "rezero-check", "grade": true, "points": 3}
def by_autograd(x, weight, alpha, grad):
    """The same three gradients, by autograd."""
    leaves = [x.clone(), torch.tensor(alpha, dtype=x.dtype), weight.clone()]
    for leaf in leaves:
        leaf.requires_grad_()
    y = leaves[0] + leaves[1] * torch.tanh(leaves[0] @ leaves[2])
    return torch.autograd.grad(y, leaves, grad)


def gradients_of(*given):
    """Your three gradients, computed without autograd."""
    with torch.no_grad():
        found = returned("rezero_backward", rezero_backward(*given))
    assert isinstance(found, tuple), "return the gradients of x, alpha, and weight"
    assert len(found) == 3, "return three gradients: of x, alpha, and weight"
    return [torch.as_tensor(part) for part in found]


g = torch.Generator().manual_seed(3)
x, weight, grad = (torch.randn(n, 4, generator=g, dtype=torch.float64) for n in (3, 4, 3))
of_x, of_alpha, of_weight = gradients_of(x, weight, 0.0, grad)
shapes = [tuple(part.shape) for part in (of_x, of_alpha, of_weight)]
assert shapes == [(3, 4), (), (4, 4)], f"the shapes are (3, 4), (), (4, 4); yours {shapes}"
assert torch.allclose(of_x, grad), (
    "alpha = 0: y equals x, so the gradient of x is the gradient of y, unchanged"
)
assert of_weight.abs().max() < 1e-9, "alpha = 0: W doesn't change y, so its gradient is 0"
assert torch.allclose(of_alpha, by_autograd(x, weight, 0.0, grad)[1]), (
    f"alpha = 0: the gradient of alpha is {float(of_alpha):.4f}, and should be "
    f"{float(by_autograd(x, weight, 0.0, grad)[1]):.4f}: the sum of the gradient of y times f(x)"
)
names = ("x", "alpha", "weight")
for name, mine, true in zip(
    names, gradients_of(x, weight, ALPHA, grad), by_autograd(x, weight, ALPHA, grad), strict=True
):
    assert torch.allclose(mine, true), (
        f"alpha = {ALPHA}: the gradient of {name} is off by up to "
        f"{float((mine - true).abs().max()):.4f}. Is any factor of the chain rule missing?"
    )
### BEGIN HIDDEN TESTS
for rows, d, alpha in ((1, 2, -1.25), (7, 5, 3.0)):
    x, grad = (torch.randn(rows, d, generator=g, dtype=torch.float64) for _ in range(2))
    weight = torch.randn(d, d, generator=g, dtype=torch.float64)
    both = zip(gradients_of(x, weight, alpha, grad), by_autograd(x, weight, alpha, grad),
               strict=True)  # fmt: skip
    assert all(torch.allclose(a, b) for a, b in both), f"{rows} rows of width {d} are off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="rezero"
# There are two paths from $y$ back to $x$: the residual connection, and the branch.

# %% [markdown] tags=["hint"] exercise="rezero"
# Let $G$ be the gradient of $y$. The gradient of $u = x W$ is $\alpha \, G \odot (1 - \tanh^2 u)$.
# From there on it is a linear layer: $x^\top$ from the left for $W$, $W^\top$ from the right for
# $x$.


# %% tags=["wrong-answer"] exercise="rezero"
def rezero_backward(x, weight, alpha, grad):  # forgets the residual connection
    branch = torch.tanh(x @ weight)
    inner = alpha * grad * (1 - branch**2)
    return inner @ weight.T, (grad * branch).sum(), x.T @ inner


# %% tags=["wrong-answer"] exercise="rezero"
def rezero_backward(x, weight, alpha, grad):  # alpha scales its own gradient
    branch = torch.tanh(x @ weight)
    inner = alpha * grad * (1 - branch**2)
    return grad + inner @ weight.T, alpha * (grad * branch).sum(), x.T @ inner


# %% tags=["wrong-answer"] exercise="rezero"
def rezero_backward(x, weight, alpha, grad):  # the branch's gradient is not scaled by alpha
    branch = torch.tanh(x @ weight)
    inner = grad * (1 - branch**2)
    return grad + alpha * inner @ weight.T, (grad * branch).sum(), x.T @ inner


# %% tags=["wrong-answer"] exercise="rezero"
def rezero_backward(x, weight, alpha, grad):  # tanh has no derivative here
    branch = torch.tanh(x @ weight)
    inner = alpha * grad
    return grad + inner @ weight.T, (grad * branch).sum(), x.T @ inner


# %% [markdown]
# ## 8. Adaptive computation time: when does a token halt?
#
# *Predict, then code · 14 min · medium · book 5.1.3.1*
#
# A Universal Transformer applies the same block again and again. With **adaptive computation time**
# (ACT, Graves 2016; Dehghani et al. 2019), each token has a halting probability $h_n$ after step
# $n$. The token halts at the first step $N$ at which $h_1 + \dots + h_N \ge 1 - \varepsilon$. Its
# output is a weighted sum of its states: the weight of a step before $N$ is $h_n$, and step $N$
# gets the **remainder** $R = 1 - (h_1 + \dots + h_{N-1})$. The **ponder cost** $N + R$, times a
# small weight, is added to the loss, and $N$ counts as a constant in the backward pass.
#
# **Predict.** With $\varepsilon$ = {{EPSILON}}, a token has the halting probabilities {{HALTS}}.
# Its state after step $n$ is the number $n$. Write down on paper:
#
# - `"steps"`: $N$,
# - `"remainder"`: $R$,
# - `"output"`: the token's output,
# - `"slope"`: the derivative of the ponder cost with respect to $h_1$.
#
# The cell checks the first two, the second one roughly.

# %% tags=["variant"] exercise="halt"
HALTS = sample((0.2, 0.05, 0.3, 0.1, 0.25, 0.35, 0.15), 6)
EPSILON = choose(0.01, 0.02, 0.03)


# %% nbgrader={"grade_id": "halt", "solution": true}
def predicted_halt():
    """Return {"steps": n, "remainder": x, "output": x, "slope": x}."""
    ### BEGIN SOLUTION
    steps = 1
    while sum(HALTS[:steps]) < 1 - EPSILON:
        steps += 1
    rest = 1 - sum(HALTS[: steps - 1])
    output = sum(n * h for n, h in enumerate(HALTS[: steps - 1], 1)) + steps * rest
    return {"steps": steps, "remainder": round(rest, 4), "output": round(output, 4), "slope": -1}
    ### END SOLUTION


# %% nbgrader={"grade_id": "halt-check", "grade": true, "points": 3} own="predict"
said = returned("predicted_halt", predicted_halt())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"steps", "remainder", "output", "slope"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
n = said["steps"]
assert n in range(1, 7), f"steps: a number from 1 to 6, yours is {n}"
assert sum(HALTS[:n]) >= 1 - EPSILON, (
    f"steps: after step {n} the sum is {sum(HALTS[:n]):.2f}, so the token doesn't halt yet"
)
assert sum(HALTS[: n - 1]) < 1 - EPSILON, (
    f"steps: the sum after step {n - 1} is {sum(HALTS[: n - 1]):.2f}, so the token halted earlier"
)
assert 0 < said["remainder"] <= HALTS[n - 1] + 1e-6, (
    f"remainder: it is positive, and at most the last halting probability, {HALTS[n - 1]}; yours "
    f"is {said['remainder']:.4g}"
)
### BEGIN HIDDEN TESTS
left = 1 - sum(HALTS[: n - 1])
assert abs(said["remainder"] - left) < 1e-3, f"remainder: {left:.2f}, what the earlier steps leave"
mean = sum(k * h for k, h in zip(range(1, n), HALTS, strict=False)) + n * left
assert abs(said["output"] - mean) < 1e-3, f"output: {mean:.2f}, a mean with weights that sum to 1"
assert said["slope"] == -1, "slope: R is 1 minus the earlier probabilities, and N is a constant"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="halt"
# Add the probabilities one at a time, and stop at the first sum that is at least
# $1 - \varepsilon$. All of them are multiples of 0.05.

# %% [markdown] tags=["hint"] exercise="halt"
# The weights of the output sum to 1, so the last one is what the earlier ones leave.


# %% tags=["wrong-answer"] exercise="halt"
def predicted_halt():  # stops one step too early
    steps = 1
    while sum(HALTS[: steps + 1]) < 1 - EPSILON:
        steps += 1
    rest = 1 - sum(HALTS[: steps - 1])
    output = sum(n * h for n, h in enumerate(HALTS[: steps - 1], 1)) + steps * rest
    return {"steps": steps, "remainder": rest, "output": output, "slope": -1}


# %% tags=["wrong-answer"] exercise="halt"
def predicted_halt():  # uses all six steps
    rest = 1 - sum(HALTS[:5])
    output = sum(n * h for n, h in enumerate(HALTS, 1))
    return {"steps": 6, "remainder": rest, "output": output, "slope": -1}


# %% tags=["wrong-answer"] exercise="halt"
def predicted_halt():  # the remainder is what is left after the last step
    steps = 1
    while sum(HALTS[:steps]) < 1 - EPSILON:
        steps += 1
    rest = 1 - sum(HALTS[:steps])
    output = sum(n * h for n, h in enumerate(HALTS[:steps], 1))
    return {"steps": steps, "remainder": min(rest, 0), "output": output, "slope": 0}


# %% tags=["wrong-answer"] exercise="halt"
def predicted_halt():  # correct, except that a larger probability costs more
    steps = 1
    while sum(HALTS[:steps]) < 1 - EPSILON:
        steps += 1
    rest = 1 - sum(HALTS[: steps - 1])
    output = sum(n * h for n, h in enumerate(HALTS[: steps - 1], 1)) + steps * rest
    return {"steps": steps, "remainder": rest, "output": output, "slope": 1}


# %% [markdown]
# **Code.** Now compute the same for T tokens at once, with at most M steps. A token whose sum
# hasn't reached $1 - \varepsilon$ before step M halts there, so its $N$ is M. Return the weights,
# the number of steps, and the ponder cost of each token.

# %% tags=["variant"] exercise="weights"
rename("halting_weights", "act_weights", "step_weights")


# %% nbgrader={"grade_id": "weights", "solution": true}
def halting_weights(h, epsilon):
    """Return (weights (T, M), steps (T,), cost (T,)) for halting probabilities h (T, M)."""
    ### BEGIN SOLUTION
    reached = h.cumsum(1) >= 1 - epsilon
    reached[:, -1] = True
    steps = reached.int().argmax(1) + 1  # the first True, counted from 1
    number = torch.arange(1, h.shape[1] + 1)
    earlier = h * (number < steps[:, None])
    rest = 1 - earlier.sum(1)
    return earlier + rest[:, None] * (number == steps[:, None]), steps, steps + rest
    ### END SOLUTION


# %% nbgrader={"grade_id": "weights-check", "grade": true, "points": 3}
h = torch.tensor([HALTS, [0.995] + [0.5] * 5, [0.125] * 6, [0.5] * 6], dtype=torch.float64)
found = returned("halting_weights", halting_weights(h.clone(), EPSILON))
assert isinstance(found, tuple), "return weights, steps, cost"
assert len(found) == 3, "return three: weights, steps, cost"
weights, steps, cost = found
shapes = [tuple(part.shape) for part in found]
assert shapes == [(4, 6), (4,), (4,)], f"the shapes are (4, 6), (4,), (4,); yours {shapes}"
assert steps[1:].tolist() == [1, 6, 2], (
    "0.995 reaches the threshold at step 1, six times 0.125 never does, and 0.5 at step 2: steps "
    f"[1, 6, 2], yours {steps[1:].tolist()}"
)
for token, row in enumerate(weights):
    assert abs(float(row.sum()) - 1) < 1e-9, (
        f"token {token}: the weights sum to {float(row.sum()):.3f}, not to 1"
    )
    last = int(steps[token])
    assert torch.equal(row[: last - 1], h[token, : last - 1]), (
        f"token {token}: before its last step, {last}, the weights are the halting probabilities"
    )
    assert not row[last:].any(), f"token {token}: after step {last} the weights must be 0"
assert abs(float(cost[3]) - 2.5) < 1e-9, (
    f"halting probabilities of 0.5: two steps and a remainder of 0.5 cost 2.5; yours {cost[3]:.3f}"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(5)
h = torch.rand(40, 9, generator=g, dtype=torch.float64) * torch.linspace(0.05, 1, 40)[:, None]
weights, steps, cost = halting_weights(h.clone(), 0.05)
for token in range(40):
    total, each = 0.0, []
    for n, p in enumerate(h[token].tolist(), 1):
        if total + p >= 0.95 or n == 9:
            each.append(1 - total)
            break
        each.append(p)
        total += p
    right = torch.tensor(each + [0.0] * (9 - len(each)), dtype=torch.float64)
    assert int(steps[token]) == len(each), "random probabilities: the number of steps is off"
    assert torch.allclose(weights[token], right), "random probabilities: the weights are off"
    assert abs(float(cost[token]) - len(each) - each[-1]) < 1e-9, "the ponder cost is N + R"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="weights"
# `h.cumsum(1)` has the sums. `argmax` of a Boolean matrix, as integers, gives the place of the
# first `True`. If you set its last column to `True`, every token halts at step M or earlier.

# %% [markdown] tags=["hint"] exercise="weights"
# Compare `torch.arange(1, M + 1)` with `steps[:, None]`: smaller means an earlier step, equal means
# the last one.


# %% tags=["wrong-answer"] exercise="weights"
def halting_weights(h, epsilon):  # normalizes instead of halting
    steps = torch.full((len(h),), h.shape[1])
    return h / h.sum(1, keepdim=True), steps, steps.double()


# %% tags=["wrong-answer"] exercise="weights"
def halting_weights(h, epsilon):  # the last step keeps its own probability
    reached = h.cumsum(1) >= 1 - epsilon
    reached[:, -1] = True
    steps = reached.int().argmax(1) + 1
    weights = h * (torch.arange(1, h.shape[1] + 1) <= steps[:, None])
    return weights, steps, steps + 1 - weights.sum(1)


# %% tags=["wrong-answer"] exercise="weights"
def halting_weights(h, epsilon):  # counts steps from 0
    reached = h.cumsum(1) >= 1 - epsilon
    reached[:, -1] = True
    steps = reached.int().argmax(1)
    weights = h * (torch.arange(h.shape[1]) < steps[:, None])
    rest = 1 - weights.sum(1)
    weights[torch.arange(len(h)), steps] = rest
    return weights, steps, steps + rest


# %% tags=["wrong-answer"] exercise="weights"
def halting_weights(h, epsilon):  # a token that never reaches the threshold halts at once
    steps = (h.cumsum(1) >= 1 - epsilon).int().argmax(1) + 1
    number = torch.arange(1, h.shape[1] + 1)
    weights = h * (number < steps[:, None])
    rest = 1 - weights.sum(1)
    return weights + rest[:, None] * (number == steps[:, None]), steps, steps + rest


# %% tags=["wrong-answer"] exercise="weights"
def halting_weights(h, epsilon):  # the remainder costs nothing
    reached = h.cumsum(1) >= 1 - epsilon
    reached[:, -1] = True
    steps = reached.int().argmax(1) + 1
    number = torch.arange(1, h.shape[1] + 1)
    weights = h * (number < steps[:, None])
    rest = 1 - weights.sum(1)
    return weights + rest[:, None] * (number == steps[:, None]), steps, steps.double()


# %% [markdown]
# ## 9. Hierarchical encoder: sentences first
#
# *Predict, then code · 14 min · medium · book 5.1.5*
#
# HIBERT encodes each sentence by itself and then the sequence of sentence vectors. A document has
# {{SENTENCES}} sentences of {{WORDS}} tokens each. Both encoders have one layer of full attention.
# **Predict** how many scores (pairs of a query and a key) are computed:
#
# - `"words"`: in the sentence encoder, for the whole document,
# - `"sentences"`: in the document encoder,
# - `"padded"`: in **both** encoders if the document is padded to {{SLOTS}} sentences and the
#   padding sentences are encoded like the others,
# - `"full"`: in one layer of full attention over all tokens of the document, without padding.
#
# ([Hierarchical Transformers](20_hierarchical_documents.ipynb).)

# %% tags=["variant"] exercise="hierarchy"
SENTENCES = number(4, 9)
WORDS = number(10, 20)
SLOTS = SENTENCES + number(2, 6)


# %% nbgrader={"grade_id": "hierarchy", "solution": true}
def predicted_scores():
    """Return {"words": n, "sentences": n, "padded": n, "full": n}."""
    ### BEGIN SOLUTION
    return {
        "words": SENTENCES * WORDS**2,
        "sentences": SENTENCES**2,
        "padded": SLOTS * WORDS**2 + SLOTS**2,
        "full": (SENTENCES * WORDS) ** 2,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "hierarchy-check", "grade": true, "points": 3} own="predict"
def pairs_within(groups):
    """How many pairs of places are in the same group."""
    groups = torch.tensor(groups)
    return int((groups == groups[:, None]).sum())


said = returned("predicted_scores", predicted_scores())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"words", "sentences", "padded", "full"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
words = pairs_within([i // WORDS for i in range(SENTENCES * WORDS)])
assert said["words"] == words, (
    f"words: {missed(said['words'], words)}. Each sentence has a matrix of its own"
)
sentences = pairs_within([0] * SENTENCES)
assert said["sentences"] == sentences, (
    f"sentences: {missed(said['sentences'], sentences)}. How many vectors does it encode?"
)
full = pairs_within([0] * (SENTENCES * WORDS))
assert said["full"] == full, f"full: {missed(said['full'], full)}. Every token with every token"
### BEGIN HIDDEN TESTS
padded = pairs_within([i // WORDS for i in range(SLOTS * WORDS)]) + SLOTS**2
assert said["padded"] == padded, f"padded: {padded}, since padding costs as much as sentences"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="hierarchy"
# A sentence of $T$ tokens has $T^2$ scores. The document encoder gets one vector per sentence.


# %% tags=["wrong-answer"] exercise="hierarchy"
def predicted_scores():  # one matrix for all words
    return {
        "words": (SENTENCES * WORDS) ** 2,
        "sentences": SENTENCES**2,
        "padded": SLOTS * WORDS**2 + SLOTS**2,
        "full": (SENTENCES * WORDS) ** 2,
    }


# %% tags=["wrong-answer"] exercise="hierarchy"
def predicted_scores():  # the document encoder attends to words
    return {
        "words": SENTENCES * WORDS**2,
        "sentences": SENTENCES * WORDS,
        "padded": SLOTS * WORDS**2 + SLOTS**2,
        "full": (SENTENCES * WORDS) ** 2,
    }


# %% tags=["wrong-answer"] exercise="hierarchy"
def predicted_scores():  # padding costs nothing in the sentence encoder
    return {
        "words": SENTENCES * WORDS**2,
        "sentences": SENTENCES**2,
        "padded": SENTENCES * WORDS**2 + SLOTS**2,
        "full": (SENTENCES * WORDS) ** 2,
    }


# %% tags=["wrong-answer"] exercise="hierarchy"
def predicted_scores():  # full attention is counted once per sentence
    return {
        "words": SENTENCES * WORDS**2,
        "sentences": SENTENCES**2,
        "padded": SLOTS * WORDS**2 + SLOTS**2,
        "full": SENTENCES * WORDS**2 + SENTENCES**2,
    }


# %% [markdown]
# Now write the step between the two encoders. The states of all real sentences of a batch are one
# tensor (N, T, d), in the order of the documents. Return the sentence vectors of the documents,
# (B, S, d): for each real sentence the state at its **last real token**, and zeros for padding
# sentences.

# %% tags=["variant"] exercise="sentence-vectors"
rename("sentence_vectors", "end_states", "vectors_of_sentences")


# %% nbgrader={"grade_id": "sentence-vectors", "solution": true}
def sentence_vectors(states, mask, real):
    """Return the sentence vectors (B, S, d).

    states (N, T, d) and mask (N, T), True = real token, are of the N real sentences; real (B, S)
    says which sentences of which documents they are.
    """
    ### BEGIN SOLUTION
    ends = states[torch.arange(len(states)), mask.sum(-1) - 1]
    vectors = torch.zeros(*real.shape, states.shape[-1], dtype=states.dtype)
    return vectors.index_put((real,), ends)
    ### END SOLUTION


# %% nbgrader={"grade_id": "sentence-vectors-check", "grade": true, "points": 3}
def check_vectors(lengths, T, d, what):
    """Compare with a loop over documents and sentences; lengths 0 are padding sentences."""
    lengths = torch.tensor(lengths)
    real = lengths > 0
    mask = torch.arange(T) < lengths[real][:, None]
    states = torch.arange(int(real.sum()) * T * d, dtype=torch.float64).view(-1, T, d) + 1
    found = returned("sentence_vectors", sentence_vectors(states, mask, real))
    assert found.shape == (*real.shape, d), (
        f"{what}: the shape is {(*real.shape, d)}, yours {tuple(found.shape)}"
    )
    n = 0
    for b in range(real.shape[0]):
        for s in range(real.shape[1]):
            true = states[n, lengths[b, s] - 1] if real[b, s] else torch.zeros(d)
            assert torch.allclose(found[b, s], true.to(found.dtype)), (
                f"{what}: sentence {s} of document {b} is wrong"
            )
            n += int(real[b, s])


check_vectors([[3, 3], [3, 3]], 3, 2, "no padding")
check_vectors([[2, 3], [1, 3]], 3, 2, "padding words")
check_vectors([[3, 0], [3, 3]], 3, 2, "a padding sentence")
### BEGIN HIDDEN TESTS
check_vectors([[0, 2, 4], [1, 0, 0]], 5, 3, "padding first")
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="sentence-vectors"
# The last real token of a sentence is at `mask.sum(-1) - 1`. A boolean mask (B, S) as an index
# selects real sentences in the order of the documents.


# %% tags=["wrong-answer"] exercise="sentence-vectors"
def sentence_vectors(states, mask, real):  # the last position, padding or not
    vectors = torch.zeros(*real.shape, states.shape[-1], dtype=states.dtype)
    return vectors.index_put((real,), states[:, -1])


# %% tags=["wrong-answer"] exercise="sentence-vectors"
def sentence_vectors(states, mask, real):  # the first token
    vectors = torch.zeros(*real.shape, states.shape[-1], dtype=states.dtype)
    return vectors.index_put((real,), states[:, 0])


# %% tags=["wrong-answer"] exercise="sentence-vectors"
def sentence_vectors(states, mask, real):  # sentences are put next to each other
    ends = states[torch.arange(len(states)), mask.sum(-1) - 1]
    vectors = torch.zeros(real.numel(), states.shape[-1], dtype=states.dtype)
    return torch.cat([ends, vectors])[: real.numel()].view(*real.shape, -1)


# %% tags=["wrong-answer"] exercise="sentence-vectors"
def sentence_vectors(states, mask, real):  # one token too late, where there is one
    ends = states[torch.arange(len(states)), mask.sum(-1).clamp(max=mask.shape[-1] - 1)]
    vectors = torch.zeros(*real.shape, states.shape[-1], dtype=states.dtype)
    return vectors.index_put((real,), ends)


# %% [markdown]
# ## 10. DeeBERT: early exits, alone and in a batch
#
# *Code, then compute · 14 min · medium · book 5.1.3*
#
# DeeBERT (Xin et al. 2020) puts a classifier, an **off-ramp**, on each layer of BERT. A text leaves
# at the first layer whose prediction is certain enough: the entropy $-\sum_c p_c \ln p_c$ of the
# class probabilities must be below a threshold. The last layer answers whatever is left.
#
# **Code.** Compute the layer, counted from 1, at which each text leaves.

# %% tags=["variant"] exercise="exit"
rename("exit_layers", "leaving_layers", "layers_used")
THRESHOLD = choose(0.2, 0.3, 0.4, 0.5)


# %% nbgrader={"grade_id": "exit", "solution": true}
def exit_layers(logits, threshold):
    """Return the exit layer (N,) of each text, from 1 to L, for logits (L, N, K)."""
    ### BEGIN SOLUTION
    log_p = logits.log_softmax(-1)
    certain = -(log_p.exp() * log_p).sum(-1) < threshold  # (L, N)
    certain[-1] = True
    return certain.int().argmax(0) + 1  # the first True
    ### END SOLUTION


# %% nbgrader={"grade_id": "exit-check", "grade": true, "points": 3}
sure, unsure = [6.0, 0.0], [0.1, 0.0]  # entropies of 0.02 and 0.69
logits = torch.tensor([
    [sure, unsure, unsure, unsure], [unsure, sure, unsure, unsure], [sure, sure, unsure, sure],
])  # fmt: skip
found = returned("exit_layers", exit_layers(logits.clone(), THRESHOLD))
assert isinstance(found, torch.Tensor), "return a tensor with one layer for each text"
assert tuple(found.shape) == (4,), f"4 texts: the shape is (4,), yours {tuple(found.shape)}"
assert found[0] == 1, f"text 0 is certain at layer 1 already, where it leaves; yours {found[0]}"
assert found[1] == 2, f"text 1 is certain at layer 2 for the first time; yours {found[1]}"
assert found[2] == 3, f"text 2 is never certain, so the last layer, 3, answers; yours {found[2]}"
assert torch.equal(found, exit_layers(logits + 5, THRESHOLD)), (
    "the same number added to all logits changes no probability, but it changes your layers: apply "
    "a softmax first"
)
### BEGIN HIDDEN TESTS
from math import exp, log

g = torch.Generator().manual_seed(11)
logits = torch.randn(6, 200, 3, generator=g, dtype=torch.float64)
logits = logits * torch.arange(1, 7)[:, None, None]
found = exit_layers(logits.clone(), THRESHOLD)
for text in range(200):
    for layer in range(6):
        powers = [exp(x) for x in logits[layer, text].tolist()]
        p = [power / sum(powers) for power in powers]
        if layer == 5 or -sum(x * log(x) for x in p) < THRESHOLD:
            break
    assert int(found[text]) == layer + 1, (
        f"random logits: a text leaves at layer {layer + 1}, yours at {int(found[text])}; the "
        "entropy uses the natural logarithm"
    )
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="exit"
# `log_softmax(-1)` gives $\ln p_c$, and `exp` of it $p_c$: their product, summed over the classes,
# is the entropy with the other sign.

# %% [markdown] tags=["hint"] exercise="exit"
# `argmax(0)` of a Boolean matrix, as integers, is the row of the first `True` in each column. Set
# the last row to `True`.


# %% tags=["wrong-answer"] exercise="exit"
def exit_layers(logits, threshold):  # a text that is never certain leaves at layer 1
    log_p = logits.log_softmax(-1)
    return (-(log_p.exp() * log_p).sum(-1) < threshold).int().argmax(0) + 1


# %% tags=["wrong-answer"] exercise="exit"
def exit_layers(logits, threshold):  # counts uncertain layers, also after a certain one
    log_p = logits.log_softmax(-1)
    return ((-(log_p.exp() * log_p).sum(-1))[:-1] >= threshold).sum(0) + 1


# %% tags=["wrong-answer"] exercise="exit"
def exit_layers(logits, threshold):  # the entropy in bits
    log_p = logits.log_softmax(-1)
    certain = -(log_p.exp() * log_p).sum(-1) / log_p.new_tensor(2.0).log() < threshold
    certain[-1] = True
    return certain.int().argmax(0) + 1


# %% tags=["wrong-answer"] exercise="exit"
def exit_layers(logits, threshold):  # certain where the entropy is high
    log_p = logits.log_softmax(-1)
    certain = -(log_p.exp() * log_p).sum(-1) > threshold
    certain[-1] = True
    return certain.int().argmax(0) + 1


# %% tags=["wrong-answer"] exercise="exit"
def exit_layers(logits, threshold):  # counts layers from 0
    log_p = logits.log_softmax(-1)
    certain = -(log_p.exp() * log_p).sum(-1) < threshold
    certain[-1] = True
    return certain.int().argmax(0)


# %% [markdown]
# **Compute.** The texts come in batches of {{BATCH}}, in their order, and a batch goes through the
# layers until its last text has left. With L layers and N texts, a model without off-ramps computes
# $LN$ layers in all. Which share of these is saved if each text runs alone, and which share in
# batches, where every text costs as many layers as the slowest one in its batch? The last batch may
# be smaller.

# %% tags=["variant"] exercise="saved"
BATCH = choose(4, 8, 16)
rename("saved_shares", "shares_saved")


# %% nbgrader={"grade_id": "saved", "solution": true}
def saved_shares(layers, L, batch):
    """Return {"alone": share, "batch": share} for the exit layers (N,) of texts in their order."""
    ### BEGIN SOLUTION
    slowest = [part.max().expand(len(part)) for part in layers.split(batch)]
    every = L * len(layers)
    return {
        "alone": 1 - float(layers.sum()) / every,
        "batch": 1 - float(torch.cat(slowest).sum()) / every,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "saved-check", "grade": true, "points": 3}
layers = torch.ones(2 * BATCH, dtype=torch.int64)
layers[0] = 6  # one text needs all six layers
found = returned("saved_shares", saved_shares(layers.clone(), 6, BATCH))
assert isinstance(found, dict), "return a dictionary: `return {...}`"
assert set(found) == {"alone", "batch"}, f"the names are alone and batch, yours {sorted(found)}"
right = 1 - float(layers.sum()) / (12 * BATCH)
assert abs(found["alone"] - right) < 1e-6, (
    f"alone: {2 * BATCH} texts compute {int(layers.sum())} of {12 * BATCH} layers, so {right:.3f} "
    f"is saved; yours {found['alone']:.3f}"
)
assert abs(found["batch"] - 5 / 12) < 1e-6, (
    "batch: one batch computes all six layers, because of its slowest text, and the other one "
    f"computes one: 5 of 12 are saved, 0.417; yours {found['batch']:.3f}"
)
short = saved_shares(torch.tensor([1] * BATCH + [2]), 2, BATCH)["batch"]
assert abs(short - BATCH / (2 * BATCH + 2)) < 1e-6, (
    f"batch: {BATCH + 1} texts make a batch of {BATCH} and one of 1, which counts once; yours "
    f"saves {short:.3f}"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(12)
layers = torch.randint(1, 7, (101,), generator=g)
found, used = saved_shares(layers.clone(), 6, BATCH), 0
for first in range(0, 101, BATCH):
    part = layers[first : first + BATCH].tolist()
    used += max(part) * len(part)
assert abs(found["batch"] - (1 - used / 606)) < 1e-6, "101 random texts: batch is off"
assert abs(found["alone"] - (1 - int(layers.sum()) / 606)) < 1e-6, "101 random texts: alone is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="saved"
# `layers.split(BATCH)` gives the batches. Each costs its largest layer times its number of texts.


# %% tags=["wrong-answer"] exercise="saved"
def saved_shares(layers, L, batch):  # the mean of a batch and not its slowest text
    alone = 1 - float(layers.sum()) / (L * len(layers))
    return {"alone": alone, "batch": alone}


# %% tags=["wrong-answer"] exercise="saved"
def saved_shares(layers, L, batch):  # all texts in one batch
    alone = 1 - float(layers.sum()) / (L * len(layers))
    return {"alone": alone, "batch": 1 - float(layers.max()) / L}


# %% tags=["wrong-answer"] exercise="saved"
def saved_shares(layers, L, batch):  # a small last batch counts as a full one
    alone = 1 - float(layers.sum()) / (L * len(layers))
    slowest = [float(part.max()) for part in layers.split(batch)]
    return {"alone": alone, "batch": 1 - sum(slowest) / len(slowest) / L}


# %% tags=["wrong-answer"] exercise="saved"
def saved_shares(layers, L, batch):  # what is computed, not what is saved
    slowest = [part.max().expand(len(part)) for part in layers.split(batch)]
    every = L * len(layers)
    return {
        "alone": float(layers.sum()) / every, "batch": float(torch.cat(slowest).sum()) / every,
    }  # fmt: skip


# %%
# Generated logits of 400 texts, six layers, and two classes; certainty grows from layer to layer.
generated = torch.randn(6, 400, 2, generator=torch.Generator().manual_seed(3)).cumsum(0)

# %% [markdown]
# Call your functions on `generated` with your threshold, in a cell of your own, for batches of 1,
# 4, 16, and 64 texts.

# %% [markdown]
# **Explain** in three to five sentences, with your numbers: why does a larger batch save less?
# Early exit is usually timed with one text at a time. For whom is that the right measurement, and
# for whom isn't it? Name one change to the batches that would save more, and what it costs.

# %% [markdown] nbgrader={"grade_id": "exit-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# A batch goes on until its slowest text leaves, and the more texts it has, the more probable it is
# that one of them needs nearly all layers. So the saving falls towards that of the slowest text of
# all. One text at a time is the right measurement for a service that answers single requests, such
# as a program on a telephone; a server that fills its processor with batches gets the smaller
# saving. It could remove finished texts from the batch after each layer and refill it, which keeps
# the saving but needs copies and leaves the processor with small batches, or sort texts by an
# estimate of their difficulty, which has to be known beforehand.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="exit-why"
# - **3 points**: explains the slowest text with own numbers, separates single requests from
#   batches, and names a change (removing or refilling, sorting) with its cost.
# - **1 point**: two of these, or all without numbers.
# - **0 points**: says that off-ramps always save the same share.

# %% [markdown]
# ## 11. Features that forget something
#
# *Find and fix a planted bug · 10 min · hard · book 5.2.2.3*
#
# Performer replaces $e^{q \cdot k / \sqrt d}$ by $\phi(q) \cdot \phi(k)$, with
# $\phi(x) = e^{W x' - \lVert x' \rVert^2 / 2} / \sqrt m$ and $x' = x / d^{1/4}$, so that keys and
# values can be summed before any query comes. No shape is wrong here, and nothing is raised. But
# the output is not right. Look at the three trials, then fix it in `mended_attention`. ([Low rank
# and features](04_low_rank_and_features.ipynb).)

# %% tags=["variant"] exercise="features"
rename("mended_attention", "sound_attention", "true_attention")


# %% tags=["bug"] exercise="features" bug="the sum is not divided by" caught="alike:"
def broken_attention(q, k, v, W):
    """Return (T, d_v) for q (T, d), k (S, d), v (S, d_v) and directions W (m, d)."""
    d, m = q.shape[1], len(W)
    phi = [torch.exp(x / d**0.25 @ W.T - (x * x).sum(1, keepdim=True) / d**0.5 / 2) for x in (q, k)]
    a, b = (features / m**0.5 for features in phi)
    return a @ (b.T @ v)


# %% tags=["bug"] exercise="features" bug="the squared length is left out" caught="long:"
def broken_attention(q, k, v, W):
    """Return (T, d_v) for q (T, d), k (S, d), v (S, d_v) and directions W (m, d)."""
    d, m = q.shape[1], len(W)
    a, b = (torch.exp(x / d**0.25 @ W.T) / m**0.5 for x in (q, k))
    return a @ (b.T @ v) / (a @ b.sum(0)[:, None])


# %% tags=["bug"] exercise="features" bug="the squared length is not scaled" caught="long:"
def broken_attention(q, k, v, W):
    """Return (T, d_v) for q (T, d), k (S, d), v (S, d_v) and directions W (m, d)."""
    d, m = q.shape[1], len(W)
    phi = [torch.exp(x / d**0.25 @ W.T - (x * x).sum(1, keepdim=True) / 2) for x in (q, k)]
    a, b = (features / m**0.5 for features in phi)
    return a @ (b.T @ v) / (a @ b.sum(0)[:, None])


# %% tags=["bug"] exercise="features" bug="keys and queries are scaled twice" caught="long:"
def broken_attention(q, k, v, W):
    """Return (T, d_v) for q (T, d), k (S, d), v (S, d_v) and directions W (m, d)."""
    d, m = q.shape[1], len(W)
    phi = [torch.exp(x / d**0.5 @ W.T - (x * x).sum(1, keepdim=True) / d / 2) for x in (q, k)]
    a, b = (features / m**0.5 for features in phi)
    return a @ (b.T @ v) / (a @ b.sum(0)[:, None])


# %% tags=["bug"] exercise="features" bug="keys meet the opposite directions" caught="apart:"
def broken_attention(q, k, v, W):
    """Return (T, d_v) for q (T, d), k (S, d), v (S, d_v) and directions W (m, d)."""
    d, m = q.shape[1], len(W)
    q, k = q / d**0.25, k / d**0.25
    a = torch.exp(q @ W.T - (q * q).sum(1, keepdim=True) / 2) / m**0.5
    b = torch.exp(-k @ W.T - (k * k).sum(1, keepdim=True) / 2) / m**0.5
    return a @ (b.T @ v) / (a @ b.sum(0)[:, None])


# %%
WAYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
ONE, PAIR = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0], [2.0, 0.0]])
VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
TRIALS = {
    "alike": (ONE, torch.zeros(2, 2), "two keys of zeros weigh the same: (0.5, 0.5)"),
    "long": (torch.zeros(1, 2), torch.tensor([[0.0, 1.0], [0.0, 3.0]]),
             "by phi, not by a softmax: what does the length of a key change?"),
    "apart": (ONE, PAIR, "the key that points where the query points weighs more"),
}  # fmt: skip
for name, (q, k, _) in TRIALS.items():
    print(f"{name}:", [round(x, 4) for x in broken_attention(q, k, VALUES, WAYS)[0].tolist()])


# %% nbgrader={"grade_id": "features", "solution": true}
def mended_attention(q, k, v, W):
    """Return (T, d_v) for q (T, d), k (S, d), v (S, d_v) and directions W (m, d)."""
    ### BEGIN SOLUTION
    d, m = q.shape[1], len(W)
    q, k = q / d**0.25, k / d**0.25
    a, b = (torch.exp(x @ W.T - (x * x).sum(1, keepdim=True) / 2) / m**0.5 for x in (q, k))
    return a @ (b.T @ v) / (a @ b.sum(0)[:, None])
    ### END SOLUTION


# %% nbgrader={"grade_id": "features-check", "grade": true, "points": 3}
def one_pair_at_a_time(q, k, v, W):
    """The same in loops: each query with each key, as the equation says."""
    d, out = q.shape[1], torch.zeros(len(q), v.shape[1], dtype=q.dtype)
    for t in range(len(q)):
        weights = []
        for s in range(len(k)):
            x, y = q[t] / d**0.25, k[s] / d**0.25
            features = ((W @ x - x @ x / 2).exp(), (W @ y - y @ y / 2).exp())
            weights.append(features[0] @ features[1] / len(W))
        out[t] = sum(w * row for w, row in zip(weights, v, strict=True)) / sum(weights)
    return out


for name, (q, k, why) in TRIALS.items():
    found = returned("mended_attention", mended_attention(q, k, VALUES, WAYS))
    right = one_pair_at_a_time(q, k, VALUES, WAYS)
    assert found.shape == right.shape, f"{name}: a row a query, {tuple(right.shape)}"
    assert torch.allclose(found, right, atol=1e-5), (
        f"{name}: yours is {[round(x, 4) for x in found[0].tolist()]}, and should be "
        f"{[round(x, 4) for x in right[0].tolist()]}; {why}"
    )
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(7)
q, k, v = (torch.randn(n, 6, generator=g, dtype=torch.float64) for n in (4, 9, 9))
W = torch.randn(32, 6, generator=g, dtype=torch.float64)
right = one_pair_at_a_time(q, k, v, W)
assert torch.allclose(mended_attention(q, k, v, W), right), "random rows of width 6 are off"
W = torch.randn(200_000, 6, generator=g, dtype=torch.float64)
exact = (q @ k.T / 6**0.5).softmax(1) @ v
assert (mended_attention(q, k, v, W) - exact).abs().max() < 0.1, (
    "with very many directions it must come near to softmax attention"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="features"
# Which trial is the first that is off? In the first all keys are alike, in the second they differ
# in length alone, in the third in direction too.

# %% [markdown] tags=["hint"] exercise="features"
# $q \cdot k / \sqrt d = (q / d^{1/4}) \cdot (k / d^{1/4})$. Scale once, at the top, then use the
# scaled rows for everything.


# %% tags=["wrong-answer"] exercise="features"
mended_attention = broken_attention  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="features"
def mended_attention(q, k, v, W):  # the softmax itself, with no features
    return (q @ k.T / q.shape[1] ** 0.5).softmax(1) @ v


# %% tags=["wrong-answer"] exercise="features"
def mended_attention(q, k, v, W):  # not scaled at all
    a, b = (torch.exp(x @ W.T - (x * x).sum(1, keepdim=True) / 2) for x in (q, k))
    return a @ (b.T @ v) / (a @ b.sum(0)[:, None])


# %% tags=["wrong-answer"] exercise="features"
def mended_attention(q, k, v, W):  # the mean of the values
    return v.mean(0).expand(len(q), -1)


# %% [markdown]
# ## 12. Transformer-XL: memory between segments
#
# *Predict, then find and fix a planted bug · 15 min · hard · book 5.1.4.1*
#
# Transformer-XL processes a long text in segments of {{SEGMENT}} tokens. Each of its {{DEEP}}
# attention layers also attends to a **memory**: the layer's inputs at the last {{MEMORY}} positions
# before the segment. So a query attends to the whole memory, to the earlier tokens of its own
# segment, and to itself. **Predict**, for a segment far from the start of the text:
#
# - `"alone"`: from how many tokens, itself included, can the **last** query of a segment receive
#   information after all layers if there is no memory,
# - `"scores"`: how many scores does one layer compute for one segment with memory, counting only
#   those of keys that the query attends to,
# - `"first"`: from how many tokens **before the segment** can its **first** query receive
#   information after all layers,
# - `"longer"`: the same if the memory has 2 · {{SEGMENT}} positions.
#
# The cell checks the first three.

# %% tags=["variant"] exercise="reach"
DEEP = number(3, 6)
SEGMENT = number(8, 20, 2)
MEMORY = SEGMENT - number(2, 5)


# %% nbgrader={"grade_id": "reach", "solution": true}
def predicted_context():
    """Return {"alone": n, "scores": n, "first": n, "longer": n}."""
    ### BEGIN SOLUTION
    return {
        "alone": SEGMENT,
        "scores": SEGMENT * MEMORY + SEGMENT * (SEGMENT + 1) // 2,
        "first": MEMORY + (DEEP - 1) * SEGMENT,
        "longer": DEEP * 2 * SEGMENT,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "reach-check", "grade": true, "points": 3} own="predict"
def segment_mask(tokens, length, kept):
    """Whether a query (row) attends to a key (column): (tokens, tokens), True = yes."""
    t = torch.arange(tokens)
    return (t <= t[:, None]) & (t >= t[:, None] // length * length - kept)


def tokens_reached(layers, length, kept, place):
    """From how many tokens information reaches a query at `place` in a late segment."""
    tokens = (2 * layers + 2) * length
    step, reached = segment_mask(tokens, length, kept).float(), torch.eye(tokens)
    for _ in range(layers):
        reached = (reached @ step > 0).float()
    return int(reached[tokens - length + place].sum())


said = returned("predicted_context", predicted_context())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"alone", "scores", "first", "longer"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
alone = tokens_reached(DEEP, SEGMENT, 0, SEGMENT - 1)
assert said["alone"] == alone, (
    f"alone: {missed(said['alone'], alone)}. Can anything cross the start of the segment?"
)
scores = int(segment_mask(3 * SEGMENT, SEGMENT, MEMORY)[-SEGMENT:].sum())
assert said["scores"] == scores, (
    f"scores: {missed(said['scores'], scores)}. Each query attends to all of the memory, but only "
    "the last one to the whole segment"
)
first = tokens_reached(DEEP, SEGMENT, MEMORY, 0) - 1
assert said["first"] == first, (
    f"first: {missed(said['first'], first)}. An input in the memory was computed in an earlier "
    "segment. What did its own layer attend to there?"
)
### BEGIN HIDDEN TESTS
longer = tokens_reached(DEEP, SEGMENT, 2 * SEGMENT, 0) - 1
assert said["longer"] == longer, (
    f"longer: {longer}: each layer reaches as far back as the memory is long"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="reach"
# One layer reaches to the start of the memory. In the second layer, the earliest input in the
# memory is a token of the segment before. That token attended to its own segment from the start,
# and to the memory before it.

# %% [markdown] tags=["hint"] exercise="reach"
# So a memory that is not longer than a segment adds one whole segment with each further layer.


# %% tags=["wrong-answer"] exercise="reach"
def predicted_context():  # each layer adds the memory
    return {
        "alone": SEGMENT,
        "scores": SEGMENT * MEMORY + SEGMENT * (SEGMENT + 1) // 2,
        "first": DEEP * MEMORY,
        "longer": 2 * DEEP * SEGMENT,
    }


# %% tags=["wrong-answer"] exercise="reach"
def predicted_context():  # no causal mask in the segment
    return {
        "alone": SEGMENT,
        "scores": SEGMENT * (MEMORY + SEGMENT),
        "first": MEMORY + (DEEP - 1) * SEGMENT,
        "longer": 2 * DEEP * SEGMENT,
    }


# %% tags=["wrong-answer"] exercise="reach"
def predicted_context():  # layers alone carry information across segments
    return {
        "alone": DEEP * SEGMENT,
        "scores": SEGMENT * MEMORY + SEGMENT * (SEGMENT + 1) // 2,
        "first": MEMORY + (DEEP - 1) * SEGMENT,
        "longer": 2 * DEEP * SEGMENT,
    }


# %% tags=["wrong-answer"] exercise="reach"
def predicted_context():  # a longer memory counts in the first layer only
    return {
        "alone": SEGMENT,
        "scores": SEGMENT * MEMORY + SEGMENT * (SEGMENT + 1) // 2,
        "first": MEMORY + (DEEP - 1) * SEGMENT,
        "longer": 2 * SEGMENT + (DEEP - 1) * SEGMENT,
    }


# %% [markdown]
# **Find and fix.** The next cell processes a text segment by segment. It returns the outputs and,
# with their squares as the loss of the last segment, the gradient with respect to the text. The
# outputs should equal those of one pass over the whole text with the mask of Transformer-XL, and no
# gradient should flow through the memory into an earlier segment. Positions are left out. No error
# is raised, but one thing is wrong. Run the trials, then fix it in `mended_pass`.


# %% tags=["bug"] exercise="segments" bug="each query attends to the next token" caught="future:"
def broken_pass(x, layers, length, kept):
    """Return outputs (T, d) and the gradient (T, d), with `kept` positions of memory."""
    x = x.clone().requires_grad_()
    memories, out = [x[:0] for _ in layers], []
    for h in x.split(length):
        for i, (q, k, v) in enumerate(layers):
            context = torch.cat([memories[i], h])  # (M + L, d)
            memories[i] = context[-kept:].detach()
            scores = (h @ q) @ (context @ k).T / h.shape[1] ** 0.5
            later = torch.ones_like(scores).triu(2 + len(context) - len(h)).bool()
            h = h + scores.masked_fill(later, -torch.inf).softmax(1) @ (context @ v)
        out.append(h)
    (grad,) = torch.autograd.grad(h.square().sum(), x)  # of the last segment's loss
    return torch.cat(out).detach(), grad


# %% tags=["bug"] exercise="segments" bug="the mask ignores the memory" caught="two segments:"
def broken_pass(x, layers, length, kept):
    """Return outputs (T, d) and the gradient (T, d), with `kept` positions of memory."""
    x = x.clone().requires_grad_()
    memories, out = [x[:0] for _ in layers], []
    for h in x.split(length):
        for i, (q, k, v) in enumerate(layers):
            context = torch.cat([memories[i], h])  # (M + L, d)
            memories[i] = context[-kept:].detach()
            scores = (h @ q) @ (context @ k).T / h.shape[1] ** 0.5
            later = torch.ones_like(scores).triu(1).bool()
            h = h + scores.masked_fill(later, -torch.inf).softmax(1) @ (context @ v)
        out.append(h)
    (grad,) = torch.autograd.grad(h.square().sum(), x)  # of the last segment's loss
    return torch.cat(out).detach(), grad


# %% tags=["bug"] exercise="segments" bug="the layer's output is kept" caught="two segments:"
def broken_pass(x, layers, length, kept):
    """Return outputs (T, d) and the gradient (T, d), with `kept` positions of memory."""
    x = x.clone().requires_grad_()
    memories, out = [x[:0] for _ in layers], []
    for h in x.split(length):
        for i, (q, k, v) in enumerate(layers):
            context = torch.cat([memories[i], h])  # (M + L, d)
            scores = (h @ q) @ (context @ k).T / h.shape[1] ** 0.5
            later = torch.ones_like(scores).triu(1 + len(context) - len(h)).bool()
            h = h + scores.masked_fill(later, -torch.inf).softmax(1) @ (context @ v)
            memories[i] = torch.cat([memories[i], h])[-kept:].detach()
        out.append(h)
    (grad,) = torch.autograd.grad(h.square().sum(), x)  # of the last segment's loss
    return torch.cat(out).detach(), grad


# %% tags=["bug"] exercise="segments" bug="the first positions are kept" caught="short memory:"
def broken_pass(x, layers, length, kept):
    """Return outputs (T, d) and the gradient (T, d), with `kept` positions of memory."""
    x = x.clone().requires_grad_()
    memories, out = [x[:0] for _ in layers], []
    for h in x.split(length):
        for i, (q, k, v) in enumerate(layers):
            context = torch.cat([memories[i], h])  # (M + L, d)
            memories[i] = context[:kept].detach()
            scores = (h @ q) @ (context @ k).T / h.shape[1] ** 0.5
            later = torch.ones_like(scores).triu(1 + len(context) - len(h)).bool()
            h = h + scores.masked_fill(later, -torch.inf).softmax(1) @ (context @ v)
        out.append(h)
    (grad,) = torch.autograd.grad(h.square().sum(), x)  # of the last segment's loss
    return torch.cat(out).detach(), grad


# %% tags=["bug"] exercise="segments" bug="older memory is dropped" caught="long memory:"
def broken_pass(x, layers, length, kept):
    """Return outputs (T, d) and the gradient (T, d), with `kept` positions of memory."""
    x = x.clone().requires_grad_()
    memories, out = [x[:0] for _ in layers], []
    for h in x.split(length):
        for i, (q, k, v) in enumerate(layers):
            context = torch.cat([memories[i], h])  # (M + L, d)
            memories[i] = h[-kept:].detach()
            scores = (h @ q) @ (context @ k).T / h.shape[1] ** 0.5
            later = torch.ones_like(scores).triu(1 + len(context) - len(h)).bool()
            h = h + scores.masked_fill(later, -torch.inf).softmax(1) @ (context @ v)
        out.append(h)
    (grad,) = torch.autograd.grad(h.square().sum(), x)  # of the last segment's loss
    return torch.cat(out).detach(), grad


# %% tags=["bug"] exercise="segments" bug="the memory is not detached" caught="gradient:"
def broken_pass(x, layers, length, kept):
    """Return outputs (T, d) and the gradient (T, d), with `kept` positions of memory."""
    x = x.clone().requires_grad_()
    memories, out = [x[:0] for _ in layers], []
    for h in x.split(length):
        for i, (q, k, v) in enumerate(layers):
            context = torch.cat([memories[i], h])  # (M + L, d)
            memories[i] = context[-kept:]
            scores = (h @ q) @ (context @ k).T / h.shape[1] ** 0.5
            later = torch.ones_like(scores).triu(1 + len(context) - len(h)).bool()
            h = h + scores.masked_fill(later, -torch.inf).softmax(1) @ (context @ v)
        out.append(h)
    (grad,) = torch.autograd.grad(h.square().sum(), x)  # of the last segment's loss
    return torch.cat(out).detach(), grad


# %%
def one_pass(x, layers, length, kept):
    """The same in one pass over the whole text, where gradients flow everywhere."""
    x = x.clone().requires_grad_()
    t, h = torch.arange(len(x)), x
    allowed = (t <= t[:, None]) & (t >= t[:, None] // length * length - kept)
    for q, k, v in layers:
        scores = (h @ q) @ (h @ k).T / h.shape[1] ** 0.5
        h = h + scores.masked_fill(~allowed, -torch.inf).softmax(1) @ (h @ v)
    last = h[(len(x) - 1) // length * length :]
    return h.detach(), torch.autograd.grad(last.square().sum(), x)[0]


def random_text(tokens, d=6, depth=2, seed=8):
    """Random rows (tokens, d), and the matrices (q, k, v) of some layers."""
    g = torch.Generator().manual_seed(seed)
    layers = torch.randn(depth, 3, d, d, generator=g, dtype=torch.float64) / d**0.5
    return torch.randn(tokens, d, generator=g, dtype=torch.float64), layers


def effect_of_last(run, tokens=4):
    """How much the earlier outputs of one segment change with its last token."""
    x, layers = random_text(tokens)
    other = torch.cat([x[:-1], x[-1:] + 1])
    outputs = [run(rows, layers, tokens, 2)[0] for rows in (x, other)]
    return float((outputs[0] - outputs[1])[:-1].abs().max())


TRIALS = {
    "two segments": (8, 4, 4),
    "short memory": (12, 4, 2),
    "long memory": (10, 2, 5),
}
for name, (tokens, length, kept) in TRIALS.items():
    given = random_text(tokens)
    mine, whole = (run(*given, length, kept) for run in (broken_pass, one_pass))
    norms = [round(float(part.norm()), 4) for part in mine[1].split(length)]
    print(f"{name}: {tokens} tokens, segments of {length}, memory of {kept}; outputs differ from "
          f"one pass by up to {float((mine[0] - whole[0]).abs().max()):.4f}; norm of the gradient "
          f"in each segment {norms}")  # fmt: skip
print(f"effect of the last token on earlier outputs: {effect_of_last(broken_pass):.4f}")


# %% nbgrader={"grade_id": "segments", "solution": true}
def mended_pass(x, layers, length, kept):
    """Return outputs (T, d) and the gradient (T, d), with `kept` positions of memory."""
    x = x.clone().requires_grad_()
    ### BEGIN SOLUTION
    memories, out = [x[:0] for _ in layers], []
    for h in x.split(length):
        for i, (q, k, v) in enumerate(layers):
            context = torch.cat([memories[i], h])  # (M + L, d)
            memories[i] = context[-kept:].detach()
            scores = (h @ q) @ (context @ k).T / h.shape[1] ** 0.5
            later = torch.ones_like(scores).triu(1 + len(context) - len(h)).bool()
            h = h + scores.masked_fill(later, -torch.inf).softmax(1) @ (context @ v)
        out.append(h)
    (grad,) = torch.autograd.grad(h.square().sum(), x)  # of the last segment's loss
    return torch.cat(out).detach(), grad
    ### END SOLUTION


# %% nbgrader={"grade_id": "segments-check", "grade": true, "points": 4}
x, layers = random_text(8)
found = returned("mended_pass", mended_pass(x, layers, 4, 4))
assert isinstance(found, tuple), "return the outputs and the gradient"
assert len(found) == 2, "return two: the outputs and the gradient"
shapes = [tuple(part.shape) for part in found]
assert shapes == [(8, 6), (8, 6)], f"both have one row per token, (8, 6); yours {shapes}"
changed = effect_of_last(mended_pass)
assert changed < 1e-9, (
    f"future: the last token changes earlier outputs by {changed:.4f}. Which keys may a query not "
    "attend to?"
)
slopes = {}
for name, (tokens, length, kept) in TRIALS.items():
    x, layers = random_text(tokens)
    out, slopes[name] = mended_pass(x, layers, length, kept)
    off = (out - one_pass(x, layers, length, kept)[0]).abs().amax(1)
    wrong = (off > 1e-9).nonzero().flatten().tolist()
    assert not wrong, (
        f"{name}: segments of {length}, memory of {kept}; the outputs of tokens {wrong} differ "
        "from one pass over the text. What should the memory contain, and what may they attend to?"
    )
for name, (tokens, length, kept) in TRIALS.items():
    earlier, last = slopes[name][:-length], slopes[name][-length:]
    assert earlier.abs().max() < 1e-9, (
        f"gradient: its norm in the earlier segments ({name}) is {float(earlier.norm()):.4f}, and "
        "should be 0. Nothing may flow back through the memory"
    )
    right = one_pass(*random_text(tokens), length, kept)[1][-length:]
    assert torch.allclose(last, right), f"gradient: it is off within the last segment ({name})"
### BEGIN HIDDEN TESTS
for tokens, length, kept, depth in ((11, 3, 1, 3), (13, 4, 9, 2), (7, 7, 3, 4)):
    x, layers = random_text(tokens, 5, depth, seed=tokens)
    (out, grad), (right, everywhere) = (
        run(x, layers, length, kept) for run in (mended_pass, one_pass)
    )
    assert (out - right).abs().max() < 1e-9, f"{tokens} tokens in segments of {length} are off"
    start = (tokens - 1) // length * length
    assert torch.allclose(grad[start:], everywhere[start:]), "the last segment's gradient is off"
    assert not grad[:start].any(), "gradients cross segments"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="segments"
# Which trial is the first that differs? In the first one, the memory is exactly one segment. Then
# the memory is shorter, then longer than a segment.

# %% [markdown] tags=["hint"] exercise="segments"
# For query number $i$ of a segment, the context has M positions of memory and then the segment, so
# the query's own position in it is M + $i$.

# %% [markdown] tags=["hint"] exercise="segments"
# A layer needs in its memory what it would have attended to in one pass: its own inputs, at the
# last positions before the segment, as constants.


# %% tags=["wrong-answer"] exercise="segments"
mended_pass = broken_pass  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="segments"
mended_pass = one_pass  # equal outputs, but gradients flow everywhere


# %% tags=["wrong-answer"] exercise="segments"
def mended_pass(x, layers, length, kept):  # no memory at all
    parts = [one_pass(h, layers, length, 0) for h in x.split(length)]
    slopes = [torch.zeros_like(grad) for _, grad in parts[:-1]] + [parts[-1][1]]
    return torch.cat([out for out, _ in parts]), torch.cat(slopes)


# %% tags=["wrong-answer"] exercise="segments"
def mended_pass(x, layers, length, kept):  # no gradient within a segment either
    return one_pass(x, layers, length, kept)[0], torch.zeros_like(x)


# %% [markdown]
# ## 13. How does it grow?
#
# *Code, measure, explain · 18 min · hard · book 5.2.1*
#
# "Linear" is a claim about long texts. If the cost is $c\,n^p$, then
# $\log \mathrm{cost} = \log c + p \log n$: the exponent $p$ is the slope of a straight line. Write
# `fitted_exponent`: the slope of the least-squares line through the points
# $(\log n, \log \mathrm{cost})$ of those lengths that are at least `start`.

# %% tags=["variant"] exercise="grow"
LENGTHS = choose((64, 128, 256, 512, 1024, 2048), (48, 96, 192, 384, 768, 1536))
WIDE = number(64, 128, 8)
LONG = number(1_000, 3_000, 100)
REACH = choose(16, 24, 32)
rename("fitted_exponent", "power_of", "growth_rate")


# %% nbgrader={"grade_id": "grow", "solution": true}
def fitted_exponent(lengths, costs, start=0):
    """Return the slope of log cost against log length, of lengths >= start."""
    ### BEGIN SOLUTION
    kept = [(n, c) for n, c in zip(lengths, costs, strict=True) if n >= start]
    x = torch.tensor([n for n, _ in kept], dtype=torch.float64).log()
    y = torch.tensor([c for _, c in kept], dtype=torch.float64).log()
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())
    ### END SOLUTION


# %% nbgrader={"grade_id": "grow-check", "grade": true, "points": 2}
square = [3.0 * n * n for n in LENGTHS]
found = returned("fitted_exponent", fitted_exponent(LENGTHS, square))
assert isinstance(found, float), f"return a number, float(...); yours is {type(found).__name__}"
assert abs(found - 2) < 1e-6, f"3 n^2 has the exponent 2, whatever the 3; yours is {found:.3f}"
bent = [n if n < LENGTHS[3] else n * n for n in LENGTHS]
found = fitted_exponent(LENGTHS, bent, start=LENGTHS[3])
assert abs(found - 2) < 1e-6, (
    f"from {LENGTHS[3]} on it is n^2; shorter lengths must not count; yours is {found:.3f}"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(9)
noisy = [n**1.5 * float(torch.exp(0.1 * torch.randn((), generator=g))) for n in LENGTHS]
x = torch.tensor(LENGTHS, dtype=torch.float64).log()
y = torch.tensor(noisy, dtype=torch.float64).log()
A = torch.stack([x, torch.ones_like(x)], 1)
line = torch.linalg.lstsq(A, y[:, None]).solution
assert abs(fitted_exponent(LENGTHS, noisy) - float(line[0, 0])) < 1e-6, "with noise it is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="grow"
# The slope is $\sum (x - \bar x)(y - \bar y) / \sum (x - \bar x)^2$ with $x = \log n$,
# $y = \log \mathrm{cost}$.


# %% [markdown]
# **Predict.** One layer has four projections of $n$ rows, each a product with a ({{WIDE}},
# {{WIDE}}) matrix, then the scores and the mix. On paper, for full attention: at which $n$ do
# scores and mix together have as many operations as the projections (`"even"`), and which share of
# the layer's operations, from 0 to 1, have they at {{LONG}} tokens (`"share"`)?


# %% nbgrader={"grade_id": "grow-own", "solution": true}
def predicted_crossing():
    """Return {"even": n, "share": x}, x to two digits after the point."""
    ### BEGIN SOLUTION
    return {"even": 2 * WIDE, "share": round(LONG / (LONG + 2 * WIDE), 2)}
    ### END SOLUTION


# %% nbgrader={"grade_id": "grow-own-check", "grade": true, "points": 3} own="predict"
from functools import partial

from deepdive.core import MultiHeadAttention
from deepdive_book.kit.flops import count_flops

said = returned("predicted_crossing", predicted_crossing())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
assert set(said) == {"even", "share"}, f"the names are even and share, yours {sorted(said)}"


def quadratic(n):
    """Operations of the layer at n tokens, and those that are not the projections'."""
    every = count_flops(partial(MultiHeadAttention(WIDE, 4), torch.ones(1, n, WIDE)))
    return every, every - 8 * n * WIDE**2


every, products = quadratic(int(said["even"]))
assert abs(2 * products - every) < 0.01 * every, (
    f"even: at {said['even']} tokens scores and mix have {products / 1e6:.2f} of "
    f"{every / 1e6:.2f} million operations, which is not half: set $4 n^2 d$ and $8 n d^2$ equal"
)
### BEGIN HIDDEN TESTS
every, products = quadratic(LONG)
assert abs(said["share"] - products / every) < 0.011, (
    f"share: counted it is {products / every:.2f} at {LONG} tokens"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="grow-own"
# A product of $(n, d)$ and $(d, d)$ has $2 n d^2$ operations, and there are four. The scores of all
# heads together have $2 n^2 d$, and so has the mix.


# %% tags=["wrong-answer"] exercise="grow-own"
def predicted_crossing():  # three projections
    return {"even": round(1.5 * WIDE), "share": round(LONG / (LONG + 1.5 * WIDE), 2)}


# %% tags=["wrong-answer"] exercise="grow-own"
def predicted_crossing():  # forgets the mix
    return {"even": 4 * WIDE, "share": round(LONG / (LONG + 4 * WIDE), 2)}


# %% tags=["wrong-answer"] exercise="grow-own"
def predicted_crossing():  # right where they are even, the share upside down
    return {"even": 2 * WIDE, "share": round(2 * WIDE / (LONG + 2 * WIDE), 2)}


# %% [markdown]
# **Measure.** The operations of one layer of self-attention, {{WIDE}} wide with 4 heads,
# projections included, are counted while it runs: with full attention, and with a window of
# {{REACH}} on each side. Fit both with your function, in a cell of your own, and full attention
# over the three longest texts alone.

# %%
from deepdive.attention import WindowAttention

layers = {
    "full": MultiHeadAttention(WIDE, 4),
    "window": MultiHeadAttention(WIDE, 4, mechanism=WindowAttention(REACH, REACH)),
}
costs = {name: [] for name in layers}
for name, layer in layers.items():
    for n in LENGTHS:
        costs[name].append(count_flops(partial(layer, torch.ones(1, n, WIDE))))
        print(f"{name:>6}, {n:>4} tokens: {costs[name][-1] / 1e6:8.1f} million operations")

# %% [markdown]
# **Explain** in three to five sentences, with your numbers: why is the exponent of full attention
# below 2 over all lengths, and nearer to 2 over the longest? Which part of the layer is linear, and
# from about which length on does the quadratic part have more operations than it? A vendor shows
# that his attention is "linear, and twice as fast as full attention at 256 tokens": what does each
# half of the sentence tell you about a text of 8,192 tokens?

# %% [markdown] nbgrader={"grade_id": "grow-why", "grade": true, "solution": true, "points": 4}
# ### BEGIN SOLUTION
# The layer has four projections, $8 n d^2$ operations, and two products of attention, $4 n^2 d$.
# Only the second part is quadratic. They are equal at $n = 2d$, so at the shortest lengths the
# linear part rules and the slope is nearer to 1; over the three longest most of the operations are
# the quadratic ones, and the slope comes near 2 without reaching it. The window's slope is about 1
# throughout. Of the vendor's sentence the first half says how the cost grows, not how large it is,
# and nothing of what is lost; the second half is a ratio at one short length, where the projections
# may be most of the time. At 8,192 one has to measure, beside the error.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="grow-why"
# - **4 points**: names the projections as the linear part with the crossing near $n = 2d$, uses
#   own exponents of both fits, and separates growth, constant and error in the vendor's sentence.
# - **2 points**: two of these, or all without numbers of its own.
# - **0 points**: says that full attention is simply quadratic, or takes the ratio at 256 tokens for
#   one at 8,192.


# %% tags=["wrong-answer"] exercise="grow"
def fitted_exponent(lengths, costs, start=0):  # no logarithms
    x, y = (torch.tensor(list(v), dtype=torch.float64) for v in (lengths, costs))
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


# %% tags=["wrong-answer"] exercise="grow"
def fitted_exponent(lengths, costs, start=0):  # every length counts
    x, y = (torch.tensor(list(v), dtype=torch.float64).log() for v in (lengths, costs))
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())


# %% tags=["wrong-answer"] exercise="grow"
def fitted_exponent(lengths, costs, start=0):  # the logarithm of one side only
    kept = [(n, c) for n, c in zip(lengths, costs, strict=True) if n >= start]
    x = torch.tensor([float(n) for n, _ in kept], dtype=torch.float64)
    y = torch.tensor([float(c) for _, c in kept], dtype=torch.float64).log()
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / (x * x).sum())

# %% [markdown]
# # PyTorch essentials: shapes, broadcasting, einops, autograd
#
# A batch of sentences is a block of numbers with three sides. Which side is what, and which line of
# a program mixes them up without an error?
#
# <small>Prerequisites: math for Transformers · 25 min · runs on a laptop · Chapter 2, what its code
# takes as known</small>

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
# %% tags=["fold"]
from deepdive_book.kit.diagrams import arrow, cells, svg, text
from deepdive_book.kit.plotting import show


def block(x, y, table, roles, title):
    """A table of numbers, row by row, its columns in the colours of `roles`."""
    parts = [text(x + 15 * len(table[0]), y - 34, title, 13)]
    for i, row in enumerate(table):
        for j, value in enumerate(row):
            parts.append(cells(x + 30 * j, y + 32 * i, [value], roles[i][j]))
    return parts


numbers = [[4 * t + j for j in range(4)] for t in range(3)]  # 3 tokens, 4 features
two = [["query", "query", "value", "value"]] * 3
body = block(60, 62, numbers, two, "T = 3, d_model = 4")
body += [text(28, 62 + 32 * t, f"token {t}", 12) for t in range(3)]
body += [arrow(196, 94, 246, 94)]
body += block(262, 62, [row[:2] for row in numbers], [["query"] * 2] * 3, "head 0: (3, 2)")
body += block(382, 62, [row[2:] for row in numbers], [["value"] * 2] * 3, "head 1: (3, 2)")
show(
    svg(470, 152, body),
    "A table of 3 tokens and 4 features, its left two columns in one colour and its right two in "
    "another; an arrow leads to two tables of 3 tokens and 2 features, one for each head.",
)

# %% [markdown]
# *Splitting into heads cuts the columns and keeps the rows. It is easily done wrong without an
# error; below you will see how, and how to notice.*
#
# A **token** is a word or a piece of one, here a row; its numbers are its **features**. A
# **tensor** is a block of numbers with a **shape**, the lengths of its sides. Many bugs on the way
# to a first model are a shape that is not what you thought. Some raise an error. The others train.

# %% [markdown]
# ## 1. Shapes have names
#
# The same letters stand on all pages:
#
# | letter | what it counts | typical |
# |---|---|---|
# | $B$ | sentences in the batch | 32 |
# | $T$, $S$ | tokens that ask, tokens that answer | 20 |
# | d_model | features of a token | 512 |
# | $H$, d_head | heads, features of a head | 8, 64 |
#
# The three sides of a batch of sentences are $B$, $T$ and d_model. A **head** is one of several
# attentions side by side; each gets its own slice of the features.
#
# A matrix product joins the **last** side of the left with the **second last** of the right, and
# leaves the sides before them alone: $(B, T, d) \times (B, d, S)$ gives $(B, T, S)$. The side $d$
# where they meet is summed away. Keys come as rows, $(S, d)$, so swap their last two sides first:
# `transpose(-2, -1)`.

# %% tags=["nbval-check-output"]
import torch

q = torch.tensor([[1.0, 2.0]])  # (T=1, d=2)
k = torch.tensor([[0.0, 1.0], [1.0, 0.0], [-2.0, 1.0]])  # (S=3, d=2)
scores = q @ k.transpose(-2, -1)  # (1, 2) @ (2, 3) -> (1, 3)
assert scores.tolist() == [[2.0, 1.0, 0.0]]
many = torch.randn(8, 5, 2) @ torch.randn(8, 3, 2).transpose(-2, -1)  # (B=8, T=5, S=3)
print(scores, tuple(many.shape))

# %% [markdown]
# Check with a pencil: the row $(1, 2)$ with the three keys gives 2, 1, 0, as on the page before.
#
# ### Mistake 1: two matrices that do not meet
#
# Leave the transpose out, and the sides that must be equal are 2 and 3:


# %%
from textwrap import fill, shorten


def attempt(action):
    """Run something that fails, and show how torch's message begins."""
    try:
        action()
    except Exception as error:
        print(fill(shorten(f"{type(error).__name__}: {error}", 200), 84, subsequent_indent="  "))
        return type(error)


assert attempt(lambda: q @ k) is RuntimeError
assert attempt(lambda: torch.randn(8, 5, 2) @ torch.randn(8, 3, 2)) is RuntimeError

# %% [markdown]
# **Read it so:** the two shapes are printed; find the two sides that torch tried to join. In the
# first message they stand in the middle, $1\times2$ and $3\times2$: 2 is not 3. The second, with a
# batch, speaks of the right-hand tensor only: it should begin with 8 and 2, and begins with 8 and
# 3. **Fix:** `k.transpose(-2, -1)`. Negative numbers count from the end, so the line works with
# and without a batch.
#
# The error is your friend. Had $S$ been equal to $d$, the wrong product would have run. So try new
# code with sides that all differ.

# %% [markdown]
# ## 2. Broadcasting: a side of length 1 stretches
#
# Two tensors of different shape can be added. Write the shapes one under the other, **aligned to
# the right**. Each pair of sides must be equal, or one of them 1 or missing; that one is repeated.

# %% tags=["fold"]
column, row = [[10], [20], [30]], [[1, 2, 3, 4]]
total = [[c[0] + r for r in row[0]] for c in column]
body = block(20, 62, column, [["query"]] * 3, "(3, 1)")
body += [text(84, 94, "+", 20), *block(116, 94, row, [["key"] * 4], "(4)")]
body += [text(268, 94, "=", 20), *block(300, 62, total, [["output"] * 4] * 3, "(3, 4)")]
show(
    svg(440, 152, body),
    "A column 10, 20, 30 plus a row 1, 2, 3, 4 gives a table of three rows and four columns: 11 to "
    "14, 21 to 24, 31 to 34.",
)

# %% [markdown]
# *The column is repeated to the right, the row downwards. Nothing is copied in memory.*
#
# This is how one padding mask serves all heads and all queries. It is True at words and False at
# the blanks that fill up short sentences. Its shape is $(B, 1, 1, S)$, and scores have
# $(B, H, T, S)$. Below, `~` means *not*, and `masked_fill` gives each blank minus infinity as a
# score, so its share is zero. The last line gives the mask's sides in the wrong order.

# %%
column, row = torch.tensor([[10], [20], [30]]), torch.tensor([1, 2, 3, 4])
assert (column + row).tolist() == total
scores, mask = torch.randn(2, 4, 5, 7), torch.ones(2, 1, 1, 7, dtype=torch.bool)
assert scores.masked_fill(~mask, float("-inf")).shape == (2, 4, 5, 7)
assert attempt(lambda: scores + torch.ones(2, 7, 1, 1)) is RuntimeError

# %% [markdown]
# **Read it so:** count the sides from 0. Side 1 has length 4 here and 7 there, and neither is 1,
# which torch calls *singleton*.
#
# ### Mistake 2: the side that stretched in silence
#
# A model gives $B$ predictions as a column, $(B, 1)$. The right answers came as a plain list,
# $(B)$. The difference is wanted, one number for each. What comes is $(B, B)$: every prediction
# against every answer. The mean of its squares is a fine loss, as far as torch can tell.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The data are y = 2x. We train a line by this wrong loss until it no longer falls. Which slope "
    "does it find?",
    ["2, only more slowly", "0: a flat line", "none: it stops with an error"],
    answer=1,
    explain="Each prediction is compared with all answers, so the best it can do is their mean. "
    "The loss falls, the curve looks healthy, and the line is flat.",
    key="00_start/flat-line",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from torch import nn

from deepdive.training import fit
from deepdive.training.optim import adam

x = torch.linspace(-1, 1, 64)[:, None]  # (B, 1)
y = 2 * x[:, 0]  # (B,)
found = {}
for name, answers in (("(B, 1) against (B)", y), ("(B, 1) against (B, 1)", y[:, None])):
    line = nn.Linear(1, 1)
    with torch.no_grad():
        line.weight.fill_(1.0)

    def loss(line, batch):
        return ((line(batch[0]) - batch[1]) ** 2).mean()

    history = fit(line, [(x, answers)], loss, steps=400, optimizer=adam(line, lr=0.02))
    found[name] = (history.losses, line.weight.item())
    print(f"{name:>22}: loss {history.losses[0]:.2f} to {history.losses[-1]:.2f}, slope", end=" ")
    print(f"{line.weight.item():+.2f}")

# %%
wrong, right = found.values()
assert abs(wrong[1]) < 0.1
assert abs(right[1] - 2) < 0.1
assert wrong[0][-1] < wrong[0][0]
outcome = (x - y).shape
f"the difference has shape {tuple(outcome)} where (64,) was meant"

# %% [markdown]
# **Symptom:** a loss that falls a little and stops, and predictions that are all alike: each is
# pulled to all answers at once, so to their mean, here 0. **Fix:** make the shapes equal before
# you subtract, and say so: `assert a.shape == b.shape`.

# %% [markdown]
# ## 3. einops: say what you mean
#
# `view`, `transpose` and `permute` name sides by number. `einops.rearrange` names them by letters
# or words, and checks them. Brackets join two sides in one: `(h d)` is `h` blocks of `d` features.
# Splitting into heads, merging back:

# %%
from einops import rearrange

x = torch.arange(12.0).view(1, 3, 4)  # (B=1, T=3, d_model=4), as in the first picture
heads = rearrange(x, "b t (h d) -> b h t d", h=2)  # (1, 2, 3, 2)
assert torch.equal(heads, x.view(1, 3, 2, 2).transpose(1, 2))
assert torch.equal(rearrange(heads, "b h t d -> b t (h d)"), x)
heads[0, 0]

# %% [markdown]
# Head 0 has the first two features of every token: 0, 1 of token 0, then 4, 5, then 8, 9. Compare
# with the picture.
#
# ### Mistake 3: the right shape with the wrong numbers
#
# `reshape` can also make $(B, H, T, d_\mathrm{head})$ out of $(B, T, d_\mathrm{model})$, in one go.
# It never fails when the number of entries fits. It takes them as they lie in memory, row after
# row.

# %%
mixed = x.reshape(1, 2, 3, 2)
assert mixed.shape == heads.shape
assert not torch.equal(mixed, heads)
mixed[0, 0]

# %% tags=["fold"]
flat = [["query" if 4 * t + j < 6 else "value" for j in range(4)] for t in range(3)]
body = block(60, 62, numbers, flat, "x.reshape(1, 2, 3, 2)")
body += [text(28, 62 + 32 * t, f"token {t}", 12) for t in range(3)] + [arrow(196, 94, 246, 94)]
body += block(262, 62, mixed[0, 0].tolist(), [["query"] * 2] * 3, "“head 0”")
body += block(382, 62, mixed[0, 1].tolist(), [["value"] * 2] * 3, "“head 1”")
show(
    svg(470, 152, body),
    "The same table cut across its rows: the first colour takes token 0 and half of token 1, the "
    "second the other half of token 1 and token 2. Each head holds other tokens.",
)

# %% [markdown]
# *Cut across the rows: "head 0" has token 0 and half of token 1, and nothing of token 2.*
#
# **Symptom:** no error. The model trains, but a causal mask, which keeps a token from reading later
# ones, no longer hides the future, since row 0 of "head 1" holds token 1. That `reshape` is the
# line of the page's first question. **Fix:** `rearrange`. And a test that works for every layer:
# change one token, and see which rows move.

# %%
changed = x.clone()
changed[:, 2] += 100  # another last token
for name, split in (
    ("rearrange", lambda t: rearrange(t, "b t (h d) -> b h t d", h=2)),
    ("reshape", lambda t: t.reshape(1, 2, 3, 2)),
):
    moved = (split(changed) != split(x)).any(-1)[0]  # (H, T)
    print(f"{name:>9}: rows that moved, head by head: {moved.int().tolist()}")
assert moved.tolist() == [[False] * 3, [False, True, True]]

# %% [markdown]
# With `rearrange` only the row of the last token moved, in both heads. With `reshape` head 0
# did not notice, and head 1 moved in two rows.
#
# `view` makes the same wrong split, but refuses the wrong merge: it never copies, so it works only
# where the numbers already lie in order. Its error is worth knowing:

# %%
assert attempt(lambda: heads.view(1, 3, 4)) is RuntimeError

# %% [markdown]
# **Read it so:** the tensor was transposed, its numbers no longer lie row after row. The message
# suggests `reshape`, which runs, and mixes tokens as in mistake 3. Merge heads with `rearrange`.

# %% [markdown]
# ## 4. Autograd: the chain, kept for you
#
# Every result made from a tensor with `requires_grad=True` remembers what it was made from.
# `backward()` walks that chain to the start and puts the slope of the loss, the **gradient**, into
# `.grad` of each parameter: the chain rule of the page before.

# %%
w = torch.tensor(2.0, requires_grad=True)
loss = (w * 3 - 4) ** 2  # 4, as on the page before
loss.backward()
assert w.grad == 12
before = loss.grad_fn.next_functions[0][0]
print("made by", type(loss.grad_fn).__name__, "from", type(before).__name__)

# %% [markdown]
# The square (`Pow`) was made from the difference (`Sub`): the chain, read backwards.
#
# ### Mistake 4: gradients that add up
#
# `backward` **adds** to `.grad`. That is wanted when one parameter is used twice, or when a large
# batch comes in parts. It is not wanted from one step to the next; the optimizer's `zero_grad()`
# clears all gradients.

# %% tags=["fold"]
predict(
    "`w.grad` is 12. We compute the same loss again and call `backward()` again. What is `w.grad`?",
    ["12, the slope has not changed", "24", "144"],
    answer=1,
    explain="The new 12 is added to the old 12. Without `zero_grad()` each step goes along the sum "
    "of all slopes so far.",
    key="00_start/grad-adds",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
((w * 3 - 4) ** 2).backward()
assert w.grad == 24
print("w.grad after the second backward:", w.grad.item())
assert attempt(lambda: loss.backward()) is RuntimeError

# %% [markdown]
# The last line is the error that comes with it: the chain of the *old* `loss` was walked once and
# then thrown away. **Read it so:** you called `backward` twice on one result; compute it again.
#
# How bad is it to forget `zero_grad()`? Walk down the parabola $(3w - 4)^2$, with it and without.
# For one parameter, `w.grad = None` does the same.

# %%
paths = {}
for name, clean in (("with zero_grad", True), ("without", False)):
    w = torch.tensor(2.0, requires_grad=True)
    paths[name] = []
    for _ in range(40):
        paths[name].append(w.item())
        ((w * 3 - 4) ** 2).backward()
        with torch.no_grad():  # a step is no part of the chain
            w -= 0.01 * w.grad
        if clean:
            w.grad = None
assert abs(paths["with zero_grad"][-1] - 4 / 3) < 0.01
assert max(abs(v - 4 / 3) for v in paths["without"][-15:]) > 0.3

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.2, 2.6))
axes = figure.add_subplot()
for (name, values), mark in zip(paths.items(), ("-", "--"), strict=True):
    axes.plot(values, mark, lw=2, label=name)
axes.axhline(4 / 3, color="grey", lw=0.8)
axes.set(xlabel="step", ylabel="w", ylim=(0.4, 2.6))
axes.legend(loc="upper right", ncols=2)
with_alt(
    figure,
    "With zero_grad w falls smoothly from 2 to 4/3 and stays. Without, it swings past 4/3 and "
    "back, again and again, as far as it began.",
)

# %% [markdown]
# *The grey line is the best $w$, 4/3. With the old slopes still in the sum, $w$ swings like a
# pendulum.* `fit` clears the gradients for you; a loop of your own must do it.

# %% [markdown]
# ### Mistake 5: grading a model that is still training
#
# Dropout sets random features to zero while training, so that the model relies on none alone; here
# each with a chance of one half. It does so until the model is told that the lesson is over.

# %%
model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.Linear(4, 1))
given = torch.randn(1, 4)
with torch.no_grad():
    in_training = {round(model(given).item(), 3) for _ in range(20)}
    model.eval()
    in_eval = {round(model(given).item(), 3) for _ in range(20)}
assert len(in_training) > 1
assert len(in_eval) == 1
print(f"20 calls, one input: {len(in_training)} answers in training, {len(in_eval)} after eval()")

# %% [markdown]
# **Symptom:** two calls with the same input differ, and so do two grades of the same model.
# **Fix:** `model.eval()` before grading, `model.train()` before going on. `torch.no_grad()` is
# another switch: it keeps no chain, and saves its bytes. It does not stop dropout.

# %% [markdown]
# ## Messages and what they mean
#
# | in the message | what happened, and the fix |
# |---|---|
# | `mat1 and mat2 shapes cannot be multiplied` | two sides that must meet differ: transpose |
# | `must match the size ... at non-singleton dimension` | broadcasting found two lengths, none 1 |
# | `view size is not compatible` | the numbers do not lie in order: `rearrange` |
# | `backward through the graph a second time` | one result, two walks: compute it again |
# | `element 0 of tensors does not require grad` | the chain was cut: `no_grad`, `.item()` |
# | `Expected ... Long, Int; but got ... Float` | token ids came as floats: `.long()` |
# | `index out of range in self` | a token id beyond the table: compare with its number of rows |
#
# A token's id is the number of its row in such a table, an `nn.Embedding`. The last three messages,
# for you to recognize:

# %%
table = nn.Embedding(10, 4)
assert attempt(lambda: torch.tensor(1.0).backward()) is RuntimeError
assert attempt(lambda: table(torch.tensor([1.0]))) is RuntimeError
assert attempt(lambda: table(torch.tensor([10]))) is IndexError

# %% [markdown]
# ## Six names that all pages use
#
# | in the library | what it does | more |
# |---|---|---|
# | `fit` | trains, one batch a step, and returns the losses | 2.13 |
# | `pick(ci=, laptop=, gpu=)` | gives the size that belongs to the profile printed above | |
# | `BucketBatches` | makes batches of sentences of like length, `max_tokens` at most | 2.13 |
# | `adam`, `cosine` | the optimizer; its rate, up for `warmup` steps, then down | 2.13 |
# | `greedy` | lets a model write, always the most probable word next | 2.14 |
# | `record` | keeps what a named part of a model computes | 2.2 |
#
# 2.2 is [attention](../02_transformer/02_attention.ipynb), 2.13
# [training](../02_transformer/13_training.ipynb), 2.14
# [decoding](../02_transformer/14_decoding.ipynb).

# %% [markdown]
# ## In practice
#
# - **Write the shape behind each line** that changes it: `# (B, H, T, S)`.
# - **Try new code with sides that all differ**, such as $B = 2$, $T = 5$, $S = 7$, $d = 3$. Then
#   what does not fit cannot run.
# - **Change one input and see what moves.** It finds what no error tells: a mixed batch, a mask the
#   wrong way round, heads cut across the rows.
# - **Fix the seed**, then change one thing at a time.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Torch says `mat1 and mat2 shapes cannot be multiplied (4x6 and 5x6)`. Which two sides did it
#    try to join, which should they have been, and which shape comes after the fix?
#
#    <details><summary>Answer</summary>
#
#    6 and 5, the two in the middle; the two sixes. Transpose the right one: (4, 6) with (6, 5)
#    gives (4, 5).
#
#    </details>
# 2. Why does adding (4, 3) and (4) raise an error, while (4, 1) and (4) run in silence?
#
#    <details><summary>Answer</summary>
#
#    Aligned to the right, 3 meets 4, and neither is 1. In the second pair 1 meets 4 and stretches,
#    and the result is (4, 4), which was hardly meant.
#
#    </details>
# 3. One token was changed before the heads were split. Which rows moved with `rearrange`, and which
#    with `reshape`?
#
#    <details><summary>Answer</summary>
#
#    With `rearrange` that token's row, in every head. With `reshape` one head did not notice, and
#    the other moved in two rows.
#
#    </details>
# 4. How did $w$ walk down the parabola without `zero_grad()`, and why?
#
#    <details><summary>Answer</summary>
#
#    It swung past the best value and back, as far as it began: each step went along the sum of all
#    slopes so far.
#
#    </details>
# 5. Predictions (B, 1) against answers (B): it trains without an error. What does the model learn
#    to say, and why?
#
#    <details><summary>Answer</summary>
#
#    The mean of all answers: each prediction is pulled to all answers at once.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* Shapes $(8, 1, 6)$ and $(5, 1)$: what is the shape of their sum?
#
#    <details><summary>Answer</summary>
#
#    Right-aligned: $(8, 1, 6)$ and $(\cdot, 5, 1)$. The sum has $(8, 5, 6)$.
#
#    </details>
# 2. *(on paper, 3 min)* `rearrange(x, "b t (h d) -> (b h) t d", h=2)` with $x$ of shape
#    $(3, 5, 8)$: which shape comes out, and where is head 1 of sentence 2, both counted from 0?
#
#    <details><summary>Answer</summary>
#
#    $(6, 5, 4)$. The sentence counts first, so it is at $2\cdot2 + 1 = 5$.
#
#    </details>
# 3. *(find the bug, 5 min)* `weights = scores.softmax(dim=-2)`, with scores $(B, H, T, S)$. What
#    sums to one now, and when does the error stay unseen even if you print a row?
#
#    <details><summary>Answer</summary>
#
#    Each column: every *key* shares itself among the queries. With one query, $T = 1$, all weights
#    are 1. A printed row of ones shows it. It stays unseen if all scores are equal and $T = S$,
#    since then the rows sum to one as well.
#
#    </details>
# 4. *(code, 8 min)* Write mistake 2 for a loss with a batch of one. Does it show?
#
#    <details><summary>Answer</summary>
#
#    No: $(1, 1)$ against $(1)$ is $(1, 1)$. A test with a batch of one sees nothing.
#
#    </details>

# %%
# The answers to 1, 2 and 3, checked.
assert (torch.zeros(8, 1, 6) + torch.zeros(5, 1)).shape == (8, 5, 6)
x = torch.randn(3, 5, 8)
folded = rearrange(x, "b t (h d) -> (b h) t d", h=2)
assert folded.shape == (6, 5, 4)
assert torch.equal(folded[5], x[2, :, 4:])
weights = torch.randn(2, 3, 4, 6).softmax(dim=-2)
assert torch.allclose(weights.sum(-2), torch.ones(2, 3, 6))
assert (torch.randn(2, 3, 1, 6).softmax(dim=-2) == 1).all()
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# A tensor's sides have names, and many bugs are two sides taken for each other. Some of these bugs
# raise an error whose shapes tell where; the others run, and show only when you change one input
# and look what moves. `backward` adds the slope of the loss to every parameter behind it, and
# forgets the chain.
#
# ## Further reading
#
# - [The diagnostic](04_diagnostic.ipynb): ten questions that say what to read and what to skip.
# - Rogozhnikov (2022), *Einops: Clear and Reliable Tensor Manipulations with Einstein-like
#   Notation*: the notation, with the bugs that it prevents.
# - PyTorch's documentation, *Broadcasting semantics* and *Autograd mechanics*: the exact rules.

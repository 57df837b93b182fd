# %% [markdown]
# # Diagnostic quiz: what to read, what to skip
#
# Which of the first pages do you need, and which would only tell you what you know?
#
# <small>No prerequisites · 10 min · pen and paper help · Before chapter 2</small>

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
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.plotting import show

stops = [
    ("ten minutes", "question 1", "query"),
    ("the maths", "2 3 4 5", "key"),
    ("PyTorch", "6 7 8", "value"),
    ("attention", "9 10", "output"),
]
body = []
for i, (name, questions, role) in enumerate(stops):
    x = 78 + 158 * i
    body += [text(x, 26, name, 16, role, bold=True), text(x, 52, questions, 13)]
    body += [arrow(x + 60, 26, x + 106, 26)] if i < 3 else []
show(
    svg(632, 72, body),
    "The way in, four pages: ten minutes (question 1), the maths (questions 2 to 5), PyTorch "
    "(questions 6 to 8), attention (questions 9 and 10).",
)

# %% [markdown]
# *The way in, and which questions stand for which page.*
#
# Answer from the head or with a pencil, without running anything. Commit, and the answer opens.
# Your answers stay in this browser; nothing is sent. At the end a table says what to read. A guess
# that happens to be right hides a page from you: leave a question open rather than guess.

# %% [markdown]
# ## Attention

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "A query fits two keys equally well and all others badly. What does attention return?",
    [
        "the value of the first of the two",
        "one of the two values, at random",
        "about the average of the two values",
    ],
    answer=2,
    explain="Equal scores give equal weights, nearly one half each. Attention mixes; it does not "
    "choose.",
    key="00_start/diagnostic-1",
    label="Question 1",
)

# %% [markdown]
# ## Math for Transformers

# %% tags=["fold"]
predict(
    "The dot product of (2, 1) and (1, -2): what is it, and what does it say?",
    ["5: they point the same way", "0: they stand at a right angle", "-5: they point apart"],
    answer=1,
    explain="2 x 1 + 1 x (-2) = 0. Neither says anything about the other.",
    key="00_start/diagnostic-2",
    label="Question 2",
)

# %% tags=["fold"]
predict(
    "The softmax of (2, 1, 0) is about (0.67, 0.24, 0.09). What is that of (102, 101, 100)?",
    ["(1, 0, 0): large scores sharpen it", "the same", "not a number"],
    answer=1,
    explain="Only differences count: e^100 stands above and below the line, and cancels. (Code "
    "that does not take the largest away first does give `nan`.)",
    key="00_start/diagnostic-3",
    label="Question 3",
)

# %% tags=["fold"]
predict(
    "A model gives every right word of a text a share of 1/8. What is its perplexity?",
    ["8", "1/8", "about 2.1"],
    answer=0,
    explain="The loss is -ln(1/8) = 2.08 for each word, and e^2.08 = 8: as unsure as among eight "
    "equal words. 2.1 is the loss itself.",
    key="00_start/diagnostic-4",
    label="Question 4",
)

# %% tags=["fold"]
predict(
    "Shares (0.7, 0.2, 0.1), and the second word is right. What is the slope of the "
    "cross-entropy by the three scores?",
    ["(0.7, 0.2, 0.1)", "(0, -5, 0)", "(0.7, -0.8, 0.1)"],
    answer=2,
    explain="What was said minus what should have been said: (0.7, 0.2 - 1, 0.1).",
    key="00_start/diagnostic-5",
    label="Question 5",
)

# %% [markdown]
# ## PyTorch

# %% tags=["fold"]
predict(
    "`q` has shape (2, 8, 5, 64) and `k` has (2, 8, 7, 64). What is the shape of "
    "`q @ k.transpose(-2, -1)`?",
    ["(2, 8, 5, 7)", "(2, 8, 64, 64)", "(2, 8, 7, 5)"],
    answer=0,
    explain="(5, 64) times (64, 7): a row for each query, a column for each key. The first two "
    "sides are left alone.",
    key="00_start/diagnostic-6",
    label="Question 6",
)

# %% tags=["fold"]
predict(
    "`a` has shape (8, 1) and `b` has (8). What is `a - b`?",
    ["a tensor of shape (8)", "a tensor of shape (8, 8)", "an error"],
    answer=1,
    explain="Aligned to the right, (8, 1) meets (1, 8), and both sides of length 1 stretch. No "
    "error, 64 numbers, and a loss that teaches the mean.",
    key="00_start/diagnostic-7",
    label="Question 7",
)

# %% tags=["fold"]
predict(
    "`x` has shape (B, T, 512). Someone splits it into 8 heads by `x.reshape(B, 8, T, 64)`. "
    "What happens?",
    [
        "it is right",
        "an error, since the sides are in another order",
        "it runs, and each head holds pieces of other tokens",
    ],
    answer=2,
    explain="The number of entries fits, so it runs, and cuts across the rows. Right is "
    "`rearrange(x, 'b t (h d) -> b h t d', h=8)`.",
    key="00_start/diagnostic-8",
    label="Question 8",
)

# %% [markdown]
# ## Attention, in earnest

# %% tags=["fold"]
predict(
    "Why are the scores divided by the square root of their number of dimensions?",
    [
        "so that the weights sum to one",
        "so that the softmax stays soft enough to learn",
        "to save memory",
    ],
    answer=1,
    explain="Dot products grow like the root of d. Undivided, one key takes all, and the slope "
    "vanishes. The weights sum to one with or without.",
    key="00_start/diagnostic-9",
    label="Question 9",
)

# %% tags=["fold"]
predict(
    "Padding must get no attention. Where does the mask act?",
    [
        "on the scores, before the softmax",
        "on the weights, after the softmax",
        "on the values: those of padding are set to zero",
    ],
    answer=0,
    explain="Minus infinity as a score is a power of 0. After the softmax the padding has already "
    "taken its share, and the rest no longer sums to one; zero values leave that share too.",
    key="00_start/diagnostic-10",
    label="Question 10",
)

# %% [markdown]
# ## What to read

# %% tags=["fold"]
from deepdive_book.kit.predictions import advise

ATTENTION = "../02_transformer/02_attention.ipynb"
topics = [
    ("what attention returns", "Attention in ten minutes", "01_ten_minutes.ipynb"),
    ("the dot product", "Math for Transformers, 1", "02_maths.ipynb"),
    ("the softmax", "Math for Transformers, 2", "02_maths.ipynb"),
    ("cross-entropy", "Math for Transformers, 3", "02_maths.ipynb"),
    ("the chain rule", "Math for Transformers, 4", "02_maths.ipynb"),
    ("shapes", "PyTorch, 1", "03_torch.ipynb"),
    ("broadcasting", "PyTorch, 2", "03_torch.ipynb"),
    ("splitting into heads", "PyTorch, 3", "03_torch.ipynb"),
    ("the square root", "Attention, “Why the square root?”", ATTENTION),
    ("masks", "Attention, “Masks”", ATTENTION),
]
advise([(f"00_start/diagnostic-{i}", *topic) for i, topic in enumerate(topics, start=1)])

# %% [markdown]
# Right on 1 to 8: start with [chapter 2](../02_transformer/00_opening.ipynb). Right on all ten:
# read its pages for their experiments, and skip the parts worked by hand. Six or more otherwise:
# read what the table names. Below six of ten: read the three pages here, then chapter 2 from its
# start; its page 2.2 is the one on attention. The three take an hour, and nothing later assumes
# more.

# %% [markdown]
# ## The answers, computed
#
# All ten are computed here; the PyTorch page shows 6 to 8 step by step. Open the code when you have
# committed.

# %% tags=["fold", "nbval-check-output"]
import torch

same_key = torch.tensor([[1.0, 2.0], [1.0, 2.0], [-3.0, 0.0]])
weights = (same_key @ torch.tensor([1.0, 2.0])).softmax(0)
assert torch.equal(weights[0], weights[1])  # 1
assert weights[0] > 0.499
assert torch.tensor([2, 1]) @ torch.tensor([1, -2]) == 0  # 2
small, large = torch.tensor([2.0, 1, 0]), torch.tensor([102.0, 101, 100])
assert torch.allclose(small.softmax(0), large.softmax(0))  # 3
assert large.exp().isinf().all()  # and why code takes the largest away first
assert torch.allclose(-torch.tensor(1 / 8).log(), torch.tensor(2.08), atol=5e-3)  # 4
assert torch.allclose((-torch.tensor(1 / 8).log()).exp(), torch.tensor(8.0))

scores = torch.tensor([0.7, 0.2, 0.1]).log().requires_grad_()
(-scores.log_softmax(0)[1]).backward()
assert torch.allclose(scores.grad, torch.tensor([0.7, -0.8, 0.1]))  # 5
print("answers 1 to 5 hold")

# %% tags=["fold"]
from einops import rearrange

q, k = torch.randn(2, 8, 5, 64), torch.randn(2, 8, 7, 64)
assert (q @ k.transpose(-2, -1)).shape == (2, 8, 5, 7)  # 6
assert (torch.randn(8, 1) - torch.randn(8)).shape == (8, 8)  # 7
x = torch.randn(2, 5, 512)
heads = rearrange(x, "b t (h d) -> b h t d", h=8)
assert x.reshape(2, 8, 5, 64).shape == heads.shape  # 8
assert not torch.equal(x.reshape(2, 8, 5, 64), heads)

dots = torch.randn(1000, 7, 1024) @ torch.randn(1024)
undivided, divided = (s.softmax(-1).max(-1).values.mean() for s in (dots, dots / 32))
assert undivided > divided + 0.3  # 9
print(f"largest of 7 weights in 1,024 dimensions: {undivided:.2f}, divided: {divided:.2f}")

# %% tags=["fold"]
scores, real = torch.tensor([2.0, 1.0, 3.0]), torch.tensor([True, True, False])
before = scores.masked_fill(~real, float("-inf")).softmax(0)
after = scores.softmax(0) * real
assert torch.allclose(before.sum(), torch.tensor(1.0))  # 10
assert after.sum() < 0.4
print("masked before:", *(f"{w:.2f}" for w in before), f"sum {before.sum():.2f}")
print("masked after: ", *(f"{w:.2f}" for w in after), f"sum {after.sum():.2f}")

# %% [markdown]
# ## With a pencil
#
# A page that you have read is not yet one that you can do. `deepdive sheet attention --seed 7`
# writes a sheet of A4 with numbers of its own, its answers on the second page, and a stepper below.
# Another seed gives another sheet; `deepdive list sheets` names them all. Here is one to play:

# %% tags=["fold"]
from deepdive_book.course.sheets import make, stepper

stepper(make("attention", seed=7))

# %% [markdown] tags=["slide"]
# # Chapter 2 summary: the Transformer
#
# You have built a Transformer from nothing, and measured each of its parts. Which ten things should
# stay, and do they?
#
# <small>Prerequisites: the pages of this chapter · 15 min · book 2</small>

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
from deepdive_book.kit.diagrams.layers import Sublayer, box, layer, top
from deepdive_book.kit.plotting import show

encoder = [Sublayer("self-attention 2.5, 2.6", "query"), Sublayer("feed-forward 2.10", "value")]
decoder = [
    Sublayer("masked attention 2.7", "query"),
    Sublayer("source attention 2.2", "key"),
    Sublayer("feed-forward 2.10", "value"),
]
base, left, right = 392.0, 190.0, 520.0
body = [*layer(left, base, encoder), *layer(right, base, decoder)]
body += [text(x - 146, base - 14, n, 16, bold=True) for x, n in ((left, "2.11"), (right, "2.12"))]

# %% tags=["slide", "fold"]
drawn = list(body)
for x, words in ((left, "source, positions 2.8"), (right, "target, positions 2.8")):
    drawn += [box(x, base + 40, words), arrow(x, base + 23, x, base)]
peak, across = top(base, encoder), base - 95 - 22 - 17
drawn += [arrow(left, peak, left, peak - 22), text(left, peak - 34, "memory", 14)]
line = f"M {left + 36:g} {peak - 34:g} H 340 V {across:g} H {right - 96:g}"
drawn += [f'<path d="{line}" fill="none" stroke="currentColor" stroke-dasharray="5 4"/>']
drawn += [arrow(right - 98, across, right - 88, across)]
out = top(base, decoder)
drawn += [arrow(right, out, right, out - 18), box(right, out - 36, "next word 2.13, 2.14")]
show(
    svg(720, 460, drawn),
    "The Transformer with the page of each part. Left the encoder: positions, self-attention, "
    "feed-forward. Right the decoder: masked self-attention, attention to the source, "
    "feed-forward, next word. Each sublayer is followed by add and norm, page 2.9.",
)

# %% [markdown]
# *Each part with its page. Add and norm after each sublayer: page 2.9. The dashed line is the only
# way from the source to the target.*
#
# ## Ten questions
#
# Choose, then open the answer. Your choices stay in this browser.

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict

predict(
    "A word must be remembered over twenty steps of a plain recurrent network. What "
    "stands in its way?",
    [
        "the vocabulary is too small",
        "its gradient is a product of twenty factors",
        "the network is not trained with teacher forcing",
    ],
    answer=1,
    explain="Each step multiplies the derivative by one more factor, and the product "
            "vanishes (or explodes). Page 2.1 measures it.",
    key="02_transformer/test-gradient",
    label="Question 1",
)

# %% tags=["fold"]
predict(
    "Why are the scores divided by the square root of d?",
    [
        "so that the softmax still has a slope and can learn",
        "so that the weights sum to one",
        "to save operations",
    ],
    answer=0,
    explain="A dot product of d terms has a standard deviation of about sqrt(d); a "
            "softmax of such scores takes one key and has no gradient. Page 2.2.",
    key="02_transformer/test-root",
    label="Question 2",
)

# %% tags=["fold"]
predict(
    "The words of a sentence are shuffled. Self-attention without positions then "
    "returns",
    [
        "other vectors for the same words",
        "an error",
        "the same vectors, shuffled the same way",
    ],
    answer=2,
    explain="It is permutation-equivariant: nothing in the formula says which row stands "
            "where. Pages 2.5 and 2.8.",
    key="02_transformer/test-shuffle",
    label="Question 3",
)

# %% tags=["fold"]
predict(
    "Two heads of width d / 2 against one head of width d: what do two give that one "
    "cannot?",
    [
        "twice the parameters",
        "two averages of the words instead of one",
        "a longer context",
    ],
    answer=1,
    explain="One set of weights gives one average. Parameters and operations stay the "
            "same. Page 2.6.",
    key="02_transformer/test-heads",
    label="Question 4",
)

# %% tags=["fold"]
predict(
    "In this library a mask entry True means that the query may attend to the key. In "
    "torch.nn.MultiheadAttention it means",
    [
        "the same",
        "that the key is hidden",
        "that the query is padding",
    ],
    answer=1,
    explain="The opposite, and a flipped mask raises no error. Page 2.7.",
    key="02_transformer/test-mask",
    label="Question 5",
)

# %% tags=["fold"]
predict(
    "What does a causal mask buy in training?",
    [
        "one pass gives the loss of every position",
        "a smaller model",
        "dropout is no longer needed",
    ],
    answer=0,
    explain="Position t cannot see what follows, so all T predictions are honest and made"
            " at once. Pages 2.7 and 2.13.",
    key="02_transformer/test-causal",
    label="Question 6",
)

# %% tags=["fold"]
predict(
    "A gradient goes from the last layer of a deep pre-norm stack to the first. What "
    "lets it arrive?",
    [
        "layer norm makes every gradient equal",
        "the residual: one path has a factor of 1 in every layer",
        "the learning rate",
    ],
    answer=1,
    explain="A sublayer only adds to the stream. Page 2.9.",
    key="02_transformer/test-residual",
    label="Question 7",
)

# %% tags=["fold"]
predict(
    "In a layer with d_ff = 4 d_model, where do most of its parameters lie?",
    [
        "in the attention",
        "in the feed-forward network",
        "in the norms",
    ],
    answer=1,
    explain="Attention has 4 d^2, the feed-forward network 8 d^2. Page 2.10.",
    key="02_transformer/test-parameters",
    label="Question 8",
)

# %% tags=["fold"]
predict(
    "A decoder has written 100 words and writes one more, with a key-value cache. What"
    " must it compute anew?",
    [
        "keys and values of all 101 words",
        "keys and values of the newest word only",
        "nothing",
    ],
    answer=1,
    explain="The others are in the cache; the new query still meets the keys of all. Page "
            "2.14.",
    key="02_transformer/test-cache",
    label="Question 9",
)

# %% tags=["fold"]
predict(
    "A layer of width d reads n words. From which n do scores and mixing cost more "
    "than the four projections?",
    [
        "from n = 2 d",
        "from n = 10",
        "they always cost more",
    ],
    answer=0,
    explain="Projections cost 8 n d^2 operations, scores and mixing 4 n^2 d. Page 2.15.",
    key="02_transformer/test-square",
    label="Question 10",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from deepdive_book.kit.predictions import score

score("02_transformer/test")

# %% [markdown]
# Eight or more: go on. Fewer: the answers name their pages.

# %% [markdown]
# ## In one paragraph
#
# A recurrent network carries a sentence in one vector, and copies of long words are learned last
# (2.1). Attention lets each written word look at all source words: score, weigh, mix (2.2, 2.3,
# 2.4). When the words of one sentence look at each other, recurrence is no longer needed (2.5),
# several heads look for several things at once (2.6), a mask hides the future (2.7), and
# positions, which attention does not see, are added to the words (2.8). Residuals and norms let
# many layers be trained (2.9), and a small network works on each word alone (2.10). Two stacks of
# such layers are the Transformer (2.11, 2.12). It is trained on all positions of a sentence at
# once (2.13), and writes one word after the other (2.14). Its price is a square, which a sentence
# hardly feels and a book does (2.15). Which settings matter can be measured, if the seed's own
# noise is measured too (2.16). GNMT, the best of what it replaced, had residuals and word pieces
# before it; with a token that names the language wanted, one network translates between many
# (2.17).
#
# ## What was measured
#
# | page | question | what was found |
# |---|---|---|
# | 2.1 | how far does a gradient reach? | fresh Elman and GRU layers fade alike |
# | 2.2 | are the weights a cause? | forced to the other diagonal, they turn the output |
# | 2.3 | which score bridges two spaces? | dot cannot, one learned matrix can |
# | 2.4 | does attention fix the forgetting? | it learns long copies sooner; sizes differ |
# | 2.5 | does order matter? | not for the largest digit, all for the first |
# | 2.6 | one head or two? | one seldom tells two digits apart; two do |
# | 2.7 | what does a leak look like? | a loss near 0, and no text |
# | 2.8 | how far beyond training? | hardly one letter, with waves or a table |
# | 2.9 | where does the norm go? | before, learns at 24 layers; after, not at 12 |
# | 2.10 | what is the bend for? | without it many sums are missed |
# | 2.11 | how is a partner found? | by a copy, one place after it |
# | 2.12 | which part is needed? | a part that is missed may not be |
# | 2.13 | what did 2017 cost? | our count for base is 3.5 times smaller |
# | 2.14 | is more search better? | answers more probable, fewer right |
# | 2.15 | is the table right? | all eight exponents, of the core alone |
# | 2.16 | which settings matter? | depth turned between 400 and 2,000 steps |
# | 2.17 | does zero-shot work? | not with English as the only partner |
#
# Each is a toy's answer. The pages say at which size, and which data are generated; the map of the
# [opening](00_opening.ipynb) leads to them.

# %% [markdown] tags=["slide"]
# ## Summary
#
# Attention gives each word a weighted average of what other words hand over, one step away. Masks,
# positions, residuals, norms and feed-forward networks make of it a stack that learns from all
# words at once. What it costs shows in long texts.
#
# ## What to do next
#
# - The [exercises](exercises.ipynb): eight, with checks that say what is wrong.
# - [Case study 2](../../casestudies/02_translation.ipynb): all of this on real sentences, three
#   models at equal cost, and [the original companion's experiment
#   repeated](../../casestudies/02_translation_protocol.ipynb).
# - [Chapter 3](../03_bert/00_opening.ipynb) keeps the left half of the picture and calls it BERT.
#
# Before you go on: which page fixes which of the three pictures of
# [the opening](00_opening.ipynb), and by what measurement do you know?

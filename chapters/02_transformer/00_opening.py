# %% [markdown] tags=["slide"]
# # Chapter 2: the Transformer
#
# In 2014 a recurrent network encoded a sentence into one vector and decoded the translation from
# it. In 2017 the Transformer translated better without any recurrence. Which ideas had to be found
# in between, and what does each part contribute?
#
# <small>Prerequisites: [attention in ten minutes](../00_start/01_ten_minutes.ipynb) · 5 min · whole
# chapter: 8 h reading + 3 h exercises · book 2</small>

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
from deepdive_book.kit.diagrams import arrow, cells, links, svg, text
from deepdive_book.kit.plotting import show

words, answer = ["the", "black", "cat"], ["le", "chat", "noir"]


def squeezed():
    body = [text(60 + 60 * i, 22, word, 17, "key") for i, word in enumerate(words)]
    body += [arrow(60 + 60 * i, 34, 105 + 15 * i, 66) for i in range(3)]
    body += [cells(75, 84, [0.3, 0.8, 0.1], "value")]
    body += [arrow(105 + 15 * i, 101, 60 + 60 * i, 133) for i in range(3)]
    return body + [text(60 + 60 * i, 146, word, 17, "query") for i, word in enumerate(answer)]


# %% tags=["slide", "fold", "nbval-check-output"]
attended = links(words, answer, [[0.9, 0, 0], [0, 0.1, 0.9], [0, 0.9, 0.1]])
itself = links(words, words, [[0.6, 0, 0.4], [0, 0.5, 0.5], [0.1, 0.4, 0.5]])
titles = ["one vector", "attention", "self-attention, in layers"]
panels = ["".join(squeezed()), attended, itself]
body = []
for i, (title, panel) in enumerate(zip(titles, panels, strict=True)):
    body += [text(120 + 250 * i, 14, title, 15, bold=True)]
    body += [f'<g transform="translate({250 * i},26)">{panel}</g>']
show(
    svg(740, 200, body),
    "Three diagrams. Left: three English words are encoded into one vector, from which three "
    "French words are decoded. Middle: each French word attends to English words. Right: the "
    "words of one sentence attend to each other.",
)

# %% [markdown]
# *Three stages. Left, the encoder-decoder: the entire source sentence passes through one vector.
# Middle, attention: each target word attends to the source words. Right, self-attention: the words
# of one sentence attend to each other, without recurrence.*
#
# **What it covers.** Sequence-to-sequence models, attention and its score functions, the parts of
# the Transformer (self-attention, multi-head attention, masks, positional encoding, residual
# connections, feed-forward layers), the full encoder and decoder, training, decoding, and cost.
#
# **What you'll be able to do.** Implement a Transformer from scratch, check every part by hand,
# train it on a translation task, decode with beam search, and estimate its compute and memory.
#
# The pages follow the three stages and build on each other. Each one asks one question, works it
# out by hand with a few numbers, implements it in a few lines, checks it against the library, and
# measures it.
#
# ## Prerequisites
#
# | you should be able to | if not |
# |---|---|
# | read a dot product as a *similarity* | [the math](../00_start/02_maths.ipynb) |
# | read tensor shapes and predict a broadcast | [PyTorch](../00_start/03_torch.ipynb) |
# | (not sure? The quiz shows what to read) | [ten questions](../00_start/04_diagnostic.ipynb) |
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 2.1 | [Sequence-to-sequence models](01_seq2seq.ipynb) | How much of the first word survives in one vector? | 30 |
# | 2.2 | [Attention](02_attention.ipynb) | Which source words matter for the next word? | 25 |
# | 2.3 | [Attention score functions](03_scores.ipynb) | How do you score a query against a key? | 25 |
# | 2.4 | [Bahdanau and Luong attention](04_alignment.ipynb) | Does attention remove the bottleneck? | 30 |
# | 2.5 | [Self-attention](05_self_attention.ipynb) | What does a word take from its context? | 30 |
# | 2.6 | [Multi-head attention](06_multi_head.ipynb) | What can two heads do that one can't? | 30 |
# | 2.7 | [Attention masks](07_masks.ipynb) | Which position may attend to which? | 25 |
# | 2.8 | [Positional encoding](08_positions.ipynb) | How does the model encode word order? | 25 |
# | 2.9 | [Residual connections and layer normalization](09_residuals_norms.ipynb) | Why can gradients reach the lowest layer? | 25 |
# | 2.10 | [Feed-forward networks](10_feed_forward.ipynb) | What does the layer without attention do? | 20 |
# | 2.11 | [The Transformer encoder](11_encoder.ipynb) | What does a stack of layers compute? | 30 |
# | 2.12 | [The Transformer decoder](12_decoder.ipynb) | How is the next token predicted? | 30 |
# | 2.13 | [Training a Transformer](13_training.ipynb) | Which loss, which learning rate, what cost? | 25 |
# | 2.14 | [Decoding](14_decoding.ipynb) | How do probabilities become a sentence? | 30 |
# | 2.15 | [Computational complexity](15_complexity.ipynb) | What does a longer text cost? | 30 |
# | 2.16 | [Transformer ablations](16_variations.ipynb) | Which settings matter? | 25 |
# | 2.17 | [GNMT](17_gnmt.ipynb) | Can it translate a language pair it wasn't trained on? | 35 |
#
# ## Reading paths
#
# The book's [first page](../../book/index.md) has four paths with their hours: one evening, ten
# weeks, a task at hand, and research. Each lists the pages of this chapter it needs and ends with a
# concrete result. The ten-week path takes the pages in order.
#
# The chapter ends with a [summary](18_closing.ipynb) and ten questions. The minutes are for
# reading; worked examples and code take about as long again.
#
# ## Sources we compare with
#
# "Book 2.x" at the top of a page is a section of Kamath, Graham, Emara, *Transformers for Machine
# Learning: A Deep Dive* (2022); our pages are numbered independently. *The lectures* are the
# following three, and each page says where our numbers differ from theirs:
#
# - François Fleuret, *Deep Learning*, lecture 13.3, Transformer networks;
# - KAIST, AI602 *Recent Advances in Deep Learning*, lectures 2 and 3;
# - Milan Straka, *Deep Learning* (Charles University, 2023), Transformer and BERT.

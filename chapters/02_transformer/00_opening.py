# %% [markdown] tags=["slide"]
# # Chapter 2: the Transformer
#
# In 2014 a network read a sentence into one vector and wrote the translation from it. In 2017 it
# did so without reading word after word, and better. What had to be found in between, and which
# part does what?
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
    "Three pictures. Left: three English words are squeezed into one vector, from which three "
    "French words are written. Middle: each French word is linked to English words. Right: the "
    "words of one sentence are linked to each other.",
)

# %% [markdown]
# *Left, the encoder-decoder: all of the source passes through one vector. Middle, attention: each
# word written chooses what it needs. Right, self-attention: the words of one sentence choose from
# each other, and no recurrence is left.*
#
# The chapter follows these three pictures. Each page asks one question, works it out by hand on a
# few numbers, builds it in a few lines, checks it against the library, and measures.
#
# ## What to know before
#
# | you should be able to | if not |
# |---|---|
# | read a dot product as *how alike* | [the math](../00_start/02_maths.ipynb) |
# | read shapes, and predict a broadcast | [PyTorch](../00_start/03_torch.ipynb) |
# | (not sure? They say what to read) | [ten questions](../00_start/04_diagnostic.ipynb) |
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 2.1 | [Sequence-to-sequence models](01_seq2seq.ipynb) | What is left of the first word? | 30 |
# | 2.2 | [Attention](02_attention.ipynb) | Which words matter for the next one? | 25 |
# | 2.3 | [Attention score functions](03_scores.ipynb) | Which score bridges two spaces? | 25 |
# | 2.4 | [Bahdanau and Luong attention](04_alignment.ipynb) | Does attention fix the forgetting? | 30 |
# | 2.5 | [Self-attention](05_self_attention.ipynb) | What does a word take from others? | 30 |
# | 2.6 | [Multi-head attention](06_multi_head.ipynb) | What do two heads see, one not? | 30 |
# | 2.7 | [Attention masks](07_masks.ipynb) | Who may look at whom? | 25 |
# | 2.8 | [Positional encoding](08_positions.ipynb) | Where does a word stand? | 25 |
# | 2.9 | [Residual connections and layer normalization](09_residuals_norms.ipynb) | What lets a gradient arrive? | 25 |
# | 2.10 | [Feed-forward networks](10_feed_forward.ipynb) | What works on each word alone? | 20 |
# | 2.11 | [The Transformer encoder](11_encoder.ipynb) | What does a stack of layers build? | 30 |
# | 2.12 | [The Transformer decoder](12_decoder.ipynb) | How is the next word written? | 30 |
# | 2.13 | [Training a Transformer](13_training.ipynb) | What is made small, and what did it cost? | 25 |
# | 2.14 | [Decoding](14_decoding.ipynb) | How do chances become a sentence? | 30 |
# | 2.15 | [Computational complexity](15_complexity.ipynb) | What does a longer text cost? | 30 |
# | 2.16 | [Transformer ablations](16_variations.ipynb) | Which settings matter? | 25 |
# | 2.17 | [GNMT](17_gnmt.ipynb) | Can it translate a pair it never saw? | 35 |
#
# ## Ways through
#
# The book's [first page](../../book/index.md) has four paths with their hours: one evening, ten
# weeks, a task at hand, research. Each names the pages of this chapter that it needs, and ends in
# something done. The ten weeks go page after page.
#
# At the end stand a summary and ten questions: [what the chapter
# showed](18_closing.ipynb). The minutes are for reading; pencil and code take about as long again.
#
# ## Whose numbers stand beside ours
#
# "Book 2.x" in a page's head is a section of Kamath, Graham, Emara, *Transformers for Machine
# Learning: A Deep Dive* (2022); our pages have numbers of their own. Where a page says *the
# lectures*, it means these three, and says where our numbers differ from theirs:
#
# - François Fleuret, *Deep Learning*, lecture 13.3, Transformer networks;
# - KAIST, AI602 *Recent Advances in Deep Learning*, lectures 2 and 3;
# - Milan Straka, *Deep Learning* (Charles University, 2023), Transformer and BERT.

# %% [markdown] tags=["slide"]
# # Chapter 1: Neural networks before attention
#
# The first mathematical model of a neuron dates from 1943, the Transformer from 2017. Which ideas
# from the neural networks in between does the Transformer still use, and what has changed since?
#
# <small>Prerequisites: [attention in ten minutes](../00_start/01_ten_minutes.ipynb) · core page ·
# 3 min · whole chapter: 2½ h reading + 1½ h exercises · book 1, KAIST lecture 3</small>

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
# %% [markdown]
# **What it covers.** The main neural network architectures before attention: the perceptron,
# convolutional and recurrent networks, the LSTM, and the gradients that train them. Then come a
# comparison on long sequences and an atlas of every architecture since.
#
# **What you'll be able to do.** Train each of these models from scratch, compute its gradients on
# paper, explain why gradients vanish, and say which problem attention solved.
#
# ## Eighty years
#
# Each entry has a paper's key in the [bibliography](../../book/bibliography.md), what the paper
# introduced, and the page that implements it. The key contains the year.

# %% tags=["fold"]
papers = """
mcculloch1943 threshold unit 1.1 | hebb1949 Hebbian learning 1.1 | rosenblatt1958 perceptron 1.1
minsky1969 XOR problem 1.1 | hopfield1982 Hopfield network 1.4
rumelhart1986 backpropagation 1.2 | lecun1989 convolution 1.3 | elman1990 recurrent network 1.7
bengio1994 vanishing gradients 1.7 | hochreiter1997 LSTM 1.8 | schuster1997 bidirectional RNN 1.9
bengio2003 neural LM 1.6 | hinton2006 deep belief net 1.5 | mikolov2013 word2vec 1.6
cho2014 GRU 1.8 | sutskever2014 encoder-decoder 2.1 | bahdanau2015 attention 2.2
kalchbrenner2016 Grid LSTM 1.9 | wu2016 GNMT 2.17 | vaswani2017 Transformer 2.11
peters2018 ELMo 1.10 | radford2018 GPT 6 | devlin2019 BERT 3 | brown2020 GPT-3 6
ramsauer2021 Hopfield as attention 1.4 | dosovitskiy2021 Vision Transformer 6 | touvron2023 LLaMA 6
"""
entries = [line.split() for row in papers.strip().splitlines() for line in row.split("|")]
line = [(int(key[-4:]), " ".join(words), page) for key, *words, page in entries]

# %% tags=["slide", "fold", "nbval-check-output"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show


def role(page):
    return "key" if page in ("1.7", "1.8") else "query" if page.startswith("1.") else "score"


body = ['<line x1="20" x2="800" y1="40" y2="40" stroke="currentColor"/>']
for year in range(1940, 2030, 10):
    body += [text(20 + (year - 1940) * 9.2, 58, str(year), 13)]
for i, (year, what, page) in enumerate(line):
    x, left, y = 20 + (year - 1940) * 9.2, 20 + 270 * (i // 9), 92 + 27 * (i % 9)
    color = ROLES[role(page)]
    body += [f'<circle cx="{x:g}" cy="40" r="6" fill="{color}" fill-opacity="0.6"/>']
    body += [f'<circle cx="{left + 6}" cy="{y}" r="6" fill="{color}"/>']
    words = f"{year}  {what}, {page if '.' in page else 'ch. ' + page}"
    body += [f'<text x="{left + 20}" y="{y + 5}" font-size="15" fill="currentColor">{words}</text>']
show(
    svg(820, 330, body),
    "A timeline from 1940 to 2020 with one dot per paper: sparse up to 1980, dense after "
    "2013. Below, the 27 papers in order: " + "; ".join(f"{y} {w}" for y, w, _ in line) + ".",
)

# %% [markdown]
# *Papers by year. Blue: core pages of this chapter. Orange: optional pages. Gray: other chapters.
# 13 of the 27 papers appeared in the ten years from 2013.*
#
# The Transformer inherited three ideas: a **weighted sum** followed by a nonlinearity (1943),
# **gradients** from backpropagation (1986), and **word embeddings** (2003). It gave up one:
# processing a sentence word by word. The chapter implements all of them, compares the recurrent
# models with attention on long sequences, and ends with an atlas of what has changed since.
#
# ## Core and optional pages

# %% tags=["slide", "fold"]
main = {"1.0": "here", "1.7": "recurrence", "1.8": "LSTM", "2.0": "chapter 2"}
side = {
    ("1.0", 110, 84): {"1.1": "neurons", "1.2": "gradients", "1.3": "CNNs", "1.4": "Hopfield",
                       "1.5": "Boltzmann", "1.6": "word2vec"},
    ("1.8", 110, 84): {"1.9": "stacked", "1.10": "ELMo", "1.11": "comparison"},
    ("2.0", 178, -84): {"1.12": "atlas", "1.13": "conflicts", "1.14": "resources"},
}  # fmt: skip
at = dict(zip(main, (45, 300, 560, 773), strict=True))
body = [f'<line x1="45" x2="773" y1="58" y2="58" stroke="{ROLES["key"]}" stroke-width="6"/>']
for (start, y, step), pages in side.items():
    path = f"M {at[start]} 58 V {y} H {at[start] + step * (len(pages) - 1)}"
    body += [f'<path d="{path}" fill="none" stroke="{ROLES["query"]}" stroke-width="3"/>']
    for i, (page, words) in enumerate(pages.items()):
        x = at[start] + step * i
        body += [f'<circle cx="{x}" cy="{y}" r="7" fill="{ROLES["query"]}"/>']
        body += [text(x, y + 22, page, 14, bold=True), text(x, y + 40, words, 14)]
for page, words in main.items():
    body += [f'<circle cx="{at[page]}" cy="58" r="9" fill="{ROLES["key"]}"/>']
    body += [text(at[page], 14, page, 14, bold=True), text(at[page], 33, words, 14)]
alt = "A map. Core pages: 1.0, 1.7 recurrence, 1.8 LSTM, then chapter 2. Optional pages branch off "
show(svg(820, 234, body), alt + "at 1.0 to 1.1 up to 1.6; at 1.8 to 1.9 up to 1.11; at 2.0 to "
     "the atlas, 1.12, to 1.13 and 1.14.")  # fmt: skip

# %% [markdown]
# *Pages of the chapter. Blue: the core pages, about twenty minutes of reading before chapter 2.
# Orange: optional pages on history, word embeddings, a comparison of recurrent models, the model
# atlas, and critical reading.*
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 1.1 | [The perceptron](01_neurons.ipynb) | What can a single neuron learn, and what can't it? | 10 |
# | 1.2 | [Backpropagation](02_backprop.ipynb) | How much does each weight contribute to the error? | 9 |
# | 1.3 | [Convolutional networks (CNNs)](03_convolution.ipynb) | Why apply one kernel at every position? | 10 |
# | 1.4 | [Hopfield networks](04_hopfield.ipynb) | How does a network restore a corrupted pattern? | 15 |
# | 1.5 | [Restricted Boltzmann machines](05_boltzmann.ipynb) | Does layer-wise pretraining help? | 12 |
# | 1.6 | [Word embeddings (word2vec)](06_word_vectors.ipynb) | What makes two word embeddings similar? | 12 |
# | 1.7 | [Recurrent networks (RNNs)](07_rnn.ipynb) | How far back does a gradient reach? | 8 |
# | 1.8 | [LSTM and GRU](08_lstm.ipynb) | How does gating keep gradients from vanishing? | 10 |
# | 1.9 | [Stacked, bidirectional, and Grid LSTMs](09_stacked.ipynb) | More layers, two directions, or a grid? | 10 |
# | 1.10 | [ELMo](10_elmo.ipynb) | Can a word's embedding depend on its context? | 13 |
# | 1.11 | [RNN vs. LSTM vs. GRU](11_race.ipynb) | Which model has the longest memory? | 12 |
# | 1.12 | [Model atlas](12_atlas.ipynb) | How does each architecture differ from its parent? | 8 |
# | 1.13 | [Contradictions in the literature](13_disagree.ipynb) | Which of two numbers is right? | 18 |
#
# In a hurry? Go straight to [chapter 2](../02_transformer/00_opening.ipynb); it doesn't depend on
# this chapter. If you come from the printed book or from lecture slides, the
# [concordance](../../book/concordance.md) lists the matching page for each section.

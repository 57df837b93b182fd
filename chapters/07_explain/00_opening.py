# %% [markdown] tags=["slide"]
# # Chapter 7: Explainability: which words were the reason?
#
# A model reads a review and says: negative. Asked why, four methods color its words, and no two
# agree on how much each word counts. Each looks convincing. Which of them shows why the model said
# it, and how would you find out?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb),
# [fine-tuning](../03_bert/07_finetuning.ipynb) · 2 min · whole chapter: 4½ h reading + 2 h
# exercises · book 7 (Kamath, Graham, Emara: *Transformers for Machine Learning*), and KAIST's
# lectures AI602 for bias, privacy and extraction</small>

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
# %% A text and the network that judges it tags=["fold"]
from deepdive.explain.side_by_side import METHODS
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.kit.attribution_text import coloured

toy = review_words()
label = int(toy.model(toy.tokens(SENTENCE)).argmax())
asked = toy.asked(SENTENCE, label)  # why this label, and not the other?

# %% tags=["fold", "nbval-check-output"]
print(f"The network says: {('negative', 'positive')[label]}")

# %% Four explanations of its answer tags=["slide", "fold"]
shown = {name: METHODS[name](asked) for name in
         ("attention rollout", "gradient norm", "integrated gradients")}  # fmt: skip
coloured(SENTENCE.split(), shown | {"each word hidden": METHODS["occlusion"](asked)})

# %% [markdown]
# *A generated review, and a small network that judges it by what the writer finds, not by what
# critics find. Blue words speak for its answer, negative, orange words against it; attention and
# the gradient norm have no sign, so their blue only says how much. A bar above the line says the
# same as blue, one below it the same as orange.*
#
# Here we know the reason, because we made the texts: the writer finds something *cold*. Only the
# last row colors *cold* alone; but that method too can be fooled (7.4). This is how the chapter
# tests every method: on texts and networks whose reason is known, before it is believed on texts
# where nobody knows. Some methods fail there, and the pages show which.
#
# 7.1 sets eleven methods and a row of random numbers side by side, and lets you take words away.
# 7.2 to 7.5 take up one family of methods each, 7.6 and 7.7 explain a whole model, 7.8 to 7.10 ask
# about attention, 7.11 and 7.12 look inside a Transformer. 7.13 tests the tests, and 7.14 to 7.16
# use explanations to look for shortcuts, for bias and for attacks.
#
# Two sets of texts are real: sentences from film reviews (rt_polarity) and medical abstracts.
# Without an internet connection a page works on generated texts, and says so.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 7.1 | [Explanation methods](01_methods.ipynb) | Which of eleven is right? | 17 |
# | 7.2 | [Gradient attribution](02_gradients.ipynb) | Sure, so why does no word matter? | 18 |
# | 7.3 | [Layer-wise relevance propagation (LRP) and DeepLIFT](03_relevance.ipynb) | Which word is paid how much? | 20 |
# | 7.4 | [Occlusion and perturbation](04_perturbation.ipynb) | What is a text without this word? | 18 |
# | 7.5 | [LIME, Shapley values, Anchors](05_surrogates.ipynb) | Does a line fit a network? | 17 |
# | 7.6 | [Surrogate models](06_surrogates.ipynb) | Can a network become rules? | 18 |
# | 7.7 | [Self-explaining models](07_self_explaining.ipynb) | Can a model say why? | 20 |
# | 7.8 | [Attention is not explanation](08_attention_is_not.ipynb) | Is attention a reason? | 18 |
# | 7.9 | [Attention is not not explanation](09_attention_is_not_not.ipynb) | Or is it one? | 18 |
# | 7.10 | [Attention rollout, attention flow, and norms](10_rollout.ipynb) | Where does attention lead? | 19 |
# | 7.11 | [Attribution in Transformers](11_transformers.ipynb) | Looked at, for which answer? | 17 |
# | 7.12 | [Activation patching and ablation](12_patching.ipynb) | Which part of the network does it? | 14 |
# | 7.13 | [Sanity checks for explanations](13_sanity.ipynb) | Do pictures know the model? | 14 |
# | 7.14 | [Shortcut learning](14_shortcuts.ipynb) | Right, for the wrong reason? | 15 |
# | 7.15 | [Bias audits and training-data extraction](15_bias.ipynb) | What has the model kept of you? | 17 |
# | 7.16 | [Adversarial examples](16_adversarial.ipynb) | Which word turns the answer? | 16 |
#
# After the pages come [exercises](exercises.ipynb).

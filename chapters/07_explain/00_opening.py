# %% [markdown] tags=["slide"]
# # Chapter 7: Explainability: which words were the reason?
#
# A classifier labels a review as negative. Four explainability methods highlight words in it, and
# no two agree on how much each word counts. Every explanation looks plausible. Which one is
# faithful to the model, and how can you test that?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb),
# [fine-tuning](../03_bert/07_finetuning.ipynb) · 2 min · whole chapter: 5 h reading + 2 h
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
# %% A review and a classifier tags=["fold"]
from deepdive.explain.side_by_side import METHODS
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.kit.attribution_text import colored

toy = review_words()
label = int(toy.model(toy.tokens(SENTENCE)).argmax())
asked = toy.asked(SENTENCE, label)  # explain this label rather than the other one

# %% tags=["fold", "nbval-check-output"]
print(f"prediction: {('negative', 'positive')[label]}")

# %% Four explanations of its prediction tags=["slide", "fold"]
shown = {name: METHODS[name](asked) for name in
         ("attention rollout", "gradient norm", "integrated gradients")}  # fmt: skip
colored(SENTENCE.split(), shown | {"each word hidden": METHODS["occlusion"](asked)})

# %% [markdown]
# *Four **attributions** of one prediction. The label depends on what the author finds, not on what
# critics find. Blue words (bar above the line) support the prediction, negative; orange words (bar
# below) are evidence against it. **Attention** and the **gradient** norm have no sign.*
#
# Here the **ground truth** is known, because we generated the texts: the author finds something
# *cold*. Only the last method highlights *cold* alone, and even that method can be misled (7.4).
# The chapter evaluates **faithfulness** this way: first on data with a known reason, where some
# methods fail, then on real text.
#
# **What it covers.** Attribution methods, surrogate and self-explaining models, the debate on
# attention as explanation, activation patching, sanity checks, **shortcuts**, **bias**, and
# **adversarial** examples.
#
# **What you'll be able to do.** Implement each method, evaluate it against ground truth, run the
# sanity checks, and use explanations to find shortcuts and biases in a classifier.
#
# 7.1 compares eleven methods with a random baseline. 7.2 to 7.5 each treat one family, 7.6 and 7.7
# explain an entire model, 7.8 to 7.10 treat attention, and 7.11 and 7.12 the inside of a
# Transformer. 7.13 tests the explanations themselves; 7.14 to 7.16 apply them. Read 7.1 first.
#
# Two data sets are real: movie-review sentences (rt_polarity) and medical abstracts. Without a
# network a page uses generated texts and says so.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 7.1 | [Explanation methods](01_methods.ipynb) | Which of eleven methods is faithful? | 17 |
# | 7.2 | [Gradient attribution](02_gradients.ipynb) | Why do gradients vanish for a confident model? | 18 |
# | 7.3 | [Layer-wise relevance propagation (LRP) and DeepLIFT](03_relevance.ipynb) | How is relevance distributed over words? | 20 |
# | 7.4 | [Occlusion and perturbation](04_perturbation.ipynb) | What should replace a removed word? | 18 |
# | 7.5 | [LIME, Shapley values, Anchors](05_surrogates.ipynb) | Can a linear model explain a network locally? | 17 |
# | 7.6 | [Surrogate models](06_surrogates.ipynb) | Can a network be distilled into rules? | 18 |
# | 7.7 | [Self-explaining models](07_self_explaining.ipynb) | Can a model explain its own predictions? | 20 |
# | 7.8 | [Attention is not explanation](08_attention_is_not.ipynb) | Is attention an explanation? | 30 |
# | 7.8b | [More experiments](08b_attention_is_not_more.ipynb) | Why is rank correlation a poor criterion? | 6 |
# | 7.9 | [Attention is not not explanation](09_attention_is_not_not.ipynb) | Or is it an explanation after all? | 18 |
# | 7.10 | [Attention rollout, attention flow, and norms](10_rollout.ipynb) | How does attention flow through the layers? | 19 |
# | 7.11 | [Attribution in Transformers](11_transformers.ipynb) | Which tokens support which prediction? | 17 |
# | 7.12 | [Activation patching and ablation](12_patching.ipynb) | Which component causes the prediction? | 14 |
# | 7.13 | [Sanity checks for explanations](13_sanity.ipynb) | Does the explanation depend on the model? | 14 |
# | 7.14 | [Shortcut learning](14_shortcuts.ipynb) | Is the model right for the wrong reason? | 15 |
# | 7.15 | [Bias audits and training-data extraction](15_bias.ipynb) | What has the model memorized? | 17 |
# | 7.16 | [Adversarial examples](16_adversarial.ipynb) | Which word flips the prediction? | 16 |
#
# The chapter ends with [exercises](exercises.ipynb).

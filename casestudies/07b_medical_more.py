# %% [markdown] tags=["slide"]
# # More experiments: medical abstracts
#
# This page continues the case study on medical abstracts: a fine-tuned MiniLM classifies abstracts
# into five conditions, and attributions explain its predictions. It has five more questions. Does
# pretraining on medical text help? Do longer texts or class weights? How stable are attributions?
# What does the model predict for texts with two labels? And what do the attributions of its most
# confident mistakes look like?
#
# <small>Prerequisites: [the case study](07_medical.ipynb) · 10 min · saved results; nothing is
# trained here · data: medical_abstracts, medquad, movie_reviews · book 7.6</small>

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
# ## Does continued pretraining on medical text help?
#
# **Method.** Before fine-tuning, MiniLM is trained with masked language modeling for 842 steps on
# answers of health institutes to questions (1.7 million tokens of
# [MedQuAD](https://doi.org/10.1186/s12859-019-3119-4)) or, as a control of equal compute, on as
# much text of film reviews. The masked-LM head is first trained on both corpora while the encoder
# is frozen. Then each encoder is fine-tuned with three seeds on each of five folds. The masked-LM
# loss is measured on unseen abstracts.

# %% Masked-LM loss and macro-F1 tags=["slide"]
from deepdive_book.studies.runs.medical_results import load_results

results = load_results()
results.table("pretraining", "brackets: 95% intervals over texts; differences in points, corrected "
              "for two comparisons")  # fmt: skip

# %% [markdown]
# A masked token of an unseen abstract costs 5.25 nats after medical pretraining and 6.08 after film
# reviews. Macro-F1 changes by 0.1 points with either corpus, and the intervals allow about one
# point in either direction. So the model learned medical words that these five classes don't need.
# If you had looked only at the loss, you would have reported a success.
#
# The exponential of the loss is the **perplexity**, the number of equally likely tokens that would
# give the same loss:

# %% Perplexity of masked tokens tags=["nbval-check-output"]
from math import exp

for corpus, loss in (("none", 7.62), ("film reviews", 6.08), ("medical text", 5.25)):
    print(f"{corpus}: {exp(loss):,.0f}")

# %% [markdown]
# This is one small model and a small corpus. [Gururangan et al.
# (2020)](https://arxiv.org/abs/2004.10964) gain in all four domains, with larger models and more
# than four thousand times as much text. The original checkpoint is also not free of medical text:
# its training pairs include titles and abstracts of scientific papers. How much of them is medical
# isn't measured here.
#
# ## Longer texts, class weights, and bagging
#
# **Method.** One change at a time, on the same five folds. *Class weights* make every class count
# equally in MiniLM's loss. *Tuned in every fold* chooses among six configurations of TF-IDF (three
# strengths of the penalty, with and without class weights) on each validation part. *Bagged* models
# are trained on bootstrap samples of the training texts and vote. MiniLM has one seed here.

# %% One change at a time tags=["slide"]
results.table("variants", "differences in points, same texts; intervals corrected for five "
              "comparisons")  # fmt: skip

# %% [markdown]
# Twice as many tokens gain 1.0 point, and the interval includes zero. At 256 tokens MiniLM scores
# 2.7 points higher than TF-IDF on the words of the same 256 tokens, so its advantage on equal text
# isn't an effect of truncation at 128. Class weights don't help MiniLM; its rarest class has a
# tenth of the texts, which is not rare. Tuning TF-IDF in every fold, with class weights as an
# option, changes almost nothing. Bagging makes TF-IDF worse, probably because each bootstrap sample
# leaves out more than a third of the training texts. That is why the ensemble on the main page has
# three different TF-IDF models.
#
# ## How stable are attributions?
#
# **Method.** For each abstract we take the five words with the highest attributions. The first
# column compares one method on models trained with different seeds that make the same prediction;
# the second compares different methods on one model, without rollout and random.

# %% Shared top words tags=["slide"]
results.table("stability", "percent of five top words in common; brackets: 95% intervals over "
              "texts")  # fmt: skip

# %% Over ten methods
between, seeds = results.agreement() if results.rows["medical_reasons"] else (0, 0)
print(f"ten methods: two methods, one model {between:.0f}%; one method, two seeds {seeds:.0f}%")

# %% [markdown]
# Attention rollout has the most stable words and, apart from random words, the lowest
# comprehensiveness. Stability isn't faithfulness: rollout doesn't use the predicted class, so its
# words change little whatever the model has learned. Among ten methods (the page's without rollout
# and random, plus four that use only gradients or the last layer's attention) two methods share 46%
# of five words on one model, and one method shares 60% between two seeds. What a reader sees
# depends more on the method than on the seed.
#
# ## Texts with two labels
#
# **Method.** The 113 texts that the file lists with two or three labels were removed before the
# split. The model of the first fold classifies them. If it were calibrated to the ambiguity, its
# confidence would be lower here.

# %% Predictions for texts with several labels tags=["slide"]
results.table("two_labels", "113 texts with several labels, one training; 95% intervals over texts")

# %% [markdown]
# The model's top class is one of the labels for 83.2% of these texts. For 58.4% its top two (or
# three) classes are exactly the labels; the interval begins just below one half. But its confidence
# is 72.6%, almost the same as on texts with one label (the confidence intervals overlap). So it
# isn't less confident where the labels contradict each other.
#
# ## The most confident mistakes
#
# **Method.** The five test texts of the first fold with the most confident wrong predictions, and
# the three words whose removal lowers the margin most.

# %% Five confident mistakes tags=["slide"]
results.table("mistakes", "first fold, one training; the percentage is the probability of the "
              "predicted class")  # fmt: skip

# %% [markdown]
# In the first four, the text is about tumors and labeled *general*. The two labels don't contradict
# each other, because the classes overlap. In the fifth, an abstract on a drug for hypertension is
# labeled *neoplasms*: here the model may be right and the label wrong. The strongest words are
# words of the predicted class in nearly every case. All five predictions count as errors, and
# nothing in the attributions distinguishes them from correct ones.
#
# ## Further reading
#
# - [Gururangan et al. (2020)](https://arxiv.org/abs/2004.10964), *Don't Stop Pretraining*.
# - Ben Abacha and Demner-Fushman (2019), *A Question-Entailment Approach to Question Answering*:
#   the medical answers.
# - [Abnar and Zuidema (2020)](https://arxiv.org/abs/2005.00928), *Quantifying Attention Flow in
#   Transformers*: attention rollout.

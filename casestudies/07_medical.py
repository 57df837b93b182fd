# %% [markdown] tags=["slide"]
# # Explaining a medical-abstract classifier: which words made the difference?
#
# The abstract of a medical paper begins "Mid-line presentation of cervical lymphomata." A
# **medical-abstract classifier** predicts its topic, *neoplasms* (tumors), and highlights the words
# that mattered most. A doctor has to decide whether to trust the prediction. Is the model better
# than counting words? Do the highlights show what the model uses? And is that what the doctor
# needs?
#
# **What it is.** The classifier assigns each abstract to one of five groups of diseases. A
# **feature attribution** gives every word a number: how much it contributed to the predicted class.
# A **faithfulness** test checks whether the words with the highest numbers really drive the
# prediction.
#
# **What you'll be able to do.** Compare a fine-tuned BERT with weighted word counts (TF-IDF) on
# equal terms, implement integrated gradients and two faithfulness metrics in PyTorch, reproduce the
# attributions with captum, and say what an attribution doesn't show.
#
# <details><summary><b>Short answer</b></summary>
#
# On the first 128 tokens of each abstract, MiniLM, a small BERT that we fine-tune, reaches a
# macro-F1 of 63.8% (95% confidence interval: 62.2% to 65.4%), where macro-F1 is the mean of the
# five classes' F1 scores. That is 4.1 points more than TF-IDF on words, but not reliably more than
# TF-IDF on characters. Some highlights do show what the model uses. For example, masking the words
# that a method called AttnLRP ranks first lowers the model's lead over the runner-up class by 2.91
# logits on average (2.60 to 3.21), while masking random words lowers it by only 0.19. But the
# highlights don't show whether the prediction is correct, and the model predicts *neoplasms* about
# as often for "no evidence of cancer" as for "evidence of cancer".
#
# </details>
#
# <small>Prerequisites: [fine-tuning](03b_reviews.ipynb),
# [occlusion](../chapters/07_explain/04_perturbation.ipynb),
# [faithfulness](../chapters/07_explain/13_sanity.ipynb) · 35 min · fine-tuning takes about 11
# minutes on one CPU core; results of the long runs are included · data: medical_abstracts · book
# 7.6</small>

# %% Attribution and faithfulness [markdown] tags=["slide"] figure="studies.attribution_diagram"
# ![Top: the tokens of an abstract become embeddings, a Transformer encoder and a classification
# head turn them into logits, and the margin is the predicted class's logit minus the next best.
# Middle: an attribution method goes back from the margin to the embeddings and gives each word a
# number. Bottom: the words with the highest attributions are replaced by [MASK], which is
# comprehensiveness, or all other words are, which is sufficiency, and the margin is measured
# again.](figures/07_medical.svg)
#
# *Top: the classifier. The **margin** is the logit of the predicted class minus the next best
# logit. Middle: an attribution method goes from the margin back to the words. Bottom: two
# faithfulness tests. [MASK], BERT's token for a hidden word, replaces the highest-ranked words
# (**comprehensiveness**) or all the other words (**sufficiency**), and the margin is computed
# again.*

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
# **Interactive figure: remove a word.** *This abstract is one that the model classifies correctly.
# The bars are the class probabilities. Below them, five attribution methods color the words: blue
# for the predicted class, orange against it. Experiment 2 defines the methods.* *Try this:*
#
# 1. Press "lymphoma". How far does the probability of *neoplasms* fall, and which word do the
#    methods rank first now?
# 2. Restore the word and compare the numbers next to "occlusion" and "integrated gradients". Why is
#    occlusion's so much smaller?
# 3. Compare the five colorings. Which method colors many words that the others leave white?

# %% Interactive figure: remove a word tags=["slide"]
from deepdive_book.studies.figures.medical_example import medical_example

medical_example()

# %% [markdown]
# <details><summary>What you should see: open after you try</summary>
#
# 1. The probability falls only from 88% to 87%, because "lymphomata" is still there. All five
#    methods now rank "lymphomata" first.
# 2. Occlusion gives its strongest word 0.25 logits, whereas integrated gradients give theirs 2.86.
#    One likely reason is that "lymphomata" is the plural of "lymphoma", so removing only one of the
#    two words changes little. Occlusion underestimates such **redundant** words.
# 3. Attention rollout. Its weights are never negative, and it doesn't use the predicted class.
#
# </details>
#
# ## By hand: attributions of two words
#
# Two words are enough to see how attribution methods differ. Suppose that the input $n$ of a model
# stands for the word *no* and $t$ for the word *tumor*. Each is 1 if the word is present and 0 if
# it is masked. The score of *neoplasms* is
#
# $$f(n, t) = 4t - 2nt$$
#
# In words, *tumor* adds 4 to the score, and *no* takes 2 away if there is a tumor. So the text "no
# tumor" has the score $f(1, 1) = 2$, and with both words masked the score is $f(0, 0) = 0$.
#
# **Occlusion** removes one word at a time, and the drop of the score is the attribution of that
# word. For *tumor* the drop is $2 - 0 = 2$. For *no* it is $2 - 4 = -2$, because the score rises
# when *no* is removed. The two attributions add up to 0, although the score is 2, because occlusion
# counts the joint term $-2nt$ once for each word.
#
# **Integrated gradients** ([Sundararajan et al. 2017](https://arxiv.org/abs/1703.01365)) avoid this
# double counting. They go in a straight line from a **baseline**, here the text with both words
# masked, to the input, and on the way they average the gradient of the score with respect to each
# input. The attribution is this average times the change of the input:
#
# | fraction of the way | $\partial f / \partial t = 4 - 2n$ | $\partial f / \partial n = -2t$ |
# |---|---|---|
# | 0 | 4 | 0 |
# | $\frac12$ | 3 | −1 |
# | 1 | 2 | −2 |
# | **average × change of the input** | $3 \cdot 1 = \mathbf 3$ | $-1 \cdot 1 = \mathbf{-1}$ |
#
# The sum of the two attributions is $3 - 1 = 2 = f(1, 1) - f(0, 0)$, the score of the text minus
# the score of the baseline. This property is called **completeness**.
#
# **Faithfulness.** The top word is *tumor*. Comprehensiveness is the drop without the top word,
# $f(1, 1) - f(1, 0) = 2 - 0 = 2$. Higher is better, because removing the most important words
# should lower the score. Sufficiency is the drop when only the top word remains, $f(1, 1) - f(0, 1)
# = 2 - 4 = -2$. Lower is better, because the top words should be enough to keep the score. Here it
# is even negative, because masking the word *no* removes its penalty. ([DeYoung et al.
# 2020](https://arxiv.org/abs/1911.03429) define both metrics for probabilities, but we use the
# margin.)
#
# ## In code: integrated gradients and faithfulness
#
# For BERT, the inputs are the embeddings of the tokens. `score` maps a batch of embeddings to one
# number per text, such as the margin. BERT splits rare words into several **tokens**, so
# `sum_over_words` adds up the attributions of each word's tokens. `faithfulness` averages both
# metrics over several fractions of the words.

# %% Integrated gradients, word attributions, and two faithfulness metrics tags=["concept", "slide"]
import math

import torch


def margin(logits, label):  # (B, C) -> (B,)
    """The logit of a class minus the best other logit."""
    others = torch.cat([logits[:, :label], logits[:, label + 1 :]], dim=1)  # (B, C - 1)
    return logits[:, label] - others.amax(1)


def integrated_gradients(score, x, baseline, steps=32):
    """Sundararajan et al. 2017. score maps (B, T, d) to (B,); x and baseline are (T, d)."""
    alpha = (torch.arange(steps, dtype=x.dtype) + 0.5) / steps  # (steps,): midpoints of [0, 1]
    path = baseline + alpha[:, None, None] * (x - baseline)  # (steps, T, d)
    path = path.detach().requires_grad_()
    (gradients,) = torch.autograd.grad(score(path).sum(), path)  # (steps, T, d)
    return ((x - baseline) * gradients.mean(0)).sum(-1)  # (T, d) -> (T,)


def sum_over_words(attribution, owner):
    """Add up the tokens of each word. owner (T,): index of the word, -1 for special tokens."""
    words = torch.zeros(int(owner.max()) + 1, dtype=attribution.dtype)  # (W,)
    return words.index_add(0, owner[owner >= 0], attribution[owner >= 0])


def faithfulness(score_of_words, attribution, fractions):
    """Comprehensiveness and sufficiency. DeYoung et al. 2020, section 4.2, on any score.

    score_of_words maps the words that are kept, bool (W,), to a number.
    """
    order = attribution.argsort(descending=True)  # (W,)
    everything, drops = score_of_words(torch.ones(len(order), dtype=torch.bool)), []
    for q in fractions:
        top = torch.zeros(len(order), dtype=torch.bool)
        top[order[: math.ceil(q * len(order))]] = True  # the top ceil(q W) words
        drops.append([everything - score_of_words(~top), everything - score_of_words(top)])
    return torch.tensor(drops).mean(0)  # (fractions, 2) -> (2,)


# %% [markdown]
# The example by hand has $T = 2$ tokens with $d = 1$, and the code returns the same numbers:

# %% By hand, in code tags=["nbval-check-output"]
def f(x):  # (..., 2) -> (...): the inputs n and t
    return 4 * x[..., 1] - 2 * x[..., 0] * x[..., 1]


x = torch.ones(2, 1)
values = integrated_gradients(lambda path: f(path[..., 0]), x, torch.zeros(2, 1))
print("no, tumor:", [round(v, 3) for v in values.tolist()])
comprehensiveness, sufficiency = faithfulness(lambda kept: f(kept.float()), values, [0.5]).tolist()
print(f"comprehensiveness {comprehensiveness:.0f}, sufficiency {sufficiency:.0f}")

# %% [markdown]
# `deepdive`, the small library that accompanies this book, implements the same methods. On a small
# BERT with random weights, our gradient, attributions, and metrics equal those of the library:

# %% Equal to the library tags=["equals-library", "nbval-check-output"]
from deepdive.explain import gradients
from deepdive.explain.evaluation.faithfulness import comprehensiveness, sufficiency
from deepdive_book.studies.runs.medical_explanations import POINT, on_embeddings, small_prediction

asked = small_prediction()  # a model, a text of ten words, and the class to explain
score, embedded = on_embeddings(asked.model, asked.tokens, asked.label)
x, baseline = embedded(asked.tokens), asked.emptied()  # (T, d) each; in the baseline all [MASK]
ours = integrated_gradients(score, x, baseline)  # (T,)
theirs, _ = gradients.integrated_gradients(asked.model, POINT, asked.output, baseline)
assert torch.allclose(ours, theirs[0])

path = x[None].detach().requires_grad_()
(gradient,) = torch.autograd.grad(score(path).sum(), path)
assert torch.allclose(gradient, gradients.gradient(asked.model, POINT, asked.output))

words, game = sum_over_words(ours, asked.owner), asked.game()  # (W,), kept words -> margin
assert torch.allclose(words, asked.of_words(theirs[0]))
both = faithfulness(lambda kept: game(kept[None])[0], words, (0.1, 0.2))
expected = [metric(game, words, (0.1, 0.2)) for metric in (comprehensiveness, sufficiency)]
assert torch.allclose(both.double(), torch.stack(expected).double(), atol=1e-6)
print("equal: gradient, integrated gradients, comprehensiveness, sufficiency")

# %% [markdown] tags=["slide"]
# ## The texts
#
# [Schopf et al. (2022)](https://doi.org/10.1145/3582768.3582795) labeled abstracts of medical
# papers with one of five conditions. Their training file of 11,550 abstracts isn't available here,
# so we use the 2,888 abstracts of their test file and split them into our own training and test
# parts. More training text could change the comparison below. To use your own texts, name a CSV
# file and two of its columns.

# %% Your own data, and your own encoder
MEDICAL_FILE = ""  # @param {type:"string"}
TEXT_COLUMN = "text"  # @param {type:"string"}
LABEL_COLUMN = "label"  # @param {type:"string"}
# Another BERT: a folder, or its name on the hub, such as emilyalsentzer/Bio_ClinicalBERT
ENCODER = ""  # @param {type:"string"}

# %% Texts and labels
from deepdive_book.data.medical import labels_of, with_one_label
from deepdive_book.studies.runs.medical import chosen_texts, folds

rows = chosen_texts(MEDICAL_FILE, TEXT_COLUMN, LABEL_COLUMN)  # generated reviews in `ci`
several = {text: labels for text, labels in labels_of(rows).items() if len(labels) > 1}
every = with_one_label(rows)
print(f"{rows.source}: {len(rows):,} lines; {len(several)} texts have several labels;")
print(f"{len(every):,} texts have one label")
for name, count in every.counts().items():
    print(f"{count / len(every):6.1%}  {name}")

# %% [markdown]
# The file lists 113 texts two or three times, each time with another label. If we split the lines
# at random, such a text could be in the training part with one label and in the test part with
# another, so we remove these texts first. In the tables, the classes are called *neoplasms*,
# *digestive*, *nervous*, *cardiovascular*, and *general* (general pathological conditions). The
# class *general* overlaps with the other four, because every disease is such a condition.
#
# ## Experiments
#
# ### 1. Does fine-tuned MiniLM beat TF-IDF?
#
# Fine-tuning a BERT is worth its cost only if cheaper models score lower. We compare all models in
# the same five-fold **cross-validation**. The texts are divided into five **folds**, and each fold
# is tested once with a model that was trained without it. A tenth of the other texts is for
# validation. The score is **macro-F1**, the mean of the F1 scores of the classes, where F1 is the
# harmonic mean of precision and recall. In this mean, a rare class counts as much as a frequent
# one.
#
# The **baseline**, in the sense of a simple model to beat, is **TF-IDF** with **logistic
# regression**. TF-IDF represents a text by its counts of words and word pairs, or of sequences of
# three to five characters, and gives rare ones more weight. Logistic regression is a linear
# classifier of these counts. Its class weights are balanced, so each class counts equally in the
# loss. We chose these class weights after seeing test scores, which may favor TF-IDF.
#
# **MiniLM** is a small BERT with six layers and 384 dimensions. We use the checkpoint
# [all-MiniLM-L6-v2](https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), a descendant of
# [Wang et al.'s (2020)](https://arxiv.org/abs/2002.10957) models. This sentence encoder was trained
# on about a billion sentence pairs. The pairs include titles and abstracts of scientific papers, so
# some medical text may be among them.
#
# **Fine-tuning** updates all weights of MiniLM and of a new classification layer for three epochs.
# The optimizer is AdamW, and a batch has about seven texts. The learning rate rises to 1e-4 during
# the first tenth of the steps and then falls linearly. The code is `fine_tune` in
# `deepdive_book.studies.runs.medical`.
#
# For a comparison on equal terms, three things have to match:
#
# - **Text.** MiniLM gets the first 128 tokens of each text. Most texts are longer, so they are cut
#   (**truncation**). TF-IDF gets the words that fit in the same 128 tokens or, where the table says
#   so, the full text.
# - **Tuning.** Each side tries three values on the validation parts of the same two folds, and then
#   uses one of them in all five. MiniLM tries learning rates (5e-5, 1e-4, 2e-4), and TF-IDF tries
#   strengths of its L2 **regularization** ($C$ = 1, 3, 10). MiniLM also selects one of four
#   checkpoints in each fold, an advantage that TF-IDF doesn't have. However, we chose its learning
#   rate of 1e-4 jointly with the rate of two other encoders, which this page doesn't use. For
#   MiniLM alone, 5e-5 was slightly better on validation.
# - **Ensembles.** Three MiniLMs with different random seeds vote on each text, and so do three
#   different TF-IDF models: words, characters, and naive Bayes on words.
#
# Here TF-IDF, on the words of the full text, and MiniLM are trained on the first fold:

# %% TF-IDF and logistic regression
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

part, labels = folds(every.labels)[0], every.labels
train, test = ([every.texts[i] for i in some] for some in (part.train, part.test))
tfidf = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)  # words and word pairs
counted = LogisticRegression(C=1, class_weight="balanced", max_iter=2000)
counted.fit(tfidf.fit_transform(train), [labels[i] for i in part.train])
truth = [labels[i] for i in part.test]
predicted = counted.predict(tfidf.transform(test))
print(f"{len(test)} test texts, macro-F1 {f1_score(truth, predicted, average='macro'):.1%}")

# %% MiniLM, fine-tuned
from deepdive.published.classifier import begin
from deepdive.training import Keep
from deepdive_book.kit.profile import pick, profile, workdir
from deepdive_book.studies.runs.medical import LENGTH, chosen_encoder, fine_tune
from deepdive_book.tasks import classification

wanted, folder, tokenizer = chosen_encoder(ENCODER)
classes, ids = len(every.names), classification.encode(every.texts, tokenizer, LENGTH)  # 128 tokens
saved = Keep(workdir() / "medical" / "tuned", of=(every.texts, labels, wanted))
torch.manual_seed(0)
model, history = fine_tune(
    begin(folder, classes), ids, labels, part, epochs=pick(ci=1.0, laptop=3.0, gpu=3.0),
    folder=None if profile() == "ci" else saved,
)  # fmt: skip
logits = classification.predict(model, [ids[i] for i in part.test])
predicted = logits.argmax(1).tolist()
print(f"{len(history.losses)} steps, macro-F1 {f1_score(truth, predicted, average='macro'):.1%}")

# %% [markdown]
# One fold can't decide between the two models, so the tables below use all five. In the first
# table, *input* is the part of the text that a model gets, and *models trained per fold* is 3 for
# an ensemble. The brackets hold 95% confidence intervals from the **bootstrap**, which computes the
# score again on many random resamples of the test texts.
#
# The second table has differences between pairs of models on the same texts, in percentage points.
# An interval that excludes zero is evidence of a difference. But with six comparisons, one interval
# can easily exclude zero by chance, so the **Bonferroni** correction makes all six wider.
#
# The last row of the second table, *medical pretraining − none*, tests **domain-adaptive
# pretraining** ([Gururangan et al. 2020](https://arxiv.org/abs/2004.10964)). Before fine-tuning,
# MiniLM is trained to predict masked tokens (**masked language modeling**) in 1.7 million tokens of
# medical answers ([MedQuAD](https://doi.org/10.1186/s12859-019-3119-4)). The new output layer for
# this task is trained first, while the encoder's weights are **frozen**.

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict

predict(
    "TF-IDF on characters gets the full text, MiniLM 128 tokens. How do their macro-F1 scores "
    "compare?",
    ["MiniLM is 5 to 10 points higher", "less than a point apart", "TF-IDF is 5 to 10 higher"],
    answer=1,
    explain="MiniLM scores 0.4 points higher, and the interval includes zero. Probably because "
    "parts of words, such as 'carci' and 'cardi', identify most of the classes.",
    key="07_explain/tfidf-or-minilm",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Macro-F1 on five folds tags=["slide"]
from deepdive_book.studies.runs.medical_results import load_results

results = load_results()
results.table("accuracy", "2,657 texts, five folds; 95% bootstrap intervals over texts, training "
              "seeds averaged")  # fmt: skip

# %% Differences
results.table("differences", "differences in points, same texts; the intervals are corrected for "
              "six comparisons (Bonferroni)")  # fmt: skip

# %% Seeds and errors
print(results.text("seeds"), results.text("errors"), sep="\n")

# %% [markdown]
# On equal text, fine-tuned MiniLM scores 4.1 points higher than TF-IDF on words, and the corrected
# interval excludes zero. But words are a weak baseline. TF-IDF on characters comes within 1.9
# points of MiniLM, and the interval of this difference includes zero. When the character model gets
# the full text, we find no difference between it and MiniLM. (All differences are computed before
# rounding.)
#
# Among the TF-IDF models, the ensemble scores above words, but no higher than characters alone. On
# 128 tokens, three MiniLMs that vote score 4.2 points higher than the TF-IDF ensemble, but when the
# TF-IDF models get the full text, the interval includes zero. So **MiniLM has a clear advantage
# over words on equal text, but not over the best cheap baseline**. It also costs more, because
# fitting TF-IDF takes seconds on a CPU, whereas fine-tuning one MiniLM took about 11 minutes on one
# core.
#
# Medical pretraining changes macro-F1 by 0.1 points, and the interval includes zero. Yet the model
# predicts masked tokens of unseen abstracts much better afterwards ([more
# experiments](07b_medical_more.ipynb)). But ours is a small run: Gururangan et al. gain in all four
# of their domains, with larger models and far more text.
#
# The intervals cover the choice of texts, but not the randomness of training. There are only three
# seeds, whose range is in the last output, and only one ensemble of them.

# %% [markdown]
# ### 2. Which attributions are faithful?
#
# We now test whether the top words of eight methods really drive MiniLM's predictions. All methods
# explain the same number, the margin of the predicted class, on 120 correctly classified abstracts
# of the first fold. They differ in how they get from the margin to the words:
#
# | method | attribution of a word |
# |---|---|
# | occlusion | drop of the margin when [MASK] replaces the word |
# | [LIME](https://arxiv.org/abs/1602.04938) | its weight in a linear model of 300 masked texts |
# | [kernel SHAP](https://arxiv.org/abs/1705.07874) | the same, fitted to estimate Shapley values |
# | integrated gradients | as above; the baseline has [MASK] for every word |
# | attention × gradient | attention weights times their gradients, multiplied over the layers |
# | [AttnLRP](https://arxiv.org/abs/2402.05602) | its share of the margin, passed back by layers |
# | [attention rollout](https://arxiv.org/abs/2005.00928) | attention weights only, no gradients |
# | random | a random number |
#
# LIME and kernel SHAP mask random sets of words and fit a linear model to the margins. A **Shapley
# value** is the average contribution of a word over all orders in which the words could be added.
# AttnLRP is **layer-wise relevance propagation**, in which each layer divides the relevance of its
# outputs among its inputs, with rules for attention. Attention rollout ignores the predicted class.
#
# We mask the top 5%, 10%, and 20% of a text's words (or all the others, for sufficiency) and
# average the three drops of the margin. In the table, *model calls per text* is a method's cost in
# forward and backward passes, where $W$ is the number of words, 77 on average. *AttnLRP's lead* is
# the comprehensiveness of AttnLRP minus that of the method in the row. The column *two other seeds*
# shows the mean comprehensiveness on two more models, trained with other seeds.

# %% tags=["fold", "nbval-check-output"]
predict(
    "Attention rollout selects 86% of the same top words whatever the training seed, more than any "
    "other method. How does its comprehensiveness rank among the eight methods?",
    ["first", "in the middle", "last but one, above random"],
    answer=2,
    explain="Because it never uses the predicted class, it can be stable without showing what "
    "drives the prediction.",
    key="07_explain/steady",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Faithfulness of eight methods tags=["slide"]
results.table("faithfulness", "drop of the margin in logits, 120 abstracts [95% interval]; "
              "comprehensiveness: higher is better, sufficiency: lower is better; differences "
              "corrected for seven comparisons")  # fmt: skip

# %% [markdown]
# **AttnLRP's words matter most.** Without them the margin falls by 2.91 logits, but without random
# words only by 0.19. AttnLRP leads every other method in comprehensiveness. All corrected intervals
# of its lead exclude zero, and it also has the highest mean on the two other models. AttnLRP is
# also cheap, because it needs one forward and one backward pass. LIME and SHAP need 300 forward
# passes and are less comprehensive.
#
# However, the order depends on the metric. By sufficiency, integrated gradients have the best mean,
# and we computed no intervals for these differences. The test itself also has a weakness. MiniLM
# never saw a [MASK] in fine-tuning, so part of each drop may be a reaction to unusual input. This
# could favor occlusion, LIME, SHAP, and integrated gradients, because they are computed with the
# same [MASK]s that the metric uses, but AttnLRP isn't, and it leads anyway.
#
# Attention rollout is the most **stable** method, which means that its top words change least when
# the model is trained with another seed, and yet it is the least faithful of the seven methods that
# use the model. The methods also disagree with each other, because two of them share on average
# fewer than half of their top five words ([more experiments](07b_medical_more.ipynb) has both
# tables). So a doctor should know which method colored the words.

# %% [markdown]
# ### 3. What do attributions not show?
#
# **Negation.** Clinical notes often name a disease in order to rule it out, so it matters whether a
# model uses the word "no". To test this, we take 200 abstracts that the model assigns to another
# class than the disease's, and put one sentence in front of each. The sentence is "There is
# evidence of cancer." or "There is no evidence of cancer.", and the same for three other diseases.
# The **control** sentence, "There is no evidence of lateness.", shows how much any added sentence
# changes. The TF-IDF model counts words and word pairs in the same 128 tokens.
#
# In the table, three columns have the percentage of abstracts that the model assigns to the
# disease's class, one for each sentence. The last column is the percentage with "no" minus the
# percentage without it, so a model that uses the "no" would have a clearly negative number there.

# %% tags=["fold", "nbval-check-output"]
predict(
    "With “There is evidence of cancer.” in front, 55% of the abstracts become neoplasms. And "
    "with “There is no evidence of cancer.”?",
    ["about 1%", "about 25%", "about 56%"],
    answer=2,
    explain="56.0%. Probably because the labels are topics: an abstract that reports no evidence "
    "of cancer is still about cancer, so training gives no reason to use the “no”.",
    key="07_explain/no-evidence",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% A sentence in front of the abstract tags=["slide"]
results.table("negation", "200 abstracts per line that the model assigns to another class: how "
              "many it assigns to the disease's class with the sentence in front; differences "
              "corrected for eight comparisons")  # fmt: skip

# %% [markdown]
# Adding "no" never clearly lowers the percentage. With "There is **no** evidence of cancer." in
# front, MiniLM assigns 56.0% of the abstracts to *neoplasms*, and without the "no" it assigns
# 55.0%. In none of the eight rows is the percentage more than 0.5 points lower with "no". For heart
# failure it is even 4.0 points higher, in both models.
#
# An attribution that highlights only "cancer" wouldn't reveal this behavior. An attribution of "no"
# might, but we computed no attributions of these negated texts. Comparing the predictions with and
# without "no" is the direct test.
#
# "No" doesn't help TF-IDF either. For cancer, gastritis, and epilepsy, the added sentence changes
# far fewer predictions of TF-IDF than of MiniLM, but for heart failure it changes more. Probably
# TF-IDF weighs the disease as one word among about eighty, while MiniLM has learned which words
# name a disease. We didn't test this explanation, and heart failure doesn't fit it. The labels also
# matter, because they say what an abstract is about. A paper that finds no evidence of cancer is
# about cancer, but in a medical record the same prediction would be an error.
#
# **Confidence.** Attributions also don't show how likely the prediction is to be correct. For that
# you can look at the **confidence**, the probability of the predicted class. A model can
# **abstain** when its confidence is low, and a human classifies the rest. In the table, each row
# describes the most confident test texts of the first fold, and the first column shows which
# percentage of all texts these are.
#
# The line above the table is the **expected calibration error** ([Guo et al.
# 2017](https://arxiv.org/abs/1706.04599)). The texts are divided into ten bins by confidence, and
# the absolute differences between mean confidence and accuracy in the bins are averaged, weighted
# by the number of texts.

# %% Accuracy when the model abstains
print(results.text("calibration"))
results.table("coverage", "532 test texts of the first fold, one training; the most confident ones "
              "first")  # fmt: skip

# %% [markdown]
# The model is **overconfident**. On all texts its mean confidence is 73.2%, but only 63.5% of its
# predictions are correct. The expected calibration error, 9.7 points, is as large as this
# difference. Still, confidence is useful for ranking. If the model classifies only the most
# confident quarter of the texts, 81.2% of its predictions are correct. That may not be enough for a
# clinic, and no attribution reveals it.

# %% [markdown]
# ### What would a clinician need?
#
# [Tonekaboni et al. (2019)](https://arxiv.org/abs/1905.05134) interviewed clinicians in intensive
# care and emergency medicine. The clinicians want to know which facts about the case the model
# used, how certain the model is, where it fails, and whether the case resembles its training data.
# [Ghassemi et al. (2021)](https://doi.org/10.1016/S2589-7500(21)00208-9) warn that explanations of
# single predictions can reassure without showing that the predictions are correct.
#
# | question | what answers it |
# |---|---|
# | Which words drove this prediction? | an attribution that passes a test like the one above |
# | Are these words medically relevant? | the clinician's own knowledge |
# | Is the prediction correct? | tests on other texts, and calibrated confidence |
# | Does it hold for this patient? | nothing here: abstracts aren't medical records |
#
# ## With the real library: transformers and captum
#
# We save our fine-tuned model in the format of transformers and load it with that library. Then
# captum, a library of attribution methods for PyTorch, computes integrated gradients of the
# embedding layer, with the same baseline and steps as ours:

# %% captum on the transformers model tags=["slide"]
from tempfile import TemporaryDirectory

from captum.attr import LayerIntegratedGradients
from transformers import AutoModelForSequenceClassification
from transformers.utils import logging

from deepdive.published.classifier import save
from deepdive.training.objectives.masking import mask_id

logging.disable_progress_bar()
model = model.cpu().eval()
with TemporaryDirectory() as place:
    save(model, place, like=folder, names=every.names)
    bert = AutoModelForSequenceClassification.from_pretrained(place).eval()
tokens = torch.tensor([ids[part.test[0]]])  # (1, T)
special = (tokens == tokenizer.bos) | (tokens == tokenizer.eos)
masked = tokens.masked_fill(~special, mask_id(tokenizer))
label = logits[0].argmax().item()
explain = LayerIntegratedGradients(lambda t: margin(bert(t).logits, label), bert.bert.embeddings)
theirs = explain.attribute(tokens, masked, n_steps=32, method="riemann_middle")[0].sum(-1)  # (T,)

# %% Ours tags=["slide", "nbval-check-output"]
score, embedded = on_embeddings(model, tokens, label)
ours = integrated_gradients(score, embedded(tokens), embedded(masked))
print("equal:", torch.allclose(ours, theirs.float(), atol=1e-4))

# %% The strongest tokens, by captum
for i in theirs.argsort(descending=True)[:5].tolist():
    print(f"{theirs[i]:+.2f}  {tokenizer.decode([tokens[0, i].item()])}")

# %% [markdown]
# Both implementations give the same attributions. In this abstract of the first test fold, four of
# the five tokens with the highest attributions are the token "sleep" at different positions. For
# your own model, replace `place` with its name, and adapt the tokenizer with its special tokens and
# the embedding layer that `LayerIntegratedGradients` gets. We use [MASK] embeddings as the
# baseline, because they stand for missing words in BERT's pretraining, which an embedding of zeros
# never does.
#
# ## Common mistake: a baseline with less than the model
#
# If you compare TF-IDF on words with the ensemble of three MiniLMs in the first table, MiniLM seems
# to win clearly. **Symptom:** the new model beats the baseline, but it had more text, more tuning,
# or more models, or the baseline was the first one that came to mind. **Fix:** give both sides the
# same text, the same number of configurations, and the same ensemble size. Then try to make the
# baseline better. Here, character features instead of words gained about as much as using the full
# text.
#
# ## In practice
#
# - **Start with TF-IDF** on words and on characters, with the full text. It is fitted in seconds,
#   and you can read its weights.
# - **Look for contradictory labels** before you split, and for classes that overlap. Of the 970
#   mistakes of one MiniLM seed, 808 involve the class *general*.
# - **Test an attribution before you show it.** Remove its top words, and compare the drop with that
#   of random words. AttnLRP and attention × gradient need only one backward pass.
# - **Probe what attributions can't show.** Put negated sentences in front, for every class.
# - **Report confidence and abstain.** In a clinic, decide in advance on the percentage of texts
#   that is left to a human.
# - **Nothing learned from research abstracts is medical advice.**
#
# ## Summary
#
# **Is the model better than counting words?** It is better than counting words in the same text,
# but an advantage over counting characters isn't established. On the same 128 tokens, fine-tuned
# MiniLM has a macro-F1 of 63.8% [62.2%, 65.4%], and TF-IDF on words has 59.7%. TF-IDF on characters
# with the full text reaches 63.4%, and the interval of the difference includes zero. Three MiniLMs
# that vote have the highest score, 65.3%, but the corrected interval of their lead over a TF-IDF
# ensemble with the full text includes zero. Moreover, the class weights of TF-IDF were chosen after
# seeing test scores. Medical pretraining adds nothing measurable.
#
# **Do the highlights show what the model uses?** It depends on the method. Masking the words that
# AttnLRP ranks first lowers the margin by 2.91 [2.60, 3.21] logits, more than with any of the other
# methods. Attention rollout is the weakest of the seven, though clearly better than random words.
#
# **Is that what the doctor needs?** Not enough. In our probe, adding "no" never clearly lowers the
# percentage of abstracts assigned to the disease's class, and the model is overconfident by about
# ten points. Highlights of disease words would show neither. Our numbers
# can't be compared with those of the papers, because DeYoung et al. define the metrics on other
# data and with probabilities, and Gururangan et al. use larger models and corpora. We reproduced
# neither paper, and we tested no medical records, other classifiers, or clinicians. The
# faithfulness, negation, and confidence results come from one fold.
#
# More experiments: [pretraining, truncation, stability, and texts with two
# labels](07b_medical_more.ipynb).
#
# ## Check your understanding
#
# 1. Why are texts with several labels removed before the split, not after it?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Otherwise a text can be in the training part with one label and in the test part with another.
#    The model would have seen the test text, with a label that contradicts the test label.
#
#    </details>
# 2. Comprehensiveness of a random order is 0.19, not 0. Why?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Random words include important ones now and then, and every [MASK] is unusual input. So an
#    attribution has to be compared with random words rather than with zero.
#
#    </details>
# 3. After medical pretraining the loss of masked language modeling is much lower, but macro-F1
#    doesn't change. What follows?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    What the model learned from medical text isn't what these five classes need, at this size of
#    model and corpus. It doesn't follow that domain-adaptive pretraining never helps.
#
#    </details>
# 4. A method highlights the same words for every training seed. Is it faithful?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Not necessarily. Attention rollout is the most stable method here and, apart from random words,
#    the least faithful, possibly because it doesn't use the predicted class.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* Compute integrated gradients of $f(n, t) = 6t - 2nt$ for the text with both
#    words, with the baseline $(0, 0)$. What do the two attributions add up to?
#
#    <details><summary>Answer</summary>
#
#    $6 - 2 \cdot \frac12 = 5$ for *tumor* and $-2 \cdot \frac12 = -1$ for *no*. Their sum is 4, the
#    score of the text.
#
#    </details>
# 2. *(in code, 15 min)* Measure the error of integrated gradients. Compute the sum of the
#    attributions with 2, 4, 8, and 32 steps on the fine-tuned model, and compare it with the
#    difference of the two margins.
#
#    <details><summary>Answer</summary>
#
#    `score(embedded(tokens)[None]) - score(embedded(masked)[None])` is the difference. With enough
#    steps the sum approaches it, which is completeness.
#
#    </details>
# 3. *(in code, 30 min)* Measure negation with other diseases, such as "melanoma" for *neoplasms*.
#    Call `negation(classify, texts, predicted, {0: "melanoma"})` of
#    `deepdive_book.studies.runs.medical_probes`, where `classify` maps a list of texts to predicted
#    classes.
#
#    <details><summary>Answer</summary>
#
#    `classify` encodes the texts, calls `predict`, and returns the `argmax` as a list. Report all
#    three percentages, because without the control you can't tell the disease word from any added
#    sentence.
#
#    </details>

# %% Exercise 1, checked tags=["nbval-check-output"]
values = integrated_gradients(
    lambda path: 6 * path[:, 1, 0] - 2 * path[:, 0, 0] * path[:, 1, 0],
    torch.ones(2, 1), torch.zeros(2, 1),
)  # fmt: skip
print([round(v, 3) for v in values.tolist()], round(values.sum().item(), 3))

# %% [markdown]
# ## Further reading
#
# - [Schopf et al. (2022)](https://doi.org/10.1145/3582768.3582795), *Evaluating Unsupervised Text
#   Classification: Zero-shot and Similarity-based Approaches*: the abstracts.
# - [Sundararajan et al. (2017)](https://arxiv.org/abs/1703.01365), *Axiomatic Attribution for Deep
#   Networks*: integrated gradients and their axioms.
# - [DeYoung et al. (2020)](https://arxiv.org/abs/1911.03429), *ERASER: A Benchmark to Evaluate
#   Rationalized NLP Models*: section 4, comprehensiveness and sufficiency.
# - [Achtibat et al. (2024)](https://arxiv.org/abs/2402.05602), *AttnLRP: Attention-Aware Layer-Wise
#   Relevance Propagation for Transformers*.
# - [Gururangan et al. (2020)](https://arxiv.org/abs/2004.10964), *Don't Stop Pretraining: Adapt
#   Language Models to Domains and Tasks*.
# - Alsentzer et al. (2019), [*Publicly Available Clinical BERT
#   Embeddings*](https://arxiv.org/abs/1904.03323): Bio_ClinicalBERT, an encoder for `ENCODER`.
# - Tonekaboni et al. (2019), [*What Clinicians Want*](https://arxiv.org/abs/1905.05134).
# - Ghassemi, Oakden-Rayner and Beam (2021), *The False Hope of Current Approaches to Explainable
#   Artificial Intelligence in Health Care*.
#
# <!--
# System: cs_explain
# Parent: lime
# What differs:
# - attributions of one fine-tuned BERT on real abstracts, each tested for faithfulness against
#   random words (`deepdive_book.studies.runs.medical_explanations`)
# - the same encoder after continued pretraining on medical text, against a control of equal compute
#   (`deepdive_book.studies.runs.medical`)
# - texts with contradictory labels are removed before the split (`deepdive_book.data.medical`)
# Source: Kamath, Graham and Emara 2022, section 7.6.
# Book: 7.6
# -->

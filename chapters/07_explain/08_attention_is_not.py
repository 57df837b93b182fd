# %% [markdown] tags=["slide"]
# # Attention is not explanation
#
# A classifier reads *I do not find the ending cold, others find the story dull* and predicts
# "positive". Almost all of its **attention weight** is on *not*. Now the weights are replaced by
# very different ones, and the prediction stays. Was *not* the reason? *Attention is not
# explanation*, Jain and Wallace concluded from such tests. Do the tests show that?
#
# **What it is.** [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186) test whether attention
# weights explain a text classifier's prediction. If they do, weights should correlate with other
# measures of importance, and other weights should change the prediction. The [next
# page](09_attention_is_not_not.ipynb) is about the reply of Wiegreffe and Pinter (2019).
#
# **What you'll be able to do.** Implement both tests, that is, leave-one-out importance, Kendall's
# tau, permuted and adversarial attention; say what they show and what they don't; and test an
# attribution against ground truth.
#
# <details><summary><b>Short answer</b></summary>
#
# Not quite. With a BiLSTM, attention agrees little with leave-one-out (Kendall's tau 0.26 [0.16,
# 0.36] on movie reviews), and very different weights leave the predictions unchanged. But such a
# model depends little on its attention: uniform weights change its predictions as little as
# permuted ones. Where the deciding words are known, attention ranks them above other words with an
# AUC of 0.77 [0.71, 0.84], leave-one-out with 0.90 [0.88, 0.93].
#
# </details>
#
# <small>Prerequisites: [recurrent networks](../01_before/07_rnn.ipynb),
# [what explanations are](00_opening.ipynb) · 20 min · runs on a laptop; results of the long runs
# are included · book 7.4.1</small>

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

# %% Figure: a classifier with one attention layer tags=["slide", "fold"]
from deepdive_book.ch07.figures.attention_classifier import ALT, attention_classifier
from deepdive_book.kit.plotting import show

show(attention_classifier(), ALT)

# %% [markdown]
# *The classifier and the test. A bidirectional LSTM (BiLSTM) turns the embeddings of the words into
# **hidden states** $h_t$; a learned query turns these into an **attention distribution**, weights
# that sum to 1. The weighted sum of the hidden states is classified. The test replaces the weights
# and leaves everything else.*
#
# $u$ is the query, and $W$, $b$, $C$, $c$ are learned:
#
# $$\alpha_t = \operatorname{softmax}_t\big(u \cdot \tanh(W h_t + b)\big), \qquad
# \text{logits} = C \sum_t \alpha_t h_t + c$$
#
# With two classes, the log-odds of "positive", called *the logit* below, are a weighted sum, too:
# $\sum_t \alpha_t v_t$ plus a constant, where $v_t = (C_1 - C_0) \cdot h_t$ is the **logit
# contribution** of position $t$.

# %% Interactive figure: replace the attention weights tags=["fold"]
import torch

from deepdive_book.ch07.figures.attention_weight_editor import attention_weight_editor
from deepdive_book.ch07.runs import attention_not_explanation as runs

texts, cause = runs.generated()
REVIEWS = ["i do not find the ending cold , others find the story dull .",
           "critics do not find the script dull , i find the music cold .",
           "i find the acting warm and the music lively ."]  # fmt: skip
shown = [runs.weighted(review) for review in REVIEWS]
attention_weight_editor(shown, texts.names)

# %% [markdown]
# **Interactive figure: replace the attention weights.** *Three generated reviews and a small BiLSTM
# trained on such reviews. Each line has a word, its attention weight, and its logit contribution,
# above zero for "positive". Move the sliders; the weights are normalized.* *Try this:*
#
# 1. Take all weight from the word with the most. What happens to the logit?
# 2. Press *adversarial: same probability*, and compare the probability with the logit. Then press
#    *adversarial: same logit*.
# 3. Press *uniform*, here and in the second review. What differs?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. In the first review the logit falls from 6.94 to 4.45, but the probability only from 0.999 to
#    0.989. Most of the weight is now on *do*, which also has a positive contribution.
# 2. The first search finds weights with the probability 0.989. The logit is 4.54, a third lower:
#    near a probability of 1 the sigmoid is flat. The second search keeps the logit, 6.88, and its
#    weights are still very different, with a divergence of 0.66. *Not* has no weight in either.
# 3. The first review stays "positive" (logit 4.75). The second becomes "positive", too (2.87),
#    because all positions of its first clause have positive contributions. Here the model needs its
#    weights, to select the second clause.
#
# </details>
#
# The rule of the generated reviews is known: what the reviewer finds decides, what others find
# doesn't. Later this gives us a ground truth.
#
# ## By hand: two weightings with the same logit
#
# | word | music | is | cold | . |
# |---|---|---|---|---|
# | logit contribution | −2 | 0 | −3 | −4 |
# | attention weights | 0 | 0 | 1 | 0 |
# | other weights | ½ | 0 | 0 | ½ |
#
# The attention weights give the logit $-3$; the other weights give $\frac12 (-2) + \frac12 (-4) =
# -3$, too. No word has weight in both lines, so their **Jensen-Shannon divergence** (JSD), the
# measure of how different two distributions are, has its maximum, $\ln 2 = 0.69$:
#
# $$\text{JSD}(p, q) = H\big(\tfrac{p + q}{2}\big) - \tfrac12 H(p) - \tfrac12 H(q), \qquad
# H(p) = -\sum_t p_t \ln p_t$$
#
# Predictions are compared by **total variation distance** (TVD), half the sum of the absolute
# differences of the class probabilities. Here it is 0.
#
# Why does the full stop have a logit contribution at all? Its hidden state comes from an LSTM that
# has read *cold*. An attention weight belongs to a hidden state, and each hidden state depends on
# the entire text.
#
# **Kendall's tau** compares two rankings: of all pairs of words, the fraction that both measures
# order in the same way, minus the fraction that they order in opposite ways. For the importances
# $(3, 2, 1)$ and $(2, 3, 1)$, two pairs agree and one doesn't, so tau is $(2 - 1) / 3 = 0.33$.
#
# ## In code: leave-one-out, permuted and adversarial attention

# %% The classifier and Jain and Wallace's tests tags=["concept"]
import torch
import torch.nn.functional as F
from torch import nn


class AttentionClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d)
        self.encoder = nn.LSTM(d, d, batch_first=True, bidirectional=True)
        self.key, self.query = nn.Linear(2 * d, d), nn.Parameter(torch.randn(d))
        self.classify = nn.Linear(2 * d, n_classes)

    def states(self, tokens):  # (B, T) -> (B, T, 2d)
        return self.encoder(self.embed(tokens))[0]

    def weights(self, h):  # (B, T, 2d) -> (B, T)
        return (self.key(h).tanh() @ self.query).softmax(-1)

    def predict(self, h, weights):  # -> (B, n_classes)
        return self.classify((weights[..., None] * h).sum(1)).softmax(-1)


def tvd(p, q):  # total variation distance of predictions (..., n_classes)
    return (p - q).abs().sum(-1) / 2


def jsd(p, q):  # Jensen-Shannon divergence of weights (..., T), from 0 to log 2
    entropy = lambda x: -(x * x.clamp(min=1e-38).log()).sum(-1)  # noqa: E731
    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2


def kendall(a, b):  # two importances (T,) without ties, -1 to 1
    a, b = ((x[:, None] - x).sign() for x in (a, b))  # (T, T), the order of each pair
    return ((a * b).sum() / (len(a) * (len(a) - 1))).item()


def leave_one_out(model, tokens):  # (1, T) -> (T,)
    T = tokens.shape[1]
    shorter = torch.stack([torch.cat((tokens[0, :t], tokens[0, t + 1 :])) for t in range(T)])
    predict = lambda x: model.predict(h := model.states(x), model.weights(h))  # noqa: E731
    return tvd(predict(tokens), predict(shorter))


def permuted(predict, weights, times, draw):  # -> TVD of each permutation (times, B)
    orders = (torch.rand(weights.shape, generator=draw).argsort(-1) for _ in range(times))
    return torch.stack([tvd(predict(weights), predict(weights.gather(-1, o))) for o in orders])


def adversarial(predict, weights, z, close=0.01, steps=300):  # z: start (B, T)
    best, most, z = weights, torch.zeros(len(weights)), z.clone().requires_grad_()
    optimizer = torch.optim.Adam([z], lr=0.05)
    for _ in range(steps):
        other = z.softmax(-1)
        far, moved = jsd(other, weights), tvd(predict(other), predict(weights))  # (B,) each
        keep = (moved <= close) & (far > most)
        best, most = best.where(~keep[:, None], other.detach()), most.where(~keep, far.detach())
        (z.grad,) = torch.autograd.grad((50 * F.relu(moved - close) - far).sum(), [z])
        optimizer.step()
    return best

# %% [markdown]
# **Leave-one-out** deletes each word in turn and measures the change of the prediction. **Permuted
# attention** shuffles the weights among the words. **Adversarial attention** maximizes the JSD to
# the model's weights by gradient ascent, with a penalty if the prediction moves by more than
# `close`. The examples by hand:

# %% The worked example tags=["nbval-check-output"]
contribution = torch.tensor([-2.0, 0.0, -3.0, -4.0])
own, other = torch.tensor([[0.0, 0.0, 1.0, 0.0], [0.5, 0.0, 0.0, 0.5]])
print("logits:", (own @ contribution).item(), (other @ contribution).item())
print(f"JSD {jsd(own, other).item():.2f}")
print(f"tau {kendall(torch.tensor([3.0, 2, 1]), torch.tensor([2.0, 3, 1])):.2f}")

# %% [markdown]
# And on a trained model of `deepdive`, this book's own library, with the same parameters:

# %% They equal the library tags=["equals-library"]
from deepdive.explain.attention_weights import alternatives as library
from deepdive_book.ch07.runs.attention_debate import from_states
from deepdive_book.ch07.runs.attention_debate_results import importances

trained = runs.classifier(seed=0)
model = AttentionClassifier(len(texts.words), 2, 32)
model.load_state_dict(runs.torch_weights(trained))
tokens = runs.tokens_of(REVIEWS[0])
h = model.states(tokens)
weights = model.weights(h)
ours, theirs = model.predict(h, weights), trained(tokens).softmax(-1)
assert torch.allclose(ours, theirs, atol=1e-5)
gradients = [torch.autograd.grad(p[0, 1].log(), m.embed.weight, retain_graph=True)[0]
             for p, m in ((ours, model), (theirs, trained))]  # fmt: skip
assert torch.allclose(*gradients, atol=1e-5)

h, weights = h.detach(), weights.detach()
reweighted, answer = (lambda w: model.predict(h, w)), from_states(trained, h)
left_out = importances(trained, tokens[0])["left out"]
assert torch.allclose(leave_one_out(model, tokens), left_out, atol=1e-5)
draw = lambda: torch.Generator().manual_seed(0)  # noqa: E731
ours = permuted(reweighted, weights, 5, draw())
assert torch.allclose(ours, library.permuted(answer, weights, tokens != 0, 5), atol=1e-5)
found = library.adversarial(answer, weights, tokens != 0)
z = torch.randn(weights.shape, generator=draw())
assert torch.allclose(adversarial(reweighted, weights, z), found.weights, atol=1e-4)

# %% [markdown] tags=["slide"]
# ## Experiments
#
# Movie reviews (rt_polarity, 8,000 for training) and medical abstracts (medical_abstracts, about
# 1,300, four classes, cut after 100 words). Tests are on 200 texts of each, with three training
# seeds. The **BiLSTM** has 64 units per direction and learned embeddings. As a control,
# **embeddings only** is the same model without the LSTM: its attention is over word embeddings,
# which don't depend on the other words. Jain and Wallace use 128 units and fastText embeddings.
#
# ### 1. Does attention agree with other importance measures?
#
# Kendall's tau between attention weights and two measures that Jain and Wallace use, the gradient
# (times input, with the attention weights held fixed) and leave-one-out. For comparison, the table
# also has the tau of the two measures with each other, and the tau of one method between two models
# that differ only in their seed.

# %% Predict tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "BiLSTM, movie reviews: which tau is the largest?",
    ["attention with leave-one-out", "attention with the gradient",
     "the gradient with leave-one-out"],
    answer=2,
    explain="But it is only 0.54: the two measures that attention is judged by agree moderately.",
    key="07_explain/two-gradients",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Attention against other measures tags=["surprise"]
from deepdive_book.kit.tables import table

tests, logits = runs.results()
table(runs.summary(tests, runs.AGREEMENT), formats=dict.fromkeys(runs.AGREEMENT, ".2f"),
      caption="Kendall's tau, mean over 200 texts; mean over three seeds [95% t interval]")

# %% [markdown]
# With the BiLSTM, attention agrees little with either measure: tau is about 0.27 on the reviews and
# 0.1 on the abstracts. That is Jain and Wallace's first result. Without the LSTM the agreement is
# higher. On the abstracts attention agrees with leave-one-out (0.88) more than the two measures
# agree with each other.
#
# But a low tau proves little. The two measures themselves reach only 0.54 and 0.46 with the BiLSTM.
# And with the BiLSTM, the same method on two models that differ only in their seed has a tau of at
# most 0.35. Part of this may be real, since two models can rely on different words.
#
# Why is attention closer to the measures without an LSTM? There, a weight belongs to one word's
# embedding. With the LSTM, it belongs to a hidden state, which mixes words; leave-one-out and the
# gradient measure words.
#
# Rank correlation also has a problem of its own. Most words of a text change the prediction by
# almost nothing, so their order is noise, and their pairs are most of all pairs
# ([more](08b_attention_is_not_more.ipynb#why-rank-correlation-fails)).

# %% [markdown] tags=["slide"]
# ### 2. Do other weights leave the prediction unchanged?
#
# First without a search. **Uniform** attention gives each word the same weight: the simplest
# alternative. For **permuted** attention we take the median change over 100 permutations of a
# text's weights. TVD hides changes where a probability is near 1, because the sigmoid is flat
# there. So the table also has the change in the **log-odds** of the predicted class, $\ln
# \frac{p}{1-p}$, next to the log-odds that the model itself gives.

# %% Permuted and uniform attention tags=["slide"]
table(runs.replaced_weights(tests, logits),
      formats={"TVD, permuted": ".3f", "TVD, uniform": ".3f"},
      caption="mean over 200 texts of the absolute change; "
      "mean over three seeds [95% t interval]")  # fmt: skip

# %% [markdown]
# **The BiLSTM depends little on its weights.** Uniform attention changes its predictions by a TVD
# of 0.04, no more than permuted attention does. In log-odds the change is about a sixth of the
# model's own value on the reviews and an eighth on the abstracts. Probably the hidden states
# already contain what the classifier needs. The control without an LSTM does need its weights:
# there uniform attention moves the log-odds by most of their value on the reviews, and by more than
# their value on the abstracts.
#
# Now the search. **Adversarial** weights may move the probabilities by a TVD of at most 0.01, as in
# the paper, or, in a second search, the log-odds by at most 0.1.

# %% Adversarial attention tags=["slide"]
table(runs.adversarial_weights(tests, logits), caption="mean over 200 texts; JSD of the weights "
      "found and the model's, at most 0.69; mean over three seeds [95% t interval]")  # fmt: skip

# %% [markdown]
# **Very different weights leave the prediction unchanged.** With the BiLSTM, the weights found are
# almost as different as possible from the model's. Another seed changes them by only 0.06.
#
# **Saturation isn't the reason.** It does hide something: on the abstracts the paper's criterion
# lets the log-odds move by 0.94 on average. But weights that keep the log-odds within 0.1 are
# almost as different. The control shows a simpler reason. It needs its attention, and still other
# weights give the same prediction: a text has many weights, and the prediction fixes only one or a
# few weighted sums of them. A model can need attention without needing these particular weights.
#
# The search must be tuned, too. Each number is the farthest of three searches, with penalties of 50
# (as in the cell above), 10, and 2. With 50 alone, the second search found much less on the
# reviews, and we would have concluded that saturation explains the paper's result.

# %% [markdown]
# ### 3. Which attribution finds the words that decide?
#
# Agreement with another method isn't truth. An explanation can be **plausible**, convincing to
# people, without being **faithful**, true of the model ([Jacovi and Goldberg
# 2020](https://arxiv.org/abs/2004.03685)). In the generated reviews we know the words that decide
# by the rule: the adjectives of the reviewer's own clauses, and their *not*. A model that predicts
# nearly all test reviews correctly must use them. (It must also use *i*, which says whose opinion
# counts; the ground truth leaves it out.) The **AUC** is the probability that an attribution ranks
# such a word above another word of the review (0.5 is chance).

# %% Predict tags=["fold"]
predict(
    "Which finds the deciding words more reliably: attention weights or leave-one-out?",
    ["attention weights", "leave-one-out", "no difference beyond the seeds"],
    answer=1,
    explain="A weight says which hidden state is used; leave-one-out says which words the "
    "prediction depends on.",
    key="07_explain/who-finds-it",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Attributions against ground truth tags=["surprise"]
truth = runs.ground_truth()
table(runs.ground_truth_table(truth), formats={"AUC": ".2f"},
      caption="AUC, mean over 100 generated reviews; mean over five seeds [95% t interval]")

# %% [markdown]
# Leave-one-out finds the deciding words best, with an AUC of 0.90. Attention weights have 0.77,
# about as much as gradient × input and integrated gradients; the intervals overlap. Adversarial
# weights are near chance. So the model's own weights contain information that the adversarial ones
# mostly lack, as expected of weights chosen to differ. An unchanged prediction doesn't make both
# explanations equally good.
#
# The last line is a warning. A naive Bayes weight, which knows only how often a word occurs in each
# class and nothing about the model, has an AUC of 0.86, more than attention. Finding the right
# words is necessary for a faithful explanation of this model, but not sufficient.

# %% Accuracy of the classifiers
print("test accuracy by seed:", ", ".join(f"{row['accuracy']:.1%}" for row in truth))

# %% Two words of the first review
own = importances(trained, tokens[0])
for i, word in ((2, "not"), (0, "i")):
    print(f"{word!r}: attention weight {own['attention'][i]:.2f}, "
          f"leave-one-out {own['left out'][i]:.2f}")  # fmt: skip

# %% [markdown]
# ## With the real library
#
# [captum](https://captum.ai) has the alternatives. It needs a function of the embeddings; then
# `InputXGradient` and `IntegratedGradients` are one line each:

# %% captum tags=["nbval-check-output"]
from captum.attr import InputXGradient, IntegratedGradients


def log_probabilities(embeddings):  # (B, T, d)
    h = model.encoder(embeddings)[0]
    return model.predict(h, model.weights(h)).log()


x = model.embed(tokens).detach().requires_grad_()
label = int(trained(tokens).argmax())
expected = importances(trained, tokens[0])
by_gradient = InputXGradient(log_probabilities).attribute(x, target=label)
along_path = IntegratedGradients(log_probabilities).attribute(
    x, target=label, n_steps=16, method="riemann_middle"
)
for name, found in (("x input", by_gradient), ("integrated", along_path)):
    ours = found.sum(-1).abs()[0]
    print(f"{runs.METHODS[name]} equals the library's:",
          torch.allclose(ours, expected[name], atol=1e-5))  # fmt: skip

# %% [markdown]
# A Transformer returns its attention weights on request (the code a user runs; the weights can't be
# downloaded here, so its output isn't shown):
#
# ```python
# from transformers import AutoModelForSequenceClassification, AutoTokenizer
#
# name = "distilbert/distilbert-base-uncased-finetuned-sst-2-english"
# tokenizer = AutoTokenizer.from_pretrained(name)
# model = AutoModelForSequenceClassification.from_pretrained(name, attn_implementation="eager")
# inputs = tokenizer("I do not find the ending cold.", return_tensors="pt")
# weights = model(**inputs, output_attentions=True).attentions[-1][0, :, 0].mean(0)
# for token, weight in zip(tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), weights):
#     print(token, f"{weight:.2f}")
# ```
#
# ## How it differs: our results and the paper's
#
# | | paper | this page |
# |---|---|---|
# | tau of attention and gradient, BiLSTM | 0.34 to 0.47 | 0.27 (reviews), 0.08 (abstracts) |
# | the same, embeddings only | 0.60 and 0.61 | 0.51 (reviews), 0.78 (abstracts) |
# | adversarial attention | limited in TVD | limited in TVD or in log-odds |
# | controls | permuted attention | also uniform attention, other seeds, ground truth |
#
# The paper's taus are the mean taus of each class of SST, IMDB, and Anemia (embeddings only: SST),
# from the outputs in the authors' repository (`graph_outputs`).
#
# ## Common mistake: testing on saturated predictions
#
# "The prediction moved by less than 0.01, so the weights don't matter." At a probability of 0.999
# the test passes almost for free.

# %% The first review, in probabilities and in logits
from deepdive_book.ch07.figures.attention_weight_editor import logit, probability

first = shown[0]
for name, w in (("model's weights", first.weights), ("adversarial", first.adversarial)):
    print(f"{name}: probability {probability(first, w):.3f}, logit {logit(first, w):.2f}")

# %% [markdown]
# **Symptom:** adversarial weights exist for almost every text, and the logit has changed by much
# more than the probability suggests. **Fix:** constrain or report the log-odds, and compare with
# uniform attention. If uniform attention changes nothing either, the model doesn't need its
# attention, and nothing follows about attention in general.
#
# ## In practice
#
# - Don't read an attention heat map as a list of reasons. It shows which hidden states were mixed.
# - To know what a word does to a prediction, [delete it](04_perturbation.ipynb) and look, or use
#   [integrated gradients](02_gradients.ipynb), whose attributions sum to the difference from a
#   baseline's output.
# - First try uniform attention. It's one line, and it tells whether the model needs its weights.
# - Measure changes in log-odds, and report several training seeds.
# - Test an attribution on data where you know the cause before you trust it.
#
# ## Summary
#
# Jain and Wallace's two observations hold for our BiLSTM: attention agrees little with the gradient
# and leave-one-out, and very different weights leave the predictions unchanged, also when log-odds
# are what must not change. But neither observation shows that attention isn't an explanation. The
# other two measures agree only moderately, agreement between seeds is low as well, and a model that
# depends so little on its attention can't tell us about attention that matters.
#
# Was *not* the reason in the first review? Partly. By the rule it decides, and it has 0.89 of the
# attention; but deleting it changes the probability by only 0.16, less than deleting *i*, and other
# weights, with none on *not*, give nearly the same logit. Attention ranks the deciding words above
# others with an AUC of 0.77, above chance, below leave-one-out (0.90), and below a naive Bayes
# weight (0.86).
#
# Not reproduced: the paper's data sets, sizes, and fastText embeddings. Our models are smaller, and
# experiments 1 and 2 have three training seeds.
#
# ## Check your understanding
#
# 1. Why can different attention weights give the same prediction?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The logit is one weighted mean of the contributions, and many weightings have the same mean.
#
#    </details>
# 2. Why can a full stop's logit contribution follow the text with an LSTM, but not without one?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Its hidden state depends on the words before it. Without an LSTM its contribution is the same
#    in every text, so it can't follow the text.
#
#    </details>
# 3. Two explanations name the same three of forty words. Can their tau be near 0?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Yes. The order of the other 37 words, which may be noise, determines most of the pairs.
#
#    </details>
# 4. Permuted weights leave a prediction unchanged. Which cheaper test should come first?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Uniform attention. If that changes nothing, the model doesn't need its attention weights.
#
#    </details>
# 5. What does ground truth show that agreement between methods doesn't?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Which of two methods that disagree is right.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Three words have the logit contributions +1, −1, −3, and the second has all
#    attention. Find weights with the same logit and none on the second word.
#
#    <details><summary>Answer</summary>
#
#    One half on the first and one half on the third: $\frac12 - \frac32 = -1$.
#
#    </details>
# 2. *(on paper, 3 min)* Compute Kendall's tau of the importances (4, 3, 2, 1) and (4, 1, 2, 3).
#
#    <details><summary>Answer</summary>
#
#    The three pairs with the first word agree, the other three are reversed. So tau is 0, although
#    both name the same most important word.
#
#    </details>
# 3. *(code, 10 min)* Search for adversarial weights of the second review with `adversarial`. Why
#    can't they move far from the model's?
#
#    <details><summary>Answer</summary>
#
#    Use `runs.tokens_of(REVIEWS[1])`. The JSD is at most 0.03. The model's weights are on *cold*
#    (contribution −3.7) and the full stop (−2.6), and its logit is near the lowest contribution.
#    All other words raise the logit, so no other mean of contributions is that low.
#
#    </details>

# %% The answers, checked tags=["nbval-check-output"]
print((torch.tensor([0.5, 0.0, 0.5]) @ torch.tensor([1.0, -1.0, -3.0])).item())
print(kendall(torch.tensor([4.0, 3, 2, 1]), torch.tensor([4.0, 1, 2, 3])))

# %% [markdown]
# ## Further reading
#
# - [Jain and Wallace (2019)](https://arxiv.org/abs/1902.10186), *Attention is not Explanation*:
#   sections 4.1 and 4.2; their repository has the outputs for all data sets.
# - [Wiegreffe and Pinter (2019)](https://arxiv.org/abs/1908.04626), *Attention is not not
#   Explanation*: the reply.
# - [Serrano and Smith (2019)](https://arxiv.org/abs/1906.03731), *Is Attention Interpretable?*:
#   weights are set to zero until the prediction changes.
# - [Jacovi and Goldberg (2020)](https://arxiv.org/abs/2004.03685), *Towards Faithfully
#   Interpretable NLP Systems*: faithful and plausible.
# - [Neely et al. (2022)](https://arxiv.org/abs/2205.04559), *A Song of (Dis)agreement*: why rank
#   correlation shouldn't be used to judge attention.

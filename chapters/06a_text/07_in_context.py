# %% [markdown] tags=["slide"]
# # In-context learning: four demonstrations and a question
#
# You hand a colleague four filled-in forms and an empty one, and without any explanation they fill
# in the fifth. A language model can do the same from its prompt. This is **in-context learning**,
# where each filled-in form is a demonstration. If the demonstrations are wrong, does the model
# still get the next form right?
#
# **What it is.** In-context learning ([Brown et al. 2020](https://arxiv.org/abs/2005.14165)) puts
# input-label pairs, called **demonstrations** or *shots*, in the prompt. A frozen language model,
# whose weights don't change, then predicts the label of a new input, the **query**. A prompt with
# several demonstrations is **few-shot**, and a prompt without any is **zero-shot**.
#
# **What you'll be able to do.** Build a few-shot prompt, score label words by log-probability,
# measure and remove the prompt's bias toward one label, and test whether a model uses the labels in
# its demonstrations.
#
# <details><summary><b>Short answer</b></summary>
#
# After sixteen movie reviews whose labels are all wrong, most predictions are still correct. After
# four, our data can't say. In these runs the small language model SmolLM2-135M-Instruct (4-bit
# weights) classifies sentences from movie reviews. Without demonstrations its accuracy is 84.4%
# [75.2%, 93.5%]. After sixteen demonstrations it reaches 74.5% [64.9%, 84.0%] with correct labels
# and 64.6% [52.1%, 77.1%] with every label flipped. The numbers in brackets are 95% confidence
# intervals. On a second task, the topics of sentences, most predictions are wrong after sixteen
# demonstrations, but that is so with correct labels as well.
#
# </details>
#
# <small>Prerequisites: [a language model in 98 MB](03_quantization.ipynb),
# [decoding](../02_transformer/14_decoding.ipynb) · 25 min · runs on a laptop; results of the long
# runs are included · book 6.1.3.3, and the papers under further reading</small>

# %% Few-shot classification [markdown] tags=["slide"] figure="ch06a.calibration_diagram"
# ![Few-shot classification with contextual calibration: the same k demonstrations go before a query
# and before the content-free query N/A; a frozen decoder scores the label words after both; the
# first probabilities are divided by the second and normalized.](figures/07_in_context.svg)
#
# *Few-shot classification with contextual calibration, a correction that is explained below. Upper
# path: from the prompt through a frozen decoder (a language model that predicts the next token) to
# the label probabilities. Lower path: the same demonstrations, followed by a query that has no
# content.*

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
# **Interactive figure: build a few-shot prompt.** The task is to predict the sentiment of a movie
# review, positive or negative. The box shows the whole prompt, and the blue bar shows p(positive),
# the probability that SmolLM2 gives to "positive" if only "positive" and "negative" are considered.
# *Try this:*
#
# 1. Remove all four demonstrations, choose the query "N/A", and see which label the model prefers.
# 2. Choose the query "the only good thing is the music", and include only the two positive reviews,
#    then only the two negative ones. How far does the bar move?
# 3. Include all four demonstrations and choose the query "i laughed, i cried". Which moves the bar
#    more, flipping only the last label or flipping all four?

# %% Interactive figure: build a few-shot prompt tags=["slide", "fold"]
from deepdive_book.ch06a.figures import few_shot_prompt

prompts = few_shot_prompt.load_saved()  # 81 prompts with five queries each, scored by SmolLM2
few_shot_prompt.few_shot_prompt(prompts, "1000", 1)

# %% [markdown]
# <details><summary>What you should see: open after you try</summary>
#
# 1. The model prefers "negative", because with no demonstrations "positive" gets only 28.8%.
# 2. The bar moves far, from 40.5% without demonstrations to 77.9% after the two positive reviews
#    and 17.0% after the two negative ones.
# 3. Flipping only the last label (from negative to positive) moves the bar more, from 50.9% to
#    69.9%, while flipping all four moves it to 41.5%.
#
# </details>
#
# The next cell prints these numbers from `prompts`, the figure's saved probabilities. A prompt's
# key has one digit per demonstration: 0 if it is left out, 1 if its label is correct, and 2 if its
# label is flipped. The last two lines average over all prompts of two or more demonstrations, where
# the last label pulls the prediction toward itself. "Positive" gets 21% after a negative last label
# and 54% after a positive one:


# %% The pull of the last label tags=["nbval-check-output"]
def last_label(key):
    """The label of the last demonstration in a prompt: 0 negative, 1 positive."""
    i = max(i for i, state in enumerate(key) if state != "0")
    return prompts.demonstrations[i][1] ^ (key[i] == "2")


print("N/A, zero-shot:", prompts.percent("0000", 4))
for name, number, keys in (
    ("music: zero-shot, positive, negative", 1, ("0000", "1010", "0101")),
    ("laughed: correct, last, all flipped", 0, ("1111", "1112", "2222")),
):
    print(f"{name}:", *(prompts.percent(key, number) for key in keys))  # fmt: skip
for label, word in enumerate(prompts.words):
    found = [prompts.percent(key, number) for key in prompts.per_mille for number in range(4)
             if key.count("0") <= 2 and last_label(key) == label]  # fmt: skip
    print(f"last label {word}: positive {sum(found) / len(found):.0f}% on average")

# %% [markdown] tags=["slide"]
# ## By hand: contextual calibration
#
# Even when the query has no content, the model prefers one of the labels. You can measure this bias
# with an input such as "N/A" and then divide it out. To see how, write the two label probabilities
# as **odds**, the ratio of positive to negative, and suppose that "N/A" gets the odds 3 : 1 after
# some prompt. Since "N/A" says nothing about a movie, these odds show the bias of the prompt, and
# we divide the odds of every query by them:
#
# | query | odds | divided by 3 : 1 | calibrated prediction |
# |---|---|---|---|
# | N/A | 3 : 1 | 1 : 1 | neither |
# | "the only good thing is the music" | 3 : 2 | 3/3 : 2/1 = 1 : 2 | negative |
# | "i laughed, i cried" | 9 : 1 | 9/3 : 1/1 = 3 : 1 | positive |
#
# Before this correction, which [Zhao et al. (2021)](https://arxiv.org/abs/2102.09690) call
# **contextual calibration**, all three predictions were positive. The correction needs no training
# and no labeled text, only a **content-free** input such as "N/A".
#
# ## In code: prompt, label scores, calibration
#
# To classify with a language model, you don't have to generate any text. You append a label word to
# the prompt and compute the log-probability of each of its tokens, given everything before that
# token. The sum of these log-probabilities is the label's score, and a softmax over the scores of
# all labels turns them into probabilities.
#
# In the next cell, `calibrate` divides as in the table, but by an average over three content-free
# inputs: "N/A", the empty string, and "[MASK]". The label order in the code is negative, positive.

# %% Few-shot classification tags=["concept", "slide"]
import torch

CONTENT_FREE = ("N/A", "", "[MASK]")  # Zhao et al. 2021, section 5


def few_shot_prompt(demonstrations, text):
    """k demonstrations, each followed by an empty line, then the query."""
    shown = [f"Review: {review}\nSentiment: {label}\n\n" for review, label in demonstrations]
    return "".join(shown) + f"Review: {text}\nSentiment:"  # no space at the end: " positive" has it


@torch.no_grad()
def label_log_probs(model, context, labels):
    """log p(label | context): context is a list of token ids, labels a list of such lists."""
    scores = []
    for label in labels:
        ids = torch.tensor([context + label])  # (1, T + L)
        log_probs = model(ids)[0].log_softmax(-1)  # (T + L, vocabulary)
        log_probs = log_probs[len(context) - 1 : -1]  # (L, vocabulary): position t predicts t + 1
        scores.append(log_probs[range(len(label)), label].sum())  # sum over the label's tokens
    return torch.stack(scores)  # (n_labels,)


def calibrate(log_probs, content_free_log_probs):
    """Contextual calibration: divide by the label probabilities of content-free inputs."""
    prior = content_free_log_probs.softmax(-1).mean(0)  # (M, n_labels) -> (n_labels,)
    return (log_probs - prior.log()).softmax(-1)  # (n_labels,)


def classify(model, encode, demonstrations, text, calibrated=False, words=("negative", "positive")):
    """Label probabilities of text after k demonstrations (k = 0: zero-shot). No weight changes."""
    labels = [encode(f" {word}") for word in words]

    def scores(query):
        context = encode(few_shot_prompt(demonstrations, query))  # encode the prompt as ONE text
        return label_log_probs(model, context, labels)

    log_probs = scores(text)  # (n_labels,)
    if not calibrated:
        return log_probs.softmax(-1)  # over the labels only, not the vocabulary
    return calibrate(log_probs, torch.stack([scores(free) for free in CONTENT_FREE]))


# %% [markdown]
# In the example from above, 3 : 2 divided by 3 : 1 gave 1 : 2, so p(positive) should be 1/3:

# %% By hand, in code tags=["nbval-check-output"]
odds, content_free = torch.tensor([2.0, 3.0]), torch.tensor([[1.0, 3.0]])  # negative, positive
negative, positive = calibrate(odds.log(), content_free.log())
print(f"negative {negative:.3f}, positive {positive:.3f}")

# %% [markdown]
# `classify` works with any decoder, given a `model` that maps token ids to logits and an `encode`
# that maps a string to token ids. The next cell loads SmolLM2-135M-Instruct (4-bit weights) and
# prints a prompt with the figure's four demonstrations, followed by p(positive):

# %% The whole prompt and the prediction tags=["slide"]
from deepdive_book.ch06a.runs.in_context import load_smollm2

model, tokenizer = load_smollm2()
four = [(text, prompts.words[label]) for text, label in prompts.demonstrations]
query = prompts.queries[1]
print(few_shot_prompt(four, query))
for calibrated in (False, True):
    negative, positive = classify(model, tokenizer.encode, four, query, calibrated)
    print(f"calibrated: {calibrated}, positive: {positive:.1%}")

# %% [markdown]
# Without calibration, the prediction is "negative", like the last label, but with calibration the
# model is almost undecided.
#
# The same functions are in `deepdive`, the small library that accompanies this book, but there the
# demonstrations are processed only once for all queries. The function `split_prefix` finds the
# tokens that all prompts share, and `Prompted` stores their keys and values in a **KV cache**. This
# works because attention in a decoder is causal, so later tokens don't change earlier keys and
# values. The next cell asserts that both versions give the same results, where `contextual` is the
# library's `calibrate`. If the trained model is installed (`SMOLLM2.here`), p(positive) must also
# equal the figure's value:

# %% Equal to the library tags=["equals-library"]
from deepdive.decoding import Prompted, split_prefix
from deepdive.evaluate import contextual
from deepdive_book.kit.smollm2 import SMOLLM2

texts = [few_shot_prompt(four, text) for text in (query, *CONTENT_FREE)]
prefix, rests = split_prefix([tokenizer.encode(text) for text in texts])
labels = [tokenizer.encode(f" {word}") for word in prompts.words]
log_probs = Prompted(model, prefix).labels(rests, labels)  # (1 + 3, 2)
ours = label_log_probs(model, prefix + rests[0], labels)
assert torch.allclose(ours, log_probs[0], atol=1e-3)
library = contextual(log_probs[:1], log_probs[1:])[0]
assert torch.allclose(classify(model, tokenizer.encode, four, query, True).double(),
                      torch.tensor(library), atol=1e-3)  # fmt: skip
saved = prompts.percent("1111", 1) / 100  # the figure's value
assert abs(classify(model, tokenizer.encode, four, query)[1] - saved) < 1e-3 or not SMOLLM2.here

# %% [markdown]
# ## Experiments
#
# In all experiments the language model is SmolLM2-135M-Instruct, whose weights are rounded to 4
# bits, and the prompt doesn't use its chat format. The model isn't trained, and only the prompt
# changes. The code is in `deepdive_book.ch06a.runs.in_context_results`.
#
# We use two tasks. In "sentiment", the queries are 64 sentences from movie reviews (`rt_polarity`),
# half of them positive. In "topics", they are 48 sentences, each about one of seven topics such as
# travel or politics (`sib200`). A **demonstration set** is a random sample of other sentences, and
# every condition is repeated with three such sets on the same queries.
#
# The numbers in brackets are 95% confidence intervals. They reflect two sources of uncertainty, the
# choice of the queries and the choice of the demonstrations. We add the two variances and use a t
# interval, whose degrees of freedom come from Satterthwaite's approximation. Three demonstration
# sets are few, so if they disagree, the interval becomes very wide. Intervals of accuracies are cut
# off at 0% and 100%, while those of differences can extend beyond ±100 points. Differences are
# computed before rounding.
#
# ### 1. Do flipped labels flip the predictions?
#
# If the model learns the task from the labels in its demonstrations, wrong labels should give wrong
# predictions. We therefore keep the sentences and change only the labels:
#
# - **Correct labels** are those of the data set.
# - **Random labels** are sampled, each class with equal probability ([Min et al.
#   2022](https://arxiv.org/abs/2202.12837)).
# - **Flipped labels** are all wrong. Each is the opposite sentiment or, for topics, the next class
#   in the list (travel becomes politics).
#
# Two baselines show what the scores are worth. One always predicts the **majority class** of the
# queries. The other is **naive Bayes**, a classifier on word counts that is trained only on the
# demonstrations with correct labels. Because it is cheap, we average it over six sets, the three
# used for the model and three more. In the table, the zero-shot accuracy (0 demonstrations) is
# listed under "correct labels".

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "After 16 movie reviews whose labels are all flipped, how many of the 64 predictions are "
    "correct?",
    ["about 10: they follow the labels", "about 32: chance", "about 41", "about 50"],
    answer=2,
    explain="On average 64.6% are correct, fewer than with correct labels, but far more than if "
    "the predictions followed the labels.",
    key="06a_text/turned-round",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Accuracy by the labels in the demonstrations tags=["slide"]
from deepdive_book.ch06a.runs.in_context_analysis import load_results

results = load_results()
results.table("by_labels", "accuracy without calibration [95% confidence interval]")

# %% [markdown]
# Are these differences larger than chance? With eight comparisons, some 95% intervals may exclude
# zero even if labels don't matter, so the next table widens them until all eight together have 95%
# confidence (Bonferroni's correction). Its last two columns show, for flipped labels, how many
# predictions are correct and how many match the query's own flipped label, such as "politics" for a
# query about travel.

# %% Differences between label conditions
results.table("label_effects", "differences in percentage points, without calibration; the "
              "intervals are corrected for eight comparisons (Bonferroni)")  # fmt: skip

# %% [markdown]
# **Most sentiment predictions don't follow sixteen flipped labels.** If the model had followed
# them, most of its predictions would be wrong, yet 64.6% are correct. Correct labels give a higher
# accuracy, but the interval of the difference includes zero. After only four flipped labels,
# accuracy is near chance, so the result is inconclusive. [Wei et al.
# (2023)](https://arxiv.org/abs/2303.03846) also find that small models ignore flipped labels,
# whereas large ones can follow them. Their explanation is a *semantic prior*: training has already
# given the model a meaning for the word "positive".
#
# **Yet the labels seem to count.** After four reviews, correct labels score 19.8 points higher than
# random ones, and the corrected interval excludes zero. Random labels score even lower than flipped
# ones here, so chance or an unlucky balance of the random labels may contribute. On topics only one
# interval excludes zero: after sixteen sentences, correct labels score 24.3 points higher than
# flipped ones.
#
# On topics, sixteen demonstrations seem to hurt even with correct labels, where the accuracy is
# 42.4% instead of 72.9% zero-shot. After sixteen flipped labels, 18.1% of the predictions are
# correct and 22.2% match the flipped label. Since uniform guessing would give 14.3% of each, the
# model follows neither consistently.
#
# Most of the accuracy seems to come from the pretrained model. Without calibration, zero-shot
# accuracy is the highest in both tasks. Naive Bayes, which knows only the demonstrations, is below
# the majority class in three of four rows and 2.6 points above it in the other.

# %% [markdown]
# ### 2. Which label counts most, and does calibration help?
#
# Zhao et al. (2021) report that the last demonstrations count most. To measure this, we keep the
# figure's four demonstrations in their order and try all $2^4 = 16$ ways to label them correctly or
# wrongly. For each position, we compare p(positive) with a positive and with a negative label
# there. The table averages this difference over the figure's four queries with content and over the
# eight labelings of the other three demonstrations, and it shows the smallest and largest of the
# eight in parentheses. The last three columns show the same difference for content-free inputs,
# where “” is the empty string.

# %% The effect of each label tags=["slide"]
results.table("label_positions", "how many points p(positive) rises when the label at a position "
              "turns positive: mean (smallest to largest of eight labelings)")  # fmt: skip

# %% [markdown]
# **The last label counts most.** When it turns from negative to positive, p(positive) rises by 35.9
# points on average, compared with 9.7 points for the label before it. The effect depends on the
# other labels, but the last label pulls the prediction toward itself in all eight labelings, a pull
# that Zhao et al. call **recency bias**.
#
# Calibration about halves the pull, to 19.2 points. It doesn't remove all of it, and the last
# columns suggest a reason, because the content-free inputs disagree. The last label moves "[MASK]"
# by 48.8 points toward itself, but "N/A" by 12.9 points the other way, so an input without content
# isn't always neutral. These results come from one set of demonstrations and four queries, so the
# table has no intervals.
#
# Does calibration also improve the accuracy with other demonstration sets? The next table compares
# the accuracies before and after calibration, and the calibrated accuracy with zero-shot. Flipped
# labels appear only in its last column.

# %% Calibrated accuracy tags=["slide"]
results.table("calibration", "accuracy with correct labels before and after calibration, and "
              "differences in points [95% confidence interval]")  # fmt: skip

# %% [markdown]
# **After demonstrations, calibration seems to help.** All four gains are positive, from 6.8 to 19.4
# points, and the uncorrected intervals of two of them exclude zero: 12.5 points after four reviews
# and 18.8 points after sixteen sentences on topics. Calibration also raises three of the four
# accuracies after flipped labels (last column), so after sixteen flipped reviews most predictions
# still don't follow the labels. Even with calibration, demonstrations aren't clearly better than
# none, because each interval of the difference from zero-shot includes zero.
#
# ### 3. When do demonstrations help?
#
# So far each task had one **prompt template**, the fixed text around a sentence and its label. Here
# we use three templates for the reviews, with correct labels. In the table, `{}` is where the
# review goes, and "/" is a line break.

# %% Three templates tags=["slide"]
results.table("templates", "accuracy, and gain over zero-shot in points [95% confidence interval]")

# %% [markdown]
# **Whether demonstrations help seems to depend on the template.** With the first template, the
# model needs no demonstrations, and four of them lower accuracy by 12.5 points. With the other two,
# zero-shot accuracy is no better than chance and all four gains are positive. Only one of these
# gains has an interval that excludes zero, however, and it just brings accuracy up to chance. Three
# sets are too few to say more, and the intervals aren't corrected for six comparisons. The second
# template also has other label words, so the comparison doesn't separate template and words.
#
# ### Why does the last label pull?
#
# A candidate mechanism is the **induction head** ([Olsson et al.
# 2022](https://arxiv.org/abs/2209.11895)), an attention head that finds an earlier copy of the
# current token and attends to the token after it. Here the current token is the colon of
# "Sentiment:", whose earlier copies include the same colon in each demonstration, where the token
# after it is the label. If the head prefers the most recent copy, it attends most to the last
# label.
#
# In the next prompt, "Review: great fun" is labeled positive, "Review: so dull" negative, and then
# the first review comes again without a label. The cell prints the attention weights from the last
# colon to both labels for one head, which we call 19-6 (layer 19 counted from 1, head 6 counted
# from 0, and therefore index `[18, 6]`). Then it counts the heads that give the labels more than
# half of their attention:

# %% Attention from the last colon tags=["nbval-check-output"]
from deepdive_book.kit.explorer.cached_attention import load_cached

tokens, maps = load_cached("reviews")  # weights: (layers, heads, T, T)
far, near = (maps.weights[:, :, -1, i] for i in (8, 19))  # from the last colon to the two labels
print(f"head 19-6: {tokens[19]!r} {near[18, 6]:.0%}, {tokens[8]!r} {far[18, 6]:.0%}")
strong = far + near > 0.5
print(f"{strong.sum()} heads give the labels more than half, {(near > far)[strong].sum()} of these "
      "more to the last one")  # fmt: skip

# %% [markdown]
# In this prompt, nearly all of these heads attend more to the most recent label than to the label
# of the same review. That fits recency bias, but it proves neither that these are induction heads
# nor that they cause the bias. The page with [more experiments](07b_in_context_more.ipynb) shows by
# **ablation**, setting the outputs of such heads to zero, that the copying of repeated random
# tokens depends on them.
#
# ## With the real library: transformers
#
# `save` writes the model in the format of Hugging Face's transformers, with the 4-bit weights
# converted back to floating-point numbers, so `LlamaForCausalLM` loads the same weights without
# network access:

# %% Ours and transformers tags=["slide"]
from tempfile import TemporaryDirectory

from transformers import LlamaForCausalLM
from transformers.utils import logging

from deepdive.published import save

logging.disable_progress_bar()
with TemporaryDirectory() as folder, torch.no_grad():
    theirs = LlamaForCausalLM.from_pretrained(save(model, folder)).eval()
    ids = torch.tensor([tokenizer.encode(few_shot_prompt(four, query))])  # (1, T)
    logits = theirs(ids).logits[0, -1]  # (vocabulary,): the next token
first = [label[0] for label in labels]  # each label word is one token
ours = classify(model, tokenizer.encode, four, query)[1].item()
positive = logits[first].softmax(-1)[1].item()
print(f"positive: ours {ours:.1%}, transformers {positive:.1%}")
assert abs(ours - positive) < 1e-3

# %% [markdown]
# With network access you would load the original 16-bit weights by their hub name. They aren't
# quantized, so the probability can differ a little (output not shown):
#
# ```python
# from transformers import AutoModelForCausalLM, AutoTokenizer
#
# name = "HuggingFaceTB/SmolLM2-135M-Instruct"
# hub_tokenizer = AutoTokenizer.from_pretrained(name)
# hub_model = AutoModelForCausalLM.from_pretrained(name)
# inputs = hub_tokenizer(few_shot_prompt(four, query), return_tensors="pt")
# with torch.no_grad():
#     logits = hub_model(**inputs).logits[0, -1]  # the next token
# ids = [hub_tokenizer(word)["input_ids"][0] for word in (" negative", " positive")]
# print(logits[ids].softmax(-1))
# ```
#
# ## How it differs from fine-tuning
#
# | | [fine-tuning](01_gpt.ipynb) | in-context learning |
# |---|---|---|
# | what changes | the weights | the prompt |
# | where the task is stored | in a new model | in the KV cache, for as long as it lasts |
# | number of examples | not limited by the context | as many as fit in the context |
# | cost of a new task | a training run | a forward pass over the prompt |
# | output | often a task-specific head | words of the vocabulary |
#
# ## Common mistake: encode the parts of a prompt separately
#
# You encode each demonstration by itself, then join the token ids. **Symptom:** There's no error,
# but the probabilities differ from those of the same text encoded at once. The reason is that this
# tokenizer encodes an empty line as one token at the end of a string, but as two if more text
# follows.
#
# **Fix:** Join the strings and encode the whole prompt, and to cache a prefix, split its *tokens*
# rather than its text. The next cell scores the same prompt in both ways:

# %% One prompt, two tokenizations
*shown, last = few_shot_prompt(four, query).split("\n\n")
parts = [token for text in shown for token in tokenizer.encode(text) + tokenizer.encode("\n\n")]
whole = tokenizer.encode(few_shot_prompt(four, query))
for name, context in (("parts", parts + tokenizer.encode(last)), ("whole", whole)):
    positive = label_log_probs(model, context, labels).softmax(-1)[1]
    print(f"{name}: {len(context)} tokens, positive {positive:.1%}")

# %% [markdown]
# Encoded in parts, the same text has four tokens fewer, and p(positive) is only about half as high.
#
# ## In practice
#
# - **Measure zero-shot first**, with several templates, because an accuracy that the model already
#   has zero-shot isn't learned from the demonstrations.
# - **Run the same queries with flipped labels.** If the accuracy doesn't change when the labels
#   flip, it wasn't learned from the labels.
# - **Try calibration and measure its gain.** In two of our four cases, the uncorrected interval of
#   the gain excluded zero.
# - **End the prompt right after the colon, without a trailing space.** In the demonstrations the
#   space belongs to the label's token, so a space of its own isn't how running text is tokenized.
# - **Average over several sets of demonstrations**, because single sets can differ a lot.
# - **Use label words with the same number of tokens**, or divide the score by that number, because
#   every extra token lowers the probability.
#
# ## Summary
#
# After sixteen reviews with flipped labels, most of SmolLM2's predictions are still correct, 64.6%
# [52.1%, 77.1%] of them, so most don't follow the labels. With correct labels 74.5% are correct,
# but the interval of the difference includes zero. Without any demonstrations the model reaches
# 84.4%, so on this task the demonstrations added no accuracy.
#
# Still, the labels seem to count, because after four reviews correct labels score 19.8 points
# higher than random ones (corrected interval from 4.3 to 35.3), although random labels scored even
# lower than flipped ones there, so a part of this may be chance. Min et al. (2022) find that random
# labels barely hurt, across 12 models, but after sixteen reviews our interval is too wide to agree
# or disagree with them.
#
# In one set of four demonstrations with four queries, the last label counts most, and calibration
# about halves its effect. Zhao et al. (2021) report gains from calibration of up to 30.0 points for
# GPT-2 and GPT-3. Ours after demonstrations are between 6.8 points and 19.4 points, but only two of
# the four uncorrected intervals exclude zero.
#
# These results come from one small model and only three demonstration sets. We didn't reproduce the
# papers' models or data sets, nor the large models of Wei et al. (2023).
#
# More experiments, with an interactive view of the attention heads: [induction heads and chain of
# thought](07b_in_context_more.ipynb).
#
# ## Check your understanding
#
# 1. Which parameters change when a language model learns from demonstrations?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    None. The keys and values of the demonstrations are in the cache, and later tokens attend to
#    them.
#
#    </details>
# 2. Why is it useful to also run the query "N/A"?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Its prediction estimates the bias of the prompt, so you can divide it out of every other
#    prediction, although experiment 2 shows that one such input can be a poor estimate.
#
#    </details>
# 3. Why does one forward pass over 16 demonstrations serve every smaller number of shots?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    No token attends to later ones, so the keys and values of the first 8 are the same whether more
#    follow or not.
#
#    </details>
# 4. What does an induction head attend to?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The token after an earlier copy of the current token.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Compute calibrated labels. After some prompt, "N/A" has odds 4 : 1
#    (positive to negative), one review has 6 : 1, and another has 3 : 1. Which labels do the two
#    reviews get after calibration?
#
#    <details><summary>Answer</summary>
#
#    $6/4 : 1 = 3 : 2$, positive; $3/4 : 1 = 3 : 4$, negative.
#
#    </details>
# 2. *(on paper, 5 min)* Count tokens. A demonstration has 30 tokens, a query 25. How many tokens
#    does the model process for 100 queries after 8 demonstrations, without a cache and with the
#    demonstrations cached?
#
#    <details><summary>Answer</summary>
#
#    $100 \cdot (240 + 25) = 26{,}500$, and $240 + 2{,}500 = 2{,}740$.
#
#    </details>
# 3. *(in code, 20 min)* Measure meaningless labels. Replace "negative" and "positive" by "down" and
#    "up" in the four demonstrations and pass `words=("down", "up")` to `classify`. Print p(up) for
#    the five queries, with four demonstrations and with none. What does the model need
#    demonstrations for now?
#
#    <details><summary>Answer</summary>
#
#    The label words no longer say what the task is, so it can come only from the demonstrations.
#    [Wei et al. (2023)](https://arxiv.org/abs/2303.03846) call such labels semantically unrelated
#    and find that small models do worse with them than large ones.
#
#    </details>
# 4. *(in code, 10 min of machine time)* Measure whether the best order of demonstrations transfers.
#    `in_context_results.measure("order", seed=0, queries=16)` of `deepdive_book.ch06a.runs`
#    measures all 24 orders of four demonstrations, and `seed=1` does so for a different set. Is the
#    most accurate order of seed 0 also good for seed 1?
#
#    <details><summary>Answer</summary>
#
#    `in_context_analysis.correct(row, order)` scores an order, but with 16 queries many orders tie,
#    so report the accuracy of seed 0's best order on seed 1 and its rank among the 24.
#
#    </details>

# %% Exercises 1 and 2, checked tags=["nbval-check-output"]
for odds in (6.0, 3.0):
    _, positive = calibrate(torch.tensor([1.0, odds]).log(), torch.tensor([[1.0, 4.0]]).log())
    print("positive" if positive > 0.5 else "negative", end=" ")
print(f"{100 * (8 * 30 + 25):,} {8 * 30 + 100 * 25:,}")

# %% [markdown]
# ## Further reading
#
# - [Brown et al. (2020)](https://arxiv.org/abs/2005.14165), *Language Models are Few-Shot
#   Learners*: section 2 defines zero-, one-, and few-shot.
# - [Min et al. (2022)](https://arxiv.org/abs/2202.12837), *Rethinking the Role of Demonstrations*:
#   random labels barely hurt, in their models.
# - [Wei et al. (2023)](https://arxiv.org/abs/2303.03846), *Larger Language Models Do In-Context
#   Learning Differently*: which models follow flipped labels.
# - [Lu et al. (2022)](https://arxiv.org/abs/2104.08786), *Fantastically Ordered Prompts and Where
#   to Find Them*: order sensitivity, and orders that don't transfer between models.
# - [Zhao et al. (2021)](https://arxiv.org/abs/2102.09690), *Calibrate Before Use*: contextual
#   calibration.
# - [Olsson et al. (2022)](https://arxiv.org/abs/2209.11895), *In-context Learning and Induction
#   Heads*: the mechanism.
# - [Ben Allal et al. (2025)](https://arxiv.org/abs/2502.02737), *SmolLM2*: how the model was
#   trained.

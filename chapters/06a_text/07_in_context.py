# %% [markdown] tags=["slide"]
# # In-context learning: four demonstrations and a question
#
# You hand a colleague four filled-in forms and an empty one, and without a word of explanation they
# fill in the fifth. A language model can do the same from its prompt, with no weight update. This
# is **in-context learning** (form = demonstration). If the four forms are filled in wrong, does the
# model still get the fifth right?
#
# **What it is.** In-context learning ([Brown et al. 2020](https://arxiv.org/abs/2005.14165)) puts
# input-label pairs, called **demonstrations** or *shots*, in the prompt. A frozen language model,
# whose weights don't change, then predicts the label of a new input, the **query**. A prompt with
# several demonstrations is **few-shot**, and a prompt without any is **zero-shot**.
#
# **What you'll be able to do.** Build a few-shot prompt, score label words by log-probability,
# calibrate the scores with content-free inputs, and test whether a model uses the labels in its
# demonstrations.
#
# <details><summary><b>Short answer</b></summary>
#
# Often it does. Zero-shot, the small language model SmolLM2-135M-Instruct (4-bit weights)
# classifies sentences from movie reviews with an accuracy of 84.4% [75.2%, 93.5%]. After sixteen
# demonstrations it reaches 74.5% [64.9%, 84.0%] with correct labels and 64.6% [52.1%, 77.1%] with
# every label flipped. So after sixteen demonstrations most predictions don't follow flipped labels.
# (Brackets: 95% confidence intervals.)
#
# </details>
#
# <small>Prerequisites: [a language model in 98 MB](03_quantization.ipynb),
# [decoding](../02_transformer/14_decoding.ipynb) · 17 min · runs on a laptop; results of the long
# runs are included · book 6.1.3.3, and the papers under further reading</small>

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

# %% Figure: few-shot classification tags=["slide", "fold"]
from deepdive_book.ch06a.figures.in_context_diagrams import calibration_diagram
from deepdive_book.kit.plotting import show

show(calibration_diagram(), "Few-shot classification with contextual calibration: the same k "
     "demonstrations go before a query and before the content-free query N/A; a frozen decoder "
     "scores the label words after both; the first probabilities are divided by the second and "
     "normalized.")  # fmt: skip

# %% [markdown]
# *Few-shot classification with contextual calibration, a correction that is explained below. Upper
# path: prompt, frozen decoder, label probabilities. Lower path: the same demonstrations with a
# query that has no content.*
#
# **Interactive figure: build a few-shot prompt.** The task is to predict the sentiment of a movie
# review, positive or negative. The box shows the whole prompt. The blue bar is p(positive), the
# probability that SmolLM2 gives to "positive" if only "positive" and "negative" are considered.
# *Try this:*
#
# 1. Remove all four demonstrations and choose the query "N/A". Which label does the model prefer
#    with no input?
# 2. Choose the query "the only good thing is the music". Include only the two positive reviews,
#    then only the two negative ones. How far does the bar move?
# 3. Include all four demonstrations and choose the query "i laughed, i cried". Flip only the last
#    label, then flip all four. Which of the two moves the bar more?

# %% Interactive figure: build a few-shot prompt tags=["slide", "fold"]
from deepdive_book.ch06a.figures import few_shot_prompt

prompts = few_shot_prompt.load_saved()  # 81 prompts with five queries each, scored by SmolLM2
few_shot_prompt.few_shot_prompt(prompts, "1000", 1)

# %% [markdown]
# <details><summary>What you should see: open after you try</summary>
#
# 1. The model prefers "negative". With no demonstrations, "positive" gets only 28.8%.
# 2. The demonstrations decide the prediction. "Positive" gets 77.9% after the two positive reviews
#    and 17.0% after the two negative ones, compared with 40.5% without any.
# 3. Flipping only the last label moves the bar more. "Positive" gets 50.9% with correct labels,
#    69.9% when only the last label is flipped (from negative to positive), and 41.5% when all four
#    are flipped.
#
# </details>
#
# The last label also matters in other prompts. On average over all prompts of two or more
# demonstrations, it pulls the prediction toward itself. "Positive" gets 21% after a negative last
# label and 54% after a positive one (last two lines):


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
# Even with no input, the model prefers one of the labels. You can measure this bias with an input
# that has no content, and then divide it out. To see how, write the two label probabilities as
# **odds**, the ratio of positive to negative. Suppose that after some prompt "N/A" gets 3 : 1. That
# isn't an opinion about a movie but the bias of the prompt, so we divide the odds of every query by
# 3 : 1:
#
# | query | odds | divided by 3 : 1 | calibrated prediction |
# |---|---|---|---|
# | N/A | 3 : 1 | 1 : 1 | neither |
# | "the only good thing is the music" | 3 : 2 | 3/3 : 2/1 = 1 : 2 | negative |
# | "i laughed, i cried" | 9 : 1 | 9/3 : 1/1 = 3 : 1 | positive |
#
# Before calibration all three were positive. [Zhao et al. (2021)](https://arxiv.org/abs/2102.09690)
# call this correction **contextual calibration**. It needs no training and no labeled text, only a
# **content-free** input such as "N/A".
#
# ## In code: prompt, label scores, calibration
#
# To classify with a language model, you don't have to generate any text. Instead, you append each
# label word to the prompt. The label's score is its log-probability there, summed over its tokens,
# and a softmax over the scores gives the label probabilities.
#
# In the next cell, `calibrate` divides as in the table, but by an average over three content-free
# inputs: "N/A", the empty string, and "[MASK]".

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
# In the example from above, 3 : 2 divided by 3 : 1 gave 1 : 2. So p(positive) should be 1/3:

# %% By hand, in code tags=["nbval-check-output"]
odds, content_free = torch.tensor([2.0, 3.0]), torch.tensor([[1.0, 3.0]])  # negative, positive
negative, positive = calibrate(odds.log(), content_free.log())
print(f"negative {negative:.3f}, positive {positive:.3f}")

# %% [markdown]
# `model` maps token ids to logits and `encode` maps a string to token ids, so `classify` works with
# any decoder. The next cell loads SmolLM2-135M-Instruct (4-bit weights) and prints a prompt with
# the figure's four demonstrations, followed by p(positive):

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
# Without calibration, the prediction is "negative", like the last label. With calibration, the
# model is almost undecided.
#
# The same functions are in `deepdive`, the small library that accompanies this book, but there the
# demonstrations are processed only once for all queries. `split_prefix` finds the tokens that all
# prompts share, and `Prompted` caches their keys and values. This works because attention in a
# decoder is causal, so later tokens don't change earlier keys and values. The next cell asserts
# that both versions give the same results:

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
# In all experiments the model is SmolLM2-135M-Instruct with 4-bit weights. Nothing is trained, and
# only the prompt changes (code: `deepdive_book.ch06a.runs.in_context_results`).
#
# There are two tasks. For "sentiment", the queries are 64 sentences from movie reviews
# (`rt_polarity`, half of them positive), and for "topics", 48 sentences on one of seven topics
# (`sib200`). A **demonstration set** is a random sample of other sentences, and shorter prompts use
# the first ones of the sample. Each condition is repeated with three demonstration sets.
#
# The brackets are 95% confidence intervals (Student's t). They cover both other queries and other
# demonstration sets, because both are sampled. A zero-shot prompt has no demonstrations, so its
# interval covers queries only.
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
# There are two baselines. One always predicts the **majority class** of the queries. The other,
# **naive Bayes**, is a classifier on word counts. It is trained on the demonstrations with correct
# labels (six sets) and knows nothing else. In the next table, the zero-shot accuracy (0
# demonstrations) is listed under "correct labels".

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
# Which differences are larger than chance? With eight comparisons, some 95% intervals may exclude
# zero even if labels don't matter. In the next table we therefore widen the intervals until all
# eight together have 95% confidence (Bonferroni's correction). The last two columns are about
# prompts with flipped labels. They show how many predictions are correct and how many follow the
# flipped labels, such as "politics" for a query about travel.

# %% Differences between label conditions
results.table("label_effects", "differences in percentage points, without calibration; the "
              "intervals are corrected for eight comparisons (Bonferroni)")  # fmt: skip

# %% [markdown]
# **Most sentiment predictions don't follow sixteen flipped labels.** If the model had followed
# them, most of its predictions would be wrong, yet 64.6% are correct. That is fewer than with
# correct labels, but the interval of the difference includes zero. After four flipped labels,
# accuracy is near chance, so the result is open.
#
# It seems that training has already given the model a meaning for the word "positive", which [Wei
# et al. (2023)](https://arxiv.org/abs/2303.03846) call a *semantic prior*. They also find that
# small models ignore flipped labels, while large ones can follow them. Our model is
# instruction-tuned, which in their experiments strengthens the prior more than the ability to learn
# new labels. We didn't test the base model.
#
# **The labels still seem to count.** With four reviews, correct labels score 19.8 points higher
# than random ones, and the corrected interval excludes zero. With sixteen reviews the difference is
# 9.9 points, but three demonstration sets are too few to decide, because the interval includes
# zero.
#
# On topics, sixteen demonstrations hurt even with correct labels. Accuracy falls from 72.9%
# zero-shot to 42.4%. With flipped labels, it is no better than the majority class, but the
# predictions aren't flipped either, because only 22.2% of them follow the labels.
#
# Most of the accuracy seems to come from the pretrained model. In both tasks the zero-shot mean is
# the highest, while naive Bayes, which knows only the demonstrations, is no better than the
# majority class.

# %% [markdown]
# ### 2. Which label counts most, and does calibration help?
#
# To measure how much the label at each position matters, we keep the figure's four demonstrations
# in their order. Each label is correct or flipped, which gives $2^4 = 16$ labelings. For each
# position we turn its label from negative to positive and take the difference in p(positive). The
# table shows this difference, without and with calibration, averaged over the figure's four reviews
# and over the eight labelings of the other demonstrations. The values of the lowest and highest
# labeling are in parentheses. The last three columns have the same difference for the content-free
# inputs (“” is the empty string).

# %% The effect of each label tags=["slide"]
results.table("label_positions", "how many points p(positive) rises when the label at a position "
              "turns positive: mean (lowest to highest labeling of the others)")  # fmt: skip

# %% [markdown]
# **The last label counts most.** When it turns from negative to positive, p(positive) rises by 35.9
# points on average, compared with 9.7 points for the label before it. The effect depends on the
# other labels, but the last label pulls the prediction toward itself in all eight labelings. Zhao
# et al. call this **recency bias**.
#
# Calibration about halves the pull, to 19.2 points. Why doesn't it remove all of it? The last
# columns suggest a reason, because the content-free inputs disagree. The last label moves "[MASK]"
# by 48.8 points toward itself, but "N/A" by 12.9 points the other way. So an input without content
# isn't always neutral. The table is about one set of demonstrations and four queries, without an
# interval.
#
# Does calibration also improve the accuracy with other demonstration sets? The next table has the
# gain (calibrated minus uncalibrated) and the difference from calibrated zero-shot accuracy. Only
# the last column is about flipped labels.

# %% Calibrated accuracy tags=["slide"]
results.table("calibration", "accuracy with correct labels before and after calibration, and "
              "differences in points [95% confidence interval]")  # fmt: skip

# %% [markdown]
# **After demonstrations, calibration seems to help in two of four cases.** It gains 12.5 points
# after four reviews and 18.8 points after sixteen sentences on topics. The other two gains are also
# positive, but their intervals include zero. (These are 95% intervals, not corrected for the four
# comparisons.)
#
# So calibration seems to undo part of the harm of demonstrations. However, calibrated accuracy
# isn't clearly better than zero-shot, because each interval of that difference includes zero. With
# flipped labels, the calibrated means are lower than with correct labels in every line.
#
# ### 3. When do demonstrations help?
#
# So far each task had one **prompt template**, the fixed text around a sentence and its label. Here
# we use three templates for the reviews, with correct labels. In the table, `{}` is where the
# review goes, and "/" is a line break.

# %% Three templates tags=["slide"]
results.table("templates", "accuracy, and gain over zero-shot in points [95% confidence interval]")

# %% [markdown]
# **Whether demonstrations help seems to depend on the template.** With the first template the model
# needs no demonstrations, and four of them lower accuracy by 12.5 points. With the other two,
# zero-shot accuracy is no better than chance, and all four gains are positive. But the interval of
# the largest gain, 22.4 points, includes zero, so three sets are too few to say how much
# demonstrations help there. (These intervals aren't corrected for the six comparisons.)
#
# The first template's mean is higher without demonstrations than the means of the other two with
# sixteen. However, you don't know in advance which template is good.
#
# ### Why does the last label pull?
#
# A candidate mechanism is the **induction head** ([Olsson et al.
# 2022](https://arxiv.org/abs/2209.11895)). This is an attention head that finds an earlier copy of
# the current token and attends to the token after it. Here the current token is the colon of
# "Sentiment:". Its earlier copies include the same colon in each demonstration, where the token
# after it is the label. If the head prefers the most recent copy, it attends most to the last
# label.
#
# In the next prompt, "Review: great fun" is labeled positive, "Review: so dull" negative, and then
# the first review comes again without a label. The cell prints the attention weights from the last
# colon to both labels for head 6 of layer 19 (19-6; layers count from 1, heads from 0). Then it
# counts the heads that give the labels more than half of their attention:

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
# of the same review. That fits recency bias, but it isn't proof that these heads cause it. The page
# with [more experiments](07b_in_context_more.ipynb) shows by ablation (setting outputs of heads to
# zero) that induction heads copy random tokens.
#
# ## With the real library: transformers
#
# `save` writes the model in the format of Hugging Face's transformers, with the 4-bit weights
# converted back to floating-point numbers. So `LlamaForCausalLM` loads the same weights without
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
# quantized, so the probability can differ a little; the output isn't shown here.
#
# ```python
# from transformers import AutoModelForCausalLM, AutoTokenizer
#
# name = "HuggingFaceTB/SmolLM2-135M-Instruct"
# tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModelForCausalLM.from_pretrained(name)
# inputs = tokenizer(few_shot_prompt(four, query), return_tensors="pt")
# logits = model(**inputs).logits[0, -1]  # the next token
# ids = [tokenizer(word)["input_ids"][0] for word in (" negative", " positive")]
# print(logits[ids].softmax(-1))
# ```
#
# ## How it differs from fine-tuning
#
# | | [fine-tuning](01_gpt.ipynb) | in-context learning |
# |---|---|---|
# | what changes | the weights | the prompt |
# | where the task is stored | in a new model | in the KV cache, for as long as it lasts |
# | examples | thousands | as many as fit in the context |
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
# **Fix:** Join the strings and encode the whole prompt. To cache a prefix, split its *tokens*
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
# - **Measure zero-shot first**, with several templates. If the model already has its accuracy
#   zero-shot, it hasn't learned it from the demonstrations.
# - **Run the same queries with flipped labels.** If the accuracy doesn't change when the labels
#   flip, it wasn't learned from the labels.
# - **Calibrate when you have few demonstrations**, and check that it helps. After sixteen reviews,
#   its gain was too small to be sure.
# - **End the query exactly as the demonstrations do, without a trailing space.** A trailing space
#   would become a separate token, which isn't how running text is tokenized.
# - **Average over several sets and orders of demonstrations.**
# - **Use label words with the same number of tokens**, or divide the score by that number, because
#   every extra token lowers the probability.
#
# ## Summary
#
# Most of SmolLM2's predictions don't follow the labels when these are all wrong. After sixteen
# reviews with flipped labels, 64.6% [52.1%, 77.1%] of the predictions are correct, compared with
# 74.5% after correct labels. With a good template, the model reaches 84.4% without any
# demonstrations. So most of the accuracy was there before the demonstrations.
#
# Still, the labels seem to count. After four reviews, correct labels score 19.8 points higher than
# random ones (corrected interval from 4.3 to 35.3). Min et al. (2022) find that random labels
# barely hurt, across 12 models. After sixteen reviews, our interval is too wide to agree or
# disagree with them.
#
# The last label counts most, and calibration about halves its effect. Zhao et al. (2021) report
# gains from calibration of up to 30.0 points for GPT-2 and GPT-3, and ours is 12.5 points after
# four reviews.
#
# These results come from one small model and only three demonstration sets. We didn't reproduce the
# papers' models or data sets, nor the large models of Wei et al. (2023).
#
# More experiments, with an interactive view of the attention heads: [induction heads and chain of
# thought](07b_in_context_more.ipynb).
#
# ## Check your understanding
#
# 1. What does a language model change when it learns from demonstrations?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    None of its parameters. The keys and values of the demonstrations are in the cache, and later
#    tokens attend to them.
#
#    </details>
# 2. Why is a query about "N/A" worth its tokens?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Its prediction comes from the prompt alone, so you can divide it out of every other prediction.
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
# 1. *(on paper, 3 min)* Compute calibrated labels. After a prompt "N/A" has odds 4 : 1 (positive to
#    negative), one review 6 : 1 and another 3 : 1. Which labels do the two reviews get?
#
#    <details><summary>Answer</summary>
#
#    $6/4 : 1 = 3 : 2$, positive; $3/4 : 1 = 3 : 4$, negative.
#
#    </details>
# 2. *(on paper, 5 min)* Compute tokens. A demonstration has 30 tokens, a query 25. How many tokens
#    does the model process for 100 queries after 8 demonstrations, without a cache and with the
#    demonstrations cached?
#
#    <details><summary>Answer</summary>
#
#    $100 \cdot (240 + 25) = 26{,}500$, and $240 + 2{,}500 = 2{,}740$.
#
#    </details>
# 3. *(in code, 20 min)* Measure meaningless labels. Replace "negative" and "positive" by "down" and
#    "up" in the four demonstrations and pass `words=("down", "up")` to `classify`. Print
#    p(up) for the five queries, with four demonstrations and with none. What does the model need
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
#    `in_context_analysis.correct(row, order)` scores an order. With 16 queries many orders tie, so
#    report the accuracy of seed 0's best order on seed 1 and its rank among the 24.
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

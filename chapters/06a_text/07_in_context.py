# %% [markdown] tags=["slide"]
# # In-context learning: four demonstrations and a question
#
# You hand a new colleague four filled-in forms and an empty one, and say nothing. They fill in the
# fifth. A language model can do the same from its prompt, with no weight update: this is
# **in-context learning** (form = demonstration). If the four are filled in wrong, does the model
# still get the fifth one right?
#
# **What it is.** In-context learning ([Brown et al. 2020](https://arxiv.org/abs/2005.14165)) puts
# input-label pairs, called **demonstrations** or *shots*, in the prompt and lets a frozen language
# model predict the label of a new input. A prompt with several demonstrations is **few-shot**, a
# prompt without any **zero-shot**.
#
# **What you'll be able to do.** Build a few-shot prompt, score label words by log-probability,
# calibrate the scores with content-free inputs, and test whether a model uses the labels in its
# demonstrations.
#
# <details><summary><b>Short answer</b></summary>
#
# SmolLM2-135M-Instruct (4-bit weights) classifies sentences from movie reviews with an accuracy of
# 84.4% [75.2%, 93.5%] zero-shot. After sixteen demonstrations it reaches 74.5% [64.9%, 84.0%] with
# correct labels and 64.6% [52.1%, 77.1%] with every label flipped. So after sixteen demonstrations
# most predictions don't follow flipped labels.
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
# *Few-shot classification with contextual calibration. Upper path: prompt, frozen decoder, label
# probabilities. Lower path: the same demonstrations with a query that has no content.*
#
# **Interactive figure: build a few-shot prompt.** The box shows the whole prompt, the bar
# p(positive) in blue. *Try this:*
#
# 1. Remove all four demonstrations and query "N/A". Which label does the model prefer with no
#    input?
# 2. Query "the only good thing is the music". Include only the two positive reviews, then only the
#    two negative ones. How far does the bar move?
# 3. Include all four and query "i laughed, i cried". Flip only the last label, then flip all four.
#    Which of the two moves the bar more?

# %% Interactive figure: build a few-shot prompt tags=["slide", "fold"]
from deepdive_book.ch06a.figures import few_shot_prompt

prompts = few_shot_prompt.load_saved()  # 81 prompts with five queries each, scored by SmolLM2
few_shot_prompt.few_shot_prompt(prompts, "1000", 1)

# %% [markdown]
# <details><summary>What you should see: open after you try</summary>
#
# 1. "Negative": with no demonstrations, "positive" gets only 28.8%.
# 2. The demonstrations decide: "positive" gets 77.9% after the two positive reviews, 17.0% after
#    the two negative ones, and 40.5% without any.
# 3. The last one: "positive" gets 50.9% with correct labels, 69.9% when only the last label is
#    flipped (from negative to positive), and 41.5% when all four are flipped.
#
# </details>
#
# The last label pulls the prediction toward itself. Over all prompts of two or more demonstrations
# (last two lines), "positive" gets 21% on average after a negative last label, 54% after a positive
# one:


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
# The model assigns a probability to each label word. Write the two as odds of positive to negative.
# Suppose that after some prompt the content-free input "N/A" gets 3 : 1. That isn't an opinion
# about a movie but the bias of the prompt, so divide it out:
#
# | query | odds | divided by 3 : 1 | calibrated prediction |
# |---|---|---|---|
# | N/A | 3 : 1 | 1 : 1 | neither |
# | "the only good thing is the music" | 3 : 2 | 3/3 : 2/1 = 1 : 2 | negative |
# | "i laughed, i cried" | 9 : 1 | 9/3 : 1/1 = 3 : 1 | positive |
#
# Before calibration all three were positive. [Zhao et al. (2021)](https://arxiv.org/abs/2102.09690)
# call this **contextual calibration**. It needs no training and no labeled text, only a
# **content-free** input.
#
# ## In code: prompt, label scores, calibration
#
# A label's score is its log-probability after the query, summed over the label's tokens. Nothing is
# sampled or generated. Calibration averages over three content-free inputs: "N/A", the empty
# string, and "[MASK]".

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
# The odds from above, 3 : 2 divided by 3 : 1, give 1 : 2. So p(positive) is 1/3:

# %% By hand, in code tags=["nbval-check-output"]
odds, content_free = torch.tensor([2.0, 3.0]), torch.tensor([[1.0, 3.0]])  # negative, positive
negative, positive = calibrate(odds.log(), content_free.log())
print(f"negative {negative:.3f}, positive {positive:.3f}")

# %% [markdown]
# `model` maps token ids to logits and `encode` maps a string to token ids, so any decoder works.
# Here is SmolLM2-135M-Instruct (4-bit weights), with the four demonstrations of the figure:

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
# The library computes the same. `Prompted` runs the demonstrations once and caches their keys and
# values, because attention is causal: what comes later doesn't change them. `split_prefix` finds
# the tokens that all prompts share.

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
# All experiments use SmolLM2-135M-Instruct with 4-bit weights, so the model, its parameter count,
# and the compute per token never change. The queries are 64 sentences from movie reviews
# (`rt_polarity`, half of them positive) and 48 sentences on one of seven topics (`sib200`). A
# **demonstration set** is sampled from other sentences; fewer demonstrations are the first ones of
# more. Each condition has three demonstration sets (naive Bayes six).
#
# Brackets are 95% confidence intervals (Student's t) that cover both other queries and other
# demonstration sets, because both are sampled. Zero-shot accuracy has no demonstrations, so its
# interval covers queries only.
#
# ### 1. Do flipped labels flip the predictions?
#
# The labels in the demonstrations are *correct*; *random*, each class with equal probability ([Min
# et al. 2022](https://arxiv.org/abs/2202.12837)); or *flipped*. A **flipped label** is the opposite
# sentiment or, for topics, the next class in the list (travel becomes politics). There are two
# baselines: always predicting the majority class of the queries, and naive Bayes on word counts,
# trained on the same demonstrations with correct labels.

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
results.table("by_labels", "accuracy [95% confidence interval], uncalibrated")

# %% Differences between label conditions
results.table("label_effects", "differences in points, uncalibrated; the intervals are corrected "
              "for eight comparisons (Bonferroni)")  # fmt: skip

# %% [markdown]
# On sentiment, **most predictions don't follow sixteen flipped labels.** (After four, accuracy is
# near chance, so the result is open.) Had the model followed the sixteen demonstrations, most
# predictions would be wrong, yet 64.6% are correct. That is fewer than with correct labels, but the
# interval of the difference includes zero. It seems that training has already given the model a
# meaning for "positive", a *semantic prior*. [Wei et al. (2023)](https://arxiv.org/abs/2303.03846)
# also find that small models ignore flipped labels, while large ones can follow them. In their
# experiments instruction tuning strengthens the prior more than the ability to learn new labels.
# Our model is instruction-tuned, and we didn't test the base model.
#
# **The labels seem to count.** With four reviews, correct labels score 19.8 points higher than
# random ones, and the corrected interval excludes zero. With sixteen reviews the difference is 9.9
# points, but three demonstration sets are too few: the interval includes zero, so the result is
# inconclusive.
#
# On topics, demonstrations hurt. Accuracy falls from 72.9% zero-shot to 42.4% after sixteen correct
# demonstrations. With flipped labels it is 18.1%, no better than the 25.0% of the majority class.
# There 22.2% of the predictions follow the flipped labels, so topics aren't flipped either.
#
# The pretrained model contributes most of the accuracy. Naive Bayes, which knows only the
# demonstrations, is no better than the majority class.

# %% [markdown]
# ### 2. Which label counts most, and does calibration help?
#
# Now the four demonstrations of the figure stay in their order, and each label is correct or
# flipped: $2^4 = 16$ labelings. For each position we turn its label from negative to positive and
# take the difference in p(positive), averaged over the figure's four reviews and over the eight
# labelings of the other demonstrations. In parentheses: the lowest and the highest of the eight.
# The last three columns have the same difference for the content-free inputs (“” is the empty
# string).

# %% The effect of each label tags=["slide"]
results.table("label_positions", "how many points p(positive) rises when the label at a position "
              "turns positive: mean (lowest to highest labeling of the others)")  # fmt: skip

# %% [markdown]
# **The last label counts most.** It moves p(positive) by 35.9 points on average, the one before it
# by 9.7. The effect depends on the other labels, but the last label pulls toward itself in all
# eight labelings. Zhao et al. call this **recency bias**. Calibration about halves the pull, to
# 19.2 points.
#
# The last columns show why calibration doesn't remove it: the content-free inputs disagree. The
# last label moves "[MASK]" by 48.8 points toward itself and "N/A" by 12.9 points the other way. So
# an input without content isn't neutral for every model. These are one set of demonstrations and
# four queries, without an interval.
#
# Does calibration help with other demonstration sets? The gain is calibrated minus uncalibrated
# accuracy, both with correct labels.

# %% Calibrated accuracy tags=["slide"]
results.table("calibration", "accuracy with correct labels, before and after "
              "calibration; last column: with flipped labels")  # fmt: skip

# %% [markdown]
# After four reviews calibration gains 12.5 points, after sixteen topics 18.8 (95% intervals, not
# corrected for the four comparisons). The other two intervals include zero. So calibration undoes
# part of the harm of demonstrations, but with either number of them calibrated accuracy isn't
# clearly better than zero-shot: each of those intervals includes zero.
#
# With flipped labels and calibration, accuracy after sixteen reviews is 74.5%, as high as
# uncalibrated with correct labels. The demonstration sets differ, so its interval is wide.
#
# ### 3. When do demonstrations help?
#
# So far each task had one **prompt template**. Here we use three for the reviews, with correct
# labels and three demonstration sets.

# %% Three templates tags=["slide"]
results.table("templates", "accuracy [95% confidence interval], gains in points")

# %% [markdown]
# With the first template the model needs no demonstrations, and four of them lower accuracy by 12.5
# points. With the other two, zero-shot accuracy is no better than chance, and all four differences
# are positive. The largest, 22.4 points, has an interval that includes zero, so three sets are too
# few to say how much demonstrations help there. (These intervals aren't corrected for the six
# comparisons.) A good template did more than sixteen demonstrations, but you don't know in advance
# which template is good.
#
# ### Why does the last label pull?
#
# A candidate mechanism is the **induction head** ([Olsson et al.
# 2022](https://arxiv.org/abs/2209.11895)): an attention head that finds an earlier copy of the
# current token and attends to the token after it. The current token is the colon of "Sentiment:".
# The earlier copies are the colons of the demonstrations, and the tokens after them are the labels.
# The next cell has the attention weights of such a head, 19-6 (layers count from 1, heads from 0),
# at the last colon of "Review: great fun", "Review: so dull", "Review: great fun":

# %% Attention from the last colon tags=["nbval-check-output"]
from deepdive_book.kit.explorer.cached_attention import load_cached

tokens, maps = load_cached("reviews")  # weights: (layers, heads, T, T)
far, near = (maps.weights[:, :, -1, i] for i in (8, 19))  # from the last colon to the two labels
print(f"head 19-6: {tokens[19]!r} {near[18, 6]:.0%}, {tokens[8]!r} {far[18, 6]:.0%}")
strong = far + near > 0.5
print(f"{strong.sum()} heads give the labels more than half, {(near > far)[strong].sum()} of these "
      "more to the last one")  # fmt: skip

# %% [markdown]
# In this prompt these heads attend to the most recent label rather than to the label of the same
# review. That fits recency
# bias. It isn't proof that these heads cause it: [more experiments](07b_in_context_more.ipynb)
# shows by ablation that induction heads copy random tokens.
#
# ## With the real library
#
# `save` writes the model in the format of transformers, so its `LlamaForCausalLM` loads the same
# dequantized weights without network access:

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
# quantized, so the probability differs a little; the output isn't shown here.
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
# You encode each demonstration by itself, then join the token ids. **Symptom:** no error, but the
# probabilities differ from those of the same text: this tokenizer encodes an empty line at the end
# of a string as one token, and as two tokens if more text follows. An earlier version of this page
# had this bug, and its conclusion about random labels was wrong. **Fix:** join the strings and
# encode the whole prompt. To cache a prefix, split its *tokens*. The next cell shows the
# difference:

# %% One prompt, two tokenizations
*shown, last = few_shot_prompt(four, query).split("\n\n")
parts = [token for text in shown for token in tokenizer.encode(text) + tokenizer.encode("\n\n")]
whole = tokenizer.encode(few_shot_prompt(four, query))
for name, context in (("parts", parts + tokenizer.encode(last)), ("whole", whole)):
    positive = label_log_probs(model, context, labels).softmax(-1)[1]
    print(f"{name}: {len(context)} tokens, positive {positive:.1%}")

# %% [markdown]
# ## In practice
#
# - **Measure zero-shot first**, with several templates. Accuracy that was there zero-shot wasn't
#   learned from the demonstrations.
# - **Run the same queries with flipped labels.** Accuracy that doesn't change when the labels flip
#   wasn't learned from the labels.
# - **Calibrate when you have few demonstrations**, and check that it helps: it costs one forward
#   pass per content-free input, and after sixteen reviews its gain was too small to be sure.
# - **End the query exactly as the demonstrations do, without a trailing space.** "Sentiment:" and
#   " positive" are tokenized as in running text. A trailing space becomes a separate token.
# - **Average over several sets and orders of demonstrations.** One set in one order is one run.
# - **Use label words of equal length**, or divide the score by the number of tokens, because every
#   extra token lowers the probability. All labels here are single tokens.
#
# ## Summary
#
# If the demonstrations are filled in wrong, most of SmolLM2's predictions don't follow them. After
# sixteen reviews with flipped labels 64.6% [52.1%, 77.1%] are correct, after sixteen with correct
# labels 74.5%, and with a good template zero-shot accuracy is 84.4%. So most of the accuracy was
# there before the demonstrations.
#
# Still, the labels count. After four reviews, correct labels score 19.8 points higher than random
# ones (corrected interval from 4.3 to 35.3). Min et al. (2022) find that random labels barely hurt,
# across 12 models; after sixteen reviews our interval is too wide to agree or disagree. The last
# label counts most, and calibration about halves its effect. Zhao et al. (2021) report gains from
# calibration of up to 30.0 points for GPT-2 and GPT-3; ours is 12.5 points after four reviews.
#
# We didn't reproduce their models or data sets, nor the large models of Wei et al. (2023). Three
# demonstration sets are few, one model was tested, and it is small.
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
# 4. *(in code, 10 min of machine time)* Measure whether the best order transfers. Run
#    `in_context_results.measure("order", seed=1, queries=16)` of `deepdive_book.ch06a.runs`, a
#    different demonstration set, and compare its most accurate order with the one of seed 0.
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

# %% [markdown] tags=["slide"]
# # More experiments: in-context learning
#
# Two experiments belong to in-context learning. Both use SmolLM2-135M-Instruct with 4-bit weights.
# Which attention heads copy from the prompt, and do worked-out steps in the demonstrations help?
#
# <small>Prerequisites: [in-context learning](07_in_context.ipynb) · 8 min · runs on a laptop;
# results of the long runs are included · book 6.1.3.3</small>

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

# %% [markdown] tags=["slide"]
# ## Induction heads
#
# **Question.** Which heads copy from the prompt, and do they make the last label pull?
#
# An **induction head** ([Olsson et al. 2022](https://arxiv.org/abs/2209.11895)) finds an earlier
# copy of the current token and attends to the token after it. To find such heads, take 32 random
# tokens and repeat them: only the first half predicts the second. A head's score is the mean
# attention weight on the token after the earlier copy. Here are six words, twice:

# %% Interactive figure: six words, twice tags=["fold"]
from deepdive_book.kit.explorer.cached_attention import kept_explorer, load_cached

words, maps = load_cached("words")
after = {i: maps.weights[:, :, i, i - 5] > 0.5 for i in (10, 7, 8, 9, 11)}
marked = {i: (f"attend most to “{words[i - 5].strip()}”, which came next before", heads)
          for i, heads in after.items()}  # fmt: skip
kept_explorer("words", start=(19, 6), links=True, marked=marked)

# %% [markdown]
# *Attention of one head. Marked: the heads that attend most to the token after the earlier copy.*
# *Try this:*
#
# 1. Select the second "river". Which word does head 19-6 attend to?
# 2. Select the other words of the second half. Which one is the exception?
# 3. Choose a head that isn't marked. Where does it attend?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. "cup", the word after the first "river".
# 2. The second "tree": it attends to the first token, where many heads attend most of the time.
# 3. Often to the first token, or to the word right before.
#
# </details>
#
# Now three reviews. The third is the first again, and the text ends with the colon of "Sentiment:".
# Which label does head 19-6 attend to?

# %% Interactive figure: three reviews tags=["fold"]
kept_explorer("reviews", start=(19, 6))

# %% Attention from the last colon tags=["nbval-check-output"]
tokens, maps = load_cached("reviews")
last = maps.weights[18, 6, -1]  # head 19-6: layers count from 1, heads from 0
for i in last.topk(3).indices.tolist():
    print(f"{tokens[i]!r} at position {i}: {last[i]:.0%}")
far, near = (maps.weights[:, :, -1, i] for i in (8, 19))  # the two labels
strong = far + near > 0.5
print(f"{strong.sum()} heads give the labels more than half of their attention, "
      f"{(near > far)[strong].sum()} of these more to the nearer one")  # fmt: skip

# %% [markdown]
# The head follows the colon, and the nearer label gets more of its attention. It doesn't follow the
# review that is the same.
#
# **Ablation.** Set the outputs of the twelve heads with the highest scores to zero, and compare
# with random sets of twelve other heads, with the same number in each layer. *Copying* is the
# accuracy in the second half of four other random texts. *Pull* is how many points p(positive)
# rises when the last label of the four demonstrations is positive instead of negative.

# %% Ablated heads tags=["slide"]
from deepdive_book.ch06a.runs.in_context_analysis import load_results

results = load_results()
results.table("ablations", "accuracy of copying, and pull in points; of the random sets the range")

# %% [markdown]
# Copying random tokens needs these twelve heads: without them none of the tokens is copied
# correctly, without twelve random others at least 44%. Whether they also make the last label pull
# isn't shown. The pull is 8 points here, and −3 without the twelve heads, but random sets change it
# by more in both directions. (The other three labels are all correct or all flipped here, where the
# pull is smaller than averaged over all labelings.)
#
# ## Chain of thought
#
# **Question.** Do worked-out steps in the demonstrations help such a small model?
#
# **Chain-of-thought** prompting ([Wei et al. 2022](https://arxiv.org/abs/2201.11903)) puts the
# steps to the answer in the demonstrations, so the model generates steps of its own. The task is
# arithmetic with two steps and numbers from 2 to 9, after four demonstrations in one of three
# forms:

# %% One problem, three forms tags=["nbval-check-output"]
from deepdive_book.ch06a.runs import chain_of_thought

problem = chain_of_thought.Problem(7, 5, 4, ("Tom", "He", "he"), "apples")
print(problem.question, "...", sep="")
for form in chain_of_thought.FORMS:
    print(f"{form}:", problem.worked(form).strip())

# %% [markdown]
# The dots are Wei et al.'s control for extra computation: about the same number of tokens as the
# steps, without their content. Direct answers are the baseline. Brackets are 95% confidence
# intervals over problems and demonstration sets.

# %% Accuracy by the form of the demonstrations tags=["slide"]
results.table("chains", "accuracy [95% confidence interval], gain in points: 32 problems, three "
              "demonstration sets")  # fmt: skip

# %% [markdown]
# **Steps help.** With steps 21.9% of the answers are correct, directly 4.2%, and the interval of
# the difference excludes zero. Dots don't help this model, so the gain doesn't come from extra
# tokens alone. It wasn't trained on dots; models that are trained on filler tokens can use them
# (Pfau et al. 2024). Of the first sums 99.0% are correct, of the second ones, which subtract,
# 31.2%: that is where the chain fails.
#
# Wei et al. (2022) found gains in large models only, and small ones often lost accuracy. Their
# problems are harder and their models older. This experiment doesn't show which of the two matters,
# so "steps help only large models" is a claim about those problems and those models.
#
# <!--
# System: chain_of_thought
# Parent: gpt3
# What differs:
# - the demonstrations hold the steps to the answer, and the model writes steps of its own before
#   it answers (`deepdive_book.ch06a.runs.chain_of_thought.Problem.worked`)
# Source: Wei et al. 2022, section 3.
# Book: 6.1.3.3
# -->
#
# ## Check your understanding
#
# 1. What does an induction head attend to?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The token after an earlier copy of the current token.
#
#    </details>
# 2. Why does the experiment on steps include dots?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Steps add tokens, so they add computation. Dots add about the same number of tokens,
#    without the content.
#
#    </details>
#
# ## Further reading
#
# - [Olsson et al. (2022)](https://arxiv.org/abs/2209.11895), *In-context Learning and Induction
#   Heads*.
# - [Wei et al. (2022)](https://arxiv.org/abs/2201.11903), *Chain-of-Thought Prompting Elicits
#   Reasoning in Large Language Models*: section 3 and the control in section 3.3.
# - [Pfau et al. (2024)](https://arxiv.org/abs/2404.15758), *Let's Think Dot by Dot*: models
#   that are trained on filler tokens can use them.

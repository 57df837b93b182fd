# %% [markdown] tags=["slide"]
# # More experiments: attention is not explanation
#
# Two experiments that belong to attention is not explanation: why is rank correlation a poor
# criterion, and what do Jain and Wallace's tests show on a Transformer?
#
# <small>Prerequisites: [attention is not explanation](08_attention_is_not.ipynb) · 6 min · results
# of the long runs are included · book 7.4.1</small>

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
# ## Why rank correlation fails
#
# [Neely et al. (2022)](https://arxiv.org/abs/2205.04559) argue that rank correlation shouldn't be
# used to evaluate attention. We measure three of the reasons on the BiLSTM: how many words barely
# change the prediction, what a comparison of the top three words shows instead, and how Kendall's
# tau depends on the length of the text. The last column adds Gaussian noise with a standard
# deviation of 0.005 to leave-one-out importances and computes their tau with the originals.

# %% Pairs of 40 words, and pairs without the three most important tags=["nbval-check-output"]
print(40 * 39 // 2, 37 * 36 // 2)

# %% [markdown]
# In a text of 40 words, 666 of 780 pairs are among the 37 words outside the top three. If their
# order is noise, tau is mostly noise.

# %% Reasons against rank correlation
from deepdive_book.ch07.runs import attention_not_explanation as runs
from deepdive_book.kit.tables import table

tests, _ = runs.results()
percent = ["words with leave-one-out < 0.01", "top 3 shared: attention, gradient",
           "top 3 shared: by chance"]  # fmt: skip
taus = ["tau, shorter half", "tau, longer half", "leave-one-out with itself + noise of 0.005: tau"]
table(runs.rank_correlation(tests),
      formats=dict.fromkeys(percent, ".0%") | dict.fromkeys(taus, ".2f"),
      caption="BiLSTM, 200 texts of each data set, three seeds; tau of attention and the gradient "
      "with attention held fixed")  # fmt: skip

# %% [markdown]
# - **Most words change almost nothing.** Deleting a word changes the prediction by less than 0.01
#   for a third of the words of a review, and for 73% of those of an abstract. The order of such
#   words is noise, but each of their pairs counts as much in tau as the pair of the two most
#   important words.
# - **So leave-one-out doesn't agree with itself.** On the abstracts, noise that moves predictions
#   by about 0.005 lowers the tau of leave-one-out with its own original values to 0.36.
# - **The top words show something else.** On the reviews attention and the gradient share 43% of
#   their top three words, against 15% by chance. On the abstracts it's 14%, against 3%.

# %% [markdown]
# ## The same tests on a BERT
#
# Two layers, two heads, $d_\text{model} = 64$, trained from scratch on the same texts. The tests
# use the attention of `[CLS]` in the last layer, averaged over both heads for the tau. These are
# the only weights of that layer that the prediction depends on.

# %% Both tests on a small BERT
berts = runs.bert_results()
columns = [name for name in runs.NAMES.values() if name in runs.bert_table(berts)[0]]
table(runs.bert_table(berts), formats=dict.fromkeys(columns, ".2f"),
      caption="100 texts of each data set; mean over three seeds [95% t interval]")  # fmt: skip

# %% [markdown]
# - **The two measures barely agree on BERT**: 0.26 on the reviews and 0.07 on the abstracts. Neely
#   et al. also found no two methods that agree strongly on Transformers. Attention and the gradient
#   agree more, 0.50 and 0.35. By Jain and Wallace's first criterion attention would now pass one
#   comparison and fail the other.
# - **On the abstracts the predictions depend on the weights.** Permuted attention changes them by a
#   total variation distance (TVD) of 0.37, with a wide interval, since the three models differ.
#   Even there the search finds weights at a JSD of 0.53 that leave the prediction unchanged. A
#   model can need its attention without needing these particular weights.

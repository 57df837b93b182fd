# %% [markdown] tags=["slide"]
# # Chapter 5 summary: Transformer block variants compared
#
# A Transformer block has four kinds of parts: norms, attention, feed-forward layers, and residual
# connections. The second half of this chapter changed each of them, and what stands between blocks.
# **Which block variants are worth their parameters and FLOPs, and what do our small experiments
# support?**
#
# **What it is.** One table of all **block variants** of 5.14 to 5.18: what each changes, its
# parameters and floating-point operations (**FLOPs**) next to plain blocks, the difference that we
# measured, and what its paper reports.
#
# **What you'll be able to do.** Say what a variant costs before you try it, and which comparison
# would convince you.
#
# <small>Prerequisites: the pages of this chapter · 6 min · data: saved results of 5.14 to 5.18 ·
# book 5.1, tables 1.1 and 1.2</small>

# %% Where each variant changes the block [markdown] tags=["slide"] figure="ch05.block_variant_map"
# ![A pre-norm block: norm, attention, norm, feed-forward layer. Next to each part are the variants
# that change it: RMSNorm and ReZero at the norm; Lite Transformer, RealFormer, Transformer-XL, and
# Memformer at the attention; all-attention and DeLighT at the feed-forward layer; Macaron,
# Sandwich, and DARTS for the order; transparent attention, Universal Transformer, and DeeBERT
# above the block; HIBERT and Hi-Transformer below.](figures/21_closing.svg)
#
# *A pre-norm block, without its residual connections, and the variants at the part they change.*

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
# ## All variants in one table
#
# The costs are counted now, on models of equal sizes. The differences come from the saved runs of
# each page, so they belong to different tasks and can't be compared with each other. An
# **interval** in brackets would contain the true mean difference in 95% of such experiments. If it
# contains 0, the result is **inconclusive**: the data fit both a gain and a loss.

# %% tags=["slide", "nbval-check-output"]
from deepdive_book.ch05.runs import block_variants

differences = block_variants.differences()  # from the saved runs of 5.14 to 5.18
block_variants.variant_table(differences)

# %% [markdown]
# Details of single rows:
#
# - **Macaron and Sandwich** are compared with the median of all 20 orders of three attention and
#   three feed-forward sublayers. The interleaved order can't be distinguished from it either.
# - **DARTS** trains all candidates of every position, so its costs are those of the search. The
#   difference is that at the better of two learning rates of its architecture weights.
# - **Transformer-XL and the Compressive Transformer** are counted with a full memory of 128 states.
# - **ACT and DeeBERT** have no fixed number of layers. Their FLOPs are those of the mean depth in
#   our runs.
# - **RealFormer** needs no more FLOPs than plain attention. The 1.12 is our code's, which computes
#   the product of queries and keys twice.
#
# ## Which differences are supported?
#
# The plot shows the rows that are losses of language models.

# %%
from deepdive_book.kit.plotting import show

show(block_variants.loss_figure(differences))

# %% [markdown]
# **Supported at our size.** ReZero has a lower loss than pre-norm with 24 layers and 150 steps. But
# small branches at initialization can't be distinguished from ReZero, so the learned factor may not
# be the reason. Transformer-XL has a lower loss than the same model without memory, and a sliding
# window reaches that too, at a far higher cost ([recurrence and
# memory](16_recurrence_and_memory.ipynb)). Transparent attention helps a deep post-norm encoder,
# and so does pre-norm, which costs nothing ([connections between
# layers](18_connections_between_layers.ipynb)).
#
# **Against the variant.** The losses of all-attention and of Sandwich are higher than those of what
# they are compared with. Both results are from short trainings of small models.
#
# **Inconclusive.** Macaron, DARTS, RMSNorm, RealFormer, ACT, and DeeBERT. Of these, RMSNorm and
# DeeBERT aim at lower costs, so an equal loss would be their success. Our intervals are too wide to
# show that it's equal.
#
# ## What to use
#
# For a new model, start from pre-norm blocks with RMSNorm, as Llama does ([from GPT-2 to
# Llama](../06a_text/02_gpt2_to_llama.ipynb)). RMSNorm is simpler, and we found no cost. If a deep
# model doesn't train, look at its initialization first, then at ReZero. If the inputs are longer
# than the attention window, cache states as Transformer-XL does: that saves time even where it
# doesn't lower the loss. Early exits are worth a test when a request is processed alone, since a
# batch waits for its slowest text ([adaptive computation](17_adaptive_computation.ipynb)). For the
# other variants, run your own comparison at equal FLOPs, with a tuned learning rate for each arm
# and five seeds.
#
# **What we didn't reproduce.** No result of a paper: all of them need larger models and longer
# trainings than an hour on one small GPU. Memformer and conditional computation are implemented and
# tested here, but not trained.
#
# ## Test yourself
#
# 1. Which variants change neither the parameters nor the FLOPs of a block by more than 1%?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Macaron, Sandwich, RMSNorm, ReZero, all-attention, and transparent attention. RealFormer too,
#    if the scores are computed once.
#
#    </details>
# 2. A paper reports that its block has 20% fewer parameters at the same loss. Which baseline is
#    missing?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A plain model with 20% fewer parameters, narrower or shallower, with its own learning rate. The
#    loss may not depend on these parameters at all.
#
#    </details>
# 3. Why can't you rank the variants by the column of differences?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    They are in different units, on different tasks, and against different baselines. Two variants
#    can be ranked only if they were trained in one experiment.
#
#    </details>
#
# ## Summary
#
# Most block variants cost about as much as plain blocks, and at our size most differences are
# inconclusive. The clear gains (ReZero, transparent attention) are gains over a baseline that
# trains badly, and a simpler change reaches them too. The clearest saving is one of time: cached
# states instead of a window that is encoded again for every token.

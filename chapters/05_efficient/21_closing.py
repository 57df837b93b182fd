# %% [markdown] tags=["slide"]
# # Chapter 5 summary: Transformer block variants compared
#
# A Transformer block has four kinds of parts: norms, attention, feed-forward layers, and residual
# connections. The second half of this chapter changed each of them, and what stands between blocks.
# **Which block variants are worth their parameters and FLOPs, and what do our small experiments
# support?**
#
# **What it is.** One table of all **block variants** of 5.14 to 5.20: what each changes, its
# parameters and floating-point operations (**FLOPs**) next to plain blocks, the difference that we
# measured, and what its paper reports.
#
# **What you'll be able to do.** Say what a variant costs before you try it, and which comparison
# would convince you.
#
# <small>Prerequisites: the pages of this chapter · 6 min · data: saved results of 5.14 to 5.20 ·
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
# The next cell counts the costs on models of one size. The differences come from the saved runs of
# each page. Those models have other sizes and tasks, so two differences can't be compared with each
# other.
#
# - The unit **nats per character** is a language model's loss with the natural logarithm, and
#   **points** are percentage points.
# - The bracket is an **interval**, computed so that in at least 95% of repetitions of a page's
#   experiments all its intervals contain the true mean differences. If it contains 0, the result is
#   **inconclusive**: we can't tell which of the two is better.
# - ACT is **adaptive computation time**, UT the Universal Transformer, and bpc are bits per
#   character.

# %% tags=["slide", "nbval-check-output"]
from deepdive_book.ch05.runs import block_variants

differences = block_variants.differences()  # from the saved runs of 5.14 to 5.20
block_variants.variant_table(differences)

# %% [markdown]
# Notes on single rows:
#
# - **Macaron and Sandwich** are compared with the median of the 20 orders of three attention and
#   three feed-forward sublayers. The usual interleaved order doesn't differ measurably from it.
#   Three pairs are few for Sandwich, whose paper uses far deeper stacks.
# - **DARTS** trains all candidates of every position, so its costs are those of the search, not of
#   the model that it finds. We report the better of two learning rates of its architecture weights,
#   which favors DARTS.
# - **Transformer-XL and the Compressive Transformer** are counted with a full memory of 128 states.
# - **ACT and DeeBERT** have no fixed number of layers. Their FLOPs are those of the mean depth in
#   our runs.
# - **RealFormer** needs no more FLOPs than plain attention. The 1.12 in the table comes from our
#   code, which computes the product of queries and keys twice.
# - **The Funnel Transformer, DeLighT, and Lite Transformer** are counted as on their page, next to
#   4 plain layers, and compared in accuracy with 2 plain layers, which have half of the FLOPs.
# - **HIBERT and Hi-Transformer** have half of their layers for sentences of 16 words and half for
#   the document. HIBERT's interval is over three splits of the data. Over the test reviews, its
#   gain does exclude zero ([hierarchical documents](20_hierarchical_documents.ipynb)).
#
# ## Which differences are supported?
#
# The plot shows the variants that were measured by the loss of a language model.

# %%
from deepdive_book.kit.plotting import show

show(block_variants.loss_figure(differences))

# %% [markdown]
# **Better than the baseline.**
#
# - **ReZero** has a lower loss than pre-norm with 24 layers after 150 steps. Branches that are
#   scaled down at initialization get most of this gain, without a learned factor.
# - **Transformer-XL** has a lower loss than the same model without memory, but at 1.75 times the
#   FLOPs. A sliding window, encoded again for each character, gets a similar gain and takes far
#   longer ([recurrence and memory](16_recurrence_and_memory.ipynb)).
# - The **Compressive Transformer's** trained convolution keeps more than mean pooling does. This is
#   an error of attention, not a loss.
# - **Transparent attention** improves a deep post-norm encoder. Pre-norm does too, at no cost
#   ([connections between layers](18_connections_between_layers.ipynb)).
#
# **Worse than the baseline.** All-attention and Sandwich, in short trainings of small models.
#
# **Inconclusive.** All others: Macaron, DARTS, RMSNorm, ACT, DeeBERT, RealFormer, the three
# lightweight blocks, and both hierarchical encoders. RMSNorm, DeeBERT, and the lightweight blocks
# aim at lower costs, so equal quality would be a success, but our intervals are too wide to show
# it.
#
# ## What to use
#
# For a new model, start from pre-norm blocks with RMSNorm, as Llama does ([from GPT-2 to
# Llama](../06a_text/02_gpt2_to_llama.ipynb)). Our experiment is too imprecise to say whether
# RMSNorm costs anything, but it's simpler and in wide use. If a deep model doesn't train, scale the
# branches down at initialization first, then try ReZero. If inputs are longer than the attention
# window, cache states as Transformer-XL does instead of encoding overlapping windows. An early exit
# as in DeeBERT is worth a test where each request is processed alone, because a batch waits for its
# slowest text ([adaptive computation](17_adaptive_computation.ipynb)). For the other variants, run
# your own comparison: equal FLOPs, a tuned learning rate for each model, and enough seeds for an
# interval that is narrower than the gain you need.
#
# **What we didn't reproduce.** We tried to reproduce no result of a paper, because most of them
# need larger models and longer trainings than one small GPU allows. Memformer and conditional
# computation are implemented and tested here, but not trained.
#
# ## Test yourself
#
# 1. A paper reports that its block has 20% fewer parameters at the same loss. Which baseline is
#    missing?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A plain model with 20% fewer parameters, narrower or shallower, with its own learning rate. The
#    loss may not depend on these parameters at all.
#
#    </details>
# 2. Why can't you rank the variants by the column of differences?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    They are in different units, on different tasks, and against different baselines. Two variants
#    can be ranked only if they were trained in one experiment.
#
#    </details>
# 3. An interval of RMSNorm's loss minus layer normalization's contains 0. Why doesn't this show
#    that RMSNorm is as good?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The interval also contains differences that would matter. To show equality, all of it has to
#    lie within a range that was called negligible before the experiment.
#
#    </details>
#
# ## Summary
#
# Are block variants worth their parameters and FLOPs? About a third of them change neither, so the
# question is only whether they train better. For most of the measured differences, our experiments
# can't tell. The gains of ReZero and transparent attention are those over a baseline that a simpler
# change improves as well. Where a variant saves computation, compare it with a smaller plain model.

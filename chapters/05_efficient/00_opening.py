# %% [markdown] tags=["slide"]
# # Chapter 5: Efficient attention
#
# In self-attention every query is scored against every key, so a text twice as long costs four
# times as much. Dozens of papers on efficient attention claim that most of these scores aren't
# needed. Which scores can be skipped, and what can a model no longer learn without them?
#
# <small>Prerequisites: [what a layer costs](../02_transformer/15_complexity.ipynb) · 2 min · whole
# chapter: 7½ h reading + 3 h exercises · book 5.2, tables 1.2 and 1.3, KAIST deck 3</small>

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
# %% tags=["fold"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

n = 12
pair = [(i, j) for i in range(n) for j in range(n)]
group = [0, 2, 1, 0, 1, 2, 2, 0, 1, 1, 0, 2]
families = {
    "full, in tiles": set(pair),
    "by position": {(i, j) for i, j in pair if abs(i - j) < 2 or 0 in (i, j)},
    "by content": {(i, j) for i, j in pair if group[i] == group[j]},
    "low rank": {(i, j) for i, j in pair if j < 3},
    "memories": {(i, j) for i, j in pair if i < 3 or j < 3},
    "priors": {(i, j) for i, j in pair if (i - j) % 4 == 0 or i == j + 1},
}

# %% tags=["slide", "fold", "nbval-check-output"]
body = []
for place, (name, met) in enumerate(families.items()):
    x, y = 14 + 186 * (place % 3), 28 + 178 * (place // 3)
    body.append(text(x + 72, y - 12, name, 14, bold=True))
    for i, j in pair:
        role = list(ROLES)[group[i]] if name == "by content" and (i, j) in met else "weight"
        body.append(
            f'<rect x="{x + 12 * j}" y="{y + 12 * i}" width="12" height="12" stroke="currentColor" '
            f'fill="{ROLES[role]}" fill-opacity="{0.75 if (i, j) in met else 0.05}" '
            'stroke-opacity="0.2"/>'
        )
show(
    svg(545, 358, body),
    "Six attention matrices of 12 by 12. Full, in tiles; a band and the first column; scattered "
    "groups; three columns; three rows and three columns; fixed diagonals.",
)

# %% [markdown]
# *The attention matrix in six families: a row per query, a column per key, filled where a score is
# computed. **Low-rank**: all keys are compressed to three. **Memory**: a few slots attend to every
# token, and every token attends to them. **Priors**: the pattern is fixed in advance.*
#
# **What it covers.** The **quadratic** cost of attention and six ways to reduce it: exact attention
# in tiles, **sparse attention**, low-rank and kernel methods, memories, head variants, and priors.
# Relative positions, T5, mixture of experts, ByT5, tensor parallelism, the order of sublayers,
# layers without norms or feed-forward parts, memory across segments, adaptive computation time,
# connections between layers, lightweight blocks, and hierarchical encoders of documents complete the
# chapter.
#
# **What you'll be able to do.** Implement each variant, verify at which setting it equals full
# attention, measure its time and memory, test what it can no longer compute, and choose one for a
# given sequence length.
#
# Read 5.1 first; 5.2 to 5.8 are largely independent, and 5.9 compares them in one table. *Linear*,
# *exact in the limit*, and *the same quality* are three different claims, and each is measured.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 5.1 | [The cost of attention](01_cost.ipynb) | Where do time and memory go? | 22 |
# | 5.2 | [Sparse attention by position](02_sparse_by_position.ipynb) | Which pairs can be skipped by position? | 22 |
# | 5.3 | [Sparse attention by content](03_sparse_by_content.ipynb) | Which keys are similar to a query? | 24 |
# | 5.4 | [Low-rank and kernel attention](04_low_rank_and_features.ipynb) | Can attention avoid the full matrix? | 15 |
# | 5.4b | [Nyströmformer, YOSO, FNet](04b_nystrom_yoso_fnet.ipynb) | Can a few landmarks replace all keys? | 12 |
# | 5.5 | [Clustering and memory](05_prototypes_and_memories.ipynb) | How few keys or memory slots are enough? | 35 |
# | 5.6 | [Multi-head variants](06_head_variants.ipynb) | What if heads share or mix information? | 25 |
# | 5.7 | [Attention priors](07_priors.ipynb) | What if scores don't depend on the query? | 25 |
# | 5.8 | [Relative positions](08_relative_positions.ipynb) | How do you encode distance instead of position? | 30 |
# | 5.9 | [Choosing an efficient attention](09_choosing.ipynb) | Which variant should you choose? | 20 |
# | 5.10 | [T5](10_t5.ipynb) | Can one model replace two single-task models? | 25 |
# | 5.11 | [Mixture of experts (Switch Transformer)](11_mixture_of_experts.ipynb) | What do eight experts cost? | 16 |
# | 5.12 | [ByT5](12_byt5.ipynb) | Are bytes more robust to typos? | 15 |
# | 5.13 | [Tensor parallelism, latent attention, and the gated delta rule](13_tensor_parallelism.ipynb) | How often must two devices communicate? | 17 |
# | 5.14 | [Block order and architecture search](14_block_order.ipynb) | Does the order of sublayers matter? | 20 |
# | 5.15 | [RMSNorm, ReZero, and all-attention](15_norms_and_all_attention.ipynb) | Which parts of a layer can go? | 20 |
# | 5.16 | [Transformer-XL and recurrent memory](16_recurrence_and_memory.ipynb) | What do cached segments add? | 20 |
# | 5.17 | [Adaptive computation time](17_adaptive_computation.ipynb) | Do harder inputs get more steps? | 20 |
# | 5.18 | [RealFormer and transparent attention](18_connections_between_layers.ipynb) | Do shortcuts between layers train deep models? | 18 |
# | 5.19 | [Lightweight blocks](19_lightweight_blocks.ipynb) | Is a lightweight layer better than a smaller Transformer? | 20 |
# | 5.20 | [Hierarchical Transformers for documents](20_hierarchical_documents.ipynb) | Should an encoder read whole documents? | 18 |
#
# [Case study 5](../../casestudies/05_spans.ipynb) then tests whether T5's heads that attend to a
# span also find it. In a hurry? Read 5.1, 5.2, and 5.9: the cost, the simplest solution, and the
# choice.
#
# The chapter ends with [exercises](exercises.ipynb) and a [bug clinic](clinic.ipynb).

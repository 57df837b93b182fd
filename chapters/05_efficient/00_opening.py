# %% [markdown] tags=["slide"]
# # Chapter 5: Efficient attention
#
# Every token asks every other: a text of twice the length costs four times as much. Dozens of
# papers say that most of these questions need not be asked. Which of them may be left out, and what
# does a model no longer learn when they are?
#
# <small>Prerequisites: [what a layer costs](../02_transformer/15_complexity.ipynb) · 2 min · whole
# chapter: 5 h reading + 1½ h exercises · book 5.2, tables 1.2 and 1.3, KAIST deck 3</small>

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
    "all, in tiles": set(pair),
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
    "Six grids of 12 by 12 questions. All are asked, in tiles; a band and a cross of the first "
    "token; scattered groups; three columns; three rows and three columns; fixed diagonals.",
)

# %% [markdown]
# *Rows ask, columns answer; filled: the question is asked. Low rank: all keys are first summed up
# into three. Memories: a few slots read everything and answer everybody. Priors: who answers is
# settled before anybody has read.*
#
# Each page takes one family. It shows **which entries of the matrix exist**, or what stands in for
# them; at which setting the form equals plain attention, asserted to rounding; what it costs, on a
# clock; and what it can no longer do. The last page puts all of them into one table and one race.
#
# Nothing here is taken from a paper's abstract. *Linear*, *exact in the limit* and *the same
# quality* are three claims, and each is measured.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 5.1 | [The cost of attention](01_cost.ipynb) | Why so many bytes? | 22 |
# | 5.2 | [Sparse attention by position](02_sparse_by_position.ipynb) | Which pairs may go? | 22 |
# | 5.3 | [Sparse attention by content](03_sparse_by_content.ipynb) | Which keys look alike? | 24 |
# | 5.4 | [Low-rank and kernel attention](04_low_rank_and_features.ipynb) | Sums without a table? | 15 |
# | 5.4b | [Nyströmformer, YOSO, FNet](04b_nystrom_yoso_fnet.ipynb) | Do a few do for all? | 12 |
# | 5.5 | [Clustering and memory](05_prototypes_and_memories.ipynb) | How few rows will do? | 35 |
# | 5.6 | [Multi-head variants](06_head_variants.ipynb) | What if heads talked? | 25 |
# | 5.7 | [Attention priors](07_priors.ipynb) | What if nobody asked? | 25 |
# | 5.8 | [Relative positions](08_relative_positions.ipynb) | How far, and not where? | 30 |
# | 5.9 | [Choosing an efficient attention](09_choosing.ipynb) | Which one do you take? | 20 |
# | 5.10 | [T5](10_t5.ipynb) | One clerk or two? | 18 |
# | 5.11 | [Mixture of experts (Switch Transformer)](11_mixture_of_experts.ipynb) | What do eight cost? | 16 |
# | 5.12 | [ByT5](12_byt5.ipynb) | Who can read misprints? | 15 |
# | 5.13 | [Tensor parallelism, latent attention, and the gated delta rule](13_tensor_parallelism.ipynb) | How often do they talk? | 17 |
#
# Then [case study 5](../../casestudies/05_spans.ipynb) asks whether T5's heads find what they see.
# In a hurry? 5.1, 5.2 and 5.9: the cost, the simplest remedy, and the decision.

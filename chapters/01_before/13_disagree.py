# %% [markdown]
# # Contradictions in the literature: where the sources disagree
#
# One lecture prints 41.8, another 41.0, for the same model on the same test. Which is right, and
# how could you know?
#
# <small>Prerequisites: [positions](../02_transformer/08_positions.ipynb), what a softmax is ·
# optional page · 18 min · runs on a laptop · book 1.2, KAIST lecture 3, Fleuret 13.3,
# Straka</small>

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
# We laid the book, the three lectures and the blog side by side. They disagree more often than one
# would think, in six ways. Each way has a test of its own.

# %% tags=["fold"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.plotting import show

kinds = {
    "another version": "redo the sums",
    "a letter is lost": "look it up",
    "a rounded size": "count",
    "a formula": "try a small case",
    "two drawers": "find the property",
    "a claim": "measure",
}
body = []
for i, (kind, test) in enumerate(kinds.items()):
    x = 66 + 138 * i
    body += [text(x, 16, kind, 14, bold=True), arrow(x, 30, x, 58), text(x, 74, test, 14, "query")]
show(
    svg(820, 90, body),
    "Six kinds of disagreement, each with its test. Another version of the paper: redo the sums. "
    "A lost letter: look it up. A rounded size: count. A formula: try a small case. Two drawers "
    "of a taxonomy: find the property. A claim: measure.",
)

# %% [markdown]
# *Above, why two sources differ; below, what settles it.*
#
# ## 1. Two versions of one paper
#
# | English to French, big model | BLEU |
# |---|---|
# | Fleuret and Straka, their table 2 of *Attention Is All You Need* | 41.8 |
# | KAIST, "Success of Transformer: Machine Translation" | 41.0 |
# | the paper's abstract when it appeared, June 2017 | 41.0 |
# | the paper's abstract today, and its table 2 | 41.8 |
#
# Nobody copied wrongly: the authors changed the number. They did not change it everywhere; a
# version with 41.8 in table 2 kept 41.0 in the text of section 6.1. All else in that table agrees.
#
# BERT's table of results has the same history. Two lectures print it, and differ by 0.2 in the
# last column:

# %%
# MNLI (two test sets), QQP, QNLI, SST-2, CoLA, STS-B, MRPC, RTE; then the printed average
printed = {
    ("BERT large", "KAIST"): ([86.7, 85.9, 72.1, 91.1, 94.9, 60.5, 86.5, 89.3, 70.1], 81.9),
    ("BERT large", "Straka"): ([86.7, 85.9, 72.1, 92.7, 94.9, 60.5, 86.5, 89.3, 70.1], 82.1),
    ("BERT base", "KAIST"): ([84.6, 83.4, 71.2, 90.1, 93.5, 52.1, 85.8, 88.9, 66.4], 79.6),
    ("BERT base", "Straka"): ([84.6, 83.4, 71.2, 90.5, 93.5, 52.1, 85.8, 88.9, 66.4], 79.6),
    ("GPT", "KAIST"): ([82.1, 81.4, 70.3, 88.1, 91.3, 45.4, 80.0, 82.3, 56.0], 75.2),
    ("GPT", "Straka"): ([82.1, 81.4, 70.3, 87.4, 91.3, 45.4, 80.0, 82.3, 56.0], 75.1),
}

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "81.9 for BERT large in one lecture, 82.1 in the other. Add up the nine numbers of both rows "
    "and divide by nine. What do you find?",
    ["KAIST's sum is wrong", "Straka's sum is wrong", "both sums are right"],
    answer=2,
    explain="Each average fits its own row. One column differs, QNLI: two versions of the paper, "
    "each consistent in itself.",
    key="01_before/two-averages",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
for (model, lecture), (scores, average) in printed.items():
    ours = sum(scores) / len(scores)
    print(f"{model:>10}, {lecture:<6}  QNLI {scores[3]}  mean {ours:.2f}  printed {average}")
    assert abs(ours - average) < 0.051  # MNLI counts twice, once a test set
row = printed["BERT large", "Straka"][0]
with_wnli = (sum(row) + 65.1) / 10
# The leaderboard: CoLA, SST-2, MRPC (F1, accuracy), STS-B (two correlations), QQP (F1, accuracy),
# MNLI (two test sets), QNLI, RTE, WNLI
official = [60.5, 94.9, (89.3, 85.4), (87.6, 86.5), (72.1, 89.3), (86.7, 85.9), 92.7, 70.1, 65.1]
score = sum(sum(s) / 2 if isinstance(s, tuple) else s for s in official) / 9
print(f"with WNLI as a tenth number {with_wnli:.2f}, by GLUE's rule {score:.2f}")
assert abs(score - 80.5) < 0.05 < abs(with_wnli - 80.5)

# %% [markdown]
# So a table can be checked with a pencil, and a table that adds up can still be out of date. Only
# QNLI moved (and, by 0.1, in the row of ELMo). The blog's 80.5 for the same model is no third
# version: it is the official GLUE score, which follows another rule. It adds WNLI, counts MNLI
# once, and averages two metrics for MRPC, QQP, and STS-B. WNLI alone doesn't explain it. Straka's
# caption says only that WNLI is left out here.

# %% [markdown]
# ## 2. Letters are lost
#
# | where | what stands | what is meant |
# |---|---|---|
# | book, table 1.1, page 5 | Reformer [107] | RealFormer: [107] is He et al. (2021) |
# | book, bibliography, [107] | *Reformer: Transformer likes ...* | *RealFormer: ...* |
# | book, table 1.2, page 6 | Realformer [107], attention with prior | the same one, rightly |
# | book, bibliography, Wiegrefe and Pinter | *Attention is not explanation* | *... not not ...* |
# | book, page 2 | Linainmaa | Linnainmaa, as in its own bibliography |
# | book, table 1.2; section 5.2.6 | clustered; compressed key-value memory | one family |
# | Straka, "Language Models" | Megatron-Turing NLP | NLG, for generation |
# | Straka, REALM's figure | arXiv 2002.05202 | 2002.08909; the other is on gated layers |
# | Straka, the variations | "Table 4 of *Attention Is All You Need*" | table 3; 4 is on parsing |
#
# Four letters decide here. Kitaev et al. (2020), *Reformer*, hash queries and keys to save memory.
# He et al. (2021), *RealFormer*, add the last layer's scores to this layer's. The book has both,
# and in table 1.1 and its bibliography both have one name.
#
# The lost *not* is worse. Jain and Wallace (2019) argued in *Attention is not Explanation* that it
# is not; Wiegreffe and Pinter (2019) answered with *Attention is not not Explanation*. In the
# book's bibliography the answer has the title of what it answers. The arXiv number beside it,
# 1908.04626, tells which paper is meant; so do its headings 7.4.1 and 7.4.2, where each *not*
# stands.
#
# **Dates** differ, too, and the last of these is no slip:
#
# | where | what stands | beside it |
# |---|---|---|
# | book, bibliography | *Perceptrons*, 2017; McCulloch and Pitts, 1988 | reprints; 1969 and 1943 |
# | KAIST, references | BERT, EMNLP 2019 | book: NAACL 2019, as in the proceedings |
# | Straka | pre-norm "since 2020" | Fleuret cites it from 2019; GPT-2 of that year has it |
# | Straka | ELMo, "at the end of 2017" | submitted in autumn 2017, printed at NAACL 2018 |
#
# ## 3. A size: count it
#
# How large is PaLM? Fleuret says 540 billion parameters, Straka about 580. A model's size follows
# from a handful of numbers in its paper. One layer with an attention and a feed-forward network:
#
# $$4 d^2 + 4 d + 2\, d\, d_\text{ff} + d + d_\text{ff} + 2 \cdot 2 d$$
#
# With $d = 2$ and $d_\text{ff} = 8$, by pencil: $16 + 8 + 32 + 2 + 8 + 8 = 74$.


# %%
def layer(d, attentions=1):
    """Weights of a layer with d_ff = 4 d: projections, feed-forward network, norms; all biases."""
    d_ff = 4 * d
    return attentions * (4 * d * d + 4 * d) + 2 * d * d_ff + d + d_ff + (attentions + 1) * 2 * d


def bart(d, n):  # two stacks of n layers, one table of words, two of places
    return 50265 * d + 2 * 1026 * d + n * (layer(d) + layer(d, attentions=2)) + 4 * d


def palm(d=18432, n=118, heads=48, d_head=256):  # one key and value for all heads; gated; no bias
    attention = 2 * d * heads * d_head + 2 * d * d_head
    return 256_000 * d + n * (attention + 3 * d * 4 * d)


assert layer(2) == 74

# %% [markdown]
# Is the formula itself right? The library can build GPT-2 without memory for its weights, on
# torch's `meta` device, and be counted:

# %% tags=["nbval-check-output"]
import torch

from deepdive.models.transformer.decoder_only import decoder_only


def gpt(d, n, vocab=50257, length=1024):
    return (vocab + length) * d + n * layer(d) + 2 * d


with torch.device("meta"):
    largest = decoder_only(50257, d_model=1600, n_heads=25, n_layers=48, d_ff=6400)
counted = sum(p.numel() for p in largest.parameters())
assert counted == gpt(1600, 48)
print(f"GPT-2, largest: {counted:,}")

# %% tags=["fold"]
predict(
    "PaLM: 118 layers of width 18,432, a vocabulary of 256,000. What will the count be nearest to?",
    ["540 billion", "560 billion", "580 billion"],
    answer=0,
    explain="The paper's name for it is PaLM 540B, and its sizes give that number.",
    key="01_before/palm",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
sizes = {
    "GPT": (gpt(768, 12, 40478, 512), "117M KAIST, ~150M Straka"),
    "GPT-2, largest": (gpt(1600, 48), "1542M KAIST, ~1.5B Straka, 1.5 and 1.6B Fleuret"),
    "BERT large": (31036 * 1024 + 24 * layer(1024) + 1024**2 + 3 * 1024, "340M Straka"),
    "BART base": (bart(768, 6), "~200M Straka"),
    "BART large": (bart(1024, 12), "~200M Straka"),
    "PaLM": (palm(), "540B Fleuret, ~580B Straka"),
}
for model, (count, told) in sizes.items():
    print(f"{model:>14}: {count / 1e6:10,.1f} million; printed: {told}")
assert 540.2e9 < palm() < 540.5e9

# %% [markdown]
# Fleuret's 540 billion for PaLM is right. KAIST's 117 million for GPT is right,
# Straka's 150 is not. No BART has 200 million. Fleuret prints 1.5 and, on the next slide, 1.6
# billion for one model: the first is the authors' round number, the second is nearer the count.
# (OpenAI later wrote that the counts in the GPT-2 paper were wrong.) And a number that all print
# alike, BERT's 340, need not be right: we count 335.

# %% [markdown]
# ## 4. A formula: try a small case
#
# **The cosine's exponent.** KAIST, Straka and the paper give the cosine in column $2i + 1$ the
# speed of its sine, $10000^{-2i/d}$. Fleuret prints $10000^{-(2i+1)/d}$. By pencil, for $d = 4$ at
# place 1, the squared length of the vector:
#
# | | sin 1 | cos | sin 0.01 | cos | sum of squares |
# |---|---|---|---|---|---|
# | the paper | 0.841 | cos 1 = 0.540 | 0.010 | cos 0.01 = 1.000 | 2.000 |
# | Fleuret | 0.841 | cos 0.1 = 0.995 | 0.010 | cos 0.001 = 1.000 | 2.698 |
#
# At place 0 both give 2. So with Fleuret's form the length depends on the place, and no turn can
# lead from one place to the next. How far from a turn is it?

# %%
from deepdive.positions import SinusoidalPosition


def fleuret(places, d):
    column = torch.arange(d, dtype=torch.float64)
    angles = places.double()[:, None] * 10_000.0 ** (-column / d)
    return torch.where(column % 2 == 0, angles.sin(), angles.cos())


places, k = torch.arange(207), 7
for name, table in (
    ("paper, KAIST, Straka", SinusoidalPosition(8).table(places)),
    ("Fleuret", fleuret(places, 8)),
):
    M = torch.linalg.lstsq(table[:-k], table[k:]).solution  # the best PE[p] M = PE[p + 7]
    misses = (table[:-k] @ M - table[k:]).abs().max().item()
    squares = table.pow(2).sum(1)
    print(f"{name:>20}: squared length {squares.min():.2f} to {squares.max():.2f}, "
          f"a matrix for 7 places misses by {misses:.3f}")  # fmt: skip
assert misses > 0.1

# %% [markdown]
# With the paper's form one matrix does it exactly; with Fleuret's none does.
# [Positions](../02_transformer/08_positions.ipynb#if-your-slides-print-another-exponent) says more.
#
# **Which share is kept?** A GRU mixes its old state and a new content. KAIST cites Cho et al.
# (2014) and prints $h_t = (1 - z_t) h_{t-1} + z_t \tilde h_t$. The paper, and PyTorch, have it
# the other way round: $h_t = z_t h_{t-1} + (1 - z_t) \tilde h_t$. Does it matter?

# %%
torch.manual_seed(0)
cell = torch.nn.GRUCell(3, 4).double()  # its rows: reset, update, new
x, h = torch.randn(1, 3).double(), torch.randn(1, 4).double()


def kaist(cell, x, h):
    r, z, n = (x @ cell.weight_ih.T + cell.bias_ih).chunk(3, dim=1)
    r_h, z_h, n_h = (h @ cell.weight_hh.T + cell.bias_hh).chunk(3, dim=1)
    r, z = (r + r_h).sigmoid(), (z + z_h).sigmoid()
    return (1 - z) * h + z * (n + r * n_h).tanh()


with torch.no_grad():
    torchs, same_weights = cell(x, h), kaist(cell, x, h)
    for weight in cell.parameters():
        weight[4:8] *= -1  # the update gate's rows, with the other sign
    other_sign = kaist(cell, x, h)
print(f"same weights: differs by {(torchs - same_weights).abs().max():.2f}")
print(f"update gate negated: differs by {(torchs - other_sign).abs().max():.1e}")
assert (torchs - other_sign).abs().max() < 1e-12 < (torchs - same_weights).abs().max()

# %% [markdown]
# Trained from nothing, the two are the same model: $1 - \sigma(a) = \sigma(-a)$. Loaded weights
# are another matter. KAIST's form isn't a slip: Chung et al. (2014) and Bahdanau et al. (2015,
# appendix A.1.1) print it. The literature has two conventions; only the citation of Cho et al.
# doesn't fit. Three more, for which a look is enough:
#
# - KAIST, GPT: $\log p(\mathbf{x}) = \sum_n p_\theta(x_n \mid x_1, \ldots)$ lacks a $\log$ on the
#   right. Two words with probability one half each: $\ln 0.25 = -1.39$, but $0.5 + 0.5 = 1$.
# - KAIST, seq2seq with attention: $\alpha_{ij}$ compares "inputs around position $i$ and the output
#   position $j$". In Bahdanau et al. (2015) $i$ is the output, $j$ the input; the sum on the same
#   slide, for the context $c_i$, needs it so.
# - KAIST prints the LSTM of "Hochreiter and Schmidhuber, 1997" with a forget gate. The gate is from
#   Gers et al. (2000); before it, the cell only added.
#
# And two sources may both be right at different depths. Fleuret: BERT predicts "[15% of] words
# which have been replaced with a MASK token". Straka: of these 15%, 80% become MASK, 10% another
# word, 10% stay. So 12 words in a hundred become MASK, and 15 are predicted.
#
# ## 5. One model, two places
#
# The book's text puts Linformer with the low-rank approximations (page 7, and section 5.2.7). Its
# table 1.2 (page 6) puts it under clustered key-value memory, and not under low-rank. Which is it?
# Linformer multiplies the $n$ keys and $n$ values by matrices $E$ and $F$ of shape $(k, n)$:

# %% tags=["nbval-check-output"]
n, short, d = 32, 8, 16
q, keys = torch.randn(2, n, d, dtype=torch.float64)
E, F = torch.randn(2, short, n, dtype=torch.float64) / n**0.5
full = (q @ keys.T / d**0.5).softmax(-1)  # (n, n): every key
kept = (q @ (E @ keys).T / d**0.5).softmax(-1)  # (n, 8): a shorter memory
print(f"softmax attention: {n} keys kept, the map of values has rank "
      f"{torch.linalg.matrix_rank(full)}")  # fmt: skip
print(f"Linformer: {kept.shape[1]} keys kept, the map of values has rank "
      f"{torch.linalg.matrix_rank(kept @ F)}")  # fmt: skip
assert torch.linalg.matrix_rank(kept @ F) <= short < torch.linalg.matrix_rank(full)

# %% [markdown]
# Both. It keeps 8 rows in place of 32, which is a compressed memory, and so its map from values to
# outputs has rank 8. A taxonomy sorts by one property; a model has several. The same table lists
# Longformer, Performer and Synthesizer twice each.
#
# ## 6. A claim: do sinusoids extrapolate better?
#
# KAIST, on the sinusoidal encoding: "Compare to learning encoding, it's better for
# extrapolation". The paper is careful: it *may allow* the model to extrapolate. Straka does not
# know why BERT learns its positions instead.
#
# A test: a small causal model of the library reads random tokens, eight kinds, and names at each
# place the token three places back. It is trained on 16 tokens and examined on 32. Only the
# position scheme differs.

# %%
from deepdive.core import Block, FeedForward, LayerNorm, Position, PreNorm
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.stack import Stack
from deepdive.models.transformer.decoder_only import Decoder, DecoderOnly, MultiHeadAttention
from deepdive.positions import LearnedPosition

L, D = 16, 32
schemes = {
    "sinusoidal": lambda: SinusoidalPosition(D),
    "learned, 32 rows": lambda: LearnedPosition(2 * L, D),
    "none": Position,
}


def block(_):
    return Block(MultiHeadAttention(D, 2), FeedForward(D, 2 * D), residual=PreNorm)


def build(position):
    embedding = TokenEmbedding(8, D)
    decoder = Decoder(embedding, position, Stack(block, 2, LayerNorm(D)), 0.0)
    return DecoderOnly(decoder, TiedHead(embedding))


# %%
from torch.nn.functional import cross_entropy

from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.profile import pick

seeds, steps = pick(ci=(1, 200), laptop=(3, 200), gpu=(5, 500))


def batches(seed):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randint(8, (32, L), generator=draw) for _ in range(steps)]


def loss(model, tokens):  # the answer at place t is the token at t - 3
    return cross_entropy(model(tokens)[:, 3:].flatten(0, 1), tokens[:, :-3].flatten())


# %% tags=["fold"]
predict(
    "Trained on places 0 to 15. At places 16 to 31, how often does the model with sinusoids name "
    "the right one of eight tokens?",
    ["nearly always", "about half of the time", "little more often than by chance"],
    answer=2,
    explain="The waves go on beyond 15, but what the model learned to do with them does not.",
    key="01_before/extrapolate",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
right = {name: [] for name in schemes}
exam = torch.randint(8, (500, 2 * L), generator=torch.Generator().manual_seed(99))
for name, scheme in schemes.items():
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = build(scheme())
        plan = cosine(3e-3, warmup=30, total=steps)
        options = {"optimizer": adam(model), "schedule": plan, "progress": False}
        fit(model, batches(seed), loss, steps=steps, **options)
        with torch.no_grad():
            right[name] += [(model(exam)[:, 3:].argmax(-1) == exam[:, :-3]).float().mean(0)]

# %%
print(f"generated tokens, {steps} steps; chance 1/8 = 12.5%; range over {seeds} seed(s)")
for name, curves in right.items():
    inside, beyond = zip(*((c[: L - 3].mean(), c[L - 3 :].mean()) for c in curves), strict=True)
    print(f"{name:>16}: places 3-15 {min(inside):4.0%} to {max(inside):4.0%}, "
          f"16-31 {min(beyond):4.0%} to {max(beyond):4.0%}")  # fmt: skip
    assert max(beyond) < 0.5
    assert name == "none" or min(inside) > 0.8

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.6, 2.8))
axes = figure.add_subplot()
for (name, curves), mark in zip(right.items(), ("-", "--", ":"), strict=True):
    axes.plot(range(3, 2 * L), torch.stack(curves).mean(0), mark, label=name)
axes.axvline(L - 0.5, color="0.5", lw=1)
axes.axhline(1 / 8, color="0.5", lw=1, ls=(0, (1, 3)))
axes.text(L - 0.3, 0.6, "never trained", color="0.4")
axes.set(xlabel="place", ylabel="share right", ylim=(0, 1.05))
axes.legend(loc="upper right")
with_alt(
    figure,
    "Share of right answers by place. Sinusoidal and learned are near 1 up to place 15, then fall "
    "to little above chance, the dotted line at 1/8, at once. Without positions the share is low "
    "at every place.",
)

# %% [markdown]
# *Right of the grey line no place was trained. Both schemes fall at once, to little above chance.*
#
# In this task sinusoids do not extrapolate: with three seeds they come as far as a table with
# untrained rows, and no further. The model without any positions is poor everywhere, and therefore
# loses least. That agrees with
# [2.8](../02_transformer/08_positions.ipynb), where words are reversed, and with Press et al.
# (2022) on language models. What is true in KAIST's sentence: sinusoids *run* at any length, where
# a learned table of 16 rows refuses. To run is not to be right.

# %%
try:
    build(LearnedPosition(L, D))(exam)
except ValueError as error:
    print(error)

# %% [markdown]
# ### Common mistake: checking with another rule
#
# MNLI has two test sets and is one task, so you count it once, and find both lectures wrong:

# %%
for lecture in ("KAIST", "Straka"):
    scores, average = printed["BERT large", lecture]
    once = (sum(scores[:2]) / 2 + sum(scores[2:])) / 8
    print(f"{lecture}: {once:.1f} with MNLI once, printed {average}")
    assert abs(once - average) > 0.5

# %% [markdown]
# **Symptom:** your check fails on every row, by about the same amount. **Fix:** a rule that fits
# no row is not the rule by which the table was made. Try another one before you report an error.
# (Counting MNLI once is the rule of the official GLUE score; this table doesn't follow it.)
#
# ## In practice
#
# - **Cite the version**: arXiv numbers have a v1, v2 ..., and tables change between them.
# - **Add up every table** that you rely on. It takes a minute.
# - **Count parameters on the `meta` device**, and say what is counted: embeddings, tied or not.
# - **Try a formula at $d = 2$ or 4** and at place 0 and 1 before you code it.
# - **Read the verb**: *may allow* in the paper became *is better* on the slide.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Two lectures print different averages for BERT large, and both add up. How is that possible?
#
#    <details><summary>Answer</summary>
#
#    They copy two versions of the paper's table. One column, QNLI, differs.
#
#    </details>
# 2. What gives away which paper the book means by a title without its second *not*?
#
#    <details><summary>Answer</summary>
#
#    Authors and the arXiv number beside it.
#
#    </details>
# 3. Why do KAIST's GRU and PyTorch's learn equally well, though their formulas differ?
#
#    <details><summary>Answer</summary>
#
#    Negate the update gate's weights and one becomes the other. Training finds either.
#
#    </details>
# 4. In which sense is Linformer low-rank, in which a compressed memory?
#
#    <details><summary>Answer</summary>
#
#    It keeps $k$ keys and values in place of $n$; its map from values to outputs then has rank $k$
#    at most. One follows from the other.
#
#    </details>
# 5. What can sinusoids do beyond the trained length that a learned table cannot, and what neither?
#
#    <details><summary>Answer</summary>
#
#    They give a vector for any place, so the model runs. Right answers there had neither.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* Fleuret's form, $d = 4$, place 0: which vector? Which does the paper's
#    give?
#
#    <details><summary>Answer</summary>
#
#    $(0, 1, 0, 1)$, both. The forms differ only away from place 0.
#
#    </details>
# 2. *(on paper, 4 min)* How many layers would PaLM need to have 580 billion parameters? One layer
#    has 4.539 billion, the embeddings 4.72.
#
#    <details><summary>Answer</summary>
#
#    $(580 - 4.72) / 4.539 = 126.7$: some nine more than it has.
#
#    </details>
# 3. *(measure, 10 min)* In part 6, let the answer be the token at the *same* place, no places
#    back. Who extrapolates now, and why?
#
#    <details><summary>Answer</summary>
#
#    No position is needed, since the residual carries the token: change `loss` and the exam. In
#    one run of 300 steps the model without positions and the learned table were right at all
#    places, sinusoids at 85% of those beyond 15. Untrained rows are small and hardly disturb;
#    waves are as large as ever, and turned as the model has never seen them.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
start = torch.tensor([0.0, 1.0, 0.0, 1.0]).double()
assert torch.equal(fleuret(torch.tensor([0]), 4)[0], start)
assert torch.equal(SinusoidalPosition(4).table(torch.tensor([0]))[0], start)
per_layer = (palm() - palm(n=0)) / 118
print(f"layers for 580 billion: {(580e9 - palm(n=0)) / per_layer:.1f}")

# %% [markdown]
# ## Summary
#
# Sources disagree because papers have versions, letters get lost, sizes are rounded, formulas are
# retyped and claims grow stronger on the way. Most of it can be settled in minutes: add up the
# table, count the weights, try the formula at two places. What is left, such as whether sinusoids
# extrapolate, is a measurement, and here it went against the slide.
#
# ## Further reading
#
# - Press, Smith, Lewis (2022), *Train Short, Test Long*, figure 1: the same in language models.
# - Haviv et al. (2022), *Transformer Language Models without Positional Encodings Still Learn
#   Positional Information*: what the causal mask gives away.
# - Lin et al. (2022), *A Survey of Transformers*: the taxonomy that the book's tables follow.
# - Wiegreffe, Pinter (2019), *Attention is not not Explanation*: its title lost a word.

# %% [markdown] tags=["slide"]
# # BERT's architecture: where 110 million parameters sit
#
# BERT base is printed with 110 million parameters, BERT large with 340 million. Where do they sit,
# and does the encoder that we build have as many?
#
# <small>Prerequisites: [what enters a BERT](01_input.ipynb),
# [the encoder](../02_transformer/11_encoder.ipynb),
# [residuals and norms](../02_transformer/09_residuals_norms.ipynb) · 9 min · runs on a laptop ·
# book 3.1</small>

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
# %% tags=["slide", "fold"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import Sublayer, box, layer, text_at, top
from deepdive_book.kit.plotting import show

x, y = 260.0, 340.0
sublayers = [
    Sublayer("self-attention", "query", "12 heads, every token sees every token"),
    Sublayer("feed-forward, GELU", "value", "768 → 3,072 → 768, each token alone"),
]
drawing = [*layer(x, y, sublayers, "× 12"), arrow(x, top(y, sublayers), x, 122)]
drawing += [box(x, 105, "states, 768 wide", "output"), box(x, 362, "sum & norm", "score")]
for i, name in enumerate(("token", "segment", "place")):
    drawing += [box(110 + 150 * i, 430, name, "key", 110), arrow(110 + 150 * i, 412, x, 380)]
drawing.append(text_at(500, 430, "a learned row for each"))
drawing += [arrow(x, 88, 130, 58), arrow(x, 88, 400, 58)]
drawing += [text(130, 42, "gaps: 30,522 scores a token", 14), text(420, 42, "[CLS]: pooler", 14)]
show(
    svg(760, 460, drawing),
    "From bottom to top: a token's, a segment's and a place's row are added and normalised, twelve "
    "layers of self-attention and feed-forward follow, then the states, read by two heads.",
)

# %% [markdown]
# *Read it upwards. Every box below the states is the encoder, and is kept when the training is
# over. The two heads on top are what it was trained with.*
#
# This is the [Transformer's encoder](../02_transformer/11_encoder.ipynb) with four changes:
#
# | | Transformer, encoder | BERT |
# |---|---|---|
# | place of a token | waves, computed | a learned row, 512 of them |
# | which text it belongs to | not said | a learned row, 2 of them |
# | norm on the embeddings | no | yes |
# | activation | ReLU | GELU |
#
# Norms stand *behind* each sum (post-norm), as in 2017.

# %% [markdown]
# ## Count by pencil
#
# A toy: $V = 10$ tokens, $d = 4$ wide, $T = 8$ places, 2 segments, one layer, $d_{ff} = 8$.
#
# - **Embeddings**: $10 + 8 + 2 = 20$ rows of 4 numbers are 80. The norm has a gain and a shift for
#   each dimension, 8. Together 88.
# - **Attention**: four maps of $4 \times 4$, each with 4 biases: $4 \cdot 20 = 80$. Heads only cut
#   these maps up, so their number does not enter. Its norm: 8.
# - **Feed-forward**: $4 \cdot 8 + 8 = 40$ and $8 \cdot 4 + 4 = 36$. Its norm: 8.
#
# The layer has $80 + 8 + 76 + 8 = 172$, the encoder $88 + 172 = 260$. The same in letters, with $L$
# layers:
#
# $$P = (V + T + 2 + 2)\, d + L\, \big(4 (d^2 + d) + 2\, d\, d_{ff} + d_{ff} + d + 4\, d\big)$$

# %% tags=["nbval-check-output"]
import torch

from deepdive.models.bert.bert import bert


def formula(V, d, L, d_ff, T=512):
    embeddings = (V + T + 2 + 2) * d
    return embeddings + L * (4 * (d * d + d) + 2 * d * d_ff + d_ff + d + 4 * d)


def count(module):
    return sum(p.numel() for p in module.parameters())


toy = bert(vocab_size=10, d_model=4, n_heads=2, n_layers=1, d_ff=8, max_length=8)
assert count(toy) == formula(10, 4, 1, 8, T=8) == 260
assert count(toy.embeddings) == 88
assert count(toy.stack) == 172
f"toy: {count(toy)} parameters"

# %% [markdown]
# ## The printed sizes
#
# Now the published ones, counted in our modules. On torch's device `meta` a module has shapes and
# no memory, so even the large one is built at once.

# %%
from deepdive.models.bert import bert as berts
from deepdive.models.bert.pretraining import for_pretraining

with torch.device("meta"):
    sizes = {"base": bert(), "large": bert(berts.LARGE), "multilingual": bert(berts.MULTILINGUAL)}
    trained = {name: count(for_pretraining(model)) for name, model in sizes.items()}
for name, model in sizes.items():
    encoder, d = count(model), model.embeddings.tokens.d_model
    print(f"{name:>12}: encoder {encoder / 1e6:6.2f} M", end=", ")
    print(f"with pooler {(encoder + d * d + d) / 1e6:6.2f}", end=", ")
    print(f"with both heads {trained[name] / 1e6:6.2f}")
assert count(sizes["base"]) == formula(30_522, 768, 12, 3072) == 108_891_648
assert count(sizes["large"]) == formula(30_522, 1024, 24, 4096)

# %% [markdown]
# **Base** is printed as 110 million: true to the million once its heads are on. **Large** is
# printed as 340, and has 335 with its pooler and 336 with all heads. No form of it has 340. The
# multilingual model has the same layers as base; all that it has more is vocabulary.

# %% [markdown]
# ## Where they sit

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Of base's 109 million, which part holds most?",
    ["the embedding of 30,522 tokens", "attention, all layers", "feed-forward, all layers"],
    answer=2,
    explain="A layer's feed-forward has 8 d^2 weights, its attention 4 d^2. Over all layers that "
    "is 52% of base against 26%; the embedding has 22%.",
    key="03_bert/where-they-sit",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from deepdive.published.pretrained import minilm

with torch.device("meta"):
    sizes["MiniLM"] = bert(d_model=384, n_layers=6, d_ff=1536)
parts = {}
for name, model in sizes.items():
    blocks = model.stack.blocks
    parts[name] = {
        "embeddings": count(model.embeddings),
        "attention": sum(count(block.attn) for block in blocks),
        "feed-forward": sum(count(block.ff) for block in blocks),
    }
    total = count(model)
    print(f"{name:>12}", *(f"{part} {n / total:.0%}" for part, n in parts[name].items()), sep="  ")
assert parts["base"]["feed-forward"] > parts["base"]["attention"] + parts["base"]["embeddings"]

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7.2, 2.6))
axes = figure.add_subplot()
names = ["MiniLM", "base", "multilingual", "large"]
left = [0.0] * len(names)
for part in ("embeddings", "attention", "feed-forward"):
    widths = [parts[name][part] / 1e6 for name in names]
    axes.barh(names, widths, left=left, label=part)
    left = [a + b for a, b in zip(left, widths, strict=True)]
axes.set(xlabel="millions of parameters")
axes.invert_yaxis()
axes.legend(loc="upper right")
with_alt(
    figure,
    "One bar a model, cut in three. MiniLM is half embeddings, base half feed-forward, the "
    "multilingual model half embeddings, large 60% feed-forward.",
)

# %% [markdown]
# *The wider and deeper a model, the less its vocabulary weighs: a layer grows with $d^2$, the
# embedding with $d$.* In small and in multilingual models half of the parameters are a table, of
# which a sentence reads a few rows. This is where [ALBERT](10_albert_distilbert.ipynb) saves first.

# %% [markdown] tags=["slide"]
# ## The whole encoder
#
# In code it is short. First a layer, in the two lines of the
# [residuals](../02_transformer/09_residuals_norms.ipynb), then the rest. The weights come from a
# library model, so that we can compare.


# %%
import torch.nn.functional as F


def attention(block, x, mask):
    q, k, v = (F.linear(x, w, b) for w, b in zip(*qkv(block.attn), strict=True))
    q, k, v = (rows.unflatten(-1, (block.attn.n_heads, -1)).transpose(1, 2) for rows in (q, k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5  # (B, H, T, T)
    weights = scores.masked_fill(~mask[:, None, None], -torch.inf).softmax(-1)
    return block.attn.out((weights @ v).transpose(1, 2).flatten(2))

# %%
def qkv(attn):
    """Weights and biases of queries, keys, values; the library keeps the last two in one."""
    pairs = [torch.cat((attn.q.weight, attn.kv.weight)), torch.cat((attn.q.bias, attn.kv.bias))]
    return [pair.chunk(3) for pair in pairs]


def encode(model, tokens, mask, segments):
    e = model.embeddings
    places = torch.arange(tokens.shape[1])
    x = e.tokens.weight[tokens] + e.segments.weight[segments] + e.position.table.weight[places]
    x = e.norm(x)
    for block in model.stack.blocks:
        x = block.attn_residual.norm(x + attention(block, x, mask))
        x = block.ff_residual.norm(x + block.ff.out(F.gelu(block.ff.inner(x))))
    return x


# %% [markdown]
# **Check.** The same states as the library's to $10^{-6}$, with padding in one row and a second
# text in the other:

# %%
torch.manual_seed(0)
model = bert(berts.TINY).eval()
tokens = torch.randint(4, 32, (2, 7))
mask = torch.tensor([[1] * 7, [1, 1, 1, 1, 0, 0, 0]]).bool()
segments = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0] * 7])
with torch.no_grad():
    ours, library = (f(tokens, mask, segments) for f in (lambda *a: encode(model, *a), model))
assert (ours - library)[mask].abs().max() < 1e-6
print("by hand = library:", tuple(ours.shape))

# %% [markdown]
# ## Three forms of one function
#
# GELU is $x\,\Phi(x)$, where $\Phi(x)$ is the chance that a normal random number lies below $x$
# (see [feed-forward](../02_transformer/10_feed_forward.ipynb)). Two approximations are in use:
#
# $$\tfrac12 x \left(1 + \tanh\left(\sqrt{2 / \pi}\,(x + 0.044715\, x^3)\right)\right)
# \qquad x \cdot \sigma(1.702\, x)$$
#
# At $x = 1$ they give 0.8413, 0.8412 and 0.8458. How far apart can they be?

# %%
from deepdive.core import gelu, gelu_sigmoid, gelu_tanh

forms = {"exact": gelu, "tanh": gelu_tanh, "sigmoid": gelu_sigmoid}
x = torch.linspace(-6, 6, 12_001, dtype=torch.float64)
for name, form in forms.items():
    error = (form(x) - gelu(x)).abs()
    where = x[error.argmax()]
    print(f"{name:>8}: at 1 {form(x[7000]):.4f}, furthest {error.max():.5f} at {where:+.2f}")
errors = [(form(x) - gelu(x)).abs().max().item() for form in forms.values()]
assert errors[0] == 0
assert 4e-4 < errors[1] < 5e-4 < 0.02 < errors[2] < 0.021

# %% [markdown]
# BERT was released with the exact form; its code, like ALBERT's, later had the tanh form. A
# checkpoint's `config.json` says which it wants, `gelu` or `gelu_new`. What happens if it is not
# obeyed? Take a real model, MiniLM: a BERT of six layers whose mean state stands for a sentence
# (the [page on weights](06_weights.ipynb) loads it step by step). Give it each form in turn.

# %%
from deepdive.published.pretrained import minilm_tokenizer

TEXTS = [
    "A man is playing a guitar.", "Somebody plays an instrument.", "The stock market fell today.",
    "Shares lost value this morning.", "How do I bake bread?", "A recipe for a loaf.",
    "The cat sleeps on the sofa.", "It will rain tomorrow.",
]  # fmt: skip
from deepdive.published import load

tokenizer, encoder = minilm_tokenizer(), load(minilm())
rows = [torch.tensor(tokenizer.encode(text, bos=True, eos=True)) for text in TEXTS]
tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
mask = tokens != tokenizer.pad


@torch.no_grad()
def embed():
    states = encoder(tokens, mask) * mask.unsqueeze(-1)
    return F.normalize(states.sum(1) / mask.sum(1, keepdim=True), dim=-1)


# %%
embedded = {}
for name, form in forms.items():
    for block in encoder.stack.blocks:
        block.ff.activation = form
    embedded[name] = embed()
    cosine = (embedded[name] * embedded["exact"]).sum(-1).min()
    similarity = embedded[name] @ embedded[name].T
    moved = (similarity - embedded["exact"] @ embedded["exact"].T).abs().max()
    print(f"{name:>8}: cosine to the exact {cosine:.5f}, a similarity moves by {moved:.5f}")
for block in encoder.stack.blocks:
    block.ff.activation = gelu
nearest = {name: (e @ e.T - 2 * torch.eye(8)).argmax(1).tolist() for name, e in embedded.items()}
assert (embedded["tanh"] - embedded["exact"]).abs().max() < 1e-3

# %%
for i in (0, 2, 4, 6):
    found = [TEXTS[nearest[name][i]] for name in forms]
    print(TEXTS[i], "→", found[0], "(all three)" if len(set(found)) == 1 else found[1:])
assert nearest["tanh"] == nearest["exact"] == nearest["sigmoid"]

# %% [markdown]
# *For each form: the lowest cosine of a sentence to itself under the exact form, and how far the
# similarity of any two sentences moves at most; then the nearest sentence under each form.*
#
# The tanh form moves a similarity in its fourth digit, the sigmoid form in its second. Neither
# changes a neighbor here. That is what makes the mistake so hard to find: nothing breaks. Only a
# comparison with the reference, number by number, shows it.

# %% [markdown]
# ### Common mistake: the norm in the other place
#
# Post-norm and pre-norm have *the same parameters*. So BERT's weights load into a pre-norm encoder
# without a complaint: no name is missing, no shape differs.

# %%
from deepdive.core import PreNorm

right = embed()
for block in encoder.stack.blocks:
    for joint in ("attn_residual", "ff_residual"):
        wrong = PreNorm(384)
        wrong.norm = getattr(block, joint).norm  # the very same weights
        setattr(block, joint, wrong)
cosine = (embed() * right).sum(-1)
print("cosine of wrong and right embeddings:", *(f"{c:.2f}" for c in cosine))
similar = embed() @ embed().T
print(f"guitar and instrument: {similar[0, 1]:.2f}, guitar and stock market: {similar[0, 2]:.2f}")
print(f"before: {(right[0] @ right[1]).item():.2f} and {(right[0] @ right[2]).item():.2f}")
assert cosine.max() < 0.9

# %% [markdown]
# **Symptom:** everything runs, and the embeddings are noise. Fine-tuning can hide it: the loss
# falls from a bad start, too.
#
# **Fix:** the placement belongs to the checkpoint, as its vocabulary does. **Test:** compare the
# states of one sentence with the reference before anything is trained.

# %% [markdown]
# ## In practice
#
# - **Count before you train.** Weights, gradients and Adam's two moments are four numbers a
#   parameter: 16 bytes, 1.8 GB for base, before the first activation.
# - **Width in a layer costs twice**: $d^2$. Depth costs once.
# - **512 places are an end.** The table has no row 513: shorten, cut into pieces, or take a model
#   whose positions are computed.
# - **Read `config.json`**: `hidden_act`, `layer_norm_eps` ($10^{-12}$ in BERT) and
#   `position_embedding_type` change the numbers and raise no error elsewhere. Here `from_config`
#   refuses what it does not build.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Twelve heads of 64 or six of 128: which has more parameters?
#
#    <details><summary>Answer</summary>
#
#    Neither: heads cut the same four maps of $768 \times 768$ into pieces.
#
#    </details>
# 2. The toy gets a second layer. How many parameters has it?
#
#    <details><summary>Answer</summary>
#
#    $260 + 172 = 432$.
#
#    </details>
# 3. Why has the multilingual model more parameters than base, though its layers are the same?
#
#    <details><summary>Answer</summary>
#
#    Its vocabulary has 119,547 pieces in place of 30,522: 89,025 more rows of 768 are 68 million.
#
#    </details>
# 4. Which two forms of GELU are closer, and by how much do they differ at most?
#
#    <details><summary>Answer</summary>
#
#    The exact and the tanh form: less than 0.0005. The sigmoid form errs by 0.02.
#
#    </details>
# 5. Why does no error appear when post-norm weights are loaded into a pre-norm model?
#
#    <details><summary>Answer</summary>
#
#    Both have one norm a sublayer, of the same shape: the names and shapes fit. Where the norm
#    stands is in the code, not in the weights.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* An encoder has $V = 100$ pieces, $d = 8$, 16 places, 2 segments, one layer,
#    $d_{ff} = 16$. How many numbers does it hold?
#
#    <details><summary>Answer</summary>
#
#    $(100 + 16 + 2 + 2) \cdot 8 = 960$ with the norm; attention $4 (64 + 8) = 288$, feed-forward
#    $128 + 16 + 128 + 8 = 280$, two norms 32. Together 1,560.
#
#    </details>
# 2. *(derive, 4 min)* At which width $d$ do the layers of a BERT with $n$ layers hold as much as
#    a table of $V$ pieces? Leave biases and norms out.
#
#    <details><summary>Answer</summary>
#
#    A layer has $12 d^2$, the table $V d$: at $d = V / (12 n)$. For $V = 30{,}522$ and 12 layers
#    that is 212; base, 768 wide, is far beyond it.
#
#    </details>
# 3. *(predict, 3 min)* BERT base gets 16 heads in place of 12. How many numbers more?
#
#    <details><summary>Answer</summary>
#
#    None: the heads share the width. Each is 48 wide in place of 64.
#
#    </details>

# %% [markdown]
# ## Summary
#
# BERT is a post-norm encoder with learned places, two segments and GELU: 108.9 million parameters
# in base, 110 with its heads, and 335, not 340, in large with its pooler. Half of base is
# feed-forward, a fifth vocabulary; in small and multilingual models half is vocabulary. What the
# weights do not say, the form of GELU, the epsilon, the place of the norm, must be taken from the
# checkpoint's own code, and is proved by equal numbers.
#
# ## Further reading
#
# - Devlin et al. (2019), *BERT*: section 3, with the printed sizes in "Model Architecture".
# - Hendrycks and Gimpel (2016), *Gaussian Error Linear Units*: section 2 has all three forms.

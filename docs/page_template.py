# %% [markdown] tags=["slide"]
# # RMSNorm: normalization without the mean
#
# (The scene is optional: at most 60 words with the standard name, ending in the question.) Layer
# normalization brings each vector to one mean and one scale. **RMSNorm** fixes only the scale. For
# which vectors does that make a difference?
#
# **What it is.** RMSNorm ([Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467)) divides a
# vector by its root mean square and multiplies it by learned weights. Unlike **layer
# normalization** it doesn't subtract the mean and has no bias.
#
# **What you'll be able to do.** Compute RMSNorm by hand, implement it in four lines, and say for
# which vectors it differs from layer normalization.
#
# <details><summary><b>Short answer</b></summary>
#
# For Gaussian vectors of width 512 with mean zero the two differ by 3.5%; with a mean as large as
# the standard deviation, by 77% (1,000 vectors, one seed).
#
# </details>
#
# <small>Prerequisites: [residual connections](10_residuals.ipynb) · 10 min · runs on a laptop ·
# book 2.3</small>

# %% Where the norms are [markdown] tags=["slide"] figure="ch06a.gpt2_to_llama:gpt2_and_llama"
# ![Two decoder blocks. GPT-2 has layer normalization before attention and before the feed-forward
# layer; Llama has RMSNorm in both places.](figures/page_template.svg)
#
# *The canonical figure comes first, before setup and code. `figure` in the line above names a
# function of the book package that returns SVG, and `make notebooks` writes the file.*

# %% tags=["setup"]
# `python -m deepdive_book.site.pages setup` writes this cell; it is the same on every page.

# %% Draw both steps tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6, 2.2))
for axes, name, values in zip(figure.subplots(1, 3, sharey=True), ("x", "LayerNorm", "RMSNorm"),
                              ([1, 7], [-1, 1], [0.2, 1.4]), strict=True):  # fmt: skip
    axes.bar(["$x_1$", "$x_2$"], values)
    axes.set_title(name)
with_alt(figure, "The vector (1, 7); layer normalization makes it (-1, 1), RMSNorm (0.2, 1.4).")

# %% [markdown]
# *A plot that needs data or code comes after setup: the vector (1, 7), and what both norms make of
# it. An interactive figure would follow here, built with `deepdive_book.kit.living`:*
#
# *Try this:*
#
# 1. Imperative, with one observable result.
# 2. Another.
# 3. And a third.
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. The observable result, with its number.
#
# </details>
#
# ## By hand: a vector of two numbers
#
# | step | value |
# |---|---|
# | $x$ | $(1, 7)$ |
# | mean of the squares | $(1 + 49) / 2 = 25$ |
# | root mean square | 5 |
# | $x$ divided by it | $(0.2, 1.4)$ |
#
# ## In code

# %% tags=["concept"]
import torch
from torch import nn


class RMSNorm(nn.Module):
    """x / rms(x) * weight. Zhang and Sennrich 2019, equation 4."""

    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d_model)), eps

    def forward(self, x):  # (..., d_model)
        mean_square = x.pow(2).mean(-1, keepdim=True)  # (..., 1)
        return self.weight * x * torch.rsqrt(mean_square + self.eps)  # (..., d_model)


# %% tags=["nbval-check-output"]
print(RMSNorm(2)(torch.tensor([1.0, 7.0])))

# %% tags=["equals-library"]
from deepdive.core import norms

x = torch.randn(3, 8, requires_grad=True)
ours, library = RMSNorm(8)(x), norms.RMSNorm(8, eps=1e-6)(x)
assert torch.allclose(ours, library, atol=1e-6)
gradients = [torch.autograd.grad(y.pow(3).sum(), x)[0] for y in (ours, library)]
assert torch.allclose(*gradients, atol=1e-5)

# %% [markdown]
# ## Experiments
#
# ### 1. When do the two norms differ?
#
# Vectors of 512 Gaussian numbers with standard deviation 1, and a mean that we choose. The
# difference is the length of LayerNorm's output minus RMSNorm's, divided by the length of the
# latter.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The mean is as large as the standard deviation. How large is the difference?",
    ["below 10%", "about 25%", "above 50%"],
    answer=2,
    explain="RMSNorm keeps the mean as a constant in every component.",
    key="template/norms",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise", "nbval-check-output"]
from deepdive_book.kit.tables import table

generator = torch.Generator().manual_seed(0)
rows = []
for mean in (0.0, 0.1, 1.0):
    x = torch.randn(1000, 512, generator=generator) + mean
    layer, rms = nn.functional.layer_norm(x, (512,)), RMSNorm(512)(x)
    difference = ((layer - rms).norm(dim=-1) / rms.norm(dim=-1)).mean()
    rows.append({"mean": mean, "difference": f"{difference.item():.1%}"})
table(rows, caption="mean over 1,000 vectors, one seed")

# %% [markdown]
# One paragraph per result: what the table says, its interval, and what it doesn't say. At most
# three experiments; main tables have at most eight rows.
#
# ## With the real library

# %% tags=["nbval-check-output"]
theirs = nn.RMSNorm(512, eps=1e-6)
print("equal:", torch.allclose(theirs(x), RMSNorm(512)(x), atol=1e-6))

# %% [markdown]
# ## How it differs
#
# | | layer normalization | RMSNorm |
# |---|---|---|
# | subtracts the mean | yes | no |
# | parameters | $2 d$ | $d$ |
#
# ## Common mistake: the epsilon of another library
#
# **Symptom:** outputs differ in the fifth digit from a published model. **Fix:** read `eps` from
# the model's configuration.
#
# ## In practice
#
# - **Use it with pre-norm**: most decoders since Llama do.
#
# ## Summary
#
# The opening question, answered with the number and its interval; the paper's number next to ours;
# what was not reproduced.
#
# ## Check your understanding
#
# 1. What does RMSNorm do to a vector twice as long?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    It gives the same output: numerator and denominator double.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* RMSNorm of $(3, 4, 0, 0)$?
#
#    <details><summary>Answer</summary>
#
#    The mean square is $25/4$, the root 2.5, so $(1.2, 1.6, 0, 0)$.
#
#    </details>
#
# ## Further reading
#
# - Zhang and Sennrich (2019), [*Root Mean Square Layer
#   Normalization*](https://arxiv.org/abs/1910.07467).

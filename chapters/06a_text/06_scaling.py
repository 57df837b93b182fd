# %% [markdown] tags=["slide"]
# # Scaling laws: how large a model, how much data?
#
# A large language model is usually too expensive to train twice, so its size has to be chosen in
# advance. With a fixed compute budget, twice the parameters mean half the tokens. A **scaling
# law**, fitted to many small training runs, predicts the loss of a large run. How should you split
# the budget between model size and data?
#
# **What it is.** A scaling law is a formula for a model's loss as a function of its number of
# parameters $N$ and training tokens $D$ ([Kaplan et al. 2020](https://arxiv.org/abs/2001.08361);
# [Hoffmann et al. 2022](https://arxiv.org/abs/2203.15556), who trained *Chinchilla*). In Hoffmann
# et al.'s law, the loss is a constant plus two **power laws**, $A / N^\alpha$ and $B / D^\beta$.
# Training takes about $6ND$ floating-point operations (**FLOPs**), so with a fixed **compute
# budget** of $C \approx 6ND$, a larger $N$ means a smaller $D$. The first term then falls while the
# second rises, and the loss has a single minimum, at the **compute-optimal** $N$ and $D$.
#
# **What you'll be able to do.** Compute the optimal size and data for a budget, fit a scaling law
# to runs and report its exponent with an interval, compare your plan with Chinchilla's 20 tokens
# per parameter, and recognize where an extrapolation can't be trusted.
#
# <details><summary><b>Short answer</b></summary>
#
# Runs as small as ours (4 thousand to 151 thousand parameters, three seeds) don't settle the
# question. Their compute-optimal size grows as $C^a$ with $a = 0.77$ (95% confidence interval: 0.51
# to 1.03). This interval contains Kaplan et al.'s 0.73 and narrowly excludes Hoffmann et al.'s
# 0.50. However, other estimates from the same runs range from 0.57 to 0.86, and three of their
# intervals contain 0.50. For a real run, scale size and data in equal proportion, at about 20
# tokens per parameter, and use more tokens if many people will use the model.
#
# </details>
#
# <small>Prerequisites: [say what comes next](01_gpt.ipynb),
# [today's decoder](02_gpt2_to_llama.ipynb) · 25 min · runs on a laptop; results of the long runs
# are included · book 6.1.3</small>

# %% The scaling law [markdown] tags=["slide"] figure="ch06a.isoflop_law"
# ![Three U-shaped curves of loss over parameters, for budgets of 10^19, 10^21, and 10^23 FLOPs. A
# larger budget gives a lower curve farther to the right. Rings mark the lowest point of each curve,
# and a dashed line connects them.](figures/06_scaling.svg)
#
# *Hoffmann et al.'s scaling law (2022, third approach) as three **IsoFLOP curves**, one for each
# compute budget $C$. On the left of a ring the model is too small, and on the right of it the
# tokens are too few. Along the dashed line the compute-optimal size grows with the budget.*

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

# %% Load the runs and draw them tags=["fold"]
from deepdive.evaluate.scaling import Chinchilla, fitted
from deepdive_book.ch06a.figures.isoflop_curve import isoflop_curve
from deepdive_book.ch06a.figures.scaling_curves import scaling_curves
from deepdive_book.ch06a.runs import scaling
from deepdive_book.kit.experiments import results_path
from deepdive_book.kit.profile import pick, profile
from deepdive_book.kit.tables import table

file = results_path("06a_text", "scaling")
if profile() == "experiment":
    scaling.Experiment(scaling.corpus(), file).run()  # goes on from the rows that are saved
rows, real = scaling.measured(file)
runs = scaling.runs_of(rows["grid"])
law = fitted(Chinchilla, runs, draws=pick(ci=20, laptop=200, gpu=200))
scaling_curves(law.law, runs)

# %% [markdown]
# *Left: loss of five model sizes on held-out text. Each dot is one measured loss (15 runs, four
# losses each). The lines are Hoffmann et al.'s law, fitted to all runs, which is too low for the
# smallest size at the most tokens. Right: the same fit along three compute budgets. Rings mark the
# compute-optimal sizes.*
#
# In our runs, each token is one character. The **held-out loss** is the mean cross-entropy per
# character, in **nats** (natural logarithm), on documents that the model wasn't trained on. On the
# left, more tokens lower the loss of every model, and in the end larger models are better.
#
# On the right, a larger model isn't always better, because all models along an IsoFLOP curve
# have the same budget. Left of the ring, the model is too small, whereas right of the ring, it sees
# too few tokens. A larger budget moves the ring to a larger model. In the next figure, you can set
# the budget yourself:

# %% Build the interactive figure tags=["fold"]
pairs = [(run.n, d, loss) for run in runs for d, loss in zip(run.d, run.loss, strict=True)]
isoflop_curve(law.law, pairs, budget=12, size=6)

# %% [markdown]
# *Try this:*
#
# 1. Leave the budget at 1.0e12 FLOPs, and move your model to about a tenth of the compute-optimal
#    size, then to about ten times that size. Which of the two costs more loss?
# 2. Raise the budget by a factor of 10. By what factor does the compute-optimal size grow?
# 3. Move the budget to 1.0e14. Why is the whole curve near the ring dashed?
#
# <details><summary>What you should see: open after you try</summary>
#
# 1. The model that is too large costs more here: with 560,000 parameters the loss is 0.262 above
#    the lowest one, whereas with 5,600 parameters it is 0.128 above.
# 2. The size grows by a factor of about 7, from 54,000 to 390,000 parameters, but the number of
#    characters grows only from 3.1 to 4.3 million. (The figure shows the fit to all runs, whereas
#    our result in experiment 1 averages separate fits per seed and gives 5.9.)
# 3. The curve is dashed because no run had such a size. Experiment 1 shows how uncertain the law
#    is.
#
# </details>
#
# ## By hand: a budget of 4,096
#
# Suppose the loss of a model with $N$ parameters that is trained on $D$ tokens is
#
# $$L(N, D) = 1 + \frac{4}{\sqrt N} + \frac{4}{\sqrt D},$$
#
# and the budget allows $N \cdot D = 4096$. The table compares four models that use up this budget:
#
# | parameters $N$ | tokens $D$ | $4/\sqrt N$ | $4/\sqrt D$ | loss |
# |---|---|---|---|---|
# | 4 | 1024 | 2 | 1/8 | 3 1/8 |
# | 16 | 256 | 1 | 1/4 | 2 1/4 |
# | 64 | 64 | 1/2 | 1/2 | **2** |
# | 256 | 16 | 1/4 | 1 | 2 1/4 |
#
# A larger model lowers the first term but raises the second, because it sees fewer tokens. In this
# example the two exponents are equal, so the loss is lowest where the two terms are equal. With 16
# times the budget, $N \cdot D = 65536$, the optimum is at $N = D = 256$, so both size and data have
# grown by a factor of 4, the square root of 16.
#
# In general, if the terms are $A / N^\alpha$ and $B / D^\beta$, the optimal size grows as $C^a$ and
# the optimal number of tokens as $C^{1-a}$, where
#
# $$a = \frac{\beta}{\alpha + \beta}.$$
#
# In words, $a$ is the data exponent divided by the sum of both exponents. If the data term falls
# faster ($\beta > \alpha$), a little more data removes much of this term, so more of any extra
# compute goes to the model. The question of how to split a budget therefore comes down to two
# exponents, which must be measured.
#
# ## In code: the law, its fit, and the optimum
#
# No model can predict every token with certainty, so Hoffmann et al.'s law begins with the
# **irreducible loss** $E$, a floor below which no loss can fall. To this floor the law adds one
# power law for the size and one for the data:
#
# $$L(N, D) = E + \frac{A}{N^\alpha} + \frac{B}{D^\beta}.$$
#
# The five parameters are fitted by minimizing the **Huber loss** between the logarithms of the
# predicted and the measured loss. Because the Huber loss is quadratic for small errors but linear
# for large ones, a failed run has less influence than with squared errors. The search for the
# minimum starts from several points and must run to the end, because an early stop biased a
# published fit, as you'll see below. In the code, `N`, `D`, and `loss` contain one value for each
# measured loss.

# %% tags=["concept"]
import itertools

import torch
from scipy.optimize import minimize


def scaling_law(N, D, E, A, B, alpha, beta):
    """Loss of N parameters trained on D tokens. Hoffmann et al. 2022, equation 2."""
    return E + A / N**alpha + B / D**beta


def fit_scaling_law(N, D, loss, delta=1e-3):
    """Fit E, A, B, alpha, beta to runs: N, D, and loss are tensors of shape (runs,)."""
    log_N, log_D, log_loss = N.log(), D.log(), loss.log()

    def objective(values):
        e, a, b, alpha, beta = theta = torch.tensor(values, requires_grad=True)  # logs of E, A, B
        terms = [e.expand_as(log_N), a - alpha * log_N, b - beta * log_D]
        predicted = torch.stack(terms).logsumexp(0)  # (3, runs) -> (runs,): log of the sum
        error = torch.nn.functional.huber_loss(predicted, log_loss, reduction="sum", delta=delta)
        gradient = torch.autograd.grad(error, theta)[0].numpy()
        return error.item() / delta**2, gradient / delta**2  # scaled, or the search stops early

    starts = itertools.product([0.0], [0.0, 5.0, 10.0], [0.0, 5.0, 10.0], [0.1, 0.5], [0.1, 0.5])
    fits = [minimize(objective, start, jac=True, method="L-BFGS-B") for start in starts]
    e, a, b, alpha, beta = torch.tensor(min(fits, key=lambda fit: fit.fun).x)
    return e.exp(), a.exp(), b.exp(), alpha, beta


def compute_optimal(C, E, A, B, alpha, beta):
    """The N and D with the lowest loss among those with 6 N D = C FLOPs."""
    ratio = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    N = ratio * (C / 6) ** (beta / (alpha + beta))
    return N, C / (6 * N)

# %% [markdown]
# As a test, `compute_optimal` should return the optimum of the example by hand ($6 \cdot 4096$
# FLOPs, because $C = 6ND$), and `fit_scaling_law` should recover a law from 16 losses that this law
# generated:

# %% tags=["nbval-check-output"]
print("N, D =", compute_optimal(6 * 4096, 1, 4, 4, 0.5, 0.5))
sizes, amounts = torch.tensor([5e3, 2e4, 6e4, 2e5]), torch.tensor([5e5, 1e6, 2e6, 4e6])
N, D = torch.cartesian_prod(sizes.double(), amounts.double()).T
found = fit_scaling_law(N, D, scaling_law(N, D, 1.0, 20.0, 400.0, 0.35, 0.45))
print("E, A, B, alpha, beta =", *(f"{x:.2f}" for x in found))

# %% [markdown]
# Both functions pass the test. On the losses of our runs, our fit also agrees with the fit of
# `deepdive`, the small library that accompanies this book. The library's function `fitted` adds
# intervals from the **bootstrap**, which samples whole runs with replacement many times and fits
# the law to each sample:

# %% tags=["equals-library"]
from deepdive.evaluate.scaling import Chinchilla, fitted

N, D, loss = torch.tensor(pairs, dtype=torch.float64).T  # one value per measured loss
found = fit_scaling_law(N, D, loss)
ours, library = scaling_law(N, D, *found), law.law(N, D)
assert torch.allclose(ours, library, rtol=1e-3)
assert all(abs(a / b - 1) < 0.05 for a, b in zip(found[3:], law.law[3:], strict=True))
print(f"largest difference of a predicted loss: {(ours / library - 1).abs().max():.1e}")

# %% [markdown] tags=["slide"]
# ## Experiments
#
# | | |
# |---|---|
# | model | Llama-style decoder (page 6a.2); input and output share one embedding |
# | sizes | five, from 4,356 to 150,848 parameters |
# | data | movie reviews, scientific abstracts, State of the Union addresses; one pass |
# | vocabulary | 70 characters, each one a token |
# | tokens | 0.5, 1, 2, and 4 million characters for every size |
# | seeds | three, for initial weights and order of the text |
# | evaluation | nats per character on held-out documents |
#
# All models are trained with Adam on batches of 16 sequences of 64 characters; the code is in the
# module `deepdive_book.ch06a.runs.scaling`. The learning rate rises for 50 steps and then stays
# constant at a value tuned for each size (experiment 3).
#
# One run yields four losses, one for each amount of tokens. Before the run reaches an amount, a
# copy of the model branches off and trains to that amount while its learning rate decays to 0
# (*warmup, stable, decay*: [Hu et al. 2024](https://arxiv.org/abs/2404.06395)). Each loss is
# therefore measured at the end of a full schedule. The next cell trains the smallest model on very
# little text:

# %% A short run, now
small = scaling.Shape(layers=2, d_model=12)
text = (scaling.corpus() if real and profile() != "ci" else scaling.generated_corpus())
few = scaling.Corpus(text.train, text.test[:8000])
live = scaling.train(few, small, seed=0, tokens=[2**14, 2**15], rate=0.012)
print(f"{len(text.train):,} training characters, {len(text.test):,} held out")
print(f"{live['parameters']:,} parameters: loss {live['loss'][0]:.2f} after {2**14:,} characters, "
      f"{live['loss'][1]:.2f} after {2**15:,}")  # fmt: skip

# %% [markdown]
# This short run only shows that the code works, so everything below uses the saved runs.
#
# ### 1. How fast should the model grow with the budget?
#
# The compute-optimal size grows as $N_{opt} \propto C^a$, and this experiment estimates the
# exponent $a$. Because the estimate could depend on the method, we use three methods:
#
# - **Hoffmann et al.'s law** (their third approach) is fitted as above, and its two exponents
#   determine $a$.
# - **IsoFLOP parabolas**, Hoffmann et al.'s second approach, need no law for the loss. At each of
#   several budgets, a parabola is fitted to the losses over $\log N$, and its minimum is the
#   optimal size. The slope of a line through these minima, in $\log N$ and $\log C$, is $a$.
# - **Kaplan et al.'s law** has four parameters but no irreducible loss, so it predicts a loss of
#   zero for unlimited size and data. (Their published 0.73 comes from another analysis, in section
#   6 of their paper.) The law is
#
# $$L(N, D) = \Big[\Big(\frac{N_c}{N}\Big)^{\alpha_N/\alpha_D} + \frac{D_c}{D}\Big]^{\alpha_D}$$
#
# The papers also count $N$ differently, so we fit Hoffmann et al.'s law with three definitions: all
# parameters, all except the embedding, and the $N$ for which $6N$ equals the counted FLOPs per
# token. Two more fits leave out the largest or the smallest size.
#
# We apply each method to each seed separately, and the brackets contain a 95% **confidence
# interval** for the mean over the three seeds (Student's t, which allows for so few seeds). The
# last column, computed from the unrounded exponent, shows by what factor the optimal size grows
# with 10 times the budget. **Our result is the first row**, because that fit uses the law above and
# counts $N$ as Hoffmann et al. do. The line printed above the table describes the single fit to all
# runs that the figures show, with bootstrap intervals.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The compute budget grows by a factor of 10. By what factor does the compute-optimal size "
    "grow, according to Hoffmann et al.'s law fitted to each seed's runs?",
    ["by about 2", "by about 3, the square root of 10, as Hoffmann et al. found",
     "by about 6, nearer to Kaplan et al.'s result"],
    answer=2,
    explain="The factor is 5.9, but the interval of the exponent is wide, from 0.51 to 1.03. It "
    "contains Kaplan et al.'s 0.73 and narrowly excludes Hoffmann et al.'s 0.50.",
    key="06a_text/scaling-exponent",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise", "slide"]
growth, floor = (law.interval(lambda fit, name=name: getattr(fit, name))
                 for name in ("growth", "floor"))  # fmt: skip
middle = sorted(fit.growth for fit in law.bootstrap_laws)[len(law.bootstrap_laws) // 2]
print(f"one fit to all {len(runs)} runs, bootstrap intervals over runs: a = {growth.value:.2f} "
      f"[{growth.low:.2f}, {growth.high:.2f}], median of the resampled fits {middle:.2f}; "
      f"E = {floor.value:.2f} [{floor.low:.2f}, {floor.high:.2f}]")  # fmt: skip
table(scaling.exponents(rows["grid"]),
      formats={"exponent a": ".2f", "factor for 10 x budget": ".1f"},
      caption="Exponent a of the compute-optimal size N_opt ~ C^a: one fit per seed, mean of three "
      "seeds [95% confidence interval]")  # fmt: skip

# %% [markdown]
# **Three seeds of five small sizes don't determine the exponent.** The first row shows 0.77, which
# is close to Kaplan et al.'s 0.73, and its interval narrowly excludes Hoffmann et al.'s 0.50.
# However, three other intervals contain 0.50 (FLOPs per token, largest size left out, and
# parabolas), and every interval overlaps the first. The intervals aren't corrected for the number
# of comparisons. Because t intervals are symmetric, some extend below 0 or above 1, although $a$
# can't.
#
# The exponent also depends on what $N$ counts, but the differences are small compared with the
# intervals. With FLOPs per token the exponent is lower, probably because $6N$ leaves out the
# attention scores and weighted sums, which take a larger share of a small model's compute.
#
# Why is the exponent so uncertain? One reason is that the runs barely constrain the irreducible
# loss, which is 0.09 in the fit to all runs, with an interval from 0.00 to 1.09. A law with a small
# $E$ and small exponents can fit about as well as one with a large $E$ and large exponents, but the
# two laws may disagree about where extra compute should go. A wider range of sizes would probably
# help, although leaving out our smallest size narrowed the interval: Hoffmann et al. trained over
# 400 models from 70 million to 16 billion parameters.
#
# The exponent also changes with how the runs are combined: one fit to all runs gives 0.86. This
# value is near the upper end of its bootstrap interval, and the median of the resampled fits is
# only 0.82, so it may be too high.

# %% [markdown]
# ### 2. Do small runs predict larger ones?
#
# A scaling law is useful only if it predicts runs that it wasn't fitted to. We therefore predicted
# the losses of two runs with 1e13 FLOPs each, more than any run in the fit used, and then trained
# the two models with learning rates tuned for them. One model is near the compute-optimal size and
# has 2.2 times the parameters of the largest model in the fit. The other model is 4.5 times as
# large as the first, well above the optimum.
#
# Each law's prediction comes with a 95% **prediction interval**, a range for the loss of one new
# run. It combines the uncertainty of the law (bootstrap over runs) with the scatter of the measured
# losses around the law. The baseline is a **log-linear** regression of the log loss on $\log N$ and
# $\log D$, in other words a product of two power laws.

# %% tags=["nbval-check-output"]
chosen, last = rows["prediction"][0]["chosen"], {n: rows[n][0]["loss"][0] for n in scaling.CHOSEN}
near, larger = (chosen[name]["Chinchilla"][0] for name in scaling.CHOSEN)
print(f"the larger run is worse by {larger - near:.3f} (predicted by Hoffmann et al.'s law), "
      f"{last['larger'] - last['near the optimum']:.3f} (measured), before rounding")  # fmt: skip
table(scaling.predictions(rows), formats={"Hoffmann et al.": ".3f", "Kaplan et al.": ".3f"},
      caption="Loss in nats per character, one run each: predicted [95% prediction interval] and "
      "measured")  # fmt: skip

# %% [markdown]
# Near the compute-optimal size, both laws pass this one test, because the measured loss of 1.492 is
# inside both intervals. The log-linear baseline is even closer, so this run alone doesn't show that
# you need the more elaborate laws. For the larger model, however, the baseline's prediction is the
# furthest from the measured loss.
#
# Of the two laws, only one passes for the larger model. The measured loss of 1.673 is above the
# interval of Hoffmann et al.'s law, which predicted 1.544, but inside the interval of Kaplan et
# al.'s law. Hoffmann et al.'s law also predicted that this model would be only 0.064 nats worse
# than the smaller one, whereas the measured difference is 0.180. **At ten times the largest fitted
# size, this one run fell outside the interval of one of the two laws, so check an extrapolation
# before you trust it.** One run at each size can't rank the laws, and both learning rates were
# tuned with only one seed. (Differences are computed before rounding.)
#
# ### 3. What does one learning rate for all sizes cost?
#
# With one learning rate for all sizes, you'd save many tuning runs, but how much loss would it
# cost? For each size, we tried rates a factor of 2 apart until the best one had a worse neighbor on
# each side, in runs with only 0.5 million characters. The table compares each size's best rate with
# a shared rate of 0.012. The last two rows show the models of experiment 2, which weren't trained
# at the shared rate. The line above the table compares two rates on a longer run.

# %% tags=["nbval-check-output"]
(half,) = rows["rate check"] or rows["grid"][:1]
full = next(row for row in rows["grid"] if row["parameters"] == half["parameters"])  # seed 0
print(f"largest size, {half['tokens'][-1]:,} characters: {half['loss'][-1]:.3f} at rate "
      f"{half['rate']}, {full['loss'][-1]:.3f} at {full['rate']}")  # fmt: skip
table(scaling.rate_losses(rows["rate"], shared=0.012),
      caption="Loss after 0.5 million characters: mean (range over three seeds)")

# %% [markdown]
# The best rates tend to fall with size, though not steadily. The shared rate is the best one for
# the second smallest size, but it costs the two largest fitted sizes 0.096 and 0.161 nats, and the
# smallest size 0.052. A law fitted to such losses would mistake the effect of the rate for an
# effect of size. You would expect badly tuned large models to lower $a$ and badly tuned small
# models to raise it, but we didn't refit the law to find out which effect would prevail.
#
# On a longer run of the largest size, with 4 million characters, half the tuned rate was slightly
# better (1.554 instead of 1.558, one seed), so the best rate may fall with the length of the run.
#
# ## From the law to a plan
#
# Our exponents come from characters and tiny models, so a real run should be planned with published
# results. Hoffmann et al. (2022, third approach) report the constants $E = 1.69$, $A = 406.4$, $B =
# 410.7$, $\alpha = 0.34$, and $\beta = 0.28$. The result of their first two approaches is usually
# quoted as **20 tokens per parameter**, the ratio of Chinchilla itself (70 billion parameters, 1.4
# trillion tokens). For comparison, the ratio is 1.7 for GPT-3 (175 billion parameters, 300 billion
# tokens) and 1.1 for Gopher (280 and 300 billion).
#
# Do the ratio and the constants lead to the same plan? The next cell computes both plans for three
# budgets, the last of which is Chinchilla's. `D/N` is the number of tokens per parameter, a ratio
# that the final lines show for our fit to all runs:

# %% tags=["nbval-check-output"]
print("   C       20 tokens per parameter         published constants")
for C in (1e19, 1e21, 6 * 70e9 * 1.4e12):
    n20 = (C / 6 / 20) ** 0.5
    n, d = compute_optimal(C, 1.69, 406.4, 410.7, 0.34, 0.28)
    print(f"{C:.1e}  N = {n20:.1e}, D = {20 * n20:.1e}  "
          f" N = {n:.1e}, D = {d:.1e}, D/N = {d / n:.0f}")  # fmt: skip
for C in (1e12, 1e13):
    n, d = law.law.best(C)
    print(f"our fit, {C:.0e} FLOPs: {d / n:.0f} characters per parameter")

# %% [markdown]
# The two plans disagree, most of all for the largest budget, where the published constants ask for
# a model less than half as large, with several times as many tokens per parameter. [Besiroglu et
# al. (2024)](https://arxiv.org/abs/2404.10102) reconstructed the data from a figure and found that
# the published fit doesn't describe these data, because the search had stopped early and $\beta$
# was rounded. Their own fit agrees with Hoffmann et al.'s first two approaches, and so with a ratio
# of about 20. Trust the ratio, not the constants.
#
# In our own fit, the ratio falls from 57 to 11 characters per parameter, because an exponent of
# 0.86 gives most of the extra compute to the model. A constant ratio would need an exponent of 0.5.
#
# ## With the real library
#
# To plan a run, you need the model's $N$ and its FLOPs per token. Hugging Face's transformers
# computes $N$ without downloading any weights, and PyTorch's counter measures the FLOPs. The model
# here is Llama 3 8B, whose report ([Grattafiori et al. 2024](https://arxiv.org/abs/2407.21783))
# states about 15 trillion training tokens:

# %% tags=["nbval-check-output"]
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(vocab_size=128256, hidden_size=4096, intermediate_size=14336,
    num_hidden_layers=32, num_attention_heads=32, num_key_value_heads=8)  # fmt: skip
with torch.device("meta"), FlopCounterMode(display=False) as counter:
    llama3 = LlamaForCausalLM(config)
    llama3(torch.zeros(1, 512, dtype=torch.long))
n_llama = sum(p.numel() for p in llama3.parameters())
per_token = 3 * counter.get_total_flops() / 512  # the backward pass costs twice the forward pass
print(f"N = {n_llama / 1e9:.2f} billion; FLOPs per token / 6N = {per_token / (6 * n_llama):.2f}")
print(f"15 trillion tokens are {15e12 / n_llama:,.0f} tokens per parameter")

# %% [markdown]
# For the 512 tokens counted here, the FLOPs per token are close to $6N$, but in longer sequences
# attention adds more. The tokens per parameter are deliberately almost a hundred times
# Chinchilla's. Compute-optimal means the lowest loss for the *training* budget, but a model that
# many people use should be smaller and trained longer, because every token it generates costs
# compute in proportion to $N$ ([Sardana et al. 2024](https://arxiv.org/abs/2401.00448)).
#
# ## How it differs
#
# | | Kaplan et al. 2020 | Hoffmann et al. 2022 | this page |
# |---|---|---|---|
# | $N$ counts | no embeddings | all parameters | all; two other definitions in experiment 1 |
# | irreducible loss | none | fitted | fitted in Hoffmann et al.'s law only |
# | learning-rate decay | one length for all runs | as long as the run | to 0 at each measurement |
# | peak learning rate | from a formula | set for each size | tuned for each size |
# | largest model | 1.5 billion | 16 billion | 151 thousand |
# | $N_{opt} \propto C^a$, $a$ | 0.73 | 0.46 to 0.50 | 0.77 [0.51, 1.03] |
#
# Why did Kaplan et al. report 0.73 but Hoffmann et al. about 0.5? [Pearce and Song
# (2024)](https://arxiv.org/abs/2406.12907) point to the uncounted embeddings, which are a large
# part of a small model. [Porian et al. (2024)](https://arxiv.org/abs/2406.19146) name the uncounted
# last layer, a warmup too long for small models, and learning rates that weren't tuned by size.
#
# ## Common mistake: reading the loss off a run that continues
#
# You train one long run and record its loss at a tenth, at half, and at the end. **Symptom:** the
# early losses are too high, because the learning rate hadn't decayed yet. Hoffmann et al. see this
# mistake in Kaplan et al.'s study, although Porian et al. (2024) find that careful decay isn't
# essential for Hoffmann et al.'s law to hold. **Fix:** decay the rate before every loss that goes
# into a fit.
#
# To measure the effect, we also evaluated our models just before each decay. Because the decay
# takes the last fifth of the tokens, part of the difference below may come from having seen less
# text:

# %%
gaps = [later - loss for row in rows["grid"]
        for loss, later in zip(row["loss"], row["undecayed"], strict=True)]  # fmt: skip
undecayed = scaling.runs_of(rows["grid"], loss="undecayed", fraction=0.8)
print(f"before the decay, the loss is {sum(gaps) / len(gaps):.3f} higher ({min(gaps):.3f} to "
      f"{max(gaps):.3f}); exponent a = {fitted(Chinchilla, undecayed, draws=0).law.growth:.2f} "
      f"instead of {law.law.growth:.2f}")  # fmt: skip

# %% [markdown]
# All losses are higher before the decay, but the exponent changes little here. The bias affects the
# level of the predicted loss, because a law fitted to undecayed losses predicts undecayed losses.
#
# ## In practice
#
# - **Tune the learning rate by size**, and report up to which size you tuned it.
# - **Resample whole runs, not single losses**, because the losses of one run share its seed.
# - **Don't trust the irreducible loss**, because with a few sizes a fit barely distinguishes a
#   large $E$ with large exponents from a small $E$ with small ones.
# - **Repeat data with care.** When the text runs out, up to about four passes are nearly as good as
#   new text ([Muennighoff et al. 2023](https://arxiv.org/abs/2305.16264)).
#
# ## Summary
#
# How should you split a compute budget between model size and data? Along a fixed budget, the loss
# has a lowest point, and two exponents decide how this point moves as the budget grows: $N_{opt}
# \propto C^a$ with $a = \beta / (\alpha + \beta)$. From 15 runs of five sizes, we estimate $a =
# 0.77$ [0.51, 1.03]. This interval contains Kaplan et al.'s 0.73 and begins just above Hoffmann et
# al.'s 0.46 to 0.50, but the intervals of three other estimates contain 0.50.
#
# Hoffmann et al.'s law predicted the loss of a run near its optimum (1.479 predicted, 1.492
# measured) but failed at ten times the largest fitted size (1.544 predicted, 1.673 measured). For a
# real run, scale size and data in equal proportion, at about 20 tokens per parameter. If many
# people will use the model, however, choose a smaller one and train it longer.
#
# We did not reproduce either paper, since our tokens are characters and our largest fitted model
# has 151 thousand parameters, whereas theirs have 1.5 and 16 billion.
#
# ## Check your understanding
#
# 1. Why does the loss along one compute budget have a lowest point?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Left of it the model is too small for the tokens it sees; right of it too few tokens are left
#    to train so many parameters.
#
#    </details>
# 2. Why does training take about 6 FLOPs per parameter and token?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A multiplication and an addition in the forward pass, and twice that in the backward pass: once
#    for the gradient of the weight, once for the gradient of its input.
#
#    </details>
# 3. Both exponents are 1/2. What does a hundred times the budget do to the optimal size?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    It becomes ten times as large, and so does the number of tokens.
#
#    </details>
# 4. Why is the learning rate tuned at every size before a law is fitted?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Otherwise a bad rate at one end of the sizes is mistaken for an effect of size and changes the
#    exponent.
#
#    </details>
# 5. What does an interval over seeds not tell you?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Whether the form of the law holds beyond the sizes and data that were measured.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* $L = 1 + 8/\sqrt N + 2/\sqrt D$ and $N \cdot D = 4096$. Which $N$ and $D$
#    are optimal, among powers of 2?
#
#    <details><summary>Answer</summary>
#
#    Where $8/\sqrt N = 2/\sqrt D$: $N = 16 D$, so $N = 256$, $D = 16$, and $L = 1 + 1/2 + 1/2 = 2$.
#
#    </details>
# 2. *(on paper, 5 min)* Show that at the optimum the size term and the data term are in the ratio
#    $\beta : \alpha$.
#
#    <details><summary>Answer</summary>
#
#    Put $D = C/(6N)$. The derivative is zero where $\alpha A N^{-\alpha} = \beta B D^{-\beta}$.
#
#    </details>
# 3. *(in code, 20 min)* Leave the largest size out, fit again, and predict its losses. Do they lie
#    in the prediction intervals?
#
#    <details><summary>Answer</summary>
#
#    Use `fit = fitted(Chinchilla, [run for run in runs if run.n < 1e5])`, then `fit.predict(n, d)`
#    for each loss of the runs that were left out. All 12 losses are in their intervals, as the next
#    cell shows.
#
#    </details>

# %% Check the exercises tags=["fold", "nbval-check-output"]
by_hand = Chinchilla(1, 8, 2, 0.5, 0.5)
assert [round(x) for x in by_hand.best(6 * 4096)] == [256, 16]
assert by_hand(256, 16) == 2
n, d = Chinchilla(1.0, 20.0, 400.0, 0.35, 0.45).best(1e12)
assert abs(0.35 * 20 / n**0.35 - 0.45 * 400 / d**0.45) < 1e-9
print("answers 1 and 2 hold")

# %% Exercise 3 tags=["nbval-check-output"]
fit = fitted(Chinchilla, [run for run in runs if run.n < 1e5], draws=20)
left_out = [(fit.predict(*x), loss) for *x, loss in pairs if x[0] > 1e5]
inside = [interval.low <= loss <= interval.high for interval, loss in left_out]
print(f"{sum(inside)} of {len(inside)} losses are in their intervals")

# %% [markdown]
# ## Further reading
#
# - Kaplan et al. (2020), [*Scaling Laws for Neural Language
#   Models*](https://arxiv.org/abs/2001.08361): sections 3 and 6.
# - Hoffmann et al. (2022), [*Training Compute-Optimal Large Language
#   Models*](https://arxiv.org/abs/2203.15556): section 3, three approaches.
# - Besiroglu et al. (2024), [*Chinchilla Scaling: A Replication
#   Attempt*](https://arxiv.org/abs/2404.10102): the third approach, fitted again.
# - Porian et al. (2024), [*Resolving Discrepancies in Compute-Optimal Scaling of Language
#   Models*](https://arxiv.org/abs/2406.19146), and Pearce and Song (2024), [*Reconciling Kaplan and
#   Chinchilla Scaling Laws*](https://arxiv.org/abs/2406.12907).
# - Hu et al. (2024), [*MiniCPM*](https://arxiv.org/abs/2404.06395): section 4 on warmup, stable,
#   decay.
# - Muennighoff et al. (2023), *Scaling Data-Constrained Language Models*: repeated data.
# - Sardana et al. (2024), *Beyond Chinchilla-Optimal: Accounting for Inference in Language Model
#   Scaling Laws*: the cost of inference.

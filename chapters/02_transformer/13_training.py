# %% [markdown] tags=["slide"]
# # Training a Transformer: label smoothing, warmup, Adam
#
# A Transformer learns by guessing the next word of sentences that are already translated. What
# number is made small, with steps of what size, and what did it cost?
#
# <small>Prerequisites: [the encoder](11_encoder.ipynb), [the decoder](12_decoder.ipynb),
# [cross-entropy](../00_start/02_maths.ipynb) · 25 min · runs on a laptop · book 2.4</small>

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
from deepdive_book.kit.plotting import show

given, wanted = ["[BOS]", "le", "chat", "noir", "dort"], ["le", "chat", "noir", "dort", "[EOS]"]
chance = [0.5, 0.25, 0.8, 0.1, 0.9]
drawing = [text(60, y, words, 14) for y, words in ((30, "target"), (100, "its chance"))]
drawing += [text(60, 180, "decoder reads", 14)]
for t, (seen, word, p) in enumerate(zip(given, wanted, chance, strict=True)):
    x = 180 + 110 * t
    drawing += [text(x, 30, word, 17, "output", bold=True), text(x, 100, f"{p:g}", 16, "weight")]
    drawing += [text(x, 180, seen, 17, "query"), arrow(x, 162, x, 118), arrow(x, 82, x, 48)]
    if t:
        drawing.append(arrow(x - 96, 42, x - 26, 168, "score", 1))
show(
    svg(700, 205, drawing),
    "Below, the decoder reads BOS le chat noir dort; above stand the targets le chat noir dort "
    "EOS, each with the chance that the model gives it. Each target is the next word read.",
)

# %% [markdown]
# *One sentence, five guesses; `[BOS]` is the begin mark, `[EOS]` the end. Each column reads the
# words up to its own, and is asked for the next. The grey arrows: whatever the model guesses, it
# then reads the true word.*
#
# You know this as [teacher forcing](01_seq2seq.ipynb), with its shift by one, and the [causal
# mask](07_masks.ipynb) that lets one pass train all columns. You know the
# [cross-entropy](../00_start/02_maths.ipynb), too. New here: what padding does to it, a smoother
# goal, the size of the steps, a test before the long run, and the cost.

# %% [markdown]
# ## The loss, by hand
#
# The picture's model gives the right words the chances $0.5, 0.25, 0.8, 0.1, 0.9$. The loss of a
# word is $-\ln p$.
#
# | word | le | chat | noir | dort | [EOS] | mean |
# |---|---|---|---|---|---|---|
# | $p$ | 0.5 | 0.25 | 0.8 | 0.1 | 0.9 | |
# | $-\ln p$ | 0.693 | 1.386 | 0.223 | 2.303 | 0.105 | 0.942 |
#
# The perplexity is $e^{0.942} = 2.57$. In code, from logits:

# %%
import torch

from deepdive.training.objectives import cross_entropy, perplexity

right = torch.tensor(chance)
logits = torch.stack([right, 1 - right], -1).log()[None]  # (1, 5, 2): the right word, the rest
targets = torch.zeros(1, 5, dtype=torch.long)
by_hand = -right.log().mean()
assert (cross_entropy(logits, targets, pad=None) - by_hand).abs() < 1e-6
f"loss {by_hand:.3f}, perplexity {perplexity(by_hand):.2f}"

# %% [markdown]
# ### Common mistake: counting the padding
#
# Sentences of a batch have different lengths, and the short ones are filled up. The plain mean runs
# over the filling too, which a model soon predicts almost surely. Take our sentence, and five
# places of padding at a chance of $0.99$ each: $(5 \cdot 0.942 + 5 \cdot 0.010) / 10 = 0.476$. Half
# the loss, and nothing was learned.

# %%
import torch.nn.functional as F

from deepdive.tokenizers import BOS, EOS, PAD


def wrong_loss(logits, targets):  # the mean runs over padding
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def padded(count):
    """Logits and targets: our sentence, and `count` places of padding."""
    # chances of three ids: 0 is padding, 1 the right word, 2 any other
    places = [[1e-9, p, 1 - p] for p in chance] + count * [[0.99, 0.005, 0.005]]
    return torch.tensor([places]).log(), torch.tensor([5 * [1] + count * [PAD]])


for count in (0, 5, 20):
    pair = padded(count)
    print(f"{count:>2} of padding: wrong {wrong_loss(*pair):.3f}, right {cross_entropy(*pair):.3f}")

# %% [markdown]
# **Symptom:** the loss looks good, and jumps with the lengths in the batch. Words in a batch with
# much padding are trained less. **Fix:** leave padding out, and divide by the number of real
# tokens. **Test:** add a column of padding, and see the loss stay.

# %% tags=["nbval-check-output"]
assert (cross_entropy(*padded(20)) - by_hand).abs() < 1e-5
assert wrong_loss(*padded(20)) < 0.5 * by_hand
print("the right loss does not know how much padding there was")

# %% [markdown]
# ## Label smoothing
#
# The loss of a word reaches 0 only when its logit stands infinitely far above all others, so
# training pushes it there without end. **Label smoothing** sets another goal $y$. Of the target's
# weight it takes a part $\epsilon$ and spreads it evenly over all words; $|V|$ is their number:
#
# $$y_i = (1 - \epsilon) \cdot [i = \mathrm{target}] + \epsilon / |V| \qquad
# \mathrm{loss} = -\sum_i y_i \ln p_i$$
#
# The bracket is 1 for the target and 0 for the other words. The slopes by the logits are $p - y$,
# [as before](../00_start/02_maths.ipynb).
#
# By hand, four words and $\epsilon = 0.1$: the target gets $0.9 + 0.025 = 0.925$, the others
# $0.025$ each. The loss is smallest when $p = y$. Then the target's logit stands
# $\ln(0.925 / 0.025) = 3.61$ above the others, and the loss is
# $-0.925 \ln 0.925 - 3 \cdot 0.025 \ln 0.025 = 0.072 + 0.277 = 0.349$. It cannot become 0.

# %%
gaps = torch.linspace(-2, 12, 281)
curves = {}
for smoothing in (0.0, 0.1, 0.3):
    rows = F.pad(gaps[:, None], (1, 2))[:, None]  # (281, 1, 4): target's logit is `gap`, others 0
    one = torch.ones(1, 1, dtype=torch.long)
    losses = [cross_entropy(row[None], one, smoothing=smoothing) for row in rows]
    curves[smoothing] = torch.stack(losses)
lowest = curves[0.1].argmin()
assert abs(gaps[lowest] - 3.61) < 0.06
assert abs(curves[0.1][lowest] - 0.349) < 1e-3
f"smoothing 0.1: lowest loss {curves[0.1][lowest]:.3f} at a gap of {gaps[lowest]:.2f}"

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(5.6, 3.0))
axes = figure.add_subplot()
for (smoothing, curve), style in zip(curves.items(), ("-", "--", "-."), strict=True):
    axes.plot(gaps, curve, style, label=f"smoothing {smoothing:g}")
    if smoothing:
        axes.plot(gaps[curve.argmin()], curve.min(), "ko", markersize=4)
axes.set(xlabel="target's logit above the others", ylabel="loss", ylim=(0, None))
axes.legend()
with_alt(
    figure,
    "Loss against the gap between the target's logit and the others. Without smoothing it falls "
    "for ever; with 0.1 it turns at 3.6, with 0.3 at about 2.3.",
)

# %% [markdown]
# *The dots are where smoothing wants the logits to stay: for 0.1 the 3.61 found by hand, to the
# nearest point of the curve.*
#
# Vaswani et al. use $\epsilon = 0.1$ and write that it "hurts perplexity, as the model learns to be
# more unsure, but improves accuracy and BLEU" ([2.1](01_seq2seq.ipynb) says what BLEU is). Test
# smoothing 0, 0.1 and 0.3 on a model with too little data: the words of numbers, English to French,
# generated, a few hundred pairs. (The schedule of the rate, `inverse_sqrt`, is explained further
# below.)

# %% tags=["nbval-check-output"]
from deepdive.data import BucketBatches
from deepdive.data.generated import number_translation
from deepdive.tokenizers import WordTokenizer
from deepdive.training.translation import encode
from deepdive_book.kit.profile import pick

pairs = number_translation("en", "fr", 700, seed=1)
pairs = [tuple(side.replace("-", " ").replace(",", "") for side in pair) for pair in pairs]
english, french = (WordTokenizer.train(side) for side in zip(*pairs, strict=True))
train, test = encode(pairs[:300], english, french), encode(pairs[300:], english, french)
pairs[0]

# %%
from functools import partial

from deepdive.models.transformer.transformer import transformer
from deepdive.training import fit
from deepdive.training.optim import adam, inverse_sqrt
from deepdive.training.translation import loss


def build():
    torch.manual_seed(0)
    sizes = {"d_model": 48, "n_heads": 4, "n_layers": 2, "d_ff": 96, "dropout": 0.0}
    return transformer(len(english), len(french), **sizes)


steps = pick(ci=120, laptop=300, gpu=600)
models = {}
for smoothing in (0.0, 0.1, 0.3):
    model = models[smoothing] = build()
    batches = BucketBatches(train, max_tokens=400, seed=1)
    fit(
        model, batches, partial(loss, smoothing=smoothing), steps=steps, optimizer=adam(model),
        schedule=inverse_sqrt(48, warmup=60, factor=0.2),
    )  # fmt: skip

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "On new numbers, compare smoothing 0.1 with none. What is sure to be lower?",
    ["the accuracy", "the model's confidence in its own best guess", "the cross-entropy"],
    answer=1,
    explain="Lower confidence is what the loss asks for. Whether accuracy and cross-entropy gain "
    "or lose by it depends on the data; the table below shows this case.",
    key="02_transformer/label-smoothing",
)


# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
@torch.no_grad()
def measure(model):
    """Chance of the best guess, whether it is right, cross-entropy, and the best logit's lead."""
    sure, hit, nats, lead = [], [], [], []
    for source, target in BucketBatches(test, max_tokens=2000):
        logits = model(source, target[:, :-1], source != PAD)
        keep = target[:, 1:] != PAD
        logits, words = logits[keep], target[:, 1:][keep]  # (N, V), (N,)
        best = logits.softmax(-1).max(-1)
        sure.append(best.values)
        hit.append((best.indices == words).float())
        nats.append(F.cross_entropy(logits, words, reduction="none"))
        lead.append(logits.max(-1).values - logits.median(-1).values)
    return [torch.cat(part) for part in (sure, hit, nats, lead)]


# %% tags=["surprise"]
found = {smoothing: measure(model.eval()) for smoothing, model in models.items()}
print("smoothing  accuracy  confidence  cross-entropy  lead of the best logit")
for smoothing, (sure, hit, nats, lead) in found.items():
    numbers = f"{hit.mean():8.1%}  {sure.mean():10.1%}  {nats.mean():13.3f}  {lead.mean():12.1f}"
    print(f"{smoothing:9.1f}  {numbers}")
assert found[0.3][0].mean() < found[0.1][0].mean() < found[0.0][0].mean()
assert found[0.3][3].mean() < found[0.1][3].mean() < found[0.0][3].mean()
assert found[0.0][2].mean() < found[0.1][2].mean() < found[0.3][2].mean()
assert abs(found[0.1][1].mean() - found[0.0][1].mean()) < 0.03

# %% [markdown]
# A model is **calibrated** when of its guesses made with a chance of 0.8, eight in ten are right.
# Sort the guesses by confidence and look:

# %%
edges = torch.tensor([0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01])
reliability, off = {}, {}
for smoothing, (sure, hit, _, _) in found.items():
    bins = torch.bucketize(sure, edges, right=True) - 1
    inside = [bins == i for i in range(len(edges) - 1)]
    filled = [b for b in inside if b.any()]
    points = [(sure[b].mean().item(), hit[b].mean().item(), b.sum().item()) for b in filled]
    reliability[smoothing] = points
    off[smoothing] = sum(n * abs(c - a) for c, a, n in points) / len(sure)
assert off[0.0] < off[0.1] < off[0.3]
{f"smoothing {s}": f"confidence is off by {error:.1%}" for s, error in off.items()}

# %% tags=["fold"]
figure = Figure(figsize=(4.6, 3.4))
axes = figure.add_subplot()
axes.plot([0, 1], [0, 1], color="grey", linestyle=":", linewidth=1)
for (smoothing, points), style in zip(reliability.items(), ("o-", "s--", "^-."), strict=True):
    confidence, share, _ = zip(*points, strict=True)
    axes.plot(confidence, share, style, label=f"smoothing {smoothing:g}")
axes.set(xlabel="confidence of the best guess", ylabel="share that is right", xlim=(0, 1))
axes.legend()
with_alt(
    figure,
    "Share of guesses that are right against their confidence, one line for each smoothing, with "
    "the diagonal of a calibrated model.",
)

# %% [markdown]
# *On the dotted diagonal confidence and truth agree. Below it a model is too sure, above it too
# modest. The error printed above weighs each point by its guesses; without smoothing most of them
# lie at the point far right.*
#
# Of the four claims in that sentence, two are reproduced: the model is more unsure, and the
# cross-entropy is worse. (BLEU was not measured.) Accuracy gains nothing that 400
# numbers could show. Nor does calibration: the confidence is now too low, by about as much as the
# smoothing took. A number has one French name, so a model that is sure is right to be. A sentence
# has many translations, and there a model that is sure is often wrong: Müller et al. (2019) find
# calibration improved. Smooth where targets are only one of several right ones.
#
# Does attention change too?

# %% tags=["fold"]
from deepdive.core.hooks import record
from deepdive_book.kit.plotting import heads

sentence, answer = pairs[300]
ids = [torch.tensor([tokens[0]]) for tokens in test]
maps = []
for smoothing in (0.0, 0.1):
    with record(models[smoothing], "decoder.*.1.cross.mechanism.weights") as seen, torch.no_grad():
        models[smoothing](ids[0], ids[1][:, :-1])
    maps.append(next(iter(seen.values()))[0][0].mean(0))  # mean over heads, (T, S)
rows, columns = [*answer.split(), "[EOS]"], [*sentence.split(), "[EOS]"]
heads(torch.stack(maps), rows, columns, names=["no smoothing", "smoothing 0.1"])

# %% [markdown]
# *Cross-attention of the last layer, mean of four heads, for a number that was not trained. Rows:
# the French word to be written next. Smoothing acts on the output and leaves no clear mark here.*

# %% [markdown] tags=["slide"]
# ## The size of the steps
#
# The learning rate first rises in a straight line, for `warmup` steps, then falls with the inverse
# root of the step:
#
# $$\mathrm{lr}(t) = d_{model}^{-0.5} \cdot \min(t^{-0.5},\; t \cdot \mathrm{warmup}^{-1.5})$$
#
# By hand, for the base model, $d_{model} = 512$ and 4,000 steps of warm-up. The factor in front is
# $1 / 22.63 = 0.0442$.
#
# | step $t$ | $t^{-0.5}$ | $t \cdot 4000^{-1.5}$ | smaller one | rate |
# |---|---|---|---|---|
# | 1 | 1 | 0.00000395 | right | 0.000000175 |
# | 1,000 | 0.0316 | 0.00395 | right | 0.000175 |
# | 4,000 | 0.0158 | 0.0158 | equal | 0.000699 |
# | 16,000 | 0.0079 | 0.0632 | left | 0.000349 |
# | 100,000 | 0.0032 | 0.395 | left | 0.000140 |


# %%
def rate(step, d_model=512, warmup=4000):
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


library = inverse_sqrt(512, warmup=4000)
assert all(abs(rate(t) - library(t)) < 1e-9 for t in range(1, 100_001, 777))
{t: float(f"{rate(t):.3g}") for t in (1, 1000, 4000, 16_000, 100_000)}

# %% tags=["slide", "fold"]
figure = Figure(figsize=(6.2, 2.8))
axes = figure.add_subplot()
x = list(range(1, 40_001, 50))
for label, d_model, warmup, style in (
    ("base: 512 wide, warm-up 4,000", 512, 4000, "-"),
    ("big: 1,024 wide, warm-up 4,000", 1024, 4000, "--"),
    ("512 wide, warm-up 16,000", 512, 16_000, "-."),
):
    axes.plot(x, [rate(t, d_model, warmup) for t in x], style, label=label)
axes.set(xlabel="step", ylabel="learning rate", ylim=(0, None))
axes.legend()
with_alt(
    figure,
    "Learning rate against step. It rises in a line to a peak at the end of the warm-up and falls "
    "slowly. Wider models and longer warm-ups have lower peaks.",
)

# %% [markdown]
# *A longer warm-up also lowers the peak, and after it the lines meet: the fall does not know how
# long the rise was.*
#
# Most toys of the other pages fall by half a cosine instead: down to zero at a last step that is
# known.
#
# Why rise at all? [Residual connections and layer normalization](09_residuals_norms.ipynb) measured
# it, with the paper's own placement of the norm. At the larger of two rates, six layers learned
# their task with a warm-up, and a part of it without; 24 layers went on guessing with both. And
# Adam's first step is of full size, whatever the gradient (next section). The literature adds two
# reasons: Adam's early estimates of $v$ rest on few gradients and vary a lot (Liu et al. 2019,
# RAdam), and the curvature of the loss is large early in training.

# %% [markdown]
# ## Adam, and its second beta
#
# Adam keeps two running averages for each weight: $m$ of the gradient $g$ and $v$ of its square.
# At each step $m$ becomes $\beta_1 m + (1 - \beta_1) g$, and $v$ becomes
# $\beta_2 v + (1 - \beta_2) g^2$. Both start at 0, so at step $t$ they are divided by
# $1 - \beta^t$. A step is $\mathrm{lr} \cdot m / (\sqrt v + \epsilon)$, with a tiny $\epsilon$
# that only avoids a division by 0 and is left out below. With $\beta_1 = 0.9$ the first $m$ is
# $0.1\,g$, divided by $1 - 0.9$: just $g$. In the same way $v = g^2$. So every weight first moves
# by exactly the rate, whatever its gradient:

# %%
for gradient in (0.001, 1000.0):
    layer = torch.nn.Linear(1, 1, bias=False)
    before = layer.weight.item()
    layer.weight.grad = torch.full((1, 1), gradient)
    adam(layer, lr=0.01).step()
    print(f"gradient {gradient:>8}: the weight moved by {abs(layer.weight.item() - before):.4f}")
    assert abs(abs(layer.weight.item() - before) - 0.01) < 1e-5

# %% [markdown]
# The second beta says how far back $v$ looks: about $1 / (1 - \beta_2)$ steps. The common 0.999
# looks back 1,000 steps, the paper's 0.98 only 50. It matters when gradients grow. Let one be 1 for
# 500 steps, then 10. While $v$ still remembers the small ones, steps are too large:


# %%
def largest_step(beta2, beta1=0.9):
    m = v = largest = 0.0
    for t in range(1, 1001):
        g = 1.0 if t <= 500 else 10.0
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        largest = max(largest, m / (1 - beta1**t) / (v / (1 - beta2**t)) ** 0.5)
    return largest


slow, fast = largest_step(0.999), largest_step(0.98)
assert slow > 2 * fast
f"largest step, in learning rates: {slow:.2f} with 0.999, {fast:.2f} with 0.98"

# %% [markdown]
# **Clipping** is the other guard: where the whole gradient $g$ is longer than a limit $c$, multiply
# it by $c / |g|$. By hand: $g = (3, 4)$ has length 5, and with $c = 1$ becomes $(0.6, 0.8)$. The
# direction stays. The paper does not mention it; `fit` clips at 1.

# %% [markdown]
# ## The first test: one batch, by heart
#
# Before a long run, two checks that take seconds. Check **one**: the loss before training must be
# near $\ln |V|$, the loss of a blind guess: within about 1. **Two:** on one batch alone, the loss
# must go to nearly zero. A model that cannot learn seventeen sentences by heart will not learn a
# million. Try both on two planted bugs. `twice` hands the loss chances where it wants logits, so
# that the softmax is taken twice. `unshifted` forgets the shift by one.

# %% tags=["fold"]
predict(
    "Without the shift by one, the decoder reads at each place the very word that it is to give. "
    "What does the one-batch test say?",
    ["the loss stays high: found", "the loss goes to zero, even faster: not found"],
    answer=1,
    explain="To copy is easier than to translate. The test finds models that cannot learn, not "
    "models that cheat. Decoding, where no answer is there to copy, finds those.",
    key="02_transformer/missing-shift",
)


# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
def twice(model, batch):  # wrong: the loss takes the softmax itself
    source, target = batch
    shares = model(source, target[:, :-1], source != PAD).softmax(-1)
    return cross_entropy(shares, target[:, 1:])


def unshifted(model, batch):  # wrong: reads the word that it is to give
    source, target = batch
    return cross_entropy(model(source, target[:, 1:], source != PAD), target[:, 1:])


def losses_on_one_batch(loss):
    model, batch = build(), next(iter(BucketBatches(train, max_tokens=160, seed=1)))
    start = loss(model, batch).item()
    history = fit(model, [batch], loss, steps=one_batch, optimizer=adam(model, 3e-3))
    return model, batch, [start, *history.losses]


# %% tags=["surprise"]
import math

from deepdive.decoding import greedy

one_batch = pick(ci=80, laptop=120, gpu=120)
runs = {function.__name__: losses_on_one_batch(function) for function in (loss, twice, unshifted)}
learned = {}
for name, (model, (source, target), values) in runs.items():
    written = greedy(model, source, source != PAD, max_length=20)
    wanted = [[i for i in row if i not in (BOS, EOS, PAD)] for row in target.tolist()]
    known = sum(a == b for a, b in zip(written, wanted, strict=True))
    learned[name] = known / len(wanted)
    print(
        f"{name:>9}: ln |V| {math.log(len(french)):.2f}, loss before {values[0]:.2f}, after "
        f"{values[-1]:.4f}; writes {known} of {len(wanted)} sentences"
    )
assert max(runs["loss"][2][-1], runs["unshifted"][2][-1]) < 0.3 < 1 < runs["twice"][2][-1]
assert learned["loss"] > max(learned["unshifted"], learned["twice"]) + 0.5

# %% [markdown]
# Check two finds `twice`: chances differ by 1 at most, so the second softmax stays nearly even. It
# does not find `unshifted`: the loss is small, and the model cannot write. So there is a check
# **three**: decode what was learned by heart.

# %% [markdown]
# ## What it cost
#
# Table 2 of the paper compares translators by BLEU and by training cost, in operations. A footnote
# says where these come from: training time, times the number of GPUs, times what such a GPU keeps
# up. For the P100 that is 9.5 TFLOPS, $9.5 \cdot 10^{12}$ operations a second.
#
# By hand, the base model: 12 hours on 8 P100s. $12 \cdot 3600 = 43{,}200$ s, times 8, times
# $9.5 \cdot 10^{12}$, is $3.28 \cdot 10^{18}$. The table prints $3.3 \cdot 10^{18}$.
#
# So the column measures *time on hardware*, not work done. How much work was it? Count: one token
# of source and one of target, forward and back, on the `meta` device, which follows shapes and
# computes nothing. By hand, each weight that a token passes costs 2 operations forward, a product
# and its sum, and 4 back: two for the gradient of its input, two for its own. A source and a target
# token together pass nearly all 63 million weights of base once:
# $6 \cdot 63 \cdot 10^6 = 3.8 \cdot 10^8$.

# %%
from deepdive.models.transformer.transformer import base, big
from deepdive_book.kit.flops import count_flops


def operations(make, length=25):
    """Operations for one token of source and one of target, in sentences of that length."""
    with torch.device("meta"):
        model, ids = make(), torch.zeros(1, length, dtype=torch.long)
        return count_flops(lambda: model(ids, ids).sum().backward()) / length


each = {"base": operations(base), "big": operations(big)}
assert abs(each["base"] / (6 * 63.1e6) - 1) < 0.05
{name: f"{count:.2e}" for name, count in each.items()}

# %% tags=["fold"]
predict(
    "Base saw 100,000 batches of about 25,000 source and 25,000 target tokens. Compare our count "
    "with the printed 3.3e18.",
    ["about the same", "ours is about a third", "ours is three times as large"],
    answer=1,
    explain="The table's column assumes that eight P100s compute at 9.5 TFLOPS from the first to "
    "the last second. They spent most of that time otherwise.",
    key="02_transformer/cost",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
for name, steps, days, printed in (("base", 1e5, 0.5, 3.3e18), ("big", 3e5, 3.5, 2.3e19)):
    work = each[name] * 25_000 * steps
    speed = work / (days * 86_400 * 8) / 1e12
    print(
        f"{name:>4}: counted {work:.1e}, printed {printed:.1e}, ratio {printed / work:.1f}; "
        f"{speed:.1f} TFLOPS on each GPU, {speed / 9.5:.0%} of 9.5"
    )
    assert 1.5 < printed / work < 5

# %% [markdown]
# Both numbers are right, and they answer different questions. Ours counts what the mathematics
# needs: products only, each multiply-add as two. Theirs counts what was paid. The wider model used
# its GPUs better, so the ratio is smaller.

# %% [markdown]
# ### The rest of the table
#
# On a first reading, go on to *What differs*. The rivals are recurrent or convolutional: GNMT is
# Google's translator of 2016, with eight LSTM layers a side; MoE has LSTMs and many feed-forward
# *experts*, of which a word uses a few; Deep-Att is a deep stack of LSTMs; ConvS2S convolves. The
# same product for each row whose hours we know, and the ensembles, several models that vote:

# %% tags=["fold"]
TFLOPS = {"K80": 2.8, "K40": 3.7, "P100": 9.5}
# name, printed operations, days, GPUs, kind; times of GNMT and MoE: Shazeer et al. 2017
table = [
    ("GNMT, En-De", 2.3e19, 1, 96, "K80"),
    ("GNMT, En-Fr", 1.4e20, 6, 96, "K80"),
    ("MoE, En-De", 2.0e19, 1, 64, "K40"),
    ("MoE, En-Fr", 1.2e20, 6, 64, "K40"),
    ("Transformer base, En-De", 3.3e18, 0.5, 8, "P100"),
    ("Transformer big, En-De", 2.3e19, 3.5, 8, "P100"),
]
for name, printed, days, gpus, kind in table:
    ours = days * 86_400 * gpus * TFLOPS[kind] * 1e12
    assert f"{ours:.1e}" == f"{printed:.1e}"
    print(f"{name:>24}: {days:>3} days x {gpus:>2} {kind:<4} = {ours:.3e}, printed {printed:.1e}")
ensembles = {  # ensemble and single model, as printed
    "GNMT En-De": (1.8e20, 2.3e19), "GNMT En-Fr": (1.1e21, 1.4e20), "Deep-Att": (8.0e20, 1.0e20),
    "ConvS2S En-De": (7.7e19, 9.6e18), "ConvS2S En-Fr": (1.2e21, 1.5e20),
}  # fmt: skip
times = {name: several / one for name, (several, one) in ensembles.items()}
assert all(abs(factor - 8) < 0.3 for factor in times.values())
print("ensemble / single:", ", ".join(f"{name} {factor:.1f}" for name, factor in times.items()))

# %% What it cost tags=["slide", "fold"]
# BLEU and operations as Vaswani et al. print them (GNMT: 24.66 in Shazeer et al., table 4)
cost = {"GNMT": (24.6, 2.3e19), "ConvS2S": (25.16, 9.6e18), "MoE": (26.03, 2.0e19)}
cost |= {"GNMT x 8": (26.3, 1.8e20), "ConvS2S x 8": (26.36, 7.7e19)}
cost |= {"Transformer base": (27.3, 3.3e18), "Transformer big": (28.4, 2.3e19)}
figure = Figure(figsize=(6.2, 3.2))
axes = figure.add_subplot()
for name, (bleu, operations_) in cost.items():
    ours = "Transformer" in name
    axes.plot(operations_, bleu, "s" if ours else "o", color="C1" if ours else "C0")
    side = ((-6, 5), "right") if name == "ConvS2S x 8" else ((6, 3), "left")
    axes.annotate(
        name, (operations_, bleu), xytext=side[0], ha=side[1], textcoords="offset points", size=9
    )
axes.set(xscale="log", xlim=(2e18, 8e20), ylim=(24, 29), title="English to German, newstest2014")
axes.set(xlabel="operations, as printed", ylabel="BLEU")
with_alt(
    figure,
    "BLEU against printed training operations. Transformer base and big lie above all others; base "
    "is also the cheapest.",
)

# %% [markdown]
# *Up is better, left is cheaper; "x 8" marks an ensemble of eight models.*
#
# Every product has the two digits that are printed, and an ensemble counts as eight. (The times of
# ConvS2S and Deep-Att are not in our sources.) Three more notes on what is in print:
#
# - 100,000 steps of 0.4 s, as the paper says elsewhere, are 11.1 hours and not 12.
# - Fleuret's slide ([the lectures](00_opening.ipynb)) gives the eight P100s 150 TFLOPS: half
#   precision at its peak. The table reckons with $8 \cdot 9.5 = 76$, in single precision.
# - For big, En-Fr, the paper's version with BLEU 41.8 in table 2 still has 41.0 in section 6.1.

# %% [markdown]
# ## How it differs
#
# | | Vaswani et al. 2017 | GPT-2 and after | the number translators here |
# |---|---|---|---|
# | loss | cross-entropy, smoothing 0.1 | cross-entropy | both |
# | rate after the warm-up | inverse root of the step | half a cosine | inverse root |
# | $\beta_2$ | 0.98 | 0.95 to 0.999 | 0.98 |
# | clipping | not mentioned | at 1 | at 1 |
# | batch | 25,000 + 25,000 tokens | 0.5 to 4 million tokens | 400 |
# | dropout: share of numbers set to 0 at random | 0.1 base, 0.3 big | 0 to 0.1 | 0 |

# %% [markdown]
# ## In practice
#
# - **Report the cross-entropy without smoothing.** A smoothed loss cannot be compared with a plain
#   one, and its $e^x$ is no perplexity.
# - **Batch by tokens, not by sentences**, and sort sentences of like length together.
# - **When the loss jumps**, look at the gradient's norm before clipping (`history.norms`), then
#   lower the rate or lengthen the warm-up.
# - **Accumulate gradients** when a batch does not fit: the mean must then run over the tokens of
#   all parts.
# - **Look at what it writes** early. A loss cannot see a missing shift.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Two bugs were planted for the test on one batch. Which did the loss find, and what found the
#    other?
#
#    <details><summary>Answer</summary>
#
#    It found the softmax taken twice: the loss stayed high. The missing shift gave a loss near
#    zero; only decoding found it.
#
#    </details>
# 2. A sentence of five words has the loss 0.942. Five places of padding are added, each predicted
#    at a chance of 0.99. What do the right loss and a plain mean show?
#
#    <details><summary>Answer</summary>
#
#    0.942 and 0.476: $-\ln 0.99 = 0.01$ for half of the places. The plain mean falls, though
#    nothing was learned.
#
#    </details>
# 3. On new numbers, what did label smoothing do to confidence, to cross-entropy and to calibration?
#
#    <details><summary>Answer</summary>
#
#    Confidence fell and cross-entropy rose. The model became too modest, so calibration was worse:
#    here each number has one right name.
#
#    </details>
# 4. The rate of the base model peaks at step 4,000. What part of the peak is left at step 64,000?
#
#    <details><summary>Answer</summary>
#
#    A quarter: after the warm-up it falls as $t^{-0.5}$, and $\sqrt{16} = 4$.
#
#    </details>
# 5. The paper prints $3.3 \cdot 10^{18}$ operations for base, and we count fewer. What does each
#    number count?
#
#    <details><summary>Answer</summary>
#
#    The paper's is time, times GPUs, times the speed that a GPU keeps up: what was paid. Ours is
#    the products that the model needs.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* Two words have the chances 0.5 and 0.125. Loss and perplexity?
#
#    <details><summary>Answer</summary>
#
#    $(0.693 + 2.079) / 2 = 1.386$, and $e^{1.386} = 4$: the root of $2 \cdot 8$.
#
#    </details>
# 2. *(on paper, 4 min)* $|V| = 10$ and $\epsilon = 0.2$. What does smoothing want the target's
#    chance to be, and how far should its logit lead?
#
#    <details><summary>Answer</summary>
#
#    $0.8 + 0.02 = 0.82$, the others $0.02$; $\ln 41 = 3.71$.
#
#    </details>
# 3. *(derive, 5 min)* With the same number of steps, which `warmup` makes the peak half as high?
#
#    <details><summary>Answer</summary>
#
#    Four times as long: the peak is $(d_{model} \cdot \mathrm{warmup})^{-0.5}$.
#
#    </details>
# 4. *(find the bug, 8 min)* Someone averages the losses of the batches of an epoch to get the
#    perplexity of a corpus. The batches hold 400 tokens at most. What is wrong, and when does it
#    matter?
#
#    <details><summary>Answer</summary>
#
#    Batches have different numbers of real tokens, so words in sparse batches count more. Weigh
#    each batch by its tokens. It matters where lengths differ much.
#
#    </details>

# %%
# The answers to 1, 2 and 3, checked.
assert abs(perplexity(-torch.tensor([0.5, 0.125]).log().mean()) - 4) < 1e-5
assert abs(math.log(0.82 / 0.02) - 3.71) < 0.005
assert abs(inverse_sqrt(512, 16_000)(16_000) / inverse_sqrt(512, 4000)(4000) - 0.5) < 1e-9
assert abs(math.log(0.775 / 0.075) - 2.3) < 0.05  # smoothing 0.3 of four words
print("answers 1, 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# Training makes the mean of $-\ln p$ over the true next words small, all places of a sentence at
# once, padding not counted. Label smoothing gives the logits a finite goal; the rate rises before
# it falls, because early steps of Adam are full steps from unreliable estimates. The printed
# training costs are time times hardware, a multiple of the operations that the model needs.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 5, and the footnote in section 6.1.
# - Szegedy et al. (2016), *Rethinking the Inception Architecture*, section 7: label smoothing, in
#   half a page.
# - Müller, Kornblith, Hinton (2019), *When Does Label Smoothing Help?*: what it does to the layer
#   before the last, and to calibration.
# - Popel and Bojar (2018), *Training Tips for the Transformer Model*: batch size, warm-up and rate,
#   measured.
# - Shazeer et al. (2017), *Outrageously Large Neural Networks*, tables 2 to 4: GPUs and days.

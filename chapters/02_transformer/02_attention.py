# %% [markdown] tags=["slide"]
# # Attention
#
# A translator has read *the black cat sleeps* and written *le*. Which of the words it read should
# decide the word it writes next?
#
# <small>Prerequisites: vectors and the dot product · 25 min · runs on a laptop · book 2.3 and
# 2.4.2</small>

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
from deepdive_book.kit.diagrams import links
from deepdive_book.kit.plotting import show

english, french = ["the", "black", "cat", "sleeps"], ["le", "chat", "noir", "dort"]
drawn = [[0.94, 0.02, 0.04, 0], [0.05, 0.08, 0.87, 0], [0, 0.9, 0.1, 0], [0, 0, 0.06, 0.94]]
show(
    links(english, french, drawn, chosen=1),
    "Links from the French words le chat noir dort to the English words. From chat a thick link "
    "goes to cat, and thin ones to the and black.",
)

# %% [markdown]
# *The links of one word, drawn by hand: the thicker, the more that English word counts for* chat.
#
# The answer is a set of weights, one for each source word, that sum to one. *chat* needs *cat*
# most, *black* a little (which cat?), *sleeps* hardly at all. The word after it needs other
# weights. A network that squeezes the whole sentence into one vector, as on
# [the page before](01_seq2seq.ipynb), has no such choice: every output word gets the same summary.
#
# **Attention** computes the weights from the words themselves. On this page you compute one set by
# hand, write the code in three lines, see what goes wrong without a certain square root, and train
# a model whose weights you can read.

# %% [markdown]
# ## The idea: a soft look-up
#
# A Python dictionary compares a query with its keys, finds the one that is equal, and returns its
# value. Attention does the same, softly. Every key gets a **score** that says how well it fits the
# query. The scores become **weights**. The output is the average of *all* values, under these
# weights.
#
# | step | what happens | dictionary | attention |
# |---|---|---|---|
# | score | compare the query with each key | equal or not | dot product |
# | weigh | turn scores into weights | one 1, the rest 0 | softmax: positive, sum 1 |
# | mix | combine the values | the one value | weighted average |
#
# Query, key and value are three vectors with three jobs. A key says what a word *offers*, a query
# what is *wanted*, a value what is *handed over* when the two fit. A model makes all three from the
# words' vectors, by three learned matrices; until the model below they are simply given.

# %% [markdown]
# ## By hand: three words, four dimensions
#
# You have done this sum with [a cow](../00_start/01_ten_minutes.ipynb). New here: four dimensions
# and a square root. If it sits, go on to the code.
#
# Take *the black cat*. To keep the arithmetic on one line, the four dimensions of the keys have
# meanings that we choose: noun, adjective, animal, article. (A trained model chooses its own, and
# they rarely have names.) The translator wants a noun, and would take an adjective. The values need
# no meanings: each word hands over ones in places of its own, so that you can see its share.

# %% tags=["nbval-check-output"]
import torch

words = ["the", "black", "cat"]
query = torch.tensor([2.0, 1.0, 0.0, 0.0])  # noun: 2, adjective: 1
keys = torch.tensor([[0.0, 0, 0, 2], [0, 2, 0, 0], [2, 0, 1, 0]])
values = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])

dots = keys @ query
dots

# %% [markdown]
# Check the last one with a pencil: *cat* has key $(2, 0, 1, 0)$, so its dot product with the query
# $(2, 1, 0, 0)$ is $2\cdot2 + 0\cdot1 + 1\cdot0 + 0\cdot0 = 4$.
#
# Next, divide by the square root of the number of dimensions, $\sqrt 4 = 2$. (Why, we shall see
# below.) Then apply the softmax: raise $e$ to each score, and divide by the sum.

# %%
scores = dots / 4**0.5
powers = scores.exp()
weights = powers / powers.sum()
for word, score, power, weight in zip(words, scores, powers, weights, strict=True):
    print(f"{word:>6}: score {score:.0f}, e^score {power:.3f}, weight {weight:.3f}")

# %% By hand: one query, three words [markdown] tags=["slide"]
# The powers sum to $1 + 2.718 + 7.389 = 11.107$, and $7.389 / 11.107 = 0.665$: two thirds of the
# attention goes to *cat*. The output mixes the three values in these proportions.

# %% tags=["slide"]
from deepdive_book.kit.diagrams import look_up

output = weights @ values
numbers = [t.tolist() for t in (keys, values, scores, weights, output)]
show(
    look_up(query.tolist(), words, *numbers),
    "The query beside three keys with scores 0, 1, 2 and weights 0.090, 0.245, 0.665; "
    "arrows from the values, as thick as the weights, meet in 0.09, 0.24, 0.67, 0.67.",
)

# %% [markdown]
# *Read it row by row, left to right. The rows meet twice: in the softmax's sum, and in the mix.*

# %% In three lines [markdown] tags=["slide"]
# ## In code: three lines
#
# Many queries are the $T$ rows of a matrix $Q$; keys and values are the $S$ rows of $K$ and $V$.
# With $d$ numbers in each query and key, one matrix product computes all $T \times S$ scores:
#
# $$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\left(\frac{Q K^\top}{\sqrt{d}}\right) V$$
#
# The softmax runs along the keys, so that each *row* sums to one.
#
# Vectors are rows on all pages, as in the code: the dot product of $q$ and $k$ is $q\,k^\top$.
# (Texts that use columns write $W_q x$ where we write $x W_q$.)


# %% tags=["slide", "code"]
def attention(q, k, v):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (T, S)
    weights = scores.softmax(dim=-1)  # (T, S), each row sums to 1
    return weights @ v  # (T, width of v)


assert torch.allclose(attention(query[None], keys, values)[0], output)
attention(query[None], keys, values)

# %% [markdown]
# The same three steps stand in the library as `SoftmaxAttention`, one method each: `score`,
# `weigh`, `mix`. Its tensors are (B, H, T, d): B sentences, and H heads, attentions side by side.
# Our three lines and the library's class must give the same numbers. From here on we use the class.

# %%
from deepdive.core import SoftmaxAttention

q, k, v = (torch.randn(2, 3, length, 16) for length in (5, 7, 7))  # (B, H, T or S, d)
difference = (attention(q, k, v) - SoftmaxAttention()(q, k, v)).abs().max()
assert difference < 1e-6
f"largest difference below 1e-6: {bool(difference < 1e-6)}"

# %% [markdown]
# ## Why the square root?
#
# Let the entries of $q$ and $k$ be independent, with mean 0 and variance (spread squared) 1. Then
# their dot product spreads by $\sqrt d$, as in [the math](../00_start/02_maths.ipynb): variances
# add up, and $d$ products of variance 1 have variance $d$. In 1,024 dimensions that is
# $\sqrt{1024} = 32$. Between two keys whose scores are 32 apart, the weights differ by a factor of
# $e^{32}$. Dividing by $\sqrt d$ brings the variance back to 1, whatever $d$.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Seven keys, all drawn alike, 1,024 dimensions, no square root. How large is the largest of "
    "the seven weights, on average?",
    ["about 1/7, since the keys are alike", "about 0.5", "above 0.9"],
    answer=2,
    explain="Scores that differ by 30 have powers that differ by a factor of e^30. The largest "
    "takes nearly everything, although no key deserves it. See the next figure.",
    key="02_transformer/square-root",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# Measure it. For each number of dimensions, draw a thousand queries with seven keys each, and look
# at two things: the largest weight, and how strongly the weights still answer to a change of the
# scores. The slope of weight $w_i$ by score $j$ is $w_i(1 - w_i)$ where $i = j$, else $-w_i w_j$.
# All 7 x 7 together are the **Jacobian**; take its norm.

# %%
dimensions = [4, 16, 64, 256, 1024]


def measure(scale):
    largest, slope = [], []
    for d in dimensions:
        q, k = torch.randn(1000, 1, d), torch.randn(1000, 7, d)
        w = (q @ k.transpose(1, 2) * scale(d)).softmax(-1).squeeze(1)  # (1000, 7)
        largest.append(w.max(-1).values.mean().item())
        jacobian = torch.diag_embed(w) - w[:, :, None] * w[:, None, :]  # (1000, 7, 7)
        slope.append(jacobian.flatten(1).norm(dim=1).mean().item())
    return largest, slope


plain, scaled = measure(lambda d: 1.0), measure(lambda d: d**-0.5)

# %% Why the square root? tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7.2, 2.9))
panels = zip(figure.subplots(1, 2), ["largest of 7 weights", "size of the derivative"], strict=True)
for i, (axes, title) in enumerate(panels):
    axes.plot(dimensions, plain[i], "o-", label="q k")
    axes.plot(dimensions, scaled[i], "s--", label="q k / sqrt(d)")
    axes.set(title=title, xlabel="d", xscale="log", ylim=(0, None), xticks=dimensions)
    axes.set_xticks([], minor=True)
    axes.set_xticklabels(dimensions)
axes.legend()
with_alt(
    figure,
    "Two panels against d. Without the square root the largest weight rises towards 1 and the "
    "derivative falls towards 0; with it both stay level.",
)

# %% [markdown]
# *Left: without the square root one key takes all. Right: there the derivative vanishes, and with
# it the gradient that could correct the choice.*

# %%
assert plain[0][-1] > 0.9 > 0.6 > scaled[0][-1]
assert scaled[1][-1] > 5 * plain[1][-1]
print(f"d = 1024, without: largest weight {plain[0][-1]:.2f}, derivative {plain[1][-1]:.3f}")
print(f"d = 1024, with:    largest weight {scaled[0][-1]:.2f}, derivative {scaled[1][-1]:.3f}")

# %% [markdown]
# That is the reason for $\sqrt d$: not the size of the numbers as such, but a softmax that can
# still learn. A model starts undecided, and earns its certainty by training.

# %% [markdown]
# ## Other ways to score
#
# The dot product is one way to compare. The family differs in the `score` step only; weighing and
# mixing stay.
#
# | name | score of $q$ and $k$ | parameters | from |
# |---|---|---|---|
# | dot | $q\,k^\top$ | none | Luong 2015 |
# | scaled dot | $q\,k^\top / \sqrt d$ | none | Vaswani 2017 |
# | general | $q\,W k^\top$ | $d_q d_k$ | Luong 2015 |
# | additive | $u \cdot \tanh(q A_q + k A_k + b)$ | $d_a (d_q + d_k + 2)$ | Bahdanau 2015 |
#
# A query has $d_q$ numbers, a key $d_k$: *general* and *additive* compare spaces of different size.
# *Additive* is a small network for each pair, with $d_a$ numbers inside ($u$ and $b$ have as many).
# At the numbers from above, with $W$ the identity, they give the three words these weights:

# %%
from deepdive.attention import AdditiveAttention, DotAttention, GeneralAttention
from deepdive.core.hooks import record

general = GeneralAttention(4)
with torch.no_grad():
    general.W.weight.copy_(torch.eye(4))
family = {
    "dot": DotAttention(),
    "scaled dot": SoftmaxAttention(),
    "general, W = 1": general,
    "additive, untrained": AdditiveAttention(4),
}
for name, mechanism in family.items():
    with record(mechanism, "weights") as seen, torch.no_grad():
        mechanism(query[None, None, None], keys[None, None], values[None, None])
    print(f"{name:>20}:", *(f"{w:.3f}" for w in seen["weights"][0].flatten()))

# %% [markdown]
# With $W$ the identity, *general* is *dot*. Without the square root *cat* gets more than its two
# thirds. The untrained additive score knows nothing yet. The [next page](03_scores.ipynb) compares
# them.
#
# You have met `record` [with the cow](../00_start/01_ten_minutes.ipynb). The weights pass through a
# named **hook point**; whoever records it gets the tensor that was used. With nobody looking, the
# three steps run as one call of a faster, ready-made routine (they are *fused*).

# %% [markdown]
# ## Masks: what must not be seen
#
# Sentences in a batch have different lengths, so the short ones are filled up with padding. A query
# must not attend to padding. A **mask** says who may be attended to. Here True means *may*. (For
# brevity one random tensor plays queries, keys and values.)

# %%
from deepdive.core.masks import Padding
from deepdive_book.kit.plotting import heatmap

tokens = ["the", "black", "cat", "[pad]"]
real = torch.tensor([[True, True, True, False]])
x = torch.randn(1, 1, 4, 16)
mechanism = SoftmaxAttention()
with record(mechanism, "weights") as seen:
    masked = mechanism(x, x, x, mask=Padding(real))
heatmap(seen["weights"][0][0, 0], tokens, tokens, digits=2, title="with a padding mask")

# %% [markdown]
# *Queries down, keys across. The last column is zero for every query, and each row still sums to
# one.* (Large on the diagonal: there query and key are the same random vector. The padding's own
# row is computed too; nobody uses it.)

# %% [markdown]
# ### Common mistake: masking after the softmax
#
# "Padding gets weight zero" invites this code. It runs, and it is wrong:


# %%
def masked_too_late(q, k, v, real):
    weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
    weights = weights * real  # wrong: the rest no longer sums to 1
    return weights @ v, weights.sum(-1)


wrong, sums = masked_too_late(x, x, x, real)
print("rows sum to", *(f"{s:.2f}" for s in sums.flatten()))
assert (sums < 0.999).any()

# %% [markdown]
# **Symptom:** the rows do not sum to one (the last, 0.01, is the padding's own), and the output
# changes with whatever stands under the padding, because padding still took part in the softmax's
# sum. A short sentence gives other numbers in a batch than alone. No error is raised; the model is
# perhaps only a little worse.
#
# **Fix:** mask the *scores*, before the softmax: set them to minus infinity, so that their power
# is zero. The test that finds the mistake is to change what lies under the padding, and to see
# nothing move:


# %%
def masked_in_time(q, k, v, real):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return scores.masked_fill(~real, float("-inf")).softmax(-1) @ v


assert torch.allclose(masked_in_time(x, x, x, real), masked, atol=1e-6)
other = x.clone()
other[:, :, 3] = 100.0  # nobody may look here
again = masked_in_time(other, other, other, real)
too_late = masked_too_late(other, other, other, real)[0]
assert torch.allclose(again[:, :, :3], masked[:, :, :3], atol=1e-6)
assert not torch.allclose(too_late[:, :, :3], wrong[:, :, :3], atol=1e-3)
print("masked before the softmax: nothing moved. Masked after it: the output changed.")

# %% [markdown]
# ## A model whose attention can be read
#
# Now train one. The task: spell a word of $n$ letters backwards. Counted from 0, letter $t$ of the
# answer is letter $n - 1 - t$ of the source. There the model must look, so we know what the weights
# *should* be. (It can: each letter's vector also carries its position.) The words are generated:
# random letters, 4 to 10 of them.

# %%
import string

from deepdive.data import BucketBatches
from deepdive.data.generated import reversal
from deepdive.tokenizers import BOS, EOS

letters = ["", "", "", "", *string.ascii_lowercase]  # ids 0 to 3: padding, begin, end, unknown


def spell(ids):
    return "".join(letters[i] for i in ids)


pairs = reversal(20_000, length=(4, 10), vocab=26, seed=1)
source = [word for word, _ in pairs]
target = [[BOS, *answer, EOS] for _, answer in pairs]
batches = BucketBatches((source, target), max_tokens=400, seed=1)
[(spell(word), spell(answer)) for word, answer in pairs[:3]]

# %% [markdown]
# The model is the smallest Transformer that the library builds: one layer in the encoder, which
# reads the word, one in the decoder, which writes the answer, one head. Its parts have pages of
# their own. Here only one matters: in the decoder, each output letter sends a query to the letters
# of the source. This is **cross-attention**: the queries come from one sequence, the keys and
# values from another.

# %%
from deepdive.models.transformer.transformer import transformer
from deepdive.training import fit
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import adam, cosine

model = transformer(30, d_model=64, n_heads=1, n_layers=1, d_ff=128, dropout=0.0)


def loss(model, batch):
    source, target = batch
    logits = model(source, target[:, :-1], source != 0)  # each letter predicts the next
    return cross_entropy(logits, target[:, 1:])


steps = 1500
history = fit(
    model, batches, loss, steps=steps,
    optimizer=adam(model), schedule=cosine(3e-3, warmup=100, total=steps),
)
first, last = (sum(part) / 20 for part in (history.losses[:20], history.losses[-20:]))
f"loss {first:.2f} in the first 20 steps, {last:.3f} in the last 20 of {steps:,}"

# %% [markdown]
# Try it on words that it has never seen.

# %%
from deepdive.decoding import greedy

test = reversal(300, length=(4, 10), vocab=26, seed=2)
right = 0
for word, answer in test:
    right += greedy(model, torch.tensor([word]), max_length=12)[0] == answer
accuracy = right / len(test)
assert accuracy > 0.9
print(f"{accuracy:.1%} of {len(test)} new words spelled backwards without a mistake")

# %% tags=["fold"]
predict(
    "Queries (the letters being written) run down, keys (the letters of the source) across. Where "
    "do the large weights lie?",
    [
        "on the diagonal from top left to bottom right",
        "on the other diagonal, from top right to bottom left",
        "everywhere: the model has read the whole word",
    ],
    answer=1,
    explain="The first letter written is the last of the source, so the first row looks at the "
    "last column, and so on down.",
    key="02_transformer/reversal-map",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Weights that can be read tags=["slide", "surprise"]
word = [letters.index(c) for c in "attention"]
source, prefix = torch.tensor([word]), torch.tensor([[BOS, *word[::-1]]])
with record(model, "decoder.*.cross.mechanism.weights") as seen, torch.no_grad():
    model(source, prefix)
(weights,) = next(iter(seen.values()))  # (1, 1, 10, 9)
written = [*word[::-1], EOS]
rows = [letters[i] or "end" for i in written]
heatmap(weights[0, 0], rows, list("attention"), title="cross-attention, by letter written")

# %% [markdown]
# *Each row is one letter being written. Its largest weight lies, as a rule, on the letter that it
# copies. The last row writes the end of the word; it has nothing to copy, and looks where it
# likes.*
#
# (In the name of the hook point, the star stands for any layer; here there is one.) One word may be
# luck. Over all test words, how often does the largest weight of a row lie on the mirrored letter?

# %%
hits = total = 0
for word, answer in test:
    with record(model, "decoder.*.cross.mechanism.weights") as seen, torch.no_grad():
        model(torch.tensor([word]), torch.tensor([[BOS, *answer]]))
    (weights,) = next(iter(seen.values()))
    mirrored = torch.arange(len(word)).flip(0)
    hits += (weights[0, 0, : len(word)].argmax(-1) == mirrored).sum().item()
    total += len(word)
assert hits / total > 0.9
print(f"{hits / total:.1%} of {total} letters give their largest weight to the one copied")

# %% [markdown]
# ## Is it the cause?
#
# A map that looks right proves little: the model might copy by some other way. So reach in.
# Replace the weights by ones of our own, a perfect diagonal from top left to bottom right, and
# leave the rest of the trained model as it is. If the weights decide the order, this must change
# what is written.
#
# The decoder also reads what has been written so far. In both runs we hand it the same, the word
# forwards, as if it had written that so far; so only the weights differ. Then we ask for the next
# letter, once under forced weights and once under the model's own.

# %% tags=["fold"]
predict(
    "The model was trained to reverse. We force its weights onto the other diagonal. What does it "
    "write for `attention`?",
    [
        "noitnetta: it has learned to reverse",
        "the letters of attention in their own order",
        "letters in no order",
    ],
    answer=1,
    explain="The rest of the model copies whatever the weights point at. Point them forwards, and "
    "it copies forwards. The weights are where the order is decided.",
    key="02_transformer/forced-map",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from collections import Counter

from deepdive.core.hooks import replace


def forwards(weights):  # (1, 1, T, S)
    forced = torch.zeros_like(weights)
    steps = range(min(weights.shape[-2:]))
    forced[..., steps, steps] = 1.0
    return forced


def next_letters(word):
    with torch.no_grad():
        logits = model(torch.tensor([word]), torch.tensor([[BOS, *word]]))
    return logits[0, : len(word)].argmax(-1).tolist()


# %% tags=["surprise"]
found = {"forced": Counter(), "its own": Counter()}
for word, answer in test[:100]:
    with replace(model, "decoder.*.cross.mechanism.weights", forwards):
        forced = next_letters(word)
    for name, chosen in (("forced", forced), ("its own", next_letters(word))):
        for letter, here, mirrored in zip(chosen, word, answer, strict=True):
            if here != mirrored:  # else the two orders cannot be told apart
                kind = {mirrored: "backwards", EOS: "the end mark", here: "forwards"}
                found[name][kind.get(letter, "another letter")] += 1
with replace(model, "decoder.*.cross.mechanism.weights", forwards):
    chosen = next_letters([letters.index(c) for c in "attention"])
print("with forced weights:", "".join(letters[i] or "." for i in chosen))
shares = {n: {k: c / kinds.total() for k, c in kinds.items()} for n, kinds in found.items()}
for name, share in shares.items():
    print(f"{name:>8}:", ", ".join(f"{kind} {part:.0%}" for kind, part in share.items()))
assert shares["forced"]["forwards"] > 0.5 > 10 * shares["forced"].get("backwards", 0)
assert shares["forced"]["forwards"] > 5 * shares["its own"].get("forwards", 0)

# %% [markdown]
# *A dot is the end mark; the percentages are over the letters of 100 test words.*
#
# Under forced weights the letters that come out are the source's, in the source's own order. Under
# its own weights only part of them comes out backwards: what it finds written so far, the word
# forwards, is nothing that it met in training. What the map does not decide alone is where the word
# ends.
#
# So the weights decide *which letter is copied*. Weights that look meaningful are not always the
# cause; only an intervention like this one tells.

# %% [markdown]
# ## How it differs
#
# | | look-up in a dictionary | average over all values | attention | RNN's last state |
# |---|---|---|---|---|
# | weights | one 1 | all equal | computed from query and keys | none |
# | differs by query | yes | no | yes | no |
# | can be learned by gradient | no | nothing to learn | yes | yes |
# | steps from any word to the output | 1 | 1 | 1 | up to n |
# | work for n words | 1 | n | n for each query | n |
#
# The last line is the price. Every query meets every key: with twice the words asking and twice the
# words answering, four times the work. [Page 2.15](15_complexity.ipynb) measures it;
# [chapter 5](../05_efficient/00_opening.ipynb) is about what can be done.

# %% [markdown]
# ## In practice
#
# - **Say what True means.** Here True = may attend. In `torch.nn.MultiheadAttention` it is the
#   opposite, and a flipped mask raises no error there. Ours refuses a mask that leaves a whole
#   row without a real token.
# - **Compute the softmax in float32** when the model runs in half precision.
# - **Use the fused routine** for speed and the explicit steps for looking. They must agree; in this
#   library a test holds them to it.
# - **Do not read one map as a proof.** Count over many inputs, and intervene.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A query and a key of 4 numbers have the dot product 4. What is the score, and why can the
#    weight of this key still be small?
#
#    <details><summary>Answer</summary>
#
#    $4 / \sqrt 4 = 2$. The weight is $e^2$ divided by the sum of the powers of all keys; another
#    key may score more.
#
#    </details>
# 2. Five queries and seven keys are 16 numbers wide, the seven values 20. Which shapes have the
#    weights and the output, and what sums to one?
#
#    <details><summary>Answer</summary>
#
#    The weights are (5, 7) and the output is (5, 20). Each row of the weights sums to one.
#
#    </details>
# 3. Queries and keys have 64 independent entries of variance 1. How large is a dot product
#    typically, and what did the measurement show for softmaxes of such scores as $d$ grows?
#
#    <details><summary>Answer</summary>
#
#    $\sqrt{64} = 8$. The largest of seven weights rose toward 1 and the derivative fell toward 0,
#    so that such a softmax can hardly learn. Divided by $\sqrt d$, both stayed level.
#
#    </details>
# 4. Why is it too late to set the weights of the padding to zero after the softmax, and which test
#    finds the mistake?
#
#    <details><summary>Answer</summary>
#
#    The padding has already had its part in the softmax's sum. The other weights no longer sum to
#    one, and they change with whatever lies under the padding. Change what lies there, and see
#    whether anything moves.
#
#    </details>
# 5. What did forcing the weights onto the other diagonal show that the map and the count could
#    not?
#
#    <details><summary>Answer</summary>
#
#    That the weights are a cause: the letters came out in the source's own order, though the model
#    had learned to reverse. They do not alone decide where the word ends.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* Let the query be $(0, 2, 0, 0)$ with the keys from above. Which word gets
#    the most weight, and how much?
#
#    <details><summary>Answer</summary>
#
#    The dot products are 0, 4, 0 and the scores 0, 2, 0. The powers are 1, 7.389, 1, with sum
#    9.389. *black* gets 7.389 / 9.389 = 0.787.
#
#    </details>
# 2. *(predict, 3 min)* Multiply all scores by 10, then by 0. What do the weights approach?
#
#    <details><summary>Answer</summary>
#
#    By 10: a single 1 at the largest score, the dictionary. By 0: all equal, the plain average.
#    (One over this factor is the temperature $\tau$.)
#
#    </details>
# 3. *(derive, 8 min)* Add the same number $c$ to all scores of a query. What happens to the
#    weights? What does that say about a bias vector in the projection that makes the keys?
#
#    <details><summary>Answer</summary>
#
#    Nothing: $e^{s+c} = e^c e^s$, and $e^c$ cancels. A key bias $b$ adds $q\,b^\top$ to every score
#    of a query, so it changes no weight and its gradient is zero.
#
#    </details>
# 4. *(code, 10 min)* Train the reversal model 256 wide, with the square root and without. (Each of
#    its three attentions has an attribute `scale`; set to 1, nothing is divided.) How many steps
#    until the loss is below 0.1?
#
#    <details><summary>Answer</summary>
#
#    Build it with `d_model=256`. For the second run, before `fit`:
#
#    ```python
#    from deepdive.core import MultiHeadAttention
#
#    for part in model.modules():
#        if isinstance(part, MultiHeadAttention):
#            part.scale = 1.0
#    ```
#
#    `history.losses` has one loss a step. You can see the handicap before the first one. In fresh
#    models, on words of 7 letters, the largest weight of a cross-attention row was about 0.3 with
#    the root and 0.9 without, and the norm of the derivative 0.37 against 0.12. Repeat with
#    another seed and rate before you believe a difference in steps.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
by_hand = (keys @ torch.tensor([0.0, 2, 0, 0]) / 2).softmax(-1)
assert torch.allclose(by_hand[1], torch.tensor(0.787), atol=5e-4)
assert (10 * scores).softmax(-1).max() > 0.9999
assert torch.allclose((0 * scores).softmax(-1), torch.full((3,), 1 / 3))
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# Attention answers a query with a weighted average of values; the weights are the softmax of how
# well each key fits the query. The square root of $d$ keeps the scores small enough for the softmax
# to learn. The weights can be recorded, counted and replaced, and in a toy where we know what they
# should be, they are just that.
#
# ## Further reading
#
# - Bahdanau, Cho, Bengio (2015), *Neural Machine Translation by Jointly Learning to Align and
#   Translate*: where attention began; its figure 3 is the first alignment map.
# - Luong, Pham, Manning (2015), *Effective Approaches to Attention-based Neural Machine
#   Translation*: dot, general, and what they cost.
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3.2: the square root, and its
#   footnote 4 with the variance argument.
# - In this companion: case study 2 draws these maps for a real English-French translator.

# %% [markdown] tags=["slide"]
# # Mixture of experts (Switch Transformer): one expert per token
#
# A town hall has one clerk, who has to know everything. Now it hires eight, and a porter who sends
# each visitor to one of them. A visitor still talks to one clerk, so the work for each is the same
# as before. For the same work, does a town hall with eight clerks serve its visitors better?
#
# <small>Prerequisites: [the feed-forward layer](../02_transformer/10_feed_forward.ipynb),
# [T5](10_t5.ipynb) · 16 min · runs on a laptop; results of the long runs are included · book
# 5.4.1</small>

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
# In a Transformer the clerk is the feed-forward layer, which holds most of the weights. To know
# more it must be wider, and then every token pays for the whole width. A **mixture of experts**
# breaks this bond. It puts $E$ feed-forward layers side by side, the experts. A small matrix $W$,
# the **router**, looks at the token $x$ and says how likely each expert is to be the right one.
# Shazeer et al. (2017) asked several experts; the Switch Transformer (Fedus, Zoph and Shazeer 2022)
# asks only the likeliest, $e$:
#
# $$y = p_e(x) \cdot \mathrm{expert}_e(x), \qquad e = \mathrm{argmax}_i\, p_i(x), \qquad p(x) =
# \mathrm{softmax}(W x)$$
#
# The layer has $E$ times the weights and as many operations as before, but for the router's. A
# whole model grows less, since only every second such layer is made of experts:

# %% Count the weights tags=["fold", "nbval-check-output"]
import torch

from deepdive.models.generative import switch, t5

SIZES = {"d_model": 768, "n_heads": 12, "n_layers": 12, "n_decoder_layers": 12, "d_ff": 3072}
with torch.device("meta"):
    for name, model in (("T5, base", t5.t5(**SIZES)), ("Switch, base, 8 experts", switch.switch())):
        print(f"{name}: {sum(p.numel() for p in model.parameters()) / 1e6:.0f} million weights")


# %% [markdown] tags=["slide"]
# ## Where the letters go
#
# Below, eight experts of a small decoder get the letters of a line of Shakespeare that the decoder
# did not learn from. Each letter goes to the expert that the router named. There are two things to
# move.
#
# **Room** is how many letters of a text an expert takes: machines want lists of a fixed length. If
# all experts were asked equally often, room for 4 of the 32 letters would do; the **capacity
# factor** says how many times as much there is. A letter that finds its expert full passes by: the
# layer adds 0 to it, and it goes on as it came.
#
# **Balance weight** is how much the training cared that all experts get letters.

# %% The text, and what was measured tags=["fold"]
import json

from deepdive_book.ch05.runs import experts as runs
from deepdive_book.ch06a.runs import decoder_ablations
from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.kit.profile import banner, profile

LINE = "Good morrow, neighbour Baptista."
real, live = profile() != "ci", profile() != "experiment"
letters = "abcdefghijklmnopqrstuvwxyz ,.GB"
text = (decoder_ablations.shakespeare() if real
        else decoder_ablations.cut(letters + "good morrow to you, sir. " * 400))  # fmt: skip
print(banner("tinyshakespeare (real)" if real else "one line again and again (generated)"))

# %% The kept rows tags=["fold"]
WEIGHTS, TIGHT = (0.0, 0.01, 0.1), 10
SETTINGS = [(None, None), *((w, None) for w in WEIGHTS), (0.01, TIGHT)]
points = [{"weight": w, "room": room, "seed": seed, "steps": round(share() * runs.STEPS)}
          for seed in range(3) for w, room in SETTINGS]  # fmt: skip


def measured(weight, room, seed, steps):
    return runs.measure(text, weight, room, seed, steps, LINE)


path = results_path("05_efficient", "experts")
if live:
    rows = json.loads(path.read_text())["rows"] if path and path.is_file() else []
else:
    rows = sweep(measured, points, path, data="tinyshakespeare")
one = {w: r for w in WEIGHTS for r in rows if (r["weight"], r["room"], r["seed"]) == (w, None, 0)}

# %% Send the letters tags=["slide", "fold"]
from deepdive_book.ch05.figures.expert_routing import expert_routing

routes = {f"{w:g}": r["line"] for w, r in one.items()} or {"none": [i % 8 for i in range(32)]}
expert_routing(LINE, routes, n_experts=8, room=5)

# %% [markdown]
# *A space is drawn as a low line. Green squares: the room of each expert. Dashed letters: they
# found no room.*
#
# 1. Leave the weight at 0, and give the most room. Does everybody find a place?
# 2. Go to the largest weight. How much room is needed now?
# 3. Which letters share an expert?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. No: one expert is asked for by 18 letters, more than the slider can give.
# 2. Room for 7.
# 3. Often the same letters, wherever they stand: at the largest weight every `o` is with one
#    expert. But not always: look at the `a`.
#
# </details>

# %% [markdown] tags=["slide"]
# ## By hand: four tokens, two experts
#
# Tokens come with a value, and with what the router says. Expert 1 answers 10 times the value,
# expert 2 answers minus 10 times. The capacity factor is 1, so there is room for $4 / 2 = 2$.
#
# | token | value | $p_1$ | $p_2$ | goes to | answer | comes out |
# |---|---|---|---|---|---|---|
# | a | 1 | 0.8 | 0.2 | 1 | $0.8 \cdot 10 = 8$ | $1 + 8 = 9$ |
# | b | 2 | 0.6 | 0.4 | 1 | $0.6 \cdot 20 = 12$ | $2 + 12 = 14$ |
# | c | 3 | 0.7 | 0.3 | 1, full | 0 | 3 |
# | d | 4 | 0.1 | 0.9 | 2 | $0.9 \cdot (-40) = -36$ | $4 - 36 = -32$ |
#
# Token c came third, and expert 1 had two already. In a residual stream that is no disaster: c goes
# on as it was, and the next layer sees it.
#
# ### The price of crowding
#
# Expert 1 was named by 3 of 4 tokens: its share is $f_1 = 0.75$, and $f_2 = 0.25$. On average the
# router gave it $P_1 = (0.8 + 0.6 + 0.7 + 0.1) / 4 = 0.55$, and $P_2 = 0.45$. The **balance loss**
# multiplies the two, expert by expert:
#
# $$E \sum_i f_i P_i = 2 \cdot (0.75 \cdot 0.55 + 0.25 \cdot 0.45) = 1.05$$
#
# It is 1 where all is even, and $E$ where one expert gets everything with a probability of 1. A
# share is a count, and has no gradient. But $P$ has one, and it is multiplied by the share: the
# more an expert is asked, the harder its probability is pushed down. The training adds this loss,
# times the balance weight.

# %% Check both with the library tags=["fold", "nbval-check-output"]
from deepdive.layers import SparseExperts, SwitchRouter, TopKRouter
from deepdive.layers.experts import balance_loss

says = torch.tensor([[0.8, 0.2], [0.6, 0.4], [0.7, 0.3], [0.1, 0.9]])
x = torch.cat((torch.tensor([[1.0], [2.0], [3.0], [4.0]]), says.log()), 1)[None]
layer = SparseExperts(SwitchRouter(3, 2), 3, 1, capacity=2)
with torch.no_grad():
    layer.router.score.weight.copy_(torch.tensor([[0.0, 1, 0], [0, 0, 1]]))
    layer.experts.inner.weight.copy_(torch.tensor([[[1.0, 0, 0]]] * 2))
    layer.experts.out.weight.copy_(torch.tensor([[[10.0], [0], [0]], [[-10.0], [0], [0]]]))
    out = (x + layer(x))[0, :, 0]
    price = balance_loss(says[None], says.argmax(-1)[None, :, None])
assert torch.allclose(out, torch.tensor([9.0, 14, 3, -32]))
assert round(float(price), 4) == 1.05
print("comes out:", [round(v) for v in out.tolist()], "balance loss:", round(float(price), 2))

# %% [markdown] tags=["slide"]
# ## Without the price
#
# Why pay for balance at all? An expert that is asked more learns more, and one that has learned
# more is a better choice. So a small lead can grow. We train the small decoder without any limit of
# room, and let the balance weight be 0, 0.01 (the choice of Fedus et al.) or 0.1. Three seeds each,
# on letters of tinyshakespeare.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "No balance loss, and room for everybody. What does that do to the loss on the test?",
    ["it is clearly worse: experts are wasted", "it hardly changes",
     "it is clearly better: the router chooses freely"],
    answer=1,
    explain="Some experts are hardly asked at all, so weights are wasted. But whoever comes to a "
    "crowded expert gets an answer all the same, as long as there is room.",
    key="05_efficient/balance",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["slide", "fold"]
from statistics import mean

from deepdive_book.kit.tables import table


def of(weight, room, name):
    return [r[name] for r in rows if (r["weight"], r["room"]) == (weight, room)]


shown = []
for w in WEIGHTS if rows else []:
    busiest, idle = of(w, None, "busiest"), [min(each) for each in of(w, None, "asked")]
    shown.append({"balance weight": f"{w:g}", "busiest expert": mean(busiest),
                  "seeds": f"{min(busiest):.0%} to {max(busiest):.0%}",
                  "least busy": mean(idle),
                  "nats a letter": mean(of(w, None, "test"))})  # fmt: skip
table(shown or [{"balance weight": "no kept file here"}],
      formats=dict.fromkeys(["busiest expert", "least busy"], ".0%") | {"nats a letter": ".3f"}
      if shown else None,
      caption="share of the test's letters, and the loss there; means of three seeds")  # fmt: skip

# %% The line above, counted tags=["fold"]
for w, r in one.items():
    crowd = max(r["line"].count(e) for e in range(runs.EXPERTS))
    print(f"weight {w:g}: the busiest expert is asked for by {crowd} of the line's 32 letters")

# %% [markdown]
# Without the price the busiest expert gets 26% of the letters, twice its eighth, and the least busy
# one is hardly asked at all: its weights were bought for nothing. With a weight of 0.01 nobody is
# idle, and the busiest expert has little more than its eighth. The loss hardly notices, as long as
# there is room for everybody: 2.091, 2.091 and 2.097 are no ranking, since the differences change
# their sign from seed to seed.

# %% [markdown] tags=["slide"]
# ## When the desk is full
#
# Now each expert has room for only some of the 64 letters that the decoder reads at once. With 8
# experts, 8 is what even shares would need: capacity factor 1. How many letters pass by?

# %% tags=["slide", "fold"]
shown = []
for i, room in enumerate(runs.ROOMS if rows else ()):
    row = {"room": room, "capacity factor": room * runs.EXPERTS / runs.LENGTH}
    for w in (0.0, 0.01):
        row[f"pass by, weight {w:g}"] = mean(p[i] for p in of(w, None, "passing"))
        row[f"loss, weight {w:g}"] = mean(p[i] for p in of(w, None, "tight"))
    shown.append(row)
kinds = {f"pass by, weight {w:g}": ".1%" for w in (0.0, 0.01)}
kinds |= {f"loss, weight {w:g}": ".3f" for w in (0.0, 0.01)} | {"capacity factor": "g"}
table(shown or [{"room": "no kept file here"}], formats=kinds if shown else None,
      caption="trained without a limit, then limited; means of three seeds")  # fmt: skip

# %% [markdown]
# At capacity factor 1, 39% of the letters pass by without balance, and with it still 17%: shares
# that are even over the whole text are not even in each stretch of 64. With twice the room it is 6%
# and 1%.
#
# What does it cost to pass by? Less than one might fear. With room for 4, half of the letters find
# no expert in the balanced decoder, and the loss rises from 2.044 to 2.069. (These losses are of
# the first part of the test only, so they are not the 2.091 above.) The residual stream carries the
# letters on, and the attention and the first layer have done their part.
#
# So balance keeps letters from passing by. That it also lowers the loss when room is short, as the
# means have it, three seeds do not show: with room for 8 the gap is large in one of them and small
# in the two others.

# %% [markdown] tags=["slide"]
# ## The same work, eight times the weights
#
# Now the question of the beginning. The decoder has two layers. In the second stands either one
# feed-forward layer, as in the first, or eight experts. Both decoders get the same number of
# operations, forward and backward; what the router takes is paid for in steps. Each row is compared
# with the decoder without experts at the same seed, and an interval that leaves out 0 shows a
# difference.

# %% tags=["fold"]
predict(
    "Same operations, eight times the weights in one of two layers. What do experts change?",
    ["they lower the loss by half a nat a letter or more", "a few hundredths of a nat at most",
     "they raise it clearly: each expert sees an eighth of the letters"],
    answer=1,
    explain="Each expert has learned from an eighth of the letters, so it knows little yet; but it "
    "has less to know.",
    key="05_efficient/experts",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["slide", "fold"]
from deepdive_book.ch06a.runs.decoder_challenge import paired

NAMES = {(None, None): "one layer", (0.0, None): "8 experts, no balance",
         (0.01, None): "8 experts", (0.1, None): "8 experts, balance 0.1",
         (0.01, TIGHT): "8 experts, room for 10 of 64"}  # fmt: skip
named = [r | {"part": NAMES.get((r["weight"], r["room"]), "")} for r in rows]
shown = []
for part in NAMES.values() if rows else ():
    mine = [r for r in named if r["part"] == part]
    row = {"decoder": part, "weights": mine[0]["parameters"], "steps": mine[0]["done"],
           "nats a letter": mean(r["test"] for r in mine)}  # fmt: skip
    if part != "one layer":
        row["to one layer"] = paired(named, part, base="one layer")
    shown.append(row)
fine = {"nats a letter": ".3f", "to one layer": ".3f"} if shown else None
table(shown or [{"decoder": "no kept file here"}], formats=fine,
      caption="equal operations, three seeds; differences with their 95 % intervals")  # fmt: skip

# %% [markdown]
# Three seeds don't settle it. Of four comparisons, uncorrected, one interval excludes 0: eight
# experts with a balance weight of 0.01 have a loss lower by 0.019 nats per character. With a
# weight of 0.1, with no balance loss, or with room for only 10 of 64 in training, the mean is also
# lower, and the interval includes 0. (An earlier version of this page left out the weight of 0.1
# and presented the one as the result.) For three times the weights 0.019 is little, less than the
# balanced decoder lost above with room for 4. Perhaps an eighth of the letters is too few for an
# expert, or one layer can hold what there is to know here; we tested neither. Fedus et al. trained
# on far more text: with 64 experts they reached after 60,000 steps what T5 reached after 450,000
# (their section 3.1). Our table does not say what a long training would show, nor how much time
# the experts take: sorting letters by expert is no operation that was counted.

# %% [markdown] tags=["aside"]
# ## What does an expert know?
#
# One would like to read: this one knows verbs, that one knows names. Here are the letters that go
# to an expert more often than to any other, in the first seed with weight 0.01, and the share of
# them that it gets. (Eight letters at most, and only such as the test has 50 times or more.)

# %% tags=["fold"]
shown = []
counts = torch.tensor(one[0.01]["kinds"]) if one else torch.zeros(1, 8)
often = counts.sum(1) >= 50  # of the kinds of letters that the test has often enough
for e in range(runs.EXPERTS if one else 0):
    own = [i for i in counts[:, e].argsort(descending=True).tolist()
           if often[i] and int(counts[i].argmax()) == e][:8]  # fmt: skip
    named_letters = " ".join({" ": "space", "\n": "line end"}.get(text.letters[i], text.letters[i])
                             for i in own if real)  # fmt: skip
    got = float(counts[own, e].sum() / counts[own].sum()) if own else 0.0
    shown.append({"expert": f"E{e + 1}", "letters": named_letters, "gets of these": got,
                  "of all letters": float(counts[:, e].sum() / counts.sum())})  # fmt: skip
table(shown or [{"expert": "no kept file here"}],
      formats=dict.fromkeys(["gets of these", "of all letters"], ".0%") if shown else None,
      caption="the letters that an expert gets more of than any other expert, seed 0")  # fmt: skip

# %% How much the letter alone says tags=["fold"]
if one:
    for w, r in one.items():
        c = torch.tensor(r["kinds"]).double()
        best, alone = float(c.amax(1).sum() / c.sum()), float(c.sum(0).max() / c.sum())
        print(f"weight {w:g}: who knows the letter names its expert in {best:.0%} of the cases, "
              f"who does not in {alone:.0%}")  # fmt: skip

# %% [markdown]
# Nobody knows verbs here. The experts divide the alphabet: one has the space, the line's end and
# many capitals, another most of the punctuation. With weight 0.01, who knows only the letter, and
# not what stands before it, names its expert in 57% of the cases. The rest depends on the letters
# before. This is one layer of one small model, and another seed divides the letters otherwise.

# %% [markdown] tags=["aside"]
# ## Several experts, and noise
#
# The layer of Shazeer et al. (2017) asks $k$ experts, two say, and adds up their answers. The gates
# are a softmax over the $k$ scores that were chosen: scores 2, 2 and 0 with $k = 2$ give gates of
# one half each, whatever the third score is, so long as it is the lowest. In training each score
# gets a random number, of a size that the router learns. At first the router's matrix is 0, so that
# noise alone decides. Without noise, ties are broken by the order of the experts:

# %% tags=["nbval-check-output"]
from deepdive.layers import NoisyTopKRouter

torch.manual_seed(0)
rows_in = torch.randn(1, 1000, 16)
noisy = NoisyTopKRouter(16, 8, n_chosen=2)
for state, router in (("with noise", noisy.train), ("without", noisy.eval)):
    chosen = router()(rows_in).experts.flatten().bincount(minlength=8)
    print(f"{state}: {int((chosen > 0).sum())} of 8 experts are asked")

# %% [markdown]
# Fedus et al. (2022) found one expert enough: half the work of two, and the router still learns,
# because the gate is the probability over *all* experts, and so says how sure the router was.

# %%
from deepdive_book.site.atlas import compare

compare("sparse_moe")

# %% [markdown] tags=["aside"]
# ## How it differs

# %%
compare("switch")

# %% [markdown]
# *Grey is as it was, lit is new, dashed is gone.* A Switch Transformer is a T5 in which every
# second feed-forward layer is a row of experts. With one expert and room for all it is T5, to
# rounding; tests hold it to transformers' `SwitchTransformersForConditionalGeneration`, values and
# gradients.

# %% [markdown]
# ## Common mistake
#
# To choose one expert with a gate that is made for several. A softmax over the chosen scores alone
# is 1 when one is chosen, whatever the score. Nothing fails. But the answers give the router no
# gradient, and it does not learn who knows what:

# %% tags=["nbval-check-output"]
torch.manual_seed(0)
x = torch.randn(2, 9, 16)
for name, router in (("over the chosen one", TopKRouter(16, 4, 1)),
                     ("over all experts", SwitchRouter(16, 4))):  # fmt: skip
    mixture = SparseExperts(router, 16, 32)
    mixture(x).square().sum().backward()
    size = float(router.score.weight.grad.abs().max())
    print(f"softmax {name}: the router's gradient is {'0' if size == 0 else 'not 0'}")

# %% [markdown]
# The mend: choose first, and take the gate from the softmax over all experts (`SwitchRouter`).

# %% [markdown] tags=["aside"]
# ## In practice
#
# | you want | take |
# |---|---|
# | a first setting, 2021 | 8 experts in every second layer, top 1, balance weight 0.01 |
# | room, 2021 | a capacity factor from 1 to 1.25 in training; watch how many pass by |
# | today | top 2 (Mixtral 2024), or 8 of many small experts and a shared one (DeepSeekMoE 2024) |
# | no dropping | block-sparse kernels (MegaBlocks 2023) |
# | stable routers | a z-loss (ST-MoE 2022); balance by a bias on the scores |
# | half precision | the router in float32: all in bfloat16, it diverged (Fedus et al., table 2) |
# | to fine-tune on a small task | dropout of 0.4 inside experts, 0.1 elsewhere (their table 4) |
# | to train on many machines | an expert a machine; the tokens travel, the weights stay |
#
# - All weights stand in memory, though each token uses few of them.
# - Who is served depends on the other tokens of the text. Step by step, with a cache, no expert is
#   ever full, so a text decoded may differ from the same text read at once.
# - Compare at equal operations, and again at equal time.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A layer has 64 experts of which a token meets one. What grew 64 times, and what did not?
#
#    <details><summary>Answer</summary>
#
#    The weights grew, and the memory for them. The operations of a token did not, but for the
#    router's.
#
#    </details>
# 2. What happens to a token that finds its expert full?
#
#    <details><summary>Answer</summary>
#
#    The layer adds 0 to it: it goes on in the residual stream as it came.
#
#    </details>
# 3. Why is the answer of the chosen expert multiplied by its probability?
#
#    <details><summary>Answer</summary>
#
#    So that the router learns from the answers. The choice itself has no gradient.
#
#    </details>
# 4. The balance loss multiplies a share and a mean probability. Through which of them does the
#    gradient flow?
#
#    <details><summary>Answer</summary>
#
#    Through the probability. The share is a count; it says how hard each probability is pushed.
#
#    </details>
# 5. Why does more room cost operations on a machine that works with lists of fixed length?
#
#    <details><summary>Answer</summary>
#
#    Every list has that length, so empty places are computed too. (Ours multiplies only the tokens
#    that are there.)
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* Four experts, eight tokens; expert 1 is named by 4 of them, expert 2 by 2,
#    the others by 1 each. The mean probabilities are 0.4, 0.2, 0.2 and 0.2. What is the balance
#    loss? How many tokens pass by at capacity factor 1?
#
#    <details><summary>Answer</summary>
#
#    $4 \cdot (0.5 \cdot 0.4 + 0.25 \cdot 0.2 + 2 \cdot 0.125 \cdot 0.2) = 1.2$. There is room for 2
#    each, so 2 of expert 1's tokens pass by.
#
#    </details>
# 2. *(derive, 8 min)* All experts have equal shares. Show that the balance loss is 1, whatever the
#    router's probabilities are. Is the router then even?
#
#    <details><summary>Answer</summary>
#
#    $E \sum_i \frac{1}{E} P_i = \sum_i P_i = 1$. The choices are even, the probabilities need not
#    be: the loss asks for nothing more.
#
#    </details>
# 3. *(measure, 30 min of machine time)* Are two experts a token worth twice the work in that layer?
#
#    <details><summary>Answer</summary>
#
#    Put a `TopKRouter` with `n_chosen=2` into `deepdive_book.ch05.runs.experts.decoder`; `measure`
#    gives it as many steps fewer as it multiplies more. Three seeds, and the interval of the
#    difference.
#
#    </details>

# %% Answers 1 and 2, checked tags=["fold"]
named_by = torch.tensor([0, 0, 0, 0, 1, 1, 2, 3])[None, :, None]
loss = balance_loss(torch.tensor([0.4, 0.2, 0.2, 0.2]).expand(1, 8, 4), named_by)
passes = int((~SparseExperts(SwitchRouter(4, 4), 4, 4, capacity=2).served(named_by)).sum())
assert round(float(loss), 6) == 1.2
assert passes == 2
even = balance_loss(torch.rand(1, 8, 4).softmax(-1), torch.arange(8)[None, :, None] % 4)
assert round(float(even), 5) == 1
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# A mixture of experts puts several feed-forward layers side by side and asks one for each token,
# so that weights grow and operations do not. A router chooses; a loss, times a small weight, keeps
# it from sending most tokens to a few experts, and who finds an expert full passes by in the
# residual stream. Whether eight experts are better for the same compute is not settled here: of
# four settings with three seeds each, one interval excludes 0 (0.019 nats per character [0.005,
# 0.034], with a balance weight of 0.01), and three include it.
#
# ## Further reading
#
# - Shazeer et al. (2017), *Outrageously Large Neural Networks: The Sparsely-Gated
#   Mixture-of-Experts Layer*: sections 2 and 4.
# - Fedus, Zoph, Shazeer (2022), *Switch Transformers: Scaling to Trillion Parameter Models with
#   Simple and Efficient Sparsity*: section 2.2 for capacity and balance.
#
# <small>Book 5.4.1</small>

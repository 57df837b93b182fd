# %% [markdown] tags=["slide"]
# # Sequence-to-sequence models: the RNN encoder-decoder
#
# A network reads a sentence of twenty words into one vector of 64 numbers. From that vector alone
# it must write the translation. How much of the first word is still there?
#
# <small>Prerequisites: the chain rule and cross-entropy · 30 min · runs on a laptop · book 2.1 and
# 2.2</small>

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
from deepdive_book.kit.diagrams.recurrent import two_readers
from deepdive_book.kit.plotting import show

english, french = ["the", "black", "cat", "sleeps"], ["le", "chat", "noir", "dort", "end"]
show(
    two_readers(english, french),
    "Four states h1 to h4 read the black cat sleeps. One thick arrow leads from h4 to s1, the "
    "first of five states that write le chat noir dort end and read their own words.",
)

# %% [markdown]
# *Each box is a vector, each arrow a step. Everything that the right half knows of the left half
# came through the thick arrow.*
#
# The left half is the **encoder**. It reads one word at a time and carries a **state**, a vector of
# fixed size. The right half is the **decoder**. It starts in the state in which the encoder
# stopped, and writes one word at a time, reading back each word that it has written. Together they
# turn a sequence into a sequence of another length: **seq2seq**.
#
# On this page you build one, train it to copy words, and measure in two ways how it forgets. The
# next page has the cure by itself, attention; [page 2.4](04_alignment.ipynb) puts it into this
# network and measures again.

# %% [markdown]
# ## The idea: read, hand over, write
#
# The thick arrow is the **bridge**: the last of the encoder's states, and nothing else. The decoder
# makes its states, and from each a word, out of the bridge and its own words.
#
# A network with such a state is **recurrent**: the same weights are used at each step, so that it
# can read sentences of any length. The price is in the picture. The first word must survive every
# step between it and the word that needs it.

# %% [markdown] tags=["slide"]
# ## By hand: a state of one number
#
# A simple recurrent network (Elman 1990) mixes the new token $x_t$ with the state and squeezes the
# sum between -1 and 1. Let the state be a single number, with $w = 1$ and $u = 0.5$. Let it read a
# 1 and then two zeros:
#
# $$h_t = \tanh(w\,x_t + u\,h_{t-1})$$

# %% tags=["slide"]
import torch

w, u = 1.0, 0.5
x = torch.tensor([1.0, 0.0, 0.0], requires_grad=True)
h, states = torch.tensor(0.0), []
for x_t in x:
    h = torch.tanh(w * x_t + u * h)
    states.append(h)
for t, h_t in enumerate(states, 1):
    print(f"h{t} = {h_t:.4f}")

# %% [markdown]
# With a pencil (and a table of tanh): $\tanh 1 = 0.7616$, then $\tanh(0.3808) = 0.3634$, then
# $\tanh(0.1817) = 0.1797$. Two steps later less than a fifth of the 1 is left.
#
# Learning depends on another number: how much does $h_3$ change when $x_1$ changes? The chain rule
# multiplies one factor a step. The derivative of $\tanh$ is $1 - h^2$:
#
# $$\frac{d h_3}{d x_1} = w\,(1 - h_1^2) \cdot u\,(1 - h_2^2) \cdot u\,(1 - h_3^2)
# = 0.4200 \cdot 0.4340 \cdot 0.4839 = 0.0882$$
#
# After the first factor, at most $w$, each further step brings one that is at most $u$. Between the
# first and the last of twenty words there are 19 steps, so the derivative is at most $0.5^{19}$:
# two millionths. Autograd agrees with the pencil:

# %%
(slope,) = torch.autograd.grad(states[2], x)
by_hand = w * (1 - states[0] ** 2) * u * (1 - states[1] ** 2) * u * (1 - states[2] ** 2)
assert abs(slope[0] - by_hand) < 1e-6
assert abs(by_hand - 0.0882) < 5e-5
print("d h3 / d x1, x2, x3:", *(f"{s:.4f}" for s in slope))

# %% [markdown]
# ## In code: two loops and a bridge
#
# With vectors, $w$ and $u$ become matrices $W$ and $U$, and a token becomes a row of a table, its
# **embedding**. A reader is a loop. An encoder-decoder is two readers, and a last layer. It turns
# each decoder state into scores, one for each word of the vocabulary. Before the softmax code calls
# them **logits**. (The layer is `head` in code; it has nothing to do with attention heads.)


# %%
from torch import nn


class ElmanReader(nn.Module):
    def __init__(self, vocab, d_model, d_hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, d_model)
        self.W, self.U = nn.Linear(d_model, d_hidden), nn.Linear(d_hidden, d_hidden)

    def forward(self, tokens, h):  # (B, T), (B, d_hidden)
        states = []
        for x in self.embedding(tokens).unbind(1):  # one token of each row at a time
            h = torch.tanh(self.W(x) + self.U(h))
            states.append(h)
        return torch.stack(states, 1), h  # (B, T, d_hidden), (B, d_hidden)


def encoder_decoder(encoder, decoder, head, source, target):
    start = torch.zeros(len(source), encoder.U.in_features)
    _, bridge = encoder(source, start)  # all states but the last are thrown away
    states, _ = decoder(target, bridge)
    return head(states)  # (B, T, vocab): the logits of the next word


# %% [markdown]
# The library's `seq2seq` is the same, for any kind of recurrent layer. Give both the same weights;
# they must give the same scores. (The library multiplies embeddings by $\sqrt{d}$, for which
# [2.11](11_encoder.ipynb) has the reason, and uses the target's embedding as the last layer too.)

# %%
from deepdive.models.seq2seq.seq2seq import seq2seq
from deepdive.recurrent import GRU, LSTM, RNN

library = seq2seq(12, 12, d_model=8, d_hidden=8, kind=RNN)
encoder, decoder, head = ElmanReader(12, 8, 8), ElmanReader(12, 8, 8), nn.Linear(8, 12)
with torch.no_grad():
    for mine, theirs in ((encoder, library.encoder), (decoder, library.decoder)):
        mine.embedding.weight.copy_(theirs.embedding.weight * 8**0.5)
        mine.W.load_state_dict(theirs.recurrent.layers[0].W.state_dict())
        mine.U.load_state_dict(theirs.recurrent.layers[0].U.state_dict())
    head.weight.copy_(library.decoder.embedding.weight)
    head.bias.copy_(library.head[-1].bias)
source, target = torch.randint(4, 12, (3, 6)), torch.randint(4, 12, (3, 5))
ours = encoder_decoder(encoder, decoder, head, source, target)
difference = (ours - library(source, target)).abs().max()
assert difference < 1e-6
f"largest difference below 1e-6: {bool(difference < 1e-6)}"

# %% [markdown]
# ## Training: who writes what the decoder reads?
#
# The decoder is trained to give each of the $T$ right words $y_t$ a high probability, given the
# words before it and the bridge, the state $h_S$ after the last of $S$ source words:
#
# $$p(y_1 \ldots y_T \mid \text{source}) = \prod_{t=1}^{T} p(y_t \mid y_1 \ldots y_{t-1}, h_S)$$
#
# The words before it are known in training: they stand in the data. So the decoder reads *those*,
# whatever it would have written itself. This is **teacher forcing**. In code it is a shift by one:
#
# | step | 1 | 2 | 3 | 4 | 5 |
# |---|---|---|---|---|---|
# | reads `target[:, :-1]` | begin | le | chat | noir | dort |
# | must give `target[:, 1:]` | le | chat | noir | dort | end |
#
# The task on this page is to **copy**: read a word, then write it. It has no difficulty but one: to
# remember. The words are generated, random letters from a to j. `reversal` gives each with its
# mirror image, which a later section needs. `BOS` and `EOS` are the begin and the end mark.
# (`BucketBatches`, and below `fit`, `adam`, `cosine`, `greedy` and `pick`, are
# [names that all pages use](../00_start/03_torch.ipynb).)

# %% tags=["nbval-check-output"]
from deepdive.data import BucketBatches
from deepdive.data.generated import reversal
from deepdive.tokenizers import BOS, EOS

letters = ["", "", "", "", *"abcdefghij"]  # ids 0 to 3: padding, begin, end, unknown


def spell(ids):
    return "".join(letters[i] for i in ids)


def copying(n, shortest, longest, seed, turned=False):
    words = reversal(n, length=(shortest, longest), vocab=10, seed=seed)
    return [(mirrored if turned else word, word) for word, mirrored in words]


def batched(pairs, max_tokens=600):
    target = [[BOS, *word, EOS] for _, word in pairs]
    sources = [source for source, _ in pairs]  # shorter words are filled up with id 0
    return BucketBatches((sources, target), max_tokens=max_tokens, seed=1)


[(spell(source), spell(word)) for source, word in copying(3, 3, 6, seed=1)]

# %% [markdown]
# Two ways to train, then. `forced` reads the right letters; `on_its_own` reads what it has written:
# `begin` reads the source, `step` reads one token and gives the logits of the next. `source != 0`
# marks what is no padding. Both are judged alike, in a **free run**: the model writes alone.
# `greedy` takes the letter with the highest score and reads it next.

# %%
from deepdive.decoding import greedy
from deepdive.training.objectives import cross_entropy


def forced(model, batch):
    source, target = batch
    return cross_entropy(model(source, target[:, :-1], source != 0), target[:, 1:])


def on_its_own(model, batch):
    source, target = batch
    state, token, logits = model.begin(source, source != 0), target[:, :1], []
    for _ in range(target.shape[1] - 1):
        logits.append(model.step(token, state))
        token = logits[-1].argmax(-1)  # what it writes is what it reads next
    return cross_entropy(torch.cat(logits, 1), target[:, 1:])


def share_right(model, length=4, n=200):
    pairs = copying(n, length, length, seed=2)
    written = greedy(model, torch.tensor([s for s, _ in pairs]), max_length=length + 2)
    return sum(w == word for w, (_, word) in zip(written, pairs, strict=True)) / n


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Two equal models are trained for the same number of steps. One reads the right letters while "
    "it learns, the other its own, right or wrong. Then both write alone. Which copies more words?",
    [
        "the one that read its own: it practised what it now has to do",
        "the one that read the right letters",
        "no difference: the loss asked for the same letters",
    ],
    answer=1,
    explain="In the beginning its own letters are noise, and it must learn to ignore them. The "
    "right letters say at once how far the word has come.",
    key="02_transformer/teacher-forcing",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from deepdive.training import fit
from deepdive.training.optim import adam, cosine


def run(loss, steps, model, data):
    schedule = cosine(5e-3, warmup=20, total=steps)
    history = fit(model, data, loss, steps=steps, optimizer=adam(model), schedule=schedule)
    return sum(history.losses[-20:]) / 20  # the mean of the last 20 steps


def new_model(kind=GRU):
    torch.manual_seed(0)
    return seq2seq(14, d_model=32, d_hidden=64, kind=kind)


short = batched(copying(5_000, 1, 6, seed=1), max_tokens=400)
copied = {}
for loss in (forced, on_its_own):
    model = new_model()
    final = run(loss, 250, model, short)
    copied[loss.__name__] = share_right(model)
    print(f"{loss.__name__:>10}: loss {final:.2f}, words copied {copied[loss.__name__]:.0%}")
assert copied["forced"] > copied["on_its_own"]

# %% [markdown]
# The losses answer unlike questions. The free run asks both the same: words of four letters, copied
# without a mistake. A likely reason, not measured here: at the start nearly all that a model writes
# is wrong, so the one that reads its own learns to go on from letters that it will hardly meet once
# it copies well. Teacher forcing has a price too. In use the decoder reads its own words, and a
# state that follows a mistake is one that it never saw in training. The name for this gap is
# **exposure bias** (Ranzato et al. 2016).

# %% [markdown]
# ### Common mistake: forgetting the shift
#
# "The decoder reads the target" invites the line marked *wrong*. The loss falls faster than ever.
# So look at a free run.


# %%
def not_shifted(model, batch):
    source, target = batch
    logits = model(source, target[:, 1:], source != 0)  # wrong: it reads what it must write
    return cross_entropy(logits, target[:, 1:])


cheat = new_model()
cheat_loss = run(not_shifted, 150, cheat, short)
cheat_right = share_right(cheat)
assert max(cheat_loss, cheat_right) < 0.05
print(f"loss {cheat_loss:.4f}, and {cheat_right:.1%} of new words copied")

# %% [markdown]
# **Symptom:** a loss near zero after 150 steps, and nonsense when the model writes alone. The
# letter that it must give is the letter that it reads, so it need not look at the bridge.
#
# **Fix:** read `target[:, :-1]`, predict `target[:, 1:]`, and check that the first token read is
# the begin mark. A loss that looks too good is a bug until a free run says otherwise.

# %% [markdown]
# ## Why it forgets, measured: gradient against distance
#
# Feed sixty random rows, in place of embeddings, to a fresh layer, 64 wide. Ask how strongly its
# last state answers to each row: the norm of the gradient at a row, divided by that at the last
# one. (A gradient belongs to one number; we take a random mixture of the state's 64.) Three layers
# are to be compared. The Elman layer you know. The other two have **gates**, numbers between 0 and
# 1 that multiply: $\sigma(a) = 1/(1+e^{-a})$ of a sum $a$ from token and state. In a fresh layer
# the sum is near 0 where no bias is set, and $\sigma(0) = 1/2$: half open.
#
# - **GRU** (Cho et al. 2014): $h_t = z_t\,h_{t-1} + (1 - z_t)\,n_t$. The new content $n_t$ is
#   computed as in an Elman layer, with a second gate on the state. Where $z_t$ is near 1 the old
#   state passes as it is, and its derivative is near 1.
# - **LSTM** (Hochreiter and Schmidhuber 1997; the forget gate: Gers, Schmidhuber, Cummins 2000): a
#   second state $c_t = f_t\,c_{t-1} + i_t\,g_t$, with a gate $f$ for keeping and another, $i$, for
#   adding the new content $g$. Shown to the outside is $h_t = o_t \tanh c_t$, with a third.

# %% tags=["fold"]
predict(
    "Sixty rows, fresh layers, no training. How much of the gradient at the last row is left at "
    "the first, in an Elman network?",
    ["about 1/60", "about 1 in 10,000", "about 1 in 10,000,000,000"],
    answer=2,
    explain="Each step multiplies by about two thirds, and that to the power 59 is below 1e-10. "
    "Not a long sentence, and the first word can teach the encoder nothing.",
    key="02_transformer/gradient-distance",
)


# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
def reach(layer, n=60):
    """The gradient of the last state at each row, by distance from the last row, as a share."""
    x = torch.randn(16, n, layer.d_input, requires_grad=True)
    last = layer(x)[:, -1]
    (gradient,) = torch.autograd.grad((last * torch.randn_like(last)).sum(), x)
    size = gradient.norm(dim=-1).mean(0).flip(0)
    return size / size[0]


fresh = {kind.__name__: reach(kind(32, 64)) for kind in (RNN, GRU, LSTM)}
for name, share in fresh.items():
    factor = share[-1] ** (1 / 59)
    print(f"{name:>4}: {share[-1]:.0e} left after 59 steps, a factor of {factor:.2f} a step")
assert max(fresh["RNN"][-1], fresh["GRU"][-1]) < 1e-8 < fresh["LSTM"][-1] < 1e-3

# %% [markdown]
# (`RNN` is the library's name for the Elman layer.) The straight fall on a log scale below is
# a product of like factors, as by hand. The second surprise: a fresh GRU forgets about as fast as
# an Elman layer. A half comes through its keeping gate, the rest of the factor above through $n_t$
# and the gates, which read the state too. The LSTM's keeping gate starts at a bias of 1, so near
# $\sigma(1) = 0.73$, and the gradient fades more slowly.
#
# Gates do not keep by themselves. They *can* keep. So set the bias of the keeping gate to 4, which
# makes it about $\sigma(4) = 0.98$. The Elman layer has no gate; all we can do is to make $U$
# larger or smaller.

# %%
from torch.nn.init import constant_

gru, lstm = GRU(32, 64), LSTM(32, 64)
constant_(gru.W.bias.chunk(3)[1], 4.0)  # z, the part that is kept
constant_(lstm.W.bias.chunk(4)[1], 4.0)  # f
changed = {"GRU, gate at 0.98": reach(gru), "LSTM, gate at 0.98": reach(lstm)}
for scale in (0.5, 2.0):
    elman = RNN(32, 64)
    elman.U.weight.data *= scale
    changed[f"Elman, U times {scale:g}"] = reach(elman)
assert min(changed[f"{name}, gate at 0.98"][-1] for name in ("GRU", "LSTM")) > 0.05
assert changed["Elman, U times 0.5"][50] < 1e-15
assert changed["Elman, U times 2"][-1] > 10
{name: f"{share[-1]:.1e}" for name, share in changed.items()}

# %% How a gradient fades tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7.6, 3.3))
left, right = figure.subplots(1, 2, sharey=True)
for (name, share), mark in zip(fresh.items(), ("-", "--", ":"), strict=True):
    left.plot(share, mark, label={"RNN": "Elman"}.get(name, name))
looks = [("#D55E00", "--"), ("#009E73", ":"), ("#0072B2", "-"), ("#56B4E9", "-")]
for (name, share), (color, mark) in zip(changed.items(), looks, strict=True):
    right.plot(share, mark, color=color, label=name)
for axes, title in ((left, "fresh"), (right, "changed by hand")):
    axes.set(yscale="log", ylim=(1e-13, 1e4), xlabel="distance in tokens", title=title)
left.legend(fontsize=8, loc="lower left")
right.legend(fontsize=8, loc="lower right")
left.set_ylabel("share of the gradient")
with_alt(
    figure,
    "Gradient share against distance on a log scale. Fresh: straight falling lines, Elman and GRU "
    "to 1e-10 at 60, LSTM to 4e-5. Changed: both gated layers stay nearly level, Elman with "
    "half U falls off the scale, with double U it rises to 110.",
)

# %% [markdown]
# *Left: three fresh layers fall along nearly straight lines, by a fixed factor a token. Right: with
# gates near 1 the gradient arrives; in an Elman layer it vanishes or explodes.* (The printed `0.0`
# is a share too small for a 32-bit number. The LSTM's share even grows: its gates and $g$ read the
# state, and add to what $f$ lets through.)
#
# In an Elman layer one matrix both computes and keeps. If $U$ is small the gradient vanishes; if it
# is large the gradient explodes, and with it the step of training (clipping the norm tames that).
# The gates separate the two jobs. Training can open them where something must be kept.
#
# That is a first answer to the question above. A fresh Elman layer that has read twenty words
# answers to the first with less than a thousandth of what it gives the last: read it off at 19.

# %% [markdown]
# ## Why it forgets, measured: accuracy against length
#
# The gradient says what *can* be learned. What *is* learned? Train the three kinds alike to copy
# words, then test on new words of each length, in a free run: how many letters stand in their
# place? Guessing gives one in ten.

# %%
from deepdive_book.kit.profile import pick

longest, steps = pick(ci=8, laptop=12, gpu=16), pick(ci=150, laptop=500, gpu=3000)
lengths = range(1, longest + 1)


def learn(kind, turned=False):
    model = new_model(kind)
    loss = run(forced, steps, model, batched(copying(20_000, 1, longest, 1, turned)))
    return model, loss


def in_place(model, length, turned=False, n=200):
    """Which letters of n new words are right, bool (n, length)."""
    pairs = copying(n, length, length, seed=2, turned=turned)
    written = greedy(model, torch.tensor([s for s, _ in pairs]), max_length=length)
    rows = [[*word, *[EOS] * length][:length] for word in written]
    return torch.tensor(rows) == torch.tensor([word for _, word in pairs])


def by_length(model, turned=False):
    return [in_place(model, n, turned).float().mean().item() for n in lengths]


# %%
models = {kind.__name__: learn(kind) for kind in (RNN, GRU, LSTM)}
forwards = {name: by_length(model) for name, (model, _) in models.items()}
for name, shares in forwards.items():
    assert shares[0] > shares[-1] + 0.3
    print(f"{name:>4}: loss {models[name][1]:.2f},", *(f"{share:.0%}" for share in shares))

# %% tags=["fold"]
figure = Figure(figsize=(5.6, 3.2))
axes = figure.add_subplot()
for (name, shares), mark in zip(forwards.items(), ("o-", "s--", "^:"), strict=True):
    axes.plot(lengths, shares, mark, label={"RNN": "Elman"}.get(name, name))
axes.axhline(0.1, color="#8a8a8a", linewidth=1, label="guessing")
axes.set(xlabel="letters in the word", ylabel="letters in their place", ylim=(-0.03, 1.03))
axes.legend()
with_alt(
    figure,
    "Share of letters in their place against the length of the word. GRU and LSTM start at 1 and "
    "fall, the LSTM later; the Elman network starts lower and falls to guessing.",
)

# %% [markdown]
# *After 500 steps, the networks with gates copy short words and not long ones, though all lengths
# were trained alike. The Elman network hardly learns to copy at all.*
#
# Is the bridge too narrow? It has 64 numbers whatever the length (the LSTM's $h$ and $c$ 64 each).
# But 12 letters out of ten are only 40 bits, and 64 floats can hold them. The fall is mostly slow
# learning. In a rerun with 3,000 steps instead of 500 (all else equal, one seed), the GRU had 70%
# of the letters of 12-letter words in place and the LSTM 92%; for 8 letters they had 97% and 99%.
# So long words are learned late; these runs don't show that they can't pass through one vector.
# The comparison has other limits: one seed, one learning rate, and recurrent layers whose weights
# are as 1 to 3 to 4. Does a wider state move the fall to the right? That is exercise 4. Cho et al.
# saw a fall with length in translation, in their second paper of 2014 (see below). The **BLEU** of
# their encoder-decoder fell with the length of the sentence. (BLEU says, from 0 to 100, how far a
# translation shares its groups of one to four words with a human's.)
#
# Has training learned to keep? Measure the gradient again, fresh and trained, now on words: the
# share that reaches the first letter.

# %%
def reach_in_words(encoder):
    words = torch.tensor([s for s, _ in copying(50, longest, longest, seed=3)])
    rows = encoder.embedding(words).detach().requires_grad_()
    last = encoder.recurrent(rows)[:, -1]
    (gradient,) = torch.autograd.grad((last * torch.randn_like(last)).sum(), rows)
    size = gradient.norm(dim=-1).mean(0)
    return (size[0] / size[-1]).item()


print(f"share of the gradient at the first of {longest} letters")
for kind in (RNN, GRU, LSTM):
    before = reach_in_words(new_model(kind).encoder)
    after = reach_in_words(models[kind.__name__][0].encoder)
    print(f"{kind.__name__:>4}: fresh {before:.3f}, trained {after:.3f}")
    assert after > before
stretch = [
    torch.linalg.matrix_norm(model.encoder.recurrent.layers[0].U.weight, 2).item()
    for model in (new_model(RNN), models["RNN"][0])
]
print("largest factor by which Elman's U stretches a state:", *(f"{s:.2f}" for s in stretch))
assert stretch[1] > 1.1 * stretch[0]

# %% [markdown]
# More of the gradient arrives than before. (A share above 1: the last state answers to the first
# letter more than to the last.) In the Elman network too, where $U$ has grown, and yet that one
# cannot copy. A gradient that arrives is needed, but it is not a memory that can be read. And in
# the beginning, when everything is still to be learned, it hardly arrives.

# %% [markdown]
# ## A trick: read the source backwards
#
# Sutskever et al. (2014) turned each source sentence round before reading it, and left the target
# as it was. Nothing else changed. Their model read *sleeps cat black the* and wrote *le chat noir
# dort*. With a pencil, count the steps that a letter travels to the place where it is needed, in a
# word of $S = 4$ letters:
#
# | letter | 1 | 2 | 3 | 4 | mean |
# |---|---|---|---|---|---|
# | steps, read forwards | 4 | 4 | 4 | 4 | 4 |
# | steps, read backwards | 1 | 3 | 5 | 7 | 4 |
#
# Forwards each letter waits for $S$ steps. Backwards letter $t$ waits for $2t - 1$. The mean is the
# same. But the first letter is now close to its use, so its gradient arrives early in training.

# %% tags=["fold"]
predict(
    "The Elman network and the LSTM are trained again on sources that are turned round. Who gains "
    "more?",
    ["the Elman network", "the LSTM", "neither: the mean distance is the same"],
    answer=0,
    explain="Learning needs the gradient to arrive somewhere. In an Elman network it arrives over "
    "short distances only, and forwards there are none. An LSTM could already bridge most of them.",
    key="02_transformer/reversed-source",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
turned = {kind.__name__: learn(kind, turned=True) for kind in (RNN, LSTM)}
backwards = {name: by_length(model, turned=True) for name, (model, _) in turned.items()}
gain = {name: backwards[name][-1] - forwards[name][-1] for name in turned}
for name in turned:
    print(f"{name:>4}: loss {models[name][1]:.2f} read forwards, {turned[name][1]:.2f} backwards")
assert turned["RNN"][1] < models["RNN"][1] - 0.2
assert turned["LSTM"][1] < models["LSTM"][1]
assert gain["RNN"] > 0.1
assert backwards["RNN"][-1] > forwards["LSTM"][-1] - 0.05

# %% tags=["fold"]
figure = Figure(figsize=(7.6, 3.3))
left, right = figure.subplots(1, 2, sharey=True)
for name, color in (("RNN", "#0072B2"), ("LSTM", "#009E73")):
    label = {"RNN": "Elman"}.get(name, name)
    straight = in_place(models[name][0], longest).float().mean(0)
    round_turned = in_place(turned[name][0], longest, turned=True).float().mean(0)
    left.plot(lengths, forwards[name], ":", color=color)
    left.plot(lengths, backwards[name], "o-", color=color)
    right.plot(lengths, straight, ":", color=color, label=f"{label}, forwards")
    right.plot(lengths, round_turned, "o-", color=color, label=f"{label}, backwards")
left.set(xlabel="letters in the word", ylabel="letters in their place", ylim=(-0.03, 1.03))
right.set(xlabel="place of the letter", title=f"in words of {longest} letters")
left.set_title("all places")
right.legend(fontsize=8, loc="upper right")
with_alt(
    figure,
    "Left: letters in place against length, Elman network and LSTM, source read forwards and "
    "backwards; backwards is higher, for the Elman network by far. Right: the same by place in the "
    "longest words; backwards the Elman network's first letters are nearly all right, its last "
    "ones all wrong; the LSTM keeps some of the last.",
)

# %% [markdown]
# *Left: reading backwards lifts the Elman network most. Right: its gain sits at the beginning of
# the word, where the distance became short; the last letters stay lost.*
#
# Nothing was added to the network. Turned round, the weakest of the three gets about as many
# letters of the longest words right as the LSTM that reads forwards. The dotted LSTM shows another
# thing: forwards, where all letters wait alike, it does best on the first. That one is written
# first, before the decoder has read any mistake of its own. (Why the LSTM's curves can rise again
# at the last letters, these figures do not say.)
#
# The paper's numbers, English to French on WMT 2014, four layers of 1000 (section 3.3; the last
# column from its table 2):
#
# | | perplexity | BLEU | BLEU when it chooses among 1000 translations of an older system |
# |---|---|---|---|
# | read forwards | 5.8 | 25.9 | 35.61 |
# | read backwards | 4.7 | 30.6 | 35.85 |
#
# Reproduced here: the direction of the effect, on copying, with an LSTM about 7,000 times smaller
# (53 thousand weights; theirs had 384 million). Not reproduced: translation, and the size of the
# gain.
#
# It is a trick, not a cure: one vector still carries everything. Where the first word written needs
# the last word of the source, the trick takes it farther away.

# %% [markdown]
# ## How it differs
#
# | | Elman | GRU | LSTM |
# |---|---|---|---|
# | state | $h$ | $h$ | $h$ and $c$ |
# | gates | none | 2 | 3 |
# | weights, for $d$ inputs and $d$ states | $2d^2$ | $6d^2$ | $8d^2$ |
# | derivative a step | $U$ times $1 - h^2$ | near $z$ | near $f$, along $c$ |
# | fresh, after 59 steps | vanishes | vanishes | fades |
# | can learn to keep | slowly | yes | yes |
# | steps from first word to last | $n - 1$ | $n - 1$ | $n - 1$ |
#
# The last line is the same for all. A sequence must be read in order, so that training cannot use
# a parallel machine well, and each word that is far away must survive every step between.

# %% [markdown]
# ## In practice
#
# - **Mask the padding.** In a batch the short sources end in padding. The state must stand still
#   there, or a word gives another bridge in a batch than alone. The library's layers take `mask`.
# - **Clip the gradient** (`fit` does, at norm 1). Recurrent nets are where clipping comes from.
# - **Start the LSTM's forget bias**, that of $f$, **at 1** or more (Gers et al. 2000). torch's is
#   near 0.
# - **Test a free run**, not the loss alone. Teacher forcing hides what happens after a mistake.
# - **State what a result is a share of**: words without a mistake, or letters in place. The first
#   is much stricter.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does the decoder know of the source, and how does that grow with the sentence?
#
#    <details><summary>Answer</summary>
#
#    The bridge, the encoder's last state, and nothing else. It does not grow: 64 numbers on this
#    page, for one letter as for twelve. (Enough for twelve letters, as longer training shows.)
#
#    </details>
# 2. In the network of one number, with $w = 1$ and $u = 0.5$, how large can $d h_5 / d x_1$ be at
#    most?
#
#    <details><summary>Answer</summary>
#
#    $1/16$. Four steps lie between $x_1$ and $h_5$, each with a factor of at most $u$, and
#    $0.5^4 = 0.0625$.
#
#    </details>
# 3. A loss falls to nearly zero, but alone the model copies nothing. What did the decoder read when
#    it had to give *noir* in *le chat noir dort*, and what should it have read?
#
#    <details><summary>Answer</summary>
#
#    It read *noir*, the answer itself. It should have read *chat*, the right word before it, even
#    where it would have written another: that is teacher forcing.
#
#    </details>
# 4. A fresh GRU has gates, and its gradient still faded about as fast as the Elman layer's. Why,
#    and what changed that?
#
#    <details><summary>Answer</summary>
#
#    Its keeping gate starts near one half. The other paths add something, but a fixed share is
#    still lost at each step. With a bias of 4 the gate is near 0.98, and the gradient arrived over
#    59 steps.
#
#    </details>
# 5. Reading the source backwards leaves the mean distance at $S$. Which letters did the Elman
#    network gain by it, and how many steps do the first and the last now travel?
#
#    <details><summary>Answer</summary>
#
#    The first ones: letter 1 now travels one step instead of $S$. The last letters stayed lost, for
#    the last of all travels $2S - 1$.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* Let $w = 1$, $u = 2$ and $x = (1, 0, 0)$. Compute $h_3$ and
#    $d h_3 / d x_1$. Does the gradient explode?
#
#    <details><summary>Answer</summary>
#
#    $h = 0.7616, 0.9093, 0.9487$. The factors are $0.4200$, $2 \cdot 0.1733 = 0.3465$ and
#    $2 \cdot 0.1000 = 0.2000$; the product is $0.0291$. It vanishes: a large $u$ drives the state
#    toward 1, where tanh is flat. Among 64 numbers that pull in all directions few get there, so
#    that the layer above exploded.
#
#    </details>
# 2. *(predict, 3 min)* Set the keeping gate's bias of the GRU to 40 instead of 4. What happens to
#    the gradient, and what does the layer learn?
#
#    <details><summary>Answer</summary>
#
#    $z = 1$: the state never changes. The gradient passes every step undiminished, but there is
#    nothing at its end: no row enters the state, and the gradient at each row is zero.
#
#    </details>
# 3. *(derive, 6 min)* A word of $S$ letters is copied with the source read backwards. Show that the
#    mean distance is $S$, as forwards. What is the largest?
#
#    <details><summary>Answer</summary>
#
#    Letter $t$ is read at step $S + 1 - t$ and written at step $S + t$, so it travels $2t - 1$
#    steps. The sum over $t$ is $S(S + 1) - S = S^2$, the mean $S$, the largest $2S - 1$.
#
#    </details>
# 4. *(measure, 10 min)* Double `d_hidden`. How far does the fall move? And with twice the steps?
#
#    <details><summary>Answer</summary>
#
#    Write 128 in `new_model`, or `2 * steps` in `learn`. For each kind note the longest word of
#    which half the letters are right, and compare with the lines above. Expect both changes to move
#    it to the right, and look whether either removes it. Doubling the state makes each $U$ four
#    times as large, $128^2$ numbers for $64^2$; doubling the steps doubles the time. Repeat with
#    another seed before you believe a move of one letter.
#
#    </details>
# 5. *(code, 10 min)* Train on words that must be written backwards (`reversal` as it is). Which
#    curve of this page do you expect to see?
#
#    <details><summary>Answer</summary>
#
#    That of the source read backwards: to copy from a turned source and to turn a straight one is
#    the same task.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
x = torch.tensor([1.0, 0.0, 0.0], requires_grad=True)
h = torch.tensor(0.0)
for x_t in x:
    h = torch.tanh(x_t + 2 * h)
(slope,) = torch.autograd.grad(h, x)
assert max(abs(h - 0.9487), abs(slope[0] - 0.0291)) < 5e-5
constant_(gru.W.bias.chunk(3)[1], 40.0)
rows = torch.randn(1, 10, 32, requires_grad=True)
(gradient,) = torch.autograd.grad(gru(rows)[:, -1].sum(), rows)
assert gradient.abs().max() < 1e-12
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# An encoder reads a sequence into one vector, a decoder writes another sequence from it, and is
# trained on the right words shifted by one. The gradient between two words is a product with one
# factor for each step between them, so it fades fast unless gates keep it up, and long words are
# learned later than short ones: after 500 steps most of their copies are wrong, and in a rerun
# with more steps the gated networks copied most of their letters. Reading the source backwards
# brings the first words near to their use, but all still passes through one vector.
# [Attention](02_attention.ipynb) removes that, and [page 2.4](04_alignment.ipynb) measures it on
# these copies.
#
# ## Further reading
#
# - Sutskever, Vinyals, Le (2014), *Sequence to Sequence Learning with Neural Networks*: section 3.3
#   on reading backwards, table 2 for the last column above.
# - Cho et al. (2014), *Learning Phrase Representations using RNN Encoder-Decoder*: section 2.3, the
#   GRU's first appearance; and *On the Properties of Neural Machine Translation*, figure 4: BLEU
#   against length.
# - Hochreiter, Schmidhuber (1997), *Long Short-Term Memory*: section 3 has the argument about the
#   product of factors.
# - Pascanu, Mikolov, Bengio (2013), *On the difficulty of training recurrent neural networks*: when
#   it vanishes, when it explodes, and clipping.

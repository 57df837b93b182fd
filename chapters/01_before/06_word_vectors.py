# %% [markdown]
# # Word embeddings (word2vec): meaning from company
#
# Nobody tells a program what *king* means. Can it find out from the words that stand near it?
#
# <small>Prerequisites: [dot products and slopes](../00_start/02_maths.ipynb) · 12 min · runs on a
# laptop · book 1.1 · optional page</small>

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
# %% tags=["fold"]
from deepdive_book.kit.diagrams import ROLES, arrow, svg, text
from deepdive_book.kit.plotting import show

sentence, center = ["the", "king", "wears", "his", "crown"], 1
drawing = []
for i, word in enumerate(sentence):
    drawing.append(text(70 + 105 * i, 80, word, 17, "query" if i == center else "key"))
    if i != center:
        x, end, role = 70 + 105 * center, 70 + 105 * i, ROLES["key"]
        path = f"M {x} 64 Q {(x + end) / 2} {64 - 0.22 * abs(x - end)} {end} 64"
        drawing.append(f'<path d="{path}" fill="none" stroke="{role}" stroke-width="2"/>')
for i, word in enumerate(["river", "from", "toy"]):
    x = 330 + 95 * i
    drawing.append(text(x, 168, word, 17, "output"))
    drawing.append(arrow(175 + 24 * (i + 1), 97 + 4 * i, x - 26, 158, "output"))
drawing.append(text(120, 168, "drawn at random:", 14))
shown = "king is tied by arcs to the four words around it; arrows push away three drawn words."
show(svg(560, 190, drawing), shown)

# %% [markdown]
# *Blue: words that stand near* king *are pulled toward it. Pink: words drawn at random are pushed
# away. Do this for every word of a text, many times.*
#
# That is **word2vec** (Mikolov et al. 2013), in the form called **skip-gram**: from the word in
# the center, predict the words around it, up to a fixed distance, the **window** (here up to 5
# words on each side). The other form, **CBOW** (continuous bag of words), predicts the center word
# from the mean of its neighbors' vectors. Each word has a row of numbers, its **vector**. Words
# with the same neighbors are pulled to the same places, so they end near each other.

# %% [markdown]
# ## By hand: one pull, one push
#
# A word has two vectors: one for when it is in the center, one for when it is a neighbor. Say
# *king* is $(1, 2)$ in the center, and as neighbors *crown* is $(1, 0.5)$ and *river* $(1, -1)$.
#
# | | score: dot product with *king* | $\sigma$(score) | should be |
# |---|---|---|---|
# | *crown*, stood there | $1 + 1 = 2$ | 0.881 | 1 |
# | *river*, drawn | $1 - 2 = -1$ | 0.269 | 0 |
#
# $\sigma(s) = 1 / (1 + e^{-s})$ turns a score into a share. The loss is
# $-\ln 0.881 - \ln(1 - 0.269) = 0.127 + 0.313 = 0.440$. Its slope for *king* is each error times
# the neighbor's vector: $-0.119 \cdot (1, 0.5) + 0.269 \cdot (1, -1) = (0.150, -0.329)$. One step
# against it: *king* moves to $(0.850, 2.329)$. The scores become $2.01$ and $-1.48$: both better.
#
# For a word $w$, a neighbor $c$ and $k$ drawn words $n_j$, the loss is
#
# $$-\ln \sigma(u_w \cdot v_c) - \sum_{j=1}^{k} \ln \sigma(-u_w \cdot v_{n_j})$$

# %%
import torch
from torch import nn
from torch.nn.functional import logsigmoid

from deepdive.models.classic.word2vec import SkipGram
from deepdive.training.objectives import negative_sampling_loss

king = torch.tensor([1.0, 2], requires_grad=True)
crown, river = torch.tensor([1.0, 0.5]), torch.tensor([1.0, -1])
loss = -logsigmoid(king @ crown) - logsigmoid(-king @ river)
loss.backward()
moved = king.detach() - king.grad
print(f"loss {loss:.3f}, slope", *(f"{g:.3f}" for g in king.grad), end="; ")
print(f"after a step: crown {moved @ crown:.2f}, river {moved @ river:.2f}")

# The same with the library: word 0 is king; neighbours 1 and 2 are crown and river.
model = SkipGram(3, 2)
model.words = nn.Parameter(torch.stack([king.detach()] * 3))
model.contexts = nn.Parameter(torch.stack([king.detach(), crown, river]))
scores = model(torch.tensor([0]), torch.tensor([[1, 2]]))
assert abs(negative_sampling_loss(scores[:, 0], scores[:, 1:]) - loss) < 1e-6
assert torch.allclose(king.grad, torch.tensor([0.150, -0.329]), atol=1e-3)

# %% [markdown]
# Ten years earlier a **neural language model** had learned such rows too (Bengio et al. 2003). It
# guessed the next word: rows of the words before it, a hidden layer, a score for *every* word.
# word2vec makes two changes: it drops the hidden layer, and it replaces the softmax over the
# vocabulary by one true word and a few sampled ones. (Sampling alone also speeds up a neural
# language model: Bengio and Senécal 2003; Mnih and Teh 2012.) What does one prediction cost?

# %% tags=["nbval-check-output"]
from deepdive.models.classic.neural_lm import NeuralLM

vocab, d, hidden, words, k = 10_000, 64, 64, 4, 5
old = NeuralLM(vocab, d, hidden, words)
hidden_layer = old.H.weight.numel() + old.U.weight.numel()
print(f"neural language model: {hidden_layer:,} multiplications", end=", ")
print(f"{hidden_layer + old.W.weight.numel():,} with its optional direct connections W")
print(f"word2vec: {(k + 1) * d:,}")

# %% [markdown]
# ## Train it
#
# The text comes from Wikipedia (WikiText-2, its held-out articles), or in the profile `ci` from a
# small grammar: generated. Two details of the paper: very frequent words are often left out, and
# words are drawn by their counts to the power $3/4$, between "by use" and "all alike".

# %%
import gzip
from collections import Counter

from deepdive.data import fetch
from deepdive.training.objectives import keep_probability, noise, skip_gram_pairs
from deepdive_book.data.senses import sense_sentences
from deepdive_book.kit.profile import pick, profile

if profile() == "ci":
    texts = [[word for word, _ in sentence] for sentence in sense_sentences(6000)]
else:
    texts = []
    for file in ("valid.txt.gz", "test.txt.gz"):
        whole = gzip.decompress(fetch("wikitext2_heldout", file).read_bytes()).decode()
        for line in whole.lower().splitlines():
            texts.append([word for word in line.split() if word.isalpha()])
counts = Counter(word for line in texts for word in line)
names = [word for word, n in counts.most_common() if n >= 8]
place = {word: i for i, word in enumerate(names)}
tokens = torch.tensor([place[word] for line in texts for word in line if word in place])
line_of = torch.tensor([i for i, line in enumerate(texts) for word in line if word in place])
often = torch.tensor([counts[word] for word in names])
keep = keep_probability(often, threshold=pick(ci=1e-2, laptop=1e-4, gpu=1e-4))
kind = "sense sentences (generated)" if profile() == "ci" else "wikitext2_heldout (real)"
print(f"data {kind}: {len(tokens):,} words, {len(names):,} different")
print(f"of 'the' {keep[place['the']]:.0%} stay in")

# %%
from deepdive.training import Update, fit
from deepdive.training.optim import adam

k, size, draw = 5, pick(ci=512, laptop=4096, gpu=4096), torch.Generator().manual_seed(0)


def batches():
    """Word, neighbour and k drawn words, (size, 2 + k), without end."""
    while True:
        kept = torch.rand(len(tokens), generator=draw) < keep[tokens]
        pairs = skip_gram_pairs(tokens[kept], 5, line_of[kept], draw)
        for pair in pairs[torch.randperm(len(pairs), generator=draw)].split(size):
            drawn = torch.multinomial(noise(often), k * len(pair), True, generator=draw)
            yield torch.cat([pair, drawn.view(-1, k)], dim=1)


def loss(model, batch):
    scores = model(batch[:, 0], batch[:, 1:])
    return negative_sampling_loss(scores[:, 0], scores[:, 1:])


model = SkipGram(len(names), pick(ci=16, laptop=64, gpu=128))
history = fit(model, batches(), loss, steps=pick(ci=800, laptop=1000, gpu=4000),
              optimizer=adam(model, pick(ci=1e-2, laptop=5e-3, gpu=5e-3)), update=Update(clip=None))
f"loss {history.losses[0]:.2f} at first, {sum(history.losses[-50:]) / 50:.2f} at the end"

# %% [markdown]
# ## Look: who is near whom?
#
# Near means a large cosine: the dot product of the two vectors, each cut to length 1. The lists are
# shown as they came out.

# %%
from torch.nn.functional import normalize

from deepdive.evaluate.similarity import neighbors

table = normalize(model.words.detach(), dim=1)


def near(*words, minus=(), n=5):
    """The n words nearest to the sum of `words` less those of `minus`, none of them among them."""
    plus, less = [place[word] for word in words], [place[word] for word in minus]
    ids, _ = neighbors(table, table[plus].sum(0) - table[less].sum(0), n, (*plus, *less))
    return [names[i] for i in ids]


shown = pick(
    ci="king river money she crown", laptop="she three river album king", gpu="she three river"
)
for word in shown.split():
    print(f"{word:>6}: {', '.join(near(word))}")
assert "her" in near("she") or "he" in near("she")

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

GROUPS = pick(
    ci=["king queen crown throne", "river stream boat grass", "money cash client clerk", "he she"],
    laptop=["two three four six", "album song music band", "she her he his", "river north island"],
    gpu=["two three four six", "album song music band", "she her he his", "river north island"],
)
groups = [[word for word in group.split() if word in place] for group in GROUPS]
rows = table[[place[word] for group in groups for word in group]]
_, _, axis = torch.linalg.svd(rows - rows.mean(0), full_matrices=False)
points = (rows @ axis[:2].T).tolist()
span = [max(p[i] for p in points) - min(p[i] for p in points) for i in (0, 1)]
HUES = ("query", "key", "value", "output")

# %% tags=["fold"]
figure, placed = Figure(figsize=(6.2, 3.6)), []
axes = figure.add_subplot()
colored = [(word, ROLES[r]) for g, r in zip(groups, HUES, strict=True) for word in g]
for (word, color), (x, y) in sorted(zip(colored, points, strict=True), key=lambda p: p[1][1]):
    at = y  # of the label, which moves up from one that is there, on a thread
    while any(abs(x - u) < 0.16 * span[0] and abs(at - v) < 0.085 * span[1] for u, v in placed):
        at += 0.01 * span[1]
    placed.append((x, at))
    axes.plot([x, x + 0.03 * span[0]], [y, at], color=color, linewidth=0.7, alpha=0.6)
    axes.plot(x, y, "o", color=color, markersize=4)
    axes.text(x + 0.035 * span[0], at, word, color=color, verticalalignment="center")
axes.set(xticks=[], yticks=[])
axes.margins(0.15)
with_alt(figure, f"A map of words in two directions: {'; '.join(GROUPS)}. Each group is together.")

# %% [markdown]
# *The two directions in which these words differ most; a colour is a group that we named. What
# stands together in the text stands together here.*

# %% [markdown]
# ## Analogies, good and bad
#
# The famous claim: *king* $-$ *man* $+$ *woman* is near *queen*. So the step from *man* to *woman*
# would be a direction. Test it on a list, with a control: the word nearest to the third word
# **alone**, no sum at all.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Some analogies come out right. Of those, how many has the control right too?",
    ["none: the sum does the work", "fewer than half", "most of them, or all"],
    answer=2,
    explain="In so small a text the answer, where it is found, is mostly the third word's "
    "neighbour already, and the sum hardly moves it. See both answers below.",
    key="01_before/analogies",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
ASKED = pick(
    ci="man woman king queen, man woman boy girl, king queen father mother, he she his her, "
    "king crown father child, man car boy toy, boy school king palace, river boat bank client",
    laptop="he his she her, he him she her, man woman king queen, man men woman women, "
    "is was are were, north south east west, england english france french, "
    "one first two second, city cities country countries, day days year years, "
    "england london france paris, small smaller large larger",
    gpu="he his she her, man woman king queen, is was are were, north south east west",
)
right = {"sum": 0, "alone": 0, "both": 0}
for a, b, c, wanted in (line.split() for line in ASKED.split(",")):
    found, alone = near(b, c, minus=[a], n=1)[0], near(c, n=1)[0]
    right["sum"] += found == wanted
    right["alone"] += alone == wanted
    right["both"] += found == alone == wanted
    mark = "right" if found == wanted else f"wrong, {wanted}"
    print(f"{a} : {b} = {c} : {found} ({mark}); nearest to {c} alone: {alone}")
print(f"right: {right['sum']}; alone {right['alone']}; both {right['both']}")
assert right["both"] >= right["sum"] - 2

# %% [markdown]
# Most neighbors make sense, those of *king* hardly. Of twelve analogies three came out right, no
# more than the control finds without a sum, and two of them are the same. Twelve are too few for a
# percentage, and three correct ones in a corpus this small show nothing either way. Linzen (2016)
# proposes such controls: how much they explain depends on the relation. The authors report about
# 60% right from a billion words of news (2013, table 1); our text is thousands of times smaller.

# %% [markdown]
# ## What do the scores become?
#
# Is there an end to the pulling and pushing? Yes: where pulls and pushes of each pair balance. Let
# $q(c)$ be the chance that $c$ is drawn. Set the slope to zero, and the score of $w$ and $c$ is
#
# $$u_w \cdot v_c = \ln \frac{p(c \mid w)}{q(c)} - \ln k$$
#
# With $q$ the plain share of $c$, the first term is the **pointwise mutual information**: how much
# more often two words meet than by chance (Levy and Goldberg 2014). So word2vec is a table of
# counts, squeezed into few numbers a word. Compare ours on pairs that meet often:

# %%
kept = torch.rand(len(tokens), generator=draw) < keep[tokens]
pairs = skip_gram_pairs(tokens[kept], 5, line_of[kept], draw)
both, times = pairs.unique(dim=0, return_counts=True)
of_word = torch.bincount(pairs[:, 0], minlength=len(names))
frequent = times >= pick(ci=20, laptop=10, gpu=10)
w, c = both[frequent].T
optimum = (times[frequent] / of_word[w] / noise(often)[c]).log() - torch.tensor(float(k)).log()
with torch.no_grad():
    scores = model(w, c.unsqueeze(1))[:, 0]
agreement = torch.corrcoef(torch.stack([scores, optimum]))[0, 1].item()
assert agreement > 0.4
print(f"{len(w):,} pairs: correlation of score and optimum {agreement:.2f}")

# %% tags=["fold"]
figure = Figure(figsize=(4.6, 3.4))
axes = figure.add_subplot()
axes.plot(optimum, scores, ".", markersize=2, alpha=0.5)
ends = [optimum.min().item(), optimum.max().item()]
axes.plot(ends, ends, color="0.4", linewidth=1)
axes.set(xlabel="optimum, from counts", ylabel="learned score")
with_alt(figure, "Learned scores against the optimum: a broad cloud that rises along the diagonal.")

# %% [markdown]
# *Each point is a pair of words, the line is the optimum. The cloud follows it: few numbers a word
# and a short training do not reach it.*

# %% [markdown]
# ### Common mistake: one vector, so one meaning
#
# A word has one vector, whatever it means where it stands. *Bank* is the side of a river and a
# house for money:

# %%
print("bank:", ", ".join(near("bank", n=10)))
water = pick(ci="river stream grass boat", laptop="river lake valley coast", gpu="river lake")
money = pick(ci="money client cash clerk", laptop="money shares company", gpu="money company")
near_bank = table @ table[place["bank"]]
for group in (water, money):
    print(*(f"{word} {near_bank[place[word]]:.2f}" for word in group.split() if word in place))

# %% [markdown]
# **Symptom:** *bank* stands between two groups, and a model that reads *the bank of the river*
# gets some money with it. More text does not help: it is one row of a table. **Fix:** let the
# sentence change the vector. That is what [ELMo](10_elmo.ipynb) does, and then
# [attention](../02_transformer/05_self_attention.ipynb).

# %% [markdown]
# ## In practice
#
# - **Leave the asked words out** of an analogy's answers. Left in, the third word itself is often
#   the nearest.
# - **Choose the threshold by your text.** The authors' $10^{-5}$ is for billions of words; in a
#   small text it leaves hardly any out of the rare ones and nearly all of the others.
# - **A window is a choice of meaning:** narrow ones group words that can replace each other, wide
#   ones words of one topic.
# - **Today** such a table is the first layer of a Transformer, trained with the rest.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why would pulls alone, without drawn words, teach nothing?
#
#    <details><summary>Answer</summary>
#
#    Make all vectors equal and long: every score is large, and the loss is near 0.
#
#    </details>
# 2. Two words never stand in one sentence. Can their vectors be near each other?
#
#    <details><summary>Answer</summary>
#
#    Yes: if they have the same neighbors, they are pulled to the same places.
#
#    </details>
# 3. Why is the guess so much cheaper than in the neural language model?
#
#    <details><summary>Answer</summary>
#
#    No hidden layer, and $k + 1$ scores in the place of one for each word of the vocabulary.
#
#    </details>
# 4. An analogy comes out right. What else do you ask before you believe in directions?
#
#    <details><summary>Answer</summary>
#
#    Whether the answer is already the nearest word of the third one alone.
#
#    </details>
# 5. What do the scores become with unlimited numbers a word, and words drawn by use?
#
#    <details><summary>Answer</summary>
#
#    The pointwise mutual information of the two words, less $\ln k$.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* In the example by hand, how does the vector of *river* move?
#
#    <details><summary>Answer</summary>
#
#    Its slope is its error times *king*: $0.269 \cdot (1, 2) = (0.269, 0.538)$. One step against
#    it: $(1, -1)$ becomes $(0.731, -1.538)$, away from *king*.
#
#    </details>
# 2. *(derive, 6 min)* A word meets $c$ in a share $p$ of its pairs; $c$ is drawn with chance $q$,
#    $k$ times a pair. At which score is the slope zero?
#
#    <details><summary>Answer</summary>
#
#    The mean slope is $-p\,(1 - \sigma(s)) + k q\,\sigma(s)$. It is zero where
#    $\sigma(s) = p / (p + k q)$, so $e^s = p / (k q)$ and $s = \ln(p / q) - \ln k$.
#
#    </details>
# 3. *(measure, 8 min)* Train with `k = 1` and `k = 15`. What happens to the mean score of true
#    pairs?
#
#    <details><summary>Answer</summary>
#
#    It falls by about the difference of $\ln k$, $2.7$; trained briefly, by less.
#
#    </details>

# %% [markdown]
# ## Summary
#
# A word's vector is trained to tell its neighbors in the text from words drawn at random, with
# dot products alone. Words that keep the same company end near each other, given enough text: ours
# was too small for *king*, whose neighbors make little sense. An analogy that comes out right
# proves nothing before its control. One vector a word mixes the meanings of the word, and only its
# sentence can tell them apart.
#
# ## Further reading
#
# - Bengio et al. (2003), *A Neural Probabilistic Language Model*: section 2 for the model, figure 1
#   for its shape.
# - Mikolov et al. (2013), *Distributed Representations of Words and Phrases and their
#   Compositionality*: section 2, three pages that say it all.
# - Levy, Goldberg (2014), *Neural Word Embedding as Implicit Matrix Factorization*: section 3 for
#   the optimum.
# - Linzen (2016), *Issues in Evaluating Semantic Spaces Using Word Analogies*: the control.

# %% [markdown] tags=["slide"]
# # Bahdanau and Luong attention: alignment in translation
#
# *ninety-five* is *fünfundneunzig* in German: five-and-ninety. Whoever writes *fünf* must have
# found *five*, and go back one word for *neunzig*. Nobody says so. Does a translator find out?
#
# <small>Prerequisites: [encoder and decoder](01_seq2seq.ipynb), [attention](02_attention.ipynb) ·
# 30 min · runs on a laptop · book 2.3.3</small>

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

english, german = ["ninety", "five", "thousand"], ["fünf", "und", "neunzig", "tausend", "end"]
show(
    two_readers(english, german, [0.08, 0.9, 0.02], asked=0),
    "Three encoder states read ninety five thousand. To write fünf, the first decoder state draws "
    "from all three: a thick link from five, thin ones from the others.",
)

# %% [markdown]
# *Drawn by hand: before it writes "fünf", the decoder draws from all states of the encoder, mostly
# from the one at "five".*
#
# The decoder of [the page on seq2seq](01_seq2seq.ipynb) got one vector and had to live on it. This
# one may look back before each word. Which source word a target word comes from is called its
# **alignment**. Translators before 2014 computed it first, with a model of its own. Bahdanau, Cho
# and Bengio let the translator learn it on the way, and that was the first attention in
# translation. (Larochelle and Hinton 2010, Graves 2013, with a window for handwriting, and Mnih et
# al. 2014 attend before.)

# %% [markdown]
# ## The idea: keep every state, and ask
#
# | | plain encoder-decoder | with attention |
# |---|---|---|
# | the encoder hands over | its last state | all $S$ states |
# | it reads | from left to right | in both directions |
# | the decoder is given | one vector, at the start | a new mix before each word |
# | numbers that cross | $d$, whatever the length | $2d$ for each source word |
# | steps from a source word to its use | up to $2S$ | 1 |
#
# The mix is called the **context**. The query is the decoder's state, keys and values are the
# encoder's states. Reading in both directions means that the state at *five* knows both
# what came before and what comes after.

# %% [markdown]
# ## By hand: one question
#
# Bahdanau's score is *additive*, a small network with one hidden layer for each pair of a state $s$
# and an encoder state $h$:
#
# $$\mathrm{score}(s, h) = u \cdot \tanh(s A_q + h A_k + b)$$
#
# Take states of one number. Encoder: *hundred* 0, *ninety* -1 (a ten), *five* +1 (a unit). A
# decoder that wants a unit has $s = +1$. Two hidden units, $A_q = A_k = (1, 1)$, $b = (-1, 1)$,
# $u = (3, -3)$:

# %%
import torch

words, h = ["hundred", "ninety", "five"], torch.tensor([0.0, -1.0, 1.0])
u, b = torch.tensor([3.0, -3.0]), torch.tensor([-1.0, 1.0])


def ask(s):
    hidden = torch.tanh(s + b + h[:, None])  # (3 words, 2 hidden units)
    scores = hidden @ u
    return scores, scores.softmax(0)


for wanted, s in (("a unit", 1.0), ("a ten", -1.0)):
    scores, weights = ask(s)
    print(f"the state wants {wanted}: s = {s:+.0f}")
    for word, score, weight in zip(words, scores, weights, strict=True):
        print(f"  {word:>8}: score {score:.4f}, weight {weight:.4f}")

# %% [markdown]
# With a pencil, for *five* and $s = 1$: the hidden units are $\tanh(1 - 1 + 1) = 0.7616$ and
# $\tanh(1 + 1 + 1) = 0.9951$, the score is $3 \cdot 0.7616 - 3 \cdot 0.9951 = -0.700$. For
# *ninety*: $\tanh(-1)$ and $\tanh(1)$ give $-4.57$. For *hundred*: $\tanh 0$ and $\tanh 2$ give
# $-2.892$. The powers are $0.4964$, $0.0104$, $0.0555$ with sum $0.5622$, so *five* gets
# $0.4964 / 0.5622 = 0.883$.
#
# A state that wants a ten, $s = -1$, turns to *ninety* with the same weights. One hidden unit could
# not do it: $u \tanh(s + h)$ would prefer the same word for every $s$. That is why the score needs
# more units than one, or a product as in [score functions](03_scores.ipynb).

# %% tags=["nbval-check-output"]
assert torch.allclose(ask(1.0)[1], torch.tensor([0.0986, 0.0184, 0.8829]), atol=1e-4)
assert torch.allclose(ask(-1.0)[1], torch.tensor([0.0986, 0.8829, 0.0184]), atol=1e-4)
powers = ask(1.0)[0].exp()
assert torch.allclose(powers, torch.tensor([0.0555, 0.0104, 0.4964]), atol=1e-4)
assert abs(powers.sum() - 0.5622) < 1e-4
print("the pencil was right")

# %% [markdown]
# ## In code: ask, read, write
#
# At each step the *previous* state $s_{t-1}$ asks. The context enters the recurrence beside the
# word that was just written. Then context, new state and word together give the scores of the next
# word:
#
# $$c_t = \sum_j \alpha_{tj} h_j \qquad s_t = \mathrm{GRU}([y_{t-1}; c_t],\, s_{t-1}) \qquad
# o_t = \mathrm{maxout}([c_t; s_t; y_{t-1}]\, W_o)$$
#
# Here $\alpha_{tj}$, the softmax over $j$ of $\mathrm{score}(s_{t-1}, h_j)$, is the weight of
# source word $j$ at step $t$; $y_{t-1}$ is the embedding of the word just written. On this page $s$
# is a state, not a score, and $c$ the context, not the LSTM's cell. $[a; b]$ puts vectors end to
# end. Maxout takes the larger of each two numbers. The first state is made from the encoder's
# right-to-left state at the first word, which has seen the whole sentence. In the code $A_q$ (with
# $b$) and $A_k$ are `W_q` and `W_k`. ($o_t$ follows the paper's equation 4; its appendix A.2.2 has
# $s_{t-1}$ there.)


# %%
def bahdanau(part, cell, tokens, memory):
    """Decode tokens (B, T) with the weights in `part`; memory (B, S, 2 d) holds the h."""
    keys = part.attention.W_k(memory)  # (B, S, d_a), once
    s = torch.tanh(part.W_s(memory[:, 0].chunk(2, dim=-1)[1]))  # (B, d)
    outputs, maps = [], []
    for y in part.embedding(tokens).unbind(1):
        hidden = torch.tanh(part.attention.W_q(s)[:, None] + keys)
        weights = part.attention.u(hidden).squeeze(-1).softmax(-1)  # (B, S), sums to 1
        c = (weights[:, :, None] * memory).sum(1)  # (B, 2 d), the context
        s = cell(torch.cat([y, c], -1), s)
        o = part.W_o(torch.cat([c, s, y], -1))
        outputs.append(o.unflatten(-1, (-1, 2)).amax(-1))
        maps.append(weights)
    return torch.stack(outputs, 1), torch.stack(maps, 1)  # (B, T, d_model), (B, T, S)


# %% [markdown]
# The recurrent cell can be torch's `GRUCell`. With the library's weights, both the outputs and the
# maps must be the library's.

# %%
from deepdive.core.hooks import record
from deepdive.models.seq2seq.attention_seq2seq import rnnsearch

library = rnnsearch(20, 20, d_model=8, d_hidden=6)
theirs = library.decoder.recurrent
cell = torch.nn.GRUCell(8 + 12, 6)
cell.load_state_dict(
    {
        "weight_ih": theirs.W.weight, "weight_hh": theirs.U.weight,
        "bias_ih": theirs.W.bias, "bias_hh": theirs.U.bias,
    }
)  # fmt: skip
source, target = torch.randint(4, 20, (3, 5)), torch.randint(4, 20, (3, 4))
with torch.no_grad(), record(library, "*.weights") as seen:
    expected = library(source, target)
    outputs, maps = bahdanau(library.decoder, cell, target, library.encoder(source))
    difference = (library.head(outputs) - expected).abs().max()
recorded = torch.cat(next(iter(seen.values())), 2)[:, 0]  # one call a step: (B, T, S)
assert max(difference, (maps - recorded).abs().max()) < 1e-6
f"largest difference below 1e-6: {bool(difference < 1e-6)}"

# %% [markdown]
# ## Number words, from English to German
#
# The data are generated: numbers below 10,000 in words, the German ones cut into their parts. For
# these we know the right alignment, so that a map can be marked right or wrong.

# %% tags=["nbval-check-output"]
import re

from deepdive.data import BucketBatches
from deepdive.data.generated import number_translation
from deepdive.tokenizers import BOS, EOS
from deepdive_book.kit.profile import pick

parts = re.compile(
    "tausend|hundert|und|zwanzig|dreißig|(?:vier|fünf|sech|sieb|acht|neun)zig"
    "|(?:drei|vier|fünf|sech|sieb|acht|neun)zehn|zehn|elf|zwölf|null"
    "|eins?|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
)
text = number_translation("en", "de", 6_200)
pairs = [(re.findall("[a-z]+", english), parts.findall(german)) for english, german in text]
for english, german in pairs[:3]:
    print(" ".join(english), "=", " ".join(german))

# %% [markdown]
# A list of words for each language, and numbers for the words. Ids 0 to 3 belong to special tokens.

# %%
special = ["", "", "", ""]
source_words = [*special, *sorted({w for a, _ in pairs for w in a})]
target_words = [*special, *sorted({w for _, g in pairs for w in g})]
coded = [
    ([source_words.index(w) for w in a], [target_words.index(w) for w in g]) for a, g in pairs
]
train, test = coded[:6_000], coded[6_000:][: pick(ci=80, laptop=200, gpu=200)]
len(source_words), len(target_words)

# %% [markdown]
# The model is `rnnsearch`, the name that the paper gave it, at toy size.

# %%
from deepdive.decoding import greedy
from deepdive.training import fit
from deepdive.training.objectives import cross_entropy
from deepdive.training.optim import adam, cosine


def loss(model, batch):
    source, target = batch
    return cross_entropy(model(source, target[:, :-1], source != 0), target[:, 1:])


def learn(model, data, steps):
    both = ([source for source, _ in data], [[BOS, *target, EOS] for _, target in data])
    schedule = cosine(5e-3, warmup=20, total=steps)
    batches = BucketBatches(both, max_tokens=600, seed=1)
    return fit(model, batches, loss, steps=steps, optimizer=adam(model), schedule=schedule)


def translate(model, source):
    return greedy(model, torch.tensor([source]), max_length=20)[0]


# %% [markdown]
# The loss is that of the plain encoder-decoder. It asks for the right next word, nothing else.

# %%
torch.manual_seed(0)
translator = rnnsearch(len(source_words), len(target_words), d_model=32, d_hidden=64)
history = learn(translator, train, pick(ci=150, laptop=300, gpu=600))
right = sum(translate(translator, source) == target for source, target in test) / len(test)
assert right > 0.9
print(f"{right:.1%} of {len(test)} new numbers translated without a mistake")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "nine thousand four hundred and seventy three = neun tausend vier hundert drei und siebzig. "
    "Rows are the words as they are written. Which rows will look at the word that means the same?",
    ["all of them", "the digits and the tens: neun, vier, drei, siebzig", "none in particular"],
    answer=1,
    explain="tausend and hundert follow from what was written; there is nothing to look up. Rows "
    "like these may look anywhere. The map shows what is needed, not what corresponds.",
    key="02_transformer/alignment-map",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Unit and ten, crosswise tags=["slide", "surprise"]
from deepdive_book.kit.plotting import heatmap


def look(model, source, target):
    """The map of one pair, (T + 1, S): a row for each word written, the last for the end."""
    with record(model, "*.weights") as seen, torch.no_grad():
        model(torch.tensor([source]), torch.tensor([[BOS, *target]]))
    return torch.cat(next(iter(seen.values())), 2)[0, 0]  # Bahdanau: one call a step


def names(ids, vocabulary):
    return [vocabulary[i] or "end" for i in ids]


shown = next(i for i, (_, g) in enumerate(pairs[6_000:]) if len(g) == 7 and g[5] == "und")
source, target = test[shown]
rows, columns = names([*target, EOS], target_words), names(source, source_words)
heatmap(look(translator, source, target), rows, columns, title="by word written")

# %% [markdown]
# *The unit is written first and looks at the last word; the ten comes two rows later and looks one
# word back.*
#
# A crossing like this one stands in figure 3 of Bahdanau's paper, where *European Economic Area*
# becomes *zone économique européenne*.
#
# The right alignment follows from the two grammars: word for word, without *and* and *und*, and
# *X und Y* taken crosswise. Count over all test numbers, by kind of word.


# %%
def right_alignment(source, target):
    """For each target word the place of the source word that means the same; None for und."""
    left = [i for i, w in enumerate(names(source, source_words)) if w != "and"]
    written, found = names(target, target_words), []
    while len(found) < len(target):
        if "und" in written[len(found) + 1 : len(found) + 2]:
            found += [left[1], None, left[0]]
            left = left[2:]
        else:
            found.append(left.pop(0))
    return found


right_alignment(*test[0])


# %%
def kind(word):
    tens = word.endswith(("zig", "ßig"))
    return "scale" if word in ("hundert", "tausend") else "tens" if tens else "digit or teen"


def marks(model, shift=0):
    """By kind of word: how many rows look first at the right word, and how many there are."""
    count = {}
    for source, target in test:
        best = look(model, source, target).argmax(-1).tolist()
        right = right_alignment(source, target)
        for t, word in enumerate(names(target, target_words)):
            if right[t] is not None:
                hits, rows = count.get(kind(word), (0, 0))
                count[kind(word)] = (hits + (best[t + shift] == right[t]), rows + 1)
    return count


counted = marks(translator)
for name, (hits, n) in counted.items():
    print(f"{name:>14}: {hits / n:.1%} of {n} rows look first at the word that means the same")
found = {name: hits / n for name, (hits, n) in counted.items()}
assert min(found["digit or teen"], found["tens"]) > max(0.9, found["scale"] + 0.2)

# %% [markdown]
# What must be looked up is found, nearly without exception. For *hundert* and *tausend* it is
# otherwise. After a digit one of the two is often due, and the encoder's state at that digit, which
# has read both ways, can tell which. So nothing holds the weights to a word. No alignment was ever
# shown in training.

# %% [markdown]
# ### Common mistake: naming the rows after the words that were read
#
# A decoder reads *begin neun tausend* and writes *neun tausend vier*. Both lists have the
# same length, so either can be put beside the map, and nothing fails:

# %%
read = names([BOS, *target], ["", "begin", "", "", *target_words[4:]])
shifted = marks(translator, shift=1)  # row t + 1 is taken for word t
heatmap(look(translator, source, target), read, columns, title="wrong: by word read")


# %%
def share(count):
    both = [count[k] for k in ("digit or teen", "tens")]
    return sum(hits for hits, _ in both) / sum(n for _, n in both)


assert share(shifted) < share(counted) - 0.3
print("digits, teens and tens that look first at the right word")
print(f"named after the word written {share(counted):.1%}, the word read {share(shifted):.1%}")

# %% [markdown]
# **Symptom:** each word seems to look at the source of the *next* word, and the alignment seems to
# be off by one. **Fix:** row $t$ belongs to what step $t$ writes, `target[:, 1:]`. Then count
# on a task where the answer is known.

# %% [markdown]
# ## Is it the cause?
#
# Let the trained translator write a number that ends in *X und Y*. At the step that writes the
# unit, put all the weight on the word for the ten. In numbers with *hundert*, at the step that
# writes it, put it on the last word of the source. Leave everything else as it is.

# %%
from deepdive.core.hooks import replace


def write_forced(model, source, target, step, place):
    """What the model writes at `step` when all its weight there is put on `place`."""
    calls = iter(range(len(target) + 1))

    def force(weights):  # (1, 1, 1, S), once a step
        return torch.eye(len(source))[place].expand_as(weights) if next(calls) == step else weights

    with replace(model, "*.weights", force), torch.no_grad():
        logits = model(torch.tensor([source]), torch.tensor([[BOS, *target]]))
    return target_words[logits[0, step].argmax()] or "end"


# %% tags=["fold"]
predict(
    "... and seventy three. The model should write drei. At this one step, all its weight is put "
    "on seventy. What does it write?",
    [
        "drei: the state knows that a unit is due",
        "sieben: the unit that goes with seventy",
        "siebzig: whatever it looks at",
    ],
    answer=2,
    explain="The state only says where to look. What is written comes from there, even where "
    "German grammar wants a unit first.",
    key="02_transformer/forced-alignment",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from collections import Counter

found, scale = Counter(), Counter()
for source, target in test:
    written, right = names(target, target_words), right_alignment(source, target)
    if "und" in written:
        t = written.index("und") - 1
        word = write_forced(translator, source, target, t, right[t + 2])
        found[{written[t + 2]: "the ten", written[t]: "the unit"}.get(word, "another")] += 1
    if "hundert" in written and names(source, source_words)[-1] != "hundred":
        t = written.index("hundert")
        word = write_forced(translator, source, target, t, len(source) - 1)
        scale["hundert" if word == "hundert" else "another"] += 1
print("weight on the ten:", dict(found))
print("weight on the last word:", dict(scale))
assert found["the ten"] > 0.8 * found.total()
assert scale["hundert"] > 0.8 * scale.total()

# %% [markdown]
# *First line: the words written where a unit was due. Second line: what stands in the place of
# "hundert", with all weight on the last word of the source.*
#
# For the words that are looked up, the map is the cause: move the weight, and the word moves with
# it. For *hundert* it is not: with all weight on the last word it is still written, for the state
# already knows that it is due. A map is evidence only where an intervention says so.

# %% [markdown]
# ## Does attention fix forgetting?
#
# Copying letters, the task of [the page on seq2seq](01_seq2seq.ipynb): there letters in their
# place fell with the length of the word. Train the plain GRU and Bahdanau's model with the same
# data and steps, and test on lengths up to twice the longest in training. The two differ in more
# than attention: Bahdanau's model also has a bidirectional encoder and a maxout layer, and the
# parameter counts below are far apart.

# %%
from deepdive.data.generated import reversal

longest = pick(ci=8, laptop=12, gpu=16)
lengths = range(1, 2 * longest + 1)


def copying(n, shortest, longest, seed):
    words = reversal(n, length=(shortest, longest), vocab=10, seed=seed)
    return [(word, word) for word, _ in words]


def in_place(model, length, n=100):
    """The share of letters of n new words that stand in their place."""
    pairs = copying(n, length, length, seed=2)
    words = torch.tensor([word for word, _ in pairs])
    written = greedy(model, words, max_length=length)
    rows = torch.tensor([[*word, *[EOS] * length][:length] for word in written])
    return (rows == words).float().mean().item()


# %% tags=["fold"]
predict(
    "Trained on words of up to n letters. What will attention change?",
    [
        "up to n letters all is copied; beyond n too, for every letter is one step away",
        "up to n letters all is copied; beyond n it fails again",
        "little: the decoder is still recurrent",
    ],
    answer=1,
    explain="Nothing needs to be remembered any more, but the state must still know where to look "
    "next. It has learned that for places that it has seen.",
    key="02_transformer/attention-length",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from deepdive.models.seq2seq.seq2seq import seq2seq

torch.manual_seed(0)
copiers = {
    "plain": seq2seq(14, d_model=32, d_hidden=64),
    "with attention": rnnsearch(14, None, d_model=32, d_hidden=64),
}
curves = {}
for name, model in copiers.items():
    learn(model, copying(20_000, 1, longest, seed=1), pick(ci=200, laptop=500, gpu=3000))
    curves[name] = [in_place(model, length) for length in lengths]
    size = sum(p.numel() for p in model.parameters())
    print(f"{name}: {size:,} parameters")
at = longest - 1  # the place of the longest trained length in the lists
assert curves["with attention"][at] > max(0.9, curves["plain"][at] + 0.2)
assert curves["with attention"][-1] < curves["with attention"][at] - 0.2

# %% Does attention fix forgetting? tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.2, 3.2))
axes = figure.add_subplot()
for (name, shares), mark in zip(curves.items(), ("o:", "s-"), strict=True):
    axes.plot(lengths, shares, mark, label=name, markersize=4)
axes.axvspan(0.5, longest + 0.5, color="0.5", alpha=0.15, lw=0)  # the lengths of training
axes.set(xlabel="letters in the word", ylabel="letters in their place", ylim=(-0.03, 1.03))
axes.legend()
with_alt(
    figure,
    "Letters in their place against length, the trained lengths grey. With attention nearly all "
    "are right in the grey, and fewer and fewer beyond; the plain model falls from the start.",
)

# %% [markdown]
# *Grey: the lengths of training. Within them attention holds level; beyond them it falls too.*
#
# So does attention fix forgetting? At this training budget (500 steps, one seed) the model with
# attention copies what the plain one doesn't yet copy. The comparison is confounded: 112,462
# parameters against 40,174. And the plain model mostly needs more steps: in a rerun of [page
# 2.1](01_seq2seq.ipynb) with 3,000 steps its GRU had 70% of the letters of 12-letter words in
# place, an LSTM 92%. What attention changes by construction is the distance: every letter is one
# step away. What remains is to know *where* to look, and that knowledge sits in a recurrent state
# that was trained on short words. [Positional encoding](08_positions.ipynb) takes it up for models
# without recurrence, and finds a cliff there too.
#
# Bahdanau et al. found such a gap in BLEU, English to French, for models trained on sentences of up
# to 30 or 50 words (their table 1, all test sentences):
#
# | trained on up to | plain | with attention |
# |---|---|---|
# | 30 words | 13.93 | 21.50 |
# | 50 words | 17.82 | 26.75 |
#
# Reproduced here: a gap that grows with length up to the longest in training (compare their figure
# 2), between models of different size and after a short training. Not reproduced: translation at
# their size, with states of 1,000 numbers in each direction.

# %% [markdown]
# ## Dates, and Luong's order
#
# A second task, letter by letter: dates as people write them, to the one form that sorts. The
# month is a name here and a number there, the order changes, and the day of the week is of no use.

# %%
from deepdive.data.generated import date_pairs
from deepdive.tokenizers import CharTokenizer

dates = date_pairs("en", 5_200)
letters = CharTokenizer.train([a + b for a, b in dates])
coded = [(letters.encode(a), letters.encode(b)) for a, b in dates]
learned, new = coded[:5_000], coded[5_000:][: pick(ci=80, laptop=200, gpu=200)]
dates[:3]

# %% [markdown]
# Let two models compete. **Luong** et al. (2015) changed the order of the step: first read the
# word, then ask with the *new* state, then mix context and state into the output. So the
# recurrence never sees a context, and a framework can run it over the whole target in one call.
#
# | | Bahdanau | Luong |
# |---|---|---|
# | who asks | the state before the step, $s_{t-1}$ | the state after it, $s_t$ |
# | the context enters | the recurrence, and the output | the output only |
# | score | additive | a dot product (theirs is not scaled) |
# | training | one call for each step | one call for the whole target |
# | the decoder starts from | the right-to-left state at the first word | the encoder's end |

# %%
import time

from deepdive.models.seq2seq.attention_seq2seq import attention_seq2seq

rivals = {
    "Bahdanau": lambda n: rnnsearch(n, None, d_model=32, d_hidden=64),
    "Luong": lambda n: attention_seq2seq(n, d_model=32, d_hidden=128),
}
trained, losses = {}, {}
for name, build in rivals.items():
    torch.manual_seed(0)
    trained[name] = build(len(letters))
    began = time.process_time()
    history = learn(trained[name], learned, pick(ci=200, laptop=300, gpu=2000))
    seconds, losses[name] = time.process_time() - began, history.curve(10)
    size = sum(p.numel() for p in trained[name].parameters())
    right = sum(translate(trained[name], date) == form for date, form in new) / len(new)
    print(f"{name}: {size:,} weights, {seconds:.0f} s, {right:.1%} of new dates right")
    assert name == "Luong" or right > 0.8
half = len(losses["Luong"]["loss"]) // 2
assert losses["Bahdanau"]["loss"][half] < losses["Luong"]["loss"][half]

# %% tags=["fold"]
figure = Figure(figsize=(5.6, 2.8))
axes = figure.add_subplot()
for (name, curve), mark in zip(losses.items(), ("-", "--"), strict=True):
    axes.plot(curve["step"], curve["loss"], mark, label=name)
axes.set(xlabel="step", ylabel="loss", yscale="log")
axes.legend()
with_alt(figure, "Loss against steps on a log scale; Bahdanau's falls earlier than Luong's.")

# %% [markdown]
# *About as many weights, the same batches and steps, one run each: Bahdanau's loss falls earlier.
# The seconds are printed above.*

# %% tags=["fold"]
from deepdive_book.kit.plotting import heads

date, answer = "Sat, May 3, 1986", "1986-05-03"
maps = [look(model, letters.encode(date), letters.encode(answer)) for model in trained.values()]
heads(torch.stack(maps), [*answer, "end"], list(date), names=list(trained))

# %% [markdown]
# *Rows are the characters written. The last digits of year and day look at themselves, and both
# digits of the month at letters of its name.*
#
# The name of the day takes many columns. How much weight goes there? Take all new dates that begin
# with one:

# %%
weekdays = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
picked = [i for i in range(5_000, 5_000 + len(new)) if dates[i][0].startswith(weekdays)]
part = sum(dates[i][0].index(",") / len(dates[i][0]) for i in picked) / len(picked)
print(f"characters in the name of the day: {part:.0%}")
for name, model in trained.items():
    weight = 0.0
    for i in picked:
        weight += look(model, *coded[i])[:, : dates[i][0].index(",")].sum(1).mean().item()
    print(f"{name}: weight on them {weight / len(picked):.1%}")
    assert weight / len(picked) < (part / 4 if name == "Bahdanau" else part)

# %% [markdown]
# Nobody said that the day of the week is of no use. The models found that out as they found the
# alignment: what does not help to lower the loss gets less weight than its share, with Bahdanau
# hardly any.
#
# So what does the order of the step change? Bahdanau's model needed fewer steps of training in this
# one run. Order and score differ at once, so it cannot say which it is (exercise 4). What speaks
# for the order: with the context in the recurrence the state knows what it has seen. Luong et al.
# tried that as well. On English to German, attention (scored by place alone, over all words) took
# their model from 14.0 to 16.8 BLEU. Feeding the mix of context and state back into the recurrence
# took it to 18.1 (their table 1, section 3.3). But then the steps must be run one by one. The
# Transformer kept what runs in one call, and dropped the recurrence.

# %% [markdown]
# ## In practice
#
# - **Mask the padding of the source** in the attention, not only in the encoder. `rnnsearch` takes
#   `src_mask` and does both.
# - **Mark a map against known alignments** before you trust one without.
# - **Test longer than you trained.** An accuracy within the trained lengths says nothing about the
#   next length.
# - **Say which words the map speaks for.** Content words needed it; words that follow from grammar
#   did not.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A source of 6 words, states of $d = 64$ numbers in each direction. How many numbers cross from
#    the encoder to the decoder with attention, and how many without?
#
#    <details><summary>Answer</summary>
#
#    $6 \cdot 2 \cdot 64 = 768$ with attention, since every state is kept, in both directions.
#    Without, 64: one last state.
#
#    </details>
# 2. Who asks, with Bahdanau and with Luong, and why can only one of the two run over the whole
#    target in one call?
#
#    <details><summary>Answer</summary>
#
#    With Bahdanau $s_{t-1}$ asks, and the context goes into the recurrence, so each step waits for
#    the one before. With Luong $s_t$ asks, and the recurrence never sees a context.
#
#    </details>
# 3. No alignment was shown in training. Which German words looked first at the English word that
#    means the same, and which did not?
#
#    <details><summary>Answer</summary>
#
#    Digits, teens and tens, nearly always. *hundert* and *tausend* far less often: they need no
#    look-up, since the state already knows that they are due.
#
#    </details>
# 4. All weight was put on a wrong source word, once where a unit was due and once where *hundert*
#    was due. What was written, and what does that say of the map?
#
#    <details><summary>Answer</summary>
#
#    The ten that was looked at, instead of the unit; but *hundert* all the same. The map is a cause
#    where a word must be looked up, and no evidence where it need not be.
#
#    </details>
# 5. With attention every letter is one step away. Why do copies still get worse beyond the lengths
#    of training?
#
#    <details><summary>Answer</summary>
#
#    The letters are there, but the decoder must know where to look. That knowledge sits in a
#    recurrent state which has learned it only for the places seen in training.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 5 min)* In the example by hand, let the state be $s = 0$. Which weights do the
#    three words get?
#
#    <details><summary>Answer</summary>
#
#    *ninety* and *five* have the score $-2.892$, *hundred* $3 (\tanh(-1) - \tanh 1) = -4.570$. The
#    powers are $0.0555$, $0.0555$, $0.0104$ with sum $0.1213$: weights $0.457$, $0.457$, $0.085$. A
#    state that does not know what it wants cannot choose.
#
#    </details>
# 2. *(predict, 3 min)* Give every source word the same weight, at all steps, in the trained
#    translator. Which words does it still write right, given the right words before: digits and
#    tens, or *hundert* and *tausend*?
#
#    <details><summary>Answer</summary>
#
#    The words of scale, far more often. See the cell below.
#
#    </details>
# 3. *(derive, 6 min)* A source of $S$ words, a target of $T$, states of $d$ numbers in each
#    direction, $d$ hidden units in the score. Count the multiplications of Bahdanau's attention,
#    the mix included. What part can be done before the first word is written?
#
#    <details><summary>Answer</summary>
#
#    Keys: $S \cdot 2d \cdot d$ (each $h_j$ has $2d$ numbers), before the first word. Each step:
#    $d^2$ for the query, $S d$ for $u$, $2 S d$ for the mix. Together $2 S d^2 + T (d^2 + 3 S d)$.
#
#    </details>
# 4. *(code, 10 min)* Give Luong's model the additive score. Which comes with the score and which
#    with the order: the loss that falls earlier, or the little weight on the name of the day?
#
#    <details><summary>Answer</summary>
#
#    Add a third rival to `rivals`, and import `AdditiveAttention` from `deepdive.attention`:
#
#    ```python
#    "Luong, additive": lambda n: attention_seq2seq(
#        n, d_model=32, d_hidden=128, score=AdditiveAttention
#    ),
#    ```
#
#    It differs from Luong's in the score alone (and has 33,024 more weights), from Bahdanau's
#    mainly in the order. In two runs of ours (300 steps, seeds 0 and 1) its loss halfway lay
#    between the two, so the score brings a part of the fall. The weight on the name of the day
#    stayed near Luong's in one run and came near Bahdanau's in the other: one seed decides nothing.
#
#    </details>
# 5. *(measure, 15 min)* Translate into French instead: `number_translation("en", "fr", ...)`. Where
#    do the three words *quatre vingt quinze* look when *ninety five* is the source?
#
#    <details><summary>Answer</summary>
#
#    Cut the French words with `re.findall("[a-z]+", french)`. No alignment word by word is right
#    here: four twenties and fifteen. *quatre vingt* says *ninety* (or *eighty*), *quinze* says the
#    rest of *ninety* and *five* together. So let the map say where each looks, and `write_forced`
#    what it needs: put the weight of *quinze* on *five* alone, then on *ninety* alone. Where it is
#    written all the same, the map was no evidence, as with *hundert*.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
assert torch.allclose(ask(0.0)[1], torch.tensor([0.0855, 0.4573, 0.4573]), atol=1e-3)
kept = {}
for source, target in test:
    blind = replace(translator, "*.weights", lambda w: torch.full_like(w, 1 / w.shape[-1]))
    with blind, torch.no_grad():
        logits = translator(torch.tensor([source]), torch.tensor([[BOS, *target]]))
    for word, chosen in zip(target, logits[0].argmax(-1).tolist(), strict=False):
        kept.setdefault(kind(target_words[word]), []).append(word == chosen)
kept = {name: sum(same) / len(same) for name, same in kept.items()}
print("still right with equal weights:", ", ".join(f"{k} {v:.0%}" for k, v in kept.items()))

# %% [markdown]
# ## Summary
#
# Before each word the decoder's state asks all states of the encoder, and the mix that it gets
# takes the place of one vector for everything. The weights learn which source word a target word
# comes from without being told, where the word must be looked up; moving them moves the word. In
# our short run its copies didn't get worse with length, up to the lengths of training; the plain
# model, with about a third of the parameters, hadn't learned the long ones yet.
#
# ## Further reading
#
# - Bahdanau, Cho, Bengio (2015), *Neural Machine Translation by Jointly Learning to Align and
#   Translate*: section 3.1 for the decoder, figure 2 for length, figure 3 for the maps, appendix A
#   for the sizes.
# - Luong, Pham, Manning (2015), *Effective Approaches to Attention-based Neural Machine
#   Translation*: section 3.1 for the order, section 5.4 for alignments marked against human ones.
# - Koehn, Knowles (2017), *Six Challenges for Neural Machine Translation*, section 3.5: attention
#   that is off by one, in one language pair (German-English), and still translates well.
# - Jain, Wallace (2019), *Attention is not Explanation*: why a map alone proves little.

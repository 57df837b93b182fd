# %% [markdown] tags=["slide"]
# # The Transformer decoder: cross-attention and causal masking
#
# A translator has read *quatre vingt dix sept* and has written *ninety*. What must it look at to
# write the next word, and how does one layer look at all of that?
#
# <small>Prerequisites: [the encoder](11_encoder.ipynb) and [masks](07_masks.ipynb) · 30 min · runs
# on a laptop · book 2.4.6</small>

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
from deepdive_book.kit.diagrams import ROLES, arrow, svg, text
from deepdive_book.kit.plotting import show

read, written = ["quatre", "vingt", "dix", "sept"], ["start", "ninety"]
at, own = [120, 220, 320, 420], [170, 290]
body = [text(40, 30, "read", 15, "key"), text(40, 150, "written", 15, "query")]
body += [text(x, 30, word, 18, "key") for x, word in zip(at, read, strict=True)]
body += [text(x, 150, word, 18, "query") for x, word in zip(own, written, strict=True)]
for x, weight in zip(at, (0.05, 0.05, 0.1, 0.8), strict=True):
    body.append(
        f'<line x1="290" y1="132" x2="{x}" y2="46" stroke="{ROLES["key"]}" '
        f'stroke-width="{1 + 8 * weight}" stroke-linecap="round"/>'
    )
for path, width in (("M 278 168 Q 224 222 170 168", 2), ("M 284 168 C 270 215 325 215 308 168", 5)):
    body.append(
        f'<path d="{path}" fill="none" stroke="{ROLES["query"]}" stroke-width="{width}"/>'
    )
body += [arrow(335, 150, 440, 150, width=2), text(480, 150, "seven", 18, "value", bold=True)]
show(
    svg(560, 205, body),
    "The row of ninety has links up to the four French words, the thickest to sept, and links "
    "below to start and to itself. An arrow leads from it to the next word, seven.",
)

# %% [markdown]
# *Two looks, drawn by hand: one at the words read, one at the words written. Out comes the next
# word.*
#
# Both looks are needed. The source alone does not say that the tens are done. The words written
# alone do not say which number it is. A decoder layer takes the two looks one after the other, and
# then thinks about each row by itself: **masked self-attention, cross-attention, feed-forward.**
#
# On this page you write the layer in eleven lines, put the whole Transformer together, train one
# that translates numbers, look at what it looks at, and take each part out to see what breaks.

# %% [markdown]
# ## Three sublayers, three questions
#
# | sublayer | its question | queries from | keys and values from | mask |
# |---|---|---|---|---|
# | masked self-attention | what have I written? | target | target | hides what comes later |
# | cross-attention | what does the source say? | target | encoder's output | hides padding |
# | feed-forward | what follows from both? | each row alone | | |
#
# The encoder's output is called the **memory**. It is computed once, and every decoder layer reads
# the same memory.

# %% [markdown]
# ## By hand: one sentence, three lessons at once
#
# In training the right answer is known, so all its words are learned in one pass
# ([teacher forcing](01_seq2seq.ipynb)). The decoder reads the answer **shifted by one**: a start
# mark (*begin* on 2.1, `BOS` in code) goes in front, and the end mark is left out. Row $t$ then
# reads word $t - 1$ and must predict word $t$, counted from 0; row 0 reads start.
#
# | row | reads | sees of the target | sees of the source | must predict |
# |---|---|---|---|---|
# | 0 | start | start | all four words | ninety |
# | 1 | ninety | start, ninety | all four words | seven |
# | 2 | seven | start, ninety, seven | all four words | end |
#
# The mask makes each row a fair exam: no row sees the word that it must predict. Here is the whole
# exam as one picture. First the four source words look at each other, then the target words.

# %%
import torch

from deepdive.core.masks import Causal
from deepdive_book.kit.plotting import heatmap

tokens = ["quatre", "vingt", "dix", "sept", "start", "ninety", "seven"]
allowed = torch.zeros(7, 7)
allowed[:4, :4] = 1  # encoder: everything read sees everything read
allowed[4:, 4:] = Causal().dense(3, 3)  # decoder: what is written sees what was written before
allowed[4:, :4] = 1  # cross-attention: what is written sees all that was read
heatmap(allowed, tokens, tokens, title="1 = may look", digits=0)

# %% [markdown]
# *Rows look at columns. The empty block at the top right is what makes an encoder: what is read
# never sees what is written. The steps at the bottom right are the causal mask.*

# %% [markdown]
# ## In code: eleven lines
#
# The parts are those of the pages before. $x$ holds the target's rows, (B, T, d_model), and memory
# the source's, (B, S, d_model); $T$ and $S$ need not be equal.
#
# $$x \leftarrow \mathrm{norm}(x + \mathrm{self}(x)) \qquad
# x \leftarrow \mathrm{norm}(x + \mathrm{cross}(x, \mathrm{memory})) \qquad
# x \leftarrow \mathrm{norm}(x + \mathrm{ff}(x))$$

# %%
from torch import nn

from deepdive.core import FeedForward, LayerNorm, MultiHeadAttention


class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.cross = MultiHeadAttention(d_model, n_heads)
        self.ff = FeedForward(d_model, d_ff)
        self.norms = nn.ModuleList(LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory):  # (B, T, d_model), (B, S, d_model)
        x = self.norms[0](x + self.attn(x, mask=Causal()))
        x = self.norms[1](x + self.cross(x, memory=memory))
        return self.norms[2](x + self.ff(x))


# %% tags=["fold"]
from deepdive_book.kit.diagrams.layers import Sublayer, one_layer

d, d_ff = 512, 2048
parts = [
    Sublayer("masked self-attention", "query", "4 · 512² + 4 · 512 = 1,050,624 parameters"),
    Sublayer("cross-attention", "key", "another 1,050,624"),
    Sublayer("feed-forward", "value", "2 · 512 · 2048 + 2048 + 512 = 2,099,712"),
]
show(
    one_layer(parts, "x  (B, T, 512)", "x  (B, T, 512)", memory="memory", width=660),
    "A decoder layer from bottom to top: masked self-attention, cross-attention fed by the memory, "
    "feed-forward; each is followed by add and norm, with the residual around it.",
)

# %% [markdown]
# *The shape goes through unchanged, so layers can be stacked. Only the arrow from the left, in
# the keys' blue, brings something in from outside.*
#
# Check it against the library's `Block` and against torch's own layer, with the same weights in all
# three.

# %%
from deepdive.published.from_torch import from_torch

theirs = nn.TransformerDecoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
block, layer = from_torch(theirs), DecoderLayer(32, 4, 64)
layer.attn, layer.cross, layer.ff = block.attn, block.cross, block.ff
joints = (block.attn_residual, block.cross_residual, block.ff_residual)
layer.norms = nn.ModuleList(joint.norm for joint in joints)
x, memory = torch.randn(2, 5, 32), torch.randn(2, 7, 32)
with torch.no_grad():
    ours = layer(x, memory)
    later = nn.Transformer.generate_square_subsequent_mask(5)
    assert (ours - block(x, memory=memory, mask=Causal())).abs().max() < 1e-6
    assert (ours - theirs(x, memory, tgt_mask=later)).abs().max() < 1e-6
sum(p.numel() for p in DecoderLayer(512, 8, 2048).parameters())

# %% [markdown]
# The number is that of a decoder layer in [the encoder's table](11_encoder.ipynb): the three of the
# picture, and $3 \cdot 2 \cdot 512$ for the norms.

# %% [markdown]
# ## The whole Transformer
#
# A stack of encoder layers, a stack of decoder layers, a matrix of embeddings on either side, and a
# matrix that turns the decoder's rows into scores of words.

# %% The whole Transformer tags=["slide", "fold"]
from deepdive_book.kit.diagrams.layers import STEP, box, top
from deepdive_book.kit.diagrams.layers import layer as drawn

y = 420
encoder_parts = [Sublayer("self-attention", "weight"), Sublayer("feed-forward", "value")]
decoder_parts = [Sublayer(p.name, p.role) for p in parts]
body = drawn(190, y, encoder_parts, "6 ×") + drawn(510, y, decoder_parts)
body.append(text(650, y - 142, "× 6", 17, bold=True))
for x_at, words in ((190, "quatre vingt dix sept"), (510, "start ninety seven")):
    body += [arrow(x_at, y + 76, x_at, y + 48), box(x_at, y + 31, "embedding + position", "score")]
    body += [arrow(x_at, y + 14, x_at, y), text(x_at, y + 90, words, 15, bold=True)]
over, into, out = top(y, encoder_parts) - 22, y - STEP - 39, top(y, decoder_parts)
body.append(
    f'<path d="M 190 {top(y, encoder_parts) + 2} V {over} H 352 V {into} H 412" fill="none" '
    f'stroke="{ROLES["key"]}" stroke-width="3"/>'
)
body += [arrow(404, into, 422, into, "key", 3), text(270, over - 14, "memory", 15, "key")]
body += [arrow(510, out + 2, 510, out - 16), box(510, out - 33, "times embeddingᵀ", "score")]
body.append(arrow(510, out - 50, 510, out - 68))
body.append(text(510, out - 82, "ninety seven end", 15, bold=True))
show(
    svg(680, y + 110, body),
    "Left the encoder, six layers of self-attention and feed-forward; its output, the memory, goes "
    "into the cross-attention of each of six decoder layers on the right.",
)

# %% [markdown]
# *Follow one target word from bottom to top: embedding, six times three sublayers, scores of all
# words. Below stands the answer shifted right, above the answer itself.*

# %% [markdown]
# ### One matrix, used three times
#
# The matrix that turns words into rows also turns rows into words: **weight tying**. The score of a
# word is the dot product of the decoder's newest row with the word's own embedding. By hand, with
# two dimensions and three words, let that row be $(0.5, 1)$:
#
# | word | embedding | score | $e^{\mathrm{score}}$ | probability |
# |---|---|---|---|---|
# | ninety | $(1, 0)$ | $0.5$ | 1.649 | 0.224 |
# | seven | $(0, 1)$ | $1.0$ | 2.718 | 0.369 |
# | seventeen | $(0.6, 0.8)$ | $0.3 + 0.8 = 1.1$ | 3.004 | 0.408 |
#
# A word near the row gets a high score, so words that can follow in the same place get embeddings
# that are near each other. Source and target of the paper share a vocabulary of 37,000 *pieces*
# (frequent words, and parts of rarer ones), so one matrix serves encoder, decoder and output. What
# does that save? Count, on the `meta` device:

# %%
from deepdive.models.transformer.transformer import base

with torch.device("meta"):
    tied = base()
embedding = tied.decoder.embedding.weight.numel()
total = sum(p.numel() for p in tied.parameters())
assert embedding == 37_000 * 512
print(f"one matrix:     {total / 1e6:6.1f} million parameters (the paper prints 65)")
print(f"three matrices: {(total + 2 * embedding) / 1e6:6.1f} million")
print(f"the matrix:     {embedding / 1e6:6.1f} million")

# %% [markdown]
# ## A translator of numbers
#
# French counts from 70 to 99 in its own way: 97 is *quatre vingt dix sept*, four twenties, ten,
# seven. The pairs are generated (num2words): 4,000 numbers below 10,000, of which 300 are kept for
# the test.

# %% tags=["nbval-check-output"]
from deepdive.data import BucketBatches
from deepdive.data.generated import number_translation
from deepdive.tokenizers import WordTokenizer
from deepdive.training.translation import encode


def spaced(words):
    return words.replace("-", " ").replace(",", "")


pairs = [(spaced(fr), spaced(en)) for fr, en in number_translation("fr", "en", 4000, seed=1)]
train, test = pairs[:-300], pairs[-300:]
french = WordTokenizer.train(fr for fr, _ in train)
english = WordTokenizer.train(en for _, en in train)
batches = BucketBatches(encode(train, french, english), max_tokens=500, seed=1)
train[:3]

# %%
from deepdive.core import PreNorm
from deepdive.decoding import greedy
from deepdive.models.transformer.transformer import transformer
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive.training.translation import loss, translate
from deepdive_book.kit.profile import pick


def build():
    torch.manual_seed(0)
    sizes = {"d_model": 64, "n_heads": 2, "n_layers": 2, "d_ff": 128, "dropout": 0.0}
    return transformer(len(french), len(english), residual=PreNorm, **sizes)  # PreNorm: see 2.11


def teach(model, steps):
    schedule = cosine(4e-3, warmup=50, total=steps)
    return fit(model, batches, loss, steps=steps, optimizer=adam(model), schedule=schedule)


def accuracy(model):
    said = translate(model, [fr for fr, _ in test], french, english, greedy, progress=False)
    return sum(out == en for out, (_, en) in zip(said, test, strict=True)) / len(test)

# %%
steps = pick(ci=200, laptop=350, gpu=350)
model = build()
teach(model, steps)
right = accuracy(model)
assert right > 0.9
f"{right:.1%} of {len(test)} new numbers translated without a mistake"

# %% [markdown]
# ## What it looks at

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "`trois cent quatre vingt dix sept`: the model is about to write `ninety`. On which French "
    "words do the largest weights of that row lie?",
    ["on dix alone: it means ten", "on several of quatre, vingt, dix", "on all words alike"],
    answer=1,
    explain="None of the words alone says ninety: quatre vingt sept is 87, and dix sept is 17. "
    "The heads share the work.",
    key="02_transformer/decoder-ninety",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from deepdive.core.hooks import record


def looks(fr, en):
    source = torch.tensor([french.encode(fr, eos=True)])
    target = torch.tensor([english.encode(en, bos=True)])
    with record(model, "decoder.*.weights") as seen, torch.no_grad():
        model(source, target, source != 0)
    return {name.split(".", 2)[2]: maps[0][0] for name, maps in seen.items()}


fr, en = "trois cent quatre vingt dix sept", "three hundred and ninety seven"
assert spaced(en) == en
maps = looks(fr, en)
list(maps)

# %% tags=["fold", "surprise"]
from deepdive_book.kit.plotting import heads

written, sources = [*en.split(), "end"], [*fr.split(), "end"]
cross = torch.cat([maps[f"blocks.{i}.cross.mechanism.weights"] for i in range(2)])
names = [f"layer {i}, head {h}" for i in (1, 2) for h in (0, 1)]
ninety = cross[:, written.index("ninety"), 2:5].sum(-1)  # on quatre, vingt, dix, in each head
assert ninety.max() > 0.5
heads(cross, written, sources, names=names)

# %% [markdown]
# *Cross-attention. Each row, here and below, is named by the word that is being written, not by the
# word that it reads; columns are the words read. In the row of* ninety *the heads lie on different
# words.*

# %% tags=["fold"]
own = torch.cat([maps[f"blocks.{i}.attn.mechanism.weights"] for i in range(2)])
heads(own, written, ["start", *en.split()], names=names)

# %% [markdown]
# *Self-attention. Columns are the words written so far; the mask leaves the upper right empty.*
#
# Some words have one source word each: *hundred* comes from *cent*, *thousand* from *mille*. Count
# over 100 test numbers, for each head: how often does the largest weight lie on that French word,
# when the model writes the English one?

# %%
from collections import Counter

origin = {"hundred": ("cent", "cents"), "thousand": ("mille",)}
hits, asked = {word: [0] * 4 for word in origin}, Counter()
for fr, en in test[:100]:
    maps, source = looks(fr, en), [*fr.split(), "end"]
    cross = torch.cat([maps[f"blocks.{i}.cross.mechanism.weights"] for i in range(2)])
    for row, word in enumerate(en.split()):
        if word in origin:
            asked[word] += 1
            for head, place in enumerate(cross[:, row].argmax(-1).tolist()):
                hits[word][head] += source[place] in origin[word]
for word, counts in hits.items():
    shares = [count / asked[word] for count in counts]
    assert max(shares) > 0.5
    print(f"{word:>8}:", ", ".join(f"{n} {s:.0%}" for n, s in zip(names, shares, strict=True)))

# %% [markdown]
# Some heads find the source word nearly always, others look elsewhere. A map of one head, or the
# mean of all, would hide that. Here are all twelve, those of the encoder too.

# %%
from deepdive_book.kit.explorer import attention_explorer

fr, en = "trois cent quatre vingt dix sept", "three hundred and ninety seven"
sentences = (
    torch.tensor([french.encode(fr, eos=True)]),
    torch.tensor([english.encode(en, bos=True)]),
)
read = ([*fr.split(), "end"], ["start", *en.split()])
attention_explorer(model, sentences, read, start=("cross", 1, 0))

# %% [markdown]
# Press a token to see where it looks, and who looks at it. In the explorer a row has the name of
# the word that the decoder *reads*: the row of *and* writes *ninety*. Which heads of the encoder
# bring *quatre*, *vingt* and *dix* together before the decoder asks?
#
# And what became of the shapes on the way? `trace` follows one call through the modules. A row
# opens; what stands inside is counted in it.

# %%
from deepdive_book.kit.trace import trace

trace(model, sentences)

# %% [markdown]
# Seven French positions go in and stay seven rows up to the memory; six English ones become six
# rows of scores, one for each word of the vocabulary. In the cross-attention both meet: queries
# from six rows, keys and values from seven. (Two operations are one multiplication and addition in
# a product; look-ups, norms and sums are not counted.)

# %% [markdown]
# ## Taking parts out
#
# Which of the three sublayers carries the translation? Two ways to ask. First, take the trained
# model and let one kind of sublayer return zeros, in both layers.

# %% tags=["fold"]
predict(
    "First we silence one kind of sublayer in the trained translator. Then we train translators "
    "that never had it. Which part can be spared?",
    [
        "self-attention, in both ways: the cross-attention has the source",
        "feed-forward, in both ways",
        "silenced, none without great loss; left out from the start, the feed-forward",
    ],
    answer=2,
    explain="Parts that were trained together rely on each other. A model that never had the part "
    "arranges itself without it, if it can.",
    key="02_transformer/decoder-silence",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from contextlib import ExitStack

kinds = {"self-attention": "attn", "cross-attention": "cross", "feed-forward": "ff"}


def silenced(kind):
    with ExitStack() as stack:
        for block in model.decoder.stack.blocks:
            part = getattr(block, kinds[kind])
            hook = part.register_forward_hook(lambda module, inputs, rows: torch.zeros_like(rows))
            stack.callback(hook.remove)
        return accuracy(model)


reached_in = {kind: silenced(kind) for kind in kinds}
assert accuracy(model) == right  # all hooks are gone
f"{len(kinds)} kinds silenced in turn, {len(test)} numbers each"

# %% [markdown]
# Second, train models that never had the part. All else is equal: the same start, data and steps.


# %%
class Silent(nn.Module):
    def forward(self, x, *args, **kwargs):
        return torch.zeros_like(x)


trained_without, poorer = {}, {}
for kind, name in kinds.items():
    poorer[kind] = build()
    for block in poorer[kind].decoder.stack.blocks:
        setattr(block, name, Silent())
    teach(poorer[kind], steps)
    trained_without[kind] = accuracy(poorer[kind])
f"{len(poorer)} more translators trained"

# %% tags=["fold", "surprise"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.4, 2.6))
axes = figure.add_subplot()
for i, (results, label) in enumerate(
    ((reached_in, "silenced after training"), (trained_without, "trained without"))
):
    spots = [k + 0.2 * (2 * i - 1) for k in range(3)]
    bars = axes.barh(spots, list(results.values()), height=0.36, label=label)
    for bar, value in zip(bars, results.values(), strict=True):
        x = max(value, right if value > 0.8 else 0) + 0.02  # beside the dashed line
        axes.text(x, bar.get_y() + bar.get_height() / 2, f"{value:.0%}", va="center")
    print(f"{label}:", ", ".join(f"no {kind} {value:.0%}" for kind, value in results.items()))
axes.axvline(right, linestyle="--", color="#8a8a8a")
axes.set(xlim=(0, 1.2), xlabel="numbers translated rightly (dashed: the whole model)")
axes.set_yticks(range(3), [f"no {kind}" for kind in kinds])
axes.invert_yaxis()
axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
with_alt(
    figure,
    "Two bars for each part taken out. No self-attention and no cross-attention: near 0 both ways. "
    "No feed-forward: about a sixth when silenced, nearly all when trained without.",
)

# %%
assert max(reached_in.values()) < right - 0.3
assert trained_without["cross-attention"] < 0.1
assert trained_without["self-attention"] < 0.3
assert trained_without["feed-forward"] > 0.8
for fr, en in test[:3]:
    lost = translate(poorer["self-attention"], [fr], french, english, greedy, progress=False)[0]
    print(f"{en}\n   without self-attention: {lost[:75]}")

# %% [markdown]
# *Blue: the part was there in training, and is then silenced. Orange: it was never there.*
#
# Without cross-attention the decoder knows no source. Without self-attention a row knows the
# source, the last word written (its own input) and its place, but not what stands before. Source
# and place would fix the word, but this model has not learned to count its way through the source:
# after *thousand* it writes in circles. Both are needed. The decoder's feed-forward layers are
# missed when they fall silent, for the rest has learned to rely on them. But a model that never had
# them does nearly as well: on a task this small, the attention's own matrices are enough.
#
# **A part that is missed is not yet a part that is needed.** When you read an ablation, ask which
# of the two was done.

# %% [markdown]
# ## Alive in this page
#
# A smaller sister of the translator runs below, in your browser: 24 wide, 25,560 weights, trained
# to read French number words and write digits. Nothing is fetched, and nothing that you type leaves
# the page. Digits are harder than they look: nobody says the zeros of *deux mille sept*, and the
# first digit must be written before any counting is done.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "`trois cent quatre vingt dix sept` is 397. You leave out the word `dix`. What does the model "
    "write?",
    ["397: it has learned the whole phrase", "387", "39 or 97: a digit is missing"],
    answer=1,
    explain="trois cent quatre vingt sept is 387, a number like any other: the word is gone before "
    "the model reads, and the rest is read as it stands.",
    key="02_transformer/live-dix",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
from deepdive_book.ch02.toys.number_words import number_words
from deepdive_book.kit.live import live

toy = number_words()
live(
    toy.model,
    toy.source,
    toy.target,
    "trois cent quatre vingt dix sept",
    examples=["quatre vingt dix sept", "deux mille sept", "deux cent mille trente"],
    snapshots=toy.snapshots,
    trained=toy.trained,
    ask="Type a number in French words, zéro to 999 999",
)

# %% [markdown]
# *Blue words: where the pressed digit looked, the mean of the cross-attention's heads. Maps: rows
# look at columns.*
#
# Four things to try:
#
# 1. **Leave out a word.** Without *dix* it is 387. One word can go and the answer stays. Which, and
#    why may it?
# 2. **Switch heads off,** one at a time, and press *put everything back* between. Which head of the
#    encoder turns 397 to 387, as if *dix* were not there?
# 3. **Go back in training.** At which step is your number right for the first time, and do the maps
#    of the second layer look sharper by then?
# 4. **Turn up the temperature.** The shares of a row move together. Does their order ever change?

# %%
import torch

from deepdive.core.hooks import ablate
from deepdive.decoding import greedy


def digits(words):
    tokens = torch.tensor([toy.source.encode(words, eos=True)])
    return toy.target.decode(greedy(toy.model, tokens, max_length=12)[0])


whole = "trois cent quatre vingt dix sept"
assert digits(whole) == digits(whole.replace("quatre ", "")) == "397"
for word in whole.split():
    print(f"without {word:>6}: {digits(whole.replace(word, '', 1))}")
with ablate(toy.model, "encoder.stack.blocks.0.attn.heads", [0]):
    print(f"without head 0 of the encoder's first layer: {digits(whole)}")

# %% [markdown]
# The model in your browser and the one in this cell are the same, weight by weight. *quatre* can
# go: no number but 90 is said with *vingt dix*. And the head that was switched off had told the
# words what stands beside them.

# %% [markdown]
# ## Three shapes of one kit
#
# Leave a sublayer out, change a mask, and other models appear. The parts do not change:
#
# | | encoder-decoder | encoder only | decoder only |
# |---|---|---|---|
# | self-attention | full, and causal | full | causal |
# | cross-attention | yes | no | no |
# | reads | all of the source | all of the text | what is already written |
# | writes | a new text | nothing: one state a token | the text's continuation |
# | example | Transformer, T5 | BERT | GPT |
# | asked for | translation, summary | labels, search | whatever can be phrased as text |
#
# A decoder-only model translates too: write source and target one after the other, with a mark
# between. Then the source's words no longer see the words after them. All three are one `Block`,
# with a mask or without:

# %%
from deepdive.core import Block


def block_of(cross):
    def attention():
        return MultiHeadAttention(512, 8)

    return Block(attention(), FeedForward(512, 2048), attention() if cross else None)


rows, memory = torch.randn(1, 6, 512), torch.randn(1, 9, 512)
shapes = {
    "encoder only": (block_of(False), {}),
    "decoder only": (block_of(False), {"mask": Causal()}),
    "decoder of a pair": (block_of(True), {"mask": Causal(), "memory": memory}),
}
for name, (block, inputs) in shapes.items():
    with torch.no_grad():
        out = block(rows, **inputs)
    print(f"{name:>17}: {tuple(out.shape)}, {sum(p.numel() for p in block.parameters()):,} weights")

# %% [markdown]
# ### Common mistake: the answer stands in the question
#
# Forget the shift, and each row reads the very word that it must predict. You know the symptom from
# [2.1](01_seq2seq.ipynb): a loss near 0, and nothing learned but to copy. New here: the causal mask
# does not save you, for a row may see itself. **Fix:** `model(source, target[:, :-1])` predicts
# `target[:, 1:]`. **The test that finds it:** change the last word of the target. The scores for
# that word may not move.

# %%
source, target = next(iter(batches))
changed = target.clone()
changed[:, -1] = target[:, -1] % 7 + 4  # another word
moves = {}
for name, part in (("shifted", slice(None, -1)), ("unshifted", slice(1, None))):
    with torch.no_grad():
        before, after = (model(source, rows[:, part], source != 0) for rows in (target, changed))
    moves[name] = not torch.equal(before[:, -1], after[:, -1])
    print(f"{name:>9}: the scores for the last word move: {moves[name]}")
assert moves == {"shifted": False, "unshifted": True}

# %% [markdown]
# ## How it differs
#
# | | RNN decoder with attention | Transformer decoder |
# |---|---|---|
# | what was written | squeezed into one state | every row is kept, and looked at |
# | in training | word after word | all words at once, under the mask |
# | in use | word after word | word after word ([the cache](14_decoding.ipynb) makes it fast) |
# | looks at the source | once a word | once a word and layer, with several heads |
# | kept while it writes | one state | more with each word |

# %% [markdown]
# ## In practice
#
# - **Compute the memory once** a source, not once a word. The library's `begin` does it
#   ([decoding](14_decoding.ipynb)).
# - **Mask the source's padding in the cross-attention** as well as in the encoder. It is easily
#   forgotten.
# - **Tie the matrices** when source and target share a vocabulary: fewer parameters, and usually no
#   worse.
# - **Change the last word of the target,** as above, before the first long run.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. The memory has 9 rows, the decoder reads 6. What are the shapes of a head's map in
#    self-attention and in cross-attention, and what does each mask hide?
#
#    <details><summary>Answer</summary>
#
#    Self-attention $6 \times 6$, where the causal mask hides what comes later; cross-attention
#    $6 \times 9$, where only padding is hidden.
#
#    </details>
# 2. A translator with six layers on either side writes ten tokens, the end mark among them. How
#    often does its encoder run, and how often does a layer look at the memory?
#
#    <details><summary>Answer</summary>
#
#    The encoder runs once. Each of the six decoder layers looks at the same memory for each of the
#    ten tokens: 60 times.
#
#    </details>
# 3. Without the shift a row reads the word that it must predict. Why does the causal mask not
#    prevent that, and which test showed it here?
#
#    <details><summary>Answer</summary>
#
#    The mask hides later words, but a row may see itself. With another last word in the target the
#    scores for that word moved, where the shifted model's did not.
#
#    </details>
# 4. The translator trained without self-attention starts rightly and then writes in circles. What
#    does each of its rows know, and what not?
#
#    <details><summary>Answer</summary>
#
#    The source, the last word written and its place. Not what was written before that word, so
#    after *thousand* it must work out from its place alone how far it has come, and has not learned
#    to.
#
#    </details>
# 5. Which two things must you change in a decoder layer to get an encoder layer, and which one to
#    get a layer of GPT?
#
#    <details><summary>Answer</summary>
#
#    For the encoder leave out the cross-attention and the causal mask; for GPT only the
#    cross-attention.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 3 min)* The target is *deux*, *cents*, end. What does the decoder read, and how
#    many rows must predict something?
#
#    <details><summary>Answer</summary>
#
#    It reads start, *deux*, *cents*: three rows. They must predict *deux*, *cents*, end.
#
#    </details>
# 2. *(on paper, 4 min)* In the weight-tying table, let the newest row be $(2, 0)$. Which word wins,
#    and with what probability?
#
#    <details><summary>Answer</summary>
#
#    Scores 2, 0, 1.2; powers 7.389, 1, 3.320, with sum 11.709. *ninety*, with 0.631.
#
#    </details>
# 3. *(derive, 5 min)* For which vocabulary does the shared matrix of the base model have as many
#    parameters as all layers together?
#
#    <details><summary>Answer</summary>
#
#    The layers have 44,138,496. Divided by 512: 86,208 words.
#
#    </details>
# 4. *(code, 15 min)* Leave out the encoder's feed-forward layers as well. At how many parts left
#    out does the translator break? Does it still learn numbers that are ten times as large?
#
#    <details><summary>Answer</summary>
#
#    Set `block.ff = Silent()` in `model.encoder.stack.blocks` too, and take one part more away in
#    each run. The attentions are the floor: without either kind in the decoder the model broke
#    above. What else can go is for your run to say. If a run falls short, train it longer before
#    you call the part needed: slower is not never. For larger numbers draw the pairs with
#    `low=10_000, high=99_999`. The words stay the same, only the texts grow.
#
#    </details>

# %%
# The answers to 2 and 3, checked.
scores = torch.tensor([[2.0, 0.0]]) @ torch.tensor([[1.0, 0], [0, 1], [0.6, 0.8]]).T
assert torch.allclose(scores.softmax(-1)[0, 0], torch.tensor(0.631), atol=5e-4)
assert (total - embedding) / 512 == 86_208
assert (4 * 20 + 7, 10 + 7) == (87, 17)  # quatre vingt sept, dix sept
print("answers 2 and 3 hold")

# %% [markdown]
# ## Summary
#
# A decoder layer looks at what is written under a causal mask, looks at the encoder's output, and
# then thinks about each row alone. In training it reads the answer shifted by one, so all words are
# learned in one pass. Encoder, decoder and encoder-decoder are the same block with another mask,
# with or without cross-attention.
#
# ## Further reading
#
# - Vaswani et al. (2017), *Attention Is All You Need*, section 3 and figure 1.
# - Press and Wolf (2017), *Using the Output Embedding to Improve Language Models*: weight tying.
# - Tang, Sennrich, Nivre (2018), *An Analysis of Attention Mechanisms: The Case of Word Sense
#   Disambiguation in Neural Machine Translation*: what cross-attention looks at.
# - Voita et al. (2019), *Analyzing Multi-Head Self-Attention*: which heads can be taken out of a
#   trained translator.
# - Two explainers to play with beside the model above: Transformer Explainer (poloclub, Cho et al.
#   2024) runs GPT-2 on your sentence; LLM Visualization (bbycroft) walks through every number of a
#   small GPT that sorts six letters. Both show a finished decoder alone. Ours has the encoder too,
#   can be damaged and wound back to its first step, and is weight by weight the one in Python.
# - In this companion: case study 2 trains this model on real sentences.

# %% [markdown] tags=["slide"]
# # Attention rollout, attention flow, and norms
#
# *The old key to the boxes ...*: how does it go on, with *is* or with *are*? A small Transformer
# says *is*, and it is right: one key. But in each of its four layers the state that answers looks
# most at the word *old*, which is the same beside one key and beside ten. Does it look at the
# wrong word, or do we read its attention wrongly?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb),
# [residuals and norms](../02_transformer/09_residuals_norms.ipynb) · 19 min · runs on a laptop; the
# runs over several seeds are kept beside the page · book 7.5</small>

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

# %% Generated sentences, up to the verb tags=["fold"]
import random
from functools import cache

import torch

from deepdive_book.data.verb_numbers import NOUNS, verb_numbers
from deepdive_book.kit.profile import pick, profile

TEXTS = verb_numbers(pick(ci=2_000, laptop=20_000, gpu=20_000), seed=1)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted({w for text in TEXTS for w in text.words})]
ID = {word: i for i, word in enumerate(WORDS)}
known = {text.words for text in TEXTS}
drawn = verb_numbers(pick(ci=200, laptop=3_000, gpu=3_000), seed=2)
NEW = [text for text in drawn if text.words not in known]
OTHER = NOUNS | {many: one for one, many in NOUNS.items()}  # key -> keys, keys -> key


def tokens_of(texts):
    """Tokens (B, T) with [CLS] before and [SEP] behind, what is no padding, and the answers."""
    rows = [["[CLS]", *text.words, "[SEP]"] for text in texts]
    wide = max(map(len, rows))
    tokens = torch.tensor([[ID[w] for w in row] + [0] * (wide - len(row)) for row in rows])
    return tokens, tokens != 0, torch.tensor([int(text.plural) for text in texts])


# %% Train a small BERT tags=["fold"]
import torch.nn.functional as F

from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.training import fit
from deepdive.training.optim import adam, linear

D, UNKNOWN = 64, torch.tensor(ID["[UNK]"])


def loss(model, batch):
    """One word in ten is blank: so a blank is nothing new when we ask by blanking."""
    tokens, real, plural = batch
    gone = (torch.rand(tokens.shape) < 0.1) & (tokens > ID["[SEP]"])
    return F.cross_entropy(model(tokens.where(~gone, UNKNOWN), real), plural)


# %% Train one tags=["fold"]
@cache
def train(layers, steps, seed):
    torch.manual_seed(seed)
    encoder = bert(vocab_size=len(WORDS), d_model=D, n_heads=4, n_layers=layers, d_ff=2 * D,
                   max_length=24, dropout=0.0, n_segments=0)  # fmt: skip
    model, draw = Classifier(encoder, D, 2, dropout=0.0), random.Random(seed)
    batches = [tokens_of(draw.sample(TEXTS, 64)) for _ in range(steps)]
    fit(model, batches, loss, steps=steps, seed=seed, optimizer=adam(model, lr=1e-3),
        schedule=linear(1e-3, max(1, steps // 10), steps), progress=False)  # fmt: skip
    return model.eval()


# %% What one reading leaves behind tags=["fold"]
from deepdive.core.hooks import record


@torch.no_grad()
def read(model, tokens):
    """Logits, and a list by layer of weights (1, H, T, T), values, and the rows that enter."""
    with record(model, "*.weights", "*.values", "*.embedded", "*.stream") as seen:
        logits = model(tokens)
    one = lambda end: [calls[0] for name, calls in seen.items() if name.endswith(end)]  # noqa: E731
    return logits, one("weights"), one("values"), one("embedded") + one("stream")


def taken(layer, weights, values):
    """The vector that each row adds to each row, (T, S, d): the sum of w_ts f(x_s) over heads."""
    out = layer.attn.out.weight.unflatten(1, (values.shape[1], -1))  # (d, H, d_head)
    return torch.einsum("hts,hsk,dhk->tsd", weights[0], values[0], out).detach()


# %% Every method's numbers for one text tags=["fold"]
from deepdive.explain.attention_weights.flow import flow
from deepdive.explain.gradients import gradient_x_input
from deepdive.explain.rollout import rollout


def explained(model, tokens, label, by_layer=False):
    """{method: (T,)}: how much each word counts for [CLS]; "raw 2" is that of layer 2."""
    _, weights, values, rows = read(model, tokens)
    blocks, depth = model.encoder.stack.blocks, len(weights)
    added = [taken(*each) for each in zip(blocks, weights, values, strict=True)]
    sizes = [each.norm(dim=-1) for each in added]
    shares = [size / size.sum(-1, keepdim=True) for size in sizes]
    raw = [layer[0].mean(0) for layer in weights]
    rolled = rollout(weights)[:, 0, 0]
    found = {f"raw {k + 1}": raw[k][0] for k in range(depth)}
    found |= {f"norm {k + 1}": shares[k][0] for k in range(depth)}
    found |= {f"rollout {k}": rolled[k] for k in range(1, depth + 1)}
    found |= {f"flow {k}": flow(weights[:k], [0])[0]
              for k in (range(1, depth + 1) if by_layer else [depth])}  # fmt: skip
    found["raw, mean"] = torch.stack(raw).mean(0)[0]
    found["rollout of norms"] = rollout([share[None, None] for share in shares])[-1, 0, 0]
    found["rollout, measured"] = measured_rollout(added, rows)[0]
    found["gradient x input"] = gradient_x_input(
        model, "*.embedded", lambda: margin(model(tokens), label))[0].abs()  # fmt: skip
    return found | {"blank-out": blanked(model, tokens, label)}


# %% Three of them tags=["fold"]
def margin(logits, label):
    """How far the right answer is above the other."""
    return logits[:, label] - logits[:, 1 - label]


@torch.no_grad()
def blanked(model, tokens, label):
    """By how much the right answer's probability changes when a word is [UNK], (T,)."""
    gone = torch.eye(tokens.shape[1], dtype=torch.bool)
    right = [model(x).softmax(-1)[:, label] for x in (tokens, tokens.where(~gone, UNKNOWN))]
    return (right[0] - right[1]).abs()


def measured_rollout(added, rows):
    """Rollout whose layers say how much of each row's new state is its own, old row."""
    rolled = torch.eye(len(rows[0][0]))
    for vectors, x in zip(added, rows, strict=False):
        here = torch.arange(len(rolled))
        whole = vectors.clone()
        whole[here, here] += x[0]  # the residual connection adds the row itself
        sizes = whole.norm(dim=-1)
        rolled = sizes / sizes.sum(-1, keepdim=True) @ rolled
    return rolled


# %% [markdown]
# The sentences are generated, up to the verb: perhaps a place with a comma, a subject, what is
# added to it. **The number of the subject (one or many) decides, by the rule that made the
# sentence**; other nouns have a number at random. So the word that an explanation has to find is
# known. The model is a small BERT, the state of `[CLS]` answers, and in training one word in ten
# was blank.
#
# *Attention as a graph: words stand on the left, each layer is a column of states, and a line is as
# thick as the weight, the mean of four heads. The bars say what each word has in the state that is
# orange. Choose a state, or press its dot.*


# %% The model reads three texts tags=["fold"]
from deepdive_book.ch07.figures.attention_graph import Reading, attention_graph
from deepdive_book.kit.experiments import results_path, share, sweep

STEPS = pick(ci=40, laptop=600, gpu=600, experiment=round(600 * share()))
model = train(pick(ci=2, laptop=4, gpu=4), STEPS, 1)
SAID = ["the old key to the boxes", "the key to the boxes", "near the boats , the key to the box"]


def text_tokens(words):
    return torch.tensor([[ID[word] for word in ("[CLS]", *words.split(), "[SEP]")]])


readings = []
for words in SAID:
    logits, weights, _, _ = read(model, text_tokens(words))
    assert profile() == "ci" or logits.argmax() == 0  # is
    readings.append(Reading(["[CLS]", *words.split(), "[SEP]"],
                            torch.cat(weights).mean(1)))  # fmt: skip
attention_graph(readings)

# %% [markdown]
# 1. *This layer's weights*: go back from layer 4 to layer 1. At which state does `[CLS]` look?
# 2. Choose the state of `old` after layer 1. At which word does *it* look?
# 3. Choose *rollout*, `[CLS]`, after layer 4: which share does rollout give to `key`? Then choose
#    *from* `key`: by which way?
# 4. Choose *flow*, from `key`. Where is the narrowest place?
#
# <details><summary>Answers to the four tasks</summary>
#
# 1. At `old`, in each of the four.
# 2. At `key`. So after layer 1 the state in the place of `old` is no longer the word *old*.
# 3. 28%, less than `old` with 35%. Through the place of `old`, and through its own.
# 4. At the very end: whatever leaves `key`, no more than 100% fits into the answer.
#
# </details>

# %% The same in numbers tags=["fold"]
from deepdive_book.kit.tables import table

first = ["old", "key", "boxes"]
(tokens, words), label = (text_tokens(SAID[0]), readings[0].words), 0
scores = explained(model, tokens, label)
depth = len(readings[0].weights)
called = {f"raw {k + 1}": f"weights of layer {k + 1}" for k in range(depth)}
called |= {f"rollout {depth}": "rollout", f"flow {depth}": "flow"}
percent = lambda value: f"{round(100 * value) + 0:d} %"  # noqa: E731
rows = [[said, *(percent(scores[name][words.index(w)].item()) for w in first)]
        for name, said in called.items()]  # fmt: skip
table(rows, ["[CLS] and", *(f"`{word}`" for word in first)], caption="the first text, one model")

# %% [markdown]
# ## Where is the number?
#
# There is a way to know. Read *the old **keys** to the boxes* and keep its states. Then read the
# text with *key*, and put in one of the kept states: if the answer turns from *is* to *are*, the
# number of the subject stood there (*activation patching*, [a page of its own](12_patching.ipynb)).

# %% Put one state in tags=["fold"]
from deepdive.explain.activations.patching import patch, patch_effect

many = text_tokens(SAID[0].replace("key", "keys"))
back = patch_effect(patch(model, "*.stream", many, tokens, lambda z: margin(z, 1))).tolist()
table([[f"`{word}`", *(percent(layer[s]) for layer in back)] for s, word in enumerate(words)],
      ["state of", *(f"after layer {k + 1}" for k in range(depth))],
      caption="how much of the answer one state turns; the first text, one model")  # fmt: skip

# %% [markdown]
# After layer 1 the state in the place of `old` turns the answer, 100%, and the state of `key` does
# nothing any more: **the number has moved next door**. After layer 2 a part has reached `[CLS]`,
# and in the end all of it. In layer 1 `[CLS]` did look at the word *old*, and fetched nothing of
# the number, 0%. In layers 2 and 3 it looks at the same place, and now the number is there. In
# layer 4 it still looks there, and that state alone turns 9% by now. (Single states need not add
# up to 100%.)
#
# **Attention looks at a place.** In the first layer a place holds its word; above, it holds what it
# has collected. Rollout and flow are two ways to go from states back to words.

# %% [markdown] tags=["slide"]
# ## By hand: rollout and flow
#
# Three rows, `old`, `key` and `?`, which answers; two layers. Half of a state comes through the
# residual connection from its own place, and half by attention. In eighths:
#
# | layer&nbsp;1 | from `old` | from `key` | from `?` |
# |---|---|---|---|
# | `old` | 4 + 1 = 5 | 3 | 0 |
# | `key` | 0 | 4 + 4 = 8 | 0 |
# | `?` | 3 | 1 | 4 |
#
# | layer&nbsp;2 | from `old` | from `key` | from `?` |
# |---|---|---|---|
# | `?` | 2 | 2 | 4 |
#
# **Rollout** adds up all ways from a word to the last state of `?`, and multiplies along each: from
# `key` by `old` $2 \cdot 3 = 6$, by `key` $2 \cdot 8 = 16$, by `?` $4 \cdot 1 = 4$, together 26
# of 64. `old` has $2 \cdot 5 + 4 \cdot 3 = 22$ and `?` the rest, 16.
#
# **Flow** takes the numbers for widths of pipes: a way carries what its narrowest pipe lets
# through. By flow `old` and `key` are equal, 5 eighths each.
#
# <details><summary>Flow, by hand</summary>
#
# From `key` by `old` $\min(2, 3) = 2$, by `key` $\min(2, 8) = 2$, by `?` $\min(4, 1) = 1$, together
# 5 eighths. From `old`: $\min(2, 5) + \min(4, 3) = 5$. Why no more than 5? Close the two pipes of 2
# in layer 2 and the pipe of 1 in layer 1, and nothing comes from `key` any more. The largest flow
# is as wide as the narrowest cut (the *max-flow min-cut theorem*).
#
# </details>

# %% The same from the library tags=["nbval-check-output", "fold"]
from itertools import product

first_layer = torch.tensor([[1.0, 3, 0], [0, 4, 0], [3, 1, 0]]) / 4  # rows: old, key, ?
second_layer = torch.tensor([[4.0, 0, 0], [0, 4, 0], [2, 2, 0]]) / 4
layers = [each[None, None] for each in (first_layer, second_layer)]
rolled = rollout(layers)[-1, 0, 2]
flows = flow(layers, [2])[0]
one, two = ((each + torch.eye(3)) / 2 * 8 for each in (first_layer, second_layer))
cuts = []  # all ways to put the states between on one of two sides; the words' side is True
for side in product([True, False], repeat=3):
    width = sum(one[i, 1].item() for i in range(3) if not side[i])
    cuts.append(width + sum(two[2, i].item() for i in range(3) if side[i]))
print("rollout, of 64:", (64 * rolled).int().tolist())
print("flow, of 8:    ", (8 * flows).int().tolist())
print("cuts for key:  ", sorted(map(int, cuts)))
assert (64 * rolled).tolist() == [22, 26, 16]
assert (8 * flows).tolist() == [5, 5, 4]
assert min(cuts) == 5

# %% [markdown]
# ## The equations
#
# $W_l$ is the mean of the heads' weights of layer $l$, $I$ the identity.
#
# $$A_l = \tfrac12 (W_l + I), \qquad R = A_L \cdots A_2 A_1$$
#
# $R_{ts}$ is **rollout**: the share of input $s$ in state $t$. Rows of $A_l$ sum to 1, and so do
# those of $R$. **Flow** $F_{ts}$ is the largest flow from input $s$ to state $t$ through pipes as
# wide as the entries of $A_1$ to $A_L$; each is a problem of its own, so rows need not sum to 1.
# Neither asks *what* is fetched. **Norms** do: instead of $w_{ts}$ they measure the length $\lVert
# w_{ts} f(x_s) \rVert$ of what a head adds to the stream.

# %% Three definitions in three lines tags=["fold", "nbval-check-output"]
from deepdive.explain.attention_weights.norms import norms

_, weights, values, rows_in = read(model, tokens)
steps = [(layer[0].mean(0) + torch.eye(tokens.shape[1])) / 2 for layer in weights]
product_of_all = torch.linalg.multi_dot(steps[::-1])  # A_L ... A_1
assert torch.allclose(product_of_all, rollout(weights)[-1, 0], atol=1e-6)
pairs = torch.minimum(steps[1][0][:, None], steps[0]).sum(0)  # two layers: the sum of minima
assert torch.allclose(pairs, flow(weights[:2], [0])[0], atol=1e-6)
block = model.encoder.stack.blocks[0]
size = taken(block, weights[0], values[0]).norm(dim=-1)
assert torch.allclose(size, norms(weights[0], values[0], block.attn.out.weight)[0], atol=1e-5)
print("all three: as the library has them")
assert abs(0.8 * 0.1 - 0.08) < 1e-9
assert abs(0.2 * 2 - 0.4) < 1e-9

# %% [markdown]
# ## Who finds the subject?
#
# Three models, trained from different seeds, and for each 100 new sentences with a noun of the
# other number in them, all answered rightly. A method's numbers for `[CLS]` after the last layer
# order the words: how often does the subject come first? Beside the methods of this page stand
# gradient x input and **blank-out**: by how much the answer's probability changes when a word is
# blank.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Abnar and Zuidema judge flow more reliable than rollout, and both than the weights of a "
    "layer. Which puts the subject first most often in our models?",
    ["flow, then rollout, then the last layer's weights",
     "rollout; flow no more often than the last layer's weights",
     "all three about as often"],
    answer=1,
    explain="Flow calls several words equally important: as much as fits into the answer could "
    "come from each of them. Rollout splits shares exactly, and so it can tell them apart.",
    key="07_explain/rollout-or-flow",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% How a method is judged tags=["fold"]
from deepdive.explain.probes import spearman


def judged(scores, subject, truth):
    """Without [CLS]: is the subject first, its share, the rank correlation with blank-out; and how
    many words are first, alike."""
    words = scores[1:].detach()
    best = words >= words.max() - 1e-6  # words that tie share the first place
    first = best[subject].item() / best.sum().item()
    part = (words[subject] / words.sum()).item()
    return [first, part, spearman(words, truth[1:]), best.sum().item()]


def turned(text, place):
    """The text's tokens with the noun at this place in its other number."""
    words = list(text.words)
    words[place] = OTHER[words[place]]
    return torch.tensor([[ID[word] for word in ("[CLS]", *words, "[SEP]")]])


# %% Where the number is tags=["fold"]
def where(model, text, label):
    """After each layer: the share of the answer that the subject's number brings back when it is
    put into the state of [CLS], of the subject, of another place (the most of all), (L, 3)."""
    tokens, at = tokens_of([text])[0], text.subject + 1
    found = patch_effect(patch(model, "*.stream", tokens, turned(text, text.subject),
                            lambda logits: margin(logits, label)))  # fmt: skip
    others = [s for s in range(found.shape[1]) if s not in (0, at)]
    return torch.stack([found[:, 0], found[:, at], found[:, others].amax(1)], 1)


# %% Measure one model tags=["fold"]
KINDS = {"[CLS]": {"[CLS]"}, "[SEP]": {"[SEP]"}, "the": {"the"}, "nouns": set(OTHER)}


def kinds_of(tokens):
    """For each kind of word the places where one stands, (T,)."""
    said = [WORDS[i] for i in tokens[0]]
    return {kind: torch.tensor([w in its for w in said]) for kind, its in KINDS.items()}


FORMS = {"plain": "the key ...", "adjective": "the old key ...",
         "short": "near the boats , the key ...",
         "long": "near the boats of the men , the key ..."}  # fmt: skip


def form_of(text):
    """How the text begins, and where what is neither noun nor *the* stands, before the subject."""
    if "," in text.words:
        comma = text.words.index(",")
        return ("short" if comma < 5 else "long"), comma
    return ("adjective" if text.subject == 2 else "plain"), text.subject - 1


# %% Means over texts tags=["fold"]
def measure(layers, steps, texts, seed):
    model = train(layers, steps, seed)
    hits, some = right(model), []
    for text, hit in zip(NEW, hits, strict=True):
        if hit and text.attractors and len(some) < texts:
            some.append(text)
    found = [of_text(model, text) for text in some]
    mean = lambda values: torch.tensor(values).mean(0).tolist()  # noqa: E731
    methods = found[0]["methods"]
    forms = {form: [f for f, text in zip(found, some, strict=True) if form_of(text)[0] == form]
             for form in FORMS}  # fmt: skip
    return {"right": sum(hits) / len(hits), "turned": mean([f["turned"] for f in found]),
            "where": mean([f["where"] for f in found]),
            "kinds": {k: mean([f["kinds"][k] for f in found]) for k in KINDS},
            "methods": {m: mean([f["methods"][m] for f in found]) for m in methods},
            "forms": {form: {m: mean([f["firsts"][m] for f in those]) for m in methods}
                      for form, those in forms.items() if those}}  # fmt: skip


# %% Measure one text tags=["fold"]
@torch.no_grad()
def right(model):
    """For each new text, whether it is answered rightly."""
    parts = [tokens_of(NEW[k : k + 100]) for k in range(0, len(NEW), 100)]
    return [hit for x, real, y in parts for hit in (model(x, real).argmax(-1) == y).tolist()]


# %% Everything about it tags=["fold"]
def of_text(model, text):
    (tokens, _, _), label = tokens_of([text]), int(text.plural)
    scores = explained(model, tokens, label, by_layer=True)
    _, weights, values, _ = read(model, tokens)
    blocks, kinds = model.encoder.stack.blocks, kinds_of(tokens)
    pairs = []
    for block, w, v in zip(blocks, weights, values, strict=True):
        size = taken(block, w, v).norm(dim=-1)
        pairs.append((w[0].mean(0).mean(0), (size / size.sum(-1, keepdim=True)).mean(0)))
    flips = [[int(model(turned(text, s)).argmax()) != label for s in places]
             for places in ([text.subject], text.attractors)]  # fmt: skip
    scores["by lot"] = torch.rand(tokens.shape[1])
    truth, at = scores["blank-out"], text.subject
    return {"turned": [sum(f) / len(f) for f in flips],
            "where": where(model, text, label).tolist(),
            "kinds": {k: [[float(part[at].sum()) for part in pair] for pair in pairs]
                      for k, at in kinds.items()},
            "methods": {m: judged(s, at, truth) for m, s in scores.items()},
            "firsts": {m: [judged(s, place, truth)[0] for place in (at, form_of(text)[1])]
                       for m, s in scores.items()}}  # fmt: skip


# %% Ask tags=["fold"]
asked = [(4, seed) for seed in (1, 2, 3)]
if profile() != "experiment":
    asked = [(pick(ci=2, laptop=4, gpu=4), 1)]
points = [{"layers": layers, "steps": STEPS, "texts": pick(ci=5, laptop=20, gpu=20, experiment=100),
           "seed": seed} for layers, seed in asked]  # fmt: skip
file = results_path("07_explain", "rollout")
target = file if profile() == "experiment" else None
measured = sweep(measure, points, target, data="generated", minutes=60)


# %% Read what was kept tags=["fold"]
import json
from statistics import mean

runs, kept_runs = measured, False
if profile() != "ci" and file is not None and file.is_file():
    runs, kept_runs = json.loads(file.read_text())["rows"], True
DEEP = runs[0]["layers"]


def spread(values, digits=0, by=100):
    """The mean of the models, and in brackets the lowest and the highest."""
    ends = [f"{round(by * value, digits) + 0.0:.{digits}f}"
            for value in (mean(values), min(values), max(values))]  # fmt: skip
    return f"{ends[0]} ({ends[1]} to {ends[2]})"


def each(method, what):
    """One number a model: 0 how often the subject is first, 1 its share, 2 the correlation."""
    return [run["methods"][method][what] for run in runs]


# %% Who finds the subject? tags=["surprise", "fold"]
ORDER = {"by lot": "at random", "raw 1": "weights of layer 1", f"raw {DEEP}": "weights, last layer",
         "raw, mean": "weights, mean of layers", f"norm {DEEP}": "norms, last layer",
         f"rollout {DEEP}": "rollout", f"flow {DEEP}": "flow",
         "gradient x input": "gradient x input", "blank-out": "blank-out"}  # fmt: skip
lines = [[said, spread(each(name, 0)), spread(each(name, 1)), spread(each(name, 2), 2, 1)]
         for name, said in ORDER.items()]  # fmt: skip
table(lines, ["words ordered by", "subject first, %", "its share, %", "correlation with blank-out"],
      caption=f"{len(runs)} models of {DEEP} layers, {runs[0]['texts']} new texts each: mean of "
      "the models (lowest to highest)")  # fmt: skip

# %% Is the subject the cause? tags=["fold"]
turns = [[100 * run["turned"][k] for run in runs] for k in (0, 1)]
print(f"right, of new texts: {100 * min(run['right'] for run in runs):.2f} % at least")
print(f"subject changed: turns {min(turns[0]):.0f} % at least")
print(f"another noun changed: {max(turns[1]):.0f} % at most")
ties = [run["methods"][f"flow {DEEP}"][3] for run in runs]
print(f"first, alike, by flow: {spread(ties, 1, 1)}")

# %% What carries this tags=["fold"]
if kept_runs:
    first = {name: each(name, 0) for name in ORDER}
    assert min(first[f"rollout {DEEP}"]) > max(first[f"raw {DEEP}"] + first[f"flow {DEEP}"])
    pairs = zip(first[f"flow {DEEP}"], first[f"raw {DEEP}"], strict=True)
    assert all(by_flow < by_weights for by_flow, by_weights in pairs)
    for run in runs:
        mine, inputs = (run["methods"][name] for name in (f"rollout {DEEP}", "gradient x input"))
        measured_one = run["methods"]["rollout, measured"]
        assert mine[2] > inputs[2] > 0
        assert measured_one[0] > mine[0]
        assert measured_one[2] < mine[2]
        assert min(mine[2], run["methods"][f"flow {DEEP}"][2]) > run["methods"][f"raw {DEEP}"][2]
        assert run["forms"]["adjective"]["raw 1"] == [0, 1]
        assert run["where"][-2][0] > 0.5
    print("this holds in every model")

# %% [markdown]
# In every model rollout puts the subject first more often than the last layer's weights and than
# flow; two of the three do no worse by the weights of layer 1 alone. Flow suffers from ties: two or
# three words share its first place.
#
# By the last column, the measure of the paper, rollout is above gradient x input in each model; by
# the subject it is in one only. A correlation over ten words may be ruled by the nine that do not
# matter.

# %% [markdown]
# ## Where the models look, and where the number is
#
# What the first text showed, over all texts: after each layer, whose state turns the answer?

# %% The way of the number tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.palette import PALETTE
from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.2, 3.0))
axes, layers_of = figure.subplots(), range(1, DEEP + 1)
for k, (said, style) in enumerate(
    [("the subject", "o-"), ("[CLS]", "s--"), ("another place", "^:")]
):
    for run in runs:
        turns_by = [100 * part[(1, 0, 2)[k]] for part in run["where"]]
        axes.plot(layers_of, turns_by, style, color=PALETTE[k], alpha=0.6, fillstyle="none",
                  label=said if run is runs[0] else None)  # fmt: skip
axes.set(xlabel="after layer", xticks=layers_of)
figure.axes[0].set_ylabel("answer turned, %")
figure.axes[0].legend(fontsize=8.5)
with_alt(
    figure,
    "Lines over layers, one a model: the share of the answer that one state turns. "
    "The subject's own state loses it, that of [CLS] gains it, others have some between.",
)

# %% The way in numbers tags=["fold"]
lines = [[said, *(spread([run["where"][layer][place] for run in runs]) for layer in range(DEEP))]
         for said, place in (("subject", 1), ("[CLS]", 0), ("another place", 2))]  # fmt: skip
table(
    lines,
    ["state of", *(f"after layer {layer}" for layer in layers_of)],
    caption="how much of the answer one state turns, %: mean of the models (lowest to highest)",
)

# %% [markdown]
# The number leaves the subject, in part over a third place, and arrives at `[CLS]`: before the last
# layer most of it is there in each model. Which third place? Look at what stands before the
# subject.


# %% Four kinds of texts tags=["fold"]
def formed(form, method, place=0):
    return [run["forms"][form][method][place] for run in runs if form in run["forms"]]


lines = [[said, spread(formed(form, "raw 1")), spread(formed(form, "raw 1", 1)),
          spread(formed(form, f"rollout {DEEP}")), spread(formed(form, "rollout, measured"))]
         for form, said in FORMS.items() if formed(form, "raw 1")]  # fmt: skip
table(
    lines,
    [
        "texts",
        "subject, layer 1",
        "old or comma, layer 1",
        "subject, rollout",
        "subject, measured",
    ],
    caption="first of all words, in % of the texts: mean of the models (lowest to highest)",
)

# %% [markdown]
# One word more, *old*, and what was right in every text is wrong in every text, of every model:
# layer 1 looks at the adjective, perhaps since it stands where a subject often stands, and rollout
# follows. So the shares above are no measure of a method alone: they hang on how many texts have
# their subject in a watched place.
#
# ## Half and half?
#
# Rollout gives half of each state to the residual connection, whatever the model does. That can be
# measured: the row itself is added to what attention fetched, so its length can be set beside the
# others', $\lVert x_t + w_{tt} f(x_t) \rVert$ against $\lVert w_{ts} f(x_s) \rVert$ (after
# Kobayashi et al. 2021; the norm layer, which they count in, we leave out).

# %% Rollout with what is measured tags=["fold"]
variants = {f"rollout {DEEP}": "half and half", "rollout of norms": "half, and norms for weights",
            "rollout, measured": "all measured by norms"}  # fmt: skip
lines = [[said, spread(each(name, 0)), spread(each(name, 1)), spread(each(name, 2), 2, 1)]
         for name, said in variants.items()]  # fmt: skip
table(lines, ["rollout", "subject first, %", "its share, %", "correlation with blank-out"],
      caption="mean of the models (lowest to highest)")  # fmt: skip

# %% [markdown]
# With all of it measured, in each model the subject comes first in more texts, and even behind an
# adjective in some. But the correlation with blank-out falls in each model: by that measure alone
# we would have kept the rollout that finds the subject less often.

# %% One text, all methods tags=["fold"]
from deepdive_book.kit.attribution_text import colored

shown = {"weights, last layer": f"raw {depth}", "norms, last layer": f"norm {depth}",
         "rollout": f"rollout {depth}", "flow": f"flow {depth}",
         "rollout, measured": "rollout, measured", "gradient x input": "gradient x input",
         "blank-out": "blank-out"}  # fmt: skip
colored(words[1:-1], {said: scores[name][1:-1] for said, name in shown.items()})

# %% [markdown]
# *The first text. Only the three last rows put `key` alone first; in rollout `old` leads.*

# %% [markdown] tags=["aside"]
# ### Common mistake: layers in the wrong order
#
# $A_1 A_2$ in place of $A_2 A_1$. **Symptom:** none at first sight: rows still sum to 1, nothing
# is below 0. In the sum by hand half of `?` would come from
# `old` and a quarter from `key`, 32 and 16 of 64. **Fix:** what is read last stands on
# the left. Test it on a text where the first layer alone moves something.

# %% Both orders tags=["nbval-check-output", "fold"]
right_order, wrong_order = two @ one, one @ two
print("A_2 A_1:", right_order[2].int().tolist(), "sum", right_order[2].sum().int().item())
print("A_1 A_2:", wrong_order[2].int().tolist(), "sum", wrong_order[2].sum().int().item())

# %% [markdown] tags=["aside"]
# ### Beside the published table
#
# Abnar and Zuidema trained six layers on natural sentences (Linzen et al. 2016), on the same task,
# and report for each layer how a method's order of the words correlates with blank-out. Our models
# have four layers and generated sentences:

# %% By layer tags=["fold"]
PAPER = {"raw": [0.69, 0.10, -0.11, -0.09, 0.20, 0.29],
         "rollout": [0.32, 0.38, 0.51, 0.62, 0.70, 0.71],
         "flow": [0.32, 0.44, 0.70, 0.70, 0.71, 0.70]}  # fmt: skip
figure = Figure(figsize=(4.2, 5.0))
left, beside = figure.subplots(2, 1, sharey=True)
for k, (name, theirs) in enumerate(PAPER.items()):
    mark = {"color": PALETTE[k], "marker": "os^"[k], "fillstyle": "none",
            "linestyle": ["-", "--", ":"][k]}  # fmt: skip
    left.plot(range(1, 7), theirs, label="weights" if name == "raw" else name, **mark)
    ours = [[run["methods"][f"{name} {layer}"][2] for run in runs] for layer in layers_of]
    beside.plot(layers_of, [mean(of) for of in ours], **mark)
    beside.fill_between(layers_of, [min(of) for of in ours], [max(of) for of in ours],
                        color=PALETTE[k], alpha=0.15, linewidth=0)  # fmt: skip
for axes, said in ((left, "published"), (beside, f"ours: mean and range of {len(runs)} models")):
    axes.set(title=said, xlabel="layer", xticks=range(1, 7))
    axes.axhline(0, color="grey", linewidth=0.6)
    axes.set_ylabel("correlation")
left.legend(fontsize=8.5)
with_alt(figure, "Two panels, correlation by layer for weights, rollout and flow. Published: "
         "weights fall after layer 1, rollout and flow rise. Ours, as a mean and a band: "
         "weights end below rollout and flow, which rise a little or stay.")  # fmt: skip

# %% The same in numbers, at both ends tags=["fold"]
lines = []
for name, theirs in PAPER.items():
    for end in (0, -1):
        ours = [run["methods"][f"{name} {DEEP if end else 1}"][2] for run in runs]
        said = "weights" if name == "raw" else name
        lines.append([said, "last" if end else "first", f"{theirs[end]:.2f}", spread(ours, 2, 1)])
table(
    lines,
    ["words ordered by", "layer", "published", "ours"],
    caption="correlation with blank-out; ours: mean of the models (lowest to highest)",
)

# %% [markdown]
# <small>Published: Abnar and Zuidema 2020, table 1 (2,000 texts of the test set; their spreads over
# texts are 0.22 to 0.52).</small>
#
# Alike: in the last layer the weights stand below both others, in each of our models. Not alike:
# published, rollout and flow more than double from the first layer to the last; ours rise far less.
# One reason: ours leave `[CLS]` out, so that all three begin alike; other models and sentences are
# another. In the last layer flow and rollout are alike there (0.70 and 0.71), and ours have 0.48
# and 0.53 in the mean.

# %% [markdown] tags=["aside"]
# ### What norms take away
#
# Neither rollout nor flow asks *what* is fetched. A head adds $w_{ts} f(x_s)$ to the stream, where
# $f(x) = (x W_v + b_v) W_o$ is what it reads off a row. **Norms** (Kobayashi et al. 2020) measure
# $\lVert \sum_h w_{hts} f_h(x_s) \rVert$ instead of $w$. With $w = 0.8$ on a separator whose $f$
# has length 0.1, and $w = 0.2$ on a noun whose $f$ has length 2, the weights say four to one for
# the separator, and the norms 0.08 to 0.4, one to five.


# %% Kinds of words tags=["fold"]
def by_norm(kind, layer):
    """Weights and norms, each a spread of the models, in % of all."""
    pairs = [run["kinds"][kind][layer] for run in runs]
    return [spread([pair[k] for pair in pairs]) for k in (0, 1)]


lines = [[f"`{kind}`" if kind != "nouns" else kind, *by_norm(kind, 0), *by_norm(kind, -1)]
         for kind in KINDS]  # fmt: skip
table(
    lines,
    ["words", "layer 1: weights", "layer 1: norms", "last layer: weights", "its norms"],
    caption="how much of all that is looked at, in %: mean of the models (lowest to highest)",
)

# %% [markdown]
# In layer 1 `[SEP]` and *the* lose half or more of their share: they are looked at, and little is
# fetched there. Nouns gain. Kobayashi et al. found it
# on BERT, whose heads seemed to care for `[SEP]` most. In the last layer little of it is left in
# our models.

# %% [markdown] tags=["aside"]
# ### Why flow stops at 32 words
#
# Rollout is a product of $L$ tables of $T \times T$. Flow is a problem of its own for each word and
# each state, in a graph of $L T^2$ pipes. Abnar and Zuidema give $O(L^2 T^4)$.

# %% What flow costs tags=["fold"]
import time


def cost(words, layers, seed):
    """Seconds of one core: one state by flow, all by rollout, on weights drawn at random."""
    draw = torch.Generator().manual_seed(seed)
    weights = [torch.randn(1, 4, words, words, generator=draw).mul(2).softmax(-1)
               for _ in range(layers)]  # fmt: skip
    flow(weights[:1], [0])  # what is imported for it is not timed
    start = time.process_time()
    flow(weights, [0])
    middle = time.process_time()
    rollout(weights)
    return {"flow": middle - start, "rollout": time.process_time() - middle}


# %% Ask for four lengths tags=["fold"]
lengths = pick(ci=(4, 8), laptop=(8, 16), gpu=(8, 16), experiment=(8, 16, 32, 64))
sizes = [{"words": words, "layers": 6, "seed": seed} for words in lengths for seed in (1, 2, 3)]
spent_file = results_path("07_explain", "rollout_cost")
spent = sweep(cost, sizes, spent_file if profile() == "experiment" else None, data="generated")
if profile() != "ci" and spent_file is not None and spent_file.is_file():
    spent = json.loads(spent_file.read_text())["rows"]
lines = []
for count in sorted({row["words"] for row in spent}):
    times = [[row[what] for row in spent if row["words"] == count] for what in ("flow", "rollout")]
    lines.append([f"{count}", spread(times[0], 2, 1), f"{count * mean(times[0]):.1f}",
                  spread(times[1], 2, 1000)])  # fmt: skip
table(lines, ["words", "flow, one state (s)", "flow, all (s)", "rollout, all (ms)"],
      caption="seconds of one core, six layers, weights drawn at random: mean (lowest to highest) "
      "of three; flow, all: the words times the mean")  # fmt: skip

# %% [markdown]
# From 32 to 64 words the time of one state grows elevenfold, and there are twice as many states. A
# text of BERT's full length would be out of reach; so the exact flow is offered up to 32 words, and
# a shorter text is what it needs. Rollout takes less than a millisecond.

# %% [markdown]
# ## Which to trust for what
#
# | you want to know | take | what speaks for it here |
# |---|---|---|
# | which word decides | blank-out, or change the word | 91% first (75 to 99) |
# | the same, in one run | rollout, all measured | 78% (77 to 80) |
# | | gradient x input | 67% (56 to 80) |
# | where it is after a layer | patching | it turns the answer itself |
#
# Nothing that is made of weights alone says *for* or *against*: a weight has no sign.
#
# ## In practice
#
# - Before you show a picture of attention, say which layer's, and whether of states or of words.
# - Prefer rollout to the weights of the last layer, and look whether your conclusion stays with the
#   half measured.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why do rows of rollout sum to 1, and those of flow not?
#
#    <details><summary>Answer</summary>
#
#    A product of tables whose rows are shares has rows that are shares. Each flow is a problem of
#    its own: words do not compete for the pipes.
#
#    </details>
# 2. The weights of a model's last layer are even. May you conclude that all words count alike?
#
#    <details><summary>Answer</summary>
#
#    No. What decides may already stand in the state of `[CLS]`, and come through the residual
#    connection.
#
#    </details>
# 3. Why does flow call two words equal so often?
#
#    <details><summary>Answer</summary>
#
#    The pipes into one state hold 1 together. Each word from which as much could arrive has a flow
#    of 1.
#
#    </details>
# 4. A separator gets 0.8 of a head's weight. What do you look at next?
#
#    <details><summary>Answer</summary>
#
#    At what the head reads off it, $\lVert f(x) \rVert$. Where that is small, the head does
#    nothing.
#
#    </details>
# 5. What do rollout, flow and norms all leave out?
#
#    <details><summary>Answer</summary>
#
#    The feed-forward layers, and what is done with a state afterwards; so they know neither the
#    answer nor whether a word speaks for it or against it.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* In the sum by hand, let `?` look in layer 2 at `key` alone: the row becomes
#    0, 4, 4. What do rollout and flow give?
#
#    <details><summary>Answer</summary>
#
#    Rollout: `old` $4 \cdot 0 + 4 \cdot 3 = 12$, `key` $4 \cdot 8 + 4 \cdot 1 = 36$, `?`
#    $4 \cdot 4 = 16$ of 64. Flow: `old` $\min(4, 0) + \min(4, 3) = 3$, `key`
#    $\min(4, 8) + \min(4, 1) = 5$, `?` 4 of 8.
#
#    </details>
# 2. *(on paper, 5 min)* Rows of rollout sum to 1. Which mistake breaks this: a layer with padding,
#    two layers exchanged, the residual connection left out, or the identity added without halving?
#
#    <details><summary>Answer</summary>
#
#    Padding, if a query sees nothing, and the missing half: after $L$ layers rows sum to $2^L$.
#    The other two are wrong and keep the sum.
#
#    </details>
# 3. *(measure, 10 min)* Two layers that look evenly at $T$ words: what is the flow from any word to
#    any state? Work it out for $T = 4$, then check.
#
#    <details><summary>Answer</summary>
#
#    A pipe between two places has $1/(2T) = 1/8$, one from a place to itself $1/2 + 1/8 = 5/8$. To
#    another place: two ways over a place of its own ends, $\min(5/8, 1/8)$ each, and two over
#    others, $1/8$ each: $4/8$. To itself: $5/8$ and three times $1/8$: $8/8$.
#
#    </details>

# %% The answers, checked tags=["nbval-check-output", "fold"]
to_key = torch.tensor([[4.0, 0, 0], [0, 4, 0], [0, 4, 0]]) / 4
changed = [first_layer[None, None], to_key[None, None]]
print((64 * rollout(changed)[-1, 0, 2]).int().tolist(), (8 * flow(changed, [2])[0]).int().tolist())
whole = torch.eye(3) + first_layer
print("without halving, two layers:", (whole @ whole).sum(-1).tolist())
even = [torch.full((1, 1, 4, 4), 0.25)] * 2
print("even, to place 0:", flow(even, [0])[0].tolist())

# %% [markdown]
# ## Summary
#
# Above the first layer a weight points at a place, and what the place holds may have come from
# elsewhere: rollout multiplies shares down to the words, flow asks how much could come through
# pipes. Neither knows the answer; rollout put the subject first in every text of one form and in
# none of another, and what changes when a word changes is the surer test. Back to *the old key to
# the boxes*: in layers 2 and 3 the model looks at the place into which the number of *key* has been
# put, and it is we who read *old* there; in layer 1 it fetched nothing of the number there, and in
# layer 4 that state alone brings 9%. On this very sentence rollout, too, names *old* first (35%
# against 28%).
#
# ## Further reading
#
# - Abnar and Zuidema (2020), *Quantifying Attention Flow in Transformers*: section 3 for both
#   methods, table 1 for what stands beside ours.
# - Kobayashi, Kuribayashi, Yokoi, Inui (2020), *Attention is Not Only a Weight*: norms, on BERT;
#   (2021), *Incorporating Residual and Normalization Layers into Analysis of Masked Language
#   Models*: how much of a state is its own.
# - Linzen, Dupoux, Goldberg (2016), *Assessing the Ability of LSTMs to Learn Syntax-Sensitive
#   Dependencies*: the task.
# - Chefer, Gur, Wolf (2021), *Generic Attention-model Explainability*: rollout that knows the
#   answer, by gradients.

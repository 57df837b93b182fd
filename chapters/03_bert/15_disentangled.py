# %% [markdown] tags=["slide"]
# # Content and position, apart
#
# A queue at a bakery. Some say what they want: `tea`. Some say `<3`: *what the third before me
# has*. So the word itself names the place to look at. Which attention can learn that from examples,
# and what does it do in a queue twice as long as any that it has seen?
#
# <small>Book 3.2, the list of models in the transformers library · before this page:
# [relative positions](../05_efficient/08_positions.ipynb), [the family](17_family.ipynb) · 20 min to
# read · a laptop is enough; the long runs are kept beside the page</small>

# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
SOURCE = ""  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install` it"
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}, and run this cell again")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)
# %% Read the family from the atlas tags=["fold"]

# %% The words of the queue tags=["fold"]
import random

import torch

ORDERS = ["bun", "jam", "rye", "tea", "pie", "egg", "oil", "nut"]
CAPS = ["red", "blue", "grey", "pink", "gold", "lime", "teal", "rust"]
FAR = 8  # the largest number that a word names
near = range(1, FAR + 1)
WORDS = ["?", *ORDERS, *(f"<{k}" for k in near), *(f"={cap}" for cap in CAPS)]
WORDS += [f"{order}>{k}" for order in ORDERS for k in near]
WORDS += [f"{order}+{cap}" for order in ORDERS for cap in CAPS]
ID = {word: i for i, word in enumerate(WORDS)}
KINDS = ["<k", "?", "=cap"]


# %% Let a queue form tags=["fold"]
def queue(length, far, draw):
    """What each one says; for those who ask their kind and their order, by place."""
    says, asks = [""] * length, {}

    def free():
        return [t for t in range(length) if not says[t]]

    for _ in range(length // 6):
        pairs = [(t, t - k) for t in free() for k in range(1, min(far, t) + 1) if not says[t - k]]
        if pairs:
            t, s = draw.choice(pairs)
            order = draw.randrange(8)
            says[t], says[s], asks[t] = "?", f"{ORDERS[order]}>{t - s}", (1, order)
    for cap in draw.sample(CAPS, length // 6):
        (t, s), order = draw.sample(free(), 2), draw.randrange(8)
        says[t], says[s], asks[t] = f"={cap}", f"{ORDERS[order]}+{cap}", (2, order)
    wish = draw.sample(free(), length // 6)
    for t in free():
        says[t] = draw.choice(ORDERS)
    for t in wish:  # it has an order already, in case nobody near it has one
        has = [k for k in range(1, min(far, t) + 1) if says[t - k][:3] in ORDERS]
        where = [k for k in has if t - k not in wish]
        if where:
            k = draw.choice(where)
            says[t], asks[t] = f"<{k}", (0, ORDERS.index(says[t - k][:3]))
    return says, asks


# %% Queues in batches tags=["fold"]
NOBODY = -100  # no question here


def batches(count, length, far, seed, size=32):
    """Tokens, orders and kinds, each (B, T)."""
    draw, made = random.Random(seed), []
    for _ in range(count):
        says, asks = queue(length, far, draw)
        both = [asks.get(t, (NOBODY, NOBODY)) for t in range(length)]
        made.append(
            [[ID[word], order, kind] for word, (kind, order) in zip(says, both, strict=True)]
        )
    x = torch.tensor(made).unbind(-1)
    return list(zip(*(part.split(size) for part in x), strict=True))


# %% The models tags=["fold"]
from torch import nn

from deepdive.attention import MultiHeadAttention
from deepdive.layers.mixed_attention import MixedAttention
from deepdive.models.bert import deberta
from deepdive.models.bert.bert import bert
from deepdive.positions import Position, T5Bias

SHORT, LONG, D, HEADS, REACH = 24, 48, 64, 4, 16


class Without(Position):
    """DeBERTa's scores without one of their parts: its query or its key asks with zeros."""

    def __init__(self, whole, part):
        super().__init__()
        self.whole, self.part = whole, part

    def bias(self, q, k, q_places, k_places):
        asks = q * (self.part != "content to position")
        asked = k * (self.part != "position to content")
        places = self.whole.bias(asks, asked, q_places, k_places)
        if self.part == "content to content":
            places = places - self.whole.scale * q @ k.mT
        return places


# %% One of each tags=["fold"]
def build(name, layers=1):
    """An encoder, and a map from its states to the eight orders; as many operations as DeBERTa's"""
    sizes = {"vocab_size": len(WORDS), "d_model": D, "n_heads": HEADS, "n_layers": layers,
             "max_length": 64, "dropout": 0.0, "n_segments": 0, "d_ff": 178}  # fmt: skip
    nowhere = {"position": lambda _: Position()}
    if name == "T5":
        shared = T5Bias(HEADS, 32, SHORT)
        make = lambda c, layer: MultiHeadAttention(D, HEADS, position=shared)
        encoder = bert(**sizes, **nowhere, attention=make)
    elif name == "ConvBERT":
        make = lambda c, layer: MixedAttention(D, HEADS // 2, 2 * FAR + 1)
        encoder = bert(**sizes | {"d_ff": 186}, **nowhere, attention=make)
    elif name.startswith("absolute"):
        encoder = bert(**sizes)
    else:  # DeBERTa
        encoder = deberta.deberta(**sizes | {"d_ff": 128, "reach": REACH})
        for block in encoder.stack.blocks:
            if name != "DeBERTa":
                block.attn.position = Without(block.attn.position, name.removeprefix("without "))
    return nn.ModuleDict({"encoder": encoder, "out": nn.Linear(D, len(ORDERS))})


# %% Train and ask tags=["fold"]
import torch.nn.functional as F

from deepdive.training import fit
from deepdive.training.optim import adam, linear


def logits(model, tokens, first=0):
    """Scores of the eight orders, (B, T, 8); the first in the queue stands at `first`."""
    encoder, places = model["encoder"], first + torch.arange(tokens.shape[1])
    return model["out"](encoder.stack(encoder.embeddings(tokens, None, places)))


def train(name, far, layers, steps, seed):
    torch.manual_seed(seed)
    model = build(name, layers)

    def loss(model, batch):
        tokens, orders, _ = batch
        some = torch.randint(0, LONG - SHORT + 1, (len(tokens), 1)) if "moved" in name else 0
        return F.cross_entropy(logits(model, tokens, some).flatten(0, 1), orders.flatten())

    fit(model, batches(32 * min(steps, 150), SHORT, far, seed), loss, steps=steps, seed=seed,
        optimizer=adam(model, lr=3e-3), schedule=linear(3e-3, max(1, steps // 10), steps),
        progress=False)  # fmt: skip
    return model


def right(model, length, far, count=300):
    """For each kind of question the share of right orders in new queues, in per cent."""
    with torch.no_grad():
        told = [(logits(model, x).argmax(-1) == orders, kinds)
                for x, orders, kinds in batches(count, length, far, seed=999)]  # fmt: skip
    hits, kinds = (torch.cat(part) for part in zip(*told, strict=True))
    return [round(100 * hits[kinds == kind].float().mean().item(), 1) for kind in range(3)]


# %% Measure tags=["fold"]
from deepdive.page.experiments import kept, share, sweep
from deepdive.page.profile import banner, pick, profile


def measure(model, far, layers, steps, seed):
    trained = train(model, far, layers, steps, seed)
    return {"short": right(trained, SHORT, far), "long": right(trained, LONG, far)}


PARTS = ["content to content", "content to position", "position to content"]
MODELS = ["absolute", "absolute, moved", "T5", "DeBERTa", *(f"without {part}" for part in PARTS)]
steps = pick(ci=60, laptop=300, gpu=600, experiment=round(600 * share()))
asked = [(name, FAR, 1, seed) for seed in (1, 2, 3) for name in [*MODELS, "ConvBERT"]]
asked += [("T5", far, 1, seed) for seed in (1, 2, 3) for far in (2, 4)]
asked += [(name, FAR, 2, seed) for seed in (1, 2, 3) for name in ("absolute, moved", "T5")]
if profile() != "experiment":
    asked = [("absolute", FAR, 1, 1), ("T5", FAR, 1, 1), ("DeBERTa", FAR, 1, 1)]
points = [
    dict(zip(("model", "far", "layers", "seed"), each, strict=True), steps=steps) for each in asked
]
file = kept("03_bert", "disentangled")
target = file if profile() == "experiment" else None
measured = sweep(measure, points, target, data="generated", minutes=60)

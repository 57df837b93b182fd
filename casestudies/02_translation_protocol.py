# %% [markdown]
# # Replicating the original companion's translation experiment
#
# The book's own companion reports a validation cross-entropy of 2.405 for an attention GRU and
# 1.675 for a Transformer of 21.2 million parameters, after 56 minutes on a GPU. What do small
# models reach on the same protocol in less than 20 minutes each, on two CPU cores?
#
# <small>Prerequisites: case study 2 · 12 min · a few minutes to run on two cores; the whole
# experiment, whose results are kept here, takes about three quarters of an hour</small>

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
# ## The protocol
#
# Only sentences of a simple form are kept: the English side begins with *I am*, *he is*, *where
# is* and the like, both sides have fewer than 20 words. Everything is lower-cased and loses its
# accents; each word is one token. A random 80% of the pairs train, 10% validate, 10% test.
#
# The number reported is the **cross-entropy**: how surprised the model is, on average, by the next
# French word of a validation sentence when it has read the English sentence and the true French
# words before it. Natural logarithm, mean over the target tokens, end token counted, padding not,
# no label smoothing. A model that guesses uniformly among 6,000 words has $\ln 6000 = 8.7$; lower
# is better.

# %%
from deepdive.data import pairs
from deepdive.tokenizers import simplify
from deepdive_book.data.grammar import grammar_pairs
from deepdive_book.kit.profile import banner, pick, profile

PREFIXES = (
    "i am,i m,he is,he s,she is,she s,you are,you re,we are,we re,they are,they re,are you,am i,"
    "were you,was i,where are,where is,what is,what are"
)
real = profile() != "ci"
every = pairs("tatoeba_eng_fra", seed=None) if real else grammar_pairs(1500)
simple = [(simplify(english), simplify(french)) for english, french in every]
starts = tuple(f"{prefix} " for prefix in PREFIXES.split(",")) if real else ""
chosen = [
    (english, french)
    for english, french in simple
    if english.startswith(starts) and max(len(s.split()) for s in (english, french)) < 20
]
print(banner("tatoeba_eng_fra (real)" if real else "grammar_pairs (generated)"))
print(f"{len(chosen):,} of {len(every):,} pairs kept, for example: {chosen[1000]}")

# %% [markdown]
# The original reports 12,435 training pairs; it used an older release of the same collection. Ours
# is the release of April 2019, with more pairs. So we train twice: on the first 12,435 pairs of a
# shuffled training part, to compare like with like, and on all of them. Both share one validation
# set. Half of it **chooses** (when to stop, which setting), and the other half is **reported**.

# %%
import random

order = list(range(len(chosen)))
random.Random(0).shuffle(order)
shuffled = [chosen[i] for i in order]
a, b = int(0.8 * len(chosen)), int(0.9 * len(chosen))
train, valid = shuffled[:a], shuffled[a:b]
choose, report = valid[: len(valid) // 2], valid[len(valid) // 2 :]
small = train[: pick(ci=600, laptop=12_435, gpu=12_435)]

known = {english for english, _ in train}
repeated = sum(english in known for english, _ in report) / len(report)
print(f"train {len(small):,} or {len(train):,}, choose {len(choose):,}, report {len(report):,}")
print(f"{repeated:.0%} of the reported English sentences also stand in training")

# %% [markdown]
# **A weakness of the protocol.** One English sentence often has several French translations, and a
# random split puts some of them in training and others in validation. The last line above says how
# often. The numbers that follow are comparable with the original's, which has the same weakness. At
# the end of the page we split by English sentence, and see what it was worth.
#
# The vocabulary, too, is made from every kept pair, validation included, as in the original. Words
# that never occur in training are then in the vocabulary, but nobody taught the model what they
# mean.

# %%
from deepdive.data import BucketBatches
from deepdive.tokenizers import WordTokenizer
from deepdive.training.translation import encode

source = WordTokenizer.train(english for english, _ in chosen)
target = WordTokenizer.train(french for _, french in chosen)


def batches(pairs, words=(source, target), size=4000, seed=0):
    return BucketBatches(encode(pairs, *words), max_tokens=size, seed=seed)


print(f"{len(source):,} English and {len(target):,} French words")

# %% [markdown]
# ## The models
#
# Both are built from this library's parts. The attention GRU has a bidirectional encoder and asks
# the source once for each target word. The Transformer has 2 + 2 layers of width 256 and about a
# quarter of the original's parameters; with so little data a larger one only remembers more.
#
# With 12,435 sentences the danger is to learn them by heart. Four things work against it: dropout,
# label smoothing, averaging the weights over time, and **word dropout**: in training, input words
# are replaced by *unknown* with a probability that is higher for rare words,
# $p(w) = \max(0.1,\ 0.3 / (0.3 + \mathrm{count}(w)))$. A model that has met *unknown* often knows
# what to do with words it has never seen: at evaluation, input words without a training example are
# replaced too.

# %%
import torch

from deepdive.tokenizers import UNK


def rarity(ids, size):
    """For each word: the chance to be hidden in training, and whether it is new at evaluation."""
    count = torch.bincount(torch.cat([torch.tensor(row) for row in ids]), minlength=size)
    chance = (0.3 / (0.3 + count)).clamp(min=0.1)
    new = count == 0
    chance[:4], new[:4] = 0.0, False  # padding, begin, end, unknown stay
    return chance, new


# %%
class HideRareWords(torch.nn.Module):
    """A translation model that sees `unknown` for words it has hardly met."""

    def __init__(self, model, pairs, words):
        super().__init__()
        self.model = model
        for name, ids, side in zip(("src", "tgt"), encode(pairs, *words), words, strict=True):
            chance, new = rarity(ids, len(side))
            self.register_buffer(f"{name}_chance", chance)
            self.register_buffer(f"{name}_new", new)

    def hide(self, ids, chance, new):
        hidden = torch.rand(ids.shape) < chance[ids] if self.training else new[ids]
        return ids.masked_fill(hidden, UNK)

    def forward(self, src, tgt, src_mask):
        src = self.hide(src, self.src_chance, self.src_new)
        return self.model(src, self.hide(tgt, self.tgt_chance, self.tgt_new), src_mask)


# %%
from deepdive.core import PreNorm
from deepdive.core.embeddings import TiedHead
from deepdive.models.seq2seq.attention_seq2seq import rnnsearch
from deepdive.models.transformer.transformer import transformer

width = pick(ci=64, laptop=256, gpu=256)


def new_transformer(source, target):
    model = transformer(
        len(source), len(target), d_model=width, n_heads=4, n_layers=2, d_ff=2 * width,
        dropout=0.3, residual=PreNorm,
    )
    model.encoder.dropout.p = model.decoder.dropout.p = 0.1  # on the embeddings: less
    model.head = TiedHead(model.decoder.embedding, bias=True)
    return model


def new_attention_rnn(source, target):
    return rnnsearch(len(source), len(target), d_model=width, d_hidden=width, dropout=0.35)


for name, make in {"attention GRU": new_attention_rnn, "Transformer": new_transformer}.items():
    n = sum(p.numel() for p in make(source, target).parameters())
    print(f"{name}: {n / 1e6:.1f} million parameters")

# %% [markdown]
# ## Training
#
# One function trains each of them. The choosing half picks the best moment; only then is the
# reporting half looked at, once.

# %%
from functools import partial

from deepdive.data import split_by
from deepdive.decoding import greedy
from deepdive.training import Update, Validation, fit
from deepdive.training.optim import EMA, adam, cosine
from deepdive.training.translation import loss, mean_cross_entropy, translate
from deepdive_book.kit.cost import measure
from deepdive_book.kit.experiments import checkpoints, results_path, share, sweep

parts = split_by(shuffled, fractions=(0.8, 0.1, 0.1), seed=0)
clean_train = parts[0][: len(small)]
clean = {"choose": parts[1][: len(choose)], "report": parts[1][len(choose) :][: len(report)]}
assert not {e for e, _ in clean_train} & {e for part in clean.values() for e, _ in part}
own_words = tuple(
    WordTokenizer.train((pair[side] for pair in small), min_count=1) for side in (0, 1)
)
shown = report[:: max(1, len(report) // 8)][:8]

# %% Say what each run is made of tags=["fold"]
GRU = {"make": new_attention_rnn, "lr": 3e-3, "size": 1200}
TRANSFORMER = {"make": new_transformer, "lr": 1e-3, "size": 600}
USUAL = {"pairs": small, "halves": {"choose": choose, "report": report}, "words": (source, target)}
RUNS = {
    "attention GRU": {**USUAL, **GRU, "epochs": 5},
    "Transformer": {**USUAL, **TRANSFORMER, "epochs": 13},
    "Transformer, all pairs": {**USUAL, **TRANSFORMER, "epochs": 13, "pairs": train},
    "GRU, split by English": {**USUAL, **GRU, "epochs": 5, "pairs": clean_train, "halves": clean},
    "GRU, own vocabulary": {**USUAL, **GRU, "epochs": 5, "words": own_words},
}


# %%
def train_run(run, part, seed):
    """Make `part` of a run's steps; return its cross-entropies, and a few translations."""
    made = RUNS[run]
    words, lr = made["words"], made["lr"]
    torch.manual_seed(seed)
    model = HideRareWords(made["make"](*words), made["pairs"], words)
    data = batches(made["pairs"], words, made["size"], seed)
    checks = {half: batches(pairs, words) for half, pairs in made["halves"].items()}
    steps = max(1, round(part * made["epochs"] * len(data)))
    with measure() as card:
        history = fit(
            model, data, partial(loss, smoothing=0.06), steps=steps, seed=seed,
            optimizer=adam(model, lr=lr, weight_decay=0.01), update=Update(ema=EMA(model, 0.99)),
            schedule=cosine(lr, warmup=min(300, steps // 3), total=steps, floor=0.02 * lr),
            validate=Validation(partial(mean_cross_entropy, batches=checks["choose"]),
                                every=min(len(data), steps)),
            folder=checkpoints("translation_protocol", run, of=[part, *(w.vocab for w in words)]),
        )  # fmt: skip
    told = {half: round(mean_cross_entropy(model, pairs), 4) for half, pairs in checks.items()}
    written = translate(model.model, [e for e, _ in shown], *words, greedy, progress=False)
    return {
        **told, "steps": steps, "best_step": history.best_step, "written": written,
        "minutes": round(history.seconds / 60, 2), "curve": history.validations,
        "peak_memory_mb": round(card.peak_memory / 2**20),
    }  # fmt: skip


# %% [markdown]
# Here is its **reduced form**: the first two runs, with a small part of their steps.

# %%
from deepdive_book.kit.tables import table

live = [{"run": run, "part": pick(ci=0.1, laptop=0.1, gpu=0.1), "seed": 0} for run in [*RUNS][:2]]
few = sweep(train_run, live)
table([{"run": row["run"], "steps": row["steps"], "cross-entropy": row["report"],
        "minutes": row["minutes"]} for row in few], formats={"cross-entropy": ".3f"})  # fmt: skip

# %% [markdown]
# The profile `experiment` makes all of the steps, and five runs in all. What it measured is kept
# beside the pages of chapter 2, and all that follows speaks of those runs. The command
# `deepdive run casestudies/02_translation_protocol --profile experiment` makes them, and goes on
# where it was stopped.

# %%
import json

points = [{"run": run, "part": share(), "seed": 0} for run in RUNS]
kept_file = results_path("02_transformer", "translation_protocol")
if profile() == "experiment":
    sweep(train_run, points, kept_file, data="tatoeba_eng_fra")
is_there = kept_file is not None and kept_file.is_file()
rows = json.loads(kept_file.read_text("utf-8"))["rows"] if is_there else []
runs = {row["run"]: row for row in rows if row["part"] == share()}
print(f"{len(runs)} runs kept, {sum(row['minutes'] for row in runs.values()):.0f} minutes of work")

# %% Draw the kept curves tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7, 3.4))
axes = figure.subplots()
for run in [*RUNS][:3]:
    if run in runs:
        axes.plot(*zip(*runs[run]["curve"], strict=True), "o-", markersize=3, label=run)
for value, name in ((2.405, "original's GRU"), (1.675, "original's Transformer")):
    axes.axhline(value, color="gray", linestyle=":", linewidth=1)
    axes.annotate(name, (1, value), xycoords=("axes fraction", "data"), ha="right", va="bottom",
                  fontsize=8, color="gray")  # fmt: skip
axes.set(xlabel="training step", ylabel="cross-entropy, choosing half", ylim=(1, 4))
axes.legend()
with_alt(
    figure,
    "Cross-entropy of the choosing half against training steps for the three runs, with the "
    "original's two values as dotted lines.",
)

# %% [markdown]
# *The dotted lines are the original's two numbers.*
#
# ## Beside the original's numbers

# %%
original = {"attention GRU": 2.405, "Transformer": 1.675}
table(
    [{"run": run, "original": original.get(run), "ours": runs[run]["report"],
      "minutes": runs[run]["minutes"]} for run in [*RUNS][:3] if run in runs],
    formats={"original": ".3f", "ours": ".3f", "minutes": ".1f"},
    caption="Cross-entropy of the reported half.",
) if runs else "the kept runs are not here: they come with a copy of the project"  # fmt: skip

# %% [markdown]
# Both models end below the original's numbers, the Transformer with a quarter of its parameters.
# We chose small batches, because a Transformer lacks steps before it lacks sentences, and little
# dropout on the embeddings, because in a sentence of seven words a lost one is hard to guess. Those
# were short trials, which are not kept. With a fifth more pairs the cross-entropy is lower again.
#
# What to read with care: our release is newer, so the 12,435 training pairs are not the original's
# own, and the validation sentences are other ones as well. A comparison to the second decimal would
# claim too much. Each run has one seed. That the Transformer is ahead here is not what [study
# 2](02_translation.ipynb) finds, where the attention RNN leads in BLEU; the recipes and sizes
# differ, and neither page settles the order.
#
# ## What was the repeated English worth?
#
# Now split by English sentence: no English sentence of the validation part is seen in training. The
# attention GRU again, with the same number of training pairs and the same epochs.

# %%
if len(runs) == len(RUNS):
    print(f"random split {runs['attention GRU']['report']:.3f}, "
          f"by English sentence {runs['GRU, split by English']['report']:.3f}")

# %% [markdown]
# ## And the vocabulary?
#
# The original's vocabulary contains the words of the validation part. With a vocabulary from the
# training part alone, a target word that was never seen becomes *unknown*, and *unknown* is what
# the model is asked to predict there. That is easier: predicting a word nobody showed you costs 11
# nats or so, predicting that *some* rare word comes costs far less. To say how much of the number
# is decided by this choice, one run was made with it.

# %%
unknown = sum(own_words[1].encode(f).count(UNK) for _, f in report)
words = sum(len(own_words[1].encode(f, eos=True)) for _, f in report)
print(f"{unknown / words:.1%} of the reported target tokens are unknown to this vocabulary")
if len(runs) == len(RUNS):
    print(f"vocabulary of every pair {runs['attention GRU']['report']:.3f}, "
          f"of training {runs['GRU, own vocabulary']['report']:.3f}")

# %% [markdown]
# One number, three readings: what is counted, which sentences stand on both sides, which words are
# listed. Here the split moves it about ten times as far as the vocabulary.
#
# ## Does it translate?
#
# Cross-entropy says how good the guesses are, not what comes out. The Transformer that saw all
# pairs, on sentences of the reported half (about half of these English sentences are also in
# training, as counted above):

# %%
last = runs.get("Transformer, all pairs")
table([{"English": english, "ours": ours, "a person": french}
       for (english, french), ours in zip(shown, last["written"], strict=True)]
      ) if last and real else "nothing is kept for generated pairs"  # fmt: skip

# %% [markdown] tags=["aside"]
# ### The results, kept
#
# Other pages and the README read these numbers from a file, so that nobody copies them by hand.

# %%
import os

from deepdive_book.kit.results import results_file, update

KEYS = {
    "attention GRU": "attention_rnn", "Transformer": "transformer",
    "Transformer, all pairs": "transformer_all_pairs",
    "GRU, split by English": "attention_rnn_split_by_english",
    "GRU, own vocabulary": "attention_rnn_training_vocabulary",
}  # fmt: skip
metrics = {KEYS[run]: {"valid_ce": row["report"], "seconds": round(60 * row["minutes"], 1)}
           for run, row in runs.items()}  # fmt: skip
seconds = round(60 * sum(row["minutes"] for row in runs.values()), 1)
part = {
    "profile": "experiment",
    "data": ["tatoeba_eng_fra"],
    "cores": os.cpu_count(),
    "seconds": seconds,
    "peak_memory_mb": max((row["peak_memory_mb"] for row in runs.values()), default=0),
    "metrics": {"original_protocol": {**metrics, "seconds": seconds}},
}
if real and len(runs) == len(RUNS):
    path = results_file("02_translation")
    update(path, part, page="02_translation_protocol")
    print(f"written: {path.name}")

# %% [markdown]
# ## Summary
#
# On the original's protocol a small attention GRU and a small Transformer, each trained for less
# than 20 minutes on a CPU, go below its two numbers. The number depends on choices that are easy to
# overlook: half of the English sentences of its validation part stand in training, and the
# vocabulary knows words that training does not. State the split, the vocabulary and what is
# averaged, or a cross-entropy means little.
#
# <small>Book 2.5.</small>

# %% [markdown]
# # Fine-tuning BERT on movie reviews: is pretraining worth it?
#
# A sentence about a film: is it praise or not? A linear model over word counts answers in
# milliseconds. A pre-trained BERT of six layers multiplies millions of numbers for each word. How
# much better is it, from how many labeled sentences on, and when is the linear model enough?
#
# <small>Prerequisites: 3.1, 3.6 and 3.7 · 25 min · about 15 minutes to run on two cores, a minute
# in `ci` · book 3.6</small>

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
# %%
# A table of your own (.csv or .tsv with a header): its path, and the names of two columns.
REVIEWS_FILE = ""  # @param {type:"string"}
TEXT_COLUMN = "text"  # @param {type:"string"}
LABEL_COLUMN = "label"  # @param {type:"string"}
# A larger model to tune at the end: a RoBERTa's folder, or its name on the hub.
LARGER = ""  # @param {type:"string"}

# %% [markdown]
# ## The data
#
# Pang and Lee (2005) collected 10,662 sentences from reviews on Rotten Tomatoes, half from positive
# ones, half from negative ones. No human read the sentence alone: its class is that of the review.
# So some sentences say nothing, or the opposite, and no model can reach 100%. There is no official
# split; ours goes by the sentence, so that a sentence that comes twice stays in one part.
#
# Any table with a text and a class in each row can take their place, such as reviews of an app with
# three classes. Name it above, with its two columns: a header, UTF-8, commas, semicolons or tabs;
# other columns are passed over. A row that does not fit is named by its line.

# %%
import os

from deepdive.data import read_labeled, rt_polarity
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.kit.profile import banner, pick, profile

file = os.environ.get("DEEPDIVE_REVIEWS", REVIEWS_FILE)
if file:
    every = read_labeled(file, TEXT_COLUMN, LABEL_COLUMN)
elif profile() == "ci":
    every = generated_reviews(400)
else:
    every = rt_polarity()
train, valid, test = every.held_out(test=2000, valid=600)
print(banner(every.source))
print(f"train {len(train):,}, valid {len(valid):,}, test {len(test):,}: {every.counts()}")

# %%
for k, name in enumerate(every.names):
    some = [text for text, y in zip(train.texts, train.labels, strict=True) if y == k][:2]
    for text in some:
        print(f"{name}: {text[:200]}")

# %% [markdown]
# ## The bar: a linear model
#
# Count the words and pairs of words of a sentence, weigh the rare ones more (TF-IDF), and let a
# logistic regression put a number on each. It knows no order beyond two words, and it has never
# seen English before. How strongly its numbers are held near zero (a small `C`: strongly) is chosen
# on the validation part; nothing on this page is chosen on the test part.

# %%
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sizes = pick(ci=(40, 160), laptop=(250, 1000, 4000), gpu=(1000, 4000, 8000))
sizes = train.sizes(sizes)  # those for which there are texts, of every class


def best_linear(make, inputs, labels, checks, check_labels):
    """Of several strengths of regularisation, the model that does best on the validation part."""
    fitted = [make(C).fit(inputs, labels) for C in (0.01, 0.1, 1, 10, 100)]
    return max(fitted, key=lambda model: model.score(checks, check_labels))


def words(C):
    counts = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+|[^\w\s]")
    return make_pipeline(counts, LogisticRegression(C=C, max_iter=1000))


# %%
from deepdive.evaluate import bootstrap

right = {"linear": {}}  # method -> training sentences -> 1 where the test sentence is right
for n in sizes:
    linear = best_linear(words, train.texts[:n], train.labels[:n], valid.texts, valid.labels)
    right["linear"][n] = (linear.predict(test.texts) == test.labels).astype(int)
    print(f"{n:>5} sentences: {bootstrap(right['linear'][n])}")

# %% [markdown]
# Behind each accuracy stands its interval: draw as many test sentences with replacement, again and
# again, and see between which values nineteen of twenty accuracies lie. It speaks of other test
# sentences, not of other training runs.

# %% [markdown]
# ## The model: MiniLM in our own BERT
#
# MiniLM (Wang et al. 2020) is a BERT of six layers, 384 wide: 22.7 million weights, distilled from
# a larger one and then trained so that sentences of like meaning lie close together. It has read a
# lot of English and no label of ours.

# %%
import torch

from deepdive.published.classifier import begin
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive_book.tasks.classification import encode

folder, tokenizer = minilm(), minilm_tokenizer()
model = begin(folder, n_classes=len(every.names))
ids = {name: encode(part.texts, tokenizer)
       for name, part in (("train", train), ("valid", valid), ("test", test))}  # fmt: skip
weights = sum(p.numel() for p in model.parameters())
table = model.encoder.embeddings.tokens.weight.numel()
print(f"{weights / 1e6:.1f} M weights, {table / 1e6:.1f} M of them the table of word pieces")
print(" ".join(tokenizer.vocab[i] for i in ids["train"][0]))

# %% [markdown]
# ### Batches of like length
#
# A batch is as long as its longest sentence; the others are padded, and padding costs as much as
# words do. Sentences of like length together, as many as fit into a budget of tokens, waste little.

# %%
from deepdive.tokenizers import padded
from deepdive_book.tasks.classification import batches


def padding(groups):
    return sum((t == 0).sum().item() for t in groups) / sum(t.numel() for t in groups)


some = ids["train"][: sizes[-1]]
mixed = [padded(some[i : i + 32])[0] for i in range(0, len(some), 32)]
alike = [tokens for _, tokens in batches(some, [0] * len(some), max_tokens=900)]
print(f"mean length {sum(map(len, some)) / len(some):.1f} word pieces")
print(f"padding: {padding(mixed):.0%} of the tokens in batches of 32 as they come, "
      f"{padding(alike):.1%} in {len(alike)} batches of like length")

# %% [markdown]
# ## First way: features
#
# The cheapest use of a pre-trained model: run it once over all sentences, keep one vector each, and
# train a logistic regression on the vectors. Two candidates for the vector: the state of `[CLS]`,
# or the mean of all states, which MiniLM was trained to make a sentence's vector. The encoder does
# not change, so all sizes share the same vectors.

# %%
from deepdive_book.tasks.classification import features

model.eval()
seen = {"train": ids["train"][: sizes[-1]], "valid": ids["valid"], "test": ids["test"]}
vectors = {part: features(model.encoder, rows) for part, rows in seen.items()}


def on_vectors(C):
    return make_pipeline(StandardScaler(), LogisticRegression(C=C / 100, max_iter=1000))


for kind, name in (("first", "features, [CLS]"), ("mean", "features, mean")):
    right[name] = {}
    for n in sizes:
        fitted = best_linear(on_vectors, vectors["train"][kind][:n].numpy(), train.labels[:n],
                             vectors["valid"][kind].numpy(), valid.labels)  # fmt: skip
        said = fitted.predict(vectors["test"][kind].numpy())
        right[name][n] = (said == test.labels).astype(int)
        print(f"{name}, {n:>5} sentences: {bootstrap(right[name][n])}")

# %% [markdown]
# ## Second way: fine-tuning
#
# Now all weights may move. On top of `[CLS]` sits the pooler, then one new linear layer with a
# score for each class. The learning rate rises over the first tenth of the steps and falls to zero
# in a line, as Devlin et al. advise. Its height is ours, and tested further below. Few sentences
# are read more often than many.

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict as ask

ask(
    "Where labels are fewest, how will the fine-tuned model do beside the linear one? Millions of "
    "weights may move, and there are a few hundred sentences.",
    ["worse: so many weights need many labels", "about as well", "better"],
    answer=2,
    explain="The weights do not start from nothing. What they know of English is there before the "
    "first label, and a few steps with a small rate keep most of it.",
    key="03_bert/few-labels",
)

# %%
from functools import partial

from deepdive.training import Keep, Validation, fit
from deepdive.training.optim import adam
from deepdive.training.optim import linear as falling
from deepdive_book.kit.profile import workdir
from deepdive_book.tasks.classification import freeze, loss, mean_loss

RATE = pick(ci=3e-4, laptop=2e-4, gpu=2e-4)
EPOCHS = dict(zip(sizes, pick(ci=(2, 2), laptop=(6, 4, 2), gpu=(4, 3, 3)), strict=False))
TOKENS = pick(ci=400, laptop=900, gpu=900)


def fine_tune(model, n, epochs, rate=RATE, seed=0, folder=None, checks=4, ids=ids, pad=0):
    """Train on the first n sentences; keep the weights that did best on the validation part."""
    lessons = batches(ids["train"][:n], train.labels[:n], max_tokens=TOKENS, seed=seed, pad=pad)
    steps = max(1, round(epochs * len(lessons)))
    return fit(
        model, lessons, partial(loss, pad=pad), steps=steps, seed=seed, folder=folder,
        optimizer=adam(model, lr=rate, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01),
        schedule=falling(rate, warmup=steps // 10, total=steps + 1),
        validate=Validation(partial(mean_loss, ids=ids["valid"], labels=valid.labels, pad=pad),
                            every=max(1, steps // checks)),
    )


# %%
from deepdive_book.kit.cost import CostCard, measure
from deepdive_book.tasks.classification import predict


def run(name, n, start, keep=None, **settings):
    """Fine-tune a new model; note what the test says, the history and the cost."""
    torch.manual_seed(settings.get("seed", 0))
    model = start()
    with measure() as card:
        history = fine_tune(model, n, folder=keep, **settings)
        sample = next(iter(batches(ids["train"][:n], train.labels[:n], max_tokens=TOKENS)))
        card.count(lambda: loss(model, sample).backward(), times=len(history.losses))
    model.zero_grad()
    logits = predict(model, ids["test"])
    right.setdefault(name, {})[n] = (logits.argmax(1) == torch.tensor(test.labels)).int().numpy()
    return model, history, card, logits


def pretrained(frozen=0):
    model = begin(folder, n_classes=len(every.names))
    freeze(model.encoder, frozen)
    return model


# %%
runs = {}
for n in sizes:
    made_of = every.texts, every.labels  # other texts: another folder
    keep = Keep(workdir() / "reviews" / f"tuned-{n}", of=made_of) if n >= 2000 else None
    runs[n] = run("fine-tuned", n, pretrained, keep=keep, epochs=EPOCHS[n])
    history, card = runs[n][1:3]
    print(f"{n:>5} sentences: {bootstrap(right['fine-tuned'][n])}, {len(history.losses)} steps, "
          f"{history.seconds:.0f} s, {card.flops:.1e} operations")
tuned, history, _, logits = runs[sizes[-1]]

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(6.5, 3))
axes = figure.subplots()
axes.plot(range(1, len(history.losses) + 1), history.losses, color="C5", lw=0.8, label="training")
at, value = zip(*history.validations, strict=True)
axes.plot(at, value, "o-", color="C1", label="validation")
axes.axhline(torch.tensor(len(every.names)).log(), color="grey", ls=":", label="a guess")
axes.set(xlabel="step", ylabel="cross-entropy", ylim=(0, None))
axes.legend()
with_alt(figure, f"Loss of fine-tuning on {sizes[-1]} sentences: validation from {value[0]:.2f} to "
         f"{value[-1]:.2f}, the best {history.best:.2f}; training falls lower.")

# %% [markdown]
# *Each thin point is one batch. Where training falls on and validation does not, the model begins
# to know the sentences by heart. The weights of the lowest point of validation are kept.*
#
# ## Is it the same as the reference? A check
#
# The same weights, the same batches, the same optimizer, no dropout: our module and transformers'
# `BertForSequenceClassification` must walk the same path, step by step. If a mask, a scale or a
# gradient were wrong anywhere, the two losses would part.

# %%
from transformers import BertConfig, BertForSequenceClassification

from deepdive.published.classifier import published

steps = pick(ci=6, laptop=50, gpu=50)
torch.manual_seed(0)
ours = begin(folder, n_classes=len(every.names), dropout=0.0)
for part in ours.modules():
    if hasattr(part, "p"):
        part.p = 0.0
plain = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
config = BertConfig.from_pretrained(folder, num_labels=len(every.names), **plain)
theirs = BertForSequenceClassification(config).train()
_ = theirs.load_state_dict(published(ours))


# %%
def walk(model, score, lessons):
    """The losses of training step by step, with Adam and nothing else."""
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=5e-5), []
    for labels, tokens in lessons:
        value = torch.nn.functional.cross_entropy(score(tokens, tokens != 0), labels[:, 0])
        value.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(value.item())
    return losses


lessons = list(batches(ids["train"][:1600], train.labels[:1600], max_tokens=400, seed=1))[:steps]
mine = walk(ours.train(), ours, lessons)
other = walk(theirs, lambda x, mask: theirs(x, attention_mask=mask.long()).logits, lessons)
gap = max(abs(a - b) for a, b in zip(mine, other, strict=True))
print(f"{len(lessons)} steps: loss {mine[0]:.4f} ... {mine[-1]:.4f}; largest gap {gap:.1e}")
assert gap < 1e-4

# %% [markdown]
# ## Third way: from scratch
#
# Is it the architecture, or what it has read? The same kind of model with random weights learns
# from our labels only. It is small (two layers, 128 wide): a few thousand sentences cannot fill
# more. MiniLM's own shape from scratch is among the long runs below.

# %%
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert


def scratch():
    encoder = bert(vocab_size=len(tokenizer), d_model=128, n_heads=4, n_layers=2, d_ff=512)
    return Classifier(encoder, 128, len(every.names))


more = pick(ci=3, laptop=4, gpu=4)  # times as often: it starts from nothing, and is cheap
for n in sizes:
    history = run("from scratch", n, scratch, epochs=more * EPOCHS[n], rate=1e-3)[1]
    print(f"{n:>5} sentences: {bootstrap(right['from scratch'][n])}, {history.seconds:.0f} s")

# %% [markdown]
# ## Learning curves

# %% tags=["fold"]
figure = Figure(figsize=(6.5, 3.6))
axes = figure.subplots()
order = ["fine-tuned", "features, mean", "features, [CLS]", "linear", "from scratch"]
for i, name in enumerate(order):
    found = [bootstrap(values) for values in right[name].values()]
    at = [n * 1.04 ** (i - 2) for n in right[name]]
    errors = [[f.value - f.low for f in found], [f.high - f.value for f in found]]
    axes.errorbar(at, [f.value for f in found], errors, marker="osD^v"[i], capsize=3, label=name)
axes.set(xscale="log", xlabel="labelled sentences to train on", ylabel="accuracy on the test part")
axes.set_xticks(sizes, map(str, sizes))
axes.minorticks_off()
axes.legend(fontsize="small")
told = "; ".join(f"{name} " + ", ".join(f"{right[name][n].mean():.2f}" for n in sizes)
                 for name in order)
with_alt(figure, f"Test accuracy against the number of training sentences {sizes}: {told}.")

# %% [markdown]
# *Bars are the intervals of the test sentences; the points are moved apart a little to be seen.*
#
# Two things to read off. How far right must you go on the linear model's line to reach the height
# at which fine-tuning begins? That is what pre-training is worth in labels. And how far is *from
# scratch* from the linear model? Does the architecture alone, without pre-training, bring anything?
#
# ### The claim
#
# Are the intervals of the linear model and of the fine-tuned one apart? And sentence by sentence:
# where only one of the two is right, which one is it? McNemar's test asks how likely so lopsided a
# count would be if both were equally good; that probability is `p`.

# %%
from deepdive.evaluate import mcnemar

n = sizes[-1]
tuned_right, linear_right = right["fine-tuned"][n], right["linear"][n]
ours_, bar = bootstrap(tuned_right), bootstrap(linear_right)
difference = bootstrap(tuned_right - linear_right)
p = mcnemar(tuned_right, linear_right)
print(f"fine-tuned {ours_}\nlinear     {bar}\ndifference {difference}, McNemar's p = {p:.1e}")
print(f"only fine-tuned right: {(tuned_right > linear_right).sum()}, "
      f"only linear right: {(tuned_right < linear_right).sum()}")
if profile() != "ci" and not file:
    assert ours_.low > bar.high, "the margin does not lie outside the intervals"

# %% [markdown]
# ## Learning rate, frozen layers, seeds
#
# Three questions, one function. Which learning rate? Devlin et al. tried 2e-5 to 5e-5 for a model
# with eight times as many weights in its layers. Must all layers move, or do the upper ones suffice
# (`frozen` counts the layers that stay, with the token embeddings; -1: the embeddings alone)? And
# if nothing but the seed changes (the last layer's start, dropout, the order of the sentences), how
# much does the result change?

# %%
import json

from deepdive_book.kit.experiments import results_path, share, sweep


def point(n=1000, steps_share=1.0, rate=RATE, frozen=0, seed=0, start="MiniLM"):
    """One fine-tuning run as a row of numbers; `steps_share` shortens it."""
    torch.manual_seed(seed)  # before the last layer is drawn: the seed is the whole start
    model = pretrained(frozen) if start == "MiniLM" else unread()
    epochs = steps_share * (4000 / n) ** 0.5
    history = fine_tune(model, n, epochs=epochs, rate=rate, seed=seed, checks=2)
    found = predict(model, ids["test"], progress=False).argmax(1)
    return {"accuracy": round((found == torch.tensor(test.labels)).float().mean().item(), 4),
            "valid": round(history.best, 4), "steps": len(history.losses)}


def unread():
    """MiniLM's shape with random weights."""
    from deepdive.published import from_config
    from deepdive.published.weights import read_config

    config = read_config(folder)
    return Classifier(from_config(config), config["hidden_size"], len(every.names))


# %%
short = pick(ci=0.2, laptop=1.0, gpu=1.0)
few = min(sizes[0], 250)
live = [{"n": few, "steps_share": short, "rate": rate} for rate in pick(
    ci=(1e-4,), laptop=(3e-5, 1e-4, 3e-4), gpu=(1e-5, 3e-5, 1e-4))]  # fmt: skip
for row in sweep(point, live):
    print(f"{row['n']} sentences, rate {row['rate']:.0e}: accuracy {row['accuracy']:.3f}, "
          f"validation {row['valid']:.3f}, {row['steps']} steps")
twice = [point(few, steps_share=short / 10, seed=1) for _ in range(2)]
assert twice[0] == twice[1], "the same seed must give the same run"

# %% [markdown]
# That was the **reduced form**, run just now. The long form is saved next to the chapter, made by
# `deepdive run casestudies/03b_reviews --profile experiment`, which can be stopped and goes on.
# Before you believe a difference between two of its lines, compare it with the spread of the seeds
# within a line.

# %%
part = share()
grid = [{"n": 1000, "steps_share": part, "rate": r, "seed": s} for s in (0, 1, 2)
        for r in (1e-5, 3e-5, 1e-4, 3e-4)]  # fmt: skip
grid += [{"n": 1000, "steps_share": part, "frozen": k, "seed": s} for s in (0, 1, 2)
         for k in (0, -1, 2, 4, 6)]  # fmt: skip
grid += [{"n": n, "steps_share": part, "seed": 0, "start": start}
         for n in (4000, 8000) for start in ("MiniLM", "random")]  # fmt: skip
kept_file = results_path("03_bert", "reviews_tuning")
if profile() == "experiment" and not file:
    sweep(point, grid, kept_file, data="rt_polarity", minutes=60)
there = kept_file is not None and kept_file.is_file()
rows = json.loads(kept_file.read_text())["rows"] if there else []
rows = [row for row in rows if row["steps_share"] == part]
print(f"{len(rows)} runs kept" if rows else "no kept result here yet")

# %%
from collections import defaultdict

groups = defaultdict(list)
for row in rows:
    what = (f"from {row.get('start', 'MiniLM')}", row["n"],
            f"rate {row.get('rate', RATE):.0e}", f"frozen {row.get('frozen', 0)}")  # fmt: skip
    groups[what].append(100 * row["accuracy"])
for what, found in groups.items():
    mean = sum(found) / len(found)
    print(f"{', '.join(map(str, what)):<46} {mean:.1f} %, {len(found)} seeds, "
          f"{min(found):.1f} to {max(found):.1f}")

# %% tags=["fold"]
def of(n=1000, start="MiniLM", rate=RATE, frozen=0):
    return groups[f"from {start}", n, f"rate {rate:.0e}", f"frozen {frozen}"]


if profile() == "laptop" and not file and len(rows) == len(grid):  # what is said below
    plain, tables = of(), of(frozen=-1)
    assert max(of(rate=1e-5) + of(rate=3e-5)) < 56
    assert min(of(rate=1e-4) + of(rate=3e-4)) > 73
    assert min(plain) > 75
    assert abs(sum(plain) - sum(tables)) / 3 < 0.5
    assert max(of(frozen=2)) > min(plain)
    assert max(of(frozen=4)) < min(plain) - 2
    assert max(of(frozen=6)) < 60
    for many in (4000, 8000):
        assert max(of(many, "random")) < 55 < 80 < min(of(many))

# %% [markdown]
# What the saved runs show, with 1,000 sentences and 64 steps where nothing else is named:
#
# - **Rate.** 1e-5 and 3e-5 leave it near a coin: so few small steps do not leave the start. Devlin
#   et al. (2019, appendix A.3) tried 5e-5, 3e-5 and 2e-5, with 2 to 4 epochs of thousands of steps;
#   64 steps are no test of their rates. From 1e-4 to 3e-4 the rates differ by no more than their
#   seeds.
# - **Frozen layers.** The token embeddings may stay as it is: that costs less than half a point,
#   and the seeds are further apart than that. With two layers frozen the seeds still overlap with
#   those of none; four cost more than two points with any seed. With all six frozen only the pooler
#   and the last layer learn, and 64 steps of those are little more than a coin.
# - **From random weights** MiniLM's own shape learns next to nothing in the steps in which the
#   pre-trained one is above 80%, with 4,000 sentences and with 8,000.
#
# The learning curve above uses a worse recipe than these runs. In a rerun, fine-tuning on 1,000
# sentences for 4 epochs has an accuracy of 0.727, as in the curve, and for 2 epochs 0.764, as here.
# In 4 epochs the validation loss rises from the first check on (0.533, 0.615, 0.707, 0.762): the
# model overfits. So the curve of fine-tuning is lower than it has to be.

# %% [markdown]
# ## Which mistakes?
#
# Rows: the true class. Columns: what was said.

# %%
from deepdive.evaluate import confusion, macro_f1

said = logits.argmax(1)
print(" " * 12, *(f"{name:>12}" for name in every.names))
for name, row in zip(every.names, confusion(said, test.labels, len(every.names)), strict=True):
    print(f"{name:>12}", *(f"{count:12d}" for count in row))
print(f"macro F1 {macro_f1(said, test.labels, len(every.names)):.3f}")

# %% [markdown]
# ## Does it know when it does not know?
#
# A model that says 90% should be right nine times in ten. Sort the test sentences by how sure the
# model is into ten bins, and compare in each bin with how often it is right. The **expected
# calibration error** is the mean distance between the two, each of the $N$ sentences counting once:
#
# $$\sum_{b=1}^{10} \frac{n_b}{N} \, |\text{accuracy}_b - \text{confidence}_b|$$
#
# A fine-tuned model is often too sure. One number fixes that without changing any answer: divide
# all logits by a **temperature**, fitted on the validation part (Guo et al. 2017).

# %%
from deepdive.evaluate import reliability, temperature

degree = temperature(predict(tuned, ids["valid"]), valid.labels)
before = reliability(logits.softmax(1), test.labels)
after = reliability((logits / degree).softmax(1), test.labels)
print(f"expected calibration error {before.error:.3f}; with temperature {degree:.2f}: "
      f"{after.error:.3f}")

# %% tags=["fold"]
figure = Figure(figsize=(7, 3.1))
panels = figure.subplots(1, 2, sharey=True)
for axes, found, title in zip(panels, (before, after), ("as it is", f"logits / {degree:.2f}"),
                              strict=True):
    full = found.counts > 0
    axes.plot([0, 1], [0, 1], color="grey", lw=1, ls=":")
    axes.plot(found.confidence[full], found.accuracy[full], "o-")
    for x, y, count in zip(found.confidence[full], found.accuracy[full], found.counts[full],
                           strict=True):
        axes.annotate(str(count), (x, y), (0, -12), textcoords="offset points", fontsize=7,
                      ha="center")
    axes.set(title=f"{title}: error {found.error:.3f}", xlabel="how sure it is", ylim=(0, 1.05),
             xlim=(1 / len(every.names) - 0.05, 1.02))
panels[0].set_ylabel("how often it is right")
with_alt(figure, "Reliability: accuracy against confidence in ten bins, before and after dividing "
         f"by the temperature; error {before.error:.3f} and {after.error:.3f}.")

# %% [markdown]
# *Below the dotted line the model is too sure. The small numbers say how many sentences a point
# stands for.*
#
# ## Read the mistakes
#
# First those of which the model is most confident. Would you have known? Some classes are those of
# the review and not of the sentence; some sentences are ironic; some praise one thing and damn
# another.

# %%
sure = (logits / degree).softmax(1).max(1)
wrong = [i for i in sure.values.argsort(descending=True).tolist() if said[i] != test.labels[i]]
for i in wrong[:8]:
    print(f"{every.names[test.labels[i]]}, said {every.names[said[i]]} "
          f"({sure.values[i]:.0%}): {test.texts[i][:160]}")

# %% [markdown]
# Then count. Which sentences are hard for which model? A marker word is a crude sign. The last
# column tells where the gain over the linear model comes from; a row of few sentences says little
# (two standard errors of an accuracy near 75% are 12 points with 55 sentences, 6 with 204).

# %%
import re

MARKS = {"denies (not, never, no, n't)": r"\b(not|never|no|nor|neither|without)\b|n't",
         "turns (but, though, despite)": r"\b(but|though|although|despite|however|yet)\b",
         "asks or exclaims (? !)": r"[?!]",
         "would, could, if": r"\b(would|could|should|if)\b"}  # fmt: skip
groups = {name: [i for i, text in enumerate(test.texts) if re.search(mark, text.lower())]
          for name, mark in MARKS.items()}  # fmt: skip
marked = {i for members in groups.values() for i in members}
groups["none of these"] = [i for i in range(len(test)) if i not in marked]
print(f"{'sentence':<30} {'number':>6} {'linear':>7} {'tuned':>7} {'gain':>7}")
for name, members in groups.items():
    if len(members) > 1:
        a, b = linear_right[members].mean(), tuned_right[members].mean()
        print(f"{name:<30} {len(members):>6} {a:7.1%} {b:7.1%} {b - a:+7.1%}")

# %% [markdown]
# ## Long documents
#
# A whole review has about 750 words; MiniLM has 512 positions, and work in attention grows with the
# square of the length. Two ways out. **Truncate**: keep the beginning, the end, or some of both.
# **Pool chunks**: cut the review into chunks, classify each, and average their logits. (The last
# layer is linear, so that is as if it had read the mean of what the pooler says of the chunks.)
#
# The model is the one just tuned: it has learned from single sentences only, so its chunks are
# kept short. The linear model may train on whole reviews, Pang and Lee's folds 0 to 7; folds 8 and
# 9 are the test. With a table of your own, its test texts are read whole here.

# %% tags=["fold"]
ask(
    "Someone tells a film's story and says what to think of it. The model may read a hundred or "
    "so pieces of words. Which?",
    ["the first ones", "the last ones", "it makes no difference"],
    answer=1,
    explain="The verdict often stands at the end, after the plot, whose sad and happy turns say "
    "little about the film.",
    key="03_bert/verdict",
)

# %%
from deepdive.data import movie_reviews
from deepdive_book.data.synthetic_reviews import generated_long_reviews
from deepdive_book.tasks.long_texts import in_chunks, pool, truncate

if file:
    long_train, long_test = train, test
elif profile() == "ci":
    long_train, long_test = generated_long_reviews(100, seed=1), generated_long_reviews(24, seed=2)
else:
    long_train, long_test = movie_reviews(range(8)), movie_reviews([8, 9])
texts = [tokenizer.encode(text) for text in long_test.texts]
lengths = sorted(map(len, texts))
size = pick(ci=64, laptop=128, gpu=256)
ends = {"cls": tokenizer.bos, "sep": tokenizer.eos}
print(f"{long_test.source}: {len(texts)} to test, word pieces: median {lengths[len(texts) // 2]}, "
      f"longest {lengths[-1]}; {sum(n > 510 for n in lengths) / len(texts):.0%} above 510")

# %%
room = size - 2
cuts = {f"first {room}": room, f"last {room}": 0, "a quarter first, rest last": room // 4}
long_logits = {}
for name, head in cuts.items():
    rows = [truncate(t, size, head=head, **ends) for t in texts]
    long_logits[name] = predict(tuned, rows)
pieces, owners = in_chunks(texts, size, **ends)
chunk_logits = predict(tuned, pieces)
for how in ("mean", "max"):
    long_logits[f"chunks, {how}"] = pool(chunk_logits, owners, len(texts), how)
print(f"{len(pieces)} chunks of at most {size}: {len(pieces) / len(texts):.1f} a text")

# %%
whole = linear if file else best_linear(
    words, long_train.texts[::2], long_train.labels[::2],
    long_train.texts[1::2], long_train.labels[1::2])  # fmt: skip
long_right = {"linear on whole reviews": whole.predict(long_test.texts) == long_test.labels}
for name, found in long_logits.items():
    long_right[name] = (found.argmax(1) == torch.tensor(long_test.labels)).numpy()
long_scores = {name: bootstrap(values) for name, values in long_right.items()}
for name, found in long_scores.items():
    print(f"{name:<28} {found}")
more = long_right["chunks, mean"].astype(int) - long_right["linear on whole reviews"]
print(f"{'chunks, mean, minus linear':<28} {bootstrap(more)}")

# %% [markdown]
# Look at the last line. Does its interval hold zero? Then these reviews do not tell the two apart.
# Does it lie below? Then counting wins: with hundreds of words each, and many whole reviews to
# learn from, it is a strong opponent of a model that was tuned on sentences. Look also at how much
# a short chunk loses, and which chunk loses least.

# %% [markdown]
# ## Saved, reloaded, served
#
# The tuned model is written as a folder of the published form. Our own `load` reads it, and so does
# `pipeline("text-classification")` of transformers, with its own tokenizer and its own BERT: who
# uses the model needs nothing of ours. The logits must be the same.

# %%
from transformers import pipeline

from deepdive.published.classifier import load, save

place = save(tuned, workdir() / "reviews" / "served", like=folder, names=every.names)
again = load(place)
serve = pipeline("text-classification", model=str(place), device="cpu", top_k=None)
asked = list(test.texts[:20])
gaps = [(predict(again, ids["test"][:20]) - logits[:20]).abs().max().item()]
for i, text in enumerate(asked):
    coded = serve.tokenizer(text, truncation=True, max_length=128, return_tensors="pt")
    gaps.append((serve.model(**coded).logits[0] - logits[i]).abs().max().item())
print(f"largest difference of a logit, reloaded and served: {max(gaps):.1e}")
assert max(gaps) < 1e-4

# %%
tries = ("a warm , witty film that never puts a foot wrong .",
         "not the disaster one feared , but not much of a film either .")
for text, found in zip(tries, serve(list(tries)), strict=True):
    print(text, {entry["label"]: round(entry["score"], 3) for entry in found})

# %% [markdown]
# ## A larger model
#
# In the `gpu` profile RoBERTa base (Liu et al. 2019) comes from the hub and is tuned in the same
# way: 12 layers, 768 wide, its words split into tokens of bytes. Elsewhere name a RoBERTa in
# `LARGER` at the top. What does it take? A forward and a backward pass cost about six operations
# for each weight of the layers and each token; the table of tokens is looked up, not multiplied.
# MiniLM's count says how good this rule is.

# %%
from deepdive.models.bert import roberta
from deepdive.training.translation import training_memory


def in_layers(model):
    """The weights that meet every token: all but the tables of the embeddings."""
    every_weight = sum(p.numel() for p in model.parameters())
    return every_weight - sum(p.numel() for p in model.encoder.embeddings.parameters())


sample = next(iter(batches(ids["train"][: sizes[0]], train.labels[: sizes[0]], max_tokens=TOKENS)))
with measure() as one:
    one.count(lambda: loss(tuned, sample).backward())
tuned.zero_grad()
rule = 6 * in_layers(tuned) * sample[1].numel()
print(f"MiniLM, one batch: {one.flops:.2e} operations counted, {rule:.2e} by the rule")
assert 0.8 < one.flops / rule < 1.2

# %%
with torch.device("meta"):  # shapes alone: no memory, no numbers
    larger = Classifier(roberta.roberta(), 768, len(every.names))
passes, texts_read = 3, min(8000, len(train))
read_tokens = passes * sum(map(len, ids["train"][:texts_read]))
plan = CostCard(flops=6 * in_layers(larger) * read_tokens)
memory = training_memory(larger, TOKENS, vocab_size=0)
weights = sum(p.numel() for p in larger.parameters())
print(f"RoBERTa base: {weights / 1e6:.1f} M weights; {passes} times {texts_read:,} sentences: "
      f"{plan.flops:.1e} operations, {plan.implied()['K80'] / 60:.0f} minutes on a K80, "
      f"{memory / 2**30:.1f} GB")
assert abs(weights / 1e6 - 124.6) < 0.2
assert plan.implied()["K80"] < 60 * 60
assert memory < 11 * 2**30

# %%
from pathlib import Path

from deepdive.published.weights import from_hub
from deepdive.tokenizers.published import byte_bpe

wanted = os.environ.get("DEEPDIVE_LARGER", LARGER)
wanted = wanted or pick(ci="", laptop="", gpu="FacebookAI/roberta-base")
if wanted:
    there = Path(wanted) if Path(wanted).is_dir() else from_hub(wanted)
    cut = byte_bpe(there)
    coded = {name: encode(part.texts, cut)
             for name, part in (("train", train), ("valid", valid), ("test", test))}  # fmt: skip
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    larger = begin(there, n_classes=len(every.names)).to(device)
    fine_tune(larger, texts_read, passes, rate=2e-5, ids=coded, pad=cut.pad)
    found = predict(larger, coded["test"], pad=cut.pad).argmax(1)
    print(f"{wanted}: {bootstrap((found == torch.tensor(test.labels)).int().numpy())}")
else:
    print("not run in this profile")

# %% [markdown]
# ## The results, kept, and what they cost

# %%
def entry(values):
    found = bootstrap(values)
    return {"accuracy": round(found.value, 4),
            "accuracy_interval": [round(found.low, 4), round(found.high, 4)]}  # fmt: skip


report = {f"{n}_sentences": {re.sub(r"\W+", "_", name).strip("_"): entry(right[name][n])
                             for name in order} for n in sizes}  # fmt: skip
report["fine_tuned_minus_linear"] = {
    "accuracy": round(difference.value, 4), "p": p,
    "accuracy_interval": [round(difference.low, 4), round(difference.high, 4)]}  # fmt: skip
report["calibration"] = {"error": round(before.error, 4), "temperature": round(degree, 3),
                         "error_with_temperature": round(after.error, 4)}  # fmt: skip
report["long"] = {re.sub(r"\W+", "_", name): entry(v) for name, v in long_right.items()}
report["same_curve"] = {"steps": len(lessons), "largest_gap": gap}

# %%
from deepdive_book.kit.results import results_file, update

total = sum((runs[n][2] for n in sizes), start=CostCard())
total.seconds = sum(runs[n][1].seconds for n in sizes)
data = sorted({every.source.split(" ")[0], long_test.source.split(" ")[0]})
part = {"profile": profile(), "data": data, "cores": os.cpu_count(),
        "seconds": round(total.seconds, 1), "peak_memory_mb": round(total.peak_memory / 2**20),
        "metrics": report}  # fmt: skip
if not file:
    print("written:", update(results_file("03b_reviews"), part, page="03b_reviews")["study"])
total

# %% [markdown]
# ## Summary
#
# On single sentences a fine-tuned encoder needed about a quarter of the training labels of a linear
# model to be as good (about a third, with the 600 validation labels that both used for their
# settings), and whether its lead is real is said by intervals and a paired test, not by two
# numbers. On whole reviews, where words are many, the linear model that was trained on whole
# reviews was ahead (by 0.062, interval 0.018 to 0.107), and costs almost nothing. How sure a model
# is has to be measured, and one temperature halved the error here.
#
# ## Further reading
#
# - Pang and Lee (2005), *Seeing Stars: Exploiting Class Relationships for Sentiment Categorization
#   with Respect to Rating Scales*: where the sentences come from.
# - Pang and Lee (2004), *A Sentimental Education: Sentiment Analysis Using Subjectivity
#   Summarization Based on Minimum Cuts*: the whole reviews, and their folds.
# - Wang et al. (2020), *MiniLM: Deep Self-Attention Distillation for Task-Agnostic Compression of
#   Pre-Trained Transformers*: the model.
# - Sun et al. (2019), *How to Fine-Tune BERT for Text Classification?*: section 5.3.1, long texts.
# - Guo et al. (2017), *On Calibration of Modern Neural Networks*: section 4.2, the temperature;
#   the error in bins is of Naeini et al. (2015), *Obtaining Well Calibrated Probabilities Using
#   Bayesian Binning*.
# - Efron and Tibshirani (1993), *An Introduction to the Bootstrap*: section 13.3, the intervals.
# - McNemar (1947), *Note on the Sampling Error of the Difference Between Correlated Proportions or
#   Percentages*; Dietterich (1998), *Approximate Statistical Tests for Comparing Supervised
#   Classification Learning Algorithms*: section 3.1, the same test between classifiers.
#
# <!--
# System: cs_bert_sentiment
# Parent: bert_finetune
# What differs:
# - four ways with the same labels: words (TF-IDF), features, fine-tuning, from scratch
#   (`deepdive_book.tasks.classification`), with intervals and a paired test
#   (`deepdive.evaluate`)
# - long documents by truncation or pooled chunks (`deepdive_book.tasks.long_texts`)
# - served by transformers (`deepdive.published.classifier`)
# Source: Kamath, Graham and Emara 2022, section 3.6.
# Book: 3.6
# -->

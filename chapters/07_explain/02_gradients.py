# %% [markdown] tags=["slide"]
# # Gradient attribution: saliency, SmoothGrad, integrated gradients
#
# A small model reads the review *critics do not find the script dull, i find the music cold* and
# says: negative, with great certainty. Its gradient tells how much this answer would change if a
# word changed a little. It tells: little, whichever word you take. How can a model be so sure when
# none of its words seems to matter?
#
# <small>Prerequisites: [derivatives](../00_start/02_maths.ipynb),
# [the chapter's opening](00_opening.ipynb) · 18 min · runs on a laptop; the trainings of three
# seeds are kept beside the page · book 7.3.1.1</small>

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

# %% A model, its rows, its answer tags=["fold"]
import torch

from deepdive.core.hooks import record, replace
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words

POINT = "encoder.embeddings.embedded"  # behind it a word is a row of numbers
toy = review_words()
words, tokens = SENTENCE.split(), toy.tokens(SENTENCE)


def rows_of(model, tokens):
    """The rows (S, d) of the tokens (1, S)."""
    with torch.no_grad(), record(model, POINT) as seen:
        model(tokens)
    return next(iter(seen.values()))[0][0]


def answer(model, tokens, label, copies=1):
    """A run of the model on copies of a text: the score of a class less that of the other."""

    def run():
        logits = model(tokens.expand(copies, -1))
        return (logits[:, label] - logits[:, 1 - label])[:, None]  # (copies, 1)

    return run


# %% Four baselines tags=["fold"]
from deepdive_book.data.labeled_cause_reviews import generated_verdicts


def baselines(model, tokenizer, tokens, mean_row):
    """Rows (S, d) of four texts that say nothing; [CLS] and [SEP] stay in each."""
    found = {}
    for name in ("[MASK]", "zeros", "[PAD]", "mean"):
        empty = tokens.clone()
        if name.startswith("["):
            empty[:, 1:-1] = tokenizer.vocab.index(name)
        rows = rows_of(model, empty)
        if name in ("zeros", "mean"):
            rows[1:-1] = 0 if name == "zeros" else mean_row
        found[name] = rows
    return found


others = [toy.tokens(text) for text in generated_verdicts(100, seed=5).texts]
mean_row = torch.cat([rows_of(toy.model, each)[1:-1] for each in others]).mean(0)
starts = baselines(toy.model, toy.tokenizer, tokens, mean_row)


# %% The answer and its slope along the way tags=["fold"]
def along(model, tokens, label, start, fractions):
    """At these fractions (K,) of the way from `start` to the text: the answer (K,), and what each
    word adds to its slope (K, S): gradient times the way that its row has to go."""
    way = rows_of(model, tokens) - start
    rows = (start + fractions[:, None, None] * way).requires_grad_()
    with replace(model, POINT, rows):
        found = answer(model, tokens, label, len(fractions))()[:, 0]
    slope = torch.autograd.grad(found.sum(), rows)[0]
    return found.detach(), (slope * way).sum(-1)


# %% Walk it tags=["slide", "fold"]
from deepdive_book.ch07.figures.integrated_gradients_path import Way, integrated_gradients_path

PLACES, FINE = 40, 16  # places that are shown; steps between two of them


def walked(name, start):
    found, slopes = along(toy.model, tokens, 0, start, torch.linspace(0, 1, PLACES + 1))
    middle = (torch.arange(PLACES * FINE) + 0.5) / (PLACES * FINE)
    fine = torch.cat([along(toy.model, tokens, 0, start, a)[1] for a in middle.split(160)])
    areas = fine.unflatten(0, (PLACES, FINE)).mean(1).cumsum(0) / PLACES
    sums = torch.cat([torch.zeros(1, areas.shape[1]), areas])
    return Way(name, found, slopes[:, 1:-1], sums[:, 1:-1])


NAMES = {"[MASK]": "[MASK] for each word", "zeros": "zeros for each word",
         "[PAD]": "[PAD] for each word", "mean": "the mean of other words"}  # fmt: skip
ways = {name: walked(NAMES[name], start) for name, start in starts.items()}
integrated_gradients_path(words, list(ways.values()))

# %% [markdown]
# *Generated text. The way leads from a baseline, a text that says nothing, straight to our text.
# Green: the model's answer there, above zero for negative. Below it: its slope, the gradients of
# all words together; the filled area is what they have added up to so far. Blue words speak for
# negative, orange words against it. Move the point, and choose another baseline.*
#
# 1. The point stands at the text. Which words have a color in the row "gradients here"? Where on
#    the way do they take it on?
# 2. What does the answer do from place 30 on?
# 3. Choose "zeros for each word". What do *cold* and *dull* say now? What is the model's answer at
#    the beginning of this way?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. Hardly any. The colors come in the middle of the way, around place 23, where the model makes
#    up its mind: first *i* and *cold*.
# 2. It hardly moves, and even falls a little. More of the same text makes the model no surer. So
#    gradients there are small, and some have the other sign.
# 3. *cold* counts −1.49: against negative. *dull* counts −1.99. A text of zeros is no text that
#    says nothing: the model gives it −2.71, and is sure that it is positive.
#
# </details>
#
# The gradient answers another question than ours. It tells what a *small change of this text*
# would do. Where a model is sure, that is little: it is **saturated**, as a full cup takes no more
# tea. We want to know what the words have *done*. So let the text grow from one that says nothing,
# and add up the gradients on the way. That is **integrated gradients**.

# %% [markdown] tags=["slide"]
# ## By hand: a full cup
#
# A cup holds 4. Somebody pours 6 of tea and 2 of milk, and the rest runs over: what is in the cup
# is $f = \min(\text{tea} + \text{milk},\ 4)$. How much of it is thanks to the tea?
#
# One drop more of either changes nothing: both gradients are 0. Now pour both together, so that at
# every moment there has been three times as much tea as milk. At half of the way 3 of tea and 1 of
# milk are poured, and the cup is full.
#
# | part of the way | 0 to ½ | ½ to 1 | mean |
# |---|---|---|---|
# | gradient of the tea | 1 | 0 | ½ |
# | gradient of the milk | 1 | 0 | ½ |
#
# Each gets its mean gradient times what was poured of it: tea $½ · 6 = 3$, milk $½ · 2 = 1$.
# Together $4$, which is what came into the cup: the shares are **complete**.
#
# Begin instead with the milk already in the cup. Now only tea flows, and the cup is full after a
# third of it: tea gets $⅓ · 6 = 2$, milk nothing. With the tea there first, both get nothing. Each
# answer is right, for its own question: *compared with what?*

# %% The cup as a network tags=["fold"]
from torch import nn

from deepdive.core.hooks import HookPoint
from deepdive.explain.gradients import gradient_sum, gradient_x_input, integrated_gradients


class Cup(nn.Module):
    """min(tea + milk, 4), as a network of one ReLU writes it."""

    def __init__(self):
        super().__init__()
        self.rows = HookPoint()

    def forward(self, x):
        return 4 - torch.relu(4 - self.rows(x).sum((1, 2)))


# %% The same from the library tags=["nbval-check-output", "fold"]
cup, poured = Cup(), torch.tensor([[[6.0], [2.0]]])
pour = cup, "rows", lambda: cup(poured)
print("gradient", *gradient_sum(*pour)[0].int().tolist())
print("gradient x input", *gradient_x_input(*pour)[0].int().tolist())
for already in ([0.0, 0.0], [0.0, 2.0], [6.0, 0.0]):
    share, gap = integrated_gradients(*pour, torch.tensor(already)[:, None], steps=600)
    tea, milk = share[0].round().int().tolist()
    print(
        f"in the cup before: tea {already[0]:.0f}, milk {already[1]:.0f}. Shares: {tea} and {milk}"
    )
    assert gap.abs() < 1e-2

# %% [markdown]
# ## Four methods
#
# $x_s$ is the row (embedding vector) of word $s$ and $b$ the baseline. The answer $f$ is the score
# of the class less that of the other, *before* the softmax: it is not the softmax that makes the
# gradient small.
#
# - **Gradient**: the length of $\partial f / \partial x_s$. How steep is the answer in the steepest
#   direction of this vector? It has no sign.
# - **Gradient × input**: $x_s \cdot \partial f / \partial x_s$. What a row of zeros in its place
#   would cost, if the model were linear.
# - **SmoothGrad**: the gradient's mean over 32 copies of the text with noise on all rows (its
#   deviation is 15% of their range).
# - **Integrated gradients**: $(x_s - b_s) \cdot$ the mean of $\partial f / \partial x_s$ along the
#   way from $b$ to $x$, in steps. The shares must add up to $f(x) - f(b)$. If a gap stays however
#   many steps you take, look for an attention mask that differs between the two ends.

# %% Integrated gradients, and the library's tags=["nbval-check-output"]
middle = (torch.arange(64) + 0.5) / 64  # the middles of 64 equal steps
slopes = along(toy.model, tokens, 0, starts["[MASK]"], middle)[1]
mine = slopes.mean(0)
run = answer(toy.model, tokens, 0, copies=64)  # 64 copies: all steps at once
share, gap = integrated_gradients(toy.model, POINT, run, starts["[MASK]"], steps=64)
assert torch.allclose(mine, share[0], atol=1e-4)
assert abs(gap) < 1e-3
ends = along(toy.model, tokens, 0, starts["[MASK]"], torch.tensor([0.0, 1.0]))[0]
print(f"{share.sum():.2f} shared out, of {ends[1] - ends[0]:.2f}")

# %% What each method says of the sentence tags=["slide", "fold"]
from deepdive.explain.gradients import gradient_norm, smoothgrad
from deepdive_book.kit.attribution_text import colored
from deepdive_book.kit.tables import table

STEPS = 64


def explained(model, tokenizer, tokens, label, mean_row, seed=0):
    """Of each word, without [CLS] and [SEP], what each method says."""
    one, many = (answer(model, tokens, label, copies) for copies in (1, 32))
    noise = torch.Generator().manual_seed(seed)
    found = {
        "by lot": torch.rand(tokens.shape, generator=noise),
        "gradient": gradient_norm(model, POINT, one),
        "gradient × input": gradient_x_input(model, POINT, one),
        "SmoothGrad": smoothgrad(model, POINT, many, generator=noise),
    }
    run = answer(model, tokens, label, STEPS)
    for name, start in baselines(model, tokenizer, tokens, mean_row).items():
        found[f"IG, {name}"] = integrated_gradients(model, POINT, run, start, STEPS)[0]
    return {name: values[0, 1:-1].detach() for name, values in found.items()}


shown = explained(toy.model, toy.tokenizer, tokens, 0, mean_row)
colored(words, {name: values for name, values in shown.items() if name != "by lot"})

# %% [markdown]
# *Each row has its own scale: its strongest word has the full colour. IG: integrated gradients,
# with their baseline.*
#
# The rule that made this review says: *cold* decides, because the writer, *i*, says it. In numbers:

# %% The sizes tags=["fold"]
sizes = {
    "gradient × input": shown["gradient × input"].tolist(),
    **{f"IG, {name}": shown[f"IG, {name}"].tolist() for name in starts},
}
chosen = [words.index(word) for word in ("critics", "dull", "i", "cold")]
table([[name, *(f"{row[k]:.2f}" for k in chosen), f"{sum(row):.2f}"]
       for name, row in sizes.items()],
      ["method", *(words[k] for k in chosen), "all words"],
      caption=f"shares in the answer, {answer(toy.model, tokens, 0)().item():.2f}; "
      f"the model gives negative {toy.model(tokens).softmax(-1)[0, 0]:.1%}")  # fmt: skip

# %% [markdown]
# Gradient × input finds almost nothing to share out. Integrated gradients share out the whole
# change of the answer since the baseline. In this review even [MASK] puts *i* before *cold*.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "At a saturated text gradients are small, but they still have an order. Rank the words of new "
    "generated reviews by the length of the gradient. A random word is a deciding one in about one "
    "review of seven. In how many does the first word of this ranking decide?",
    ["also in about one of seven", "in about every second", "in nine of ten and more"],
    answer=1,
    explain="Small gradients are not without news: their order tells more than a random one. But "
    "the longest gradient stands at a wrong word about as often as at a right one.",
    key="07_explain/gradient-order",
)

# %% [markdown] tags=["answer"]
# ## Answer: open after you predict
#
# In generated reviews we know which words decide: the adjective that the writer uses, and the *not*
# before it. Does a method put one of them first, by value, or by size alone, without the sign?


# %% Judge the methods on many texts tags=["fold"]
from deepdive.evaluate.similarity import spearman
from deepdive_book.kit.profile import pick, profile


def lost(model, tokenizer, tokens, label):
    """The answer, and by how much it falls when each word alone becomes [MASK], (S - 2,)."""
    one = torch.eye(tokens.shape[1])[1:-1].bool()
    gone = torch.where(one, tokenizer.vocab.index("[MASK]"), tokens)
    with torch.no_grad():
        logits = model(torch.cat([tokens, gone]))
    margin = logits[:, label] - logits[:, 1 - label]
    return margin[0], margin[0] - margin[1:]


# %% The measures of each text tags=["fold"]
def judged(model, tokenizer, texts, deciding=None):
    """Method -> measure -> a number for each text."""
    ids = [torch.tensor([[tokenizer.bos, *tokenizer.encode(text), tokenizer.eos]])
           for text in texts]  # fmt: skip
    mean_row = torch.cat([rows_of(model, each)[1:-1] for each in ids]).mean(0)
    found = {}
    for k, each in enumerate(ids):
        label = int(model(each).argmax())
        whole, fall = lost(model, tokenizer, each, label)
        for name, row in explained(model, tokenizer, each, label, mean_row, seed=k).items():
            got = found.setdefault(name, {by: [] for by in ("value", "size", "falls", "shared")})
            got["falls"].append(spearman(row.abs(), fall.abs()))
            got["shared"].append(float(row.sum() / whole))
            if deciding is not None:
                got["value"].append(float(int(row.argmax()) in deciding[k]))
                got["size"].append(float(int(row.abs().argmax()) in deciding[k]))
    return found


# %% One model, many reviews tags=["surprise", "fold"]
from deepdive.evaluate import bootstrap

new = generated_verdicts(pick(ci=6, laptop=300, gpu=300), seed=77)  # none that it learned from
told = judged(toy.model, toy.tokenizer, new.texts, new.deciding)


def percent(values):
    return bootstrap([100 * v for v in values])


table([[name, percent(got["value"]), percent(got["size"])] for name, got in told.items()],
      ["method", "by value", "by size"], formats={"by value": ".0f", "by size": ".0f"},
      caption=f"a deciding word is first, in % of {len(new)} generated reviews; 95 % intervals, "
      f"one model")  # fmt: skip

# %% [markdown]
# This is the first of the three networks of [the page before](01_methods.ipynb), on which the
# gradient is at its best: on the other two it finds a deciding word in fewer than one text of five.
#
# - **Gradient and SmoothGrad** put a deciding word first in about half of the reviews. That is more
#   than by lot (at random), and averaging over noise adds nothing that these reviews could show.
# - **Gradient × input** does better by size than by value. At a saturated text a sign may be that
#   of a curve behind its top, and so the wrong one.
# - **Integrated gradients** find one more often than any single gradient, if the baseline is
#   [MASK], [PAD] or the mean. Zeros, the usual choice in programs, are not shown to beat
#   gradient × input by size.
#
# So **integrated gradients are as good as their baseline.** Two things speak for [MASK]: this model
# has met it in training, and with all of our review's words hidden it is undecided, 0.04.


# %% Differences, on the same reviews tags=["fold"]
def ahead(first, second, by="size"):
    """In % of reviews, with a paired interval: by how much the first is right more often."""
    pairs = zip(told[first][by], told[second][by], strict=True)
    return [f"{first} − {second}", percent([a - b for a, b in pairs])]


pairs = [("IG, [MASK]", "gradient × input"), ("IG, [MASK]", "IG, zeros"),
         ("IG, [MASK]", "IG, mean"), ("IG, [MASK]", "IG, [PAD]"), ("IG, zeros", "gradient × input"),
         ("SmoothGrad", "gradient")]  # fmt: skip
table([ahead(*pair) for pair in pairs], ["difference, by size", "% of reviews"],
      formats={"% of reviews": ".0f"}, caption="paired 95 % intervals, one model")  # fmt: skip

# %% [markdown]
# ## Real sentences, and three seeds
#
# Sentences from film reviews (rt_polarity) have no list of deciding words. What can be known is by
# how much the *model's* answer changes when one word alone becomes [MASK] (occlusion). We compare
# the order of the words, by size. This favors the baseline [MASK]. Three models have learned from
# rt_polarity, three from generated reviews, all from texts with some words hidden.


# %% Train a model of reviews tags=["fold"]
from functools import cache

from deepdive.data.reviews import rt_polarity
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.tokenizers import WordTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch07.toys.review_words import SPECIALS
from deepdive_book.tasks.classification import batches, encode, loss
from deepdive_book.tasks.classification import predict as said


# %% What to learn from, what to ask about tags=["fold"]
@cache
def texts_of(data):
    """What to learn from and what to ask about, and a tokenizer of words."""
    if data == "generated":
        asked = generated_verdicts(300 if profile() != "ci" else 30, seed=78)
        made = generated_verdicts(12_000 if profile() != "ci" else 300, seed=4)
        known = {*asked.texts}
        parts = made.take(k for k, text in enumerate(made.texts) if text not in known), asked
    else:
        kept_out = rt_polarity().held_out(test=1000, valid=600)
        parts = kept_out[0], kept_out[2]
    return parts, WordTokenizer.train(parts[0].texts, 4000, specials=SPECIALS)


# %% Learn it tags=["fold"]
@cache
def learned(data, steps, seed):
    """A BERT of two layers that learned from texts of which a share of the words was [MASK]."""
    torch.manual_seed(seed)
    (train, _), tokenizer = texts_of(data)
    wide = 32 if data == "generated" else 64
    encoder = bert(vocab_size=len(tokenizer), d_model=wide, n_heads=2, n_layers=2, d_ff=2 * wide,
                   max_length=64, n_segments=0, dropout=0.1 if wide == 64 else 0.0)  # fmt: skip
    model, draw = Classifier(encoder, wide, 2, dropout=0.0), torch.Generator().manual_seed(seed)
    hidden = tokenizer.vocab.index("[MASK]")

    def with_blanks(model, batch):
        labels, ids = batch
        gone = torch.rand(ids.shape, generator=draw) < 0.6 * torch.rand(len(ids), 1, generator=draw)
        return loss(model, (labels, ids.masked_fill(gone & (ids >= len(SPECIALS)), hidden)))

    ids = encode(train.texts, tokenizer, 64)
    fit(model, batches(ids, train.labels, seed=seed), with_blanks, steps=steps, seed=seed,
        optimizer=adam(model), schedule=cosine(3e-3 if wide == 32 else 1e-3, steps // 12, steps),
        progress=False)  # fmt: skip
    return model.eval()


# %% Measure tags=["fold"]
import json
from statistics import mean, median

from deepdive_book.kit.experiments import results_path, share, sweep

ASKED = pick(ci=2, laptop=20, gpu=150, experiment=150)  # texts that are explained


def measure(data, steps, seed):
    """How many are right, and for each method the mean of what it was judged by."""
    (_, asked), tokenizer = texts_of(data)
    model = learned(data, steps, seed)
    right = said(model, encode(asked.texts, tokenizer, 64)).argmax(1) == torch.tensor(asked.labels)
    some = [k for k, text in enumerate(asked.texts) if 5 <= len(text.split()) <= 40][:ASKED]
    deciding = [asked.deciding[k] for k in some] if data == "generated" else None
    got = judged(model, tokenizer, [asked.texts[k] for k in some], deciding)
    means = {name: {by: round((median if by == "shared" else mean)(values), 3)
                    for by, values in each.items() if values}
             for name, each in got.items()}  # fmt: skip
    return {"right": round(float(right.float().mean()), 3), "texts": len(some), "methods": means}


# %% The measurements tags=["fold"]
steps = pick(ci=5, laptop=400, gpu=1200, experiment=round(1200 * share()))
real = [] if profile() == "ci" else ["rt_polarity"]
file, ran = results_path("07_explain", "gradients"), profile() == "experiment"
points = [{"data": data, "steps": steps, "seed": 1} for data in real or ["generated"]]
if ran:
    points = [{"data": data, "steps": steps, "seed": seed}
              for seed in (1, 2, 3) for data in ("generated", *real)]  # fmt: skip
rows = sweep(measure, points, file if ran else None, data="rt_polarity", minutes=40)
print(f"trained here: {rows[0]['data']}, {rows[0]['right']:.0%} right")
if profile() != "ci" and file is not None and file.is_file():
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    print("below: three kept trainings of each")


def of(data, method, by):
    """A number for each seed."""
    return [row["methods"][method][by] for row in rows if row["data"] == data]


# %% One sentence, by the model that was trained here tags=["fold"]
(_, asked), tokenizer = texts_of(points[0]["data"])
model = learned(**points[0])
for k, text in enumerate(asked.texts):
    one = torch.tensor(encode([text], tokenizer, 64))
    if 8 <= len(text.split()) <= 12 and model(one)[0].argmax() == asked.labels[k]:
        break  # the first short one that it gets right
others = torch.cat([rows_of(model, torch.tensor([ids]))[1:-1]
                    for ids in encode(asked.texts[:50], tokenizer, 64)]).mean(0)  # fmt: skip
label = int(model(one).argmax())
shown = explained(model, tokenizer, one, label, others)
print(f"{asked.source}: {asked.names[label]}, {model(one).softmax(-1).max():.0%}")
colored(asked.texts[k].split(), {
    "each word hidden": lost(model, tokenizer, one, label)[1],
    **{name: shown[name] for name in ("gradient × input", "IG, [MASK]", "IG, zeros")},
})  # fmt: skip


# %% Three trainings tags=["slide", "fold"]
def seeds(data, method, by, times=1, digits=2):
    """The mean of the seeds, and in brackets the lowest and the highest."""
    one = [times * value for value in of(data, method, by)]
    shown = [f"{value:.{digits}f}" for value in (mean(one), min(one), max(one))] if one else []
    return f"{shown[0]} ({shown[1]} to {shown[2]})" if shown else None


right = {data: [row["right"] for row in rows if row["data"] == data] for data in
         ("generated", "rt_polarity")}  # fmt: skip
for data, shares in right.items():
    print(data, *(f"{share:.0%}" for share in shares), "right" if shares else "not asked here")
table([[name, seeds("generated", name, "size", 100, 0), seeds("generated", name, "falls"),
        seeds("rt_polarity", name, "falls")] for name in told],
      ["method", "decides, generated", "like occlusion, generated", "like occlusion, real"],
      caption="three further networks of each kind; decides: a deciding word first by size, in %; "
      "like occlusion: rank correlation with what hiding each word does: mean of the seeds (lowest "
      "to highest)")  # fmt: skip

# %% [markdown]
# **What agrees.** From [MASK], integrated gradients lead twice, in every seed: they put a deciding
# word of generated reviews first most often (in two seeds by a margin over the mean row that 150
# reviews cannot show), and they come nearest to the order of occlusion in real sentences.
#
# **What does not.** On the chapter's model [PAD] was as good as [MASK]; on three other trainings it
# has 47 to 71%. The interval there spoke of other reviews, not of other trainings. From zeros it
# is 61 to 71%, more than gradient × input has by size in each of the three. And the plain gradient
# is about as near to occlusion as integrated gradients from [MASK] in generated reviews, and as
# those from zeros in real sentences.

# %% How much there is to share out tags=["fold"]
some = "gradient × input", "IG, [MASK]", "IG, zeros"
table([[name, *(seeds(data, name, "shared", 100, 0) for data in right)] for name in some],
      ["all shares", "generated", "real"],
      caption="in % of the answer: median of the texts, mean of the seeds (lowest to "
      "highest)")  # fmt: skip


# %% How sure, and how much to share out tags=["fold"]
def shared_out(text, share, draw):
    """The chapter's answer to a review with hidden words; the part that gradient x input shares."""
    each = toy.tokens(text)
    hide = torch.rand(each.shape, generator=draw) < share
    hide[:, [0, -1]] = False
    each = each.masked_fill(hide, toy.mask)
    run = answer(toy.model, each, int(toy.model(each).argmax()))
    whole = float(run().detach())
    return whole, float(gradient_x_input(toy.model, POINT, run)[0, 1:-1].sum()) / whole


draw = torch.Generator().manual_seed(0)
pairs = [shared_out(text, share, draw) for text in new.texts[: pick(ci=4, laptop=150, gpu=150)]
         for share in (0, 0.3, 0.6)]  # fmt: skip
lines = []
for low, high in ((1, 2), (2, 2.8), (2.8, 4)):
    some = [part for whole, part in pairs if low <= whole < high]
    if len(some) > 1:
        lines.append([f"{low} to {high}", len(some), percent(some)])
table(lines, ["answer", "reviews", "shared out, %"], formats={"shared out, %": ".0f"},
      caption="gradient × input, the chapter's model; reviews of which none, some 3 or some 6 of "
      "10 words are [MASK]; means with 95 % intervals")  # fmt: skip

# %% What the seeds carry tags=["fold"]
if len(rows) == 6:
    for data, by in (("generated", "size"), ("rt_polarity", "falls")):
        for name in (name for name in told if name != "IG, [MASK]"):
            pairs = zip(of(data, "IG, [MASK]", by), of(data, name, by), strict=True)
            assert all(first > other for first, other in pairs), (data, name)
    pairs = zip(*(of("generated", name, "size") for name in ("IG, zeros", "gradient × input")),
                strict=True)  # fmt: skip
    assert all(zeros > single for zeros, single in pairs)
    assert max(map(abs, of("generated", "gradient × input", "shared"))) < 0.06
    assert min(of("rt_polarity", "gradient × input", "shared")) > 0.5
    firsts = (of("generated", f"IG, {name}", "size") for name in ("[MASK]", "mean"))
    print("a deciding word first, by seed: " + "; ".join(
        f"{100 * a:.1f} % from [MASK], {100 * b:.1f} % from the mean"
        for a, b in zip(*firsts, strict=True)))  # fmt: skip

# %% [markdown]
# How much gradient × input can share out goes with how sure a model is. In the networks of real
# sentences it is half of the answer. In the chapter's own network it is nothing where the answer is
# above 2.8, and a part of the less sure answers, which it gives when words are hidden (how large a
# part, these few reviews do not tell). Layer norms keep such sums small as well
# ([7.3](03_relevance.ipynb)).

# %% [markdown] tags=["aside"]
# ## A sum that does not add up
#
# Users of captum report that the gap $f(x) - f(b) -$ the sum of the shares does not become small
# with more steps (its issues 1334 and 1413). Five gaps of our own show what that may be.

# %% Gaps against steps tags=["fold"]
import copy

import numpy as np

exact = copy.deepcopy(toy.model).double()  # so that rounding is not what we see
STEPPED = [4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]


def gaps(slope, change, rule="midpoint"):
    """|change - the sum of all shares|, for each number of steps."""
    found = []
    for n in STEPPED:
        at, weight = (np.arange(n) + 0.5) / n, np.full(n, 1 / n)
        if rule == "Gauss":
            at, weight = (x / 2 for x in np.polynomial.legendre.leggauss(n))
            at = at + 0.5
        parts = torch.cat([slope(a) for a in torch.tensor(at).split(128)])
        found.append(abs(float(change - (parts * torch.tensor(weight)).sum())))
    return found


# %% Four ways, and a baseline with a mask of its own tags=["fold"]
def on_the_way(start):
    """The slope of the answer at fractions of the way, and its change from end to end."""
    slope = lambda a: along(exact, tokens, 0, start, a)[1].sum(-1)  # noqa: E731
    ends = along(exact, tokens, 0, start, torch.tensor([0.0, 1.0]).double())[0]
    return slope, ends[1] - ends[0]


inside = baselines(exact, toy.tokenizer, tokens, mean_row.double())
masked, nothing = on_the_way(inside["[MASK]"]), on_the_way(torch.zeros_like(inside["[MASK]"]))
full = lambda a: 9.0 * (a < 4 / 9)  # noqa: E731, the cup that gets 6 of tea and 3 of milk
lines = {
    "[MASK] for each word": gaps(*masked), "zeros, [CLS] and [SEP] too": gaps(*nothing),
    "the same, Gauss's rule": gaps(*nothing, "Gauss"), "a kink: the cup": gaps(full, 4.0),
}  # fmt: skip
pads = tokens.clone()
pads[:, 1:-1] = 0
with torch.no_grad():
    apart = [float(logits[0, 0] - logits[0, 1]) for logits in (exact(pads), exact(pads, pads != 0))]
slope, change = on_the_way(inside["[PAD]"])
lines["[PAD], read under a mask"] = gaps(slope, change + apart[0] - apart[1])

# %% Draw the gaps tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.8, 4.6), layout="constrained")
axes = figure.subplots()
for (name, found), mark in zip(lines.items(), "osD^x", strict=True):
    axes.loglog(STEPPED, np.maximum(found, 1e-9), marker=mark, markersize=4, label=name)
axes.set(xlabel="steps", ylabel="gap", ylim=(5e-10, 2e1))
figure.legend(loc="outside lower center", frameon=False)
with_alt(figure, "Gaps against the number of steps, both on logarithmic axes: two lines fall like "
         "the square of the steps, one of them late; Gauss's rule falls steeply; the kink goes up "
         "and down; one line stays where it is.")  # fmt: skip

# %% The same in numbers tags=["fold"]
few = [STEPPED.index(n) for n in (16, 32, 1024)]
table([[name, *(f"{found[k]:.0e}" for k in few)] for name, found in lines.items()],
      ["gap", *(str(STEPPED[k]) for k in few)], caption="by number of steps")  # fmt: skip

# %% How many steps for 5 % of the change? tags=["fold"]
total = dict.fromkeys(lines, float(nothing[1])) | {"[MASK] for each word": float(masked[1])}
for name in list(lines)[:3]:
    late = [n for n, gap in zip(STEPPED, lines[name], strict=True) if gap > 0.05 * total[name]]
    print(
        f"{name}: a change of {total[name]:.2f}, and above {max(late)} steps a gap below 5 % of it"
    )

# %% What the lines carry tags=["fold", "nbval-check-output"]
at = {n: STEPPED.index(n) for n in (64, 256, 512, 1024)}
for name in ("[MASK] for each word", "zeros, [CLS] and [SEP] too"):
    assert 3.5 < lines[name][at[256]] / lines[name][at[512]] < 4.5  # twice the steps: a quarter
assert all(gap <= 4.5 / n for gap, n in zip(lines["a kink: the cup"], STEPPED, strict=True))
assert lines["the same, Gauss's rule"][at[256]] < 1e-9
last = lines["[PAD], read under a mask"]
assert last[at[1024]] > 0.9 * last[at[64]] > 0.1
from_256 = lines["[MASK] for each word"][at[256]] / lines["[MASK] for each word"][at[512]]
print(f"256 to 512 steps from [MASK]: the gap falls to 1 / {from_256:.0f}")

# %% [markdown]
# *In the plot, gaps below 1e-9 are drawn at 1e-9.*
#
# - **A smooth way** (from [MASK]): 32 steps are plenty; later, twice the steps leave a quarter
#   of the gap.
# - **A steep place** (from zeros everywhere): a norm divides by the deviation of a row, and near a
#   row of zeros that goes fast. Up to 32 steps the gap stays about as large as the answer, and more
#   steps may even make it larger. Then it falls at the same rate. Gauss's rule, captum's default,
#   gets there with fewer.
# - **A kink** (a ReLU, here the cup): the gap falls like one over the steps, up and down.
#
# Sundararajan, Taly and Yan (2017, section 5) name 20 to 300 steps for a gap below 5% of the
# change. Ours from [MASK] needs fewer, and ours from zeros lies within that.
#
# ### Common mistake: a baseline with a mask of its own
#
# The last line does not fall at all. Its baseline is [PAD] for each word, and $f(b)$ was read under
# the mask of that baseline, which hides the words' places. No point of the way has this mask, so
# the way leads to another $f(b)$, 0.9 away. **Symptom:** the gap stays, whatever the steps.
# captum's layer form does the same where each of the two inputs brings an attention mask, as in its
# issue 1413; a test of the library holds both. **Fix:** read both ends under the text's mask, as
# the library does.

# %% [markdown] tags=["aside"]
# ## Where does the way begin: before the norm or behind it?
#
# captum has integrated gradients of an *input* and of a *layer*, and users find that the two differ
# (its issue 1132). They do wherever the two points differ. BERT adds the vectors of word and place
# and then normalizes the sum. A straight way in front of the norm is a bent way behind it.

# %% One baseline, two ways tags=["fold", "aside"]
embeddings = exact.encoder.embeddings
embeddings.norm.before = HookPoint()  # one more place to look at: in front of the norm
handle = embeddings.norm.register_forward_pre_hook(lambda norm, given: norm.before(given[0]))
empty = tokens.clone()
empty[:, 1:-1] = toy.mask
both, front = [], "encoder.embeddings.norm.before"
for point in (front, POINT):
    with torch.no_grad(), record(exact, point) as seen:
        exact(empty)
    begin = next(iter(seen.values()))[0][0]
    both.append(integrated_gradients(exact, point, answer(exact, tokens, 0, 64), begin, 256))
handle.remove()
found = dict(zip(("before", "behind"), both, strict=True))
table([[name, *(f"{shares[0, 1:-1][k]:.2f}" for k in chosen), f"{shares.sum():.2f}",
        f"{gap.item():.0e}"] for name, (shares, gap) in found.items()],
      ["norm", *(words[k] for k in chosen), "all", "gap"],
      caption="integrated gradients from [MASK], 256 steps")  # fmt: skip

# %% [markdown] tags=["aside"]
# Both are complete, and they are not the same shares. At one point, our form and both of captum's
# give the same numbers; a test of the library holds them to that.

# %% [markdown] tags=["aside"]
# ## What it costs
#
# A gradient takes one forward and one backward pass. A method of $n$ steps takes $n$ of both, here
# eight at once; the two ends of the way are read besides.

# %% Measured in one run tags=["fold"]
bench = file.parents[3] / "benchmarks" / "results" / "explain.json" if file else None
costs = json.loads(bench.read_text())["rows"] if bench is not None and bench.is_file() else {}
COSTS = {"gradient": "gradient_norm, forward and backward",
         "gradient × input": "gradient_x_input, forward and backward",
         "LRP (page 7.3)": "lrp, forward and backward",
         "SmoothGrad, 32 samples": "smoothgrad, 8 at once",
         "IG, 32 steps": "integrated_gradients, 8 at once"}  # fmt: skip
found = {name: costs.get(f"256 wide, {key}", {}).get("ratio") for name, key in COSTS.items()}
table([[name, 32 if "32" in name else 1, found[name]] for name in COSTS],
      ["method", "gradients", "times as long"], formats={"times as long": ".2f"},
      caption="200 tokens, six layers, 256 wide, one thread: processor time over that of as many "
      "forward and backward passes")  # fmt: skip

# %% [markdown]
# ## In practice
#
# | you ask | take | and know |
# |---|---|---|
# | what would a small change do? | the gradient | it is silent on what the words have done |
# | what made this answer? | integrated gradients, from [MASK] | another baseline, other shares |
# | which words, in one pass? | gradient × input, by size | signs may be wrong, no sum |
# | a calmer picture? | SmoothGrad | here it found no more than the gradient |
#
# - Never call a word unimportant because its gradient is small: look how sure the model is first.
# - Give the baseline with every picture of integrated gradients, and what the model says of it.
#   Take one that the model has seen in training and on which it is undecided. Look at a second.
# - Print the gap with every sum. Above a hundredth of the change, take more steps.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why are the gradients small at a text of which the model is sure?
#
#    <details><summary>Answer</summary>
#
#    It is saturated: a little more or less of any word hardly changes the answer, though taking the
#    word away would.
#
#    </details>
# 2. What do the shares of integrated gradients add up to?
#
#    <details><summary>Answer</summary>
#
#    To $f(x) - f(b)$, the change of the answer from the baseline to the text.
#
#    </details>
# 3. Two baselines give *cold* shares of opposite sign. Which one is wrong?
#
#    <details><summary>Answer</summary>
#
#    Neither as a sum. They compare with different texts; a baseline that the model takes for a
#    strong opinion compares with that opinion.
#
#    </details>
# 4. Twice the steps, and the gap is as large as before. What do you look at?
#
#    <details><summary>Answer</summary>
#
#    At what differs between the ends and is not on the way: the attention mask, above all. Then at
#    kinks, and at the precision of the numbers.
#
#    </details>
# 5. Why can gradient × input give a deciding word a negative share?
#
#    <details><summary>Answer</summary>
#
#    Beyond the top of the curve the answer falls a little with more of the word; the gradient at
#    the text sees only that.
#
#    </details>
#
# ## Exercises
#
# An explanation may be asked to keep **axioms**. *Completeness*: the shares add up to the change of
# the answer. *Sensitivity*: what alone changes the answer gets a share. *Implementation
# invariance*: two networks that compute the same function get the same shares.
#
# 1. *(on paper, 4 min)* The cup gets 2 of tea and 1 of milk. Shares by gradient × input, and by
#    integrated gradients from the empty cup? Which axiom did the full cup break for gradient ×
#    input, and why not this one?
#
#    <details><summary>Answer</summary>
#
#    2 and 1 by both: up to here the cup is linear. The full cup broke sensitivity and completeness:
#    both shares were 0, and 4 had come in.
#
#    </details>
# 2. *(on paper, 5 min)* Somebody writes integrated gradients with $x_s$ in place of $x_s - b_s$.
#    The cup has 2 of milk before, and gets 6 of tea. Which axiom breaks, and by how much?
#
#    <details><summary>Answer</summary>
#
#    Completeness. The milk does not change on the way; its share is now $⅓ · 2$ in place of 0, and
#    the sum is $2⅔$, not 2.
#
#    </details>
# 3. *(code, 8 min)* Write the function $f(x) = x$ as $\text{relu}(x) - \text{relu}(-x)$. A method
#    lets gradients through every ReLU, as if it were open. Which axiom does it break at $x = 3$?
#
#    <details><summary>Answer</summary>
#
#    Implementation invariance: $1 + 1 = 2$ for the second form, 1 for the first.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
little = torch.tensor([[[2.0], [1.0]]])
each = gradient_x_input, lambda *a: integrated_gradients(*a)[0]
print(*(method(cup, "rows", lambda: cup(little))[0].round().int().tolist() for method in each))
before = torch.tensor([[0.0], [2.0]])
right_share = integrated_gradients(*pour, before, steps=600)[0][0]
way_of = poured[0, :, 0] - before[:, 0]  # 6 and 0
mean_slope = right_share[0] / way_of[0]  # the same for both: what is poured adds up
print([round(3 * float(x)) for x in mean_slope * poured[0, :, 0]], "thirds")


def open_relu(x):
    return x + (torch.relu(x) - x).detach()  # the value of a ReLU, the gradient of an open one


x = torch.tensor(3.0, requires_grad=True)
for form in (x, open_relu(x) - open_relu(-x)):
    print(f"value {form:.0f}, share {torch.autograd.grad(form, x)[0]:.0f} times x")

# %% [markdown]
# ## Summary
#
# A gradient tells what a small change of the text would do; where a model is sure, that is next to
# nothing. Integrated gradients add up the gradients on a way from a baseline, so that the shares
# make the whole change of the answer; they are as good as their baseline, and from [MASK] they put
# a deciding word first more often than the gradient did, in every seed. Back to the review: the
# model was convinced long before the end of the way, and at the end, where our text is, gradients
# are small. From [MASK] the words share 2.83: *i* has 1.35 and *cold* 1.01, so even here the first
# is not the one that decides: hide *i* alone and the answer stays, hide *cold* and it goes ([asked
# here](04_perturbation.ipynb)).
#
# ## Further reading
#
# - Simonyan, Vedaldi, Zisserman (2014), *Deep Inside Convolutional Networks*: section 3 for the
#   gradient.
# - Sundararajan, Taly, Yan (2017), *Axiomatic Attribution for Deep Networks*: the axioms, and
#   section 5 on choosing a baseline and the number of steps.
# - Smilkov, Thorat, Kim, Viégas, Wattenberg (2017), *SmoothGrad*: removing noise by adding noise.
# - Sturmfels, Lundberg, Lee (2020), *Visualizing the Impact of Feature Attribution Baselines*,
#   Distill: the same weakness on images, with pictures to move, and the mean over many baselines,
#   which we did not measure.
# - Bastings, Filippova (2020), *The elephant in the interpretability room*: gradients and attention
#   as explanations of text.

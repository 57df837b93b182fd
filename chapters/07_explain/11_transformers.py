# %% [markdown] tags=["slide"]
# # Attribution in Transformers: attention x gradient, AttnLRP, logit lens
#
# A guest writes: *the soup was cold but the waiter was kind .* The cook wants to know how the food
# was, the owner how the service was. Both read the same words, and each would underline another
# one. A Transformer answers both questions at once. Its attention is one picture; which of the two
# answers does it belong to?
#
# <small>Prerequisites: [relevance](03_relevance.ipynb), [rollout](10_rollout.ipynb) · 17 min · runs
# on a laptop · Beyond the book's 7.5</small>

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

# %% Generated reviews of a meal tags=["fold"]
import random
from typing import NamedTuple

NOUNS = "soup bread rice fish salad cake tea stew", "waiter cook host cashier barman guide maid"
GOOD = "fresh tasty crisp juicy mild tender", "kind polite friendly quick patient helpful"
BAD = "cold burnt stale salty soggy bitter", "rude slow lazy grumpy careless loud"
QUESTIONS = "food", "service"


class Meal(NamedTuple):
    """Words, the two answers (1: good), and for each question the places that decide it."""

    words: tuple[str, ...]
    good: tuple[int, int]
    decides: tuple[list[int], list[int]]


# %% Draw one tags=["fold"]
def meal(draw):
    first, words = draw.randrange(2), []
    good, decides = [draw.randrange(2) for _ in range(2)], ([], [])
    if draw.random() < 0.5:
        words += [*draw.choice(["on monday", "last night", "at noon", "today"]).split(), ","]
    for question in (first, 1 - first):
        denied = draw.random() < 0.3
        kind = (GOOD if good[question] != denied else BAD)[question]
        words += [draw.choice(["and", "but", ","])] * (question != first) + ["the"]
        words += [draw.choice(NOUNS[question].split()), "was"] + ["not"] * denied
        words.append(draw.choice(kind.split()))
        decides[question].extend(range(len(words) - 1 - denied, len(words)))
    return Meal((*words, "."), tuple(good), decides)


# %% Texts and tokens tags=["fold"]
import torch

from deepdive_book.kit.profile import pick, profile


def meals(n, seed):
    """Reviews, all different, of n that are drawn."""
    draw = random.Random(f"meals {seed}")
    return list({m.words: m for m in (meal(draw) for _ in range(n))}.values())


TEXTS = meals(8_000, 1)
NEW = [m for m in meals(1_000, 2) if m.words not in {text.words for text in TEXTS}]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *sorted({w for m in TEXTS for w in m.words})]
ID, UNKNOWN = {word: i for i, word in enumerate(WORDS)}, torch.tensor(1)


def tokens_of(texts):
    """Tokens (B, T) with [CLS] before and [SEP] behind, what is no padding, the answers (B, 2)."""
    rows = [["[CLS]", *m.words, "[SEP]"] for m in texts]
    wide = max(map(len, rows))
    tokens = torch.tensor([[ID[w] for w in row] + [0] * (wide - len(row)) for row in rows])
    return tokens, tokens != 0, torch.tensor([m.good for m in texts]).float()


# %% Train a small BERT with two answers tags=["fold"]
from functools import cache

import torch.nn.functional as F

from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.training import fit
from deepdive.training.optim import adam, linear

POINT = "encoder.embeddings.embedded"  # the rows of the words, as they enter the first layer


def loss(model, batch):
    """One word in ten is blank: so a blank is nothing new when we ask by blanking."""
    tokens, real, good = batch
    gone = (torch.rand(tokens.shape) < 0.1) & (tokens > ID["[SEP]"])
    return F.binary_cross_entropy_with_logits(model(tokens.where(~gone, UNKNOWN), real), good)


# %% Train one tags=["fold"]
@cache
def train(layers, steps, seed):
    torch.manual_seed(seed)
    encoder = bert(vocab_size=len(WORDS), d_model=64, n_heads=4, n_layers=layers, d_ff=128,
                   max_length=24, dropout=0.0, n_segments=0)  # fmt: skip
    model, draw = Classifier(encoder, 64, 2, dropout=0.0), random.Random(seed)
    batches = [tokens_of(draw.sample(TEXTS, 64)) for _ in range(steps)]
    fit(model, batches, loss, steps=steps, seed=seed, optimizer=adam(model, lr=1e-3),
        schedule=linear(1e-3, max(1, steps // 10), steps), progress=False)  # fmt: skip
    return model.eval()


# %% Every method's numbers for one answer tags=["fold"]
from deepdive.core.hooks import record
from deepdive.explain.attention_weights.gradient_rollout import gradient_rollout
from deepdive.explain.backward.relevance import attn_lrp, lrp
from deepdive.explain.gradients import gradient_x_input
from deepdive.explain.rollout import one_call, rollout


def looked(model, tokens, pattern="*.weights"):
    """Each layer's weights (1, H, T, T)."""
    with torch.no_grad(), record(model, pattern) as seen:
        model(tokens)
    return one_call(seen)


def blanked(tokens, output):
    """By how much the answer falls when a word is [UNK], (T,); [CLS] and [SEP] stay."""
    gone = torch.eye(tokens.shape[1], dtype=torch.bool)
    gone[[0, -1]] = False
    with torch.no_grad():
        return output(tokens) - output(tokens.where(~gone, UNKNOWN))


# %% All in one place tags=["fold"]
def methods(model, tokens, question):
    """name -> a function that gives a number for each word: why does it say what it says?"""
    sign = model(tokens)[0, question].sign().item()
    output = lambda x: sign * model(x)[:, question]  # noqa: E731
    way = lambda f, where: lambda: f(model, where, lambda: output(tokens))[0].detach()  # noqa: E731
    return {"attention, last layer": lambda: looked(model, tokens)[-1].mean(1)[0, 0],
            "rollout": lambda: rollout(looked(model, tokens))[-1, 0, 0],
            "Chefer": way(gradient_rollout, "*.weights"),
            "gradient x input": way(gradient_x_input, POINT),
            "AttnLRP": way(attn_lrp, POINT), "LRP": way(lrp, POINT),
            "blank-out": lambda: blanked(tokens, output)}  # fmt: skip


# %% [markdown]
# The reviews are generated: a clause on the food and one on the service, in either order, at times
# with a *not*. **We know the words that decide each question**: the adjective of its clause, and
# its *not*. A small BERT gives two numbers, above 0 for good food and above 0 for good service.
# Here are three explanations of each answer.

# %% One review, two answers tags=["slide", "fold"]
from deepdive_book.kit.attribution_text import colored

LAYERS, STEPS = pick(ci=2, laptop=3, gpu=3), pick(ci=25, laptop=500, gpu=500)
SENTENCE = "the soup was cold but the waiter was kind ."
model, words = train(LAYERS, STEPS, 1), tuple(SENTENCE.split())
one = tokens_of([Meal(words, (0, 1), ([], []))])[0]
said = ["good" if number > 0 else "bad" for number in model(one)[0]]
assert profile() == "ci" or said == ["bad", "good"]
SHOWN = "rollout", "Chefer", "AttnLRP"
pictures = {f"{name}: {QUESTIONS[q]} is {said[q]}": methods(model, one, q)[name]()[1:-1]
            for name in SHOWN for q in (0, 1)}  # fmt: skip
colored(words, pictures)

# %% [markdown]
# *Blue, above the line, speaks for the answer, orange, below it, against; each row has its own
# unit.* Rollout draws the same picture twice, for the attention weights were there before anybody
# asked a question. The other two draw one picture for each answer.

# %% [markdown] tags=["slide"]
# ## By hand: attention weight times gradient
#
# One head answers from the place `?`. It gives `cold` the weight 3/4 and `kind` the weight 1/4.
# What it finds there counts for two answers:
#
# | | weight | for "food is bad" | for "service is good" |
# |---|---|---|---|
# | `cold` | 3/4 | 4 | −4 |
# | `kind` | 1/4 | −4 | 24 |
#
# An answer is the sum of weight times what is found: $3 - 1 = 2$ for the food, $-3 + 6 = 3$ for the
# service. If a weight grew a little, an answer would grow as fast as the table says: these are the
# weights' **gradients**. Chefer, Gur and Wolf (2021) multiply each weight by its gradient, and keep
# what is positive:
#
# | | weight | for food | for service |
# |---|---|---|---|
# | `cold` | 3/4 | **3** | 0 |
# | `kind` | 1/4 | 0 | **6** |
#
# For the service `kind` comes first, though its weight is the smaller one. These numbers are the
# last row of a matrix $A$, and $R$ starts as the identity, since each place is made of itself. A
# layer adds what it fetched: $R \leftarrow R + A R$. In the order `cold`, `kind`, `?` the row of
# `?` becomes $(3, 0, 1)$ for the food and $(0, 6, 1)$ for the service. Its sum is no answer: the
# minus signs are gone.

# %% The same from the library tags=["nbval-check-output", "fold"]
from torch import nn

from deepdive.core.hooks import HookPoint


class OneHead(nn.Module):
    """`cold`, `kind`, `?`: fixed weights, and what each place counts for two answers."""

    def __init__(self):
        super().__init__()
        self.weights = HookPoint()

    def forward(self):
        looks = torch.tensor([[1, 0, 0], [0, 1, 0], [0.75, 0.25, 0]])[None, None]
        found = torch.tensor([[4.0, -4], [-4, 24], [0, 0]])
        return self.weights(looks)[0, 0, 2] @ found


head = OneHead()
rows = gradient_rollout(head, "weights", head, state=2)
print("answers:", head().int().tolist())
print("food:   ", rows[0].int().tolist())
print("service:", rows[1].int().tolist())
assert head().tolist() == [2, 3]
assert rows.tolist() == [[3, 0, 1], [0, 6, 1]]

# %% [markdown]
# ## The equation
#
# $W_l$ are the weights of layer $l$ with $H$ heads, $y$ is the answer that is explained, $\odot$
# multiplies number by number:
#
# $$A_l = \frac1H \sum_h \max\!\Big(0,\ \frac{\partial y}{\partial W_{l,h}} \odot W_{l,h}\Big)$$
#
# $$R \leftarrow R + A_l R$$
#
# One run, and one backward pass for each answer. In rollout $A_l$ is the mean of $W_l$, and no
# answer stands in it.

# %% [markdown] tags=["slide"]
# ## By hand: AttnLRP, and why its shares do not add up
#
# Chefer's method asks only the attention weights. **AttnLRP** (Achtibat et al. 2024) pays the
# answer back to the words through the whole network, by the rules of [page 7.3](03_relevance.ipynb)
# and two more. A weight of 1/2 times a value of 8 is 4. Gradient x input pays 4 to the weight *and*
# 4 to the value; AttnLRP pays **half to each**, 2 and 2. The weight's 2 go on into the softmax,
# which AttnLRP replaces by a straight line with a constant; the constant takes a part. **So the
# words' shares do not add up to the answer.**
#
# **LRP** as Ali et al. (2022) write it does without both rules: the attention weights are held
# constant, so the value gets all 4 and the scores nothing. Nothing is lost there, and nobody hears
# why the head looked where it looked.
#
# <details><summary>What the constant takes, by hand</summary>
#
# The line that touches the softmax (a Taylor expansion) is slope times scores, *and a constant*. A
# score $s_i$, whose weight $w_i$ was paid $R_i$, gets $s_i (R_i - w_i \sum_j R_j)$. Take two equal
# scores; the first weight was paid 2, the second 0:
#
# | scores | weights | the first score gets | the second | together |
# |---|---|---|---|---|
# | 0, 0 | 1/2, 1/2 | 0 | 0 | 0 |
# | 2, 2 | 1/2, 1/2 | $2\,(2 - 1) = 2$ | $2\,(0 - 1) = -2$ | 0 |
# | 6, 6 | 1/2, 1/2 | 6 | −6 | 0 |
#
# Weights and answer are the same in each row; what is paid is not. Of the 2 nothing arrives: the
# constant has it. (The authors count the constant as a bias, and with what biases get the sum is
# kept.) You et al. (2025) prove for the product's rule that two ways to write one function get
# different shares.
#
# </details>

# %% Both from the library tags=["nbval-check-output", "fold"]
class Rows(nn.Module):
    """Any function of rows (1, S, d), with a hook point before it."""

    def __init__(self, function):
        super().__init__()
        self.rows, self.function = HookPoint(), function

    def forward(self, x):
        return self.function(self.rows(x))


def paid(way, function, numbers):
    toy, x = Rows(function), torch.tensor(numbers)[None, :, None]
    return way(toy, "rows", lambda: toy(x))[0].round(decimals=4).tolist()


product = lambda x: x[:, 0, 0] * x[:, 1, 0]  # noqa: E731
for name, way in {"gradient x input": gradient_x_input, "AttnLRP": attn_lrp}.items():
    print(f"product, {name}:", paid(way, product, [0.5, 8.0]))
four_times_first = lambda x: 4 * x[:, :, 0].softmax(-1)[:, 0]  # noqa: E731
for score in (0.0, 2.0, 6.0):
    got = paid(attn_lrp, four_times_first, [score, score])
    print(f"softmax of {score:.0f}, {score:.0f}:", [round(v) + 0 for v in got])
    assert got == [score, -score]

# %% [markdown]
# ## Who finds the words that decide?
#
# Three models with other first weights read new reviews; we keep those of which both answers are
# right. For each review and each question we take the word with the largest number (its size, where
# a number has a sign), without `[CLS]` and `[SEP]`. Does it decide *this* question, or the other?

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Rollout has one picture for both questions, so it finds one of the two at most. Chefer's "
    "method and AttnLRP know the question. How often do they find a word that decides it?",
    ["both nearly always: the question was all that rollout lacked",
     "AttnLRP nearly always, Chefer's method clearly less often",
     "Chefer's method more often: AttnLRP loses a part to the constant"],
    answer=1,
    explain="To know the question is not all: where the clause has a *not*, Chefer's method finds "
    "a deciding word in 3 to 82 of 100, AttnLRP in 82 to 97.",
    key="07_explain/for-which-answer",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% Judge one model tags=["fold"]
import time

from deepdive.explain.activations.lens import logit_lens
from deepdive.explain.probes import ridge


def judged(model, texts):
    """name -> for each review and question: 0 its own word first, 1 the other's, 2 neither; and
    how long a method takes, in runs of the model."""
    found, spent = {}, {}
    for text in texts:
        tokens = tokens_of([text])[0]
        for question in (0, 1):
            start = time.process_time()
            model(tokens)
            spent["run"] = spent.get("run", 0) + time.process_time() - start
            for name, way in methods(model, tokens, question).items():
                start = time.process_time()
                best = int(way()[1:-1].abs().argmax())
                spent[name] = spent.get(name, 0) + time.process_time() - start
                kind = [best in text.decides[q] for q in (question, 1 - question)]
                found.setdefault(name, []).append(kind.index(True) if any(kind) else 2)
    return found, {name: each / spent["run"] for name, each in spent.items()}


# %% What stands in [CLS] after each layer tags=["fold"]
@torch.no_grad()
def after_layers(model):
    """Right in %, after each layer, for each question: by the lens, and by a learned map."""
    (x, real, y), (old, old_real, old_y) = tokens_of(NEW), tokens_of(TEXTS[:2000])
    head = lambda stream: model.out(model.pooler(stream))  # noqa: E731
    said = logit_lens(model, "*.stream", lambda: model(x, real), head)
    states = []
    for tokens, mask in ((x, real), (old, old_real)):
        with record(model, "*.stream") as seen:
            model(tokens, mask)
        states.append([each[:, 0] for each in one_call(seen)])
    learned = []
    for new, known in zip(*states, strict=True):
        w, b = ridge(known, 2 * old_y - 1)
        learned.append(new.double() @ w + b)
    score = lambda guess: (100 * ((guess > 0) == (y > 0)).float().mean(0)).tolist()  # noqa: E731
    return [score(each) for each in said], [score(each) for each in learned]


# %% Measure tags=["fold"]
from deepdive_book.kit.experiments import sweep


def measure(layers, steps, texts, seed):
    model = train(layers, steps, seed)
    x, real, y = tokens_of(NEW)
    with torch.no_grad():
        hits = ((model(x, real) > 0) == (y > 0)).tolist()
    some = [m for m, hit in zip(NEW, hits, strict=True) if all(hit) or profile() == "ci"][:texts]
    first, cost = judged(model, some)
    lens, learned = after_layers(model)
    right = [100 * sum(hit[q] for hit in hits) / len(hits) for q in (0, 1)]
    return {"right": right, "cost": cost, "lens": lens, "learned": learned,
            "first": {name: "".join(map(str, each)) for name, each in first.items()},
            "denied": "".join(str(len(at) - 1) for m in some for at in m.decides)}  # fmt: skip


points = [{"layers": LAYERS, "steps": STEPS, "seed": seed, "texts": pick(ci=2, laptop=50, gpu=50)}
          for seed in range(1, pick(ci=2, laptop=4, gpu=4))]  # fmt: skip
runs = sweep(measure, points)


# %% Means over the models tags=["fold"]
from statistics import mean

from deepdive_book.kit.tables import table


def spread(values, digits=0):
    """The mean of the models, and in brackets the lowest and the highest."""
    ends = [f"{value:.{digits}f}" for value in (mean(values), min(values), max(values))]
    return f"{ends[0]} ({ends[1]} to {ends[2]})"


def firsts(name, kind, denied="01"):
    """One number a model: how often, in %, the first word is of this kind."""
    of = [[got for got, no in zip(run["first"][name], run["denied"], strict=True) if no in denied]
          for run in runs]  # fmt: skip
    return [100 * each.count(str(kind)) / max(1, len(each)) for each in of]


# %% The table tags=["surprise", "fold"]
cost = {name: mean(run["cost"][name] for run in runs) for name in runs[0]["first"]}
lines = [[name, spread(firsts(name, 0)), spread(firsts(name, 1)), spread(firsts(name, 0, "1")),
          f"{each:.1f}"] for name, each in cost.items()]  # fmt: skip
table(lines, ["method", "finds it, %", "the other's, %", "with `not`, %", "cost"],
      caption=f"{len(runs)} models of {runs[0]['layers']} layers, {runs[0]['texts']} reviews, both "
      "questions: mean of the models (lowest to highest). Finds it: a word that decides this "
      "question comes first. Cost: computing time, where one run of the model is 1")  # fmt: skip

# %% [markdown]
# - **Rollout** finds the word of the other question as often as that of its own, 45 and 45 of 100:
#   one picture cannot do more than half.
# - **Chefer's method** finds 81, and 64 in the weakest model. **AttnLRP** finds 96, and its lowest
#   is above Chefer's highest. The gap is widest where the clause has a *not*, 54 against 90. Why,
#   we did not test.
# - **The newer rule is not the better one here**: LRP finds 99 of 100 or more in every model;
#   AttnLRP's highest is 99.
# - **Blank-out**, one word at a time, finds 97 at half of AttnLRP's time. Our texts are short and
#   our models have met blanks; for a text of $S$ words it asks about $S$ texts, the other methods
#   about one.
#
# Our models are small.
#
# <details><summary>What others found in large models</summary>
#
# Achtibat et al. (2024) find AttnLRP ahead, judged by taking words away, and by questions whose
# answer stands at a marked place of the text (SQuAD v2). You et al. (2025) find weights held
# constant nearer to leaving one word out, mostly in middle and late layers.
#
# </details>

# %% [markdown] tags=["aside"]
# ## What the residual connection and the values carry
#
# Chefer's method knows attention heads and the residual connection around them, nothing else. Two
# heads built by hand show what that costs. Each looks at one word only. **The copying head** looks
# at `great`, and the answer is what it copies. **The decoy** looks at `film`, which counts nothing,
# and the answer goes past the head: `great` counts 2 and `bad` −1.

# %% Two heads whose cause is known tags=["nbval-check-output", "fold"]
from deepdive_book.ch07.toys.planted import ids
from deepdive_book.ch07.toys.planted_attention import copying, decoy

PLANTED = "the film was great and bad"
lines = []
for name, planted in {"copying": copying(), "decoy": decoy()}.items():
    x = ids(PLANTED)[None]
    ask = lambda planted=planted, x=x: planted(x)  # noqa: E731
    own = torch.eye(len(PLANTED.split()))[0]  # of I, which is no look
    numbers = {"weights": looked(planted, x, "weights")[0][0, 0, 0],
               "Chefer": gradient_rollout(planted, "weights", ask)[0] - own,
               "AttnLRP": attn_lrp(planted, "embedded", ask)[0],
               "truth": planted.shapley(x[0])}  # fmt: skip
    for method, each in numbers.items():
        lines.append([f"{name}, {method}", *(f"{each[i] + 0:.1f}" for i in (1, 3, 5))])
table(lines, ["head, method", "`film`", "`great`", "`bad`"], caption=f"{PLANTED}: what the words "
      "get; the truth are their Shapley values")  # fmt: skip

# %% [markdown]
# The decoy's weights point at `film`. Chefer's method is not taken in: that weight has a gradient
# of
# 0. But it gives 0 also to the words that make the answer. AttnLRP finds them. At the copying head
# it gives `great` about half of its worth: the other half went to the weight, and most of that to
# the softmax's constant.

# %% [markdown]
# ## The logit lens
#
# So far we asked which *words* made an answer. After which *layer* was it made? The logit lens
# (nostalgebraist 2020) skips the layers above layer $k$ and gives the state there (the residual
# stream, or hidden state) to the model's own **output head**, with the last norm where the model
# has one: what would it say **if it stopped here**?
#
# First a machine that we know. The note under the rug says *jar*, that in the jar *shed*, that in
# the shed *well*. A state holds a place, and **each layer goes one note further**. Whoever starts
# at the rug is at the jar after layer 1, at the shed after layer 2, at the well after layer 3.

# %% A machine that follows notes tags=["fold"]
PLACES = ["rug", "jar", "shed", "well"]


class Notes(nn.Module):
    """A layer reads its state by `bases[k]`, finds the note there, writes it by `bases[k + 1]`."""

    def __init__(self, bases):
        super().__init__()
        self.bases, self.streams = bases, nn.ModuleList(HookPoint() for _ in bases)

    def forward(self, notes, now):
        """notes (4,): the place that each names; now (T,): where each row stands. Logits (T, 4)."""
        places = torch.eye(4)
        x = self.streams[0](places[now] @ self.bases[0])
        for k in range(1, len(self.bases)):
            weights = (12 * x @ self.bases[k - 1].T @ places.T).softmax(-1)
            x = self.streams[k](weights @ places[notes] @ self.bases[k])
        return say(x @ self.bases[-1].T)


# %% Two machines tags=["fold"]
def say(state):
    """The head of the machine: it reads a place from the direction that is the place's own."""
    return 4 * state


plain, other = torch.eye(4), torch.eye(4).roll(1, 1)  # `other`: each place is written as the next
STRAIGHT, TURNED = Notes([plain] * 4), Notes([plain, other, other, plain])

NOTES, START = torch.tensor([1, 2, 3, 3]), torch.tensor([0, 1, 2, 3])
assert torch.allclose(STRAIGHT(NOTES, START), TURNED(NOTES, START), atol=1e-3)  # one function
LAYER = ["entry", "layer 1", "layer 2", "layer 3"]


def stops(machine, notes, now, head=say):
    """What the machine would say after each layer, (4, T, 4)."""
    return logit_lens(machine, "streams.*", lambda: machine(notes, now), head)


def held(notes, now):
    """Where each row does stand after each layer, (4, T)."""
    found = [now]
    for _ in LAYER[1:]:
        found.append(notes[found[-1]])
    return torch.stack(found)


# %% A map for each layer tags=["fold"]
draw = torch.Generator().manual_seed(0)  # forty other hunts
hunts = [torch.randint(4, (2, 4), generator=draw) for _ in range(40)]
states = torch.cat([stops(TURNED, *hunt, head=lambda x: x) for hunt in hunts], 1)
truth = F.one_hot(torch.cat([held(*hunt) for hunt in hunts], 1), 4)
maps = [ridge(x, y, penalty=0.01) for x, y in zip(states, truth, strict=True)]

# %% Look through them tags=["slide", "fold"]
from deepdive_book.ch03.toys.gap_words import masked_words
from deepdive_book.ch07.figures.logit_lens_table import Reading, logit_lens_table, top_predictions

called = [f"start: {place}" for place in PLACES]
inside = [[PLACES[i] for i in row] for row in held(NOTES, START).tolist()]
streams = stops(TURNED, NOTES, START, head=lambda x: x).double()
mapped = torch.stack([4 * (x @ w + b) for x, (w, b) in zip(streams, maps, strict=True)])
three = {"machine A": stops(STRAIGHT, NOTES, START), "machine B": stops(TURNED, NOTES, START),
         "machine B, by a learned map": mapped}  # fmt: skip
readings = [Reading(name, called, LAYER, top_predictions(logits, PLACES), inside, (1, 0))
            for name, logits in three.items()]  # fmt: skip
gaps = masked_words()
for text in ("tom opened the [MASK] .",):
    places = [gaps.tokenizer.vocab.index(w) for w in text.split()]
    row = torch.tensor([[gaps.tokenizer.bos, *places, gaps.tokenizer.eos]])
    with record(gaps.model, "*.embedded", "*.stream") as seen:
        gaps.model(row)
    logits = torch.stack([gaps.model.masked_logits(x)[0, 1:-1] for x in one_call(seen)])
    readings.append(Reading(f"a small BERT: {text}", text.split(), LAYER[:3],
                            top_predictions(logits, gaps.tokenizer.vocab), None,
                            (1, 3)))  # fmt: skip
logit_lens_table(readings)

# %% The same in numbers tags=["fold"]
lines = []
B, BERT = readings[1], readings[3]
shown = [(0, readings[0]), *((i, B) for i in range(4)), (3, BERT), (1, BERT)]
for place, reading in shown:
    best = [row[place][0] for row in reading.said]
    cells = [f"{word}, {100 * sure:.0f} %" for word, sure in best]
    said = reading.words[place]
    said = f"`{said}`" if reading.truth is None else f"{reading.name[-1]}, {said}"
    lines.append([said, *cells, *[""] * (4 - len(cells))])
table(lines, ["the lens, at", *LAYER],
      caption="machines A and B, and two words of the small BERT's text")  # fmt: skip

# %% [markdown]
# *Each row is a word, each column a layer. Press a cell: so the lens reads the state there; the
# bars say how sure it is. ✓ and ✗: does it read what the state holds?*
#
# 1. Machine A, `start: rug`: after which layer does the lens say the final answer for the first
#    time? After which layer for `start: shed`?
# 2. Machine B gives the same answers. What does the lens say of it after layer 1, and how sure?
# 3. A small BERT (2 layers, trained on short sentences), `tom opened the [MASK] .`: after which
#    layer would it say *door*? And what does the lens read at `opened`?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. After layer 3 for the rug, after layer 1 for the shed: its note says *well*, and at the well
#    one stays.
# 2. *shed* in place of *jar*, sure to 95%: as sure as in machine A, and wrong.
# 3. After layer 1, sure to 14%; after layer 2 to 48%. At `opened`, which is a word of the text,
#    it reads *got*, *is* and only then *opened*: what one reads in the middle is not what the model
#    knows there.
#
# </details>
#
# ## Where the lens misleads
#
# Layers 1 and 2 of machine B write each place in the direction of the next one, and the layers
# above read it so. Every answer is the same: **one function, two pictures**. After layer 2 the lens
# reads, at `start: rug`, the final answer, which is not there yet; at the other three starts, where
# it is there, it reads *rug*. Machine B has **no residual connection**: each layer overwrites the
# last, so the output head never reads these layers, and nothing makes them write in its basis. A
# Transformer is different. There the output head reads the sum of what all layers wrote, which is
# the reason for the lens, so this counterexample doesn't carry over as it is; in Transformers the
# basis can still drift from layer to layer (Belrose et al. 2023). A map learned for each layer
# reads machine B without a mistake; one that learns to foretell the final answer is called the
# tuned lens (Belrose et al. 2023). A map has a danger of its own: it may read what the model never
# uses.

# %% [markdown] tags=["aside"]
# ### Do trained models write in the output head's language?
#
# In ours nobody turned anything. We read both answers from `[CLS]` after each layer, by the lens
# and by a learned map.

# %% The lens against a learned map tags=["slide", "fold"]
depth = range(runs[0]["layers"])
lines = [
    [f"{QUESTIONS[q]}, {said}", *(spread([run[key][k][q] for run in runs]) for k in depth)]
    for q in (0, 1)
    for said, key in (("lens", "lens"), ("learned map", "learned"))
]
table(lines, ["question, read by", *(f"layer {k + 1}" for k in depth)],
      caption=f"{len(runs)} models: answers read from [CLS] after each layer that are right, in "
      "% of new reviews: mean (lowest to highest)")  # fmt: skip

# %% [markdown]
# Mostly. After layer 2 a map reads 98 or more of 100 answers on the food in each model, the lens 89
# in one of them; elsewhere their means are at most 3 apart (a guess is right in half). In GPT-2 the
# guesses come near the answer long before the last layer (nostalgebraist 2020); two or three layers
# cannot show that.

# %% [markdown] tags=["aside"]
# ### Common mistake: one picture for every answer
#
# Code asks for the class by number, and always gets the same picture. **Symptom:** the maps of two
# classes are equal to the last digit, and nobody notices, for each of them looks sensible. **Fix:**
# explain two answers of one text, and compare. A method that must depend on the answer and does not
# has lost its gradient: in fused attention (`scaled_dot_product_attention`, FlashAttention) the
# weights are never stored, so they have none.

# %% The test in one line tags=["nbval-check-output", "fold"]
for name in methods(model, one, 0):
    two = [methods(model, one, q)[name]() for q in (0, 1)]
    print(f"{name}:", "one picture" if torch.equal(*two) else "one a question")

# %% [markdown]
# ## In practice
#
# | you ask | take | do not believe |
# |---|---|---|
# | where did a head look? | weights, rollout | that it says why |
# | which words, for *this* answer? | LRP, AttnLRP; blank-out for short texts | a sum as proof |
# | what speaks against it? | AttnLRP, LRP | Chefer: it drops minus signs |
# | after which layer is it known? | a learned map, then patching | a lens that sees nothing |
#
# - **Name the answer** under every picture.
# - **Cost**: one run, and one backward pass for each answer. AttnLRP took the time of about six
#   runs; its rules are Python here.
# - **Chefer needs attention weights in the graph**: run the explicit form, not a fused kernel.
# - **AttnLRP needs a rule for each operation**; what has none must be refused, not guessed.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why can rollout not be right for both questions of a review?
#
#    <details><summary>Answer</summary>
#
#    It has one picture, so one first word; and no word decides both.
#
#    </details>
# 2. What does the gradient of an attention weight say?
#
#    <details><summary>Answer</summary>
#
#    How much the answer would grow if the head looked there a little more.
#
#    </details>
# 3. Chefer's numbers of a review sum to 5. What is the answer?
#
#    <details><summary>Answer</summary>
#
#    Nobody knows: minus signs were dropped, and what went past the attention was not counted.
#
#    </details>
# 4. Where does AttnLRP lose a part of the answer in attention?
#
#    <details><summary>Answer</summary>
#
#    At the softmax: its straight line has a constant, and the constant is paid.
#
#    </details>
# 5. The lens reads nonsense after layer 5. What follows?
#
#    <details><summary>Answer</summary>
#
#    That the output head cannot read this layer. Whether a later layer can is not said.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* **Completeness.** A head gives two words the weights 1/2 and 1/2, and they
#    count 6 and −6 for the answer. What is the answer, and what does Chefer's method give each?
#
#    <details><summary>Answer</summary>
#
#    The answer is $3 - 3 = 0$. Chefer gives 3 and 0: an answer of nothing, with a reason for it.
#
#    </details>
# 2. *(on paper, 5 min)* **Shifts.** Two scores are 1 and 1. The first weight is paid 8, the second
#    0. What do the scores get by AttnLRP? What if both scores are 3? What should change?
#
#    <details><summary>Answer</summary>
#
#    $1\,(8 - 4) = 4$ and $1\,(0 - 4) = -4$; then 12 and −12. Nothing should change: the weights are
#    the same.
#
#    </details>
# 3. *(on paper, 4 min)* Two layers of Chefer, one place `?` and one word: each layer has $A = 2$
#    from `?` to the word and 0 elsewhere. What has `?` of the word after layer 1, after layer 2?
#
#    <details><summary>Answer</summary>
#
#    After layer 1: 2. Layer 2 adds $A R$, and the word's own row is still $(1, 0)$: $2 + 2 = 4$.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
half = torch.tensor([[[[0.0, 0, 0], [0, 0, 0], [0.5, 0.5, 0]]]])


class Two(nn.Module):
    def __init__(self, counts, looks, layers=1):
        super().__init__()
        self.points = nn.ModuleList(HookPoint() for _ in range(layers))
        self.counts, self.looks = torch.tensor(counts), looks

    def forward(self):
        return sum(point(self.looks)[0, 0, 2] @ self.counts for point in self.points)


first = Two([[6.0], [-6.0], [0.0]], half)
print(first().int().tolist(), gradient_rollout(first, "points.*", first, 2)[0].int().tolist())
eight_times_first = lambda x: 16 * x[:, :, 0].softmax(-1)[:, 0]  # noqa: E731
for score in (1.0, 3.0):
    print([round(v) for v in paid(attn_lrp, eight_times_first, [score, score])])
third = Two([[4.0], [0.0], [0.0]], half, layers=2)
print(gradient_rollout(third, "points.*", third, 2)[0].int().tolist())

# %% [markdown]
# ## Summary
#
# Attention and rollout have one picture for all answers, so they say where a model looked and never
# for what. Weighted by gradients, as in Chefer's method, attention weights belong to an answer,
# though only the positive ones and only through the heads; AttnLRP and LRP follow the answer
# through the whole network, and the logit lens reads after which layer it is there, if the layer
# writes as the output head reads. So the guest's one picture of attention belongs to neither
# answer, and the cook and the owner get the same words; for each question apart, LRP put a word
# that decides it first in 99 of 100 cases or more in every model, AttnLRP in 94 to 99, Chefer's
# method in 64 to 91.
#
# ## Further reading
#
# - Chefer, Gur, Wolf (2021), *Generic Attention-model Explainability*: equations 5 and 6, and the
#   form for models with two inputs.
# - Achtibat et al. (2024), *AttnLRP*: propositions 3.1 and 3.3, and models of many layers.
# - Ali et al. (2022), *XAI for Transformers*: weights held constant. You et al. (2025), *When LRP
#   Diverges from Leave-One-Out in Transformers*: both rules against taking out one word.
# - "interpreting GPT: the logit lens", a post on LessWrong by nostalgebraist, of 2020.
# - Belrose et al. (2023), *Eliciting Latent Predictions from Transformers with the Tuned Lens*.

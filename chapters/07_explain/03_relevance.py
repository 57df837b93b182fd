# %% [markdown] tags=["slide"]
# # Layer-wise relevance propagation (LRP) and DeepLIFT
#
# Ann cooked for two hours. Bo sold cake for an hour, and ate some of the soup. Cy sat an hour at
# the cakes, and ate one. In the evening there are three coins in the till of their stall. Who of
# the three is paid how much? And when a network answers "negative, 2.87" to a review: which of its
# words are paid how much of the 2.87?
#
# <small>Prerequisites: [gradients](02_gradients.ipynb),
# [layer norm](../02_transformer/09_residuals_norms.ipynb) · 20 min · runs on a laptop; the trained
# models are measured beforehand · book 7.3.1.1</small>

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

# %% The stall tags=["slide", "fold", "nbval-check-output"]
from deepdive_book.ch07.figures.lrp_demo import Stall, lrp_demo, shares

STALL = Stall(
    inputs=("Ann", "Bo", "Cy"), hours=(2, 1, 1), units=("soup", "cake"),
    weights=((2, -2, 0), (0, 2, -1)), gifts=(1, 0),
)  # fmt: skip
lrp_demo(STALL)

# %% [markdown]
# *From left to right: hours, coins earned, the till. An hour of Ann brings 2 coins of soup, an hour
# of Bo takes 2 of soup and brings 2 of cake, an hour of Cy takes 1 of cake. A dish that would lose
# is not sold: it counts 0 (ReLU). From right to left: the till is paid back, along lines as wide as
# the coins, full blue for a wage, dashed orange for a debt; below each circle stands what it gets,
# and below each column the sum.*
#
# 1. With the first rule Bo gets 0. Is he of no use? Move him to 0 hours and look at the till.
# 2. Set epsilon to 1. Where do coins get lost?
# 3. Switch the *gifts* on: somebody puts a coin into the soup, whoever works (a gift is
#    the **bias** of a unit). Who is paid it by the epsilon rule, and who by z+?
# 4. Compare DeepLIFT from 0 hours and from 1 hour each. Why do Bo and Cy get nothing in the second?
#
# <details><summary>Answers to the four tasks</summary>
#
# 1. Without him the till holds 4: his 2 coins of cake cost 2 of soup. And he keeps the cakes open,
#    since Cy alone would lose. The wage of an explanation is no statement about a world without
#    Bo.
# 2. At each step a share is taken of one coin more than there is. 3 becomes 2.25, then 1.38.
# 3. The till holds 4. By the epsilon rule the gift stays unpaid: 3 go back. By z+ the people get
#    it.
# 4. They worked as long as in the day that is compared. Of 3 coins, 2 are more than on that day,
#    and the second hour of Ann made both.
#
# </details>
#
# This is **layer-wise relevance propagation**, LRP. What is paid is called **relevance**. It begins
# as the answer and goes back layer by layer, and each unit hands on what it got. If the sum of each
# layer is the answer, relevance is **conserved**.

# %% [markdown] tags=["slide"]
# ## By hand: three rules for the same coins
#
# Soup: $2\cdot 2 - 1\cdot 2 = 2$. Cake: $1\cdot 2 - 1\cdot 1 = 1$. Till: 3, of which soup is paid 2
# and cake 1.
#
# | | soup's 2 go to | cake's 1 goes to | Ann | Bo | Cy |
# |---|---|---|---|---|---|
# | **epsilon rule**: shares of the sum | $4, -2$ of $2$ | $2, -1$ of $1$ | 4 | 0 | −1 |
# | **z+ rule**: shares of what was added | $4$ of $4$ | $2$ of $2$ | 2 | 1 | 0 |
# | **DeepLIFT**, from 1 hour each | the rise of $2$: Ann's | no rise | 2 | 0 | 0 |
#
# The first two conserve the answer, 3. DeepLIFT conserves the *change* of the answer from the
# reference, $3 - 1 = 2$, since after one hour each the till holds 1.

# %% The same from the library tags=["fold"]
import torch
from torch import nn

from deepdive.core.hooks import HookPoint, record
from deepdive.explain.backward.deeplift import deeplift
from deepdive.explain.backward.relevance import attn_lrp, deep_taylor, lrp
from deepdive.explain.gradients import gradient_x_input, integrated_gradients


class Rows(nn.Module):
    """Any function of rows (1, S, d), with a hook point before it."""

    def __init__(self, function):
        super().__init__()
        self.rows, self.function = HookPoint(), function

    def forward(self, x):
        return self.function(self.rows(x))


# %% The stall as a network tags=["nbval-check-output", "fold"]
soup_and_cake = nn.Linear(3, 2, bias=False)
soup_and_cake.weight.data = torch.tensor(STALL.weights).float()
till = nn.Linear(2, 1, bias=False)
till.weight.data = torch.ones(1, 2)
stall = Rows(lambda x: till(soup_and_cake(x.flatten(1)).relu())[0])
hours = torch.tensor(STALL.hours).float()[None, :, None]
from_one, gap = deeplift(stall, "rows", lambda: stall(hours), torch.ones(3, 1))
found = {"epsilon": lrp(stall, "rows", lambda: stall(hours)),
         "z+": deep_taylor(stall, "rows", lambda: stall(hours)), "DeepLIFT": from_one}  # fmt: skip
for name, (coins,) in found.items():
    print(f"{name:9}", coins.round().int().tolist(), "sum", int(coins.sum().round()))
    drawn = {"epsilon": 0, "z+": 2, "DeepLIFT": 4}[name]
    assert torch.allclose(coins, torch.tensor(shares(STALL, STALL.hours, drawn, False).inputs))
print("DeepLIFT's gap, change of the answer minus its sum:", round(gap.item(), 4))

# %% [markdown]
# ## The equation
#
# A unit $j$ has the sum $z_j = \sum_i x_i w_{ij} + b_j$ and got relevance $R_j$. Input $i$ gets,
# from all units that it feeds,
#
# $$\begin{aligned}
# \text{epsilon:}\quad R_i &= \sum_j \frac{x_i w_{ij}}{z_j + \epsilon\,\text{sign}(z_j)}\, R_j \\
# \text{z+:}\quad R_i &= \sum_j \frac{\max(0,\, x_i w_{ij})}{\sum_k \max(0,\, x_k w_{kj})}\, R_j \\
# \text{DeepLIFT:}\quad m_i &= \sum_j w_{ij}\, \frac{h_j - h_j^0}{z_j - z_j^0}\, m_j,
# \qquad R_i = (x_i - x_i^0)\, m_i
# \end{aligned}$$
#
# Here $h_j$ is the unit's output, $h_j^0$ and $z_j^0$ are the same in the reference run, and $m =
# 1$ at the answer.
#
# - **Epsilon** keeps the division steady where a sum is near 0, and loses a little. The bias $b_j$
#   keeps its own share.
# - **z+** is deep Taylor's rule for inputs that are not negative, also called "alpha 1, beta 0":
#   what speaks against a unit is not asked.
# - **DeepLIFT** compares with a reference $x^0$. $m$ is the slope of the straight line between the
#   two runs: a gradient that looks further than one point.
#
# With $\epsilon = 0$, where all activation functions are ReLU, the first rule is **gradient ×
# input**.

# %% [markdown] tags=["aside"]
# ### Why the epsilon rule is gradient × input
#
# $R_j = h_j m_j$ goes back as $x_i w_{ij} m_j$ for each unit that is on, and nothing goes to one
# that is off: the chain rule, with biases and without. It adds up to the answer only without
# biases. With another activation function the two part.

# %% Equal where it should be, and not elsewhere tags=["nbval-check-output", "fold"]
torch.manual_seed(0)
for curve in (nn.ReLU, nn.Tanh):
    for bias in (False, True):
        net = nn.Sequential(nn.Linear(6, 9, bias), curve(), nn.Linear(9, 9, bias), curve(),
                            nn.Linear(9, 1, bias))  # fmt: skip
        model, x = Rows(lambda x, net=net: net(x.flatten(1))[0]), torch.randn(1, 6, 1)
        of_it = (model, "rows", lambda model=model, x=x: model(x))
        both = lrp(*of_it), gradient_x_input(*of_it)
        same = torch.allclose(*both, atol=1e-5)
        whole = torch.allclose(both[0].sum(), model(x), atol=1e-4)
        print(f"{curve.__name__}, {'biases' if bias else 'no biases'}: epsilon rule",
              "equals" if same else "differs from", "gradient x input,",
              "conserved" if whole else "not conserved")  # fmt: skip
        assert (same, whole) == (curve is nn.ReLU, not bias)
for rule, gifts, sums in ((1, False, (3, 2.25, 1.375)), (0, True, (4, 4, 3)), (2, True, (4, 4, 4))):
    found = shares(STALL, STALL.hours, rule, gifts)  # what the picture says
    assert sums == (found.answer, sum(found.units), sum(found.inputs))
without_bo = shares(STALL, (2, 0, 1), 0, False)
assert without_bo.answer == 4
norm_of = torch.nn.functional.layer_norm
two = torch.tensor([[1.0, 3.0], [2.0, 6.0]])
assert norm_of(two, (2,)).round().tolist() == [[-1, 1], [-1, 1]]

# %% [markdown]
# ## Back through a Transformer
#
# A Transformer has three parts that the stall has not: a **softmax**, a **layer norm**, and
# **products** of two things that both come from the words (weights times values). Here is the
# chapter's model, a small BERT of two layers that judges generated reviews. Only what the writer
# finds decides. It says "negative" by a margin of 2.87 (the score of its class less that of the
# other) to
#
# > critics do not find the script dull , i find the music cold .


# %% The chapter's model, and how sure it is tags=["fold"]
from deepdive_book.ch07.toys.review_words import SENTENCE, review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.kit.profile import pick, profile

POINT = "encoder.embeddings.embedded"  # the rows of the words, as they enter the first layer
toy = review_words()
reviews = generated_verdicts(16_600, seed=0)  # the toy learned from the first 16,000
TESTED = range(16_000, 16_000 + pick(ci=3, laptop=100, gpu=100, experiment=100))
FEW = 40  # of them, for who is paid


def answer(model, text):
    """A function that gives by how much the model's class beats the other, (1,): above 0."""
    tokens = toy.tokens(text)
    with torch.no_grad():
        sign = 1.0 if model(tokens)[0, 0] > model(tokens)[0, 1] else -1.0
    return lambda: model(tokens) @ torch.tensor([sign, -sign])


print(f"negative, by {answer(toy.model, SENTENCE)().item():.2f}")


# %% Rules to choose from tags=["fold"]
from deepdive.explain.backward import layer_rules
from deepdive.explain.backward.rules import passed

EPSILON = 1e-9
STEPS = ("softmax", "layer_norm", "matmul", "mul", "truediv", "scaled_dot_product_attention")


def norm(function, x, shape, weight=None, bias=None, eps=1e-5):
    """The rule of `lrp`, under which the bias is paid too."""
    y = layer_rules.layer_norm(function, x, shape, weight, bias, eps)
    return y if bias is None else passed(y, y + bias)


def ladder():
    """From gradient x input to the rules of LRP, one change at a time."""
    whole = layer_rules.rules(EPSILON, layer_rules.constant)
    shares = {name: whole[name] for name in ("linear", "addmm")}
    plain = shares | dict.fromkeys((*layer_rules.CURVES, *STEPS), layer_rules.unchanged)
    passes = plain | {name: whole[name] for name in layer_rules.CURVES}
    halves = layer_rules.rules(EPSILON, layer_rules.unchanged)
    return {"gradient x input": plain, "+ curves hand on": passes,
            "+ norm's divisor held": passes | {"layer_norm": norm},
            "+ products halved": halves | {"layer_norm": norm},
            "weights held instead": whole | {"layer_norm": norm}}  # fmt: skip


# %% Who is paid: words, biases, nobody tags=["fold"]
from deepdive.explain.backward.rules import Rules
from deepdive.explain.tracing import traced


def paid(model, output, rules):
    """The answer, what the words get, and what the biases get."""
    named = dict(model.named_parameters())
    biases = [p.requires_grad_() for name, p in named.items() if name.endswith("bias")]
    for name, p in named.items():
        p.requires_grad_(name.endswith("bias"))  # what is in the graph has a share
    with Rules(rules):
        rows, number = traced(model, POINT, output)
        slopes = torch.autograd.grad(number[0, 0], [rows, *biases], materialize_grads=True)
    to_biases = sum((p.detach() * slope).sum() for p, slope in zip(biases, slopes[1:], strict=True))
    to_words = (rows.detach() * slopes[0]).sum()
    return float(number[0, 0].detach()), float(to_words), float(to_biases)


# %% Add it up tags=["fold"]
def ledger(model, texts):
    """For each set of rules the shares of all answers, in %, of words, biases and nobody."""
    found = {}
    for name, rules in ladder().items():
        rows = [paid(model, answer(model, text), rules) for text in texts]
        whole, words, biases = (sum(column) for column in zip(*rows, strict=True))
        shares = [100 * words / whole, 100 * biases / whole]
        found[name] = [round(share, 1) for share in (*shares, 100 - sum(shares))]
    return found


# %% The methods tags=["fold"]
def blank(model, text):
    """The rows of a text whose words are all [MASK], (S + 2, d)."""
    tokens = toy.tokens(text)
    tokens[:, 1:-1] = toy.mask
    with torch.no_grad(), record(model, POINT) as seen:
        model(tokens)
    return seen[POINT][0][0]


METHODS = {
    "gradient x input": lambda model, output, _: gradient_x_input(model, POINT, output),
    "LRP": lambda model, output, _: lrp(model, POINT, output),
    "AttnLRP": lambda model, output, _: attn_lrp(model, POINT, output),
    "deep Taylor (z+)": lambda model, output, _: deep_taylor(model, POINT, output),
    "DeepLIFT, from zero": lambda model, output, _: deeplift(model, POINT, output)[0],
    "DeepLIFT, from [MASK]": lambda model, output, b: deeplift(model, POINT, output, b)[0],
    "integrated gradients": lambda model, output, b: integrated_gradients(
        model, POINT, output, b)[0],
}  # fmt: skip


# %% Held to the truth tags=["fold"]
from deepdive.explain.evaluation.agreement import recovery
from deepdive.explain.evaluation.faithfulness import deletion
from deepdive.explain.games.game import grouped
from deepdive.explain.games.removal import masked

GONE = 6  # words hidden, one after the other, in the curves


# %% Judge one text tags=["fold"]
def judged(model, place):
    """For each method its first word; and if it decides, recovery, what is paid, a curve."""
    text, cause = (
        reviews.texts[place],
        torch.zeros(len(reviews.texts[place].split()), dtype=torch.bool),
    )
    cause[[*reviews.deciding[place], reviews.writer[place]]] = True
    output, baseline = answer(model, text), blank(model, text)
    sign = torch.sign(model(toy.tokens(text)) @ torch.tensor([1.0, -1.0])).detach()
    draw = torch.Generator().manual_seed(place)
    values = {name: way(model, output, baseline)[0] for name, way in METHODS.items()}
    values["random order"] = torch.rand(len(cause) + 2, generator=draw) * output().item()
    margin = lambda tokens: sign * (model(tokens) @ torch.tensor([1.0, -1.0]))  # noqa: E731
    words = grouped(masked(margin, toy.tokens(text)[0], toy.mask),
                    torch.tensor([-1, *range(len(cause)), -1]))  # fmt: skip
    with torch.no_grad():
        curves = deletion(words, torch.stack([v[1:-1].abs() for v in values.values()]))
    first = {name: int(v[1:-1].abs().argmax()) for name, v in values.items()}
    return first, {name: [float(cause[first[name]]), recovery(v[1:-1].abs(), cause),
                          float(v.sum()), *curve[: GONE + 1].tolist()]
                   for (name, v), curve in zip(values.items(), curves, strict=True)}  # fmt: skip


# %% Train deeper ones tags=["fold"]
from functools import cache

from deepdive.data import BucketBatches
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.tasks.classification import encode, loss, mask_words


# %% Train one tags=["fold"]
@cache
def train(layers, seed, steps, wrong):
    """A classifier like the toy, of which a share of the labels it learned from was wrong."""
    torch.manual_seed(seed)
    encoder = bert(vocab_size=len(toy.tokenizer), d_model=32, n_heads=2, n_layers=layers, d_ff=64,
                   max_length=24, n_segments=0, dropout=0.0)  # fmt: skip
    model, draw = Classifier(encoder, 32, 2, dropout=0.0), torch.Generator().manual_seed(seed)

    def blanks(model, batch):
        labels, tokens = batch
        rate = 0.6 * torch.rand(len(tokens), 1, generator=draw)
        return loss(model, (labels, mask_words(tokens, rate, 5, toy.mask, draw)))

    known = reviews.take(range(pick(ci=200, laptop=16_000, gpu=16_000, experiment=16_000)))
    turned = torch.rand(len(known), generator=draw) < wrong
    labels = (torch.tensor(known.labels) ^ turned)[:, None].tolist()
    batches = BucketBatches(
        (labels, encode(known.texts, toy.tokenizer)), max_tokens=1000, seed=seed
    )
    schedule = cosine(3e-3 if layers == 2 else 1e-3, warmup=min(100, steps // 2), total=steps)
    fit(model, batches, blanks, steps=steps, optimizer=adam(model), schedule=schedule,
        progress=False)  # fmt: skip
    return model.eval()


# %% What is measured tags=["fold"]
from statistics import mean

from deepdive_book.kit.experiments import results_path, share, sweep


def measure(layers, seed, steps, wrong):
    """Who is paid, and who is found; seed 0 is the chapter's own model."""
    model = train(layers, seed, steps, wrong) if seed else toy.model
    rows = [judged(model, place) for place in TESTED if layers == 2 or place < TESTED[2]]
    means = {name: [mean(c) for c in zip(*(row[name] for _, row in rows), strict=True)]
             for name in rows[0][1]}  # fmt: skip
    truth = {
        name: [round(v, 4) for v in (*m[:2], *(part / m[3] for part in m[2:]))]
        for name, m in means.items()
    }  # what is paid and left, as shares of the answers
    firsts = {name: [first[name] for first, _ in rows] for name in means}
    texts = [reviews.texts[place] for place in TESTED]
    with torch.no_grad():
        said = [int(model(toy.tokens(text))[0].argmax()) for text in texts]
    right = mean(a == reviews.labels[p] for a, p in zip(said, TESTED, strict=True))
    return {"right": round(right, 4), "ledger": ledger(model, texts[:FEW]), "truth": truth,
            "firsts": firsts}  # fmt: skip


# %% Measure, or read what was kept tags=["fold"]
import json

long, short = (pick(ci=5, laptop=5, gpu=5, experiment=round(n * share())) for n in (1500, 600))
points = [{"layers": 2, "seed": 0, "steps": 0, "wrong": 0.05}]  # the toy
if profile() in ("ci", "experiment"):
    settings = [(2, long, 0.05), (2, short, 0.0), (6, short, 0.05)]
    points += [{"layers": n, "seed": s, "steps": steps, "wrong": wrong}
               for n, steps, wrong in settings for s in (1, 2, 3)]  # fmt: skip
points = points[:2] if profile() == "ci" else points
file = results_path("07_explain", "relevance")
measured = sweep(measure, points, file if profile() == "experiment" else None, minutes=60)
runs = measured
if profile() != "ci" and file is not None and file.is_file():
    runs = measured[:1] + [r for r in json.loads(file.read_text())["rows"] if r["seed"]]
print(f"measured here: {len(TESTED)} reviews;", "trained beforehand:", len(runs) - 1, "models")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "We pay such answers back. Linear layers use the epsilon rule; softmax, layer norm and "
    "products hand on by their ordinary gradient, each input's part being input times slope. How "
    "much of the answers arrives at the words?",
    ["nearly all of it: only the biases keep their shares",
     "about half of it",
     "next to nothing",
     "several times as much as there was"],
    answer=2,
    explain="A layer norm says the same of a row and of its double. Along the row its slope is 0, "
    "and input times slope adds up to 0: what reaches a norm from above is not handed on. Products "
    "below it can bring some back: on real sentences page 7.2 finds half.",
    key="07_explain/plain-rule",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Who is paid tags=["surprise", "fold"]
from deepdive_book.kit.tables import table


def of(layers, wrong=0.05):
    """The runs of this depth that learned from so many wrong labels, without the toy."""
    return [r for r in runs if r["seed"] and (r["layers"], r["wrong"]) == (layers, wrong)]


def spread(values, digits=0):
    """The mean of the runs, and in brackets the lowest and the highest."""
    ends = (mean(values), min(values), max(values)) if values else ()
    shown = [f"{v:.{digits}f}".replace("-0.0", "0.0") for v in ends]
    return "{} ({} to {})".format(*shown) if values[1:] else "".join(shown[:1])


own = [run for run in runs if not run["seed"]]
lines = [[name, *(spread([run["ledger"][name][part] for run in own], 1) for part in range(3))]
         for name in ladder()]  # fmt: skip
table(lines, ["rules", "words", "biases", "nobody"],
      caption=f"{len(TESTED[:FEW])} reviews, the chapter's model; paid of 100 of all answers; "
      "each row changes one rule more")  # fmt: skip

# %% [markdown]
# With the first row nobody is paid. A **layer norm** takes the mean away and divides by the
# deviation: $(1, 3)$ becomes $(-1, 1)$, and so does its double $(2, 6)$. Nothing changes along the
# row, so at the norm's own input the relevance is 0 in sum. (Such sums are also small where a model
# is sure, see [gradients](02_gradients.ipynb).) Each repair, one by one:
#
# - **Activation functions pass all on** (*curves hand on*; GELU, tanh): one input, one output. The
#   norm still blocks.
# - **The norm's divisor is held** as a constant. Then a norm is a linear layer, and the words get
#   too much: in a product $a \cdot b$ each factor claims the whole.
# - **Products are halved** between the two factors. These are the rules of AttnLRP, and about half
#   of the relevance is lost. A **softmax** says the same if all scores rise by one: its weights are
#   slope times scores *and a constant*, and the constant's part goes to nobody.
# - **Weights are held** instead. This variant (CP-LRP, Ali et al. 2022) is what *LRP* means from
#   here on, in the tables too: attention then mixes values linearly, and nothing is lost. The words
#   get a little more than all, because the biases' sum is negative. The price: who looked where is
#   taken as given, and no query and no key gets relevance.
#
# And in other models, and deeper ones?

# %% The same in other models tags=["fold"]
GROUPS = {"the chapter's model": own, "2 layers, other seeds": of(2),
          "2 layers, no wrong labels": of(2, 0.0), "6 layers": of(6)}  # fmt: skip
named = {"gradient x input": ("gradient x input", 0), "AttnLRP": ("+ products halved", 0),
         "LRP": ("weights held instead", 0),
         "LRP, biases": ("weights held instead", 1)}  # fmt: skip
lines = [[group, *(spread([run["ledger"][name][part] for run in found])
                   for name, part in named.values())]
         for group, found in GROUPS.items() if found]  # fmt: skip
table(lines, ["models", *named],
      caption=f"{len(TESTED[:FEW])} reviews; paid to the words, and in the last column to the "
      "biases, of 100 of all answers; of three seeds the mean (lowest to highest)")  # fmt: skip

# %% [markdown]
# Gradient x input gives the words at most 13 of 100 in any of these networks. What AttnLRP gives
# them depends on the network: 36 of 100 in one, 107 in another. Under LRP words and biases together
# get the whole answer.

# %% [markdown]
# ## Paid in full, and paid rightly?
#
# In our reviews we know the words that decide: the adjectives of what the writer finds, the *not*
# before them, and the *i* that says whose words they are (7.1 and 7.2 do not count it). Who is paid
# in the chapter's sentence?

# %% One sentence under each rule tags=["fold"]
from deepdive_book.kit.attribution_text import colored

words, output = SENTENCE.split(), answer(toy.model, SENTENCE)
given = {name: way(toy.model, output, blank(toy.model, SENTENCE))[0, 1:-1]
         for name, way in METHODS.items() if name != "DeepLIFT, from zero"}  # fmt: skip
colored(words, given)

# %% [markdown]
# *Blue, above the line, speaks for "negative", orange, below it, against; each row has its own
# unit. What decides is `cold`, and that `i` says it.*

# %% The same in numbers tags=["fold"]
whole = output().item()
chosen = [words.index(word) for word in ("dull", "i", "cold")]
table([[name, *(f"{row[k]:.2f}" for k in chosen), f"{row.sum():.2f}"]
       for name, row in given.items()],
      ["method", *(words[k] for k in chosen), "all words"],
      caption=f"paid to the words, of {whole:.2f}; [CLS] and [SEP] may get a part too")  # fmt: skip

# %% How often a deciding word comes first tags=["slide", "fold"]
from deepdive.evaluate import bootstrap


def interval(values):
    """The mean in per cent, with the bootstrap's 95 % interval."""
    return "{:.0f} [{:.0f}, {:.0f}]".format(*(100 * v for v in bootstrap(values)))


def decides(review, place):
    """Whether the word at this place is one that decides."""
    return float(place in (*reviews.deciding[review], reviews.writer[review]))


rows = own[0]["truth"]
lines = [[name, "" if "random" in name else f"{100 * rows[name][2]:.0f}",
          interval([decides(*pair) for pair in zip(TESTED, found, strict=True)])]
         for name, found in own[0]["firsts"].items()]  # fmt: skip
table(lines, ["method", "paid", "finds, %"],
      caption=f"{len(TESTED)} reviews, the chapter's model. Paid: to the words, of 100 of the "
      "answer. Finds: a deciding word gets the largest share [95 % interval]")  # fmt: skip

# %% [markdown]
# - **The sum says nothing about who is paid.** Of the methods that pay nearly the whole answer, LRP
#   finds a deciding word in 98 of 100 reviews and deep Taylor in 80, and their intervals do not
#   meet. AttnLRP pays half, and finds 94.
# - **The reference decides.** DeepLIFT finds 93 from a text of blanks and 66 from rows of zeros.
# - LRP, AttnLRP, DeepLIFT from [MASK] and integrated gradients cannot be ranked here: their
#   intervals overlap.
#
# ## Another seed

# %% tags=["fold"]
predict(
    "Three more networks of the same form learn the same task by other random draws. They judge 94 "
    "to 99 of 100 reviews rightly. On the chapter's model LRP finds a deciding word nearly always. "
    "How often on these three?",
    ["nearly always again", "nearly always in two of them, seldom in the third",
     "in about four to six reviews of ten, in each of the three"],
    answer=2,
    explain="A rule reads what a network does, and each network does it in its own way. What was "
    "tested on one is not tested on the next.",
    key="07_explain/another-seed",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The same table for other seeds tags=["surprise", "fold"]
lines = [["reviews judged rightly", spread([100 * run["right"] for run in of(2)])]]
lines += [[name, spread([100 * run["truth"][name][0] for run in of(2)])] for name in rows]
table(lines, ["of 100", "other seeds"],
      caption="how often a deciding word gets the largest share: the mean of three networks "
      "(lowest to highest)")  # fmt: skip

# %% Who is paid instead tags=["fold"]
from collections import Counter

from deepdive_book.data.synthetic_reviews import BAD, GOOD


def kind(review, place):
    """What kind of word stands at this place."""
    word = reviews.texts[review].split()[place]
    mine = "the writer's" if place in reviews.deciding[review] else "another's"
    known = {"i": "the writer's `i`", "not": f"{mine} `not`"}.get(word)
    return known or (f"{mine} adjective" if word in GOOD + BAD else "any other word")


SHOWN = ("LRP", "AttnLRP", "DeepLIFT, from [MASK]", "random order")
count = {name: Counter(kind(*pair) for run in of(2) or own
                       for pair in zip(TESTED, run["firsts"][name], strict=False))
         for name in SHOWN}  # fmt: skip
order = sorted({k for each in count.values() for k in each}, key=lambda k: -count["LRP"][k])
table([[k, *(f"{100 * each[k] / each.total():.0f}" for each in count.values())] for k in order],
      ["the largest share goes to", *SHOWN], caption="other seeds, of 100 reviews")  # fmt: skip

# %% [markdown]
# The rules are the same, the networks are not. LRP finds a deciding word in 39 to 61 of 100
# reviews, AttnLRP in 38 to 59. About half of LRP's first places go to words that decide nothing for
# us, 8 of 100 to an adjective of somebody else. DeepLIFT and integrated gradients, which start from
# [MASK], find more than these two in each of the three networks (64 of 100 at least), but not in
# the chapter's, so this is no rule for the next one. And right answers do not prove that a network
# follows our rule; where it does not, a right explanation must not show it.

# %% [markdown] tags=["aside"]
# ### Taking words away

# %% What is left of the answer tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

STYLES = {"gradient x input": ("#CC79A7", "-"), "LRP": ("#0072B2", "-"),
          "AttnLRP": ("#009E73", "-"), "DeepLIFT, from [MASK]": ("#D55E00", "--"),
          "integrated gradients": ("#E69F00", "-."), "random order": ("#8a8a8a", ":")}  # fmt: skip
figure = Figure(figsize=(4.8, 4.0), layout="constrained")
axes = figure.subplots()
for name, (color, line) in STYLES.items():
    curves = torch.tensor([run["truth"][name][3:] for run in (of(2) or own)]) * 100
    axes.plot(range(GONE + 1), curves.mean(0), line, color=color, label=name)
    axes.fill_between(range(GONE + 1), curves.amin(0), curves.amax(0), color=color, alpha=0.12)
axes.set(xlabel="words hidden, largest shares first", ylabel="left of the answer, %")
figure.legend(loc="outside lower center", frameon=False, fontsize=8, ncols=2)
with_alt(figure, "Six curves that fall from 100 %, each with a band: random order slowest, the "
         "others steeply with the first two words hidden.")  # fmt: skip

# %% What is left, in numbers tags=["fold"]
table([[name, *(spread([100 * run["truth"][name][k] for run in of(2) or own]) for k in (4, 5))]
       for name in rows], ["method", "one word hidden", "two hidden"],
      caption="left of the answer, in %: other seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# *Mean of the three other seeds, bands from the lowest to the highest.*
#
# The first word of any method takes more than a random one in each seed: at most 83% of the answer
# is left, and after a random one at least 93%. So what is paid does count for these networks, also
# where it is not what our rule says. After one word integrated gradients leave least on average.
# But hiding by [MASK] suits a method that starts from [MASK], so this is no ranking.

# %% [markdown]
# ### Common mistake: a sum that is right, taken for a proof
#
# A test that the sum is the answer passes, and the explanation is believed. **Symptom:** the test
# passes for wrong rules, too: paying the whole answer to the full stop is conserved. **Fix:** use
# the sum to find a part without a rule, and the biases' share; test the explanation on causes that
# are known.
#
# <details><summary>A case of our own</summary>
#
# Our library's DeepLIFT, conserved to the last digit, paid one word thousands of times the answer,
# until the division by sums near 0 in the softmax was mended.
#
# </details>

# %% Conserved, and wrong tags=["nbval-check-output", "fold"]
everything = torch.zeros(len(words))
everything[-1] = output().item()  # the full stop
assert torch.allclose(everything.sum(), output())
print("conserved, paid to:", words[int(everything.argmax())])

# %% [markdown]
# ## In practice
#
# - **First** test the method on your own model, with causes that you planted there. What it found
#   in another model says little.
# - **Reference:** for DeepLIFT and integrated gradients take a text of [MASK], not rows of zeros,
#   for which a layer norm divides by nearly nothing.
# - **Shares that add up, in one backward pass:** LRP with attention's weights held. z+ is for
#   networks of ReLU, such as those for images.
# - **Explain** the margin of two classes, before softmax and logarithm, and look what the biases
#   are paid before you believe a sum.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does the epsilon in the epsilon rule do, and what does it cost?
#
#    <details><summary>Answer</summary>
#
#    It keeps a share finite where a sum is near 0; each layer pays a little less than it got.
#
#    </details>
# 2. Where does relevance go that the words do not get?
#
#    <details><summary>Answer</summary>
#
#    To biases, to epsilon, and to constants that a rule leaves out, like the softmax's in AttnLRP.
#
#    </details>
# 3. Why does gradient x input pay nothing through a layer norm?
#
#    <details><summary>Answer</summary>
#
#    A norm says the same of a row and its double: its slope along the row is 0.
#
#    </details>
# 4. What does the z+ rule never say?
#
#    <details><summary>Answer</summary>
#
#    Behind a ReLU: that something speaks against the answer. What speaks against is not asked.
#
#    </details>
# 5. What must be chosen for DeepLIFT, and not for the rules of LRP?
#
#    <details><summary>Answer</summary>
#
#    The reference. It pays the difference from it, so another reference is another question.
#
#    </details>
#
# ## Exercises
#
# Each of the first two breaks a promise.
#
# 1. *(on paper, 4 min)* $f(a, b) = \min(1, a + b) = 1 - \text{relu}(1 - a - b)$ at $(1, 1)$. What
#    do gradient x input and DeepLIFT from $(0, 0)$ pay? Which promise is broken?
#
#    <details><summary>Answer</summary>
#
#    Gradient x input pays 0 and 0: the sum is not 1, and that something changed is not seen. The
#    rise is 1, and DeepLIFT pays a half to each.
#
#    </details>
# 2. *(on paper, 5 min)* One linear layer says $2a - a + b - b$, which is $a$. What do the epsilon
#    rule and z+ pay at $a = 3$, $b = 5$? Which promise is broken?
#
#    <details><summary>Answer</summary>
#
#    Epsilon: 3 and 0. z+ asks only what adds, $6$ and $5$: of the 3, $a$ gets 6 parts of 11, and
#    $b$, which does nothing, gets 5. It is conserved, and $b$ is paid. The same function written as
#    $a$ alone would be paid back otherwise: implementation invariance is broken.
#
#    </details>
# 3. *(on paper, 3 min)* Ann works 3 hours, Bo 1, Cy 2. What does each rule pay?
#
#    <details><summary>Answer</summary>
#
#    Soup 4, cake 0, till 4. Epsilon: 6, −2, 0. z+: 4, 0, 0. DeepLIFT from 1 hour each: 4 for Ann,
#    since Bo's time is the reference's; Cy's second hour closes the cakes, which costs him 1.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
full = Rows(lambda x: 1 - (1 - x.sum((1, 2))).relu())
pair = torch.ones(1, 2, 1)
for found in (gradient_x_input(full, "rows", lambda: full(pair)),
              deeplift(full, "rows", lambda: full(pair))[0]):  # fmt: skip
    print(found[0].tolist(), end=" ")
print()
three = torch.tensor([[[3.0], [5.0]]])
parts = nn.Linear(4, 1, bias=False)
parts.weight.data = torch.tensor([[2.0, -1.0, 1.0, -1.0]])  # of a, a, b, b
wide = Rows(lambda x: parts(x.flatten(1)[:, [0, 0, 1, 1]])[0])
for way in (lrp, deep_taylor):
    print([round(11 * v) for v in way(wide, "rows", lambda: wide(three))[0].tolist()], "elevenths")
for rule in (0, 2, 4):
    print([round(v) for v in shares(STALL, (3, 1, 2), rule, False).inputs])

# %% [markdown]
# ## Summary
#
# Relevance propagation pays an answer back, layer by layer, by a rule that each part of the model
# must have: through layer norm, softmax and products the plain gradient pays little in our
# networks, 13 of 100 at most, and with the norm's divisor and the attention's weights held it pays
# all but what biases take. Which rule is used decides who is paid, and a sum that fits does not say
# that it is right. Back to the stall: Ann is paid 4 or 2 of the three coins, Bo nothing or 1, Cy −1
# or nothing; and of the network's 2.87 *cold* is paid 3.68 by LRP and 2.02 by AttnLRP. Say who was
# paid only with the rule beside it, and after the rule has found causes that you knew in the same
# network.
#
# ## Further reading
#
# - Bach, Binder, Montavon, Klauschen, Müller, Samek (2015), *On Pixel-Wise Explanations*: the rules
#   of relevance, and why it should be conserved.
# - Montavon, Lapuschkin, Binder, Samek, Müller (2017), *Explaining Nonlinear
#   Classification Decisions with Deep Taylor Decomposition*: where z+ comes from.
# - Shrikumar, Greenside, Kundaje (2017), *DeepLIFT*: section 3 for references and multipliers.
# - Ali, Schnake, Eberle, Montavon, Müller, Wolf (2022), *XAI for Transformers: Better Explanations
#   through Conservative Propagation*: attention and norm held constant.
# - Achtibat et al. (2024), *AttnLRP*: rules for softmax and products, tried on large models.

# %% [markdown] tags=["slide"]
# # Translation language modeling (TLM): masked words in two languages
#
# *She drinks ____ at night.* Tea? Water? Read the same in French, *elle boit du lait la nuit*, and
# only one word fits: milk. A **lesson** is a task to train on: what a model is shown, and what it
# has to say. One sentence and its translation give many: hide words in one line or both, mix the
# lines, let a gap look here and not there. From which does a model learn that *milk* and *lait*
# belong together?
#
# <small>Prerequisites: [hide a word, and guess it](../03_bert/03_masking.ipynb),
# [masks](../02_transformer/07_masks.ipynb) · 20 min · runs on a laptop; results of the long runs
# are included</small>

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

# %% A pair, its gaps, and who looks where tags=["fold"]
import torch

from deepdive.models.multilingual.ernie_m import cross_lingual_mask
from deepdive.training.objectives import code_switch, phrase_pairs
from deepdive_book.ch04.figures.cross_lingual_masks import Example, cross_lingual_masks

EN = ["she", "drinks", "milk", "at", "night"]
FR = ["elle", "boit", "du", "lait", "la", "nuit"]
pair, lines = EN + FR, [0] * len(EN) + [1] * len(FR)
gaps = {2: "milk", 10: "nuit"}
second = torch.tensor([lines]).bool()
hidden = torch.tensor([[t in gaps for t in range(len(pair))]])
every = torch.ones(len(pair), len(pair), dtype=torch.bool)
own = second[0][:, None] == second[0]
across = cross_lingual_mask(second, hidden, torch.ones_like(hidden))[0]
cut = [None if t in gaps else word for t, word in enumerate(pair)]

links = [(0, 0), (1, 1), (2, 2), (2, 3), (3, 4), (4, 5)]  # she elle, drinks boit, ...
mixed, foreign = code_switch([*range(5)], [*range(5, 11)], phrase_pairs(links, 5, 6), 0.4,
                             torch.Generator().manual_seed(0))  # fmt: skip
both = [pair[i] for i in mixed]
hole, n = both.index("milk"), len(both)
both[hole] = None

# %% Eight lessons tags=["fold"]
LESSONS = [
    Example("masked", cut, lines, own, gaps, "Masked language modelling (MLM), as in BERT, in each "
           "line by itself: a gap is filled by its neighbours."),
    Example("translation", cut, lines, every, gaps, "Translation language modelling (TLM), XLM: "
           "both lines are one text. A gap may use its neighbours, the other line, or both."),
    Example("look across", cut, lines, across, gaps, "Cross-attention masked language modelling "
           "(CAMLM), ERNIE-M: a gap may look at the other line only. Words look at their own."),
    Example("mixed", both, [0] * n, [[True] * n] * n, {hole: "milk"}, "Alternating language "
           "modelling (ALM): phrases of the translation replace the sentence's own.", foreign),
    Example("written", [*cut[:5], "boit", "lait", "nuit"], [0] * 5 + [1] * 3, [[True] * 8] * 8,
           {2: "milk"}, "Back-translation masked language modelling (BTMLM), ERNIE-M: the model "
           "writes some French, by looking across. Then the gap is filled from both lines."),
    Example("recovered", [None] * 5 + FR, lines, second.expand(11, -1), dict(enumerate(EN)),
           "Word recovery, Unicoder: each English word chooses a mixture of French words, and is "
           "thrown away. From the mixtures the whole line is to be said again."),
    Example("one vector", pair, lines, own, {0: "elle boit ...", 5: "she drinks ..."}, "InfoXLM, "
           "HICTL, LaBSE, mUSE: nothing is hidden. Each line becomes one vector, which must find "
           "the other line's among those of many sentences."),
]  # fmt: skip

# %% Who may look at whom tags=["fold"]
aligned = Example("aligned", pair, lines, ~own, {}, "AMBER: nothing is hidden. Where a word looks "
                 "in the other line, the word there has to look back.", pick=2)  # fmt: skip
cross_lingual_masks([*LESSONS, aligned], first=1)

# %% [markdown]
# *Blue is English, green is French. Full boxes are what the framed word may look at; what has to be
# said at a box stands below it, in bold. Choose a lesson, then press words, or use the arrow keys.*
#
# 1. In which lesson can the gap of *milk* be filled by *lait*, and by no word of its own line?
# 2. Take *look across*. Why may the word *boit* not look at *drinks*?
# 3. In which of the eight does French not help with the English line at all?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. *Look across*. (In *recovered* each English word is replaced by a mixture of French words that
#    it picked itself.)
# 2. The gap looks at *boit*. If *boit* had looked at *drinks*, the gap would hear of its own line
#    after all, by a detour of two layers.
# 3. *Masked*: no way leads from one line to the other.
#
# </details>
#
# The first three lessons have the same words and the same gaps. Only one thing differs: who may
# look at whom. So these three can be compared. The other five are not measured here.

# %% [markdown] tags=["slide"]
# ## By hand: what a translation is worth
#
# Eight times the model has read *she drinks ____ at night*: 4 times it was tea, 2 times milk, once
# water, once beer. The right word, if the model gives it the share $p$, costs $\log_2 \frac1p$
# **bits**: tea has a share of $\frac48$ and costs $\log_2 \frac84 = 1$ bit, milk 2, water 3, beer
# 3. On average
#
# $$\tfrac{4}{8} \cdot 1 + \tfrac{2}{8} \cdot 2 + \tfrac{1}{8} \cdot 3 + \tfrac{1}{8} \cdot 3 =
# \tfrac{14}{8} = 1.75 \text{ bits.}$$
#
# With its translation in sight the gap costs a perfect model 0 bits. But the translation lesson
# hides words in both lines. Say it hides one word in four: then *lait* is gone one time in four,
# and a gap costs
#
# $$\tfrac14 \cdot 1.75 + \tfrac34 \cdot 0 \approx 0.44 \text{ bits.}$$
#
# In this example only *lait* leads from 1.75 to 0.44: a model has to find it, and to know what it
# means.

# %% Check the sum tags=["nbval-check-output", "fold"]
from math import log2

counts = {"tea": 4, "milk": 2, "water": 1, "beer": 1}
bits = {word: log2(8 / c) for word, c in counts.items()}
alone = sum(c / 8 * bits[word] for word, c in counts.items())
assert (bits, alone, alone / 4) == ({"tea": 1, "milk": 2, "water": 3, "beer": 3}, 1.75, 0.4375)
print(f"alone: {alone} bits", f"a quarter of the translation hidden: {alone / 4:.2f}", sep="\n")

# %% [markdown]
# ## One batch, three masks
#
# Real sentences now: English and French from Tatoeba, short, of the 300 commonest words of each. A
# row of a batch holds a pair, first the English line, then the French (`join_translations`). Places
# count from 0 in each line, and BERT's table of segments says which line it is. One in seven words
# is hidden. Of the 400 pairs of the test only 2 are trained on too, but of 157 at least one line
# is: Tatoeba gives many a sentence several translations.

# %% The pairs tags=["fold"]
import re
from collections import Counter

from deepdive.data.generated import number_translation
from deepdive.data.parallel import without_overlap
from deepdive.data.text import pairs, retrieval_pairs
from deepdive_book.kit.profile import banner, pick, profile

real = profile() != "ci"
if real:  # none of them stands in the test of retrieval
    drawn = without_overlap(pairs("tatoeba_eng_fra")[:100_000],
                            retrieval_pairs("fra", seed=None)).pairs  # fmt: skip
else:
    drawn = number_translation("en", "fr", 900, 0, 999)
print(banner("tatoeba_eng_fra (real)" if real else "numbers in words (generated)"))
split = re.compile(r"\w+(?:'(?=\w))?|[^\w\s]").findall
cut_up = [[split(side.lower()) for side in both] for both in drawn]
short = [both for both in cut_up if all(2 < len(side) < 9 for side in both)]
often = [Counter(w for both in short for w in both[k]).most_common(300) for k in (0, 1)]
ids = [{w: i for i, (w, _) in enumerate(often[k], 2 + 300 * k)} for k in (0, 1)]
known = [[[ids[k][w] for w in both[k]] for k in (0, 1)] for both in short
         if all(w in ids[k] for k in (0, 1) for w in both[k])]  # fmt: skip
HELD = pick(ci=60, laptop=400, gpu=400)
test, train = known[:HELD], known[HELD:]
print(f"{len(train):,} pairs to learn from, {len(test)} to test", "for example",
      *map(" ".join, short[1]), sep="\n")  # fmt: skip

# %% Lines that were seen, and what words cost without a context tags=["fold"]
seen = [{tuple(both[k]) for both in train} for k in (0, 1)]
fresh = [both for both in test if not any(tuple(both[k]) in seen[k] for k in (0, 1))]
print(f"of the {len(test)} pairs of the test",
      f"{sum(both in train for both in test)} stand among those to learn from,",
      f"{len(test) - len(fresh)} have a line of one of those", sep="\n")  # fmt: skip

counts = [Counter(w for both in train for w in both[k]) for k in (0, 1)]
asked = [(k, w) for both in test for k in (0, 1) for w in both[k]]
even = sum(log2(len(ids[k])) for k, _ in asked) / len(asked)
by_share = sum(log2((counts[k].total() + len(ids[k])) / (counts[k][w] + 1)) for k, w in asked)
by_share /= len(asked)  # each word counted once more than it was seen

# %% Rows, gaps and the model tags=["fold"]
from deepdive.layers.heads import initialize
from deepdive.models.bert.bert import bert
from deepdive.models.bert.pretraining import for_masked_lm
from deepdive.training.objectives import TranslationPairs, join_translations

PAD, MASK = 0, 1


def joined(some):
    return join_translations([a for a, _ in some], [b for _, b in some], (0, 1), PAD)


def gaps_of(rows, draw=None):
    """Which words are hidden: one in seven, and in each line one word at least is left."""
    chosen = (torch.rand(rows.real.shape, generator=draw) < 1 / 7) & rows.real
    left = rows.real & ~chosen
    fine = (left & rows.second).any(1) & (left & ~rows.second).any(1)
    return chosen & fine[:, None]


# %% The model tags=["fold"]
def built(seed):
    torch.manual_seed(seed)
    net = for_masked_lm(bert(vocab_size=602, d_model=64, n_heads=4, n_layers=2, d_ff=128,
                             max_length=16, dropout=0.0))  # fmt: skip
    initialize(net, 0.1)
    return net


whole = joined(train)
moved = [(a, train[(i + 1) % len(train)][1]) for i, (a, _) in enumerate(train)]
doubtful = joined(train + moved)  # true pairs, then wrong ones

# %% [markdown]
# All that makes three lessons of it:


# %% Three lessons
def sees(lesson, rows, hidden):
    """Who may look at whom, (B, T, T)."""
    if lesson == "masked":
        return rows.second[:, :, None] == rows.second[:, None, :]
    if lesson == "look across":
        return cross_lingual_mask(rows.second, hidden, rows.real)
    return rows.real[:, None, :].expand(-1, rows.real.shape[1], -1)  # translation: all


# %% States and loss tags=["fold"]
from deepdive.core.masks import Dense, Padding
from deepdive.training.objectives import cross_entropy


def states(net, rows, hidden, mask):
    embedded = net.bert.embeddings(
        rows.tokens.masked_fill(hidden, MASK), rows.second.long(), rows.positions
    )
    return net.bert.stack(embedded, mask=Padding(rows.real) & Dense(mask[:, None]))


def loss_of(lesson, net, rows, hidden):
    """In bits for a gap."""
    found = states(net, rows, hidden, sees(lesson, rows, hidden))[hidden]
    return cross_entropy(net.masked_logits(found), rows.tokens[hidden], pad=None) / log(2)


# %% Train tags=["fold"]
from math import log

from deepdive.training import fit
from deepdive.training.optim import adam


def taught(lesson, seed, steps):
    """Return a model that has had this lesson, and the losses on its way."""
    net, rate = built(seed), 5e-3
    draw = torch.Generator().manual_seed(seed)
    batches = list(torch.randint(len(train), (steps, 64), generator=draw))

    def loss(net, at):
        given = whole
        if lesson == "doubt":  # one in five has the second line of another pair
            given, at = doubtful, at + len(train) * (torch.rand(len(at)) < 0.2)
        rows = TranslationPairs(*(each[at] for each in given))
        return loss_of(lesson, net, rows, gaps_of(rows))

    history = fit(net, batches, loss, steps=steps, seed=seed, progress=False,
                  optimizer=adam(net, lr=rate, betas=(0.9, 0.98)),
                  schedule=lambda t: rate * min(t / 50, 1.0) * (1 - (t - 1) / steps))  # fmt: skip
    return net.eval(), history.losses


# %% Judge tags=["fold"]
@torch.no_grad()
def judged(lesson, net, some):
    """Bits for a gap, over four draws of gaps in the held-out pairs."""
    draw, rows, total, count = torch.Generator().manual_seed(9), joined(some), 0.0, 0
    for _ in range(4):
        hidden = gaps_of(rows, draw)
        total += float(loss_of(lesson, net, rows, hidden)) * int(hidden.sum())
        count += int(hidden.sum())
    return total / count


# %% [markdown]
# The same pairs, the same gaps, the same first weights. First the two best known lessons, three
# seeds of each:

# %% Two lessons, three seeds tags=["fold"]
from deepdive_book.kit.tables import table

STEPS, SEEDS = pick(ci=60, laptop=300, gpu=300), (0, 1, 2)
live = {(lesson, seed): taught(lesson, seed, STEPS)
        for lesson in ("masked", "translation") for seed in SEEDS}  # fmt: skip
bits_of = {key: judged(key[0], net, test) for key, (net, _) in live.items()}
if real:
    assert all(bits_of["translation", s] < bits_of["masked", s] for s in SEEDS)
table([[lesson, *(bits_of[lesson, s] for s in SEEDS)] for lesson in ("masked", "translation")],
      ["lesson", *(f"seed {s}" for s in SEEDS)], formats={f"seed {s}": ".2f" for s in SEEDS},
      caption=f"bits for a gap, {len(test)} held-out pairs, after {STEPS} steps; lower is better. "
      f"For comparison, a guesser who knows only how common each word of the language is: "
      f"{by_share:.2f}; one to whom all are equally likely: {even:.2f}")  # fmt: skip

# %% [markdown]
# In each seed the gaps of the second lesson cost less.
#
# ## A wrong translation
#
# After 1,500 steps, in runs that were made beforehand, the lessons are further apart. Now take a
# model that has learned with translations, and put the French line of *another* pair beside each
# English sentence.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "After 1,500 steps a gap with its own translation costs this model about 2 bits; a model that "
    "only ever saw one line pays about 3. What does the first pay beside wrong translations?",
    ["about 3 bits: it sees that the line does not fit",
     "about 4 bits: the neighbours help, the line disturbs",
     "6 bits or more: it believes what the line says"],
    answer=2,
    explain="Nothing in its lesson was ever wrong, so nothing taught it to doubt.",
    key="04_multilingual/wrong",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% Which words translate each other? tags=["surprise", "fold"]
def dictionary(least=10):
    """Words that are each other's best partner: by 2 n(both) / (n(one) + n(other)), above 1/2."""
    single, together = [Counter(), Counter()], Counter()
    for both in train:
        for k in (0, 1):
            single[k].update(set(both[k]))
        together.update((x, y) for x in set(both[0]) for y in set(both[1]))
    share = {(x, y): 2 * n / (single[0][x] + single[1][y])
             for (x, y), n in together.items() if n >= least}  # fmt: skip
    best = [{}, {}]
    for (x, y), s in sorted(share.items(), key=lambda item: item[1]):
        best[0][x], best[1][y] = (y, s), (x, s)
    return [(x, y) for x, (y, s) in best[0].items() if s > 0.5 and best[1][y][0] == x]


# %% Do words find their partners? tags=["surprise", "fold"]
partners = torch.tensor(dictionary())
names = [{i: w for w, i in ids[k].items()} for k in (0, 1)]
spelled = [(names[0][x], names[1][y]) for x, y in partners.tolist()]
print(f"{len(spelled)} pairs, {sum(a == b for a, b in spelled)} of them written alike; such as",
      *(f"   {a} {b}" for a, b in spelled[5:10]), sep="\n")  # fmt: skip


def words_found(net, means_off=True):
    """The share of words whose row is nearest to their partner's of all in the other language."""
    table = net.bert.embeddings.tokens.weight.detach()
    english, french = (rows - means_off * rows.mean(0) for rows in (table[2:302], table[302:602]))
    near = torch.nn.functional.normalize(english, dim=-1)
    near = near @ torch.nn.functional.normalize(french, dim=-1).T
    x, y = partners.T - torch.tensor([[2], [302]])
    found = (near[x].argmax(1) == y, near[:, y].argmax(0) == x)
    return float(torch.cat(found).float().mean())


# %% Measure, and keep tags=["surprise", "fold"]
from deepdive_book.kit.experiments import results_path, sweep

turned = [(a, test[(i + 1) % len(test)][1]) for i, (a, _) in enumerate(test)]


def measure(lesson, seed, steps):
    net, losses = taught(lesson, seed, steps)
    curve = torch.tensor(losses).split(max(1, steps // 30))
    found = {"bits": judged(lesson, net, test), "one line": judged("masked", net, test),
             "another's": judged(lesson, net, turned), "new lines": judged(lesson, net, fresh),
             "words": words_found(net), "words, means on": words_found(net, False)}  # fmt: skip
    return {k: round(v, 4) for k, v in found.items()} | {
        "curve": [round(float(part.mean()), 3) for part in curve]}  # fmt: skip


KINDS, file = ("masked", "translation", "look across"), results_path("04_multilingual", "gaps")
points = [{"lesson": lesson, "seed": seed, "steps": 1500}
          for lesson in (*KINDS, "doubt") for seed in SEEDS]  # fmt: skip
if profile() == "experiment":
    sweep(measure, points, file, data="tatoeba_eng_fra")

# %% Three lessons, measured tags=["surprise", "slide", "fold"]
import json

if file is not None and file.is_file():
    rows_kept = json.loads(file.read_text(encoding="utf-8"))["rows"]
else:  # away from the checkout: a beginning, of one seed
    rows_kept = sweep(measure, [{"lesson": kind, "seed": 0, "steps": STEPS} for kind in KINDS])


def of(lesson, what):
    return [row[what] for row in rows_kept if row["lesson"] == lesson]


def spread(values, form=".2f"):
    """A mean over seeds, and the lowest and the highest."""
    return f"{sum(values) / len(values):{form}} ({min(values):{form}} to {max(values):{form}})"


if file is not None and file.is_file():
    assert all(b < a < c for a, b, c in zip(*(of(kind, "bits") for kind in KINDS), strict=True))
    assert min(of("translation", "another's")) > 2 * max(of("masked", "bits"))
head = ["lesson", "as it was taught", "its line alone", "another's line"]
told = [[kind, *(spread(of(kind, what)) for what in ("bits", "one line", "another's"))]
        for kind in KINDS]  # fmt: skip
table(told, head, caption="bits for a gap; rows: how it was taught; columns: what stands beside "
      "the gap in the test; mean (lowest to highest of three seeds)")  # fmt: skip

# %% Lines that nobody has learned from tags=["surprise", "fold"]
if file is not None and file.is_file():
    unseen = {kind: of(kind, "new lines") for kind in KINDS}
    assert max(unseen["translation"]) < min(unseen["masked"] + unseen["look across"])
table([[kind, spread(of(kind, "new lines"))] for kind in KINDS], ["lesson", "as it was taught"],
      caption=f"bits for a gap in the {len(fresh)} pairs of which no line is learned from"
      )  # fmt: skip

# %% [markdown]
# *"Its line alone": the mask of the first lesson, which the other two never met in training. Gaps
# of both lines count; the last column draws them anew, so that even its first row differs a
# little.*
#
# The lesson with translations costs least in each seed. In training only the mask differed, so it
# is the other line that helps, and not by memory alone: this lesson also leads where no line was
# learned from. Beside another's line the same model pays 7.00 bits, with no line beside it 4.42: a
# wrong line is worse for it than none, and worse than no context at all (6.64). And a gap that may
# look at nothing *but* the translation costs about as little as one that sees its own line.
#
# Can doubt be taught? In training, put another pair's line behind one sentence in five:

# %% A lesson in doubt tags=["surprise", "fold"]
doubts = of("doubt", "bits") or of("translation", "bits")  # away from the checkout there are none
others = of("doubt", "another's") or of("translation", "another's")
if of("doubt", "bits"):
    assert all(a < b for a, b in zip(of("translation", "bits"), doubts, strict=True))
    worse, better = (
        (sum(a) - sum(b)) / 3
        for a, b in ((doubts, of("translation", "bits")), (of("translation", "another's"), others))
    )
    assert 0.4 < worse < 0.7  # half a bit
    assert 3.3 < better < 3.8  # three and a half
table([["only true ones", *(spread(of("translation", what)) for what in ("bits", "another's"))],
       ["one in five wrong", spread(doubts), spread(others)]],
      ["second lines in training", "beside its own", "beside another's"],
      caption="bits for a gap: mean (lowest to highest of three seeds)")  # fmt: skip

# %% [markdown]
# The wrong lines in training have a price: beside a true line a gap now costs over half a bit more.
# (Training with one wrong line in five also has a fifth fewer true ones; the price is of both
# together.) Beside a wrong one it costs three and a half bits less, though still more than the
# model of one line pays.

# %% [markdown]
# ## Milk and lait
#
# Every word has a row in the table of embeddings, whatever its language. Is the row of *milk* near
# the row of *lait*? These two are too rare here, so others stand in for them: words that are each
# other's best partner, in at least 10 pairs of sentences, and oftener together than apart (Dice's
# share, above $\frac12$). A word written alike, as *boston*, has a row in each language. Each
# language's mean row is taken off; then we ask for the nearest row of the other language.

# %% tags=["fold"]
predict(
    "From which lesson do most words find their partner as the nearest row of the other language?",
    ["the first, in which a gap sees its own line", "the second, in which it sees everything",
     "the third, in which it had nothing else to go by"],
    answer=1,
    explain="A gap that must look across learns a dictionary too, but perhaps one that leads from "
    "rows to guesses: nothing asks that a word and its partner have rows alike.",
    key="04_multilingual/rows",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Words that find their partners tags=["surprise", "slide", "fold"]
for a, *others in zip(*(of(kind, "words") for kind in ("translation", "masked", "look across")),
                      strict=True):  # fmt: skip
    assert len(rows_kept) < 9 or a > max(others)
rows = [[kind, *(spread([100 * share for share in of(kind, what)], ".1f")
                 for what in ("words", "words, means on"))] for kind in KINDS]  # fmt: skip
table([*rows, ["by chance", *[f"{100 / 300:.1f}"] * 2]], ["lesson", "means off", "means on"],
      caption="% of words that find their partner, with each language's mean row taken off, and "
      "left on: mean (lowest to highest of three seeds)")  # fmt: skip

# %% [markdown]
# *Asked from both sides: the nearest French row for the English word, and the other way round.*
#
# Where both lines were read as one text, about one word in five has its partner's row as the
# nearest. From the other two lessons it is about one in twenty. In each seed the lesson of both
# lines is first, perhaps since there every word looks at words of both languages through the same
# matrices, so that it pays to be like one's partner. In *look across* only gaps cross over. They
# can learn that the row of *lait* leads to the guess *milk*, whatever the two rows look like.
# Taking the means off brings three words of a hundred in the second lesson, and changes no order.

# %% Losses on the way tags=["surprise", "slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(4.8, 3.2), layout="constrained")
axes = figure.add_subplot()
drawn = {"masked": ("key", "-", -12), "translation": ("value", "-", -4),
         "look across": ("query", "--", 6)}  # fmt: skip
for kind, (role, style, above) in drawn.items():
    curves = torch.tensor(of(kind, "curve"))
    at = (torch.arange(curves.shape[1]) + 0.5) * rows_kept[0]["steps"] / curves.shape[1]
    axes.plot(at, curves.mean(0), style, color=ROLES[role])
    axes.fill_between(at, curves.amin(0), curves.amax(0), color=ROLES[role], alpha=0.2)
    axes.annotate(kind, (float(at[-1]), float(curves.mean(0)[-1])), (4, above),
                  textcoords="offset points", color=ROLES[role])  # fmt: skip
axes.set(xlabel="steps", ylabel="bits for a gap, in training", ylim=(0, None))
axes.set_xlim(0, 1.35 * float(at[-1]))
axes.set_xticks([rows_kept[0]["steps"] * part // 3 for part in range(4)])
with_alt(figure, "Bits for a gap in training against steps, three seeds of three lessons. All "
         "begin alike; then the lesson with both lines is the lowest.")  # fmt: skip

# %% [markdown]
# *Lines are means over three seeds, bands go from the lowest to the highest.* For the first hundred
# steps the lessons hardly differ, perhaps since a translation is worth nothing to a model that
# knows no word of it. Then the lesson of both lines pulls away.

# %% [markdown] tags=["aside"]
# ## Common mistake: words that look everywhere
#
# To let a gap look across, forbid its row its own line, and let everything else be as it was. That
# is one line of code, and wrong. Here is what has reached the gap of *milk* after each layer:


# %% Count what a gap has heard
def heard(mask, gap, layers):
    """How many words of the gap's own line have reached it."""
    reach = torch.linalg.matrix_power(mask.double(), layers)[gap] > 0
    return int((reach & ~hidden[0] & (second[0] == second[0, gap])).sum())


wrong = torch.where(hidden[0][:, None], across, ~hidden[0][None, :].expand(11, 11))
masks = {"words look everywhere": wrong, "look_across": across}
found = {name: [heard(mask, 2, layers) for layers in (1, 2)] for name, mask in masks.items()}
assert found == {"words look everywhere": [0, 4], "look_across": [0, 0]}
table([[name, *each] for name, each in found.items()], ["mask", "one layer", "two layers"],
      caption="words of its own line that a gap has heard of")  # fmt: skip

# %% [markdown]
# With one layer nothing gets by. With two the French words have read the English ones, and tell. So
# in `look_across` no word looks across, and gaps of the two lines do not see each other.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# | lesson | of which model | what is hidden | what is asked | in the library |
# |---|---|---|---|---|
# | masked, MLM | BERT, in any number of languages | words | these words | `mask_tokens` |
# | translation, TLM | XLM | words of both lines | these words | `join_translations` |
# | mixed, alternating | ALM | words of a line of both languages | these words | `code_switch` |
# | look across, CAMLM | ERNIE-M | words, from gaps their line | these words | `look_across` |
# | written, BTMLM | ERNIE-M | words of a line without translation | these words | `write_across` |
# | word recovery | Unicoder | all of a line | all of it | `WordRecovery` |
# | paraphrase classification | Unicoder | nothing | translation or not | `paraphrase_pairs` |
# | cross-lingual MLM | Unicoder | words; lines alternate | these words | `alternate_sentences` |
# | one vector | InfoXLM | nothing | which of many, old ones too | `translation_contrast` |
# | one vector | HICTL | nothing | which of harder ones; which words | `harder`, `word_contrast` |
# | one vector | LaBSE (by a margin), mUSE | nothing | which of the batch | `translation_ranking` |
# | aligned | AMBER | nothing | look back at who looks at you | `word_agreement` |
#
# The picture shows eight of these twelve: two lessons of Unicoder are not in it, and its *one
# vector* stands in three rows here.

# %% [markdown] tags=["aside"]
# ## In practice
#
# - Mix lessons: most of these models also fill gaps in one line, so that text without a translation
#   is read too. There is far more of it.
# - Our model that had only seen true translations believed a wrong one. Where yours may be wrong,
#   show it some wrong ones in training, or ask which are wrong (paraphrase classification).
# - Compare losses only with the same gaps, and say who may look at whom. A loss that fell because
#   more may be looked at is no better model.
# - For vectors of whole sentences take a lesson that asks for them: a gap asks for words.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does the translation lesson hide words in both lines, though each hidden partner makes its
#    gap harder?
#
#    <details><summary>Answer</summary>
#
#    Both lines then teach, and no word of either is only ever read. The neighbors are needed too:
#    a model that could always copy from the other line would not have to learn its own.
#
#    </details>
# 2. In *look across*, why do the gaps of the two lines not see each other?
#
#    <details><summary>Answer</summary>
#
#    A gap of the French line has looked at English words. A gap of the English line that sees it
#    would hear of its own line, one layer later.
#
#    </details>
# 3. ALM with a share of 0: what is it?
#
#    <details><summary>Answer</summary>
#
#    Masked language modeling of the sentence: nothing was replaced. A test of the library says so,
#    gap by gap.
#
#    </details>
# 4. InfoXLM compares with a queue of old vectors. Why does a slowly moving copy of the model make
#    them, and not the model itself?
#
#    <details><summary>Answer</summary>
#
#    The vectors in the queue are many steps old. A fast model's old vectors would be another
#    model's; the copy has hardly moved since.
#
#    </details>
# 5. Two sentences of a batch have the same meaning. What does translation ranking do to them?
#
#    <details><summary>Answer</summary>
#
#    Each stands among the other's wrong answers, so that a right answer is punished. With larger
#    batches this happens more often.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 3 min)* The translation lesson now hides one word in two. What does the gap of
#    *milk* cost a perfect model, in the numbers from above?
#
#    <details><summary>Answer</summary>
#
#    $\frac12 \cdot 1.75 + \frac12 \cdot 0 = 0.875$ bits.
#
#    </details>
# 2. *(on paper, 6 min)* Three words, three partners. In AMBER's measure, attention that is spread
#    evenly over the other line: how large is the loss? And if each word looks only at its partner?
#
#    <details><summary>Answer</summary>
#
#    There and back has the chance $\frac13 \cdot \frac13$ for each of 9 ways, together 1 of 3 that
#    could return: $1 - \frac13 = \frac23$. With partners that look back all 3 return: 0.
#
#    </details>
# 3. *(measure, 15 min)* Hide words of the English line only, in training and in the test
#    (`gaps_of`). What do both lessons cost now, and why is the lower number of *translation* not
#    a better model than before?
#
#    <details><summary>Answer</summary>
#
#    No partner is ever hidden, so by hand *translation* falls from 0.44 to 0, and *masked* stays.
#    But these are other gaps. Two numbers can be compared where the same words are asked for, and
#    the same are hidden.
#
#    </details>

# %%
# The answers to the first two exercises, checked.
from deepdive.training.objectives import word_agreement

first = torch.tensor([[1, 1, 1, 0, 0, 0]]).bool()
even = torch.full((1, 1, 6, 6), 1 / 6)
sure = torch.eye(6).roll(3, 1)[None, None]
assert abs(float(word_agreement(even, first, ~first)) - 2 / 3) < 1e-6
assert float(word_agreement(sure, first, ~first)) == 0
assert alone / 2 == 0.875
print("both answers hold")

# %% [markdown]
# ## Summary
#
# A translation beside a sentence is a second way to fill its gaps, which our models learned to
# take. Lessons that differ only in who may look at whom can be compared. A model whose second lines
# were never wrong is led astray by a wrong one; some wrong ones in training take most of the harm
# away, for half a bit beside the true ones.
#
# So from the lesson in which all may look at all a model learns best, of the three measured, that
# words like *milk* and *lait* (in their place 134 other pairs) belong together: its gaps cost
# least, and its rows lie together most often, though even there not for four words in five.
#
# ## Further reading
#
# - Conneau and Lample (2019), [*Cross-lingual Language Model
#   Pretraining*](https://arxiv.org/abs/1901.07291): figure 1 shows our second lesson, TLM.
# - Ouyang et al. (2021), [*ERNIE-M: Enhanced Multilingual Representation by Aligning Cross-lingual
#   Semantics with Monolingual Corpora*](https://arxiv.org/abs/2012.15674): looking across, and
#   writing across.
# - Chi et al. (2021), [*InfoXLM: An Information-Theoretic Framework for Cross-Lingual Language
#   Model Pre-Training*](https://arxiv.org/abs/2007.07834): why filling gaps and finding
#   translations are one thing.
# - Hu et al. (2021), [*Explicit Alignment Objectives for Multilingual Bidirectional
#   Encoders*](https://arxiv.org/abs/2010.07972): AMBER.
# - The others of the picture: [ALM](https://doi.org/10.1609/aaai.v34i05.6480),
#   [Unicoder](https://arxiv.org/abs/1909.00964), [HICTL](https://arxiv.org/abs/2007.15960),
#   [LaBSE](https://arxiv.org/abs/2007.01852), [mUSE](https://arxiv.org/abs/1907.04307).
#
# <small>Book 4.1.2.2 and 4.1.2.4 to 4.1.3.2</small>

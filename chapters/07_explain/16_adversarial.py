# %% [markdown] tags=["slide"]
# # Adversarial examples
#
# *Critics do not find the script dull, I find the music cold.* A program that sorts reviews says:
# against the film. You write *friends* for *critics*. Every reader still says: against. The program
# now says: for. How would you find such a word, how many reviews can be turned by one, and would
# the program itself have told you that this answer is not to be trusted?
#
# <small>Prerequisites: [gradients](02_gradients.ipynb), [traits](01_methods.ipynb) · 16 min · runs
# on a laptop; results of the long runs are included · book 7.2</small>

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

# %% A network that learned from 600 reviews tags=["fold"]
import copy
from functools import cache, partial

import torch

from deepdive.training import fit
from deepdive.training.optim import adam, cosine
from deepdive_book.ch07.toys.review_words import SENTENCE, build_review_words, review_words
from deepdive_book.data.labeled_cause_reviews import OTHERS, THINGS, generated_verdicts
from deepdive_book.data.synthetic_reviews import BAD, GOOD
from deepdive_book.kit.profile import pick, profile
from deepdive_book.tasks.classification import batches, encode, loss, predict

TOY, POINT = review_words(), "encoder.embeddings.embedded"  # its words; our networks are new
WORDS, SEEDS = TOY.tokenizer, pick(ci=(1,), laptop=(1, 2, 3), gpu=(1, 2, 3))


# %% Some lessons tags=["fold"]
def lessons(model, seed, steps, of=loss):
    """Some steps more on 600 generated reviews."""
    learned = generated_verdicts(600, seed=100 + seed)
    tune = cosine(3e-3, warmup=min(50, steps // 3), total=steps)
    given = batches(encode(learned.texts, WORDS), learned.labels, seed=seed)
    fit(model.train(), given, of, steps=steps, seed=seed, progress=False,
        optimizer=adam(model), schedule=tune)  # fmt: skip
    return model.eval()


@cache
def usual(seed=1):
    return lessons(build_review_words(len(WORDS), seed), seed, pick(ci=60, laptop=250, gpu=250))


# %% Words of the same kind, and the writer's rule tags=["fold"]
KINDS = {word: kind for kind in (THINGS, OTHERS, GOOD, BAD) for word in kind}


def choices(text):
    """For each word those of its kind that do not stand in the text."""
    words = text.split()
    return [[other for other in KINDS.get(word, ()) if other not in words] for word in words]


def exchanged(text):
    """Every text with one word exchanged."""
    words = text.split()
    return [" ".join([*words[:i], other, *words[i + 1 :]])
            for i, some in enumerate(choices(text)) for other in some]  # fmt: skip


def rule(text):
    """What the writer of the reviews means: 0 against, 1 for."""
    own = text.split()[text.split().index("i") :]
    return int((next(word for word in own if word in GOOD + BAD) in GOOD) != (own[2] == "not"))


TESTED = generated_verdicts(pick(ci=60, laptop=400, gpu=400), seed=9)
assert [rule(text) for text in TESTED.texts] == list(TESTED.labels)
assert all(rule(other) == rule(text) for text in TESTED.texts[:20] for other in exchanged(text))

# %% What it says tags=["fold"]
ASKED = pick(ci=8, laptop=120, gpu=120)


def said(model, texts):
    """Logits (N, 2) of texts."""
    return predict(model, encode(texts, WORDS), progress=False)


def margins(model, texts, labels):
    """How far each text is on the side of its true class, (N,)."""
    logits, own = said(model, texts), torch.as_tensor(labels)[:, None]
    return (logits.gather(1, own) - logits.gather(1, 1 - own))[:, 0]


def right(model):
    """The first reviews that the network judges right: texts and labels."""
    ok = (margins(model, TESTED.texts, TESTED.labels) > 0).nonzero()[:ASKED, 0].tolist()
    return [TESTED.texts[i] for i in ok], [TESTED.labels[i] for i in ok]


share = (margins(usual(), TESTED.texts, TESTED.labels) > 0).float().mean()
print(f"learned from 600 generated reviews; of {len(TESTED)} others {100 * share:.0f} % right")

# %% Exchange a word tags=["slide", "fold"]
from deepdive_book.ch07.figures.word_substitution import word_substitution

word_substitution({"the network": usual()}, TOY, SENTENCE, choices(SENTENCE), 0)

# %% [markdown]
# *Choose another word in a list: a thing for a thing, blame for blame. The network runs here, in
# the page. Its reviews are generated, so their rule is known: only what the writer, "i", finds
# decides, and by it no choice changes the verdict. The share is that of "negative", also where the
# answer is turned.*
#
# *friends* is known. Leave *critics* as it is: which other words turn the answer?
#
# <details><summary>Answer</summary>
#
# *clumsy*, *awful*, *shallow*, *tiresome* or *false* for *dull*: all in the clause that decides
# nothing.
#
# </details>
#
# A text that people judge as before and a model otherwise is an **adversarial example**. To make
# one takes four things, the parts of the library TextAttack: a *goal* (another answer), *changes*
# (its transformation), *constraints* that keep the meaning, and a *search*.
#
# ## By hand: the smallest step, and the smallest word
#
# Each word is two numbers; $a$ and $b$ are their sums over a text. One judge says $3a + 4b$; above
# 0 is *for*. The text: `the` (0, 0) `music` (1, 0) `is` (0, 0) `warm` (1, 1). So $a = 2$, $b = 1$,
# and the judge says 10.
#
# The gradient says (3, 4) at each of the four words, so its length over the text is
# $\sqrt{4 \cdot 25} = 10$. The shortest step that turns a linear judge is
#
# $$\text{margin} / |\text{gradient}| = 10 / 10 = 1$$
#
# long: half a unit at each word. But no word lies there. A second judge says $ab + 1$, here 3; its
# gradient at every word is $(b, a) = (1, 2)$. **HotFlip** guesses what an exchange would do before
# the model is asked: (new word − old word) · gradient.
#
# | exchange | moves by | $3a + 4b$ | $ab + 1$, guessed | $ab + 1$, true |
# |---|---|---|---|---|
# | `warm` → `fine` (−1, 2) | (−2, 1) | −2 | 0 | −2 |
# | `warm` → `cool` (2, −1) | (1, −2) | −5 | −3 | **−5** |
# | `music` → `tale` (−3, −1) | (−4, −1) | **−16** | **−6** | −2 |
#
# The linear judge is guessed exactly, and `tale` turns it: from 10 to −6. For $ab + 1$ the guess
# praises `tale` too, but only `cool` turns it, from 3 to −2; the others end at 1.

# %% The same, checked tags=["nbval-check-output", "fold"]
text = torch.tensor([[0.0, 0], [1, 0], [0, 0], [1, 1]], requires_grad=True)
JUDGES = {"3a + 4b": lambda x: x.sum(0) @ torch.tensor([3.0, 4.0]),
          "ab + 1": lambda x: x.sum(0).prod() + 1}  # fmt: skip
WAYS = {"fine": (3, (-1.0, 2)), "cool": (3, (2.0, -1)), "tale": (1, (-3.0, -1))}
for name, judge in JUDGES.items():
    (slope,) = torch.autograd.grad(judge(text), text)
    print(f"{name}: says {judge(text):.0f}, length {slope.norm():.1f}")
    for word, (place, row) in WAYS.items():
        other = text.detach().clone()
        other[place] = torch.tensor(row)
        guess = (slope[place] @ (other - text.detach())[place]).item()
        print(f"  {word}: guessed {guess:.0f}, true {judge(other) - judge(text):.0f}")

# %% [markdown]
# ## Steps that are no words
#
# In a network, each row (embedding vector) that enters the first layer may be moved a little along
# the gradient:
#
# $$r \leftarrow P_\varepsilon\left(r - \alpha\, \varepsilon\, \frac{g}{|g|}\right), \qquad
# g = \frac{\partial\, \text{margin}}{\partial (x + r)}$$
#
# $x$ are the rows of the text, $r$ is what is added (the perturbation), $\alpha$ is the pace (here
# 0.3, 8 steps), and $P_\varepsilon$ shortens $r$ to the length $\varepsilon$ where it is longer.
#
# <details><summary>Whose step is it?</summary>
#
# One step with $\alpha = 1$ is Miyato's; Goodfellow's (FGSM) takes the sign of $g$ instead; several
# are Madry's (PGD).
#
# </details>

# %% The rows of all words at each place tags=["fold"]
from deepdive.core.hooks import replace
from deepdive.evaluate import bootstrap
from deepdive.explain.edits.embedding_attack import nearest_words, pgd_step
from deepdive_book.kit.tables import table


@torch.no_grad()
def rows_of_words(model, length):
    """The row of each word at each place, (S, V, d)."""
    layer, places = model.encoder.embeddings, torch.arange(length)
    every = torch.arange(layer.tokens.weight.shape[0])[:, None].expand(-1, length)
    return layer.norm(layer.position.embed(layer.tokens(every), places)).transpose(0, 1)


def apart(model, texts):
    """How far a word's row is from that of the nearest word of its kind: the median."""
    found = []
    for text in texts:
        tokens, rows = TOY.tokens(text)[0], rows_of_words(model, len(text.split()) + 2)
        for i, some in enumerate(choices(text), 1):
            if some:
                others = rows[i, [WORDS.vocab.index(word) for word in some]]
                found.append(float((others - rows[i, tokens[i]]).norm(dim=-1).min()))
    return float(torch.tensor(found).median())


# %% Steps along the gradient tags=["fold"]
MANY = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0)  # of the distance to the nearest of its kind
SHARES = pick(ci=(0.5, 1.0), laptop=MANY, gpu=MANY)


def pushes(model, tokens, own, unit, draw):
    """bool (3, N, lengths): turned by steps, by a drawn one, by the words nearest to the first."""
    words = (tokens != WORDS.bos) & (tokens != WORDS.eos)
    rows, found = rows_of_words(model, tokens.shape[1]), []

    def sure(of=tokens):
        logits = model(of)
        return (logits.gather(1, own) - logits.gather(1, 1 - own))[:, 0]

    start = rows[torch.arange(tokens.shape[1]), tokens]
    for share in SHARES:
        moved = pgd_step(model, POINT, sure, share * unit, words, steps=8, pace=0.3)
        drawn = torch.randn(start.shape, generator=draw) * words[:, :, None]
        drawn = start + share * unit * drawn / drawn.flatten(1).norm(dim=1)[:, None, None]
        answers = [sure(nearest_words(moved, rows))]
        for there in (drawn, moved):
            with replace(model, POINT, there):
                answers.insert(0, sure())
        found.append(torch.stack(answers) <= 0)
    return torch.stack(found, -1)


# %% All reviews that were right, by length tags=["fold"]
def turned(model, seed=1):
    texts, labels = right(model)
    unit, draw, found = apart(model, texts), torch.Generator().manual_seed(seed), []
    for length in sorted({len(text.split()) for text in texts}):
        some = [i for i, text in enumerate(texts) if len(text.split()) == length]
        tokens = torch.cat([TOY.tokens(texts[i]) for i in some])
        own = torch.tensor([labels[i] for i in some])[:, None]
        found.append(pushes(model, tokens, own, unit, draw))
    return torch.cat(found, 1).float()


steps = torch.cat([turned(usual(seed), seed) for seed in SEEDS], 1)  # (3, N, lengths)

# %% [markdown]
# ### Back to words

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict as ask

ask(
    "A step over the whole text, as long as the way from one word to the nearest of its kind, "
    "turns more than half of the reviews. Now each moved row is put to its nearest word. How many "
    "of a hundred reviews are still turned?",
    ["about four", "about fifteen", "about thirty", "as many as before"],
    answer=0,
    explain="The step is shared by all words of the text, so most rows stay nearer to their own "
    "word than to any other: the text is the old one again.",
    key="07_explain/no-word-there",
)  # fmt: skip

# %% Draw what the steps do tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7, 3.2))
axes = figure.subplots()
LINES = ("along the gradient", "a drawn step", "nearest words of the first")
for k, (name, mark) in enumerate(zip(LINES, ("o-", "s:", "^--"), strict=True)):
    spans = [bootstrap(100 * steps[k, :, r]) for r in range(len(SHARES))]
    axes.fill_between(SHARES, [s.low for s in spans], [s.high for s in spans], alpha=0.18)
    axes.plot(SHARES, [s.value for s in spans], mark, label=name, ms=5)
axes.axvline(1, color="#8a8a8a", lw=1)
axes.set(xlabel="length of the step, in distances between words", ylabel="reviews turned, %",
         ylim=(-2, 100))  # fmt: skip
axes.legend()
with_alt(figure, "Reviews turned against the length of the step. Along the gradient the line rises "
         "steeply and flattens; the drawn step stays near the bottom; the nearest words stay at "
         "the bottom until the step is as long as the distance between words.")  # fmt: skip

# %% The same in numbers tags=["fold"]
HEAD = ["length of the step", *LINES]
table([[f"{share:g}", *(bootstrap(100 * steps[k, :, r]) for k in range(3))]
       for r, share in enumerate(SHARES) if share in (0.1, 0.3, 0.5, 1.0, 2.0)],
      HEAD, formats=dict.fromkeys(LINES, ".0f"),
      caption=f"reviews turned, in % of {steps.shape[1]} ({len(SEEDS)} networks; 95 % intervals "
      "for these networks); 1 is the distance from a word to the nearest of its kind")  # fmt: skip

# %% [markdown]
# *The step is over all words of a text together; a drawn step is as long, in a random direction.*
#
# It is the direction that does it: a step of half a distance turns 38% of the reviews along the
# gradient, a drawn one 1%. Not every review gives way: at twice the distance it is 63%. The way
# back to words loses most of it. At half a distance 0% are turned, and that is geometry: hardly a
# row gets past the middle between two words. At one distance 4 are turned where it was 54, at two
# 20 where it was 63, and there the nearest words may be of any kind. So a step shows how steep the
# network is beside a text. It is not a text that anybody could send.
#
# ## A word instead of a step
#
# To ask all single exchanges is exact. HotFlip asks in the order of its guesses, chance in a random
# order.

# %% Every exchange asked, or the promising ones first tags=["fold"]
from deepdive.explain.edits.hotflip import first_order


def asked_all(model):
    """For each review: bool (n,), which of n single exchanges turn it; HotFlip's order of them."""
    found = []
    for text, label in zip(*right(model), strict=True):
        tokens = TOY.tokens(text)

        def sure(tokens=tokens, label=label):
            logits = model(tokens)
            return logits[:, label] - logits[:, 1 - label]

        gain = first_order(model, POINT, sure, rows_of_words(model, tokens.shape[1]))
        places = [(i, WORDS.vocab.index(word))
                  for i, some in enumerate(choices(text), 1) for word in some]  # fmt: skip
        promise = torch.stack([gain[place] for place in places])
        others = exchanged(text)
        turns = margins(model, others, [label] * len(others)) <= 0
        found.append((turns, promise.argsort()))
    return found


singles = [found for seed in SEEDS for found in asked_all(usual(seed))]

# %% How many questions? tags=["fold"]
from math import comb


def by_chance(turns, asked):
    """How surely one of so many drawn exchanges turns the review."""
    n, m = len(turns), int(turns.sum())
    return 1 - comb(n - m, min(asked, n)) / comb(n, min(asked, n))


lines = []
for asked in (1, 2, 5, 10, 20, 40):
    hot = [bool(turns[order[:asked]].any()) for turns, order in singles]
    drawn = [by_chance(turns, asked) for turns, _ in singles]
    gap = [a - b for a, b in zip(hot, drawn, strict=True)]
    lines.append([asked, *(bootstrap([100 * x for x in of]) for of in (hot, drawn, gap))])
HEAD = ["questions", "HotFlip", "drawn", "ahead"]
table(lines, HEAD, formats=dict.fromkeys(HEAD[1:], ".0f"), caption="reviews turned by one "
      f"exchange, in % of {len(singles)} ({len(SEEDS)} networks; 95 % intervals for "
      "these networks)")  # fmt: skip

# %% [markdown]
# In 21 of a hundred reviews one such word turns the answer (12 to 28 by network; the intervals
# above take the three networks as given). HotFlip's first guess alone turns 17, a drawn exchange 3;
# after 40 questions neither is ahead. The guess need not say rightly how far a word goes, only put
# the right word early. But it needs the inside of the network (white-box).
#
# ## Learn the worst word
#
# **Adversarial training** learns each text and the worst one beside it: its rows moved by one step,
# or with the exchange that HotFlip takes for the worst. All three ways below start from the same
# network.

# %% The worst word of each text tags=["fold"]
import torch.nn.functional as F

from deepdive.core.hooks import record
from deepdive.training.objectives.adversarial_training import adversarial_training_loss

ALLOWED = torch.zeros(len(WORDS), len(WORDS), dtype=torch.bool)  # [own, other]
for kind in (THINGS, OTHERS, GOOD, BAD):
    ids = torch.tensor([WORDS.vocab.index(word) for word in kind])
    ALLOWED[ids[:, None], ids] = True
ALLOWED.fill_diagonal_(False)


def worst_word(model, batch):
    """The mean of the loss as it is, and with the exchange that HotFlip takes for the worst."""
    labels, tokens = batch
    real, rows = tokens != 0, rows_of_words(model, tokens.shape[1])
    with record(model, POINT) as seen:
        clean = F.cross_entropy(model(tokens, real), labels[:, 0], reduction="none")
    (x,) = seen[POINT]
    (g,) = torch.autograd.grad(clean.sum(), x, retain_graph=True)
    rise = torch.einsum("bsd,svd->bsv", g, rows) - (g * x).sum(-1, keepdim=True)
    best = rise.masked_fill(~ALLOWED[tokens], -torch.inf).flatten(1).argmax(1)
    worst, place = tokens.clone(), best // len(WORDS)
    worst[torch.arange(len(tokens)), place] = best % len(WORDS)
    return (clean.mean() + F.cross_entropy(model(worst, real), labels[:, 0])) / 2


# %% Three ways to go on tags=["fold"]
MORE = pick(ci=20, laptop=150, gpu=150)
ARMS = {
    "no change": loss,
    "worst step": partial(adversarial_training_loss, point=POINT, radius=0.5),
    "worst word": worst_word,
}


@cache
def gone_on(arm, seed=1):
    return lessons(copy.deepcopy(usual(seed)), seed, MORE, ARMS[arm])


def strength(arm, seed):
    """In %: right; turned by one exchange, and by a step of half a distance, of those right."""
    model = gone_on(arm, seed)
    weak = [bool(turns.any()) for turns, _ in asked_all(model)]
    ok = (margins(model, TESTED.texts, TESTED.labels) > 0).float().mean()
    by_step = turned(model)[0, :, SHARES.index(0.5)].mean()
    return [100 * float(ok), 100 * sum(weak) / len(weak), 100 * float(by_step)]


trained = {arm: [strength(arm, seed) for seed in SEEDS] for arm in ARMS}

# %% What it gains tags=["slide", "fold"]
def seeds(values, digits=0):
    """Mean, and in brackets the lowest and the highest of the seeds."""
    middle = sum(values) / len(values)
    return f"{middle:.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


table([[arm, *map(seeds, zip(*rows, strict=True))] for arm, rows in trained.items()],
      ["150 steps more", "right", "turned by a word", "turned by a step"],
      caption="in %, three seeds: mean (lowest to highest); the step is half a distance long")

# %% [markdown]
# *Worst word* is right more often, in 98 of a hundred reviews against 91, and one word turns 3 of a
# hundred right answers instead of 22; the seeds do not overlap. It is below *no change* against
# steps too: 31 (20 to 43). Three limits: it read two texts a step where *no change* read one, and
# how much of the gain is that was not measured; we gave it the very list of words by which we test;
# and 31 of a hundred is still many.
#
# <details><summary>The other two rows</summary>
#
# *Worst step* is not told apart from going on as before in the first two columns, and hardly in the
# third. Going on as usual leaves 91 of a hundred right, and makes steps more dangerous: 53 are
# turned, where it was 38 before.
#
# </details>

# %% Both networks, to try tags=["fold"]
word_substitution(
    {"no change": gone_on("no change"), "worst word": gone_on("worst word")},
    TOY,
    SENTENCE,
    choices(SENTENCE),
    0,
)

# %% [markdown]
# *The same review: "no change" went on as before, "worst word" learned exchanges too. Now `friends`
# turns neither; `clumsy`, `shallow` and `false` for `dull` still turn "no change".*
#
# ## Would it have told us?
#
# A network's own **confidence** is the share that it gives to its answer. The **trust score**
# (Jiang et al. 2018) asks another witness, the texts it learned from, in the space from which the
# answer is read:
#
# $$\text{trust} = \frac{\text{distance to the nearest text of another class}}
# {\text{distance to the nearest text of the class said}}$$
#
# A tenth of each class, farthest from its like, is left out. Of a right and a wrong answer, how
# often has the right one the larger score? This is the **AUROC**: 0.5 is chance.

# %% What the scores find tags=["fold"]
from deepdive.evaluate.trust import auroc, dense, trust_score
from deepdive_book.data.synthetic_reviews import generated_reviews
from deepdive_book.tasks.classification import in_batches


def vectors_of(model, ids):
    """The vector from which the answer of each text is read, (N, d)."""

    def rows(tokens, mask):
        return model.pooler(model.encoder(tokens, mask))

    return in_batches(model, ids, rows, progress=False)


def scores(model, near, ids, labels):
    """Right or not, the network's own confidence, the trust score: three lists."""
    logits = predict(model, ids, progress=False)
    answers = logits.argmax(1)
    trust = trust_score(near, vectors_of(model, ids), answers)
    return [(answers == torch.tensor(labels)).tolist(), logits.softmax(-1).amax(1).tolist(),
            trust.tolist()]  # fmt: skip


# %% The exchange that goes furthest tags=["fold"]
def hardest(model, texts, labels):
    """Each text with the one exchange that goes furthest towards the other answer."""
    found = []
    for text, label in zip(texts, labels, strict=True):
        others = exchanged(text)
        found.append(others[int(margins(model, others, [label] * len(others)).argmin())])
    return found


# %% AUROC, and the difference tags=["fold"]
import numpy as np

DRAWS = pick(ci=20, laptop=300, gpu=300)


def found_by(right, confidence, trust):
    """Wrong in %; AUROC of confidence and of trust, their difference and its 95 % interval."""
    of, rng, gaps = [np.array(x) for x in (right, confidence, trust)], np.random.default_rng(0), []
    wrong = round(100 * (1 - float(of[0].mean())), 3)
    if not 0 < wrong < 100:
        return [wrong] + 5 * [None]
    while len(gaps) < DRAWS:
        some = rng.integers(len(right), size=len(right))
        if 0 < of[0][some].sum() < len(some):
            gaps.append(auroc(of[2][some], of[0][some]) - auroc(of[1][some], of[0][some]))
    both = [auroc(score, of[0]) for score in of[1:]]
    low, high = np.quantile(gaps, [0.025, 0.975])
    return [wrong, *(round(float(x), 3) for x in (*both, both[1] - both[0], low, high))]


# %% Three kinds of texts tags=["fold"]
OTHER = generated_reviews(pick(ci=60, laptop=400, gpu=400), seed=3)


def judged(model, seed):
    learned = generated_verdicts(600, seed=100 + seed)
    near = dense(vectors_of(model, encode(learned.texts, WORDS)), learned.labels, keep=0.9)
    texts, labels = right(model)
    kinds = {"reviews of its kind": (TESTED.texts, TESTED.labels),
             "one word exchanged": (hardest(model, texts, labels), labels),
             "another form": (OTHER.texts, OTHER.labels)}  # fmt: skip
    return {kind: found_by(*scores(model, near, encode(of, WORDS), true))
            for kind, (of, true) in kinds.items()}  # fmt: skip


def trust_table(judgements, caption):
    """Mean of the seeds, lowest to highest; in how many seeds the interval is above or below 0."""
    lines = []
    for kind in judgements[0]:
        found = [of[kind] for of in judgements if of[kind][1] is not None]
        if found:
            wrong, own, trust, _, low, high = zip(*found, strict=True)
            ahead = f"{sum(x > 0 for x in low)} ahead, {sum(x < 0 for x in high)} behind"
            lines.append([kind, seeds(wrong), seeds(own, 2), seeds(trust, 2), ahead])
    return table(lines, ["texts", "wrong, %", "confidence", "trust", "trust is"], caption=caption)


# %% Which wrong answers are found? tags=["slide", "fold"]
trust_table([judged(usual(seed), seed) for seed in SEEDS], "AUROC, generated reviews: mean (lowest "
            f"to highest) of {len(SEEDS)} seeds; in how many the 95 % interval of the difference "
            "leaves out 0")  # fmt: skip

# %% [markdown]
# The trust score is not ahead. Both find wrong answers well among reviews like those learned (0.87
# each). Where one word was exchanged on purpose, confidence has 0.73 and the trust score 0.76, and
# their spans overlap. In reviews of another form (*the film is dull , but the story is witty .*),
# where 48% of the answers are wrong, both are near chance in the mean, 0.57, and the networks
# differ (0.48 to 0.66). The trust score is a ratio: a text far from everything is about as far from
# one class as from the other. It says on which side of the border a text is, not that it is
# strange. Jiang et al. report it ahead, on other data and models; we cannot say what makes the
# difference.
#
# ## Real reviews: near is not alike
#
# In real reviews (rt_polarity) nobody lists the words that mean the same. A common stand-in: words
# whose embeddings are near, here MiniLM's, at a cosine above 0.45. Small networks are trained from
# scratch, as usual or with near words drawn into half of the texts. (The shortest form of this page
# takes generated reviews.)

# %% Real reviews, and words near each other tags=["fold"]
from deepdive.data.reviews import movie_reviews, rt_polarity
from deepdive.layers.heads import Classifier
from deepdive.models.bert.bert import bert
from deepdive.published import load
from deepdive.published.pretrained import minilm, minilm_tokenizer
from deepdive.tokenizers import WordTokenizer

MARKS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")


@cache
def real():
    """Reviews to learn from, others, their words; bool (V, V): is a word near another?"""
    if profile() == "ci":
        made = generated_verdicts(200, seed=1).held_out()
        return made[0], made[2], WORDS, ALLOWED
    learned, _, others = rt_polarity().held_out()
    words = WordTokenizer.train(learned.texts, 5000, specials=MARKS)
    place = {piece: i for i, piece in enumerate(minilm_tokenizer().vocab)}
    known = [i for i, w in enumerate(words.vocab) if w in place and w.isalpha() and len(w) > 2]
    rows = load(minilm()).embeddings.tokens.weight.detach()
    rows = F.normalize(rows[[place[words.vocab[i]] for i in known]], dim=-1)
    near = torch.zeros(len(words), len(words), dtype=torch.bool)
    near[torch.tensor(known)[:, None], torch.tensor(known)] = rows @ rows.T > 0.45
    return learned, others, words, near.fill_diagonal_(False)


# %% One training tags=["fold"]
def learn_real(arm, seed, steps):
    learned, _, words, near = real()
    torch.manual_seed(seed)
    sizes = {"d_model": 64, "n_heads": 4, "n_layers": 2, "d_ff": 128, "max_length": 64}
    encoder = bert(vocab_size=len(words), n_segments=0, dropout=0.1, **sizes)
    model, draw = Classifier(encoder, 64, 2, dropout=0.1), torch.Generator().manual_seed(seed)

    def with_near_words(model, batch):
        labels, tokens = batch
        odds = near[tokens].float()
        share = 0.5 * (torch.rand(len(tokens), 1, generator=draw) < 0.5)  # the others stay whole
        use = (odds.sum(-1) > 0) & (torch.rand(tokens.shape, generator=draw) < share)
        other = tokens.clone()
        if use.any():
            other[use] = torch.multinomial(odds[use], 1, generator=draw)[:, 0]
        return loss(model, (labels, other))

    of = loss if arm == "as usual" else with_near_words
    given = batches(encode(learned.texts, words, 64), learned.labels, seed=seed)
    fit(model, given, of, steps=steps, seed=seed, progress=False, optimizer=adam(model),
        schedule=cosine(1e-3, warmup=steps // 10, total=steps))  # fmt: skip
    return model.eval()


# %% Turn one text tags=["fold"]
from deepdive.explain.edits.counterfactual import greedy


def turn(model, tokens, label, most):
    """Of its single exchanges how many turn it, and how many there are; the text furthest towards
    the other answer by one; the words exchanged by greedy until it turned, [] where it did not.
    """
    words, near = real()[2:]
    some = [near[i].nonzero()[:, 0].tolist() for i in tokens.tolist()]

    def sure(of):
        logits = model(of)
        return logits[:, label] - logits[:, 1 - label]

    singles = [(i, word) for i, each in enumerate(some) for word in each]
    texts = tokens.repeat(len(singles) + 1, 1)
    for row, (i, word) in enumerate(singles):
        texts[row, i] = word
    with torch.no_grad():
        far = sure(texts)
    found = greedy(sure, tokens, some, most=most)
    places = [] if found is None else (found != tokens).nonzero()[:, 0].tolist()
    changes = [f"{words.vocab[tokens[i]]} → {words.vocab[found[i]]}" for i in places]
    return int((far[:-1] <= 0).sum()), len(singles), texts[far.argmin()].tolist(), changes


# %% Measure one network tags=["fold"]
def measure(arm, seed, steps, texts):
    (learned, others, words, _), model = real(), learn_real(arm, seed, steps)
    ids = encode(others.texts, words, 64)
    far = OTHER if profile() == "ci" else movie_reviews([0, 1, 2]).take(range(0, 600, 2))
    near = dense(vectors_of(model, encode(learned.texts, words, 64)), learned.labels, keep=0.9)
    found = scores(model, near, ids, others.labels)
    ok = [i for i, yes in enumerate(found[0]) if yes][:texts]
    labels = [others.labels[i] for i in ok]
    turns = [turn(model, torch.tensor(ids[i]), others.labels[i], 3) for i in ok]
    worst, whole = [of[2] for of in turns], encode(far.texts, words, 64)
    trust = {"reviews of its kind": found_by(*found),
             "one word exchanged": found_by(*scores(model, near, worst, labels)),
             "whole reviews": found_by(*scores(model, near, whole, far.labels))}  # fmt: skip
    return {"right": 100 * sum(found[0]) / len(ids), "trust": trust,
            "turning": [of[0] for of in turns], "options": [of[1] for of in turns],
            "changes": [[i, of[3]] for i, of in zip(ok, turns, strict=True) if of[3]]}


# %% Three seeds, or one short run tags=["fold"]
import json

from deepdive_book.kit.experiments import results_path, sweep

ROWS, long = results_path("07_explain", "near_words"), profile() == "experiment"
points = [{"arm": arm, "seed": seed, "steps": 600 if long else pick(ci=8, laptop=20, gpu=60),
           "texts": 200 if long else pick(ci=6, laptop=8, gpu=8)}
          for arm in ("as usual", "near words") for seed in ((1, 2, 3) if long else (1,))]
data = "generated" if profile() == "ci" else "rt_polarity, movie_reviews"
rows = sweep(measure, points, ROWS if long else None, data=data, minutes=30)
were_kept = profile() != "ci" and ROWS is not None and ROWS.is_file()
if were_kept:
    rows = json.loads(ROWS.read_text())["rows"]
which = "the kept runs" if were_kept else "live, too short to judge by"
print(f"{which}: {rows[0]['steps']} steps")

# %% Turned by near words tags=["fold"]
NAMES = {"as usual": [], "near words": []}
for row in rows:
    n, few = len(row["turning"]), [len(changes) for _, changes in row["changes"]]
    one = 100 * sum(t > 0 for t in row["turning"]) / n
    drawn = 100 * sum(t / max(o, 1) for t, o in zip(row["turning"], row["options"], strict=True))
    NAMES[row["arm"]].append([row["right"], drawn / n, one, 100 * len(few) / n])
shown = ["right", "turned, one drawn", "turned, the worst one", "turned, up to three by greedy"]
table([[what, *(seeds([line[k] for line in lines]) for lines in NAMES.values())]
       for k, what in enumerate(shown)], ["in %", *NAMES],
      caption=f"{len(rows[0]['turning'])} reviews a network: mean (lowest to highest seed)")

# %% Twenty exchanges, read by us tags=["fold"]
first = next(row for row in rows if row["arm"] == "as usual")
ones = [(i, changes[0]) for i, changes in first["changes"] if len(changes) == 1][:20]
READ = dict.fromkeys(range(20), "broken") | dict.fromkeys([7, 10, 11, 14, 16, 17], "same")
READ |= {4: "opposite", 9: "opposite"}


def beside(text, change, around=3):
    """The words around the one that was exchanged, and both words."""
    own, other = change.split(" → ")
    words = text.split()
    at = words.index(own)
    words[at] = f"{own} → {other}"
    return " ".join(words[max(0, at - around) : at + around + 1])


lines = [[beside(real()[1].texts[i], change), how if were_kept else "not read"]
         for (i, change), how in zip(ones, READ.values(), strict=False)]  # fmt: skip
counted = {how: sum(line[1] == how for line in lines) for how in ("same", "broken", "opposite")}
print(f"{len(lines)} read:", ", ".join(f"{count} {how}" for how, count in counted.items()))
if lines:
    same = bootstrap([100.0 * (line[1] == "same") for line in lines])
    print(f"the same, in %: {same.value:.0f} [{same.low:.0f}, {same.high:.0f}], a 95 % interval")
table(lines or [["none", "not read"]], ["exchanged, with the words beside it", "we read it as"],
      caption="The first exchanges of one word that turned a network trained as usual")  # fmt: skip

# %% [markdown]
# One exchange turns 30% of the right answers, up to three turn 64%. But read the list. *Broken*
# are bad grammar and words that do not fit; others might draw the line elsewhere. Of 20, one reader
# took 6 for sentences that mean the same. 12 are broken, and 2 say the opposite, as where *more*
# became *less*: there the network is right to turn, and the attack is wrong. Near embeddings mean
# used alike, as *more* and *less* are. By this list not 30% were fooled, rather a third of that;
# but 20 are few (6 of 20 are 30%, with an interval of 10 to 50), and other exchanges may turn some
# of the rest.
#
# Learning with near words leaves the right answers as many as they were, within the seeds, and in
# each seed fewer are turned.
#
# <details><summary>What people said of two published attacks</summary>
#
# Morris et al. (2020) found the like: 38% of the changes broke the grammar, and with constraints
# that people agreed to, the share turned fell by more than 70 points.
#
# </details>

# %% [markdown] tags=["aside"]
# ### Trust on real reviews

# %% Trust on real reviews tags=["fold"]
trust_table([row["trust"] for row in rows if row["arm"] == "as usual"], "AUROC, real reviews, "
            "trained as usual: mean (lowest to highest) of the seeds")  # fmt: skip

# %% [markdown]
# Here the trust score is behind: on reviews like those learned it is 0.57 where confidence is
# 0.72, and the interval of the difference leaves out 0 in all three seeds. On whole reviews, of
# which 47 of a hundred are judged wrong, neither is far from chance.

# %% [markdown]
# ## What each of them shows
#
# | | it shows | it does not show |
# |---|---|---|
# | step of the rows | how steep the network is beside a text | a text |
# | one exchange, all asked | whether a list of words can turn it | that its words mean the same |
# | HotFlip | which words to try first | what they will do |
# | worst words learned | fewer turned, by such words | safety from others |
# | confidence, trust score | which answers are near the border | that a text is strange |
#
# ## In practice
#
# - **Write down the four things**: goal, changes, constraints, search.
# - **Read twenty of the changes** before you report a number, and count those that you would judge
#   otherwise too.
# - A short list of words: ask all exchanges. A long one and the weights at hand: HotFlip's first
#   ten, then ask. No weights: greedy by the answers.
# - Adversarial training is for changes that you can name. Test it with others.
# - Neither confidence nor a trust score is an alarm for texts of another kind: measure on such
#   texts before you rely on it.
# - To exchange *he* and *she*, and to mend what is found: [7.15](15_bias.ipynb).
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does a step along the gradient turn an answer that a drawn step as long does not?
#
#    <details><summary>Answer</summary>
#
#    There are many directions, and few of them change the answer much; the gradient is the one that
#    changes it most.
#
#    </details>
# 2. Why do the nearest words of moved rows mostly give the old text?
#
#    <details><summary>Answer</summary>
#
#    The step is shared by all words, so that each row is still nearer to its own word than to any
#    other.
#
#    </details>
# 3. When is HotFlip's guess exact?
#
#    <details><summary>Answer</summary>
#
#    Where the answer is linear in the rows; else it is the first term of a series, and a word is a
#    long way.
#
#    </details>
# 4. *good* and *bad* have near embeddings. Why?
#
#    <details><summary>Answer</summary>
#
#    They stand in the same places: a film may be either. Near means used alike, not meant alike.
#
#    </details>
# 5. A text has nothing to do with what a network learned. What does the trust score say of it?
#
#    <details><summary>Answer</summary>
#
#    About 1: it is far from each class, and the ratio does not say how far.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* The judge $3a + 4b$ reads one word, `warm` (1, 1). How long is the shortest
#    step that turns it? And why was it shorter for four words, though the judge said more?
#
#    <details><summary>Answer</summary>
#
#    $7 / 5 = 1.4$. Four words push together: the gradient over the text is twice as long.
#
#    </details>
# 2. *(on paper, 4 min)* Two right answers have the scores 5 and 3, two wrong ones 4 and 1. What is
#    the AUROC?
#
#    <details><summary>Answer</summary>
#
#    Of four pairs three are in order: 0.75.
#
#    </details>
# 3. *(code, 8 min)* **An axiom broken.** A score of trust should fall as a text moves away from all
#    that was learned. One class lies at 0, 1, 2, the other at 12, 13, 14. What does the trust score
#    say at 5, at 1000 and at a million, where the network says the nearer class?
#
#    <details><summary>Answer</summary>
#
#    7 to 3 at 5, and about 1 at both others: it stops falling at 1, however far the text is.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
print(f"1: {7 / 5:.1f}, and {10 / (4 * 25) ** 0.5:.1f} for four words")
print(f"2: {auroc([5, 3, 4, 1], [1, 1, 0, 0])}")
line = torch.tensor([[0.0], [1], [2], [12], [13], [14]])
points = torch.tensor([[5.0], [1000], [1_000_000]])
found = trust_score(dense(line, [0, 0, 0, 1, 1, 1], k=2), points, [0, 1, 1])
print("3:", " ".join(f"{x:.2f}" for x in found.tolist()))

# %% tags=["fold"]
# The review of the first screen, asked once more: one word exchanged, "critics" left or not.
for name, model in (("the network", usual()), ("no change", gone_on("no change")),
                    ("worst word", gone_on("worst word"))):  # fmt: skip
    others = exchanged(SENTENCE)
    shares = said(model, others).softmax(-1)[:, 1].tolist()
    friends = shares[others.index(SENTENCE.replace("critics", "friends"))]
    turning = [next(b for a, b in zip(SENTENCE.split(), other.split(), strict=True) if a != b)
               for other, share in zip(others, shares, strict=True) if share > 0.5]  # fmt: skip
    print(f"{name}: friends for critics, positive {100 * friends:.0f} %; turned by", *turning)

# %% [markdown]
# ## Summary
#
# Along the gradient an answer turns within a step too short to reach another word, and on the way
# back to words most of it is lost; what counts for texts is an exchange that keeps the meaning, and
# HotFlip's first guess finds most of those that exist. Learning the worst words makes them rarer,
# for the words that were learned. Back to the review: *friends* for *critics* turned the network,
# 99% sure of its new answer, one such word turned 21 of a hundred right answers (12 to 28 in the
# three networks), and the network gives at most a hint: the AUROC of its confidence is 0.73 over
# such texts and 0.87 over ordinary ones, and the trust score is not told apart from it.
#
# ## Further reading
#
# - Goodfellow, Shlens, Szegedy (2015), *Explaining and Harnessing Adversarial Examples*: section 3,
#   why a linear model is enough.
# - Miyato, Dai, Goodfellow (2017), *Adversarial Training Methods for Semi-Supervised Text
#   Classification*: the step on rows, in training.
# - Ebrahimi, Rao, Lowd, Dou (2018), *HotFlip*: exchanges guessed from one gradient.
# - Jin, Jin, Zhou, Szolovits (2020), *Is BERT Really Robust?*: TextFooler, greedy with near words.
# - Morris et al. (2020), *Reevaluating Adversarial Examples in Natural Language*: four constraints,
#   and what people say of the changes; and *TextAttack*, the library by the same group.
# - Jiang, Kim, Guan, Gupta (2018), *To Trust Or Not To Trust A Classifier*: sections 3 and 4.
# - The book's section 7.2.

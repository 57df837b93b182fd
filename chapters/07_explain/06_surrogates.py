# %% [markdown] tags=["slide"]
# # Surrogate models: extracting trees, rules, and automata
#
# Somebody who leaves an office writes on a card how she has decided, for the one who comes after
# her. A model's way to decide can be put on a card, too. Does the card then say what the model
# says, even in cases that nobody had in mind when it was written?
#
# <small>Prerequisites: [recurrent networks](../01_before/07_rnn.ipynb) · 18 min · runs on a
# laptop · book 7.3.2.2, and the papers under further reading</small>

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

# %% A small network that reads presses and pauses tags=["fold"]
import torch
import torch.nn.functional as F
from torch import nn


class Network(nn.Module):
    """Words (N, T) of 0, a pause, and 1, a press -> margin (N,): above 0 it says on."""

    def __init__(self, units):
        super().__init__()
        self.start = nn.Parameter(torch.zeros(units))
        self.gru, self.out = nn.GRU(2, units, batch_first=True), nn.Linear(units, 1)

    def path(self, words):
        """The states before the first symbol and after each, (N, T + 1, units)."""
        begin = self.start.expand(len(words), 1, -1)
        if not words.shape[1]:
            return begin
        later = self.gru(F.one_hot(words, 2).float(), begin.mT.permute(2, 0, 1).contiguous())[0]
        return torch.cat([begin, later], 1)

    def forward(self, words):
        return self.out(self.path(words)[:, -1])[:, 0]


# %% Learn from all words of up to six tags=["fold"]
from functools import cache
from itertools import pairwise, product

from deepdive_book.kit.profile import pick, profile

RULES = {"light": lambda word: word.count(1) % 2 == 0}


def words_of(length):
    return torch.tensor([*product((0, 1), repeat=length)]).reshape(2**length, length).long()


def truth(rule, words):
    """What the rule says of words of one length, bool (N,)."""
    return torch.tensor([RULES[rule](tuple(word)) for word in words.tolist()], dtype=torch.bool)


# %% Train one tags=["fold"]
@cache
def learned(rule, units, length, steps, seed):
    """A network that learned from all words of `length` and all their beginnings."""
    torch.manual_seed(seed)
    network, words = Network(units), words_of(length)
    yes = torch.stack([truth(rule, words[:, :n]) for n in range(length + 1)], 1).float()
    adam = torch.optim.Adam(network.parameters(), lr=0.02)
    for _ in range(steps):
        margins = network.out(network.path(words))[..., 0]
        adam.zero_grad()
        F.binary_cross_entropy_with_logits(margins, yes).backward()
        adam.step()
    return network.eval()


# %% [markdown]
# A light is on. Each press of its switch turns it off or on again; a pause changes nothing. A
# recurrent network of three units has learned this from all words of up to six presses and pauses,
# and gets all of them right. Beside it is a **card**, a **finite automaton**: two states, and for
# each what follows on a press and on a pause. Nobody wrote it. It was read out of the network by
# asking about words, without a look inside.
#
# *Press the buttons, or the keys 1 and 0 once the picture has the focus.*

# %% Network and card tags=["fold"]
from deepdive.explain.surrogates.angluin import extract, reached
from deepdive.explain.surrogates.automata import Automaton, difference
from deepdive_book.ch07.figures.rnn_vs_automaton import side_by_side

LIGHT = Automaton(((0, 1), (1, 0)), (True, False))  # the rule: next[state][pause, press]
network = learned("light", units=3, length=6, steps=200, seed=6)


def says(words):
    return network(words) > 0


two = extract(says, n_symbols=2, length=6, drawn=0)  # no word of more than six is tried
assert difference(two, LIGHT) is None
side_by_side(network.start, network.gru, network.out, {"two states": two}, LIGHT, word=(1, 0, 0))

# %% [markdown]
# A column for each symbol: `|` is a press, `·` a pause. A full cell says on; how full the middle
# one is shows how sure of on the network is. The card, below, begins in the left state; solid
# arrows are presses, dashed ones pauses.
#
# 1. Press three times. Do network and card agree?
# 2. Find a word on which they differ. (It has a single press.)
# 3. Which of the two is right there? Is the card, then, a good explanation of the network?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. Yes, off.
# 2. A press, then pauses: the middle cells fill up, and after some of them the network says on. It
#    forgets.
# 3. The card is right, and that is what is wrong with it. It explains the light. It does not say
#    what the network does.
#
# </details>
#
# So a translation of a model (its **global surrogate**) has two scores. **Fidelity** is how often
# it says what the model says; **accuracy** is how often it says what is true. Only fidelity makes
# it an explanation of the model.

# %% [markdown] tags=["slide"]
# ## By hand: reading a card out of answers
#
# Two beginnings (*prefixes*) of a word are the same state if no ending (*suffix*) tells them apart.
# So write a table: beginnings down, endings across, in each cell the answer to *beginning + ending*
# (1 is yes). Equal rows are one state. For the light one ending is enough, the empty one:
#
# | beginning | ending: none | state |
# |---|---|---|
# | nothing | 1 | on |
# | `\|` | 0 | off: a new row |
# | `·` | 1 | on |
# | `\|\|` | 1 | on |
# | `\|·` | 0 | off |
#
# The first two rows differ, so there are two states. The others say what follows each of them on a
# press and on a pause, and none is new: the card is complete. Where such a card errs on a word,
# **all endings of this word become new columns**, and the table may get new rows.
#
# <details><summary>An alarm, by hand: a card that errs, and the columns that mend it</summary>
#
# An alarm goes on after two presses in a row and stays on. With the empty ending alone nothing, `|`
# and `·` all have the row 0: one state, which never says yes. Try the card on all words, the
# shortest first: it errs on `||`. The endings of this word that are not yet columns are `||` and
# `|`:
#
# | beginning | none | `\|\|` | `\|` | state |
# |---|---|---|---|---|
# | nothing | 0 | 1 | 0 | A |
# | `·` | 0 | 1 | 0 | A |
# | `\|` | 0 | 1 | 1 | B: a new row |
# | `\|·` | 0 | 1 | 0 | A |
# | `\|\|` | 1 | 1 | 1 | C: a new row |
# | `\|\|·` | 1 | 1 | 1 | C |
# | `\|\|\|` | 1 | 1 | 1 | C |
#
# Three states, and no word is left on which the card errs.
#
# </details>


# %% The same tables, and the library's cards tags=["nbval-check-output", "fold"]
def rows(rule, beginnings, endings):
    """Beginnings down, endings across, each answer 0 or 1."""
    signs = {"·": 0, "|": 1}
    ask = lambda word: int(RULES[rule](tuple(signs[s] for s in word)))  # noqa: E731
    return {begin: [ask(begin + end) for end in endings] for begin in beginnings}


RULES["alarm"] = lambda word: (1, 1) in pairwise(word)
light_rows = rows("light", ["", "|", "·", "||", "|·"], [""])
alarm_rows = rows("alarm", ["", "·", "|", "|·", "||", "||·", "|||"], ["", "||", "|"])
assert [*light_rows.values()] == [[1], [0], [1], [1], [0]]
assert [*alarm_rows.values()] == [[0, 1, 0]] * 2 + [[0, 1, 1], [0, 1, 0]] + [[1, 1, 1]] * 3
never = extract(lambda words: truth("alarm", words), 2, length=1, drawn=0)
alarm = extract(lambda words: truth("alarm", words), 2, length=6, drawn=0)
assert never == Automaton(((0, 0),), (False,))
assert difference(never, alarm) == (1, 1)
print("states:", len(never.accepts), "then", len(alarm.accepts))
assert alarm == Automaton(((0, 1), (0, 2), (2, 2)), (False, False, True))

# %% [markdown]
# ## The method
#
# $f(w)$ is the model's answer to word $w$, and $uw$ is $u$ followed by $w$.
#
# $$u \sim v \;\text{ if }\; f(uw) = f(vw) \text{ for every ending } w$$
#
# Each class of such beginnings is a state. If there are finitely many, this is the smallest
# automaton with the answers $f$. Angluin's algorithm **L\*** (1987) finds it by two kinds of
# questions: *is this word accepted?* (a **membership query**), and *is this card right? If not,
# show me a word on which it errs* (an **equivalence query**). A network answers the first. **Nobody
# can answer the second about a network**: one tries words, and how they are chosen decides what the
# card will say.
#
# ## How many states has the network?
#
# The card was made with words of up to six. Now 300 longer ones, of 7 to 30 symbols, drawn at
# random, are tried as well.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The network says each word of up to six symbols right, and L* is asked again, with 300 longer "
    "words as trials. How many states will the card have?",
    ["two, as before: forgetting is a fault of the numbers and no state",
     "about ten",
     "no number ends it: a network of real numbers has no states"],
    answer=1,
    explain="Each pause after a press is a state of its own, until the network has forgotten.",
    key="07_explain/states-of-the-network",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Asked about longer words tags=["surprise", "fold"]
more = extract(says, 2, length=6, drawn=300, longest=30, most=40)
cards = {f"{len(more.accepts)} states": more, "2 states": two}
side_by_side(network.start, network.gru, network.out, cards, LIGHT, word=(1,))

# %% What the card has found tags=["surprise", "fold"]
wrong = difference(more, two)  # a shortest word on which the two cards differ
signs = "".join("·|"[s] for s in wrong)
tried = torch.tensor([wrong])
print(f"{len(more.accepts)} states; cards differ on {signs}")
print("light:", *("on" if yes else "off" for yes in LIGHT(tried).tolist()))
print("network:", *("on" if yes else "off" for yes in says(tried).tolist()))
right = [bool((says(words_of(n)) == LIGHT(words_of(n))).all()) for n in range(len(wrong))]
count = sum(2**n for n in range(len(right)))
print(f"all {count} words of up to {len(right) - 1} right: {all(right)}")

# %% [markdown]
# *The same network with the card that longer words made. Press once, then pause, and go round.*
#
# The card has nine states, and each can be named: *on*, and *off since 0, 1, ... 7 pauses*. At the
# eighth pause the network is back at *on*. A shortest word on which the two cards differ is a press
# and eight pauses. The network gets it wrong, and all 511 shorter words right.

# %% [markdown]
# ## Which card is faithful?
#
# A third card gets its trials from a look inside. The space of the network's states is cut into
# boxes. Begin with the empty word. Lengthen it by a press and by a pause, and go on from a word
# only if it brings the network's state into a box where no word was before. All words made in this
# way are trials. For this card and for the drawn words the search ends with the first card of 60
# states or more, so the largest cards below are not finished.

# %% Three cards for each of six networks tags=["fold"]
from statistics import mean

from deepdive.evaluate import bootstrap
from deepdive.explain.surrogates.trees import fidelity
from deepdive_book.kit.tables import table


def cards_of(model, drawn=300, most=60):
    """Cards from short words, from drawn ones, and from words that lead to new states."""
    yes, inside = (lambda words: model(words) > 0), (lambda words: model.path(words)[:, -1])
    return {
        "all words of up to 6": extract(yes, 2, length=6, drawn=0),
        f"and {drawn} drawn": extract(yes, 2, length=6, drawn=drawn, longest=30, most=most),
        "and by a look inside": extract(
            yes, 2, length=6, drawn=0, most=most, also=reached(inside, 2)
        ),
    }


# %% Asked about long words tags=["fold"]
draw = torch.Generator().manual_seed(1)
long = torch.randint(2, (2000, 40), generator=draw)
SEEDS = pick(ci=(6,), laptop=(1, 2, 3, 4, 5, 6), gpu=(1, 2, 3, 4, 5, 6))
found = {}
for seed in SEEDS:
    model = learned("light", units=3, length=6, steps=200, seed=seed)
    with torch.no_grad():
        said, lit = model(long) > 0, LIGHT(long)
    for name, card in [*cards_of(model).items(), ("the network itself", None)]:
        answers = said if card is None else card(long)
        states = len(card.accepts) if card else None
        row = (states, fidelity(answers, said)[0], float((answers == lit).double().mean()))
        found.setdefault(name, []).append(row)


# %% Fidelity beside accuracy tags=["slide", "fold"]
def spread(values, form="{:.1f}"):
    """The mean of the seeds, and the lowest and highest."""
    if None in values:
        return ""
    low, middle, high = (form.format(v) for v in (min(values), mean(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


lines = [[name, spread([r[0] for r in each], "{:.0f}"), *(spread([100 * r[k] for r in each])
          for k in (1, 2))] for name, each in found.items()]  # fmt: skip
first, *others, _ = found.values()
for called, each in zip(("drawn", "look inside"), others, strict=True):
    above = sum(r[1] > f[1] for r, f in zip(each, first, strict=True))
    print(f"{called}: more faithful than the first card\nin {above} of {len(SEEDS)}")
table(lines, ["card made from", "states", "fidelity, %", "accuracy, %"],
      caption=f"2,000 drawn words of 40 symbols; mean of {len(SEEDS)} seeds (lowest to "
      "highest)")  # fmt: skip

# %% [markdown]
# The card of two states is right about the light in every word. Its fidelity sounds high, because
# drawn words seldom have eight pauses in a row: a fidelity is a fidelity *on these words*. The look
# inside made a more faithful card for each of the six networks, the drawn words for four. What is
# faithful errs where the network errs. Two states one keeps in mind, 70 nobody does.
#
# Larger networks, right on all 8,191 words of up to 12 symbols and on 1,000 drawn ones, were wrong
# on a word of 17 or 21, which a look inside found.

# %% [markdown] tags=["aside"]
# ### Right on all short words, and wrong on a long one
#
# Larger networks, of five units, learn from all words of up to eight symbols. Three rules: the
# light; *never three pauses in a row*; *press and pause in turn*. Who finds a word that the network
# gets wrong: all words of up to 12, 1,000 drawn words of up to 40, or the words of a look inside?

# %% Three ways to find a wrong answer tags=["fold"]
RULES["no three pauses"] = lambda word: "000" not in "".join(map(str, word))
RULES["in turn"] = lambda word: word == (1, 0) * (len(word) // 2)


def first_wrong(model, rule, words):
    """The length of the first word in the list that the model gets wrong, or "none"."""
    for size in sorted({len(word) for word in words}):
        group = [w for w in words if len(w) == size]
        group = torch.tensor(group).long().reshape(len(group), size)
        if not torch.equal(model(group) > 0, truth(rule, group)):
            return size
    return None


# %% Asked about nine networks tags=["fold"]
short = [tuple(w) for n in range(pick(ci=9, laptop=13, gpu=13)) for w in words_of(n).tolist()]
draw = torch.Generator().manual_seed(2)
drawn = [tuple(torch.randint(2, (int(n),), generator=draw).tolist())
         for n in torch.randint(1, 41, (1000,), generator=draw)]  # fmt: skip
STEPS, TRIED = pick(ci=150, laptop=600, gpu=600), pick(ci=(1,), laptop=(1, 2, 3), gpu=(1, 2, 3))
NAMES, lines = ["short", "drawn", "inside"], []
for rule, seed in product(["light", "no three pauses", "in turn"], TRIED):
    model = learned(rule, units=5, length=8, steps=STEPS, seed=seed)
    inside = reached(lambda words, m=model: m.path(words)[:, -1], 2)
    with torch.no_grad():
        wrong_at = [first_wrong(model, rule, words) for words in (short, drawn, inside)]
    lines.append([f"{rule}, {seed}", *(n or "none" for n in wrong_at), len(inside)])

# %% Who finds it tags=["fold"]
table(lines, ["rule, seed", *NAMES, "words"],
      caption="symbols of the shortest word found that is answered wrongly, among "
      f"{len(short):,} short words, 1,000 drawn ones, and those of a look inside, whose number "
      "stands last")  # fmt: skip

# %% [markdown]
# Three of the nine networks are right on all 8,191 short words and on all 1,000 drawn ones, and are
# wrong on a word of 17 or of 21 symbols. There are more than a hundred thousand words of 17
# symbols; the look inside asked about 1,441 words in all, for the light with seed 2. What these
# words have in common we did not ask.
#
# The look is no proof either. In one network (*no three pauses*, seed 3) it found nothing, and a
# drawn word of 23 symbols is answered wrongly. What moves less than a box may look like standing
# still. Here are the networks in which it found nothing, with boxes of half the size:

# %% Smaller boxes tags=["fold"]
again = []
for rule, seed in [("no three pauses", TRIED[-1]), *(("in turn", seed) for seed in TRIED)]:
    model = learned(rule, units=5, length=8, steps=STEPS, seed=seed)
    finer = reached(lambda words, m=model: m.path(words)[:, -1], 2, apart=0.05)
    with torch.no_grad():
        again.append([f"{rule}, {seed}", first_wrong(model, rule, finer) or "none", len(finer)])
table(again, ["rule, seed", "inside", "words"], caption="boxes of half the size")

# %% [markdown]
# Now it finds one of 13 symbols. For *in turn* nobody found a wrong word, which does not say that
# there is none. Weiss et al. (2018) report the same of seemingly perfect networks: their automata
# were large, and showed words that the networks get wrong.

# %% [markdown]
# ## A tree for a classifier of reviews
#
# The card for a review is a **decision tree**: questions of the form *does the review contain this
# word?*, fitted to the classifier's answers, not to the truth. Each way through it is a rule. The
# small BERT of [7.4](04_perturbation.ipynb) reads generated reviews. What the writer finds decides,
# what others find does not:
#
# | review | class |
# |---|---|
# | `i find the music cold .` | negative |
# | `i do not find the music cold .` | positive |
# | `critics find the script dull , i find the music warm .` | positive |
#
# We fit trees of more and more questions to its answers about reviews in which only the writer
# speaks. How often does a tree say the same of others of this kind? The floor is what one answer
# for all would get.

# %% The classifier, and what it says tags=["fold"]
from torch.nn.utils.rnn import pad_sequence

from deepdive.explain.surrogates.trees import bags, decide, decision_tree, rules
from deepdive_book.ch07.toys.review_words import review_words
from deepdive_book.data.labeled_cause_reviews import generated_verdicts
from deepdive_book.data.synthetic_reviews import BAD


def answers_of(model, rows):
    """What a classifier says of texts, each a row of tokens, bool (N,)."""
    said = []
    for i in range(0, len(rows), 250):
        tokens = pad_sequence(rows[i : i + 250], True)
        real = pad_sequence([torch.ones(len(r), dtype=torch.bool) for r in rows[i : i + 250]], True)
        with torch.no_grad():
            logits = model(tokens, real)
        said.append(logits[:, 1] > logits[:, 0])
    return torch.cat(said)


# %% It is asked tags=["fold"]
toy, made = review_words("plain"), generated_verdicts(pick(ci=3000, laptop=6000, gpu=6000), seed=11)
texts = [toy.tokens(text)[0] for text in made.texts]
positive, bag = answers_of(toy.model, texts), bags(texts, len(toy.tokenizer))
alone = torch.tensor(["," not in text for text in made.texts])  # nobody else speaks
fit_on, same, other = alone.clone(), alone.clone(), ~alone
fit_on[len(alone) * 2 // 3 :], same[: len(alone) * 2 // 3] = False, False
hits = (positive == torch.tensor(made.labels).bool()).double()
for called, part in (("alone", alone), ("with others", other)):
    print(f"classifier right, writer {called}: {hits[part].mean():.0%}")

# %% Trees of more and more questions tags=["fold"]
trees = {d: rules(decision_tree(bag[fit_on], positive[fit_on], d)) for d in (1, 2, 3, 4, 5, 6, 40)}


def score(rules, part):
    """Fidelity in per cent, with its interval."""
    value, low, high = bootstrap((decide(rules, bag[part]) == positive[part]).double())
    return f"{100 * value:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


floor = fidelity(positive[same], positive[same])[1]
table([["as many" if d == 40 else d, len(r), score(r, same)] for d, r in trees.items()],
      ["questions in a row, at most", "rules", "fidelity, %"],
      caption=f"made from {int(fit_on.sum()):,} reviews, asked about {int(same.sum())} others of "
      f"the same kind; floor {100 * floor:.0f} %")  # fmt: skip


# %% Three questions, as rules tags=["fold"]
def told(rule):
    """A rule as a reader says it."""
    has, lacks = ([toy.tokenizer.vocab[i] for i in some] for some in (rule.present, rule.absent))
    words = [*has, *(f"without {word}" for word in lacks)]
    says = "positive" if rule.yes else "negative"
    return f"{', '.join(words)} → {says} ({rule.count} reviews, {100 * rule.share:.0f} %)"


for rule in trees[3]:
    print(told(rule))
blame = sum(any(toy.tokenizer.vocab[i] in BAD for i in rule.present) for rule in trees[40])
print(f"largest tree: {blame} of {len(trees[40])} rules find a word of blame")

# %% [markdown]
# *A rule names the words that have to be there and those that must not; then the answer, the number
# of reviews that it was made from, and in what share of them the classifier says so.*
#
# With three questions the card can be read (its *do* is that of *do not find*), and agrees with the
# classifier on 61% of the reviews, where the floor is 51%. The tree of 34 rules agrees on all
# 655. It has two rules for each of sixteen adjectives that blame, with a denial and without, and
# two for all others. **The readable card is unfaithful, and the faithful one is long, in *these*
# questions**: with one question *is there a word of blame?* four rules would do.
#
# ## Does the card hold where it was not made?

# %% tags=["fold"]
predict(
    "The largest tree says what the classifier says of every review that it was tested on. In "
    "those, only the writer spoke. Now others speak, too; the classifier gets all of these right. "
    "Of how many does the tree say what the classifier says?",
    ["nearly all: it has the classifier's rules",
     "about two thirds",
     "half: no more than tossing a coin"],
    answer=1,
    explain="What the tree never needed to ask is missing in it: whose word it is.",
    key="07_explain/a-faithful-tree-elsewhere",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The same trees, reviews in which others speak tags=["surprise", "fold"]
both = [["as many" if d == 40 else d, len(r), score(r, same), score(r, other)]
        for d, r in trees.items()]  # fmt: skip
table(both, ["questions", "rules", "fidelity, writer alone, %", "with others, %"],
      caption=f"the same trees, asked about {int(other.sum()):,} reviews in which others speak, "
      "too")  # fmt: skip


# %% Where others are of the writer's mind, and where not tags=["fold"]
def praises(part):
    """Whether this half of a review praises."""
    return any(word in BAD for word in part.split()) == ("not" in part.split())


one_mind = torch.tensor([len({praises(part) for part in text.split(",")}) == 1
                         for text in made.texts])  # fmt: skip
for called, part in (("others agree with the writer", other & one_mind),
                     ("others disagree", other & ~one_mind)):  # fmt: skip
    print(f"{called}: largest tree {score(trees[40], part)} % of {int(part.sum()):,} reviews")

# %% [markdown]
# The classifier is right on all 3,715 of these, and the tree that never missed before agrees with
# it on 64 of a hundred. In the reviews that it was made from it did not matter whose adjective it
# was. So the card does not say, and no fidelity that is measured on such reviews can show it.
#
# On real film reviews (below) trees of 118 rules agree with an LSTM on 60 of a hundred sentences,
# where the floor is 52. They explain little, and their low fidelity is how one knows.

# %% [markdown] tags=["aside"]
# ### Common mistake: asking about the texts that the tree was made from
#
# So make the tree from reviews of both kinds, and let it ask as much as it likes:

# %% Its own texts, and others tags=["fold"]
mixed = torch.arange(len(texts)) < len(texts) * 2 // 3
own = rules(decision_tree(bag[mixed], positive[mixed], 40))
table([["the texts that it was made from", len(own), score(own, mixed)],
       ["other texts of the same kinds", len(own), score(own, ~mixed)]],
      ["asked about", "rules", "fidelity, %"])  # fmt: skip

# %% [markdown]
# **Symptom:** hundreds of rules, nearly perfect on the texts that they were made from. **Fix:** ask
# about others. Whose word it is stands in the order of the words, which these questions do not see;
# so the tree has learned its texts by heart.

# %% [markdown] tags=["aside"]
# ### Real reviews
#
# A bidirectional LSTM with attention learns from 8,062 sentences of film reviews (`rt_polarity`).
# Trees of its answers on these sentences are asked about 2,000 others.

# %% Sentences from reviews tags=["fold"]
from collections import Counter

from deepdive.data.reviews import rt_polarity
from deepdive.models.interpretable.attention_classifier import attentive

if profile() == "ci":
    learn, _, test = generated_verdicts(900, seed=5).split((0.7, 0.1, 0.2))
else:
    learn, _, test = rt_polarity().held_out()
counted = Counter(word for text in learn.texts for word in {*text.split()})
VOCAB = ["[PAD]", "[OTHER]", *sorted(w for w, n in counted.items() if n >= 3)]
ID = {word: i for i, word in enumerate(VOCAB)}
OFTEN = [i for i, w in enumerate(VOCAB) if counted[w] >= 10]  # what a tree may ask for
tokens = [[torch.tensor([ID.get(w, 1) for w in text.split()]) for text in part.texts]
          for part in (learn, test)]  # fmt: skip
labels = [torch.tensor(part.labels).bool() for part in (learn, test)]
seen = [bags(part, len(VOCAB))[:, OFTEN] for part in tokens]


# %% A classifier that learns from them tags=["fold"]
def reader(seed, epochs):
    """Two LSTMs and an attention, trained on the first part."""
    torch.manual_seed(seed)
    model = attentive(len(VOCAB), d_model=32, d_hidden=32)
    adam = torch.optim.Adam(model.parameters(), lr=4e-3)
    order = sorted(range(len(tokens[0])), key=lambda i: len(tokens[0][i]))
    for step in [s for _ in range(epochs) for s in torch.randperm(-(-len(order) // 32)).tolist()]:
        places = order[32 * step : 32 * step + 32]
        batch = pad_sequence([tokens[0][i] for i in places], True)
        adam.zero_grad()
        F.cross_entropy(model(batch, batch > 0), labels[0][places].long()).backward()
        adam.step()
    return model.eval()


# %% Its trees tags=["fold"]
real = {}
for seed in pick(ci=(1,), laptop=(1, 2, 3), gpu=(1, 2, 3)):
    model = reader(seed, pick(ci=1, laptop=3, gpu=3))
    learned_from, said = (answers_of(model, part) for part in tokens)
    for depth in (1, 2, 3, 4, 6, 12):
        tree = rules(decision_tree(seen[0], learned_from, depth))
        on = decide(tree, seen[1])
        row = (len(tree), fidelity(on, said)[0], float((on == labels[1]).double().mean()))
        real.setdefault(str(depth), []).append(row)
    real.setdefault("always the same answer", []).append((1, fidelity(on, said)[1], None))
    right_of = float((said == labels[1]).double().mean())
    real.setdefault("the classifier", []).append((None, 1.0, right_of))

# %% Fidelity and accuracy of the trees tags=["slide", "fold"]
lines = [[name, spread([r[0] for r in each], "{:.0f}"), *(
    spread([None if r[k] is None else 100 * r[k] for r in each]) for k in (1, 2))]
    for name, each in real.items()]  # fmt: skip
half = 100 * 1.96 * (0.25 / len(labels[1])) ** 0.5
table(lines, ["questions in a row", "rules", "fidelity, %", "accuracy, %"],
      caption=f"{learn.source}, {len(labels[1]):,} held-out texts, so a share is known to "
      f"{half:.1f} either way; mean of the seeds (lowest to highest)")  # fmt: skip

# %% [markdown]
# Trees of up to twelve questions in a row, with 118 rules, agree with the classifier on 60 of a
# hundred sentences; one answer for all would get 52. A likely reason, which we did not test: most
# words stand in few sentences.

# %% [markdown]
# ## In practice
#
# - Say how a translation was tested: on which texts, with an interval, beside its floor.
# - Ask the model about texts of the kind where the card will be used.
# - Where fidelity stays low, change the questions (pairs of words, say) or explain single decisions
#   ([LIME, Anchors](05_surrogates.ipynb)).
# - Automata fit models that read few symbols: protocols, formats, moves of a game.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What is the difference between fidelity and accuracy?
#
#    <details><summary>Answer</summary>
#
#    Fidelity compares the card with the model, accuracy compares it with the truth.
#
#    </details>
# 2. When do two beginnings of a word lead to the same state?
#
#    <details><summary>Answer</summary>
#
#    When no ending tells them apart: with each, both get the same answer.
#
#    </details>
# 3. Which of the two questions of L\* can nobody answer about a network, and what stands in for it?
#
#    <details><summary>Answer</summary>
#
#    Whether the card is right in all words. One tries words: all short ones, drawn ones, or those
#    that lead the network to new states.
#
#    </details>
# 4. Why did the card of two states say nothing of the forgetting?
#
#    <details><summary>Answer</summary>
#
#    All its trials had at most six symbols, and the network forgets after eight pauses.
#
#    </details>
# 5. A tree has a fidelity of 95%. What else do you ask?
#
#    <details><summary>Answer</summary>
#
#    On which texts, from how many, and what would one answer for all get there.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* A lamp goes on at the second press and off at the third, again and again,
#    whatever the pauses. Fill a table with the endings *none*, `|`, `||`. How many states?
#
#    <details><summary>Answer</summary>
#
#    Three: nothing (0, 0, 1), `|` (0, 1, 0), `||` (1, 0, 0); `|||` is as nothing again.
#
#    </details>
# 2. *(predict, 5 min)* A rule says yes to words of ten presses in a row, somewhere. How
#    many states has the card if no word of more than eight is tried? And with ten?
#
#    <details><summary>Answer</summary>
#
#    One, which always says no; with ten 11, one for each number of presses in a row.
#
#    </details>
# 3. *(measure, 10 min)* Write two reviews of the same words in another order, to which the
#    classifier gives different answers. How faithful can any tree be on these two?
#
#    <details><summary>Answer</summary>
#
#    One half: it is given the same words twice, and says the same twice.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
RULES["third"] = lambda word: word.count(1) % 3 == 2
print([*rows("third", ["", "|", "||", "|||"], ["", "|", "||"]).values()])
RULES["ten"] = lambda word: "1" * 10 in "".join(map(str, word))
print([len(extract(lambda words: truth("ten", words), 2, length=n, drawn=0).accepts)
       for n in (8, 10)])  # fmt: skip
pair = ["critics find the script dull , i find the music warm .",
        "critics find the script warm , i find the music dull ."]  # fmt: skip
of_two = [toy.tokens(text)[0] for text in pair]
same_bag = bags(of_two, len(toy.tokenizer))
both_answers = answers_of(toy.model, of_two)
tree = rules(decision_tree(same_bag.repeat(9, 1), both_answers.repeat(9), 10))
print(both_answers.tolist(), torch.equal(*same_bag), fidelity(decide(tree, same_bag), both_answers))

# %% [markdown]
# ## Summary
#
# A translation puts the whole model on a card, and fidelity, measured on texts that the card was
# not made from, says how far the card speaks for the model. L\* reads an automaton out of a network
# by questions alone, and finds what no short word shows: ours was right on all words of up to eight
# symbols, and forgot after eight pauses. Back to the office: the card says what she had decided in
# the cases that it was made from; in others it may be right where she was wrong, as with the light,
# or wrong where she was right, as with the reviews. Only asking her about such cases tells.
#
# ## Further reading
#
# - Angluin (1987), *Learning Regular Sets from Queries and Counterexamples*: L\*, with an example
#   table. She makes the beginnings of a word that errs new rows; that its endings become columns is
#   from Maler and Pnueli (1995), *On the Learnability of Infinitary Regular Sets*.
# - Weiss, Goldberg, Yahav (2018), *Extracting Automata from Recurrent Neural Networks Using Queries
#   and Counterexamples*: L\* asks LSTMs and GRUs, and finds words on which networks without a fault
#   in their tests are wrong.
# - Omlin and Giles (1996), *Extraction of Rules from Discrete-time Recurrent Neural Networks*: the
#   boxes of states.
# - Craven and Shavlik (1996), *Extracting Tree-Structured Representations of Trained Networks*:
#   trees that let the network answer made-up examples, too, where a question of the tree has few
#   left.
# - Molnar, *Interpretable Machine Learning*, the chapter on global surrogates.

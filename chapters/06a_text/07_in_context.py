# %% [markdown] tags=["slide"]
# # In-context learning: four demonstrations and a question
#
# You give a new colleague four forms that are filled in and one that is empty, and say nothing.
# They fill in the fifth. A language model can be taught in the same way, by the text in front of
# it, while none of its weights moves. What does it take from the four: the answers, or only what
# an answer looks like? If somebody has filled them in wrongly, will it get the fifth one right?
#
# <small>Prerequisites: [a language model in 98 MB](03_quantization.ipynb),
# [decoding](../02_transformer/14_decoding.ipynb) · 17 min · runs on a laptop; results of the long
# runs are included · book 6.1.3.3, and the papers under further reading</small>

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

# %% Build a prompt tags=["slide", "fold"]
from deepdive_book.ch06a.figures.few_shot_prompt import few_shot_prompt, load_cached

built = load_cached()  # 81 prompts, five texts after each: SmolLM2's answers, asked beforehand
few_shot_prompt(built, "1000", 1)

# %% [markdown]
# *The box holds all that the model reads. The bar is what it gives to the two words that may
# follow, blue for "positive".*
#
# 1. Leave all four out, and ask about "N/A". What does the model say of nothing at all?
# 2. Ask about "the only good thing is the music". Put in only the two good reviews, then only the
#    two bad ones.
# 3. Put in all four, then turn each label round. Does the model turn round too?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. It says "negative": with no form at all "positive" gets only 28.8%.
# 2. The forms decide: "positive" gets 94.6% after the two good ones, 7.4% after the two bad
#    ones, and 40.5% without.
# 3. Not as the labels do: "I laughed, I cried" gets 33.2% with true labels and 51.6% with false
#    ones. But look at the last form: where its label is turned, the answer tends to follow. Over
#    all prompts of two forms or more, "positive" gets 56% where the last label is positive, and
#    13% where it is negative.
#
# </details>
#
# When the text before a question shows the task, and no weight moves, one speaks of **in-context
# learning** (Brown et al. 2020). A form that is filled in is called a *demonstration* or a *shot*:
# a prompt with four of them is *few-shot*, one without any is *zero-shot*.
#
# **All few-shot numbers of this page are of prompts with unusual tokens.** The page encodes the
# parts of a prompt one by one and joins their tokens. An empty line between two demonstrations is
# then one token (1116). In running text SmolLM2's tokenizer makes two tokens of it (198, 198); ours
# and transformers' agree on that. The answers change with it: with the tokens of the whole text,
# the prompt in the code below gives 27.3% to "positive", and on this page 14.7%. So read the
# numbers after demonstrations as measured on such prompts. The film reviews after 4 and 16
# demonstrations were measured again with natural tokens; the result is given below. A prompt
# without demonstrations has no such line.


# %% Those answers in numbers tags=["fold", "nbval-check-output"]
def positive(key, number):
    """The share of "positive" in percent."""
    return built.shares[key][number] / 10


def last_label(key):
    """The label of the last form in a prompt."""
    place = max(i for i, state in enumerate(key) if state != "0")
    return built.demonstrations[place][1] ^ (key[place] == "2")


print("N/A, no form:", positive("0000", 4))
print("the music: none, the good, the bad:", *(positive(k, 1) for k in ("0000", "1010", "0101")))
print("I laughed: all true, all false:", positive("1111", 0), positive("2222", 0))
for label, word in enumerate(built.words):
    some = [share for key, row in built.shares.items() if key.count("0") <= 2
            and last_label(key) == label for share in row[:4]]  # fmt: skip
    print(f"the last of two to four forms is {word}: {sum(some) / len(some) / 10:.0f} on average")

# %% [markdown] tags=["slide"]
# ## By hand: what is said of nothing
#
# A model gives two words their chances; write them as odds. After some prompt it says of the text
# "N/A" *positive* against *negative* 3 : 1. That is no opinion of a film, it is what this prompt
# makes it say anyway. So divide it out:
#
# | text | odds | divided by 3 : 1 | says then |
# |---|---|---|---|
# | N/A | 3 : 1 | 1 : 1 | nothing |
# | "the only good thing is the music" | 3 : 2 | 1 : 2 | negative |
# | "I laughed, I cried" | 9 : 1 | 3 : 1 | positive |
#
# Before, all three were positive. Zhao et al. (2021) call this **contextual calibration**: it takes
# no training and no labeled text, only a question about nothing.

# %% The odds, checked tags=["fold", "nbval-check-output"]
import numpy as np

from deepdive.evaluate import contextual

found = contextual(np.log([[3, 1], [3, 2], [9, 1]]), of_nothing=np.log([[3, 1]]))
print(*(f"{positive / negative:g} : 1" for positive, negative in found.round(9)))

# %% [markdown]
# ## In code
#
# A label is scored by its log-probability after the question, token by token. Nothing is drawn or
# written.

# %% A label's score
import torch

from deepdive_book.ch06a.runs.in_context import REVIEW, speaker
from deepdive_book.kit.smollm2 import SMOLLM2

model, tokenizer = who = speaker()  # SmolLM2-135M-Instruct, and its tokeniser


@torch.no_grad()
def score(prompt, question, label):
    """log p of the label's tokens; the whole text is read."""
    before = prompt + question
    logs = model(torch.tensor([before + label]))[0].log_softmax(-1)
    return sum(float(logs[len(before) - 1 + i, token]) for i, token in enumerate(label))


# %% It is what the picture shows
four = [token for one in built.demonstrations for token in REVIEW.shown(tokenizer, *one)]
labels = REVIEW.labels(tokenizer)  # the tokens of " negative" and " positive"
questions = [REVIEW.question(tokenizer, text) for text in built.asked]
both = torch.tensor([score(four, questions[1], label) for label in labels])
share = both.softmax(-1)[1].item()
assert abs(1000 * share - built.shares["1111"][1]) < 1 or not SMOLLM2.here
print(tokenizer.decode(four + questions[1]), f"positive: {share:.1%}", sep="\n")

# %% [markdown]
# Asked like this, the four forms are read again for each question and each label. `Prompted` reads
# them once, keeps their keys and values, and lets all questions follow in one row; a mask keeps
# each from seeing the others. And who has read 16 forms has read 8, 4, 2 and 1: the later ones are
# forgotten, and nothing is read again.

# %% Read once, asked side by side tags=["nbval-check-output"]
from deepdive.decoding import Prompted

prompt = Prompted(model, four)
together = prompt.labels(questions[:2], labels)
alone = torch.tensor([[score(four, q, label) for label in labels] for q in questions[:2]])
assert (together - alone).abs().max() < 2e-4
print("side by side: as alone, to rounding")

# %% What that saves tags=["fold"]
from deepdive_book.ch06a.runs import in_context
from deepdive_book.kit.profile import banner, pick, profile
from deepdive_book.kit.tables import table

real = profile() != "ci"
task = in_context.sentiment(real)
shown = in_context.sampled(task.shown, 16, seed=0)
sizes = [len(REVIEW.shown(tokenizer, *one)) for one in zip(shown.texts, shown.labels, strict=True)]
asked = [len(REVIEW.question(tokenizer, text))
         for text in in_context.sampled(task.asked, 64, seed=0).texts]  # fmt: skip
SHOTS = (1, 2, 4, 8, 16)
each = sum(2 * sum(sum(sizes[:n]) + q + 1 for q in asked) for n in SHOTS)
print(banner("rt_polarity (real)" if real else "generated_reviews (generated)"))
table([["each text whole", each], ["forms once, two labels at once", sum(sizes) + 5 * sum(asked)]],
      ["64 questions after 1, 2, 4, 8 and 16 forms", "tokens read"])  # fmt: skip

# %% [markdown] tags=["slide"]
# ## With the answers turned round
#
# The model is SmolLM2-135M-Instruct with weights of four bits, a model that was tuned on
# instructions. Wei et al. (2023) report that such tuning makes a model rely more on what words
# mean. The questions are 64 sentences of film reviews (`rt_polarity`) and, for the second task, 48
# sentences on one of seven topics (`sib200`). The forms are drawn from other sentences, three
# times. Their labels are true; or drawn, each word as likely (Min et al. 2022); or turned round: a
# good review is called negative, a sentence on travel politics. Beside the model, naive Bayes
# counts words. Calibration divides by the mean of three answers about nothing: "N/A", an empty
# text, "[MASK]". The interval of a share is over other questions and other draws of the forms, that
# of a difference over other questions only.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Sixteen reviews whose labels are all turned round stand before the question. How many of the "
    "64 answers are right?",
    ["about 10: it turns round with the labels", "about 32: it no longer knows",
     "about 50: as with true labels"],
    answer=2,
    explain="On the prompts of this page. With the tokens of the whole text fewer are right, about "
    "41 of 64, and true labels help. Wei et al. (2023) also saw small models keep to what words "
    "mean: only the largest turn round with the labels.",
    key="06a_text/turned-round",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% A few questions here tags=["fold"]
live = in_context.by_shots(who, task, (0, 4), "true", 0, pick(ci=4, laptop=16, gpu=64))
true = in_context.digits(in_context.sampled(task.asked, len(live["0"][0]), seed=0).labels)
table([[f"{n} forms", *said, true] for n, said in live.items()],
      ["a digit a review, 1 is positive", "said", "calibrated", "true"])  # fmt: skip

# %% What was kept tags=["fold"]
import json

from deepdive_book.ch06a.runs import in_context_results
from deepdive_book.kit.experiments import results_path as kept_at
from deepdive_book.kit.experiments import sweep

path = kept_at("06a_text", "in_context")
if profile() == "experiment":
    sweep(in_context_results.measure, in_context_results.points(), path,
          data="rt_polarity, sib200", minutes=60)  # fmt: skip
rows = json.loads(path.read_text())["rows"] if path and path.is_file() else []
NOT_HERE = "the kept rows stand beside the page in the project's repository"


def of(part, **wanted):
    """The kept rows of a part."""
    return [row for row in rows
            if row["part"] == part and all(row[k] == v for k, v in wanted.items())]  # fmt: skip


# %% Right or wrong, and how sure that is tags=["fold"]
from deepdive.evaluate import Interval, bootstrap


def right(row, key, way=0):
    """For each question whether it was answered right; way 1: after calibration."""
    said = row["said"][str(key)]
    said = said if isinstance(said, str) else said[way]
    return [a == b for a, b in zip(said, row["true"], strict=True)]


def mean_right(found):
    """The share that is right, over questions and draws of the forms, both drawn again."""
    found, draw = np.array(found), np.random.default_rng(0)
    S, N = found.shape
    means = [found[draw.integers(S, size=S)][:, draw.integers(N, size=N)].mean()
             for _ in range(2000)]  # fmt: skip
    return Interval(found.mean(), *np.quantile(means, (0.025, 0.975)))


def less(some, others):
    """The share of some answers that is right less that of others, over the questions."""
    return bootstrap(np.mean(some, axis=0) - np.mean(others, axis=0))


# %% Forms and labels tags=["slide", "fold"]
KINDS = {"true": "true", "random": "drawn", "flipped": "turned round"}
WORDING = {"sentiment": "Sentiment:", "topics": ""}


def after(name, n, kind="true", way=0):
    """What is right after n forms, a row for each draw of them."""
    zero = {"task": name, "wording": WORDING[name]}
    some = of("shots", task=name, labels=kind) if n else of("none", **zero)
    return [right(row, n, way) for row in some]


def line(name, n):
    """The cells of a task and a number of forms."""
    cells = {KINDS[kind]: mean_right(after(name, n, kind)) for kind in KINDS if n or kind == "true"}
    bag = [right(row, n) for row in of("bag", task=name)] if n else None
    return {"task": name, "forms": n, "words counted": mean_right(bag) if bag else None} | cells


columns = [*KINDS.values(), "words counted"]
table([line(name, n) for name in WORDING for n in (0, 4, 16)], ["task", "forms", *columns],
      formats=dict.fromkeys(columns, ".2f"), caption="share of right answers [95 % interval], by "
      "the labels on the forms; without forms there are none") if rows else NOT_HERE  # fmt: skip

# %% What the labels are worth tags=["fold"]
head = ["true labels less", "drawn", "turned round"]
table([[f"{name}, {n} forms", *(less(after(name, n), after(name, n, kind))
       for kind in ("random", "flipped"))] for name in WORDING for n in (4, 16)], head,
      formats=dict.fromkeys(head[1:], ".2f")) if rows else NOT_HERE  # fmt: skip

# %% Do the answers follow labels that are turned round? tags=["fold"]
CLASSES = {"sentiment": 2, "topics": 7}


def turned(name, n):
    """Where an answer is the class that the forms would call this text, a row for each draw."""
    return [[int(a) == (int(b) + 1) % CLASSES[name]
             for a, b in zip(row["said"][str(n)][0], row["true"], strict=True)]
            for row in of("shots", task=name, labels="flipped")]  # fmt: skip


head = ["labels turned round", "forms", "as the forms say", "true", "difference"]
table([[name, n, *map(mean_right, (turned(name, n), after(name, n, "flipped"))),
        less(turned(name, n), after(name, n, "flipped"))] for name in WORDING for n in (4, 16)],
      head, formats=dict.fromkeys(head[2:], ".2f")) if rows else NOT_HERE  # fmt: skip

# %% How many labelled texts do counted words need? tags=["fold"]
table([[name, *(mean_right([right(row, n) for row in of("bag", task=name)]) for n in (64, 500))]
       for name in WORDING], ["words counted, from", "64 texts", "500 texts"],
      formats={"64 texts": ".2f", "500 texts": ".2f"}) if rows else NOT_HERE  # fmt: skip

# %% [markdown]
# After sixteen reviews whose labels are all flipped, 0.77 of the answers are correct on these
# prompts. With true labels it is 0.81, with no demonstration 0.84. After four demonstrations it is
# 0.58 against 0.75, and a coin's half is inside the interval.
#
# **With natural tokens the labels do matter.** In a rerun with the tokens of the whole text, the
# same 64 questions, and three seeds, 0.745 of the answers are correct after sixteen demonstrations
# with true labels, 0.646 with random ones, and 0.646 with flipped ones. True labels are then 0.099
# better than random ones, with an interval from 0.016 to 0.182. The table above has 0.01 [-0.05,
# 0.06] for this difference, which looks as if random labels did no harm, as in Min et al. (2022).
# That was an effect of the tokens and is withdrawn. After four demonstrations the rerun has 0.719,
# 0.521, and 0.562. So the answer to the prediction above, "as with true labels", holds on this
# page's prompts only: 0.646 is about 41 of 64, fewer than with true labels. What holds in both:
# after sixteen flipped reviews most answers are still correct. Wei et al. (2023) report the same of
# small models. Topics, orders, wordings, and chains of thought were not measured again.
#
# These intervals resample three draws of the demonstrations, which is too few: they are far too
# narrow for that part. Calibrated accuracy after sixteen flipped reviews differs between the three
# draws on this page's prompts, 0.84, 0.86, and 0.52, and is not in the table.
#
# With topics the forms do harm on these prompts. Always choosing the commonest topic gives 0.25.
# Without a form 0.73 are right; sixteen forms bring it down to 0.44 with true labels, 0.32 with
# drawn ones and 0.12 with labels that are turned round, no more than a guess among seven. Do the
# answers then follow the false labels? With sixteen topics 0.25 of them do, where 0.12 are true;
# but the interval of the difference holds 0. With reviews they do not.
#
# And yet the model brings a lot. Words that are counted in the same sixteen forms only guess, and
# from 500 labeled texts they get to 0.64 and 0.42.

# %% [markdown] tags=["slide"]
# ## In another order
#
# Now only the order changes: four forms with true labels in all their $4 \cdot 3 \cdot 2 = 24$
# orders, and after each order the same 64 reviews, of which half are good.

# %% 24 orders tags=["slide", "fold"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

orders = of("order")[0]["said"] if rows else {}  # 0 and 1 are the two bad reviews
last_good = {order: order[-1] in "23" for order in orders}


def marks(way, base, good):
    """How often each order makes the model say "positive", of 64 times, as marks on a line."""
    said = sorted(orders[order][way].count("1") for order in orders if last_good[order] == good)
    for i, count in enumerate(said):
        x, y = 25 + 400 * count / 64, base - 11 * said[:i].count(count)
        yield (f'<circle cx="{x:g}" cy="{y}" r="5" fill="{ROLES["key"]}"/>' if good else
               f'<path d="M{x - 5:g} {y - 5}h10v10h-10z" fill="{ROLES["query"]}"/>')  # fmt: skip


body = ['<path d="M225 8V204" stroke="currentColor" stroke-dasharray="4 4"/>']
body += [text(25 + 400 * x, 218, f"{x:.0%}") for x in (0.25, 0.5, 0.75)]
for way, name in enumerate(("as said", "calibrated")):
    body += [text(50, 48 + 100 * way, name, 16), *marks(way, 44 + 100 * way, True),
             *marks(way, 92 + 100 * way, False)]  # fmt: skip
show(svg(450, 228, body), "Two times 24 marks: how often the answer is positive after each order, "
     "as said and calibrated.") if rows else NOT_HERE  # fmt: skip

# %% [markdown]
# *How often the answer is "positive", a mark for each order: a blue circle where a good review is
# the last form, a red square where a bad one is. The broken line is what is true.*

# %% The same in numbers tags=["fold"]
HALVES = slice(0, None, 2), slice(1, None, 2)  # of the questions


def held_out(each):
    """The best order less the worst, chosen on one half of the questions, asked the other."""
    found = []
    for chosen, others in (HALVES, HALVES[::-1]):
        ranked = sorted(each, key=lambda order: each[order][chosen].mean())
        found += [*(each[ranked[-1]][others] - each[ranked[0]][others])]
    return bootstrap(found)


lines = []
for way, name in enumerate(("as said", "calibrated")) if rows else ():
    each = {order: np.array(right(of("order")[0], order, way), float) for order in orders}
    often = [np.mean([orders[order][way].count("1") / 64 for order in orders
                      if last_good[order] == good]) for good in (False, True)]  # fmt: skip
    ends = [some.mean() for some in each.values()]
    lines.append([name, *often, min(ends), max(ends), held_out(each)])
head = ["24 orders", "“positive”, last bad", "last good", "worst", "best", "best − worst, held out"]
formats = dict.fromkeys(head[1:3], ".0%") | dict.fromkeys(head[3:], ".2f")
table(lines, head, formats=formats) if rows else NOT_HERE

# %% Calibrated, with all the forms tags=["fold"]
lines = []
for name, shots in {"sentiment": SHOTS, "topics": (4, 16)}.items() if rows else ():
    for n in (0, *shots):
        said, better = (after(name, n, way=way) for way in (0, 1))
        each = [np.mean(one) for one in said]
        beyond = less(better, after(name, 0, way=1)) if n else None
        lines.append([name, n, mean_right(said), f"{min(each):.2f} to {max(each):.2f}",
                      mean_right(better), less(better, said), beyond])  # fmt: skip
head = ["true labels", "forms", "as said", "draws", "calibrated", "gained", "− no form, calibrated"]
table(lines, head, formats=dict.fromkeys((head[2], *head[4:]), ".2f")) if rows else NOT_HERE

# %% [markdown]
# All numbers of this section are of the prompts with unusual tokens. The last form pulls:
# "positive" is said 31% of the time where it is bad, and 62% where it is good. From the worst
# order to the best the share that is right goes from 0.64 to 0.91. Once the answer about nothing is
# divided out, the pull is gone, 52% and 51%, and no order has less than 0.81. To search for a
# good order pays less than it seems: chosen by half of the questions, the best has 0.11 more than
# the worst on the other half, and 0 is inside the interval.
#
# With other forms it is the same. After one to four of them calibration gains 0.09 to 0.13, with
# topics 0.17 and 0.18. It mends what forms spoil, and no more: in neither task are forms better
# than none, beyond the interval, as said or calibrated. Is there anything that they are good for?

# %% [markdown] tags=["slide"]
# ## When forms help
#
# So far each question was put in one wording. Here the reviews are asked about in three.


# %% Three wordings tags=["slide", "fold"]
def worded(wording, n):
    """What is right after n forms with true labels, a row for each draw of them."""
    if n and wording == WORDING["sentiment"]:
        return after("sentiment", n)
    some = of("worded", wording=wording) if n else of("none", wording=wording)
    return [right(row, n) for row in some]


lines = []
for wording, put in in_context.WORDINGS.items() if rows else ():
    zero, *more = (worded(wording, n) for n in (0, 4, 16))
    lines.append([put.ask.replace("\n", " / "), ", ".join(put.words), mean_right(zero),
                  *map(mean_right, more), *(less(some, zero) for some in more)])  # fmt: skip
head = ["question", "words", "no form", "4 forms", "16 forms", "gained by 4", "gained by 16"]
table(lines, head, formats=dict.fromkeys(head[2:], ".2f"),
      caption="share of right answers [95 % interval]") if lines else NOT_HERE  # fmt: skip

# %% [markdown]
# On these prompts the model needs no form with the first wording. With the other two it is no
# better than a coin without one, and there forms help: four of them lift the third wording from
# 0.42 to 0.71, sixteen the second from 0.50 to 0.68. The numbers after forms were not measured
# again with natural tokens. Forms seem to tell what is asked for, as a good wording does; and
# nobody knows beforehand which wording is good.

# %% [markdown] tags=["slide"]
# ## Where does it look?
#
# A text of 32 words (tokens) drawn at random, then the same 32 again: nobody can guess a word of
# the first half, and anybody can read off the second. A head that finds where the word stood
# before, and looks at the word *behind* it, is an **induction head** (Olsson et al. 2022). Here
# SmolLM2 reads six words twice.

# %% Six words, twice tags=["fold"]
from deepdive_book.kit.explorer.cached_attention import kept_explorer
from deepdive_book.kit.explorer.cached_attention import load_cached as kept_maps

words, maps = kept_maps("words")
behind = {place: maps.weights[:, :, place, place - 5] > 0.5 for place in (10, 7, 8, 9, 11)}
followed = {place: (f"look most at “{words[place - 5].strip()}”, which followed before", heads)
            for place, heads in behind.items()}  # fmt: skip
kept_explorer("words", start=(19, 6), links=True, marked=followed)

# %% [markdown]
# *“river”, read again, looks at “cup”, which followed it before, and the heads that do so are
# marked. Choose the other words of the second half, and heads that are not marked. Only the second
# “tree” looks elsewhere, at the first word of all, where many heads look most of the time.*
#
# Now three reviews, of which the third is the first again. The text ends with the colon of
# "Sentiment:"; after the first two reviews the same colon has a label behind it.

# %% tags=["fold"]
predict(
    "Head 19-6 at the last colon: which token gets most of its weight?",
    ["“positive”, the label of the same review", "“negative”, the label of the review before",
     "“fun”, the last word of the review"],
    answer=1,
    explain="What stood before the colon is the same both times, “Sentiment”. The head follows "
    "the nearest one, not the review that is the same.",
    key="06a_text/last-colon",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Three reviews tags=["fold"]
kept_explorer("reviews", start=(19, 6))

# %% The last colon, in numbers tags=["fold", "nbval-check-output"]
tokens, maps = kept_maps("reviews")
last = maps.weights[18, 6, -1]
for place in last.topk(3).indices.tolist():
    print(f"{tokens[place]!r} at place {place}: {last[place]:.0%}")
far, near = (maps.weights[:, :, -1, place] for place in (8, 19))  # the two labels
strong = far + near > 0.5
print(f"{strong.sum()} heads give them more than half, {(near > far)[strong].sum()} of these more "
      "to the nearer one")  # fmt: skip

# %% All heads, over drawn words tags=["fold"]
from deepdive_book.ch06a.runs import induction

copies = of("copy")
scores = np.array(copies[0]["scores"] if copies else np.zeros((30, 9))) / 1000
heads = induction.best(torch.tensor(scores), in_context_results.HEADS)
table([[f"{layer + 1}-{h}", scores[layer, h]] for layer, h in heads[:5]],
      ["the best five of 270 heads", "weight on the word behind"],
      formats={"weight on the word behind": ".2f"},
      caption="mean over four texts of 32 drawn words, twice") if copies else NOT_HERE  # fmt: skip

# %% Without them tags=["fold"]
lines = []
for copied, pulled in zip(copies, of("pull"), strict=False):
    lines = [[called, copied[key], pulled[key]] for called, key in (
        ("all heads", "whole"), ("without the best twelve", "without"))]  # fmt: skip
    both = zip(copied["without_others"], pulled["without_others"], strict=True)
    lines += [["without twelve others of the same layers", *each] for each in both]
head = ["SmolLM2", "copied right", "pull of the last label"]
table(lines, head, formats={head[1]: ".0%", head[2]: ".0f"},
      caption="drawn words, the second half of four other texts; and how many points more "
      "“positive” gets in the first picture when the last label is positive, three others being "
      "all true or all false") if lines else NOT_HERE  # fmt: skip

# %% [markdown]
# Head 19-6 gives 59% of its weight to "negative", and 38% to "positive": the nearer label wins.
# So it is in 11 of the 12 heads that give most of their weight to these two.
#
# The twelve heads of the last table are chosen otherwise: they score highest over drawn words.
# Copying needs them: with all heads 65% of the words are copied right, without these twelve 0%,
# without twelve others of the same layers 44 to 63%.
#
# Is this copying what makes the last label pull? Without the twelve the pull falls from 25 points
# to 10. But without twelve others it was 2 points, 29 and 34: to silence any heads can do as much.
# That copying needs the twelve is shown; that they make the pull is not. (The pull was measured on
# the prompts of the first picture, with their unusual tokens.)

# %% [markdown] tags=["slide"]
# ## Step by step
#
# Forms can also show how an answer is found: Wei et al. (2022) call it a **chain of thought**. Here
# are two steps of arithmetic, with numbers from 2 to 9. Four solved problems stand before, in one
# of three ways.

# %% One problem, three ways tags=["fold", "nbval-check-output"]
from deepdive_book.ch06a.runs import chain_of_thought

one = chain_of_thought.Problem(7, 5, 4, ("Tom", "He", "he"), "apples")
print(one.question, "...", sep="")
for form in chain_of_thought.FORMS:
    worked = one.worked(form)
    print(f"{form}, {len(tokenizer.encode(worked))} tokens:", worked.strip())

# %% [markdown]
# With dots the answer has 21 tokens, nearly as many as the 27 with steps; but dots say nothing.

# %% tags=["fold"]
predict(
    "Which form of the four solved problems makes SmolLM2, of 135 million weights, right most "
    "often?",
    ["direct: so small a model is not helped by steps", "dots: it has more time", "steps",
     "no difference"],
    answer=2,
    explain="One sum at a time is what this model can do. Dots are tokens too, and no help.",
    key="06a_text/steps",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% One problem, here tags=["fold"]
written = chain_of_thought.by_form(who, "steps", 4, 0, pick(ci=1, laptop=2, gpu=24))
print(*written["written"], sep="\n")


# %% Steps, dots, and at once tags=["slide", "fold"]
def written_right(form, part="right"):
    """The share of a form, or of its first or second sums."""
    return mean_right([[mark == "1" for mark in row[part]] for row in of("steps", form=form)])


lines = [{"solved": form, "answers right": written_right(form)}
         for form in chain_of_thought.FORMS if rows]  # fmt: skip
for part in ("first_sum", "second_sum") if rows else ():
    lines[-1][part.replace("_", " ")] = written_right("steps", part)
head = ["solved", "answers right", "first sum", "second sum"]
CAPTION = "share that is right [95 % interval]: 32 problems, three draws of the solved ones"
table(lines, head, formats=dict.fromkeys(head[1:], ".2f"), caption=CAPTION) if rows else NOT_HERE

# %% What Wei et al. print tags=["fold"]
PRINTED = {"UL2": ("20", 4.1, 4.4, 16.6, 19.1), "LaMDA": ("137", 6.5, 14.3, 43.2, 57.9),
           "GPT-3, text-davinci-002": ("175", 15.6, 46.9, 72.7, 87.1)}  # fmt: skip
table([[name, *values] for name, values in PRINTED.items()],
      ["model", "thousand million weights", "GSM8K direct", "GSM8K steps", "MAWPS direct",
       "MAWPS steps"], caption="percent right: Wei et al. 2022, appendix B, table 1")  # fmt: skip

# %% [markdown]
# Steps help: with them 0.21 of the answers are right, at once 0.04, with dots 0.04. So it is not
# the room before the answer that helps here, but what is written there. Of the first sums 0.99 are
# right, of the second ones, which take away, 0.30: there the chain breaks.
#
# Wei et al. found a gain only in large models, and small ones often lost. UL2, with 20 thousand
# million weights, gains next to nothing on GSM8K; SmolLM2 has 0.135 thousand million, and gains.
# Its problems are far easier, and its training came later; which of the two matters, these tables
# do not tell. "Steps help large models only" is a sentence about those problems and those models.
#
# This model was not trained on dots. Models that are trained on them can use them (Pfau et al.
# 2024). The questions were encoded apart from the demonstrations here too.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# | | fine-tuning ([6a.1](01_gpt.ipynb)) | in-context learning |
# |---|---|---|
# | what changes | the weights | the text in front |
# | where it is kept | in a new model | in the cache, and gone with it |
# | examples | thousands | as many as fit into the text |
# | a new task costs | a training | a reading |
# | answers | a head of its own | words of the vocabulary |
#
# <!--
# System: chain_of_thought
# Parent: gpt3
# What differs:
# - the demonstrations hold the steps to the answer, and the model writes steps of its own before
#   it answers (`deepdive_book.ch06a.runs.chain_of_thought.Problem.worked`)
# Source: Wei et al. 2022, section 3.
# Book: 6.1.3.3
# -->
#
# A chain of thought changes nothing but the demonstrations:
# `deepdive_book.ch06a.runs.chain_of_thought.Problem.worked` gives all three forms.
#
# ### Common mistake: to judge demonstrations without a prompt that has none
#
# Somebody gives a model 16 demonstrations, gets a good share right, and reports what the model has
# learned from them. **Symptom:** none; the number looks fine. **Fix:** ask the same questions
# without a demonstration, and once more with the labels turned round. What was there before was
# not learned from them, and what does not move with the labels was not learned from the labels.
#
# ## In practice
#
# - **Measure without demonstrations first**, in several wordings. A good one was hard to beat on
#   the prompts of this page, and costs the least; with a poor one, demonstrations help.
# - **Ask about nothing too**, with the same forms before it, and divide. One more question shows
#   whether an answer is the text's or the prompt's.
# - **End the question as the forms end theirs, without a blank.** "Sentiment:" and " positive" are
#   cut into tokens as in running text; a blank at the end of the question makes another token,
#   which the model has hardly seen there. The empty lines of this page's prompts are such a
#   mistake: encode the whole text, not its parts.
# - **More than one draw.** One draw of four forms in one order is one run: of 24 orders the worst
#   has 0.64 and the best 0.91.
# - **Compare words of one length**, or divide the score by the number of tokens: each further token
#   costs probability. All labels here are a single token.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does a language model change when it learns from demonstrations?
#
#    <details><summary>Answer</summary>
#
#    Nothing of its own: the keys and values of the demonstrations stand in the cache, and later
#    tokens attend to them.
#
#    </details>
# 2. Why is a question about "N/A" worth its tokens?
#
#    <details><summary>Answer</summary>
#
#    What is said of it is said by the prompt alone, so it can be divided out of every other answer.
#
#    </details>
# 3. Why can 16 demonstrations be read once for all numbers of shots?
#
#    <details><summary>Answer</summary>
#
#    No token sees later ones: the keys and values of the first 8 are the same whether more follow
#    or not.
#
#    </details>
# 4. What does an induction head look for?
#
#    <details><summary>Answer</summary>
#
#    The place behind an earlier token that is the same as the one it stands at.
#
#    </details>
# 5. What do the dots tell about the steps?
#
#    <details><summary>Answer</summary>
#
#    That it is not the room before the answer that helps this model: dots take nearly as much, and
#    say nothing. It was not trained on dots; models trained on them can use them (Pfau et al.
#    2024).
#
#    </details>
#
# ## Exercises
#
# 1. *(pencil, 3 min)* A prompt says 4 : 1 of "N/A", 6 : 1 of one review and 3 : 1 of another. Which
#    labels do they get after calibration?
#
#    <details><summary>Answer</summary>
#
#    $6/4 : 1 = 3 : 2$, positive; $3/4 : 1 = 3 : 4$, negative.
#
#    </details>
# 2. *(pencil, 5 min)* A demonstration has 30 tokens, a question 25. How many tokens are read for
#    100 questions after 8 demonstrations, each text whole, and how many with the demonstrations
#    once?
#
#    <details><summary>Answer</summary>
#
#    $100 \cdot (240 + 25) = 26{,}500$, and $240 + 2{,}500 = 2{,}740$.
#
#    </details>
# 3. *(measure, 20 min)* Give the four demonstrations of the picture other words: "up" for positive
#    and "down" for negative. Does the model still say the right one? Does it without
#    demonstrations?
#
#    <details><summary>Answer</summary>
#
#    Build `Wording("Review: {}\nSentiment:", ("down", "up"))` and ask as above. Words that say
#    nothing of a film must be learned from the demonstrations alone; Wei et al. (2023) do this, and
#    find it hard for small models.
#
#    </details>
# 4. *(measure, 5 min of machine time)* The 24 orders above are of one set of four forms. Is the
#    order that is best there best for another set, too?
#
#    <details><summary>Answer</summary>
#
#    `prompt_rows.measure("order", seed=1, queries=16)` asks 16 reviews after each order of another
#    four, and reads what two orders begin with only once; `right(row, order)` scores an order. Lu
#    et al. (2022) ask it of models: an order that is good for one need not be good for another.
#
#    </details>

# %% Answers 1 and 2, checked tags=["fold", "nbval-check-output"]
found = contextual(np.log([[6, 1], [3, 1]]), of_nothing=np.log([[4, 1]]))
print(*["negative" if p < q else "positive" for p, q in found])
print(f"{100 * (8 * 30 + 25):,} {8 * 30 + 100 * 25:,}")

# %% [markdown]
# ## Summary
#
# With no weight moved, SmolLM2 gets 0.84 of the film reviews right without a demonstration if the
# question is put well. The page's prompts with demonstrations have other tokens than the same text
# has, so its numbers for them show only what happens on such prompts. With natural tokens, correct
# labels are better than random ones after sixteen demonstrations, so the model does take something
# from the answers. After sixteen flipped reviews most of its predictions are still correct, in both
# measurements. Whether demonstrations pull by their last label, how much calibration gains, and
# what written-out sums gain (0.21 after 0.04 on this page) has to be measured again with natural
# tokens.
#
# ## Further reading
#
# - Brown et al. (2020), *Language Models are Few-Shot Learners*: section 2, zero, one, few shots.
# - Min et al. (2022), *Rethinking the Role of Demonstrations*: drawn labels hardly hurt, in their
#   models.
# - Wei et al. (2023), *Larger Language Models Do In-Context Learning Differently*: who follows
#   labels that are turned round.
# - Lu et al. (2022), *Fantastically Ordered Prompts and Where to Find Them*, and Zhao et al.
#   (2021), *Calibrate Before Use*.
# - Wei et al. (2022), *Chain-of-Thought Prompting Elicits Reasoning in Large Language Models*.
#
# - Pfau et al. (2024), *Let's Think Dot by Dot*: models that are trained on dots can use them.
# - Olsson et al. (2022), *In-context Learning and Induction Heads*.
# - Ben Allal et al. (2025), *SmolLM2*: how the model was trained.

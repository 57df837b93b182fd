# %% [markdown] tags=["slide"]
# # Multilingual vocabularies: which language gets how many tokens?
#
# A print shop has twenty-four customers, each with a language. It may cut 8,000 stamps and no more.
# A stamp, its word for a piece, prints one letter or several, and each time that one is pressed it
# costs a coin. To choose its stamps, the shop reads sentences that the customers bring: the largest
# 701, the smallest 22. Who gets how many stamps? And if the small customer is to pay no more than
# others, is it enough to read its sentences more often?
#
# <small>Prerequisites: [word pieces](../02_transformer/17_gnmt.ipynb) · 15 min · runs on a laptop;
# results of the long runs are included</small>

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

# %% Who is read how often tags=["fold"]
from deepdive.data.mixture import Mixture, repeats, shares
from deepdive_book.ch04.figures.language_sampling import language_sampling

CUSTOMERS = {"Finnish": 704, "Hindi": 352, "English": 176, "Greek": 88, "Thai": 44, "Basque": 22}
assert sum(CUSTOMERS.values()) == 1386
assert repeats(CUSTOMERS, 0, 1386)["Basque"] == 10.5
hindi = [shares(CUSTOMERS, alpha)["Hindi"] for alpha in (1, 0.85, 0.8)]
assert hindi[1] > hindi[0] > hindi[2]
language_sampling(CUSTOMERS, drawn=1386)

# %% [markdown]
# *Six invented customers; the shop reads 1,386 sentences in all. On the left the share of them that
# comes from each customer, on the right how many times each of a customer's own sentences is read.
# Move the slider: some stops name published models.*
#
# 1. At alpha = 1 each sentence is read once. Who gains first as you move to the left, and who pays?
# 2. Where is Basque read as often as Finnish? How many times does the shop then read the same 22
#    sentences?
#
# <details><summary>Answers to the two tasks</summary>
#
# 1. All but Finnish gain at once, and Finnish pays for all. From 0.8 on Hindi pays too, at first
#    too little to be seen.
# 2. At alpha = 0, where all are read alike: 10.5 times.
#
# </details>
#
# The slider is the exponent $\alpha$ of **temperature sampling**. A customer with $n_i$ sentences
# gets the share
#
# $$p_i = \frac{n_i^{\alpha}}{\sum_j n_j^{\alpha}}$$
#
# At 1 the shares go by size. At 0 all are alike. (As a temperature it is written $T = 1 / \alpha$.)
# Such draws also choose the texts that a multilingual model is trained on.

# %% [markdown] tags=["slide"]
# ## By hand: three customers
#
# They bring 36, 9 and 1 sentences, and the shop reads 60. With $\alpha = 1/2$ the powers are square
# roots, 6, 3 and 1, which add up to 10:
#
# | sentences | square root | share | read | each sentence |
# |---|---|---|---|---|
# | 36 | 6 | 6/10 | 36 | 1 time |
# | 9 | 3 | 3/10 | 18 | 2 times |
# | 1 | 1 | 1/10 | 6 | 6 times |
#
# The last customer had 1 sentence of 46 and has 1 reading of 10. But it is one sentence, six times.

# %% The same from the library tags=["nbval-check-output"]
sizes = {"first": 36, "second": 9, "third": 1}
print({name: round(60 * share) for name, share in shares(sizes, 0.5).items()})
print({name: round(times, 2) for name, times in repeats(sizes, 0.5, 60).items()})

# %% [markdown] tags=["slide"]
# ## Which stamps?
#
# A **unigram vocabulary** gives each stamp a probability. A word can be set in many ways, and the
# probability of a way is the product of its stamps' probabilities. Say that h and t have 1/8 each,
# a has 2/8, and there is a stamp "at" with 1/8. (Other stamps have the rest.)
#
# | "hat" | product | in parts of 512 = 8 · 8 · 8 |
# |---|---|---|
# | h · a · t | 1/8 · 2/8 · 1/8 | 2 |
# | h · at | 1/8 · 1/8 | 8 |
#
# Of ten parts, eight go through "at". So in this word "at" is used 0.8 times, a and t 0.2 times
# each, and h once. Such counts are added up over all words that were read. Divided by their sum
# they are the next probabilities of the stamps, which give new counts, and so on. Without "at" the
# probability of the word would fall from 10/512 to 2/512. That is what the stamp is worth. When a
# text is set, the most probable way is taken.
#
# The shop begins with far too many stamps, counts, and throws away those that are missed least,
# until 8,000 are left. Single letters stay, whatever they are worth. A letter that stood in no
# sentence that was read has no stamp: where it is needed, a blot is printed, `<unk>`.

# %% The counts from the library tags=["nbval-check-output", "fold"]
from math import exp, log

from deepdive.tokenizers.unigram_training import expect

scores = {"h": log(1 / 8), "a": log(2 / 8), "t": log(1 / 8), "at": log(1 / 8)}
uses, log_likelihood = expect({"hat": 1}, scores)
print({stamp: round(n, 3) for stamp, n in sorted(uses.items())})
print("parts of 512:", round(512 * exp(log_likelihood)))

# %% [markdown]
# ## Six worlds
#
# The sentences of [SIB-200](https://arxiv.org/abs/2309.07445) are the same
# in all languages, translated by people. So the stamps that 204 new sentences take can be compared
# across languages: they buy the same meaning.
#
# In real corpora nobody can tell what is due to the language and what to its size. Here sizes are
# dealt out: 701 sentences for the first language, then ever fewer in equal ratios, 22 for the last.
# In the next world the four largest languages become the four smallest, and the others move up.
# In six worlds every language is twice among the largest eight, twice in the middle, twice among
# the smallest. For each world and five values of $\alpha$ the shop reads 4,800 sentences and cuts
# 8,000 stamps, with the library `tokenizers`: thirty vocabularies.

# %% Read the thirty vocabularies tags=["fold"]
import json

from deepdive.data.translated import SIB200, script, sib200
from deepdive_book.ch04.runs.vocabulary_allocation import country_names, order, served
from deepdive_book.kit.experiments import results_path, sweep
from deepdive_book.kit.profile import pick, profile

ALPHAS, TURNS, TEST = (1.0, 0.7, 0.5, 0.3, 0.0), range(6), 204


def measure(alpha, turn):
    train, test = ({x: sib200(x, part).texts for x in SIB200} for part in ("train", "test"))
    return served(train, test, alpha, turn, size=8000, drawn=4800)


file = results_path("04_multilingual", "vocabularies")
if profile() == "experiment":
    points = [{"alpha": alpha, "turn": turn} for turn in TURNS for alpha in ALPHAS]
    sweep(measure, points, file, data="sib200")
found = json.loads(file.read_text("utf-8"))["rows"] if file and file.is_file() else []
rows = {(row["alpha"], row["turn"]): row for row in found}
print(f"{len(rows)} vocabularies, {len(SIB200)} languages,")
print(f"{TEST} test sentences each")

# %% How often a sentence is read in them tags=["fold"]
if rows:
    times = [*repeats(rows[1.0, 0]["own"], 0.3, 4800).values()]
    print(f"at alpha 0.3 a sentence is read {min(times):.1f} times")
    print(f"(the largest) to {max(times):.1f} times (the smallest)")

# %% What a third of the customers pays tags=["fold"]
from statistics import mean

from deepdive_book.kit.tables import table

THIRDS = ("largest 8", "middle 8", "smallest 8")


def third(turn, k):
    """The languages of a third, the largest first."""
    return order(SIB200, turn)[8 * k : 8 * k + 8]


def paid(alpha, turn, languages):
    """Stamps a sentence, on average over languages."""
    return mean(rows[alpha, turn]["pieces"][x] for x in languages) / TEST


def spread(values, digits=1):
    shown = [f"{value:.{digits}f}" for value in (mean(values), min(values), max(values))]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


# %% Who pays, by thirds tags=["slide", "fold"]
lines = []
for alpha in ALPHAS if rows else ():
    by_third = [[paid(alpha, turn, third(turn, k)) for turn in TURNS] for k in range(3)]
    all_of_them = [paid(alpha, turn, SIB200) for turn in TURNS]
    lines.append([f"{alpha:g}", *map(spread, by_third), spread(all_of_them)])
table(lines, ["alpha", *THIRDS, "all 24"],
      caption="stamps a sentence: mean of six worlds (lowest to highest)")  # fmt: skip

# %% Checked in each world tags=["fold"]
for turn in TURNS if rows else ():  # a ranking holds in every world, or it is not told
    large, small = ([paid(alpha, turn, third(turn, k)) for alpha in ALPHAS] for k in (0, 2))
    assert large == sorted(large)
    assert small == sorted(small, reverse=True)
    assert paid(0.3, turn, SIB200) < paid(1.0, turn, SIB200)
assert round(61.8 - 59.2, 1) == 2.6
assert round(67.1 - 65.0, 1) == 2.1
print("in each of the six worlds, as alpha falls,")
print("the largest pay more, the smallest less")

# %% [markdown] tags=["slide"]
# By size, the smallest eight pay 74.9 coins a sentence and the largest 55.7. At $\alpha = 0.3$ it
# is 67.1 and 59.2: the small ones gain more than twice what the large ones lose, and the mean of
# all falls from 65.3 to 63.0. Between 0.3 and 0 that mean hardly moves: the largest pay 2.6 more,
# the smallest 2.1 less.

# %% [markdown]
# ## Alone in a script
#
# Fifteen of the languages are written in Latin letters. Seven are alone with theirs: Russian,
# Greek, Arabic, Hindi, Bengali, Thai and Korean. (Chinese and Japanese follow.) Take each language
# by itself: how much more does it pay in the smallest third, where it owns 22 to 63 sentences, than
# in the largest, where it owns 244 to 701? Call this its **price of being small**.

# %% What it costs to be small tags=["slide", "fold"]
from deepdive.evaluate import bootstrap

LATIN = [x for x in SIB200 if script(x) == "Latin"]
ALONE = [x for x in SIB200 if script(x) not in ("Latin", "Chinese", "Japanese")]


def cost_of_being_small(alpha, x):
    """How many per cent more stamps x takes where it is among the smallest than where large."""
    worlds = ([turn for turn in TURNS if x in third(turn, k)] for k in (0, 2))
    large, small = (mean(rows[alpha, turn]["pieces"][x] for turn in part) for part in worlds)
    return 100 * (small / large - 1)


lines = []
for alpha in ALPHAS if rows else ():
    costs = [bootstrap([cost_of_being_small(alpha, x) for x in part]) for part in (LATIN, ALONE)]
    lines.append([f"{alpha:g}", *(f"{c.value:.0f}% [{c.low:.0f}, {c.high:.0f}]" for c in costs)])
for name, part in (("Latin", LATIN), ("alone", ALONE)) if rows else ():
    low, *_, top = sorted((cost_of_being_small(1.0, x), SIB200[x]) for x in part)
    print(f"{name}: {low[0]:.0f}% ({low[1]}) to {top[0]:.0f}% ({top[1]}) at alpha 1")
table(lines, ["alpha", f"{len(LATIN)} in Latin letters", f"{len(ALONE)} alone in their script"],
      caption="price of being small: mean of languages [95% interval]")  # fmt: skip

# %% [markdown]
# *Brackets: the languages are drawn anew, with replacement; 95% of the means lie between. With
# seven languages a group such intervals are too narrow.*
#
# By size, a language in Latin letters pays 28% more for being small, one that is alone 53% more.
# Nobody else brings Greek letters, whereas a French word can be set with stamps that were cut for
# Spanish. So neighbors seem to help, but this is not parted from what else the two groups differ
# in. They overlap: Yoruba, in Latin letters, pays 43% more, and Korean 21%. And all customers bring
# translations of the same sentences. At $\alpha = 0.3$ the two prices are 11% and 19%; the
# smallest customer's sentences are then read 5.2 times.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Chinese shares its script with Japanese alone, and has thousands of characters. At alpha = 1, "
    "when it is moved from the largest third to the smallest, how many stamps does a Chinese "
    "sentence take?",
    ["about twice as many", "about a quarter more, as in Latin letters", "about as many as before"],
    answer=2,
    explain="It needs hardly more stamps, and that is no good news: where a character stood in no "
    "sentence the shop prints a blot, and a run of blots costs one stamp.",
    key="04_multilingual/blots",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict


# %% Stamps and blots at alpha 1 tags=["surprise", "fold"]
def stamps(row, x):
    return row["pieces"][x] / TEST


def blots(row, x):
    return row["unknown"][x] / row["characters"][x]


def in_third(k, x, alpha, what):
    """The mean of `what` over the two worlds in which x is in a third: 0 the largest."""
    return mean(what(rows[alpha, turn], x) for turn in TURNS if x in third(turn, k))


lines = [
    [SIB200[x], *(in_third(k, x, 1.0, what) for what in (stamps, blots) for k in (0, 2))]
    for x in (("zho_Hans", "jpn_Jpan", "kor_Hang", "rus_Cyrl", "fra_Latn") if rows else ())
]
head = ["alpha 1", "stamps, large", "stamps, small", "blots, large", "blots, small"]
table(lines, head, formats=dict(zip(head[1:], (".0f", ".0f", ".1%", ".1%"), strict=True)),
      caption="stamps a sentence, and characters that are blots: mean of two worlds")  # fmt: skip

# %% Which characters nobody brought tags=["surprise", "fold"]
from unicodedata import normalize

from deepdive_book.ch04.runs.vocabulary_allocation import owned


def in_no_sentence(k, x, train, test):
    """The share of x's test characters that stand in no sentence of any customer."""
    asked = [c for t in test[x] for c in normalize("NFKC", t) if not c.isspace()]
    found = []
    for turn in (turn for turn in TURNS if x in third(turn, k)):
        theirs = (t for own in owned(train, turn).values() for t in own)
        brought = {c for t in theirs for c in normalize("NFKC", t)}
        found.append(mean(c not in brought for c in asked))
    return mean(found)


# %% Blots, as alpha falls tags=["surprise", "fold"]
both = None  # in the profile `ci` the sentences are not there, and the last column is empty
if profile() != "ci":
    both = [{x: sib200(x, part).texts for x in SIB200} for part in ("train", "test")]
lines = []
for x in ("zho_Hans", "jpn_Jpan", "kor_Hang") if rows else ():
    for k, said in ((0, "large"), (2, "small")):
        lines.append([f"{SIB200[x]}, {said}", *(in_third(k, x, a, blots) for a in (1.0, 0.3, 0.0)),
                      in_no_sentence(k, x, *both) if both else None])  # fmt: skip
head = ["characters that are blots", "alpha 1", "alpha 0.3", "alpha 0", "in no sentence"]
table(lines, head, formats=dict.fromkeys(head[1:], ".1%"),
      caption="the last column: characters that no customer brought")  # fmt: skip

# %% [markdown] tags=["surprise"]
# Small Chinese takes 40 stamps a sentence, as large Chinese does: every fifth of its characters is
# a blot, and a run of blots costs one stamp. Reading its sentences more often changes that from
# 20.2% to 18.4%, and no further: 18.4% of the characters stand in no sentence of any customer. And
# of large Chinese some sentences are not read at all then: its blots rise from 3.0% to 5.3%, and
# small Japanese, which borrows from it, has more blots at 0 than at 0.3. Small Korean has 11.1%, so
# that its price looks lower than it is.

# %% A row of the drawing tags=["surprise", "fold"]
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.panels import panels

ROLE = {"Latin": "key", "Chinese": "value", "Japanese": "value"}  # the others stand alone


def across(price):
    return 108 + 3.8 * price


def dots(y, x, alpha):
    """A language's name, a ring at its price by size, a dot at its price with alpha."""
    color = ROLES[ROLE.get(script(x), "query")]
    then, now = (across(cost_of_being_small(a, x)) for a in (1.0, alpha))
    ring = f'<circle cx="{then:.1f}" cy="{y}" r="4" fill="none" stroke="{color}"/>'
    dot = f'<circle cx="{now:.1f}" cy="{y}" r="5" fill="{color}"/>'
    line = f'<path d="M{now:.1f} {y}H{then - 4:.1f}" stroke="{color}" stroke-opacity="0.5"/>'
    return text(88, y, SIB200[x], 13).replace("middle", "end", 1) + line + ring + dot


# %% Who pays for being small tags=["surprise", "fold"]
dearest = sorted(SIB200, key=lambda x: -cost_of_being_small(1.0, x)) if rows else []
high = 16 * len(dearest)


def drawn(alpha):
    """The price of being small, a language a row, the dearest by size at the top."""
    alpha = float(alpha)
    body = [dots(10 + 16 * i, x, alpha) for i, x in enumerate(dearest)]
    for price in (0, 20, 40, 60):
        body.append(text(across(price), high + 14, f"{price}%", 13))
        grid = f"M{across(price)} 2V{high}"
        body.append(f'<path d="{grid}" stroke="currentColor" stroke-opacity="0.25"/>')
    latin, alone = (mean(cost_of_being_small(alpha, x) for x in part) for part in (LATIN, ALONE))
    said = f"in Latin letters {latin:.0f}% more, alone in a script {alone:.0f}% more"
    return svg(400, high + 24, body), f"alpha = {alpha:g}: the small pay {said}."


choices = {"alpha": ["0.3", "0", "0.5", "0.7"]}
panels("The price of being small", choices, drawn) if rows else "no kept rows here"

# %% [markdown] tags=["surprise"]
# *The price of being small. Ring: by size, at alpha = 1. Dot: at the alpha that you choose. Blue:
# Latin letters. Green: Chinese and Japanese. Orange: alone in their script.*

# %% [markdown]
# ## Who owns the stamps
#
# Stamps in the seven scripts that one language has for itself:

# %% Stamps when large, and when small tags=["fold"]
ways = [(alpha, k) for alpha in (1.0, 0.3, 0.0) for k in (0, 2)]


def of_its_script(row, x):
    return row["kinds"][script(x)]


lines = [
    [SIB200[x], *(in_third(k, x, alpha, of_its_script) for alpha, k in ways)]
    for x in (ALONE if rows else ())
]
assert round(732 / 166, 1) == 4.4
assert round(532 / 312, 1) == 1.7
if rows:
    lines.append(["mean of the seven", *map(mean, list(zip(*lines, strict=True))[1:])])
    latin = [mean(rows[a, turn]["kinds"]["Latin"] for turn in TURNS) for a in (1.0, 0.3, 0.0)]
    print(f"Latin stamps, for {len(LATIN)} languages, by alpha:")
    print("  1: {:,.0f}   0.3: {:,.0f}   0: {:,.0f}".format(*latin))
    print(f"  at 0.3 that is {latin[1] / len(LATIN):.0f} a language")
head = [f"alpha {alpha:g}, {'large' if k == 0 else 'small'}" for alpha, k in ways]
table(lines, ["stamps", *head], formats=dict.fromkeys(head, ".0f"),
      caption="stamps whose first letter is of its script: mean of two worlds")  # fmt: skip

# %% [markdown]
# By size a language that is alone has 732 stamps where it is large, and 166 where it is small. At
# $\alpha = 0.3$ it has 532 and 312, at 0 it has 447 and 370. So $\alpha$ moves stamps from the
# large to the small. The fifteen in Latin letters have 3,164 at 0.3: 211 each, but all may use all.
#
# **So who gets how many pieces, and is it enough to read the small customer more often?** By size,
# a language that is alone gets 4.4 times as many pieces where it is large as where it is small; at
# 0.3 it is 1.7 times. The price of being small falls with that, from 28% to 11% in Latin letters,
# and from 53% to 19% for those that are alone, while the largest eight pay 59.2 coins instead of
# 55.7. But it is not enough. Reading again brings no letters that nobody brought: 18.4% of the
# characters of small Chinese stay blots. For these only more text helps, or
# [pieces that are single bytes](../05_efficient/12_byt5.ipynb).

# %% [markdown] tags=["aside"]
# ## Cut a vocabulary yourself
#
# The same measurement, small enough to run here: six languages, one of their worlds. In the profile
# `ci` the texts are names of countries, which are short; nothing is claimed for them.

# %% A small world of six languages tags=["fold"]
if profile() == "ci":
    train, test = country_names(["en", "de", "fr", "ru", "ko", "th"])
else:
    six = ["eng_Latn", "deu_Latn", "fra_Latn", "rus_Cyrl", "kor_Hang", "tha_Thai"]
    train, test = ({SIB200[x]: sib200(x, part).texts for x in six} for part in ("train", "test"))
size, reads, worlds = pick(ci=(600, 600, 1), laptop=(3000, 1200, 1), gpu=(3000, 1200, 6))
live = {
    alpha: [served(train, test, alpha, turn, size, reads) for turn in range(worlds)]
    for alpha in (1.0, 0.3, 0.0)
}
lines = []
for x, texts in test.items():
    each = (mean(row["pieces"][x] for row in some) / len(texts) for some in live.values())
    lines.append([x, live[1.0][0]["own"][x], *each])
columns = [f"alpha {alpha:g}" for alpha in live]
table(lines, ["language", "owns", *columns], formats=dict.fromkeys(columns, ".1f"),
      caption="pieces a text, in one world" if worlds == 1 else "pieces a text")  # fmt: skip

# %% [markdown] tags=["aside"]
# ## The algorithm once, to be read
#
# `deepdive.tokenizers.unigram_training` is Kudo's algorithm in some hundred lines: counts over all
# cuts by one pass from the left and one from the right, then the loss of each piece. On one text,
# for one size, it is put beside the library. They differ in how rare pieces are punished and how
# losses are counted, so the vocabularies differ; here what they cost is nearly the same.

# %% Ours beside the library's tags=["fold"]
from deepdive.tokenizers.unigram import UnigramTokenizer
from deepdive_book.ch04.runs.vocabulary_allocation import unigram

if profile() == "ci":
    learn_from, read = (part["en"] + part["de"] for part in country_names(["en", "de"]))
else:
    learn_from, read = sib200("eng_Latn").texts[:150], sib200("eng_Latn", "test").texts
ours, theirs = UnigramTokenizer.train(learn_from, 400), unigram(learn_from, 400)
counts = [sum(len(cut(t)) for t in read)
          for cut in (ours.tokens, lambda t: theirs.encode(t).tokens)]  # fmt: skip
common = len({*ours.vocab} & {*theirs.get_vocab()})
print(f"pieces for {len(read)} new texts:")
print(f"  ours {counts[0]:,}, the library's {counts[1]:,}")
print(f"pieces in both vocabularies of 400: {common}")

# %% [markdown] tags=["aside"]
# ### A sampler that can be stopped
#
# `Mixture` draws languages by their shares; of each language every text comes once before any comes
# again. Its place is a few numbers, saved with a training's checkpoint. Started again from there it
# goes on with the very next text.

# %% Stop, and go on tags=["nbval-check-output"]
texts = {"first": [*range(36)], "second": [*range(9)], "third": [0]}
whole = Mixture(texts, alpha=0.5, seed=1).take(60)
begun = Mixture(texts, alpha=0.5, seed=1)
start = begun.take(25)
later = Mixture(texts, alpha=0.5, seed=1)
later.load_state_dict(begun.state_dict())
assert start + later.take(35) == whole
print(begun.state_dict()["drawn"])

# %% [markdown] tags=["aside"]
# ## Common mistake: pieces a word
#
# The usual measure of a vocabulary is its **fertility**: pieces a word. Rust et al. (2021) count
# words as tokenized for treebanks, in Chinese and Japanese too. A common shortcut takes for a word
# what stands between two blanks. It can be computed for every language:

# %% Fertility of five languages
row = rows.get((0.3, 0))
for x in ("eng_Latn", "fin_Latn", "vie_Latn", "tha_Thai", "zho_Hans") if row else ():
    a_word, a_sentence = row["pieces"][x] / row["words"][x], row["pieces"][x] / TEST
    print(f"{SIB200[x]:10} {a_word:4.1f} a word, {a_sentence:4.1f} a sentence")

# %% [markdown]
# **Symptom:** Chinese looks seven times as dear as English, but takes fewer pieces for the same
# sentence. Vietnamese, which parts its syllables by blanks, looks cheap, and is not. These numbers
# are of one world. **Remedy:** compare texts that say the same, as this page does. The ratio to
# English for the same sentences is what a user pays (Petrov et al. 2023).
#
# One world does not give the ratios between languages. In this one Thai has 701 sentences of
# training text, Chinese 519, Vietnamese 99, and English 34. Over all six worlds at alpha 0.3, a
# review rerun counts 52.8 pieces per sentence for English, 66.0 for Thai, 69.0 for Vietnamese, and
# 40.5 for Chinese: Thai costs 25% more than English. In the world above, 3.3% of the characters of
# Chinese are blots, which makes Chinese look cheaper than it is.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# From a model of one language, nothing in the network. What its data and its vocabulary add:
#
# | | one language | many |
# |---|---|---|
# | the next text is | any of the corpus | of language $i$ with share $p_i$, then any of its own |
# | a text is read | once a lap | $N p_i / n_i$ times in $N$ draws |
# | the vocabulary is cut from | the corpus | the same draws |
# | what must be counted | pieces | pieces and blots, language by language |
#
# In the library: `shares`, `repeats` and `Mixture` (`deepdive.data.mixture`), `unigram_training`;
# in the book's package: `fertility` and `premium` (`deepdive_book.ch04.fertility`).
#
# ```sh
# deepdive show multilingual_sampling
# ```

# %% [markdown] tags=["aside"]
# ## In practice
#
# | model | alpha | rows of its table | pieces made by |
# |---|---|---|---|
# | mBERT | 0.7 | 119,547 | WordPiece |
# | XLM | 0.5, in training 0.7 | 95,000 | byte-pair encoding |
# | XLM-R | 0.3 | 250,002 | unigram |
# | mT5 | 0.3 | 250,112 | unigram, single bytes for what is left |
#
# - Cut the vocabulary from a sample that is drawn with the alpha of the training, and look at each
#   script by itself. A mean over languages hides those that are alone.
# - Count the repeats before a training (`repeats`). A text that is read a hundred times may be
#   learned by heart.
# - Count the blots on new text, in each language. No alpha brings a character that stands in no
#   text. More text does, or a vocabulary that ends in bytes, as mT5's and
#   [ByT5's](../05_efficient/12_byt5.ipynb) do.
# - Translators write a temperature: $T = 5$ is $\alpha = 0.2$.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What are the shares at $\alpha = 0$, and what at 1?
#
#    <details><summary>Answer</summary>
#
#    All alike, and in proportion to size.
#
#    </details>
# 2. Two languages have 10,000 and 100 sentences. Which $\alpha$ draws the first three times as
#    often as the second?
#
#    <details><summary>Answer</summary>
#
#    $100^\alpha = 3$, so $\alpha = \log 3 / \log 100$, about 0.24.
#
#    </details>
# 3. Why does a unigram vocabulary sum over all cuts of a word, and not take the best one?
#
#    <details><summary>Answer</summary>
#
#    The word's probability is the sum. A piece that is in a second-best cut is used too, and its
#    count says what it is worth when others are thrown away.
#
#    </details>
# 4. A vocabulary has few pieces a sentence in a language. Is that enough to call it good?
#
#    <details><summary>Answer</summary>
#
#    No: unknown characters are few pieces too. Count them.
#
#    </details>
# 5. Why may French pay less for being small than Russian?
#
#    <details><summary>Answer</summary>
#
#    Other languages in Latin letters bring sentences in which pieces of French words stand. Nobody
#    else here brings Cyrillic letters. (That this is the cause was not measured.)
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 4 min)* Four customers with 64, 16, 4 and 1 sentences, $\alpha = 1/2$, 30 readings.
#    How often is each sentence read?
#
#    <details><summary>Answer</summary>
#
#    Roots 8, 4, 2, 1 add up to 15: 16, 8, 4, 2 readings, so 1/4, 1/2, 1 and 2 times.
#
#    </details>
# 2. *(on paper, 5 min)* Add a stamp "ha" with 1/8 to those for "hat". How often is each stamp used
#    now?
#
#    <details><summary>Answer</summary>
#
#    A third way, ha · t, has 8 parts. Of 18 parts two go through h · a · t: "at" and "ha" 8/18
#    each, a 2/18, h 10/18, t 10/18.
#
#    </details>
# 3. *(code, 15 min)* XLM-R's authors found that in a model of fixed size more languages help the
#    small ones at first, and in the end make each worse. Repeat the small world above with two,
#    four and six languages, the largest always the same. What does the largest pay?
#
#    <details><summary>Answer</summary>
#
#    Expect more pieces with each language that is added, more so at alpha 0 than at 1: the stamps
#    are the same 3,000. Report the worlds, not one of them.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to the exercises, checked.
four = {"a": 64, "b": 16, "c": 4, "d": 1}
print([round(times, 2) for times in repeats(four, 0.5, 30).values()])
uses = expect({"hat": 1}, scores | {"ha": log(1 / 8)}).uses
print({stamp: round(18 * n) for stamp, n in sorted(uses.items())}, "of 18")
print(round(log(3) / log(100), 2))

# %% [markdown]
# ## Summary
#
# A multilingual model draws language $i$ with the share $n_i^\alpha / \sum_j n_j^\alpha$, for its
# vocabulary and for its training, and an $\alpha$ of 0.3 repeats small languages many times. In six
# worlds of unequal customers, going from 1 to 0.3 took the price of being small from 28% to 11% for
# languages in Latin letters, and from 53% to 19% for those that are alone in their script. Nothing
# that is drawn from the same text brings characters that it lacks.
#
# ## Further reading
#
# - Conneau and Lample (2019), *Cross-lingual Language Model Pretraining*: section 3.1 has the
#   shares.
# - Xue, Constant, Roberts and others (2021), *mT5: A Massively Multilingual Pre-trained
#   Text-to-Text Transformer*: three alphas compared, and a table of 101 languages with pages and
#   shares.
# - Conneau, Khandelwal, Goyal and others (2020), *Unsupervised Cross-lingual Representation
#   Learning at Scale*: alpha, the size of the vocabulary and the number of languages, varied one by
#   one.
# - Kudo (2018), *Subword Regularization: Improving Neural Network Translation Models with Multiple
#   Subword Candidates*: section 3.2 is the algorithm.
# - Rust, Pfeiffer, Vulić, Ruder, Gurevych (2021), *How Good is Your Tokenizer? On the Monolingual
#   Performance of Multilingual Language Models*: fertility, and what it costs in tasks.
# - Petrov, La Malfa, Torr, Bibi (2023), *Language Model Tokenizers Introduce Unfairness Between
#   Languages*: what users pay, measured on FLORES-200, from which SIB-200 has its sentences.
#
# <small>Book 4.2.1</small>

# %% [markdown] tags=["slide"]
# # Who gets how many pieces?
#
# A print shop sets texts in twenty-four languages. It may cut 8,000 stamps and no more. A stamp
# prints one letter or several, and each time that one is pressed it costs a coin. To choose its
# stamps, the shop reads samples that the customers bring. The largest customer brings 701
# sentences, the smallest 22. Who gets how many stamps? And if the small customer is to pay no more
# than others, is it enough to read its sentences more often?
#
# <small>Before this page: [word pieces](../02_transformer/17_gnmt.ipynb) · 15 min to read · a
# laptop is enough; the long measurements are kept beside the page</small>

# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
SOURCE = ""  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install` it"
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}, and run this cell again")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)

# %% Who is read how often tags=["fold"]
from deepdive.data.mixture import Mixture, repeats, shares
from deepdive.page.alpha_shares import alpha_shares

CUSTOMERS = {"Finnish": 704, "Hindi": 352, "English": 176, "Greek": 88, "Thai": 44, "Basque": 22}
assert sum(CUSTOMERS.values()) == 1386
assert repeats(CUSTOMERS, 0, 1386)["Basque"] == 10.5
alpha_shares(CUSTOMERS, drawn=1386)

# %% [markdown]
# *Six customers to begin with, and 1,386 sentences that the shop reads in all. On the left the
# share of them that comes from each customer, on the right how many times each of a customer's own
# sentences is read. Move the slider: some stops name the published models that were trained so.*
#
# 1. At alpha = 1 each sentence is read once. Who gains first as you move to the left, and who pays?
# 2. Where is Basque read as often as Finnish? How many times does the shop then read the same 22
#    sentences?
#
# <details><summary>Answers to the two tasks</summary>
#
# 1. All but Finnish gain at once, and Finnish pays for all. From 0.9 on Hindi pays too.
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
# Such draws also choose the texts that a multilingual model is trained on, so the sentences of a
# small language are repeated there too.

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
# | "hat" | product | in parts of 512 |
# |---|---|---|
# | h · a · t | 1/8 · 2/8 · 1/8 | 2 |
# | h · at | 1/8 · 1/8 | 8 |
#
# Of ten parts, eight go through "at". So in this word "at" is used 0.8 times, a and t 0.2 times
# each, and h once. Such counts are added up over all words that were read. Divided by their sum
# they are the next probabilities of the stamps, which give new counts, and so on. Without "at" the
# word would have 2 parts instead of 10. That is what the stamp is worth.
#
# The shop begins with far too many stamps, counts, and throws away those that are missed least,
# until 8,000 are left. Single letters stay, whatever they are worth. A letter that stood in no
# sample has no stamp at all: where it is needed, a blot is printed, `<unk>`.

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
# Who pays, and how much? The sentences of [SIB-200](https://arxiv.org/abs/2309.07445) are the same
# in all languages, translated by people. So the stamps that 204 new sentences take can be compared
# across languages: they buy the same meaning.
#
# Real corpora are large where a language is rich, and then nobody can tell what is due to the
# language and what to its size. Here sizes are dealt out: 701 sentences for the first language,
# then ever fewer in equal ratios, 22 for the last. In the next world each language moves on by four
# places. After six worlds every language was twice among the largest eight, twice in the middle,
# twice among the smallest eight. For each world and five values of $\alpha$ the shop reads 4,800
# sentences and cuts 8,000 stamps, with the library `tokenizers`: thirty vocabularies.

# %% Read the thirty vocabularies tags=["fold"]
import json

from deepdive.data.translated import SIB200, script, sib200
from deepdive.page.experiments import kept, sweep
from deepdive.page.profile import pick, profile
from deepdive.page.runs.unequal import country_names, order, served

ALPHAS, TURNS, TEST = (1.0, 0.7, 0.5, 0.3, 0.0), range(6), 204


def measure(alpha, turn):
    train, test = ({x: sib200(x, part).texts for x in SIB200} for part in ("train", "test"))
    return served(train, test, alpha, turn, size=8000, drawn=4800)


file = kept("04_multilingual", "vocabularies")
if profile() == "experiment":
    points = [{"alpha": alpha, "turn": turn} for turn in TURNS for alpha in ALPHAS]
    sweep(measure, points, file, data="sib200")
found = json.loads(file.read_text("utf-8"))["rows"] if file and file.is_file() else []
rows = {(row["alpha"], row["turn"]): row for row in found}
print(f"{len(rows)} vocabularies, {len(SIB200)} languages, {TEST} test sentences each")

# %% What a third of the customers pays tags=["fold"]
from statistics import mean

from deepdive.page.tables import table

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
print("in each of the six worlds: as alpha falls, the largest pay more, the smallest less")

# %% [markdown] tags=["slide"]
# By size, the smallest eight pay 74.9 coins a sentence and the largest 55.7. At $\alpha = 0.3$ it
# is 67.1 and 59.2: the small ones gain more than twice what the large ones lose, and the mean of
# all falls from 65.3 to 63.0. Between 0.3 and 0 that mean hardly moves. What is added then is yet
# another look at sentences that were read several times before.

# %% [markdown]
# ## Alone in a script
#
# Fifteen of the languages are written in Latin letters. Seven are alone with theirs: Russian,
# Greek, Arabic, Hindi, Bengali, Thai and Korean. Take each language by itself: how much more does
# it pay in the smallest third, where it owns 22 to 63 sentences, than in the largest, where it owns
# 244 to 701?

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
table(lines, ["alpha", f"{len(LATIN)} in Latin letters", f"{len(ALONE)} alone in their script"],
      caption="stamps added when small: mean of languages [95% interval]")  # fmt: skip

# %% [markdown]
# *The brackets hold 95% of the means of languages drawn with replacement.*
#
# By size, a language in Latin letters pays 28% more for being small, one that is alone 53% more.
# Nobody else brings Greek letters, whereas a French word can be set with stamps that were cut for
# Spanish or English. So a small language seems to be helped twice: by being read more often, and by
# neighbours. (The seven may differ from the fifteen in more than that; no language was measured
# both with neighbours and without.) At $\alpha = 0.3$ the two prices are 11% and 19%.

# %% tags=["fold"]
from deepdive.page.predictions import predict

predict(
    "Chinese shares its script with Japanese alone, and has thousands of characters. At alpha = 1, "
    "when it is moved from the largest third to the smallest, how many stamps does a Chinese "
    "sentence take?",
    ["about twice as many", "about a quarter more, as in Latin letters", "about as many as before"],
    answer=2,
    explain="It needs hardly more stamps, and that is no good news: where a character stood in no "
    "sample the shop prints a blot, and a run of blots costs one stamp.",
    key="04_multilingual/blots",
)

# %% [markdown] tags=["answer"]
# #### What Chinese pays: open this once you have predicted

# %% Stamps and blots tags=["surprise", "fold"]
lines = []
for x in ("zho_Hans", "jpn_Jpan", "kor_Hang", "rus_Cyrl", "fra_Latn") if rows else ():
    cells = []
    for alpha, k in ((1.0, 0), (1.0, 2), (0.3, 2), (0.0, 2)):
        seen = [rows[alpha, turn] for turn in TURNS if x in third(turn, k)]
        stamps = mean(row["pieces"][x] for row in seen) / TEST
        blots = mean(row["unknown"][x] / row["characters"][x] for row in seen)
        cells.append(f"{stamps:.0f}, {100 * blots:.1f}%")
    lines.append([SIB200[x], *cells])
head = ["", "large, alpha 1", "small, alpha 1", "small, alpha 0.3", "small, alpha 0"]
table(lines, head, caption="stamps a sentence, and characters that are blots: mean of two worlds")

# %% A bar of the drawing tags=["fold"]
from deepdive.page.diagrams import ROLES, svg, text
from deepdive.page.panels import panels

WORLDS = {"world 1": 0, "world 3": 2, "world 5": 4}
ROLE = {"Latin": "key", "Chinese": "value", "Japanese": "value"}  # the others stand alone


def bar(place, x, now, by_size):
    """A language's name, its bar, a mark where it stood by size, its number."""
    y, wide, role = 6 + 17 * place, 2.3 * now, ROLE.get(script(x), "query")
    return (
        text(84, y + 7, SIB200[x], 14).replace("middle", "end", 1)
        + f'<rect x="90" y="{y}" width="{wide:.1f}" height="13" fill="{ROLES[role]}"/>'
        + f'<path d="M{90 + 2.3 * by_size:.1f} {y - 1}v15" stroke="currentColor"/>'
        + text(94 + 2.3 * max(now, by_size), y + 7, f"{now:.0f}", 14).replace("middle", "start", 1)
    )


# %% One world, drawn tags=["surprise", "fold"]
def drawn(alpha, world):
    """All languages of a world, the largest customer at the top."""
    alpha, turn = float(alpha), WORLDS[world]
    now, by_size = (rows[a, turn]["pieces"] for a in (alpha, 1.0))
    body = [bar(k, x, now[x] / TEST, by_size[x] / TEST) for k, x in enumerate(order(SIB200, turn))]
    large, small = (paid(alpha, turn, third(turn, k)) for k in (0, 2))
    said = (f"alpha = {alpha:g}, {world}: the largest eight pay {large:.0f} stamps a sentence, the "
            f"smallest eight {small:.0f}.")  # fmt: skip
    return svg(400, 416, body), said


# %% Choose alpha and the world tags=["surprise", "fold"]
choices = {"alpha": [f"{alpha:g}" for alpha in ALPHAS], "world": [*WORLDS]}
panels("Stamps a sentence in one world", choices, drawn) if rows else "no kept rows here"

# %% [markdown] tags=["surprise"]
# *Above, two numbers for each language: stamps a sentence, and characters that no stamp prints.
# Below, all languages of one world, the largest customer at the top; the line across a bar says
# what it pays at alpha = 1. Blue: Latin letters. Green: Chinese and Japanese. Orange: alone in
# their script.*
#
# Small Chinese takes 40 stamps a sentence, as large Chinese does, and every fifth of its characters
# is a blot. Reading its sentences more often changes that from 20.2% to 18.4%, and no further: the
# characters that are missing stand in none of them. Korean has such blots too, 11.1% where it is
# small, so that its price among those that are alone looks lower than it is.

# %% [markdown]
# ## Who owns the stamps
#
# Now the stamps themselves are counted, by the script of their letters.

# %% Stamps by script tags=["fold"]
shared = {"Latin": 15, "Han": 2, "Kana": 1, "Korean": 1, "Cyrillic": 1, "Greek": 1, "Arabic": 1,
          "Devanagari": 1, "Bengali": 1, "Thai": 1}  # fmt: skip
lines = []
for kind, languages in shared.items() if rows else ():
    counts = [[rows[alpha, t]["kinds"].get(kind, 0) for t in TURNS] for alpha in (1.0, 0.3, 0.0)]
    lines.append([kind, languages, *(f"{mean(c):,.0f} ({min(c):,} to {max(c):,})" for c in counts)])
table(lines, ["script", "languages", "alpha 1", "alpha 0.3", "alpha 0"],
      caption="stamps with its letters: mean of six worlds (lowest to highest)")  # fmt: skip

# %% [markdown]
# Fifteen languages live on 3,198 stamps with Latin letters by size, and on 3,273 where all are read
# alike. Greek has 410 for itself by size, on average over the worlds: from 123 in the world that
# gives it fewest to 895. At $\alpha = 0.3$ it is 319 to 562. That is about twice as many as there
# are Latin stamps for each of the fifteen, but each of the fifteen may use them all.
#
# **So who gets how many pieces, and is it enough to read the small customer more often?** Pieces go
# to whoever is read, and $\alpha$ decides who is. With 0.3 in place of 1 the price of being small
# falls from 28% to 11% in Latin letters, and from 53% to 19% for those that are alone, while the
# largest eight pay 59.2 coins instead of 55.7. That is the part that reading again can mend, and it
# is not enough. It does not make neighbours, and it does not bring letters that nobody brought:
# 18.4% of the characters of small Chinese stay blots at $\alpha = 0$. For these only more text
# helps, or [pieces that are single bytes](../05_efficient/12_bytes.ipynb).

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
from deepdive.page.runs.unequal import unigram
from deepdive.tokenizers.unigram import UnigramTokenizer

if profile() == "ci":
    learn_from, read = (part["en"] + part["de"] for part in country_names(["en", "de"]))
else:
    learn_from, read = sib200("eng_Latn").texts[:150], sib200("eng_Latn", "test").texts
ours, theirs = UnigramTokenizer.train(learn_from, 400), unigram(learn_from, 400)
counts = [sum(len(cut(t)) for t in read)
          for cut in (ours.tokens, lambda t: theirs.encode(t).tokens)]  # fmt: skip
common = len({*ours.vocab} & {*theirs.get_vocab()})
print(f"pieces for {len(read)} new texts: ours {counts[0]:,}, the library's {counts[1]:,}")
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
# The usual measure of a vocabulary is its **fertility**: pieces a word, where a word is what stands
# between two blanks. It can be computed for every language:

# %% Fertility of five languages
row = rows.get((0.3, 0))
for x in ("eng_Latn", "fin_Latn", "vie_Latn", "tha_Thai", "zho_Hans") if row else ():
    a_word, a_sentence = row["pieces"][x] / row["words"][x], row["pieces"][x] / TEST
    print(f"{SIB200[x]:10} {a_word:5.1f} pieces a word, {a_sentence:5.1f} a sentence")

# %% [markdown]
# **Symptom:** Chinese looks seven times as dear as English, but takes fewer pieces for the same
# sentence. Vietnamese, which parts its syllables by blanks, looks cheap, and is not. **Remedy:**
# compare texts that say the same, as this page does. The ratio to English for the same sentences is
# what a user pays (Petrov et al. 2023).

# %% [markdown] tags=["aside"]
# ## What differs
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
# In the library: `shares`, `repeats` and `Mixture` (`deepdive.data.mixture`), `unigram_training`,
# `fertility` and `premium` (`deepdive.tokenizers.fertility`).
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
# | XLM | 0.5 | 95,000 | byte-pair encoding |
# | XLM-R | 0.3 | 250,002 | unigram |
# | mT5 | 0.3 | 250,112 | unigram, single bytes for what is left |
#
# - Cut the vocabulary from a sample that is drawn with the alpha of the training, and look at each
#   script by itself. A mean over languages hides those that are alone.
# - Count the repeats before a training (`repeats`). A text that is read a hundred times may be
#   learned by heart.
# - Count the blots on new text, in each language. No alpha brings a character that stands in no
#   text. More text does, or a vocabulary that ends in bytes, as mT5's and
#   [ByT5's](../05_efficient/12_bytes.ipynb) do.
# - Translators write a temperature: $T = 5$ is $\alpha = 0.2$.

# %% [markdown] tags=["aside"]
# ## Five questions
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
#    Other languages in Latin letters bring samples in which pieces of French words stand. Nobody
#    else here brings Cyrillic letters.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(pencil, 4 min)* Four customers with 64, 16, 4 and 1 sentences, $\alpha = 1/2$, 30 readings.
#    How often is each sentence read?
#
#    <details><summary>Answer</summary>
#
#    Roots 8, 4, 2, 1 add up to 15: 16, 8, 4, 2 readings, so 1/4, 1/2, 1 and 2 times.
#
#    </details>
# 2. *(pencil, 5 min)* Add a stamp "ha" with 1/8 to those for "hat". How often is each stamp used
#    now?
#
#    <details><summary>Answer</summary>
#
#    A third way, ha · t, has 8 parts. Of 18 parts two go through h · a · t: "at" and "ha" 8/18
#    each, a 2/18, h 10/18, t 10/18.
#
#    </details>
# 3. *(write, 15 min)* XLM-R's authors found that in a model of fixed size more languages help the
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
# ## In three sentences
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

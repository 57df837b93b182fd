# %% [markdown] tags=["slide"]
# # T5 sentiment spans: do the heads that attend to the span find it?
#
# A small T5 is asked which words of a review are negative. Some of its heads look at exactly these
# words while it writes them. Are they what finds them?
#
# *the film is superb and elegant , but the acting is truly awful .* Asked what is `negative` here,
# it writes *truly awful*. Asked what is `positive`, it writes *superb and elegant*. One word of
# what it reads has changed. The heads' looks make a fine picture, and a tempting sentence below it:
# *this head finds the span.* Choose a head, and switch heads off.
#
# <small>Prerequisites: [T5](../chapters/05_efficient/10_t5.ipynb) and
# [the decoder](../chapters/02_transformer/12_decoder.ipynb) · 20 min · about a minute and a half to
# run on one core; results of the long runs are included · book 5.5</small>

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
# %% Kept trainings tags=["fold"]
import json

from deepdive_book.kit.experiments import results_path, sweep
from deepdive_book.kit.profile import profile
from deepdive_book.studies.figures.head_ablation import Asked, Kept, head_ablation
from deepdive_book.studies.runs.span_results import LONGER, POINTS, one_training, train_accuracy

file = results_path("05_efficient", "spans")
DATA = "rt_polarity, movie_reviews, two_sided (generated)"
if profile() == "experiment":
    rows = sweep(one_training, POINTS, file, data=DATA)
else:
    rows = json.loads(file.read_text("utf-8"))["rows"] if file and file.is_file() else []
drawn = [one for data in ("generated", "films") for row in rows
         if row["data"] == data for one in row["picture"]]  # fmt: skip


# %% What is drawn tags=["slide", "fold"]
def places(shown):
    """Which words of the text answer."""
    first = len(shown["text"][: shown["start"]].split())
    return [*range(first, first + len(shown["answer"].split()))]


def kept_text(pair):
    both = {one["question"]: one for one in pair}
    spots = {question: places(one) for question, one in both.items()}
    other = {"negative": "positive", "positive": "negative"}
    asked = {
        q: Asked(f"question: {q} context:", (spots[q], spots[other[q]]), one["looks"], one["says"])
        for q, one in both.items()
    }
    return Kept(pair[0]["text"].split(), asked)


pairs_drawn = [*zip(drawn[::2], drawn[1::2], strict=True)]
head_ablation([*map(kept_text, pairs_drawn)], (2, 4)) if drawn else "nothing is kept here yet"

# %% [markdown]
# *A box holds the words that are asked for. The bar below a word says how much of its weight the
# head that you chose puts there while the answer is written; a bar as long as the word would be all
# of it. The bar in front is for all else that is read. Take a head's tick away and it adds nothing.
# What is written was kept for every set of heads. Three sentences are generated; the others are
# real, about films, and were asked of a model that learned from such.*
#
# ## Every task a text
#
# To T5 a question and a text are one text, and the answer is another:
#
# | what it reads | what it writes |
# |---|---|
# | `question: negative context: the film is dull , but the music is not bad .` | `dull` |
# | `question: positive context: the film is dull , but the music is not bad .` | `not bad` |
# | `question: positive context: the film is dull , and begins in winter .` | `none` |
#
# It is not a pointer to places, as [BERT's answers](../chapters/03_bert/07_finetuning.ipynb) are:
# the decoder writes the words anew, one after another. That it can copy them it has to learn.

# %% Your own model or texts tags=["fold"]
# A folder with a public T5, or its name on the hub: t5-small. Only read in the profile `gpu`.
T5_FOLDER = ""  # @param {type:"string"}
# ERASER's film reviews, unpacked: a folder with train.jsonl, val.jsonl and docs.
RATIONALES = ""  # @param {type:"string"}

# %% [markdown] tags=["slide"]
# ## By hand: a rule that marks spans
#
# Nobody has marked the words of our 10,662 sentences about films, but each sentence is known to be
# for or against. From that a number for each word follows: in how many sentences of either kind
# does it stand? Say *truly* has 3, *splendid* 5, *music* 1, *script* -1, *dull* -4, and the others
# 0. Now let each word cost 1, and look for **the run of words with the largest sum**:
#
# | | a | dull | script | , | but | truly | splendid | music |
# |---|---|---|---|---|---|---|---|---|
# | for: number - 1 | -1 | -5 | -2 | -1 | -1 | 2 | 4 | 0 |
# | best run that ends here | -1 | -5 | -2 | -1 | -1 | 2 | **6** | 6 |
# | against: -number - 1 | -1 | 3 | 0 | -1 | -1 | -4 | -6 | -2 |
# | best run that ends here | -1 | **3** | 3 | 2 | 1 | -3 | -6 | -2 |
#
# A run goes on while its sum is above 0, else it begins anew. So the answers are *truly splendid*
# and *dull*. Of equal sums the first is taken, and where none reaches a threshold the answer is
# *none*.

# %% Check the sums tags=["nbval-check-output", "fold"]
from deepdive_book.data.spans import max_sum_span

words = ["a", "dull", "script", ",", "but", "truly", "splendid", "music"]
number = {"truly": 3, "splendid": 5, "music": 1, "script": -1, "dull": -4}
values = [number.get(word, 0) for word in words]
for name, sign in (("for", 1), ("against", -1)):
    run = max_sum_span([sign * value for value in values], cost=1, least=1)
    print(f"{name}: {' '.join(words[i] for i in run)}")

# %% [markdown]
# With the real numbers (the logarithm of a ratio of two counts, words seen five times at least,
# cost 0.4, threshold 0.6) the rule marks spans like *predictable plot*. It has no idea of *not*,
# and it is no person: a model that learned it is right when it does as the rule does. Therefore the
# heads are examined on a second set, where no rule is needed: **generated sentences** that praise
# one thing and blame another.

# %% The sentences tags=["fold"]
import os

from deepdive_book.data.rationales import rationales
from deepdive_book.kit.profile import banner, pick
from deepdive_book.kit.tables import table
from deepdive_book.studies.runs.spans import generated

work = generated(pick(ci=300, laptop=3000, gpu=3000), pick(ci=60, laptop=300, gpu=300))
print(banner(work.source))
shown = [[row.question, row.context, row.answer or "none"] for row in work.test[:6]]
table(shown, ["question", "context", "answer"], caption="Three of the test's texts, both questions")

# %% [markdown]
# ## One that learns here
#
# Two layers read, two write, four heads in each attention, 48 wide: 0.1 million weights. The films'
# model, 64 wide, has 0.3 million. The recipe is [T5's](../chapters/05_efficient/10_t5.ipynb): the
# same loss for all, steps as large as the weights that they move.

# %% Train it tags=["fold"]
import torch

from deepdive.data import BucketBatches
from deepdive_book.kit.cost import measure
from deepdive_book.studies.runs.span_qa_format import answers, encode, loss
from deepdive_book.studies.runs.spans import begun, train_model

STEPS = pick(ci=60, laptop=700, gpu=700)
with measure() as card:
    model = train_model(begun(work, seed=0), work, STEPS, seed=0)
batch = next(iter(BucketBatches(encode(work.train, work.tokenizer), max_tokens=2500)))
card.count(lambda: loss(model, batch).backward(), times=STEPS)
model.zero_grad()
print(f"{sum(p.numel() for p in model.parameters()):,} weights")

# %% [markdown]
# **Counterfactual questions**: the same text, the other question. If the answer followed the text
# alone, or a habit, it would stay.

# %% Both questions tags=["fold"]
from deepdive_book.studies.runs.span_results import scores


def percent(triple):
    """Mean and interval, in percent."""
    value, low, high = (100 * x for x in triple)
    return f"{value:.0f} % [{low:.0f}, {high:.0f}]"


trained = scores(model, work)
said = answers(model, work.test[:6], work.tokenizer)
lines = [{"question": row.question, "context": row.context, "writes": text,
          "right": text == (row.answer or "none")}
         for row, text in zip(work.test[:6], said, strict=True)]  # fmt: skip
table(lines)

# %% Over all of the test tags=["fold"]
table([{"texts": name, "right to the word": percent(trained[key])}
       for name, key in (("one sentiment, asked for it", "one"), ("two sentiments", "two"),
                         ("asked for what is not there", "none"))],
      caption=f"{trained['texts']} texts, 95 % over texts")  # fmt: skip

# %% [markdown]
# It follows the question. Where a text has one sentiment and the other is asked for, it says so.
#
# ## Look: three kinds of heads, and two ways to draw one
#
# The encoder's heads look from the text to the text, the decoder's from what is written to what is
# written, and those of **cross-attention** from what is written to the text. Press a word; choose
# other heads.

# %% Every head, while the answer is written tags=["fold"]
from deepdive_book.kit.explorer import attention_explorer

pair = max(work.pairs, key=lambda p: len(p[0].answer.split()) + len(p[1].answer.split()))
asked_for = pair[1]
((source,), (target,)) = encode([asked_for], work.tokenizer)
names = work.tokenizer.vocab
src, written = torch.tensor([source]), torch.tensor([target[:-1]])
reads = [names[i] for i in source], ["begin", *(names[i] for i in target[1:-1])]
attention_explorer(model, (src, written), reads, start=("cross", 1, 0))

# %% [markdown]
# *A row has the name of the token that the decoder reads there: the row of `begin` writes the first
# word of the answer. The text has two sentiments; the question is `positive`.*
#
# The book's notebook draws cross-attention in another way: the decoder is given **the question** to
# read, and the span that the model generates never stands there. Both ways, for the head that looks
# most at the answer's words, head 1 of layer 2 (2-1; layers count from 1, heads from 0):

# %% Draw both tags=["fold"]
from matplotlib.figure import Figure

from deepdive.core.hooks import forward_once, record
from deepdive_book.kit.plotting import with_alt
from deepdive_book.studies.runs.span_heads import CROSS

question = torch.tensor([work.tokenizer.encode(f"question: {asked_for.question}")])
WAYS = {"the decoder reads the question": question, "the decoder reads what it writes": written}


def cross(tokens):
    """Weights of cross-attention (L, H, T, S)."""
    with record(model, f"{CROSS}.mechanism.weights") as seen:
        forward_once(model, (src, tokens))
    return torch.cat([w for (w,) in seen.values()])


def most(maps):
    """The head whose last row looks most at the answer."""
    spot = places_of(asked_for, work.tokenizer)
    found = maps[..., spot].sum(-1).mean(-1).flatten().argmax()
    return divmod(int(found), maps.shape[1])


# %% The figure tags=["fold"]
from deepdive_book.studies.runs.span_qa_format import answer_positions as places_of

layer, head = most(cross(written))
figure = Figure(figsize=(7.5, 4.2))
for axes, (way, tokens) in zip(figure.subplots(2, 1), WAYS.items(), strict=True):
    axes.imshow(cross(tokens)[layer, head], vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(tokens.shape[1]), [names[i] if i else "begin" for i in tokens[0]])
    axes.set_xticks(range(len(source)), reads[0], rotation=60, ha="right")
    axes.set_title(way)
with_alt(
    figure,
    f"Cross-attention of head {layer + 1}-{head}, twice: above with the question as what the "
    "decoder reads, below with the answer; rows look at the words of the text.",
)

# %% [markdown]
# *The darkest blue is a weight of 1.* Below, each row stands where a word of the answer is about to
# be written, and the head looks at that word; in the last row the end is written. Above, its walk
# along the span cannot be seen: the decoder reads words that it never has to read in this task.
#
# ## Is that why?
#
# In the lower picture the head looks at the right words, and the right words are written. That
# would also be so if the choice fell elsewhere and the head only fetched the words. Three numbers
# for each head, from all sentences of the test with two sentiments:
#
# 1. **Looking**: the share of its weight that lies on the right span. Chance is the span's share of
#    the tokens.
# 2. **Off** (*zero ablation*): the head adds nothing. How often is an answer that was right still
#    right? And does it become the *other* span? Zeros take later layers off the inputs that they
#    know, so a loss may overstate the head's part; replacing its output by its mean, or by that of
#    another text, is the usual control (Heimersheim and Nanda 2024), and was not run.
# 3. **Exchange** (*activation patching*): run the same text with the other question, and put this
#    head's output of *that* run into this one. Does the first word become the other span's?
#    (Only where both first words were right, and differ.)
#
# A head **brings** the choice where its exchange turns the first word.

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict

predict(
    "The three heads that look most at the right span are switched off together. In how many of "
    "the answers that were right does the model now write the other question's span?",
    ["in nearly none", "in about a third", "in most"],
    answer=0,
    explain="Without them the others still choose rightly, if they write the words at all.",
    key="05_efficient/heads-off",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The kept trainings tags=["surprise", "fold"]
from statistics import mean

from deepdive.evaluate import bootstrap

trainings = [row for row in rows if row["data"] == "generated"]


def of_heads(row):
    """A line for each head, those that look most at the span first."""
    order = sorted(range(8), key=lambda h: -row["span"][h][0])
    return [{"head": f"{h // 4 + 1}-{h % 4}", "looks at the span": percent(row["span"][h]),
             "at the question": percent(row["question"][h]),
             "right without it": percent(row["right without"][h]),
             "other span": percent(row["other without"][h]),
             "brings the other": percent(row["taken"][h])} for h in order]  # fmt: skip


table(
    of_heads(trainings[0]),
    caption=f"Seed 0, 95 % over texts; chance of a look: {percent(trainings[0]['chance'])}",
) if trainings else "nothing kept"


# %% Over the seeds tags=["surprise", "fold"]
def groups(row):
    """What three heads do together, what one brings, and what a layer brings."""
    looker = max(range(8), key=lambda h: row["span"][h][0])
    bringer = max(range(8), key=lambda h: row["taken"][h][0])
    encoder = max(row["encoder taken"], key=lambda found: found[0])
    return {
        "all heads on: right": percent(row["right"]),
        "three that look most off: right": percent(row["right without"][8]),
        "three that look most off: the other span": percent(row["other without"][8]),
        "three that look least off: right": percent(row["right without"][9]),
        "the head that looks most: looks": percent(row["span"][looker]),
        "the head that looks most: brings": percent(row["taken"][looker]),
        "the head that brings most: looks": percent(row["span"][bringer]),
        "the head that brings most: brings": percent(row["taken"][bringer]),
        "all of layer 1 bring": percent(row["layers"][0]),
        "all of layer 2 bring": percent(row["layers"][1]),
        "the encoder's head that brings most": percent(encoder),
    }


# %% A column for each seed tags=["surprise", "fold"]
def by_seed(some):
    """A column for each training."""
    each = {f"seed {row['seed']}": groups(row) for row in some}
    return [{"heads": name} | {seed: one[name] for seed, one in each.items()}
            for name in groups(some[0])]  # fmt: skip


table(by_seed(trainings), caption="95 % over texts; bring: the first word becomes the other span's"
      ) if trainings else "nothing kept"  # fmt: skip

# %% [markdown]
# In the first table head 2-1 looks at the right span with 75% of its weight, head 1-1 with 69%,
# head 1-3 with 64%; chance would be 12%. A picture of any of them would show the span. Yet
# without any single head at least 81% of the answers stay right, and what goes wrong is hardly
# ever the other span. Nor does head 2-1 bring the choice: it turns the first word in 2%. The head
# that turns most, 27%, is one that no picture of the span would show: head 1-0, which looks at the
# **question's word**. (With seed 1 too the head that turns most looks little at the span, 18%;
# with seed 2 it does, 77%.)
#
# The second table has all three trainings. Without the three heads that look most at the span, 33%
# to 59% of the answers stay right: the words are fetched worse. In one training that is no worse
# than without the three that look *least*, as far as intervals tell (54% and 58%). A span
# with a wrong word counts as neither, so compare whole ones: the right span is written in 33% or
# more, the other in 3% at most. **Who loses these heads loses words, not the choice.** The one
# that looks most brings 2% to 7%; all heads of the first layer together 66% to 93%. The choice
# comes through many heads at once. Do the three bring it together? In the model that was trained
# here:

# %% Exchanged together tags=["fold"]
from deepdive_book.studies.runs.span_heads import Exchange, attention_shares, head_names

runs, every = Exchange(model, work.pairs, work.tokenizer), head_names(model)
by_look = (
    attention_shares(model, work.pairs, work.tokenizer).span.mean(-1).flatten().argsort().tolist()
)
lines = []
for name, some in (("the three that look most", by_look[-3:]), ("the other five", by_look[:-3]),
                   ("all eight", by_look)):  # fmt: skip
    turned = bootstrap(runs.together([every[h] for h in some]).float().tolist())
    lines.append({"heads": name, "bring": percent(turned)})
table(lines, caption=f"{len(runs.pairs)} pairs, exchanged at once")

# %% [markdown]
# The three bring 38% [33, 44] together, the other five 56% [51, 62]. So the lookers are not blind
# to the choice: each has a small vote, and where all three say otherwise they outvote the rest in
# 38% of the exchanges. (All eight bring 100% by construction: at the first word the decoder has
# read nothing but `begin`, so all of the question comes through them.) Switching them off asked
# something else: without their vote the others still choose rightly. What is *needed* and what is
# *enough* are two questions, and a picture answers neither.

# %% [markdown]
# ## Where is the choice made?
#
# The two runs differ in one token that is read: `negative` or `positive`. Before the encoder's
# first layer all of the difference stands in that word's row. Before it and after each layer, put
# some rows of the other run into this one:


# %% Which rows carry the question tags=["fold"]
def carried(depth):
    """How often the other span is begun, with these rows of the other run, by seed."""
    where = ("before the encoder", "after its layer 1", "after its layer 2")[depth]
    return {"rows of the other run": where} | {
        group: ", ".join(f"{100 * row['rows'][depth][group][0]:.0f} %" for row in trainings)
        for group in trainings[0]["rows"][depth]
    }


cells = [cell for row in trainings for depth in row["rows"] for cell in depth.values()]
unsure = max((high - low for _, low, high in cells), default=0)


told = f"""How often the first word becomes the other span's, seeds 0, 1, 2;
    no cell's interval over texts is wider than {100 * unsure:.0f} points"""
table([carried(depth) for depth in range(3)], caption=" ".join(told.split())
      ) if trainings else "nothing kept"  # fmt: skip

# %% [markdown]
# *Columns: which rows; "its span" is what the other run is asked for.*
#
# One recipe, three trainings, right in 97% of these answers or more, and three places for the
# choice. Seed 2 writes it into **the spans themselves**: their rows alone turn 79%, and the
# question's word is not needed any more (0%). Seed 1 writes it into **other tokens**: the spans
# turn 7%, all but the question's word 81%, and one head of the encoder alone brings 69%. Seed 0
# leaves a part of it **in the question's word** (23%), for a head like 1-0 to read.
#
# So the encoder moves most of the choice away from the question's word before anything is written:
# all other rows turn 63% to 100%. Where cross-attention is to look, it has been told by then.
#
# ## On real sentences
#
# The films' models learn from real sentences of at most 24 words, with spans by the rule. Half of
# them first read film reviews and fill gaps there
# ([T5's lesson](../chapters/05_efficient/10_t5.ipynb)). **Exact match** counts an answer that is
# the span to the word, **F1** the words that it shares with the span (both as SQuAD counts:
# without capitals, punctuation and articles).

# %% Exact match and F1 tags=["fold"]
films = [row for row in rows if row["data"] == "films" and not row.get("dropout")]
NAMES = {"read": "fills gaps first", "drawn": "drawn weights"}


def of_films(start):
    some = [row for row in films if row["start"] == start]
    return [{"model": NAMES[start], "seed": row["seed"], "exact": percent(row["exact"]),
             "F1": percent(row["f1"]), "none, where right": percent(row["none"]),
             "one sentiment": percent(row["one"]), "two": percent(row["two"])}
            for row in some]  # fmt: skip


table([line for start in NAMES for line in of_films(start)],
      caption=f"{films[0]['texts']:,} sentences, {films[0]['pairs']} with two sentiments; "
      "95 % over texts") if films else "nothing kept"  # fmt: skip

# %% The difference tags=["fold"]
by = {(row["start"], row["seed"]): [int(hit) for hit in row["hits"]] for row in films}
seeds = sorted(seed for start, seed in by if start == "read" and ("drawn", seed) in by)
if seeds:
    gains = [[a - b for a, b in zip(by["read", s], by["drawn", s], strict=True)] for s in seeds]
    gain = bootstrap([100 * mean(each) for each in zip(*gains, strict=True)])
    print(f"gaps first less drawn, all questions, {len(seeds)} seeds: {gain} points")

# %% [markdown]
# Where there is a span, 16% to 20% of the answers give it to the word, with F1 of 25% to 29%;
# where the rule says none, they agree in 60% to 65%. To fill gaps first, 300 steps long, adds 1.1
# points [-0.3, 2.4] over all questions: the interval, over texts, holds 0. Were the 800 steps too
# few? The models with drawn weights were asked their own lessons again; one was trained four times
# as long; and one, in 2,400 steps, hid a fifth of its numbers, drawn anew each time (*dropout*):

# %% Longer, and the lessons again tags=["fold"]
file = results_path("05_efficient", "spans_longer")
if profile() == "experiment":
    longer = sweep(train_accuracy, LONGER, file, data="rt_polarity, movie_reviews")
else:
    longer = json.loads(file.read_text("utf-8"))["rows"] if file and file.is_file() else []
hidden = [row for row in rows if row.get("dropout")]
table([{"dropout": row.get("dropout", 0), "steps": row["steps"], "seed": row["seed"],
        "lessons": percent(row["lessons"]), "new texts": percent(row["exact"]),
        "F1 of new texts": percent(row["f1"])}
       for row in longer + hidden], caption="Spans to the word; 95 % over texts"
      ) if longer else "nothing kept"  # fmt: skip

# %% [markdown]
# After 800 steps they write 53% to 56% of the spans of their lessons, and 17% to 20% of new
# ones. After 3,200 steps it is 98% [97, 99] of the lessons, and 17% [15, 20] of the new: **that
# model has learned them by heart.** The one with dropout knows fewer lessons, 33% [29, 37], and
# more that is new, 26% [23, 29], with an F1 of 38% [35, 41]. This is one training; two more seeds
# stand in the profile `experiment` and were not run.
#
# And the heads of the one with dropout?

# %% The films' heads tags=["fold"]
exchanges = ", ".join(str(row["exchanged"]) for row in hidden)
table(by_seed(hidden), caption=f"95 % over texts; exchanges: {exchanges}") if hidden else "nothing"

# %% None of so few tags=["fold"]
for row in hidden:
    right = round(row["right"][0] * 2 * row["pairs"])
    if row["other without"][8][0] == 0:
        most = 100 * (1 - 0.025 ** (1 / right))
        print(f"seed {row['seed']}: 0 of {right} become the other span, 95 %: 0 to {most:.0f} %")

# %% [markdown]
# Without the three heads that look most at the span, 72% [62, 82] of its right answers stay right;
# without the three that look least, 88% [80, 95]. None of 76 becomes the other span: with 95%
# confidence that happens in no more than 5%. The head that looks most, with 23% [21, 24], brings
# 3% [0, 8] of the first words; one head of the *encoder* brings 58% [42, 74]. So in real
# sentences as well the lookers seem to fetch words that were chosen before; but that is one
# training and 38 exchanges. Whatever else this page says of heads, it says of the generated
# sentences.
#
# ## With marks of people, with a public model
#
# Two things are the reader's to bring, in the fold below *Every task a text*. ERASER's film reviews
# have marks of people, who were asked which words make a review good or bad. And a public T5 has
# read far more than ours. In the profile `gpu` it is `t5-small`, taught with the films' spans; this
# profile was not run here: no hub is within reach.

# %% A reader's marks tags=["fold"]
from deepdive.evaluate.answers import answer_f1, exact_match
from deepdive_book.studies.runs.spans import patch_effect


def judged(asked_model, asked_work):
    """Exact match and F1 on the test's rows that have an answer."""
    asked_rows = [row for row in asked_work.test if row.answer]
    texts = answers(asked_model, asked_rows, asked_work.tokenizer)
    both = [(exact_match(text, row.answer), answer_f1(text, row.answer))
            for text, row in zip(texts, asked_rows, strict=True)]  # fmt: skip
    return "exact match {}, F1 {}".format(*map(bootstrap, zip(*both, strict=True)))


marks = os.environ.get("DEEPDIVE_RATIONALES", RATIONALES)
if marks:
    own = patch_effect(rationales(marks, "train"), rationales(marks, "test"))
    teller = train_model(begun(own, seed=0), own, pick(ci=5, laptop=500, gpu=2000), seed=0)
    print(f"people's marks, {len(own.train):,} to learn from: {judged(teller, own)}")

# %% A public T5 tags=["fold"]
from pathlib import Path

from deepdive.published.weights import from_hub
from deepdive_book.studies.runs.span_results import attention_share
from deepdive_book.studies.runs.spans import films as films_work
from deepdive_book.studies.runs.spans import public

wanted = os.environ.get("DEEPDIVE_T5", T5_FOLDER) or pick(ci="", laptop="", gpu="t5-small")
if wanted:
    lessons = films_work() if profile() == "gpu" else work
    folder = Path(wanted) if Path(wanted).is_dir() else from_hub(wanted)
    larger, its = public(folder, lessons.train, lessons.test)
    larger.to("cuda" if torch.cuda.is_available() else "cpu")
    train_model(larger, its, pick(ci=2, laptop=50, gpu=1500), seed=0, rate=1e-3)
    print(f"{wanted}: {judged(larger, its)}")
    seen = attention_share(larger.cpu(), its)
    best = max(range(len(seen["span"])), key=lambda h: seen["span"][h][0])
    print(f"the head that looks most: {percent(seen['span'][best])}, without it "
          f"{percent(seen['right without'][best])} stay right")  # fmt: skip

# %% What it would take tags=["fold"]
from deepdive.models.generative import t5
from deepdive.training.translation import training_memory
from deepdive_book.kit.cost import CostCard

with torch.device("meta"):  # shapes alone: no memory, no numbers
    small = t5.t5(t5.BASE)
inside = sum(p.numel() for p in small.parameters()) - small.config.vocab_size * 512
plan = CostCard(flops=1500 * 2500 * 6 * (inside + 32_128 * 512 // 8))
memory = training_memory(small, 2500, small.config.vocab_size)
print(
    f"t5-small, 1,500 steps: {plan.flops:.1e} operations, "
    f"{plan.implied()['K80'] / 60:.0f} minutes on a K80, {memory / 2**30:.1f} GB"
)
assert plan.implied()["K80"] < 60 * 60
assert memory < 11 * 2**30

# %% Written, and what it cost tags=["fold"]
from deepdive_book.kit.results import results_file, update


def entry(name, triple):
    value, low, high = (round(float(x), 4) for x in triple)
    return {name: value, f"{name}_interval": [low, high]}


report = {"live": entry("exact_match", trained["exact"]) | entry("token_f1", trained["f1"])}
for row in trainings + films + hidden:
    way = "dropout" if row.get("dropout") else row["start"]
    report[f"{row['data']}_{way}_seed_{row['seed']}"] = (
        entry("exact_match", row["exact"]) | entry("token_f1", row["f1"])
        | entry("right_without_three_heads", row["right without"][8])
        | entry("other_span_without_them", row["other without"][8])
    )  # fmt: skip
part = {"profile": profile(), "data": ["movie_reviews", "rt_polarity", "two_sided"],
        "cores": os.cpu_count(), "seconds": round(card.seconds, 1),
        "peak_memory_mb": round(card.peak_memory / 2**20), "metrics": report}  # fmt: skip
print("written:", update(results_file("05_spans"), part, page="05_spans")["study"])
card

# %% [markdown]
# ## What the book's notebook does, and what differs
#
# | | book 5.5 | here |
# |---|---|---|
# | model | T5-base, taught on tweets whose spans people marked | 0.1 and 0.3 million weights |
# | question | `question: negative context: ...` | the same form |
# | texts | sentences with one sentiment, and with two | as many as a test needs, of both kinds |
# | heads | encoder, decoder, cross-attention, looked at | looked at, switched off, exchanged |
# | cross-attention | the decoder reads the question | both, side by side |
# | claims | from pictures of single sentences | means over texts with intervals, three seeds |
#
# ## Common mistake
#
# To take what a head looks at for what the model knows. The check costs one line each: take the
# head away, and see what is written; put in the same head's output from a run with another
# question, and see whether the answer follows.
#
# ```python
# with ablate(model, "decoder.stack.blocks.1.cross.heads", [1]):
#     answers(model, rows, tokenizer)
# ```
#
# ## In practice
#
# | you want | do |
# |---|---|
# | to see how an answer came about | give the decoder the answer, and not the question |
# | to know whether a head matters | switch it off on many texts, then others with it |
# | to know what it carries | exchange it between two runs that differ in one token |
# | a number for "looks at" | say what chance is: a long span collects weight by being long |
#
# ## Summary
#
# Asked for what is negative or positive, a small T5 writes the span, and some of its heads look at
# the span's words while it does. Without the three that look most, words go wrong, but hardly ever
# is it the other question's span that is written; and put in from a run with the other question,
# the one that looks most turns 7% of the first words at most. So a head that looks at the span has
# not found it alone: in the encoder most of the choice had left the question's word, for another
# place in each of three trainings, and the look is one vote among many.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A span has 3 of the 20 tokens that are read, and a head gives it 15% of its weight. What do you
#    conclude?
#
#    <details><summary>Answer</summary>
#
#    Nothing: chance is 3 of 20, the same 15%.
#
#    </details>
# 2. Why is the share measured while the *right* answer is written, and not the model's own?
#
#    <details><summary>Answer</summary>
#
#    So that it can be compared between heads and seeds: the tokens are the same for all. It says
#    where a head looks in good company; what follows from it is measured by taking it away.
#
#    </details>
# 3. Without a head 97% of the answers stay right. Does it do nothing?
#
#    <details><summary>Answer</summary>
#
#    It is not needed while the others are there. Two heads that do the same can each be missed, and
#    not both.
#
#    </details>
# 4. Why must the two questions have as many tokens as each other?
#
#    <details><summary>Answer</summary>
#
#    A part of one run is put into the other at the same place. Were a text one token longer, all
#    words behind it would stand elsewhere.
#
#    </details>
# 5. The rule marks *too honest* as negative. Is a model wrong that answers so?
#
#    <details><summary>Answer</summary>
#
#    By the score it is right: the score asks for the rule. By a reader's eyes it is wrong, and no
#    number on this page would show it.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* The numbers of six words are 2, -1, 3, -4, 5, 0 and each word costs 1.
#    Which run has the largest sum?
#
#    <details><summary>Answer</summary>
#
#    Less the cost they are 1, -2, 2, -5, 4, -1. The fifth word alone, with 4.
#
#    </details>
# 2. *(measure, 10 min)* In the first picture find the fewest heads without which the answer to one
#    question goes wrong. Is the wrong answer the other span?
#
#    <details><summary>Answer</summary>
#
#    It differs by sentence. Compare with the second table: an answer that goes wrong is seldom the
#    other question's.
#
#    </details>
# 3. *(code, 20 min)* `Exchange.together` puts in several heads at once. For each pair of heads
#    count how often the first word turns, and compare with the sum of the two alone. Which pairs
#    bring more than the sum?
#
#    <details><summary>Answer</summary>
#
#    A loop over 28 pairs. A first word turns only where the scores change places, so two pushes in
#    one direction can do together what neither does alone: expect many such pairs.
#
#    </details>

# %% The first exercise, checked tags=["nbval-check-output", "fold"]
assert max_sum_span([2, -1, 3, -4, 5, 0], cost=1, least=1) == range(4, 5)
print("the fifth word")

# %% [markdown]
# ## Further reading
#
# - Raffel et al. (2020), *Exploring the Limits of Transfer Learning with a Unified Text-to-Text
#   Transformer*.
# - Rajpurkar et al. (2016), *SQuAD*: section 6.1 defines exact match and F1.
# - Pang and Lee (2005), *Seeing Stars*: the sentences about films.
# - DeYoung et al. (2020), *ERASER*: marks of people, in one form.
# - Michel, Levy, Neubig (2019), *Are Sixteen Heads Really Better than One?*: heads that can be
#   missed.
# - Jain and Wallace (2019), *Attention is not Explanation*.
# - Wiegreffe and Pinter (2019), *Attention is not not Explanation*.
# - Heimersheim and Nanda (2024), *How to use and interpret activation patching*.
#
# <!--
# System: cs_t5
# Parent: t5
# What differs:
# - a question and a text are read as one, and words of the text are written
#   (`deepdive_book.studies.runs.span_qa_format`); spans are marked by a rule or generated
#   (`deepdive_book.data.spans`), where the original had people's
# - each head is asked where it looks, what is written without it, and what it brings along from a
#   run with the other question (`deepdive_book.studies.runs.span_heads`)
# - cross-attention is drawn with the answer as what the decoder reads, and as in the original with
#   the question (`attention_explorer`)
# Source: Kamath, Graham and Emara 2022, section 5.5.
# Book: 5.5
# -->

# %% [markdown] tags=["slide"]
# # mBERT, XLM, XLM-R: must the model be given the language?
#
# A front desk gets slips with appointments, in English, Spanish, Swedish, Turkish and Catalan. The
# English slips are written by Americans. One slip says *April 3*, one *3 de abril*, one *4/3*. The
# last is April 3 if an American wrote it, and 4 March in the other languages. One clerk sorts them
# all by month. Must the clerk be told which language each slip is in?
#
# <small>Prerequisites: [BERT](../03_bert/02_architecture.ipynb),
# [one network, many languages](../02_transformer/17_gnmt.ipynb) · 15 min · runs on a laptop</small>

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
# %% Write the slips tags=["fold"]
import datetime
import random
import re

import torch
from babel.dates import format_skeleton

LANGUAGES = {"English": "en", "Spanish": "es", "Swedish": "sv", "Turkish": "tr", "Catalan": "ca"}
FORMS = {"in digits": "Md", "in words": "MMMMd"}
SHORT = list(LANGUAGES.values())
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(366)]


def text(language, form, day):
    """How people of a language write this day, as the Unicode consortium keeps it (CLDR)."""
    return format_skeleton(FORMS[form], day, locale=language)


def pieces(slip):
    return re.findall(r"\w+|[^\w\s]", text(*slip).lower())


# %% Every slip, in pieces tags=["fold"]
every = [(language, form, day) for language in SHORT for form in FORMS for day in DAYS]
vocabulary = {"[PAD]": 0, "[CLS]": 1, **{f"<{each}>": 2 + i for i, each in enumerate(SHORT)}}
for slip in every:
    for piece in pieces(slip):
        vocabulary.setdefault(piece, len(vocabulary))

# %% Keep some days apart tags=["fold"]
# 3 April and 4 March go together, since 4/3 is both. Swedish digits are never learned from.
both_ways = sorted({tuple(sorted((day.month, day.day))) for day in DAYS})
kept_apart = set(random.Random(0).sample(both_ways, len(both_ways) // 5))
kept_apart |= {(3, 4), (5, 10), (7, 9), (12, 25)}  # those that the picture shows


def apart(slip):
    return tuple(sorted((slip[2].month, slip[2].day))) in kept_apart


def either_way(slip):
    """In digits, and both numbers could be the month."""
    return slip[1] == "in digits" and slip[2].day <= 12 and slip[2].day != slip[2].month


seen = [slip for slip in every if not apart(slip) and slip[:2] != ("sv", "in digits")]
new = [slip for slip in every if apart(slip)]


# %% Three readers, told in three ways tags=["fold"]
from deepdive.layers.heads import Classifier, initialize
from deepdive.models.multilingual import mbert, xlm

SIZES = {"d_model": 32, "n_heads": 4, "n_layers": 2, "d_ff": 128, "max_length": 12}
SIZES["vocab_size"] = len(vocabulary)


def build(way, seed):
    torch.manual_seed(seed)
    if way == "row":
        encoder = xlm.xlm(xlm.TINY, n_languages=len(SHORT), **SIZES)
    else:
        encoder = mbert.mbert(mbert.TINY, **SIZES)
    model = Classifier(encoder, SIZES["d_model"], 12)  # a month for each slip
    initialize(model, 0.1)
    return model


# %% What they are given tags=["fold"]
def inputs(slips, way, told=None):
    """What the model is given; `told` says another language than the slip's."""
    languages = [told or slip[0] for slip in slips]
    begin = [[1, vocabulary[f"<{each}>"]] if way == "token" else [1] for each in languages]
    rows = [b + [vocabulary[p] for p in pieces(s)] for b, s in zip(begin, slips, strict=True)]
    tokens = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
    for row, ids in zip(tokens, rows, strict=True):
        row[: len(ids)] = torch.tensor(ids)
    known = torch.tensor([SHORT.index(each) for each in languages])[:, None]
    return tokens, tokens != 0, known.expand(tokens.shape) if way == "row" else None


# %% Train them tags=["fold"]
from deepdive_book.kit.profile import banner, pick


def train(way, seed, steps=250):
    model, given = build(way, seed), inputs(seen, way)
    months = torch.tensor([slip[2].month - 1 for slip in seen])
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        some = torch.randint(len(seen), (128,), generator=draw)
        logits = model(*(None if x is None else x[some] for x in given))
        loss = torch.nn.functional.cross_entropy(logits, months[some])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


seeds = range(pick(ci=1, laptop=3, gpu=5))
readers = {way: [train(way, seed) for seed in seeds] for way in ("none", "token", "row")}
print(banner("dates from CLDR (generated)"))
print(f"{len(seen):,} slips, {len(vocabulary)} pieces, {len(seeds)} of each reader")

# %% Draw what they read tags=["fold"]
from deepdive_book.ch04.figures.language_id_demo import Slip, language_id_demo

days = [datetime.date(2024, *each) for each in ((4, 3), (5, 10), (7, 9), (12, 25))]
shown = [(language, form, day) for language in SHORT for form in FORMS for day in days]
with torch.no_grad():
    says = {way: some[0](*inputs(shown, way)).softmax(-1) for way, some in readers.items()}
slips = [Slip(text(*slip), pieces(slip), slip[2].month - 1) for slip in shown]
language_id_demo(LANGUAGES, list(FORMS), [f"{day:%-d %B}" for day in days], slips, says)

# %% [markdown]
# *A small BERT reads the slip, and has a share for each month. All four days are new to it. Told by
# a token, it reads one piece more; told by a row, a vector of the language is added to each piece.*
#
# Try three things:
#
# 1. An American wrote *4/3*. What is read? And of the Spanish slip of the same day? Then tell the
#    model the language, either way.
# 2. Choose *in words*, and go through the languages. Does the way of telling matter?
# 3. Back in digits, move to 25 December. Why does nobody have to tell it now?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. Not told, it reads *4/3* as March, which is wrong, and the Spanish *3/4* as April, which is
#    right. Told, either way, it reads both right.
# 2. No. Each slip in words is read right, told or not.
# 3. There is no month 25.
#
# </details>

# %% [markdown] tags=["slide"]
# ## Five slips, by hand
#
# A slip says *3/4*. Five people may have written it, one of each language:
#
# | written in | English | Spanish | Swedish | Turkish | Catalan |
# |---|---|---|---|---|---|
# | means | 4 March | 3 April | 3 April | 3 April | 3 April |
#
# The five slips look the same, so a clerk who is not told has one answer for all of them. The best
# is April: 4 of 5 are right, and the English one is wrong each time. To know that April is likely
# does not help, for the slip has to lie on one pile. A clerk who is told is right 5 times of 5.
#
# If the month is written as a word, no slip can mean two months, and both are right 5 times of 5.

# %% tags=["nbval-check-output"]
meant = {}
for slip in every:
    if slip[1] == "in digits" and text(*slip) == "3/4":
        meant.setdefault(f"{slip[2]:%B}", []).append(slip[0])
assert {month: len(hands) for month, hands in meant.items()} == {"March": 1, "April": 4}
meant

# %% [markdown] tags=["slide"]
# ## Three ways to tell
#
# At place $t$ the first layer gets the layer norm of a sum of rows of trained tables, as in BERT,
# whose table of segments is left out:
#
# $$x_t = E[\mathrm{piece}_t] + P[t] \;\; (+ \; L[\mathrm{language}_t])$$
#
# - **Not at all.** All languages share the table $E$. So are
#   [mBERT](https://github.com/google-research/bert/blob/master/multilingual.md), XLM-R and RemBERT
#   built.
# - **By a token.** One more piece, `<es>`, stands in front. The book's multilingual Transformer
#   (4.1.1), which translates, has one on both sides, and a row as well: it must be told which
#   language to *write*.
# - **By a row.** A third table $L$ has a row for each language, added to each piece. XLM does this,
#   and one text may hold two languages.

# %% Draw the three ways tags=["fold"]
from deepdive_book.kit.diagrams import ROLES, svg
from deepdive_book.kit.diagrams import text as words
from deepdive_book.kit.plotting import show


def box(x, y, said, role="score", high=30):
    """A box with its word; the colour of `weight` says that it tells the language."""
    rect = f'<rect x="{x}" y="{y}" width="54" height="{high}" rx="5" stroke="{ROLES[role]}" '
    fill = f'fill="{ROLES[role]}" fill-opacity="{0.5 if role == "weight" else 0}"/>'
    return rect + fill + words(x + 27, y + high / 2, said, 14)


slip, body = ["[CLS]", "3", "de", "abril"], []
for k, way in enumerate(("not told", "by a token", "by a row")):
    y, told = 8 + 44 * k, way == "by a token"
    body.append(words(6, y + 15, way, 14).replace("middle", "start", 1))
    for i, piece in enumerate([*slip[:1], *["<es>"] * told, *slip[1:]]):
        body.append(box(90 + 60 * i, y, piece, "weight" if told and i == 1 else "score"))
        body += [box(90 + 60 * i, y + 34, "+ es", "weight", 20)] * (way == "by a row")
show(svg(390, 156, body), "The slip 3 de abril in boxes, in three rows: alone; with a box for "
     "Spanish in front of its words; with Spanish added under each box.")  # fmt: skip

# %% [markdown]
# *One slip as it is read. Full colour: what tells the language.*
#
# In code the `if` adds the row:


# %%
def rows_of(embeddings, tokens, languages):
    rows = embeddings.tokens(tokens)
    if languages is not None:
        rows = rows + embeddings.languages(languages)
    return embeddings.norm(embeddings.position.embed(rows, torch.arange(tokens.shape[1])))


# %% Check the line tags=["fold"]
tokens, _, languages = inputs(new[:8], "row")
embeddings = readers["row"][0].encoder.embeddings
ours = embeddings(tokens, languages, torch.arange(tokens.shape[1]))
same = torch.allclose(rows_of(embeddings, tokens, languages), ours, atol=1e-6)
assert same
print("our rows equal the library's:", same)

# %% [markdown]
# ## What each reads on new days
#
# Three small BERTs, one for each way, learned to name the month of a slip, one of twelve: each from
# three seeds, on the same 2,628 slips. About one day in five was kept apart in every language, each
# with the day that its digits also name: 3 April with 4 March. And no Swedish slip in digits was
# seen at all.

# %% Measure what each reads tags=["fold"]
from deepdive_book.kit.tables import table


def read(model, way, slips, told=None):
    """The month that is read of each slip, from 1."""
    with torch.no_grad():
        return model(*inputs(slips, way, told)).argmax(-1) + 1


def right(model, way, slips, told=None):
    """The share of slips whose month is read."""
    months = torch.tensor([slip[2].month for slip in slips])
    return float((read(model, way, slips, told) == months).float().mean())


def takes_the_day(model, way, slips, told=None):
    """The share of slips of which the number of the day is read as the month."""
    days = torch.tensor([slip[2].day for slip in slips])
    return float((read(model, way, slips, told) == days).float().mean())


def spread(found):
    """A mean over seeds, and the lowest and highest of them."""
    mean, low, high = sum(found) / len(found), f"{min(found):.0%}", f"{max(found):.0%}"
    return low if low == high else f"{mean:.0%} ({low} to {high})"


# %% Measure each kind of slip tags=["fold"]
doubtful = [slip for slip in new if either_way(slip)]
KINDS = {
    "in words": [slip for slip in new if slip[1] == "in words"],
    "digits, day above 12": [s for s in new if s[1] == "in digits" and s[2].day > 12],
    "digits either way: English": [slip for slip in doubtful if slip[0] == "en"],
    "the same: Spanish, Turkish, Catalan": [s for s in doubtful if s[0] in ("es", "tr", "ca")],
    "the same: Swedish, never seen": [slip for slip in doubtful if slip[0] == "sv"],
}
NAMES = {"none": "not told", "token": "told by a token", "row": "told by a row"}
scores = {
    (way, kind): [right(model, way, slips) for model in readers[way]]
    for way in readers
    for kind, slips in KINDS.items()
}

# %% What each reads on new days tags=["slide", "fold"]
lines = [
    [kind, len(KINDS[kind]), *(spread(scores[way, kind]) for way in readers)] for kind in KINDS
]
english, others = list(KINDS)[2:4]
assert all(min(scores[way, kind]) > 0.99 for way in readers for kind in list(KINDS)[:2])
assert max(scores["none", english]) < 0.5 < min(scores["none", others])
assert all(min(scores[way, kind]) > 0.85 for way in ("token", "row") for kind in list(KINDS)[2:])
table(lines, ["months read right", "slips", *NAMES.values()],
      caption=f"mean (lowest to highest) of {len(seeds)} seeds")  # fmt: skip

# %% The reader that is not told, looked at closely tags=["fold"]
swapped = [takes_the_day(model, "none", KINDS[english]) for model in readers["none"]]
neither = [1 - a - b for a, b in zip(swapped, scores["none", english], strict=True)]
learned = [slip for slip in seen if either_way(slip) and slip[0] != "en"]
on_seen = [right(model, "none", learned) for model in readers["none"]]
plain = list(KINDS)[:2]
slips_read = sum(len(KINDS[kind]) for kind in plain)
least = min(sum(right(model, "none", KINDS[kind]) * len(KINDS[kind]) for kind in plain)
            for model in readers["none"])  # fmt: skip
print(f"""Not told, in words and with days above 12:
  {least:.0f} of {slips_read} slips right in the worst seed
Not told, English digits either way:
  the day read as month: {spread(swapped)}
  neither number read: {spread(neither)}
Not told, other languages, the pairs it saw:
  read right: {spread(on_seen)}""")

# %% [markdown] tags=["slide"]
# Where the text shows its language, or needs none, the three are equal. Where it does not, the
# reader that is not told reads for the majority: most English slips are read as if they were
# Spanish. (By hand the majority was read right each time. Here it is 79%, and 83% on pairs of
# numbers that were seen.) To this reader a Swedish slip in digits *is* the Spanish one, so both
# have one score. Those who are told read all slips, and Swedish digits too, though they never saw
# one. Swedish is not English, and its slips in words had the day first; which of the two serves is
# not parted here.
#
# ## Told the wrong language
#
# Telling seems to cost nothing. Now give the reader that is told by a row a Spanish slip in words,
# *3 de abril*, and tell it that this is **English**. In words it never needed to be told.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Which month does the reader find on `3 de abril`, when it is told English?",
    ["April: the word is there, and no other month has it", "no month more than the others",
     "March, the third month"],
    answer=2,
    explain="Told English, it takes the first number for the month, as on English slips in digits, "
    "and lets the word be outvoted. It does so on every slip whose day could be a month.",
    key="04_multilingual/wrong_language",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Slips that are told wrongly tags=["fold"]
foreign = [slip for slip in KINDS["in words"] if slip[0] != "en"]
early = [slip for slip in foreign if slip[2].day <= 12 and slip[2].day != slip[2].month]
SOUTH = {each: [slip for slip in foreign if slip[0] == each] for each in SHORT[1:]}


def among_others(model, way):
    """Told a wrong language, but one in which the day also comes first."""
    pairs = [(a, b) for a in SOUTH for b in SOUTH if a != b]
    return sum(right(model, way, SOUTH[a], b) for a, b in pairs) / len(pairs)


# %% Told that all are English tags=["surprise", "slide", "fold"]
wrong = {
    NAMES[way]: {
        "right, told English": [right(model, way, foreign, "en") for model in readers[way]],
        "the day read as the month": [
            takes_the_day(model, way, early, "en") for model in readers[way]
        ],
        "right, told a third": [among_others(model, way) for model in readers[way]],
    }
    for way in ("token", "row")
}
assert max(wrong[NAMES["row"]]["right, told English"]) < 0.25
assert min(wrong[NAMES["row"]]["the day read as the month"]) > 0.9
assert min(wrong[NAMES["token"]]["right, told English"]) > 0.25
assert all(min(each["right, told a third"]) > 0.95 for each in wrong.values())
head = list(wrong[NAMES["row"]])
lines = [[name, *(spread(each[kind]) for kind in head)] for name, each in wrong.items()]
by = (f"{len(foreign)} slips; the day as the month: of the {len(early)} whose day is at most 12 "
      "and not the month's number; told a third: neither its own language nor English; mean "
      f"(lowest to highest) of {len(seeds)} seeds; a guess is right 8% of the time")  # fmt: skip
table(lines, ["slips in words, not English", *head], caption=by)

# %% Swedish words that are English ones too tags=["surprise", "fold"]
english_words = {p for s in seen if s[:2] == ("en", "in words") for p in pieces(s)}
shared = [slip for slip in early if set(pieces(slip)) <= english_words]
fooled = [round(takes_the_day(model, "row", shared, "en") * len(shared))
          for model in readers["row"]]  # fmt: skip
assert {slip[0] for slip in shared} == {"sv"}
print(f"of the {len(early)}, in pieces that English has too:")
for k in range(0, len(shared), 3):
    print("  " + ", ".join(text(*slip) for slip in shared[k : k + 3]))
print("their day read as the month, told by a row:")
print("  " + ", ".join(f"{n} of {len(shared)}" for n in fooled), "(one number a seed)")

# %% [markdown] tags=["slide"]
# Told by a row, the reader believes what it is told, and not what stands there. Told a third
# language, in which the day comes first too, it loses nothing. So the row for English seems to mean
# what training used it for: not a name, but *the month comes first*.
#
# That *abril* never met the English row in training need not be the cause: the six Swedish slips
# are made of English words, and are misread too. But no slip with this row had its word *after* the
# number. That is not tested, nor why the token is believed less, in each seed.
#
# People do mix languages in one text. XLM-R's authors leave XLM's rows out so that the model deals
# better with such code-switching (their section 3), and do not measure this choice alone.

# %% [markdown]
# ## Four encoders side by side
#
# Told or not, one shared table holds the pieces of all languages, and so it is large. By hand:
# XLM-R's base model has 250,002 pieces and rows of 768 numbers,
# $250{,}002 \cdot 768 = 192{,}001{,}536$. The whole encoder has 277 million numbers, so about two
# of three lie in the table.

# %% Count their numbers tags=["fold"]
from deepdive.models.multilingual import rembert, xlmr

with torch.device("meta"):  # sizes alone: no memory is used
    built = {
        "mBERT": (104, "nothing", mbert.mbert()),
        "XLM (xnli15)": (15, "a row", xlm.xlm()),
        "XLM-R base": (100, "nothing", xlmr.xlmr()),
        "RemBERT": (110, "nothing", rembert.rembert()),
    }
assert 250_002 * 768 == 192_001_536
wide = built["RemBERT"][2].config
print(f"RemBERT: {wide.n_layers} layers; a piece is read by")
print(f"{wide.d_embedding} numbers, scored by {wide.d_output:,}")
rows = []
for name, (languages, told, model) in built.items():
    whole = sum(p.numel() for p in model.parameters())
    tables = sum(p.numel() for p in model.embeddings.tokens.parameters())
    pieces_of = model.config.vocab_size
    rows.append([name, tables / whole, whole / 1e6, told, languages, pieces_of])
table(rows, ["encoder", "in the table", "million numbers", "told by", "languages", "pieces"],
      formats={"in the table": ".0%", "million numbers": ".0f"})  # fmt: skip

# %% [markdown]
# In BERT the rows of one table stand for the pieces that are read, and score those that might fill
# a gap. **RemBERT** has a table for each job. The one that reads is 256 wide, and holds a ninth of
# the encoder's numbers. The one that scores is 1,664 wide, and is thrown away after pre-training.
#
# **So must the clerk be told which language each slip is in?** Not where the slip says it: in
# words, and with days above 12, the reader that is told nothing read all 610 slips. Yes where it
# does not: of the digits that can be read either way, this reader took most English ones for what
# the majority means, and those that were told took none. But a reader may believe it too well: told
# English by a row, it took the 3 of *3 de abril* for March. Three of the four encoders above are
# told nothing.

# %% [markdown] tags=["aside"]
# ## A writer is told on both sides
#
# The multilingual Transformer reads a text that begins with the token of its language. The first
# token of what it writes is the token of the language wanted, which therefore can be chosen.

# %% A model that writes
import textwrap

from deepdive.decoding import greedy
from deepdive.models.multilingual import multilingual_transformer as many

torch.manual_seed(0)
writer = many.tiny(vocab_size=32, n_languages=3).eval()  # tokens 4, 5 and 6 are languages
source = torch.tensor([[4, 9, 17, 12]])
for language in (5, 6):
    asked = torch.tensor([[language]])
    print(language, greedy(writer, source, prompt=asked, eos=None, max_length=5)[0])
try:
    writer(source[:, 1:], source)
except ValueError as error:
    print(textwrap.fill(str(error), 46))

# %% [markdown]
# It is not trained, so what it writes means nothing; that it depends on the first token is what the
# cell shows.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# | system | parent | what differs |
# |---|---|---|
# | multilingual Transformer | Transformer | a token and a row for each language, on both sides |
# | mBERT | BERT | one vocabulary for 104 languages |
# | XLM | multilingual Transformer | the encoder alone; rows; positions that begin again |
# | XLM-R | RoBERTa | one vocabulary for 100 languages, no rows |
# | RemBERT | mBERT | two matrices of words, narrow and wide |
#
# Large languages are read less often than their share of the text, small ones more often: how much
# so, [the next page](02_vocabulary.ipynb) measures.

# %%
from deepdive_book.site.atlas import compare

compare("xlm")

# %% [markdown]
# *Grey is as it was, lit is new, dashed is gone.* Of the multilingual Transformer XLM keeps the
# encoder and the rows of languages. The rest of it is BERT's.

# %% [markdown] tags=["aside"]
# ## In practice
#
# - Look into `config.json` before you use an XLM: with `use_lang_emb` its `languages` must be
#   given; the models for 17 and 100 languages have none, and refuse them here.
# - If a text does not say its language and the answer depends on it, tell the model. A country in
#   the record next to the text is often known.
# - Test a model that is told on texts with the wrong language, and on texts of two languages.
# - Compare models by the numbers that run for each token, not by all: a table costs memory, and
#   nearly no time.

# %% [markdown] tags=["aside"]
# ## Common mistake: the language is left out
#
# An XLM that was trained with rows runs without them. Nothing complains:

# %% Leave the language out
untold = [right(model, "none", KINDS["in words"]) for model in readers["row"]]
told_right = scores["row", "in words"]
assert max(untold) <= min(told_right)
print(f"words read right, with the row: {spread(told_right)}")
print(f"without it: {spread(untold)}")

# %% [markdown]
# **Symptom:** a score below the published one, and no error. **Remedy:** give `languages` wherever
# the model has rows, or train with the row left out now and then (exercise 3).

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Three of four seen slips in digits have the day first. Why is the reader that is not told wrong
#    on most English ones, and not on a quarter of all?
#
#    <details><summary>Answer</summary>
#
#    It may know the shares well; but the likeliest month is the same for all slips that look the
#    same, and it is the majority's.
#
#    </details>
# 2. Swedish digits were never seen. Why are they read?
#
#    <details><summary>Answer</summary>
#
#    They look like Spanish ones, and what Swedish was told by in training stood before slips in
#    words with the day first, never before the English order. Either may serve; the page does not
#    part the two.
#
#    </details>
# 3. Why must a model that translates be told, when an encoder need not be?
#
#    <details><summary>Answer</summary>
#
#    Its source says which language is read, but not which one is wanted.
#
#    </details>
# 4. In XLM the language belongs to each token, in a multilingual Transformer to each text. What can
#    only the first do?
#
#    <details><summary>Answer</summary>
#
#    Read one row that holds two languages, as a sentence and its translation in TLM.
#
#    </details>
# 5. RemBERT has more numbers than XLM-R base, and a smaller table. Where are they?
#
#    <details><summary>Answer</summary>
#
#    In its layers: 32 of them, 1,152 wide. They run for each token; a table is only looked up.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 3 min)* Of ten slips that say *5/6*, six are English and four Spanish. How many
#    does the best clerk read who is not told, and of which language?
#
#    <details><summary>Answer</summary>
#
#    May, for all ten: 6 of 10, all of them English. The majority is what counts, not the language.
#
#    </details>
# 2. *(on paper, 5 min)* RemBERT's layers are 1,152 wide, its matrix that reads 256, with a
#    projection between. How many numbers are saved against a matrix as wide as the layers?
#
#    <details><summary>Answer</summary>
#
#    $250{,}300 \cdot (1152 - 256) = 224{,}268{,}800$, less the $256 \cdot 1152$ weights and 1,152
#    biases of the projection: 223,972,736.
#
#    </details>
# 3. *(code, 15 min)* Train the reader that is told by a row so that the row is left out for one
#    batch in five. Does it read words without being told? Does it still believe a wrong language?
#
#    <details><summary>Answer</summary>
#
#    In `train` pass `None` for the languages when `torch.rand((), generator=draw) < 0.2`. It reads
#    the words without the row. Told English, it still reads fewer than half of the others' slips
#    right, in the one seed that is run below: it was never told anything wrong.
#
#    </details>

# %% The answers, checked tags=["fold"]
assert 250_300 * (1152 - 256) == 224_268_800
assert 224_268_800 - 256 * 1152 - 1152 == 223_972_736


def sometimes_told(seed, steps=250):
    model, (tokens, mask, languages) = build("row", seed), inputs(seen, "row")
    months = torch.tensor([slip[2].month - 1 for slip in seen])
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    draw = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        some = torch.randint(len(seen), (128,), generator=draw)
        told = None if torch.rand((), generator=draw) < 0.2 else languages[some]
        logits = model(tokens[some], mask[some], told)
        loss = torch.nn.functional.cross_entropy(logits, months[some])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


model = sometimes_told(0)
assert right(model, "none", KINDS["in words"]) > 0.95
assert right(model, "row", foreign, "en") < 0.5
print("the three answers hold")

# %% [markdown]
# ## Summary
#
# One model can read many languages with a shared vocabulary and nothing else, where the text says
# which language it is in. A token or a row for the language helps where the text does not, and is
# believed where it is wrong, here a row more than a token. How languages share one vocabulary,
# [the next page](02_vocabulary.ipynb) measures.
#
# ## Further reading
#
# - Conneau and Lample (2019), [*Cross-lingual Language Model
#   Pretraining*](https://arxiv.org/abs/1901.07291): section 3, and figure 1 for the rows.
# - Conneau et al. (2020), [*Unsupervised Cross-lingual Representation Learning at
#   Scale*](https://arxiv.org/abs/1911.02116): section 3, for no rows.
# - Chung et al. (2021), [*Rethinking Embedding Coupling in Pre-trained Language
#   Models*](https://arxiv.org/abs/2010.12821): RemBERT.
# - Devlin et al. (2019), [*BERT*](https://arxiv.org/abs/1810.04805); of mBERT there is [the
#   released code](https://github.com/google-research/bert/blob/master/multilingual.md) alone.
#
# <small>Book 4.1.1, 4.1.2.1 to 4.1.2.3 · Straka: mBERT · the blog: XLM, RemBERT</small>

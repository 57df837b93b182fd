# %% [markdown] tags=["slide"]
# # Self-supervised speech pretraining: what is untranscribed audio worth?
#
# A clinic has hours of recorded dictation and has had five minutes of it typed. A recognizer could
# first listen to all of it, without a letter, and then learn to write from the five minutes.
# wav2vec 2.0 and HuBERT were built for this, with 960 hours of sound and more. Here are 38 minutes
# of people who spell names and say numbers, and the same question in small: does listening first
# save typing?
#
# <small>Prerequisites: [forty-two minutes of speech](06_speech.ipynb) · 12 min · about 4 minutes to
# run on one core; results of the long runs are included · book 6.3 and 6.8</small>

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
# %% What was said, and by whom tags=["fold"]
from deepdive.data.speech import an4
from deepdive.tokenizers import CharTokenizer
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.profile import banner, pick, profile
from deepdive_book.tasks.speech import cepstra_of

if profile() == "ci":
    every = cepstra_of(voices(40, seed=0, length=(3, 5)))
    train, valid = every.held_out(sorted({*every.speakers})[:1])
    test = cepstra_of(voices(12, seed=1, length=(3, 5)))
else:
    every, test = an4("train"), an4("test")
    train, valid = every.held_out(sorted({*every.speakers})[4::9])
letters = CharTokenizer.train(every.words)
print(banner(every.source))

# %% Who is in which part tags=["fold"]
from deepdive_book.kit.tables import table

PARTS = {"sound to listen to, from 5 minutes of it typed to all": train,
         "other people, to choose by": valid, "still others: the test": test}  # fmt: skip
table([
    {"part": name, "minutes": sum(map(len, some.features)) / 6000, "people": len({*some.speakers}),
     "utterances": len(some)}
    for name, some in PARTS.items()
], formats={"minutes": ".1f"}, caption="No voice is in two parts.")  # fmt: skip

# %% [markdown]
# ## What can be learned from sound alone
#
# Cover half a second of a recording and ask: which sound was there? Nobody needs to have typed
# anything. wav2vec 2.0 answers with a **code** that it makes for itself
# ([page 6c.3](../chapters/06c_speech/03_wav2vec2.ipynb)), HuBERT with the number of a **unit**: the
# moments of all recordings are sorted into 128 groups that sound alike, and each group has a number
# ([page 6c.4](../chapters/06c_speech/04_hubert.ipynb)). The encoders are built alike; afterwards
# each gets a layer of letters and learns from what was typed (CTC,
# [page 6c.2](../chapters/06c_speech/02_ctc.ipynb)).
#
# So there are four ways to spend the same people's sound:
#
# | | before any letter | then |
# |---|---|---|
# | letters only | nothing | the typed minutes |
# | codes first (wav2vec 2.0) | finds codes in all 38 minutes | the typed minutes |
# | units first (HuBERT) | says units in all 38 minutes | the typed minutes |
# | letters for longer | nothing | the typed minutes, with as many more steps as listening cost |
#
# The last line is the one that is easily forgotten. Who listens first computes more. If as much
# more computing on the typed minutes does the same, then it was the computing that helped. A
# training has 1,300 steps with five typed minutes and 2,000 with all; listening has 1,000 before.
# Four times in each training its errors on other people are counted, and the best weights stay.
# What those people said was typed as well, for all four alike. In the long runs two more stand
# beside them: a decoder, as Speech2Text's, which learns from the typed minutes alone; and, at five
# minutes, *units first, gently*. Published recognizers are taught letters with care for what they
# have heard: the new layer alone at first, then everything at a low rate. Ours has its new layer
# alone for 200 of the 1,300 steps and then half the rate.

# %% Listen first tags=["fold"]
import numpy as np
import torch

from deepdive.models.speech import small_asr_models
from deepdive.models.speech.hubert import HubertForPreTraining
from deepdive.models.speech.wav2vec2_pretraining import Wav2Vec2ForPreTraining
from deepdive.training import Update, Validation, fit
from deepdive.training.optim import adam, cosine
from deepdive_book.kit.experiments import checkpoints, results_path, share, sweep
from deepdive_book.kit.flops import count_flops
from deepdive_book.tasks import speech_pretraining
from deepdive_book.tasks.speech import SpeechBatches, Voices, ctc

SMALL = small_asr_models.LISTENER.but(widths=(128, 96), d_model=96, n_layers=4, d_ff=384)
LISTENING, FRAMES = 1000, 6000  # steps of listening; frames in a batch
LOSSES = {}  # of the last listening to each lesson, step by step


# %% Some minutes, and a lesson tags=["fold"]
def labeled(minutes, seed):
    """So many minutes of the training, whole utterances drawn by lot."""
    order, frames, some = np.random.default_rng([seed, 1]).permutation(len(train)), 0, []
    for i in order:
        if frames >= 6000 * minutes:
            break
        some.append(int(i))
        frames += len(train.features[i])
    return train.only(some)


def lessons(lesson, steps):
    """What learns a lesson without letters: encoder -> model, and its loss."""
    if lesson == "codes":
        return Wav2Vec2ForPreTraining, speech_pretraining.code_loss(steps)
    units = speech_pretraining.cepstral_units(train)
    return (lambda encoder: HubertForPreTraining(encoder, len(units.centers)),
            speech_pretraining.unit_loss(units))  # fmt: skip


# %% Listen, and learn letters tags=["fold"]
def listened(lesson, seed, steps):
    """An encoder that has learned `lesson` from all sound of the training, no letter of it."""
    torch.manual_seed(seed)
    encoder = small_asr_models.ctc_encoder(SMALL)
    if lesson == "nothing":
        return encoder
    make, loss = lessons(lesson, steps)
    model = make(encoder)
    LOSSES[lesson] = fit(
        model, SpeechBatches(train, letters, FRAMES, change=Voices(masks=0), seed=seed), loss,
        steps=steps, seed=seed, update=Update(clip=5.0),
        optimizer=adam(model, lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01),
        schedule=cosine(1e-3, warmup=steps // 10 + 1, total=steps),
        folder=checkpoints("speech", "listened", of=(lesson, seed)),
    ).losses  # fmt: skip
    return encoder


# %% Learn letters tags=["fold"]
from deepdive.evaluate.transcripts import character_error_rate, word_error_rate
from deepdive_book.tasks import seq2seq_asr
from deepdive_book.tasks.speech import scores, spelled
from deepdive_book.tasks.transcripts import written


def transcripts(model, utterances):
    """What a recogniser says of each utterance."""
    if isinstance(model, seq2seq_asr.Seq2SeqASR):
        return written(model, utterances, letters)
    return spelled(scores(model, utterances), letters)


# %% Train, and keep the best weights tags=["fold"]
def learned(model, utterances, steps, seed, rate=2e-3, alone=0):
    """Train on utterances; the weights that do best on the voices held out stay in the model. In
    the first `alone` steps the layer of letters learns, and the encoder stays as it is.
    """

    def errors(model):
        return word_error_rate(valid.words, transcripts(model, valid))

    loss = seq2seq_asr.loss() if isinstance(model, seq2seq_asr.Seq2SeqASR) else ctc
    for part, n, top in ((model.out, alone, 2e-3), (model, steps - alone, rate)):
        if not n:
            continue
        model.requires_grad_(part is model)
        part.requires_grad_(True)
        fit(
            model, SpeechBatches(utterances, letters, FRAMES, change=Voices(), seed=seed), loss,
            steps=n, seed=seed, update=Update(clip=5.0),
            optimizer=adam(part, lr=top, betas=(0.9, 0.98), weight_decay=0.01),
            schedule=cosine(top, warmup=min(200, n // 5 + 1), total=n),
            validate=Validation(errors, every=max(1, n // 4)),
        )  # fmt: skip
    return model


# %% What listening costs, and one row tags=["fold"]
def more_steps(lesson, n):
    """As many steps of learning letters as n steps of listening cost in operations."""
    batch = next(iter(SpeechBatches(train, letters, FRAMES, change=Voices())))
    encoder = small_asr_models.ctc_encoder(SMALL)
    make, loss = lessons(lesson, n)
    listens, spells = make(encoder), small_asr_models.ctc_model(len(letters), encoder)
    first = count_flops(lambda: loss(listens, batch).backward())
    return round(n * first / count_flops(lambda: ctc(spells, batch).backward()))


def few(minutes=5, lesson="nothing", more=False, seed=0, share=1.0, weights=None, rate=None):
    """One row: learn letters from so many minutes, after a lesson, or for as much longer. `weights`
    draws other first weights than the seed, which draws the minutes too; with a `rate`, letters are
    learned at that, their layer alone for 200 steps before.
    """
    steps, before = round(share * (1200 + 20 * minutes)), round(share * LISTENING)
    lesson_before = "nothing" if more or lesson == "decoder" else lesson
    encoder = listened(lesson_before, seed if weights is None else weights, before)
    steps += more_steps(lesson, before) if more else 0
    model = (small_asr_models.seq2seq_model(len(letters), encoder, SMALL.d_model)
             if lesson == "decoder"
             else small_asr_models.ctc_model(len(letters), encoder))  # fmt: skip
    settings = {} if rate is None else {"rate": rate, "alone": round(200 * share)}
    learned(model, labeled(minutes, seed), steps, seed, **settings)
    held = character_error_rate(valid.words, transcripts(model, valid))
    return {"steps": steps, "held_out": round(held, 4), "said": transcripts(model, test)}


# %% The ways, and how often tags=["fold"]
GENTLY = 1e-3  # the rate of letters after listening, in one of the ways
ALONE, CODES, LONGER = ("nothing", False, None), ("codes", False, None), ("codes", True, None)
UNITS, DECODER = ("units", False, None), ("decoder", False, None)
GENTLE = ("units", False, GENTLY)
ENDS, CURVE, MANY = (ALONE, CODES, LONGER, UNITS), (ALONE, UNITS), (ALONE, LONGER, UNITS, GENTLE)
PLAN = [(5, ENDS, 3), (5, MANY, 8), (10, CURVE, 3), (20, CURVE, 3), (40, ENDS, 3),
        (5, (DECODER,), 1), (40, (DECODER,), 1)]  # fmt: skip


# %% The long runs tags=["fold"]
def point(minutes, way, seed, **other):
    """One training as a point of the sweep."""
    lesson, more, rate = way
    found = {"minutes": minutes, "lesson": lesson, "more": more, "seed": seed, "share": share()}
    return {**found, **({"rate": rate} if rate else {}), **other}


points = [
    point(minutes, way, seed) for minutes, ways, n in PLAN for way in ways for seed in range(n)
]
points += [point(5, way, 0, weights=w) for way in CURVE for w in (1, 2, 3)]  # begun anew
file = results_path("06c_speech", "an4_listening")
if profile() == "experiment":
    sweep(few, points, file, data="an4_mfcc", minutes=5000)

# %% [markdown]
# ## Two recognizers, five typed minutes
#
# Here are two, trained now. Both get the same five minutes with their text and the same number of
# steps to learn letters. The second has listened before, 500 steps, so that it has computed twice
# as much.

# %% Train both tags=["fold"]
steps = pick(ci=12, laptop=500, gpu=500)
typed = labeled(pick(ci=0.5, laptop=5, gpu=5), seed=0)
wrote, own = {}, {}
for name, lesson in (("letters only", "nothing"), ("units first", "units")):
    encoder = listened(lesson, 0, pick(ci=6, laptop=500, gpu=500))
    now = learned(small_asr_models.ctc_model(len(letters), encoder), typed, steps, seed=0)
    wrote[name], own[name] = transcripts(now, test), transcripts(now, typed)
table([
    {"training": name, "typed minutes": character_error_rate(typed.words, own[name]),
     "test": character_error_rate(test.words, said),
     "test, words": word_error_rate(test.words, said)}
    for name, said in wrote.items()
], formats=dict.fromkeys(("typed minutes", "test", "test, words"), ".1%"),
    caption=f"Characters wrong, and words; {len(typed)} typed utterances, one training of each.",
)  # fmt: skip

# %% What the second heard tags=["fold"]
first, last = (np.exp(-np.mean(some)) for some in (LOSSES["units"][:20], LOSSES["units"][-20:]))
print(f"the right unit: {first:.1%} before, {last:.1%} after")

# %% What they wrote tags=["fold"]
some_read = sorted(range(len(test)), key=lambda i: len(test.words[i]))[len(test) // 3 :: 9][:6]
table([{"said": test.words[i], **{name: said[i] or "(nothing)" for name, said in wrote.items()}}
       for i in some_read])  # fmt: skip

# %% [markdown]
# From sound alone the second has learned a little: to the right unit it now gives 1.2%, where a
# blind guess is one in 128. And yet it is far ahead. After so few steps the first has 41.7% of the
# characters wrong even in its own five minutes, the second 12.6%; in the test 61.3% and 42.0%.
# But this is one pair.

# %% tags=["fold", "nbval-check-output"]
from deepdive_book.kit.predictions import predict as ask

ask(
    "In the long runs this pair is trained eight times, each time with five minutes drawn anew and "
    "other first weights, and more than twice as long. In how many of the eight has the one that "
    "listened first fewer characters wrong?",
    ["in all eight: it has heard nearly eight times as much sound", "in six or seven",
     "in three to five: as a coin falls", "in none or few: it forgot what it had heard"],
    answer=2,
    explain="In three. From one training to another letters only moves by up to twenty-nine "
    "points, and units first by up to twenty-five. The pair that you saw happened to begin with "
    "the first weights that suit letters only worst.",
    key="06_speech_listening/eight-pairs",
)  # fmt: skip

# %% Read the kept runs tags=["fold"]
import json

from deepdive.evaluate.transcripts import align_all, rate_interval

there = file is not None and file.is_file() and profile() != "ci"
rows = json.loads(file.read_text())["rows"] if there else []
NAMES = {ALONE: "letters only", LONGER: "letters for longer", UNITS: "units first (HuBERT)",
         GENTLE: "units first, gently", CODES: "codes first (wav2vec 2.0)",
         DECODER: "a decoder (Speech2Text)"}  # fmt: skip
MINUTES = {5: "5", 10: "10", 20: "20", 40: "all 38"}


def runs(minutes, way):
    """What the recognisers of so many minutes and this way wrote of the test, by their seed."""
    some = {
        row["seed"]: row["said"]
        for row in rows
        if "weights" not in row
        and (row["minutes"], row["lesson"], row["more"], row.get("rate")) == (minutes, *way)
    }
    return dict(sorted(some.items()))


# %% Count its errors tags=["fold"]
def counted(minutes, way):
    """Alignments of all seeds' runs, one after the other."""
    return [one for said in runs(minutes, way).values()
            for one in align_all(test.words, said, letters=True)]  # fmt: skip


def rate(minutes, way, less=None):
    """Characters wrong with its interval by speaker, or how many more than in way `less`."""
    found = counted(minutes, way)
    if not found:
        return None
    other = None if less is None else counted(minutes, less)
    who = test.speakers * (len(found) // len(test))
    return rate_interval(found, who, less=other)


# %% Each training by itself tags=["fold"]
NONE = [{"training": "no kept runs in this profile"}]


def rates(minutes, way):
    """Characters wrong in each training."""
    return [character_error_rate(test.words, said) for said in runs(minutes, way).values()]


def more_wrong(way, of, minutes=5):
    """How many more characters are wrong than in way `of`, which had the same minutes: the mean
    over trainings, with its interval.
    """
    one, two = (dict(zip(runs(minutes, each), rates(minutes, each), strict=True))
                for each in (way, of))  # fmt: skip
    return bootstrap([one[seed] - two[seed] for seed in one if seed in two])


def each_run(minutes, ways):
    """A table of the errors of each training, and their mean."""
    lines = [{"training": NAMES[way], **{f"{i + 1}": x for i, x in enumerate(rates(minutes, way))},
              "mean": np.mean(rates(minutes, way))} for way in ways if rows]  # fmt: skip
    return table(lines or NONE, formats=dict.fromkeys([*lines[0]][1:], ".1%") if rows else {},
                 caption=f"{MINUTES[minutes]} typed minutes: characters wrong in each training.",
    )  # fmt: skip


# %% Five minutes tags=["fold"]
from matplotlib.figure import Figure

from deepdive.evaluate.confidence_intervals import bootstrap
from deepdive_book.kit.plotting import with_alt

begun = {way: [character_error_rate(test.words, row["said"]) for row in rows
               if "weights" in row and row["lesson"] == way[0]] for way in CURVE}  # fmt: skip
figure = Figure(figsize=(5.2, 2.4))
axes = figure.subplots()
for line, way in enumerate(NAMES):
    found = [100 * x for x in rates(5, way)]
    axes.plot(found, [line] * len(found), "o", color="C0", alpha=0.7)
    axes.plot([100 * x for x in begun.get(way, ())], [line + 0.3] * len(begun.get(way, ())), "o",
              mfc="none", color="C1")  # fmt: skip
    axes.plot([np.mean(found or [0])], [line], "|", color="black", ms=18)
axes.set(yticks=range(len(NAMES)), yticklabels=NAMES.values(), xlabel="characters wrong, %",
         xlim=(0, 70), ylim=(len(NAMES) - 0.4, -0.6))  # fmt: skip
with_alt(figure, "Characters wrong in each training with five typed minutes, one line for each "
         "way; the numbers stand in the tables below.")  # fmt: skip

# %% [markdown]
# *Each full mark is a training with five typed minutes of its own; an upright line is their mean.
# Empty marks have the same five minutes as the first full one, and begin with other weights.*

# %% Five minutes, in numbers tags=["fold"]
table([
    {"training": NAMES[way], "how often": len(found), "mean": np.mean(found), "least": min(found),
     "most": max(found)}
    for way in NAMES if (found := rates(5, way))
] or NONE, formats=dict.fromkeys(("mean", "least", "most"), ".1%") if rows else {},
    caption="Five typed minutes: characters wrong.")  # fmt: skip

# %% The same minutes, with and without listening tags=["fold"]
table([{"training": NAMES[way], "minus letters for longer": more_wrong(way, LONGER)}
       for way in (ALONE, UNITS, GENTLE) if rows] or NONE,
      formats={"minus letters for longer": ".1%"} if rows else {},
      caption="Five typed minutes: differences in points, 95 % over eight trainings.")  # fmt: skip

# %% The first five minutes, begun anew tags=["fold"]
table([{"training": NAMES[way],
        **{f"{i + 1}": x for i, x in enumerate([*rates(5, way)[:1], *begun[way]])}}
       for way in CURVE if rows] or NONE,
      formats={f"{i}": ".1%" for i in range(1, 5)} if rows else {},
      caption="The same five minutes, four draws of the first weights.")  # fmt: skip

# %% What listening costs, in steps of letters tags=["fold"]
STEPS = pick(ci=6, laptop=LISTENING, gpu=LISTENING)
table([{"listening": name, "steps": STEPS, "as dear as steps of letters": more_steps(name, STEPS)}
       for name in ("codes", "units")])  # fmt: skip

# %% [markdown]
# Letters only has between 21.9% and 51.0% of the characters wrong, in eight trainings that differ
# in their five minutes and their first weights. Units first is ahead of it in three of the eight.
# Letters for longer, given the same minutes, the same first weights and the computing of listening,
# has fewer errors than letters only in six. The means are 29.1% and 32.2%. Against letters for
# longer those that listened have more wrong in the mean, with intervals that include zero. Learned
# gently, the trainings lie closer together, from 28.5% to 40.8%, and are not ahead.
#
# The percentile bootstrap's interval for letters for longer excludes zero, but over eight trainings
# that interval is too narrow. Student's 95% interval for the same eight differences is
# [-0.3, 6.4] points, so at five minutes the difference is not established.
#
# Is it the five minutes, which each training draws anew, or the first weights? The table of four
# draws begins the first five minutes three times more. Letters only then lies between 25.7% and
# 51.0%, units first between 31.7% and 53.2%. Sound and text are the same, so first weights alone
# can do it; what the minutes add we have not measured. And the pair that you saw above had the
# first of these draws: the one that suits letters only worst, of all eleven.
#
# ## Does more text change the answer?

# %% Ten minutes tags=["fold"]
each_run(10, CURVE)

# %% Twenty minutes tags=["fold"]
each_run(20, CURVE)

# %% All minutes tags=["fold"]
each_run(40, (ALONE, LONGER, UNITS, CODES, DECODER))

# %% Each against letters for longer tags=["fold"]
gaps = [{"training": NAMES[way], "difference": rate(40, way, LONGER)}
        for way in (ALONE, UNITS, CODES)]  # fmt: skip
table(gaps if rows else NONE, formats={"difference": ".1%"} if rows else {},
      caption="All typed: characters wrong minus those of letters for longer, 95 % over speakers.",
)  # fmt: skip

# %% [markdown]
# At ten minutes listening is ahead in the mean, by trainings that disagree; at twenty it is not.
# When all is typed, listening hears nothing that letters do not: this checks the cost, not the
# clinic's question. The trainings of each way now lie near each other, and those that listened are
# where letters only is. Letters for longer, which computed as much as they did, has nearly two
# points less, and is ahead in each of the three. So the trainings of letters only were not at their
# end, and what was computed for listening was better computed for letters.
#
# ## What more typing buys

# %% Draw the curve tags=["fold"]
figure = Figure(figsize=(5.2, 3.2))
axes = figure.subplots()
for shift, (way, mark, color) in enumerate(
    ((ALONE, "o", "C0"), (UNITS, "s", "C1"), (LONGER, "^", "C2"))
):
    each = {m * 1.06 ** (shift - 1): [100 * x for x in rates(m, way)]
            for m in MINUTES if rates(m, way)}  # fmt: skip
    if way in CURVE:
        axes.plot([*each], [np.mean(x) for x in each.values()], color=color)
    for at, found in each.items():
        axes.plot([at] * len(found), found, mark, color=color, ms=4, alpha=0.7)
    axes.plot([], [], mark, color=color, label=NAMES[way])
axes.set(xscale="log", yscale="log", xticks=[*MINUTES], xticklabels=MINUTES.values(),
         xlabel="typed minutes", ylabel="characters wrong, %", ylim=(4, 70),
         yticks=(5, 10, 20, 40), yticklabels=(5, 10, 20, 40))  # fmt: skip
axes.minorticks_off()
axes.legend()
with_alt(figure, "Characters wrong against typed minutes, each training a mark: letters only and "
         "units first at 5, 10, 20 and all 38 minutes, letters for longer at both ends.",
)  # fmt: skip

# %% [markdown]
# *Each mark is a training, a little to the side so that none hides another; the lines join the
# means. Letters for longer was trained with five minutes and with all.*

# %% The curve as a table tags=["fold"]
lines = [{"typed minutes": MINUTES[m], **{NAMES[way]: rate(m, way) for way in CURVE}}
         for m in MINUTES]  # fmt: skip
table(lines if rows else [{"typed minutes": "no kept runs in this profile"}],
      formats=dict.fromkeys([*lines[0]][1:], ".1%") if rows else {},
      caption="Characters wrong, all trainings together; 95 % over the ten speakers of the test.",
)  # fmt: skip

# %% [markdown]
# What pays is typing. From five minutes to ten the characters wrong of letters only fall by a
# third, from ten to twenty by half; the last eighteen bring three points more.
#
# This is no verdict on wav2vec 2.0 or HuBERT. They listen to hundreds of hours, and hear each of
# them hundreds of times, before they read ten minutes. Ours hears 38 minutes, of which the typed
# ones are a part, with half a million weights, and in fewer steps than it then learns letters: the
# loss of listening still fell when it ended. Nor did we look for the settings that suit listening
# best; those of letters had been chosen before.
# What the page shows is what a comparison needs: many trainings of each side, and the other side
# given as much computing.
#
# ## One training, eight times

# %% One utterance of the test, by each training of letters only tags=["fold"]
from deepdive_book.studies.figures.transcript_slider import transcript_slider

chosen = sorted(range(len(test)), key=lambda i: (sum(map(str.isalpha, test.words[i])), i))
chosen = next(i for i in reversed(chosen) if len(test.words[i]) < 28)
said_by = sorted(runs(5, ALONE).values() or wrote.values(),
                 key=lambda said: word_error_rate(test.words, said))  # fmt: skip
transcript_slider(
    test.words[chosen],
    [(f"training {i + 1} of {len(said_by)}", said[chosen], word_error_rate(test.words, said))
     for i, said in enumerate(said_by)],
    of="the test", ends=("the best", "the worst"),
)  # fmt: skip

# %% [markdown]
# *Letters only, five typed minutes: the same training eight times, from the best to the worst.*

# %% [markdown]
# ## In practice
#
# - Train each side of a comparison several times before you believe it. With little data one run
#   of each tells a story that the next run turns round.
# - Compare at equal computing. Give the recognizer without pre-training as many more steps as the
#   pre-training cost, and let both keep their best weights by the same voices held out.
# - With five minutes train several times in any case, and keep what does best on people held out:
#   the trainings lie further apart than the ways.
# - Begin with a published recognizer, which has listened to far more than you have, and teach it
#   your letters. To listen yourself is for sound that no published one has heard, and much of it.
# - Ask what else a published figure used. The famous ten minutes of wav2vec 2.0 came after 53,000
#   hours of sound, and with a language model that had read many books.
# - Ask what more typing would buy before you buy a week of computing. A typed minute is a minute of
#   sound; to type it takes several.
#
# ## Questions
#
# 1. Why must the recognizer that does not listen get more steps?
#
#    <details><summary>Answer</summary>
#
#    Otherwise two things differ: listening, and how much was computed. More steps alone may help.
#
#    </details>
# 2. All sound of the training was listened to, that of the typed minutes too. Is this a leak?
#
#    <details><summary>Answer</summary>
#
#    No: no letter of the test was used. We kept its sound away as well, so that the test speaks of
#    people who were never heard. A clinic would listen to the very recordings that it wants
#    written, and might gain more than we did.
#
#    </details>
# 3. When all is typed, those that listened heard no sound that letters only did not. What is this
#    line of the table good for?
#
#    <details><summary>Answer</summary>
#
#    It shows what the computing is worth where sound is no advantage: letters for longer is ahead
#    there. It cannot show what untyped sound is worth; the five minutes could.
#
#    </details>
# 4. The interval over the ten speakers of the test is narrow even for five minutes. Why is it the
#    wrong interval for the question here?
#
#    <details><summary>Answer</summary>
#
#    It tells how these trained recognizers would do with other people. The question is whether a
#    way to learn is better, and that has to hold over trainings: other first weights, other
#    minutes.
#
#    </details>
# 5. Somebody trains each of two methods once, with the same seed, and reports the difference. What
#    would you ask?
#
#    <details><summary>Answer</summary>
#
#    How far two trainings of one method lie apart. The same seed makes little equal: after
#    listening, the training of letters begins with other weights anyway.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* A step of listening costs about as much as a step of letters. How many
#    times as much does it cost to listen first for 1,000 steps, with five typed minutes and with
#    all?
#
#    <details><summary>Answer</summary>
#
#    (1,000 + 1,300) / 1,300 = 1.8 times as much with five minutes, (1,000 + 2,000) / 2,000 = 1.5
#    times with all.
#
#    </details>
# 2. *(on paper, 5 min)* If two ways were equally good, how probable is it that one of them is ahead
#    in all of three trainings? And in all of eight?
#
#    <details><summary>Answer</summary>
#
#    $2 / 2^3 = 1 / 4$, for either of the two may be the lucky one; $2 / 2^8$, less than one in a
#    hundred. Three trainings that agree say little; eight say something.
#
#    </details>
# 3. *(measure, 10 min)* Let the live pair begin with other first weights, on the same five minutes
#    (`listened(lesson, 1, ...)` in the cell that trains both). Which one do you expect ahead?
#
#    <details><summary>Answer</summary>
#
#    We have not kept this run. The table of the first weights says how far either may move.
#
#    </details>
#
# ## Summary
#
# Whether listening first saves typing could not be seen here, where listening was short: with five
# typed minutes eight trainings of letters only lie between 21.9% and 51.0% of the characters
# wrong, and units first was ahead in three of the eight. Giving the compute of listening to letters
# instead points the same way in six of eight trainings at five minutes (29.1% of the characters
# wrong against 32.2%; Student's 95% interval of the difference includes zero), and with
# everything typed it left nearly two points fewer, in each of three trainings. Typing more helped
# most: the characters wrong fall by a third from five minutes to ten, and by half from ten to
# twenty.
#
# ## Further reading
#
# - Baevski et al. (2020), *wav2vec 2.0*: section 5.1, from ten minutes to a hundred hours of text
#   after 960 hours and after 53,000 of sound.
# - Hsu et al. (2021), *HuBERT*: the same splits.
# - He, Girshick and Dollár (2019), *Rethinking ImageNet Pre-Training*: the same control with
#   pictures. Who trains longer without any pre-training catches up there, unless there are few
#   labels, which is the case of the clinic.

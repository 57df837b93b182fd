# %% [markdown] tags=["slide"]
# # mBART and MASS: does denoising pretraining help translation?
#
# You want to translate English into French, but you have only 300 translated pairs, plus many
# English and French sentences that aren't translations of each other. **mBART** and **MASS** use
# such sentences to pretrain a translation model by **denoising**: the model learns to restore
# corrupted text. **How much does this pretraining help when you fine-tune on so few pairs?**
#
# **What it is.** MASS ([Song et al. 2019](https://arxiv.org/abs/1905.02450)) and mBART ([Liu et al.
# 2020](https://arxiv.org/abs/2001.08210)) are **pretraining objectives** for an
# **encoder-decoder**, a transformer whose encoder reads one text and whose decoder generates
# another. In both objectives, the encoder reads a corrupted text, and the decoder predicts what was
# removed (MASS) or the entire original (mBART). The pretrained weights then initialize a machine
# translation model, which is fine-tuned on translated pairs.
#
# **What you'll be able to do.** Build training examples for both objectives, compute their loss,
# generate in a chosen language with mBART's language tokens, and test whether denoising itself
# explains a gain in translation.
#
# <details><summary><b>Short answer</b></summary>
#
# Pretraining helps, but 300 pairs aren't enough to translate. On chrF, a score from 0 to 100 for
# shared character sequences, our small model reaches 18.4 if it is pretrained for 2,400 steps with
# mBART's objective and then fine-tuned on 300 pairs. Without pretraining it reaches 4.8, and a
# constant French sentence scores 12.3. The gain, computed before rounding, is 13.5 points (95%
# confidence interval over five runs with different random seeds: 11.8 to 15.2). With 3,000 pairs,
# the same pretraining improves chrF from 38.3 to 51.0.
#
# It isn't clear that denoising is what helps, because in no comparison is it significantly better
# than pretraining that only copies uncorrupted sentences. Our intervals are too wide to show that
# the two are equal.
#
# </details>
#
# <small>Prerequisites: [denoising objectives](../06a_text/04_denoising.ipynb), [translation
# language modeling](03_translation_lm.ipynb) · 25 min · runs on a laptop; results of the long runs
# are included · book 4.1.4</small>

# %% Pretraining and fine-tuning [markdown] tags=["slide"] figure="ch04.mbart_diagram"
# ![mBART in two stages. Pretraining: the encoder reads the corrupted English text, He sleeps She
# and a mask, then the end token and the language token en. The decoder gets en and the original
# tokens, shifted right, and predicts the original text with its end. Fine-tuning: the same weights;
# the encoder reads an English sentence, and the decoder starts with fr and predicts the French
# translation.](figures/05_mbart.svg)
#
# *mBART. `[M]` is the mask token, `</s>` ends a text (in the original each sentence), and `<en>`
# and `<fr>` are **language tokens**, which give the language of a text. Top: in pretraining, input
# and target are in the same language. Bottom: in fine-tuning, the decoder starts with the target
# language's token.*

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

# %% [markdown]
# **Interactive figure: pretraining objectives.** *The upper line is the encoder's input, and the
# lower line is the decoder's input. `[MASK]` is the mask token. Blue is English, green French.
# Select a token to see which tokens it attends to (filled boxes); the target at a position is in
# bold below its box. The first two buttons show the objectives of this page, and the others show
# three related systems, which we compare at the end. The two lines of the last button are a
# sentence and its translation.* *Try this:*
#
# 1. Choose *MASS* and select the token whose target is *milk*. In which line can this token attend
#    to *He*, and in which to *drinks*?
# 2. Choose *mBART* and compare the encoder's input with the targets to find out how many tokens the
#    mask replaces.
# 3. Go through all seven buttons to see which objectives need a sentence and its translation.

# %% Interactive figure: pretraining objectives tags=["slide", "fold"]
from deepdive_book.ch04.figures import pretraining_examples as figure
from deepdive_book.ch04.figures.cross_lingual_masks import cross_lingual_masks

cross_lingual_masks(figure.examples())

# %% [markdown]
# <details><summary>What you should see: open after you try</summary>
#
# 1. *He* is only in the encoder's input, while *drinks* is only in the decoder's input. Because no
#    word is in both inputs, the decoder's tokens (lower line) need **cross-attention**, their
#    attention to the encoder's states (upper line).
# 2. The mask replaces two tokens, *drinks* and *milk*, but the model isn't given this number, so it
#    must also predict how many tokens are missing.
# 3. *XNLG, translation* and *VECO, cross-lingual* need translations, whereas all other objectives
#    need only monolingual text.
#
# </details>
#
# ## By hand: one text, two objectives
#
# To see what the two objectives do, we corrupt a text of five tokens that consists of two
# sentences, *She drinks milk* and *He sleeps*.
#
# **mBART** corrupts a text in two steps. First, **sentence permutation** shuffles the sentences.
# Then **text infilling** removes sequences of tokens, called **spans**, and puts a single mask in
# the place of each span, until 35% of the tokens are masked. The positions of the masks are random.
# In our text, 35% is $0.35 \cdot 5 = 1.75$ tokens, rounded to 2.
#
# The length of each span is sampled from a Poisson distribution with mean 3.5, whose first
# probabilities are
#
# | length | 0 | 1 | 2 |
# |---|---|---|---|
# | probability | 0.030 | 0.106 | 0.185 |
# | cumulative | 0.030 | 0.136 | 0.321 |
#
# To sample a length, take a uniform random number between 0 and 1, and choose the first length
# whose cumulative probability is larger. In our example, the permutation puts *He sleeps* first,
# and the random number is 0.256. Because this number is between 0.136 and 0.321, the span has
# length 2, which already masks the two tokens, and its mask gets a random position, here the
# fourth.
#
# **MASS** masks one span of half the tokens, $0.5 \cdot 5 = 2.5$, which Python rounds to the even
# number 2, and in our example the span starts at the second token. The decoder predicts only the
# tokens of the span. At each position of the span except the first, its input is the original token
# just before that position, and everywhere else its input is a mask. The tokens outside the span
# are therefore available only from the encoder.
#
# The two objectives turn our text into these training examples, where a dash means no loss at this
# position:
#
# | | mBART | MASS |
# |---|---|---|
# | encoder input | He sleeps She [M] `</s>` `<en>` | She [M] [M] He sleeps |
# | decoder input | `<en>` She drinks milk He sleeps | [M] [M] drinks [M] [M] |
# | targets | She drinks milk He sleeps `</s>` | – drinks milk – – |
#
# Both objectives minimize the same loss, the mean **cross-entropy** of the targets. For example, a
# model that assigns the same probability to each of the 19 tokens in the figure's vocabulary has a
# loss of $\ln 19 = 2.944$.
#
# ## In code: training examples and loss
#
# In the next cell, `infill` implements mBART's text infilling, `mbart_example` and `mass_example`
# each return a training example, and `denoising_loss` computes the loss. The random numbers are
# arguments: `rng` is a `random.Random`, and `u` is a uniform random number, which selects the
# length of a span in `poisson` and the start of the span in `mass_example`.

# %% mBART and MASS tags=["concept", "slide"]
import math

import torch
import torch.nn.functional as F


def poisson(mean, u):
    """Turn u, uniform in [0, 1), into a sample of a Poisson distribution."""
    n, p = 0, math.exp(-mean)  # P(0)
    while u >= p:
        u, n = u - p, n + 1
        p *= mean / n  # P(n) = P(n - 1) * mean / n
    return n


def infill(tokens, mask, rng, rate=0.35, mean=3.5):
    """Text infilling: replace spans by one mask each; together they have `rate` of the tokens."""
    left, spans = round(rate * len(tokens)), []
    while left > 0:
        spans.append(min(poisson(mean, rng.random()), left))  # the last span is truncated
        left -= spans[-1]
    length = len(tokens) - sum(spans) + len(spans)  # of the result: one mask for each span
    at = dict(zip(sorted(rng.sample(range(length), len(spans))), spans, strict=True))
    result, next_token = [], 0
    for position in range(length):
        result.append(mask if position in at else tokens[next_token])
        next_token += at.get(position, 1)  # skip the span, which may be empty
    return result


def mbart_example(sentences, language, mask, end, rng):
    """Encoder input, decoder input, and targets: the entire text, from a corrupted copy."""
    permuted = rng.sample(sentences, len(sentences))
    source = [*infill([token for s in permuted for token in s], mask, rng), end, language]
    targets = [*(token for s in sentences for token in s), end]  # T + 1 tokens
    return source, [language, *targets[:-1]], targets  # shifted right, after the language token


def mass_example(tokens, mask, pad, u):
    """Encoder input, decoder input, and targets: a masked span of half the tokens, T each."""
    span = max(1, round(len(tokens) / 2))
    start = int(u * (len(tokens) - span + 1))
    before, inside, after = tokens[:start], tokens[start : start + span], tokens[start + span :]
    inputs = [mask] * (start + 1) + inside[:-1] + [mask] * len(after)
    targets = [pad] * start + inside + [pad] * len(after)  # no loss where the target is padding
    return before + [mask] * span + after, inputs, targets


def denoising_loss(model, source, inputs, targets, pad):
    source, inputs, targets = (torch.tensor([x]) for x in (source, inputs, targets))
    logits = model(source, inputs)  # (1, S), (1, T) -> (1, T, vocabulary)
    return F.cross_entropy(logits[0], targets[0], ignore_index=pad)


# %% [markdown]
# Applied to the worked example, these functions return the training examples, span length, and loss
# that we computed by hand. The interactive figure's vocabulary and the seed of the random numbers
# come from the module `figure`:

# %% The worked example tags=["nbval-check-output"]
import random

WORDS = [word or "[M]" for word in figure.WORDS]  # a vocabulary of 19 tokens
PAD, MASK, END, EN = (WORDS.index(word) for word in ("[PAD]", "[M]", "</s>", "<en>"))
sentences = [figure.ids(["She", "drinks", "milk"]), figure.ids(["He", "sleeps"])]
mbart_parts = mbart_example(sentences, EN, MASK, END, random.Random(figure.SEED))
mass_parts = mass_example(mbart_parts[2][:-1], MASK, PAD, u=0.3)
for name, parts in (("mBART", mbart_parts), ("MASS", mass_parts)):
    print(f"{name:6}", *(" ".join(WORDS[i] for i in part) for part in parts), sep=" | ")
print("span length for u = 0.256:", poisson(3.5, 0.256))
uniform = denoising_loss(lambda _, x: torch.zeros(1, x.shape[1], 19), *mbart_parts, PAD)
print(f"loss of equal probabilities: {uniform.item():.3f}")

# %% [markdown]
# The same functions are in `deepdive`, the small library that accompanies this book. To test that
# our functions equal the library's, we make an mBART and a MASS example with each of 100 seeds. For
# the two examples above, we also compare the loss and its gradients, computed with a small,
# randomly initialized mBART:

# %% Equal to the library tags=["equals-library"]
from deepdive.models.generative import mbart
from deepdive.training import objectives

for seed in range(100):
    rng, theirs = random.Random(seed), random.Random(seed)
    source, inputs, targets = mbart_example(sentences, EN, MASK, END, rng)
    permuted = objectives.permute_sentences(sentences, theirs)
    assert source[:-2] == objectives.infill(permuted, MASK, 0.35, theirs, 3.5)
    shifted = objectives.language_prefix(torch.tensor([targets]), torch.tensor([EN]))
    assert inputs == shifted[0].tolist()
    u = torch.rand(1, generator=torch.Generator().manual_seed(seed)).item()
    hidden = objectives.mask_span(torch.tensor([5]), 0.5, torch.Generator().manual_seed(seed))
    expected = objectives.split_masked_span(torch.tensor([targets[:-1]]), hidden, MASK, PAD)
    assert mass_example(targets[:-1], MASK, PAD, u) == tuple(x[0].tolist() for x in expected)

torch.manual_seed(0)
model = mbart.mbart(mbart.TINY, src_vocab=19, pad=PAD, start=EN, end=END).eval()

# %% The loss and its gradients tags=["equals-library"]
for parts in (mbart_parts, mass_parts):
    source, inputs, targets = (torch.tensor([part]) for part in parts)
    ours = denoising_loss(model, *parts, PAD)
    theirs = objectives.cross_entropy(model(source, inputs), targets, PAD)  # deepdive's
    assert torch.allclose(ours, theirs)
    gradients = [torch.autograd.grad(x, [*model.parameters()], allow_unused=True)
                 for x in (ours, theirs)]  # fmt: skip
    assert all(a is b is None or torch.allclose(a, b, atol=1e-6)
               for a, b in zip(*gradients, strict=True))  # fmt: skip
print("equal: 200 training examples; for the two above, the loss and its gradients")

# %% [markdown]
# ## Experiments
#
# **Data.** The sentences are from Tatoeba, a public collection of sentences and their translations.
# We use short English and French sentences of 3 to 10 tokens, all among the 1,500 most frequent
# words of their language. Because many sentences have several translations, we put all translations
# of a sentence into one group. Each group is used in only one part of the data: the English corpus,
# the French corpus, the **parallel corpus** (the translated pairs), the validation set, or the test
# set. Therefore no sentence of one monolingual corpus has a known translation in the other, and no
# test sentence occurs in training.
#
# **Models.** All models share one small encoder-decoder with 2 layers in the encoder, 2 in the
# decoder, a width of 64, and one token per word. Their names refer only to the pretraining: *mBART*
# and *MASS* are pretrained with the objectives above, while *none* isn't pretrained. As a control,
# *copying* has the same targets as *mBART*, but its encoder reads the uncorrupted sentence. Because
# each text here is a single short sentence, *mBART* has nothing to permute, and usually one span
# masks all the tokens that should be masked. In the runs of *MASS*, unlike in `mass_example`, the
# decoder's first input is the language token, so we can choose the output language. A **seed**
# determines the initial weights, the batches, and which pairs are used. The settings that we
# compare most closely have five seeds, the others three.
#
# **Training.** We pretrain for 800 or 2,400 steps of Adam with batches of 64 sentences, half of
# them in each language, and a peak learning rate of 0.003. Then we fine-tune on 300 or 3,000
# translated pairs, with batches of 32 pairs and a peak learning rate of 0.002, for at most half the
# number of pretraining steps. (*none* may take the steps of both stages.) Fine-tuning stops early
# when the loss on 200 validation pairs hasn't improved for 100 steps, and we use the weights with
# the lowest validation loss. The code of these two stages is in `train` and `fine_tune` of
# `deepdive_book.ch04.runs.mbart`.
#
# **Metrics.** **chrF** compares the character sequences in a translation with those in a reference,
# whereas **BLEU** compares the word sequences. Both scores range from 0 to 100, and higher is
# better. Two baselines need no training: one outputs the same French sentence for every input (mean
# score of 20 such sentences), and the other outputs the English input itself.

# %% Data, saved runs, and baselines
from deepdive_book.ch04.runs import mbart as experiment
from deepdive_book.kit.profile import profile
from deepdive_book.kit.tables import table

data = experiment.corpora()
runs = experiment.load().rows
print("Tatoeba" if profile() != "ci" else "generated sentences")
print(f"monolingual: {len(data.monolingual[0]):,} English, {len(data.monolingual[1]):,} French;",
      f"parallel: {len(data.parallel):,} pairs; test: {len(data.test)} pairs")  # fmt: skip
one_sentence, source = experiment.baselines(data)
print(f"chrF of one sentence for all: {one_sentence.value:.1f}, of the English input: {source:.1f}")

# %% [markdown]
# Both baselines reach a chrF of about 12, so a score near 12 isn't evidence of translation.
#
# ### 1. What does a pretrained model generate before fine-tuning?
#
# After pretraining, the model has never seen a translation, because in every training example the
# encoder's and the decoder's texts were in the same language. Now we give the encoder an English
# test sentence but start the decoder with the French language token.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "What does mBART generate for an English sentence and the French language token?",
    ["French words, mostly those of the translation",
     "repetitive French that is unrelated to the source",
     "mostly English words, partly copied from the source"],
    answer=2,
    explain="Probably because about two thirds of the target were visible in the input during "
    "pretraining, and these words already showed the language.",
    key="04_multilingual/before-a-pair",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict
#
# The first table shows what percentage of the generated words occur only in English and what
# percentage occur only in French, while the rest occur in both languages. The
# second table shows the first eight tokens of two outputs after the shorter pretraining.

# %% Languages of the generated words tags=["surprise", "slide"]
table(experiment.language_table(runs), formats={"pretraining steps": ",d"},
      caption="percentage of the generated words that occur only in English, or only in French: "
      "mean (range) over at least 3 seeds")  # fmt: skip

# %% Two outputs, after the shorter pretraining tags=["surprise"]
table(experiment.examples(runs, data, 0))

# %% [markdown]
# **mBART generates mostly English words, although the language token asks for French.** In the
# examples, many of these words are copied from the input, and some are repeated. MASS, in contrast,
# generates French, but its two outputs repeat a word and are unrelated to the source. The decoder
# of MASS probably generates French because it always had to predict words that weren't in the
# encoder's input, in the language of its first token.
#
# In these examples, neither mBART nor MASS translates yet. Even after fine-tuning, large pretrained
# models copy more than models without pretraining, as [Liu et al.
# (2021)](https://aclanthology.org/2021.findings-acl.373/) find.

# %% [markdown]
# ### 2. Does denoising pretraining help when pairs are few?
#
# Now we fine-tune mBART and compare it with *none*. To be fair, *none* may take as many fine-tuning
# steps as mBART takes in both stages, at most 1,200 or 3,600. However, because a fine-tuning batch
# is half the size of a pretraining batch, *none* still uses less compute. Therefore a second
# version, *none, equal compute*, may take up to 5,760 steps, which cost about as much as the two
# stages of the longer mBART.
#
# In the next table, the column "steps" shows the pretraining steps plus the maximum number of
# fine-tuning steps. The compute, in 10¹² floating-point operations (TFLOP), is an upper bound,
# because fine-tuning may stop early. The scores are means over runs with different random seeds,
# and the brackets show a 95% **confidence interval** for the mean (Student's t). With only three
# seeds, this interval is wide and can even include impossible scores.

# %% Translation with and without pretraining tags=["slide"]
short, long = experiment.steps_of(runs)[0], experiment.steps_of(runs)[-1]
few, many = experiment.pair_counts()
heads = [f"chrF, {few:,} pairs", f"chrF, {many:,} pairs", f"BLEU, {many:,} pairs"]
formats = dict.fromkeys(heads, ".1f") | {experiment.COMPUTE: ".1f", "steps": str}
arms = [("none", short), ("mBART", short), ("none", long), (experiment.LONGER, long),
        ("mBART", long)]  # fmt: skip
table(experiment.score_table(runs, data, dict.fromkeys(arms)), formats=formats,
      caption="test scores: mean over seeds [95% confidence interval]")  # fmt: skip

# %% [markdown]
# Are these gains larger than you would expect by chance? To find out, we subtract the second
# model's chrF from the first model's, seed by seed and before rounding, and average the differences
# in the next table. Because only seeds that both models share are used, the result can deviate from
# the difference of two means above.
#
# In the next table, *none* is compared with models of the given number of pretraining steps. The
# last column shows the p value of a t test, the probability of a difference at least this large if
# the models were equally good on average. With six comparisons, one of them may have a small p
# value by chance alone. Holm's method therefore raises the p values to correct for the number of
# comparisons, whereas the intervals aren't corrected.

# %% Differences
FORMATS = {"steps of pretraining": ",d", "pairs": ",d", "difference in chrF": ".1f"}
contrasts = [(("mBART", "none"), short), (("mBART", "none"), long),
             (("mBART", experiment.LONGER), long)]  # fmt: skip
table(experiment.difference_table(runs, dict.fromkeys(contrasts)), formats=FORMATS,
      caption="first model minus second: mean over paired seeds [95% confidence interval, not "
      "corrected]; p value of the t test, corrected for this table (Holm)")  # fmt: skip

# %% Fine-tuned on few pairs: exact and distinct outputs
for one in ("none", "mBART"):
    found = experiment.rows.select(runs, objective=one, steps=long)
    different = [len(set(row[f"{few} outputs"])) for row in found]
    print(f"{one:5} equal to the reference (of 500), by seed:",
          *(row[f"{few} exact"] for row in found),
          "| distinct among 8 saved outputs:", *different)  # fmt: skip

# %% [markdown]
# **Pretraining helps.** After 2,400 pretraining steps, the gain over *none* is 13.5 points with 300
# pairs and 12.7 points with 3,000. All six intervals exclude zero, and the corrected p values are
# about 0.01 or lower. Raising the limit of *none* from 3,600 to 5,760 steps (*none, equal compute*)
# doesn't close the gap. How many of these steps the runs used wasn't saved, and early stopping may
# have ended them sooner.
#
# **But 300 pairs aren't enough to translate.** mBART reaches a chrF of 18.4, compared with 12.3 for
# the same French sentence every time, and with each seed at most one of its 500 test translations
# equals the reference. Without pretraining, the score is even below that baseline, and the eight
# saved outputs of each seed contain only one or two different sentences.
#
# **With 3,000 pairs, longer training may replace a short pretraining.** After up to 3,600 steps,
# *none* scores 38.3 and mBART after 800 + 400 steps 35.6, but *none* may use nearly twice the
# compute, and we didn't test this difference. So a part of mBART's gain of 15.3 points in the short
# runs may only be faster training. In the long runs, however, *none, equal compute* doesn't catch
# up with mBART.
#
# ### 3. Is it the denoising?
#
# mBART's pretraining has two ingredients: the model learns to generate sentences in both languages
# while it attends to an input, and it learns to undo the corruption of that input. To find out
# whether the second ingredient matters, we compare mBART with *copying*, which has only the first,
# and we also add MASS.

# %% tags=["fold"]
predict(
    "With 800 pretraining steps and 3,000 pairs, mBART gains 15.3 points of chrF over no "
    "pretraining. How much of this gain does copying achieve?",
    ["little: nothing has to be learned to copy a sentence",
     "about half of it",
     "nearly all of it"],
    answer=2,
    explain="Copying scores 35.1 and mBART 35.6, but no pretraining 20.3 (means of three seeds).",
    key="04_multilingual/copying",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict
#
# In the first table, "target tokens (M)" is the number of tokens that the decoder predicts in
# pretraining, in millions. The second table shows differences as in experiment 2, with p values
# that are corrected for its own eight comparisons.

# %% All objectives tags=["surprise", "slide"]
arms = [(one, steps) for steps in (short, long) for one in ("mBART", "copying", "MASS")]
found = experiment.score_table(runs, data, dict.fromkeys(arms))
for line, (one, steps) in zip(found, dict.fromkeys(arms), strict=True):
    line["target tokens (M)"] = experiment.target_tokens(data, one, steps)
table(found, formats=formats | {"target tokens (M)": ".2f"},
      caption="test scores: mean over seeds [95% confidence interval]")  # fmt: skip

# %% Differences between objectives tags=["surprise"]
contrasts = [(pair, steps) for pair, *some in (
    (("mBART", "copying"), short, long), (("copying", "none"), long), (("MASS", "none"), long),
) for steps in some]  # fmt: skip
table(experiment.difference_table(runs, dict.fromkeys(contrasts)), formats=FORMATS,
      caption="first model minus second: mean over paired seeds [95% confidence interval, not "
      "corrected]; p value of the t test, corrected for this table (Holm)")  # fmt: skip

# %% One difference, seed by seed tags=["surprise"]
found = experiment.differences(runs, many, ("mBART", "copying"), long)
print(f"mBART − copying, {long:,} steps, {many:,} pairs, by seed:", *(f"{x:.2f}" for x in found))

# %% [markdown]
# **After 2,400 steps, copying alone gains 12.5 points over no pretraining with 300 pairs and 11.0
# points with 3,000**, so it may help nearly as much as denoising. Does denoising add anything? In
# three of the four settings, the interval of mBART − *copying* includes zero. With 800 steps and
# 300 pairs it is so wide that it excludes neither a large benefit of denoising nor a large harm.
#
# With 2,400 steps and 3,000 pairs, the result is less clear. mBART scores 1.7 points higher over
# five seeds, and the interval excludes zero, but the difference isn't significant after the
# correction. Moreover, the difference was 2.4 with the first three seeds, after which we added two
# more, so the p value is only indicative. Whether denoising adds anything to copying is therefore
# open here.
#
# Copying probably helps because it trains two abilities that translation also needs, though we
# didn't test this. The decoder learns to generate sentences of the language, and the
# cross-attention learns to select the input position needed next.
#
# **MASS helps with 300 pairs, and its result with 3,000 is inconclusive.** After 2,400 steps and
# with 300 pairs, MASS scores 7.4 points higher than *none*, although this gain only brings it to
# about the level of the constant sentence. With 3,000 pairs, its seeds differ so widely that the
# interval of the difference is very wide. After 800 steps, MASS scores only 16.1 with 3,000 pairs,
# below the 20.3 of *none*. However, MASS had only half of mBART's target tokens, and we tried
# neither more steps nor other learning rates, so this comparison isn't evidence against MASS.

# %% [markdown]
# ### Do the pairs contain the words of the test sentences?
#
# In our setting, the pairs are the main source of information about which words are translations of
# each other. How many words of the test sentences, counting every occurrence, are in these pairs?

# %% Test words that occur in the pairs
for n in experiment.pair_counts():
    print(f"{n:,} pairs: {experiment.coverage(data, n):.0f}% of the English words in the test set")

# %% [markdown]
# Even 300 pairs contain most of the words, but a word that occurs only once or twice is probably
# hard to learn for a model that also has to learn everything else. A pretrained model probably has
# less left to learn, because it already generates sentences in both languages.
#
# ## With the real library
#
# Hugging Face's transformers provides mBART as `MBartForConditionalGeneration`. With `save` from
# `deepdive`, we write our small mBART in the format of transformers, load the same weights there,
# and check that the **logits**, the scores before the softmax, are equal. In transformers,
# `shift_tokens_right` makes the decoder's input from the labels by moving their last token, the
# language token, to the front. The check leaves out the last position, whose label is the language
# token.

# %% Ours and transformers tags=["nbval-check-output", "slide"]
from tempfile import TemporaryDirectory

from transformers import MBartForConditionalGeneration
from transformers.models.mbart.modeling_mbart import shift_tokens_right
from transformers.utils import logging

from deepdive.published import save

logging.disable_progress_bar()
with TemporaryDirectory() as folder, torch.no_grad():
    theirs = MBartForConditionalGeneration.from_pretrained(save(model, folder)).eval()
    source, inputs, targets = (torch.tensor([part]) for part in mbart_parts)
    logits = theirs(input_ids=source, decoder_input_ids=inputs).logits  # (1, T, vocabulary)
    assert torch.allclose(logits, model(source, inputs), atol=1e-5)
    labels = torch.tensor([[*mbart_parts[2], EN]])  # targets, then the language token
    assert shift_tokens_right(labels, PAD)[0, :-1].tolist() == mbart_parts[1]
    french = theirs.generate(source, decoder_start_token_id=END, num_beams=1, max_new_tokens=3,
                             forced_bos_token_id=WORDS.index("<fr>"))  # fmt: skip
print("equal logits:", tuple(logits.shape))
print("generated, with <fr> forced:", *(WORDS[i] for i in french[0, :2]))

# %% [markdown]
# In the last line of the output, we forced the two tokens with which generation starts in
# **mBART-50** ([Tang et al. 2020](https://arxiv.org/abs/2008.00401)), a later version of mBART. The
# weights are random, so the line only shows where the tokens go.
#
# mBART-50 puts the language token before the text on both sides, whereas mBART puts it at the end
# of the source and of the labels. In mBART, the shift then makes this token the decoder's first
# input, while the decoder of mBART-50 starts with `</s>`, and `forced_bos_token_id` makes the
# language token the first generated token. Without this token, a multilingual model may generate
# text in a language other than the one you want. When mT5 does so, after fine-tuning on English
# only, its authors call this error **accidental translation** ([Xue et al.
# 2021](https://arxiv.org/abs/2010.11934)).
#
# With network access, you would run the published model like this (the output isn't shown here):
#
# ```python
# from transformers import MBart50Tokenizer, MBartForConditionalGeneration
#
# name = "facebook/mbart-large-50-many-to-many-mmt"  # fine-tuned for translation
# tokenizer = MBart50Tokenizer.from_pretrained(name, src_lang="en_XX")
# model = MBartForConditionalGeneration.from_pretrained(name)
# inputs = tokenizer("I had help.", return_tensors="pt")
# french = tokenizer.convert_tokens_to_ids("fr_XX")
# ids = model.generate(**inputs, forced_bos_token_id=french)
# print(tokenizer.batch_decode(ids, skip_special_tokens=True))
# ```
#
# To fine-tune on your own pairs, start from `facebook/mbart-large-50`, which is pretrained only.
# Then set `src_lang` and `tgt_lang`, and pass the translations as `text_target`.
#
# ## How it differs
#
# The table compares the systems of the interactive figure, and its column "parallel" shows whether
# pretraining also uses translations. All functions in the last column are in the module
# `deepdive.training.objectives`. In mT5, a **sentinel** is a mask token with a number, a different
# one for each span. VECO is an encoder into which cross-attention to a second sentence can be
# plugged, which gives `plugged_loss` its name.
#
# | system | encoder input | target | parallel | function |
# |---|---|---|---|---|
# | MASS | one masked span | the span | no | `split_masked_span` |
# | mBART | permuted sentences, infilled spans | entire text | no | `infill` |
# | mT5 | a sentinel for each span | sentinels and spans | no | `corrupt_spans` |
# | XNLG | corrupted sentence, or translation | the sentence | yes | `xnlg_loss` |
# | VECO | masked tokens, translation | masked tokens | yes | `plugged_loss` |
#
# mBART is [BART](../06a_text/04_denoising.ipynb) trained on 25 languages, with language tokens and
# an additional layer normalization after the encoder and after the decoder.
#
# ## Common mistake: split pairs at random
#
# Suppose you shuffle the pairs, use the first ones as the test set, and pretrain on the sentences
# of all others. No pair is then in both parts, but many sentences are, because Tatoeba contains
# several translations of many sentences:

# %% Test sentences that occur in training
table([{"split by": name, "English (%)": english, "French (%)": french}
       for name, (english, french) in experiment.leaks(data).items()],
      formats={"English (%)": ".0f", "French (%)": ".0f"},
      caption="test sentences that occur in the remaining pairs")  # fmt: skip

# %% [markdown]
# If you split the pairs at random, almost half of the English test sentences and about one in nine
# of the French ones occur in the other pairs.
#
# **Symptom:** you see no error, although the test set is contaminated. A model that was pretrained
# on these very sentences may process or generate them more easily, and the gain is then attributed
# to pretraining. **Fix:** put all pairs that share a sentence, directly or through other pairs,
# into one group. Then split the groups instead of the pairs, and test on one pair of each group
# (`experiment.group_translations`).
#
# ## In practice
#
# - **Set the language token**, because a wrong token raises no error.
# - **Read the outputs before you trust a score.** Copying the English input and repeating an
#   unrelated French sentence reach nearly the same chrF.
# - **Compare with a copying control** if you claim that the corruption itself helps.
# - **Pretrain a model yourself only if no suitable one exists.** For a language in mBART-50,
#   fine-tune the published weights.
#
# ## Summary
#
# How much does denoising pretraining help when you have few translated pairs? In our small model,
# 2,400 steps of mBART's objective improve chrF by 13.5 points [11.8, 15.2] with 300 pairs and by
# 12.7 [8.4, 17.0] with 3,000. With 300 pairs, the model doesn't translate yet (chrF 18.4), and with
# 3,000 pairs it reaches 51.0.
#
# However, mBART isn't significantly better than *copying*, a control without corruption. Whether
# denoising adds something is open. With 3,000 pairs and 2,400 steps, mBART scores 1.7 points
# higher, which isn't significant after correction.
#
# [Liu et al. (2020)](https://arxiv.org/abs/2001.08210) report gains of up to 12 BLEU points for
# low-resource language pairs. Our BLEU with 3,000 pairs rises from 19.6 to 30.3, but on short, easy
# sentences. Such short sentences are also a weak test of text infilling. We didn't reproduce the
# paper's models, the 25 languages, sentence permutation, or unsupervised translation, and we didn't
# compare MASS at equal target tokens.
#
# ## Check your understanding
#
# 1. Why can't MASS's decoder solve its task by copying from the encoder's input?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Because the encoder's input has a mask at the position of every target token, only a word that
#    also occurs outside the span could be copied.
#
#    </details>
# 2. Why does mBART's mask not reveal the length of a span?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Each span is replaced by one mask, whatever its length, and an empty span even inserts a mask
#    where nothing is missing.
#
#    </details>
# 3. In the short runs, the model without pretraining may take 1,200 fine-tuning
#    steps, the others 400. Why?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The other models had 800 pretraining steps, so all models then have the same maximum number of
#    steps in total.
#
#    </details>
# 4. What does the difference between mBART and *copying* measure?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    It measures the effect of the corruption, because the languages, the sentences, the targets,
#    and the number of pretraining steps are the same.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Compute a training example by applying text infilling to $a\,b\,c\,d\,e\,f$
#    with a rate of 0.5. The sampled lengths are 0, 2, and 4, and the masks get positions 0, 2, and
#    4 of the result, in this order. What is the encoder's input, without special tokens?
#
#    <details><summary>Answer</summary>
#
#    Three tokens are masked, so the last span is truncated to 1, and the result is [M] $a$ [M] $d$
#    [M] $f$. The first mask is an insertion, the second replaces $b\,c$, and the third replaces
#    $e$.
#
#    </details>
# 2. *(on paper, 2 min)* Count MASS's training examples: how many different examples does MASS make
#    of a sentence with 10 tokens?
#
#    <details><summary>Answer</summary>
#
#    A span of 5 tokens can start at 6 positions, so there are 6 examples.
#
#    </details>
# 3. *(measure, 30 min)* Measure whether copying random words is enough. In `pretraining_batches` of
#    `deepdive_book.ch04.runs.mbart`, let *copying* use sentences of the same lengths with randomly
#    sampled words of the same language. Then run `measure("copying", seed, 800)` with seeds 1, 2,
#    and 3, and compare the results with the saved runs, seed by seed.
#
#    <details><summary>Answer</summary>
#
#    If the gain over *none* remains, it doesn't need real sentences, because the model can still
#    learn which input position to attend to, the embeddings, and perhaps word frequencies. If the
#    gain disappears, the sentences themselves matter. We haven't run this experiment.
#
#    </details>

# %% Exercises 1 and 2, checked tags=["nbval-check-output"]
class Scripted:
    """Uniform numbers that give Poisson lengths 0, 2, and 4, and fixed positions of the masks."""

    uniform = iter([0.01, 0.2, 0.6])

    def random(self):
        return next(self.uniform)

    def sample(self, _, n):
        return [0, 2, 4][:n]


print(*infill(list("abcdef"), "[M]", Scripted(), rate=0.5))
print(len({str(mass_example([*range(10)], -1, -2, u / 100)) for u in range(100)}), "examples")

# %% [markdown]
# ## Further reading
#
# - [Song et al. (2019)](https://arxiv.org/abs/1905.02450), *MASS: Masked Sequence to Sequence
#   Pre-training for Language Generation*: the span objective.
# - [Liu et al. (2020)](https://arxiv.org/abs/2001.08210), *Multilingual Denoising Pre-training for
#   Neural Machine Translation*: mBART.
# - [Tang et al. (2020)](https://arxiv.org/abs/2008.00401), *Multilingual Translation with
#   Extensible Multilingual Pretraining and Finetuning*: mBART-50.
# - [Liu et al. (2021)](https://aclanthology.org/2021.findings-acl.373/), *On the Copying Behaviors
#   of Pre-Training for Neural Machine Translation*: pretrained models copy more, even after
#   fine-tuning.
# - [Chi et al. (2020)](https://arxiv.org/abs/1909.10481), *Cross-Lingual Natural Language
#   Generation via Pre-Training*: XNLG.
# - [Luo et al. (2021)](https://doi.org/10.18653/v1/2021.acl-long.308), *VECO*: cross-attention that
#   can be plugged in.
# - [Xue et al. (2021)](https://arxiv.org/abs/2010.11934), *mT5*: span corruption in 101 languages.

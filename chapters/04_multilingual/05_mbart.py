# %% [markdown] tags=["slide"]
# # mBART and MASS: does denoising pretraining help translation?
#
# You have a large English corpus and a large French one, but no sentence in one is a translation of
# a sentence in the other. You also have 300 translated pairs. **mBART** and **MASS** pretrain an
# encoder-decoder on the two monolingual corpora by **denoising**. **How much does that help when
# you then fine-tune it on so few pairs?**
#
# **What it is.** MASS ([Song et al. 2019](https://arxiv.org/abs/1905.02450)) and mBART ([Liu et al.
# 2020](https://arxiv.org/abs/2001.08210)) are **pretraining objectives** for an encoder-decoder.
# The encoder reads a corrupted sentence, and the decoder predicts what was removed (MASS) or the
# entire original (mBART). The result is the initialization of a machine translation model.
#
# **What you'll be able to do.** Build training examples for both objectives, compute their loss,
# generate in a chosen language with mBART's language tokens, and test whether denoising itself
# explains a gain in translation.
#
# <details><summary><b>Short answer</b></summary>
#
# A lot. A small mBART pretrained for 2,400 steps and fine-tuned on 300 English-French pairs scores
# 13.3 points [11.0, 15.6] higher than without pretraining on chrF, a score of shared character
# sequences from 0 to 100 (five seeds). But it reaches only 18.4, so it doesn't translate yet. And
# it isn't clear that denoising is what helps: pretraining that copies uncorrupted sentences comes
# close.
#
# </details>
#
# <small>Prerequisites: [denoising objectives](../06a_text/04_denoising.ipynb), [translation
# language modeling](03_translation_lm.ipynb) · 20 min · runs on a laptop; results of the long runs
# are included · book 4.1.4</small>

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

# %% Figure: pretraining and fine-tuning tags=["slide", "fold"]
from deepdive_book.ch04.figures.mbart_diagram import ALT, mbart_diagram
from deepdive_book.kit.plotting import show

show(mbart_diagram(), ALT)

# %% [markdown]
# *mBART. `[M]` is the mask token, `</s>` ends a text, and `<en>` and `<fr>` are language tokens.
# Top: in pretraining, input and target are in the same language. Bottom: in fine-tuning, the
# decoder starts with the target language's token.*
#
# **Interactive figure: pretraining objectives.** *The upper line is the encoder's input, and the
# lower line is the decoder's input. Blue is English, green French. Select a token to see which
# tokens it attends to (filled boxes); the target at a position is in bold below its box. The figure
# also shows three related systems, which are compared at the end of the page: mT5, XNLG, and VECO.
# For *VECO, cross-lingual*, the two lines are a sentence and its translation.* *Try this:*
#
# 1. Choose *MASS* and select the token whose target is *milk*. In which line does it find *He*, and
#    in which *drinks*?
# 2. Choose *mBART* and compare the encoder's input with the targets. How many tokens does the mask
#    replace?
# 3. Go through all seven buttons. Which objectives need a sentence and its translation?

# %% Interactive figure: pretraining objectives tags=["slide", "fold"]
from deepdive_book.ch04.figures import pretraining_examples as figure
from deepdive_book.ch04.figures.cross_lingual_masks import cross_lingual_masks

cross_lingual_masks(figure.examples())

# %% [markdown]
# <details><summary>What you should see: open after you try</summary>
#
# 1. *He* is only in the encoder's input, *drinks* only in the decoder's input. No word is in both,
#    so the decoder has to use cross-attention.
# 2. Two, *drinks* and *milk*. The model isn't given this number, so it must predict the length too.
# 3. *XNLG, translation* and *VECO, cross-lingual*. All others need monolingual text only.
#
# </details>
#
# ## By hand: one text, two objectives
#
# The text has two sentences: *She drinks milk* and *He sleeps*, five tokens in all.
#
# **mBART** applies two kinds of corruption. **Sentence permutation** shuffles the sentences. **Text
# infilling** then replaces **spans** of tokens by one mask each, until 35% of the tokens are
# masked. Here that is $0.35 \cdot 5 = 1.75$, rounded to 2. The length of each span is sampled from
# a Poisson distribution with mean 3.5, whose first probabilities are
#
# | length | 0 | 1 | 2 |
# |---|---|---|---|
# | probability | 0.030 | 0.106 | 0.185 |
# | cumulative | 0.030 | 0.136 | 0.321 |
#
# A uniform random number of 0.256 is between 0.136 and 0.321, so the span has length 2. That
# reaches the two tokens, so no other span is sampled.
#
# **MASS** masks one span of half the tokens, $0.5 \cdot 5 = 2.5$, which Python rounds to the even
# number 2. Say it starts at the second token. The decoder's input at a position is the previous
# token if that token is in the span too, and otherwise a mask:
#
# | | mBART | MASS |
# |---|---|---|
# | encoder input | He sleeps She [M] `</s>` `<en>` | She [M] [M] He sleeps |
# | decoder input | `<en>` She drinks milk He sleeps | [M] [M] drinks [M] [M] |
# | targets | She drinks milk He sleeps `</s>` | – drinks milk – – |
#
# The loss of both is the mean **cross-entropy** of the targets. A model that gives each of 19
# vocabulary entries the same probability has a loss of $\ln 19 = 2.944$.
#
# ## In code: training examples and loss
#
# The random numbers are arguments: `rng` is a `random.Random`, and `u` is a uniform random number,
# which selects the length of a span in `poisson` and the start of MASS's span.

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
# Calling the code on the worked example gives the table above, with the same Poisson sample and the
# same loss for equal probabilities:

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
# The functions of `deepdive`, this book's library, give the same examples for the same random
# numbers. They also give the same loss and gradients, here for a small mBART with random weights:

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
print("equal: 200 training examples, the loss of both objectives, and its gradients")

# %% [markdown]
# ## Experiments
#
# **Data.** We use short English and French sentences from Tatoeba: 3 to 10 tokens, all among the
# 1,500 most frequent words of their language. All translations of a sentence form a group, and each
# group is in one part only: the English corpus, the French corpus, the pairs, or the validation or
# test set. So no sentence of one monolingual corpus has a known translation in the other, and no
# test sentence occurs in training. (The next cell prints the sizes.)
#
# **Model and training.** All models are the same small mBART: width 64, 2 + 2 layers, one token per
# word, and 424,960 parameters. Pretraining takes 800 or 2,400 steps of 64 sentences, half of them
# in each language. Fine-tuning takes at most half that number of steps, with 32 pairs each, on 300
# or 3,000 pairs of the **parallel corpus**. It stops when the loss on 200 validation pairs hasn't
# improved for 100 steps, and the best weights are used. A text here is a single sentence, so mBART
# has nothing to permute, and MASS's decoder gets the language token as its first input.
#
# **Metric.** **chrF** compares the character sequences of a translation with those of its
# reference, and **BLEU** its word sequences, both from 0 to 100. Two baselines need no training:
# the same French sentence for every input (mean of 20 sentences), and the English input itself.

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
# ### 1. What does a pretrained model generate before fine-tuning?
#
# Pretraining is over, and the model has seen no translation. In pretraining, the encoder's input
# and the decoder's output were always in the same language. Now the encoder reads an English test
# sentence, and the decoder starts with the French language token.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "What does mBART generate for an English sentence and the French language token?",
    ["French words, mostly those of the translation",
     "a French sentence with a different meaning",
     "a near copy, mostly English"],
    answer=2,
    explain="Probably because about two thirds of the target were visible in the input during "
    "pretraining, and these words already showed the language.",
    key="04_multilingual/before-a-pair",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict
#
# The table has a third objective, *copying*: encoder input and target are the same sentence,
# without corruption. It is a control, which we need in experiment 3.

# %% Languages of the generated words tags=["surprise", "slide"]
table(experiment.language_table(runs), formats={"steps": ",d"}, caption="percentages of the "
      "generated words that occur only in English, or only in French: mean (range) over at least "
      "3 seeds")  # fmt: skip

# %% Two outputs, after the shorter pretraining tags=["surprise"]
table(experiment.examples(runs, data, 0))

# %% [markdown]
# **mBART generates mostly English words, many of them from its input, although the language token
# asks for French.** MASS generates French, but the meaning is different. Probably that's because
# MASS's decoder always had to predict words that weren't in the encoder's input, in the language of
# its first token. [Liu et al. (2021)](https://aclanthology.org/2021.findings-acl.373/) also find
# that large pretrained translation models copy more than models without pretraining. Either way,
# neither model translates: before fine-tuning neither outputs the reference for any test sentence.

# %% [markdown]
# ### 2. Does denoising pretraining help when pairs are few?
#
# Now all models are fine-tuned. The model without pretraining (*none*) may take the steps of both
# stages. But a fine-tuning step has half as many sentences as a pretraining step, so *none* still
# uses less compute. Therefore *none, equal compute* may take more steps, until its compute matches
# mBART's. In the first table, *steps* means steps of pretraining + maximum steps of fine-tuning.
# *TFLOPs* is the training compute, in 10¹² floating-point operations, if all steps are taken. In
# the second table, *steps* means the pretraining steps of mBART. The **confidence interval** is
# Student's t over the training seeds; with three seeds it is wide and can include impossible
# scores. Holm's correction raises the p values because several comparisons are made. A difference
# uses only the seeds that both models have, so it can differ from the difference of two means in
# the first table. Seeds 1 to 3 without pretraining were run on an earlier machine, the others on
# this one; one of the former, repeated on this machine, scored clearly higher with 3,000 pairs.

# %% Translation with and without pretraining tags=["slide"]
short, long = experiment.steps_of(runs)[0], experiment.steps_of(runs)[-1]
few, many = experiment.pair_counts()
heads = [f"chrF, {few:,} pairs", f"chrF, {many:,} pairs", f"BLEU, {many:,} pairs"]
formats = dict.fromkeys(heads, ".1f") | {"TFLOPs": ".1f", "steps": str}
arms = [("none", short), ("mBART", short), ("none", long), (experiment.LONGER, long),
        ("mBART", long)]  # fmt: skip
table(experiment.score_table(runs, data, dict.fromkeys(arms)), formats=formats,
      caption="test scores: mean over seeds [95% t interval]")  # fmt: skip

# %% Differences
FORMATS = {"steps": ",d", "pairs": ",d", "chrF": ".1f", "p (Holm)": ".3f"}
contrasts = [(("mBART", "none"), short), (("mBART", "none"), long),
             (("mBART", experiment.LONGER), long)]  # fmt: skip
table(experiment.difference_table(runs, dict.fromkeys(contrasts)), formats=FORMATS,
      caption="differences in chrF, paired by seed [95% t interval, not corrected]; last column: p "
      "value of the t test, corrected for the comparisons in this table (Holm)")  # fmt: skip

# %% [markdown]
# **Pretraining helps.** After 2,400 steps the gain is 13.3 points with 300 pairs and 13.9 points
# with 3,000. All six intervals exclude zero, and no corrected p value is above 0.013. The extra
# steps of *none, equal compute* don't change that: its chrF is about that of *none*, probably
# because the validation loss stops improving. Even when allowed the same compute, the model without
# pretraining doesn't catch up.
#
# **But 300 pairs aren't enough to translate.** mBART reaches a chrF of 18.4, compared with 12.3 for
# the same French sentence every time. Almost none of its 500 test translations match the reference.
# Without pretraining, the model outputs nearly the same frequent words for every input, and its
# score is even below that baseline.
#
# **With 3,000 pairs, longer training can replace a short pretraining.** After 3,600 steps on pairs,
# *none* is about as good as mBART with 800 steps of pretraining, for about twice the compute. So
# part of the gain at equal steps is faster training.
#
# ### 3. Is it the denoising?
#
# mBART's pretraining has two ingredients: generating sentences in both languages while attending to
# an input, and undoing its corruption. The control *copying* has only the first. Its encoder input
# is the uncorrupted sentence, and it has the same number of target tokens. MASS is here too. It has
# the same number of steps, but only half as many target tokens per step, so at equal steps it is at
# a disadvantage.

# %% tags=["fold"]
predict(
    "After 800 steps and 3,000 pairs, mBART scores 15.0 chrF points higher than no pretraining. "
    "How much of this gain does copying achieve?",
    ["little: nothing has to be learned to copy a sentence",
     "about half of it",
     "nearly all of it"],
    answer=2,
    explain="Probably because copying also trains the decoder to attend to the right input "
    "position at each step. Translation needs that too.",
    key="04_multilingual/copying",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% All objectives tags=["surprise", "slide"]
arms = [(one, steps) for steps in (short, long) for one in ("mBART", "copying", "MASS")]
found = experiment.score_table(runs, data, dict.fromkeys(arms))
for line, (one, steps) in zip(found, dict.fromkeys(arms), strict=True):
    line["target tokens (M)"] = experiment.target_tokens(data, one, steps)
table(found, formats=formats | {"target tokens (M)": ".2f"},
      caption="test scores: mean over seeds [95% t interval]; last column: in pretraining")

# %% Differences between objectives tags=["surprise"]
contrasts = [(pair, steps) for pair, *some in (
    (("mBART", "copying"), short, long), (("copying", "none"), long), (("MASS", "none"), long),
) for steps in some]  # fmt: skip
table(experiment.difference_table(runs, dict.fromkeys(contrasts)), formats=FORMATS,
      caption="differences in chrF, paired by seed [95% t interval, not corrected]; last column: p "
      "value of the t test, corrected for the comparisons in this table (Holm)")  # fmt: skip

# %% [markdown]
# **Copying alone gains more than 12 points over no pretraining**, so it may help nearly as much as
# denoising. After 800 steps, the intervals of mBART − copying include zero with either number of
# pairs, and with 300 pairs the interval is too wide to tell. After 2,400 steps and with 3,000
# pairs, mBART scores 1.7 points higher. That interval excludes zero by itself, but not after
# correction for the comparisons of this table. So whether denoising adds anything to copying is
# open here. (With the first three seeds the difference was larger, and two more seeds reduced it.)
#
# Why does copying help? Probably because it trains the decoder to generate sentences of the
# language, and the cross-attention to find the input position it needs next. Both are useful in
# translation. We didn't test these two explanations separately.
#
# **MASS is inconclusive.** Neither of its differences from *none* remains after correction, and
# with 3,000 pairs its seeds are far apart. It has half of mBART's target tokens, and we ran neither
# more steps nor other learning rates for it. So this comparison isn't evidence against MASS.

# %% [markdown]
# ### Where does the meaning come from?
#
# Monolingual text doesn't say which word is the translation of which. The pairs do. How many words
# of the test sentences occur in them?

# %% Test words that occur in the pairs
for n in experiment.pair_counts():
    print(f"{n:,} pairs: {experiment.coverage(data, n):.0f}% of the English words in the test set")

# %% [markdown]
# Even 300 pairs cover most words, but a word that occurs once or twice isn't learned from one
# example by a model that also has to learn everything else. Probably pretraining leaves fine-tuning
# less to learn: the model already generates sentences in both languages.
#
# ## With the real library
#
# `save` writes our small mBART in the format of transformers, so `MBartForConditionalGeneration`
# loads the same weights. Its `shift_tokens_right` makes the decoder input from the labels: it moves
# the last token, the language token, to the front.

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
# The last line shows the decoder's side of **mBART-50** ([Tang et al.
# 2020](https://arxiv.org/abs/2008.00401)). It puts the language token before the text, in the
# source as well, instead of after it. Its decoder starts with `</s>`, and `forced_bos_token_id`
# makes the language token the first generated token. A model that isn't told the target language
# may write in another one, an error known as **accidental translation** ([Xue et al.
# 2021](https://arxiv.org/abs/2010.11934)). With network access you would run the published model;
# its output isn't shown here.
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
# Set `src_lang` and `tgt_lang`, and pass the translations as `text_target`; the tokenizer then
# returns the labels, and the model shifts them.
#
# ## How it differs
#
# XNLG and VECO of the interactive figure also use parallel sentences in pretraining. The functions
# are in `deepdive.training.objectives`.
#
# | system | encoder input | target | parallel | function |
# |---|---|---|---|---|
# | MASS | one masked span | the span | no | `split_masked_span` |
# | mBART | permuted sentences, infilled spans | entire text | no | `infill` |
# | mT5 | a sentinel for each span | sentinels and spans | no | `corrupt_spans` |
# | XNLG | corrupted sentence, or translation | the sentence | yes | `xnlg_loss` |
# | VECO | masked tokens, translation | masked tokens | yes | `plugged_loss` |
#
# mBART is [BART](../06a_text/04_denoising.ipynb) trained on 25 languages, with language tokens. It
# has one more layer normalization after the encoder and after the decoder, which its authors added
# for training in half precision (section 2.2).
#
# ## Common mistake: split pairs at random
#
# Tatoeba has several translations for many sentences. You shuffle the pairs, use the first as the
# test set, and pretrain on the sentences of the others. No pair is in both parts, but sentences
# are:

# %% Test sentences that occur in training
table([{"split by": name, "English (%)": english, "French (%)": french}
       for name, (english, french) in experiment.leaks(data).items()],
      formats={"English (%)": ".0f", "French (%)": ".0f"},
      caption="test sentences that occur in the remaining pairs")  # fmt: skip

# %% [markdown]
# **Symptom:** no error, but the test is contaminated. A model that was pretrained on these very
# French sentences may generate them more easily, and pretraining gets the credit. **Fix:** group
# all pairs that share a sentence, directly or through other pairs, split the groups, and test on
# one pair of each (`group_translations` of the experiment's module).
#
# ## In practice
#
# - **Set the language token.** A wrong one raises no error. mBART expects it as the first decoder
#   input, mBART-50 as the first generated token.
# - **Read the outputs before you trust a score.** A model that copies its English input and a model
#   that generates unrelated French have nearly the same chrF.
# - **Stop early, on validation pairs.** With few pairs the best weights come early.
# - **Compare with a copying control**, if you claim that the corruption itself helps.
# - **Pretrain yourself only without a suitable model.** For a language in mBART-50, fine-tune the
#   published weights.
#
# ## Summary
#
# How much does denoising pretraining help when you have few translated pairs? In our small model,
# 2,400 steps of mBART's objective improve chrF by 13.3 points [11.0, 15.6] with 300 pairs and by
# 13.9 [7.8, 20.0] with 3,000. With 300 pairs the model doesn't translate yet (chrF 18.4); with
# 3,000 it reaches 51.0. Before fine-tuning, given English input and the French token, mBART
# generates mostly English words.
#
# A control without corruption, copying, comes close. Whether denoising adds something is open: the
# difference is 1.7 points, and it isn't significant after correction.
#
# [Liu et al. (2020)](https://arxiv.org/abs/2001.08210) report gains of up to 12 BLEU points for
# low-resource language pairs. Our gain in BLEU with 3,000 pairs is from 18.6 to 30.3, but on short,
# easy sentences. We didn't reproduce their models, the 25 languages, sentence permutation (our
# texts are single sentences), or unsupervised translation. We also didn't compare MASS at equal
# target tokens.
#
# ## Check your understanding
#
# 1. Why can't MASS's decoder solve its task by copying from the encoder's input?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    None of its target tokens are in the encoder's input: they are masked there.
#
#    </details>
# 2. Why does mBART's mask not reveal the length of a span?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Each span is replaced by one mask, whatever its length. An empty span even inserts a mask where
#    nothing is missing.
#
#    </details>
# 3. The model without pretraining may take 1,200 fine-tuning steps, the others 400. Why?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The others had 800 pretraining steps. With the same total, a difference can't come from fewer
#    steps. To match compute too, it needs still more steps.
#
#    </details>
# 4. What does the difference between mBART and *copying* measure?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The effect of the corruption. Everything else is the same: languages, sentences, targets, and
#    number of steps.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* Compute a training example. Apply text infilling to $a\,b\,c\,d\,e\,f$ with
#    a rate of 0.5. The sampled lengths are 0, 2, and 4, and the masks get positions 0, 2, and 4 of
#    the result, in this order. What is the encoder's input, without special tokens?
#
#    <details><summary>Answer</summary>
#
#    Three tokens are masked, so the last span is truncated to 1. The result is [M] $a$ [M] $d$ [M]
#    $f$: the first mask is an insertion, the second replaces $b\,c$, and the third replaces $e$.
#
#    </details>
# 2. *(on paper, 2 min)* Count MASS's training examples. A sentence has 10 tokens. How many
#    different examples does MASS make of it?
#
#    <details><summary>Answer</summary>
#
#    A span of 5 tokens can start at 6 positions, so there are 6.
#
#    </details>
# 3. *(measure, 30 min)* Measure whether copying random words is enough. In `pretraining_batches` of
#    `deepdive_book.ch04.runs.mbart`, let *copying* use sentences of the same lengths with randomly
#    sampled words of the same language. Run `measure("copying", seed, 800)` with seeds 1, 2, and 3,
#    and compare with the saved runs, seed by seed.
#
#    <details><summary>Answer</summary>
#
#    If the gain over *none* remains, it came from learning which input position to attend to. If it
#    disappears, the sentences themselves matter. We haven't run it.
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
#   of Pre-Training for Neural Machine Translation*: pretrained models copy more.
# - [Chi et al. (2020)](https://arxiv.org/abs/1909.10481), *Cross-Lingual Natural Language
#   Generation via Pre-Training*: XNLG.
# - [Luo et al. (2021)](https://doi.org/10.18653/v1/2021.acl-long.308), *VECO*: cross-attention that
#   can be plugged in.
# - [Xue et al. (2021)](https://arxiv.org/abs/2010.11934), *mT5*: span corruption in 101 languages.

# %% [markdown] tags=["slide"]
# # Pretraining objectives at equal compute: BERT, ELECTRA, MPNet, Splinter
#
# BERT predicts masked tokens, whereas ELECTRA detects replaced ones, MPNet predicts tokens in a
# random order, and Splinter finds repeated spans. The papers on the last three report gains over
# BERT's objective, in Splinter's case for question answering with few examples. If all four
# **pretraining objectives** get the same encoder, text, and compute budget, from which one does the
# encoder learn most?
#
# **What it is.** A pretraining objective turns unlabeled text into inputs, targets, and a loss.
# This page compares **masked language modeling** ([Devlin et al.
# 2019](https://arxiv.org/abs/1810.04805)), **replaced token detection** ([Clark et al.
# 2020](https://arxiv.org/abs/2003.10555)), **masked and permuted language modeling** ([Song et al.
# 2020](https://arxiv.org/abs/2004.09297)), and **recurring span selection** ([Ram et al.
# 2021](https://arxiv.org/abs/2101.00438)).
#
# **What you'll be able to do.** Implement the four losses, count the floating-point operations
# (**FLOPs**) of each objective, compare pretrained encoders by probing and fine-tuning, and explain
# why the losses can't be compared.
#
# <details><summary><b>Short answer</b></summary>
#
# At this scale, masked language modeling (MLM) has a small advantage on one of three tasks. We
# pretrained two-layer encoders with $1.2 \cdot 10^{12}$ FLOPs each and then fitted a linear
# classifier on the hidden states of their first layer. After MLM, this classifier predicts parts of
# speech with an accuracy of 52.8% (95% confidence interval: 51.8% to 53.9%). It reaches 49.7% to
# 50.8% after the other objectives and 48.0% without pretraining. For sentiment and entities, the
# differences are too uncertain to rank the objectives. All of these encoders are weak, and on two
# of the three tasks a baseline without a network beats them. The papers measured their gains with
# far more compute.
#
# </details>
#
# <small>Prerequisites: [masked language modeling](03_masking.ipynb), [probing](13_probing.ipynb) ·
# 25 min · runs on a laptop; results of the long runs are included · book 3.1, 3.2 and 5.3.1</small>

# %% The four objectives [markdown] tags=["slide"] figure="ch03.four_objectives"
# ![One text, the cow saw another cow sleep, as the input of four objectives. Masked language
# modeling: saw and sleep are masked, and are the targets. Replaced token detection: heard replaces
# saw; the target of each token is original or replaced. Permuted language modeling: sleep is
# predicted first, then saw, with sleep visible. Recurring span selection: a question token replaces
# the second cow; the target is the position of the first.](figures/14_objectives.svg)
#
# *One text as the input of each objective (boxes), with the targets above. Tokens in another color
# differ from the text.*

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
# - **Masked language modeling (MLM, BERT).** 15% of the tokens are chosen, and most of them are
#   replaced with `[MASK]`. A classifier over the vocabulary then predicts each chosen token from
#   the text on both sides.
# - **Replaced token detection (ELECTRA).** A small masked language model, the **generator**, fills
#   each masked token with a sample from its predictions. The encoder, called the **discriminator**,
#   then classifies every token as original or replaced. In the figure, the generator replaced `saw`
#   with `heard` but happened to restore `sleep`, so `sleep` counts as original.
# - **Masked and permuted language modeling (MPNet).** The tokens get a random order, and the last
#   15% of this order are predicted one after the other. Each prediction can therefore use the
#   tokens predicted before it, whereas MLM's predictions are independent of each other. XLNet's
#   plain **permuted language modeling** lacks MPNet's masks for the tokens not predicted yet.
#   Tables and code write *permuted LM* for MPNet's objective.
# - **Recurring span selection (Splinter).** If a span occurs more than once, a question token
#   replaces all of its occurrences but one. For each question token, the encoder selects the first
#   and last token of the remaining occurrence.

# %% [markdown] tags=["slide"]
# ## By hand
#
# ### What a prediction costs
#
# Clark et al. argue that MLM is inefficient, because the encoder processes every token but learns
# from only 15% of them. To see how much this could matter, we count the predictions that the
# encoder makes with the same compute, ignoring the output layers. Our example is a text of 20
# tokens, 3 of them masked, and an encoder that needs 10 FLOPs per token.
#
# We assume that ELECTRA's generator costs a tenth of the encoder. In MPNet, each predicted position
# appears three times in the input: as the token itself, which only later predictions may see, as a
# mask, which stands in for the token until it has been predicted, and as a **query**, which makes
# the prediction and to which no token attends. The mask and the query are two additional tokens per
# prediction. For Splinter, the first and last token of a span together count as one prediction.
#
# | objective | FLOPs per text | predictions per text |
# |---|---|---|
# | masked LM | $20 \cdot 10 = 200$ | 3 |
# | replaced tokens | $20 \cdot (10 + 1) = 220$ | 20 |
# | permuted LM | $(20 + 2 \cdot 3) \cdot 10 = 260$ | 3 |
# | recurring spans, one question | 200 | 1 |
#
# The next table gives each objective 28,600 FLOPs, which is a multiple of all three costs. Its last
# column is an upper bound on the information in the targets, since a target with $n$ possible
# values carries at most $\log_2 n$ bits.

# %% Texts and predictions for 28,600 FLOPs tags=["nbval-check-output"]
from math import log2

from deepdive_book.kit.tables import table

budget = 28_600
costs = {"masked LM": (200, 3, 2000), "replaced tokens": (220, 20, 2),
         "permuted LM": (260, 3, 2000), "recurring spans": (200, 1, 20 * 20)}  # fmt: skip
table([{"objective": name, "texts": budget // cost, "predictions": budget // cost * n,
        "bits, at most": round(budget // cost * n * log2(outcomes))}
       for name, (cost, n, outcomes) in costs.items()])  # fmt: skip

# %% [markdown]
# ELECTRA makes six times as many predictions as BERT, but each of its targets has only two values
# and therefore carries at most 1 bit. BERT's target is one of the 2,000 tokens in our vocabulary
# and carries up to $\log_2 2{,}000 = 11$ bits. The two counts therefore favor different objectives,
# and neither measures what the encoder learns, so we need an experiment.
#
# ### The loss of a uniform prediction
#
# A simple test of an implementation is the loss of a model that gives each of $n$ outcomes the same
# probability. The cross-entropy of this uniform prediction is $\ln n$, and its unit is the **nat**
# because the logarithm is natural. For a vocabulary of 2,000 and texts of 20 tokens, the losses
# are:
#
# - masked LM and permuted LM: $\ln 2000 = 7.60$
# - replaced tokens: $\ln 2000 + 50 \ln 2 = 42.26$, because ELECTRA adds the generator's loss and 50
#   times the discriminator's
# - recurring spans: $\ln 20 = 3.00$, the mean of the losses for the first and the last token

# %% [markdown] tags=["slide"]
# ## In code: the four objectives
#
# The next cell computes the loss of each objective. In the functions for MLM and MPNet, `tokens` is
# a batch of token ids, `encode` returns hidden states, and `head` turns them into logits over the
# vocabulary. ELECTRA's networks are `generate` and `discriminate`, whereas the argument `generator`
# is PyTorch's random number generator. For Splinter, we show only the loss, because
# `runs.questions` finds the spans and inserts the question tokens (`runs` is the module with this
# page's experiments).
#
# For MPNet, the matrix `seen` says which token attends to which. In the code, the text and the
# masks see no predicted token (`hidden`). Predicted token t sees the predicted tokens 0 to t
# (`upto`), and its query sees only 0 to t − 1. Each prediction therefore sees every position of the
# text once, as the token itself or as its mask, but never its own target.

# %% Four pretraining objectives tags=["concept"]
import torch
import torch.nn.functional as F


def choose(tokens, special, rate, generator):  # (B, T) -> bool (B, T)
    return (torch.rand(tokens.shape, generator=generator) < rate) & ~torch.isin(tokens, special)


def masked_lm(encode, head, tokens, special, mask, vocabulary, generator):  # BERT
    chosen = choose(tokens, special, 0.15, generator)
    kind = torch.rand(tokens.shape, generator=generator)  # 80% masked, 10% random, 10% unchanged
    ordinary = vocabulary[~torch.isin(vocabulary, special)]
    other = ordinary[torch.randint(len(ordinary), tokens.shape, generator=generator)]
    inputs = torch.where(chosen & (kind < 0.8), mask, tokens)
    inputs = torch.where(chosen & (kind >= 0.8) & (kind < 0.9), other, inputs)
    return F.cross_entropy(head(encode(inputs)[chosen]), tokens[chosen])  # (N, V), N chosen tokens


def replaced_tokens(generate, discriminate, tokens, chosen, mask, generator):  # ELECTRA
    logits = generate(tokens.masked_fill(chosen, mask), chosen)  # (N, V)
    filled = tokens.clone()
    filled[chosen] = logits.detach().softmax(-1).multinomial(1, generator=generator).squeeze(-1)
    replaced = (filled != tokens).float()  # (B, T); a sample equal to the original is original
    loss = F.binary_cross_entropy_with_logits(discriminate(filled), replaced)  # at every token
    return F.cross_entropy(logits, tokens[chosen]) + 50 * loss


def permuted_lm(encode, head, tokens, special, mask, generator):  # MPNet
    ordinary = ~torch.isin(tokens, special)
    T, c = tokens.shape[1], max(1, round(0.15 * ordinary.sum(1).min().item()))
    order = (torch.rand(tokens.shape, generator=generator) + ordinary).argsort(1)  # (B, T)
    last = order[:, -c:]  # (B, c): the predicted positions, in their order
    positions = torch.cat((order, last, last), 1)  # (B, T + 2c): text, masks, queries
    inputs, targets = tokens.gather(1, positions), tokens.gather(1, last)
    inputs[:, T:] = mask
    seen = torch.ones(T + 2 * c, T + 2 * c).bool()  # (who attends, to what)
    upto = torch.ones(c, c).bool().tril()  # target t sees targets 0..t, its query 0..t-1
    hidden = torch.zeros(T - c, c).bool(), torch.zeros(c, c).bool()  # text and masks see no target
    seen[:, T - c : T] = torch.cat((hidden[0], upto, hidden[1], upto.tril(-1)))
    seen[:, T : T + c] = ~seen[:, T - c : T]  # a position is visible as target or as mask
    seen[:, T + c :] = False  # nothing attends to a query
    states = encode(inputs, positions, seen)[:, -c:]  # (B, c, d): the queries
    return F.cross_entropy(head(states).flatten(0, 1), targets.flatten())


def recurring_spans(logits, starts, ends):  # Splinter: (B, K, T, 2), positions (B, K)
    asked = starts > 0  # position 0 is [CLS]: no question
    start, end = logits[asked].unbind(-1)  # (N, T) each
    return (F.cross_entropy(start, starts[asked]) + F.cross_entropy(end, ends[asked])) / 2

# %% [markdown]
# With uniform predictions, the functions return the losses computed by hand:

# %% Uniform predictions tags=["nbval-check-output"]
V, special, mask = 2000, torch.arange(5), 4
vocabulary = torch.arange(V)
draw = torch.Generator().manual_seed(0)
tokens = torch.randint(5, V, (8, 20), generator=draw)
uniform = lambda states: torch.zeros(*states.shape[:-1], V)  # noqa: E731
states = lambda inputs, *_: torch.zeros(*inputs.shape, 4)  # noqa: E731
chosen = choose(tokens, special, 0.15, draw)
starts = torch.tensor([[3]])
losses = {
    "masked LM": masked_lm(states, uniform, tokens, special, mask, vocabulary, draw),
    "replaced tokens": replaced_tokens(lambda inputs, chosen: uniform(states(inputs)[chosen]),
                                       lambda filled: torch.zeros(filled.shape),
                                       tokens, chosen, mask, draw),
    "permuted LM": permuted_lm(states, uniform, tokens, special, mask, draw),
    "recurring spans": recurring_spans(torch.zeros(1, 1, 20, 2), starts, starts + 1),
}  # fmt: skip
print({name: round(loss.item(), 2) for name, loss in losses.items()})

# %% [markdown]
# The same objectives are in `deepdive`, the small library that accompanies this book. With the same
# random weights, our functions and the library give the same loss and the same gradient of the
# token embeddings. In the next cell, `runs.build` returns a model for an objective and the encoder
# inside it:

# %% They equal the library tags=["equals-library"]
from deepdive.core.masks import Dense
from deepdive.training import objectives as library
from deepdive_book.ch03.runs import objectives as runs

text = runs.corpus()
tokens, mask = text.sequences[text.batches[0]], text.tokenizer.id_of("[MASK]")
ids = library.special_ids(text.tokenizer), mask
draw, again = (torch.Generator().manual_seed(3) for _ in range(2))


def equal(ours, theirs, model):
    weights = model.embeddings.tokens.weight
    both = [torch.autograd.grad(loss, weights, retain_graph=True)[0] for loss in (ours, theirs)]
    return torch.allclose(ours, theirs, atol=1e-5) and torch.allclose(*both, atol=1e-5)


model, encoder = runs.build("masked LM", seed=0)
head, vocabulary = model.masked_logits, torch.arange(len(text.tokenizer))
ours = masked_lm(model.bert, head, tokens, *ids, vocabulary, draw)
inputs, _, chosen = library.mask_tokens(tokens, text.tokenizer, generator=again)
theirs = library.cross_entropy(head(model.bert(inputs)[chosen]), tokens[chosen], pad=None)
assert equal(ours, theirs, encoder)

# %% MPNet tags=["equals-library"]
ours = permuted_lm(lambda inputs, at, seen: encoder.permuted(
    inputs, at, Dense(seen.expand(len(inputs), 1, -1, -1))), head, tokens, *ids, draw)  # fmt: skip
order = library.permute(tokens, text.tokenizer, generator=again)
queries = encoder.permuted(order.tokens, order.positions, order.seen)[:, -order.targets.shape[1] :]
assert equal(ours, library.cross_entropy(head(queries), order.targets, pad=None), encoder)

# %% ELECTRA and Splinter tags=["equals-library"]
electra, discriminator = runs.build("replaced tokens", seed=0)
small = electra.generator
theirs = library.electra_losses(electra, tokens, text.tokenizer, generator=again)
_, _, chosen = library.mask_tokens(tokens, text.tokenizer, mask=1.0, random=0.0, generator=draw)
ours = replaced_tokens(lambda inputs, chosen: small.masked_logits(small.bert(inputs)[chosen]),
                       electra, tokens, chosen, mask, draw)  # fmt: skip
assert equal(ours, library.electra_loss(*theirs), discriminator)

splinter, encoder = runs.build("recurring spans", seed=0)
inputs, real, asked, starts, ends = runs.questions(text.batches[0])
logits = splinter(inputs, real, questions=asked)
theirs = library.span_selection_loss(logits, starts, ends, real)
logits = logits.masked_fill(~real[:, None, :, None], -torch.inf)  # padding can't be selected
assert equal(recurring_spans(logits, starts, ends), theirs, encoder)
print("loss and gradient are equal for all four objectives")

# %% [markdown] tags=["slide"]
# ## Experiments
#
# ### What is equal
#
# All objectives share the following settings, except the peak learning rate:
#
# - **Encoder:** 2 layers, hidden size 64, and 2 heads, initialized with a standard deviation of
#   0.1. Only the encoder is evaluated. ELECTRA has two variants, with a generator that is a quarter
#   or half as wide as the discriminator.
# - **Text:** 12,544 sentences of the English Web Treebank in sequences of 128 tokens, with a
#   vocabulary of 2,000.
# - **Compute budget:** 1,200 GFLOPs ($1.2 \cdot 10^{12}$ FLOPs), forward and backward, ELECTRA's
#   generator included. (ELECTRA-Small had $1.4 \cdot 10^{18}$.)
# - **Training:** AdamW with batches of 8 sequences until the budget is spent, which takes 924 to
#   1,337 steps. The learning rate rises for 50 steps and then decays linearly to 0 (code:
#   `runs.pretrain`).
# - **Seeds:** 1 to 5 for all results; two others choose the learning rate.
# - **Peak learning rate:** the best of 0.0001, 0.0003, 0.001, 0.003, and 0.01 by part-of-speech
#   accuracy on development data. If the best was at an edge, we tried one more rate. We compared
#   all rates with one tuning seed and the best two with a second, because for MLM a rate of 0.01
#   was best with the first seed and failed with the second.
#
# | objective | rate also tried | chosen rate |
# |---|---|---|
# | masked LM | 0.03 | 0.003 |
# | replaced tokens, generator 1/4 as wide | 0.00003 | 0.0003 |
# | replaced tokens, generator 1/2 as wide | 0.00003 | 0.0001 |
# | permuted LM | none | 0.001 |
# | recurring spans | none | 0.0003 |
#
# ### 1. What does a step cost?
#
# The more a step costs, the fewer steps fit into the budget. We count the FLOPs while a step runs,
# now with the output layers, and average over four batches.

# %% FLOPs per step tags=["slide"]
rows = []
for objective, narrower in runs.ARMS:
    flops = runs.flops_per_step(objective, narrower)
    name = runs.name(objective, narrower)
    rows.append({"objective": name, "GFLOPs per step": flops / 1e9,
                 "extra cost over BERT": flops / runs.flops_per_step("masked LM") - 1,
                 "steps in the budget": round(runs.BUDGET * 1e9 / flops)})  # fmt: skip
table(rows, formats={"GFLOPs per step": ".2f", "extra cost over BERT": "+.0%"})

# %% [markdown]
# ELECTRA's steps cost 13% more than BERT's with the narrower generator and 32% more with the wider
# one, while the additional tokens make MPNet's steps 35% more expensive. Splinter's steps are the
# cheapest, because a masked span becomes a single question token and there are no logits over the
# vocabulary.

# %% [markdown]
# ### 2. Which encoder has learned most?
#
# A fair comparison uses tasks that no objective was trained on. Our three tasks, parts of speech,
# sentiment, and entities, give five scores:
#
# - **Frozen.** The encoder isn't changed. A **linear probe** (ridge regression) predicts each
#   word's part of speech, such as noun or verb, from the word's hidden state after layer 1 or 2. It
#   is fitted on 300 sentences of the treebank's training part, which are also part of the
#   pretraining text, and tested on 600 sentences of its test part. Another probe predicts the
#   sentiment of movie reviews (rt_polarity, 2,000 to fit and 600 to test) from a review's mean
#   hidden state after layer 2.
# - **Fine-tuned.** The encoder is trained further with a classifier, for 4 epochs of AdamW with
#   batches of 16 and a peak learning rate of 0.001 (`runs.finetuned`). The tasks are the sentiment
#   of the same reviews and **named entity recognition**, which finds names in social media posts
#   (the data set wnut17, with all entity types as one). Entities are scored by **F1**, the harmonic
#   mean of precision and recall, and an entity counts only if its first and last word are correct.
#
# Two baselines show what the scores are worth. The first is **random initialization**, the same
# encoder without pretraining, and the second uses **no network**. For parts of speech, it is a
# lookup table, which gives each word its most frequent tag in the same 300 sentences and tags all
# other words as nouns. For sentiment, it is logistic regression on TF-IDF features (word counts
# that give rare words more weight) of the same 2,000 reviews. We have no such baseline for
# entities.
#
# Each score is a mean over five seeds, followed in brackets by a 95% **confidence interval** for
# this mean (Student's t).

# %% Predict tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The lookup table has only 300 tagged sentences. Where is its tagging accuracy?",
    ["below all pretrained encoders", "between them", "above all of them"],
    answer=2,
    explain="At this budget the encoders have learned little, and knowing each word's most "
    "frequent tag is a strong baseline for parts of speech.",
    key="03_bert/objectives",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The table tags=["surprise"]
found = runs.results()
table(runs.scores(found), formats=dict.fromkeys(runs.SCORES, ".1%"),
      caption="Accuracy of linear probes on the frozen encoder (part of speech; sentiment) and "
      "of the fine-tuned encoder (sentiment), and F1 of entities: mean of five "
      "seeds [95% confidence interval]")  # fmt: skip

# %% [markdown]
# **On the two tasks with such a baseline, it beats every encoder.** For parts of speech, the lookup
# table reaches 74.3%, and the best encoder reaches 52.8%. For sentiment, TF-IDF is better even than
# the fine-tuned encoders. None of these encoders is useful yet, which isn't surprising with our
# budget, since ELECTRA-Small was trained with a million times as much.
#
# For parts of speech, every objective has a higher mean than random initialization, and MLM has the
# highest. Could its lead come from the choice of seeds? The next table shows how much higher each
# encoder's score is than the score after masked LM, so a negative number means that masked LM is
# better. With 25 comparisons, some 95% intervals may exclude zero even if no encoder is better. We
# therefore widen the intervals to 99.8% (Welch's t, Bonferroni's correction), which gives 95%
# confidence for all comparisons together. These intervals cover the variation between seeds, but
# not the choice of test examples.

# %% Differences from masked LM tags=["slide"]
table(runs.differences(found), formats=dict.fromkeys(runs.SCORES, ".1f"),
      caption="Difference from masked LM in percentage points: mean of five "
      "seeds [99.8% confidence interval: 95% for all 25 comparisons together]")  # fmt: skip

# %% [markdown]
# **MLM is ahead in parts of speech.** The first two columns have eight differences between MLM and
# the other objectives, and seven of their intervals exclude zero. The exception is ELECTRA with the
# narrower generator at layer 1. Both intervals of random initialization also exclude zero, so seed
# variation is unlikely to explain MLM's gain over no pretraining.
#
# For sentiment and entities, all intervals include zero, so the table can't rank the objectives
# there. MLM leads only on parts of speech, the task by which we also chose the learning rates. We
# see no gain over masked language modeling on these three tasks. (Splinter's reported gain is for
# question answering with few examples, which we didn't test.) For ELECTRA, experiment 3 shows one
# possible reason.

# %% [markdown]
# ### 3. Does ELECTRA's generator learn?
#
# Replaced token detection depends on how good its generator is. The replacements of a good
# generator fit the sentence, so the discriminator needs the context to detect them. If the
# generator predicts no better than token frequencies, the replacements are random words, and
# detecting random words is a different and easier objective.
#
# The next table evaluates both of ELECTRA's networks after pretraining. The **generator loss** is
# the generator's MLM loss, and its baseline, **token frequencies**, is a model that knows only how
# often each token occurs. **Replaced** is the percentage of masked tokens whose sample differs from
# the original token. **AUC** considers only the masked tokens and is how often the discriminator
# ranks a replaced token above one that the generator happened to restore, so 0.5 is chance. The
# line above the table gives the lowest generator loss of all runs, the tuning runs included.

# %% The generator and the discriminator
lowest = min(row["detection"]["generator loss"] for row in found if "detection" in row)
print(f"lowest generator loss at any learning rate: {lowest:.2f}")
table(runs.generators(found), formats={"replaced": ".1%", "AUC": ".2f"},
      caption="ELECTRA's two networks at masked tokens of the training text (generator loss in "
      "nats): mean of five seeds [95% confidence interval]")  # fmt: skip

# %% [markdown]
# **Neither generator has learned much.** The narrower generator has a loss of 5.99 nats, almost the
# same as the 6.03 nats of the token frequencies, so its replacements are probably close to words
# drawn by frequency. The wider generator hasn't even reached this level. Its learning rate is
# lower, but at no rate that we tried did either width get below 5.97 nats.
#
# Such words should be easy to detect, but with the narrower generator the AUC is at chance, so this
# discriminator can't tell restored from replaced tokens. (We didn't measure it on the unmasked
# tokens.) With the wider generator, it usually ranks the replaced token higher (AUC 0.87). Width
# and learning rate both differ between the two, so we can't say which matters.
#
# **This experiment therefore doesn't test ELECTRA's claim**, because finding words that don't fit
# at all is a different task from ELECTRA's. A test would probably need a generator that is trained
# much longer, until its mistakes are plausible words.

# %% [markdown]
# ## With the real library
#
# Hugging Face's transformers has a class for each of ELECTRA's networks: `ElectraForMaskedLM` is
# the generator, and `ElectraForPreTraining` is the discriminator. However, the library contains no
# code that trains them together. We load two networks from `deepdive` into these classes and check
# that the loss stays the same:

# %% transformers' ELECTRA tags=["nbval-check-output"]
from tempfile import TemporaryDirectory

from transformers import ElectraForMaskedLM, ElectraForPreTraining
from transformers.utils import logging

from deepdive.layers.heads import initialize
from deepdive.models.bert.electra import TINY, pair
from deepdive.published import save

logging.disable_progress_bar()
torch.manual_seed(0)
ours = pair(TINY).eval()
initialize(ours, 0.1)
tokens = torch.randint(5, TINY.vocab_size, (4, 16))
chosen = torch.rand(tokens.shape) < 0.15
theirs = []
for part, kind in ((ours.generator, ElectraForMaskedLM),
                   (ours.discriminator, ElectraForPreTraining)):  # fmt: skip
    with TemporaryDirectory() as folder:
        save(part, folder)
        theirs.append(kind.from_pretrained(folder).eval())
loss = replaced_tokens(lambda inputs, chosen: theirs[0](inputs).logits[chosen],
                       lambda filled: theirs[1](filled).logits, tokens, chosen, 4,
                       torch.Generator().manual_seed(1))  # fmt: skip
expected = replaced_tokens(lambda inputs, chosen: ours.generator(inputs)[chosen],
                           ours.discriminator, tokens, chosen, 4,
                           torch.Generator().manual_seed(1))  # fmt: skip
print("equal:", torch.allclose(loss, expected, atol=1e-5))

# %% [markdown]
# With the following code, you can run the published discriminator on a sentence of yours and see
# which word it considers replaced. The weights can't be downloaded here, so the output isn't shown.
#
# ```python
# from transformers import AutoTokenizer, ElectraForPreTraining
#
# name = "google/electra-small-discriminator"
# tokenizer = AutoTokenizer.from_pretrained(name)
# model = ElectraForPreTraining.from_pretrained(name)
# inputs = tokenizer("the chef ate the meal that he cooked", return_tensors="pt")
# probabilities = model(**inputs).logits.sigmoid()[0]
# for token, p in zip(tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), probabilities):
#     print(token, f"{p:.0%}")
# ```
#
# ## How it differs: at full scale
#
# Clark et al. compared BERT, ELECTRA, and three objectives in between at the size of BERT-Base,
# with the same data and compute. Their table 5 reports scores on **GLUE**, a collection of language
# understanding tasks, and we show four of the five objectives:
#
# | objective | loss at | GLUE |
# |---|---|---|
# | masked LM (BERT) | 15% of the tokens | 82.2 |
# | replaced tokens | 15% of the tokens | 82.4 |
# | masked LM, generator's samples as input | all tokens | 84.3 |
# | replaced tokens (ELECTRA) | all tokens | 85.0 |
#
# With a loss at 15% of the tokens, masked LM and replaced tokens are almost equal. The gain
# therefore comes mostly from a loss at every token, and less from the kind of loss.
#
# ## Common mistake: comparing the losses
#
# In a plot of several loss curves, it's tempting to conclude that the objective with the lowest
# loss is learned best, although the losses differ even before training:

# %% Losses of the four randomly initialized models
import random

first = {}
for objective in runs.OBJECTIVES:
    random.seed(0)
    torch.manual_seed(0)
    loss = runs.loss_of(objective, runs.build(objective, 0)[0], text.batches[0])
    first[objective] = loss.item()
print(", ".join(f"{name} {loss:.1f}" for name, loss in first.items()))
print(f"uniform prediction over {text.length} tokens: {torch.tensor(text.length).log():.2f}")
assert max(first, key=first.get) == "replaced tokens"

# %% [markdown]
# **Symptom:** the losses start at different heights, which depend on the number of outcomes, the
# weights of the terms, and how far the initial predictions are from uniform. ELECTRA's loss is the
# highest because its second term is multiplied by 50. Splinter's is far above $\ln 128 = 4.85$,
# the loss of a uniform prediction over 128 tokens, because its logits are dot products of
# layer-normalized vectors and therefore large from the start. The number of steps isn't comparable
# either, because steps differ in cost.
#
# **Fix:** compare at equal FLOPs, on a task that none of the objectives was trained on.
#
# ## In practice
#
# - **Start from published weights** instead of pretraining, and choose them by task. Splinter's
#   objective has the form of question answering, and its paper reports the largest gains there with
#   few training examples.
# - **Count the whole cost.** A comparison at equal steps leaves out ELECTRA's generator and MPNet's
#   additional tokens.
# - **Use a generator that is narrower than the discriminator**, a quarter to a half of its width.
#   Clark et al. found that larger generators make the discriminator worse.
# - **Tune the learning rate of each objective**, with more than one seed. In our runs the chosen
#   rates differ by a factor of 30.
#
# ## Summary
#
# From which objective does the encoder learn most? With our very small budget, we can answer for
# only one of three tasks, parts of speech, where it is masked language modeling. A probe of its
# first layer predicts 52.8% of the parts of speech correctly [51.8%, 53.9%], against 48.0% [47.2%,
# 48.8%] without pretraining. The other objectives are 2 to 3 points below MLM at that layer. For
# sentiment and entities, the differences are too uncertain to rank the objectives. In parts of
# speech and sentiment, baselines without a network are better than all encoders.
#
# At full scale and equal compute, ELECTRA outperforms BERT, with 85.0 against 82.2 on GLUE (Clark
# et al. 2020, table 5). We didn't reproduce this result and couldn't have, because our generators
# stayed near the level of token frequencies. MPNet's gain didn't appear either, and we didn't test
# question answering, where Splinter's gain was reported. What carries over to any scale is the
# method: count all FLOPs, tune each objective, evaluate on tasks that none was trained on, and show
# the simplest baseline.
#
# ## Check your understanding
#
# 1. Why does ELECTRA need more FLOPs per text than BERT with the same encoder?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The generator processes each text first, and its FLOPs count.
#
#    </details>
# 2. Why does MPNet need more FLOPs per text than BERT?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Each predicted token adds two tokens to the input: a mask, which others see, and the query.
#
#    </details>
# 3. Why does a sample that equals the original token count as original?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The discriminator's input is then the unchanged text. Nothing in it could tell that the token
#    was masked before, so "replaced" would be noise.
#
#    </details>
# 4. Why are the two seeds that chose the learning rates not among the five that are reported?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The rate is the best of several for those seeds, so the score there is biased upward.
#
#    </details>
# 5. What do the two baselines show?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Random initialization shows what the probe and fine-tuning reach without pretraining. The
#    baseline without a network shows what the labeled examples alone are worth: an encoder below it
#    isn't useful yet.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* In the example by hand, let 6 of the 20 tokens be masked. How many
#    predictions does permuted LM make with 28,800 FLOPs, and how many does masked LM?
#
#    <details><summary>Answer</summary>
#
#    A text costs $(20 + 12) \cdot 10 = 320$: 90 texts, 540 predictions. Masked LM: 144 texts, 864.
#
#    </details>
# 2. *(on paper, 3 min)* How many FLOPs per token may ELECTRA's generator take, if ELECTRA is to
#    make five times BERT's number of predictions with the same FLOPs?
#
#    <details><summary>Answer</summary>
#
#    $20 / (10 + g) = 5 \cdot 3 / 10$, so $g = 10 / 3$: a third of the encoder's.
#
#    </details>
# 3. *(code, 20 min)* Clark et al. also train a masked LM on the generator's samples, with a loss at
#    all tokens (and a copy mechanism). Change our `masked_lm` so that it has a loss at every token,
#    and count its FLOPs. What grows, the encoder's cost or the head's?
#
#    <details><summary>Answer</summary>
#
#    Remove both `[chosen]` in the last line and flatten the batch. The encoder's cost stays, but
#    the head now computes logits at every token instead of 15% of them, 6.7 times the number.
#    (Clark et al.'s version also pays for the generator.)
#
#    </details>

# %% The answers, checked tags=["nbval-check-output"]
print(28_800 // 320 * 6, 28_800 // 200 * 6, 20 / (10 + 10 / 3) == 5 * 3 / 10)

# %% [markdown]
# ## Further reading
#
# - [Clark et al. (2020)](https://arxiv.org/abs/2003.10555), *ELECTRA*: section 3.4 and table 5 for
#   the ablations.
# - [Song et al. (2020)](https://arxiv.org/abs/2004.09297), *MPNet*: section 2 and figure 2.
# - [Ram et al. (2021)](https://arxiv.org/abs/2101.00438), *Few-Shot Question Answering by
#   Pretraining Span Selection*: section 3.
# - [Devlin et al. (2019)](https://arxiv.org/abs/1810.04805), *BERT*: section 3.1.

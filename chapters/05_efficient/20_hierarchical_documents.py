# %% [markdown] tags=["slide"]
# # Hierarchical Transformers for documents: HIBERT and Hi-Transformer
#
# A review of 4,000 words has 16 million pairs of words, so encoders often read only its beginning.
# A **hierarchical Transformer** instead encodes each sentence by itself and then encodes the
# sequence of sentence vectors. **Is it better to read the full document through such a hierarchy
# than a part of it with full attention?**
#
# **What it is.** **HIBERT** ([Zhang et al. 2019](https://arxiv.org/abs/1905.06566)) has a sentence
# encoder and a **document encoder** on top of it, and is pretrained by predicting masked sentences.
# **Hi-Transformer** ([Wu et al. 2021](https://arxiv.org/abs/2106.01040)) adds **feedback**: the
# words of each sentence are encoded again, together with the document encoder's state of that
# sentence.
#
# **What you'll be able to do.** Implement a hierarchical encoder in 40 lines, compute its cost and
# the best sentence length, and compare it with truncation, a sliding window, and classifiers that
# ignore word order.
#
# <details><summary><b>Short answer</b></summary>
#
# Probably, in our experiment, but other ways to read everything do as well or better. We trained
# small models from random weights, with equal compute, on film reviews. HIBERT on full reviews
# reaches 81.2%, and a Transformer on the last 512 words, the best cut, 74.9%. With only three
# training runs, this difference could still be zero. A sliding window over the full review is
# about as good as HIBERT, and the mean of all word embeddings, without any Transformer, is better
# than both. The trained models make almost no use of the order of the sentences.
#
# </details>
#
# <small>Prerequisites: [BERT](../03_bert/02_architecture.ipynb), [the cost of
# attention](01_cost.ipynb), [sliding windows](02_sparse_by_position.ipynb) · 18 min · data:
# full-length film reviews · runs on a laptop; results of the long runs are included · book 5.1.5
# and table 1.1</small>

# %% The two encoders [markdown] tags=["slide"] figure="ch05.hierarchical_encoders"
# ![Left, HIBERT: three sentences of four tokens each go through a sentence encoder. The state of
# each last token goes to the document encoder, which returns one state per sentence. Right,
# Hi-Transformer: each of these states replaces the last token's state in its sentence. The words go
# through a second sentence encoder, are pooled to sentence vectors, and those to one
# vector.](figures/20_hierarchical_documents.svg)
#
# *Filled orange: the **end token** of each sentence, whose state is the sentence vector. Pink: the
# sentence's state in the context of the document. Dashed: the words' states are also inputs of the
# second sentence encoder.*

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

# %% Which pairs are scored? tags=["slide"]
from deepdive_book.ch05.figures.hierarchical_encoders import attended_pairs

attended_pairs()

# %% [markdown]
# <details><summary>What you should see: open after you try</summary>
#
# 1. One sentence of 12 words has the 144 scores of full attention, and one score of the only
#    sentence.
# 2. 12 scores of words and 144 of sentences: the document encoder now does all the work.
# 3. Four sentences of three words: 36 + 16 = 52 scores.
#
# </details>
#
# ## By hand: the cost, and one document
#
# **The cost.** A document of $n$ words in $S$ sentences of $T$ words each has $n = S T$. Full
# attention computes $n^2$ scores per layer. The hierarchy computes $S\,T^2 = n\,T$ in the sentence
# encoder, and $S^2 = (n / T)^2$ in the document encoder. Longer sentences make the first term
# larger and the second smaller. The derivative of $n\,T + n^2 / T^2$ is zero at $T^3 = 2 n$.
#
# | words $n$ | $T$ | $S = n / T$ | $n\,T$ | $S^2$ | hierarchy | full attention |
# |---|---|---|---|---|---|---|
# | 12 | 3 | 4 | 36 | 16 | 52 | 144 |
# | 500 | 10 | 50 | 5,000 | 2,500 | 7,500 | 250,000 |
# | 4,000 | 20 | 200 | 80,000 | 40,000 | 120,000 | 16,000,000 |
#
# With 4,000 words, the best sentence length is 20, about that of real sentences, and the hierarchy
# computes 133 times fewer scores.
#
# **One document.** To follow the numbers, suppose that each encoder is a single attention whose
# weights are all equal, so it replaces every state by the mean. There are two sentences with an
# end token of value 0.
#
# | step | sentence 1 | sentence 2 |
# |---|---|---|
# | tokens | 1, 5, 2, 0 | 12, 20, 8, 0 |
# | sentence encoder: state of every token | 2 | 10 |
# | document encoder: state of each sentence | 6 | 6 |
# | Hi-Transformer: this state replaces the end token's | 2, 2, 2, 6 | 10, 10, 10, 6 |
# | second sentence encoder, pooled with equal weights | 3 | 9 |
# | pooled to the document | 6 | |
#
# HIBERT stops in the third line, and its word states never depend on another sentence. In
# Hi-Transformer they do: those of sentence 1 move from 2 to 3, and those of sentence 2 from 10 to
# 9.

# %% [markdown]
# ## In code: a hierarchical encoder
#
# In the comments, B is the number of documents, S the number of sentences of the longest one, T the
# number of tokens of the longest sentence, and N the number of real sentences in all documents. Id
# 0 is padding. The sentences of all documents form one batch of N short texts, and padding
# sentences aren't encoded at all.

# %% HIBERT's two encoders tags=["concept", "slide"]
import torch
from torch import nn


def encoder(d_model, n_heads, d_ff, n_layers):
    layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, dropout=0.0, activation="gelu",
                                       layer_norm_eps=1e-12, batch_first=True)
    return nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)


class HierarchicalEncoder(nn.Module):
    """Encode each sentence by itself, then the sequence of sentence vectors."""

    def __init__(self, vocab_size, d_model, n_heads, d_ff, n_layers, longest=64, sentences=32):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, d_model)
        self.word_position = nn.Embedding(longest, d_model)
        self.sentence_position = nn.Embedding(sentences, d_model)
        self.word_norm, self.sentence_norm = (nn.LayerNorm(d_model, 1e-12) for _ in range(2))
        self.words = encoder(d_model, n_heads, d_ff, n_layers)
        self.document = encoder(d_model, n_heads, d_ff, n_layers)

    def sentence_vectors(self, ids):  # (B, S, T)
        real = ids != 0
        there = real.any(-1)  # (B, S), True = a sentence
        x, real = self.tokens(ids[there]), real[there]  # (N, T, d_model), (N, T)
        x = self.word_norm(x + self.word_position.weight[: x.shape[1]])
        x = self.words(x, src_key_padding_mask=~real)
        ends = x[torch.arange(len(x)), real.sum(-1) - 1]  # (N, d_model), at the end tokens
        empty = ends.new_zeros(*there.shape, ends.shape[-1])  # (B, S, d_model)
        return empty.index_put((there,), ends), there

    def forward(self, ids):  # (B, S, T) -> (B, S, d_model)
        x, there = self.sentence_vectors(ids)
        x = self.sentence_norm(x + self.sentence_position.weight[: x.shape[1]])
        return self.document(x, src_key_padding_mask=~there)

# %% The example by hand tags=["nbval-check-output"]
def mean_attention(x):  # the simplest encoder: every state becomes the mean
    return x.mean(-1, keepdim=True).expand_as(x)


document = torch.tensor([[1.0, 5, 2, 0], [12, 20, 8, 0]])  # (S, T)
words = mean_attention(document)
context = mean_attention(words[:, -1])  # end tokens -> (S,)
print("sentence vectors:", words[:, -1].tolist(), "in the document:", context.tolist())
again = mean_attention(torch.cat([words[:, :-1], context[:, None]], 1))
print("after the feedback:", again.mean(1).tolist(), "document:", again.mean().item())
for n in (12, 500, 4000):
    T = round((2 * n) ** (1 / 3) + 0.1)
    print(f"n = {n}, T = {T}: {n * T + (n // T) ** 2:,} scores instead of {n * n:,}")

# %% [markdown]
# ### HIBERT in the library
#
# `deepdive`, the small library that accompanies this book, has HIBERT as two of its BERT encoders.
# The next cells copy weights into it and compare outputs and gradients, with padding words and a
# padding sentence.

# %% Copy the weights into the library's HIBERT tags=["equals-library"]
from deepdive.models.efficient import hibert

torch.manual_seed(0)
ours = HierarchicalEncoder(32, 32, 4, 64, 2)
library = hibert.hibert(hibert.TINY)
inputs = library.words.embeddings
with torch.no_grad():
    inputs.tokens.weight.copy_(ours.tokens.weight)
    inputs.position.table.weight.copy_(ours.word_position.weight)
    library.document.position.table.weight.copy_(ours.sentence_position.weight)
    for mine, theirs in ((ours.words, library.words), (ours.document, library.document)):
        for a, b in zip(mine.layers, theirs.stack.blocks, strict=True):
            for name in ("weight", "bias"):
                q, k, v = getattr(a.self_attn, f"in_proj_{name}").chunk(3)
                getattr(b.attn.q, name).copy_(q)
                getattr(b.attn.kv, name).copy_(torch.cat([k, v]))
            b.attn.out.load_state_dict(a.self_attn.out_proj.state_dict())
            b.ff.inner.load_state_dict(a.linear1.state_dict())
            b.ff.out.load_state_dict(a.linear2.state_dict())

# %% The same documents through both tags=["equals-library", "nbval-check-output"]
ids = torch.randint(4, 32, (2, 3, 5))
ids[0, 1, 3:] = ids[1, 0, 4:] = ids[1, 2] = 0  # padding words, and a padding sentence
real = ids != 0
a, b = ours(ids)[real.any(-1)], library(ids, real)[real.any(-1)]  # b is deepdive's
assert torch.allclose(a, b, atol=1e-5)
pairs = ((a, ours.tokens.weight, ours.document.layers[0].linear1.weight),
         (b, inputs.tokens.weight, library.document.stack.blocks[0].ff.inner.weight))
gradients = [torch.autograd.grad(y.pow(3).sum(), weights) for y, *weights in pairs]
assert all(torch.allclose(*each, atol=1e-4) for each in zip(*gradients, strict=True))
print("equal outputs and gradients for", len(a), "sentences")

# %% [markdown] tags=["slide"]
# ## Pretraining: masked sentences
#
# BERT masks words. HIBERT masks **15% of the sentences**, and a decoder predicts each of them word
# by word, given the document encoder's state at its position. So this state must contain what the
# other sentences imply about the missing one. As in BERT, not every chosen sentence is replaced by
# `[MASK]` tokens: in our code, 80% are, 10% become another sentence, and 10% stay as they are. (We
# couldn't compare these three shares with the paper.)

# %% Which sentences are masked? tags=["nbval-check-output"]
from deepdive.training.objectives.masked_sentences import mask_sentences

text = torch.arange(4, 16).view(1, 4, 3)  # four sentences of three tokens; 3 is [MASK]
everything = torch.ones_like(text, dtype=torch.bool)
for seed in (0, 1):
    generator = torch.Generator().manual_seed(seed)
    found = mask_sentences(text, everything, 3, generator, rate=0.5)
    print(found.tokens[0].tolist(), "predict:", found.chosen[0].tolist())

# %% [markdown] tags=["slide"]
# ## Hi-Transformer: words are encoded again
#
# In HIBERT, a word's state depends on its own sentence only. In Hi-Transformer, the state $r_i$ of
# sentence $i$ replaces that of its end token, and a second sentence encoder encodes the sentence
# again, so each word attends to a summary of the document. **Attention pooling** (a weighted mean,
# whose weights are a softmax of learned scores) then makes a vector of each sentence's words, and
# one of the sentence vectors. Without the feedback, the model is HIBERT with pooling, as the next
# cell asserts.

# %% Feedback, and what a word depends on tags=["nbval-check-output"]
from deepdive.core.hooks import record
from deepdive.models.efficient import hi_transformer

torch.manual_seed(0)
text = torch.randint(4, 32, (1, 3, 5))
other = text.clone()
other[0, 2, 0] = 4 + (text[0, 2, 0] - 3) % 28  # change a word of the last sentence
for feedback in (False, True):
    model = hi_transformer.hi_transformer(hi_transformer.TINY, feedback=feedback)
    part = "again.blocks.0.stream" if feedback else "words.stack.blocks.1.stream"
    with record(model, part) as before:
        model(text)
    with record(model, part) as after:
        model(other)
    changed = (before[part][0] - after[part][0]).abs().amax(-1) > 1e-7
    print("feedback" if feedback else "no feedback", "- words of sentence 1 that change:",
          int(changed[0].sum()), "of 5")
    if not feedback:
        states, real = hibert.Hibert.forward(model, text), torch.ones(1, 3, dtype=torch.bool)
        assert torch.equal(model(text), model.pool_sentences(states, real))

# %% [markdown] tags=["slide"]
# ## Experiments
#
# ### 1. How fast does the cost grow?
#
# We count the **FLOPs** (floating-point operations) of a forward pass of three untrained encoders
# of width 32 with two layers: full attention, a sliding window of 16 words as in
# [Longformer](02_sparse_by_position.ipynb), and HIBERT with one layer per encoder and sentences of
# 16 tokens. Look at the factor from one row to the next, in which the document gets four times as
# long.

# %% Count the operations tags=["nbval-check-output"]
from deepdive_book.ch05.runs import long_document_tables

costs = long_document_tables.costs(lengths=(256, 1024, 4096))
long_document_tables.cost_table(costs)

# %% Factors from row to row tags=["nbval-check-output"]
from itertools import pairwise

for name in ("full attention", "sliding window", "HIBERT"):
    factors = [after[name] / before[name] for before, after in pairwise(costs)]
    print(f"{name}:", ", ".join(f"{factor:.1f}" for factor in factors))
print(f"full attention / HIBERT: {costs[-1]['full attention'] / costs[-1]['HIBERT']:.0f}")

# %% [markdown]
# **The hierarchy's cost grows almost linearly.** From row to row, the document is four times as
# long, and HIBERT's cost is 4.1 and then 4.3 times as high. It isn't exactly linear because the
# document encoder is quadratic in the number of sentences. The sliding window's factor is 4.0, and
# full attention's is 12.0 and then 14.7. At 4,096 words, full attention costs 50 times as much as
# HIBERT. A factor of about two of this comes from the layers: a word passes through two with full
# attention, and through one in HIBERT.
#
# ### 2. How many words of a review are needed?
#
# The data are 2,000 [film reviews](https://www.cs.cornell.edu/people/pabo/movie-review-data/), half
# of them positive, with 746 words on average. A classifier predicts the label from the first 128,
# 256, or 512 words, the last 512, or the first and last 256. We train two kinds of classifiers. The
# **Transformer** has two layers of width 32, and the mean of its states goes to a linear layer.
# **TF-IDF** counts words and word pairs, gives rare ones more weight, and is followed by logistic
# regression. These reviews are split into words at spaces, so "word" includes punctuation marks.
#
# **Method.** The data come in ten parts. We train on seven of them (1,400 reviews), use one (200)
# for validation, and test on two (400). We do this three times with different parts, so 1,200
# reviews are tested, each once. Each neural network gets the same compute, 400 GFLOP (billions of
# FLOPs), but at most 15 passes over the reviews. All have dropout of 0.2 and weight decay of 0.1.
# The checkpoint with the lowest validation loss is tested. The learning rate of each is chosen on
# the validation reviews of the first split, with a seed of its own. The three cuts of 512 words
# share one rate. For the first 128 words, the best rate, 0.0001, is the lowest that we tried, and
# the validation loss still falls at the end, so this accuracy may be too low. The brackets after a
# mean are its **95% confidence interval**: in 95% of repeated experiments, such an interval
# contains the true mean. This is approximate, because the training reviews of the three splits
# overlap. In the table, go down a column to see what more words add, and across a row to see what
# the model adds.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Logistic regression on TF-IDF reads the first 128 words of each review, or all words. How "
    "many points of accuracy do the other words add?",
    ["fewer than 5", "5 to 15", "more than 15"],
    answer=2,
    explain="Accuracy rises from 65.8% to 86.6%.",
    key="05_efficient/words-of-a-review",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Accuracy by the words that are read tags=["slide", "surprise", "nbval-check-output"]
from deepdive_book.ch05.runs import long_documents

rows, linear = long_documents.load(), long_documents.load_linear()
long_document_tables.cut_table(rows, linear, long_documents.load_longer())

# %% [markdown]
# **The accuracy rises with the number of first words.** TF-IDF has 65.8% with the first 128 words
# and 82.1% with the first 512, and the Transformer 62.2% and 69.9%. With all words, TF-IDF reaches
# 86.6%.
#
# **The end says more than the beginning.** With the last 512 words, TF-IDF reaches 85.8%, nearly as
# much as with all. The Transformer's mean is also higher on the last 512 words than on the first.
# This is probably because reviews end with a verdict, but we didn't test it.
#
# **The Transformer's mean is below TF-IDF's with every cut.** With 512 words, full attention uses
# up the compute in one pass over the reviews. Is that too short? With three times the compute, the
# Transformer on the last 512 words reaches 73.5%, with a wide interval, and its validation loss is
# lowest within the first 1.2 passes. So short training alone doesn't explain the gap. We tested
# neither more data nor pretraining.

# %% [markdown] tags=["slide"]
# ### 3. Is a hierarchy the best way to read it all?
#
# We now compare encoders of full reviews: HIBERT, Hi-Transformer, a sliding window of 16 words with
# one global token, and two simpler networks. **Mean of sentence vectors** is HIBERT without its
# document encoder: the sentence states are averaged and classified. Its sentence encoder has one
# layer, as in HIBERT, or two, so that it has as many layers in all. **Mean of word embeddings** has
# no Transformer layer. It has 256,162 parameters, and the other networks have between 390,000 and
# 430,000, most of them in the embeddings. None is pretrained. The method is that of experiment 2.
# In the table, compare the accuracies first. The last two columns show whether the order of the
# sentences matters.

# %% The same code for a few steps
from deepdive_book.kit.profile import pick

name, few = long_documents.HIBERT, pick(ci=0.2, laptop=4, gpu=40)
row = long_documents.measure(name, split=0, rate=3e-3, seed=0, gflop=few)
print(f"{name}: accuracy {row['accuracy']:.0%} after {row['epochs']} passes")

# %% Encoders of full reviews tags=["slide", "nbval-check-output"]
long_document_tables.whole_table(rows, linear)

# %% Differences, paired by split tags=["nbval-check-output"]
long_document_tables.contrast_table(rows, linear)

# %% [markdown]
# **Reading everything is probably better than the best cut.** HIBERT's accuracy is 81.2%, and the
# Transformer's on the last 512 words is 74.9%, with the same compute. The interval over reviews
# excludes zero. The interval over splits includes it, and three splits are few.
#
# **The gain isn't specific to the hierarchy.** The sliding window, which has no sentences, reaches
# 81.9%. The mean of sentence vectors, which has no document encoder, reaches 81.3%. HIBERT can't be
# distinguished from either. All of them read more words than the cuts do, and they're also cheaper,
# so the same compute allows more passes over the reviews. We can't separate the two reasons.
#
# **The order of the sentences makes almost no difference.** Shuffling the sentences of the test
# reviews changes the accuracy by at most 0.25 points in any split, which is one review of 400. One
# reason may be that the sentence positions of these models start at about 1/50 of the scale of the
# sentence vectors.
#
# **Hi-Transformer's feedback doesn't measurably improve the accuracy.** It also costs about twice
# as much per pass, so the model sees each review fewer times.
#
# **Classifiers that ignore most of the word order are better.** The mean of word embeddings reaches
# 87.1%, and TF-IDF, which counts words and pairs, 86.6%. HIBERT is below both, and both intervals
# of each difference exclude zero. Compute isn't the reason: the mean of embeddings needs less than
# 1 GFLOP. HIBERT's validation loss is lowest after at most two passes over the 1,400 training
# reviews, and then it overfits. Pretraining is the usual fix. We tested neither pretraining nor
# tasks in which the order of sentences matters.
#
# **How to read the two intervals.** Each has the same mean difference. The interval *over splits*
# covers repeated training with other reviews and another seed, but there are only three
# repetitions. The interval *over reviews* covers other test reviews with the same trained models.
# Both are widened because, among six differences, one is likelier to look large by chance (the
# **Bonferroni correction**).

# %% Accuracy by the number of words
long_document_tables.length_figure(rows, linear)

# %% [markdown]
# *Test accuracy by the mean number of words read. Error bars: 95% confidence intervals over the
# splits. Encoders of full reviews read 734 words on average and are shown side by side.*

# %% [markdown]
# ## With the real library: two BERT models of transformers
#
# `transformers` has neither HIBERT nor Hi-Transformer, but HIBERT's encoder is two `BertModel`
# instances: one for the tokens of a sentence, and one that gets the sentence vectors as
# `inputs_embeds`. In the next cells, two random models are saved and loaded into our library's
# HIBERT, and the states of the sentences are compared. The weights are random, so the output says
# nothing about quality. With pretrained weights for the sentence encoder, the code is the same.

# %% HIBERT from two BertModel
from tempfile import TemporaryDirectory

from transformers import BertConfig, BertModel

from deepdive import published

config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=64, max_position_embeddings=64,
                    type_vocab_size=1)  # fmt: skip
words, document = (BertModel(config, add_pooling_layer=False).eval() for _ in range(2))
with TemporaryDirectory() as folder:
    words.save_pretrained(folder)
    sentence_encoder = published.load(folder)
    document.embeddings.token_type_embeddings.weight.data.zero_()
    document.save_pretrained(folder)
    bert = published.load(folder)
document_encoder = hibert.DocumentEncoder(bert.embeddings.position, bert.stack, 32, 0.0, 1e-12)
document_encoder.norm = bert.embeddings.norm
library = hibert.Hibert(sentence_encoder, document_encoder, hibert.TINY).eval()

# %% The same document through both tags=["nbval-check-output"]
ids = torch.randint(4, 32, (1, 3, 5))  # one document of three sentences
with torch.no_grad():
    ends = words(ids[0]).last_hidden_state[:, -1]  # (S, d_model)
    states = document(inputs_embeds=ends[None]).last_hidden_state  # (1, S, d_model)
    print("equal:", torch.allclose(states, library(ids), atol=1e-5), tuple(states.shape))

# %% [markdown]
# ## How it differs
#
# | | truncation | sliding window | HIBERT | Hi-Transformer |
# |---|---|---|---|---|
# | words that are read | the first $m$ | all | all | all |
# | scores, $n$ words, window $w$ | $m^2$ | $n w$ | $n T + (n / T)^2$ | $2\,n T + (n / T)^2$ |
# | a word depends on | the first $m$ words | its neighbors | its sentence | the document |
# | sentences interact | in each layer | if they are near | in the document encoder | and in words |
# | output | words | words | sentences | the document |
#
# [Transformer-XL](16_recurrence_and_memory.ipynb) also reads a long text in parts, but from left to
# right and with cached states. [Longformer](02_sparse_by_position.ipynb) needs no sentences and
# keeps a state for each word in the context of its neighbors.
#
# ## Common mistake: padding sentences in the mean
#
# Documents in a batch have different numbers of sentences, so the shorter ones are padded with
# empty sentences. If you average over all $S$ positions, these count. **Symptom:** no error, but
# the prediction for a document depends on the longest document in its batch, and evaluation with
# batches of one differs from evaluation with larger batches. **Fix:** divide by the number of real
# sentences, and test one document alone and in a batch.

# %% The mistake, and its symptom tags=["nbval-check-output"]
alone = torch.tensor([[2.0, 10.0]])  # sentence states, one number each
batch = torch.tensor([[2.0, 10.0, 0.0, 0.0]])  # next to a document of four sentences
real = torch.tensor([[True, True, False, False]])
print("alone:", alone.mean(1).item(), "in a batch:", batch.mean(1).item())
print("with the mask:", ((batch * real).sum(1) / real.sum(1)).item())

# %% [markdown]
# ## In practice
#
# - **Start with TF-IDF on the full text.** It's cheap, and it was about as accurate as the best
#   model here.
# - **If you must truncate, compare the first words with the last.** In these reviews, the last 512
#   words had the higher mean accuracy for both classifiers. Other kinds of text may differ.
# - **Start from a pretrained encoder.** In practice, the sentence encoder is a pretrained BERT or
#   [sentence encoder](../03_bert/11_sentences.ipynb), and only the document encoder
#   starts from random weights.
# - **Choose the hierarchy if you need one vector or label per sentence**, for example to select
#   sentences for a summary. For labels of words, or for a question whose answer depends on two
#   distant words, a long-context encoder keeps more.
# - **Cut long sentences instead of dropping their ends**, and batch sentences of similar length,
#   because the sentence encoder pads to the longest.
#
# ## Summary
#
# Is it better to read the full document through a hierarchy than a part of it with full attention?
# On our film reviews, probably: with equal compute, HIBERT is 6.3 points more accurate than the
# best truncated Transformer (95% interval 2.9 to 9.7 over reviews, but -1.6 to 14.2 over three
# training runs). At 4,096 words, full attention also costs 50 times as much. But the gain isn't
# specific to the hierarchy: a sliding window and the plain mean of sentence vectors have about the
# same accuracy as HIBERT, and whether reading more words or training for more passes helps, we
# can't say. The mean of word embeddings, with 87.1%, is better than all of them. Hi-Transformer's
# feedback didn't improve on HIBERT.
#
# As reported, [Zhang et al.](https://arxiv.org/abs/1905.06566) pretrain HIBERT on unlabeled
# documents and use it for **extractive summarization**, the selection of sentences. In the paper's
# abstract, HIBERT gains 1.25 ROUGE points over the randomly initialized model on CNN/DailyMail, and
# 2.0 on a version of the New York Times data. (ROUGE measures overlap with a reference summary.)
# [Wu et al.](https://arxiv.org/abs/2106.01040) report that Hi-Transformer is efficient and
# effective on three benchmark data sets. We confirmed HIBERT's lower cost. We tested neither
# pretraining nor large models.
#
# ## Check your understanding
#
# 1. A document has 30 sentences of 20 words. Compute the scores of one layer of full attention, and
#    of one layer of each of HIBERT's encoders.
#
#    <details><summary>Answer: open after you predict</summary>
#
#    $600^2 = 360{,}000$, and $30 \cdot 20^2 = 12{,}000$ plus $30^2 = 900$.
#
#    </details>
# 2. Two documents have the same sentences in a different order. When can HIBERT's mean of sentence
#    states tell them apart?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Only through the sentence positions. Without them, a different order of the sentence vectors
#    gives the same states in a different order, and their mean is the same.
#
#    </details>
# 3. In HIBERT, can the state of the word "it" depend on a noun of the sentence before? In
#    Hi-Transformer?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    In HIBERT it can't, because words attend only to their own sentence. In Hi-Transformer it can,
#    through the document encoder's state, one vector for all that the other sentences say.
#
#    </details>
# 4. Why does HIBERT mask whole sentences rather than words?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    A masked word can often be predicted from its own sentence, so the document encoder would learn
#    little. A masked sentence has to be predicted from the other sentences.
#
#    </details>
# 5. Which baseline shows whether the document encoder is needed, and which whether word order is?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The mean of sentence vectors has no document encoder. The mean of word embeddings and TF-IDF
#    ignore word order (TF-IDF knows pairs of adjacent words).
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* A contract has 32,000 words. Compute the sentence length $T$ with the
#    fewest scores, and the number of scores. How many times fewer than with full attention is that?
#
#    <details><summary>Answer</summary>
#
#    $T^3 = 64{,}000$, so $T = 40$. There are $32{,}000 \cdot 40 = 1{,}280{,}000$ scores of words
#    and $800^2 = 640{,}000$ of sentences, 1,920,000 in all. Full attention computes 1,024,000,000,
#    533 times as many.
#
#    </details>
# 2. *(on paper, 5 min)* Continue the example by hand with a third sentence of tokens 3, 6, 3, 0.
#    Compute the sentence vectors, the document encoder's state, and the three pooled sentence
#    vectors of Hi-Transformer.
#
#    <details><summary>Answer</summary>
#
#    The vectors are 2, 10, and 3, and their mean is 5. The pooled vectors are $(2 + 2 + 2 + 5) / 4
#    = 2.75$, $(30 + 5) / 4 = 8.75$, and $(9 + 5) / 4 = 3.5$.
#
#    </details>
# 3. *(in code, 15 min)* Add Hi-Transformer's feedback to `HierarchicalEncoder`: let
#    `sentence_vectors` also return the words' states, replace the end states, and apply a third
#    encoder. Check that a word of the first sentence depends on the last sentence.
#
#    <details><summary>Answer</summary>
#
#    With word states `x` (N, T, d_model) and sentence states `r` (B, S, d_model): `at =
#    (torch.arange(len(x)), real.sum(-1) - 1)`, then `x = x.index_put(at, r[there])`, and
#    `self.again(x, src_key_padding_mask=~real)`.
#
#    </details>
# 4. *(measure, 10 min of machine time)* Train `long_documents.HIBERT` with `long_documents.measure`
#    on splits 0 to 2, once with the sentences of the training reviews in random order. Report
#    whether the accuracy changes, with the paired interval.
#
#    <details><summary>Answer</summary>
#
#    Pass a `random.Random` as the third argument of `prepare` in `long_documents.loss`. We haven't
#    run it.
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
print(round(64_000 ** (1 / 3)), 32_000 * 40 + 800**2, round(32_000**2 / (32_000 * 40 + 800**2)))
print([(3 * v + 5) / 4 for v in (2, 10, 3)], 30 * 20**2, 30**2)

# %% [markdown]
# ## Further reading
#
# - Zhang, Wei, and Zhou (2019), [*HIBERT: Document Level Pre-training of Hierarchical Bidirectional
#   Transformers for Document Summarization*](https://arxiv.org/abs/1905.06566).
# - Wu et al. (2021), [*Hi-Transformer: Hierarchical Interactive Transformer for Efficient and
#   Effective Long Document Modeling*](https://arxiv.org/abs/2106.01040).
# - Chang et al. (2019), [*Language Model Pre-training for Hierarchical Document
#   Representations*](https://arxiv.org/abs/1901.09128): pretraining at both levels.
# - Pang and Lee (2004), [*A Sentimental
#   Education*](https://arxiv.org/abs/cs/0409058): the film reviews, and a classifier that first
#   selects subjective sentences.

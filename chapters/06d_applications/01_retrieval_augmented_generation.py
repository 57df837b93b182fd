# %% [markdown] tags=["slide"]
# # Retrieval-augmented generation: RAG and REALM
#
# A language model stores facts in its weights, where they can't easily be updated or cited.
# **Retrieval-augmented generation (RAG)** retrieves passages from an **index**, a collection of
# texts, and generates an answer from them. In its original form it sums over the passages.
# **REALM** pretrains the retriever with the same sum. **Can a retriever learn which passage is
# right without ever being told, and how much do retrieved passages help a small language model?**
#
# **What it is.** A **retriever** scores passages $z$ for a question $x$ by dot products of vectors,
# as in DPR (dense passage retrieval). **RAG** ([Lewis et al.
# 2020](https://arxiv.org/abs/2005.11401)) treats the right passage as a **latent variable**, one
# that is never observed: a second model, the **generator**, reads one passage at a time, and the
# answer's probability is summed over passages. **REALM** ([Guu et al.
# 2020](https://arxiv.org/abs/2002.08909)) does this for the masked words of BERT's pretraining, so
# that the retriever learns from plain text.
#
# **What you'll be able to do.** Compute both of RAG's likelihoods by hand, implement them in 20
# lines, say what their gradient teaches the retriever, and measure what retrieval adds to an
# answer.
#
# <details><summary><b>Short answer</b></summary>
#
# It can, if the answers are specific enough. In our generated facts, a retriever that is trained by
# the answers alone finds the right one of 256 passages for 100% of new questions when there are 16
# or 64 different answers, for 93.8% with 8, and for 0.3% with two.
#
# With a retrieved passage, SmolLM2-135M answers 18.0% of 200 questions about Wikipedia paragraphs
# exactly, and 2.0% without one. Keyword search (BM25) and a dense retriever can't be distinguished
# here, and even with the right passage, the model answers only 19.0%.
#
# </details>
#
# <small>Prerequisites: [BERT](../03_bert/02_architecture.ipynb), [sentence
# embeddings](../03_bert/11_sentences.ipynb), [BART](../06a_text/04_denoising.ipynb) · 16 min ·
# data: XQuAD and generated facts · runs on a laptop; results of the long runs are included · blog,
# RAG and REALM</small>

# %% Retrieve, read, sum [markdown] tags=["slide"] figure="ch06d.retrieval_augmented"
# ![From top to bottom: the question goes through the question encoder, and the index of passages
# through the passage encoder. Dot products and a softmax give p(z given x), 0.4 for passage 1 and
# 0.6 for passage 2. A generator reads each passage and gives p(y given x, z). The weighted sum is
# p(y given x). A dashed line leads from the sum back to the question
# encoder.](figures/01_retrieval_augmented_generation.svg)
#
# *RAG with two retrieved passages. The generator reads the question with one passage at a time. The
# gradient of the sum also trains the question encoder, and no label says which passage is right.*

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

# %% [markdown] tags=["slide"]
# ## By hand: two passages, two tokens
#
# The retriever gives the **prior** $p(z \mid x)$, the softmax of its scores. An answer has two
# tokens. The generator's probabilities for them are
#
# | passage | prior $p(z \mid x)$ | $p(y_1 \mid x, z)$ | $p(y_2 \mid x, z, y_1)$ | product |
# |---|---|---|---|---|
# | 1 | 0.4 | 0.5 | 0.5 | 0.25 |
# | 2 | 0.6 | 0.1 | 1.0 | 0.10 |
#
# **RAG-Sequence** assumes that one passage generates the full answer, so it sums products:
# $0.4 \cdot 0.25 + 0.6 \cdot 0.10 = 0.16$.
#
# **RAG-Token** lets each token come from a different passage. It sums over passages at each token
# and multiplies the sums. The first token has $0.4 \cdot 0.5 + 0.6 \cdot 0.1 = 0.26$, the second
# $0.4 \cdot 0.5 + 0.6 \cdot 1.0 = 0.80$, and the answer $0.26 \cdot 0.80 = 0.208$. Both results are
# **marginal likelihoods**, in which the passage is summed out.
#
# **What does the retriever learn?** The **posterior** is the share of each passage in the sum of
# RAG-Sequence: $0.10 / 0.16 = 0.625$ and $0.06 / 0.16 = 0.375$. The derivative of RAG-Sequence's
# $\log p(y \mid x)$ with respect to a passage's score is its posterior minus its prior,
#
# $$\frac{\partial \log p(y \mid x)}{\partial s_z} = p(z \mid x, y) - p(z \mid x),$$
#
# here $+0.225$ and $-0.225$. A gradient step raises the score of passage 1, although the retriever
# preferred passage 2, because passage 1 predicts the answer better than the passages do on average.

# %% [markdown]
# ## In code: retrieve, read, and sum
#
# In the comments, B is the batch size, K the number of retrieved passages, N that of the index, S
# and T numbers of tokens, V the vocabulary size, and d the width of the vectors.

# %% RAG's two likelihoods tags=["concept", "slide"]
import torch


def token_log_probs(logits, targets):  # (B, K, T, V), (B, T)
    """log p of each target token under each passage, (B, K, T)."""
    index = targets[:, None, :, None].expand(*logits.shape[:3], 1)
    return logits.log_softmax(-1).gather(-1, index).squeeze(-1)


def rag_sequence(log_p, scores):  # one passage for the full answer
    return torch.logsumexp(scores.log_softmax(-1) + log_p.sum(-1), 1)  # (B,)


def rag_token(log_p, scores):  # each token may use a different passage
    return torch.logsumexp(scores.log_softmax(-1)[..., None] + log_p, 1).sum(-1)  # (B,)


def retrieve(question, index, k):
    """Scores and positions (B, K) of the k best passages, for vectors (B, d) and (N, d)."""
    return (question @ index.mT).topk(k)


def rag_loss(question, index, passages, generator, source, target, k, likelihood):
    """-log p(target | source): retrieve k passages, read each of them, and sum."""
    scores, found = retrieve(question, index, k)
    joint = torch.cat([passages[found], source[:, None].expand(-1, k, -1)], -1)  # (B, K, S)
    logits = generator(joint.flatten(0, 1), target[:, :-1].repeat_interleave(k, 0))
    log_p = token_log_probs(logits.unflatten(0, scores.shape), target[:, 1:])
    return -likelihood(log_p, scores).mean()

# %% The example by hand tags=["nbval-check-output"]
log_p = torch.tensor([[[0.5, 0.5], [0.1, 1.0]]]).log()
scores = torch.tensor([[0.4, 0.6]]).log().requires_grad_()
for name, likelihood in (("RAG-Sequence", rag_sequence), ("RAG-Token", rag_token)):
    print(f"{name}: {likelihood(log_p, scores).exp().item():.3f}")
(gradient,) = torch.autograd.grad(rag_sequence(log_p, scores).sum(), scores)
print("posterior minus prior:", [round(g, 3) for g in gradient[0].tolist()])

# %% [markdown]
# The softmax runs over the K retrieved passages only, so prior and likelihood are approximations:
# all other passages count as impossible. `topk` isn't differentiable, but the scores of the
# retrieved passages are. So the question encoder and the generator are trained together. RAG keeps
# the vectors of the index fixed, because a change of the passage encoder would require encoding all
# passages again.
#
# **How is an answer generated?** RAG-Token has one distribution for the next token, the sum over
# passages, so greedy decoding and beam search work as usual (`Rag.step` in our library).
# RAG-Sequence has none. One searches with each passage alone, and then ranks all answers that were
# found by their full likelihood (`Rag.rank`).
#
# The next cell compares loss and gradients with `deepdive`, the small library that accompanies this
# book. Its `Rag` has DPR's question encoder and BART as generator.

# %% Equal to the library tags=["equals-library"]
from deepdive.layers import marginal_likelihood
from deepdive.models.generative import rag

torch.manual_seed(0)
model, k = rag.tiny().eval(), 3
questions, target = torch.randint(4, 32, (2, 5)), torch.randint(4, 32, (2, 4))
index, passages = torch.randn(10, 32), torch.randint(4, 32, (10, 6))
pairs = ((rag_sequence, marginal_likelihood.sequence_marginal),
         (rag_token, marginal_likelihood.token_marginal))  # fmt: skip
for ours, library in pairs:
    a = rag_loss(model.encoder(questions), index, passages, model.generator, questions, target, k,
                 ours)  # fmt: skip
    found = retrieve(model.encoder(questions), index, k).indices
    joint = torch.cat([passages[found], questions[:, None].expand(-1, k, -1)], -1)
    log_probs = marginal_likelihood.token_log_probs(model(joint, target[:, :-1]), target[:, 1:])
    b = -library(log_probs, model.scores(questions, index[found])).mean()
    assert torch.allclose(a, b, atol=1e-5)
    weights = [p for p in model.parameters() if p.requires_grad]
    gradients = [torch.autograd.grad(x, weights, allow_unused=True) for x in (a, b)]
    for mine, theirs in zip(*gradients, strict=True):
        assert (mine is None) == (theirs is None)
        assert mine is None or torch.allclose(mine, theirs, atol=1e-4)
print("equal losses and gradients, of the question encoder and of the generator")

# %% [markdown]
# ## REALM: the same sum for masked words
#
# REALM is a masked language model. Its target is a masked word of a plain text, such as "The [MASK]
# is the currency of the United Kingdom". The text is the query, and BERT reads it together with one
# passage at a time, as in **next sentence prediction**: `[CLS] text [SEP] passage [SEP]`. The
# likelihood is summed over passages as in RAG-Sequence. So a passage that helps to predict masked
# words gets a higher score, and pretraining on text trains the retriever. (For several masked
# words, `transformers`' code for REALM multiplied sums instead, as RAG-Token does.)
#
# In pretraining, REALM also updates the passage encoder, so its index becomes outdated. It is
# encoded again every few hundred steps. A **null passage**, an empty text, is always among the
# candidates, for words that need no passage. If the retriever is random at first, no passage helps,
# and nothing is learned. This is the **cold-start problem**. So REALM first trains the retriever
# with the **inverse cloze task**: given a sentence, find the text that it was taken from.

# %% REALM in the library tags=["nbval-check-output"]
from deepdive.models.bert import realm

torch.manual_seed(0)
model = realm.tiny().eval()
text, candidates = torch.randint(4, 32, (2, 4)), torch.randint(4, 32, (2, 3, 5))
word = text[:, 1:2].clone()
text[:, 1] = 3  # the mask token of this small vocabulary
joint = torch.cat([text[:, None].expand(-1, 3, -1), candidates], -1)  # without [CLS] and [SEP]
scores, logits = model.relevance(text, candidates), model(joint)
print("scores", tuple(scores.shape), "logits", tuple(logits.shape))
loss = -rag_sequence(token_log_probs(logits[:, :, 1:2], word), scores).mean()
loss.backward()
size = sum(float(p.grad.norm()) for p in model.embedder.parameters() if p.grad is not None)
print("the loss trains the retriever:", size > 0)

# %% [markdown] tags=["slide"]
# ## Experiments
#
# ### 1. Can a retriever learn from answers alone?
#
# **The data are generated.** A fact is about an entity with two names, (a, b), and has a value.
# There are 16 first names and 16 second names, so 256 entities and 256 passages. A question names
# the same entity by **aliases**, so it shares no word with its passage, and keyword search finds
# nothing. A quarter of the entities are test entities: no training question is about them, but
# their passages are in the index, and each of their names occurs in training, with other partners.
#
# **What was trained.** The retriever is a dual encoder. A text's vector is the sum of the learned
# embeddings of its two names. The generator isn't trained. It copies the value of the passage with
# probability 0.9, and otherwise draws any of the values. *Latent* training uses the sum over all
# 256 passages, and the question's value is the only label, as in RAG and REALM. *Supervised*
# training knows the right passage, as in DPR. Both take 300 steps of Adam with a learning rate of
# 0.01.
#
# With two or four different values, many passages have the right one by chance. What does the
# retriever learn then? In the table, look down the column of latent training, and then compare its
# loss with the lowest possible loss, that of a retriever that always finds a passage with the right
# value.

# %% The same code for a few steps
from deepdive_book.ch06d.runs import latent_retrieval
from deepdive_book.kit.profile import pick

few = pick(ci=20, laptop=300, gpu=300)
row = latent_retrieval.measure("latent", values=16, rate=0.01, seed=0, steps=few)
print(f"recall after {few} steps: {row['recall']:.0%} of new questions")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "There are only two different values, so half of the passages have the right one. For how many "
    "new questions does latent training find the right passage?",
    ["fewer than 5%", "about half", "more than 90%"],
    answer=0,
    explain="It finds 0.3% of them. Many retrievers fit the training answers equally well, and "
    "most of these don't find the right passage for new questions.",
    key="06d_applications/two-values",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Recall by the number of values tags=["slide", "surprise", "nbval-check-output"]
from deepdive_book.ch06d.runs import retrieval_tables

rows = latent_retrieval.load()
retrieval_tables.latent_table(rows)

# %% Three learning rates
retrieval_tables.latent_figure(rows)

# %% [markdown]
# *Recall of the right passage for questions about entities that weren't trained on, by the number
# of different values. Points are means of five seeds.*
#
# **With specific answers, the retriever needs no other label.** With 16 and with 64 values, latent
# training finds the right passage for all test questions with every seed, like supervised training.
# The brackets are **95% confidence intervals**: in 95% of repeated experiments, such an interval
# contains the true mean.
#
# **With unspecific answers, it doesn't find the right passage.** With two values, recall is 0.3%,
# about that of a random choice. With four values it's 20.9%, and the seeds differ widely. This
# isn't a lack of training, because the loss is close to its minimum in every row.
#
# **Why?** A single question can't separate passages with the same value: even with 16 values, about
# 16 passages tie. But each name occurs in many questions, with different partners. With many
# values, few retrievers fit all answers except the one that matches aliases with names. With two
# values, many others fit as well, and training stops at one of them. This is our explanation. The
# table shows only that the losses are equally good and the recalls aren't.
#
# **What this doesn't show.** The generator was nearly perfect from the beginning, so there was no
# cold start. Every passage was scored in every step. In RAG and REALM, only the best few are, and a
# right passage that isn't among them gets no gradient. With 8 values, the plot shows lower recall
# with higher learning rates.

# %% [markdown] tags=["slide"]
# ### 2. How much does a passage help a small language model?
#
# **The data** are the English part of [XQuAD](https://github.com/google-deepmind/xquad), questions
# about paragraphs of Wikipedia. The index has all 240 paragraphs, and we ask one question about
# each of 200 of them. The language model is SmolLM2-135M-Instruct, with weights of 4 bits. It gets
# two solved examples, a passage, and the question, and it isn't trained. So this is the use of
# retrieval that is common today: the passage is part of the prompt, and nothing is summed.
#
# **Which passage?** *BM25* is keyword search: a passage scores for each word of the question that
# it contains, and rare words count more. *Dense* is MiniLM, a pretrained sentence encoder, and
# picks the passage with the highest cosine. *Random* is a wrong passage, and *right passage* is the
# paragraph that the question was written about. Two baselines don't use the language model. They
# copy a part of BM25's passage: the most frequent run of capitalized words, or the sentence that
# shares most words with the question.
#
# **Exact match** counts answers that are equal to the annotated one, without case, articles, and
# punctuation. **F1** gives partial credit for shared words. Compare the rows with the first one,
# and then BM25 with *right passage*, a retriever that makes no mistakes.

# %% Answers by the passage that is read tags=["slide", "nbval-check-output"]
from deepdive_book.ch06d.runs import open_domain_answers

rows = open_domain_answers.load()
retrieval_tables.answers_table(rows)

# %% Differences, question by question tags=["nbval-check-output"]
retrieval_tables.answers_contrasts(rows)

# %% [markdown]
# The intervals of the differences are wider than 95% intervals (the **Bonferroni correction**). If
# one includes zero, we can't tell which of the two is better.
#
# **A retrieved passage helps.** With BM25's passage, 18.0% of the answers match exactly, and 2.0%
# without a passage. The difference of 16.0 points excludes zero. With a random passage it's 1.0%,
# so we see no gain from a wrong one. The most frequent name in BM25's passage reaches only 2.0%.
#
# **Here, the reading step is the limit, and not the retriever.** BM25 finds the right paragraph for
# 94.0% of the questions, and the dense retriever for 91.0%. With the right paragraph, the model
# still answers only 19.0% exactly, 1.0 point more than with BM25's (interval 0.0 to 3.0). So a
# better retriever can't add much. The limit can come from the model, its 4-bit weights, the prompt,
# or the metric, because a correct answer in other words doesn't match. We didn't separate these.
#
# **Dense retrieval isn't shown to be better than BM25.** The difference is -0.5 points, and its
# interval includes zero. These questions favor keywords, because people wrote them while they
# looked at the paragraph, and so often used its words. And 240 paragraphs are easy to search.
# Neither retriever was tuned for these texts.
#
# **Can you trust an answer that is in the passage?** With BM25's passage, 67.0% of the answers are
# contained in it, but only 18.0% match the annotated answer. So this kind of **attribution** shows
# that an answer can be found in the passage, and not that it's right.
#
# **What this doesn't show.** One language model with 135 million parameters, one prompt, and one
# question per paragraph. Larger models read better, and may know answers without a passage.

# %% [markdown]
# ## With the real library: RAG in transformers
#
# `transformers` has `RagSequenceForGeneration` and `RagTokenForGeneration`. The next cell builds a
# small model with random weights, saves it, and loads it into our library. Both get two passages
# and their scores, so nothing is retrieved here. A published checkpoint, such as
# `facebook/rag-sequence-nq`, loads in the same way. To answer questions, it also needs its
# tokenizers and its index of Wikipedia passages.

# %% The same loss in transformers
from tempfile import TemporaryDirectory

import transformers as hf

from deepdive.published import rag as published

asked = hf.DPRConfig(vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                  intermediate_size=64)  # fmt: skip
writer = hf.BartConfig(vocab_size=40, d_model=32, encoder_layers=2, decoder_layers=2,
                    encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                    decoder_ffn_dim=64, max_position_embeddings=32)  # fmt: skip
config = hf.RagConfig.from_question_encoder_generator_configs(asked, writer, n_docs=2)
torch.manual_seed(0)
theirs = hf.RagSequenceForGeneration(
    config, hf.DPRQuestionEncoder(asked), hf.BartForConditionalGeneration(writer)).eval()
with TemporaryDirectory() as folder:
    theirs.save_pretrained(folder)
    ours = published.load(folder)
joint, target = torch.randint(4, 40, (3, 2, 9)), torch.randint(4, 40, (3, 5))
scores = torch.randn(3, 2)
with torch.no_grad():
    a = theirs(context_input_ids=joint.flatten(0, 1), doc_scores=scores, labels=target, n_docs=2,
               context_attention_mask=torch.ones(6, 9, dtype=torch.long)).loss  # fmt: skip
    b = -rag_sequence(token_log_probs(ours(joint, target[:, :-1]), target[:, 1:]), scores)
print("equal losses:", torch.allclose(a, b, atol=1e-4), tuple(a.shape))

# %% [markdown]
# ## How it differs
#
# | | closed book | passage in the prompt | RAG-Sequence | RAG-Token | REALM |
# |---|---|---|---|---|---|
# | passages | none | all in one input | one at a time | one at a time | one at a time |
# | combined by | | attention | a sum per answer | a sum per token | a sum per answer |
# | trained | model | model or nothing | both, fixed index | both, fixed index | both and index |
# | target | answer | answer | answer | answer | masked words, then answers |
# | forward passes of the generator | 1 | 1 | K | K | K |
#
# [Sentence-BERT](../03_bert/11_sentences.ipynb) is trained with labeled pairs of texts, and could
# be the retriever. [Transformer-XL](../05_efficient/16_recurrence_and_memory.ipynb) also reads from
# a memory, but its memory has states of the same text.
#
# ## Common mistake: the mean of the losses
#
# You read each passage, compute a cross-entropy per passage, and average the losses with the
# weights $p(z \mid x)$. Everything runs, and the loss falls. **Symptom:** the retriever becomes
# sure of one passage too early. The gradient of a score grows with the gap between the log
# probabilities, without a bound, whereas posterior minus prior is never larger than 1. **Fix:** sum
# probabilities, not their logarithms: `logsumexp` of log prior plus log likelihood.

# %% The mistake, and its symptom tags=["nbval-check-output"]
log_p = torch.tensor([[[0.9], [1e-6]]]).log()  # passage 2 makes the answer almost impossible
scores = torch.zeros(1, 2, requires_grad=True)
right = -rag_sequence(log_p, scores).sum()
wrong = -(scores.softmax(-1) * log_p.sum(-1)).sum()
for name, loss in (("sum of probabilities", right), ("mean of the losses", wrong)):
    (gradient,) = torch.autograd.grad(loss, scores)
    print(f"{name}: {loss.item():.2f}, gradient of the first score {gradient[0, 0].item():.2f}")

# %% [markdown]
# ## In practice
#
# - **Measure the retriever and the generator separately.** Give the generator the right passage: if
#   the answers don't get better, a better retriever won't help.
# - **Start with BM25.** It needs no training, and it's hard to beat where questions use the words
#   of the passages.
# - **Try a random passage and no passage.** They show what the model knows by itself, and whether
#   it reads at all.
# - **For millions of passages, use an index with approximate search**, such as HNSW in
#   [faiss](https://github.com/facebookresearch/faiss): `index = faiss.IndexHNSWFlat(d, 32,
#   faiss.METRIC_INNER_PRODUCT)`, `index.add(vectors)`, and `scores, found = index.search(questions,
#   k)` (not run here). For some thousands, one matrix product is exact and fast.
# - **Check that a cited passage supports the answer.** That it contains the answer's words isn't
#   enough.
#
# ## Summary
#
# Can a retriever learn which passage is right without being told? Yes, if answers are specific: on
# generated facts, training by answers alone reaches a recall of 100% with 16 and 64 different
# values and 93.8% (81.7% to 100%) with 8, but 20.9% (0.3% to 41.5%) with four and 0.3% with two.
# The gradient of a score is posterior minus prior, so a passage that predicts the answer better
# than average is retrieved more often.
#
# How much do passages help? SmolLM2-135M answers 18.0% of the questions with BM25's passage, and
# 2.0% without (difference 16.0 points, 10.8 to 21.3). Dense retrieval can't be distinguished from
# BM25, and the right passage adds an estimated 1.0 point (0.0 to 3.0).
#
# | fine-tuned, exact match, as reported | Natural Questions | WebQuestions | TriviaQA |
# |---|---|---|---|
# | RAG, open-domain | 44.5 | 45.5 | 68.0 |
# | T5-11B with salient span masking, closed-book | 36.6 | 44.7 | 60.5 |
# | T5-11B, closed-book | 34.5 | 37.4 | 50.1 |
#
# The table has numbers that [Brown et al. (2020)](https://arxiv.org/abs/2005.14165) quote. There,
# RAG is above both closed-book models with 11 billion parameters, on WebQuestions by 0.8 points
# only. The paper on REALM reports 4 to 16 points more than previous methods on three such
# benchmarks. We reproduced neither: we fine-tuned no generator, and our index is small. What we see
# has the same direction for one small model.
#
# ## Check your understanding
#
# 1. For which answers do RAG-Sequence and RAG-Token have the same likelihood?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    For answers of one token (the end token counts), and for any answer if only one passage is
#    retrieved, or if all passages give the tokens the same probabilities.
#
#    </details>
# 2. A passage has a prior of 0.7 and a posterior of 0.7. What is the gradient of its score?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    Zero. It predicts the answer exactly as well as the passages do on average, weighted by their
#    priors.
#
#    </details>
# 3. Why does RAG keep the vectors of the passages fixed?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    If the passage encoder changed, all vectors of the index would be outdated, and encoding
#    millions of passages again takes long. REALM does it every few hundred steps.
#
#    </details>
# 4. With two different values, the latent loss is at its minimum, but recall is near zero. Why is
#    this possible?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The loss is at its minimum with every retriever that finds passages with the right values for
#    the training questions. Only one kind of them finds the right passages for new questions too.
#
#    </details>
# 5. Which comparison shows that reading limits the answers, and not the retriever?
#
#    <details><summary>Answer: open after you predict</summary>
#
#    The right passage against BM25's passage: a retriever without mistakes adds an estimated 1.0
#    point.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 5 min)* Three passages have priors 0.5, 0.25, and 0.25, and an answer of one token
#    has probabilities 0.2, 0.8, and 0.4. Compute the likelihood, the posterior, and the gradient of
#    the scores.
#
#    <details><summary>Answer</summary>
#
#    The likelihood is $0.1 + 0.2 + 0.1 = 0.4$, the posterior $(0.25, 0.5, 0.25)$, and the gradient
#    $(-0.25, 0.25, 0)$.
#
#    </details>
# 2. *(in code, 10 min)* Check numerically that the gradient of `rag_sequence` with respect to the
#    scores sums to zero for random inputs, and explain why.
#
#    <details><summary>Answer</summary>
#
#    Posterior and prior both sum to 1. In other words, adding the same number to all scores doesn't
#    change the softmax.
#
#    </details>
# 3. *(measure, 5 min of machine time)* In experiment 1, let the generator copy with probability 0.5
#    instead of 0.9 (`latent_retrieval.COPY = 0.5`), with 16 values and seeds 0 to 4. Does latent
#    training still find the right passages?
#
#    <details><summary>Answer</summary>
#
#    It does, with every seed: `latent_retrieval.measure("latent", 16, 0.01, seed)["recall"]` is 1.0
#    five times.
#
#    </details>

# %% Exercise answers, checked tags=["nbval-check-output"]
log_p = torch.tensor([[[0.2], [0.8], [0.4]]]).log()
scores = torch.tensor([[0.5, 0.25, 0.25]]).log().requires_grad_()
likelihood = rag_sequence(log_p, scores)
(gradient,) = torch.autograd.grad(likelihood.sum(), scores)
print(round(likelihood.exp().item(), 3), [round(g, 3) + 0.0 for g in gradient[0].tolist()])

# %% [markdown]
# ## Further reading
#
# - Lewis et al. (2020), [*Retrieval-Augmented Generation for Knowledge-Intensive NLP
#   Tasks*](https://arxiv.org/abs/2005.11401).
# - Guu et al. (2020), [*REALM: Retrieval-Augmented Language Model
#   Pre-Training*](https://arxiv.org/abs/2002.08909).
# - Karpukhin et al. (2020), [*Dense Passage Retrieval for Open-Domain Question
#   Answering*](https://arxiv.org/abs/2004.04906): the retriever of RAG.
# - Brown et al. (2020), [*Language Models are Few-Shot
#   Learners*](https://arxiv.org/abs/2005.14165): the table above, next to GPT-3.

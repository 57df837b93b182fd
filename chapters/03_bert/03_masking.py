# %% [markdown] tags=["slide"]
# # Masked language modeling: hide a word, predict it
#
# A language model guesses the next word, so it may look only to the left. But what a word means is
# often said on its right: "the **bank** of the river". How can a network that sees both sides be
# trained to guess, if the answer is one of the words it sees?
#
# <small>Prerequisites: [BERT's architecture](02_architecture.ipynb),
# [masks](../02_transformer/07_masks.ipynb) · 13 min · runs on a laptop · book 3.1, Straka's deck,
# KAIST deck 3</small>

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
# %% tags=["slide", "fold"]
from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.plotting import show

words = ["the", "hungry", "[MASK]", "eat", "near", "the", "barn"]
drawing = [box(340, 40, "hens? geese? cows?", "output", 200), text(100, 40, "the guess", 15)]
drawing.append(text(60, 215, "read:", 15))
for i, word in enumerate(words):
    x = 130 + 105 * i
    drawing.append(box(x, 160, word, "query" if i == 2 else "key", 92))
    if i != 2:
        drawing.append(arrow(x, 142, 340 + 10 * (i - 2), 62, "key"))
drawing += [arrow(340, 142, 340, 62, "query", 3)]
drawing += [text(187, 215, "two words on the left", 14), text(600, 215, "four on the right", 14)]
shown = "Seven words in a row; the third is hidden behind [MASK]. Arrows lead from all words, left "
show(svg(820, 235, drawing), shown + "and right, to the guess above it: hens? geese? cows?")

# %% [markdown]
# *`eat` says that there are several of them, `barn` says where we are. Both stand on the right.*
#
# BERT is trained on gaps. Some words of the input are hidden, and the network must say which
# they were. This is the **masked language model** (MLM); as a test for people it is the *cloze* of
# Taylor (1953). What BERT adds is a rule for what to put in place of the hidden word.
#
# Here is a small BERT that has learned so. It runs in this page:

# %% A model that fills gaps tags=["fold"]
from deepdive_book.ch03.figures.masked_word import masked_word
from deepdive_book.ch03.toys.gap_words import masked_words

toy = masked_words()
weights = sum(p.numel() for p in toy.model.parameters())
print(f"{weights:,} weights, learned from {toy.sentences:,} sentences; on {toy.tested:,} new ones\n"
      f"the hidden word is the first candidate in {toy.right['first 1'][0]:.0%}, "
      f"one of the first five in {toy.right['first 5'][0]:.0%}")  # fmt: skip
masked_word(toy.model, toy.tokenizer, "the ___ are playing in the park .",
      examples=["the ___ is playing in the park .", "my ___ is older than me .",
                "tom plays ___ after school ."])  # fmt: skip

# %% [markdown]
# *Press an example, press a word to hide it, or write a sentence of your own. The first two differ
# in one word, right of the gap: `are` asks for several, `is` for one. The model knows 2,000 words
# of everyday English (from sentences of Tatoeba, CC BY 2.0); what it does not know is dashed.*

# %% [markdown] tags=["slide"]
# ## Why not guess the next word?
#
# With a causal mask, the state at place $t$ has seen the words up to $t$. It is asked for word
# $t + 1$, which it has not seen. Take the mask away, so that it sees both sides, and it has seen
# the answer. Which inputs reach which state? Where the gradient of a state by an input is not zero,
# there is a path.

# %% tags=["nbval-check-output"]
import torch

from deepdive.core.masks import Causal
from deepdive.models.bert.bert import bert

net = bert(vocab_size=12, d_model=16, n_heads=2, n_layers=2, d_ff=32, max_length=8, dropout=0.0)
tokens = torch.randint(12, (1, 6))


def reach(mask=None):
    """(T, T): row t, column j is 1 where input j reaches state t."""
    rows = net.embeddings(tokens, None, torch.arange(6)).detach().requires_grad_()
    states = net.stack(rows, mask=mask)[0]  # (T, d_model)
    sums = (torch.autograd.grad(state.square().sum(), rows, retain_graph=True)[0][0]
            for state in states)  # fmt: skip
    return torch.stack([(gradient.abs().sum(-1) > 1e-12).int() for gradient in sums])


one_sided, two_sided = reach(Causal()), reach()
answer_in_sight = [int(seen.diagonal(1).sum()) for seen in (one_sided, two_sided)]
assert answer_in_sight == [0, 5]
print(f"state t has seen word t + 1: {answer_in_sight[0]} of 5 places with a causal mask, "
      f"{answer_in_sight[1]} of 5 without")

# %% [markdown]
# To look at both sides *and* be asked something, a word must leave the input. ELMo went another
# way: [two one-sided readers](../01_before/10_elmo.ipynb), joined at the end. There neither reader
# ever weighs left against right.

# %% [markdown] tags=["slide"]
# ## By hand
#
# A text of 512 tokens, and the rates of the paper: 15% are chosen, and of these 80% become
# `[MASK]`, 10% a random token, 10% stay what they are.
#
# | | share of all tokens | of 512 |
# |---|---|---|
# | chosen | 15% | 76.8 |
# | seen as `[MASK]` | $0.15 \cdot 0.8 = 12\%$ | 61.4 |
# | seen as a random token | $0.15 \cdot 0.1 = 1.5\%$ | 7.7 |
# | chosen, but seen as itself | $1.5\%$ | 7.7 |
# | not chosen, no loss | 85% | 435.2 |
#
# The loss at one gap: a vocabulary of three, logits $2, 1, 0$. The softmax is $0.665, 0.245,
# 0.090$. If the hidden word was the second, the loss is $-\ln 0.245 = 1.41$. In
# symbols, with $C$ the chosen places and $\tilde x$ the text with its gaps,
#
# $$\mathrm{loss} = -\frac{1}{|C|} \sum_{t \in C} \ln p(x_t \mid \tilde x)$$
#
# Every place of $\tilde x$ is read, but only those of $C$ are asked.

# %%
from deepdive.training.objectives import cross_entropy

logits, hidden = torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([1])
by_hand = -logits.softmax(-1)[0, 1].log()
assert abs(by_hand - 1.408) < 1e-3
assert torch.isclose(cross_entropy(logits, hidden, pad=None), by_hand)
print(f"softmax {[round(p, 3) for p in logits.softmax(-1)[0].tolist()]}, loss {by_hand:.3f}")

# %% [markdown] tags=["slide"]
# ## In code
#
# Ten lines. Special tokens (`[CLS]`, `[SEP]`, padding) are never chosen: there is nothing to learn
# from them.


# %%
def hide(tokens, special, mask_id, ordinary, draw, rate=0.15):
    """The text with its gaps, and which places are asked."""
    chosen = torch.rand(tokens.shape, generator=draw) < rate
    chosen &= ~torch.isin(tokens, special)
    what = torch.rand(tokens.shape, generator=draw)
    place = torch.randint(len(ordinary), tokens.shape, generator=draw)
    inputs = torch.where(chosen & (what < 0.8), mask_id, tokens)
    random = chosen & (what >= 0.8) & (what < 0.9)
    return torch.where(random, ordinary[place], inputs), chosen


# %%
from deepdive.data.documents import generated_documents, web_documents
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives import mask_id, mask_tokens, special_ids
from deepdive_book.kit.profile import banner, pick, profile

real = profile() != "ci"
documents = web_documents()[:200] if real else generated_documents(60)
print(banner("ud_english_ewt (real)" if real else documents.source + " (generated)"))
texts = [sentence for document in documents for sentence in document]
pieces = WordPieceTokenizer.train(texts, pick(ci=400, laptop=2000, gpu=2000),
                                  min_count=50 if real else 2,
                                  specials=BERT_SPECIALS)  # fmt: skip
chosen_text = max(texts[:40], key=lambda text: -abs(len(pieces.tokens(text)) - 22))
tokens = torch.tensor([pieces.encode(chosen_text, bos=True, eos=True)])
print(" ".join(pieces.vocab[i] for i in tokens[0]))

# %% [markdown]
# The library's form returns three tensors: what is read, what is asked for (padding where nothing
# is), and which places were chosen. With the same draws it does the same.

# %%
special, the_mask = special_ids(pieces), mask_id(pieces)
ordinary = torch.tensor([i for i in range(len(pieces)) if i not in special])
ours, where = hide(tokens, special, the_mask, ordinary, torch.Generator().manual_seed(2))
inputs, targets, chosen = mask_tokens(tokens, pieces, generator=torch.Generator().manual_seed(2))
assert torch.equal(ours, inputs)
assert torch.equal(where, chosen)
print("read: ", " ".join(pieces.vocab[i] for i in inputs[0]))
print("asked:", " ".join(pieces.vocab[i] if i else "." for i in targets[0]))

# %% [markdown]
# ## Static and dynamic
#
# The released BERT drew its masks once, before training, ten different ones for each text
# (**static**). RoBERTa draws them at each visit (**dynamic**). It is the same function, called once
# or each time.

# %% tags=["slide", "fold"]
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

draw, visits = torch.Generator().manual_seed(0), []
for _ in range(30):
    inputs, _, chosen = mask_tokens(tokens, pieces, generator=draw)
    kind = torch.where(inputs == the_mask, 1, torch.where(inputs == tokens, 3, 2))
    visits.append(torch.where(chosen, kind, 0)[0])
figure = Figure(figsize=(6.4, 4.2))
axes = figure.add_subplot()
colors = ListedColormap(["#eeeeee", "#0072B2", "#D55E00", "#009E73"])
axes.imshow(torch.stack(visits), cmap=colors, vmin=0, vmax=3, aspect="auto")
axes.set_xticks(range(tokens.shape[1]), [pieces.vocab[i] for i in tokens[0]], rotation=90)
axes.set(ylabel="visit", title="blue: [MASK]; orange: another token; green: itself")
with_alt(
    figure,
    "Thirty visits of one text, a row each. About 15% of the cells are coloured, most of them "
    "blue for [MASK], a few orange for a random token, a few green for the token itself.",
)

# %% [markdown]
# *Each row is one visit under dynamic masking. Under static masking every row would be the first
# one again. The first and the last column, `[CLS]` and `[SEP]`, stay empty.*

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Masks are drawn anew at each visit, 15% of the tokens. After how many visits has half of the "
    "text been asked for at least once?",
    ["4 or 5", "about 7", "about 15"],
    answer=0,
    explain="A token is missed n times in a row with probability 0.85^n: more than one half after "
    "four visits, less after five. Under one static mask 85% of the text is never asked for.",
    key="03_bert/dynamic-masking",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
many = tokens.repeat(200, 1)
ever, share = torch.zeros_like(many, dtype=torch.bool), []
can = ~torch.isin(many, special)
for _ in range(20):
    ever |= mask_tokens(many, pieces, generator=draw)[2]
    share.append(ever[can].float().mean().item())
assert share[2] < 0.5 < share[5]
print("asked at least once, after n visits:",
      {n: f"{share[n - 1]:.0%}" for n in (1, 4, 5, 10, 20)})  # fmt: skip

# %% [markdown] tags=["slide"]
# ## Why 80, 10, 10?
#
# `[MASK]` never occurs when BERT is used. A network trained with nothing else in its gaps has one
# task at `[MASK]`, and at a real word none: no loss ever asks for the top layer's state there.
# (All lower states are trained, as keys and values.) Fine-tuning then reads top-layer states
# without any training of their own. In print this costs little: 100/0/0 loses nothing on MNLI,
# 84.3 against 84.2.
#
# - **10% random** means: a word that you read may be wrong. So the state of every word must be
#   checked against its surroundings.
# - **10% itself** means: it may also be right, so what stands there counts.
#
# How much should a word that is read be trusted? Of what looks ordinary, $85 + 1.5$ parts are
# true and $1.5$ are false:

# %%
def trust(mask, same, random, rate=0.15):
    """Shares: of all ordinary-looking words, those that are true; the same among those asked."""
    true, asked = (1 - rate) + rate * same, same / (same + random) if same + random else 1.0
    return true / (true + rate * random), asked, rate * (same + random)


print("[MASK] same random | true if ordinary | true if asked | words that are asked, of all")
rows = [(0.8, 0.1, 0.1), (1, 0, 0), (0.8, 0, 0.2), (0.8, 0.2, 0), (0, 0.2, 0.8), (0, 0, 1)]
for mask, same, random in rows:
    true, asked, share = trust(mask, same, random)
    told = "never asked" if share == 0 else f"{asked:.0%}"
    print(f"{mask:6.0%} {same:4.0%} {random:6.0%} | {true:16.1%} | {told:>13} | {share:.1%}")
assert abs(trust(0.8, 0.1, 0.1)[0] - 0.865 / 0.88) < 1e-12

# %% [markdown]
# Read the last column: with 100% `[MASK]` no real word is ever asked. With `80/20/0`, without
# random ones, a real word that is asked is always right, so copying it is enough: the loss there
# teaches little. With 100% random the net never knows where the gap is. The paper tried all six;
# [the ablations](05_ablations.ipynb) have its table and ours.

# %% [markdown]
# ### Common mistake: a loss over all places
#
# The targets are at hand for every token, so why not ask for all? Here is a "model" that copies
# its input and knows nothing. Logit 10 on what it reads, 0 on the rest:

# %%
inputs, targets, chosen = mask_tokens(many, pieces, generator=draw)
copied = 10.0 * torch.nn.functional.one_hot(inputs, len(pieces))  # (B, T, V)
everywhere = cross_entropy(copied, many, pad=None)  # wrong: every token is a target
in_gaps = cross_entropy(copied, targets, pad=pieces.pad)  # right: the chosen ones
uniform = torch.tensor(float(len(pieces))).log()
assert everywhere < 2.0 < uniform < in_gaps
print(f"copying: {everywhere:.2f} nats over all places, {in_gaps:.2f} over the gaps; "
      f"guessing blindly: {uniform:.2f}")

# %% [markdown]
# **Symptom:** the loss falls fast and low, and what it learned is to copy. **Fix:** the targets
# of `mask_tokens`, with `pad=tokenizer.pad`, or logits at the chosen places only:
# `cross_entropy(head(states[chosen]), targets[chosen], pad=None)`. The second computes the large
# product with the vocabulary for 15% of the rows.

# %% [markdown]
# ## What the right side is worth
#
# An experiment where we know the answer. In the generated sentences a noun is one or many, and only
# the verb behind it says which. A reader from the left cannot do better than a coin. Can a small
# BERT, trained for a moment with masks, tell `hen` from `hens`?

# %%
from deepdive.models.bert.pretraining import for_pretraining
from deepdive.training import fit
from deepdive.training.optim import adam

toys = [sentence for document in generated_documents(150, seed=1) for sentence in document]
words = WordPieceTokenizer.train(toys, 400, specials=BERT_SPECIALS)
encoded = [words.encode(sentence, bos=True, eos=True) for sentence in toys]
ids = torch.tensor([row for row in encoded if len(row) == 10])  # each word one piece
model = for_pretraining(bert(vocab_size=len(words), d_model=48, n_heads=4, n_layers=2, d_ff=96,
                             max_length=16, dropout=0.0))  # fmt: skip


def gap_loss(model, batch):
    inputs, targets, chosen = mask_tokens(batch, words)  # dynamic: drawn at each visit
    states = model.bert(inputs)
    return cross_entropy(model.masked_logits(states[chosen]), targets[chosen], pad=None)


history = fit(model, ids.split(64), gap_loss, steps=pick(ci=600, laptop=700, gpu=700),
              optimizer=adam(model, lr=3e-3), progress=False)  # fmt: skip
print(f"loss {history.losses[0]:.2f} at the first step, {history.losses[-1]:.2f} at the last")

# %% [markdown]
# We hide the noun of new sentences, and compare two words: the right one and the same noun in the
# other number. Then once more with the verb hidden too.

# %%
from deepdive.data.documents import TOPICS

fresh = [sentence for document in generated_documents(40, seed=2) for sentence in document]
NUMBERS = {who: pair for actors, *_ in TOPICS.values() for pair in actors for who in pair}


@torch.no_grad()
def knows_the_number(hidden):
    """How often the noun (place 3) gets the right number when these places are hidden."""
    right = 0
    for sentence in fresh:
        noun = sentence.split()[2]
        row = torch.tensor([words.encode(sentence, bos=True, eos=True)])
        row[0, hidden] = mask_id(words)
        scores = model.masked_logits(model.bert(row)[0, 3])
        one, many = (scores[words.id_of(who)].item() for who in NUMBERS[noun])
        right += (one, many).index(max(one, many)) == NUMBERS[noun].index(noun)
    return right / len(fresh)


with_verb, without = knows_the_number([3]), knows_the_number([3, 4])
assert with_verb > 0.9
assert abs(without - 0.5) < 0.15
print(f"number of the noun right: {with_verb:.0%} with the verb in sight, {without:.0%} without")

# %% [markdown]
# The verb stands on the right, so no reader from the left could pass one half, however large. In
# real text both sides often say the same, so the right side should be worth less there; this page
# does not measure it.

# %% [markdown] tags=["slide"]
# ## The second task: does B follow A?
#
# Many tasks read two texts: a question and a paragraph, a claim and what is known. Gaps alone
# teach little of how two texts belong together, Devlin et al. thought, and added **next-sentence
# prediction** (NSP). Half of the pairs are a sentence and its successor; in the other half B comes
# from another document. (In BERT a "sentence" is a span of contiguous text, both together up to
# 512 tokens: appendix A.2. This page uses single sentences, which is RoBERTa's SENTENCE-PAIR.) The
# state of `[CLS]` is asked.
#
# By hand: two documents, $a_1 a_2 a_3$ and $b_1 b_2$. For $a_1$ a coin decides between $(a_1, a_2)$
# with label 0, *is next*, and $(a_1, b_1)$ or $(a_1, b_2)$ with label 1. The last sentence of a
# document has no successor and begins no pair. A guess costs $\ln 2 = 0.693$ nats.

# %%
from deepdive.training.objectives import next_sentence_pairs, sentence_order_pairs

small = [["a1", "a2", "a3"], ["b1", "b2"]]
for seed in (0, 1, 3):
    print(next_sentence_pairs(small, seed))
pairs = next_sentence_pairs(documents)
followed = sum(label == 0 for *_, label in pairs) / len(pairs)
assert abs(followed - 0.5) < 0.06
f"{len(pairs):,} pairs of our documents, {followed:.1%} of them true"

# %% [markdown]
# The random B comes from another document, so it mostly has another *topic*. Is the task then about
# what follows, or about what it is about? ALBERT asks instead for the **order** of two neighbors
# (SOP): same topic, half of them exchanged. Let us answer both tasks, on 200 documents drawn
# from the treebank, with a rule that cannot read: "yes, if the two sentences share a longer word".

# %% tags=["fold"]
predict(
    "The rule answers yes when A and B share a word of four letters or more. On which task is it "
    "better than a coin?",
    ["on both", "on NSP only", "on neither"],
    answer=1,
    explain="Sentences of one document share words, so the rule sees topics. Exchanging A and B "
    "changes nothing about what they share: on the order it must be a coin.",
    key="03_bert/nsp-topic",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
def shares_a_word(a, b):
    first, second = ({w for w in text.lower().split() if len(w) > 3} for text in (a, b))
    return bool(first & second)


rule = {}
for name, make in (("NSP", next_sentence_pairs), ("order", sentence_order_pairs)):
    made = make(documents)
    said = [(shares_a_word(a, b), label == 0) for a, b, label in made]
    yes = [sum(answer == fact for answer, fact in said if fact is which) for which in (True, False)]
    true = sum(fact for _, fact in said)
    rule[name] = (yes[0] / true + yes[1] / (len(said) - true)) / 2  # mean over both classes
    print(f"{name:>5}: {rule[name]:.1%} right without reading")
assert rule["NSP"] > 0.55 > rule["order"]

# %% [markdown]
# **What follows from it:** a part of NSP is had for the topic alone, which the gaps teach as well.
# RoBERTa dropped NSP without a loss on its tasks, ALBERT took the order; [the
# ablations](05_ablations.ipynb) have the numbers.

# %% [markdown]
# ## What the real model cannot do
#
# MiniLM, the real BERT of this chapter, fills no gaps. It was trained further as an encoder of
# sentences, and its file was published without the head that scores words.

# %%
from deepdive.published.pretrained import minilm
from deepdive.published.weights import read

names = sorted(read(minilm()))
heads = [name for name in names if name.startswith("cls.") or "predictions" in name]
print(f"{len(names)} tensors; heads for words or next sentences: {heads or 'none'}")
print("at the ends:", names[0], "...", names[-1])
assert heads == []

# %% [markdown]
# Could its own embedding serve as the output layer, since BERT ties the two? The head is more than
# that: a layer, GELU, a norm and a bias stand before the product, and those weights are gone. Who
# wants to fill gaps with a published model takes one whose file has them, such as
# `bert-base-uncased`; it needs a network to be fetched. Here we [train our
# own](04_pretraining.ipynb).

# %% [markdown]
# ## In practice
#
# - **Dynamic masks**: call `mask_tokens` in the loss. It costs nothing, and no text is seen twice
#   alike.
# - **Whole words**: `mask_tokens(..., words=word_ids(tokens, tokenizer))`. With pieces apart, `##s`
#   is often guessed from the rest of its word.
# - **Fix the masks for validation**: give a `generator` with a seed, or two evaluations differ by
#   chance.
# - **15% is a habit.** Wettig et al. (2023) found 40% to work better for large models.
# - **Only 15% of the tokens give a gradient**, so BERT learns less from each text than a
#   left-to-right model, which is asked at every place. Devlin et al. found that it wins all the
#   same.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why can a network that sees both sides not be trained to guess the next word?
#
#    <details><summary>Answer</summary>
#
#    The next word is among its inputs: each state has a path from it, so copying solves the task.
#
#    </details>
# 2. A text has 200 tokens. How many of them, on average, does BERT read as a wrong word?
#
#    <details><summary>Answer</summary>
#
#    $200 \cdot 0.15 \cdot 0.1 = 3$ (a few less, as the random token may be the right one).
#
#    </details>
# 3. What does a network never learn when all chosen tokens become `[MASK]`?
#
#    <details><summary>Answer</summary>
#
#    To make anything of the state at a real word: its loss is asked at `[MASK]` only.
#
#    </details>
# 4. With 80% `[MASK]`, 20% itself and no random token, what is the best answer where an ordinary
#    word is asked, and what does the loss there teach?
#
#    <details><summary>Answer</summary>
#
#    Copy it: it is always true. The loss there teaches copying.
#
#    </details>
# 5. Why is NSP partly solved by a rule that counts shared words, and the order of sentences not?
#
#    <details><summary>Answer</summary>
#
#    The random B has another topic and shares fewer words. Exchanged sentences share the same words
#    as before.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Logits $3, 1, 1, 0$ at a gap, and the first was hidden. The loss?
#
#    <details><summary>Answer</summary>
#
#    $e^3 + 2e + 1 = 26.5$, and $p = 20.1 / 26.5 = 0.757$: 0.28 nats.
#
#    </details>
# 2. *(derive, 5 min)* A word has three pieces. With what probability is it hidden as a whole, when
#    pieces are chosen apart at 15%, and when words are chosen?
#
#    <details><summary>Answer</summary>
#
#    $0.15^3 = 0.3\%$ against 15%.
#
#    </details>
# 3. *(measure, 10 min)* Hide 80% in place of 15% of the toy sentences in `gap_loss`. Does the
#    number still come out right?
#
#    <details><summary>Answer</summary>
#
#    `mask_tokens(batch, words, 0.8)`. Yes. The loss stays higher, since most gaps have too little
#    around them to be known. But in one row of five the verb is read, and in this small language
#    that is enough to learn what it says of the noun.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
asked = cross_entropy(torch.tensor([[3.0, 1.0, 1.0, 0.0]]), torch.tensor([0]), pad=None)
assert abs(asked - 0.28) < 0.005
print(f"answer 1: {asked:.2f} nats; answer 2: {0.15**3:.2%} against 15%")

# %% [markdown]
# ## Summary
#
# To see both sides and still be asked something, some words must leave the input: BERT hides 15% of
# the tokens and is asked for these alone. Of the hidden ones 80% become `[MASK]`, 10% a random
# token and 10% stay, so that states of real words are trained too. The second task, whether B
# follows A, can be solved in part by topic; later models changed or dropped it.
#
# ## Further reading
#
# - Devlin et al. (2019), *BERT*: section 3.1 and appendices A.1, A.2 and C.2.
# - Taylor (1953), *Cloze Procedure*: gaps as a measure of how readable a text is.
# - Liu et al. (2019), *RoBERTa*: section 4, static against dynamic masks, with and without NSP.
# - Lan et al. (2020), *ALBERT*: section 3.1 on the order of sentences.
# - Wettig et al. (2023), *Should You Mask 15% in Masked Language Modeling?*: more is often better.

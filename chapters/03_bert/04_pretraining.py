# %% [markdown] tags=["slide"]
# # Pretraining BERT from scratch
#
# BERT read 3,300 million words, forty times over. We have two hundred thousand, and two slow cores.
# What does a small BERT learn from them: more than which words are frequent, more than which word
# stands beside which?
#
# <small>Prerequisites: [hide a word, and guess it](03_masking.ipynb) · 11 min · runs on a laptop;
# results of the long runs are included · book 3.1, Straka's deck, KAIST deck 3</small>

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

row = ["[CLS]", "it", "was", "[MASK]", "[SEP]", "we", "left", "[SEP]"]
drawing = [box(390, 130, "Bert: every token sees every token", "value", 660)]
for i, word in enumerate(row):
    x = 85 + 87 * i
    drawing.append(box(x, 200, word, "query" if word == "[MASK]" else "key", 80))
    drawing.append(arrow(x, 182, x, 150, "key"))
for i, head, loss in ((0, "next head", "follows? yes / no"), (3, "masked head", "late? good?")):
    x = 85 + 87 * i
    drawing += [arrow(x, 112, x, 92, "output", 3), box(x + 20, 74, head, "output", 120)]
    drawing.append(text(x + 20, 30, loss, 15))
shown = "A pair of sentences goes through Bert. The state of [CLS] feeds the next head, that of "
show(svg(780, 225, drawing), shown + "[MASK] the masked head. The two losses are added.")

# %% [markdown]
# *One pass, two questions: what stood at the gap, and does the second sentence follow the first?
# The losses are added, and one gradient goes down through everything.*
#
# What goes into it, the paper's recipe beside ours:
#
# | | Devlin et al. 2019 | here |
# |---|---|---|
# | text | BookCorpus and Wikipedia, 3,300 M words | web texts of a treebank, 0.2 M words |
# | vocabulary | 30,000 word pieces | at most 2,000 word pieces, learned here |
# | model | 12 layers, 768 wide, 110 M weights | 2 layers, 128 wide |
# | a batch | 256 texts of up to 512 tokens | 32 pairs of up to 48 tokens |
# | steps | 1,000,000 | some thousands |
# | optimizer | Adam, rate 1e-4, weight decay 0.01 | the same, rate 1e-3 |
# | rate | up for 10,000 steps, then down in a line | up for a tenth, then down |
#
# The text is the English Web Treebank: weblogs, newsgroups, mails, reviews and answers.

# %% [markdown] tags=["slide"]
# ## Before training: what is the loss of somebody who knows nothing?
#
# By hand. A vocabulary of $V$ pieces, all equally likely: the loss is $\ln V$; for 2,000 pieces
# $7.60$ nats. The **perplexity** $e^{loss}$ is then $V$: as if one had to choose among all. A pair
# follows or not: $\ln 2 = 0.693$. So a fresh model should start at $7.60 + 0.69 = 8.29$. A model
# that starts elsewhere has a bug.
#
# Two readers who know a little:
#
# - the **unigram** guesses each piece with its share of the text. In a toy text of
#   `a a a b`, it says $p(a) = 3/4$ and pays $-(3 \ln 0.75 + \ln 0.25) / 4 = 0.56$ nats a word;
# - the **bigram** looks at the piece on the left, and a two-sided one at both neighbors:
#   $p(x \mid l, r) \propto p(x \mid l) \, p(r \mid x)$.
#
# These have no training but counting. A BERT that does not pass them has learned less than a table.

# %%
import torch

from deepdive.data.documents import generated_documents, web_documents
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive_book.kit.profile import banner, pick, profile

real = profile() != "ci"
documents = web_documents("train") if real else generated_documents(120, seed=0)
held_out = web_documents("dev") if real else generated_documents(30, seed=1)
data = "ud_english_ewt (real)" if real else f"{documents.source} (generated)"
print(banner(data))
texts = [sentence for document in documents for sentence in document]
pieces = WordPieceTokenizer.train(texts, pick(ci=400, laptop=2000, gpu=2000),
                                  min_count=50 if real else 2, specials=BERT_SPECIALS)  # fmt: skip
print(f"{len(documents)} documents, {len(texts):,} sentences, {len(pieces):,} word pieces")
print(" | ".join(pieces.tokens(texts[min(700, len(texts) - 1)])))

# %% [markdown]
# Pairs, masks and losses are those of [the page before](03_masking.ipynb), and `pair_batches` puts
# pairs of like length together. Each pass over the documents draws new random second sentences; the
# masks are drawn in the loss, at each visit.

# %%
from deepdive.training.objectives import next_sentence_pairs
from deepdive_book.tasks.pretraining import pair_batches, pretraining_losses, pretraining_scores

passes = pick(ci=1, laptop=1, gpu=4, experiment=4)
batches = [
    batch
    for seed in range(passes)
    for batch in pair_batches(next_sentence_pairs(documents, seed), pieces, 32, 48, seed)
]
checks = pair_batches(next_sentence_pairs(held_out), pieces, 32, 48)[:: 1 if not real else 3]
tokens = sum(int(mask.sum()) for _, mask, _, _ in batches)
print(f"{len(batches):,} batches, {tokens:,} tokens; {len(checks)} batches held out")

# %% [markdown]
# ## The model, and its curves
#
# `Traced` is BERT with a table beside its weights: at each step the two losses go into it. The
# table is a buffer, so a checkpoint holds it: a run that was killed goes on with its whole curve.


# %%
from torch import nn

from deepdive.models.bert.bert import bert
from deepdive.models.bert.pretraining import for_pretraining


class Traced(nn.Module):
    def __init__(self, encoder, steps):
        super().__init__()
        self.net = for_pretraining(encoder)
        self.register_buffer("curve", torch.zeros(steps, 2))
        self.register_buffer("step", torch.zeros((), dtype=torch.long))

    def forward(self, batch):
        masked, follows = pretraining_losses(self.net, batch, pieces)
        if self.training:
            self.curve[self.step] = torch.stack([masked, follows]).detach()
            self.step += 1
        return masked + follows


def small(steps, seed=0):
    torch.manual_seed(seed)
    return Traced(bert(vocab_size=len(pieces), d_model=128, n_heads=4, n_layers=2, d_ff=512,
                       max_length=48, dropout=0.0), steps)  # fmt: skip


# %%
model = small(1)
start = pretraining_scores(model.net, checks[:4], pieces)
blind = torch.tensor(float(len(pieces))).log().item()
assert abs(start["masked_loss"] - blind) < 0.3
assert abs(start["next_loss"] - 0.693) < 0.1
print(f"untrained: masked {start['masked_loss']:.2f} (ln V = {blind:.2f}), "
      f"next {start['next_loss']:.3f} (ln 2 = 0.693)")

# %% [markdown]
# One run: train, score on the held-out pairs, and hand back the curve in fifty points. Without
# dropout: with so few steps there is little to overfit.

# %%
from deepdive.training import fit
from deepdive.training.optim import adam, linear
from deepdive_book.kit.experiments import checkpoints, results_path, share, sweep


def train(steps, seed):
    model = small(steps, seed)
    fit(model, batches, lambda net, batch: net(batch), steps=steps, seed=seed,
        optimizer=adam(model, lr=1e-3, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01),
        schedule=linear(1e-3, steps // 10, steps),
        folder=checkpoints("pretraining", f"{steps}-{seed}"), progress=False)  # fmt: skip
    return model


def measure(steps, seed):
    model = train(steps, seed)
    means = model.curve.unflatten(0, (50, -1)).mean(1)  # (50, 2)
    scores = pretraining_scores(model.net, checks, pieces)
    return {
        "curve": [[round(value, 4) for value in row] for row in means.tolist()],
        "pieces": len(pieces),
        **{name: round(value, 4) for name, value in scores.items()},
        "cloze": cloze(model.net),
    }


# %% [markdown]
# Besides numbers a run says what it puts into some gaps. They are chosen before training, and what
# comes out is printed as it is.

# %%
from deepdive.training.objectives import mask_id

GAPS = pick(
    ci=["the old hens _ near the barn .", "the tired _ sleeps near the ship .",
        "the happy sailors wait beside the _ ."],
    laptop=(web := ["i don't _ what you mean .", "the food was _ and the service was great .",
                    "thank you _ much for your help .", "he said that he would _ to the office .",
                    "one of _ most important people in the world"]),
    gpu=web,
)  # fmt: skip


@torch.no_grad()
def cloze(net, best=4):
    """For each text with one gap: the pieces that fill it best, with their probabilities."""
    net.eval()
    found = {}
    for gap in GAPS:
        left, right = (pieces.encode(side) for side in gap.split("_"))
        row = torch.tensor([[pieces.bos, *left, mask_id(pieces), *right, pieces.eos]])
        top = net(row)[0, len(left) + 1].softmax(-1).topk(best)
        said = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        found[gap] = [f"{pieces.vocab[i]} {p:.2f}" for i, p in said]
    return found


# %%
live = pick(ci=[(200, 0)], laptop=[(400, 0)], gpu=[(3000, 0)],
            experiment=[(round(20_000 * share() / 50) * 50, seed) for seed in (0, 1)])  # fmt: skip
points = [{"steps": steps, "seed": seed} for steps, seed in live]
file = results_path("03_bert", "pretraining")
target = file if profile() == "experiment" else None
measured = sweep(measure, points, target, data=data, minutes=60)
for row in measured:
    print(f"{row['steps']:,} steps, seed {row['seed']}: masked {row['masked_loss']:.3f} "
          f"({row['masked_accuracy']:.1%} right), next {row['next_loss']:.3f} "
          f"({row['next_accuracy']:.1%} right)")

# %% [markdown] tags=["slide"]
# ## The tables to beat
#
# Counted on the same text, and asked at the same gaps as BERT. One advantage is left to them: they
# see the true neighbors, while BERT may find a second gap beside the first.


# %%
def pairs_seen(some):
    """Counts (V, V) of a piece on the left and the one on its right, inside a text."""
    counts = torch.zeros(len(pieces), len(pieces))
    for tokens, mask, _, _ in some:
        real_pairs = mask[:, 1:]
        left, right = tokens[:, :-1][real_pairs], tokens[:, 1:][real_pairs]
        counts.index_put_((left, right), torch.ones(len(left)), accumulate=True)
    return counts


counts = pairs_seen(batches[: len(batches) // passes])  # one pass: more would repeat the text
ordinary = torch.ones(len(pieces))
ordinary[[pieces.vocab.index(name) for name in BERT_SPECIALS]] = 0
share_of = counts.sum(0) + 0.1
share_of /= share_of.sum()
unigram = share_of * ordinary / (share_of * ordinary).sum()  # no gap hides a special token
bigram = counts + 50 * share_of  # 50 imagined visits that look at nothing
bigram /= bigram.sum(1, keepdim=True)  # (V, V): row = left piece

# %%
from deepdive.training.objectives import mask_tokens


def table_loss(name):
    """Mean loss at the gaps that `pretraining_scores` asks for: the same seed draws the same."""
    draw, losses = torch.Generator().manual_seed(0), []
    for tokens, *_ in checks:
        chosen = mask_tokens(tokens, pieces, generator=draw)[2]
        b, t = chosen.nonzero(as_tuple=True)
        left, here, right = tokens[b, t - 1], tokens[b, t], tokens[b, t + 1]
        p = {"unigram": unigram.expand(len(b), -1), "bigram": bigram[left],
             "both neighbours": bigram[left] * bigram[:, right].T}[name] * ordinary  # fmt: skip
        losses.append(-(p[torch.arange(len(b)), here] / p.sum(1)).log())
    return torch.cat(losses).mean().item()


tables = {name: table_loss(name) for name in ("unigram", "bigram", "both neighbours")}
assert tables["both neighbours"] < tables["bigram"] < tables["unigram"] < blind

# %% [markdown]
# ## The curves
#
# What is shown is the kept run if its file is there, otherwise the live one.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Early in training the masked loss falls fast, then stays for a while on a plateau before it "
    "falls again. Which table stands at the height of the plateau?",
    ["none: it is at ln V", "the unigram", "both neighbours"],
    answer=1,
    explain="Which pieces are frequent is learned by the bias of the output alone, in a few dozen "
    "steps. To use the neighbours, attention must first find them; until then frequency is the "
    "best answer.",
    key="03_bert/plateau",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
import json

rows, short, kind = measured, [], "live, in this run"
if real and file is not None and file.is_file():
    document = json.loads(file.read_text())
    longest = max(row["steps"] for row in document["rows"])
    rows = [row for row in document["rows"] if row["steps"] == longest]
    short = [row for row in document["rows"] if row["steps"] < longest]
    kind = f"kept: {document['data']}, {document['seconds'] / 60:.0f} minutes in all"
print(f"{rows[0]['steps']:,} steps ({kind})")

# %% tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(8.6, 3.4))
axes, beside = figure.subplots(1, 2)
for row in [*rows, *short[:1]]:
    name = f"BERT, seed {row['seed']}"
    thin = {"lw": 1, "color": "#009E73"} if row in short else {}
    steps_done = [row["steps"] / 50 * (i + 0.5) for i in range(50)]
    masked, follows = zip(*row["curve"], strict=True)
    axes.plot(steps_done, masked, label=name + ", a tenth" * (row in short), **thin)
    beside.plot(steps_done, follows, **thin)
for (name, loss), style in zip(tables.items(), (":", "--", "-."), strict=True):
    axes.axhline(loss, color="#8a8a8a", linestyle=style, label=name)
beside.axhline(0.693, color="#8a8a8a", linestyle=":", label="a coin")
axes.set(ylabel="nats a gap", title="masked loss, training")
beside.set(title="next-sentence loss, training")
for panel in (axes, beside):
    panel.set(xscale="log", xlabel="step")
    panel.legend(fontsize="small", loc="lower left")
with_alt(
    figure,
    "Left: masked loss falls to the unigram's height, rests, goes on. Right: next loss and a coin.",
)

# %% [markdown]
# *Left: the grey lines are the three tables on held-out text; "a tenth" is a run of a tenth of the
# steps, which shows the plateau best. Right: where the line stays at 0.693, the pairs are a coin to
# the model.* Now both on held-out text, as perplexities:

# %%
import math

print(f"{'blind':>22}: {len(pieces):8,.1f}")
for name, loss in tables.items():
    print(f"{name:>22}: {math.exp(loss):8,.1f}")
for row in rows:
    name = f"BERT, seed {row['seed']}"
    print(f"{name:>22}: {math.exp(row['masked_loss']):8,.1f}, {row['masked_accuracy']:.1%} right; "
          f"next: {row['next_accuracy']:.1%} right")
worst = max(row["masked_loss"] for row in rows)
passed = [name for name, loss in tables.items() if worst < loss]
print("BERT is better than:", ", ".join(passed) or "none of the tables")
assert worst < blind
if kind.startswith("kept"):
    assert len(passed) == len(tables)
    assert all(row["masked_loss"] > tables["bigram"] for row in short)

# %% [markdown]
# Read the last line first. A table of neighbors knows nothing beyond the neighbors, but what it
# knows it has from counting, at once. A network must find out by gradients that neighbors matter:
# a tenth of the long run is not enough to pass the table of one neighbor, the whole run passes
# all three.

# %% [markdown]
# ### Right more often, and sure of too much
#
# The right curve falls and falls. Is the second task learned, then? Ask the held-out pairs:

# %%
for row in rows:
    last = row["curve"][-1]
    print(f"seed {row['seed']}: next loss {last[1]:.2f} at the end of training, "
          f"{row['next_loss']:.2f} held out ({row['next_accuracy']:.0%} right); "
          f"masked {last[0]:.2f}, {row['masked_loss']:.2f} held out")  # fmt: skip
    if kind.startswith("kept"):
        assert row["next_loss"] > 0.693 > last[1]

# %% [markdown]
# In the kept runs about two pairs of three are judged rightly, and still the held-out loss is
# *above* a coin's 0.693: where the model errs, it is sure. It has learned the training pairs by
# heart, most of them read in every pass. The gaps are new at each visit. There the held-out loss is
# higher than in training, too, and still far below that of the best table. A training curve alone
# cannot show this.

# %%
for row in rows[:1]:
    for gap, said in row["cloze"].items():
        print(f"{gap}\n      {', '.join(said)}")

# %% [markdown]
# As they came out, not chosen. Look for two things: does the *kind* of word fit (a verb where one
# must stand), and does the *meaning*? In *would _ to the office* every guess is a verb, and none of
# them names a way to get there. Five gaps show what to look for, and no more.

# %% [markdown]
# ### Common mistake: masks that no longer change
#
# Masks drawn once, in front of the loop, make a smaller task of it: the same gaps each time. On a
# small text the network learns the answers by heart.


# %%
from deepdive_book.tasks.pretraining import pretraining_scores as scores

few = batches[:4]
fixed = [mask_tokens(batch[0], pieces, generator=torch.Generator().manual_seed(1)) for batch in few]


def static_loss(model, i):
    inputs, targets, chosen = fixed[i]
    states = model.net.bert(inputs, few[i][1], few[i][2])
    logits = model.net.masked_logits(states[chosen])
    return torch.nn.functional.cross_entropy(logits, targets[chosen])


model, steps = small(1), pick(ci=120, laptop=240, gpu=240)
fit(model, [0, 1, 2, 3], static_loss, steps=steps, optimizer=adam(model, lr=2e-3), progress=False)
with torch.no_grad():
    at_the_same = sum(static_loss(model, i).item() for i in range(4)) / 4
at_others = scores(model.net, few, pieces, seed=5)["masked_loss"]
print(f"same texts: {at_the_same:.2f} nats at the gaps of training, {at_others:.2f} at others")
assert at_the_same < at_others

# %% [markdown]
# **Symptom:** the training loss goes far below the held-out one, on texts it has read a
# hundred times. **Fix:** dynamic masks: `mask_tokens` inside the loss.

# %% [markdown]
# ## The long run
#
# Two seeds of 20,000 steps each, by one command that can be stopped and started again:
#
# ```sh
# deepdive run 3.4 --profile experiment               # up to an hour on two cores
# deepdive run 3.4 --profile experiment --share 0.1   # a tenth of the steps
# ```
#
# ## In practice
#
# - **Check the first loss**: $\ln V + \ln 2$. Then overfit one batch. Then train.
# - **Stay on the plateau.** The masked loss rests near the unigram before it falls. Whoever
#   stops there concludes that BERT does not learn.
# - **Warm up.** Post-norm stacks [want a slow start](../02_transformer/09_residuals_norms.ipynb).
# - **Bucket by length.** A batch of 20-token pairs costs half of one of 40.
# - **Do not pre-train** if you can have a pre-trained model: [the next pages](06_weights.ipynb) do.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. A fresh BERT with 30,000 pieces: what loss should it show at its first step, both tasks added?
#
#    <details><summary>Answer</summary>
#
#    $\ln 30000 + \ln 2 = 10.3 + 0.7 = 11.0$.
#
#    </details>
# 2. Why is there a plateau at the unigram's loss?
#
#    <details><summary>Answer</summary>
#
#    Frequencies need the output's bias only. Anything better needs attention that finds neighbors.
#
#    </details>
# 3. Which advantage do the tables have over BERT at the same gaps?
#
#    <details><summary>Answer</summary>
#
#    They see the true neighbors; for BERT a neighbor may itself be hidden or replaced.
#
#    </details>
# 4. Why is the curve kept as a buffer of the module?
#
#    <details><summary>Answer</summary>
#
#    Buffers are saved with the weights, so a run that is resumed has its whole curve.
#
#    </details>
# 5. May perplexities of two models with different vocabularies be compared?
#
#    <details><summary>Answer</summary>
#
#    No. A piece of a small vocabulary is shorter and easier to guess.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* A masked loss of 3.0 nats: what perplexity, and what does it mean?
#
#    <details><summary>Answer</summary>
#
#    $e^3 = 20$: as unsure as a fair choice among 20 pieces.
#
#    </details>
# 2. *(measure, 10 min)* Leave out NSP: return `masked` alone in `Traced.forward`. What changes in
#    the masked loss after the live steps?
#
#    <details><summary>Answer</summary>
#
#    Train with two seeds each before you answer. [The ablations](05_ablations.ipynb) do it for you.
#
#    </details>
# 3. *(derive, 4 min)* A batch has 32 rows of 48 tokens, a fifth of them padding or special. How
#    many gaps does a step ask, and how many do 20,000 steps ask?
#
#    <details><summary>Answer</summary>
#
#    $32 \cdot 48 \cdot 0.8 \cdot 0.15 = 184$ a step, 3.7 million in all; each word of a text of
#    0.2 million is asked some eighteen times.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to question 1 and exercise 1, checked.
assert abs(math.log(30_000) + math.log(2) - 11.0) < 0.01
assert round(math.exp(3.0)) == 20
print("both hold")

# %% [markdown]
# ## Summary
#
# Pre-training is one loop: draw masks, fill gaps, ask whether B follows, add the losses. A fresh
# model pays $\ln V$ a gap, soon the unigram's price, and must then find its neighbors by itself.
# Tables of counts say how much of what it learned is more than frequency and neighborhood.
#
# ## Further reading
#
# - Devlin et al. (2019), *BERT*: appendix A.2, the recipe in half a page.
# - Liu et al. (2019), *RoBERTa*: sections 3 and 4, what happens when one trains longer.

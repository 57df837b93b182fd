# %% [markdown] tags=["slide"]
# # ALBERT and DistilBERT: parameter sharing and distillation
#
# ALBERT has a tenth of BERT base's parameters, DistilBERT three fifths. One does as much work as
# BERT, the other half. What did each leave out, and what does it cost?
#
# <small>Prerequisites: [architecture](02_architecture.ipynb),
# [pre-training](04_pretraining.ipynb) · 22 min · runs on a laptop; results of the long runs are
# included · book 3.2</small>

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

drawing = []
for x, name, blocks in (
    (90, "BERT", [(k, "value") for k in "4321"]),
    (290, "ALBERT", [("1 again", "output")] * 3 + [("1", "value")]),
    (490, "DistilBERT", [("3 of BERT", "value"), ("1 of BERT", "value")]),
):
    drawing.append(text(x, 20, name, 15, bold=True))
    for i, (words, role) in enumerate(blocks):
        drawing.append(box(x, 60 + 44 * i + 88 * (len(blocks) == 2), words, role, 130))
    drawing.append(arrow(x, 252, x, 214))
    drawing.append(box(x, 272, "tokens", "key", 60 if name == "ALBERT" else 130))
told = "BERT: four blocks on wide embeddings. ALBERT: one block called four times on narrow ones. "
show(svg(590, 300, drawing), told + "DistilBERT: every second block of BERT on wide embeddings.")

# %% [markdown]
# *Parameters are what differs in colour or place: ALBERT calls one block again and again, over
# narrow embeddings; DistilBERT keeps every second block.*
#
# ## By hand: where a base model's parameters sit
#
# Width $H = 768$, feed-forward $4H$: a block has $12 H^2 + 13 H = 7{,}087{,}872$. With
# $V = 30{,}000$ pieces:
#
# | | BERT | ALBERT |
# |---|---|---|
# | tokens | $V H = 23{,}040{,}000$ | $V E + E H + H = 3{,}939{,}072$ with $E = 128$ |
# | blocks | $12 \cdot 7{,}087{,}872 = 85{,}054{,}464$ | $7{,}087{,}872$ |
#
# The narrow table is the **factorized embedding**: a row says which piece it is, without context,
# and 128 numbers may be enough for that; a state says what it means here, and needs 768.

# %% tags=["nbval-check-output"]
import torch

from deepdive.models.bert import albert, bert, distilbert
from deepdive.models.bert.pretraining import BertForMaskedLM, for_masked_lm
from deepdive.published import load

with torch.device("meta"):
    sizes = {"BERT": bert.bert(vocab_size=30_000), "ALBERT": albert.albert(),
             "DistilBERT": distilbert.distilbert()}  # fmt: skip
for name, model in sizes.items():
    print(f"{name:>10}: {sum(p.numel() for p in model.parameters()):>11,} weights")
block = sum(p.numel() for p in sizes["ALBERT"].stack.blocks[0].parameters())
assert block == 12 * 768**2 + 13 * 768 == 7_087_872
assert 30_000 * 128 + 128 * 768 + 768 == 3_939_072

# %% [markdown]
# So much for memory. And the work, counted on toys of four, four and two layers:

# %% tags=["nbval-check-output"]
from deepdive_book.kit.flops import count_flops

toy = {"d_model": 96, "n_heads": 4, "d_ff": 384}
toys = {
    "BERT": bert.bert(vocab_size=100, n_layers=4, **toy),
    "ALBERT": albert.albert(vocab_size=100, n_layers=4, d_embedding=16, **toy),
    "DistilBERT": bert.bert(vocab_size=100, n_layers=2, n_segments=0, **toy),
}
row, work = torch.zeros(1, 128, dtype=torch.long), {}
for name, model in toys.items():
    with torch.no_grad():
        work[name] = count_flops(lambda model=model: model.eval()(row))
    print(f"{name:>10}: {work[name] / 1e6:.0f} MFLOP for 128 tokens, 96 wide")
assert work["BERT"] < work["ALBERT"] < 1.05 * work["BERT"]
assert work["DistilBERT"] < 0.55 * work["BERT"]

# %% [markdown]
# Sharing saves memory, not work: a shared block is called twelve times. Fewer blocks save both. The
# printed times: ALBERT base trains 1.2 times as fast as BERT base, on many machines that exchange
# fewer gradients; DistilBERT answers in 410 seconds where BERT base takes 668, 1.6 times as fast.
#
# ## ALBERT: one block for all layers


# %%
def shared(model, tokens):
    """ALBERT's states: project narrow rows, then the one block, n times."""
    places = torch.arange(tokens.shape[1])
    e = model.embeddings
    narrow = e.norm(e.tokens(tokens) + e.position.table(places) + e.segments.weight[0])
    x = e.project(narrow)  # (B, T, E) -> (B, T, H)
    for _ in range(len(model.stack.blocks)):
        x = model.stack.blocks[0](x)
    return x


model, tokens = albert.albert(albert.TINY).eval(), torch.randint(4, 32, (2, 7))
with torch.no_grad():
    assert (shared(model, tokens) - model(tokens)).abs().max() < 1e-6
print("by hand = library")

# %% [markdown]
# ### Which comes first?
#
# BERT's second task asks whether B follows A; a wrong B is from another document. ALBERT's authors
# found this too easy, because a wrong B speaks of something else. Their task, **sentence order**
# (SOP), swaps two neighbors: the topic cannot tell. How easy are the two? Let us give both
# to somebody who cannot read: the share of A's words that are also in B, and a threshold.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Counting common words only: which task can be done better than by a coin?",
    ["next sentence", "sentence order", "both"],
    answer=0,
    explain="Swapping changes no words, so in SOP the count says nothing about the answer.",
    key="03_bert/order-without-reading",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %%
from deepdive.data.documents import generated_documents, web_documents
from deepdive.training.objectives import next_sentence_pairs, sentence_order_pairs
from deepdive_book.kit.profile import banner, pick, profile

real = profile() != "ci"
documents = web_documents("train") if real else generated_documents(120)
held = web_documents("dev") if real else generated_documents(40, seed=1)
data = "ud_english_ewt (real)" if real else f"{documents.source} (generated)"
print(banner(data))


def overlap(a, b):
    words = [{w for w in text.lower().split() if len(w) > 3} for text in (a, b)]
    return len(words[0] & words[1]) / max(1, min(len(words[0]), len(words[1])))


# %% tags=["surprise"]
guess = {}
for name, make in (("next sentence", next_sentence_pairs), ("order", sentence_order_pairs)):
    rows = [(overlap(a, b) > 0, label) for a, b, label in make(held, seed=0)]
    yes = [sum(common for common, label in rows if label == kind)
           / sum(label == kind for _, label in rows) for kind in (0, 1)]  # fmt: skip
    guess[name] = (yes[0] + 1 - yes[1]) / 2
    print(f"{name:>13}: words in common in {yes[0]:.1%} of label 0, {yes[1]:.1%} of label 1; "
          f"balanced accuracy {guess[name]:.1%}")  # fmt: skip
assert guess["next sentence"] > 0.52
assert abs(guess["order"] - 0.5) < 0.06

# %% [markdown]
# ### Common mistake: one block built n times
#
# `Stack(lambda i: make_block(), 12)` builds twelve blocks, `Stack(lambda i: block, 12)` uses one
# twelve times. Both run. **Symptom:** the parameter count. **Fix:** build before the lambda; and
# count.

# %%
built = bert.bert(vocab_size=32, d_model=16, n_heads=2, n_layers=4, d_ff=32)
once = albert.albert(vocab_size=32, d_model=16, d_embedding=16, n_heads=2, n_layers=4, d_ff=32)
same = [len({id(block) for block in model.stack.blocks}) for model in (built, once)]
assert same == [4, 1]
print("different blocks:", same)

# %% [markdown]
# ## DistilBERT: half the layers, taught by the whole
#
# A **student** starts from every second layer of its **teacher** and learns from three losses:
#
# $$L = 5\, T^2\, \mathrm{KL}(p \,\|\, q) + 2\, L_\text{mlm} + 1 - \cos(s, t)$$
#
# $p$ and $q$ are the softmax of the teacher's and student's scores over $T = 2$, which lifts what
# is unlikely; $L_\text{mlm}$ is the loss of the gaps; $s$ and $t$ are the last states of both. The
# weights 5, 2, 1 stand in the released command, not in the paper.
#
# By hand: teacher's scores (2, 0), student's (0, 0), the gap's word is the first, states (1, 1) and
# (1, 0). Over $T$: $p = (0.731, 0.269)$, $q = (0.5, 0.5)$, so
# $\mathrm{KL} = 0.731 \ln 1.462 - 0.269 \cdot 0.620 = 0.111$, times $T^2$ is 0.444. The gap costs
# $\ln 2 = 0.693$, the angle $1 - 0.707 = 0.293$. Together
# $5 \cdot 0.444 + 2 \cdot 0.693 + 0.293 = 3.90$.


# %%
def triple(student, teacher, target, s, t, T=2.0):
    p, q = (teacher / T).softmax(-1), (student / T).softmax(-1)
    soft = T**2 * (p * (p / q).log()).sum(-1).mean()
    hard = torch.nn.functional.cross_entropy(student, target)
    return 5 * soft + 2 * hard + 1 - torch.cosine_similarity(s, t, dim=-1).mean()


from deepdive.training.objectives import distillation_loss

given = (torch.zeros(1, 2), torch.tensor([[2.0, 0.0]]), torch.tensor([0]))
states = (torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 0.0]]))
ours = triple(*given, *states)
theirs = distillation_loss(*given, *states, pad=-1)
assert abs(ours - theirs) < 1e-6
assert abs(ours.item() - 3.90) < 0.01
print(f"{ours.item():.3f}")

# %% [markdown]
# In print (table 1) DistilBERT keeps 77.0 of BERT base's 79.5 points, the mean of nine tasks. Its
# student began with layers 0, 2, 4, 7, 9 and 11 of twelve; ours with the first of two.
#
# ## Measured: all of them on one text
#
# A parent of two layers, 64 wide, on the web texts. What each saving costs is measured one by one:
#
# | name | layers | learns from |
# |---|---|---|
# | BERT | 2 blocks, embedding 64 wide | gaps |
# | narrow | 2 blocks, embedding 16 wide | gaps |
# | shared | 1 block twice, embedding 64 wide | gaps |
# | ALBERT | 1 block twice, embedding 16 wide | gaps |
# | triple | 1 block, begun from BERT | BERT, by all three losses |
# | no soft, no cosine, no gaps | the same | BERT, one loss left out |
# | random | 1 block, begun from nothing | BERT, by all three losses |
# | copied | 1 block, begun from BERT | gaps |
# | alone | 1 block, begun from nothing | gaps |
#
# Three things let so small a model learn in minutes. Rows are short, 14 pieces: in a row of 48 a
# gap's neighbors are two among 47, and a small BERT rests for thousands of steps
# [on the unigram's plateau](04_pretraining.ipynb). In training 40% of the pieces are gaps, which
# gives more to learn from a step; held-out text has 15% as ever. And first weights are
# $0.02 \sqrt{768 / 64} = 0.07$: BERT's 0.02 is meant for a width of 768.

# %%
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer

texts = [text for document in documents for text in document]
some = texts[:: pick(ci=1, laptop=4, gpu=4)]
pieces = WordPieceTokenizer.train(some, pick(ci=300, laptop=1000, gpu=1000),
                                  min_count=12 if real else 2, specials=BERT_SPECIALS)  # fmt: skip
T = 16  # [CLS], 14 pieces, [SEP]


def windows(documents, size=32):
    """Batches (32, 16) of rows of running text, in a drawn order."""
    rows = []
    for document in documents:
        ids = [piece for sentence in document for piece in pieces.encode(sentence)]
        starts = range(0, len(ids) - T + 3, T - 2)
        rows += [[pieces.bos, *ids[i : i + T - 2], pieces.eos] for i in starts]
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
    return list(torch.tensor(rows)[order].split(size))[:-1]


batches, checks = windows(documents), windows(held)
print(f"{len(pieces):,} pieces; {len(batches):,} batches of 32 rows, {len(checks)} held out")

# %%
from deepdive.layers.heads import MaskedHead, initialize

size = {"d_model": 64, "n_heads": 4, "d_ff": 256, "max_length": T, "dropout": 0.0}


def fresh(form, seed):
    """A model with its head: BERT, narrow, shared or ALBERT of two layers, or alone, of one."""
    torch.manual_seed(seed)
    layers = 1 if form in ("alone", "random") else 2
    encoder = bert.bert(vocab_size=len(pieces), n_layers=layers, n_segments=0, **size)
    if form in ("narrow", "ALBERT"):
        slim = albert.albert(vocab_size=len(pieces), d_embedding=16, n_layers=1, n_segments=0,
                             **size)  # fmt: skip
        encoder.embeddings = slim.embeddings
    if form in ("shared", "ALBERT"):
        encoder.stack.blocks = torch.nn.ModuleList([encoder.stack.blocks[0]] * layers)
    net = BertForMaskedLM(encoder, MaskedHead(encoder.embeddings.tokens, 64))
    initialize(net, 0.02 * (768 / 64) ** 0.5)
    return net


counts = {form: sum(p.numel() for p in fresh(form, 0).parameters())
          for form in ("BERT", "narrow", "shared", "ALBERT", "alone")}  # fmt: skip
print(counts)

# %% [markdown]
# Two losses to train with: that of the gaps, and the triple one, in which a weight may be 0.

# %%
from deepdive.training import fit
from deepdive.training.objectives import cross_entropy, mask_tokens
from deepdive.training.optim import adam, linear
from deepdive_book.kit.experiments import checkpoints

LR, RATE = 2e-3, 0.4


def gaps(net, tokens, rate=RATE, draw=None):
    inputs, targets, chosen = mask_tokens(tokens, pieces, rate, generator=draw)
    return cross_entropy(net.masked_logits(net.bert(inputs)[chosen]), targets[chosen], pad=None)


def train(net, batches, loss, name, steps, seed, lr=LR, of=()):
    fit(net, batches, loss, steps=steps, seed=seed, progress=False,
        optimizer=adam(net, lr=lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01),
        schedule=linear(lr, max(1, steps // 10), steps + 1),
        folder=checkpoints("smaller", f"{name}-{steps}-{seed}", of=of))  # fmt: skip
    return net


# %%
WEIGHTS = {"triple": (5, 2, 1), "no soft": (0, 2, 1), "no cosine": (5, 2, 0),
           "no gaps": (5, 0, 1), "random": (5, 2, 1), "copied": (0, 2, 0)}  # fmt: skip


def student(teacher):
    """One layer, begun from the teacher: its embeddings, first block, and head."""
    net = for_masked_lm(distilbert.student(teacher.bert))
    net.masked.load_state_dict(teacher.masked.state_dict())
    return net


def taught(net, tokens, teacher, weights):
    inputs, targets, _ = mask_tokens(tokens, pieces, RATE)
    with torch.no_grad():
        t = teacher.bert(inputs)
    s = net.bert(inputs)
    return distillation_loss(net.masked_logits(s), teacher.masked_logits(t), targets, s, t,
                             pad=pieces.pad, weights=weights)  # fmt: skip


# %%
from functools import cache


@cache
def trained(name, steps, seed):
    """The model of that name; students have half the steps of their teacher."""
    if name not in WEIGHTS:
        return train(fresh(name, seed), batches, gaps, name, steps, seed)
    teacher = trained("BERT", 2 * steps, seed)
    net = fresh(name, seed) if name == "random" else student(teacher)

    def loss(net, tokens):
        return taught(net, tokens, teacher, WEIGHTS[name])

    return train(net, batches, gaps if name == "copied" else loss, name, steps, seed,
                 of=(WEIGHTS[name], teacher.state_dict()))  # fmt: skip


# %% [markdown]
# Each model is read in two ways: by the masked loss of held-out text, and by how many parts of
# speech one linear layer finds in its **frozen** states, which nobody trained it for. That layer
# learns from the first 1,000 sentences of the treebank's training part, all of them weblogs, and is
# tested on the first 1,000 of the test part: no sample of the five kinds of text, but what the kept
# run further down was read with, so that all numbers here can be compared.

# %% tags=["fold"]
from deepdive.data.tasks import parts_of_speech
from deepdive_book.data.synthetic_tasks import generated_parts_of_speech

lessons, tests = parts_of_speech(seed=None) if real else (
    generated_parts_of_speech(200), generated_parts_of_speech(80, 1))  # fmt: skip
TAGS = sorted({tag for row in lessons for tag in row.tags})


def first_pieces(rows):
    """Tokens (N, 16), and row, place and tag (M, 3) of the first piece of each word."""
    tokens, places = [], []
    for n, row in enumerate(rows):
        ids = [pieces.bos]
        for word, tag in zip(row.words, row.tags, strict=True):
            if len(ids) < T - 1:
                places.append((n, len(ids), TAGS.index(tag)))
            ids += pieces.encode(word) or [pieces.unk]
        tokens.append(torch.tensor([*ids[: T - 1], pieces.eos]))
    return torch.nn.utils.rnn.pad_sequence(tokens, True, pieces.pad), torch.tensor(places)


lessons = first_pieces(lessons[: pick(ci=100, laptop=1000, gpu=1000)])
tests = first_pieces(tests[: pick(ci=80, laptop=1000, gpu=1000)])


# %%
def tags_right(encoder):
    """Per cent of right tags in new sentences, by one layer on frozen states."""

    def states(tokens, places):
        with torch.no_grad():
            return encoder(tokens, tokens != pieces.pad)[places[:, 0], places[:, 1]]

    torch.manual_seed(0)
    reader, known = torch.nn.Linear(64, len(TAGS)), states(*lessons)
    fit(reader, [(known, lessons[1][:, 2])], lambda m, b: cross_entropy(m(b[0]), b[1], pad=None),
        steps=150, optimizer=adam(reader, lr=0.03), progress=False)  # fmt: skip
    with torch.no_grad():
        return 100 * (reader(states(*tests)).argmax(-1) == tests[1][:, 2]).double().mean().item()


# %% [markdown]
# Two guesses by counting, from [the page on pre-training](04_pretraining.ipynb), say how much a
# loss is worth: each piece by its share of the text, and by its left neighbor. And a BERT that has
# learned nothing says how many tags can be read from the pieces alone.

# %%
from statistics import mean

rows = torch.cat(batches)
seen = torch.zeros(len(pieces), len(pieces))
pairs = (rows[:, :-1].flatten(), rows[:, 1:].flatten())
seen.index_put_(pairs, torch.ones(len(pairs[0])), accumulate=True)
unigram = (seen.sum(0) + 0.1) / (seen.sum(0) + 0.1).sum()
bigram = seen + 50 * unigram  # fifty imagined visits that look at nothing
bigram /= bigram.sum(1, keepdim=True)


# %%
def gap_draws():
    """The gaps of held-out text that every model is asked for."""
    draw = torch.Generator().manual_seed(1)
    return [mask_tokens(tokens, pieces, 0.15, generator=draw)[2].nonzero() for tokens in checks]


guesses = {"unigram": [], "bigram": []}
for tokens, (row, place) in zip(checks, (gap.T for gap in gap_draws()), strict=True):
    here, left = tokens[row, place], tokens[row, place - 1]
    guesses["unigram"].append(-unigram[here].log().mean().item())
    guesses["bigram"].append(-bigram[left, here].log().mean().item())
print({name: round(mean(losses), 2) for name, losses in guesses.items()})
untrained = tags_right(fresh("BERT", 0).bert)
print(f"untrained BERT: tags {untrained:.1f} %")

# %% [markdown]
# And time, of the processor, for a forward pass of 32 rows: it does not depend on training.

# %%
import time
from statistics import median


@torch.no_grad()
def milliseconds(encoder):
    """The middle of 25 passes."""
    spent = []
    for _ in range(25):
        start = time.process_time()
        encoder(checks[0])
        spent.append(1000 * (time.process_time() - start))
    return median(spent)


for form in ("BERT", "ALBERT", "alone"):
    print(f"{form:>6}: {milliseconds(fresh(form, 0).bert.eval()):.1f} ms")


# %%
@torch.no_grad()
def moves(encoder, tokens):
    """Mean cosine of each layer's input and output."""
    x, found = encoder.embeddings(tokens, None, torch.arange(tokens.shape[1])), []
    for block in encoder.stack.blocks:
        x, before = block(x), x
        found.append(round(torch.cosine_similarity(x, before, dim=-1).mean().item(), 3))
    return found


# %% [markdown]
# The second task needs pairs, and longer rows: 32 pairs of up to 48 pieces, a model twice as wide,
# and 15% gaps, as on the page on pre-training, where NSP was learned. One shared block learns
# either NSP or SOP beside the gaps, and is then asked **both**, with the head it has.

# %%
from deepdive_book.tasks.pretraining import pair_batches, pretraining_losses, pretraining_scores

ORDERS = {"NSP": next_sentence_pairs, "SOP": sentence_order_pairs}
asked = {name: pair_batches(make(held), pieces, 32, 48) for name, make in ORDERS.items()}
wide = {"d_model": 128, "d_embedding": 128, "n_heads": 4, "n_layers": 2, "d_ff": 512}


def second(name, steps, seed):
    """Per cent right of both tasks after learning one."""
    torch.manual_seed(seed)
    net = albert.for_pretraining(albert.albert(vocab_size=len(pieces), max_length=48, **wide))
    initialize(net, 0.02 * (768 / 128) ** 0.5)
    pairs = []
    for draw in range(pick(ci=1, laptop=1, gpu=4, experiment=4)):
        pairs += pair_batches(ORDERS[name](documents, draw), pieces, 32, 48, draw)
    train(net, pairs, lambda net, batch: sum(pretraining_losses(net, batch, pieces)),
          name, steps, seed, LR / 2)  # fmt: skip
    scores = {task: pretraining_scores(net, asked[task], pieces) for task in ORDERS}
    right = {task: round(100 * scores[task]["next_accuracy"], 2) for task in ORDERS}
    return {**right, "masked_loss": round(scores[name]["masked_loss"], 4)}


# %%
from deepdive_book.kit.experiments import results_path, share, sweep


def measure(model, steps, seed):
    if model in ORDERS:
        return second(model, steps, seed)
    net = trained(model, steps, seed)
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        loss = mean(gaps(net, tokens, 0.15, draw).item() for tokens in checks)
    return {
        "weights": sum(p.numel() for p in net.parameters()),
        "masked_loss": round(loss, 4),
        "tags": round(tags_right(net.bert), 2),
        "moves": moves(net.bert, checks[0]),
    }


# %%
LIVE = ("BERT", "ALBERT", "triple", "alone", "SOP")
NAMES = ("BERT", "narrow", "shared", "ALBERT", *WEIGHTS, "alone", *ORDERS)
SEEDS = (0, 1, 2)


def points(names, steps, seeds):
    """The settings of a sweep: students have half the steps, pairs two seeds."""
    long = [(name, steps) for name in ("BERT", "narrow", "shared", "ALBERT", "alone", *ORDERS)]
    some = long + [(name, steps // 2) for name in (*WEIGHTS, "alone")]
    return [{"model": name, "steps": n, "seed": seed}
            for seed in seeds for name, n in some
            if name in names and (name not in ORDERS or seed < 2)]  # fmt: skip


steps = pick(ci=60, laptop=120, gpu=2000, experiment=round(2500 * share() / 2) * 2)
file, long_run = results_path("03_bert", "smaller"), profile() == "experiment"
measured = sweep(measure, points(NAMES, steps, SEEDS) if long_run else points(LIVE, steps, (0,)),
                 file if long_run else None, data=data, minutes=60)  # fmt: skip
for row in measured:
    print(f"{row['model']:>7}, {row['steps']} steps: masked loss {row['masked_loss']:.3f}")

# %% [markdown]
# *Live, in this run: some of the models, and far too few steps to judge by.* What follows reads the
# kept run, if its file is there.

# %%
import json

every, complete = measured, False
if real and file is not None and file.is_file():
    document = json.loads(file.read_text())
    most = max(row["steps"] for row in document["rows"])
    done = {(row["model"], row["steps"], row["seed"]): row for row in document["rows"]}
    seeds = [
        seed
        for seed in SEEDS
        if all(tuple(point.values()) in done for point in points(NAMES[:-2], most, (seed,)))
    ]
    complete = len(seeds) > 1
    if complete:
        wanted = [tuple(point.values()) for point in points(NAMES, most, seeds)]
        every = [done[key] for key in wanted if key in done]
longest = max(row["steps"] for row in every)
half = longest // 2
print("the kept run:" if complete else "too few runs to judge by:", longest, "steps,",
      len({row["seed"] for row in every}), "seeds")  # fmt: skip


# %%
def of(name, reading, steps=longest):
    """One number for each seed."""
    return [row[reading] for row in every if row["model"] == name and row["steps"] == steps]


def verdict(found):
    """`found`: a number for each seed, above 0 where that seed is on the side of the print."""
    if not complete:
        return "too short"
    if max(found) > 0 > min(found):
        return "unclear"
    return "held" if min(found) > 0 else "opposite"


def against(name, base, reading, steps=longest):
    """The difference of two models with the same seed, one number for each seed."""
    both = zip(of(name, reading, steps), of(base, reading, steps), strict=True)
    return [ours - other for ours, other in both]


def listed(numbers, form):
    return ", ".join(f"{x:{form}}" for x in numbers)


# %% [markdown]
# ## What sharing costs
#
# Beside the paper's tables 2 to 4, means of five tasks, for base models: in print narrowing costs
# 0.6 points, sharing 2.5, both together 2.2.

# %%
PRINTED = {"BERT": (108, 82.3), "narrow": (89, 81.7), "shared": (31, 79.8), "ALBERT": (12, 80.1)}
for name, (millions, mean_of_five) in PRINTED.items():
    if of(name, "tags"):
        print(
            f"{name:>8}: {millions:>3} M, {mean_of_five} points | {of(name, 'weights')[0]:>7,} "
            f"weights, masked loss {listed(of(name, 'masked_loss'), '.3f')}, "
            f"tags {listed(of(name, 'tags'), '.1f')} %"
        )
for name in ("narrow", "shared", "ALBERT"):
    if of(name, "tags"):
        worse, fewer = against(name, "BERT", "masked_loss"), against("BERT", name, "tags")
        print(f"{name} costs something: masked loss {verdict(worse)}, tags {verdict(fewer)}")
if complete:
    print(f"alone, same steps: {of('alone', 'weights')[0]:,} weights, "
          f"masked loss {listed(of('alone', 'masked_loss'), '.3f')}, "
          f"tags {listed(of('alone', 'tags'), '.1f')} %")  # fmt: skip

# %% [markdown]
# *held*: each seed is on the side of the print; *opposite*: none is; *unclear*: they disagree. Two
# coins agree in half of all throws, three in a quarter: look at how far apart the numbers are, too.

# %% tags=["fold"]
if complete:
    counted = {name: mean(losses) for name, losses in guesses.items()}
    for form in ("narrow", "ALBERT"):
        assert min(of(form, "masked_loss")) > counted["bigram"] + 0.2
    assert max(of("narrow", "tags")) < untrained + 1
    assert max(abs(x) for x in against("shared", "BERT", "masked_loss")) < 0.04
    assert min(against("shared", "BERT", "tags")) > 1
    assert min(against("alone", "shared", "masked_loss")) > 0.05
    assert of("alone", "weights") == of("shared", "weights")

# %% [markdown]
# What the kept run says:
#
# - **Sharing costs hardly anything here**: less than 0.04 nats, and the frozen states are even read
#   a little better. In print it costs most. But two calls are not twelve.
# - **Narrowing costs nearly everything**, the opposite of the print. With 16 numbers for piece and
#   place together the model is still worse than the bigram, and its states are read no better than
#   untrained ones. With a thousand pieces there was little to save, either: 30,000 times 768 is
#   another matter than 1,000 times 64. Whether more steps would help, this run cannot say.
# - **The second call is worth something**: *shared* and *alone* have the same number of weights;
#   calling the one block twice is better by more than 0.05 nats with each seed. Depth without
#   weights is ALBERT's bargain.

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

shown = [(name, longest if name in PRINTED else longest // 2) for name in NAMES[:-2]]
shown = [(name, n) for name, n in shown if of(name, "tags", n)]
figure = Figure(figsize=(8.6, 3.6))
panels = figure.subplots(1, 2, sharey=True)
for axes, reading, unit in zip(panels, ("masked_loss", "tags"), ("nats a gap", "%"), strict=True):
    for y, (name, n) in enumerate(shown):
        color, values = "#0072B2" if name in PRINTED else "#D55E00", of(name, reading, n)
        axes.plot(values, [y] * len(values), "o", color=color, alpha=0.7)
    axes.set(title=reading.replace("_", " ") + ", held out", xlabel=unit)
panels[0].set_yticks(range(len(shown)), [name for name, _ in shown])
panels[0].invert_yaxis()
with_alt(
    figure,
    "Masked loss and tags read right, for each model a dot a seed: two layers in blue above, one "
    "layer in orange below.",
)

# %% [markdown]
# *A dot a seed. Blue: two layers; orange: one layer, half the steps. Left, less is better; right,
# more.*
#
# What sharing saves can be spent on width, which no row here has: in print ALBERT xxlarge, 4,096
# wide, has 235 million parameters and 88.7 points, BERT large 334 million and 85.2. It also takes
# three times as long to train.
#
# ### Does a shared block settle down?
#
# A block that is called again and again might come to rest: output equal to input. The paper's
# figure 1 says no: from layer to layer ALBERT large moves less, and more evenly, than BERT large,
# but even after 24 calls it does not stand still. The cosine of input and output of each of our
# layers, and of the published MiniLM, whose blocks are six different ones:

# %%
from deepdive.published import pretrained

minilm, words = load(pretrained.minilm()), pretrained.minilm_tokenizer()
line = torch.tensor([words.encode("the old house stood beside a quiet river", bos=True, eos=True)])
angles = {name: of(name, "moves")[0] for name in ("BERT", "shared", "ALBERT") if of(name, "moves")}
angles["MiniLM"] = moves(minilm, line)
for name, cosines in angles.items():
    print(f"{name:>7}:", *(f"{c:.2f}" for c in cosines))
assert max(angles["ALBERT"]) < 0.999
if complete:
    both = zip(of("shared", "moves"), of("BERT", "moves"), strict=True)
    assert all(ours > other for pair in both for ours, other in zip(*pair, strict=True))

# %% [markdown]
# A cosine of 1 would be rest. The figure's first half holds at two layers: with each seed both
# calls of the shared block turn their input less than BERT's two blocks do. Nothing stands still.
#
# ## What the teacher gives
#
# Beside the paper's table 4, the change of the mean of nine tasks. Ours: masked loss (a minus is
# better) and tags (a plus is better), against the triple loss of the same seed. *held*: it is worse
# without.

# %%
ABLATED = {"no soft": -2.96, "no cosine": -1.46, "no gaps": -0.31, "random": -3.69,
           "copied": None, "alone": None}  # fmt: skip
for name, told in ABLATED.items():
    if of(name, "tags", half):
        loss, tags = (against(name, "triple", r, half) for r in ("masked_loss", "tags"))
        paper = f"printed {told:+.2f}" if told else "not printed"
        print(f"{name:>9}: {paper:<13} | loss {listed(loss, '+.3f')} {verdict(loss)}, "
              f"tags {listed(tags, '+.1f')} {verdict([-x for x in tags])}")  # fmt: skip
for name, n in (("BERT", longest), ("triple", half), ("alone", half), ("alone", longest)):
    if of(name, "tags", n):
        print(f"{name:>9}, {n} steps: masked loss {mean(of(name, 'masked_loss', n)):.3f}, "
              f"tags {mean(of(name, 'tags', n)):.1f} %")  # fmt: skip

# %% tags=["fold"]
if complete:
    loss = {name: of(name, "masked_loss", half) for name in (*WEIGHTS, "alone")}
    for seed, (teacher, long_alone) in enumerate(
        zip(of("BERT", "masked_loss"), of("alone", "masked_loss"), strict=True)
    ):
        assert loss["random"][seed] < loss["alone"][seed] - 0.5
        assert abs(loss["random"][seed] - long_alone) < 0.05
        assert loss["random"][seed] > loss["triple"][seed] + 0.1
        assert loss["copied"][seed] < loss["triple"][seed] - 0.04 < teacher - 0.04
        assert abs(loss["no cosine"][seed] - loss["triple"][seed]) < 0.01
        assert loss["no gaps"][seed] > loss["triple"][seed] + 0.04

# %% [markdown]
# What held, and what did not:
#
# - **A teacher helps who knows nothing.** *random* and *alone* begin alike and have equal steps;
#   with a teacher the loss is lower by more than half a nat, and as low as *alone* has it after
#   **twice** the steps. Soft targets take the student off the plateau.
# - **The start matters most** of the four in print, and here: without it more than 0.1 nats.
# - **The soft targets do not help who begins from the teacher**: the opposite of the print.
#   *copied*, which never hears the teacher, is better than *triple*, and better than the teacher
#   itself. That isn't a comparison at equal steps: *copied* has 2,500 + 1,250 (with a second
#   warm-up), the teacher 2,500. In a rerun with seed 0 the held-out loss was 3.064 for the
#   teacher, 2.967 for *copied*, **2.912 for the teacher itself after 1,250 more steps, and 2.877
#   for a teacher trained for 3,750 steps at once**. So at equal steps the teacher is ahead by 0.06
#   to 0.09, and the earlier conclusion of this page, that one layer is enough and the teacher
#   holds the student back, is withdrawn. *copied* also trains on the very loss that judges it. In
#   print a student can beat its teacher: Born-Again Networks do (Furlanello et al. 2018), and in
#   DistilBERT's table 1 the student is ahead on one task (WNLI, 56.3 against 53.5).
# - **Without the gaps it is a little worse, without the cosine the same** (less than 0.01): in
#   print the cosine is worth more. But our score is the gaps' own loss, the print's nine others.
#
# So before you distil, compare the student with the same student without a teacher, at equal total
# steps.
#
# ## Which second task?
#
# The paper's table 5, for ALBERT base, in per cent: trained on NSP a model says which of two comes
# first no better than a coin; trained on SOP it does the other task too.
#
# | trained on | NSP accuracy | SOP accuracy | mean of five tasks |
# |---|---|---|---|
# | neither | 52.4 | 53.3 | 79.0 |
# | NSP | 90.5 | 52.0 | 79.2 |
# | SOP | 78.9 | 86.5 | 80.1 |
#
# Ours, on held-out pairs, beside a coin and beside whoever counts common words (further up):

# %%
n_asked = sum(len(batch[3]) for batch in asked["SOP"])
for name in ORDERS:
    for seed, (nsp, sop) in enumerate(zip(of(name, "NSP"), of(name, "SOP"), strict=True)):
        print(f"trained on {name}, seed {seed}: NSP {nsp:.1f}, SOP {sop:.1f}  ({n_asked:,} pairs)")
coin = 100 * 2 * (0.25 / n_asked) ** 0.5
print(f"a coin: 50 +- {coin:.1f} (two standard errors); counting common words: NSP "
      f"{100 * guess['next sentence']:.1f}, SOP {100 * guess['order']:.1f}")  # fmt: skip
if complete and of("SOP", "SOP"):
    assert min(of("NSP", "NSP")) > 50 + coin
    assert max(abs(x - 50) for x in of("NSP", "SOP") + of("SOP", "SOP")) < coin

# %% [markdown]
# A line a seed. The row of NSP **held**: the model finds the topic, no better than counting does
# (within two standard errors), and says nothing about order. The row of SOP could **not be seen**:
# after so few steps the order is a coin to the model that was trained on it, so there is nothing to
# carry over. What the order teaches, this run does not show.
#
# ## The experiment
#
# Fourteen runs for each seed, one seed after the other, so that a sweep that was stopped holds
# whole seeds; the kept file says which:
#
# ```sh
# deepdive run 3.10 --profile experiment               # an hour on one core
# deepdive run 3.10 --profile experiment --share 0.1   # a tenth of the steps
# ```
#
# ## What cannot be seen at this scale
#
# Depth times width is a seventieth of BERT base here, in rows of 14 pieces, from 0.2 million words.
# Two calls of one block are hardly the twelve of ALBERT, and half of two layers is one: whatever
# needs depth to be lost is not here to lose. Tags are a small task, where GLUE has nine large ones.
#
# ## In practice
#
# - **Little memory, time to spare:** share blocks. **Little time:** drop blocks, and distil.
# - **Narrow the embedding** where the vocabulary is most of the weights, not with 1,000 pieces.
# - A student needs its teacher's **vocabulary** and, for the cosine, its **width**.
# - Distil on text like that of the task; no labels are needed for it.
# - Multiply the soft loss by $T^2$, or its gradient shrinks when $T$ rises.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why is ALBERT base hardly faster than BERT base?
#
#    <details><summary>Answer</summary>
#
#    Its one block is called twelve times; only the parameters are shared, not the work.
#
#    </details>
# 2. Why can a token's embedding be narrower than its state?
#
#    <details><summary>Answer</summary>
#
#    It knows the piece without context; the state must hold what the piece means in its text.
#
#    </details>
# 3. What makes next-sentence prediction easy?
#
#    <details><summary>Answer</summary>
#
#    A random second sentence is from another document; its topic, even its words, betray it.
#
#    </details>
# 4. What do soft targets say that the right word does not?
#
#    <details><summary>Answer</summary>
#
#    Which other words would have fitted, and how well.
#
#    </details>
# 5. Why is the temperature above 1 in training and 1 in use?
#
#    <details><summary>Answer</summary>
#
#    It lifts unlikely words so that the student sees their order; in use the real probabilities are
#    wanted.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 3 min)* $V = 1000$, $H = 100$, $E = 10$. How many weights has the token embedding
#    of BERT, of ALBERT (with the bias of its projection)?
#
#    <details><summary>Answer</summary>
#
#    $100{,}000$ and $10{,}000 + 1{,}000 + 100 = 11{,}100$.
#
#    </details>
# 2. *(derive, 3 min)* From which $E$ on does factorizing cost more than it saves?
#
#    <details><summary>Answer</summary>
#
#    $E (V + H) + H > V H$, so $E > H (V - 1) / (V + H)$: nearly $H$.
#
#    </details>
# 3. *(measure, 5 min)* Teach the student with the soft targets alone. How far is it from the triple
#    loss?
#
#    <details><summary>Answer</summary>
#
#    `WEIGHTS["soft only"] = (5, 0, 0)`, then `measure("soft only", 1250, 0)`; it trains the teacher
#    first. Compare with *triple*.
#
#    </details>

# %%
# Answers 1 and 2, checked.
assert 1000 * 10 + 10 * 100 + 100 == 11_100
assert 91 * 1100 + 100 > 100_000 > 90 * 1100 + 100
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# ALBERT uses one block for all layers and a narrow embedding: a tenth of the parameters, the same
# work. DistilBERT keeps half the layers and learns from its teacher's whole distribution, its
# states, and the gaps. Both show that a BERT has more parameters than its task needs; neither is
# free.
#
# ## Further reading
#
# - Lan et al. (2020), *ALBERT*: section 3, table 5 for the order of sentences, figure 1 for the
#   layers' steps.
# - Sanh et al. (2019), *DistilBERT*: five pages; table 4 is the ablation.
# - Hinton, Vinyals, Dean (2015), *Distilling the Knowledge in a Neural Network*: section 2, the
#   temperature.

# %% [markdown] tags=["slide"]
# # GPT: predicting the next token
#
# A model is asked one question only: which letter comes next? Nobody tells it what a word is, or
# what a misprint is. What does it know after training on a million letters of Shakespeare, and how
# does one get at it?
#
# <small>Prerequisites: [the decoder](../02_transformer/12_decoder.ipynb),
# [masks](../02_transformer/07_masks.ipynb) · 17 min · runs on a laptop; results of the long runs
# are included · book 6.1.3.1 and 6.1.3.2</small>

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
# %% One model, at three moments of its training tags=["slide", "fold"]
import torch

from deepdive_book.ch06a.figures.gpt2_generation import gpt2_generation
from deepdive_book.ch06a.toys.next_letters import next_letters

toy = next_letters()
count = sum(weight.numel() for weight in toy.model.parameters())
print(f"{count:,} weights; it reads {toy.model.config.max_length} letters at most")
gpt2_generation(toy, "ROMEO:\nO, ")

# %% [markdown]
# *A GPT-2 of three layers, 48 wide, which reads at most 64 letters; it runs in this page. Bars:
# how probable each letter is behind what stands there. Press a letter to write it, or let the
# model draw forty by their probabilities. Temperature 0 always takes the first bar; 2 makes the
# bars more alike. The second slider puts back the weights that it had earlier.*
#
# 1. Choose the moment "after 30 steps" and write forty letters. What does the model know already?
# 2. Go to "after 400 steps". What is there now that was not there before?
# 3. After training, set the temperature to 0 and write forty letters three times. What happens?
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. A little of which letters are frequent, such as e; no words.
# 2. Words of the right length, and short ones that are right, such as "the" and "to".
# 3. It says the same again and again: always the most probable letter makes a poor text.
#
# </details>

# %% [markdown] tags=["slide"]
# ## By hand: the price of three letters
#
# The probability of a text is a product, one factor a letter, each letter given those before it.
# Say a model reads "hah" and finds
#
# | letter | h | a | h |
# |---|---|---|---|
# | given | nothing | h | ha |
# | its probability | 1/2 | 1/4 | 1/2 |
# | its surprise, in bits | 1 | 2 | 1 |
#
# The product is $1/2 \cdot 1/4 \cdot 1/2 = 1/16$, and the **surprise** of a letter is $-\log_2$ of
# its probability: 4 bits for the text, $4/3$ a letter. Training lowers the mean surprise; papers
# count it in nats, with the natural logarithm: $4/3$ bits are 0.92 nats. A model that knows
# nothing gives each of 65 letters the same share, and pays 4.17 nats a letter.

# %% Check the sum tags=["fold", "nbval-check-output"]
from math import log, log2, prod

given = [1 / 2, 1 / 4, 1 / 2]
bits = sum(-log2(p) for p in given)
print(f"{prod(given)} = 1/16; {bits:.0f} bits, {bits / 3:.2f} a letter")
print(f"{bits / 3 * log(2):.2f} nats a letter; knowing nothing {log(65):.2f}")

# %% [markdown] tags=["slide"]
# ## One pass asks all the questions
#
# A text of $T$ letters holds $T - 1$ questions. Because a row never sees what stands behind it
# (the causal mask of [2.7](../02_transformer/07_masks.ipynb)), one pass answers all of them: row
# $t$ knows the letters up to $t$, and is asked for letter $t + 1$. Here is all of GPT, with the
# library's weights:

# %% GPT in eight lines
from deepdive.core.masks import Causal
from deepdive.models.generative.gpt import TINY, gpt


def read(model, tokens):
    """tokens (B, T) -> logits (B, T, V) of the token behind each."""
    table, places = model.decoder.embedding.weight, model.decoder.position.table.weight
    x = table[tokens] + places[: tokens.shape[1]]
    for layer in model.decoder.stack.blocks:
        x = layer.attn_residual.norm(x + layer.attn(x, mask=Causal()))
        x = layer.ff_residual.norm(x + layer.ff(x))
    return x @ table.T


# %% Check: it is the library's, and nothing looks ahead tags=["fold"]
torch.manual_seed(0)
small, tokens = gpt(TINY).eval(), torch.randint(32, (2, 9))
assert torch.allclose(read(small, tokens), small(tokens), atol=1e-6)
later = tokens.clone()
later[:, 5:] = 0
assert torch.allclose(read(small, later)[:, :5], read(small, tokens)[:, :5], atol=1e-6)
print("the same to 1e-6; five letters read before the change say the same after it")

# %% The loss: each row is asked for its neighbour
from torch.nn.functional import cross_entropy


def surprise(logits, tokens):
    """The mean of -log p(next letter), in nats."""
    return cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())


print(f"untrained: {surprise(read(small, tokens), tokens):.2f} nats of {log(32):.2f}")

# %% [markdown] tags=["aside"]
# ## Common mistake: asking a row for itself
#
# Without the two slices, `cross_entropy(logits, tokens)`, each row is asked for the letter that it
# has just read. The loss falls nearly to 0 in 150 steps, even on letters drawn at random. It looks
# like a triumph, and the model writes its last letter for ever.

# %% The wrong loss tags=["fold"]
from deepdive.training.optim import adam


def taught(shift, steps=150):
    torch.manual_seed(0)
    model = gpt(TINY)
    optimizer = adam(model, lr=3e-3)
    for _ in range(steps):
        batch = torch.randint(4, 32, (16, 12))  # letters without any order: nothing to be learned
        logits = model(batch)
        loss = surprise(logits, batch) if shift else cross_entropy(logits.mT, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


wrong, right = taught(shift=False), taught(shift=True)
print(f"letters drawn at random: {wrong:.2f} nats when asked for itself, {right:.2f} for the next")
assert wrong < 0.7 < 3 < right

# %% [markdown] tags=["slide"]
# ## What is learned first?
#
# After 30 steps, after 400 and at the end, the model writes 200 stretches of 60 letters. We count
# which of its words of four letters and more stand in the text that it was trained on, and how
# far its letters' frequencies are from the text's (half the sum of all differences: 0 alike, 1
# nothing in common).

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "After 400 of 8,000 steps: how do letters and words stand?",
    ["letters about right, and most words exist",
     "letters about right, and most words do not exist",
     "letters still wrong, and most words exist",
     "letters still wrong, and most words do not exist"],
    answer=1,
    explain="What is short comes first: how frequent letters are needs no context at all, a word "
    "of four letters needs all of them right in a row.",
    key="06a_text/gpt-first",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% A text to compare with tags=["fold"]
import re

from deepdive.decoding import sample
from deepdive_book.ch06a.runs.decoder_ablations import cut, shakespeare
from deepdive_book.kit.profile import banner, profile

real = profile() != "ci"
START = toy.encode("\n")


def written(model, rows, length=60, seed=0):
    """Stretches of text that a model draws by its probabilities."""
    draw = torch.Generator().manual_seed(seed)
    drawn = sample(model, prompt=START.expand(rows, 1), max_length=length, eos=None, generator=draw)
    return ["".join(toy.letters[i] for i in ids) for ids in drawn]


def rewritten():
    """What stands for Shakespeare where there is no network: text by the trained model itself."""
    return cut(toy.letters + "\n".join(written(toy.model, 400, 63)))


text = shakespeare() if real else rewritten()
learned = text.decode(text.train)
print(banner("tinyshakespeare (real)" if real else "written by the model (generated)"))


# %% Count letters and words tags=["fold"]
def words(stretch):
    """Its words of four letters and more, without those that the ends may have cut."""
    return re.findall(r"[A-Za-z]{4,}", stretch[stretch.find(" ") : stretch.rfind(" ")])


def frequencies(stretch):
    ids = torch.tensor([text.letters.index(letter) for letter in stretch])
    return torch.bincount(ids, minlength=len(text.letters)) / len(ids)


known = set(re.findall(r"[A-Za-z]{4,}", learned))

# %% What each moment writes tags=["fold"]
from deepdive.evaluate.confidence_intervals import bootstrap
from deepdive_book.kit.profile import pick
from deepdive_book.kit.tables import table

found, final = [], toy.model.state_dict()
states = {**toy.snapshots, toy.trained: {name: w.clone() for name, w in final.items()}}
ROWS = pick(ci=40, laptop=200, gpu=200)
for name, state in states.items():
    toy.model.load_state_dict(state)
    stretches = written(toy.model, ROWS)
    right = [float(word in known) for stretch in stretches for word in words(stretch)]
    apart = (frequencies("".join(stretches)) - frequencies(learned)).abs().sum() / 2
    found.append({"moment": name, "nats a letter": toy.losses[name][0],
                  "letters apart": float(apart), "words that exist": bootstrap(right)})  # fmt: skip
    print(f"{name}: {stretches[0]!r}")
table(found, formats={"words that exist": ".0%", "nats a letter": ".2f", "letters apart": ".2f"},
      caption="the interval is over the words that were written (95 %)")  # fmt: skip

# %% [markdown]
# *Nats a letter: on the last tenth of the text, which it has not learned from.*

# %% [markdown] tags=["slide"]
# ## Every task is a text
#
# A model that has learned to go on was not asked to judge. Radford et al. (2018) add three marks to
# its vocabulary, which no text has, and write each task's input as one text. The state of the last
# mark has seen all of it; one more matrix reads the answer off that state.

# %% Draw the inputs tags=["fold"]
from deepdive_book.kit.diagrams import arrow, svg
from deepdive_book.kit.diagrams import text as words_at
from deepdive_book.kit.diagrams.layers import box
from deepdive_book.kit.frame_strip import film

MARKS = {"start": "query", "$": "query", "extract": "query"}
TASKS = {
    "classification: one text, its class": [["start", "a dull\nfilm", "extract"]],
    "entailment: premise and hypothesis, an order that matters": [
        ["start", "a dog\nruns", "$", "an animal\nmoves", "extract"]],
    "similarity: both orders, their last states added": [
        ["start", "he\nleft", "$", "he went\naway", "extract"],
        ["start", "he went\naway", "$", "he\nleft", "extract"]],
    "choice: once an answer, the best score wins": [
        ["start", "it rained,\nso", "$", "we stayed\nin", "extract"],
        ["start", "it rained,\nso", "$", "the cat\nis red", "extract"]],
}  # fmt: skip


# %% One frame a task tags=["fold"]
def drawn(rows):
    body = []
    for i, row in enumerate(rows):
        x, y = 6, 40 + 78 * i + (39 if len(rows) == 1 else 0)
        for part in row:
            wide = 8 * max(map(len, part.split("\n"))) + 12
            body.append(box(x + wide / 2, y, part, MARKS.get(part, "key"), wide))
            x += wide + 4
        body += [arrow(x, y, x + 20, y, "output"), words_at(x + 38, y, "W h", 15, "output")]
    return svg(400, 160, body)


# %% Four tasks, four texts tags=["slide", "fold"]
film([drawn(rows) for rows in TASKS.values()], list(TASKS),
     "Four frames of one or two rows of boxes: the marks start, $ and extract between texts; from "
     "the last mark of each row an arrow to W h.")  # fmt: skip

# %% [markdown]
# GPT-2 (Radford et al. 2019) adds nothing. It asks for no new weight and no labeled example: of
# two answers it takes the one that it finds the more probable as a continuation.
#
# ## Which is the misprint?
#
# Our task is a choice. A line of the play is cut at the blank next to its middle; two second halves
# are offered, the line's own and one with a misprint: inside one word two neighboring letters have
# changed places. The lines are of the last tenth of the text, which no model here has learned from.

# %% Lines, and lines with a misprint tags=["fold"]
import random


def halves(lines):
    """(first half, second half) of lines of 36 to 56 letters, cut next to the middle."""
    pairs = []
    for line in lines:
        blanks = [i for i, letter in enumerate(line) if letter == " "]
        if 36 <= len(line) <= 56 and blanks:
            at = min(blanks, key=lambda i: abs(i - len(line) / 2))
            if 12 <= at <= 28 and 12 <= len(line) - at - 1 <= 28:
                pairs.append((line[:at], line[at + 1 :]))
    return pairs


# %% Exchange two letters tags=["fold"]
def misprinted(pairs, seed=0):
    """(first half, second half, the second half with two letters exchanged)."""
    draw, found = random.Random(seed), []
    for first, second in pairs:
        inside = [i for i in range(1, len(second) - 2) if second[i - 1 : i + 3].isalpha()
                  and second[i] != second[i + 1]]  # fmt: skip
        if inside:
            i = draw.choice(inside)
            wrong = second[:i] + second[i + 1] + second[i] + second[i + 2 :]
            found.append((first, second, wrong))
    return found


# %% Three of them tags=["fold"]
SIZE = pick(ci=60, laptop=1000, gpu=1000)
tuning = misprinted(halves(learned.split("\n")))
random.Random(1).shuffle(tuning)
test = misprinted(halves(text.decode(torch.cat([text.chosen, text.test])).split("\n")))[:SIZE]
table([{"line": first, "goes on": own, "or": wrong} for first, own, wrong in test[:3]])

# %% [markdown] tags=["slide"]
# ## Tuned on labeled lines
#
# Now GPT's way: three new marks, one new matrix, and all weights learn from labeled pairs of
# answers. Beside the task's loss stands half of the surprise at the next letter, so that what was
# learned before is not lost (`tuning_loss`). The same network with random weights learns from the
# same lines.

# %% Tune a model to choose tags=["fold"]
from deepdive.models.generative.gpt_tasks import Answerer, Marks
from deepdive.training import fit
from deepdive.training.objectives.generative import tuning_loss
from deepdive_book.ch06a.toys.next_letters import build_next_letters

KINDS = len(toy.letters)
marks = Marks(start=KINDS, delimiter=KINDS + 1, extract=KINDS + 2)


def begun(pretrained):
    """The network with rows for three marks more; its other weights as learned, or drawn."""
    model = build_next_letters(KINDS + 3)
    if pretrained:
        state = model.state_dict()
        for name, weight in toy.model.state_dict().items():
            state[name][: len(weight)] = weight
        model.load_state_dict(state)
    return model


# %% Lines as what the model reads tags=["fold"]
def rows_of(lines, seed):
    """tokens and mask (N, 2, T); which of the two answers is the right one, drawn, (N,)."""
    draw, rows = random.Random(seed), []
    right = torch.tensor([draw.randrange(2) for _ in lines])
    for (first, own, wrong), at in zip(lines, right.tolist(), strict=True):
        answers = [own, wrong] if at == 0 else [wrong, own]
        ids = [toy.encode(part)[0].tolist() for part in (first, *answers)]
        rows += [torch.tensor(row) for row in marks.choices(ids[0], ids[1:])]
    tokens = pad_sequence(rows, batch_first=True, padding_value=-1)
    mask = tokens >= 0
    return tokens.clamp(min=0).unflatten(0, (-1, 2)), mask.unflatten(0, (-1, 2)), right


# %% What is learned from, and how it is judged tags=["fold"]
from deepdive.training.optim import linear


def loss(model, batch):
    tokens, mask, right = batch
    task = cross_entropy(model.choose(tokens, mask), right)
    flat, real_ones = tokens.flatten(0, 1), mask.flatten(0, 1)
    logits = model.model(flat, real_ones)[:, :-1]
    wanted = flat[:, 1:].masked_fill(~real_ones[:, 1:], -100)
    return tuning_loss(task, cross_entropy(logits.mT, wanted, ignore_index=-100))


# %% One run tags=["fold"]
def measure(start, lines, seed, steps):
    """The share of right choices in the test, after tuning on so many lines."""
    torch.manual_seed(seed)
    model = Answerer(begun(start == "pre-trained"), 1)
    tokens, mask, right = rows_of(tuning[:lines], seed)
    drawn = torch.Generator().manual_seed(seed)
    picks = [torch.randint(len(right), (16,), generator=drawn) for _ in range(steps)]
    batches = [(tokens[i], mask[i], right[i]) for i in picks]
    fit(model, batches, loss, steps=steps, seed=seed, progress=False,
        optimizer=adam(model, weight_decay=0.01),
        schedule=linear(1e-3, warmup=max(1, steps // 10), total=steps + 1))  # fmt: skip
    with torch.no_grad():
        tokens, mask, right = rows_of(test, 0)
        chosen = torch.cat([model.choose(*part).argmax(1) for part in
                            zip(tokens.split(50), mask.split(50), strict=True)])  # fmt: skip
    return {"right": float((chosen == right).double().mean())}


# %% tags=["fold"]
predict(
    "With 1,600 labelled lines: which finds the misprint most often?",
    ["the pre-trained model, tuned", "the pre-trained model, asked without any tuning",
     "the network with random weights, tuned", "all within three points"],
    answer=1,
    explain="The model was never told what a misprint is, but a misprint is improbable, and it was "
    "trained to say how probable letters are. Tuning has to find that again behind a new matrix.",
    key="06a_text/gpt-misprints",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Without any example: which is the more probable? tags=["fold"]
from torch.nn.utils.rnn import pad_sequence


@torch.no_grad()
def log_probability(firsts, seconds):
    """log p(second half | a new line, first half and a blank), in nats."""
    rows = [toy.encode(f"\n{a} {b}")[0] for a, b in zip(firsts, seconds, strict=True)]
    tokens = pad_sequence(rows, batch_first=True)
    each = -cross_entropy(toy.model(tokens)[:, :-1].mT, tokens[:, 1:], reduction="none")
    places = torch.arange(1, tokens.shape[1])
    begin = torch.tensor([len(a) + 2 for a in firsts])[:, None]
    end = torch.tensor([len(row) for row in rows])[:, None]
    return (each * ((places >= begin) & (places < end))).sum(1)


firsts, own, wrong = zip(*test, strict=True)
better = log_probability(firsts, own) > log_probability(firsts, wrong)
asked = bootstrap(better.double().numpy())
print(f"the line as printed is the more probable one in {asked.value:.1%} of {len(test)} lines "
      f"(95 %: {asked.low:.1%} to {asked.high:.1%})")  # fmt: skip
# %% One run here, the others kept tags=["fold"]
import json

from deepdive_book.kit.experiments import results_path, share, sweep

SIZES, SEEDS = [100, 400, 1600, 6400], [0, 1, 2]
path, live = results_path("06a_text", "misprints"), profile() != "experiment"
steps = round(share() * 300)
points = [{"start": start, "lines": lines, "seed": seed, "steps": steps}
          for seed in SEEDS for lines in SIZES for start in ("pre-trained", "random")]  # fmt: skip
if live:
    here = measure("pre-trained", min(100, len(tuning)), 0, pick(ci=3, laptop=100, gpu=300))
    print(f"here, a third of the steps: {here['right']:.1%} right with 100 lines")
if live:
    rows = json.loads(path.read_text())["rows"] if path and path.is_file() else []
else:
    rows = sweep(measure, points, path, data="tinyshakespeare")

# %% What the kept runs say tags=["fold"]
from deepdive.evaluate.confidence_intervals import Interval

shown = []
for lines in SIZES if rows else []:
    row = {"labelled lines": lines}
    for start in ("pre-trained", "random"):
        each = [r["right"] for r in rows if r["start"] == start and r["lines"] == lines]
        row[f"{start} weights"] = Interval(sum(each) / len(each), min(each), max(each))
    shown.append(row)
percent = dict.fromkeys(("pre-trained weights", "random weights"), ".1%")
table(shown or [{"labelled lines": "no kept file here"}], formats=percent if shown else None,
      caption="right choices; in brackets the lowest and the highest of three seeds")  # fmt: skip

# %% [markdown]
# Chance is 50%. Random weights hardly leave it; the pre-trained network is far ahead of them with
# the same labels, which is GPT's case for pre-training. But the same network, asked without any
# label, was right more often than after 300 steps of tuning on any of these sets. It was trained to
# say how probable letters are, and a misprint is improbable; behind a new matrix this has to be
# found again, in 300 steps of 16 lines, whatever the set's size. (So of 6,400 lines some were never
# drawn. And most tasks cannot be asked so simply: that a review is friendly is no matter of its
# letters being probable.)
#
# Much of the gap is this small budget; pretraining took 8,000 steps. In a rerun with 6,400 lines
# and one seed, tuning reaches 81.7% after 300 steps, 92.2% after 1,500, and 93.5% after 3,000. So
# the order holds in that rerun, but the numbers of the table are not what tuning can reach.

# %% [markdown] tags=["slide"]
# ## How it differs
#
# | system | what differs from the one before |
# |---|---|
# | GPT (2018) | the Transformer's decoder alone; positions learned, GELU; tuned to each task |
# | GPT-2 (2019) | norms before the sublayers; pieces of bytes; no tuning, the text asks |
# | GPT-3 (2020) | every second layer sees near tokens only; a hundred times as large |
# | GPT-Neo (2021) | GPT-3's pattern in the open; scores are not scaled, no biases in q, k and v |
# | CTRL (2019) | GPT-2 behind a code that names the kind of text; waves as positions, ReLU |
#
# Each is a file of about 40 lines over GPT's (`deepdive.models.generative`). Published weights come
# by `deepdive.published.load`; tests hold GPT, GPT-2, GPT-Neo and CTRL to transformers' own
# classes, logits and gradients, in double precision.

# %% The published sizes, counted tags=["fold", "nbval-check-output"]
from deepdive.models.generative import ctrl, gpt2, gpt3, gpt_neo
from deepdive.models.generative import gpt as first_gpt

PUBLISHED = {"GPT": first_gpt.BASE, "GPT-2, smallest": gpt2.BASE, "GPT-2, largest": gpt2.XL,
             "GPT-Neo 1.3B": gpt_neo.BASE, "CTRL": ctrl.BASE, "GPT-3": gpt3.BASE}  # fmt: skip
with torch.device("meta"):  # shapes without numbers
    counts = {name: sum(p.numel() for p in gpt(config).parameters())
              for name, config in PUBLISHED.items()}  # fmt: skip
table([{"model": name, "layers": PUBLISHED[name].n_layers, "wide": PUBLISHED[name].d_model,
        "reads": PUBLISHED[name].max_length, "million weights": round(n / 1e6)}
       for name, n in counts.items()])  # fmt: skip

# %% [markdown] tags=["aside"]
# ## A code that steers
#
# CTRL's first token says what kind of text follows. It is a token as any other, so that nothing in
# the network changes; what changes is the text that it learns from.

# %% The code is a token tags=["fold"]
from deepdive.models.generative.ctrl import controlled

reviews = 7
print(controlled(torch.tensor([[4, 9, 6]]), reviews).tolist(), "is what CTRL reads of [[4, 9, 6]]")

# %% [markdown] tags=["aside"]
# ## In practice
#
# - **Keep the text whole.** Texts are laid one behind the other with a mark between, and cut where
#   a row is full: no place is wasted on padding.
# - **Mind the longest text.** Learned positions end: GPT reads 512 tokens, GPT-2 1,024; this page's
#   model 64.
# - **Compare like with like.** Nats a letter, a piece and a word are different prices; divide by
#   letters or bytes before you compare models with other vocabularies.
# - **Padding stands at the end** when the last real state is read, and the mask says where it
#   begins (`Answerer.last`).

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. How many questions does a text of 64 letters ask?
#
#    <details><summary>Answer</summary>
#
#    63: each letter but the first is asked for once, all of them in one pass.
#
#    </details>
# 2. Why may all questions be asked in one pass, although the answers stand in the same text?
#
#    <details><summary>Answer</summary>
#
#    The causal mask: the row that is asked for a letter has seen only those before it.
#
#    </details>
# 3. Where does GPT read the answer to a task off, and why there?
#
#    <details><summary>Answer</summary>
#
#    Off the state of the last mark: it is the only row that has seen the whole text.
#
#    </details>
# 4. Why does a pair of texts that are compared go in twice?
#
#    <details><summary>Answer</summary>
#
#    A text has an order and the comparison has none: both orders are read, their states added.
#
#    </details>
# 5. What is left of GPT's three marks in GPT-2?
#
#    <details><summary>Answer</summary>
#
#    Nothing: the task is asked in the text, and the answer is what follows.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 3 min)* A model finds 1/8, 1/2, 1/2 and 1/4 for the four letters of a text. How
#    many bits does it pay a letter?
#
#    <details><summary>Answer</summary>
#
#    $3 + 1 + 1 + 2 = 7$ bits, $7/4$ a letter.
#
#    </details>
# 2. *(on paper, 5 min)* A model of pieces pays 3.2 nats a piece, one of letters 0.9 nats a letter.
#    A piece has 4 letters on average. Which is the better one?
#
#    <details><summary>Answer</summary>
#
#    The first: $3.2 / 4 = 0.8$ nats a letter.
#
#    </details>
# 3. *(extend, 15 min)* Choose by $\log p(\text{half} \mid \text{line}) - \log p(\text{half})$
#    instead of the first term alone. Does it help?
#
#    <details><summary>Answer</summary>
#
#    Call `log_probability` once more with empty first halves, and subtract. A half that is probable
#    everywhere then has no advantage.
#
#    </details>

# %% Answers 1 and 2, checked tags=["fold"]
assert sum(-log2(p) for p in (1 / 8, 1 / 2, 1 / 2, 1 / 4)) / 4 == 7 / 4
assert 3.2 / 4 < 0.9
print("answers 1 and 2 hold")

# %% [markdown] tags=["slide"]
# ## Summary
#
# A small GPT, asked on a million letters only for the next one, writes letters about as frequent as
# Shakespeare's after 400 steps, when 8% of its longer words exist, and at the end 71% [68%, 74%] of
# them do. It knows a misprint that nobody told it of: the line as printed is the more probable one
# in 98.2% of 1,000 pairs. One gets at what it knows by asking how probable a text is, where a task
# can be put that way; or by tuning, which with a set of 6,400 labeled lines reached 83.4% after
# only 300 steps, and with random weights 56.6% (means of three seeds). In a rerun, ten times as
# many steps closed most of this gap and still did not pass the untuned model.
#
# ## Further reading
#
# - Radford et al. (2018), *Improving Language Understanding by Generative Pre-Training*: section 3,
#   and figure 1, the inputs of the tasks.
# - Radford et al. (2019), *Language Models are Unsupervised Multitask Learners*: section 2.
# - Black et al. (2021), *GPT-Neo: Large Scale Autoregressive Language Modeling with
#   Mesh-Tensorflow*.
# - Keskar et al. (2019), *CTRL: A Conditional Transformer Language Model for Controllable
#   Generation*: sections 2 and 3.

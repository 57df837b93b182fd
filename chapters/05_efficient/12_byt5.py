# %% [markdown] tags=["slide"]
# # ByT5: bytes instead of subword tokens
#
# A help desk sorts what people type on their phones: is it about travel, about the kitchen, about
# the bank? `how many calories has a banana` is easy. People type `how mnay caloris has a bannana`.
# Which of two models keeps more of its skill when the spelling goes wrong: one that reads pieces of
# words, or one that reads bytes?
#
# <small>Prerequisites: [tokenizers](../03_bert/01_input.ipynb), [T5](10_t5.ipynb) · 15 min · runs
# on a laptop; results of the long runs are included · book 6.1.2.1</small>

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
# A computer keeps text as bytes, numbers of eight bits. In UTF-8 an English letter is one byte, a
# Greek one two, a Chinese sign three. Most models never see them: a tokenizer joins frequent
# neighbors into pieces, thousands of them, and the model reads the numbers of pieces. ByT5 (Xue et
# al. 2022) leaves the tokenizer out. It is mT5, the T5 of many languages, reading and writing
# bytes. Nothing can be unknown to it, in any script.
#
# ## Spoil a request
#
# Type, or press the buttons. The pieces are those that this page learned from requests like these:

# %% Requests, and pieces learned from them tags=["fold"]
from random import Random

import torch

from deepdive.data.intents import generated_requests, requests
from deepdive.tokenizers import BYT5_SPECIALS, ByteBPETokenizer, ByteTokenizer
from deepdive_book.kit.profile import banner, profile

real, live = profile() != "ci", profile() != "experiment"
LONGEST = 48  # letters
if real:
    learn, test = ([r for r in requests(part) if len(r.text) <= LONGEST]
                   for part in ("train", "test"))  # fmt: skip
else:
    made = list(generated_requests(600))
    learn, test = made[:500], made[500:]
test = Random(0).sample(test, min(500, len(test)))
domains = sorted({r.domain for r in learn})
print(banner("clinc150 (real)" if real else "requests (generated)"))
print(f"{len(learn):,} requests to learn from, {len(test):,} for the test, {len(domains)} domains")

# %% Type and spoil tags=["slide", "fold"]
from deepdive_book.ch05.figures.bytes_vs_subwords import bytes_vs_subwords

pieces = ByteBPETokenizer.train([r.text for r in learn], 1000 if real else 300)
letters = ByteTokenizer(BYT5_SPECIALS)
bytes_vs_subwords("how many calories has a banana", pieces)

# %% [markdown]
# *Each frame is one token. A space is drawn as a low line; a piece takes in the space before it.*
#
# 1. Lose one letter in the middle of a long word. How many pieces go, how many bytes?
# 2. Make a letter a capital. What becomes of its piece?
# 3. Type a word in another script, or with an accent.
#
# ## By hand
#
# A model that reads bytes needs no vocabulary file. ByT5 keeps three numbers for itself: 0 for
# padding, 1 for the end, 2 for what is unknown. So byte $b$ is token $b + 3$. In `café` the first
# three letters are one byte each, and `é` is two:
#
# | | c | a | f | é | |
# |---|---|---|---|---|---|
# | byte | 99 | 97 | 102 | 195 | 169 |
# | token | 102 | 100 | 105 | 198 | 172 |
#
# The price is length. Let a sentence be 10 pieces of 4 letters each. As bytes it has 40 tokens.
# Whatever is done for each token costs 4 times as much. Whatever is done for each pair of tokens
# costs $40 \cdot 40 = 1600$ in the place of $10 \cdot 10 = 100$: 16 times as much.

# %% Check tags=["fold", "nbval-check-output"]
assert letters.encode("café") == [102, 100, 105, 198, 172]
assert letters.decode(letters.encode("καλημέρα, 日本")) == "καλημέρα, 日本"
print("café:", letters.encode("café"))

# %% [markdown] tags=["slide"]
# ## What the vocabulary had cost
#
# mT5 reads 101 languages with 250,112 pieces, so its smallest form is mostly a table of pieces:
# one to read, one to write. ByT5's table has 384 rows. What is saved goes into the layers. A byte
# says little, and it is the encoder that has to make words of bytes; so ByT5's encoder is three
# times as deep as its decoder, where mT5 has both alike.

# %% Count the weights tags=["fold", "nbval-check-output"]
from deepdive.models.generative import byt5, t5
from deepdive_book.kit.tables import table


def weights(config):
    """Millions of weights in the tables, and in the layers of both sides."""
    with torch.device("meta"):
        model = t5.t5(config)
    sides = {"encoder": model.encoder, "decoder": model.decoder}
    count = {name: sum(p.numel() for p in side.stack.parameters()) / 1e6
             for name, side in sides.items()}  # fmt: skip
    whole = sum(p.numel() for p in model.parameters()) / 1e6
    return {"all": whole, "tables": (whole - sum(count.values())) / whole, **count}


sizes = {"mT5, small": t5.MT5, "ByT5, small": byt5.BASE}
table([{"model": name, "layers": f"{c.n_layers} + {c.n_decoder_layers}",
        "width": c.d_model, **weights(c)} for name, c in sizes.items()],
      formats={"all": ".0f", "tables": ".1%", "encoder": ".0f", "decoder": ".0f"},
      caption="millions of weights, and the share of them that stands in tables")  # fmt: skip

# %% [markdown]
# As many weights, spent otherwise. A row of the table for reading works only when its piece
# comes; a layer's weights work for every byte. So ByT5 also does far more for each text.
#
# ## Who pays how much
#
# How much longer a text becomes depends on its script. Here is the same text in many languages:

# %% Lengths tags=["fold"]
import csv

from deepdive.data.generated import number_words
from deepdive.data.lines import text_lines

NAMES = {"eng": "English", "fra": "French", "pol": "Polish", "ell": "Greek", "rus": "Russian",
         "arb": "Arabic", "hin": "Hindi", "tha": "Thai", "zho": "Chinese", "jpn": "Japanese",
         "kor": "Korean", "vie": "Vietnamese", "yor": "Yoruba"}  # fmt: skip
said = {}
if real:
    for row in csv.DictReader(text_lines("sib200"), delimiter="\t", quoting=csv.QUOTE_NONE):
        said.setdefault(row["language"][:3], []).append(row["text"])
else:
    for code, own in (("en", "eng"), ("fr", "fra"), ("ru", "rus"), ("ko", "kor")):
        said[own] = [w for _, w in number_words(code, 100, seed=1, high=999)]

# %% tags=["slide", "fold"]
english = sum(len(text.encode()) for text in said["eng"])
shown = []
for code in NAMES.keys() & said.keys():
    chars, octets = (sum(map(len, some)) for some in (said[code], map(str.encode, said[code])))
    shown.append({"language": NAMES[code], "characters": chars / len(said[code]),
                  "bytes a character": octets / chars,
                  "bytes, to English": octets / english})  # fmt: skip
table(sorted(shown, key=lambda row: row["bytes, to English"]),
      formats={"characters": ".0f", "bytes a character": ".2f", "bytes, to English": ".2f"},
      caption=f"mean length of {len(said['eng']):,} texts, the same in each language")  # fmt: skip

# %% [markdown]
# Chinese takes nearly three bytes a sign, and is still no longer than English: it says in 43 signs
# what takes 129 in English. Hindi and Thai pay most. Their letters stand for single sounds, as
# Latin letters do, and take three bytes each; so their texts are 2.6 and 2.8 times as long as
# English ones. (Pieces are not fair either: [page 3.1](../03_bert/01_input.ipynb) counts them.)

# %% [markdown] tags=["slide"]
# ## Spelled right, spelled wrong
#
# Now the help desk. A small T5 with three layers to read and one to write is asked which of ten
# domains a request is of, and writes the domain's letter. One model reads bytes, one reads pieces.
# Both get the same number of operations to learn with: pieces make shorter texts, so that model
# sees more requests for the same work. Both learn from requests as they are. The test is then
# spoiled: each letter, with a probability of 10, 20 or 30%, is lost, or changes places with the
# next, or becomes a capital, or is doubled.

# %% Spoil tags=["fold"]
WAYS = ("lost", "swapped", "capital", "doubled")


def spoiled(text, way, rate, lots):
    """The text with each letter spoiled in this way, with probability `rate`."""
    out, i = [], 0
    while i < len(text):
        char, hit = text[i], text[i].isalpha() and lots.random() < rate
        if hit and way == "swapped" and i + 1 < len(text):
            out.append(text[i + 1])
            i += 1
        out.append(("" if way == "lost" else char.upper() if way == "capital" else
                    char * 2 if way == "doubled" else char) if hit else char)  # fmt: skip
        i += 1
    return "".join(out)


# %% Some that are spoiled tags=["fold"]
def counted(texts):
    """Mean numbers of bytes and of pieces of a text."""
    return [sum(len(known.encode(text)) for text in texts) / len(texts)
            for known in (letters, pieces)]  # fmt: skip


print("The test as it is: {:.1f} bytes a request, {:.1f} pieces".format(
    *counted([r.text for r in test])))  # fmt: skip
for way in WAYS:
    print(f"{way}, 20%: {spoiled('how many calories has a banana', way, 0.2, Random(3))}")
    some = [spoiled(r.text, way, 0.2, lots) for lots in (Random(0),) for r in test]
    print("    {:.1f} bytes, {:.1f} pieces".format(*counted(some)))

# %% The two readers tags=["fold"]
from deepdive.training.parameter_scaled_adam import ScaledAdam
from deepdive_book.kit.flops import count_flops

SMALL = byt5.BASE.but(d_model=64, n_heads=4, d_head=16, n_layers=3, n_decoder_layers=1, d_ff=128,
                      dropout=0.0)  # fmt: skip


def read(tokenizer, texts):
    rows = [torch.tensor(tokenizer.encode(text, eos=True)) for text in texts]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


def answers(tokenizer, some):
    """The domain's letter, one token in both vocabularies."""
    return torch.tensor([tokenizer.encode("abcdefghij"[domains.index(r.domain)]) for r in some])


def judged(model, tokenizer, texts):
    """Logits of what is written first; the decoder begins with padding."""
    ids = read(tokenizer, texts)
    return model(ids, torch.zeros(len(ids), 1, dtype=torch.long), ids != 0)[:, 0]


# %% Train and test one reader tags=["fold"]
def learned(tokenizer, seed, steps):
    """A reader after this many batches of 32 requests."""
    torch.manual_seed(seed)
    model, lots = t5.t5(SMALL, vocab_size=len(tokenizer)), Random(seed)
    moves = ScaledAdam(model.parameters(), lr=0.02)
    for step in range(steps):
        some = lots.sample(learn, 32)
        moves.param_groups[0]["lr"] = 0.02 * min(1, (step + 1) / 20, 2 * (steps - step) / steps)
        moves.zero_grad()
        logits = judged(model, tokenizer, [r.text for r in some])
        loss = torch.nn.functional.cross_entropy(logits, answers(tokenizer, some)[:, 0])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        moves.step()
    return model.eval()


def work(tokenizer):
    """Operations of a step, forward and backward, on the same 128 requests."""
    model, texts = t5.t5(SMALL, vocab_size=len(tokenizer)), [r.text for r in learn[:128]]
    parts = [texts[i : i + 32] for i in range(0, len(texts), 32)]
    return count_flops(lambda: [judged(model, tokenizer, p).sum().backward() for p in parts])


# %% All of it, or what was kept tags=["fold"]
import json

from deepdive_book.kit.experiments import results_path, share, sweep

RATES, STEPS = (0.1, 0.2, 0.3), 1000
READERS = ("bytes", "pieces, same work")


def measured(reader, seed, of):
    """Shares of right answers: on the test as it is, and spoiled in each way at each rate."""
    tokenizer = letters if reader == "bytes" else pieces
    steps = round(of * work(letters) / work(pieces)) if reader == READERS[1] else of
    model, asked = learned(tokenizer, seed, steps), answers(tokenizer, test)[:, 0]

    def right(way, rate):
        lots = Random(f"{way} {rate}")
        with torch.no_grad():
            texts = [spoiled(r.text, way, rate, lots) for r in test]
            return float((judged(model, tokenizer, texts).argmax(-1) == asked).double().mean())

    by_way = {way: [right(way, rate) for rate in RATES] for way in WAYS}
    return {"steps": steps, "right": right("lost", 0.0), **by_way}


# %% tags=["fold"]
points = [{"reader": reader, "seed": seed, "of": round(share() * STEPS)}
          for seed in range(3) for reader in READERS]  # fmt: skip
path = results_path("05_efficient", "bytes")
if live:
    rows = json.loads(path.read_text())["rows"] if path and path.is_file() else []
    here = measured("bytes", 0, 2)  # the same code, two steps: it runs
else:
    rows = sweep(measured, points, path, data="clinc150")

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "A fifth of the letters is lost. Which reader loses more of its right answers?",
    ["the one with pieces", "both lose about as much", "the one with bytes"],
    answer=0,
    explain="Of 100 answers the one with pieces goes from 92.5 right to 52.0, the one with bytes "
    "from 83.7 to 60.7. A lost letter leaves all other bytes as they were, but it often makes "
    "other pieces of the whole word.",
    key="05_efficient/bytes",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Right answers tags=["slide", "fold"]
from statistics import mean

from deepdive_book.ch06a.runs.decoder_challenge import paired

as_is = [{"reader": reader, "requests": 32 * mine[0]["steps"],
          "right": mean(r["right"] for r in mine),
          "seeds": f"{min(r['right'] for r in mine):.1%} to {max(r['right'] for r in mine):.1%}"}
         for reader in READERS if (mine := [r for r in rows if r["reader"] == reader])]  # fmt: skip
table(as_is or [{"reader": "no kept file here"}], formats={"right": ".1%"} if as_is else None,
      caption="requests as they are: right answers, means over three seeds")  # fmt: skip

# %% Right answers, spoiled tags=["fold"]
PIECES, asked = READERS[1], [("as they are", "right", None)]
asked += [(f"{way} {rate:.0%}", way, i) for way in WAYS for i, rate in enumerate(RATES)]
shown = []
for name, way, i in asked if rows else ():
    some = [{"part": r["reader"], "seed": r["seed"], "right": 100 * r["right"],
             "now": 100 * (r[way] if i is None else r[way][i])} for r in rows]  # fmt: skip
    for r in some:
        r["lost"] = r["right"] - r["now"]
    shown.append({
        "letters": name,
        "bytes": mean(r["now"] for r in some if r["part"] == "bytes"),
        "pieces": mean(r["now"] for r in some if r["part"] == PIECES),
        "bytes ahead by": paired(some, "bytes", "now", PIECES),
        "pieces lose more by": None if i is None else paired(some, PIECES, "lost", "bytes"),
    })  # fmt: skip

# %% tags=["slide", "fold"]
reach = 196 * (0.25 / 500) ** 0.5
print(f"other requests than these 500 would move a share by {reach:.1f} or less, 19 times in 20")
table(shown or [{"letters": "no kept file here"}],
      formats=dict.fromkeys([*shown[0]][1:], ".1f") if shown else None,
      caption="right of 100, means of three seeds; differences with 95 % intervals")  # fmt: skip

# %% [markdown]
# - **As they are.** Pieces are ahead with each seed, with 92.5 to 83.7 on average. Three seeds make
#   the interval wide: bytes may be 18.4 behind or 1.0 ahead.
# - **A tenth spoiled.** Pieces are ahead no longer. Two of the four intervals contain 0, and
#   the 2.4 of capitals is less than the 4.4 by which other requests may move a share.
# - **A fifth and more.** Bytes are ahead in all four ways, by 8.7 to 23.8. No interval contains 0.
#
# The last column is about the prediction: whatever is done to the letters, and at each rate, the
# reader of pieces loses more, and no interval contains 0. The counts above suggest why. With a
# fifth of its letters lost a request has fewer bytes than before, but more pieces: words fall apart
# into shorter ones.
#
# Both readers are small, learned with one rate, and met no misprint before the test. Misprints in
# training may help the reader of pieces; exercise 3 asks how much.

# %% [markdown] tags=["aside"]
# ## How it differs

# %%
from deepdive_book.site.atlas import compare

compare("byt5")

# %% [markdown]
# *Grey is as it was, lit is new, dashed is gone.* The code is T5's; what differs are numbers: 384
# rows in the table, an encoder three times as deep as the decoder, wider layers. In its lesson
# before any task, hidden spans are 20 bytes long on average where T5's are 3 pieces long. The last
# bytes, which UTF-8 hardly uses, mark where a span was.
#
# ## Common mistake
#
# To cut a text by its bytes. A sign of several bytes falls apart, and what is left is no text:

# %% tags=["nbval-check-output"]
word = "Grüße"
octets = word.encode()
print(len(word), "letters,", len(octets), "bytes")
print("the first three bytes:", octets[:3].decode(errors="replace"))
assert octets[:4].decode() == "Grü"

# %% [markdown]
# The mend: cut where a character begins, `text[:n]` before `encode`, and count both letters and
# bytes. A model, too, may write a byte that does not fit the one before it. It is decoded to a
# sign that says so, and nothing fails.

# %% [markdown] tags=["aside"]
# ## In practice
#
# | you have | take |
# |---|---|
# | clean English, and little time | pieces: a third of the length here |
# | typed text, misprints, names, new words | bytes, or pieces and misprints in training |
# | many scripts in one model | bytes, if the length can be paid for |
# | long documents | pieces; attention's cost is the square of the length |
# | bytes, and little time | a deep encoder, a shallow decoder: it runs for each byte written |
#
# - A limit of 512 tokens is 512 letters of English, spaces included, or about 170 Chinese signs.
# - ByT5 begins its texts with padding, as T5 does, and ends them with token 1.
# - Xue et al. report that ByT5 is ahead of mT5 at the small sizes, that it keeps more under noise,
#   and that it is slower to train and to use.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why can no text be unknown to a model of bytes?
#
#    <details><summary>Answer</summary>
#
#    Every text is a row of bytes, and all 256 are in its table.
#
#    </details>
# 2. One letter of a word of eight letters is lost. What does a reader of pieces see?
#
#    <details><summary>Answer</summary>
#
#    Often quite other pieces, in the place of one that it knew. The reader of bytes sees seven of
#    the eight that were there.
#
#    </details>
# 3. Why is ByT5's encoder deeper than its decoder?
#
#    <details><summary>Answer</summary>
#
#    A byte says little, so words must first be made of bytes, which the encoder does. And the
#    decoder runs once for each byte that is written.
#
#    </details>
# 4. Which languages pay most for bytes, those with long words or those with other scripts?
#
#    <details><summary>Answer</summary>
#
#    Those whose letters take three bytes each and stand for single sounds, such as Hindi and Thai.
#    Chinese takes three bytes a sign too, but a sign says as much as three letters of English.
#
#    </details>
# 5. Is a model of pieces that is never given an unknown token as robust as a model of bytes?
#
#    <details><summary>Answer</summary>
#
#    No. A spoiled word falls apart into shorter pieces, down to bytes, and the model learned the
#    word by other ones. The reader of pieces above has all 256 bytes in its vocabulary, too.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(on paper, 4 min)* Which tokens is `né` to ByT5?
#
#    <details><summary>Answer</summary>
#
#    `n` is byte 110, so 113; `é` is 195 and 169, so 198 and 172.
#
#    </details>
# 2. *(derive, 6 min)* A layer costs $24 n d^2 + 4 n^2 d$ operations for $n$ tokens. A text has $n$
#    pieces, or $4 n$ bytes. For which $n$ do the bytes cost 8 times as much as the pieces?
#
#    <details><summary>Answer</summary>
#
#    $96 n d^2 + 64 n^2 d = 8 (24 n d^2 + 4 n^2 d)$ gives $32 n^2 d = 96 n d^2$, so $n = 3 d$.
#
#    </details>
# 3. *(measure, 30 min of machine time)* Let the reader of pieces learn from spoiled requests too.
#    What is left of the difference?
#
#    <details><summary>Answer</summary>
#
#    Call `spoiled` on half of the texts in `learned`. Three seeds, and the interval of the
#    difference, on requests as they are too.
#
#    </details>

# %% Answers 1 and 2, checked tags=["fold"]
assert letters.encode("né") == [113, 198, 172]
d, n = 64, 192
assert 96 * n * d**2 + 64 * n**2 * d == 8 * (24 * n * d**2 + 4 * n**2 * d)
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# A model of bytes needs no tokenizer and reads every text, and pays with length: here with three
# times as many tokens, and for Thai with 2.8 times as many bytes as for English. ByT5 spends on its
# layers, most of them the encoder's, what mT5's table of pieces had taken. For the same
# operations the help desk's reader of pieces is ahead with each of three seeds while all is spelled
# right, though not beyond doubt; but where a fifth or more of the letters goes wrong, the reader of
# bytes is ahead in all four ways, and at each rate it keeps more of its skill.
#
# ## Further reading
#
# - Xue et al. (2022), *ByT5: Towards a Token-Free Future with Pre-trained Byte-to-Byte Models*:
#   section 3 for the form, 4 for what it can do.
# - Xue et al. (2021), *mT5: A Massively Multilingual Pre-trained Text-to-Text Transformer*.
#
# <small>Book 6.1.2.1 · the slides of Straka on multilingual models</small>

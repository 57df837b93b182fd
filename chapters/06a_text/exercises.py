# %% [markdown]
# # Exercises: text
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 6.1 and 5.4 · after [say what comes next](01_gpt.ipynb); exercise 1 needs [what is
# each part worth](02_gpt2_to_llama.ipynb), exercise 4 [which damage teaches
# most](04_denoising.ipynb), exercise 5 [four bits](03_quantization.ipynb) · a small model that is
# part of the library, no GPU</small>

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

# %%
import struct
from functools import cache

import torch
from torch.nn.functional import cross_entropy

# %%
from deepdive.core.checks import missed, returned

# %%
from deepdive.decoding import sample as draw_tokens
from deepdive_book.ch06a.toys.next_letters import next_letters

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, rename

# %%
# A GPT-2 of 91,104 weights that learned Shakespeare's letters; it reads at most 64 of them
TOY = next_letters()


# %%
@cache
def drawn(seed, texts, letters):
    """So many texts, of so many letters each, drawn by the model's own probabilities; generated."""
    g = torch.Generator().manual_seed(seed)
    start = TOY.encode("\n").expand(texts, 1)
    lines = draw_tokens(TOY.model, prompt=start, max_length=letters, eos=None, generator=g)
    return ["".join(TOY.letters[i] for i in line) for line in lines]


# %% [markdown]
# ## 1. What a decoder holds
#
# *Predict, then run · 8 min · easy · book 6.1.3*
#
# A decoder of today is {{WIDE}} wide, has {{LAYERS}} layers, {{HEADS}} query heads and {{SHARED}}
# heads of keys and values; no layer has a bias. **Before you run anything**, on paper:
#
# - `"attention"`: how many weights have the four matrices of one layer's attention, $W_q$, $W_k$,
#   $W_v$, $W_o$, together,
# - `"cache"`: how many numbers are kept, in all layers, after {{TOKENS}} tokens were read,
# - `"units"`: a feed-forward layer of two matrices would have four times {{WIDE}} units. How many
#   has a gated one, of three matrices, with as many weights, rounded down,
# - `"questions"`: how many times is the model asked for the next token in a text of {{TOKENS}}
#   tokens, if nothing stands before the first one?
#
# The cell checks the first three.

# %% tags=["variant"] exercise="holds"
WIDE = choose(512, 768, 1024)
HEADS = choose(8, 16)
SHARED = choose(2, 4)
LAYERS = number(6, 24, 2)
TOKENS = number(100, 900, 50)


# %% nbgrader={"grade_id": "holds", "solution": true}
def predicted_numbers():
    """Return {"attention": n, "cache": n, "units": n, "questions": n}."""
    ### BEGIN SOLUTION
    narrow = WIDE * SHARED // HEADS  # keys and values of a token, each
    return {
        "attention": 2 * WIDE * WIDE + 2 * WIDE * narrow,
        "cache": LAYERS * 2 * narrow * TOKENS,
        "units": 2 * 4 * WIDE // 3,
        "questions": TOKENS - 1,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "holds-check", "grade": true, "points": 3} own="predict"
from deepdive.core import KVCache
from deepdive.models.generative.llama import TINY, llama

said = returned("predicted_numbers", predicted_numbers())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"attention", "cache", "units", "questions"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
with torch.device("meta"), torch.no_grad():  # shapes without numbers
    made, cache = llama(TINY, d_model=WIDE, n_heads=HEADS, n_kv_heads=SHARED, n_layers=1), KVCache()
    made.decoder(torch.zeros(1, TOKENS, dtype=torch.int64), cache=cache)
held = sum(weight.numel() for weight in made.decoder.stack.blocks[0].attn.parameters())
assert said["attention"] == held, (
    f"attention: {missed(said['attention'], held, ',')}: W_k and W_v are as wide "
    f"as {SHARED} of {HEADS} heads"
)
kept = LAYERS * (cache[0].keys.numel() + cache[0].values.numel())
assert said["cache"] == kept, (
    f"cache: {missed(said['cache'], kept, ',')}: a key and a value for each token, "
    "each shared head, and each layer"
)
assert said["units"] == 8 * WIDE // 3, (
    f"units: {missed(said['units'], 8 * WIDE // 3, ',')}; three "
    f"matrices must hold what two of {4 * WIDE:,} units do"
)
### BEGIN HIDDEN TESTS
assert said["questions"] == TOKENS - 1, f"questions: {TOKENS - 1}; the first token is not asked for"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="holds"
# A head is {{WIDE}} / {{HEADS}} wide, whether it is shared or not.

# %% [markdown] tags=["hint"] exercise="holds"
# The output matrix $W_o$ reads all query heads, so it is as large as $W_q$.


# %% tags=["wrong-answer"] exercise="holds"
def predicted_numbers():  # every query head has keys and values of its own
    return {
        "attention": 4 * WIDE * WIDE,
        "cache": LAYERS * 2 * WIDE * TOKENS,
        "units": 8 * WIDE // 3,
        "questions": TOKENS - 1,
    }


# %% tags=["wrong-answer"] exercise="holds"
def predicted_numbers():  # keys are kept, values are not
    narrow = WIDE * SHARED // HEADS
    return {
        "attention": 2 * WIDE * (WIDE + narrow),
        "cache": LAYERS * narrow * TOKENS,
        "units": 8 * WIDE // 3,
        "questions": TOKENS - 1,
    }


# %% tags=["wrong-answer"] exercise="holds"
def predicted_numbers():  # a gated layer as wide as the plain one
    narrow = WIDE * SHARED // HEADS
    return {
        "attention": 2 * WIDE * (WIDE + narrow),
        "cache": LAYERS * 2 * narrow * TOKENS,
        "units": 4 * WIDE,
        "questions": TOKENS - 1,
    }


# %% tags=["wrong-answer"] exercise="holds"
def predicted_numbers():  # the first token is asked for
    narrow = WIDE * SHARED // HEADS
    return {
        "attention": 2 * WIDE * (WIDE + narrow),
        "cache": LAYERS * 2 * narrow * TOKENS,
        "units": 8 * WIDE // 3,
        "questions": TOKENS,
    }


# %% [markdown]
# ## 2. What a line costs
#
# *Measure · 10 min · easy · book 6.1.3*
#
# `TOY.model(TOY.encode(text))` returns logits (1, T, 65), `TOY.letters` are the 65 letters. The
# model reads a new line, "\n", and then `LINE`. **Measure**, for "{{LINE}}":
#
# - `"bits"`: the mean surprise of the letters of `LINE`, in **bits** a letter; the new line is read
#   and not asked for,
# - `"dearest"`: which letter of `LINE` surprises most, counted from 0.

# %% tags=["variant"] exercise="price"
LINE = choose(
    "What say you to the king?",
    "I know thee not, old man.",
    "The sun will not be seen.",
    "Good night, my noble lord.",
    "Speak to me of your jury.",
    "Come, let us go together.",
    "My heart is full of fear.",
    "He is not here, my lords.",
    "Who calls for Juliet now?",
    "Give me your hand, uncle.",
    "A horse, a horse for him!",
    "We are no friends to you.",
    "The duke is gone to Rome.",
    "Why, then let him be gone.",
    "I pray you, tell me true.",
    "This is the end of love.",
    "Where is my father, sir?",
    "O, be not angry with him.",
    "They will be here at one.",
    "What news have you for me?",
    "Sleep, and forget the war.",
    "She sings like no lark.",
    "Let the gates be open.",
    "Thou hast a noble face.",
)


# %% nbgrader={"grade_id": "price", "solution": true}
@torch.no_grad()
def measured_price():
    """Return {"bits": mean, "dearest": place}."""
    ### BEGIN SOLUTION
    tokens = TOY.encode("\n" + LINE)[0]
    log_p = TOY.model(tokens[None])[0].log_softmax(-1)
    nats = -log_p[:-1].gather(1, tokens[1:, None])[:, 0]
    bits = nats / torch.log(torch.tensor(2.0))
    return {"bits": round(float(bits.mean()), 4), "dearest": int(bits.argmax())}
    ### END SOLUTION


# %% nbgrader={"grade_id": "price-check", "grade": true, "points": 3} own="measure"
found = returned("measured_price", measured_price())
assert isinstance(found, dict), "return a dictionary: `return {...}`"
assert set(found) == {"bits", "dearest"}, f"the names are bits and dearest: {sorted(found)}"
tokens = TOY.encode("\n" + LINE)
with torch.no_grad():
    paid = cross_entropy(TOY.model(tokens)[0, :-1], tokens[0, 1:], reduction="none")
nats = float(paid.mean())
assert abs(found["bits"] - nats) > 1e-3, f"bits: {found['bits']:.3f} are nats; 1 bit is 0.69 nats"
assert abs(found["bits"] - nats / 0.693147) < 0.001, (
    f"bits: {found['bits']:.3f}; the row of each letter says what follows it. Is each letter asked "
    "for in the row before it, and the new line not at all?"
)
assert 0 <= found["dearest"] < len(LINE), f"dearest: a place from 0 to {len(LINE) - 1}"
### BEGIN HIDDEN TESTS
place = int(paid.argmax())
assert found["dearest"] == place, f"dearest: {place}, {LINE[place]!r}; places count from 0 in LINE"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="price"
# With T letters in all, rows 0 to T - 2 are asked, for letters 1 to T - 1.

# %% [markdown] tags=["hint"] exercise="price"
# `cross_entropy(logits, wanted, reduction="none")` gives nats a letter. Divide by the natural
# logarithm of 2.


# %% tags=["wrong-answer"] exercise="price"
@torch.no_grad()
def measured_price():  # in nats
    tokens = TOY.encode("\n" + LINE)[0]
    paid = cross_entropy(TOY.model(tokens[None])[0, :-1], tokens[1:], reduction="none")
    return {"bits": float(paid.mean()), "dearest": int(paid.argmax())}


# %% tags=["wrong-answer"] exercise="price"
@torch.no_grad()
def measured_price():  # each row is asked for its own letter
    tokens = TOY.encode("\n" + LINE)[0]
    paid = cross_entropy(TOY.model(tokens[None])[0], tokens, reduction="none") / 0.6931
    return {"bits": float(paid.mean()), "dearest": int(paid[1:].argmax())}


# %% tags=["wrong-answer"] exercise="price"
@torch.no_grad()
def measured_price():  # counted from the new line
    tokens = TOY.encode("\n" + LINE)[0]
    paid = cross_entropy(TOY.model(tokens[None])[0, :-1], tokens[1:], reduction="none") / 0.6931
    return {"bits": float(paid.mean()), "dearest": int(paid.argmax()) + 1}


# %% [markdown]
# ## 3. The nucleus
#
# *Code · 12 min · medium · Holtzman et al. 2020*
#
# To draw the next token without the long tail of improbable ones, keep the **nucleus**: the fewest
# tokens, the most probable first, whose probabilities sum to `share` **or more**. All others get
# 0, and the kept ones are divided by their sum. The first check has the share {{SHARE}}.

# %% tags=["variant"] exercise="nucleus"
SHARE = choose(0.9, 0.8, 0.85, 0.7)
rename("nucleus", "kept_nucleus", "most_probable")


# %% nbgrader={"grade_id": "nucleus", "solution": true}
def nucleus(p, share):
    """Return the probabilities (V,) with all but the nucleus at 0, summing to 1."""
    ### BEGIN SOLUTION
    order = p.argsort(descending=True)
    kept, total = torch.zeros_like(p), 0.0
    for token in order.tolist():
        kept[token] = p[token]
        total += float(p[token])
        if total >= share:
            break
    return kept / kept.sum()
    ### END SOLUTION


# %% nbgrader={"grade_id": "nucleus-check", "grade": true, "points": 4}
five = torch.tensor([1, 8, 2, 16, 5]).double() / 32
answer = returned("nucleus", nucleus(five, SHARE))
answer = torch.as_tensor(answer)
assert answer.shape == five.shape, f"as many numbers as tokens: {tuple(answer.shape)}"
assert abs(float(answer.sum()) - 1) < 1e-9, f"they sum to 1, yours to {float(answer.sum()):.3f}"
held = float(five[answer > 0].sum())
assert held >= SHARE, f"the kept tokens hold {held:.3f} of {five.tolist()}: less than {SHARE}"
least = float(five[answer > 0].min())
assert held - least < SHARE, f"without the least of them {held - least:.3f} stay: one is too many"
assert answer.argmax() == 3, "the most probable token stays the most probable one"
assert torch.allclose(answer[answer > 0], five[answer > 0] / held), (
    "what is kept is divided by its sum, so that the kept tokens stand to each other as before"
)
whole = nucleus(torch.tensor([2.0, 6.0, 8.0]).double() / 16, 0.5)
assert (whole > 0).sum() == 1, "a token that holds 0.5 alone is the nucleus of 0.5: `or more`"
### BEGIN HIDDEN TESTS
from deepdive.decoding.scores import filter_top_p

g = torch.Generator().manual_seed(2)
for share in (0.2, 0.5, 0.93, 0.999):
    p = (3 * torch.randn(40, generator=g, dtype=torch.float64)).softmax(-1)
    right = filter_top_p(p.log(), share).softmax(-1)
    assert torch.allclose(nucleus(p, share), right), f"40 tokens, a share of {share}: off"
one = torch.tensor([0.0, 1.0, 0.0]).double()
assert torch.equal(nucleus(one, 0.3), one), "one token has it all"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="nucleus"
# `p.argsort(descending=True)` gives the tokens, the most probable first.

# %% [markdown] tags=["hint"] exercise="nucleus"
# A token is kept if those before it, in that order, hold less than the share.


# %% tags=["wrong-answer"] exercise="nucleus"
def nucleus(p, share):  # stops before the share is reached
    sorted_p, order = p.sort(descending=True)
    kept = torch.zeros_like(p)
    kept[order] = sorted_p * (sorted_p.cumsum(0) <= share)
    return kept / kept.sum()


# %% tags=["wrong-answer"] exercise="nucleus"
def nucleus(p, share):  # not divided
    sorted_p, order = p.sort(descending=True)
    kept = torch.zeros_like(p)
    kept[order] = sorted_p * (sorted_p.cumsum(0) - sorted_p < share)
    return kept


# %% tags=["wrong-answer"] exercise="nucleus"
def nucleus(p, share):  # in the order of the vocabulary
    kept = p * (p.cumsum(0) - p < share)
    return kept / kept.sum()


# %% tags=["wrong-answer"] exercise="nucleus"
def nucleus(p, share):  # all that is at least (1 - share) as probable as the best
    kept = p * (p >= (1 - share) * p.max())
    return kept / kept.sum()


# %% [markdown]
# ## 4. Hide spans as T5 does
#
# *Code · 15 min · medium · Raffel et al. 2020, section 3.1.4*
#
# `tokens` is a list of numbers, `hidden` a list of as many truth values. A **span** is a run of
# tokens that are hidden. Return two lists. What is **read**: each span is replaced by one mark, the
# first by `first_mark`, the next by `first_mark - 1`, and so on. What is **written**: each mark and
# the tokens of its span, and at the end one mark more. The first mark of the check is {{MARK}}.

# %% tags=["variant"] exercise="spans"
MARK = choose(99, 999, 500, 320)
rename("hide", "hide_spans", "spans_hidden")


# %% nbgrader={"grade_id": "spans", "solution": true}
def hide(tokens, hidden, first_mark):
    """Return (read, written), two lists of numbers."""
    ### BEGIN SOLUTION
    read, written, mark, before = [], [], first_mark + 1, False
    for token, gone in zip(tokens, hidden, strict=True):
        if gone and not before:
            mark -= 1
            read.append(mark)
            written.append(mark)
        (written if gone else read).append(token)
        before = gone
    return read, [*written, mark - 1]
    ### END SOLUTION


# %% nbgrader={"grade_id": "spans-check", "grade": true, "points": 4}
from deepdive.training.objectives.spans import corrupt_spans


def wanted_of(tokens, hidden, mark):
    both = corrupt_spans(torch.tensor([tokens]), torch.tensor([hidden]), mark)
    return tuple(side[0].tolist() for side in both)


text = [5, 6, 7, 8, 9, 10]
for where in ("011001", "100000", "000011", "110111"):
    gone = [x == "1" for x in where]
    answer = returned("hide", hide(text, gone, MARK))
    assert isinstance(answer, tuple | list), "return two lists: `return read, written`"
    assert len(answer) == 2, f"return two lists: {len(answer)} came"
    right = wanted_of(text, gone, MARK)
    for i, name in enumerate(("read", "written")):
        assert list(answer[i]) == right[i], (
            f"hidden {where} of {text}: {name} {answer[i]}, should be {right[i]}"
        )
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(4)
for _ in range(20):
    line = torch.randint(0, 50, (12,), generator=g).tolist()
    gone = (torch.rand(12, generator=g) < 0.4).tolist()
    gone[3] = True
    assert tuple(map(list, hide(line, gone, MARK))) == wanted_of(line, gone, MARK), (
        f"hidden {gone} of {line} is off"
    )
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="spans"
# A span begins where a token is hidden and the one before it is not.

# %% [markdown] tags=["hint"] exercise="spans"
# The last mark of what is written is the one that would come next.


# %% tags=["wrong-answer"] exercise="spans"
def hide(tokens, hidden, first_mark):  # a mark for each token
    read, written, mark = [], [], first_mark
    for token, gone in zip(tokens, hidden, strict=True):
        read.append(mark if gone else token)
        if gone:
            written += [mark, token]
            mark -= 1
    return read, [*written, mark]


# %% tags=["wrong-answer"] exercise="spans"
def hide(tokens, hidden, first_mark):  # nothing says that there are no more
    read, written, mark, before = [], [], first_mark + 1, False
    for token, gone in zip(tokens, hidden, strict=True):
        if gone and not before:
            mark -= 1
            read.append(mark)
            written.append(mark)
        (written if gone else read).append(token)
        before = gone
    return read, written


# %% tags=["wrong-answer"] exercise="spans"
def hide(tokens, hidden, first_mark):  # marks rise
    read, written, mark, before = [], [], first_mark - 1, False
    for token, gone in zip(tokens, hidden, strict=True):
        if gone and not before:
            mark += 1
            read.append(mark)
            written.append(mark)
        (written if gone else read).append(token)
        before = gone
    return read, [*written, mark + 1]


# %% [markdown]
# ## 5. Four bits a weight
#
# *Find and fix a planted bug · 12 min · hard · [page 6a.3](03_quantization.ipynb)*
#
# A block of `Q4_1` holds 32 weights in 20 bytes: the step $d$ and the lowest value $m$, two bytes
# each, then 16 bytes with two marks of four bits each. The low halves of the 16 bytes are the marks
# of weights 0 to 15, the high halves those of weights 16 to 31. A weight is $d \cdot q + m$. This
# function reads one block, given as 20 whole numbers from 0 to 255. It runs, and some blocks come
# out right. Look at the trials, then fix it in `mended_block`.

# %% tags=["variant"] exercise="bits"
rename("mended_block", "sound_block", "block_read")


# %% tags=["bug"] exercise="bits" bug="step and lowest value are exchanged" caught="ruler:"
def broken_block(raw):
    """Return the 32 weights of a block, given as a list of 20 bytes."""
    m, d = struct.unpack("<ee", bytes(raw[:4]))
    marks = [byte & 15 for byte in raw[4:]] + [byte >> 4 for byte in raw[4:]]
    return [d * q + m for q in marks]


# %% tags=["bug"] exercise="bits" bug="marks are taken two by two" caught="halves:"
def broken_block(raw):
    """Return the 32 weights of a block, given as a list of 20 bytes."""
    d, m = struct.unpack("<ee", bytes(raw[:4]))
    marks = []
    for byte in raw[4:]:
        marks += [byte & 15, byte >> 4]
    return [d * q + m for q in marks]


# %% tags=["bug"] exercise="bits" bug="marks go below 0" caught="signs:"
def broken_block(raw):
    """Return the 32 weights of a block, given as a list of 20 bytes."""
    d, m = struct.unpack("<ee", bytes(raw[:4]))
    marks = [byte & 15 for byte in raw[4:]] + [byte >> 4 for byte in raw[4:]]
    return [d * (q - 16 if q > 7 else q) + m for q in marks]


# %% tags=["bug"] exercise="bits" bug="one bit of the high half is lost" caught="top:"
def broken_block(raw):
    """Return the 32 weights of a block, given as a list of 20 bytes."""
    d, m = struct.unpack("<ee", bytes(raw[:4]))
    marks = [byte & 15 for byte in raw[4:]] + [byte >> 4 & 7 for byte in raw[4:]]
    return [d * q + m for q in marks]


# %% tags=["bug"] exercise="bits" bug="one byte is read for all" caught="places:"
def broken_block(raw):
    """Return the 32 weights of a block, given as a list of 20 bytes."""
    d, m = struct.unpack("<ee", bytes(raw[:4]))
    marks = [raw[4] & 15 for byte in raw[4:]] + [raw[4] >> 4 for byte in raw[4:]]
    return [d * q + m for q in marks]


# %%
def packed(d, m, marks):
    """The 20 bytes of a block, as whole numbers from 0 to 255."""
    pairs = zip(marks[:16], marks[16:], strict=True)
    return [*struct.pack("<ee", d, m), *(low + 16 * high for low, high in pairs)]


TRIALS = {
    "ruler": ((2.0, 5.0, [2] * 32), "32 weights of 2 · 2 + 5"),
    "halves": ((1.0, 1.0, [1] * 16 + [3] * 16), "16 weights of 2, then 16 of 4"),
    "signs": ((1.0, 1.0, [9] * 16 + [7] * 16), "16 weights of 10, then 16 of 8"),
    "top": ((1.0, 1.0, [2] * 16 + [15] * 16), "16 weights of 3, then 16 of 16"),
    "places": ((1.0, 0.0, [*range(16), *range(15, -1, -1)]), "0 up to 15, and down again"),
}
for name, (block, _) in TRIALS.items():
    read = broken_block(packed(*block))
    print(f"{name}: {read[:3]} ... {read[-3:]}")


# %% nbgrader={"grade_id": "bits", "solution": true}
def mended_block(raw):
    """Return the 32 weights of a block, given as a list of 20 bytes."""
    ### BEGIN SOLUTION
    ruler = struct.unpack("<ee", bytes(raw[:4]))
    low = [byte % 16 for byte in raw[4:]]
    high = [byte // 16 for byte in raw[4:]]
    return [ruler[0] * q + ruler[1] for q in low + high]
    ### END SOLUTION


# %% nbgrader={"grade_id": "bits-check", "grade": true, "points": 3}
for name, ((d, m, marks), why) in TRIALS.items():
    found = list(returned("mended_block", mended_block(packed(d, m, marks))))
    assert len(found) == 32, f"{name}: {len(found)} weights; a block has 32"
    assert found == [d * q + m for q in marks], f"{name}: yours is {found}; {why}"
### BEGIN HIDDEN TESTS
import numpy

from deepdive.published.quantized import dequantize

g = torch.Generator().manual_seed(5)
for _ in range(10):
    marks = torch.randint(0, 16, (32,), generator=g).tolist()
    raw = packed(0.125, -1.5, marks)
    right = dequantize("Q4_1", numpy.array(raw, numpy.uint8)).tolist()
    assert list(mended_block(raw)) == right, f"d = 0.125, m = -1.5, marks {marks}: off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="bits"
# Which trial is off, and in which half of its weights? Print the marks before they become weights.

# %% [markdown] tags=["hint"] exercise="bits"
# A byte is 16 times its high half plus its low half.


# %% tags=["wrong-answer"] exercise="bits"
mended_block = broken_block  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="bits"
def mended_block(raw):  # the high halves come first
    d, m = struct.unpack("<ee", bytes(raw[:4]))
    marks = [byte >> 4 for byte in raw[4:]] + [byte & 15 for byte in raw[4:]]
    return [d * q + m for q in marks]


# %% tags=["wrong-answer"] exercise="bits"
def mended_block(raw):  # the lowest value is left out
    d, _ = struct.unpack("<ee", bytes(raw[:4]))
    marks = [byte & 15 for byte in raw[4:]] + [byte >> 4 for byte in raw[4:]]
    return [d * q for q in marks]


# %% [markdown]
# ## 6. Long answers are improbable
#
# *Measure and explain · 20 min · hard · Murray and Chiang 2018*
#
# A model may choose between answers by how probable it finds each. `drawn(SEED, 60, 40)` returns 60
# texts of 40 letters, written by the model itself. Lay beside each text its first {{CUT}} letters:
# the same text, only cut short. The model reads a new line before either, as in exercise 2.
# **Measure**, for seed {{SEED}}:
#
# - `"sum"`: in which share of the 60 pairs has the **cut** text the higher **sum** of log
#   probabilities,
# - `"mean"`: in which share has the cut text the higher **mean** log probability a letter.

# %% tags=["variant"] exercise="longer"
SEED = number(1, 500)
CUT = choose(10, 12, 15, 8)


# %% nbgrader={"grade_id": "longer", "solution": true}
@torch.no_grad()
def measured_shares():
    """Return {"sum": share, "mean": share}."""
    ### BEGIN SOLUTION
    tokens = torch.cat([TOY.encode("\n" + text) for text in drawn(SEED, 60, 40)])
    each = -cross_entropy(TOY.model(tokens)[:, :-1].mT, tokens[:, 1:], reduction="none")
    cut = each[:, :CUT]
    return {
        "sum": float((cut.sum(1) > each.sum(1)).double().mean()),
        "mean": float((cut.mean(1) > each.mean(1)).double().mean()),
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "longer-check", "grade": true, "points": 3} own="measure"
found = returned("measured_shares", measured_shares())
assert isinstance(found, dict), "return a dictionary: `return {...}`"
assert set(found) == {"sum", "mean"}, f"the names are sum and mean: {sorted(found)}"
assert all(0 <= found[name] <= 1 for name in found), f"each is a share, from 0 to 1: {found}"
assert found["sum"] == 1, (
    f"sum: {found['sum']:.3f}. Each further letter adds the logarithm of a number below 1: can the "
    "longer text be the more probable one?"
)
assert found["mean"] < 1, "mean: 1.000 is the share for sums. Is the sum divided by the letters?"
### BEGIN HIDDEN TESTS
every = torch.cat([TOY.encode("\n" + text) for text in drawn(SEED, 60, 40)])
each = -cross_entropy(TOY.model(every)[:, :-1].detach().mT, every[:, 1:], reduction="none")
right = float((each[:, :CUT].mean(1) > each.mean(1)).double().mean())
assert abs(found["mean"] - right) < 1e-6, f"mean: seed {SEED}, cut at {CUT}, gives {right:.3f}"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="longer"
# `cross_entropy(logits.mT, wanted, reduction="none")` returns a number for each letter of each
# text, so that both lengths can be read off one pass.


# %% tags=["wrong-answer"] exercise="longer"
@torch.no_grad()
def measured_shares():  # means only
    tokens = torch.cat([TOY.encode("\n" + text) for text in drawn(SEED, 60, 40)])
    each = -cross_entropy(TOY.model(tokens)[:, :-1].mT, tokens[:, 1:], reduction="none")
    share = float((each[:, :CUT].mean(1) > each.mean(1)).double().mean())
    return {"sum": share, "mean": share}


# %% tags=["wrong-answer"] exercise="longer"
def measured_shares():  # never computed
    return {"sum": 1.0, "mean": 1.0}


# %% tags=["wrong-answer"] exercise="longer"
@torch.no_grad()
def measured_shares():  # both are divided by the length of the whole
    tokens = torch.cat([TOY.encode("\n" + text) for text in drawn(SEED, 60, 40)])
    each = -cross_entropy(TOY.model(tokens)[:, :-1].mT, tokens[:, 1:], reduction="none")
    total, cut = each.sum(1), each[:, :CUT].sum(1)
    return {"sum": float((cut > total).double().mean()), "mean": float((cut / 40 > total / 40)
            .double().mean())}  # fmt: skip


# %% [markdown]
# **Explain** in three or four sentences, with your numbers: why is the first share what it is, for
# any text and any model? What does this do to a search for the most probable whole text, if a text
# may end at any length? Somebody lets a model choose between the answers "no" and "yes, as long as
# it rains", by the sum, and reports that it says no: what would you ask for?

# %% [markdown] nbgrader={"grade_id": "longer-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# The log probability of a text is a sum of numbers that are below 0, one a letter, so a text that
# was cut always keeps the higher sum: the share is 1, whatever the letters are. A search for the
# most probable text therefore leans to texts that end early, the more so the wider it looks. By the
# mean the share was near the middle here, so the mean takes the advantage of being short away, and
# has leanings of its own. I would ask for the same choice by the mean, or against each answer's own
# probability without the question, or for answers of equal length.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="longer-why"
# - **3 points**: gives both of its numbers, says that every further letter lowers the sum, that a
#   search then prefers early ends, and asks for answers of equal length, for the mean, or for the
#   answers' probability without the question.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: has no number that was measured, or says that the cut text is the better one.

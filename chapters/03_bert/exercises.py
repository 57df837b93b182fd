# %% [markdown]
# # Exercises: BERT
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 3.1 and 3.4 · after [the input](01_input.ipynb),
# [architecture](02_architecture.ipynb), [masking](03_masking.ipynb), [five
# tasks](07_finetuning.ipynb), [sentences](11_sentences.ipynb) and [heads](12_bertology.ipynb) · no
# data, no GPU</small>

# %% tags=["setup"]
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {type:"boolean"}
SOURCE = ""  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install` it"
    raise ModuleNotFoundError(f"deepdive is not installed here: {how}, and run this cell again")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)

# %%
import torch

# %%
from deepdive.checks import returned

# %% tags=["variant"]
from deepdive.course.assignment.variants import choose, number, rename, sample

# %% [markdown]
# ## 1. Room for two
#
# *Predict, then run · 6 min · easy · book 3.1*
#
# Two texts of {{FIRST}} and {{SECOND}} word pieces go into a BERT that reads {{LONGEST}} tokens, as
# `[CLS]` first `[SEP]` second `[SEP]`. What is too long loses its last piece, again and again, and
# each time the longer text pays; where both are equal, the second does. **Before you run
# anything**, with a pencil:
#
# - `"first"`, `"second"`: how many pieces are left of each,
# - `"divide"`: at which place stands the first `[SEP]`, with `[CLS]` at place 0,
# - `"ones"`: how many tokens have segment 1?
#
# ([The input](01_input.ipynb).) The cell checks the first two and the third.

# %% tags=["variant"] exercise="room"
FIRST = number(10, 24)
SECOND = number(30, 60)
LONGEST = number(32, 40, 2)


# %% nbgrader={"grade_id": "room", "solution": true}
def predicted_room():
    """Return {"first": n, "second": n, "divide": place, "ones": n}."""
    ### BEGIN SOLUTION
    first, second = FIRST, SECOND
    while first + second > LONGEST - 3:
        if first > second:
            first -= 1
        else:
            second -= 1
    return {"first": first, "second": second, "divide": 1 + first, "ones": second + 1}
    ### END SOLUTION


# %% nbgrader={"grade_id": "room-check", "grade": true, "points": 3} own="predict"
said = returned("predicted_room", predicted_room())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"first", "second", "divide", "ones"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"


def packed(first, second, longest):
    """Tokens and segments of a pair, cut as the text says."""
    first, second = list(first), list(second)
    while len(first) + len(second) > longest - 3:
        (first if len(first) > len(second) else second).pop()
    tokens = ["[CLS]", *first, "[SEP]", *second, "[SEP]"]
    return tokens, [0] * (len(first) + 2) + [1] * (len(second) + 1)


tokens, segments = packed(["a"] * FIRST, ["b"] * SECOND, LONGEST)
assert len(tokens) == LONGEST
for name, piece in (("first", "a"), ("second", "b")):
    assert said[name] == tokens.count(piece), (
        f"{name}: you said {said[name]}, and {tokens.count(piece)} are left. Three places belong "
        "to [CLS] and the two [SEP]; then take from the longer text until the rest fits"
    )
assert said["divide"] == tokens.index("[SEP]"), (
    f"divide: you said {said['divide']}, and it stands at {tokens.index('[SEP]')}: [CLS] is 0, "
    "the pieces of the first text follow"
)
### BEGIN HIDDEN TESTS
assert said["ones"] == sum(segments), "ones: which of the two [SEP] belongs to the second text?"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="room"
# {{LONGEST}} places less three are for pieces. While the second text is the longer one, it alone
# pays: how short does it get before the first has to pay too?

# %% [markdown] tags=["hint"] exercise="room"
# The first `[SEP]` closes the first text and has its segment, 0; the last one has segment 1.


# %% tags=["wrong-answer"] exercise="room"
def predicted_room():  # forgets the last [SEP]
    first, second = FIRST, min(SECOND, LONGEST - 2 - FIRST)
    return {"first": first, "second": second, "divide": 1 + first, "ones": second}


# %% tags=["wrong-answer"] exercise="room"
def predicted_room():  # half of the room for each
    half = (LONGEST - 3) // 2
    return {"first": half, "second": half, "divide": 1 + half, "ones": half + 1}


# %% tags=["wrong-answer"] exercise="room"
def predicted_room():  # right, but for the segment of the last [SEP]
    first, second = FIRST, SECOND
    while first + second > LONGEST - 3:
        if first > second:
            first -= 1
        else:
            second -= 1
    return {"first": first, "second": second, "divide": 1 + first, "ones": second}


# %% [markdown]
# ## 2. Count a BERT
#
# *Derive, then write · 10 min · medium · book 3.1*
#
# How many numbers does an encoder hold? Derive it on paper: three tables and a norm; then for each
# layer four projections with biases, a feed-forward part with biases, and two norms of two rows
# each. There are two segments; the pooler and the heads do not count. The check ends with
# {{LAYERS}} layers of width {{WIDTH}}, $d_\mathrm{ff} = 4 d$.
# ([Architecture](02_architecture.ipynb) counts by building; do without.)

# %% tags=["variant"] exercise="count"
LAYERS = number(3, 9)
WIDTH = choose(128, 192, 256, 320)
PIECES = number(5_000, 9_000, 500)
rename("encoder_size", "numbers_of_a_bert", "bert_size")


# %% nbgrader={"grade_id": "count", "solution": true}
def encoder_size(vocab_size, d_model, n_layers, d_ff, max_length):
    """Return how many numbers a BERT encoder of these sizes holds."""
    ### BEGIN SOLUTION
    tables = (vocab_size + max_length + 2) * d_model + 2 * d_model
    attention = 4 * (d_model * d_model + d_model)
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    return tables + n_layers * (attention + feed_forward + 4 * d_model)
    ### END SOLUTION


# %% nbgrader={"grade_id": "count-check", "grade": true, "points": 3}
from deepdive.models.bert.bert import bert


def built(vocab_size, d_model, n_layers, d_ff, max_length):
    """The same, counted in a model without memory for its numbers."""
    with torch.device("meta"):
        model = bert(
            vocab_size=vocab_size,
            d_model=d_model,
            n_heads=4,
            n_layers=n_layers,
            d_ff=d_ff,
            max_length=max_length,
        )
    return sum(p.numel() for p in model.parameters())


tables = returned("encoder_size", encoder_size(PIECES, WIDTH, 0, 4 * WIDTH, 64))
right = built(PIECES, WIDTH, 0, 4 * WIDTH, 64)
assert tables == right, (
    f"without layers yours has {tables:,} numbers, a built one {right:,}, {tables - right:+,}: "
    f"rows for {PIECES:,} pieces, 64 places and two segments, and a norm with a scale and a shift"
)
layer, right = (
    size(PIECES, WIDTH, 1, 4 * WIDTH, 64) - size(PIECES, WIDTH, 0, 4 * WIDTH, 64)
    for size in (encoder_size, built)
)
assert layer == right, (
    f"a layer of yours has {layer:,} numbers, a built one {right:,}: {(layer - right) / WIDTH:+g} "
    "rows of its width. Did every projection get its bias, and both norms scale and shift?"
)
assert encoder_size(PIECES, WIDTH, LAYERS, 4 * WIDTH, 64) == built(
    PIECES, WIDTH, LAYERS, 4 * WIDTH, 64
), f"with {LAYERS} layers it is off: what is counted once, and what in each layer?"
### BEGIN HIDDEN TESTS
assert encoder_size(30_522, 768, 12, 3072, 512) == 108_891_648, "BERT base, without its pooler"
assert encoder_size(99, 16, 2, 40, 30) == built(99, 16, 2, 40, 30), "d_ff need not be 4 d_model"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="count"
# A projection from $d$ to $e$ numbers has $d e + e$. A norm of width $d$ has $2 d$.

# %% [markdown] tags=["hint"] exercise="count"
# The heads of an attention share its width: their number changes nothing.


# %% tags=["wrong-answer"] exercise="count"
def encoder_size(vocab_size, d_model, n_layers, d_ff, max_length):  # no segments
    tables = (vocab_size + max_length) * d_model + 2 * d_model
    layer = 4 * (d_model**2 + d_model) + 2 * d_model * d_ff + d_ff + 5 * d_model
    return tables + n_layers * layer


# %% tags=["wrong-answer"] exercise="count"
def encoder_size(vocab_size, d_model, n_layers, d_ff, max_length):  # no biases
    tables = (vocab_size + max_length + 4) * d_model
    return tables + n_layers * (4 * d_model**2 + 2 * d_model * d_ff + 4 * d_model)


# %% tags=["wrong-answer"] exercise="count"
def encoder_size(vocab_size, d_model, n_layers, d_ff, max_length):  # d_ff is always 4 d_model
    tables = (vocab_size + max_length + 4) * d_model
    return tables + n_layers * (12 * d_model**2 + 13 * d_model)


# %% [markdown]
# ## 3. What becomes of the tokens of a batch
#
# *Predict, then run · 6 min · medium · book 3.1*
#
# A batch has {{TOKENS}} tokens, of which {{MARKS}} are `[CLS]`, `[SEP]` or padding. BERT's masking
# chooses {{PERCENT}} % of the others; of the chosen ones 80 % become `[MASK]`, 10 % another
# token, 10 % stay. **Before you run anything:** how many tokens, on average,
#
# - `"predicted"`: enter the loss,
# - `"hidden"`: are shown as `[MASK]`,
# - `"changed"`: are shown as something else than they are, `[MASK]` or not,
# - `"easy"`: enter the loss, although the model is shown the right answer?
#
# ([Masking](03_masking.ipynb). A random token is the right one so seldom that you may forget it.)
# The cell draws 200 times, and checks the first two.

# %% tags=["variant"] exercise="shares"
TOKENS = number(1_000, 3_000, 100)
MARKS = number(50, 200, 10)
PERCENT = choose(15, 20, 30, 40)


# %% nbgrader={"grade_id": "shares", "solution": true}
def predicted_shares():
    """Return {"predicted": n, "hidden": n, "changed": n, "easy": n}."""
    ### BEGIN SOLUTION
    chosen = (TOKENS - MARKS) * PERCENT / 100
    return {
        "predicted": chosen,
        "hidden": 0.8 * chosen,
        "changed": 0.9 * chosen,
        "easy": 0.1 * chosen,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "shares-check", "grade": true, "points": 3} own="predict"
from deepdive.tokenizers import WordPieceTokenizer
from deepdive.tokenizers.wordpiece import BERT_SPECIALS
from deepdive.training.objectives.masking import mask_tokens

said = returned("predicted_shares", predicted_shares())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"predicted", "hidden", "changed", "easy"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
names = [f"w{i}" for i in range(5_000)]
tokenizer = WordPieceTokenizer([*BERT_SPECIALS, *names], specials=BERT_SPECIALS)
text = torch.full((200, TOKENS), tokenizer.id_of("w7"))
text[:, :MARKS] = tokenizer.bos
shown, _, chosen = mask_tokens(
    text, tokenizer, PERCENT / 100, generator=torch.Generator().manual_seed(0)
)


def drawn(places):
    """How many of the places of one batch, on average over the 200."""
    return places.sum().item() / 200


for name, found in (
    ("predicted", drawn(chosen)),
    ("hidden", drawn(shown == tokenizer.id_of("[MASK]"))),
):
    assert abs(said[name] / found - 1) < 0.02, (
        f"{name}: you said {said[name]:g}, 200 draws have {found:.1f} on average. {MARKS} tokens "
        "are never chosen; and what is chosen need not be hidden"
    )
### BEGIN HIDDEN TESTS
for name, found in (("changed", drawn(shown != text)), ("easy", drawn(chosen & (shown == text)))):
    assert abs(said[name] / found - 1) < 0.05, f"{name}: 200 draws have {found:.1f} on average"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="shares"
# First the tokens that may be chosen at all, then {{PERCENT}} % of them. All chosen ones enter the
# loss, whatever they are shown as.

# %% [markdown] tags=["hint"] exercise="shares"
# Of a hundred chosen tokens 80 are hidden, 10 exchanged, 10 left. Which of these are shown as they
# are?


# %% tags=["wrong-answer"] exercise="shares"
def predicted_shares():  # only what is hidden enters the loss
    chosen = (TOKENS - MARKS) * PERCENT / 100
    return {"predicted": 0.8 * chosen, "hidden": 0.8 * chosen, "changed": chosen, "easy": 0.0}


# %% tags=["wrong-answer"] exercise="shares"
def predicted_shares():  # marks are chosen too
    chosen = TOKENS * PERCENT / 100
    return {
        "predicted": chosen,
        "hidden": 0.8 * chosen,
        "changed": 0.9 * chosen,
        "easy": 0.1 * chosen,
    }


# %% tags=["wrong-answer"] exercise="shares"
def predicted_shares():  # an exchanged token counts as shown right
    chosen = (TOKENS - MARKS) * PERCENT / 100
    return {
        "predicted": chosen,
        "hidden": 0.8 * chosen,
        "changed": 0.8 * chosen,
        "easy": 0.2 * chosen,
    }


# %% [markdown]
# ## 4. Hide them yourself
#
# *Write · 10 min · medium · book 3.1*
#
# Write the masking. All that is random is given: `choice` and `fate`, a number from 0 to 1 for
# each token, and `other`, an ordinary token for each. A token is chosen if it is no special one and
# its `choice` is **below** {{RATE}}. A chosen one becomes `MASK` if its `fate` is below 0.8, its
# `other` if it is below 0.9, and else stays. Targets hold the token where one was chosen, and
# `PAD` = 0 elsewhere: the loss leaves those out. `[CLS]`, `[SEP]` and padding are `SPECIAL`.

# %% tags=["variant"] exercise="hide"
RATE = choose(0.15, 0.2, 0.25, 0.3)
rename("hide_tokens", "masked_batch", "cover_tokens")

# %%
PAD, CLS, SEP, MASK = 0, 1, 2, 4
SPECIAL = torch.tensor([PAD, CLS, SEP])


# %% nbgrader={"grade_id": "hide", "solution": true}
def hide_tokens(tokens, choice, fate, other):
    """Return (inputs, targets), both like tokens (B, T); all arguments (B, T)."""
    ### BEGIN SOLUTION
    chosen = (choice < RATE) & ~torch.isin(tokens, SPECIAL)
    inputs = torch.where(chosen & (fate < 0.8), MASK, tokens)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), other, inputs)
    return inputs, torch.where(chosen, tokens, PAD)
    ### END SOLUTION


# %% nbgrader={"grade_id": "hide-check", "grade": true, "points": 4}
row = torch.tensor([[CLS, 11, 12, 13, 14, SEP, PAD]])
choice = torch.tensor([[0.0, 0.1, 0.1, 0.1, 0.9, 0.0, 0.0]])
fate = torch.tensor([[0.5, 0.5, 0.85, 0.95, 0.5, 0.5, 0.5]])
answer = returned("hide_tokens", hide_tokens(row, choice, fate, torch.full_like(row, 99)))
assert isinstance(answer, tuple), "return both: `return inputs, targets`"
inputs, targets = (part[0].tolist() for part in answer)
assert [inputs[i] for i in (0, 5, 6)] == [CLS, SEP, PAD], (
    f"special tokens are never chosen, whatever their choice; yours became {inputs}"
)
assert inputs[1] == MASK, f"a fate of 0.5 is below 0.8: [MASK], {MASK}; yours is {inputs[1]}"
assert inputs[2] == 99, f"a fate of 0.85 takes the other token, 99; yours is {inputs[2]}"
assert inputs[3] == 13, f"a fate of 0.95 leaves the token, 13; yours is {inputs[3]}"
assert inputs[4] == 14, f"a choice of 0.9 is not chosen: 14 stays; yours is {inputs[4]}"
assert targets == [PAD, 11, 12, 13, PAD, PAD, PAD], (
    f"the targets are {targets}. All that was chosen is predicted: also what was exchanged, and "
    "what was left as it is. Everything else is PAD"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(1)
many = torch.randint(0, 50, (40, 50), generator=g)
choice, fate = torch.rand(2, 40, 50, generator=g)
other = torch.randint(5, 50, (40, 50), generator=g)
before = many.clone()
inputs, targets = hide_tokens(many, choice, fate, other)
for b in range(40):
    for t in range(50):
        token = before[b, t].item()
        chosen = choice[b, t] < RATE and token not in (PAD, CLS, SEP)
        became = MASK if fate[b, t] < 0.8 else other[b, t].item() if fate[b, t] < 0.9 else token
        assert inputs[b, t] == (became if chosen else token), "an input is off"
        assert targets[b, t] == (token if chosen else PAD), "a target is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="hide"
# `torch.isin(tokens, SPECIAL)` is true where a token is special; `~` turns it round.

# %% [markdown] tags=["hint"] exercise="hide"
# `torch.where(condition, this, that)` makes a new tensor, so that what was given stays. The targets
# ask for `chosen` only, not for what became of it.


# %% tags=["wrong-answer"] exercise="hide"
def hide_tokens(tokens, choice, fate, other):  # specials may be chosen
    chosen = choice < RATE
    inputs = torch.where(chosen & (fate < 0.8), MASK, tokens)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), other, inputs)
    return inputs, torch.where(chosen, tokens, PAD)


# %% tags=["wrong-answer"] exercise="hide"
def hide_tokens(tokens, choice, fate, other):  # what stays as it is does not enter the loss
    chosen = (choice < RATE) & ~torch.isin(tokens, SPECIAL)
    inputs = torch.where(chosen & (fate < 0.8), MASK, tokens)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), other, inputs)
    return inputs, torch.where(inputs != tokens, tokens, PAD)


# %% tags=["wrong-answer"] exercise="hide"
def hide_tokens(tokens, choice, fate, other):  # the targets are what is shown
    chosen = (choice < RATE) & ~torch.isin(tokens, SPECIAL)
    inputs = torch.where(chosen & (fate < 0.8), MASK, tokens)
    inputs = torch.where(chosen & (fate >= 0.8) & (fate < 0.9), other, inputs)
    return inputs, torch.where(chosen, inputs, PAD)


# %% [markdown]
# ## 5. Where is the answer?
#
# *Write · 12 min · medium · book 3.1.3*
#
# A head for questions gives each token two scores: an answer may `start` here, it may `end` here.
# The score of a span is the sum of both, at most {{MOST}} tokens long, inside the text from place
# `begin` on; its end is not before its start. The score of "no answer" is that of the span from
# `[CLS]` to `[CLS]`, place 0. Write `best_answer`: the best span, or `None` where "no answer" has a
# **higher** score than the best span. ([Five tasks](07_finetuning.ipynb).)

# %% tags=["variant"] exercise="span"
MOST = number(3, 6)
rename("best_answer", "answer_span", "find_answer")


# %% nbgrader={"grade_id": "span", "solution": true}
def best_answer(start, end, begin):
    """Return (first, last) or None, for scores start and end (T,) and the text's first place."""
    ### BEGIN SOLUTION
    best, found = float(start[0] + end[0]), None
    spans = (
        (float(start[i] + end[j]), (i, j))
        for i in range(begin, len(start))
        for j in range(i, min(i + MOST, len(start)))
    )
    score, span = max(spans)
    if score >= best:
        found = span
    return found
    ### END SOLUTION


# %% nbgrader={"grade_id": "span-check", "grade": true, "points": 3}
def asked(starts, ends, begin=4, length=14):
    """The answer for scores that are -9 but at the places named."""
    start, end = torch.full((length,), -9.0), torch.full((length,), -9.0)
    for scores, given in ((start, starts), (end, ends)):
        for place, score in given.items():
            scores[place] = score
    return best_answer(start, end, begin)


assert returned("best_answer", asked({6: 2.0}, {7: 2.0})) == (6, 7), (
    f"start 6 and end 7 stand out: (6, 7); yours is {asked({6: 2.0}, {7: 2.0})}"
)
found = asked({8: 3.0, 5: 1.0}, {6: 3.0, 9: 1.5})
assert found == (8, 9), (
    f"the best start is 8 and the best end 6, but a span does not end before it starts: (8, 9) has "
    f"3 + 1.5; yours is {found}"
)
found = asked({5: 3.0}, {5 + MOST: 3.0, 6: 0.0})
assert found == (5, 6), f"from 5 to {5 + MOST} are more than {MOST} tokens; yours is {found}"
found = asked({2: 9.0, 6: 1.0}, {2: 9.0, 6: 1.0})
assert found == (6, 6), f"place 2 is in the question, the text begins at 4; yours is {found}"
assert asked({0: 3.0, 6: 2.0}, {0: 2.0, 7: 2.0}) is None, (
    "`[CLS]` has 3 + 2, the best span 2 + 2: there is no answer here"
)
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(2)
for trial in range(60):
    start, end = torch.randn(2, 15, generator=g)
    start[0] = end[0] = 1.2 * torch.rand((), generator=g)
    best, right = float(start[0] + end[0]), None
    for i in range(5, 15):
        for j in range(5, 15):
            if i <= j < i + MOST and float(start[i] + end[j]) >= best:
                best, right = float(start[i] + end[j]), (i, j)
    assert best_answer(start, end, 5) == right, f"trial {trial} with random scores is off"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="span"
# Try all pairs with two loops: `for i in range(begin, T)`, and for each `i` those `j` that may end
# its span. Keep the best score and its pair.

# %% [markdown] tags=["hint"] exercise="span"
# At last compare with `start[0] + end[0]`. A span of {{MOST}} tokens from `i` ends at
# `i` + {{MOST}} $- 1$.


# %% tags=["wrong-answer"] exercise="span"
def best_answer(start, end, begin):  # the best start and the best end, each for itself
    i, j = begin + int(start[begin:].argmax()), begin + int(end[begin:].argmax())
    return (i, j) if start[i] + end[j] >= start[0] + end[0] else None


# %% tags=["wrong-answer"] exercise="span"
def best_answer(start, end, begin):  # any length
    pairs = [(i, j) for i in range(begin, len(start)) for j in range(i, len(start))]
    i, j = max(pairs, key=lambda pair: float(start[pair[0]] + end[pair[1]]))
    return (i, j) if start[i] + end[j] >= start[0] + end[0] else None


# %% tags=["wrong-answer"] exercise="span"
def best_answer(start, end, begin):  # always answers
    pairs = [(i, j) for i in range(begin, len(start)) for j in range(i, min(i + MOST, len(start)))]
    return max(pairs, key=lambda pair: float(start[pair[0]] + end[pair[1]]))


# %% tags=["wrong-answer"] exercise="span"
def best_answer(start, end, begin):  # looks in the question too
    pairs = [(i, j) for i in range(1, len(start)) for j in range(i, min(i + MOST, len(start)))]
    i, j = max(pairs, key=lambda pair: float(start[pair[0]] + end[pair[1]]))
    return (i, j) if start[i] + end[j] >= start[0] + end[0] else None


# %% [markdown]
# ## 6. A vector that depends on its neighbours
#
# *Find and fix a planted bug · 10 min · hard · book 3.4.1*
#
# A sentence's vector is the mean of its tokens' states, brought to length 1. This function does it
# for a batch; no shape is wrong, and nothing is raised. But the vectors are not right. Look at the
# three trials, then fix it in `mended_vectors`. ([Sentences](11_sentences.ipynb).)

# %% tags=["variant"] exercise="vectors"
rename("mended_vectors", "sound_vectors", "vectors_in_order")


# %% tags=["bug"] exercise="vectors" bug="padding counts in the mean" caught="padded:"
def broken_vectors(states, mask):
    """Return (B, d) for states (B, T, d); mask bool (B, T), True = real token."""
    mean = states.mean(1)
    return mean / mean.norm(dim=-1, keepdim=True)


# %% tags=["bug"] exercise="vectors" bug="the real tokens are blotted out" caught="alone:"
def broken_vectors(states, mask):
    """Return (B, d) for states (B, T, d); mask bool (B, T), True = real token."""
    mean = states.masked_fill(mask[..., None], 0).sum(1) / mask.sum(1, keepdim=True)
    return mean / mean.norm(dim=-1, keepdim=True)


# %% tags=["bug"] exercise="vectors" bug="one length for the whole batch" caught="together:"
def broken_vectors(states, mask):
    """Return (B, d) for states (B, T, d); mask bool (B, T), True = real token."""
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return mean / mean.norm()


# %% tags=["bug"] exercise="vectors" bug="each number is brought to length 1" caught="alone:"
def broken_vectors(states, mask):
    """Return (B, d) for states (B, T, d); mask bool (B, T), True = real token."""
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return mean / mean.norm(dim=0, keepdim=True)


# %% tags=["bug"] exercise="vectors" bug="each token is brought to length 1 first" caught="alone:"
def broken_vectors(states, mask):
    """Return (B, d) for states (B, T, d); mask bool (B, T), True = real token."""
    states = states / states.norm(dim=-1, keepdim=True)
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return mean / mean.norm(dim=-1, keepdim=True)


# %%
STATES = torch.tensor([[[3.0, 0.0], [0.0, 4.0], [5.0, 12.0]]])
ALL, TWO = torch.tensor([[True, True, True]]), torch.tensor([[True, True, False]])
BATCH, BOTH = STATES.repeat(2, 1, 1), torch.cat([ALL, TWO])
TRIALS = {
    "alone": (STATES, ALL, "the mean is (8/3, 16/3): the second number is twice the first"),
    "padded": (STATES, TWO, "the mean of the first two is (1.5, 2), its length 2.5"),
    "together": (BATCH, BOTH, "two sentences; each must get what it gets alone"),
}
for name, (states, mask, _) in TRIALS.items():
    print(f"{name}:", broken_vectors(states, mask).tolist())


# %% nbgrader={"grade_id": "vectors", "solution": true}
def mended_vectors(states, mask):
    """Return (B, d) for states (B, T, d); mask bool (B, T), True = real token."""
    ### BEGIN SOLUTION
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return mean / mean.norm(dim=-1, keepdim=True)
    ### END SOLUTION


# %% nbgrader={"grade_id": "vectors-check", "grade": true, "points": 3}
def one_by_one(states, mask):
    """The same in loops: each sentence alone, its real tokens only."""
    means = [rows[real].mean(0) for rows, real in zip(states, mask, strict=True)]
    return torch.stack([mean / mean.norm() for mean in means])


for name, (states, mask, why) in TRIALS.items():
    found, right = (
        returned("mended_vectors", mended_vectors(states, mask)),
        one_by_one(states, mask),
    )
    assert found.shape == right.shape, f"{name}: one row a sentence, {tuple(right.shape)}"
    assert torch.allclose(found, right, atol=1e-5), (
        f"{name}: yours is {[[round(x, 3) for x in row] for row in found.tolist()]}, and should be "
        f"{[[round(x, 3) for x in row] for row in right.tolist()]}; {why}"
    )
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(3)
states, lengths = torch.randn(5, 9, 6, generator=g), torch.tensor([1, 9, 4, 7, 2])
mask = torch.arange(9) < lengths[:, None]
assert torch.allclose(mended_vectors(states, mask), one_by_one(states, mask), atol=1e-5), (
    "five sentences of other lengths are off"
)
states[~mask] = 1e4
assert torch.allclose(mended_vectors(states, mask), one_by_one(states, mask), atol=1e-4), (
    "what lies under the padding must not matter"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="vectors"
# Which trial is the first that is off? One sentence without padding, one with, or two at once?

# %% [markdown] tags=["hint"] exercise="vectors"
# `mask[..., None]` is (B, T, 1): times the states it makes padding 0. Divide by the number of real
# tokens of each sentence, and by the length of each row.


# %% tags=["wrong-answer"] exercise="vectors"
mended_vectors = broken_vectors  # the planted bug, as it came


# %% tags=["wrong-answer"] exercise="vectors"
def mended_vectors(states, mask):  # never mind the mask
    mean = states.mean(1)
    return mean / mean.norm(dim=-1, keepdim=True)


# %% tags=["wrong-answer"] exercise="vectors"
def mended_vectors(states, mask):  # no length 1
    return (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)


# %% tags=["wrong-answer"] exercise="vectors"
def mended_vectors(states, mask):  # the first token, for all
    return states[:, 0] / states[:, 0].norm(dim=-1, keepdim=True)


# %% [markdown]
# ## 7. From pieces to words
#
# *Write · 9 min · hard · book 3.4.2*
#
# Trees are drawn between words, and attention between pieces. Clark et al. (2019, section 4.1)
# bring them together: attention **to** a word is the **sum** over its pieces, attention **from** a
# word the **mean** over its pieces. Then each row sums to 1 again. `words` holds the number of the
# word of each piece, from 0 on; $-1$ stands for `[CLS]` and `[SEP]`, which are no words: their rows
# and columns are left out, so that a row sums to 1 **less** what went to them.

# %% tags=["variant"] exercise="words"
PIECES_OF = choose((2, 1, 3), (1, 3, 2), (3, 2, 1), (2, 3, 1))
rename("word_attention", "attention_of_words", "between_words")


# %% nbgrader={"grade_id": "words", "solution": true}
def word_attention(weights, words):
    """Return (n, n) for weights (T, T) of pieces, rows are queries; words (T,), -1 = no word."""
    ### BEGIN SOLUTION
    n = int(words.max()) + 1
    member = (words == torch.arange(n)[:, None]).to(weights.dtype)  # (n, T)
    return (member / member.sum(1, keepdim=True)) @ weights @ member.T
    ### END SOLUTION


# %% nbgrader={"grade_id": "words-check", "grade": true, "points": 3}
def in_loops(weights, words):
    """The same, one pair of words after another."""
    many = words.unique().numel() - 1
    out = torch.zeros(many, many, dtype=weights.dtype)
    for a in range(many):
        for b in range(many):
            block = weights[words == a][:, words == b]
            out[a, b] = block.sum(1).mean()
    return out


words = torch.tensor([-1, *(w for w, many in enumerate(PIECES_OF) for _ in range(many)), -1])
g = torch.Generator().manual_seed(5)
weights = torch.rand(len(words), len(words), generator=g).softmax(1)
found = returned("word_attention", word_attention(weights.clone(), words))
assert found.shape == (3, 3), f"three words, so (3, 3); yours is {tuple(found.shape)}"
only = torch.zeros_like(weights)
only[:, words == 0] = 1 / PIECES_OF[0]  # every piece looks at all of word 0, nowhere else
seen = word_attention(only, words)
assert torch.allclose(seen[:, 0], torch.ones(3), atol=1e-5), (
    f"where all look at word 0 alone, each row has 1 there; yours have {seen[:, 0].tolist()}. To a "
    "word: the sum over its pieces. From a word: the mean"
)
right = in_loops(weights, words)
assert torch.allclose(found, right, atol=1e-5), (
    f"the first row should be {[round(x, 3) for x in right[0].tolist()]}, yours is "
    f"{[round(x, 3) for x in found[0].tolist()]}. Rows are queries: what looks; columns what is "
    "looked at"
)
### BEGIN HIDDEN TESTS
words = torch.tensor([-1, 0, 1, 1, 2, 2, 2, 2, 3, -1, 4, -1])
weights = torch.rand(12, 12, generator=g).softmax(1)
assert torch.allclose(word_attention(weights, words), in_loops(weights, words), atol=1e-5), (
    "with a [SEP] inside and words of one and of four pieces it is off"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="words"
# A table `member` (n, T) that is 1 where a piece belongs to a word sums columns:
# `weights @ member.T`.

# %% [markdown] tags=["hint"] exercise="words"
# For the mean over rows divide each row of `member` by its sum, and multiply from the left.


# %% tags=["wrong-answer"] exercise="words"
def word_attention(weights, words):  # sums on both sides
    member = (words == torch.arange(int(words.max()) + 1)[:, None]).to(weights.dtype)
    return member @ weights @ member.T


# %% tags=["wrong-answer"] exercise="words"
def word_attention(weights, words):  # means on both sides
    member = (words == torch.arange(int(words.max()) + 1)[:, None]).to(weights.dtype)
    member = member / member.sum(1, keepdim=True)
    return member @ weights @ member.T


# %% tags=["wrong-answer"] exercise="words"
def word_attention(weights, words):  # sum and mean exchanged
    member = (words == torch.arange(int(words.max()) + 1)[:, None]).to(weights.dtype)
    return member @ weights @ (member / member.sum(1, keepdim=True)).T


# %% tags=["wrong-answer"] exercise="words"
def word_attention(weights, words):  # the first piece stands for its word
    first = torch.tensor([words.tolist().index(w) for w in range(int(words.max()) + 1)])
    return weights[first][:, first]


# %% [markdown]
# ## 8. A head, or a habit?
#
# *Write, measure, explain · 14 min · hard · book 3.4.2*
#
# A head finds the noun of a determiner in most cases. Does it know grammar? In English the noun
# stands right after its determiner so often that "one place on" is right in many cases too. So a
# head is compared with the best **fixed offset**. Write it: `pairs` are (from, to) places of
# words; return the offset `to - from` that is right most often, and how often. Where two are
# equal, take the smaller distance.

# %% tags=["variant"] exercise="offset"
DISTANCES = choose((1, 2, 3), (1, 2, 4), (1, 3, 4))
COUNTS = [number(40, 60), *sorted(sample((12, 18, 24, 30), 2), reverse=True)]
rename("best_offset", "fixed_offset", "offset_baseline")


# %% nbgrader={"grade_id": "offset", "solution": true}
def best_offset(pairs):
    """Return (offset, share of the pairs that have it) for a list of (from, to)."""
    ### BEGIN SOLUTION
    counts = {}
    for start, end in pairs:
        counts[end - start] = counts.get(end - start, 0) + 1
    offset = min(counts, key=lambda offset: (-counts[offset], abs(offset)))
    return offset, counts[offset] / len(pairs)
    ### END SOLUTION


# %% nbgrader={"grade_id": "offset-check", "grade": true, "points": 2}
found = returned("best_offset", best_offset([(0, 1), (3, 4), (5, 7), (9, 10)]))
assert isinstance(found, tuple), "return (offset, share)"
assert found == (1, 0.75), f"three of four have the offset 1: (1, 0.75); yours is {found}"
found = best_offset([(4, 1), (6, 3), (0, 2)])
assert found[0] == -3, f"an offset may be backwards: -3 twice, 2 once; yours is {found[0]}"
found = best_offset([(0, 5), (1, 6), (3, 4), (7, 8)])
assert found == (1, 0.5), f"5 and 1 are equally often right: the smaller one; yours is {found}"
### BEGIN HIDDEN TESTS
found = best_offset([(i, i + d) for d, n in ((-1, 4), (2, 9), (7, 5)) for i in range(n)])
assert found == (2, 0.5), "nine of eighteen have the offset 2"
assert best_offset([(5, 5)]) == (0, 1.0), "one pair alone"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="offset"
# Count the offsets in a dictionary, or with `collections.Counter`. Do not put `abs` around them.


# %% tags=["wrong-answer"] exercise="offset"
def best_offset(pairs):  # distances, not offsets
    offsets = [abs(end - start) for start, end in pairs]
    best = max(set(offsets), key=offsets.count)
    return best, offsets.count(best) / len(pairs)


# %% tags=["wrong-answer"] exercise="offset"
def best_offset(pairs):  # the mean offset
    mean = round(sum(end - start for start, end in pairs) / len(pairs))
    return mean, sum(end - start == mean for start, end in pairs) / len(pairs)


# %% tags=["wrong-answer"] exercise="offset"
def best_offset(pairs):  # the larger one where two are equal
    offsets = [end - start for start, end in pairs]
    best = max(sorted(set(offsets), key=abs, reverse=True), key=offsets.count)
    return best, offsets.count(best) / len(pairs)


# %% [markdown]
# **Measure** two heads on generated determiners: {{COUNTS[0]}} with their noun {{DISTANCES[0]}}
# place on, {{COUNTS[1]}} with it {{DISTANCES[1]}} on, {{COUNTS[2]}} with it {{DISTANCES[2]}} on.
# Head A looks one place on, always. Head B finds nine nouns in ten at any distance.

# %%
pairs = [(0, d) for d, n in zip(DISTANCES, COUNTS, strict=True) for _ in range(n)]
g = torch.Generator().manual_seed(8)
draws = torch.rand(len(pairs), generator=g).tolist()
looked = {
    "A": [1 for _ in pairs],
    "B": [to if draw < 0.9 else to + 1 for (_, to), draw in zip(pairs, draws, strict=True)],
}
print(f"the best fixed offset is {DISTANCES[0]}: right in {COUNTS[0] / sum(COUNTS):.1%}")
for head, places in looked.items():
    right = [place == to for place, (_, to) in zip(places, pairs, strict=True)]
    by = {d: [r for r, (_, to) in zip(right, pairs, strict=True) if to == d] for d in DISTANCES}
    told = ", ".join(f"{sum(hits) / len(hits):.0%} at distance {d}" for d, hits in by.items())
    print(f"head {head}: right in {sum(right) / len(right):.1%}; {told}")

# %% [markdown]
# **Explain** in three or four sentences, with your numbers: which head knows more than a place,
# and which two numbers show it? Head A beats a guess among all words by far; why is that no
# evidence? Suppose the best of 72 heads was chosen on these very pairs: what is wrong with its
# score, and what would you do?

# %% [markdown] nbgrader={"grade_id": "offset-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# Head B: it is right in about nine of ten at every distance, the larger ones of {{DISTANCES}} too,
# and in all in more cases than the best fixed offset; head A has that offset's share exactly, and
# nothing at the others. A guess among all words is too weak a rival: where a noun mostly stands
# next to its determiner, any head that looks at its neighbour beats it without any grammar. The
# best of 72 is chosen for its luck too, so its score is too high; choose on one half of the
# sentences, and measure on the other.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="offset-why"
# - **3 points**: names head B by its numbers at two distances or against the offset's share, says
#   that A is the offset, and separates choosing from measuring.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: takes the comparison with guessing for evidence, or has no number that was
#   measured.

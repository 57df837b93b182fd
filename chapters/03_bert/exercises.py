# %% [markdown]
# # Exercises: BERT
#
# {{EXERCISES}} exercises in rising order, about {{MINUTES}} minutes in all. Write where a cell says
# so; the check under it says what is wrong. A check without a message has passed. Some tests are
# kept for whoever grades, so check your own work beyond what the cell shows. Values in capitals may
# be your own: use their names. Where a question asks for words, a person marks them.
#
# <small>Book 3.1, 3.3 and 3.4 · after [the input](01_input.ipynb),
# [architecture](02_architecture.ipynb), [masking](03_masking.ipynb), [five
# tasks](07_finetuning.ipynb), [sentences](11_sentences.ipynb) and [heads](12_bertology.ipynb);
# exercises 6, 7, 11 and 12 are on BERT's relatives, and say what they need · no data, no
# GPU</small>

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
import torch

# %%
from deepdive.core.checks import missed, returned

# %% tags=["variant"]
from deepdive_book.course.assignment.variants import choose, number, rename, sample

# %% [markdown]
# ## 1. Room for two
#
# *Predict, then run · 6 min · easy · book 3.1*
#
# Two texts of {{FIRST}} and {{SECOND}} word pieces go into a BERT that reads {{LONGEST}} tokens, as
# `[CLS]` first `[SEP]` second `[SEP]`. What is too long loses its last piece, again and again, and
# each time the longer text pays; where both are equal, the second does. **Before you run
# anything**, on paper:
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
        f"{name}: {missed(said[name], tokens.count(piece))}. Three places belong "
        "to [CLS] and the two [SEP]; then take from the longer text until the rest fits"
    )
assert said["divide"] == tokens.index("[SEP]"), (
    f"divide: {missed(said['divide'], tokens.index('[SEP]'))}: [CLS] is 0, "
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
# *Derive, then code · 10 min · medium · book 3.1*
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
# chooses {{PERCENT}}% of the others; of the chosen ones 80% become `[MASK]`, 10% another
# token, 10% stay. **Before you run anything:** how many tokens, on average,
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
        f"{name}: {missed(said[name], found)}, by 200 draws. {MARKS} tokens "
        "are never chosen; and what is chosen need not be hidden"
    )
### BEGIN HIDDEN TESTS
for name, found in (("changed", drawn(shown != text)), ("easy", drawn(chosen & (shown == text)))):
    assert abs(said[name] / found - 1) < 0.05, f"{name}: 200 draws have {found:.1f} on average"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="shares"
# First the tokens that may be chosen at all, then {{PERCENT}}% of them. All chosen ones enter the
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
# *Code · 10 min · medium · book 3.1*
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
# *Code · 12 min · medium · book 3.1.3*
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
# ## 6. Who was replaced?
#
# *Predict, then run · 6 min · medium · book 5.3.1, Clark et al. 2020*
#
# ELECTRA asks at **every** token, not at gaps alone: is this the token of the text, or did a small
# BERT put it there? Places of a text are hidden, the small BERT (the *generator*) fills each with a
# token that it draws, and the other (the *discriminator*) labels each token of what comes out: 1
# for replaced, 0 for original. A token that was hidden and guessed **right** is an original one.
#
# The text has the tokens `SENTENCE`, and `GAPS` are hidden, counted from 0. The generator fills
# them, in this order, with `GUESSES`. **Before you run anything:**
#
# - `"labels"`: what should the discriminator say, as a list of 0 and 1, one for each token,
# - `"generator"`, `"discriminator"`: how many tokens enter the loss of each?
#
# The cell checks the labels of the places that were not hidden, and how many are 1.

# %% tags=["variant"] exercise="replaced"
SENTENCE = choose(
    ("the", "old", "dog", "ate", "my", "cold", "sandwich", "today"),
    ("a", "small", "hen", "crossed", "the", "wide", "road", "twice"),
    ("her", "new", "clock", "stops", "in", "every", "long", "night"),
)
GAPS = sorted(sample(range(8), 4))
OTHERS = sample(("bread", "slowly", "green", "seven", "moon", "under"), 4)
HIT = number(0, 3)
GUESSES = [SENTENCE[GAPS[0]] if HIT == 0 else OTHERS[0]] + [
    SENTENCE[GAPS[i]] if i == HIT else OTHERS[i] for i in (1, 2, 3)
]


# %% nbgrader={"grade_id": "replaced", "solution": true}
def predicted_labels():
    """Return {"labels": [0 or 1, ...], "generator": n, "discriminator": n}."""
    ### BEGIN SOLUTION
    labels = [0] * len(SENTENCE)
    for gap, guess in zip(GAPS, GUESSES, strict=True):
        labels[gap] = 0 if guess == SENTENCE[gap] else 1
    return {"labels": labels, "generator": len(GAPS), "discriminator": len(SENTENCE)}
    ### END SOLUTION


# %% nbgrader={"grade_id": "replaced-check", "grade": true, "points": 3} own="predict"
said = returned("predicted_labels", predicted_labels())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"labels", "generator", "discriminator"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
assert len(said["labels"]) == len(SENTENCE), (
    f"labels: one for each of the {len(SENTENCE)} tokens, yours are {len(said['labels'])}"
)
filled = list(SENTENCE)
for place, token in zip(GAPS, GUESSES, strict=True):
    filled[place] = token
truth = [int(now != before) for now, before in zip(filled, SENTENCE, strict=True)]
for place in sorted(set(range(len(SENTENCE))) - set(GAPS)):
    assert said["labels"][place] == 0, (
        f"labels: token {place}, {SENTENCE[place]!r}, was never hidden, so it is an original one: 0"
    )
assert sum(said["labels"]) == sum(truth), (
    f"labels: you have {sum(said['labels'])} times 1. It stands for a token that is **not** that "
    "of the text; whether it was hidden does not matter. Compare each guess with the text"
)
### BEGIN HIDDEN TESTS
assert list(said["labels"]) == truth, (
    "labels: the number of replaced tokens is right, a place is not"
)
losses = said["generator"], said["discriminator"]
assert losses == (len(GAPS), len(SENTENCE)), (
    "the generator is asked at the gaps, as BERT is; the discriminator at every token"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="replaced"
# Write the text with the guesses in it below the text itself. Where do the two lines differ?

# %% [markdown] tags=["hint"] exercise="replaced"
# The generator is a BERT: its loss asks at the gaps. What could the discriminator be asked at a
# token that nobody touched?


# %% tags=["wrong-answer"] exercise="replaced"
def predicted_labels():  # whatever was hidden counts as replaced
    labels = [int(place in GAPS) for place in range(len(SENTENCE))]
    return {"labels": labels, "generator": len(GAPS), "discriminator": len(SENTENCE)}


# %% tags=["wrong-answer"] exercise="replaced"
def predicted_labels():  # 1 for the original
    labels = [1] * len(SENTENCE)
    for place, token in zip(GAPS, GUESSES, strict=True):
        labels[place] = int(token == SENTENCE[place])
    return {"labels": labels, "generator": len(GAPS), "discriminator": len(SENTENCE)}


# %% tags=["wrong-answer"] exercise="replaced"
def predicted_labels():  # right, but the discriminator is asked at gaps only
    labels = [0] * len(SENTENCE)
    for place, token in zip(GAPS, GUESSES, strict=True):
        labels[place] = int(token != SENTENCE[place])
    return {"labels": labels, "generator": len(GAPS), "discriminator": len(GAPS)}


# %% [markdown]
# ## 7. The words of a topic
#
# *Compute, then run · 9 min · medium · book 3.3.2, Grootendorst 2022*
#
# BERTopic groups texts by their vectors, and names each group by words that are frequent in it and
# rare elsewhere. All texts of a topic are counted together, as one. The weight of a word $x$ in a
# topic $c$ is
#
# $$W_{x,c} = \mathrm{tf}_{x,c} \, \ln\!\left(1 + \frac{A}{f_x}\right)$$
#
# with $\mathrm{tf}_{x,c}$ how often the topic has the word, $f_x$ how often **all** topics together
# have it, and $A$ the **average** number of words of a topic. Two topics, counted:
#
# | | the | bank | card | river |
# |---|---|---|---|---|
# | money | {{THE}} | {{BANK}} | {{CARD}} | 0 |
# | water | {{THE}} | {{BANK}} | 0 | {{RIVER}} |
#
# On paper, with a table of logarithms, **before you run anything**: `"average"`, that is $A$,
# and the weights in *money* of `"the"`, `"bank"` and `"card"`, to two digits behind the point. The
# cell checks $A$ and two of the weights.

# %% tags=["variant"] exercise="topic"
THE = number(8, 20)
BANK = number(2, 6)
CARD = number(3, 9)
RIVER = number(3, 9)


# %% nbgrader={"grade_id": "topic", "solution": true}
def predicted_weights():
    """Return {"average": A, "the": weight, "bank": weight, "card": weight} in the topic money."""
    ### BEGIN SOLUTION
    counts = {"the": (THE, 2 * THE), "bank": (BANK, 2 * BANK), "card": (CARD, CARD)}
    mean = (2 * THE + 2 * BANK + CARD + RIVER) / 2
    weights = {x: tf * float(torch.tensor(1 + mean / f).log()) for x, (tf, f) in counts.items()}
    return {"average": mean, **weights}
    ### END SOLUTION


# %% nbgrader={"grade_id": "topic-check", "grade": true, "points": 3} own="predict"
said = returned("predicted_weights", predicted_weights())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"average", "the", "bank", "card"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
table = torch.tensor([[THE, BANK, CARD, 0], [THE, BANK, 0, RIVER]], dtype=torch.float64)
average = table.sum().item() / len(table)
assert abs(said["average"] - average) < 0.01, (
    f"average: {missed(said['average'], average)}. A is "
    "the mean of how many words the two topics have"
)
found = (table * (1 + average / table.sum(0)).log())[0].tolist()
for word, weight in (("card", found[2]), ("the", found[0])):
    assert abs(said[word] - weight) < 0.02, (
        f"{word}: {missed(said[word], weight)}. Take its count in money times "
        "ln(1 + A / f), with f counted over both topics"
    )
### BEGIN HIDDEN TESTS
assert abs(said["bank"] - found[1]) < 0.02, "bank: both topics have it, so f is twice its count"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="topic"
# *card* stands in one topic only, so its $f$ is its count there. *the* and *bank* stand in both.

# %% [markdown] tags=["hint"] exercise="topic"
# The logarithm is the natural one, and the 1 stands inside it: no weight is below 0.


# %% tags=["wrong-answer"] exercise="topic"
def predicted_weights():  # f is the count in this topic alone
    mean = THE + BANK + (CARD + RIVER) / 2
    logs = {x: float(torch.tensor(1 + mean / tf).log()) for x, tf in (("the", THE), ("bank", BANK))}
    card = CARD * float(torch.tensor(1 + mean / CARD).log())
    return {"average": mean, "the": THE * logs["the"], "bank": BANK * logs["bank"], "card": card}


# %% tags=["wrong-answer"] exercise="topic"
def predicted_weights():  # A is the number of all words
    every = 2 * THE + 2 * BANK + CARD + RIVER
    logs = [float(torch.tensor(1 + every / f).log()) for f in (2 * THE, 2 * BANK, CARD)]
    return {"average": every, "the": THE * logs[0], "bank": BANK * logs[1], "card": CARD * logs[2]}


# %% tags=["wrong-answer"] exercise="topic"
def predicted_weights():  # without the 1 in the logarithm
    mean = THE + BANK + (CARD + RIVER) / 2
    logs = [float(torch.tensor(mean / f).log()) for f in (2 * THE, 2 * BANK, CARD)]
    return {"average": mean, "the": THE * logs[0], "bank": BANK * logs[1], "card": CARD * logs[2]}


# %% [markdown]
# ## 8. A vector that depends on its neighbors
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
# ## 9. From pieces to words
#
# *Code · 9 min · hard · book 3.4.2*
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
# ## 10. A head, or a habit?
#
# *Code, measure, explain · 14 min · hard · book 3.4.2*
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
# next to its determiner, any head that looks at its neighbor beats it without any grammar. The
# best of 72 is chosen for its luck too, so its score is too high; choose on one half of the
# sentences, and measure on the other.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="offset-why"
# - **3 points**: names head B by its numbers at two distances or against the offset's share, says
#   that A is the offset, and separates choosing from measuring.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: takes the comparison with guessing for evidence, or has no number that was
#   measured.


# %% [markdown]
# ## 11. Guess in any order
#
# *Code · 12 min · hard · Yang et al. 2019*
#
# XLNet is trained as a language model, one token after the other, but in an order that is drawn
# anew for each text. The tokens stay where they are; only who may look at whom depends on the
# order. `order` lists the places as they are guessed: with (2, 0, 1) place 2 comes first, then 0,
# then 1.
#
# Each place has two rows. Its **content** row knows its own token: it may attend to all that came
# before it in the order, and to itself. Its **query** row has to guess that token: it may attend to
# all that came before it, and **not** to itself. Write both masks, True = may attend; rows and
# columns are places, from left to right.

# %% tags=["variant"] exercise="orders"
ORDER = choose((2, 4, 1, 0, 3), (3, 1, 4, 2, 0), (4, 2, 0, 3, 1), (2, 0, 3, 4, 1))
rename("order_masks", "masks_of_order", "two_streams")


# %% nbgrader={"grade_id": "orders", "solution": true}
def order_masks(order):
    """Return (content, query), both bool (T, T), for a list of the T places in their order."""
    ### BEGIN SOLUTION
    turn = torch.empty(len(order), dtype=torch.long)
    turn[torch.tensor(order)] = torch.arange(len(order))  # when each place is guessed
    query = turn < turn[:, None]
    return query | torch.eye(len(order), dtype=torch.bool), query
    ### END SOLUTION


# %% nbgrader={"grade_id": "orders-check", "grade": true, "points": 3}
answer = returned("order_masks", order_masks(ORDER))
assert isinstance(answer, tuple), "return both: `return content, query`"
content, query = answer
for name, mask in (("content", content), ("query", query)):
    assert mask.dtype == torch.bool, f"{name}: a mask is bool, yours is {mask.dtype}"
    assert mask.shape == (5, 5), f"{name}: five places, so (5, 5); yours is {tuple(mask.shape)}"
start, end = ORDER[0], ORDER[-1]
assert not query.diagonal().any(), "a query row that sees its own token has nothing to guess"
assert not query[start].any(), (
    f"place {start} is guessed before all others, so its query row sees nothing; yours sees "
    f"{query[start].nonzero().flatten().tolist()}"
)
assert int(query[end].sum()) == 4, (
    f"place {end} is guessed when all four others are known; its query row sees "
    f"{query[end].nonzero().flatten().tolist()}"
)
assert bool(content.diagonal().all()), "a content row knows its own token"
for place in range(5):
    known = sorted(ORDER[: ORDER.index(place)])
    assert query[place].nonzero().flatten().tolist() == known, (
        f"in the order {ORDER} the places {known} come before {place}; its query row sees "
        f"{query[place].nonzero().flatten().tolist()}"
    )
### BEGIN HIDDEN TESTS
g = torch.Generator().manual_seed(4)
for T in (1, 2, 9):
    drawn = torch.randperm(T, generator=g).tolist()
    content, query = order_masks(drawn)
    for a in range(T):
        for b in range(T):
            before = drawn.index(b) < drawn.index(a)
            assert bool(query[a, b]) == before, f"a query row in the order {drawn} is off"
            assert bool(content[a, b]) == (before or a == b), f"a content row in {drawn} is off"
content, query = order_masks(list(range(6)))
assert torch.equal(content, torch.ones(6, 6).tril().bool()), (
    "from left to right it is the causal mask"
)
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="orders"
# First write down for each place **when** it is guessed: its index in `order`. A query row then
# sees the places with a smaller number.

# %% [markdown] tags=["hint"] exercise="orders"
# `order` says which place comes at each turn. What is needed is the turn of each place, which is
# the inverse of that list.


# %% tags=["wrong-answer"] exercise="orders"
def order_masks(order):  # from left to right, whatever the order
    content = torch.ones(len(order), len(order)).tril().bool()
    return content, content & ~torch.eye(len(order), dtype=torch.bool)


# %% tags=["wrong-answer"] exercise="orders"
def order_masks(order):  # the list is taken for the turn of each place
    when = torch.tensor(order)
    query = when[None] < when[:, None]
    return query | torch.eye(len(order), dtype=torch.bool), query


# %% tags=["wrong-answer"] exercise="orders"
def order_masks(order):  # both streams see themselves
    when = torch.tensor([order.index(place) for place in range(len(order))])
    content = when[None] <= when[:, None]
    return content, content


# %% [markdown]
# ## 12. GELU in whole numbers
#
# *Predict, measure, explain · 16 min · hard · Kim et al. 2021*
#
# A chip that knows whole numbers alone can run a BERT if two things are done. Numbers between
# $-m$ and $m$, here $m$ = {{LIMIT}}, are kept in {{BITS}} bits: $x$ becomes the code
# $n = \mathrm{round}(x / S)$ from $-(2^{b-1} - 1)$ to $2^{b-1} - 1$, and is read as $n S$, with the
# step $S = m / (2^{b-1} - 1)$. And GELU, which needs an exponential, is replaced by a parabola
# (I-BERT): $\mathrm{GELU}(x) \approx \frac{x}{2} \left(1 + L(x / \sqrt 2)\right)$ with
#
# $$L(u) = \mathrm{sgn}(u) \left(a \, (\min(|u|, -b) + b)^2 + 1\right), \quad a = -0.2888, \;
# b = -1.769$$
#
# **Before you run anything**, for {{BITS}} bits and $m$ = {{LIMIT}}:
#
# - `"codes"`: how many codes are there,
# - `"step"`: $S$,
# - `"worst"`: how far from itself can rounding move a number at most,
# - `"after"`: how far can that move GELU of it, if GELU is nowhere steeper than 1.13?

# %% tags=["variant"] exercise="whole"
BITS = choose(6, 5, 7, 8, 9, 10)
LIMIT = choose(4, 5, 6, 7)


# %% nbgrader={"grade_id": "whole", "solution": true}
def predicted_rounding():
    """Return {"codes": n, "step": S, "worst": error of x, "after": error of GELU}."""
    ### BEGIN SOLUTION
    largest = 2 ** (BITS - 1) - 1
    step = LIMIT / largest
    return {
        "codes": 2 * largest + 1,
        "step": step,
        "worst": step / 2,
        "after": 1.13 * step / 2,
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "whole-check", "grade": true, "points": 3} own="predict"
said = returned("predicted_rounding", predicted_rounding())
assert isinstance(said, dict), "return a dictionary: `return {...}`"
wanted = {"codes", "step", "worst", "after"}
assert set(said) == wanted, f"the names are {sorted(wanted)}, yours {sorted(said)}"
line = torch.linspace(-LIMIT, LIMIT, 200_001, dtype=torch.float64)
grid = torch.linspace(-LIMIT, LIMIT, 2**BITS - 1, dtype=torch.float64)  # all that can be kept
assert said["codes"] == len(grid), (
    f"codes: {missed(said['codes'], len(grid))}; they go "
    "from minus the largest to the largest, with 0"
)
between = (grid[1] - grid[0]).item()
assert abs(said["step"] / between - 1) < 0.002, (
    f"step: {missed(said['step'], between)}; how far are two neighboring codes apart?"
)
### BEGIN HIDDEN TESTS
moved = (line - (line / between).round() * between).abs().max().item()
assert abs(said["worst"] / moved - 1) < 0.01, "worst: a number lies at most half a step from a code"
assert abs(said["after"] / (1.13 * moved) - 1) < 0.01, "after: the slope times the error of x"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="whole"
# With 3 bits the largest code is 3, and there are 7: -3, -2, -1, 0, 1, 2, 3.

# %% [markdown] tags=["hint"] exercise="whole"
# Whatever lies between two codes goes to the nearer one. How far away can that be?


# %% tags=["wrong-answer"] exercise="whole"
def predicted_rounding():  # all codes of so many bits
    largest = 2 ** (BITS - 1)
    step = LIMIT / largest
    half = step / 2
    return {"codes": 2 * largest, "step": step, "worst": half, "after": 1.13 * half}


# %% tags=["wrong-answer"] exercise="whole"
def predicted_rounding():  # a whole step away
    step = LIMIT / (2 ** (BITS - 1) - 1)
    return {"codes": 2**BITS - 1, "step": step, "worst": step, "after": 1.13 * step}


# %% tags=["wrong-answer"] exercise="whole"
def predicted_rounding():  # without a bit for the sign
    step = LIMIT / (2**BITS - 1)
    half = step / 2
    return {"codes": 2**BITS - 1, "step": step, "worst": half, "after": 1.13 * half}


# %% [markdown]
# **Measure** both errors on 20,001 numbers from $-m$ to $m$, in float64, with torch's exact GELU
# (`torch.nn.functional.gelu`): `"rounded"`, the largest distance between GELU of a number and GELU
# of what was kept of it, and `"parabola"`, the largest distance between GELU and the formula above,
# of numbers that were not rounded.


# %% nbgrader={"grade_id": "measured", "solution": true}
def measured_errors():
    """Return {"rounded": error, "parabola": error}."""
    ### BEGIN SOLUTION
    x = torch.linspace(-LIMIT, LIMIT, 20_001, dtype=torch.float64)
    gelu = torch.nn.functional.gelu
    step = LIMIT / (2 ** (BITS - 1) - 1)
    u = x / 2**0.5
    curve = u.sign() * (-0.2888 * (u.abs().clamp(max=1.769) - 1.769) ** 2 + 1)
    return {
        "rounded": (gelu((x / step).round() * step) - gelu(x)).abs().max().item(),
        "parabola": (x / 2 * (1 + curve) - gelu(x)).abs().max().item(),
    }
    ### END SOLUTION


# %% nbgrader={"grade_id": "measured-check", "grade": true, "points": 3} own="measure"
found = returned("measured_errors", measured_errors())
assert isinstance(found, dict), "return a dictionary: `return {...}`"
assert set(found) == {"rounded", "parabola"}, f"the names are rounded and parabola: {sorted(found)}"
half = LIMIT / (2**BITS - 2)
assert 1.0 * half < found["rounded"] <= 1.1290 * half, (
    f"rounded: yours is {found['rounded']:.5f}. A number moves by {half:.5f} at most, and GELU is "
    "steepest, 1.129, near 1.4: expect that product, or a little less, never more"
)
assert 0.005 < found["parabola"] < 0.05, (
    f"parabola: yours is {found['parabola']:.5f}. Are sgn and min at their places, and is x "
    "divided by the root of 2 before L is taken?"
)
### BEGIN HIDDEN TESTS
points = torch.linspace(-LIMIT, LIMIT, 20_001, dtype=torch.float64).tolist()
phi = [0.5 * (1 + torch.erf(torch.tensor(p / 2**0.5, dtype=torch.float64)).item()) for p in points]
bent = []
for p in points:
    flat = min(abs(p) / 2**0.5, 1.769) - 1.769
    sign = (p > 0) - (p < 0)
    bent.append(p / 2 * (1 + sign * (1 - 0.2888 * flat * flat)))
apart = max(abs(b - p * c) for b, p, c in zip(bent, points, phi, strict=True))
assert abs(found["parabola"] / apart - 1) < 1e-3, "parabola: the largest distance is another one"
kept = [round(p / (2 * half)) * 2 * half for p in points]
phis = [0.5 * (1 + torch.erf(torch.tensor(k / 2**0.5, dtype=torch.float64)).item()) for k in kept]
off = max(abs(k * f - p * c) for k, f, p, c in zip(kept, phis, points, phi, strict=True))
assert abs(found["rounded"] / off - 1) < 1e-3, "rounded: the largest distance is another one"
### END HIDDEN TESTS

# %% [markdown] tags=["hint"] exercise="measured"
# What is kept of `x` is `(x / step).round() * step`. `u.sign()` and `u.abs().clamp(max=1.769)` are
# the sgn and the min.


# %% tags=["wrong-answer"] exercise="measured"
def measured_errors():  # the error of x, not that of GELU
    x = torch.linspace(-LIMIT, LIMIT, 20_001, dtype=torch.float64)
    unit = LIMIT / (2 ** (BITS - 1) - 1)
    moved = ((x / unit).round() * unit - x).abs().max().item()
    return {"rounded": 0.9 * moved, "parabola": 0.02}


# %% tags=["wrong-answer"] exercise="measured"
def measured_errors():  # L of x itself, without the root of 2
    x = torch.linspace(-LIMIT, LIMIT, 20_001, dtype=torch.float64)
    exact = torch.nn.functional.gelu(x)
    bend = x.sign() * (-0.2888 * (x.abs().clamp(max=1.769) - 1.769) ** 2 + 1)
    unit = LIMIT / (2 ** (BITS - 1) - 1)
    moved = (torch.nn.functional.gelu((x / unit).round() * unit) - exact).abs().max().item()
    return {"rounded": moved, "parabola": (x / 2 * (1 + bend) - exact).abs().max().item()}


# %% tags=["wrong-answer"] exercise="measured"
def measured_errors():  # the mean in place of the largest
    x = torch.linspace(-LIMIT, LIMIT, 20_001, dtype=torch.float64)
    exact = torch.nn.functional.gelu(x)
    unit = LIMIT / (2 ** (BITS - 1) - 1)
    moved = (torch.nn.functional.gelu((x / unit).round() * unit) - exact).abs().mean().item()
    return {"rounded": moved, "parabola": 0.02}


# %% [markdown]
# **Explain** in three or four sentences, with your numbers: how near did the prediction come, and
# on which side of it does the measured error lie? Which of the two errors is the larger one with
# your bits, and which one would a further bit make smaller? From how many bits on is it of no use
# to round more finely?

# %% [markdown] nbgrader={"grade_id": "whole-why", "grade": true, "solution": true, "points": 3}
# ### BEGIN SOLUTION
# The prediction is a bound, half a step times the steepest slope, and the measured error for
# {{BITS}} bits and {{LIMIT}} lies a little below it, since 1.13 is rounded up and the largest move
# need not meet the steepest place. The parabola is off by about 0.018 whatever the bits, for that
# is the formula's own error. A further bit halves the step and with it the rounding's error alone.
# The two are equal where half a step is about 0.016, that is near 8 bits for limits of 4; for
# larger limits it takes a bit more. Beyond that finer rounding hardly changes the sum, because the
# parabola's error stays.
# ### END SOLUTION

# %% [markdown] tags=["rubric"] exercise="whole-why"
# - **3 points**: compares its own two measured numbers with each other and with its prediction as a
#   bound, says that a bit halves the one and leaves the other, and names the bits where they meet.
# - **1 point**: right in one or two of these, or in all without numbers of its own.
# - **0 points**: has no number that was measured, or takes the parabola's error for rounding.

# %% [markdown] tags=["slide"]
# # BERT's input: WordPiece tokens, segments, positions
#
# BERT answers a question about a paragraph. Those are two texts, and a network takes one table of
# numbers. How do two strings become one table, and what in it says which text a word came from, and
# where it stood?
#
# <small>Prerequisites: [positions](../02_transformer/08_positions.ipynb),
# [norms](../02_transformer/09_residuals_norms.ipynb),
# [word pieces of GNMT](../02_transformer/17_gnmt.ipynb) · 15 min · runs on a laptop · book 3.1,
# Straka, Fleuret</small>

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
from deepdive.published.pretrained import minilm_tokenizer
from deepdive.tokenizers import encode_pair
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

published = minilm_tokenizer()  # BERT's own 30,522 lower-case word pieces
ids, segments = encode_pair(published, "Who barked?", "The unlucky dog barked.")
pieces = [published.vocab[i] for i in ids]


def cell(x, y, words, role, wide=60):
    color = f'fill="{ROLES[role]}" fill-opacity="0.16" stroke="{ROLES[role]}"'
    shape = f'<rect x="{x - wide / 2}" y="{y - 14}" width="{wide}" height="28" rx="5" {color}/>'
    return shape + text(x, y + 1, words, 13)


drawing = [text(40, y, name, 14) for y, name in ((30, "piece"), (80, "segment"), (130, "place"))]
for i, (piece, segment) in enumerate(zip(pieces, segments, strict=True)):
    x = 118 + 66 * i
    drawing += [cell(x, 30, piece, "query"), text(x, 56, "+", 15), text(x, 106, "+", 15)]
    drawing.append(cell(x, 80, str(segment), ("key", "weight")[segment]))
    drawing.append(cell(x, 130, str(i), "value"))
shown = f"Three rows of boxes, added column by column. Pieces: {' '.join(pieces)}. "
show(svg(960, 155, drawing), shown + "Segments: five times 0, then 1. Places: 0 to 12.")

# %% [markdown]
# *Read a column from top to bottom. The word piece, the text it is from (0 or 1) and its place
# each name a learned row of numbers. The three rows are added, and the sum is what BERT reads.*
#
# Four decisions are in this picture, and the page takes them in turn: what a **piece** is, how two
# texts become **one row of pieces**, what is **added**, and what is **cut off** when the row is too
# long.

# %% [markdown] tags=["slide"]
# ## Pieces: the longest that fits, from the left
#
# BERT first cuts a text into words. The uncased model, which we use, lowers the case and takes
# accents off (BERT cased, with 28,996 pieces, and multilingual cased, with 119,547, keep both).
# Every BERT drops control characters and sets punctuation and each Chinese character apart. *Zoë's
# café* gives `zoe ' s cafe`.
#
# Then each word is cut into **word pieces**. Take the longest beginning that the vocabulary has. Of
# the rest take again the longest beginning, now among the pieces that are written with `##`, which
# stand inside a word. By hand, *unlucky*:
#
# | rest | too long, not in the vocabulary | taken |
# |---|---|---|
# | unlucky | unlucky, unluck, unluc, unlu, unl | un |
# | lucky | ##lucky, ##luck, ##luc | ##lu |
# | cky | | ##cky |
#
# The code also says what becomes of a word when at some point nothing fits:


# %% tags=["nbval-check-output"]
def cut(word, vocab):
    found, start = [], 0
    while start < len(word):
        mark = "##" if start else ""
        ends = range(len(word), start, -1)  # the longest first
        end = next((e for e in ends if mark + word[start:e] in vocab), None)
        if end is None:
            return ["[UNK]"]
        found.append(mark + word[start:end])
        start = end
    return found


known = set(published.vocab)
for word in ("unlucky", "doghouse", "undogged", "tokenization", "вокзал", "车"):
    assert cut(word, known) == published.tokens(word)
    print(f"{word:>12}:", " ".join(cut(word, known)))

# %% [markdown]
# *un* + *dogged* comes out as `undo ##gged`: the longest beginning wins, whatever the word means.
# The Russian word for a station is spelt, and this Chinese character is not in the list.
#
# Greedy cutting has a worse weakness. Suppose a vocabulary has just three pieces:
# `play`, `playi` and `##ing`.

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The vocabulary is play, playi, ##ing. What becomes of the word 'playing'?",
    ["play ##ing", "playi and then [UNK] for the rest", "[UNK], the whole word"],
    answer=2,
    explain="The longest beginning is playi. Nothing fits the rest, ng, and there is no way back.",
    key="03_bert/greedy",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
letters = {"##" + letter for letter in "abcdefghijklmnopqrstuvwxyz"}
toy = {"play", "playi", "##ing"}
assert cut("playing", toy) == ["[UNK]"]
print("three pieces:    ", *cut("playing", toy))
print("and all letters: ", *cut("playing", toy | letters))

# %% [markdown]
# So each letter that may occur stands in the vocabulary, alone and with `##`. Then every word of
# known letters can be cut to its end, if not as we would. BERT's list has nearly a thousand single
# characters, each in both forms. What they are decides which languages it can spell at all; the
# experiment below counts.

# %% [markdown]
# ## Where the list comes from
#
# The program that made BERT's list was not released with BERT. Three trainers are in use:
#
# - **by score, upwards**: merge the pair with the largest
#   $\frac{\mathrm{count}(ab)}{\mathrm{count}(a)\,\mathrm{count}(b)}$, which is how the likelihood
#   of Schuster and Nakajima is usually read; our `WordPieceTokenizer.train` does that;
# - **by count, upwards**: as BPE. This is what the `tokenizers` library calls WordPiece training;
# - **downwards**: begin with whole words, and keep each part that is frequent without the longer
#   ones kept before it. TensorFlow Text published this one, as a version of BERT's.
#
# We train a list by the first, and one by the second, and cut the same words.

# %%
from deepdive.data.generated import number_words
from deepdive.data.lines import text_lines
from deepdive.tokenizers import BERT_SPECIALS, BPETokenizer, WordPieceTokenizer
from deepdive_book.kit.profile import pick

if pick(ci=True, laptop=False, gpu=False):
    lines, what = [said for _, said in number_words("en", 2_000, seed=1)], "generated number words"
else:
    lines, what = list(text_lines("tinyshakespeare")), "tinyshakespeare"
size = pick(ci=120, laptop=2_000, gpu=2_000)
by_score = WordPieceTokenizer.train(lines, size, min_count=5, specials=BERT_SPECIALS)
by_count = BPETokenizer.train([line.lower() for line in lines], size)
print(f"{len(lines):,} lines of {what}; {len(by_score):,} and {len(by_count):,} pieces")

# %%
words = pick(ci=["seventy", "thousand", "unlucky"], laptop=["kingdom", "thou", "unlucky"],
             gpu=["kingdom", "thou", "unlucky"])  # fmt: skip
for word in words:
    for name, trained in (("score", by_score), ("count", by_count), ("BERT", published)):
        print(f"{word if name == 'score' else '':>9} {name:>6}:", " ".join(trained.tokens(word)))
a_word, sample = {}, [line.lower() for line in lines[::50]]
for name, trained in (("score", by_score), ("count", by_count), ("BERT", published)):
    n = sum(len(trained.encode(line)) for line in sample)
    a_word[name] = n / sum(len(published.split(line)) for line in sample)
    print(f"{name:>6}: {a_word[name]:.2f} pieces a word")
assert a_word["count"] < a_word["score"]

# %% [markdown]
# (`▁` leads a word in our BPE, `##` what is inside one in WordPiece.) With equally many pieces the
# list by count makes texts shorter: the score is *per occurrence*, and spends pieces on strings
# that are rare but always together.

# %% [markdown] tags=["slide"]
# ## Two texts, one row
#
# Two strings become one row of pieces by three special ones:
#
# $$\texttt{[CLS]}\; a_1 \dots a_m\; \texttt{[SEP]}\; b_1 \dots b_n\; \texttt{[SEP]}$$
#
# - `[CLS]` opens the row. It means nothing; its state at the top is read as the state of the whole.
# - `[SEP]` **closes both** texts, the second too. With one text the row is $[CLS]\,a\,[SEP]$.
# - The **segment** is 0 up to the first `[SEP]`, that one included, and 1 from there on.
#
# So $m + n$ pieces make a row of $m + n + 3$. With *Who barked?* and *The unlucky dog barked.* that
# is $3 + 7 + 3 = 13$.


# %%
def pair(tokenizer, a, b):
    a, b = tokenizer.encode(a), tokenizer.encode(b)
    row = [tokenizer.bos, *a, tokenizer.eos, *b, tokenizer.eos]  # [CLS] and [SEP]
    return row, [0] * (len(a) + 2) + [1] * (len(b) + 1)


assert pair(published, "Who barked?", "The unlucky dog barked.") == (ids, segments)
assert len(ids) == 3 + 7 + 3
for name, row in (("piece", pieces), ("id", ids), ("segment", segments)):
    print(f"{name:>8}", *(f"{value!s:>6}" for value in row))

# %% [markdown] tags=["slide"]
# ## Three rows, added: by hand
#
# Say a row has four numbers. Of a piece *dog*, in the second text, at place 3, the three tables say
#
# | | row |
# |---|---|
# | piece *dog* | $(1, 0, 1, -1)$ |
# | segment 1 | $(1, 1, 0, 0)$ |
# | place 3 | $(2, 1, -5, 11)$ |
# | sum | $(4, 2, -4, 10)$ |
#
# The sum is normalized, as on [page 2.9](../02_transformer/09_residuals_norms.ipynb): mean 3,
# deviations $(1, -1, -7, 7)$, variance 25, root 5. BERT reads $(0.2, -0.2, -1.4, 1.4)$. For the
# token $t$ at place $p$ in segment $s$:
#
# $$x = \mathrm{norm}(E_t + S_s + P_p)$$
#
# $E$ has a row for each of the 30,522 pieces, $S$ has two, $P$ has 512. Nothing is marked as piece,
# segment or place after the sum: the layers learn directions that tell them apart.

# %% tags=["nbval-check-output"]
import torch
from torch.nn.functional import layer_norm


def embed(tokens, segments, E, S, P):
    rows = E[tokens] + S[segments] + P[: tokens.shape[-1]]  # (B, T, d_model)
    return layer_norm(rows, rows.shape[-1:], eps=1e-12)


E, S, P = torch.zeros(3, 4), torch.zeros(2, 4), torch.zeros(4, 4)
E[2], S[1], P[3] = torch.tensor([[1.0, 0, 1, -1], [1, 1, 0, 0], [2, 1, -5, 11]])
x = embed(torch.tensor([[0, 1, 1, 2]]), torch.tensor([[0, 0, 1, 1]]), E, S, P)
assert torch.allclose(x[0, 3], torch.tensor([0.2, -0.2, -1.4, 1.4]), atol=1e-6)
x[0, 3]

# %% [markdown]
# The library's BERT begins with the same three tables. Here is the real MiniLM, a BERT of six
# layers and 384 dimensions whose weights come inside a package. Our function gets its tables:

# %%
from deepdive.published import load
from deepdive.published.pretrained import minilm

model = load(minilm())
parts = model.embeddings
tables = parts.tokens.weight, parts.segments.weight, parts.position.table.weight
tokens, kinds = torch.tensor([ids]), torch.tensor([segments])
with torch.no_grad():
    ours = parts.norm.weight * embed(tokens, kinds, *tables) + parts.norm.bias
    theirs = parts(tokens, kinds, torch.arange(len(ids)))
assert (ours - theirs).abs().max() < 1e-5
for name, table in zip(("pieces", "segments", "places"), tables, strict=True):
    size = table.norm(dim=-1).mean()
    print(f"{name:>8}: {table.shape[0]:>6,} rows of {table.shape[1]}, length {size:.2f} on average")

# %% [markdown]
# ### What the places have learned
#
# Nobody told the model that place 7 is beside place 8. Compare the rows of the first 60 places,
# each with each, by the cosine of their angle.

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

with torch.no_grad():
    places = tables[2][:60]
    centered = torch.nn.functional.normalize(places - tables[2].mean(0), dim=-1)
    close = centered @ centered.T  # (60, 60)
figure = Figure(figsize=(4.6, 3.8))
axes = figure.add_subplot()
image = axes.imshow(close, cmap="RdBu_r", vmin=-1, vmax=1)
axes.set(xlabel="place", ylabel="place", title="cosine of two places")
figure.colorbar(image, ax=axes)
with_alt(
    figure, "A map of 60 by 60 cosines: high beside the diagonal, lower the further from it."
)

# %%
beside, apart = close.diagonal(1)[1:].mean().item(), close.diagonal(30)[1:].mean().item()
assert beside > apart + 0.2
print(f"cosine of neighbours {beside:.2f}, of places 30 apart {apart:.2f}")

# %% [markdown]
# *Strong red along the diagonal: neighbouring places have learned rows that are alike (the mean of
# all places was taken off first). The stripes beside it: likeness comes and goes in waves. Place 0,
# where `[CLS]` always stands, is like no other.* The table ends at 512, and so does the model: at
# place 512 there is no row to add.

# %% [markdown] tags=["slide"]
# ## Too long: cut the longer text
#
# The row may have `max_length` pieces, specials counted. If it is too long, the *longer* text loses
# its last pieces, until both are equally long; from there both do, in turn. By hand: 9 and 5
# pieces, room for 11. The first loses 3, and 6 + 5 remain. With room for 7 both are cut, to 4 and
# 3.
#
# A question is short, so it stays whole. `longest_first` is that rule, and `encode_pair` applies
# it.

# %%
from deepdive.tokenizers import longest_first, pad_batch

assert longest_first(9, 5, room=11) == (6, 5)
assert longest_first(9, 5, room=7) == (4, 3)
rows = [
    encode_pair(published, "Who barked?", "The unlucky dog barked.", max_length=10),
    encode_pair(published, "Who?", "A dog.", max_length=10),
]
tokens, mask, kinds = pad_batch(rows, published.pad)
for row, real in zip(tokens, mask, strict=True):
    print(" ".join(published.vocab[i] for i in row), "|", int(real.sum()), "real")

# %% [markdown]
# A batch is a rectangle: short rows end in `[PAD]`, and `mask` says which tokens are real.

# %% [markdown]
# ### Common mistake: cut the finished row
#
# The quick way, `ids[:max_length]`, takes the last `[SEP]` away, and always from the second text:

# %%
wrong = ids[:10]  # wrong: the end of the row goes first
right, _ = encode_pair(published, "Who barked?", "The unlucky dog barked.", max_length=10)
for name, row in (("wrong", wrong), ("right", right)):
    print(f"{name}:", " ".join(published.vocab[i] for i in row))
assert wrong.count(published.eos) == 1
assert right.count(published.eos) == 2

# %% [markdown]
# **Symptom:** no error, and on long inputs only, a second text that does not end, such as the model
# never saw in training. **Fix:** cut the texts, then join them. **Test:** every row of two texts
# has two `[SEP]`.
#
# ### Common mistake: offsets into the folded text
#
# Who reads a span out of BERT wants the words of the *original*. Pieces are lower case and have no
# accents, so it is tempting to search them in a text folded likewise, and to cut the original at
# the place found:

# %%
import unicodedata

paragraph = "At the cafe\u0301 \u200bin Ko\u0308ln, Zoe\u0308 waits for the train."
decomposed = unicodedata.normalize("NFD", paragraph.lower())
folded = "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf"))
start = folded.index("zoe")
spans = published.spans(paragraph)
at = published.tokens(paragraph).index("zoe")
first, last = spans[at]
print(f"wrong: {paragraph[start : start + 3]!r} at {start}")
print(f"right: {paragraph[first:last]!r} at {first}")
assert paragraph[first:last] == "Zoe" != paragraph[start : start + 3]

# %% [markdown]
# The accents in *café* and *Köln* are characters of their own here, as often in texts from a Mac,
# and an invisible zero-width space stands before *in*. Each is a character of the original, and
# none of the folded text. **Symptom:** answers in English are right, answers in French, German or
# Vietnamese are shifted by some characters, and more the further down they stand. **Fix:**
# `spans(text)` gives for each piece where its first character stood in the text *as given*, and
# where its last one ended. **Test:** put an accent in front of the answer.

# %% [markdown]
# ## Experiment: what a language pays
#
# The published list was made from English. How many pieces does a word cost in other languages, and
# how many words cannot be written at all? The same texts in each language, or the comparison is of
# what is said, not of how. Beside it a list of our own, trained on all the languages together.

# %%
import csv

if pick(ci=True, laptop=False, gpu=False):
    codes = ["en", "fr", "de", "fi", "tr", "ru", "ar", "ko", "bn"]
    said = {code: [w for _, w in number_words(code, 100, seed=1, high=999)] for code in codes}
    source = "the same 100 generated numbers in words"
else:
    said = {}
    table = csv.DictReader(text_lines("sib200"), delimiter="\t", quoting=csv.QUOTE_NONE)
    for row in table:
        said.setdefault(row["language"], []).append(row["text"])
    source = "sib200, the same 1,004 sentences"
learn = [line for lines in said.values() for line in lines[::4]]
size = pick(ci=400, laptop=8_000, gpu=8_000)
shared = BPETokenizer.train(learn, size)  # by count
print(f"{len(said)} languages: {source}; our list has {len(shared):,} pieces")


# %%
def cost(tokenizer, texts):
    """Pieces a word (where spaces part words), and the share of words that are unknown."""
    words = [word for text in texts for word in text.split()]
    pieces = [tokenizer.encode(word) for word in words]
    unknown = sum(tokenizer.unk in row for row in pieces)
    return sum(map(len, pieces)) / len(words), unknown / len(words)


held_out = {code: [t for i, t in enumerate(lines) if i % 4] for code, lines in said.items()}
unspaced = {"zho_Hans", "jpn_Jpan", "tha_Thai"}
english, ours = ({c: cost(t, lines) for c, lines in held_out.items()} for t in (published, shared))
order = sorted(said, key=lambda code: (code in unspaced, english[code][0]))
for code in order:
    print(f"{code}: {english[code][0]:5.2f} pieces a word, {english[code][1]:4.0%} unknown; "
          f"with our list {ours[code][0]:5.2f}, {ours[code][1]:4.0%}")  # fmt: skip

# %% tags=["fold"]
figure = Figure(figsize=(9.2, 0.9 + 0.24 * len(order)))
left, right = figure.subplots(1, 2, sharey=True)
for axes, part in ((left, 0), (right, 1)):
    for shift, costs, label in ((-0.2, english, "published"), (0.2, ours, "trained on all")):
        chosen = [(i, c) for i, c in enumerate(order) if part or c not in unspaced]
        at = [i + shift for i, _ in chosen]
        axes.barh(at, [costs[c][part] for _, c in chosen], height=0.38, label=label)
left.set_yticks(range(len(order)), order)
left.invert_yaxis()
left.set(xlabel="pieces a word")
right.set(xlabel="share of words that are unknown", xlim=(0, 1))
right.legend()
with_alt(
    figure,
    f"Pieces a word and unknown words in {len(order)} languages. English has the fewest pieces, "
    "other scripts several times as many or mostly unknown words; our list evens this out.",
)

# %%
code = pick(ci="en", laptop="eng_Latn", gpu="eng_Latn")
spelt = [c for c in order if english[c][1] < 0.5 and c not in unspaced]
dearest = max(spelt, key=lambda c: english[c][0])
assert english[code][0] == min(english[c][0] for c in spelt)
assert english[dearest][0] > 2 * english[code][0]
cheap, dear = english[code][0], english[dearest][0]
print(f"a word costs {cheap:.2f} pieces in {code}, {dear:.2f} in {dearest}")
spread = max(ours[c][0] for c in spelt) / min(ours[c][0] for c in spelt)
assert spread < dear / cheap
print(f"dearest by cheapest: {dear / cheap:.1f} with the published list, {spread:.1f} with ours")
print("mostly unknown:", ", ".join(c for c in order if english[c][1] >= 0.5) or "none")

# %% [markdown]
# *Left: pieces a word; right: words that become `[UNK]`. Languages that part no words by spaces
# have no bar on the left.*
#
# Three prices are in this figure. A word of five pieces takes five of the 512 places, so a text may
# be a fraction as long. Attention's cost grows with the square of that. And a word spelt by letters
# has no row of its own in $E$: what it means, the layers must put together. Where even the letters
# are missing, the text is gone before the network begins.
#
# A list that is trained on all languages, and merged by count, brings the prices nearer to each
# other: every language in Latin letters pays more, and the six in other scripts that part their
# words by spaces pay less. (Ours is small. Its unknown words hold a character that it did not see
# in training.) That is what multilingual models do, and chapter 4 begins there.

# %% [markdown]
# ## In practice
#
# - **A model and its list belong together.** Another list of the same size runs without an error,
#   and every row of $E$ means something else.
# - **Count `[UNK]`** on your data before you train. Above one in a hundred, look at which words.
# - **Use `spans`** for tags and answers; a tag of a word goes to its first piece.
# - **A long paragraph** is read in windows that overlap: cutting it may cut the answer away.
# - **Pass mask and segments.** Both have defaults (all real, all first text), and no error tells.
# - **Offsets count characters**, of Python's strings. JavaScript counts UTF-16 units: an emoji is
#   two.
#
# Our pieces and offsets equal the `tokenizers` library's on every line of the staged corpora that
# we compared. They may differ at characters younger than the library's Unicode tables (2015).

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. The vocabulary has `re`, `read`, `##ad`, `##ing` and `##ding`. How is *reading* cut?
#
#    <details><summary>Answer</summary>
#
#    `read ##ing`: the longest beginning is *read*, and *ing* is left.
#
#    </details>
# 2. A question has 12 pieces, a paragraph 300. How long is the row, and how many tokens have
#    segment 0?
#
#    <details><summary>Answer</summary>
#
#    315 tokens. Segment 0 have 14: `[CLS]`, the 12, and the first `[SEP]`.
#
#    </details>
# 3. The same two texts, `max_length` = 128. What is cut, and by how much?
#
#    <details><summary>Answer</summary>
#
#    The room is 125. The paragraph alone is cut, to 113 pieces; the question stays.
#
#    </details>
# 4. How can the layers tell a place from a piece, when the rows were added?
#
#    <details><summary>Answer</summary>
#
#    By direction. With hundreds of dimensions the tables can learn parts that hardly overlap, and
#    a layer's matrices read the part that they need.
#
#    </details>
# 5. Why does a Thai sentence cost the published list so few pieces?
#
#    <details><summary>Answer</summary>
#
#    It parts no words by spaces, so a whole phrase is one word, and it becomes one `[UNK]`. Few
#    pieces are no good sign by themselves.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* Piece $(0, 2, 1, 1)$, segment $(1, 0, 0, 1)$, place $(0, 1, -2, 0)$. What
#    does BERT read?
#
#    <details><summary>Answer</summary>
#
#    The sum is $(1, 3, -1, 2)$: mean 1.25, deviations $(-0.25, 1.75, -2.25, 0.75)$, variance
#    2.1875, root 1.479. So $(-0.169, 1.183, -1.521, 0.507)$.
#
#    </details>
# 2. *(predict, 5 min)* Swap the two texts. Which of the three tables give other rows for
#    *dog*?
#
#    <details><summary>Answer</summary>
#
#    Segment and place. The piece keeps its row: *dog* is now at place 5, in segment 0.
#
#    </details>
# 3. *(code, 10 min)* `cut` tries every end of a word. Write it so that it tries no piece longer
#    than the longest of the vocabulary, and compare the number of look-ups.
#
#    <details><summary>Answer</summary>
#
#    `ends = range(min(len(word), start + longest), start, -1)`, with `longest` the length of the
#    longest piece. It matters for words of a hundred letters, such as addresses; for the others
#    nothing changes.
#
#    </details>
# 4. *(measure, 10 min)* Train the shared list with 1,000 and with 4,000 pieces. What happens to
#    English, and what to the dearest language?
#
#    <details><summary>Answer</summary>
#
#    Both pay more with fewer pieces. A list spends on characters first, so scripts with many
#    characters leave little for anybody else's words.
#
#    </details>

# %%
# The answers to question 1 and 3 and exercises 1 and 2, checked.
assert cut("reading", {"re", "read", "##ad", "##ing", "##ding"}) == ["read", "##ing"]
assert longest_first(12, 300, room=125) == (12, 113)
read = layer_norm(torch.tensor([1.0, 3, -1, 2]), (4,), eps=1e-12)
assert torch.allclose(read, torch.tensor([-0.169, 1.183, -1.521, 0.507]), atol=1e-3)
swapped, kinds = pair(published, "The unlucky dog barked.", "Who barked?")
dog = swapped.index(published.id_of("dog"))
assert (dog, kinds[dog]) == (5, 0)
print("they hold")

# %% [markdown]
# ## Summary
#
# A text is cut into words, and each word from the left into the longest pieces that a vocabulary
# has. Two texts become one row, `[CLS] a [SEP] b [SEP]`, and each token's row of numbers is the sum
# of its piece's, its segment's and its place's, normalized. The vocabulary decides which languages
# are cheap, dear or unreadable, before any network is trained.
#
# ## Further reading
#
# - Devlin et al. (2019), *BERT*: section 3 and figure 2 are the picture above.
# - Schuster and Nakajima (2012), *Japanese and Korean Voice Search*: where word pieces come from.
# - Wu et al. (2016), *Google's Neural Machine Translation System*: section 4.1, pieces for
#   translation.
# - Sennrich, Haddow, Birch (2016), *Neural Machine Translation of Rare Words with Subword Units*:
#   algorithm 1, its sister BPE.

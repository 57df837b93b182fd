# %% [markdown] tags=["slide"]
# # TimeSformer: space-time attention for video
#
# A photograph shows a door that stands half open. Is somebody opening it, or closing it? One
# picture cannot tell, and neither can a heap of pictures in no order; a film can. To a Transformer
# a film is a row of patches, and a long one: 8 frames of 196 patches make 2.5 million pairs in each
# layer. Which of these pairs may be left out, so that it still sees which way the door moves?
#
# <small>Prerequisites: [an image as patches](01_patches.ipynb),
# [sparse by position](../05_efficient/02_sparse_by_position.ipynb) · 20 min · runs on a laptop;
# results of the long runs are included · book 6.5</small>

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

# %% Films of digits tags=["fold"]
import torch

from deepdive_book.data.moving_digits import MOTIONS, moving_digits
from deepdive_book.kit.profile import pick, profile

FRAMES, SIZE, PATCH = 4, 16, 4
SIDE = SIZE // PATCH
films = moving_digits(300, "test", seed=3)
print(films.source)

# %% Press a patch tags=["fold"]
from deepdive.layers.space_time import meets
from deepdive.models.vision.timesformer import RULES
from deepdive_book.ch06b.figures.video_attention import video_attention

NAMES = ["space only", "joint", "divided", "local and global", "axial"]
CALLED = dict(zip(RULES, NAMES, strict=True))
SAID = {"space": "same frame", "everything": "all", "time": "same place", "neighborhood": "near",
        "strided": "every second", "width": "same line", "height": "same column"}  # fmt: skip
schemes = {CALLED[name]: [(SAID[rule.__name__], meets(rule, FRAMES, SIDE, SIDE).numpy())
                          for rule in rules] for name, rules in RULES.items()}  # fmt: skip
video_attention(films.pixels[4, :, 0], schemes, side=SIDE, chosen=21, scheme="divided")

# %% [markdown]
# *Four frames of a generated film: a digit that somebody wrote moves over an empty ground. Press a
# patch, or move on with the arrow keys: it asks. Filled patches are those that it meets, a colour
# for each step of a layer; a dot is where it has heard of a patch after one layer, perhaps through
# another one. Choose a scheme.*
#
# 1. **Space only**: which patches of other frames does it meet?
# 2. **Divided**: it meets few. Count the dots.
# 3. **Local and global**, **axial**: press a corner. Is there a patch that it has not heard of?
#
# ## The question in small
#
# Our films have four motions: to the left, to the right, up, down, by 2, 3 or 4 pixels a frame.
# What leaves at an edge comes in at the other, so a digit may stand anywhere, whichever way it
# goes: one frame says nothing of the motion. Beside this question of **motion** stands one of
# **appearance**: which digit is it? Any single frame answers that.

# %% [markdown] tags=["slide"]
# ## By hand: count the pairs
#
# Three frames of $2 \times 2$ patches: 12 patches. How many pairs meet in a layer?
#
# | scheme | a patch meets | pairs |
# |---|---|---|
# | space only | the 4 of its frame | $12 \cdot 4 = 48$ |
# | joint | all 12 | $12 \cdot 12 = 144$ |
# | divided | 3 at its place, then the 4 of its frame | $12 \cdot (3 + 4) = 84$ |
# | local and global | 3 near it, then each second one | $36 + 4 \cdot (2 + 1 + 2) = 56$ |
# | axial | 3 at its place, 2 in its line, 2 in its column | $12 \cdot (3 + 2 + 2) = 84$ |
#
# *Near* is half of the lines and half of the columns around a patch, in all frames: here one line
# and one column. *Each second one* goes by frame, line and column:
# frames 1 and 3 meet, frame 2 has only itself, and lines and columns are too few for a second one.

# %% The same from the library tags=["nbval-check-output", "fold"]
from deepdive_book.kit.tables import table


def pairs(scheme, frames, side):
    return sum(int(meets(rule, frames, side, side).sum()) for rule in RULES[scheme])


small = {CALLED[name]: pairs(name, 3, 2) for name in RULES}
print(small)
assert list(small.values()) == [48, 144, 84, 56, 84]

# %% And at the size of the paper tags=["nbval-check-output"]
PATCHES = 8 * 14 * 14
table([[CALLED[name], f"{pairs(name, 8, 14):,}", round(pairs(name, 8, 14) / PATCHES)]
       for name in RULES], ["scheme", "pairs a layer", "a patch meets"],
      caption="8 frames of 14 x 14 patches, as in the paper; special row left out")  # fmt: skip

# %% [markdown] tags=["slide"]
# ## The equation
#
# Patch $p$ of frame $t$ has query $q_{p,t}$, key $k_{p,t}$, value $v_{p,t}$. All with all, which is
# *joint* attention, is one softmax over all places and frames:
#
# $$x_{p,t} \leftarrow x_{p,t} + W \sum_{p',t'} \underset{p',t'}{\text{softmax}}
# \left(\frac{q_{p,t} \cdot k_{p',t'}}{\sqrt d}\right) v_{p',t'}$$
#
# *Divided* attention makes two of it, each with matrices of its own. First $p' = p$: a place looks
# through time. Then $t' = t$: a frame looks over itself, and what it sees has already been through
# time. So after one layer a patch may have heard of every other: of place $p'$ in frame $t'$ it
# hears through place $p'$ in its own frame.
#
# Nothing new has to be computed for that. Patches that meet are put into rows of their own,
# **folded into the batch**, and plain attention does the rest:

# %% Fold, attend, unfold tags=["nbval-check-output"]
from deepdive.core import MultiHeadAttention
from deepdive.layers import space_time
from deepdive.layers.space_time import Folded

torch.manual_seed(0)
attn, x = MultiHeadAttention(32, 4), torch.randn(2, FRAMES * SIDE * SIDE, 32)
places = x.view(2, FRAMES, SIDE * SIDE, 32).transpose(1, 2)  # (B, places, frames, d)
mixed = attn(places.flatten(0, 1)).view_as(places).transpose(1, 2).flatten(1, 2)
masked = attn(x, mask=meets(space_time.time, FRAMES, SIDE, SIDE))
same = [torch.allclose(mixed, other, atol=1e-5)
        for other in (masked, Folded(attn, space_time.time, (SIDE, SIDE))(x))]  # fmt: skip
print("folded = masked:", same[0], "| = the library's:", same[1])
assert all(same)

# %% [markdown]
# ### Common mistake: a fold along the wrong axis
#
# `x.view(B * places, frames, d)` has the right shape too. But our rows go frame by frame, so this
# puts *neighbors of one frame* together and calls them time:

# %% tags=["nbval-check-output"]
numbers = torch.arange(FRAMES * SIDE * SIDE)
print("wrong:", numbers.view(SIDE * SIDE, FRAMES)[1].tolist(),
      "| right:", space_time.time(FRAMES, SIDE, SIDE)[1].tolist())  # fmt: skip

# %% [markdown]
# **Symptom:** nothing fails: shapes fit and the model trains, but its step through time never
# leaves a frame. **Fix:** say the axes (`view`, then `transpose`), and test a fold against a mask,
# as above.
#
# ## One model, two questions
#
# A small TimeSformer: two layers, 32 wide, four heads. Its special row, whose state is the film's,
# stands in each group of a layer's last step; the answers to it are averaged. Two heads read the
# state: which motion, which digit.

# %% The model tags=["fold"]
from torch import nn

from deepdive.layers.heads import initialize
from deepdive.models.vision.timesformer import SCHEMES, timesformer

SIZES = {"image_size": SIZE, "patch_size": PATCH, "channels": 1, "d_model": 32, "n_heads": 4,
         "n_layers": 2, "d_ff": 64, "n_frames": FRAMES}  # fmt: skip


class Watcher(nn.Module):
    """Films (B, F, 1, H, W) -> scores of the motions (B, 4) and of the digits (B, 10)."""

    def __init__(self, scheme):
        super().__init__()
        self.encoder = timesformer(SCHEMES[scheme].but(**SIZES))
        self.motion, self.digit = nn.Linear(32, len(MOTIONS)), nn.Linear(32, 10)
        initialize(self, std=0.15)  # so narrow a model learns faster with larger first weights
        for name, rows in self.encoder.embeddings.named_parameters():
            if name in ("positions", "times"):
                nn.init.normal_(rows, std=0.3)

    def forward(self, films):
        state = self.encoder(films)[:, 0]
        return self.motion(state), self.digit(state)


# %% Train it tags=["fold"]
from functools import cache

import torch.nn.functional as F

from deepdive.training import fit
from deepdive.training.optim import adam, linear


def tensors(films):
    """Films as numbers around 0, with their motions and digits."""
    x = (torch.from_numpy(films.pixels).float() / 255 - 0.1) / 0.3
    return x, torch.from_numpy(films.motions), torch.from_numpy(films.digits)


def loss(model, batch):
    x, motions, digits = batch
    motion, digit = model(x)
    return F.cross_entropy(motion, motions) + F.cross_entropy(digit, digits)


# %% Train one tags=["fold"]
@cache
def train(scheme, steps, seed):
    torch.manual_seed(seed)
    model = Watcher(scheme)
    parts = (part.split(32) for part in tensors(moving_digits(32 * min(steps, 250), seed=seed)))
    fit(model, list(zip(*parts, strict=True)), loss, steps=steps, seed=seed,
        optimizer=adam(model, lr=3e-3), schedule=linear(3e-3, max(1, steps // 10), steps),
        progress=False)  # fmt: skip
    return model.eval()


# %% Ask it tags=["fold"]
NEW = pick(ci=100, laptop=1000, gpu=1000, experiment=1000)


def right(model, films):
    """The share of right motions, and of right digits, in per cent."""
    x, *answers = tensors(films)
    with torch.no_grad():
        said = [torch.cat(each).argmax(1) for each in zip(*map(model, x.split(250)), strict=True)]
    hits = [(s == a).float().mean() for s, a in zip(said, answers, strict=True)]
    return [round(100 * share.item(), 1) for share in hits]


def measure(scheme, steps, seed):
    model, new = train(scheme, steps, seed), moving_digits(NEW, "test", seed=100 + seed)
    motion, digit = right(model, new)
    motion_shuffled, digit_shuffled = right(model, new.shuffled(seed))
    return {"motion": motion, "digit": digit, "motion, shuffled": motion_shuffled,
            "digit, shuffled": digit_shuffled}  # fmt: skip


# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Space only reads each frame alone, as ViT reads an image, and takes the mean of what the "
    "frames say. Trained as long as you like, how many of the four motions can it tell apart: what "
    "share of its answers can be right at most?",
    ["a quarter, as by chance", "half", "all"],
    answer=1,
    explain="The mean may know where the digit has been: in one line, or in one column. So it can "
    "tell left or right from up or down. But a film that is run backwards has the same mean and "
    "the opposite motion, so of the two one answer is wrong.",
    key="06b_vision/space-only",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Run a film backwards tags=["surprise", "nbval-check-output"]
alone = Watcher("space_only").eval()
x = tensors(films)[0]
with torch.no_grad():
    forwards, backwards = alone(x)[0], alone(x.flip(1))[0]
same = torch.allclose(forwards, backwards, atol=1e-4)
print("the same answer to each film and to its reverse:", same)
assert same

# %% [markdown]
# This holds for any weights, so no training can lift it above a half.

# %% [markdown]
# ## The experiment
#
# Each scheme is trained for 400 steps of 32 films, with three seeds, and asked about 1,000 new
# films of digits from other hands. Equal are the steps, not the operations: a step costs more in
# one scheme than in another. The control: the same films with their **frames shuffled** (the [next
# page](10_robustness.ipynb) shuffles the patches of an image). Who sees motion must lose there; who
# reads digits need not.
#
# The short live run on a laptop, 100 steps and one seed, is too short to show this: in the run
# printed on this page divided attention has 49.4% with frames in order and 49.2% with frames
# shuffled. It only shows that the code runs. The results are those of the saved runs below it.

# %% Measure tags=["fold"]
from deepdive_book.kit.experiments import results_path, share, sweep

steps = pick(ci=12, laptop=100, gpu=400, experiment=round(400 * share()))
asked = [(scheme, seed, n) for n in (steps, 4 * steps) for seed in (1, 2, 3) for scheme in RULES]
if profile() != "experiment":
    asked = [("space_only", 1, steps), ("divided_space_time", 1, steps)]
points = [{"scheme": scheme, "steps": n, "seed": seed} for scheme, seed, n in asked]
file = results_path("06b_vision", "video")
target = file if profile() == "experiment" else None
made = "digits of scikit-learn, films generated"
measured = sweep(measure, points, target, data=made, minutes=120)
KINDS = ["motion", "motion, shuffled", "digit", "digit, shuffled"]
table([[CALLED[row["scheme"]], *(row[kind] for kind in KINDS)] for row in measured],
      ["live, one run each", *KINDS], caption=f"{steps} steps: right in %")  # fmt: skip

# %% Read what was kept tags=["fold"]
import json
from statistics import mean

rows, kept_runs = measured, False
if profile() != "ci" and file is not None and file.is_file():
    rows, kept_runs = json.loads(file.read_text())["rows"], True


FEW, MANY = (end(row["steps"] for row in rows) for end in (min, max))


def of(scheme, kind, steps=FEW):
    """One share a seed."""
    return [row[kind] for row in rows if row["scheme"] == scheme and row["steps"] == steps]


def spread(values):
    """Mean, and in brackets the lowest and the highest of the seeds."""
    return f"{mean(values):.1f} ({min(values):.1f} to {max(values):.1f})" if values else ""


kind = "the kept runs" if kept_runs else "live, too short to judge by"
print(kind)

# %% The five schemes
table([[CALLED[name], *(spread(of(name, kind)) for kind in KINDS)] for name in RULES],
      ["scheme", *KINDS], caption=f"{FEW} steps, right in %: mean of the seeds (lowest to "
      "highest); by chance 25 and 10")  # fmt: skip

# %% [markdown]
# After 400 steps divided attention sees motion in all three seeds. Local and global attention does
# in one, with the best run of all; its others, and axial attention, stand near a half: they have
# found the line on which a digit moves, and not the way. Joint attention, which has all pairs, is
# behind them. Are these blind, or slow? All five for four times as many steps:

# %% Four times as long
table([[CALLED[name], *(spread(of(name, kind, MANY)) for kind in KINDS)] for name in RULES],
      ["scheme", *KINDS], caption=f"{MANY} steps, right in %: mean of the seeds (lowest to "
      "highest)")  # fmt: skip

# %% Motion and digit, seed by seed tags=["slide", "fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(3.7, 5.0), layout="constrained")
for part, axes in zip(("motion", "digit"), figure.subplots(2, 1), strict=True):
    for y, name in enumerate(RULES):
        for kind, mark, color in ((part, "o", "#0072B2"), (f"{part}, shuffled", "x", "#D55E00")):
            found = of(name, kind, MANY)
            said = "frames in order" if kind == part else "frames shuffled"
            axes.plot(found, [y] * len(found), mark, color=color, alpha=0.7,
                      label=said if y == 0 else None)  # fmt: skip
    axes.axvline(25 if part == "motion" else 10, color="#888888", linewidth=1, linestyle=":")
    axes.set(title=part, xlabel="right, %", xlim=(0, 103))
    axes.set_yticks(range(len(RULES)), [CALLED[name] for name in RULES])
    axes.set_ylim(len(RULES) - 0.5, -0.5)
figure.axes[1].legend(fontsize="small", loc="lower left", bbox_to_anchor=(0.1, 0.02))
with_alt(figure, "Two panels, motion and digit, a row for each of five schemes, a mark for each "
         "seed: circles for frames in order, crosses for shuffled frames.")  # fmt: skip

# %% What the seeds carry tags=["fold"]
several, one_step = list(RULES)[2:], list(RULES)[:2]
if kept_runs and MANY > FEW:
    assert {len(of(name, "motion", n)) for name in RULES for n in (FEW, MANY)} == {3}
    assert min(of("divided_space_time", "motion")) > 76
    assert [share > 60 for share in sorted(of("sparse_local_global", "motion"))] == [0, 0, 1]
    assert max(of("joint_space_time", "motion")) < min(of("axial", "motion"))
    assert of("space_only", "digit", MANY) == of("space_only", "digit, shuffled", MANY)
    for found, names in (("motion", several), ("motion, shuffled", several), ("motion", one_step),
                         ("digit", several), ("digit", one_step)):  # fmt: skip
        shares = [share for name in names for share in of(name, found, MANY)]
        print(f"{found}, {', '.join(CALLED[n] for n in names)}: {min(shares)} to {max(shares)}")

# %% [markdown]
# *After the longer training. A mark is one seed: circles for frames in order, crosses for the same
# films shuffled; the dotted line is chance.*
#
# - **All schemes of several steps see motion**, in each seed. With their frames shuffled they fall
#   to about a half: the line on which a digit moves is left, the way is not.
# - **Joint attention meets all pairs, and still has not learned it.** No seed gets to a half, and
#   shuffling takes nothing from it. It could: it can put weight on any pair that the others have.
#   How many more steps it needs we do not know.
# - **Space only is at chance for motion**, and best at digits. Shuffling changes none of its
#   answers.
# - **Digits are learned more slowly where a layer has several steps.** One state serves two
#   questions, and we have not trained them apart.
#
# ### What was published
#
# Bertasius et al. (table 1) began with a ViT that had learned from photographs, and trained it on
# two collections of real films. In **Kinetics-400** a film is often told by its things (a guitar, a
# pool); in **Something-Something V2** things say little, and the kinds are *opening something*,
# *closing something*, *moving something from left to right*. For divided attention, trained
# anew, the authors' [repository](https://github.com/facebookresearch/TimeSformer) gives 77.9 and
# 59.1:

# %% Published tags=["nbval-check-output"]
PUBLISHED = {"space_only": (85.9, 76.9, 36.6), "joint_space_time": (85.9, 77.4, 58.5),
             "divided_space_time": (121.4, 78.0, 59.5), "sparse_local_global": (121.4, 75.9, 56.3),
             "axial": (156.8, 73.5, 56.2)}  # fmt: skip
table([[CALLED[name], *row] for name, row in PUBLISHED.items()],
      ["scheme", "million numbers", "Kinetics-400, %", "Something-Something V2, %"],
      caption="Bertasius et al. 2021, table 1: films told right")  # fmt: skip

# %% How far is space only behind the best? tags=["nbval-check-output", "fold"]
behind = [round(max(row[k] for row in PUBLISHED.values()) - PUBLISHED["space_only"][k], 1)
          for k in (1, 2)]  # fmt: skip
print("points behind the best:", behind)
assert behind == [1.1, 22.9]

# %% [markdown]
# There too space only does well where things tell, 1.1 points behind the best, and is 22.9 behind
# where motion tells. Between joint and divided attention there is a point at most, where we see far
# more; theirs began as a trained ViT and learned from many more films.
#
# Steps before a layer's last one have matrices of their own, there and here. So our five models are
# not equally large, and 400 steps of one cost more than 400 of another. The comparison above is at
# equal steps and one learning rate for all schemes; we have made none at equal operations. Size
# does not explain why joint attention fails, though. In a rerun with 1,600 steps, joint attention
# with four layers (as many attention sublayers as divided attention has) got 40.8% and 42.2% of
# the motion classes right, and at a learning rate of 1e-3 38.7%, while divided attention with
# *one* layer, fewer parameters than joint attention here, got 98.7%. The counts:

# %% Numbers and operations tags=["fold", "nbval-check-output"]
from deepdive_book.kit.flops import count_flops

film = torch.zeros(1, FRAMES, 1, SIZE, SIZE)
lines = []
for name in RULES:
    model = Watcher(name).eval()
    with torch.no_grad():
        operations = count_flops(lambda: model(film))  # noqa: B023
    numbers_in = sum(p.numel() for p in model.parameters())
    lines.append([CALLED[name], numbers_in, round(operations / 1e6, 1), pairs(name, FRAMES, SIDE)])
table(
    lines,
    ["scheme", "numbers", "million operations a film", "pairs a layer"],
    caption="ours; local and global is computed under a written mask, which saves nothing",
)

# %% [markdown]
# At our size divided attention meets fewer pairs than joint attention and still computes more, 3.9
# against 3.3 million operations a film: the matrices of its second step cost more than the pairs
# that it leaves out. So it has had more work in 400 steps, and has more numbers to learn with.

# %% [markdown] tags=["aside"]
# ## What is the person in this box doing?
#
# In a film with several people one answer is too few. The **Video Action Transformer** (Girdhar et
# al. 2019) cuts a region out of the middle frame and lets it ask: its query attends to the features
# of the whole film. What is drawn from elsewhere, a face that speaks, a hand that gives, comes in
# through attention; queries do not meet one another.

# %% A question for each box tags=["fold", "aside", "nbval-check-output"]
from deepdive.models.vision.video_action import TINY, video_action

torch.manual_seed(0)
asks = video_action(TINY.but(d_features=32, n_classes=4)).eval()
features = torch.randn(1, FRAMES, SIDE, SIDE, 32)  # states of patches, as an encoder gives them
boxes = torch.tensor([[[0.0, 0.0, 0.5, 0.5], [0.25, 0.5, 1.0, 1.0]]])  # left, top, right, bottom
with torch.no_grad():
    both, alone = asks(features, boxes), asks(features, boxes[:, 1:])
same = torch.allclose(both[:, 1:], alone, atol=1e-5)
print("answers:", tuple(both.shape[:2]), "| the second does not depend on the first:", same)
assert same

# %% [markdown] tags=["aside"]
# Two boxes make $2 \cdot 64$ pairs a layer here, where joint attention makes $64 \cdot 64$. The
# features have to come from a network that has seen motion itself: theirs is a convolutional one.

# %% [markdown]
# ## In practice
#
# - Before you pay for attention through time, ask what one frame tells. Shuffle the frames of your
#   test films: where the score stays, your task is one of appearance.
# - Divided attention is what the released models have. It begins as a ViT: the matrix behind each
#   step through time begins at zero (except in the first layer), so photographs' weights can be
#   taken over.
# - A film of 96 frames has 18,816 patches. Joint attention meets all of them from each, divided
#   attention $96 + 196$.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. Why does a digit that stands at the left say nothing of a motion to the right here?
#
#    <details><summary>Answer</summary>
#
#    It may begin anywhere, and what leaves at an edge comes in at the other: each place is as
#    likely with each motion.
#
#    </details>
# 2. A patch in divided attention meets 4 patches by time, 16 by space. How can it hear of all 64?
#
#    <details><summary>Answer</summary>
#
#    Those 16 have looked through time before, each at 4 frames of its own place.
#
#    </details>
# 3. Films are shuffled and a model still tells half of the motions. What does it see?
#
#    <details><summary>Answer</summary>
#
#    Along which line the digit moves; not which way.
#
#    </details>
# 4. Does folding into the batch change what attention computes?
#
#    <details><summary>Answer</summary>
#
#    No. It equals one attention under a mask that closes all other pairs, and leaves those out
#    instead of computing and closing them.
#
#    </details>
# 5. Why does local and global attention not fold?
#
#    <details><summary>Answer</summary>
#
#    Neighborhoods overlap: a patch belongs to several. Groups must not.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* Four frames of $3 \times 3$ patches. How many pairs has a layer of joint,
#    divided and axial attention?
#
#    <details><summary>Answer</summary>
#
#    $36 \cdot 36 = 1296$; $36 \cdot (4 + 9) = 468$; $36 \cdot (4 + 3 + 3) = 360$.
#
#    </details>
# 2. *(on paper, 5 min)* Turn the steps of divided attention round: space first, then time. After
#    one layer, has a patch still heard of all others?
#
#    <details><summary>Answer</summary>
#
#    Yes. It meets its own place in each frame, and each of these has met its whole frame before.
#
#    </details>
# 3. *(measure, 15 min)* Keep the order, but run each new film backwards, and score the answers
#    against the old motions. Which share do you expect from a model that tells 95% right?
#
#    <details><summary>Answer</summary>
#
#    Almost none: it says *right* for *left*. Use
#    `Films(films.pixels[:, ::-1].copy(), films.digits, films.motions, "backwards")`.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
print([pairs(name, 4, 3) for name in ("joint_space_time", "divided_space_time", "axial")])
rules = (space_time.time, space_time.space)
time, frame = (meets(rule, FRAMES, SIDE, SIDE).int() for rule in rules)
assert 96 * 14 * 14 == 18_816
print("all heard of:", bool((time @ frame > 0).all()), bool((frame @ time > 0).all()))

# %% [markdown]
# ## Summary
#
# A film is a row of patches, and a scheme says which of them meet: a frame alone, all with all, or
# steps through time and space that need far fewer pairs and still reach far. Folding groups into
# the batch makes any of these of plain attention. Back to the door: who reads pictures one by one
# and takes their mean cannot say whether it opens or closes; a place that looks through time, and
# then a frame over itself, could say in each of our runs. All with all could not, after four times
# as many steps at one learning rate, nor with twice the layers in a rerun. At the size of the paper
# divided attention needs 319,872 of the 2,458,624 pairs; our small films were too short to save
# anything by it.
#
# ## Further reading
#
# - Bertasius, Wang, Torresani (2021), *Is Space-Time Attention All You Need for Video
#   Understanding?*: figures 1 and 2 for the schemes, table 1 for the figures above.
# - Girdhar, Carreira, Doersch, Zisserman (2019), *Video Action Transformer Network*: section 3.
# - Arnab et al. (2021), *ViViT*: other ways to part time from space; in one of them
#   frames meet only in a second encoder.

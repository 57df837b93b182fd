# %% [markdown] tags=["slide"]
# # DeiT: distillation for vision Transformers
#
# A trainee sorts photographs of clothes. Each photograph has a label, *shirt* or *coat*. Beside the
# trainee sits a colleague with years of practice, who says a name too, and sometimes another one
# than the label. Does the trainee learn more from both than from the labels alone? And should one
# ear listen to both, or is it better to keep an ear for each?
#
# <small>Prerequisites: [against convolution](02_convolution.ipynb),
# [DistilBERT](../03_bert/10_albert_distilbert.ipynb) · 16 min · runs on a laptop; results of the
# long runs are included · Straka's lectures (DeiT)</small>

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

# %% The pictures tags=["fold"]
from functools import cache

import torch

from deepdive.data.images import CLOTHES, SHAPES, fashion_mnist, generated_shapes
from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.kit.profile import pick, profile
from deepdive_book.tasks.images import ImageBatches, loss, tensors

MANY, FEW = pick(ci=(200, 40), laptop=(6000, 600), gpu=(6000, 600))


@cache
def data():
    """Pictures to learn from, and new ones to ask about, each with its kinds."""
    if profile() == "ci":
        every = tensors(generated_shapes(600, 28, seed=1))
        return *(part[:300] for part in every), *(part[300:] for part in every)
    return *tensors(fashion_mnist()), *tensors(fashion_mnist("test"))


# %% Some with a label, some without tags=["fold"]
def batches(labels, unnamed, seed):
    """Pictures with a label, and others whose label nobody tells (-1), drawn by lot; each time
    moved by up to two pixels, and mirrored, by lot.
    """
    x, kinds, _, _ = data()
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    some = order[: labels + unnamed]
    told = kinds[some].clone()
    told[labels:] = -1
    return ImageBatches(x[some], told, 100, shift=2, mirror=True, seed=seed)


# %% Build one tags=["fold"]
from deepdive.layers.heads import ImageClassifier
from deepdive.models.classic.convnet import ConvNet
from deepdive.models.vision.deit import Distilled, deit
from deepdive.models.vision.vit import BASE, vit

SMALL = BASE.but(image_size=28, patch_size=7, channels=1, d_model=48, n_heads=4, n_layers=3,
                 d_ff=96)  # fmt: skip


def build(tokens, seed):
    """A student; with one token its layers are a little wider, for as many operations."""
    torch.manual_seed(seed)
    if tokens == 2:
        return Distilled(deit(SMALL.but(n_special=2)), 10)
    return ImageClassifier(vit(SMALL, d_ff=107), SMALL.d_model, 10)


# %% Train one tags=["fold"]
from deepdive.training import fit
from deepdive.training.optim import adam, linear


def train(model, loss, pictures, steps, lr, seed):
    """Adam with a rate that rises for a tenth of the steps and then falls to zero."""
    fit(model, batches(*pictures, seed), loss, steps=steps, seed=seed, progress=False,
        optimizer=adam(model, lr=lr, betas=(0.9, 0.99), weight_decay=0.05),
        schedule=linear(lr, max(1, steps // 10), steps))  # fmt: skip
    return model.eval()


# %% Who teaches tags=["fold"]
import torch.nn.functional as F

from deepdive.training.objectives import soft_cross_entropy


@cache
def teacher_of(kind, labels, steps, seed):
    """A network that has learned from as many labels; "CNN of all" knows those of all pictures."""
    if kind == "CNN of all":
        return teacher_of("CNN", MANY, steps, seed)
    torch.manual_seed(seed)
    return train(ConvNet((16, 32, 64), 10), loss, (labels, 0), steps, 5e-3, seed)


def by_label(logits, told, louder=False):
    """Cross-entropy of the pictures that have a label, each with the weight of one in a batch; or
    louder, with the weight of all.
    """
    each = F.cross_entropy(logits, told, ignore_index=-1, reduction="sum")
    return each / ((told >= 0).sum().clamp(1) if louder else len(told))


# %% What each student learns tags=["fold"]
@cache
def student_of(tokens, learns, teacher, labels, unnamed, steps, seed):
    """A student of labels, and of what else `learns` names."""
    asked = None if teacher == "none" else teacher_of(teacher, labels, steps, seed)

    def of(model, batch):
        images, told = batch
        heads = model.both(images) if tokens == 2 else (model(images),) * 2
        first = by_label(heads[0], told, learns == "hard, labels louder")
        if learns == "labels":
            return (first + by_label(heads[1], told)) / 2
        with torch.no_grad():
            says = asked(images)
        if learns == "soft":
            return (first + soft_cross_entropy(heads[1], says, 3.0)) / 2
        return (first + F.cross_entropy(heads[1], says.argmax(-1))) / 2

    return train(build(tokens, seed), of, (labels, unnamed), steps, 3e-3, seed)


# %% Train one here tags=["fold"]
STEPS = pick(ci=20, laptop=300, gpu=1200, experiment=round(1200 * share()))
NAMES = CLOTHES if profile() != "ci" else SHAPES
new, kinds = data()[2:]
shown = "hard", "CNN", MANY, 0, STEPS, 1
teacher, student = teacher_of("CNN", MANY, STEPS, 1), student_of(2, *shown)
with torch.no_grad():
    says = torch.cat([teacher(part) for part in new.split(500)])[:, : len(NAMES)]
    both = [student.both(part) for part in new.split(500)]
class_head, taught_head = (torch.cat(one)[:, : len(NAMES)] for one in zip(*both, strict=True))

# %% Choose pictures on which label and teacher differ tags=["fold"]
from deepdive_book.ch06b.figures.distillation_heads import Opinion, distillation_heads

t, a, b = (one.argmax(1) for one in (says, class_head, taught_head))
ways = {
    "the heads differ": (t != kinds) & (a == kinds) & (b == t),
    "both with the teacher": (t != kinds) & (a == t) & (b == t),
    "both with the label": (t != kinds) & (a == kinds) & (b == kinds),
}
chosen = [int(i) for way in ways.values() for i in way.nonzero()[:2, 0]]
bytes_of = lambda i: ((new[i, 0] * 0.5 + 0.5) * 255).round().byte().numpy()  # noqa: E731
distillation_heads(
    [
        Opinion(
            f"{k + 1}: {NAMES[kinds[i]]}",
            bytes_of(i),
            int(kinds[i]),
            says[i],
            class_head[i],
            taught_head[i],
        )
        for k, i in enumerate(chosen)
    ],
    NAMES,
)

# %% [markdown]
# *Ten kinds, four columns. The label puts everything on one kind, and so does the teacher's hard
# answer; move the slider, and the answer becomes soft. The last two columns are what a small DeiT
# says, a ViT with two heads: the class head has learned the label, the taught head the teacher's
# answer. Student and teacher have learned from 6,000 labelled pictures in 300 steps each; these are
# pictures of the test set that the teacher names otherwise than the label, first two on which the
# heads differ, which is rare. The loss is in nats. (In the reduced form: generated shapes.)*
#
# 1. Go through the pictures. Which label would you have given?
# 2. Move the slider to the right. Which second name does the teacher have in mind, and does it grow
#    at the cost of the first?
# 3. Find a picture on which the two heads differ. With whom does each side?

# %% [markdown] tags=["slide"]
# ## By hand: the loss of one picture
#
# The label says *shirt*, the teacher says *coat*. A DeiT has two heads, and each gives every kind a
# probability. The loss of a head is $-\log_2$ of what it gives to the name that it should say:
#
# | head | shirt | coat | bag | should say | loss in bits |
# |---|---|---|---|---|---|
# | class head | 1/2 | 1/4 | 1/4 | shirt, as the label | $\log_2 2 = 1$ |
# | taught head | 3/4 | 1/8 | 1/8 | coat, as the teacher | $\log_2 8 = 3$ |
#
# The loss of the picture is the mean, $(1 + 3) / 2 = 2$ bits. Only the teacher's name counts, not
# how sure it is: this is **hard distillation**. What the model says in the end is the mean of both
# heads' scores.
#
# Why two heads? One head that should say both names is torn. With the class head's numbers it has
# $(1 + 2) / 2 = 1.5$ bits, and whatever it learns, it cannot get below 1: half on *shirt* and half
# on *coat* is its best. Two heads can both reach 0.

# %% The same from the library tags=["nbval-check-output"]
from math import log

from deepdive.training.objectives import hard_distillation

heads = [torch.tensor([[4.0, 2, 2]]).log(), torch.tensor([[6.0, 1, 1]]).log()]
shirt, coat = torch.tensor([0]), torch.tensor([[0.0, 5, 0]])  # the label, and a teacher's scores
torn = torch.tensor([[4.0, 4.0, 1e-9]]).log()
for two in (heads, [heads[0]] * 2, [torn, torn]):
    print(round(hard_distillation(two, shirt, coat).item() / log(2), 3), "bits")

# %% [markdown]
# ## How it differs from a ViT

# %% Draw a box tags=["fold"]
from deepdive_book.kit.diagrams import ROLES, arrow, svg, text
from deepdive_book.kit.plotting import show


def block(x, y, width, high, role="", words=""):
    """A box with words in its middle."""
    color = ROLES[role] if role else "currentColor"
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{high:g}" rx="5" fill="{color}" '
        f'fill-opacity=".15" stroke="{color}"/>{text(x + width / 2, y + high / 2 + 1, words, 13)}'
    )


# %% Two tokens and two heads tags=["fold", "slide", "nbval-check-output"]
body = [
    block(6, 128, 88, 32, "key", "class token"),
    block(100, 128, 122, 32, "query", "distillation token"),
]
body += [block(236 + 29 * k, 128, 25, 32) for k in range(5)]
body += [text(390, 144, "...", 15), text(310, 178, "16 patches", 13)]
body += [block(6, 80, 394, 30, "", "the layers of a ViT: every row asks every row")]
for x, role, head, what in ((50, "key", "class head", "label"),
                            (161, "query", "taught head", "teacher")):  # fmt: skip
    body += [arrow(x, 126, x, 112, role), arrow(x, 78, x, 66, role)]
    body += [block(x - 44, 34, 88, 30, role, head), text(x, 18, what, 13, role)]
body += [text(306, 41, "what it says:", 13), text(306, 57, "the mean of both heads", 13)]
show(svg(406, 190, body), "A row of boxes: a class token, a distillation token, sixteen patches. "
     "All go through the layers of a ViT; above the first two stands a head each, one for the "
     "label, one for the teacher.")  # fmt: skip

# %% [markdown]
# - **A second special token**, the *distillation token*, stands beside the class token. Both ask
#   the same patches, in the same layers, and may ask for different things.
# - **Two heads.** The class head reads the class token's last state and learns the label. The
#   taught head reads the distillation token's and learns the teacher's name.
# - **The teacher is asked about the picture as the student sees it**, moved and mirrored. The
#   label stays the same when a move cuts off a sleeve; the teacher's answer may change.
# - Nothing else. After the training the teacher is not needed any more.

# %% Count the work tags=["fold", "nbval-check-output"]
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.tables import table

one, lines = torch.zeros(1, 1, 28, 28), []
for called, net in (("one token, layers 107 wide inside", build(1, 1)),
                    ("two tokens, layers 96 wide inside", build(2, 1)),
                    ("the teacher, a CNN", ConvNet((16, 32, 64), 10).eval())):  # fmt: skip
    work = count_flops(lambda: net(one))  # noqa: B023
    lines.append([called, sum(p.numel() for p in net.parameters()), round(work / 1e6, 2)])
assert abs(lines[0][2] / lines[1][2] - 1) < 0.02
table(lines, ["network", "weights", "million operations an image"])

# %% [markdown]
# ## The experiment
#
# 6,000 labeled pictures of fashion_mnist, a tenth of its training part, drawn by lot. A small CNN
# learns from them and becomes the teacher. Then four students learn from the same pictures, in as
# many steps (1,200 batches of 100), at as many operations for a picture:
#
# - **labels alone**: a ViT with one token;
# - **one token for both**: its one head learns label and teacher's name, half and half;
# - **two tokens, both by labels**: the control that has the second token and no teacher;
# - **two tokens, label and teacher**: DeiT.
#
# Three seeds draw pictures, first weights and batches anew. All are asked about 10,000 new
# pictures. To ask the teacher costs operations too; they are not counted.

# %% Measure one tags=["fold"]
from deepdive.core.hooks import record


@torch.no_grad()
def two_rows(model, x):
    """Cosine of the two special rows: as learned, as they enter, behind each layer, behind the
    norm; and in what share of their looks at the 16 patches they differ, layer by layer.
    """
    with record(model.encoder, "embeddings.embedded", "*.stream", "*.weights") as seen:
        last = model.encoder(x)
    rows = [each[0][:, :2] for name, each in seen.items() if "weights" not in name]
    rows = [model.encoder.embeddings.special[None], *rows, last[:, :2]]
    cosines = [F.cosine_similarity(row[:, 0], row[:, 1], dim=-1).mean().item() for row in rows]
    looks = [each[0][:, :, :2, 2:] for name, each in seen.items() if "weights" in name]
    looks = [look / look.sum(-1, keepdim=True) for look in looks]
    apart = [(look[:, :, 0] - look[:, :, 1]).abs().sum(-1).mean().item() / 2 for look in looks]
    return [round(c, 3) for c in cosines], [round(a, 3) for a in apart]


# %% Ask each head tags=["fold"]
def percent(hits):
    return round(100 * hits.float().mean().item(), 2)


@torch.no_grad()
def answers(model, x):
    """What each head says of each picture, and last what the model says."""
    parts = x.split(500)
    if not isinstance(model, Distilled):
        return [torch.cat([model(part) for part in parts]).argmax(1)]
    both = [torch.cat(each) for each in zip(*(model.both(part) for part in parts), strict=True)]
    return [head.argmax(1) for head in (*both, sum(both))]


# %% Beside label and teacher tags=["fold"]
def measure(tokens, learns, teacher, labels, unnamed, steps, seed):
    """What a student, and each of its heads, says of new pictures, beside label and teacher."""
    if tokens == 0:
        model, seen = teacher_of(teacher, labels, steps, seed), batches(labels, 0, seed)
        return {"right": percent(answers(model, new)[0] == kinds),
                "apart_in_training": percent(answers(model, seen.x)[0] != seen.labels)}  # fmt: skip
    model = student_of(tokens, learns, teacher, labels, unnamed, steps, seed)
    heads = answers(model, new)
    found = {"right": percent(heads[-1] == kinds), "heads": [percent(h == kinds) for h in heads]}
    asked = "CNN" if teacher == "none" else teacher
    says = answers(teacher_of(asked, labels, steps, seed), new)[0]
    differ = says != kinds
    found["differ"] = int(differ.sum())
    found["with_label"] = [percent((h == kinds)[differ]) for h in heads]
    found["with_teacher"] = [percent((h == says)[differ]) for h in heads]
    found["like_teacher"] = [percent(h == says) for h in heads]
    if tokens == 2:
        found["heads_differ"] = percent(heads[0] != heads[1])
        found["cosines"], found["looks_apart"] = two_rows(model, new[:500])
    return found


# %% Run it tags=["fold"]
A = [(0, "labels", "CNN"), (1, "labels", "none"), (1, "hard", "CNN"), (2, "labels", "none"),
     (2, "hard", "CNN")]  # fmt: skip
B = [(0, "labels", "CNN", FEW, 0), (1, "labels", "none", FEW, 0),
     (2, "hard", "CNN of all", FEW, MANY - FEW), (2, "hard", "CNN", FEW, MANY - FEW)]  # fmt: skip
asked = [(*each, MANY, 0, STEPS) for each in A] + [(*each, STEPS) for each in B]
asked += [(1, "soft", "CNN", MANY, 0, STEPS),
          (2, "hard, labels louder", "CNN of all", FEW, MANY - FEW, STEPS)]  # fmt: skip
if profile() != "experiment":
    asked = [asked[k] for k in (0, 4)]
SEEDS = (1, 2, 3) if profile() == "experiment" else (1,)
what = ["tokens", "learns", "teacher", "labels", "unnamed", "steps", "seed"]
points = [dict(zip(what, (*each, seed), strict=True)) for seed in SEEDS for each in asked]
file = results_path("06b_vision", "deit")
target = file if profile() == "experiment" else None
measured = sweep(measure, points, target, data="fashion_mnist", minutes=60)

# %% Read what was kept tags=["fold"]
import json
from statistics import mean

rows, kept_runs = measured, False
if profile() != "ci" and file is not None and file.is_file():
    rows, kept_runs = json.loads(file.read_text())["rows"], True
least = min(row["steps"] for row in rows)


def of(tokens, learns, teacher, labels=MANY, unnamed=0):
    """The runs of a setting, by their seeds."""
    wanted = {"tokens": tokens, "learns": learns, "teacher": teacher, "labels": labels,
              "unnamed": unnamed, "steps": least}  # fmt: skip
    return [row for row in rows if wanted.items() <= row.items()]


def spread(values):
    """Mean, and in brackets the lowest and the highest of the seeds."""
    if len(values) < 2:
        return f"{values[0]:.1f} (one run)" if values else ""
    return f"{mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


# %% Draw runs as dots tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt


def dots(settings, alt):
    """One line a setting, one dot a run."""
    found = [(called, runs) for called, *setting in settings if (runs := of(*setting))]
    figure = Figure(figsize=(4.2, 0.58 * len(found) + 0.7))
    axes = figure.subplots()
    for place, (called, runs) in enumerate(found):
        values = [row["right"] for row in runs]
        color = "#E69F00" if called.startswith("the teacher") else "#0072B2"
        axes.plot(values, [place] * len(values), "o", color=color, alpha=0.7, markersize=7)
        axes.text(max(values) + 0.25, place, f"{mean(values):.1f}", va="center")
        axes.text(0.02, place - 0.38, called, transform=axes.get_yaxis_transform(), va="center")
    axes.set(xlabel="right on new pictures, %", ylim=(len(found) - 0.6, -0.75), yticks=[])
    low, high = axes.get_xlim()
    axes.set_xlim(low - 0.3, high + 0.9)
    return with_alt(figure, alt)


# %% Ask before you look tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "The ViT that learns from the labels alone is right on about 79 % of the new pictures, and the "
    "teacher on about 85 %. What does DeiT reach, in as many steps?",
    ["about as much as the ViT", "two to four points more than the ViT", "as much as the teacher"],
    answer=0,
    explain="In these runs the four students lie as close together as the seeds of one of them.",
    key="06b_vision/deit-gain",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Four students tags=["surprise", "slide", "fold"]
FOUR = {"labels alone": (1, "labels", "none"), "one token for both": (1, "hard", "CNN"),
        "two tokens, both by labels": (2, "labels", "none"),
        "two tokens, label and teacher (DeiT)": (2, "hard", "CNN")}  # fmt: skip
EACH = FOUR | {"one token for both, soft": (1, "soft", "CNN")}
dots([("the teacher, a CNN", 0, "labels", "CNN"), *((c, *s) for c, s in FOUR.items())],
     "Five lines of dots. Those of the teacher stand apart at the right, those of the four "
     "students lie among each other.")  # fmt: skip

# %% The same in numbers tags=["fold", "surprise"]
lines = []
for called, setting in EACH.items():
    if runs := of(*setting):
        heads_ = [spread([row["heads"][k] for row in runs]) for k in range(setting[0])]
        whole = spread([row["right"] for row in runs])
        lines.append([called, *(heads_ if setting[0] == 2 else (whole, "")), whole])
table(
    lines,
    ["student", "class head", "taught head", "the whole student"],
    caption="right on new pictures in %: mean of the seeds, lowest and highest",
)


# %% Seed by seed tags=["fold", "surprise"]
from statistics import stdev

from scipy.stats import t


def signed(values):
    """The values; their mean and Student's 95 % interval, where there are three or more."""
    found = [*values]
    said = ", ".join(f"{value:+.1f}" for value in found)
    if len(found) < 3:
        return said
    half = t.ppf(0.975, len(found) - 1) * stdev(found) / len(found) ** 0.5
    return f"{said}: mean {mean(found):+.1f} [{mean(found) - half:+.1f}, {mean(found) + half:+.1f}]"


alone = {row["seed"]: row["right"] for row in of(1, "labels", "none")}
runs = [row for row in of(2, "hard", "CNN") if row["seed"] in alone]
half = 196 * (0.79 * 0.21 / len(new)) ** 0.5
other = [row["apart_in_training"] for row in of(0, "labels", "CNN")]
table([["DeiT minus labels alone, points", signed(r["right"] - alone[r["seed"]] for r in runs)],
       ["its class head minus its taught head, points",
        signed(r["heads"][0] - r["heads"][1] for r in runs)],
       [f"95 % interval of one share on {len(new):,} pictures, points", f"± {half:.1f}"],
       ["training pictures that the teacher names otherwise, %", spread(other)]],
      ["", "seed by seed, and 95 % by the seeds"])  # fmt: skip

# %% Live, in this profile tags=["fold", "surprise"]
table([[row["tokens"], row["learns"], row["steps"], row["right"]] for row in measured],
      ["tokens (0: the teacher)", "learns", "steps", "right in %"],
      caption="live, one run each, too short to judge by")  # fmt: skip

# %% [markdown]
# **Nothing that these seeds can show.** Seed by seed DeiT stands between 0.6 points below the ViT
# of labels alone and level with it; seeds of one student are as far apart. One token for both
# stands level too; soft answers at temperature 3 were run once. The teacher is right far more
# often, and names one in eight of its training pictures otherwise than the label; in 1,200 steps
# none of this arrives as more right answers. Whether it would in a longer training, this page does
# not measure.

# %% [markdown]
# ## Two tokens, or one token twice?
#
# If the two tokens do different work, they should look at different patches and end in different
# states. The cosine of two vectors is 1 where they point the same way, and about 0 for two that are
# drawn by lot. Touvron et al. (2021) report 0.06 for the two tokens as learned, and 0.93 behind the
# last layer.

# %% How alike the two tokens become tags=["fold", "slide"]
figure = Figure(figsize=(4.2, 3.2))
axes = figure.subplots()
places = ["learned", "enter", "1", "2", "3", "read"]
pairs = (("both by labels", "labels", "none", "#0072B2", "o"),
         ("label and teacher", "hard", "CNN", "#D55E00", "s"))  # fmt: skip
for called, learns, teacher_, color, mark in pairs:
    for row in of(2, learns, teacher_):
        axes.plot(places, row["cosines"], mark + "-", color=color, alpha=0.7, label=called)
        called = "_"
axes.plot(["learned", "3"], [0.06, 0.93], "X", color="#444", markersize=9,
          label="printed: learned, last layer")  # fmt: skip
axes.set(xlabel="behind layer", ylabel="cosine of the two tokens", ylim=(-0.25, 1.08))
axes.axhline(0, color="#888", linewidth=0.8)
axes.legend(loc="lower right", fontsize="small")
with_alt(figure, "The cosine of the two tokens as learned, as they enter, behind each of three "
         "layers, and as heads read them. All lines rise, most in the first layer.")  # fmt: skip

# %% [markdown]
# *A line is a student of one seed. "Enter" is the token with its position, "read" is what the heads
# read, behind the last norm. The crosses are the printed values for a DeiT of twelve layers.*


# %% How far the two tokens differ tags=["fold"]
def layers_apart(row):
    """In what share of their looks at the patches the two tokens differ, mean of the layers."""
    return 100 * mean(row["looks_apart"])


lines = []
for called, *setting in (("both by labels", 2, "labels", "none"),
                         ("label and teacher (DeiT)", 2, "hard", "CNN")):  # fmt: skip
    if runs := of(*setting):
        lines.append([called, spread([row["heads_differ"] for row in runs]),
                      spread([layers_apart(row) for row in runs])])  # fmt: skip
table(lines, ["two tokens that learn", "heads name different kinds (% of new pictures)",
              "tokens look at different patches (% of their weights)"],
      caption="mean of the seeds, lowest and highest in brackets")  # fmt: skip

# %% Who sides with whom tags=["fold"]
lines = []
for called, setting in EACH.items():
    runs = of(*setting)
    for k, head in enumerate(("class head", "taught head") if setting[0] == 2 else ("its head",)):
        if runs:
            lines.append([called, head, spread([row["with_label"][k] for row in runs]),
                          spread([row["with_teacher"][k] for row in runs])])  # fmt: skip
table(lines, ["student", "head", "says the label", "says the teacher's name"],
      caption="in % of the new pictures on which label and teacher differ; lowest and highest seed "
      "in brackets")  # fmt: skip

# %% [markdown]
# **Nearly one token twice.** Behind the last layer the cosine of DeiT's two tokens is 0.99 in each
# seed, and the heads name different kinds on 3 of 100 pictures. The cosine rises as it does in
# print, if from less far below; but it rises as well where both tokens learn the label, so the rise
# is no sign of a teacher. More than that: in each seed DeiT's tokens are more alike than the two
# that both learn the label. (In print a control with two class tokens ended with nearly identical
# ones.)
#
# The last table has a trap. DeiT's taught head says the teacher's name on more than half of the
# pictures that the teacher names otherwise than the label. Has it learned that? The ViT of labels
# alone, which never heard the teacher, says these names nearly as often: they are hard pictures,
# and both go wrong in the same way. A little is learned: in each seed the taught head is nearer to
# the teacher than the class head is, and further from the label.
#
# ## When most pictures have no label
#
# Now only 600 of the 6,000 pictures keep their label, and the teacher names all of them. A picture
# without a label has the taught head's half of the loss alone. There are two teachers: one has
# learned from all 6,000 labels, as a colleague who was here before; the other from the same 600.

# %% Few labels tags=["fold", "slide"]
REST = MANY - FEW
SPARSE = [("labels alone, all 6,000", 1, "labels", "none"),
          ("labels alone, 600", 1, "labels", "none", FEW),
          ("DeiT, 600, teacher knows 6,000", 2, "hard", "CNN of all", FEW, REST),
          ("DeiT, 600, teacher knows the same", 2, "hard", "CNN", FEW, REST)]  # fmt: skip
dots([("the teacher of 6,000 labels", 0, "labels", "CNN"),
      ("the teacher of 600 labels", 0, "labels", "CNN", FEW), *SPARSE],
     "Six lines of dots, two teachers and four students.")  # fmt: skip

# %% Few labels in numbers tags=["fold"]
lines = [[called, spread([row["right"] for row in runs])] for called, *setting in SPARSE
         if (runs := of(*setting))]  # fmt: skip
table(lines or [["none of these was run in this profile", ""]],
      ["student", "right on new pictures in %"],
      caption="mean of the seeds, lowest and highest in brackets")  # fmt: skip

# %% How much the names add, seed by seed tags=["fold"]
alone = {row["seed"]: row["right"] for row in of(1, "labels", "none", FEW)}
lines = []
for knows, teacher_ in (("all 6,000 labels", "CNN of all"), ("the same 600", "CNN")):
    found = [row for row in of(2, "hard", teacher_, FEW, REST) if row["seed"] in alone]
    lines.append([knows, signed(row["right"] - alone[row["seed"]] for row in found)])
table(lines, ["the teacher knows", "DeiT minus labels alone, points, and 95 % by the seeds"])

# %% [markdown]
# *A dot is a run of one seed.*
#
# **Here the teacher seems to add something.** From 600 labels alone the ViT gets 75.5%. With names
# from the teacher that knows all labels it is ahead in each of three seeds, although one name in
# eight is not the label; the seeds lie so far apart that the interval still holds zero. From the
# teacher of the same 600 labels it gains a point in two seeds and nothing in the third. What
# pictures teach without any name, [the next page](04_mae.ipynb) asks.
#
# ## In print
#
# | ImageNet, right in % | labels alone | DeiT, with its teacher |
# |---|---|---|
# | tiny, 5 million weights | 72.2 | 74.5 |
# | small, 22 million | 79.9 | 81.2 |
# | base, 86 million | 81.8 | 83.4 |
#
# These are the figures of Touvron et al. (2021) as their released code lists them. The teacher
# is a large CNN, a RegNetY-16GF, which has learned from the same images. There the gain is 1.3 to
# 2.3 points, after 300 epochs with far stronger changes to the pictures. Ours are 20 epochs of a
# small ViT: this page shows what a teacher does early in a training. This table can't say where the
# gain comes from; the paper's table 3 separates soft from hard labels and one token from two. There
# nearly all of the gain is due to *hard* labels, the second token adds little, and
# soft labels add nothing, and its table 2 finds CNN teachers better than Transformer teachers. Our
# learning rate, widths, and temperature were not tuned per student.
#
# ### Common mistake: the mean over labeled pictures alone
#
# `F.cross_entropy(scores, labels, ignore_index=-1)` leaves out pictures without a label, and
# divides by the number of the others. With ten labels in a batch of a hundred each label then
# weighs as much as ten of the teacher's names, and ten pictures by lot steer half of every step.
# **Symptom:** nothing complains, and the student is worse than without the other 5,400 pictures.
# **Fix:** divide by the whole batch. We made this mistake first:

# %% Labels ten times as loud tags=["fold"]
loud = {"hard": "each picture alike", "hard, labels louder": "mean over those with a label"}
lines = [[called, row["right"]] for learns, called in loud.items()
         for row in of(2, learns, "CNN of all", FEW, REST) if row["seed"] == 1]  # fmt: skip
table(lines or [["not run in this profile", ""]],
      ["DeiT, 600 labels, the teacher knows 6,000", "right in %"],
      caption="one run each, of seed 1")  # fmt: skip

# %% [markdown]
# ## In practice
#
# - `load("facebook/deit-base-distilled-patch16-224")`, downloaded as a folder, gives the published
#   encoder with both tokens; its two heads are a `Distilled`.
# - First ask whether you need a student. Our teacher is right more often than all its students,
#   with fewer weights and more operations. One distils because the student has a form that one
#   wants: patches and tokens, or fewer operations.
# - Then ask what the teacher knows that your labels do not say: here that was the names of pictures
#   without a label.
# - Train the student alone for the time that the teacher and its answers would cost, and compare.
# - Ask the teacher about the picture as the student sees it, after every change by lot, and in
#   evaluation mode: in training mode a CNN's norms make its answer depend on the rest of the batch.
# - Where pictures are many and labels few, let the teacher name the rest; the class head skips a
#   picture that has no label.
#
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does the class token learn, and what the distillation token?
#
#    <details><summary>Answer</summary>
#
#    The first learns the label, the second the name that the teacher holds most probable.
#
#    </details>
# 2. Label and teacher differ on a picture. Why can one head not bring its loss to 0?
#
#    <details><summary>Answer</summary>
#
#    It has one row of probabilities, and what it gives to one name it takes from the other.
#
#    </details>
# 3. What does a hard answer leave out of what the teacher says?
#
#    <details><summary>Answer</summary>
#
#    How sure it is, and which names it holds second and third.
#
#    </details>
# 4. Why is there a student with two tokens and no teacher?
#
#    <details><summary>Answer</summary>
#
#    Else one would not know whether a gain comes from the teacher or from the second token.
#
#    </details>
# 5. On the pictures that the teacher names otherwise than the label, a student often says the
#    teacher's name. Why is that alone no sign that it was taught?
#
#    <details><summary>Answer</summary>
#
#    These pictures are hard, and the student of labels alone goes wrong in the same way.
#
#    </details>
#
# ## Exercises
#
# 1. *(on paper, 4 min)* The teacher's soft answer for three kinds is (1/4, 1/2, 1/4), the taught
#    head's is (1/2, 1/4, 1/4). What is the divergence $\sum_v p_v \log_2 (p_v / q_v)$ in bits?
#
#    <details><summary>Answer</summary>
#
#    $-\tfrac14 + \tfrac12 + 0 = \tfrac14$ bit.
#
#    </details>
# 2. *(on paper, 4 min)* ViT-Base has rows of 768 numbers. How many weights do a second token, its
#    position, and a second head for 1,000 kinds add?
#
#    <details><summary>Answer</summary>
#
#    $768 + 768 + 1{,}000 \cdot 769 = 770{,}536$, less than one per cent of 86 million.
#
#    </details>
# 3. *(measure, 10 min)* Let the class head alone answer, or the taught head alone, or the mean. Is
#    one of them right more often by more than the interval of 10,000 pictures?
#
#    <details><summary>Answer</summary>
#
#    In our three seeds the class head is ahead of the taught head each time, by 0.4 to 0.8 points.
#    The interval of one share is 0.8 to each side, but it is the wrong one: both heads answer the
#    same pictures and differ on under 3 of 100, so their difference is known to about 0.3.
#
#    </details>

# %% tags=["nbval-check-output"]
# The answers to exercises 1 and 2, checked.
p, q = torch.tensor([[1.0, 2, 1]]).log(), torch.tensor([[2.0, 1, 1]]).log()
with torch.device("meta"):
    wide, plain = Distilled(deit(), 1000), ImageClassifier(vit(BASE), 768, 1000)
sizes = [sum(w.numel() for w in net.parameters()) for net in (wide, plain)]
print(round(soft_cross_entropy(q, p, 1.0).item() / log(2), 3), sizes[0] - sizes[1])

# %% [markdown]
# ## Summary
#
# DeiT gives a ViT a second special token, from whose last state a second head learns the name that
# a trained network gives to the picture. Where each picture had its label, the teacher added no
# right answers in three seeds, and the two tokens became nearly one. Back to the trainee: as long
# as each photograph had a label, the colleague's names brought nothing that three seeds can show in
# 1,200 steps, with an ear for each or with one ear for both; where nine labels in ten were missing,
# the names of a colleague who knew them brought more right answers in each of three seeds, too few
# to say how many.
#
# ## Further reading
#
# - Touvron, Cord, Douze, Massa, Sablayrolles, Jégou (2021), *Training data-efficient image
#   transformers & distillation through attention*: section 4 for the token, section 5.2 for the
#   comparisons.
# - Hinton, Vinyals, Dean (2015), *Distilling the Knowledge in a Neural Network*: soft answers and
#   their temperature.

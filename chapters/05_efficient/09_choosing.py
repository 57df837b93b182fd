# %% [markdown] tags=["slide"]
# # Choosing an efficient attention: quality, time, memory
#
# Your texts have 8,000 tokens, and the last seven pages offer thirty ways to read them. Each paper
# has a table in which its own way wins. Which one do you take?
#
# <small>Prerequisites: [what attention costs](01_cost.ipynb) and whichever of the others you like ·
# 20 min · runs on a laptop · book 5.2</small>

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

asked = ("does memory run out?", "fewer than 2,000 tokens?", "is what matters near?",
         "can a summary answer?", "one token at a time?")  # fmt: skip
taken = ("exact, in tiles", "full attention", "window, some global", "low rank, slots",
         "a running sum")  # fmt: skip
body = [text(150, 14, "ask, from the top", 15, bold=True), text(440, 14, "take", 15, bold=True)]
for i, (question, answer) in enumerate(zip(asked, taken, strict=True)):
    y = 44 + 52 * i
    body += [box(150, y, question, "query", 240), box(440, y, answer, "value", 200)]
    body += [arrow(270, y, 340, y), text(303, y - 10, "yes", 12)]
    if i < 4:
        body += [arrow(150, y + 18, 150, y + 34), text(168, y + 25, "no", 12)]
body += [arrow(150, 270, 150, 292), text(168, 281, "no", 12)]
body.append(box(150, 310, "exact, and patience", "key", 240))
show(
    svg(560, 334, body),
    "A ladder of questions. Memory runs out: exact attention in tiles. Fewer than 2,000 tokens: "
    "full attention. What matters is near: a window with a few global tokens. A summary can "
    "answer: low rank or slots. One token at a time: a running sum. Else: exact, and patience.",
)

# %% [markdown]
# *A ladder to be tested. Each rung is a claim about time, memory or quality. This page brings
# numbers, measured on one kind of machine with one set of settings.*
#
# Three kinds of numbers decide, and papers rarely show all three side by side: what a mechanism
# **costs** at your length, against full attention that is itself well made; what it **computes**,
# how far from the softmax it claims to stand for; and what it **learns**, on tasks that need it.

# %% [markdown]
# ## By hand: what a faster attention can save
#
# A block has projections and a feed-forward layer beside its attention: $24 n d^2$ operations
# beside $4 n^2 d$ ([page 5.1](01_cost.ipynb)). Let $s$ be the share of attention and let it become
# $f$ times as fast. The rest stays, so the block becomes
#
# $$\text{speed-up} = \frac{1}{(1 - s) + s / f} \qquad s = \frac{n}{6 d + n}$$
#
# times as fast (Amdahl's law). With a pencil, $d = 256$, $f = 8$:
#
# - $n = 512$: $s = 512 / 2048 = 0.25$. Speed-up $1 / (0.75 + 0.03) = 1.28$.
# - $n = 4{,}096$: $s = 4096 / 5632 = 0.73$. Speed-up $1 / (0.27 + 0.09) = 2.75$.
# - $n = 16{,}384$: $s = 16384 / 17920 = 0.91$. Speed-up $1 / (0.09 + 0.11) = 5.00$.
#
# No $f$ helps a block of 512 tokens by more than $1 / 0.75 = 1.33$.


# %%
def speed_up(n, d, f):
    share = n / (6 * d + n)
    return 1 / (1 - share + share / f)


for n in (512, 4096, 16_384):
    most = speed_up(n, 256, float("inf"))
    print(f"n = {n:>6}: f = 8 gives {speed_up(n, 256, 8):.2f}, f = infinity {most:.2f}")
assert [round(speed_up(n, 256, 8), 2) for n in (512, 4096, 16_384)] == [1.28, 2.75, 5.0]

# %% [markdown]
# ### In code
#
# The formula against counted operations: a block whose attention is full, and one with a window.
# The window's own $f$ is counted on the mechanism alone.

# %% tags=["nbval-check-output"]
import torch

from deepdive.attention import WindowAttention
from deepdive.core import Block, FeedForward, MultiHeadAttention, SoftmaxAttention
from deepdive_book.kit.flops import count_flops

n, d = 1024, 64
x, heads = torch.randn(1, n, d), torch.randn(3, 1, 4, n, 16)


def counted(mechanism):
    block = Block(MultiHeadAttention(d, 4, mechanism=mechanism), FeedForward(d, 4 * d))
    return count_flops(lambda: block(x)), count_flops(lambda: mechanism(*heads))


(whole, alone), (block, window) = counted(SoftmaxAttention()), counted(WindowAttention(32, 32))
print(f"window: {alone / window:.1f} times fewer operations, its block {whole / block:.2f} times")
print(f"the formula says {speed_up(n, d, alone / window):.2f}")
assert abs(whole / block - speed_up(n, d, alone / window)) < 1e-6

# %% [markdown]
# ### Common mistake: a slow opponent
#
# "Eight times faster than attention" depends on which attention. In steps, with the maps written
# out, it is slow and always was; one fused call is what you would use. And a mechanism that is only
# timed forward hides half of training.

# %%
from time import perf_counter

from deepdive.core.hooks import record
from deepdive_book.kit.profile import pick, profile


def seconds(attend, rows, backward):
    taken = []
    for _ in range(4):
        start = perf_counter()
        y = attend(*rows)
        if backward:
            y.sum().backward()
        taken.append(perf_counter() - start)
    return min(taken[1:])  # the first one warms up


def in_steps(*rows):
    attention = SoftmaxAttention()
    with record(attention, "weights"):
        return attention(*rows)


# %%
n = pick(ci=256, laptop=2048, gpu=2048)
rows = [torch.randn(1, 4, n, 64, requires_grad=True) for _ in range(3)]
window, opponents = WindowAttention(128, 128), {"in steps": in_steps, "fused": SoftmaxAttention()}
for backward in (False, True):
    mine = seconds(window, rows, backward)
    for name, attend in opponents.items():
        times = seconds(attend, rows, backward) / mine
        passes = "with backward" if backward else "forward only"
        print(f"{passes:>13}, against attention {name:>8}: the window is {times:.1f} times as fast")

# %% [markdown]
# **Symptom:** a speed-up without a length, a batch, a direction or the opponent's name. **Fix:**
# ask for all four. Every number below is forward **and** backward, against the fused call.

# %% [markdown] tags=["slide"]
# ## The numbers
#
# Measured once by `make bench` (`benchmarks/bench_attention.py`), kept in
# `benchmarks/results/attention.json`, and read from there. Everything of a length runs in turns, so
# that a drift of the machine meets all; memory is measured in a process of its own each. Settings
# are the same for all: windows of 256 (128 a side), blocks of 64 with 3 random ones, Linformer's
# $k$ 256, 256 features, 64 landmarks, buckets of 64 with 4 rounds, and 64 where no paper says a
# number.

# %%
import json
from pathlib import Path

root = next((p for p in (Path.cwd(), *Path.cwd().parents) if (p / "benchmarks").is_dir()), Path())
file = root / "benchmarks" / "results" / "attention.json"
measured = json.loads(file.read_text()) if file.is_file() else {"rows": [], "exponents": {}}
encoders = [row for row in measured["rows"] if row["part"].startswith("encoders")]
alone = [row for row in measured["rows"] if row["part"].startswith("mechanisms")]
print(f"{len(encoders)} rows of encoders, {len(alone)} of mechanisms, "
      f"{measured.get('threads', 0)} threads, torch {measured.get('torch', '')}")  # fmt: skip
if not measured["rows"]:
    print("nothing kept here: run `make bench`, or python benchmarks/bench_attention.py")

# %% [markdown]
# **Whole encoders against the public ones** (2 layers, 256 wide, 4 heads, one text, in training).
# *Ratio* is our time over the peer's. *Bound* is what the matrix products of the linear layers take
# alone, over the peer's time: both have them, so no attention brings the ratio below it (Amdahl
# again). *Aim* is what we had asked of ourselves; a row says so where it was missed.

# %% tags=["slide"]
print("encoder          n  ours ms peer ms  ratio (least, greatest)  bound  aim  MB ours / peer")
for row in sorted(encoders, key=lambda row: row["n"]):
    missed = "" if row["ratio"] <= row["aim"] else "  missed"
    print(
        f"{row['name']:<13} {row['n']:>5} {1e3 * row['ours_s']:>7.0f} {1e3 * row['peer_s']:>7.0f}"
        f"   {row['ratio']:.2f}  ({row['ratio_least']:.2f} to {row['ratio_greatest']:.2f})"
        f"      {row['bound']:.2f}  {row['aim']:.1f}"
        f"   {row['ours_mb']:>5.0f} / {row['peer_mb']:<5.0f}{missed}"
    )

# %% [markdown]
# *Between bound and ratio lies all the rest: attention, norms, activations, and the calls from
# Python, which weigh most at 1,024 tokens.*
#
# **Mechanisms alone against full attention** (4 heads of width 64). Above 1: faster than the fused
# full one.

# %% tags=["slide"]
lengths = sorted({row["n"] for row in alone})
times = {}
for row in alone:
    times.setdefault(row["name"], {})[row["n"]] = 1 / row["ratio"]
print(f"{'times as fast at n =':>22}", *(f"{n:>7,}" for n in lengths))
for name, found in times.items():
    print(f"{name:>22}", *(f"{found[n]:>7.2f}" if n in found else "      -" for n in lengths))

# %% tags=["fold"]
from matplotlib.figure import Figure

from deepdive_book.kit.plotting import with_alt

figure = Figure(figsize=(7.4, 4.0))
axes = figure.add_subplot()
marks = "os^vD*PXph<>"
for i, (name, found) in enumerate(times.items()):
    if name != "full attention":
        style = f"{marks[i % len(marks)]}{'-' if i < 7 else '--'}"
        axes.loglog(list(found), list(found.values()), style, label=name, markersize=4)
axes.axhline(1, color="grey")
if lengths:
    axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
    axes.legend(fontsize=7, bbox_to_anchor=(1.01, 1.0), loc="upper left")
axes.minorticks_off()
axes.set(xlabel="tokens n", ylabel="times as fast as full attention")
best = {n: max(times, key=lambda name: times[name].get(n, 0)) for n in lengths}
fastest = ", ".join(f"{best[n]} at {n}" for n in lengths) or "nothing kept"
with_alt(figure, "Speed against the fused full attention over the length, forward and backward, on "
         f"logarithmic axes; fastest: {fastest}.")  # fmt: skip

# %% [markdown]
# *Above the grey line a mechanism is faster than exact attention. Where it crosses is the length
# from which it can be worth anything at all.*
#
# ### How memory grows
#
# The largest resident memory of one pass forward and backward, above what was there before. Fused
# full attention keeps no map, so little memory is left to save, and most need more; what is left is
# time.

# %%
print(f"{'MB at n =':>22}", *(f"{n:>7,}" for n in lengths))
for name in times:
    used = {row["n"]: row["ours_mb"] for row in alone if row["name"] == name}
    print(f"{name:>22}", *(f"{used[n]:>7.0f}" if n in used else "      -" for n in lengths))
assert all(row["within_4_gb"] for row in alone), "16,384 tokens in 4 GB"

# %% [markdown]
# ### How time grows
#
# Papers claim $n$, $n \log n$ or $n \sqrt n$. The exponent of the fitted power, from 2,048 tokens
# up, with its 95% interval and the largest residual of the logarithm:

# %%
print("                        fitted           interval        residual   claimed")
for name, fit in measured["exponents"].items():
    low, high = fit["interval"]
    largest = max(map(abs, fit["residuals"]))
    print(
        f"{name:>22}  n^{fit['exponent']:.2f}     ({low:5.2f} to {high:5.2f})      {largest:.3f}"
        f"    {fit['claim']}"
    )

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Queries, keys and values are drawn at random, with variance 1. Performer replaces the softmax "
    "by 256 random features; a window leaves out all keys but 257 of 4,096. Which comes nearer to "
    "full attention, measured as |output - exact| / |exact|?",
    [
        "Performer: it estimates all weights, without a bias",
        "the window",
        "neither: both errors are above 1",
    ],
    answer=2,
    explain="With nearly even weights the exact output is a mean of thousands of values, close to "
    "0. A mean over one window has a norm several times as large, and so has an estimate with "
    "noisy weights. 'Unbiased' says nothing of the size of the noise.",
    key="05_efficient/errors",
)

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% tags=["surprise"]
errors = {row["name"]: row for row in alone if row["n"] == 4096}
for name, row in sorted(errors.items(), key=lambda item: item[1]["error"]):
    kind = "untrained: it stands for nothing yet" if row["learned"] else ""
    print(f"{name:>22}: error {row['error']:6.3f}, {1 / row['ratio']:5.2f} times as fast  {kind}")

# %% [markdown]
# ### How good is saying nothing?
#
# Put a rival beside these errors: the **mean of all values**, which asks no question at all. Its
# error can be derived. Scores of variance 1 give weights in proportion to $e^s$, and the output's
# square is in proportion to $\mathrm{E}[e^{2s}] = e^2$, of which the even part is
# $\mathrm{E}[e^s]^2 = e$. What the mean misses is
#
# $$\sqrt{1 - \mathrm{E}[e^s]^2 / \mathrm{E}[e^{2s}]} = \sqrt{1 - 1 / e} = 0.795$$

# %%
rows = [torch.randn(1, 4, 1024, 64) for _ in range(3)]
exact, even = SoftmaxAttention()(*rows), SoftmaxAttention()(*rows, scale=0.0)
missed = float((even - exact).norm() / exact.norm())
print(f"the mean of all values: error {missed:.3f}, derived {(1 - 1 / torch.e) ** 0.5:.3f}")
assert abs(missed - (1 - 1 / torch.e) ** 0.5) < 0.02
print("better than the mean:", [name for name, row in errors.items() if row["error"] < 0.78])
assert not errors or min(errors[name]["error"] for name in ("window", "Performer")) > 1

# %% [markdown]
# So an error of 0.8 in the list above is the error of the mean: such a mechanism has told nothing
# apart. Random rows are a hard case, since nothing can be left out and nothing stands out. Text is
# kinder to windows and buckets, and the pages before this one measured them on a real model's
# attention. Two lessons hold: an error without its inputs is no number, and neither is one without
# the error of saying nothing.

# %% [markdown] tags=["slide"]
# ## What they learn
#
# An attention that is trained from the start need not approximate anything. It must learn the task.
# Five tasks whose answer lies far from the question, all scored by the share of right answers:
#
# | task | what is asked | made |
# |---|---|---|
# | copy | the first tokens of a row, at its end | generated |
# | retrieval | the value that stood with a key, anywhere | generated |
# | ListOps | `[MAX 2 9 [MIN 4 7 ] 0 ]`, nested (Nangia and Bowman 2018) | generated |
# | documents | is a whole film review positive? | movie_reviews |
# | characters | the next character | Tiny Shakespeare |
#
# **A task counts only if full attention learns it and a bag of words does not.** The bag is the
# same model with attention that is the mean of all rows, without places. In numbers: full attention
# is at least 0.1 above always saying the commonest answer, and the bag has less than half of that
# lead.

# %%
from textwrap import fill

from deepdive.data import fetch, movie_reviews
from deepdive.data.documents import generated_documents
from deepdive_book.data.synthetic_reviews import generated_long_reviews
from deepdive_book.tasks import long_range, long_variants

print(long_range.copying(16, 1, 1, symbols=3).train[0][0].tolist(), "copy")
found = long_range.retrieval(16, 1, 1, questions=2, keys=4, values=3)
print(found.train[0][0].tolist(), "retrieval")
symbols, value = long_range.list_ops(1, (8, 14), 3)[0]
print(*symbols, "=", value)
print(f"{len(long_variants.VARIANTS)} attentions race:")
print(fill(", ".join(long_variants.VARIANTS), 96))

# %% [markdown]
# Every model has two layers, 64 wide, 4 heads, and a budget: where full attention meets all keys,
# the others meet about 32. Whoever cannot do a task (has no causal form, say) refuses by itself,
# and the table says so.

# %%
from functools import cache


@cache
def task(name, length):
    n = pick(ci=300, laptop=4000, gpu=4000)
    if name in ("copy", "retrieval"):
        return {"copy": long_range.copying, "retrieval": long_range.retrieval}[name](length, n)
    if name == "listops":  # short and flat enough that something is learned in minutes
        return long_range.listops(length, n, shortest=length // 8, depth=4)
    if name == "documents":
        reviews = generated_long_reviews(300) if profile() == "ci" else movie_reviews()
        parts = [(part.texts, part.labels) for part in reviews.split((0.8, 0.2))]
        return long_range.documents(*parts, length, reviews.source)
    if profile() == "ci":
        text, source = " ".join(map(" ".join, generated_documents(200))), "generated"
    else:
        text, source = fetch("tinyshakespeare", "input.txt").read_text(), "tinyshakespeare"
    return long_range.characters(text, length, n, source)


# %%
def measure(task_name, variant, seed, length, updates=None, minutes=None):
    equal = 80_000 if minutes else None  # the final stage: equal parameters and equal time
    made = task(task_name, length)
    return long_variants.race(
        made, variant, seed=seed, steps=updates, minutes=minutes, parameters=equal
    )


# %% [markdown]
# ### A race of three, live
#
# The reduced form of the experiment: one task, few steps.

# %%
from deepdive_book.kit.experiments import results_path, share, sweep

FULL, BAG = long_variants.FULL, long_variants.BAG
length, updates = pick(ci=(32, 120), laptop=(128, 150), gpu=(256, 400))
live = sweep(
    measure,
    [{"task_name": "copy", "variant": variant, "seed": 0, "length": length, "updates": updates}
     for variant in (FULL, "window", BAG)],
)  # fmt: skip
for row in live:
    print(f"{row['variant']:>15}: {row['accuracy']:.2f} right, {row['parameters']:,} parameters")
accuracy = {row["variant"]: row["accuracy"] for row in live}
print("the task counts:", long_range.counts(accuracy[FULL], accuracy[BAG], live[0]["chance"]))

# %% [markdown]
# ### The experiment
#
# ```sh
# deepdive run 5.9 --profile experiment                       # screening, 90 minutes at most
# DEEPDIVE_STAGE=final deepdive run 5.9 --profile experiment   # ten hours at most, in sittings
# deepdive run 5.9 --profile experiment --share 0.1            # a tenth of the steps
# ```
#
# *Screening*: every attention, three tasks, one seed, equally many steps. *Final*: full attention,
# the best of each family, and the window with a global token; the five tasks as far as they count,
# three seeds, equal parameters (the feed-forward layers make up the difference) and **equal time**,
# two minutes of processor time each, six for characters, so that who is fast may take more steps.
# Both can be stopped at any moment, and go on.

# %%
import os

STAGE = os.environ.get("DEEPDIVE_STAGE", "screening")
FINAL = (FULL, "window, first token global", "block-sparse", "routing", "linear",
         "improved clustered", "disagreeing heads", "predicted window")  # fmt: skip
TASKS = ("copy", "retrieval", "listops", "documents", "characters")


def points(tasks, names):
    """The races of the stage: these tasks, run by these attentions."""
    if STAGE == "screening":
        more = {"seed": 0, "length": 256, "updates": round(400 * share())}
        return [{"task_name": t, "variant": v, **more} for t in tasks for v in names]
    minutes = {t: round((6 if t == "characters" else 2) * share(), 3) for t in tasks}
    return [{"task_name": t, "variant": v, "seed": s, "length": 512, "minutes": minutes[t]}
            for s in range(3) for t in tasks for v in names]  # fmt: skip


# %%
def table(rows):
    """task -> variant -> accuracies over the seeds, empty where refused; task -> chance."""
    found, chance = {}, {}
    for row in rows:
        seen = found.setdefault(row["task_name"], {}).setdefault(row["variant"], [])
        seen += [] if row["refused"] else [row["accuracy"]]
        chance[row["task_name"]] = row["chance"]
    return found, chance


def mean(values):
    return sum(values) / len(values)


def counting(found, chance):
    both = {t: v for t, v in found.items() if v.get(FULL) and v.get(BAG)}
    return [t for t, v in both.items() if long_range.counts(mean(v[FULL]), mean(v[BAG]), chance[t])]


# %% [markdown]
# Full attention and the bag run first and judge the tasks; the others run where it counts.

# %%
if profile() == "experiment":
    data = "generated" if STAGE == "screening" else "generated, movie_reviews, tinyshakespeare"
    asked = {"screening": (TASKS[:3], long_variants.VARIANTS, 90), "final": (TASKS, FINAL, 600)}
    target, (tasks, names, limit) = results_path("05_efficient", f"quality_{STAGE}"), asked[STAGE]
    judges = points(tasks, (FULL, BAG))
    counted = counting(*table(sweep(measure, judges, target, data=data, minutes=limit)))
    rest = points(counted, [name for name in names if name != FULL])
    sweep(measure, [*judges, *rest], target, data=data, minutes=limit)

# %% [markdown]
# ### What was kept
#
# Which tasks count, and what each attention got on them. A dash: not run; *refused*: it has no form
# for the task.


# %%
def effort(row):
    return row.get("updates") or row.get("minutes")


def kept_rows(stage):
    """The rows of each task's longest runs: those of a smaller share are not mixed with them."""
    path, most = results_path("05_efficient", f"quality_{stage}"), {}
    rows = json.loads(path.read_text())["rows"] if path is not None and path.is_file() else []
    for row in rows:
        most[row["task_name"]] = max(effort(row), most.get(row["task_name"], 0))
    return [row for row in rows if effort(row) == most[row["task_name"]]]


# %%
for stage in ("screening", "final"):
    found, chance = table(kept_rows(stage))
    counted_tasks = counting(found, chance)
    print(f"{stage}: {len(found)} tasks kept; they count: {', '.join(counted_tasks) or 'none'}")
    for dropped in sorted(set(found) - set(counted_tasks)):
        full, bag = (found[dropped].get(name) for name in (FULL, BAG))
        if full and bag:
            print(f"  dropped: {dropped}: full {mean(full):.2f}, bag {mean(bag):.2f}, "
                  f"chance {chance[dropped]:.2f}")  # fmt: skip
    if not found:
        print("  nothing kept yet: see the commands above")

# %% tags=["slide"]
for stage in ("screening", "final"):
    found, _ = table(kept_rows(stage))
    if found:
        print(f"{stage:>26}", *(f"{t:>13}" for t in found))
    for name in dict.fromkeys(v for runs in found.values() for v in runs):
        cells = []
        for runs in found.values():
            values = runs.get(name)
            spread = f" +- {max(values) - min(values):.2f}" if values and len(values) > 1 else ""
            said = f"{mean(values):.2f}{spread}" if values else "refused"
            cells.append("-" if values is None else said)
        print(f"{name:>26}", *(f"{cell:>13}" for cell in cells))

# %% [markdown]
# *Accuracy; in the final stage the mean of three seeds and, after +-, greatest minus least.*

# %% tags=["fold"]
found, chance = table(kept_rows("final"))
shown = counting(found, chance) or list(found) or ["nothing kept"]
names = [v for v in (BAG, *reversed(FINAL)) if any(v in found.get(t, {}) for t in shown)]
figure = Figure(figsize=(7.2, 2.5))
panels = figure.subplots(1, len(shown), squeeze=False, sharey=True)[0]
for axes, name in zip(panels, shown, strict=True):
    for place, variant in enumerate(names):
        values = found.get(name, {}).get(variant, [])
        axes.plot(values, [place] * len(values), "o", color="#0072B2", alpha=0.6, markersize=5)
        if not values:
            said = "refused" if variant in found.get(name, {}) else "not run"
            axes.text(0.5, place, said, va="center", fontsize=7, color="#555555")
    axes.axvline(chance.get(name, 0), color="#555555", linestyle="--", linewidth=1)
    axes.set(title=name, xlim=(0, 1.05), xticks=[0, 0.5, 1])
    axes.set_yticks(range(len(names)), names)
means = [f"{t}: " + ", ".join(f"{v} {mean(found[t][v]):.2f}" for v in names if found[t].get(v))
         for t in shown if t in found]  # fmt: skip
with_alt(figure, "Right answers in the final stage, three seeds each. " + "; ".join(means) + ".")

# %% [markdown]
# *The final stage, a dot a seed; dashed, what always saying the commonest answer gives. Three
# refuse a text that may only look back.*
#
# **Equal time is another race.** What costs more than full attention gets fewer updates. A window
# that each query predicts writes all maps out, in the forward pass and for its gradient. In the
# screening it copies without a mistake; here, at twice the length and in two minutes, it comes to a
# fraction of full attention's updates. Linear attention gets the most of those that look up.

# %%
pace, final = {}, {}
for row in kept_rows("final"):
    if row["minutes"] == 2 and row["steps"]:
        pace.setdefault(row["variant"], []).append(row["steps"])
    if row["task_name"] == "copy":
        final.setdefault(row["variant"], []).append(row["accuracy"])
for name, steps in sorted(pace.items(), key=lambda item: -mean(item[1])):
    print(f"{name:>26}: {mean(steps):6.0f} updates in two minutes")
if {FULL, "predicted window", "linear", "routing"} <= set(pace):
    assert mean(pace["predicted window"]) < 0.3 * mean(pace[FULL])
    assert mean(pace["linear"]) > max(mean(pace[v]) for v in (FULL, "routing", "block-sparse"))
    assert mean(final["predicted window"]) < 0.8

# %% [markdown]
# **What the final race says**, at 512 tokens:
#
# - **Only one task can tell.** Copying and looking up are at 1.00 for six of the eight, and
#   ListOps ranks none, so speed couldn't have bought anything there. On characters, the one task
#   not at its ceiling (three of the eight refuse it), full attention is ahead: 0.43, linear
#   attention 0.35. One learning rate (Adam, 1e-3) serves all attentions of this page, and none was
#   tuned. An earlier version concluded that quality can't be bought with speed; these results are
#   too saturated for that.
# - **Copying and looking up** stand as in the screening. Whoever reads far keys, by blocks, by
#   content or one and all, does both, if it is fast enough to train. A window that sees far through
#   one token does neither.
# - **ListOps** asks for some far keys (the bag has 0.21) and then stops: all but the slowest lie
#   within 0.03 of each other, so it ranks nobody.
# - **Characters**, where each token may look only back, tell linear attention from full (a guess: a
#   sum of features cannot hold the last letters apart). Routing falls to the bag's level. A query
#   meets one key in 16 there and the mask closes half of them, so the letter before may be missing;
#   Roy et al. (2021) give half of the heads a window, and ours all route. Its choice of keys also
#   leaks, since it is made over the whole row; here that did not help.

# %%
found, chance = table(kept_rows("final"))
scores = {t: {v: mean(a) for v, a in found[t].items() if a} for t in counting(found, chance)}
for name, got in scores.items():
    best = max(got, key=got.get)
    print(f"{name:>10}: best {best} {got[best]:.2f}, full attention {got[FULL]:.2f}")
    assert got[FULL] > got[best] - 0.03
if len(scores) == 4:
    fast = [mean(pace[v]) for v in ("linear", "window, first token global")]
    assert min(fast) > 1.9 * mean(pace[FULL])
    FAR = ("block-sparse", "routing", "linear", "improved clustered", "disagreeing heads")
    assert min(scores[t][v] for t in ("copy", "retrieval") for v in FAR) > 0.98
    assert max(scores[t]["window, first token global"] for t in ("copy", "retrieval")) < 0.7
    lists = [right for v, right in scores["listops"].items() if v not in (BAG, "predicted window")]
    assert max(lists) - min(lists) < 0.03
    assert abs(scores["listops"][BAG] - 0.21) < 0.005
    letters = found["characters"]
    assert sum(not runs for runs in letters.values()) == 3
    assert {len(runs) for t in scores for runs in found[t].values()} == {0, 3}
    assert min(letters[FULL]) > max(letters["linear"]) > min(letters["linear"]) > max(letters[BAG])
    assert abs(mean(letters["routing"]) - mean(letters[BAG])) < 0.02

# %% [markdown]
# The best of each family, by its sum over the tasks that count. One seed chose who goes to the
# final; where sums are a few hundredths apart it ranks nobody:

# %%
found, chance = table(kept_rows("screening"))
useful, families = counting(found, chance), {}
for name, variant in long_variants.VARIANTS.items():
    if useful and all(found[t].get(name) for t in useful):
        score = sum(mean(found[t][name]) for t in useful)
        families.setdefault(variant.family, []).append((score, name))
for family, members in families.items():
    score, name = max(members)
    print(f"{family:>24}: {name}, {score:.2f} of {len(useful)}; the least {min(members)[0]:.2f}")
    assert name in FINAL

# %% tags=["fold"]
found, chance = table(kept_rows("screening") or live)
useful = counting(found, chance) or list(found)
quality = {}
for name in {v for t in useful for v in found[t]}:
    done = [t for t in useful if found[t].get(name)]
    gains = [(mean(found[t][name]) - chance[t]) / (1 - chance[t]) for t in done]
    if gains:
        quality[name] = mean(gains)
speeds = {name: times[name][4096] for name in quality if 4096 in times.get(name, {})}

# %% tags=["fold"]
figure = Figure(figsize=(6.4, 3.8))
axes = figure.add_subplot()
for name, speed in speeds.items():
    axes.plot(speed, quality[name], "o", color="#0072B2")
    left, below = name in ("block-sparse", "Nystrom", "memory-compressed"), name == "routing"
    axes.annotate(name, (speed, quality[name]), (-5 if left else 5, -9 if below else 3), fontsize=7,
                  textcoords="offset points", ha="right" if left else "left")  # fmt: skip
axes.set(xscale="log", xlabel="times as fast as full attention at 4,096 tokens")
axes.set(ylabel="share of what can be learned")
axes.set_xticks([0.25, 0.5, 1, 2, 4, 8, 16], ["1/4", "1/2", "1", "2", "4", "8", "16"])
axes.minorticks_off()
ends = ", ".join(f"{name} {quality[name]:.2f} at {speed:.1f}" for name, speed in speeds.items())
with_alt(figure, f"Quality on {', '.join(useful)} against speed at 4,096 tokens: "
         f"{ends or 'no kept numbers'}.")  # fmt: skip

# %% [markdown]
# *Up and to the right is better. Quality is that of the screening (one seed), (accuracy - chance) /
# (1 - chance), averaged over its tasks; speed is that of the table above, at a length where it
# shows.*

# %% [markdown]
# ## How it differs: the families in one table
#
# | family | leaves out | exact at | fails where | causal |
# |---|---|---|---|---|
# | [exact, in tiles](01_cost.ipynb) | nothing | always | time is short | yes |
# | [position](02_sparse_by_position.ipynb) | far keys | a window over all | few layers | most |
# | [content](03_sparse_by_content.ipynb) | unlike keys | one bucket | a hash errs | leaks |
# | [low rank](04_low_rank_and_features.ipynb) | sharp weights | all rows | sums by place | some |
# | [memories](05_prototypes_and_memories.ipynb) | details | a row a key | many answers | some |
# | [heads](06_head_variants.ipynb) | nothing | mixing nothing | time is short | most |
# | [priors](07_priors.ipynb) | nothing | a prior of 0 | time is short | most |
#
# *Leaks*: a mask is honoured, yet which keys meet is decided over the whole row
# ([page 5.3](03_sparse_by_content.ipynb)).
# [Positions](08_relative_positions.ipynb) are a choice of their own, and decide what happens beyond
# the training length.

# %% [markdown] tags=["slide"]
# ## The ladder, with its reasons
#
# 1. **Memory runs out?** Use the fused call, or tiles: exact, and memory in proportion to $n$.
#    Check that no hook, returned weights or dense mask prevents it.
# 2. **Fewer than about 2,000 tokens?** Full attention. The share of attention in a block is small
#    there, and Amdahl's law caps what anything else could save.
# 3. **Is what matters near, or in a few known places?** A window with a few global tokens. It is
#    the simplest, keeps softmax weights that can be looked at, and has published weights. It has a
#    causal form if the first tokens are global as keys only (attention sinks).
# 4. **Can a summary of the text answer?** (A topic, a tone; one vector for a whole.) Linformer,
#    Nystrom, Luna, at a fixed length, in an encoder.
# 5. **One token at a time, without end?** A linear attention: its state has a fixed size, where a
#    cache of keys grows.
# 6. **Must it find any one key of thousands?** Then exact attention, and patience. At our size, 16
#    keys in 256 tokens, several cheap ones find the key too (below). In print (Arora et al. 2023),
#    with more keys than a state can hold, that is what they lose first.
#
# What the screening says about the rungs, with one seed each, so that only wide gaps count:
#
# - **Near keys alone** fail both generated tasks of 256 tokens: two layers of 16 a side reach 32.
#   One global token fixes less than half of it, since all must pass through one row.
# - **Far keys by place** (strides, rows and columns, sums over places, tables, waves) copy: where
#   the answer stands is known beforehand. They cannot look up, since that is not known.
# - **By content**, whoever compares rows looks up: buckets, clusters, features, slots.
# - **BigBird** does both, and was lucky in one thing: its last block meets every key, and our
#   questions stand at the end.
# - **Copying is no proof of attention.** FNet, which has none, copies without a mistake.

# %%
found, _ = table(kept_rows("screening"))
NEAR, PLACE = ("window", "chunks"), ("strided", "axial", "Linformer", "random Synthesizer", "FNet")
CONTENT = ("routing", "LSH", "linear", "Performer", "Luna", "improved clustered")
if {"copy", "retrieval"} <= set(found):
    copied, looked_up = ({v: mean(a) for v, a in found[t].items()} for t in ("copy", "retrieval"))
    for group in (NEAR, PLACE, CONTENT):
        print(fill("; ".join(f"{v} {copied[v]:.2f}, {looked_up[v]:.2f}" for v in group), 88))
    assert max(copied[v] for v in NEAR) < 0.4
    assert max(looked_up[v] for v in (*NEAR, *PLACE)) < 0.3
    assert min(copied[v] for v in PLACE) > 0.95
    assert min(looked_up[v] for v in CONTENT) > 0.7
    one_global = copied["window, first token global"] - copied["window"]
    assert 0 < one_global < 0.5 * (copied[FULL] - copied["window"])
    assert min(copied["block-sparse"], looked_up["block-sparse"], copied["FNet"]) > 0.99

# %% [markdown]
# ## Why most of these are rarely used today
#
# - **Half of the problem was solved exactly.** Memory was what stopped people in 2020. Tiles took
#   the $n^2$ out of it, without a change to any published model.
# - **Amdahl.** At the lengths that most people train on, attention is not most of the block.
# - **The opponent got faster.** One fused kernel for graphics cards; gathers, sorts and small
#   products use such a card badly. A count of operations is not a time.
# - **Weights.** A published model was trained with softmax attention. An approximation must come
#   near enough to use its weights, or be trained anew.
# - **Decoders won.** A model that writes reads its cache one token at a time. Linformer, Nystrom
#   and BigBird have no causal form; buckets chosen by looking at the whole row know the future.
# - **What is lost**: a fixed budget of features, slots or near keys cannot hold every pair of a
#   long text, and looking things up is what many long texts are for.
#
# The first two are measured in this chapter, and what is lost in the race above. The others are
# general knowledge.
#
# What stayed: windows, often in some layers only, in models of 2023 and later; heads that share
# keys and values (multi-query), which shrink the cache; relative positions; and the running sum,
# in today's recurrent models. Selection by content came back, too, trained from the start and by
# blocks that suit GPUs: Native Sparse Attention (Yuan et al. 2025), MoBA (2025), and the indexer
# of DeepSeek-V3.2. (General knowledge, not measured here.)

# %% [markdown]
# ## In practice
#
# - Measure at *your* length, forward and backward, against the fused call, on your machine.
# - Put a bag of words beside every result on a long-range task.
# - Compare at equal time as well as at equal steps: they favor different methods.
# - Read what a mechanism refuses before you build on it: masks, causal use, a greatest length.

# %% [markdown]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. An attention is 20 times as fast at $n = 512$, $d = 256$. What does the block gain, at most?
#
#    <details><summary>Answer</summary>
#
#    Attention is a quarter of the block, so less than a third: $1 / 0.75 = 1.33$ at most.
#
#    </details>
# 2. Why does a bag of words race along?
#
#    <details><summary>Answer</summary>
#
#    A task that it learns does not need attention, so all attentions look equally good on it.
#
#    </details>
# 3. What is different between equal steps and equal time, and whom does each favor?
#
#    <details><summary>Answer</summary>
#
#    At equal steps a slow mechanism gets more time; at equal time a fast one gets more steps.
#
#    </details>
# 4. Why can a mechanism have an error above 1 and still learn a task?
#
#    <details><summary>Answer</summary>
#
#    The error compares it with the softmax on given rows. Trained from the start it need not be
#    like the softmax; its queries and keys adapt.
#
#    </details>
# 5. Which rung of the ladder changed nothing in the model's answers, and why does that matter?
#
#    <details><summary>Answer</summary>
#
#    The first: tiles are exact, so published weights work as they are.
#
#    </details>

# %% [markdown]
# ## Exercises
#
# 1. *(on paper, 4 min)* For $d = 1{,}024$ and $f = 10$: from which $n$ is the block at least twice
#    as fast?
#
#    <details><summary>Answer</summary>
#
#    $1 - s + s / 10 \le 1/2$ gives $s \ge 5/9$, and $s = n / (6144 + n)$ gives $n \ge 7{,}680$.
#
#    </details>
# 2. *(derive, 5 min)* A mechanism's time is $a n$, full attention's $b n^2$. At $n = 4{,}096$ it is
#    8 times as fast. At which length do they break even?
#
#    <details><summary>Answer</summary>
#
#    $b n / a = 8$ at 4,096, so it is 1 at $n = 512$.
#
#    </details>
# 3. *(measure, 15 min)* Race the window with sides of 4, 16 and 64 on `copying(128, 2000)`. At
#    which side does it begin to work, with two layers?
#
#    <details><summary>Answer</summary>
#
#    `long_range.LongModel(task, lambda layer: MultiHeadAttention(64, 4, mechanism=
#    WindowAttention(side, side)))` and `learn`. Two layers reach twice the side, so 64 can reach
#    the 120 tokens that copying asks for here, and 16 cannot.
#
#    </details>
# 4. *(extend, 20 min)* Enter an attention of your own: add it to `long_variants.VARIANTS`, and run
#    the screening with `--share 0.1`.
#
#    <details><summary>Answer</summary>
#
#    A `Variant("yours", "your.module", make)` with `make(module, task, layer)` returning a layer
#    with the signature of `MultiHeadAttention`. Only its rows are measured; the others are kept.
#
#    </details>

# %%
# The answers to 1 and 2, checked.
assert abs(speed_up(7680, 1024, 10) - 2) < 1e-9
assert 4096 / 8 == 512
print("answers 1 and 2 hold")

# %% [markdown]
# ## Summary
#
# What a faster attention saves is capped by its share of the block, which is small below some
# thousand tokens, and its opponent is one fused, exact call with memory in proportion to $n$.
# Judge a mechanism forward and backward, with its error beside that of saying nothing, and by what
# it learns where a bag of words fails. So ask in this order: does memory run out, is the text long,
# is the answer near, will a summary do, and only then choose.
#
# ## Further reading
#
# - Tay, Dehghani, Bahri, Metzler (2022), *Efficient Transformers: A Survey*: the families, and a
#   table of claimed complexities.
# - Nangia, Bowman (2018), *ListOps: A Diagnostic Dataset for Latent Tree Learning*.
# - Tay et al. (2021), *Long Range Arena: A Benchmark for Efficient Transformers*: tasks of 1,000 to
#   16,000 tokens, of which ours borrow one.
# - Dao, Fu, Ermon, Rudra, Ré (2022), *FlashAttention: Fast and Memory-Efficient Exact Attention
#   with IO-Awareness*.
# - Arora et al. (2023), *Zoology: Measuring and Improving Recall in Efficient Language Models*:
#   that recall is what they lose.

# %% [markdown] tags=["slide"]
# # From GPT-2 to Llama: what is each part worth?
#
# Between GPT-2 (2019) and Llama 2 (2023) parts of the decoder were exchanged: its norm, its
# positions, its feed-forward layer, its keys, its biases. Lists of such parts often come without
# numbers. Give each part the same number of operations: what is it worth, in nats a letter, and
# which is worth nothing?
#
# <small>Prerequisites: [say what comes next](01_gpt.ipynb),
# [residuals and norms](../02_transformer/09_residuals_norms.ipynb),
# [rotary positions](../05_efficient/08_relative_positions.ipynb) · 15 min · runs on a laptop;
# results of the long runs are included · book 6.1.3</small>

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
# %% Draw a layer, old or new tags=["fold"]
from deepdive_book.kit.diagrams import svg, text
from deepdive_book.kit.diagrams.layers import FIRST_STEP, LEFT, WIDE, Sublayer, norm_first
from deepdive_book.kit.frame_strip import film

FRAMES = {
    "GPT-2: positions are added below, layer norm before each sublayer, biases everywhere":
        ["learned positions, once", "12 heads, 12 key/value heads", "GELU, two matrices",
         "layer norm"],
    "the norm: RMS norm takes no mean away": ["", "", "", "RMS norm"],
    "the positions: queries and keys are turned in every layer, nothing is added":
        ["nothing added", "q and k turned", "", ""],
    "the feed-forward layer: a third matrix gates the units": ["", "", "SwiGLU, three", ""],
    "grouped-query attention: several query heads share keys and values (SmolLM2's numbers)":
        ["", "9 heads, 3 key/value heads", "", ""],
    "Llama: all of it, and no biases":
        ["nothing added", "turned, 9 heads, 3 key/value heads", "SwiGLU, three", "RMS norm"],
}  # fmt: skip


# %% One frame tags=["fold"]
def drawn(below, attention, feed, norm):
    """One layer, with a note at each part that a frame is about; its norm's name in the layer."""
    parts = [Sublayer("attention", "query", attention), Sublayer("feed-forward", "value", feed)]
    x, y = WIDE / 2 + LEFT + 14, FIRST_STEP * 2 + 16
    below = text(x, y + 14, f"tokens, {below}" if below else "tokens", 14)
    return svg(440, y + 30, [*norm_first(x, y, parts, norm or "norm"), below])


# %% From GPT-2's layer to Llama's tags=["slide", "fold"]
film([drawn(*notes) for notes in FRAMES.values()], list(FRAMES),
     "Six frames of one layer of a decoder: attention below, feed-forward above, a norm before "
     "each and a sum behind it; notes beside the parts say what was exchanged.")  # fmt: skip

# %% [markdown]
# *Go through the frames. At a plus the sublayer's result is added to what it was given.*

# %% [markdown] tags=["slide"]
# ## By hand: two norms of one row
#
# The row is $(1, 7)$. **Layer norm** takes the mean away, 4, then divides by the root of the mean
# square of what is left: $(-3, 3) / 3 = (-1, 1)$. **RMS norm** takes nothing away: the mean square
# is $(1 + 49) / 2 = 25$, its root 5, so the row becomes $(0.2, 1.4)$. Both forget how large the
# numbers were together; layer norm forgets their mean too.

# %% Move the numbers tags=["fold"]
from deepdive_book.ch06a.figures.layernorm_vs_rmsnorm import layernorm_vs_rmsnorm

layernorm_vs_rmsnorm([1, 7, 4, 0])

# %% [markdown]
# *Bars above the line are positive. Each norm has a learned factor for each number behind it, here
# 1.*
#
# 1. Press "all one more" a few times. Which norm does not notice?
# 2. Take a row whose numbers sum to 0. What do you see?
# 3. Set all four numbers to the same value above 0.
#
# <details><summary>Answers to the three tasks</summary>
#
# 1. Layer norm: the mean goes away with the shift.
# 2. Both norms agree: there is no mean to be taken away.
# 3. Layer norm finds no spread and says 0; RMS norm says 1 for each.
#
# </details>

# %% Check the sum, and that both are the library's tags=["fold", "nbval-check-output"]
import torch

from deepdive.core import LayerNorm, RMSNorm

row = torch.tensor([1.0, 7.0])
assert torch.allclose(LayerNorm(2, 0.0)(row), torch.tensor([-1.0, 1.0]))
assert torch.allclose(RMSNorm(2, 0.0)(row), torch.tensor([0.2, 1.4]))
print("(1, 7): layer norm (-1, 1), RMS norm (0.2, 1.4)")

# %% [markdown]
# ## The gate
#
# GPT-2's feed-forward layer is $W_2\, \mathrm{gelu}(W_1 x)$. SwiGLU (Shazeer 2020) has one more
# matrix: $W_2 (\mathrm{silu}(W_g x) \cdot W_1 x)$, number by number, where $\mathrm{silu}(a) = a /
# (1 + e^{-a})$. Each number is multiplied by its gate, near 0 where $W_g x$ is far below 0. Three
# matrices hold as many weights as two if each has two thirds of the units.

# %% One unit, its gate moved tags=["fold"]
import torch.nn.functional as F

from deepdive_book.kit.tables import table

gates = [-4.0, -1.0, 0.0, 1.0, 4.0]
table([{"$W_g x$": a, "$W_1 x$": 2.0, "passes": float(F.silu(torch.tensor(a)) * 2)} for a in gates],
      formats={"passes": ".2f"}, caption="one unit whose own number is 2")  # fmt: skip

# %% [markdown] tags=["slide"]
# ## The rules of the table
#
# | | each run |
# |---|---|
# | text | letters of tinyshakespeare: nine tenths to learn from, a twentieth for the test |
# | decoder | nanoGPT's for a processor: 4 layers, 128 wide, 4 heads, 64 letters, no biases |
# | operations | those of 2,000 of its steps, forward and backward, counted as they run |
# | rate | 0.001 for all, as in nanoGPT; five rows once more with 0.004 |
# | seeds | five, three at 0.004; a part is compared with nanoGPT's decoder at the same seed |
# | claim | the 95% interval of the difference (Student's t over the seeds) leaves out 0 |
#
# The rows at 0.001, and nanoGPT's own at 0.004, were written down before the first run; three more
# at 0.004 were added when the first seed was seen, and ReLU's when all the others were known. The
# test chose nothing.

# %% Two runs here, all others kept tags=["fold"]
import json

from deepdive_book.ch06a.runs import decoder_ablations
from deepdive_book.ch06a.runs.decoder_challenge import paired, verdict
from deepdive_book.kit.experiments import results_path, share, sweep
from deepdive_book.kit.profile import banner, pick, profile

real, live = profile() != "ci", profile() != "experiment"
play = (decoder_ablations.shakespeare() if real
        else decoder_ablations.cut("to be or not to be, that is " * 400))  # fmt: skip
print(banner("tinyshakespeare (real)" if real else "one line again and again (generated)"))


def measure(part, seed, of):
    return decoder_ablations.row(play, part, seed, of)


# %% The kept rows tags=["fold"]
ROWS = list(decoder_ablations.PARTS)
FAST = [part + decoder_ablations.FASTER
        for part in ("nanoGPT", "rotary positions", "SwiGLU", "ReLU", "Llama's form")]  # fmt: skip
points = [{"part": part, "seed": seed, "of": round(share() * decoder_ablations.STEPS)}
          for parts, seeds in ((ROWS, 5), (FAST, 3))
          for seed in range(seeds) for part in parts]  # fmt: skip
path = results_path("06a_text", "records")
if live:
    rows = json.loads(path.read_text())["rows"] if path and path.is_file() else []
else:
    rows = sweep(measure, points, path, data="tinyshakespeare")

# %% tags=["fold"]
if live:
    here = {part: measure(part, 0, pick(ci=3, laptop=60, gpu=200)) for part in ROWS[:3:2]}
    table([{"part": part, "steps": row["steps"], "nats on the test": row["test"]}
           for part, row in here.items()], caption="a few steps, run here")  # fmt: skip

# %% tags=["fold"]
from deepdive_book.kit.predictions import predict

predict(
    "Three of these lower the loss at nanoGPT's rate. Which one does not?",
    ["RMS norm", "rotary positions", "SwiGLU", "two key/value heads in the place of four"],
    answer=0,
    explain="Its interval is the only one of the four that has 0 in it. That is no proof that RMS "
    "norm is worth nothing: a difference of a few thousandths would not show here.",
    key="06a_text/records",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% The records table tags=["slide", "fold"]
shown = []
for part in ROWS if rows else []:
    mine = [row for row in rows if row["part"] == part]
    line = {"part": part, "steps": mine[0]["steps"],
            "nats on the test": sum(row["test"] for row in mine) / len(mine)}  # fmt: skip
    if part != "nanoGPT":
        line["difference"] = paired(rows, part)
        line["so"] = verdict(line["difference"])
    shown.append(line)
table(shown or [{"part": "no kept file here"}],
      formats={"nats on the test": ".3f", "difference": ".3f"} if shown else None,
      caption="five seeds; differences to nanoGPT's own, with 95 % intervals")  # fmt: skip

# %% [markdown]
# RMS norm is worth nothing that this table could see, to a few thousandths of a nat. Rotary
# positions are worth 0.100 nats, SwiGLU 0.081. Two key/value heads come out ahead with 2,163 steps,
# which their lower cost buys; with 2,000 they were not measured. Biases, and an output matrix of
# its own, show nothing either way.
#
# The row that surprises is the plainest. ReLU, which is $\max(0, a)$, gains 0.078 in the place of
# GELU; that SwiGLU gains more with its third matrix, the next table cannot show. The square of
# ReLU gains 0.090. Keep ReLU's row in mind.

# %% SwiGLU against ReLU, and rotary positions against SwiGLU tags=["fold"]
pairs = [("SwiGLU", "ReLU"), ("squared ReLU", "ReLU"), ("rotary positions", "SwiGLU")]
table([{"part": part, "against": base, "difference": (gap := paired(rows, part, base=base)),
        "so": verdict(gap)} for part, base in pairs] if rows else [{"part": "no kept file here"}],
      formats={"difference": ".3f"} if rows else None,
      caption="nats on the test, the same five seeds, with 95 % intervals")  # fmt: skip

# %% On the whole of the last tenth, as nanoGPT's README counts tags=["fold"]
both = {part: [(row["chosen"] + row["test"]) / 2 for row in rows if row["part"] == part]
        for part in ("nanoGPT", "Llama's form")}  # fmt: skip
for part, each in both.items():
    print(f"{part}: {min(each):.2f} to {max(each):.2f} nats a letter" if each else "no kept file")

# %% [markdown]
# Those are the losses on the whole last tenth, from the best to the worst of five seeds. For this
# budget the author of nanoGPT reports 1.88 nats (its README, 20 batches of that tenth), which none
# of these five reaches.

# %% [markdown]
# ### On a card
#
# nanoGPT's README reports 1.4697 nats on a graphics card, its best estimate on that tenth: six
# layers, 384 wide, 256 letters of context, 5,000 steps. GPT-2's decoder of this library, which has
# biases, with those settings, three runs at once on an H200:

# %% nanoGPT's settings for a card, run on one tags=["fold"]
file = results_path("06a_text", "on_a_card")
if profile() == "experiment" and torch.cuda.is_available():
    from deepdive_book.ch06a.runs import gpu_run

    sweep(lambda seed: gpu_run.run(play, seed, device="cuda"), [{"seed": n} for n in range(3)],
          file, data="tinyshakespeare")  # fmt: skip
cards = json.loads(file.read_text())["rows"] if file and file.is_file() else []
table([{"seed": row["seed"], "first half": row["chosen"], "second half": row["test"],
        "last tenth": (row["chosen"] + row["test"]) / 2, "minutes": row["seconds"] / 60}
       for row in cards] or [{"seed": "no kept file here"}],
      formats=dict.fromkeys(("first half", "second half", "last tenth"), ".3f") | {"minutes": ".1f"}
      if cards else None, caption="nats a letter; the first half chose when to stop")  # fmt: skip

# %% [markdown]
# On the whole tenth that is 1.467 to 1.484, from the best to the worst of three seeds. The first
# half has the lower loss with each seed mainly because its text is easier to predict: early
# stopping on it explains hundredths of a nat, and the halves differ by more than a tenth.

# %% [markdown] tags=["slide"]
# ## The same table at four times the rate
#
# One number was the same for all: the learning rate, 0.001. nanoGPT sets it for a decoder three
# times as wide and a longer run. Take 0.004.

# %% tags=["fold"]
predict(
    "nanoGPT's own decoder at four times the rate: how much does it gain?",
    ["nothing", "a third of what rotary positions gave", "as much as rotary positions gave",
     "more than all of Llama's parts together"],
    answer=2,
    explain="A rate that is too low for the budget looks like a poor architecture. Compare "
    "parts at the best rate of each, or say at which rate they were compared.",
    key="06a_text/records-rate",
)  # fmt: skip

# %% [markdown] tags=["answer"]
# #### Answer: open after you predict

# %% Five of the rows at 0.004 tags=["slide", "fold"]
shown = []
for part in FAST if rows else []:
    mine = [row["test"] for row in rows if row["part"] == part]
    line = {"part": part.removesuffix(decoder_ablations.FASTER),
            "nats on the test": sum(mine) / len(mine)}  # fmt: skip
    line["to nanoGPT at 0.001"] = paired(rows, part)
    if part != FAST[0]:
        line["to nanoGPT at 0.004"] = paired(rows, part, base=FAST[0])
    shown.append(line)
fine = dict.fromkeys(("nats on the test", "to nanoGPT at 0.001", "to nanoGPT at 0.004"), ".3f")
table(shown or [{"part": "no kept file here"}], formats=fine if shown else None,
      caption="three seeds at a rate of 0.004; differences with their 95 % intervals")  # fmt: skip

# %% [markdown]
# The rate alone is worth about as much as rotary positions were. And at that rate the parts are
# worth a fraction of what they seemed to be: of ReLU's 0.078 nothing is left that three seeds could
# show, and Llama's form ends at 1.771, where it had 1.738 at 0.001. So "this part is worth a tenth
# of a nat" says something of a part and a rate, never of a part alone. (What each part is worth at
# its own best rate was not measured.)

# %% [markdown] tags=["aside"]
# ## Challenge the table
#
# A part of your own, in a file `my_parts.py`:
#
# ```python
# from deepdive.core import FeedForward, gelu_tanh
# from deepdive_book.ch06a.runs.decoder_ablations import D_MODEL
#
# PARTS = {"wider": {"ff": lambda: FeedForward(D_MODEL, 6 * D_MODEL, gelu_tanh, bias=False)}}
# ```
#
# ```text
# python -m deepdive_book.ch06a.runs.decoder_challenge my_parts.py
# ```
#
# Two times three runs of a few minutes each: yours, and nanoGPT's decoder on your machine. It says
# what the difference is, with its interval, and whether that leaves out 0. The operations are
# counted, so this wider layer gets fewer steps.

# %% What may be exchanged tags=["fold"]
import inspect

said = inspect.signature(decoder_ablations.decoder).parameters
print(", ".join(name for name in said if name != "vocab_size"))

# %% [markdown] tags=["aside"]
# ## How it differs
#
# - a norm divides by the root mean square, and takes no mean away (`RMSNorm`)
# - rotary position embeddings (RoPE): nothing is added to the embeddings for a position; queries
#   and keys are rotated (`RotaryPosition`)
# - SwiGLU: each unit of the feed-forward layer is multiplied by SiLU of a second projection
#   (`GatedFeedForward`); SiLU is near 0 for negative inputs and grows like the input for positive
#   ones
# - grouped-query attention (GQA): several query heads share keys and values (`n_kv_heads`), so the
#   cache is smaller by that factor
# - no layer has a bias, and the output layer may have a matrix of its own (`tied`)
#
# `deepdive.models.generative.llama` is some 40 lines of code; tests hold it to transformers'
# `LlamaForCausalLM`, logits and gradients, cached and not, and so for the variants in the next
# table.

# %% [markdown] tags=["aside"]
# ## How GPT-2, Llama, Mistral, Qwen, and Gemma differ
#
# | | norm | position | attention | biases | QK-norm | feed-forward | scaled | tied |
# |---|---|---|---|---|---|---|---|---|
# | GPT-2 (124M) | layer norm | learned | MHA, 12 | all layers | no | GELU | no | yes |
# | Llama 2 7B | RMS norm | RoPE, 10,000 | MHA, 32 | none | no | SwiGLU | no | no |
# | Llama 3.1 8B | RMS norm | RoPE, 500,000, scaled | GQA, 32:8 | none | no | SwiGLU | no | no |
# | Mistral 7B v0.1 | RMS norm | RoPE, 10,000 | GQA, 32:8, window | none | no | SwiGLU | no | no |
# | Qwen2 0.5B | RMS norm | RoPE, 1,000,000 | GQA, 14:2 | q, k, v | no | SwiGLU | no | yes |
# | Qwen3 0.6B | RMS norm | RoPE, 1,000,000 | GQA, 16:8 | none | yes | SwiGLU | no | yes |
# | Gemma 2B | RMS norm, $1 + w$ | RoPE, 10,000 | MQA, 8:1 | none | no | GeGLU | yes | yes |
#
# - **position**: RoPE with the base of its frequencies. Llama 3.1 also scales the low frequencies
#   down, for longer contexts.
# - **attention**: the number of query heads, and of key/value heads where they are fewer. In
#   multi-head attention (MHA) each query head has its own keys and values, in GQA a group shares
#   them, and in multi-query attention (MQA) all heads do. With a **sliding window** a query attends
#   only to the last 4,096 keys; more layers still let it reach further back.
# - **QK-norm**: each head's queries and keys are normalized before they are rotated.
# - **scaled**: the embeddings are multiplied by $\sqrt{d_\mathrm{model}}$. **tied**: the output
#   layer is the embedding matrix. Larger sizes of one family may differ: Llama 2 70B has GQA, and
#   Qwen2 7B and Qwen3 8B have an output matrix of their own.
#
# All but GPT-2 are the same code: `LlamaConfig` has `norm`, `base` and `scaling` (position),
# `n_kv_heads` and `window` (attention), `qkv_bias` and `out_bias`, `qk_norm`, `activation` (of the
# gate), `embedding` (scaled or not) and `tied`, and `deepdive.published.load` reads these fields
# from a checkpoint's config.json.
#
# Sources: Radford et al. (2019), section 2.3; Touvron et al. (2023b, Llama 2), section 2.2;
# Grattafiori et al. (2024, Llama 3), section 3.2; Jiang et al. (2023, Mistral), section 2; Yang et
# al. (2024, Qwen2), section 2.2.1; Yang et al. (2025, Qwen3), section 2; Gemma Team (2024), section
# 2. The factor $1 + w$ and the scaling are in Gemma's released code, the scaled frequencies in that
# of Llama 3.1; tied matrices, bases, and head counts are in each model's config.json.

# %% What sharing keys saves tags=["fold", "nbval-check-output"]
from deepdive.models.generative.llama import SMOLLM2

per_token = {name: 2 * SMOLLM2.n_layers * heads * SMOLLM2.width * 4 / 1e3
             for name, heads in {"9 key heads": 9, "3 key heads": 3}.items()}  # fmt: skip
table([{"SmolLM2": name, "cache of a token (kB)": size, "of 2,048 tokens (MB)": size * 2.048}
       for name, size in per_token.items()], formats={"of 2,048 tokens (MB)": ".0f"},
      caption="keys and values of 30 layers in float32")  # fmt: skip

# %% [markdown] tags=["aside"]
# ## In practice
#
# - **Count operations, not steps.** Shared keys cost less, so they buy more steps.
# - **Tune the rate before you compare.** It is the cheapest part to exchange.
# - **A test chooses nothing.** Choose by another part of the text, and open the test once.
# - **Three seeds are few.** Student's factor is 4.3 with three and 2.8 with five; a difference that
#   the interval does not show may still be there.

# %% [markdown] tags=["aside"]
# ## Check your understanding
#
# Answer each in a sentence, then open.
#
# 1. What does layer norm forget of a row that RMS norm keeps?
#
#    <details><summary>Answer</summary>
#
#    Its mean: a number that is added to all of them is gone.
#
#    </details>
# 2. Why has a gated layer two thirds of the units?
#
#    <details><summary>Answer</summary>
#
#    It has three matrices in the place of two; so the weights, and the operations, are as many.
#
#    </details>
# 3. Why do the rows of the table have different numbers of steps?
#
#    <details><summary>Answer</summary>
#
#    Each gets the same operations; a part that multiplies less is given more steps.
#
#    </details>
# 4. Why is a part compared with the base decoder at the same seed?
#
#    <details><summary>Answer</summary>
#
#    Both then read the same stretches in the same order: what the draw gives or takes, it does to
#    both.
#
#    </details>
# 5. What do shared keys save, besides a few operations?
#
#    <details><summary>Answer</summary>
#
#    Memory in decoding: the cache holds keys and values of every token, and is a third as large
#    with a third of the heads.
#
#    </details>

# %% [markdown] tags=["aside"]
# ## Exercises
#
# 1. *(pencil, 3 min)* What do both norms make of $(2, 14)$? And of $(3, 9)$?
#
#    <details><summary>Answer</summary>
#
#    $(2, 14)$ is $(1, 7)$ doubled: the same as before. $(3, 9)$ has mean 6 and spread 3: layer norm
#    $(-1, 1)$; its mean square is 45, so RMS norm says $(0.45, 1.34)$.
#
#    </details>
# 2. *(pencil, 5 min)* A layer 512 wide has a feed-forward layer of 2,048 units. How many units has
#    a gated one with as many weights?
#
#    <details><summary>Answer</summary>
#
#    $2 \cdot 512 \cdot 2048 / (3 \cdot 512) = 1365$; one takes a multiple of 8 or so.
#
#    </details>
# 3. *(measure, 30 min of machine time)* Is GELU's gate (`GatedFeedForward` with `gelu`) as good as
#    SwiGLU's?
#
#    <details><summary>Answer</summary>
#
#    Write it as a part, and challenge the table; say the interval, and at which rate.
#
#    </details>

# %% Answers 1 and 2, checked tags=["fold"]
assert torch.allclose(
    RMSNorm(2, 0.0)(torch.tensor([3.0, 9.0])), torch.tensor([0.45, 1.34]), atol=0.01
)
assert round(2 * 512 * 2048 / (3 * 512)) == 1365
print("answers 1 and 2 hold")

# %% [markdown] tags=["slide"]
# ## Summary
#
# By five seeds and equal operations, at nanoGPT's rate, rotary positions lower the loss by 0.100
# nats a letter, SwiGLU by 0.081, ReLU alone by 0.078, shared keys, with the steps that they buy,
# by 0.017, and all of Llama's parts together by 0.198; RMS norm and biases show no difference. At
# four times the rate nanoGPT's own decoder gains 0.110 by itself, and there rotary positions are
# worth 0.029, SwiGLU 0.018 and ReLU nothing that shows. So today's decoder is ahead at both rates,
# RMS norm shows no worth at the one rate where it was measured, and a part has a worth only
# together with a rate.
#
# ## Further reading
#
# - Touvron et al. (2023), [*LLaMA: Open and Efficient Foundation Language
#   Models*](https://arxiv.org/abs/2302.13971): section 2.2, norm, positions and feed-forward layer.
#   Shared keys came with the largest models of Llama 2.
# - Zhang and Sennrich (2019), *Root Mean Square Layer Normalization*.
# - Shazeer (2020), *GLU Variants Improve Transformer*: "we offer no explanation".
# - So et al. (2021), *Primer*: the square of ReLU.
# - Ainslie et al. (2023), *GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
#   Checkpoints*.
# - Karpathy, [nanoGPT](https://github.com/karpathy/nanoGPT): the run that the table begins with.

# %% [markdown] tags=["slide"]
# # Chapter 6a: Language models: one question, asked a billion times
#
# "To be, or not to ..." A language model is a decoder trained to predict the next token, and
# nothing else. Yet such models translate, summarize, count, and answer questions. What has changed
# in the decoder since GPT, what does each change contribute, and what can a model do that it was
# never trained for?
#
# <small>Prerequisites: [the decoder](../02_transformer/12_decoder.ipynb),
# [decoding](../02_transformer/14_decoding.ipynb) · 2 min · whole chapter: 3 h reading + 2 h
# exercises · book 6.1</small>

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
# %% A small model's prediction tags=["fold", "nbval-check-output"]
from deepdive_book.ch06a.figures.gpt2_generation import candidates
from deepdive_book.ch06a.toys.next_letters import next_letters
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

BEGUN = "To be, or not to "
toy = next_letters()
probabilities = list(candidates(toy, BEGUN).items())[:7]
body = [text(96, 92, BEGUN, 18), text(184, 92, "?", 18, "output", bold=True)]
for i, (character, probability) in enumerate(probabilities):
    y = 20 + 24 * i
    body += [
        text(232, y, {" ": "space", "\n": "new line"}.get(character, character), 16),
        f'<rect x="262" y="{y - 9}" width="{260 * probability:.1f}" height="18" '
        f'fill="{ROLES["output"]}"/>',
        text(262 + 260 * probability + 24, y, f"{probability:.0%}", 13),
    ]
show(
    svg(430, 184, body),
    "The prompt 'To be, or not to', a question mark, and seven bars: the probabilities of the seven "
    "most likely next characters under a small model.",
)

# %% [markdown]
# *Probability of the next character after "To be, or not to ", from a small language model trained
# on Shakespeare's plays.*
#
# **What it covers.** GPT and the changes that lead to Llama, 4-bit **quantization**, **denoising**
# objectives, **sampling**, scaling laws, **in-context learning**, **summarization**, and adaptation
# with LoRA.
#
# **What you'll be able to do.** Implement and train a GPT, add RMSNorm, RoPE, SwiGLU, and
# grouped-query attention one at a time, quantize weights to four bits, sample with temperature,
# top-k, and top-p, fit a scaling law, build a few-shot prompt, and evaluate a summary.
#
# Read 6a.1 first. 6a.2 and 6a.6 continue with its model, 6a.7 uses the 4-bit model of 6a.3, and
# 6a.8 follows 6a.4. 6a.5 and 6a.9 can be read separately.
#
# The data are Shakespeare's plays (tinyshakespeare), Wikipedia articles (wikitext2), movie reviews,
# abstracts, topic classification (sib200), and doctor-patient conversations. The pretrained model
# is SmolLM2-135M, installed as a package. Without a network a page uses generated text and says so.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 6a.1 | [GPT](01_gpt.ipynb) | What does next-token prediction learn? | 17 |
# | 6a.2 | [From GPT-2 to Llama](02_gpt2_to_llama.ipynb) | How much does each new part help? | 25 |
# | 6a.3 | [4-bit quantization](03_quantization.ipynb) | How much accuracy do four bits cost? | 16 |
# | 6a.4 | [Denoising objectives (BART, T5, PEGASUS)](04_denoising.ipynb) | Which corruption is best for pretraining? | 20 |
# | 6a.5 | [Sampling from a language model](05_sampling.ipynb) | Why not always take the most likely token? | 17 |
# | 6a.6 | [Scaling laws](06_scaling.ipynb) | How should you divide a compute budget? | 25 |
# | 6a.7 | [In-context learning](07_in_context.ipynb) | What does the model use from its demonstrations? | 25 |
# | 6a.7b | [More experiments](07b_in_context_more.ipynb) | Which heads copy? | 8 |
# | 6a.8 | [Summarization](08_summaries.ipynb) | Does ROUGE detect false statements? | 18 |
# | 6a.9 | [LoRA and domain adaptation](09_lora.ipynb) | What else does fine-tuning change? | 17 |
#
# In a hurry? Read 6a.1. The chapter ends with [exercises](exercises.ipynb) and a [bug
# clinic](clinic.ipynb).

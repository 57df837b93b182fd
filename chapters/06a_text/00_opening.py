# %% [markdown] tags=["slide"]
# # Chapter 6a: Language models: one question, asked a billion times
#
# "To be, or not to ..." A decoder is trained to say what comes next, and nothing else. Out of this
# came models that translate, sum up, count and answer. Which parts does today's decoder have that
# the first had not, what is each of them worth, how does such a model fit into 98 MB, and what can
# it do that nobody taught it?
#
# <small>Prerequisites: [the decoder](../02_transformer/12_decoder.ipynb),
# [decoding](../02_transformer/14_decoding.ipynb) · 2 min · whole chapter: 2½ h reading + 2 h
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
# %% A small model's guess tags=["fold", "nbval-check-output"]
from deepdive_book.ch06a.figures.gpt2_generation import candidates
from deepdive_book.ch06a.toys.next_letters import next_letters
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

BEGUN = "To be, or not to "
toy = next_letters()
shares = list(candidates(toy, BEGUN).items())[:7]
body = [text(96, 92, BEGUN, 18), text(184, 92, "?", 18, "output", bold=True)]
for i, (letter, share) in enumerate(shares):
    y = 20 + 24 * i
    body += [
        text(232, y, {" ": "blank", "\n": "new line"}.get(letter, letter), 16),
        f'<rect x="262" y="{y - 9}" width="{260 * share:.1f}" height="18" '
        f'fill="{ROLES["output"]}"/>',
        text(262 + 260 * share + 24, y, f"{share:.0%}", 13),
    ]
show(
    svg(430, 184, body),
    "The words To be, or not to, a question mark, and seven bars: how probable a small model finds "
    "each of the seven likeliest next letters.",
)

# %% [markdown]
# *A small model, trained on Shakespeare letter by letter, and what it expects next.*
#
# 6a.1 builds the first GPT and asks what it has learned. 6a.2 puts today's parts in, one at a time,
# and measures each. 6a.3 reads a published model whose weights have four bits, and lets it speak.
# 6a.4 lets an encoder and a decoder undo damage, and asks which damage teaches most. 6a.5 asks
# how the next word is chosen, and what each rule cuts off. 6a.6 trains many small models, and asks
# what they say of a large one. 6a.7 changes no weight, and asks what a model takes from the text in
# front of it. 6a.8 makes true summaries false, and asks whether their scores tell. 6a.9 tunes a
# finished model, and asks what else changes with it.
#
# Real text is Shakespeare's plays (tinyshakespeare), articles of Wikipedia (wikitext2), film
# reviews, abstracts, sentences of seven topics (sib200), and talks of doctors with patients; the
# published model is SmolLM2-135M, which comes inside a package. Where a page has no network and no
# data, it works on generated text, and says so.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 6a.1 | [GPT](01_gpt.ipynb) | What does guessing letters teach? | 17 |
# | 6a.2 | [From GPT-2 to Llama](02_gpt2_to_llama.ipynb) | Which new part helps? | 15 |
# | 6a.3 | [4-bit quantization](03_quantization.ipynb) | What do bits cost? | 16 |
# | 6a.4 | [Denoising objectives (BART, T5, PEGASUS)](04_denoising.ipynb) | What should be hidden? | 20 |
# | 6a.5 | [Sampling from a language model](05_sampling.ipynb) | Why not take the likeliest? | 17 |
# | 6a.6 | [Scaling laws](06_scaling.ipynb) | Where does money go? | 20 |
# | 6a.7 | [In-context learning](07_in_context.ipynb) | What is learned? | 17 |
# | 6a.7b | [More experiments: in-context learning](07b_in_context_more.ipynb) | Which heads copy? | 8 |
# | 6a.8 | [Summarization](08_summaries.ipynb) | What does ROUGE see? | 18 |
# | 6a.9 | [LoRA and domain adaptation](09_lora.ipynb) | What else changes? | 17 |
#
# In a hurry? Read 6a.1. After the pages come [exercises](exercises.ipynb) and a [bug
# clinic](clinic.ipynb).

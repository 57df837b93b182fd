# %% [markdown] tags=["slide"]
# # Chapter 6c: Speech Transformers: a sentence without spaces
#
# A recording has no letters in it, and nothing marks where a word ends: speakers pause inside
# words, and run others together. Somebody wrote down what was said, but nobody wrote down when.
# What do you hand to a Transformer, how does it learn to write, and what can it learn from hours of
# speech that nobody wrote down?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb),
# [the decoder](../02_transformer/12_decoder.ipynb), [hidden words](../03_bert/03_masking.ipynb) ·
# 2 min · whole chapter: 1½ h reading + 2 h exercises · book 6.3 and 6.8</small>

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
# %% A generated recording tags=["fold"]
from deepdive.audio.mel import log_mel
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.diagrams import ROLES, svg, text
from deepdive_book.kit.plotting import show

spoken = voices(1, seed=12, length=2)
wave, words = spoken.waves[0], spoken.words[0].split()
WIDE, LEFT = 420, 66


def at(sample):
    """Where a sample stands in the drawing."""
    return LEFT + (WIDE - LEFT - 6) * sample / len(wave)


def line(top, high):
    """The wave as one line, as high as there is room."""
    middle = [top + high / 2 * (1 - sample / abs(wave).max()) for sample in wave[::6]]
    points = [f"{at(6 * i):.1f} {y:.1f}" for i, y in enumerate(middle)]
    return f'<path d="M{"L".join(points)}" fill="none" stroke="currentColor" stroke-width="0.8"/>'


# %% Draw it tags=["slide", "fold", "nbval-check-output"]
bands = log_mel(wave, spoken.rate, 12)
full = (bands - bands.max() + 9).clamp(min=0) / 9
body = [text(31, 40, "the wave", 13), line(10, 60), text(31, 108, "12 bands", 13)]
for t in range(0, len(full), 2):
    for j, share in enumerate(full[t].tolist()):
        body.append(
            f'<rect x="{at(80 * t):.1f}" y="{137 - 5 * j:g}" width="{at(160) - LEFT + 0.3:.1f}" '
            f'height="5" fill="{ROLES["key"]}" fill-opacity="{share:.2f}"/>'
        )
body += [text(31, 165, "sounds", 13), text(31, 192, "text", 13)]
phones = spoken.phones[0]
for phone in phones:
    if phone.name != "_":
        body.append(text((at(phone.first) + at(phone.last)) / 2, 165, phone.name, 12, "query"))
gaps = [phone for phone in phones if phone.name == "_"]
for word, before, after in zip(words, gaps, gaps[1:], strict=False):
    body.append(text((at(before.last) + at(after.first)) / 2, 192, word, 14, bold=True))
show(
    svg(WIDE, 206, body),
    "A generated recording of two digits from top to bottom: the waveform, twelve mel bands over "
    "time, the sounds below their places, and the two words as text.",
)

# %% [markdown]
# *Generated speech, in which each sound's place is known: the wave, what is loud in it, its sounds
# (IH as in "sit", UW as in "two"), its text. The gap before the last S is inside a word. Whoever
# writes down real speech gives the last line, and no more.*
#
# 6c.1 shows what one hands to a Transformer, 6c.2 and 6c.5 two ways in which it learns to write.
# 6c.3 and 6c.4 ask what it can learn from speech that nobody wrote down, and 6c.6 listens to you.
#
# Three sets of recordings are real: AN4, in which people spell and say numbers (as features,
# without waveforms), spoken digits (FSDD), and sentences that one reader reads (LJ Speech). Where a
# page has no network, it works on generated speech like that above, and says so.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 6c.1 | [Speech features](01_waveform.ipynb) | What of a sound is kept? | 16 |
# | 6c.2 | [CTC](02_ctc.ipynb) | Who marks the letters? | 18 |
# | 6c.3 | [wav2vec 2.0](03_wav2vec2.ipynb) | What can unlabeled sound teach? | 15 |
# | 6c.4 | [HuBERT](04_hubert.ipynb) | Are found units sounds? | 15 |
# | 6c.5 | [Speech2Text, Whisper, Conformer](05_alignment.ipynb) | Where does each letter listen? | 16 |
# | 6c.6 | [Spoken-digit recognition](06_spoken_digit.ipynb) | Which digit did you say? | 12 |
#
# In a hurry? Read 6c.1, where you can hear what a recognizer keeps of a recording, and 6c.6.
#
# After the pages come [exercises](exercises.ipynb) and a [bug clinic](clinic.ipynb).

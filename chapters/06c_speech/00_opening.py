# %% [markdown] tags=["slide"]
# # Chapter 6c: Speech Transformers: a sentence without spaces
#
# Speech has no spaces: people pause inside words and run others together. A **transcript** records
# what was said, but not when. What is the input of a speech Transformer, how does it learn to
# transcribe without an alignment, and what can it learn from hours of audio without transcripts?
#
# <small>Prerequisites: [the encoder](../02_transformer/11_encoder.ipynb),
# [the decoder](../02_transformer/12_decoder.ipynb), [MLM](../03_bert/03_masking.ipynb) · 2 min ·
# whole chapter: 2 h reading + 2 h exercises · book 6.3 and 6.8</small>

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
WIDE, LEFT = 426, 74


def at(sample):
    """The x coordinate of a sample."""
    return LEFT + (WIDE - LEFT - 6) * sample / len(wave)


def waveform(top, height):
    """The waveform as one SVG path of a given height."""
    ys = [top + height / 2 * (1 - sample / abs(wave).max()) for sample in wave[::6]]
    points = [f"{at(6 * i):.1f} {y:.1f}" for i, y in enumerate(ys)]
    return f'<path d="M{"L".join(points)}" fill="none" stroke="currentColor" stroke-width="0.8"/>'


# %% Waveform, mel bands, phones, words tags=["slide", "fold", "nbval-check-output"]
bands = log_mel(wave, spoken.rate, 12)
full = (bands - bands.max() + 9).clamp(min=0) / 9
body = [text(36, 40, "waveform", 13), waveform(10, 60), text(36, 108, "mel bands", 13)]
for t in range(0, len(full), 2):
    for j, level in enumerate(full[t].tolist()):
        body.append(
            f'<rect x="{at(80 * t):.1f}" y="{137 - 5 * j:g}" width="{at(160) - LEFT + 0.3:.1f}" '
            f'height="5" fill="{ROLES["key"]}" fill-opacity="{level:.2f}"/>'
        )
body += [text(36, 165, "phones", 13), text(36, 192, "words", 13)]
phones = spoken.phones[0]
for phone in phones:
    if phone.name != "_":
        body.append(text((at(phone.first) + at(phone.last)) / 2, 165, phone.name, 12, "query"))
pauses = [phone for phone in phones if phone.name == "_"]
for word, before, after in zip(words, pauses, pauses[1:], strict=False):
    body.append(text((at(before.last) + at(after.first)) / 2, 192, word, 14, bold=True))
show(
    svg(WIDE, 206, body),
    "A generated recording of two digits, from top to bottom: the waveform, twelve mel bands over "
    "time, the phones below their frames, and the transcript of two words.",
)

# %% [markdown]
# *Generated speech with known phone boundaries: waveform, mel bands, phones (IH as in "sit", UW as
# in "two"), and transcript. The pause before the last S is inside a word. Real recordings come with
# the transcript only.*
#
# **What it covers.** Speech features (short **frames** of a **waveform**), recognition with CTC and
# with a decoder that uses **cross-attention**, and **self-supervised** pretraining (wav2vec 2.0,
# HuBERT).
#
# **What you'll be able to do.** Compute log-mel features, implement the CTC loss and its decoding,
# pretrain on audio without transcripts, align text to frames, and measure word error rate.
#
# Read 6c.1 first. 6c.2 and 6c.5 are two ways to train a recognizer, 6c.3 and 6c.4 use untranscribed
# audio, and 6c.6 runs a recognizer on your own voice.
#
# Three data sets are real: AN4, spelled words and numbers (features, no waveforms); FSDD, spoken
# digits; and LJ Speech, sentences read by one person. Without a network a page uses generated
# speech like the recording above and says so.
#
# ## The map
#
# | page | about | question | minutes to read |
# |---|---|---|---|
# | 6c.1 | [Speech features](01_waveform.ipynb) | What do speech features preserve? | 16 |
# | 6c.2 | [CTC](02_ctc.ipynb) | How do you train without an alignment? | 30 |
# | 6c.3 | [wav2vec 2.0](03_wav2vec2.ipynb) | What can be learned without transcripts? | 15 |
# | 6c.4 | [HuBERT](04_hubert.ipynb) | Do clustered units match phones? | 15 |
# | 6c.5 | [Speech2Text, Whisper, Conformer](05_alignment.ipynb) | Which frames does cross-attention select? | 16 |
# | 6c.6 | [Spoken-digit recognition](06_spoken_digit.ipynb) | Does it recognize your digit? | 12 |
#
# In a hurry? Read 6c.1, where you can hear what the features preserve, and 6c.6.
#
# The chapter ends with [exercises](exercises.ipynb) and a [bug clinic](clinic.ipynb).

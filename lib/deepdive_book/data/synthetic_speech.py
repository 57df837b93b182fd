"""Generated speech: digits said by a formula, with the place of each sound known to the sample.

No person speaks here. A voice is a row of harmonics k f0(t), as vocal folds make them, and what the
mouth adds is a product of resonances, the formants F1, F2, F3 of the sound:

    wave(t) = sum over k of |H(k f0(t), t)| cos(2 pi k integral of f0)
    |H(f, t)| = product over i of F_i^2 / sqrt((F_i^2 - f^2)^2 + (B_i f)^2)

Hissing sounds (S, F, TH, Z, V) are noise around one frequency, T and K a silence and a burst. The
formants of vowels are the means that Peterson and Barney (1952) measured on men, times the
speaker's `scale`; from one sound to the next they glide. It sounds like a machine and is enough to
run a page with no data. Call it generated wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from deepdive.data.errors import DataError
from deepdive.data.generated import whole
from deepdive.data.speech import Phone, Recordings

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sound:
    """How one phone is made: formants in Hz, and how loud its harmonics and its noise are.

    hiss   Hz around which its noise lies
    burst  whether the noise comes after a silence, as in T
    """

    formants: tuple[float, float, float]
    voice: float = 1.0
    noise: float = 0.0
    hiss: float = 0.0
    seconds: float = 0.11
    burst: bool = False


@dataclass(frozen=True)
class Speaker:
    """A voice: its pitch in Hz, its formants over a man's, and how long its sounds last."""

    name: str
    pitch: float
    scale: float
    pace: float = 1.0


NEUTRAL = (500.0, 1500.0, 2500.0)
SOUNDS: Mapping[str, Sound] = MappingProxyType({
    "IY": Sound((270, 2290, 3010)), "IH": Sound((390, 1990, 2550), seconds=0.08),
    "EH": Sound((530, 1840, 2480)), "AE": Sound((660, 1720, 2410)),
    "AA": Sound((730, 1090, 2440)), "AO": Sound((570, 840, 2410), seconds=0.13),
    "UH": Sound((440, 1020, 2240), seconds=0.09), "UW": Sound((300, 870, 2240), seconds=0.15),
    "AH": Sound((640, 1190, 2390), seconds=0.09), "ER": Sound((490, 1350, 1690)),
    "N": Sound((280, 1300, 2600), 0.35, seconds=0.08), "M": Sound((280, 1000, 2300), 0.35),
    "W": Sound((300, 620, 2200), 0.6, seconds=0.07),
    "R": Sound((420, 1250, 1600), 0.6, seconds=0.08),
    "L": Sound((360, 1100, 2700), 0.6, seconds=0.07),
    "S": Sound(NEUTRAL, 0.0, 0.35, 3500, 0.13), "F": Sound(NEUTRAL, 0.0, 0.12, 2200),
    "TH": Sound(NEUTRAL, 0.0, 0.08, 2700, 0.1),
    "Z": Sound((300, 1500, 2500), 0.25, 0.25, 3500, 0.1),
    "V": Sound((300, 1100, 2300), 0.3, 0.08, 2200, 0.07),
    "T": Sound(NEUTRAL, 0.0, 0.5, 3200, 0.09, True),
    "K": Sound(NEUTRAL, 0.0, 0.5, 1800, 0.09, True),
    "_": Sound(NEUTRAL, 0.0, 0.0, 0.0, 0.12),
})  # fmt: skip
SPEAKERS = (Speaker("low", 105, 1.0, 1.1), Speaker("middle", 150, 1.08), Speaker("high", 205, 1.17),
            Speaker("child", 260, 1.3, 0.95))  # fmt: skip
LEXICON: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "ZERO": ("Z", "IH", "R", "AO", "UH"), "ONE": ("W", "AH", "N"), "TWO": ("T", "UW"),
    "THREE": ("TH", "R", "IY"), "FOUR": ("F", "AO", "R"), "FIVE": ("F", "AA", "IH", "V"),
    "SIX": ("S", "IH", "K", "S"), "SEVEN": ("S", "EH", "V", "AH", "N"),
    "EIGHT": ("EH", "IH", "T"), "NINE": ("N", "AA", "IH", "N"),
})  # fmt: skip
SILENCE = "_"
GLIDE = 0.02  # seconds over which one sound becomes the next
STEP = 0.005  # seconds from one value of formants to the next


def voices(
    n: int, seed: int = 0, *, length: int | tuple[int, int] = 1, rate: int = 8000,
    speakers: Sequence[Speaker] = SPEAKERS, lexicon: Mapping[str, Sequence[str]] = LEXICON,
    noise: float = 0.003,
) -> Recordings:  # fmt: skip
    """n generated utterances of words drawn from `lexicon`, each of the speakers' in turn.

    length  words in an utterance, or the least and the most
    noise   standard deviation of the hum of the room, where 1 is the loudest a wave can be
    `phones` has each sound with its first sample and the one after its last; silence is "_", at
    both ends and between words. Utterance i is the same for every n. Raises DataError for numbers
    that make no speech, and for a phone that is not in `SOUNDS`.
    """
    least, most = (length, length) if isinstance(length, int) else length
    for name, value, low in (("n", n, 1), ("length", least, 1), ("length", most, least),
                             ("rate", rate, 4000)):  # fmt: skip
        whole(name, value, low, None)
    strange = sorted({p for phones in lexicon.values() for p in phones} - SOUNDS.keys())
    if strange or not lexicon or not speakers:
        raise DataError(f"lexicon, speakers: expected some, of phones in SOUNDS, not {strange}")
    known = [*lexicon]
    made = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        speaker = speakers[i % len(speakers)]
        said = [known[int(k)] for k in rng.integers(len(known), size=rng.integers(least, most + 1))]
        sounds = [SILENCE, *(p for word in said for p in (*lexicon[word], SILENCE))]
        made.append((*_spoken(sounds, speaker, rate, noise, rng), " ".join(said), speaker.name))
    waves, phones, words, who = zip(*made, strict=True)
    source = f"voices({n}, seed={seed}, length={length}, rate={rate}) (generated)"
    names = tuple(f"voice-{seed}-{i}" for i in range(n))
    return Recordings(waves, rate, words, who, names, source, phones)


def _spoken(
    names: Sequence[str], speaker: Speaker, rate: int, noise: float, rng: np.random.Generator
) -> tuple[NDArray[np.float32], tuple[Phone, ...]]:
    """The wave of these phones, and where each is."""
    lasts = [SOUNDS[name].seconds * speaker.pace * rng.uniform(0.85, 1.2) for name in names]
    ends = np.round(np.cumsum(lasts) * rate).astype(int)
    starts = [0, *ends[:-1]]
    phones = tuple(Phone(p, int(a), int(b)) for p, a, b in zip(names, starts, ends, strict=True))
    samples = np.arange(ends[-1])
    wave = _harmonics(phones, speaker, rate, rng, samples) + _hisses(phones, speaker, rate, rng)
    wave = 0.5 * rng.uniform(0.7, 1.0) * wave / np.abs(wave).max()
    wave += noise * rng.standard_normal(len(wave))
    return wave.clip(-1, 1).astype(np.float32), phones


def _harmonics(
    phones: Sequence[Phone], speaker: Speaker, rate: int, rng: np.random.Generator,
    samples: NDArray[np.int_],
) -> Floats:  # fmt: skip
    seconds = samples[-1] / rate
    times = np.arange(0, seconds + STEP, STEP)
    # A value at the middle of each sound, held until GLIDE from its ends, and straight lines.
    knots, values = [], []
    for phone in phones:
        sound = SOUNDS[phone.name]
        first, last = phone.first / rate, phone.last / rate
        inner = min(GLIDE, (last - first) / 3)
        shape = rng.normal(1, 0.03, 3)  # nobody says a vowel twice in the same way
        row = [*(speaker.scale * np.array(sound.formants) * shape), sound.voice]
        knots += [first + inner, last - inner]
        values += [row, row]
    f1, f2, f3, loud = (np.interp(times, knots, column) for column in np.array(values).T)
    pitch = speaker.pitch * rng.uniform(0.92, 1.08)
    f0 = pitch * (1.08 - 0.16 * times / seconds) * (1 + 0.01 * np.sin(2 * np.pi * 5 * times))
    phase = 2 * np.pi * np.cumsum(np.interp(samples / rate, times, f0)) / rate
    found = np.zeros(len(samples))
    for k in range(1, int(0.95 * rate / 2 / f0.min())):
        f = k * f0
        height = loud * (f < 0.48 * rate) / (1 + (f / 500) ** 2) ** 0.5  # folds close softly
        for formant, band in ((f1, 80.0), (f2, 110.0), (f3, 160.0)):
            height *= formant**2 / np.sqrt((formant**2 - f**2) ** 2 + (band * f) ** 2)
        found += np.interp(samples / rate, times, height) * np.cos(k * phase)
    return found / 8


def _hisses(
    phones: Sequence[Phone], speaker: Speaker, rate: int, rng: np.random.Generator
) -> Floats:
    found = np.zeros(phones[-1].last)
    for name, first, last in phones:
        sound = SOUNDS[name]
        if not sound.noise:
            continue
        n = last - first
        spectrum = np.fft.rfft(rng.standard_normal(n))
        middle = min(sound.hiss * speaker.scale**0.5, 0.45 * rate)
        around = np.exp(-(((np.fft.rfftfreq(n, 1 / rate) - middle) / 700) ** 2) / 2)
        noise = np.fft.irfft(spectrum * around, n)
        noise /= noise.std()
        t = np.arange(n) / n
        envelope = (
            np.exp(-(t - 0.6) / 0.12) * (t > 0.6) if sound.burst else np.sin(np.pi * t) ** 0.5
        )
        found[first:last] += sound.noise * noise * envelope
    return found

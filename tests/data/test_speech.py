"""Recorded speech: three real sets, strings of digits, speakers held out; and generated voices."""

from __future__ import annotations

import io
import wave
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from deepdive.data import speech
from deepdive.data.errors import DataError
from deepdive.data.speech import (
    DIGITS,
    Phone,
    Recordings,
    Utterances,
    an4,
    an4_sounds,
    fsdd,
    join_recordings,
    ljspeech,
)
from deepdive_book.data.synthetic_speech import LEXICON, SILENCE, SOUNDS, SPEAKERS, Speaker, voices


def ramp(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32) / 100


def small() -> Recordings:
    waves = tuple(ramp(n) for n in (3, 4, 5))
    phones = tuple((Phone("A", 0, 2), Phone("B", 2, len(w))) for w in waves)
    return Recordings(waves, 10, ("x", "y", "z"), ("a", "b", "a"), ("0", "1", "2"), "s", phones)


def test_what_does_not_fit_is_refused() -> None:
    waves = (ramp(3), ramp(4))
    with pytest.raises(DataError, match="'waves': 2, 'words': 1"):
        Recordings(waves, 8000, ("a",), ("x", "y"), ("0", "1"))
    with pytest.raises(DataError, match="equal counts, at least one"):
        Utterances((), (), (), ())
    with pytest.raises(DataError, match="rate: 0, expected"):
        Recordings(waves, 0, ("a", "b"), ("x", "y"), ("0", "1"))
    with pytest.raises(DataError, match="phones: of 1, expected of 2 or none"):
        Recordings(waves, 8, ("a", "b"), ("x", "y"), ("0", "1"), phones=((Phone("A", 0, 3),),))
    with pytest.raises(ValueError, match="part: got 'dev', expected train or test"):
        an4("dev")
    with pytest.raises(ValueError, match="part: got 'dev', expected train, test or all"):
        fsdd("dev")
    with pytest.raises(DataError, match="expected indices of 3"):
        small().only([3])
    with pytest.raises(DataError, match=r"\['nobody'\], expected some of \['a', 'b'\], not all"):
        small().held_out(["nobody"])
    with pytest.raises(DataError, match="not all"):
        small().held_out(["a", "b"])


def test_speakers_are_held_out_with_all_that_belongs_to_them() -> None:
    rest, held = small().held_out(["b"])
    assert (rest.words, held.words) == (("x", "z"), ("y",))
    assert (set(rest.speakers), set(held.speakers)) == ({"a"}, {"b"})
    assert [len(w) for w in rest.waves] == [3, 5]
    assert held.phones == ((Phone("A", 0, 2), Phone("B", 2, 4)),)
    features = Utterances((np.zeros((2, 13), np.float32),) * 2, ("A", "B"), ("x", "y"), ("0", "1"))
    assert features.held_out(["x"])[0].words == ("B",)


def test_a_string_is_of_one_speaker_with_silence_between_and_its_sounds_moved() -> None:
    made = join_recordings(small(), 40, (2, 3), gap=0.2, seed=1)
    again = join_recordings(small(), 40, (2, 3), gap=0.2, seed=1)
    assert made.words == again.words
    assert {len(words.split()) for words in made.words} == {2, 3}
    assert {*made.speakers} == {"a", "b"}
    for samples, words, who, phones in zip(
        made.waves, made.words, made.speakers, made.phones, strict=True
    ):
        said = words.split()
        assert set(said) <= ({"x", "z"} if who == "a" else {"y"})
        parts = [ramp({"x": 3, "y": 4, "z": 5}[word]) for word in said]
        assert len(samples) == sum(map(len, parts)) + 2 * (len(said) - 1)
        starts = [phone.first for phone in phones if phone.name == "A"]
        for start, part in zip(starts, parts, strict=True):
            assert np.array_equal(samples[start : start + len(part)], part)
    with pytest.raises(DataError, match="gap: got -1"):
        join_recordings(small(), 1, gap=-1)
    with pytest.raises(DataError, match="length: 1, expected"):
        join_recordings(small(), 1, (2, 1))


def packed(channels: int = 1, width: int = 2) -> bytes:
    told = io.BytesIO()
    with wave.open(told, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(width)
        file.setframerate(8000)
        file.writeframes(np.array([0, 16384, -32768, 32767], "<i2").tobytes())
    return told.getvalue()


def test_samples_of_16_bits_lie_between_minus_one_and_one() -> None:
    samples, rate = speech._samples(packed(), "x")
    assert rate == 8000
    assert samples.dtype == np.float32
    assert samples.tolist() == [0.0, 0.5, -1.0, 32767 / 32768]
    with pytest.raises(DataError, match="x: 2 channels of 16 bits, expected 1 of 16"):
        speech._samples(packed(2), "x")
    with pytest.raises(DataError, match="x: 1 channels of 8 bits"):
        speech._samples(packed(1, 1), "x")
    with pytest.raises(DataError, match="x: no WAV file"):
        speech._samples(b"RIFF and nothing more", "x")


@pytest.mark.data("an4_mfcc")
def test_an4_is_what_the_recipes_test_on() -> None:
    train, test = an4("train"), an4("test")
    assert (len(train), len(test)) == (948, 130)
    assert sum(len(words.split()) for words in test.words) == 773  # as ESPnet and Kaldi count
    assert not {*train.speakers} & {*test.speakers}
    assert {f.shape[1] for f in test.features} == {13}
    assert sum(map(len, train.features)) + sum(map(len, test.features)) == 289_252
    sounds = an4_sounds()
    assert sounds["A"] == (("AH",), ("EY",))
    assert {w for words in train.words for w in words.split()} <= sounds.keys()


@pytest.mark.data("fsdd")
def test_fsdd_has_fifty_takes_of_each_digit_of_each_speaker() -> None:
    every, train, test = fsdd(), fsdd("train"), fsdd("test")
    assert (len(every), len(train), len(test), every.rate) == (3000, 2700, 300, 8000)
    assert {*Counter(zip(every.words, every.speakers, strict=True)).values()} == {50}
    assert {int(name.split("_")[2]) for name in test.names} == {0, 1, 2, 3, 4}
    assert not {*train.names} & {*test.names}
    assert {*every.words} == {*DIGITS}
    assert all(DIGITS[int(n[0])] == w for n, w in zip(every.names, every.words, strict=True))
    assert every.seconds == pytest.approx(1312, abs=1)
    assert max(float(np.abs(w).max()) for w in every.waves) <= 1


@pytest.mark.data("ljspeech_48")
def test_ljspeech_has_48_sentences() -> None:
    found = ljspeech()
    assert (len(found), found.rate) == (48, 22050)
    assert found.seconds == pytest.approx(319, abs=1)
    assert found.words[1] == "in being comparatively modern."


def test_voices_are_the_same_again_and_say_that_they_are_generated() -> None:
    found = voices(8, seed=3, length=(1, 3))
    assert found.source.endswith("(generated)")
    assert {*found.speakers} == {speaker.name for speaker in SPEAKERS}
    few = voices(3, seed=3, length=(1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(few.waves, found.waves[:3], strict=True))
    assert not np.array_equal(found.waves[0][:500], voices(1, seed=4, length=(1, 3)).waves[0][:500])
    for samples, words, phones in zip(found.waves, found.words, found.phones, strict=True):
        assert samples.dtype == np.float32
        assert 0.2 < np.abs(samples).max() <= 1
        assert (phones[0].first, phones[-1].last) == (0, len(samples))
        assert all(a.last == b.first for a, b in pairwise(phones))
        spoken = [p for w in words.split() for p in (*LEXICON[w], SILENCE)]
        assert [p.name for p in phones] == [SILENCE, *spoken]


def test_a_generated_sound_has_its_formants_its_pitch_and_its_hiss() -> None:
    """Where the spectrum of a sound is largest is what its table says."""
    lexicon, plain = {"E": ("IY",), "A": ("AA",), "S": ("S",)}, (Speaker("x", 100, 1.0, 4.0),)
    found = voices(12, seed=1, lexicon=lexicon, speakers=plain, noise=0.0)
    for samples, word, phones in zip(found.waves, found.words, found.phones, strict=True):
        _, first, last = phones[1]
        inner = samples[first + 400 : last - 400]
        power = np.abs(np.fft.rfft(inner * np.hanning(len(inner)), 8192)) ** 2
        hertz = np.fft.rfftfreq(8192, 1 / 8000)
        if word == "S":
            assert (power * hertz).sum() / power.sum() > 2800
            continue
        one, two = ((270, 2290), (730, 1090))[word == "A"]
        low, high = (hertz < (one + two) / 2), (hertz > (one + two) / 2) & (hertz < two + 500)
        assert hertz[low][power[low].argmax()] == pytest.approx(one, abs=110)  # a harmonic's step
        assert hertz[high][power[high].argmax()] == pytest.approx(two, rel=0.12)
    with pytest.raises(DataError, match="not \\['XX'\\]"):
        voices(1, lexicon={"A": ("XX",)})
    with pytest.raises(DataError, match="rate: 10, expected"):
        voices(1, rate=10)
    assert {p for phones in LEXICON.values() for p in phones} <= SOUNDS.keys()
    assert [*LEXICON] == [*DIGITS]


def test_silence_is_silent() -> None:
    found = voices(4, seed=0, noise=0.0)
    for samples, phones in zip(found.waves, found.phones, strict=True):
        first, last = phones[0].first, phones[0].last
        inside = samples[first : last - 300]  # before the first sound glides in
        assert np.abs(inside).max() < 0.02 * np.abs(samples).max()

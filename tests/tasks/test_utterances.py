"""Frames with their phones, batches of them, states of all rows; phones laid along frames."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from deepdive.audio.mel import mfcc, stacked, standardized
from deepdive.models.speech.wav2vec2 import LARGE, wav2vec2
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.tasks.forced_alignment import align_phones, gaussians, log_density, spread_evenly
from deepdive_book.tasks.utterances import batches, heard_an4, load_audio, middles, padded, states

SMALL = LARGE.but(
    channels=13, widths=(8, 8), kernels=(3, 3), strides=(2, 1), place_width=4, place_groups=2,
    d_model=16, n_heads=2, n_layers=2, d_ff=16,
)  # fmt: skip


def test_a_frame_has_the_phone_of_its_middle() -> None:
    spoken = voices(3, 0, length=2)
    found = load_audio(spoken)
    assert found.names[0] == "_"
    assert found.minutes == pytest.approx(sum(map(len, found.frames)) * 0.01 / 60)
    for frames, phones, row in zip(found.frames, found.phones, spoken.phones, strict=True):
        assert len(frames) == len(phones)
        for t in (0, len(phones) // 3, len(phones) - 1):
            middle = round((t * 0.010 + 0.0125) * spoken.rate)
            true = next(p.name for p in row if p.first <= middle < p.last)
            assert found.names[phones[t]] == true
    others, mine = found.parted([found.speakers[1]])
    assert mine.speakers == (found.speakers[1],)
    assert len(others) == 2


def test_batches_hold_each_utterance_once() -> None:
    rows = [torch.full((n, 2), float(n)) for n in (5, 3, 8, 2, 6)]
    labels = [torch.arange(len(x)) for x in rows]
    made = batches(rows, 2, labels, seed=1)
    assert sorted(int(n) for _, real, _ in made for n in real.sum(1)) == [2, 3, 5, 6, 8]
    for x, real, given in made:
        for one, there, label in zip(x, real, given, strict=True):
            n = int(there.sum())
            assert (one[:n] == n).all()
            assert label[:n].tolist() == list(range(n))
    x, real = padded(rows[:2])
    assert x.shape == (2, 5, 2)
    assert real.sum(1).tolist() == [5, 3]


def test_rows_stand_over_the_middles_of_what_they_read() -> None:
    """A change of one frame changes no row but those whose middle is within three of it."""
    encoder = wav2vec2(SMALL, n_layers=0, places=lambda config: torch.nn.Identity()).eval()
    frames = torch.randn(20, 13, generator=torch.Generator().manual_seed(0))
    other = frames.clone()
    other[10] += 1
    at = middles(encoder, 20)
    assert at.tolist() == [3, 5, 7, 9, 11, 13, 15]
    moved = (states(encoder, [frames])[0] != states(encoder, [other])[0]).any(1)
    assert moved.tolist() == ((at - 10).abs() <= 3).tolist()


def test_states_in_a_batch_are_those_of_one_alone() -> None:
    torch.manual_seed(0)
    encoder = wav2vec2(SMALL)
    frames = [torch.randn(n, 13) for n in (40, 25, 31)]
    for layer in (0, 1, 2, None):
        together = states(encoder, frames, layer)
        for one, x in zip(together, frames, strict=True):
            assert len(one) == len(middles(encoder, len(x)))
            assert torch.allclose(one, states(encoder, [x], layer)[0], atol=1e-4)
    assert torch.equal(states(encoder, frames)[0], states(encoder, frames, None)[0])


def test_phones_are_laid_where_they_are() -> None:
    """Of generated voices, whose phones are known to the sample: in at least 85 of 100 frames."""
    spoken = voices(48, 1, length=(2, 4))
    found = load_audio(spoken)
    wide = [standardized(stacked(mfcc(w, spoken.rate))).numpy() for w in spoken.waves]
    texts = [[found.names.index(p.name) for p in row if p.name != "_"] for row in spoken.phones]
    laid = align_phones(wide, texts, len(found.names), turns=5)
    right = np.concatenate(laid) == torch.cat(found.phones).numpy()
    assert right.mean() > 0.85
    even = np.concatenate([spread_evenly(len(x), t) for x, t in zip(wide, texts, strict=True)])
    assert (even == torch.cat(found.phones).numpy()).mean() < 0.75


def test_densities_are_normal() -> None:
    rows = torch.randn(50, 3, dtype=torch.float64)
    labels = torch.arange(50) % 2
    mean, variance = gaussians(rows, labels, 3)
    assert torch.allclose(mean[1], rows[1::2].mean(0))
    assert torch.allclose(variance[2], rows.var(0, unbiased=False))
    normal = torch.distributions.Normal(mean, variance.sqrt())
    expected = normal.log_prob(rows[:, None]).sum(-1)
    difference = log_density(rows, mean, variance) - expected
    assert torch.allclose(difference, difference[0, 0].expand(50, 3))


@pytest.mark.data("an4_mfcc")
def test_an4_is_laid_along_its_frames() -> None:
    found = heard_an4(turns=1)
    assert len(found) == 948
    assert len(found.names) == 34
    assert all(len(x) == len(p) for x, p in zip(found.frames, found.phones, strict=True))

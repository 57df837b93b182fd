"""Speech in batches: each utterance once, the same draws again; losses and transcripts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from deepdive.data.speech import Utterances
from deepdive.models.speech import wav2vec2
from deepdive.models.speech.asr_heads import CTCModel
from deepdive.models.speech.speech_encoder import SpeechFrontend
from deepdive.tokenizers import PAD, CharTokenizer
from deepdive.training import fit
from deepdive.training.objectives.ctc import ctc_loss
from deepdive.training.optim import adam
from deepdive_book.tasks.speech import (
    SpeechBatches,
    Voices,
    by_ctc,
    ctc,
    load_audio,
    scores,
    spelled,
    together,
)

WORDS = ("AB", "B", "A B", "BA", "ABBA", "B A")


def some(n: int = 6) -> Utterances:
    rng = np.random.default_rng(0)
    features = tuple(rng.normal(size=(20 + 3 * i, 4)).astype(np.float32) for i in range(n))
    who = tuple("xy"[i % 2] for i in range(n))
    return Utterances(features, WORDS[:n], who, tuple(map(str, range(n))))


TOKENS = CharTokenizer.train(WORDS)


def recognizer(**changes: Any) -> torch.nn.Module:
    config = wav2vec2.TINY.but(channels=12, kernels=(3, 3), strides=(2, 1), **changes)
    torch.manual_seed(0)
    return CTCModel(SpeechFrontend(wav2vec2.wav2vec2(config)), 32, len(TOKENS), dropout=0.0)


def drawn(batches: SpeechBatches) -> list[list[Tensor]]:
    return [list(batch) for batch in batches]


def test_what_is_heard_is_standardised_and_has_deltas() -> None:
    x = load_audio(torch.from_numpy(some().features[3]))
    assert x.shape == (29, 12)
    torch.testing.assert_close(x.mean(0), torch.zeros(12), atol=1e-5, rtol=0)
    torch.testing.assert_close(x.std(0, correction=0), torch.ones(12), atol=1e-3, rtol=0)


def test_an_epoch_has_each_utterance_once() -> None:
    batches = SpeechBatches(some(), TOKENS, 60)
    for _ in range(3):
        said = []
        for features, mask, letters, counts in batches:
            assert features.shape[:2] == mask.shape
            assert (features[~mask] == 0).all()
            said += [
                "".join(TOKENS.vocab[i] for i in row[:n])
                for row, n in zip(letters, counts, strict=False)
            ]
        assert len(batches) > 1
        assert sorted(said) == sorted(WORDS)


def test_a_saved_place_goes_on_with_the_same_draws() -> None:
    make = lambda: SpeechBatches(some(), TOKENS, 60, change=Voices(), seed=3)  # noqa: E731
    whole, part, other = make(), make(), make()
    expected = drawn(whole) + drawn(whole)
    begun = iter(part)
    next(begun)
    other.load_state_dict(part.state_dict())
    found = [list(next(iter(make()))), *drawn(other), *drawn(other)]
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(a, b, strict=True))
    assert not torch.equal(expected[0][0], expected[len(whole)][0])
    with pytest.raises(ValueError, match="change"):
        SpeechBatches(some(), TOKENS, 60, seed=3).load_state_dict(part.state_dict())


def test_voices_change_length_and_shape_and_hide_frames() -> None:
    x = torch.from_numpy(np.random.default_rng(1).normal(size=(100, 13)).astype(np.float32))
    draw = torch.Generator().manual_seed(0)
    lengths = [len(Voices()(x, draw)) for _ in range(50)]
    assert min(lengths) >= round(100 * np.exp(-0.15))
    assert max(lengths) <= round(100 * np.exp(0.15))
    assert len(set(lengths)) > 10
    torch.testing.assert_close(Voices(0, 0, 0)(x, draw), load_audio(x), atol=1e-4, rtol=0)
    hidden = (Voices(0, 0)(x, draw) == Voices(0, 0)(x, draw)[0, 0]).all(1).float().mean()
    assert hidden < 0.5


def test_an_utterance_that_fits_into_no_batch_is_named() -> None:
    with pytest.raises(ValueError, match=r"frames=30: the longest utterance has 35"):
        SpeechBatches(some(), TOKENS, 30)


def test_the_loss_is_the_one_by_hand() -> None:
    model = recognizer().eval()
    features, mask, letters, counts = next(iter(SpeechBatches(some(), TOKENS, 999)))
    logits, real = model(features, mask)
    by_hand = ctc_loss(logits.double(), real.sum(1), letters, counts).mean()
    found = by_ctc(logits.double(), real.sum(1), letters, counts)
    torch.testing.assert_close(found, by_hand)
    torch.testing.assert_close(ctc(model, (features, mask, letters, counts)).double(), by_hand)


def test_scores_are_of_each_utterance_alone_and_in_order() -> None:
    model = recognizer(norms=wav2vec2.layer_norms)
    utterances = some()
    found = scores(model, utterances, size=4)
    assert model.training
    model.eval()
    for features, rows in zip(utterances.features, found, strict=True):
        read, mask = together([load_audio(torch.from_numpy(features))])
        alone = model(read, mask)[0].log_softmax(-1)[0]
        torch.testing.assert_close(rows, alone, atol=1e-5, rtol=1e-4)


def test_it_learns_two_sounds() -> None:
    """A and B as two constant features: after some steps the transcript is right."""
    shapes = {"A": np.eye(4)[0], "B": np.eye(4)[1], " ": np.eye(4)[2]}
    rows = [np.repeat([shapes[c] for c in word], 8, 0).astype(np.float32) for word in WORDS]
    rows = [r + 0.01 * np.random.default_rng(0).normal(size=r.shape).astype("f4") for r in rows]
    utterances = Utterances(tuple(rows), WORDS, WORDS, WORDS)
    model = recognizer(norms=wav2vec2.layer_norms)
    batches = SpeechBatches(utterances, TOKENS, 999)
    fit(model, batches, ctc, steps=120, optimizer=adam(model, lr=3e-3), progress=False)
    assert spelled(scores(model, utterances), TOKENS) == list(WORDS)


def test_together_pads_with_zeros() -> None:
    x, mask = together([torch.ones(2, 3), torch.ones(4, 3)])
    assert mask.tolist() == [[True, True, False, False], [True] * 4]
    assert x[0, 2:].abs().sum() == 0
    assert PAD == 0

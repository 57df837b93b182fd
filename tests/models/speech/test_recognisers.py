"""The three recognisers: what they read and write; what they learn before any letter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from deepdive.data.speech import Utterances
from deepdive.models.speech import small_asr_models
from deepdive.models.speech.hubert import HubertForPreTraining
from deepdive.models.speech.small_asr_models import LISTENER
from deepdive.models.speech.wav2vec2_pretraining import Wav2Vec2ForPreTraining
from deepdive.tokenizers import CharTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam
from deepdive_book.tasks import seq2seq_asr, speech_pretraining
from deepdive_book.tasks.speech import Batch, SpeechBatches, ctc, load_audio

WORDS = ("YES", "NO", "GO ON", "STOP")
TOKENS = CharTokenizer.train(WORDS)
SMALL = LISTENER.but(
    widths=(32, 32), d_model=32, n_layers=1, d_ff=64, codes=8, d_code=8, d_target=16
)


def some() -> Utterances:
    """Noise that changes slowly, so that what is hidden can be told from what stands beside it."""
    draw = np.random.default_rng(0)
    steps = [draw.normal(size=(140 + 8 * i, 13)).cumsum(0) for i in range(4)]
    return Utterances(tuple(x.astype(np.float32) for x in steps), WORDS, WORDS, WORDS)


def batches() -> SpeechBatches:
    return SpeechBatches(some(), TOKENS, 999)


@pytest.mark.parametrize(
    ("make", "loss"),
    [
        (lambda n: small_asr_models.ctc_model(n, small_asr_models.ctc_encoder(SMALL)), ctc),
        (lambda n: small_asr_models.conformer_ctc(n, 32, 1), ctc),
        (lambda n: small_asr_models.seq2seq_model(n, d_model=32), seq2seq_asr.loss()),
        (
            lambda n: small_asr_models.seq2seq_model(n, small_asr_models.ctc_encoder(SMALL), 48),
            seq2seq_asr.loss(),
        ),
    ],
)
def test_each_learns_from_a_batch(
    make: Callable[[int], nn.Module], loss: Callable[[Any, Batch], Tensor]
) -> None:
    torch.manual_seed(0)
    model = make(len(TOKENS))
    history = fit(model, batches(), loss, steps=12, optimizer=adam(model, lr=3e-3), progress=False)
    assert history.losses[-1] < 0.7 * history.losses[0]


def test_a_row_is_said_of_the_frame_in_its_middle() -> None:
    """Of a second row the reach, by its gradient, is as wide on either side of `MIDDLE`."""
    encoder = small_asr_models.ctc_encoder(SMALL).eval()
    x = torch.randn(1, 60, 39, requires_grad=True)
    encoder.embeddings.features(x)[0, 1].sum().backward()
    assert x.grad is not None
    read = x.grad[0].abs().sum(1).nonzero()[:, 0]
    assert (read[0] + read[-1]) / 2 == speech_pretraining.MIDDLE + 4


def test_codes_are_found_better_than_at_first() -> None:
    torch.manual_seed(0)
    finder = Wav2Vec2ForPreTraining(small_asr_models.ctc_encoder(SMALL))
    loss = speech_pretraining.code_loss(steps=60)
    fit(finder, batches(), loss, steps=60, optimizer=adam(finder, lr=3e-3), progress=False)
    assert finder.quantizer.temperature == pytest.approx(0.5, rel=0.05)
    finder.eval()
    torch.manual_seed(1)
    found = torch.stack([loss(finder, batch) for batch in batches() for _ in range(5)]).mean()
    assert float(found.detach()) < 0.85 * np.log(31)


def test_units_are_said_better_than_at_first() -> None:
    torch.manual_seed(0)
    units = speech_pretraining.cepstral_units(some(), k=8)
    sayer = HubertForPreTraining(small_asr_models.ctc_encoder(SMALL), 8)
    loss = speech_pretraining.unit_loss(units)
    history = fit(sayer, batches(), loss, steps=60, optimizer=adam(sayer, lr=3e-3), progress=False)
    assert np.mean(history.losses[-10:]) < 0.8 * np.log(8)


def test_units_of_rows_are_those_of_their_frames() -> None:
    units = speech_pretraining.cepstral_units(some(), k=8)
    sayer = HubertForPreTraining(small_asr_models.ctc_encoder(SMALL), 8).eval()
    features, mask, *rest = next(iter(batches()))
    seen: list[Tensor] = []

    def spy(rows: Tensor) -> Tensor:
        seen.append(rows)
        return units(rows)

    speech_pretraining.unit_loss(spy)(sayer, (features, mask, *rest))  # type: ignore[arg-type]
    assert torch.equal(seen[0][:, 3], features[:, 4 * 3 + speech_pretraining.MIDDLE])
    assert load_audio(torch.from_numpy(some().features[0])).shape[1] == small_asr_models.FEATURES

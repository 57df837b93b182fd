"""Log-mel features and cepstra, each step beside a reference implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.fft import dct
from scipy.signal import get_window, savgol_filter
from torch import Tensor
from transformers import Speech2TextFeatureExtractor, WhisperFeatureExtractor
from transformers.audio_utils import mel_filter_bank, spectrogram, window_function
from transformers.models.speech_to_text import feature_extraction_speech_to_text as theirs

from deepdive.audio import AudioError, mel
from deepdive_book.data.synthetic_speech import voices


def speech(rate: int = 16000, seed: int = 0) -> Tensor:
    return torch.from_numpy(voices(1, seed, rate=rate, length=2).waves[0])


@pytest.mark.parametrize("scale", ["htk", "slaney"])
@pytest.mark.parametrize(
    ("equal_areas", "straight_in_mel"), [(False, False), (True, False), (False, True)]
)
@pytest.mark.parametrize(
    ("rate", "n_fft", "n_mels", "low"), [(16000, 512, 40, 20), (8000, 256, 20, 0)]
)
def test_filters_are_those_of_transformers(
    scale: mel.Scale, equal_areas: bool, straight_in_mel: bool, rate: int, n_fft: int, n_mels: int,
    low: float,
) -> None:  # fmt: skip
    ours = mel.mel_filters(n_mels, n_fft, rate, low=low, scale=scale, equal_areas=equal_areas,
                           straight_in_mel=straight_in_mel)  # fmt: skip
    reference = mel_filter_bank(
        n_fft // 2 + 1, n_mels, low, rate / 2, rate, "slaney" if equal_areas else None, scale,
        straight_in_mel,
    )  # fmt: skip
    assert np.abs(ours.numpy() - reference).max() < 1e-12 * max(1, reference.max())


def test_equal_areas_are_equal_and_others_are_not() -> None:
    step = 16000 / 4096
    equal = mel.mel_filters(20, 4096, 16000, equal_areas=True).sum(0) * step
    plain = mel.mel_filters(20, 4096, 16000).sum(0) * step
    assert equal.numpy() == pytest.approx(1, abs=0.02)
    assert plain.max() > 3 * plain.min()


@given(st.floats(0, 20000), st.sampled_from(["htk", "slaney"]))
def test_mels_lead_back_to_hertz(hertz: float, scale: mel.Scale) -> None:
    assert float(mel.mel_to_hertz(mel.hertz_to_mel(hertz, scale), scale)) == pytest.approx(
        hertz, abs=1e-6
    )


def test_1000_hertz_are_1000_mels_and_15_of_slaney() -> None:
    assert float(mel.hertz_to_mel(1000)) == pytest.approx(1000, abs=0.02)
    assert float(mel.hertz_to_mel(1000, "slaney")) == pytest.approx(15)


def test_the_window_and_the_spectrum_by_hand() -> None:
    assert np.allclose(mel.hann(400).numpy(), get_window("hann", 400), atol=1e-15)
    halves = mel.hann(64).reshape(2, 32).sum(0)
    assert torch.allclose(halves, torch.ones(32).double())
    x = torch.randn(5, 48, dtype=torch.float64)
    cosines, sines = mel.fourier(64)
    padded = torch.nn.functional.pad(x, (0, 16))
    by_hand = (padded @ cosines) ** 2 + (padded @ sines) ** 2
    assert torch.allclose(mel.power_spectrum(x, 64), by_hand, atol=1e-10)
    tone = torch.cos(2 * math.pi * 5 * torch.arange(64) / 64).double()
    power = mel.power_spectrum(tone[None])[0]
    assert int(power.argmax()) == 5
    assert float(power[5]) == pytest.approx(32**2)
    assert float(power.sum() - power[5]) < 1e-8


def test_frames_begin_a_step_apart() -> None:
    found = mel.frames(torch.arange(11.0), 4, 3)
    assert found.tolist() == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]
    assert len(mel.log_mel(speech(8000)[:8000], 8000)) == 98  # 25 ms each, 10 ms apart


@pytest.mark.parametrize(("rate", "n_mels"), [(8000, 24), (16000, 40), (22050, 80)])
def test_log_mel_is_that_of_transformers(rate: int, n_mels: int) -> None:
    wave, size = speech(rate), round(0.025 * rate)
    n_fft = 1 << (size - 1).bit_length()
    filters = mel_filter_bank(n_fft // 2 + 1, n_mels, 20, rate / 2, rate, None, "htk")
    reference = spectrogram(
        wave.double().numpy(), window_function(size, "hann"), size, round(0.01 * rate), n_fft,
        power=2.0, center=False, mel_filters=filters, mel_floor=1e-10, log_mel="log",
        dtype=np.float64,
    ).T  # fmt: skip
    ours = mel.log_mel(wave, rate, n_mels)
    assert ours.dtype == torch.float32
    assert ours.shape == reference.shape
    assert np.abs(ours.numpy() - reference).max() < 1e-5


@pytest.mark.parametrize("n_mels", [80, 128])
def test_whisper_s_features(n_mels: int) -> None:
    wave = speech(seed=2)
    extractor = WhisperFeatureExtractor(feature_size=n_mels)
    reference = extractor._np_extract_fbank_features(wave.double().numpy()[None], "cpu")[0].T
    ours = mel.whisper(wave, n_mels)
    assert ours.shape == reference.shape
    assert np.abs(ours.numpy() - reference).max() < 1e-5


def test_speech_to_text_s_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its numpy path, also where torchaudio is here."""
    monkeypatch.setattr(theirs, "is_speech_available", lambda: False)
    wave = speech(seed=3)
    extractor = Speech2TextFeatureExtractor()
    reference = extractor._extract_fbank_features(wave.double().numpy())
    ours = mel.kaldi(wave)
    assert ours.shape == reference.shape
    assert np.abs(ours.numpy() - reference).max() < 1e-4  # of logarithms of 1 to 25
    whole = extractor(wave.double().numpy(), sampling_rate=16000)["input_features"][0]
    assert np.abs(mel.standardized(ours).numpy() - whole).max() < 1e-4


def test_cepstra_are_the_cosine_transform_of_the_bands() -> None:
    wave = speech(8000)
    bands = mel.log_mel(wave, 8000, 26).double().numpy()
    reference = dct(bands, type=2, norm="ortho", axis=-1)[:, :13]
    assert np.abs(mel.mfcc(wave, 8000, 13, 26).numpy() - reference).max() < 1e-5
    matrix = mel.cosines(26, 26)
    assert torch.allclose(matrix.T @ matrix, torch.eye(26).double(), atol=1e-12)


@pytest.mark.parametrize("reach", [1, 2, 4])
def test_deltas_are_the_slope_of_a_line(reach: int) -> None:
    features = torch.randn(30, 3, dtype=torch.float64)
    reference = savgol_filter(features.numpy(), 2 * reach + 1, 1, deriv=1, axis=0, mode="nearest")
    assert np.abs(mel.deltas(features, reach).numpy() - reference).max() < 1e-12
    line = 3 * torch.arange(20.0)[:, None]
    assert torch.allclose(mel.deltas(line, reach)[reach:-reach], torch.tensor(3.0))
    assert mel.stacked(features).shape == (30, 9)


def test_standardised_columns() -> None:
    found = mel.standardized(torch.randn(50, 4) * 3 + 7)
    assert torch.allclose(found.mean(0), torch.zeros(4), atol=1e-6)
    assert torch.allclose(found.var(0, correction=0), torch.ones(4), atol=1e-5)


def test_epsilon_shrinks_what_is_standardised() -> None:
    features = torch.tensor([[0.0], [4.0]])  # mean 2, standard deviation 2
    for epsilon, size in ((0.0, 1.0), (2.0, 0.5)):
        assert mel.standardized(features, epsilon).flatten().tolist() == [-size, size]
    for wrong in (-1.0, math.nan):
        with pytest.raises(ValueError, match="epsilon="):
            mel.standardized(features, wrong)


def test_a_constant_column_and_a_single_frame_become_zero() -> None:
    """Their variance is 0: neither NaN nor rounding blown up to 1."""
    features = torch.randn(50, 3)
    features[:, 1] = 0.1
    found = mel.standardized(features)
    assert not found[:, 1].any()
    assert torch.equal(found[:, [0, 2]], mel.standardized(features[:, [0, 2]]))
    assert not mel.standardized(features[:1], epsilon=1e-5).any()
    features[3, 2] = math.nan
    assert mel.standardized(features)[:, 2].isnan().all()


@pytest.mark.parametrize("shape", [(5,), (0, 3), (2, 5, 3)])
def test_features_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    for reads in (mel.deltas, mel.standardized, mel.stacked):
        with pytest.raises(AudioError, match=r"features: got .*, expected \(T, n\)"):
            reads(torch.zeros(shape))


def test_a_louder_wave_is_the_same_but_for_a_constant() -> None:
    wave = speech(8000)
    one, two = mel.log_mel(wave / 2, 8000), mel.log_mel(wave, 8000)
    assert torch.allclose(two - one, torch.tensor(math.log(4.0)), atol=1e-4)


@pytest.mark.parametrize(
    ("wave", "said"),
    [
        (torch.zeros(2, 400), r"got \(2, 400\), expected \(n,\)"),
        (torch.zeros(0), "no samples"),
        (torch.tensor([0.0, math.nan, math.inf]), "2 of 3 samples are NaN or infinite"),
        (torch.zeros(400, dtype=torch.int16), "divide 16-bit samples by 32768"),
        (torch.zeros(100), "100 samples, expected at least a frame of 200"),
    ],
)
def test_what_is_no_wave_is_refused(wave: Tensor, said: str) -> None:
    with pytest.raises(AudioError, match=said):
        mel.log_mel(wave, 8000)


def test_settings_that_fit_nothing_are_refused() -> None:
    wave = speech(8000)
    with pytest.raises(AudioError, match=r"\d+ of them without a frequency"):
        mel.log_mel(wave, 8000, 150)
    with pytest.raises(
        AudioError, match=r"low, high: 20.0, 5000, expected 0 <= low < high <= 4000"
    ):
        mel.log_mel(wave, 8000, high=5000)
    with pytest.raises(AudioError, match="n_fft: 128, expected at least the frame's 200"):
        mel.log_mel(wave, 8000, 20, n_fft=128)
    with pytest.raises(AudioError, match="n: got 30 cepstra, expected at most the 20 bands"):
        mel.mfcc(wave, 8000, 30, 20)
    with pytest.raises(AudioError, match="expected more than 200"):
        mel.whisper(wave[:200])
    assert float(mel.log_mel(torch.zeros(400), 8000).max()) == pytest.approx(math.log(1e-10))

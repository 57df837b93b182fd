"""Published recognisers of speech, by a checkpoint's folder or its name on the hub.

    model = recogniser("facebook/wav2vec2-base-960h")
    texts = model.transcribe(librispeech("dev-clean", each=5))

wav2vec 2.0 and HuBERT say a letter or the blank each 20 ms; the most probable path is collapsed
(CTC). Speech2Text writes pieces of words, the most probable one at each step. Each recording is
read by itself: no padding changes what is heard. Their makers' figures come from a search over many
texts, the best with a language model; without one more words are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.audio.files import resampled
from deepdive.audio.mel import kaldi, standardized
from deepdive.data.speech import Recordings
from deepdive.decoding import ctc
from deepdive.decoding.published import greedy_settings
from deepdive.decoding.sampling import greedy
from deepdive.published import load
from deepdive.published.weights import from_hub, read_config
from deepdive.tokenizers.published import Letters, letters

PUBLISHED = (
    "facebook/wav2vec2-base-960h",
    "facebook/hubert-large-ls960-ft",
    "facebook/s2t-small-librispeech-asr",
)


@dataclass(frozen=True)
class Recognizer:
    """A model that writes what it hears.

    hear   a wave (n,) at `rate` samples a second -> what the model reads, (T,) or (T, n_features)
    write  (model, what it reads, (1, T, ...)) -> ids of what is written
    """

    model: nn.Module
    hear: Callable[[Tensor], Tensor]
    write: Callable[[nn.Module, Tensor], Sequence[int]]
    letters: Letters
    rate: int

    @torch.no_grad()
    def transcribe(self, recordings: Recordings) -> list[str]:
        """Return what it writes of each recording, resampled where it has another rate."""
        place, found = next(self.model.parameters()), []
        for samples in recordings.waves:
            wave = torch.from_numpy(samples)
            if recordings.rate != self.rate:
                wave = resampled(wave, recordings.rate, self.rate)
            heard = self.hear(wave)[None].to(place.device, place.dtype)
            found.append(self.letters.text(self.write(self.model, heard)))
        return found


def recognizer(place: str | Path, device: str = "cpu") -> Recognizer:
    """Return the recogniser of a checkpoint's folder, or of a name on the hub, such as those in
    `PUBLISHED`.

    Raises ValueError for a family that is no recogniser here, and as `deepdive.published.load`
    does; ImportError or the hub's errors where a name cannot be fetched.
    """
    folder = Path(place) if Path(place).is_dir() else from_hub(str(place))
    family = read_config(folder).get("model_type")
    sound, table = _sound(folder), letters(folder)
    rate = sound.get("sampling_rate", 16000)
    if family in ("wav2vec2", "hubert", "data2vec-audio"):
        model = load(folder, head="ctc")
        hear = normalized if sound.get("do_normalize", True) else Tensor.float
        write: Any = partial(_path, blank=table.pad)
    elif family == "speech_to_text":
        model = load(folder)
        hear = partial(_bands, n_mels=model.config.n_features)
        write = partial(_pieces, **greedy_settings(folder))
    else:
        raise ValueError(
            f"place: {folder} holds a {family!r}; expected wav2vec2, hubert,"
            " data2vec-audio or speech_to_text"
        )
    return Recognizer(model.to(device), hear, write, table, rate)


def normalized(wave: Tensor) -> Tensor:
    """Return a wave (n,) with mean 0 and variance 1."""
    wave = wave.float()
    return (wave - wave.mean()) / (wave.var(correction=0) + 1e-7).sqrt()


def _sound(folder: Path) -> dict[str, Any]:
    """What preprocessor_config.json says of the sound; folders without one have the defaults."""
    name = "preprocessor_config.json"
    return read_config(folder, name) if (folder / name).is_file() else {}


def _bands(wave: Tensor, n_mels: int) -> Tensor:
    return standardized(kaldi(wave, n_mels))


def _path(model: nn.Module, heard: Tensor, blank: int) -> Sequence[int]:
    logits = model(heard)
    return ctc.greedy(logits, torch.tensor([logits.shape[1]]), blank)[0]


def _pieces(model: nn.Module, heard: Tensor, **settings: Any) -> Sequence[int]:
    return greedy(model, heard, **settings)[0]

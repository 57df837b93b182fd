"""What a spoken digit becomes before a model reads it, in the page (`speaking.js`) as here.

At 8,000 samples a second: 24 log-mel bands of 25 ms each hundredth of a second; of these the
stretch that is loud, 1.2 s at most; nothing lower than 10 below the loudest; from each band its
mean taken away, and halved. So neither the microphone's colour nor how near one speaks matters.
"""

from typing import Any

import torch
from torch import Tensor

from deepdive.audio.mel import log_mel

RATE, BANDS, LOW = 8000, 24, 60.0
MOST, AROUND, QUIET, FLOOR = 120, 6, 7.0, 10.0  # frames, frames, and natural logarithms of power


def stretch(mel: Tensor) -> tuple[int, int]:
    """Return the first frame that counts of log-mel (T, n), and the one after the last.

    Of the MOST frames with most power: from the first to the last that is less than QUIET below
    the loudest, and AROUND more at both ends.
    """
    power = mel.double().exp().sum(1)
    before = torch.cat([power.new_zeros(1), power.cumsum(0)])
    width = min(MOST, len(power))
    begin = int((before[width:] - before[:-width]).argmax())
    loud = (power[begin : begin + width] > power.max() * torch.tensor(-QUIET).exp()).nonzero()
    first, last = begin + int(loud[0]), begin + int(loud[-1]) + 1
    return max(begin, first - AROUND), min(begin + width, last + AROUND)


def prepared(wave: Any) -> Tensor:
    """Return what the model gets of a wave (n,) of 8,000 samples a second: (T, 24), T <= 120.

    Raises AudioError for a wave shorter than a frame, or one that is no wave.
    """
    mel = log_mel(wave, RATE, BANDS, low=LOW)
    first, last = stretch(mel)
    mel = mel[first:last].maximum(mel.max() - FLOOR)
    return (mel - mel.mean(0)) / 2

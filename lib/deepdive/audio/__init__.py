"""Audio preprocessing: reading recordings, log-mel features and MFCCs, and data augmentation.

Start with `mel`: frames, window, power spectrum, mel filters, logarithm, cepstra. `files` reads
audio files, `augment` has SpecAugment, speed and noise. A wave is a tensor (n,) from -1 to 1.
"""

from deepdive.audio.errors import AudioError

__all__ = ["AudioError"]

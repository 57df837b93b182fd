"""Sound before any model: recordings read, waveforms as log-mel features, noise and masks.

Begin with `mel`: frames, window, power spectrum, mel filters, logarithm, cepstra. `files` reads
recordings of any kind, `augment` varies them. A wave is a tensor (n,) of numbers from -1 to 1.
"""

from deepdive.audio.errors import AudioError

__all__ = ["AudioError"]

"""A buffer of random features that is resampled in training."""

from torch import Tensor

from deepdive.core.checks import not_negative


class ResampledBuffer:
    """Mixin for a module with a buffer `drawn` of random numbers, which are not trained.

    They are fixed in evaluation, and are saved with the weights, so that outputs are reproducible.
    In training they are resampled (`redraw`) before every `redraw_every`-th call; 0 keeps them.
    """

    drawn: Tensor
    training: bool

    def _start(self, redraw_every: int) -> None:
        not_negative(redraw_every=redraw_every)
        self.redraw_every, self._calls = redraw_every, 0

    def draw(self) -> Tensor:
        """Return fresh numbers, shaped as `drawn`."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Resample `drawn`, by torch's global generator."""
        # Not in place: a pending backward pass needs the old ones.
        self.drawn = self.draw().to(self.drawn)

    def _count(self) -> None:
        """Count a call; resample when it is due."""
        if self.training and self.redraw_every:
            if self._calls and self._calls % self.redraw_every == 0:
                self.redraw()
            self._calls += 1

"""Random numbers that a mechanism keeps, and draws anew while it trains."""

from torch import Tensor

from deepdive.core.checks import not_negative


class ResampledBuffer:
    """Mixin for a module with a buffer `drawn` of random numbers, which are not trained.

    They stay as they are in evaluation, and are saved with the weights, so that a model says the
    same twice. In training they are drawn anew (`redraw`) before every `redraw_every`-th call; 0
    keeps them.
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
        """Replace `drawn`, by torch's global generator."""
        # Not copied into: a backward pass that is still to come reads the old ones.
        self.drawn = self.draw().to(self.drawn)

    def _count(self) -> None:
        """Count a call; draw anew when it is time."""
        if self.training and self.redraw_every:
            if self._calls and self._calls % self.redraw_every == 0:
                self.redraw()
            self._calls += 1

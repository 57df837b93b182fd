"""Space-time attention for video: which patches attend to which, in one or more steps.

A video is (B, n_special + F * N, d_model): special tokens, then the N = h * w patches of the first
frame, line by line, then those of the next. A rule is a function of (F, h, w): `time`,
`space`, `width`, `height` and `everything` give groups (G, L) of the numbers of patches,
`neighborhood` and `strided` give pairs, bool (F * N, F * N). `meets` returns either as pairs.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import Block, Context, Layer
from deepdive.core.block import Residual
from deepdive.core.checks import each_at_least, not_negative
from deepdive.core.residual import PreNorm

Rule = Callable[[int, int, int], Tensor]
Grid = tuple[int, int]


def everything(frames: int, h: int, w: int) -> Tensor:
    """All patches of all frames, one group."""
    return torch.arange(frames * h * w)[None]


def space(frames: int, h: int, w: int) -> Tensor:
    """The patches of one frame."""
    return torch.arange(frames * h * w).view(frames, h * w)


def time(frames: int, h: int, w: int) -> Tensor:
    """The patches at one position, through all frames."""
    return space(frames, h, w).t()


def width(frames: int, h: int, w: int) -> Tensor:
    """One line of one frame."""
    return torch.arange(frames * h * w).view(frames * h, w)


def height(frames: int, h: int, w: int) -> Tensor:
    """One column of one frame."""
    return torch.arange(frames * h * w).view(frames, h, w).transpose(1, 2).reshape(-1, h)


def _distances(frames: int, h: int, w: int) -> Tensor:
    """From each patch to each other: frames, lines, columns, (3, T, T)."""
    at = torch.cartesian_prod(torch.arange(frames), torch.arange(h), torch.arange(w)).t()
    return at.view(3, 1, -1) - at.view(3, -1, 1)


def neighborhood(frames: int, h: int, w: int) -> Tensor:
    """The h/2 times w/2 positions around a patch, through all frames; fewer at an edge."""
    _, lines, columns = _distances(frames, h, w)
    return (-h <= 4 * lines) & (4 * lines < h) & (-w <= 4 * columns) & (4 * columns < w)


def strided(frames: int, h: int, w: int) -> Tensor:
    """Every second frame, line and column, counted from the patch itself."""
    return (_distances(frames, h, w) % 2 == 0).all(0)


def meets(rule: Rule, frames: int, h: int, w: int) -> Tensor:
    """Return the mask of a rule, bool (F * N, F * N), queries first."""
    result = rule(frames, h, w)
    if result.dtype == torch.bool:
        return result
    group = torch.empty(result.numel(), dtype=torch.long)
    group[result] = torch.arange(len(result))[:, None]
    return group[:, None] == group


class _Some(Layer):
    """Attention among some patches. Raises ValueError for a mask, positions or a cache, and for
    incomplete frames.
    """

    reads = ()
    instead = "a video is processed at once"

    def __init__(self, attn: nn.Module, rule: Rule, grid: Grid, n_special: int = 0) -> None:
        super().__init__()
        each_at_least(1, "grid", grid)
        not_negative(n_special=n_special)
        self.attn, self.rule, self.grid, self.n_special = attn, rule, grid, n_special
        self.d_model = int(attn.d_model)  # type: ignore[arg-type]

    def extra_repr(self) -> str:
        return f"{self.rule.__name__}, grid={self.grid}, n_special={self.n_special}"

    def ruled(self, x: Tensor) -> Tensor:
        """Return the rule for as many frames as x (B, n_special + F * N, d_model) has."""
        patches, (h, w) = x.shape[1] - self.n_special, self.grid
        if patches % (h * w):
            raise ValueError(f"{patches} patches are not a multiple of a frame's {h} x {w}")
        return self.rule(patches // (h * w), h, w).to(x.device)


class Folded(_Some):
    """Attention inside groups of patches, which fold into the batch; the rest is plain attention.


        inputs = [special; x[groups]]            # (B * G, n_special + L, d_model)
        x[groups] = attn(inputs)                 # special tokens: the mean over the groups

    Source: Bertasius et al. 2021, section 3.
    """

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, n_special + F * N, d_model) for x of this shape."""
        groups, n = self.ruled(x), self.n_special
        special = x[:, None, :n].expand(-1, len(groups), -1, -1)
        inputs = torch.cat([special, x[:, n:][:, groups]], 2)  # (B, G, n + L, d)
        outputs = self.attn(inputs.flatten(0, 1)).unflatten(0, inputs.shape[:2])
        patches = outputs[:, :, n:].flatten(1, 2)[:, groups.flatten().argsort()]
        return torch.cat([outputs[:, :, :n].mean(1), patches], 1)


class Masked(_Some):
    """Attention under a mask of pairs, for rules without groups; special tokens attend to all, and
    are attended to by all. The mask is dense, so masked pairs save nothing.
    """

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, n_special + F * N, d_model) for x of this shape."""
        n = self.n_special
        pairs = F.pad(self.ruled(x), (n, 0, n, 0), value=True)
        return self.attn(x, mask=pairs)


class Before(Layer):
    """A step before a layer's last: attention among patches only, then a linear layer.

    x_patches = dense(step(x_patches)); special tokens get 0
    """

    reads = ()
    instead = "a video is processed at once"

    def __init__(self, step: nn.Module, n_special: int) -> None:
        super().__init__()
        not_negative(n_special=n_special)
        self.step, self.n_special = step, n_special
        self.d_model = int(step.d_model)  # type: ignore[arg-type]
        self.dense = nn.Linear(self.d_model, self.d_model)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the output of the step, added to x (B, n_special + F * N, d_model)."""
        return F.pad(self.dense(self.step(x[:, self.n_special :])), (0, 0, self.n_special, 0))


class StepwiseBlock(Block):
    """A layer with steps before its attention, each with its own norm and residual connection:

    x = residual(x, first(x)) for each of `firsts`; then as in `Block`
    """

    def __init__(
        self,
        firsts: Sequence[nn.Module],
        attn: nn.Module,
        ff: nn.Module,
        residual: Residual = PreNorm,
    ) -> None:
        super().__init__(attn, ff, residual=residual)
        self.firsts = nn.ModuleList(firsts)
        self.first_residuals = nn.ModuleList(residual(self.attn.d_model) for _ in firsts)  # type: ignore[arg-type]

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return the stream (B, n_special + F * N, d_model) after the layer."""
        for first, residual in zip(self.firsts, self.first_residuals, strict=True):
            x = residual(x, first)
        return super().forward(x, context)

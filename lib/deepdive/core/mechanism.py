"""Base class of attention mechanisms, with the checks of their arguments."""

from typing import Literal

from torch import Tensor, nn

from deepdive.core.masks import Causal, Mask, as_mask, describe

INSTEAD = "Use SoftmaxAttention, which honors every mask and a bias, at full cost"
Queries = Literal["any", "last", "last if causal", "all"]


class Mechanism(nn.Module):
    """Base class of every attention mechanism: it checks the arguments, then calls `compute`.

    A mechanism declares what it supports in these attributes, and need not check it again:

    honors      the kinds of mask that it supports, alone or combined by `&`
    queries      how many it takes: "any" number; no more than there are keys, because they are at
                 the last positions ("last", or "last if causal"); one for each key ("all")
    takes_bias, takes_scale    whether it supports them
    one_width    whether queries and keys must have the same width, as for a dot product
    n_heads, d_head    the number of heads and the width of its parameters; None: any
    instead      an alternative, for the messages
    """

    honors: tuple[type[Mask], ...] = (Mask,)
    queries: Queries = "any"
    takes_bias = True
    takes_scale = True
    one_width = True
    n_heads: int | None = None
    d_head: int | None = None
    instead = INSTEAD

    def forward(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Mask | Tensor | None = None,
        bias: Tensor | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Return the output (B, H, T, d_v) for q (B, H, T, d), k (B, H, S, d), v (B, H, S, d_v).

        `mask` is a `Mask` or a bool tensor, True = may attend; `bias` is added to the scores, where
        minus infinity masks a pair; both broadcast to (B, H, T, S). `scale` multiplies the scores
        and defaults to `default_scale`. Raises ValueError or TypeError for what does not fit, and
        for what this mechanism does not support.
        """
        mask, bias, scale = self.checked(q, k, v, mask, bias, scale)
        return self.compute(q, k, v, mask, bias, scale)

    def compute(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Mask | None, bias: Tensor | None, scale: float
    ) -> Tensor:
        """Return the output (B, H, T, d_v) for checked arguments."""
        raise NotImplementedError

    @property
    def listening(self) -> bool:
        """Whether `scores` or `weights` has a hook; False for a mechanism without them."""
        return False

    def check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Raise ValueError for q, k, or v that this mechanism does not support."""

    @staticmethod
    def default_scale(d_head: int) -> float:
        """Return 1 / sqrt(d_head): it keeps the variance of a score near 1 for q and k of variance
        1.
        """
        return float(d_head**-0.5)

    def score_shape(self, q: Tensor, k: Tensor) -> tuple[int, int, int, int]:
        """Return the shape that a mask and a bias broadcast to, (B, H, T, S)."""
        return q.shape[0], q.shape[1], q.shape[2], k.shape[2]

    def allowed(self, mask: Mask | None, q: Tensor, k: Tensor) -> Tensor | None:
        """Return the mask as a bool tensor with four axes, or None where everything is allowed."""
        values = None if mask is None else mask.allowed(q.shape[2], k.shape[2], q.device)
        return None if values is None else fitting("mask", values, self.score_shape(q, k))

    def checked(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Mask | Tensor | None,
        bias: Tensor | None,
        scale: float | None,
    ) -> tuple[Mask | None, Tensor | None, float]:
        """Return the mask, bias (in q's dtype, with four axes) and scale for `compute`."""
        name = type(self).__name__
        check_rows(q, k, v)
        self._check_sizes(q, k, name)
        mask = honored(as_mask(mask), self.honors, name, self.instead)
        self._check_lengths(q.shape[2], k.shape[2], mask, name)
        self.check(q, k, v)
        if bias is not None:
            bias = self._checked_bias(bias, q, k, name)
        if scale is not None and not self.takes_scale:
            raise ValueError(
                f"scale={scale}: {name} depends only on the angle between q and k, which a scale "
                "does not change. Do not pass it"
            )
        return mask, bias, self.default_scale(q.shape[-1]) if scale is None else scale

    def _check_sizes(self, q: Tensor, k: Tensor, name: str) -> None:
        for size, axis, made_for in (("n_heads", 1, self.n_heads), ("d_head", 3, self.d_head)):
            if made_for is not None and q.shape[axis] != made_for:
                raise ValueError(
                    f"q has {size}={q.shape[axis]}, but this {name} was built for "
                    f"{size}={made_for}: build one for {size}={q.shape[axis]}"
                )
        if self.one_width and q.shape[3] != k.shape[3]:
            raise ValueError(
                f"{name} needs queries and keys of the same width; got q {q.shape[3]} wide and k "
                f"{k.shape[3]}. Use GeneralAttention or AdditiveAttention for different widths"
            )

    def _check_lengths(self, T: int, S: int, mask: Mask | None, name: str) -> None:
        if self.queries == "all" and T != S:
            raise ValueError(
                f"{name} needs one key per query; got {T} queries and {S} keys. For "
                "cross-attention or cached decoding use SoftmaxAttention"
            )
        causal = mask is not None and any(isinstance(part, Causal) for part in mask.parts)
        last = self.queries == "last" or (self.queries == "last if causal" and causal)
        if last and T > S:
            raise ValueError(
                f"{name}: queries have the last keys' positions, but got {T} queries and {S} keys. "
                "Use SoftmaxAttention for cross-attention"
            )

    def _checked_bias(self, bias: Tensor, q: Tensor, k: Tensor, name: str) -> Tensor:
        if not bias.is_floating_point():
            raise TypeError(
                f"bias is a float tensor that is added to the scores; got {describe(bias)}. "
                "To forbid attention, pass a mask as mask="
            )
        if not self.takes_bias:
            raise ValueError(
                f"bias has an entry per query and key, which {name} does not support. "
                f"{self.instead}"
            )
        return fitting("bias", bias.to(q.dtype), self.score_shape(q, k))


def check_rows(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise ValueError or TypeError when q, k and v do not fit together."""
    if q.ndim != 4 or k.ndim != 4 or v.ndim != 4:
        raise ValueError(
            f"q, k and v are (B, H, T, d), (B, H, S, d), (B, H, S, d_v); {_shapes(q, k, v)}"
        )
    if k.shape[:3] != v.shape[:3] or q.shape[:2] != k.shape[:2]:
        raise ValueError(
            f"q, k and v must agree in batch and heads, k and v in length; {_shapes(q, k, v)}"
        )
    if not q.dtype == k.dtype == v.dtype or not q.is_floating_point():
        raise TypeError(
            f"q, k and v must have one floating dtype; got {q.dtype}, {k.dtype}, {v.dtype}"
        )


def _shapes(q: Tensor, k: Tensor, v: Tensor) -> str:
    return f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"


def honored(
    mask: Mask | None, kinds: tuple[type[Mask], ...], name: str, instead: str
) -> Mask | None:
    """Return the mask. Raises ValueError when one of its parts is none of these kinds."""
    for part in () if mask is None else mask.parts:
        if not isinstance(part, kinds):
            honors = " and ".join(kind.__name__ for kind in kinds)
            alone = " alone" if len(kinds) == 1 else ""
            raise ValueError(
                f"mask: {name} honors {honors}{alone}; got {type(part).__name__}. {instead}"
            )
    return mask


def fitting(name: str, values: Tensor, shape: tuple[int, int, int, int]) -> Tensor:
    """Return `values` with four axes. Raises ValueError unless they broadcast to `shape`."""
    actual = tuple(values.shape)
    if not 1 <= len(actual) <= 4 or any(
        size not in (1, expected) for size, expected in zip(actual[::-1], shape[::-1], strict=False)
    ):
        raise ValueError(
            f"{name} must broadcast to (B, H, T, S) = {shape}; got shape {actual}. Each axis has "
            "that size, or 1"
        )
    return values.reshape((1,) * (4 - len(actual)) + actual)

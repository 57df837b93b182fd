"""Luna's nested attention: learned slots attend to the keys, and queries attend to the slots."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.attention.structure import StructuredAttention, all_real
from deepdive.core.checks import positive
from deepdive.core.masks import Padding
from deepdive.core.multi_head import MultiHeadAttention
from deepdive.core.softmax import SoftmaxAttention

CHUNK = 64  # positions of one product in the causal form


class NestedAttention(StructuredAttention):
    """Luna's pack and unpack attention, through `n_slots` learned vectors per head.

        packed = softmax(scale * slots @ k^T) @ v              # (B, H, n_slots, d)
        output = softmax(scale * q @ packed^T) @ packed        # (B, H, T, d)

    The cost is O((T + S) n_slots d); nothing of size T x S is computed. Here the slots are
    parameters in place of projected states; `deepdive.models.efficient.luna` passes them from layer
    to layer.

    Honours `Padding`, and `Causal` in a separate form, since a softmax over the keys would include
    later ones (`unpack_causally`): with real[t] the number of real keys up to t,

        strength[j] = softplus(scale * slots @ k[j]), base 2                    # (n_slots,)
        scores[t]   = scale / real[t] * sum over j <= t of (q[t] @ k[j]) strength[j]
        output[t]   = sum over j <= t of (softmax(scores[t]) @ strength[j]) v[j] / real[t]

    The two forms are different functions. Refuses other masks and a bias. Hook points:
    `pack.scores`, `pack.weights` (B, H, n_slots, S); `unpack.scores`, `unpack.weights`
    (B, H, T, n_slots). Under `Causal` nothing passes through those of `pack`.

    Raises ValueError when a size is not positive, or k and v differ in width.
    Source: Ma et al. 2021, equations of the packing and unpacking attention, and the causal form
    as in their code.
    """

    queries = "last if causal"

    def __init__(self, n_heads: int, n_slots: int, d_head: int, dropout: float = 0.0) -> None:
        super().__init__()
        positive(n_heads=n_heads, n_slots=n_slots, d_head=d_head)
        self.n_heads, self.d_head = n_heads, d_head
        self.slots = nn.Parameter(torch.randn(n_heads, n_slots, d_head))
        self.pack, self.unpack = SoftmaxAttention(dropout), SoftmaxAttention(dropout)

    def extra_repr(self) -> str:
        return "n_heads={}, n_slots={}, d_head={}".format(*self.slots.shape)

    def check(self, q: Tensor, k: Tensor, v: Tensor) -> None:
        """Raise ValueError unless the values have the keys' width."""
        if k.shape[-1] != v.shape[-1]:
            raise ValueError(
                f"k is {k.shape[-1]} wide and v {v.shape[-1]}: a packed state is both value and "
                "key, so the widths must be equal"
            )

    def structured(
        self, q: Tensor, k: Tensor, v: Tensor, real: Tensor | None, causal: bool, scale: float
    ) -> Tensor:
        """Return the unpacked values (B, H, T, d)."""
        slots = self.slots.expand(q.shape[0], -1, -1, -1)
        if causal:
            strength = packing_strength(slots, k, scale)
            return unpack_causally(self.unpack, q, k, v, strength, all_real(real, k), scale)
        packed = self.pack(slots, k, v, None if real is None else Padding(real), scale=scale)
        unpacked: Tensor = self.unpack(q, packed, packed, scale=scale)
        return unpacked


def packing_strength(slots: Tensor, k: Tensor, scale: float) -> Tensor:
    """Return log2(1 + 2^score) of each key for each slot, (B, H, S, n_slots): positive, and
    independent of the other keys.
    """
    return F.softplus(k @ (scale * slots).transpose(-2, -1), beta=math.log(2.0))


def unpack_causally(
    attention: SoftmaxAttention,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    strength: Tensor,
    real: Tensor,
    scale: float,
) -> Tensor:
    """Return the output of the causal form, (B, H, T, d_v), for `strength` (B, H, S, n_slots) and
    `real` bool (B or 1, S). `attention` gives the hook points and the dropout of its weights, over
    the slots.
    """
    strength = strength * real[:, None, :, None]
    n_seen = real.cumsum(1)[:, None, -q.shape[2] :, None].clamp(min=1).to(q.dtype)  # (B, 1, T, 1)
    scores = prefix_products(scale * q, k, strength) / n_seen  # (B, H, T, n_slots)
    weights = attention.dropout(attention.weights(attention.scores(scores).softmax(-1)))
    return prefix_products(weights, strength, v) / n_seen


def attend_causally(
    pack: MultiHeadAttention,
    unpack: MultiHeadAttention,
    x: Tensor,
    memory: Tensor,
    real: Tensor | None,
) -> Tensor:
    """Return what tokens x (B, T, d_model) get from those before them, (B, T, d_model), through
    `memory` (B, n_slots, d_model), which reads by `pack` and is read by `unpack`; `real` bool
    (B or 1, T).
    """
    attention, scale = unpack.mechanism, unpack.d_head**-0.5
    assert isinstance(attention, SoftmaxAttention)
    (keys, _), (k, v) = pack.keys_and_values(x), unpack.keys_and_values(x)
    strength = packing_strength(pack.queries(memory), keys, scale)
    output = unpack_causally(attention, unpack.queries(x), k, v, strength, all_real(real, k), scale)
    return unpack.output(output)


def prefix_products(x: Tensor, y: Tensor, z: Tensor, chunk: int = CHUNK) -> Tensor:
    """Return sum over j <= t of (x[t] @ y[j]) z[j], (B, H, T, b), for x (B, H, T, a), y (B, H, S,
    a) and z (B, H, S, b); row t of x is at position S - T + t.

    Inside a chunk the products are computed, and masked; of the chunks before it only the sum of
    y[j] z[j]^T is stored, a x b. Memory is O(S (a + b + chunk) + S a b / chunk).
    """
    T, S = x.shape[2], y.shape[2]
    fill = -S % chunk
    x = F.pad(x, (0, 0, S - T, fill)).unflatten(2, (-1, chunk))  # (B, H, chunks, chunk, a)
    y, z = (F.pad(states, (0, 0, 0, fill)).unflatten(2, (-1, chunk)) for states in (y, z))
    inside = (x @ y.transpose(-2, -1)).tril() @ z
    before = (y.transpose(-2, -1) @ z).cumsum(2)  # (B, H, chunks, a, b)
    before = F.pad(before[:, :, :-1], (0, 0, 0, 0, 1, 0))
    return (inside + x @ before).flatten(2, 3)[:, :, S - T : S]

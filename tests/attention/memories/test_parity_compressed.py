"""Memory-compressed attention against torch's strided convolution and fused kernel, in float64."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.attention.memories.compressed import MemoryCompressedAttention
from deepdive.core.masks import Causal, Padding


@parity(MemoryCompressedAttention)
def compressed() -> None:
    """Torch's strided convolution, head by head, and its fused kernel; causal, odd lengths."""
    for rate, S, T in ((3, 17, 17), (2, 13, 5), (4, 4, 4)):
        ours = perturb(MemoryCompressedAttention(3, 6, rate).double())
        keys = real([S, S - 3], S)
        q, k, v = rows(2, 3, T, 6), rows(2, 3, S, 6, seed=1), rows(2, 3, S, 6, seed=2)
        for causal in (False, True):
            mask = Padding(keys) & Causal() if causal else Padding(keys)
            output = ours(q, k, v, mask)
            melted = []
            for x, weight, bias in ((k, ours.k_weight, None), (v, ours.v_weight, ours.v_bias)):
                x = F.pad(x * keys[:, None, :, None], (0, 0, 0, -S % rate))
                heads = []
                for h in range(3):
                    kernel = weight[h].view(rate, 6, 6).permute(2, 1, 0)
                    shift = None if bias is None else bias[h, 0]
                    heads.append(F.conv1d(x[:, h].mT, kernel, shift, stride=rate).mT)
                melted.append(torch.stack(heads, 1))
            allowed = torch.zeros(2, 1, T, -(-S // rate)).bool()
            for b in range(2):
                for t in range(T):
                    for j in range(allowed.shape[3]):
                        members = range(j * rate, min((j + 1) * rate, S))
                        over = not causal or (j + 1) * rate - 1 <= S - T + t
                        allowed[b, 0, t, j] = over and any(keys[b, i] for i in members)
            expected = F.scaled_dot_product_attention(q, *melted, allowed)
            equal(output, expected)
            leaves = {"q": (q, q), "k": (k, k), "v": (v, v)}
            leaves |= {n: (p, p) for n, p in ours.named_parameters()}
            equal_gradients(output, expected, leaves)


def test_a_position_off_by_one_is_seen() -> None:
    melt = MemoryCompressedAttention._melt

    def shifted(self: MemoryCompressedAttention, rows: Tensor, *rest: object) -> Tensor:
        return melt(self, rows.roll(1, 2), *rest)  # type: ignore[arg-type]

    with (
        mock.patch.object(MemoryCompressedAttention, "_melt", shifted),
        pytest.raises(AssertionError),
    ):
        compressed()

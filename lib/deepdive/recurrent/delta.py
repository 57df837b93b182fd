"""The gated delta rule: linear attention whose fixed-size memory is corrected by the error. Yang,
Kautz and Hatamizadeh 2025, "Gated Delta Networks: Improving Mamba2 with Delta Rule".

    u_t = write_t (v_t - keep_t S_{t-1}^T k_t)                # the error of the value at k_t
    S_t = keep_t S_{t-1} + k_t u_t^T                          # (d_k, d_v)
    o_t = S_t^T q_t

S is read at k_t, and only the difference to v_t is written. With write = 1 and |k| = 1, reading at
k_t then returns v_t exactly. keep = 1 is the delta rule (Schlag, Irie and Schmidhuber 2021); where
the keys are also orthogonal, linear attention's plain sum.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import divides, positive
from deepdive.core.masks import Mask, describe
from deepdive.core.multi_head import split_heads
from deepdive.recurrent.state import RecurrentState, real_tokens


def delta_steps(
    q: Tensor, k: Tensor, v: Tensor, log_keep: Tensor, write: Tensor, S: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the outputs (..., T, d_v) and the memory after them, one token after the other, for q
    and k (..., T, d_k), v (..., T, d_v), log_keep and write (..., T), S (..., d_k, d_v).
    """
    outputs = []
    for t in range(q.shape[-2]):
        decayed = log_keep[..., t, None, None].exp() * S
        k_t = k[..., t, :, None]  # (..., d_k, 1)
        u = write[..., t, None, None] * (v[..., t, None, :] - k_t.mT @ decayed)  # (..., 1, d_v)
        S = decayed + k_t @ u
        outputs.append(q[..., t, None, :] @ S)
    return torch.cat(outputs, dim=-2), S


def delta_chunk(
    q: Tensor, k: Tensor, v: Tensor, log_keep: Tensor, write: Tensor, S: Tensor
) -> tuple[Tensor, Tensor]:
    """Return what `delta_steps` returns, from one triangular system for all T tokens:

        (I + write (k k^T * decay), below the diagonal) u = write (v - total k S)

    decay[t, s] is the decay from s to t, total[t] that from before the first to t.
    """
    total = log_keep.cumsum(-1)
    ones = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device)
    decay = (total.unsqueeze(-1) - total.unsqueeze(-2)).masked_fill(ones.triu(1), -torch.inf).exp()
    total, write = total.exp().unsqueeze(-1), write.unsqueeze(-1)  # (..., T, 1)
    system = (write * (k @ k.mT) * decay).tril(-1)
    target = write * (v - total * (k @ S))
    u = torch.linalg.solve_triangular(system, target, upper=False, unitriangular=True)
    output = total * (q @ S) + (q @ k.mT * decay) @ u
    last = decay[..., -1, :].unsqueeze(-1)  # from each token to the end
    return output, total[..., -1:, :] * S + (last * k).mT @ u


class GatedDelta(nn.Module):
    """Gated DeltaNet layer: n_heads memories, updated by the gated delta rule.

        q, k = unit(x @ W_q), unit(x @ W_k);  v = x @ W_v                   # (B, H, T, d_head)
        write = sigmoid(x @ W_w);  log keep = -rate * softplus(x @ W_g + b)        # (B, H, T)

    The sequence is processed in chunks of `chunk` (`delta_chunk`). Padding leaves the memory
    unchanged. The memory, d_head ** 2 numbers per head, does not grow with the text. The paper's
    layer also has short convolutions before q, k and v, and an output gate.
    Source: Yang, Kautz and Hatamizadeh 2025, equation 10 and section 3.4.
    """

    def __init__(self, d_model: int, n_heads: int, *, chunk: int = 64) -> None:
        super().__init__()
        divides(n_heads=n_heads, d_model=d_model)
        positive(chunk=chunk)
        self.d_model, self.n_heads, self.chunk = d_model, n_heads, chunk
        self.q, self.k, self.v, self.out = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )
        self.write, self.gate = nn.Linear(d_model, n_heads, bias=False), nn.Linear(d_model, n_heads)
        self.log_rate = nn.Parameter(torch.zeros(n_heads))

    def forward(
        self, x: Tensor, mask: Mask | Tensor | None = None, state: RecurrentState | None = None
    ) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model). `state` is the initial state, an empty
        memory by default; it is updated. The mask is that of `deepdive.recurrent.RNN`.
        """
        if x.ndim != 3 or x.shape[-1] != self.d_model or 0 in x.shape:
            raise ValueError(f"x must be floats (B, T, {self.d_model}); got {describe(x)}")
        real, state = real_tokens(mask, x), RecurrentState() if state is None else state
        q, k, v = (split_heads(part(x), self.n_heads) for part in (self.q, self.k, self.v))
        write = self.write(x).sigmoid().mT  # (B, H, T)
        log_keep = -self.log_rate.exp().unsqueeze(-1) * F.softplus(self.gate(x)).mT
        if real is not None:
            write, log_keep = (part * real.unsqueeze(1) for part in (write, log_keep))
        parts = [F.normalize(q, dim=-1), F.normalize(k, dim=-1), v, log_keep, write]
        if x.dtype in (torch.float16, torch.bfloat16):
            parts = [part.float() for part in parts]
        S, outputs = self._memory(parts[2], state), []
        for first in range(0, x.shape[1], self.chunk):
            inputs = [part[:, :, first : first + self.chunk] for part in parts]
            output, S = delta_chunk(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4], S)
            outputs.append(output)
        state.values = (S,)
        y: Tensor = self.out(torch.cat(outputs, 2).to(x.dtype).transpose(1, 2).flatten(2))
        return y

    def _memory(self, v: Tensor, state: RecurrentState) -> Tensor:
        """Return the initial memory (B, H, d_head, d_head) for v (B, H, T, d_head)."""
        B, H, _, d = v.shape
        if state.values is None:
            return v.new_zeros(B, H, d, d)
        if len(state.values) != 1 or state.values[0].shape != (B, H, d, d):
            got = ", ".join(describe(value) for value in state.values)
            raise ValueError(
                f"state: GatedDelta carries one tensor {(B, H, d, d)}; got {got}. The "
                "initial state must match the layer's type, width, and batch size"
            )
        return state.values[0]

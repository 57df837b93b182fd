"""Longformer attention: sliding windows, and global tokens with separate projections."""

import torch
from torch import Tensor, nn

from deepdive._fast.longformer import mixed_rows, scores_of_rows
from deepdive.attention.by_position.global_window import GlobalWindowAttention, slots
from deepdive.attention.structure import read_mask
from deepdive.core.checks import not_negative, positive
from deepdive.core.context import Context
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import Padding
from deepdive.core.multi_head import MultiHeadAttention, split_heads


class LongformerAttention(MultiHeadAttention):
    """Multi-head attention with sliding windows, and global tokens with their own projections.

        tokens:         q, k, v from x               # window and global tokens, one softmax
        global tokens:  q', k', v' = split(x W')     # every token; replaces their output
        output = join(heads) @ W_out

    `window` keys are on each side. Global are the positions `at` and the `global_tokens` of the
    context, bool (B, T). Every token has a key k' and a value v', but they are computed
    only while `global_weights` has a hook (`deepdive._fast.longformer`).

    Hook points: those of MultiHeadAttention (in `mechanism.weights` those of global tokens are
    from the shared projections), `global_weights` (B, H, n_global, T).

    Self-attention only. Raises ValueError for a memory, a bias, a cache and any mask but `Padding`.
    Source: Beltagy et al. 2020, section 3.1, "linear projections for global attention".
    """

    mechanism: GlobalWindowAttention

    reads = ("mask", "positions", "global_tokens")
    instead = (
        "a global token attends to all, also later tokens: use MultiHeadAttention for a memory, "
        "a bias, and decoding"
    )

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        window: int,
        at: tuple[int, ...] = (),
        *,
        bias: bool = True,
        dropout: float = 0.0,
        block: int | None = None,
    ) -> None:
        positive(d_model=d_model, n_heads=n_heads)
        not_negative(window=window)
        mechanism = GlobalWindowAttention(window, window, at, block=block, dropout=dropout)
        super().__init__(d_model, n_heads, bias=bias, mechanism=mechanism)
        self.global_q = nn.Linear(d_model, d_model, bias=bias)
        self.global_kv = nn.Linear(d_model, 2 * d_model, bias=bias)
        self.global_weights = HookPoint()
        self.start_global()

    def start_global(self) -> None:
        """Initialize the global projections from copies of the others, as in the paper."""
        with torch.no_grad():
            for new, old in ((self.global_q, self.q), (self.global_kv, self.kv)):
                for copy, parameter in zip(new.parameters(), old.parameters(), strict=True):
                    copy.copy_(parameter)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        """Return (B, T, d_model) for x (B, T, d_model); positions are not read."""
        self.check_context(x, context)
        mechanism = self.mechanism
        q, (k, v) = self.queries(x), self.keys_and_values(x)
        real, _ = read_mask(context.mask, k, "LongformerAttention", causal=False)
        chosen = mechanism.everywhere(context.global_tokens, real, k)
        v, scale = self.values(v), mechanism.default_scale(self.d_head)
        if mechanism.scores.listening or mechanism.weights.listening:
            mask = None if real is None else Padding(real)
            mixed = mechanism(q, k, v, mask, None, scale, global_tokens=chosen)
        else:
            mixed = mechanism.local(q, k, v, real, chosen, scale)
        global_tokens = slots(chosen)
        if global_tokens.at.shape[1] or self.global_weights.listening:
            mixed = global_tokens.put(mixed, self._global_rows(x, global_tokens.at, real, scale))
        return self.output(mixed)

    def _global_rows(self, x: Tensor, at: Tensor, real: Tensor | None, scale: float) -> Tensor:
        """Return the output of the tokens `at` (B, g), which attend to all, (B, H, g, d_head)."""
        mechanism = self.mechanism
        tokens = x.gather(1, at.unsqueeze(-1).expand(-1, -1, self.d_model))
        q = split_heads(self.global_q(tokens), self.n_heads)  # (B, H, g, d_head)
        allowed = None if real is None else real[:, None, None]
        if self.global_weights.listening:
            k, v = split_heads(self.global_kv(x), 2 * self.n_heads).chunk(2, dim=1)
            weights = self.global_weights(mechanism.weigh((scale * q) @ k.mT, allowed))
            return mechanism.dropout(weights) @ v
        scores = scores_of_rows(q, x, self.global_kv, scale)
        return mixed_rows(mechanism.dropout(mechanism.weigh(scores, allowed)), x, self.global_kv)

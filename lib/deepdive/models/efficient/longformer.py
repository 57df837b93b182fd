"""Longformer: an encoder with sliding-window and global attention. Beltagy et al. 2020,
"Longformer: The Long-Document Transformer".

It is RoBERTa except for its attention and maximum length; the published models continued from
RoBERTa's weights. For the paper's causal models: `deepdive.attention.DilatedAttention`.

System: longformer
Parent: roberta
What differs:
- a token attends to itself and `window` / 2 on each side (`LongformerAttention`), per layer
- a few global tokens, chosen by the task, attend to all and are attended to by all (`Longformer`,
  `global_tokens`)
- global attention has its own query, key, and value projections (`global_q`, `global_kv`),
  initialized as copies of the others (`longformer`); the model has 4,096 positions (`max_length`)
Source: Beltagy et al. 2020, sections 3 and 5, and their released code.
Book: 5.2.2.1
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from deepdive.attention import LongformerAttention
from deepdive.models.bert import roberta
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert


class Longformer(Bert):
    """Tokens (B, T) -> states (B, T, d_model), whose receptive field is one window in the first
    layer, and grows with each layer.
    """

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        global_tokens: Tensor | None = None,
    ) -> Tensor:
        """Return the states of `tokens`; `mask` bool (B, T), True = real token; `segments` int
        (B, T), None = all 0; `global_tokens` bool (B, T), True = global attention.
        """
        return self.states(tokens, mask, segments, global_tokens=global_tokens)


@dataclass(frozen=True)
class LongformerConfig(EncoderConfig):
    """`window`: attention window in tokens, both sides counted; one number, or one per layer."""

    window: int | tuple[int, ...] = 512


def side(window: int | tuple[int, ...], n_layers: int, layer: int) -> int:
    """Return how many tokens a layer attends to on each side, from one `window` for all layers or
    one for each. Raises ValueError for odd windows.
    """
    windows = (window,) * n_layers if isinstance(window, int) else window
    if len(windows) != n_layers:
        raise ValueError(f"window has {len(windows)} values for {n_layers} layers")
    if windows[layer] < 2 or windows[layer] % 2:
        raise ValueError(f"window={windows[layer]} counts both sides: even, and at least 2")
    return windows[layer] // 2


def window_attention(config: LongformerConfig, layer: int) -> nn.Module:
    """Return one layer's attention: a window, and global tokens with their own projections."""
    sizes = config.d_model, config.n_heads, side(config.window, config.n_layers, layer)
    return LongformerAttention(*sizes, dropout=config.weights_dropout)


BASE = LongformerConfig(
    **vars(roberta.BASE)
    | {"max_length": 4096, "attention": window_attention, "model": Longformer}
    | {"family": "longformer"}
)
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096)
TINY = BASE.but(**TOY, window=(4, 2))


def longformer(config: LongformerConfig = BASE, **changes: Any) -> Longformer:
    """Build an encoder; defaults are the paper's base model. Global projections start as copies."""
    model = bert(config, **changes)
    for part in model.modules():
        if isinstance(part, LongformerAttention):
            part.start_global()
    return model  # type: ignore[return-value]

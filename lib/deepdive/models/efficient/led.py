"""LED: Longformer-Encoder-Decoder, a BART for long inputs. Beltagy et al. 2020,
"Longformer: The Long-Document Transformer", section 7.

System: led
Parent: bart
What differs:
- an encoder token attends to `window` / 2 tokens on each side; the first is global, as Longformer's
  (`n_global`, `LongformerAttention`): a cost of T * window, not T^2
- the encoder has 16,384 positions, initialized as copies of BART's 1,024 (`max_length`); BART's
  decoder is unchanged, and keeps its own number (`max_written`)
- the position tables have no reserved rows at the start (`led`)
Source: Beltagy et al. 2020, section 7, and their released code.
Book: 5.2.2.1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import nn

from deepdive.attention import LongformerAttention
from deepdive.models.efficient.longformer import side
from deepdive.models.generative import bart
from deepdive.models.generative.bart import BartConfig, NormedPosition
from deepdive.models.transformer.translator import TOY, Translator
from deepdive.positions import LearnedPosition


@dataclass(frozen=True)
class LedConfig(BartConfig):
    """Hyperparameters of a BART for long texts.

    window       attention window in tokens, both sides counted; one number, or one per layer
    n_global     how many tokens, from the first, have global attention
    max_written  positions of the decoder
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = (*BartConfig.MAY_BE_ZERO, "n_global")

    window: int | tuple[int, ...] = 1024
    n_global: int = 1
    max_written: int = 1024


def local(config: LedConfig, layer: int) -> nn.Module:
    """Return the attention of an encoder layer."""
    local, first = side(config.window, config.n_layers, layer), tuple(range(config.n_global))
    return LongformerAttention(
        config.d_model, config.n_heads, local, first, dropout=config.attention_dropout
    )


BASE = LedConfig(**vars(bart.BASE) | {"attention": local, "family": "led", "max_length": 16_384})
LARGE = BASE.but(
    d_model=1024, n_layers=12, n_decoder_layers=12, n_heads=16, n_decoder_heads=16, d_ff=4096,
    d_decoder_ff=4096,
)  # fmt: skip
TINY = BASE.but(**TOY, max_length=64, max_written=48, window=(4, 8), dropout=0.0)


def led(config: LedConfig = BASE, **changes: Any) -> Translator:
    """Build an encoder-decoder; defaults are led-base's. Global projections are initialized as
    copies of the others.
    """
    config = LedConfig.given(config, changes)
    model = bart.bart(config)
    for half, places in ((model.encoder, config.max_length), (model.decoder, config.max_written)):
        half.position = NormedPosition(LearnedPosition(places, config.d_model), config.d_model)
    for part in model.encoder.modules():
        if isinstance(part, LongformerAttention):
            part.start_global()
    return model

"""LED, the Longformer that writes: BART with an encoder for long texts. Beltagy et al. 2020,
"Longformer: The Long-Document Transformer", section 7.

System: led
Parent: bart
What differs:
- a token of the encoder sees `window` / 2 on each side, and the first one sees all and is seen by
  all (`n_global`), as Longformer's (`LongformerAttention`): a cost of T * window, not T^2
- the encoder has 16,384 places, begun as copies of BART's 1,024 (`max_length`); the decoder, which
  is BART's, keeps its own number (`max_written`)
- the tables have no reserved rows in front (`led`)
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
    """The numbers of a BART for long texts.

    window       how many tokens one sees, both sides counted; one number, or one a layer
    n_global     how many tokens, from the first, see all and are seen by all
    max_written  places of the decoder
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = (*BartConfig.MAY_BE_ZERO, "n_global")

    window: int | tuple[int, ...] = 1024
    n_global: int = 1
    max_written: int = 1024


def local(config: LedConfig, layer: int) -> nn.Module:
    """Return the attention of a layer of the encoder."""
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
    """Build an encoder and a decoder; defaults are led-base's. Global projections start as copies
    of the others.
    """
    config = LedConfig.given(config, changes)
    model = bart.bart(config)
    for half, places in ((model.encoder, config.max_length), (model.decoder, config.max_written)):
        half.position = NormedPosition(LearnedPosition(places, config.d_model), config.d_model)
    for part in model.encoder.modules():
        if isinstance(part, LongformerAttention):
            part.start_global()
    return model

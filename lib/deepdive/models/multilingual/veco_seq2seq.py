"""VECO that writes: an encoder and a decoder that begin with the same weights. Luo et al. 2021.

System: multilingual_nlg
Parent: multilingual_transformer
What differs:
- writing is learned before any task, from texts alone: hidden halves (`split_masked_span`, MASS),
  hidden spans (`corrupt_spans`, mT5), damaged texts (`infill`, mBART:
  `deepdive.models.generative.mbart`)
- pairs, where there are some, are one more lesson: XNLG also writes translations (`xnlg_loss`)
- VECO fills gaps, alone and beside the translation (`plugged_loss`); its encoder, with a mask that
  hides what follows, is the decoder (`VecoDecoder`, `veco_encoder_decoder`)
- no row for a language is added; mBART's and XNLG's first token says which (`language_prefix`)
Source: Song et al. 2019; Chi et al. 2020; Liu et al. 2020; Luo et al. 2021; Xue et al. 2021.
Book: 4.1.4
"""

import copy

from torch import Tensor, nn

from deepdive.core.cache import KVCache
from deepdive.core.embeddings import TiedHead, check_tokens
from deepdive.core.masks import Causal, Mask, Padding, both, padding
from deepdive.models.multilingual.veco import Veco
from deepdive.models.transformer.transformer import Transformer


class VecoDecoder(nn.Module):
    """A `Veco` plugged in, in which a token sees itself and those before it."""

    def __init__(self, model: Veco) -> None:
        super().__init__()
        self.embeddings, self.stack = model.embeddings, model.stack

    def forward(
        self,
        tokens: Tensor,
        memory: Tensor | None = None,
        mask: Tensor | Padding | None = None,
        memory_mask: Mask | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the states of `tokens`, which continue what the `cache` holds."""
        check_tokens(tokens)
        start = 0 if cache is None else cache.length
        real = padding(mask, tokens, "tgt_mask")
        positions = self.embeddings.positions(tokens, None if real is None else real.real) + start
        x = self.embeddings(tokens, None, positions)
        states: Tensor = self.stack(
            x, mask=both(Causal(), real), memory=memory, memory_mask=memory_mask, cache=cache
        )
        return states


def veco_encoder_decoder(model: Veco) -> Transformer:
    """Return a translator that begins as `model`: plugged out it reads, and a copy, plugged in,
    writes; the copy's embedding scores the tokens.
    """
    decoder = VecoDecoder(copy.deepcopy(model))
    return Transformer(model, decoder, TiedHead(decoder.embeddings.tokens))

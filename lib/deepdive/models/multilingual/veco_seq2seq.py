"""VECO for generation: an encoder and decoder initialized with the same weights. Luo et al. 2021.

System: multilingual_nlg
Parent: multilingual_transformer
What differs:
- generation is pretrained on monolingual text: masked halves (`split_masked_span`, MASS), span
  corruption (`corrupt_spans`, mT5), denoising (`infill`, mBART:
  `deepdive.models.generative.mbart`)
- translation pairs, if available, add an objective: XNLG also generates translations (`xnlg_loss`)
- VECO's MLM predicts alone and given the translation (`plugged_loss`); its encoder, with a causal
  mask, is the decoder (`VecoDecoder`, `veco_encoder_decoder`)
- no language embeddings; the first token of mBART and XNLG gives the language (`language_prefix`)
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
    """A `Veco` with cross-attention and a causal mask."""

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
        """Return the states of `tokens`, which continue those in the `cache`."""
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
    """Return a translator initialized from `model`: the encoder is plugged out, the decoder a copy
    plugged in; the decoder's embedding scores the tokens.
    """
    decoder = VecoDecoder(copy.deepcopy(model))
    return Transformer(model, decoder, TiedHead(decoder.embeddings.tokens))

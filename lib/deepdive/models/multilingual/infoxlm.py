"""InfoXLM: cross-lingual pretraining with a contrastive loss on translations, whose keys come from
a momentum encoder. Chi et al. 2021, "InfoXLM: An Information-Theoretic Framework for
Cross-Lingual Language Model Pre-Training".

    loss = masked language modeling + the same on joined translations + contrast

System: infoxlm
Parent: xlmr
What differs:
- in addition to MLM, contrastive learning of sentences: each must match its translation among those
  of the batch and of a queue (`translation_contrast`, `KeyQueue`)
- the translations' states come from a teacher that is the encoder's moving average
  (`deepdive.training.objectives.ema_update`)
- the sentence vector is the first token's state below the last layer: 8 of 12 (`sentence_state`)
- pairs are concatenated with other pairs, so that sentence boundaries give nothing away
  (`mix_translations`)
Source: Chi et al. 2021, sections 3.3 and 3.4, and their released code.
Book: 4.1.2.6
"""

from torch import Tensor

from deepdive.core.masks import padding
from deepdive.models.bert.bert import Bert


def sentence_state(encoder: Bert, layer: int, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the first token's state after `layer` layers, (B, d_model); later ones are not run.

    tokens: (B, T); mask bool (B, T), True = real. Raises ValueError for a layer that is not there.

    Source: Chi et al. 2021, section 3.3, "contrast on universal layer".
    """
    blocks = list(encoder.stack.blocks)
    if not 0 <= layer <= len(blocks):
        raise ValueError(f"layer={layer}: expected 0 (the embeddings) to {len(blocks)}")
    real = padding(mask, tokens, "mask")
    x = encoder.embeddings(tokens, None, encoder.embeddings.positions(tokens, mask))
    for block in blocks[:layer]:
        x = block(x, mask=real)
    return x[:, 0]

"""InfoXLM: a sentence's state knows its translation's among many others, which a slowly moving copy
of the encoder made. Chi et al. 2021, "InfoXLM: An Information-Theoretic Framework for
Cross-Lingual Language Model Pre-Training".

    loss = masked language modelling + the same on joined translations + contrast

System: infoxlm
Parent: xlmr
What differs:
- beside gaps it has whole sentences to tell apart: each finds its translation among those of the
  batch and of a queue (`translation_contrast`, `KeyQueue`)
- the translations' states come from a teacher that is the encoder's moving average
  (`deepdive.training.objectives.ema_update`)
- the state is that of the first token in a layer below the last: 8 of 12 (`sentence_state`)
- pairs are joined with other pairs, so that where a sentence ends is not given away
  (`mix_translations`)
Source: Chi et al. 2021, sections 3.3 and 3.4, and their released code.
Book: 4.1.2.6
"""

from torch import Tensor

from deepdive.core.masks import padding
from deepdive.models.bert.bert import Bert


def sentence_state(encoder: Bert, layer: int, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the first token's state after `layer` layers, (B, d_model): those above are not run.

    tokens: (B, T); mask bool (B, T), True = real. Raises ValueError for a layer that is not there.

    Source: Chi et al. 2021, section 3.3, "contrast on universal layer".
    """
    blocks = list(encoder.stack.blocks)
    if not 0 <= layer <= len(blocks):
        raise ValueError(f"layer={layer}: the encoder has {len(blocks)}; 0 are the embeddings")
    real = padding(mask, tokens, "mask")
    x = encoder.embeddings(tokens, None, encoder.embeddings.positions(tokens, mask))
    for block in blocks[:layer]:
        x = block(x, mask=real)
    return x[:, 0]

"""ByT5: a byte-level T5. Xue et al. 2022, "ByT5: Towards a Token-Free Future with Pre-trained
Byte-to-Byte Models".

System: byt5
Parent: t5
What differs:
- the vocabulary is padding, end, and unknown token, then the 256 bytes (`vocab_size`, padded to
  384; `deepdive.tokenizers.ByteTokenizer`): no text is out of vocabulary
- mT5's architecture (`V1_1`); the parameters of its 250,000-token vocabulary go to the layers
  (`d_model`, `d_ff`)
- a byte carries little information, so the encoder is three times as deep as the decoder
  (`n_layers`, `n_decoder_layers`)
- masked spans are 20 bytes long on average (`MEAN_SPAN`), and their sentinels are the last bytes,
  descending from `SENTINEL`: UTF-8 rarely uses them
Source: Xue et al. 2022, section 3.1 and table 1.
Book: 6.1.2.1
"""

from typing import Any

from deepdive.models.generative.t5 import T5, TINY_V1_1, V1_1, t5
from deepdive.models.generative.t5_config import T5Config

SENTINEL, MEAN_SPAN = 258, 20.0
BASE = V1_1.but(  # byt5-small: 299.6 M parameters
    vocab_size=384, d_model=1472, n_heads=6, n_layers=12, n_decoder_layers=4, d_ff=3584
)
TINY = TINY_V1_1.but(vocab_size=384, n_layers=3)


def byt5(config: T5Config = BASE, **changes: Any) -> T5:
    """Build a byte-level T5; defaults are byt5-small's."""
    return t5(config, **changes)

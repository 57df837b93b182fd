"""Speech2Text2: a pretrained wav2vec 2.0 encoder with a Transformer decoder. Wang et al. 2021,
"Large-Scale Self- and Semi-Supervised Learning for Speech Translation".

System: speech2text2
Parent: speech2text
What differs:
- the encoder was pretrained without text, such as wav2vec 2.0 (`encoder`); if its states have
  another width, a linear layer projects them to the decoder's (`Projection`)
- the decoder is the original Transformer's: post-norm, as FSMT's
  (`deepdive.models.transformer.translator`)
Source: Wang et al. 2021, section 2.2, and their released code.
Book: 6.3.2
"""

from typing import Any

from torch import nn

from deepdive.core.embeddings import TiedHead
from deepdive.models.speech.speech2text import Speech2Text
from deepdive.models.speech.speech_encoder import Projection
from deepdive.models.transformer.fsmt import sinusoids
from deepdive.models.transformer.translator import translator
from deepdive.models.transformer.translator_config import TranslatorConfig


def one_vocabulary(config: TranslatorConfig) -> tuple[Any, Any, Any]:
    """Return an embedding of the output tokens, and a head tied to it."""
    embedding = config.embedding(config.src_vocab)
    return embedding, embedding, TiedHead(embedding)


BASE = TranslatorConfig(
    one_vocabulary, sinusoids, "speech_to_text_2", src_vocab=10_000, d_model=256, n_layers=0,
    n_heads=4, n_decoder_heads=4, pad=1, start=2, end=2,
)  # fmt: skip
TINY = BASE.but(src_vocab=32, d_model=32, n_decoder_layers=2, d_decoder_ff=48, dropout=0.0)


def speech2text2(
    encoder: nn.Module, d_encoder: int = 1024, config: TranslatorConfig = BASE, **changes: Any
) -> Speech2Text:
    """Build a decoder on an `encoder` whose states have width d_encoder, by default that of the
    large wav2vec 2.0: `speech2text2(wav2vec2(LARGE))`.
    """
    config = TranslatorConfig.given(config, changes)
    writer = translator(config)
    projection = Projection(encoder, d_encoder, config.d_model)
    return Speech2Text(projection, writer.decoder, writer.head, config)

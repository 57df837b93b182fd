"""FSMT: Facebook FAIR's Transformer for WMT19. Ng et al. 2019, "Facebook FAIR's WMT19 News
Translation Task Submission".

Positions count from the start of the sequence, with padding at its end. The forward pass is that of
`Transformer`; `deepdive.published.load` loads FSMTForConditionalGeneration.

System: fsmt
Parent: transformer
What differs:
- source and target have separate vocabularies, and the output layer isn't tied to an embedding
  (`nn.Linear` without bias)
- positions count from 2; their sines and cosines are in two blocks, with wavelengths spaced as in
  tensor2tensor (`BlockedSinusoidalPosition(steps=d_model / 2 - 1, offset=2)`)
- feed-forward layers are twice as wide (`BASE`), and encoder and decoder sizes may differ
  (`TranslatorConfig`)
- decoding starts with the end-of-sequence token (`decoding.published`)
Source: Ng et al. 2019, section 3.
Book: 2.4
"""

from typing import Any

from torch import nn

from deepdive.core.embeddings import TokenEmbedding
from deepdive.models.transformer.translator import TOY, Translator, translator
from deepdive.models.transformer.translator_config import TranslatorConfig
from deepdive.positions import BlockedSinusoidalPosition


def separate(config: TranslatorConfig) -> tuple[TokenEmbedding, TokenEmbedding, nn.Module]:
    """Return source embedding, target embedding, and output layer, with no shared weights."""
    head = nn.Linear(config.d_model, config.tgt_vocab or config.src_vocab, bias=False)
    nn.init.normal_(head.weight, std=config.d_model**-0.5)
    return config.embedding(config.src_vocab), config.embedding(config.tgt_vocab), head


def sinusoids(config: TranslatorConfig) -> BlockedSinusoidalPosition:
    """Return sinusoidal positions that count from the index after the padding token's."""
    d_model = config.d_model
    if d_model < 4:
        raise ValueError(
            f"d_model={d_model}: expected 4 or more, since FSMT's frequencies are spaced by "
            "base ** (1 / (d_model / 2 - 1))"
        )
    return BlockedSinusoidalPosition(d_model, steps=d_model / 2 - 1, offset=config.padding + 1)


BASE = TranslatorConfig(  # wmt19-en-de and its three sisters
    separate, sinusoids, "fsmt", src_vocab=42_024, tgt_vocab=42_024, d_model=1024, n_heads=16,
    n_decoder_heads=16, d_ff=8192, d_decoder_ff=8192, pad=1, start=2, end=2,
)  # fmt: skip
TINY = BASE.but(**TOY, tgt_vocab=36)


def fsmt(config: TranslatorConfig = BASE, **changes: Any) -> Translator:
    """Build a translation model; defaults are wmt19-en-de's."""
    return translator(config, **changes)

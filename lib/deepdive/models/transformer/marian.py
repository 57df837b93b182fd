"""Marian: the Transformer of the OPUS-MT translation models. Junczys-Dowmunt et al. 2018, "Marian:
Fast Neural Machine Translation in C++"; Tiedemann and Thottingal 2020, "OPUS-MT".

Parent: the Transformer (`deepdive.models.transformer.transformer.Transformer`, same forward pass).
What differs:
- position encodings are a block of sines and a block of cosines (`BlockedSinusoidalPosition`);
- the activation is swish (`activation`), where the paper has ReLU;
- the output layer has a bias (`tied`);
- encoder and decoder may differ in size (`TranslatorConfig`);
- decoding starts with the padding token, which is never generated (`decoding.published`).

Book: section 2.4. Checkpoints: MarianMTModel, such as Helsinki-NLP/opus-mt-en-fr.
"""

from typing import Any

import torch.nn.functional as F
from torch import nn

from deepdive.core import relu
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.models.transformer.translator import TOY, Translator, translator
from deepdive.models.transformer.translator_config import TranslatorConfig
from deepdive.positions import BlockedSinusoidalPosition

Vocabularies = tuple[TokenEmbedding, TokenEmbedding, nn.Module]


def tied(config: TranslatorConfig) -> Vocabularies:
    """Return source and target embeddings, shared unless `tgt_vocab` is given, and an output layer
    tied to the target embedding: logits = x @ weight.T + bias.
    """
    source = config.embedding(config.src_vocab)
    target = source if config.tgt_vocab is None else config.embedding(config.tgt_vocab)
    return source, target, TiedHead(target, bias=True)


def untied(config: TranslatorConfig) -> Vocabularies:
    """Return source and target embeddings, and an untied output layer."""
    source, target, _ = tied(config)
    return source, target, nn.Linear(config.d_model, target.vocab_size)


def sinusoids(config: TranslatorConfig) -> BlockedSinusoidalPosition:
    return BlockedSinusoidalPosition(config.d_model)


# opus-mt-en-de: 73.9 M parameters, one vocabulary shared by both languages
BASE = TranslatorConfig(tied, sinusoids, "marian", src_vocab=58_101, activation=F.silu)
BIG = BASE.but(  # the opus-mt-tc-big family: twice as wide, with ReLU
    src_vocab=53_017, d_model=1024, n_heads=16, n_decoder_heads=16, d_ff=4096, d_decoder_ff=4096,
    activation=relu,
)  # fmt: skip
TINY = BASE.but(**TOY)


def marian(config: TranslatorConfig = BASE, **changes: Any) -> Translator:
    """Build a translation model; defaults are opus-mt-en-de's."""
    return translator(config, **changes)

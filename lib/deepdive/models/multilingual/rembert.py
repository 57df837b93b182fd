"""RemBERT: BERT with decoupled input and output embeddings. Chung et al. 2021,
"Rethinking Embedding Coupling in Pre-trained Language Models".

With 250,300 subword tokens, half of a multilingual encoder's parameters are in its embedding. Here
input embeddings are narrow, and the savings go into layers; the output embedding is wide, and
discarded after pretraining.

System: rembert
Parent: mbert
What differs:
- input embeddings have width `d_embedding`, and a matrix projects them to d_model
  (`FactorizedEmbeddings`, as ALBERT's)
- a separate output embedding, `d_output` wide, more than d_model, scores tokens (`for_masked_lm`)
- 32 layers, 1,152 wide, one vocabulary of 250,300 subword tokens for 110 languages (`BASE`)
Source: Chung et al. 2021, and the released model.
Book: blog
"""

from dataclasses import dataclass
from typing import Any

from deepdive.core.embeddings import TokenEmbedding
from deepdive.layers.heads import MaskedHead, initialize
from deepdive.models.bert.albert import FactorizedEmbeddings
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.pretraining import BertForMaskedLM


@dataclass(frozen=True)
class RemBertConfig(EncoderConfig):
    """d_embedding  width of the input embeddings
    d_output     width of the output embeddings that score masked tokens
    """

    d_embedding: int = 256
    d_output: int = 1664


BASE = RemBertConfig(
    vocab_size=250_300, d_model=1152, n_heads=18, n_layers=32, d_ff=4608, dropout=0.0,
    embeddings=FactorizedEmbeddings, family="rembert",
)  # fmt: skip
TINY = BASE.but(**TOY | {"d_embedding": 8, "d_output": 48})


def rembert(config: RemBertConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder, without the output embedding; defaults are the paper's model."""
    return bert(config, **changes)


def for_masked_lm(encoder: Bert) -> BertForMaskedLM:
    """Add the MLM head to an encoder: logits = norm(activation(dense(x))) @ output.T +
    bias, where `output` (vocab_size, d_output) is not part of the encoder.
    """
    config = encoder.config
    assert isinstance(config, RemBertConfig), "the encoder was built by `rembert`"
    output = TokenEmbedding(config.vocab_size, config.d_output)
    initialize(output)
    head = MaskedHead(output, config.d_model, config.activation, config.eps)
    return BertForMaskedLM(encoder, head)

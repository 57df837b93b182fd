"""RemBERT: what reads the words and what scores them are no longer one matrix. Chung et al. 2021,
"Rethinking Embedding Coupling in Pre-trained Language Models".

With 250,300 pieces half of a multilingual encoder's numbers lie in its embedding. Here its rows are
narrow, and what is saved goes into layers; the matrix that scores gaps is wide, and thrown away
after pre-training.

System: rembert
Parent: mbert
What differs:
- rows of the embedding are `d_embedding` wide, and a matrix brings them to the stream's width
  (`FactorisedEmbeddings`, as ALBERT's)
- gaps are scored by a matrix of its own, `d_output` wide, wider than the stream (`for_masked_lm`)
- 32 layers, 1,152 wide, one vocabulary of 250,300 pieces for 110 languages (`BASE`)
Source: Chung et al. 2021, and the released model.
Book: blog
"""

from dataclasses import dataclass
from typing import Any

from deepdive.core.embeddings import TokenEmbedding
from deepdive.layers.heads import MaskedHead, initialise
from deepdive.models.bert.albert import FactorisedEmbeddings
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.pretraining import BertForMaskedLM


@dataclass(frozen=True)
class RemBertConfig(EncoderConfig):
    """d_embedding  how wide the rows are that enter
    d_output     how wide the rows are that score gaps
    """

    d_embedding: int = 256
    d_output: int = 1664


BASE = RemBertConfig(
    vocab_size=250_300, d_model=1152, n_heads=18, n_layers=32, d_ff=4608, dropout=0.0,
    embeddings=FactorisedEmbeddings, family="rembert",
)  # fmt: skip
TINY = BASE.but(**TOY | {"d_embedding": 8, "d_output": 48})


def rembert(config: RemBertConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder, without the matrix that scores; defaults are the paper's model."""
    return bert(config, **changes)


def for_masked_lm(encoder: Bert) -> BertForMaskedLM:
    """Put the head that fills gaps on an encoder: logits = norm(activation(dense(x))) @ output.T +
    bias, where `output` (vocab_size, d_output) is no part of the encoder.
    """
    config = encoder.config
    assert isinstance(config, RemBertConfig), "the encoder was built by `rembert`"
    output = TokenEmbedding(config.vocab_size, config.d_output)
    initialise(output)
    head = MaskedHead(output, config.d_model, config.activation, config.eps)
    return BertForMaskedLM(encoder, head)

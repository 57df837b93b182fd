"""ELECTRA: BERT pretrained with replaced token detection. Clark et al. 2020, "ELECTRA: Pre-training
Text Encoders as Discriminators Rather Than Generators".

A small generator predicts masked tokens, and the encoder, the discriminator, classifies every token
as original or replaced. The generator is discarded after pretraining. Their joint loss is
`deepdive.training.objectives.replaced_token_detection`.

Long because two networks are trained, and the generator is built here too.

System: electra
Parent: bert
What differs:
- every token is classified as original or replaced, not only the 15 % that were masked
  (`ElectraDiscriminator`)
- a second, narrower encoder generates the replacements; both share token, position, and segment
  embeddings (`Electra`, `pair`)
- embeddings may be narrower than d_model, and are then projected (`FactorizedEmbeddings`)
Source: Clark et al. 2020, sections 2 and 3 and table 6, and their released code.
Book: 5.3.1
"""

from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from deepdive.layers.heads import MaskedHead
from deepdive.models.bert.albert import FactorizedEmbeddings
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.models.bert.pretraining import BertForMaskedLM, ElectraDiscriminator


@dataclass(frozen=True)
class ElectraConfig(EncoderConfig):
    """BERT's config with `d_embedding`, the width of the embedding tables (None: d_model), and
    `narrower`, by which the generator's d_model, n_heads and d_ff are divided.
    """

    d_embedding: int | None = None
    narrower: int = 4


BASE = ElectraConfig(narrower=3, family="electra")
SMALL = BASE.but(d_embedding=128, d_model=256, n_heads=4, d_ff=1024, narrower=4)
LARGE = BASE.but(d_model=1024, n_heads=16, n_layers=24, d_ff=4096, narrower=4)
TINY = BASE.but(**TOY | {"d_embedding": 16, "narrower": 2})


def electra(config: ElectraConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder without a head; defaults are the paper's base model."""
    config = ElectraConfig.given(config, changes)
    config = config.but(d_embedding=config.d_embedding or config.d_model)
    if config.d_embedding != config.d_model:
        config = config.but(embeddings=FactorizedEmbeddings)
    return bert(config)


def is_masked_lm(encoder: Bert) -> BertForMaskedLM:
    """Add the generator's head to an encoder: BERT's, with GELU as activation in every size."""
    config = encoder.config
    head = MaskedHead(encoder.embeddings.tokens, config.d_model, eps=config.eps)
    return BertForMaskedLM(encoder, head)


class Electra(nn.Module):
    """Generator and discriminator that share the discriminator's embedding tables.

    The generator's own tables are dropped, so both are trained as one module. Raises ValueError for
    tables of different sizes.
    Source: Clark et al. 2020, section 3.2, "weight sharing".
    """

    def __init__(self, generator: BertForMaskedLM, discriminator: ElectraDiscriminator) -> None:
        super().__init__()
        self.generator, self.discriminator = generator, discriminator
        mine, shared = generator.bert.embeddings, discriminator.bert.embeddings
        if (ours := _tables(mine)) != (theirs := _tables(shared)):
            raise ValueError(
                f"generator: its tables are {ours}, the discriminator's {theirs}; shared ones "
                "need equal vocab_size, max_length, n_segments and d_embedding"
            )
        mine.tokens = generator.masked.head.embedding = shared.tokens
        mine.position, mine.segments = shared.position, shared.segments

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the discriminator's logits (B, T); the generator is not used."""
        return self.discriminator(tokens, mask, segments)


def _tables(embeddings: BertEmbeddings) -> list[tuple[int, ...]]:
    parts = (embeddings.tokens, embeddings.position, embeddings.segments)
    return [tuple(table.shape) for part in parts if part for table in part.parameters()]


def pair(config: ElectraConfig = BASE, **changes: Any) -> Electra:
    """Build a discriminator from `config` and its generator, `narrower` times narrower, as deep.

    At d_model 32 nothing is learned from an initialization as small as BERT's (`initialize`, 0.02):
    call `initialize(model, 0.1)` on a toy model.
    """
    config = ElectraConfig.given(config, changes)
    by, d_embedding = config.narrower, config.d_embedding or config.d_model
    small = config.but(
        d_model=config.d_model // by, n_heads=max(1, config.n_heads // by),
        d_ff=config.d_ff // by, d_embedding=d_embedding,
    )  # fmt: skip
    return Electra(is_masked_lm(electra(small)), ElectraDiscriminator(electra(config)))

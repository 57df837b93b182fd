"""Heads for LUKE: masked word and entity prediction in pretraining, and entity classification."""

from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import TokenEmbedding, check_tokens
from deepdive.layers.heads import MaskedHead, initialize
from deepdive.models.bert.luke import Luke
from deepdive.models.bert.pretraining import BertForMaskedLM


class LukeForMaskedLM(BertForMaskedLM):
    """LUKE with both heads: `masked_logits` for words' states, `entity_logits` for entities'."""

    def __init__(self, bert: Luke, masked: MaskedHead, entity: MaskedHead) -> None:
        super().__init__(bert, masked)
        self.entity = entity

    def entity_logits(self, states: Tensor) -> Tensor:
        """Return logits (..., n_entities) for states (..., d_model)."""
        return self.entity(states)


def for_masked_lm(encoder: Luke) -> LukeForMaskedLM:
    """Add both pretraining heads to an encoder. The word head has its own matrix, initialized from
    the encoder's embedding, as in the released code; the entity head is tied to the encoder's.
    """
    config, words = encoder.config, encoder.embeddings.tokens
    own = TokenEmbedding(words.vocab_size, words.d_model)
    own.load_state_dict(words.state_dict())
    heads = (
        MaskedHead(table, config.d_model, config.activation, config.eps)
        for table in (own, encoder.entities.tokens)
    )
    return LukeForMaskedLM(encoder, *heads)


class EntityClassifier(nn.Module):
    """Entity classifier: out(dropout(concatenated states of the first entities)), (B, n_classes).

    `n_entities` = 1: entity typing; 2: relation classification (released without `bias`).
    Source: Yamada et al. 2020, sections 4.1 and 4.2.
    """

    def __init__(
        self, encoder: Luke, d_model: int, n_classes: int, n_entities: int = 1,
        dropout: float = 0.1, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        positive(d_model=d_model, n_classes=n_classes, n_entities=n_entities)
        self.encoder, self.n_entities, self.dropout = encoder, n_entities, nn.Dropout(dropout)
        self.out = nn.Linear(n_entities * d_model, n_classes, bias=bias)
        initialize(self.out)

    def forward(
        self, tokens: Tensor, entities: Tensor, mentions: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Return logits (B, n_classes); the arguments are those of `Luke.joint`."""
        check_tokens(tokens)
        if entities.shape[-1] < self.n_entities:
            raise ValueError(
                f"entities are {tuple(entities.shape)}, expected (B, E) with E of "
                f"{self.n_entities} or more: the classifier uses the first ones"
            )
        states = self.encoder.joint(tokens, entities, mentions, mask)[:, tokens.shape[1] :]
        return self.out(self.dropout(states[:, : self.n_entities].flatten(1)))

"""What LUKE is trained with: a head for hidden words, and one for hidden entities."""

from torch import Tensor

from deepdive.core.embeddings import TokenEmbedding
from deepdive.layers.heads import MaskedHead
from deepdive.models.bert.luke import Luke
from deepdive.models.bert.pretraining import BertForMaskedLM


class LukeForMaskedLM(BertForMaskedLM):
    """Both heads: `masked_logits` of states of words, `entity_logits` of states of entities."""

    def __init__(self, bert: Luke, masked: MaskedHead, entity: MaskedHead) -> None:
        super().__init__(bert, masked)
        self.entity = entity

    def entity_logits(self, states: Tensor) -> Tensor:
        """Return logits (..., n_entities) for states (..., d_model)."""
        return self.entity(states)


def for_masked_lm(encoder: Luke) -> LukeForMaskedLM:
    """Put both heads on an encoder. The words' scores have a table of their own, as in the released
    form, which begins as the encoder's; the entities' share the encoder's.
    """
    config, words = encoder.config, encoder.embeddings.tokens
    own = TokenEmbedding(words.vocab_size, words.d_model)
    own.load_state_dict(words.state_dict())
    heads = (
        MaskedHead(table, config.d_model, config.activation, config.eps)
        for table in (own, encoder.entities.tokens)
    )
    return LukeForMaskedLM(encoder, *heads)

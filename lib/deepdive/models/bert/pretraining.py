"""Pretraining heads of BERT's family: masked LM, next sentence, and replaced token detection."""

from torch import Tensor, nn

from deepdive.layers.heads import MaskedHead, Pooler, initialize
from deepdive.models.bert.bert import Bert


class BertForMaskedLM(nn.Module):
    """Encoder with a masked language modeling head: vocabulary logits at each position."""

    def __init__(self, bert: Bert, masked: MaskedHead) -> None:
        super().__init__()
        self.bert, self.masked = bert, masked

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the logits (B, T, V) of all tokens. Training needs only those at masked positions:
        `masked_logits(bert(...)[chosen])`.
        """
        return self.masked_logits(self.bert(tokens, mask, segments))

    def masked_logits(self, states: Tensor) -> Tensor:
        """Return logits (..., V) for hidden states (..., d_model)."""
        return self.masked(states)


class BertForPreTraining(BertForMaskedLM):
    """BERT with both heads; `next` scores whether the second text follows the first (0) or not."""

    def __init__(self, bert: Bert, masked: MaskedHead, pooler: Pooler, next: nn.Linear) -> None:
        super().__init__(bert, masked)
        self.pooler, self.next = pooler, next

    def next_logits(self, states: Tensor) -> Tensor:
        """Return next sentence logits (B, 2) for hidden states (B, T, d_model)."""
        return self.next(self.pooler(states))


def masked_head(encoder: Bert) -> MaskedHead:
    """Return a masked language modeling head tied to the encoder's token embedding."""
    config = encoder.config
    return MaskedHead(encoder.embeddings.tokens, config.d_model, config.activation, config.eps)


def for_masked_lm(encoder: Bert) -> BertForMaskedLM:
    """Add a masked language modeling head to an encoder."""
    return BertForMaskedLM(encoder, masked_head(encoder))


def for_pretraining(encoder: Bert) -> BertForPreTraining:
    """Add both of the paper's pretraining heads to an encoder."""
    d_model = encoder.config.d_model
    follows = nn.Linear(d_model, 2)
    initialize(follows)
    return BertForPreTraining(encoder, masked_head(encoder), Pooler(d_model), follows)


class ElectraDiscriminator(nn.Module):
    """ELECTRA's discriminator, out(activation(dense(bert(tokens)))): (B, T), > 0 means replaced.

    Source: Clark et al. 2020, section 2, and their released code, which has the layer before `out`.
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        d_model, self.activation = bert.config.d_model, bert.config.activation
        self.bert, self.dense = bert, nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, 1)
        initialize(self.dense)
        initialize(self.out)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return a logit (B, T) for each token; those of padding are meaningless."""
        states = self.bert(tokens, mask, segments)
        return self.out(self.activation(self.dense(states))).squeeze(-1)

"""What BERT's family is trained with, on the states of an encoder: gaps, replacements."""

from torch import Tensor, nn

from deepdive.layers.heads import MaskedHead, Pooler, initialise
from deepdive.models.bert.bert import Bert


class BertForMaskedLM(nn.Module):
    """An encoder with a head that scores the whole vocabulary at each place."""

    def __init__(self, bert: Bert, masked: MaskedHead) -> None:
        super().__init__()
        self.bert, self.masked = bert, masked

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the logits (B, T, V) of all tokens. Training needs only those of the gaps:
        `masked_logits(bert(...)[chosen])`.
        """
        return self.masked_logits(self.bert(tokens, mask, segments))

    def masked_logits(self, states: Tensor) -> Tensor:
        """Return logits (..., V) for states (..., d_model)."""
        return self.masked(states)


class BertForPreTraining(BertForMaskedLM):
    """Both of BERT's heads: `next` scores whether the second text follows the first (0) or not."""

    def __init__(self, bert: Bert, masked: MaskedHead, pooler: Pooler, next: nn.Linear) -> None:
        super().__init__(bert, masked)
        self.pooler, self.next = pooler, next

    def next_logits(self, states: Tensor) -> Tensor:
        """Return logits (B, 2) for states (B, T, d_model)."""
        return self.next(self.pooler(states))


def masked_head(encoder: Bert) -> MaskedHead:
    """Return the head that fills gaps; the encoder's own embedding scores the tokens."""
    config = encoder.config
    return MaskedHead(encoder.embeddings.tokens, config.d_model, config.activation, config.eps)


def for_masked_lm(encoder: Bert) -> BertForMaskedLM:
    """Put the head that fills gaps on an encoder."""
    return BertForMaskedLM(encoder, masked_head(encoder))


def for_pretraining(encoder: Bert) -> BertForPreTraining:
    """Put both heads of the paper on an encoder."""
    d_model = encoder.config.d_model
    follows = nn.Linear(d_model, 2)
    initialise(follows)
    return BertForPreTraining(encoder, masked_head(encoder), Pooler(d_model), follows)


class ElectraDiscriminator(nn.Module):
    """logits = out(activation(dense(bert(tokens)))), (B, T): above 0 where a token was replaced.

    Source: Clark et al. 2020, section 2, and their released code, which has the layer before `out`.
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        d_model, self.activation = bert.config.d_model, bert.config.activation
        self.bert, self.dense = bert, nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, 1)
        initialise(self.dense)
        initialise(self.out)

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return a logit (B, T) for each token; those under padding mean nothing."""
        states = self.bert(tokens, mask, segments)
        return self.out(self.activation(self.dense(states))).squeeze(-1)

"""Unicoder: three additional cross-lingual pretraining tasks. Huang et al. 2019, "Unicoder: A
Universal Language Encoder by Pre-training with Multiple Cross-lingual Tasks".

    a_ij = w . [x_i ; y_j ; x_i * y_j],  x'_i = sum over j of softmax_j(a_i)_j y_j,  x from x'

System: unicoder
Parent: xlm
What differs:
- word recovery: the model predicts a sentence's tokens from attention-weighted embeddings of its
  translation, so words must find their translations (`Recovered`, `WordRecovery`)
- paraphrase classification: is the second sentence the translation of the first, or of another
  sentence similar to it (`hard_paraphrases`, `paraphrase_pairs`)
- MLM on texts whose sentences alternate between two languages (`alternate_sentences`)
Source: Huang et al. 2019, section 3.2.
Book: 4.1.2.5
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.embeddings import check_tokens
from deepdive.core.hooks import HookPoint
from deepdive.core.masks import describe, padding
from deepdive.layers.heads import initialize
from deepdive.models.bert.pretraining import BertForMaskedLM


class Recovered(nn.Module):
    """x'_i = sum over j of weights_ij y_j,  weights_i = softmax over real j of a_ij

        a_ij = w . [x_i ; y_j ; x_i * y_j]

    x enters only through the weights: x' is a mixture of vectors of y. Hook point: `weights`
    (B, S, T).
    Source: Huang et al. 2019, section 3.2.1; the scores are those of Seo et al. 2017.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        positive(d_model=d_model)
        self.score, self.weights = nn.Linear(3 * d_model, 1, bias=False), HookPoint()
        initialize(self.score)

    def forward(self, x: Tensor, y: Tensor, real: Tensor | None = None) -> Tensor:
        """Return (B, S, d) for x (B, S, d) and y (B, T, d); real bool (B, T), True = real token
        of y. Raises ValueError where they do not fit.
        """
        if x.shape[::2] != y.shape[::2] or (real is not None and real.shape != y.shape[:2]):
            raise ValueError(
                f"x, y, real: got {describe(x)}, {describe(y)} and {describe(real)}; expected "
                "(B, S, d), (B, T, d) and bool (B, T)"
            )
        first, other, product = self.score.weight[0].chunk(3)
        scores = (x @ first)[:, :, None] + (y @ other)[:, None] + (x * product) @ y.mT  # (B, S, T)
        if real is not None:
            scores = scores.masked_fill(~real[:, None], -torch.inf)
        return self.weights(scores.softmax(-1)) @ y


class WordRecovery(nn.Module):
    """Predict a sentence's tokens by an MLM, from mixtures of its translation's embeddings."""

    def __init__(self, model: BertForMaskedLM) -> None:
        super().__init__()
        self.model, self.recovered = model, Recovered(model.bert.config.d_model)

    def forward(
        self,
        tokens: Tensor,
        translation: Tensor,
        mask: Tensor | None = None,
        translation_mask: Tensor | None = None,
    ) -> Tensor:
        """Return logits (B, S, V) for each position of `tokens` (B, S): the targets are the tokens
        themselves. translation: (B, T); masks bool, True = real token.
        """
        bert = self.model.bert
        check_tokens(tokens)
        check_tokens(translation, "translation")
        real, theirs = padding(mask, tokens, "mask"), translation_mask
        padding(theirs, translation, "translation_mask")
        x, y = (
            bert.embeddings(row, None, bert.embeddings.positions(row, known))
            for row, known in ((tokens, mask), (translation, theirs))
        )
        return self.model.masked_logits(bert.stack(self.recovered(x, y, theirs), mask=real))

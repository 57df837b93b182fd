"""XLM: an encoder with language embeddings, also pretrained on translations. Conneau and
Lample 2019, "Cross-lingual Language Model Pretraining".

Three objectives train it. CLM: the next token, by `CausalXlm` and `cross_entropy`. MLM: masked
tokens in one language, by `mask_tokens`. TLM: masked tokens in a sentence concatenated with its
translation, by `join_translations` and the same `mask_tokens`.

Long because these need three classes: the encoder, its causal form, and a language-model head.

System: xlm
Parent: multilingual_transformer
What differs:
- encoder-only, in BERT's form (`Xlm`)
- a language embedding is added to each token, and one text may contain two languages
  (`LanguageEmbeddings`, `n_languages`); the models for 17 and 100 languages have none (`HUNDRED`)
- positions are an argument, because a translation's positions restart from 0 (`positions`)
- causal attention for CLM (`CausalXlm`)
- the output layer is tied to the embedding, with no layer between (`for_lm`)
Source: Conneau and Lample 2019, sections 3.2 to 3.4, and their released code.
Book: 4.1.2.2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor, nn

from deepdive.core.embeddings import TiedHead, check_tokens
from deepdive.core.masks import Causal, Mask, both, padding
from deepdive.models.bert.bert import TOY, Bert, EncoderConfig, bert
from deepdive.models.bert.embeddings import BertEmbeddings, LanguageEmbeddings
from deepdive.positions import SinusoidalPosition


class Xlm(Bert):
    """Tokens (B, T) and their languages -> states (B, T, d_model)."""

    order: ClassVar[Mask | None] = None  # an attention mask in addition to padding

    def forward(
        self,
        tokens: Tensor,
        mask: Tensor | None = None,
        languages: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Return the states of `tokens`; `mask` bool (B, T), True = real token; `languages` int
        (B, T), None = unknown; `positions` int (B, T), None = counted from the start.
        """
        check_tokens(tokens)
        if positions is None:
            positions = self.embeddings.positions(tokens, mask)
        x = self.embeddings(tokens, languages, positions)
        return self.stack(x, mask=both(padding(mask, tokens, "mask"), self.order))


class CausalXlm(Xlm):
    """An `Xlm` with causal attention, for CLM."""

    order = Causal()


class XlmWithLM(nn.Module):
    """logits = encoder(tokens) @ tokens.weight.T + bias, (B, T, V): of the token at each position
    (MLM, TLM), or of the next token (CLM).
    """

    def __init__(self, bert: Bert, scores: TiedHead) -> None:
        super().__init__()
        self.bert, self.scores = bert, scores

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, languages: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Return the logits of all tokens; the arguments are those of `Xlm`."""
        return self.scores(self.bert(tokens, mask, languages, positions))


def sinusoids(config: XlmConfig) -> SinusoidalPosition:
    """Return sinusoidal positions."""
    return SinusoidalPosition(config.d_model)


@dataclass(frozen=True)
class XlmConfig(EncoderConfig):
    """`n_languages`: number of languages; `embeddings`: whether each has an embedding."""

    n_languages: int = 15
    n_segments: int = 0
    embeddings: type[BertEmbeddings] = LanguageEmbeddings
    model: type[Bert] = Xlm
    family: str = "xlm"


BASE = XlmConfig(vocab_size=95_000, d_model=1024, n_heads=8, d_ff=4096)  # xnli15
HUNDRED = BASE.but(
    vocab_size=200_000, d_model=1280, n_heads=16, n_layers=16, d_ff=5120, n_languages=100,
    embeddings=BertEmbeddings,
)  # fmt: skip
TINY = BASE.but(**TOY | {"n_languages": 3, "d_ff": 128})


def xlm(config: XlmConfig = BASE, **changes: Any) -> Bert:
    """Build an encoder; defaults are the model of 15 languages."""
    return bert(config, **changes)


def for_lm(encoder: Bert) -> XlmWithLM:
    """Add a tied language-model head to an encoder."""
    return XlmWithLM(encoder, TiedHead(encoder.embeddings.tokens, bias=True))

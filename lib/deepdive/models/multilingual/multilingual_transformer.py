"""Multilingual Transformer: one encoder-decoder that translates between all pairs of its languages.

The language enters twice. A text begins with the token of its language, an entry of the
vocabulary (`add_target_language_token` of `deepdive.models.seq2seq.multilingual_gnmt` adds it);
and the embedding of that language is added to each token. Decoding, batches, and the cache are
unchanged: the decoder's first token determines the output language.

Long because the decoding state, which stores the language, is here with the model and builder.

System: multilingual_transformer
Parent: transformer
What differs:
- the first token of the source gives its language, the first of the target the output language
  (`language_of`), so one model serves each pair of its languages
- a language embedding is added to each token (`languages`), shared by source and target
- one vocabulary, and one embedding matrix, for all languages (`multilingual_transformer`)
Source: Johnson et al. 2017, section 3, for the token; Conneau and Lample 2019, section 3.1 and
figure 1, for one vocabulary and the embedding.
Book: 4.1.1
"""

from dataclasses import dataclass

from torch import Tensor, nn

from deepdive.core import Context, DecodingState, KVCache
from deepdive.core.checks import positive
from deepdive.core.embeddings import TokenEmbedding
from deepdive.core.masks import Padding, padding
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer, transformer


@dataclass
class LanguageState(DecodingState):
    """The decoding state, with the output language (B, 1) once its token was processed."""

    language: Tensor | None = None

    def reorder(self, index: Tensor) -> None:
        """Let row b continue from row index[b]."""
        super().reorder(index)
        if self.language is not None:
            self.language = self.language.index_select(0, index)


class MultilingualTransformer(Transformer):
    """x = scale * tokens[t] + scale * languages[l], where l is the language of the text's first
    token: `first` + l.
    """

    def __init__(
        self, encoder: Encoder, decoder: Decoder, head: nn.Module, languages: TokenEmbedding,
        first: int,
    ) -> None:  # fmt: skip
        super().__init__(encoder, decoder, head)
        positive(first=first)
        self.languages, self.first = languages, first

    def language_of(self, tokens: Tensor, name: str) -> Tensor:
        """Return the language (B, 1) of texts (B, T), by their first token. Raises ValueError
        where that is not a language token.
        """
        first, n = tokens[:, :1], self.languages.vocab_size
        language = first - self.first
        if bool(((language < 0) | (language >= n)).any()):
            raise ValueError(
                f"{name} begins with the tokens {sorted(set(first[:, 0].tolist()))}; expected a "
                f"language token, {self.first} to {self.first + n - 1}: prepend it by "
                "ask_for(language, tokens)"
            )
        return language

    def begin(self, src: Tensor, src_mask: Tensor | None = None) -> LanguageState:
        """Encode the source once; its first token gives its language."""
        x = self.encoder.embedding(src) + self.languages(self.language_of(src, "src"))
        real = padding(src_mask, src, "src_mask")
        return LanguageState(KVCache(), self.encoder.states(x, src, real), real)

    def decode(
        self,
        tokens: Tensor,
        state: DecodingState,
        mask: Tensor | Padding | None = None,
        cache: KVCache | None = None,
    ) -> Tensor:
        """Return the states (B, T, d_model) of all target tokens, or of those after the `cache`;
        the first tokens that a state receives determine the output language.
        """
        assert isinstance(state, LanguageState), "the state is one that `begin` returned"
        if state.language is None or state.cache.length == 0:
            state.language = self.language_of(tokens, "tgt")
        x = self.decoder.embedding(tokens) + self.languages(state.language)
        context = Context(memory=state.memory, memory_mask=state.memory_mask, cache=cache)
        return self.decoder.states(x, tokens, mask, context)


def multilingual_transformer(
    vocab_size: int,
    n_languages: int,
    first: int = 4,
    *,
    d_model: int = 512,
    n_heads: int = 8,
    n_layers: int = 6,
    d_ff: int = 2048,
    dropout: float = 0.1,
) -> MultilingualTransformer:
    """Build one for `n_languages` languages, whose tokens are `first`, `first` + 1, ...; the sizes
    are those of `transformer`.

    Raises ValueError where the vocabulary ends before their tokens do.
    """
    positive(vocab_size=vocab_size, n_languages=n_languages, first=first)
    if first + n_languages > vocab_size:
        raise ValueError(
            f"first={first}, n_languages={n_languages}: the last language's token is "
            f"{first + n_languages - 1}, but vocab_size={vocab_size}; give it more tokens"
        )
    plain = transformer(
        vocab_size, d_model=d_model, n_heads=n_heads, n_layers=n_layers, d_ff=d_ff, dropout=dropout
    )
    words = plain.encoder.embedding
    languages = TokenEmbedding(n_languages, words.d_model, words.scale)
    return MultilingualTransformer(plain.encoder, plain.decoder, plain.head, languages, first)


def tiny(vocab_size: int = 32, n_languages: int = 3) -> MultilingualTransformer:
    """Return a small model for tests: 2 + 2 layers, width 32, 4 heads."""
    return multilingual_transformer(
        vocab_size, n_languages, d_model=32, n_heads=4, n_layers=2, d_ff=64, dropout=0.0
    )

"""Token embeddings, and output layers that share their matrix (weight tying)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.masks import describe


class TokenEmbedding(nn.Module):
    """x = scale * weight[tokens], weight (vocab_size, d_model).

    With scale = sqrt(d_model) the embeddings, initialized with standard deviation
    1 / sqrt(d_model), have variance 1, and the same matrix can serve as the output layer.
    Raises TypeError for tokens that are not integers, ValueError for a token outside the
    vocabulary.

    System: word_embedding
    Parent: word2vec
    What differs:
    - the embeddings are trained with the model that uses them, not before it
    - they are multiplied by sqrt(d_model) (`scale`), so that positions do not outweigh them
    - the same matrix scores the next token (`TiedHead`)
    Source: Vaswani et al. 2017, section 3.4; Press and Wolf 2017.
    Book: 2.4.1.1
    """

    def __init__(self, vocab_size: int, d_model: int, scale: float = 1.0) -> None:
        super().__init__()
        positive(vocab_size=vocab_size, d_model=d_model)
        self.vocab_size, self.d_model, self.scale = vocab_size, d_model, scale
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return embeddings (B, T, d_model) for token ids (B, T)."""
        check_tokens(tokens)
        x = look_up(self.weight, tokens, "tokens")
        return x if self.scale == 1.0 else self.scale * x


class ScaledEmbedding(TokenEmbedding):
    """x = sqrt(d_model) * weight[tokens], with the factor rounded to the dtype of the weights
    before it multiplies: in bfloat16 that is 45.25 for d_model = 2048, not 45.2548.

    In float64 the factor is that of float32, as in transformers.
    Source: the released code of Gemma (Gemma Team 2024), class GemmaForCausalLM.
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__(vocab_size, d_model)
        factor = torch.tensor(d_model**0.5, dtype=torch.float32, device="cpu")
        self.scale = float(factor)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return embeddings (B, T, d_model) for token ids (B, T)."""
        check_tokens(tokens)
        x = look_up(self.weight, tokens, "tokens")
        return x * torch.tensor(self.scale, dtype=x.dtype, device="cpu")


def look_up(table: Tensor, ids: Tensor, name: str) -> Tensor:
    """Return the embeddings table[ids], (..., d), from a table (V, d). Raises ValueError for an id
    that is not in it; `name` is the argument's, for the message.
    """
    try:
        return F.embedding(ids, table)
    except IndexError:
        low, high = int(ids.min()), int(ids.max())
        raise ValueError(
            f"{name} have ids from {low} to {high}, expected 0 to {len(table) - 1}: encode with "
            "the model's vocabulary"
        ) from None


def check_tokens(tokens: Tensor, name: str = "tokens") -> None:
    """Raise TypeError unless `tokens` are integers, ValueError unless they are (B, T) and not
    empty. `name` is the argument's, for the message.
    """
    if not isinstance(tokens, Tensor) or tokens.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must be integers (B, T); got {describe(tokens)}")
    if tokens.ndim != 2:
        fix = f": for a batch of one text give {name}[None]" if tokens.ndim == 1 else ""
        raise ValueError(f"{name} must be integers (B, T); got {describe(tokens)}{fix}")
    if tokens.numel() == 0:
        raise ValueError(
            f"{name} is empty: shape {tuple(tokens.shape)}; leave empty batches and sequences out"
        )


def check_segments(
    segments: Tensor, tokens: Tensor, n_segments: int, name: str = "segments"
) -> None:
    """Raise TypeError or ValueError unless `segments` are integers below `n_segments`, shaped as
    `tokens`, and the model has any. `name` is the argument's, for the message.
    """
    if not n_segments:
        raise ValueError(f"{name} were given, but this model has no segments: do not pass them")
    check_tokens(segments, name)
    if segments.shape != tokens.shape:
        raise ValueError(
            f"{name} have shape {tuple(segments.shape)}, but the tokens {tuple(tokens.shape)}"
        )
    low, high = int(segments.min()), int(segments.max())
    if low < 0 or high >= n_segments:
        hint = "" if name != "segments" else ": 0 is the first text, 1 the second"
        raise ValueError(f"{name} run from {low} to {high}, but the model has {n_segments}{hint}")


class TiedHead(nn.Module):
    """logits = x @ embedding.weight.T (+ bias): the output layer shares the embedding's matrix.

    Source: Press and Wolf 2017; Vaswani et al. 2017, section 3.4.
    """

    def __init__(self, embedding: TokenEmbedding, bias: bool = False) -> None:
        super().__init__()
        self.embedding = embedding
        self.bias = nn.Parameter(torch.zeros(embedding.vocab_size)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Return logits (..., vocab_size) for hidden states (..., d_model)."""
        return F.linear(x, self.embedding.weight, self.bias)


class GivenBiasHead(TiedHead):
    """logits = x @ embedding.weight.T + bias, where the bias is a buffer, not a parameter: 0, or
    what is set, such as -inf for a token that must not be generated.

    Source: the released code of BART, and of transformers (`final_logits_bias`).
    """

    def __init__(self, embedding: TokenEmbedding) -> None:
        super().__init__(embedding)
        del self.bias
        self.register_buffer("bias", torch.zeros(embedding.vocab_size))

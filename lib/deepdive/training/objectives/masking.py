"""Masked language modeling: which tokens are masked, and what replaces them."""

import torch
from torch import Tensor

from deepdive.tokenizers.base import Tokenizer
from deepdive.tokenizers.wordpiece import INSIDE, WordPieceTokenizer

MASKS = ("[MASK]", "<mask>")  # its names in BERT's and RoBERTa's vocabularies


def mask_tokens(
    tokens: Tensor,
    tokenizer: Tokenizer,
    rate: float = 0.15,
    *,
    mask: float = 0.8,
    random: float = 0.1,
    words: Tensor | None = None,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Mask some of the tokens, to be predicted from context on both sides.

    Each token that is not special is chosen with probability `rate`. A chosen token becomes

        the mask token                          with probability mask
        a random token, not a special one       with probability random
        itself                                  with probability 1 - mask - random

    tokens: int64 (..., T), padded with `tokenizer.pad`.
    words: int64 like tokens, the index of each token's word (`word_ids`): all tokens of a word
        are chosen, or none (whole-word masking). Replacements are still sampled per token.
    generator: random generator; None: torch's global one.

    **Static** masking calls this once, before training; **dynamic** masking calls it whenever a
    text is used, such as inside the loss that `deepdive.training.fit` is given.

    Returns inputs, targets and chosen, all like tokens: `inputs` is the model's input; `targets`
    holds the token where one was chosen and `tokenizer.pad` elsewhere, so that the loss is
    `cross_entropy(logits, targets, pad=tokenizer.pad)`; `chosen` is bool. To compute logits at
    masked positions only: `cross_entropy(head(states[chosen]), targets[chosen], pad=None)`.
    Raises TypeError or ValueError when tokens are not int64, words do not fit them, a rate is not a
    probability, or the tokenizer has no mask token.

    Source: Devlin et al. 2019, section 3.1 and appendix A.1 (whose code lets the random token be a
    special one too, and chooses a fixed number in each text); Liu et al. 2019, section 4.1, for
    static and dynamic; whole words: the released code of May 2019.
    """
    _check(tokens, words, rate, mask, random)
    special = special_ids(tokenizer).to(tokens.device)
    if words is None:
        noise = torch.rand(tokens.shape, generator=generator, device=tokens.device)
    else:  # one number per word, shared by all its tokens
        size = (*words.shape[:-1], int(words.max()) + 1)
        noise = torch.rand(size, generator=generator, device=tokens.device).gather(-1, words)
    chosen = (noise < rate) & ~torch.isin(tokens, special)

    what = torch.rand(tokens.shape, generator=generator, device=tokens.device)
    vocabulary = torch.arange(len(tokenizer), device=tokens.device)
    ordinary = vocabulary[~torch.isin(vocabulary, special)]
    index = torch.randint(len(ordinary), tokens.shape, generator=generator, device=tokens.device)
    inputs = tokens.masked_fill(chosen & (what < mask), mask_id(tokenizer))
    exchanged = chosen & (what >= mask) & (what < mask + random)
    inputs = torch.where(exchanged, ordinary[index], inputs)
    return inputs, tokens.masked_fill(~chosen, tokenizer.pad), chosen


def special_ids(tokenizer: Tokenizer) -> Tensor:
    """Return the ids (n,) of the tokenizer's special tokens, with padding, unknown, and mask."""
    return torch.tensor([tokenizer.id_of(name) for name in tokenizer.specials])


def mask_id(tokenizer: Tokenizer) -> int:
    """Return the id of the mask token, `[MASK]` or `<mask>`.

    Raises ValueError when the tokenizer has none among its specials.
    """
    for name in MASKS:
        if name in tokenizer.specials:
            return tokenizer.id_of(name)
    raise ValueError(
        f"tokenizer: its specials are {list(tokenizer.specials)}, expected [MASK] or <mask> among "
        "them; build or train it with specials=BERT_SPECIALS (deepdive.tokenizers.wordpiece)"
    )


def word_ids(tokens: Tensor, tokenizer: WordPieceTokenizer) -> Tensor:
    """Return the index of each token's word, from 0 in each text: int64 like tokens.

    A token that begins with `##` continues the word of the token before it. Special tokens are
    words of their own. Raises TypeError for a tokenizer that is not WordPiece.
    """
    if not isinstance(tokenizer, WordPieceTokenizer):
        raise TypeError(
            f"tokenizer: got {type(tokenizer).__name__}, expected WordPiece, whose ## marks "
            "word continuations; for other tokenizers pass the word ids"
        )
    inside = torch.tensor([piece.startswith(INSIDE) for piece in tokenizer.vocab])
    begins = ~inside.to(tokens.device)[tokens]
    return (begins.cumsum(-1) - 1).clamp_min(0)


def _check(tokens: Tensor, words: Tensor | None, rate: float, mask: float, random: float) -> None:
    if tokens.dtype != torch.int64 or tokens.ndim == 0 or tokens.numel() == 0:
        raise TypeError(
            f"tokens: got {tokens.dtype} of shape {tuple(tokens.shape)}, expected torch.int64 "
            "token ids (..., T), at least one; use torch.tensor(ids)"
        )
    if words is not None and (words.dtype != torch.int64 or words.shape != tokens.shape):
        raise ValueError(
            f"words: got {words.dtype} of shape {tuple(words.shape)}, expected torch.int64 of "
            f"shape {tuple(tokens.shape)}, one id per token; use word_ids(tokens, tokenizer)"
        )
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate: got {rate}, expected a probability from 0 to 1")
    if not (mask >= 0.0 and random >= 0.0 and mask + random <= 1.0 + 1e-9):
        raise ValueError(
            f"mask, random: got {mask} and {random}, expected probabilities with a sum of at "
            "most 1; the rest is the probability of keeping a token"
        )

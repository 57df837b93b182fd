"""Sentence-BERT: one vector for a text. Reimers and Gurevych 2019, "Sentence-BERT: Sentence
Embeddings using Siamese BERT-Networks".

Two texts go through the same encoder, each for itself (a *siamese* network), and what is compared
is two vectors. So n texts are inputs n times, where a cross-encoder reads n (n - 1) / 2 pairs.
The losses are in `deepdive.training.objectives.sentences`, measures of the vectors in
`deepdive.evaluate.similarity`; `deepdive.published.sentences` loads published models.

Long because it also reads lists of texts, in batches of like length (`encode`).

System: sbert
Parent: bert
What differs:
- the states of a text become one vector, by their mean as a rule (`mean`; `cls`, `maximum`)
- it reads one text, never two: pairs are compared by a cosine (`SentenceEncoder`)
- it is trained so that this cosine says how alike two texts are (`pair_features`,
  `cosine_regression`, `triplet`, later `multiple_negatives`)
- without training, a linear map can make all directions count alike (`Whitening`)
Source: Reimers and Gurevych 2019, section 3; Su et al. 2021, sections 3.2 to 3.4.
Book: 3.4.1
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.models.bert import bert
from deepdive.tokenizers import Tokenizer, encode_pair, padded

Pooling = Callable[[Tensor, Tensor], Tensor]  # states (B, T, d), mask (B, T) -> (B, d)
Step = Callable[[Tensor], Tensor]  # vectors (B, d) -> (B, d')


def cls(states: Tensor, mask: Tensor) -> Tensor:
    """Return the state of each row's first real token, which is [CLS]: (B, d)."""
    return states[torch.arange(len(states), device=states.device), mask.int().argmax(1)]


def mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return sum_t mask_t states_t / sum_t mask_t, the mean over real tokens: (B, d)."""
    return states.masked_fill(~mask[..., None], 0.0).sum(1) / mask.sum(1, keepdim=True)


def maximum(states: Tensor, mask: Tensor) -> Tensor:
    """Return the largest value over real tokens, in each dimension: (B, d)."""
    return states.masked_fill(~mask[..., None], -torch.inf).amax(1)


def normalise(vectors: Tensor) -> Tensor:
    """Return each row over its length, so that a product of two rows is their cosine."""
    return F.normalize(vectors, dim=-1)


class SentenceEncoder(nn.Module):
    """Tokens (B, T) -> a vector for each row (B, d): after(pooling(encoder(tokens), mask)).

    encoder: a `Bert`, or what has its forward. pooling: `mean`, `cls`, `maximum`. after: what is
    done to the vector, such as `normalise` or a `Whitening`; None: nothing.
    """

    def __init__(
        self, encoder: nn.Module, pooling: Pooling = mean, after: Step | None = None
    ) -> None:
        super().__init__()
        self.encoder, self.pooling, self.after = encoder, pooling, after

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return the vectors of `tokens`; mask bool (B, T), True = real token; None: all are."""
        states = self.encoder(tokens, mask, segments)
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        vectors = self.pooling(states, real)
        return vectors if self.after is None else self.after(vectors)


@torch.no_grad()
def encode(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    batch_size: int = 64,
    max_length: int = 256,
) -> Tensor:
    """Return the vectors (N, d) of texts, in their order.

    A text longer than `max_length` tokens, [CLS] and [SEP] counted, is cut at its end. The model
    is in evaluation mode meanwhile. Raises ValueError without texts.
    """
    if isinstance(texts, str) or not texts:
        raise ValueError("texts: expected a list of one text or more; for one text pass [text]")
    inputs = [encode_pair(tokenizer, text, max_length=max_length)[0] for text in texts]
    order = sorted(range(len(inputs)), key=lambda i: len(inputs[i]))
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    vectors = []
    for start in range(0, len(order), batch_size):
        tokens, mask = padded([inputs[i] for i in order[start : start + batch_size]], tokenizer.pad)
        vectors.append(model(tokens.to(device), mask.to(device)))
    model.train(training)
    return torch.cat(vectors)[torch.tensor(order, device=device).argsort()]


def tiny(vocab_size: int = 32) -> SentenceEncoder:
    """Return a model for tests and toys: BERT's `TINY` and the mean."""
    return SentenceEncoder(bert.bert(bert.TINY, vocab_size=vocab_size), mean)

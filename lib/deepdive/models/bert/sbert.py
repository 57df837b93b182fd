"""Sentence-BERT: sentence embeddings from a siamese BERT. Reimers and Gurevych 2019,
"Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks".

Two texts go through the same encoder separately (a *siamese* network), and their vectors are
compared. So n texts need n forward passes, where a cross-encoder needs n (n - 1) / 2 for all pairs.
The losses are in `deepdive.training.objectives.sentences`, metrics of the vectors in
`deepdive.evaluate.similarity`; `deepdive.published.sentences` loads published models.

Long because it also encodes lists of texts, in batches of similar length (`encode`).

System: sbert
Parent: bert
What differs:
- hidden states are pooled to one vector, usually by their mean (`mean`; `cls`, `maximum`)
- each text is encoded separately; pairs are compared by cosine similarity (`SentenceEncoder`)
- training makes this cosine measure how similar two texts are (`pair_features`,
  `cosine_regression`, `triplet`, later `multiple_negatives`)
- without training, a linear map can whiten the vectors to identity covariance (`Whitening`)
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
    """Return the hidden state of each text's first real token, which is [CLS]: (B, d)."""
    return states[torch.arange(len(states), device=states.device), mask.int().argmax(1)]


def mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return sum_t mask_t states_t / sum_t mask_t, the mean over real tokens: (B, d)."""
    return states.masked_fill(~mask[..., None], 0.0).sum(1) / mask.sum(1, keepdim=True)


def maximum(states: Tensor, mask: Tensor) -> Tensor:
    """Return the largest value over real tokens, in each dimension: (B, d)."""
    return states.masked_fill(~mask[..., None], -torch.inf).amax(1)


def normalize(vectors: Tensor) -> Tensor:
    """Return the vectors scaled to norm 1, so the dot product of two is their cosine."""
    return F.normalize(vectors, dim=-1)


class SentenceEncoder(nn.Module):
    """Sentence encoder, after(pooling(encoder(tokens), mask)): tokens (B, T) -> vectors (B, d).

    encoder: a `Bert`, or a module with its signature. pooling: `mean`, `cls`, `maximum`. after: a
    final map of the vector, such as `normalize` or a `Whitening`; None: identity.
    """

    def __init__(
        self, encoder: nn.Module, pooling: Pooling = mean, after: Step | None = None
    ) -> None:
        super().__init__()
        self.encoder, self.pooling, self.after = encoder, pooling, after

    def forward(
        self, tokens: Tensor, mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Return one vector (B, d) per text; mask bool (B, T), True = real token; None: all are."""
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
    """Return the sentence embeddings (N, d) of texts, in their order.

    A text longer than `max_length` tokens, [CLS] and [SEP] included, is truncated at its end. The
    model is in evaluation mode meanwhile. Raises ValueError for an empty list.
    """
    if isinstance(texts, str) or not texts:
        raise ValueError("texts: expected a list of at least one text; for one text pass [text]")
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
    """Return a model for tests and toys: BERT's `TINY` with mean pooling."""
    return SentenceEncoder(bert.bert(bert.TINY, vocab_size=vocab_size), mean)

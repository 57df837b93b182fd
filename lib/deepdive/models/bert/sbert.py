"""Sentence-BERT: one vector for a text. Reimers and Gurevych 2019, "Sentence-BERT: Sentence
Embeddings using Siamese BERT-Networks".

Two texts go through the same encoder, each for itself (a *siamese* network), and what is compared
is two vectors. So n texts are encoded n times, where a cross-encoder reads n (n - 1) / 2 pairs.
The losses are in `deepdive.training.objectives.sentences`, measures of the vectors in
`deepdive.evaluate.similarity`.

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

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.models.bert import bert
from deepdive.published.folders import load as load_encoder
from deepdive.tokenizers import Tokenizer, padded

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


class Whitening(nn.Module):
    """Vectors (..., d) -> (vectors - centre) matrix, (..., k): no direction is favoured.

    `whitening(vectors)` measures both on many vectors; nothing is learned by gradient.
    """

    centre: Tensor
    matrix: Tensor

    def __init__(self, centre: Tensor, matrix: Tensor) -> None:
        super().__init__()
        if centre.ndim != 1 or matrix.ndim != 2 or len(centre) != len(matrix):
            raise ValueError(
                f"centre, matrix: came with shapes {tuple(centre.shape)} and "
                f"{tuple(matrix.shape)}, expected (d,) and (d, k)"
            )
        self.register_buffer("centre", centre)
        self.register_buffer("matrix", matrix)

    def forward(self, vectors: Tensor) -> Tensor:
        return (vectors - self.centre) @ self.matrix


def whitening(vectors: Tensor, k: int | None = None) -> Whitening:
    """Return the map after which vectors (N, d) have mean 0 and the identity as covariance.

        centre = mean of the rows,  C = (x - centre)^T (x - centre) / N = U diag(s) U^T
        matrix = U diag(1 / sqrt(s)),  its first k columns: the directions of largest s

    k: how many are kept; None: all d.
    Raises ValueError when N vectors cannot fill k directions: k above d or N - 1, or a direction
    in which they do not differ.

    Source: Su et al. 2021, "Whitening Sentence Representations for Better Semantics and Faster
    Retrieval", algorithm 1.
    """
    if vectors.ndim != 2 or len(vectors) < 2:
        raise ValueError(f"vectors: came with shape {tuple(vectors.shape)}, expected (N, d), N > 1")
    n, d = vectors.shape
    kept = d if k is None else k
    if not 1 <= kept <= min(d, n - 1):
        raise ValueError(
            f"k: {kept} directions of {n} vectors {d} wide; expected 1 to {min(d, n - 1)}: pass a "
            "smaller k, or more vectors"
        )
    rows = vectors.detach().double()  # small eigenvalues are lost in float32
    centre = rows.mean(0)
    s, U = torch.linalg.eigh((rows - centre).T @ (rows - centre) / n)  # s rises
    s, U = s.flip(0)[:kept], U.flip(1)[:, :kept]
    if s[-1] <= 1e-12 * s[0]:
        flat = int((s <= 1e-12 * s[0]).sum())
        raise ValueError(
            f"vectors: they do not differ in {flat} of {kept} directions; pass k={kept - flat}"
        )
    return Whitening(centre.to(vectors), (U / s.sqrt()).to(vectors))


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
    """Return the vectors (N, d) of texts, in their order; batches hold texts of like length.

    A text longer than `max_length` tokens, [CLS] and [SEP] counted, is cut at its end. The model
    is in evaluation mode meanwhile. Raises ValueError without texts.
    """
    if isinstance(texts, str) or not texts:
        raise ValueError("texts: expected a list of one text or more; for one text pass [text]")
    rows = [
        [tokenizer.bos, *tokenizer.encode(text)[: max_length - 2], tokenizer.eos] for text in texts
    ]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    found = []
    for start in range(0, len(order), batch_size):
        tokens, mask = padded([rows[i] for i in order[start : start + batch_size]], tokenizer.pad)
        found.append(model(tokens.to(device), mask.to(device)))
    model.train(training)
    return torch.cat(found)[torch.tensor(order, device=device).argsort()]


POOLINGS: dict[str, Pooling] = {"cls": cls, "mean": mean, "max": maximum}


def load(folder: str | Path) -> SentenceEncoder:
    """Return the model of a folder that sentence-transformers wrote, in evaluation mode.

    Raises ValueError for a module that is not Transformer, Pooling or Normalize, in this order, and
    for another pooling than one of cls, mean and max.
    """
    folder = Path(folder)
    steps = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    kinds = [step["type"].rpartition(".")[2] for step in steps]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise ValueError(
            f"{folder / 'modules.json'} has {', '.join(kinds)}; only Transformer, Pooling and "
            "Normalize are built here"
        )
    config = json.loads((folder / steps[1]["path"] / "config.json").read_text(encoding="utf-8"))
    after = normalise if kinds[-1] == "Normalize" else None
    encoder = load_encoder(folder / steps[0]["path"])
    return SentenceEncoder(encoder, pooling_of(config), after).eval()


def pooling_of(config: dict[str, Any]) -> Pooling:
    """Return the pooling that a Pooling module's config.json names, in its old form or its new.

    Raises ValueError unless it is exactly one of cls, mean and max.
    """
    given = config.get("pooling_mode")
    if given is None:  # pooling_mode_mean_tokens: true, and so on
        names = [k for k, v in config.items() if k.startswith("pooling_mode_") and v is True]
        given = [name.removeprefix("pooling_mode_").removesuffix("s") for name in names]
        given = [name.removesuffix("_token") for name in given]
    modes = [given] if isinstance(given, str) else list(given)
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise ValueError(f"pooling is {', '.join(modes) or 'none'}; expected cls, mean or max")
    return POOLINGS[modes[0]]


def tiny(vocab_size: int = 32) -> SentenceEncoder:
    """Return a model for tests and toys: BERT's `TINY` and the mean."""
    return SentenceEncoder(bert.bert(bert.TINY, vocab_size=vocab_size), mean)

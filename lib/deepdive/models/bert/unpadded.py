"""Sentence embeddings of texts of mixed length, without padding (packed sequences):
`sentence_vectors(load(minilm()), minilm_tokenizer(), texts)`.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from deepdive.layers.packed_encoder import encode
from deepdive.models.bert.sbert import normalize
from deepdive.tokenizers import Tokenizer, encode_pair


def sentence_vectors(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    batch_tokens: int = 1024,
    max_length: int = 256,
) -> Tensor:
    """Return a unit vector for each text (n, d_model): the mean of its tokens' hidden states.

    A text is `bos`, its tokens, `eos`, truncated to `max_length`. Texts are sorted by length and
    batched, with at most `batch_tokens` tokens or one text per batch. No gradients are computed.
    Raises ValueError for a model in training mode, whose dropout would add noise to the vectors.
    Source: Reimers and Gurevych 2019, section 3 (the mean).
    """
    if model.training:
        raise ValueError("model is in training mode: call model.eval() first")
    if max_length < 3 or batch_tokens < 1:
        raise ValueError(
            f"max_length={max_length} must be 3 or more (bos, a token, eos), and "
            f"batch_tokens={batch_tokens} 1 or more"
        )
    encoded = [encode_pair(tokenizer, text, max_length=max_length)[0] for text in texts]
    vectors: list[Tensor] = [torch.empty(0)] * len(encoded)
    with torch.inference_mode():
        for batch in batches([len(row) for row in encoded], batch_tokens):
            for i, states in zip(batch, encode(model, [encoded[i] for i in batch]), strict=True):
                vectors[i] = states.mean(0)
        output = torch.stack(vectors) if encoded else torch.empty(0, 0)
        return normalize(output)


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield batches of indices sorted by length, with at most `batch_tokens` or one text each."""
    batch: list[int] = []
    filled = 0
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and filled + lengths[i] > batch_tokens:
            yield batch
            batch, filled = [], 0
        batch.append(i)
        filled += lengths[i]
    if batch:
        yield batch

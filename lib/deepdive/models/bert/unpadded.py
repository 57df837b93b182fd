"""An encoder run on the real tokens of texts of mixed length: nothing is padded, nothing computed
and thrown away.

A batch is as long as its longest text, and what a padded token costs is what a real one costs, but
for attention nearly all of it in products that look at one token at a time. So those run on the
tokens of all texts, one after the other in a single row, and attention on texts of one length
together (`deepdive.attention.Texts`). The states are those of the padded batch, to rounding.

Long because it is no system: it runs any encoder of this folder, and checks what it is given.

    vectors = sentence_vectors(load(minilm()), minilm_tokenizer(), texts)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.attention import Texts
from deepdive.models.bert.sbert import normalise
from deepdive.tokenizers import Tokenizer, encode_pair

Row = Sequence[int] | Tensor


def encode(
    model: nn.Module, rows: Sequence[Row], segments: Sequence[Row] | None = None
) -> list[Tensor]:
    """Return the states (T_i, d_model) of each text, in the order of `rows`.

    `rows` are the tokens of each text, T_i of them, `segments` the segment of each token (None: all
    0). `model` is a `Bert`: it has `embeddings`, as `BertEmbeddings`, and a `stack`. Trained
    through as it is: gradients and dropout are those of its own modules. Hook points see one row
    (1, N, ...) of all N tokens, the texts sorted by length, and where weights are recorded (1, H,
    N, N) of them, 0 between texts.

    Raises TypeError for another model, ValueError for empty texts and for segments that do not fit.
    """
    _check(model, rows, segments)
    if not rows:
        return []
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    lengths = tuple(len(rows[i]) for i in order)
    device = next(model.parameters()).device
    tokens = _in_a_row(rows, order, device)
    embeddings: Any = model.embeddings
    stack: Any = model.stack
    places = embeddings.positions(tokens[:, -lengths[-1] :], None).flatten()
    positions = torch.cat([places[:T] for T in lengths])[None]
    kinds = None if segments is None else _in_a_row(segments, order, device)
    states: Tensor = stack(embeddings(tokens, kinds, positions), mask=Texts(lengths))
    found = dict(zip(order, states[0].split(lengths), strict=True))
    return [found[i] for i in range(len(rows))]


def sentence_vectors(
    model: nn.Module,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    *,
    batch_tokens: int = 1024,
    max_length: int = 256,
) -> Tensor:
    """Return a vector of length 1 for each text (n, d_model): the mean of its tokens' states.

    A text is `bos`, its tokens, `eos`, cut to `max_length` of them. Texts run sorted by length, as
    many at a time as `batch_tokens` admits, one at least. No gradients are kept.
    Raises ValueError for a model in training mode, whose dropout would blur the vectors.
    Source: Reimers and Gurevych 2019, section 3 (the mean).
    """
    if model.training:
        raise ValueError("model is in training mode: call model.eval() first")
    if max_length < 3 or batch_tokens < 1:
        raise ValueError(
            f"max_length={max_length} must leave room for bos, a token and eos, and "
            f"batch_tokens={batch_tokens} for one token"
        )
    rows = [encode_pair(tokenizer, text, max_length=max_length)[0] for text in texts]
    vectors: list[Tensor] = [torch.empty(0)] * len(rows)
    with torch.inference_mode():
        for batch in batches([len(row) for row in rows], batch_tokens):
            for i, states in zip(batch, encode(model, [rows[i] for i in batch]), strict=True):
                vectors[i] = states.mean(0)
        found = torch.stack(vectors) if rows else torch.empty(0, 0)
        return normalise(found)


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield indices sorted by length, cut where their lengths would exceed `batch_tokens`."""
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


def _in_a_row(rows: Sequence[Row], order: list[int], device: torch.device) -> Tensor:
    """Return the integers of all texts, (1, N), in the given order of texts."""
    return torch.cat([torch.as_tensor(rows[i]) for i in order]).to(device)[None]


def _check(model: nn.Module, rows: Sequence[Row], segments: Sequence[Row] | None) -> None:
    missing = [name for name in ("embeddings", "stack") if not hasattr(model, name)]
    if missing:
        raise TypeError(
            f"model: {type(model).__name__} has no {' and no '.join(missing)}; expected an encoder "
            "such as deepdive.models.bert.bert.Bert, without its heads"
        )
    empty = [i for i, row in enumerate(rows) if not len(row)]
    if empty:
        raise ValueError(f"rows[{empty[0]}] holds no token: leave empty texts out")
    if segments is not None and [len(row) for row in segments] != [len(row) for row in rows]:
        raise ValueError("segments: expected one a token, a row of them for each of rows")

"""An encoder on packed texts of mixed length, without padding.

A batch is as long as its longest text, and a padded token costs as much as a real one; except for
attention, nearly all of it is position-wise products. So those run on the tokens of all texts,
concatenated to one sequence, and attention on texts of one length together
(`deepdive.core.PackedSequences`). The states are those of the padded batch, to rounding.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import PackedSequences

Row = Sequence[int] | Tensor


def encode(
    model: nn.Module, rows: Sequence[Row], segments: Sequence[Row] | None = None
) -> list[Tensor]:
    """Encode texts: return the states (T_i, d_model) of each, in the order of `rows`.

    `rows` are the tokens of each text, T_i of them, `segments` the segment of each token (None: all
    0). `model` is a `Bert`: it has `embeddings`, as `BertEmbeddings`, and a `stack`. It can be
    trained: gradients and dropout are those of its modules. Hook points get one sequence
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
    text_positions = embeddings.positions(tokens[:, -lengths[-1] :], None).flatten()
    positions = torch.cat([text_positions[:T] for T in lengths])[None]
    kinds = None if segments is None else _in_a_row(segments, order, device)
    states: Tensor = stack(embeddings(tokens, kinds, positions), mask=PackedSequences(lengths))
    by_text = dict(zip(order, states[0].split(lengths), strict=True))
    return [by_text[i] for i in range(len(rows))]


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
        raise ValueError(f"rows[{empty[0]}] has no tokens: drop empty sequences")
    if segments is not None and [len(row) for row in segments] != [len(row) for row in rows]:
        raise ValueError("segments: expected one per token, in the same lengths as rows")

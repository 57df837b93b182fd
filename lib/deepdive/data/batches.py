"""Length-bucketed batches whose order can be saved within an epoch and resumed exactly.

`iter()` runs from the current position to the end of the epoch, `len()` is the number of batches
per epoch, `state_dict()` and `load_state_dict()` save and restore the position as plain numbers. A
state taken after a batch was received points to the next one. (A plain list of batches needs no
class: `fit` tracks its position.)
"""

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from deepdive.core.checks import as_int
from deepdive.data.errors import DataError

Tokens = Sequence[int] | Tensor
Batch = tuple[Tensor, ...]


class BucketBatches:
    """Batches of items of similar length, with at most `max_tokens` tokens, shuffled every epoch.

    `data` is a list of token-id sequences, or a tuple of parallel lists (source, target); item i is
    the i-th sequence of each. A batch is a tuple of LongTensors (B, T), one per list, each padded
    with `pad` to its own longest sequence; B times the longest of all is <= max_tokens.

    Each epoch, seeded by (seed, epoch): items are shuffled, sorted by length (ties stay in shuffled
    order), split into batches within the token budget, and the batches are shuffled. So the number
    of batches is the same in every epoch.
    """

    def __init__(
        self,
        data: Sequence[Tokens] | tuple[Sequence[Tokens], ...],
        *,
        max_tokens: int,
        seed: int = 0,
        pad: int = 0,
    ) -> None:
        columns = data if isinstance(data, tuple) else (data,)
        self._columns = [_Column(column, k) for k, column in enumerate(columns)]
        sizes = [len(column) for column in self._columns]
        if not sizes or 0 in sizes:
            raise DataError("data: empty, expected at least one sequence of token ids")
        if len(set(sizes)) > 1:
            raise DataError(f"data: parallel lists have {sizes} sequences, expected equally many")
        self._longest = torch.stack([column.lengths for column in self._columns]).amax(dim=0)
        worst = int(self._longest.argmax())
        if int(self._longest[worst]) > max_tokens:
            raise DataError(
                f"max_tokens: item {worst} has {int(self._longest[worst])} tokens, more than "
                f"max_tokens={max_tokens}; raise it, or drop or truncate long items"
            )
        self.max_tokens, self.seed = as_int("max_tokens", max_tokens), as_int("seed", seed)
        self.pad = as_int("pad", pad)
        self.epoch = self.index = 0
        self._len = len(self._plan(0))

    def __len__(self) -> int:
        return self._len

    def __iter__(self) -> Iterator[Batch]:
        """Yield the batches from the current position to the end of this epoch."""
        plan = self._plan(self.epoch)
        while self.index < len(plan):
            self.index += 1
            yield tuple(column.padded(plan[self.index - 1], self.pad) for column in self._columns)
        self.epoch, self.index = self.epoch + 1, 0

    def state_dict(self) -> dict[str, int]:
        """Return the position (epoch, index of the next batch), seed, and data statistics."""
        return {"epoch": self.epoch, "index": self.index, **self._identity()}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Restore a saved position. Raises DataError if it is from other data or settings."""
        expected = self._identity()
        for name, value in (expected | {"epoch": 0, "index": 0}).items():
            if name not in state:
                raise DataError(f"state: no {name!r}; expected the result of state_dict()")
            if name in expected and name != "seed" and state[name] != value:
                raise DataError(
                    f"state: saved with {name}={state[name]}, here it is {value}; "
                    "the order of batches would differ"
                )
        if not 0 <= state["index"] <= len(self) or state["epoch"] < 0:
            raise DataError(f"state: no batch {state['index']} of epoch {state['epoch']}")
        self.epoch, self.index, self.seed = state["epoch"], state["index"], state["seed"]

    def fingerprint(self) -> dict[str, int | str]:
        """Return what identifies these batches: settings, data statistics, and a sha256."""
        digest = hashlib.sha256()
        for column in self._columns:
            digest.update(column.lengths.numpy().tobytes() + column.flat.numpy().tobytes())
        return {**self._identity(), "pad": self.pad, "sha256": digest.hexdigest()}

    def _identity(self) -> dict[str, int]:
        tokens = sum(int(column.lengths.sum()) for column in self._columns)
        return {
            "seed": self.seed,
            "items": len(self._columns[0]),
            "tokens": tokens,
            "max_tokens": self.max_tokens,
        }

    def _plan(self, epoch: int) -> list[list[int]]:
        """Return the items of each batch of an epoch, in order."""
        draw = torch.Generator().manual_seed((self.seed * 1_000_003 + epoch) % 2**63)
        order = torch.randperm(len(self._columns[0]), generator=draw)
        for column in reversed(self._columns):
            order = order[torch.sort(column.lengths[order], stable=True).indices]
        order = order[torch.sort(self._longest[order], stable=True).indices]
        batches: list[list[int]] = [[]]
        for item, length in zip(order.tolist(), self._longest[order].tolist(), strict=True):
            if (len(batches[-1]) + 1) * length > self.max_tokens:
                batches.append([])
            batches[-1].append(item)
        return [batches[k] for k in torch.randperm(len(batches), generator=draw).tolist()]


class _Column:
    """Sequences of token ids as one flat tensor and their lengths."""

    def __init__(self, sequences: Sequence[Tokens], position: int) -> None:
        lists = [s.tolist() if isinstance(s, Tensor) else s for s in sequences]
        for item, tokens in enumerate(lists):
            if isinstance(tokens, int | float | str) or len(tokens) == 0:
                what = "empty" if isinstance(tokens, Sequence) and not tokens else repr(tokens)
                raise DataError(
                    f"data: sequence {item} of list {position} is {what}, "
                    "expected a non-empty list of token ids"
                )
        try:
            flat = torch.tensor(list(itertools.chain.from_iterable(lists)))
        except (TypeError, ValueError, RuntimeError) as error:
            raise DataError(f"data: list {position} contains non-token ids: {error}") from error
        if lists and flat.dtype != torch.int64:
            raise DataError(f"data: list {position} is {flat.dtype}, expected token ids (int)")
        self.flat = flat
        self.lengths = torch.tensor([len(tokens) for tokens in lists], dtype=torch.int64)
        self.starts = self.lengths.cumsum(0) - self.lengths

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, items: list[int], pad: int) -> Tensor:
        """Return the B sequences `items` padded to the longest: (B, T)."""
        lengths, starts = self.lengths[items], self.starts[items]
        position = torch.arange(int(lengths.max()))
        inside = position < lengths[:, None]
        batch = torch.full(inside.shape, pad, dtype=torch.int64)
        batch[inside] = self.flat[(starts[:, None] + position)[inside]]
        return batch

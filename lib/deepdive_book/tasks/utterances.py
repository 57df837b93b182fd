"""What pages that learn from unlabelled sound share: utterances as frames, each with its phone for
the measurement alone, batches of similar lengths, and the states of all rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from deepdive.audio.mel import mfcc, stacked, standardized
from deepdive.core.hooks import record
from deepdive.data.speech import Recordings, an4, an4_sounds
from deepdive_book.tasks.forced_alignment import align_phones

Batch = tuple[Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Heard:
    """Utterances as 13 cepstra each 10 ms, each column with mean 0 and variance 1.

    frames    (T, 13) of each utterance
    phones    int64 (T,): the phone of each frame, an index of `names`; 0 is silence
    speakers  who said it
    """

    frames: tuple[Tensor, ...]
    phones: tuple[Tensor, ...]
    speakers: tuple[str, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def minutes(self) -> float:
        """How long all of them are together."""
        return sum(len(x) for x in self.frames) / 6000

    def only(self, which: Iterable[int]) -> Heard:
        """The utterances at these places."""
        some = list(which)
        return Heard(
            tuple(self.frames[i] for i in some),
            tuple(self.phones[i] for i in some),
            tuple(self.speakers[i] for i in some),
            self.names,
        )

    def parted(self, speakers: Iterable[str]) -> tuple[Heard, Heard]:
        """The utterances of other speakers, and those of these."""
        held = set(speakers)
        mine = [who in held for who in self.speakers]
        return (self.only(i for i, is_mine in enumerate(mine) if not is_mine),
                self.only(i for i, is_mine in enumerate(mine) if is_mine))  # fmt: skip


def load_audio(recordings: Recordings) -> Heard:
    """Return recordings whose phones are known, such as `deepdive_book.data.synthetic_speech`, as
    frames. A frame of 25 ms has the phone of its middle.
    """
    names = ("_", *sorted({p.name for row in recordings.phones for p in row} - {"_"}))
    frames, phones = [], []
    for wave, row in zip(recordings.waves, recordings.phones, strict=True):
        frames.append(standardized(mfcc(wave, recordings.rate)))
        middles = (torch.arange(len(frames[-1])) * 0.010 + 0.0125) * recordings.rate
        ends = torch.tensor([phone.last for phone in row])
        which = torch.searchsorted(ends, middles, right=True).clamp(max=len(row) - 1)
        phones.append(torch.tensor([names.index(phone.name) for phone in row])[which])
    return Heard(tuple(frames), tuple(phones), recordings.speakers, names)


def heard_an4(turns: int = 5) -> Heard:
    """Return AN4's training utterances as frames. No person has marked their phones: the words are
    laid along the frames by `align_phones`, each as its dictionary says it first.
    """
    spoken, sounds = an4(), an4_sounds()
    said = [[p for word in words.split() for p in sounds[word][0] if p != "SIL"]
            for words in spoken.words]  # fmt: skip
    names = ("_", *sorted({p for row in said for p in row}))
    wide = [standardized(stacked(torch.from_numpy(x))) for x in spoken.features]
    texts = [[names.index(p) for p in row] for row in said]
    places = align_phones([x.numpy() for x in wide], texts, len(names), turns)
    frames, phones = (x[:, :13].contiguous() for x in wide), map(torch.from_numpy, places)
    return Heard(tuple(frames), tuple(phones), spoken.speakers, names)


def padded(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return rows (T, ...) of different lengths as one tensor (B, T, ...), 0 where there is none,
    and which are real, bool (B, T).
    """
    lengths = torch.tensor([len(x) for x in rows])
    x = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
    return x, torch.arange(x.shape[1]) < lengths[:, None]


def batches(
    frames: Sequence[Tensor], size: int, labels: Sequence[Tensor] | None = None, seed: int = 0
) -> list[Batch]:
    """Return batches of `size` utterances of similar lengths, in an order drawn once: frames
    (B, T, 13), which are real (B, T), and labels (B, T) of each (None: zeros).
    """
    given = [torch.zeros(len(x), dtype=torch.long) for x in frames] if labels is None else labels
    order = torch.tensor([len(x) for x in frames]).argsort().split(size)
    found: list[Batch] = []
    for i in torch.randperm(len(order), generator=torch.Generator().manual_seed(seed)):
        some = order[int(i)].tolist()
        x, real = padded([frames[k] for k in some])
        found.append((x, real, padded([given[k] for k in some])[0]))
    return found


def middles(encoder: Any, n: int) -> Tensor:
    """Return the frame in the middle of each row that a reader of sound makes of n frames, (T,)."""
    features = encoder.embeddings.features
    step = 1
    for _, stride in features.steps:
        step *= stride
    return (features.reach - 1) // 2 + step * torch.arange(features.rows(n))


@torch.no_grad()
def states(encoder: Any, frames: Sequence[Tensor], layer: int | None = None) -> list[Tensor]:
    """Return the rows (T, d_model) of each utterance behind a layer, counted from 1 (None: what the
    encoder returns; 0: what enters its layers), read in batches.
    """
    was_training = encoder.training
    encoder.eval()
    found: list[Tensor] = [torch.empty(0)] * len(frames)
    for some in torch.tensor([len(x) for x in frames]).argsort().split(32):
        x, real = padded([frames[int(i)] for i in some])
        at = "embeddings.embedded" if not layer else f"stack.blocks.{layer - 1}.stream"
        with record(encoder, at) as seen:
            last = encoder(x, real)
        rows = last if layer is None else next(iter(seen.values()))[0]
        for i, one, where in zip(some, rows, encoder.real(real), strict=True):
            found[int(i)] = one[where]
    encoder.train(was_training)
    return found

"""What pages that recognise speech share: batches of utterances that are changed by lot, the loss
of CTC and of writing letter by letter, transcripts.

Letters are ids of a `CharTokenizer`; its padding, 0, is CTC's blank. An encoder here makes of
features (B, T, n) and mask bool (B, T) its states (B, T', d), and says which of them are real.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.audio.augment import spec_augment
from deepdive.audio.mel import mfcc, stacked, standardized
from deepdive.core.checks import as_int, positive
from deepdive.data.speech import Recordings, Utterances
from deepdive.tokenizers import PAD, CharTokenizer
from deepdive.training.objectives.ctc import collapse
from deepdive_book.tasks.cepstra import stretched, warped

Batch = tuple[Tensor, Tensor, Tensor, Tensor]
Change = Callable[[Tensor, torch.Generator], Tensor]


def load_audio(cepstra: Tensor, draw: torch.Generator | None = None) -> Tensor:
    """Return what a model reads of cepstra (T, n) as they are: beside their deltas, each column
    with mean 0 and variance 1 over the utterance, (T, 3 n).
    """
    return standardized(stacked(cepstra), 1e-5)


def cepstra_of(recordings: Recordings) -> Utterances:
    """Return recordings as cepstra (T, 13), a frame each hundredth of a second (`mfcc`)."""
    found = tuple(mfcc(wave, recordings.rate).numpy() for wave in recordings.waves)
    said = recordings.words, recordings.speakers, recordings.names
    return Utterances(found, *said, f"{recordings.source}, as cepstra")


@dataclass(frozen=True)
class Voices:
    """Cepstra (T, n) as another speaker would have said them, drawn for each reading: up to `tempo`
    slower or faster, with a throat up to `throat` longer or shorter (both in logarithms), then
    `heard`, with up to `masks` runs of up to `width` frames hidden (`spec_augment`).
    """

    tempo: float = 0.15
    throat: float = 0.1
    masks: int = 2
    width: int = 20

    def __call__(self, cepstra: Tensor, draw: torch.Generator) -> Tensor:
        """Return features (T', 3 n)."""
        tempo, throat = (2 * torch.rand(2, generator=draw) - 1).tolist()
        x = stretched(cepstra, math.exp(self.tempo * tempo))
        x = load_audio(warped(x, math.exp(self.throat * throat)))
        return spec_augment(x, bands=0, times=self.masks, time_width=self.width, generator=draw)


class SpeechBatches:
    """Batches (features (B, T, n), mask bool (B, T), letters int64 (B, U), how many (B,)) of
    utterances of like length, together at most `frames` frames before they are changed.

    `change` (features, generator) -> what is read: `Voices()` in training, `heard` else. What is
    drawn follows from seed, epoch and batch, so that training goes on exactly.
    """

    def __init__(
        self,
        utterances: Utterances,
        tokenizer: CharTokenizer,
        frames: int = 9000,
        *,
        change: Change = load_audio,
        seed: int = 0,
    ) -> None:
        positive(frames=frames)
        self.features = [torch.from_numpy(x) for x in utterances.features]
        self.change = change
        self.letters = [torch.tensor(tokenizer.encode(words)) for words in utterances.words]
        self.lengths = torch.tensor([len(x) for x in self.features])
        if int(self.lengths.max()) > frames:
            raise ValueError(
                f"frames={frames}: the longest utterance has {self.lengths.max()}; raise it"
            )
        self.frames, self.seed = as_int("frames", frames), as_int("seed", seed)
        self.epoch = self.index = 0
        self.sizes = [0]  # utterances of each batch, the shortest first
        room = frames
        for length in self.lengths.sort().values.tolist():
            if length > room:
                self.sizes.append(0)
                room = frames
            self.sizes[-1] += 1
            room -= length

    def __len__(self) -> int:
        return len(self.sizes)

    def _draw(self, index: int) -> torch.Generator:
        """What is drawn for a batch of this epoch; for the epoch's order with index = -1."""
        place = (self.seed * 1_000_003 + self.epoch) * 1_000_003 + index + 1
        return torch.Generator().manual_seed(place % 2**63)

    def __iter__(self) -> Iterator[Batch]:
        """The batches from the current place to the end of this epoch."""
        plan = self._plan()
        while self.index < len(plan):
            some, draw = plan[self.index], self._draw(self.index)
            self.index += 1
            yield self.batch(some, draw)
        self.epoch, self.index = self.epoch + 1, 0

    def batch(self, some: Sequence[int], draw: torch.Generator) -> Batch:
        """Return the utterances at these places as one batch."""
        features, mask = together([self.change(self.features[i], draw) for i in some])
        written = [self.letters[i] for i in some]
        letters = nn.utils.rnn.pad_sequence(written, batch_first=True, padding_value=PAD)
        return features, mask, letters, torch.tensor([len(x) for x in written])

    def _plan(self) -> list[list[int]]:
        """The utterances of each batch of an epoch: sorted by a length that is a little random, cut
        into as many each epoch, the batches shuffled.
        """
        draw = self._draw(-1)
        noise = 60 * torch.rand(len(self.lengths), generator=draw)
        order = (self.lengths + noise).argsort(stable=True)
        found = order.split(self.sizes)
        return [found[i].tolist() for i in torch.randperm(len(found), generator=draw)]

    def state_dict(self) -> dict[str, int | str]:
        """The place: epoch, and index of the next batch."""
        return {"epoch": self.epoch, "index": self.index, **self._identity()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to a saved place. Raises ValueError if it was saved over other data or settings."""
        mine = self._identity()
        if other := [key for key, value in mine.items() if state.get(key) != value]:
            raise ValueError(f"{other[0]}: saved as {state.get(other[0])}, here {mine[other[0]]}")
        self.epoch, self.index = state["epoch"], state["index"]

    def fingerprint(self) -> dict[str, int | str]:
        """What tells these batches from others: the numbers of their making, and a sha256."""
        digest = hashlib.sha256()
        for features, letters in zip(self.features, self.letters, strict=True):
            digest.update(features.numpy().tobytes() + letters.numpy().tobytes())
        return {**self._identity(), "sha256": digest.hexdigest()}

    def _identity(self) -> dict[str, int | str]:
        change = self.change if isinstance(self.change, Voices) else self.change.__name__
        sizes = {"utterances": len(self.features), "frames": self.frames, "seed": self.seed}
        return {**sizes, "change": str(change)}


def ctc(model: nn.Module, batch: Batch) -> Tensor:
    """Return the loss of a `Speller` on a batch (`by_ctc`)."""
    features, mask, letters, counts = batch
    logits, real = model(features, mask)
    return by_ctc(logits, real.sum(1), letters, counts)


def by_ctc(logits: Tensor, lengths: Tensor, letters: Tensor, counts: Tensor) -> Tensor:
    """Return the mean over utterances of -log p(letters) for logits (B, T, V), by torch's kernel,
    which `deepdive.training.objectives.ctc.ctc_loss` equals. An utterance that was drawn so fast
    that its letters find no room (`frames_needed`) counts as 0.
    """
    log_p = logits.log_softmax(-1).transpose(0, 1)
    each = F.ctc_loss(log_p, letters, lengths, counts, PAD, "none", zero_infinity=True)
    return each.mean()


def together(features: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Return features, each (T, n), as one tensor (B, longest T, n), and which frames are real."""
    lengths = torch.tensor([len(x) for x in features])
    padded = nn.utils.rnn.pad_sequence([*features], batch_first=True)
    return padded, torch.arange(padded.shape[1]) < lengths[:, None]


@torch.no_grad()
def in_order(
    of: Callable[[Tensor, Tensor], Sequence[Any]],
    utterances: Utterances,
    model: nn.Module,
    size: int = 32,
    read: Callable[[Tensor], Tensor] = load_audio,
) -> list[Any]:
    """Return what `of` (features (B, T, n), mask (B, T)) -> B results says of each utterance, in
    their order: `size` at a time, those of like length together, the model in evaluation mode.
    `read` makes of an utterance's features what the model reads.
    """
    device, was_training = next(model.parameters()).device, model.training
    model.eval()
    order = sorted(range(len(utterances)), key=lambda i: len(utterances.features[i]))
    found: dict[int, Any] = {}
    for start in range(0, len(order), size):
        some = order[start : start + size]
        features = [read(torch.from_numpy(utterances.features[i])) for i in some]
        rows, mask = (part.to(device) for part in together(features))
        found |= zip(some, of(rows, mask), strict=True)
    model.train(was_training)
    return [found[i] for i in range(len(utterances))]


def scores(model: nn.Module, utterances: Utterances, **settings: Any) -> list[Tensor]:
    """Return a `Speller`'s log p of each letter in each row, (T', V) an utterance; `settings` are
    those of `in_order`.
    """

    def of(features: Tensor, mask: Tensor) -> list[Tensor]:
        logits, real = model(features, mask)
        lengths = real.sum(1).tolist()
        log_p = logits.log_softmax(-1).cpu()  # a search looks at single numbers
        return [rows[:n] for rows, n in zip(log_p, lengths, strict=True)]

    return in_order(of, utterances, model, **settings)


def spelled(found: Sequence[Tensor], tokenizer: CharTokenizer) -> list[str]:
    """Return the transcript of each utterance's most probable path, of log p (T', V) each."""
    return [tokenizer.decode(collapse(rows.argmax(1).tolist(), PAD)) for rows in found]

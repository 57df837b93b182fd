"""Small HuBERTs on AN4: k-means units, training in two rounds, and units against phones. Page 6c.4.

Units come in four kinds: of `cepstra`, and of a layer's hidden states in a network that is `not
trained`, after the `first` training, after going on with it `once more`, or after a `second`
training, whose targets are the units of the `first`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from deepdive.audio.mel import stacked
from deepdive.models.speech.hubert import HubertForPreTraining
from deepdive.training import fit
from deepdive.training.objectives import make_units
from deepdive.training.optim import adam, linear
from deepdive_book.ch06c.phone_purity import by_speaker, counts, differences
from deepdive_book.ch06c.runs.wav2vec2 import TEST, TRAIN, load_utterances
from deepdive_book.tasks.utterances import Batch, batches, middles, states

BASELINES = {"not trained": "cepstra", "first": "cepstra", "once more": "first",
             "second": "once more"}  # fmt: skip
PHONE_KINDS = ("_", "IY IH EY EH AE AA AO AW AY AH ER OY OW UH UW", "W Y R L M N NG",
               "V DH Z ZH F TH S SH HH", "JH CH B D G P T K")  # fmt: skip
FEWEST = 50  # frames; a phone with fewer is left out of pictures

Units = tuple[list[Tensor], list[Tensor]]  # of each training and each test utterance, (T,)


class Experiment:
    """Units and models, each made once.

    build_encoder  a new encoder; before each call the random seed is set
    loss           loss(model, (frames, mask, units))
    n_units        how many units k-means makes
    layer          whose hidden states the later units are of, counted from 1
    """

    def __init__(
        self,
        build_encoder: Callable[[], Any],
        loss: Callable[[nn.Module, Batch], Tensor],
        n_units: int,
        layer: int,
    ) -> None:
        self.build_encoder, self.loss = build_encoder, loss
        self.n_units, self.layer = n_units, layer
        self._models: dict[tuple[str, int, int], Any] = {}
        self._units: dict[tuple[str, int, int], Units] = {}

    @cached_property
    def _geometry(self) -> Any:
        """An encoder of which only the kernels and strides count."""
        return self.build_encoder()

    def phones(self, part: int) -> list[Tensor]:
        """Return the phone in the middle of each hidden state of each utterance, (T,)."""
        return [phones[middles(self._geometry, len(phones))]
                for phones in load_utterances()[part].phones]  # fmt: skip

    def cepstra(self, part: int) -> list[Tensor]:
        """Return 39 cepstra and slopes (T, 39) in the middle of each hidden state."""
        return [stacked(x)[middles(self._geometry, len(x))]
                for x in load_utterances()[part].frames]  # fmt: skip

    def cluster_cepstra(self, n_units: int) -> list[Tensor]:
        """Return the units of the test utterances: the nearest of so many clusters of cepstra."""
        rng = torch.Generator().manual_seed(0)
        units = make_units(torch.cat(self.cepstra(TRAIN))[::18], n_units, 10, rng)
        return [units(x) for x in self.cepstra(TEST)]

    def units(self, kind: str, steps: int, seed: int) -> Units:
        """Return the units of one kind; `steps` of training do not count for `cepstra`."""
        key = (kind, steps, seed)
        if key not in self._units:
            self._units[key] = self._make_units(*key)
        return self._units[key]

    def _make_units(self, kind: str, steps: int, seed: int) -> Units:
        torch.manual_seed(seed)
        if kind == "cepstra":
            vectors = [self.cepstra(part) for part in (TRAIN, TEST)]
        else:
            trained = kind != "not trained"
            encoder = self.model(kind, steps, seed).encoder if trained else self.build_encoder()
            vectors = [states(encoder, part.frames, self.layer) for part in load_utterances()]
        rng = torch.Generator().manual_seed(seed)
        every = torch.cat(vectors[TRAIN])
        sampled = every[torch.randperm(len(every), generator=rng)[:6_000]]
        units = make_units(sampled, self.n_units, 10, rng)
        return [units(x) for x in vectors[TRAIN]], [units(x) for x in vectors[TEST]]

    def model(self, kind: str, steps: int, seed: int) -> Any:
        """Return the network after the `first` training, `once more`, or the `second` training."""
        key = (kind, steps, seed)
        if key not in self._models:
            self._models[key] = self._make_model(*key)
        return self._models[key]

    def _make_model(self, kind: str, steps: int, seed: int) -> Any:
        if kind == "first":
            return self._train(self.units("cepstra", 0, seed)[TRAIN], steps, seed)
        if kind == "once more":
            before = deepcopy(self.model("first", steps, seed))
            return self._train(self.units("cepstra", 0, seed)[TRAIN], steps, seed + 10, before)
        return self._train(self.units("first", steps, seed)[TRAIN], steps, seed + 20)

    def _train(self, units: Sequence[Tensor], steps: int, seed: int, model: Any = None) -> Any:
        """Train a new model, or one that goes on, to predict these units."""
        torch.manual_seed(seed)
        model = HubertForPreTraining(self.build_encoder(), self.n_units) if model is None else model
        made = batches(load_utterances()[TRAIN].frames, 8, units, seed=seed)
        fit(model, made, self.loss, steps=steps, seed=seed,
            optimizer=adam(model, lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01),
            schedule=linear(3e-3, max(1, steps // 10), steps), progress=False)  # fmt: skip
        return model

    def evaluate(self, kind: str, steps: int, seed: int) -> dict[str, list[float]]:
        """Return phone purity, unit purity, and shared information of the test utterances.

        Each in percent with its 95% interval over speakers. With `more_` before the name come the
        paired differences from the baseline's units, in points.
        """
        speakers = load_utterances()[TEST].speakers
        phones = [x.tolist() for x in self.phones(TEST)]
        units = [x.tolist() for x in self.units(kind, steps, seed)[TEST]]
        found = {"": by_speaker(phones, units, speakers)}
        if kind in BASELINES:
            baseline = BASELINES[kind]
            other = self.units(baseline, 0 if baseline == "cepstra" else steps, seed)[TEST]
            others = [x.tolist() for x in other]
            found["more_"] = differences(phones, units, others, speakers)
        return {prefix + name: [round(100 * x, 2) for x in each]
                for prefix, part in found.items() for name, each in part.items()}  # fmt: skip


def frequent_phones(
    phones: Sequence[Tensor], names: Sequence[str]
) -> tuple[list[str], dict[str, int]]:
    """Return the phones with `FEWEST` frames or more, by kind of sound, and the others' counts."""
    frames = torch.bincount(torch.cat([*phones]), minlength=len(names)).tolist()
    often = dict(zip(names, frames, strict=True))
    order = [p for kind in PHONE_KINDS for p in kind.split() if often.get(p, 0) >= FEWEST]
    return order, {p: n for p, n in often.items() if 0 < n < FEWEST}


def phone_fractions(
    phones: Sequence[Tensor], units: Sequence[Tensor], which: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each phone has each unit, and each unit's fraction of phones `which`."""
    table = counts(torch.cat([*phones]).tolist(), torch.cat([*units]).tolist())
    some = table[[*which]]
    return table, some / some.sum(1, keepdims=True)

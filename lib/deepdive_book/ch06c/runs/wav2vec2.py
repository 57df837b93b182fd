"""A small wav2vec 2.0 on AN4: pretraining, linear probes for phones, and codebooks. Page 6c.3.

The page defines the model and its two losses. `TRAIN` speakers are pretrained on, and the probe is
trained on some of theirs; `TEST` speakers are used for measuring alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.explain.probes import tag_accuracy
from deepdive.training import fit
from deepdive.training.objectives import codebook_perplexity, hidden_spans, sample_negatives
from deepdive.training.objectives.wav2vec2_contrastive import contrastive_logits
from deepdive.training.optim import adam, linear
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.kit.profile import profile
from deepdive_book.tasks.utterances import (
    Batch,
    Heard,
    batches,
    heard_an4,
    load_audio,
    middles,
    padded,
    states,
)

TRAIN, TEST = 0, 1
N_NEGATIVES, LABELED = 20, 40  # codes that a row is compared with, utterances for the probe
CEPSTRA = "cepstra"  # instead of a layer: the frames that a hidden state is made of

Losses = Callable[[Any, Batch], tuple[Tensor, Tensor]]


def load_utterances() -> tuple[Heard, Heard]:
    """Return AN4's utterances for training, and those of other speakers for testing.

    In the profile `ci` generated voices.
    """
    return _load_utterances(profile() == "ci")


@cache
def _load_utterances(generated: bool) -> tuple[Heard, Heard]:
    found = load_audio(voices(96, 1, length=(2, 4))) if generated else heard_an4()
    return found.parted(sorted({*found.speakers})[::7])


@torch.no_grad()
def entries_in_use(model: Any) -> list[float]:
    """Return the perplexity of each codebook, for 32 test utterances and without noise."""
    model.eval()
    frames, mask = padded(load_utterances()[TEST].frames[:32])
    usage = model.quantizer(model.encoder.embeddings.heard(frames)).usage
    found = codebook_perplexity(usage, model.encoder.real(mask))
    model.train()
    return [round(float(x), 1) for x in found]


def train_model(
    model: Any, losses: Losses, steps: int, seed: int, *, diversity: float
) -> list[list[float]]:
    """Pretrain a model; return the codebook entries in use, every tenth of the steps.

    The loss is the first of `losses` and `diversity` times the second. The temperature of the
    codebooks' softmax falls from 2 to 0.5.
    """
    used: list[list[float]] = []
    step = 0

    def loss(model: nn.Module, batch: Batch) -> Tensor:
        nonlocal step
        if len(used) * max(1, steps // 10) <= step:
            used.append(entries_in_use(model))
        step += 1
        model.quantizer.temperature = max(0.5, 2 * 0.25 ** (step / steps))  # type: ignore[union-attr]
        contrast, evenness = losses(model, batch)
        return contrast + diversity * evenness

    fit(model, batches(load_utterances()[TRAIN].frames, 16, seed=seed), loss, steps=steps,
        seed=seed, optimizer=adam(model, lr=3e-3, betas=(0.9, 0.98), weight_decay=0.01),
        schedule=linear(3e-3, max(1, steps // 10), steps), progress=False)  # fmt: skip
    return [*used, entries_in_use(model)]


def phone_labels(encoder: Any, utterances: Heard) -> Tensor:
    """Return the phone in the middle of each hidden state of all utterances, (N,)."""
    return torch.cat([phones[middles(encoder, len(phones))] for phones in utterances.phones])


def hidden_states(
    encoder: Any, utterances: Heard, layer: int | str | None
) -> tuple[Tensor, list[str]]:
    """Return the hidden states (N, d) after a layer of all utterances, and each one's speaker.

    `layer` is as for `states`; `CEPSTRA` are the seven frames that a hidden state is made of.
    """
    if layer == CEPSTRA:
        centers = [middles(encoder, len(x)) for x in utterances.frames]
        found = [torch.cat([x[i + k] for k in range(-3, 4)], 1)
                 for x, i in zip(utterances.frames, centers, strict=True)]  # fmt: skip
    else:
        assert not isinstance(layer, str)
        found = states(encoder, utterances.frames, layer)
    speakers = [who for who, x in zip(utterances.speakers, found, strict=True) for _ in x]
    return torch.cat(found), speakers


def probe_accuracy(encoder: Any, layer: int | str | None, seed: int) -> list[float]:
    """Return the phone accuracy (%) of a linear probe, one value a test speaker.

    The probe is a ridge regression on the hidden states of `LABELED` training utterances.
    """
    train, test = load_utterances()
    order = torch.randperm(len(train), generator=torch.Generator().manual_seed(seed))
    some = train.only(order[:LABELED].tolist())
    x, _ = hidden_states(encoder, some, layer)
    new, speakers = hidden_states(encoder, test, layer)
    center, scale = x.mean(0), x.std(0) + 1e-6
    labels = [phone_labels(encoder, part).tolist() for part in (some, test)]
    scaled = [(part - center) / scale for part in (x, new)]
    correct = tag_accuracy((scaled[0], labels[0]), (scaled[1], labels[1]), 10.0)
    each = [correct[torch.tensor([who == one for who in speakers])] for one in sorted({*speakers})]
    return [round(100 * float(part.double().mean()), 2) for part in each]


@torch.no_grad()
def code_accuracy(model: Any, seed: int = 0) -> dict[str, float]:
    """Return what is measured of masked test frames.

    found   how often (%) the right code has the highest score
    left    how many negatives differ from it, and so stay in the comparison
    chance  how often (%) a random choice among these is right
    """
    model.eval()
    rng, hits, left = torch.Generator().manual_seed(seed), [], []
    for frames, mask, _ in batches(load_utterances()[TEST].frames, 32):
        masked = hidden_spans(model.encoder.real(mask), draw=rng)
        output, target, _ = model(frames, masked, mask)
        negatives = sample_negatives(masked, N_NEGATIVES, rng)
        logits = contrastive_logits(output, target, masked, negatives)
        hits.append(logits.argmax(1) == 0)
        left.append(logits.isfinite().sum(1) - 1)
    counts = torch.cat(left).double()
    found = {"found": 100 * torch.cat(hits).double().mean(), "left": counts.mean(),
             "chance": 100 * (1 / (1 + counts)).mean()}  # fmt: skip
    return {name: round(float(value), 2) for name, value in found.items()}


@torch.no_grad()
def phone_code_counts(model: Any) -> list[list[int]]:
    """Return how often each phone of the test has each entry of the first codebook."""
    _, test = load_utterances()
    features = torch.cat([model.encoder.embeddings.heard(x[None])[0] for x in test.frames])
    usage = model.eval().quantizer(features[None]).usage[0, :, 0]
    phones = phone_labels(model.encoder, test)
    joint = torch.zeros(len(test.names), usage.shape[-1], dtype=torch.long)
    joint.index_put_((phones, usage.argmax(-1)), torch.ones_like(phones), accumulate=True)
    return joint.tolist()


def gains(
    runs: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], part: str, other: str
) -> tuple[list[float], list[float]]:
    """Return how much more accurate runs are than others, in points: by speaker and by seed.

    Both have one row a seed, in the same order; runs[i][part] has one accuracy a speaker.
    """
    each = [[a - b for a, b in zip(x[part], y[other], strict=True)]
            for x, y in zip(runs, others, strict=True)]  # fmt: skip
    return [mean(speaker) for speaker in zip(*each, strict=True)], [mean(seed) for seed in each]

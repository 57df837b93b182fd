"""The rival of zero-shot: translate a text into English, and ask the English reader.

said = into_english(pairs, texts, steps=4000)          # study 2's Transformer, the other way
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from deepdive.core import PreNorm
from deepdive.data import BucketBatches
from deepdive.data.text import Pair
from deepdive.decoding import greedy
from deepdive.models.transformer.transformer import transformer
from deepdive.tokenizers import BPETokenizer
from deepdive.training import Validation, fit
from deepdive.training.optim import adam, cosine
from deepdive.training.translation import encode, loss, mean_cross_entropy, translate

RATE, LONGEST = 4e-3, 40


def into_english(
    pairs: Sequence[Pair], texts: Sequence[str], *, steps: int, width: int = 128, size: int = 4000,
    held: int = 500, seed: int = 0, **more: Any,
) -> list[str]:  # fmt: skip
    """Train a Transformer of two layers on pairs of (English, other), from other to English, and
    translate `texts`. The last `held` pairs choose among the weights on the way. `more` is for
    `fit`.
    """
    turned = [(other, english) for english, other in pairs]
    source, target = (BPETokenizer.train(side, size) for side in zip(*turned, strict=True))
    sides = encode(turned, source, target)
    kept = [i for i, pair in enumerate(zip(*sides, strict=True)) if max(map(len, pair)) <= LONGEST]
    parts = kept[:-held], kept[-held:]
    train, valid = (tuple([side[i] for i in part] for side in sides) for part in parts)
    torch.manual_seed(seed)
    net = transformer(len(source), len(target), d_model=width, n_heads=4, n_layers=2,
                      d_ff=2 * width, dropout=0.05, residual=PreNorm)  # fmt: skip
    check = BucketBatches(valid, max_tokens=4000)
    fit(net, BucketBatches(train, max_tokens=600, seed=seed), partial(loss, smoothing=0.1),
        steps=steps, seed=seed, optimizer=adam(net, RATE, weight_decay=0.01),
        schedule=cosine(RATE, warmup=min(500, steps // 4), total=steps),
        validate=Validation(lambda m: mean_cross_entropy(m, check), every=max(1, steps // 8)),
        **more)  # fmt: skip
    return translate(net, texts, source, target, partial(greedy, max_length=60), progress=False)

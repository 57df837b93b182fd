"""RealFormer and two controls as small language models, each at its own learning rate. Page 5.18.

    rows = load()                                     # the saved runs
    row = measure("RealFormer", 4, 0.01, seed=0, steps=300)     # {"test": 2.4, ...}

Everything else is as in `norm_variants`: characters of tinyshakespeare, width 32, 4 heads, windows
of 32 characters. The control "scaled scores" multiplies the scores of layer l by sqrt(l), the
growth that a sum of l independent scores would have.
"""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import LayerNorm
from deepdive.core.embeddings import TiedHead, TokenEmbedding
from deepdive.core.hooks import record
from deepdive.core.residual import PostNorm, PreNorm
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.realformer import realformer_stack
from deepdive.models.transformer.transformer import Decoder
from deepdive.positions import LearnedPosition
from deepdive_book.ch05.runs.norm_variants import (
    D_MODEL,
    HEADS,
    LENGTH,
    corpus,
    evaluate,
    run_settings,
    train,
)
from deepdive_book.kit.experiments import load_rows, results_path
from deepdive_book.kit.profile import profile
from deepdive_book.tasks.stream import sequential_windows

PLAIN, REAL, SCALED = "post-norm", "RealFormer", "post-norm, scaled scores"
# The residual connection, the carried part of the previous scores, and whether scores are scaled.
VARIANTS: dict[str, tuple[type[nn.Module], float, bool]] = {
    PLAIN: (PostNorm, 0.0, False),
    REAL: (PostNorm, 1.0, False),
    SCALED: (PostNorm, 0.0, True),
    "pre-norm": (PreNorm, 0.0, False),
    "pre-norm, residual scores": (PreNorm, 1.0, False),
}
# (layers, steps) -> the variants that are trained so
SETTINGS = {(4, 300): tuple(VARIANTS), (4, 900): (PLAIN, REAL, SCALED)}


def decoder(vocab_size: int, variant: str, n_layers: int) -> DecoderOnly:
    """Build a variant; all of them have the same parameters but for pre-norm's final norm."""
    residual, carry, scaled = VARIANTS[variant]
    norm = LayerNorm(D_MODEL) if residual is PreNorm else None
    embedding = TokenEmbedding(vocab_size, D_MODEL)
    stack = realformer_stack(
        D_MODEL, HEADS, n_layers, 4 * D_MODEL, residual=residual, carry=carry, norm=norm
    )
    if scaled:
        for i, block in enumerate(stack.blocks, 1):
            attention: Any = block.attn
            attention.scale = (i / attention.d_head) ** 0.5
    place = LearnedPosition(LENGTH, D_MODEL)
    return DecoderOnly(Decoder(embedding, place, stack), TiedHead(embedding))


@torch.no_grad()
def attention_by_layer(model: nn.Module, ids: Tensor, windows: int = 64) -> dict[str, list[float]]:
    """Return means over the second half of the positions, all heads, and some windows of a text.

    entropy      of a layer's attention weights, divided by that of uniform weights; by layer
    agreement    1 minus the total variation distance (half of the sum of absolute differences)
                 between the weights of the same head in this layer and the next; one fewer
    """
    batch = sequential_windows(ids, LENGTH)[:windows, :-1]
    with record(model.eval(), "*.weights") as seen:
        model(batch)
    half = batch.shape[1] // 2
    layers = [calls[0][:, :, half:] for calls in seen.values()]  # (B, H, T / 2, T)
    uniform = torch.arange(half + 1, batch.shape[1] + 1).log()
    entropies = [float((torch.special.entr(w).sum(-1) / uniform).mean()) for w in layers]
    agreements = [float(1 - (a - b).abs().sum(-1).mean() / 2) for a, b in pairwise(layers)]
    return {"entropy": entropies, "agreement": agreements}


def measure(variant: str, n_layers: int, rate: float, seed: int, steps: int) -> dict[str, Any]:
    """Train one decoder.

    test        nats per character, with `chosen` on the half that selects the learning rate
    entropy, agreement    as `attention_by_layer` returns them, on the test text
    """
    text = corpus()
    torch.manual_seed(seed)
    model = decoder(len(text.letters), variant, n_layers)
    finite = train(model, text, rate, seed, steps)
    parts = {"chosen": text.chosen, "test": text.test}
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        **{name: evaluate(model, ids) if finite else None for name, ids in parts.items()},
        **(attention_by_layer(model, text.test) if finite else {}),
    }


def run_all() -> None:
    """Measure every point into results/residual_scores.json, as page 5.15 does."""
    run_settings(measure, SETTINGS, results_path("05_efficient", "residual_scores"))


def load() -> list[dict[str, Any]]:
    """Return the saved runs; in the profile `experiment` measure the missing ones first."""
    if profile() == "experiment":
        run_all()
    return load_rows(results_path("05_efficient", "residual_scores"))

"""Longformer against transformers, whose softmax is always in float32: 1e-5, gradients 1e-4; and
its pattern, and windows with gaps, against torch under the mask written out, in float64.
"""

from __future__ import annotations

from tempfile import TemporaryDirectory

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import real, rows, tokens
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor

from deepdive.attention import (
    DilatedAttention,
    GlobalWindowAttention,
    LongformerAttention,
)
from deepdive.attention.by_position import global_window as pattern
from deepdive.core.hooks import record
from deepdive.core.masks import Causal, Mask, Padding
from deepdive.models.efficient.longformer import Longformer
from deepdive.published import family, from_config, load
from deepdive.published.weights import translate

KEYS = real([13, 9, 5], 13)
CHOSEN = torch.zeros(3, 13).bool()
CHOSEN[0, [0, 7, 12]], CHOSEN[1, [0, 8]] = True, True  # three, two and none
TOKENS = tokens(3, 13, vocab=28).masked_fill(~KEYS, 1)


def allowed(left: int, right: int, gap: int = 1, T: int = 13) -> Tensor:
    """The mask (1, 1, T, 13) of a window, as the paper's text says it, entry by entry."""
    mask = torch.zeros(1, 1, T, 13).bool()
    for t in range(T):
        for j in range(-left, right + 1):
            s = 13 - T + t + j * gap
            if 0 <= s < 13:
                mask[0, 0, t, s] = True
    return mask


def under(mask: Tensor, ours: torch.nn.Module, said: Mask, T: int = 13, **more: Tensor) -> None:
    """`ours`, in tiles and step by step, equals torch's attention under `mask`."""
    shapes = ((3, 3, T, 6), (3, 3, 13, 6), (3, 3, 13, 5))
    q, k, v = (rows(*shape, seed=i) for i, shape in enumerate(shapes))
    leaves = {"q": (q, q), "k": (k, k), "v": (v, v)}
    with record(ours, "weights") as seen:
        explicit = ours(q, k, v, said, **more)
    assert seen["weights"][0].shape == (3, 3, T, 13)
    for output in (explicit, ours(q, k, v, said, **more)):
        expected = F.scaled_dot_product_attention(q, k, v, mask)
        equal(output, expected)
        equal_gradients(output, expected, leaves)


@parity(GlobalWindowAttention)
def window_and_global_tokens() -> None:
    for left, right, block in ((2, 2, 4), (1, 3, 5), (20, 0, 3)):
        mask = allowed(left, right) | CHOSEN[:, None, :, None] | CHOSEN[:, None, None]
        ours = GlobalWindowAttention(left, right, block=block)
        under(mask & KEYS[:, None, None], ours, Padding(KEYS), global_tokens=CHOSEN)
    first_and_last = GlobalWindowAttention(2, 2, at=(0, -1), block=4)
    mask = allowed(2, 2)
    for end in (0, 12):
        mask[..., end, :] = mask[..., end] = True
    under(mask, first_and_last, Padding(torch.ones(3, 13).bool()))


@parity(DilatedAttention)
def gaps() -> None:
    for T, left, right, dilations in ((13, 2, 1, (1, 2, 3)), (13, 1, 1, (5,)), (6, 2, 0, (2,))):
        ours = DilatedAttention(left, right, dilations, block=2)
        masks = [allowed(left, right, gap, T) for gap in dilations]
        mask = torch.cat(masks, dim=1) & KEYS[:, None, None]
        under(mask, ours, Padding(KEYS), T)
        under(mask & Causal().dense(T, 13), ours, Padding(KEYS) & Causal(), T)


@parity(Longformer, LongformerAttention)
def longformer() -> None:
    """Saved as it is published, and loaded; texts with other global tokens, padding, no mask."""
    from transformers import LongformerConfig, LongformerModel

    torch.manual_seed(0)
    config = LongformerConfig(
        vocab_size=28,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        max_position_embeddings=18,
        attention_window=[4, 8],
    )
    theirs = perturb(LongformerModel(config).eval())
    with TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = load(folder)
    assert isinstance(ours, Longformer)
    segments = (TOKENS % 2) * KEYS
    for keys, chosen in ((KEYS, CHOSEN), (KEYS, None), (KEYS | True, CHOSEN)):
        ids = TOKENS if keys is KEYS else tokens(3, 13, vocab=28)
        said = {"global_attention_mask": chosen.long()} if chosen is not None else {}
        expected = theirs(ids, keys.long(), token_type_ids=segments, **said).last_hidden_state
        output = ours(ids, keys, segments, chosen)
        equal(output[keys], expected[keys], 1e-5)
        alike(ours, theirs, output[keys], expected[keys], chosen is None)


def alike(
    ours: Longformer,
    theirs: torch.nn.Module,
    output: Tensor,
    expected: Tensor,
    silent: bool,
) -> None:
    """The gradients of every parameter agree, as far as float32 goes."""
    direction = torch.randn(expected.shape, generator=torch.Generator().manual_seed(3))
    mine, other = dict(ours.named_parameters()), dict(theirs.named_parameters())
    for model, sum_of in ((mine, output), (other, expected)):
        grads = torch.autograd.grad(
            (sum_of * direction).sum(), [*model.values()], allow_unused=True
        )
        for name, g in zip(list(model), grads, strict=True):
            model[name] = torch.zeros_like(model[name]) if g is None else g
    left_out = [name for name in other if name.startswith("pooler")]
    found = translate(other, [family("longformer").names], left_out)
    assert set(found) == set(mine)
    for name, source in found.items():
        unasked = silent and ".global_" in name
        assert unasked or source.tensor.abs().max() > 1e-6, f"{name} has no gradient"
        error = (mine[name] - source.tensor).abs().max() / source.tensor.abs().max().clamp(min=1)
        assert error < 1e-4, f"gradient of {name} differs by {error:.1e}"


def test_a_global_token_that_counts_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """In its window and as a global token: a key must stand in the softmax once."""
    kept = pattern.attend

    def open_again(*given: object, real: Tensor, **more: object) -> Tensor:
        closed = real.clone()
        closed[:, :13] = KEYS
        return kept(*given, real=closed, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(pattern, "attend", open_again)
    with pytest.raises(AssertionError):
        window_and_global_tokens()
    with pytest.raises(AssertionError):
        longformer()


def test_a_config_of_another_padding_is_refused() -> None:
    with pytest.raises(ValueError, match="pad_token_id"):
        from_config({"model_type": "longformer", "pad_token_id": 3})

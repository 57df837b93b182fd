"""Speech2Text2 against what transformers 4.57.6 said, in float64, with gradients; later versions do
not have it. `golden/make_speech2text2.py` says how the file came about.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_registry import differs, equal, parity
from safetensors.torch import load_file
from torch import Tensor, nn

from deepdive.core import PreNorm
from deepdive.models.speech import speech2text, speech2text2, wav2vec2
from deepdive.models.speech.speech2text import Speech2Text
from deepdive.models.speech.speech_encoder import Projection
from deepdive.models.transformer.translator import translator
from deepdive.published.families.speech import SPEECH2TEXT2
from deepdive.published.weights import adopt, translate

GOLDEN = load_file(Path(__file__).parent / "golden" / "speech2text2.safetensors")


class Heard(nn.Module):
    """An encoder whose states are given."""

    def forward(self, rows: Tensor, mask: Tensor | None = None) -> Tensor:
        return rows

    def real(self, mask: Tensor | None) -> Tensor | None:
        return mask


def of(kind: str) -> dict[str, Tensor]:
    start = f"{kind}."
    return {n.removeprefix(start): t for n, t in GOLDEN.items() if n.startswith(start)}


def made(d_encoder: int = 8) -> Speech2Text:
    sizes = {"src_vocab": 12, "d_model": 8, "n_decoder_heads": 2, "n_decoder_layers": 2}
    model = speech2text2.speech2text2(
        Heard(), d_encoder, n_heads=2, d_decoder_ff=12, dropout=0.0, **sizes
    )
    return model.double().eval()


@parity("speech2text2")
def speech2text2_agrees() -> None:
    ours = made()
    adopt(ours, of("weight"), [SPEECH2TEXT2])
    memory = GOLDEN["memory"].clone().requires_grad_()
    real = GOLDEN["real"]
    logits = ours(memory, GOLDEN["tokens"], GOLDEN["heard"], real)[real]
    equal(logits, GOLDEN["logits"])
    (logits * GOLDEN["direction"]).sum().backward()
    wanted = translate(of("gradient"), [SPEECH2TEXT2])
    mine = {**dict(ours.named_parameters()), "memory": memory}
    assert set(wanted) == set(mine)
    for name, source in wanted.items():
        gradient = mine[name].grad
        assert gradient is not None
        assert differs(gradient, source.tensor) < 1e-8, name
        assert source.tensor.abs().max() > 1e-12, name


def test_names_there_and_back() -> None:
    ours = made()
    adopt(ours, of("weight"), [SPEECH2TEXT2])
    names = set(of("weight"))
    back = SPEECH2TEXT2.theirs(dict(ours.named_parameters()))
    assert set(back) == names
    for name, tensor in of("weight").items():
        assert torch.equal(back[name], tensor)


@parity(Projection)
def narrowed_agrees() -> None:
    """Rows of another width, brought to the decoder's by a matrix of torch."""
    ours, rows = made(d_encoder=20), torch.randn(3, 7, 20, dtype=torch.float64)
    given, tokens, heard = made(), GOLDEN["tokens"], GOLDEN["heard"]
    given.load_state_dict(ours.state_dict(), strict=False)
    matrix = nn.Linear(20, 8).double()
    matrix.load_state_dict(ours.encoder.narrow.state_dict())
    equal(ours(rows, tokens, heard), given(matrix(rows), tokens, heard))


def test_behind_wav2vec2() -> None:
    """It writes what a wav2vec 2.0 heard, and reads no row of padding."""
    encoder = wav2vec2.wav2vec2(wav2vec2.TINY).eval()
    ours = speech2text2.speech2text2(encoder, encoder.config.d_model, speech2text2.TINY).eval()
    sound, real = torch.randn(2, 400), torch.arange(400) < torch.tensor([400, 250])[:, None]
    tokens = torch.full((2, 4), 5)
    state = ours.begin(sound, real)
    assert state.memory is not None
    assert state.memory_mask is not None
    before = ours.decode(tokens, state)
    state.memory = torch.where(state.memory_mask.real[..., None], state.memory, 9.0)
    assert torch.equal(ours.decode(tokens, state), before)
    rows = encoder.real(real)
    assert rows is not None
    assert state.memory_mask.real.sum(1).tolist() == rows.sum(1).tolist()


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "norms inside the branches": (
        speech2text2_agrees, "deepdive.models.speech.speech2text2.translator",
        lambda config: translator(config.but(residual=partial(PreNorm)))),
    "unscaled embeddings": (
        speech2text2_agrees, "deepdive.core.embeddings.TokenEmbedding.forward",
        lambda self, x: self.weight[x]),
    "positions from 0": (
        speech2text2_agrees, "deepdive.models.transformer.fsmt.BlockedSinusoidalPosition",
        lambda d, steps, offset: speech2text.BlockedSinusoidalPosition(d, steps=steps)),
    "padding heard": (
        speech2text2_agrees, "deepdive.models.speech.speech2text.Speech2Text.begin",
        lambda self, src, mask: speech2text.DecodingState(speech2text.KVCache(), src, None)),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    narrowed_agrees()
    speech2text2_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

"""Whisper against transformers in float64: logits, gradients, and what it writes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import differs, equal, parity
from parity_speech import SIZES, TGT, TGT_MASK, blocked
from transformers import WhisperConfig, WhisperForConditionalGeneration

from deepdive.core import MultiHeadAttention, PostNorm, gelu_tanh
from deepdive.decoding import greedy
from deepdive.layers.subsample import Window
from deepdive.models.speech import whisper
from deepdive.published import family, from_config, load

SETTINGS: dict[str, Any] = {
    **SIZES, "num_mel_bins": 6, "max_source_positions": 9, "max_target_positions": 11,
    "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2, "decoder_start_token_id": 3,
    "begin_suppress_tokens": None,
}  # fmt: skip
FRAMES = rows(3, 18, 6).detach()
WAVES = "model.encoder.embed_positions.weight"


def made() -> WhisperForConditionalGeneration:
    theirs: Any = reference(WhisperForConditionalGeneration, WhisperConfig, **SETTINGS)
    fresh = WhisperForConditionalGeneration(theirs.config).model.encoder.embed_positions.weight
    table = blocked(9, 16, padding=None)
    assert differs(fresh.double(), table) < 1e-6
    theirs.model.encoder.embed_positions.weight.data = table
    return theirs


@parity("whisper", Window)
def whisper_agrees() -> None:
    theirs = made()
    ours: Any = saved_and_loaded(theirs, load)
    expected = theirs(
        input_features=FRAMES.mT,
        decoder_input_ids=TGT,
        decoder_attention_mask=TGT_MASK.long(),
        decoder_position_ids=torch.arange(5).expand(3, -1),
    ).logits
    output = ours(FRAMES, TGT, None, TGT_MASK)
    names = [family("whisper").table(config=ours.config)]
    alike(ours, theirs, output[TGT_MASK], expected[TGT_MASK], names)


def test_the_same_text_from_a_prompt() -> None:
    """Step by step, after a prompt of two tokens, is what theirs says of the whole."""
    theirs = made()
    ours: Any = saved_and_loaded(theirs, load)
    prompt = torch.tensor([[3, 7]] * 3)
    written = greedy(ours, FRAMES, prompt=prompt, eos=2, max_length=6)
    for i, row in enumerate(written):
        text = torch.tensor([[3, 7, *row]])
        logits = theirs(input_features=FRAMES[i : i + 1].mT, decoder_input_ids=text).logits
        wanted = [*row, 2][: len(row) + (len(row) < 6)]
        assert logits[0, 1 : 1 + len(wanted)].argmax(-1).tolist() == wanted


def test_published_sizes() -> None:
    """Radford et al. 2022, table 1: 39, 74, 244, 769 and 1550 million; it counts the waves too."""
    for config, (d_model, heads, layers), millions in (
        (whisper.SMALLEST, (384, 6, 4), 39),
        (whisper.BASE, (512, 8, 6), 74),
        (whisper.SMALL, (768, 12, 12), 244),
        (whisper.MEDIUM, (1024, 16, 24), 769),
        (whisper.LARGE, (1280, 20, 32), 1550),
    ):
        sides = {"layers": layers, "attention_heads": heads, "ffn_dim": 4 * d_model}
        with torch.device("meta"):
            theirs = WhisperForConditionalGeneration(
                WhisperConfig(
                    d_model=d_model,
                    **{f"{side}_{n}": k for side in ("encoder", "decoder")
                       for n, k in sides.items()},
                )
            )  # fmt: skip
            ours = whisper.whisper(config)
        number = sum(p.numel() for p in ours.parameters())
        assert number + 1500 * d_model == theirs.num_parameters()
        assert abs(number / 1e6 / millions - 1) < 0.05


def test_settings_and_waves_that_are_not_built_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="encoder_layerdrop"):
        from_config({**WhisperConfig(**SETTINGS).to_dict(), "encoder_layerdrop": 0.1})
    theirs = WhisperForConditionalGeneration(WhisperConfig(**SETTINGS))
    with torch.no_grad():
        theirs.model.encoder.embed_positions.weight[3, 2] += 0.01
    theirs.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"embed_positions\.weight was trained"):
        load(tmp_path)


def test_silence_is_heard() -> None:
    """There is no mask: a recording filled with silence is another than one filled with noise."""
    ours = whisper.whisper(whisper.TINY).double().eval()
    short = rows(1, 14, 8)
    filled = [F.pad(short, (0, 0, 0, 10)), torch.cat((short, rows(1, 10, 8, seed=1)), 1)]
    first, second = (ours(each, TGT[:1]) for each in filled)
    assert differs(first, second) > 1e-3
    equal(ours(filled[0], TGT[:1]), first)


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "values without a bias": (
        whisper_agrees, "deepdive.attention.heads.projections.KeysWithoutBias.keys_and_values",
        MultiHeadAttention.keys_and_values),
    "no activation behind the second convolution": (
        whisper_agrees, "deepdive.layers.subsample.Window.forward",
        lambda self, frames, mask=None: (self.convs[1](F.gelu(self.convs[0](frames.mT))).mT, None)),
    "norms behind the sums": (
        whisper_agrees, "deepdive.models.speech.speech2text.PreNorm", PostNorm),
    "waves from 1": (
        whisper_agrees, "deepdive.positions.BlockedSinusoidalPosition.table",
        lambda self, at: blocked(64, self.d_model, None)[at + 1]),
    "GELU's approximation": (
        whisper_agrees, "deepdive.published.form.ACTIVATIONS", {"gelu": gelu_tanh}),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    whisper_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        proof()

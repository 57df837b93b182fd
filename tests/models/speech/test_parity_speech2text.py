"""Speech2Text against transformers in float64: alone, in a batch, and written step by step.

transformers lets padding into its convolutions: the last rows of a recording depend on what the
batch is filled with. Ours do not, so each recording is compared alone with ours in the batch; and
with `mask_padding` taken out, the whole batch.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, real, tokens
from parity_registry import differs, equal, parity
from parity_speech import FRAMES, LENGTHS, MASK, SIZES, TGT, TGT_MASK, blocked
from torch import Tensor
from transformers import (
    GenerationConfig,
    PreTrainedModel,
    Speech2TextConfig,
    Speech2TextForConditionalGeneration,
)

from deepdive.core import PostNorm
from deepdive.decoding import beam, beam_settings, greedy, greedy_settings
from deepdive.layers import subsample
from deepdive.layers.subsample import Subsample
from deepdive.models.speech import speech2text
from deepdive.models.speech.speech2text import Speech2Text
from deepdive.models.speech.speech_encoder import SpeechEncoder
from deepdive.published import family, from_config, load

SETTINGS = {**SIZES, "input_feat_per_channel": 6, "conv_channels": 12}
OTHERS: tuple[dict[str, Any], ...] = (
    {},
    {"scale_embedding": False, "conv_kernel_sizes": [3, 5], "activation_function": "gelu"},
)


def made(seed: int = 0, **settings: Any) -> PreTrainedModel:
    """A model of theirs, every weight off its special values, with waves in float64."""
    theirs = reference(
        Speech2TextForConditionalGeneration, Speech2TextConfig, seed, **SETTINGS, **settings
    )
    for side in (theirs.model.encoder, theirs.model.decoder):
        table = blocked(len(side.embed_positions.weights), 16, padding=1)
        assert differs(side.embed_positions.weights.double(), table) < 2e-3  # float32 at 6,000
        side.embed_positions.weights = table
    return theirs


def both(**settings: Any) -> tuple[Speech2Text, PreTrainedModel, list[Any]]:
    theirs = made(**settings)
    ours: Any = saved_and_loaded(theirs, load)
    return ours, theirs, [family("speech_to_text").table(config=ours.config)]


def said(theirs: PreTrainedModel, frames: Tensor, mask: Tensor, tgt: Tensor, real: Tensor) -> Any:
    return theirs(
        input_features=frames,
        attention_mask=mask.long(),
        decoder_input_ids=tgt,
        decoder_attention_mask=real.long(),
    ).logits[real]


@parity(Speech2Text, SpeechEncoder)
def speech2text_agrees() -> None:
    """Each recording alone, as theirs; all of them in a batch, as ours."""
    for settings in OTHERS:
        ours, theirs, names = both(**settings)
        expected = torch.cat([
            said(theirs, FRAMES[i : i + 1, :n], MASK[i : i + 1, :n], TGT[i : i + 1],
                 TGT_MASK[i : i + 1])
            for i, n in enumerate(LENGTHS)
        ])  # fmt: skip
        output = ours(FRAMES, TGT, MASK, TGT_MASK)[TGT_MASK]
        alike(ours, theirs, output, expected, names)


@parity(Subsample)
def a_batch_agrees() -> None:
    """The batch as theirs reads it: what lies under padding enters the convolutions."""
    ours, theirs, names = both()
    with mock.patch.object(subsample, "mask_padding", lambda rows, mask: rows):
        output = ours(FRAMES, TGT, MASK, TGT_MASK)[TGT_MASK]
    alike(ours, theirs, output, said(theirs, FRAMES, MASK, TGT, TGT_MASK), names)


def test_what_their_padding_changes() -> None:
    """Theirs in a batch is not theirs alone; the longest recording, without padding, is."""
    _, theirs, _ = both()
    for filled in (FRAMES, FRAMES * MASK[..., None]):
        batch = theirs.model.encoder(filled, attention_mask=MASK.long()).last_hidden_state
        alone = theirs.model.encoder(FRAMES[1:2, :14]).last_hidden_state
        assert differs(batch[1:2, :4], alone) > 1e-2
        equal(batch[:1], theirs.model.encoder(FRAMES[:1]).last_hidden_state)


def test_as_many_rows_as_theirs() -> None:
    theirs = Speech2TextForConditionalGeneration(Speech2TextConfig(**SETTINGS))
    lengths = torch.arange(1, 40)
    front = Subsample(6, 16, 12, (5, 5))
    found = front(torch.zeros(39, 39, 6), real(lengths.tolist(), 39))[1]
    assert found is not None
    assert found.sum(1).tolist() == theirs._get_feat_extract_output_lengths(lengths).tolist()


def test_published_sizes() -> None:
    """The released models for LibriSpeech: 30, 71 and 268 million, of theirs and of ours."""
    for config, d_model, heads, d_ff, millions in (
        (speech2text.BASE, 256, 4, 2048, 30),
        (speech2text.MEDIUM, 512, 8, 2048, 71),
        (speech2text.LARGE, 1024, 16, 4096, 268),
    ):
        with torch.device("meta"):
            theirs = Speech2TextForConditionalGeneration(
                Speech2TextConfig(
                    d_model=d_model, encoder_attention_heads=heads, decoder_attention_heads=heads,
                    encoder_ffn_dim=d_ff, decoder_ffn_dim=d_ff,
                )
            )  # fmt: skip
            number = sum(p.numel() for p in speech2text.speech2text(config).parameters())
        assert number == theirs.num_parameters()
        assert round(number / 1e6) == millions


def test_settings_that_are_not_built_are_refused() -> None:
    good = Speech2TextConfig(**SETTINGS).to_dict()
    for changes, message in (
        ({"input_channels": 2}, "input_channels=2"),
        ({"pad_token_id": 0}, "pad_token_id=0"),
        ({"conv_kernel_sizes": [5]}, "one kernel size per layer"),
        ({"encoder_layerdrop": 0.1}, "encoder_layerdrop"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


@pytest.fixture(scope="module")
def copier() -> PreTrainedModel:
    """A model of theirs that has half learned to write which of six numbers is large when."""
    torch.manual_seed(0)
    settings = {**SETTINGS, "vocab_size": 10, "dropout": 0.0, "init_std": 0.2}
    model = Speech2TextForConditionalGeneration(Speech2TextConfig(**settings))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for i in range(100):
        frames, mask, words = spoken(24, seed=1000 + i)
        logits = model(frames, mask.long(), words[:, :-1], use_cache=False).logits
        loss = F.cross_entropy(logits.mT, words[:, 1:], ignore_index=1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def spoken(n: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Frames of words, eight a word, and what they say, between two tokens of the end."""
    lengths = torch.randint(1, 5, (n,), generator=torch.Generator().manual_seed(seed))
    words = tokens(n, 4, vocab=10, seed=seed)
    mask, there = real((8 * lengths).tolist(), 32), real(lengths.tolist(), 4)
    noise = torch.randn(n, 32, 6, generator=torch.Generator().manual_seed(seed))
    frames = F.one_hot(words - 4, 6).repeat_interleave(8, 1) * 2.0 + 0.5 * noise
    text = torch.full((n, 6), 1)
    text[:, 0] = 2
    text[:, 1:5] = torch.where(there, words, 1)
    text[torch.arange(n), lengths + 1] = 2
    return frames * mask[..., None], mask, text


SEARCHES: list[dict[str, Any]] = [
    {"num_beams": 1},
    {"num_beams": 4, "length_penalty": 1.0, "early_stopping": False},
    {"num_beams": 3, "length_penalty": 0.0, "early_stopping": "never"},
    {"num_beams": 5, "length_penalty": 1.5, "early_stopping": True},
]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: "-".join(map(str, s.values())))
def test_the_same_text_as_generate(
    copier: PreTrainedModel, search: dict[str, Any], tmp_path: Path
) -> None:
    copier.generation_config = GenerationConfig.from_model_config(copier.config)
    copier.generation_config.update(max_length=7, **search)
    copier.save_pretrained(tmp_path)
    ours = load(tmp_path)
    ends = set()
    for length in range(1, 5):  # of one length at a time: theirs reads padding
        frames, mask, _ = spoken(40, seed=1)
        at = mask.sum(1) == 8 * length
        frames = frames[at, : 8 * length]
        written = copier.generate(
            frames, attention_mask=mask[at, : 8 * length].long(), return_dict_in_generate=True,
            output_scores=True,
        )  # fmt: skip
        expected = [cut(row[1:]) for row in written.sequences.tolist()]
        ends |= {len(row) for row in expected}
        if search["num_beams"] == 1:
            assert greedy(ours, frames, **greedy_settings(tmp_path)) == expected
        else:
            found = [best for (best,) in beam(ours, frames, **beam_settings(tmp_path))]
            assert [each.tokens for each in found] == expected
            scores = written.sequences_scores.tolist()
            assert [each.score for each in found] == pytest.approx(scores, abs=1e-4)
    assert len(ends) > 2, "all texts are of one length: this shows little"


def cut(row: list[int]) -> list[int]:
    ends = [i for i, token in enumerate(row) if token in (1, 2)]
    return row[: ends[0]] if ends else row


def test_greedy_reads_padded_recordings(copier: PreTrainedModel, tmp_path: Path) -> None:
    """Ours in a padded batch writes what each recording gives alone."""
    copier.save_pretrained(tmp_path)
    ours = load(tmp_path)
    frames, mask, _ = spoken(12, seed=2)
    together = greedy(ours, frames, mask, bos=2, eos=2, max_length=6)
    alone = [
        greedy(ours, frames[i : i + 1, : int(mask[i].sum())], bos=2, eos=2, max_length=6)[0]
        for i in range(12)
    ]
    assert together == alone
    assert len({len(row) for row in alone}) > 1


def ungated(self: Subsample, frames: Tensor, mask: Tensor | None = None) -> Any:
    x = frames
    for conv in self.convs:
        x = conv(x.mT).chunk(2, 1)[0].mT
        mask = None if mask is None else mask[:, ::2]
    return x, mask


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "the gate and what it gates exchanged": (
        speech2text_agrees, "deepdive.layers.subsample.F",
        SimpleNamespace(glu=lambda x, dim: F.glu(torch.cat(x.chunk(2, dim)[::-1], dim), dim))),
    "no gate": (
        a_batch_agrees, "deepdive.layers.subsample.Subsample.forward", ungated),
    "padding enters": (
        speech2text_agrees, "deepdive.layers.subsample.mask_padding", lambda rows, mask: rows),
    "rows unscaled": (
        speech2text_agrees, "deepdive.models.speech.speech_config.SpeechConfig.factor", 1.0),
    "norms behind the sums": (
        speech2text_agrees, "deepdive.models.speech.speech2text.PreNorm", PostNorm),
    "positions from 0": (
        speech2text_agrees, "deepdive.positions.BlockedSinusoidalPosition.table",
        lambda self, at: blocked(64, self.d_model, None)[at]),
    "padding seen by the decoder": (
        speech2text_agrees, "deepdive.models.speech.speech2text.Speech2Text.begin",
        lambda self, src, mask=None: speech2text.DecodingState(
            speech2text.KVCache(), self.encoder(src, mask)[0], None)),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    speech2text_agrees()
    a_batch_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

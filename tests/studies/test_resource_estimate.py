"""What models ask of a machine, counted without numbers, beside transformers'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from deepdive.models.speech import hubert, speech2text, wav2vec2
from deepdive.models.speech.wav2vec2_config import SoundConfig
from deepdive_book.kit.flops import count_flops
from deepdive_book.studies.figures.resource_estimate import resource_estimate

SAMPLES, FRAMES, TOKENS = 35 * 16000, 3498, 100  # of 35 s


def waves() -> list[torch.Tensor]:
    return [torch.zeros(1, SAMPLES)]


def frames_and_tokens() -> list[torch.Tensor]:
    return [torch.zeros(1, FRAMES, 80), torch.zeros(1, TOKENS, dtype=torch.long)]


def ctc(config: SoundConfig) -> Callable[[], nn.Module]:
    return lambda: wav2vec2.for_ctc(wav2vec2.wav2vec2(config))


PUBLISHED: dict[str, tuple[Any, Any, int, int, int]] = {
    "wav2vec2-base-960h": (ctc(wav2vec2.BASE), waves, 94_396_320, 599_629_735_936, 838_577_280),
    "hubert-large-ls960-ft": (
        ctc(hubert.LARGE.but(convolution_bias=True)), waves,
        315_471_520, 1_560_158_820_352, 1_952_247_936,
    ),
    "s2t-small-librispeech-asr": (
        speech2text.speech2text, frames_and_tokens, 29_536_256, 44_877_107_200, 150_051_184,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_recognisers_ask_this_much_for_35_seconds(name: str) -> None:
    build, inputs, parameters, operations, memory = PUBLISHED[name]
    found = resource_estimate(build, inputs)
    assert (found.parameters, found.operations) == (parameters, operations)
    assert abs(found.memory - memory) < 1e5
    assert found.memory < 11e9, "it fits a card of 11 GB"


def test_transformers_counts_as_many() -> None:
    """But for one row more in their convolution of places, which they drop: 0.002 %."""
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    with torch.device("meta"), torch.no_grad():
        theirs, sound = Wav2Vec2ForCTC(Wav2Vec2Config()).eval(), torch.zeros(1, SAMPLES)
        operations = count_flops(lambda: theirs(sound))
    _, _, parameters, mine, _ = PUBLISHED["wav2vec2-base-960h"]
    assert sum(p.numel() for p in theirs.parameters()) == parameters
    assert operations - mine == 2 * 768 * 48 * 128


def test_memory_is_what_lives_at_one_time() -> None:
    """Of three layers the weights, and one layer's input and output: the first input is kept."""
    chain = nn.Sequential(*(nn.Linear(10, 10, bias=False) for _ in range(3)))
    found = resource_estimate(lambda: chain.to("meta"), lambda: [torch.zeros(7, 10)])
    assert found.memory == 4 * (3 * 100 + 3 * 70)

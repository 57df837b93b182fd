"""Pixels and samples that no vision or speech model can read are refused, and the message says
which argument, what came, what was expected, and what to do.
"""

from __future__ import annotations

import math
import pkgutil
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from deepdive.models import speech, vision
from deepdive.models.speech import (
    conformer,
    data2vec_audio,
    hubert,
    small_asr_models,
    speech2text,
    wav2vec2,
    wav2vec2_pretraining,
    whisper,
)
from deepdive.models.vision import (
    data2vec,
    deit,
    detr,
    mae,
    resnet,
    sagan,
    segformer,
    swin,
    timesformer,
    video_action,
    vit,
)


def reads(name: str) -> tuple[nn.Module, Callable[[Tensor], Any], Tensor, str]:
    """A small model, how it reads one input, such an input, and the argument's name."""
    torch.manual_seed(0)
    model: Any
    if name in PICTURES:
        build, config = PICTURES[name]
        model = build(config)
        given = torch.rand(2, config.channels, *(SIDES.get(name) or config.image_size,) * 2)
        return model, model, given, "images"
    if name in FILMS:
        model = timesformer.timesformer(FILMS[name].but(**timesformer.TINY_SIZES))
        return model, model, torch.rand(2, 4, 1, 8, 8), "images"
    if name == "discriminator":
        model = sagan.Discriminator(4)
        return model, model, torch.rand(2, 1, 28, 28), "images"
    if name == "generator":
        model = sagan.Generator(6, 4)
        return model, model, torch.rand(2, 6), "z"
    if name == "video_action":
        model = video_action.video_action(video_action.TINY)
        boxes = torch.tensor([[[0.5, 0.5, 0.4, 0.4]]] * 2)
        return model, lambda film: model(film, boxes), torch.rand(2, 3, 4, 4, 16), "features"
    if name in SOUNDS:
        model = SOUNDS[name]()
        channels = 39 if name == "listener" else 1
        given = torch.randn(2, 60, 39) if channels > 1 else torch.randn(2, 900)
        return model, model, given, "sound"
    model = FRAMES[name]()
    tokens = torch.tensor([[1, 2], [1, 3]])
    wide = model.config.n_features if hasattr(model, "config") else model.front.n_features
    given = torch.randn(2, 2 * getattr(getattr(model, "config", None), "window", 0) or 12, wide)
    if name == "whisper":
        given = torch.randn(2, model.config.window, wide)
    if name == "conformer":
        return model, model, given, "frames"
    return model, lambda x: model(x, tokens[: len(x)]), given, "frames"


PICTURES: dict[str, tuple[Callable[..., nn.Module], Any]] = {
    "vit": (vit.vit, vit.TINY),
    "deit": (deit.deit, deit.TINY),
    "mae": (mae.mae, mae.TINY),
    "data2vec": (data2vec.data2vec, data2vec.TINY),
    "swin": (swin.swin, swin.TINY),
    "segformer": (segformer.segformer, segformer.TINY),
    "resnet": (resnet.resnet, resnet.TINY),
    "detr": (lambda config: detr.detr(detr.TINY), resnet.TINY),
}
SIDES = {"segformer": 32, "resnet": 32, "detr": 32}
FILMS = dict(timesformer.SCHEMES)
SOUNDS: dict[str, Callable[[], nn.Module]] = {
    "wav2vec2": lambda: wav2vec2.wav2vec2(wav2vec2.TINY),
    "hubert": lambda: hubert.hubert(hubert.TINY),
    "data2vec_audio": lambda: data2vec_audio.data2vec_audio(data2vec_audio.TINY),
    "wav2vec2_pretraining": lambda: wav2vec2_pretraining.Wav2Vec2ForPreTraining(
        wav2vec2.wav2vec2(wav2vec2.TINY)
    ),
    "listener": small_asr_models.ctc_encoder,
}
FRAMES: dict[str, Callable[[], nn.Module]] = {
    "speech2text": lambda: speech2text.speech2text(speech2text.TINY),
    "whisper": lambda: whisper.whisper(whisper.TINY),
    "conformer": lambda: conformer.conformer(conformer.TINY),
}
NAMES = [*PICTURES, *FILMS, "discriminator", "generator", "video_action", *SOUNDS, *FRAMES]
# Modules of the two rooms that hold parts and records, and one that reads tokens alone.
PARTS = {
    "detr_config", "embeddings", "mae_config", "resnet_config", "segformer_config", "swin_config",
    "video_embeddings", "wav2vec2_config",
    "asr_heads", "speech_config", "speech_encoder", "speech2text2",
}  # fmt: skip
ELSEWHERE = {"timesformer": FILMS, "sagan": ["generator"], "small_asr_models": ["listener"]}


def test_every_vision_and_speech_model_is_here() -> None:
    found = {info.name for room in (vision, speech) for info in pkgutil.iter_modules(room.__path__)}
    assert found - PARTS == {name for name in found if name in NAMES or name in ELSEWHERE}


@pytest.fixture(params=NAMES)
def case(request: pytest.FixtureRequest) -> tuple[Callable[[Tensor], Any], Tensor, str]:
    model, read, given, name = reads(request.param)
    model.eval()
    read(given)
    return read, given, name


Case = tuple[Callable[[Tensor], Any], Tensor, str]


def test_integers_are_refused(case: Case) -> None:
    """8-bit pixels and 16-bit samples, which have to be scaled."""
    read, given, name = case
    for dtype in (torch.uint8, torch.int16, torch.int64, torch.bool):
        with pytest.raises((TypeError, ValueError), match=rf"{name}.*{dtype}"):
            read((200 * given).to(dtype))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_refused(case: Case, value: float) -> None:
    read, given, name = case
    spoiled = given.clone()
    spoiled.view(-1)[7] = value
    with pytest.raises(ValueError, match=rf"{name}.* (NaN|infin)"):
        read(spoiled)


def test_a_batch_of_none_and_a_side_of_0_are_refused(case: Case) -> None:
    read, given, name = case
    for axis in range(given.ndim):
        with pytest.raises(ValueError) as told:  # noqa: PT011
            read(given.narrow(axis, 0, 0))
        message = str(told.value)
        assert any(word in message for word in (name, "films", "tgt")), message
        assert re.search("expected|must be|leave empty|drop empty", message), message


@pytest.mark.parametrize("name", ["wav2vec2", "hubert", "data2vec_audio", "wav2vec2_pretraining"])
def test_masks_of_sound_are_bool_and_as_long(name: str) -> None:
    model, _, given, _ = reads(name)
    model.eval()
    mask = torch.ones(2, 900, dtype=torch.bool)
    model(given, mask=mask)
    for wrong in (mask.float(), mask.long()):
        with pytest.raises(TypeError, match=rf"mask: got {wrong.dtype}, expected a bool"):
            model(given, mask=wrong)
    for wrong in (mask[:, :-1], mask[:1], mask[..., None]):
        with pytest.raises(ValueError, match=r"mask: got .*, expected .* \(2, 900\)"):
            model(given, mask=wrong)


@pytest.mark.parametrize("name", ["mae", "data2vec", "wav2vec2", "hubert"])
def test_what_is_hidden_is_bool_and_as_long(name: str) -> None:
    model, _, given, argument = reads(name)
    model.eval()
    if argument == "images":
        n = (given.shape[-1] // PICTURES[name][1].patch_size) ** 2
    else:
        features: Any = model.get_submodule("embeddings.features")
        n = features.rows(900)
    hidden = torch.zeros(2, n, dtype=torch.bool)
    hidden[:, 1] = True
    model(given, hidden=hidden)
    with pytest.raises(TypeError, match=r"hidden: got torch\.float32, expected a bool"):
        model(given, hidden=hidden.float())
    with pytest.raises(ValueError, match=r"hidden: got .*, expected"):
        model(given, hidden=hidden[:, :-1])

"""Published recognisers by tiny checkpoints of the same form: ours write what theirs write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from deepdive.audio.files import resampled
from deepdive.data.speech import Recordings
from deepdive.tokenizers.published import letters
from deepdive_book.studies.published_recognizers import PUBLISHED, normalized, recognizer

LETTERS = ["<pad>", "<s>", "</s>", "<unk>", "|", *"ETAOIN'"]  # in facebook's order
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "\u2581the", "\u2581a", "n", "d", "\u2581man", "s"]
CTC: dict[str, Any] = {
    "vocab_size": len(LETTERS), "hidden_size": 16, "num_attention_heads": 2,
    "num_hidden_layers": 2, "intermediate_size": 24, "conv_dim": [8, 8, 8],
    "conv_kernel": [10, 3, 2], "conv_stride": [5, 2, 2], "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2, "pad_token_id": 0,
}  # fmt: skip
LARGE = {"feat_extract_norm": "layer", "do_stable_layer_norm": True, "conv_bias": True}


@pytest.fixture(scope="module")
def spoken() -> Recordings:
    rng = np.random.default_rng(0)
    waves = tuple(
        (0.1 * rng.normal(size=n)).cumsum().clip(-1, 1).astype(np.float32)
        for n in (4000, 1601, 9000)
    )
    return Recordings(waves, 16000, ("a", "b", "c"), ("x",) * 3, tuple("123"))


def drawn(model: torch.nn.Module, seed: int = 0) -> torch.nn.Module:
    torch.manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def saying_much(model: Any) -> Any:
    """A model whose scores of letters are those of how a state differs from the mean one."""
    with torch.no_grad():
        states = model.base_model(0.5 * torch.randn(1, 20000)).last_hidden_state[0]
        model.lm_head.weight.normal_(std=3)
        model.lm_head.bias.copy_(-model.lm_head.weight @ states.mean(0))
    return model


def by_letters(folder: Path, model: Any, **sound: Any) -> Path:
    from transformers import Wav2Vec2CTCTokenizer, Wav2Vec2FeatureExtractor

    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(LETTERS)}))
    saying_much(drawn(model)).save_pretrained(folder)
    Wav2Vec2CTCTokenizer(str(folder / "vocab.json")).save_pretrained(folder)
    Wav2Vec2FeatureExtractor(**sound).save_pretrained(folder)
    return folder


def pipeline_of(folder: Path, spoken: Recordings) -> list[str]:
    """What transformers' own pipeline writes, one recording at a time."""
    from transformers import pipeline

    pipe = pipeline("automatic-speech-recognition", model=str(folder), device="cpu")
    return [pipe({"raw": wave, "sampling_rate": 16000})["text"] for wave in spoken.waves]


@pytest.mark.parametrize("kind", ["wav2vec2", "wav2vec2 in double", "hubert", "as it is"])
def test_letters_are_those_of_transformers_pipeline(
    kind: str, tmp_path: Path, spoken: Recordings
) -> None:
    from transformers import HubertConfig, HubertForCTC, Wav2Vec2Config, Wav2Vec2ForCTC

    if kind == "hubert":
        model, sound = HubertForCTC(HubertConfig(**CTC, **LARGE)), {"return_attention_mask": True}
    else:
        model = Wav2Vec2ForCTC(Wav2Vec2Config(**CTC))
        sound = {"do_normalize": kind != "as it is"}
    by_letters(tmp_path, model, **sound)
    ours = recognizer(tmp_path)
    if kind.endswith("double"):
        ours.model.double()
    texts = ours.transcribe(spoken)
    assert texts == pipeline_of(tmp_path, spoken)
    assert len({*texts}) == 3
    assert len({*"".join(texts)}) > 4


def test_another_rate_is_resampled_first(tmp_path: Path, spoken: Recordings) -> None:
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    ours = recognizer(by_letters(tmp_path, Wav2Vec2ForCTC(Wav2Vec2Config(**CTC))))
    fast = tuple(resampled(wave, 8000, 16000).numpy() for wave in spoken.waves)
    slow = Recordings(spoken.waves, 8000, spoken.words, spoken.speakers, spoken.names)
    there = Recordings(fast, 16000, spoken.words, spoken.speakers, spoken.names)
    assert ours.transcribe(slow) == ours.transcribe(there) != ours.transcribe(spoken)


def test_pieces_are_those_that_transformers_chooses(tmp_path: Path, spoken: Recordings) -> None:
    from transformers import (
        Speech2TextConfig,
        Speech2TextFeatureExtractor,
        Speech2TextForConditionalGeneration,
    )

    config = Speech2TextConfig(
        vocab_size=len(PIECES), d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24,
        decoder_ffn_dim=24, conv_channels=12,
    )  # fmt: skip
    theirs = drawn(Speech2TextForConditionalGeneration(config), 12)
    theirs.generation_config.max_length = 20
    theirs.save_pretrained(tmp_path)
    (tmp_path / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(PIECES)}))
    (tmp_path / "tokenizer_config.json").write_text('{"unk_token": {"content": "<unk>"}}')
    extract = Speech2TextFeatureExtractor()
    extract.save_pretrained(tmp_path)
    expected = []
    for wave in spoken.waves:
        heard = extract(wave, sampling_rate=16000, return_tensors="pt")
        ids = theirs.generate(**heard)[0].tolist()
        pieces = [PIECES[i] for i in ids if i > 3]
        expected.append("".join(pieces).replace("\u2581", " ").strip())
    ours = recognizer(tmp_path)
    assert ours.transcribe(spoken) == expected
    assert len({*expected}) == 3


def test_letters_read_the_settings_and_refuse_what_has_gaps(tmp_path: Path) -> None:
    vocab = {"|": 0, "A": 1, "[PAD]": 2, "b": 3}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    (tmp_path / "tokenizer_config.json").write_text('{"pad_token": "[PAD]", "do_lower_case": true}')
    table = letters(tmp_path)
    assert table.pad == 2
    assert table.text([0, 1, 2, 0, 3, 0]) == "a b"
    (tmp_path / "tokenizer_config.json").write_text("{}")
    with pytest.raises(ValueError, match="has no padding token '<pad>'"):
        letters(tmp_path)
    (tmp_path / "vocab.json").write_text('{"<pad>": 0, "A": 2}')
    with pytest.raises(ValueError, match="does not have one name for each id 0 to 1"):
        letters(tmp_path)


def test_a_wave_is_normalised_as_a_whole() -> None:
    wave = normalized(torch.tensor([1, 3, 5, 7]).double())
    assert torch.allclose(wave, torch.tensor([-3, -1, 1, 3]) / 5**0.5)
    assert not normalized(torch.ones(9)).any()


def test_another_family_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "vocab.json").write_text('{"<pad>": 0}')
    with pytest.raises(ValueError, match="holds a 'bert'; expected wav2vec2"):
        recognizer(tmp_path)
    assert len(PUBLISHED) == 3

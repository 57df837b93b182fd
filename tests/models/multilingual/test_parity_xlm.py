"""XLM against transformers, in float64; theirs takes the softmax in float32, here in float64."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import XLMConfig, XLMModel, XLMWithLMHeadModel

from deepdive.core import gelu_tanh
from deepdive.models.bert.embeddings import BertEmbeddings, LanguageEmbeddings
from deepdive.models.multilingual import xlm
from deepdive.models.multilingual.xlm import CausalXlm, Xlm, XlmWithLM
from deepdive.published import family, from_config, load, save
from deepdive.training.objectives import join_translations

SIZES: dict[str, Any] = {
    "vocab_size": 28, "emb_dim": 16, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 12,
    "n_langs": 3,
}  # fmt: skip
LANGUAGES = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [2] * 7, [1, 0, 2, 1, 1, 1, 1]])
PLACES = torch.tensor([[0, 1, 2, 0, 1, 2, 3], [0, 1, 2, 3, 4, 0, 0], [0, 1, 2, 0, 0, 0, 0]])
FORMS: dict[str, dict[str, Any]] = {
    "MLM": {},
    "relu, another epsilon": {"gelu_activation": False, "layer_norm_eps": 1e-3},
    "CLM": {"causal": True},
    "without rows of languages": {"use_lang_emb": False},
    "one language": {"n_langs": 1},
}


@contextmanager
def in_double() -> Iterator[None]:
    """Theirs takes the softmax of `scores.float()`; here `float` leaves the numbers as they are."""
    with mock.patch.object(Tensor, "float", lambda self: self):
        yield


def agrees(**form: Any) -> None:
    theirs = reference(XLMWithLMHeadModel, XLMConfig, **SIZES | form)
    ours = saved_and_loaded(theirs, partial(load, head="lm"))
    has_rows = theirs.config.use_lang_emb and theirs.config.n_langs > 1
    languages = LANGUAGES if has_rows else None
    for places in (None, PLACES):
        with in_double():
            expected = theirs(SRC, MASK.long(), langs=languages, position_ids=places).logits
        output = ours(SRC, MASK, languages, places)
        names = family("xlm").table("lm", ours.bert.config)
        alike(ours, theirs, output[MASK], expected[MASK], [names])


@parity("xlm", Xlm, CausalXlm, LanguageEmbeddings, XlmWithLM)
def xlm_agrees() -> None:
    for form in FORMS.values():
        agrees(**form)
    body = reference(XLMModel, XLMConfig, **SIZES)
    ours = saved_and_loaded(body, load)
    with in_double():  # nobody says which language it is
        equal(ours(SRC, MASK)[MASK], body(SRC, MASK.long()).last_hidden_state[MASK])


def test_xlm_agrees() -> None:
    xlm_agrees()


def test_waves_agree_as_far_as_they_were_stored() -> None:
    """Theirs stores the table of waves in float32, ours computes it: 1e-5 is that precision."""
    torch.manual_seed(0)
    theirs = XLMModel(XLMConfig(**SIZES, sinusoidal_embeddings=True)).double().eval()
    ours = saved_and_loaded(theirs, load)
    assert not [n for n, _ in ours.named_parameters() if "position" in n]
    with in_double():
        expected = theirs(SRC, MASK.long(), langs=LANGUAGES).last_hidden_state[MASK]
    equal(ours(SRC, MASK, LANGUAGES)[MASK], expected, 1e-5)


def test_waves_that_were_trained_are_refused(tmp_path: Path) -> None:
    theirs = XLMModel(XLMConfig(**SIZES, sinusoidal_embeddings=True))
    theirs.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    name = next(name for name in tensors if "position_embeddings" in name)
    save_file({**tensors, name: tensors[name] + 0.1}, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"position_embeddings.weight was trained"):
        load(tmp_path)


def test_a_batch_of_translations_agrees() -> None:
    """What TLM reads: `join_translations` says tokens, mask, languages and places."""
    pairs = join_translations([[5, 6, 7], [8, 9]], [[10, 11], [12, 13, 14, 15]], (0, 2), pad=2)
    theirs = reference(XLMWithLMHeadModel, XLMConfig, **SIZES)
    ours = saved_and_loaded(theirs, partial(load, head="lm"))
    real, places = pairs.real, pairs.positions
    with in_double():
        read = theirs(pairs.tokens, real.long(), langs=pairs.languages, position_ids=places)
    output = ours(pairs.tokens, real, pairs.languages, places)
    equal(output[real], read.logits[real])


def test_published_sizes() -> None:
    fifteen = {"vocab_size": 95_000, "emb_dim": 1024, "n_heads": 8, "n_langs": 15}
    hundred = {
        "vocab_size": 200_000, "emb_dim": 1280, "n_heads": 16, "n_layers": 16, "n_langs": 100,
        "use_lang_emb": False,
    }  # fmt: skip
    with torch.device("meta"):
        for config, theirs in ((xlm.BASE, fifteen), (xlm.HUNDRED, hundred)):
            model = XLMModel(XLMConfig(**theirs))
            assert count(xlm.xlm(config)) == count(model)
    assert round(count(xlm.for_lm(xlm.xlm(xlm.TINY, n_layers=0))) / 1e3) == 3


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def test_older_files_say_n_words() -> None:
    config = {"model_type": "xlm", "n_words": 30, **{k: v for k, v in SIZES.items() if k[0] != "v"}}
    assert from_config(config).config.vocab_size == 30
    assert from_config(config).config.d_ff == 64


def test_a_new_model_is_read_by_theirs(tmp_path: Path) -> None:
    model = xlm.for_lm(xlm.xlm(xlm.TINY)).eval()
    theirs = XLMWithLMHeadModel.from_pretrained(save(model, tmp_path)).eval()
    expected = theirs(SRC, MASK.long(), langs=LANGUAGES).logits
    assert torch.allclose(model(SRC, MASK, LANGUAGES)[MASK], expected[MASK], atol=1e-5)


def test_what_has_no_published_form_is_refused(tmp_path: Path) -> None:
    for changes, message in (
        ({"d_ff": 64}, "published only with 4"),
        ({"activation": gelu_tanh}, "gelu_activation: .*no published form"),
        ({"embeddings": type("Other", (LanguageEmbeddings,), {})}, "use_lang_emb"),
    ):
        with pytest.raises(ValueError, match=message):
            save(xlm.xlm(xlm.TINY, **changes), tmp_path / "none")
    for setting, value in (("is_encoder", False), ("asm", True)):
        with pytest.raises(ValueError, match=f"{setting}={value}"):
            from_config({"model_type": "xlm", **SIZES, setting: value})


def told_of_another(self: Any, tokens: Tensor, languages: Any, places: Tensor) -> Tensor:
    """Embeddings that add language 0's row where none is told, as segments are."""
    table = self.languages
    zero = None if table is None else torch.zeros_like(tokens)
    return ADDED(self, tokens, zero if languages is None else languages, places)


ADDED = LanguageEmbeddings.forward
MUTATIONS: dict[str, tuple[str, object]] = {
    "a row where no language is told": (
        "deepdive.models.bert.embeddings.LanguageEmbeddings.forward",
        told_of_another),
    "languages that are not read": (
        "deepdive.models.bert.embeddings.LanguageEmbeddings.forward",
        lambda self, tokens, languages, places: ADDED(self, tokens, None, places)),
    "places that are not begun again": (
        "deepdive.models.bert.embeddings.LanguageEmbeddings.forward",
        lambda self, tokens, languages, places:
            ADDED(self, tokens, languages, torch.arange(tokens.shape[1]))),
    "CLM that looks ahead": ("deepdive.models.multilingual.xlm.CausalXlm.order", None),
    "the tanh form of GELU": (
        "deepdive.core.FeedForward.forward",
        lambda self, x: self.out(gelu_tanh(self.inner(x)))),
    "the norms' epsilon": (
        "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-5)),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        xlm_agrees()


def test_clm_reads_one_way() -> None:
    model = xlm.xlm(xlm.TINY, model=CausalXlm).eval()
    before, after = model(SRC), model(SRC.clone().index_fill_(1, torch.tensor([6]), 5))
    assert torch.equal(before[:, :6], after[:, :6])
    assert not torch.equal(before[:, 6], after[:, 6])


def test_rows_of_languages_can_be_left_out() -> None:
    plain = xlm.xlm(xlm.TINY, embeddings=BertEmbeddings)
    with pytest.raises(ValueError, match="has no segments: do not pass them"):
        plain(SRC, MASK, LANGUAGES)

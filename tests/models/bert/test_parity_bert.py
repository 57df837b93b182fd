"""BERT against transformers, in float64, and its folders in the published form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import BertConfig, BertForPreTraining, BertModel, PreTrainedModel

from deepdive.core import gelu_tanh
from deepdive.layers.heads import MaskedHead, Pooler
from deepdive.models.bert import bert, pretraining
from deepdive.models.bert.embeddings import BertEmbeddings
from deepdive.published import family, from_config, load
from deepdive.published.weights import adopt


@parity(bert.Bert, BertEmbeddings)
def bert_agrees() -> None:
    for settings in ({}, {"hidden_act": "gelu_new", "layer_norm_eps": 1e-3, "type_vocab_size": 3}):
        theirs = reference(BertModel, BertConfig, **SIZES, **settings)
        ours = saved_and_loaded(theirs, load)
        body = Unpooled(theirs)
        for row, mask in ((SRC, MASK), (SRC.flip(1), MASK.flip(1))):  # padding at end, at start
            output = ours(row, mask, SEGMENTS)
            expected = theirs(row, mask.long(), SEGMENTS).last_hidden_state
            alike(ours, body, output[mask], expected[mask], [family("bert").names])
        equal(ours(SRC), theirs(SRC).last_hidden_state)


class Unpooled(nn.Module):
    """Theirs without the pooler, which no state passes through."""

    def __init__(self, theirs: PreTrainedModel) -> None:
        super().__init__()
        self.embeddings, self.encoder = theirs.embeddings, theirs.encoder


@parity(Pooler)
def pooler_agrees() -> None:
    theirs = reference(BertModel, BertConfig, **SIZES)
    ours = Pooler(16).double()
    adopt(ours, theirs.pooler.state_dict())
    states = torch.randn(3, 7, 16, dtype=torch.float64, requires_grad=True)
    alike(ours, theirs.pooler, ours(states), theirs.pooler(states), inputs=[(states, states)])


@parity(pretraining.BertForPreTraining, MaskedHead)
def pretraining_agrees() -> None:
    theirs = reference(BertForPreTraining, BertConfig, **SIZES)
    ours = saved_and_loaded(theirs, partial(load, head="pretraining"))
    expected = theirs(SRC, MASK.long(), SEGMENTS)
    states = ours.bert(SRC, MASK, SEGMENTS)
    equal(ours(SRC, MASK, SEGMENTS)[MASK], expected.prediction_logits[MASK])
    both = torch.cat((ours.masked_logits(states)[MASK].flatten(), ours.next_logits(states).ravel()))
    logits = (expected.prediction_logits[MASK].flatten(), expected.seq_relationship_logits.ravel())
    alike(ours, theirs, both, torch.cat(logits), [family("bert").table("pretraining")])


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "the norms' epsilon": (
        bert_agrees,
        "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-5),
    ),
    "the form of GELU": (
        bert_agrees,
        "deepdive.published.form.ACTIVATIONS",
        dict.fromkeys(("gelu", "gelu_new"), gelu_tanh),
    ),
    "positions from 1": (
        bert_agrees,
        "deepdive.models.bert.embeddings.BertEmbeddings.positions",
        lambda self, tokens, mask: torch.arange(1, tokens.shape[1] + 1),
    ),
    "the pooler's tanh": (
        pooler_agrees,
        "deepdive.layers.heads.Pooler.forward",
        lambda self, states: torch.sigmoid(self.dense(states[:, 0])),
    ),
    "the head's bias": (
        pretraining_agrees,
        "deepdive.core.embeddings.TiedHead.forward",
        lambda self, x: x @ self.embedding.weight.T,
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        proof()


# Folders in the published form


def rewritten(folder: Path, change: Callable[[dict[str, Tensor]], Mapping[str, Tensor]]) -> None:
    """Write the tensors of a folder again, changed."""
    tensors = change(load_file(folder / "model.safetensors"))
    save_file(dict(tensors), folder / "model.safetensors", metadata={"format": "pt"})


def test_old_names_and_what_is_not_the_encoder(tmp_path: Path) -> None:
    """Norms by their TensorFlow names, counted positions, a pooler, heads: the encoder is found."""
    theirs = reference(BertForPreTraining, BertConfig, **SIZES)
    theirs.float().save_pretrained(tmp_path)
    expected = load(tmp_path)(SRC, MASK, SEGMENTS)

    def older(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        renamed = {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): tensor
            for name, tensor in tensors.items()
        }
        words = renamed["bert.embeddings.word_embeddings.weight"]
        return {
            **renamed,
            "bert.embeddings.position_ids": torch.arange(12)[None],
            "cls.predictions.decoder.weight": words.clone(),
            "cls.predictions.decoder.bias": renamed["cls.predictions.bias"].clone(),
        }

    rewritten(tmp_path, older)
    assert torch.equal(load(tmp_path)(SRC, MASK, SEGMENTS), expected)
    both = load(tmp_path, "pretraining")
    assert torch.equal(both.bert(SRC, MASK, SEGMENTS), expected)


def test_tensors_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    reference(BertModel, BertConfig, **SIZES).float().save_pretrained(tmp_path)
    rewritten(tmp_path, lambda tensors: {**tensors, "encoder.layer.2.surprise": torch.ones(3)})
    with pytest.raises(ValueError, match=r"unknown to the model: encoder\.layer\.2\.surprise"):
        load(tmp_path)
    name = "encoder.layer.1.output.LayerNorm.bias"
    rewritten(
        tmp_path,
        lambda tensors: {n: t for n, t in tensors.items() if n[-8:] != "surprise" and n != name},
    )
    with pytest.raises(ValueError, match=r"missing in the source: stack\.blocks\.1\.ff_residual"):
        load(tmp_path)
    with pytest.raises(ValueError, match=r"missing in the source: masked"):
        load(tmp_path, "pretraining")


def test_settings_that_are_not_built_are_refused() -> None:
    config = BertConfig(**SIZES).to_dict()
    for change, message in (
        ({"model_type": "mobilebert"}, "'mobilebert'"),
        ({"hidden_act": "mish"}, "mish"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"is_decoder": True}, "is_decoder=True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**config, **change})


def test_published_sizes() -> None:
    wide = {"hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096}
    many = {"vocab_size": 119_547}
    with torch.device("meta"):
        pairs = [
            (bert.bert(), BertModel(BertConfig(), add_pooling_layer=False)),
            (
                bert.bert(bert.LARGE),
                BertModel(BertConfig(num_hidden_layers=24, **wide), add_pooling_layer=False),
            ),
            (bert.bert(bert.MULTILINGUAL), BertModel(BertConfig(**many), add_pooling_layer=False)),
        ]
        trained = (pretraining.for_pretraining(bert.bert()), BertForPreTraining(BertConfig()))
    for ours, theirs in [*pairs, trained]:
        assert sum(p.numel() for p in ours.parameters()) == sum(
            p.numel() for p in theirs.parameters()
        )


def test_weights_begin_as_in_the_released_code() -> None:
    model = pretraining.for_pretraining(bert.bert(bert.TINY, vocab_size=500))
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            assert parameter.abs().max() <= 0.04, name
            size = parameter.std().item()
            assert size == pytest.approx(0.0176, abs=0.0008 if parameter.numel() > 999 else 0.004)
        else:
            assert (parameter == (1.0 if name.endswith("norm.weight") else 0.0)).all(), name

"""transformers' classifiers with hook points: they say what they said, and what ours say."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from parity_registry import perturb
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    PreTrainedModel,
)

from deepdive.core.hooks import ablate, record, replace
from deepdive.explain.classifiers.adapt import Adapted, adapt
from deepdive.explain.gradients import (
    gradient_norm,
    gradient_x_input,
    integrated_gradients,
    smoothgrad,
)
from deepdive.explain.rollout import rollout
from deepdive.published import load
from deepdive.published.classifier import load as load_classifier

SIZES: dict[str, Any] = {
    "vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 24, "max_position_embeddings": 20, "num_labels": 3, "pad_token_id": 0,
}  # fmt: skip
SHORT: dict[str, Any] = {
    "vocab_size": 30, "dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24,
    "max_position_embeddings": 20, "num_labels": 3, "attn_implementation": "eager",
}  # fmt: skip
GPT2: dict[str, Any] = {
    "vocab_size": 30, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 20, "num_labels": 3,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
TOKENS = torch.tensor([[1, 9, 8, 2, 0, 0], [1, 22, 5, 7, 4, 2]])
MASK = TOKENS != 0
ONE = TOKENS[1:]


def theirs(kind: type[PreTrainedModel], config: Any, **settings: Any) -> Any:
    torch.manual_seed(0)
    model: Any = kind(config(**settings))
    return perturb(model.double().eval(), size=0.1)


def bert() -> Any:
    return theirs(BertForSequenceClassification, BertConfig, **SIZES)


def distilbert() -> Any:
    return theirs(DistilBertForSequenceClassification, DistilBertConfig, **SHORT)


def llama() -> Any:
    return theirs(LlamaForSequenceClassification, LlamaConfig, **SIZES, num_key_value_heads=2)


def gpt2() -> Any:
    return theirs(GPT2ForSequenceClassification, GPT2Config, **GPT2)


@pytest.mark.parametrize("make", [bert, distilbert, llama, gpt2])
def test_logits_and_attention_stay_what_they_were(make: Any) -> None:
    model = make()
    model.set_attn_implementation("eager")
    expected = model(TOKENS, attention_mask=MASK.long(), output_attentions=True)
    adapted = adapt(model)
    torch.testing.assert_close(adapted(TOKENS, MASK), expected.logits)  # in one call
    with record(adapted, "*.weights") as seen:
        torch.testing.assert_close(adapted(TOKENS, MASK), expected.logits)  # step by step
    assert len(seen) == len(expected.attentions) == 2
    for (ours,), weights in zip(seen.values(), expected.attentions, strict=True):
        torch.testing.assert_close(ours, weights)


@pytest.mark.parametrize("make", [bert, distilbert])
def test_each_point_can_be_replaced(make: Any) -> None:
    model = adapt(make())
    plain = model(ONE)
    with record(model, "*.words", "*.embedded", "*.values", "*.heads", "*.scores") as seen:
        model(ONE)
    assert len(seen) == 2 + 3 * 2
    shapes = {name.rpartition(".")[2]: tuple(calls[0].shape) for name, calls in seen.items()}
    assert shapes == {
        "words": (1, 6, 16), "embedded": (1, 6, 16), "values": (1, 4, 6, 4),
        "heads": (1, 4, 6, 4), "scores": (1, 4, 6, 6),
    }  # fmt: skip
    for name, (tensor,) in seen.items():
        with replace(model, name, tensor):
            torch.testing.assert_close(model(ONE), plain)
        with replace(model, name, lambda x: x.flip(-1)):
            assert not torch.allclose(model(ONE), plain)
    with ablate(model, "*.heads", [1]):
        assert not torch.allclose(model(ONE), plain)
    torch.testing.assert_close(model(ONE), plain)


def test_segments_are_read() -> None:
    model, segments = adapt(bert()), torch.tensor([[0, 0, 0, 1, 1, 1]])
    expected = model.model(ONE, token_type_ids=segments).logits
    torch.testing.assert_close(model(ONE, segments=segments), expected)
    assert not torch.allclose(model(ONE), expected)


def test_a_copy_hears_itself_and_twice_is_once() -> None:
    model = adapt(bert())
    twin = copy.deepcopy(model)
    with record(twin, "*.embedded", "*.weights") as seen:
        twin(ONE)
    assert len(seen) == 3
    again = adapt(model.model)
    assert dict(again.named_modules()).keys() == dict(model.named_modules()).keys()
    with record(again, "*.embedded") as seen:
        again(ONE)
    assert [len(calls) for calls in seen.values()] == [1]


def test_where_attention_is_their_own_the_rows_have_points_and_the_message_says_so() -> None:
    model = adapt(theirs(DebertaV2ForSequenceClassification, DebertaV2Config, **SIZES))
    assert gradient_norm(model, "*.embedded", lambda: model(ONE)[0]).shape == (3, 6)
    with (
        pytest.raises(ValueError, match=r"no hook point of Adapted; it has: .*embedded"),
        record(model, "*.weights"),
    ):
        model(ONE)


def test_a_model_of_ours_is_refused() -> None:
    with pytest.raises(TypeError, match="already has hook points"):
        adapt(nn.Linear(2, 2))


# -- ours with the same weights


class Distilled(nn.Module):
    """DistilBERT's classifier: a layer and ReLU on the first state, then the last layer."""

    def __init__(self, encoder: nn.Module, taken: Any) -> None:
        super().__init__()
        self.encoder, self.first, self.last = encoder, taken.pre_classifier, taken.classifier

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.last(self.first(self.encoder(tokens, mask)[:, 0]).relu())


def pair(make: Any, folder: Path) -> tuple[nn.Module, Adapted]:
    """Ours and theirs, adapted, with the same weights."""
    model = make()
    torch.set_default_dtype(torch.float64)
    try:
        if make is bert:
            model.save_pretrained(folder)
            return load_classifier(folder), adapt(model)
        model.distilbert.save_pretrained(folder)
        return Distilled(load(folder), model).eval(), adapt(model)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("make", [bert, distilbert])
def test_ours_with_the_same_weights_is_explained_alike(make: Any, tmp_path: Path) -> None:
    ours, adapted = pair(make, tmp_path)
    torch.testing.assert_close(ours(TOKENS, MASK), adapted(TOKENS, MASK))
    point = "*embedded"
    explained = []
    for model in (ours, adapted):
        output = lambda model=model: model(ONE.expand(4, -1))  # noqa: E731
        with record(model, "*.weights") as seen:
            model(ONE)
        seed = torch.Generator().manual_seed(1)
        explained.append(
            [
                gradient_norm(model, point, output),
                gradient_x_input(model, point, output),
                smoothgrad(model, point, output, samples=6, generator=seed),
                *integrated_gradients(model, point, output, steps=10),
                rollout(seen),
            ]
        )
    for mine, other in zip(*explained, strict=True):
        assert mine.abs().max() > 1e-4 or mine.ndim == 1  # the gap is near 0
        torch.testing.assert_close(mine, other)

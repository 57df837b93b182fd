"""Cases of GPT and of the decoders that follow it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from deepdive.core import PostNorm, relu
from deepdive.core.masks import Causal
from deepdive.layers.collectives import DeviceGroup
from deepdive.models.generative import ctrl, gpt, gpt2, gpt3, gpt_neo, megatron
from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt_config import GPTConfig, full_attention
from deepdive.models.generative.megatron import Megatron
from deepdive.models.transformer import transformer
from deepdive.positions import SinusoidalPosition
from deepdive.training.objectives.generative import next_token_loss
from laws import Case, Pair, case
from laws.models.transformer.transformer import ORDER, ROW, step_or_all

LONG = torch.arange(4, 16)[None]


def alike(source: GPT, config: GPTConfig) -> GPT:
    """Another member of the family, with the weights of `source`."""
    model = gpt.gpt(config).double().eval()
    model.load_state_dict(source.state_dict())
    return model


def decoder(
    build: Callable[..., GPT],
    config: GPTConfig,
    parity: str,
    limits: Mapping[str, Pair],
    refusals: Mapping[str, Callable[[], object]] | None = None,
) -> Case:
    return Case(
        make=lambda: build(config),
        run=step_or_all,
        begin=lambda model: model.begin(),
        vocab=32,
        parity=parity,
        limits=limits,
        refusals={
            "heads that do not divide the width": lambda: build(config, n_heads=5),
            "a float mask": lambda: build(config)(ROW, torch.ones(1, 3)),
            "a config of another kind": lambda: build(32),
            **(refusals or {}),
        },
        laws=ORDER,
    )


TOO_LONG = {"longer than the table": lambda: gpt.gpt(gpt.TINY)(torch.full((1, 65), 4))}


@case("gpt", GPT)
def _() -> Case:
    def an_encoder_that_looks_back() -> tuple[Tensor, Tensor]:
        """With sinusoids and ReLU it is the Transformer's encoder, each token blind to what comes
        after it.
        """
        torch.manual_seed(0)
        encoder = transformer.tiny().double().eval().encoder
        config = gpt.TINY.but(
            position=lambda config: SinusoidalPosition(config.d_model), activation=relu, scale=None
        )
        ours = gpt.gpt(config).double().eval()
        ours.decoder.load_state_dict(encoder.state_dict())
        rows = encoder.position.embed(encoder.embedding(ROW), torch.arange(3))
        return ours.decoder(ROW), encoder.stack(rows, mask=Causal())

    limits = {"sinusoids and ReLU: an encoder under a causal mask": an_encoder_that_looks_back}
    return decoder(gpt.gpt, gpt.TINY, "transformers OpenAIGPTLMHeadModel", limits, TOO_LONG)


@case("gpt2", GPT)
def _() -> Case:
    def norms_behind() -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        first = gpt.gpt(gpt.TINY).double().eval()
        return alike(first, gpt2.TINY.but(residual=PostNorm))(ROW), first(ROW)

    limits = {"norms behind the sums: GPT": norms_behind}
    return decoder(gpt2.gpt2, gpt2.TINY, "transformers GPT2LMHeadModel", limits, TOO_LONG)


@case("gpt3", GPT)
def _() -> Case:
    def a_wide_band() -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        second = gpt2.gpt2(gpt2.TINY).double().eval()
        return alike(second, gpt3.TINY.but(band=12, max_length=64))(LONG), second(LONG)

    def a_narrow_band() -> tuple[Tensor, Tensor]:
        """In the second layer a band of one token passes each token's own value."""
        torch.manual_seed(0)
        model = gpt3.gpt3(gpt3.TINY, band=1).double().eval()
        first, second = model.decoder.stack.blocks
        place = model.decoder.position.embed(model.decoder.embedding(ROW), torch.arange(3))
        rows = first(place, mask=Causal())
        _, value = second.attn.kv(second.attn_residual.norm(rows)).chunk(2, -1)
        rows = rows + second.attn.out(value)
        rows = rows + second.ff(second.ff_residual.norm(rows))
        return model(ROW), model.head(model.decoder.stack.norm(rows))

    limits = {
        "a band as long as the text: GPT-2": a_wide_band,
        "a band of one token": a_narrow_band,
    }
    parity = "none: no public weights; transformers GPTNeoForCausalLM has the pattern"
    return decoder(gpt3.gpt3, gpt3.TINY.but(band=3, max_length=64), parity, limits)


@case("gpt_neo", GPT)
def _() -> Case:
    def scaled() -> tuple[Tensor, Tensor]:
        """Queries sqrt(d_head) as long, and no biases: scores as GPT-3's are."""
        torch.manual_seed(0)
        third = gpt3.gpt3(gpt3.TINY.but(band=3)).double().eval()
        ours = gpt_neo.gpt_neo(gpt_neo.TINY.but(band=3)).double().eval()
        state = third.state_dict()
        for name in list(state):
            if name.endswith(("attn.q.bias", "attn.kv.bias")):
                del state[name]
            elif name.endswith("attn.q.weight"):
                state[name] = state[name] / 8**0.5
        ours.load_state_dict(state)
        return ours(LONG), third(LONG)

    limits = {"queries divided by the root of their width, no biases: GPT-3": scaled}
    parity = "transformers GPTNeoForCausalLM"
    return decoder(gpt_neo.gpt_neo, gpt_neo.TINY.but(band=3), parity, limits)


@case("ctrl", GPT)
def _() -> Case:
    def a_code_is_a_token() -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        model = ctrl.ctrl(ctrl.TINY).double().eval()
        return model(ctrl.controlled(ROW, 7)), model(torch.tensor([[7, *ROW[0].tolist()]]))

    def gpt2_s_places() -> tuple[Tensor, Tensor]:
        """With GPT-2's places, scale, activation and head it is GPT-2, at the same eps."""
        torch.manual_seed(0)
        second = gpt2.gpt2(gpt2.TINY, eps=1e-6).double().eval()
        kept: dict[str, Any] = {
            name: getattr(gpt2.TINY, name) for name in ("scale", "activation", "position", "head")
        }
        return alike(second, ctrl.TINY.but(**kept, attention=full_attention))(ROW), second(ROW)

    limits = {"its code is a token": a_code_is_a_token, "GPT-2's around: GPT-2": gpt2_s_places}
    return decoder(ctrl.ctrl, ctrl.TINY, "transformers CTRLLMHeadModel", limits)


@case("megatron", Megatron)
def _() -> Case:
    """On one machine; on two it is in tests/models/generative/test_parity_megatron.py."""

    def one_machine() -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        second = gpt2.gpt2(gpt2.TINY).double()
        expected = second(ROW)
        return megatron.split(second, DeviceGroup())(ROW), expected

    def its_loss() -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        model = megatron.megatron(megatron.TINY).double().eval()
        return model.loss(LONG), next_token_loss(model(LONG), LONG)

    def told() -> tuple[Tensor, Tensor]:
        """All weights, from the shares of all machines."""
        torch.manual_seed(0)
        second = gpt2.gpt2(gpt2.TINY).double()
        weights = {name: tensor.clone() for name, tensor in second.state_dict().items()}
        model = megatron.split(second, DeviceGroup())
        again = gpt2.gpt2(gpt2.TINY).double()
        again.load_state_dict(megatron.whole(model))
        second = gpt2.gpt2(gpt2.TINY).double()
        second.load_state_dict(weights)
        return again(ROW), second(ROW)

    def cut_in_two() -> DeviceGroup:
        machines = DeviceGroup()
        machines.ways = 2
        return machines

    limits = {
        "one machine: GPT-2": one_machine,
        "its loss: cross-entropy of all logits": its_loss,
        "split and whole again": told,
    }
    refusals = {
        "a vocabulary that cannot be cut": lambda: megatron.megatron(
            megatron.TINY, cut_in_two(), vocab_size=33
        ),
        "heads that cannot be cut": lambda: megatron.megatron(
            megatron.TINY, cut_in_two(), n_heads=1
        ),
        "a token outside the vocabulary": lambda: megatron.megatron(megatron.TINY)(ROW + 32),
    }
    parity = "transformers GPT2LMHeadModel, on two processes"
    return decoder(megatron.megatron, megatron.TINY, parity, limits, refusals)

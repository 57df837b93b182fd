"""The Conformer's block against two of transformers, in float64 with gradients: that of
wav2vec 2.0 Conformer on whole recordings, Parakeet's on a padded batch.

Both follow the paper. Neither of them reads frames as ours does, so the stacks are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_proofs import alike, real, rows
from parity_registry import equal, parity, perturb
from torch import Tensor, nn
from transformers import ParakeetEncoderConfig, Wav2Vec2ConformerConfig
from transformers.models.parakeet.modeling_parakeet import (
    ParakeetEncoderBlock,
    ParakeetEncoderRelPositionalEncoding,
)
from transformers.models.wav2vec2_conformer.modeling_wav2vec2_conformer import (
    Wav2Vec2ConformerEncoderLayer,
    Wav2Vec2ConformerRelPositionalEmbedding,
)

from deepdive.core import Context, PreNorm, Slot
from deepdive.core.masks import Padding
from deepdive.core.stack import Stack
from deepdive.layers.convolution import Convolution, GatedConvolution
from deepdive.models.speech import conformer
from deepdive.models.speech.conformer import ConformerBlock, HalfStep
from deepdive.models.speech.speech_encoder import SpeechEncoder
from deepdive.positions import SinusoidalPosition
from deepdive.published.names import Names, Pairs
from deepdive.published.weights import adopt

CONFIG = conformer.TINY.but(d_model=16, n_heads=4, d_ff=24, n_layers=2, kernel=5)
REAL = real([9, 6, 3], 9)
ROWS = rows(3, 9, 16)


def stack_names(**parts: str) -> Names:
    """Their names of a list of blocks; what is called the same in both comes last."""
    attn = "{}.self_attn"
    q, k, v, out, place, u, w = parts["attn"].split()
    norms, convs = parts["norms"].split(), parts["conv"].split()
    ours = ["ff_residual", "attn_residual", "conv_residual", "ff_2_residual"]
    inner, outer, batch = convs
    pairs: Pairs = {
        f"{attn}.{q}": "blocks.{}.attn.q",
        (f"{attn}.{k}", f"{attn}.{v}"): "blocks.{}.attn.kv",
        f"{attn}.{out}": "blocks.{}.attn.out",
        f"{attn}.{place}": "blocks.{}.attn.position.W",
        f"{attn}.{u}": "blocks.{}.attn.position.u",
        f"{attn}.{w}": "blocks.{}.attn.position.v",
        f"{{}}.{parts['module']}.{inner}": "blocks.{}.conv.inner",
        f"{{}}.{parts['module']}.depthwise_conv": "blocks.{}.conv.conv.W",
        f"{{}}.{parts['module']}.{batch}": "blocks.{}.conv.norm",
        f"{{}}.{parts['module']}.{outer}": "blocks.{}.conv.out",
        **{
            f"{{}}.{name}": f"blocks.{{}}.{our}.norm"
            for name, our in zip(norms, ours, strict=False)
        },
        f"{{}}.{norms[-1]}": "blocks.{}.norm",
    }
    for theirs, our in zip(parts["ff"].split(), ("ff", "ff_2"), strict=True):
        first, second = parts["linear"].split()
        pairs[f"{{}}.{theirs}.{first}"] = f"blocks.{{}}.{our}.inner"
        pairs[f"{{}}.{theirs}.{second}"] = f"blocks.{{}}.{our}.out"
    flat = (lambda kernel: kernel.squeeze(-1), lambda matrix: matrix.unsqueeze(-1))
    return Names(pairs, {f"blocks.{{}}.conv.{part}.weight": flat for part in ("inner", "out")})


WAV2VEC2 = stack_names(
    attn="linear_q linear_k linear_v linear_out linear_pos pos_bias_u pos_bias_v",
    module="conv_module", conv="pointwise_conv1 pointwise_conv2 batch_norm",
    norms="ffn1_layer_norm self_attn_layer_norm conv_module.layer_norm ffn2_layer_norm "
    "final_layer_norm",
    ff="ffn1 ffn2", linear="intermediate_dense output_dense",
)  # fmt: skip
PARAKEET = stack_names(
    attn="q_proj k_proj v_proj o_proj relative_k_proj bias_u bias_v",
    module="conv", conv="pointwise_conv1 pointwise_conv2 norm",
    norms="norm_feed_forward1 norm_self_att norm_conv norm_feed_forward2 norm_out",
    ff="feed_forward1 feed_forward2", linear="linear1 linear2",
)  # fmt: skip


def made(theirs: nn.ModuleList, names: Names) -> Stack:
    """Perturb theirs, batch norms' statistics included, and give ours its weights."""
    perturb(theirs.double())
    generator = torch.Generator().manual_seed(7)
    for name, tensor in theirs.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            tensor.copy_(torch.rand(tensor.shape, generator=generator, dtype=torch.float64) + 0.5)
    ours = Stack(lambda _: ConformerBlock(CONFIG), 2).double()
    adopt(ours, theirs.state_dict(), [names])
    return ours


def in_place(rate: nn.Module) -> Tensor:
    """Offsets 8 ... -8, each a row of waves in float64, in the order of both of theirs."""
    return SinusoidalPosition(16).table(torch.arange(8, -9, -1))[None]


def wav2vec2_blocks() -> tuple[Stack, nn.ModuleList, Callable[[Tensor], Tensor]]:
    config = Wav2Vec2ConformerConfig(
        hidden_size=16, num_attention_heads=4, intermediate_size=24, hidden_act="swish",
        position_embeddings_type="relative", conv_depthwise_kernel_size=5,
    )  # fmt: skip
    config._attn_implementation = "eager"
    theirs = nn.ModuleList(Wav2Vec2ConformerEncoderLayer(config) for _ in range(2))
    ours = made(theirs, WAV2VEC2)
    position = Wav2Vec2ConformerRelPositionalEmbedding(config)
    equal(position(ROWS.float()).double(), in_place(position), 1e-5)

    def run(x: Tensor) -> Tensor:
        for layer in theirs:
            x = layer(x, relative_position_embeddings=in_place(position))
        return x

    return ours, theirs, run


@parity(ConformerBlock, GatedConvolution)
def conformer_agrees() -> None:
    ours, theirs, run = wav2vec2_blocks()
    for module in (ours, theirs):
        module.eval()
    alike(ours, theirs, ours(ROWS), run(ROWS), [WAV2VEC2], inputs=[(ROWS, ROWS)])


def in_training() -> None:
    """The norm over the batch takes its statistics from it; nothing is dropped."""
    ours, theirs, run = wav2vec2_blocks()
    ours.train(), theirs.train()
    for module in theirs.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    alike(ours, theirs, ours(ROWS), run(ROWS), [WAV2VEC2])


@parity(HalfStep)
def padding_agrees() -> None:
    config = ParakeetEncoderConfig(
        hidden_size=16, num_attention_heads=4, num_key_value_heads=4, intermediate_size=24,
        conv_kernel_size=5, convolution_bias=False, attention_dropout=0.0, dropout=0.0,
    )  # fmt: skip
    config._attn_implementation = "sdpa"  # eager takes a softmax in float32
    theirs = nn.ModuleList(ParakeetEncoderBlock(config, i) for i in range(2))
    ours = made(theirs, PARAKEET)
    position = ParakeetEncoderRelPositionalEncoding(config)
    equal(position(ROWS.float())[:1].double(), in_place(position), 1e-5)
    ours.eval(), theirs.eval()
    allowed = (REAL[:, None] & REAL[:, :, None])[:, None]
    expected = ROWS
    for layer in theirs:
        expected = layer(expected, allowed, in_place(position).expand(3, -1, -1))
    output = ours(ROWS, mask=Padding(REAL))
    alike(ours, theirs, output[REAL], expected[REAL], [PARAKEET])


@parity("conformer")
def encoder_agrees() -> None:
    """The encoder is its front and its stack, which the other proofs compare."""
    conformer_agrees()
    padding_agrees()
    ours: Any = conformer.conformer(conformer.TINY).double().eval()
    frames, mask = rows(2, 23, 8), real([23, 14], 23)
    found, there = ours.front(frames, mask)
    assert isinstance(ours, SpeechEncoder)
    equal(ours(frames, mask)[0], ours.stack(found, mask=Padding(there)))


def test_published_sizes() -> None:
    """Gulati et al. 2020, table 1: 10.3, 30.7 and 118.8 million, a decoder of one LSTM included
    (320 and 640 wide), which is not built here; what is left must be the larger part.
    """
    for config, millions in (
        (conformer.SMALL, 10.3), (conformer.MEDIUM, 30.7), (conformer.LARGE, 118.8)
    ):  # fmt: skip
        with torch.device("meta"):
            number = sum(p.numel() for p in conformer.conformer(config).parameters()) / 1e6
        assert 0.85 < number / millions < 1


def test_it_refuses_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="kernel=4: expected an odd number"):
        GatedConvolution(16, 4)
    with pytest.raises(ValueError, match="memory"):
        ConformerBlock(CONFIG)(ROWS.float(), memory=ROWS.float())
    with torch.no_grad(), pytest.raises(ValueError, match=r"cache.*uses later frames"):
        ConformerBlock(CONFIG)(ROWS.float(), cache=Slot())


def late(self: GatedConvolution, x: Tensor, context: Context) -> Tensor:
    return self.out(self.norm(F.silu(self.conv(F.glu(self.inner(x)), context)).mT).mT)


def convolved_first(self: ConformerBlock, x: Tensor, context: Context) -> Tensor:
    x = self.ff_residual(x, self.ff)
    x = self.conv_residual(x, lambda rows: self.conv(rows, context))
    x = self.attn_residual(x, lambda rows: self.attn(rows, context))
    return self.norm(self.ff_2_residual(x, self.ff_2))


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "whole steps": (
        conformer_agrees, "deepdive.models.speech.conformer.HalfStep.forward", PreNorm.forward),
    "the norm behind swish": (
        conformer_agrees, "deepdive.layers.convolution.GatedConvolution.forward", late),
    "the convolution before the attention": (
        conformer_agrees, "deepdive.models.speech.conformer.ConformerBlock.forward",
        convolved_first),
    "offsets the other way round": (
        conformer_agrees, "deepdive.positions.SinusoidalPosition.table",
        lambda self, at, kept=SinusoidalPosition.table: kept(self, -at)),
    "ReLU for swish": (
        conformer_agrees, "deepdive.models.speech.conformer.F",
        SimpleNamespace(glu=F.glu, silu=F.relu)),
    "padding in the convolution": (
        padding_agrees, "deepdive.layers.convolution.Convolution._real",
        lambda self, mask, rows: None),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    encoder_agrees()
    in_training()
    assert Convolution(4, 1, 1, groups=4).W.weight.shape == (4, 1, 3)


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

"""T5 and mT5 against transformers in float64, cached and uncached; their settings; mutations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SRC, reference, saved_and_loaded
from parity_proofs import alike, real, tokens
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import (
    MT5Config,
    MT5ForConditionalGeneration,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)
from transformers.models.mt5 import modeling_mt5
from transformers.models.t5 import modeling_t5

from deepdive.core import RMSNorm, SoftmaxAttention, gelu
from deepdive.decoding import greedy
from deepdive.models.generative import byt5, t5
from deepdive.positions import CausalT5Bias, T5Bias
from deepdive.published import family, from_config, load, save
from deepdive.tokenizers import BYT5_SPECIALS, ByteTokenizer

SIZES: dict[str, Any] = {
    "vocab_size": 28,
    "d_model": 16,
    "d_kv": 6,  # four heads of 6 are not 16
    "d_ff": 24,
    "num_layers": 2,
    "num_decoder_layers": 1,
    "num_heads": 4,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 6,
    "layer_norm_epsilon": 1e-3,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
}
V1_1 = SIZES | {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
TGT, TGT_MASK = tokens(3, 5, vocab=28, seed=1), real([5, 5, 2], 5)


def norm(self: Any, x: Tensor) -> Tensor:
    return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)


@contextmanager
def in_double() -> Iterator[None]:
    """Theirs computes norms in float32 whatever its weights are; here in float64."""
    with (
        mock.patch.object(modeling_t5.T5LayerNorm, "forward", norm),
        mock.patch.object(modeling_mt5.MT5LayerNorm, "forward", norm),
    ):
        yield


def of_t5(**changes: Any) -> PreTrainedModel:
    return reference(T5ForConditionalGeneration, T5Config, **SIZES | changes)


def untied(kind: type[PreTrainedModel], config: Any) -> PreTrainedModel:
    """Theirs ties the output layer whatever it is told; the files of version 1.1 have one."""
    theirs = reference(kind, config, **V1_1)
    theirs.lm_head.weight = nn.Parameter(theirs.shared.weight.detach().flip(1).clone())
    theirs.config.tie_word_embeddings = False
    return theirs


def all_of_theirs() -> Iterator[PreTrainedModel]:
    yield of_t5()
    yield of_t5(num_layers=1, num_decoder_layers=2, feed_forward_proj="gelu")
    yield of_t5(**V1_1)  # not scaled, but tied
    yield untied(T5ForConditionalGeneration, T5Config)
    yield reference(MT5ForConditionalGeneration, MT5Config, **SIZES)
    yield untied(MT5ForConditionalGeneration, MT5Config)


@parity("t5", "t5/version 1.1")
def t5_agrees() -> None:
    for theirs in all_of_theirs():
        ours = saved_and_loaded(theirs, load)
        names = family(ours.config.family).table(config=ours.config)
        for mask in (MASK, MASK.flip(1)):  # padding at the end, and at the start
            with in_double():
                expected = theirs(
                    input_ids=SRC, attention_mask=mask.long(), decoder_input_ids=TGT,
                    decoder_attention_mask=TGT_MASK.long(),
                ).logits  # fmt: skip
            output = ours(SRC, TGT, mask, TGT_MASK)
            alike(ours, theirs, output[TGT_MASK], expected[TGT_MASK], [names])
    step_by_step(saved_and_loaded(of_t5(), load), of_t5())


def step_by_step(ours: Any, theirs: Any) -> None:
    """Ours through its cache, in pieces, is theirs of the whole; and what both write."""
    with torch.no_grad(), in_double():
        state = ours.begin(SRC, MASK)
        whole = theirs(SRC, attention_mask=MASK.long(), decoder_input_ids=TGT).logits
        for a, b in ((0, 2), (2, 3), (3, 5)):
            equal(ours.step(TGT[:, a:b], state), whole[:, a:b])
        written = theirs.generate(
            SRC, attention_mask=MASK.long(), max_new_tokens=9, do_sample=False, num_beams=1
        )
        mine = greedy(ours, SRC, MASK, bos=0, eos=1, max_length=9)
    rows = [row[1:] for row in written.tolist()]
    assert mine == [row[: row.index(1)] if 1 in row else row for row in rows]


@parity("byt5")
def byt5_agrees() -> None:
    """The published class is T5's; bytes, a deeper encoder and an output layer of its own."""
    theirs = reference(
        T5ForConditionalGeneration, T5Config, **V1_1 | {"vocab_size": 384, "num_layers": 3}
    )
    theirs.lm_head.weight = nn.Parameter(theirs.shared.weight.detach().flip(1).clone())
    theirs.config.tie_word_embeddings = False
    ours = saved_and_loaded(theirs, load)
    tokenizer = ByteTokenizer(BYT5_SPECIALS)
    read = torch.tensor([tokenizer.encode("Zoë", eos=True), tokenizer.encode("teas", eos=True)])
    written = torch.tensor([[0, *tokenizer.encode("茶", eos=True)]] * 2)
    with in_double():
        expected = theirs(input_ids=read, decoder_input_ids=written).logits
    alike(ours, theirs, ours(read, written), expected, [family("t5").table(config=ours.config)])


def test_t5_agrees() -> None:
    t5_agrees()


@pytest.mark.parametrize(
    ("config", "theirs"),
    [
        (t5.TINY, T5ForConditionalGeneration),
        (t5.TINY_V1_1, T5ForConditionalGeneration),
        (t5.TINY_V1_1.but(head=t5.tied), T5ForConditionalGeneration),
        (t5.TINY_V1_1.but(family="mt5"), MT5ForConditionalGeneration),
        (t5.TINY_V1_1.but(family="mt5", head=t5.tied), MT5ForConditionalGeneration),
    ],
)
def test_what_we_write_theirs_reads(config: Any, theirs: Any, tmp_path: Path) -> None:
    ours = t5.t5(config).eval()
    read = theirs.from_pretrained(save(ours, tmp_path)).eval()
    expected = read(input_ids=SRC, decoder_input_ids=TGT).logits
    assert torch.allclose(ours(SRC, TGT), expected, atol=1e-4)  # both in float32
    assert load(tmp_path).config == ours.config


def test_a_file_that_repeats_the_shared_table_is_read(tmp_path: Path) -> None:
    """Older files have it up to four times, and a table of distances that nothing reads."""
    from safetensors.torch import load_file, save_file

    ours = t5.t5(t5.TINY)
    file = save(ours, tmp_path) / "model.safetensors"
    tensors = load_file(file)
    for name in ("encoder.embed_tokens", "decoder.embed_tokens", "lm_head"):
        tensors[f"{name}.weight"] = tensors["shared.weight"].clone()
    table = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    save_file(tensors | {table: torch.ones(8, 4)}, file)
    assert torch.equal(load(tmp_path)(SRC, TGT), ours.eval()(SRC, TGT))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"feed_forward_proj": "open-gelu"}, "feed_forward_proj=open-gelu"),
        ({"feed_forward_proj": "gated-relu6"}, "'relu6'"),
        ({"decoder_start_token_id": 3}, "decoder_start_token_id=3"),
        ({"relative_attention_num_buckets": 6}, "n_buckets=6"),
    ],
)
def test_what_is_not_built_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_config({**SIZES, "model_type": "t5", **given})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (t5.TINY_V1_1.but(activation=gelu), "gelu_tanh"),
        (t5.TINY.but(family="mt5"), "head: mt5 has no scaled head"),
    ],
)
def test_what_has_no_published_form_is_refused(config: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        save(t5.t5(config), tmp_path)


def test_published_sizes() -> None:
    with torch.device("meta"):
        for ours, parameters in (
            (t5.t5(), 60_506_624),  # t5-small
            (t5.t5(t5.V1_1), 76_961_152),  # t5-v1_1-small
            (t5.t5(t5.MT5), 300_176_768),  # mt5-small
            (byt5.byt5(), 299_637_760),  # byt5-small
        ):
            assert sum(p.numel() for p in ours.parameters()) == parameters


bias, rms = T5Bias.buckets, RMSNorm.forward
in_one_call = SoftmaxAttention.in_one_call
MUTATIONS: dict[str, tuple[str, object]] = {
    "the decoder's buckets are the encoder's": (
        "deepdive.positions.CausalT5Bias.buckets",
        lambda self, at: bias(self, at) % 8,
    ),
    "ahead and behind exchanged": (
        "deepdive.positions.T5Bias.buckets",
        lambda self, at: bias(self, -at),
    ),
    "scores divided by sqrt(d_head)": (
        "deepdive.core.softmax.SoftmaxAttention.in_one_call",
        lambda self, q, k, v, allowed, bias, scale: in_one_call(
            self, q, k, v, allowed, bias, q.shape[-1] ** -0.5
        ),
    ),
    "states not scaled before the table": (
        "deepdive.models.generative.t5.ScaledHead.forward",
        lambda self, x: x @ self.embedding.weight.T,
    ),
    "a norm that takes the mean away": (
        "deepdive.core.RMSNorm.forward",
        lambda self, x: rms(self, x - x.mean(-1, keepdim=True)),
    ),
    "the gate's activation exact": ("deepdive.published.families.t5.gelu_tanh", gelu),
    "gate and inner exchanged": (
        "deepdive.core.GatedFeedForward.forward",
        lambda self, x: self.out(self.activation(self.inner(x)) * self.gate(x)),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        t5_agrees()


def test_a_bias_that_one_layer_has_for_itself_is_seen() -> None:
    """The table is shared: a gradient that comes from one layer alone is another."""
    theirs = of_t5()
    ours = saved_and_loaded(theirs, load)
    first, second = (block.attn.position for block in ours.encoder.stack.blocks)
    assert first is second
    assert isinstance(first, T5Bias)
    assert isinstance(ours.decoder.stack.blocks[0].attn.position, CausalT5Bias)
    assert all(block.cross.position is None for block in ours.decoder.stack.blocks)

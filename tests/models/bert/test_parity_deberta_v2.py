"""DeBERTa's versions 2 and 3 against transformers in float64, and the sharing of embeddings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SIZES, SRC, double_precision, reference, saved_and_loaded
from parity_proofs import alike, rows, tokens
from parity_registry import equal, equal_gradients, parity, perturb
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import DebertaV2Config, DebertaV2ForMaskedLM, DebertaV2Model
from transformers.models.deberta_v2.modeling_deberta_v2 import make_log_bucket_position

from deepdive.core.embeddings import TokenEmbedding
from deepdive.layers.share_embedding import (
    GradientDisentangled,
    part_embedding,
    share_embedding,
)
from deepdive.models.bert import deberta_v2, mask_decoder
from deepdive.positions import BucketedRows
from deepdive.published import family, from_config, load, save
from deepdive.published.weights import read

# Heads three wide: the root of 3 d_head, which theirs takes in float32, is then a whole number.
PLAIN: dict[str, Any] = {
    **SIZES, "hidden_size": 12, "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
    "position_biased_input": False, "legacy": False, "position_buckets": 4,
    "share_att_key": True, "norm_rel_ebd": "layer_norm",
}  # fmt: skip
CONVOLVED = {**PLAIN, "conv_kernel_size": 3, "conv_act": "gelu", "max_relative_positions": 9}
FRONT = SRC.flip(1), MASK.flip(1)


@parity("deberta_v2", deberta_v2.ConvolvedBlock)
def deberta_v2_agrees() -> None:
    for settings in (PLAIN, CONVOLVED):
        theirs = reference(DebertaV2ForMaskedLM, DebertaV2Config, **settings)
        ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
        names = family("deberta-v2").table("masked_lm", ours.bert.config)
        for row, mask in ((SRC, MASK), FRONT, (tokens(2, 11, vocab=28), None)):
            given = torch.ones_like(row).bool() if mask is None else mask
            output, expected = ours(row, mask)[given], theirs(row, given.long()).logits[given]
            alike(ours, theirs, output, expected, [names])
        body = saved_and_loaded(theirs, load)
        equal(body(SRC, MASK)[MASK], theirs.deberta(SRC, MASK.long()).last_hidden_state[MASK])
    buckets()


def buckets() -> None:
    """The published settings, and others, at every distance up to far beyond the last bucket."""
    far = torch.arange(-1500, 1501)
    for n, most in ((256, 512), (4, 9), (32, 128), (8, 20)):
        bucket = make_log_bucket_position(far, n, most).long()
        expected = (bucket + n).clamp(0, 2 * n - 1)
        assert torch.equal(BucketedRows(2, n, most, nn.Identity()).index(far), expected)


@parity(mask_decoder.EnhancedMaskDecoder)
def decoder_agrees() -> None:
    """Their last layer, asked by other rows than it reads, as the released code asks it."""
    theirs = reference(DebertaV2ForMaskedLM, DebertaV2Config, **CONVOLVED)
    encoder = saved_and_loaded(theirs, load)
    ours = perturb(mask_decoder.for_pretraining(encoder).double().eval(), seed=4)
    kind = family("deberta-v2")
    filled = kind.table("masked_lm").theirs(
        {n: t for n, t in dict(ours.named_parameters()).items() if n != "positions.table.weight"}
    )
    theirs.load_state_dict(theirs.state_dict() | filled)
    body = theirs.deberta
    h = body(SRC, MASK.long(), output_hidden_states=True).hidden_states[-2]
    table = ours.positions.table.weight.detach().clone().requires_grad_()
    asked, encoder_ = h + table[: SRC.shape[1]], body.encoder
    for _ in range(2):
        asked = encoder_.layer[-1](
            h, encoder_.get_attention_mask(MASK.long()), query_states=asked,
            relative_pos=encoder_.get_rel_pos(h), rel_embeddings=encoder_.get_rel_embedding(),
        )[0]  # fmt: skip
    expected = theirs.lm_predictions(asked, body.embeddings.word_embeddings)[MASK]
    output = ours(SRC, MASK)[MASK]
    equal(output, expected)
    pairs = {
        "positions": (ours.positions.table.weight, table),
        "words": (encoder.embeddings.tokens.weight, body.embeddings.word_embeddings.weight),
        "rows": (
            encoder.stack.blocks[0].attn.position.rows.table.weight,
            encoder_.rel_embeddings.weight,
        ),
        "queries": (
            encoder.stack.blocks[1].attn.q.weight,
            encoder_.layer[1].attention.self.query_proj.weight,
        ),
    }
    equal_gradients(output, expected, pairs)


def test_the_paper_s_decoder_is_read_and_written(tmp_path: Path) -> None:
    """A released file has the absolute places, and version 3's its discriminator's head."""
    theirs = reference(DebertaV2ForMaskedLM, DebertaV2Config, **CONVOLVED)
    theirs.save_pretrained(tmp_path)
    more = {
        "deberta.embeddings.position_embeddings.weight": rows(12, 12).detach(),
        "mask_predictions.dense.weight": torch.ones(12, 12),
    }
    save_file({**read(tmp_path), **more}, tmp_path / "model.safetensors")
    with double_precision():
        ours = load(tmp_path, head="pretraining")
        again = load(save(ours, tmp_path / "ours"), head="pretraining")
        load(tmp_path), load(tmp_path, head="masked_lm")
    assert torch.equal(ours.positions.table.weight, next(iter(more.values())))
    assert torch.equal(again(SRC, MASK), ours(SRC, MASK))


def test_settings_that_are_not_built_are_refused() -> None:
    good = DebertaV2Config(**CONVOLVED).to_dict()
    assert from_config({**good, "attention_head_size": 3}).config.kernel == 3
    for changes, message in (
        ({"pos_att_type": "p2c"}, "pos_att_type"),
        ({"share_att_key": False}, "share_att_key=False"),
        ({"norm_rel_ebd": "none"}, "norm_rel_ebd=none"),
        ({"position_biased_input": True}, "position_biased_input=True"),
        ({"conv_act": "tanh"}, "conv_act=tanh"),
        ({"conv_act": None}, "no conv_act"),
        ({"conv_groups": 2}, "conv_groups=2"),
        ({"attention_head_size": 8}, "attention_head_size=8"),
        ({"position_buckets": -1}, "n_buckets=-1"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


def test_published_sizes() -> None:
    sizes: dict[str, Any] = {**PLAIN, "vocab_size": 128_100, "max_position_embeddings": 512,
                             "position_buckets": 256}  # fmt: skip
    for config, d_model, heads, layers, more in (
        (deberta_v2.V3_XSMALL, 384, 6, 12, {}),
        (deberta_v2.V3_SMALL, 768, 12, 6, {}),
        (deberta_v2.V3_BASE, 768, 12, 12, {}),
        (deberta_v2.V3_LARGE, 1024, 16, 24, {}),
        (deberta_v2.V2_XXLARGE, 1536, 24, 48, {"conv_kernel_size": 3, "conv_act": "gelu"}),
    ):  # fmt: skip
        wide = {"hidden_size": d_model, "num_attention_heads": heads, "num_hidden_layers": layers}
        with torch.device("meta"):
            theirs = DebertaV2Model(
                DebertaV2Config(**sizes | wide | more | {"intermediate_size": 4 * d_model})
            )
            ours = deberta_v2.deberta_v2(config)
        assert sum(p.numel() for p in ours.parameters()) == theirs.num_parameters()


# Sharing of embeddings


def tables() -> tuple[TokenEmbedding, TokenEmbedding]:
    return TokenEmbedding(28, 6).double(), TokenEmbedding(28, 6).double()


@parity(GradientDisentangled)
def sharing_agrees() -> None:
    """Rows and gradients are those of the sum of a constant and a table of its own."""
    generator, discriminator = tables()
    share_embedding(generator, discriminator)
    delta = perturb(nn.Embedding(28, 6).double())
    discriminator.parametrizations.weight.original.data.copy_(delta.weight)
    output = discriminator(SRC)
    expected = generator.weight.detach()[SRC] + delta(SRC)
    mine = discriminator.parametrizations.weight.original
    equal(output, expected)
    equal_gradients(output, expected, {"delta": (mine, delta.weight)})


def test_the_discriminator_s_loss_sends_the_generator_no_gradient() -> None:
    generator, discriminator = tables()
    share_embedding(generator, discriminator)
    assert torch.equal(discriminator.weight, generator.weight)  # the delta begins at 0
    direction = rows(3, 7, 6).detach()
    (discriminator(SRC) * direction).sum().backward()
    assert generator.weight.grad is None
    assert discriminator.parametrizations.weight.original.grad.abs().max() > 0.1
    (generator(SRC) * direction).sum().backward()
    with torch.no_grad():
        before = discriminator.weight.clone()
        generator.weight -= 0.5 * generator.weight.grad
    assert torch.equal(discriminator.weight, generator.weight)  # and it follows the generator
    assert not torch.equal(discriminator.weight, before)


def test_a_parted_table_is_plain_numbers() -> None:
    generator, discriminator = tables()
    share_embedding(generator, discriminator)
    with torch.no_grad():
        discriminator.parametrizations.weight.original += 1
    part_embedding(discriminator)
    assert set(dict(discriminator.named_parameters())) == {"weight"}
    assert torch.equal(discriminator.weight, generator.weight + 1)


KEPT = BucketedRows.index


def rounded_down(self: Any, distances: Tensor) -> Tensor:
    far = distances.abs().clamp(min=self.middle).float() / self.middle
    widest = torch.tensor((self.farthest - 1) / self.middle).log()
    bucket = torch.floor(far.log() / widest * (self.middle - 1)) + self.middle
    near = distances.abs() <= self.middle
    index = torch.where(near, distances, bucket.long() * distances.sign()) + self.reach
    return index.clamp(0, 2 * self.reach - 1)


MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "buckets rounded down": (
        deberta_v2_agrees, "deepdive.positions.BucketedRows.index", rounded_down),
    "a bucket off by one": (
        deberta_v2_agrees, "deepdive.positions.BucketedRows.index",
        lambda self, distances: (KEPT(self, distances) + 1).clamp(max=2 * self.reach - 1)),
    "rows without their norm": (
        deberta_v2_agrees, "deepdive.positions.BucketedRows.forward",
        lambda self: self.table.weight),
    "places that make keys of the values' half": (
        deberta_v2_agrees, "deepdive.models.bert.deberta_v2._Keys.forward",
        lambda self, rows: self.kv(rows)[:, self.kv.out_features // 2 :]),
    "a convolution of padding": (
        deberta_v2_agrees, "deepdive.layers.Convolution._real", lambda self, mask, rows: None),
    "the wrong epsilon": (
        deberta_v2_agrees, "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6)),
    "one step of decoding": (
        decoder_agrees, "deepdive.models.bert.mask_decoder.EnhancedMaskDecoder.steps", 1),
    "a gradient to the generator": (
        test_the_discriminator_s_loss_sends_the_generator_no_gradient,
        "deepdive.layers.share_embedding.GradientDisentangled.forward",
        lambda self, delta: self.shared.weight + delta),
    "a delta alone": (
        sharing_agrees, "deepdive.layers.share_embedding.GradientDisentangled.forward",
        lambda self, delta: delta),
}  # fmt: skip


def test_the_proofs_are_green() -> None:
    deberta_v2_agrees()
    decoder_agrees()
    sharing_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

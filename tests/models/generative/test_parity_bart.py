"""BART and its family against transformers, in float64: logits, gradients, and both caches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, real, tokens
from parity_registry import differs, equal, parity
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    LEDConfig,
    LEDForConditionalGeneration,
    MBartConfig,
    MBartForConditionalGeneration,
    PegasusConfig,
    PegasusForConditionalGeneration,
    PLBartConfig,
    PLBartForConditionalGeneration,
)

from deepdive.core import PostNorm, gelu_tanh
from deepdive.core.embeddings import GivenBiasHead
from deepdive.decoding import greedy
from deepdive.models.efficient import led
from deepdive.models.generative import bart, mbart, pegasus, plbart
from deepdive.models.generative.bart import NormedPosition
from deepdive.positions import BlockedSinusoidalPosition
from deepdive.published import family, from_config, load, save

SIZES: dict[str, Any] = {
    "vocab_size": 28,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 12,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}
MASK = real([7, 5, 3], 7)  # odd lengths, padding at the end
SRC = tokens(3, 7, vocab=28).masked_fill(~MASK, 1)
TGT = tokens(3, 5, vocab=28, seed=1)
TGT_MASK = real([5, 5, 2], 5)


def made(kind: Any, config: Any, **changes: Any) -> Any:
    """One of theirs with every weight stirred, the bias of its logits too."""
    theirs: Any = reference(kind, config, **SIZES | changes)
    theirs.final_logits_bias.normal_(generator=torch.Generator().manual_seed(5))
    return theirs


def agree(theirs: Any, ours: Any, leave_out: tuple[str, ...] = (), **more: Any) -> None:
    """Logits, gradients of all weights, and the decoder in pieces through both caches."""
    read = {"input_ids": SRC, "attention_mask": MASK.long(), **more}
    expected = theirs(
        **read, decoder_input_ids=TGT, decoder_attention_mask=TGT_MASK.long(), use_cache=False
    ).logits
    output = ours(SRC, TGT, MASK, TGT_MASK)
    names = family(ours.config.family).table(config=ours.config)
    alike(ours, theirs, output[TGT_MASK], expected[TGT_MASK], [names], leave_out)
    with torch.no_grad():
        whole, state, kept = ours(SRC, TGT, MASK), ours.begin(SRC, MASK), None
        for a, b in ((0, 2), (2, 3), (3, 5)):
            now = theirs(
                **read, decoder_input_ids=TGT[:, a:b], past_key_values=kept, use_cache=True
            )
            kept, piece = now.past_key_values, ours.step(TGT[:, a:b], state)
            equal(piece, whole[:, a:b])
            equal(piece, now.logits)


@parity("bart", NormedPosition, GivenBiasHead)
def bart_agrees() -> None:
    for changes in ({}, {"scale_embedding": True, "activation_function": "relu"}):
        theirs = made(BartForConditionalGeneration, BartConfig, **changes)
        agree(theirs, saved_and_loaded(theirs, load))


@parity("plbart")
def plbart_agrees() -> None:
    theirs = made(PLBartForConditionalGeneration, PLBartConfig)
    ours: Any = saved_and_loaded(theirs, load)
    assert ours.config.scale is None
    agree(theirs, ours)


@parity("mbart")
def mbart_agrees() -> None:
    theirs = made(MBartForConditionalGeneration, MBartConfig, scale_embedding=True)
    agree(theirs, saved_and_loaded(theirs, load))


WAVES = tuple(f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder"))


@parity("pegasus")
def pegasus_agrees() -> None:
    special = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0}
    theirs = made(
        PegasusForConditionalGeneration, PegasusConfig, scale_embedding=True,
        activation_function="relu", **special,
    )  # fmt: skip
    fresh: Any = PegasusForConditionalGeneration(theirs.config)
    places = torch.arange(12).double()[:, None] / 10_000 ** (torch.arange(0, 16, 2).double() / 16)
    table = torch.cat((places.sin(), places.cos()), 1)
    for side in ("encoder", "decoder"):
        own = getattr(theirs.model, side).embed_positions.weight
        assert differs(getattr(fresh.model, side).embed_positions.weight.double(), table) < 1e-6
        own.data = table.clone()  # theirs is kept in float32
    agree(theirs, saved_and_loaded(theirs, load), leave_out=WAVES)


@parity("led")
def led_agrees() -> None:
    sizes = {"max_encoder_position_embeddings": 16, "max_decoder_position_embeddings": 12}
    theirs = made(LEDForConditionalGeneration, LEDConfig, attention_window=[4, 8], **sizes)
    ours: Any = saved_and_loaded(theirs, load)
    assert (ours.config.window, ours.config.max_written) == ((4, 8), 12)
    seen = torch.zeros_like(SRC)
    seen[:, 0] = 1
    in_double = mock.patch("torch.nn.functional.softmax", lambda x, dim, dtype=None: x.softmax(dim))
    with in_double:  # theirs has this one step in float32
        agree(theirs, ours, global_attention_mask=seen)
        nowhere = led.led(ours.config.but(n_global=0)).double().eval()
        nowhere.load_state_dict(ours.state_dict())
        expected = theirs(input_ids=SRC, attention_mask=MASK.long(), decoder_input_ids=TGT).logits
        equal(nowhere(SRC, TGT, MASK), expected)


PROOFS = (bart_agrees, plbart_agrees, mbart_agrees, pegasus_agrees, led_agrees)


@pytest.mark.parametrize("proof", PROOFS)
def test_a_proof_is_green(proof: Callable[[], None]) -> None:
    proof()


MODELS: dict[str, tuple[Any, Any, Any]] = {
    "bart": (bart.bart, bart.TINY, BartForConditionalGeneration),
    "plbart": (plbart.plbart, plbart.TINY, PLBartForConditionalGeneration),
    "mbart": (mbart.mbart, mbart.TINY, MBartForConditionalGeneration),
    "pegasus": (pegasus.pegasus, pegasus.TINY, PegasusForConditionalGeneration),
    "led": (led.led, led.TINY, LEDForConditionalGeneration),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_we_write_theirs_reads_and_generates(name: str, tmp_path: Path) -> None:
    build, tiny, kind = MODELS[name]
    torch.manual_seed(0)
    ours = build(tiny).eval()
    for parameter in ours.parameters():
        parameter.data.mul_(4.0)  # or the same token wins everywhere
    ours.head.bias[tiny.end] = 0.5
    theirs = kind.from_pretrained(save(ours, tmp_path)).eval()
    seen = {}
    if name == "led":
        seen["global_attention_mask"] = (torch.arange(7) == 0).long().expand(3, -1)
    mask = MASK.long()
    expected = theirs(input_ids=SRC, attention_mask=mask, decoder_input_ids=TGT, **seen).logits
    assert torch.allclose(ours(SRC, TGT, MASK), expected, atol=2e-5)
    again: Any = load(tmp_path)
    assert again.config == ours.config
    assert torch.equal(again(SRC, TGT, MASK), ours(SRC, TGT, MASK))
    written = theirs.generate(
        SRC, attention_mask=mask, max_new_tokens=8, do_sample=False, num_beams=1,
        forced_eos_token_id=None, decoder_start_token_id=tiny.start, bad_words_ids=None, **seen,
    )[:, 1:].tolist()  # fmt: skip
    mine = greedy(ours, SRC, MASK, bos=tiny.start, eos=tiny.end, max_length=8)
    assert mine == [row[: row.index(tiny.end)] if tiny.end in row else row for row in written]


def test_published_sizes() -> None:
    """As many weights as theirs has; for Pegasus 568 million, as its paper says."""
    sides = ("encoder", "decoder")

    def theirs(kind: Any, config: Any, vocab: int, d: int, layers: int, **more: Any) -> Any:
        each = {"layers": layers, "attention_heads": d // 64, "ffn_dim": 4 * d}
        sizes = {f"{side}_{name}": n for side in sides for name, n in each.items()}
        return kind(config(vocab_size=vocab, d_model=d, **sizes, **more))

    plain = (BartForConditionalGeneration, BartConfig)
    with torch.device("meta"):
        for ours, (kind, config), sizes, more, millions in (
            (bart.bart(), plain, (50_265, 768, 6), {}, 139),
            (bart.bart(bart.LARGE), plain, (50_265, 1024, 12), {}, 406),
            (plbart.plbart(), (PLBartForConditionalGeneration, PLBartConfig), (50_005, 768, 6), {},
             139),
            (mbart.mbart(), (MBartForConditionalGeneration, MBartConfig), (250_027, 1024, 12), {},
             611),
            (pegasus.pegasus(pegasus.LARGE), (PegasusForConditionalGeneration, PegasusConfig),
             (96_103, 1024, 16), {}, 568),
            (led.led(), (LEDForConditionalGeneration, LEDConfig), (50_265, 768, 6),
             {"attention_window": 1024}, 162),
        ):  # fmt: skip
            other = theirs(kind, config, *sizes, **more)
            waves = sum(p.numel() for n, p in other.named_parameters() if n in WAVES)
            number = sum(p.numel() for p in ours.parameters())
            assert number == other.num_parameters() - waves * (kind.__name__[:7] == "Pegasus")
            assert abs(number / 1e6 - millions) < 1


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("bart", {"encoder_layerdrop": 0.1}, "encoder_layerdrop"),
        ("bart", {"normalize_before": True}, "normalize_before=True"),
        ("mbart", {"tie_word_embeddings": False}, "tie_word_embeddings"),
        ("pegasus", {"activation_function": "mish"}, "mish"),
        ("led", {"attention_window": [4, 3]}, "window=3"),
        ("led", {"attention_window": [4]}, "1 values for 2 layers"),
    ],
)
def test_what_is_not_built_is_refused(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_config({**SIZES, "model_type": name, "attention_window": [4, 2], **given})


def test_led_with_scaled_embeddings_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="scale=2"):
        save(led.led(led.TINY, scale=2.0), tmp_path)


def head(self: Any, x: Tensor) -> Tensor:
    return x @ self.embedding.weight.T


BART = "deepdive.models.generative.bart"
MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "places from 1, not 2": (
        bart_agrees, f"{BART}.NormedPosition.embed",
        lambda self, x, at: self.norm(x + self.position.table(at + 1))),
    "no norm of what is embedded": (bart_agrees, f"{BART}.NormedPosition.embed",
        lambda self, x, at: self.position.embed(x, at)),
    "the norm before places are added": (
        bart_agrees, f"{BART}.NormedPosition.embed",
        lambda self, x, at: self.position.embed(self.norm(x), at)),
    "no bias of the logits": (
        bart_agrees, "deepdive.core.embeddings.GivenBiasHead.forward", head),
    "GELU's approximation": (
        bart_agrees, "deepdive.published.form.ACTIVATIONS",
        {"gelu": gelu_tanh, "relu": torch.relu}),
    "embeddings of PLBART that are not scaled": (
        plbart_agrees, "deepdive.core.embeddings.TokenEmbedding.forward",
        lambda self, x: self.weight[x]),
    "norms behind the sums": (
        mbart_agrees, "deepdive.published.families.bart.MBART.base",
        mbart.BASE.but(residual=PostNorm)),
    "Pegasus' waves from 1": (
        pegasus_agrees, "deepdive.models.transformer.marian.BlockedSinusoidalPosition",
        partial(BlockedSinusoidalPosition, offset=1)),
    "a window one token wider": (
        led_agrees, "deepdive.models.efficient.led.side", lambda window, n, layer: window[layer]),
    "no global projections": (
        led_agrees, "deepdive.attention.LongformerAttention._global_rows",
        lambda self, x, at, allowed, scale: torch.zeros(3, 4, at.shape[1], 4).double()),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    if target.endswith(".base"):
        from deepdive.published.families.bart import MBART

        change = mock.patch.dict(MBART.__dict__, base=wrong)
    else:
        change = mock.patch(target, wrong)
    with change, pytest.raises((AssertionError, ValueError)):
        proof()


def test_the_head_of_bart_has_no_bias_to_train() -> None:
    model = bart.bart(bart.TINY)
    assert "head.bias" not in dict(model.named_parameters())
    assert "head.bias" in model.state_dict()
    assert isinstance(model.head, GivenBiasHead)

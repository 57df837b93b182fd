"""The Transformer and its published relatives against torch and transformers, in float64.

transformers computes tables of waves in float32, so the proofs first compare them to the closed
form at that precision, and then put the closed form in their place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from parity_proofs import alike, real, tokens
from parity_registry import differs, equal, parity, perturb
from torch import Tensor, nn
from transformers import (
    FSMTConfig,
    FSMTForConditionalGeneration,
    GenerationConfig,
    GPT2Config,
    GPT2LMHeadModel,
    MarianConfig,
    MarianMTModel,
    PreTrainedModel,
)

from deepdive.core import PreNorm, gelu
from deepdive.decoding import beam, beam_settings, greedy, greedy_settings
from deepdive.models.transformer import decoder_only, fsmt, marian, transformer
from deepdive.models.transformer.decoder_only import DecoderOnly
from deepdive.models.transformer.transformer import Decoder, Encoder, Transformer
from deepdive.positions import BlockedSinusoidalPosition, LearnedPosition, SinusoidalPosition
from deepdive.published import family, from_config, load
from deepdive.published.families.translators import WAVES
from deepdive.published.from_torch import LAYER
from deepdive.published.weights import Change, Join, Rule, Split, adopt

SIZES = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 40,
}
MASK = real([7, 5, 3], 7)  # odd lengths, padding at the end
SRC = tokens(3, 7, vocab=28).masked_fill(~MASK, 1)
TGT = tokens(3, 5, vocab=28, seed=1)
TGT_MASK = real([5, 5, 2], 5)


TORCH: list[Rule] = [
    (r"^source\.", "encoder.embedding."),
    (r"^target\.", "decoder.embedding."),
    (r"^body\.(encoder|decoder)\.", r"\1.stack."),
    (r"^(encoder\..*)\.norm2\.", r"\1.ff_residual.norm."),
    (r"^(decoder\..*)\.norm2\.", r"\1.cross_residual.norm."),
    (r"\.norm3\.", ".ff_residual.norm."),
    *LAYER,
    (r"\.layers\.", ".blocks."),
]


def closed_form(n: int, d_model: int, steps: float, blocks: bool) -> Tensor:
    """Tables of waves, one entry at a time: interleaved, or in two blocks."""
    table = np.zeros((n, d_model))
    for pos in range(n):
        for i in range(d_model // 2):
            angle = pos / 10_000 ** (i / steps)
            sine, cosine = (i, d_model // 2 + i) if blocks else (2 * i, 2 * i + 1)
            table[pos, sine], table[pos, cosine] = math.sin(angle), math.cos(angle)
    return torch.from_numpy(table)


class TorchTransformer(nn.Module):
    """nn.Transformer between embeddings, the closed form of the waves, and a tied output layer."""

    def __init__(self, norm_first: bool) -> None:
        super().__init__()
        settings: dict[str, Any] = {"batch_first": True, "norm_first": norm_first}
        sizes = (16, 4, 24, 0.0, "gelu" if norm_first else "relu")
        norms = [nn.LayerNorm(16) if norm_first else None for _ in range(2)]
        layer = nn.TransformerEncoderLayer(*sizes, **settings)
        encoder = nn.TransformerEncoder(layer, 2, norms[0], enable_nested_tensor=False)
        decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*sizes, **settings), 2, norms[1])
        self.source, self.target = nn.Embedding(28, 16), nn.Embedding(28, 16)
        self.body = nn.Transformer(
            16, 4, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
        )
        self.waves = closed_form(9, 16, steps=8, blocks=False)

    def encode(self, src: Tensor) -> Tensor:
        rows = 4 * self.source(src) + self.waves[: src.shape[1]]
        return self.body.encoder(rows, src_key_padding_mask=~MASK)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        states = self.body.decoder(
            4 * self.target(tgt) + self.waves[: tgt.shape[1]],
            self.encode(src),
            tgt_mask=torch.ones(tgt.shape[1], tgt.shape[1]).triu(1).bool(),
            tgt_key_padding_mask=~TGT_MASK,
            memory_key_padding_mask=~MASK,
        )
        return states @ self.target.weight.T


@parity(Encoder, Decoder, Transformer)
def torch_transformer() -> None:
    for norm_first in (False, True):
        torch.manual_seed(0)
        theirs = perturb(TorchTransformer(norm_first).double())
        variant = {"residual": PreNorm, "activation": gelu} if norm_first else {}
        ours = transformer.transformer(
            28, 28, d_model=16, n_heads=4, n_layers=2, d_ff=24, dropout=0.0, **variant
        ).double()
        adopt(ours, theirs.state_dict(), TORCH)
        equal(ours.encoder(SRC, MASK)[MASK], theirs.encode(SRC)[MASK])
        output, expected = ours(SRC, TGT, MASK, TGT_MASK), theirs(SRC, TGT)
        alike(ours, theirs, output[TGT_MASK], expected[TGT_MASK], TORCH)


GPT2: list[Rule] = [
    (r"^transformer\.", ""),
    (r"^wte\.", "decoder.embedding."),
    (r"^wpe\.", "decoder.position.table."),
    (r"^h\.", "decoder.stack.blocks."),
    (r"^ln_f\.", "decoder.stack.norm."),
    (r"\.ln_1\.", ".attn_residual.norm."),
    (r"\.ln_2\.", ".ff_residual.norm."),
    Change(r"\.c_(attn|proj|fc)\.weight$", torch.t),
    Split(r"\.c_attn\.(weight|bias)$", (r".q.\1", r".k.\1", r".v.\1")),
    Join((r"\.k\.(weight|bias)$", r"\.v\.(weight|bias)$"), r".kv.\1"),
    (r"\.attn\.c_proj\.", ".attn.out."),
    (r"\.mlp\.c_fc\.", ".ff.inner."),
    (r"\.mlp\.c_proj\.", ".ff.out."),
    (r"^lm_head\.", "head.embedding."),
]


@parity(DecoderOnly, LearnedPosition)
def gpt2() -> None:
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=28,
        n_embd=16,
        n_layer=2,
        n_head=4,
        n_inner=24,
        n_positions=12,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    theirs = perturb(GPT2LMHeadModel(config).double().eval())
    ours = decoder_only.decoder_only(
        28, d_model=16, n_heads=4, n_layers=2, d_ff=24, max_length=12
    ).double()
    adopt(ours.eval(), theirs.state_dict(), GPT2)
    for mask in (MASK, MASK.flip(1)):  # padding at the end, and at the start
        output = ours(SRC, mask)
        expected = theirs(SRC, attention_mask=mask.long()).logits
        alike(ours, theirs, output[mask], expected[mask], GPT2)
    prompt = SRC[:, :2]
    written = theirs.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=10, do_sample=False
    )
    mine = greedy(ours, prompt=prompt, max_length=10)
    assert mine == [until(row[2:], 2) for row in written.tolist()]


def until(tokens: list[int], end: int) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens


@contextmanager
def double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def stirred(theirs: PreTrainedModel, table: Tensor) -> PreTrainedModel:
    """Put every weight off its special values, and the closed form in the place of their waves."""
    theirs = perturb(theirs.double().eval())  # type: ignore[assignment]
    if hasattr(theirs, "final_logits_bias"):
        theirs.final_logits_bias.normal_()
    fresh = type(theirs)(theirs.config)
    for side in ("encoder", "decoder"):
        weight = getattr(fresh.model, side).embed_positions.weight
        assert weight.shape == table.shape
        assert differs(table, weight.double()) < 1e-5
        own = getattr(theirs.model, side).embed_positions.weight
        own.data, own.requires_grad = table.clone(), False
    return theirs


def published_agree(theirs: PreTrainedModel, silent: tuple[str, ...] = ()) -> None:
    """Save theirs, load it as ours; logits and the gradients of all weights agree."""
    with TemporaryDirectory() as folder, double_precision():
        theirs.save_pretrained(folder)
        ours = load(folder)
    names = family(ours.config.family).table(config=ours.config)
    expected = theirs(
        input_ids=SRC,
        attention_mask=MASK.long(),
        decoder_input_ids=TGT,
        decoder_attention_mask=TGT_MASK.long(),
        use_cache=False,  # with it, FSMT has no causal mask
    ).logits
    output = ours(SRC, TGT, MASK, TGT_MASK)
    alike(ours, theirs, output[TGT_MASK], expected[TGT_MASK], [names], WAVES, silent=silent)


MARIANS: list[dict[str, Any]] = [
    {"activation_function": "swish", "scale_embedding": True},
    {"activation_function": "relu", "scale_embedding": False},
    {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 34},
    {
        "tie_word_embeddings": False,
        "share_encoder_decoder_embeddings": False,
        "decoder_vocab_size": 34,
    },
]


@parity("marian")
def marian_agrees() -> None:
    table = closed_form(40, 16, steps=8, blocks=True)
    for settings in MARIANS:
        torch.manual_seed(0)
        config = MarianConfig(
            vocab_size=30, pad_token_id=1, decoder_start_token_id=1, **SIZES, **settings
        )
        theirs = stirred(MarianMTModel(config), table)
        published_agree(theirs, silent=("head.bias",))  # theirs is a buffer


@parity("fsmt")
def fsmt_agrees() -> None:
    table = closed_form(42, 16, steps=7, blocks=True)
    table[1] = 0.0  # padding's row
    for settings in ({}, {"activation_function": "gelu", "scale_embedding": False}):
        torch.manual_seed(0)
        config = FSMTConfig(src_vocab_size=30, tgt_vocab_size=34, **SIZES, **settings)
        theirs = stirred(FSMTForConditionalGeneration(config), table)
        # Theirs fills a float32 mask with the lowest float64, which torch refuses.
        lowest = "transformers.models.fsmt.modeling_fsmt.fill_with_neg_inf"
        with mock.patch(lowest, lambda t: torch.full_like(t, torch.finfo(t.dtype).min)):
            published_agree(theirs)


@parity(BlockedSinusoidalPosition)
def published() -> None:
    marian_agrees()
    fsmt_agrees()


def test_marian_has_the_same_logits_and_gradients() -> None:
    marian_agrees()


def test_fsmt_has_the_same_logits_and_gradients() -> None:
    fsmt_agrees()


FSMT_BASE = FSMTConfig(
    d_model=1024,
    encoder_layers=6,
    decoder_layers=6,
    encoder_ffn_dim=8192,
    decoder_ffn_dim=8192,
)
CONFIGS: dict[str, tuple[type[PreTrainedModel], Any]] = {
    "marian": (
        MarianMTModel,
        MarianConfig(
            vocab_size=16,
            pad_token_id=15,
            decoder_start_token_id=15,
            activation_function="swish",
            scale_embedding=True,
            **SIZES,
        ),
    ),
    "fsmt": (
        FSMTForConditionalGeneration,
        FSMTConfig(src_vocab_size=16, tgt_vocab_size=16, **SIZES),
    ),
}
SEARCHES: list[dict[str, Any]] = [
    {"num_beams": 1},
    {"num_beams": 1, "bad_words_ids": [[5], [7]], "max_length": 30},
    {"num_beams": 4, "length_penalty": 1.0, "early_stopping": False},
    {"num_beams": 4, "length_penalty": 0.0, "early_stopping": "never"},
    {"num_beams": 3, "length_penalty": 2.0, "early_stopping": True},
    {"num_beams": 3, "length_penalty": 1.5, "early_stopping": "never", "max_length": 30},
    {"num_beams": 3, "bad_words_ids": [[5]], "renormalize_logits": True},
    {"num_beams": 3, "bad_words_ids": [[5]], "forced_eos_token_id": None},
]


@pytest.fixture(scope="module", params=list(CONFIGS))
def copier(request: pytest.FixtureRequest) -> PreTrainedModel:
    """A model of transformers that has half learned to copy."""
    kind, config = CONFIGS[request.param]
    torch.manual_seed(0)
    model = kind(config)
    for side in (model.model.encoder, model.model.decoder):
        side.embed_positions.weight.requires_grad = False  # FSMT would train its waves
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for i in range(80):
        src, mask = sources(32, config, seed=1000 + i)
        first = torch.full((32, 1), config.decoder_start_token_id)
        end = torch.full((32, 1), config.pad_token_id)
        tgt = torch.cat((first, src, end), dim=1)
        tgt[torch.arange(32), mask.sum(1) + 1] = config.eos_token_id
        logits = model(
            input_ids=src,
            attention_mask=mask.long(),
            decoder_input_ids=tgt[:, :-1],
            use_cache=False,
        ).logits
        loss = F.cross_entropy(logits.transpose(1, 2), tgt[:, 1:], ignore_index=config.pad_token_id)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


def sources(B: int, config: Any, seed: int) -> tuple[Tensor, Tensor]:
    lengths = torch.randint(2, 8, (B,), generator=torch.Generator().manual_seed(seed))
    lengths[0] = 7
    mask = real(lengths.tolist(), 7)
    return tokens(B, 7, vocab=15, seed=seed).masked_fill(~mask, config.pad_token_id), mask


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: "-".join(map(str, s.values())))
def test_the_same_translation_as_generate(
    copier: PreTrainedModel, search: dict[str, Any], tmp_path: Path
) -> None:
    theirs = copier
    settings = {"max_length": 8, "forced_eos_token_id": theirs.config.eos_token_id, **search}
    theirs.generation_config = GenerationConfig.from_model_config(theirs.config)
    theirs.generation_config.update(**settings)
    theirs.save_pretrained(tmp_path)
    ours = load(tmp_path)
    src, mask = sources(12, theirs.config, seed=1)
    written = theirs.generate(
        src, attention_mask=mask.long(), return_dict_in_generate=True, output_scores=True
    )
    expected = [until(row[1:], theirs.config.eos_token_id) for row in written.sequences.tolist()]
    assert len({len(row) for row in expected}) > 1, "all rows are alike: this shows little"
    if search["num_beams"] == 1:
        assert greedy(ours, src, mask, **greedy_settings(tmp_path)) == expected
    else:
        found = [best for (best,) in beam(ours, src, mask, **beam_settings(tmp_path))]
        pad = theirs.config.pad_token_id
        for h, row, score in zip(found, expected, written.sequences_scores.tolist(), strict=True):
            assert h.tokens == (row if h.ended else until(row, pad))
            assert h.score == pytest.approx(score, abs=1e-4)


def test_settings_in_our_words(tmp_path: Path) -> None:
    theirs = MarianMTModel(CONFIGS["marian"][1])
    asked = {"num_beams": 5, "length_penalty": 0.8, "max_length": 12}
    for early_stopping, look_ahead in ((False, 0), (True, None), ("never", 11)):
        theirs.generation_config = GenerationConfig.from_model_config(theirs.config)
        theirs.generation_config.update(**asked, early_stopping=early_stopping)
        theirs.save_pretrained(tmp_path)
        ours = beam_settings(tmp_path)
        assert (ours["width"], ours["alpha"], ours["max_length"]) == (5, 0.8, 11)
        assert ours["look_ahead"] == look_ahead
        assert (ours["bos"], ours["eos"]) == (15, 0)
    assert greedy_settings(tmp_path, max_length=7)["max_length"] == 7


def test_settings_that_are_not_built_are_refused(tmp_path: Path) -> None:
    theirs = MarianMTModel(CONFIGS["marian"][1])
    for change, message in (
        ({"no_repeat_ngram_size": 3}, "no_repeat_ngram_size=3"),
        ({"bad_words_ids": [[3, 4]]}, "bad_words_ids"),
        ({"eos_token_id": [0, 3]}, "eos_token_id"),
    ):
        theirs.generation_config = GenerationConfig.from_model_config(theirs.config)
        theirs.generation_config.update(**change)
        theirs.save_pretrained(tmp_path)
        with pytest.raises(ValueError, match=message):
            greedy_settings(tmp_path)


def test_configs_that_are_not_built_are_refused(tmp_path: Path) -> None:
    config = CONFIGS["marian"][1].to_dict()
    for change, message in (
        ({"normalize_before": True}, "normalize_before=True"),
        ({"activation_function": "mish"}, "mish"),
        ({"encoder_layerdrop": 0.1}, "encoder_layerdrop"),
        ({"model_type": "blenderbot"}, "'blenderbot'; supported: .* marian, fsmt"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**config, **change})
    with pytest.raises(ValueError, match="tie_word_embeddings"):
        from_config({**CONFIGS["fsmt"][1].to_dict(), "tie_word_embeddings": True})


def test_published_sizes() -> None:
    side = {"layers": 6, "attention_heads": 8, "ffn_dim": 2048}
    sides = {f"{name}_{k}": n for name in ("encoder", "decoder") for k, n in side.items()}
    with torch.device("meta"):
        theirs = MarianMTModel(MarianConfig(vocab_size=58_101, d_model=512, **sides))
        pairs = [(marian.marian(), theirs), (fsmt.fsmt(), FSMTForConditionalGeneration(FSMT_BASE))]
    for ours, theirs in pairs:
        names = [n for n, _ in theirs.named_parameters() if "embed_positions" not in n]
        wanted = sum(theirs.get_parameter(name).numel() for name in names)
        bias = getattr(theirs, "final_logits_bias", torch.empty(0)).numel()
        assert sum(p.numel() for p in ours.parameters()) == wanted + bias
    for tiny in (marian.marian(marian.TINY), fsmt.fsmt(fsmt.TINY)):
        assert tiny(SRC, TGT, MASK).shape[:2] == TGT.shape


def test_positions_that_were_trained_are_refused(tmp_path: Path) -> None:
    theirs = FSMTForConditionalGeneration(CONFIGS["fsmt"][1])
    theirs.save_pretrained(tmp_path)
    load(tmp_path)
    with torch.no_grad():
        theirs.model.decoder.embed_positions.weight[7, 3] += 0.01
    theirs.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"decoder\.embed_positions"):
        load(tmp_path)


def shifted(kind: type[SinusoidalPosition]) -> Callable[..., Tensor]:
    table = kind.table
    return lambda self, positions: table(self, positions + 1)


MUTATIONS: dict[str, tuple[Callable[[], None], str, object]] = {
    "positions from 1": (
        torch_transformer,
        "deepdive.positions.SinusoidalPosition.table",
        shifted(SinusoidalPosition),
    ),
    "unscaled embeddings": (
        torch_transformer,
        "deepdive.core.embeddings.TokenEmbedding.forward",
        lambda self, x: self.weight[x],
    ),
    "GPT-2's epsilon": (
        gpt2,
        "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6),
    ),
    "GPT-2's GELU": (gpt2, "deepdive.models.transformer.decoder_only.gelu_tanh", gelu),
    "GPT-2's positions": (
        gpt2,
        "deepdive.positions.LearnedPosition.embed",
        lambda self, x, positions: x + self.table((positions + 1) % self.max_length),
    ),
    "Marian's positions": (
        marian_agrees,
        "deepdive.positions.BlockedSinusoidalPosition.table",
        shifted(BlockedSinusoidalPosition),
    ),
    "Marian's activation": (
        marian_agrees,
        "deepdive.published.form.ACTIVATIONS",
        dict.fromkeys(("swish", "relu", "gelu"), gelu),
    ),
    "Marian's bias": (
        marian_agrees,
        "deepdive.core.embeddings.TiedHead.forward",
        lambda self, x: x @ self.embedding.weight.T,
    ),
    "FSMT's positions": (
        fsmt_agrees,
        "deepdive.positions.BlockedSinusoidalPosition.table",
        shifted(BlockedSinusoidalPosition),
    ),
    "FSMT's waves": (
        fsmt_agrees,
        "deepdive.models.transformer.fsmt.BlockedSinusoidalPosition",
        lambda d_model, steps, offset: BlockedSinusoidalPosition(d_model, offset=offset),
    ),
    "FSMT's epsilon": (
        fsmt_agrees,
        "deepdive.core.LayerNorm.forward",
        lambda self, x: F.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-6),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        proof()

"""Cases of BART's family: `deepdive.models.generative.bart` and what differs from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from deepdive.core import PostNorm, PreNorm, gelu, relu
from deepdive.core.embeddings import GivenBiasHead, TiedHead, TokenEmbedding
from deepdive.models.efficient import led
from deepdive.models.generative import bart, mbart, pegasus, plbart
from deepdive.models.generative.bart import NormedPosition
from deepdive.models.transformer.transformer import transformer
from deepdive.models.transformer.translator import Translator
from deepdive.positions import LearnedPosition, SinusoidalPosition
from laws import ALONE, ANY_ROWS, OF_PLACES, Case, Pair, case, random_rows
from laws.models.seq2seq.seq2seq import pair_case
from laws.models.transformer.transformer import ORDER, SOURCE

ALIKE = {"n_decoder_layers": 2, "d_decoder_ff": 64, "scale": None}  # the sides of the first one


def of_family(
    make: Callable[..., Translator],
    parity: str,
    limits: dict[str, Pair],
    too_long: bool = True,
) -> Case:
    """Return the case of a model that reads one text and writes another."""
    long = torch.full((3, 65), 4)
    table = {"a text longer than the table": lambda: make()(long, SOURCE)} if too_long else {}
    refusals = {"a config of another kind": lambda: make(32), **table}
    return pair_case(make, parity, limits, SOURCE, refusals=refusals, laws=ORDER)


def given(ours: Any, its_parent: Any) -> tuple[Tensor, Tensor]:
    """Return what both say, the parent with our weights."""
    its_parent.load_state_dict(ours.state_dict(), strict=False)
    models, target = [model.double().eval() for model in (ours, its_parent)], SOURCE.flip(1)
    first, second = (model(SOURCE, target) for model in models)
    return first, second


def sinusoidal(_config: Any) -> SinusoidalPosition:
    return SinusoidalPosition(32)


def first_transformer(**changes: Any) -> Any:
    return transformer(32, d_model=32, n_heads=4, n_layers=2, d_ff=64, dropout=0.0, **changes)


@case("bart", Translator)
def _() -> Case:
    def its_parent() -> tuple[Tensor, Tensor]:
        ours = bart.bart(bart.TINY, **ALIKE, position=sinusoidal)
        return given(ours, first_transformer(activation=gelu))

    def make(config: Any = bart.TINY) -> Translator:
        return bart.bart(config)

    limits: dict[str, Pair] = {"waves and no norm of what is embedded: a Transformer": its_parent}
    return of_family(make, "transformers BartForConditionalGeneration", limits)


@case("plbart", Translator)
def _() -> Case:
    def unscaled() -> tuple[Tensor, Tensor]:
        return given(plbart.plbart(plbart.TINY, scale=1.0), bart.bart(bart.TINY))

    def make(config: Any = plbart.TINY) -> Translator:
        return plbart.plbart(config)

    limits: dict[str, Pair] = {"embeddings that are not scaled: BART": unscaled}
    return of_family(make, "transformers PLBartForConditionalGeneration", limits)


@case("mbart", Translator)
def _() -> Case:
    def norms_behind() -> tuple[Tensor, Tensor]:
        ours = mbart.mbart(mbart.TINY, scale=1.0, residual=PostNorm)
        return given(ours, bart.bart(bart.TINY))

    def make(config: Any = mbart.TINY) -> Translator:
        return mbart.mbart(config)

    limits: dict[str, Pair] = {"norms behind the sums, nothing scaled: BART": norms_behind}
    return of_family(make, "transformers MBartForConditionalGeneration", limits)


@case("pegasus", Translator)
def _() -> Case:
    def waves_in_pairs() -> tuple[Tensor, Tensor]:
        ours = pegasus.pegasus(pegasus.TINY, **ALIKE, position=sinusoidal)
        return given(ours, first_transformer(activation=relu, residual=PreNorm))

    def make(config: Any = pegasus.TINY) -> Translator:
        return pegasus.pegasus(config)

    limits: dict[str, Pair] = {"waves in pairs: a Transformer with norms inside": waves_in_pairs}
    parity = "transformers PegasusForConditionalGeneration"
    return of_family(make, parity, limits, too_long=False)


@case("led", Translator)
def _() -> Case:
    def a_wide_window() -> tuple[Tensor, Tensor]:
        """Every token in every window, none of them global; BART's places count from 2."""
        ours, parent = led.led(led.TINY, window=8, n_global=0), bart.bart(bart.TINY)
        state = ours.state_dict()
        for half in ("encoder", "decoder"):
            places = state.pop(f"{half}.position.position.table.weight")
            table = parent.state_dict()[f"{half}.position.position.table.weight"]
            table[2 : 2 + len(places)] = places[:64]
        parent.load_state_dict(state, strict=False)
        target = SOURCE.flip(1)
        return ours.double()(SOURCE, target), parent.double()(SOURCE, target)

    def make(config: Any = led.TINY) -> Translator:
        return led.led(config)

    limits: dict[str, Pair] = {"a window as wide as the text, no token global: BART": a_wide_window}
    return of_family(make, "transformers LEDForConditionalGeneration", limits)


@case("bart/NormedPosition", NormedPosition)
def _() -> Case:
    def make() -> NormedPosition:
        return NormedPosition(LearnedPosition(8, 16), 16)

    def a_norm_behind() -> tuple[Tensor, Tensor]:
        x, places, ours = random_rows(2, 5, 16), torch.arange(5), make().double()
        rows = ours.position.embed(x, places)
        away, spread = rows - rows.mean(-1, keepdim=True), rows.var(-1, keepdim=True, correction=0)
        return ours.embed(x, places), away / (spread + 1e-5).sqrt()

    x, places = torch.zeros(1, 9, 16), torch.arange(9)
    return Case(
        place="position",
        make=make,
        parity="transformers BartForConditionalGeneration",
        limits={"rows of mean 0 and variance 1": a_norm_behind},
        refusals={"beyond the table": lambda: make().embed(x, places)},
        laws=OF_PLACES["position"],
    )


@case("GivenBiasHead", GivenBiasHead)
def _() -> Case:
    def no_bias() -> tuple[Tensor, Tensor]:
        embedding, rows = TokenEmbedding(8, 16).double(), random_rows(2, 3, 16)
        return GivenBiasHead(embedding).double()(rows), TiedHead(embedding)(rows)

    return Case(
        make=lambda: GivenBiasHead(TokenEmbedding(20, 16)),
        parity="transformers BartForConditionalGeneration",
        limits={"a bias of 0: TiedHead": no_bias},
        laws={**ALONE, "refusal": ANY_ROWS},
    )

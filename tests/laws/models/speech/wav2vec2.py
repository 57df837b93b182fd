"""Cases of wav2vec 2.0, of its parts, of HuBERT and of data2vec's reader of sound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from deepdive.core import PreNorm
from deepdive.layers.quantizer import Quantizer
from deepdive.layers.speech_frontend import (
    ChannelNorm,
    ConvPositionalEmbedding,
    FeatureEncoder,
    layer_norms,
)
from deepdive.models.speech import data2vec_audio, hubert, wav2vec2
from deepdive.models.speech.data2vec_audio import StackedPositionalConv
from deepdive.models.speech.embeddings import SoundEmbeddings
from deepdive.models.speech.hubert import HubertForPreTraining
from deepdive.models.speech.wav2vec2 import Wav2Vec2
from deepdive.models.speech.wav2vec2_config import SoundConfig
from deepdive.models.speech.wav2vec2_pretraining import Wav2Vec2ForPreTraining
from deepdive.training.objectives import layer_states
from laws import (
    ANY_ROWS,
    TWO_SIDED,
    Case,
    Fails,
    NotApplicable,
    Pair,
    case,
    padding_of,
    random_rows,
)

ORACLE = "transformers Wav2Vec2Model"
PLACED = Fails("a convolution over neighbours tells places apart")
WHOLE_MEAN = Fails(
    "the first convolution's norm is over the whole recording, padding included: the base form's "
    "published files were trained so, and are read without a mask, each recording alone"
)
NO_PADDING = NotApplicable("padding is emptied before it comes here")
LARGE = wav2vec2.TINY.but(norms=layer_norms, residual=PreNorm, convolution_bias=True)


def gaps(rows: int, B: int) -> Tensor:
    return (torch.arange(rows) % 3 == 2).expand(B, -1)


def steps(mask: Any, each: int = 16) -> Tensor | None:
    """Which steps are real, of which rows are."""
    keys = padding_of(mask)
    return None if keys is None else keys.repeat_interleave(each, 1)


def run(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Rows (B, T, 16) as a waveform of which 16 steps make a row; every third row is hidden."""
    return module(x.flatten(1), steps(mask), gaps(x.shape[1], len(x)))


def small(config: SoundConfig = wav2vec2.TINY, **changes: Any) -> Wav2Vec2:
    return wav2vec2.wav2vec2(config, **changes).double().eval()


def no_layers() -> tuple[Tensor, Tensor]:
    model, sound = small(n_layers=0), random_rows(2, 96)
    return model(sound), model.embeddings(model.embeddings.heard(sound))


def bert_s_layers() -> tuple[Tensor, Tensor]:
    """No places told: the layers of BERT, over rows that convolutions made."""
    from deepdive.models.bert import bert

    model, sound = small(), random_rows(2, 96)
    for number in (model.embeddings.places.gain, model.embeddings.places.bias):
        number.data.zero_()
    plain = bert.bert(bert.TINY, d_model=32, n_heads=4, n_layers=2, d_ff=64, eps=1e-5).double()
    plain.eval().stack.load_state_dict(model.stack.state_dict())
    heard = model.embeddings.heard(sound)
    rows = model.embeddings.norm_placed(model.embeddings.project(heard))
    return model(sound), plain.stack(rows)


def nothing_hidden() -> tuple[Tensor, Tensor]:
    model, sound = small(), random_rows(2, 96)
    return model(sound, None, torch.zeros(2, 6, dtype=torch.bool)), model(sound)


LIMITS: dict[str, Pair] = {
    "no layers: what enters them": no_layers,
    "no places told: BERT's layers": bert_s_layers,
    "no gap": nothing_hidden,
}
REFUSALS: dict[str, Callable[[], object]] = {
    "a sound shorter than a row": lambda: small()(random_rows(2, 15)),
    "two channels": lambda: small()(random_rows(2, 96, 2)),
    "gaps of another length": lambda: small()(random_rows(2, 96), None, gaps(5, 2)),
}
SPOKEN: dict[str, Any] = {"run": run, "d_model": 16, "refusals": REFUSALS}


@case("wav2vec2", Wav2Vec2)
def _() -> Case:
    return Case(
        make=lambda: wav2vec2.wav2vec2(wav2vec2.TINY),
        parity=ORACLE,
        limits=LIMITS,
        laws={**TWO_SIDED, "order": PLACED, "padding": WHOLE_MEAN},
        **SPOKEN,
    )


@case("wav2vec2/large form", Wav2Vec2)
def _() -> Case:
    def each_alone() -> tuple[Tensor, Tensor]:
        """A recording in a padded batch, and alone."""
        model, sound = small(LARGE), random_rows(1, 100)
        padded = torch.cat([sound[:, :70], random_rows(1, 30, seed=6)], 1)
        real = torch.arange(100)[None] < 70
        return model(padded, real)[:, :4], model(sound[:, :70])

    return Case(
        make=lambda: wav2vec2.wav2vec2(LARGE),
        parity=ORACLE,
        limits={"in a padded batch: as alone": each_alone},
        laws={**TWO_SIDED, "order": PLACED},
        **SPOKEN,
    )


@case("wav2vec2/SoundEmbeddings", SoundEmbeddings)
def _() -> Case:
    def make() -> SoundEmbeddings:
        return SoundEmbeddings(LARGE)

    def rows(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        sound = x.flatten(1)
        return module(module.heard(sound), padding_of(mask), gaps(x.shape[1], len(x)))

    def all_gaps() -> tuple[Tensor, Tensor]:
        module, sound = make().double(), random_rows(2, 96)
        hidden = torch.ones(2, 6, dtype=torch.bool)
        rows = module.mask.expand(2, 6, -1)
        return module(module.heard(sound), None, hidden), rows + module.places(rows)

    return Case(
        make=make,
        run=rows,
        d_model=16,
        parity=ORACLE,
        limits={"nothing but gaps: the mask's row, and places": all_gaps},
        refusals={"gaps of another length": lambda: make()(random_rows(2, 6, 8).float(), None,
                                                          gaps(5, 2))},
        laws={**TWO_SIDED, "order": PLACED, "hooks": NotApplicable("no attention")},
    )  # fmt: skip


@case("wav2vec2/Convolutions", FeatureEncoder)
def _() -> Case:
    def make() -> FeatureEncoder:
        return FeatureEncoder(LARGE)

    def rows(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x.flatten(1))

    def one_matrix() -> tuple[Tensor, Tensor]:
        """A kernel as wide as its stride is a matrix on pieces."""
        config = LARGE.but(widths=(8,), kernels=(16,), strides=(16,))
        module, sound = FeatureEncoder(config).double(), random_rows(2, 96)
        kernel = module.convolutions[0]
        pieces = sound.view(2, 6, 16) @ kernel.weight[:, 0].T + kernel.bias
        normal = module.norms[0](pieces.transpose(1, 2)).transpose(1, 2)
        return module(sound), module.activation(normal)

    def thirteen_numbers() -> tuple[Tensor, Tensor]:
        """Cepstra of which all but one are zero: a waveform."""
        wide = FeatureEncoder(LARGE.but(channels=13)).double()
        narrow, sound = FeatureEncoder(LARGE).double(), random_rows(2, 96)
        state = wide.state_dict()
        state["convolutions.0.weight"] = state["convolutions.0.weight"][:, :1]
        narrow.load_state_dict(state)
        cepstra = torch.cat([sound[..., None], torch.zeros(2, 96, 12, dtype=torch.float64)], -1)
        return wide(cepstra), narrow(sound)

    return Case(
        make=make,
        run=rows,
        d_model=16,
        parity=ORACLE,
        limits={
            "a kernel as wide as its stride: a matrix": one_matrix,
            "cepstra that are zero but for one: a waveform": thirteen_numbers,
        },
        refusals={"a sound shorter than a row": lambda: make()(torch.zeros(2, 15))},
        laws={
            "no_leak": NotApplicable("nothing is read but the row's own steps"),
            "cache": NotApplicable("a sound comes whole"),
            "padding": NO_PADDING,
            "hooks": NotApplicable("no attention"),
        },
    )


@case("wav2vec2/ChannelNorm", ChannelNorm)
def _() -> Case:
    def rows(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x.transpose(1, 2)).transpose(1, 2)

    def turned() -> tuple[Tensor, Tensor]:
        module, x = ChannelNorm(16).double(), random_rows(2, 5, 16)
        return module(x.transpose(1, 2)), torch.nn.LayerNorm(16).double()(x).transpose(1, 2)

    return Case(
        make=lambda: ChannelNorm(16),
        run=rows,
        parity=ORACLE,
        limits={"turned: a layer norm": turned},
        laws={
            "no_leak": NotApplicable("each row is looked at by itself"),
            "cache": NotApplicable("each row is looked at by itself"),
            "padding": NO_PADDING,
            "hooks": NotApplicable("no attention"),
            "refusal": ANY_ROWS,
        },
    )


def of_places(make: Callable[[], Any], parity: str, limits: dict[str, Pair]) -> Case:
    return Case(
        make=make,
        run=lambda module, x, mask=None, state=None: module(x),
        d_model=32,
        parity=parity,
        limits=limits,
        laws={
            **TWO_SIDED,
            "order": PLACED,
            "padding": NO_PADDING,
            "hooks": NotApplicable("no attention"),
            "refusal": ANY_ROWS,
        },
    )


@case("wav2vec2/ConvolvedPlaces", ConvPositionalEmbedding)
def _() -> Case:
    def a_longer_direction() -> tuple[Tensor, Tensor]:
        """What is learned of a direction is where it points."""
        module, x = ConvPositionalEmbedding(wav2vec2.TINY).double(), random_rows(2, 6, 32)
        before = module(x)
        module.direction.data *= torch.arange(1.0, 5, dtype=torch.float64)
        return module(x), before

    limits: dict[str, Pair] = {"a direction twice as long: the same": a_longer_direction}
    return of_places(lambda: ConvPositionalEmbedding(wav2vec2.TINY), ORACLE, limits)


@case("data2vec_audio/StackedPlaces", StackedPositionalConv)
def _() -> Case:
    def none_at_all() -> tuple[Tensor, Tensor]:
        module, x = StackedPositionalConv(data2vec_audio.TINY).double(), random_rows(2, 6, 32)
        module.convolutions = torch.nn.ModuleList()
        return module(x), x

    return of_places(
        lambda: StackedPositionalConv(data2vec_audio.TINY),
        "transformers Data2VecAudioModel",
        {"no convolution: the rows": none_at_all},
    )


@case("data2vec_audio", Wav2Vec2)
def _() -> Case:
    def parent_s_places() -> tuple[Tensor, Tensor]:
        """With the parent's way to tell places: the parent, with a norm in each convolution."""
        own = small(data2vec_audio.TINY, places=ConvPositionalEmbedding, place_width=4)
        other, sound = small(norms=layer_norms), random_rows(2, 96)
        other.load_state_dict(own.state_dict())
        return own(sound), other(sound)

    return Case(
        make=lambda: data2vec_audio.data2vec_audio(data2vec_audio.TINY),
        parity="transformers Data2VecAudioModel",
        limits={"the parent's places: the parent": parent_s_places},
        laws={**TWO_SIDED, "order": PLACED},
        **SPOKEN,
    )


@case("wav2vec2/Quantizer", Quantizer)
def _() -> Case:
    def make() -> Quantizer:
        return Quantizer(16, 2, 5, 8)

    def codes(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        """Seeded, so that in training the noise is the same at each call."""
        torch.manual_seed(0)
        return module(x).codes

    def one_entry() -> tuple[Tensor, Tensor]:
        module = Quantizer(16, 2, 1, 8).double().eval()
        return module(random_rows(2, 3, 16)).codes, module.table.flatten().expand(2, 3, 8)

    def one_entry_in_training() -> tuple[Tensor, Tensor]:
        module = Quantizer(16, 1, 1, 8).double().train()
        return module(random_rows(2, 3, 16)).codes, module.table.flatten().expand(2, 3, 8)

    return Case(
        make=make,
        run=codes,
        parity="transformers Wav2Vec2ForPreTraining",
        limits={"one entry: that": one_entry, "one entry, with noise": one_entry_in_training},
        refusals={"codebooks that do not divide": lambda: Quantizer(16, 3, 5, 8)},
        laws={
            "no_leak": NotApplicable("each row is looked at by itself"),
            "cache": NotApplicable("each row is looked at by itself"),
            "padding": NO_PADDING,
            "hooks": NotApplicable("no attention"),
            "dtype": NotApplicable("rounding may choose another entry"),
        },
    )


@case("wav2vec2/CodeFinder", Wav2Vec2ForPreTraining)
def _() -> Case:
    def make() -> Wav2Vec2ForPreTraining:
        return Wav2Vec2ForPreTraining(wav2vec2.wav2vec2(LARGE))

    def both(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        torch.manual_seed(0)
        said, target, _ = module(x.flatten(1), gaps(x.shape[1], len(x)), steps(mask))
        return said + target

    def no_gaps() -> tuple[Tensor, Tensor]:
        model, sound = make().double().eval(), random_rows(2, 96)
        return model(sound).said, model.say(model.encoder(sound))

    return Case(
        make=make,
        run=both,
        d_model=16,
        parity="transformers Wav2Vec2ForPreTraining",
        limits={"no gaps: what the states say": no_gaps},
        refusals={"gaps of another length": lambda: make()(torch.zeros(2, 96), gaps(5, 2))},
        laws={
            **TWO_SIDED,
            "order": PLACED,
            "dtype": NotApplicable("rounding may choose another entry"),
        },
    )


@case("hubert", HubertForPreTraining)
def _() -> Case:
    def make() -> HubertForPreTraining:
        return HubertForPreTraining(hubert.hubert(LARGE.but(family="hubert")), 5)

    def scores(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x.flatten(1), gaps(x.shape[1], len(x)), steps(mask))

    def last_layer() -> tuple[Tensor, Tensor]:
        """The parent's states: behind the last layer of the base form, what the model returns."""
        model, sound = small(hubert.TINY), random_rows(2, 96)
        parent = small()
        parent.load_state_dict(model.state_dict())
        return layer_states(model, 2, sound), parent(sound)

    def lengths_do_not_matter() -> tuple[Tensor, Tensor]:
        model, sound = make().double().eval(), random_rows(2, 96)
        before = model(sound)
        model.units.data *= 3
        return model(sound), before

    return Case(
        make=make,
        run=scores,
        d_model=16,
        parity="transformers HubertModel, HubertForCTC; scores and loss against sums written out",
        limits={
            "states behind the last layer: the parent's": last_layer,
            "units three times as long: the same scores": lengths_do_not_matter,
        },
        refusals={
            "no units": lambda: HubertForPreTraining(hubert.hubert(hubert.TINY), 0),
            "a layer that is not there": lambda: layer_states(small(), 3, random_rows(2, 96)),
        },
        laws={**TWO_SIDED, "order": PLACED},
    )

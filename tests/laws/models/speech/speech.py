"""Cases of the models that listen: Speech2Text, Speech2Text2, Whisper, and the Conformer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import PreNorm
from deepdive.core.masks import Padding
from deepdive.layers.convolution import GatedConvolution
from deepdive.layers.subsample import Subsample, Window
from deepdive.models.speech import conformer, speech2text, speech2text2, wav2vec2, whisper
from deepdive.models.speech.conformer import ConformerBlock, HalfStep
from deepdive.models.speech.speech2text import Speech2Text
from deepdive.models.speech.speech_encoder import Projection, SpeechEncoder
from deepdive.models.transformer.transformer import transformer
from deepdive.positions import BlockedSinusoidalPosition
from laws import (
    ALONE,
    ANY_ROWS,
    ORDERED,
    TWO_SIDED,
    Case,
    Fails,
    NotApplicable,
    Pair,
    Refuses,
    case,
    padding_of,
    random_rows,
    set_weights,
)

FRAMES = random_rows(3, 24, 8)
TOKENS = torch.tensor([[5, 9, 7, 4], [8, 6, 11, 10], [7, 7, 5, 9]])
ORDER = {"order": Fails("positions and the causal mask tell the tokens apart")}
S2T = "transformers Speech2TextForConditionalGeneration"


class States(nn.Module):
    """An encoder whose states are given."""

    def forward(self, rows: Tensor, mask: Tensor | None = None) -> Tensor:
        return rows

    def real(self, mask: Tensor | None) -> Tensor | None:
        return mask


class Rows(nn.Module):
    """A front end that takes rows as they are."""

    def forward(self, rows: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        return rows, mask


def like(model: nn.Module, rows: Tensor) -> Tensor:
    return rows.to(next(model.parameters()))


def written(
    make: Callable[[], Any],
    parity: str,
    limits: dict[str, Pair],
    source: Tensor = FRAMES,
    **refusals: Callable[[], object],
) -> Case:
    """Return the case of a model from frames, the same in all cases, and the text so far to the
    next token.
    """

    def run(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        if state is not None:
            return model.step(x, state)
        return model(like(model, source[: x.shape[0]]), x, None, padding_of(mask))

    heard = source.float()
    return Case(
        make=make,
        run=run,
        begin=lambda model: model.begin(like(model, source[:2])),
        vocab=32,
        parity=parity,
        limits=limits,
        refusals={
            "two batches": lambda: make()(heard, TOKENS[:2]),
            "a mask of another shape": lambda: make()(heard, TOKENS, torch.ones(3, 5).bool()),
            "an unknown token": lambda: make()(heard, TOKENS + 40),
            **refusals,
        },
        laws=ORDER,
    )


def no_frames(make: Callable[[], Any]) -> dict[str, Callable[[], object]]:
    """What is refused in the place of frames."""
    frames = FRAMES.float()
    return {
        "tokens in the place of frames": lambda: make()(TOKENS, TOKENS),
        "frames of another width": lambda: make()(frames[..., :5], TOKENS),
        "no frames": lambda: make()(frames[:, :0], TOKENS),
        "silence as minus infinity": lambda: make()(frames.log(), TOKENS),
    }


@case("speech2text", Speech2Text)
def _() -> Case:
    def its_parent() -> tuple[Tensor, Tensor]:
        """Rows that come as they are, with no frame less: a Transformer that reads embeddings."""
        ours = speech2text.speech2text(speech2text.TINY, front=lambda config: Rows()).double()
        waves = partial(BlockedSinusoidalPosition, steps=15, offset=2)
        parent: Any = transformer(
            32, d_model=32, n_heads=4, n_layers=2, d_ff=64, dropout=0.0, position=waves,
            residual=PreNorm,
        ).double()  # fmt: skip
        parent.encoder.stack.load_state_dict(ours.encoder.stack.state_dict())
        parent.decoder.embedding.load_state_dict(ours.decoder.embedding.state_dict())
        blocks = parent.decoder.stack
        blocks.blocks = blocks.blocks[:1]
        blocks.blocks[0].ff = type(blocks.blocks[0].ff)(32, 48).double()
        blocks.load_state_dict(ours.decoder.stack.state_dict())
        rows = parent.encoder.embedding.weight[TOKENS]
        return ours(rows, TOKENS), parent(TOKENS, TOKENS)

    def make() -> Speech2Text:
        return speech2text.speech2text(speech2text.TINY)

    limits: dict[str, Pair] = {"no front end: a Transformer with norms inside": its_parent}
    return written(make, S2T, limits, **no_frames(make))


@case("speech2text2", Speech2Text)
def _() -> Case:
    sound = random_rows(3, 400)

    def make() -> Speech2Text:
        encoder = wav2vec2.wav2vec2(wav2vec2.TINY, d_model=16)
        return speech2text2.speech2text2(encoder, 16, speech2text2.TINY)

    def its_parts() -> tuple[Tensor, Tensor]:
        model: Any = make().double().eval()
        states = model.encoder.narrow(model.encoder.encoder(sound))
        return model(sound, TOKENS), model.head(model.decoder(TOKENS, states))

    found = written(
        make,
        "transformers 4.57.6 Speech2Text2ForCausalLM, kept",
        {"wav2vec 2.0, narrow, decoder, head": its_parts},
        sound,
    )
    gumbel = {"embeddings.mask": "nothing is hidden"}
    return replace(found, silent=gumbel)


@case("whisper", Speech2Text)
def _() -> Case:
    def its_parent() -> tuple[Tensor, Tensor]:
        """With its parent's parts in their places, its parent."""
        tiny = whisper.TINY
        parent = speech2text.speech2text(speech2text.TINY, d_ff=128, d_decoder_ff=128).double()
        parts = ("front", "position", "decoder_position", "attention", "activation", "scale")
        theirs: dict[str, Any] = {
            n: getattr(speech2text.TINY, n) for n in (*parts, "kernels", "width")
        }
        ours = whisper.whisper(tiny, **theirs).double()
        ours.load_state_dict(parent.state_dict())
        return ours(FRAMES, TOKENS), parent(FRAMES, TOKENS)

    def make() -> Speech2Text:
        return whisper.whisper(whisper.TINY)

    frames = FRAMES.float()
    return written(
        make,
        "transformers WhisperForConditionalGeneration",
        {"its parent's parts: its parent": its_parent},
        **no_frames(make),
        **{
            "a shorter window": lambda: make()(frames[:, :20], TOKENS),
            "a mask": lambda: make()(frames, TOKENS, torch.ones(3, 24).bool()),
            "more tokens than the table": lambda: make()(frames[:1], torch.full((1, 17), 5)),
        },
    )


def heard(module: nn.Module, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Call what makes rows fewer, and give each row once for every frame that it stands for."""
    rows = module(x, padding_of(mask))[0]
    return rows.repeat_interleave(-(-x.shape[1] // rows.shape[1]), 1)[:, : x.shape[1]]


LISTENING = {**TWO_SIDED, "order": ORDERED}


@case("speech2text/SpeechEncoder", SpeechEncoder)
def _() -> Case:
    def make() -> SpeechEncoder:
        return speech2text.speech2text(speech2text.TINY).encoder

    def no_layers() -> tuple[Tensor, Tensor]:
        encoder: Any = speech2text.speech2text(speech2text.TINY, n_layers=0).encoder.double()
        rows = 32**0.5 * encoder.front(FRAMES)[0]
        placed = encoder.position.embed(rows, torch.arange(6))
        return encoder(FRAMES)[0], F.layer_norm(placed, (32,))

    return Case(
        make=make,
        run=heard,
        d_model=8,
        parity=S2T,
        limits={"no layers: scaled rows with positions": no_layers},
        refusals={"a float mask": lambda: make()(FRAMES.float(), torch.ones(3, 24))},
        laws=LISTENING,
    )


@case("speech2text2/Narrowed", Projection)
def _() -> Case:
    def an_identity() -> tuple[Tensor, Tensor]:
        module, rows = Projection(States(), 8, 8), random_rows(2, 6, 8)
        return module(rows)[0], rows

    def run(module: Projection, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        return module(x, padding_of(mask))[0]

    return Case(
        make=lambda: Projection(States(), 8, 16),
        run=run,
        d_model=8,
        parity="torch.nn.Linear",
        limits={"the same width: the encoder's states": an_identity},
        laws={**ALONE, "no_leak": ALONE["cache"], "refusal": ANY_ROWS},
    )


@case("speech2text/Subsample", Subsample)
def _() -> Case:
    def open_gates() -> tuple[Tensor, Tensor]:
        """Gates that always pass: a convolution of stride 2."""
        front = Subsample(8, 16, 12, (3,))
        gate = {"convs__0__bias": torch.tensor([0.0, 60.0]).repeat_interleave(16)}
        set_weights(front, **gate)
        front.convs[0].weight.data[16:] = 0.0
        kernel = front.convs[0].weight[:16]
        return front(FRAMES)[0], F.conv1d(FRAMES.mT, kernel, stride=2, padding=1).mT

    def no_padding() -> tuple[Tensor, Tensor]:
        front = Subsample(8, 16, 12, (5, 3)).double()
        return front(FRAMES, torch.ones(3, 24).bool())[0], front(FRAMES)[0]

    return Case(
        make=lambda: Subsample(8, 16, 12, (5, 3)),
        run=heard,
        d_model=8,
        parity=S2T,
        limits={"open gates: a convolution": open_gates, "all frames real: no mask": no_padding},
        refusals={
            "an even kernel": lambda: Subsample(8, 16, 12, (4, 4)),
            "an odd width": lambda: Subsample(8, 16, 11, (5, 5)),
            "an inverted mask": lambda: Subsample(8, 16, 12, (5,))(
                FRAMES.float(), torch.zeros(3, 24).bool()
            ),
        },
        laws={**LISTENING, "hooks": NotApplicable("no attention")},
    )


@case("whisper/Window", Window)
def _() -> Case:
    def silence() -> tuple[Tensor, Tensor]:
        """Without a bias, nothing is heard in silence."""
        front = Window(8, 16, 24, F.gelu)
        set_weights(front, convs__0__bias=0.0, convs__1__bias=0.0)
        return front(0.0 * FRAMES)[0], torch.zeros(3, 12, 16).double()

    def run(module: Window, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        module.length = x.shape[1]
        return module(x)[0].repeat_interleave(2, 1)[:, : x.shape[1]]

    return Case(
        make=lambda: Window(8, 16, 24, F.gelu),
        run=run,
        d_model=8,
        parity="transformers WhisperForConditionalGeneration",
        limits={"silence: nothing": silence},
        refusals={
            "another length": lambda: Window(8, 16, 24, F.gelu)(FRAMES[:, :20].float()),
            "a mask": lambda: Window(8, 16, 24, F.gelu)(FRAMES.float(), torch.ones(3, 24).bool()),
        },
        laws={
            **LISTENING,
            "padding": NotApplicable("a window has none: it is filled with silence, and a mask "
                                     "is refused"),
            "hooks": NotApplicable("no attention"),
        },
    )  # fmt: skip


CONFORMER = "transformers Wav2Vec2ConformerEncoderLayer, ParakeetEncoderBlock"


@case("conformer", SpeechEncoder)
def _() -> Case:
    def make() -> SpeechEncoder:
        return conformer.conformer(conformer.TINY)

    def no_layers() -> tuple[Tensor, Tensor]:
        encoder: Any = conformer.conformer(conformer.TINY, n_layers=0).double()
        return encoder(FRAMES)[0], encoder.front(FRAMES)[0]

    def in_speech2text() -> tuple[Tensor, Tensor]:
        model: Any = speech2text.speech2text(conformer.TINY).double().eval()
        states = model.decoder(TOKENS, model.encoder(FRAMES)[0])
        return model(FRAMES, TOKENS), model.head(states)

    return Case(
        make=make,
        run=heard,
        d_model=8,
        parity=CONFORMER,
        limits={
            "no layers: the front end": no_layers,
            "a decoder behind it: Speech2Text": in_speech2text,
        },
        refusals={"a float mask": lambda: make()(FRAMES.float(), torch.ones(3, 24))},
        laws=LISTENING,
    )


@case("conformer/ConformerBlock", ConformerBlock)
def _() -> Case:
    config = conformer.TINY.but(d_model=16, d_ff=24)

    def silent(block: ConformerBlock, *names: str) -> ConformerBlock:
        parameters = dict(block.named_parameters())
        for name in names:
            parameters[name].data.zero_()
        return block

    def a_block() -> tuple[Tensor, Tensor]:
        """Without convolution, first feed-forward, and places: a layer of its parent, normed."""
        ours = silent(
            ConformerBlock(config).double().eval(),
            "ff.out.weight", "conv.out.weight", "attn.position.W.weight", "attn.position.u",
        )  # fmt: skip
        x = random_rows(2, 5, 16)
        own = ours.attn
        own.position = None
        parent = speech2text.block(config.but(activation=F.silu), 4, 24).double()
        parent.attn.load_state_dict(own.state_dict(), strict=False)
        parent.ff.load_state_dict(ours.ff_2.state_dict())
        parent.ff.out.weight.data /= 2
        return ours(x), F.layer_norm(parent(x), (16,))

    return Case(
        place="layer",
        make=lambda: ConformerBlock(config),
        parity=CONFORMER,
        limits={"no convolution, no places, half a feed-forward: a block": a_block},
        refusals={
            "a causal mask": lambda: ConformerBlock(config)(
                random_rows(2, 5, 16).float(), mask=torch.ones(5, 5).tril().bool()
            ),
            "a memory": lambda: ConformerBlock(config)(
                random_rows(2, 5, 16).float(), random_rows(2, 5, 16).float()
            ),
        },
        laws={
            "no_leak": Refuses("its convolution reads later rows"),
            "cache": Refuses("its convolution reads later rows"),
            "order": ORDERED,
        },
    )


@case("conformer/GatedConvolution", GatedConvolution)
def _() -> Case:
    def each_alone() -> tuple[Tensor, Tensor]:
        """A kernel of one row, open gates: the same at each row, whatever stands beside it."""
        module = GatedConvolution(16, 1).double().eval()
        x = random_rows(2, 5, 16)
        return module(x)[:, 2:3], module(x[:, 2:3])

    def run(module: GatedConvolution, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
        keys = padding_of(mask)
        return module(x, mask=None if keys is None else Padding(keys))

    return Case(
        make=lambda: GatedConvolution(16, 3),
        run=run,
        parity=CONFORMER,
        limits={"a kernel of one: each row alone": each_alone},
        refusals={
            "an even kernel": lambda: GatedConvolution(16, 4),
            "a causal mask": lambda: GatedConvolution(16, 3)(
                random_rows(2, 5, 16).float(), mask=torch.ones(5, 5).tril().bool()
            ),
        },
        laws={**LISTENING, "hooks": NotApplicable("no attention")},
    )


@case("conformer/HalfStep", HalfStep)
def _() -> Case:
    def twice() -> tuple[Tensor, Tensor]:
        x, half, whole = random_rows(2, 5, 16), HalfStep(16).double(), PreNorm(16).double()
        return half(x, lambda rows: 2 * rows.tanh()), whole(x, torch.tanh)

    return Case(
        place="residual",
        make=lambda: HalfStep(16),
        parity=CONFORMER,
        limits={"a sublayer twice as large: a whole step": twice},
        laws={"refusal": NotApplicable("it joins what it is given")},
    )

"""Cases of TimeSformer, its parts and its schemes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core import Context, FeedForward, MultiHeadAttention
from deepdive.core.masks import Causal
from deepdive.layers import space_time
from deepdive.layers.patches import unpatchify
from deepdive.layers.space_time import Before, Folded, Masked, StepwiseBlock, meets
from deepdive.models.vision import timesformer, vit
from deepdive.models.vision.timesformer import SCHEMES
from deepdive.models.vision.video_embeddings import PerFrameEmbeddings, VideoEmbeddings
from deepdive.models.vision.vit import Vit
from laws import ORDERED, TWO_SIDED, Case, NotApplicable, Pair, case, random_rows

ORACLE = "transformers TimesformerModel"
WHOLE = NotApplicable("a film has no padding: all its patches are there")
SMALL = timesformer.TINY_SIZES | {"image_size": 4}  # frames of 2 x 2 patches
LAWS = {**TWO_SIDED, "padding": WHOLE, "order": ORDERED}
NO_MASK = {**LAWS, "no_leak": NotApplicable("a film comes whole: masks are refused")}


def film(frames: int = 3, b: int = 2) -> Tensor:
    return random_rows(b, frames, 1, 4, 4)


def filled(x: Tensor) -> Tensor:
    """Rows filled up to whole frames of four."""
    return F.pad(x, (0, 0, 0, -x.shape[1] % 4))


def run(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Rows of four numbers as the patches of a film; the states of the patches."""
    frames = filled(x).unflatten(1, (-1, 4)).flatten(0, 1)
    films = unpatchify(frames, 2, 4, 4).unflatten(0, (len(x), -1))
    return module(films)[:, 1 : 1 + x.shape[1]]


def run_rows(module: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Rows as patches in whole frames, the first row of all as the special one."""
    rows = torch.cat([x[:, :1], filled(x)], 1)
    return module(rows)[:, 1 : 1 + x.shape[1]]


def small(config: Any, **changes: Any) -> Vit:
    model = timesformer.timesformer(config.but(**SMALL), **changes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.double().eval()


def image(model: Vit, given: Vit) -> Vit:
    """A ViT with the weights that it shares with a reader of films."""
    state = {n: p for n, p in given.state_dict().items() if n in model.state_dict()}
    state |= {
        n: given.state_dict()[n.replace(".attn.", ".attn.attn.")]
        for n in model.state_dict().keys() - state.keys()
    }
    model.load_state_dict(state)
    return model.double().eval()


def one_frame(config: Any) -> tuple[Tensor, Tensor]:
    """A film of one frame, the row for its number 0 and the matrices behind the steps through time
    0: what ViT says.
    """
    model: Any = small(config)
    for name, parameter in model.named_parameters():
        if "times" in name or ".dense." in name:
            parameter.data.zero_()
    sizes = {n: v for n, v in SMALL.items() if n != "n_frames"}
    return model(film(1)), image(vit.vit(vit.BASE.but(**sizes, eps=1e-6)), model)(film(1)[:, 0])


@case("timesformer", Vit)
def _() -> Case:
    def no_difference() -> tuple[Tensor, Tensor]:
        """Frames that are alike, the rows for their numbers 0: time and its order say nothing."""
        model: Any = small(timesformer.DIVIDED)
        model.embeddings.times.data.zero_()
        still = film(1).expand(-1, 3, -1, -1, -1)
        return model(still)[:, :5], model(film(1))

    return Case(
        make=lambda: timesformer.timesformer(timesformer.DIVIDED.but(**SMALL)),
        run=run,
        d_model=4,
        parity=ORACLE,
        limits={
            "one frame, divided: ViT": lambda: one_frame(timesformer.DIVIDED),
            "one frame, joint: ViT": lambda: one_frame(timesformer.JOINT),
            "one frame, space only: ViT": lambda: one_frame(timesformer.SPACE_ONLY),
            "frames alike: one frame": no_difference,
        },
        refusals={
            "an image": lambda: small(timesformer.BASE)(film()[:, 0]),
            "frames of another size": lambda: small(timesformer.BASE)(random_rows(1, 2, 1, 8, 8)),
            "no record of films": lambda: timesformer.timesformer(vit.TINY),  # type: ignore[arg-type]
        },
        laws=LAWS,
    )


@case("timesformer/FilmEmbeddings", VideoEmbeddings)
def _() -> Case:
    config = timesformer.TINY.but(**SMALL)

    def no_times() -> tuple[Tensor, Tensor]:
        module = VideoEmbeddings(config).double()
        frames = [super(VideoEmbeddings, module).forward(each) for each in film().unbind(1)]
        return module(film()), torch.cat([frames[0], *(each[:, 1:] for each in frames[1:])], 1)

    return Case(
        make=lambda: VideoEmbeddings(config),
        run=run,
        d_model=4,
        parity=ORACLE,
        limits={"no times: the frames one after the other": no_times},
        refusals={"an image": lambda: VideoEmbeddings(config)(film()[:, 0].float())},
        silent={"special": "it stands before the patches, which alone are looked at"},
        laws={
            **NO_MASK,
            "no_leak": NotApplicable("nothing is read but the patch itself"),
            "hooks": NotApplicable("no attention"),
        },
    )


@case("timesformer/FrameByFrame", PerFrameEmbeddings)
def _() -> Case:
    def another_order() -> tuple[Tensor, Tensor]:
        """The state of the film is a mean: the order of the frames is nothing to it."""
        model = small(timesformer.SPACE_ONLY)
        return model(film().flip(1))[:, 0], model(film())[:, 0]

    return Case(
        make=lambda: timesformer.timesformer(timesformer.SPACE_ONLY.but(**SMALL)),
        run=run,
        d_model=4,
        parity=ORACLE,
        limits={
            "one frame: ViT": lambda: one_frame(timesformer.SPACE_ONLY),
            "the order of frames is lost": another_order,
        },
        refusals={"an image": lambda: small(timesformer.SPACE_ONLY)(film()[:, 0])},
        laws=LAWS,
    )


def attention() -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(16, 4).double()


@case("timesformer/Folded", Folded)
def _() -> Case:
    x = random_rows(2, 13, 16)

    def masked(rule: Any) -> Pair:
        return lambda: (
            Folded(attention(), rule, (2, 2))(x[:, 1:]),
            attention()(x[:, 1:], mask=meets(rule, 3, 2, 2)),
        )

    limits: dict[str, Pair] = {
        "one group: attention": lambda: (
            Folded(attention(), space_time.everything, (2, 2), 1)(x),
            attention()(x),
        )
    }
    for rule in (space_time.space, space_time.time, space_time.width, space_time.height):
        limits[f"{rule.__name__}: attention under a mask"] = masked(rule)
    return Case(
        make=lambda: Folded(MultiHeadAttention(16, 4), space_time.space, (2, 2), 1),
        run=run_rows,
        parity=ORACLE,
        limits=limits,
        refusals={
            "a mask": lambda: Folded(attention(), space_time.space, (2, 2))(x[:, 1:], Causal()),
            "no whole frames": lambda: Folded(attention(), space_time.space, (2, 2))(x),
        },
        laws=NO_MASK,
    )


@case("timesformer/Masked", Masked)
def _() -> Case:
    x = random_rows(2, 13, 16)
    return Case(
        make=lambda: Masked(MultiHeadAttention(16, 4), space_time.strided, (2, 2), 1),
        run=run_rows,
        parity="attention written out pair by pair, tests/models/vision/test_parity_timesformer.py",
        limits={
            "all pairs: attention": lambda: (
                Masked(attention(), lambda *sides: meets(space_time.everything, *sides), (2, 2), 1)(
                    x
                ),
                attention()(x),
            ),
            "a rule with groups: folded": lambda: (
                Masked(attention(), lambda *sides: meets(space_time.time, *sides), (2, 2))(
                    x[:, 1:]
                ),
                Folded(attention(), space_time.time, (2, 2))(x[:, 1:]),
            ),
        },
        refusals={
            "no whole frames": lambda: Masked(attention(), space_time.neighborhood, (2, 2))(x)
        },
        laws=NO_MASK,
    )


@case("timesformer/Before", Before)
def _() -> Case:
    def identity() -> tuple[Tensor, Tensor]:
        x = random_rows(2, 13, 16)
        module = Before(Folded(attention(), space_time.time, (2, 2)), 1).double()
        module.dense.weight.data = torch.eye(16).double()
        module.dense.bias.data.zero_()
        said = Folded(attention(), space_time.time, (2, 2))(x[:, 1:])
        return module(x), torch.cat([0 * x[:, :1], said], 1)

    def make() -> Before:
        return Before(Folded(MultiHeadAttention(16, 4), space_time.time, (2, 2)), 1)

    return Case(
        make=make,
        run=run_rows,
        parity=ORACLE,
        limits={"an identity behind it: the step alone": identity},
        refusals={"a mask": lambda: make()(random_rows(1, 5, 16).float(), mask=Causal())},
        laws=NO_MASK,
    )


@case("timesformer/StepwiseBlock", StepwiseBlock)
def _() -> Case:
    def make() -> StepwiseBlock:
        firsts = [Before(Folded(MultiHeadAttention(16, 4), space_time.time, (2, 2)), 1)]
        last = Folded(MultiHeadAttention(16, 4), space_time.space, (2, 2), 1)
        return StepwiseBlock(firsts, last, FeedForward(16, 32))

    def none_before() -> tuple[Tensor, Tensor]:
        torch.manual_seed(0)
        block = make().double()
        first: Any = block.firsts[0]
        first.dense.weight.data.zero_()
        first.dense.bias.data.zero_()
        x = random_rows(2, 13, 16)
        return block(x), super(StepwiseBlock, block).forward(x, Context())

    return Case(
        make=make,
        run=run_rows,
        parity=ORACLE,
        limits={"nothing from the first step: a block": none_before},
        refusals={"a mask": lambda: make()(random_rows(1, 5, 16).float(), mask=Causal())},
        laws=NO_MASK,
    )


@case("timesformer/other schemes", Vit)
def _() -> Case:
    def reached(scheme: str) -> Pair:
        """Two layers of local and global, one of axial attention: the last patch reads the first
        one."""

        def pair() -> tuple[Tensor, Tensor]:
            model, x = small(SCHEMES[scheme], n_layers=2), film()
            other = x.clone()
            other[:, 0, :, 0, 0] += 1
            moved = (model(other)[:, -1] - model(x)[:, -1]).abs().amax(1) > 1e-9
            return moved.double(), torch.ones(2).double()

        return pair

    return Case(
        make=lambda: timesformer.timesformer(timesformer.AXIAL.but(**SMALL)),
        run=run,
        d_model=4,
        parity="attention written out pair by pair, tests/models/vision/test_parity_timesformer.py",
        limits={f"{name}: all is read": reached(name) for name in ("axial", "sparse_local_global")},
        refusals={"an image": lambda: small(timesformer.AXIAL)(film()[:, 0])},
        laws=LAWS,
    )

"""TimeSformer against transformers in float64 in the three schemes that were released; the other
two against attention written out pair by pair.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, parity
from parity_vision import SETTINGS
from torch import Tensor
from transformers import TimesformerConfig, TimesformerModel

from deepdive.core import MultiHeadAttention
from deepdive.core.hooks import record
from deepdive.layers import space_time
from deepdive.layers.space_time import Before, Folded, Masked, StepwiseBlock, meets
from deepdive.models.vision import timesformer
from deepdive.models.vision.timesformer import RULES, SCHEMES
from deepdive.models.vision.video_embeddings import PerFrameEmbeddings, VideoEmbeddings
from deepdive.published import family, from_config, load, save

FRAMES, N = 3, 9
SIZES = {**SETTINGS, "num_frames": FRAMES}


def frame_by_frame(states: Tensor, frames: int = FRAMES) -> Tensor:
    """Their rows go place by place, ours frame by frame."""
    patches = states[:, 1:].unflatten(1, (-1, frames)).transpose(1, 2)
    return torch.cat([states[:, :1], patches.flatten(1, 2)], 1)


def by_scheme(scheme: str) -> None:
    theirs = reference(TimesformerModel, TimesformerConfig, attention_type=scheme, **SIZES)
    ours: Any = saved_and_loaded(theirs, load)
    film = rows(2, FRAMES, 3, 12, 12)
    expected = theirs(film).last_hidden_state
    if scheme == "space_only":  # they hand on the frames one by one
        each = expected.unflatten(0, (2, FRAMES))
        expected = torch.cat([each[:, :, :1].mean(1), each[:, :, 1:].flatten(1, 2)], 1)
    else:
        expected = frame_by_frame(expected)
    names = family("timesformer").table(config=ours.config)
    alike(ours, theirs, ours(film), expected, [names])
    if scheme == "joint_space_time":  # their other layers count with the number of the record
        longer = rows(2, 5, 3, 12, 12, seed=1)
        equal(ours(longer), frame_by_frame(theirs(longer).last_hidden_state, 5))


@parity("timesformer", StepwiseBlock, Folded, Before)
def divided_agrees() -> None:
    by_scheme("divided_space_time")


@parity(VideoEmbeddings)
def joint_agrees() -> None:
    by_scheme("joint_space_time")


@parity(PerFrameEmbeddings)
def space_only_agrees() -> None:
    by_scheme("space_only")


def pair_by_pair(attn: MultiHeadAttention, x: Tensor, pairs: Tensor) -> Tensor:
    """Attention with a sum for each one that asks, over those that it meets."""
    q, (k, v) = attn.queries(x), attn.keys_and_values(x)
    asked = []
    for t, met in enumerate(pairs):
        scores = (q[:, :, t : t + 1] * k[:, :, met]).sum(-1) / attn.d_head**0.5
        weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
        asked.append((weights[..., None] * v[:, :, met]).sum(2))
    return attn.output(torch.stack(asked, 2))


@parity("timesformer/other schemes", Masked)
def other_schemes_agree() -> None:
    """Each step of both schemes, the matrix and the special row included."""
    for scheme in ("sparse_local_global", "axial"):
        torch.manual_seed(0)
        small = SCHEMES[scheme].but(**timesformer.TINY_SIZES).but(n_layers=1)
        block: Any = timesformer.timesformer(small).double().stack.blocks[0]
        for parameter in block.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
        x = rows(2, 1 + 3 * 16, 32)
        *earlier, last = RULES[scheme]
        for first, rule in zip(block.firsts, earlier, strict=True):
            mixed = pair_by_pair(first.step.attn, x[:, 1:], by_hand(rule, 3, 4, 4))
            equal(first(x), torch.cat([torch.zeros(2, 1, 32), first.dense(mixed)], 1))
        pairs = F.pad(by_hand(last, 3, 4, 4), (1, 0, 1, 0), value=True)
        wanted = pair_by_pair(block.attn.attn, x, pairs)
        if scheme == "axial":  # a special row for each column, and the mean of what they say
            columns = [[0, *(1 + f * 16 + y * 4 + c for y in range(4))]
                       for f in range(3) for c in range(4)]  # fmt: skip
            whole = torch.ones(5, 5, dtype=torch.bool)
            said = [pair_by_pair(block.attn.attn, x[:, each], whole)[:, :1] for each in columns]
            wanted = torch.cat([torch.stack(said).mean(0), wanted[:, 1:]], 1)
        found = block.attn(x)
        equal(found, wanted)
        direction = rows(*found.shape, seed=2)
        inside = [*block.attn.parameters(), x]
        gradients = torch.autograd.grad((found * direction).sum(), inside)
        others = torch.autograd.grad((wanted * direction).sum(), inside)
        for one, other in zip(gradients, others, strict=True):
            equal(one, other)


def by_hand(rule: Any, frames: int, h: int, w: int) -> Tensor:
    """The paper's words, a pair at a time."""
    places = [(f, y, x) for f in range(frames) for y in range(h) for x in range(w)]
    said: dict[Any, Callable[[int, int, int, bool, bool, bool], bool]] = {
        space_time.everything: lambda f, y, x, *_: True,
        space_time.space: lambda f, y, x, *_: f == 0,
        space_time.time: lambda f, y, x, *_: y == x == 0,
        space_time.width: lambda f, y, x, *_: f == y == 0,
        space_time.height: lambda f, y, x, *_: f == x == 0,
        space_time.neighborhood: lambda f, y, x, *_: y in around(h) and x in around(w),
        space_time.strided: lambda f, y, x, *_: not (f % 2 or y % 2 or x % 2),
    }
    pairs = [[said[rule](b[0] - a[0], b[1] - a[1], b[2] - a[2]) for b in places] for a in places]
    return torch.tensor(pairs)


def around(side: int) -> range:
    """Half of a side, the patch itself included: 7 of 14 from -3, 2 of 4 from -1."""
    return range(-(side // 4), -(side // 4) + max(side // 2, 1))


@pytest.mark.parametrize("rule", sorted({r for each in RULES.values() for r in each},
                                        key=lambda rule: rule.__name__))  # fmt: skip
def test_who_meets_whom(rule: Any) -> None:
    for frames, h, w in ((3, 4, 4), (2, 2, 4), (1, 6, 10), (3, 2, 2)):
        assert torch.equal(meets(rule, frames, h, w), by_hand(rule, frames, h, w))


def test_a_fold_is_a_mask() -> None:
    """Each rule with groups, against one attention of all patches under a mask."""
    torch.manual_seed(0)
    attn = MultiHeadAttention(8, 2).double()
    x = rows(2, 3 * 8, 8)
    for rule in (space_time.space, space_time.time, space_time.width, space_time.height):
        equal(Folded(attn, rule, (2, 4))(x), attn(x, mask=meets(rule, 3, 2, 4)))


def test_published_sizes() -> None:
    """Bertasius et al. 2021, table 1: millions of parameters, with a head for the 174 actions of
    Something-Something.
    """
    millions = (85.9, 85.9, 121.4, 121.4, 156.8)
    for config, expected in zip(SCHEMES.values(), millions, strict=True):
        with torch.device("meta"):
            number = sum(p.numel() for p in timesformer.timesformer(config).parameters())
        assert abs((number + 769 * 174) / 1e6 - expected) < 0.06


def test_meetings_are_the_papers() -> None:
    """Bertasius et al. 2021, section 3: N F + 1 of joint attention; of divided attention N + F + 2,
    from which the released code leaves out the special row in the step through time.
    """
    frames, side = 8, 14
    patches = side * side
    for scheme, expected in (("joint_space_time", patches * frames + 1),
                             ("divided_space_time", patches + frames + 1)):  # fmt: skip
        met = sum(int(meets(rule, frames, side, side)[0].sum()) for rule in RULES[scheme])
        assert met + 1 == expected


def test_the_first_sight_of_time_changes_nothing() -> None:
    """Beyond the first layer the matrix behind the step through time begins at 0."""
    blocks: Any = timesformer.timesformer(timesformer.TINY).stack.blocks
    assert blocks[0].firsts[0].dense.weight.abs().max() > 0
    assert blocks[1].firsts[0].dense.weight.abs().max() == 0


def test_weights_can_be_read() -> None:
    model = timesformer.timesformer(timesformer.TINY)
    with record(model, "*.weights") as seen:
        model(torch.randn(2, 4, 1, 8, 8))
    blocks = {name.removesuffix(".mechanism.weights"): each[0] for name, each in seen.items()}
    assert blocks["stack.blocks.0.firsts.0.step.attn"].shape == (32, 4, 4, 4)
    assert blocks["stack.blocks.0.attn.attn"].shape == (8, 4, 17, 17)


def test_settings_that_are_not_built_are_refused(tmp_path: Any) -> None:
    good = TimesformerConfig(**SIZES).to_dict()
    for changes, message in (
        ({"qkv_bias": False}, "qkv_bias=False"),
        ({"attention_type": "axial"}, "attention_type='axial'; expected one of"),
        ({"drop_path_rate": 0.1}, "drop_path_rate=0.1"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})
    for scheme in ("axial", "sparse_local_global"):
        model = timesformer.timesformer(SCHEMES[scheme].but(**timesformer.TINY_SIZES))
        with pytest.raises(ValueError, match="this scheme has no published form"):
            save(model, tmp_path / "none")


KEPT = Folded.forward
MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "space before time": (
        divided_agrees, "deepdive.layers.space_time.StepwiseBlock.forward",
        lambda self, x, context: self.ff_residual(self.first_residuals[0](
            self.attn_residual(x, self.attn), self.firsts[0]), self.ff)),
    "the special row takes part in time": (
        divided_agrees, "deepdive.layers.space_time.Before.forward",
        lambda self, x, context: F.pad(self.dense(self.step(x[:, 1:])), (0, 0, 1, 0))
        + self.dense.bias),
    "no matrix behind the step through time": (
        divided_agrees, "deepdive.layers.space_time.Before.forward",
        lambda self, x, context: F.pad(self.step(x[:, 1:]), (0, 0, 1, 0))),
    "answers to the special row are added": (
        divided_agrees, "deepdive.layers.space_time.Folded.forward",
        lambda self, x, context: KEPT(self, x, context) * torch.cat(
            [torch.full((self.n_special, 1), float(FRAMES)), torch.ones(FRAMES * N, 1)])),
    "time is added to the special row": (
        joint_agrees, "deepdive.models.vision.video_embeddings.VideoEmbeddings.forward",
        lambda self, films: torch.cat([
            super(VideoEmbeddings, self).forward(films.flatten(0, 1)).unflatten(
                0, (2, -1))[:, 0, :1]
            + self.times[0], super(VideoEmbeddings, self).forward(films.flatten(0, 1)).unflatten(
                0, (2, -1))[:, :, 1:].add(self.times[:, None]).flatten(1, 2)], 1)),
    "the first frame speaks for the film": (
        space_only_agrees, "deepdive.models.vision.video_embeddings.PerFrameEmbeddings.forward",
        lambda self, films: torch.stack(
            [super(PerFrameEmbeddings, self).forward(f) for f in films])[
            :, :, 1:].flatten(1, 2)),
    "a neighbourhood in one frame": (
        other_schemes_agree, "deepdive.layers.space_time.Masked.ruled",
        lambda self, x: self.rule(3, 4, 4) & meets(space_time.space, 3, 4, 4)),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    for proof in (divided_agrees, joint_agrees, space_only_agrees, other_schemes_agree):
        proof()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()

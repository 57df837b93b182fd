"""ProphetNet against transformers, in float64: every stream, gradients, loss, and both caches.

transformers 5.23 reads one table of its streams in the wrong order where several tokens are given
at once (heads, tokens and streams change places), so that its full pass contradicts its own steps;
a test below shows it. One token at a time it is right, and so is every stream at one token: these
are compared as they are. Its full pass is compared with that one table in order (`in_order`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, real, tokens
from parity_registry import differs, equal, parity
from torch import Tensor
from transformers import ProphetNetConfig, ProphetNetForConditionalGeneration

from deepdive.core import gelu_tanh
from deepdive.core.masks import Mask
from deepdive.decoding import greedy
from deepdive.layers.future_attention import FutureAttention, Futures
from deepdive.models.generative import prophetnet
from deepdive.models.generative.prophetnet import FutureDecoder
from deepdive.positions.t5 import widening
from deepdive.published import family, from_config, load, save
from deepdive.training.objectives import future_loss

SIZES: dict[str, Any] = {
    "vocab_size": 28,
    "hidden_size": 16,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 2,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 16,
    "num_buckets": 6,
    "relative_max_distance": 5,
    "ngram": 3,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
MASK = real([7, 5, 3], 7)  # odd lengths, padding at the end
SRC = tokens(3, 7, vocab=28).masked_fill(~MASK, 0)
TGT = tokens(3, 9, vocab=28, seed=1)
TGT_MASK = real([9, 9, 4], 9)


def in_double() -> Any:
    """Theirs has one softmax in float32."""
    return mock.patch("torch.nn.functional.softmax", lambda x, dim, dtype=None: x.softmax(dim))


def worths(self: Any, x: Tensor, weights: Tensor, _at: Tensor, buckets: Tensor) -> Tensor:
    """What theirs adds to the scores of its streams, (B, n, H, T, 2 T), in order."""
    worth = self.relative_pos_embeddings(x.transpose(1, 2))  # (B, n, T, buckets * H)
    worth = worth.unflatten(-1, (self.num_buckets, self.num_attn_heads)).permute(0, 1, 4, 2, 3)
    return worth.gather(-1, buckets.long()[:, None, None].expand(weights.shape))


def in_order() -> Any:
    from transformers.models.prophetnet import modeling_prophetnet

    its = modeling_prophetnet.ProphetNetNgramSelfAttention
    return mock.patch.object(its, "get_predict_relative_pos_embeddings", worths)


def all_of(said: Any) -> Tensor:
    """Every stream of theirs, (B, n, T, V)."""
    if said.logits_ngram is None:
        return said.logits[:, None]
    return torch.cat((said.logits[:, None], said.logits_ngram), 1)


def agree(**changes: Any) -> None:
    """Every stream's logits, gradients of all weights, and the decoder in pieces, both caches."""
    theirs: Any = reference(ProphetNetForConditionalGeneration, ProphetNetConfig, **SIZES | changes)
    ours: Any = saved_and_loaded(theirs, load)
    read = {"input_ids": SRC, "attention_mask": MASK.double()}  # of integers theirs makes NaN here
    with in_double(), in_order():
        said = theirs(
            **read, decoder_input_ids=TGT, decoder_attention_mask=TGT_MASK.double(), use_cache=False
        )
    kept = TGT_MASK[:, None].expand(-1, ours.config.n_future, -1)
    output = ours.futures(SRC, TGT, MASK, TGT_MASK)
    names = family("prophetnet").table()
    alike(ours, theirs, output[kept], all_of(said)[kept], [names])
    equal(ours(SRC, TGT, MASK, TGT_MASK)[TGT_MASK], said.logits[TGT_MASK])
    with in_double():  # as it is: one token, every stream
        said = theirs(**read, decoder_input_ids=TGT[:, :1], use_cache=False)
    output = ours.futures(SRC, TGT[:, :1], MASK)
    alike(ours, theirs, output, all_of(said), [names])
    if ours.config.padding:  # theirs refuses to go on from a cache then
        return
    with torch.no_grad(), in_double():
        whole, state, cache = ours(SRC, TGT, MASK), ours.begin(SRC, MASK), None
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5)):
            now = theirs(
                **read, decoder_input_ids=TGT[:, a:b], past_key_values=cache, use_cache=True
            )
            cache, piece = now.past_key_values, ours.step(TGT[:, a:b], state)
            equal(piece, whole[:, a:b])
            equal(piece, now.logits)
        equal(ours.step(TGT[:, 5:], state), whole[:, 5:])  # several at once, as theirs cannot


@parity("prophetnet", FutureAttention, FutureDecoder)
def prophetnet_agrees() -> None:
    agree()
    agree(ngram=1, activation_function="relu")
    agree(pad_token_id=1, decoder_start_token_id=2)


@parity("future_loss")
def the_loss_agrees() -> None:
    for off in (False, True):
        theirs: Any = reference(
            ProphetNetForConditionalGeneration, ProphetNetConfig, **SIZES, disable_ngram_loss=off
        )
        labels = TGT.masked_fill(~TGT_MASK, -100) if not off else TGT
        exact = mock.patch(
            "torch.nn.functional.log_softmax", lambda x, dim, dtype=None: x.log_softmax(dim)
        )
        with in_double(), exact:
            said = theirs(input_ids=SRC, decoder_input_ids=TGT, labels=labels)
        weights = (1.0, 0.0, 0.0) if off else None
        targets = labels.masked_fill(labels == -100, 0)
        equal(future_loss(all_of(said), targets, weights=weights), said.loss)


@pytest.mark.parametrize("proof", [prophetnet_agrees, the_loss_agrees])
def test_a_proof_is_green(proof: Callable[[], None]) -> None:
    proof()


def test_theirs_contradicts_its_own_steps_where_several_tokens_come_at_once() -> None:
    """Were this mended, `in_order` could go."""
    theirs: Any = reference(ProphetNetForConditionalGeneration, ProphetNetConfig, **SIZES)
    with torch.no_grad(), in_double():
        cache, steps = None, []
        for t in range(4):
            now = theirs(
                input_ids=SRC, decoder_input_ids=TGT[:, t : t + 1], past_key_values=cache,
                use_cache=True,
            )  # fmt: skip
            cache = now.past_key_values
            steps.append(now.logits)
        whole = [theirs(input_ids=SRC, decoder_input_ids=TGT[:, :4], use_cache=False).logits]
        with in_order():
            whole.append(theirs(input_ids=SRC, decoder_input_ids=TGT[:, :4]).logits)
    assert differs(whole[0], torch.cat(steps, 1)) > 0.05
    equal(whole[1], torch.cat(steps, 1))


def test_buckets_are_theirs() -> None:
    """At the published numbers, for every distance that the published model can meet."""
    from transformers.models.prophetnet.modeling_prophetnet import compute_relative_buckets

    for n, far in ((32, 128), (8, 20), (6, 5)):
        distance = torch.arange(512)
        assert torch.equal(widening(distance, n, far), compute_relative_buckets(n, far, -distance))


def test_what_we_write_theirs_reads_and_generates(tmp_path: Path) -> None:
    torch.manual_seed(0)
    ours = prophetnet.prophetnet(prophetnet.TINY, n_future=3).eval()
    for parameter in ours.parameters():
        parameter.data.mul_(4.0)  # or the same token wins everywhere
    theirs: Any = ProphetNetForConditionalGeneration.from_pretrained(save(ours, tmp_path)).eval()
    mask = MASK.long()
    with in_order():
        expected = theirs(input_ids=SRC, attention_mask=mask, decoder_input_ids=TGT)
    assert torch.allclose(ours.futures(SRC, TGT, MASK), all_of(expected), atol=1e-4)
    again: Any = load(tmp_path)
    assert again.config == ours.config
    assert torch.equal(again.futures(SRC, TGT, MASK), ours.futures(SRC, TGT, MASK))
    written = theirs.generate(
        SRC, attention_mask=mask, max_new_tokens=8, do_sample=False, num_beams=1,
        decoder_start_token_id=1,
    )[:, 1:].tolist()  # fmt: skip
    mine = greedy(ours, SRC, MASK, bos=1, eos=2, max_length=8)
    assert mine == [row[: row.index(2)] if 2 in row else row for row in written]


def test_published_size() -> None:
    with torch.device("meta"):
        ours, theirs = (
            sum(p.numel() for p in model.parameters())
            for model in (
                prophetnet.prophetnet(),
                ProphetNetForConditionalGeneration(ProphetNetConfig()),
            )
        )
    assert ours == theirs
    assert round(ours / 1e6) == 391


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tie_word_embeddings": False}, "tie_word_embeddings"),
        ({"add_cross_attention": False}, "add_cross_attention"),
        ({"num_buckets": 7}, "n_buckets=7"),
        ({"activation_function": "mish"}, "mish"),
    ],
)
def test_what_is_not_built_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_config({**SIZES, "model_type": "prophetnet", **given})


@pytest.mark.parametrize("change", [{"n_future": 0}, {"scale": 2.0}])
def test_what_theirs_has_not_is_not_written(change: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is published with n_future >= 1"):
        save(prophetnet.prophetnet(prophetnet.TINY, **change), tmp_path)


def no_token_less(self: Futures, T: int, S: int, device: Any) -> Tensor:
    each = T // (1 + self.n)
    allowed: Tensor = real_allowed(self, T, S, device).clone()
    read = allowed[..., :each, : S - T + each].repeat(1, 1, 1 + self.n, 1)
    allowed[..., : S - T + each] = read
    return allowed


real_allowed: Callable[..., Tensor] = Futures.allowed
real_worth = FutureAttention.worth
TEXT = "deepdive.models.generative.prophetnet"
MUTATIONS: dict[str, tuple[str, Any]] = {
    "every stream reads the last token": (f"{TEXT}.Futures.allowed", no_token_less),
    "streams stand where the token stands": (
        f"{TEXT}.FutureAttention.worth",
        lambda self, x, q, k: real_worth(self, x, (q - 1).clamp(min=0), k)),
    "distances worth nothing": (
        f"{TEXT}.FutureAttention.worth",
        lambda self, x, q, k: 0 * real_worth(self, x, q, k)),
    "streams in their order": (
        "deepdive.published.families.prophetnet.NAMES.layouts",
        {"decoder.unread": (lambda rows: rows, lambda rows: rows)}),
    "GELU's approximation": (
        "deepdive.published.form.ACTIVATIONS", {"gelu": gelu_tanh, "relu": torch.relu}),
    "places from 0": (
        f"{TEXT}.NormedPosition.embed",
        lambda self, x, at: self.norm(x + self.position.table(at))),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    if target.endswith(".layouts"):
        from deepdive.published.families.prophetnet import NAMES

        change = mock.patch.dict(NAMES.__dict__, layouts=wrong)
    else:
        change = mock.patch(target, wrong)
    with change, pytest.raises((AssertionError, ValueError)):
        prophetnet_agrees()


def test_the_loss_refuses_what_does_not_fit() -> None:
    logits, targets = torch.zeros(2, 3, 4, 9), torch.ones(2, 4).long()
    assert differs(future_loss(logits, targets), torch.tensor(9.0).log()) < 1e-6
    one = future_loss(logits + torch.arange(9.0), targets, weights=(0, 1, 0))
    assert torch.isclose(one, future_loss(logits[:, :1] + torch.arange(9.0), targets))
    with pytest.raises(ValueError, match="logits: got shape"):
        future_loss(logits[:, 0], targets)
    for weights in ((1.0,), (1, 1, -1), (0, 0, 0)):
        with pytest.raises(ValueError, match="weights: got"):
            future_loss(logits, targets, weights=weights)


def test_a_mask_of_streams_is_a_mask() -> None:
    """Written out for two tokens and two streams; and the last rows of it, in decoding."""
    assert isinstance(Futures(2), Mask)
    assert Futures(2).dense(6)[0, 0].int().tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0],
        [1, 1, 0, 1, 0, 0],
        [1, 0, 0, 0, 1, 0],
        [1, 0, 0, 0, 0, 1],
    ]
    assert Futures(2).dense(3, 5)[0, 0].int().tolist() == [
        [1, 1, 1, 0, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 0, 1],
    ]
    with pytest.raises(ValueError, match="n=-1"):
        Futures(-1)

"""Informer against transformers, in float64. Theirs draws keys with replacement, one sample for all
queries, so a proof that keeps some queries lazy lets both sample every key.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
import torch
from parity_bert import double_precision
from parity_proofs import alike, real, rows
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor
from transformers import InformerConfig, InformerModel
from transformers.models.informer.modeling_informer import InformerProbSparseAttention

from deepdive.attention.by_content.prob_sparse import ProbSparseAttention
from deepdive.core import MultiHeadAttention
from deepdive.core.masks import Causal, Padding
from deepdive.layers.series import Distil, InformerEncoder, RowEmbedding
from deepdive.models.efficient import informer
from deepdive.published import load
from deepdive.published.families.efficient import INFORMER

SIZES = {
    "prediction_length": 5,
    "context_length": 13,
    "input_size": 1,
    "lags_sequence": [1, 2],
    "num_time_features": 2,
    "d_model": 16,
    "encoder_layers": 3,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
}


def every_key(self: ProbSparseAttention, T: int, S: int) -> Tensor:
    return torch.arange(S).expand(T, S)


def in_order(low: int, high: int, size: tuple[int, ...]) -> Tensor:
    assert size == (high,), "theirs sampled fewer keys than there are: nothing can be compared"
    return torch.arange(low, high)


@parity(ProbSparseAttention)
def prob_sparse() -> None:
    """Odd lengths; some queries lazy; causal (their running sum is in float32: 1e-5, 1e-4)."""
    for causal, tolerance in ((False, 1e-9), (True, 1e-5)):
        torch.manual_seed(0)
        theirs = InformerProbSparseAttention(
            16, 4, is_decoder=causal, sampling_factor=2, layer_idx=0
        )
        theirs = perturb(theirs.double().eval())
        ours = MultiHeadAttention(16, 4, mechanism=ProbSparseAttention(2)).double()
        with torch.no_grad():
            for mine, other in ((ours.q, theirs.q_proj), (ours.out, theirs.out_proj)):
                mine.load_state_dict(other.state_dict())
            for kind in ("weight", "bias"):
                both = [getattr(layer, kind) for layer in (theirs.k_proj, theirs.v_proj)]
                getattr(ours.kv, kind).copy_(torch.cat(both))
        x, y = rows(2, 31, 16), rows(2, 31, 16)
        mask = None
        if causal:
            allowed = Causal().dense(31)
            mask = torch.zeros(2, 1, 31, 31).double().masked_fill(~allowed, -torch.inf)
        with (
            mock.patch("torch.randint", in_order),
            mock.patch.object(ProbSparseAttention, "sample", every_key),
        ):
            output = ours(x, mask=Causal() if causal else None)
            expected = theirs(y, attention_mask=mask)[0]
        equal(output, expected, tolerance)
        equal_gradients(output, expected, {"x": (x, y)}, 10 * tolerance)
    by_hand()


def by_hand() -> None:
    """Padding and cross-attention, which theirs does not read: one query at a time."""
    q, k, v = rows(2, 2, 23, 6), rows(2, 2, 19, 6, seed=1), rows(2, 2, 19, 5, seed=2)
    keys = real([19, 12], 19)
    ours = ProbSparseAttention(1).eval()
    output = ours(q, k, v, Padding(keys))
    sample = ours.sample(23, 19)
    wanted = torch.empty_like(output)
    for b in range(2):
        for h in range(2):
            there = [int(j) for j in keys[b].nonzero()]
            measure = []
            for t in range(23):
                met = [(q[b, h, t] @ k[b, h, j]).item() for j in sample[t] if keys[b, j]]
                spread = max(met) - sum(met) / len(there) if met else -torch.inf
                measure.append(spread)
            active = sorted(range(23), key=lambda t: -measure[t])[:4]  # ceil(ln 24) = 4
            for t in range(23):
                if t in active:
                    weights = torch.stack([q[b, h, t] @ k[b, h, j] / 6**0.5 for j in there])
                    wanted[b, h, t] = weights.softmax(0) @ v[b, h, there]
                else:
                    wanted[b, h, t] = v[b, h, there].mean(0)
    equal(output, wanted)
    equal_gradients(output, wanted, {"q": (q, q), "k": (k, k), "v": (v, v)})


def reference(**settings: object) -> InformerModel:
    """Theirs, off its special values, with our positions: its table is rounded to float32."""
    torch.manual_seed(0)
    with double_precision():
        theirs = perturb(InformerModel(InformerConfig(**SIZES, **settings)).double().eval())
    with torch.no_grad():
        for half in (theirs.encoder, theirs.decoder):
            table = half.embed_positions.weight
            places = torch.arange(len(table))
            table.copy_(RowEmbedding(1, 16).position.table(places))
            for layer in getattr(half, "conv_layers", []) or []:
                if layer is not None:
                    layer.norm.running_mean.normal_(generator=torch.Generator().manual_seed(1))
                    layer.norm.running_var.uniform_(0.5, 2)
    return theirs


def saved_and_loaded(theirs: InformerModel) -> informer.Informer:
    with TemporaryDirectory() as folder, double_precision():
        theirs.save_pretrained(folder)
        return load(Path(folder)).double()


@parity(informer.Informer, InformerEncoder, Distil, RowEmbedding)
def both_halves() -> None:
    for factor, distil in ((50, True), (50, False), (2, True)):
        theirs = reference(sampling_factor=factor, distil=distil)
        ours = saved_and_loaded(theirs)
        x, y = (rows(2, 13, theirs.config.feature_size) for _ in range(2))
        with (
            mock.patch("torch.randint", in_order),
            mock.patch.object(ProbSparseAttention, "sample", every_key),
        ):
            output = ours.encoder(x)
            expected = theirs.encoder(inputs_embeds=y).last_hidden_state
            assert output.shape[1] == (4 if distil else 13)
            others = ["encoder.embed_positions.weight"]
            theirs_named, rules = Half(theirs.encoder), [INFORMER.table(), *BARE]
            inputs = [(x, y)]
            alike(ours.encoder, theirs_named, output, expected, rules, others, inputs)
            if factor == 2:  # the decoder's running sum is in float32
                continue
            steps = rows(2, 5, theirs.config.feature_size, seed=2)
            memory = expected.detach()
            output = ours.decode(steps, memory, 13)
            decoded = theirs.decoder(inputs_embeds=steps, encoder_hidden_states=memory)
            equal(output, decoded.last_hidden_state, 1e-5)  # see above
            equal_gradients(output, decoded.last_hidden_state, {"steps": (steps, steps)}, 1e-4)


BARE = ((r"^encoder\.", ""),)


class Half(torch.nn.Module):
    """Their encoder under the name that it has in the whole."""

    def __init__(self, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.encoder = encoder


MUTATIONS = {
    "the norms' epsilon": (
        both_halves,
        "deepdive.core.LayerNorm.forward",
        lambda self, x: torch.layer_norm(x, x.shape[-1:], self.weight, self.bias, 1e-12),
    ),
    "the mean of what was sampled": (
        prob_sparse,
        "deepdive.attention.by_content.prob_sparse.ProbSparseAttention.measure",
        lambda self, q, k, real=None: (q @ k.mT).amax(-1),
    ),
    "a lazy query that keeps nothing": (
        prob_sparse,
        "deepdive.attention.by_content.prob_sparse.ProbSparseAttention._lazy",
        lambda self, v, real, causal, T: torch.zeros_like(v[:, :, -1:]).expand(-1, -1, T, -1),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError)):
        proof()


def test_a_folder_that_is_not_built_here_is_refused() -> None:
    for settings in ({"attention_type": "full"}, {"encoder_attention_heads": 2}):
        theirs = InformerModel(InformerConfig(**{**SIZES, **settings}))
        with TemporaryDirectory() as folder:
            theirs.save_pretrained(folder)
            with pytest.raises(ValueError, match="config has"):
                load(Path(folder))


def test_a_lazy_query_sees_later_rows_under_a_causal_mask() -> None:
    """The choice looks ahead: changing the last token changes which early ones are active."""
    ours = ProbSparseAttention(1).eval()
    q, k, v = (rows(1, 1, 40, 4, seed=i).detach() for i in range(3))
    before = ours(q, k, v, Causal())
    q[0, 0, -1] *= 50
    k[0, 0, -1] *= 50
    assert not torch.allclose(ours(q, k, v, Causal())[:, :, :-1], before[:, :, :-1])

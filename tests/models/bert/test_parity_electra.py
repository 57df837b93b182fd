"""ELECTRA's two networks against transformers in float64, what they share, and their sizes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import MASK, SEGMENTS, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, parity
from torch import Tensor, nn
from transformers import ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining, ElectraModel

from deepdive.models.bert import electra
from deepdive.models.bert.pretraining import ElectraDiscriminator, for_masked_lm
from deepdive.published import family, load, save
from deepdive.training.objectives import replaced_loss

WIDTHS = (8, 16)  # tables narrower than the stream, which is projected, and as wide


@parity("electra", ElectraDiscriminator)
def electra_agrees() -> None:
    """A discriminator that is judged by another activation, and its loss; a generator."""
    for width in WIDTHS:
        sizes = {**SIZES, "embedding_size": width}
        theirs = reference(ElectraForPreTraining, ElectraConfig, **sizes, hidden_act="gelu_new")
        ours = saved_and_loaded(theirs, partial(load, head="replaced"))
        replaced = SRC % 3 == 0
        expected = theirs(SRC, MASK.long(), SEGMENTS, labels=replaced.long())
        logits, names = ours(SRC, MASK, SEGMENTS), [family("electra").table("replaced")]
        equal(replaced_loss(logits, replaced, MASK), expected.loss, 1e-6)  # theirs is in float32
        alike(ours, theirs, logits[MASK], expected.logits[MASK], names)
        states = theirs.electra(SRC, MASK.long(), SEGMENTS).last_hidden_state
        equal(saved_and_loaded(theirs, load)(SRC, MASK, SEGMENTS), states)

        theirs = reference(ElectraForMaskedLM, ElectraConfig, **sizes, hidden_act="gelu_new")
        ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
        gaps = theirs(SRC, MASK.long(), SEGMENTS).logits
        names = [family("electra").table("masked_lm")]
        alike(ours, theirs, ours(SRC, MASK, SEGMENTS)[MASK], gaps[MASK], names)


def test_a_pair_shares_its_tables_and_each_is_published_whole(tmp_path: Path) -> None:
    both = electra.pair(electra.TINY).eval()
    small, judge = both.generator, both.discriminator
    table = judge.bert.embeddings.tokens.weight
    assert small.bert.embeddings.tokens.weight is table
    assert small.masked.head.embedding.weight is table
    for part in ("position", "segments"):
        assert getattr(small.bert.embeddings, part) is getattr(judge.bert.embeddings, part)
    with torch.no_grad():
        for parameter in both.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    theirs = ElectraForMaskedLM.from_pretrained(save(small, tmp_path / "small")).eval()
    assert torch.allclose(small(SRC, MASK)[MASK], theirs(SRC, MASK.long()).logits[MASK], atol=1e-5)
    judges = ElectraForPreTraining.from_pretrained(save(judge, tmp_path / "judge")).eval()
    assert torch.allclose(both(SRC, MASK)[MASK], judges(SRC, MASK.long()).logits[MASK], atol=1e-5)


def test_published_sizes() -> None:
    """Small, base and large as released; generators of a third and a quarter of the width."""
    theirs = {
        "SMALL": {},  # transformers' own defaults
        "BASE": {"embedding_size": 768, "hidden_size": 768, "num_attention_heads": 12,
                 "intermediate_size": 3072},
        "LARGE": {"embedding_size": 1024, "hidden_size": 1024, "num_attention_heads": 16,
                  "intermediate_size": 4096, "num_hidden_layers": 24},
    }  # fmt: skip
    with torch.device("meta"):
        for name, sizes in theirs.items():
            ours = electra.electra(getattr(electra, name))
            assert count(ours) == count(ElectraModel(ElectraConfig(**sizes))), name
        small, base, large = (
            electra.pair(getattr(electra, n)).generator.bert.config for n in theirs
        )
    widths = [(c.d_embedding, c.d_model, c.n_heads, c.d_ff) for c in (small, base, large)]
    assert widths == [(128, 64, 1, 256), (768, 256, 4, 1024), (1024, 256, 4, 1024)]


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def without_activation(self: nn.Module, tokens: Tensor, mask=None, segments=None) -> Tensor:
    return self.out(self.dense(self.bert(tokens, mask, segments))).squeeze(-1)


def over_padding(logits: Tensor, replaced: Tensor, mask: Tensor | None = None) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, replaced.to(logits.dtype))


HERE = "deepdive.models.bert.electra."
MUTATIONS: dict[str, tuple[str, object]] = {
    "a judge without an activation": (f"{HERE}ElectraDiscriminator.forward", without_activation),
    "tables that are never projected": (
        f"{HERE}FactorizedEmbeddings.finish",
        lambda self, rows: self.dropout(rows).repeat(1, 1, 2),
    ),
    "the encoder's activation": ("deepdive.published.form.ACTIVATIONS", {"gelu_new": F.gelu}),
    "a loss over padding": (f"{__name__}.replaced_loss", over_padding),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        electra_agrees()


def test_a_generator_with_the_encoders_activation_is_seen() -> None:
    one = family("electra")
    head = replace(one.heads["masked_lm"], build=for_masked_lm)
    changed = {"electra": replace(one, heads={**one.heads, "masked_lm": head})}
    with (
        mock.patch.dict("deepdive.published.folders.FAMILIES", changed),
        pytest.raises(AssertionError, match="outputs differ"),
    ):
        electra_agrees()

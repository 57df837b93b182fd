"""HIBERT against two `BertModel` of transformers, one sentence at a time and without padding;
Hi-Transformer against the same two and the rest of its equations as loops. In float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
from parity_attention import attend, joined, projected
from parity_proofs import tokens
from parity_registry import differs, equal, parity, perturb
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from deepdive.core import gelu
from deepdive.core.stack import Stack
from deepdive.models.efficient.hi_transformer import TINY as HI_TINY
from deepdive.models.efficient.hi_transformer import HiTransformer, hi_transformer
from deepdive.models.efficient.hibert import TINY, Hibert, hibert
from deepdive.models.efficient.hibert_pretraining import for_masked_sentences
from deepdive.training.objectives.masked_sentences import mask_sentences
from deepdive_book.kit.flops import count_flops

SIZES = {"vocab_size": 28, "d_model": 16, "d_ff": 24, "max_length": 8, "max_sentences": 5}
LENGTHS = [[4, 1, 3], [2, 0, 0], [0, 4, 2]]  # real tokens of each sentence
TOKENS = tokens(3, 3, 4, vocab=28)
MASK = torch.arange(4) < torch.tensor(LENGTHS)[..., None]

# ours -> theirs, in an embedding, and in a layer
INPUT = {"position.table": "position_embeddings", "norm": "LayerNorm"}
LAYER = {
    "attn.q": "attention.self.query", "attn.out": "attention.output.dense",
    "attn_residual.norm": "attention.output.LayerNorm", "ff.inner": "intermediate.dense",
    "ff.out": "output.dense", "ff_residual.norm": "output.LayerNorm",
}  # fmt: skip


def pairs(
    inputs: nn.Module, stack: Any, theirs: Any, table: Tensor | None = None
) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Name, our parameter, and the one of theirs that has its place."""
    for mine, other in INPUT.items():
        for name, parameter in inputs.get_submodule(mine).named_parameters():
            yield mine, parameter, getattr(theirs.embeddings.get_submodule(other), name)
    if table is not None:
        yield "tokens", table, theirs.embeddings.word_embeddings.weight
    for block, layer in zip(stack.blocks, theirs.encoder.layer, strict=True):
        for mine, other in LAYER.items():
            for name, parameter in block.get_submodule(mine).named_parameters():
                yield mine, parameter, getattr(layer.get_submodule(other), name)


def copied(model: Any) -> tuple[Any, Any]:
    """Two BertModel with the weights of ours; keys and values are one matrix in ours."""
    found = []
    for inputs, stack, length, table in (
        (model.words.embeddings, model.words.stack, 8, model.words.embeddings.tokens.weight),
        (model.document, model.document.stack, 5, None),
    ):
        theirs: Any = BertModel(BertConfig(
            vocab_size=28, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=24, max_position_embeddings=length, type_vocab_size=1,
        ), add_pooling_layer=False)  # fmt: skip
        theirs = theirs.double().eval()
        nn.init.zeros_(theirs.embeddings.token_type_embeddings.weight)
        with torch.no_grad():
            for _, mine, other in pairs(inputs, stack, theirs, table):
                other.copy_(mine)
            for block, layer in zip(stack.blocks, theirs.encoder.layer, strict=True):
                for name in ("weight", "bias"):
                    k, v = getattr(block.attn.kv, name).chunk(2)
                    getattr(layer.attention.self.key, name).copy_(k)
                    getattr(layer.attention.self.value, name).copy_(v)
        found.append(theirs)
    return found[0], found[1]


def read(words: Any, b: int) -> tuple[list[Tensor], list[Tensor], list[int]]:
    """Each real sentence's states and end state in document b, and its place."""
    places = [s for s, n in enumerate(LENGTHS[b]) if n]
    states = [words(TOKENS[b, s, : LENGTHS[b][s]][None]).last_hidden_state[0] for s in places]
    return states, [state[-1] for state in states], places


def in_context(document: Any, ends: list[Tensor], places: list[int]) -> Tensor:
    """The document encoder's states of its real sentences; their positions are their places."""
    x, at = torch.stack(ends)[None], torch.tensor(places)[None]
    return document(inputs_embeds=x, position_ids=at).last_hidden_state[0]


def small(make: Any, tiny: Any, **changes: Any) -> Any:
    return perturb(make(tiny, **SIZES, **changes).double().eval())


def gradients(output: Tensor, leaves: Any) -> list[Tensor]:
    direction = torch.randn(
        output.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64
    )
    return list(torch.autograd.grad((output * direction).sum(), leaves, retain_graph=True))


def same_gradients(model: Any, ours: Tensor, theirs: Tensor, words: Any, document: Any) -> None:
    """Gradients of every parameter of both encoders agree, and none is zero."""
    table = model.words.embeddings.tokens.weight
    named = [*pairs(model.words.embeddings, model.words.stack, words, table),
             *pairs(model.document, model.document.stack, document)]  # fmt: skip
    for encoder, mine in ((words, model.words.stack), (document, model.document.stack)):
        for block, layer in zip(mine.blocks, encoder.encoder.layer, strict=True):
            for name in ("weight", "bias"):
                both = [getattr(each, name) for each in
                        (layer.attention.self.key, layer.attention.self.value)]  # fmt: skip
                wanted = torch.cat(gradients(theirs, both))
                (found,) = gradients(ours, [getattr(block.attn.kv, name)])
                assert differs(found, wanted) < 1e-8, f"kv {name}"
    both_sides = zip(
        named, gradients(ours, [mine for _, mine, _ in named]),
        gradients(theirs, [other for _, _, other in named]), strict=True,
    )  # fmt: skip
    for (name, _, _), a, b in both_sides:
        assert differs(a, b) < 1e-8, f"gradient of {name}"
        assert b.abs().max() > 1e-12, f"gradient of {name} is zero: it proves nothing"


@parity(Hibert)
def hibert_is_bert_twice() -> None:
    model = small(hibert, TINY)
    words, document = copied(model)
    ours, theirs = model(TOKENS, MASK), []
    for b in range(3):
        _, ends, places = read(words, b)
        theirs.append(in_context(document, ends, places))
    equal(ours[MASK.any(-1)], torch.cat(theirs))
    same_gradients(model, ours[MASK.any(-1)], torch.cat(theirs), words, document)


def normed(norm: Any, x: Tensor) -> Tensor:
    centered = x - x.mean(-1, keepdim=True)
    return centered / (centered.pow(2).mean(-1, keepdim=True) + 1e-12).sqrt() * norm.weight + (
        norm.bias
    )


def layer(block: Any, x: Tensor) -> Tensor:
    """One post-norm layer on one sentence (T, 16), head by head."""
    q, k, v = projected(block.attn, x, x)
    every = torch.ones(len(x)).bool()
    mixed = joined(block.attn, [attend(q[h], k[h], v[h], every) for h in range(4)])
    x = normed(block.attn_residual.norm, x + mixed)
    inner = gelu(x @ block.ff.inner.weight.T + block.ff.inner.bias)
    return normed(block.ff_residual.norm, x + inner @ block.ff.out.weight.T + block.ff.out.bias)


def pooled(vectors: Tensor, score: Tensor) -> Any:
    """Attention pooling of (T, 16), one vector at a time."""
    exps = [(row @ score[0]).exp() for row in vectors]
    return sum(e * row for e, row in zip(exps, vectors, strict=True)) / sum(exps)


@parity(HiTransformer)
def hi_transformer_agrees() -> None:
    for feedback in (True, False):
        model = small(hi_transformer, HI_TINY, feedback=feedback)
        assert isinstance(model, HiTransformer)
        words, document = copied(model)
        ours, theirs = model(TOKENS, MASK), []
        for b in range(3):
            states, ends, places = read(words, b)
            vectors = in_context(document, ends, places)
            if isinstance(model.again, Stack) and model.pool_words is not None:
                again = []
                for state, vector in zip(states, vectors, strict=True):
                    x = torch.cat((state[:-1], vector[None]))
                    for block in model.again.blocks:
                        x = layer(block, x)
                    again.append(pooled(x, model.pool_words.score.weight))
                vectors = torch.stack(again)
            theirs.append(pooled(vectors, model.pool_sentences.score.weight))
        equal(ours, torch.stack(theirs))
        same_gradients(model, ours, torch.stack(theirs), words, document)
        own = [p for name, p in model.named_parameters() if name.split(".")[0] in
               ("again", "pool_words", "pool_sentences")]  # fmt: skip
        for mine, other in zip(
            gradients(ours, own), gradients(torch.stack(theirs), own), strict=True
        ):
            assert differs(mine, other) < 1e-8
            assert other.abs().max() > 1e-12


MUTATIONS: dict[str, tuple[str, object]] = {
    "a sentence's first state": (
        "deepdive.layers.sentence_vectors.Sentences.vectors",
        lambda found: found.states.new_zeros(*found.real.shape, 16).index_put(
            (found.real,), found.states[:, 0]),
    ),
    "no sentence positions": (
        "deepdive.models.efficient.hibert.DocumentEncoder.forward",
        lambda self, x, real: self.stack(self.norm(x), mask=real[:, None, None, :]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
@pytest.mark.parametrize("proof", [hibert_is_bert_twice, hi_transformer_agrees])
def test_a_mutation_is_seen(name: str, proof: Any) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises((AssertionError, ValueError, TypeError)):
        proof()


def test_padding_of_words_and_sentences_changes_nothing() -> None:
    """More padding, and other tokens under it: the same sentence states and document vectors."""
    wide = torch.randint(4, 28, (3, 5, 7))
    wide[:, :3, :4] = torch.where(MASK, TOKENS, wide[:, :3, :4])
    mask = torch.zeros(3, 5, 7, dtype=torch.bool)
    mask[:, :3, :4] = MASK
    model = small(hibert, TINY)
    equal(model(wide, mask)[:, :3][MASK.any(-1)], model(TOKENS, MASK)[MASK.any(-1)])
    model = small(hi_transformer, HI_TINY)
    equal(model(wide, mask), model(TOKENS, MASK))


@pytest.mark.parametrize(("make", "tiny"), [(hibert, TINY), (hi_transformer, HI_TINY)])
def test_sentence_order_matters_only_through_positions(make: Any, tiny: Any) -> None:
    model, order = small(make, tiny), torch.tensor([2, 0, 1])
    text = TOKENS[:1]
    back = order if make is hibert else slice(None)
    assert differs(model(text[:, order]), model(text)[:, back]) > 1e-3
    nn.init.zeros_(model.document.position.table.weight)
    equal(model(text[:, order]), model(text)[:, back])


def test_the_cost_is_linear_in_words_and_quadratic_in_sentences() -> None:
    """FLOPs of attention: T^2 for each sentence and S^2 for the document, and none for padding."""
    model = hibert(TINY, n_layers=1, n_document_layers=1)
    d, ff = 32, 64

    def expected(S: int, T: int) -> int:
        def layer(n: int) -> int:
            return 2 * n * (4 * d * d + 2 * d * ff) + 4 * n * n * d

        return S * layer(T) + layer(S)

    for S, T in ((4, 8), (8, 8), (4, 16), (16, 16)):
        text = torch.randint(4, 32, (1, S, T))
        assert count_flops(partial(model, text)) == expected(S, T)
    mask = torch.ones(1, 16, 16, dtype=torch.bool)
    mask[:, 4:] = False
    text = torch.randint(4, 32, (1, 16, 16))
    padded = count_flops(lambda: model(text, mask))
    assert padded == expected(4, 16) - expected(4, 0) + expected(16, 0)


def test_pretraining_reads_the_document_and_hides_the_sentence() -> None:
    generator = torch.Generator().manual_seed(1)
    found = mask_sentences(TOKENS, MASK, 3, generator, rate=0.5)
    assert found.chosen.any()
    assert not found.chosen[~MASK.any(-1)].any()
    untouched = MASK & ~found.chosen[..., None]
    assert torch.equal(found.tokens[untouched], TOKENS[untouched])
    model = perturb(for_masked_sentences(hibert(TINY, **SIZES)).double().eval())
    words = TOKENS[found.chosen]
    logits = model(found.tokens, found.mask, found.chosen, words)
    assert logits.shape == (int(found.chosen.sum()), 4, 28)
    later = words.clone()
    later[:, 2] = 4 + (later[:, 2] - 3) % 24
    again = model(found.tokens, found.mask, found.chosen, later)
    equal(again[:, :2], logits[:, :2])
    assert differs(again[:, 2:], logits[:, 2:]) > 1e-6
    logits.log_softmax(-1).mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name


def test_masked_sentences_have_the_proportions_of_the_paper() -> None:
    text = torch.randint(4, 28, (200, 10, 6))
    mask = torch.ones_like(text, dtype=torch.bool)
    found = mask_sentences(text, mask, 3, torch.Generator().manual_seed(0))
    assert abs(float(found.chosen.double().mean()) - 0.15) < 0.02
    chosen, before = found.tokens[found.chosen], text[found.chosen]
    masked = (chosen[:, :-1] == 3).all(1)
    assert torch.equal(chosen[masked][:, -1], before[masked][:, -1])
    stay = (chosen == before).all(1)
    assert abs(float(masked.double().mean()) - 0.8) < 0.06
    assert abs(float(stay.double().mean()) - 0.1) < 0.05

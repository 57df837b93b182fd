"""What the translation pages share: encoding, cross-entropy per token, translating."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from deepdive.data import BucketBatches
from deepdive.decoding import greedy
from deepdive.models.seq2seq.seq2seq import seq2seq
from deepdive.models.transformer import transformer
from deepdive.tokenizers import BOS, EOS, PAD, WordTokenizer
from deepdive.training.translation import (
    encode,
    loss,
    mean_cross_entropy,
    training_memory,
    translate,
    with_references,
)

PAIRS = [("a b", "x y z"), ("c", "y"), ("b a c", "z"), ("a", "x x x x")]


@pytest.fixture
def words() -> tuple[WordTokenizer, WordTokenizer]:
    return tuple(WordTokenizer.train(side) for side in zip(*PAIRS, strict=True))


class Even(nn.Module):
    """Every token is equally probable."""

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor) -> Tensor:
        assert torch.equal(src_mask, src != PAD)
        return self.bias.expand(*tgt.shape, -1)


def test_sentences_end_and_targets_begin(words: tuple[WordTokenizer, WordTokenizer]) -> None:
    sources, targets = encode(PAIRS, *words)
    assert all(ids[-1] == EOS and EOS not in ids[:-1] for ids in [*sources, *targets])
    assert all(ids[0] == BOS for ids in targets)
    assert [len(ids) for ids in sources] == [3, 2, 4, 2]
    assert [len(ids) for ids in targets] == [5, 3, 3, 6]


@pytest.mark.parametrize("size", [6, 12, 100])
def test_cross_entropy_is_a_mean_over_tokens_however_they_are_batched(
    words: tuple[WordTokenizer, WordTokenizer], size: int
) -> None:
    """The end token counts, padding does not; batches of any size give the same mean."""
    torch.manual_seed(0)
    vocabularies = [len(tokenizer) for tokenizer in words]
    model = transformer.transformer(*vocabularies, d_model=16, n_heads=2, n_layers=1, d_ff=16)
    model.eval()
    expected = total = 0.0
    for src, tgt in zip(*encode(PAIRS, *words), strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([src]), torch.tensor([tgt[:-1]]))[0]
        expected -= logits.log_softmax(-1)[range(len(tgt) - 1), tgt[1:]].sum().item()
        total += len(tgt) - 1
    assert total == sum(len(french.split()) + 1 for _, french in PAIRS)
    model.train()
    found = mean_cross_entropy(model, BucketBatches(encode(PAIRS, *words), max_tokens=size))
    assert found == pytest.approx(expected / total, rel=1e-5)
    assert model.training


def test_an_even_guess_costs_the_logarithm_of_the_vocabulary(
    words: tuple[WordTokenizer, WordTokenizer],
) -> None:
    model, batches = Even(7), BucketBatches(encode(PAIRS, *words), max_tokens=99)
    assert mean_cross_entropy(model, batches) == pytest.approx(math.log(7))
    assert loss(model, next(iter(batches)), smoothing=0.1).item() == pytest.approx(math.log(7))


@pytest.mark.parametrize("build", [transformer.transformer, seq2seq])
def test_translations_come_in_the_order_of_the_sentences(build: object) -> None:
    """A batch of sentences is translated as each alone; one without words comes back."""
    torch.manual_seed(0)
    sentences = ["a b c", "c", " ", "b a c a b", "a"]
    source = WordTokenizer.train(sentences)
    model = build(len(source), len(source), d_model=16).eval()
    decode = partial(greedy, max_length=5)
    together = translate(model, sentences, source, source, decode, batch_size=3, progress=False)
    alone = [translate(model, [s], source, source, decode, progress=False)[0] for s in sentences]
    assert together == alone
    assert together[2] == " "
    assert len(set(together)) > 1


def test_references_are_grouped() -> None:
    grouped = with_references([("a", "x"), ("b", "y"), ("a", "z"), ("a", "x")])
    assert grouped == (["a", "b"], [["x", "z"], ["y"]])


def test_memory_is_counted_from_the_model() -> None:
    small = transformer.transformer(100, 100, d_model=64, n_heads=2, n_layers=1, d_ff=128)
    parameters = sum(p.numel() for p in small.parameters())
    memory = training_memory(small, tokens=1, vocab_size=100)
    assert 16 * parameters < memory < 16 * parameters + 100_000
    grown = training_memory(small, tokens=1001, vocab_size=100) - memory
    assert grown == training_memory(small, tokens=2001, vocab_size=100) - memory - grown

"""MPNet against transformers in float64, and its two streams against the paper's equations."""

from __future__ import annotations

from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
from parity_bert import MASK, SIZES, SRC, reference, saved_and_loaded
from parity_proofs import alike
from parity_registry import equal, equal_gradients, parity, perturb
from torch import Tensor, nn
from transformers import MPNetConfig, MPNetForMaskedLM, MPNetModel

from deepdive.models.bert import mpnet
from deepdive.positions import T5Bias
from deepdive.positions.t5 import widening
from deepdive.published import family, from_config, load
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives import permute, two_streams

PADDED = SRC.masked_fill(~MASK, 1)  # its padding is 1
PIECES = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(26))]
TOKENIZER = WordPieceTokenizer(PIECES, specials=BERT_SPECIALS)
TEXT = torch.tensor([[3, 9, 6, 8, 15, 7, 12, 10, 4], [3, 11, 14, 20, 6, 9, 4, 0, 0]])


@parity("mpnet", mpnet.MPNet)
def mpnet_agrees() -> None:
    theirs = reference(MPNetForMaskedLM, MPNetConfig, **SIZES)
    ours = saved_and_loaded(theirs, partial(load, head="masked_lm"))
    for row, mask in ((PADDED, MASK), (PADDED.flip(1), MASK.flip(1))):
        expected = theirs(row, mask.long()).logits[mask]
        alike(ours, theirs, ours(row, mask)[mask], expected, [family("mpnet").table("masked_lm")])
    whole = reference(MPNetModel, MPNetConfig, **SIZES | {"max_position_embeddings": 60})
    row = SRC.reshape(1, -1)  # 21 tokens: buckets that hold several distances
    equal(saved_and_loaded(whole, load)(row), whole(row).last_hidden_state)


def test_the_two_streams_are_those_of_the_paper() -> None:
    two_streams_agree()


def two_streams_agree() -> None:
    """Content and queries as two tensors, layer by layer: queries attend to content alone."""
    model: Any = perturb(mpnet.mpnet(mpnet.TINY).double().eval())
    batch = permute(TEXT, TOKENIZER, 0.5, torch.Generator().manual_seed(0))
    c, places = batch.targets.shape[1], batch.positions
    assert c > 1
    n = TEXT.shape[1] + c  # rows of the content
    rows = model.embeddings(batch.tokens, None, places)
    content, query = rows[:, :n], rows[:, n:]
    sees = batch.seen.values[..., :n]  # nobody attends to a query
    for block in model.stack.blocks:
        asked = block.attn(
            query, memory=content, memory_mask=sees[:, :, n:],
            positions=places[:, n:], memory_positions=places[:, :n],
        )  # fmt: skip
        query = block.ff_residual(block.attn_residual(query, lambda _, a=asked: a), block.ff)
        content = block(content, mask=sees[:, :, :n], positions=places[:, :n])
    states = model.permuted(batch.tokens, places, batch.seen)
    equal(states, torch.cat((content, query), 1))
    pairs = {name: (p, p) for name, p in model.named_parameters()}
    equal_gradients(states, torch.cat((content, query), 1), pairs)


def test_a_guess_sees_the_guesses_before_it_and_never_itself() -> None:
    """Gradients of each query with respect to each row that enters, through all layers."""
    model: Any = perturb(mpnet.mpnet(mpnet.TINY, n_layers=3).double().eval())
    batch = permute(TEXT[:1], TOKENIZER, 0.5, torch.Generator().manual_seed(0))
    T, c = TEXT.shape[1], batch.targets.shape[1]
    rows = model.embeddings(batch.tokens, None, batch.positions).detach().requires_grad_()
    states = model.stack(rows, mask=batch.seen, positions=batch.positions)
    for t in range(c):
        weight = torch.randn(32, dtype=torch.float64, generator=torch.Generator().manual_seed(t))
        found = torch.autograd.grad((states[0, T + c + t] * weight).sum(), rows, retain_graph=True)
        moved = (found[0][0].abs().amax(-1) > 1e-9).tolist()
        assert moved[: T - c] == [True] * (T - c)  # what is known
        assert moved[T - c : T] == [s < t for s in range(c)]  # guesses before it, not itself
        assert moved[T : T + c] == [True] * c  # all masks: directly, or as the guesses saw them
        assert moved[T + c :] == [s == t for s in range(c)]  # of the queries its own


def test_another_number_of_buckets_is_refused() -> None:
    """Theirs has a table of that size and reads it as 32 buckets."""
    config = MPNetConfig(**SIZES, relative_attention_num_buckets=16).to_dict()
    with pytest.raises(ValueError, match="relative_attention_num_buckets=16; only 32"):
        from_config(config)


def test_published_size() -> None:
    """microsoft/mpnet-base: 109.5 million numbers with a pooler, as its card has them."""
    with torch.device("meta"):
        ours = mpnet.mpnet()
        theirs = MPNetModel(MPNetConfig(max_position_embeddings=514), add_pooling_layer=False)
    assert count(ours) == count(theirs)


def count(model: nn.Module) -> int:
    return sum(p.numel() for p in model.parameters())


def one_sided(self: T5Bias, offsets: Tensor) -> Tensor:
    return widening(offsets.abs(), self.n_buckets // 2, self.max_distance)


MUTATIONS: dict[str, tuple[str, object]] = {
    "keys ahead in the buckets of those behind": ("deepdive.positions.T5Bias.buckets", one_sided),
    "positions from the first column": (
        "deepdive.models.bert.mpnet.RobertaEmbeddings.positions",
        lambda self, tokens, mask: torch.arange(tokens.shape[1]),
    ),
    "scores that are not scaled": (
        "deepdive.core.SoftmaxAttention.default_scale",
        staticmethod(lambda d_head: 1.0),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError, match="outputs differ"):
        mpnet_agrees()


def test_counted_places_in_place_of_the_texts_are_seen() -> None:
    def counted(self: Any, tokens: Tensor, positions: Tensor, seen: Any) -> Tensor:
        return self.stack(self.embeddings(tokens, None, positions), mask=seen)

    with (
        mock.patch.object(mpnet.MPNet, "permuted", counted),
        pytest.raises(AssertionError, match="outputs differ"),
    ):
        two_streams_agree()


def test_a_query_that_sees_its_own_answer_is_seen() -> None:
    def leaking(length: int, guessed: int) -> Tensor:
        seen = two_streams(length, guessed)
        seen[-guessed:, length - guessed : length] |= torch.eye(guessed).bool()
        return seen

    with (
        mock.patch("deepdive.training.objectives.mpnet.two_streams", leaking),
        pytest.raises(AssertionError),
    ):
        test_a_guess_sees_the_guesses_before_it_and_never_itself()

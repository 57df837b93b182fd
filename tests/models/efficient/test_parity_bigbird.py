"""BigBird against transformers, in float64: in training, with the blocks that transformers drew;
in evaluation, where it draws none and counts the first block for each; and short texts, in full.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, real, rows, tokens
from parity_registry import equal, equal_gradients, parity
from torch import Tensor, nn

from deepdive._fast.tiled_attention import Tile
from deepdive.attention import BlockSparseAttention, DrawnBlocks, FirstBlock
from deepdive.attention.by_position import block_sparse
from deepdive.attention.by_position.block_sparse import Draw
from deepdive.core.hooks import record
from deepdive.core.masks import Padding
from deepdive.models.efficient import bigbird as ours_in
from deepdive.published import family, load

SIZES: dict[str, Any] = {
    "vocab_size": 28,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 24,
    "max_position_embeddings": 48,
    "block_size": 3,
    "num_random_blocks": 2,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def by_the_paper(n: int, heads: int, block: int, drawn: Tensor) -> Tensor:
    """How often query t meets key s, (heads, n, n), as the paper says it, pair by pair."""
    last = (n - 1) // block
    often = torch.zeros(heads, n, n, dtype=torch.float64)
    for h in range(heads):
        for t in range(n):
            for s in range(n):
                i, j = t // block, s // block
                met = abs(i - j) <= 1 or i in (0, last) or j in (0, last)
                often[h, t, s] = float(met)
                if 0 < i < last:
                    often[h, t, s] += (drawn[h, i - 1] == j).sum()
    return often


@parity(BlockSparseAttention)
def blocks() -> None:
    """Odd lengths, a last block that is not full, padding, drawn blocks, and one drawn twice."""
    for n, block, n_random in ((22, 2, 2), (25, 3, 1), (9, 1, 1), (17, 2, 0)):
        for draw in (DrawnBlocks(n_random, seed=3), FirstBlock(n_random)):
            ours: BlockSparseAttention = BlockSparseAttention(block, n_random, draw)
            n_blocks = -(-n // block)
            assert not ours.in_full(n_blocks)
            often = by_the_paper(n, 2, block, draw(n_blocks, 2))
            keys = real([n, n - 4], n)
            bias = often.log().unsqueeze(0).masked_fill(~keys[:, None, None], -torch.inf)
            q, k, v = (rows(2, 2, n, d, seed=i) for i, d in enumerate((4, 4, 3)))
            with record(ours, "weights") as seen:
                explicit = ours(q, k, v, Padding(keys))
            assert ((seen["weights"][0][0] > 0) == (often > 0)).all()
            for output in (explicit, ours(q, k, v, Padding(keys))):
                expected = F.scaled_dot_product_attention(q, k, v, bias)
                equal(output, expected)
                equal_gradients(output, expected, {"q": (q, q), "k": (k, k), "v": (v, v)})


def test_what_is_drawn_is_new() -> None:
    """Never a neighbour, an end, or a block twice; each block is drawn about as often."""
    drawn = DrawnBlocks(3)(20, 50)
    assert drawn.shape == (50, 18, 3)
    away = (drawn - torch.arange(1, 19)[None, :, None]).abs()
    assert (away > 1).all()
    assert drawn.min() > 0
    assert drawn.max() < 19
    assert all(len(set(row)) == 3 for row in drawn.flatten(0, 1).tolist())
    counts = drawn.flatten().bincount()[1:19].double()
    assert counts.max() < 1.5 * counts.min()
    assert torch.equal(drawn, DrawnBlocks(3)(20, 50))
    assert not torch.equal(drawn, DrawnBlocks(3, seed=1)(20, 50))


def theirs_and_drawn() -> tuple[Any, list[Tensor]]:
    """A model in training, and a list that its drawn blocks (H, n - 2, r) will be put on."""
    from transformers import BigBirdConfig, BigBirdModel

    theirs = reference(BigBirdModel, BigBirdConfig, **SIZES).train()
    drawn: list[Tensor] = []
    for layer in theirs.encoder.layer:
        attention: Any = layer.attention.self
        kept: Callable[..., list[np.ndarray]] = attention._bigbird_block_rand_mask_with_head

        def spy(*given: Any, kept: Any = kept, **more: Any) -> list[np.ndarray]:
            drawn.append(torch.tensor(np.stack(found := kept(*given, **more))).long())
            return found

        attention._bigbird_block_rand_mask_with_head = spy
    return theirs, drawn


def with_blocks(drawn: list[Tensor]) -> Callable[[int, int], Draw]:
    return lambda _n_random, layer: lambda n_blocks, n_heads: drawn[layer]


def compare(ours: nn.Module, theirs: nn.Module, n: int) -> None:
    for name, parameter in theirs.named_parameters():
        if name.startswith("pooler"):  # it does not enter the states
            parameter.requires_grad_(False)
    keys = real([n, n - 5, n], n)
    ids = tokens(3, n, vocab=28).masked_fill(~keys, 0)
    segments = (ids % 2) * keys
    expected = theirs(ids, keys.long(), token_type_ids=segments).last_hidden_state
    output = ours(ids, keys, segments)
    alike(ours, theirs, output[keys], expected[keys], [family("bert").names])


@parity("bigbird")
def bigbird() -> None:
    from transformers import BigBirdConfig, BigBirdModel

    for n in (41, 48):  # 14 blocks, the last with two tokens; 16 blocks
        theirs, drawn = theirs_and_drawn()
        ours = saved_and_loaded(theirs, lambda folder, d=drawn: load(folder, draw=with_blocks(d)))
        compare(ours, theirs, n)
        assert drawn[0].shape == (4, -(-n // 3) - 2, 2)
        assert len(drawn) == 2
        assert drawn[0].any()
        assert not torch.equal(*drawn)
    for n in (41, 20):  # in evaluation; and seven blocks, in full
        theirs = reference(BigBirdModel, BigBirdConfig, **SIZES)
        compare(saved_and_loaded(theirs, load), theirs, n)


def test_a_pattern_without_its_ends_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = block_sparse.block_tiles

    def no_end(n: int, block: int, drawn: Tensor) -> list[Tile]:
        """The last block's column stands before the drawn ones."""
        tiles = []
        for tile in kept(n, block, drawn):
            if tile.blocks is not None:
                known = tile.blocks[..., : tile.blocks.shape[-1] - drawn.shape[-1] - 1]
                drawn_ones = tile.blocks[..., known.shape[-1] + 1 :]
                tile = tile._replace(blocks=torch.cat([known, drawn_ones], dim=-1))
            tiles.append(tile)
        return tiles

    monkeypatch.setattr(block_sparse, "block_tiles", no_end)
    for proof in (blocks, bigbird):
        with pytest.raises(AssertionError):
            proof()


def test_load_draws_where_it_is_told_to() -> None:
    assert ours_in.bigbird(ours_in.TINY).stack.blocks[1].attn.mechanism.draw == DrawnBlocks(
        1, seed=1
    )

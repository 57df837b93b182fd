"""Attention heads: planted relations, offsets, words from pieces, generated and real trees."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint
from deepdive.data import DataError
from deepdive.data.trees import RELATIONS, Tree, read_conllu, relation_pairs, treebank
from deepdive.explain.heads import (
    DIRECTIONS,
    ablation,
    best_offset,
    compare,
    entropy,
    guesses,
    head_accuracy,
    offsets,
    reach,
    share,
)
from deepdive.explain.words import cut, read, word_attention, word_states
from deepdive.models.transformer import transformer
from deepdive_book.data.tree_grammar import coreference_sentences, tree_sentences


def noise(*shape: int) -> Tensor:
    return torch.rand(*shape, dtype=torch.float64).softmax(-1)


def test_word_level_rows_sum_to_one_and_are_those_of_the_definition() -> None:
    weights = noise(2, 3, 7, 7)
    owner = torch.tensor([0, 1, 1, 1, 2, 3, 3])
    words = word_attention(weights, owner)
    assert words.shape == (2, 3, 4, 4)
    assert torch.allclose(words.sum(-1), torch.ones(2, 3, 4, dtype=torch.float64))
    for w in range(4):
        for v in range(4):
            pieces = [t for t in range(7) if owner[t] == w]
            to = [sum(weights[..., t, s] for s in range(7) if owner[s] == v) for t in pieces]
            torch.testing.assert_close(words[..., w, v], sum(to) / len(pieces))


def test_a_word_of_one_piece_each_is_left_as_it_was() -> None:
    weights, states = noise(2, 5, 5), torch.randn(5, 3, dtype=torch.float64)
    assert torch.equal(word_attention(weights, torch.arange(5)), weights)
    assert torch.equal(word_states(states, torch.arange(5)), states)


def test_what_does_not_fit_the_pieces_is_refused() -> None:
    with pytest.raises(ValueError, match="one row and column for each entry"):
        word_attention(noise(4, 4), torch.tensor([0, 1, 2]))
    with pytest.raises(ValueError, match=r"no token of the words \[1\]"):
        word_attention(noise(3, 3), torch.tensor([0, 2, 2]))
    with pytest.raises(ValueError, match="one state per entry"):
        word_states(torch.zeros(4, 2), torch.tensor([0, 1, 2]))


def test_pieces_know_their_word_and_a_word_without_pieces_is_unknown() -> None:
    known = {"no": [7], "unhappily": [4, 5, 6]}
    ids, owner = cut(lambda w: known.get(w, []), ["no", "?", "unhappily"], 1, 2, 3)
    assert ids.tolist() == [1, 7, 3, 4, 5, 6, 2]
    assert owner.tolist() == [0, 1, 2, 3, 3, 3, 4]


@pytest.mark.parametrize("direction", [0, 1])
def test_a_planted_head_is_right_as_often_as_planted(direction: int) -> None:
    """Head (1, 2) looks along 30 of 40 pairs, in one direction; it is found, and scored 3 / 4."""
    hits, found = [], []
    for sentence in range(10):
        pairs = [(0, 4), (1, 5), (2, 6), (3, 0)]
        attention = noise(2, 4, 7, 7)
        for dependent, head in pairs:
            spot = (dependent, head) if direction == 0 else (head, dependent)
            attention[1, 2][spot] += 2.0
        wrong = pairs[sentence % 4]
        spot = (wrong[0], 1 + wrong[0] % 2) if direction == 0 else (1 + wrong[0] % 2, wrong[0])
        attention[1, 2][spot] += 5.0
        hits.append(head_accuracy(attention, pairs))
        found.append(offsets(pairs))
    both, gaps = torch.cat(hits, -1), torch.cat(found)
    assert both[direction, 1, 2].double().mean() == 0.75
    verdict = compare(both, gaps, torch.arange(40) % 8 < 4)
    assert (verdict.layer, verdict.head) == (1, 2)
    assert verdict.direction == DIRECTIONS[direction]
    assert (verdict.accuracy, verdict.chosen) == (0.75, 0.75)
    assert (verdict.offset, verdict.baseline, verdict.pairs) == (4, 0.75, 20)


def test_a_word_never_guesses_itself() -> None:
    attention = torch.eye(4, dtype=torch.float64) + 0.01 * noise(4, 4)
    assert (guesses(attention) != torch.arange(4)).all()


def test_the_best_offset_is_that_of_brute_force() -> None:
    for _ in range(20):
        pairs = [(int(a), int(b)) for a, b in torch.randint(0, 9, (30, 2)) if a != b]
        brute = {o: sum(d + o == h for d, h in pairs) / len(pairs) for o in range(-9, 10)}
        offset, accuracy = best_offset(offsets(pairs))
        assert accuracy == max(brute.values()) == brute[offset]
        nearest = min(abs(o) for o, value in brute.items() if value == accuracy)
        assert abs(offset) == nearest


def test_the_head_is_chosen_on_one_half_and_scored_on_the_other() -> None:
    """All heads guess by chance: the one that looked best is at chance on the other half."""
    generator = torch.Generator().manual_seed(0)
    hits = torch.rand(2, 6, 12, 400, generator=generator) < 0.2
    verdict = compare(hits, torch.ones(400), torch.arange(400) < 200)
    assert verdict.chosen > 0.26
    assert abs(verdict.accuracy - 0.2) < 0.06


def test_halves_and_pairs_that_do_not_fit_are_refused() -> None:
    hits, found = torch.ones(2, 1, 1, 4).bool(), torch.ones(4)
    with pytest.raises(ValueError, match="True for some pairs and False for others"):
        compare(hits, found, torch.ones(4).bool())
    with pytest.raises(ValueError, match=r"must be \(2, L, H, P\)"):
        compare(hits, torch.ones(3), torch.ones(3).bool())
    with pytest.raises(ValueError, match="no pair"):
        best_offset(torch.tensor([]))
    with pytest.raises(ValueError, match="one row and one column"):
        guesses(torch.ones(3, 4))


def test_entropy_reach_and_share_on_known_maps() -> None:
    even, next_word = torch.full((6, 6), 1 / 6), torch.eye(6).roll(1, dims=1)
    maps = torch.stack([even, next_word])
    assert torch.allclose(entropy(maps), torch.tensor([math.log(6), 0.0]))
    assert torch.allclose(reach(maps), torch.tensor([35 / 18, (5 * 1 + 5) / 6]))
    assert torch.allclose(share(maps, [0, 5]), torch.tensor([1 / 3, 1 / 3]))


class TwoHeads(nn.Module):
    """A sum of what two heads pass on in each of two layers, 1 + 2 and 4 + 8."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ModuleList([nn.Module(), nn.Module()])
        for layer in self.weights:
            layer.weights = HookPoint()

    def forward(self) -> float:
        heads = torch.tensor([[1.0, 2.0], [4.0, 8.0]]).view(2, 1, 2, 1, 1)
        points = [m.get_submodule("weights") for m in self.weights]
        return float(sum(point(h).sum() for point, h in zip(points, heads, strict=True)))


def test_ablation_names_what_each_head_adds() -> None:
    model = TwoHeads()
    whole, change = ablation(model, "*.weights", 2, model)
    assert whole == 15
    assert change.tolist() == [[-1, -2], [-4, -8]]


def test_ablation_gives_the_change_of_each_example() -> None:
    model = TwoHeads()
    whole, change = ablation(model, "*.weights", 2, lambda: model() * torch.tensor([1.0, 3.0]))
    assert whole.tolist() == [15, 45]
    assert change.tolist() == [[[-1, -3], [-2, -6]], [[-4, -12], [-8, -24]]]


def test_reading_in_batches_is_reading_one_by_one() -> None:
    model = transformer.transformer(20, d_model=8, n_heads=2, n_layers=2, d_ff=16).encoder
    model = model.double().eval()
    ids = [torch.randint(4, 20, (n,)) for n in (5, 3, 7, 3, 6)]
    points = ("*.weights", "*.stream")
    together = dict(read(model, ids, *points, batch=3))
    assert sorted(together) == [0, 1, 2, 3, 4]
    for i, row in enumerate(ids):
        ((_, alone),) = read(model, [row], *points)
        assert len(alone) == 4
        for a, b in zip(together[i], alone, strict=True):
            assert a.shape[-2] == len(row)
            assert torch.allclose(a, b, atol=1e-12)


CONLLU = """\
# text = Mary's dog is seen by him, isn't it
1\tMary\tMary\tPROPN\t_\t_\t3\tnmod:poss\t_\t_
2\t's\t's\tPART\t_\t_\t1\tcase\t_\t_
3\tdog\tdog\tNOUN\t_\t_\t5\tnsubj:pass\t_\t_
4\tis\tbe\tAUX\t_\t_\t5\taux:pass\t_\t_
5\tseen\tsee\tVERB\t_\t_\t0\troot\t_\t_
6\tby\tby\tADP\t_\t_\t7\tcase\t_\t_
7\thim\the\tPRON\t_\t_\t5\tobl:agent\t_\t_
8-9\tisn't\t_\t_\t_\t_\t_\t_\t_\t_
8\tis\tbe\tAUX\t_\t_\t5\tparataxis\t_\t_
9\tn't\tnot\tPART\t_\t_\t8\tadvmod\t_\t_
9.1\tseen\tsee\tVERB\t_\t_\t_\t_\t_\t_
"""


def test_a_tree_is_read_with_its_relations(tmp_path: object) -> None:
    path = tmp_path / "a.conllu"  # type: ignore[operator]
    path.write_text(CONLLU + "\n" + CONLLU, encoding="utf-8")
    tree, again = read_conllu(path)
    assert tree == again
    assert tree.words[7:] == ("is", "n't")
    assert tree.heads == (2, 0, 4, 4, -1, 6, 4, 4, 7)
    assert relation_pairs(tree, "poss") == [(1, 2)]  # the 's stands for Mary
    assert relation_pairs(tree, "pobj") == [(6, 5)]  # him depends on by, and 's is no preposition
    assert relation_pairs(tree, "auxpass") == [(3, 4)]
    assert tree.depths() == [2, 3, 1, 1, 0, 2, 1, 1, 2]
    assert tree.distances()[1][5] == 5  # 's - Mary - dog - seen - him - by
    with pytest.raises(ValueError, match="relation 'subj' is unknown"):
        relation_pairs(tree, "subj")


def test_a_file_that_is_no_treebank_is_refused(tmp_path: object) -> None:
    path = tmp_path / "a.conllu"  # type: ignore[operator]
    path.write_text("1\tword\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 1: 2 columns, expected 10"):
        read_conllu(path)
    path.write_text(CONLLU.replace("\t0\troot", "\t4\troot") + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="not a tree with one root"):
        read_conllu(path)
    with pytest.raises(DataError, match="not one of train, dev, test"):
        treebank("all")


def check_tree(tree: Tree) -> None:
    assert sum(head == -1 for head in tree.heads) == 1
    distances = tree.distances()
    assert max(tree.depths()) < len(tree)
    for word, head in enumerate(tree.heads):
        assert head == -1 or distances[word][head] == distances[head][word] == 1
    assert all(distances[i][i] == 0 for i in range(len(tree)))


def test_generated_trees_are_trees_and_no_offset_is_always_right() -> None:
    trees = tree_sentences(300, seed=3)
    assert trees == tree_sentences(300, seed=3)
    assert len({tree.words for tree in trees}) == 300
    for tree in trees:
        check_tree(tree)
    for relation in RELATIONS:
        pairs = [pair for tree in trees for pair in relation_pairs(tree, relation)]
        assert len(pairs) > 50
        assert best_offset(offsets(pairs))[1] < 0.8, relation


def test_generated_antecedents_are_balanced() -> None:
    mentions = coreference_sentences(400, seed=1)
    first = [m.antecedent < m.rival for m in mentions]
    he = [m.words[m.pronoun] == "he" for m in mentions]
    for chosen in (first, he, [a == b for a, b in zip(first, he, strict=True)]):
        assert 0.4 < sum(chosen) / 400 < 0.6
    assert all(m.words[m.pronoun - 1] == "because" for m in mentions)


@pytest.mark.data("ud_english_ewt")
def test_the_treebank_has_its_published_size() -> None:
    trees = treebank("test")
    assert (len(trees), sum(len(tree) for tree in trees)) == (2077, 25094)
    for tree in trees[::50]:
        check_tree(tree)

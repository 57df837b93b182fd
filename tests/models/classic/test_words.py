"""Word vectors and ELMo: what is drawn, what is counted, what the optimum is, what each may see."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from deepdive.core.hooks import record
from deepdive.data import DataError
from deepdive.evaluate.similarity import neighbors
from deepdive.models.classic import elmo, neural_lm
from deepdive.models.classic.bilm import BiLM
from deepdive.models.classic.character_cnn import CharacterCNN
from deepdive.models.classic.elmo import ELMo, ScalarMix
from deepdive.models.classic.word2vec import SkipGram
from deepdive.tokenizers.character import spell
from deepdive.training.objectives import (
    bilm_loss,
    keep_probability,
    negative_sampling_loss,
    noise,
    skip_gram_pairs,
)
from deepdive_book.data.senses import sense_sentences


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# -- the loss


def test_the_loss_passes_gradcheck() -> None:
    true = torch.randn(3, generator=seeded(), dtype=torch.float64, requires_grad=True)
    drawn = torch.randn(3, 4, generator=seeded(1), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(negative_sampling_loss, (true, drawn))


def test_the_gradient_is_the_error_times_the_other_vector() -> None:
    """d loss / d word = (sigmoid(true) - 1) context + sum_j sigmoid(drawn_j) drawn context_j."""
    model = SkipGram(6, 4).double()
    torch.nn.init.normal_(model.contexts, generator=seeded())
    torch.nn.init.normal_(model.words, generator=seeded(1))
    ids = torch.tensor([[1, 3, 3, 5]])
    scores = model(torch.tensor([2]), ids)
    negative_sampling_loss(scores[:, 0], scores[:, 1:]).backward()
    error = torch.sigmoid(scores[0].detach()) - torch.tensor([1.0, 0, 0, 0])
    expected = error @ model.contexts.detach()[ids[0]]
    assert torch.allclose(model.words.grad[2], expected, atol=1e-12)
    assert model.words.grad[[0, 1, 3, 4, 5]].abs().max() == 0
    twice = (error[1] + error[2]) * model.words.detach()[2]  # word 3 was drawn two times
    assert torch.allclose(model.contexts.grad[3], twice, atol=1e-12)


def test_the_loss_of_huge_scores_is_finite() -> None:
    loss = negative_sampling_loss(torch.tensor([-500.0]), torch.tensor([[500.0, 0.0]]))
    assert loss.item() == pytest.approx(1000 + 0.6931, abs=1e-3)


@pytest.mark.parametrize("k", [4, 8, 16])
def test_the_optimum_is_pmi_less_log_k(k: int) -> None:
    """Vectors as long as the vocabulary, every pair of a small corpus, each drawn word as often as
    its share of k: the scores become log(N(w, c) N / (N(w) N(c))) - log k. Levy and Goldberg 2014.
    """
    counts = torch.tensor([[6, 1, 1], [1, 2, 1], [1, 1, 2]])  # N(w, c); columns sum to 8, 4, 4
    pairs = torch.tensor([(w, c) for w in range(3) for c in range(3) for _ in range(counts[w, c])])
    drawn = torch.tensor([0, 0, 1, 2]).repeat(k // 4).expand(len(pairs), k)
    torch.manual_seed(0)
    model = SkipGram(3, 3).double()
    torch.nn.init.normal_(model.contexts)
    torch.nn.init.normal_(model.words)
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-15,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> Tensor:
        optimizer.zero_grad()
        scores = model(pairs[:, 0], torch.cat([pairs[:, 1:], drawn], dim=1))
        loss = negative_sampling_loss(scores[:, 0], scores[:, 1:])
        loss.backward()
        return loss

    optimizer.step(closure)
    n = counts.double()
    pmi = (n * n.sum() / (n.sum(1, keepdim=True) * n.sum(0))).log()
    learned = model.words @ model.contexts.T
    assert (learned - (pmi - torch.tensor(float(k)).log())).abs().max() < 1e-5


# -- what is drawn, what is left out, which pairs there are


def test_the_noise_is_the_counts_to_the_power() -> None:
    counts = torch.tensor([81, 16, 1, 0])
    assert torch.allclose(noise(counts), torch.tensor([27.0, 8, 1, 0]) / 36)
    assert torch.allclose(noise(counts, power=0.0), torch.tensor([1.0, 1, 1, 0]) / 3)
    drawn = torch.multinomial(noise(counts), 60_000, replacement=True, generator=seeded())
    share = torch.bincount(drawn, minlength=4) / 60_000
    assert (share - noise(counts)).abs().max() < 0.01


def test_frequent_words_are_left_out_as_often_as_said() -> None:
    counts = torch.tensor([9000, 900, 90, 10])
    keep = keep_probability(counts, threshold=0.009)
    assert torch.allclose(keep, torch.tensor([0.1, 0.1 * 10**0.5, 1.0, 1.0]))
    tokens = torch.arange(4).repeat_interleave(counts)
    kept = tokens[torch.rand(len(tokens), generator=seeded()) < keep[tokens]]
    left = torch.bincount(kept, minlength=4)
    assert abs(left[0].item() - 900) < 90
    assert left[2:].tolist() == [90, 10]


def test_pairs_are_those_of_two_loops() -> None:
    tokens, sentences = torch.tensor([5, 6, 7, 8, 5, 9]), torch.tensor([0, 0, 0, 0, 1, 1])
    found = sorted(map(tuple, skip_gram_pairs(tokens, 2, sentences).tolist()))
    expected = sorted(
        (tokens[i].item(), tokens[j].item())
        for i in range(6)
        for j in range(max(0, i - 2), min(6, i + 3))
        if i != j and sentences[i] == sentences[j]
    )
    assert found == expected
    assert len(skip_gram_pairs(tokens, 10)) == 6 * 5
    assert skip_gram_pairs(tokens[:1], 2).shape == (0, 2)


def test_a_drawn_reach_gives_near_words_more_often() -> None:
    """With window 4 a neighbour at distance d is in reach with probability (5 - d) / 4."""
    tokens = torch.arange(20_000)
    pairs = skip_gram_pairs(tokens, 4, generator=seeded())
    distance = torch.bincount((pairs[:, 0] - pairs[:, 1]).abs(), minlength=5)[1:]
    assert torch.allclose(distance / 40_000, torch.tensor([1.0, 0.75, 0.5, 0.25]), atol=0.02)
    inner = pairs[(pairs[:, 0] >= 4) & (pairs[:, 0] < len(tokens) - 4)]
    onward = {(w, c - w) for w, c in inner.tolist() if c > w}
    assert onward == {(w, w - c) for w, c in inner.tolist() if c < w}, "one reach for both sides"


def test_the_nearest_leave_out_what_they_are_told() -> None:
    table = torch.tensor([[2.0, 0], [3.0, 0.3], [0, 1], [-1, 0]])
    ids, cosines = neighbors(table, table[0], without=(0,))
    assert ids.tolist() == [1, 2, 3]
    assert torch.allclose(cosines, F.cosine_similarity(table[ids], table[:1]))


# -- sentences


def test_generated_sentences_are_the_same_again_and_words_are_two() -> None:
    found = sense_sentences(2000)
    assert found == sense_sentences(2000)
    assert found != sense_sentences(2000, seed=1)
    assert found.generated
    tags: dict[str, set[str]] = {}
    for word, tag in (pair for sentence in found for pair in sentence):
        tags.setdefault(word, set()).add(tag)
    two = {word for word, kinds in tags.items() if len(kinds) > 1}
    assert two == {"bank", "fish", "light", "play", "watch"}
    assert all(word.islower() for word in tags), "a pattern was not filled"
    with pytest.raises(DataError, match="n"):
        sense_sentences(0)


# -- the neural language model


def test_the_window_sees_so_many_words_and_none_after() -> None:
    model = neural_lm.tiny().double()
    torch.nn.init.normal_(model.W.weight)
    tokens = torch.tensor([[4, 5, 6, 7, 8, 9]])
    before = model(tokens)
    for j in range(6):
        changed = tokens.clone()
        changed[0, j] = 20
        moved = (model(changed) - before).abs().amax((0, 2)) > 1e-9
        assert moved.tolist() == [j <= t < j + 3 for t in range(6)]


# -- two language models, and their mix


def test_neither_direction_sees_what_it_is_to_guess() -> None:
    torch.manual_seed(0)
    model = elmo.bilm(32, 12).double()
    tokens = torch.tensor([[4, 9, 5, 7, 11]])
    before, layers = model(tokens), model.layers(tokens)
    for j in range(5):
        changed = tokens.clone()
        changed[0, j] = 20
        moved = (model(changed) - before).abs().amax((0, 3)) > 1e-9  # (T, 2)
        assert moved[:, 0].tolist() == [t >= j for t in range(5)], "left to right"
        assert moved[:, 1].tolist() == [t <= j for t in range(5)], "right to left"
        for h, old in zip(model.layers(changed)[1:], layers[1:], strict=True):
            onward, back = ((h - old).abs() > 1e-9).unflatten(-1, (2, 12)).any(-1)[0].unbind(1)
            assert onward.tolist() == [t >= j for t in range(5)]
            assert back.tolist() == [t <= j for t in range(5)]


def test_the_loss_is_the_two_mean_surprises() -> None:
    torch.manual_seed(0)
    model = elmo.bilm(12, 8).double()
    tokens = torch.tensor([[1, 4, 5, 2], [1, 6, 2, 0]])
    logits = model(tokens, tokens != 0)
    surprise = -logits.log_softmax(-1)
    after = [surprise[b, t, 0, tokens[b, t + 1]] for b, n in ((0, 3), (1, 2)) for t in range(n)]
    before = [surprise[b, t, 1, tokens[b, t - 1]] for b, n in ((0, 4), (1, 3)) for t in range(1, n)]
    expected = (torch.stack(after).mean() + torch.stack(before).mean()) / 2
    # Padding is no target, nor does it guess the mark of the end that stands before it.
    assert torch.allclose(bilm_loss(logits, tokens), expected)


def test_one_word_has_another_vector_in_another_sentence() -> None:
    model = elmo.tiny().double()
    with torch.no_grad():
        a, b = model(torch.tensor([[4, 9, 5], [7, 9, 8]]))[:, 1]
        layers = model.bilm.layers(torch.tensor([[4, 9, 5], [7, 9, 8]]))
    assert not torch.allclose(a, b)
    assert torch.equal(layers[0][0, 1], layers[0][1, 1]), "the row itself is one"


def test_the_gradient_reaches_letters_layers_and_mix() -> None:
    torch.manual_seed(0)
    table = CharacterCNN(32, 12, {2: 6, 3: 6}, d_char=5)
    model = ELMo(BiLM(table, torch.nn.Linear(12, 9), 12, 2, 0.0)).double()
    chars = spell([["a", "bank", "is", "here"]], "abehiknrs")
    vectors, logits = model(chars), model.bilm(chars)
    (vectors.square().sum() + bilm_loss(logits, torch.tensor([[4, 5, 6, 7]]))).backward()
    silent = [name for name, p in model.named_parameters() if p.grad is None]
    assert not silent
    small = [n for n, p in model.named_parameters() if p.grad.abs().max() < 1e-9]
    assert not small


def test_the_mix_learns_which_layer_a_task_needs() -> None:
    torch.manual_seed(0)
    mix, rows = ScalarMix(3), torch.randn(3, 50, 8)
    optimizer = torch.optim.Adam(mix.parameters(), lr=0.1)
    for _ in range(200):
        optimizer.zero_grad()
        (mix(list(rows)) - 2 * rows[1]).square().mean().backward()
        optimizer.step()
    with record(mix, "weights") as seen:
        mix(list(rows))
    assert seen["weights"][0].argmax() == 1
    assert seen["weights"][0][1] > 0.9
    assert mix.gamma.item() == pytest.approx(2, abs=0.2)


def test_a_word_never_seen_has_a_row_and_its_place_does_not_change_it() -> None:
    torch.manual_seed(0)
    layer = CharacterCNN(32, 12, {2: 6, 4: 6}, d_char=5)
    chars = spell([["banks", "b", ""], ["", "b", "banks"]], "abkns", length=9)
    rows = layer(chars)
    assert torch.allclose(rows[0, 0], rows[1, 2], atol=1e-6)
    assert not torch.allclose(rows[0, 0], rows[0, 1], atol=1e-3)
    assert spell([["bx"]], "ab", length=3).tolist() == [[[3, 1, 0]]]

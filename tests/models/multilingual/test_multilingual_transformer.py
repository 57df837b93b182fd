"""The multilingual Transformer: its rows by hand, decoding, and one model that learns all pairs."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from deepdive.core.embeddings import TokenEmbedding
from deepdive.decoding import greedy
from deepdive.models.multilingual import multilingual_transformer as many
from deepdive.models.multilingual.multilingual_transformer import MultilingualTransformer
from deepdive.models.seq2seq.multilingual_gnmt import add_target_language_token
from deepdive.models.transformer.transformer import Transformer

SRC = torch.tensor([[5, 9, 7, 8], [4, 16, 11, 10], [6, 7, 15, 9]])  # languages 1, 0, 2
TGT = torch.tensor([[6, 12, 9], [6, 8, 13], [6, 20, 7]])  # all write language 2


def stirred() -> MultilingualTransformer:
    torch.manual_seed(0)
    return many.tiny().double().eval()


def test_a_row_is_a_token_and_a_language() -> None:
    """For one pair of languages it is a Transformer whose two tables have the language's row
    added to each of theirs, while the plain table scores.
    """
    model = stirred()
    for row in range(3):
        plain = copy.deepcopy(model)
        encoder, decoder = plain.encoder, plain.decoder
        reads, writes = model.languages.weight[SRC[row, 0] - 4], model.languages.weight[2]
        for side, language in ((encoder, reads), (decoder, writes)):
            side.embedding = TokenEmbedding(32, 32, model.languages.scale).double()
            side.embedding.weight.data = model.encoder.embedding.weight + language
        expected = Transformer(encoder, decoder, plain.head)
        one = slice(row, row + 1)
        torch.testing.assert_close(
            model(SRC[one], TGT[one]), expected(SRC[one], TGT[one]), rtol=1e-12, atol=1e-12
        )


@torch.no_grad()
def test_step_by_step_the_language_stays() -> None:
    model = stirred()
    whole, state = model(SRC, TGT), model.begin(SRC)
    steps = [model.step(TGT[:, t : t + 1], state) for t in range(2)]
    state.reorder(torch.tensor([2, 0]))
    steps.append(model.step(TGT[[2, 0], 2:], state))
    torch.testing.assert_close(torch.cat(steps[:2], 1), whole[:, :2])
    torch.testing.assert_close(steps[2], whole[[2, 0], 2:])


def test_the_output_depends_on_both_languages() -> None:
    model = stirred()
    source, _ = add_target_language_token(4, SRC[:, 1:])
    assert not torch.allclose(
        model(source, TGT), model(add_target_language_token(5, SRC[:, 1:])[0], TGT)
    )
    other = TGT.clone()
    other[:, 0] = 5
    assert not torch.allclose(model(SRC, TGT)[:, 1:], model(SRC, other)[:, 1:])


def batch(pairs: list[tuple[int, int]], seed: int) -> tuple[Tensor, Tensor]:
    """Three languages of eight words each: word w of language l is 8 + 8 l + w."""
    g = torch.Generator().manual_seed(seed)
    words = torch.randint(8, (64, 1), generator=g)
    which = torch.randint(len(pairs), (64,), generator=g)
    sides = []
    for side in (0, 1):
        language = torch.tensor([pair[side] for pair in pairs])[which][:, None]
        sides.append(torch.cat((language + 4, words + 8 + 8 * language), dim=1))
    return sides[0], sides[1]


def test_one_model_learns_all_directions_and_writes_what_is_asked_for() -> None:
    torch.manual_seed(1)
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    model = many.tiny()
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    for step in range(150):
        src, tgt = batch(pairs, step)
        loss = F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    for pair in pairs:
        src, tgt = batch([pair], 999)
        written = greedy(model, src, prompt=tgt[:, :1], eos=None, max_length=1)
        right = torch.tensor(written) == tgt[:, 1:]
        assert right.float().mean() > 0.9, pair


def test_what_is_refused() -> None:
    model = many.tiny()
    with pytest.raises(ValueError, match=r"src begins with the tokens \[8, 9, 10\]; .*4 to 6"):
        model(SRC.flip(1), TGT)
    with pytest.raises(ValueError, match=r"tgt begins with the tokens .*ask_for"):
        model(SRC, TGT.flip(1))
    with pytest.raises(ValueError, match="the last language's token is 6, but vocab_size=6"):
        many.tiny(6)

"""Replaced token detection: what is written into gaps, what is judged, what it costs."""

from __future__ import annotations

import math

import pytest
import torch
from parity_registry import equal

from deepdive.layers.heads import initialize
from deepdive.models.bert import electra
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer
from deepdive.training.objectives import (
    cross_entropy,
    electra_loss,
    electra_losses,
    mask_tokens,
    replaced_loss,
    sample_replacements,
)

PIECES = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{i}" for i in range(20))]
TOKENIZER = WordPieceTokenizer(PIECES, specials=BERT_SPECIALS)
SPECIAL = [0, 2, 3, 4, 5]
ROWS = torch.tensor([[3, 6, 7, 8], [3, 9, 6, 4]])
CHOSEN = torch.tensor([[0, 1, 0, 1], [0, 1, 0, 0]]).bool()


def seeded(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def texts(B: int, T: int) -> torch.Tensor:
    """[CLS] words [SEP], and padding behind every second text."""
    tokens = torch.randint(6, len(PIECES), (B, T), generator=seeded(0))
    tokens[:, 0], tokens[:, T - 1] = 3, 4
    tokens[::2, T // 2], tokens[::2, T // 2 + 1 :] = 4, 0
    return tokens


def small(**changes):
    return electra.pair(electra.TINY, vocab_size=len(TOKENIZER), **changes)


def certain(*drawn: int) -> torch.Tensor:
    """Logits that leave one token each."""
    logits = torch.full((len(drawn), len(TOKENIZER)), -100.0)
    logits[torch.arange(len(drawn)), torch.tensor(drawn, dtype=torch.int64)] = 100.0
    return logits


def test_by_hand() -> None:
    """A draw stands at each chosen place; one that is the text's own token is original."""
    filled, replaced = sample_replacements(certain(11, 8, 6), ROWS, CHOSEN)
    assert filled.tolist() == [[3, 11, 7, 8], [3, 6, 6, 4]]
    assert replaced.tolist() == [[False, True, False, False], [False, True, False, False]]
    assert ROWS[0, 1] == 6  # the text is left as it was


def test_draws_follow_the_generator_and_its_seed() -> None:
    tokens = torch.full((40, 50), 6)
    chosen = torch.ones_like(tokens).bool()
    logits = torch.full((2000, len(TOKENIZER)), -torch.inf)
    logits[:, 6], logits[:, 7] = 0.0, math.log(3.0)
    filled, replaced = sample_replacements(logits, tokens, chosen, seeded())
    assert abs(int(replaced.sum()) - 1500) <= 4.5 * math.sqrt(2000 * 0.75 * 0.25)
    assert torch.equal(filled, sample_replacements(logits, tokens, chosen, seeded())[0])
    assert not torch.equal(filled, sample_replacements(logits, tokens, chosen, seeded(2))[0])


def test_nothing_chosen_leaves_the_text() -> None:
    filled, replaced = sample_replacements(certain(), ROWS, torch.zeros_like(CHOSEN))
    assert torch.equal(filled, ROWS)
    assert not replaced.any()


def test_the_loss_of_the_judge_by_hand() -> None:
    logits, mask = torch.tensor([[2.0, -1.0, 5.0]]), torch.tensor([[True, True, False]])
    replaced = torch.tensor([[True, False, False]])
    by_hand = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))) / 2
    assert float(replaced_loss(logits, replaced, mask)) == pytest.approx(by_hand)
    assert float(replaced_loss(logits * 0, replaced)) == pytest.approx(math.log(2))
    assert float(electra_loss(torch.tensor(3.0), torch.tensor(0.5))) == 28.0
    assert float(electra_loss(torch.tensor(3.0), torch.tensor(0.5), weight=0.0)) == 3.0


def test_the_losses_are_those_of_its_parts() -> None:
    model, tokens = small().eval(), texts(6, 24)
    mask = tokens != TOKENIZER.pad
    draw = seeded()
    inputs, _, chosen = mask_tokens(tokens, TOKENIZER, mask=1.0, random=0.0, generator=draw)
    logits = model.generator(inputs, mask)[chosen]
    filled, replaced = sample_replacements(logits, tokens, chosen, draw)
    masked, found = electra_losses(model, tokens, TOKENIZER, mask, generator=seeded())
    assert not (replaced & ~chosen).any()
    assert not torch.isin(tokens[chosen], torch.tensor(SPECIAL)).any()
    equal(masked, cross_entropy(logits, tokens[chosen], pad=None), 1e-6)  # float32
    equal(found, replaced_loss(model.discriminator(filled, mask), replaced, mask), 1e-6)


def test_no_gradient_passes_through_a_draw() -> None:
    """The judge's loss moves the tables that both read, and nothing else of the generator."""
    model, tokens = small(), texts(6, 24)
    _, found = electra_losses(model, tokens, TOKENIZER, tokens != 0, generator=seeded())
    found.backward()
    shared = {id(p) for p in model.discriminator.parameters()}
    own = [p for p in model.generator.parameters() if id(p) not in shared]
    assert len(own) > 10
    assert all(p.grad is None for p in own)
    assert all(p.grad is not None for p in model.discriminator.parameters())


def test_a_small_pair_learns() -> None:
    """One of two texts, each word in its place: gaps can be filled, wrong words be seen."""
    torch.manual_seed(0)
    model = small(dropout=0.0)
    initialize(model, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    draw, losses = seeded(), []
    for _ in range(60):
        first_words = 6 + 8 * torch.randint(2, (16, 1), generator=draw)
        masked, found = electra_losses(
            model, first_words + torch.arange(12), TOKENIZER, rate=0.25, generator=draw
        )
        optimizer.zero_grad()
        electra_loss(masked, found).backward()
        optimizer.step()
        losses.append((masked.item(), found.item()))
    first, last = (torch.tensor(rows).mean(0) for rows in (losses[:10], losses[-10:]))
    assert (last < 0.75 * first).all(), (first, last)


def test_what_does_not_fit_is_refused() -> None:
    for logits, chosen in ((certain(6, 7), CHOSEN), (certain(6, 7, 8), CHOSEN.long()),
                           (certain(6, 7, 8), CHOSEN[:, :3])):  # fmt: skip
        with pytest.raises(ValueError, match=r"logits: got shape .* masked_logits"):
            sample_replacements(logits, ROWS, chosen)
    flat = torch.zeros(2, 4)
    for replaced, mask in ((CHOSEN[:1], None), (CHOSEN.long(), None), (CHOSEN, CHOSEN.float())):
        with pytest.raises(ValueError, match=r"expected one shape \(B, T\), a logit per token"):
            replaced_loss(flat, replaced, mask)
    with pytest.raises(ValueError, match="no token is real"):
        replaced_loss(flat, CHOSEN, torch.zeros_like(CHOSEN))
    with pytest.raises(ValueError, match="was chosen at rate=0"):
        electra_losses(small(), ROWS, TOKENIZER, rate=0.0)

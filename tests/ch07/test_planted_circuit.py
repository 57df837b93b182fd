"""The Transformer that remembers orders: it is right, and each head is for what its name says."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from deepdive.core.hooks import ablate, record
from deepdive.explain.activations.patching import patch, patch_effect
from deepdive_book.ch07.toys.planted_circuit import HEADS, WORDS, Orders, drawn_orders, ids

CLEAN = "<s> ann tea , bob milk , ann"
OTHERS = {
    "drinks": "<s> ann milk , bob tea , ann",
    "names": "<s> bob tea , ann milk , ann",
    "strangers": "<s> cem tea , bob milk , dia",
}
TEA, MILK = WORDS.index("tea"), WORDS.index("milk")


def read(logits: Tensor) -> Tensor:
    return logits[:, TEA] - logits[:, MILK]


def test_it_is_right_on_every_text() -> None:
    made = drawn_orders(200, seed=3)
    logits = Orders()(torch.stack([ids(text) for text, _, _ in made]))
    expected = torch.zeros_like(logits)
    expected[range(200), [WORDS.index(drink) for _, drink, _ in made]] = 10
    torch.testing.assert_close(logits, expected, atol=1e-9, rtol=0)
    assert len({text for text, _, _ in made}) > 80
    assert drawn_orders(5, 1) == drawn_orders(5, 1) != drawn_orders(5, 2)


@pytest.mark.parametrize(
    ("other", "enough", "needed"),
    [
        ("drinks", {"finder": 0.5, "twin": 0.5}, {"finder": 0.5, "twin": 0.5}),
        (
            "names",
            {"previous": 1, "finder": 0.5, "twin": 0.5},
            {"previous": 1, "finder": 0.5, "twin": 0.5},
        ),
        ("strangers", {"finder": 1, "twin": 1}, {"previous": 1}),
    ],
)
def test_what_each_head_carries(
    other: str, enough: dict[str, float], needed: dict[str, float]
) -> None:
    model, clean, corrupted = Orders(), ids(CLEAN)[None], ids(OTHERS[other])[None]
    for expected, texts in ((enough, (clean, corrupted)), (needed, (corrupted, clean))):
        shares = patch_effect(patch(model, "*.heads", *texts, read))
        wanted = [[expected.get(name, 0) for name in layer] for layer in HEADS]
        torch.testing.assert_close(shares, torch.tensor(wanted).double(), atol=1e-9, rtol=0)


def test_zero_names_the_constant_and_misses_the_twins() -> None:
    model, left = Orders(), []
    for layer in range(2):
        for head in range(3):
            with ablate(model, f"layers.{layer}.heads", [head]):
                left.append(round(read(model(ids(CLEAN)[None])).item(), 6))
    assert left == [0, 0, 10, 10, 10, 10]


def test_the_constant_is_the_same_for_every_text_and_others_are_not() -> None:
    model = Orders()
    tokens = torch.stack([ids(text) for text, _, _ in drawn_orders(50)])
    with record(model, "*.heads") as seen, torch.no_grad():
        model(tokens)
    spread = torch.stack([heads[0].std(0).amax((1, 2)) for heads in seen.values()])
    assert (spread > 0.1).tolist() == [[True, False, True], [True, True, True]]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="'tee' is not one of"):
        ids("<s> ann tee")
    with pytest.raises(ValueError, match="a text has 8 words, 3 came"):
        Orders()(ids("<s> ann tea")[None])

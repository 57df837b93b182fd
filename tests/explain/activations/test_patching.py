"""Activation patching: a planted circuit, beside ablation; by hand on a Transformer."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from deepdive.core.hooks import HookPoint, ablate, record, replace
from deepdive.explain.activations.patching import patch, patch_effect, patch_together
from deepdive.layers.heads import Classifier
from deepdive.models.bert import albert, bert


class Circuit(nn.Module):
    """Does word 1 say yes? Head 0 carries it to the last row; head 1 always says 1 there, and the
    answer is multiplied by that; head 2 carries word 2, and nothing reads it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.words, self.heads, self.stream = HookPoint(), HookPoint(), HookPoint()

    def forward(self, tokens: Tensor) -> Tensor:
        words = self.words(tokens[..., None].double())  # (B, T, 1)
        said = torch.zeros(len(tokens), 3, *words.shape[1:]).double()
        said[:, 0, -1], said[:, 1, -1], said[:, 2, -1] = words[:, 1], 1.0, words[:, 2]
        stream = self.stream(self.heads(said)[..., 0].transpose(1, 2))  # (B, T, 3)
        return stream[:, -1, 0] * stream[:, -1, 1]


CLEAN, CORRUPTED = torch.tensor([[1, 1, -1, 1]]), torch.tensor([[1, -1, 1, 1]])


def the_number(logits: Tensor) -> Tensor:
    return logits


def test_a_planted_circuit_is_found_place_by_place() -> None:
    found = patch(Circuit(), "words", CLEAN, CORRUPTED, the_number)
    assert (found.names, found.clean.item(), found.corrupted.item()) == (("words",), 1, -1)
    assert patch_effect(found).tolist() == [[0, 1, 0, 0]]
    assert patch_effect(patch(Circuit(), "heads", CLEAN, CORRUPTED, the_number)).tolist() == [
        [1, 0, 0]
    ]
    last = patch(Circuit(), "stream", CLEAN, CORRUPTED, the_number)
    assert patch_effect(last).tolist() == [[0, 0, 0, 1]]
    whole = patch(Circuit(), "*s", CLEAN, CORRUPTED, the_number, axis=None)
    assert patch_effect(whole).tolist() == [[1], [1]]


def test_ablation_blames_what_is_needed_and_patching_what_makes_the_difference() -> None:
    """Without head 1 there is no answer, but it does not know which."""
    model = Circuit()
    changed = []
    for head in range(3):
        with ablate(model, "heads", [head]):
            changed.append((model(CLEAN) - 1).item())
    assert changed == [-1, -1, 0]
    found = patch(model, "heads", CLEAN, CORRUPTED, the_number)
    assert patch_effect(found)[0].tolist() == [1, 0, 0]


@pytest.fixture
def model() -> Classifier:
    torch.manual_seed(0)
    model = Classifier(bert.bert(bert.TINY, vocab_size=30, n_layers=3), 32, 2).double().eval()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return model


TEXTS = torch.tensor([[1, 9, 8, 7, 2]]), torch.tensor([[1, 9, 21, 7, 2]])


def difference(logits: Tensor) -> Tensor:
    return logits[:, 0] - logits[:, 1]


def test_a_transformer_by_hand(model: Classifier) -> None:
    clean, corrupted = TEXTS
    found = patch(model, "*.stream", clean, corrupted, difference)
    assert found.patched.shape == (3, 5)
    with record(model, "*.stream") as seen, torch.no_grad():
        expected = difference(model(clean))
    torch.testing.assert_close(found.clean[None], expected)
    for layer, (name, (wanted,)) in enumerate(seen.items()):
        assert found.names[layer] == name
        for row in range(5):

            def one(came: Tensor, row: int = row, wanted: Tensor = wanted) -> Tensor:
                return torch.cat([came[:, :row], wanted[:, row : row + 1], came[:, row + 1 :]], 1)

            with replace(model, name, one), torch.no_grad():
                torch.testing.assert_close(
                    found.patched[layer, row], difference(model(corrupted))[0]
                )
    # The last layer is read at [CLS] alone, and the first is changed at the word alone.
    shares = patch_effect(found)
    torch.testing.assert_close(shares[-1], torch.tensor([1.0, 0, 0, 0, 0]).double())
    first = patch_effect(patch(model, "*.embedded", clean, corrupted, difference))[0]
    torch.testing.assert_close(first, torch.tensor([0.0, 0, 1, 0, 0]).double())


def test_places_at_once_are_places_one_by_one(model: Classifier) -> None:
    for pattern, axis in (("*.stream", 1), ("*.heads", 1), ("*.heads", 2), ("*.embedded", 2)):
        one, many = (
            patch(model, pattern, *TEXTS, difference, axis=axis, batch=batch).patched
            for batch in (1, 3)
        )
        torch.testing.assert_close(one, many)
        assert not many.requires_grad


def test_what_does_not_fit_is_refused(model: Classifier) -> None:
    with pytest.raises(ValueError, match="of one length: replace words"):
        patch(model, "*.stream", TEXTS[0], TEXTS[1][:, :4], difference)
    with pytest.raises(ValueError, match="matches no hook point"):
        patch(model, "*.strem", *TEXTS, difference)
    with pytest.raises(ValueError, match="differ in size along axis"):
        patch(model, "*m*", *TEXTS, difference)
    shared = albert.albert(albert.TINY, vocab_size=30).eval()
    with pytest.raises(ValueError, match="got 3 calls, expected 1"):
        patch(shared, "*.stream", *TEXTS, lambda states: states[:, 0, 0])
    same = patch(Circuit(), "words", CLEAN, CLEAN, the_number)
    with pytest.raises(ValueError, match="choose inputs whose outputs differ"):
        patch_effect(same)


def test_several_places_together(model: Classifier) -> None:
    """One alone is as in `patch`; all of a point's rows are the clean run; none the corrupted."""
    found = patch(model, "*.heads", *TEXTS, difference)
    for name, row in zip(found.names, found.patched, strict=True):
        for head, expected in enumerate(row):
            got = patch_together(model, {name: [head]}, *TEXTS, difference)
            torch.testing.assert_close(got, expected)
    torch.testing.assert_close(patch_together(model, {}, *TEXTS, difference), found.corrupted)
    whole = patch_together(model, {"encoder.embeddings.embedded": range(5)}, *TEXTS, difference)
    torch.testing.assert_close(whole, found.clean)
    every = {name: range(found.patched.shape[1]) for name in found.names}
    both = patch_together(model, {**every, "encoder.embeddings.embedded": [2]}, *TEXTS, difference)
    torch.testing.assert_close(both, found.clean)
    with pytest.raises(ValueError, match="of one length"):
        patch_together(model, {}, TEXTS[0], TEXTS[1][:, :4], difference)

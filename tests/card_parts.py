"""Each part of the library on a graphics card: the same results as on the CPU, gradients too.

Where there is no card, on one that is not there (`card.py`): results, and devices that do not mix.
`tests/test_card.py` runs this file; with a card, `pytest -n 8 tests/card_parts.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
import torch
from card import Card, MadeByTests, Mixed, OnCard
from laws import CASES, Case, import_cases
from scaffold import close, perturbed, placed
from torch import Tensor, nn

from deepdive.core.masks import Causal, Mask, Padding
from deepdive.models.speech import small_asr_models
from deepdive.tokenizers import CharTokenizer
from deepdive.training import fit
from deepdive.training.optim import adam
from deepdive_book.data.synthetic_speech import voices
from deepdive_book.tasks import seq2seq_asr
from deepdive_book.tasks.speech import SpeechBatches, Voices, cepstra_of, ctc, scores
from deepdive_book.tasks.transcripts import said_beside, written

import_cases()
REAL = torch.cuda.is_available()
DEVICE = "cuda" if REAL else "card"
KEYS = torch.tensor([[1] * 6, [1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0]]).bool()
# On a real card what is rounded to whole numbers may fall on the other side of a half.
ROUNDED = {"ibert": 0.1} if REAL else {}


@contextmanager
def on_card() -> Iterator[None]:
    """A card, the real one or the stand-in."""
    with ExitStack() as stack:
        before = torch.__future__.get_overwrite_module_params_on_conversion()
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        stack.callback(torch.__future__.set_overwrite_module_params_on_conversion, before)
        if REAL:  # by default convolutions round to ten bits
            stack.enter_context(torch.backends.cudnn.flags(allow_tf32=False))
        else:
            stack.enter_context(torch.no_grad())
            stack.enter_context(Card())
        stack.enter_context(MadeByTests(DEVICE))
        yield


def home(x: Tensor) -> Tensor:
    return x.here if isinstance(x, OnCard) else x.detach().cpu()


def answer(case: Case, module: nn.Module, x: Tensor, mask: Mask | None) -> Tensor:
    torch.manual_seed(0)
    return case.run(module, x, mask, None)


def gradients(module: nn.Module, output: Tensor) -> dict[str, Tensor]:
    """Return the gradients of the output's weighted sum, the weights those of a cosine."""
    weights = torch.arange(output.numel(), dtype=output.dtype).cos().view_as(output)
    (output * weights.to(output.device)).sum().backward()
    return {n: home(p.grad) for n, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_part_gives_the_same_on_a_card(name: str) -> None:
    case = placed(CASES[name]())
    kind = torch.float64 if REAL else torch.float32
    module, x = perturbed(case, dtype=kind), case.inputs(3, 6, 0)
    x = x.to(kind) if x.is_floating_point() else x
    tried = 0
    for mask in (None, Causal(), Padding(KEYS)):
        mine = copy.deepcopy(module)
        try:
            expected = answer(case, mine, x, mask)
        except (ValueError, TypeError, RuntimeError):
            continue  # refused; tests/test_laws.py says which, and why
        with on_card():
            there = copy.deepcopy(module).to(DEVICE)
            moved = Padding(KEYS.to(DEVICE)) if isinstance(mask, Padding) else mask
            got = answer(case, there, x.to(DEVICE), moved)
        assert got.device.type == DEVICE
        close(home(got), expected.detach(), ROUNDED.get(name, 1e-9 if REAL else 1e-5))
        if REAL and expected.requires_grad:
            wanted, found = gradients(mine, expected), gradients(there, got)
            assert wanted.keys() == found.keys()
            for parameter in wanted:
                close(found[parameter], wanted[parameter], ROUNDED.get(name, 1e-8))
        tried += 1
    assert tried, f"{name}: refused without a mask, with a causal one, and with padding"


def test_a_recogniser_reads_on_a_card_what_it_does_on_the_cpu() -> None:
    some = cepstra_of(voices(3, seed=0))
    letters = CharTokenizer.train(some.words)
    hears = small_asr_models.conformer_ctc(len(letters), n_layers=1)
    writes = small_asr_models.seq2seq_model(len(letters), d_model=16)
    expected, beside = scores(hears, some), said_beside(writes, some, letters)
    with on_card():
        found = scores(copy.deepcopy(hears).to(DEVICE), some)
        there = copy.deepcopy(writes).to(DEVICE)
        assert said_beside(there, some, letters) == beside
    for got, wanted in zip(found, expected, strict=True):
        assert got.device.type == "cpu"  # where a search looks at single numbers
        close(got, wanted, 1e-4)
    if REAL:  # the stand-in knows no inference mode, in which decoders write
        assert written(there, some, letters, longest=4) == written(writes, some, letters, longest=4)


def test_recognisers_learn_on_a_card_what_they_learn_on_the_cpu() -> None:
    """Two steps; without a card only the losses are computed."""
    some = cepstra_of(voices(4, seed=0))
    letters = CharTokenizer.train(some.words)
    tasks = (
        (lambda: small_asr_models.conformer_ctc(len(letters), n_layers=1), ctc),
        (lambda: small_asr_models.seq2seq_model(len(letters), d_model=16), seq2seq_asr.loss()),
    )
    for make, loss in tasks:
        torch.manual_seed(0)
        model = make().eval()
        batches = SpeechBatches(some, letters, change=Voices(masks=0))
        batch = next(iter(batches))
        expected = loss(model, batch).detach()
        with on_card():
            there = copy.deepcopy(model).to(DEVICE)
            got = loss(there, tuple(part.to(DEVICE) for part in batch))
        close(home(got), expected, 1e-4)
        if REAL:
            fit(there, batches, loss, steps=2, optimizer=adam(there), progress=False)
            assert all(p.isfinite().all() for p in there.parameters())


def test_a_device_that_is_forgotten_is_found() -> None:
    with on_card():
        x = torch.zeros(2, 3)  # what a test makes is on the card
        assert (x + torch.ones(3)).device.type == DEVICE
        with pytest.raises(RuntimeError, match="device"):
            x + torch.ones(3, device="cpu")
    if not REAL:
        with pytest.raises(Mixed, match="make the one on the device"), Card():
            torch.zeros(3, device=DEVICE) + torch.ones(3)

"""The toy that writes letter by letter: a GPT-2 of tinyshakespeare, at three moments of training.

    toy = next_letters()
    toy.model(toy.encode("ROMEO:"))           # logits (1, T, 65): what follows each letter

`tools/train_next_letters.py` made it.
"""

import json
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from deepdive.models.generative.gpt import GPT
from deepdive.models.generative.gpt2 import TINY, gpt2
from deepdive.published.weights import read
from deepdive_book.kit.live.export import restored

_ABOUT = Path(__file__).with_suffix(".json")
LENGTH = 64


class LetterToy(NamedTuple):
    """A trained model, the letters it knows, its weights on the way there (name -> state), and
    what it loses on text that it has not learned from, in nats a letter: name -> mean, and the
    ends of its 95 % interval. The last name is that of its weights now.
    """

    model: GPT
    letters: str
    snapshots: dict[str, dict[str, Tensor]]
    losses: dict[str, list[float]]

    def encode(self, text: str) -> Tensor:
        """Return the letters' numbers, (1, T). Raises ValueError for one that it does not know."""
        return torch.tensor([[self.letters.index(letter) for letter in text]])

    @property
    def trained(self) -> str:
        return list(self.losses)[-1]


def build_next_letters(letters: int) -> GPT:
    """Return the model of `next_letters`, untrained: 3 layers, 48 wide, 4 heads, 64 places."""
    torch.manual_seed(0)
    return gpt2(TINY, vocab_size=letters, d_model=48, n_layers=3, d_ff=192, max_length=LENGTH)


def next_letters() -> LetterToy:
    """Return the model that says which letter comes next in Shakespeare."""
    about = json.loads(_ABOUT.read_text(encoding="utf-8"))
    model = build_next_letters(len(about["letters"])).eval()
    like, names = model.state_dict(), list(about["losses"])
    states = []
    for file in ("next_letters_steps", "next_letters"):
        kept = read(_ABOUT.with_name(f"{file}.safetensors"))
        states += [
            restored(codes, scales, like)
            for codes, scales in zip(kept["codes"], kept["scales"], strict=True)
        ]
    model.load_state_dict(states[-1])
    earlier = dict(zip(names[:-1], states[:-1], strict=True))
    return LetterToy(model, about["letters"], earlier, about["losses"])

"""A small Transformer that translates French number words into digits, at several moments of its
training. `tools/train_number_words.py` made it; a test holds the hash of its weights.
"""

import json
from pathlib import Path
from typing import NamedTuple

from torch import Tensor

from deepdive.core import PreNorm
from deepdive.models.transformer.transformer import Transformer, transformer
from deepdive.published.weights import adopt, read
from deepdive.tokenizers import CharTokenizer, WordTokenizer
from deepdive_book.kit.live.export import restored

_ABOUT = Path(__file__).with_suffix(".json")


class Toy(NamedTuple):
    """A trained model, its tokenisers, its weights on the way there (name -> state), and the name
    of its weights now.
    """

    model: Transformer
    source: WordTokenizer
    target: CharTokenizer
    snapshots: dict[str, dict[str, Tensor]]
    trained: str


def build(source: WordTokenizer, target: CharTokenizer) -> Transformer:
    """Return the model of `number_words`, untrained: 2 + 2 layers, 24 wide, 2 heads."""
    return transformer(
        len(source),
        len(target),
        d_model=24,
        n_heads=2,
        n_layers=2,
        d_ff=48,
        dropout=0.0,
        residual=PreNorm,
    )


def number_words() -> Toy:
    """Return the translator of French number words, zéro to 999 999, into digits."""
    about = json.loads(_ABOUT.read_text(encoding="utf-8"))
    source, target = WordTokenizer(about["source"]), CharTokenizer(about["target"])
    model = build(source, target).eval()
    adopt(model, read(_ABOUT.with_suffix(".safetensors")))
    kept, like = read(_ABOUT.with_name("number_words_steps.safetensors")), model.state_dict()
    states = zip(about["snapshots"], kept["codes"], kept["scales"], strict=True)
    snapshots = {name: restored(c, s, like) for name, c, s in states}
    return Toy(model, source, target, snapshots, about["trained"])

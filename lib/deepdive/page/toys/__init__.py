"""Our own toy models, trained and small enough to be kept here: a page reads one in a second.

`number_words` reads French number words and writes digits; `gap_words` fills gaps in English
sentences; `drawn_digits` reads a digit that is drawn; `trays` finds shapes in generated scenes;
`reviews` judges generated ones; `letters` writes
Shakespeare letter by letter. The scripts `tools/train_*.py` of these names made their weights;
a test holds their hashes.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from deepdive.layers import PreNorm
from deepdive.layers.heads import ImageClassifier
from deepdive.models.bert.bert import bert
from deepdive.models.bert.pretraining import BertForMaskedLM, for_masked_lm
from deepdive.models.transformer.transformer import Transformer, transformer
from deepdive.models.vision.detr import Detr, detr
from deepdive.models.vision.vit import TINY as SMALL_IMAGES
from deepdive.models.vision.vit import vit
from deepdive.page.live.export import restored
from deepdive.page.runs.tray_runs import SMALL
from deepdive.published.weights import adopt, read
from deepdive.tokenizers import CharTokenizer, WordTokenizer

FOLDER = Path(__file__).parent
GAP_SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
GAP_TIED = ("masked.head.embedding.weight", "bert.embeddings.tokens.weight")


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
    about = json.loads((FOLDER / "number_words.json").read_text(encoding="utf-8"))
    source, target = WordTokenizer(about["source"]), CharTokenizer(about["target"])
    model = build(source, target).eval()
    adopt(model, read(FOLDER / "number_words.safetensors"))
    kept, like = read(FOLDER / "number_words_steps.safetensors"), model.state_dict()
    states = zip(about["snapshots"], kept["codes"], kept["scales"], strict=True)
    snapshots = {name: restored(c, s, like) for name, c, s in states}
    return Toy(model, source, target, snapshots, about["trained"])


class GapToy(NamedTuple):
    """A trained model that fills gaps, its tokeniser, and what was measured on sentences that it
    has not learned from: name -> share of right words, and the ends of its 95 % interval.
    """

    model: BertForMaskedLM
    tokenizer: WordTokenizer
    sentences: int
    tested: int
    right: dict[str, list[float]]


def cut_words(text: str) -> list[str]:
    """Return the words and signs of an English text in small letters: what `gap_words` reads."""
    plain = text.lower().replace("\u2019", "'")
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)?|[^\sa-z0-9]", plain)


def build_gap_words(words: int) -> BertForMaskedLM:
    """Return the model of `gap_words`, untrained: 2 layers, 64 wide, 4 heads."""
    torch.manual_seed(0)
    encoder = bert(vocab_size=words, d_model=64, n_heads=4, n_layers=2, d_ff=128, max_length=24,
                   n_segments=0, dropout=0.0)  # fmt: skip
    return for_masked_lm(encoder)


def gap_words() -> GapToy:
    """Return the model that fills gaps in short English sentences of everyday life."""
    about = json.loads((FOLDER / "gap_words.json").read_text(encoding="utf-8"))
    tokenizer = WordTokenizer(about["vocabulary"], specials=GAP_SPECIALS)
    model, kept = build_gap_words(len(tokenizer)), read(FOLDER / "gap_words.safetensors")
    like = {name: t for name, t in model.state_dict().items() if name != GAP_TIED[0]}
    model.load_state_dict(restored(kept["codes"], kept["scales"], like, tied=GAP_TIED))
    return GapToy(model.eval(), tokenizer, about["sentences"], about["tested"], about["right"])


class DrawnToy(NamedTuple):
    """A trained model that reads drawn digits of 8 x 8 pixels; how many it learned from and was
    tested with; and name -> share of right ones in the test, and the ends of its 95 % interval.
    """

    model: ImageClassifier
    learned: int
    tested: int
    right: dict[str, list[float]]


def build_drawn_digits() -> ImageClassifier:
    """Return the model of `drawn_digits`, untrained: 3 layers, 48 wide, 4 heads, patches of 2 x 2
    pixels.
    """
    torch.manual_seed(0)
    config = SMALL_IMAGES.but(d_model=48, n_layers=3, d_ff=96)
    return ImageClassifier(vit(config), config.d_model, 10)


def drawn_digits() -> DrawnToy:
    """Return the model that reads a drawn digit (`deepdive.page.live.drawing`)."""
    about = json.loads((FOLDER / "drawn_digits.json").read_text(encoding="utf-8"))
    model = build_drawn_digits()
    adopt(model, read(FOLDER / "drawn_digits.safetensors"))
    return DrawnToy(model.eval(), about["learned"], about["tested"], about["right"])


def trays() -> Detr:
    """Return the DETR that finds up to three things in generated scenes of 32 x 32 pixels."""
    model = detr(SMALL)
    adopt(model, read(FOLDER / "trays.safetensors"))
    return model.eval()

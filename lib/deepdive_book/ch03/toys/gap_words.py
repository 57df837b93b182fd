"""A small BERT that predicts masked words in short English sentences. `tools/train_gap_words.py`
made it; a test holds the hash of its weights.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

import torch

from deepdive.models.bert.bert import bert
from deepdive.models.bert.pretraining import BertForMaskedLM, for_masked_lm
from deepdive.published.weights import read
from deepdive.tokenizers import WordTokenizer
from deepdive_book.kit.live.export import restored

_ABOUT = Path(__file__).with_suffix(".json")
GAP_SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
GAP_TIED = ("masked.head.embedding.weight", "bert.embeddings.tokens.weight")


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
    """Return the words and signs of an English text in small letters: what `masked_words` reads."""
    plain = text.lower().replace("\u2019", "'")
    return re.findall(r"[a-z0-9]+(?:'[a-z]+)?|[^\sa-z0-9]", plain)


def build_gap_words(words: int) -> BertForMaskedLM:
    """Return the model of `masked_words`, untrained: 2 layers, 64 wide, 4 heads."""
    torch.manual_seed(0)
    encoder = bert(vocab_size=words, d_model=64, n_heads=4, n_layers=2, d_ff=128, max_length=24,
                   n_segments=0, dropout=0.0)  # fmt: skip
    return for_masked_lm(encoder)


def masked_words() -> GapToy:
    """Return the model that fills gaps in short English sentences of everyday life."""
    about = json.loads(_ABOUT.read_text(encoding="utf-8"))
    tokenizer = WordTokenizer(about["vocabulary"], specials=GAP_SPECIALS)
    model, kept = build_gap_words(len(tokenizer)), read(_ABOUT.with_suffix(".safetensors"))
    like = {name: t for name, t in model.state_dict().items() if name != GAP_TIED[0]}
    model.load_state_dict(restored(kept["codes"], kept["scales"], like, tied=GAP_TIED))
    return GapToy(model.eval(), tokenizer, about["sentences"], about["tested"], about["right"])

"""A small T5 as transformers would publish it: a folder with config, weights and its pieces."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from parity_registry import perturb
from tokenizers import Tokenizer as Library
from tokenizers import models
from transformers import T5Config, T5ForConditionalGeneration


def a_t5(folder: Path, texts: Iterable[str]) -> Path:
    """Each word of the texts is one piece."""
    words = sorted({word for text in texts for word in text.split()})
    pieces = [(name, 0.0) for name in ("<pad>", "</s>", "<unk>")]
    pieces += [(f"\u2581{word}", -5.0) for word in words]
    folder.mkdir(exist_ok=True)
    Library(models.Unigram(pieces, 2)).save(str(folder / "tokenizer.json"))
    config = T5Config(vocab_size=256, d_model=24, d_kv=6, d_ff=32, num_layers=3,
                      num_decoder_layers=2, num_heads=4, decoder_start_token_id=0)  # fmt: skip
    perturb(T5ForConditionalGeneration(config), size=0.05).save_pretrained(folder)
    return folder

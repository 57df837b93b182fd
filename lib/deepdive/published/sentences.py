"""Folders that sentence-transformers wrote: an encoder, its pooling, and what follows it.

model = load("a/folder")                       # modules.json says which steps there are
"""

from pathlib import Path
from typing import Any

from deepdive.models.bert.sbert import Pooling, SentenceEncoder, cls, maximum, mean, normalise
from deepdive.published import folders
from deepdive.published.weights import read_config, read_json

POOLINGS: dict[str, Pooling] = {"cls": cls, "mean": mean, "max": maximum}


def load(folder: str | Path) -> SentenceEncoder:
    """Return the model of a folder that sentence-transformers wrote, in evaluation mode.

    Raises ValueError for a module that is not Transformer, Pooling or Normalize, in this order, and
    for another pooling than one of cls, mean and max.
    """
    folder = Path(folder)
    steps = read_json(folder / "modules.json")
    try:
        kinds = [step["type"].rpartition(".")[2] for step in steps]
        first, second = (folder / step["path"] for step in steps[:2])
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{folder / 'modules.json'} names no two modules with type and path: fetch it again"
        ) from error
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise ValueError(
            f"{folder / 'modules.json'} has {', '.join(kinds)}; only Transformer, Pooling and "
            "Normalize are built here"
        )
    config = read_config(second)
    after = normalise if kinds[-1] == "Normalize" else None
    encoder = folders.load(first)
    return SentenceEncoder(encoder, pooling_of(config), after).eval()


def pooling_of(config: dict[str, Any]) -> Pooling:
    """Return the pooling that a Pooling module's config.json names, in its old form or its new.

    Raises ValueError unless it is exactly one of cls, mean and max.
    """
    given = config.get("pooling_mode")
    if given is None:  # pooling_mode_mean_tokens: true, and so on
        names = [k for k, v in config.items() if k.startswith("pooling_mode_") and v is True]
        given = [name.removeprefix("pooling_mode_").removesuffix("s") for name in names]
        given = [name.removesuffix("_token") for name in given]
    modes = [given] if isinstance(given, str) else list(given)
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise ValueError(f"pooling is {', '.join(modes) or 'none'}; expected cls, mean or max")
    return POOLINGS[modes[0]]

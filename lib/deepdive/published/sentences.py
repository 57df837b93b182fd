"""Load and save sentence-transformers folders: an encoder, its pooling, and further modules.

model = load("a/folder")                       # modules.json lists the modules
save(model, "another/folder")                  # sentence-transformers loads it; so does `load`
"""

import json
from pathlib import Path
from typing import Any

from deepdive.models.bert.sbert import Pooling, SentenceEncoder, cls, maximum, mean, normalize
from deepdive.models.multilingual.labse import Squashed
from deepdive.published import folders
from deepdive.published.names import Names
from deepdive.published.weights import adopt, read, read_config, read_json
from deepdive.training.checkpoint import write_tensors

POOLINGS: dict[str, Pooling] = {"cls": cls, "mean": mean, "max": maximum}
STEPS = ("Transformer", "Pooling", "Dense", "Normalize")
DENSE = Names({"linear": "dense"})
TANH = "torch.nn.modules.activation.Tanh"


def load(folder: str | Path) -> SentenceEncoder:
    """Return the model of a sentence-transformers folder, in evaluation mode.

    Raises ValueError for modules other than Transformer, Pooling, and optionally Normalize or, as
    in LaBSE, Dense and Normalize; for a pooling other than cls, mean or max; and for a Dense module
    other than a matrix with a bias and a tanh.
    """
    folder = Path(folder)
    steps = read_json(folder / "modules.json")
    try:
        kinds = [step["type"].rpartition(".")[2] for step in steps]
        first, second, *rest = (folder / step["path"] for step in steps)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{folder / 'modules.json'} lists no two modules with type and path: download it again"
        ) from error
    if kinds not in ([*STEPS[:2]], [*STEPS[:2], "Normalize"], [*STEPS]):
        raise ValueError(
            f"{folder / 'modules.json'} has {', '.join(kinds)}; only Transformer, Pooling and "
            "Normalize are supported, or LaBSE's four: " + ", ".join(STEPS)
        )
    config = read_config(second)
    encoder = folders.load(first)
    if len(kinds) == len(STEPS):
        return SentenceEncoder(encoder, pooling_of(config), squashed(rest[0])).eval()
    after = normalize if kinds[-1] == "Normalize" else None
    return SentenceEncoder(encoder, pooling_of(config), after).eval()


def squashed(folder: Path) -> Squashed:
    """Return a Dense module followed by Normalize. Raises ValueError unless it has a bias and a
    tanh, and its input and output are the sentence embedding.
    """
    config = read_config(folder)
    ours = {"bias": True, "activation_function": TANH}
    ours |= dict.fromkeys(("module_input_name", "module_output_name"), "sentence_embedding")
    other = {name: config[name] for name in ours if config.get(name, ours[name]) != ours[name]}
    if other:
        raise ValueError(f"{folder / 'config.json'} has {other}; only {ours} is supported")
    made = Squashed(config["in_features"], config["out_features"])
    adopt(made, read(folder), [DENSE])
    return made


def save(model: SentenceEncoder, folder: str | Path) -> Path:
    """Write a model in the sentence-transformers format, without tokenizer files. Returns the
    folder. Raises ValueError for a pooling, or a module after it, that has no published form, and
    for an encoder without a `config`.
    """
    target = Path(folder)
    pooling = next((name for name, one in POOLINGS.items() if one is model.pooling), None)
    after = model.after
    if pooling is None or not (after is None or after is normalize or isinstance(after, Squashed)):
        raise ValueError(
            f"model: got pooling {model.pooling!r} and after={after!r}; expected "
            f"{', '.join(POOLINGS)}, and after it None, normalise or Squashed"
        )
    folders.save(model.encoder, target)
    width = model.encoder.get_submodule("embeddings.tokens").d_model
    written = {"Transformer": "", "Pooling": "1_Pooling"}
    settings: dict[str, dict[str, Any]] = {
        "1_Pooling": {"embedding_dimension": width, "pooling_mode": pooling}
    }
    if isinstance(after, Squashed):
        written["Dense"] = "2_Dense"
        out, into = after.dense.weight.shape
        settings["2_Dense"] = {
            "in_features": into, "out_features": out, "bias": True, "activation_function": TANH,
        }  # fmt: skip
    if after is not None:
        written["Normalize"] = f"{len(written)}_Normalize"
        settings[written["Normalize"]] = {}
    for path, values in settings.items():
        (target / path).mkdir(exist_ok=True)
        if values:
            (target / path / "config.json").write_text(json.dumps(values, indent=2) + "\n", "utf-8")
    if isinstance(after, Squashed):
        write_tensors(DENSE.theirs(dict(after.state_dict())), target / "2_Dense/model.safetensors")
    kinds = "sentence_transformers.models"
    steps = [
        {"idx": i, "name": str(i), "path": path, "type": f"{kinds}.{kind}"}
        for i, (kind, path) in enumerate(written.items())
    ]
    (target / "modules.json").write_text(json.dumps(steps, indent=2) + "\n", "utf-8")
    return target


def pooling_of(config: dict[str, Any]) -> Pooling:
    """Return the pooling that a Pooling module's config.json names, in the old or new format.

    Raises ValueError unless it is exactly one of cls, mean and max.
    """
    given = config.get("pooling_mode")
    if given is None:  # pooling_mode_mean_tokens: true, and so on
        names = [k for k, v in config.items() if k.startswith("pooling_mode_") and v is True]
        given = [name.removeprefix("pooling_mode_").removesuffix("s") for name in names]
        given = [name.removesuffix("_token") for name in given]
    modes = [given] if isinstance(given, str) else list(given)
    if len(modes) != 1 or modes[0] not in POOLINGS:
        raise ValueError(f"pooling: got {', '.join(modes) or 'none'}, expected cls, mean or max")
    return POOLINGS[modes[0]]

"""A classifier on a published encoder: begun from its folder, and saved as a folder of that form.

    model = begin(minilm(), n_classes=2)                 # encoder and pooler published, `out` new
    ...                                                  # fine-tune it
    save(model, "tuned", like=minilm(), names=("negative", "positive"))
    pipeline("text-classification", model="tuned")       # transformers reads it; so does `load`

The form is that of BertForSequenceClassification, or RobertaForSequenceClassification: a folder
with config.json (which names the classes), model.safetensors, and the tokeniser's files.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from deepdive.layers.heads import Classifier
from deepdive.published.folders import family, from_config
from deepdive.published.names import Names
from deepdive.published.sizes import plan
from deepdive.published.weights import adopt, read, read_config
from deepdive.training.checkpoint import write_tensors

TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
)


@dataclass(frozen=True)
class Form:
    """How one family publishes a classifier: its class, the names of what stands on the encoder,
    and which of our parts an encoder's folder lacks.
    """

    architecture: str
    head: Names
    new: tuple[str, ...]


FORMS = {
    "bert": Form(
        "BertForSequenceClassification",
        Names({"bert.pooler": "pooler", "classifier": "out"}),
        ("out.",),
    ),
    "roberta": Form(
        "RobertaForSequenceClassification",
        Names({"classifier.dense": "pooler.dense", "classifier.out_proj": "out"}),
        ("out.", "pooler."),
    ),
}


def begin(folder: str | Path, n_classes: int, dropout: float = 0.1) -> Classifier:
    """Return a classifier in training mode: encoder and pooler from `folder`, the last layer new.

    RoBERTa was trained without a pooler, so there the pooler is new too. Raises ValueError for
    tensors that are unknown or missing, by name, and for a model that is neither.
    """
    config = read_config(folder)
    form, kind, tensors = form_of(config), family(config["model_type"]), read(folder)
    plan(kind, kind.config(config), tensors)
    model = _empty(config, n_classes, dropout)
    fresh = {name: x for name, x in model.state_dict().items() if name.startswith(form.new)}
    table = _table(kind.model_type)
    if not any(name.startswith(kind.prefix) for name in tensors):
        tensors = {kind.prefix + name: tensor for name, tensor in tensors.items()}
    given = {
        name: tensor
        for name, tensor in tensors.items()
        if (table.knows(name) and not table.ours(name).startswith(form.new))
        or not name.removeprefix(kind.prefix).startswith(kind.unused)
    }
    adopt(model, {**given, **fresh}, [*kind.older, table])
    return model.train()


def load(folder: str | Path) -> Classifier:
    """Return the classifier that `save`, or transformers' `save_pretrained`, put into `folder`, in
    evaluation mode.
    """
    config = read_config(folder)
    labels = config.get("id2label")
    if not labels:
        raise ValueError(f"folder: {folder}/config.json names no classes (id2label): not tuned yet")
    form_of(config)  # it refuses another family
    kind, tensors = family(config["model_type"]), read(folder)
    record = kind.config(config)
    plan(kind, record, tensors)
    model = _empty(config, len(labels), record.dropout)
    counted = [f"{prefix}embeddings.position_ids" for prefix in ("", kind.prefix)]
    adopt(model, tensors, [_table(kind.model_type)], leave_out=counted)
    return model.eval()


def save(model: Classifier, folder: str | Path, *, like: str | Path, names: Sequence[str]) -> Path:
    """Write `model` as a folder that transformers and `load` read; return the folder.

    like: the folder that it was begun from: its config and tokeniser files are taken over.
    names: what the classes are called.
    Raises ValueError where the names are not as many as the classes, or the sizes not those of
    `like`; then nothing is written.
    """
    config, target = read_config(like), Path(folder)
    if len(names) != model.out.out_features or len(set(names)) != len(names):
        raise ValueError(f"names: came as {list(names)} for {model.out.out_features} classes")
    tensors = published(model, config["model_type"])
    _check_sizes(config, tensors, len(names), Path(like))
    target.mkdir(parents=True, exist_ok=True)
    write_tensors(tensors, target / "model.safetensors")
    for name in TOKENIZER:
        if (Path(like) / name).is_file():
            shutil.copyfile(Path(like) / name, target / name)
    config["architectures"] = [form_of(config).architecture]
    config["id2label"] = {str(k): name for k, name in enumerate(names)}
    config["label2id"] = {name: k for k, name in enumerate(names)}
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return target


def published(model: Classifier, model_type: str = "bert") -> dict[str, Tensor]:
    """Return the weights under their published names, keys and values apart."""
    return _table(model_type).theirs(model.state_dict())


def _table(model_type: str) -> Names:
    """Return the names of encoder and head."""
    kind = family(model_type)
    return kind.table().within(kind.prefix, "encoder.") | form_of({"model_type": model_type}).head


def form_of(config: Mapping[str, Any]) -> Form:
    """Return how the model of a config.json is published; raises ValueError for another family."""
    kind = config.get("model_type")
    if kind not in FORMS:
        raise ValueError(f"config is of a model of type {kind!r}; expected {' or '.join(FORMS)}")
    return FORMS[kind]


def _empty(config: Mapping[str, Any], n_classes: int, dropout: float) -> Classifier:
    form_of(config)  # it refuses another family
    record = family(config["model_type"]).config(config)
    return Classifier(from_config(config), record.d_model, n_classes, dropout)


def _check_sizes(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor], n_classes: int, like: Path
) -> None:
    for name, tensor in published(_empty(config, n_classes, 0.0), config["model_type"]).items():
        if name not in tensors or tensors[name].shape != tensor.shape:
            found = tuple(tensors[name].shape) if name in tensors else "none"
            raise ValueError(
                f"like: {like} has {name} of shape {tuple(tensor.shape)}, the model {found}: give "
                "the folder that the model was begun from"
            )

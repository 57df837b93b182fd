"""Classifiers on published encoders: build one from an encoder's checkpoint, load and save it.

    model = begin(minilm(), n_classes=2)                 # pretrained encoder and pooler, new `out`
    ...                                                  # fine-tune it
    save(model, "tuned", like=minilm(), names=("negative", "positive"))
    pipeline("text-classification", model="tuned")       # transformers reads it; so does `load`

The format is that of BertForSequenceClassification, or RobertaForSequenceClassification, and for
images that of ViTForImageClassification, DeiTForImageClassification or
DeiTForImageClassificationWithTeacher: a folder with config.json (which names the classes),
model.safetensors, and the tokenizer's files, or the image preprocessor's config.
"""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.layers.heads import Classifier, ImageClassifier
from deepdive.models.vision.deit import Distilled
from deepdive.published.folders import family, from_config
from deepdive.published.form import completed
from deepdive.published.names import Names
from deepdive.published.sizes import plan
from deepdive.published.weights import adopt, read, read_config
from deepdive.training.checkpoint import write_tensors

PREPARATION = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt",
    "vocab.json", "merges.txt", "preprocessor_config.json",
)  # fmt: skip


@dataclass(frozen=True)
class Form:
    """How one family publishes a classifier.

    architecture  the transformers class of encoder and head
    head          the name table of the head
    new           prefixes of our parameters that an encoder's checkpoint lacks
    kind          our class of encoder and head
    last          our output layer, with one row per class
    build         (encoder, width, n_classes, dropout) -> encoder and head
    """

    architecture: str
    head: Names
    new: tuple[str, ...]
    kind: type[nn.Module] = Classifier
    last: str = "out"
    build: Callable[..., nn.Module] = Classifier


def _on_first(encoder: nn.Module, d_model: int, n_classes: int, dropout: float) -> nn.Module:
    return ImageClassifier(encoder, d_model, n_classes)


def _on_both(encoder: Any, d_model: int, n_classes: int, dropout: float) -> nn.Module:
    return Distilled(encoder, n_classes)


OUT = Names({"classifier": "out"})
TAUGHT = Names({"cls_classifier": "label", "distillation_classifier": "taught"})
POOLED = Names({"bert.pooler": "pooler", "classifier": "out"})
DENSE = Names({"classifier.dense": "pooler.dense", "classifier.out_proj": "out"})
TEACHER = "DeiTForImageClassificationWithTeacher"
FORMS = {
    "bert": (Form("BertForSequenceClassification", POOLED, ("out.",)),),
    "roberta": (Form("RobertaForSequenceClassification", DENSE, ("out.", "pooler.")),),
    "vit": (Form("ViTForImageClassification", OUT, ("out.",), ImageClassifier, build=_on_first),),
    "deit": (
        Form(TEACHER, TAUGHT, ("label.", "taught."), Distilled, "label", _on_both),
        Form("DeiTForImageClassification", OUT, ("out.",), ImageClassifier, build=_on_first),
    ),
}


def begin(
    folder: str | Path, n_classes: int, dropout: float = 0.1, architecture: str | None = None
) -> Any:
    """Return a classifier in training mode: encoder and pooler from `folder`, output layer new.

    RoBERTa was pretrained without a pooler, so its pooler is new as well. An image encoder has no
    pooler, and no dropout before its output layer. `architecture`: one of the family's, if it has
    several; by default that of `folder`, or the family's first. Raises ValueError, with the names,
    for unknown or missing tensors, and for a model of another family.
    """
    config = read_config(folder)
    config = config if architecture is None else {**config, "architectures": [architecture]}
    form, kind, tensors = form_of(config), family(config["model_type"]), read(folder)
    record = kind.config(config)
    plan(kind, record, tensors)
    model = _empty(config, n_classes, dropout)
    fresh = {name: x for name, x in model.state_dict().items() if name.startswith(form.new)}
    table = _table(config)
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


def load(folder: str | Path) -> Any:
    """Return the classifier that `save`, or transformers' `save_pretrained`, wrote to `folder`, in
    evaluation mode.
    """
    config = read_config(folder)
    form = form_of(config)  # raises for another family
    kind, tensors = family(config["model_type"]), read(folder)
    record = kind.config(config)
    plan(kind, record, tensors)
    (last,) = _table(config).theirs({f"{form.last}.weight": torch.empty(0)})
    if last not in tensors:
        raise ValueError(
            f"folder: the weights in {folder} have no {last}, so it is not fine-tuned yet; pass it "
            "to `begin` with n_classes"
        )
    labels = completed(kind.model_type, config)["id2label"]  # transformers omits the default two
    model = _empty(config, len(labels), record.dropout)
    counted = [f"{prefix}embeddings.position_ids" for prefix in ("", kind.prefix)]
    adopt(model, tensors, [_table(config)], leave_out=counted)
    return model.eval()


def save(model: nn.Module, folder: str | Path, *, like: str | Path, names: Sequence[str]) -> Path:
    """Write `model` to a folder that transformers and `load` can load; return the folder.

    like: the folder that was passed to `begin`: its config and tokenizer files are copied.
    names: the class names.
    Raises ValueError if the number of names differs from the number of classes, or the sizes from
    those of `like`; then nothing is written.
    """
    config, target = read_config(like), Path(folder)
    form = _form_for(model, config["model_type"])
    config["architectures"] = [form.architecture]
    n_classes = model.get_submodule(form.last).out_features
    if len(names) != n_classes or len(set(names)) != len(names):
        raise ValueError(f"names: got {list(names)} for {n_classes} classes")
    tensors = _table(config).theirs(model.state_dict())
    _check_sizes(config, tensors, len(names), Path(like))
    target.mkdir(parents=True, exist_ok=True)
    write_tensors(tensors, target / "model.safetensors")
    for name in PREPARATION:
        if (Path(like) / name).is_file():
            shutil.copyfile(Path(like) / name, target / name)
    config["id2label"] = {str(k): name for k, name in enumerate(names)}
    config["label2id"] = {name: k for k, name in enumerate(names)}
    (target / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return target


def published(model: nn.Module, model_type: str = "bert") -> dict[str, Tensor]:
    """Return the weights under their published names, keys and values as separate tensors."""
    form = _form_for(model, model_type)
    record = getattr(model.encoder, "config", None)
    config = {"model_type": model_type, "architectures": [form.architecture]}
    return _table(config, record).theirs(model.state_dict())


def _table(config: Mapping[str, Any], record: Any = None) -> Names:
    """Return the name table of encoder and head; `record`: our config, if `config` is partial."""
    kind = family(config["model_type"])
    record = kind.config(config) if record is None else record
    return kind.table(config=record).within(kind.prefix, "encoder.") | form_of(config).head


def form_of(config: Mapping[str, Any]) -> Form:
    """Return the published form that a config.json names, or its family's first form. Raises
    ValueError for another family.
    """
    kind = config.get("model_type")
    if kind not in FORMS:
        raise ValueError(f"config has model_type={kind!r}; expected {' or '.join(FORMS)}")
    names = config.get("architectures") or ()
    return next((form for form in FORMS[kind] if form.architecture in names), FORMS[kind][0])


def _form_for(model: nn.Module, model_type: str) -> Form:
    """Return the form in which a family publishes this model."""
    form_of({"model_type": model_type})  # raises for another family
    for form in FORMS[model_type]:
        if type(model) is form.kind:
            return form
    known = " or ".join(form.kind.__name__ for form in FORMS[model_type])
    raise ValueError(f"model: got {type(model).__name__}; {model_type} publishes {known}")


def _empty(config: Mapping[str, Any], n_classes: int, dropout: float) -> nn.Module:
    form = form_of(config)  # raises for another family
    record = family(config["model_type"]).config(config)
    return form.build(from_config(config), record.d_model, n_classes, dropout)


def _check_sizes(
    config: Mapping[str, Any], tensors: Mapping[str, Tensor], n_classes: int, like: Path
) -> None:
    expected = _table(config).theirs(_empty(config, n_classes, 0.0).state_dict())
    for name, tensor in expected.items():
        if name not in tensors or tensors[name].shape != tensor.shape:
            found = tuple(tensors[name].shape) if name in tensors else "none"
            raise ValueError(
                f"like: {like} has {name} of shape {tuple(tensor.shape)}, the model {found}; give "
                "the folder that was passed to `begin`"
            )

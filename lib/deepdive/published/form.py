"""How a model family is published: its config settings, weight names, and heads in one table."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from deepdive.core import gelu, gelu_tanh, relu
from deepdive.core.feed_forward import Activation
from deepdive.published.names import Names
from deepdive.published.weights import Rule

DEFAULTS = Path(__file__).with_name("defaults.json")  # tests/config_defaults.py
ACTIVATIONS: dict[str, Activation] = {
    "gelu": gelu, "gelu_new": gelu_tanh, "gelu_pytorch_tanh": gelu_tanh, "relu": relu,
    "swish": F.silu, "silu": F.silu,
}  # fmt: skip


def activation_of(name: str) -> Activation:
    """Return the activation that a config.json names. Raises ValueError for an unknown one."""
    if name not in ACTIVATIONS:
        raise ValueError(
            f"config names the activation {name!r}; expected one of {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS[name]


def name_of(activation: Activation) -> str:
    """Return the first config.json name of an activation. Raises ValueError for one that has
    none.
    """
    for name, known in ACTIVATIONS.items():
        if known is activation:
            return name
    raise ValueError(f"activation: {activation!r} has no published name")


# No default is used for a missing key if one of these keys is present: older files use them.
SAID_BY = {
    "vocab_size": ("n_words",),
    "rope_parameters": ("rope_theta", "rope_scaling"),
    "scale_decoder_outputs": ("tie_word_embeddings",),
    "id2label": ("num_labels",),
}


@cache
def _defaults() -> dict[str, dict[str, Any]]:
    return dict(json.loads(DEFAULTS.read_text(encoding="utf-8")))


def completed(model_type: str, theirs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a config.json completed with transformers' defaults for missing keys. Raises
    ValueError for a missing key whose value transformers computes in a way not supported.
    """
    found = dict(theirs)
    for key, value in _defaults().get(model_type, {}).items():
        if any(each in theirs for each in (key, *SAID_BY.get(key, ()))):
            continue
        if value == "?":
            raise ValueError(f"config has no {key}, which transformers computes from other keys")
        found[key] = value
    for key, value in found.items():
        if key not in theirs and isinstance(value, str) and value.startswith("="):
            found[key] = found[value[1:]]
    found.setdefault("id2label", {str(i): f"LABEL_{i}" for i in range(theirs.get("num_labels", 2))})
    return found


def same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Setting:
    """A config.json setting `key`, with conversions to our value and to theirs; `written` is the
    attribute of our config that is saved, if it is not the field that is loaded.
    """

    key: str
    ours: Callable[[Any], Any] = same
    theirs: Callable[[Any], Any] = same
    written: str = ""


def activation(key: str) -> Setting:
    """The setting `key`, which names an activation."""
    return Setting(key, activation_of, name_of)


def _check_number(key: str, value: Any, kind: Any) -> None:
    """Raise ValueError for a setting that is not a number if the field's type is one."""
    if kind in (int, "int") and type(value) is not int:
        raise ValueError(f"config has {key}={value!r}; expected a whole number")
    if kind in (float, "float") and (type(value) not in (int, float) or not isfinite(value)):
        raise ValueError(f"config has {key}={value!r}; expected a finite number")


@dataclass(frozen=True)
class Head:
    """A head on an encoder: the transformers class of both, the function that builds both around
    the encoder, the head's name table, and the encoder's attribute name in the result.
    """

    architecture: str
    build: Callable[[Any], nn.Module]
    names: Names
    part: str = "bert"


@dataclass(frozen=True)
class Family:
    """How one family is published.

    architecture  the transformers class of the model, or of the encoder without a head
    build         config -> module, where config is `base` with the settings of config.json; the
                  module stores it as `.config`, whose `family` is the `model_type`
    settings      our config field -> the setting of config.json
    expected      settings that change the function, with the only value that is supported
    finish        (our config, config.json) -> our config, for fields set by several settings
    fit           (our config, tensors of a file) -> our config, for a size that only they give
    derived       our config -> settings that depend on several fields: the inverse of `finish`
    names         the name table, or our config -> the name table if it depends on the config
    prefix        of the encoder's names in files that also hold a head
    check         (model, tensors of a file): raises ValueError for tensors that are computed here
                  and differ in the file
    unused        prefixes of names in a file that `load` may ignore
    older         rules for names in older files
    heads         "masked_lm" and such -> `Head`
    """

    architecture: str
    build: Callable[[Any], nn.Module]
    base: Any
    settings: Mapping[str, str | Setting]
    names: Names | Callable[[Any], Names]
    prefix: str = ""
    expected: Mapping[str, Any] = field(default_factory=dict)
    finish: Callable[..., Any] = lambda config, theirs: config
    fit: Callable[..., Any] = lambda config, tensors: config
    derived: Callable[[Any], Mapping[str, Any]] = lambda config: {}
    check: Callable[[Any, Mapping[str, Tensor]], None] = lambda model, tensors: None
    unused: tuple[str, ...] = ()
    older: tuple[Rule, ...] = ()
    heads: Mapping[str, Head] = field(default_factory=dict)

    @property
    def model_type(self) -> str:
        return str(self.base.family)

    def config(self, theirs: Mapping[str, Any]) -> Any:
        """Return our config for a config.json. A missing key has transformers' default. Raises
        ValueError for a setting that is not supported.
        """
        theirs = completed(self.model_type, theirs)
        for name, value in self.expected.items():
            if theirs.get(name) not in (None, value):
                raise ValueError(f"config has {name}={theirs[name]}; only {value} is supported")
        kinds = {each.name: each.type for each in fields(self.base)}
        read = {}
        for ours, setting in self._settings():
            if setting.key in theirs:
                _check_number(setting.key, theirs[setting.key], kinds[ours])
                read[ours] = setting.ours(theirs[setting.key])
        return self.finish(self.base.but(**read), theirs)

    def published(self, config: Any, head: str | None = None) -> dict[str, Any]:
        """Return the config.json for our config."""
        kind = self.heads[head].architecture if head else self.architecture
        settings = {
            setting.key: setting.theirs(getattr(config, setting.written or ours))
            for ours, setting in self._settings()
        }
        return {
            "model_type": self.model_type,
            "architectures": [kind],
            **self.expected,
            **settings,
            **self.derived(config),
        }

    def _settings(self) -> list[tuple[str, Setting]]:
        return [
            (ours, Setting(setting) if isinstance(setting, str) else setting)
            for ours, setting in self.settings.items()
        ]

    def keys(self, ours: Sequence[str]) -> list[tuple[str, str]]:
        """Return the fields in `ours` that the family has, and their names in config.json."""
        return [(field, setting.key) for field, setting in self._settings() if field in ours]

    def head(self, name: str) -> Head:
        """Return a head. Raises ValueError for one that the family does not have."""
        if name not in self.heads:
            known = ", ".join(self.heads) or "none"
            raise ValueError(f"head: {self.model_type} has no head {name!r}; expected: {known}")
        return self.heads[name]

    def table(self, head: str | None = None, config: Any = None) -> Names:
        """Return the name table of a config's model (None: of `base`), with or without a head."""
        names = self.names
        if not isinstance(names, Names):
            names = names(self.base if config is None else config)
        if head is None:
            return names
        return names.within(self.prefix, f"{self.head(head).part}.") | self.head(head).names

    def wanted(
        self, tensors: Mapping[str, Tensor], head: str | None, config: Any = None
    ) -> dict[str, Tensor]:
        """Return the tensors of a file without those that this model does not use."""
        table, found = self.table(head, config), {}
        for name, tensor in tensors.items():
            bare = name.removeprefix(self.prefix)
            key = bare if head is None else name
            if table.knows(key) or not bare.startswith(self.unused):
                found[key] = tensor
        return found

"""How a family is published: its settings, names and heads in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from deepdive.published.names import Names
from deepdive.published.weights import Rule


def same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Setting:
    """A number in config.json under the name `key`, as we have it and as they do."""

    key: str
    ours: Callable[[Any], Any] = same
    theirs: Callable[[Any], Any] = same


@dataclass(frozen=True)
class Head:
    """What stands on an encoder: the class that publishes both, what builds both around the
    encoder, which is the part `bert` of that, and the head's names.
    """

    architecture: str
    build: Callable[[Any], nn.Module]
    names: Names


@dataclass(frozen=True)
class Family:
    """How one family is published.

    architecture  the class of transformers that is the encoder
    build         config -> module, where config is the record `base` with the settings read
    settings      our field -> the setting of config.json
    expected      settings that change the function, with the only value that is built here
    finish        (our record, config.json) -> our record, for what no single setting tells
    names         of the encoder; `prefix` stands before them in files that hold a head too
    unused        beginnings of names that a file may hold and `load` may leave there
    older         rules for names that files had once
    heads         "masked_lm" and such -> `Head`
    """

    model_type: str
    architecture: str
    build: Callable[[Any], nn.Module]
    base: Any
    settings: Mapping[str, str | Setting]
    names: Names
    prefix: str
    expected: Mapping[str, Any] = field(default_factory=dict)
    finish: Callable[..., Any] = lambda config, theirs: config
    unused: tuple[str, ...] = ()
    older: tuple[Rule, ...] = ()
    heads: Mapping[str, Head] = field(default_factory=dict)

    def config(self, theirs: Mapping[str, Any]) -> Any:
        """Return our record of a config.json. Raises ValueError for a setting not built here."""
        for name, value in self.expected.items():
            if theirs.get(name) not in (None, value):
                raise ValueError(f"config has {name}={theirs[name]}; only {value} is built here")
        found = {}
        for ours, setting in self.settings.items():
            one = setting if isinstance(setting, Setting) else Setting(setting)
            if one.key in theirs:
                found[ours] = one.ours(theirs[one.key])
        return self.finish(self.base.but(**found), theirs)

    def published(self, config: Any, head: str | None = None) -> dict[str, Any]:
        """Return the config.json of our record."""
        kind = self.heads[head].architecture if head else self.architecture
        told = {"model_type": self.model_type, "architectures": [kind], **self.expected}
        for ours, setting in self.settings.items():
            one = setting if isinstance(setting, Setting) else Setting(setting)
            told[one.key] = one.theirs(getattr(config, ours))
        return told

    def head(self, name: str) -> Head:
        """Return a head. Raises ValueError for one that the family has not."""
        if name not in self.heads:
            known = ", ".join(self.heads) or "none"
            raise ValueError(f"head: {self.model_type} has none called {name!r}; known: {known}")
        return self.heads[name]

    def table(self, head: str | None = None) -> Names:
        """Return the names of the encoder, or of the encoder with a head."""
        if head is None:
            return self.names
        return self.names.within(self.prefix, "bert.") | self.head(head).names

    def wanted(self, tensors: Mapping[str, Tensor], head: str | None) -> dict[str, Tensor]:
        """Return the tensors of a file without those that this model has no place for."""
        table, found = self.table(head), {}
        for name, tensor in tensors.items():
            bare = name.removeprefix(self.prefix)
            kept = bare if head is None else name
            if table.knows(kept) or not bare.startswith(self.unused):
                found[kept] = tensor
        return found

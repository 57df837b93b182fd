"""Base class of model configs: sizes and pluggable modules in one frozen dataclass."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from deepdive.core import MultiHeadAttention
from deepdive.core.checks import not_negative, numbers, positive
from deepdive.positions import LearnedPosition


@dataclass(frozen=True)
class Config:
    """Config of sizes and modules; a model variant is the same config with other values.

    MAY_BE_ZERO  the names of integer fields that may be 0; all others must be at least 1
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("n_layers",)

    def __post_init__(self) -> None:
        """Raise ValueError, naming the field, for an integer that is too small or a dropout that
        is not a probability.
        """
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        dropouts = {name: p for name, p in settings.items() if "dropout" in name and p is not None}
        numbers(0.0, 1.0, **dropouts)
        sizes = {name: size for name, size in settings.items() if type(size) is int}
        may_be_zero = {name: sizes.pop(name) for name in self.MAY_BE_ZERO if name in sizes}
        positive(**sizes)
        not_negative(**may_be_zero)

    @classmethod
    def given(cls, config: Any, changes: dict[str, Any]) -> Self:
        """Return `config` with a builder's `changes` applied. Raises TypeError for a config of
        another class and for an unknown field.
        """
        if not isinstance(config, cls):
            raise TypeError(
                f"config={config!r}: expected {cls.__name__}; pass sizes by name, such as "
                "d_model=64"
            )
        return config.but(**changes)

    def but(self, **changes: Any) -> Self:
        """Return a copy with these fields changed. Raises TypeError for an unknown field."""
        known = [field.name for field in fields(self)]
        if unknown := sorted(set(changes) - set(known)):
            raise TypeError(f"{', '.join(unknown)}: unknown; the fields are {', '.join(known)}")
        return replace(self, **changes)


def learned_positions(config: Any) -> LearnedPosition:
    """Return learned position embeddings, (max_length, d_model)."""
    return LearnedPosition(config.max_length, config.d_model)


def full_attention(config: Any, layer: int) -> MultiHeadAttention:
    """Return a layer's full attention: every position attends to every position."""
    return MultiHeadAttention(config.d_model, config.n_heads, dropout=config.attention_dropout)

"""The numbers and exchangeable parts of a model as one frozen record."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from deepdive.core import MultiHeadAttention
from deepdive.core.checks import not_negative, numbers, positive
from deepdive.positions import LearnedPosition


@dataclass(frozen=True)
class Config:
    """A record of sizes and parts: a variant is the same record with other values.

    MAY_BE_ZERO  the names of whole numbers that may be 0; all others are 1 at least
    """

    MAY_BE_ZERO: ClassVar[tuple[str, ...]] = ("n_layers",)

    def __post_init__(self) -> None:
        """Raise ValueError, naming it, for a whole number that is too small, and for a dropout
        that is no probability.
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
        """Return what a builder was given: `config` with `changes`. Raises TypeError for a config
        that is no record of this kind, and for a field that it has not.
        """
        if not isinstance(config, cls):
            raise TypeError(
                f"config={config!r}: expected {cls.__name__}; give numbers by name, such as "
                "d_model=64"
            )
        return config.but(**changes)

    def but(self, **changes: Any) -> Self:
        """Return the record with these fields changed. Raises TypeError for one it has not."""
        known = [field.name for field in fields(self)]
        if unknown := sorted(set(changes) - set(known)):
            raise TypeError(f"{', '.join(unknown)}: unknown; the fields are {', '.join(known)}")
        return replace(self, **changes)


def learned_positions(config: Any) -> LearnedPosition:
    """Return a learned table of positions, (max_length, d_model)."""
    return LearnedPosition(config.max_length, config.d_model)


def full_attention(config: Any, layer: int) -> MultiHeadAttention:
    """Return the attention of a layer in which every row meets every row."""
    return MultiHeadAttention(config.d_model, config.n_heads, dropout=config.attention_dropout)

"""What each part declares about itself, so that the library's laws can be tested on all of them.

The cases stand in folders like the library's, and each has a name: a system's, as in systems.csv,
or a part's, `bert/BertEmbeddings`, or `Block` where it is no one system's.

    @case("RMSNorm", RMSNorm)
    def _() -> Case:
        return Case(place="norm", make=lambda: RMSNorm(16), parity="torch.nn.RMSNorm")

`tests/test_laws.py` finds the cases by importing this package, puts each part in its place in a
small model (`tests/scaffold.py`), and tries every law on it. A law holds unless `laws` says
otherwise, and what it says is tested too: `Refuses` must raise, `Fails` must fail.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

LAWS = {
    "no_leak": "change token j: causal outputs before j do not move",
    "padding": "what lies under padding does not matter",
    "order": "permuting the input permutes the output",
    "cache": "step by step = full pass, after reordering too",
    "limit": "equal to its parent at the setting its header names",
    "gradient": "every parameter's gradient is above noise",
    "parity": "equal to the reference implementation, gradients included",
    "refusal": "what cannot be honored raises, with a message that names the fix",
    "hooks": "recorded weights sum to one, and recording changes nothing",
    "dtype": "float64, float32, bfloat16; moved and copied whole",
    "round_trip": "save, load: the same output",
}


@dataclass(frozen=True)
class Refuses:
    """The part raises where the law would be tried. `reason` says why it cannot hold."""

    reason: str


@dataclass(frozen=True)
class Fails:
    """The law does not hold, on purpose, and the test sees it fail."""

    reason: str


@dataclass(frozen=True)
class NotApplicable:
    """The law has no meaning for the part."""

    reason: str


NO_WEIGHTS = Refuses("no attention: record says that there are no weights")
IN_ORDER = {"order": Fails("a recurrence reads in order"), "hooks": NO_WEIGHTS}
ALONE = dict.fromkeys(
    ("padding", "cache", "hooks"),
    NotApplicable("it looks at one row at a time: no mask and no cache enters"),
)
ONE_ROW = dict.fromkeys(
    ("no_leak", "padding", "cache", "order"), NotApplicable("it gives one row for the whole input")
)
TWO_SIDED = dict.fromkeys(
    ("no_leak", "cache"), NotApplicable("every token sees every token, on purpose")
)
ORDERED = Fails("positions tell the tokens apart")
ANY_ROWS = NotApplicable("it maps any rows; a wrong width is torch's own clear error")
OF_PLACES = {"position": {"order": Fails("telling positions apart is what it is for")}}

Verdict = Refuses | Fails | NotApplicable
Pair = Callable[[], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Case:
    """What the laws need to know of a part.

    place      where the part goes in a small model, 16 wide with 4 heads: "norm", "feed_forward",
               "residual", "position", "mechanism", "layer" (attention, block: rows and one cache
               slot) or "stack" (rows and a cache); None: `run` and `begin` say how it is used
    make       builds the part (its weights are perturbed by the test); without one, the case is of
               its system's example in the atlas, which says what it reads and how it is called
    run        run(module, x, mask, state) -> (B, T, ...): x is (B, T, d_model) floats, or (B, T)
               tokens below `vocab`; mask a `Mask` or None; state what `begin` returned, or None;
               without one, and without a place, the part is called with x alone
    begin      begin(module) -> state with `reorder(index)`, for the law of the cache
    limits     name -> function that returns the two tensors that must be equal
    refusals   name -> function that must raise
    silent     parameter name -> why its gradient is zero
    parity     the reference implementation, or why there is none ("none: ...")
    laws       law -> `Refuses`, `Fails` or `NotApplicable`, for those that do not hold, beside what
               `OF_PLACES` says of the place
    """

    parity: str
    make: Callable[[], Any] | None = None
    place: str | None = None
    run: Callable[..., Tensor] | None = None
    begin: Callable[[Any], Any] | None = None
    d_model: int = 16
    vocab: int | None = None
    limits: Mapping[str, Pair] = field(default_factory=dict)
    refusals: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    silent: Mapping[str, str] = field(default_factory=dict)
    laws: Mapping[str, Verdict] = field(default_factory=dict)

    def inputs(self, B: int = 2, T: int = 6, seed: int = 0) -> Tensor:
        """Return random rows (B, T, d_model), or tokens (B, T) when the part reads tokens."""
        generator = torch.Generator().manual_seed(seed)
        if self.vocab is not None:
            return torch.randint(4, self.vocab, (B, T), generator=generator)
        return torch.randn(B, T, self.d_model, generator=generator)


CASES: dict[str, Callable[[], Case]] = {}
PARTS: dict[str, type[nn.Module]] = {}


def case(name: str, part: type[nn.Module]) -> Callable[[Callable[[], Case]], Callable[[], Case]]:
    """Register the decorated function as the case `name`, whose module is a `part`."""

    def register(build: Callable[[], Case]) -> Callable[[], Case]:
        if name in CASES:
            raise ValueError(f"name: there are two cases of {name!r}")
        CASES[name], PARTS[name] = lambda: completed(name, build()), part
        return build

    return register


def completed(name: str, declared: Case) -> Case:
    """Return the case with what it does not say: its system's example, and a plain call."""
    from deepdive_book.site.atlas.examples import EXAMPLES

    call: Callable[[Any, Tensor], Tensor] = lambda module, x: module(x)  # noqa: E731
    if declared.make is None:
        example = EXAMPLES[name]
        call, make, vocab, width = example.call, example.make, example.vocab, example.width
        declared = replace(declared, make=make, vocab=vocab, d_model=width)
    if declared.run is None and declared.place is None:
        declared = replace(declared, run=lambda module, x, mask, state: call(module, x))
    return replace(declared, laws={**OF_PLACES.get(declared.place or "", {}), **declared.laws})


def by_part() -> dict[type[nn.Module], Callable[[], Case]]:
    """Return the first case of each part, of all cases."""
    import_cases()
    return {part: CASES[name] for name, part in reversed(PARTS.items())}


def import_cases() -> None:
    """Import every module of this package, so that `CASES` has all cases."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(module.name)


def set_weights(module: nn.Module, **values: Tensor | float) -> nn.Module:
    """Fill parameters by name ("inner.weight" is written inner__weight) and return the module, in
    float64.
    """
    module = module.double()
    parameters = dict(module.named_parameters())
    with torch.no_grad():
        for name, value in values.items():
            parameter = parameters[name.replace("__", ".")]
            parameter.copy_(torch.as_tensor(value, dtype=parameter.dtype).expand_as(parameter))
    return module


def random_rows(*shape: int, seed: int = 5) -> Tensor:
    """Return a float64 tensor of normal numbers, the same at each call."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def padding_of(mask: Any) -> Tensor | None:
    """Return the keys (B, S) of the padding part of `mask`, for models that take them as a
    tensor.
    """
    from deepdive.core.masks import Padding

    return next(
        (part.real for part in getattr(mask, "parts", ()) if isinstance(part, Padding)), None
    )


def with_padding(model: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Call a model that takes its padding as a tensor."""
    return model(x, padding_of(mask))


def with_state(layer: Any, x: Tensor, mask: Any = None, state: Any = None) -> Tensor:
    """Call a recurrent layer, which takes its mask as it is, and its state."""
    return layer(x, mask, state)

"""What every mechanism does with lengths, sizes, masks and biases that are unusual or wrong.

Mechanisms are found by their cases, as in `test_laws.py`: a new one is tested by existing.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from laws import by_part, random_rows
from scaffold import close, perturbed, placed
from torch import Tensor, nn

from deepdive.attention import (
    BlockSparseAttention,
    ClusteredAttention,
    GaussianPrior,
    ImprovedClusteredAttention,
    LengthProjection,
    NestedAttention,
    NystromAttention,
    ProbSparseAttention,
    TablePrior,
    TiledAttention,
    WindowAttention,
)
from deepdive.attention.by_position.axial import SameLine
from deepdive.attention.memories.persistent import PersistentMemoryAttention
from deepdive.core import MultiHeadAttention, SoftmaxAttention
from deepdive.core.hooks import hook_points, record
from deepdive.core.masks import (
    Causal,
    Dense,
    Global,
    Mask,
    Or,
    Padding,
    Prefix,
    Segments,
    Window,
    both,
    padding,
)
from deepdive.core.mechanism import Mechanism

CASES = by_part()
PARTS = sorted(CASES, key=lambda part: part.__qualname__)

MECHANISMS = [part for part in PARTS if CASES[part]().place == "mechanism"]
IN_ATTENTION = [part for part in PARTS if part.__module__.startswith("deepdive.attention")]
B, H, S, D = 2, 4, 6, 4
REAL = torch.tensor([[1] * 6, [0, 1, 1, 1, 0, 1]]).bool()
MASKS = {"none": None, "causal": Causal(), "padding": Padding(REAL)}

# Masks that define a mechanism; the others that have a definition name it by `pattern`.
DEFINED: dict[type[nn.Module], Mask | None] = {
    SoftmaxAttention: None,
    TiledAttention: None,
    WindowAttention: Window(2, 1),
}
# What a query gets depends on the queries beside it.
TOGETHER = {ClusteredAttention, ImprovedClusteredAttention, ProbSparseAttention}
# One head's numbers may serve all heads.
SHARED = {GaussianPrior, LengthProjection, TablePrior}


def by_name(part: type[nn.Module]) -> str:
    return part.__qualname__


each_mechanism = pytest.mark.parametrize("part", MECHANISMS, ids=by_name)


def rows(T: int = S, heads: int = H, width: int = D, batch: int = B) -> list[Tensor]:
    """Queries (batch, heads, T, width), keys and values of S rows."""
    return [random_rows(batch, heads, n, width, seed=seed) for seed, n in enumerate((T, S, S))]


def refused(error: BaseException, *named: str) -> None:
    """The message says what came and what was expected, and names each of these."""
    message = str(error)
    assert len(message) > 30, message
    for name in named:
        assert name in message, f"{name!r} is not in: {message}"


# -- lengths


@pytest.mark.parametrize("mask", MASKS)
@each_mechanism
def test_any_number_of_queries(part: type[nn.Module], mask: str) -> None:
    """T queries are the last T of S: their rows are those of the definition, or T is refused."""
    module, (q, k, v) = perturbed(CASES[part]()), rows(S + 2)
    pattern = module.pattern(H) if hasattr(module, "pattern") else DEFINED.get(part)
    try:
        whole = module(q[:, :, -S:], k, v, MASKS[mask])
    except ValueError as error:
        if mask == "none":
            raise
        return refused(error, part.__name__, "mask")
    for T in range(1, S + 3):
        some = q[:, :, -T:]
        try:
            found = module(some, k, v, MASKS[mask])
        except ValueError as error:
            refused(error, f"{T} queries", f"{S} keys")
            continue
        assert found.shape == (B, H, T, D), f"T={T}: {tuple(found.shape)}"
        assert found.isfinite().all(), f"T={T}"
        if part in DEFINED or hasattr(module, "pattern"):
            expected = SoftmaxAttention()(some, k, v, both(pattern, MASKS[mask]))
            asked = torch.cat([torch.ones(B, 2).bool(), REAL], dim=1)[:, -T:]  # what padding asks
            close(found.movedim(1, 2)[asked], expected.movedim(1, 2)[asked])  # is never read
        elif part not in TOGETHER:
            same = min(T, S)
            close(found[:, :, -same:], whole[:, :, -same:])
    return None


NAMES_PLACES = {
    "Global": Global((0,)),
    "Segments": Segments(torch.zeros(1, S, dtype=torch.long)),
    "SameLine": SameLine(2, "row"),
}


@pytest.mark.parametrize("mask", NAMES_PLACES)
def test_a_mask_of_places_has_none_for_queries_before_the_first_key(mask: str) -> None:
    for T in range(1, S + 1):
        whole, some = (NAMES_PLACES[mask].dense(n, S) for n in (S, T))
        assert torch.equal(some, whole[:, :, -T:])
    for T in (S + 1, S + 2):
        with pytest.raises(ValueError, match=f"{T} queries") as raised:
            NAMES_PLACES[mask].dense(T, S)
        refused(raised.value, mask, f"{S} keys")


# -- sizes


def whole_numbers(part: type[nn.Module]) -> list[str]:
    """The arguments of a class that take an integer."""
    wants = inspect.signature(part.__init__).parameters.values()
    return [p.name for p in wants if str(p.annotation).split(" | ")[0] == "int"]


SIZES = [
    (part, name, value)
    for part in IN_ATTENTION
    if part is not MultiHeadAttention
    for name in whole_numbers(part)
    for value in (0, -1, 1)
    if (name, value) != ("d_context", 1)  # the width of rows that are not given here
]


@pytest.mark.parametrize(
    ("part", "name", "value"), SIZES, ids=lambda x: getattr(x, "__qualname__", str(x))
)
def test_a_size_is_honoured_or_refused_by_name(
    part: type[nn.Module], name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, changed = part.__init__, []

    def with_the_size(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        given = inspect.signature(plain).bind(self, *args, **kwargs)
        if name in inspect.signature(type(self).__init__).parameters or type(self) is part:
            given.arguments[name] = value
            changed.append(self)
        plain(*given.args, **given.kwargs)

    case = placed(CASES[part]())
    monkeypatch.setattr(part, "__init__", with_the_size)
    x = case.inputs(B, S).double()
    try:
        found = case.run(case.make().double().eval(), x, None, None)
    except ValueError as error:
        return refused(error, name)
    assert changed
    assert found.shape[:2] == x.shape[:2] or part is LengthProjection
    assert found.isfinite().all()
    alone = case.place == "layer" or part in SHARED  # a layer of one head has rows of one head
    assert name != "n_heads" or alone, "one head's numbers served four heads"
    return None


# -- rows, masks and biases of another shape


@each_mechanism
def test_queries_and_keys_of_two_widths(part: type[nn.Module]) -> None:
    (q, _, v), (_, k, _) = rows(), rows(width=D + 1)
    with pytest.raises(ValueError, match="5") as raised:
        perturbed(CASES[part]())(q, k, v)
    refused(raised.value, "4")


@each_mechanism
def test_other_heads(part: type[nn.Module]) -> None:
    """Parts that have numbers for each head serve no other count of heads, one least of all."""
    module = perturbed(CASES[part]())
    for heads in (1, 3):
        try:
            found = module(*rows(heads=heads))
        except ValueError as error:
            refused(error, "heads", str(heads))
            continue
        assert found.shape == (B, heads, S, D)
        learned = [p for p in module.parameters() if p.ndim > 1 and len(p) == H]
        assert not learned or part.__name__ in ("GeneralAttention", "AdditiveAttention"), (
            f"{heads} heads met numbers for {H}"
        )


WRONG_MASKS = {
    "padding of another batch": Padding(torch.ones(3, S).bool()),
    "padding of other keys": Padding(torch.ones(B, S + 1).bool()),
    "other heads": Dense(torch.ones(1, 5, S, S).bool()),
    "other rows": Dense(torch.ones(S - 1, S).bool()),
    "other keys": Dense(torch.ones(S, S - 1).bool()),
    "another batch": Dense(torch.ones(3, 1, S, S).bool()),
    "two batches, joined by &": Padding(REAL) & Padding(torch.ones(3, S).bool()),
    "two batches, joined by |": Padding(REAL) | Padding(torch.ones(3, S).bool()),
}


@pytest.mark.parametrize("mask", WRONG_MASKS)
@each_mechanism
def test_a_mask_of_another_shape(part: type[nn.Module], mask: str) -> None:
    with pytest.raises(ValueError, match="mask") as raised:
        perturbed(CASES[part]())(*rows(), WRONG_MASKS[mask])
    refused(raised.value)


@pytest.mark.parametrize(
    "shape", [(5, S, S), (S - 1, S), (3, H, S, S), (S, S - 1), (1, B, H, S, S)]
)
@each_mechanism
def test_a_bias_of_another_shape(part: type[nn.Module], shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="bias") as raised:
        perturbed(CASES[part]())(*rows(), bias=torch.zeros(shape))
    refused(raised.value)


KINDS: dict[type[Mask], Mask] = {
    Causal: Causal(),
    Padding: Padding(REAL),
    Window: Window(2),
    Prefix: Prefix(2),
    Dense: Dense(torch.ones(S, S).bool()),
    Segments: Segments(torch.zeros(B, S, dtype=torch.long)),
    Or: Causal() | Prefix(2),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@each_mechanism
def test_a_kind_of_mask_is_honoured_or_refused(part: type[nn.Module], kind: type[Mask]) -> None:
    """Alone, and beside another part."""
    module = perturbed(CASES[part]())
    assert isinstance(module, Mechanism)
    for mask in (KINDS[kind], KINDS[kind] & Padding(REAL)):
        if issubclass(kind, module.honors):
            assert module(*rows(), mask).shape == (B, H, S, D)
        else:
            with pytest.raises(ValueError, match=f"{part.__name__} honors") as raised:
                module(*rows(), mask)
            refused(raised.value, "mask", kind.__name__, "SoftmaxAttention")


@each_mechanism
def test_a_bias_and_a_scale_are_honoured_or_refused(part: type[nn.Module]) -> None:
    module, bias = perturbed(CASES[part]()), 2 * random_rows(S, S)
    assert isinstance(module, Mechanism)
    plain = module(*rows())
    for name, taken, value in (
        ("bias", module.takes_bias, bias),
        ("scale", module.takes_scale, 0.3),
    ):
        if taken:
            found = module(*rows(), **{name: value})
            assert not torch.allclose(found, plain), f"{name} changes nothing: is it read?"
        else:
            with pytest.raises(ValueError, match=name) as raised:
                module(*rows(), **{name: value})
            refused(raised.value, part.__name__)


def test_masks_of_two_batches_are_named_where_they_are_joined() -> None:
    real, other = Padding(REAL), Segments(torch.zeros(3, S, dtype=torch.long))
    for mask in (real & other, real | other, Causal() & real & other):
        with pytest.raises(ValueError, match=r"one batch; got \(2, 1, \d, 6\) and \(3, 1, 6, 6\)"):
            mask.dense(S)
    assert (Causal() & Padding(REAL[:1]) & Padding(REAL)).dense(S).shape == (B, 1, S, S)


def test_real_tokens_without_an_axis_of_texts_are_refused() -> None:
    tokens = torch.arange(3)
    with pytest.raises(ValueError, match=r"mask has shape \(3,\).*expected \(B, S\)"):
        padding(tokens >= 0, tokens, "mask")


def test_a_layer_made_for_a_memory_asks_for_it() -> None:
    layer, x = MultiHeadAttention(8, 2, d_context=6), torch.zeros(1, 3, 8)
    with pytest.raises(ValueError, match=r"memory is missing.*\(B, S, 6\).*8 wide"):
        layer(x)
    with pytest.raises(ValueError, match=r"memory must be \(B, T, d_context=6\)"):
        layer(x, memory=x)


# -- rows without a key


def takes_a_bias(part: type[nn.Module]) -> bool:
    try:
        CASES[part]().make()(*(x.float() for x in rows()), bias=torch.zeros(S, S))
    except ValueError:
        return False
    return True


# Persistent memory vectors are keys of every query, so such a row is not zero: see below.
BIASED = [p for p in MECHANISMS if p is not PersistentMemoryAttention and takes_a_bias(p)]


@pytest.mark.parametrize("part", BIASED, ids=by_name)
def test_a_row_whose_bias_is_minus_infinity_is_zero(part: type[nn.Module]) -> None:
    """As a row without a key: fused, and step by step; alone, or with the mask's help."""
    module = perturbed(CASES[part]())
    inputs = [x.requires_grad_() for x in rows()]
    bias = torch.zeros(S, S, dtype=torch.float64)
    bias[2], bias[4, 1:] = float("-inf"), float("-inf")  # row 4 has key 0, which is no real one
    weights = next(iter(hook_points(module, "*weights")))
    for mask, empty in ((None, [2]), (Padding(REAL), [2, 4])):
        fused = module(*inputs, mask, bias)
        with record(module, weights):
            steps = module(*inputs, mask, bias)
        close(steps, fused)
        assert not steps[1, :, empty].any()
        for found in (fused, steps):
            learned = [*inputs, *module.parameters()]
            gradients = torch.autograd.grad(found.square().sum(), learned, allow_unused=True)
            assert all(g.isfinite().all() for g in gradients if g is not None)
            assert not gradients[0][1, :, empty].any()


def test_a_row_whose_bias_is_minus_infinity_attends_to_the_persistent_vectors_alone() -> None:
    module = perturbed(CASES[PersistentMemoryAttention]())
    q, k, v = rows()
    bias = torch.zeros(S, S, dtype=torch.float64)
    bias[2] = float("-inf")
    keys, values = module.roots[0] * module.memory_keys, module.roots[1] * module.memory_values
    scores = q[:, :, 2:3] @ keys.mT * q.shape[-1] ** -0.5
    close(module(q, k, v, None, bias)[:, :, 2:3], scores.softmax(-1) @ values)


def test_a_bias_of_another_precision_changes_no_dtype() -> None:
    module, inputs = SoftmaxAttention(), [x.bfloat16() for x in rows()]
    bias = random_rows(S, S).float()
    with record(module, "weights"):
        steps = module(*inputs, None, bias)
    assert steps.dtype == torch.bfloat16
    close(steps.double(), module(*inputs, None, bias).double(), 0.02)


# -- one fault each


def test_a_short_text_that_is_padded_meets_exact_attention() -> None:
    """With at most n_landmarks real tokens, however long the padded row."""
    q, k, v = rows()
    real = torch.arange(S) < torch.tensor([[4], [2]])
    found = NystromAttention(4)(q, k, v, Padding(real))
    expected = SoftmaxAttention()(q, k, v, Padding(real))
    close(found[0, :, :4], expected[0, :, :4])
    close(found[1, :, :2], expected[1, :, :2])


def test_blocks_of_one_position_for_one_text_of_several_heads() -> None:
    """The heads of one text are a view into its rows, as a layer cuts them."""
    q, k, v = (random_rows(1, 23, 2, 4, seed=seed).transpose(1, 2) for seed in range(3))
    attention = BlockSparseAttention(1, 1)
    close(attention(q, k, v), SoftmaxAttention()(q, k, v, attention.pattern(2)))


@pytest.mark.parametrize("mask", [lambda: Prefix(-1), lambda: Global((9,)).dense(S)])
def test_a_place_that_is_not_there(mask: Any) -> None:
    with pytest.raises(ValueError, match=r"-1|9"):
        mask()


def test_no_memory_grows_with_the_square() -> None:
    """Twice the rows, twice the largest tensor: nothing of T x S is made, backward included."""

    def largest(mechanism: nn.Module, n: int, mask: Causal | None) -> int:
        sizes = [0]
        hooks = torch.autograd.graph.saved_tensors_hooks(
            lambda t: (sizes.append(t.numel()), t)[1], lambda t: t
        )
        q, k, v = (random_rows(1, 2, n, 4, seed=i).float().requires_grad_() for i in range(3))
        with hooks:
            mechanism(q, k, v, mask).sum().backward()
        return max(sizes)

    for make, masks in (
        (lambda: NestedAttention(2, 4, 4), (None, Causal())),
        (lambda: ClusteredAttention(4, 4), (None,)),
        (lambda: ImprovedClusteredAttention(4, 4, top=8), (None,)),
    ):
        for mask in masks:
            small, large = (largest(make(), n, mask) for n in (512, 1024))
            assert large <= 2.1 * small

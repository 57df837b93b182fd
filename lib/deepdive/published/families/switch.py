"""Switch Transformers: T5's config settings and name table, plus experts: one tensor in our model,
one tensor per expert in files.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from deepdive.models.generative import switch, t5
from deepdive.models.generative.switch import SwitchConfig
from deepdive.published.families.t5 import SETTINGS, UNUSED, check_start, side
from deepdive.published.form import Family, activation
from deepdive.published.names import Names, Pairs

SIDES = {"encoder": 1, "decoder": 2}  # and the number of its feed-forward sublayer


def _experts(side: str, layer: int, n_experts: int) -> Pairs:
    """Return the name table of one side's experts: their matrices concatenated by rows."""
    theirs, ours = f"{side}.block.{{}}.layer.{layer}.mlp", f"{side}.stack.blocks.{{}}.ff"
    pairs: Pairs = {f"{theirs}.router.classifier": f"{ours}.router.score"}
    for one, other in ("wi", "inner"), ("wo", "out"):
        each = tuple(f"{theirs}.experts.expert_{e}.{one}" for e in range(n_experts))
        pairs[each if n_experts > 1 else each[0]] = f"{ours}.experts.{other}"
    return pairs


def _names(config: SwitchConfig) -> Names:
    pairs: Pairs = {"shared": "encoder.embedding", "lm_head": "head.embedding"}
    layouts = {}
    for name, layer in SIDES.items():
        pairs |= _experts(name, layer, config.n_experts)
        pairs |= side(name, {"wi": "inner", "wo": "out"}, "mlp")
        for matrix in "inner", "out":
            layouts[f"{name}.stack.blocks.{{}}.ff.experts.{matrix}"] = _stacked(config.n_experts)
    return Names(pairs, layouts)


def _stacked(n_experts: int) -> Any:
    """Return the layout between the rows of all experts and one matrix per expert."""

    def to_ours(rows: Tensor) -> Tensor:
        return rows.unflatten(0, (n_experts, -1))

    return to_ours, lambda matrices: matrices.flatten(0, 1)


def _switch(config: SwitchConfig, theirs: Mapping[str, Any]) -> SwitchConfig:
    check_start(config, theirs)
    for sparse, layers in (
        (config.n_sparse_layers, config.n_layers),
        (config.n_decoder_sparse_layers, config.n_decoder_layers),
    ):
        if sparse > layers:
            raise ValueError(f"config has experts in {sparse} of {layers} layers; use fewer")
    return config


def _of_switch(config: SwitchConfig) -> dict[str, Any]:
    if config.head is not t5.scaled:
        raise ValueError("head: transformers does not support shared embeddings with an untied "
                         "output layer; build it with t5.scaled")  # fmt: skip
    return {"decoder_start_token_id": config.pad}


SWITCH = Family(
    architecture="SwitchTransformersForConditionalGeneration",
    build=switch.switch,
    base=switch.BASE,
    settings=SETTINGS
    | {
        "activation": activation("dense_act_fn"),
        "n_experts": "num_experts",
        "capacity": "expert_capacity",
        "n_sparse_layers": "num_sparse_encoder_layers",
        "n_decoder_sparse_layers": "num_sparse_decoder_layers",
        "jitter": "router_jitter_noise",
        "balance_weight": "router_aux_loss_coef",
    },
    names=_names,
    expected={
        "tie_word_embeddings": True,
        "router_bias": False,
        "router_dtype": "float32",
        "router_ignore_padding_tokens": False,
    },
    finish=_switch,
    derived=_of_switch,
    unused=UNUSED,
)
FAMILIES = (SWITCH,)

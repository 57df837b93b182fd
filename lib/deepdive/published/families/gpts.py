"""GPT, GPT-2, GPT-Neo and CTRL: config settings, name tables, and transposed matrices."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from deepdive.models.generative import ctrl, gpt, gpt2, gpt_neo
from deepdive.models.generative.gpt_config import GPTConfig
from deepdive.published.families.encoders import layer
from deepdive.published.form import Family, Setting, activation, activation_of, name_of
from deepdive.published.names import Layout, Names, Pairs
from deepdive.published.weights import Sources

OURS = "decoder.stack.blocks.{}"


def _turned(matrix: Tensor) -> Tensor:
    """Transpose a matrix between (in, out) and (out, in); a bias is unchanged."""
    return matrix.movedim(0, -1)


TURNED: Layout = (_turned, _turned)


def _apart(fused: Tensor) -> Sequence[Tensor]:
    """Split fused queries, keys and values into queries, and keys with values."""
    q, k, v = _turned(fused).chunk(3)
    return q, torch.cat([k, v])


def _together(parts: Sequence[Tensor]) -> Tensor:
    return _turned(torch.cat(list(parts)))


def _layer(theirs: str) -> Names:
    """Return the name table of a layer of GPT and GPT-2."""
    attention, ff = f"{theirs}.attn", f"{theirs}.mlp"
    turned: Pairs = {
        f"{attention}.c_proj": f"{OURS}.attn.out",
        f"{ff}.c_fc": f"{OURS}.ff.inner",
        f"{ff}.c_proj": f"{OURS}.ff.out",
    }
    fused = f"{attention}.c_attn"
    others: Pairs = {
        f"{fused}:0": f"{OURS}.attn.q",
        f"{fused}:1": f"{OURS}.attn.kv",
        f"{theirs}.ln_1": f"{OURS}.attn_residual.norm",
        f"{theirs}.ln_2": f"{OURS}.ff_residual.norm",
    }
    layouts = dict.fromkeys(turned.values(), TURNED)
    return Names({**turned, **others}, layouts, fused={fused: (_apart, _together)})


HEAD: Pairs = {"lm_head": "head.embedding"}
GPT2_AROUND: Pairs = {
    "transformer.wte": "decoder.embedding",
    "transformer.wpe": "decoder.position.table",
    "transformer.ln_f": "decoder.stack.norm",
}
GPT_AROUND: Pairs = {
    "transformer.tokens_embed": "decoder.embedding",
    "transformer.positions_embed": "decoder.position.table",
}
LAYER = "transformer.h.{}"


def _without_masks(sources: Sources) -> Sources:
    """Drop each layer's causal mask, which older files contain under the name bias."""
    mask = re.compile(r"\.attn(\.attention)?\.(masked_)?bias$")
    return {name: source for name, source in sources.items() if not mask.search(name)}


# Files on the hub contain the model without its head, whose names have no prefix.
OLDER = (_without_masks, (r"^(?!transformer\.|lm_head\.)", "transformer."))
NEO_LAYER = layer(
    LAYER,
    "attn.attention.q_proj attn.attention.k_proj attn.attention.v_proj attn.attention.out_proj "
    "ln_1 mlp.c_fc mlp.c_proj ln_2",
    OURS,
)
CTRL_LAYER = layer(
    LAYER,
    "multi_head_attention.Wq multi_head_attention.Wk multi_head_attention.Wv "
    "multi_head_attention.dense layernorm1 ffn.0 ffn.2 layernorm2",
    OURS,
)
SIZES: dict[str, str | Setting] = {
    "vocab_size": "vocab_size",
    "d_model": "n_embd",
    "n_heads": "n_head",
    "n_layers": "n_layer",
    "max_length": "n_positions",
    "eps": "layer_norm_epsilon",
}
DROPOUTS: dict[str, str | Setting] = {
    "dropout": "resid_pdrop",
    "attention_dropout": Setting("attn_pdrop", written="weights_dropout"),
}


def _one_dropout(key: str) -> Callable[[GPTConfig, Mapping[str, Any]], GPTConfig]:
    """Return a `finish` that raises ValueError if dropout `key` differs from the sublayers'."""

    def finish(config: GPTConfig, theirs: Mapping[str, Any]) -> GPTConfig:
        if (value := theirs.get(key, config.dropout)) != config.dropout:
            raise ValueError(
                f"config has {key}={value}; expected the sublayers' dropout, {config.dropout}"
            )
        return config

    return finish


def _wide(config: GPTConfig, theirs: Mapping[str, Any]) -> GPTConfig:
    """Set the feed-forward width: four times d_model if config.json has none."""
    inner = theirs.get("n_inner", theirs.get("intermediate_size"))
    return config.but(d_ff=4 * config.d_model if inner is None else inner)


def _inner(config: GPTConfig) -> int | None:
    """Return the inverse of `_wide`."""
    return None if config.d_ff == 4 * config.d_model else config.d_ff


def _gpt(config: GPTConfig, theirs: Mapping[str, Any]) -> GPTConfig:
    return _one_dropout("embd_pdrop")(config, theirs).but(d_ff=4 * config.d_model)


def _gpt2(config: GPTConfig, theirs: Mapping[str, Any]) -> GPTConfig:
    return _wide(_one_dropout("embd_pdrop")(config, theirs), theirs)


def _neo(config: GPTConfig, theirs: Mapping[str, Any]) -> GPTConfig:
    layers = theirs.get("attention_layers") or [
        kind for kinds, times in theirs.get("attention_types", ()) for kind in times * list(kinds)
    ]
    if layers and layers != _kinds(config):
        raise ValueError(
            f"config has attention layers {layers}; only {_kinds(config)} are supported"
        )
    return _wide(_one_dropout("embed_dropout")(config, theirs), theirs)


def _kinds(config: GPTConfig) -> list[str]:
    return [("global", "local")[layer % 2] for layer in range(config.n_layers)]


def _of_neo(config: GPTConfig) -> dict[str, Any]:
    pairs, rest = divmod(config.n_layers, 2)
    types = [[["global", "local"], pairs], [["global"], rest]]
    return {
        "embed_dropout": config.dropout,
        "intermediate_size": _inner(config),
        "attention_types": [kinds for kinds in types if kinds[1]],
        "attention_layers": _kinds(config),
    }


def _four_times(config: GPTConfig) -> dict[str, Any]:
    if config.d_ff != 4 * config.d_model:
        raise ValueError(f"d_ff={config.d_ff}: this family is published with d_ff = 4 d_model")
    return {"embd_pdrop": config.dropout}


# In GPT's configs gelu means its tanh approximation.
AFN = Setting(
    "afn",
    lambda name: activation_of("gelu_new" if name == "gelu" else name),
    lambda ours: name_of(ours).replace("gelu_new", "gelu"),
)


GPT = Family(
    architecture="OpenAIGPTLMHeadModel",
    build=gpt.gpt,
    base=gpt.BASE,
    settings=SIZES | DROPOUTS | {"activation": AFN},
    names=_layer(LAYER) | GPT_AROUND | HEAD,
    finish=_gpt,
    derived=_four_times,
    older=OLDER,
)
GPT2 = Family(
    architecture="GPT2LMHeadModel",
    build=gpt2.gpt2,
    base=gpt2.BASE,
    settings=SIZES | DROPOUTS | {"activation": activation("activation_function")},
    names=_layer(LAYER) | GPT2_AROUND | HEAD,
    expected={
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "add_cross_attention": False,
        "tie_word_embeddings": True,
    },
    finish=_gpt2,
    derived=lambda config: {"embd_pdrop": config.dropout, "n_inner": _inner(config)},
    older=OLDER,
)
GPT_NEO = Family(
    architecture="GPTNeoForCausalLM",
    build=gpt_neo.gpt_neo,
    base=gpt_neo.BASE,
    settings={
        "vocab_size": "vocab_size",
        "d_model": "hidden_size",
        "n_heads": "num_heads",
        "n_layers": "num_layers",
        "max_length": "max_position_embeddings",
        "eps": "layer_norm_epsilon",
        "band": "window_size",
        "activation": activation("activation_function"),
        "dropout": "resid_dropout",
        "attention_dropout": Setting("attention_dropout", written="weights_dropout"),
    },
    names=NEO_LAYER | GPT2_AROUND | HEAD,
    expected={"tie_word_embeddings": True},
    finish=_neo,
    derived=_of_neo,
    older=OLDER,
)
CTRL = Family(
    architecture="CTRLLMHeadModel",
    build=ctrl.ctrl,
    base=ctrl.BASE,
    settings=SIZES | {"d_ff": "dff", "dropout": "resid_pdrop"},
    names=CTRL_LAYER
    | {
        "transformer.w": "decoder.embedding",
        "transformer.layernorm": "decoder.stack.norm",
        "lm_head.weight": "head.embedding.weight",
        "lm_head.bias": "head.bias",
    },
    # The norms inside the layers have this eps, whatever config.json says.
    expected={"tie_word_embeddings": True, "layer_norm_epsilon": 1e-6},
    finish=_one_dropout("embd_pdrop"),
    derived=lambda config: {"embd_pdrop": config.dropout},
    older=OLDER,
)
FAMILIES = (GPT, GPT2, GPT_NEO, CTRL)

"""Load a decoder and its tokenizer from one GGUF file.

    file = gguf.read("SmolLM2-135M-Instruct.Q4_1.gguf")
    model, tokenizer = model_of(file), tokenizer_of(file)

The weights are dequantized to float32; the quantization error remains. In these files the rows of
W_q and W_k are in our order: rows that are rotated together (RoPE) are adjacent.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from deepdive.models.generative import llama
from deepdive.models.generative.llama import Llama
from deepdive.models.generative.llama_config import LlamaConfig
from deepdive.published.form import Family
from deepdive.published.gguf import Gguf
from deepdive.published.names import Names
from deepdive.published.sizes import plan
from deepdive.published.weights import adopt
from deepdive.tokenizers import ByteBPETokenizer
from deepdive.tokenizers.byte_bpe import DigitBPETokenizer

LAYER, OURS = "blk.{}", "decoder.stack.blocks.{}"
CONTROL = 3  # the type of a token that encoding text never produces
PRE: dict[str, type[ByteBPETokenizer]] = {"gpt-2": ByteBPETokenizer, "smollm": DigitBPETokenizer}


def _names(config: LlamaConfig) -> Names:
    return Names(
        {
            "token_embd": "decoder.embedding",
            f"{LAYER}.attn_q": f"{OURS}.attn.q",
            (f"{LAYER}.attn_k", f"{LAYER}.attn_v"): f"{OURS}.attn.kv",
            f"{LAYER}.attn_output": f"{OURS}.attn.out",
            f"{LAYER}.ffn_gate": f"{OURS}.ff.gate",
            f"{LAYER}.ffn_up": f"{OURS}.ff.inner",
            f"{LAYER}.ffn_down": f"{OURS}.ff.out",
            f"{LAYER}.attn_norm": f"{OURS}.attn_residual.norm",
            f"{LAYER}.ffn_norm": f"{OURS}.ff_residual.norm",
            "output_norm": "decoder.stack.norm",
            "output": "head.embedding" if config.tied else "head",
        }
    )


def _whole_heads_turned(config: LlamaConfig, metadata: Mapping[str, Any]) -> LlamaConfig:
    """Raise ValueError for a config that rotates only a part of a head (partial RoPE)."""
    rotated = metadata.get("llama.rope.dimension_count")
    if rotated not in (None, config.width):
        raise ValueError(
            f"config rotates {rotated} of the {config.width} entries of a head; only all of them "
            "are supported"
        )
    return config


def _vocabulary(config: LlamaConfig, tensors: Mapping[str, Tensor]) -> LlamaConfig:
    """Set the vocabulary size, and whether the output layer is tied, from the tensors."""
    embedding = tensors.get("token_embd.weight")
    size = config.vocab_size if embedding is None else len(embedding)
    return config.but(vocab_size=size, tied="output.weight" not in tensors)


LLAMA = Family(
    architecture="llama",
    build=llama.llama,
    base=llama.BASE,
    settings={
        "d_model": "llama.embedding_length",
        "n_heads": "llama.attention.head_count",
        "n_kv_heads": "llama.attention.head_count_kv",
        "d_head": "llama.attention.key_length",
        "n_layers": "llama.block_count",
        "d_ff": "llama.feed_forward_length",
        "max_length": "llama.context_length",
        "base": "llama.rope.freq_base",
        "eps": "llama.attention.layer_norm_rms_epsilon",
    },
    names=_names,
    expected={
        "general.architecture": "llama",
        "llama.rope.scaling.type": "none",
        "llama.expert_count": 0,
    },
    finish=_whole_heads_turned,
    fit=_vocabulary,
)


def model_of(file: Gguf) -> Llama:
    """Return the decoder of a file, in evaluation mode.

    Raises ValueError for another architecture than Llama's, for a setting or a tensor type that is
    not supported, and, with the names, for unknown or missing tensors.
    """
    if "general.architecture" not in file.metadata:
        raise ValueError(f"file: {file.path} has no general.architecture")
    shapes = {n: torch.empty(p.shape, device="meta") for n, p in file.tensors.items()}
    config = LLAMA.fit(LLAMA.config(file.metadata), shapes)
    made: Any = plan(LLAMA, config, shapes)  # before anything is unpacked
    tensors = {name: file.tensor(name) for name in file.tensors}
    model = made.to_empty(device="cpu")
    adopt(model, tensors, [LLAMA.table(config=config)])
    return model.eval()


def tokenizer_of(file: Gguf) -> ByteBPETokenizer:
    """Return the byte-level BPE tokenizer of a file, with the pad, bos, eos and unk it names.

    Raises ValueError for a tokenizer of another kind, and for an incomplete one.
    """
    settings = {
        name.removeprefix("tokenizer.ggml."): value
        for name, value in file.metadata.items()
        if name.startswith("tokenizer.ggml.")
    }
    kind, pre = settings.get("model"), settings.get("pre")
    if kind != "gpt2" or pre not in PRE:
        raise ValueError(
            f"file: {file.path} has a tokenizer of type {kind!r}, pre-tokenizer {pre!r}; supported "
            f"is 'gpt2' with {' or '.join(map(repr, PRE))}"
        )
    try:
        vocab, merges, types = (settings[part] for part in ("tokens", "merges", "token_type"))
        keys = ("padding", "bos", "eos", "unknown")
        ids = [settings.get(f"{key}_token_id", settings["eos_token_id"]) for key in keys]
        if wrong := [i for i in ids if type(i) is not int or not 0 <= i < len(vocab)]:
            raise ValueError(f"token id {wrong[0]!r} of {len(vocab):,} tokens")
        named = [vocab[i] for i in ids]
        control = [piece for piece, kind in zip(vocab, types, strict=True) if kind == CONTROL]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"file: the tokenizer of {file.path} is incomplete ({type(error).__name__}: {error}); "
            "download it again"
        ) from error
    return PRE[pre](vocab, merges, [*named, *control])

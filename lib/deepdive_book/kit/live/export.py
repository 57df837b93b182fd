"""A Transformer's weights as text that a page can hold, and a check that the page can run it.

Half precision is one number after the other. A snapshot takes one byte a weight, from -127 to 127,
and a scale for each row, its largest weight / 127, in half precision.
"""

import base64
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.core import (
    Block,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    PostNorm,
    PreNorm,
    SoftmaxAttention,
    gelu,
    gelu_tanh,
    relu,
)
from deepdive.core.embeddings import TiedHead
from deepdive.core.feed_forward import Activation
from deepdive.core.stack import Stack
from deepdive.layers.heads import Classifier, ImageClassifier
from deepdive.layers.patches import Patches
from deepdive.positions import LearnedPosition, SinusoidalPosition

Tensors = Mapping[str, Tensor]
HEAD = "head.embedding.weight"


def described(model: Any) -> dict[str, Any]:
    """Return what `forward.js` must know of an encoder-decoder beside its weights.

    Raises TypeError for a model without encoder, decoder and head, and ValueError for one with a
    part that the page cannot run; the message names the part.
    """
    if not all(hasattr(model, name) for name in ("encoder", "decoder", "head")):
        raise TypeError(
            f"model: {type(model).__name__} has no encoder, decoder and head; the page runs what "
            "deepdive.models.transformer.transformer builds"
        )
    sides = {"encoder": model.encoder, "decoder": model.decoder}
    _be(type(model.head) is TiedHead, "head", "a TiedHead", model.head)
    tied = model.head.embedding.weight is model.decoder.embedding.weight
    _be(tied, "head", "tied to the decoder's embedding", "another matrix")
    _be(model.head.bias is None, "head", "without a bias", model.head)
    found: dict[str, set[Any]] = {"width": set(), "heads": set(), "eps": set(), "post": set()}
    for side, part in sides.items():
        _be(
            type(part.position) is SinusoidalPosition,
            f"{side}.position",
            "sinusoidal",
            part.position,
        )
        _be(
            type(part.stack) is Stack and part.stack.blocks,
            f"{side}.stack",
            "a plain Stack",
            part.stack,
        )
        for i, block in enumerate(part.stack.blocks):
            for key, value in _block(f"{side}.stack.blocks.{i}", block, side == "decoder"):
                found[key].add(value)
        post = part.stack.blocks[0].attn_residual.__class__ is PostNorm
        _be((part.stack.norm is None) == post, f"{side}.stack.norm", "there with pre-norm only", "")
        if not post:
            found["eps"].add(_norm(f"{side}.stack.norm", part.stack.norm))
        found["width"].add(part.embedding.d_model)
    for key, values in found.items():
        _be(len(values) == 1, key, "one number in all blocks", sorted(values))
    return {
        **{key: values.pop() for key, values in found.items()},
        "layers": {side: len(part.stack.blocks) for side, part in sides.items()},
        "scale": {side: part.embedding.scale for side, part in sides.items()},
        "shapes": [[name, *_rows(tensor)] for name, tensor in _named(model.state_dict()).items()],
    }


def described_encoder(model: Any) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return what `cloze.js` must know of a BERT with its masked head, and its weights, renamed as
    `forward.js` has them and the tied matrix once.

    Raises TypeError for another model, ValueError for one with a part that the page cannot run.
    """
    if not all(hasattr(model, name) for name in ("bert", "masked")):
        raise TypeError(
            f"model: {type(model).__name__} has no bert and masked; the page runs what "
            "deepdive.models.bert.pretraining.for_masked_lm builds"
        )
    encoder, config = model.bert, model.bert.config
    _be(type(encoder.stack) is Stack, "bert.stack", "a plain Stack", encoder.stack)
    _be(config.n_segments == 0, "bert.embeddings", "without segments", config.n_segments)
    place = encoder.embeddings.position
    _be(type(place) is LearnedPosition, "bert.embeddings.position", "learned", place)
    found: dict[str, set[Any]] = {"width": set(), "heads": set(), "eps": set(), "post": set()}
    for i, block in enumerate(encoder.stack.blocks):
        for key, value in _block(f"bert.stack.blocks.{i}", block, False, gelu):
            found[key].add(value)
    found["eps"] |= {_norm("bert.embeddings.norm", encoder.embeddings.norm)}
    found["eps"] |= {_norm("masked.norm", model.masked.norm)}
    for key, values in found.items():
        _be(len(values) == 1, key, "one number in all blocks", sorted(values))
    _be(found["post"] == {True}, "bert.stack", "with the norm after the sum", "pre-norm")
    weights = {
        name.replace("bert.stack.", "encoder.stack.").removeprefix("bert."): tensor
        for name, tensor in model.state_dict().items()
        if name != "masked.head.embedding.weight"
    }
    spec = {key: values.pop() for key, values in found.items()}
    spec["layers"] = {"encoder": len(encoder.stack.blocks)}
    spec["shapes"] = [[name, *_rows(tensor)] for name, tensor in weights.items()]
    return spec, weights


def described_judge(model: Any) -> dict[str, Any]:
    """Return what `judge.js` must know of a BERT with its classifier, beside its weights.

    Raises TypeError for another model, ValueError for one with a part that the page cannot run.
    """
    if type(model) is not Classifier or not hasattr(model.encoder, "config"):
        raise TypeError(
            f"model: got {type(model).__name__}; the page runs a deepdive.layers.heads."
            "Classifier on what deepdive.models.bert.bert.bert builds"
        )
    encoder: Any = model.encoder
    _be(type(encoder.stack) is Stack, "encoder.stack", "a plain Stack", encoder.stack)
    segments = encoder.config.n_segments
    _be(segments == 0, "encoder.embeddings", "without segments", segments)
    place = encoder.embeddings.position
    _be(type(place) is LearnedPosition, "encoder.embeddings.position", "learned", place)
    found: dict[str, set[Any]] = {"width": set(), "heads": set(), "eps": set(), "post": set()}
    for i, block in enumerate(encoder.stack.blocks):
        for key, value in _block(f"encoder.stack.blocks.{i}", block, False, gelu):
            found[key].add(value)
    found["eps"] |= {_norm("encoder.embeddings.norm", encoder.embeddings.norm)}
    for key, values in found.items():
        _be(len(values) == 1, key, "one number in all blocks", sorted(values))
    _be(found["post"] == {True}, "encoder.stack", "with the norm after the sum", "pre-norm")
    return {
        **{key: values.pop() for key, values in found.items()},
        "layers": {"encoder": len(encoder.stack.blocks)},
        "shapes": [[name, *_rows(tensor)] for name, tensor in model.state_dict().items()],
    }


def described_writer(model: Any) -> dict[str, Any]:
    """Return what `writer.js` must know of a GPT-2, beside its weights.

    Raises TypeError for another model, ValueError for one with a part that the page cannot run.
    """
    if not all(hasattr(model, name) for name in ("decoder", "head", "config")):
        raise TypeError(
            f"model: got {type(model).__name__}; the page runs what "
            "deepdive.models.generative.gpt2.gpt2 builds"
        )
    decoder = model.decoder
    _be(type(model.head) is TiedHead and model.head.bias is None, "head", "tied", model.head)
    _be(decoder.embedding.scale == 1.0, "decoder.embedding", "unscaled", decoder.embedding.scale)
    _be(type(decoder.position) is LearnedPosition, "decoder.position", "learned", decoder.position)
    _be(type(decoder.stack) is Stack, "decoder.stack", "a plain Stack", decoder.stack)
    found: dict[str, set[Any]] = {"width": set(), "heads": set(), "eps": set(), "post": set()}
    for i, block in enumerate(decoder.stack.blocks):
        for key, value in _block(f"decoder.stack.blocks.{i}", block, False, gelu_tanh):
            found[key].add(value)
    _be(found["post"] == {False}, "decoder.stack", "with the norm inside the branch", "post-norm")
    found["eps"] |= {_norm("decoder.stack.norm", decoder.stack.norm)}
    for key, values in found.items():
        _be(len(values) == 1, key, "one number in all blocks", sorted(values))
    return {
        **{key: values.pop() for key, values in found.items()},
        "layers": {"decoder": len(decoder.stack.blocks)},
        "shapes": [[name, *_rows(tensor)] for name, tensor in _named(model.state_dict()).items()],
    }


def described_viewer(model: Any) -> dict[str, Any]:
    """Return what `vision.js` must know of a ViT with its classifier, beside its weights.

    Raises TypeError for another model, ValueError for one with a part that the page cannot run.
    """
    parts = ("embeddings", "stack", "config")
    if type(model) is not ImageClassifier or not all(hasattr(model.encoder, p) for p in parts):
        raise TypeError(
            f"model: got {type(model).__name__}; the page runs a deepdive.layers.heads."
            "ImageClassifier on what deepdive.models.vision.vit builds"
        )
    encoder: Any = model.encoder
    config, rows = encoder.config, encoder.embeddings
    plain = type(getattr(rows, "patches", None)) is Patches
    plain = plain and all(hasattr(rows, p) for p in ("special", "positions"))
    _be(plain, "encoder.embeddings", "ViT's: patches, a special row, positions", rows)
    _be(type(encoder.stack) is Stack, "encoder.stack", "a plain Stack", encoder.stack)
    found: dict[str, set[Any]] = {"width": set(), "heads": set(), "eps": set(), "post": set()}
    for i, block in enumerate(encoder.stack.blocks):
        for key, value in _block(f"encoder.stack.blocks.{i}", block, False, gelu):
            found[key].add(value)
    _be(found["post"] == {False}, "encoder.stack", "with the norm inside the branch", "post-norm")
    found["eps"] |= {_norm("encoder.stack.norm", encoder.stack.norm)}
    for key, values in found.items():
        _be(len(values) == 1, key, "one number in all blocks", sorted(values))
    return {
        **{key: values.pop() for key, values in found.items()},
        "layers": {"encoder": len(encoder.stack.blocks)},
        "side": config.image_size,
        "patch": config.patch_size,
        "channels": config.channels,
        "shapes": [[name, *_rows(tensor)] for name, tensor in model.state_dict().items()],
    }


def half(state: Tensors) -> str:
    """Return all weights in half precision, base64. Raises ValueError where one does not fit."""
    flat = torch.cat([tensor.detach().flatten().float() for tensor in _named(state).values()])
    if not flat.abs().max() <= torch.finfo(torch.float16).max:
        raise ValueError("a weight is no number, or above 65,504: half precision cannot hold it")
    return _text(flat.half())


def quantized(state: Tensors) -> tuple[Tensor, Tensor]:
    """Return all weights as int8 codes (weights,) and half precision scales (rows,)."""
    codes, scales = [], []
    for tensor in _named(state).values():
        rows = tensor.detach().float().reshape(_rows(tensor))
        scale = (rows.abs().amax(1) / 127).half()
        whole = rows / scale.float().where(scale > 0, 1.0)[:, None]
        codes.append(whole.round().clamp(-127, 127).to(torch.int8).flatten())
        scales.append(scale)
    return torch.cat(codes), torch.cat(scales)


def restored(
    codes: Tensor,
    scales: Tensor,
    like: Tensors,
    tied: tuple[str, str] = (HEAD, "decoder.embedding.weight"),
) -> dict[str, Tensor]:
    """Return the weights that `quantized` made the codes of, named and shaped as in `like`; the
    first of the `tied` names is the second's matrix.

    Raises ValueError when there are more or fewer codes or scales than that.
    """
    named = _named(like)
    rows = [_rows(tensor)[0] for tensor in named.values()]
    wanted = (sum(tensor.numel() for tensor in named.values()), sum(rows))
    if (len(codes), len(scales)) != wanted:
        raise ValueError(f"got {len(codes)} codes and {len(scales)} scales, expected {wanted}")
    found = {}
    ends = accumulate(tensor.numel() for tensor in named.values())
    for (name, tensor), end, scale in zip(
        named.items(), ends, scales.float().split(rows), strict=True
    ):
        whole = codes[end - tensor.numel() : end].reshape(_rows(tensor))
        found[name] = (whole.float() * scale[:, None]).reshape(tensor.shape)
    return found | {tied[0]: found[tied[1]]}


def snapshot(state: Tensors) -> list[str]:
    """Return codes and scales of `quantized`, base64."""
    codes, scales = quantized(state)
    return [_text(codes), _text(scales)]


def _named(state: Tensors) -> dict[str, Tensor]:
    """Leave out the head, whose matrix is the decoder's embedding."""
    return {name: tensor for name, tensor in state.items() if name != HEAD}


def _rows(tensor: Tensor) -> tuple[int, int]:
    return (tensor.shape[0], tensor.shape[1]) if tensor.ndim == 2 else (1, tensor.numel())


def _text(tensor: Tensor) -> str:
    return base64.b64encode(tensor.contiguous().numpy().tobytes()).decode()


def _be(right: object, where: str, wanted: str, came: object) -> None:
    if not right:
        name = type(came).__name__ if isinstance(came, nn.Module) else came
        raise ValueError(f"{where}: the page needs it {wanted}; got {name}")


def _norm(where: str, norm: Any) -> float:
    _be(type(norm) is LayerNorm and norm.bias is not None, where, "a LayerNorm with bias", norm)
    return float(norm.eps)


def _block(
    where: str, block: Any, cross: bool, activation: Activation = relu
) -> Iterator[tuple[str, Any]]:
    """Check one block, and yield what must be the same in all."""
    _be(type(block) is Block, where, "a Block", block)
    _be((block.cross is not None) == cross, f"{where}.cross", "in decoder blocks only", block)
    _be(type(block.ff) is FeedForward, f"{where}.ff", "a FeedForward", block.ff)
    wanted, came = activation.__name__, block.ff.activation
    _be(came is activation, f"{where}.ff.activation", wanted, came)
    _be(block.ff.inner.bias is not None, f"{where}.ff", "with biases", block.ff)
    for name in ("attn", "cross", "ff") if cross else ("attn", "ff"):
        joint = getattr(block, f"{name}_residual")
        known = type(joint) in (PreNorm, PostNorm)
        _be(known, f"{where}.{name}_residual", "PreNorm or PostNorm", joint)
        yield "post", type(joint) is PostNorm
        yield "eps", _norm(f"{where}.{name}_residual.norm", joint.norm)
        if name != "ff":
            attn, at = getattr(block, name), f"{where}.{name}"
            _be(type(attn) is MultiHeadAttention, at, "a MultiHeadAttention", attn)
            plain = type(attn.mechanism) is SoftmaxAttention and attn.scale is None
            _be(plain, f"{at}.mechanism", "plain SoftmaxAttention", attn.mechanism)
            _be(attn.position is None, f"{at}.position", "left out", attn.position)
            _be(attn.n_kv_heads == attn.n_heads, f"{at}.n_kv_heads", "n_heads", attn.n_kv_heads)
            _be(attn.q.bias is not None, at, "with biases", "none")
            yield "heads", attn.n_heads
            yield "width", attn.d_context

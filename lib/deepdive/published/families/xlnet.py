"""XLNet: config settings and name table; its files have weights (d_model, H, d_head)."""

from torch import Tensor

from deepdive.models.bert import xlnet
from deepdive.published.form import Family, Head, Setting, activation
from deepdive.published.names import Layout, Names

LAYER, BLOCK = "layer.{}.rel_attn", "stack.blocks.{}"


def names(config: xlnet.XLNetConfig) -> Names:
    """Return the name table of an XLNet, whose weights have a separate head axis in files."""
    heads = (config.n_heads, -1)

    def layout(parts: int) -> Layout:
        """Layout of `parts` matrices: (d_model, H, d_head) theirs, (H * d_head, d_model) ours."""

        def ours(tensor: Tensor) -> Tensor:
            return tensor.flatten(1).unflatten(0, (parts, -1)).transpose(1, 2).flatten(0, 1)

        def theirs(tensor: Tensor) -> Tensor:
            turned = tensor.unflatten(0, (parts, -1)).transpose(1, 2).flatten(0, 1)
            return turned.unflatten(1, heads)

        return ours, theirs

    position, segments = f"{BLOCK}.attn.position", f"{BLOCK}.segments"
    return Names(
        {
            "word_embedding": "tokens",
            "mask_emb": "unread",
            f"{LAYER}.q": f"{BLOCK}.attn.q.weight",
            (f"{LAYER}.k", f"{LAYER}.v"): f"{BLOCK}.attn.kv.weight",
            f"{LAYER}.o": f"{BLOCK}.attn.out.weight",
            f"{LAYER}.r": f"{position}.W.weight",
            f"{LAYER}.r_w_bias": f"{position}.u",
            f"{LAYER}.r_r_bias": f"{position}.v",
            f"{LAYER}.r_s_bias": f"{segments}.w",
            f"{LAYER}.seg_embed": f"{segments}.e",
            f"{LAYER}.layer_norm": f"{BLOCK}.attn_residual.norm",
            "layer.{}.ff.layer_1": f"{BLOCK}.ff.inner",
            "layer.{}.ff.layer_2": f"{BLOCK}.ff.out",
            "layer.{}.ff.layer_norm": f"{BLOCK}.ff_residual.norm",
        },
        {
            "unread": (lambda row: row.flatten(), lambda row: row[None, None]),
            f"{BLOCK}.attn.q": layout(1),
            f"{BLOCK}.attn.kv": layout(2),
            f"{BLOCK}.attn.out": (lambda o: o.flatten(1), lambda out: out.unflatten(1, heads)),
            f"{position}.W": layout(1),
        },
    )


XLNET = Family(
    architecture="XLNetModel",
    build=xlnet.xlnet,
    base=xlnet.BASE,
    settings={
        "vocab_size": "vocab_size",
        "d_model": "d_model",
        "n_heads": "n_head",
        "n_layers": "n_layer",
        "d_ff": "d_inner",
        "dropout": "dropout",
        "eps": "layer_norm_eps",
        "activation": activation("ff_activation"),
        "n_memory": Setting("mem_len", lambda length: length or None),
    },
    # Relative offsets of both signs, unclamped; one direction; whole segments in memory.
    expected={
        "attn_type": "bi",
        "bi_data": False,
        "clamp_len": -1,
        "reuse_len": None,
        "untie_r": True,
        "tie_word_embeddings": True,
    },
    names=names,
    prefix="transformer.",
    unused=("lm_loss.", "sequence_summary.", "logits_proj.", "classifier.", "qa_outputs.",
            "start_logits.", "end_logits.", "answer_class."),
    heads={
        "lm": Head(
            "XLNetLMHeadModel",
            xlnet.for_lm,
            Names({"lm_loss.bias": "head.bias", "lm_loss.weight": "head.embedding.weight"}),
        )
    },
)  # fmt: skip
FAMILIES = (XLNET,)

"""DistilBERT: half of BERT's layers, taught by the whole. Sanh et al. 2019, "DistilBERT, a
distilled version of BERT: smaller, faster, cheaper and lighter".

The model is `deepdive.models.bert.bert.Bert` with other numbers; what makes it DistilBERT is how it
is trained (`deepdive.training.objectives`: soft targets, gaps, and a cosine between the states of
both).

System: distilbert
Parent: bert
What differs:
- half as many layers (`n_layers`), begun from every second one of the teacher's (`student`)
- no segments (`n_segments` = 0), and no pooler
- it learns from a teacher's scores and states, not from text alone (`deepdive.training.objectives`)
Source: Sanh et al. 2019, sections 2 and 3.
Book: 3.2
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from deepdive.models.bert.bert import Bert, BertForMaskedLM, bert, for_masked_lm
from deepdive.positions import LearnedPosition
from deepdive.published.bert import COUNTED, EMBEDDINGS, EXPECTED, activation_of
from deepdive.published.weights import Join, Rule, adopt, check_config, read, read_config


def student(teacher: Bert) -> Bert:
    """Return a copy of the teacher with every second of its layers: 0, 2, 4 and so on.

    The row of segment 0, which every token of a single text had, is added to the positions.
    Source: Sanh et al. 2019, section 2, "student initialization".
    """
    model = copy.deepcopy(teacher)
    model.stack.blocks = model.stack.blocks[::2]
    embeddings = model.embeddings
    if embeddings.segments is not None and isinstance(embeddings.position, LearnedPosition):
        with torch.no_grad():
            embeddings.position.table.weight += embeddings.segments.weight[0]
        embeddings.segments, embeddings.n_segments = None, 0
    return model


def from_config(config: Mapping[str, Any]) -> Bert:
    """Build the encoder of a config.json. Raises ValueError for a setting not built here."""
    check_config(config, "distilbert", EXPECTED)
    return bert(
        config["vocab_size"],
        d_model=config["dim"],
        n_heads=config["n_heads"],
        n_layers=config["n_layers"],
        d_ff=config["hidden_dim"],
        max_length=config["max_position_embeddings"],
        n_segments=0,
        dropout=config["dropout"],
        attention_dropout=config["attention_dropout"],
        activation=activation_of(config["activation"]),
    )


BODY: tuple[Rule, ...] = (
    *EMBEDDINGS,
    (r"\btransformer\.layer\.", "stack.blocks."),
    (r"\.attention\.q_lin\.", ".attn.q."),
    Join((r"\.attention\.k_lin\.", r"\.attention\.v_lin\."), ".attn.kv."),
    (r"\.attention\.out_lin\.", ".attn.out."),
    (r"\.sa_layer_norm\.", ".attn_residual.norm."),
    (r"\.ffn\.lin1\.", ".ff.inner."),
    (r"\.ffn\.lin2\.", ".ff.out."),
    (r"\.output_layer_norm\.", ".ff_residual.norm."),
)
NAMES: tuple[Rule, ...] = ((r"^distilbert\.", ""), *BODY)
MASKED_NAMES: tuple[Rule, ...] = (
    (r"^distilbert\.", "bert."),
    *BODY,
    (r"^vocab_transform\.", "masked.dense."),
    (r"^vocab_layer_norm\.", "masked.norm."),
    (r"^vocab_projector\.bias$", "masked.head.bias"),
    (r"^vocab_projector\.weight$", "masked.head.embedding.weight"),
)
BESIDE = tuple(name.replace("bert.", "distilbert.") for name in COUNTED)
HEADS = tuple(
    f"{head}.{k}"
    for head in (
        *("vocab_transform", "vocab_layer_norm", "vocab_projector"),
        *("pre_classifier", "classifier", "qa_outputs"),
    )
    for k in ("weight", "bias")
)


def load(folder: str | Path) -> Bert:
    """Return the encoder of a folder that holds config.json and safetensors, in evaluation mode.

    Raises ValueError for tensors that are unknown or missing, by name.
    """
    model = from_config(read_config(folder))
    adopt(model, read(folder), NAMES, leave_out=(*BESIDE, *HEADS))
    return model.eval()


def load_for_masked_lm(folder: str | Path) -> BertForMaskedLM:
    """Return encoder and head of a folder (DistilBertForMaskedLM), in evaluation mode."""
    config = read_config(folder)
    model = for_masked_lm(from_config(config), activation_of(config["activation"]))
    adopt(model, read(folder), MASKED_NAMES, leave_out=BESIDE)
    return model.eval()


def base(vocab_size: int = 30_522) -> Bert:
    """Return DistilBERT's size: 6 layers, 768 wide, 12 heads."""
    return bert(vocab_size, n_layers=6, n_segments=0)


def tiny(vocab_size: int = 32) -> Bert:
    """Return a model for tests and toys: 1 layer, 32 wide, 4 heads, 64 positions."""
    return bert(
        vocab_size,
        d_model=32,
        n_heads=4,
        n_layers=1,
        d_ff=64,
        max_length=64,
        n_segments=0,
        dropout=0.0,
    )

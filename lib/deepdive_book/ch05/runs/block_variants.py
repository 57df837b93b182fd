"""The table that closes chapter 5: what each variant of a Transformer block changes, what it costs
next to plain blocks of the same sizes, and what the chapter's saved runs measured.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import log
from statistics import mean
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure
from torch import nn

from deepdive.core import (
    Block,
    Context,
    FeedForward,
    LayerNorm,
    MultiHeadAttention,
    NoNorm,
    PreNorm,
    ReZero,
    RMSNorm,
)
from deepdive.core.masks import Causal
from deepdive.core.stack import Stack
from deepdive.evaluate import Interval, t_interval
from deepdive.layers.segment_memory import Memory
from deepdive.layers.universal_stack import UniversalStack, universal_block
from deepdive.models.bert.bert import bert
from deepdive.models.bert.deebert import DeeBert
from deepdive.models.efficient import hi_transformer, hibert
from deepdive.models.efficient.all_attention import all_attention_block
from deepdive.models.efficient.compressive import compressive
from deepdive.models.efficient.conditional_computation import conditional_computation
from deepdive.models.efficient.memformer import memformer
from deepdive.models.efficient.transformer_xl import transformer_xl
from deepdive.models.transformer.darts import supernet
from deepdive.models.transformer.macaron import macaron_block
from deepdive.models.transformer.realformer import realformer_stack
from deepdive.models.transformer.sandwich import sandwich
from deepdive.models.transformer.transformer import transformer
from deepdive.models.transformer.transparent import transparent
from deepdive_book.ch05.runs import (
    adaptive_steps,
    adaptive_tables,
    all_attention,
    block_order,
    block_order_results,
    compression,
    connection_tables,
    early_exit,
    encoder_depth,
    lightweight,
    lightweight_tables,
    long_document_tables,
    long_documents,
    norm_variants,
    recurrence,
    recurrence_tables,
    residual_scores,
    sublayer_tables,
)
from deepdive_book.kit.flops import count_flops
from deepdive_book.kit.markup import Html
from deepdive_book.kit.palette import ROLES
from deepdive_book.kit.plotting import with_alt
from deepdive_book.kit.rows import paired
from deepdive_book.kit.tables import NOT_HERE, table

D_MODEL, HEADS, LAYERS, D_FF, TOKENS, VOCAB = 64, 4, 6, 256, 128, 16
SIZES = {"d_model": D_MODEL, "n_heads": HEADS, "n_layers": LAYERS, "d_ff": D_FF}
MODEL: dict[str, Any] = {**SIZES, "dropout": 0.0}
BERT: dict[str, Any] = {**MODEL, "vocab_size": VOCAB, "max_length": TOKENS}
SENTENCE = 16  # words
LIGHT = {"Funnel Transformer": lightweight.FUNNEL, "DeLighT": lightweight.DELIGHT,
         "Lite Transformer": lightweight.LITE}  # fmt: skip
XL: dict[str, Any] = {**MODEL, "vocab_size": VOCAB, "d_head": D_MODEL // HEADS, "n_memory": TOKENS}


class Cost(NamedTuple):
    """Parameters, and FLOPs of one forward pass over `TOKENS` tokens."""

    parameters: int
    flops: int


class Difference(NamedTuple):
    """A variant's result minus the one it is compared with, with the interval of its page."""

    compared_with: str
    unit: str
    interval: Interval


class Variant(NamedTuple):
    """A row of the table: its page, what it changes, and what its paper reports."""

    page: str
    changes: str
    reported: str


VARIANTS = {
    "Macaron": Variant(
        "14_block_order", "a half-step feed-forward layer before and after attention",
        "gains in translation and language understanding"),
    "Sandwich, k = 1": Variant(
        "14_block_order", "attention sublayers first, feed-forward sublayers last",
        "lower perplexity at no cost in parameters, memory, or time"),
    "DARTS": Variant(
        "14_block_order", "learns which sublayer to put where",
        "cells of convolutional and recurrent networks"),
    "RMSNorm": Variant(
        "15_norms_and_all_attention", "no mean and no shift in the norm",
        "performance of LayerNorm with a running time 7% to 64% lower"),
    "ReZero": Variant(
        "15_norms_and_all_attention", "a learned factor for each branch, at first 0, no norms",
        "56% faster convergence with 12 layers, 120 layers train"),
    "no norm, scaled": Variant(
        "15_norms_and_all_attention", "branches scaled down at initialization, no norms",
        "no paper: our control of ReZero"),
    "all-attention": Variant(
        "15_norms_and_all_attention", "learned keys and values instead of feed-forward layers",
        "language models on par with feed-forward layers"),
    "Transformer-XL": Variant(
        "16_recurrence_and_memory", "attends to cached states of the previous segment",
        "0.99 bpc on enwik8, evaluation up to 1,800 times as fast"),
    "Compressive Transformer": Variant(
        "16_recurrence_and_memory", "compresses the states that leave the memory",
        "0.97 bpc on enwik8"),
    "Memformer": Variant(
        "16_recurrence_and_memory", "memory slots, written after each segment",
        "equal performance, 8.1 times less memory, 3.2 times as fast"),
    "Universal Transformer, ACT": Variant(
        "17_adaptive_computation", "one block, repeated until each position halts",
        "higher accuracy, more steps for harder inputs"),
    "conditional computation": Variant(
        "17_adaptive_computation", "a gate for each sublayer and token",
        "control of the computation per token"),
    "DeeBERT": Variant(
        "17_adaptive_computation", "a classifier after each layer, exit when it is confident",
        "saves up to 40% of the inference time, little quality lost"),
    "RealFormer": Variant(
        "18_connections_between_layers", "adds the previous layer's scores to this layer's",
        "better masked language models, sparser attention"),
    "transparent attention": Variant(
        "18_connections_between_layers", "the decoder reads a learned mean of all encoder layers",
        "encoders 2 to 3 times as deep train, +0.7 to +1.1 BLEU"),
    "Funnel Transformer": Variant(
        "19_lightweight_blocks", "halves the number of positions from block to block",
        "better than standard at comparable or fewer FLOPs"),
    "DeLighT": Variant(
        "19_lightweight_blocks", "deep group linear transforms, wider in later blocks",
        "2 to 3 times fewer parameters at equal or better quality"),
    "Lite Transformer": Variant(
        "19_lightweight_blocks", "half of the channels in a convolution, half in attention",
        "better translation under tight limits"),
    "HIBERT": Variant(
        "20_hierarchical_documents", "encodes sentences, then the sequence of sentences",
        "+1.25 ROUGE by pretraining on CNN/DailyMail"),
    "Hi-Transformer": Variant(
        "20_hierarchical_documents", "HIBERT, and feeds the document back to the words",
        "efficient and effective on three data sets"),
}  # fmt: skip


# -- costs


def cost(model: nn.Module, run: Callable[[], Any]) -> Cost:
    """Count a model's parameters and the FLOPs of `run`."""
    with torch.no_grad():
        return Cost(sum(p.numel() for p in model.parameters()), int(count_flops(run)))


def _of_stack(stack: nn.Module) -> Cost:
    """Count a causal stack, without embeddings and head."""
    x, positions = torch.zeros(1, TOKENS, D_MODEL), torch.arange(TOKENS)
    return cost(stack, lambda: stack(x, Context(mask=Causal(), positions=positions)))


def _of_blocks(block: Callable[[], nn.Module], normed: bool = True) -> Cost:
    norm = LayerNorm(D_MODEL) if normed else None
    return _of_stack(Stack(lambda _layer: block(), LAYERS, norm))


def plain(residual: Callable[[int], nn.Module] = PreNorm) -> Block:
    """Build a plain block of the common sizes."""
    attention = MultiHeadAttention(D_MODEL, HEADS)
    return Block(attention, FeedForward(D_MODEL, D_FF), residual=residual)


def _of_pairs(model: nn.Module) -> Cost:
    """Count an encoder-decoder that reads and writes `TOKENS` tokens."""
    tokens = torch.zeros(1, TOKENS, dtype=torch.long)
    return cost(model, lambda: model(tokens, tokens))


def _with_full_memory(model: nn.Module, memory: Any, segments: int = 3) -> Cost:
    """Count the segment that follows others, which have filled the memory."""
    tokens = torch.zeros(1, TOKENS, dtype=torch.long)
    with torch.no_grad():
        for _ in range(segments):
            model(tokens, memory=memory)
    return cost(model, lambda: model(tokens, memory=memory))


def _memformer_cost() -> Cost:
    model, tokens = memformer(VOCAB, **MODEL, n_slots=8), torch.zeros(1, TOKENS, dtype=torch.long)
    slots = model.begin(tokens).slots
    return cost(model, lambda: model.decode(tokens, model.begin(tokens, slots=slots)))


def _early_exit_costs() -> tuple[Cost, Cost]:
    """Count a BERT that exits at the mean layer of the least strict threshold, and a full one."""
    encoder = bert(**BERT)
    full = cost(encoder, lambda: encoder(torch.zeros(1, TOKENS, dtype=torch.long)))
    points = [row["curve"][-1]["depth"] for row in adaptive_tables.measured(early_exit.load())] or [
        LAYERS
    ]
    parameters = sum(p.numel() for p in DeeBert(encoder, 2).parameters())
    return Cost(parameters, round(full.flops * mean(points) / LAYERS)), full


def costs() -> dict[str, tuple[Cost, Cost]]:
    """Return for each variant its cost, and that of plain blocks of the same sizes and number."""
    layers, pairs = _of_blocks(plain), _of_pairs(transformer(VOCAB, **MODEL))
    xl, old = transformer_xl(**XL), compressive(**XL, n_compressed=TOKENS // 4)
    both: dict[str, Any] = {
        **SIZES,
        "n_layers": 2 * LAYERS,
    }  # a mixed layer stands in for one sublayer
    sandwiched, mixed = sandwich(VOCAB, **MODEL, k=1), supernet(VOCAB, **both, bias=True)
    universal = UniversalStack(
        universal_block(D_MODEL, HEADS, D_FF), D_MODEL, LAYERS, halting=False
    )
    steps = [row["ponder_16"] for row in _with_act()] or [LAYERS]
    pondered = layers.flops * mean(steps) / LAYERS
    unnormed = _of_blocks(lambda: plain(NoNorm), normed=False)
    found = {
        "Macaron": _of_blocks(lambda: macaron_block(D_MODEL, HEADS, D_FF)),
        "Sandwich, k = 1": _of_stack(sandwiched.decoder.stack),
        "DARTS": _of_stack(mixed.decoder.stack),
        "RMSNorm": _of_blocks(lambda: plain(partial(PreNorm, norm=RMSNorm))),
        "ReZero": _of_blocks(lambda: plain(ReZero), normed=False),
        "no norm, scaled": unnormed,
        "all-attention": _of_blocks(lambda: all_attention_block(D_MODEL, HEADS, D_FF)),
        "Transformer-XL": _with_full_memory(xl, Memory(TOKENS)),
        "Compressive Transformer": _with_full_memory(old, old.begin()),
        "Universal Transformer, ACT": _of_stack(universal)._replace(flops=round(pondered)),
        "conditional computation": _of_stack(conditional_computation(**MODEL)),
        "RealFormer": _of_stack(realformer_stack(D_MODEL, HEADS, LAYERS, D_FF)),
    }
    beside = {name: (each, layers) for name, each in found.items()}
    beside["Memformer"] = _memformer_cost(), pairs
    beside["transparent attention"] = _of_pairs(transparent(VOCAB, **MODEL)), pairs
    beside["DeeBERT"] = _early_exit_costs()
    rows = lightweight.load()
    for name, arm in LIGHT.items():
        mine, plain_runs = (lightweight_tables.runs_of(rows, of) for of in (arm, lightweight.PLAIN))
        if mine and plain_runs:
            beside[name] = _saved(mine[0]), _saved(plain_runs[0])
    return beside | _hierarchy_costs()


def _saved(row: Mapping[str, Any]) -> Cost:
    return Cost(row["parameters"], row["flops"])


def _hierarchy_costs() -> dict[str, tuple[Cost, Cost]]:
    """Count hierarchies of half of the layers for sentences of `SENTENCE` words, and a BERT."""
    ids = torch.full((1, TOKENS), 4)
    sizes = {**BERT, "n_layers": LAYERS // 2, "n_document_layers": LAYERS // 2,
             "max_sentences": TOKENS // SENTENCE}  # fmt: skip
    flat = bert(**BERT)
    tree, back = (
        hibert.hibert(hibert.TINY, **sizes),
        hi_transformer.hi_transformer(hi_transformer.TINY, **sizes),
    )
    document = ids.view(1, -1, SENTENCE)
    base = cost(flat, lambda: flat(ids))
    return {"HIBERT": (cost(tree, lambda: tree(document)), base),
            "Hi-Transformer": (cost(back, lambda: back(document)), base)}  # fmt: skip


# -- differences, as on their pages


def _paired(both: Sequence[Mapping[int, float]], contrasts: int, scale: float = 1.0) -> Interval:
    """Return the interval of first minus second, paired by seed."""
    values = [scale * value for value in paired(*both)]
    return t_interval(values, 1 - 0.05 / contrasts)


def _tests(rows: Sequence[dict[str, Any]]) -> dict[int, float]:
    return {row["seed"]: row["test"] for row in rows}


def differences() -> dict[str, Difference]:
    """Return for each variant that was trained a difference, corrected for as many comparisons as
    on its page; none where the saved runs are not at hand.
    """
    nats, found = "nats per character", dict[str, Difference]()
    runs = block_order_results.load_runs()
    if runs.orders and runs.searches:
        for name, arm in (("Macaron", block_order.MACARON), ("Sandwich, k = 1", "ssfsff")):
            each = block_order_results.against_median(runs.orders, arm)
            found[name] = Difference("the median of 20 orders", nats, each)
        gaps = [
            block_order_results.darts_minus_random_search(runs, rate)
            for rate in block_order.ALPHA_RATES
        ]
        better = min(gaps, key=lambda gap: gap.value)  # of two learning rates of alpha
        found["DARTS"] = Difference("random search, same compute", nats, better)
    if rows := norm_variants.load():
        deep = norm_variants.DEEP
        n = sum({*pair} <= {*names} for pair in sublayer_tables.CONTRASTS
                for names in norm_variants.SETTINGS.values())  # fmt: skip
        named = {"RMSNorm": ("pre-norm, RMSNorm", "pre-norm"), "ReZero": ("ReZero", "pre-norm")}
        for name, pair in named.items():
            both = [_tests(sublayer_tables.of_setting(rows, arm, deep)) for arm in pair]
            found[name] = Difference(
                f"pre-norm, {deep[0]} layers, {deep[1]} steps", nats, _paired(both, n)
            )
        both = [_tests(sublayer_tables.of_setting(rows, arm, deep))
                for arm in ("ReZero", norm_variants.SCALED)]  # fmt: skip
        each = _paired(both, n)
        found["no norm, scaled"] = Difference(
            f"ReZero, {deep[0]} layers, {deep[1]} steps",
            nats,
            Interval(-each.value, -each.high, -each.low),
        )
    if rows := all_attention.load():
        n = len(all_attention.VARIANTS) + len(all_attention.TWICE) - 2
        both = [_tests(sublayer_tables.selected(rows, variant=arm, steps=all_attention.STEPS))
                for arm in ("all-attention", all_attention.FULL)]  # fmt: skip
        found["all-attention"] = Difference("attention + feed-forward", nats, _paired(both, n))
    if rows := recurrence.load():
        both = [recurrence_tables.by_seed(rows, *arm)
                for arm in recurrence_tables.CONTRASTS[0]]  # fmt: skip
        each = _paired(both, len(recurrence_tables.CONTRASTS), scale=log(2))
        found["Transformer-XL"] = Difference("no memory, same positions", nats, each)
    if rows := compression.load():
        both = [{row["seed"]: row[kind] for row in rows} for kind in ("convolution", "mean")]
        found["Compressive Transformer"] = Difference(
            "mean pooling", "points of error in attention", _paired(both, 1, scale=100)
        )
    found |= _adaptive() | _connections() | _light() | _documents()
    return found


def _with_act() -> list[dict[str, Any]]:
    rows = adaptive_steps.load()
    return adaptive_tables.selected(rows, adaptive_steps.ACT) if rows else []


def _adaptive() -> dict[str, Difference]:
    found = dict[str, Difference]()
    if rows := adaptive_steps.load():
        both = [adaptive_tables.by_seed(adaptive_tables.selected(rows, arm), "bits_64")
                for arm in (adaptive_steps.ACT, adaptive_steps.CONSTANT)]  # fmt: skip
        each = _paired(both, len(adaptive_steps.VARIANTS) - 1, scale=100)
        found["Universal Transformer, ACT"] = Difference(
            adaptive_steps.CONSTANT, "points of correct bits", each
        )
    if rows := early_exit.load():
        gaps = adaptive_tables.gaps_from_fixed_depth(rows, early_exit.THRESHOLDS[-1])
        each = t_interval(gaps, 1 - 0.05 / adaptive_tables.EXIT_CONTRASTS)
        found["DeeBERT"] = Difference("a fixed depth of 2.00 layers", "points of accuracy", each)
    return found


def _connections() -> dict[str, Difference]:
    found = dict[str, Difference]()
    if rows := residual_scores.load():
        long = max(residual_scores.SETTINGS)
        runs = connection_tables.of_scores
        n = sum(
            all(runs(rows, arm, at) for arm in pair)
            for pair in connection_tables.SCORE_CONTRASTS
            for at in residual_scores.SETTINGS
        )
        both = [
            _tests(runs(rows, arm, long)) for arm in (residual_scores.REAL, residual_scores.PLAIN)
        ]
        found["RealFormer"] = Difference("post-norm", "nats per character", _paired(both, n))
    if rows := encoder_depth.load():
        settings = connection_tables.COLUMNS
        depths = connection_tables.of_depth
        n = sum(
            all(depths(rows, arm, at) for arm in pair)
            for pair in connection_tables.DEPTH_CONTRASTS
            for at in settings
        )
        both = [_tests(depths(rows, arm, ("reversal", encoder_depth.DEEP)))
                for arm in (connection_tables.TRANSPARENT, "post-norm")]  # fmt: skip
        found["transparent attention"] = Difference(
            f"post-norm, {encoder_depth.DEEP} layers", "nats per symbol", _paired(both, n)
        )
    return found


def _light() -> dict[str, Difference]:
    if not (rows := lightweight.load()):
        return {}
    n, shallow = len(lightweight_tables.CONTRASTS), lightweight.SHALLOW
    found = dict[str, Difference]()
    for name, arm in LIGHT.items():
        both = [_tests(lightweight_tables.runs_of(rows, of)) for of in (arm, shallow)]
        found[name] = Difference("plain, 2 layers", "points of accuracy", _paired(both, n, 100))
    return found


def _documents() -> dict[str, Difference]:
    if not (rows := long_documents.load()):
        return {}
    n, tables = len(long_document_tables.CONTRASTS), long_document_tables
    pairs = {"HIBERT": (long_documents.HIBERT, "last 512"),
             "Hi-Transformer": (long_documents.HI, long_documents.HIBERT)}  # fmt: skip
    baselines = {"HIBERT": "Transformer, last 512 words", "Hi-Transformer": "HIBERT"}
    return {
        name: Difference(baselines[name], "points of accuracy",
                         _paired([tables.by_split(rows, arm) for arm in pair], n, 100))
        for name, pair in pairs.items()
    }  # fmt: skip


# -- as the page shows them


def variant_table(found: dict[str, Difference]) -> Html:
    """Show what each variant changes, its costs, what was measured here, and what others report."""
    lines, beside = [], costs()
    for name, variant in VARIANTS.items():
        line: dict[str, Any] = {
            "variant": name, "what changes": variant.changes, "compared with": None,
        }  # fmt: skip
        if name in beside:
            mine, base = beside[name]
            line["parameters"] = mine.parameters / base.parameters
            line["FLOPs"] = mine.flops / base.flops
        if name in found:
            each = found[name]
            digits = 3 if each.unit.startswith("nats") else 1
            line["difference here"] = f"{shown(each.interval, digits)} {each.unit}"
            line["compared with"] = each.compared_with
        else:
            line["difference here"] = NOT_HERE if not found else "not trained"
        line["the paper reports"] = variant.reported
        lines.append(line)
    head = ["variant", "what changes", "parameters", "FLOPs", "difference here", "compared with",
            "the paper reports"]  # fmt: skip
    return table(lines, head, formats={"parameters": ".2f", "FLOPs": ".2f"},
                 caption="The parameters, and the FLOPs of a forward pass over "
                 f"{TOKENS} tokens, are divided by those of {LAYERS} plain blocks of width "
                 f"{D_MODEL}. Each difference has its own baseline, in the next column. Negative "
                 "is better, except for correct bits and accuracy. The costs of the Funnel "
                 "Transformer, DeLighT, and Lite Transformer are those of their page.")  # fmt: skip


def shown(each: Interval, digits: int) -> str:
    """Return an interval as text, with signs."""
    value, low, high = (f"{x:+.{digits}f}" for x in each)
    return f"{value} [{low}, {high}]"


def loss_figure(found: dict[str, Difference]) -> Figure:
    """Draw the differences of language models' losses with their intervals."""
    chosen = {k: v for k, v in found.items() if v.unit == "nats per character"}
    figure = Figure(figsize=(6.4, 0.34 * len(chosen) + 1.0))
    axes = figure.subplots()
    for place, each in enumerate(chosen.values()):
        value, low, high = each.interval
        role = "query" if high < 0 else "key" if low > 0 else "weight"
        axes.errorbar(value, -place, xerr=[[value - low], [high - value]], fmt="o", ms=5,
                      capsize=3, color=ROLES[role])  # fmt: skip
    names = [f"{name} vs. {each.compared_with}" for name, each in chosen.items()]
    axes.set_yticks([-i for i in range(len(chosen))], names)
    axes.axvline(0, color="gray", lw=1)
    axes.set_xlabel("difference of the test loss (nats per character)")
    return with_alt(
        figure,
        "Mean differences of the test loss with their intervals. The intervals of ReZero and "
        "Transformer-XL lie below 0, those of Sandwich and all-attention above 0, and those of "
        "all others contain 0.",
    )

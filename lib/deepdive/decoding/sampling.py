"""Greedy decoding and sampling: one token per sequence and step."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from deepdive.decoding.scores import Rule, check_choice, cut, follow, penalize
from deepdive.decoding.session import Prompt, check_logits, first_tokens, generating, lengths
from deepdive.tokenizers.base import BOS, EOS


def greedy(
    model: nn.Module,
    *inputs: Any,
    max_length: int = 128,
    prompt: Prompt | None = None,
    bos: int = BOS,
    eos: int | None = EOS,
    rules: Sequence[Rule] = (),
    repetition: float = 1.0,
) -> list[list[int]]:
    """Choose the most probable token at every step, until `eos` or `max_length` new tokens.

    inputs    passed to `model.begin`: source and source mask, or nothing for a language model
    prompt    (B, P), the first tokens; [[bos]] for every sequence by default
    rules     the tokens that are forbidden or forced: `forbid`, `force`, any `Rule`
    repetition  the penalty on tokens of the prompt and the output so far (`penalize`), applied
              before the rules; 1: none

    Returns the new tokens of each sequence, without the end token. Raises TypeError for a model
    without `begin` and `step`, ValueError for an empty or ragged prompt or if no token is allowed.
    """

    def best(scores: Tensor) -> Tensor:
        return scores.argmax(-1)

    return _write(model, inputs, best, max_length, prompt, bos, eos, rules, repetition)


def sample(
    model: nn.Module,
    *inputs: Any,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
    generator: torch.Generator | None = None,
    max_length: int = 128,
    prompt: Prompt | None = None,
    bos: int = BOS,
    eos: int | None = EOS,
    rules: Sequence[Rule] = (),
    repetition: float = 1.0,
) -> list[list[int]]:
    """Sample every token from softmax(logits / temperature), restricted to the `top_k`, `top_p` and
    `min_p` sets.

    The order is: repetition, rules, temperature, top k, top p, min p. `generator` seeds the
    sampling, on the model's device. The other arguments and the return value are as in `greedy`.
    Raises ValueError for a temperature that is not positive and finite, and for an empty set.
    """

    def draw(scores: Tensor) -> Tensor:
        filtered = cut(scores, temperature, top_k, top_p, min_p)
        return torch.multinomial(filtered.softmax(-1), 1, generator=generator)[:, 0]

    return _write(model, inputs, draw, max_length, prompt, bos, eos, rules, repetition)


def _write(
    model: nn.Module,
    inputs: tuple[Any, ...],
    choose: Callable[[Tensor], Tensor],
    max_length: int,
    prompt: Prompt | None,
    bos: int,
    eos: int | None,
    rules: Sequence[Rule],
    repetition: float,
) -> list[list[int]]:
    """Generate tokens by `choose(scores (R, V))`; finished sequences are dropped from the batch."""
    tokens = first_tokens(model, inputs, prompt, bos)
    outputs: list[list[int]] = [[] for _ in tokens]
    context = tokens  # the prompt and the output so far, used only by the repetition penalty
    rows = torch.arange(len(tokens), device=tokens.device)  # each active row's index in `outputs`
    active = torch.ones_like(rows, dtype=torch.bool)
    columns: list[Tensor] = []

    def flush() -> None:
        for row, new in zip(rows.tolist(), torch.cat(columns, dim=1).tolist(), strict=True):
            outputs[row] += new
        columns.clear()

    with generating(model) as step:
        state = model.begin(*inputs)  # type: ignore[operator]
        for length in lengths(max_length):
            step(length)
            logits = model.step(tokens, state)[:, -1]  # type: ignore[operator]
            if length == 0:
                check_logits(logits)
            if repetition != 1:
                logits = penalize(logits, context, repetition)
            scores = follow(rules, logits, length)
            best = scores.amax(-1)
            if not (best > float("-inf")).all():
                check_choice(best[active], length, rows[active].tolist())
                scores = scores.masked_fill(~active.unsqueeze(1), 0.0)  # finished rows: unused
            tokens = choose(scores).unsqueeze(1)
            columns.append(tokens)
            if repetition != 1:
                context = torch.cat((context, tokens), dim=1)
            if eos is None:
                continue
            active &= tokens[:, 0] != eos
            n_active = int(active.sum())
            if n_active == 0:
                break
            # Selecting rows copies the cache, which pays off once a quarter of them are finished.
            if n_active <= 0.75 * len(rows):
                flush()
                keep = active.nonzero()[:, 0]
                state.reorder(keep)
                tokens, rows, active = tokens[keep], rows[keep], active[keep]
                context = context[keep] if repetition != 1 else context
        if columns:
            flush()
    return [row[: row.index(eos)] if eos in row else row for row in outputs]

"""Saliency from gradients: how much does each input position contribute to each output?

Every method records and replaces the embeddings x at one hook point (`encoder.embedded`), so it
works on any model that has one: a Transformer, a recurrent encoder-decoder, a transformers model
(`deepdive.explain.classifiers.adapt`). All take

    model, point   the embeddings x (1, S, d) at this hook point are the explained input
    output         a function without arguments that runs the model on one input and returns T
                   numbers to explain (T,), such as the log-probability of each target token

and return a row of attributions per output. A method of n steps runs n times; to run N steps at
once, let `output` run N copies of the input, such as `model(tokens.expand(8, -1))`: (N, T).

System: saliency
Parent: none
What differs:
- the gradient is the effect of a small change of an embedding: its sum keeps the sign, its norm is
  the magnitude (`gradient_sum`, `gradient_norm`)
- times the input it is a contribution to the output of a linear model (`gradient_x_input`)
- otherwise, gradients are averaged: over the path from a baseline (`integrated_gradients`), where
  contributions add up to the change of the output; or around the input (`smoothgrad`)
Source: Simonyan, Vedaldi and Zisserman 2014, section 3; Sundararajan, Taly and Yan 2017; Smilkov et
al. 2017.
Book: 7.3.1.1
"""

import torch
from torch import Tensor, nn

from deepdive.core.checks import positive
from deepdive.core.hooks import replace
from deepdive.explain.tracing import (
    Output,
    checked,
    from_baseline,
    gradients_of,
    mean_gradient,
    traced,
    untraced,
)


def gradient(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return g[t, s, d] = d output[t] / d x[s, d], (T, S, d).

    Raises ValueError if `output` does not return (T,), or the point is passed several inputs.
    Source: Simonyan, Vedaldi and Zisserman 2014, section 3.
    """
    x, outputs = traced(model, point, output)
    return gradients_of(outputs, x)[0]


def gradient_sum(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return saliency[t, s] = sum over d of  d output[t] / d x[s, d], (T, S): with its sign."""
    return gradient(model, point, output).sum(-1)


def gradient_norm(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return saliency[t, s] = | d output[t] / d x[s] |, the Euclidean norm, (T, S): without a sign.

    It is the largest change of output[t] by a step of length 1 if the model were linear.
    Source: Simonyan, Vedaldi and Zisserman 2014, section 3 (there the maximum over d).
    """
    return gradient(model, point, output).norm(dim=-1)


def gradient_x_input(model: nn.Module, point: str, output: Output) -> Tensor:
    """Return saliency[t, s] = sum over d of  d output[t] / d x[s, d] * x[s, d], (T, S).

    For a model that is linear in x without a bias, a row sums to output[t].
    Source: Shrikumar et al. 2017, section 2.2.2; Ding et al. 2019 for translation.
    """
    x, outputs = traced(model, point, output)
    return (gradients_of(outputs, x)[0] * x[0].detach()).sum(-1)


def smoothgrad(
    model: nn.Module,
    point: str,
    output: Output,
    noise: float = 0.15,
    samples: int = 32,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Return the norm of the mean gradient around the input, (T, S).

        saliency[t, s] = | mean_k of  d output[t] / d x[s]  at x + sigma e_k |,   e_k ~ N(0, 1)

    with sigma = noise * (max(x) - min(x)). The mean is smooth even if the gradient is noisy.
    Source: Smilkov et al. 2017 (10 to 20 % noise).
    """
    positive(samples=samples)
    x, _, copies = untraced(model, point, output)
    sigma = noise * (x.max() - x.min())

    def around(count: int) -> Tensor:
        e = torch.randn(count, *x.shape[1:], generator=generator, dtype=x.dtype, device=x.device)
        return x + sigma * e

    sizes = [min(copies, samples - done) for done in range(0, samples, copies)]
    return mean_gradient(model, point, output, map(around, sizes), copies).norm(dim=-1)


def integrated_gradients(
    model: nn.Module, point: str, output: Output, baseline: Tensor | None = None, steps: int = 32
) -> tuple[Tensor, Tensor]:
    """Return the path integral of the gradient from a baseline b to the input x, and its gap.

        saliency[t, s] = sum_d (x - b)[s, d] * mean_a of  d output[t] / d x[s, d] at b + a (x - b)

    with a at the midpoints of `steps` equal intervals of [0, 1]. `baseline` (d,) or (S, d) defaults
    to zero. Only the embeddings change along the path: the mask and all else stay the same.

    Returns saliency (T, S) and gap (T,): output(x) - output(b) - the row's sum, zero except for the
    integration error (completeness), which falls like 1 / steps^2 if the model is smooth.
    Source: Sundararajan, Taly and Yan 2017, section 3 and proposition 1.
    """
    if steps < 1:
        raise ValueError(f"steps must be 1 or more; got {steps}: 32 is usually enough")
    x, last, copies = untraced(model, point, output)
    start = from_baseline(baseline, x)
    fractions = (torch.arange(steps, dtype=x.dtype, device=x.device) + 0.5) / steps
    path = (start + a[:, None, None] * (x - start) for a in fractions.split(copies))
    saliency = (mean_gradient(model, point, output, path, copies) * (x - start)[0]).sum(-1)
    with torch.no_grad(), replace(model, point, start.expand(copies, -1, -1)):
        first = checked(output(), copies)[0]
    return saliency, last - first - saliency.sum(-1)

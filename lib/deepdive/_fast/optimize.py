"""Faster layers in the place of torch's, in a model that is built already."""

from typing import TypeVar

from torch import nn

from deepdive._fast.dropout import FastDropout
from deepdive._fast.linear import FastLinear

Model = TypeVar("Model", bound=nn.Module)
FORMS: dict[type[nn.Module], type[nn.Module]] = {
    nn.Linear: FastLinear,
    nn.Dropout: FastDropout,
}


def optimize(model: Model) -> Model:
    """Replace layers of `model`, in place, by faster ones, and return it. What it computes stays
    the same to rounding; in training, dropout draws other elements.

        nn.Linear   FastLinear   oneDNN's kernel for large float32 products without gradients (CPU)
        nn.Dropout  FastDropout  16 random bits an element (CPU), and no call in evaluation

    Subclasses stay as they are. Weights, names, and hooks are those of the model, so it can be
    saved, loaded, and trained as before.
    """
    for module in model.modules():
        if (form := FORMS.get(type(module))) is not None:
            module.__class__ = form
    return model

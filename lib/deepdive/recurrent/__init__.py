"""Recurrent networks: a state that is carried from token to token."""

from deepdive.recurrent.layers import GRU, LSTM, RNN
from deepdive.recurrent.stacked import (
    Bidirectional,
    RecurrentStack,
    bidirectional,
    from_torch,
    stacked,
)
from deepdive.recurrent.state import RecurrentState

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "Bidirectional",
    "RecurrentStack",
    "RecurrentState",
    "bidirectional",
    "from_torch",
    "stacked",
]

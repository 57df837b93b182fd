"""Recurrent networks: a state that is carried from token to token."""

from deepdive.recurrent.grid import GridLSTM
from deepdive.recurrent.grid_block import GridBlock, MemorySide, PlainSide, walk
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
    "GRU", "LSTM", "RNN", "Bidirectional", "GridBlock", "GridLSTM", "MemorySide", "PlainSide",
    "RecurrentStack", "RecurrentState", "bidirectional", "from_torch", "stacked", "walk",
]  # fmt: skip

"""Small trained models of chapter 7: weights of at most 300 kB each, and how to load them."""

from pathlib import Path

FOLDER = Path(__file__).parent

"""Experiments of chapter 4."""

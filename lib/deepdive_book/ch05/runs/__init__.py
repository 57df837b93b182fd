"""Experiments of chapter 5."""

"""Experiments of chapter 6b."""

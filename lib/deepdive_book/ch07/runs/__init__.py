"""Experiments of chapter 7."""

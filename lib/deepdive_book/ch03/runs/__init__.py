"""Experiments of chapter 3."""

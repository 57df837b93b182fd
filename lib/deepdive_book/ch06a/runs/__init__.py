"""Experiments of chapter 6a."""

"""Drawings and interactive figures of chapter 6d."""

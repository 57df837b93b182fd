"""Classifiers to explain: built by hand with a known cause, or adapted from transformers."""

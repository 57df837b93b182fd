"""Classifiers to explain: built by hand so that the cause is known, or of transformers, adapted."""

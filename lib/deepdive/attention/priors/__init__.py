"""Scores that are known before queries and keys meet: local, tables, synthesised, of offsets.

Start with `priors`: what is added to a score for where its key stands.
"""

"""Attention that chooses its keys by what they hold: hashing, clusters, routing, sorting, sampling.

Start with `lsh`: rows that a hash puts into one bucket meet.
"""

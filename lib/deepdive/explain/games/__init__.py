"""Removal-based explanations: a model as a game on subsets of its input; start with `game`."""

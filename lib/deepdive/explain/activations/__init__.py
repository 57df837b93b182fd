"""Activations: the logit lens, activation patching, and activation maximization."""

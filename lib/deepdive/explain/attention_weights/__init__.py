"""Attention weights as explanations: flow, norms, gradient-weighted rollout, alternatives."""

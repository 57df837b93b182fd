"""Attention's weights as explanations: through layers, by norms, with gradients, exchanged."""

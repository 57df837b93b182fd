"""Published checkpoints: their names, settings and weights, read and written.

Start with `weights`: adopt tensors under other names, strictly. No pickle is opened.
"""

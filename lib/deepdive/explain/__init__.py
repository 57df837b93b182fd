"""Explanations of a model's output. They know a model only through its hook points and tensors."""

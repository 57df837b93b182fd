"""What passes through a model: read by the model's head, exchanged between runs, driven high."""

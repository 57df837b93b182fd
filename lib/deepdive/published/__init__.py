"""Published checkpoints: load and save their configs and weights.

Start with `load(folder)`: config.json names the model family; `save(model, folder)` writes the
model in the published format. `families` has the name tables, `names` applies them in both
directions, and `weights` copies tensors into a model strictly. `from_gguf` loads a decoder from a
GGUF file; `pretrained` has a model that comes inside a package. No pickle is opened.
"""

from deepdive.published.folders import family, from_config, load, save

__all__ = ["family", "from_config", "load", "save"]

"""Published checkpoints: their names, settings and weights, read and written.

Start with `load(folder)`: config.json says which family it is; `save(model, folder)` writes it
back in the published form. `families` has the tables, `names` reads them in both directions, and
`weights` adopts tensors strictly. `from_gguf` reads a decoder out of a GGUF file; `pretrained`
has a model that comes inside a package. No pickle is opened.
"""

from deepdive.published.folders import family, from_config, load, save

__all__ = ["family", "from_config", "load", "save"]

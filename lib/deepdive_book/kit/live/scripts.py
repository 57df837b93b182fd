"""The scripts of live figures: the shared arithmetic of models in JavaScript, and a figure's
own."""

from importlib.resources import files
from pathlib import Path


def live_script(*shared: str, figure: str) -> str:
    """Return the scripts of this folder named in `shared`, then the figure's own.

    `figure` is the module that draws (its `__file__`); its script stands beside it.
    """
    parts = [files(__package__).joinpath(name).read_text(encoding="utf-8") for name in shared]
    return "".join([*parts, Path(figure).with_suffix(".js").read_text(encoding="utf-8")])

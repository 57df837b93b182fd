"""A package that a page needs and this Python lacks: the error says what to install.

Pages use more than the library needs by itself: the extra `casestudies` of pyproject.toml.
"""

import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from deepdive import __version__

# The modules that the extra brings and the library alone does not; a test compares them.
MODULES = frozenset(
    {
        "babel", "bertopic", "captum", "datasets", "hdbscan", "huggingface_hub", "networkx",
        "num2words", "sacrebleu", "sentence_transformers", "sklearn", "soundfile",
        "threadpoolctl", "tokenizers", "transformers", "umap",
    }
)  # fmt: skip
WHEEL = f"deepdive-{__version__}-py3-none-any.whl"


def advice(module: str | None) -> str:
    """Return the sentence that says how to install a module, or "" for a module of no page."""
    if module is None or module.partition(".")[0] not in MODULES:
        return ""
    if (Path(sys.prefix) / "setup-stamp").is_file():
        return "This environment has what the first page needs: `make setup` adds the rest."
    return (
        "This page needs the packages of deepdive[casestudies]: in a notebook run `%pip install "
        f'"./{WHEEL}[casestudies]"`, in a checkout `pip install -e ".[casestudies,notebooks]"`.'
    )


def explain_absent_modules() -> None:
    """Add the advice to each ModuleNotFoundError that ends a cell; outside a notebook do nothing.

    A page that catches the error itself is not affected.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None:
        shell.set_custom_exc((ModuleNotFoundError,), _show)


def _show(
    shell: Any,
    kind: type[ModuleNotFoundError],
    error: ModuleNotFoundError,
    trace: TracebackType,
    tb_offset: int | None = None,
) -> None:
    """Show the error as IPython does, with the advice behind its message."""
    told = advice(error.name)
    if told and told not in str(error):
        error.msg = f"{error.msg}. {told}"
    shell.showtraceback((kind, error, trace), tb_offset=tb_offset)

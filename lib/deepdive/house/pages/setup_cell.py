"""The setup cell, the same on every page, and the one place that says where it is published.

`python -m deepdive.house.pages setup` writes both; see CONTRIBUTING.md, "To publish".
"""

# Where this copy is published, as https://github.com/OWNER/NAME; empty: nowhere yet. The book's
# links to Colab and Binder are made from it, and what Colab installs.
ADDRESS = ""
# The branch whose notebooks have this address.
BRANCH = "main"


def setup_cell(address: str) -> str:
    """The setup cell of a project that is published there."""
    # A wheel or a git address; never a bare name, which anybody may register in a package index.
    source = f"git+{address}.git" if address else ""
    return f'''\
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {{type:"boolean"}}
SOURCE = "{source}"  # where pip finds deepdive, once it is published
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules:
    for name in ("deepdive", "einops", "safetensors", "sacrebleu", "num2words", "babel"):
        what = ["--no-deps", SOURCE] if name == "deepdive" else [name]
        if find_spec(name) is None and what[-1]:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what])
if find_spec("deepdive") is None:
    how = "in its folder run `pip wheel --no-deps .`, bring the .whl file here, `%pip install"
    how += ' "./NAME.whl[casestudies]"` with its name, and run this cell again'
    raise ModuleNotFoundError(f"deepdive is not installed here: {{how}}")
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)'''


SETUP = setup_cell(ADDRESS)

"""The setup cell, the same on every page. `ADDRESS` is the one place that names the project's."""

# Where the project is published; the book's links to Colab and Binder are made from it too.
ADDRESS = "https://deepdive.example/deepdive"
# A wheel or a git address; never a bare name, which anybody may register in a package index.
SOURCE = f"git+{ADDRESS}.git"

SETUP = f'''\
# Setup, the same on every page. On Colab it installs only what is missing, and never torch.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SAVE_TO_DRIVE = False  # @param {{type:"boolean"}}
import subprocess
import sys
from importlib.util import find_spec

if "google.colab" in sys.modules and find_spec("deepdive") is None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "{SOURCE}"], check=True)
    for name in ("einops", "safetensors", "sacrebleu", "num2words", "babel"):
        if find_spec(name) is None:
            subprocess.run([*pip, name], check=True)
from deepdive.page.profile import setup

setup(PROFILE, drive=SAVE_TO_DRIVE)'''

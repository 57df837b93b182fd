"""The setup cell, the same on every page, and the one place that says where it is published.

`python -m deepdive_book.site.pages setup` writes both; see docs/publishing-and-releasing.md.
"""

from deepdive import __version__

# Where this copy is published, as https://github.com/OWNER/NAME; empty: nowhere yet. The book's
# links to Colab and Binder are made from it, and what Colab installs.
ADDRESS = ""
# The branch whose notebooks have this address.
BRANCH = "main"


# What pip installs before there is an address: the wheel, built by `pip wheel --no-deps .`.
WHEEL = f"./deepdive-{__version__}-py3-none-any.whl[pages]"


def setup_cell(address: str) -> str:
    """The setup cell of a project that is published there."""
    # A wheel or a git address; never a bare name, which anybody may register in a package index.
    source = f"deepdive[pages] @ git+{address}.git" if address else WHEEL
    return f'''\
# Setup, the same on every page. The profile sets how much work the page does.
PROFILE = "auto"  # @param ["auto", "ci", "laptop", "gpu"]
SOURCE = "{source}"  # if it is missing here
try:
    import deepdive_book as book
except ModuleNotFoundError:  # on Colab; INSTALL.md has the other ways
    get_ipython().run_line_magic("pip", f'install --quiet "{{SOURCE}}"')
    import deepdive_book as book
book.setup(PROFILE, drive=False)  # drive=True keeps what a page saves in your Google Drive'''


SETUP = setup_cell(ADDRESS)

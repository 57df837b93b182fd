"""`python -m deepdive.house.pages`; Ctrl-C at any moment exits with 130."""

import sys

try:
    from deepdive.house.pages.commands import main

    main(prog_name="python -m deepdive.house.pages")
except KeyboardInterrupt:  # while modules are imported; later `Group` sees it
    sys.exit(130)

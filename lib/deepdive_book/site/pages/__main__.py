"""`python -m deepdive_book.site.pages`; Ctrl-C at any moment exits with 130."""

import sys

try:
    from deepdive_book.site.pages.commands import main

    main(prog_name="python -m deepdive_book.site.pages")
except KeyboardInterrupt:  # while modules are imported; later `Group` sees it
    sys.exit(130)

"""`python -m deepdive.pages`."""

from deepdive.pages.commands import main

main(prog_name="python -m deepdive.pages")
